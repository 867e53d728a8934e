"""One side's attractor, value by value and ply by ply: the sweep, its candidates and its front.

The *attacker* drives play to the values it likes; *keys* number the values from the attacker's best: the
value code for White, 255 minus it for Black. A sweep over a range of keys assigns (value, depth) to

- a position with the attacker to move as soon as one move reaches an assigned position (or an exit),
- a position with the *defender* to move once every quiet move leads to an assigned position and no exit is
  better for the defender than the value swept; a counter per position tells how many moves are left,

levels being taken in the order (key, depth), so every position gets the attacker's best value in the fewest
plies the attacker can force against the longest defence (depth to goal, section 5 of docs/theory.md).

Exits, and positions whose fresh value was settled in earlier layers, enter as *events* at their levels.

The candidates and the front are shared out among *parts*, so that threads can work side by side. A part has
the words with Black's king on some of the squares. Whatever a ply writes about a word, the part of the word
writes, so parts never meet, and what comes out does not depend on how many there are. Only moves of Black's
king, those of White's that turn the board, and the kings' moves to images (``is_image``) lead from one part
to another.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbgen.compiler.jit import inlined, int64, jit, kernel
from tbgen.compiler.structs import Struct
from tbgen.retro.geometry import BIT
from tbgen.retro.kernels.best_exits import OneExit
from tbgen.retro.kernels.events import NEVER, TIME_BITS, TIME_MASK, Agenda, level_at
from tbgen.retro.kernels.frame import Frame, Phase, place_of
from tbgen.retro.kernels.moves import ALL_MOVES, CROSSING, MoveSearch, MovesFound, all_origins
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
"""Rows of what is kept of positions with either side to move."""


@dataclass(frozen=True, eq=False)
class Scratch(Struct):
    """Working memory of one attacker's sweeps."""

    found: Words
    """uint64 (2, words): candidates of the ply; row 0 attacker to move, row 1 defender; empty between
    plies."""
    marks: Words
    """uint64 (2, words // 64 + 1): words of ``found`` that may not be empty."""
    tops: Words
    """uint64 (parts, 2, marks // 64 + 1): words of ``marks`` that have words of the part."""
    front_word: NDArray[np.int32]
    """int32 (2, 2 * words): words assigned in the last ply, part by part."""
    front_bits: Words
    """uint64 (2, 2 * words)."""
    front: Ints
    """int64 (parts, 2): how many words of ``front_word`` each part has."""
    begin: Ints
    """int64 (parts + 1,): where the parts begin in ``front_word``."""
    part_of: Ints
    """int64 (64,): part by the square of Black's king."""
    news: Ints
    """int64 (parts,): 1 where the last ply has assigned something."""
    live: Words
    """uint64 (parts, 2, words // 64 + 1): the part's words with a position that is still wanted (row 0) or
    waiting (row 1) when the sweep begins."""
    moves: MovesFound
    """Room for a batch of words, by part: its arrays have one axis more."""
    exit: OneExit
    """Room for the exit of one position, which updates look for."""
    deepest: Ints
    """int64 (1,): greatest depth ever assigned; more than ``MAX_DEPTH`` if depths do not fit."""


@inlined
def room_of(scratch: Scratch, part: int) -> MovesFound:
    """The room of one part for moves."""
    room = scratch.moves
    return MovesFound(room.word[part], room.bits[part], room.symmetry[part], room.squares[part])


@inlined
def part_of(frame: Frame, scratch: Scratch, word: int) -> int:
    """The part that a word belongs to."""
    if len(scratch.front) == 1:
        return int64(0)
    return int64(scratch.part_of[(word >> frame.shifts[1]) & 63])


@inlined
def find_candidates(scratch: Scratch, part: int, row: int, word: int, bits: Word) -> None:
    """Add candidates of the ply; the word belongs to the part."""
    scratch.found[row, word] |= bits
    mark = word >> 6
    if scratch.marks[row, mark] == ZERO:
        scratch.tops[part, row, mark >> 6] |= BIT[mark & 63]
    scratch.marks[row, mark] |= BIT[word & 63]


@inlined
def gather(scratch: Scratch, part: int, row: int, count: int) -> int:
    """Move a part's candidates of a row to its front, from place ``count`` on; return the new count."""
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
                scratch.front_bits[row, begin + count] = scratch.found[row, word]
                scratch.found[row, word] = ZERO
                count += 1
    return count


