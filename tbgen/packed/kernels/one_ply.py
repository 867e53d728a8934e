"""One ply: what the moves of whole phases say about fresh values and depths, and what has to be stored."""

from tbgen.board.score import NONE
from tbgen.compiler.jit import inlined, int64, kernel
from tbgen.packed.kernels.blocks import CAPTURE_FLAG
from tbgen.packed.kernels.derive import Derived, PhasePlies, derive
from tbgen.packed.kernels.rule import conclude, merit, own_score, rank_of_code
from tbgen.retro.geometry import BIT, INVERSES
from tbgen.retro.kernels.bits import ALL, ONE, ZERO, Codes, Ints, Word, Words, image, lowest
from tbgen.retro.kernels.canonical import canonical_slot
from tbgen.retro.kernels.exits import NO_EXIT
from tbgen.retro.kernels.frame import Phase, decode
from tbgen.retro.kernels.lanes import add, move, put, same
from tbgen.retro.kernels.mobility import SLICES
from tbgen.retro.kernels.movement import reach
from tbgen.retro.kernels.moves import MovesFound, onward, quiet_targets


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
    found, frame, legal = room.onward, ply.frame, ply.phase.legal[1 - side]
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
def _before_news(ply: PhasePlies, side: int, word: int, found: MovesFound) -> Word:
    """The positions of a word from which ``side`` can move to one that has become known last."""
    frame, news = ply.frame, ply.news
    before = ZERO
    for number in range(onward(frame, word, ALL, side, found)):
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
            bits &= exceptions[word] | _before_news(ply, side, word, room.onward)
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
