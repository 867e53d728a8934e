"""Unpacking of packed tables: an entire table, or one phase with one side to move.

A phase is all positions with the pawns on the same squares. In each phase, the stored side is decoded first.
Then the other side to move, the derived side, is derived from it.
"""

import logging
from collections.abc import Callable, Collection, Container, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, closing, suppress
from functools import cached_property
from itertools import product
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import Material
from tbgen.board.score import NONE
from tbgen.compiler.cache import compiling
from tbgen.errors import TbgenError
from tbgen.index.arrays import Part, equal_parts, parts_of_size
from tbgen.index.layout import SIDES, Side
from tbgen.index.table import Source, Table
from tbgen.index.zeroing import (
    Block,
    blocks_after_captures,
    phase_groups,
    phases_after_pawn_steps,
)
from tbgen.moves.frames import (
    frame_of,
    like_men_of,
    make_exits,
    make_phase,
    mirrors_itself,
    place_pawns,
)
from tbgen.moves.kernels.canonical import copy_canonical, mark_canonical
from tbgen.moves.kernels.frame import mark_legal
from tbgen.moves.kernels.phases import clear_images, find_side_exits, prepare_words
from tbgen.moves.pool import PoolLoader, SolvedPhases
from tbgen.moves.structs import Exits, PhaseMoves, make_men
from tbgen.progress import Progress, silent
from tbgen.system.memory import discard, zeros
from tbgen.tables.coding import (
    BLOCKS,
    BLOCKS_PER_TASK,
    exceptions_of,
    functions_of,
    materials_after_promotions,
)
from tbgen.tables.kernels.derive import PhaseData, derive_all, fill_stored_side, find_ranks, find_usable
from tbgen.tables.kernels.encode import decode_blocks
from tbgen.tables.open_table import OpenTable
from tbgen.tables.pack import DERIVING
from tbgen.tables.structs import CAPTURE_FLAG, Coding, Content

KERNEL_FAMILY: Final = __name__
"""Name of the unpacking kernels in the cache."""

_logger = logging.getLogger(__name__)

_PARTS_PER_THREAD: Final = 4
"""Minimum number of parts of a phase for each thread."""
_MAX_WORDS_PER_PART: Final = 1 << 15
"""Maximum number of words of a part. The memory for exits, moves and ranks of a part is released with it."""


def compiling_unpacker() -> AbstractContextManager[bool]:
    """Return a context in which the unpacking kernels may be compiled. It warns if they are not in the
    cache."""
    return compiling(KERNEL_FAMILY, "that unpack tables", "about half a minute", _logger.warning)


def unpack(
    file: OpenTable,
    coding: Coding,
    sources: Mapping[Material, Source],
    threads: int,
    *,
    functions: bool = True,
    progress: Progress = silent,
) -> Table:
    """Return the content of a packed table: the fresh values and depths for both sides to move, and the
    functions that give the values for all accrued scores with the stored side to move.

    A table with pawns is unpacked to a temporary file (:class:`tbgen.moves.pool.SolvedPhases`), beside the
    packed table or, if that is impossible, in the system's temporary directory. Its arrays are mapped memory.

    :param sources: the tables of all successors.
    :param functions: whether to decode the functions, too. They need four bytes of memory for each slot.
    :raises DamagedTableError: if a block does not decode.
    :raises TbgenError: if the temporary file cannot be written.
    """
    layout = file.layout
    phases = range(len(layout.placements))
    functions = functions and file.info.stores_accrued
    with ExitStack() as files:
        unpacked = files.enter_context(closing(_unpacked_phases(file, functions))) if layout.pawns else None
        function_numbers = zeros(layout.size if functions else 0, np.uint32)
        unpacker = files.enter_context(_Unpacker(file, coding, sources, threads, function_numbers))
        unpacker.read_en_passant(phases)
        for group in phase_groups(layout):
            # The targets of promotions occupy memory that phases of later groups will overwrite.
            unpacker.load_targets(group)
            unpacker.decode(group)
            for phase in group:
                unpacker.fill_stored_side(phase)
                unpacker.derive()
                unpacker.clear_flags()
                unpacker.expand(unpacker.derived)
                if unpacked is not None:
                    unpacker.write(phase, unpacked)
                progress("unpacking", phase + 1, len(phases))
        if unpacked is not None:
            value, depth = unpacked.results()
            function_numbers = unpacked.numbers() if functions else function_numbers
        else:
            unpacker.clear_other_slots(0)
            value, depth = unpacker.finish()
    table = Table(layout.material, file.info.variant, value, depth)
    table.ep_config, table.ep_value, table.ep_depth = file.en_passant_arrays()
    table.functions = functions_of(file, coding, function_numbers) if functions else None
    return table


