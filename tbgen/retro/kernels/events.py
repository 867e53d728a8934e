"""Events: exits, and positions whose fresh value was settled in earlier layers, in the order of the sweeps.

An event is a position that comes in at a *level*: key and time (plies) in one number. There are many events
and few levels, so events are kept level by level, in four bytes each.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbgen.compiler.jit import inlined, int64, jit, kernel
from tbgen.retro.geometry import BIT
from tbgen.retro.kernels.best_exits import Exits, without_exit
from tbgen.retro.kernels.numbering import Numbering, number_of, numbering, with_room
from tbgen.retro.kernels.words import Codes, Ints, Plies, Words, bits_of, popcount, within

TIME_BITS = 16
TIME_MASK = (1 << TIME_BITS) - 1
NEVER = int64(256 << TIME_BITS)
"""Above every level."""
_FEW = 64
_THIN = 8
"""Exits are looked through when one in so many positions has left the layers since the last time."""


class Events(NamedTuple):
    """Nodes (slot, plus the phase size if Black is to move) level by level."""

    level: Ints
    """int64 (levels,): key << 16 | time, rising."""
    start: Ints
    """int64 (levels + 1,): the nodes of level i are ``start[i]`` to ``start[i + 1]`` - 1."""
    node: NDArray[np.uint32]
    """uint32, with room for more; those of a level rise, so that a sweep meets no word of theirs twice."""


class Agenda(NamedTuple):
    """All events of one attacker."""

    exits: Events
    """Of positions that may have left the layers since, too."""
    settled: Events
    """Positions that have left the layers with a fresh value which sweeps still look for."""
    alive: int
    """How many positions were in the layers when the exits were looked through."""


class Goals(NamedTuple):
    """Values and depths of the positions of a phase."""

    value: Codes
    depth: tuple[Plies, Plies]
    """With White and with Black to move; empty if there are none: then all count as 0."""
    starts: Ints
    """int64 (2,): where the phase begins in ``value`` and ``depth``, by side to move."""
    more: int
    """Plies to be added to the depths."""


@inlined
def level_of(attacking: int, value: int, depth: int) -> int:
    """The level of a value and depth as the attacker ``attacking`` (0 White, 1 Black) sees it."""
    key = int64(value) if attacking == 0 else 255 - int64(value)
    return key << TIME_BITS | int64(depth)


@inlined
def level_at(events: Events, number: int) -> int:
    """The level of that number, ``NEVER`` after the last."""
    return events.level[number] if number < len(events.level) else NEVER


@jit
def no_events() -> Events:
    """Return events without any."""
    return Events(np.empty(0, np.int64), np.zeros(1, np.int64), np.empty(0, np.uint32))


class Count(NamedTuple):
    """Events by level, while they are counted and put in their places."""

    levels: Numbering
    place: Ints
    """int64 (levels,): number of events so far, then the place of the next one."""
    node: NDArray[np.uint32]
    """Room for the events; empty while they are counted."""


@kernel
def _go_through(
    attacking: int, mask: Words, side: int, start: int, goals: Goals, top: int, count: Count
) -> int:
    """Count the positions of ``mask`` uint64 (2, words) with a side to move that are below the level ``top``,
    from word ``start`` on, and put each in its place if there is room for events; return the word that there
    may be no room for in the levels, or the number of words."""
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
    """Return the events of the positions of ``mask`` uint64 (2, words) whose value and depth make a level
    below that of the key ``high``."""
    # No event is at this level, which only takes the number 0.
    levels, counts = numbering(_FEW, np.uint64(NEVER)), np.zeros(_FEW, np.int64)
    words, top, nothing = mask.shape[1], high << TIME_BITS, np.empty(0, np.uint32)
    for side in range(2):
        word = int64(0)
        while word < words:
            levels = with_room(levels, 64)
            longer = np.zeros(len(levels.key), np.int64)
            longer[: len(counts)] = counts
            counts = longer
            word = _go_through(attacking, mask, side, word, goals, top, Count(levels, counts, nothing))
    known = levels.length[0]
    order = np.argsort(levels.key[1:known]) + 1
    level = np.empty(known - 1, np.int64)
    start, place = np.zeros(known, np.int64), np.empty(known, np.int64)
    for at in range(known - 1):
        number = order[at]
        level[at] = levels.key[number]
        place[number] = start[at]
        start[at + 1] = start[at] + counts[number]
    count = Count(with_room(levels, 64), place, np.empty(start[known - 1], np.uint32))
    for side in range(2):
        _go_through(attacking, mask, side, int64(0), goals, top, count)
    return Events(level, start, count.node)


@kernel
def _mark_exits(exits: Exits, among: Words, mask: Words) -> None:
    for word in range(mask.size):
        mask[word] = among[word] & ~without_exit(exits, word * 64)


@jit
def with_exit(exits: Exits, among: Words) -> Words:
    """Return which of some positions have an exit; both uint64 (2, words)."""
    mask = np.empty_like(among)
    _mark_exits(exits, among.reshape(-1), mask.reshape(-1))
    return mask


@jit
def exit_events(attacking: int, mask: Words, exits: Exits, high: int) -> Events:
    """Return the events of the exits of the positions of ``mask`` uint64 (2, words) with keys below ``high``:
    an attacker's exit counts with its smallest depth, a defender's with its largest, one ply after it."""
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
    """Return the positions of ``mask`` uint64 (2, words) whose exits have keys below ``high``, at least 1."""
    least, most = (int64(0), high - 1) if attacking == 0 else (256 - high, int64(255))
    found = mask.copy()
    _mark_below(exits, least, most, found.reshape(-1))
    return found


@jit
def _within(events: Events, first: int, last: int) -> Events:
    """Return the events whose keys are in ``first <= key < last``."""
    begin = np.searchsorted(events.level, first << TIME_BITS)
    end = np.searchsorted(events.level, last << TIME_BITS)
    return Events(events.level[begin:end], events.start[begin : end + 1], events.node)


@jit
def merged(one: Events, other: Events) -> Events:
    """Return the events of both."""
    levels = len(one.level) + len(other.level)
    total = one.start[-1] - one.start[0] + other.start[-1] - other.start[0]
    both = Events(np.empty(levels, np.int64), np.zeros(levels + 1, np.int64), np.empty(total, np.uint32))
    count, at, mine, theirs, here, there = 0, int64(0), 0, 0, one.start[0], other.start[0]
    while mine < len(one.level) or theirs < len(other.level):
        level = min(level_at(one, mine), level_at(other, theirs))
        mine += level_at(one, mine) == level
        theirs += level_at(other, theirs) == level
        # The nodes of a level rise.
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
    """Take out, in place, all but the events of positions of ``alive`` uint64 (2 * words,); return the number
    of levels left."""
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
    """Return the number of positions of ``mask`` uint64 (2, words)."""
    count = int64(0)
    for word in mask.reshape(-1):
        count += popcount(word)
    return count


@jit
def next_agenda(agenda: Agenda, settled: Events, alive: Words, first: int, last: int) -> Agenda:
    """Return the events that sweeps over keys in ``first <= key < last`` may meet, those newly settled among
    them; ``alive`` uint64 (2, words) are the positions still in the layers."""
    left = count_of(alive)
    exits, counted = agenda.exits, agenda.alive
    if left * _THIN <= counted * (_THIN - 1):
        exits, counted = _within(exits, first, last), left
        count = _thin(exits, alive.reshape(-1))
        exits = Events(exits.level[:count], exits.start[: count + 1], exits.node)
        if 2 * exits.start[count] < len(exits.node):
            exits = Events(exits.level, exits.start, exits.node[: exits.start[count]].copy())
    before, after = _within(agenda.settled, first, last), _within(settled, first, last)
    return Agenda(exits, merged(before, after), counted)
