"""The inner sweep of a layer from that of the layer before: only what changes is worked out anew.

A sweep's *levels*, (key, depth) packed in one number, are the only solution of its equations: an attacker's
level is the least of its moves' levels plus one ply, a defender's the greatest. Between two layers the
equations change only where positions have left the layers with a level other than the last one. From there
the change is followed backwards in the order of levels (the dynamic fixed point algorithm of Ramalingam and
Reps): a position whose moves say less than its level gets the lower one, a position whose moves say more is
first taken back altogether, so that no cycle of moves can support itself.
"""

from typing import NamedTuple

import numpy as np

from tbgen.compiler.jit import inlined, int64, jit, kernel
from tbgen.retro.geometry import BIT
from tbgen.retro.kernels.best_exits import NO_EXIT, find_exit
from tbgen.retro.kernels.events import NEVER, TIME_BITS, TIME_MASK, level_of
from tbgen.retro.kernels.frame import Phase, place_of
from tbgen.retro.kernels.layer_sweeps import FIRST_LAYER, assigned
from tbgen.retro.kernels.moves import ALL_MOVES, MoveSearch, all_origins, quiet_targets, solved_slot
from tbgen.retro.kernels.sweep import ATTACKERS, DEFENDERS, Attacker, SweepResults, mark_live, room_of
from tbgen.retro.kernels.targets import Pool
from tbgen.retro.kernels.words import ZERO, Ints, Word, bits_of, equal, lowest, popcount, prefetch

_LEFT_SHARE = 200
_STEPS_SHARE = 25
"""What part of the positions alive may have left with another level, or be looked at, before a new sweep is
less work (measured: a change costs some twenty times as much as a position in a sweep, and there are up to
five times as many as positions that have left so)."""
_GROWTH = 5
"""How many positions may change, or wait, for each that may have left."""
_NODE_BITS = int64(38)
_LOWERED = int64(1 << 37)
"""Added to the node of an entry of the heap: a move's level has been lowered, to one ply less than the
entry's."""


class Layer(NamedTuple):
    """What the levels of a layer follow from."""

    attacker: Attacker
    pool: Pool
    """Exits lead there."""
    fresh: SweepResults
    """Values of the positions that have left the layers."""
    high: int
    """Key of the accrued score: from it on, positions are not assigned."""


class Changes(NamedTuple):
    """Positions with the level that they have had; the first entry of a position counts."""

    node: Ints
    """int64 (room,)."""
    level: Ints
    """int64 (room,)."""


@inlined
def _level(attacking: int, high: int, value: int, depth: int) -> int:
    """The level of a value and depth; ``NEVER``, which means not assigned, from key ``high`` on."""
    level = level_of(attacking, value, depth)
    return level if level < high << TIME_BITS else NEVER


@inlined
def _plus_one(level: int) -> int:
    """The level one ply further from the goal."""
    return level + 1 if level < NEVER else NEVER


@inlined
def _own_level(layer: Layer, high: int, side: int, word: int, bit: int) -> int:
    """The last level of a position, alive or not; ``NEVER`` from key ``high`` on."""
    attacker = layer.attacker
    if assigned(attacker, side, word) & BIT[bit]:
        at = (side * attacker.frame.words + word) * 64 + bit
        return _level(attacker.side, high, attacker.results.value[at], attacker.results.depth[at])
    return NEVER


@inlined
def _level_now(layer: Layer, side: int, word: int, bit: int) -> int:
    """The level of a legal position as its predecessors see it."""
    if layer.attacker.phase.alive[side, word] & BIT[bit]:
        return _own_level(layer, layer.high, side, word, bit)
    return _fresh_level(layer, side, word, bit)


@inlined
def _fresh_level(layer: Layer, side: int, word: int, bit: int) -> int:
    """The level of a position that has left the layers."""
    fresh = layer.fresh
    at = fresh.starts[side] + word * 64 + bit
    return _level(layer.attacker.side, layer.high, fresh.value[at], fresh.depth[at])


@inlined
def _prefetch_level(layer: Layer, side: int, word: int, bit: int) -> None:
    """Have the memory fetch what the level of a position is read from."""
    results = layer.attacker.results if layer.attacker.phase.alive[side, word] & BIT[bit] else layer.fresh
    at = results.starts[side] + word * 64 + bit
    prefetch(results.value, at)
    prefetch(results.depth, at)