def _unpacked_phases(file: OpenTable, has_functions: bool) -> SolvedPhases:
    with suppress(TbgenError):
        return SolvedPhases(file.layout, file.path, has_functions)
    return SolvedPhases(file.layout, None, has_functions)


def unpack_side(
    file: OpenTable,
    coding: Coding,
    sources: Mapping[Material, Source],
    threads: int,
    phase: int,
    side: Side,
    value: NDArray[np.uint8],
    depth: NDArray[np.uint16],
) -> None:
    """Copy the fresh values and depths of one phase of a packed table with ``side`` to move.

    They are written to ``value`` and ``depth``, shape (phase size,), at the canonical slots of positions.

    :param sources: the tables that captures lead to and, with the derived side to move, those of
        :func:`tbgen.tables.coding.materials_after_promotions`.
    :raises DamagedTableError: if a block does not decode.
    """
    stored_side = SIDES[coding.rows.side]
    phases_after_steps: set[int] = (
        set() if side == stored_side else phases_after_pawn_steps(file.layout, phase)
    )
    captures = blocks_after_captures(file.layout, {phase, *phases_after_steps})
    with _Unpacker(file, coding, sources, threads, np.zeros(0, np.uint32), captures) as unpacker:
        if side == stored_side:
            unpacker.decode_and_fill(phase)
        else:
            unpacker.read_en_passant(phases_after_steps)
            for phase_after_step in phases_after_steps:
                unpacker.decode_and_fill(phase_after_step)
                unpacker.expand(stored_side)
            if materials_after_promotions(file.layout, phase, side):
                unpacker.load_targets([phase])
            unpacker.decode([phase])
            unpacker.fill_stored_side(phase)
            unpacker.derive()
        unpacker.move_side(side, phase, value, depth)


