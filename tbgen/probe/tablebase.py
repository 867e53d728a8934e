"""Directories of tables, open for probing: one position, many, and views such as classical chess."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain, islice, repeat, zip_longest
from operator import methodcaller
from os import PathLike
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeAlias, overload

import chess
import numpy as np
from numpy.typing import NDArray

from tbgen.board.fen import DescribedBoard
from tbgen.board.material import Material
from tbgen.board.rules import FRESH, Fresh
from tbgen.board.san import MoveWithSan
from tbgen.board.score import MAX_RANK, GScore, Signed
from tbgen.board.scoring import Points
from tbgen.board.variant import Variant
from tbgen.errors import (
    MissingTableError,
    NamedChoice,
    PositionError,
    TbgenError,
    UsageError,
    result_or_error,
)
from tbgen.index.position import validate
from tbgen.packed.tables import AnyTable
from tbgen.probe.moves import (
    LinePly,
    RankedMove,
    best_line,
    next_move,
    order,
    ranked_moves,
    reached_by,
    successors,
)
from tbgen.probe.states import (
    AnyPosition,
    AnyScore,
    ProbeResult,
    State,
    locate_state,
    read,
    result_of,
    state_of,
)
from tbgen.probe.values import CACHE_BYTES, MAX_OPEN_FILES, RightsGoal, Values
from tbgen.store.format import tables_in

if TYPE_CHECKING:
    from tbgen.probe.arrays import ArrayProbes
    from tbgen.probe.positions import PositionTable


class View(NamedChoice, what="a view"):
    """A game with the moves of chess whose values are derived from those of r-mobility."""

    CLASSICAL = "classical"
    """Win, draw or loss, without the 50-move rule."""
    STALEMATE_WINS = "stalemate-wins"
    """Stalemate wins as mate does."""
    LASKER = "lasker"
    """Stalemate gives 3/4 of the point, as Emanuel Lasker proposed."""

    @classmethod
    def parse(cls, text: str) -> "View":
        """Return the view of a name.

        :raises UsageError: if no view has that name.
        """
        return cls(text)

    def points(self, value: GScore) -> Points:
        """Return the points in the view for a value of r-mobility.

        >>> View.LASKER.points(GScore("-G0.5"))
        Points(white=0.25, black=0.75)
        """
        shares = _HOLDERS_SHARE[self]
        share = shares[value.rank] if value.rank < len(shares) else 0.5
        return Points(share, 1 - share) if value.white else Points(1 - share, share)

    def depth(self, value: GScore, depth: int | None) -> int | None:
        """Return the plies to mate for a value and its depth: 0 if the value is no mate; None in views
        other than classical chess."""
        mate = 0 if value.rank else depth
        return mate if self is View.CLASSICAL else None


_HOLDERS_SHARE: Final = {
    View.CLASSICAL: (1.0, 0.5),
    View.STALEMATE_WINS: (1.0, 1.0),
    View.LASKER: (1.0, 0.75),
}
"""Points of the holder of a score of rank 0, and of rank 1."""

BATCH: Final = 65536
"""Number of positions that are looked up together. The larger it is, the fewer chunks are decoded twice."""

MOVES_BATCH: Final = 2048
"""Number of positions whose moves are looked up together."""
_MAX_SINGLES: Final = 8
"""Most positions that are looked up one by one, because sorting so few takes longer than it saves."""

Question: TypeAlias = tuple[AnyPosition, AnyScore]


def questions(
    positions: Iterable[AnyPosition], accrued: Iterable[AnyScore] | Fresh | None
) -> Iterator[Question]:
    """Pair positions with their accrued scores, lazily.

    :raises TypeError: if one position or one score is passed in place of many.
    :raises UsageError: at the end of the shorter iterable, if the lengths differ.
    """
    if isinstance(positions, str | chess.Board | DescribedBoard):
        raise TypeError("one position in the place of many: give an iterable of them")
    if accrued is None or isinstance(accrued, Fresh):
        return zip(positions, repeat(accrued))
    if isinstance(accrued, str | GScore):
        raise TypeError("one accrued score for many positions: give an iterable with one for each")
    return _paired(positions, accrued)


def _paired(positions: Iterable[AnyPosition], accrued: Iterable[AnyScore]) -> Iterator[Question]:
    """Yield positions with their accrued scores.

    :raises UsageError: at the end of the shorter iterable, if the lengths differ.
    """
    end_mark: Any = object()
    for number, (position, score) in enumerate(zip_longest(positions, accrued, fillvalue=end_mark)):
        if position is end_mark or score is end_mark:
            shorter, longer = ("positions", "accrued scores")[:: 1 if position is end_mark else -1]
            raise UsageError(f"there are more {longer} than {shorter}, which are {number}: give as many")
        yield position, score


def probe(values: Values, position: AnyPosition, accrued: AnyScore) -> ProbeResult:
    """Return what :meth:`tbgen.Tablebase.probe` does, and raise as it does."""
    _, state = state_of(position, accrued, values.variant)
    return result_of(state, values.of(state))


def probe_many(
    values: Values, pairs: Iterator[Question], size: int = BATCH
) -> Iterator[ProbeResult | TbgenError]:
    """Yield results or errors in the order of the questions; at most ``size`` questions are read ahead."""
    while head := list(islice(pairs, min(size, _MAX_SINGLES + 1))):
        if len(head) <= _MAX_SINGLES:
            for question in head:
                yield result_or_error(probe, values, *question)
            continue
        # The boards are not kept, because they take much more memory than the states.
        batch = chain(head, islice(pairs, size - len(head)))
        states = [_state(*question, values.variant) for question in batch]
        for state, goal in zip(states, values.of_many(states), strict=True):
            if isinstance(state, TbgenError):
                yield state
            else:
                yield goal if isinstance(goal, TbgenError) else result_of(state, goal)


def moves_many(
    values: Values, pairs: Iterator[Question], size: int = MOVES_BATCH
) -> Iterator[list[RankedMove] | TbgenError]:
    """Yield ranked moves or errors in the order of questions. At most ``size`` questions are read ahead."""
    while batch := list(islice(pairs, size)):
        yield from _moves_of_batch(values, batch)


def _moves_of_batch(values: Values, batch: list[Question]) -> Iterator[list[RankedMove] | TbgenError]:
    starts = [result_or_error(state_of, *question, values.variant) for question in batch]
    reached = [
        []
        if isinstance(start, TbgenError) or start[1].position.terminal
        else reached_by(start[0], start[1].accrued, values.variant)
        for start in starts
    ]
    results = iter(values.of_many([successor.state for after in reached for successor in after]))
    for start, after in zip(starts, reached, strict=True):
        own_results = list(islice(results, len(after)))
        goals = [result for result in own_results if not isinstance(result, TbgenError)]
        if isinstance(start, TbgenError):
            yield start
        elif len(goals) < len(own_results):
            yield next(result for result in own_results if isinstance(result, TbgenError))
        else:
            board, state = start
            yield ranked_moves(board, order(board, state.accrued, after, goals))


def _state(position: AnyPosition, accrued: AnyScore, variant: Variant) -> State | TbgenError:
    result = result_or_error(state_of, position, accrued, variant)
    return result if isinstance(result, TbgenError) else result[1]


class ViewValue:
    """The value of a position in a view."""

    __slots__ = ()
    points: Points

    @property
    def winner(self) -> Literal["white", "black"] | None:
        """The side that gets more than half a point; None in a draw."""
        if self.points.white == self.points.black:
            return None
        return "white" if self.points.white > self.points.black else "black"


@dataclass(frozen=True, slots=True)
class ViewResult(ViewValue):
    """The answer of a view about a position.

    :ivar view: the view.
    :ivar material: the canonical material, whichever colours the position has.
    :ivar points: the result under best play of both sides; exact.
    :ivar depth: ``classical``: plies to mate, 0 in a draw. Other views: None.
    """

    view: View
    material: Material
    points: Points
    depth: int | None


@dataclass(frozen=True, slots=True)
class ViewMove(ViewValue, MoveWithSan):
    """A legal move, with the result in a view of the position it leads to.

    :ivar move: the move.
    :ivar san: the move in short algebraic notation.
    :ivar points: the result of best play after the move; exact.
    :ivar depth: ``classical``: plies to mate from the position it leads to, 0 in a draw. Other views: None.
    :ivar zeroing: whether it is a capture or a pawn move.
    :ivar position_score: position score after the move; rank 0 is mate, rank 1 stalemate.
    """

    move: chess.Move
    san: str
    points: Points
    depth: int | None
    zeroing: bool
    position_score: GScore


class ViewTables:
    """The tables of a tablebase, read as a view. Get the object from :meth:`tbgen.Tablebase.view`.

    Positions are boards or FENs, as for the tablebase. Views have no accrued scores. A pickled copy opens the
    directories of the tablebase anew.
    """

    def __init__(self, tables: "Tablebase", values: Values, view: View) -> None:
        self._tables, self._values = tables, values
        self.view = view

    def __reduce__(self) -> tuple[Any, ...]:
        return methodcaller("view", str(self.view)), (self._tables,)

    def __repr__(self) -> str:
        return f"<{self.view} view of {self._tables!r}>"

    def probe(self, board: AnyPosition) -> ViewResult:
        """Return the points, and in classical chess the plies to mate, with best play.

        >>> import tbgen
        >>> with tbgen.open_tablebase("data") as tables:  # doctest: +SKIP
        ...     print(tables.view("lasker").probe("6k1/8/5K2/5B2/8/8/8/8 b - - 0 1").points)
        Points(white=0.75, black=0.25)

        Raises as :meth:`tbgen.Tablebase.probe` does.
        """
        return self._view_result(self._tables.probe(board, FRESH))

    def get(self, board: AnyPosition) -> ViewResult | None:
        """Return what :meth:`probe` does, or None where :meth:`tbgen.Tablebase.get` does."""
        result = self._tables.get(board, FRESH)
        return None if result is None else self._view_result(result)

    def probe_many(self, boards: Iterable[AnyPosition]) -> Iterator[ViewResult | TbgenError]:
        """Yield what :meth:`probe` returns for each position, or the error it raises, in order."""
        results = self._tables.probe_many(boards, FRESH)
        return (result if isinstance(result, TbgenError) else self._view_result(result) for result in results)

    def moves(self, board: AnyPosition) -> list[ViewMove]:
        """Return all legal moves, best first; raises as :meth:`probe` does.

        Among moves with equal points, quick mates precede slow mates, and slow losses precede quick losses.
        Other ties are in the order of r-mobility.
        """
        valid_board, state = state_of(board, FRESH, self._values.variant)
        if state.position.terminal:
            return []
        # With this neutral accrued score the value of a move is the fresh value of the position after it.
        moves = successors(self._values, valid_board, Signed(MAX_RANK))
        return [self._view_move(move) for move in ranked_moves(valid_board, moves)]

    def _view_result(self, result: ProbeResult) -> ViewResult:
        points, depth = self.view.points(result.value), self.view.depth(result.value, result.depth)
        return ViewResult(self.view, result.material, points, depth)

    def _view_move(self, move: RankedMove) -> ViewMove:
        points, depth = self.view.points(move.value), self.view.depth(move.value, move.depth)
        return ViewMove(move.move, move.san, points, depth, move.zeroing, move.position_score)


class ClassicalTables(ViewTables):
    """Classical chess, which can replace the tablebase of :mod:`chess.gaviota`.

    As in python-chess, its ``probe_`` methods raise a KeyError: a :class:`~tbgen.errors.MissingTableError`
    for a table that has not been built, a :class:`~tbgen.errors.PositionError` for a position that no table
    contains. Its ``get_`` methods return the default in these cases.
    """

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the tablebase."""
        self._tables.close()

    def probe_dtm(self, board: AnyPosition) -> int:
        """Return the plies to mate: positive if the side to move mates, negative if it is mated.

        It is 0 in a draw, and if the side to move is already mated.

        >>> import chess, tbgen
        >>> with tbgen.open_tablebase("data") as tables:  # doctest: +SKIP
        ...     print(tables.view("classical").probe_dtm(chess.Board("8/8/8/8/8/8/8/K2kr3 w - - 0 1")))
        -10

        :raises KeyError: if the probe fails.
        :raises DamagedTableError: if the table's file cannot be used.
        """
        mated, depth = self._mated(board)
        if depth is None:
            raise PositionError(
                "the plies to mate are not available with castling rights if tables are packed: write - for "
                "them if they do not matter"
            )
        return -depth if mated else depth

    def probe_wdl(self, board: AnyPosition) -> int:
        """Return 1 if the side to move wins, 0 in a draw, -1 if it loses.

        Raises as :meth:`probe_dtm` does.
        """
        mated, _ = self._mated(board)
        return 0 if mated is None else -1 if mated else 1

    def get_dtm(self, board: AnyPosition, default: int | None = None) -> int | None:
        """Return what :meth:`probe_dtm` does, or the default where that raises a KeyError."""
        with suppress(KeyError):
            return self.probe_dtm(board)
        return default

    def get_wdl(self, board: AnyPosition, default: int | None = None) -> int | None:
        """Return what :meth:`probe_wdl` does, or the default where that raises a KeyError."""
        with suppress(KeyError):
            return self.probe_wdl(board)
        return default

    def _mated(self, board: AnyPosition) -> tuple[bool | None, int | None]:
        """Return whether best play mates the side to move (None in a draw), and the plies to mate (None if
        they are not available)."""
        try:
            result = self._tables.probe(board, FRESH)
        except UsageError as error:
            raise PositionError(str(error)) from None
        if result.value.rank:
            return None, 0
        # The side that has just moved holds the position score.
        return result.value.white == result.position_score.white, result.depth


