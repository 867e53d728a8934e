"""One layer alone: sweeps with the events that belong to the layer."""

import numpy as np

from tbgen.compiler.jit import int64, jit, kernel
from tbgen.index.symmetry import TRANSPOSE
from tbgen.retro.kernels.bits import ALL, ZERO, Codes, Plies, Words, image, reach
from tbgen.retro.kernels.events import Agenda, exit_events, with_exit
from tbgen.retro.kernels.frame import decode, is_image
from tbgen.retro.kernels.lanes import move, put, within
from tbgen.retro.kernels.layers import Attacker, begin, settled_events
from tbgen.retro.kernels.mobility import of_rank_at_least
from tbgen.retro.kernels.moves import MAX_ORIGINS, Onward, image_word, onward
from tbgen.retro.kernels.phase import Workspace
from tbgen.retro.kernels.sweep import Sweep, SweepResults, run_sweep


@kernel
def _revive(workspace: Workspace, rank: int, fresh: SweepResults, decided: bool) -> None:
    """Set which positions are alive in the layers of a rank: those whose own score has this rank or a larger
    one and, if ``decided``, whose fresh value has too."""
    phase = workspace.phase
    for side in range(2):
        for word in range(workspace.frame.words):
            alive = ZERO if is_image(workspace.frame, word) else phase.legal[side, word]
            if alive:
                alive &= of_rank_at_least(phase.slices[side, word], rank)
                if decided:
                    alive &= within(fresh.value, fresh.starts[side] + word * 64, rank, 255 - rank)
            phase.alive[side, word] = alive


@kernel
def _find_settled(workspace: Workspace, room: Onward) -> None:
    """Set which positions are settled: those that are not alive and that positions alive can move to; no
    others matter in the layer."""
    frame, phase = workspace.frame, workspace.phase
    phase.settled[:] = ZERO
    for side in range(2):
        reached = phase.settled[1 - side]
        for word in range(frame.words):
            alive = phase.alive[side, word]
            if alive == ZERO:
                continue
            for number in range(onward(frame, word, side, room)):
                target, bits = room.word[number], image(alive & room.free[number], room.symmetry[number])
                if is_image(frame, target):
                    decode(frame, target, room.squares)
                    target, bits = image_word(frame, target, room.squares), image(bits, TRANSPOSE)
                reached[target] |= bits
            if frame.movers[frame.scalars] == side:
                empty = ~decode(frame, word, room.squares)
                reached[word] |= reach(frame.kinds[frame.scalars], alive, empty)
    for side in range(2):
        for word in range(frame.words):
            phase.settled[side, word] &= phase.legal[side, word] & ~phase.alive[side, word]


@jit
def _enter(workspace: Workspace, rank: int, fresh: SweepResults, decided: bool) -> None:
    """Set which positions are alive in the layers of a rank, and which are settled."""
    room = Onward(
        np.empty(MAX_ORIGINS, np.int64),
        np.empty(MAX_ORIGINS, np.int64),
        np.empty(MAX_ORIGINS, np.uint64),
        np.empty(8, np.int64),
    )
    _revive(workspace, rank, fresh, decided)
    _find_settled(workspace, room)


@jit
def _layer_events(
    workspace: Workspace, attacking: int, leaving: Words, high: int, fresh: SweepResults
) -> Agenda:
    """The events of the layer: exits of positions alive, fresh values of those settled, keys below
    ``high``."""
    phase = workspace.phase
    exits = exit_events(attacking, leaving, workspace.exits, high)
    return Agenda(exits, settled_events(attacking, phase.settled, fresh, high), int64(0))


