"""An open packed table. Look-ups decode a block only as far as needed.

W, D, V(P, A) and g(P) are explained in docs/glossary.md.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Final, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import Material
from tbgen.board.score import NONE, Code
from tbgen.errors import TbgenError
from tbgen.index.codes import NO_SCORE
from tbgen.index.layout import Side, Slot
from tbgen.index.table import ValueFunctions
from tbgen.store import schema
from tbgen.store.cache import ChunkCache
from tbgen.store.schema import PACKED, slots_of
from tbgen.store.table_file import Entry, StoredFile
from tbgen.system.memory import processor_count, release_pages
from tbgen.tables.coding import block_rows_of, decoding_of, rows_of
from tbgen.tables.decoder import Bounds, Decoder, ExceptionalPositions, ExitFinder, FreshLookUp, Moves, Target
from tbgen.tables.structs import DAMAGED, UNSTORED, Coding

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_MIN_CACHED_ANSWERS: Final = 1 << 16
"""Minimum number of the latest answers to keep for one table."""
_MAX_THREADS: Final = 8
"""Maximum number of threads that decode blocks. More threads would wait for the interpreter's lock."""

Question: TypeAlias = tuple[Side, Slot, int]
"""Side to move, canonical slot, and the code of an accrued score; NO_SCORE for the fresh state."""
Answer: TypeAlias = tuple[Code, int | None]
"""The code of a value, and the depth in plies; None if the depth is not stored."""


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


