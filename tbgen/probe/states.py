"""From a board and an accrued score to the state that is looked up, and from its value to the answer."""

from dataclasses import dataclass

import chess

from tbgen.errors import UsageError
from tbgen.index.position import Position, locate, validate
from tbgen.material import Material
from tbgen.probe.signed import fold, of_gscore, to_gscore
from tbgen.score import GScore
from tbgen.variant import Variant

State = tuple[Position, int]
"""A position and its accrued score, folded, as in :mod:`tbgen.probe.signed`."""


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """What the tables say about a position."""

    material: Material
    value: GScore
    """The result under optimal play of both sides."""
    depth: int
    """Plies until the accrued score is the value; 0 if it already is."""
    position_score: GScore
    """The position's own score."""
    accrued: GScore
    """The accrued score with the position's own folded in."""


def state_of(board: chess.Board, accrued: GScore | str | None, variant: Variant) -> State:
    """Return the state that a caller asks for.

    :raises UsageError: if tables hold no such position, or the accrued score means nothing.
    :raises TypeError: if the arguments are no board, and no G-score or text.
    """
    given = score_of(board, accrued)
    validate(board)
    return locate_state(board, given, variant)


def score_of(board: chess.Board, accrued: GScore | str | None) -> GScore | None:
    """Return the accrued score that a caller gives, after a look at what kind of arguments they are."""
    if not isinstance(board, chess.Board):
        raise TypeError(f"the position is a {type(board).__name__}: expected a chess.Board")
    if isinstance(accrued, str):
        return GScore.parse(accrued)
    if accrued is None or isinstance(accrued, GScore):
        return accrued
    raise TypeError(
        f"the accrued score is a {type(accrued).__name__}: expected a G-score, text such as 'G3.5', or None"
    )


def locate_state(board: chess.Board, given: GScore | None, variant: Variant) -> State:
    """Return the place of a valid board, and the given accrued score with the board's own folded in.

    In r-mobility an en passant right tells that the score has just been reset.
    """
    position = locate(board)
    if given is None or position.terminal or (position.ep_square >= 0 and variant.resets):
        return position, position.score
    if given.rank < 2:
        raise UsageError(f"the accrued score {given} ends the game, and here it goes on")
    return position, fold(of_gscore(given), position.score)


def result_of(state: State, value: int, depth: int) -> ProbeResult:
    """Return the answer about a state."""
    position, held = state
    return ProbeResult(
        position.shape.material, to_gscore(value), depth, to_gscore(position.score), to_gscore(held)
    )
