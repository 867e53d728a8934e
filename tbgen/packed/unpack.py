"""Unpacking of packed tables: the whole content of a table, or one phase with one side to move."""

from collections.abc import Callable, Collection, Container, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import Material
from tbgen.board.score import NONE
from tbgen.index.layout import SIDES, Side
from tbgen.index.table import Source, Table
from tbgen.index.zeroing import (
    Block,
    phase_groups,
    reached_by_captures,
    reached_by_pawn_steps,
    reached_by_promotion,
)
from tbgen.packed.encode import parts_of
from tbgen.packed.file import PackedFile
from tbgen.packed.kernels.blocks import CAPTURE_FLAG, Content
from tbgen.packed.kernels.derive import PhasePlies, derive_all, explain, find_ranks, ready_children
from tbgen.packed.kernels.encode import decode_blocks
from tbgen.packed.pack import THREAD
from tbgen.progress import Progress, silent
from tbgen.retro.kernels.canonical import canonical_words, expand_words
from tbgen.retro.kernels.frame import legal_words
from tbgen.retro.kernels.layer_sweeps import Workspace
from tbgen.retro.kernels.phase import count_moves, side_exits
from tbgen.retro.pool import PoolLoader
from tbgen.retro.workspace import (
    exit_buffers,
    frame_of,
    like_men,
    make_attacker,
    make_phase,
    mirrors_itself,
    place_pawns,
)

_PARTS: Final = 4
"""Number of parts of a phase per thread."""


def unpack(
    file: PackedFile,
    sources: Mapping[Material, Source],
    *,
    functions: bool = True,
    threads: int = 2,
    progress: Progress = silent,
) -> Table:
    """Return the content of a packed table: fresh values and depths of both sides, and its functions.

    :param sources: every successor's table.
    :param functions: whether to decode the functions too, which take four bytes per slot.
    :raises DamagedTableError: if a block does not decode.
    """
    layout, none = file.layout, np.zeros(0, np.uint8)
    phases = range(len(layout.placements))
    no_runs = np.zeros((2, 2, 0), np.uint64), none, none, np.zeros(0, np.uint16)
    number = np.zeros(layout.size if functions and file.info.stores_accrued else 0, np.uint32)
    with _Unpacker(file, sources, threads, number) as unpacker:
        unpacker.read_en_passant(phases)
        for group in phase_groups(layout):
            # This memory is used for phases of later groups; until then it has the targets of promotions.
            unpacker.prepare(group)
            unpacker.decode(group)
            for phase in group:
                unpacker.explain(phase)
                unpacker.derive()
                unpacker.clear_flags()
                unpacker.expand(unpacker.derived)
                progress("unpacking", phase + 1, len(phases))
        for phase in phases:
            unpacker.blank(phase)
        value, depth = unpacker.finish()
    table = Table(layout.material, file.info.variant, value, depth, *no_runs, *file.en_passant_arrays())
    table.functions = file.functions(number) if len(number) else None
    return table


def unpack_side(
    file: PackedFile,
    sources: Mapping[Material, Source],
    phase: int,
    side: Side,
    value: NDArray[np.uint8],
    depth: NDArray[np.uint16],
    *,
    threads: int = 2,
) -> None:
    """Copy the fresh values and depths of one phase of a packed table with one side to move.

    They are written to ``value`` and ``depth``, shape (phase size,), at the canonical slots of positions.

    :param sources: the tables that captures lead to, and those that :func:`promotions` names.
    :raises DamagedTableError: if a block does not decode.
    """
    steps: set[int] = set() if side == file.side else reached_by_pawn_steps(file.layout, phase)
    captures = reached_by_captures(file.layout, {phase, *steps})
    with _Unpacker(file, sources, threads, np.zeros(0, np.uint32), captures) as unpacker:
        if side == file.side:
            unpacker.complete(phase)
        else:
            unpacker.read_en_passant(steps)
            for reached in steps:
                unpacker.complete(reached)
                unpacker.expand(file.side)
            if promotions(file, phase, side):
                unpacker.prepare([phase])
            unpacker.decode([phase])
            unpacker.explain(phase)
            unpacker.derive()
        part = slice(phase * len(value), (phase + 1) * len(value))
        value[:], depth[:] = unpacker.value[side, part], unpacker.depth[side, part]


