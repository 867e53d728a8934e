"""Events: exits, and positions whose fresh value was settled in earlier layers, sorted for the sweeps.

An event is one number: key, time (plies), whether settled, and node (slot, plus the phase size if Black is to
move), so that sorting events sorts them by key and time.
"""

import numpy as np

from tbgen.accelerate import inlined, int64, jit
from tbgen.retro.kernels.bits import ZERO, Word, Words
from tbgen.retro.kernels.resets import NO_EXIT, Exits

KEY_SHIFT = np.uint64(56)
TIME_SHIFT = np.uint64(40)
TIME_MASK = np.uint64(0xFFFF)
_SETTLED = np.uint64(1 << 39)
_NODE_MASK = np.uint64((1 << 39) - 1)
_FEW = 512


@inlined
def event(attacking: int, value: int, time: int, settled: bool, node: int) -> Word:
    """Pack an event: ``node`` (its slot, plus the phase size if Black is to move) has ``value`` at ``time``,
    as the attacker ``attacking`` (0 White, 1 Black) sees it."""
    key = value if attacking == 0 else 255 - value
    word = np.uint64(key) << KEY_SHIFT | np.uint64(time) << TIME_SHIFT | np.uint64(node)
    return word | _SETTLED if settled else word


@inlined
def event_key(entry: Word) -> int:
    """The key of an event, 0..255."""
    return int64(entry >> KEY_SHIFT)


@inlined
def event_node(entry: Word) -> int:
    """The node of an event."""
    return int64(entry & _NODE_MASK)


@inlined
def is_settled(entry: Word) -> bool:
    """Whether the event is a position settled in an earlier layer (else an exit)."""
    return entry & _SETTLED != ZERO


@jit
def sort_events(events: Words) -> Words:
    """Return events (uint64), given in the order of their nodes, sorted by (key, time, node).

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
            ends[int64(entry >> shift & np.uint64(0xFF)) + 1] += 1
        if ends.max() == len(events):
            continue
        for number in range(256):
            ends[number + 1] += ends[number]
        for entry in events:
            number = int64(entry >> shift & np.uint64(0xFF))
            spare[ends[number]] = entry
            ends[number] += 1
        events, spare = spare, events
    return events


@jit
def exit_events(attacking: int, nodes: int, exits: Exits) -> Words:
    """Return the sorted events of all exits of the phase: an attacker's exit counts with its smallest depth,
    a defender's with its largest, one ply after it.

    ``nodes`` is the phase size.
    """
    count = 0
    for node in range(2 * nodes):
        if exits.nearest[node] != NO_EXIT:
            count += 1
    events = np.empty(count, np.uint64)
    count = 0
    for node in range(2 * nodes):
        if exits.nearest[node] != NO_EXIT:
            side = 0 if node < nodes else 1
            depth = exits.nearest[node] if side == attacking else exits.farthest[node]
            events[count] = event(attacking, int64(exits.value[node]), int64(depth) + 1, False, node)
            count += 1
    return sort_events(events)
