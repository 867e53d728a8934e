"""The solution of a state, collected from forcing moves and from searches with several sets of mobile men.

Mobile men may move within the cell in which the position is solved (docs/glossary.md).
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import chess

from tbgen.beyond.budget import Budget, Stop
from tbgen.beyond.exit_sources import Answer
from tbgen.beyond.forcing import ForcingProof, ForcingSearches
from tbgen.beyond.gaps import Gap, Gaps, Narrowing
from tbgen.beyond.ledger import ForwardProof
from tbgen.beyond.lines import Hold, Line, LineMaker, Plan, find_holds
from tbgen.beyond.search import Search
from tbgen.board.rules import position_score
from tbgen.board.score import Code, GScore, Signed, code_of, merit, signed_of, to_gscore
from tbgen.board.scoring import ProvedBounds, ScoreInterval
from tbgen.cells.bounds import ENDS, LOWER, UPPER, WORST, UnstorableCellError
from tbgen.cells.cell import MAX_MOBILE
from tbgen.cells.interval import Interval
from tbgen.errors import build_command
from tbgen.probe.moves import preference
from tbgen.text import plies

if TYPE_CHECKING:  # not needed without proofs
    from tbgen.beyond.proof import Prover

_GAP_LAYER_SLOTS: Final = 64**2
"""Maximum number of slots of a cell whose layers are made to explain gaps."""
_PLAN_LAYER_SLOTS: Final = 64**3
"""Maximum number of slots of a cell whose layers are made for plans. A layer takes a fraction of a second."""


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


class BoundsCollector:
    """Collects the best bounds of a state, from forcing moves and from searches with sets of mobile men.

    :param accrued: the accrued score, up to G63.0.
    :param budget: the limits of time, memory and threads for solving.
    :param with_holds: whether to find the scores that one man guarantees by blocking another.
    :param all_fit: whether memory suffices to try all sets of mobile men.
    """

    def __init__(
        self, board: chess.Board, accrued: Signed, budget: Budget, with_holds: bool, all_fit: bool
    ) -> None:
        self._board, self._budget, self._with_holds = board, budget, with_holds
        self._score, self.accrued = to_gscore(accrued), code_of(accrued)
        self._stops = {Stop.NOTHING_LEFT if all_fit else Stop.MEMORY}
        self.interrupt: KeyboardInterrupt | None = None
        """The interrupt that ended the search, if any."""
        self.best = Answer(WORST)
        """The best bounds of the state."""
        self._moves: dict[chess.Move, Answer] = {}
        """The best bounds of the state after each move."""
        self._holds: list[tuple[Hold, ...]] = [(), ()]
        """The holds that belong to the lower bound, and those that belong to the upper bound."""
        self.best_searches: list[Search] = []
        """The search that proves the best lower bound, and the search that proves the best upper bound."""
        self._refusal: UnstorableCellError | None = None
        """The error of the latest search if the cells of all searches so far were refused; else None."""
        self._forcing: list[ForcingProof | None] = [None, None]
        """The forcing moves that prove the lower and the upper bound; None if a search proves the bound."""
        self.solve_count = 0
        """Number of times that a cell was solved."""

    @contextmanager
    def _recording_interrupt(self) -> Iterator[None]:
        """Record an interrupt, which ends the enclosed work."""
        try:
            yield
        except KeyboardInterrupt as interrupt:
            self.interrupt = interrupt
            self._stops.add(Stop.INTERRUPT)

    def run_search(self, search: Search) -> None:
        """Run a search and add its bounds, even if the search is interrupted.

        The search does not run after an interrupt, or if the value has already been proved. If the search's
        cell cannot be solved, only the bounds that are available without the cell are added.
        """
        is_over = search.state.position.is_over
        stop = None
        refusal = None
        with self._recording_interrupt():
            try:
                if not (is_over or self.interrupt or self.best.bounds.exact):
                    stop = search.run()
            except UnstorableCellError as error:
                refusal = error
            search.report()
        self._refusal = refusal if not self.best_searches or self._refusal else None
        self._stops |= {stop} if stop else set()
        self.solve_count += search.solve_count
        answer = search.answer()
        before = self.best
        is_first = not self.best_searches
        self.best = before.intersection(answer)
        better = [end for end in ENDS if before.bounds[end] != self.best.bounds[end] or answer.bounds.exact]
        self.best_searches = self.best_searches or [search for _ in ENDS]
        all_holds = find_holds(search) if (better or is_first) and self._with_holds else ()
        for end in ENDS if is_first else better:
            self.best_searches[end] = search
            if end in better:
                self._forcing[end] = None
            if self._forcing[end] is None:
                self._holds[end] = tuple(hold for hold in all_holds if hold.holder == (end == LOWER))
        for step in () if is_over else search.steps():
            answer = search.answer(step)
            self._moves[step.move] = self._moves.get(step.move, answer).intersection(answer)
        search.layers.stop_keeping_games()

    def run_forcing(
        self,
        searches: ForcingSearches,
        report: Callable[[], object],
        prover: "Prover | None",
        *options: Any,
        add: bool = True,
    ) -> None:
        """Search for bounds by forcing moves of both sides, unless the value has already been proved.

        An interrupt is recorded, and ends the searches.

        :param report: called after each turn of the searches, when its bounds have been added.
        :param prover: proves the bounds that are found.
        :param options: positional arguments of :meth:`tbgen.beyond.forcing.ForcingSearches.turns`.
        :param add: whether to add the bounds. If not, the searches keep them for a later call.
        """
        with self._recording_interrupt():
            for _ in () if self.interrupt or self.best.bounds.exact else searches.turns(*options):
                if add:
                    self._add_forcing_bounds(searches, prover)
                    report()
                    if self.best.bounds.exact:
                        break
        if add:
            with self._recording_interrupt():
                self._add_forcing_bounds(searches, prover)

    def _add_forcing_bounds(self, searches: ForcingSearches, prover: "Prover | None") -> None:
        """Add the bounds that the searches for forcing moves have proved."""
        for proof in searches.proofs.values():
            end = LOWER if proof.white else UPPER
            bounds = Answer(Interval(*(proof.bound if each == end else WORST[each] for each in ENDS)))
            earlier, combined = self.best, self.best.intersection(bounds)
            if earlier.bounds[end] == combined.bounds[end]:
                continue
            if prover is not None:
                prover.prove_forcing(self._board, self._score, proof)
            self.best, self._forcing[end], self._holds[end] = combined, proof, ()
            for move in proof.moves():
                self._moves[move] = self._moves.get(move, bounds).intersection(bounds)

    def finish(self, searches: ForcingSearches | None) -> None:
        """Record the resource whose shortage ended the searches for forcing moves, if any.

        :param searches: the searches for forcing moves; None if there were none.
        :raises UnstorableCellError: if all cells were refused, nothing else was proved, and a larger budget
            would not help.
        """
        shortage = None if searches is None else searches.shortage
        if shortage is not None:
            self._stops.add(shortage)
        elif self._refusal is not None and self.best.bounds == WORST and self.interrupt is None:
            raise self._refusal

    def solution(self, with_line: bool) -> Solution:
        """Return everything that is proved.

        :param with_line: whether to include lines that demonstrate the value or the bounds.
        """
        board, best = self._board, self.best
        sort_key = partial(_move_sort_key, white=board.turn, accrued=self.accrued)
        ranked_moves = sorted(self._moves.items(), key=sort_key)
        moves = tuple(
            SolvedMove(move.uci(), board.san(move), board.is_zeroing(move), *scores(then.bounds), then.depth)
            for move, then in ranked_moves
        )
        lower, upper = (
            () if proof else tuple(chess.scan_forward(search.state.position.mobile))
            for search, proof in zip(self.best_searches, self._forcing, strict=True)
        )
        accrued = GScore.from_code(self.accrued)
        exact = best.bounds.exact
        tables = self.best_searches[LOWER].exits.tables
        missing = () if exact else tuple(material.name for material in tables.missing)
        solution = Solution(
            *(position_score(board), accrued, *scores(best.bounds), best.depth, moves, self.solve_count),
            stopped_by=None if exact else self._stopped_by(missing),
            missing=missing,
            build=build_command(missing, tables.tablebase.directory) if missing else "",
            mobile=(lower, upper),
            forcing=(self._forcing[LOWER] is not None, self._forcing[UPPER] is not None),
            holds=(*self._holds[LOWER], *self._holds[UPPER]),
            fen=board.fen(),
        )
        solution = replace(self._add_gaps(solution), plans=self._plans(solution))
        if not with_line:
            return solution
        self._allow_layers(64**MAX_MOBILE)
        lines = self._line_maker(solution)
        if exact:
            shown_end = next((end for end in ENDS if self._forcing[end] is not None), LOWER)
            return replace(solution, line=lines.line(shown_end))
        return replace(solution, lines=(lines.line(LOWER), lines.line(UPPER)))

    def _line_maker(self, solution: Solution) -> LineMaker:
        exact = solution.value is not None and not any(self._forcing)
        return LineMaker(self.best_searches, self.accrued, self._forcing, exact=exact)

    def _plans(self, solution: Solution) -> tuple[Plan, Plan]:
        """Return the plans for both bounds, each of which ends before a ply that is expensive to find."""
        self._allow_layers(_PLAN_LAYER_SLOTS)
        lines = self._line_maker(solution)
        lower, upper = (() if self.best.bounds[end] == WORST[end] else lines.plan(end) for end in ENDS)
        return lower, upper

    def _allow_layers(self, max_slots: int) -> None:
        """Allow missing layers to be made for cells of at most ``max_slots`` slots."""
        for search in self.best_searches:
            search.layers.max_slots = max_slots

    def _add_gaps(self, solution: Solution) -> Solution:
        """Return a solution with the gaps of its interval, if only an interval is proved."""
        if solution.value is not None or self.best_searches[LOWER].state.position.is_over:
            return solution
        self._allow_layers(_GAP_LAYER_SLOTS)
        gaps = Gaps(self.best_searches[LOWER], self._budget.memory, self._budget.threads)
        return replace(solution, gaps=gaps.gaps(), narrowing=gaps.narrowing())

    def _stopped_by(self, missing: Sequence[str]) -> Stop:
        """Return why only an interval is proved.

        :param missing: names of the missing tables.
        """
        stop = min(self._stops, key=list(Stop).index)
        return Stop.TABLES if missing and stop is Stop.NOTHING_LEFT else stop


def scores(interval: Interval) -> tuple[GScore, GScore]:
    """Return the lower and the upper bound of an interval as scores."""
    return GScore.from_code(interval.lower), GScore.from_code(interval.upper)


def _move_sort_key(
    move_and_answer: tuple[chess.Move, Answer], white: bool, accrued: Code
) -> tuple[int | str, ...]:
    """Return the sort key of a move: the bound that the mover is sure of, then the other bound, and then the
    order of :func:`preference`."""
    move, answer = move_and_answer
    lower, upper = map(signed_of, answer.bounds)
    sure, other = (lower, upper) if white else (upper, lower)
    order = preference(white, signed_of(accrued), sure, answer.depth, move.uci())
    return -merit(sure, white), -merit(other, white), *order
