"""Looking up positions of a packed table in batches. For one batch, each block is decoded only once.

A packed table stores the positions with one side to move, the stored side. The other side to move is the
derived side. A look-up asks *questions* about positions of the stored side
(:mod:`tbgen.tables.kernels.questions`). A position of the derived side also needs its exit: the best of its
zeroing moves, which lead to sub-tables.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import MAX_MEN
from tbgen.board.score import NONE
from tbgen.compiler.object_code import ObjectCode
from tbgen.errors import TbgenError
from tbgen.index.arrays import Part, equal_parts, joined_ranges, parts_of_size, squares_of
from tbgen.index.codes import NO_SCORE
from tbgen.index.layout import SIDES, Layout, Side, layout_of
from tbgen.index.zeroing import targets_of
from tbgen.moves.structs import MAX_TARGETS, make_men
from tbgen.moves.targets import make_targets
from tbgen.tables.coding import BLOCKS, PerThread, digit_order, rows_of, stored_side
from tbgen.tables.destinations import Destinations, ZeroingBuffers
from tbgen.tables.open_table import Bounds, Entry, Moves, SuccessorTables
from tbgen.tables.structs import (
    COLUMNS,
    FUNCTION,
    INDEX_BITS,
    MAX_ZEROING,
    ORIGIN,
    PASSED,
    ROW_QUESTIONS,
    SLOT,
    TARGET,
    UNANSWERED,
    Batch,
    Coding,
    RankedPositions,
    ZeroingMoves,
)

Exits: TypeAlias = NDArray[np.int64]
"""int64 (n, 3): code of the value of the best zeroing moves, with the colours of this table, not of the
sub-table; smallest and greatest depth in plies of the positions after these moves. The code is NONE if
there are no zeroing moves, and DAMAGED if a value cannot be looked up."""

_POSITIONS_PER_LIST: Final = 1 << 12
"""Number of positions whose moves are listed at once."""

_MAX_BATCH_POSITIONS: Final = 1 << 20
"""Maximum number of positions in one batch. Their questions take about 700 MiB of memory."""
_TASK_POSITIONS: Final = 256
"""Number of positions whose questions one thread finds at a time."""
_MAX_SINGLE_THREAD_POSITIONS: Final = 100
"""Maximum number of positions that are looked up by a single thread."""
_PARTS_PER_THREAD: Final = 4
"""Number of parts, per thread, into which the questions are divided. With more parts, the load is balanced
better, but each part needs the interpreter's lock."""
_POSITIONS_PER_RANKING: Final = 1 << 12
"""Number of positions whose ranks one thread finds at a time."""
_MAX_MOVES: Final = (MAX_MEN - 1) * MAX_TARGETS
"""Upper bound of the number of moves of the free men of one side."""
_BUFFERED_POSITIONS: Final = 100
"""Number of positions for whose zeroing moves each thread keeps memory."""
_NO_SLOT: Final = np.iinfo(np.int64).max
"""A number greater than any slot."""

_QUESTIONS_PER_ROUND: Final = (1, _MAX_MOVES)
"""Maximum number of questions to answer about a position with bounds, for each round. One answer usually
proves that the value does not matter, so the first round asks a single question."""
_INDEX_ZERO: Final = np.zeros(1, np.int64)
_NO_SLOTS: Final = np.empty(0, np.int64)
_INDICES: Final = np.arange(_MAX_MOVES)
_NO_ROWS: Final = np.empty((0, 2), np.int64)

KERNELS: Final = ObjectCode(
    "tbgen.tables.entries", "tbgen.tables.look_up_warmup", "that look up positions", "about ten seconds"
)
"""The kernels that look up positions."""
_ask: Final = KERNELS.kernel("ask")
_answer: Final = KERNELS.kernel("answer")
_find_values: Final = KERNELS.kernel("find_values")
_find_bounds: Final = KERNELS.kernel("find_bounds")
_list_open_questions: Final = KERNELS.kernel("list_open_questions")
_find_ranks: Final = KERNELS.kernel("find_ranks")
_list_zeroing: Final = KERNELS.kernel("list_zeroing")
_find_exits: Final = KERNELS.kernel("find_exits")
_spare_batches: Final[list[Batch]] = []
"""Unused batches of one position. They are kept, because allocating a batch takes longer than a look-up."""


