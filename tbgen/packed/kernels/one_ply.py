"""One ply: what a position's moves say about its fresh value and depth, for whole phases.

The rule stands in ``tbgen.packed.kernels.rule``.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbgen.accelerate import inlined, int64, jit, kernel
from tbgen.packed.kernels.blocks import CAPTURE_FLAG
from tbgen.packed.kernels.rule import conclude, merit, own_score, rank_of_code, weigh
from tbgen.retro.geometry import BIT, IMAGES, INVERSES
from tbgen.retro.kernels.bits import ALL, ONE, ZERO, Codes, Ints, Plies, Word, Words, image, lowest, reach
from tbgen.retro.kernels.canonical import canonical_slot, canonical_words
from tbgen.retro.kernels.exits import NO_EXIT, Exits
from tbgen.retro.kernels.frame import Frame, Phase, decode
from tbgen.retro.kernels.mobility import rank_at
from tbgen.retro.kernels.moves import MAX_ORIGINS, Onward, onward
from tbgen.retro.kernels.resets import rank_and_exits
from tbgen.retro.kernels.targets import Pool
from tbgen.score import NONE


class Ply(NamedTuple):
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


@jit
def count_phase(
    frame: Frame, pool: Pool, exits: Exits, phase: Phase, like: Ints, mirrored: bool, start: int, stop: int
) -> None:
    """Count the moves of the words ``start`` to ``stop`` - 1, after ``legal_words`` has seen all words, find
    their exits, and which of their slots are canonical."""
    rank_and_exits(frame, pool, exits, phase, start, stop)
    canonical_words(frame, like, mirrored, phase.canonical, start, stop)


@jit
def find_ranks(phase: Phase, rank: NDArray[np.uint8], start: int, stop: int) -> None:
    """Write the ranks of the positions of the words ``start`` to ``stop`` - 1 to uint8 (2, phase size)."""
    for side in range(2):
        for word in range(start, stop):
            bits = phase.legal[side, word]
            while bits:
                bit = lowest(bits)
                bits &= bits - ONE
                rank[side, word * 64 + bit] = rank_at(phase.slices[side, word], bit)


@inlined
def by_exit(ply: Ply, side: int, slot: int) -> tuple[int, int]:
    """Value and depth if the best zeroing move decides; value NONE without one."""
    node = side * ply.frame.words * 64 + slot
    if ply.exits.nearest[node] == NO_EXIT:
        return NONE, 0
    value = int(ply.exits.value[node])
    own = own_score(side, int(ply.rank[side, slot]))
    if value == own:
        return value, 0
    hurries = merit(side, value) > merit(side, own)
    return value, 1 + int(ply.exits.nearest[node] if hurries else ply.exits.farthest[node])


@jit
def ready_children(ply: Ply, side: int, start: int, stop: int) -> None:
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


class Derived(NamedTuple):
    """Room for one word whose positions are derived."""

    onward: Onward
    best: Ints
    """int64 (64, 3): what ``weigh`` has come to."""
    uncounted: Words
    """uint64 (1,): positions of which a move did not count."""
    value: Codes
    """uint8 (64,)."""
    depth: Plies
    """uint16 (64,)."""


@jit
def make_derived() -> Derived:
    """Return room for one word."""
    return Derived(
        Onward(
            np.zeros(MAX_ORIGINS, np.int64),
            np.zeros(MAX_ORIGINS, np.int64),
            np.zeros(MAX_ORIGINS, np.uint64),
            np.zeros(8, np.int64),
        ),
        np.zeros((64, 3), np.int64),
        np.zeros(1, np.uint64),
        np.zeros(64, np.uint8),
        np.zeros(64, np.uint16),
    )


@inlined
def _weigh_move(ply: Ply, side: int, slot: int, child: int, room: Derived) -> None:
    """Take a quiet move to a position that is known into what is known of its origin."""
    bit, other = slot & 63, 1 - side
    if ply.rank[other, child] >= ply.rank[side, slot]:
        room.uncounted[0] |= BIT[bit]
        return
    best, at = room.best, ply.start[other] + child
    value = merit(side, int64(ply.value[at]))
    if value >= best[bit, 0]:  # most moves are not among the best
        found = best[bit, 0], best[bit, 1], best[bit, 2]
        best[bit, 0], best[bit, 1], best[bit, 2] = weigh(found, value, int64(ply.depth[at]))


@kernel
def derive(ply: Ply, side: int, word: int, bits: Word, room: Derived) -> None:
    """Derive the legal positions ``bits`` of a word by the rule: to ``room.value`` and ``room.depth``."""
    frame, best = ply.frame, room.best
    room.uncounted[0] = ZERO
    left = bits
    while left:
        bit = lowest(left)
        left &= left - ONE
        node = (side * frame.words + word) * 64 + bit
        best[bit, 0] = -1
        if ply.exits.nearest[node] != NO_EXIT:
            best[bit, 0] = merit(side, int64(ply.exits.value[node]))
            best[bit, 1], best[bit, 2] = ply.exits.nearest[node], ply.exits.farthest[node]
    count = onward(frame, word, side, room.onward)
    for number in range(count):
        target, symmetry = room.onward.word[number], room.onward.symmetry[number]
        left = bits & room.onward.free[number] & image(ply.known[target], INVERSES[symmetry])
        while left:
            bit = lowest(left)
            left &= left - ONE
            _weigh_move(ply, side, word << 6 | bit, target << 6 | IMAGES[symmetry, bit], room)
    if frame.colours[frame.scalars] == side:
        empty = ~decode(frame, word, room.onward.squares)
        left = bits
        while left:
            bit = lowest(left)
            left &= left - ONE
            targets = ply.known[word] & reach(frame.kinds[frame.scalars], BIT[bit], empty)
            while targets:
                _weigh_move(ply, side, word << 6 | bit, word << 6 | lowest(targets), room)
                targets &= targets - ONE
    left = bits
    while left:
        bit = lowest(left)
        left &= left - ONE
        rank = int64(ply.rank[side, word << 6 | bit])
        own = own_score(side, rank)
        value, depth = own, 0
        if rank >= 2:
            found = best[bit, 0], best[bit, 1], best[bit, 2]
            value, depth = conclude(side, own, found, room.uncounted[0] & BIT[bit] != ZERO)
        room.value[bit], room.depth[bit] = value, depth


@inlined
def _wrong(ply: Ply, side: int, word: int, bits: Word, room: Derived) -> Word:
    """Those of the positions just derived that are worth something else."""
    at, wrong = ply.start[side] + word * 64, ZERO
    while bits:
        bit = lowest(bits)
        bits &= bits - ONE
        if room.value[bit] != ply.value[at + bit] or room.depth[bit] != ply.depth[at + bit]:
            wrong |= BIT[bit]
    return wrong


@jit
def mark_captures(ply: Ply, side: int, start: int, stop: int) -> None:
    """Flag the positions of one side that their best zeroing move explains and that are not worth their own
    score; canonical slots only."""
    for word in range(start, stop):
        bits = ply.phase.legal[side, word] & ply.phase.canonical[word]
        while bits:
            slot = word * 64 + lowest(bits)
            bits &= bits - ONE
            depth = int(ply.depth[ply.start[side] + slot])
            if depth:
                value, plies = by_exit(ply, side, slot)
                if value == ply.value[ply.start[side] + slot] and plies == depth:
                    ply.depth[ply.start[side] + slot] |= CAPTURE_FLAG


@inlined
def _explains(ply: Ply, side: int, slot: int, child: int) -> bool:
    """Whether a move to a flagged position gives a position its value and depth."""
    at, own = ply.start[1 - side] + child, ply.start[side] + slot
    plies = int64(ply.depth[at] & (CAPTURE_FLAG - 1)) + 1
    return bool(ply.value[at] == ply.value[own] and plies == ply.depth[own])


@jit
def find_needed(
    ply: Ply,
    side: int,
    like: Ints,
    mirrored: bool,
    exceptions: Words,
    needed: Codes,
    start: int,
    stop: int,
) -> None:
    """Find the flagged positions that ``exceptions``, positions of ``side``, cannot do without; 1 in
    ``needed``, uint8 (phase size,), at their canonical slots."""
    found, squares, frame, legal = make_derived().onward, np.empty(8, np.int64), ply.frame, ply.phase.legal
    for word in range(start, stop):
        wrong = exceptions[word]
        if wrong == ZERO:
            continue
        for number in range(onward(frame, word, side, found)):
            target, symmetry = found.word[number], found.symmetry[number]
            left = image(legal[1 - side, target] & ~ply.known[target], INVERSES[symmetry])
            left &= wrong & found.free[number]
            while left:
                bit = lowest(left)
                left &= left - ONE
                child = target << 6 | IMAGES[symmetry, bit]
                if _explains(ply, side, word << 6 | bit, child):
                    needed[canonical_slot(frame, child, like, mirrored, squares)] = 1
        if frame.colours[frame.scalars] == side:
            empty = ~decode(frame, word, found.squares)
            while wrong:
                bit = lowest(wrong)
                wrong &= wrong - ONE
                left = reach(frame.kinds[frame.scalars], BIT[bit], empty)
                left &= legal[1 - side, word] & ~ply.known[word]
                while left:
                    child = word << 6 | lowest(left)
                    left &= left - ONE
                    if _explains(ply, side, word << 6 | bit, child):
                        needed[canonical_slot(frame, child, like, mirrored, squares)] = 1


@jit
def clear_flags(ply: Ply, side: int, needed: Codes, start: int, stop: int) -> None:
    """Take the flags of what is needed away, and what was needed with them; canonical slots only."""
    for slot in range(64 * start, 64 * stop):
        if needed[slot]:
            ply.depth[ply.start[side] + slot] &= CAPTURE_FLAG - 1
            needed[slot] = 0


@inlined
def _before_news(ply: Ply, side: int, word: int, found: Onward) -> Word:
    """The positions of a word from which ``side`` can move to one that has become known last."""
    frame, news = ply.frame, ply.news
    before = ZERO
    for number in range(onward(frame, word, side, found)):
        target, symmetry = found.word[number], found.symmetry[number]
        if news[target]:
            before |= found.free[number] & image(news[target], INVERSES[symmetry])
    if frame.colours[frame.scalars] == side and news[word]:
        before |= reach(frame.kinds[frame.scalars], news[word], ~decode(frame, word, found.squares))
    return before


@jit
def find_exceptions(ply: Ply, side: int, exceptions: Words, start: int, stop: int) -> None:
    """Set ``exceptions``, uint64 (words,), to the positions of ``side`` that derivation gets wrong; canonical
    slots only.

    Only those are looked at that are said to be exceptions (at first: ``ALL``) or that lead to news.
    """
    room = make_derived()
    for word in range(start, stop):
        bits = ply.phase.legal[side, word] & ply.phase.canonical[word]
        if bits and exceptions[word] != ALL:
            bits &= exceptions[word] | _before_news(ply, side, word, room.onward)
        if bits:
            derive(ply, side, word, bits, room)
            bits = _wrong(ply, side, word, bits, room)
        exceptions[word] = bits


@jit
def derive_all(ply: Ply, side: int, start: int, stop: int) -> None:
    """Derive the positions of ``side``; canonical slots only."""
    room = make_derived()
    for word in range(start, stop):
        bits = ply.phase.legal[side, word] & ply.phase.canonical[word]
        if bits:
            derive(ply, side, word, bits, room)
        while bits:
            bit = lowest(bits)
            bits &= bits - ONE
            at = ply.start[side] + word * 64 + bit
            ply.value[at], ply.depth[at] = room.value[bit], room.depth[bit]


@jit
def explain(ply: Ply, side: int, start: int, stop: int) -> bool:
    """Give the positions of the stored side that are flagged the value and depth of their best capture, and
    those of depth 0 their own score; canonical slots only. Returns whether all flagged ones have captures."""
    good = True
    for word in range(start, stop):
        bits = ply.phase.legal[side, word] & ply.phase.canonical[word]
        while bits:
            slot = word * 64 + lowest(bits)
            bits &= bits - ONE
            depth = int(ply.depth[ply.start[side] + slot])
            if depth & CAPTURE_FLAG:
                value, plies = by_exit(ply, side, slot)
                good &= value != NONE
                ply.value[ply.start[side] + slot], ply.depth[ply.start[side] + slot] = (
                    value,
                    plies | CAPTURE_FLAG,
                )
            elif depth == 0:
                ply.value[ply.start[side] + slot] = own_score(side, int(ply.rank[side, slot]))
    return good
