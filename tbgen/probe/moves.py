"""All legal moves of a position with their values, best first."""

from dataclasses import dataclass

import chess

from tbgen.probe.position import Position, locate
from tbgen.probe.signed import fold, merit, to_gscore
from tbgen.probe.values import Values
from tbgen.score import GScore


@dataclass(frozen=True, slots=True)
class RankedMove:
    """A legal move, valued as the state it leads to."""

    move: chess.Move
    san: str
    value: GScore
    depth: int
    """Depth of the state it leads to, in plies."""
    zeroing: bool
    """Whether it resets the accrued score: captures and pawn moves."""

    @property
    def uci(self) -> str:
        """The move in UCI notation."""
        return self.move.uci()


@dataclass(frozen=True, slots=True)
class Successor:
    """The state that a move leads to; scores as in :mod:`tbgen.probe.signed`."""

    move: chess.Move
    zeroing: bool
    position: Position
    accrued: int
    value: int
    depth: int


def ranked_moves(values: Values, board: chess.Board, accrued: int) -> list[RankedMove]:
    """Return the legal moves of a valid board with a folded accrued score, best for the mover first."""
    return [
        RankedMove(s.move, board.san(s.move), to_gscore(s.value), s.depth, s.zeroing)
        for s in successors(values, board, accrued)
    ]


def successors(values: Values, board: chess.Board, accrued: int) -> list[Successor]:
    """Return the states that the legal moves lead to.

    The best value for the mover comes first. Among equal ones, the mover hurries to what is better for him
    than the accrued score and puts off what is worse; ties go by UCI.
    """
    after = board.copy(stack=False)
    found = []
    for move in board.legal_moves:
        zeroing = board.is_zeroing(move)
        after.push(move)
        position = locate(after)
        held = position.score if zeroing else fold(accrued, position.score)
        found.append(Successor(move, zeroing, position, held, *values.of(position, held)))
        after.pop()
    white = board.turn
    held_merit = merit(accrued, white)

    def order(successor: Successor) -> tuple[int, int, str]:
        gain = merit(successor.value, white) - held_merit
        hurry = successor.depth if gain > 0 else -successor.depth if gain < 0 else 0
        return -gain, hurry, successor.move.uci()

    return sorted(found, key=order)
