"""Looking positions up in a packed table, one or many, decoded as far as they are asked for."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Final, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import Material
from tbgen.board.score import NONE, Code
from tbgen.errors import TbgenError
from tbgen.index.layout import Side, Slot
from tbgen.index.table import NO_SCORE, Functions
from tbgen.index.zeroing import BestExit, ExitsOfMany
from tbgen.packed.decoder import (
    Answer,
    ArrayDecoder,
    BatchDecoder,
    CodedFile,
    ExitsOfArrays,
    Question,
    decides,
)
from tbgen.packed.kernels.questions import DAMAGED, UNSTORED
from tbgen.store.cache import ChunkCache
from tbgen.store.table_file import Entry
from tbgen.system.memory import processors

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class AnswerMemory(Generic[K, V]):
    """The last answers to questions: at least ``size`` of them, and twice as many, besides what was learnt at
    once, before old ones go. Safe for threads, which may lose each other's answers.

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
        """Return the answer, None if it is not known any more."""
        found = self._new.get(key)
        return self._old.get(key) if found is None else found

    def update(self, answers: Mapping[K, V]) -> None:
        """Keep answers."""
        if len(self._new) >= self._size:
            self._old, self._new = self._new, {}
        self._new.update(answers)


_REMEMBERED: Final = 1 << 15
"""Answers of one table that are kept, of either kind."""
_MOST_THREADS: Final = 8
"""To decode with; more would wait for the interpreter."""

ValueOnly = tuple[Code, int | None]
"""A code, and a depth in plies where it is stored."""


class PackedFile(CodedFile):
    """An open table in packed form; look-ups are safe for threads.

    :param exits: finds the exits of the table's positions, which its values rest on; a file without it can be
        checked, but not asked.

    Raises as :class:`StoredFile` does.
    """

    def __init__(
        self,
        path: Path,
        *,
        material: Material | None = None,
        cache: ChunkCache | None = None,
        exits: ExitsOfMany | None = None,
    ) -> None:
        self._exits = exits or self._no_exits
        self._fresh = AnswerMemory[tuple[Side, Slot], Entry](_REMEMBERED)
        self._accrued = AnswerMemory[Question, ValueOnly](_REMEMBERED)
        super().__init__(path, material=material, cache=cache)

    def fresh(self, side: Side, slot: Slot) -> Entry:
        """Return code of W and D in plies of a legal position at its canonical slot.

        :raises DamagedTableError: if its block does not decode.
        """
        return self._fresh.get((side, slot)) or self._decode((side, slot, NO_SCORE))[0]

    def accrued(self, side: Side, slot: Slot, code: Code) -> ValueOnly:
        """Return code of V(P, A), and D(P, A) where it follows, for the code of an accrued score A.

        A must have been folded in, must differ from g(P), and its rank must not exceed that of W.
        """
        known = self._accrued.get((side, slot, code))
        if known is None:
            value = self._decode((side, slot, code))[1]
            assert value is not None, "W decides what becomes of the accrued score"
            known = value, 0 if value == code else None
        return known

    def _decode(self, question: Question) -> tuple[Entry, Code | None]:
        """Look up one position by itself."""
        ((_, entry, value),) = self._look_up([question])
        if isinstance(entry, TbgenError):
            raise entry
        if isinstance(value, TbgenError):
            raise value
        return entry, value

    def learn(self, asked: Iterable[Question]) -> None:
        """Look up together what :meth:`fresh`, and with accrued scores :meth:`accrued`, is going to be asked
        for, so that it is known. What fails is left to them.

        :raises DamagedTableError: if nothing can be looked up.
        """
        if not self.info.stores_accrued:
            asked = ((side, slot, NO_SCORE) for side, slot, _ in asked)
        unknown = {question for question in asked if not self._knows(*question)}
        if unknown:
            self._look_up(sorted(unknown))

    def _look_up(self, asked: Sequence[Question]) -> list[Answer]:
        """Look positions up, and remember what comes of it."""
        exceptions = self._exceptions_among([slot for side, slot, _ in asked if side != self.side])
        known: dict[tuple[Side, Slot], Entry] = {}
        for side, slot, _ in asked:
            entry = self._fresh.get((side, slot))
            if entry is None and side != self.side and slot in exceptions:
                entry = self._exception(exceptions[slot])
            if entry is not None:
                known[side, slot] = entry
        found: list[Answer] = [
            (question, known[question[:2]], None)
            for question in asked
            if question[2] == NO_SCORE and question[:2] in known
        ]
        left = [question for question in asked if question[2] != NO_SCORE or question[:2] not in known]
        if left:
            found += self._decoder.look_up(left, known)
        self._fresh.update(
            {question[:2]: entry for question, entry, _ in found if not isinstance(entry, TbgenError)}
        )
        self._accrued.update(
            {
                question: (value, 0 if value == question[2] else None)
                for question, _, value in found
                if isinstance(value, int)
            }
        )
        return found

    def of_stored_side(self, slots: NDArray[np.int64]) -> tuple[NDArray[np.uint8], Functions]:
        """Return what the file says of many positions of the side that it stores.

        :param slots: int64 (n,), canonical slots of legal positions that go on.
        :returns: codes of W, ``NONE`` where the best capture gives it, shape (n,), and the functions of the
            positions in place of those of all slots.
        :raises DamagedTableError: if a block does not decode.
        """
        values, number = self._decoder.of_stored(slots)
        if (values == DAMAGED).any():
            raise self.damaged("it has flipped bits in a block")
        return np.where(values == UNSTORED, NONE, values).astype(np.uint8), self.functions(number)

    def array_decoder(self, exits: ExitsOfArrays) -> ArrayDecoder:
        """Return what looks many positions up, from arrays to arrays.

        :param exits: finds the exits of the table's positions.
        """
        return ArrayDecoder(self, self._exits, exits, self.threads)

    @cached_property
    def _decoder(self) -> BatchDecoder:
        return BatchDecoder(self, self._exits, self.threads)

    def _knows(self, side: Side, slot: Slot, code: int) -> bool:
        entry = self._fresh.get((side, slot))
        return entry is not None and (
            decides(entry, code) or self._accrued.get((side, slot, code)) is not None
        )

    def _exceptions_among(self, slots: list[Slot]) -> dict[Slot, int]:
        """Return the places of those slots of the derived side that are exceptions."""
        if not slots or not len(self._exceptions):
            return {}
        places = np.minimum(np.searchsorted(self._exceptions, slots), len(self._exceptions) - 1)
        found = self._exceptions[places] == slots
        return {slots[at]: int(places[at]) for at in np.flatnonzero(found)}

    threads = min(processors(), _MOST_THREADS)
    """With which many positions are decoded."""

    def _no_exits(
        self, side: Side, slots: Sequence[Slot], *, captures_only: bool = False
    ) -> list[BestExit | TbgenError | None]:
        raise TbgenError(f"{self.path} was opened without the tables that it rests on")