@inlined
def front_size(scratch: Scratch) -> int:
    """How many words were assigned in the last ply."""
    size = int64(0)
    for part in range(len(scratch.front)):
        size += scratch.front[part, ATTACKERS] + scratch.front[part, DEFENDERS]
    return size


@kernel
def mark_live(wanted: Words, alive: Words, live: Words) -> None:
    """Mark in ``live``, uint64 (2, words / 64), the words that are not empty."""
    live[:] = ZERO
    for word in range(len(alive)):
        if wanted[word]:
            live[ATTACKERS, word >> 6] |= BIT[word & 63]
        if alive[word]:
            live[DEFENDERS, word >> 6] |= BIT[word & 63]


@kernel
def share_out(frame: Frame, scratch: Scratch) -> None:
    """Share what ``mark_live`` has marked for the first part out among all of them.

    There is more than one only where 64 neighbouring words have Black's king on one square.
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
"""Greatest depth in plies that the solver can tell from NO_EXIT and keep in 16 bits, with room to spare."""

BATCH = 384
"""Origins collected before they are worked off, so that the memory has time to fetch what they need."""


NO_LIMIT = int64(1 << 62)


@dataclass(frozen=True, eq=False)
class Sets(Struct):
    """The sets of one attacker as they stand when a sweep begins or ends."""

    wanted: Words
    """uint64 (words,), attacker to move: positions that may still be assigned in this layer."""
    left: Codes
    """uint8 (64 * words,), defender to move: the numbers of quiet moves to positions that are not assigned,
    one cache line per word. They mean nothing at positions that cannot be ready any more."""
    ready: Words
    """uint64 (words,), defender to move: positions that may still be assigned in this layer and have no exit
    that the sweep has not reached."""
    caught: Words
    """uint64 (words,), defender to move: positions assigned in this sweep."""
    changed: Words
    """uint64 (2, words), White to move first: positions whose value or depth a sweep has changed."""


class SweepResults(NamedTuple):
    """Where values and depths are written: the position of a slot has them at ``starts[side] + slot``."""

    value: Codes
    depth: Plies
    """Empty if nobody wants depths: values are the same without them."""
    starts: Ints
    """int64 (2,)."""


@dataclass(frozen=True, eq=False)
class Attacker(Struct):
    """One attacker's sets and results."""

    side: int
    """0 White, 1 Black."""
    frame: Frame
    phase: Phase
    outer_sets: Sets
    """What the outer sweeps have assigned stays assigned."""
    inner_sets: Sets
    """The inner sweep's copy. (This, ``results``, ``logged`` and ``seen`` are empty if the game has no
    layers.)"""
    scratch: Scratch
    results: SweepResults
    """Of the inner sweep: 2 * phase size values and depths, White to move first."""
    logged: Words
    """uint64 (2, words): positions whose last logged state is not A itself."""
    seen: Words
    """uint64 (2, words): positions alive in the layer that was entered last."""
    last_key: Ints
    """int64 (1,): last key that the last inner sweep has assigned."""


ALONE, SHARED, OF_ATTACKERS = range(3)
"""How results are written: nobody else writes to them at the same time, and ``Sets.changed`` is told; the
opponent's sweep may write to others of the same word; or only positions with the attacker to move have
any."""


class Sweep(NamedTuple):
    """What a sweep works on."""

    attacker: Attacker
    agenda: Agenda
    high: int
    """Key from which on nothing is assigned."""
    sets: Sets
    """The outer or the inner ones of the attacker."""
    results: SweepResults
    """Where values and depths go."""
    writing: int
    """``ALONE``: ``sets.changed`` tells where they differ from what was there; ``SHARED`` or
    ``OF_ATTACKERS``."""


class Stand(NamedTuple):
    """How far a sweep has come."""

    level: int
    """The level to be taken next, ``NEVER`` at the end."""
    exits: int
    """Number of the next level of exits."""
    settled: int
    """Number of the next level of settled positions."""
    last: int
    """Last key that was assigned to a position, 0 if none."""


@inlined
def _prefetch_record(results: SweepResults, side: int, word: int) -> None:
    first = results.starts[side] + int64(word) * 64
    prefetch(results.value, first)
    if len(results.depth):
        prefetch(results.depth, first)
        prefetch(results.depth, first + 32)


