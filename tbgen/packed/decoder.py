"""Looking positions of a packed table up in batches: every block that they need is decoded once.

A position of the derived side also needs its exit, the best of its zeroing moves, which lead to sub-tables.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE
from tbgen.compiler.jit import with_fixed_types
from tbgen.errors import TbgenError
from tbgen.index.arrays import ranges, squares_of
from tbgen.index.layout import SIDES, Layout, Side, layout_of
from tbgen.index.zeroing import targets_of
from tbgen.packed.kernels.blocks import BLOCK_SLOTS, Coding
from tbgen.packed.kernels.questions import Batch, answer, ask, follow
from tbgen.packed.kernels.rows import MAX_MOVES, find_ranks
from tbgen.packed.kernels.zeroing import COLUMNS, MOST_ZEROING, Destinations, keep_best, list_zeroing
from tbgen.packed.pack import THREAD, digit_order, rows_of, stored_side
from tbgen.retro.pool import make_directory
from tbgen.store.table_file import Entry

Moves: TypeAlias = NDArray[np.int64]
"""int64 (n, 4): number of the position that moves, number of the target, canonical slot in its table, and the
target of a legal en passant capture as the table numbers it, -1 without such a right."""
Exits: TypeAlias = NDArray[np.int64]
"""int64 (n, 3): code of the best zeroing move with the colours of the table, NONE without one, DAMAGED if it
cannot be looked up; smallest and greatest depth after it in plies."""
Target: TypeAlias = tuple[Layout, Side]
"""A table that moves lead to, and the side to move there."""
FreshValues: TypeAlias = Callable[[Sequence[Target], Moves], tuple[NDArray[np.int64], TbgenError | None]]
"""Takes the targets in the order of their numbers, and moves; returns the codes of W and D in plies after
them, int64 (n, 2), a code DAMAGED where it cannot be looked up, and the first error if there was one."""

_MOVES_AT_ONCE: Final = 1 << 12
"""Positions whose moves are listed at once."""

_list_zeroing: Final = with_fixed_types(list_zeroing)
_keep_best: Final = with_fixed_types(keep_best)


@cache
def destinations_of(layout: Layout) -> Destinations:
    """Return the tables that the zeroing moves of a table lead to, as the kernels see them."""
    layouts = [layout_of(target.material) for target in targets_of(layout).values()]
    directory = make_directory(layout, defaultdict(int), len(layout.placements), ())
    # Among five men there is at most one group of like free men.
    like = [next(iter(each.like_men), (0, 0)) for each in layouts]
    return Destinations(
        rows_of(layout, stored_side(layout)), directory, np.array(like, np.int64).reshape(-1, 2)
    )


class ExitFinder:
    """Finds the exits of positions of one table.

    :param fresh: looks up the fresh values that zeroing moves lead to.
    """

    def __init__(self, layout: Layout, fresh: FreshValues) -> None:
        self._to, self._fresh = destinations_of(layout), fresh
        self.targets: Final = [
            (layout_of(target.material), SIDES[(1 - side) ^ target.swapped])
            for (side, *_), target in targets_of(layout).items()
        ]
        """The targets in the order of their numbers."""

    def moves(self, side: Side, slots: NDArray[np.int64], captures_only: bool) -> Moves:
        """Return the zeroing moves of legal positions with a side to move, ascending by position.

        :param slots: int64 (n,), canonical or not.
        :param captures_only: whether pawn moves that capture nothing are left out.
        """
        if len(slots) > _MOVES_AT_ONCE:
            found = []
            for first in range(0, len(slots), _MOVES_AT_ONCE):
                found.append(self.moves(side, slots[first : first + _MOVES_AT_ONCE], captures_only))
                found[-1][:, 0] += first
            return np.concatenate(found)
        moves = np.empty((len(slots) * MOST_ZEROING, COLUMNS), np.int64)
        return moves[: _list_zeroing(self._to, side, slots, captures_only, THREAD.zeroing, moves)]

    def __call__(
        self, side: Side, slots: NDArray[np.int64], captures_only: bool
    ) -> tuple[Exits, TbgenError | None]:
        """Return the exits of positions, and the first error if some cannot be looked up.

        Takes what :meth:`moves` does.
        """
        moves, exits = self.moves(side, slots, captures_only), np.empty((len(slots), 3), np.int64)
        entries, failed = self._fresh(self.targets, moves)
        _keep_best(self._to, side, moves, entries, exits)
        return exits, failed


class Exceptions(NamedTuple):
    """Positions of the derived side for which the rule is wrong.

    :ivar slots: ascending.
    :ivar entry: returns code of W and D in plies by the place among the slots.
    """

    slots: NDArray[np.int64]
    entry: Callable[[int], Entry]


class Decoded(NamedTuple):
    """Values and depths of positions, int64 (n,) each.

    :ivar value: codes of W, DAMAGED where it cannot be found.
    :ivar depth: D in plies.
    :ivar inherited: codes of V(P, A), DAMAGED where it cannot be found, or W decides.
    :ivar failed: the first error among the exits.
    """

    value: NDArray[np.int64]
    depth: NDArray[np.int64]
    inherited: NDArray[np.int64]
    failed: TbgenError | None


_AT_ONCE: Final = 1 << 19
"""Positions whose questions are kept in memory together, some 200 MiB."""
_PART: Final = 256
"""Number of positions whose questions one thread finds at a time."""
_SINGLE_THREAD_MAX: Final = 100
"""Positions that are not worth a second thread."""
_PARTS_OF_THREAD: Final = 4
"""So that no thread waits long for the last one; each part takes the interpreter's lock for a moment."""
_RANKS_AT_ONCE: Final = 1 << 12
"""Positions whose ranks one thread finds at a time."""
_NO_SLOT: Final = np.iinfo(np.int64).max
"""Greater than any slot."""

