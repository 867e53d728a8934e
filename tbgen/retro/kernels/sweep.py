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

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbgen.accelerate import inlined, int64, kernel
from tbgen.retro.geometry import BIT
from tbgen.retro.kernels.bits import ONE, ZERO, Codes, Ints, Plies, Word, Words, lowest, prefetch
from tbgen.retro.kernels.events import TIME_BITS, TIME_MASK, Agenda, Events, level_at
from tbgen.retro.kernels.frame import Frame
from tbgen.retro.kernels.moves import Origins, origins
from tbgen.retro.kernels.resets import OneExit

READY = 7
"""Slice of ``Sets.waiting`` after those of the counters."""

MAX_DEPTH = 65000
"""Greatest depth in plies that the solver can tell from NO_EXIT and keep in 16 bits, with room to spare."""

BATCH = 384
"""Origins collected before they are worked off, so that the memory has time to fetch what they need."""


class Sets(NamedTuple):
    """The sets of one attacker as they stand when a sweep begins or ends."""

    wanted: Words
    """uint64 (words,), attacker to move: positions that may still be assigned in this layer."""
    waiting: Words
    """uint64 (words, 8), defender to move, one cache line per word: the bit-sliced numbers of quiet moves to
    positions that are not assigned, and (``READY``) the positions that may still be assigned in this layer
    and have no exit that the sweep has not reached."""
    caught: Words
    """uint64 (words,), defender to move: positions assigned in this sweep."""
    changed: Words
    """uint64 (2, words), White to move first: positions whose value or depth a sweep has changed."""


class Results(NamedTuple):
    """Where values and depths are written: the position of a slot has them at ``starts[side] + slot``."""

    value: Codes
    depth: Plies
    starts: Ints
    """int64 (2,)."""


class Scratch(NamedTuple):
    """Working memory of one attacker's sweeps."""

    found: Words
    """uint64 (2, words): candidates of the ply; row 0 attacker to move, row 1 defender; empty between
    plies."""
    marks: Words
    """uint64 (2, words / 64): words of ``found`` that may not be empty."""
    tops: Words
    """uint64 (2, words / 4096): words of ``marks`` that are not empty."""
    front_word: NDArray[np.int32]
    """int32 (2, 2 * words): words assigned in the last ply."""
    front_bits: Words
    """uint64 (2, 2 * words)."""
    live: Words
    """uint64 (2, words / 64): words with a position that is still wanted (row 0) or waiting (row 1) when the
    sweep begins."""
    origins: Origins
    """Room for a batch of words."""
    exit: OneExit
    deepest: Ints
    """int64 (1,): greatest depth ever assigned; more than ``MAX_DEPTH`` if depths do not fit."""


@inlined
def _record(results: Results, first: int, bits: Word, code: int, ply: int) -> Word:
    """Write one value and depth to all positions in ``bits`` of the word that starts at ``first``; return
    those that had another value or depth before."""
    value, depth = results.value, results.depth
    changed = ZERO
    while bits:
        bit = lowest(bits)
        bits &= bits - ONE
        at = first + bit
        if value[at] != code or depth[at] != ply:
            value[at] = code
            depth[at] = ply
            changed |= BIT[bit]
    return changed


@inlined
def _place_of(events: Events, number: int, words: int) -> tuple[int, int, Word]:
    """Side to move, word and bit of an event."""
    node = int64(events.node[number])
    side = 0 if node < words * 64 else 1
    return side, (node >> 6) - side * words, BIT[node & 63]


@inlined
def _prefetch_record(results: Results, side: int, word: int) -> None:
    first = results.starts[side] + int64(word) * 64
    prefetch(results.value, first)
    prefetch(results.depth, first)
    prefetch(results.depth, first + 32)


@inlined
def _find(scratch: Scratch, row: int, word: int, bits: Word) -> None:
    """Add candidates of the ply."""
    scratch.found[row, word] |= bits
    mark = word >> 6
    if scratch.marks[row, mark] == ZERO:
        scratch.tops[row, mark >> 6] |= BIT[mark & 63]
    scratch.marks[row, mark] |= BIT[word & 63]


