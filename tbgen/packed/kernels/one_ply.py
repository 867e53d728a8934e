"""One ply: what a position's moves say about its fresh value and depth, for whole phases.

The rule, for a position P of rank r that its mover inherits from nobody: a quiet move to Q counts, with
(W(Q), D(Q) + 1), if the rank of Q or that of W(Q) is below r, for then play goes on from Q as if Q were the
first position of its phase (fact F1 of docs/theory.md). Zeroing moves always count. If nothing that counts
beats P's own score and some move did not count, P's own score stays.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbgen.accelerate import inlined, jit, kernel
from tbgen.packed.kernels.blocks import CAPTURE_FLAG
from tbgen.retro.geometry import BIT
from tbgen.retro.kernels.bits import ONE, ZERO, Codes, Ints, Plies, lowest
from tbgen.retro.kernels.canonical import canonical_slot, canonical_words
from tbgen.retro.kernels.frame import Frame, Phase
from tbgen.retro.kernels.mobility import rank_at
from tbgen.retro.kernels.moves import MAX_ORIGINS, quiet_targets
from tbgen.retro.kernels.resets import NO_EXIT, Exits, rank_and_exits
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
    """uint8 (2, phase size): ranks of all legal positions."""


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
def own_score(side: int, rank: int) -> int:
    """The code of a position's own score, held by the side that has just moved."""
    return 255 - rank if side == 0 else rank


@inlined
def _merit(side: int, code: int) -> int:
    """How good a value is for the mover: the greater, the better."""
    return 255 - code if side == 0 else code


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
    hurries = _merit(side, value) > _merit(side, own)
    return value, 1 + int(ply.exits.nearest[node] if hurries else ply.exits.farthest[node])


@inlined
def _rank_of(code: int) -> int:
    return code if code < NONE else 255 - code


@kernel
def derive(ply: Ply, side: int, slot: int, targets: Ints, squares: Ints) -> tuple[int, int]:
    """Value and depth of a legal position by the rule at the head of the module.

    ``targets``, int64 (MAX_ORIGINS,), and ``squares``, int64 (free,), are scratch.
    """
    rank, other = int(ply.rank[side, slot]), 1 - side
    own = own_score(side, rank)
    if rank < 2:
        return own, 0
    node = side * ply.frame.words * 64 + slot
    best, nearest, farthest, uncounted = -1, 0, 0, False
    if ply.exits.nearest[node] != NO_EXIT:
        best = _merit(side, int(ply.exits.value[node]))
        nearest, farthest = int(ply.exits.nearest[node]), int(ply.exits.farthest[node])
    count = quiet_targets(ply.frame, slot >> 6, slot & 63, side, targets, squares)
    for number in range(count):
        target = targets[number]
        depth = int(ply.depth[ply.start[other] + target])
        if depth & CAPTURE_FLAG or ply.phase.legal[other, target >> 6] & BIT[target & 63] == ZERO:
            continue
        code = int(ply.value[ply.start[other] + target])
        if ply.rank[other, target] >= rank and _rank_of(code) >= rank:
            uncounted = True
            continue
        merit = _merit(side, code)
        if merit > best:
            best, nearest, farthest = merit, depth, depth
        elif merit == best:
            nearest, farthest = min(nearest, depth), max(farthest, depth)
    if best > _merit(side, own):
        return _merit(side, best), nearest + 1  # a code's merit undoes itself
    if uncounted or best == _merit(side, own):
        return own, 0
    return _merit(side, best), farthest + 1


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


@jit
def find_needed(
    ply: Ply, side: int, like: Ints, mirrored: bool, needed: Codes, start: int, stop: int
) -> None:
    """Find the flagged positions that positions of ``side`` cannot do without; 1 in ``needed``, uint8 (phase
    size,), at their canonical slots."""
    targets, squares = np.empty(MAX_ORIGINS, np.int64), np.empty(8, np.int64)
    other = 1 - side
    for word in range(start, stop):
        bits = ply.phase.legal[side, word] & ply.phase.canonical[word]
        while bits:
            slot = word * 64 + lowest(bits)
            bits &= bits - ONE
            value, depth = derive(ply, side, slot, targets, squares)
            wanted, plies = int(ply.value[ply.start[side] + slot]), int(ply.depth[ply.start[side] + slot])
            if value == wanted and depth == plies:
                continue
            count = quiet_targets(ply.frame, slot >> 6, slot & 63, side, targets, squares)
            for number in range(count):
                target = targets[number]
                flagged = int(ply.depth[ply.start[other] + target])
                if (
                    flagged & CAPTURE_FLAG
                    and ply.phase.legal[other, target >> 6] & BIT[target & 63]
                    and ply.value[ply.start[other] + target] == wanted
                    and (flagged & (CAPTURE_FLAG - 1)) + 1 == plies
                ):
                    needed[canonical_slot(ply.frame, target, like, mirrored, squares)] = 1


@jit
def clear_flags(ply: Ply, side: int, needed: Codes, start: int, stop: int) -> None:
    """Take the flags of what is needed away, and what was needed with them; canonical slots only."""
    for slot in range(64 * start, 64 * stop):
        if needed[slot]:
            ply.depth[ply.start[side] + slot] &= CAPTURE_FLAG - 1
            needed[slot] = 0


@jit
def find_exceptions(ply: Ply, side: int, exceptions: Codes, start: int, stop: int) -> int:
    """Mark the positions of ``side`` that derivation gets wrong with 1, uint8 (phase size,); return how
    many."""
    targets, squares, count = np.empty(MAX_ORIGINS, np.int64), np.empty(8, np.int64), 0
    for word in range(start, stop):
        bits = ply.phase.legal[side, word] & ply.phase.canonical[word]
        while bits:
            slot = word * 64 + lowest(bits)
            bits &= bits - ONE
            value, depth = derive(ply, side, slot, targets, squares)
            wrong = value != ply.value[ply.start[side] + slot] or depth != ply.depth[ply.start[side] + slot]
            exceptions[slot] = wrong
            count += wrong
    return count


@jit
def derive_all(ply: Ply, side: int, start: int, stop: int) -> None:
    """Derive the positions of ``side``; canonical slots only."""
    targets, squares = np.empty(MAX_ORIGINS, np.int64), np.empty(8, np.int64)
    for word in range(start, stop):
        bits = ply.phase.legal[side, word] & ply.phase.canonical[word]
        while bits:
            slot = word * 64 + lowest(bits)
            bits &= bits - ONE
            value, depth = derive(ply, side, slot, targets, squares)
            ply.value[ply.start[side] + slot], ply.depth[ply.start[side] + slot] = value, depth


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
