"""The solution of a state: its value or proved bounds, and what shows them."""

from dataclasses import dataclass

import chess

from tbgen.beyond.budget import Stop
from tbgen.beyond.gaps import Gap, Narrowing
from tbgen.beyond.ledger import ForwardProof
from tbgen.beyond.lines import Hold, Line, Plan
from tbgen.board.score import GScore
from tbgen.board.scoring import ProvedBounds, ScoreInterval
from tbgen.text import plies


@dataclass(frozen=True, slots=True)
class SolvedMove:
    """A move, and the bounds of the state after it.

    :ivar uci: the move in UCI notation.
    :ivar san: the move in short algebraic notation.
    :ivar zeroing: whether it is a capture or a pawn move, which resets the accrued score.
    :ivar lower: lower bound of the value, the score that White is sure of.
    :ivar upper: upper bound of the value, the score that Black is sure of.
    :ivar depth: depth in plies of the state after the move; None if the depth is not proved.
    """

    uci: str
    san: str
    zeroing: bool
    lower: GScore
    upper: GScore
    depth: int | None

    @property
    def bounds(self) -> ScoreInterval:
        """The interval between the bounds."""
        return ScoreInterval(self.lower, self.upper)


@dataclass(frozen=True, slots=True)
class Solution:
    """Everything that is proved about a state.

    :ivar position_score: the position score.
    :ivar accrued: the accrued score, with the position score folded in.
    :ivar lower: lower bound of the value, the score that White is sure of.
    :ivar upper: upper bound of the value, the score that Black is sure of.
    :ivar depth: depth in plies, until the accrued score equals the value; None if the depth is not proved.
    :ivar moves: the legal moves, best first.
    :ivar cells: number of times that a cell was solved. A cell that was solved twice counts twice.
    :ivar stopped_by: the reason why only an interval is proved; None if the value is proved.
    :ivar missing: names of the missing tables that might narrow the interval. Sub-tables of other missing
        tables are left out.
    :ivar build: the shell command that builds all missing tables; empty if none is missing.
    :ivar mobile: the squares of the mobile men in the cell that proves the lower bound, and in the cell that
        proves the upper bound. They are empty for a bound that is proved by forcing moves.
    :ivar forcing: whether the lower bound is proved by forcing moves of White, and whether the upper bound is
        proved by forcing moves of Black.
    :ivar holds: the scores that one man guarantees by blocking another; empty unless each side has one mobile
        man and the caller chose the mobile men.
    :ivar plans: the first plies of the play that proves the lower bound, and those of the play that proves
        the upper bound. Both plans are best play if the value is proved in cells. A plan has at most twelve
        plies. It ends earlier if the next ply would be expensive to find. It is empty if the solution comes
        from tables, and for a bound that always holds.
    :ivar gaps: the kinds of moves that make the bounds differ, the most frequent kind first.
    :ivar narrowing: the cost of the cells that might close the gaps; None if no such cells were found.
    :ivar proof: the numbers of cells and states proved forward; None if no proof was requested.
    :ivar line: best play of both sides until the accrued score equals the value, or until only exit sources
        without depths, such as Syzygy files, have the position. If the value is proved by forcing moves, the
        line shows the value and need not be best play of both sides. It is None if no line was requested, if
        only an interval is proved, or if tables lack the necessary depths.
    :ivar lines: a line that demonstrates the lower bound, and a line that demonstrates the upper bound, if
        only an interval is proved. In the first line White proves the lower bound, in the second line Black
        proves the upper bound. The opponent chooses the replies that concede least. A line ends when the
        accrued score equals the bound, or when nothing more is proved. A line of forcing moves ends when a
        position is repeated. None if no lines were requested or the value is proved.
    :ivar fen: the position.
    """

    position_score: GScore
    accrued: GScore
    lower: GScore
    upper: GScore
    depth: int | None
    moves: tuple[SolvedMove, ...]
    cells: int
    stopped_by: Stop | None = None
    missing: tuple[str, ...] = ()
    build: str = ""
    mobile: tuple[tuple[chess.Square, ...], tuple[chess.Square, ...]] = ((), ())
    forcing: tuple[bool, bool] = (False, False)
    holds: tuple[Hold, ...] = ()
    plans: tuple[Plan, Plan] = ((), ())
    gaps: tuple[Gap, ...] = ()
    narrowing: Narrowing | None = None
    proof: ForwardProof | None = None
    line: Line | None = None
    lines: tuple[Line, Line] | None = None
    fen: str = ""

    def _repr_html_(self) -> str | None:
        """Return the board and the value or the interval, for notebooks; None without a FEN."""
        from tbgen.html.diagrams import board_figure

        depth = "" if self.depth is None else f", {plies(self.depth)}"
        words = f"{self.proved.bounds.description}{depth}; accrued {self.accrued}"
        return board_figure(chess.Board(self.fen), words) if self.fen else None

    @property
    def value(self) -> GScore | None:
        """The value; None if only an interval is proved."""
        return self.lower if self.lower == self.upper else None

    @property
    def proved(self) -> ProvedBounds:
        """The interval and the depth."""
        return ProvedBounds(ScoreInterval(self.lower, self.upper), self.depth)