def make_zeroing_buffers() -> ZeroingBuffers:
    """Return buffers for listing zeroing moves."""
    squares, child = np.zeros((2, MAX_MEN), np.int64)
    return ZeroingBuffers(squares, make_men(), child)


def empty_moves(positions: int) -> ZeroingMoves:
    """Return a list for the zeroing moves of up to ``positions`` positions."""
    move = np.empty((positions * MAX_ZEROING, COLUMNS), np.int64)
    entry, bound = np.empty((2, positions * MAX_ZEROING, 2), np.int64)
    slot, exits = np.empty(positions, np.int64), np.empty((positions, 3), np.int64)
    return ZeroingMoves(slot=slot, exits=exits, move=move, entry=entry, bound=bound)


_ZEROING: Final = PerThread(make_zeroing_buffers)
_MOVES: Final = PerThread(lambda: empty_moves(_BUFFERED_POSITIONS))


@cache
def destinations_of(layout: Layout) -> Destinations:
    """Return the tables that the zeroing moves of a table lead to, in the form that kernels read."""
    layouts = [layout_of(target.material) for target in targets_of(layout).values()]
    directory = make_targets(layout, defaultdict(int), len(layout.placements), ())
    like_men = [next(iter(other.like_men), (0, 0)) for other in layouts]
    return Destinations(
        rows_of(layout, stored_side(layout)), directory, np.array(like_men, np.int64).reshape(-1, 2)
    )


class ExitFinder:
    """Finds the exits of positions of one table.

    :param successors: the tables after zeroing moves.
    """

    def __init__(self, layout: Layout, successors: SuccessorTables) -> None:
        self._destinations = destinations_of(layout)
        self._successors = successors
        self.targets: Final = [
            (layout_of(target.material), SIDES[(1 - side) ^ target.swapped])
            for (side, *_), target in targets_of(layout).items()
        ]
        """The targets in the order of their numbers."""
        self.promotions: Final = np.array([kind for *_, kind in targets_of(layout)], np.int64)
        """int64 (targets,): kind of the promoted piece of each target, 0 without a promotion."""

    def moves(self, side: Side, slots: NDArray[np.int64], captures_only: bool) -> Moves:
        """Return the zeroing moves of legal positions with ``side`` to move, in the order of the positions.

        :param slots: int64 (n,), canonical or not.
        :param captures_only: whether to omit pawn moves that capture nothing.
        """
        if len(slots) > _POSITIONS_PER_LIST:
            batches = []
            for start in range(0, len(slots), _POSITIONS_PER_LIST):
                batches.append(self.moves(side, slots[start : start + _POSITIONS_PER_LIST], captures_only))
                batches[-1][:, 0] += start
            return np.concatenate(batches)
        positions = len(slots)
        listed = _MOVES.buffers if positions <= _BUFFERED_POSITIONS else empty_moves(positions)
        listed.slot[:positions] = slots
        count = _list_zeroing(self._destinations, listed, _ZEROING.buffers, side, positions, captures_only)
        return listed.move[:count].copy()

    def __call__(
        self, side: Side, slots: NDArray[np.int64], captures_only: bool
    ) -> tuple[Exits, TbgenError | None]:
        """Return the exits of positions, and the first error or None.

        The parameters are those of :meth:`moves`.
        """
        exits = np.full((len(slots), 3), NONE, np.int64)
        return exits, self.weigh(side, self.moves(side, slots, captures_only), exits)

    def weigh(
        self, side: Side, moves: Moves, exits: Exits, bounds: Bounds | None = None
    ) -> TbgenError | None:
        """Look up moves of ``side`` and weigh them against the best moves of their positions in ``exits``.

        Return the first error or None.
        """
        if not len(moves):
            return None
        entries, error = self._successors.fresh_after(self.targets, moves, bounds)
        self.weigh_entries(side, moves, entries, exits)
        return error

    def weigh_entries(self, side: Side, moves: Moves, entries: NDArray[np.int64], exits: Exits) -> None:
        """Weigh moves that have been looked up."""
        count = len(moves)
        positions = len(exits)
        if positions > _BUFFERED_POSITIONS or count > _BUFFERED_POSITIONS * MAX_ZEROING:
            listed = ZeroingMoves(slot=_NO_SLOTS, exits=exits, move=moves, entry=entries, bound=_NO_ROWS)
            _find_exits(self._destinations, listed, side, count)
            return
        listed = _MOVES.buffers
        listed.move[:count], listed.entry[:count], listed.exits[:positions] = moves, entries, exits
        _find_exits(self._destinations, listed, side, count)
        exits[:] = listed.exits[:positions]


