"""Open packed tables. Look-ups decode each block only as far as they need it."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Final, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import Material
from tbgen.board.score import NONE, Code
from tbgen.errors import TbgenError
from tbgen.index.layout import Side, Slot
from tbgen.index.table import NO_SCORE, Functions
from tbgen.packed.decoder import Decoder, Exceptions, ExitFinder, FreshValues, Moves, Target
from tbgen.packed.encode import coding_of
from tbgen.packed.kernels.blocks import (
    BLOCK_SLOTS,
    DEPTH_CONTEXTS,
    FUNCTION_CONTEXTS,
    FUNCTION_ESCAPE,
    VALUE_CONTEXTS,
    Coding,
)
from tbgen.packed.kernels.questions import DAMAGED, UNSTORED
from tbgen.packed.pack import rows_of
from tbgen.store import schema
from tbgen.store.cache import ChunkCache
from tbgen.store.schema import PACKED, slots_of
from tbgen.store.table_file import Entry, StoredFile
from tbgen.system.memory import forget, processors

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class AnswerMemory(Generic[K, V]):
    """A cache of the latest answers to questions; thread-safe, but threads may lose each other's answers.

    At least the last ``size`` answers are kept. Older ones are dropped in groups, so the cache may have twice
    as many, and more after large updates.

    >>> memory = AnswerMemory(2)
    >>> for number in range(5):
    ...     memory.update({number: str(number)})
    >>> [memory.get(number) for number in range(5)]
    [None, None, '2', '3', '4']
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._new: dict[K, V] = {}
        self._old: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        """Return the answer, None if it is not in the cache."""
        found = self._new.get(key)
        return self._old.get(key) if found is None else found

    def update(self, answers: Mapping[K, V]) -> None:
        """Add answers."""
        if len(self._new) >= self._size:
            self._old, self._new = self._new, {}
        self._new.update(answers)


_CACHED_ANSWERS: Final = 1 << 16
"""Number of answers of one table that are at least kept."""
_MAX_THREADS: Final = 8
"""Most threads that decode blocks; more would wait for the interpreter's lock."""

Question: TypeAlias = tuple[Side, Slot, int]
"""A position and the code of an accrued score, or NO_SCORE."""
Answer: TypeAlias = tuple[Code, int | None]
"""A code, and a depth in plies, None if it is not stored."""


