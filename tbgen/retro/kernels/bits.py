"""Operations on one word: 64 positions that differ in the square of the bit man only."""

from typing import Any, TypeAlias, cast

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numpy.typing import NDArray

from tbgen.compiler.jit import inlined, intrinsic
from tbgen.retro.vectors import BitsType

Word: TypeAlias = np.uint64
"""A machine word: a set of squares of the bit man."""
Words: TypeAlias = NDArray[np.uint64]
Ints: TypeAlias = NDArray[np.int64]
Codes: TypeAlias = NDArray[np.uint8]
"""Values, as the bytes of a table."""
Plies: TypeAlias = NDArray[np.uint16]
"""Depths."""

ZERO = np.uint64(0)
ONE = np.uint64(1)
ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_S1, _S2, _S4, _S7, _S8, _S14, _S16, _S28, _S32 = (np.uint64(n) for n in (1, 2, 4, 7, 8, 14, 16, 28, 32))
_PLACES = np.uint64(63)
_REV1, _REV2, _REV4 = (np.uint64(n) for n in (0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F))
_SWAP8, _SWAP16 = np.uint64(0x00FF00FF00FF00FF), np.uint64(0x0000FFFF0000FFFF)
_T1, _T2, _T4 = (np.uint64(n) for n in (0x5500550055005500, 0x3333000033330000, 0x0F0F0F0F00000000))


@intrinsic
def popcount(typing_context: Any, word: Any) -> Any:
    """Number of set bits of a uint64, as int64."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.int64(types.uint64), codegen


@intrinsic
def lowest(typing_context: Any, word: Any) -> Any:
    """Number of the lowest set bit of a uint64 (64 for zero), as int64."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), codegen


@intrinsic
def bits_of(typing_context: Any, word: Any) -> Any:
    """The numbers of the set bits of a uint64, the lowest first, as int64, for a loop."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return cast(Any, cgutils).alloca_once_value(builder, args[0])

    return BitsType()(types.uint64), codegen


@intrinsic
def prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Ask the memory for an element of a contiguous array (one index, whatever its dimensions) ahead of its
    use."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        bits = ir.IntType(32)
        pointer = builder.bitcast(builder.gep(data, [args[1]]), ir.IntType(8).as_pointer())
        kind = ir.FunctionType(ir.VoidType(), [pointer.type, bits, bits, bits])
        function = cast(Any, cgutils).get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(function, [pointer, bits(1), bits(2), bits(1)])
        return context.get_dummy_value()

    return types.void(array, index), codegen


@inlined
def image(word: Word, symmetry: int) -> Word:
    """The word with every bit moved to its square's image under ``symmetry`` (0..7)."""
    if symmetry & 1:
        word = ((word >> _S1) & _REV1) | ((word & _REV1) << _S1)
        word = ((word >> _S2) & _REV2) | ((word & _REV2) << _S2)
        word = ((word >> _S4) & _REV4) | ((word & _REV4) << _S4)
    if symmetry & 2:
        word = ((word >> _S8) & _SWAP8) | ((word & _SWAP8) << _S8)
        word = ((word >> _S16) & _SWAP16) | ((word & _SWAP16) << _S16)
        word = (word >> _S32) | (word << _S32)
    if symmetry & 4:
        t = _T4 & (word ^ (word << _S28))
        word ^= t ^ (t >> _S28)
        t = _T2 & (word ^ (word << _S14))
        word ^= t ^ (t >> _S14)
        t = _T1 & (word ^ (word << _S7))
        word ^= t ^ (t >> _S7)
    return word


@inlined
def rotated(word: Word, amount: Word) -> Word:
    """The word with every bit moved so many places upwards, beyond the top from the bottom again."""
    return word << (amount & _PLACES) | word >> (-amount & _PLACES)


@inlined
def ride(word: Word, through: Word, step: Word) -> Word:
    """Squares one or more steps (a rotation) from the set bits, all squares on the way (and the target) in
    ``through``, to which a step leads from inside the board only."""
    fill = word | through & rotated(word, step)
    pairs = through & rotated(through, step)
    fill |= pairs & rotated(fill, step << _S1)
    fill |= pairs & rotated(pairs, step << _S1) & rotated(fill, step << _S2)
    return through & rotated(fill, step)
