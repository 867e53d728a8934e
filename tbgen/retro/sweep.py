"""One side's attractor, value by value and ply by ply: the sweep.

The *attacker* drives play to the values it likes; *keys* number the values from the attacker's best: the
value code for White, 255 minus it for Black. A sweep over a range of keys assigns (value, depth) to

- a position with the attacker to move as soon as one move reaches an assigned position (or an exit),
- a position with the *defender* to move once every quiet move leads to an assigned position and no exit is
  better for the defender than the value swept; a counter per position tells how many moves are left,

levels being taken in the order (key, depth), so every position gets the attacker's best value in the fewest
plies the attacker can force against the longest defence (depth to goal, section 5 of docs/theory.md).

Exits, and positions whose fresh value was settled in earlier layers, enter as *events*, sorted by key and
time.
"""

from typing import NamedTuple

import numpy as np

from tbgen.accelerate import inlined, jit, kernel
from tbgen.retro.bits import ONE, ZERO, lowest
from tbgen.retro.geometry import BIT
from tbgen.retro.moves import MAX_ORIGINS, origins
from tbgen.retro.resets import NO_EXIT

_KEY_SHIFT = np.uint64(56)
_TIME_SHIFT = np.uint64(40)
_TIME_MASK = np.uint64(0xFFFF)
_SETTLED = np.uint64(1 << 39)
_NODE_MASK = np.uint64((1 << 39) - 1)


class Sets(NamedTuple):
    """The sets of one attacker as they stand when a sweep begins or ends, uint64 (words,) but for
    ``left``."""

    wanted: np.ndarray
    """Attacker to move: positions that may still be assigned in this layer."""
    ready: np.ndarray
    """Defender to move: positions that may still be assigned in this layer and have no exit that the sweep
    has not reached."""
    caught: np.ndarray
    """Defender to move: positions assigned in this sweep."""
    left: np.ndarray
    """uint8 (64 * words,): defender to move: quiet moves to positions that are not assigned."""


class Scratch(NamedTuple):
    """Working memory of one attacker's sweeps."""

    found: np.ndarray
    """uint64 (2, words): candidates of the ply; row 0 attacker to move, row 1 defender; empty between
    plies."""
    touched: np.ndarray
    """int32 (2, words): which words of ``found`` are not empty."""
    front_word: np.ndarray
    """int32 (2, 2 * words): words assigned in the last ply."""
    front_bits: np.ndarray
    """uint64 (2, 2 * words)."""
    origin_word: np.ndarray
    """int64 (MAX_ORIGINS,)."""
    origin_bits: np.ndarray
    """uint64 (MAX_ORIGINS,)."""
    squares: np.ndarray
    """int64 (8,)."""


def make_sets(words: int) -> Sets:
    """Return empty sets for one attacker."""
    return Sets(
        np.zeros(words, np.uint64),
        np.zeros(words, np.uint64),
        np.zeros(words, np.uint64),
        np.zeros(64 * words, np.uint8),
    )


def make_scratch(words: int) -> Scratch:
    """Return working memory for one attacker."""
    return Scratch(
        np.zeros((2, words), np.uint64),
        np.empty((2, words), np.int32),
        np.empty((2, 2 * words), np.int32),
        np.empty((2, 2 * words), np.uint64),
        np.empty(MAX_ORIGINS, np.int64),
        np.empty(MAX_ORIGINS, np.uint64),
        np.empty(8, np.int64),
    )


@inlined
def event(attacker, value, time, settled, node):
    """Pack an event: ``node`` (its slot, plus the phase size if Black is to move) has ``value`` at
    ``time``."""
    key = value if attacker == 0 else 255 - value
    word = np.uint64(key) << _KEY_SHIFT | np.uint64(time) << _TIME_SHIFT | np.uint64(node)
    return word | _SETTLED if settled else word


@inlined
def event_key(entry):
    """The key of an event, 0..255."""
    return np.int64(entry >> _KEY_SHIFT)


@inlined
def event_node(entry):
    """The node of an event."""
    return np.int64(entry & _NODE_MASK)


@inlined
def is_settled(entry):
    """Whether the event is a position settled in an earlier layer (else an exit)."""
    return entry & _SETTLED != ZERO


_FEW = 512


@jit
def sort_events(events):
    """Return events, given in the order of their nodes, sorted by (key, time, node).

    A stable radix sort on key and time: the library's quicksort is slow on so few distinct keys.
    """
    if len(events) < _FEW:
        events.sort()
        return events
    spare = np.empty_like(events)
    for digit in (40, 48, 56):
        shift = np.uint64(digit)
        ends = np.zeros(257, np.int64)
        for entry in events:
            ends[np.int64(entry >> shift & np.uint64(0xFF)) + 1] += 1
        if ends.max() == len(events):
            continue
        for number in range(256):
            ends[number + 1] += ends[number]
        for entry in events:
            number = np.int64(entry >> shift & np.uint64(0xFF))
            spare[ends[number]] = entry
            ends[number] += 1
        events, spare = spare, events
    return events


@jit
def exit_events(attacker, nodes, ex):
    """Return the sorted events of all exits of the phase: an attacker's exit counts with its smallest depth,
    a defender's with its largest, one ply after it.

    ``nodes`` is the phase size.
    """
    count = 0
    for node in range(2 * nodes):
        if ex.nearest[node] != NO_EXIT:
            count += 1
    events = np.empty(count, np.uint64)
    count = 0
    for node in range(2 * nodes):
        if ex.nearest[node] != NO_EXIT:
            side = 0 if node < nodes else 1
            depth = ex.nearest[node] if side == attacker else ex.farthest[node]
            events[count] = event(attacker, np.int64(ex.value[node]), np.int64(depth) + 1, False, node)
            count += 1
    return sort_events(events)


