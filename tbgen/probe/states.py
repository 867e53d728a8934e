"""Conversion of a board and an accrued score to a state to look up, and of the state's goal to a result."""

import sys
import warnings
from dataclasses import dataclass, field
from operator import attrgetter
from traceback import walk_stack
from typing import Any, Final, NamedTuple, TypeAlias

import chess

from tbgen.board.fen import AnyBoard, DescribedBoard, parse_position
from tbgen.board.material import Material
from tbgen.board.rules import FRESH, Fresh, accrued_score, position_score
from tbgen.board.score import GScore, Signed, fold, to_gscore, to_signed
from tbgen.board.scoring import Points, points
from tbgen.board.variant import Variant
from tbgen.errors import UsageError
from tbgen.index.position import Position, locate, validate
from tbgen.text import plies

AnyPosition: TypeAlias = AnyBoard | str
"""A board, or a FEN of two to seven fields, which may contain described men in brackets."""

AnyScore: TypeAlias = GScore | str | Fresh | None
"""An accrued score or its text; FRESH for the position score; None if the position implies the score."""


_PARTS: Final = (
    *("pawns", "knights", "bishops", "rooks", "queens", "kings", "occupied", "turn", "castling_rights"),
    *("chess960", "ep_square", "halfmove_clock", "fullmove_number"),
)
"""The attributes that make a board, with the men of one side. Reading them takes less time than a copy."""
_read_parts: Final = attrgetter(*_PARTS)


class State(NamedTuple):
    """A position to look up, with an accrued score.

    :ivar accrued: the accrued score, into which the position score has been folded.
    """

    position: Position
    accrued: Signed


class Goal(NamedTuple):
    """The value and the depth of a state: V(P, A) and D(P, A) of docs/theory.md.

    :ivar depth: plies until the accrued score is the value; 0 if it already is the value; None if the tables
        do not store the depth.
    """

    value: Signed
    depth: int | None


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """The result of looking up a position with an accrued score in the tables.

    :ivar material: the canonical material, in which the colours of the position may be swapped.
    :ivar value: the score that best play of both sides reaches.
    :ivar depth: plies until the accrued score is the value; 0 if it already is the value; None if the table
        does not store the depth. A packed table stores only the depths of fresh states, and other depths that
        follow from them. With castling rights, no depths are available from packed tables.
    :ivar position_score: the position score.
    :ivar accrued: the accrued score that was used, into which the position score has been folded.
    """

    material: Material
    value: GScore
    depth: int | None
    position_score: GScore
    accrued: GScore
    _parts: tuple[tuple[Any, ...], int] | None = field(default=None, repr=False, compare=False)

    @property
    def board(self) -> chess.Board | None:
        """The position, without earlier moves; None with described men, and from ``probe_many``."""
        if self._parts is None:
            return None
        board = chess.Board(None)
        parts, white = self._parts
        for name, part in zip(_PARTS, parts, strict=True):
            setattr(board, name, part)
        board.occupied_co[:] = board.occupied & ~white, white
        return board

    def _repr_html_(self) -> str | None:
        """Return the board and the value, for notebooks; None without a board."""
        from tbgen.html.diagrams import board_figure

        depth = "" if self.depth is None else f", {plies(self.depth)}"
        words = f"{self.value}{depth}; accrued {self.accrued}"
        return board_figure(board, words) if (board := self.board) else None

    @property
    def points(self) -> Points:
        """The exact points that the value gives each side under TCEC's exponential scoring.

        :func:`tbgen.points` supports the other scorings.
        """
        return points(self.value)


def read_position(
    position: AnyPosition, accrued: AnyScore, variant: Variant
) -> tuple[AnyBoard, GScore | Fresh | None]:
    """Return the board of a position, and the accrued score that the arguments specify.

    The accrued score is the score passed, else the score in the seventh field of a FEN, else None. If the
    seventh field is ignored, a warning is issued.

    :raises UsageError: if the text of the position is not a FEN, or the text of the score is not a G-score.
    :raises TypeError: if an argument has a wrong type.
    """
    fen_score = None
    board: AnyBoard
    if isinstance(position, chess.Board | DescribedBoard):
        board = position
    elif isinstance(position, str):
        fen = parse_position(position)
        board = fen.board
        fen_score = fen.accrued_in(variant)
        if accrued is None and (note := fen.note(variant)):
            warnings.warn(note, stacklevel=_caller_level())
    else:
        raise TypeError(f"the position cannot be {type(position).__name__}: expected a chess.Board or a FEN")
    if accrued is None:
        return board, fen_score
    if accrued is FRESH or isinstance(accrued, GScore):
        return board, accrued
    if isinstance(accrued, str):
        return board, GScore(accrued)
    raise TypeError(
        f"the accrued score cannot be {type(accrued).__name__}: expected a G-score, text such as 'G3.5', "
        "tbgen.FRESH, or None"
    )


