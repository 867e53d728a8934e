"""The 64 positions of a word side by side: one vector instruction, or a few, for all of them.

What is known of each position, a byte or two, lies in a C-contiguous array from ``first`` on, in the order of
the word's bits; nobody checks that there are 64 elements. A word chooses positions, as everywhere. The others
keep what they have, but are written again: no other thread may write to these 64 at the same time.
"""

from typing import Any

from llvmlite import ir
from numba import types

from tbgen.compiler.jit import intrinsic
from tbgen.retro.vectors import LaneCall, coded, comparison, plain


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
