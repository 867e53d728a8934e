"""What somebody knows of the state to move from."""

from dataclasses import dataclass
from typing import NamedTuple, Self

import chess

from tbgen.board.score import GScore


class Candidate(NamedTuple):
    """A move to choose where the game is drawn in chess.

    :ivar cost: points, from 0 to 1, that it gives up by the rules of chess.
    :ivar answer: that the other side is expected to give; None if nobody knows.
    """

    cost: float = 0
    answer: chess.Move | None = None


@dataclass(frozen=True, slots=True)
class Advice:
    """Moves worth playing, and what the state is worth with them.

    :ivar moves: those among which nothing more is known, at least one, and first one that is sure to give the
        mover as much as he can be sure of.
    :ivar lower: White gets this at least.
    :ivar upper: White gets this at most.
    :ivar depth: plies until the accrued score is the value; None if it is not known.
    :ivar line: best play as far as it is known.
    """

    moves: tuple[chess.Move, ...]
    lower: GScore
    upper: GScore
    depth: int | None = None
    line: tuple[chess.Move, ...] = ()

    @classmethod
    def of(cls, move: chess.Move, value: GScore, depth: int | None) -> Self:
        """Return the advice to play one move, with which the state has a value."""
        return cls((move,), value, value, depth, (move,))

    @property
    def value(self) -> GScore | None:
        """The value, if it is known exactly."""
        return self.lower if self.lower == self.upper else None
