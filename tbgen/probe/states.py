"""From a board and an accrued score to the state that is looked up, and from its value to the answer."""

import warnings
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import chess

from tbgen.board.fen import AnyBoard, DescribedBoard, parse_position
from tbgen.board.material import Material
from tbgen.board.rules import FRESH, Fresh, accrued_score, position_score
from tbgen.board.score import GScore, Signed, fold, of_gscore, to_gscore
from tbgen.board.scoring import Points, points
from tbgen.board.variant import Variant
from tbgen.errors import UsageError
from tbgen.index.position import Position, locate, validate

AnyPosition: TypeAlias = AnyBoard | str
"""A board, or a FEN of six or seven fields, which may have described men in brackets."""

AnyScore: TypeAlias = GScore | str | Fresh | None
"""An accrued score or its text; FRESH for that of the position alone; None for what FEN or board tell."""


class State(NamedTuple):
    """What is looked up.

    :ivar accrued: the accrued score, with the position's own folded in.
    """

    position: Position
    accrued: Signed


class Goal(NamedTuple):
    """What best play from a state reaches, and when: V(P, A) and D(P, A) of docs/theory.md.

    :ivar depth: plies until the accrued score is the value; 0 if it already is; None if the tables do not
        tell.
    """

    value: Signed
    depth: int | None


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """What the tables say about a position.

    :ivar material: canonical one, in either colouring.
    :ivar value: the result under optimal play of both sides.
    :ivar depth: plies until the accrued score is the value; 0 if it already is. None if the table does not
        store it: a packed one has the depths of fresh states, and of accrued ones those that follow from
        them, but none of positions with castling rights.
    :ivar position_score: the position's own score.
    :ivar accrued: the accrued score that was taken, with the position's own folded in.
    """

    material: Material
    value: GScore
    depth: int | None
    position_score: GScore
    accrued: GScore

    @property
    def points(self) -> Points:
        """The points that the value gives each side by TCEC's exponential scoring, exact;
        :func:`tbgen.points` knows the others."""
        return points(self.value)


def read(given: AnyPosition, accrued: AnyScore, variant: Variant) -> tuple[AnyBoard, GScore | Fresh | None]:
    """Return the position that a caller gives as a board, and the accrued score as far as the arguments tell:
    the given one, else that of a FEN's seventh field; a warning says where that does not count.

    :raises UsageError: if a text is no FEN or no G-score.
    :raises TypeError: if the arguments are of another kind.
    """
    told = None
    board: AnyBoard
    if isinstance(given, chess.Board | DescribedBoard):
        board = given
    elif isinstance(given, str):
        fen = parse_position(given)
        board, told = fen.board, fen.accrued_in(variant)
        if accrued is None and (note := fen.note(variant)):
            warnings.warn(note, stacklevel=5)
    else:
        raise TypeError(f"the position is a {type(given).__name__}: expected a chess.Board or a FEN")
    if accrued is None:
        return board, told
    if accrued is FRESH or isinstance(accrued, GScore):
        return board, accrued
    if isinstance(accrued, str):
        return board, GScore(accrued)
    raise TypeError(
        f"the accrued score is a {type(accrued).__name__}: expected a G-score, text such as 'G3.5', "
        "tbgen.FRESH, or None"
    )


def read_chess(
    given: AnyPosition, accrued: AnyScore, variant: Variant
) -> tuple[chess.Board, GScore | Fresh | None]:
    """Return what :func:`read` does, of a position of chess.

    :raises UsageError: as it does, and if men are described.
    :raises TypeError: as it does.
    """
    board, told = read(given, accrued, variant)
    if isinstance(board, DescribedBoard):
        raise UsageError(
            f"{board.fen()} has described men, which only tables have: ask them with tbgen probe"
        )
    return board, told


def state_of(given: AnyPosition, accrued: AnyScore, variant: Variant) -> tuple[AnyBoard, State]:
    """Return the board and the state that a caller asks for.

    :raises UsageError: if tables hold no such position, or its accrued score or history means nothing.
    :raises TypeError: if the arguments are no board and no text, or no G-score and no text.
    """
    board, told = read(given, accrued, variant)
    validate(board)
    return board, locate_state(board, told, variant)


def locate_state(board: AnyBoard, told: GScore | Fresh | None, variant: Variant) -> State:
    """Return the place of a valid board, and the accrued score with the board's own folded in.

    It is the one that is told, else that of the moves which the board remembers, else the board's own. In
    r-mobility an en passant right tells that the score has just been reset.

    :raises UsageError: if the accrued score or the history of the board means nothing.
    """
    position = locate(board)
    if position.terminal or variant.is_reset_by(position.ep_square >= 0):
        return State(position, position.score)
    return State(position, folded_score(board, told, position.score, variant))


def accrued_in_r(board: chess.Board, told: GScore | Fresh | None) -> Signed:
    """Return the accrued score of :func:`locate_state` in r-mobility, on a valid board with any number of
    men.

    :raises UsageError: if the accrued score or the history of the board means nothing.
    """
    own = position_score(board)
    if own.rank < 2 or board.has_legal_en_passant():
        return of_gscore(own)
    return folded_score(board, told, of_gscore(own), Variant.R_MOBILITY)


def folded_score(board: AnyBoard, told: GScore | Fresh | None, own: Signed, variant: Variant) -> Signed:
    """Return the accrued score of :func:`locate_state` on a board where play goes on and ``own`` is its own
    score.

    :raises UsageError: if the accrued score or the history of the board means nothing.
    """
    if told is None and board.move_stack:
        if isinstance(board, DescribedBoard):
            told = board.accrued_score(variant)
        else:
            told = accrued_score(board, variant)
    if told is None or told is FRESH:
        return own
    if told.rank < 2:
        raise UsageError(f"the accrued score {told} ends the game, and here it goes on")
    return fold(of_gscore(told), own)


def result_of(state: State, goal: Goal) -> ProbeResult:
    """Return the answer about a state."""
    position, accrued = state
    score = to_gscore(position.score)
    return ProbeResult(position.shape.material, to_gscore(goal.value), goal.depth, score, to_gscore(accrued))
