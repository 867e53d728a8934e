"""The inner sweep of a layer from that of the layer before: only what changes is worked out anew.

A sweep's *levels*, (key, depth) packed in one number, are the only solution of its equations: an attacker's
level is the least of its moves' levels plus one ply, a defender's the greatest. Between two layers the
equations change only where positions have left the layers with a level other than the last one. From there
the change is followed backwards in the order of levels (the dynamic fixed point algorithm of Ramalingam and
Reps): a position whose moves say less than its level gets the lower one, a position whose moves say more is
first taken back altogether, so that no cycle of moves can support itself.
"""

import numpy as np

from tbgen.accelerate import inlined, jit, kernel
from tbgen.retro.geometry import BIT
from tbgen.retro.kernels.bits import ONE, ZERO, lowest, popcount
from tbgen.retro.kernels.layers import FIRST_LAYER, assigned
from tbgen.retro.kernels.moves import origins, quiet_targets
from tbgen.retro.kernels.resets import NO_EXIT
from tbgen.retro.kernels.sweep import mark_live

_NEVER = np.int64(1 << 24)
"""Level of what is not assigned."""
_ROOM_SHARE = 16
_STEPS_SHARE = 100
"""What part of the positions alive may have left or be looked at before a new sweep is less work (measured: a
step costs some twenty to thirty times as much as a position in a sweep)."""
_NODE_BITS = np.int64(38)
_NODES = np.int64((1 << 38) - 1)


@inlined
def _level(attacker, high, value, depth):
    """The level of a value and depth; ``_NEVER`` from key ``high`` on."""
    key = np.int64(value) if attacker == 0 else 255 - np.int64(value)
    return key << 16 | np.int64(depth) if key < high else _NEVER


@inlined
def _plus_one(level):
    """The level one ply further from the goal."""
    return level + 1 if level < _NEVER else _NEVER


@inlined
def _own_level(attacker, high, phase, att, side, word, bit):
    """The last level of a position, alive or not."""
    if assigned(attacker, side, word, phase, att) & BIT[bit]:
        at = (side * len(phase.canonical) + word) * 64 + bit
        return _level(attacker, high, att.value[at], att.depth[at])
    return _NEVER


@inlined
def _level_now(attacker, high, phase, att, side, word, bit, value, depth, starts):
    """The level of a legal position as its predecessors see it."""
    if phase.alive[side, word] & BIT[bit]:
        return _own_level(attacker, high, phase, att, side, word, bit)
    at = starts[side] + word * 64 + bit
    return _level(attacker, high, value[at], depth[at])


@kernel
def _by_moves(fr, attacker, high, phase, att, ex, node, value, depth, starts, targets):
    """The level that a position's moves give it."""
    words = len(phase.canonical)
    side = 0 if node < words * 64 else 1
    other = 1 - side
    slot = node - side * words * 64
    best = _NEVER if side == attacker else np.int64(-1)
    if ex.nearest[node] != NO_EXIT:
        ply = ex.nearest[node] if side == attacker else ex.farthest[node]
        best = _level(attacker, high, ex.value[node], np.int64(ply) + 1)
    count = quiet_targets(fr, slot >> 6, slot & 63, side, targets, att.scratch.squares)
    for number in range(count):
        word, bit = targets[number] >> 6, targets[number] & 63
        if phase.legal[other, word] & BIT[bit] == ZERO:
            continue
        level = _plus_one(_level_now(attacker, high, phase, att, other, word, bit, value, depth, starts))
        if side == attacker:
            best = min(best, level)
        else:
            best = max(best, level)
            if best == _NEVER:
                return best
    return best


@inlined
def _push(heap, count, level, node):
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
def _sink(heap, count):
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
def _tell(fr, attacker, high, phase, att, node, old, new, heap, count):
    """Put on the heap whatever may change since a position's level went from ``old`` to ``new``."""
    words = len(phase.canonical)
    side = 0 if node < words * 64 else 1
    mover = 1 - side
    slot = node - side * words * 64
    row = 0 if mover == attacker else 1
    scratch = att.scratch
    entries = origins(
        fr, slot >> 6, BIT[slot & 63], mover, False, scratch.live[row], scratch.origin_word,
        scratch.origin_bits, np.int64(0), scratch.squares,
    )  # fmt: skip
    for entry in range(entries):
        word = scratch.origin_word[entry]
        bits = scratch.origin_bits[entry] & phase.alive[mover, word]
        while bits:
            bit = lowest(bits)
            bits &= bits - ONE
            level = _own_level(attacker, high, phase, att, mover, word, bit)
            least = level
            if mover == attacker:
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
def _set_level(attacker, phase, att, node, level):
    words = len(phase.canonical)
    side = 0 if node < words * 64 else 1
    word = (node >> 6) - side * words
    bit = BIT[node & 63]
    if level < _NEVER:
        key = level >> 16
        att.value[node] = key if attacker == 0 else 255 - key
        att.depth[node] = level & 0xFFFF
        att.scratch.deepest[0] = max(att.scratch.deepest[0], level & 0xFFFF)
        att.last_key[0] = max(att.last_key[0], key)
        if side == attacker:
            att.inner_sets.wanted[word] &= ~bit
        else:
            att.inner_sets.caught[word] |= bit
    elif side == attacker:
        att.inner_sets.wanted[word] |= bit
    else:
        att.inner_sets.caught[word] &= ~bit


