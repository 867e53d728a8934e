"""Looking positions of a packed table up together: every block that they need is decoded once."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property
from itertools import pairwise
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE, Code
from tbgen.errors import TbgenError
from tbgen.index.arrays import ranges, squares_of
from tbgen.index.layout import SIDES, Layout, Side, Slot
from tbgen.index.table import NO_SCORE, Functions
from tbgen.index.zeroing import BestExit, ExitsOfMany
from tbgen.packed.encode import coding_of
from tbgen.packed.kernels.blocks import (
    BLOCK_SLOTS,
    DEPTH_CONTEXTS,
    FUNCTION_CONTEXTS,
    FUNCTION_ESCAPE,
    VALUE_CONTEXTS,
    Coding,
)
from tbgen.packed.kernels.questions import DAMAGED, Batch, answer, ask, follow
from tbgen.packed.kernels.rows import MAX_MOVES
from tbgen.packed.pack import digit_order, rows_of
from tbgen.packed.rooms import THREAD
from tbgen.store import schema
from tbgen.store.schema import PACKED, slots_of
from tbgen.store.table_file import Entry, StoredFile
from tbgen.system.memory import forget


class CodedFile(StoredFile):
    """An open table in packed form, as it is stored; :class:`PackedFile` derives the rest.

    Takes and raises what :class:`StoredFile` does.
    """

    side: Side
    """The side to move that is stored."""

    def functions(self, number: NDArray[np.uint32]) -> Functions:
        """Return the dictionary of functions with the numbers of all slots, which the caller has decoded.

        :raises DamagedTableError: if there are no functions of these numbers.
        """
        if int(number.max(initial=0)) >= len(self.coding.entry_start) - 1:
            raise self.damaged("it has positions with functions that are not there")
        return Functions(
            self.side, number, self.coding.entry_start, self.coding.entry_accrued, self.coding.entry_value
        )

    @cached_property
    def coding(self) -> Coding:
        """All that is needed to decode the blocks."""
        return self._guard(self._coding)

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return self.coding.value_stream.length.size

    def exceptions(self) -> tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.uint16]]:
        """Return slots, values and depths of the side that is not stored where the rule is wrong."""
        values, depths = self.data(schema.EXCEPTION_VALUE), self.data(schema.EXCEPTION_DEPTH)
        return self._exceptions, values, depths.astype(np.uint16)

    def _load(self) -> None:
        super()._load()
        if self.schema is not PACKED:
            raise self.damaged("it is plain, and was to be read as a packed table")
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
            raise self.damaged("it has functions of accrued scores against what it says")
        if len(start) and (start[0] or start[-1] != self.info.runs or (start[1:] < start[:-1]).any()):
            raise self.damaged("its functions do not begin and end with their entries")
        coding = coding_of(rows_of(self.layout, self.side), self.data)
        values, functions = coding.value_stream, coding.function_stream
        for stream, wanted in ((values, schema.VALUE_DATA), (functions, schema.FUNCTION_DATA)):
            if int(stream.length.sum(dtype=np.int64)) != len(stream.data):
                raise self.damaged(f"its {wanted.name} has another length")
        return coding

    def forget_blocks(self) -> None:
        """Give back the memory of mapped blocks; they stay in the cache of the system."""
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


Exits: TypeAlias = NDArray[np.int64]
"""Code of the best zeroing move, NONE without one; smallest and greatest depth after it: int64 (n, 3)."""
ExitsOfArrays: TypeAlias = Callable[[Side, NDArray[np.int64], bool], Exits]
"""Takes the side to move, slots, and whether captures alone count."""

_ARRAY_AT_ONCE: Final = 1 << 19
"""Positions whose questions are kept in memory together, some 200 MiB."""
_ARRAY_PART: Final = 1 << 12


def ranks_of(layout: Layout, side: Side, slots: NDArray[np.int64], threads: int) -> NDArray[np.int64]:
    """Return the ranks of positions, without en passant rights, at canonical slots: int64 (n,)."""
    rows, found = rows_of(layout, side), np.empty(len(slots), np.int64)

    def count(first: int) -> None:
        part = slots[first : first + _ARRAY_PART]
        batch = room_for(len(part), 1)
        batch.slot[:], batch.accrued[:] = part, -1
        ask(rows, batch, THREAD.room, 0, len(part))
        found[first : first + _ARRAY_PART] = batch.rank

    firsts = range(0, len(slots), _ARRAY_PART)
    if len(firsts) > 1:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(count, firsts))
    else:  # to start threads takes longer
        list(map(count, firsts))
    return found


class ArrayDecoder(BatchDecoder):
    """Looks positions of one table up.

    :param one_by_one: finds exits as :class:`BatchDecoder` asks for them; not needed here.
    :param exits: finds the exits of the table's positions.
    """

    def __init__(self, file: CodedFile, one_by_one: ExitsOfMany, exits: ExitsOfArrays, threads: int) -> None:
        super().__init__(file, one_by_one, threads)
        self._exits_of_arrays = exits
        self._exceptions = file.exceptions()

    def look_up_arrays(
        self, side: NDArray[np.uint8], slots: NDArray[np.int64], accrued: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return codes of W, D in plies, and codes of V(P, A).

        :param side: uint8 (n,), sides to move.
        :param slots: int64 (n,), canonical slots of legal positions.
        :param accrued: int64 (n,), codes of A where W may not decide, which have been folded in and differ
            from g(P), or -1.
        :returns: int64 (n,) each; the third is what W is where ``accrued`` is -1 or of a greater rank.
        :raises DamagedTableError: if a block does not decode.
        """
        found, order = np.empty((3, len(slots)), np.int64), self._order_of(slots)
        for first in range(0, len(slots), _ARRAY_AT_ONCE):
            part = order[first : first + _ARRAY_AT_ONCE]
            found[:, part] = self._look_up_part(side[part], slots[part], accrued[part])
        value, depth, inherited = found
        return value, depth, inherited

    def _order_of(self, slots: NDArray[np.int64]) -> NDArray[np.intp]:
        """Return the order in which most positions that need a block come one after the other.

        The men of the stored side come first: they stand as before where a quiet move of the other side
        leads.
        """
        layout, side = self._file.layout, self._stored
        key, squares = slots // layout.phase_size, squares_of(layout, slots)
        for man in sorted(digit_order(layout, side)[:-1], key=lambda man: layout.colours[man] != side):
            key = key << 6 | squares[:, man]
        return np.argsort(key)

    def _look_up_part(
        self, side: NDArray[np.uint8], slots: NDArray[np.int64], accrued: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        derived = side == self._derived
        questions = np.ones(len(slots), np.int64)
        questions[derived] = ranks_of(self._file.layout, self._derived, slots[derived], self._threads) >> 1
        batch = room_of(questions)
        batch.slot[:], batch.accrued[:], batch.derived[:], batch.exits[:] = (
            slots,
            accrued,
            derived,
            (NONE, 0, 0),
        )
        self._enter_exceptions(batch)
        self._find_captures(batch, self._follow(batch))
        value, rank = batch.value, np.minimum(batch.value, 255 - batch.value)
        inherits = (accrued >= 0) & (np.minimum(accrued, 255 - accrued) <= rank)
        inherited = np.where(inherits, batch.inherited, value)
        if (value == DAMAGED).any() or (inherited == DAMAGED).any():
            raise self._damaged()
        return value, batch.depth, inherited

    def _enter_exceptions(self, batch: Batch) -> None:
        """Enter what is stored of the derived side."""
        slots, values, depths = self._exceptions
        if len(slots):
            place = np.minimum(np.searchsorted(slots, batch.slot), len(slots) - 1)
            known = batch.derived & (slots[place] == batch.slot)
            batch.known[:] = known
            batch.value[known], batch.depth[known] = values[place[known]], depths[place[known]]

    def _find_exits(self, batch: Batch) -> dict[int, TbgenError]:
        places = np.flatnonzero(batch.zeroing)
        if len(places):
            batch.exits[places] = self._exits_of_arrays(self._derived, batch.slot[places], False)
        return {}

    def _find_captures(self, batch: Batch, failed: dict[int, TbgenError]) -> None:
        places = np.flatnonzero(batch.target >= 0)
        if len(places):
            slots, number = np.unique(batch.target[places], return_inverse=True)
            exits = self._exits_of_arrays(self._stored, slots, True)
            if (exits[:, 0] == NONE).any():
                raise self._damaged()
            batch.capture[places] = exits[number]
            follow(self._coding, batch, True, THREAD.room)
