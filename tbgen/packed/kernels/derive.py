"""Derivation of the positions with one side to move from those with the other, and the search for exceptions.

W and D are the value and depth of a fresh state (docs/glossary.md). The rule: in the fresh state of a
position P with position rank r, a quiet move to Q counts if the position rank of Q or the rank of W(Q) is
below r, because play then continues from Q as if Q were the first position of its phase (fact F1 of
docs/theory.md). The move gives the value W(Q) and the depth D(Q) + 1. Zeroing moves always count. If some
move does not count, and no move that counts is better than the position score of P, the value is the position
score.

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
from tbgen.packed.kernels.blocks import CAPTURE_FLAG
from tbgen.retro.geometry import BIT, IMAGES, INVERSES, ORTHODOX
from tbgen.retro.kernels.best_exits import NO_EXIT, Exits
from tbgen.retro.kernels.canonical import canonical_slot
from tbgen.retro.kernels.frame import Frame, Phase, decode, reach
from tbgen.retro.kernels.moves import SLICES, MoveBuffer, list_quiet_targets, list_scalar_successors
from tbgen.retro.kernels.words import (
    ALL,
    ONE,
    ZERO,
    Codes,
    Ints,
    Plies,
    Word,
    Words,
    add,
    equal,
    flip,
    image,
    less,
    lowest,
    move,
    put,
    rotated,
    same,
    weigh_all,
)


@inlined
def position_score(side: int, rank: int) -> int:
    """The code of a position score, which the side that has just moved holds."""
    return 255 - rank if side == 0 else rank


@inlined
def rank_of_code(code: int) -> int:
    """The rank of a score."""
    return code if code < NONE else 255 - code


@inlined
def merit(side: int, code: int) -> int:
    """The merit of a code, which is greater if the score is better for the mover. The merit of a merit is the
    code."""
    return 255 - code if side == 0 else code


@inlined
def weigh(best: tuple[int, int, int], move_merit: int, depth: int) -> tuple[int, int, int]:
    """Update the best merit, and the smallest and greatest depth of the moves with this merit, by one move.

    ``move_merit`` is the merit of the move.
    """
    if move_merit > best[0]:
        return move_merit, depth, depth
    if move_merit == best[0]:
        return move_merit, min(best[1], depth), max(best[2], depth)
    return best


@inlined
def conclude(side: int, score: int, best: tuple[int, int, int], uncounted: bool) -> tuple[int, int]:
    """Value and depth of a position with the position score ``score``.

    ``best`` is the result of ``weigh`` for all moves that count. ``uncounted`` says whether some quiet move
    does not count.
    """
    if best[0] > merit(side, score):
        return merit(side, best[0]), best[1] + 1
    if uncounted or best[0] == merit(side, score):
        return score, 0
    return merit(side, best[0]), best[2] + 1


@inlined
def depth_of_half(side: int, code: int, half: int) -> int:
    """The depth of a stored value with ``side`` to move, from half of it. It is odd if the mover holds the
    value."""
    return 2 * half + int64((code > NONE) == (side == 1))


_MAX_WAYS = max(ORTHODOX.way_count)
STEP = np.array([[8 * r + f for f, r in kind.steps] + [0] * (_MAX_WAYS - len(kind.steps)) for kind in KINDS])
"""int64 (kinds, directions): difference between the squares of one step. ``Movement.distance`` is this
difference modulo 64."""

MERIT_MASK = np.array([255, 0], np.uint8)
"""uint8 (2,), by mover: mask whose exclusive or with a code is the merit of the code."""


@dataclass(frozen=True, eq=False)
class PhasePlies(Struct):
    """One phase, with the data from which one side to move is derived in one ply from the other side.

    The other side is called the *source* side.
    """

    frame: Frame
    phase: Phase
    exits: Exits
    """The best zeroing moves of both sides."""
    value: Codes
    """uint8: codes of W. Those of the phase begin at ``start``. All slots of the source side are set."""
    depth: Plies
    """uint16: D in plies, indexed like ``value``. CAPTURE_FLAG is set if derivation must not use the
    position."""
    start: Ints
    """int64 (2,): index of the first slot of the phase in ``value`` and ``depth``, by side to move."""
    rank: NDArray[np.uint8]
    """uint8 (2, phase size): position ranks of all legal positions. ``find_usable`` lowers those of the
    source side to the ranks of the values."""
    usable: Words
    """uint64 (words,): positions of the source side that derivation may use."""
    newly_usable: Words
    """uint64 (words,): positions that the last call of ``find_usable`` has made usable."""


class Replies(NamedTuple):
    """Values, depths and ranks of positions with the other side to move."""

    value: Codes
    """uint8: codes of W."""
    depth: Plies
    """uint16: D in plies."""
    rank: Codes
    """uint8: ranks, as in ``PhasePlies.rank``."""


@dataclass(frozen=True, eq=False)
class DerivationBuffers(Struct):
    """Buffers to derive the positions of one word."""

    moves: MoveBuffer
    best: Codes
    """uint8 (64,): best merit of the moves so far, 0 without moves."""
    nearest: Plies
    """uint16 (64,): smallest depth of the best moves, ``NO_EXIT`` without moves."""
    farthest: Plies
    """uint16 (64,): greatest depth of the best moves, 0 without moves."""
    uncounted: Words
    """uint64 (1,): positions with a move that does not count."""
    value: Codes
    """uint8 (64,): derived values."""
    depth: Plies
    """uint16 (64,): derived depths."""
    squares: Ints
    """int64 (8,): scratch memory."""
    around: Replies
    """Copy of the word with the other side to move, with 64 unused elements before and after it. A move of
    the bit man by n squares leads to the element n places away."""


@inlined
def _weigh_one(ply: PhasePlies, side: int, slot: int, child: int, buffer: DerivationBuffers) -> None:
    """Update the best move of the position ``slot`` by its quiet move to the usable position ``child``, as
    ``weigh`` does."""
    bit, other = slot & 63, 1 - side
    if ply.rank[other, child] >= ply.rank[side, slot]:
        buffer.uncounted[0] |= BIT[bit]
        return
    index = ply.start[other] + child
    previous = int64(buffer.best[bit]), int64(buffer.nearest[bit]), int64(buffer.farthest[bit])
    best = weigh(previous, merit(side, int64(ply.value[index])), int64(ply.depth[index]))
    buffer.best[bit], buffer.nearest[bit], buffer.farthest[bit] = best


@inlined
def _weigh_exits(ply: PhasePlies, side: int, word: int, bits: Word, buffer: DerivationBuffers) -> None:
    """Initialize the best moves to the best zeroing moves of the positions ``bits``."""
    node, mask = (side * ply.frame.words + word) * 64, MERIT_MASK[side]
    put(buffer.best, 0, ALL, 0)
    put(buffer.nearest, 0, ALL, NO_EXIT)
    put(buffer.farthest, 0, ALL, 0)
    bits &= ~equal(ply.exits.nearest, node, NO_EXIT)
    if bits:
        move(buffer.best, 0, ply.exits.value, node, bits)
        flip(buffer.best, 0, bits if mask else ZERO)
        move(buffer.nearest, 0, ply.exits.nearest, node, bits)
        move(buffer.farthest, 0, ply.exits.farthest, node, bits)


@inlined
def _weigh_lanes(
    ranks: Codes,
    word: int,
    bits: Word,
    replies: Replies,
    child: int,
    first: int,
    merit_mask: int,
    buffer: DerivationBuffers,
) -> None:
    """Update the best moves of the positions ``bits`` by one quiet move of each position to a usable
    position.

    ``ranks`` are the ranks of the phase. The targets have their ranks in ``replies`` from index ``child`` on,
    and their values and depths from index ``first`` on.
    """
    counted = bits & less(replies.rank, child, ranks, word << 6)
    buffer.uncounted[0] |= bits & ~counted
    if counted:
        best, nearest, farthest = buffer.best, buffer.nearest, buffer.farthest
        weigh_all(best, nearest, farthest, counted, replies.value, replies.depth, first, merit_mask)


@inlined
def _weigh_scalars(ply: PhasePlies, side: int, word: int, bits: Word, buffer: DerivationBuffers) -> None:
    """Weigh the quiet moves of the mover's scalars from the positions ``bits``."""
    other, ranks, start = 1 - side, ply.rank[side], ply.start[1 - side]
    replies = Replies(ply.value, ply.depth, ply.rank[other])
    for number in range(list_scalar_successors(ply.frame, word, bits, side, buffer.moves)):
        target, symmetry = buffer.moves.word[number], buffer.moves.symmetry[number]
        remaining = buffer.moves.bits[number] & image(ply.usable[target], INVERSES[symmetry])
        if symmetry == 0:
            child = target << 6
            _weigh_lanes(ranks, word, remaining, replies, child, start + child, MERIT_MASK[side], buffer)
            continue
        while remaining:
            bit = lowest(remaining)
            remaining &= remaining - ONE
            _weigh_one(ply, side, word << 6 | bit, target << 6 | IMAGES[symmetry, bit], buffer)


