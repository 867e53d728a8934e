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
from tbgen.beyond.state_bounds import States, best_of
from tbgen.board.score import Code
from tbgen.cells.bounds import ENDS, LOWER, UPPER, WORST
from tbgen.cells.cell import Cell, CellPosition, CellState, StateKey, Step
from tbgen.cells.interval import FAR_DEPTH, Interval
from tbgen.index.layout import MIRROR_RANKS

_Entry: TypeAlias = tuple[int, int, CellState]
"""Entry of a priority queue: priority, order of insertion, and state."""


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
    states: dict[Cell, list[CellState]] = field(default_factory=dict)
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

    :param may_enter: returns whether to follow play inside a cell.
    :param wide: whether to follow wide play.
    :param scores_of: returns the scores that need to be distinguished in a cell.
    """

    def __init__(
        self,
        states: States,
        start: CellState,
        may_enter: Callable[[Cell], bool],
        wide: bool,
        scores_of: Callable[[Cell], Interval],
    ) -> None:
        self._states = states
        self._may_enter = may_enter
        self._wide = wide
        self._scores_of = scores_of
        self._play = Play(states)
        self._deviations: dict[StateKey, int] = {}
        """The smallest number of deviations with which each state has been found."""
        self._examined: set[StateKey] = set()
        """The states that have been examined."""
        self._by_plies: list[_Entry] = []
        """Priority queue of the states to examine, by plies to the nearest exit."""
        self._by_deviations: list[_Entry] = []
        """Priority queue of the same states, by deviations."""
        self._insertions = count()
        self._add_state(0, 0, start)

    def follow(self, max_states: int, has_time: Callable[[], bool]) -> Play:
        """Continue to follow the play, and return it.

        :param max_states: maximum number of examined states, including the states of earlier calls.
        :param has_time: returns whether time remains for one more state.
        """
        while self._by_plies and len(self._examined) < max_states and has_time():
            # Each queue contains all states that remain to be examined.
            *_, state = heappop(self._by_plies if len(self._examined) % 2 else self._by_deviations)
            if (key := state.key) not in self._examined:
                self._examined.add(key)
                self._examine(state, self._deviations[key])
            while self._by_plies and self._by_plies[0][-1].key in self._examined:
                heappop(self._by_plies)
        self._play.is_complete = not self._by_plies
        return self._play

    def _examine(self, state: CellState, deviations: int) -> None:
        """Record a state if its value is inexact, and add the states that play leads to from it."""
        position = state.position
        scores = self._scores_of(state.cell)
        bounds = self._states.look_up(state).bounds
        if bounds.clamped(scores).exact:
            return
        self._play.states.setdefault(state.cell, []).append(state)
        moves = [(step, self._states.answer_after(state, step)) for step in position.moves()]
        # A bound may be better than the bounds of all moves if the ranks of a threshold are no longer kept.
        bounds = bounds.intersection(best_of([answer.bounds for _, answer in moves], position.board))
        followed = followed_moves(moves, bounds, position.board, scores, wide=self._wide)
        for index, (step, answer) in enumerate(followed):
            if step.is_inside:
                after = state.after(step)
                self._add_state(_plies_to_exit(answer, after.accrued), deviations + index, after)
            elif step.zeroing:
                self._add_after_exit(state.cell, step.after, deviations + index)

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
            image = CellState.fresh(position.image(symmetry))
            plies = _plies_to_exit(self._states.look_up(image), image.accrued)
            self._add_state(plies, deviations, image)

    def _add_state(self, plies: int, deviations: int, state: CellState) -> None:
        key = state.key
        order = next(self._insertions)
        earlier = self._deviations.get(key)
        if earlier is None:
            heappush(self._by_plies, (plies, order, state))
        if earlier is None or (deviations < earlier and key not in self._examined):
            self._deviations[key] = deviations
            heappush(self._by_deviations, (deviations, order, state))


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


def ends_to_narrow(states: States, state: CellState, scores: Interval) -> set[int]:
    """Return the ends at which solving the cell of a state again may narrow the bounds of the state.

    At such an end, the bounds after the moves imply a better bound, or the state has only the worst bound. In
    the latter case the cell may never have been solved at this end, and then the bounds after moves inside
    the cell imply nothing.

    :param state: a state of a canonical cell.
    :param scores: the scores that need to be distinguished in the cell.
    """
    position = state.position
    bounds = states.look_up(state).bounds
    clamped = bounds.clamped(scores)
    best = best_of([states.answer_after(state, step).bounds for step in position.moves()], position.board)
    narrowed = clamped.intersection(best.clamped(scores))
    return {end for end in ENDS if narrowed[end] != clamped[end] or bounds[end] == WORST[end]}
