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
from tbgen.retro.kernels.bits import ONE, ZERO, Ints, lowest, popcount
from tbgen.retro.kernels.events import NEVER, TIME_BITS, TIME_MASK, level_of
from tbgen.retro.kernels.exits import NO_EXIT
from tbgen.retro.kernels.frame import Frame, Phase
from tbgen.retro.kernels.front import ATTACKERS, DEFENDERS, mark_live, origins_of
from tbgen.retro.kernels.lanes import equal
from tbgen.retro.kernels.layers import FIRST_LAYER, Attacker, assigned
from tbgen.retro.kernels.moves import ALL_MOVES, all_origins, quiet_targets, solved_slot
from tbgen.retro.kernels.resets import find_exit
from tbgen.retro.kernels.sweep import SweepResults
from tbgen.retro.kernels.targets import Pool

_ROOM_SHARE = 200
_STEPS_SHARE = 100
"""What part of the positions alive may have left, wait or be looked at before a new sweep is less work
(measured: a step costs some twenty to thirty times as much as a position in a sweep, and where many wait at
the beginning, there will be many more steps than that)."""
_NODE_BITS = int64(38)
_NODES = int64((1 << 38) - 1)


class Layer(NamedTuple):
    """What the levels of a layer follow from."""

    frame: Frame
    attacker: Attacker
    phase: Phase
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
    if assigned(attacker, layer.phase, side, word) & BIT[bit]:
        at = (side * layer.frame.words + word) * 64 + bit
        return _level(attacker.side, high, attacker.results.value[at], attacker.results.depth[at])
    return NEVER


@inlined
def _level_now(layer: Layer, side: int, word: int, bit: int) -> int:
    """The level of a legal position as its predecessors see it."""
    if layer.phase.alive[side, word] & BIT[bit]:
        return _own_level(layer, layer.high, side, word, bit)
    return _fresh_level(layer, side, word, bit)


@inlined
def _fresh_level(layer: Layer, side: int, word: int, bit: int) -> int:
    """The level of a position that has left the layers."""
    fresh = layer.fresh
    at = fresh.starts[side] + word * 64 + bit
    return _level(layer.attacker.side, layer.high, fresh.value[at], fresh.depth[at])


@kernel
def _by_moves(layer: Layer, node: int) -> int:
    """The level that a position's moves give it."""
    frame, scratch = layer.frame, layer.attacker.scratch
    attacking, room = layer.attacker.side, origins_of(scratch, int64(0))
    targets = room.word
    side = 0 if node < frame.words * 64 else 1
    other = 1 - side
    slot = node - side * frame.words * 64
    best = NEVER if side == attacking else int64(-1)
    count = quiet_targets(frame, slot >> 6, slot & 63, side, targets, room.squares)
    for number in range(count):
        target = solved_slot(frame, targets[number], room.squares)
        word, bit = target >> 6, target & 63
        if layer.phase.legal[other, word] & BIT[bit] == ZERO:
            continue
        level = _plus_one(_level_now(layer, other, word, bit))
        if side == attacking:
            best = min(best, level)
        else:
            best = max(best, level)
            if best == NEVER:
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
    frame, scratch, attacking = layer.frame, layer.attacker.scratch, layer.attacker.side
    words, found = frame.words, origins_of(scratch, int64(0))
    side = 0 if node < words * 64 else 1
    mover = 1 - side
    slot = node - side * words * 64
    live = scratch.live[0, ATTACKERS if mover == attacking else DEFENDERS]
    entries = all_origins(frame, slot >> 6, BIT[slot & 63], mover, False, ALL_MOVES, live, found, int64(0))
    for entry in range(entries):
        word = found.word[entry]
        bits = found.bits[entry] & layer.phase.alive[mover, word]
        while bits:
            bit = lowest(bits)
            bits &= bits - ONE
            level = _own_level(layer, layer.high, mover, word, bit)
            least = level
            if mover == attacking:
                if new < old:
                    least = new + 1
                    affected = least < level
                else:
                    affected = old + 1 == level
            elif new < old:
                least = new + 1
                affected = _plus_one(old) >= level
            else:
                affected = _plus_one(new) > level
            if affected:
                count = _push(heap, count, least, (mover * words + word) * 64 + bit)
    return count


@inlined
def _set_level(attacker: Attacker, words: int, node: int, level: int) -> None:
    """Set the level of a position of the phase, which has ``words`` words of one side to move."""
    sets, results, side = attacker.inner_sets, attacker.results, 0 if node < words * 64 else 1
    word = (node >> 6) - side * words
    bit = BIT[node & 63]
    if level < NEVER:
        key = level >> TIME_BITS
        results.value[node] = key if attacker.side == 0 else 255 - key
        results.depth[node] = level & TIME_MASK
        attacker.scratch.deepest[0] = max(attacker.scratch.deepest[0], level & TIME_MASK)
        attacker.last_key[0] = max(attacker.last_key[0], key)
        if side == attacker.side:
            sets.wanted[word] &= ~bit
        else:
            sets.caught[word] |= bit
    elif side == attacker.side:
        sets.wanted[word] |= bit
    else:
        sets.caught[word] &= ~bit


@kernel
def _departed(layer: Layer, gone: Changes) -> int:
    """List the positions that have left the layers since the last one with another level than they had there.
    Returns their number, more than there is room for if there are too many."""
    attacker, phase = layer.attacker, layer.phase
    words = layer.frame.words
    count = 0
    for side in range(2):
        for word in range(words):
            bits = attacker.seen[side, word] & ~phase.alive[side, word]
            while bits:
                bit = lowest(bits)
                bits &= bits - ONE
                old = _own_level(layer, layer.high, side, word, bit)
                if old != _fresh_level(layer, side, word, bit):
                    if count == len(gone.node):
                        return count + 1
                    gone.node[count] = (side * words + word) * 64 + bit
                    gone.level[count] = old
                    count += 1
    return count


