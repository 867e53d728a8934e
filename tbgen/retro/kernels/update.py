"""Updating the inner sweep of a layer to the next layer: only what changes is computed again.

The *levels* of a sweep, (key, depth) packed in one number, are the unique solution of its equations: the
level of a position is the least level of its moves plus one ply if the attacker is to move, and the greatest
if the defender is. Between two layers the equations change only where positions have left the layers with a
level different from their last one. From there the changes are propagated backwards in the order of levels,
by the dynamic fixed point algorithm of Ramalingam and Reps: a position whose moves give a lower level than
its own gets the lower level. A position whose moves give a higher level is first unassigned, so that no cycle
of moves can support itself.
"""

from typing import NamedTuple

import numpy as np

from tbgen.compiler.jit import inlined, int64, jit, kernel
from tbgen.retro.geometry import BIT
from tbgen.retro.kernels.best_exits import NO_EXIT, find_exit
from tbgen.retro.kernels.events import DEPTH_BITS, DEPTH_MASK, NEVER, level_of
from tbgen.retro.kernels.frame import Phase, place_of
from tbgen.retro.kernels.layer_sweeps import FIRST_LAYER, assigned
from tbgen.retro.kernels.moves import ALL_MOVES, MoveSearch, all_predecessors, quiet_targets, solved_slot
from tbgen.retro.kernels.sweep import ATTACKERS, DEFENDERS, Attacker, SweepResults, buffer_of, mark_live
from tbgen.retro.kernels.targets import Pool
from tbgen.retro.kernels.words import ZERO, Ints, Word, bits_of, equal, lowest, popcount, prefetch

_DEPARTED_SHARE = 200
_STEPS_SHARE = 25
"""Limits of an update: one in this number of the positions alive may have departed with another level, or be
processed as a step. Beyond them a new sweep is less work (measured: a change takes about twenty times as long
as a position in a sweep, and there are up to five changes for each such departure)."""
_CHANGES_PER_DEPARTURE = 5
"""Greatest number of changes, and of entries of the heap, for each departure allowed."""
_NODE_BITS = int64(38)
"""Number of low bits of a heap entry for the node; the level is above them."""
_LOWERED = int64(1 << 37)
"""Flag in a heap entry: the level of a move has been lowered to one ply less than the level of the entry."""


class Layer(NamedTuple):
    """The data that determines the levels of a layer."""

    attacker: Attacker
    pool: Pool
    """Values and depths of the positions that exits lead to."""
    fresh: SweepResults
    """Fresh values and depths of the positions that have left the layers."""
    high: int
    """Key of the accrued score, the exclusive upper bound of the keys that are assigned."""


class Changes(NamedTuple):
    """Changed positions with their previous levels; if a position occurs twice, the first entry counts."""

    node: Ints
    """int64 (capacity,)."""
    level: Ints
    """int64 (capacity,)."""


@inlined
def _level(attacking: int, high: int, value: int, depth: int) -> int:
    """The level of a value and depth; ``NEVER``, which means unassigned, from key ``high`` on."""
    level = level_of(attacking, value, depth)
    return level if level < high << DEPTH_BITS else NEVER


@inlined
def _plus_one(level: int) -> int:
    """The level one ply farther from the goal."""
    return level + 1 if level < NEVER else NEVER


@inlined
def _last_level(layer: Layer, high: int, side: int, word: int, bit: int) -> int:
    """The level of a position in the results, alive or not; ``NEVER`` from key ``high`` on."""
    attacker = layer.attacker
    if assigned(attacker, side, word) & BIT[bit]:
        at = (side * attacker.frame.words + word) * 64 + bit
        return _level(attacker.side, high, attacker.results.value[at], attacker.results.depth[at])
    return NEVER


@inlined
def _level_now(layer: Layer, side: int, word: int, bit: int) -> int:
    """The level of a legal position that counts for its predecessors."""
    if layer.attacker.phase.alive[side, word] & BIT[bit]:
        return _last_level(layer, layer.high, side, word, bit)
    return _fresh_level(layer, side, word, bit)