class ExceptionalPositions(NamedTuple):
    """Positions of the derived side for which the derived result is wrong.

    :ivar slots: their slots, ascending.
    :ivar entry: function that returns the code of W, and D in plies, for an index into ``slots``.
    """

    slots: NDArray[np.int64]
    entry: Callable[[int], Entry]


class Decoded(NamedTuple):
    """Values and depths of positions, int64 (n,) each.

    :ivar value: codes of W; DAMAGED if the value cannot be found.
    :ivar depth: D in plies.
    :ivar accrued_value: codes of V(P, A). DAMAGED if the value cannot be found or is not needed. It is not
        needed if there is no accrued score, or if the rank of A exceeds the rank of W, so that V(P, A) is W.
    :ivar error: the first error in the exits, or None.
    """

    value: NDArray[np.int64]
    depth: NDArray[np.int64]
    accrued_value: NDArray[np.int64]
    error: TbgenError | None


def empty_batch(question_counts: NDArray[np.int64]) -> Batch:
    """Return an empty batch.

    :param question_counts: int64 (n,), number of questions to allocate for each position.
    """
    count = len(question_counts)
    total = max(int(question_counts.sum()), 1)
    is_derived, is_beaten, is_exception = np.zeros((3, count), np.bool_)
    slot, accrued, question_end, rank = np.zeros((4, count), np.int64)
    value, depth, accrued_value, position = np.zeros((4, count), np.int64)
    question_start = np.cumsum(question_counts) - question_counts
    exits = np.full((count, 3), NONE, np.int64)
    bound = np.zeros((count, 2), np.int64)
    question, key = np.empty((2, total), np.int64)
    question_rank = np.empty(total, np.uint8)
    answer = np.full((total, 3), UNANSWERED, np.int32)
    capture_slot = np.full(total, -1, np.int64)
    best_capture = np.empty((total, 3), np.int64)
    positions = is_derived, slot, accrued, question_start, question_end, rank, is_beaten, exits, is_exception
    questions = question, question_rank, answer, capture_slot, best_capture, key
    return Batch(*positions, value, depth, accrued_value, bound, position, *questions)


def ranks_of(layout: Layout, side: Side, slots: NDArray[np.int64], threads: int) -> NDArray[np.int64]:
    """Return the position ranks of legal positions without en passant rights: int64 (n,)."""
    rows = rows_of(layout, side)
    ranked = RankedPositions(slots.copy(), np.empty(len(slots), np.int64))

    def find(part: Part) -> None:
        _find_ranks(rows, ranked, BLOCKS.buffers, side, *part)

    parts = parts_of_size(0, len(slots), _POSITIONS_PER_RANKING)
    if len(parts) > 1:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(find, parts))
    else:  # starting threads would take longer
        list(map(find, parts))
    return ranked.rank


