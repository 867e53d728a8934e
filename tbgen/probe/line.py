"""Best play of both sides until the goal is reached."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import chess

from tbgen.board.described import AnyBoard
from tbgen.board.san import NotedMove
from tbgen.board.score import GScore
from tbgen.board.signed import to_gscore
from tbgen.errors import DamagedTableError, MissingLayerError
from tbgen.probe.moves import RankedMove, Successor, check_mark, names_without_check, ranked_moves, successors
from tbgen.probe.search import DepthSearch
from tbgen.probe.states import Goal, State
from tbgen.probe.values import Values

_SOME_STATES: Final = 50
"""To look at before patience is asked again."""


@dataclass(frozen=True, slots=True)
class LinePly(NotedMove):
    """One move of a line.

    :ivar move: the move.
    :ivar san: the move in short algebraic notation.
    :ivar accrued: the accrued score after the move.
    :ivar depth: plies that are left to the goal after the move.
    """

    move: chess.Move
    san: str
    accrued: GScore
    depth: int


def best_line(values: Values, board: AnyBoard, state: State) -> list[LinePly]:
    """Return the line of a valid board in a state.

    It has as many plies as the depth, and ends with an accrued score that is the value.

    :raises MissingLayerError: if it needs depths that the tables do not store, and none are to be made.
    :raises DamagedTableError: if the tables contradict each other on the way.
    """
    search = DepthSearch(values.of)

    def depth_of(state: State, goal: Goal) -> int:
        depth = search.depth_of(state, goal)
        if depth is None:
            raise MissingLayerError(
                f"the line needs depths of accrued scores that {state.position.shape.material} does not "
                "store: ask with --depths (in Python, open_tablebase(..., depths=True)), which makes them"
                if state.position.castling is None
                else "the line needs depths, which are not known with castling rights where tables are "
                "packed: ask for the moves of one position after the other"
            )
        return depth

    accrued, goal = state.accrued, values.of(state)
    depth = depth_of(state, goal)
    board = board.copy(stack=False)
    line = []
    while depth:
        after = successors(values, board, accrued)
        best = _leading_to(Goal(goal.value, depth - 1), after, depth_of)
        if best is None:
            places = " and ".join(map(str, values.directories))
            raise DamagedTableError(
                f"the tables in {places} contradict each other; find which with: tbgen verify"
            )
        move, _, reached = best.reached
        accrued, depth = reached.accrued, depth - 1
        names = names_without_check(board, [each.reached.move for each in after])
        name = names[after.index(best)] + check_mark(reached.position)
        board.push(move)
        line.append(LinePly(move, name, to_gscore(accrued), depth))
    return line


def _leading_to(
    wanted: Goal, after: Sequence[Successor], depth_of: Callable[[State, Goal], int | None]
) -> Successor | None:
    """Return the best of the moves that lead to a goal, moves with a stored depth first; None if
    none does.

    :param after: what the moves lead to, the best for the mover first.
    :param depth_of: finds the depth of a state, whether tables store it or not.
    """
    for each in after:
        (_, _, state), goal = each
        if goal.value == wanted.value and depth_of(state, goal) == wanted.depth:
            return each
    return None


def next_move(
    values: Values, board: AnyBoard, state: State, patience: Callable[[], bool]
) -> RankedMove | None:
    """Return the move that best play from a state begins with, for play move by move.

    Where the table does not store the depths that tell progress from standing still, some plies are looked
    ahead, for as long as that takes.

    :param patience: tells, once in a while, whether to go on looking.

    :returns: None in mate and stalemate, if patience has come to its end, and with castling rights where
        depths are not known.
    """
    after = [] if state.position.terminal else successors(values, board, state.accrued)
    if not after:
        return None
    goal = values.of(state)
    kept = [each for each in after if each.goal.value == goal.value]
    if goal.value == state.accrued or all(each.goal.depth is not None for each in kept):
        return ranked_moves(board, after)[0]
    if state.position.castling is not None:  # depths with castling rights are not searched for
        return None
    depth_of = partial(DepthSearch(values.of).depth_of, most=_SOME_STATES)
    depth = goal.depth
    while patience():
        depth = depth or depth_of(state, goal)
        wanted = Goal(goal.value, depth - 1) if depth else None
        found = _leading_to(wanted, kept, depth_of) if wanted else None
        if wanted and found:
            return replace(ranked_moves(board, after)[after.index(found)], depth=wanted.depth)
    return None
