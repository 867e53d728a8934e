"""The tables as a view shows them: classical chess and its kin."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from operator import methodcaller
from typing import TYPE_CHECKING, Any, Literal, Self

import chess

from tbgen.board.history import FRESH
from tbgen.board.material import Material
from tbgen.board.san import NotedMove
from tbgen.board.score import MAX_RANK, GScore
from tbgen.board.scoring import Points
from tbgen.board.signed import Signed
from tbgen.errors import PositionError, TbgenError, UsageError
from tbgen.probe.moves import RankedMove, ranked_moves, successors
from tbgen.probe.states import AnyPosition, ProbeResult, state_of
from tbgen.probe.values import Values
from tbgen.probe.views import View

if TYPE_CHECKING:
    from tbgen.probe.tablebase import Tablebase


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
class ViewMove(ViewValue, NotedMove):
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
