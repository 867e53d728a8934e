"""One ply: deriving one side to move from the other by a rule, and what has to be stored all the same.

What moves make of a position: the rule by which the side that is not stored is derived. For a position P of
rank r that its mover inherits from nobody, a quiet move to Q counts, with (W(Q), D(Q) + 1), if the rank of Q
or that of W(Q) is below r, for then play goes on from Q as if Q were the first position of its phase (fact F1
of docs/theory.md). Zeroing moves always count. If nothing that counts beats P's own score and some move did
not count, P's own score stays.

Deriving the fresh values and depths of one side to move from those of the other, a word at a time. The rule
stands in ``tbgen.packed.kernels.derive``; here it is followed for 64 positions at once.
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
from tbgen.retro.kernels.moves import SLICES, MoveBuffer, quiet_targets, scalar_moves
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
def own_score(side: int, rank: int) -> int:
    """The code of a position's own score, held by the side that has just moved."""
    return 255 - rank if side == 0 else rank


@inlined
def rank_of_code(code: int) -> int:
    """The rank of a score."""
    return code if code < NONE else 255 - code


@inlined
def merit(side: int, code: int) -> int:
    """How good a value is for the mover: the greater, the better. A code's merit undoes itself."""
    return 255 - code if side == 0 else code


@inlined
def weigh(best: tuple[int, int, int], value: int, depth: int) -> tuple[int, int, int]:
    """The best merit of the moves so far, with the smallest and the greatest depth beside it, after one more
    move of this merit and depth."""
    if value > best[0]:
        return value, depth, depth
    if value == best[0]:
        return value, min(best[1], depth), max(best[2], depth)
    return best


@inlined
def conclude(side: int, own: int, best: tuple[int, int, int], uncounted: bool) -> tuple[int, int]:
    """Value and depth of a position worth ``own`` by itself, from what ``weigh`` has come to, and whether
    some quiet move did not count."""
    if best[0] > merit(side, own):
        return merit(side, best[0]), best[1] + 1
    if uncounted or best[0] == merit(side, own):
        return own, 0
    return merit(side, best[0]), best[2] + 1


@inlined
def depth_of_half(side: int, code: int, half: int) -> int:
    """The depth of a value that is stored for ``side`` to move: it is odd where the mover holds the value."""
    return 2 * half + int64((code > NONE) == (side == 1))


_MOST_WAYS = max(ORTHODOX.ways)
STEP = np.array([[8 * r + f for f, r in kind.steps] + [0] * (_MOST_WAYS - len(kind.steps)) for kind in KINDS])
"""int64 (kinds, ways): by how many squares a step goes upwards; ``Movement.distance`` has it modulo 64."""

TURNED = np.array([255, 0], np.uint8)
"""What turns the codes of values into merits for the mover, White or Black, bit by bit."""


@dataclass(frozen=True, eq=False)
class PhasePlies(Struct):
    """One phase, with what is known of its positions."""

    frame: Frame
    phase: Phase
    exits: Exits
    """The best zeroing moves of either side."""
    value: Codes
    """uint8: W, those of the phase from ``start`` on; in all slots of the side that is known."""
    depth: Plies
    """uint16: D, likewise, with CAPTURE_FLAG where nobody may rest on it."""
    start: Ints
    """int64 (2,): where the phase begins in ``value`` and ``depth``, by side to move."""
    rank: NDArray[np.uint8]
    """uint8 (2, phase size): ranks of all legal positions; those of the known side may have been lowered."""
    known: Words
    """uint64 (words,): positions of the known side that may be rested on."""
    news: Words
    """uint64 (words,): those of them that have become known last."""


class Replies(NamedTuple):
    """What is known of positions with the other side to move."""

    value: Codes
    depth: Plies
    rank: Codes


@dataclass(frozen=True, eq=False)
class Derived(Struct):
    """Room for one word whose positions are derived."""

    moves: MoveBuffer
    best: Codes
    """uint8 (64,): the best merit of the moves so far, 0 without any."""
    nearest: Plies
    """uint16 (64,): the smallest depth of the best moves, ``NO_EXIT`` without any."""
    farthest: Plies
    """uint16 (64,): the greatest depth of the best moves, 0 without any."""
    uncounted: Words
    """uint64 (1,): positions of which a move did not count."""
    value: Codes
    """uint8 (64,)."""
    depth: Plies
    """uint16 (64,)."""
    squares: Ints
    """int64 (8,): scratch."""
    around: Replies
    """Copies of the word with the other side to move, 64 unused elements before and after it: what the bit
    man moves to is as many lanes away as squares."""