_ask: Final = with_fixed_types(ask)
_answer: Final = with_fixed_types(answer)
_follow: Final = with_fixed_types(follow)
_find_ranks: Final = with_fixed_types(find_ranks)


def empty_batch(questions: NDArray[np.int64]) -> Batch:
    """Return an empty batch for positions with these numbers of questions, int64 (n,)."""
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


def ranks_of(layout: Layout, side: Side, slots: NDArray[np.int64], threads: int) -> NDArray[np.int64]:
    """Return the ranks of legal positions without en passant rights: int64 (n,)."""
    rows, ranks = rows_of(layout, side), np.empty(len(slots), np.int64)

    def find(first: int) -> None:
        part, buffers = slice(first, first + _RANKS_AT_ONCE), THREAD.buffers
        _find_ranks(rows, side, slots[part], buffers.squares, buffers.moves, ranks[part])

    firsts = range(0, len(slots), _RANKS_AT_ONCE)
    if len(firsts) > 1:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(find, firsts))
    else:  # to start threads takes longer
        list(map(find, firsts))
    return ranks


_unused_single: Final[list[Batch]] = []
"""Unused batches of one position, kept because allocating a batch takes longer than a look-up."""


class Decoder:
    """Looks positions of one table up; a single one is a batch of one.

    :param exits: finds the exits of the table's positions.
    :param threads: number of threads that decode blocks.
    :param forget_blocks: is called after a large batch, to give back the memory of blocks.
    """

    def __init__(
        self,
        layout: Layout,
        coding: Coding,
        exceptions: Exceptions,
        exits: ExitFinder,
        threads: int,
        forget_blocks: Callable[[], None],
    ) -> None:
        self._layout, self._coding, self._exceptions = layout, coding, exceptions
        self._exception_slots = np.append(exceptions.slots, _NO_SLOT)
        self._exits, self._threads, self._forget_blocks = exits, threads, forget_blocks
        self._stored = SIDES[coding.rows.side]
        self._derived = SIDES[1 - self._stored]

    def look_up(
        self, side: NDArray[np.integer], slots: NDArray[np.int64], accrued: NDArray[np.int64]
    ) -> Decoded:
        """Return values and depths at canonical slots of non-terminal positions.

        :param side: sides to move, shape (n,).
        :param accrued: codes of A, which have been folded in and differ from g(P), or -1.
        """
        derived = side == self._derived
        if len(slots) == 1:
            try:
                batch = _unused_single.pop()
            except IndexError:
                batch = empty_batch(np.full(1, MAX_MOVES))
            batch.target.fill(-1)
            batch.zeroing.fill(False)
            found = self._look_up(batch, derived, slots, accrued)
            value, depth, inherited = (each.copy() for each in (found.value, found.depth, found.inherited))
            _unused_single.append(batch)
            return Decoded(value, depth, inherited, found.failed)
        order = self._order_of(slots) if len(slots) > _AT_ONCE else np.arange(len(slots))
        values, failed = np.empty((3, len(slots)), np.int64), None
        for first in range(0, len(slots), _AT_ONCE):
            part = order[first : first + _AT_ONCE]
            batch = self._batch_for(derived[part], slots[part])
            *values[:, part], error = self._look_up(batch, derived[part], slots[part], accrued[part])
            failed = failed or error
        value, depth, inherited = values
        return Decoded(value, depth, inherited, failed)

    def of_stored(self, slots: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
        """Return values and functions of the side that is stored.

        :param slots: int64 (n,), canonical slots of legal positions that go on.
        :returns: codes of W, ``UNSTORED`` where the best capture gives it, ``DAMAGED`` where a block does not
            decode; and the numbers of functions; shape (n,) each.
        """
        values, functions = np.empty(len(slots), np.int64), np.empty(len(slots), np.uint32)
        for first in range(0, len(slots), _AT_ONCE):
            here = slice(first, first + _AT_ONCE)
            batch = empty_batch(np.ones(len(slots[here]), np.int64))
            batch.slot[:] = slots[here]
            self._answer(batch)
            values[here], functions[here] = batch.value, batch.function
        return values, functions

    def _order_of(self, slots: NDArray[np.int64]) -> NDArray[np.intp]:
        """Return the order in which most positions that need a block come one after the other.

        The men of the stored side come first: they stand as before where a quiet move of the other side
        leads.
        """
        layout, side = self._layout, self._stored
        key, squares = slots // layout.phase_size, squares_of(layout, slots)
        for man in sorted(digit_order(layout, side)[:-1], key=lambda man: layout.colours[man] != side):
            key = key << 6 | squares[:, man]
        return np.argsort(key)

    def _batch_for(self, derived: NDArray[np.bool_], slots: NDArray[np.int64]) -> Batch:
        """Return an empty batch; a position of the derived side has at most one question per legal move."""
        questions = np.ones(len(slots), np.int64)
        questions[derived] = ranks_of(self._layout, self._derived, slots[derived], self._threads) >> 1
        return empty_batch(questions)

    def _look_up(
        self,
        batch: Batch,
        derived: NDArray[np.bool_],
        slots: NDArray[np.int64],
        accrued: NDArray[np.int64],
    ) -> Decoded:
        """Return what :meth:`look_up` does, in arrays of an empty batch."""
        batch.derived[:], batch.slot[:], batch.accrued[:] = derived, slots, accrued
        batch.exits.fill(NONE)
        self._enter_exceptions(batch)
        failed = self._answer(batch), self._find_captures(batch)
        return Decoded(batch.value, batch.depth, batch.inherited, failed[0] or failed[1])

    def _enter_exceptions(self, batch: Batch) -> None:
        places = self._exception_slots.searchsorted(batch.slot)
        batch.known[:] = batch.derived & (self._exception_slots[places] == batch.slot)
        for number in batch.known.nonzero()[0].tolist():
            batch.value[number], batch.depth[number] = self._exceptions.entry(int(places[number]))

    def _answer(self, batch: Batch) -> TbgenError | None:
        """Ask and answer all questions of a batch, and find what follows without captures of the stored side;
        return the first error among the exits."""
        if len(batch.slot) > _SINGLE_THREAD_MAX and self._threads > 1:
            with ThreadPoolExecutor(self._threads) as pool:
                failed = self._answer_by(pool.map, batch, _PARTS_OF_THREAD * self._threads)
            self._forget_blocks()
        else:
            failed = self._answer_by(map, batch, 1)
        _follow(self._coding, batch, False, THREAD.buffers)
        return failed

    def _answer_by(self, run: Callable[..., Iterable[None]], batch: Batch, parts: int) -> TbgenError | None:
        """Ask and answer all questions in so many parts, finding the exits of the derived side meanwhile."""
        coding, asked = self._coding, pairwise([*range(0, len(batch.slot), _PART), len(batch.slot)])
        list(run(lambda part: _ask(coding.rows, batch, THREAD.buffers, *part), asked))
        order = _order(batch)
        cuts = _cuts(batch.question, order, parts)
        answers = run(lambda cut: _answer(coding, batch, order, THREAD.buffers, *cut), cuts)
        places, failed = batch.zeroing.nonzero()[0], None
        if len(places):
            batch.exits[places], failed = self._exits(self._derived, batch.slot[places], False)
        list(answers)
        return failed

    def _find_captures(self, batch: Batch) -> TbgenError | None:
        """Enter the best captures of positions of the stored side that are wanted, and conclude what rests on
        them; return the first error among them."""
        places = (batch.target >= 0).nonzero()[0]
        if not len(places):
            return None
        slots = batch.target[places]
        if len(slots) > _SINGLE_THREAD_MAX:  # in large batches many are the same
            slots, number = np.unique(slots, return_inverse=True)
            exits, failed = self._exits(self._stored, slots, True)
            batch.capture[places] = exits[number]
        else:
            batch.capture[places], failed = self._exits(self._stored, slots, True)
        _follow(self._coding, batch, True, THREAD.buffers)
        return failed


def _order(batch: Batch) -> NDArray[np.int64]:
    """Return the places of all questions of a batch, by rising question."""
    if len(batch.slot) == 1:
        return batch.question[: batch.end[0]].argsort()
    places = ranges(batch.begin, batch.end - batch.begin)
    return np.asarray(places[np.argsort(batch.question[places])], np.int64)


def _cuts(question: NDArray[np.int64], order: NDArray[np.int64], parts: int) -> list[tuple[int, int]]:
    """Cut the questions in ascending order into parts where a block begins."""
    if parts == 1:
        return [(0, len(order))]
    questions = question[order]
    places = np.linspace(0, len(questions), parts + 1).astype(np.int64)[1:-1]
    blocks = questions[places] // (2 * BLOCK_SLOTS) if len(questions) else places
    inner = np.searchsorted(questions, blocks * 2 * BLOCK_SLOTS).tolist()
    return list(pairwise([0, *inner, len(questions)]))
