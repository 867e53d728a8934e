"""Updating the inner sweep of a layer to the next layer, so that only changed positions are computed again.

A *level* is (key, depth), packed in one number. The levels of a sweep are the unique solution of its
equations: if the attacker is to move, the level of a position is one ply more than the least level that its
moves lead to; if the defender is to move, one ply more than the greatest. Between two layers, the equations
change only where positions have left the layers with a level that differs from their last level. From there
the changes are propagated backwards, in the order of levels, by the dynamic fixed point algorithm of
Ramalingam and Reps. A position whose moves give a lower level than its own gets the lower level. A position
whose moves give a higher level is first unassigned, so that no cycle of moves can support itself.
"""

from typing import NamedTuple

import numpy as np

from tbgen.compiler.jit import inlined, int64, jit, kernel
from tbgen.moves.geometry import BIT
from tbgen.moves.kernels.best_exits import find_exit
from tbgen.moves.kernels.frame import side_word_bit
from tbgen.moves.kernels.moves import MoveSearch, list_all_predecessors, list_quiet_targets
from tbgen.moves.kernels.words import ZERO, Ints, Word, bits_of, equal_to, lowest, popcount, prefetch
from tbgen.moves.structs import NO_EXIT, Phase, Pool
from tbgen.retro.kernels.events import DEPTH_BITS, DEPTH_MASK, NO_LEVEL, level_of
from tbgen.retro.kernels.layer_sweeps import FIRST_LAYER, assigned_positions
from tbgen.retro.kernels.sweep import (
    ATTACKER_TO_MOVE,
    DEFENDER_TO_MOVE,
    Attacker,
    SweepResults,
    buffer_of,
    mark_nonempty,
)

_DEPARTURES_DIVISOR = 200
"""An update allows one departure with a changed level for each group of this many live positions."""
_STEPS_DIVISOR = 25
"""An update allows one step for each group of this many live positions.

Beyond these limits, a new sweep is less work: a change takes about twenty times as long as a position in a
sweep, and a departure with a changed level causes up to five changes (measured)."""
_CHANGES_PER_DEPARTURE = 5
"""Capacity for changes, and for entries of the heap, per allowed departure."""
_NODE_BITS = int64(38)
"""Number of low bits of a heap entry that contain the node and ``_LOWERED``. The level is above them."""
_LOWERED = int64(1 << 37)
"""Flag in a heap entry: a successor of the node has been lowered to one ply below the level of the entry."""


class Layer(NamedTuple):
    """The data that determines the levels of a layer."""

    attacker: Attacker
    pool: Pool
    """Values and depths of the positions that exits lead to."""
    fresh: SweepResults
    """Fresh values and depths of the positions that have left the layers."""
    key: int
    """Key of the accrued score. Only smaller keys are assigned."""


class Changes(NamedTuple):
    """Changed positions with their levels before the change. If a position occurs several times, its first
    entry is the level before the update."""

    node: Ints
    """int64 (capacity,): slot, plus the phase size if Black is to move."""
    level: Ints
    """int64 (capacity,): ``NO_LEVEL`` if the position was not assigned."""


@inlined
def _level(attacking_side: int, end_key: int, value: int, depth: int) -> int:
    """The level of a value and depth; ``NO_LEVEL``, which means unassigned, if its key is at least
    ``end_key``."""
    level = level_of(attacking_side, value, depth)
    return level if level < end_key << DEPTH_BITS else NO_LEVEL


@inlined
def _level_before(level: int) -> int:
    """The level of a position one ply before a position with this level."""
    return level + 1 if level < NO_LEVEL else NO_LEVEL


@inlined
def _last_level(layer: Layer, end_key: int, side: int, word: int, bit: int) -> int:
    """The level of a position, alive or not, in the results; ``NO_LEVEL`` if the key is at least
    ``end_key``."""
    attacker = layer.attacker
    if assigned_positions(attacker, side, word) & BIT[bit]:
        slot = attacker.results.starts[side] + word * 64 + bit
        return _level(attacker.side, end_key, attacker.results.value[slot], attacker.results.depth[slot])
    return NO_LEVEL


@inlined
def _current_level(layer: Layer, side: int, word: int, bit: int) -> int:
    """The level of a legal position as its predecessors use it: its last level or, if it has left the layers,
    its fresh level."""
    if layer.attacker.phase.alive[side, word] & BIT[bit]:
        return _last_level(layer, layer.key, side, word, bit)
    return _fresh_level(layer, side, word, bit)