@inlined
def _weigh_one(ply: PhasePlies, side: int, slot: int, child: int, room: Derived) -> None:
    """Take the quiet move of one position to one that is known into what is known of its origin, as ``weigh``
    does."""
    bit, other = slot & 63, 1 - side
    if ply.rank[other, child] >= ply.rank[side, slot]:
        room.uncounted[0] |= BIT[bit]
        return
    at = ply.start[other] + child
    before = int64(room.best[bit]), int64(room.nearest[bit]), int64(room.farthest[bit])
    best = weigh(before, merit(side, int64(ply.value[at])), int64(ply.depth[at]))
    room.best[bit], room.nearest[bit], room.farthest[bit] = best


@inlined
def _weigh_exits(ply: PhasePlies, side: int, word: int, bits: Word, room: Derived) -> None:
    """Begin with the best zeroing moves of the positions ``bits``."""
    node, turned = (side * ply.frame.words + word) * 64, TURNED[side]
    put(room.best, 0, ALL, 0)
    put(room.nearest, 0, ALL, NO_EXIT)
    put(room.farthest, 0, ALL, 0)
    bits &= ~equal(ply.exits.nearest, node, NO_EXIT)
    if bits:
        move(room.best, 0, ply.exits.value, node, bits)
        flip(room.best, 0, bits if turned else ZERO)
        move(room.nearest, 0, ply.exits.nearest, node, bits)
        move(room.farthest, 0, ply.exits.farthest, node, bits)


@inlined
def _weigh_lanes(
    own: Codes, word: int, bits: Word, known: Replies, child: int, first: int, turned: int, room: Derived
) -> None:
    """Take a quiet move of the positions ``bits`` to positions that are known into what is known of them.

    ``own`` has the ranks of the positions. What they move to has its ranks in ``known`` from ``child`` on,
    and its values and depths from ``first`` on.
    """
    counted = bits & less(known.rank, child, own, word << 6)
    room.uncounted[0] |= bits & ~counted
    if counted:
        best, nearest, farthest = room.best, room.nearest, room.farthest
        weigh_all(best, nearest, farthest, counted, known.value, known.depth, first, turned)


@inlined
def _weigh_scalars(ply: PhasePlies, side: int, word: int, bits: Word, room: Derived) -> None:
    """Weigh the quiet moves of the mover's scalars from the positions ``bits``."""
    other, own, start = 1 - side, ply.rank[side], ply.start[1 - side]
    known = Replies(ply.value, ply.depth, ply.rank[other])
    for number in range(scalar_moves(ply.frame, word, bits, side, room.moves)):
        target, symmetry = room.moves.word[number], room.moves.symmetry[number]
        left = room.moves.bits[number] & image(ply.known[target], INVERSES[symmetry])
        if symmetry == 0:
            child = target << 6
            _weigh_lanes(own, word, left, known, child, start + child, TURNED[side], room)
            continue
        while left:
            bit = lowest(left)
            left &= left - ONE
            _weigh_one(ply, side, word << 6 | bit, target << 6 | IMAGES[symmetry, bit], room)


@inlined
def _weigh_bit_man(ply: PhasePlies, side: int, word: int, bits: Word, room: Derived) -> None:
    """Weigh the quiet moves of the bit man from the positions ``bits``."""
    frame, around, known = ply.frame, room.around, ply.known[word]
    kind, first, own = frame.kinds[frame.scalars], word << 6, ply.rank[side]
    move(around.value, 64, ply.value, ply.start[1 - side] + first, ALL)
    move(around.depth, 64, ply.depth, ply.start[1 - side] + first, ALL)
    move(around.rank, 64, ply.rank[1 - side], first, ALL)
    empty = ~decode(frame, word, room.moves.squares)
    for way in range(ORTHODOX.ways[kind]):
        origins, child = known, int64(64)
        for _ in range(ORTHODOX.length[kind, way]):
            origins = rotated(origins, ORTHODOX.distance[kind, way]) & ORTHODOX.landing[kind, way] & empty
            if origins == ZERO:
                break
            child -= STEP[kind, way]
            if origins & bits:
                _weigh_lanes(own, word, origins & bits, around, child, child, TURNED[side], room)


