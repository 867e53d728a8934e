"""Sweep events, in the order in which they enter the sweeps: exits, and positions settled in earlier layers.

An event is a position that enters a sweep at its *level*: key and depth in plies, packed into one number
(``tbgen.retro.kernels.sweep``). There are many events and few levels, so the events are stored level by
level, each as the difference from the event before it. Most differences fit into one byte.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbgen.compiler.jit import inlined, int64, jit, kernel
from tbgen.moves.geometry import BIT
from tbgen.moves.kernels.best_exits import positions_without_exit
from tbgen.moves.kernels.words import Codes, Ints, Plies, Words, bits_of, in_range, popcount
from tbgen.moves.structs import Exits
from tbgen.retro.kernels.numbering import Numbering, find_or_add, new_numbering, with_capacity

DEPTH_BITS = 16
DEPTH_MASK = (1 << DEPTH_BITS) - 1
NO_LEVEL = int64(256 << DEPTH_BITS)
"""A number greater than every level."""
NO_NODE = int64(1 << 62)
"""A number greater than every node."""
_INITIAL_CAPACITY = 64
"""Number of levels for which memory is allocated at first."""
_PURGE_DIVISOR = 8
"""A purge removes the exit events of all positions that have left the layers. It takes place when at least
1 / ``_PURGE_DIVISOR`` of the positions have left since the last purge."""


class Events(NamedTuple):
    """The nodes of events, level by level. A node is a slot, plus the phase size if Black is to move.

    Nodes ascend within a level, so a sweep visits each word once."""

    level: Ints
    """int64 (levels,): key << 16 | depth in plies, ascending."""
    start: Ints
    """int64 (levels + 1,): the bytes of level i have indices ``start[i]`` to ``start[i + 1]`` - 1."""
    gaps: NDArray[np.uint8]
    """uint8, possibly followed by unused elements: each node minus the node before it in its level, if any. A
    difference is stored in groups of seven bits, low groups first; the high bit of a byte is set if another
    group follows."""


class Agenda(NamedTuple):
    """All events of one attacker."""

    exits: Events
    """Exits of the positions in the layers, and possibly of positions that have left them."""
    settled: Events
    """Positions that have left the layers, if later sweeps can still reach their fresh values."""
    alive_count_at_purge: int
    """Number of positions in the layers when ``exits`` was last purged."""


class Goals(NamedTuple):
    """Values and depths of the positions of a phase."""

    value: Codes
    depth: tuple[Plies, Plies]
    """Depths with White and with Black to move."""
    starts: Ints
    """int64 (2,): for each side to move, the index of the phase's first slot in ``value`` and ``depth``."""
    extra_plies: int
    """Number of plies to add to every depth."""


@inlined
def level_of(attacking_side: int, value: int, depth: int) -> int:
    """The level of a value and depth for the attacker ``attacking_side`` (0 White, 1 Black)."""
    key = int64(value) if attacking_side == 0 else 255 - int64(value)
    return key << DEPTH_BITS | int64(depth)


@inlined
def level_at(events: Events, level_index: int) -> int:
    """The level with index ``level_index``, or ``NO_LEVEL`` after the last level."""
    return events.level[level_index] if level_index < len(events.level) else NO_LEVEL


@inlined
def next_node(gaps: NDArray[np.uint8], byte: int, stop: int, node: int) -> tuple[int, int]:
    """The node after ``node``, whose difference begins at index ``byte``, and the index after the difference.

    At ``stop``, the end of the level, the node is ``NO_NODE``. At the beginning of a level, ``node`` is 0.
    """
    if byte == stop:
        return NO_NODE, byte
    shift = int64(0)
    while gaps[byte] > 127:
        node += (int64(gaps[byte]) & 127) << shift
        byte, shift = byte + 1, shift + 7
    return node + (int64(gaps[byte]) << shift), byte + 1


@inlined
def _put_gap(gaps: NDArray[np.uint8], byte: int, gap: int) -> int:
    """Store a difference at index ``byte``, unless ``gaps`` is empty; return the index after it."""
    while gap > 127:
        if len(gaps):
            gaps[byte] = gap & 127 | 128
        gap >>= 7
        byte += 1
    if len(gaps):
        gaps[byte] = gap
    return byte + 1


@jit
def no_events() -> Events:
    """Return empty arrays of events."""
    return Events(np.empty(0, np.int64), np.zeros(1, np.int64), np.empty(0, np.uint8))


class Grouping(NamedTuple):
    """The data of grouping events by level, in two passes: the first counts their bytes, the second stores
    them."""

    levels: Numbering
    """The levels that occur, with their numbers."""
    cursor: Ints
    """int64 (levels, 2): in the counting pass the number of bytes so far, in the storing pass the index of
    the next byte; then the last node."""
    gaps: NDArray[np.uint8]
    """Output: ``Events.gaps``; empty in the counting pass."""