@inlined
def _collect(sweep: Sweep, part: int, other: int, row: int, number: int, stop: int) -> tuple[int, int]:
    """Collect the part's moves to the words of a front, the other part's, from ``number`` on, until the batch
    is full or ``stop`` is reached; return how many moves there are, and the next number.

    ``row`` says whose front it is. What each move needs of the sets is on its way then.
    """
    attacker, scratch, sets = sweep.attacker, sweep.attacker.scratch, sweep.sets
    found, mover = room_of(scratch, part), attacker.side if row == DEFENDERS else 1 - attacker.side
    search = MoveSearch(attacker.frame, mover, True, scratch.live[part, 1 - row], found)
    which, entries = ALL_MOVES if other == part else CROSSING, int64(0)
    while number < stop and entries < BATCH:
        before = entries
        word, bits = int64(scratch.front_word[row, number]), scratch.front_bits[row, number]
        entries = all_origins(search, word, bits, row == ATTACKERS, which, entries)
        for entry in range(before, entries):
            if row == DEFENDERS:
                prefetch(sets.wanted, found.word[entry])
            else:
                prefetch(sets.left, found.word[entry] * 64)
        number += 1
    return entries, number


@inlined
def _reach_back(sweep: Sweep, part: int, other: int, row: int) -> None:
    """Find the part's candidates among the positions with moves to what another part, or itself, has assigned
    last; ``row`` says whose front that is.

    Of the defenders' front these are wanted positions. Moves to the attackers' are counted down: ready
    positions without a move left.
    """
    scratch, found, sets = sweep.attacker.scratch, room_of(sweep.attacker.scratch, part), sweep.sets
    number = scratch.begin[other]
    stop = number + scratch.front[other, row]
    while number < stop:
        entries, number = _collect(sweep, part, other, row, number, stop)
        for entry in range(entries):
            word, bits = found.word[entry], found.bits[entry]
            if row == DEFENDERS:
                bits &= sets.wanted[word]
            else:
                bits = count_down(sets.left, word * 64, bits)
                if bits:
                    bits &= sets.ready[word]
            if bits:
                find_candidates(scratch, part, 1 - row, word, bits)


# Two kernels, since one with both loops takes a tenth longer.
@kernel
def _find_attackers(sweep: Sweep, part: int, other: int) -> None:
    """Find the part's wanted positions with a move to what another part, or itself, has caught last."""
    _reach_back(sweep, part, other, DEFENDERS)


@kernel
def _find_defenders(sweep: Sweep, part: int, other: int) -> None:
    """Count down the part's moves to what another part, or itself, has assigned last."""
    _reach_back(sweep, part, other, ATTACKERS)


@kernel
def _take_exits(sweep: Sweep, part: int, number: int) -> None:
    """Find the part's attacking positions with an exit of a level, and its defending ones without move left
    that have waited for it."""
    attacker, exits, sets = sweep.attacker, sweep.agenda.exits, sweep.sets
    frame, scratch, alive = attacker.frame, attacker.scratch, attacker.phase.alive[1 - attacker.side]
    stop = exits.start[number + 1]
    for event in range(exits.start[number], stop):
        side, word, _ = place_of(frame, int64(exits.node[min(event + 12, stop - 1)]))
        if side == attacker.side:
            prefetch(sets.wanted, word)
        else:
            prefetch(sets.left, word * 64)
        side, word, bit = place_of(frame, int64(exits.node[event]))
        if part_of(frame, scratch, word) != part:
            continue
        if side == attacker.side:
            if sets.wanted[word] & BIT[bit]:
                find_candidates(scratch, part, ATTACKERS, word, BIT[bit])
        elif alive[word] & BIT[bit]:
            sets.ready[word] |= BIT[bit]
            if sets.left[word * 64 + bit] == 0:
                find_candidates(scratch, part, DEFENDERS, word, BIT[bit])


@kernel
def _take_settled(sweep: Sweep, part: int, number: int) -> int:
    """Find the part's attacking positions that were settled at a level; put its defending ones on its front
    and return their number of words there."""
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
    """Write one value and depth to all positions in ``bits`` of the word that starts at ``first``, and touch
    no other: somebody else may be writing to these."""
    for bit in bits_of(bits):
        results.value[first + bit] = code
        if len(results.depth):
            results.depth[first + bit] = ply


