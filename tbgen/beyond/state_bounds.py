"""Bounds of states, from layers of solved cells, thresholds and exit sources.

If both bounds of a state are equal, they are its value, whatever else is unknown. This does not hold for
depths: the depths in the lower and the upper game may be equal and still be wrong. One side hurries towards
the value, and the other side delays it. A capture or pawn move may swap these roles: a side may improve on
the accrued score with a pawn move, after which it is the opponent who hurries to make the new score the final
one. So a depth is reported only if the values and depths of all positions that can be reached are proved. The
game then has only one solution.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

import chess

from tbgen.beyond.exit_sources import Answer
from tbgen.beyond.knowledge import ExitBounds
from tbgen.beyond.layers import CellLayers
from tbgen.board.score import NONE, Code, rank_of_code
from tbgen.cells.bounds import ENDS, LOWER, UPPER, WORST, Bounds
from tbgen.cells.cell import Cell, CellPosition, CellState, PositionKey, Step
from tbgen.cells.interval import ALL_SCORES, Interval
from tbgen.cells.threshold import Threshold, ThresholdSolution
from tbgen.index.layout import MIRROR_RANKS

_MIN_GUESSED_SLOTS: Final = 64**4
"""Minimum number of slots of a cell whose layers may be guessed: making them takes a long time."""
_MAX_EXAMINED_POSITIONS: Final = 2000
"""Maximum number of positions that :func:`proved_keys` examines."""


class _RelevantThresholds(NamedTuple):
    """The thresholds of a cell that may prove bounds among its relevant scores."""

    scores: Interval
    """The relevant scores."""
    solutions: Mapping[Threshold, ThresholdSolution]
    """The solutions of the cell."""
    thresholds: Sequence[Threshold]


class States:
    """Looks up states in solved cells and their layers, and in the exit sources for other cells.

    :param guess: whether to guess bounds of large cells in layers that have not been made. The guess is the
        accrued score if this score can change the bound, else the fresh bound.
    :param scores_of: returns the scores that need to be distinguished in a canonical cell. A threshold beyond
        them counts only if the one at the outermost score has not been tried.
    """

    def __init__(
        self,
        exits: ExitBounds,
        layers: CellLayers,
        *,
        guess: bool = False,
        scores_of: Callable[[Cell], Interval] = lambda cell: ALL_SCORES,
    ) -> None:
        self._exits = exits
        self._layers = layers
        self._guess = guess
        self._scores_of = scores_of
        self._relevant: dict[Cell, _RelevantThresholds] = {}

    def answer(self, state: CellState) -> Answer:
        """Return the bounds of a state of any cell."""
        _, symmetry = state.cell.canonical()
        answer = self.look_up(state.image(symmetry))
        return answer.swapped if symmetry & MIRROR_RANKS else answer

    @staticmethod
    def _may_differ(accrued: Code, score: Code, fresh: Code) -> bool:
        """Return whether the bound with an accrued score may differ from the fresh bound.

        The bounds are equal if the position score or the fresh bound has a smaller rank than the accrued
        score (docs/theory.md, fact F1).

        :param score: the position score.
        :param fresh: the fresh bound.
        """
        return rank_of_code(accrued) <= min(rank_of_code(score), rank_of_code(fresh))

    def look_up(self, state: CellState) -> Answer:
        """Return the bounds of a state of a canonical cell."""
        position = state.position
        score = position.position_score
        if position.is_over:
            return Answer(Interval(score, score), (0, 0))
        if position.board.has_legal_en_passant():
            fresh_state = CellState.fresh(position)
            intervals = [self.answer_after(fresh_state, step).bounds for step in position.moves()]
            return Answer(best_of(intervals, position.board))
        fresh = self._exits.cells.get(state.cell)
        if fresh is None:
            bounds = self._exits.fresh_bounds(position) if state.is_fresh else WORST
            return Answer(self._with_thresholds(state, bounds))
        answer = self._look_up_solved(state, fresh)
        bounds = self._with_thresholds(state, answer.bounds)
        if state.is_fresh:
            bounds = bounds.intersection(self._exits.stored_bounds(position)[0])
        return answer if bounds == answer.bounds else Answer(bounds)

    def _with_thresholds(self, state: CellState, interval: Interval) -> Interval:
        """Return bounds of a state of a canonical cell, narrowed by the proved thresholds of the cell."""
        bounds = list(interval)
        guess = self._guess and state.cell.size >= _MIN_GUESSED_SLOTS
        for threshold in self._relevant_thresholds(state.cell):
            if threshold.better(bounds[threshold.end]) != bounds[threshold.end] and self._layers.is_proved(
                state, threshold, guess=guess
            ):
                bounds[threshold.end] = threshold.bound
        return Interval(*bounds)

    def _relevant_thresholds(self, cell: Cell) -> Sequence[Threshold]:
        """Return the thresholds about a canonical cell that may prove bounds among the relevant scores.

        A threshold beyond these scores is omitted if the one at the outermost score has been tried.
        """
        scores = self._scores_of(cell)
        tried = self._exits.threshold_cells.solutions(cell)
        entry = self._relevant.get(cell)
        if entry is None or entry.scores != scores or entry.solutions is not tried:
            relevant = list[Threshold]()
            for threshold in tried:
                nearest = threshold._replace(bound=scores.nearest(threshold.bound))
                is_needed = threshold == nearest or nearest not in tried
                if is_needed and nearest.bound != scores[nearest.end]:
                    relevant.append(threshold)
            self._relevant[cell] = entry = _RelevantThresholds(scores, tried, relevant)
        return entry.thresholds

    def _look_up_solved(self, state: CellState, fresh: Bounds) -> Answer:
        """Return the bounds of a state of a canonical cell that follow from the fresh bounds of the cell."""
        cell, side, slot = state.position.key
        accrued = state.accrued
        score = state.position.position_score
        ends, depths = [], []
        for end in ENDS:
            bounds = fresh
            if not state.is_fresh and self._may_differ(
                accrued, score, Code(int(fresh.value[end, side, slot]))
            ):
                guess = self._guess and cell.size >= _MIN_GUESSED_SLOTS
                if guess and not self._layers.is_made(cell, accrued):
                    ends.append(accrued)
                    depths.append(0)
                    continue
                layer = self._layers.layer(fresh, accrued)
                bounds = layer if layer.value[end, side, slot] != NONE else fresh
            ends.append(Code(int(bounds.value[end, side, slot])))
            depths.append(int(bounds.depth[end, side, slot]))
        return Answer(Interval(*ends), (depths[LOWER], depths[UPPER]))

    def answer_after(self, state: CellState, step: Step) -> Answer:
        """Return the bounds of the state after a move."""
        if step.zeroing:
            return Answer(self._exits.fresh_bounds(step.after))
        return self.answer(state.after(step)) if step.is_inside else Answer(WORST)


def best_of(intervals: list[Interval], board: chess.Board) -> Interval:
    """Return the bounds of a state that follow from the bounds after all its moves."""
    best = min if board.turn else max
    return Interval(*(best(interval[end] for interval in intervals) for end in ENDS))


def proved_keys(states: States, exits: ExitBounds, start: CellPosition) -> frozenset[PositionKey]:
    """Return the keys of all positions that can be reached from ``start`` within its cell.

    The result is empty unless the values and depths of all these positions, and of all positions after moves
    out of the cell, are available: only then are the depths proved. The result is also empty if there are too
    many positions.
    """
    reached, queue = {start.key}, [start]
    while queue:
        position = queue.pop()
        if position.is_over:
            continue
        answer = states.answer(CellState.fresh(position))
        if len(reached) > _MAX_EXAMINED_POSITIONS or answer.depth is None:
            return frozenset()
        for step in position.moves():
            if step.is_inside:
                if (key := step.after.key) not in reached:
                    reached.add(key)
                    queue.append(step.after)
            elif not _is_goal_available(exits, step):
                return frozenset()
    return frozenset(reached)


def _is_goal_available(exits: ExitBounds, step: Step) -> bool:
    """Return whether the value and depth after a move out of a cell are available."""
    after = step.after
    if not step.zeroing or after.board.has_pseudo_legal_en_passant():
        return False
    cell = after.cell.canonical()[0]
    return after.is_over or exits.tables.fresh_bounds(after) is not None or exits.cells.has_values(cell)