@kernel
def _begin(workspace: Workspace, attacker: Attacker, leaving: Words) -> None:
    """Set up the attacker's inner sets: nothing assigned, only positions alive in the layer."""
    phase, sets, outer_sets = workspace.phase, attacker.inner_sets, attacker.outer_sets
    begin(attacker, phase, leaving)
    sets.caught[:] = ZERO
    for word in range(workspace.frame.words):
        sets.wanted[word] = outer_sets.wanted[word] & phase.alive[attacker.side, word]
        sets.ready[word] = outer_sets.ready[word] & phase.alive[1 - attacker.side, word]
        move(sets.left, word * 64, outer_sets.left, word * 64, ALL)


@jit
def _sweep(workspace: Workspace, attacking: int, high: int, fresh: SweepResults) -> None:
    """Assign what an attacker can force among the positions alive, keys below ``high``."""
    attacker = workspace.white if attacking == 0 else workspace.black
    leaving = with_exit(workspace.exits, workspace.phase.alive)
    _begin(workspace, attacker, leaving)
    agenda = _layer_events(workspace, attacking, leaving, high, fresh)
    alive = workspace.phase.alive[1 - attacking]
    run_sweep(
        Sweep(
            workspace.frame,
            attacking,
            agenda,
            high,
            attacker.inner_sets,
            alive,
            attacker.scratch,
            attacker.results,
            False,
        ),
        int64(0),
    )


@kernel
def take(workspace: Workspace, attacking: int, at: int, value: Codes, depth: Plies) -> None:
    """Copy what the attacker's inner sweep has assigned to ``value`` and ``depth`` (2, slots), in which the
    phase begins at ``at``; canonical slots only."""
    attacker = workspace.white if attacking == 0 else workspace.black
    phase, sets, results = workspace.phase, attacker.inner_sets, attacker.results
    words = workspace.frame.words
    for side in range(2):
        for word in range(words):
            bits = phase.alive[side, word] & phase.canonical[word]
            bits &= ~sets.wanted[word] if side == attacking else sets.caught[word]
            node = (side * words + word) * 64
            move(value[side], at + word * 64, results.value, node, bits)
            move(depth[side], at + word * 64, results.depth, node, bits)


@kernel
def fill(workspace: Workspace, code: int, at: int, value: Codes, depth: Plies) -> None:
    """Give the positions alive the accrued score for their value; for the arguments see ``take``."""
    phase = workspace.phase
    for side in range(2):
        for word in range(workspace.frame.words):
            bits = phase.alive[side, word] & phase.canonical[word]
            put(value[side], at + word * 64, bits, code)
            put(depth[side], at + word * 64, bits, 0)


@jit
def solve_layer(
    workspace: Workspace, attacking: int, rank: int, fresh: SweepResults, value: Codes, depth: Plies
) -> None:
    """Solve the layer of the accrued score of this rank that the opponent of the attacker ``attacking`` (0
    White, 1 Black) holds.

    ``fresh`` holds the fresh values; ``value`` and ``depth`` (2, phase size) receive codes and plies at the
    canonical slots of the positions alive in the layer.
    """
    _enter(workspace, rank, fresh, True)
    high = 255 - rank
    _sweep(workspace, attacking, high, fresh)
    fill(workspace, high if attacking == 0 else 255 - high, int64(0), value, depth)
    take(workspace, attacking, int64(0), value, depth)


@jit
def solve_open_layer(
    workspace: Workspace, holder: int, rank: int, fresh: SweepResults, value: Codes, depth: Plies
) -> None:
    """Solve the layer of the accrued score of this rank that ``holder`` (0 White, 1 Black) has, where fresh
    values are known only of positions whose own score has a smaller rank.

    As ``solve_layer``; but what the holder can better is not known beforehand, so it takes a sweep too.
    """
    _enter(workspace, rank, fresh, False)
    fill(workspace, rank if holder == 0 else 255 - rank, int64(0), value, depth)
    _sweep(workspace, 1 - holder, 255 - rank, fresh)
    take(workspace, 1 - holder, int64(0), value, depth)
    _sweep(workspace, int64(holder), int64(rank), fresh)
    take(workspace, int64(holder), int64(0), value, depth)