@kernel
def _add_events(
    attacking_side: int, mask: Words, side: int, start: int, goals: Goals, limit: int, grouping: Grouping
) -> int:
    """Count the bytes of the positions of ``mask`` whose levels are below ``limit``; in the storing pass,
    store them.

    ``mask`` is uint64 (2, words). Only positions with ``side`` to move, from word ``start`` on, are visited.
    Return the word from which to continue after ``grouping.levels`` has been enlarged, or the number of words
    if all have been visited.
    """
    words = mask.shape[1]
    first_index, depths = goals.starts[side], goals.depth[side]
    for word in range(start, words):
        bits = mask[side, word]
        if bits and grouping.levels.length[0] + 64 > len(grouping.levels.key):
            return word
        for bit in bits_of(bits):
            slot = word * 64 + bit
            plies = depths[first_index + slot] + goals.extra_plies
            level = level_of(attacking_side, goals.value[first_index + slot], plies)
            if level < limit:
                level_index = find_or_add(grouping.levels, np.uint64(level))
                node = side * words * 64 + slot
                gap = node - grouping.cursor[level_index, 1]
                grouping.cursor[level_index, 0] = _put_gap(
                    grouping.gaps, grouping.cursor[level_index, 0], gap
                )
                grouping.cursor[level_index, 1] = node
    return words


@jit
def _numbers_by_level(levels: Numbering) -> Ints:
    """Return the numbers of levels in ascending order of the levels, without number 0.

    This is a Shell sort. numba's sorting functions take a second to compile.
    """
    order = np.arange(1, levels.length[0])
    gap = len(order) >> 1
    while gap:
        for end in range(gap, len(order)):
            level_index = order[end]
            index = end
            while index >= gap and levels.key[order[index - gap]] > levels.key[level_index]:
                order[index] = order[index - gap]
                index -= gap
            order[index] = level_index
        gap >>= 1
    return order


@jit
def events_of(attacking_side: int, mask: Words, goals: Goals, end_key: int) -> Events:
    """Return the events with keys below ``end_key`` of the positions ``mask``, uint64 (2, words)."""
    # The numbering needs a first key. No event has NO_LEVEL, so number 0 is unused.
    levels = new_numbering(_INITIAL_CAPACITY, np.uint64(NO_LEVEL))
    count = np.zeros((_INITIAL_CAPACITY, 2), np.int64)
    words = mask.shape[1]
    limit = end_key << DEPTH_BITS
    empty = np.empty(0, np.uint8)
    for side in range(2):
        word = int64(0)
        while word < words:
            levels = with_capacity(levels, 64)
            longer_count = np.zeros((len(levels.key), 2), np.int64)
            for level_index in range(
                len(count)
            ):  # assigning a slice would take more than a second to compile
                longer_count[level_index, 0], longer_count[level_index, 1] = (
                    count[level_index, 0],
                    count[level_index, 1],
                )
            count = longer_count
            word = _add_events(attacking_side, mask, side, word, goals, limit, Grouping(levels, count, empty))
    length = levels.length[0]
    order = _numbers_by_level(levels)
    level = np.empty(length - 1, np.int64)
    start = np.zeros(length, np.int64)
    cursor = np.zeros((length, 2), np.int64)
    for index in range(length - 1):
        level_index = order[index]
        level[index] = levels.key[level_index]
        cursor[level_index, 0] = start[index]
        start[index + 1] = start[index] + count[level_index, 0]
    grouping = Grouping(with_capacity(levels, 64), cursor, np.empty(start[length - 1], np.uint8))
    for side in range(2):
        _add_events(attacking_side, mask, side, int64(0), goals, limit, grouping)
    return Events(level, start, grouping.gaps)


@kernel
def _mark_positions_with_exit(exits: Exits, among: Words, mask: Words) -> None:
    for word in range(mask.size):
        mask[word] = among[word] & ~positions_without_exit(exits, word * 64)


@jit
def positions_with_exit(exits: Exits, among: Words) -> Words:
    """Return the positions of ``among`` that have an exit; both are uint64 (2, words)."""
    mask = np.empty_like(among)
    _mark_positions_with_exit(exits, among.reshape(-1), mask.reshape(-1))
    return mask


@jit
def exit_events(attacking_side: int, mask: Words, exits: Exits, end_key: int) -> Events:
    """Return the exits with keys below ``end_key`` of the positions ``mask``, uint64 (2, words), as events.

    The depth of an event is one ply more than the depth of the exit: the smallest depth if the attacker is to
    move, the greatest if the defender is.
    """
    white, black = exits.max_depth, exits.min_depth
    if attacking_side == 0:
        white, black = black, white
    starts = np.array([0, mask.shape[1] * 64])
    goals = Goals(exits.value, (white, black), starts, int64(1))
    return events_of(attacking_side, _positions_below(attacking_side, mask, exits, end_key), goals, end_key)