@inlined
def _fresh_level(layer: Layer, side: int, word: int, bit: int) -> int:
    """The level of the fresh value and depth of a position that has left the layers."""
    fresh = layer.fresh
    slot = fresh.starts[side] + word * 64 + bit
    return _level(layer.attacker.side, layer.key, fresh.value[slot], fresh.depth[slot])


@inlined
def _prefetch_level(layer: Layer, side: int, word: int, bit: int) -> None:
    """Prefetch the value and depth that determine the level of a position."""
    results = layer.attacker.results if layer.attacker.phase.alive[side, word] & BIT[bit] else layer.fresh
    slot = results.starts[side] + word * 64 + bit
    prefetch(results.value, slot)
    prefetch(results.depth, slot)


@kernel
def _level_by_moves(layer: Layer, node: int, bound: int) -> int:
    """The level that the moves of a position give.

    The computation stops early if a level is at least as good for the mover as ``bound``: at most ``bound``
    for the attacker, at least ``bound`` for the defender.
    """
    frame, scratch, legal = layer.attacker.frame, layer.attacker.scratch, layer.attacker.phase.legal
    attacking_side = layer.attacker.side
    buffer = buffer_of(scratch, int64(0))
    side, word, bit = side_word_bit(frame, node)
    best = NO_LEVEL if side == attacking_side else int64(-1)
    targets = list_quiet_targets(frame, word, bit, side, buffer)
    for index in range(targets):
        _prefetch_level(layer, 1 - side, buffer.word[index] >> 6, buffer.word[index] & 63)
    for index in range(targets):
        target = buffer.word[index]
        if legal[1 - side, target >> 6] & BIT[target & 63]:
            level = _level_before(_current_level(layer, 1 - side, target >> 6, target & 63))
            best = min(best, level) if side == attacking_side else max(best, level)
            if best <= bound if side == attacking_side else best >= bound:
                return best
    find_exit(frame, layer.pool, node, scratch.exit_buffer)
    exits = scratch.exit_buffer.exits
    if exits.min_depth[0] == NO_EXIT:
        return best
    ply = int64(exits.min_depth[0] if side == attacking_side else exits.max_depth[0]) + 1
    level = _level(attacking_side, layer.key, exits.value[0], ply)
    return min(best, level) if side == attacking_side else max(best, level)


@inlined
def _push(heap: Ints, count: int, level: int, node: int) -> int:
    """Add an entry to a heap of ``count`` entries; return the new count.

    If the heap is full, it remains unchanged, and the result exceeds its capacity.
    """
    if count >= len(heap):
        return len(heap) + 1
    entry = level << _NODE_BITS | node
    index = count
    while index > 0 and heap[(index - 1) >> 1] > entry:
        heap[index] = heap[(index - 1) >> 1]
        index = (index - 1) >> 1
    heap[index] = entry
    return count + 1


@inlined
def _drop_top(heap: Ints, count: int) -> None:
    """Remove the top of a heap of ``count`` entries."""
    entry = heap[count - 1]
    count -= 1
    node = 0
    while True:
        child = 2 * node + 1
        if child >= count:
            break
        if child + 1 < count and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= entry:
            break
        heap[node] = heap[child]
        node = child
    heap[node] = entry


@kernel
def _push_affected(layer: Layer, node: int, old: int, new: int, heap: Ints, count: int) -> int:
    """Push the predecessors whose levels may change because the level of ``node`` has changed from ``old`` to
    ``new``; return the new count of the heap."""
    attacker, scratch = layer.attacker, layer.attacker.scratch
    frame = attacker.frame
    buffer = buffer_of(scratch, int64(0))
    side, target, target_bit = side_word_bit(frame, node)
    mover = 1 - side
    attacks = mover == attacker.side
    row = ATTACKER_TO_MOVE if attacks else DEFENDER_TO_MOVE
    alive = attacker.phase.alive[mover]
    search = MoveSearch(frame, mover, True, scratch.nonempty[row], alive, buffer)
    entries = list_all_predecessors(search, target, BIT[target_bit], False, int64(0))
    for entry in range(entries):
        buffer.bits[entry] &= alive[buffer.word[entry]]
        if buffer.bits[entry]:
            _prefetch_level(layer, mover, buffer.word[entry], lowest(buffer.bits[entry]))
    for entry in range(entries):
        word = buffer.word[entry]
        for bit in bits_of(buffer.bits[entry]):
            level = _last_level(layer, layer.key, mover, word, bit)
            least = new + 1 if new < old else level
            if attacks:
                affected = least < level if new < old else old + 1 == level
            else:
                affected = _level_before(old) >= level if new < old else _level_before(new) > level
            if affected:
                origin = (mover * frame.words + word) * 64 + bit
                count = _push(heap, count, least, origin + (_LOWERED if new < old else 0))
    return count


