"""One layer alone: a sweep of one attacker with the events that belong to the layer."""

import numpy as np

from tbgen.accelerate import jit, kernel
from tbgen.retro.geometry import BIT
from tbgen.retro.kernels.bits import ONE, ZERO, lowest
from tbgen.retro.kernels.events import event, sort_events
from tbgen.retro.kernels.layers import begin
from tbgen.retro.kernels.mobility import rank_at
from tbgen.retro.kernels.resets import NO_EXIT
from tbgen.retro.kernels.sweep import READY, sweep
from tbgen.score import NONE


@kernel
def _revive(ws, rank, value, starts):
    """Set which positions are alive in the layers of a rank, given the fresh values."""
    for side in range(2):
        for word in range(ws.frame.words):
            bits, alive = ws.phase.legal[side, word], ZERO
            while bits:
                bit = lowest(bits)
                bits &= bits - ONE
                code = np.int64(value[starts[side] + word * 64 + bit])
                fresh = code if code < NONE else 255 - code
                if fresh >= rank and rank_at(ws.phase.slices[side, word], bit) >= rank:
                    alive |= BIT[bit]
            ws.phase.alive[side, word] = alive


@jit
def _layer_events(ws, attacker, high, value, depth, starts):
    """The events of the layer: exits of positions alive, fresh values of all others, keys below ``high``."""
    nodes = ws.frame.words * 64
    count = 0
    for step in range(2):
        if step == 1:
            events = np.empty(count, np.uint64)
            count = 0
        for node in range(2 * nodes):
            side = 0 if node < nodes else 1
            slot = node - side * nodes
            word, bit = slot >> 6, BIT[slot & 63]
            if ws.phase.legal[side, word] & bit == ZERO:
                continue
            settled = ws.phase.alive[side, word] & bit == ZERO
            if settled:
                code, time = np.int64(value[starts[side] + slot]), np.int64(depth[starts[side] + slot])
            elif ws.exits.nearest[node] != NO_EXIT:
                ply = ws.exits.nearest[node] if side == attacker else ws.exits.farthest[node]
                code, time = np.int64(ws.exits.value[node]), np.int64(ply) + 1
            else:
                continue
            if (code if attacker == 0 else 255 - code) < high:
                if step == 1:
                    events[count] = event(attacker, code, time, settled, node)
                count += 1
    return sort_events(events)


@jit
def solve_layer(ws, attacker, rank, value, depth, starts, out_value, out_depth):
    att = ws.white if attacker == 0 else ws.black
    defender, words = 1 - attacker, ws.frame.words
    high = 255 - rank
    _revive(ws, rank, value, starts)
    begin(ws.frame, attacker, ws.phase, att, ws.exits)
    att.inner_sets.caught[:] = ZERO
    for word in range(words):
        att.inner_sets.wanted[word] = att.outer_sets.wanted[word] & ws.phase.alive[attacker, word]
        for number in range(READY):
            att.inner_sets.waiting[word, number] = att.outer_sets.waiting[word, number]
        att.inner_sets.waiting[word, READY] = (
            att.outer_sets.waiting[word, READY] & ws.phase.alive[defender, word]
        )
    events = _layer_events(ws, attacker, high, value, depth, starts)
    sweep(
        ws.frame, attacker, events, 0, high, att.inner_sets, ws.phase.alive[defender], att.scratch, att.value,
        att.depth, att.changed, att.starts,
    )  # fmt: skip
    own = np.uint8(high if attacker == 0 else 255 - high)
    for side in range(2):
        for word in range(words):
            bits = ws.phase.alive[side, word] & ws.phase.canonical[word]
            if side == attacker:
                found = ~att.inner_sets.wanted[word]
            else:
                found = att.inner_sets.caught[word]
            while bits:
                bit = lowest(bits)
                bits &= bits - ONE
                slot = word * 64 + bit
                if found & BIT[bit]:
                    out_value[side, slot] = att.value[side * words * 64 + slot]
                    out_depth[side, slot] = att.depth[side * words * 64 + slot]
                else:
                    out_value[side, slot] = own
