"""One layer alone: a sweep of one attacker with the events that belong to the layer."""

import numpy as np

from tbgen.accelerate import int64, jit, kernel
from tbgen.retro.geometry import BIT
from tbgen.retro.kernels.bits import ONE, ZERO, Codes, Plies, Words, lowest
from tbgen.retro.kernels.events import Agenda, exit_events, with_exit
from tbgen.retro.kernels.layers import Attacker, begin, settled_events
from tbgen.retro.kernels.mobility import rank_at
from tbgen.retro.kernels.phase import Workspace
from tbgen.retro.kernels.sweep import READY, Results, Sweep, run_sweep
from tbgen.score import NONE


@kernel
def _revive(workspace: Workspace, rank: int, fresh: Results) -> None:
    """Set which positions are alive in the layers of a rank, given the fresh values."""
    phase = workspace.phase
    for side in range(2):
        for word in range(workspace.frame.words):
            bits, alive = phase.legal[side, word], ZERO
            while bits:
                bit = lowest(bits)
                bits &= bits - ONE
                code = int64(fresh.value[fresh.starts[side] + word * 64 + bit])
                of_fresh = code if code < NONE else 255 - code
                if of_fresh >= rank and rank_at(phase.slices[side, word], bit) >= rank:
                    alive |= BIT[bit]
            phase.alive[side, word] = alive


@jit
def _layer_events(workspace: Workspace, attacking: int, leaving: Words, high: int, fresh: Results) -> Agenda:
    """The events of the layer: exits of positions alive, fresh values of all others, keys below ``high``."""
    phase = workspace.phase
    exits = exit_events(attacking, leaving & phase.alive, workspace.exits, high)
    return Agenda(exits, settled_events(attacking, phase.legal & ~phase.alive, fresh, high), int64(0))


@kernel
def _begin(workspace: Workspace, attacker: Attacker, leaving: Words) -> None:
    """Set up the attacker's inner sets: nothing assigned, only positions alive in the layer."""
    phase, sets, outer_sets = workspace.phase, attacker.inner_sets, attacker.outer_sets
    begin(attacker, phase, leaving)
    sets.caught[:] = ZERO
    for word in range(workspace.frame.words):
        sets.wanted[word] = outer_sets.wanted[word] & phase.alive[attacker.side, word]
        for number in range(READY):
            sets.waiting[word, number] = outer_sets.waiting[word, number]
        sets.waiting[word, READY] = outer_sets.waiting[word, READY] & phase.alive[1 - attacker.side, word]


@jit
def solve_layer(
    workspace: Workspace, attacking: int, rank: int, fresh: Results, value: Codes, depth: Plies
) -> None:
    """Solve the layer of the accrued score of this rank that the opponent of the attacker ``attacking`` (0
    White, 1 Black) holds.

    ``fresh`` holds the fresh values; ``value`` and ``depth`` (2, phase size) receive codes and plies at the
    canonical slots of the positions alive in the layer.
    """
    attacker = workspace.white if attacking == 0 else workspace.black
    frame, phase, sets, results = workspace.frame, workspace.phase, attacker.inner_sets, attacker.results
    high = 255 - rank
    _revive(workspace, rank, fresh)
    leaving = with_exit(workspace.exits, frame.words)
    _begin(workspace, attacker, leaving)
    agenda = _layer_events(workspace, attacking, leaving, high, fresh)
    alive, scratch = phase.alive[1 - attacking], attacker.scratch
    run_sweep(Sweep(frame, attacking, agenda, high, sets, alive, scratch, results), int64(0))
    own = np.uint8(high if attacking == 0 else 255 - high)
    for side in range(2):
        for word in range(frame.words):
            bits = phase.alive[side, word] & phase.canonical[word]
            found = ~sets.wanted[word] if side == attacking else sets.caught[word]
            while bits:
                bit = lowest(bits)
                bits &= bits - ONE
                slot = word * 64 + bit
                if found & BIT[bit]:
                    value[side, slot] = results.value[side * frame.words * 64 + slot]
                    depth[side, slot] = results.depth[side * frame.words * 64 + slot]
                else:
                    value[side, slot] = own
