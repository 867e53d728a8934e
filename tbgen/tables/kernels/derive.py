"""Deriving values and depths with one side to move from those with the other side to move, and finding
exceptions.

Exceptions are the positions for which the derived result is wrong. W and D are the value and depth of a fresh
state (docs/glossary.md). The rule: in the fresh state of a position P with position rank r, a quiet move to Q
counts if the position rank of Q or the rank of W(Q) is below r, because play then continues as from the fresh
state of Q (fact F1 of docs/theory.md). The move gives the value W(Q) and the depth D(Q) + 1. Zeroing moves
always count. If some move does not count, and no move that counts is better than the position score of P, the
value is the position score.

The rule is implemented for single positions (``weigh``, ``conclude``) and for the 64 positions of a word
(``derive``).
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbgen.board.kinds import KINDS
from tbgen.board.score import NONE
from tbgen.compiler.jit import inlined, int64, kernel
from tbgen.compiler.structs import Struct
from tbgen.moves.geometry import BIT, IMAGES, INVERSES, ORTHODOX
from tbgen.moves.kernels.canonical import canonical_slot
from tbgen.moves.kernels.frame import decode, reach
from tbgen.moves.kernels.moves import SLICES, MoveBuffer, list_quiet_targets, list_scalar_successors
from tbgen.moves.kernels.words import (
    ALL,
    ONE,
    ZERO,
    Codes,
    Ints,
    Plies,
    Word,
    Words,
    add,
    copy,
    equal_elements,
    equal_to,
    flip,
    image,
    less,
    lowest,
    prefetch_for_reading,
    prefetch_slots,
    put,
    rotated,
    weigh_all,
)
from tbgen.moves.structs import NO_EXIT, Exits, Frame, Phase
from tbgen.tables.kernels.goals import conclude, merit, position_score, rank_of_code, weigh
from tbgen.tables.structs import CAPTURE_FLAG

_MAX_WAYS = max(ORTHODOX.way_count)
STEP = np.array([[8 * r + f for f, r in kind.steps] + [0] * (_MAX_WAYS - len(kind.steps)) for kind in KINDS])
"""int64 (kinds, max ways): change of the square's number in one step in each direction (way).
``Movement.rotation`` is this number modulo 64."""

MERIT_MASK = np.array([255, 0], np.uint8)
"""uint8 (2,): for each mover, the mask that, XORed with a code, gives the merit of the code."""


@dataclass(frozen=True, eq=False)
class PhaseData(Struct):
    """One phase, with the data needed to derive the positions with one side to move from those with the other
    side to move.

    The other side is called the *source* side.
    """

    frame: Frame
    phase: Phase
    exits: tuple[Exits, Exits]
    """The best zeroing moves with White and with Black to move, with one element for each slot."""
    value: Codes
    """uint8: codes of W. The codes of the phase begin at ``start``. All slots of the source side are set."""
    depth: Plies
    """uint16: D in plies, indexed like ``value``. CAPTURE_FLAG is set if the derivation must not use the
    position."""
    start: Ints
    """int64 (2,): index in ``value`` and ``depth`` of the first slot of the phase with each side to move."""
    rank: NDArray[np.uint8]
    """uint8 (2, phase size): position ranks of all legal positions. ``find_usable`` lowers the ranks of the
    source side to the ranks of the values."""
    usable: Words
    """uint64 (words,): positions of the source side that the derivation may use."""
    newly_usable: Words
    """uint64 (words,): positions that the last call of ``find_usable`` has made usable."""


class Children(NamedTuple):
    """Values, depths and ranks of positions with the other side to move."""

    value: Codes
    """uint8: codes of W."""
    depth: Plies
    """uint16: D in plies."""
    rank: Codes
    """uint8: ranks, as in ``PhaseData.rank``."""


@dataclass(frozen=True, eq=False)
class DerivationBuffers(Struct):
    """Buffers for deriving the positions of one word."""

    moves: MoveBuffer
    best: Codes
    """uint8 (64,): best merit of the moves so far, 0 if there are none."""
    nearest: Plies
    """uint16 (64,): smallest depth of the best moves, ``NO_EXIT`` if there are none."""
    farthest: Plies
    """uint16 (64,): greatest depth of the best moves, 0 if there are none."""
    uncounted: Words
    """uint64 (1,): positions with a move that does not count."""
    value: Codes
    """uint8 (64,): derived values."""
    depth: Plies
    """uint16 (64,): derived depths."""
    squares: Ints
    """int64 (MAX_MEN,): scratch memory."""
    padded_children: Children
    """Copy of the word with the other side to move, with 64 unused elements before and after it. A move of
    the bit man by n squares leads to the element at a distance of n."""


@inlined
def _weigh_one(data: PhaseData, side: int, slot: int, child: int, buffer: DerivationBuffers) -> None:
    """Weigh the quiet move from the position ``slot`` to the usable position ``child`` against the best moves
    so far."""
    bit = slot & 63
    other = 1 - side
    if data.rank[other, child] >= data.rank[side, slot]:
        buffer.uncounted[0] |= BIT[bit]
        return
    index = data.start[other] + child
    previous = int64(buffer.best[bit]), int64(buffer.nearest[bit]), int64(buffer.farthest[bit])
    best = weigh(previous, merit(side, int64(data.value[index])), int64(data.depth[index]))
    buffer.best[bit], buffer.nearest[bit], buffer.farthest[bit] = best


@inlined
def _weigh_exits(data: PhaseData, side: int, word: int, bits: Word, buffer: DerivationBuffers) -> None:
    """Initialize the best moves of the positions ``bits`` to their best zeroing moves."""
    exits = data.exits[side]
    slot = word * 64
    mask = MERIT_MASK[side]
    put(buffer.best, 0, ALL, 0)
    put(buffer.nearest, 0, ALL, NO_EXIT)
    put(buffer.farthest, 0, ALL, 0)
    bits &= ~equal_to(exits.min_depth, slot, NO_EXIT)
    if bits:
        copy(buffer.best, 0, exits.value, slot, bits)
        flip(buffer.best, 0, bits if mask else ZERO)
        copy(buffer.nearest, 0, exits.min_depth, slot, bits)
        copy(buffer.farthest, 0, exits.max_depth, slot, bits)


@inlined
def _weigh_in_word(
    ranks: Codes,
    word: int,
    bits: Word,
    children: Children,
    child: int,
    first_entry: int,
    merit_mask: int,
    buffer: DerivationBuffers,
) -> None:
    """For each of the positions ``bits``, weigh one quiet move to a usable position against the best moves.

    ``ranks`` are the ranks of the phase. In ``children``, the ranks of the positions after the moves begin at
    index ``child``, and their values and depths at index ``first_entry``.
    """
    counted = bits & less(children.rank, child, ranks, word << 6)
    buffer.uncounted[0] |= bits & ~counted
    if counted:
        best, nearest, farthest = buffer.best, buffer.nearest, buffer.farthest
        weigh_all(best, nearest, farthest, counted, children.value, children.depth, first_entry, merit_mask)


@inlined
def _weigh_scalars(data: PhaseData, side: int, word: int, bits: Word, buffer: DerivationBuffers) -> None:
    """Weigh the quiet moves of the mover's scalars from the positions ``bits``."""
    other = 1 - side
    ranks = data.rank[side]
    start = data.start[1 - side]
    children = Children(data.value, data.depth, data.rank[other])
    count = list_scalar_successors(data.frame, word, bits, side, buffer.moves)
    for index in range(count):
        child = buffer.moves.word[index] << 6
        prefetch_for_reading(children.rank, child)
        prefetch_slots(children.value, children.depth, start + child)
    for index in range(count):
        target, symmetry = buffer.moves.word[index], buffer.moves.symmetry[index]
        remaining = buffer.moves.bits[index] & image(data.usable[target], INVERSES[symmetry])
        if symmetry == 0:
            child = target << 6
            _weigh_in_word(ranks, word, remaining, children, child, start + child, MERIT_MASK[side], buffer)
            continue
        while remaining:
            bit = lowest(remaining)
            remaining &= remaining - ONE
            _weigh_one(data, side, word << 6 | bit, target << 6 | IMAGES[symmetry, bit], buffer)


