"""Phases solved for values alone, without depths, in a third of the memory.

A position's value follows from sweeps key by key, in whatever order the positions of a key are taken; depths
only tell in how many plies it is reached. Without them the best exits, the results of inner sweeps and the
fresh values share one byte for each position: most exits become events when the outer sweeps have decided
most positions, and inner sweeps write only to positions with their attacker to move, whose fresh values these
are in the layer of their own score. Both attackers use the same counts and scratch, one after the other, each
with all threads.
"""

from typing import Final

import numpy as np

from tbgen.compiler.jit import python_of, with_fixed_types
from tbgen.index.layout import SIDES, Side
from tbgen.retro.cache_lines import zeros
from tbgen.retro.kernels.bits import Codes, Words
from tbgen.retro.kernels.exits import Exits
from tbgen.retro.kernels.frame import Frame
from tbgen.retro.kernels.layers import FIRST_LAYER, Workspace, inner_sweep, retire
from tbgen.retro.kernels.phase import NOTHING, empty_record, renew_inner
from tbgen.retro.kernels.sweep import Attacker, Sets, SweepResults
from tbgen.retro.kernels.targets import Pool
from tbgen.retro.ranks import Crew, WidePhaseSolver
from tbgen.retro.workspace import make_phase, make_scratch

_NO_SETS: Final = np.zeros((2, 0), np.uint64)
_NO_DEPTHS: Final = np.zeros(0, np.uint16)
_NEIGHBOURS: Final = 6
"""Bits of a word's number that 64 neighbouring words differ in."""


def room_for_values(frame: Frame, parts: int) -> Workspace:
    """Return room to solve a cell for values; sweeps are shared out among at most ``parts``.

    The values are ``exits.value`` in the end, ``NONE`` where there is no position.
    """
    words = frame.words
    phase = make_phase(words, True)
    results = SweepResults(zeros(2 * 64 * words, np.uint8), _NO_DEPTHS, np.array([0, 64 * words], np.int64))
    # Parts have squares of Black's king, and 64 neighbouring words have to be of one part.
    scratch = make_scratch(words, parts if frame.scalars > 1 and frame.shifts[1] >= _NEIGHBOURS else 1)
    left = zeros(64 * words, np.uint8)

    def attacker(side: Side) -> Attacker:
        caught: Words = zeros(words, np.uint64)

        def sets(counts: Codes) -> Sets:
            return Sets(zeros(words, np.uint64), counts, zeros(words, np.uint64), caught, _NO_SETS)

        outer, inner = sets(phase.quiet[1 - side]), sets(left)
        key = np.zeros(1, np.int64)
        return Attacker(side, frame, phase, outer, inner, scratch, results, _NO_SETS, _NO_SETS, key)

    white, black = map(attacker, SIDES)
    exits = Exits(results.value, _NO_DEPTHS, _NO_DEPTHS)
    return Workspace(frame, phase, (white, black), exits, np.zeros((0, 2), np.int64))


class ValuesSolver(WidePhaseSolver):
    """Solves one phase for values, after ``find_moves``, in the room that :func:`room_for_values` returns."""

    def __init__(self, workspace: Workspace, pool: Pool, crew: Crew) -> None:
        none = empty_record(NOTHING, workspace.frame.words, np.empty(0, np.uint32), 0)
        self._renew_inner = with_fixed_types(renew_inner)
        super().__init__(workspace, pool, workspace.attackers[0].results, (none, none), crew)

    def _sweep(self) -> bool:
        for side in SIDES:
            self._outer(side)
        left = any(list(self._crew.threads.map(lambda part: retire(self._workspace, *part), self._ranges)))
        if left and self.rank >= FIRST_LAYER:
            for side in SIDES:
                self._take_inner(side)
        return left

    def _take_inner(self, side: Side) -> None:
        """Take a new inner sweep of an attacker."""
        attacker = self._workspace.attackers[side]
        self._renew_inner(attacker)
        sweep = python_of(inner_sweep)(attacker, 255 - self.rank, self._agendas[side])
        self._take(sweep, self.rank)
