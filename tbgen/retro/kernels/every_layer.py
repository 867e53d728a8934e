"""The layers of a phase as the solver goes through them, copied for whoever wants to see them."""

from typing import NamedTuple

from tbgen.compiler.jit import jit, kernel
from tbgen.retro.kernels.bits import Codes, Plies, Words
from tbgen.retro.kernels.phase import Workspace
from tbgen.retro.kernels.single_layer import fill, take


class WindowLayer(NamedTuple):
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
def show_layer(workspace: Workspace, attacking: int, rank: int, at: int, shown: WindowLayer) -> None:
    """Copy the layer that the inner sweep of an attacker (0 White, 1 Black) has solved: that of the
    opponent's accrued score of this rank. The phase begins at slot ``at`` of the window."""
    _mark(workspace, at, shown.there)
    fill(workspace, 255 - rank if attacking == 0 else rank, at, shown.value, shown.depth)
    take(workspace, attacking, at, shown.value, shown.depth)
