"""The sweep: retrograde analysis of one side's attractor, value by value and ply by ply.

The *attacker* forces the values that it prefers. *Keys* number the values, the attacker's best first: the key
is the value code for White, 255 minus the code for Black. A sweep over a range of keys assigns value and
depth to two kinds of positions:

- with the attacker to move, as soon as one move leads to an assigned position or one exit has the current
  value;
- with the *defender* to move, as soon as every quiet move leads to an assigned position and no exit is better
  for the defender than the current value. A counter for each position stores the number of remaining moves.

Levels are processed in the order (key, depth). So every position gets the attacker's best value with the
fewest plies that the attacker can force against the longest defence (depth to goal, section 5 of
docs/theory.md).

Exits, and positions settled in earlier layers, enter as *events* at their levels. Positions assigned in the
last ply are the *front* (the frontier of the search); their predecessors are *candidates* for the next ply.

Candidates and front are divided into *parts*, so that threads can work concurrently. A part contains the
words with Black's king on certain squares. Data of a word is written only by the part of the word, so parts
never conflict, and the results do not depend on the number of parts. Only moves of Black's king, moves of
White's king out of the triangle, and the kings' moves to images (``is_image``) lead from one part to
another.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbgen.compiler.jit import inlined, int64, jit, kernel
from tbgen.compiler.structs import Struct
from tbgen.retro.geometry import BIT
from tbgen.retro.kernels.best_exits import ExitBuffer
from tbgen.retro.kernels.events import DEPTH_BITS, DEPTH_MASK, NEVER, Agenda, level_at
from tbgen.retro.kernels.frame import Frame, Phase, place_of
from tbgen.retro.kernels.moves import ALL_MOVES, CROSSING, MoveBuffer, MoveSearch, all_predecessors
from tbgen.retro.kernels.words import (
    ZERO,
    Codes,
    Ints,
    Plies,
    Word,
    Words,
    bits_of,
    count_down,
    prefetch,
    put,
)

ATTACKERS, DEFENDERS = range(2)
"""Rows of arrays with one row for the positions of each side to move."""


@dataclass(frozen=True, eq=False)
class Scratch(Struct):
    """Scratch memory of the sweeps of one attacker."""

    candidates: Words
    """uint64 (2, words): candidates of the current ply, in row 0 with the attacker to move, in row 1 with the
    defender; empty between plies."""
    marks: Words
    """uint64 (2, words // 64 + 1): words of ``candidates`` that may be non-empty."""
    tops: Words
    """uint64 (parts, 2, marks // 64 + 1): elements of ``marks`` that mark words of the part."""
    front_word: NDArray[np.int32]
    """int32 (2, 2 * words): words of the front, part by part."""
    front_bits: Words
    """uint64 (2, 2 * words): positions on the front in these words."""
    front: Ints
    """int64 (parts, 2): number of words of each part on the front."""
    begin: Ints
    """int64 (parts + 1,): index of the first word of each part in ``front_word``."""
    part_of: Ints
    """int64 (64,): part for each square of Black's king."""
    news: Ints
    """int64 (parts,): 1 if the last ply has assigned a position of the part, else 0."""
    live: Words
    """uint64 (parts, 2, words // 64 + 1): words of each part that contain a wanted position (row 0) or a
    position alive with the defender to move (row 1) when the sweep begins."""
    moves: MoveBuffer
    """Move buffers of all parts: the arrays have a leading axis for the part."""
    exit: ExitBuffer
    """Buffer for the exit of one position, which updates compute."""
    deepest: Ints
    """int64 (1,): greatest depth ever assigned; greater than ``MAX_DEPTH`` if depths cannot be stored."""


@inlined
def buffer_of(scratch: Scratch, part: int) -> MoveBuffer:
    """The move buffer of one part."""
    moves = scratch.moves
    return MoveBuffer(moves.word[part], moves.bits[part], moves.symmetry[part], moves.squares[part])


@inlined
def part_of(frame: Frame, scratch: Scratch, word: int) -> int:
    """The part to which a word belongs."""
    if len(scratch.front) == 1:
        return int64(0)
    return int64(scratch.part_of[(word >> frame.shifts[1]) & 63])


@inlined
def find_candidates(scratch: Scratch, part: int, row: int, word: int, bits: Word) -> None:
    """Add candidates of the current ply in a word of the part."""
    scratch.candidates[row, word] |= bits
    mark = word >> 6
    if scratch.marks[row, mark] == ZERO:
        scratch.tops[part, row, mark >> 6] |= BIT[mark & 63]
    scratch.marks[row, mark] |= BIT[word & 63]


@inlined
def gather(scratch: Scratch, part: int, row: int, count: int) -> int:
    """Move the candidates of a part and row to its front, from index ``count`` on; return the new count."""
    begin = scratch.begin[part]
    for top in range(scratch.tops.shape[2]):
        tops = scratch.tops[part, row, top]
        if tops == ZERO:
            continue
        scratch.tops[part, row, top] = ZERO
        for high in bits_of(tops):
            mark = top * 64 + high
            marks = scratch.marks[row, mark]
            scratch.marks[row, mark] = ZERO
            for low in bits_of(marks):
                word = mark * 64 + low
                scratch.front_word[row, begin + count] = word
                scratch.front_bits[row, begin + count] = scratch.candidates[row, word]
                scratch.candidates[row, word] = ZERO
                count += 1
    return count


@inlined
def front_size(scratch: Scratch) -> int:
    """Number of words on the front."""
    size = int64(0)
    for part in range(len(scratch.front)):
        size += scratch.front[part, ATTACKERS] + scratch.front[part, DEFENDERS]
    return size


@kernel
def mark_live(wanted: Words, alive: Words, live: Words) -> None:
    """Mark the non-empty words of ``wanted`` and ``alive`` in ``live``, uint64 (2, words / 64)."""
    live[:] = ZERO
    for word in range(len(alive)):
        if wanted[word]:
            live[ATTACKERS, word >> 6] |= BIT[word & 63]
        if alive[word]:
            live[DEFENDERS, word >> 6] |= BIT[word & 63]


@kernel
def share_out(frame: Frame, scratch: Scratch) -> None:
    """Distribute the words that ``mark_live`` has marked for the first part among all parts.

    With more than one part, any 64 neighbouring words have Black's king on the same square.
    """
    live, parts = scratch.live, len(scratch.front)
    if parts == 1:
        return
    for group in range(live.shape[2]):
        owner = part_of(frame, scratch, group << 6)
        for row in range(2):
            marked = live[0, row, group]
            for part in range(parts):
                live[part, row, group] = marked if part == owner else ZERO


MAX_DEPTH = 65000
"""Greatest depth in plies: it fits into 16 bits and is distinct from NO_EXIT, with a margin."""

BATCH = 384
"""Number of predecessors that are listed and prefetched before they are processed."""


NO_LIMIT = int64(1 << 62)
"""Number of words that no front reaches."""


@dataclass(frozen=True, eq=False)
class Sets(Struct):
    """The sets of one attacker at the beginning or end of a sweep."""

    wanted: Words
    """uint64 (words,), attacker to move: positions that can still be assigned in this layer."""
    remaining: Codes
    """uint8 (64 * words,), defender to move: number of quiet moves to positions that are not assigned; one
    cache line per word. The numbers are meaningless for positions that can no longer become ready."""
    ready: Words
    """uint64 (words,), defender to move: positions that can still be assigned in this layer, and whose exit,
    if any, the sweep has reached."""
    caught: Words
    """uint64 (words,), defender to move: positions assigned in this sweep."""
    changed: Words
    """uint64 (2, words), White to move first: positions whose value or depth a sweep has changed."""


class SweepResults(NamedTuple):
    """Arrays for values and depths; the index of a position is ``starts[side] + slot``."""

    value: Codes
    depth: Plies
    """Empty if depths are not computed; values do not depend on depths."""
    starts: Ints
    """int64 (2,): index of the first slot, by side to move."""


@dataclass(frozen=True, eq=False)
class Attacker(Struct):
    """The sets and results of one attacker."""

    side: int
    """0 White, 1 Black."""
    frame: Frame
    phase: Phase
    outer_sets: Sets
    """Sets of the outer sweeps, whose assignments are permanent."""
    inner_sets: Sets
    """Sets of the current inner sweep. Like ``results``, ``logged`` and ``alive_before``, they are empty if
    the game has no layers."""
    scratch: Scratch
    results: SweepResults
    """Results of the inner sweep: 2 * phase size values and depths, White to move first."""
    logged: Words
    """uint64 (2, words): positions whose last logged state is not A itself."""
    alive_before: Words
    """uint64 (2, words): positions alive in the layer that was processed last."""
    last_key: Ints
    """int64 (1,): greatest key that the last inner sweep has assigned."""


ALONE, SHARED, OF_ATTACKERS = range(3)
"""Modes of writing results. ``ALONE``: no other thread writes to them, and changes are recorded in
``Sets.changed``. ``SHARED``: the opponent's sweep may write to other positions of the same word at the same
time. ``OF_ATTACKERS``: only values of positions with the attacker to move are written."""


class Sweep(NamedTuple):
    """The data of a sweep."""

    attacker: Attacker
    agenda: Agenda
    high: int
    """Upper bound of the keys, exclusive."""
    sets: Sets
    """The outer or the inner sets of the attacker."""
    results: SweepResults
    """Receives values and depths."""
    writing: int
    """``ALONE``, ``SHARED`` or ``OF_ATTACKERS``."""


class SweepState(NamedTuple):
    """The progress of a sweep."""

    level: int
    """The next level, ``NEVER`` at the end."""
    exits: int
    """Index of the next level of exits."""
    settled: int
    """Index of the next level of settled positions."""
    last: int
    """The last key that was assigned to a position, 0 if none."""


@inlined
def _prefetch_record(results: SweepResults, side: int, word: int) -> None:
    first = results.starts[side] + int64(word) * 64
    prefetch(results.value, first)
    if len(results.depth):
        prefetch(results.depth, first)
        prefetch(results.depth, first + 32)


@inlined
def _collect(sweep: Sweep, part: int, other: int, row: int, number: int, stop: int) -> tuple[int, int]:
    """List predecessors, in one part, of the front of another part; return the number of entries, and the
    index of the next word of the front.

    ``row`` is the row of the front, and ``number`` its first word to process. The batch ends at word ``stop``
    or when it is full. The data of the sets that each entry needs is prefetched.
    """
    attacker, scratch, sets = sweep.attacker, sweep.attacker.scratch, sweep.sets
    buffer, mover = buffer_of(scratch, part), attacker.side if row == DEFENDERS else 1 - attacker.side
    search = MoveSearch(attacker.frame, mover, True, scratch.live[part, 1 - row], buffer)
    which, entries = ALL_MOVES if other == part else CROSSING, int64(0)
    while number < stop and entries < BATCH:
        before = entries
        word, bits = int64(scratch.front_word[row, number]), scratch.front_bits[row, number]
        entries = all_predecessors(search, word, bits, row == ATTACKERS, which, entries)
        for entry in range(before, entries):
            if row == DEFENDERS:
                prefetch(sets.wanted, buffer.word[entry])
            else:
                prefetch(sets.remaining, buffer.word[entry] * 64)
        number += 1
    return entries, number


@inlined
def _reach_back(sweep: Sweep, part: int, other: int, row: int) -> None:
    """Find the candidates of one part among the predecessors of the front of another part or its own.

    ``row`` is the row of the front. Candidates before the defenders' front are wanted positions. Moves to the
    attackers' front are counted down; candidates are ready positions without remaining moves.
    """
    scratch, buffer, sets = sweep.attacker.scratch, buffer_of(sweep.attacker.scratch, part), sweep.sets
    number = scratch.begin[other]
    stop = number + scratch.front[other, row]
    while number < stop:
        entries, number = _collect(sweep, part, other, row, number, stop)
        for entry in range(entries):
            word, bits = buffer.word[entry], buffer.bits[entry]
            if row == DEFENDERS:
                bits &= sets.wanted[word]
            else:
                bits = count_down(sets.remaining, word * 64, bits)
                if bits:
                    bits &= sets.ready[word]
            if bits:
                find_candidates(scratch, part, 1 - row, word, bits)


# Two kernels, since a single one with both loops is 10 % slower.
@kernel
def _find_attackers(sweep: Sweep, part: int, other: int) -> None:
    """Find the wanted positions of one part with a move to the defenders' front of a part."""
    _reach_back(sweep, part, other, DEFENDERS)


@kernel
def _find_defenders(sweep: Sweep, part: int, other: int) -> None:
    """Count down the moves in one part to the attackers' front of a part."""
    _reach_back(sweep, part, other, ATTACKERS)


@kernel
def _enter_exits(sweep: Sweep, part: int, number: int) -> None:
    """Enter the exits of a level. Candidates of the part are attackers with such an exit, and defenders with
    such an exit and no remaining moves."""
    attacker, exits, sets = sweep.attacker, sweep.agenda.exits, sweep.sets
    frame, scratch, alive = attacker.frame, attacker.scratch, attacker.phase.alive[1 - attacker.side]
    stop = exits.start[number + 1]
    for event in range(exits.start[number], stop):
        side, word, _ = place_of(frame, int64(exits.node[min(event + 12, stop - 1)]))
        if side == attacker.side:
            prefetch(sets.wanted, word)
        else:
            prefetch(sets.remaining, word * 64)
        side, word, bit = place_of(frame, int64(exits.node[event]))
        if part_of(frame, scratch, word) != part:
            continue
        if side == attacker.side:
            if sets.wanted[word] & BIT[bit]:
                find_candidates(scratch, part, ATTACKERS, word, BIT[bit])
        elif alive[word] & BIT[bit]:
            sets.ready[word] |= BIT[bit]
            if sets.remaining[word * 64 + bit] == 0:
                find_candidates(scratch, part, DEFENDERS, word, BIT[bit])


@kernel
def _enter_settled(sweep: Sweep, part: int, number: int) -> int:
    """Enter the positions of the part that were settled at a level: attackers as candidates, defenders on the
    front. Return the number of words of these defenders on the front."""
    frame, scratch, settled = sweep.attacker.frame, sweep.attacker.scratch, sweep.agenda.settled
    front_word, front_bits = scratch.front_word[DEFENDERS], scratch.front_bits[DEFENDERS]
    first = front = scratch.begin[part]
    for event in range(settled.start[number], settled.start[number + 1]):
        side, word, bit = place_of(frame, int64(settled.node[event]))
        if part_of(frame, scratch, word) != part:
            continue
        if side == sweep.attacker.side:
            find_candidates(scratch, part, ATTACKERS, word, BIT[bit])
        elif front > first and front_word[front - 1] == word:
            front_bits[front - 1] |= BIT[bit]
        else:
            front_word[front], front_bits[front] = word, BIT[bit]
            front += 1
    return front - first


@inlined
def _write_apart(results: SweepResults, first: int, bits: Word, code: int, ply: int) -> None:
    """Write one value and depth to the positions ``bits`` of the word that starts at ``first``. Other
    positions, to which another thread may be writing, are not accessed."""
    for bit in bits_of(bits):
        results.value[first + bit] = code
        if len(results.depth):
            results.depth[first + bit] = ply


@inlined
def _record_front(sweep: Sweep, row: int, start: int, stop: int, level: int) -> None:
    """Write value and depth of a level to the positions on the front, words ``start`` to ``stop`` - 1."""
    scratch, sets, results = sweep.attacker.scratch, sweep.sets, sweep.results
    attacking, key = sweep.attacker.side, level >> DEPTH_BITS
    side = attacking if row == ATTACKERS else 1 - attacking
    code = key if attacking == 0 else 255 - key
    for number in range(start, stop):
        _prefetch_record(results, side, scratch.front_word[row, min(number + 8, stop - 1)])
        word, bits = scratch.front_word[row, number], scratch.front_bits[row, number]
        if row == ATTACKERS:
            sets.wanted[word] &= ~bits
        else:
            sets.ready[word] &= ~bits
            sets.caught[word] |= bits
        first = results.starts[side] + word * 64
        if sweep.writing == SHARED:
            _write_apart(results, first, bits, code, level & DEPTH_MASK)
        elif sweep.writing == OF_ATTACKERS:
            if row == ATTACKERS:
                put(results.value, first, bits, code)
        else:
            sets.changed[side, word] |= put(results.value, first, bits, code)
            sets.changed[side, word] |= put(results.depth, first, bits, level & DEPTH_MASK)


@kernel
def find_part(sweep: Sweep, part: int) -> None:
    """Process the first half of a level for one part: find its candidates by moves to the front.

    All parts must finish this half before any part begins the second half.
    """
    for other in range(len(sweep.attacker.scratch.front)):
        _find_attackers(sweep, part, other)
        _find_defenders(sweep, part, other)


@kernel
def assign_part(sweep: Sweep, state: SweepState, part: int) -> None:
    """Process the second half of a level for one part: enter its events and make its candidates its front."""
    scratch, begin = sweep.attacker.scratch, sweep.attacker.scratch.begin[part]
    defenders = int64(0)
    if level_at(sweep.agenda.exits, state.exits) == state.level:
        _enter_exits(sweep, part, state.exits)
    if level_at(sweep.agenda.settled, state.settled) == state.level:
        defenders = _enter_settled(sweep, part, state.settled)
    caught = gather(scratch, part, DEFENDERS, defenders)
    wanted = gather(scratch, part, ATTACKERS, int64(0))
    scratch.front[part, DEFENDERS], scratch.front[part, ATTACKERS] = caught, wanted
    scratch.news[part] = caught + wanted > defenders
    _record_front(sweep, DEFENDERS, begin + defenders, begin + caught, state.level)
    _record_front(sweep, ATTACKERS, begin, begin + wanted, state.level)


@inlined
def _state_after(sweep: Sweep, exits: int, settled: int, level: int, last: int) -> SweepState:
    """The state with the next level. After a non-empty front this is the level after ``level``, or without
    depths ``level`` again."""
    if front_size(sweep.attacker.scratch) > 0:
        level += 1 if len(sweep.results.depth) else 0
    else:
        level = min(level_at(sweep.agenda.exits, exits), level_at(sweep.agenda.settled, settled))
        if level >= sweep.high << DEPTH_BITS:
            return SweepState(NEVER, exits, settled, last)
    ply = level & DEPTH_MASK
    sweep.attacker.scratch.deepest[0] = max(sweep.attacker.scratch.deepest[0], ply)
    return SweepState(level if ply <= MAX_DEPTH else NEVER, exits, settled, last)


@jit
def begin_sweep(sweep: Sweep, low: int) -> SweepState:
    """Begin a sweep over the keys from ``low`` on; return its state."""
    attacker, scratch = sweep.attacker, sweep.attacker.scratch
    sweep.sets.caught[:] = ZERO
    scratch.front[:] = 0
    exits = int64(np.searchsorted(sweep.agenda.exits.level, low << DEPTH_BITS))
    settled = int64(np.searchsorted(sweep.agenda.settled.level, low << DEPTH_BITS))
    state = _state_after(sweep, exits, settled, int64(0), int64(0))
    if state.level < NEVER:
        mark_live(sweep.sets.wanted, attacker.phase.alive[1 - attacker.side], scratch.live[0])
        share_out(attacker.frame, scratch)
    return state


@jit
def next_level(sweep: Sweep, state: SweepState) -> SweepState:
    """Return the state after a level that all parts have finished."""
    level, exits, settled, last = state
    for part in range(len(sweep.attacker.scratch.front)):
        if sweep.attacker.scratch.news[part]:
            last = level >> DEPTH_BITS
    exits += level_at(sweep.agenda.exits, exits) == level
    settled += level_at(sweep.agenda.settled, settled) == level
    return _state_after(sweep, exits, settled, level, last)


@jit
def run_levels(sweep: Sweep, state: SweepState, limit: int) -> SweepState:
    """Process levels, one part after the other, until the front has ``limit`` words or the sweep ends."""
    parts = len(sweep.attacker.scratch.front)
    while state.level < NEVER and front_size(sweep.attacker.scratch) < limit:
        for part in range(parts):
            find_part(sweep, part)
        for part in range(parts):
            assign_part(sweep, state, part)
        state = next_level(sweep, state)
    return state


@jit
def run_sweep(sweep: Sweep, low: int) -> int:
    """Process all levels of a sweep; return the last key that was assigned to a position, 0 if none."""
    return run_levels(sweep, begin_sweep(sweep, low), NO_LIMIT).last
