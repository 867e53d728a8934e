"""The play that keeps the ends of an interval apart, from a state through the cells that have been solved.

White chooses moves by the upper ends of what they are worth and Black by the lower ones: the best that they
may still hope for. In wider play they choose any move that may be worth more than what they are sure of.
Where such play leaves a cell for what is not exactly known, more has to be found out.

Two orders take turns. One looks first at the states whose ends come from nearest. The other follows the play
in which both sides choose the move that gets them soonest to what they hope for: play that stays inside a
cell ends with one score, which cannot be both ends, so this play leaves it. Then it follows what deviates
from that once, and so on: the second-best move counts as one deviation, the third as two (limited discrepancy
search, Harvey and Ginsberg, 1995).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from typing import TypeAlias

import chess

from tbgen.beyond.exit_sources import Answer
from tbgen.beyond.knowledge import States, best_of, carried
from tbgen.board.score import Code
from tbgen.cells.bounds import ENDS, LOWER, UPPER, WORST
from tbgen.cells.cell import Cell, CellPlace, CellPosition, Step
from tbgen.cells.window import FAR, Interval
from tbgen.index.layout import MIRROR_RANKS

State: TypeAlias = tuple[CellPosition, Code]
"""A position of a canonical cell, and its accrued score."""
_Key: TypeAlias = tuple[CellPlace, Code]
"""What tells a state from others."""
_Entry: TypeAlias = tuple[int, int, CellPosition, Code]
"""A state in a queue: its place there, and the order in which it was found."""


@dataclass
class Play:
    """What play comes to whose bounds differ; all cells are canonical.

    :ivar seen_by: by what was looked up how the bounds differ.
    :ivar states: the states of solved cells, by cell, those first that were found first.
    :ivar ways: positions of cells that play is not followed in, by cell: the first one of each.
    :ivar above: the solved cells from which moves lead to a cell, by this cell; each with whether colours are
        swapped on the way (or both).
    :ivar complete: whether there are no more states than have been looked at.
    """

    seen_by: States
    states: dict[Cell, list[State]] = field(default_factory=dict)
    ways: dict[Cell, CellPosition] = field(default_factory=dict)
    above: dict[Cell, dict[Cell, set[bool]]] = field(default_factory=dict)
    complete: bool = True

    def all_above(self, cell: Cell) -> set[Cell]:
        """Return the solved cells from which play leads to a cell, directly or by way of others."""
        found: set[Cell] = set()
        left = [cell]
        while left:
            new = self.above.get(left.pop(), {}).keys() - found
            found |= new
            left += new
        return found

    def below(self, cell: Cell) -> Iterator[tuple[Cell, bool]]:
        """Yield the cells that moves lead to from a solved cell, and whether colours are swapped on the
        way."""
        for home, above in self.above.items():
            for swapped in above.get(cell, ()):
                yield home, swapped


class Follower:
    """Follows the play that keeps ends apart, from a state of a solved canonical cell.

    :param accrued: the state's accrued score.
    :param enters: tells in which other solved cells play is followed.
    :param wide: whether to follow all moves that may be worth more than what is sure.
    :param window_of: tells between which scores it matters what positions of a cell are worth.
    """

    def __init__(
        self,
        states: States,
        position: CellPosition,
        accrued: Code,
        enters: Callable[[Cell], bool],
        wide: bool,
        window_of: Callable[[Cell], Interval],
    ) -> None:
        self._states, self._enters, self._wide, self._window_of = states, enters, wide, window_of
        self._play = Play(states)
        self._deviations: dict[_Key, int] = {}
        """The fewest by which states have been found..."""
        self._done: set[_Key] = set()
        """...and those looked at."""
        self._near: list[_Entry] = []
        """States to look at, by plies,..."""
        self._straight: list[_Entry] = []
        """...and the same by deviations."""
        self._order = count()
        self._add(0, 0, position, accrued)

    def follow(self, most: int, has_time: Callable[[], bool]) -> Play:
        """Return what play comes to; it goes on where it was.

        :param most: how many states to look at, with those looked at before.
        :param has_time: tells whether to look at one more.
        """
        while self._near and len(self._done) < most and has_time():
            # All states that are left are in the one queue, and in the other as well.
            *_, here, score = heappop(self._near if len(self._done) % 2 else self._straight)
            if (key := _key(here, score)) not in self._done:
                self._done.add(key)
                self._look_at(here, score, self._deviations[key])
            while self._near and _key(*self._near[0][2:]) in self._done:
                heappop(self._near)
        self._play.complete = not self._near
        return self._play

    def _look_at(self, here: CellPosition, accrued: Code, deviations: int) -> None:
        window = self._window_of(here.cell)
        now = self._states.canonical(here, accrued).value
        if now.seen(window).exact:
            return
        self._play.states.setdefault(here.cell, []).append((here, accrued))
        moves = [(step, self._states.after(step, accrued)) for step in here.moves()]
        # Where solutions in several windows are put together, a bound may be better than those of all moves.
        now = now.within(best_of([then.value for _, then in moves], here.board))
        for more, (step, then) in enumerate(followed(moves, now, here.board, window, wide=self._wide)):
            if step.inside:
                held = carried(step, accrued)
                self._add(_plies_out(then, held), deviations + more, step.after, held)
            elif step.zeroing:
                self._leave(here.cell, step.after, deviations + more)

    def _leave(self, cell: Cell, after: CellPosition, deviations: int) -> None:
        """Go on in the cell that a move out of one leads to, if play is followed there."""
        home, symmetry = after.cell.canonical()
        swapped = bool(symmetry & MIRROR_RANKS)
        self._play.above.setdefault(home, {}).setdefault(cell, set()).add(swapped)
        if not self._enters(home):
            self._play.ways.setdefault(home, after)
        else:
            there = after.seen_by(symmetry)
            plies = _plies_out(self._states.canonical(there, there.own), there.own)
            self._add(plies, deviations, there, there.own)

    def _add(self, plies: int, deviations: int, position: CellPosition, accrued: Code) -> None:
        key, order = _key(position, accrued), next(self._order)
        before = self._deviations.get(key)
        if before is None:
            heappush(self._near, (plies, order, position, accrued))
        if before is None or (deviations < before and key not in self._done):
            self._deviations[key] = deviations
            heappush(self._straight, (deviations, order, position, accrued))


def _key(position: CellPosition, accrued: Code) -> _Key:
    return position.place, accrued


def _plies_out(answer: Answer, accrued: Code) -> int:
    """About how far from a state its bounds are decided: plies to where an end that is not the accrued score
    comes from."""
    if answer.depths is None:  # it is known from the moves that come next
        return 1
    ends = zip(answer.value, answer.depths, strict=True)
    return min((depth for code, depth in ends if code != accrued), default=FAR)


def followed(
    moves: Sequence[tuple[Step, Answer]],
    now: Interval,
    board: chess.Board,
    window: Interval,
    *,
    wide: bool = False,
) -> list[tuple[Step, Answer]]:
    """Return the moves that play follows from a state, with what is known after them, and first those that
    get the side to move soonest to what it hopes for.

    :param moves: all moves, with what is known after them.
    :param now: what is known of the state, by its moves as well.
    :param window: between which scores it matters what it is worth.
    :param wide: whether the play is wider.
    """
    end = UPPER if board.turn else LOWER

    def order(then: Answer) -> tuple[bool, int]:
        less = then.value.seen(window)[end] != now.seen(window)[end]
        return less, 0 if then.depths is None else then.depths[end]

    def is_followed(then: Interval) -> bool:
        if then.seen(window).exact:
            return False
        if wide:
            return then.upper < now.lower if board.turn else then.lower > now.upper
        # It may even seem to be worth more: a cell of an earlier run was solved when more was known of where
        # its moves lead, for small cells are not kept.
        return then.upper <= now.upper if board.turn else then.lower >= now.lower

    return sorted((move for move in moves if is_followed(move[1].value)), key=lambda move: order(move[1]))


def ends_to_narrow(states: States, position: CellPosition, accrued: Code, window: Interval) -> set[int]:
    """Return the ends at which a solution of its cell may narrow what is known of a state of a canonical
    cell: its moves are known to be worth more to one side than its own bounds say, or nothing is known, so
    that moves inside the cell do not show anything either.

    :param window: between which scores it matters what the state is worth.
    """
    known = states.canonical(position, accrued).value
    now = known.seen(window)
    by_moves = best_of([states.after(step, accrued).value for step in position.moves()], position.board)
    narrowed = now.within(by_moves.seen(window))
    return {end for end in ENDS if narrowed[end] != now[end] or known[end] == WORST[end]}