class Decoder:
    """Looks up positions of one table in batches. A single position is a batch of one position.

    :param exit_finder: finds the exits of the table's positions.
    :param threads: number of threads that decode blocks.
    :param forget_blocks: called after a large batch, to release the memory of mapped blocks.
    """

    def __init__(
        self,
        layout: Layout,
        coding: Coding,
        exceptions: ExceptionalPositions,
        exit_finder: ExitFinder,
        threads: int,
        forget_blocks: Callable[[], None],
    ) -> None:
        self._layout = layout
        self._coding = coding
        self._exceptions = exceptions
        self._exception_slots = np.append(exceptions.slots, _NO_SLOT)
        self._exit_finder = exit_finder
        self._threads = threads
        self._forget_blocks = forget_blocks
        self._stored_side = SIDES[coding.rows.side]
        self._derived_side = SIDES[1 - self._stored_side]
        stored_side = layout, self._stored_side
        self._is_stored_side = np.array([target == stored_side for target in exit_finder.targets], np.bool_)

    def look_up(
        self,
        sides: NDArray[np.integer],
        slots: NDArray[np.int64],
        accrued: NDArray[np.int64],
        bounds: Bounds | None = None,
    ) -> Decoded:
        """Return the values and depths of non-terminal positions at canonical slots.

        :param sides: sides to move, shape (n,).
        :param accrued: int64 (n,), codes of A, into which g(P) has been folded; -1 for fresh states. A must
            not equal g(P); pass -1 for such a state.
        :param bounds: if given, the states are fresh, and the code of a value that does not matter may be
            NONE.
        """
        derived = sides == self._derived_side
        if len(slots) == 1:
            return self._look_up_one(derived, slots, accrued)
        order = self._block_order(slots) if len(slots) > _MAX_BATCH_POSITIONS else np.arange(len(slots))
        values = np.empty((3, len(slots)), np.int64)
        first_error = None
        for start in range(0, len(slots), _MAX_BATCH_POSITIONS):
            part = order[start : start + _MAX_BATCH_POSITIONS]
            part_bounds = None if bounds is None else bounds[part]
            found = self._look_up_many(derived[part], slots[part], accrued[part], part_bounds)
            values[:, part] = found.value, found.depth, found.accrued_value
            first_error = first_error or found.error
        value, depth, accrued_value = values
        return Decoded(value, depth, accrued_value, first_error)

    def look_up_stored(self, slots: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
        """Return values and function numbers of positions of the stored side.

        The function of a position gives V(P, A) for each accrued score A.

        :param slots: int64 (n,), canonical slots of non-terminal positions.
        :returns: codes of W and the numbers of functions, shape (n,) each. A code is ``UNSTORED`` if the best
            capture gives the value, and ``DAMAGED`` if the block does not decode.
        """
        values, functions = np.empty(len(slots), np.int64), np.empty(len(slots), np.uint32)
        for start in range(0, len(slots), _MAX_BATCH_POSITIONS):
            part = slice(start, start + _MAX_BATCH_POSITIONS)
            count = len(slots[part])
            batch = empty_batch(np.ones(count, np.int64))
            batch.slot[:] = slots[part]
            with self._threads_for(count) as (mapper, parts):
                self._ask(mapper, batch)
                list(self._answers(mapper, batch, _list_questions(batch, np.arange(count)), parts))
            batch.position[:] = np.arange(count)
            _find_values(self._coding, batch, BLOCKS.buffers, count, False)
            values[part] = batch.value
            functions[part] = batch.answer[:, FUNCTION]
        return values, functions

    def _block_order(self, slots: NDArray[np.int64]) -> NDArray[np.intp]:
        """Return an order in which most positions that need the same block are neighbours.

        The positions are sorted by the squares of the stored side's men first, because a quiet move of the
        other side does not change them.
        """
        layout, side = self._layout, self._stored_side
        key = slots // layout.phase_size
        squares = squares_of(layout, slots)
        for man in sorted(digit_order(layout, side)[:-1], key=lambda man: layout.colours[man] != side):
            key = key << 6 | squares[:, man]
        return np.argsort(key)

    def _batch_for(self, derived: NDArray[np.bool_], slots: NDArray[np.int64]) -> Batch:
        """Return a batch of positions. A position of the derived side has at most one question for each legal
        move."""
        questions = np.ones(len(slots), np.int64)
        questions[derived] = ranks_of(self._layout, self._derived_side, slots[derived], self._threads) >> 1
        batch = empty_batch(questions)
        batch.is_derived[:], batch.slot[:] = derived, slots
        return batch

    def _look_up_one(
        self, derived: NDArray[np.bool_], slots: NDArray[np.int64], accrued: NDArray[np.int64]
    ) -> Decoded:
        """Return the result of :meth:`look_up` for one position, as fast as possible."""
        try:
            batch = _spare_batches.pop()
        except IndexError:
            batch = empty_batch(np.full(1, _MAX_MOVES))
        batch.capture_slot.fill(-1)
        batch.exits.fill(NONE)
        batch.is_exception.fill(False)
        batch.is_derived[:], batch.slot[:], batch.accrued[:] = derived, slots, accrued
        self._fill_in_exceptions(batch)
        _ask(self._coding.rows, batch, BLOCKS.buffers, 0, 1)
        count = int(batch.question_end[0])
        keys = batch.key[:count]
        keys[:] = batch.question[:count] << INDEX_BITS | _INDICES[:count]
        keys.sort()
        _answer(self._coding, batch, BLOCKS.buffers, 0, count)
        exit_error = None
        if derived[0]:
            batch.exits[:], exit_error = self._exit_finder(self._derived_side, slots, False)
        capture_error = self._find_values(batch, _INDEX_ZERO)
        error = exit_error or capture_error
        found = Decoded(batch.value.copy(), batch.depth.copy(), batch.accrued_value.copy(), error)
        _spare_batches.append(batch)
        return found

    def _look_up_many(
        self,
        derived: NDArray[np.bool_],
        slots: NDArray[np.int64],
        accrued: NDArray[np.int64],
        bounds: Bounds | None,
    ) -> Decoded:
        """Return the result of :meth:`look_up` for a batch of several positions.

        Pawn moves from positions of the batch to positions of the stored side of this table are looked up in
        the same batch: both kinds of positions need most blocks.
        """
        finder = self._exit_finder
        side = self._derived_side
        count = len(slots)
        errors = []
        positions = derived.nonzero()[0]
        moves = finder.moves(side, slots[positions], False)
        moves[:, ORIGIN] = positions[moves[:, ORIGIN]]
        to_stored_side = self._is_stored_side[moves[:, TARGET]] & (moves[:, PASSED] < 0) & (bounds is None)
        moves_to_stored_side = moves[to_stored_side]
        moves = moves[~to_stored_side]
        promotion = finder.promotions[moves[:, TARGET]]
        if bounds is not None or len(moves) <= _MAX_SINGLE_THREAD_POSITIONS:
            promotion[:] = 0  # promotions are looked up with the other moves
        is_derived = np.append(derived, np.zeros(len(moves_to_stored_side), np.bool_))
        batch = self._batch_for(is_derived, np.append(slots, moves_to_stored_side[:, SLOT]))
        batch.accrued[:count], batch.accrued[count:] = accrued, NO_SCORE
        if bounds is not None:
            batch.bound[:] = bounds
        self._fill_in_exceptions(batch)
        with self._threads_for(len(batch.slot)) as (mapper, parts):
            self._ask(mapper, batch)
            if bounds is None:
                indices = joined_ranges(batch.question_start, batch.question_end - batch.question_start)
                answers = self._answers(mapper, batch, _list_questions(batch, indices), parts)
            errors.append(finder.weigh(side, moves[promotion == 0], batch.exits))
            if bounds is None:
                list(answers)
            else:
                for max_questions in _QUESTIONS_PER_ROUND:
                    key_count = _list_open_questions(self._coding, batch, max_questions)
                    list(self._answers(mapper, batch, key_count, parts))
        errors.append(self._find_values(batch, (~batch.is_derived).nonzero()[0]))
        entries = np.stack([batch.value, batch.depth], axis=1)[count:]
        finder.weigh_entries(side, moves_to_stored_side, entries, batch.exits)
        # Better promotions come first: they often prove that the others do not matter.
        for kind in sorted({*promotion[promotion > 0].tolist()}):  # np.unique would import numpy.ma
            promotions = moves[promotion == kind]
            limits = np.empty((len(promotions), 2), np.int64)
            bounded = ZeroingMoves(_NO_SLOTS, batch.exits, promotions, entry=_NO_ROWS, bound=limits)
            _find_bounds(self._coding, batch, bounded)
            errors.append(finder.weigh(side, promotions, batch.exits, limits))
        errors.append(self._find_values(batch, positions))
        error = next(filter(None, errors), None)
        return Decoded(batch.value[:count], batch.depth[:count], batch.accrued_value[:count], error)

    def _fill_in_exceptions(self, batch: Batch) -> None:
        """Find the exceptions in a batch, and fill in their values and depths."""
        positions = batch.is_derived.nonzero()[0]
        indices = self._exception_slots.searchsorted(batch.slot[positions])
        found = self._exception_slots[indices] == batch.slot[positions]
        batch.is_exception[positions] = found
        for position, index in zip(positions[found].tolist(), indices[found].tolist(), strict=True):
            batch.value[position], batch.depth[position] = self._exceptions.entry(index)

    @contextmanager
    def _threads_for(self, positions: int) -> Iterator[tuple[Callable[..., Iterable[None]], int]]:
        """Within the ``with`` statement, provide a function like ``map``, which uses threads for large
        batches, and the number of parts into which to divide questions."""
        if positions > _MAX_SINGLE_THREAD_POSITIONS and self._threads > 1:
            with ThreadPoolExecutor(self._threads) as pool:
                yield pool.map, _PARTS_PER_THREAD * self._threads
            self._forget_blocks()
        else:
            yield map, 1

    def _ask(self, mapper: Callable[..., Iterable[None]], batch: Batch) -> None:
        """Find all questions of a batch."""
        rows = self._coding.rows
        tasks = parts_of_size(0, len(batch.slot), _TASK_POSITIONS)
        list(mapper(lambda part: _ask(rows, batch, BLOCKS.buffers, *part), tasks))

    def _answers(
        self, mapper: Callable[..., Iterable[None]], batch: Batch, key_count: int, parts: int
    ) -> Iterable[None]:
        """Answer the questions of the first ``key_count`` keys, in ``parts`` parts. All are answered when the
        returned iterable is exhausted."""
        keys = batch.key[:key_count]
        keys.sort()
        split = _split(keys, ROW_QUESTIONS * self._coding.rows.block_rows << INDEX_BITS, parts)
        return mapper(lambda part: _answer(self._coding, batch, BLOCKS.buffers, *part), split)

    def _find_values(self, batch: Batch, positions: NDArray[np.int64]) -> TbgenError | None:
        """Find the values and depths of some positions, and the best captures by the stored side on which
        they depend.

        Return the first error in the captures, or None.
        """
        count = len(positions)
        batch.position[:count] = positions
        _find_values(self._coding, batch, BLOCKS.buffers, count, False)
        questions = (batch.capture_slot >= 0).nonzero()[0]
        if not len(questions):
            return None
        slots = batch.capture_slot[questions]
        batch.capture_slot[questions] = -1
        if len(slots) > _MAX_SINGLE_THREAD_POSITIONS:  # large batches have many duplicates
            slots, inverse = np.unique(slots, return_inverse=True)
            exits, error = self._exit_finder(self._stored_side, slots, True)
            batch.best_capture[questions] = exits[inverse]
        else:
            batch.best_capture[questions], error = self._exit_finder(self._stored_side, slots, True)
        _find_values(self._coding, batch, BLOCKS.buffers, count, True)
        return error


def _list_questions(batch: Batch, indices: NDArray[np.int64]) -> int:
    """List the keys of the questions with these indices, and return their number."""
    batch.key[: len(indices)] = batch.question[indices] << INDEX_BITS | indices
    return len(indices)


def _split(keys: NDArray[np.int64], block_size: int, parts: int) -> list[Part]:
    """Divide the sorted keys of questions into parts, and return the start and stop of each part. Questions
    about one block, whose keys have the same quotient by ``block_size``, are never separated."""
    if parts == 1 or not len(keys):
        return [(0, len(keys))]
    edges = [start for start, _ in equal_parts(len(keys), parts)[1:]]
    cuts = np.searchsorted(keys, keys[edges] // block_size * block_size).tolist()
    return list(pairwise([0, *cuts, len(keys)]))