@inlined
def _weigh_bit_man(ply: PhasePlies, side: int, word: int, bits: Word, buffer: DerivationBuffers) -> None:
    """Weigh the quiet moves of the bit man from the positions ``bits``."""
    frame, around, usable = ply.frame, buffer.around, ply.usable[word]
    kind, first, ranks = frame.kinds[frame.scalars], word << 6, ply.rank[side]
    move(around.value, 64, ply.value, ply.start[1 - side] + first, ALL)
    move(around.depth, 64, ply.depth, ply.start[1 - side] + first, ALL)
    move(around.rank, 64, ply.rank[1 - side], first, ALL)
    empty = ~decode(frame, word, buffer.moves.squares)
    for way in range(ORTHODOX.way_count[kind]):
        origins, child = usable, int64(64)
        for _ in range(ORTHODOX.length[kind, way]):
            origins = rotated(origins, ORTHODOX.distance[kind, way]) & ORTHODOX.landing[kind, way] & empty
            if origins == ZERO:
                break
            child -= STEP[kind, way]
            if origins & bits:
                _weigh_lanes(ranks, word, origins & bits, around, child, child, MERIT_MASK[side], buffer)


@kernel
def derive(ply: PhasePlies, side: int, word: int, bits: Word, buffer: DerivationBuffers) -> None:
    """Derive the legal positions ``bits`` of a word to ``buffer.value`` and ``buffer.depth``."""
    frame, first, ranks = ply.frame, word << 6, ply.rank[side]
    buffer.uncounted[0] = ZERO
    _weigh_exits(ply, side, word, bits, buffer)
    _weigh_scalars(ply, side, word, bits, buffer)
    if frame.colours[frame.scalars] == side:
        _weigh_bit_man(ply, side, word, bits, buffer)
    # As in ``conclude``. The merit of the position score is the position rank. Without any
    # usable move the result is merit 0 and depth 1, which is never right: a side is mated in an even number
    # of plies.
    better = less(ranks, first, buffer.best, 0)
    worse = less(buffer.best, 0, ranks, first) & ~buffer.uncounted[0]
    worse &= ~(equal(ranks, first, 0) | equal(ranks, first, 1))
    move(buffer.value, 0, ranks, first, ALL)
    move(buffer.value, 0, buffer.best, 0, better | worse)
    flip(buffer.value, 0, ALL if MERIT_MASK[side] else ZERO)
    put(buffer.depth, 0, ALL, 0)
    move(buffer.depth, 0, buffer.nearest, 0, better)
    move(buffer.depth, 0, buffer.farthest, 0, worse)
    add(buffer.depth, 0, better | worse, 1)


