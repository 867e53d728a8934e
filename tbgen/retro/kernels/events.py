"""Events: exits, and positions whose fresh value was settled in earlier layers, in the order of the sweeps.

An event is a position that comes in at a *level*: key and time (plies) in one number. There are many events
and few levels, so events are kept level by level, in four bytes each.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbgen.compiler.jit import inlined, int64, jit, kernel
from tbgen.retro.geometry import BIT
from tbgen.retro.kernels.bits import ONE, Codes, Ints, Plies, Words, lowest, popcount
from tbgen.retro.kernels.exits import NO_EXIT, Exits
from tbgen.retro.kernels.lanes import equal
from tbgen.retro.kernels.numbering import Numbering, number_of, numbering, with_room

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
    """Values and depths of one phase with one side to move, by slot."""

    value: Codes
    depth: Plies
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


@kernel
def _go_through(
    attacking: int,
    mask: Words,
    first: int,
    start: int,
    goals: Goals,
    high: int,
    levels: Numbering,
    place: Ints,
    node: NDArray[np.uint32],
) -> int:
    """Count the positions of ``mask`` uint64 (words,) in ``place`` by level, from word ``start`` on and below
    the level ``high``, and put each, the first slot being node ``first``, where ``place`` says if there is
    ``node``; return the word that there may be no room for, or the number of words."""
    for word in range(start, len(mask)):
        bits = mask[word]
        if bits and levels.length[0] + 64 > len(levels.key):
            return word
        while bits:
            slot = word * 64 + lowest(bits)
            bits &= bits - ONE
            level = level_of(attacking, goals.value[slot], goals.depth[slot]) + goals.more
            if level < high:
                number = number_of(levels, np.uint64(level))
                if len(node):
                    node[place[number]] = first + slot
                place[number] += 1
    return len(mask)


@jit
def events_of(attacking: int, mask: Words, goals: tuple[Goals, Goals], high: int) -> Events:
    """Return the events of the positions of ``mask`` uint64 (2, words) whose value and depth make a level
    below that of the key ``high``.

    ``goals`` are those with White and with Black to move.
    """
    # No event is at this level, which only takes the number 0.
    levels, count = numbering(_FEW, np.uint64(NEVER)), np.zeros(_FEW, np.int64)
    words, top, nothing = mask.shape[1], high << TIME_BITS, np.empty(0, np.uint32)
    for side in range(2):
        word = int64(0)
        while word < words:
            levels = with_room(levels, 64)
            longer = np.zeros(len(levels.key), np.int64)
            longer[: len(count)] = count
            count = longer
            word = _go_through(attacking, mask[side], 0, word, goals[side], top, levels, count, nothing)
    known = levels.length[0]
    order = np.argsort(levels.key[1:known]) + 1
    level = np.empty(known - 1, np.int64)
    start, place = np.zeros(known, np.int64), np.empty(known, np.int64)
    for at in range(known - 1):
        number = order[at]
        level[at] = levels.key[number]
        place[number] = start[at]
        start[at + 1] = start[at] + count[number]
    levels, node = with_room(levels, 64), np.empty(start[known - 1], np.uint32)
    for side in range(2):
        first = side * words * 64
        _go_through(attacking, mask[side], first, int64(0), goals[side], top, levels, place, node)
    return Events(level, start, node)


@kernel
def _mark_exits(exits: Exits, among: Words, mask: Words) -> None:
    for word in range(mask.size):
        mask[word] = among[word] & ~equal(exits.nearest, word * 64, NO_EXIT)


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
    size = mask.shape[1] * 64
    white, black = exits.farthest, exits.nearest
    if attacking == 0:
        white, black = black, white
    goals = (
        Goals(exits.value[:size], white[:size], int64(1)),
        Goals(exits.value[size:], black[size:], int64(1)),
    )
    return events_of(attacking, mask, goals, high)


@inlined
def _range(events: Events, first: int, last: int) -> tuple[int, int]:
    """The first of the levels with keys in ``first <= key < last``, and one past the last."""
    low, high = first << TIME_BITS, last << TIME_BITS
    return int64(np.searchsorted(events.level, low)), int64(np.searchsorted(events.level, high))


@jit
def merged(one: Events, other: Events, first: int, last: int) -> Events:
    """Return the events of both whose keys are in ``first <= key < last``."""
    mine, end = _range(one, first, last)
    theirs, their_end = _range(other, first, last)
    room = end - mine + their_end - theirs
    total = one.start[end] - one.start[mine] + other.start[their_end] - other.start[theirs]
    both = Events(np.empty(room, np.int64), np.zeros(room + 1, np.int64), np.empty(total, np.uint32))
    count, here, there = 0, one.start[mine], other.start[theirs]
    while mine < end or theirs < their_end:
        level = NEVER
        if mine < end:
            level = one.level[mine]
        if theirs < their_end:
            level = min(level, other.level[theirs])
        mine += mine < end and one.level[mine] == level
        theirs += theirs < their_end and other.level[theirs] == level
        at = both.start[count]
        # The nodes of a level rise.
        while here < one.start[mine] or there < other.start[theirs]:
            if there == other.start[theirs] or (
                here < one.start[mine] and one.node[here] < other.node[there]
            ):
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
def _thin(events: Events, alive: Words, first: int, last: int) -> int:
    """Take out, in place, all but the events of positions of ``alive`` uint64 (2 * words,) whose keys are in
    ``first <= key < last``; return the number of levels left."""
    count, at, begin = 0, 0, events.start[0]
    for number in range(len(events.level)):
        level, end = events.level[number], events.start[number + 1]
        before = at
        if first << TIME_BITS <= level < last << TIME_BITS:
            for place in range(begin, end):
                node = events.node[place]
                if alive[node >> np.uint32(6)] & BIT[node & np.uint32(63)]:
                    events.node[at] = node
                    at += 1
        begin = end
        if at > before:
            events.level[count] = level
            count += 1
            events.start[count] = at
    return count


@jit
def next_agenda(agenda: Agenda, settled: Events, alive: Words, first: int, last: int) -> Agenda:
    """Return the events that sweeps over keys in ``first <= key < last`` may meet, those newly settled among
    them; ``alive`` uint64 (2, words) are the positions still in the layers."""
    left = int64(0)
    for side in range(2):
        for word in range(alive.shape[1]):
            left += popcount(alive[side, word])
    exits, counted = agenda.exits, agenda.alive
    if left * _THIN <= counted * (_THIN - 1):
        count, counted = _thin(exits, alive.reshape(-1), first, last), left
        exits = Events(exits.level[:count], exits.start[: count + 1], exits.node)
        if 2 * exits.start[count] < len(exits.node):
            exits = Events(exits.level, exits.start, exits.node[: exits.start[count]].copy())
    return Agenda(exits, merged(agenda.settled, settled, first, last), counted)