@kernel
def _tell_of(layer: Layer, gone: Changes, found: int, heap: Ints) -> int:
    """Put on the empty heap whatever may change since ``found`` positions have left; return its count, more
    than it has room for if it is full."""
    words, count = layer.frame.words, int64(0)
    for number in range(found):
        node = gone.node[number]
        side = 0 if node < words * 64 else 1
        new = _fresh_level(layer, side, (node >> 6) - side * words, node & 63)
        count = _tell(layer, node, gone.level[number], new, heap, count)
        if count > len(heap):
            break
    return count


@kernel
def _settle_down(layer: Layer, heap: Ints, count: int, before: Changes, steps: int) -> int:
    """Work the heap off; returns how many changes were noted in ``before`` (levels whatever their key), or
    -1 - that number if there was not enough room or more than ``steps`` steps were needed."""
    words = layer.frame.words
    changes = 0
    while count > 0:
        steps -= 1
        if count > len(heap) or steps < 0 or changes + 1 > len(before.node):
            return -1 - changes
        level, node = heap[0] >> _NODE_BITS, heap[0] & _NODES
        _sink(heap, count)
        count -= 1
        side = 0 if node < words * 64 else 1
        word = (node >> 6) - side * words
        old = _own_level(layer, layer.high, side, word, node & 63)
        new = _by_moves(layer, node)
        if new == old:
            continue
        if min(new, old) > level:
            count = _push(heap, count, min(new, old), node)
            continue
        before.node[changes] = node
        before.level[changes] = _own_level(layer, int64(256), side, word, node & 63)
        changes += 1
        if new > old:
            if new < NEVER:
                count = _push(heap, count, new, node)
            new = NEVER
        _set_level(layer.attacker, words, node, new)
        count = _tell(layer, node, old, new, heap, count)
    return changes


@kernel
def _drop_accrued(layer: Layer) -> None:
    """Positions whose level has become that of A itself are not assigned any more; set ``changed`` there."""
    attacker, phase, words = layer.attacker, layer.phase, layer.frame.words
    code = layer.high if attacker.side == 0 else 255 - layer.high
    for side in range(2):
        for word in range(words):
            bits = assigned(attacker, phase, side, word)
            if bits == ZERO or phase.alive[side, word] == ZERO:
                continue
            first = (side * words + word) * 64
            now = equal(attacker.results.value, first, code)
            attacker.inner_sets.changed[side, word] |= now & bits
            if side == attacker.side:
                attacker.inner_sets.wanted[word] |= now & bits
            else:
                attacker.inner_sets.caught[word] &= ~now


@kernel
def _note_changes(layer: Layer, before: Changes, changes: int) -> None:
    """Set ``changed`` where the level is another one than before."""
    words, changed = layer.frame.words, layer.attacker.inner_sets.changed
    for number in range(changes - 1, -1, -1):
        node = before.node[number]
        side = 0 if node < words * 64 else 1
        word = (node >> 6) - side * words
        # Backwards: what a position's first entry says counts.
        if _own_level(layer, layer.high, side, word, node & 63) != before.level[number]:
            changed[side, word] |= BIT[node & 63]
        else:
            changed[side, word] &= ~BIT[node & 63]


@kernel
def limits(phase: Phase) -> tuple[int, int]:
    """Return how many positions may have left or change, and how many may be looked at, before a new sweep is
    less work than an update."""
    alive = int64(0)
    for side in range(2):
        for word in range(len(phase.canonical)):
            alive += popcount(phase.alive[side, word])
    return alive // _ROOM_SHARE + 64, alive // _STEPS_SHARE + 64


@jit
def update(layer: Layer, rank: int, room: int, steps: int) -> int:
    """Bring the last inner sweep to the layer of this rank, if ``limits`` (``room`` and ``steps``) allow it.

    Returns -1 less the number of changes made and taken back if not (everything is as before then), 0 if
    nothing has changed, else 1: values, depths, ``changed`` and the sets are those of an inner sweep.
    """
    attacker, phase, words = layer.attacker, layer.phase, layer.frame.words
    gone = Changes(np.empty(room, np.int64), np.empty(room, np.int64))
    found = room + 1 if rank == FIRST_LAYER else _departed(layer, gone)
    dropped = attacker.last_key[0] >= layer.high
    if found > room:
        _see(phase, attacker)
        return -1
    if found == 0 and not dropped:
        _see(phase, attacker)
        return 0
    mark_live(attacker.outer_sets.wanted, phase.alive[1 - attacker.side], attacker.scratch.live[0])
    heap = np.empty(room, np.int64)
    count = _tell_of(layer, gone, found, heap)
    if count > room:
        _see(phase, attacker)
        return -1
    before = Changes(np.empty(room, np.int64), np.empty(room, np.int64))
    changes = _settle_down(layer, heap, count, before, steps)
    _see(phase, attacker)
    if changes < 0:
        for number in range(-2 - changes, -1, -1):
            _set_level(attacker, words, before.node[number], before.level[number])
        return changes
    attacker.inner_sets.changed[:] = ZERO
    _note_changes(layer, before, changes)
    if dropped:
        _drop_accrued(layer)
        attacker.last_key[0] = layer.high - 1
    return 1


@inlined
def _see(phase: Phase, attacker: Attacker) -> None:
    """Remember which positions are alive."""
    for side in range(2):
        for word in range(len(phase.canonical)):
            attacker.seen[side, word] = phase.alive[side, word]
