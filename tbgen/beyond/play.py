"""The play that keeps the ends of an interval apart, from a state through the cells that have been solved.

White chooses moves by their upper bounds and Black by their lower bounds: each side hopes for the best that
is still possible. In *wide* play, a side chooses any move that may be better than the value it is sure of.
Where such play leaves a cell for positions without exact bounds, more cells have to be solved.

States are examined in two orders alternately. One order takes first the states whose bounds come from the
nearest exits. The other order follows the play in which both sides choose the moves that reach the hoped-for
scores soonest. Play inside a cell ends with one score, which cannot be both bounds, so this play leaves the
cell. The order then follows play with one deviation, with two, and so on: the second-best move counts as one
deviation, the third-best as two (limited discrepancy search, Harvey and Ginsberg, 1995).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from typing import TypeAlias

import chess

from tbgen.beyond.exit_sources import Answer
from tbgen.beyond.knowledge import States, best_of, carried_score
from tbgen.board.score import Code
from tbgen.cells.bounds import ENDS, LOWER, UPPER, WORST
from tbgen.cells.cell import Cell, CellPosition, PositionKey, Step
from tbgen.cells.window import FAR, Interval
from tbgen.index.layout import MIRROR_RANKS

State: TypeAlias = tuple[CellPosition, Code]
"""A position of a canonical cell, and its accrued score."""
_Key: TypeAlias = tuple[PositionKey, Code]
"""Key of a state."""
_Entry: TypeAlias = tuple[int, int, CellPosition, Code]
"""Entry of a priority queue: priority, order of insertion, position and accrued score."""


@dataclass
class Play:
    """The states with differing bounds that play comes to; all cells are canonical.

    :ivar looked_up_in: the object in which the bounds were looked up.
    :ivar states: the states of solved cells, by cell, in the order in which they were found.
    :ivar unsolved: the unsolved cells that play leads to, each with the first position found in it.
    :ivar above: for each cell that play leads to, the solved cells from which moves lead there, each with
        whether these moves swap the colours (some may, and others not).
    :ivar complete: whether all states of the play have been examined.
    """

    looked_up_in: States
    states: dict[Cell, list[State]] = field(default_factory=dict)
    unsolved: dict[Cell, CellPosition] = field(default_factory=dict)
    above: dict[Cell, dict[Cell, set[bool]]] = field(default_factory=dict)
    complete: bool = True

    def all_above(self, cell: Cell) -> set[Cell]:
        """Return the solved cells from which play leads to a cell, directly or through other cells."""
        found: set[Cell] = set()
        waiting = [cell]
        while waiting:
            new = self.above.get(waiting.pop(), {}).keys() - found
            found |= new
            waiting += new
        return found

    def below(self, cell: Cell) -> Iterator[tuple[Cell, bool]]:
        """Yield the cells that moves from a solved cell lead to, and whether these moves swap the colours."""
        for home, above in self.above.items():
            for swapped in above.get(cell, ()):
                yield home, swapped


class Follower:
    """Follows the play that keeps the ends apart, from a state of a solved canonical cell.

    :param accrued: the accrued score of the state.
    :param enters: returns whether play is followed inside a cell.
    :param wide: whether to follow wide play.
    :param window_of: returns the scores between which positions of a cell matter.
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
        """The smallest number of deviations with which each state has been found."""
        self._examined: set[_Key] = set()
        """The states that have been examined."""
        self._by_plies: list[_Entry] = []
        """Queue of the states to examine, by plies."""
        self._by_deviations: list[_Entry] = []
        """Queue of the same states, by deviations."""
        self._order = count()
        self._add(0, 0, position, accrued)

    def follow(self, most: int, has_time: Callable[[], bool]) -> Play:
        """Continue to follow the play, and return it.

        :param most: maximum number of examined states, including those of earlier calls.
        :param has_time: returns whether time remains for one more state.
        """
        while self._by_plies and len(self._examined) < most and has_time():
            # Both queues contain all states that remain to be examined.
            *_, here, score = heappop(self._by_plies if len(self._examined) % 2 else self._by_deviations)
            if (key := _key(here, score)) not in self._examined:
                self._examined.add(key)
                self._examine(here, score, self._deviations[key])
            while self._by_plies and _key(*self._by_plies[0][2:]) in self._examined:
                heappop(self._by_plies)
        self._play.complete = not self._by_plies
        return self._play

    def _examine(self, here: CellPosition, accrued: Code, deviations: int) -> None:
        window = self._window_of(here.cell)
        now = self._states.canonical(here, accrued).value
        if now.clamped(window).exact:
            return
        self._play.states.setdefault(here.cell, []).append((here, accrued))
        moves = [(step, self._states.after(step, accrued)) for step in here.moves()]
        # If solutions in several windows are combined, a bound may be better than the bounds of all moves.
        now = now.within(best_of([then.value for _, then in moves], here.board))
        for more, (step, then) in enumerate(followed_moves(moves, now, here.board, window, wide=self._wide)):
            if step.inside:
                score = carried_score(step, accrued)
                self._add(_plies_to_exit(then, score), deviations + more, step.after, score)
            elif step.zeroing:
                self._add_after_exit(here.cell, step.after, deviations + more)

    def _add_after_exit(self, cell: Cell, after: CellPosition, deviations: int) -> None:
        """Add the position after a move out of a cell: to the queues, or to ``unsolved`` if its cell is not
        entered."""
        home, symmetry = after.cell.canonical()
        swapped = bool(symmetry & MIRROR_RANKS)
        self._play.above.setdefault(home, {}).setdefault(cell, set()).add(swapped)
        if not self._enters(home):
            self._play.unsolved.setdefault(home, after)
        else:
            there = after.image(symmetry)
            plies = _plies_to_exit(self._states.canonical(there, there.position_score), there.position_score)
            self._add(plies, deviations, there, there.position_score)

    def _add(self, plies: int, deviations: int, position: CellPosition, accrued: Code) -> None:
        key, order = _key(position, accrued), next(self._order)
        before = self._deviations.get(key)
        if before is None:
            heappush(self._by_plies, (plies, order, position, accrued))
        if before is None or (deviations < before and key not in self._examined):
            self._deviations[key] = deviations
            heappush(self._by_deviations, (deviations, order, position, accrued))


