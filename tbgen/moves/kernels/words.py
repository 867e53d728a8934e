"""Operations on words of 64 positions: on the bits of a word, and on its lanes.

The 64 positions of a word differ only in the square of one man, the bit man (``tbgen.moves.kernels.frame``).

The *lanes* of a word are the array elements of its 64 positions. Operations on lanes process all 64 elements
with a few vector instructions. The elements, of one or two bytes each, are consecutive in a C-contiguous
array, beginning at index ``start``, in the order of the bits of the word. Bounds are not checked. A word
``bits`` selects positions. The elements of the other positions are written back unchanged, so no other thread
may write to any of the 64 elements at the same time.
"""

from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from tbgen.compiler.jit import inlined, intrinsic
from tbgen.compiler.structs import Codes as Codes
from tbgen.compiler.structs import Ints as Ints
from tbgen.compiler.structs import Plies as Plies
from tbgen.compiler.structs import Word as Word
from tbgen.compiler.structs import Words as Words
from tbgen.compiler.vectors import (
    BitsType,
    LaneCall,
    code_generator,
    comparison_generator,
    number_type,
    prefetch_generator,
)

ZERO = np.uint64(0)
ONE = np.uint64(1)
ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_S1, _S2, _S4, _S7, _S8, _S14, _S16, _S28, _S32 = (np.uint64(n) for n in (1, 2, 4, 7, 8, 14, 16, 28, 32))
_SHIFT_MASK = np.uint64(63)
# Masks that exchange adjacent files, ranks or parts of the board, one, two or four wide, as in [1].
# [1] https://www.chessprogramming.org/Flipping_Mirroring_and_Rotating
_FILES1, _FILES2, _FILES4 = map(np.uint64, (0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F))
_RANKS1, _RANKS2 = map(np.uint64, (0x00FF00FF00FF00FF, 0x0000FFFF0000FFFF))
_MIRROR1, _MIRROR2, _MIRROR4 = map(np.uint64, (0x5500550055005500, 0x3333000033330000, 0x0F0F0F0F00000000))


@intrinsic
def popcount(typing_context: Any, word: Any) -> Any:
    """Number of set bits of a uint64, as int64."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.int64(types.uint64), codegen


@intrinsic
def lowest(typing_context: Any, word: Any) -> Any:
    """Index of the lowest set bit of a uint64 (64 for zero), as int64."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), codegen


@intrinsic
def bits_of(typing_context: Any, word: Any) -> Any:
    """Iterator over the indices of the set bits of a uint64, lowest first, as int64."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return cast(Any, cgutils).alloca_once_value(builder, args[0])

    return BitsType()(types.uint64), codegen


@intrinsic
def prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Prefetch an element of a contiguous array that will be written; ``index`` is its flat index."""
    return types.void(array, index), prefetch_generator(True)


@intrinsic
def prefetch_for_reading(typing_context: Any, array: Any, index: Any) -> Any:
    """Prefetch an element of a contiguous array that will only be read; ``index`` is its flat index."""
    return types.void(array, index), prefetch_generator(False)


@inlined
def prefetch_slots(values: Codes, depths: Plies, first_slot: int) -> None:
    """Prefetch, for reading, the values and depths of the 64 slots from ``first_slot``."""
    prefetch_for_reading(values, first_slot)
    prefetch_for_reading(depths, first_slot)
    prefetch_for_reading(depths, first_slot + 32)


@inlined
def image(word: Word, symmetry: int) -> Word:
    """The word with every bit moved to the image of its square under ``symmetry``, 0 to 7."""
    if symmetry & 1:
        word = ((word >> _S1) & _FILES1) | ((word & _FILES1) << _S1)
        word = ((word >> _S2) & _FILES2) | ((word & _FILES2) << _S2)
        word = ((word >> _S4) & _FILES4) | ((word & _FILES4) << _S4)
    if symmetry & 2:
        word = ((word >> _S8) & _RANKS1) | ((word & _RANKS1) << _S8)
        word = ((word >> _S16) & _RANKS2) | ((word & _RANKS2) << _S16)
        word = (word >> _S32) | (word << _S32)
    if symmetry & 4:
        changed = _MIRROR4 & (word ^ (word << _S28))
        word ^= changed ^ (changed >> _S28)
        changed = _MIRROR2 & (word ^ (word << _S14))
        word ^= changed ^ (changed >> _S14)
        changed = _MIRROR1 & (word ^ (word << _S7))
        word ^= changed ^ (changed >> _S7)
    return word


@inlined
def rotated(word: Word, amount: Word) -> Word:
    """The word rotated left by ``amount`` bits."""
    return word << (amount & _SHIFT_MASK) | word >> (-amount & _SHIFT_MASK)


@inlined
def ride(word: Word, through: Word, step: Word) -> Word:
    """Squares that can be reached in one or more steps from the squares of ``word``.

    A step rotates a word left by ``step`` bits. All squares on the way, including the target, must be in
    ``through``. This set must not contain a square that a step reaches by wrapping around the board.
    """
    fill = word | through & rotated(word, step)
    pairs = through & rotated(through, step)
    fill |= pairs & rotated(fill, step << _S1)
    fill |= pairs & rotated(pairs, step << _S1) & rotated(fill, step << _S2)
    return through & rotated(fill, step)


@intrinsic
def count_down(typing_context: Any, counts: Any, start: Any, bits: Any) -> Any:
    """Decrement the elements of ``counts`` that ``bits`` selects; return the positions whose counts are now
    0."""

    def generate(call: LaneCall) -> Any:
        # A true value, sign-extended, is -1.
        before = call.load(0)
        now = call.builder.add(before, call.builder.sext(call.lane_mask(2), before.type))
        call.update(0, call.args[1], lambda _: now)
        return call.builder.and_(call.compare("==", now, ir.Constant(now.type, None)), call.args[2])

    return types.uint64(counts, types.int64, types.uint64), code_generator(generate)


