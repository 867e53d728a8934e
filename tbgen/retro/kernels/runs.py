"""Runs: how the value of a position changes with the accrued score, logged layer by layer and then sorted.

From one layer to the next of the same holder few states change, so only the changes are kept.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE
from tbgen.compiler.jit import inlined, int64, jit, kernel
from tbgen.index.table import FRESH, LAST_RUN
from tbgen.retro.geometry import BIT
from tbgen.retro.kernels.bits import ONE, ZERO, Codes, Ints, Plies, Word, Words, lowest
from tbgen.retro.kernels.frame import Phase
from tbgen.retro.kernels.layers import Attacker, assigned
from tbgen.retro.kernels.mobility import of_rank
from tbgen.retro.kernels.sweep import SweepResults


class Log(NamedTuple):
    """Changes of V(P, A) from one layer to the next of the same holder of A, in the order of the layers."""

    node: NDArray[np.int32]
    """int32: slot, plus the phase size if Black is to move."""
    rank: Codes
    """uint8: rank of A."""
    value: Codes
    """uint8: code of V(P, A), or NONE for A itself."""
    depth: Plies
    """uint16: D(P, A)."""
    length: Ints
    """int64 (1,): entries in use."""


class Runs(NamedTuple):
    """The runs of one holder of A in one phase, by (side, slot, rank)."""

    mask: Words
    """uint64 (2, words): positions that have runs."""
    rank: Codes
    """uint8 (runs,): rank of A, plus ``LAST_RUN`` if it is the position's last."""
    value: Codes
    """uint8 (runs,): code of V(P, A), NONE for A itself, ``FRESH`` for the fresh value."""
    depth: Plies
    """uint16 (runs,): D(P, A)."""
    white: int
    """How many of them have White to move."""


@jit
def empty_log(room: int) -> Log:
    """Return a log without entries."""
    return Log(
        np.empty(room, np.int32),
        np.empty(room, np.uint8),
        np.empty(room, np.uint8),
        np.empty(room, np.uint16),
        np.zeros(1, np.int64),
    )


@inlined
def _open_states(attacker: Attacker, phase: Phase, side: int, word: int, rank: int) -> Word:
    """Canonical positions that have a state of their own in the layer: A is not their own score."""
    bits = phase.alive[side, word] & phase.canonical[word]
    if side == attacker.side and bits:
        bits &= ~of_rank(phase.slices[side, word], rank)
    return bits


@inlined
def changed_states(
    attacker: Attacker, phase: Phase, side: int, word: int, rank: int, carried: bool
) -> tuple[Word, Word]:
    """Return which states of a word the layer has assigned, and which differ from those of the layer before
    in value or depth (there: A itself, at first). To be asked once per layer.

    ``carried`` says that the sweep was carried on from the layer before: then ``changed`` has them all.
    """
    if phase.alive[side, word] == ZERO or (carried and attacker.inner_sets.changed[side, word] == ZERO):
        return ZERO, ZERO
    states = _open_states(attacker, phase, side, word, rank)
    now = assigned(attacker, phase, side, word) & states
    before = attacker.logged[side, word]
    attacker.logged[side, word] = now
    changed = attacker.inner_sets.changed[side, word]
    return now, (now & (changed | ~before)) | (before & ~now & states)


@jit
def log_changes(attacker: Attacker, rank: int, phase: Phase, carried: bool, log: Log) -> Log:
    """Log the states whose (value, depth) differ from those of the layer before; ``carried`` as in
    ``changed_states``.

    Returns the log, which may have been moved to make room.
    """
    words = len(phase.canonical)
    for side in range(2):
        word = int64(0)
        while word < words:
            if log.length[0] + 64 > len(log.node):
                log = _longer(log)
            word = _log_words(attacker, rank, phase, carried, log, side, word)
    return log


@kernel
def _log_words(
    attacker: Attacker, rank: int, phase: Phase, carried: bool, log: Log, side: int, start: int
) -> int:
    """Log the changes of one side to move from word ``start`` on; return the word that there may be no room
    for, or the number of words."""
    words = len(phase.canonical)
    for word in range(start, words):
        length = log.length[0]
        if length + 64 > len(log.node):
            return word
        now, bits = changed_states(attacker, phase, side, word, rank, carried)
        first = (side * words + word) * 64
        while bits:
            bit = lowest(bits)
            bits &= bits - ONE
            log.node[length] = first + bit
            log.rank[length] = rank
            if now & BIT[bit]:
                log.value[length] = attacker.results.value[first + bit]
                log.depth[length] = attacker.results.depth[first + bit]
            else:
                log.value[length] = NONE
                log.depth[length] = 0
            length += 1
        log.length[0] = length
    return words


@jit
def _longer(log: Log) -> Log:
    """The log with twice the room."""
    size, length = len(log.node), log.length[0]
    longer = Log(
        np.empty(2 * size, np.int32),
        np.empty(2 * size, np.uint8),
        np.empty(2 * size, np.uint8),
        np.empty(2 * size, np.uint16),
        log.length,
    )
    longer.node[:length] = log.node[:length]
    longer.rank[:length] = log.rank[:length]
    longer.value[:length] = log.value[:length]
    longer.depth[:length] = log.depth[:length]
    return longer


@jit
def _by_word(log: Log, words: int) -> tuple[Ints, NDArray[np.int32]]:
    """Return where each word's entries begin, int64 (2 * words + 1,), and the entries' numbers in the order
    of words, layers and bits (int32)."""
    length = log.length[0]
    begin = np.zeros(2 * words + 1, np.int64)
    for number in range(length):
        begin[(log.node[number] >> 6) + 1] += 1
    for word in range(2 * words):
        begin[word + 1] += begin[word]
    order, place = np.empty(length, np.int32), begin[:-1].copy()
    for number in range(length):
        word = log.node[number] >> 6
        order[place[word]] = number
        place[word] += 1
    return begin, order


@jit
def weave(log: Log, words: int, fresh: SweepResults) -> Runs:
    """Sort a log, which is in the order of its layers, into runs by (side, slot, rank).

    ``words`` is the number of words of one side to move, ``fresh`` holds the fresh values and depths.
    """
    length = log.length[0]
    begin, order = _by_word(log, words)
    mask = np.zeros((2, words), np.uint64)
    run_rank = np.empty(length, np.uint8)
    run_value = np.empty(length, np.uint8)
    run_depth = np.empty(length, np.uint16)
    place = np.empty(65, np.int64)
    for word in range(2 * words):
        entries = order[begin[word] : begin[word + 1]]
        if len(entries) == 0:
            continue
        side = 0 if word < words else 1
        first = fresh.starts[side] + (word - side * words) * 64
        place[:] = 0
        bits = ZERO
        for number in entries:
            bit = log.node[number] & 63
            place[bit + 1] += 1
            bits |= BIT[bit]
        mask[side, word - side * words] = bits
        place[0] = begin[word]
        for bit in range(64):
            place[bit + 1] += place[bit]
        for number in entries:
            bit = log.node[number] & 63
            at = place[bit]
            place[bit] += 1
            run_rank[at] = log.rank[number]
            run_value[at] = log.value[number]
            run_depth[at] = log.depth[number]
            if run_value[at] == fresh.value[first + bit] and run_depth[at] == fresh.depth[first + bit]:
                run_value[at] = FRESH
                run_depth[at] = 0
        while bits:
            run_rank[place[lowest(bits)] - 1] += LAST_RUN
            bits &= bits - ONE
    return Runs(mask, run_rank, run_value, run_depth, begin[words])