@kernel
def _by_moves(layer: Layer, node: int, enough: int) -> int:
    """The level that a position's moves give it, or one that is ``enough`` to know: of the attacker's as low,
    of the defender's as high."""
    frame, scratch, legal = layer.attacker.frame, layer.attacker.scratch, layer.attacker.phase.legal
    attacking, room = layer.attacker.side, room_of(scratch, int64(0))
    side, word, bit = place_of(frame, node)
    best = NEVER if side == attacking else int64(-1)
    targets = quiet_targets(frame, word, bit, side, room)
    for number in range(targets):
        _prefetch_level(layer, 1 - side, room.word[number] >> 6, room.word[number] & 63)
    for number in range(targets):
        target = solved_slot(frame, room.word[number], room.squares)
        if legal[1 - side, target >> 6] & BIT[target & 63]:
            level = _plus_one(_level_now(layer, 1 - side, target >> 6, target & 63))
            best = min(best, level) if side == attacking else max(best, level)
            if best <= enough if side == attacking else best >= enough:
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
    """Add an entry to a heap of ``count`` entries; return the new count. A full heap stays as it is."""
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
def _sink(heap: Ints, count: int) -> None:
    """Take away the top of a heap of ``count`` entries."""
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
def _tell(layer: Layer, node: int, old: int, new: int, heap: Ints, count: int) -> int:
    """Put on the heap whatever may change since a position's level went from ``old`` to ``new``; return the
    heap's new count."""
    attacker, scratch = layer.attacker, layer.attacker.scratch
    frame, found = attacker.frame, room_of(scratch, int64(0))
    side, target, at = place_of(frame, node)
    mover = 1 - side
    attacks = mover == attacker.side
    search = MoveSearch(frame, mover, True, scratch.live[0, ATTACKERS if attacks else DEFENDERS], found)
    origins = all_origins(search, target, BIT[at], False, ALL_MOVES, int64(0))
    for entry in range(origins):
        _prefetch_level(layer, mover, found.word[entry], lowest(found.bits[entry]) & 63)
    for entry in range(origins):
        word = found.word[entry]
        for bit in bits_of(found.bits[entry] & attacker.phase.alive[mover, word]):
            level = _own_level(layer, layer.high, mover, word, bit)
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
def _assign(attacker: Attacker, side: int, word: int, bits: Word, whether: bool) -> None:
    """Have positions assigned or not."""
    sets = attacker.inner_sets
    if side == attacker.side:
        sets.wanted[word] = sets.wanted[word] & ~bits if whether else sets.wanted[word] | bits
    else:
        sets.caught[word] = sets.caught[word] | bits if whether else sets.caught[word] & ~bits


@inlined
def _set_level(attacker: Attacker, node: int, level: int) -> None:
    """Set the level of a position."""
    side, word, bit = place_of(attacker.frame, node)
    if level < NEVER:
        key = level >> TIME_BITS
        attacker.results.value[node] = key if attacker.side == 0 else 255 - key
        attacker.results.depth[node] = level & TIME_MASK
        attacker.scratch.deepest[0] = max(attacker.scratch.deepest[0], level & TIME_MASK)
        attacker.last_key[0] = max(attacker.last_key[0], key)
    _assign(attacker, side, word, BIT[bit], level < NEVER)


@kernel
def _tell_of_departed(layer: Layer, heap: Ints, most: int) -> int:
    """Put on the empty heap whatever may change since positions have left the layers with another level than
    they have had there, and remember which are alive. Returns the heap's count, more than it has room for if
    it is full or more than ``most`` have left."""
    attacker, room = layer.attacker, len(heap)
    words, seen, alive, found, count = attacker.frame.words, attacker.seen, attacker.phase.alive, 0, int64(0)
    mark_live(attacker.outer_sets.wanted, alive[1 - attacker.side], attacker.scratch.live[0])
    for side in range(2):
        for word in range(words):
            left = seen[side, word] & ~alive[side, word]
            if seen[side, word] != alive[side, word]:
                seen[side, word] = alive[side, word]
            for bit in bits_of(left if count <= room else ZERO):
                old = _own_level(layer, layer.high, side, word, bit)
                new = _fresh_level(layer, side, word, bit)
                if old != new:
                    found += 1
                    node = (side * words + word) * 64 + bit
                    count = _tell(layer, node, old, new, heap, count) if found <= most else room + 1
    return count