@inlined
def _weigh_bit_man(data: PhaseData, side: int, word: int, bits: Word, buffer: DerivationBuffers) -> None:
    """Weigh the quiet moves of the bit man from the positions ``bits``."""
    frame = data.frame
    padded = buffer.padded_children
    usable = data.usable[word]
    kind = frame.kinds[frame.scalars]
    first_slot = word << 6
    ranks = data.rank[side]
    copy(padded.value, 64, data.value, data.start[1 - side] + first_slot, ALL)
    copy(padded.depth, 64, data.depth, data.start[1 - side] + first_slot, ALL)
    copy(padded.rank, 64, data.rank[1 - side], first_slot, ALL)
    empty = ~decode(frame, word, buffer.moves.squares)
    for way in range(ORTHODOX.way_count[kind]):
        origins = usable
        child = int64(64)
        for _ in range(ORTHODOX.length[kind, way]):
            origins = rotated(origins, ORTHODOX.rotation[kind, way]) & ORTHODOX.landing[kind, way] & empty
            if origins == ZERO:
                break
            child -= STEP[kind, way]
            if origins & bits:
                _weigh_in_word(ranks, word, origins & bits, padded, child, child, MERIT_MASK[side], buffer)


@kernel
def derive(data: PhaseData, side: int, word: int, bits: Word, buffer: DerivationBuffers) -> None:
    """Derive the legal positions ``bits`` of a word. Write the results to ``buffer.value`` and
    ``buffer.depth``."""
    frame = data.frame
    first_slot = word << 6
    ranks = data.rank[side]
    buffer.uncounted[0] = ZERO
    _weigh_exits(data, side, word, bits, buffer)
    _weigh_scalars(data, side, word, bits, buffer)
    if frame.colours[frame.scalars] == side:
        _weigh_bit_man(data, side, word, bits, buffer)
    # This computes what ``conclude`` does. The merit of the position score is the position rank. If no move
    # is usable, the result is merit 0 and depth 1, which is never right: a side is mated in an even number
    # of plies.
    better = less(ranks, first_slot, buffer.best, 0)
    worse = less(buffer.best, 0, ranks, first_slot) & ~buffer.uncounted[0]
    worse &= ~(equal_to(ranks, first_slot, 0) | equal_to(ranks, first_slot, 1))
    copy(buffer.value, 0, ranks, first_slot, ALL)
    copy(buffer.value, 0, buffer.best, 0, better | worse)
    flip(buffer.value, 0, ALL if MERIT_MASK[side] else ZERO)
    put(buffer.depth, 0, ALL, 0)
    copy(buffer.depth, 0, buffer.nearest, 0, better)
    copy(buffer.depth, 0, buffer.farthest, 0, worse)
    add(buffer.depth, 0, better | worse, 1)