@kernel
def _departed(attacker, high, phase, att, value, depth, starts, seeds, levels):
    """List the positions that have left the layers since the last one with another level than they had there
    (``levels``). Returns their number, more than there is room for if there are too many."""
    count = 0
    for side in range(2):
        for word in range(len(phase.canonical)):
            gone = att.seen[side, word] & ~phase.alive[side, word]
            while gone:
                bit = lowest(gone)
                gone &= gone - ONE
                old = _own_level(attacker, high, phase, att, side, word, bit)
                at = starts[side] + word * 64 + bit
                if old != _level(attacker, high, value[at], depth[at]):
                    if count == len(seeds):
                        return count + 1
                    seeds[count] = (side * len(phase.canonical) + word) * 64 + bit
                    levels[count] = old
                    count += 1
    return count


@kernel
def _settle_down(
    fr, attacker, high, phase, att, ex, value, depth, starts, heap, count, old_node, old_level, steps
):
    """Work the heap off; returns how many changes were noted in ``old_node`` and ``old_level`` (whatever its
    key), or -1 - that number if there was not enough room or more than ``steps`` steps were needed."""
    targets = att.scratch.origin_word
    words = len(phase.canonical)
    changes = 0
    while count > 0:
        steps -= 1
        if count > len(heap) or steps < 0 or changes + 1 > len(old_node):
            return -1 - changes
        level, node = heap[0] >> _NODE_BITS, heap[0] & _NODES
        _sink(heap, count)
        count -= 1
        side = 0 if node < words * 64 else 1
        word = (node >> 6) - side * words
        old = _own_level(attacker, high, phase, att, side, word, node & 63)
        new = _by_moves(fr, attacker, high, phase, att, ex, node, value, depth, starts, targets)
        if new == old:
            continue
        if min(new, old) > level:
            count = _push(heap, count, min(new, old), node)
            continue
        old_node[changes] = node
        old_level[changes] = _own_level(attacker, np.int64(256), phase, att, side, word, node & 63)
        changes += 1
        if new > old:
            if new < _NEVER:
                count = _push(heap, count, new, node)
            new = _NEVER
        _set_level(attacker, phase, att, node, new)
        count = _tell(fr, attacker, high, phase, att, node, old, new, heap, count)
    return changes


@kernel
def _drop_accrued(attacker, high, phase, att):
    """Positions whose level has become that of A itself are not assigned any more."""
    words = len(phase.canonical)
    code = high if attacker == 0 else 255 - high
    for side in range(2):
        for word in range(words):
            bits = assigned(attacker, side, word, phase, att)
            if bits == ZERO or phase.alive[side, word] == ZERO:
                continue
            first = (side * words + word) * 64
            now = ZERO
            for bit in range(64):
                if att.value[first + bit] == code:
                    now |= BIT[bit]
            if side == attacker:
                att.inner_sets.wanted[word] |= now & bits
            else:
                att.inner_sets.caught[word] &= ~now


@kernel
def _note_changes(attacker, high, phase, att, old_node, old_level, changes):
    """Set ``changed`` where the level is another one than before."""
    words = len(phase.canonical)
    for number in range(changes - 1, -1, -1):
        node = old_node[number]
        side = 0 if node < words * 64 else 1
        word = (node >> 6) - side * words
        # Backwards: what a position's first entry says counts.
        old = old_level[number] if old_level[number] >> 16 < high else _NEVER
        if _own_level(attacker, high, phase, att, side, word, node & 63) != old:
            att.changed[side, word] |= BIT[node & 63]
        else:
            att.changed[side, word] &= ~BIT[node & 63]


@kernel
def limits(phase):
    """Return how many positions may have left or change, and how many may be looked at, before a new sweep is
    less work than an update."""
    alive = np.int64(0)
    for side in range(2):
        for word in range(len(phase.canonical)):
            alive += popcount(phase.alive[side, word])
    return alive // _ROOM_SHARE + 64, alive // _STEPS_SHARE + 64


@jit
def update(fr, attacker, rank, phase, att, ex, value, depth, starts, room, steps):
    """Bring the last inner sweep to the layer of this rank, if ``limits`` (``room`` and ``steps``) allow it.

    Returns -1 less the number of changes made and taken back if not (everything is as before then), 0 if
    nothing has changed, else 1: value, depth, ``changed`` and the sets are those of an inner sweep.
    """
    high = 255 - rank
    seeds, levels = np.empty(room, np.int64), np.empty(room, np.int64)
    found = _departed(attacker, high, phase, att, value, depth, starts, seeds, levels)
    dropped = att.last_key[0] >= high
    if rank == FIRST_LAYER or found > room:
        _see(phase, att)
        return -1
    if found == 0 and not dropped:
        _see(phase, att)
        return 0
    mark_live(att.outer_sets, phase.alive[1 - attacker], att.scratch.live)
    heap, count = np.empty(room, np.int64), np.int64(0)
    for number in range(found):
        node = seeds[number]
        side = 0 if node < fr.words * 64 else 1
        at = starts[side] + node - side * fr.words * 64
        new = _level(attacker, high, value[at], depth[at])
        count = _tell(fr, attacker, high, phase, att, node, levels[number], new, heap, count)
        if count > room:
            _see(phase, att)
            return -1
    old_node, old_level = np.empty(room, np.int64), np.empty(room, np.int64)
    changes = _settle_down(
        fr,
        attacker,
        high,
        phase,
        att,
        ex,
        value,
        depth,
        starts,
        heap,
        count,
        old_node,
        old_level,
        steps,
    )
    _see(phase, att)
    if changes < 0:
        for number in range(-2 - changes, -1, -1):
            _set_level(attacker, phase, att, old_node[number], old_level[number])
        return changes
    att.changed[:] = ZERO
    _note_changes(attacker, high, phase, att, old_node, old_level, changes)
    if dropped:
        _drop_accrued(attacker, high, phase, att)
        att.last_key[0] = high - 1
    return 1


@inlined
def _see(phase, att):
    """Remember which positions are alive."""
    for side in range(2):
        for word in range(len(phase.canonical)):
            att.seen[side, word] = phase.alive[side, word]
