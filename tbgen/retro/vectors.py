"""Writing machine code for vectors of 64 lanes: what ``tbgen.retro.kernels.lanes`` is made of.

Everything here is called while a kernel is compiled, with llvmlite's builder and values.
"""

from collections.abc import Callable
from typing import Any, Final, cast

from llvmlite import ir
from numba import types

LANES: Final = 64
WORD, _BYTE, _PLACE = ir.IntType(64), ir.IntType(8), ir.IntType(32)


def plain(kind: Any) -> Any:
    """The type of a number that may be a constant."""
    return cast(Any, types).unliteral(kind)


def repeated(builder: Any, value: Any) -> Any:
    """A vector of the same value in all lanes."""
    one = ir.Constant(ir.VectorType(value.type, 1), ir.Undefined)
    first = builder.insert_element(one, value, _PLACE(0))
    return builder.shuffle_vector(first, one, ir.Constant(ir.VectorType(_PLACE, LANES), [0] * LANES))


def chosen(builder: Any, word: Any) -> Any:
    """A vector of truth values from the bits of a word (its bytes repeated and tested: not every machine has
    registers for such vectors)."""
    of_bytes = builder.bitcast(word, ir.VectorType(_BYTE, 8))
    places = ir.Constant(ir.VectorType(_PLACE, LANES), [lane // 8 for lane in range(LANES)])
    lanes = ir.VectorType(_BYTE, LANES)
    each = builder.shuffle_vector(of_bytes, of_bytes, places)
    tested = builder.and_(each, ir.Constant(lanes, [1 << lane % 8 for lane in range(LANES)]))
    return builder.icmp_unsigned("!=", tested, ir.Constant(lanes, [0] * LANES))


def place(context: Any, builder: Any, array_type: Any, array: Any, first: Any) -> Any:
    """Pointer to the 64 elements of a contiguous array from ``first`` on, as one vector."""
    data = context.make_array(array_type)(context, builder, array).data
    pointer = builder.gep(data, [first])
    return builder.bitcast(pointer, ir.VectorType(pointer.type.pointee, LANES).as_pointer())


def element(context: Any, builder: Any, array_type: Any, value: Any, value_type: Any) -> Any:
    """A number as an element of an array."""
    return context.cast(builder, value, plain(value_type), array_type.dtype)


def comparison(sign: str) -> Callable[..., Any]:
    """What writes the code that compares the elements of two arrays, neither of which has signs."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        one, i, other, j = args
        here, there = (
            builder.load(place(context, builder, kind, array, first), align=1)
            for kind, array, first in ((signature.args[0], one, i), (signature.args[2], other, j))
        )
        return builder.bitcast(builder.icmp_unsigned(sign, here, there), WORD)

    return codegen