@kernel
def find_ranks(phase: Phase, rank: Codes, start: int, stop: int) -> None:
    """Write the position ranks of the words ``start`` to ``stop`` - 1 to ``rank``, uint8 (2, phase size).

    The rank of a slot without a position is 0.
    """
    for side in range(2):
        side_ranks = rank[side]
        for word in range(start, stop):
            put(side_ranks, word * 64, ALL, 0)
            for index in range(SLICES):
                add(side_ranks, word * 64, phase.rank_bits[side, word, index], 1 << index)


@inlined
def by_exit(data: PhaseData, side: int, slot: int) -> tuple[int, int]:
    """Value and depth that a position would have if only its zeroing moves counted. The value is NONE if the
    position has no zeroing move."""
    exits = data.exits[side]
    nearest = int64(exits.min_depth[slot])
    if nearest == NO_EXIT:
        return NONE, 0
    best = merit(side, int64(exits.value[slot])), nearest, int64(exits.max_depth[slot])
    return conclude(side, position_score(side, int64(data.rank[side, slot])), best, False)


@kernel
def find_usable(data: PhaseData, side: int, start: int, stop: int) -> None:
    """Find the usable positions of ``side`` at all slots of the words ``start`` to ``stop`` - 1.

    Their ranks are lowered to those of their values.
    """
    first_slot = data.start[side]
    for word in range(start, stop):
        legal = data.phase.legal[side, word]
        usable = ZERO
        while legal:
            bit = lowest(legal)
            legal &= legal - ONE
            slot = word * 64 + bit
            if data.depth[first_slot + slot] & CAPTURE_FLAG == 0:
                usable |= BIT[bit]
                value_rank = rank_of_code(int(data.value[first_slot + slot]))
                data.rank[side, slot] = min(int(data.rank[side, slot]), value_rank)
        data.newly_usable[word] = usable & ~data.usable[word]
        data.usable[word] = usable


@kernel
def flag_by_exit(data: PhaseData, side: int, start: int, stop: int) -> None:
    """Flag the positions of ``side``, at canonical slots, whose entries follow from their best zeroing move.

    This move gives both value and depth, and the value is not the position score.
    """
    for word in range(start, stop):
        bits = data.phase.legal[side, word] & data.phase.canonical[word]
        while bits:
            slot = word * 64 + lowest(bits)
            bits &= bits - ONE
            index = data.start[side] + slot
            if data.depth[index]:
                value, plies = by_exit(data, side, slot)
                if value == data.value[index] and plies == data.depth[index]:
                    data.depth[index] |= CAPTURE_FLAG


@inlined
def _explains(data: PhaseData, side: int, slot: int, child: int) -> bool:
    """Whether the move to the flagged position ``child`` gives the position ``slot`` its value and depth."""
    child_index = data.start[1 - side] + child
    index = data.start[side] + slot
    plies = int64(data.depth[child_index] & (CAPTURE_FLAG - 1)) + 1
    return bool(data.value[child_index] == data.value[index] and plies == data.depth[index])


