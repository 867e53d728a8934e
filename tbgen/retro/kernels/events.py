"""Sweep events: exits, and positions settled in earlier layers, in the order in which they enter the sweeps.

An event is a position that enters a sweep at its *level*, which is key and depth in plies as one number.
There are many events and few levels, so the events are stored level by level, in four bytes each.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbgen.compiler.jit import inlined, int64, jit, kernel
from tbgen.retro.geometry import BIT
from tbgen.retro.kernels.best_exits import Exits, without_exit
from tbgen.retro.kernels.numbering import Numbering, number_of, numbering, with_capacity
from tbgen.retro.kernels.words import Codes, Ints, Plies, Words, bits_of, popcount, within

DEPTH_BITS = 16
DEPTH_MASK = (1 << DEPTH_BITS) - 1
NEVER = int64(256 << DEPTH_BITS)
"""A number greater than every level."""
_INITIAL_CAPACITY = 64
"""Number of levels for which there is memory at first."""
_DEPARTED_SHARE = 8
"""The exits of departed positions are removed once one in this number of positions has left the layers."""


class Events(NamedTuple):
    """The nodes of events (slot, plus the phase size if Black is to move), level by level."""

    level: Ints
    """int64 (levels,): key << 16 | depth in plies, ascending."""
    start: Ints
    """int64 (levels + 1,): the nodes of level i have indices ``start[i]`` to ``start[i + 1]`` - 1."""
    node: NDArray[np.uint32]
    """uint32: nodes, perhaps followed by unused elements. They ascend within a level, so that a sweep reaches
    each word once."""


class Agenda(NamedTuple):
    """All events of one attacker."""

    exits: Events
    """Exits, perhaps also of positions that have left the layers."""
    settled: Events
    """Positions that have left the layers with fresh values that later sweeps can still reach."""
    alive: int
    """Number of positions in the layers when ``exits`` was last purged."""


class Goals(NamedTuple):
    """Values and depths of the positions of a phase."""

    value: Codes
    depth: tuple[Plies, Plies]
    """Depths with White and with Black to move; empty if depths are not computed, which counts as 0."""
    starts: Ints
    """int64 (2,): index of the first slot of the phase in ``value`` and ``depth``, by side to move."""
    more: int
    """Number of plies to add to the depths."""


@inlined
def level_of(attacking: int, value: int, depth: int) -> int:
    """The level of a value and depth for the attacker ``attacking`` (0 White, 1 Black)."""
    key = int64(value) if attacking == 0 else 255 - int64(value)
    return key << DEPTH_BITS | int64(depth)


@inlined
def level_at(events: Events, number: int) -> int:
    """The level with index ``number``, ``NEVER`` after the last."""
    return events.level[number] if number < len(events.level) else NEVER


@jit
def no_events() -> Events:
    """Return an empty list of events."""
    return Events(np.empty(0, np.int64), np.zeros(1, np.int64), np.empty(0, np.uint32))


class Count(NamedTuple):
    """Events by level, while they are counted and sorted into levels."""

    levels: Numbering
    place: Ints
    """int64 (levels,): number of events so far in the counting pass, then the index of the next event."""
    node: NDArray[np.uint32]
    """Receives the nodes of the events; empty in the counting pass."""


@kernel
def _count_or_store(
    attacking: int, mask: Words, side: int, start: int, goals: Goals, top: int, count: Count
) -> int:
    """Count the positions of ``mask`` below the level ``top``; store them unless this is the counting pass.

    ``mask`` is uint64 (2, words); only positions with ``side`` to move from word ``start`` on are visited.
    Return the number of words, or the first word for which the capacity of the levels may be too small.
    """
    words, first, depth = mask.shape[1], goals.starts[side], goals.depth[side]
    for word in range(start, words):
        bits = mask[side, word]
        if bits and count.levels.length[0] + 64 > len(count.levels.key):
            return word
        for bit in bits_of(bits):
            slot = word * 64 + bit
            plies = depth[first + slot] + goals.more if len(depth) else int64(0)
            level = level_of(attacking, goals.value[first + slot], plies)
            if level < top:
                number = number_of(count.levels, np.uint64(level))
                if len(count.node):
                    count.node[count.place[number]] = side * words * 64 + slot
                count.place[number] += 1
    return words


@jit
def events_of(attacking: int, mask: Words, goals: Goals, high: int) -> Events:
    """Return the events of those positions of ``mask``, uint64 (2, words), whose keys are below ``high``."""
    # No event has the level NEVER, which only occupies the number 0.
    levels, counts = numbering(_INITIAL_CAPACITY, np.uint64(NEVER)), np.zeros(_INITIAL_CAPACITY, np.int64)
    words, top, nothing = mask.shape[1], high << DEPTH_BITS, np.empty(0, np.uint32)
    for side in range(2):
        word = int64(0)
        while word < words:
            levels = with_capacity(levels, 64)
            longer = np.zeros(len(levels.key), np.int64)
            longer[: len(counts)] = counts
            counts = longer
            word = _count_or_store(attacking, mask, side, word, goals, top, Count(levels, counts, nothing))
    length = levels.length[0]
    order = np.argsort(levels.key[1:length]) + 1
    level = np.empty(length - 1, np.int64)
    start, place = np.zeros(length, np.int64), np.empty(length, np.int64)
    for at in range(length - 1):
        number = order[at]
        level[at] = levels.key[number]
        place[number] = start[at]
        start[at + 1] = start[at] + counts[number]
    count = Count(with_capacity(levels, 64), place, np.empty(start[length - 1], np.uint32))
    for side in range(2):
        _count_or_store(attacking, mask, side, int64(0), goals, top, count)
    return Events(level, start, count.node)


@kernel
def _mark_exits(exits: Exits, among: Words, mask: Words) -> None:
    for word in range(mask.size):
        mask[word] = among[word] & ~without_exit(exits, word * 64)


@jit
def with_exit(exits: Exits, among: Words) -> Words:
    """Return the positions of ``among`` that have an exit; both are uint64 (2, words)."""
    mask = np.empty_like(among)
    _mark_exits(exits, among.reshape(-1), mask.reshape(-1))
    return mask


@jit
def exit_events(attacking: int, mask: Words, exits: Exits, high: int) -> Events:
    """Return the events of exits with keys below ``high``, of the positions ``mask``, uint64 (2, words).

    The depth of an event is one ply more than the smallest depth of an attacker's exit or the greatest depth
    of a defender's exit.
    """
    white, black = exits.farthest, exits.nearest
    if attacking == 0:
        white, black = black, white
    starts = np.array([0, mask.shape[1] * 64])
    goals = Goals(exits.value, (white, black), starts, int64(1))
    return events_of(attacking, _below(attacking, mask, exits, high), goals, high)


@kernel
def _mark_below(exits: Exits, least: int, most: int, mask: Words) -> None:
    for word in range(len(mask)):
        if mask[word]:
            mask[word] &= within(exits.value, word * 64, least, most)


@jit
def _below(attacking: int, mask: Words, exits: Exits, high: int) -> Words:
    """Return the positions of ``mask``, uint64 (2, words), whose exits have keys below ``high`` > 0."""
    least, most = (int64(0), high - 1) if attacking == 0 else (256 - high, int64(255))
    below = mask.copy()
    _mark_below(exits, least, most, below.reshape(-1))
    return below


@jit
def _within(events: Events, first: int, last: int) -> Events:
    """Return the events with keys in the half-open range from ``first`` to ``last``."""
    begin = np.searchsorted(events.level, first << DEPTH_BITS)
    end = np.searchsorted(events.level, last << DEPTH_BITS)
    return Events(events.level[begin:end], events.start[begin : end + 1], events.node)


@jit
def merged(one: Events, other: Events) -> Events:
    """Return the union of two lists of events."""
    levels = len(one.level) + len(other.level)
    total = one.start[-1] - one.start[0] + other.start[-1] - other.start[0]
    both = Events(np.empty(levels, np.int64), np.zeros(levels + 1, np.int64), np.empty(total, np.uint32))
    count, at, mine, theirs, here, there = 0, int64(0), 0, 0, one.start[0], other.start[0]
    while mine < len(one.level) or theirs < len(other.level):
        level = min(level_at(one, mine), level_at(other, theirs))
        mine += level_at(one, mine) == level
        theirs += level_at(other, theirs) == level
        # The nodes of a level ascend.
        while here < one.start[mine] or there < other.start[theirs]:
            at_end = there == other.start[theirs]
            if at_end or (here < one.start[mine] and one.node[here] < other.node[there]):
                both.node[at] = one.node[here]
                here += 1
            else:
                both.node[at] = other.node[there]
                there += 1
            at += 1
        both.level[count] = level
        count += 1
        both.start[count] = at
    return Events(both.level[:count], both.start[: count + 1], both.node)


@kernel
def _thin(events: Events, alive: Words) -> int:
    """Remove in place all events of positions outside ``alive``, uint64 (2 * words,); return the number of
    remaining levels."""
    count, at, begin = 0, int64(0), events.start[0]
    events.start[0] = 0
    for number in range(len(events.level)):
        before, end = at, events.start[number + 1]
        for place in range(begin, end):
            node = events.node[place]
            if alive[node >> np.uint32(6)] & BIT[node & np.uint32(63)]:
                events.node[at] = node
                at += 1
        begin = end
        if at > before:
            events.level[count] = events.level[number]
            count += 1
            events.start[count] = at
    return count


@jit
def count_of(mask: Words) -> int:
    """Return the number of positions of ``mask``, uint64 (2, words)."""
    count = int64(0)
    for word in mask.reshape(-1):
        count += popcount(word)
    return count


@jit
def next_agenda(agenda: Agenda, settled: Events, alive: Words, first: int, last: int) -> Agenda:
    """Return the events that sweeps over the keys from ``first`` to ``last`` - 1 may reach, including the
    newly settled positions; ``alive``, uint64 (2, words), are the positions still in the layers."""
    remaining = count_of(alive)
    exits, counted = agenda.exits, agenda.alive
    if remaining * _DEPARTED_SHARE <= counted * (_DEPARTED_SHARE - 1):
        exits, counted = _within(exits, first, last), remaining
        count = _thin(exits, alive.reshape(-1))
        exits = Events(exits.level[:count], exits.start[: count + 1], exits.node)
        if 2 * exits.start[count] < len(exits.node):
            exits = Events(exits.level, exits.start, exits.node[: exits.start[count]].copy())
    before, after = _within(agenda.settled, first, last), _within(settled, first, last)
    return Agenda(exits, merged(before, after), counted)
