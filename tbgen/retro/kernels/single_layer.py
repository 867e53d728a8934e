"""One layer alone: sweeps with the events that belong to the layer."""

from tbgen.accelerate import int64, jit, kernel
from tbgen.retro.geometry import BIT
from tbgen.retro.kernels.bits import ALL, ONE, ZERO, Codes, Plies, Words, lowest
from tbgen.retro.kernels.events import Agenda, exit_events, with_exit
from tbgen.retro.kernels.frame import is_image
from tbgen.retro.kernels.lanes import move, put
from tbgen.retro.kernels.layers import Attacker, begin, settled_events
from tbgen.retro.kernels.mobility import rank_at
from tbgen.retro.kernels.phase import Workspace
from tbgen.retro.kernels.sweep import Results, Sweep, run_sweep


@kernel
def _revive(workspace: Workspace, rank: int, fresh: Results, decided: bool) -> None:
    """Set which positions are alive in the layers of a rank: those whose own score has this rank or a larger
    one and, if ``decided``, whose fresh value has too. All others are settled."""
    phase = workspace.phase
    for side in range(2):
        for word in range(workspace.frame.words):
            legal = ZERO if is_image(workspace.frame, word) else phase.legal[side, word]
            bits, alive = legal, ZERO
            while bits:
                bit = lowest(bits)
                bits &= bits - ONE
                if rank_at(phase.slices[side, word], bit) < rank:
                    continue
                code = int64(fresh.value[fresh.starts[side] + word * 64 + bit])
                if not decided or min(code, 255 - code) >= rank:
                    alive |= BIT[bit]
            phase.alive[side, word] = alive
            phase.settled[side, word] = legal & ~alive


@jit
def _layer_events(workspace: Workspace, attacking: int, leaving: Words, high: int, fresh: Results) -> Agenda:
    """The events of the layer: exits of positions alive, fresh values of all others, keys below ``high``."""
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
def _sweep(workspace: Workspace, attacking: int, high: int, fresh: Results) -> None:
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
def _take(workspace: Workspace, attacking: int, value: Codes, depth: Plies) -> None:
    """Copy what the attacker's sweep has assigned, at canonical slots."""
    attacker = workspace.white if attacking == 0 else workspace.black
    phase, sets, results = workspace.phase, attacker.inner_sets, attacker.results
    words = workspace.frame.words
    for side in range(2):
        for word in range(words):
            bits = phase.alive[side, word] & phase.canonical[word]
            bits &= ~sets.wanted[word] if side == attacking else sets.caught[word]
            node = (side * words + word) * 64
            move(value[side], word * 64, results.value, node, bits)
            move(depth[side], word * 64, results.depth, node, bits)


@kernel
def _fill(workspace: Workspace, code: int, value: Codes, depth: Plies) -> None:
    """Give the positions alive the accrued score for their value, at canonical slots."""
    phase = workspace.phase
    for side in range(2):
        for word in range(workspace.frame.words):
            bits = phase.alive[side, word] & phase.canonical[word]
            put(value[side], word * 64, bits, code)
            put(depth[side], word * 64, bits, 0)


@jit
def solve_layer(
    workspace: Workspace, attacking: int, rank: int, fresh: Results, value: Codes, depth: Plies
) -> None:
    """Solve the layer of the accrued score of this rank that the opponent of the attacker ``attacking`` (0
    White, 1 Black) holds.

    ``fresh`` holds the fresh values; ``value`` and ``depth`` (2, phase size) receive codes and plies at the
    canonical slots of the positions alive in the layer.
    """
    _revive(workspace, rank, fresh, True)
    high = 255 - rank
    _sweep(workspace, attacking, high, fresh)
    _fill(workspace, high if attacking == 0 else 255 - high, value, depth)
    _take(workspace, attacking, value, depth)


@jit
def solve_open_layer(
    workspace: Workspace, holder: int, rank: int, fresh: Results, value: Codes, depth: Plies
) -> None:
    """Solve the layer of the accrued score of this rank that ``holder`` (0 White, 1 Black) has, where fresh
    values are known only of positions whose own score has a smaller rank.

    As ``solve_layer``; but what the holder can better is not known beforehand, so it takes a sweep too.
    """
    _revive(workspace, rank, fresh, False)
    _fill(workspace, rank if holder == 0 else 255 - rank, value, depth)
    _sweep(workspace, 1 - holder, 255 - rank, fresh)
    _take(workspace, 1 - holder, value, depth)
    _sweep(workspace, int64(holder), int64(rank), fresh)
    _take(workspace, int64(holder), value, depth)
