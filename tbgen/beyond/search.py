"""The search that narrows the bounds of one state: which cells it solves, and in which order.

The cell of the state is solved first, which may suffice. While the bounds differ, the search follows the play
that keeps them apart (:mod:`tbgen.beyond.play`) through all cells solved so far. It then solves the cheapest
of the cells that this play leads to, each once, and after all cells that it depends on if time allows. Then
it solves the cells above them again, where this narrows bounds on the play. Bounds are proved only from
bounds that were proved before, never in a circle, so they only become narrower.

The *home* of a move out of a cell is the canonical cell whose solution bounds the position after the move.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from typing import TYPE_CHECKING, Final

import chess

from tbgen.beyond.budget import Meter, OutOfBudgetError, Stop
from tbgen.beyond.cell_solver import CellSolver
from tbgen.beyond.choices import SMALL, Choice, Chooser, ToSolve, effort
from tbgen.beyond.exit_sources import Answer
from tbgen.beyond.knowledge import Known, States, image_score, resolved_play
from tbgen.beyond.play import Follower, Play, ends_to_narrow
from tbgen.beyond.structures import height, is_to_queen, wholes_cost
from tbgen.board.score import Code
from tbgen.cells.bounds import ENDS, LOWER, UPPER, Bounds, NoCodeError
from tbgen.cells.cell import Cell, CellPosition, PositionKey, Step
from tbgen.cells.window import Interval
from tbgen.costs import seconds_of
from tbgen.index.layout import IMAGE, MIRROR_RANKS

if TYPE_CHECKING:
    from tbgen.beyond.proof import Prover


_FIRST_STATES: Final = 150
"""Number of states that are examined at first to find what keeps the bounds apart."""
_MAX_STATES: Final = _FIRST_STATES << 4
"""Maximum number of states that are examined, if the first ones lead only to expensive choices or to none."""
_SLOTS_PER_STATE: Final = 1 << 20
"""A choice is expensive if it takes more slots than this for each state examined so far. Examining a state
takes at most a tenth of the time of solving that many slots, layers included."""


class Search:
    """Narrows the bounds of one state.

    :param position: the position of the state.
    :param accrued: code of its accrued score.
    :param meter: the rest of the budget.
    :param progress: called with the current interval, the number of solved cells and, if the cells to solve
        are determined, their number and the estimated seconds for them.
    :param prover: proves each solution, in time that does not count; None for no proofs.
    """

    def __init__(
        self,
        known: Known,
        position: CellPosition,
        accrued: Code,
        meter: Meter,
        progress: Callable[[Interval, int, int | None, float | None], None],
        prover: "Prover | None" = None,
    ) -> None:
        self.known, self._budget, self._progress, self._prover = known, meter, progress, prover
        self.position, self.accrued = position, accrued
        self._cell, self._symmetry = position.cell.canonical()
        self._solver = CellSolver(known, self._cell, meter, prover)
        self.layers, self._ledger = self._solver.layers, self._solver.ledger
        self._score = image_score(accrued, self._symmetry)
        """The accrued score in the canonical cell."""
        self._states = States(known, self.layers)
        self._guesses = States(known, self.layers, guess=True)
        """States used to follow play at first, since making layers takes longer than everything else."""
        self._resolved: tuple[int, frozenset[PositionKey]] | None = None
        """A number of solutions, and the result of :func:`resolved_play` after them."""
        self._best: dict[chess.Move | None, Answer] = {}
        """The best bounds so far of the state, with key None, and of the states after its moves."""
        self._chooser = Chooser(known, meter, self._cell, self._ledger)
        self._refused: Stop | None = None
        """The resource that was too scarce for the cell that was refused last."""
        self._plays: dict[bool, Play] = {}
        """The last narrow play (False) and wide play (True)."""

    @property
    def solved(self) -> int:
        """Number of solutions."""
        return self._ledger.solved

    def run(self) -> Stop | None:
        """Narrow the bounds until they meet; return the reason if the search stops before that."""
        if self.known.universal_bounds(self.position).exact:
            return None
        try:
            if self._cell not in self.known.cells and self._cell.size <= SMALL:  # takes next to no time
                self._solver.solve(ToSolve(self._cell))
            elif self._cell in self.known.cells:
                self._ledger.set_question(self._interval)
            if not self.answer().value.exact and not self._solver.is_complete(self._cell):
                self._solver.complete(ToSolve(self._cell))
            accrued = None if self.accrued == self.position.position_score else self._score
            while not self.answer().value.exact:
                self.report()
                if not any(map(self._narrow_within, self._ledger.intervals(self._interval, accrued))):
                    left = self._budget.seconds_left > 0
                    return (self._refused or Stop.NOTHING_LEFT) if left else self._budget.shortage
        except OutOfBudgetError as error:
            return error.stop
        except MemoryError:  # the system has less than the budget allows
            self.layers.drop_all()
            return Stop.MEMORY
        return None

    def answer(self, step: Step | None = None) -> Answer:
        """Return the bounds of the state, or of the state after one of its moves."""
        if step is None:
            position, found = self.position, self.state(self.position, self.accrued)
        else:
            position, found = step.after, self._states.after(step, self.accrued)
        if step is None and found.value == (self.accrued, self.accrued):
            found = Answer(found.value, (0, 0))
        elif found.depth is not None and not self._is_resolved(position):
            found = Answer(found.value)
        found = found.within(Answer(self.known.universal_bounds(position)))
        # A layer made in a closer window may have wider bounds than the layer before it.
        move = None if step is None else step.move
        self._best[move] = found = found.within(self._best.get(move, found))
        return found

    def _is_resolved(self, position: CellPosition) -> bool:
        """Return whether a depth on which both ends agree is proved.

        It is not if an earlier search solved the cell, since its open positions were not recorded.
        """
        if position.is_over or self.known.cells.has_values(position.cell.canonical()[0]):
            return True
        if not self._ledger.has_solved(self._cell):
            return False
        if self._resolved is None or self._resolved[0] != self.solved:
            self._resolved = self.solved, resolved_play(self._states, self.known, self.position)
        return position.key in self._resolved[1]

    def state(self, position: CellPosition, accrued: Code) -> Answer:
        """Return the bounds of any state."""
        return self._states.of(position, accrued)

    def steps(self) -> Iterator[Step]:
        """Yield the moves of the state, in the order that they have in its canonical cell."""
        image, steps = IMAGE[self._symmetry], {step.move: step for step in self.position.moves()}
        for move in self.position.image(self._symmetry).board.legal_moves:
            yield steps[chess.Move(image[move.from_square], image[move.to_square], move.promotion)]

    def report(self, cells: list[Cell] | None = None) -> None:
        """Report progress, with the cells that remain to be solved if these are determined."""
        seconds = None if cells is None else self._budget.seconds_of(cell.size for cell in cells)
        self._progress(self.answer().value, self.solved, None if cells is None else len(cells), seconds)

    @property
    def _interval(self) -> Interval:
        """The interval of the state, as seen in its canonical cell."""
        now = self.answer().value
        return now.swapped if self._symmetry & MIRROR_RANKS else now

    def _narrow_within(self, interval: Interval) -> bool:
        """Solve something that may show where in an interval the value of the state lies, promotions last.

        :returns: whether anything was found to solve.
        """
        self._ledger.set_question(interval)
        return self._narrow() or self._narrow_promotions()

    def _narrow(self) -> bool:
        """Solve something that may narrow the bounds of the state; return whether anything was found."""
        root, ledger = self.position.image(self._symmetry), self._ledger
        for wide, states in product((False, True), (self._guesses, self._states)):
            follower = Follower(states, root, self._score, ledger.is_solved, wide, ledger.relevant_scores)
            most, complete = 0, False
            while not complete and self._has_time():
                most = most * 2 or _FIRST_STATES
                play = self._plays[wide] = follower.follow(most, self._has_time)
                if self._solve_again(play.states, play):
                    return True
                complete = play.complete or most >= _MAX_STATES
                choices = self._chooser.choices(play)
                least = choices[0].effort if choices else None
                if self._look_up(play, least):
                    return True
                if least is None or not (complete or least <= most * _SLOTS_PER_STATE):
                    continue
                if self._solve_new(choices, play) or self._look_up(play, None):
                    return True
        return False

    def _look_up(self, play: Play, least: int | None) -> bool:
        """Look up cells on the play in tables, unless solving the cells above them again costs too much.

        :param least: effort of the cheapest choice, which the cells above may not exceed; None for no limit.
        :returns: whether any cell above was solved again.
        """
        cells, tables = self.known.cells, self.known.tables
        homes = set(filter(tables.can_open, play.unsolved))
        small = {cell for cell in play.states if tables.can_look_up(cell) and not cells.has_values(cell)}
        above = set[Cell]().union(*map(play.all_above, homes | small))
        if least is not None and effort(map(ToSolve, above)) > least:
            return False
        looked_up = set(homes)
        for home in homes:
            tables.open_cell(home)
        with self._budget.reserving([self._cell.size], again=True):
            for cell in small:
                if self._budget.has_time(seconds_of("look-ups", cell.size, self._budget.threads), 0):
                    cells.add(tables.bounds(cell))
                    looked_up.add(cell)
        self._ledger.add_looked_up(looked_up)
        return self._solve_again(set[Cell]().union(*map(play.all_above, looked_up)), play)

    def _has_time(self) -> bool:
        return self._budget.seconds_left > 0

    def _narrow_promotions(self) -> bool:
        """Find the values after a promotion that keeps the bounds apart and leaves too many mobile men for a
        cell.

        With a prover nothing is done, since these values have no depths and so no proof.

        :returns: whether such a promotion was found, and solved within time and memory.
        """
        if self._prover is not None:
            return False
        for _, play in sorted(self._plays.items()):
            homes = [home for home in play.above if home not in self._ledger.refused_promotions]
            homes = [home for home in homes if self.unsolved_promotions(home)[0]]
            for home in sorted(homes, key=is_to_queen, reverse=True):
                if self._solve_promoted(home):
                    with contextlib.suppress(OutOfBudgetError):
                        self._solve_again(play.all_above(home), play)
                    return True
        return False

    def unsolved_promotions(self, home: Cell) -> tuple[list[Cell], tuple[int, ...]]:
        """Return the whole cells to solve next for the home of a promotion, and the end to solve.

        The upper end, which the promoting side may hope for, comes first. Nothing is returned if both ends
        are solved.
        """
        for end in (UPPER, LOWER):
            if cells := self.known.promoted.unsolved(home, self._ledger.window, [end]):
                return cells, (end,)
        return [], ()

    def _solve_promoted(self, home: Cell) -> bool:
        """Solve the whole cells for the home of a promotion at one end; return whether the budget allows."""
        (cells, ends), budget = self.unsolved_promotions(home), self._budget
        seconds, memory = wholes_cost(cells, self.known.won.mobile, budget.threads, len(ends))
        try:
            budget.require_seconds(seconds)
            if not budget.has_memory(memory) or not budget.has_memory(self.layers.drop_all() + memory):
                raise OutOfBudgetError(Stop.MEMORY)
            self._progress(self.answer().value, self.solved, len(cells), seconds)
            kind, check = home.frozen[0].man.kind, lambda: budget.require_seconds(0)
            arguments = cells, kind, self.known, budget.threads, check, self._ledger.window, ends
            found = self.known.promoted.solve(*arguments)
            self._ledger.add(map(self._kept, found), len(cells))
        except (OutOfBudgetError, NoCodeError, MemoryError) as error:
            if not isinstance(error, NoCodeError):
                self._refused = error.stop if isinstance(error, OutOfBudgetError) else Stop.MEMORY
            self._ledger.refused_promotions.add(home)
            return False
        return True

    def _kept(self, bounds: Bounds) -> Bounds:
        self.known.cells.add(bounds)
        return bounds

    def _solve_new(self, choices: Iterable[Choice], play: Play) -> bool:
        """Solve choices, best first, until they have cost as much as solving the cells above them again; then
        solve all cells above them.

        :returns: whether anything was solved, or anything was refused whose refusal leads to other choices.
        """
        before, spent, refused = self.solved, 0, len(self._ledger.refused_wins)
        above: set[Cell] = set()
        for choice in choices:
            stop = choice.late or spent > effort(map(ToSolve, above & choice.above))
            if self.solved > before and stop:
                break
            try:
                with self._budget.reserving((cell.size for cell in above | choice.above), again=True):
                    self._solve_all(choice)
            except OutOfBudgetError as error:
                self._refuse(choice.cells[-1].cell, error.stop)
            above |= choice.above
            spent += choice.effort - effort(map(ToSolve, choice.above))
        if self.solved > before:
            with contextlib.suppress(OutOfBudgetError):
                self._solve_again(above, play)
        return self.solved > before or len(self._ledger.refused_wins) > refused

    def _solve_all(self, choice: Choice) -> None:
        """Solve the cells of a choice in their order.

        :raises OutOfBudgetError: at the first cell that takes more time or memory than remains.
        """
        with self._budget.reserving(each.cell.size for each in choice.cells):
            for home in choice.homes:
                self.report()
                self._refused = self._solver.solve_wins(home) or self._refused
        for number, each in enumerate(choice.cells):
            if len(choice.cells) > 1:
                self.report([remaining.cell for remaining in choice.cells[number:]])
            if choice.ahead or not self._ledger.is_done(each.cell):
                self._solver.complete(each)
                if choice.ahead:
                    self._ledger.add_ahead(each.cell, each.ends)
                else:
                    self._ledger.add_complete(each.cell)

    def _solve_again(self, cells: Iterable[Cell], play: Play) -> bool:
        """Solve cells again at ends that may become narrower on the play, the lowest cells first.

        :returns: whether any cell was solved again.
        """
        solved = False
        for cell in sorted(cells, key=height):
            if ends := self._stale_ends(cell, play):
                solved |= self._solver.solve(ToSolve(cell, ends))
        return solved

    def _stale_ends(self, cell: Cell, play: Play) -> tuple[int, ...]:
        """Return the ends of a cell that may become narrower on the play.

        Either a cell below it was solved later, or its window has become too close.
        """
        stale = {
            end
            for home, swapped in play.below(cell)
            for end in ENDS
            if self._ledger.is_stale(cell, end, home, swapped)
        }
        found: set[int] = set()
        for state in play.states[cell] if stale else ():
            if found == stale:
                break
            found |= stale & ends_to_narrow(play.looked_up_in, *state, self._ledger.relevant_scores(cell))
        return tuple(sorted(found))

    def _refuse(self, cell: Cell, stop: Stop) -> None:
        """Refuse a cell that takes more time or memory than remains.

        :raises OutOfBudgetError: if no time remains at all.
        """
        self._refused = stop
        if self._budget.seconds_left <= 0:
            raise OutOfBudgetError(self._budget.shortage)
        self._ledger.refused.add(cell)
