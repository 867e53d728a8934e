"""One side's attractor, value by value and ply by ply: the sweep.

The *attacker* drives play to the values it likes; *keys* number the values from the attacker's best: the
value code for White, 255 minus it for Black. A sweep over a range of keys assigns (value, depth) to

- a position with the attacker to move as soon as one move reaches an assigned position (or an exit),
- a position with the *defender* to move once every quiet move leads to an assigned position and no exit is
  better for the defender than the value swept; a counter per position tells how many moves are left,

levels being taken in the order (key, depth), so every position gets the attacker's best value in the fewest
plies the attacker can force against the longest defence (depth to goal, section 5 of docs/theory.md).

Exits, and positions whose fresh value was settled in earlier layers, enter as *events* at their levels.
"""

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from tbgen.compiler.jit import inlined, int64, jit, kernel
from tbgen.compiler.structs import Struct
from tbgen.retro.geometry import BIT
from tbgen.retro.kernels.bits import ONE, ZERO, Codes, Ints, Plies, Word, Words, lowest, prefetch
from tbgen.retro.kernels.events import NEVER, TIME_BITS, TIME_MASK, Agenda, level_at
from tbgen.retro.kernels.frame import Frame, place_of
from tbgen.retro.kernels.front import (
    ATTACKERS,
    DEFENDERS,
    Scratch,
    find_candidates,
    front_size,
    gather,
    mark_live,
    part_of,
    room_of,
    share_out,
)
from tbgen.retro.kernels.lanes import count_down, put
from tbgen.retro.kernels.moves import ALL_MOVES, CROSSING, all_origins

MAX_DEPTH = 65000
"""Greatest depth in plies that the solver can tell from NO_EXIT and keep in 16 bits, with room to spare."""

BATCH = 384
"""Origins collected before they are worked off, so that the memory has time to fetch what they need."""


NO_LIMIT = int64(1 << 62)

Array: TypeAlias = Words | Codes


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
    starts: Ints
    """int64 (2,)."""


class Sweep(NamedTuple):
    """What a sweep works on."""

    frame: Frame
    attacking: int
    """The attacker, 0 White or 1 Black."""
    agenda: Agenda
    high: int
    """Key from which on nothing is assigned."""
    sets: Sets
    alive: Words
    """uint64 (words,): positions with the defender to move that are still in the layers."""
    scratch: Scratch
    results: SweepResults
    """Where values and depths go; ``sets.changed`` tells where they differ from what was there."""
    shared: bool
    """Whether the opponent's sweep writes to the same results at the same time; then nothing is told."""


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
    prefetch(results.depth, first)
    prefetch(results.depth, first + 32)


@inlined
def _collect(
    sweep: Sweep, part: int, other: int, row: int, number: int, stop: int, ahead: Array, stride: int
) -> tuple[int, int]:
    """Collect the part's moves to the words of a front, the other part's, from ``number`` on, until the batch
    is full or ``stop`` is reached; return how many moves there are, and the next number.

    ``row`` says whose front it is. What each move needs of ``ahead``, ``stride`` elements a word, is on its
    way then.
    """
    scratch, found = sweep.scratch, room_of(sweep.scratch, part)
    mover = sweep.attacking if row == DEFENDERS else 1 - sweep.attacking
    live, which = scratch.live[part, 1 - row], ALL_MOVES if other == part else CROSSING
    entries = int64(0)
    while number < stop and entries < BATCH:
        before = entries
        word, bits = int64(scratch.front_word[row, number]), scratch.front_bits[row, number]
        entries = all_origins(sweep.frame, word, bits, mover, row == ATTACKERS, which, live, found, entries)
        for entry in range(before, entries):
            prefetch(ahead, found.word[entry] * stride)
        number += 1
    return entries, number


@kernel
def _reach_back(sweep: Sweep, part: int, other: int) -> None:
    """Find the part's wanted positions with a move to what another part, or itself, has caught last."""
    scratch, found, wanted = sweep.scratch, room_of(sweep.scratch, part), sweep.sets.wanted
    words, masks = found.word, found.bits
    number = scratch.begin[other]
    stop = number + scratch.front[other, DEFENDERS]
    while number < stop:
        entries, number = _collect(sweep, part, other, DEFENDERS, number, stop, wanted, 1)
        count = int64(0)
        for entry in range(entries):
            word = words[entry]
            bits = masks[entry] & wanted[word]
            words[count] = word
            masks[count] = bits
            count += bits != ZERO
        for entry in range(count):
            find_candidates(scratch, part, ATTACKERS, words[entry], masks[entry])


@kernel
def _take_moves(sweep: Sweep, part: int, other: int) -> None:
    """Count down the part's moves to what another part, or itself, has assigned last; find the ready
    positions without a move left."""
    scratch, found, sets = sweep.scratch, room_of(sweep.scratch, part), sweep.sets
    number = scratch.begin[other]
    stop = number + scratch.front[other, ATTACKERS]
    while number < stop:
        entries, number = _collect(sweep, part, other, ATTACKERS, number, stop, sets.left, 64)
        for entry in range(entries):
            word = found.word[entry]
            lost = count_down(sets.left, word * 64, found.bits[entry])
            if lost:
                lost &= sets.ready[word]
                if lost:
                    find_candidates(scratch, part, DEFENDERS, word, lost)


