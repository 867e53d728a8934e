"""Looking positions of a packed table up together: every block that they need is decoded once."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE, Code
from tbgen.errors import TbgenError
from tbgen.index.arrays import ranges
from tbgen.index.exits import BestExit, ExitsOfMany
from tbgen.index.layout import SIDES, Side, Slot
from tbgen.index.table import NO_SCORE
from tbgen.packed.coded_file import CodedFile
from tbgen.packed.kernels.blocks import BLOCK_SLOTS
from tbgen.packed.kernels.position import MAX_MOVES
from tbgen.packed.kernels.probe import follow
from tbgen.packed.kernels.questions import DAMAGED, Batch, answer, ask
from tbgen.packed.rooms import THREAD
from tbgen.store.stored_file import Entry

Question: TypeAlias = tuple[Side, Slot, int]
"""A position and the code of an accrued score, or NO_SCORE."""
Known: TypeAlias = Mapping[tuple[Side, Slot], Entry]
"""Code of W and D in plies by side and slot."""
Answer: TypeAlias = tuple[Question, Entry | TbgenError, Code | TbgenError | None]
"""Code of W and D in plies, and where W does not decide the code of V(P, A)."""

_AT_ONCE: Final = 1 << 14
"""Positions whose questions are kept in memory together."""
_PART: Final = 256
"""Number of positions whose questions one thread finds at a time."""
_ALONE: Final = 100
"""Positions that are not worth a second thread."""
_MOST_OF_A_MAN: Final = 27
"""Most moves of a man."""
_PARTS_OF_THREAD: Final = 4
"""So that no thread waits long for the last one; each part takes the interpreter's lock for a moment."""


def room_for(count: int, questions: int) -> Batch:
    """Return room for so many positions with so many questions each."""
    return room_of(np.full(count, questions))


def room_of(questions: NDArray[np.int64]) -> Batch:
    """Return room for positions with so many questions, int64 (n,)."""
    count, begin = len(questions), np.cumsum(questions) - questions
    of_all = max(int(questions.sum()), 1)
    derived, zeroing, known = np.zeros((3, count), np.bool_)
    slot, accrued, end, rank, value, depth, inherited = np.zeros((7, count), np.int64)
    exits, capture = np.zeros((count, 3), np.int64), np.empty((of_all, 3), np.int64)
    question, target = np.empty(of_all, np.int64), np.full(of_all, -1, np.int64)
    after, symbol = np.empty(of_all, np.uint8), np.empty(of_all, np.int16)
    half, function = np.empty(of_all, np.uint16), np.empty(of_all, np.uint32)
    positions = derived, slot, accrued, begin, end, rank, zeroing, exits, known, value, depth, inherited
    return Batch(*positions, question, after, symbol, half, function, target, capture)


_single: Final[list[Batch]] = []
"""Unused rooms for single positions, which are looked up often."""


