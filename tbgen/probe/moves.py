"""All legal moves of a position with their values, best first."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import chess

from tbgen.board.described import AnyBoard, DescribedBoard
from tbgen.board.san import NotedMove, sans_without_check
from tbgen.board.score import GScore
from tbgen.board.signed import Signed, fold, merit, rank_of, to_gscore
from tbgen.board.variant import Variant
from tbgen.index.position import Position, locate
from tbgen.probe.states import Goal, State
from tbgen.probe.values import Values


@dataclass(frozen=True, slots=True)
class RankedMove(NotedMove):
    """A legal move, valued as the state it leads to.

    :ivar move: the move.
    :ivar san: the move in short algebraic notation.
    :ivar value: what best play makes of the state it leads to.
    :ivar depth: depth of the state it leads to, in plies; None if the table does not store it.
    :ivar zeroing: whether it is a capture or a pawn move, which resets the accrued score in r-mobility.
    :ivar position_score: the own score of the position it leads to; rank 0 is mate, rank 1 stalemate.
    :ivar accrued: the accrued score after the move.
    """

    move: chess.Move
    san: str
    value: GScore
    depth: int | None
    zeroing: bool
    position_score: GScore
    accrued: GScore


class Reached(NamedTuple):
    """The state that a move leads to."""

    move: chess.Move
    zeroing: bool
    state: State


class Successor(NamedTuple):
    """A state that a move leads to, and what best play from there reaches."""

    reached: Reached
    goal: Goal


def ranked_moves(board: AnyBoard, successors: Sequence[Successor]) -> list[RankedMove]:
    """Return all successors of a board as moves for a reader, in the same order."""
    names = names_without_check(board, [s.reached.move for s in successors])
    return [
        RankedMove(
            s.reached.move,
            name + check_mark(s.reached.state.position),
            to_gscore(s.goal.value),
            s.goal.depth,
            s.reached.zeroing,
            to_gscore(s.reached.state.position.score),
            to_gscore(s.reached.state.accrued),
        )
        for name, s in zip(names, successors, strict=True)
    ]


def names_without_check(board: AnyBoard, moves: Sequence[chess.Move]) -> list[str]:
    """Return moves as readers see them: in short algebraic notation, with described men in that of
    coordinates, such as ``e5f6`` and ``e5xf6``."""
    if not isinstance(board, DescribedBoard):
        return sans_without_check(board, moves)
    return [
        chess.square_name(move.from_square) + "x" * board.is_zeroing(move) + chess.square_name(move.to_square)
        for move in moves
    ]


def successors(values: Values, board: AnyBoard, accrued: Signed) -> list[Successor]:
    """Return the states that the legal moves of a valid board lead to, the best for the mover first."""
    reached = reached_by(board, accrued, values.variant)
    return order(board, accrued, reached, [values.of(r.state) for r in reached])


def reached_by(board: AnyBoard, accrued: Signed, variant: Variant) -> list[Reached]:
    """Return the states that the legal moves of a valid board with a folded accrued score lead to.

    In whole-game mobility no move resets it.
    """
    after = board.copy(stack=False)
    found = []
    for move in board.legal_moves:
        zeroing = board.is_zeroing(move)
        after.push(move)
        position = locate(after)
        held = position.score if variant.is_reset_by(zeroing) else fold(accrued, position.score)
        found.append(Reached(move, zeroing, State(position, held)))
        after.pop()
    return found


def order(
    board: AnyBoard, accrued: Signed, reached: Sequence[Reached], goals: Sequence[Goal]
) -> list[Successor]:
    """Return what is reached with its values and depths, the best value for the mover first.

    Among equal ones, the mover hurries to what is better for him than the accrued score and puts off what is
    worse, by moves with a known depth before others; ties go by UCI.
    """
    white = board.turn
    held_merit = merit(accrued, white)

    def key(successor: Successor) -> tuple[int, bool, int, str]:
        value, depth = successor.goal
        gain = merit(value, white) - held_merit
        unknown = depth is None and gain != 0
        hurry = 0 if depth is None or not gain else depth if gain > 0 else -depth
        return -gain, unknown, hurry, successor.reached.move.uci()

    return sorted((Successor(r, goal) for r, goal in zip(reached, goals, strict=True)), key=key)


def check_mark(position: Position) -> str:
    """Return the mark that follows a move to a position: of check, of mate, or none."""
    return "" if rank_of(position.score) & 1 else "#" if position.terminal else "+"