@inlined
def _fresh_level(layer: Layer, side: int, word: int, bit: int) -> int:
    """The level of a position that has left the layers."""
    fresh = layer.fresh
    at = fresh.starts[side] + word * 64 + bit
    return _level(layer.attacker.side, layer.high, fresh.value[at], fresh.depth[at])


@inlined
def _prefetch_level(layer: Layer, side: int, word: int, bit: int) -> None:
    """Prefetch the value and depth that determine the level of a position."""
    results = layer.attacker.results if layer.attacker.phase.alive[side, word] & BIT[bit] else layer.fresh
    at = results.starts[side] + word * 64 + bit
    prefetch(results.value, at)
    prefetch(results.depth, at)


@kernel
def _level_by_moves(layer: Layer, node: int, bound: int) -> int:
    """The level that the moves of a position give.

    The computation stops at a level as good for the mover as ``bound``: not above it for the attacker, not
    below it for the defender.
    """
    frame, scratch, legal = layer.attacker.frame, layer.attacker.scratch, layer.attacker.phase.legal
    attacking, buffer = layer.attacker.side, buffer_of(scratch, int64(0))
    side, word, bit = place_of(frame, node)
    best = NEVER if side == attacking else int64(-1)
    targets = quiet_targets(frame, word, bit, side, buffer)
    for number in range(targets):
        _prefetch_level(layer, 1 - side, buffer.word[number] >> 6, buffer.word[number] & 63)
    for number in range(targets):
        target = solved_slot(frame, buffer.word[number], buffer.squares)
        if legal[1 - side, target >> 6] & BIT[target & 63]:
            level = _plus_one(_level_now(layer, 1 - side, target >> 6, target & 63))
            best = min(best, level) if side == attacking else max(best, level)
            if best <= bound if side == attacking else best >= bound:
                return best
    find_exit(frame, layer.pool, node, scratch.exit)
    exits = scratch.exit.exits
    if exits.nearest[0] == NO_EXIT:
        return best
    ply = int64(exits.nearest[0] if side == attacking else exits.farthest[0]) + 1
    level = _level(attacking, layer.high, exits.value[0], ply)
    return min(best, level) if side == attacking else max(best, level)


@inlined
def _push(heap: Ints, count: int, level: int, node: int) -> int:
    """Add an entry to a heap of ``count`` entries; return the new count.

    A full heap remains unchanged, and the count returned exceeds its capacity.
    """
    if count >= len(heap):
        return len(heap) + 1
    entry = level << _NODE_BITS | node
    at = count
    while at > 0 and heap[(at - 1) >> 1] > entry:
        heap[at] = heap[(at - 1) >> 1]
        at = (at - 1) >> 1
    heap[at] = entry
    return count + 1


@inlined
def _drop_top(heap: Ints, count: int) -> None:
    """Remove the top of a heap of ``count`` entries."""
    entry = heap[count - 1]
    count -= 1
    at = 0
    while True:
        child = 2 * at + 1
        if child >= count:
            break
        if child + 1 < count and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= entry:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = entry


@kernel
def _push_affected(layer: Layer, node: int, old: int, new: int, heap: Ints, count: int) -> int:
    """Push the predecessors whose levels may change because a position's level has changed from ``old`` to
    ``new``; return the new count of the heap."""
    attacker, scratch = layer.attacker, layer.attacker.scratch
    frame, buffer = attacker.frame, buffer_of(scratch, int64(0))
    side, target, at = place_of(frame, node)
    mover = 1 - side
    attacks = mover == attacker.side
    search = MoveSearch(frame, mover, True, scratch.live[0, ATTACKERS if attacks else DEFENDERS], buffer)
    origins = all_predecessors(search, target, BIT[at], False, ALL_MOVES, int64(0))
    for entry in range(origins):
        _prefetch_level(layer, mover, buffer.word[entry], lowest(buffer.bits[entry]) & 63)
    for entry in range(origins):
        word = buffer.word[entry]
        for bit in bits_of(buffer.bits[entry] & attacker.phase.alive[mover, word]):
            level = _last_level(layer, layer.high, mover, word, bit)
            least = new + 1 if new < old else level
            if attacks:
                affected = least < level if new < old else old + 1 == level
            else:
                affected = _plus_one(old) >= level if new < old else _plus_one(new) > level
            if affected:
                origin = (mover * frame.words + word) * 64 + bit
                count = _push(heap, count, least, origin + (_LOWERED if new < old else 0))
    return count


