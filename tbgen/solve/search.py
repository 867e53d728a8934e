"""Which cells to solve, and in which order, so that the bounds of one state close in.

The state's own cell comes first. While its bounds differ, play is followed in which White does what may be
best for him by the upper bounds and Black by the lower ones: what such play leaves the cell for is what keeps
the bounds apart. The cells found there are solved, small ones first, and then the cell above them again.
Bounds are proved from bounds that were proved before, never in a circle, and so they only ever narrow.
"""

import contextlib
import time
from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final, TypeAlias

import chess

from tbgen.board.score import NONE, Code, rank_of_code
from tbgen.cells.bounds import (
    ENDS,
    LOWER,
    UPPER,
    WORST,
    Block,
    Interval,
    NoCodeError,
    SomeKnowledge,
)
from tbgen.cells.cell import Cell, side_of
from tbgen.cells.games import Games
from tbgen.cells.lineup import lineup_of_cell
from tbgen.cells.position import CellPosition, Step
from tbgen.cells.routes import Route, home_of_route, routes_of
from tbgen.costs import memory_of, seconds_of
from tbgen.index.symmetry import IMAGE, MIRROR_RANKS
from tbgen.solve.answer import Answer
from tbgen.solve.budget import Stop
from tbgen.solve.knowledge import Known
from tbgen.solve.layers import CellLayers
from tbgen.solve.meter import Meter, OutOfBudgetError

if TYPE_CHECKING:  # not needed without proofs
    from tbgen.solve.proof import Prover

_FAR: Final = 1 << 16
"""Plies to what is never reached."""
_STATES: Final = 150
"""States of a cell that are looked at to find out what keeps the bounds apart."""
_SMALL: Final = 64**3
"""Slots up to which the cells below a cell are solved before it, one after the other..."""
_SLOTS_BELOW: Final = 2 << 20
"""...until they have so many slots together..."""
_TINY: Final = 64**3 // 4
"""...where smaller ones count for so many."""
_AT_ONCE: Final = 6
"""Cells that are solved before the cell above them is solved again, where they are much smaller."""
_MUCH_SMALLER: Final = 64


WaysOut: TypeAlias = dict[Cell, CellPosition]
"""Positions that moves lead to which keep the bounds of a cell apart, by the canonical cell that decides on
them."""


