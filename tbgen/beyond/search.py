"""The search that narrows the bounds of one state: which cells it solves, and in which order.

The cell of the state is solved first. This may suffice. As long as the bounds differ, the search repeats
three steps:

- It follows the play that keeps the bounds apart (:mod:`tbgen.beyond.play`) through all cells solved so far.
- It solves the cheapest unsolved cells that this play enters. If time allows, the cells that each of them
  depends on are solved first.
- It solves the cells *above* them (those from which the play enters them) again if this may narrow the bounds
  of states that the play visits.

Bounds are proved only from bounds that were proved before, so no proof is circular, and bounds only become
narrower.

The *home* of a move out of a cell is the canonical cell whose solution bounds the position after the move.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Final

import chess

from tbgen.beyond.budget import Meter, OutOfBudgetError, Stop
from tbgen.beyond.cell_solver import CellSolver
from tbgen.beyond.choices import MAX_SMALL_SLOTS, CellTask, Choice, Chooser
from tbgen.beyond.exit_sources import Answer
from tbgen.beyond.knowledge import ExitBounds
from tbgen.beyond.play import Play, PlayFollower, ends_to_narrow
from tbgen.beyond.promoted_cells import PromotionTask
from tbgen.beyond.state_bounds import States, proved_keys
from tbgen.beyond.structures import height, is_queening, wholes_cost
from tbgen.cells.bounds import ENDS, UnstorableCellError
from tbgen.cells.cell import Cell, CellPosition, CellState, PositionKey, Step
from tbgen.cells.interval import Interval
from tbgen.costs import seconds_of
from tbgen.index.layout import IMAGE, MIRROR_RANKS

if TYPE_CHECKING:
    from tbgen.beyond.proof import Prover


_FIRST_STATES: Final = 150
"""Number of states that are examined at first to find the play that keeps the bounds apart."""
_MAX_STATES: Final = _FIRST_STATES << 4
"""Maximum number of states that are examined if the first states lead to no inexpensive choice."""
_THRESHOLD_STATES_DIVISOR: Final = 8
"""When a threshold is first asked for, the maximum number of states is divided by this number: the next
question often finds a cell to solve sooner."""
_SLOTS_PER_STATE: Final = 1 << 20
"""A choice is expensive if its cost exceeds this number of slots for each state examined so far. Examining
a state takes at most a tenth of the time for solving that many slots, layers included."""


class Search:
    """Narrows the bounds of one state.

    :param state: the state, whose cell need not be canonical.
    :param meter: what remains of the budget.
    :param progress: called with the current interval, the number of solutions, the number of cells that
        remain to be solved, and the estimated seconds for them; the last two are None if they are unknown.
    :param prover: proves each solution; the time for this does not count. None if nothing is to be proved.
    """

    def __init__(
        self,
        exits: ExitBounds,
        state: CellState,
        meter: Meter,
        progress: Callable[[Interval, int, int | None, float | None], None],
        prover: "Prover | None" = None,
    ) -> None:
        self.exits = exits
        self.state = state
        self._meter = meter
        self._progress = progress
        self._prover = prover
        self._cell, self._symmetry = state.cell.canonical()
        self._root = state.image(self._symmetry)
        """The state in the canonical cell."""
        self._solver = CellSolver(exits, self._cell, meter, prover)
        self.layers, self._ledger = self._solver.layers, self._solver.ledger
        self._states = States(exits, self.layers)
        scores_of = self._ledger.relevant_scores
        self._followed = States(exits, self.layers, scores_of=scores_of)
        self._guesses = States(exits, self.layers, scores_of=scores_of, guess=True)
        """Used to follow play at first, because making layers takes longer than everything else."""
        self._proved_keys: tuple[int, frozenset[PositionKey]] | None = None
        """The result of :func:`proved_keys`, and the number of solutions from which it was computed."""
        self._best_answers: dict[chess.Move | None, Answer] = {}
        """The best bounds found so far for the state after each move. The key None stands for the state
        itself."""
        self._chooser = Chooser(exits, meter, self._cell, self._ledger)
        self._last_shortage: Stop | None = None
        """The resource whose shortage last caused a cell to be refused."""
        self._plays: dict[bool, Play] = {}
        """The last narrow play (False) and wide play (True)."""

    @property
    def solve_count(self) -> int:
        """Number of solutions found by this search."""
        return self._ledger.last_number

    def run(self) -> Stop | None:
        """Narrow the bounds until they are equal; return the reason if the search stops before that.

        :raises UnstorableCellError: if the scores of the state's own cell cannot be stored.
        """
        if self.exits.bounds_for_any_accrued(self.state.position).exact:
            return None
        try:
            if self._cell not in self.exits.cells and self._cell.size <= MAX_SMALL_SLOTS:
                self._solver.solve(CellTask(self._cell))
            elif self._cell in self.exits.cells:
                self._ledger.set_question(self._interval)
            if not self.answer().bounds.exact and not self._solver.is_complete(self._cell):
                self._solver.solve_after_small_cells([CellTask(self._cell)])
            while not self.answer().bounds.exact:
                self.report()
                if not self._narrow_once():
                    has_time = self._meter.seconds_left > 0
                    return (self._last_shortage or Stop.NOTHING_LEFT) if has_time else self._meter.shortage
        except OutOfBudgetError as error:
            return error.stop
        except MemoryError:  # the system has less memory than the budget allows
            self.layers.drop_all()
            return Stop.MEMORY
        return None

    def answer(self, step: Step | None = None) -> Answer:
        """Return the bounds of the state, or of the state after one of its moves."""
        accrued = self.state.accrued
        if step is None:
            position, answer = self.state.position, self.probe(self.state)
        else:
            position, answer = step.after, self._states.answer_after(self.state, step)
        if step is None and answer.bounds == (accrued, accrued):
            answer = Answer(answer.bounds, (0, 0))
        elif answer.depth is not None and not self._has_proved_depth(position):
            answer = Answer(answer.bounds)
        answer = answer.intersection(Answer(self.exits.bounds_for_any_accrued(position)))
        # The ranks of a threshold may no longer be kept, so the bounds may be wider than earlier.
        move = None if step is None else step.move
        self._best_answers[move] = answer = answer.intersection(self._best_answers.get(move, answer))
        return answer

    def _has_proved_depth(self, position: CellPosition) -> bool:
        """Return whether the depth of a position is proved, given that it is the same at both ends.

        If only an earlier search solved the cell, the depth is not proved, because there is no record of
        which positions that search left open.
        """
        if position.is_over or self.exits.cells.has_values(position.cell.canonical()[0]):
            return True
        if not self._ledger.has_solved(self._cell):
            return False
        if self._proved_keys is None or self._proved_keys[0] != self.solve_count:
            self._proved_keys = self.solve_count, proved_keys(self._states, self.exits, self.state.position)
        return position.key in self._proved_keys[1]

    def probe(self, state: CellState) -> Answer:
        """Return the bounds of any state."""
        return self._states.answer(state)

    def steps(self) -> Iterator[Step]:
        """Yield the moves of the state in the order in which they are generated in its canonical cell."""
        image = IMAGE[self._symmetry]
        steps = {step.move: step for step in self.state.position.moves()}
        for move in self._root.position.board.legal_moves:
            yield steps[chess.Move(image[move.from_square], image[move.to_square], move.promotion)]

    def find_depths(self, position: CellPosition) -> None:
        """Solve the cell of a position again, with depths, if it lacks them and the budget allows it."""
        cell, _ = position.cell.canonical()
        if self._ledger.lacks_depths(cell):
            self._ledger.set_question(self._interval, use_thresholds=False)
            with contextlib.suppress(OutOfBudgetError):
                self._solver.solve(CellTask(cell))

    def report(self, cells: list[Cell] | None = None) -> None:
        """Report progress.

        :param cells: the cells that remain to be solved; None if they are unknown.
        """
        seconds = None if cells is None else self._meter.seconds_for(map(self._ledger.work_slots, cells))
        self._progress(self.answer().bounds, self.solve_count, None if cells is None else len(cells), seconds)

    @property
    def _interval(self) -> Interval:
        """The bounds of the state, as seen in its canonical cell."""
        bounds = self.answer().bounds
        return bounds.swapped if self._symmetry & MIRROR_RANKS else bounds

    def _narrow_once(self) -> bool:
        """Solve cells that may show where in the interval of the state the value lies.

        Whole cells after promotions (:mod:`tbgen.beyond.promoted_cells`) are solved only if there is no other
        cell to solve for any threshold, and cells are solved for all scores only if that fails too.

        :returns: whether any cell to solve was found.
        """
        plays = dict[Interval, list[Play]]()
        for question in self._ledger.questions(self._interval, self._root.accrued):
            self._ledger.set_question(question)
            self._plays.clear()
            if self._narrow():
                return True
            plays[question] = [play for _, play in sorted(self._plays.items())]
        found = any(self._narrow_promotions(*each) for each in plays.items())
        if not found:
            self._ledger.set_question(self._interval)
            found = self._narrow()
        self._ledger.retry_questions()
        return found

    def _narrow(self) -> bool:
        """Solve cells that may narrow the bounds of the state; return whether any cell to solve was found."""
        ledger = self._ledger
        for wide, states in product((False, True), (self._guesses, self._followed)):
            follower = PlayFollower(states, self._root, ledger.is_solved, wide, ledger.relevant_scores)
            max_states = 0
            exhausted = False
            is_first_try = ledger.asks_threshold and not ledger.is_retried
            limit = _MAX_STATES // _THRESHOLD_STATES_DIVISOR if is_first_try else _MAX_STATES
            while not exhausted and self._has_time():
                max_states = max_states * 2 or _FIRST_STATES
                play = self._plays[wide] = follower.follow(max_states, self._has_time)
                if self._solve_again(play.states, play):
                    return True
                exhausted = play.is_complete or max_states >= limit
                choices = self._chooser.choices(play)
                min_cost = choices[0].cost if choices else None
                if self._look_up_cells(play, min_cost):
                    return True
                if min_cost is None or not (exhausted or min_cost <= max_states * _SLOTS_PER_STATE):
                    continue
                if self._solve_choices(choices, play) or self._look_up_cells(play, None):
                    return True
        return False

    def _look_up_cells(self, play: Play, max_cost: int | None) -> bool:
        """Look up cells of the play in tables, unless solving the cells above again costs too much.

        :param max_cost: maximum cost of the cells above; None for no limit.
        :returns: whether any cell above was solved again.
        """
        cells, tables = self.exits.cells, self.exits.tables
        homes = set(filter(tables.can_allow_promotion_look_ups, play.unsolved_cells))
        small = {cell for cell in play.states if tables.can_look_up(cell) and not cells.has_values(cell)}
        cells_above = set[Cell]().union(*map(play.all_cells_above, homes | small))
        if max_cost is not None and self._chooser.cost_of(map(CellTask, cells_above)) > max_cost:
            return False
        looked_up = set(homes)
        for home in homes:
            tables.allow_promotion_look_ups(home)
        with self._meter.reserving([self._ledger.work_slots(self._cell)], repeated=True):
            for cell in small:
                if self._meter.allows(seconds_of("look-ups", cell.size, self._meter.threads), 0):
                    cells.add(tables.look_up_bounds(cell))
                    looked_up.add(cell)
        self._ledger.add_table_cells(looked_up)
        return self._solve_again(set[Cell]().union(*map(play.all_cells_above, looked_up)), play)

    def _has_time(self) -> bool:
        return self._meter.seconds_left > 0

    def _narrow_promotions(self, question: Interval, plays: Iterable[Play]) -> bool:
        """Try a threshold after a promotion that leaves too many mobile men for an ordinary cell.

        Only promotions in the play that keeps the bounds apart are tried. If there is a prover, nothing is
        done, because it does not prove such thresholds.

        :param plays: the play that keeps the bounds apart, narrow and wide.
        :returns: whether a threshold was tried within time and memory.
        """
        if self._prover is not None:
            return False
        self._ledger.set_question(question)
        for play in plays:
            allowed = (h for h in play.entered_from if h not in self._ledger.homes_refused_for_thresholds)
            tasks = [(home, task) for home in allowed if (task := self.next_promotion_task(home)) is not None]
            for home, task in sorted(tasks, key=lambda each: is_queening(each[0]), reverse=True):
                if self._try_promotion(home, task):
                    with contextlib.suppress(OutOfBudgetError):
                        self._solve_again(play.all_cells_above(home), play)
                    return True
        return False

    def next_promotion_task(self, home: Cell) -> PromotionTask | None:
        """Return what to try next in the whole cells for the home of a promotion, if anything."""
        return self.exits.promotions.next_task(home, self._ledger.question_thresholds(home))

    def _try_promotion(self, home: Cell, task: PromotionTask) -> bool:
        """Carry out a task for the home of a promotion; return whether this succeeded.

        If it did not, the home is refused.
        """
        meter = self._meter
        seconds, memory = wholes_cost(task.cells, self.exits.wins.mobile_count, meter.threads)
        try:
            meter.require_seconds(seconds)
            if not meter.has_memory(memory) or not meter.has_memory(self.layers.drop_all() + memory):
                raise OutOfBudgetError(Stop.MEMORY)
            self._progress(self.answer().bounds, self.solve_count, len(task.cells), seconds)
            poll = partial(meter.require_seconds, 0)
            for cell in self.exits.promotions.solve(task, self.exits.proofs, meter.threads, poll):
                self._ledger.add_whole_cell(cell)
        except (OutOfBudgetError, UnstorableCellError, MemoryError) as error:
            if not isinstance(error, UnstorableCellError):
                self._last_shortage = error.stop if isinstance(error, OutOfBudgetError) else Stop.MEMORY
            self._ledger.homes_refused_for_thresholds.add(home)
            return False
        return True

    def _solve_choices(self, choices: Iterable[Choice], play: Play) -> bool:
        """Solve choices, best first, and then solve the cells above them again.

        No further choice is solved once solving the choices has cost more than it will cost to solve the
        cells above them again.

        :returns: whether the search may continue: a cell was solved, or a refusal may lead to other choices.
        """
        count_before = self.solve_count
        spent = 0
        refused_before = len(self._ledger.homes_refused_for_mates)
        above: set[Cell] = set()
        for choice in choices:
            is_enough = choice.is_late or spent > self._chooser.cost_of(
                map(CellTask, above & choice.cells_above)
            )
            if self.solve_count > count_before and is_enough:
                break
            try:
                slots = map(self._ledger.work_slots, above | choice.cells_above)
                with self._meter.reserving(slots, repeated=True):
                    self._solve_choice(choice)
            except OutOfBudgetError as error:
                self._refuse(choice.tasks[-1].cell, error.stop)
            above |= choice.cells_above
            spent += choice.cost - self._chooser.cost_of(map(CellTask, choice.cells_above))
        if self.solve_count > count_before:
            with contextlib.suppress(OutOfBudgetError):
                self._solve_again(above, play)
        return self.solve_count > count_before or len(self._ledger.homes_refused_for_mates) > refused_before

    def _solve_choice(self, choice: Choice) -> None:
        """Find the forced mates of a choice, and solve its cells, each after those below it.

        :raises OutOfBudgetError: at the first cell that needs more time or memory than remains.
        """
        with self._meter.reserving(self._ledger.work_slots(each.cell) for each in choice.tasks):
            for home in choice.promotion_homes:
                self.report()
                self._last_shortage = self._solver.find_promotion_mates(home) or self._last_shortage
        waiting = sorted(choice.tasks, key=lambda task: height(task.cell))
        while waiting:
            if len(choice.tasks) > 1:
                self.report([remaining.cell for remaining in waiting])
            batch = list[CellTask]()
            while waiting and self._solver.may_join(waiting[0], batch):
                task = waiting.pop(0)
                if choice.is_ahead or not self._ledger.is_done(task.cell):
                    batch.append(task)
            solved_count = self._solver.solve_after_small_cells(batch) if batch else 0
            waiting = batch[solved_count:] + waiting
            for task in batch[:solved_count]:
                if choice.is_ahead:
                    self._ledger.add_ends_ahead(task.cell, task.ends)
                else:
                    self._ledger.add_complete_cell(task.cell)

    def _solve_again(self, cells: Iterable[Cell], play: Play) -> bool:
        """Solve cells again, the lowest first, at ends where this may narrow bounds of states in the play.

        :returns: whether any cell was solved again.
        """
        solved = False
        for cell in sorted(cells, key=height):
            if ends := self._stale_ends(cell, play):
                solved |= self._solver.solve(CellTask(cell, ends))
        return solved

    def _stale_ends(self, cell: Cell, play: Play) -> tuple[int, ...]:
        """Return the ends at which solving a cell again may narrow bounds of states in the play.

        The reason may be that a cell below was solved later, or that the question has changed.
        """
        stale = {
            end
            for home, swapped in play.homes_from(cell)
            for end in ENDS
            if self._ledger.is_stale(cell, end, home, swapped)
        }
        ends: set[int] = set()
        for state in play.states[cell] if stale else ():
            if ends == stale:
                break
            ends |= stale & ends_to_narrow(play.bound_source, state, self._ledger.relevant_scores(cell))
        return tuple(sorted(ends))

    def _refuse(self, cell: Cell, stop: Stop) -> None:
        """Refuse a cell that needs more time or memory than remains.

        :raises OutOfBudgetError: if no time remains at all.
        """
        self._last_shortage = stop
        if self._meter.seconds_left <= 0:
            raise OutOfBudgetError(self._meter.shortage)
        self._ledger.refused_cells.add(cell)