@kernel
def _reach_back(frame: Frame, attacking: int, sets: Sets, scratch: Scratch, front: int) -> None:
    """Find the wanted positions with a move to the ``front`` positions caught last."""
    live, found = scratch.live[0], scratch.origins
    words, masks = found.word, found.bits
    number = int64(0)
    while number < front:
        entries = int64(0)
        while number < front and entries < BATCH:
            before = entries
            entries = origins(
                frame, scratch.front_word[1, number], scratch.front_bits[1, number], attacking, False, live,
                found, entries,
            )  # fmt: skip
            for entry in range(before, entries):
                prefetch(sets.wanted, words[entry])
            number += 1
        count = int64(0)
        for entry in range(entries):
            word = words[entry]
            bits = masks[entry] & sets.wanted[word]
            words[count] = word
            masks[count] = bits
            count += bits != ZERO
        for entry in range(count):
            _find(scratch, 0, words[entry], masks[entry])


@inlined
def _count_down(waiting: Words, word: int, bits: Word) -> Word:
    """Take one move from every position in ``bits``; return those that are ready and have none left.

    Positions that are not ready may have had none left before: their counters mean nothing.
    """
    borrow, left = bits, ZERO
    for number in range(READY):
        old = waiting[word, number]
        new = old ^ borrow
        waiting[word, number] = new
        borrow &= ~old
        left |= new
    return bits & ~left & waiting[word, READY]


@kernel
def _take_moves(frame: Frame, defending: int, sets: Sets, scratch: Scratch, front: int) -> None:
    """Count down the moves to the ``front`` positions assigned last; find the ready positions without a move
    left."""
    live, found = scratch.live[1], scratch.origins
    words, masks = found.word, found.bits
    number = int64(0)
    while number < front:
        entries = int64(0)
        while number < front and entries < BATCH:
            before = entries
            entries = origins(
                frame, scratch.front_word[0, number], scratch.front_bits[0, number], defending, True, live,
                found, entries,
            )  # fmt: skip
            for entry in range(before, entries):
                prefetch(sets.waiting, words[entry] * (READY + 1))
            number += 1
        for entry in range(entries):
            word = words[entry]
            lost = _count_down(sets.waiting, word, masks[entry])
            if lost:
                _find(scratch, 1, word, lost)


@inlined
def _is_out(waiting: Words, word: int, bit: Word) -> bool:
    """Whether the position has no move left."""
    left = ZERO
    for number in range(READY):
        left |= waiting[word, number]
    return left & bit == ZERO


@inlined
def _gather(scratch: Scratch, row: int, count: int) -> int:
    """Move the candidates of a row to the front lists from place ``count`` on; return the new count."""
    for top in range(scratch.tops.shape[1]):
        tops = scratch.tops[row, top]
        if tops == ZERO:
            continue
        scratch.tops[row, top] = ZERO
        while tops:
            mark = top * 64 + lowest(tops)
            tops &= tops - ONE
            marks = scratch.marks[row, mark]
            scratch.marks[row, mark] = ZERO
            while marks:
                word = mark * 64 + lowest(marks)
                marks &= marks - ONE
                scratch.front_word[row, count] = word
                scratch.front_bits[row, count] = scratch.found[row, word]
                scratch.found[row, word] = ZERO
                count += 1
    return count


@kernel
def mark_live(sets: Sets, alive: Words, live: Words) -> None:
    """Set ``live``; see ``Scratch``."""
    live[:] = ZERO
    for word in range(len(alive)):
        if sets.wanted[word]:
            live[0, word >> 6] |= BIT[word & 63]
        if alive[word]:
            live[1, word >> 6] |= BIT[word & 63]