@kernel
def _mark_below(exits: Exits, least: int, most: int, mask: Words) -> None:
    for word in range(len(mask)):
        if mask[word]:
            mask[word] &= in_range(exits.value, word * 64, least, most)


@jit
def _positions_below(attacking_side: int, mask: Words, exits: Exits, end_key: int) -> Words:
    """Return the positions of ``mask``, uint64 (2, words), whose exits have keys below ``end_key``, which is
    positive."""
    least, most = (int64(0), end_key - 1) if attacking_side == 0 else (256 - end_key, int64(255))
    below = mask.copy()
    _mark_below(exits, least, most, below.reshape(-1))
    return below


@jit
def _events_within(events: Events, first_key: int, stop_key: int) -> Events:
    """Return the events with keys from ``first_key`` to ``stop_key`` - 1."""
    begin = np.searchsorted(events.level, first_key << DEPTH_BITS)
    end = np.searchsorted(events.level, stop_key << DEPTH_BITS)
    return Events(events.level[begin:end], events.start[begin : end + 1], events.gaps)


@jit
def merged_events(first: Events, second: Events) -> Events:
    """Return the union of two sets of events."""
    levels = len(first.level) + len(second.level)
    # In the union, no difference of a node is greater than before.
    most = first.start[len(first.level)] - first.start[0] + second.start[len(second.level)] - second.start[0]
    union = Events(np.empty(levels, np.int64), np.zeros(levels + 1, np.int64), np.empty(most, np.uint8))
    level_count = 0
    size = int64(0)
    level_1 = 0
    level_2 = 0
    at_1 = first.start[0]
    at_2 = second.start[0]
    while level_1 < len(first.level) or level_2 < len(second.level):
        level = min(level_at(first, level_1), level_at(second, level_2))
        level_1 += level_at(first, level_1) == level
        level_2 += level_at(second, level_2) == level
        stop_1 = first.start[level_1]
        stop_2 = second.start[level_2]
        last = int64(0)
        node_1, at_1 = next_node(first.gaps, at_1, stop_1, int64(0))
        node_2, at_2 = next_node(second.gaps, at_2, stop_2, int64(0))
        while min(node_1, node_2) < NO_NODE:
            node = min(node_1, node_2)
            size = _put_gap(union.gaps, size, node - last)
            last = node
            if node == node_1:
                node_1, at_1 = next_node(first.gaps, at_1, stop_1, node)
            else:
                node_2, at_2 = next_node(second.gaps, at_2, stop_2, node)
        union.level[level_count] = level
        level_count += 1
        union.start[level_count] = size
    return Events(union.level[:level_count], union.start[: level_count + 1], union.gaps)


@kernel
def _drop_departed(events: Events, alive: Words) -> int:
    """Remove, in place, all events of positions that are not in ``alive``, uint64 (2 * words,).

    Return the number of remaining levels.
    """
    level_count = 0
    size = int64(0)
    begin = events.start[0]
    events.start[0] = 0
    for index in range(len(events.level)):
        size_before = size
        stop = events.start[index + 1]
        last = int64(0)
        node, begin = next_node(events.gaps, begin, stop, int64(0))
        while node < NO_NODE:
            if alive[node >> 6] & BIT[node & 63]:
                size = _put_gap(events.gaps, size, node - last)
                last = node
            node, begin = next_node(events.gaps, begin, stop, node)
        if size > size_before:
            events.level[level_count] = events.level[index]
            level_count += 1
            events.start[level_count] = size
    return level_count


@jit
def position_count(mask: Words) -> int:
    """Return the number of positions of ``mask``, uint64 (2, words)."""
    count = int64(0)
    for word in mask.reshape(-1):
        count += popcount(word)
    return count


@jit
def next_agenda(agenda: Agenda, settled: Events, alive: Words, first_key: int, stop_key: int) -> Agenda:
    """Return the events that sweeps over the keys ``first_key`` to ``stop_key`` - 1 may reach.

    The newly settled positions ``settled`` are included. ``alive``, uint64 (2, words), are the positions
    still in the layers.
    """
    remaining = position_count(alive)
    exits, alive_count_at_purge = agenda.exits, agenda.alive_count_at_purge
    if remaining * _PURGE_DIVISOR <= alive_count_at_purge * (_PURGE_DIVISOR - 1):
        exits = _events_within(exits, first_key, stop_key)
        alive_count_at_purge = remaining
        count = _drop_departed(exits, alive.reshape(-1))
        exits = Events(exits.level[:count], exits.start[: count + 1], exits.gaps)
        if 2 * exits.start[count] < len(exits.gaps):
            exits = Events(exits.level, exits.start, exits.gaps[: exits.start[count]].copy())
    old = _events_within(agenda.settled, first_key, stop_key)
    new = _events_within(settled, first_key, stop_key)
    return Agenda(exits, merged_events(old, new), alive_count_at_purge)
