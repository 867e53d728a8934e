"""The phases of a table one after the other, with all that a ply from each of its positions needs."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import Material
from tbgen.board.score import NONE
from tbgen.compiler.jit import python_of
from tbgen.index.layout import SIDES, Layout, Side
from tbgen.index.source import Source
from tbgen.index.zeroing import en_passant_configs
from tbgen.packed.kernels.derive import PhasePlies
from tbgen.packed.kernels.one_ply import find_ranks
from tbgen.retro.kernels.canonical import canonical_words, expand_words
from tbgen.retro.kernels.exits import room_for_exits
from tbgen.retro.kernels.frame import legal_words
from tbgen.retro.kernels.layers import Workspace
from tbgen.retro.kernels.phase import count_moves
from tbgen.retro.kernels.resets import side_exits
from tbgen.retro.pool import PoolLoader
from tbgen.retro.workspace import (
    frame_of,
    like_men,
    make_attacker,
    make_phase,
    mirrors_itself,
    place_pawns,
)

_PARTS: Final = 4
"""Parts of a phase per thread."""


class Phases:
    """Sets the phases of a table up, one at a time; a context, which ends its threads.

    The table's own values and depths lie at the beginning of ``pool``, White to move first; who uses this
    fills them in, or finds them.

    :param sources: every successor's table.
    """

    def __init__(self, layout: Layout, sources: Mapping[Material, Source], side: Side, threads: int) -> None:
        self.layout, self.side = layout, side
        self._loader = PoolLoader(layout, sources)
        self._threads = ThreadPoolExecutor(threads)
        self._frame = frame_of(layout)
        self._phase = make_phase(self._frame.words, True)
        # Nothing is attacked here, so that attackers need no room.
        white, black = (make_attacker(side, 0, np.zeros(0, np.uint8), False, 1) for side in SIDES)
        self._exits = python_of(room_for_exits)(2 * layout.phase_size)
        self._like = like_men(layout)
        self._workspace = Workspace(self._frame, self._phase, (white, black), self._exits, self._like)
        self._rank: NDArray[np.uint8] = np.zeros((2, layout.phase_size), np.uint8)
        self._known: NDArray[np.uint64] = np.zeros((2, self._frame.words), np.uint64)
        self._edges = np.linspace(0, self._frame.words, _PARTS * threads + 1).astype(int).tolist()
        self._mirrored = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    @property
    def value(self) -> NDArray[np.uint8]:
        """The table's own values, shape (2, size)."""
        return self._loader.pool.value[: 2 * self.layout.size].reshape(2, -1)

    @property
    def depth(self) -> NDArray[np.uint16]:
        """The table's own depths, shape (2, size)."""
        return self._loader.pool.depth[: 2 * self.layout.size].reshape(2, -1)

    def set_en_passant(self, value: NDArray[np.uint8], depth: NDArray[np.uint16]) -> None:
        """Set the values and depths of en passant positions, shape (configurations, phase size)."""
        at = self._loader.pool.targets.ep_offset
        self._loader.pool.value[at : at + value.size] = value.reshape(-1)
        self._loader.pool.depth[at : at + depth.size] = depth.reshape(-1)
        assert len(value) == len(en_passant_configs(self.layout))

    def prepare(self, phases: list[int]) -> None:
        """Read what zeroing moves from phases of equally many pawn steps reach."""
        self._loader.prepare(phases, self._threads.map)

    def enter(self, phase: int) -> PhasePlies:
        """Return a phase of those prepared last, its moves counted and exits found: all zeroing moves of the
        derived side, captures of the stored one."""
        place_pawns(self._frame, self.layout, phase)
        self._mirrored = mirrors_itself(self.layout, phase)
        pool, frame, at = self._loader.pool, self._frame, phase * self.layout.phase_size
        self._phase.slices[:] = 0
        self.run(legal_words, frame, self._phase.legal)
        self.run(count_moves, self._workspace, pool, self._mirrored)
        self.run(find_ranks, self._phase, self._rank)
        if self.layout.pawns:
            among = self._phase.canonical
            self.run(side_exits, frame, pool, self._exits, self._phase, int(self.side), True, among)
        start = np.array([at, self.layout.size + at])
        return PhasePlies(
            frame, self._phase, self._exits, pool.value, pool.depth, start, self._rank, *self._known
        )

    def run(self, kernel: Callable[..., Any], *given: Any) -> list[Any]:
        """Call a kernel for all parts of the words, which are its last two arguments, and wait."""
        return list(self._threads.map(lambda part: kernel(*given, *part), pairwise(self._edges)))

    def expand(self, ply: PhasePlies, side: Side) -> None:
        """Copy the canonical slots of one side of the phase to all slots that mean the same."""
        if len(self._like) or self._mirrored or not self.layout.pawns:
            part = slice(ply.start[side], ply.start[side] + self.layout.phase_size)
            value, depth = ply.value[part], ply.depth[part]
            self.run(expand_words, ply.frame, self._like, self._mirrored, value, depth)

    def blank(self, phase: int) -> None:
        """Clear the slots of a phase that are no canonical ones of positions."""
        place_pawns(self._frame, self.layout, phase)
        mirrored = mirrors_itself(self.layout, phase)
        self.run(legal_words, self._frame, self._phase.legal)
        self.run(canonical_words, self._frame, self._like, mirrored, self._phase.canonical)
        part = slice(phase * self.layout.phase_size, (phase + 1) * self.layout.phase_size)
        for side in SIDES:
            there = (self._phase.legal[side] & self._phase.canonical).view(np.uint8)
            empty = ~np.unpackbits(there, bitorder="little").view(np.bool_)
            self.value[side, part][empty] = NONE
            self.depth[side, part][empty] = 0

    def take(self) -> tuple[NDArray[np.uint8], NDArray[np.uint16]]:
        """Return the table's own values and depths, shape (2, size) each, and give the rest of the memory
        back; nothing else can be asked for any more."""
        pool, size = self._loader.pool, 2 * self.layout.size
        pool.value.resize(size, refcheck=False)
        pool.depth.resize(size, refcheck=False)
        return pool.value.reshape(2, -1), pool.depth.reshape(2, -1)
