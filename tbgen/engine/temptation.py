"""Which of the moves that keep the value makes it hardest for the other side to keep it too."""

from collections.abc import Sequence

from tbgen.board.score import GScore
from tbgen.board.scoring import EXPONENTIAL
from tbgen.engine.game import SearchGame
from tbgen.probe.moves import RankedMove

_ENDS = 3
"""Occurrences of a position that end the game."""


def most_tempting(
    game: SearchGame, moves: Sequence[RankedMove], answers: Sequence[Sequence[RankedMove]]
) -> RankedMove:
    """Return the move after which a random answer gives up most points.

    Answers that are mated count for nothing, since whoever knows chess avoids them, and a position counts
    half as much for each time that it has been met. Among like moves that one comes first which keeps what
    has accrued or, if it is lost, keeps it longest; then one to a position that has been met least often and
    leaves the fewest answers.

    :param moves: that keep the value, of known depth, at least one.
    :param answers: those to each of them.
    """
    white = game.live.turn

    def key(number: int) -> tuple[float, int, int, int]:
        move = moves[number]
        game.play(move.move)
        met = game.occurrences
        game.pop()
        gains = [_gain(answer.value, move.value, white) for answer in answers[number] if answer.value.rank]
        mean = sum(gains) / len(gains) if gains and met < _ENDS else 0.0
        depth = move.depth or 0
        held = -depth if move.value == game.accrued else depth
        return mean * 0.5**met, held, -met, -move.position_score.rank

    return moves[max(range(len(moves)), key=key)]


def _gain(value: GScore, kept: GScore, white: bool) -> float:
    """Return the points that a side gains where a value becomes another one."""
    gain = float(EXPONENTIAL.lead(value) - EXPONENTIAL.lead(kept)) / 2
    return gain if white else -gain
