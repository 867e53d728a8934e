"""Views, which read the tables as those of other games with the moves of chess, such as classical chess."""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from operator import methodcaller
from typing import Any, Final, Literal, Protocol

import chess

from tbgen.board.material import Material
from tbgen.board.rules import FRESH, Fresh
from tbgen.board.san import MoveWithSan
from tbgen.board.score import MAX_RANK, GScore, Signed
from tbgen.board.scoring import Points
from tbgen.errors import NamedChoice, PositionError, TbgenError, UsageError
from tbgen.probe.moves import RankedMove, ranked_moves, successors
from tbgen.probe.states import AnyPosition, ProbeResult, state_of
from tbgen.probe.values import Values


class View(NamedChoice, noun="a view"):
    """A game that has the moves of chess, and whose values are derived from those of r-mobility."""

    CLASSICAL = "classical"
    """Win, draw or loss; there is no 50-move rule."""
    STALEMATE_WINS = "stalemate-wins"
    """Stalemate is a win, like mate."""
    LASKER = "lasker"
    """Stalemate gives 3/4 of the point, as Emanuel Lasker proposed."""

    def points(self, value: GScore) -> Points:
        """Return the points that a value of r-mobility is worth in this view.

        >>> View.LASKER.points(GScore("-G0.5"))
        Points(white=0.25, black=0.75)
        """
        shares = _HOLDER_SHARES[self]
        share = shares[value.rank] if value.rank < len(shares) else 0.5
        return Points(share, 1 - share) if value.white else Points(1 - share, share)

    def depth(self, value: GScore, depth: int | None) -> int | None:
        """Return the plies to mate for a value and its depth: 0 if the value is not mate; None in views
        other than classical chess."""
        plies = 0 if value.rank else depth
        return plies if self is View.CLASSICAL else None


_HOLDER_SHARES: Final = {
    View.CLASSICAL: (1.0, 0.5),
    View.STALEMATE_WINS: (1.0, 1.0),
    View.LASKER: (1.0, 0.75),
}
"""For each view: the points of the holder of a score of rank 0, and of rank 1."""


class ViewValue:
    """The value of a position in a view."""

    __slots__ = ()
    points: Points

    @property
    def winner(self) -> Literal["white", "black"] | None:
        """The side that gets more than half a point; None if the game is drawn."""
        if self.points.white == self.points.black:
            return None
        return "white" if self.points.white > self.points.black else "black"


@dataclass(frozen=True, slots=True)
class ViewResult(ViewValue):
    """The result of looking up a position in a view.

    :ivar view: the view.
    :ivar material: the canonical material, in which the colours of the position may be swapped.
    :ivar points: the exact points of each side if both play best.
    :ivar depth: in classical chess, the plies to mate (0 in a draw); in other views, None.
    """

    view: View
    material: Material
    points: Points
    depth: int | None


@dataclass(frozen=True, slots=True)
class ViewMove(ViewValue, MoveWithSan):
    """A legal move, with the result in a view of the position that the move leads to.

    :ivar move: the move.
    :ivar san: the move in short algebraic notation.
    :ivar points: the exact points of each side if both play best after the move.
    :ivar depth: in classical chess, the plies to mate after the move (0 in a draw); in other views, None.
    :ivar zeroing: whether the move is a capture or a pawn move.
    :ivar position_score: the position score after the move; rank 0 is mate, rank 1 stalemate.
    """

    move: chess.Move
    san: str
    points: Points
    depth: int | None
    zeroing: bool
    position_score: GScore


class ProbedTables(Protocol):
    """The part of a tablebase that views use; :class:`tbgen.Tablebase` describes the methods."""

    def probe(self, position: AnyPosition, accrued: Fresh) -> ProbeResult:
        """Return the value and the depth of a position."""

    def get(self, position: AnyPosition, accrued: Fresh) -> ProbeResult | None:
        """Return the result of :meth:`probe`, or None if no value is available."""

    def probe_many(
        self, positions: Iterable[AnyPosition], accrued: Fresh
    ) -> Iterator[ProbeResult | TbgenError]:
        """Yield, for each position in order, the result of :meth:`probe` or its error."""

    def close(self) -> None:
        """Close all files."""


