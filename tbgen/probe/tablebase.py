"""Directories of tables, opened for probing single positions or many."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from functools import cached_property, partial
from itertools import islice, repeat, zip_longest
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn, TypeAlias, TypeVar, overload

import chess
import numpy as np
from numpy.typing import NDArray

from tbgen.board.fen import AnyBoard, DescribedBoard
from tbgen.board.material import Material
from tbgen.board.rules import Fresh
from tbgen.board.score import Code, GScore
from tbgen.board.variant import Variant
from tbgen.errors import (
    MissingTableError,
    PositionError,
    TbgenError,
    UsageError,
    require_truth,
    require_type,
    require_whole,
    result_or_error,
)
from tbgen.index.position import validate
from tbgen.probe.moves import (
    LinePly,
    RankedMove,
    best_line,
    next_move,
    ranked_moves,
    reached_states,
    sort_successors,
    successors,
)
from tbgen.probe.states import (
    AnyPosition,
    AnyScore,
    Goal,
    ProbeResult,
    State,
    locate_state,
    read_position,
    result_of,
    state_of,
)
from tbgen.probe.values import CastlingLookup, Values
from tbgen.probe.views import ClassicalTables, View, ViewTables
from tbgen.store.format import tables_in
from tbgen.tables.library import CACHE_BYTES, MAX_OPEN_FILES, Library
from tbgen.tables.open_table import OpenTable

if TYPE_CHECKING:
    from tbgen.probe.arrays import ArrayProbes
    from tbgen.probe.positions import PositionTable

BATCH_SIZE: Final = 65536
"""Number of positions to look up together. The larger this number is, the fewer chunks are decoded twice."""

MOVES_BATCH_SIZE: Final = 2048
"""Number of positions whose moves to look up together."""

_MAX_ONE_BY_ONE: Final = 8
"""Maximum number of positions to look up one by one; sorting so few positions takes longer than it saves."""

PositionAndScore: TypeAlias = tuple[AnyPosition, AnyScore]
"""A position to look up, with its accrued score."""

Item = TypeVar("Item")


def with_scores(
    positions: Iterable[AnyPosition], accrued: Iterable[AnyScore] | Fresh | None
) -> Iterator[PositionAndScore]:
    """Yield positions paired with their accrued scores.

    :raises TypeError: if a single position or score is passed in place of an iterable.
    :raises UsageError: after the last pair, if the lengths differ.
    """
    if isinstance(positions, str | chess.Board | DescribedBoard):
        raise TypeError("a single position was passed: pass an iterable of positions")
    if accrued is None or isinstance(accrued, Fresh):
        return zip(positions, repeat(accrued))
    if isinstance(accrued, str | GScore):
        raise TypeError("a single accrued score was passed: pass an iterable with one for each position")
    return _pairs(positions, accrued)


def _pairs(positions: Iterable[AnyPosition], accrued: Iterable[AnyScore]) -> Iterator[PositionAndScore]:
    """Yield each position paired with its accrued score.

    :raises UsageError: after the last pair, if the lengths differ.
    """
    end_mark: Any = object()
    for index, (position, score) in enumerate(zip_longest(positions, accrued, fillvalue=end_mark)):
        if position is end_mark or score is end_mark:
            nouns = "positions than accrued scores" if score is end_mark else "accrued scores than positions"
            raise UsageError(f"there are more {nouns} ({index}): give the same number of both")
        yield position, score


def _batches(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Yield batches of ``size`` items, then a smaller one, which may be empty.

    If reading an item raises an exception, the items before it are yielded first.
    """
    batch: list[Item] = []
    try:
        for item in items:
            batch.append(item)
            if len(batch) == size:
                yield batch
                batch = []
    except Exception:
        yield batch
        raise
    yield batch


