"""One layer alone: the values of one accrued score in one phase, from the table's fresh values.

A table may have been built without accrued scores, because all its layers together would be large. Any one of
them follows from the fresh values (section 4 of docs/theory.md): positions that are decided, or whose own
score has a smaller rank than A, leave the layer with their fresh value; one sweep of one attacker does the
rest.
"""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tbgen.accelerate import jit, kernel
from tbgen.index.layout import Layout, layout_of
from tbgen.index.source import BYTES_PER_SLOT, Source, StoredTable
from tbgen.index.zeroing import block_slots, reached_by_promotion
from tbgen.material import Material
from tbgen.retro.kernels.bits import ONE, ZERO, lowest
from tbgen.retro.kernels.canonical import mirrors_itself
from tbgen.retro.kernels.events import event, sort_events
from tbgen.retro.kernels.frame import legal_words, place_pawns
from tbgen.retro.kernels.geometry import BIT
from tbgen.retro.kernels.layers import begin
from tbgen.retro.kernels.mobility import rank_at
from tbgen.retro.kernels.phase import count_moves, make_workspace
from tbgen.retro.kernels.resets import NO_EXIT
from tbgen.retro.kernels.sweep import READY, sweep
from tbgen.retro.supply import Supply
from tbgen.score import NONE, GScore


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
def _solve(ws, attacker, rank, value, depth, starts, out_value, out_depth):
    att = ws.white if attacker == 0 else ws.black
    defender, words = 1 - attacker, ws.frame.words
    high = 255 - rank
    _revive(ws, rank, value, starts)
    begin(ws.frame, attacker, ws.phase, att, ws.exits)
    att.passing.caught[:] = ZERO
    for word in range(words):
        att.passing.wanted[word] = att.lasting.wanted[word] & ws.phase.alive[attacker, word]
        for number in range(READY):
            att.passing.waiting[word, number] = att.lasting.waiting[word, number]
        att.passing.waiting[word, READY] = att.lasting.waiting[word, READY] & ws.phase.alive[defender, word]
    events = _layer_events(ws, attacker, high, value, depth, starts)
    sweep(
        ws.frame, attacker, events, 0, high, att.passing, ws.phase.alive[defender], att.scratch, att.value,
        att.depth, att.changed, att.starts,
    )  # fmt: skip
    own = np.uint8(high if attacker == 0 else 255 - high)
    for side in range(2):
        for word in range(words):
            bits = ws.phase.alive[side, word] & ws.phase.canonical[word]
            if side == attacker:
                found = ~att.passing.wanted[word]
            else:
                found = att.passing.caught[word]
            while bits:
                bit = lowest(bits)
                bits &= bits - ONE
                slot = word * 64 + bit
                if found & BIT[bit]:
                    out_value[side, slot] = att.value[side * words * 64 + slot]
                    out_depth[side, slot] = att.depth[side * words * 64 + slot]
                else:
                    out_value[side, slot] = own


_BYTES_PER_SLOT: Final = 54
"""Of a workspace, events and results, per slot of the phase for one side to move."""


def memory_needed(layout: Layout, phase: int) -> int:
    """Return about how many bytes it takes to solve one layer of a phase."""
    smaller = [other for other in layout.material.successors() if other.men < layout.material.men]
    around = sum(2 * layout_of(other).size for other in smaller)
    around += sum(map(block_slots, reached_by_promotion(layout, [phase])))
    return _BYTES_PER_SLOT * layout.phase_size + BYTES_PER_SLOT * (6 * layout.phase_size + around)


class LayerSolver:
    """Solves layers of one phase of a table, one after the other, from its fresh values.

    :param table: the table that was built without accrued scores.
    :param sources: every successor's table.
    :raises DamagedTableError: if one of them does not decode.
    """

    def __init__(
        self,
        table: StoredTable,
        layout: Layout,
        phase: int,
        sources: Mapping[Material, Source],
        *,
        threads: int = 2,
    ) -> None:
        supply = Supply(layout, sources, table)
        supply.prepare([phase])
        supply.recall(phase)
        self._pool, self._phase_size = supply.pool, layout.phase_size
        self._starts = supply.pool.targets.begin[phase].copy()
        self._ws = ws = make_workspace(layout)
        place_pawns(ws.frame, layout, phase)
        mirrored = mirrors_itself(layout, phase)
        parts = list(pairwise(np.linspace(0, ws.frame.words, 4 * threads + 1).astype(int).tolist()))
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(lambda part: legal_words(ws.frame, ws.phase.legal, *part), parts))
            list(pool.map(lambda part: count_moves(ws, supply.pool, mirrored, *part), parts))

    def solve(self, accrued: GScore) -> tuple[NDArray[np.uint8], NDArray[np.uint16]]:
        """Return codes of V(P, A) and depths D(P, A), shape (2, phase size) each.

        They stand at the canonical slots of the positions that A, their own score and their fresh value leave
        undecided: both scores have at least the rank of A. Elsewhere the code is ``NONE``.
        """
        value = np.full((2, self._phase_size), NONE, np.uint8)
        depth = np.zeros((2, self._phase_size), np.uint16)
        fresh = self._pool.value, self._pool.depth
        attacker = 1 if accrued.white else 0
        _solve(self._ws, attacker, np.int64(accrued.rank), *fresh, self._starts, value, depth)
        return value, depth