@inlined
def _set_assigned(attacker: Attacker, side: int, word: int, bits: Word, is_assigned: bool) -> None:
    """Mark positions as assigned or unassigned."""
    sets = attacker.inner_sets
    if side == attacker.side:
        sets.wanted[word] = sets.wanted[word] & ~bits if is_assigned else sets.wanted[word] | bits
    else:
        sets.assigned[word] = sets.assigned[word] | bits if is_assigned else sets.assigned[word] & ~bits


@inlined
def _set_level(attacker: Attacker, node: int, level: int) -> None:
    """Set the level of a position in the results."""
    side, word, bit = side_word_bit(attacker.frame, node)
    if level < NO_LEVEL:
        key = level >> DEPTH_BITS
        slot = attacker.results.starts[side] + word * 64 + bit
        attacker.results.value[slot] = key if attacker.side == 0 else 255 - key
        attacker.results.depth[slot] = level & DEPTH_MASK
        attacker.scratch.max_depth[0] = max(attacker.scratch.max_depth[0], level & DEPTH_MASK)
        attacker.last_key[0] = max(attacker.last_key[0], key)
    _set_assigned(attacker, side, word, BIT[bit], level < NO_LEVEL)


@inlined
def _store_if_changed(layer: Layer, node: int, old: int, changes: Changes, count: int) -> int:
    """If the fresh level of a departed position differs from its last level ``old``, store it in ``changes``,
    unless it is full; return the new count of ``changes``."""
    side, word, bit = side_word_bit(layer.attacker.frame, node)
    if old == _fresh_level(layer, side, word, bit):
        return count
    if count < len(changes.node):
        changes.node[count], changes.level[count] = node, old
    return count + 1


@kernel
def _find_changed(layer: Layer, changes: Changes, max_count: int) -> int:
    """Store the departed positions with a changed level in ``changes``; return their number.

    Departed positions have left the layers since the last inner sweep. Their level has changed if their fresh
    level differs from their last level. The result exceeds ``max_count`` if more levels have changed, or if
    last levels that the outer sweep has overwritten are missing from ``departures``.
    """
    attacker, departures = layer.attacker, layer.attacker.departures
    words = attacker.frame.words
    count = int64(0)
    capacity = departures.node.shape[1]
    for part in range(len(departures.count)):
        if departures.count[part] > capacity:
            return max_count + 1
        for index in range(departures.count[part]):
            node, old = int64(departures.node[part, index]), int64(departures.level[part, index])
            old = old if old < layer.key << DEPTH_BITS else NO_LEVEL
            count = _store_if_changed(layer, node, old, changes, count)
    # The positions of ``departures`` are visited again, but their last level now reads as their fresh level,
    # because the outer sweep has overwritten it. So nothing is stored twice.
    for side in range(2):
        for word in range(words):
            for bit in bits_of(attacker.phase.departed[side, word]):
                old = _last_level(layer, layer.key, side, word, bit)
                node = (side * words + word) * 64 + bit
                count = _store_if_changed(layer, node, old, changes, count)
            if count > max_count:
                return count
    return count


@kernel
def _propagate(layer: Layer, heap: Ints, count: int, log: Changes, steps_left: int) -> int:
    """Process the entries of the heap, and store the changes in ``log``; return the number of changes.

    The levels stored in ``log`` may have any key. If an array is too small, or if more than ``steps_left``
    steps are needed, the result is -1 minus the number of changes.
    """
    change_count = 0
    last_entry = int64(-1)
    attacking_side = layer.attacker.side
    while count > 0:
        steps_left -= 1
        if count > len(heap) or steps_left < 0 or change_count + 1 > len(log.node):
            return -1 - change_count
        entry = heap[0]
        _drop_top(heap, count)
        count -= 1
        level = entry >> _NODE_BITS
        node = entry & (_LOWERED - 1)
        side, word, bit = side_word_bit(layer.attacker.frame, node)
        old = _last_level(layer, layer.key, side, word, bit)
        if entry == last_entry or old < level:
            continue  # lower levels are final
        last_entry = entry
        if side != attacking_side:
            new = _level_by_moves(layer, node, NO_LEVEL if old == level else old)
        elif entry & _LOWERED:
            new = level
        else:
            new = _level_by_moves(layer, node, level)
        if new == old or new > old > level:
            continue
        if min(new, old) > level:
            count = _push(heap, count, min(new, old), node)
            continue
        log.node[change_count] = node
        log.level[change_count] = _last_level(layer, int64(256), side, word, bit)
        change_count += 1
        if new > old:
            if new < NO_LEVEL:
                count = _push(heap, count, new, node)
            new = NO_LEVEL
        _set_level(layer.attacker, node, new)
        count = _push_affected(layer, node, old, new, heap, count)
    return change_count


