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
    """A game with the moves of chess whose values are a function of those of r-mobility."""

    CLASSICAL = "classical"
    """Win, draw or loss, without the 50-move rule."""
    STALEMATE_WINS = "stalemate-wins"
    """Stalemate wins as mate does."""
    LASKER = "lasker"
    """Stalemate gives 3/4 of the point, as Emanuel Lasker proposed."""

    @classmethod
    def parse(cls, text: str) -> "View":
        """Read the name of a view.

        :raises UsageError: if there is none of that name.
        """
        return cls(text)

    def points(self, value: GScore) -> Points:
        """Return what the game of the view gives where r-mobility gives a score.

        >>> View.LASKER.points(GScore("-G0.5"))
        Points(white=0.25, black=0.75)
        """
        shares = _HOLDERS_SHARE[self]
        share = shares[value.rank] if value.rank < len(shares) else 0.5
        return Points(share, 1 - share) if value.white else Points(1 - share, share)

    def depth(self, value: GScore, depth: int | None) -> int | None:
        """Return the plies to mate of a value with its depth, 0 without; None in views that know none."""
        mate = 0 if value.rank else depth
        return mate if self is View.CLASSICAL else None


_HOLDERS_SHARE: Final = {
    View.CLASSICAL: (1.0, 0.5),
    View.STALEMATE_WINS: (1.0, 1.0),
    View.LASKER: (1.0, 0.75),
}
"""Points of the holder of rank 0, and of rank 1."""

BATCH: Final = 65536
"""Positions that are looked up together: the more, the fewer chunks are decoded twice."""

MOVES_BATCH: Final = 2048
"""Positions whose moves are looked up together."""
_FEW: Final = 8
"""Positions that are looked up one by one: to sort them takes longer than it saves."""

Question: TypeAlias = tuple[AnyPosition, AnyScore]


def questions(
    positions: Iterable[AnyPosition], accrued: Iterable[AnyScore] | Fresh | None
) -> Iterator[Question]:
    """Pair positions with their accrued scores, lazily.

    :raises TypeError: if one position or one score is given in the place of many.
    :raises UsageError: at the end of the shorter, if there are more positions or more accrued scores.
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

    :raises UsageError: at the end of the shorter.
    """
    ended: Any = object()
    for number, (position, score) in enumerate(zip_longest(positions, accrued, fillvalue=ended)):
        if position is ended or score is ended:
            few, many = ("positions", "accrued scores")[:: 1 if position is ended else -1]
            raise UsageError(f"there are more {many} than {few}, which are {number}: give as many")
        yield position, score


def probe(values: Values, position: AnyPosition, accrued: AnyScore) -> ProbeResult:
    """Return what :meth:`tbgen.Tablebase.probe` does, and raise as it does."""
    _, state = state_of(position, accrued, values.variant)
    return result_of(state, values.of(state))


def probe_many(
    values: Values, asked: Iterator[Question], size: int = BATCH
) -> Iterator[ProbeResult | TbgenError]:
    """Yield results or errors in the order of the questions, ``size`` of them read ahead."""
    while first := list(islice(asked, min(size, _FEW + 1))):
        if len(first) <= _FEW:
            for question in first:
                yield result_or_error(probe, values, *question)
            continue
        # Without the boards, which take much more room.
        batch = chain(first, islice(asked, size - len(first)))
        states = [_state(*question, values.variant) for question in batch]
        for state, found in zip(states, values.of_many(states), strict=True):
            if isinstance(state, TbgenError):
                yield state
            else:
                yield found if isinstance(found, TbgenError) else result_of(state, found)


def moves_many(
    values: Values, asked: Iterator[Question], size: int = MOVES_BATCH
) -> Iterator[list[RankedMove] | TbgenError]:
    """Yield ranked moves or errors in the order of the questions, ``size`` of them read ahead."""
    while batch := list(islice(asked, size)):
        yield from _moves_of_batch(values, batch)


