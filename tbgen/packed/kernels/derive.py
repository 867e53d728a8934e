"""Deriving the fresh values and depths of one side to move from those of the other, a word at a time.

The rule stands in ``tbgen.packed.kernels.rule``; here it is followed for 64 positions at once.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbgen.board.kinds import KINDS
from tbgen.compiler.jit import inlined, int64, kernel
from tbgen.compiler.structs import Struct
from tbgen.packed.kernels.rule import merit, weigh
from tbgen.retro.geometry import BIT, IMAGES, INVERSES
from tbgen.retro.kernels.bits import ALL, ONE, ZERO, Codes, Ints, Plies, Word, Words, image, lowest, rotated
from tbgen.retro.kernels.exits import NO_EXIT, Exits
from tbgen.retro.kernels.frame import Frame, Phase, decode
from tbgen.retro.kernels.lanes import add, equal, flip, less, move, put, weigh_all
from tbgen.retro.kernels.moves import MovesFound, onward
from tbgen.retro.movement import ORTHODOX

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

    onward: MovesFound
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
    for number in range(onward(ply.frame, word, bits, side, room.onward)):
        target, symmetry = room.onward.word[number], room.onward.symmetry[number]
        left = room.onward.bits[number] & image(ply.known[target], INVERSES[symmetry])
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
    empty = ~decode(frame, word, room.onward.squares)
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
