"""The 64 positions of a word side by side: one vector instruction, or a few, for all of them.

What is known of each position, a byte or two, lies in an array from ``first`` on, in the order of the word's
bits. A word chooses positions, as everywhere; the others keep what they have.
"""

from typing import Any, cast

from llvmlite import ir
from numba import types

from tbgen.accelerate import intrinsic

_LANES = 64
_WORD, _BYTE, _PLACE = ir.IntType(64), ir.IntType(8), ir.IntType(32)


def _plain(kind: Any) -> Any:
    """The type of a number that may be a constant."""
    return cast(Any, types).unliteral(kind)


def _repeated(builder: Any, value: Any, lanes: int = _LANES) -> Any:
    """A vector of the same value in all lanes."""
    one = ir.Constant(ir.VectorType(value.type, 1), ir.Undefined)
    first = builder.insert_element(one, value, _PLACE(0))
    return builder.shuffle_vector(first, one, ir.Constant(ir.VectorType(_PLACE, lanes), [0] * lanes))


def _chosen(builder: Any, word: Any) -> Any:
    """A vector of truth values from the bits of a word (its bytes repeated and tested: not every machine has
    registers for such vectors)."""
    of_bytes = builder.bitcast(word, ir.VectorType(_BYTE, 8))
    places = ir.Constant(ir.VectorType(_PLACE, _LANES), [lane // 8 for lane in range(_LANES)])
    lanes = ir.VectorType(_BYTE, _LANES)
    repeated = builder.shuffle_vector(of_bytes, of_bytes, places)
    tested = builder.and_(repeated, ir.Constant(lanes, [1 << lane % 8 for lane in range(_LANES)]))
    return builder.icmp_unsigned("!=", tested, ir.Constant(lanes, [0] * _LANES))


def _place(context: Any, builder: Any, array_type: Any, array: Any, first: Any) -> Any:
    """Pointer to the 64 elements of a contiguous array from ``first`` on, as one vector."""
    data = context.make_array(array_type)(context, builder, array).data
    pointer = builder.gep(data, [first])
    return builder.bitcast(pointer, ir.VectorType(pointer.type.pointee, _LANES).as_pointer())


def _element(context: Any, builder: Any, array_type: Any, value: Any, value_type: Any) -> Any:
    return context.cast(builder, value, _plain(value_type), array_type.dtype)


@intrinsic
def count_down(typing_context: Any, counts: Any, first: Any, bits: Any) -> Any:
    """Take one from each of the counts that ``bits`` choose; return which of them are zero now."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _place(context, builder, counts, args[0], args[1])
        lanes = pointer.type.pointee
        # A truth value that is widened with its sign is -1.
        taken = builder.sext(_chosen(builder, args[2]), lanes)
        now = builder.add(builder.load(pointer, align=1), taken)
        builder.store(now, pointer, align=1)
        out = builder.icmp_unsigned("==", now, ir.Constant(lanes, [0] * _LANES))
        return builder.and_(builder.bitcast(out, _WORD), args[2])

    return types.uint64(counts, types.int64, types.uint64), codegen


@intrinsic
def add(typing_context: Any, array: Any, first: Any, bits: Any, amount: Any) -> Any:
    """Add an amount to the elements that ``bits`` choose."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _place(context, builder, array, args[0], args[1])
        amounts = _repeated(builder, _element(context, builder, array, args[3], amount))
        nothing = ir.Constant(pointer.type.pointee, [0] * _LANES)
        more = builder.select(_chosen(builder, args[2]), amounts, nothing)
        builder.store(builder.add(builder.load(pointer, align=1), more), pointer, align=1)
        return context.get_dummy_value()

    return types.void(array, types.int64, types.uint64, _plain(amount)), codegen


@intrinsic
def put(typing_context: Any, array: Any, first: Any, bits: Any, value: Any) -> Any:
    """Set the elements that ``bits`` choose to a value; return which of them were another one."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _place(context, builder, array, args[0], args[1])
        values = _repeated(builder, _element(context, builder, array, args[3], value))
        before = builder.load(pointer, align=1)
        builder.store(builder.select(_chosen(builder, args[2]), values, before), pointer, align=1)
        changed = builder.icmp_unsigned("!=", before, values)
        return builder.and_(builder.bitcast(changed, _WORD), args[2])

    return types.uint64(array, types.int64, types.uint64, _plain(value)), codegen


@intrinsic
def move(typing_context: Any, target: Any, to: Any, source: Any, first: Any, bits: Any) -> Any:
    """Copy the elements that ``bits`` choose from ``source``, from ``first`` on, to ``target``, from ``to``
    on."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        there = _place(context, builder, target, args[0], args[1])
        here = _place(context, builder, source, args[2], args[3])
        before, after = builder.load(there, align=1), builder.load(here, align=1)
        builder.store(builder.select(_chosen(builder, args[4]), after, before), there, align=1)
        return context.get_dummy_value()

    return types.void(target, types.int64, source, types.int64, types.uint64), codegen


@intrinsic
def equal(typing_context: Any, array: Any, first: Any, value: Any) -> Any:
    """Return where the elements are a value."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _place(context, builder, array, args[0], args[1])
        values = _repeated(builder, _element(context, builder, array, args[2], value))
        same = builder.icmp_unsigned("==", builder.load(pointer, align=1), values)
        return builder.bitcast(same, _WORD)

    return types.uint64(array, types.int64, _plain(value)), codegen


def _comparison(sign: str) -> Any:
    """Code that compares the elements of two arrays without sign."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        one, i, other, j = args
        here, there = (
            builder.load(_place(context, builder, kind, array, first), align=1)
            for kind, array, first in ((signature.args[0], one, i), (signature.args[2], other, j))
        )
        return builder.bitcast(builder.icmp_unsigned(sign, here, there), _WORD)

    return codegen


@intrinsic
def less(typing_context: Any, array: Any, first: Any, other: Any, begin: Any) -> Any:
    """Return where the elements of ``array``, from ``first`` on, are less than those of ``other``, from
    ``begin`` on."""
    return types.uint64(array, types.int64, other, types.int64), _comparison("<")


@intrinsic
def same(typing_context: Any, array: Any, first: Any, other: Any, begin: Any) -> Any:
    """Return where the elements of ``array``, from ``first`` on, are those of ``other``, from ``begin``
    on."""
    return types.uint64(array, types.int64, other, types.int64), _comparison("==")


@intrinsic
def flip(typing_context: Any, array: Any, first: Any, bits: Any) -> Any:
    """Turn all bits of the elements that ``bits`` choose around."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _place(context, builder, array, args[0], args[1])
        turned = builder.sext(_chosen(builder, args[2]), pointer.type.pointee)
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
        zero = ir.Constant(_WORD, 0)
        places = [_place(context, builder, signature.args[n], args[n], zero) for n in range(3)]
        known, least, most = (builder.load(place, align=1) for place in places)
        values = builder.load(_place(context, builder, value, args[4], args[6]), align=1)
        values = builder.xor(values, _repeated(builder, _element(context, builder, value, args[7], turned)))
        depths = builder.load(_place(context, builder, depth, args[5], args[6]), align=1)
        chosen = _chosen(builder, args[3])
        better = builder.and_(chosen, builder.icmp_unsigned(">", values, known))
        as_good = builder.and_(chosen, builder.icmp_unsigned("==", values, known))
        builder.store(builder.select(better, values, known), places[0], align=1)
        for sign, before, place in (("<", least, places[1]), (">", most, places[2])):
            beyond = builder.and_(as_good, builder.icmp_unsigned(sign, depths, before))
            builder.store(builder.select(builder.or_(better, beyond), depths, before), place, align=1)
        return context.get_dummy_value()

    given = best, nearest, farthest, types.uint64, value, depth, types.int64, _plain(turned)
    return types.void(*given), codegen