def _moves_of_batch(values: Values, batch: list[Question]) -> Iterator[list[RankedMove] | TbgenError]:
    about = [result_or_error(state_of, *question, values.variant) for question in batch]
    reached = [
        []
        if isinstance(asked, TbgenError) or asked[1].position.terminal
        else reached_by(asked[0], asked[1].accrued, values.variant)
        for asked in about
    ]
    found = iter(values.of_many([successor.state for after in reached for successor in after]))
    for asked, after in zip(about, reached, strict=True):
        valued = list(islice(found, len(after)))
        known = [value for value in valued if not isinstance(value, TbgenError)]
        if isinstance(asked, TbgenError):
            yield asked
        elif len(known) < len(valued):
            yield next(value for value in valued if isinstance(value, TbgenError))
        else:
            board, state = asked
            yield ranked_moves(board, order(board, state.accrued, after, known))


def _state(given: AnyPosition, accrued: AnyScore, variant: Variant) -> State | TbgenError:
    about = result_or_error(state_of, given, accrued, variant)
    return about if isinstance(about, TbgenError) else about[1]


class ViewValue:
    """What a view says a position is worth."""

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
    """What a view says about a position.

    :ivar view: the view that says so.
    :ivar material: canonical one, in either colouring.
    :ivar points: the result under best play of both sides; exact.
    :ivar depth: ``classical``: plies to mate, 0 in a draw. Other views: None.
    """

    view: View
    material: Material
    points: Points
    depth: int | None


@dataclass(frozen=True, slots=True)
class ViewMove(ViewValue, MoveWithSan):
    """A legal move, valued as the position it leads to.

    :ivar move: the move.
    :ivar san: the move in short algebraic notation.
    :ivar points: what best play gives after it; exact.
    :ivar depth: ``classical``: plies to mate from the position it leads to, 0 in a draw. Other views: None.
    :ivar zeroing: whether it is a capture or a pawn move.
    :ivar position_score: the own G-score of the position it leads to; rank 0 is mate, rank 1 stalemate.
    """

    move: chess.Move
    san: str
    points: Points
    depth: int | None
    zeroing: bool
    position_score: GScore


class ViewTables:
    """The tables of a tablebase as a view shows them; get it from :meth:`tbgen.Tablebase.view`. It pickles as
    the tablebase does.

    Positions are given as to the tablebase: a board or a FEN. No view knows an accrued score.
    """

    def __init__(self, tables: "Tablebase", values: Values, view: View) -> None:
        self._tables, self._values = tables, values
        self.view = view

    def __reduce__(self) -> tuple[Any, ...]:
        return methodcaller("view", str(self.view)), (self._tables,)

    def __repr__(self) -> str:
        return f"<{self.view} view of {self._tables!r}>"

    def probe(self, board: AnyPosition) -> ViewResult:
        """Return what best play gives.

        >>> import tbgen
        >>> with tbgen.open_tablebase("data") as tables:  # doctest: +SKIP
        ...     print(tables.view("lasker").probe("6k1/8/5K2/5B2/8/8/8/8 b - - 0 1").points)
        Points(white=0.75, black=0.25)

        Raises as :meth:`tbgen.Tablebase.probe` does.
        """
        return self._seen(self._tables.probe(board, FRESH))

    def get(self, board: AnyPosition) -> ViewResult | None:
        """Return what :meth:`probe` does, or None where :meth:`tbgen.Tablebase.get` does."""
        found = self._tables.get(board, FRESH)
        return None if found is None else self._seen(found)

    def probe_many(self, boards: Iterable[AnyPosition]) -> Iterator[ViewResult | TbgenError]:
        """Yield what :meth:`probe` returns for each position, or the error it raises, in order."""
        found = self._tables.probe_many(boards, FRESH)
        return (result if isinstance(result, TbgenError) else self._seen(result) for result in found)

    def moves(self, board: AnyPosition) -> list[ViewMove]:
        """Return all legal moves, best first; raises as :meth:`probe` does.

        Among moves worth as much, mates that are near come before far ones, and far losses before near ones;
        then r-mobility decides.
        """
        asked, state = state_of(board, FRESH, self._values.variant)
        if state.position.terminal:
            return []
        # Nothing that has accrued, so that every move is worth the fresh value of the position it leads to.
        found = successors(self._values, asked, Signed(MAX_RANK))
        return [self._seen_move(move) for move in ranked_moves(asked, found)]

    def _seen(self, result: ProbeResult) -> ViewResult:
        points, depth = self.view.points(result.value), self.view.depth(result.value, result.depth)
        return ViewResult(self.view, result.material, points, depth)

    def _seen_move(self, move: RankedMove) -> ViewMove:
        points, depth = self.view.points(move.value), self.view.depth(move.value, move.depth)
        return ViewMove(move.move, move.san, points, depth, move.zeroing, move.position_score)


