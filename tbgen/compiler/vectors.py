"""Generating LLVM code for vectors, most of 64 lanes, and for loops over the bits of a word.

These functions run while a kernel is compiled. They operate on builders and values of llvmlite.
"""

from collections.abc import Callable
from typing import Any, Final, cast

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.core.imputils import RefType, iternext_impl, lower_builtin
from numba.extending import register_model

LANES: Final = 64
WORD, _BYTE, _INT32 = ir.IntType(64), ir.IntType(8), ir.IntType(32)


def number_type(numba_type: Any) -> Any:
    """Return a numba type; for the literal type of a constant, the type of the constant's value."""
    return cast(Any, types).unliteral(numba_type)


class LaneCall:
    """A call of an intrinsic whose code is being generated. Methods refer to the arguments by index.

    :param lanes: number of elements of a vector.
    """

    def __init__(self, context: Any, builder: Any, signature: Any, args: Any, lanes: int) -> None:
        self._context = context
        self.builder = builder
        self._types = signature.args
        self.args = args
        self._lanes = lanes

    def pointer(self, array: int, offset: Any) -> Any:
        """Return a pointer to the vector of array elements that begins at ``offset``."""
        data = self._context.make_array(self._types[array])(
            self._context, self.builder, self.args[array]
        ).data
        pointer = self.builder.gep(data, [offset])
        return self.builder.bitcast(pointer, ir.VectorType(pointer.type.pointee, self._lanes).as_pointer())

    def load(self, array: int, offset_index: int | None = None) -> Any:
        """Load elements of an array as one vector.

        :param offset_index: index of the argument that contains the offset of the elements; None for the
            argument after the array.
        """
        return self._load(self.pointer(array, self.args[array + 1 if offset_index is None else offset_index]))

    def _load(self, pointer: Any) -> Any:
        return self.builder.load(pointer, align=1)

    def update(self, array: int, offset: Any, change: Callable[[Any], Any]) -> None:
        """Replace the elements of an array that begin at ``offset`` by the result of ``change``."""
        pointer = self.pointer(array, offset)
        self.builder.store(change(self._load(pointer)), pointer, align=1)

    def broadcast(self, value_index: int, array: int) -> Any:
        """Return a vector with an argument's number in all lanes, converted to the element type of
        ``array``."""
        value_type = number_type(self._types[value_index])
        dtype = self._types[array].dtype
        element = self._context.cast(self.builder, self.args[value_index], value_type, dtype)
        undefined = ir.Constant(ir.VectorType(element.type, 1), ir.Undefined)
        single_lane = self.builder.insert_element(undefined, element, _INT32(0))
        zero_indices = ir.Constant(ir.VectorType(_INT32, self._lanes), [0] * self._lanes)
        return self.builder.shuffle_vector(single_lane, undefined, zero_indices)

    def lane_mask(self, word: int) -> Any:
        """Return a vector of 64 truth values from the bits of a word.

        Each byte is copied to eight lanes, and each lane tests its bit, because not every machine has mask
        registers.
        """
        builder = self.builder
        mask_bytes = builder.bitcast(self.args[word], ir.VectorType(_BYTE, 8))
        indices = ir.Constant(ir.VectorType(_INT32, LANES), [lane // 8 for lane in range(LANES)])
        lanes = ir.VectorType(_BYTE, LANES)
        lane_bytes = builder.shuffle_vector(mask_bytes, mask_bytes, indices)
        tested = builder.and_(lane_bytes, ir.Constant(lanes, [1 << lane % 8 for lane in range(LANES)]))
        return builder.icmp_unsigned("!=", tested, ir.Constant(lanes, [0] * LANES))

    def compare(self, operator: str, first: Any, second: Any) -> Any:
        """Return the lanes in which two vectors of unsigned elements satisfy a comparison, as bits of one
        number."""
        satisfied = self.builder.icmp_unsigned(operator, first, second)
        return self.builder.bitcast(satisfied, ir.IntType(self._lanes))


def code_generator(generate: Callable[[LaneCall], Any], lanes: int = LANES) -> Callable[..., Any]:
    """Return a code generator for numba.

    :param generate: generates the code, and returns the value of the call.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        value = generate(LaneCall(context, builder, signature, args, lanes))
        return context.get_dummy_value() if value is None else value

    return codegen


def comparison_generator(operator: str) -> Callable[..., Any]:
    """Return a code generator for numba that compares two arrays of unsigned elements, arguments 0 and 2."""
    return code_generator(lambda call: call.compare(operator, call.load(0), call.load(2)))


def prefetch_generator(writes: bool) -> Callable[..., Any]:
    """Return a code generator for numba that prefetches an element of a contiguous array, argument 0.

    :param writes: whether the element will be written.
    """

    def generate(call: LaneCall) -> None:
        builder = call.builder
        pointer = builder.bitcast(call.pointer(0, call.args[1]), _BYTE.as_pointer())
        function_type = ir.FunctionType(ir.VoidType(), [pointer.type, _INT32, _INT32, _INT32])
        insert = cast(Any, cgutils).get_or_insert_function
        function = insert(builder.module, function_type, "llvm.prefetch.p0")
        # The last arguments are the locality, from 0 to 3, and the kind of cache: 1 for data.
        builder.call(function, [pointer, _INT32(int(writes)), _INT32(2), _INT32(1)])

    return code_generator(generate)


class BitsType(cast(Any, types).SimpleIteratorType):  # type: ignore[misc]
    """The numba type of an iterator over the set bits of a word: a pointer to the remaining bits."""

    def __init__(self) -> None:
        super().__init__("bits", types.int64)


@register_model(BitsType)
class _BitsModel(models.PrimitiveModel):
    def __init__(self, manager: Any, numba_type: BitsType) -> None:
        super().__init__(manager, numba_type, WORD.as_pointer())


@lower_builtin("iternext", BitsType)
@iternext_impl(RefType.UNTRACKED)
def _next_bit(context: Any, builder: Any, signature: Any, args: Any, result: Any) -> None:
    remaining = builder.load(args[0])
    result.set_valid(builder.icmp_unsigned("!=", remaining, WORD(0)))
    result.yield_(builder.cttz(remaining, ir.IntType(1)(0)))
    builder.store(builder.and_(remaining, builder.sub(remaining, WORD(1))), args[0])