@kernel
def find_ranks(phase: Phase, rank: Codes, start: int, stop: int) -> None:
    """Write the position ranks in the words ``start`` to ``stop`` - 1 to ``rank``, uint8 (2, phase size).

    The rank of a slot without a position is 0.
    """
    for side in range(2):
        side_ranks = rank[side]
        for word in range(start, stop):
            put(side_ranks, word * 64, ALL, 0)
            for number in range(SLICES):
                add(side_ranks, word * 64, phase.slices[side, word, number], 1 << number)


@inlined
def by_exit(ply: PhasePlies, side: int, slot: int) -> tuple[int, int]:
    """Value and depth that a position would have if only its zeroing moves counted. The value is NONE without
    them."""
    node = side * ply.frame.words * 64 + slot
    nearest = int64(ply.exits.nearest[node])
    if nearest == NO_EXIT:
        return NONE, 0
    best = merit(side, int64(ply.exits.value[node])), nearest, int64(ply.exits.farthest[node])
    return conclude(side, position_score(side, int64(ply.rank[side, slot])), best, False)


@kernel
def find_usable(ply: PhasePlies, side: int, start: int, stop: int) -> None:
    """Find the usable positions of ``side``, and lower their ranks to those of their values.

    Process all slots of the words ``start`` to ``stop`` - 1.
    """
    at = ply.start[side]
    for word in range(start, stop):
        legal, usable = ply.phase.legal[side, word], ZERO
        while legal:
            bit = lowest(legal)
            legal &= legal - ONE
            slot = word * 64 + bit
            if ply.depth[at + slot] & CAPTURE_FLAG == 0:
                usable |= BIT[bit]
                value_rank = rank_of_code(int(ply.value[at + slot]))
                ply.rank[side, slot] = min(int(ply.rank[side, slot]), value_rank)
        ply.newly_usable[word] = usable & ~ply.usable[word]
        ply.usable[word] = usable


