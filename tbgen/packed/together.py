"""Many positions of a packed table together: every block that they need is decoded once."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE, Code
from tbgen.index.exits import BestExit, ExitsOfMany
from tbgen.index.layout import SIDES, Side, Slot
from tbgen.index.table import FRESH, NO_SCORE
from tbgen.packed.captures import by_capture, with_captures
from tbgen.packed.coded_file import CodedFile
from tbgen.packed.kernels.blocks import BLOCK_SLOTS
from tbgen.packed.kernels.position import MAX_QUIET
from tbgen.packed.kernels.probe import UNSTORED
from tbgen.packed.kernels.probe_many import (
    Batch,
    answer_part,
    ask_all,
    ask_children_of_all,
    derived_accrued_of_all,
    derived_fresh_of_all,
    stored_accrued_of_all,
    stored_fresh_of_all,
)
from tbgen.packed.kernels.questions import DAMAGED, Asked, Pending, make_asked, make_room
from tbgen.store.reader import Entry

Question: TypeAlias = tuple[Side, Slot, int]
"""A position and the code of an accrued score, or NO_SCORE."""
Known: TypeAlias = Mapping[tuple[Side, Slot], Entry]
"""Code of W and D in plies by side and slot."""
_Inherited: TypeAlias = tuple[int, list[tuple[int, int]]]
"""V(P, A) as far as the best zeroing move and stored values say, DAMAGED if it is not to be had; slots whose
captures count too, with what their functions say."""

_AT_ONCE: Final = 1 << 15
"""Positions of one side whose questions are kept in memory together."""
_PART: Final = 256
"""Positions of which one thread finds the questions."""
_ALONE: Final = 100
"""Positions that are not worth a second thread."""
_FAILED: Final = -1
"""In the place of an exit: it could not be looked up."""
_PARTS_OF_THREAD: Final = 4
"""So that no thread waits long for the last one; each part takes the interpreter's lock for a moment."""

_Map: TypeAlias = Callable[..., Iterator[Any]]


class _Part(NamedTuple):
    """Positions with their questions."""

    batch: Batch
    asked: Asked