@inlined
def _record_front(sweep: Sweep, row: int, start: int, stop: int, level: int) -> None:
    """Write value and depth of a level to the positions on the front from ``start`` to ``stop`` - 1."""
    scratch, sets, results = sweep.attacker.scratch, sweep.sets, sweep.results
    attacking, key = sweep.attacker.side, level >> TIME_BITS
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
            _write_apart(results, first, bits, code, level & TIME_MASK)
        elif sweep.writing == OF_ATTACKERS:
            if row == ATTACKERS:
                put(results.value, first, bits, code)
        else:
            sets.changed[side, word] |= put(results.value, first, bits, code)
            sets.changed[side, word] |= put(results.depth, first, bits, level & TIME_MASK)


@kernel
def find_part(sweep: Sweep, part: int) -> None:
    """The first half of a level: find what the part's moves to the front make candidates.

    All parts have to be through before any takes the second half.
    """
    for other in range(len(sweep.attacker.scratch.front)):
        _find_attackers(sweep, part, other)
        _find_defenders(sweep, part, other)


@kernel
def take_part(sweep: Sweep, stand: Stand, part: int) -> None:
    """The second half of a level: events, and then the part's candidates become its front."""
    scratch, begin = sweep.attacker.scratch, sweep.attacker.scratch.begin[part]
    known = int64(0)
    if level_at(sweep.agenda.exits, stand.exits) == stand.level:
        _take_exits(sweep, part, stand.exits)
    if level_at(sweep.agenda.settled, stand.settled) == stand.level:
        known = _take_settled(sweep, part, stand.settled)
    caught = gather(scratch, part, DEFENDERS, known)
    wanted = gather(scratch, part, ATTACKERS, int64(0))
    scratch.front[part, DEFENDERS], scratch.front[part, ATTACKERS] = caught, wanted
    scratch.news[part] = caught + wanted > known
    _record_front(sweep, DEFENDERS, begin + known, begin + caught, stand.level)
    _record_front(sweep, ATTACKERS, begin, begin + wanted, stand.level)


@inlined
def _with_level(sweep: Sweep, exits: int, settled: int, level: int, last: int) -> Stand:
    """The stand from which the next level is taken: the one after ``level`` if there is a front, or the same
    again without depths."""
    if front_size(sweep.attacker.scratch) > 0:
        level += 1 if len(sweep.results.depth) else 0
    else:
        level = min(level_at(sweep.agenda.exits, exits), level_at(sweep.agenda.settled, settled))
        if level >= sweep.high << TIME_BITS:
            return Stand(NEVER, exits, settled, last)
    ply = level & TIME_MASK
    sweep.attacker.scratch.deepest[0] = max(sweep.attacker.scratch.deepest[0], ply)
    return Stand(level if ply <= MAX_DEPTH else NEVER, exits, settled, last)


@jit
def begin_sweep(sweep: Sweep, low: int) -> Stand:
    """Begin to assign all positions that the attacker can force to values with keys from ``low`` on."""
    attacker, scratch = sweep.attacker, sweep.attacker.scratch
    sweep.sets.caught[:] = ZERO
    scratch.front[:] = 0
    exits = int64(np.searchsorted(sweep.agenda.exits.level, low << TIME_BITS))
    settled = int64(np.searchsorted(sweep.agenda.settled.level, low << TIME_BITS))
    stand = _with_level(sweep, exits, settled, int64(0), int64(0))
    if stand.level < NEVER:
        mark_live(sweep.sets.wanted, attacker.phase.alive[1 - attacker.side], scratch.live[0])
        share_out(attacker.frame, scratch)
    return stand


@jit
def next_level(sweep: Sweep, stand: Stand) -> Stand:
    """Go on after all parts are through with a level."""
    level, exits, settled, last = stand
    for part in range(len(sweep.attacker.scratch.front)):
        if sweep.attacker.scratch.news[part]:
            last = level >> TIME_BITS
    exits += level_at(sweep.agenda.exits, exits) == level
    settled += level_at(sweep.agenda.settled, settled) == level
    return _with_level(sweep, exits, settled, level, last)


@jit
def take_levels(sweep: Sweep, stand: Stand, limit: int) -> Stand:
    """Take level after level, one part after the other, up to one that so many words lead to."""
    parts = len(sweep.attacker.scratch.front)
    while stand.level < NEVER and front_size(sweep.attacker.scratch) < limit:
        for part in range(parts):
            find_part(sweep, part)
        for part in range(parts):
            take_part(sweep, stand, part)
        stand = next_level(sweep, stand)
    return stand


@jit
def run_sweep(sweep: Sweep, low: int) -> int:
    """Take all levels of a sweep; return the last key that was assigned to a position, 0 if none."""
    return take_levels(sweep, begin_sweep(sweep, low), NO_LIMIT).last