@inlined
def _set_assigned(attacker: Attacker, side: int, word: int, bits: Word, whether: bool) -> None:
    """Mark positions as assigned or unassigned."""
    sets = attacker.inner_sets
    if side == attacker.side:
        sets.wanted[word] = sets.wanted[word] & ~bits if whether else sets.wanted[word] | bits
    else:
        sets.caught[word] = sets.caught[word] | bits if whether else sets.caught[word] & ~bits


@inlined
def _set_level(attacker: Attacker, node: int, level: int) -> None:
    """Set the level of a position in the results."""
    side, word, bit = place_of(attacker.frame, node)
    if level < NEVER:
        key = level >> DEPTH_BITS
        attacker.results.value[node] = key if attacker.side == 0 else 255 - key
        attacker.results.depth[node] = level & DEPTH_MASK
        attacker.scratch.deepest[0] = max(attacker.scratch.deepest[0], level & DEPTH_MASK)
        attacker.last_key[0] = max(attacker.last_key[0], key)
    _set_assigned(attacker, side, word, BIT[bit], level < NEVER)


@kernel
def _push_affected_by_departed(layer: Layer, heap: Ints, limit: int) -> int:
    """Push the predecessors of positions that have left the layers with another level onto the empty heap,
    and update ``alive_before``.

    Return the count of the heap. It exceeds the capacity if the heap is full or if more than ``limit``
    positions have left in this way.
    """
    attacker, capacity = layer.attacker, len(heap)
    words, before, alive = attacker.frame.words, attacker.alive_before, attacker.phase.alive
    changed, count = 0, int64(0)
    mark_live(attacker.outer_sets.wanted, alive[1 - attacker.side], attacker.scratch.live[0])
    for side in range(2):
        for word in range(words):
            departed = before[side, word] & ~alive[side, word]
            if before[side, word] != alive[side, word]:
                before[side, word] = alive[side, word]
            for bit in bits_of(departed if count <= capacity else ZERO):
                old = _last_level(layer, layer.high, side, word, bit)
                new = _fresh_level(layer, side, word, bit)
                if old != new:
                    changed += 1
                    node = (side * words + word) * 64 + bit
                    fits = changed <= limit
                    count = _push_affected(layer, node, old, new, heap, count) if fits else capacity + 1
    return count


@kernel
def _propagate(layer: Layer, heap: Ints, count: int, before: Changes, steps: int) -> int:
    """Process the entries of the heap; return the number of changes stored in ``before``.

    These have levels of any key. The result is -1 minus that number if an array was too small or more than
    ``steps`` steps were needed.
    """
    changes, last, attacking = 0, int64(-1), layer.attacker.side
    while count > 0:
        steps -= 1
        if count > len(heap) or steps < 0 or changes + 1 > len(before.node):
            return -1 - changes
        entry = heap[0]
        _drop_top(heap, count)
        count -= 1
        level, node = entry >> _NODE_BITS, entry & (_LOWERED - 1)
        side, word, bit = place_of(layer.attacker.frame, node)
        old = _last_level(layer, layer.high, side, word, bit)
        if entry == last or old < level:
            continue  # lower levels are final
        last = entry
        if side != attacking:
            new = _level_by_moves(layer, node, NEVER if old == level else old)
        elif entry & _LOWERED:
            new = level
        else:
            new = _level_by_moves(layer, node, level)
        if new == old or new > old > level:
            continue
        if min(new, old) > level:
            count = _push(heap, count, min(new, old), node)
            continue
        before.node[changes] = node
        before.level[changes] = _last_level(layer, int64(256), side, word, bit)
        changes += 1
        if new > old:
            if new < NEVER:
                count = _push(heap, count, new, node)
            new = NEVER
        _set_level(layer.attacker, node, new)
        count = _push_affected(layer, node, old, new, heap, count)
    return changes


