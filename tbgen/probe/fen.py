"""FENs with an optional seventh field, the accrued score."""

import re
from dataclasses import dataclass
from typing import Final

import chess

from tbgen.errors import UsageError, quote
from tbgen.score import GScore

_EXPECTED: Final = (
    "expected pieces, side to move, castling, en passant square, two move counters and, optionally, "
    "the accrued score"
)
_COUNTER: Final = re.compile(r"[0-9]+")
_MOST_DIGITS: Final = 9


@dataclass(frozen=True, slots=True)
class Fen:
    """A parsed FEN."""

    board: chess.Board
    """As written; nothing has been validated beyond the syntax."""
    accrued: GScore | None
    """The seventh field; None without it, and at a halfmove clock of 0, where it means nothing."""


def parse_fen(text: str) -> Fen:
    """Read a FEN of six or seven fields; fields after the side to move may be left out.

    :raises UsageError: saying which field is malformed.

    >>> fen = parse_fen("8/8/5k1K/5P2/8/8/8/8 w - - 1 60 -G2.5")
    >>> print(fen.accrued)
    -G2.5
    """
    fields = text.split()
    if not 2 <= len(fields) <= 7:
        raise UsageError(f"{quote(text)} is not a FEN: {_EXPECTED}")
    for name, counter in zip(("halfmove clock", "move number"), fields[4:6], strict=False):
        if not _COUNTER.fullmatch(counter):
            raise UsageError(f"{quote(text)} is not a FEN: the {name} {quote(counter)} is not a number")
        if len(counter) > _MOST_DIGITS:
            raise UsageError(f"{quote(text)} is not a FEN: the {name} {quote(counter)} is too large")
    if len(fields) > 2 and fields[2] != "-" and re.fullmatch(r"[KQkqA-Ha-h]{1,4}", fields[2]):
        raise UsageError(f"{quote(text)} has castling rights, and tables have none: write - in their place")
    try:
        board = chess.Board(" ".join(fields[:6]))
    except ValueError as error:
        # python-chess ends its sentence with the FEN itself.
        reason = str(error).split(" in fen: ")[0].split(": '")[0]
        raise UsageError(f"{quote(text)} is not a FEN: {reason}") from None
    accrued = GScore.parse(fields[6]) if len(fields) == 7 else None
    return Fen(board, accrued if board.halfmove_clock else None)