@kernel
def mark_captures(ply: PhasePlies, side: int, start: int, stop: int) -> None:
    """Flag the positions of one side, at canonical slots, whose entries follow from their best zeroing move.

    This move gives both value and depth, and the value is not the position score.
    """
    for word in range(start, stop):
        bits = ply.phase.legal[side, word] & ply.phase.canonical[word]
        while bits:
            slot = word * 64 + lowest(bits)
            bits &= bits - ONE
            at = ply.start[side] + slot
            if ply.depth[at]:
                value, plies = by_exit(ply, side, slot)
                if value == ply.value[at] and plies == ply.depth[at]:
                    ply.depth[at] |= CAPTURE_FLAG


@inlined
def _explains(ply: PhasePlies, side: int, slot: int, child: int) -> bool:
    """Whether the move to the flagged position ``child`` gives the position ``slot`` its value and depth."""
    child_index, index = ply.start[1 - side] + child, ply.start[side] + slot
    plies = int64(ply.depth[child_index] & (CAPTURE_FLAG - 1)) + 1
    return bool(ply.value[child_index] == ply.value[index] and plies == ply.depth[index])


@kernel
def find_needed(
    ply: PhasePlies,
    side: int,
    like: Ints,
    mirrored: bool,
    exceptions: Words,
    needed: Codes,
    buffer: DerivationBuffers,
    start: int,
    stop: int,
) -> None:
    """Find the flagged positions without which the positions of ``side`` in ``exceptions`` cannot be derived.

    A move to such a position gives an exception its value and depth. ``needed``, uint8 (phase size,), is set
    to 1 at the canonical slots of these positions.
    """
    moves, frame, legal = buffer.moves, ply.frame, ply.phase.legal[1 - side]
    for word in range(start, stop):
        remaining = exceptions[word]
        while remaining:
            bit = lowest(remaining)
            remaining &= remaining - ONE
            for number in range(list_quiet_targets(frame, word, bit, side, moves)):
                child = moves.word[number]
                flagged = legal[child >> 6] & ~ply.usable[child >> 6] & BIT[child & 63]
                if flagged and _explains(ply, side, word << 6 | bit, child):
                    needed[canonical_slot(frame, child, like, mirrored, buffer.squares)] = 1