class PackedFile(StoredFile):
    """An open table in packed form. Look-ups are thread-safe.

    Raises the same errors as :class:`StoredFile`.

    :param look_up_fresh: looks up the fresh values after zeroing moves, on which the table's values depend.
        If it is None, the file can be checked, but positions cannot be looked up.
    """

    side: Side
    """The stored side to move."""
    threads = min(processor_count(), _MAX_THREADS)
    """Number of threads that decode large batches."""

    def __init__(
        self,
        path: Path,
        *,
        material: Material | None = None,
        cache: ChunkCache | None = None,
        look_up_fresh: FreshLookUp | None = None,
    ) -> None:
        self._look_up_fresh = look_up_fresh or self._refuse_look_up
        self._answers = AnswerCache[Question, Answer](_MIN_CACHED_ANSWERS)
        super().__init__(path, material=material, cache=cache)

    def fresh(self, side: Side, slot: Slot) -> Entry:
        """Return the code of W, and D in plies, of a legal position at its canonical slot.

        :raises DamagedTableError: if its block does not decode.
        """
        code, depth = self._answer((side, slot, NO_SCORE))
        assert depth is not None, "depths of fresh states are stored"
        return code, depth

    def accrued(self, side: Side, slot: Slot, code: Code) -> Answer:
        """Return the code of V(P, A), and D(P, A) in plies, or None if the depth is not stored.

        :param code: code of A. g(P) must have been folded into A, and A must differ from g(P). The rank of A
            must not exceed the rank of W.
        """
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
        """Look up several positions together and cache the answers for :meth:`fresh` and :meth:`accrued`.

        Errors are ignored, because these methods raise them again.
        """
        if not self.info.stores_accrued:
            questions = ((side, slot, NO_SCORE) for side, slot, _ in questions)
        unknown = {question for question in questions if not self._is_cached(*question)}
        if unknown:
            self._look_up(sorted(unknown))

    def look_up(
        self,
        side: NDArray[np.uint8],
        slots: NDArray[np.int64],
        accrued: NDArray[np.int64],
        bounds: Bounds | None = None,
    ) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
        """Return the codes of V(P, A) for many positions, and the depths D(P, A) in plies, -1 if not stored.

        :param side: uint8 (n,), sides to move.
        :param slots: int64 (n,), canonical slots of legal positions.
        :param accrued: int64 (n,), codes of A, into which g(P) has been folded; NO_SCORE for fresh states. No
            code may be that of g(P).
        :param bounds: if given, the states are fresh, and the code of a value that does not matter may be
            NONE.
        :raises DamagedTableError: if a block does not decode.
        """
        value, depth, accrued_value, error = self._decoder.look_up(side, slots, accrued, bounds)
        mask = (accrued >= 0) & (np.minimum(accrued, 255 - accrued) <= np.minimum(value, 255 - value))
        if (value == DAMAGED).any() or (accrued_value[mask] == DAMAGED).any():
            raise error or self._damaged_block()
        value[mask] = accrued_value[mask]
        depth[mask] = np.where(accrued_value == accrued, 0, -1)[mask]
        return value.astype(np.uint8), depth.astype(np.int32)

    def look_up_stored(self, slots: NDArray[np.int64]) -> tuple[NDArray[np.uint8], ValueFunctions]:
        """Return the stored values of many positions with the stored side to move, and their functions.

        The function of a position gives V(P, A) for each accrued score A.

        :param slots: int64 (n,), canonical slots of non-terminal positions.
        :returns: codes of W, shape (n,), ``NONE`` if the best capture gives the value; and the functions,
            whose ``function_numbers`` have elements for these positions only, not for all slots.
        :raises DamagedTableError: if a block does not decode.
        """
        values, function_numbers = self._decoder.look_up_stored(slots)
        if (values == DAMAGED).any():
            raise self._damaged_block()
        return np.where(values == UNSTORED, NONE, values).astype(np.uint8), self.accrued_functions(
            function_numbers
        )

    def accrued_functions(self, function_numbers: NDArray[np.uint32]) -> ValueFunctions:
        """Return the functions of the table.

        :param function_numbers: the decoded function number of each slot.
        :raises DamagedTableError: if no function has one of these numbers.
        """
        coding = self.coding
        if int(function_numbers.max(initial=0)) >= len(coding.entry_start) - 1:
            raise self.damaged("it has positions with functions that do not exist")
        return ValueFunctions(
            self.side, function_numbers, coding.entry_start, coding.entry_accrued, coding.entry_value
        )

    @cached_property
    def coding(self) -> Coding:
        """The data needed to decode the blocks."""
        return self._guard(self._coding)

    @property
    def block_count(self) -> int:
        """Number of blocks."""
        return self.coding.stream.value_length.size

    def exceptions(self) -> tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.uint16]]:
        """Return slots, values and depths of the exceptions: positions with the derived side to move whose
        derived result would be wrong."""
        values, depths = self.data(schema.EXCEPTION_VALUE), self.data(schema.EXCEPTION_DEPTH)
        return self._exception_slots, values, depths.astype(np.uint16)

    def forget_blocks(self) -> None:
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
    def _decoder(self) -> Decoder:
        exceptions = ExceptionalPositions(self._exception_slots, self._exception_entry)
        exit_finder = ExitFinder(self.layout, self._look_up_fresh)
        return Decoder(self.layout, self.coding, exceptions, exit_finder, self.threads, self.forget_blocks)

    def _is_cached(self, side: Side, slot: Slot, code: int) -> bool:
        """Whether the answer to a question is in the cache, or follows from a fresh value in the cache."""
        fresh = self._answers.get((side, slot, NO_SCORE))
        if fresh is None:
            return False
        is_decided = min(code, 255 - code) > min(fresh[0], 255 - fresh[0])
        return code == NO_SCORE or is_decided or self._answers.get((side, slot, code)) is not None

    def _load(self) -> None:
        super()._load()
        if self.schema is not PACKED:
            raise self.damaged("it is a plain table, but a packed table was expected")
        self.side = self.stored_side

    def _sizes(self) -> dict[str, int]:
        blocks = self.info.size // (64 * block_rows_of(self.layout))
        return super()._sizes() | {
            "coded blocks": blocks,
            "function blocks": blocks if self.info.stores_accrued else 0,
        }

    def _coding(self) -> Coding:
        start = self.data(schema.FUNCTION_START)
        if (len(start) > 1) != self.info.stores_accrued:
            raise self.damaged("its functions of accrued scores contradict its attributes")
        if len(start) and (start[0] or start[-1] != self.info.runs or (start[1:] < start[:-1]).any()):
            raise self.damaged("its functions do not begin and end with their entries")
        coding = decoding_of(rows_of(self.layout, self.side), self.data)
        stream = coding.stream
        lengths = stream.value_length, stream.depth_length, stream.function_length
        if sum(int(length.sum(dtype=np.int64)) for length in lengths) != len(stream.data):
            raise self.damaged(f"its {schema.BLOCK_DATA.name} has another length")
        return coding

    @cached_property
    def _exception_slots(self) -> NDArray[np.int64]:
        slots = slots_of(self.data(schema.EXCEPTION_STEP))
        count = self._arrays[schema.EXCEPTION_VALUE].shape[0]
        if len(slots) != count or (count and slots[-1] >= self.layout.size):
            raise self.damaged("its exceptions are not those of its slots")
        return slots

    def _exception_entry(self, index: int) -> Entry:
        value, depth = self._arrays[schema.EXCEPTION_VALUE], self._arrays[schema.EXCEPTION_DEPTH]
        return value.item(0, index), depth.item(0, index)

    def _damaged_block(self) -> TbgenError:
        return self.damaged("it has flipped bits in a block")

    def _refuse_look_up(
        self, targets: Sequence[Target], moves: Moves, bounds: Bounds | None
    ) -> tuple[NDArray[np.int64], None]:
        raise TbgenError(f"{self.path} was opened without the sub-tables that it needs")