class PackedFile(StoredFile):
    """An open table in packed form; look-ups are thread-safe.

    :param fresh: looks up the fresh values after zeroing moves, on which the table's values depend. Without
        it the file can be checked, but positions cannot be looked up.

    Raises as :class:`StoredFile` does.
    """

    side: Side
    """The stored side to move."""
    threads = min(processors(), _MAX_THREADS)
    """Number of threads that decode large batches."""

    def __init__(
        self,
        path: Path,
        *,
        material: Material | None = None,
        cache: ChunkCache | None = None,
        fresh: FreshValues | None = None,
    ) -> None:
        self._fresh_values = fresh or self._no_values
        self._answers = AnswerMemory[Question, Answer](_CACHED_ANSWERS)
        super().__init__(path, material=material, cache=cache)

    def fresh(self, side: Side, slot: Slot) -> Entry:
        """Return the code of W, and D in plies, of a legal position at its canonical slot.

        :raises DamagedTableError: if its block does not decode.
        """
        code, depth = self._answer((side, slot, NO_SCORE))
        assert depth is not None, "depths of fresh states are stored"
        return code, depth

    def accrued(self, side: Side, slot: Slot, code: Code) -> Answer:
        """Return the code of V(P, A), and D(P, A) in plies or None, for the code of an accrued score A.

        g(P) must have been folded into A, A must differ from g(P), and its rank must not exceed that of W.
        """
        return self._answer((side, slot, code))

    def _answer(self, question: Question) -> Answer:
        return self._answers.get(question) or self._decode(question)

    def _decode(self, question: Question) -> Answer:
        """Look up a single question."""
        answers, failed = self._look_up([question])
        if question not in answers:
            raise failed or self._flipped()
        return answers[question]

    def learn(self, asked: Iterable[Question]) -> None:
        """Look up several questions together and cache the answers for :meth:`fresh` and :meth:`accrued`.

        Errors are ignored, because those methods raise them again.
        """
        if not self.info.stores_accrued:
            asked = ((side, slot, NO_SCORE) for side, slot, _ in asked)
        unknown = {question for question in asked if not self._knows(*question)}
        if unknown:
            self._look_up(sorted(unknown))

    def look_up(
        self, side: NDArray[np.uint8], slots: NDArray[np.int64], accrued: NDArray[np.int64]
    ) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
        """Return the codes of V(P, A), and D(P, A) in plies, -1 where it is not stored, of many positions.

        :param side: uint8 (n,), sides to move.
        :param slots: int64 (n,), canonical slots of legal positions.
        :param accrued: int64 (n,), codes of A, into which g(P) has been folded and which differ from g(P); or
            NO_SCORE for fresh states.
        :raises DamagedTableError: if a block does not decode.
        """
        value, depth, inherited, failed = self._decoder.look_up(side, slots, accrued)
        held = (accrued >= 0) & (np.minimum(accrued, 255 - accrued) <= np.minimum(value, 255 - value))
        if (value == DAMAGED).any() or (inherited[held] == DAMAGED).any():
            raise failed or self._flipped()
        value[held], depth[held] = inherited[held], np.where(inherited == accrued, 0, -1)[held]
        return value.astype(np.uint8), depth.astype(np.int32)

    def of_stored_side(self, slots: NDArray[np.int64]) -> tuple[NDArray[np.uint8], Functions]:
        """Return the stored values and functions of many positions of the stored side.

        :param slots: int64 (n,), canonical slots of non-terminal positions.
        :returns: codes of W, ``NONE`` if the best capture gives the value, shape (n,), and the functions,
            with the numbers of these positions instead of all slots.
        :raises DamagedTableError: if a block does not decode.
        """
        values, number = self._decoder.of_stored(slots)
        if (values == DAMAGED).any():
            raise self._flipped()
        return np.where(values == UNSTORED, NONE, values).astype(np.uint8), self.functions(number)

    def functions(self, number: NDArray[np.uint32]) -> Functions:
        """Return the dictionary of functions, with decoded numbers of functions by slot.

        :raises DamagedTableError: if a number is that of no function.
        """
        coding = self.coding
        if int(number.max(initial=0)) >= len(coding.entry_start) - 1:
            raise self.damaged("it has positions with functions that do not exist")
        return Functions(self.side, number, coding.entry_start, coding.entry_accrued, coding.entry_value)

    @cached_property
    def coding(self) -> Coding:
        """The data that is needed to decode the blocks."""
        return self._guard(self._coding)

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return self.coding.value_stream.length.size

    def exceptions(self) -> tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.uint16]]:
        """Return slots, values and depths of the positions of the derived side that derivation gets wrong."""
        values, depths = self.data(schema.EXCEPTION_VALUE), self.data(schema.EXCEPTION_DEPTH)
        return self._exceptions, values, depths.astype(np.uint16)

    def _look_up(self, asked: Sequence[Question]) -> tuple[dict[Question, Answer], TbgenError | None]:
        """Look up questions and cache the answers; return them, and the first error in the exits or None."""
        value, depth, inherited, failed = self._decoder.look_up(*np.array(asked, np.int64).T)
        answers: dict[Question, Answer] = {}
        columns = value.tolist(), depth.tolist(), inherited.tolist()
        for (side, slot, accrued), fresh, plies, held in zip(asked, *columns, strict=True):
            if fresh != DAMAGED:
                answers[side, slot, NO_SCORE] = Code(fresh), plies
            if held != DAMAGED:
                answers[side, slot, accrued] = Code(held), 0 if held == accrued else None
        self._answers.update(answers)
        return answers, failed

    @cached_property
    def _decoder(self) -> Decoder:
        exceptions = Exceptions(self._exceptions, self._exception)
        exits = ExitFinder(self.layout, self._fresh_values)
        return Decoder(self.layout, self.coding, exceptions, exits, self.threads, self._forget_blocks)

    def _knows(self, side: Side, slot: Slot, code: int) -> bool:
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
        accrued, blocks = self.info.stores_accrued, self.info.size // BLOCK_SLOTS
        return super()._sizes() | {
            "value contexts": VALUE_CONTEXTS,
            "depth contexts": DEPTH_CONTEXTS,
            "function contexts": FUNCTION_CONTEXTS if accrued else 0,
            "function symbols": FUNCTION_ESCAPE + 1 if accrued else 0,
            "coded blocks": blocks,
            "function blocks": blocks if accrued else 0,
        }

    def _coding(self) -> Coding:
        start = self.data(schema.FUNCTION_START)
        if (len(start) > 1) != self.info.stores_accrued:
            raise self.damaged("its functions of accrued scores contradict its attributes")
        if len(start) and (start[0] or start[-1] != self.info.runs or (start[1:] < start[:-1]).any()):
            raise self.damaged("its functions do not begin and end with their entries")
        coding = coding_of(rows_of(self.layout, self.side), self.data)
        values, functions = coding.value_stream, coding.function_stream
        for stream, wanted in ((values, schema.VALUE_DATA), (functions, schema.FUNCTION_DATA)):
            if int(stream.length.sum(dtype=np.int64)) != len(stream.data):
                raise self.damaged(f"its {wanted.name} has another length")
        return coding

    def _forget_blocks(self) -> None:
        """Release the memory of mapped blocks; they stay in the page cache of the system."""
        for mapped in self._maps:
            forget(mapped)

    @cached_property
    def _exceptions(self) -> NDArray[np.int64]:
        slots = slots_of(self.data(schema.EXCEPTION_STEP))
        there = self._arrays[schema.EXCEPTION_VALUE].shape[0]
        if len(slots) != there or (there and slots[-1] >= self.layout.size):
            raise self.damaged("its exceptions are not those of its slots")
        return slots

    def _exception(self, place: int) -> Entry:
        value, depth = self._arrays[schema.EXCEPTION_VALUE], self._arrays[schema.EXCEPTION_DEPTH]
        return value.item(0, place), depth.item(0, place)

    def _flipped(self) -> TbgenError:
        return self.damaged("it has flipped bits in a block")

    def _no_values(self, targets: Sequence[Target], moves: Moves) -> tuple[NDArray[np.int64], None]:
        raise TbgenError(f"{self.path} was opened without the sub-tables that it needs")