@kernel
def _settle_down(layer: Layer, heap: Ints, count: int, before: Changes, steps: int) -> int:
    """Work the heap off; returns how many changes were noted in ``before`` (levels whatever their key), or
    -1 - that number if there was not enough room or more than ``steps`` steps were needed."""
    changes, last, attacking = 0, int64(-1), layer.attacker.side
    while count > 0:
        steps -= 1
        if count > len(heap) or steps < 0 or changes + 1 > len(before.node):
            return -1 - changes
        entry = heap[0]
        _sink(heap, count)
        count -= 1
        level, node = entry >> _NODE_BITS, entry & (_LOWERED - 1)
        side, word, bit = place_of(layer.attacker.frame, node)
        old = _own_level(layer, layer.high, side, word, bit)
        if entry == last or old < level:
            continue  # lower levels are final
        last = entry
        if side != attacking:
            new = _by_moves(layer, node, NEVER if old == level else old)
        elif entry & _LOWERED:
            new = level
        else:
            new = _by_moves(layer, node, level)
        if new == old or new > old > level:
            continue
        if min(new, old) > level:
            count = _push(heap, count, min(new, old), node)
            continue
        before.node[changes] = node
        before.level[changes] = _own_level(layer, int64(256), side, word, bit)
        changes += 1
        if new > old:
            if new < NEVER:
                count = _push(heap, count, new, node)
            new = NEVER
        _set_level(layer.attacker, node, new)
        count = _tell(layer, node, old, new, heap, count)
    return changes


@kernel
def _drop_accrued(attacker: Attacker, high: int) -> None:
    """Positions whose level has become that of A itself are not assigned any more; set ``changed`` there."""
    words, code = attacker.frame.words, high if attacker.side == 0 else 255 - high
    for side in range(2):
        for word in range(words):
            bits = assigned(attacker, side, word) if attacker.phase.alive[side, word] else ZERO
            if bits:
                bits &= equal(attacker.results.value, (side * words + word) * 64, code)
                attacker.inner_sets.changed[side, word] |= bits
                _assign(attacker, side, word, bits, False)


@kernel
def _note_changes(layer: Layer, before: Changes, changes: int) -> None:
    """Set ``changed`` where the level is another one than before."""
    changed = layer.attacker.inner_sets.changed
    changed[:] = ZERO
    for number in range(changes - 1, -1, -1):
        side, word, bit = place_of(layer.attacker.frame, before.node[number])
        # Backwards: what a position's first entry says counts.
        changed[side, word] &= ~BIT[bit]
        if _own_level(layer, layer.high, side, word, bit) != before.level[number]:
            changed[side, word] |= BIT[bit]


@kernel
def limits(phase: Phase) -> tuple[int, int]:
    """Return how many positions may have left with another level, and how many may be looked at, before a new
    sweep is less work than an update."""
    alive = int64(0)
    for side in range(2):
        for word in range(len(phase.canonical)):
            alive += popcount(phase.alive[side, word])
    return alive // _LEFT_SHARE + 64, alive // _STEPS_SHARE + 64


@jit
def update(layer: Layer, rank: int, most: int, steps: int) -> int:
    """Bring the last inner sweep to the layer of this rank, if ``limits`` (``most`` and ``steps``) allow it.

    Returns -1 less the number of changes made and taken back if not (everything is as before then), 0 if
    nothing has changed, else 1: values, depths, ``changed`` and the sets are those of an inner sweep.
    """
    room = _GROWTH * most
    before = Changes(np.empty(room, np.int64), np.empty(room, np.int64))
    result = _follow(layer, rank, before, np.empty(room, np.int64), most, steps)
    for number in range(-2 - result, -1, -1):
        _set_level(layer.attacker, before.node[number], before.level[number])
    return result


@kernel
def _follow(layer: Layer, rank: int, before: Changes, heap: Ints, most: int, steps: int) -> int:
    """``update``, in which ``before`` and ``heap`` are room; if it fails, changes that it has made are still
    to be taken back."""
    attacker = layer.attacker
    # Before the first layer, what is remembered is of another phase.
    count = _tell_of_departed(layer, heap if rank > FIRST_LAYER else heap[:0], most)
    dropped = attacker.last_key[0] >= layer.high
    if rank == FIRST_LAYER or count > len(heap):
        return int64(-1)
    if count == 0 and not dropped:
        return int64(0)
    changes = _settle_down(layer, heap, count, before, steps)
    if changes < 0:
        return int64(changes)
    _note_changes(layer, before, changes)
    if dropped:
        _drop_accrued(attacker, layer.high)
        attacker.last_key[0] = layer.high - 1
    return int64(1)