class Search:
    """Narrows the bounds of one state.

    :param given: the state's position.
    :param accrued: code of its accrued score.
    :param meter: the rest of the budget.
    :param progress: called with the interval now and the number of cells solved.
    :param prover: proves each solution, in time that does not count; None for no proofs.
    """

    def __init__(
        self,
        known: Known,
        given: CellPosition,
        accrued: Code,
        meter: Meter,
        progress: Callable[[Interval, int], None],
        prover: "Prover | None" = None,
    ) -> None:
        self.known, self._budget, self._progress, self._prover = known, meter, progress, prover
        self.given, self.accrued, self.solved = given, accrued, 0
        self._cell, self._symmetry = given.cell.canonical()
        self.layers = CellLayers(known, meter, self._cell, None if prover is None else prover.layer)
        self._given_up: set[Cell] = set()
        self._stale: set[Cell] = set()
        """Cells that may be narrowed by solving them again: something below has been solved since."""
        self._refused: Stop | None = None
        """What a cell took too much of that was given up last."""

    def run(self) -> Stop | None:
        """Narrow the bounds until they meet; return why not, if something else ends it."""
        if self.known.sure(self.given).exact:
            return None
        cell, root = self._cell, self.given.seen_by(self._symmetry)
        try:
            if cell in self.known.cells:
                self._stale.add(cell)
            else:
                if cell.size <= _SMALL:  # it may be enough, and takes next to no time
                    self._solve(cell)
                if not self.answer().value.exact:
                    self._complete(cell)
            while not self.answer().value.exact:
                self._progress(self.answer().value, self.solved)
                if not self._narrow(root, _image(self.accrued, self._symmetry), {cell}):
                    left = self._budget.left > 0
                    return (self._refused or Stop.NOTHING_LEFT) if left else self._budget.shortage
        except OutOfBudgetError as error:
            return error.stop
        return None

    def answer(self, step: Step | None = None) -> Answer:
        """Return what is known of the state, or of that after a move of it."""
        if step is None:
            position, found = self.given, self.state(self.given, self.accrued)
        else:
            position, found = step.after, self._after(step, self.accrued)
        return found.within(Answer(self.known.sure(position)))

    def state(self, position: CellPosition, accrued: Code) -> Answer:
        """Return what is known of any state."""
        _, symmetry = position.cell.canonical()
        found = self._state(position.seen_by(symmetry), _image(accrued, symmetry))
        return found.swapped if symmetry & MIRROR_RANKS else found

    def steps(self) -> Iterator[Step]:
        """Yield the moves of the state, in the order that they have in its canonical cell."""
        image, own = IMAGE[self._symmetry], {step.move: step for step in self.given.moves()}
        for move in self.given.seen_by(self._symmetry).board.legal_moves:
            yield own[chess.Move(image[move.from_square], image[move.to_square], move.promotion)]

    def _solve(self, cell: Cell) -> bool:
        """Solve a canonical cell, or solve it again; return whether values have room for its scores.

        :raises NoCodeError: if they have not, and the cell is that of the given position.
        :raises OutOfBudgetError: if there is no time or memory for it.
        """
        self._ask(cell)
        return self._solve_granted(cell)

    def _ask(self, cell: Cell) -> None:
        self._budget.ask(cell.size, cell in self.known.cells)
        if not self._budget.fits(cell.size, self.layers.make_room(cell)):
            raise OutOfBudgetError(Stop.MEMORY)

    def _solve_granted(self, cell: Cell) -> bool:
        began, again = time.perf_counter(), cell in self.known.cells
        games = self._games_of(cell)
        ready = time.perf_counter()
        try:
            bounds = games.solve()
        except NoCodeError:
            if cell == self._cell and not again:
                raise
            self._stale.discard(cell)
            self._given_up.add(cell)
            return False
        now = time.perf_counter()
        self._budget.learn(cell.size, again, now - began, now - ready)
        if self._prover is not None:
            self._prover.cell(bounds)
        self.known.cells.add(bounds)
        self._stale.discard(cell)
        self.layers.renew(games)
        self.solved += 1
        return True

    def _games_of(self, cell: Cell) -> Games:
        """Return the games of a cell that is to be solved.

        :raises OutOfBudgetError: if that takes too long; not at first for the given position's cell, without
            which there is no answer.
        """
        if cell == self._cell and cell not in self.known.cells:
            return Games(cell, self.known, self._budget.threads)

        def block(route: Route, end: int) -> Block | None:
            self._budget.ask_again(cell.size)
            return self.known.block(route, end)

        return Games(cell, SomeKnowledge(block, self.known.bound, self.known.same_ends), self._budget.threads)

    def _complete(self, cell: Cell) -> bool:
        """Solve a cell as :meth:`_solve` does, after small ones that it rests on, if they are worth it.

        The time for it is asked for before: small cells that take longer than they should do not take it.
        """
        self._ask(cell)
        again = cell in self.known.cells
        with self._budget.reserving(cell.size, again), contextlib.suppress(OutOfBudgetError):
            self._solve_wins(cell)
            self._solve_below(cell, _SLOTS_BELOW)
            self._solve_replies(cell, _SLOTS_BELOW)
        self.layers.make_room(cell)
        return self._solve_granted(cell)

    def _solve_wins(self, home: Cell) -> None:
        """Find what is won after a promotion that leads to a cell, if it is one, and that is still to do.

        :raises OutOfBudgetError: if there is no time or memory for it.
        """
        won, cells = self.known.won, list(self.known.won.unsolved(home))
        if cells:
            self._budget.ask_for(sum(seconds_of("wins", cell.size) for cell in cells))
        for cell in cells:
            if not self._budget.allows(self.layers.make_room(home) + memory_of("wins", cell.size)):
                raise OutOfBudgetError(Stop.MEMORY)
            wins = won.solve(cell, self.known, levels=self._prover is not None)
            self.solved += 1
            if self._prover is not None:
                self._prover.wins(wins)

    def _solve_below(self, cell: Cell, slots: int) -> int:
        """Solve cells that a cell rests on, and first those that they rest on, until they have so many slots
        together; return how many slots are left."""
        for home in self._unknown_homes(cell):
            if home.size > min(_SMALL, cell.size) or slots <= 0:
                break
            if home not in self.known.cells:
                slots = self._solve_below(home, slots - max(home.size, _TINY))
                self._solve(home)
        return slots

    def _solve_replies(self, cell: Cell, slots: int) -> None:
        """Solve small cells that ways out of a large cell's large ways out lead to, until they have so many
        slots together: what a man is worth that captures and is captured in turn needs no more."""
        large = [home for home in self._unknown_homes(cell) if _SMALL < home.size <= cell.size]
        for home in large:
            self._solve_below(home, slots // len(large))

    def _unknown_homes(self, cell: Cell) -> list[Cell]:
        """Return the cells that a cell rests on and that might be solved, small ones first."""
        routes = routes_of(lineup_of_cell(cell))
        homes = {home_of_route(route).canonical()[0] for route in routes if not route.quiet}
        unsolved = (home for home in homes - self._given_up if home not in self.known.cells)
        unknown = (home for home in unsolved if not self.known.tables.has_cell(home))
        return sorted(unknown, key=lambda home: (home.size, home))

    def _state(self, position: CellPosition, accrued: Code) -> Answer:
        """What is known of a state of a canonical cell."""
        own = position.own
        if position.over:
            return Answer(Interval(own, own), (0, 0))
        if position.board.has_legal_en_passant():
            return self._by_moves(position)
        cell, side, slot = position.cell, side_of(position.board), position.slot
        fresh = self.known.cells.get(cell)
        if fresh is None:
            return Answer(self.known.worth(position) if accrued == own else Interval(*WORST))
        bounds = fresh
        if accrued != own and rank_of_code(accrued) <= rank_of_code(own):
            layer = self.layers.layer(fresh, accrued)
            if layer.value[LOWER, side, slot] != NONE or layer.value[UPPER, side, slot] != NONE:
                bounds = layer
        ends, depths = [], []
        for end in ENDS:
            of_end = bounds if bounds.value[end, side, slot] != NONE else fresh
            ends.append(Code(int(of_end.value[end, side, slot])))
            depths.append(int(of_end.depth[end, side, slot]))
        return Answer(Interval(*ends), (depths[LOWER], depths[UPPER]))

    def _by_moves(self, position: CellPosition) -> Answer:
        """What is known of a position with an en passant right, from its moves: it has no earlier score."""
        answers = [self._after(step, position.own) for step in position.moves()]
        best = min if position.board.turn else max
        return Answer(Interval(*(best(answer.value[end] for answer in answers) for end in ENDS)))

    def _after(self, step: Step, accrued: Code) -> Answer:
        """What is known of the state after a move of one with an accrued score."""
        if step.zeroing:
            return Answer(self.known.worth(step.after))
        if not step.inside:
            return Answer(Interval(*WORST))
        return self.state(step.after, carried(step, accrued))

    def _narrow(self, position: CellPosition, accrued: Code, above: set[Cell]) -> bool:
        """Solve something that may narrow the bounds of a state; return whether there was anything."""
        cell, found = position.cell, self._loose(position, accrued)
        before, solved = list(map(self.known.worth, found.values())), self.solved
        try:
            # What is found below the cell would be lost without that.
            with self._budget.reserving(cell.size, again=True):
                narrowed = self._solve_new(cell, found, above) or self._narrow_known(found, above)
        except OutOfBudgetError as error:
            narrowed, self._refused = False, error.stop
        if self.solved > solved:  # if only small ones, before a large one that took too long
            self._stale.add(cell)
        same = list(map(self.known.worth, found.values())) == before
        if cell not in self._stale or (narrowed and same):
            return narrowed
        return self._solve(cell) or narrowed

    def _solve_new(self, cell: Cell, found: WaysOut, above: set[Cell]) -> bool:
        """Solve cells that have not been solved yet, several if they are small; return whether there were
        any."""
        solved, unsolved = 0, self.known.won.unsolved
        new = {home for home in found if home not in self.known.cells}
        for home in sorted(new - self._given_up, key=lambda home: (home.size, any(unsolved(home)))):
            if solved and (solved == _AT_ONCE or home.size * _MUCH_SMALLER > cell.size):
                break
            try:
                solved += self._complete(home)
            except OutOfBudgetError as error:
                self._refuse(home if len(above) == 1 else None, error.stop)
        return solved > 0

    def _narrow_known(self, found: WaysOut, above: set[Cell]) -> bool:
        """Narrow the bounds of a way out whose cell has been solved; return whether there was a way."""
        for home, after in found.items():
            if home in above or home in self._given_up or home not in self.known.cells:
                continue
            here = after.seen_by(after.cell.canonical()[1])
            try:
                if self._narrow(here, here.own, above | {home}):
                    return True
                self._given_up.add(home)
            except OutOfBudgetError as error:
                self._refuse(home, error.stop)
        return False

    def _refuse(self, cell: Cell | None, stop: Stop) -> None:
        """Give a cell up for which there is no time or memory; None for one that there may be elsewhere.

        :raises OutOfBudgetError: if there is no time at all.
        """
        self._refused = stop
        if self._budget.left <= 0:
            raise OutOfBudgetError(self._budget.shortage)
        if cell is not None:
            self._given_up.add(cell)

    def _loose(self, position: CellPosition, accrued: Code) -> WaysOut:
        """Find moves out of the cell that keep the bounds of a state apart, nearest ones first."""
        found: WaysOut = {}
        seen = {(side_of(position.board), position.slot, accrued)}
        queue = [(0, 0, position, accrued)]
        for _ in range(_STATES):
            if not queue or self._budget.left <= 0:
                break
            *_, here, score = heappop(queue)
            now = self.state(here, score).value
            if now.exact:
                continue
            end = UPPER if here.board.turn else LOWER
            for step in here.moves():
                then = self._after(step, score)
                if then.value.exact or then.value[end] != now[end]:
                    continue
                if step.inside:
                    held = carried(step, score)
                    key = side_of(step.after.board), step.after.slot, held
                    if key not in seen:
                        seen.add(key)
                        heappush(queue, (_plies_out(then, held), len(seen), step.after, held))
                elif step.zeroing:
                    found.setdefault(step.after.cell.canonical()[0], step.after)
        return found


def _plies_out(answer: Answer, accrued: Code) -> int:
    """About how far from a state its bounds are decided: plies to where an end that is not the accrued score
    comes from."""
    assert answer.depths is not None
    ends = zip(answer.value, answer.depths, strict=True)
    return min((depth for code, depth in ends if code != accrued), default=_FAR)


def _image(accrued: Code, symmetry: int) -> Code:
    """The accrued score of a position that is seen by a symmetry."""
    return Code(255 - accrued) if symmetry & MIRROR_RANKS else accrued


def carried(step: Step, accrued: Code) -> Code:
    """Return the accrued score after a quiet move."""
    own = step.after.own
    return own if rank_of_code(own) < rank_of_code(accrued) else accrued
