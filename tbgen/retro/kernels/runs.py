"""Runs: how the value of a position changes with the accrued score, logged layer by layer and then sorted.

From one layer to the next of the same holder few states change, so only the changes are kept.
"""

from typing import NamedTuple

import numpy as np

from tbgen.board.score import NONE
from tbgen.compiler.jit import inlined, int64, jit, kernel
from tbgen.index.table import FRESH, LAST_RUN
from tbgen.retro.geometry import BIT
from tbgen.retro.kernels.bits import ZERO, Codes, Ints, Plies, Word, Words, bits_of
from tbgen.retro.kernels.layers import assigned
from tbgen.retro.kernels.mobility import of_rank
from tbgen.retro.kernels.sweep import Attacker, SweepResults

_NODE, _RANK, _VALUE = (np.uint64(bits) for bits in (32, 24, 16))
_BYTE, _PLIES = np.uint64(0xFF), np.uint64(0xFFFF)


class Log(NamedTuple):
    """Changes of V(P, A) from one layer to the next of the same holder of A, in the order of the layers."""

    entry: Words
    """uint64: node (slot, plus the phase size if Black is to move) << 32, rank of A << 24, code of V(P, A)
    (NONE for A itself) << 16, and D(P, A)."""
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
    return Log(np.empty(room, np.uint64), np.zeros(1, np.int64))


@inlined
def changed_states(attacker: Attacker, side: int, word: int, rank: int, carried: bool) -> tuple[Word, Word]:
    """Return which states of a word the layer has assigned, and which differ from those of the layer before
    in value or depth (there: A itself, at first). To be asked once per layer.

    ``carried`` says that the sweep was carried on from the layer before: then ``changed`` has them all.
    """
    phase, changed = attacker.phase, attacker.inner_sets.changed[side, word]
    if phase.alive[side, word] == ZERO or (carried and changed == ZERO):
        return ZERO, ZERO
    states = phase.alive[side, word] & phase.canonical[word]
    if side == attacker.side and states:  # those have no state of their own whose own score is A
        states &= ~of_rank(phase.slices[side, word], rank)
    now = assigned(attacker, side, word) & states
    before = attacker.logged[side, word]
    attacker.logged[side, word] = now
    return now, (now & (changed | ~before)) | (before & ~now & states)


@jit
def log_changes(attacker: Attacker, rank: int, carried: bool, log: Log) -> Log:
    """Log the states whose (value, depth) differ from those of the layer before; ``carried`` as in
    ``changed_states``.

    Returns the log, which may have been moved to make room.
    """
    for side in range(2):
        word = int64(0)
        while word < attacker.frame.words:
            if log.length[0] + 64 > len(log.entry):
                longer = Log(np.empty(2 * len(log.entry), np.uint64), log.length)
                longer.entry[: log.length[0]] = log.entry[: log.length[0]]
                log = longer
            word = _log_words(attacker, rank, carried, log, side, word)
    return log


@kernel
def _log_words(attacker: Attacker, rank: int, carried: bool, log: Log, side: int, start: int) -> int:
    """Log the changes of one side to move from word ``start`` on; return the word that there may be no room
    for, or the number of words."""
    words, results = attacker.frame.words, attacker.results
    for word in range(start, words):
        length = log.length[0]
        if length + 64 > len(log.entry):
            return word
        now, changed = changed_states(attacker, side, word, rank, carried)
        for bit in bits_of(changed):
            state, at = np.uint64(NONE << 16), (side * words + word) * 64 + bit
            if now & BIT[bit]:
                state = np.uint64(results.value[at]) << _VALUE | np.uint64(results.depth[at])
            log.entry[length] = np.uint64(at) << _NODE | np.uint64(rank) << _RANK | state
            length += 1
        log.length[0] = length
    return words


@jit
def weave(entries: Words, words: int, fresh: SweepResults) -> Runs:
    """Return the entries of a log, sorted, as runs by (side, slot, rank).

    ``words`` is the number of words of one side to move, ``fresh`` holds the fresh values and depths.
    """
    count, white = len(entries), int64(0)
    mask = np.zeros((2, words), np.uint64)
    rank, value, depth = np.empty(count, np.uint8), np.empty(count, np.uint8), np.empty(count, np.uint16)
    for number in range(count):
        entry = entries[number]
        node = int64(entry >> _NODE)
        side = 0 if node < words * 64 else 1
        slot = node - side * words * 64
        mask[side, slot >> 6] |= BIT[slot & 63]
        white += 1 - side
        rank[number] = entry >> _RANK & _BYTE
        if number + 1 == count or int64(entries[number + 1] >> _NODE) != node:
            rank[number] += LAST_RUN
        value[number], depth[number] = entry >> _VALUE & _BYTE, entry & _PLIES
        at = fresh.starts[side] + slot
        if value[number] == fresh.value[at] and depth[number] == fresh.depth[at]:
            value[number], depth[number] = FRESH, 0
    return Runs(mask, rank, value, depth, white)