@kernel
def _take_exits(sweep: Sweep, part: int, number: int) -> None:
    """Find the part's attacking positions with an exit of a level, and its defending ones without move left
    that have waited for it."""
    exits, sets, alive = sweep.agenda.exits, sweep.sets, sweep.alive
    stop = exits.start[number + 1]
    for event in range(exits.start[number], stop):
        side, word, _ = place_of(sweep.frame, int64(exits.node[min(event + 12, stop - 1)]))
        if side == sweep.attacking:
            prefetch(sets.wanted, word)
        else:
            prefetch(sets.left, word * 64)
        side, word, bit = place_of(sweep.frame, int64(exits.node[event]))
        if part_of(sweep.frame, sweep.scratch, word) != part:
            continue
        if side == sweep.attacking:
            if sets.wanted[word] & BIT[bit]:
                find_candidates(sweep.scratch, part, ATTACKERS, word, BIT[bit])
        elif alive[word] & BIT[bit]:
            sets.ready[word] |= BIT[bit]
            if sets.left[word * 64 + bit] == 0:
                find_candidates(sweep.scratch, part, DEFENDERS, word, BIT[bit])


@kernel
def _take_settled(sweep: Sweep, part: int, number: int) -> int:
    """Find the part's attacking positions that were settled at a level; put its defending ones on its front
    and return their number of words there."""
    scratch, settled = sweep.scratch, sweep.agenda.settled
    front_word, front_bits = scratch.front_word[DEFENDERS], scratch.front_bits[DEFENDERS]
    first = front = scratch.begin[part]
    for event in range(settled.start[number], settled.start[number + 1]):
        side, word, bit = place_of(sweep.frame, int64(settled.node[event]))
        if part_of(sweep.frame, scratch, word) != part:
            continue
        if side == sweep.attacking:
            find_candidates(scratch, part, ATTACKERS, word, BIT[bit])
        elif front > first and front_word[front - 1] == word:
            front_bits[front - 1] |= BIT[bit]
        else:
            front_word[front] = word
            front_bits[front] = BIT[bit]
            front += 1
    return front - first


@inlined
def _write_apart(results: SweepResults, first: int, bits: Word, code: int, ply: int) -> None:
    """Write one value and depth to all positions in ``bits`` of the word that starts at ``first``, and touch
    no other: somebody else may be writing to these."""
    while bits:
        at = first + lowest(bits)
        bits &= bits - ONE
        results.value[at] = code
        results.depth[at] = ply


@inlined
def _record_front(sweep: Sweep, row: int, start: int, stop: int, level: int) -> None:
    """Write value and depth of a level to the positions on the front from ``start`` to ``stop`` - 1."""
    scratch, sets, results = sweep.scratch, sweep.sets, sweep.results
    side = sweep.attacking if row == ATTACKERS else 1 - sweep.attacking
    key = level >> TIME_BITS
    code = key if sweep.attacking == 0 else 255 - key
    for number in range(start, stop):
        _prefetch_record(results, side, scratch.front_word[row, min(number + 8, stop - 1)])
        word, bits = scratch.front_word[row, number], scratch.front_bits[row, number]
        if row == ATTACKERS:
            sets.wanted[word] &= ~bits
        else:
            sets.ready[word] &= ~bits
            sets.caught[word] |= bits
        first = results.starts[side] + word * 64
        if sweep.shared:
            _write_apart(results, first, bits, code, level & TIME_MASK)
        else:
            sets.changed[side, word] |= put(results.value, first, bits, code)
            sets.changed[side, word] |= put(results.depth, first, bits, level & TIME_MASK)


@kernel
def find_part(sweep: Sweep, part: int) -> None:
    """The first half of a level: find what the part's moves to the front make candidates.

    All parts have to be through before any takes the second half.
    """
    for other in range(len(sweep.scratch.front)):
        _reach_back(sweep, part, other)
        _take_moves(sweep, part, other)


@kernel
def take_part(sweep: Sweep, stand: Stand, part: int) -> None:
    """The second half of a level: events, and then the part's candidates become its front."""
    scratch, begin = sweep.scratch, sweep.scratch.begin[part]
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
    """The stand from which the next level is taken: the one after ``level`` if there is a front."""
    if front_size(sweep.scratch) > 0:
        level += 1
    else:
        level = min(level_at(sweep.agenda.exits, exits), level_at(sweep.agenda.settled, settled))
        if level >= sweep.high << TIME_BITS:
            return Stand(NEVER, exits, settled, last)
    ply = level & TIME_MASK
    sweep.scratch.deepest[0] = max(sweep.scratch.deepest[0], ply)
    return Stand(level if ply <= MAX_DEPTH else NEVER, exits, settled, last)


@jit
def begin_sweep(sweep: Sweep, low: int) -> Stand:
    """Begin to assign all positions that the attacker can force to values with keys from ``low`` on."""
    sweep.sets.caught[:] = ZERO
    mark_live(sweep.sets.wanted, sweep.alive, sweep.scratch.live[0])
    share_out(sweep.frame, sweep.scratch)
    sweep.scratch.front[:] = 0
    exits = int64(np.searchsorted(sweep.agenda.exits.level, low << TIME_BITS))
    settled = int64(np.searchsorted(sweep.agenda.settled.level, low << TIME_BITS))
    return _with_level(sweep, exits, settled, int64(0), int64(0))


@jit
def next_level(sweep: Sweep, stand: Stand) -> Stand:
    """Go on after all parts are through with a level."""
    level, exits, settled, last = stand
    for part in range(len(sweep.scratch.front)):
        if sweep.scratch.news[part]:
            last = level >> TIME_BITS
    exits += level_at(sweep.agenda.exits, exits) == level
    settled += level_at(sweep.agenda.settled, settled) == level
    return _with_level(sweep, exits, settled, level, last)


@jit
def take_levels(sweep: Sweep, stand: Stand, limit: int) -> Stand:
    """Take level after level, one part after the other, up to one that so many words lead to."""
    parts = len(sweep.scratch.front)
    while stand.level < NEVER and front_size(sweep.scratch) < limit:
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