class ClassicalTables(ViewTables):
    """Classical chess, which can stand in for the tablebase of :mod:`chess.gaviota`.

    Its ``probe_`` methods raise a KeyError, as python-chess does: a :class:`~tbgen.errors.MissingTableError`
    for a table that has not been built, a :class:`~tbgen.errors.PositionError` for a position that tables do
    not hold. Its ``get_`` methods return the default there.
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

        0 stands for a draw, and for a side to move that is mated already.

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
                "the plies to mate are not known with castling rights where tables are packed: write - for "
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
        """Tell whether the side to move is mated by best play, None in a draw; and in how many plies,
        None if that is not known."""
        try:
            found = self._tables.probe(board, FRESH)
        except UsageError as error:
            raise PositionError(str(error)) from None
        if found.value.rank:
            return None, 0
        return found.value.white == found.position_score.white, found.depth  # the mover's


class Tablebase:
    """Values, moves and lines of positions from the tables of some directories; safe for threads.

    Get it from :func:`open_tablebase`. A copy by pickle, as for the processes of a pool, opens the same
    directories anew.

    A position is a board, or a FEN of six or seven fields. The accrued score that counts is the one that is
    given, as a G-score or as text; else the seventh field of a FEN, unless its halfmove clock is 0; else what
    the moves that a board remembers have brought (``board.move_stack``). Without any of these, and with
    ``tbgen.FRESH``, it is the position's own. Whatever counts, the position's own score is folded in, and the
    answer says which one it was. In mate and stalemate and, in r-mobility, where an en passant capture is
    legal (such a position is the first after a reset) it is the position's own.

    :param directories: where tables lie, searched in this order; none of them, or None, for that of
        ``$TBGEN_DIR``, else ``data``.
    :param rules: the variant that the tables are for: ``r``, or ``wg`` for whole-game mobility.
    :param max_open_files: most table files to keep open.
    :param cache_bytes: most bytes of decoded chunks to keep.
    :param depths: whether to make the depths of accrued scores that tables do not store, score by score,
        which may take minutes and some GiB of memory each time; without, these depths are None.

    :ivar directories: where the tables lie, in the order in which they are searched.
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
        given = [directory for directory in directories if directory is not None]
        kind: type[Values] = Values
        if depths:
            from tbgen.probe.depths import DeepValues

            kind = DeepValues
        self._values = kind(
            given,
            variant=Variant.parse(rules),
            max_open=max_open_files,
            cache_bytes=cache_bytes,
            rights=_rights_goal,
        )
        self.directories: Final = self._values.directories
        self.directory: Final = self.directories[0]
        self.rules: Final = self._values.variant
        self._again: Final = partial(
            type(self),
            *given,
            rules=rules,
            max_open_files=max_open_files,
            cache_bytes=cache_bytes,
            depths=depths,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return self._again, ()

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

        :raises UsageError: if tables hold no such position, or the accrued score means nothing.
        :raises TypeError: if the arguments are no board or text, and no G-score or text.
        :raises MissingTableError: if the table has not been built.
        :raises DamagedTableError: if its file cannot be used.
        """
        return probe(self._values, position, accrued)

    def get(self, position: AnyPosition, accrued: AnyScore = None) -> ProbeResult | None:
        """Return what :meth:`probe` does, or None where there is no value to have.

        These are positions that no table can hold (too many men, nothing legal) and those whose table has not
        been built.

        :raises UsageError: if a text is no FEN, or the accrued score means nothing.
        :raises TypeError: if the arguments are no board or text, and no G-score or text.
        :raises DamagedTableError: if the table's file cannot be used.
        """
        board, told = read(position, accrued, self._values.variant)
        try:
            validate(board)
        except UsageError:
            return None
        state = locate_state(board, told, self._values.variant)
        try:
            return result_of(state, self._values.of(state))
        except MissingTableError as error:
            if error.material != state.position.shape.material.name:
                raise  # the table is there, but not what a layer of it rests on
            return None

    def moves(self, position: AnyPosition, accrued: AnyScore = None) -> list[RankedMove]:
        """Return all legal moves, best first, with value and depth of the states they lead to.

        Of moves with one value, those come first that reach it sooner if the mover prefers it to the accrued
        score, and later if not; then, by UCI and in no order of depth, those whose depth is not stored.

        Raises as :meth:`probe` does, also for a missing table that only some of the moves lead to.
        """
        board, state = state_of(position, accrued, self._values.variant)
        if state.position.terminal:
            return []
        return ranked_moves(board, successors(self._values, board, state.accrued))

    def best_move(self, position: AnyPosition, accrued: AnyScore = None) -> chess.Move | None:
        """Return the first of :meth:`moves`, None in mate and stalemate.

        It keeps the value; that the value is also reached takes depths, which not all tables store: to
        play on with an accrued score, take :meth:`next_move`, open them with ``depths=True``, or follow
        :meth:`line`.

        >>> import chess, tbgen
        >>> board = chess.Board("8/8/8/4KBk1/8/8/8/8 b - - 0 1")
        >>> with tbgen.open_tablebase("data") as tables:  # doctest: +SKIP
        ...     board.push(tables.best_move(board))
        """
        return next((ranked.move for ranked in self.moves(position, accrued)), None)

    def next_move(
        self, position: AnyPosition, accrued: AnyScore = None, *, patience: Callable[[], bool]
    ) -> RankedMove | None:
        """Return the move that best play begins with, for play move by move.

        It is the first of :meth:`moves`, or, where tables do not store all depths that this takes, one that
        is found by looking ahead for as long as the caller waits.

        :param patience: tells, every some tenths of a second, whether to go on looking.

        :returns: None in mate and stalemate, and if patience has come to its end.

        Raises as :meth:`probe` does.
        """
        board, state = state_of(position, accrued, self._values.variant)
        return next_move(self._values, board, state, patience)

    def line(self, position: AnyPosition, accrued: AnyScore = None) -> list[LinePly]:
        """Return best play of both sides up to the ply at which the accrued score is the value.

        Depths that tables do not store it finds by looking some plies ahead, and where that takes too long,
        by layers if the tablebase was opened with ``depths=True``.

        :raises MissingLayerError: if it was not.

        Raises as :meth:`probe` does.
        """
        board, state = state_of(position, accrued, self._values.variant)
        return best_line(self._values, board, state)

    def probe_many(
        self, positions: Iterable[AnyPosition], accrued: Iterable[AnyScore] | Fresh | None = None
    ) -> Iterator[ProbeResult | TbgenError]:
        """Yield what :meth:`probe` returns for each position, in order; faster, above all where chunks are
        cold.

        The error that :meth:`probe` would raise about a position is yielded in the place of its result, and
        the others go on. Positions are read ahead by thousands, so the iterables may be endless, but must not
        wait for the answers.

        :param accrued: as many accrued scores as positions, each as in :meth:`probe`; None for what each
            position tells, ``tbgen.FRESH`` for none.

        >>> import chess, tbgen
        >>> with tbgen.open_tablebase("data") as tables:  # doctest: +SKIP
        ...     for result in tables.probe_many(["8/8/8/2K3k1/8/8/8/8 w - - 0 1", chess.Board()]):
        ...         print(result if isinstance(result, tbgen.TbgenError) else result.value)
        -G8.5
        the position has 32 men; tables have at most 5, kings included

        :raises TypeError: if an argument is no board or text, and no G-score or text.
        :raises UsageError: at the end of the shorter, if there are more positions or more accrued scores.
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
        """Return values and depths of many positions with the same men, which have no rights to castle or to
        capture en passant.

        Plain tables are loaded into memory as a whole, 10 to 90 MiB each; half a GiB of them is kept. Large
        batches take as many threads as the process may use processors, up to eight: ``taskset -c 0 python``
        leaves it one.

        :param men: letters as in a FEN, White's in upper case, in any order: one for each column of squares.
        :param squares: whole numbers, shape (n, men): a1 = 0 to h8 = 63.
        :param side: whole numbers or bools, shape (n,): 0 with White to move, 1 with Black to move (the turn
            of a board of python-chess is the other way round).
        :param accrued: whole numbers, shape (n,): table codes of accrued scores (``GScore.code``: the rank of
            White's, 255 minus the rank of Black's), 127 for none, and for those with a rank above 126, beyond
            which no table has values. None for none at all.
        :returns: codes of the values, uint8 (n,), 127 where the men cannot stand so; and depths in plies,
            int32 (n,), -1 there and where the table does not store them.

        >>> import tbgen
        >>> with tbgen.open_tablebase("data") as tables:  # doctest: +SKIP
        ...     tables.probe_arrays("KBk", [[36, 37, 38]], [1])
        (array([3], dtype=uint8), array([4], dtype=int32))

        :raises UsageError: if an argument has another shape or numbers out of range, or an accrued score
            ends a game that goes on.
        :raises TypeError: if an argument is of another type.
        :raises MissingTableError: if the table of the men, or one that it rests on, has not been built.
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
        """Return the tables as classical chess or one of its kin has them: ``classical``, ``stalemate-wins``
        or ``lasker``. They are open for as long as this tablebase is.

        >>> import chess, tbgen
        >>> with tbgen.open_tablebase("data") as tables:  # doctest: +SKIP
        ...     print(tables.view("classical").probe_dtm(chess.Board("8/8/8/8/8/8/8/K2kr3 w - - 0 1")))
        -10

        :raises UsageError: if there is no such view.
        """
        view = View.parse(name)
        return (ClassicalTables if view is View.CLASSICAL else ViewTables)(self, self._values, view)

    def table(self, material: Material | str) -> "PositionTable":
        """Return all positions of one table, for research and training.

        A packed table is unpacked to a plain copy first, which lies beside it until the tablebase is closed.
        For one of five men without pawns that takes some 4 GiB of memory and a minute.

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

        named = material if isinstance(material, Material) else Material.parse(material)
        return PositionTable(self, self._values.plain_table(named), self._arrays)


def _rights_goal(values: Values) -> RightsGoal:
    from tbgen.probe.castling import CastlingSolver  # takes numba, which plain tables do without

    return CastlingSolver(values).goal


def open_tablebase(
    *directories: str | PathLike[str] | None,
    rules: Variant | str = "r",
    cache_bytes: int = CACHE_BYTES,
    depths: bool = False,
) -> Tablebase:
    """Open directories of tables: the given ones, else that of ``$TBGEN_DIR``, else ``data``.

    The tables are those for ``rules``: ``r``, or ``wg`` for whole-game mobility. Files are opened when they
    are needed. Use it as a context manager.

    :param directories: where tables lie; the first one that has a table counts.
    :param cache_bytes: most bytes of decoded chunks to keep.
    :param depths: whether to make the depths of accrued scores that packed tables do not store, which may
        take minutes and some GiB of memory for each score, kept beside the table. Without, they are None.

    :raises UsageError: if a directory that is given, or named by ``$TBGEN_DIR``, is none, or there are no
        such rules.
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
