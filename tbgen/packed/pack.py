"""What of a table has to be stored, if one side to move follows from the other in one ply."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tbgen.index.layout import SIDES, Layout, Side
from tbgen.packed.exceptions import slots_in
from tbgen.packed.kernels.blocks import CAPTURE_FLAG
from tbgen.packed.kernels.derive import PhasePlies
from tbgen.packed.kernels.one_ply import (
    clear_flags,
    find_exceptions,
    find_needed,
    find_ranks,
    mark_captures,
    ready_children,
)
from tbgen.packed.order import stored_side
from tbgen.packed.rooms import THREAD
from tbgen.retro.kernels.bits import ALL
from tbgen.retro.kernels.canonical import expand_words
from tbgen.retro.kernels.layers import Workspace
from tbgen.retro.kernels.phase import side_exits
from tbgen.retro.kernels.targets import Pool
from tbgen.retro.pool import Map
from tbgen.retro.workspace import mirrors_itself

_ROUNDS: Final = 2
"""How often what is needed is looked for: what the first round gives back may bring another move to bear."""


@dataclass(frozen=True)
class Needed:
    """What of a table has to be stored."""

    side: Side
    """The stored side to move."""
    captures: NDArray[np.uint64]
    """uint64 (size / 64,): slots of the stored side whose value their best capture gives and on which nothing
    derived rests."""
    exceptions: NDArray[np.int64]
    """Slots of the other side that derivation gets wrong, ascending."""


class NeedFinder:
    """Finds what has to be stored, phase by phase, while the solver has each of them in its hands.

    It is the solver's :data:`tbgen.retro.solver.AfterPhase`; phases may come from several threads.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout, self.side = layout, stored_side(layout)
        self._derived = SIDES[1 - self.side]
        self._captures = np.zeros(layout.size // 64, np.uint64)
        self._exceptions: list[NDArray[np.int64]] = []
        self._lock = threading.Lock()

    def __call__(self, phase: int, workspace: Workspace, pool: Pool, parts: int, run: Map) -> None:
        """Look at a solved phase; ``run`` may work on ``parts`` parts of its words at once.

        :raises OverflowError: if a depth has no room beside the flag; no material of five men comes near.
        """
        layout, side, derived = self._layout, int(self.side), int(self._derived)
        size, frame = layout.phase_size, workspace.frame
        mirrored, like = mirrors_itself(layout, phase), workspace.like
        edges = list(pairwise(np.linspace(0, frame.words, parts + 1).astype(int).tolist()))

        def do(kernel: Callable[..., object], *given: object) -> None:
            list(run(lambda part: kernel(*given, *part), edges))

        start, rank = pool.targets.begin[phase].copy(), np.zeros((2, size), np.uint8)
        known, exits = np.zeros((2, frame.words), np.uint64), workspace.exits
        ply = PhasePlies(frame, workspace.phase, exits, pool.value, pool.depth, start, rank, *known)
        own = slice(int(ply.start[side]), int(ply.start[side]) + size)
        if (deepest := int(pool.depth[own].max())) >= CAPTURE_FLAG:
            raise OverflowError(f"{layout.material}: depths of {deepest} plies have no room in packed tables")

        def expand() -> None:
            if len(like) or mirrored or not layout.pawns:
                do(expand_words, frame, like, mirrored, pool.value[own], pool.depth[own])

        if resets := ply.phase.score_resets:  # then the layers have taken the room of the exits
            do(side_exits, workspace, pool, derived, False, ply.phase.canonical)
        if resets or layout.pawns:  # else all zeroing moves are captures
            do(side_exits, workspace, pool, side, True, ply.phase.canonical)
        do(find_ranks, ply.phase, ply.rank)
        do(mark_captures, ply, side)
        needed = np.zeros(size, np.uint8)
        wrong = np.full(frame.words, ALL)
        for number in range(_ROUNDS + 1):
            if number > 0:
                do(
                    lambda *part: find_needed(
                        ply, derived, like, mirrored, wrong, needed, THREAD.derived, *part
                    )
                )
                do(clear_flags, ply, side, needed)
            expand()
            do(ready_children, ply, side)
            do(lambda *part: find_exceptions(ply, derived, wrong, THREAD.derived, *part))
        words = slice(phase * size // 64, (phase + 1) * size // 64)
        flags = np.packbits(pool.depth[own] >= CAPTURE_FLAG, bitorder="little").view(np.uint64)
        np.bitwise_and(flags, ply.phase.canonical & ply.phase.legal[side], out=self._captures[words])
        pool.depth[own] &= CAPTURE_FLAG - 1
        with self._lock:
            self._exceptions.append(slots_in(wrong) + phase * size)

    def needed(self) -> Needed:
        """Return what has to be stored, after all phases."""
        exceptions = np.concatenate(self._exceptions)
        exceptions.sort()
        return Needed(self.side, self._captures, exceptions)
