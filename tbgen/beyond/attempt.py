"""One attempt to solve a state: forcing moves, searches with several sets of mobile men, and the best bounds.

Mobile men may move within the cell in which the position is solved (docs/glossary.md).
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Final

import chess

from tbgen.beyond.budget import Budget, Meter, Stop, memory_needed
from tbgen.beyond.exit_sources import Answer
from tbgen.beyond.forcing import MAX_POSITIONS, QUICK_MAX_POSITIONS, ForcingSearches
from tbgen.beyond.gaps import Gaps
from tbgen.beyond.knowledge import ExitBounds
from tbgen.beyond.lines import EndProof, LineMaker, find_holds
from tbgen.beyond.search import Search
from tbgen.beyond.solution import Solution, SolvedMove
from tbgen.beyond.structures import MobileChoice, mobile_sets_to_try
from tbgen.board.rules import position_score
from tbgen.board.score import (
    MAX_CODED_RANK,
    Code,
    GScore,
    Signed,
    code_of,
    merit,
    rank_of,
    signed_of,
    to_gscore,
)
from tbgen.board.scoring import ScoreInterval
from tbgen.cells import cell_warmup
from tbgen.cells.bounds import ENDS, LOWER, UPPER, WORST, UnstorableCellError
from tbgen.cells.cell import MAX_MOBILE, Cell, CellPosition, CellState, mobile_squares
from tbgen.cells.interval import Interval
from tbgen.errors import build_command
from tbgen.probe.moves import preference
from tbgen.progress import SolveProgress, SolveStage

_FORCING_TIME_SHARE: Final = 1 / 2
"""Share of the time that forcing moves may use before any cell is solved."""
_FORCING_MEMORY_DIVISOR: Final = 8
"""The memory for forcing moves is at most the memory of the budget divided by this number."""
_GAP_LAYER_SLOTS: Final = 64**2
"""Maximum number of slots of a cell whose layers are made to explain gaps."""
_PLAN_LAYER_SLOTS: Final = 64**3
"""Maximum number of slots of a cell whose layers are made for plans. A layer takes a fraction of a second."""
_logger = logging.getLogger(__name__)


class Attempt:
    """Proves bounds of a state, as far as a budget allows.

    The parameters are those of :func:`tbgen.beyond.solver.solve`.

    :param exits: the bounds of all exit sources.
    :ivar interrupt: the interrupt that ended the work; None if there was none.
    :raises UsageError: if the mobile men need more memory than the budget allows.
    :raises UnstorableCellError: if cells cannot store the accrued score.
    """

    def __init__(
        self,
        exits: ExitBounds,
        board: chess.Board,
        accrued: Signed,
        budget: Budget,
        mobile: MobileChoice,
        verify: bool,
        progress: SolveProgress,
    ) -> None:
        self._exits = exits
        self._board = board
        self._budget = budget
        self._progress = progress
        self._with_holds = mobile is not None
        self._with_forcing = mobile in (None, "auto") and position_score(board).rank > 1
        self._sets, all_fit = mobile_sets_to_try(board, budget.memory, mobile)
        if rank_of(accrued) > MAX_CODED_RANK:
            raise UnstorableCellError(Cell.of_board(board, self._sets[0]))
        cell_warmup.ensure_compiled()
        self._score, self._accrued = accrued, code_of(accrued)
        self._meter = Meter(budget)
        self._prover = None
        if verify:
            from tbgen.beyond.proof import Prover  # imports the package verify, which nothing else here needs
            from tbgen.verify.proof import ensure_compiled

            ensure_compiled(_logger.warning)
            self._prover = Prover(exits, self._meter)
        self._stops = {Stop.NOTHING_LEFT if all_fit else Stop.MEMORY}
        self.interrupt: KeyboardInterrupt | None = None
        self._best = Answer(WORST)
        """The best bounds of the state."""
        self._moves: dict[chess.Move, Answer] = {}
        """The best bounds of the state after each move."""
        first = self._make_search(self._sets[0])
        self._is_over = first.state.position.is_over
        self._proofs = [EndProof(first) for _ in ENDS]
        """The proofs of the best lower and upper bound."""
        self._solve_count = 0
        """Number of times that a cell was solved."""

    def _make_search(self, mobile: Sequence[chess.Square]) -> Search:
        root = CellPosition(self._board.copy(stack=False), int(chess.SquareSet(mobile)))
        state = CellState(root, self._accrued)
        return Search(self._exits, state, self._meter, self._report, self._prover)

    def run(self) -> None:
        """Prove bounds until the value is proved, or until the budget is used up. An interrupt ends the work.

        :raises UnstorableCellError: if all cells were refused, nothing else was proved, and a larger budget
            would not help.
        """
        most_mobile = max(map(len, self._sets))
        forcing = None
        if self._with_forcing:
            # If all men are mobile, cells usually prove the same bounds as forcing moves, and depths as well.
            # Otherwise cells may prove little.
            all_mobile = most_mobile == len(list(mobile_squares(self._board)))
            budget = self._budget
            free_bytes = budget.memory - memory_needed(64**most_mobile)
            memory = min(budget.memory // _FORCING_MEMORY_DIVISOR, free_bytes // 2)
            arguments = self._board, self._score, self._exits.tables.fresh_value, self._meter, memory
            forcing = ForcingSearches(*arguments, checks_only=all_mobile)
            limit = QUICK_MAX_POSITIONS if all_mobile else MAX_POSITIONS
            self._run_forcing(forcing, limit, _FORCING_TIME_SHARE, add=not all_mobile)
        search = self._proofs[LOWER].search
        refusals = list[UnstorableCellError | None]()
        for mobile in self._sets:
            refusals.append(self._run_search(self._make_search(mobile) if refusals else search))
            if self._best.bounds.exact or self.interrupt is not None:
                break
        if forcing is not None:
            self._run_forcing(forcing)
            if forcing.shortage is not None:
                self._stops.add(forcing.shortage)
                return
        refusal = refusals[-1]
        if refusal and all(refusals) and self._best.bounds == WORST and self.interrupt is None:
            raise refusal

    def _report(
        self,
        bounds: Interval = WORST,
        cells: int = 0,
        cells_left: int | None = None,
        seconds_left: float | None = None,
    ) -> None:
        """Report what is proved, with the bounds and the number of solutions of the current search."""
        proved = ScoreInterval(*_scores(self._best.bounds.intersection(bounds)))
        self._meter.record_bounds(proved)
        self._progress(SolveStage(*proved, self._solve_count + cells, cells_left, seconds_left))

    @contextmanager
    def _recording_interrupt(self) -> Iterator[None]:
        """Record an interrupt, which ends the enclosed work."""
        try:
            yield
        except KeyboardInterrupt as interrupt:
            self.interrupt = interrupt
            self._stops.add(Stop.INTERRUPT)

    def _run_search(self, search: Search) -> UnstorableCellError | None:
        """Run a search and add its bounds, even if the search is interrupted.

        The search does not run after an interrupt, or if the value has already been proved. If the search's
        cell cannot be solved, only the bounds that are available without the cell are added.

        :return: the error if the cell was refused, else None.
        """
        stop = None
        refusal = None
        with self._recording_interrupt():
            try:
                if not (self._is_over or self.interrupt or self._best.bounds.exact):
                    stop = search.run()
            except UnstorableCellError as error:
                refusal = error
            search.report()
        self._stops |= {stop} if stop else set()
        self._solve_count += search.solve_count
        answer = search.answer()
        before = self._best
        self._best = before.intersection(answer)
        better = [end for end in ENDS if before.bounds[end] != self._best.bounds[end] or answer.bounds.exact]
        holds = find_holds(search) if better and self._with_holds else ()
        for end in better:
            own_holds = tuple(hold for hold in holds if hold.holder == (end == LOWER))
            self._proofs[end] = EndProof(search, holds=own_holds)
        for step in () if self._is_over else search.steps():
            answer = search.answer(step)
            self._moves[step.move] = self._moves.get(step.move, answer).intersection(answer)
        search.layers.stop_keeping_games()
        return refusal

    def _run_forcing(self, searches: ForcingSearches, *options: Any, add: bool = True) -> None:
        """Search for bounds by forcing moves of both sides, unless the value has already been proved.

        An interrupt is recorded, and ends the searches.

        :param options: positional arguments of :meth:`tbgen.beyond.forcing.ForcingSearches.turns`.
        :param add: whether to add the bounds. If not, the searches keep them for a later call.
        """
        with self._recording_interrupt():
            for _ in () if self.interrupt or self._best.bounds.exact else searches.turns(*options):
                if add:
                    self._add_forcing_bounds(searches)
                    self._report()
                    if self._best.bounds.exact:
                        break
        if add:
            with self._recording_interrupt():
                self._add_forcing_bounds(searches)

    def _add_forcing_bounds(self, searches: ForcingSearches) -> None:
        """Add the bounds that the searches for forcing moves have proved."""
        for proof in searches.proofs.values():
            end = LOWER if proof.white else UPPER
            bounds = Answer(Interval(*(proof.bound if each == end else WORST[each] for each in ENDS)))
            combined = self._best.intersection(bounds)
            if self._best.bounds[end] == combined.bounds[end]:
                continue
            if self._prover is not None:
                self._prover.prove_forcing(self._board, to_gscore(self._score), proof)
            self._best, self._proofs[end] = combined, EndProof(self._proofs[end].search, proof)
            for move in proof.moves():
                self._moves[move] = self._moves.get(move, bounds).intersection(bounds)

    def solution(self, with_line: bool) -> Solution:
        """Return everything that is proved.

        :param with_line: whether to include lines that demonstrate the value or the bounds.
        """
        board, best = self._board, self._best
        sort_key = partial(_move_sort_key, white=board.turn, accrued=self._accrued)
        ranked_moves = sorted(self._moves.items(), key=sort_key)
        moves = tuple(
            SolvedMove(move.uci(), board.san(move), board.is_zeroing(move), *_scores(then.bounds), then.depth)
            for move, then in ranked_moves
        )
        lower, upper = (
            () if proof.forcing else tuple(chess.scan_forward(proof.search.state.position.mobile))
            for proof in self._proofs
        )
        accrued = GScore.from_code(self._accrued)
        exact = best.bounds.exact
        tables = self._exits.tables
        missing = () if exact else tuple(material.name for material in tables.missing)
        solution = Solution(
            *(position_score(board), accrued, *_scores(best.bounds), best.depth, moves, self._solve_count),
            stopped_by=None if exact else self._stopped_by(missing),
            missing=missing,
            build=build_command(missing, tables.tablebase.directory) if missing else "",
            mobile=(lower, upper),
            forcing=(self._proofs[LOWER].forcing is not None, self._proofs[UPPER].forcing is not None),
            holds=(*self._proofs[LOWER].holds, *self._proofs[UPPER].holds),
            fen=board.fen(),
        )
        if not exact and not self._is_over:
            self._allow_layers(_GAP_LAYER_SLOTS)
            gaps = Gaps(self._proofs[LOWER].search, self._budget.memory, self._budget.threads)
            solution = replace(solution, gaps=gaps.gaps(), narrowing=gaps.narrowing())
        lines = LineMaker(self._proofs, self._accrued, exact=exact and not any(solution.forcing))
        self._allow_layers(_PLAN_LAYER_SLOTS)
        first, second = (() if best.bounds[end] == WORST[end] else lines.plan(end) for end in ENDS)
        solution = replace(solution, plans=(first, second))
        if with_line:
            self._allow_layers(64**MAX_MOBILE)
            if exact:
                shown_end = UPPER if solution.forcing == (False, True) else LOWER
                solution = replace(solution, line=lines.line(shown_end))
            else:
                solution = replace(solution, lines=(lines.line(LOWER), lines.line(UPPER)))
        return solution if self._prover is None else replace(solution, proof=self._prover.proof)

    def _allow_layers(self, max_slots: int) -> None:
        """Allow missing layers to be made for cells of at most ``max_slots`` slots."""
        for proof in self._proofs:
            proof.search.layers.max_slots = max_slots

    def _stopped_by(self, missing: Sequence[str]) -> Stop:
        """Return why only an interval is proved.

        :param missing: names of the missing tables.
        """
        stop = min(self._stops, key=list(Stop).index)
        return Stop.TABLES if missing and stop is Stop.NOTHING_LEFT else stop


def _scores(interval: Interval) -> tuple[GScore, GScore]:
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
