"""The play that makes the two bounds of a state differ, followed through all cells that have been solved.

In this play White chooses moves by their upper bounds and Black by their lower bounds, so each side plays for
the best score that is still possible. In *wide* play, a side chooses any move that may be better than the
bound it is sure of. Where the play leaves the solved cells for positions without exact values, more cells
have to be solved. docs/glossary.md explains the terms.

States are examined in two orders, in turn. The first order prefers states whose bounds come from the
nearest exits. The second order prefers play with few *deviations*. Play without deviations chooses the moves
that reach the hoped-for scores soonest. Such play eventually leaves the cell: if it stayed inside, it would
end with one score, and the two bounds would be equal. The second-best move counts as one deviation, the
third-best move as two, and so on (limited discrepancy search, Harvey and Ginsberg, 1995).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from typing import TypeAlias

import chess

from tbgen.beyond.exit_sources import Answer
from tbgen.beyond.state_bounds import States, best_of, carried_score
from tbgen.board.score import Code
from tbgen.cells.bounds import ENDS, LOWER, UPPER, WORST
from tbgen.cells.cell import Cell, CellPosition, PositionKey, Step
from tbgen.cells.interval import FAR_DEPTH, Interval
from tbgen.index.layout import MIRROR_RANKS

State: TypeAlias = tuple[CellPosition, Code]
"""A position of a canonical cell, and its accrued score."""
_Key: TypeAlias = tuple[PositionKey, Code]
"""The key of a position, and the accrued score."""
_Entry: TypeAlias = tuple[int, int, CellPosition, Code]
"""Entry of a priority queue: priority, order of insertion, position and accrued score."""


@dataclass
class Play:
    """The states with an inexact value that play reaches. All cells are canonical.

    :ivar bound_source: the object in which the bounds were looked up.
    :ivar states: the states of each solved cell, in the order in which they were examined.
    :ivar unsolved_cells: the unsolved cells that play reaches, each with the first position found in it.
    :ivar entered_from: for each cell that play enters, the solved cells from which it is entered. The set for
        each solved cell contains True if some move from it enters the canonical cell with colours swapped,
        and False if some move enters it with the colours unchanged.
    :ivar is_complete: whether all states of the play have been examined.
    """

    bound_source: States
    states: dict[Cell, list[State]] = field(default_factory=dict)
    unsolved_cells: dict[Cell, CellPosition] = field(default_factory=dict)
    entered_from: dict[Cell, dict[Cell, set[bool]]] = field(default_factory=dict)
    is_complete: bool = True

    def all_cells_above(self, cell: Cell) -> set[Cell]:
        """Return the solved cells from which play leads to a cell, directly or through other cells."""
        cells: set[Cell] = set()
        queue = [cell]
        while queue:
            new_cells = self.entered_from.get(queue.pop(), {}).keys() - cells
            cells |= new_cells
            queue += new_cells
        return cells

    def homes_from(self, cell: Cell) -> Iterator[tuple[Cell, bool]]:
        """Yield the cells that play enters from a solved cell, and whether the colours are swapped.

        A cell occurs twice if it is entered in both ways.
        """
        for home, cells in self.entered_from.items():
            for swapped in cells.get(cell, ()):
                yield home, swapped


class PlayFollower:
    """Follows, from a state of a solved canonical cell, the play that makes its bounds differ.

    :param accrued: the accrued score of the state.
    :param may_enter: returns whether to follow play inside a cell.
    :param wide: whether to follow wide play.
    :param scores_of: returns the scores that need to be distinguished in a cell.
    """

    def __init__(
        self,
        states: States,
        position: CellPosition,
        accrued: Code,
        may_enter: Callable[[Cell], bool],
        wide: bool,
        scores_of: Callable[[Cell], Interval],
    ) -> None:
        self._states, self._may_enter, self._wide, self._scores_of = states, may_enter, wide, scores_of
        self._play = Play(states)
        self._deviations: dict[_Key, int] = {}
        """The smallest number of deviations with which each state has been found."""
        self._examined: set[_Key] = set()
        """The states that have been examined."""
        self._by_plies: list[_Entry] = []
        """Priority queue of the states to examine, by plies to the nearest exit."""
        self._by_deviations: list[_Entry] = []
        """Priority queue of the same states, by deviations."""
        self._insertions = count()
        self._add_state(0, 0, position, accrued)

    def follow(self, max_states: int, has_time: Callable[[], bool]) -> Play:
        """Continue to follow the play, and return it.

        :param max_states: maximum number of examined states, including the states of earlier calls.
        :param has_time: returns whether time remains for one more state.
        """
        while self._by_plies and len(self._examined) < max_states and has_time():
            # Each queue contains all states that remain to be examined.
            *_, position, score = heappop(self._by_plies if len(self._examined) % 2 else self._by_deviations)
            if (key := _state_key(position, score)) not in self._examined:
                self._examined.add(key)
                self._examine(position, score, self._deviations[key])
            while self._by_plies and _state_key(*self._by_plies[0][2:]) in self._examined:
                heappop(self._by_plies)
        self._play.is_complete = not self._by_plies
        return self._play

    def _examine(self, here: CellPosition, accrued: Code, deviations: int) -> None:
        """Record a state if its value is inexact, and add the states that play leads to from it."""
        scores = self._scores_of(here.cell)
        bounds = self._states.look_up(here, accrued).bounds
        if bounds.clamped(scores).exact:
            return
        self._play.states.setdefault(here.cell, []).append((here, accrued))
        moves = [(step, self._states.answer_after(step, accrued)) for step in here.moves()]
        # A bound may be better than the bounds of all moves if the ranks of a threshold are no longer kept.
        bounds = bounds.intersection(best_of([then.bounds for _, then in moves], here.board))
        for i, (step, then) in enumerate(followed_moves(moves, bounds, here.board, scores, wide=self._wide)):
            if step.is_inside:
                score = carried_score(step, accrued)
                self._add_state(_plies_to_exit(then, score), deviations + i, step.after, score)
            elif step.zeroing:
                self._add_after_exit(here.cell, step.after, deviations + i)

    def _add_after_exit(self, cell: Cell, position: CellPosition, deviations: int) -> None:
        """Add the position after a move out of a cell.

        It is added to the queues, or to ``unsolved_cells`` if its own cell must not be entered.
        """
        home, symmetry = position.cell.canonical()
        swapped = bool(symmetry & MIRROR_RANKS)
        self._play.entered_from.setdefault(home, {}).setdefault(cell, set()).add(swapped)
        if not self._may_enter(home):
            self._play.unsolved_cells.setdefault(home, position)
        else:
            image = position.image(symmetry)
            plies = _plies_to_exit(self._states.look_up(image, image.position_score), image.position_score)
            self._add_state(plies, deviations, image, image.position_score)

    def _add_state(self, plies: int, deviations: int, position: CellPosition, accrued: Code) -> None:
        key = _state_key(position, accrued)
        order = next(self._insertions)
        earlier = self._deviations.get(key)
        if earlier is None:
            heappush(self._by_plies, (plies, order, position, accrued))
        if earlier is None or (deviations < earlier and key not in self._examined):
            self._deviations[key] = deviations
            heappush(self._by_deviations, (deviations, order, position, accrued))


def _state_key(position: CellPosition, accrued: Code) -> _Key:
    return position.key, accrued


def _plies_to_exit(answer: Answer, accrued: Code) -> int:
    """Estimate the number of plies from a state to the nearest exit that one of its bounds comes from.

    A bound that equals the accrued score does not come from an exit and is ignored.
    """
    if answer.depths is None:  # the bounds follow from those after the moves: an exit may be one ply away
        return 1
    ends = zip(answer.bounds, answer.depths, strict=True)
    return min((depth for code, depth in ends if code != accrued), default=FAR_DEPTH)


def followed_moves(
    moves: Sequence[tuple[Step, Answer]],
    bounds: Interval,
    board: chess.Board,
    scores: Interval,
    *,
    wide: bool = False,
) -> list[tuple[Step, Answer]]:
    """Return the moves that play follows from a state, ordered by how soon they reach the hoped-for score.

    :param moves: all moves, with the bounds of the states after them.
    :param bounds: the bounds of the state, narrowed by the bounds after its moves.
    :param scores: the scores that need to be distinguished in the cell.
    :param wide: whether to follow wide play.
    """
    end = UPPER if board.turn else LOWER

    def sort_key(answer: Answer) -> tuple[bool, int]:
        is_less = answer.bounds.clamped(scores)[end] != bounds.clamped(scores)[end]
        return is_less, 0 if answer.depths is None else answer.depths[end]

    def is_followed(interval: Interval) -> bool:
        if interval.clamped(scores).exact:
            return False
        if wide:
            return interval.upper < bounds.lower if board.turn else interval.lower > bounds.upper
        # The bound after the move may even be better than the bound of the state: an earlier execution
        # of the program may have solved the cell with bounds of small cells, and those bounds are not kept.
        return interval.upper <= bounds.upper if board.turn else interval.lower >= bounds.lower

    return sorted((move for move in moves if is_followed(move[1].bounds)), key=lambda move: sort_key(move[1]))


def ends_to_narrow(states: States, position: CellPosition, accrued: Code, scores: Interval) -> set[int]:
    """Return the ends at which solving the cell of a state again may narrow the bounds of the state.

    At such an end, the bounds after the moves imply a better bound, or the state has only the worst bound. In
    the latter case the cell may never have been solved at this end, and then the bounds after moves inside
    the cell imply nothing.

    :param position: a position of a canonical cell.
    :param scores: the scores that need to be distinguished in the cell.
    """
    bounds = states.look_up(position, accrued).bounds
    clamped = bounds.clamped(scores)
    best = best_of([states.answer_after(step, accrued).bounds for step in position.moves()], position.board)
    narrowed = clamped.intersection(best.clamped(scores))
    return {end for end in ENDS if narrowed[end] != clamped[end] or bounds[end] == WORST[end]}
