"""Which cells to solve, and in which order, so that the bounds of one state close in.

The state's own cell comes first. While its bounds differ, play is followed in which White does what may be
best for him by the upper bounds and Black by the lower ones: what such play leaves the cell for is what keeps
the bounds apart. The cells found there are solved, small ones first, and then the cell above them again.
Bounds are proved from bounds that were proved before, never in a circle, and so they only ever narrow.
"""

import contextlib
import time
from collections.abc import Callable, Iterator
from functools import partial
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final, TypeAlias

import chess

from tbgen.board.score import NONE, Code, GScore, rank_of_code
from tbgen.board.signed import code_of, of_gscore
from tbgen.cells.bounds import (
    ENDS,
    LOWER,
    UPPER,
    WORST,
    Block,
    Games,
    Interval,
    NoCodeError,
    SomeKnowledge,
)
from tbgen.cells.cell import Cell, side_of
from tbgen.cells.frames import frame_of_cell
from tbgen.cells.position import CellPosition, Step
from tbgen.cells.routes import Route, routes_of
from tbgen.index.symmetry import IMAGE, MIRROR_RANKS
from tbgen.solve.answer import Answer
from tbgen.solve.knowledge import Known
from tbgen.solve.layers import CellLayers
from tbgen.solve.meter import Meter, OutOfBudgetError
from tbgen.solve.solved_cells import home_of_route

