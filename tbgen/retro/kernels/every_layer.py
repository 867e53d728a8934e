"""The layers of a phase as the solver goes through them, copied for whoever wants to see them."""

from typing import NamedTuple

from tbgen.compiler.jit import int64, jit, kernel
from tbgen.retro.kernels.bits import Codes, Plies, Words
from tbgen.retro.kernels.events import Agenda
from tbgen.retro.kernels.layers import FIRST_LAYER
from tbgen.retro.kernels.phase import NOTHING, Record, Workspace, leave_rank, solve_rank
from tbgen.retro.kernels.single_layer import fill, take
from tbgen.retro.kernels.sweep import Results
from tbgen.retro.kernels.targets import Pool


class Shown(NamedTuple):
    """A layer of a window of phases; see ``tbgen.retro.every_layer.Layer``."""

    value: Codes
    """uint8 (2, slots)."""
    depth: Plies
    """uint16 (2, slots)."""
    there: Words
    """uint64 (2, slots / 64)."""


@kernel
def _mark(workspace: Workspace, at: int, there: Words) -> None:
    """Mark the positions of a phase that are in its layers."""
    phase, first = workspace.phase, at >> 6
    for side in range(2):
        for word in range(workspace.frame.words):
            there[side, first + word] = phase.alive[side, word] & phase.canonical[word]


@jit
def show_layer(workspace: Workspace, attacking: int, rank: int, at: int, shown: Shown) -> None:
    """Copy the layer that the inner sweep of an attacker (0 White, 1 Black) has solved: that of the
    opponent's accrued score of this rank. The phase begins at slot ``at`` of the window."""
    _mark(workspace, at, shown.there)
    fill(workspace, 255 - rank if attacking == 0 else rank, at, shown.value, shown.depth)
    take(workspace, attacking, at, shown.value, shown.depth)


@jit
def take_rank(
    workspace: Workspace,
    pool: Pool,
    fresh: Results,
    rank: int,
    events: tuple[Agenda, Agenda],
    records: tuple[Record, Record],
    at: int,
    by_holder: tuple[Shown, Shown],
) -> tuple[bool, tuple[Agenda, Agenda]]:
    """Solve a rank of a phase, show its layers, of White's and of Black's score, and leave it; return whether
    any position was in them, and the events of the next rank."""
    left, _ = solve_rank(workspace, pool, fresh, rank, events, records, int64(NOTHING))
    if rank >= FIRST_LAYER:
        show_layer(workspace, int64(1), rank, at, by_holder[0])
        show_layer(workspace, int64(0), rank, at, by_holder[1])
    if left:
        events = leave_rank(workspace, fresh, rank, events)
    return left, events