@kernel
def find_needed(
    data: PhaseData,
    side: int,
    like_men: Ints,
    symmetric: bool,
    exceptions: Words,
    needed: Codes,
    buffer: DerivationBuffers,
    start: int,
    stop: int,
) -> None:
    """Find the flagged positions that are needed to derive the positions of ``side`` in ``exceptions``.

    A move to such a position gives an exception its value and depth. ``needed``, uint8 (phase size,), is set
    to 1 at the canonical slots of the flagged positions found.
    """
    moves = buffer.moves
    frame = data.frame
    legal = data.phase.legal[1 - side]
    for word in range(start, stop):
        remaining = exceptions[word]
        while remaining:
            bit = lowest(remaining)
            remaining &= remaining - ONE
            for index in range(list_quiet_targets(frame, word, bit, side, moves)):
                child = moves.word[index]
                flagged = legal[child >> 6] & ~data.usable[child >> 6] & BIT[child & 63]
                if flagged and _explains(data, side, word << 6 | bit, child):
                    needed[canonical_slot(frame, child, like_men, symmetric, buffer.squares)] = 1


@kernel
def clear_flags(data: PhaseData, side: int, needed: Codes, start: int, stop: int) -> None:
    """Clear the flags of the needed positions, at canonical slots, and ``needed`` itself."""
    for slot in range(64 * start, 64 * stop):
        if needed[slot]:
            data.depth[data.start[side] + slot] &= CAPTURE_FLAG - 1
            needed[slot] = 0


@inlined
def _before_newly_usable(data: PhaseData, side: int, word: int, moves: MoveBuffer) -> Word:
    """The positions of a word from which ``side`` can move to a newly usable position."""
    frame, newly = data.frame, data.newly_usable
    predecessors = ZERO
    for index in range(list_scalar_successors(frame, word, ALL, side, moves)):
        target, symmetry = moves.word[index], moves.symmetry[index]
        if newly[target]:
            predecessors |= moves.bits[index] & image(newly[target], INVERSES[symmetry])
    if frame.colours[frame.scalars] == side and newly[word]:
        predecessors |= reach(
            frame.moves, frame.kinds[frame.scalars], newly[word], ~decode(frame, word, moves.squares)
        )
    return predecessors


@kernel
def find_exceptions(
    data: PhaseData, side: int, exceptions: Words, buffer: DerivationBuffers, start: int, stop: int
) -> None:
    """Set ``exceptions``, uint64 (words,), to the positions of ``side`` for which the derived result is
    wrong.

    Only canonical slots are considered. Of these, only previous exceptions (``ALL`` at first) and
    predecessors of newly usable positions are examined.
    """
    for word in range(start, stop):
        bits = data.phase.legal[side, word] & data.phase.canonical[word]
        if bits and exceptions[word] != ALL:
            bits &= exceptions[word] | _before_newly_usable(data, side, word, buffer.moves)
        if bits:
            derive(data, side, word, bits, buffer)
            first_slot = data.start[side] + word * 64
            keeps_value = equal_elements(buffer.value, 0, data.value, first_slot)
            bits &= ~(keeps_value & equal_elements(buffer.depth, 0, data.depth, first_slot))
        exceptions[word] = bits


@kernel
def derive_all(data: PhaseData, side: int, buffer: DerivationBuffers, start: int, stop: int) -> None:
    """Derive the positions of ``side`` at canonical slots."""
    for word in range(start, stop):
        bits = data.phase.legal[side, word] & data.phase.canonical[word]
        if bits:
            derive(data, side, word, bits, buffer)
            first_slot = data.start[side] + word * 64
            copy(data.value, first_slot, buffer.value, 0, bits)
            copy(data.depth, first_slot, buffer.depth, 0, bits)


@kernel
def fill_stored_side(data: PhaseData, side: int, start: int, stop: int) -> bool:
    """Fill in, at canonical slots, those entries of the stored side that are missing from the blocks.

    Flagged positions get the value and depth that their best zeroing move gives. Positions with depth 0 get
    their position score as value. Return whether all flagged positions have zeroing moves.
    """
    complete = True
    for word in range(start, stop):
        bits = data.phase.legal[side, word] & data.phase.canonical[word]
        while bits:
            slot = word * 64 + lowest(bits)
            bits &= bits - ONE
            index = data.start[side] + slot
            if data.depth[index] & CAPTURE_FLAG:
                value, plies = by_exit(data, side, slot)
                complete &= value != NONE
                data.value[index] = value
                data.depth[index] = plies | CAPTURE_FLAG
            elif data.depth[index] == 0:
                data.value[index] = position_score(side, int(data.rank[side, slot]))
    return complete