@kernel
def _take_exits(
    attacking: int, exits: Events, level: int, sets: Sets, alive: Words, scratch: Scratch
) -> None:
    """Find the attacker's positions with an exit of a level, and the defender's without move left that have
    waited for it."""
    words, stop = len(alive), exits.start[level + 1]
    for number in range(exits.start[level], stop):
        side, word, _ = _place_of(exits, min(number + 12, stop - 1), words)
        if side == attacking:
            prefetch(sets.wanted, word)
        else:
            prefetch(sets.waiting, word * (READY + 1))
        side, word, bit = _place_of(exits, number, words)
        if side == attacking:
            if sets.wanted[word] & bit:
                _find(scratch, 0, word, bit)
        elif alive[word] & bit:
            sets.waiting[word, READY] |= bit
            if _is_out(sets.waiting, word, bit):
                _find(scratch, 1, word, bit)


@kernel
def _take_settled(attacking: int, settled: Events, level: int, words: int, scratch: Scratch) -> int:
    """Find the attacker's positions that were settled at a level; put the defender's on the front list and
    return their number of words there."""
    front_word, front_bits = scratch.front_word[1], scratch.front_bits[1]
    front = int64(0)
    for number in range(settled.start[level], settled.start[level + 1]):
        side, word, bit = _place_of(settled, number, words)
        if side == attacking:
            _find(scratch, 0, word, bit)
        elif front > 0 and front_word[front - 1] == word:
            front_bits[front - 1] |= bit
        else:
            front_word[front] = word
            front_bits[front] = bit
            front += 1
    return front


@kernel
def sweep(
    frame: Frame,
    attacking: int,
    agenda: Agenda,
    low: int,
    high: int,
    sets: Sets,
    alive: Words,
    scratch: Scratch,
    results: Results,
) -> int:
    """Assign all positions that the attacker can force to values with keys in ``low <= key < high``.

    ``attacking`` is the attacker, 0 White or 1 Black. ``alive`` uint64 (words,) are the positions with the
    defender to move that are still in the layers. Values and depths go to ``results``, and ``sets.changed``
    tells where they differ from what was there. Returns the last key that was assigned to a position, 0 if
    none.
    """
    front_word, front_bits = scratch.front_word, scratch.front_bits
    exits, settled = agenda.exits, agenda.settled
    exit_at = int64(np.searchsorted(exits.level, low << TIME_BITS))
    settled_at = int64(np.searchsorted(settled.level, low << TIME_BITS))
    defending = 1 - attacking
    level, last = int64(0), int64(0)
    front_wanted, front_caught = int64(0), int64(0)
    mark_live(sets, alive, scratch.live)
    while True:
        if front_wanted + front_caught > 0:
            level += 1
        else:
            level = min(level_at(exits, exit_at), level_at(settled, settled_at))
            if level >= high << TIME_BITS:
                return last
        key, ply = level >> TIME_BITS, level & TIME_MASK
        scratch.deepest[0] = max(scratch.deepest[0], ply)
        if ply > MAX_DEPTH:
            return last
        _reach_back(frame, attacking, sets, scratch, front_caught)
        _take_moves(frame, defending, sets, scratch, front_wanted)
        front_caught = 0
        if level_at(exits, exit_at) == level:
            _take_exits(attacking, exits, exit_at, sets, alive, scratch)
            exit_at += 1
        if level_at(settled, settled_at) == level:
            front_caught = _take_settled(attacking, settled, settled_at, frame.words, scratch)
            settled_at += 1
        known = front_caught
        front_caught = _gather(scratch, 1, known)
        front_wanted = _gather(scratch, 0, int64(0))
        if front_wanted + front_caught > known:
            last = key
        code = key if attacking == 0 else 255 - key
        for number in range(known, front_caught):
            _prefetch_record(results, defending, front_word[1, min(number + 8, front_caught - 1)])
            word, bits = front_word[1, number], front_bits[1, number]
            sets.waiting[word, READY] &= ~bits
            sets.caught[word] |= bits
            first = results.starts[defending] + word * 64
            sets.changed[defending, word] |= _record(results, first, bits, code, ply)
        for number in range(front_wanted):
            _prefetch_record(results, attacking, front_word[0, min(number + 8, front_wanted - 1)])
            word, bits = front_word[0, number], front_bits[0, number]
            sets.wanted[word] &= ~bits
            first = results.starts[attacking] + word * 64
            sets.changed[attacking, word] |= _record(results, first, bits, code, ply)
