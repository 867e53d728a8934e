"""What is proved about a state, collected from the cells of one set of mobile men after the other."""

from dataclasses import dataclass, replace

import chess

from tbgen.board.mobility import own_score
from tbgen.board.score import Code, GScore
from tbgen.cells.bounds import ENDS, LOWER, UPPER, WORST, Interval
from tbgen.solve.answer import Answer
from tbgen.solve.hold import Hold, holds
from tbgen.solve.line import Line, Lines
from tbgen.solve.proof import ForwardProof
from tbgen.solve.search import Search


@dataclass(frozen=True, slots=True)
class SolvedMove:
    """A move and what it is worth.

    :ivar uci: the move in UCI notation.
    :ivar san: the move in short algebraic notation.
    :ivar zeroing: whether it is a capture or a pawn move, which resets the accrued score.
    :ivar lower: White gets this at least.
    :ivar upper: White gets this at most.
    :ivar depth: plies from the state after it, if they are known.
    """

    uci: str
    san: str
    zeroing: bool
    lower: GScore
    upper: GScore
    depth: int | None


@dataclass(frozen=True, slots=True)
class Solution:
    """What is proved about a state.

    :ivar position_score: the position's own score.
    :ivar accrued: the accrued score that was taken, with the position's own folded in.
    :ivar lower: White gets this at least.
    :ivar upper: White gets this at most.
    :ivar depth: plies until the accrued score is the value; None if they are not known.
    :ivar moves: best first.
    :ivar cells: how many cells were solved, those solved again counted again.
    :ivar in_budget: whether there was time and memory for all that could be tried.
    :ivar mobile: the men that are mobile in the cell which proves the lower end, and in that of the upper
        end.
    :ivar holds: how one man holds another, if the ends are proved with one mobile man of each side, and the
        mobile men were chosen.
    :ivar proof: what has been proved forward; None if that was not asked for.
    :ivar line: best play of both sides up to where the accrued score is the value, or where Syzygy files
        alone go on; None if it was not asked for, if only an interval is known, or if it takes depths that
        tables do not store.
    :ivar lines: play that shows the ends of an interval, lower end first: White as he proves the lower end,
        or Black the upper one, against the replies that concede least; up to where the accrued score is that
        end, or where nothing more is known. None if they were not asked for, or the value is known.
    """

    position_score: GScore
    accrued: GScore
    lower: GScore
    upper: GScore
    depth: int | None
    moves: tuple[SolvedMove, ...]
    cells: int
    in_budget: bool
    mobile: tuple[tuple[chess.Square, ...], tuple[chess.Square, ...]] = ((), ())
    holds: tuple[Hold, ...] = ()
    proof: ForwardProof | None = None
    line: Line | None = None
    lines: tuple[Line, Line] | None = None

    @property
    def value(self) -> GScore | None:
        """The value, if it is known exactly."""
        return self.lower if self.lower == self.upper else None


class Collection:
    """What searches with several sets of mobile men have proved of one state: what is best of each.

    :param accrued: code of the accrued score.
    :param with_holds: whether to find out how one man holds another.
    :param in_budget: whether the budget lets all sets be tried.
    """

    def __init__(self, board: chess.Board, accrued: Code, with_holds: bool, in_budget: bool) -> None:
        self._board, self.accrued = board, accrued
        self._with_holds, self._in_budget = with_holds, in_budget
        self.answer = Answer(Interval(*WORST))
        self._moves: dict[chess.Move, Answer] = {}
        self._holds: list[tuple[Hold, ...]] = [(), ()]
        self.found: list[Search] = []
        """The searches that prove the lower and the upper end."""
        self.cells = 0
        """How many cells were solved."""

    def add(self, search: Search) -> None:
        """Run a search and take what it proves."""
        over = search.given.over
        self._in_budget &= over or search.run()
        self.cells += search.solved
        before, first = self.answer, not self.found
        self.answer = before.within(search.answer())
        better = [end for end in ENDS if first or before.value[end] != self.answer.value[end]]
        self.found = self.found or [search for _ in ENDS]
        held = holds(search) if better and self._with_holds else ()
        for end in better:
            self.found[end] = search
            self._holds[end] = tuple(hold for hold in held if hold.holder == (end == LOWER))
        for step in () if over else search.steps():
            answer = search.answer(step)
            self._moves[step.move] = self._moves.get(step.move, answer).within(answer)
        search.layers.release()

    def solution(self, line: bool) -> Solution:
        """Return all that is proved, with lines if they are asked for."""
        board, answer = self._board, self.answer
        ranked = sorted(self._moves.items(), key=lambda each: _order(each[1], board.turn))
        moves = tuple(
            SolvedMove(move.uci(), board.san(move), board.is_zeroing(move), *scores(after.value), after.depth)
            for move, after in ranked
        )
        lower, upper = [tuple(chess.scan_forward(search.given.mobile)) for search in self.found] or [(), ()]
        own, accrued = own_score(board), GScore.from_code(self.accrued)
        holds, ends, depth = (*self._holds[LOWER], *self._holds[UPPER]), scores(answer.value), answer.depth
        solution = Solution(
            own, accrued, *ends, depth, moves, self.cells, self._in_budget, (lower, upper), holds
        )
        if not (line and self.found):
            return solution
        lines = Lines(self.found)
        if answer.value.exact:
            return replace(solution, line=lines.exact(self.accrued))
        return replace(solution, lines=(lines.of_end(self.accrued, LOWER), lines.of_end(self.accrued, UPPER)))


def scores(interval: Interval) -> tuple[GScore, GScore]:
    """Return the ends of an interval as scores."""
    return GScore.from_code(interval.lower), GScore.from_code(interval.upper)


def _order(answer: Answer, white: bool) -> tuple[int, int, int]:
    """Sort key of a move: what is surely had from it first, then what may be had."""
    lower, upper = answer.value
    return (lower, upper, answer.depth or 0) if white else (-upper, -lower, answer.depth or 0)