@kernel
def clear_flags(ply: PhasePlies, side: int, needed: Codes, start: int, stop: int) -> None:
    """Clear the flags of the needed positions, at canonical slots, and ``needed`` itself."""
    for slot in range(64 * start, 64 * stop):
        if needed[slot]:
            ply.depth[ply.start[side] + slot] &= CAPTURE_FLAG - 1
            needed[slot] = 0


@inlined
def _before_newly_usable(ply: PhasePlies, side: int, word: int, moves: MoveBuffer) -> Word:
    """The positions of a word from which ``side`` can move to a newly usable position."""
    frame, newly = ply.frame, ply.newly_usable
    predecessors = ZERO
    for number in range(list_scalar_successors(frame, word, ALL, side, moves)):
        target, symmetry = moves.word[number], moves.symmetry[number]
        if newly[target]:
            predecessors |= moves.bits[number] & image(newly[target], INVERSES[symmetry])
    if frame.colours[frame.scalars] == side and newly[word]:
        predecessors |= reach(
            frame.moves, frame.kinds[frame.scalars], newly[word], ~decode(frame, word, moves.squares)
        )
    return predecessors


@kernel
def find_exceptions(
    ply: PhasePlies, side: int, exceptions: Words, buffer: DerivationBuffers, start: int, stop: int
) -> None:
    """Set ``exceptions``, uint64 (words,), to the positions of ``side`` that derivation gets wrong.

    They are positions at canonical slots. Only previous exceptions (``ALL`` at first) and predecessors of
    newly usable positions are examined.
    """
    for word in range(start, stop):
        bits = ply.phase.legal[side, word] & ply.phase.canonical[word]
        if bits and exceptions[word] != ALL:
            bits &= exceptions[word] | _before_newly_usable(ply, side, word, buffer.moves)
        if bits:
            derive(ply, side, word, bits, buffer)
            at = ply.start[side] + word * 64
            bits &= ~(same(buffer.value, 0, ply.value, at) & same(buffer.depth, 0, ply.depth, at))
        exceptions[word] = bits


@kernel
def derive_all(ply: PhasePlies, side: int, buffer: DerivationBuffers, start: int, stop: int) -> None:
    """Derive the positions of ``side`` at canonical slots."""
    for word in range(start, stop):
        bits = ply.phase.legal[side, word] & ply.phase.canonical[word]
        if bits:
            derive(ply, side, word, bits, buffer)
            at = ply.start[side] + word * 64
            move(ply.value, at, buffer.value, 0, bits)
            move(ply.depth, at, buffer.depth, 0, bits)


@kernel
def fill_stored(ply: PhasePlies, side: int, start: int, stop: int) -> bool:
    """Fill in the entries of the stored side that blocks do not contain, at canonical slots.

    Flagged positions get the value and depth that their best capture gives. Positions with depth 0 get their
    position score as value. Return whether all flagged positions have captures.
    """
    complete = True
    for word in range(start, stop):
        bits = ply.phase.legal[side, word] & ply.phase.canonical[word]
        while bits:
            slot = word * 64 + lowest(bits)
            bits &= bits - ONE
            at = ply.start[side] + slot
            if ply.depth[at] & CAPTURE_FLAG:
                value, plies = by_exit(ply, side, slot)
                complete &= value != NONE
                ply.value[at], ply.depth[at] = value, plies | CAPTURE_FLAG
            elif ply.depth[at] == 0:
                ply.value[at] = position_score(side, int(ply.rank[side, slot]))
    return complete
