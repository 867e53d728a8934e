"""All legal moves of a position with their values, best first."""

from collections.abc import Sequence
from dataclasses import dataclass

import chess

from tbgen.board.san import sans_without_check
from tbgen.index.position import Position, locate
from tbgen.probe.signed import fold, merit, rank_of, to_gscore
from tbgen.probe.values import Values
from tbgen.score import GScore
from tbgen.variant import Variant


@dataclass(frozen=True, slots=True)
class RankedMove:
    """A legal move, valued as the state it leads to."""

    move: chess.Move
    san: str
    value: GScore
    depth: int
    """Depth of the state it leads to, in plies."""
    zeroing: bool
    """Whether it is a capture or a pawn move, which resets the accrued score in r-mobility."""

    @property
    def uci(self) -> str:
        """The move in UCI notation."""
        return self.move.uci()


@dataclass(frozen=True, slots=True)
class Reached:
    """The state that a move leads to; scores as in :mod:`tbgen.probe.signed`."""

    move: chess.Move
    zeroing: bool
    position: Position
    accrued: int


@dataclass(frozen=True, slots=True)
class Successor:
    """A state that a move leads to, with its value as in :mod:`tbgen.probe.signed`."""

    reached: Reached
    value: int
    depth: int


def ranked_moves(board: chess.Board, successors: Sequence[Successor]) -> list[RankedMove]:
    """Return all successors of a board as moves for a reader, in the same order."""
    names = sans_without_check(board, [s.reached.move for s in successors])
    return [
        RankedMove(
            s.reached.move,
            name + _check_mark(s.reached.position),
            to_gscore(s.value),
            s.depth,
            s.reached.zeroing,
        )
        for name, s in zip(names, successors, strict=True)
    ]


def successors(values: Values, board: chess.Board, accrued: int) -> list[Successor]:
    """Return the states that the legal moves of a valid board lead to, the best for the mover first."""
    reached = reached_by(board, accrued, values.variant)
    return order(board, accrued, reached, [values.of(r.position, r.accrued) for r in reached])


def reached_by(board: chess.Board, accrued: int, variant: Variant) -> list[Reached]:
    """Return the states that the legal moves of a valid board with a folded accrued score lead to.

    In whole-game mobility no move resets it.
    """
    after = board.copy(stack=False)
    found = []
    for move in board.legal_moves:
        zeroing = board.is_zeroing(move)
        after.push(move)
        position = locate(after)
        held = position.score if zeroing and variant.resets else fold(accrued, position.score)
        found.append(Reached(move, zeroing, position, held))
        after.pop()
    return found


def order(
    board: chess.Board, accrued: int, reached: Sequence[Reached], valued: Sequence[tuple[int, int]]
) -> list[Successor]:
    """Return what is reached with its values and depths, the best value for the mover first.

    Among equal ones, the mover hurries to what is better for him than the accrued score and puts off what is
    worse; ties go by UCI.
    """
    white = board.turn
    held_merit = merit(accrued, white)

    def key(successor: Successor) -> tuple[int, int, str]:
        gain = merit(successor.value, white) - held_merit
        hurry = successor.depth if gain > 0 else -successor.depth if gain < 0 else 0
        return -gain, hurry, successor.reached.move.uci()

    return sorted((Successor(r, *v) for r, v in zip(reached, valued, strict=True)), key=key)


def _check_mark(position: Position) -> str:
    if rank_of(position.score) & 1:
        return ""
    return "#" if position.terminal else "+"