class BatchDecoder:
    """Looks positions of one table up, those with neighbouring slots best one after the other.

    :param exits: finds the exits of the table's positions.
    :param threads: with which blocks are decoded.
    """

    def __init__(self, file: CodedFile, exits: ExitsOfMany, threads: int) -> None:
        self._file, self._coding, self._exits, self._threads = file, file.coding, exits, threads
        self._stored, self._derived = file.side, SIDES[1 - file.side]

    def look_up(self, asked: Sequence[Question], known: Known) -> Iterator[Answer]:
        """Yield the answers to questions about canonical slots of positions that go on, errors included.

        :param known: code of W and D in plies of the exceptions among them.
        """
        for first in range(0, len(asked), _AT_ONCE):
            some = asked[first : first + _AT_ONCE]
            with self._room(len(some)) as batch:
                self._fill(batch, some, known)
                failed = self._follow(batch)
                self._find_captures(batch, failed)
                yield from self._answers(some, batch, failed)

    def of_stored(self, slots: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
        """Return values and functions of the side that is stored.

        :param slots: int64 (n,), canonical slots of legal positions that go on.
        :returns: codes of W, ``UNSTORED`` where the best capture gives it, ``DAMAGED`` where a block does not
            decode; and the numbers of functions; shape (n,) each.
        """
        values, functions = np.empty(len(slots), np.int64), np.empty(len(slots), np.uint32)
        for first in range(0, len(slots), _AT_ONCE):
            here = slice(first, first + _AT_ONCE)
            batch = room_for(len(slots[here]), 1)
            batch.slot[:] = slots[here]
            self._follow(batch)
            values[here], functions[here] = batch.value, batch.function
        return values, functions

    @contextmanager
    def _room(self, count: int) -> Iterator[Batch]:
        if count == 1:
            try:
                batch = _single.pop()
            except IndexError:
                batch = room_for(1, MAX_MOVES)
            yield batch
            _single.append(batch)
        else:
            yield room_for(count, _MOST_OF_A_MAN * self._file.layout.colours.count(self._derived))

    def _fill(self, batch: Batch, asked: Sequence[Question], known: Known) -> None:
        """Enter positions, of all that was in the room before only what ``ask`` replaces stays."""
        batch.derived[:] = [side == self._derived for side, _, _ in asked]
        batch.slot[:] = [slot for _, slot, _ in asked]
        batch.accrued[:] = [code for _, _, code in asked]
        batch.exits[:] = NONE, 0, 0
        batch.target[:] = -1
        batch.zeroing[:] = batch.known[:] = False
        for number, (side, slot, _) in enumerate(asked if known else ()):
            if (side, slot) in known:
                batch.known[number] = True
                batch.value[number], batch.depth[number] = known[side, slot]

    def _follow(self, batch: Batch) -> dict[int, TbgenError]:
        """Find what follows for a batch from what the table says; return which exits are not to be had."""
        if len(batch.slot) > _ALONE and self._threads > 1:
            with ThreadPoolExecutor(self._threads) as pool:
                failed = self._answer(batch, pool.map, _PARTS_OF_THREAD * self._threads)
            self._file.forget_blocks()
        else:
            failed = self._answer(batch, map, 1)
        follow(self._coding, batch, False, THREAD.room)
        return failed

    def _answer(self, batch: Batch, run: Callable[..., Iterable[None]], parts: int) -> dict[int, TbgenError]:
        """Ask and answer all questions in so many parts, finding exits meanwhile; return which of these are
        not to be had."""
        coding, asked = self._coding, pairwise([*range(0, len(batch.slot), _PART), len(batch.slot)])
        list(run(lambda part: ask(coding.rows, batch, THREAD.room, *part), asked))
        order = _order(batch)
        cuts = _cuts(batch.question[order], parts)
        answers = run(lambda cut: answer(coding, batch, order, THREAD.room, *cut), cuts)
        failed = self._find_exits(batch)
        list(answers)
        return failed

    def _find_exits(self, batch: Batch) -> dict[int, TbgenError]:
        """Enter the exits of the derived side; return those that are not to be had, by position."""
        places = np.flatnonzero(batch.zeroing)
        if not len(places):
            return {}
        exits = self._exits(self._derived, batch.slot[places].tolist())
        batch.exits[places] = _rows(exits)
        pairs = zip(places.tolist(), exits, strict=True)
        return {place: best for place, best in pairs if isinstance(best, TbgenError)}

    def _find_captures(self, batch: Batch, failed: dict[int, TbgenError]) -> None:
        """Enter the best captures of positions of the stored side that are wanted, and conclude what rests on
        them; ``failed`` receives those that are not to be had."""
        places = np.flatnonzero(batch.target >= 0)
        if not len(places):
            return
        targets = batch.target[places].tolist()
        slots = sorted({*targets})
        exits = [best or self._damaged() for best in self._exits(self._stored, slots, captures_only=True)]
        number = {slot: at for at, slot in enumerate(slots)}
        batch.capture[places] = _rows(exits)[[number[slot] for slot in targets]]
        for place in places[batch.capture[places, 0] == DAMAGED].tolist():
            error = exits[number[int(batch.target[place])]]
            assert isinstance(error, TbgenError)
            failed.setdefault(int(np.searchsorted(batch.begin, place, "right")) - 1, error)
        follow(self._coding, batch, True, THREAD.room)

    def _answers(
        self, asked: Sequence[Question], batch: Batch, failed: Mapping[int, TbgenError]
    ) -> Iterator[Answer]:
        columns = (batch.value.tolist(), batch.depth.tolist(), batch.inherited.tolist())
        for number, (question, value, depth, inherited) in enumerate(zip(asked, *columns, strict=True)):
            entry = Code(value), depth
            if value == DAMAGED:
                yield question, failed.get(number) or self._damaged(), None
            elif decides(entry, question[2]):
                yield question, entry, None
            elif inherited == DAMAGED:
                yield question, entry, failed.get(number) or self._damaged()
            else:
                yield question, entry, Code(inherited)

    def _damaged(self) -> TbgenError:
        return self._file.damaged("it has flipped bits in a block")


def decides(entry: Entry, code: int) -> bool:
    """Tell whether W alone decides what becomes of an accrued score with this code."""
    return code == NO_SCORE or min(code, 255 - code) > min(entry[0], 255 - entry[0])


def _rows(exits: Sequence[BestExit | TbgenError | None]) -> NDArray[np.int64]:
    """Return exits as :attr:`Batch.exits` has them."""
    rows = [(DAMAGED, 0, 0) if isinstance(best, TbgenError) else best or (NONE, 0, 0) for best in exits]
    return np.array(rows, np.int64)


def _order(batch: Batch) -> NDArray[np.int64]:
    """Return the places of all questions of a batch, by rising question."""
    if len(batch.slot) == 1:
        return np.argsort(batch.question[: batch.end[0]])
    places = ranges(batch.begin, batch.end - batch.begin)
    return np.asarray(places[np.argsort(batch.question[places])], np.int64)


def _cuts(questions: NDArray[np.int64], parts: int) -> list[tuple[int, int]]:
    """Cut ascending questions into parts where a block begins."""
    if parts == 1:
        return [(0, len(questions))]
    places = np.linspace(0, len(questions), parts + 1).astype(np.int64)[1:-1]
    blocks = questions[places] // (2 * BLOCK_SLOTS) if len(questions) else places
    inner = np.searchsorted(questions, blocks * 2 * BLOCK_SLOTS).tolist()
    return list(pairwise([0, *inner, len(questions)]))
