"""Answers about positions as JSON documents; docs/web.md says what their fields mean."""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final, NamedTuple

import chess

from tbgen.board.score import GScore
from tbgen.board.scoring import EXPONENTIAL, Points
from tbgen.board.signed import merit, of_gscore
from tbgen.board.variant import Variant
from tbgen.probe.line import LinePly
from tbgen.probe.moves import RankedMove
from tbgen.probe.states import ProbeResult
from tbgen.probe.view_tables import ViewMove, ViewResult


class Category(StrEnum):
    """What a value means to the side to move."""

    MATE = "mate"
    """It mates."""
    STALEMATE = "stalemate"
    """It stalemates."""
    AHEAD = "ahead"
    """It holds the value."""
    BEHIND = "behind"
    """The other side holds the value."""
    STALEMATED = "stalemated"
    """It is stalemated, now or in the end."""
    MATED = "mated"
    """It is mated, now or in the end."""

    @classmethod
    def of(cls, value: GScore, white: bool) -> "Category":
        """Return what a value means to a side.

        >>> Category.of(GScore("-G0.5"), white=True).value
        'stalemated'
        """
        mate, stalemate, other = (
            (cls.MATE, cls.STALEMATE, cls.AHEAD)
            if value.white == white
            else (cls.MATED, cls.STALEMATED, cls.BEHIND)
        )
        return (mate, stalemate)[value.rank] if value.rank < 2 else other


class ViewCategory(StrEnum):
    """What the value of a view means to the side to move."""

    WIN = "win"
    STALEMATE = "stalemate"
    """More than half a point, less than a whole one."""
    DRAW = "draw"
    STALEMATED = "stalemated"
    """Less than half a point, but not nothing."""
    LOSS = "loss"

    @classmethod
    def of(cls, points: Points, white: bool) -> "ViewCategory":
        """Return what points mean to a side."""
        share = points.white if white else points.black
        if share in (0, 1):
            return cls.WIN if share else cls.LOSS
        return cls.DRAW if share == 0.5 else cls.STALEMATE if share > 0.5 else cls.STALEMATED


POINTS: Final = lru_cache(1 << 10)(EXPONENTIAL.document)
"""The points of a value for JSON: the same values come again and again."""


def position_document(
    board: chess.Board, variant: Variant, result: ProbeResult, moves: Iterable[RankedMove] | None
) -> dict[str, Any]:
    """Return all that is said about a position; without the moves if they are None."""
    value = result.value
    document: dict[str, Any] = {
        "fen": board.fen(),
        "material": result.material.name,
        "rules": variant,
        **_end(result.position_score),
        "insufficient_material": board.is_insufficient_material(),
        "position_score": str(result.position_score),
        "accrued": str(result.accrued),
        "value": str(value),
        "holder": value.holder,
        "depth": result.depth,
        "points": POINTS(value),
        "category": Category.of(value, board.turn),
    }
    if moves is not None:
        document["moves"] = [_move(move, not board.turn) for move in moves]
    return document


def _move(move: RankedMove, white: bool) -> dict[str, Any]:
    """Return a move, after which a side is to move."""
    return {
        "uci": move.uci,
        "san": move.san,
        "zeroing": move.zeroing,
        **_end(move.position_score),
        "accrued": str(move.accrued),
        "value": str(move.value),
        "depth": move.depth,
        "points": POINTS(move.value),
        "category": Category.of(move.value, white),
    }


class Reached(NamedTuple):
    """A position with the score that has accrued, and the move that leads to it."""

    move: chess.Move | None
    """None for the position that was asked about."""
    san: str
    zeroing: bool
    board: chess.Board
    position_score: GScore
    accrued: GScore


class Known(NamedTuple):
    """What is known of a position that may be in no table."""

    reached: Reached
    value: GScore | None
    depth: int | None


def legal_document(variant: Variant, known: Sequence[Known]) -> dict[str, Any]:
    """Return a position and its legal moves, with null for what is not known.

    :param known: the position first, then what its moves lead to.
    """
    here, *after = known
    board = here.reached.board

    def key(known: Known) -> tuple[int, str]:
        """The best value for the mover first, what is not known last."""
        value = known.value
        return (1 << 16 if value is None else -merit(of_gscore(value), board.turn)), known.reached.san

    return {
        "fen": board.fen(),
        "rules": variant,
        **_end(here.reached.position_score),
        "insufficient_material": board.is_insufficient_material(),
        "position_score": str(here.reached.position_score),
        "accrued": str(here.reached.accrued),
        **_known_worth(here),
        "moves": [
            {
                "uci": known.reached.move and known.reached.move.uci(),
                "san": known.reached.san,
                "zeroing": known.reached.zeroing,
                **_end(known.reached.position_score),
                "fen": known.reached.board.fen(),
                "accrued": str(known.reached.accrued),
                **_known_worth(known),
            }
            for known in sorted(after, key=key)
        ],
    }


def _known_worth(known: Known) -> dict[str, Any]:
    value, board = known.value, known.reached.board
    return {
        "value": None if value is None else str(value),
        "depth": known.depth,
        "points": None if value is None else POINTS(value),
        "category": None if value is None else Category.of(value, board.turn),
    }


def line_document(
    board: chess.Board, variant: Variant, result: ProbeResult, line: Iterable[LinePly]
) -> dict[str, Any]:
    """Return best play from a position."""
    document = position_document(board, variant, result, None)
    document["mainline"] = [
        {"uci": ply.uci, "san": ply.san, "accrued": str(ply.accrued), "depth": ply.depth} for ply in line
    ]
    return document


def accrued_document(board: chess.Board, variant: Variant, results: Sequence[ProbeResult]) -> dict[str, Any]:
    """Return what a position is worth with each accrued score.

    :param results: by accrued score, best for White first.
    """
    first = results[0]
    return {
        "fen": board.fen(),
        "material": first.material.name,
        "rules": variant,
        "position_score": str(first.position_score),
        "accrued_scores": [
            {
                "accrued": str(result.accrued),
                "value": str(result.value),
                "depth": result.depth,
                "points": POINTS(result.value),
            }
            for result in results
        ],
    }


def view_document(
    board: chess.Board, position_score: GScore, result: ViewResult, moves: Iterable[ViewMove]
) -> dict[str, Any]:
    """Return all that a view says about a position."""
    return {
        "fen": board.fen(),
        "material": result.material.name,
        "view": result.view,
        **_end(position_score),
        "insufficient_material": board.is_insufficient_material(),
        **_worth(result, board.turn),
        "moves": [
            {
                "uci": move.uci,
                "san": move.san,
                "zeroing": move.zeroing,
                **_end(move.position_score),
                **_worth(move, not board.turn),
            }
            for move in moves
        ],
    }


def _worth(of: ViewResult | ViewMove, white: bool) -> dict[str, Any]:
    """Return what a position with a side to move is worth."""
    return {
        "winner": of.winner,
        "depth": of.depth,
        "points": of.points._asdict(),
        "category": ViewCategory.of(of.points, white),
    }


def _end(position_score: GScore) -> dict[str, bool]:
    """Return whether a position with a score of its own is mate or stalemate."""
    return {"checkmate": position_score.rank == 0, "stalemate": position_score.rank == 1}