@inlined
def _record(value, depth, first, bits, code, ply):
    """Write one value and depth to all positions in ``bits`` of the word that starts at ``first``; return
    those that had another value or depth before."""
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


@kernel
def _reach_back(fr, attacker, sets, scratch, front):
    """Add to row 0 of ``found`` the wanted positions with a move to the ``front`` positions caught last."""
    found, touched = scratch.found[0], scratch.touched[0]
    count = 0
    for number in range(front):
        entries = origins(
            fr, scratch.front_word[1, number], scratch.front_bits[1, number], attacker, False, sets.wanted,
            scratch.origin_word, scratch.origin_bits, scratch.squares,
        )  # fmt: skip
        for entry in range(entries):
            word = scratch.origin_word[entry]
            if found[word] == ZERO:
                touched[count] = word
                count += 1
            found[word] |= scratch.origin_bits[entry]
    return count


@kernel
def _take_moves(fr, defender, alive, sets, scratch, front):
    """Count down the moves to the ``front`` positions assigned last; add to row 1 of ``found`` the ready
    positions without a move left."""
    found, touched = scratch.found[1], scratch.touched[1]
    count = 0
    for number in range(front):
        entries = origins(
            fr, scratch.front_word[0, number], scratch.front_bits[0, number], defender, True, alive,
            scratch.origin_word, scratch.origin_bits, scratch.squares,
        )  # fmt: skip
        for entry in range(entries):
            word = scratch.origin_word[entry]
            bits = scratch.origin_bits[entry]
            first = word * 64
            lost = ZERO
            while bits:
                bit = lowest(bits)
                sets.left[first + bit] -= 1
                if sets.left[first + bit] == 0:
                    lost |= bits & (ZERO - bits)
                bits &= bits - ONE
            lost &= sets.ready[word]
            if lost:
                if found[word] == ZERO:
                    touched[count] = word
                    count += 1
                found[word] |= lost
    return count


@kernel
def sweep(fr, attacker, events, low, high, sets, alive, scratch, value, depth, changed, starts):
    """Assign all positions that the attacker can force to values with keys in ``low <= key < high``.

    ``alive`` uint64 (words,): positions with the defender to move that are still in the layers. ``value``
    uint8 and ``depth`` uint16 receive the results at ``starts[side] + slot``; ``changed`` uint64 (2, words)
    tells where they differ from what was there. Returns the last key that was assigned to a
    position, 0 if none.
    """
    found, touched = scratch.found, scratch.touched
    front_word, front_bits = scratch.front_word, scratch.front_bits
    nodes = fr.words * 64
    defender = 1 - attacker
    at = np.searchsorted(events, np.uint64(low) << _KEY_SHIFT)
    key, ply, last = np.int64(0), np.int64(0), np.int64(0)
    front_wanted, front_caught = np.int64(0), np.int64(0)
    while True:
        if front_wanted + front_caught > 0:
            ply += 1
        elif at < len(events) and event_key(events[at]) < high:
            key = event_key(events[at])
            ply = np.int64(events[at] >> _TIME_SHIFT & _TIME_MASK)
        else:
            return last
        code = key if attacker == 0 else 255 - key
        wins = _reach_back(fr, attacker, sets, scratch, front_caught)
        losses = _take_moves(fr, defender, alive, sets, scratch, front_wanted)
        front_caught = 0
        now = np.uint64(key) << np.uint64(16) | np.uint64(ply)
        while at < len(events) and events[at] >> _TIME_SHIFT == now:
            entry = events[at]
            at += 1
            node = event_node(entry)
            side = 0 if node < nodes else 1
            word = (node - side * nodes) >> 6
            bit = BIT[node & 63]
            if side == attacker:
                if not is_settled(entry):
                    bit &= sets.wanted[word]
                if bit:
                    if found[0, word] == ZERO:
                        touched[0, wins] = word
                        wins += 1
                    found[0, word] |= bit
            elif is_settled(entry):
                if front_caught > 0 and front_word[1, front_caught - 1] == word:
                    front_bits[1, front_caught - 1] |= bit
                else:
                    front_word[1, front_caught] = word
                    front_bits[1, front_caught] = bit
                    front_caught += 1
            elif alive[word] & bit:
                sets.ready[word] |= bit
                if sets.left[node - side * nodes] == 0:
                    if found[1, word] == ZERO:
                        touched[1, losses] = word
                        losses += 1
                    found[1, word] |= bit
        if wins + losses > 0:
            last = key
        for number in range(losses):
            word = touched[1, number]
            bits = found[1, word]
            found[1, word] = ZERO
            sets.ready[word] &= ~bits
            sets.caught[word] |= bits
            front_word[1, front_caught] = word
            front_bits[1, front_caught] = bits
            front_caught += 1
            changed[defender, word] |= _record(value, depth, starts[defender] + word * 64, bits, code, ply)
        for number in range(wins):
            word = touched[0, number]
            bits = found[0, word]
            found[0, word] = ZERO
            sets.wanted[word] &= ~bits
            front_word[0, number] = word
            front_bits[0, number] = bits
            changed[attacker, word] |= _record(value, depth, starts[attacker] + word * 64, bits, code, ply)
        front_wanted = wins