class Tablebase(AbstractContextManager["Tablebase"]):
    """Values, moves and lines of positions from the tables in one or more directories. It is thread-safe.

    :func:`open_tablebase` returns this object. Unpickling, for example in another process, opens the same
    directories again.

    A position is a board, or a FEN, of which two to seven fields are given. The accrued score is the first of
    these that is available:

    - the score passed as an argument, a G-score or its text;
    - the seventh field of a FEN, unless its halfmove clock is 0;
    - the score that the moves in ``board.move_stack`` have accrued;
    - the position score; to use it in any case, pass ``tbgen.FRESH``.

    The position score is folded into the accrued score, and results contain the folded score. In mate and
    stalemate, the position score replaces the accrued score. The same happens in r-mobility if an en
    passant capture is legal, because such a position is the first after a reset.

    The parameters are those of :func:`open_tablebase`, and ``max_open_files``, the maximum number of table
    files to keep open.

    :ivar directories: the directories of tables, in the order of search.
    :ivar directory: the first of the directories.
    :ivar rules: the variant that the tables have been built for.
    """

    def __init__(
        self,
        *directories: str | PathLike[str] | None,
        rules: Variant | str = "r",
        max_open_files: int = MAX_OPEN_FILES,
        cache_bytes: int = CACHE_BYTES,
        depths: bool = False,
        check: bool = False,
        castling: bool = True,
    ) -> None:
        paths = [directory for directory in directories if directory is not None]
        options: dict[str, Any] = {
            "max_open_files": max_open_files,
            "cache_bytes": cache_bytes,
            "check": check,
        }
        self._library = Library(paths, Variant(rules), **options)
        layers = None
        if depths:
            from tbgen.probe.depths import Layers

            layers = Layers(self._library)
        make_lookup = _castling_lookup if castling else lambda _: _refuse_castling
        self._values = Values(self._library, depths=layers, make_castling_lookup=make_lookup)
        self.directories: Final = self._library.directories
        self.directory: Final = self.directories[0]
        self.rules: Final = self._library.variant
        self._reopen: Final = partial(
            type(self), *paths, rules=rules, depths=depths, castling=castling, **options
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return self._reopen, ()

    def __repr__(self) -> str:
        return f"<tablebase of {' and '.join(map(str, self.directories))}, rules {self.rules}>"

    @property
    def materials(self) -> list[Material]:
        """The materials that currently have a table, in the order in which tables are built."""
        self._library.require_open()
        directory, *others = self.directories
        return tables_in(directory, self.rules, *others)

    def __enter__(self) -> "Tablebase":
        self._library.require_open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all files, each as soon as no other thread is reading it.

        Later calls that need a table raise a :class:`~tbgen.errors.ClosedError`, which is a ValueError.
        """
        self._values.close()

    def table_file(self, material: Material | str) -> OpenTable:
        """Return the open file of a table. Closing the tablebase closes the file.

        :raises UsageError: if the text does not name a material.
        :raises MissingTableError: if the table has not been built.
        :raises DamagedTableError: if the file cannot be used.
        """
        return self._library.table(_material(material))

    def probe(self, position: AnyPosition, accrued: AnyScore = None) -> ProbeResult:
        """Return the value and the depth of a position.

        >>> import tbgen
        >>> with tbgen.open_tablebase("data") as tables:  # doctest: +SKIP
        ...     print(tables.probe("8/8/8/2K3k1/8/8/8/8 w - - 0 1").value)
        -G8.5

        :raises UsageError: if no table can contain the position, or the accrued score is invalid.
        :raises TypeError: if the position is neither a board nor a string, or the score is neither a G-score
            nor a string.
        :raises MissingTableError: if the table has not been built.
        :raises DamagedTableError: if the table's file cannot be used.
        """
        board, state = state_of(position, accrued, self._values.variant)
        return result_of(state, self._values.goal(state), board)

    def get(self, position: AnyPosition, accrued: AnyScore = None) -> ProbeResult | None:
        """Return the result of :meth:`probe`, or None if no value is available.

        No value is available if no table can contain the position (it has too many men, or is illegal), if
        the tables were opened with ``castling=False`` and the position has castling rights, or if the table
        has not been built.

        :raises UsageError: if a string is not a FEN, or the accrued score is invalid.
        :raises TypeError: if the position is neither a board nor a string, or the score is neither a G-score
            nor a string.
        :raises DamagedTableError: if the table's file cannot be used.
        """
        board, score = read_position(position, accrued, self._values.variant)
        try:
            validate(board)
        except UsageError:
            return None
        state = locate_state(board, score, self._values.variant)
        try:
            return result_of(state, self._values.goal(state), board)
        except PositionError:  # it has castling rights
            return None
        except MissingTableError as error:
            if error.material != state.position.shape.material.name:
                raise  # the table exists, but a sub-table that one of its layers needs does not
            return None

    def moves(self, position: AnyPosition, accrued: AnyScore = None) -> list[RankedMove]:
        """Return all legal moves, best first, with the value and depth of the state that each leads to.

        Among moves to the same value, the quickest come first if the mover prefers the value to the accrued
        score; otherwise the slowest come first. Moves whose depth is not stored follow, sorted by their UCI
        notation.

        Raises as :meth:`probe` does, and also if the table that a move leads to is missing.
        """
        board, state = state_of(position, accrued, self._values.variant)
        if state.position.terminal:
            return []
        return ranked_moves(board, successors(self._values, board, state.accrued))

    def best_move(self, position: AnyPosition, accrued: AnyScore = None) -> chess.Move | None:
        """Return the first of :meth:`moves`; None in mate and stalemate.

        The move keeps the value. To make progress towards the value, play needs depths, which not all tables
        store for states that are not fresh. In such states, use :meth:`next_move` or :meth:`line`, or open
        the tables with ``depths=True``.

        >>> import chess, tbgen
        >>> board = chess.Board("8/8/8/4KBk1/8/8/8/8 b - - 0 1")
        >>> with tbgen.open_tablebase("data") as tables:  # doctest: +SKIP
        ...     board.push(tables.best_move(board))
        """
        return next((ranked.move for ranked in self.moves(position, accrued)), None)

    def next_move(
        self, position: AnyPosition, accrued: AnyScore = None, *, patience: Callable[[], bool]
    ) -> RankedMove | None:
        """Return the first move of best play, for callers that play one move at a time.

        The move is the first of :meth:`moves` if tables store all depths that are needed. Otherwise a search
        looks ahead as long as ``patience`` allows.

        :param patience: called every few tenths of a second; returns whether to continue the search.

        :returns: the move; None in mate and stalemate, and if ``patience`` has returned False. With castling
            rights, also None if the depths that are needed are not available.

        Raises as :meth:`probe` does.
        """
        board, state = state_of(position, accrued, self._values.variant)
        return next_move(self._values, board, state, patience)

    def line(self, position: AnyPosition, accrued: AnyScore = None) -> list[LinePly]:
        """Return best play of both sides up to the ply at which the accrued score is the value.

        To find depths that tables do not store, a search looks some plies ahead. If the search takes too
        long, the depths are computed, provided that the tablebase was opened with ``depths=True``.

        Raises as :meth:`probe` does.

        :raises MissingLayerError: if the depths are not available.
        """
        board, state = state_of(position, accrued, self._values.variant)
        return best_line(self._values, board, state)

    def probe_many(
        self, positions: Iterable[AnyPosition], accrued: Iterable[AnyScore] | Fresh | None = None
    ) -> Iterator[ProbeResult | TbgenError]:
        """Yield, for each position in order, the result of :meth:`probe`. This is faster than single probes,
        especially if chunks are not in the cache.

        If :meth:`probe` would raise an error about a position, the error is yielded in place of the result.
        The iterables may be endless, but must not wait for results, because up to 65,536 positions are read
        ahead.

        :param accrued: an accrued score for each position, as in :meth:`probe`; None for the scores that the
            positions imply; ``tbgen.FRESH`` for the position scores.

        >>> import chess, tbgen
        >>> with tbgen.open_tablebase("data") as tables:  # doctest: +SKIP
        ...     for result in tables.probe_many(["8/8/8/2K3k1/8/8/8/8 w - - 0 1", chess.Board()]):
        ...         print(result if isinstance(result, tbgen.TbgenError) else result.value)
        -G8.5
        the position has 32 men; tables have at most 5, kings included

        :raises TypeError: if a single position or score is passed in place of an iterable, or an element has
            a type that :meth:`probe` rejects.
        :raises UsageError: after all results, if the lengths of the iterables differ.
        """
        return self._probe_batches(with_scores(positions, accrued))

    def _located(self, pairs: Iterator[PositionAndScore]) -> Iterator[tuple[AnyBoard, State] | TbgenError]:
        return (result_or_error(state_of, *pair, self._values.variant) for pair in pairs)

    def _probe_batches(self, pairs: Iterator[PositionAndScore]) -> Iterator[ProbeResult | TbgenError]:
        """Yield a result or an error for each pair. At most ``BATCH_SIZE`` pairs are read ahead."""
        # Only the states are kept, because the boards take much more memory.
        states = (start if isinstance(start, TbgenError) else start[1] for start in self._located(pairs))
        for batch in _batches(states, BATCH_SIZE):
            goals = self._values.goals(batch) if len(batch) > _MAX_ONE_BY_ONE else map(self._goal, batch)
            for state, goal in zip(batch, goals, strict=True):
                if isinstance(state, TbgenError):
                    yield state
                else:
                    yield goal if isinstance(goal, TbgenError) else result_of(state, goal)

    def _goal(self, state: State | TbgenError) -> Goal | TbgenError:
        """Return the goal or the error of a state; if it is an error itself, that error."""
        return state if isinstance(state, TbgenError) else result_or_error(self._values.goal, state)

    def moves_many(
        self, positions: Iterable[AnyPosition], accrued: Iterable[AnyScore] | Fresh | None = None
    ) -> Iterator[list[RankedMove] | TbgenError]:
        """Yield, for each position, the moves of :meth:`moves` or its error; see :meth:`probe_many`."""
        return self._moves_batches(with_scores(positions, accrued))

    def _moves_batches(self, pairs: Iterator[PositionAndScore]) -> Iterator[list[RankedMove] | TbgenError]:
        """Yield moves or an error for each pair; at most ``MOVES_BATCH_SIZE`` pairs are read ahead."""
        variant = self._values.variant
        for starts in _batches(self._located(pairs), MOVES_BATCH_SIZE):
            reached = [
                []
                if isinstance(start, TbgenError) or start[1].position.terminal
                else reached_states(start[0], start[1].accrued, variant)
                for start in starts
            ]
            results = iter(self._values.goals([move.state for states in reached for move in states]))
            for start, states in zip(starts, reached, strict=True):
                own_results = list(islice(results, len(states)))
                goals = [result for result in own_results if not isinstance(result, TbgenError)]
                if isinstance(start, TbgenError):
                    yield start
                elif len(goals) < len(own_results):
                    yield next(result for result in own_results if isinstance(result, TbgenError))
                else:
                    board, state = start
                    yield ranked_moves(board, sort_successors(board, state.accrued, states, goals))

    def probe_arrays(
        self, men: str, squares: Any, side: Any, accrued: Any = None
    ) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
        """Return values and depths of many positions with the same men, without castling and en passant
        rights.

        Plain tables, of 10 to 90 MiB each, are loaded whole and kept in memory, up to half a GiB in total.
        Large batches use one thread for each processor that the process may use, up to eight threads; with
        ``taskset -c 0 python``, they use one thread.

        :param men: letters as in a FEN (White's in upper case), one for each column of squares, in any order.
        :param squares: whole numbers, shape (n, men): a1 = 0 to h8 = 63.
        :param side: whole numbers, shape (n,): 0 with White to move, 1 with Black to move. Bools are refused,
            because ``chess.WHITE`` is True.
        :param accrued: whole numbers, shape (n,): table codes of accrued scores (``GScore.code``: the rank of
            White's, 255 minus the rank of Black's), 127 for no score. Also pass 127 for a score with
            a rank above 126, because no table has such values. None if no position has a score.
        :returns: codes of the values, uint8 (n,), 127 for illegal positions; and depths in plies, int32 (n,),
            -1 for illegal positions and for depths that the table does not store.

        >>> import tbgen
        >>> with tbgen.open_tablebase("data") as tables:  # doctest: +SKIP
        ...     tables.probe_arrays("KBk", [[36, 37, 38]], [1])
        (array([3], dtype=uint8), array([4], dtype=int32))

        :raises UsageError: if an argument has a wrong shape or numbers out of range, or an accrued score ends
            the game, but its position is neither mate nor stalemate.
        :raises TypeError: if an argument has a wrong type.
        :raises MissingTableError: if the table of the men, or a sub-table that it needs, has not been built.
        :raises DamagedTableError: if the file of such a table cannot be used.
        """
        return self._array_probes.probe(men, squares, side, accrued)

    @cached_property
    def _array_probes(self) -> "ArrayProbes":
        from tbgen.probe.arrays import ArrayProbes

        return ArrayProbes(self._library)

    @overload
    def view(self, name: Literal["classical"]) -> ClassicalTables: ...

    @overload
    def view(self, name: str) -> ViewTables: ...

    def view(self, name: str) -> ViewTables:
        """Return the tables read as a view: ``classical``, ``stalemate-wins`` or ``lasker``.

        The view can be used as long as this tablebase is open.

        >>> import chess, tbgen
        >>> with tbgen.open_tablebase("data") as tables:  # doctest: +SKIP
        ...     print(tables.view("classical").probe_dtm(chess.Board("8/8/8/8/8/8/8/K2kr3 w - - 0 1")))
        -10

        :raises UsageError: if no view has that name.
        """
        self._library.require_open()
        view = View(name)
        return (ClassicalTables if view is View.CLASSICAL else ViewTables)(self, self._values, view)

    def table(self, material: Material | str, scratch: str | PathLike[str] | None = None) -> "PositionTable":
        """Return all positions of one table, for research and training.

        A packed table is first unpacked to a plain copy, which is kept until the tablebase is closed. With
        five men and no pawns, unpacking takes about a minute and 4 GiB of memory.

        :param scratch: the directory for the copy; by default that of the table or, if it cannot be written,
            the system's directory for temporary files.

        >>> import tbgen
        >>> with tbgen.open_tablebase("data") as tables:  # doctest: +SKIP
        ...     stalemates = tables.table("KBvK").positions(value="G0.5", depth=range(10, 20))
        ...     print(len(stalemates), stalemates.board(0).fen())
        315 8/8/8/8/8/8/8/2K1Bk2 w - - 0 1

        :raises UsageError: if the text does not name a material.
        :raises MissingTableError: if the table has not been built.
        :raises DamagedTableError: if the table's file cannot be used.
        """
        from tbgen.probe.positions import PositionTable

        require_type("scratch", scratch, str | PathLike | None, "a directory")
        plain = self._library.plain(_material(material), None if scratch is None else Path(scratch))
        return PositionTable(self, self._library, plain.info, self._array_probes)


def _material(material: Material | str) -> Material:
    return material if isinstance(material, Material) else Material.parse(material)


def _castling_lookup(values: Values) -> CastlingLookup:
    from tbgen.probe.castling import CastlingSolver  # imports numba, which plain tables do not need

    return CastlingSolver(values).goal


def _refuse_castling(board: chess.Board, accrued: Code) -> NoReturn:
    raise PositionError(
        f"{board.fen()} has castling rights, and the tables were opened with castling=False: write - for the "
        "rights if they do not matter"
    )


def open_tablebase(
    *directories: str | PathLike[str] | None,
    rules: Variant | str = "r",
    cache_bytes: int = CACHE_BYTES,
    depths: bool = False,
    check: bool = False,
    castling: bool = True,
) -> Tablebase:
    """Open the given directories of tables; by default, the directory ``$TBGEN_DIR``, else ``data``.

    The directory ``data`` need not exist: every table is then missing. Files are opened when they are needed.
    Use the tablebase as a context manager.

    :param directories: directories of tables. Each table is read from the first directory that contains it.
    :param rules: the variant that the tables are for: ``r``, or ``wg`` for whole-game mobility.
    :param cache_bytes: maximum number of bytes of decoded chunks to keep.
    :param depths: whether to compute the depths that packed tables do not store: those of states that are not
        fresh. This may take minutes and several GiB of memory for each accrued score; the depths are kept
        beside the table. If False, these depths are None.
    :param check: whether to compare each table with its digest when its file is opened. This reads the whole
        file. Otherwise a file that was altered together with its checksums is not noticed; ``tbgen verify``
        also proves that the values are right.
    :param castling: whether to solve positions with castling rights, which no table holds. This takes seconds
        and much memory. If False, looking up such a position raises a :class:`UsageError`.

    :raises UsageError: if a directory, passed or named by ``$TBGEN_DIR``, does not exist, or the rules are
        unknown.
    :raises TypeError: if an argument has a wrong type.
    """
    require_whole("number of bytes", cache_bytes, 0)
    for noun, value in ("depths", depths), ("check", check), ("castling", castling):
        require_truth(noun, value)
    for directory in directories or (os.environ.get("TBGEN_DIR") or None,):
        require_type("a directory", directory, str | PathLike | None, "paths, one argument for each")
        if directory is not None and not os.path.isdir(directory):
            name = os.fspath(directory) or "with an empty name"
            note = " (it is a file)" if os.path.exists(directory) else ""
            raise UsageError(f"there is no directory {name}{note}: give those in which tables were built")
    return Tablebase(
        *directories, rules=rules, cache_bytes=cache_bytes, depths=depths, check=check, castling=castling
    )