class ViewTables:
    """The tables of a tablebase, read as a view. :meth:`tbgen.Tablebase.view` returns this object.

    A position is a board or a FEN, as in the tablebase. Views have no accrued scores. Unpickling opens the
    directories of the tablebase again.
    """

    def __init__(self, tables: ProbedTables, values: Values, view: View) -> None:
        self._tables = tables
        self._values = values
        self.view = view

    def __reduce__(self) -> tuple[Any, ...]:
        return methodcaller("view", str(self.view)), (self._tables,)

    def __repr__(self) -> str:
        return f"<{self.view} view of {self._tables!r}>"

    def probe(self, board: AnyPosition) -> ViewResult:
        """Return the points under best play and, in classical chess, the plies to mate.

        >>> import tbgen
        >>> with tbgen.open_tablebase("data") as tables:  # doctest: +SKIP
        ...     print(tables.view("lasker").probe("6k1/8/5K2/5B2/8/8/8/8 b - - 0 1").points)
        Points(white=0.75, black=0.25)

        Raises as :meth:`tbgen.Tablebase.probe` does.
        """
        return self._view_result(self._tables.probe(board, FRESH))

    def get(self, board: AnyPosition) -> ViewResult | None:
        """Return the result of :meth:`probe`, or None where :meth:`tbgen.Tablebase.get` returns None."""
        result = self._tables.get(board, FRESH)
        return None if result is None else self._view_result(result)

    def probe_many(self, boards: Iterable[AnyPosition]) -> Iterator[ViewResult | TbgenError]:
        """Yield, for each position in order, the result of :meth:`probe` or the error that it raises."""
        results = self._tables.probe_many(boards, FRESH)
        return (result if isinstance(result, TbgenError) else self._view_result(result) for result in results)

    def moves(self, board: AnyPosition) -> list[ViewMove]:
        """Return all legal moves, best first; raise the same errors as :meth:`probe`.

        Among moves with equal points, quick mates precede slow mates, and slow losses precede quick losses.
        All other ties are ordered as in r-mobility.
        """
        valid_board, state = state_of(board, FRESH, self._values.variant)
        if state.position.terminal:
            return []
        # With this neutral accrued score, the value of a move is the fresh value of the position after it.
        moves = successors(self._values, valid_board, Signed(MAX_RANK))
        return [self._view_move(move) for move in ranked_moves(valid_board, moves)]

    def _view_result(self, result: ProbeResult) -> ViewResult:
        points = self.view.points(result.value)
        depth = self.view.depth(result.value, result.depth)
        return ViewResult(self.view, result.material, points, depth)

    def _view_move(self, move: RankedMove) -> ViewMove:
        points = self.view.points(move.value)
        depth = self.view.depth(move.value, move.depth)
        return ViewMove(
            move.move, move.san, points, depth, zeroing=move.zeroing, position_score=move.position_score
        )


class ClassicalTables(ViewTables, AbstractContextManager["ClassicalTables"]):
    """The tables read as classical chess; the object can replace the tablebase of :mod:`chess.gaviota`.

    As in python-chess, the ``probe_`` methods raise a KeyError: a :class:`~tbgen.errors.MissingTableError`
    for a table that has not been built, a :class:`~tbgen.errors.PositionError` for a position that no table
    contains. The ``get_`` methods return the default in these cases.
    """

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the tablebase."""
        self._tables.close()

    def probe_dtm(self, board: AnyPosition) -> int:
        """Return the plies to mate: positive if the side to move mates, negative if it is mated.

        The number is 0 in a draw, and if the side to move is already mated.

        >>> import chess, tbgen
        >>> with tbgen.open_tablebase("data") as tables:  # doctest: +SKIP
        ...     print(tables.view("classical").probe_dtm(chess.Board("8/8/8/8/8/8/8/K2kr3 w - - 0 1")))
        -10

        :raises KeyError: if the probe fails.
        :raises DamagedTableError: if the table's file cannot be used.
        """
        loses, depth = self._loses_and_plies(board)
        if depth is None:
            raise PositionError(
                "the plies to mate are not available with castling rights if tables are packed: write - for "
                "them if they do not matter"
            )
        return -depth if loses else depth

    def probe_wdl(self, board: AnyPosition) -> int:
        """Return 1 if the side to move wins, 0 in a draw, -1 if it loses.

        Raises as :meth:`probe_dtm` does.
        """
        loses, _ = self._loses_and_plies(board)
        return 0 if loses is None else -1 if loses else 1

    def get_dtm(self, board: AnyPosition, default: int | None = None) -> int | None:
        """Return the result of :meth:`probe_dtm`, or the default if :meth:`probe_dtm` raises a KeyError."""
        with suppress(KeyError):
            return self.probe_dtm(board)
        return default

    def get_wdl(self, board: AnyPosition, default: int | None = None) -> int | None:
        """Return the result of :meth:`probe_wdl`, or the default if :meth:`probe_wdl` raises a KeyError."""
        with suppress(KeyError):
            return self.probe_wdl(board)
        return default

    def _loses_and_plies(self, board: AnyPosition) -> tuple[bool | None, int | None]:
        """Return whether the side to move loses (None in a draw), and the plies to mate (None if they are not
        available)."""
        try:
            result = self._tables.probe(board, FRESH)
        except UsageError as error:
            raise PositionError(str(error)) from None
        if result.value.rank:
            return None, 0
        # The side that has just moved holds the position score.
        return result.value.white == result.position_score.white, result.depth