def _caller_level() -> int:
    """Return the ``stacklevel`` that attributes a warning of the calling function to the code outside tbgen.

    Python 3.12 has ``skip_file_prefixes`` for this.
    """
    names = (frame.f_globals.get("__name__", "") for frame, _ in walk_stack(sys._getframe(1)))
    return next((level for level, name in enumerate(names, 1) if name.split(".")[0] != "tbgen"), 1)


def read_chess_position(
    position: AnyPosition, accrued: AnyScore, variant: Variant
) -> tuple[chess.Board, GScore | Fresh | None]:
    """Return the results of :func:`read_position` for a position of chess.

    Raises the exceptions of :func:`read_position`, and:

    :raises UsageError: if the position has described men.
    """
    board, accrued_score = read_position(position, accrued, variant)
    if isinstance(board, DescribedBoard):
        raise UsageError(f"{board.fen()} has described men: only tables know such men; use tbgen probe")
    return board, accrued_score


def state_of(position: AnyPosition, accrued: AnyScore, variant: Variant) -> tuple[AnyBoard, State]:
    """Return the board and the state of a position with an accrued score.

    :raises UsageError: if no table can contain the position, or the accrued score or history is invalid.
    :raises TypeError: if an argument has a wrong type.
    """
    board, accrued_score = read_position(position, accrued, variant)
    validate(board)
    return board, locate_state(board, accrued_score, variant)


def locate_state(board: AnyBoard, accrued: GScore | Fresh | None, variant: Variant) -> State:
    """Return the state of a valid board, with the position score folded into the accrued score.

    The accrued score is the score passed, else the score of the moves in the board's history, else the
    position score. In r-mobility, it is the position score if an en passant capture is legal, because the
    last move was then a pawn move, which resets the accrued score.

    :raises UsageError: if the accrued score or the history of the board is invalid.
    """
    position = locate(board)
    if position.terminal or variant.is_reset_by(position.ep_square >= 0):
        return State(position, position.score)
    return State(position, folded_score(board, accrued, position.score, variant))


def accrued_in_r_mobility(board: chess.Board, accrued: GScore | Fresh | None) -> Signed:
    """Return the accrued score in r-mobility, as :func:`locate_state` finds it, but for any number of men.

    :param board: a valid board.

    :raises UsageError: if the accrued score or the history of the board is invalid.
    """
    score = position_score(board)
    if score.rank < 2 or board.has_legal_en_passant():
        return to_signed(score)
    return folded_score(board, accrued, to_signed(score), Variant.R_MOBILITY)


def folded_score(board: AnyBoard, accrued: GScore | Fresh | None, score: Signed, variant: Variant) -> Signed:
    """Return the accrued score of :func:`locate_state` for a board that is neither mate nor stalemate.

    :param score: the position score, which is folded into the accrued score.

    :raises UsageError: if the accrued score or the history of the board is invalid.
    """
    if accrued is None and board.move_stack:
        if isinstance(board, DescribedBoard):
            accrued = board.accrued_score(variant)
        else:
            accrued = accrued_score(board, variant)
    if accrued is None or accrued is FRESH:
        return score
    if accrued.rank < 2:
        raise UsageError(f"the accrued score {accrued} ends the game, but this position has legal moves")
    return fold(to_signed(accrued), score)


def result_of(state: State, goal: Goal, board: AnyBoard | None = None) -> ProbeResult:
    """Return the result of looking up a state, given its goal and, for its display, its board."""
    position, accrued = state
    score = to_gscore(position.score)
    parts = (_read_parts(board), board.occupied_co[chess.WHITE]) if isinstance(board, chess.Board) else None
    material = position.shape.material
    return ProbeResult(material, to_gscore(goal.value), goal.depth, score, to_gscore(accrued), parts)
