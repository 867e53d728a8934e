"""What is proved about a state: by forcing moves, and in the cells of one set of mobile men after another."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import chess

from tbgen.beyond.budget import Budget, Stop
from tbgen.beyond.exit_sources import Answer
from tbgen.beyond.forcing import Attackers, ForcingProof
from tbgen.beyond.gaps import Gap, Gaps, Narrowing
from tbgen.beyond.ledger import ForwardProof
from tbgen.beyond.lines import Hold, Line, Lines, Plan, holds
from tbgen.beyond.search import Search
from tbgen.board.rules import position_score
from tbgen.board.score import GScore, Signed, code_of, to_gscore
from tbgen.board.scoring import ProvedValue, ScoreInterval
from tbgen.cells.bounds import ENDS, LOWER, UPPER, WORST, NoCodeError
from tbgen.cells.cell import MOST_MOBILE
from tbgen.cells.window import Interval
from tbgen.errors import build_command

if TYPE_CHECKING:  # not needed without proofs
    from tbgen.beyond.proof import Prover

_OF_GAPS: Final = 64**2
"""Slots of the largest cells whose layers are made to explain gaps..."""
_OF_PLANS: Final = 64**3
"""...and to show plans: a few, each in a fraction of a second."""


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

    @property
    def bounds(self) -> ScoreInterval:
        """Both ends."""
        return ScoreInterval(self.lower, self.upper)


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
    :ivar stopped_by: why the ends do not meet; None if they do.
    :ivar missing: the tables that might narrow an interval, and are not there: names of their materials,
        but for those that others rest on.
    :ivar build: the shell command that builds all of them; empty if none is missing.
    :ivar mobile: the men that are mobile in the cell which proves the lower end, and in that of the upper
        end; none for an end that is proved by forcing moves.
    :ivar forcing: whether the lower end is proved by forcing moves of White, and whether the upper end is by
        those of Black.
    :ivar holds: how one man holds another, if the ends are proved with one mobile man of each side, and the
        mobile men were chosen.
    :ivar plans: how play begins that shows the lower and the upper end; the same, which is best play, if the
        value is known from cells. A plan has a dozen plies at most, and ends before where much work would
        have to tell more. Empty where tables answer, and where an end is all that there could be.
    :ivar gaps: the moves that keep the ends apart, those of most positions first.
    :ivar narrowing: what the cells take that would tell more of the gaps; None if there are none.
    :ivar proof: what has been proved forward; None if that was not asked for.
    :ivar line: best play of both sides up to where the accrued score is the value, or where Syzygy files
        alone go on; if the value is proved by forcing moves, play that shows it. None if it was not asked
        for, if only an interval is known, or if it takes depths that tables do not store.
    :ivar lines: play that shows the ends of an interval, lower end first: White as he proves the lower end,
        or Black the upper one, against the replies that concede least; up to where the accrued score is that
        end, or where nothing more is known; where that side proves it by forcing moves, until a position
        comes about again. None if they were not asked for, or the value is known.
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

    @property
    def value(self) -> GScore | None:
        """The value, if it is known exactly."""
        return self.lower if self.lower == self.upper else None

    @property
    def proved(self) -> ProvedValue:
        """Interval and depth."""
        return ProvedValue(ScoreInterval(self.lower, self.upper), self.depth)


class Collection:
    """What forcing moves, and searches with several sets of mobile men, have proved of one state: the best of
    each.

    :param accrued: the accrued score, up to G63.0.
    :param budget: what is allowed.
    :param with_holds: whether to find out how one man holds another.
    :param all_fit: whether memory lets all sets be tried.
    """

    def __init__(
        self, board: chess.Board, accrued: Signed, budget: Budget, with_holds: bool, all_fit: bool
    ) -> None:
        self._board, self._budget, self._with_holds = board, budget, with_holds
        self._score, self.accrued = to_gscore(accrued), code_of(accrued)
        self._stops = {Stop.NOTHING_LEFT if all_fit else Stop.MEMORY}
        self.interrupt: KeyboardInterrupt | None = None
        """What has interrupted a search."""
        self.answer = Answer(WORST)
        self._moves: dict[chess.Move, Answer] = {}
        self._holds: list[tuple[Hold, ...]] = [(), ()]
        self.found: list[Search] = []
        """The searches that prove the lower and the upper end, where forcing moves prove no more."""
        self._refused: NoCodeError | None = None
        """Why no cell was solved."""
        self._forcing: list[ForcingProof | None] = [None, None]
        """The forcing moves that prove the lower and the upper end."""
        self.cells = 0
        """How many cells were solved."""

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """Let an interrupt end what is done, and take note of it."""
        try:
            yield
        except KeyboardInterrupt as interrupt:
            self.interrupt = interrupt
            self._stops.add(Stop.INTERRUPT)

    def add(self, search: Search) -> None:
        """Run a search, unless everything is known or there was an interrupt, and take what it proves, also
        if it is interrupted.

        A cell that is refused leaves what is known without it.
        """
        over, stop, refused = search.given.over, None, None
        with self._interruptible():
            try:
                if not (over or self.interrupt or self.answer.value.exact):
                    stop = search.run()
            except NoCodeError as error:
                refused = error
            search.tell()
        self._refused = refused if not self.found or self._refused else None
        self._stops |= {stop} if stop else set()
        self.cells += search.solved
        found = search.answer()
        before, first = self.answer, not self.found
        self.answer = before.within(found)
        better = [end for end in ENDS if before.value[end] != self.answer.value[end] or found.value.exact]
        self.found = self.found or [search for _ in ENDS]
        held = holds(search) if (better or first) and self._with_holds else ()
        for end in ENDS if first else better:
            self.found[end] = search
            if end in better:
                self._forcing[end] = None
            if self._forcing[end] is None:
                self._holds[end] = tuple(hold for hold in held if hold.holder == (end == LOWER))
        for step in () if over else search.steps():
            answer = search.answer(step)
            self._moves[step.move] = self._moves.get(step.move, answer).within(answer)
        search.layers.release()

    def attack(
        self,
        attackers: Attackers,
        tell: Callable[[], object],
        prover: "Prover | None",
        *options: Any,
        take: bool = True,
    ) -> None:
        """Let both sides look for bounds by forcing moves, unless everything is known; an interrupt ends it.

        :param tell: called after each turn.
        :param prover: proves what is found.
        :param options: those of :meth:`tbgen.beyond.forcing.Attackers.turns`.
        :param take: whether to take now what is proved.
        """
        with self._interruptible():
            for _ in () if self.interrupt or self.answer.value.exact else attackers.turns(*options):
                if take:
                    self._take_forcing(attackers, prover)
                    tell()
                    if self.answer.value.exact:
                        break
        if take:
            with self._interruptible():
                self._take_forcing(attackers, prover)

    def _take_forcing(self, attackers: Attackers, prover: "Prover | None") -> None:
        for proof in attackers.proofs.values():
            end = LOWER if proof.white else UPPER
            known = Answer(Interval(*(proof.bound if each == end else WORST[each] for each in ENDS)))
            before, after = self.answer, self.answer.within(known)
            if before.value[end] == after.value[end]:
                continue
            if prover is not None:
                prover.forcing(self._board, self._score, proof)
            self.answer, self._forcing[end], self._holds[end] = after, proof, ()
            for move in proof.moves():
                self._moves[move] = self._moves.get(move, known).within(known)

    def finish(self, attackers: Attackers | None) -> None:
        """Take note of what there was too little of.

        :raises NoCodeError: if all cells were refused, nothing else was proved, and more of the budget would
            not help.
        """
        shortage = None if attackers is None else attackers.shortage
        if shortage is not None:
            self._stops.add(shortage)
        elif self._refused is not None and self.answer.value == WORST and self.interrupt is None:
            raise self._refused

    def solution(self, line: bool) -> Solution:
        """Return all that is proved, with lines if they are asked for."""
        board, answer = self._board, self.answer
        ranked = sorted(self._moves.items(), key=lambda each: _order(each[1], board.turn))
        moves = tuple(
            SolvedMove(move.uci(), board.san(move), board.is_zeroing(move), *scores(after.value), after.depth)
            for move, after in ranked
        )
        lower, upper = (
            () if proof else tuple(chess.scan_forward(search.given.mobile))
            for search, proof in zip(self.found, self._forcing, strict=True)
        )
        own, accrued = position_score(board), GScore.from_code(self.accrued)
        exact, tables = answer.value.exact, self.found[LOWER].known.tables
        missing = () if exact else tuple(material.name for material in tables.missing)
        solution = Solution(
            *(own, accrued, *scores(answer.value), answer.depth, moves, self.cells),
            stopped_by=None if exact else self._stopped_by(missing),
            missing=missing,
            build=build_command(missing, tables.tablebase.directory) if missing else "",
            mobile=(lower, upper),
            forcing=(self._forcing[LOWER] is not None, self._forcing[UPPER] is not None),
            holds=(*self._holds[LOWER], *self._holds[UPPER]),
        )
        solution = replace(self._explained(solution), plans=self._plans(solution))
        if not line:
            return solution
        self._make_layers(64**MOST_MOBILE)
        lines = self._lines(solution)
        if exact:
            shown = next((end for end in ENDS if self._forcing[end] is not None), LOWER)
            return replace(solution, line=lines.line(shown))
        return replace(solution, lines=(lines.line(LOWER), lines.line(UPPER)))

    def _lines(self, solution: Solution) -> Lines:
        exact = solution.value is not None and not any(self._forcing)
        return Lines(self.found, self.accrued, self._forcing, exact=exact)

    def _plans(self, solution: Solution) -> tuple[Plan, Plan]:
        """Return how both ends are shown, as far as that takes no more work."""
        self._make_layers(_OF_PLANS)
        lines = self._lines(solution)
        lower, upper = (() if self.answer.value[end] == WORST[end] else lines.plan(end) for end in ENDS)
        return lower, upper

    def _make_layers(self, largest: int) -> None:
        """Let layers be made of cells of up to so many slots."""
        for search in self.found:
            search.layers.largest = largest

    def _explained(self, solution: Solution) -> Solution:
        """Return a solution with what keeps its ends apart."""
        if solution.value is not None or self.found[LOWER].given.over:
            return solution
        self._make_layers(_OF_GAPS)
        gaps = Gaps(self.found[LOWER], self._budget.memory, self._budget.threads)
        return replace(solution, gaps=gaps.found(), narrowing=gaps.narrowing())

    def _stopped_by(self, missing: Sequence[str]) -> Stop:
        """Return why the ends do not meet, where these tables are missing."""
        stop = min(self._stops, key=list(Stop).index)
        return Stop.TABLES if missing and stop is Stop.NOTHING_LEFT else stop


def scores(interval: Interval) -> tuple[GScore, GScore]:
    """Return the ends of an interval as scores."""
    return GScore.from_code(interval.lower), GScore.from_code(interval.upper)


def _order(answer: Answer, white: bool) -> tuple[int, int, int]:
    """Sort key of a move: what is surely had from it first, then what may be had."""
    lower, upper = answer.value
    return (lower, upper, answer.depth or 0) if white else (-upper, -lower, answer.depth or 0)
