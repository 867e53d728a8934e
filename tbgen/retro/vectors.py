"""Generating LLVM code for vectors of 64 lanes and for loops over the bits of a word.

``tbgen.retro.kernels.words`` is built on these functions, which run while a kernel is compiled, with builders
and values of llvmlite.
"""

from collections.abc import Callable
from typing import Any, Final, cast

from llvmlite import ir
from numba import types
from numba.core.datamodel import models
from numba.core.imputils import RefType, iternext_impl, lower_builtin
from numba.extending import register_model

LANES: Final = 64
WORD, _BYTE, _PLACE = ir.IntType(64), ir.IntType(8), ir.IntType(32)


def plain(kind: Any) -> Any:
    """Return the type of a number, without the value if it is a constant."""
    return cast(Any, types).unliteral(kind)


class LaneCall:
    """A call of an intrinsic whose code is being generated; methods refer to its arguments by index."""

    def __init__(self, context: Any, builder: Any, signature: Any, args: Any) -> None:
        self._context, self.builder, self._kinds, self.args = context, builder, signature.args, args

    def place(self, array: int, first: Any) -> Any:
        """Return a pointer to the 64 elements of a contiguous array from ``first`` on, as one vector."""
        data = self._context.make_array(self._kinds[array])(
            self._context, self.builder, self.args[array]
        ).data
        pointer = self.builder.gep(data, [first])
        return self.builder.bitcast(pointer, ir.VectorType(pointer.type.pointee, LANES).as_pointer())

    def load(self, array: int, first: int | None = None) -> Any:
        """Load 64 elements of an array. The argument ``first`` is their offset; by default it is the argument
        after the array."""
        return self._load(self.place(array, self.args[array + 1 if first is None else first]))

    def _load(self, pointer: Any) -> Any:
        return self.builder.load(pointer, align=1)

    def update(self, array: int, first: Any, change: Callable[[Any], Any]) -> None:
        """Replace the 64 elements of an array from ``first`` on by the result of ``change``."""
        pointer = self.place(array, first)
        self.builder.store(change(self._load(pointer)), pointer, align=1)

    def repeated(self, value: int, array: int) -> Any:
        """Return a vector with a number in all lanes, converted to the element type of an array."""
        dtype = self._kinds[array].dtype
        element = self._context.cast(self.builder, self.args[value], plain(self._kinds[value]), dtype)
        one = ir.Constant(ir.VectorType(element.type, 1), ir.Undefined)
        first = self.builder.insert_element(one, element, _PLACE(0))
        return self.builder.shuffle_vector(first, one, ir.Constant(ir.VectorType(_PLACE, LANES), [0] * LANES))

    def chosen(self, word: int) -> Any:
        """Return a vector of truth values from the bits of a word.

        The bytes of the word are repeated and tested, since not every machine has mask registers.
        """
        builder = self.builder
        of_bytes = builder.bitcast(self.args[word], ir.VectorType(_BYTE, 8))
        places = ir.Constant(ir.VectorType(_PLACE, LANES), [lane // 8 for lane in range(LANES)])
        lanes = ir.VectorType(_BYTE, LANES)
        each = builder.shuffle_vector(of_bytes, of_bytes, places)
        tested = builder.and_(each, ir.Constant(lanes, [1 << lane % 8 for lane in range(LANES)]))
        return builder.icmp_unsigned("!=", tested, ir.Constant(lanes, [0] * LANES))

    def where(self, sign: str, one: Any, other: Any) -> Any:
        """Return the word of the lanes in which two vectors of unsigned elements satisfy a comparison."""
        return self.builder.bitcast(self.builder.icmp_unsigned(sign, one, other), WORD)


def coded(write: Callable[[LaneCall], Any]) -> Callable[..., Any]:
    """Return numba's code generator for a function that writes code; its result is the value of the call."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        value = write(LaneCall(context, builder, signature, args))
        return context.get_dummy_value() if value is None else value

    return codegen


def comparison(sign: str) -> Callable[..., Any]:
    """Return numba's code generator for the comparison of two arrays of unsigned elements, arguments 0 and
    2."""
    return coded(lambda call: call.where(sign, call.load(0), call.load(2)))


class BitsType(cast(Any, types).SimpleIteratorType):  # type: ignore[misc]
    """numba's type of an iterator over the set bits of a word: a pointer to the remaining bits."""

    def __init__(self) -> None:
        super().__init__("bits", types.int64)


@register_model(BitsType)
class _BitsModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: BitsType) -> None:
        super().__init__(manager, kind, WORD.as_pointer())


@lower_builtin("iternext", BitsType)
@iternext_impl(RefType.UNTRACKED)
def _next_bit(context: Any, builder: Any, signature: Any, args: Any, result: Any) -> None:
    remaining = builder.load(args[0])
    result.set_valid(builder.icmp_unsigned("!=", remaining, WORD(0)))
    result.yield_(builder.cttz(remaining, ir.IntType(1)(0)))
    builder.store(builder.and_(remaining, builder.sub(remaining, WORD(1))), args[0])