class _Unpacker(AbstractContextManager["_Unpacker"]):
    """Decodes and derives the phases of a packed table, one at a time.

    As a context manager, it ends its threads on exit. The values and depths of the table itself are at the
    beginning of the pool (docs/glossary.md), first those with White to move.

    :param sources: the tables that zeroing moves from the unpacked phases lead to.
    :param function_numbers: receives the function number of each slot of the stored side, unless it is empty.
    :param needed_blocks: the blocks of tables with fewer men that captures from the unpacked phases lead to;
        None for all blocks.
    """

    def __init__(
        self,
        file: OpenTable,
        coding: Coding,
        sources: Mapping[Material, Source],
        threads: int,
        function_numbers: NDArray[np.uint32],
        needed_blocks: Collection[Block] | None = None,
    ) -> None:
        layout = file.layout
        self._file = file
        self._coding = coding
        self._function_numbers = function_numbers
        self._layout = layout
        self._side = SIDES[coding.rows.side]
        self.derived = SIDES[1 - self._side]
        self._loader = PoolLoader(layout, sources, needed_blocks=needed_blocks)
        self._threads = ThreadPoolExecutor(threads)
        frame = frame_of(layout)
        exits = make_exits(2 * layout.phase_size)
        phase = make_phase(frame.words, True)
        pool = self._loader.pool
        self._moves = PhaseMoves(frame, phase, exits, like_men_of(layout))
        middle = layout.phase_size
        white = Exits(exits.value[:middle], exits.min_depth[:middle], exits.max_depth[:middle])
        black = Exits(exits.value[middle:], exits.min_depth[middle:], exits.max_depth[middle:])
        start = np.zeros(2, np.int64)
        rank = zeros((2, layout.phase_size), np.uint8)
        usable = np.zeros((2, frame.words), np.uint64)
        self._data = PhaseData(frame, phase, (white, black), pool.value, pool.depth, start, rank, *usable)
        parts = max(_PARTS_PER_THREAD * threads, frame.words // _MAX_WORDS_PER_PART)
        self._word_parts = equal_parts(frame.words, parts)
        self._symmetric = False

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    @property
    def value(self) -> NDArray[np.uint8]:
        """The values of the table itself, shape (2, size)."""
        return self._data.value[: 2 * self._layout.size].reshape(2, -1)

    @property
    def depth(self) -> NDArray[np.uint16]:
        """The depths of the table itself, shape (2, size)."""
        return self._data.depth[: 2 * self._layout.size].reshape(2, -1)

    @cached_property
    def _stored_exceptions(self) -> tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.uint16]]:
        """Slots of the exceptions of the derived side, ascending, and their values and depths."""
        return exceptions_of(self._file)

    def read_en_passant(self, phases: Container[int]) -> None:
        """Read the values and depths of the en passant positions of some phases."""
        self._loader.load_en_passant(self._file, phases)

    def load_targets(self, phases: list[int]) -> None:
        """Load the targets of promotions of the derived side, from phases with the same number of remaining
        pawn steps. Memory that only earlier phases needed is released."""
        if self._layout.pawns:
            self._loader.keep_only(phases)
        self._loader.load_blocks(phases, self._threads.map, [self.derived])

    def decode(self, group: Sequence[int]) -> None:
        """Decode the stored side of consecutive phases.

        CAPTURE_FLAG is set in the depths of positions whose value symbol (:mod:`tbgen.tables.kernels.blocks`)
        is CAPTURE.
        """
        none_omitted = np.zeros(0, np.uint64)
        content = Content(
            self.value[self._side], self.depth[self._side], self._function_numbers, none_omitted
        )
        size = self._layout.phase_size
        slots = slice(group[0] * size, (group[-1] + 1) * size)
        content.value[slots], content.depth[slots] = NONE, 0
        coding = self._coding
        blocks = coding.stream.value_length.size // len(self._layout.placements)
        parts = parts_of_size(group[0] * blocks, (group[-1] + 1) * blocks, BLOCKS_PER_TASK)
        undamaged = self._threads.map(
            lambda part: decode_blocks(coding, content, False, BLOCKS.buffers, *part), parts
        )
        self._check(all(undamaged))

    def fill_stored_side(self, phase: int) -> None:
        """Set up a phase whose stored side is decoded, and fill in the entries that its blocks do not store.

        This also finds the ranks of both sides. Only canonical slots are filled in, and flags remain set.
        """
        self._set_up_phase(phase)
        self._check(all(self._run(self._fill_part)))

    def _fill_part(self, start: int, stop: int) -> bool:
        """Implement :meth:`fill_stored_side` for some words; return whether they are undamaged."""
        data, sets = self._data, self._data.phase
        prepare_words(self._moves, self._loader.pool, self._symmetric, make_men(), start, stop)
        find_ranks(sets, data.rank, start, stop)
        if self._layout.pawns:  # for the stored side, only the exits by captures are needed
            self._find_exits(self._side, True, start, stop)
        undamaged = fill_stored_side(data, int(self._side), start, stop)
        for side in SIDES:
            discard(sets.rank_bits[side, start:stop])
            discard(sets.alive[side, start:stop])
            discard(sets.quiet_counts[side, 64 * start : 64 * stop])
            if side == self._side or not self._layout.pawns:
                self._discard_exits(side, start, stop)
        return bool(undamaged)

    def _find_exits(self, side: Side, captures_only: bool, start: int, stop: int) -> None:
        """Find the exits of some words with ``side`` to move, at canonical slots."""
        among = self._data.phase.canonical
        exits = self._data.exits[side]
        arguments = self._moves, self._loader.pool, int(side), captures_only, among, exits, make_men()
        find_side_exits(*arguments, start, stop)

    def _discard_exits(self, side: Side, start: int, stop: int) -> None:
        """Release the memory of the exits of some words."""
        exits = self._data.exits[side]
        slots = slice(64 * start, 64 * stop)
        for array in (exits.value, exits.min_depth, exits.max_depth):
            discard(array[slots])

    def decode_and_fill(self, phase: int) -> None:
        """Decode and fill in the canonical slots of the stored side of a phase. This needs no promotions."""
        self.decode([phase])
        self.fill_stored_side(phase)
        self.clear_flags()

    def derive(self) -> None:
        """Derive the canonical slots of the derived side of the phase."""
        data, derived = self._data, self.derived
        self.expand(self._side)
        self._run(find_usable, data, int(self._side))

        def derive_part(start: int, stop: int) -> None:
            if not self._layout.pawns:  # the exits of such a large phase are not kept
                self._find_exits(derived, False, start, stop)
            derive_all(data, int(derived), DERIVING.buffers, start, stop)
            self._discard_exits(derived, start, stop)
            discard(data.rank[derived, 64 * start : 64 * stop])

        self._run(derive_part)
        slots, values, depths = self._stored_exceptions
        first_slot = int(data.start[0])
        begin, end = np.searchsorted(slots, (first_slot, first_slot + self._layout.phase_size))
        self.value[derived, slots[begin:end]] = values[begin:end]
        self.depth[derived, slots[begin:end]] = depths[begin:end]

    def clear_flags(self) -> None:
        """Clear the flags in the depths of the stored side of the phase."""
        self._data.depth[self._phase_slots(self._side)] &= CAPTURE_FLAG - 1

    def expand(self, side: Side) -> None:
        """Copy the canonical slots of one side of the phase to all slots that stand for the same
        positions."""
        data = self._data
        slots = self._phase_slots(side)
        arguments = self._moves.like_men, self._symmetric, data.phase.canonical, data.phase.legal[side]
        self._run(copy_canonical, data.frame, *arguments, data.value[slots], data.depth[slots])

    def write(self, phase: int, unpacked: SolvedPhases) -> None:
        """Write the values and depths of the current phase, at the canonical slots of legal positions, and
        its function numbers, whose memory is released."""
        sets = self._data.phase

        def write_part(side_and_part: tuple[Side, Part]) -> None:
            side, (start, stop) = side_and_part
            slots = slice(*(int(self._data.start[side]) + 64 * word for word in (start, stop)))
            value, depth = self._data.value[slots].copy(), self._data.depth[slots].copy()
            clear_images(sets.legal[side, start:stop] & sets.canonical[start:stop], value, depth)
            unpacked.write(phase, side, 64 * start, value, depth)

        parts = parts_of_size(0, len(sets.canonical), _MAX_WORDS_PER_PART)
        list(self._threads.map(write_part, product(SIDES, parts)))
        if len(self._function_numbers):
            function_numbers = self._function_numbers[phase * self._layout.phase_size :][
                : self._layout.phase_size
            ]
            unpacked.write_numbers(phase, function_numbers)
            discard(function_numbers)

    def clear_other_slots(self, phase: int) -> None:
        """Clear all slots of a phase except the canonical slots of legal positions."""
        self._set_up_phase(phase)
        data, like_men = self._data, self._moves.like_men
        self._run(mark_canonical, data.frame, like_men, self._symmetric, data.phase.canonical)
        for side in SIDES:
            occupied = (data.phase.legal[side] & data.phase.canonical).view(np.uint8)
            is_empty = ~np.unpackbits(occupied, bitorder="little").view(np.bool_)
            data.value[self._phase_slots(side)][is_empty] = NONE
            data.depth[self._phase_slots(side)][is_empty] = 0

    def move_side(self, side: Side, phase: int, value: NDArray[np.uint8], depth: NDArray[np.uint16]) -> None:
        """Move a phase with ``side`` to move to other arrays; nothing can be derived after this."""
        for array in (self.value[1 - side], self.depth[1 - side], *self._data.rank):
            discard(array)
        for start, stop in self._word_parts:
            part = slice(64 * start, 64 * stop)
            first_slot = phase * self._layout.phase_size
            slots = slice(first_slot + part.start, first_slot + part.stop)
            value[part], depth[part] = self.value[side, slots], self.depth[side, slots]
            discard(self.value[side, slots])
            discard(self.depth[side, slots])

    def finish(self) -> tuple[NDArray[np.uint8], NDArray[np.uint16]]:
        """Return the values and depths of the table itself, shape (2, size) each.

        The rest of the pool is released, so no phase can be set up after this.
        """
        for array in (self._data.value, self._data.depth):
            discard(array[2 * self._layout.size :])
        return self.value, self.depth

    def _set_up_phase(self, phase: int) -> None:
        """Place the pawns of a phase, and find its legal positions."""
        layout = self._layout
        data = self._data
        first_slot = phase * self._layout.phase_size
        place_pawns(data.frame, layout, phase)
        self._symmetric = mirrors_itself(layout, phase)
        data.start[:] = first_slot, layout.size + first_slot
        self._run(lambda *part: mark_legal(data.frame, data.phase.legal, make_men(), *part))

    def _phase_slots(self, side: Side) -> slice:
        """Return the slots of the phase with ``side`` to move."""
        return slice(int(self._data.start[side]), int(self._data.start[side]) + self._layout.phase_size)

    def _run(self, kernel: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Call a kernel for all parts of the words, and wait. The last two arguments of the kernel are the
        start and the stop of a part."""
        return list(self._threads.map(lambda part: kernel(*arguments, *part), self._word_parts))

    def _check(self, undamaged: bool) -> None:
        if not undamaged:
            raise self._file.damaged("it has flipped bits in a block")
