"""Open packed tables, which store the positions with one side to move and derive the others.

Look-ups decode a block only as far as needed. Compiled code is loaded at the first look-up.
"""

import operator
from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from functools import cached_property
from mmap import ACCESS_COPY, ALLOCATIONGRANULARITY, mmap
from threading import BoundedSemaphore, Lock
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import Material
from tbgen.board.score import NONE, Code
from tbgen.compiler.structs import Codes, Ints, Plies
from tbgen.errors import TbgenError
from tbgen.index.arrays import are_legal, ordered_men, parts_of_size, slots_of, squares_of
from tbgen.index.codes import DAMAGED, NO_SCORE
from tbgen.index.layout import SIDES, Side, Slot
from tbgen.index.table import Source, Table, ValueFunctions
from tbgen.progress import Progress, silent
from tbgen.store import schema
from tbgen.store.dataset import manifest_of_content
from tbgen.store.dataset_file import file_descriptor
from tbgen.store.schema import PACKED, DatasetSchema, Manifest, Schema
from tbgen.system.memory import processor_count, release_pages
from tbgen.tables.coding import (
    block_rows_of,
    coding_of,
    exception_slots_of,
    functions_of,
    materials_after_promotions,
)
from tbgen.tables.open_table import (
    AS_OPENED,
    Answer,
    Bounds,
    Entry,
    Given,
    OpenedFile,
    OpenTable,
    Question,
    SuccessorTables,
)
from tbgen.tables.structs import UNSTORED, Coding

if TYPE_CHECKING:
    from tbgen.tables.look_up import Decoder

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_MIN_CACHED_ANSWERS: Final = 1 << 16
"""Minimum number of the latest answers to keep for one table."""
_MAX_SMALL_PHASE_SLOTS: Final = 64**3
"""Maximum number of slots of a small phase, which needs little memory to decode."""
_SLICES: Final = 64
"""Number of slices of a phase that are so small that they are looked up. Larger ones take less time with the
whole phase."""
_SLOTS_PER_LOOK_UP: Final = 1 << 15
"""Number of slots of a slice that are looked up together. They take about 50 MiB of memory."""
_LARGE_PHASE_LOCK: Final = Lock()
"""Lock for decoding large phases. They are decoded one at a time, because each needs much memory."""
_SMALL_PHASES: Final = BoundedSemaphore(2)
"""Semaphore for decoding small phases. At most two are decoded at a time."""
_PAWNS_LOCK: Final = Lock()
"""Lock for unpacking tables with pawns. They are unpacked one at a time, because this needs much memory.
Unpacking a table without pawns does not need the lock, so threads that work for the holder of the lock may
do it."""