@kernel
def derive(ply: PhasePlies, side: int, word: int, bits: Word, room: Derived) -> None:
    """Derive the legal positions ``bits`` of a word by the rule: to ``room.value`` and ``room.depth``."""
    frame, first, ranks = ply.frame, word << 6, ply.rank[side]
    room.uncounted[0] = ZERO
    _weigh_exits(ply, side, word, bits, room)
    _weigh_scalars(ply, side, word, bits, room)
    if frame.colours[frame.scalars] == side:
        _weigh_bit_man(ply, side, word, bits, room)
    # As ``conclude`` does for one position; the merit of its own score is its rank. Where nothing is known of
    # any move, merit 0 and depth 1 come out, which no position has: mates are suffered in even numbers of
    # plies.
    better = less(ranks, first, room.best, 0)
    worse = less(room.best, 0, ranks, first) & ~room.uncounted[0]
    worse &= ~(equal(ranks, first, 0) | equal(ranks, first, 1))
    move(room.value, 0, ranks, first, ALL)
    move(room.value, 0, room.best, 0, better | worse)
    flip(room.value, 0, ALL if TURNED[side] else ZERO)
    put(room.depth, 0, ALL, 0)
    move(room.depth, 0, room.nearest, 0, better)
    move(room.depth, 0, room.farthest, 0, worse)
    add(room.depth, 0, better | worse, 1)


@kernel
def find_ranks(phase: Phase, rank: Codes, start: int, stop: int) -> None:
    """Write the ranks of the positions of the words ``start`` to ``stop`` - 1 to uint8 (2, phase size); 0
    where there is none."""
    for side in range(2):
        of_side = rank[side]
        for word in range(start, stop):
            put(of_side, word * 64, ALL, 0)
            for number in range(SLICES):
                add(of_side, word * 64, phase.slices[side, word, number], 1 << number)


@inlined
def by_exit(ply: PhasePlies, side: int, slot: int) -> tuple[int, int]:
    """Value and depth if the best zeroing move decides; value NONE without one."""
    node = side * ply.frame.words * 64 + slot
    nearest = int64(ply.exits.nearest[node])
    if nearest == NO_EXIT:
        return NONE, 0
    best = merit(side, int64(ply.exits.value[node])), nearest, int64(ply.exits.farthest[node])
    return conclude(side, own_score(side, int64(ply.rank[side, slot])), best, False)


@kernel
def ready_children(ply: PhasePlies, side: int, start: int, stop: int) -> None:
    """Make the positions of ``side`` ready to be moved to: find those that may be rested on, and lower their
    ranks to those of their values; all slots of the words ``start`` to ``stop`` - 1."""
    at = ply.start[side]
    for word in range(start, stop):
        legal, known = ply.phase.legal[side, word], ZERO
        while legal:
            bit = lowest(legal)
            legal &= legal - ONE
            slot = word * 64 + bit
            if ply.depth[at + slot] & CAPTURE_FLAG == 0:
                known |= BIT[bit]
                value = rank_of_code(int(ply.value[at + slot]))
                ply.rank[side, slot] = min(int(ply.rank[side, slot]), value)
        ply.news[word] = known & ~ply.known[word]
        ply.known[word] = known


@kernel
def mark_captures(ply: PhasePlies, side: int, start: int, stop: int) -> None:
    """Flag the positions of one side that their best zeroing move explains and that are not worth their own
    score; canonical slots only."""
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
    """Whether a move to a flagged position gives a position its value and depth."""
    at, own = ply.start[1 - side] + child, ply.start[side] + slot
    plies = int64(ply.depth[at] & (CAPTURE_FLAG - 1)) + 1
    return bool(ply.value[at] == ply.value[own] and plies == ply.depth[own])


