"""Which cells to solve, and in which order, so that the bounds of one state close in.

The state's own cell comes first: it may be enough. While its bounds differ, the play is followed that keeps
them apart (:mod:`tbgen.beyond.play`), through all cells solved by then. Of the cells that it leads to next,
those that take least are solved, each once and after all that it rests on if there is time for that; then the
cells above them again, where that narrows bounds on this play. Bounds are proved from bounds that were proved
before, never in a circle, and so they only ever narrow.
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
from tbgen.beyond.knowledge import Known, States, seen_score, settled_play
from tbgen.beyond.play import Follower, Play, ends_to_narrow
from tbgen.beyond.structures import height, is_to_queen, values_take
from tbgen.board.score import Code
from tbgen.cells.bounds import ENDS, LOWER, UPPER, Bounds, NoCodeError
from tbgen.cells.cell import Cell, CellPlace, CellPosition, Step
from tbgen.cells.window import Interval
from tbgen.costs import seconds_of
from tbgen.index.layout import IMAGE, MIRROR_RANKS

if TYPE_CHECKING:
    from tbgen.beyond.proof import Prover


_STATES: Final = 150
"""States that are looked at to find out what keeps the bounds apart..."""
_MOST_STATES: Final = _STATES << 4
"""...and at most so many, where the first ones say nothing, or only of what takes long..."""
_SLOTS_A_STATE: Final = 1 << 20
"""...which is more than so many slots for each state that has been looked at: to look at one takes a tenth
of that time at most, what is made for an accrued score of a cell included."""


class Search:
    """Narrows the bounds of one state.

    :param given: the state's position.
    :param accrued: code of its accrued score.
    :param meter: the rest of the budget.
    :param progress: called with the interval now, the number of cells solved, and, where that is known, how
        many more are needed and the seconds that these should take.
    :param prover: proves each solution, in time that does not count; None for no proofs.
    """

    def __init__(
        self,
        known: Known,
        given: CellPosition,
        accrued: Code,
        meter: Meter,
        progress: Callable[[Interval, int, int | None, float | None], None],
        prover: "Prover | None" = None,
    ) -> None:
        self.known, self._budget, self._progress, self._prover = known, meter, progress, prover
        self.given, self.accrued = given, accrued
        self._cell, self._symmetry = given.cell.canonical()
        self._solver = CellSolver(known, self._cell, meter, prover)
        self.layers, self._ledger = self._solver.layers, self._solver.ledger
        self._score = seen_score(accrued, self._symmetry)
        """The accrued score in the canonical cell."""
        self._states = States(known, self.layers)
        self._guesses = States(known, self.layers, guess=True)
        """Play is followed by these first: to make layers takes longer than all the rest of it."""
        self._settled: tuple[int, frozenset[CellPlace]] | None = None
        """The number of solutions, and the play that was settled by them."""
        self._best: dict[chess.Move | None, Answer] = {}
        """What has been known of the state, by None, and of those after its moves."""
        self._chooser = Chooser(known, meter, self._cell, self._ledger)
        self._refused: Stop | None = None
        """What a cell took too much of that was given up last."""
        self._plays: dict[bool, Play] = {}
        """What play, and wider play, came to last."""

    @property
    def solved(self) -> int:
        """How many solutions there are."""
        return self._ledger.solved

    def run(self) -> Stop | None:
        """Narrow the bounds until they meet; return why not, if something else ends it."""
        if self.known.sure(self.given).exact:
            return None
        try:
            if self._cell not in self.known.cells and self._cell.size <= SMALL:  # it takes next to no time
                self._solver.solve(ToSolve(self._cell))
            elif self._cell in self.known.cells:
                self._ledger.ask(self._interval)
            if not self.answer().value.exact and not self._solver.is_complete(self._cell):
                self._solver.complete(ToSolve(self._cell))
            accrued = None if self.accrued == self.given.own else self._score
            while not self.answer().value.exact:
                self.tell()
                if not any(map(self._narrow_within, self._ledger.intervals(self._interval, accrued))):
                    left = self._budget.left > 0
                    return (self._refused or Stop.NOTHING_LEFT) if left else self._budget.shortage
        except OutOfBudgetError as error:
            return error.stop
        except MemoryError:  # there is less than was allowed
            self.layers.drop_all()
            return Stop.MEMORY
        return None

    def answer(self, step: Step | None = None) -> Answer:
        """Return what is known of the state, or of that after a move of it."""
        if step is None:
            position, found = self.given, self.state(self.given, self.accrued)
        else:
            position, found = step.after, self._states.after(step, self.accrued)
        if step is None and found.value == (self.accrued, self.accrued):
            found = Answer(found.value, (0, 0))
        elif found.depth is not None and not self._is_settled(position):
            found = Answer(found.value)
        found = found.within(Answer(self.known.sure(position)))
        # A layer made in a closer window may know less than the one before.
        move = None if step is None else step.move
        self._best[move] = found = found.within(self._best.get(move, found))
        return found

    def _is_settled(self, position: CellPosition) -> bool:
        """Whether a depth that both ends agree on is sure.

        Of a cell that was solved by an earlier search nobody knows what was open then.
        """
        if position.over or self.known.cells.has_values(position.cell.canonical()[0]):
            return True
        if not self._ledger.has(self._cell):
            return False
        if self._settled is None or self._settled[0] != self.solved:
            self._settled = self.solved, settled_play(self._states, self.known, self.given)
        return position.place in self._settled[1]

    def state(self, position: CellPosition, accrued: Code) -> Answer:
        """Return what is known of any state."""
        return self._states.of(position, accrued)

    def steps(self) -> Iterator[Step]:
        """Yield the moves of the state, in the order that they have in its canonical cell."""
        image, own = IMAGE[self._symmetry], {step.move: step for step in self.given.moves()}
        for move in self.given.seen_by(self._symmetry).board.legal_moves:
            yield own[chess.Move(image[move.from_square], image[move.to_square], move.promotion)]

    def tell(self, left: list[Cell] | None = None) -> None:
        """Report progress, with the cells that are known to be needed."""
        seconds = None if left is None else self._budget.seconds_of(cell.size for cell in left)
        self._progress(self.answer().value, self.solved, None if left is None else len(left), seconds)

    @property
    def _interval(self) -> Interval:
        """What the state may be worth, in its canonical cell."""
        now = self.answer().value
        return now.swapped if self._symmetry & MIRROR_RANKS else now

    def _narrow_within(self, interval: Interval) -> bool:
        """Solve something that may tell where in an interval the value of the state lies, promotions last;
        return whether there was anything."""
        self._ledger.ask(interval)
        return self._narrow() or self._narrow_promotions()

    def _narrow(self) -> bool:
        """Solve something that may narrow the bounds of the state; return whether there was anything."""
        root = self.given.seen_by(self._symmetry)
        for wide, states in product((False, True), (self._guesses, self._states)):
            follower = Follower(states, root, self._score, self._ledger.is_solved, wide, self._ledger.asked)
            most, complete = 0, False
            while not complete and self._has_time():
                most = most * 2 or _STATES
                play = self._plays[wide] = follower.follow(most, self._has_time)
                if self._solve_again(play.states, play):
                    return True
                complete = play.complete or most >= _MOST_STATES
                choices = self._chooser.choices(play)
                least = choices[0].effort if choices else None
                if self._look_up(play, least):
                    return True
                if least is None or not (complete or least <= most * _SLOTS_A_STATE):
                    continue
                if self._solve_new(choices, play) or self._look_up(play, None):
                    return True
        return False

    def _look_up(self, play: Play, least: int | None) -> bool:
        """Have tables tell what play comes to and they hold, unless solving again what is above takes more
        than the best choice does; return whether that narrows bounds above it.

        :param least: slots that the best choice takes, if there is any.
        """
        cells, tables = self.known.cells, self.known.tables
        ways = set(filter(tables.opens, play.ways))
        few = {cell for cell in play.states if tables.answers(cell) and not cells.has_values(cell)}
        above = set[Cell]().union(*map(play.all_above, ways | few))
        if least is not None and effort(map(ToSolve, above)) > least:
            return False
        told = set(ways)
        for home in ways:
            tables.open(home)
        with self._budget.reserving([self._cell.size], again=True):
            for cell in few:
                if self._budget.has_time(seconds_of("look-ups", cell.size, self._budget.threads), 0):
                    cells.add(tables.bounds(cell))
                    told.add(cell)
        self._ledger.add_told(told)
        return self._solve_again(set[Cell]().union(*map(play.all_above, told)), play)

    def _has_time(self) -> bool:
        return self._budget.left > 0

    def _narrow_promotions(self) -> bool:
        """Find the values after a promotion that leaves more mobile men than cells have, where it keeps the
        bounds apart; return whether there was one, and time and memory for it.

        They have no depths, and so no proof.
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
        """Return the whole cells to solve next for what is known after a promotion that leads to a home, and
        at which end: first how much the side may hope for that has promoted. Nothing if all is known."""
        for end in (UPPER, LOWER):
            if cells := self.known.promoted.unsolved(home, self._ledger.window, [end]):
                return cells, (end,)
        return [], ()

    def _solve_promoted(self, home: Cell) -> bool:
        """Find one end of the values after the promotion that leads to a home; return whether there were time
        and memory for it."""
        (cells, ends), budget = self.unsolved_promotions(home), self._budget
        seconds, memory = values_take(cells, self.known.won.mobile, budget.threads, len(ends))
        try:
            budget.ask_for(seconds)
            if not budget.allows(memory) or not budget.allows(self.layers.drop_all() + memory):
                raise OutOfBudgetError(Stop.MEMORY)
            self._progress(self.answer().value, self.solved, len(cells), seconds)
            given = cells, home.frozen[0].man.kind, self.known, budget.threads, lambda: budget.ask_for(0)
            found = self.known.promoted.solve(*given, self._ledger.window, ends)
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
        """Solve what play leads to, best first, for as long as it takes to solve again what is above all of
        it; and then all that is above. Return whether anything was solved, or given up that leaves something
        else to solve."""
        before, taken, given_up = self.solved, 0, len(self._ledger.refused_wins)
        above: set[Cell] = set()
        for choice in choices:
            enough = choice.late or taken > effort(map(ToSolve, above & choice.above))
            if self.solved > before and enough:
                break
            try:
                with self._budget.reserving((cell.size for cell in above | choice.above), again=True):
                    self._solve_all(choice)
            except OutOfBudgetError as error:
                self._refuse(choice.cells[-1].cell, error.stop)
            above |= choice.above
            taken += choice.effort - effort(map(ToSolve, choice.above))
        if self.solved > before:
            with contextlib.suppress(OutOfBudgetError):
                self._solve_again(above, play)
        return self.solved > before or len(self._ledger.refused_wins) > given_up

    def _solve_all(self, choice: Choice) -> None:
        """Solve the cells of a choice in their order.

        :raises OutOfBudgetError: as soon as there is no time or memory for one.
        """
        with self._budget.reserving(each.cell.size for each in choice.cells):
            for home in choice.homes:
                self.tell()
                self._refused = self._solver.solve_wins(home) or self._refused
        for number, each in enumerate(choice.cells):
            if len(choice.cells) > 1:
                self.tell([left.cell for left in choice.cells[number:]])
            if choice.ahead or not self._ledger.is_held(each.cell):
                self._solver.complete(each)
                if choice.ahead:
                    self._ledger.add_ahead(each.cell, each.ends)
                else:
                    self._ledger.add_whole(each.cell)

    def _solve_again(self, cells: Iterable[Cell], play: Play) -> bool:
        """Solve cells again at ends that may be narrowed on the play, the lowest cells first; return whether
        there were any."""
        solved = False
        for cell in sorted(cells, key=height):
            if ends := self._stale_ends(cell, play):
                solved |= self._solver.solve(ToSolve(cell, ends))
        return solved

    def _stale_ends(self, cell: Cell, play: Play) -> tuple[int, ...]:
        """Return the ends of a cell that may be narrowed on the play, because something below it was solved
        later, or it was solved in a window that is too close now."""
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
            found |= stale & ends_to_narrow(play.seen_by, *state, self._ledger.asked(cell))
        return tuple(sorted(found))

    def _refuse(self, cell: Cell, stop: Stop) -> None:
        """Give a cell up for which there is no time or memory.

        :raises OutOfBudgetError: if there is no time at all.
        """
        self._refused = stop
        if self._budget.left <= 0:
            raise OutOfBudgetError(self._budget.shortage)
        self._ledger.refused.add(cell)