if TYPE_CHECKING:  # who proves nothing does without
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

    :param meter: what is left of the budget.
    :param progress: called with the interval now and the number of cells solved.
    :param prover: proves what is found, in time that does not count; None to leave that out.
    """

    def __init__(
        self,
        known: Known,
        root: CellPosition,
        accrued: GScore | None,
        meter: Meter,
        progress: Callable[[Interval, int], None],
        prover: "Prover | None" = None,
    ) -> None:
        self._known, self._budget, self._progress, self._prover = known, meter, progress, prover
        self.solved = 0
        _, self._symmetry = root.cell.canonical()
        self._root = root.seen_by(self._symmetry)
        self._layers = CellLayers(known, meter, self._root.cell, None if prover is None else prover.layer)
        swapped = bool(self._symmetry & MIRROR_RANKS)
        self._accrued = None if accrued is None else code_of(of_gscore(accrued), swapped)
        self._given_up: set[Cell] = set()
        self._stale: set[Cell] = set()
        """Cells that may be narrowed by solving them again: something below has been solved since."""
        self._refused = False
        """Whether a cell has been given up because it took too much time or memory."""

    def run(self) -> bool:
        """Narrow the bounds until they meet or nothing is left to try; return whether the budget lasted."""
        if self._known.sure(self._root).exact:
            return True
        try:
            cell = self._root.cell
            if not self._is_solved(cell):
                if cell.size <= _SMALL:  # it may be enough, and takes next to no time
                    self._solve(cell)
                if not self.answer().value.exact:
                    self._complete(cell)
            else:
                self._stale.add(cell)
            while not self.answer().value.exact:
                self._progress(self.answer().value, self.solved)
                if not self._narrow(self._root, self._accrued, {cell}):
                    return not self._refused and self._budget.left > 0
        except OutOfBudgetError:
            return False
        return True

    @property
    def has_cell(self) -> bool:
        """Whether the cell of the asked position is solved."""
        return self._is_solved(self._root.cell)

    def release(self) -> None:
        """Give memory back that only saves time when more is asked."""
        self._layers.release()

    def answer(self, step: Step | None = None) -> Answer:
        """Return what is known of the state, or of that after a move of it, as the root was given."""
        accrued = self._accrued
        if step is None:
            here, found = self._root, self._state(self._root, accrued)
        else:
            here, found = step.after, self._after(step, self._root, accrued)
        found = found.within(Answer(self._known.sure(here)))
        return found.swapped if self._symmetry & MIRROR_RANKS else found

    def state(self, position: CellPosition, accrued: Code) -> Answer:
        """Return what is known of any state, however its cell is seen."""
        _, symmetry = position.cell.canonical()
        if not symmetry & MIRROR_RANKS:
            return self._state(position.seen_by(symmetry), accrued)
        return self._state(position.seen_by(symmetry), Code(255 - accrued)).swapped

    def steps(self) -> Iterator[tuple[chess.Move, Answer]]:
        """Yield the moves of the root, and what is known of the state after each."""
        for step in self._root.moves():
            image, move = IMAGE[self._symmetry], step.move
            move = chess.Move(image[move.from_square], image[move.to_square], move.promotion)
            yield move, self.answer(step)

    def _solve(self, cell: Cell) -> None:
        """Solve a canonical cell, or solve it again.

        :raises OutOfBudgetError: if there is no time or memory for it.
        """
        self._ask(cell)
        self._solve_granted(cell)

    def _ask(self, cell: Cell) -> None:
        self._budget.ask(cell.size, self._is_solved(cell))
        fits = partial(self._budget.fits, cell.size)
        if not fits(self._known.nbytes) or not fits(self._layers.make_room(cell)):
            raise OutOfBudgetError

    def _is_solved(self, cell: Cell) -> bool:
        return self._known.cells.get(cell) is not None

    def _solve_granted(self, cell: Cell) -> None:
        began, again = time.perf_counter(), self._is_solved(cell)
        games = self._games_of(cell)
        ready = time.perf_counter()
        bounds = games.solve()
        now = time.perf_counter()
        self._budget.learn(cell.size, again, now - began, now - ready)
        if self._prover is not None:
            self._prover.cell(bounds)
        self._known.cells.add(bounds)
        self._stale.discard(cell)
        self._layers.renew(games)
        self.solved += 1

    def _games_of(self, cell: Cell) -> Games:
        """Return the games of a cell that is to be solved.

        :raises OutOfBudgetError: if that takes too long; not at first for the asked position's cell, without
            which there is no answer.
        """
        if cell == self._root.cell and not self._is_solved(cell):
            return Games(cell, self._known)

        def block(route: Route, end: int) -> Block | None:
            self._budget.ask_again(cell.size)
            return self._known.block(route, end)

        return Games(cell, SomeKnowledge(block, self._known.bound))

    def _complete(self, cell: Cell) -> None:
        """Solve a cell, after small ones that it rests on, as far as they are worth it.

        The time for it is asked for before: small cells that take longer than they should do not take it.
        """
        self._ask(cell)
        again = self._is_solved(cell)
        with self._budget.reserving(cell.size, again), contextlib.suppress(OutOfBudgetError):
            self._solve_below(cell, _SLOTS_BELOW)
            self._solve_replies(cell, _SLOTS_BELOW)
        self._layers.make_room(cell)
        self._solve_granted(cell)

    def _solve_below(self, cell: Cell, slots: int) -> int:
        """Solve cells that a cell rests on, and first those that they rest on, until they have so many slots
        together; return how many slots are left."""
        for home in self._unknown_homes(cell):
            if home.size > min(_SMALL, cell.size) or slots <= 0:
                break
            if not self._is_solved(home):
                slots = self._solve_below(home, slots - max(home.size, _TINY))
                try:
                    self._solve(home)
                except NoCodeError:
                    self._given_up.add(home)
        return slots

    def _solve_replies(self, cell: Cell, slots: int) -> None:
        """Solve small cells that ways out of a large cell's large ways out lead to, until they have so many
        slots together: what a man is worth that captures and is captured in turn needs no more."""
        large = [home for home in self._unknown_homes(cell) if _SMALL < home.size <= cell.size]
        for home in large:
            self._solve_below(home, slots // len(large))

    def _unknown_homes(self, cell: Cell) -> list[Cell]:
        """Return the cells that a cell rests on and that might be solved, small ones first."""
        routes = routes_of(frame_of_cell(cell))
        homes = {home_of_route(route).canonical()[0] for route in routes if not route.quiet}
        return sorted(
            (
                home
                for home in homes - self._given_up
                if not self._is_solved(home) and not self._known.tables.has_cell(home)
            ),
            key=lambda home: (home.size, home),
        )

    def _state(self, position: CellPosition, accrued: Code | None) -> Answer:
        """What is known of a state of a solved cell, in the orientation of that cell."""
        own = position.own
        if position.over:
            return Answer(Interval(own, own), (0, 0))
        if position.board.has_legal_en_passant():
            return self._by_moves(position)
        cell, side, slot = position.cell, side_of(position.board), position.slot
        fresh = self._known.cells.get(cell)
        if fresh is None:
            with_own = accrued is None or accrued == own
            return Answer(self._known.worth(position) if with_own else Interval(*WORST))
        bounds = fresh
        if accrued is not None and accrued != own and rank_of_code(accrued) <= rank_of_code(own):
            layer = self._layers.layer(fresh, accrued)
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
        answers = [self._after(step, position, position.own) for step in position.moves()]
        best = min if position.board.turn else max
        return Answer(Interval(*(best(answer.value[end] for answer in answers) for end in ENDS)))

    def _after(self, step: Step, position: CellPosition, accrued: Code | None) -> Answer:
        """What is known of the state after a move."""
        if step.zeroing:
            return Answer(self._known.worth(step.after))
        if not step.inside:
            return Answer(Interval(*WORST))
        return self._state(step.after, carried(step, position.own if accrued is None else accrued))

    def _narrow(self, position: CellPosition, accrued: Code | None, above: set[Cell]) -> bool:
        """Solve something that may narrow the bounds of a state; return whether there was anything."""
        cell, found = position.cell, self._loose(position, accrued)
        before, solved = list(map(self._known.worth, found.values())), self.solved
        try:
            # What is found below the cell would be lost without that.
            with self._budget.reserving(cell.size, again=True):
                narrowed = self._solve_new(cell, found, above) or self._narrow_known(found, above)
        except OutOfBudgetError:
            narrowed, self._refused = False, True
        if self.solved > solved:  # if only small ones, before a large one that took too long
            self._stale.add(cell)
        same = list(map(self._known.worth, found.values())) == before
        if cell not in self._stale or (narrowed and same):
            return narrowed
        try:
            self._solve(cell)
        except NoCodeError:  # with what is known now, but not before
            self._stale.discard(cell)
            self._given_up.add(cell)
            return narrowed
        return True

    def _solve_new(self, cell: Cell, found: WaysOut, above: set[Cell]) -> bool:
        """Solve cells that have not been solved yet, several if they are small; return whether there were
        any."""
        solved = 0
        new = {home for home in found if not self._is_solved(home)}
        for home in sorted(new - self._given_up, key=lambda home: home.size):
            if solved and (solved == _AT_ONCE or home.size * _MUCH_SMALLER > cell.size):
                break
            try:
                self._complete(home)
                solved += 1
            except OutOfBudgetError:
                self._refuse(home if len(above) == 1 else None)
            except NoCodeError:
                self._given_up.add(home)
        return solved > 0

    def _narrow_known(self, found: WaysOut, above: set[Cell]) -> bool:
        """Narrow the bounds of a way out whose cell has been solved; return whether there was a way."""
        for home, after in found.items():
            if home in above or home in self._given_up or not self._is_solved(home):
                continue
            _, symmetry = after.cell.canonical()
            try:
                if self._narrow(after.seen_by(symmetry), None, above | {home}):
                    return True
                self._given_up.add(home)
            except OutOfBudgetError:
                self._refuse(home)
        return False

    def _refuse(self, cell: Cell | None) -> None:
        """Give a cell up for which there is no time or memory; None for one that there may be elsewhere.

        :raises OutOfBudgetError: if there is no time at all.
        """
        self._refused = True
        if self._budget.left <= 0:
            raise OutOfBudgetError
        if cell is not None:
            self._given_up.add(cell)

    def _loose(self, position: CellPosition, accrued: Code | None) -> WaysOut:
        """Find moves out of the cell that keep the bounds of a state apart, nearest ones first."""
        found: WaysOut = {}
        score = position.own if accrued is None else accrued
        seen = {(side_of(position.board), position.slot, score)}
        queue = [(0, 0, position, score)]
        for _ in range(_STATES):
            if not queue or self._budget.left <= 0:
                break
            *_, here, score = heappop(queue)
            now = self._state(here, score).value
            if now.exact:
                continue
            end = UPPER if here.board.turn else LOWER
            for step in here.moves():
                then = self._after(step, here, score)
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


def carried(step: Step, accrued: Code) -> Code:
    """Return the accrued score after a quiet move."""
    own = step.after.own
    return own if rank_of_code(own) < rank_of_code(accrued) else accrued