@kernel
def find_needed(
    ply: PhasePlies,
    side: int,
    like: Ints,
    mirrored: bool,
    exceptions: Words,
    needed: Codes,
    room: Derived,
    start: int,
    stop: int,
) -> None:
    """Find the flagged positions that ``exceptions``, positions of ``side``, cannot do without; 1 in
    ``needed``, uint8 (phase size,), at their canonical slots."""
    found, frame, legal = room.moves, ply.frame, ply.phase.legal[1 - side]
    for word in range(start, stop):
        wrong = exceptions[word]
        while wrong:
            bit = lowest(wrong)
            wrong &= wrong - ONE
            for number in range(quiet_targets(frame, word, bit, side, found)):
                child = found.word[number]
                flagged = legal[child >> 6] & ~ply.known[child >> 6] & BIT[child & 63]
                if flagged and _explains(ply, side, word << 6 | bit, child):
                    needed[canonical_slot(frame, child, like, mirrored, room.squares)] = 1


@kernel
def clear_flags(ply: PhasePlies, side: int, needed: Codes, start: int, stop: int) -> None:
    """Take the flags of what is needed away, and what was needed with them; canonical slots only."""
    for slot in range(64 * start, 64 * stop):
        if needed[slot]:
            ply.depth[ply.start[side] + slot] &= CAPTURE_FLAG - 1
            needed[slot] = 0


@inlined
def _before_news(ply: PhasePlies, side: int, word: int, found: MoveBuffer) -> Word:
    """The positions of a word from which ``side`` can move to one that has become known last."""
    frame, news = ply.frame, ply.news
    before = ZERO
    for number in range(scalar_moves(frame, word, ALL, side, found)):
        target, symmetry = found.word[number], found.symmetry[number]
        if news[target]:
            before |= found.bits[number] & image(news[target], INVERSES[symmetry])
    if frame.colours[frame.scalars] == side and news[word]:
        before |= reach(
            frame.moves, frame.kinds[frame.scalars], news[word], ~decode(frame, word, found.squares)
        )
    return before


@kernel
def find_exceptions(
    ply: PhasePlies, side: int, exceptions: Words, room: Derived, start: int, stop: int
) -> None:
    """Set ``exceptions``, uint64 (words,), to the positions of ``side`` that derivation gets wrong; canonical
    slots only.

    Only those are looked at that are said to be exceptions (at first: ``ALL``) or that lead to news.
    """
    for word in range(start, stop):
        bits = ply.phase.legal[side, word] & ply.phase.canonical[word]
        if bits and exceptions[word] != ALL:
            bits &= exceptions[word] | _before_news(ply, side, word, room.moves)
        if bits:
            derive(ply, side, word, bits, room)
            at = ply.start[side] + word * 64
            bits &= ~(same(room.value, 0, ply.value, at) & same(room.depth, 0, ply.depth, at))
        exceptions[word] = bits


@kernel
def derive_all(ply: PhasePlies, side: int, room: Derived, start: int, stop: int) -> None:
    """Derive the positions of ``side``; canonical slots only."""
    for word in range(start, stop):
        bits = ply.phase.legal[side, word] & ply.phase.canonical[word]
        if bits:
            derive(ply, side, word, bits, room)
            at = ply.start[side] + word * 64
            move(ply.value, at, room.value, 0, bits)
            move(ply.depth, at, room.depth, 0, bits)


@kernel
def explain(ply: PhasePlies, side: int, start: int, stop: int) -> bool:
    """Give the positions of the stored side that are flagged the value and depth of their best capture, and
    those of depth 0 their own score; canonical slots only. Returns whether all flagged ones have captures."""
    good = True
    for word in range(start, stop):
        bits = ply.phase.legal[side, word] & ply.phase.canonical[word]
        while bits:
            slot = word * 64 + lowest(bits)
            bits &= bits - ONE
            at = ply.start[side] + slot
            if ply.depth[at] & CAPTURE_FLAG:
                value, plies = by_exit(ply, side, slot)
                good &= value != NONE
                ply.value[at], ply.depth[at] = value, plies | CAPTURE_FLAG
            elif ply.depth[at] == 0:
                ply.value[at] = own_score(side, int(ply.rank[side, slot]))
    return good