@kernel
def _unassign_accrued(attacker: Attacker, accrued_key: int) -> None:
    """Unassign the positions whose value is A itself, and add them to ``Sets.changed``."""
    words = attacker.frame.words
    code = accrued_key if attacker.side == 0 else 255 - accrued_key
    for side in range(2):
        for word in range(words):
            bits = assigned_positions(attacker, side, word) if attacker.phase.alive[side, word] else ZERO
            if bits:
                bits &= equal_to(attacker.results.value, attacker.results.starts[side] + word * 64, code)
                attacker.inner_sets.changed[side, word] |= bits
                _set_assigned(attacker, side, word, bits, False)


@kernel
def _mark_changes(layer: Layer, log: Changes, change_count: int) -> None:
    """Set ``Sets.changed`` to the positions whose levels differ from those before the update."""
    changed = layer.attacker.inner_sets.changed
    changed[:] = ZERO
    for index in range(change_count - 1, -1, -1):
        side, word, bit = side_word_bit(layer.attacker.frame, log.node[index])
        # The order is reversed, so that the first entry of a position is processed last and decides.
        changed[side, word] &= ~BIT[bit]
        if _last_level(layer, layer.key, side, word, bit) != log.level[index]:
            changed[side, word] |= BIT[bit]


@inlined
def max_departures(positions: int) -> int:
    """Greatest number of departures with a changed level that an update allows for ``positions`` live
    positions."""
    return positions // _DEPARTURES_DIVISOR + 64


@kernel
def update_limits(phase: Phase) -> tuple[int, int]:
    """Return the limits of an update: the numbers of departures with a changed level and of steps."""
    alive = int64(0)
    for side in range(2):
        for word in range(len(phase.canonical)):
            alive += popcount(phase.alive[side, word])
    return max_departures(alive), alive // _STEPS_DIVISOR + 64


@jit
def update(layer: Layer, rank: int, max_departed: int, max_steps: int) -> int:
    """Update the last inner sweep to the layer of this rank, within the limits of ``update_limits``.

    The result is

    - 0 if nothing has changed;
    - 1 after an update: values, depths, ``Sets.changed`` and the other sets are then those of an inner sweep
      of this layer;
    - -1 minus the number of reverted changes if no update within the limits was possible: values, depths and
      sets are then unchanged.
    """
    capacity = _CHANGES_PER_DEPARTURE * max_departed
    log = Changes(np.empty(capacity, np.int64), np.empty(capacity, np.int64))
    result = _try_update(layer, rank, log, np.empty(capacity, np.int64), max_departed, max_steps)
    for index in range(-2 - result, -1, -1):
        _set_level(layer.attacker, log.node[index], log.level[index])
    return result


@kernel
def _try_update(layer: Layer, rank: int, log: Changes, heap: Ints, max_departed: int, max_steps: int) -> int:
    """Implement ``update``, but do not revert the changes in ``log`` after a failure; ``heap`` is scratch
    memory."""
    attacker = layer.attacker
    # At the first layer, the results are still those of another phase.
    changed = _find_changed(layer, log, max_departed) if rank > FIRST_LAYER else max_departed + 1
    if changed > max_departed:
        return int64(-1)
    count = int64(0)
    reaches_accrued = attacker.last_key[0] >= layer.key
    if changed:
        alive = attacker.phase.alive[1 - attacker.side]
        mark_nonempty(attacker.outer_sets.wanted, alive, attacker.scratch.nonempty)
    for index in range(changed):
        side, word, bit = side_word_bit(attacker.frame, log.node[index])
        new = _fresh_level(layer, side, word, bit)
        count = _push_affected(layer, log.node[index], log.level[index], new, heap, count)
    if count == 0 and not reaches_accrued:
        return int64(0)
    change_count = _propagate(layer, heap, count, log, max_steps)
    if change_count < 0:
        return int64(change_count)
    _mark_changes(layer, log, change_count)
    if reaches_accrued:
        _unassign_accrued(attacker, layer.key)
        attacker.last_key[0] = layer.key - 1
    return int64(1)