class Together:
    """Looks positions of one table up together, those with neighbouring slots best one after the other. What
    fails, for whatever reason, has no answer.

    :param exits: finds the exits of the table's positions.
    :param threads: with which blocks are decoded.
    """

    def __init__(self, file: CodedFile, exits: ExitsOfMany, threads: int) -> None:
        self._file, self._coding, self._exits, self._threads = file, file.coding, exits, threads
        self._stored, self._derived = file.side, SIDES[1 - file.side]

    def look_up(
        self, asked: Sequence[Question], known: Known
    ) -> Iterator[tuple[Question, Entry, Code | None]]:
        """Yield questions with code of W and D in plies, and with code of V(P, A) where W does not decide.

        :param asked: canonical slots.
        :param known: code of W and D in plies of the exceptions among them.
        """
        stored = [question for question in asked if question[0] == self._stored]
        derived = [question for question in asked if question[0] == self._derived]
        for first in range(0, max(len(stored), len(derived)), _AT_ONCE):
            some, others = (questions[first : first + _AT_ONCE] for questions in (stored, derived))
            part, parts = self._answered(_batch(some), _batch(others))
            yield from self._conclude_stored(some, part)
            yield from self._conclude_derived(others, parts, known)

    def of_stored(self, slots: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
        """Return values and functions of the side that is stored.

        :param slots: int64 (n,), canonical slots of legal positions that go on.
        :returns: codes of W, ``UNSTORED`` where the best capture gives it, ``DAMAGED`` where a block does not
            decode; and the numbers of functions; shape (n,) each.
        """
        values, functions = np.empty(len(slots), np.int64), np.empty(len(slots), np.uint32)
        for first in range(0, len(slots), _AT_ONCE):
            here = slice(first, first + _AT_ONCE)
            part, _ = self._answered(_room_for(slots[here], np.zeros(len(slots[here]), np.int64)), _batch([]))
            stored_fresh_of_all(self._coding, part.batch, part.asked, make_room())
            values[here], functions[here] = part.batch.value, part.asked.function
        return values, functions

    def _conclude_stored(
        self, asked: Sequence[Question], part: _Part
    ) -> Iterator[tuple[Question, Entry, Code | None]]:
        batch = part.batch
        stored_fresh_of_all(self._coding, batch, part.asked, make_room())
        found: list[Entry | None] = [None] * len(asked)
        unstored = []
        for number, (value, depth) in enumerate(zip(batch.value.tolist(), batch.depth.tolist(), strict=True)):
            if value == UNSTORED:
                unstored.append((number, depth))
            elif value != DAMAGED:
                found[number] = value, depth
        slots = [asked[number][1] for number, _ in unstored]
        exits = self._exits(self._stored, slots, captures_only=True)
        for (number, own), best in zip(unstored, exits, strict=True):
            if isinstance(best, BestExit):
                found[number] = by_capture(self._stored, own, best)
        stored_accrued_of_all(self._coding, batch, part.asked)
        for question, entry, said in zip(asked, found, batch.value.tolist(), strict=True):
            if entry is not None:
                decided = said == DAMAGED or decides(entry, question[2])
                value = {FRESH: entry[0], NONE: question[2]}.get(said, said)
                yield question, entry, None if decided else Code(value)

    def _conclude_derived(
        self, asked: Sequence[Question], parts: list[_Part], known: Known
    ) -> Iterator[tuple[Question, Entry, Code | None]]:
        found: list[Entry | None] = []
        inherited: list[_Inherited] = []
        for part in parts:
            batch = part.batch
            derived_fresh_of_all(self._coding, batch, part.asked)
            failed = (batch.value == DAMAGED) | (batch.exits[:, 0] == _FAILED)
            columns = (batch.slot, failed, batch.value, batch.depth)
            entries = [
                known.get((self._derived, slot)) or (None if bad else (value, depth))
                for slot, bad, value, depth in zip(*(column.tolist() for column in columns), strict=True)
            ]
            decided = [
                entry is None or decides(entry, code)
                for entry, code in zip(entries, batch.accrued.tolist(), strict=True)
            ]
            batch.accrued[failed | np.array(decided)] = NO_SCORE
            found += entries
            inherited += self._inherited(part)
        slots = list({Slot(slot) for _, others in inherited for slot, _ in others})
        captures = dict(zip(slots, self._exits(self._stored, slots, captures_only=True), strict=True))
        for question, entry, (value, others) in zip(asked, found, inherited, strict=True):
            if entry is not None:
                best = [(said, captures[Slot(slot)]) for slot, said in others]
                good = [(said, found) for said, found in best if isinstance(found, BestExit)]
                failed = value == DAMAGED or len(good) < len(best)
                yield (
                    question,
                    entry,
                    None if failed else with_captures(self._derived, question[2], value, good),
                )

    def _inherited(self, part: _Part) -> list[_Inherited]:
        """Return what becomes of the accrued scores of a part of the derived side."""
        batch = part.batch
        room = len(part.asked.question) if (batch.accrued != NO_SCORE).any() else 0
        pending = Pending(np.empty(room, np.int64), np.empty(room, np.int64))
        filled = derived_accrued_of_all(self._coding, batch, part.asked, pending, make_room())
        others = list(zip(pending.slot[:filled].tolist(), pending.said[:filled].tolist(), strict=True))
        ends = batch.depth.tolist()
        return [
            (value, others[begin:end])
            for value, (begin, end) in zip(batch.value.tolist(), pairwise([0, *ends]), strict=True)
        ]

    def _answered(self, stored: Batch, derived: Batch) -> tuple[_Part, list[_Part]]:
        """Return positions of both sides with their questions answered, those of the derived side in parts
        and with their exits."""
        first = _Part(stored, make_asked(len(stored.slot)))
        ask_all(self._coding.rows, stored, first.asked, make_room())
        with _mapping(self._threads if len(stored.slot) + len(derived.slot) > _ALONE else 1) as map_:
            parts = [first, *map_(self._with_children, _pieces(derived))]
            asked = Asked._make(map(np.concatenate, zip(*(part.asked for part in parts), strict=True)))
            order = np.argsort(asked.question)
            answering = map_(
                lambda cut: self._answer(asked, order, *cut),
                _cuts(asked.question, order, _PARTS_OF_THREAD * self._threads),
            )
            for part in parts[1:]:  # while other threads decode
                self._find_exits(part.batch)
            list(answering)
        ends = np.cumsum([len(part.asked.question) for part in parts]).tolist()
        answered = [
            _Part(part.batch, Asked._make(array[begin:end] for array in asked))
            for part, (begin, end) in zip(parts, pairwise([0, *ends]), strict=True)
        ]
        return answered[0], answered[1:]

    def _with_children(self, batch: Batch) -> _Part:
        room = make_asked(MAX_QUIET * len(batch.slot))
        count = ask_children_of_all(self._coding.rows, batch, room, make_room())
        return _Part(batch, Asked._make(array[:count].copy() for array in room))

    def _answer(self, asked: Asked, order: NDArray[np.intp], first: int, end: int) -> None:
        answer_part(self._coding, asked, order, first, end, make_room())
        self._file.forget_blocks()

    def _find_exits(self, batch: Batch) -> None:
        places = np.flatnonzero(batch.zeroing)
        exits = self._exits(self._derived, batch.slot[places].tolist())
        for place, best in zip(places.tolist(), exits, strict=True):
            if isinstance(best, BestExit):
                batch.exits[place] = best
            elif best is not None:
                batch.exits[place, 0] = _FAILED


def decides(entry: Entry, code: int) -> bool:
    """Tell whether W alone decides what becomes of an accrued score with this code."""
    return code == NO_SCORE or min(code, 255 - code) > min(entry[0], 255 - entry[0])


def _batch(asked: Sequence[Question]) -> Batch:
    """Return room for positions."""
    return _room_for(
        np.array([slot for _, slot, _ in asked], np.int64), np.array([code for _, _, code in asked], np.int64)
    )


def _room_for(slots: NDArray[np.int64], accrued: NDArray[np.int64]) -> Batch:
    """Return room for positions with the codes of accrued scores."""
    count = len(slots)
    return Batch(
        slot=slots,
        accrued=accrued,
        end=np.zeros(count, np.int64),
        rank=np.zeros(count, np.int64),
        zeroing=np.zeros(count, np.bool_),
        exits=np.full((count, 3), (NONE, 0, 0), np.int64),
        value=np.zeros(count, np.int64),
        depth=np.zeros(count, np.int64),
    )


def _pieces(batch: Batch) -> list[Batch]:
    """Cut a batch into parts for threads; they share its memory."""
    return [
        Batch._make(array[first : first + _PART] for array in batch)
        for first in range(0, len(batch.slot), _PART)
    ]


def _cuts(questions: NDArray[np.int64], order: NDArray[np.intp], parts: int) -> list[tuple[int, int]]:
    """Cut ordered questions into parts where a block begins."""
    places = np.linspace(0, len(order), parts + 1).astype(np.int64)[1:-1] if len(order) else order
    blocks = questions[order[places]] // (2 * BLOCK_SLOTS)
    inner = np.searchsorted(questions, blocks * 2 * BLOCK_SLOTS, sorter=order).tolist()
    return list(pairwise([0, *inner, len(order)]))


@contextmanager
def _mapping(threads: int) -> Iterator[_Map]:
    """Something like ``map``, on several threads if there are to be several."""
    if threads == 1:
        yield map
    else:
        with ThreadPoolExecutor(threads) as pool:
            yield pool.map
