"""Words of 64 positions that differ in the square of the bit man only: operations on bits and on lanes.

Lanes are the 64 positions side by side: one vector instruction, or a few, for all of them. What is known of
each position, a byte or two, lies in a C-contiguous array from ``first`` on, in the order of the word's bits;
nobody checks that there are 64 elements. A word chooses positions, as everywhere. The others keep what they
have, but are written again: no other thread may write to these 64 at the same time.
"""

from typing import Any, TypeAlias, cast

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numpy.typing import NDArray

from tbgen.compiler.jit import inlined, intrinsic
from tbgen.retro.vectors import BitsType, LaneCall, coded, comparison, plain

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


@intrinsic
def count_down(typing_context: Any, counts: Any, first: Any, bits: Any) -> Any:
    """Take one from each of the counts that ``bits`` choose; return which of them are zero now."""

    def write(call: LaneCall) -> Any:
        # A truth value that is widened with its sign is -1.
        before = call.load(0)
        now = call.builder.add(before, call.builder.sext(call.chosen(2), before.type))
        call.update(0, call.args[1], lambda _: now)
        return call.builder.and_(call.where("==", now, ir.Constant(now.type, None)), call.args[2])

    return types.uint64(counts, types.int64, types.uint64), coded(write)


@intrinsic
def add(typing_context: Any, array: Any, first: Any, bits: Any, amount: Any) -> Any:
    """Add an amount to the elements that ``bits`` choose."""

    def write(call: LaneCall) -> None:
        amounts = call.repeated(3, 0)
        more = call.builder.select(call.chosen(2), amounts, ir.Constant(amounts.type, None))
        call.update(0, call.args[1], lambda before: call.builder.add(before, more))

    return types.void(array, types.int64, types.uint64, plain(amount)), coded(write)


@intrinsic
def put(typing_context: Any, array: Any, first: Any, bits: Any, value: Any) -> Any:
    """Set the elements that ``bits`` choose to a value; return which of them were another one."""

    def write(call: LaneCall) -> Any:
        before, values = call.load(0), call.repeated(3, 0)
        call.update(0, call.args[1], lambda _: call.builder.select(call.chosen(2), values, before))
        return call.builder.and_(call.where("!=", before, values), call.args[2])

    return types.uint64(array, types.int64, types.uint64, plain(value)), coded(write)


@intrinsic
def move(typing_context: Any, target: Any, to: Any, source: Any, first: Any, bits: Any) -> Any:
    """Copy the elements that ``bits`` choose from ``source``, from ``first`` on, to ``target``, from ``to``
    on."""

    def write(call: LaneCall) -> None:
        after = call.load(2)
        call.update(0, call.args[1], lambda before: call.builder.select(call.chosen(4), after, before))

    return types.void(target, types.int64, source, types.int64, types.uint64), coded(write)


@intrinsic
def equal(typing_context: Any, array: Any, first: Any, value: Any) -> Any:
    """Return where the elements are a value."""

    def write(call: LaneCall) -> Any:
        return call.where("==", call.load(0), call.repeated(2, 0))

    return types.uint64(array, types.int64, plain(value)), coded(write)


@intrinsic
def within(typing_context: Any, array: Any, first: Any, least: Any, most: Any) -> Any:
    """Return where the elements, which have no signs, are at least one value and at most another."""

    def write(call: LaneCall) -> Any:
        elements = call.load(0)
        above, below = (
            call.where(">=", elements, call.repeated(2, 0)),
            call.where("<=", elements, call.repeated(3, 0)),
        )
        return call.builder.and_(above, below)

    return types.uint64(array, types.int64, plain(least), plain(most)), coded(write)


@intrinsic
def less(typing_context: Any, array: Any, first: Any, other: Any, begin: Any) -> Any:
    """Return where the elements of ``array``, from ``first`` on, are less than those of ``other``, from
    ``begin`` on."""
    return types.uint64(array, types.int64, other, types.int64), comparison("<")


@intrinsic
def same(typing_context: Any, array: Any, first: Any, other: Any, begin: Any) -> Any:
    """Return where the elements of ``array``, from ``first`` on, are those of ``other``, from ``begin``
    on."""
    return types.uint64(array, types.int64, other, types.int64), comparison("==")


@intrinsic
def flip(typing_context: Any, array: Any, first: Any, bits: Any) -> Any:
    """Turn all bits of the elements that ``bits`` choose around."""

    def write(call: LaneCall) -> None:
        builder = call.builder
        call.update(0, call.args[1], lambda old: builder.xor(old, builder.sext(call.chosen(2), old.type)))

    return types.void(array, types.int64, types.uint64), coded(write)


@intrinsic
def weigh_all(
    typing_context: Any,
    best: Any,
    nearest: Any,
    farthest: Any,
    bits: Any,
    value: Any,
    depth: Any,
    first: Any,
    turned: Any,
) -> Any:
    """Take one move more into the best of the positions that ``bits`` choose.

    ``best``, ``nearest`` and ``farthest`` have 64 elements: the greatest value so far, and the smallest and
    the greatest depth beside it. ``value`` (with all its bits ``turned`` around: 255, else 0) and ``depth``,
    from ``first`` on, are those of the move.
    """

    def write(call: LaneCall) -> None:
        builder, begin, chosen = call.builder, ir.Constant(ir.IntType(64), 0), call.chosen(3)
        values = builder.xor(call.load(4, 6), call.repeated(7, 4))
        depths, known = call.load(5, 6), builder.load(call.place(0, begin), align=1)
        better = builder.and_(chosen, builder.icmp_unsigned(">", values, known))
        as_good = builder.and_(chosen, builder.icmp_unsigned("==", values, known))

        def nearer(sign: str, before: Any) -> Any:
            beyond = builder.and_(as_good, builder.icmp_unsigned(sign, depths, before))
            return builder.select(builder.or_(better, beyond), depths, before)

        call.update(0, begin, lambda before: builder.select(better, values, before))
        call.update(1, begin, lambda before: nearer("<", before))
        call.update(2, begin, lambda before: nearer(">", before))

    given = best, nearest, farthest, types.uint64, value, depth, types.int64, plain(turned)
    return types.void(*given), coded(write)