def promotions(file: PackedFile, phase: int, side: Side) -> set[Material]:
    """Return the materials with the same number of men whose tables :func:`unpack_side` needs.

    They are those that promotions of the derived side lead to.
    """
    layout = file.layout
    white, placement = layout.white_pawns, layout.placements[phase]
    pawns = placement[white:] if side else placement[:white]
    if side == file.side or not any(square < 16 if side else square >= 48 for square in pawns):
        return set()
    return {material for material, _ in reached_by_promotion(layout, [phase])}


class _Unpacker:
    """Decodes and derives the phases of a packed table, one at a time; a context manager, which ends its
    threads.

    The values and depths of the table itself are at the beginning of the pool, White to move first.

    :param sources: the tables that zeroing moves from the unpacked phases lead to.
    :param number: receives the functions of the slots of the stored side, unless it is empty.
    :param only: the blocks with fewer men that captures from the unpacked phases lead to; None for all.
    """

    def __init__(
        self,
        file: PackedFile,
        sources: Mapping[Material, Source],
        threads: int,
        number: NDArray[np.uint32],
        only: Collection[Block] | None = None,
    ) -> None:
        layout, self._file, self._number = file.layout, file, number
        self._layout, self._side, self.derived = layout, file.side, SIDES[1 - file.side]
        self._loader = PoolLoader(layout, sources, only=only)
        self._threads = ThreadPoolExecutor(threads)
        frame, exits = frame_of(layout), exit_buffers(2 * layout.phase_size)
        phase, pool = make_phase(frame.words, True), self._loader.pool
        # Unpacking makes no sweeps, so the buffers of the attackers are empty.
        nothing = replace(frame, words=0), make_phase(0, False)
        white, black = (make_attacker(side, *nothing, 1) for side in SIDES)
        self._workspace = Workspace(frame, phase, (white, black), exits, like_men(layout))
        start, rank = np.zeros(2, np.int64), np.zeros((2, layout.phase_size), np.uint8)
        known = np.zeros((2, frame.words), np.uint64)
        self._ply = PhasePlies(frame, phase, exits, pool.value, pool.depth, start, rank, *known)
        self._edges = np.linspace(0, frame.words, _PARTS * threads + 1).astype(int).tolist()
        self._mirrored = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    @property
    def value(self) -> NDArray[np.uint8]:
        """The values of the table itself, shape (2, size)."""
        return self._ply.value[: 2 * self._layout.size].reshape(2, -1)

    @property
    def depth(self) -> NDArray[np.uint16]:
        """The depths of the table itself, shape (2, size)."""
        return self._ply.depth[: 2 * self._layout.size].reshape(2, -1)

    @cached_property
    def _exceptions(self) -> tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.uint16]]:
        """Slots of the exceptions of the derived side, ascending, with values and depths."""
        return self._file.exceptions()

    def read_en_passant(self, phases: Container[int]) -> None:
        """Read the values and depths of the en passant positions of some phases."""
        self._loader.recall_en_passant(self._file, phases)

    def prepare(self, phases: list[int]) -> None:
        """Read the targets of zeroing moves from phases with the same number of remaining pawn steps."""
        self._loader.prepare(phases, self._threads.map)

    def decode(self, group: Sequence[int]) -> None:
        """Decode the stored side of neighbouring phases; depths of CAPTURE symbols get CAPTURE_FLAG."""
        content = Content(self.value[self._side], self.depth[self._side], self._number)
        size = self._layout.phase_size
        slots = slice(group[0] * size, (group[-1] + 1) * size)
        content.value[slots], content.depth[slots] = NONE, 0
        coding, blocks = self._file.coding, self._file.blocks // len(self._layout.placements)
        parts = parts_of(group[0] * blocks, (group[-1] + 1) * blocks)
        good = self._threads.map(
            lambda part: decode_blocks(coding, content, False, THREAD.buffers, *part), parts
        )
        self._check(all(good))

    def explain(self, phase: int) -> None:
        """Enter a phase whose stored side is decoded: count its moves, find its exits, and complete the
        canonical slots of that side. Flags remain set."""
        self._enter(phase)
        ply, pool = self._ply, self._loader.pool
        ply.phase.slices[:] = 0
        self._run(count_moves, self._workspace, pool, self._mirrored)
        self._run(find_ranks, ply.phase, ply.rank)
        if self._layout.pawns:  # the stored side needs only its captures
            among = ply.phase.canonical
            self._run(side_exits, self._workspace, pool, int(self._side), True, among)
        self._check(all(self._run(explain, ply, int(self._side))))

    def complete(self, phase: int) -> None:
        """Decode and complete the canonical slots of the stored side of a phase, for which promotions are not
        needed."""
        self.decode([phase])
        self.explain(phase)
        self.clear_flags()

    def derive(self) -> None:
        """Derive the canonical slots of the derived side of the phase."""
        ply, derived = self._ply, self.derived
        self.expand(self._side)
        self._run(ready_children, ply, int(self._side))
        self._run(lambda *part: derive_all(ply, int(derived), THREAD.derived, *part))
        slots, values, depths = self._exceptions
        first = int(ply.start[0])
        begin, end = np.searchsorted(slots, (first, first + self._layout.phase_size))
        self.value[derived, slots[begin:end]] = values[begin:end]
        self.depth[derived, slots[begin:end]] = depths[begin:end]

    def clear_flags(self) -> None:
        """Clear the flags in the depths of the stored side of the phase."""
        self._ply.depth[self._part(self._side)] &= CAPTURE_FLAG - 1

    def expand(self, side: Side) -> None:
        """Copy the canonical slots of one side of the phase to all slots of the same positions."""
        ply, part, like = self._ply, self._part(side), self._workspace.like
        slots = ply.phase.canonical, ply.phase.legal[side]
        self._run(expand_words, ply.frame, like, self._mirrored, *slots, ply.value[part], ply.depth[part])

    def blank(self, phase: int) -> None:
        """Clear the slots of a phase that are not canonical slots of positions."""
        self._enter(phase)
        ply, like = self._ply, self._workspace.like
        self._run(canonical_words, ply.frame, like, self._mirrored, ply.phase.canonical)
        for side in SIDES:
            there = (ply.phase.legal[side] & ply.phase.canonical).view(np.uint8)
            empty = ~np.unpackbits(there, bitorder="little").view(np.bool_)
            ply.value[self._part(side)][empty] = NONE
            ply.depth[self._part(side)][empty] = 0

    def finish(self) -> tuple[NDArray[np.uint8], NDArray[np.uint16]]:
        """Return the values and depths of the table itself, shape (2, size) each, and release the rest of the
        pool; no phase can be entered afterwards."""
        value, depth = self._ply.value, self._ply.depth
        for array in (value, depth):
            array.resize(2 * self._layout.size, refcheck=False)
        return value.reshape(2, -1), depth.reshape(2, -1)

    def _enter(self, phase: int) -> None:
        """Place the pawns of a phase, and find its legal positions."""
        layout, ply, at = self._layout, self._ply, phase * self._layout.phase_size
        place_pawns(ply.frame, layout, phase)
        self._mirrored = mirrors_itself(layout, phase)
        ply.start[:] = at, layout.size + at
        self._run(legal_words, ply.frame, ply.phase.legal)

    def _part(self, side: Side) -> slice:
        """Return the slots of the phase with one side to move."""
        return slice(int(self._ply.start[side]), int(self._ply.start[side]) + self._layout.phase_size)

    def _run(self, kernel: Callable[..., Any], *given: Any) -> list[Any]:
        """Call a kernel for all parts of the words and wait; its last two arguments are start and stop."""
        return list(self._threads.map(lambda part: kernel(*given, *part), pairwise(self._edges)))

    def _check(self, good: bool) -> None:
        if not good:
            raise self._file.damaged("it has flipped bits in a block")
