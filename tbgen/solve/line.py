"""Lines of play that show what is proved.

In the line of an exact value, White plays by the lower ends of what his moves lead to and Black by the upper
ones. In the line of one end of an interval both play by that end: one side as the proof has it, the other so
that it concedes the least.
"""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import chess

from tbgen.board.score import Code, GScore
from tbgen.cells.bounds import LOWER, UPPER, WORST
from tbgen.cells.position import CellPosition, Step
from tbgen.errors import MissingLayerError
from tbgen.probe.line import LinePly
from tbgen.probe.tablebase import Tablebase
from tbgen.solve.knowledge import Known
from tbgen.solve.search import Search, carried

Line = tuple[LinePly, ...]
"""Moves up to where the accrued score is what the line shows, or where nothing more is known."""


_NOT_SAID: Final = 1 << 20
"""Plies to what only Syzygy files know: more than any depth."""


class LineEnd(NamedTuple):
    """Where one end of what is known of a state comes from."""

    search: Search
    root: CellPosition
    """The state's position, with the men mobile that were in the search."""


class _LineGoal(NamedTuple):
    """One end of what is known of a state."""

    value: Code
    depth: int
    """Plies; 0 where nobody says more."""


class _LineMove(NamedTuple):
    """A move."""

    step: Step
    accrued: Code
    """The accrued score after it."""
    goal: _LineGoal
    """Of the state after it."""


class Lines:
    """Makes lines of what has been found.

    :param found: the proofs of the lower and the upper end.
    :param known: what their searches know.
    """

    def __init__(self, found: Sequence[LineEnd], known: Known, tables: Tablebase) -> None:
        self._found, self._known, self._tables = found, known, tables

    def exact(self, accrued: Code) -> Line:
        """Return best play of both sides with an accrued score, if the value is known."""
        return self._line(accrued, UPPER, LOWER)

    def of_end(self, accrued: Code, end: int) -> Line:
        """Return the play that shows one end of what is known with an accrued score."""
        return self._line(accrued, end, end)

    def _line(self, accrued: Code, black: int, white: int) -> Line:
        """Return the line in which Black and White play by these ends."""
        here = {end: self._found[end].root for end in (black, white)}
        plies: list[LinePly] = []
        seen: set[tuple[str, Code]] = set()
        while True:
            board = here[white].board
            end = white if board.turn else black
            state = board.epd(), accrued
            goal = self._goal(here[white], accrued, white)
            if state in seen or goal.value == accrued or goal.depth == _NOT_SAID:
                break
            seen.add(state)
            if self._known.tables.has_cell(here[end].cell):
                with contextlib.suppress(MissingLayerError):
                    plies += self._tables.line(board, GScore.from_code(accrued))
                break
            if not all(map(self._is_solved, here.values())):
                break
            move, accrued = self._best(here[end], accrued, end)
            plies.append(LinePly(move, board.san(move), GScore.from_code(accrued), 0))
            steps = {each: self._step(position, move) for each, position in here.items()}
            if not all(step.inside or step.zeroing for step in steps.values()):
                break
            here = {each: step.after for each, step in steps.items()}
        left = range(len(plies) - 1, -1, -1)
        return tuple(replace(ply, depth=depth) for ply, depth in zip(plies, left, strict=True))

    def _is_solved(self, position: CellPosition) -> bool:
        return self._known.cells.get(position.cell.canonical()[0]) is not None

    def _step(self, position: CellPosition, move: chess.Move) -> Step:
        return next(step for step in position.moves() if step.move == move)

    def _best(self, position: CellPosition, accrued: Code, end: int) -> tuple[chess.Move, Code]:
        """Return the best move by an end, and the accrued score after it."""
        choice = _best(list(self._choices(position, accrued, end)), accrued, position.board.turn)
        return choice.step.move, choice.accrued

    def _choices(self, position: CellPosition, accrued: Code, end: int) -> Iterator[_LineMove]:
        """Yield the moves of a state."""
        for step in position.moves():
            score = step.after.own if step.zeroing else carried(step, accrued)
            if step.inside or step.zeroing:
                yield _LineMove(step, score, self._goal(step.after, score, end))
            else:
                yield _LineMove(step, score, _LineGoal(WORST[end], 0))

    def _goal(self, position: CellPosition, accrued: Code, end: int) -> _LineGoal:
        """Return one end of what is known of a state."""
        if position.over:
            return _LineGoal(position.own, 0)
        if self._known.tables.has_cell(position.cell):
            found = self._tables.probe(position.board, GScore.from_code(accrued))
            return _LineGoal(found.value.code, found.depth or 0)
        if position.board.has_legal_en_passant():
            best = _best(list(self._choices(position, accrued, end)), accrued, position.board.turn).goal
            return _LineGoal(best.value, 0 if best.value == accrued else min(best.depth + 1, _NOT_SAID))
        value, depths = self._found[end].search.state(position, accrued)
        together = value.within(self._known.sure(position))
        if together[end] != value[end]:
            return _LineGoal(together[end], _NOT_SAID)
        return _LineGoal(value[end], depths[end] if depths else 0)


def _best(choices: Sequence[_LineMove], accrued: Code, white: bool) -> _LineMove:
    """Return the best move of a side: a value better for it than the accrued score sooner, others later."""
    value = (min if white else max)(choice.goal.value for choice in choices)
    sign = 1 if white == (value < accrued) else -1
    kept = (choice for choice in choices if choice.goal.value == value)
    return min(kept, key=lambda choice: (sign * choice.goal.depth, choice.step.move.uci()))