@kernel
def _drop_accrued(attacker: Attacker, high: int) -> None:
    """Unassign the positions whose key is that of A itself, and set ``changed`` for them."""
    words, code = attacker.frame.words, high if attacker.side == 0 else 255 - high
    for side in range(2):
        for word in range(words):
            bits = assigned(attacker, side, word) if attacker.phase.alive[side, word] else ZERO
            if bits:
                bits &= equal(attacker.results.value, (side * words + word) * 64, code)
                attacker.inner_sets.changed[side, word] |= bits
                _set_assigned(attacker, side, word, bits, False)


@kernel
def _mark_changes(layer: Layer, before: Changes, changes: int) -> None:
    """Set ``changed`` for the positions whose levels differ from those before the update."""
    changed = layer.attacker.inner_sets.changed
    changed[:] = ZERO
    for number in range(changes - 1, -1, -1):
        side, word, bit = place_of(layer.attacker.frame, before.node[number])
        # In reverse order, because the first entry of a position counts.
        changed[side, word] &= ~BIT[bit]
        if _last_level(layer, layer.high, side, word, bit) != before.level[number]:
            changed[side, word] |= BIT[bit]


@kernel
def limits(phase: Phase) -> tuple[int, int]:
    """Return the greatest number of departures with another level, and of steps, for which an update is less
    work than a new sweep."""
    alive = int64(0)
    for side in range(2):
        for word in range(len(phase.canonical)):
            alive += popcount(phase.alive[side, word])
    return alive // _DEPARTED_SHARE + 64, alive // _STEPS_SHARE + 64


@jit
def update(layer: Layer, rank: int, departed: int, steps: int) -> int:
    """Update the last inner sweep to the layer of this rank, within the limits that ``limits`` returns.

    Return 0 if nothing has changed. Return 1 after an update: values, depths, ``changed`` and the sets are
    those of an inner sweep of this layer. Return -1 minus the number of reverted changes if no update within
    the limits was possible; values, depths and sets are then as before.
    """
    capacity = _CHANGES_PER_DEPARTURE * departed
    before = Changes(np.empty(capacity, np.int64), np.empty(capacity, np.int64))
    result = _try_update(layer, rank, before, np.empty(capacity, np.int64), departed, steps)
    for number in range(-2 - result, -1, -1):
        _set_level(layer.attacker, before.node[number], before.level[number])
    return result


@kernel
def _try_update(layer: Layer, rank: int, before: Changes, heap: Ints, departed: int, steps: int) -> int:
    """Implement ``update`` except for reverting the changes in ``before`` if it fails; ``heap`` is scratch
    memory."""
    attacker = layer.attacker
    # At the first layer, the results are still those of another phase.
    count = _push_affected_by_departed(layer, heap if rank > FIRST_LAYER else heap[:0], departed)
    dropped = attacker.last_key[0] >= layer.high
    if rank == FIRST_LAYER or count > len(heap):
        return int64(-1)
    if count == 0 and not dropped:
        return int64(0)
    changes = _propagate(layer, heap, count, before, steps)
    if changes < 0:
        return int64(changes)
    _mark_changes(layer, before, changes)
    if dropped:
        _drop_accrued(attacker, layer.high)
        attacker.last_key[0] = layer.high - 1
    return int64(1)