class Tablebase:
    """Values, moves and lines of positions from the tables of some directories. The object is thread-safe.

    Get it from :func:`open_tablebase`. A pickled copy, as for another process, opens the same directories
    anew.

    A position is a board, or a FEN of six or seven fields. The accrued score is the first of these that is
    available:

    - the one passed, as a G-score or as text;
    - the seventh field of a FEN, unless its halfmove clock is 0;
    - the score that the moves in a board's history have accrued (``board.move_stack``);
    - the position score, which ``tbgen.FRESH`` selects at once.

    The position score is folded into the accrued score, and the answer contains the resulting score. In mate
    and stalemate the position score replaces the accrued score. In r-mobility this also happens if an en
    passant capture is legal, because such a position is the first after a reset.

    :param directories: directories of tables, searched in this order. Without any, or for None, the directory
        is ``$TBGEN_DIR``, else ``data``.
    :param rules: the variant that the tables are for: ``r``, or ``wg`` for whole-game mobility.
    :param max_open_files: maximum number of table files to keep open.
    :param cache_bytes: maximum number of bytes of decoded chunks to keep.
    :param depths: whether to compute the depths with accrued scores that tables do not store. This may take
        minutes and some GiB of memory for each score. If False, these depths are None.

    :ivar directories: the directories of tables, in the order of search.
    :ivar directory: the first of the directories.
    :ivar rules: the variant that the tables are built for.
    """

    def __init__(
        self,
        *directories: str | PathLike[str] | None,
        rules: Variant | str = "r",
        max_open_files: int = MAX_OPEN_FILES,
        cache_bytes: int = CACHE_BYTES,
        depths: bool = False,
    ) -> None:
        paths = [directory for directory in directories if directory is not None]
        values_type: type[Values] = Values
        if depths:
            from tbgen.probe.depths import DeepValues

            values_type = DeepValues
        self._values = values_type(
            paths,
            variant=Variant.parse(rules),
            max_open=max_open_files,
            cache_bytes=cache_bytes,
            rights=_rights_goal,
        )
        self.directories: Final = self._values.directories
        self.directory: Final = self.directories[0]
        self.rules: Final = self._values.variant
        self._reopen: Final = partial(
            type(self),
            *paths,
            rules=rules,
            max_open_files=max_open_files,
            cache_bytes=cache_bytes,
            depths=depths,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return self._reopen, ()

    def __repr__(self) -> str:
        return f"<tablebase of {' and '.join(map(str, self.directories))}, rules {self.rules}>"

    @property
    def materials(self) -> list[Material]:
        """The materials that have a table now, in build order."""
        first, *others = self.directories
        return tables_in(first, self.rules, *others)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all files, each as soon as no other thread reads it."""
        self._values.close()

    def table_file(self, material: Material) -> AnyTable:
        """Return the open file of a table, which is closed with the tablebase.

        :raises MissingTableError: if it has not been built.
        :raises DamagedTableError: if it cannot be used.
        """
        return self._values.table(material)

    def probe(self, position: AnyPosition, accrued: AnyScore = None) -> ProbeResult:
        """Return value and depth of a position.

        >>> import tbgen
        >>> with tbgen.open_tablebase("data") as tables:  # doctest: +SKIP
        ...     print(tables.probe("8/8/8/2K3k1/8/8/8/8 w - - 0 1").value)
        -G8.5

        :raises UsageError: if no table contains such a position, or the accrued score is invalid.
        :raises TypeError: if the position is neither board nor text, or the score neither G-score nor text.
        :raises MissingTableError: if the table has not been built.
        :raises DamagedTableError: if its file cannot be used.
        """
        return probe(self._values, position, accrued)

    def get(self, position: AnyPosition, accrued: AnyScore = None) -> ProbeResult | None:
        """Return the result of :meth:`probe`, or None if no value is available.

        No value is available for positions that no table can contain (too many men, or illegal), and for
        positions whose table has not been built.

        :raises UsageError: if a text is no FEN, or the accrued score is invalid.
        :raises TypeError: if the position is neither board nor text, or the score neither G-score nor text.
        :raises DamagedTableError: if the table's file cannot be used.
        """
        board, score = read(position, accrued, self._values.variant)
        try:
            validate(board)
        except UsageError:
            return None
        state = locate_state(board, score, self._values.variant)
        try:
            return result_of(state, self._values.of(state))
        except MissingTableError as error:
            if error.material != state.position.shape.material.name:
                raise  # the table exists, but not a sub-table that one of its layers needs
            return None

    def moves(self, position: AnyPosition, accrued: AnyScore = None) -> list[RankedMove]:
        """Return all legal moves, best first, with value and depth of the states they lead to.

        Among moves to the same value, the quickest come first if the mover prefers the value to the accrued
        score, else the slowest. Moves whose depth is not stored follow, in the order of UCI notation.

        Raises as :meth:`probe` does, also if the table is missing that one of the moves leads to.
        """
        board, state = state_of(position, accrued, self._values.variant)
        if state.position.terminal:
            return []
        return ranked_moves(board, successors(self._values, board, state.accrued))

    def best_move(self, position: AnyPosition, accrued: AnyScore = None) -> chess.Move | None:
        """Return the first of :meth:`moves`, None in mate and stalemate.

        The move keeps the value. To reach the value as well, play needs depths, which not all tables store.
        To continue with an accrued score, use :meth:`next_move` or :meth:`line`, or open the tables with
        ``depths=True``.

        >>> import chess, tbgen
        >>> board = chess.Board("8/8/8/4KBk1/8/8/8/8 b - - 0 1")
        >>> with tbgen.open_tablebase("data") as tables:  # doctest: +SKIP
        ...     board.push(tables.best_move(board))
        """
        return next((ranked.move for ranked in self.moves(position, accrued)), None)

    def next_move(
        self, position: AnyPosition, accrued: AnyScore = None, *, patience: Callable[[], bool]
    ) -> RankedMove | None:
        """Return the first move of best play, for play move by move.

        This is the first of :meth:`moves` if tables store all depths that are needed. Otherwise a search
        looks ahead as long as ``patience`` allows.

        :param patience: called every few tenths of a second; returns whether to continue the search.

        :returns: None in mate and stalemate, and if ``patience`` has returned False. None also with castling
            rights, if depths are needed that are not available.

        Raises as :meth:`probe` does.
        """
        board, state = state_of(position, accrued, self._values.variant)
        return next_move(self._values, board, state, patience)

    def line(self, position: AnyPosition, accrued: AnyScore = None) -> list[LinePly]:
        """Return best play of both sides up to the ply at which the accrued score is the value.

        Depths that tables do not store are searched for some plies ahead. If that takes too long, they are
        computed, provided that the tablebase was opened with ``depths=True``.

        Raises as :meth:`probe` does.

        :raises MissingLayerError: if depths are not available.
        """
        board, state = state_of(position, accrued, self._values.variant)
        return best_line(self._values, board, state)

    def probe_many(
        self, positions: Iterable[AnyPosition], accrued: Iterable[AnyScore] | Fresh | None = None
    ) -> Iterator[ProbeResult | TbgenError]:
        """Yield what :meth:`probe` returns for each position, in order. This is faster than single probes,
        especially if chunks are not in the cache.

        The error that :meth:`probe` would raise about a position is yielded in place of its result. The
        iterables may be endless, but they must not wait for answers, because thousands of positions are read
        ahead.

        :param accrued: one accrued score for each position, as in :meth:`probe`; None for the scores that the
            positions imply, ``tbgen.FRESH`` for the position scores.

        >>> import chess, tbgen
        >>> with tbgen.open_tablebase("data") as tables:  # doctest: +SKIP
        ...     for result in tables.probe_many(["8/8/8/2K3k1/8/8/8/8 w - - 0 1", chess.Board()]):
        ...         print(result if isinstance(result, tbgen.TbgenError) else result.value)
        -G8.5
        the position has 32 men; tables have at most 5, kings included

        :raises TypeError: if one position or one score is passed in place of many, or an element has a type
            that :meth:`probe` rejects.
        :raises UsageError: at the end of the shorter iterable, if the lengths differ.
        """
        return probe_many(self._values, questions(positions, accrued))

    def moves_many(
        self, positions: Iterable[AnyPosition], accrued: Iterable[AnyScore] | Fresh | None = None
    ) -> Iterator[list[RankedMove] | TbgenError]:
        """Yield what :meth:`moves` returns for each position, or the error, as :meth:`probe_many` does."""
        return moves_many(self._values, questions(positions, accrued))

    def probe_arrays(
        self, men: str, squares: Any, side: Any, accrued: Any = None
    ) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
        """Return values and depths of many positions with the same men, without castling and en passant
        rights.

        Plain tables are loaded into memory whole, 10 to 90 MiB each; at most half a GiB of them is kept.
        Large batches use one thread for each processor that the process may use, up to eight: with ``taskset
        -c 0 python`` this is one thread.

        :param men: letters as in a FEN, White's in upper case, in any order; one for each column of squares.
        :param squares: whole numbers, shape (n, men): a1 = 0 to h8 = 63.
        :param side: whole numbers or bools, shape (n,): 0 with White to move, 1 with Black to move (the turn
            of a board of python-chess is the other way round).
        :param accrued: whole numbers, shape (n,): table codes of accrued scores (``GScore.code``: the rank of
            White's, 255 minus the rank of Black's), 127 for none. Pass 127 also for a score with a
            rank above 126, because no table has values of this rank. None without any accrued score.
        :returns: codes of the values, uint8 (n,), 127 for illegal positions; and depths in plies, int32 (n,),
            -1 for illegal positions and where the table stores no depth.

        >>> import tbgen
        >>> with tbgen.open_tablebase("data") as tables:  # doctest: +SKIP
        ...     tables.probe_arrays("KBk", [[36, 37, 38]], [1])
        (array([3], dtype=uint8), array([4], dtype=int32))

        :raises UsageError: if an argument has another shape or numbers out of range, or an accrued score
            ends the game in a position that is neither mate nor stalemate.
        :raises TypeError: if an argument is of another type.
        :raises MissingTableError: if the table of the men, or a sub-table that it needs, has not been built.
        :raises DamagedTableError: if a file cannot be used.
        """
        return self._arrays.probe(men, squares, side, accrued)

    @cached_property
    def _arrays(self) -> "ArrayProbes":
        from tbgen.probe.arrays import ArrayProbes

        return ArrayProbes(self._values)

    @overload
    def view(self, name: Literal["classical"]) -> ClassicalTables: ...

    @overload
    def view(self, name: str) -> ViewTables: ...

    def view(self, name: str) -> ViewTables:
        """Return the tables read as a view: ``classical``, ``stalemate-wins`` or ``lasker``.

        The view is open as long as this tablebase.

        >>> import chess, tbgen
        >>> with tbgen.open_tablebase("data") as tables:  # doctest: +SKIP
        ...     print(tables.view("classical").probe_dtm(chess.Board("8/8/8/8/8/8/8/K2kr3 w - - 0 1")))
        -10

        :raises UsageError: if no view has that name.
        """
        view = View.parse(name)
        return (ClassicalTables if view is View.CLASSICAL else ViewTables)(self, self._values, view)

    def table(self, material: Material | str) -> "PositionTable":
        """Return all positions of one table, for research and training.

        A packed table is first unpacked to a plain copy, which is kept beside it until the tablebase is
        closed. With five men and no pawns, that takes some 4 GiB of memory and a minute.

        >>> import tbgen
        >>> with tbgen.open_tablebase("data") as tables:  # doctest: +SKIP
        ...     stalemates = tables.table("KBvK").positions(value="G0.5", depth=range(10, 20))
        ...     print(len(stalemates), stalemates.board(0).fen())
        315 8/8/8/8/8/8/8/2K1Bk2 w - - 0 1

        :raises UsageError: if the text names no material.
        :raises MissingTableError: if the table has not been built.
        :raises DamagedTableError: if its file cannot be used.
        """
        from tbgen.probe.positions import PositionTable

        parsed = material if isinstance(material, Material) else Material.parse(material)
        return PositionTable(self, self._values.plain_table(parsed), self._arrays)


def _rights_goal(values: Values) -> RightsGoal:
    from tbgen.probe.castling import CastlingSolver  # imports numba, which plain tables do not need

    return CastlingSolver(values).goal


def open_tablebase(
    *directories: str | PathLike[str] | None,
    rules: Variant | str = "r",
    cache_bytes: int = CACHE_BYTES,
    depths: bool = False,
) -> Tablebase:
    """Open directories of tables: those passed, else the directory ``$TBGEN_DIR``, else ``data``.

    Files are opened when they are needed. Use the tablebase as a context manager.

    :param directories: directories of tables; a table is read from the first directory that has it.
    :param rules: the variant that the tables are for: ``r``, or ``wg`` for whole-game mobility.
    :param cache_bytes: maximum number of bytes of decoded chunks to keep.
    :param depths: whether to compute the depths with accrued scores that packed tables do not store. This may
        take minutes and some GiB of memory for each score; the depths are kept beside the table. If False,
        these depths are None.

    :raises UsageError: if a directory, passed or named by ``$TBGEN_DIR``, does not exist, or the rules are
        unknown.
    :raises TypeError: if a directory is no path.
    """
    for directory in directories or (os.environ.get("TBGEN_DIR") or None,):
        if not isinstance(directory, str | PathLike | None):
            raise TypeError(
                f"a directory cannot be {type(directory).__name__}: expected paths, one argument for each"
            )
        if directory is not None and not os.path.isdir(directory):
            raise UsageError(f"there is no directory {directory}: give those in which tables were built")
    return Tablebase(*directories, rules=rules, cache_bytes=cache_bytes, depths=depths)