class AnswerCache(Generic[K, V]):
    """A cache of the latest answers to questions.

    The cache is thread-safe, but answers that two threads add at the same time may be lost. At least the last
    ``size`` answers are kept. Older answers are dropped in groups, so the cache may contain twice as many,
    and even more after a large update.

    >>> cache = AnswerCache(2)
    >>> for number in range(5):
    ...     cache.update({number: str(number)})
    >>> [cache.get(number) for number in range(5)]
    [None, None, '2', '3', '4']
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._recent: dict[K, V] = {}
        self._older: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        """Return the answer, or None if it is not in the cache."""
        answer = self._recent.get(key)
        return self._older.get(key) if answer is None else answer

    def update(self, answers: Mapping[K, V]) -> None:
        """Add answers."""
        if len(self._recent) >= self._size:
            self._older = self._recent
            self._recent = {}
        self._recent.update(answers)


class PackedTable(OpenTable):
    """An open packed table.

    :param successors: the tables of successors, on which the table's values depend. If it is None, the file
        can be checked, but positions cannot be looked up.
    """

    form_schema: ClassVar[Schema] = PACKED
    default_threads = min(processor_count(), 8)
    """More threads would wait for the interpreter's lock."""

    def __init__(self, opened_file: OpenedFile, successors: SuccessorTables | None) -> None:
        self._successors = successors
        self._answers = AnswerCache[Question, Answer](_MIN_CACHED_ANSWERS)
        self._mappings: list[mmap] = []
        super().__init__(opened_file)

    @property
    def stored_side(self) -> Side:
        """Implement :attr:`OpenTable.stored_side`."""
        return self._stored_side

    def fresh(self, side: Side, slot: Slot) -> Entry:
        """Implement :meth:`OpenTable.fresh`."""
        code, depth = self._answer((side, slot, NO_SCORE))
        assert depth is not None, "depths of fresh states are stored"
        return code, depth

    def accrued(self, side: Side, slot: Slot, code: Code) -> Answer:
        """Implement :meth:`OpenTable.accrued`. The depth is None if it is not stored."""
        return self._answer((side, slot, code))

    def _answer(self, question: Question) -> Answer:
        return self._answers.get(question) or self._look_up_one(question)

    def _look_up_one(self, question: Question) -> Answer:
        """Look up a single position."""
        answers, error = self._look_up([question])
        if question not in answers:
            raise error or self._damaged_block()
        return answers[question]

    def prefetch(self, questions: Iterable[Question]) -> None:
        """Implement :meth:`OpenTable.prefetch`."""
        if not self.info.stores_accrued:
            questions = ((side, slot, NO_SCORE) for side, slot, _ in questions)
        unknown = {question for question in questions if not self._is_cached(*question)}
        if unknown:
            self._look_up(sorted(unknown))

    def look_up(
        self, side: Codes, slots: Ints, accrued: Ints, bounds: Bounds | None = None
    ) -> tuple[Codes, NDArray[np.int32]]:
        """Implement :meth:`OpenTable.look_up`."""
        value, depth, accrued_value, error = self._decoder.look_up(side, slots, accrued, bounds)
        mask = (accrued >= 0) & (np.minimum(accrued, 255 - accrued) <= np.minimum(value, 255 - value))
        if (value == DAMAGED).any() or (accrued_value[mask] == DAMAGED).any():
            raise error or self._damaged_block()
        value[mask] = accrued_value[mask]
        depth[mask] = np.where(accrued_value == accrued, 0, -1)[mask]
        if bounds is None and (value == NONE).any():
            raise self.damaged("it has no value for a legal position")
        return value.astype(np.uint8), depth.astype(np.int32)

    def functions_at(self, slots: Ints) -> tuple[Codes, ValueFunctions]:
        """Implement :meth:`OpenTable.functions_at`."""
        values, function_numbers = self._decoder.look_up_stored(slots)
        if (values == DAMAGED).any():
            raise self._damaged_block()
        functions = functions_of(self, self.coding, function_numbers)
        return np.where(values == UNSTORED, NONE, values).astype(np.uint8), functions

    def read_slots(
        self, side: Side, start: int, value: Codes, depth: Plies, given: Given = AS_OPENED
    ) -> None:
        """Implement :meth:`OpenTable.read_slots`.

        A small slice is looked up, which takes memory for some of its positions. Every other read decodes
        the whole phase again.
        """
        size = self.layout.phase_size
        if given.sub_tables is None and len(value) * _SLICES <= size:
            self._read_slice(side, start, value, depth)
            return
        from tbgen.tables.unpack import compiling_unpacker, unpack_side

        phase, first_slot = divmod(start, size)
        sources = self._sources(given)  # may decode other tables, so locks must not be held yet
        whole = len(value) == size
        phase_value = value if whole else np.full(size, NONE, np.uint8)
        phase_depth = depth if whole else np.zeros(size, np.uint16)
        lock = _LARGE_PHASE_LOCK if size > _MAX_SMALL_PHASE_SLOTS else _SMALL_PHASES
        with lock, compiling_unpacker():
            unpack_side(self, self.coding, *sources, phase, side, phase_value, phase_depth)
            self._forget_blocks()
        if not whole:
            slots = slice(first_slot, first_slot + len(value))
            value[:], depth[:] = phase_value[slots], phase_depth[slots]

    def _read_slice(self, side: Side, start: int, value: Codes, depth: Plies) -> None:
        """Do the work of :meth:`read_slots` by looking up the canonical slots of positions."""
        value[:], depth[:] = NONE, 0
        for part in parts_of_size(0, len(value), _SLOTS_PER_LOOK_UP):
            slots = np.arange(*part) + start
            squares = squares_of(self.layout, slots)
            legal = are_legal(ordered_men(self.layout), squares, side)
            found = np.flatnonzero(legal & (slots_of(self.layout, squares) == slots))
            states = np.full(len(found), side, np.uint8), slots[found], np.full(len(found), NO_SCORE)
            value[part[0] + found], depth[part[0] + found] = self.look_up(*states)

    def needs(self, phase: int, side: Side) -> set[Material]:
        """Implement :meth:`OpenTable.needs`."""
        return set() if side == self.stored_side else materials_after_promotions(self.layout, phase, side)

    def read(self, given: Given = AS_OPENED, *, functions: bool = True, progress: Progress = silent) -> Table:
        """Implement :meth:`OpenTable.read`.

        A table with pawns is unpacked to a temporary file (:class:`tbgen.moves.pool.SolvedPhases`), beside
        the packed table or, if that is impossible, in the system's temporary directory.
        """
        from tbgen.tables.unpack import compiling_unpacker, unpack

        sources = self._sources(given)
        with _PAWNS_LOCK if self.layout.pawns else nullcontext(), compiling_unpacker():
            return unpack(self, self.coding, *sources, functions=functions, progress=progress)

    def read_checked(self, given: Given = AS_OPENED, progress: Progress = silent) -> Table:
        """Implement :meth:`OpenTable.read_checked`."""
        table = super().read_checked(given, progress)
        manifest = manifest_of_content(table, given.threads or self._threads)
        if manifest.text != self.manifest.text:
            raise self.damaged(f"its {manifest.first_difference(self.manifest)} does not match its digest")
        if not np.array_equal(self.data(schema.COUNT), table.value_counts):
            raise self.damaged("its numbers of values are not those of its positions")
        return table

    def data(self, dataset_schema: DatasetSchema, threads: int = 2) -> NDArray[Any]:
        """Return all elements of a dataset. A raw dataset is memory-mapped.

        :raises DamagedTableError: if a chunk does not decode.
        """
        if not dataset_schema.raw:
            return super().data(dataset_schema, threads)
        dataset = self._file[dataset_schema.name]
        size = dataset.shape[0]
        offset = dataset.id.get_offset()
        if not size:
            return np.zeros(0, np.uint8)
        if offset is None or dataset.dtype != np.uint8:
            raise self.damaged(f"its {dataset_schema.name} is stored differently")
        before = offset % ALLOCATIONGRANULARITY
        # The open file is mapped, because the path may name another file by now.
        mapped = mmap(
            file_descriptor(self._file.id), before + size, access=ACCESS_COPY, offset=offset - before
        )
        self._mappings.append(mapped)
        return np.frombuffer(mapped, np.uint8, offset=before)

    @cached_property
    def coding(self) -> Coding:
        """The data needed to decode the blocks."""
        return coding_of(self)

    def _sources(self, given: Given) -> tuple[Mapping[Material, Source], int]:
        """Return the sub-tables and the number of threads with which to derive values."""
        sub_tables = given.sub_tables
        if sub_tables is None:
            sub_tables = self._shelf.sub_tables_of(self.layout.material)
        return sub_tables, given.threads or self._threads

    @property
    def _shelf(self) -> SuccessorTables:
        if self._successors is None:
            raise TbgenError(f"{self.path} was opened without the sub-tables that it needs")
        return self._successors

    def _forget_blocks(self) -> None:
        """Release the memory of mapped blocks. They stay in the page cache of the system."""
        for mapped in self._mappings:
            release_pages(mapped)

    def _look_up(self, questions: Sequence[Question]) -> tuple[dict[Question, Answer], TbgenError | None]:
        """Look up positions and cache the answers. Return the answers, and the first error raised while exits
        were looked up, or None."""
        value, depth, accrued_value, error = self._decoder.look_up(*np.array(questions, np.int64).T)
        answers: dict[Question, Answer] = {}
        columns = value.tolist(), depth.tolist(), accrued_value.tolist()
        for (side, slot, accrued), code, plies, accrued_code in zip(questions, *columns, strict=True):
            if code != DAMAGED:
                answers[side, slot, NO_SCORE] = Code(code), plies
            if accrued_code != DAMAGED:
                answers[side, slot, accrued] = Code(accrued_code), 0 if accrued_code == accrued else None
        self._answers.update(answers)
        return answers, error

    @cached_property
    def _decoder(self) -> "Decoder":
        from tbgen.tables.look_up_warmup import ensure_compiled

        ensure_compiled()
        from tbgen.tables.look_up import Decoder, ExceptionalPositions, ExitFinder

        value, depth = self._arrays[schema.EXCEPTION_VALUE], self._arrays[schema.EXCEPTION_DEPTH]
        exceptions = ExceptionalPositions(
            exception_slots_of(self), lambda index: (value.item(0, index), depth.item(0, index))
        )
        finder = ExitFinder(self.layout, self._shelf)
        return Decoder(self.layout, self.coding, exceptions, finder, self._threads, self._forget_blocks)

    def _is_cached(self, side: Side, slot: Slot, code: int) -> bool:
        """Whether the answer to a question is in the cache, or follows from a fresh value in the cache."""
        fresh = self._answers.get((side, slot, NO_SCORE))
        if fresh is None:
            return False
        is_decided = min(code, 255 - code) > min(fresh[0], 255 - fresh[0])
        return code == NO_SCORE or is_decided or self._answers.get((side, slot, code)) is not None

    def _position_counts(self) -> NDArray[np.uint64]:
        counts = self.data(schema.COUNT)
        if counts.sum(axis=1).tolist() != list(self.info.positions):
            raise self.damaged(f"the sums of its {schema.COUNT.name} differ from its numbers of positions")
        return counts

    def _load(self) -> None:
        super()._load()
        side = operator.index(self._file.attrs["stored_side"])
        if side not in SIDES:
            raise self.damaged(f"its stored_side {side} is not a side")
        self._stored_side = SIDES[side]

    def _sizes(self) -> dict[str, int]:
        blocks = self.info.size // (64 * block_rows_of(self.layout))
        return super()._sizes() | {
            "coded blocks": blocks,
            "function blocks": blocks if self.info.stores_accrued else 0,
        }

    def _stated_manifest(self) -> Manifest:
        lines = self.manifest.lines[: 1 + len(self.schema.manifest_attributes)]
        stored = bytes(self._file.attrs["stored"]).decode()
        return Manifest("".join(f"{line}\n" for line in lines) + stored)

    def _damaged_block(self) -> TbgenError:
        return self.damaged("it has flipped bits in a block")