@intrinsic
def add(typing_context: Any, array: Any, start: Any, bits: Any, amount: Any) -> Any:
    """Add an amount to the elements that ``bits`` selects."""

    def generate(call: LaneCall) -> None:
        amounts = call.broadcast(3, 0)
        addends = call.builder.select(call.lane_mask(2), amounts, ir.Constant(amounts.type, None))
        call.update(0, call.args[1], lambda before: call.builder.add(before, addends))

    return types.void(array, types.int64, types.uint64, number_type(amount)), code_generator(generate)


@intrinsic
def put(typing_context: Any, array: Any, start: Any, bits: Any, value: Any) -> Any:
    """Set the elements that ``bits`` selects to a value; return the positions that had a different value."""

    def generate(call: LaneCall) -> Any:
        before = call.load(0)
        values = call.broadcast(3, 0)
        call.update(0, call.args[1], lambda _: call.builder.select(call.lane_mask(2), values, before))
        return call.builder.and_(call.compare("!=", before, values), call.args[2])

    return types.uint64(array, types.int64, types.uint64, number_type(value)), code_generator(generate)


@intrinsic
def copy(typing_context: Any, target: Any, target_start: Any, source: Any, start: Any, bits: Any) -> Any:
    """Copy the elements that ``bits`` selects from ``source`` to ``target``.

    The 64 elements begin at index ``start`` of ``source`` and at index ``target_start`` of ``target``.
    """

    def generate(call: LaneCall) -> None:
        after = call.load(2)
        call.update(0, call.args[1], lambda before: call.builder.select(call.lane_mask(4), after, before))

    return types.void(target, types.int64, source, types.int64, types.uint64), code_generator(generate)


@intrinsic
def equal_to(typing_context: Any, array: Any, start: Any, value: Any) -> Any:
    """Return the positions whose elements equal ``value``."""

    def generate(call: LaneCall) -> Any:
        return call.compare("==", call.load(0), call.broadcast(2, 0))

    return types.uint64(array, types.int64, number_type(value)), code_generator(generate)


@intrinsic
def in_range(typing_context: Any, array: Any, start: Any, least: Any, most: Any) -> Any:
    """Return the positions whose unsigned elements are between ``least`` and ``most``, inclusive."""

    def generate(call: LaneCall) -> Any:
        elements = call.load(0)
        above = call.compare(">=", elements, call.broadcast(2, 0))
        below = call.compare("<=", elements, call.broadcast(3, 0))
        return call.builder.and_(above, below)

    return types.uint64(array, types.int64, number_type(least), number_type(most)), code_generator(generate)


@intrinsic
def less(typing_context: Any, array: Any, start: Any, other: Any, other_start: Any) -> Any:
    """Return the positions whose elements of ``array``, beginning at index ``start``, are less than those of
    ``other``, beginning at index ``other_start``."""
    return types.uint64(array, types.int64, other, types.int64), comparison_generator("<")


@intrinsic
def equal_elements(typing_context: Any, array: Any, start: Any, other: Any, other_start: Any) -> Any:
    """Return the positions whose elements of ``array``, beginning at index ``start``, equal those of
    ``other``, beginning at index ``other_start``."""
    return types.uint64(array, types.int64, other, types.int64), comparison_generator("==")


@intrinsic
def flip(typing_context: Any, array: Any, start: Any, bits: Any) -> Any:
    """Invert all bits of the elements that ``bits`` selects."""

    def generate(call: LaneCall) -> None:
        builder = call.builder
        call.update(0, call.args[1], lambda old: builder.xor(old, builder.sext(call.lane_mask(2), old.type)))

    return types.void(array, types.int64, types.uint64), code_generator(generate)


@intrinsic
def weigh_all(
    typing_context: Any,
    best: Any,
    min_depth: Any,
    max_depth: Any,
    bits: Any,
    value: Any,
    depth: Any,
    start: Any,
    value_mask: Any,
) -> Any:
    """For each position that ``bits`` selects, weigh one more move against the best moves so far.

    ``best``, ``min_depth`` and ``max_depth`` have 64 elements: the greatest value so far, and the smallest
    and greatest depth among the moves to this value. The new moves have the elements of ``value`` and
    ``depth`` that begin at index ``start``. Each value is first combined with ``value_mask``, 0 or 255, by
    exclusive or.
    """

    def generate(call: LaneCall) -> None:
        builder = call.builder
        zero = ir.Constant(ir.IntType(64), 0)
        mask = call.lane_mask(3)
        values = builder.xor(call.load(4, 6), call.broadcast(7, 4))
        depths = call.load(5, 6)
        greatest = builder.load(call.pointer(0, zero), align=1)
        better = builder.and_(mask, builder.icmp_unsigned(">", values, greatest))
        as_good = builder.and_(mask, builder.icmp_unsigned("==", values, greatest))

        def updated_depths(sign: str, before: Any) -> Any:
            extends = builder.and_(as_good, builder.icmp_unsigned(sign, depths, before))
            return builder.select(builder.or_(better, extends), depths, before)

        call.update(0, zero, lambda before: builder.select(better, values, before))
        call.update(1, zero, lambda before: updated_depths("<", before))
        call.update(2, zero, lambda before: updated_depths(">", before))

    arguments = best, min_depth, max_depth, types.uint64, value, depth, types.int64, number_type(value_mask)
    return types.void(*arguments), code_generator(generate)