def _key(position: CellPosition, accrued: Code) -> _Key:
    return position.key, accrued


def _plies_to_exit(answer: Answer, accrued: Code) -> int:
    """Estimate the number of plies from a state to the exits that its bounds come from.

    Bounds that are the accrued score come from no exit and do not count.
    """
    if answer.depths is None:  # the bounds come from the next moves
        return 1
    ends = zip(answer.value, answer.depths, strict=True)
    return min((depth for code, depth in ends if code != accrued), default=FAR)


def followed_moves(
    moves: Sequence[tuple[Step, Answer]],
    now: Interval,
    board: chess.Board,
    window: Interval,
    *,
    wide: bool = False,
) -> list[tuple[Step, Answer]]:
    """Return the moves that play follows from a state, those first that reach the hoped-for score soonest.

    :param moves: all moves, with the bounds of the states after them.
    :param now: the bounds of the state, including those that its moves prove.
    :param window: the scores between which the state matters.
    :param wide: whether to follow wide play.
    """
    end = UPPER if board.turn else LOWER

    def order(then: Answer) -> tuple[bool, int]:
        is_less = then.value.clamped(window)[end] != now.clamped(window)[end]
        return is_less, 0 if then.depths is None else then.depths[end]

    def is_followed(then: Interval) -> bool:
        if then.clamped(window).exact:
            return False
        if wide:
            return then.upper < now.lower if board.turn else then.lower > now.upper
        # The bound after the move may even be better: a cell of an earlier run may have been solved with
        # bounds of small cells, which are not kept.
        return then.upper <= now.upper if board.turn else then.lower >= now.lower

    return sorted((move for move in moves if is_followed(move[1].value)), key=lambda move: order(move[1]))


def ends_to_narrow(states: States, position: CellPosition, accrued: Code, window: Interval) -> set[int]:
    """Return the ends at which solving the cell of a state may narrow the bounds of the state.

    At such an end the bounds after its moves are better than its own bound, or its own bound is the worst. In
    the latter case the moves inside the cell may be without bounds for the same reason.

    :param position: a position of a canonical cell.
    :param window: the scores between which the state matters.
    """
    bounds = states.canonical(position, accrued).value
    now = bounds.clamped(window)
    by_moves = best_of([states.after(step, accrued).value for step in position.moves()], position.board)
    narrowed = now.within(by_moves.clamped(window))
    return {end for end in ENDS if narrowed[end] != now[end] or bounds[end] == WORST[end]}
