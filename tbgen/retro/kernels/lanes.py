"""The 64 positions of a word side by side: one vector instruction, or a few, for all of them.

What is known of each position, a byte or two, lies in a C-contiguous array from ``first`` on, in the order of
the word's bits; nobody checks that there are 64 elements. A word chooses positions, as everywhere. The others
keep what they have, but are written again: no other thread may write to these 64 at the same time.
"""

from typing import Any

from llvmlite import ir
from numba import types

from tbgen.compiler.jit import intrinsic
from tbgen.retro import vectors


@intrinsic
def count_down(typing_context: Any, counts: Any, first: Any, bits: Any) -> Any:
    """Take one from each of the counts that ``bits`` choose; return which of them are zero now."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = vectors.place(context, builder, counts, args[0], args[1])
        lanes = pointer.type.pointee
        # A truth value that is widened with its sign is -1.
        taken = builder.sext(vectors.chosen(builder, args[2]), lanes)
        now = builder.add(builder.load(pointer, align=1), taken)
        builder.store(now, pointer, align=1)
        out = builder.icmp_unsigned("==", now, ir.Constant(lanes, [0] * vectors.LANES))
        return builder.and_(builder.bitcast(out, vectors.WORD), args[2])

    return types.uint64(counts, types.int64, types.uint64), codegen


@intrinsic
def add(typing_context: Any, array: Any, first: Any, bits: Any, amount: Any) -> Any:
    """Add an amount to the elements that ``bits`` choose."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = vectors.place(context, builder, array, args[0], args[1])
        amounts = vectors.repeated(builder, vectors.element(context, builder, array, args[3], amount))
        nothing = ir.Constant(pointer.type.pointee, [0] * vectors.LANES)
        more = builder.select(vectors.chosen(builder, args[2]), amounts, nothing)
        builder.store(builder.add(builder.load(pointer, align=1), more), pointer, align=1)
        return context.get_dummy_value()

    return types.void(array, types.int64, types.uint64, vectors.plain(amount)), codegen


@intrinsic
def put(typing_context: Any, array: Any, first: Any, bits: Any, value: Any) -> Any:
    """Set the elements that ``bits`` choose to a value; return which of them were another one."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = vectors.place(context, builder, array, args[0], args[1])
        values = vectors.repeated(builder, vectors.element(context, builder, array, args[3], value))
        before = builder.load(pointer, align=1)
        builder.store(builder.select(vectors.chosen(builder, args[2]), values, before), pointer, align=1)
        changed = builder.icmp_unsigned("!=", before, values)
        return builder.and_(builder.bitcast(changed, vectors.WORD), args[2])

    return types.uint64(array, types.int64, types.uint64, vectors.plain(value)), codegen


@intrinsic
def move(typing_context: Any, target: Any, to: Any, source: Any, first: Any, bits: Any) -> Any:
    """Copy the elements that ``bits`` choose from ``source``, from ``first`` on, to ``target``, from ``to``
    on."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        there = vectors.place(context, builder, target, args[0], args[1])
        here = vectors.place(context, builder, source, args[2], args[3])
        before, after = builder.load(there, align=1), builder.load(here, align=1)
        builder.store(builder.select(vectors.chosen(builder, args[4]), after, before), there, align=1)
        return context.get_dummy_value()

    return types.void(target, types.int64, source, types.int64, types.uint64), codegen


@intrinsic
def equal(typing_context: Any, array: Any, first: Any, value: Any) -> Any:
    """Return where the elements are a value."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = vectors.place(context, builder, array, args[0], args[1])
        values = vectors.repeated(builder, vectors.element(context, builder, array, args[2], value))
        same = builder.icmp_unsigned("==", builder.load(pointer, align=1), values)
        return builder.bitcast(same, vectors.WORD)

    return types.uint64(array, types.int64, vectors.plain(value)), codegen


@intrinsic
def within(typing_context: Any, array: Any, first: Any, least: Any, most: Any) -> Any:
    """Return where the elements, which have no signs, are at least one value and at most another."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        elements = builder.load(vectors.place(context, builder, array, args[0], args[1]), align=1)
        ends = (
            vectors.repeated(builder, vectors.element(context, builder, array, value, kind))
            for value, kind in ((args[2], least), (args[3], most))
        )
        above, below = (
            builder.icmp_unsigned(sign, elements, end) for sign, end in zip((">=", "<="), ends, strict=True)
        )
        return builder.bitcast(builder.and_(above, below), vectors.WORD)

    return types.uint64(array, types.int64, vectors.plain(least), vectors.plain(most)), codegen


@intrinsic
def less(typing_context: Any, array: Any, first: Any, other: Any, begin: Any) -> Any:
    """Return where the elements of ``array``, from ``first`` on, are less than those of ``other``, from
    ``begin`` on."""
    return types.uint64(array, types.int64, other, types.int64), vectors.comparison("<")


@intrinsic
def same(typing_context: Any, array: Any, first: Any, other: Any, begin: Any) -> Any:
    """Return where the elements of ``array``, from ``first`` on, are those of ``other``, from ``begin``
    on."""
    return types.uint64(array, types.int64, other, types.int64), vectors.comparison("==")


@intrinsic
def flip(typing_context: Any, array: Any, first: Any, bits: Any) -> Any:
    """Turn all bits of the elements that ``bits`` choose around."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = vectors.place(context, builder, array, args[0], args[1])
        turned = builder.sext(vectors.chosen(builder, args[2]), pointer.type.pointee)
        builder.store(builder.xor(builder.load(pointer, align=1), turned), pointer, align=1)
        return context.get_dummy_value()

    return types.void(array, types.int64, types.uint64), codegen


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

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        zero = ir.Constant(vectors.WORD, 0)
        places = [vectors.place(context, builder, signature.args[n], args[n], zero) for n in range(3)]
        known, least, most = (builder.load(place, align=1) for place in places)
        values = builder.load(vectors.place(context, builder, value, args[4], args[6]), align=1)
        values = builder.xor(
            values, vectors.repeated(builder, vectors.element(context, builder, value, args[7], turned))
        )
        depths = builder.load(vectors.place(context, builder, depth, args[5], args[6]), align=1)
        chosen = vectors.chosen(builder, args[3])
        better = builder.and_(chosen, builder.icmp_unsigned(">", values, known))
        as_good = builder.and_(chosen, builder.icmp_unsigned("==", values, known))
        builder.store(builder.select(better, values, known), places[0], align=1)
        for sign, before, place in (("<", least, places[1]), (">", most, places[2])):
            beyond = builder.and_(as_good, builder.icmp_unsigned(sign, depths, before))
            builder.store(builder.select(builder.or_(better, beyond), depths, before), place, align=1)
        return context.get_dummy_value()

    given = best, nearest, farthest, types.uint64, value, depth, types.int64, vectors.plain(turned)
    return types.void(*given), codegen
