"""What makes a game doubtful that can be read all the same, and what counts then."""

from enum import StrEnum
from typing import Final


class Doubt(StrEnum):
    """A contradiction within a game, or a sign that a part of it is missing.

    The value is its word in the tag ``RMobilityDoubts`` and in JSON. The archive of TCEC has had most of them
    (https://github.com/TCEC-Chess/tcecgames, issues 5, 18, 25, 26 and 51; read in June 2026).
    """

    TRUNCATED = "truncated"
    UNCLOSED_COMMENT = "unclosed comment"
    RESULT = "result"
    UNKNOWN_RESULT = "unknown result"
    BOTH_FORFEIT = "both forfeit"
    CASTLING = "castling"
    FINAL_POSITION = "final position"
    PLY_COUNT = "ply count"
    STRAY_TEXT = "stray text"
    DUPLICATE_TAG = "duplicate tag"
    MALFORMED_TAG = "malformed tag"
    TAG_NAME = "tag name"
    EN_PASSANT = "en passant"

    @property
    def sentence(self) -> str:
        """What is wrong, and what counts."""
        return _SENTENCES[self]


_SENTENCES: Final = {
    Doubt.TRUNCATED: "the last moves are missing; the tag Result counts, and of a draw the score accrued "
    "by then",
    Doubt.UNCLOSED_COMMENT: "a comment has no closing brace; nothing after its opening brace is read",
    Doubt.RESULT: "the result after the moves is missing, or not that of the tag Result; the tag counts, "
    "unless it is *",
    Doubt.UNKNOWN_RESULT: "a result is in no spelling that is known, and does not count; unless tag or moves "
    "have another, the game is unfinished",
    Doubt.BOTH_FORFEIT: "both sides have lost (0-0), as no score says; the accrued score counts as played, "
    "and standings leave the game out",
    Doubt.CASTLING: "0-0 at the end is castling, or says that both sides have lost; it counts as castling",
    Doubt.FINAL_POSITION: "the result is not that of the mate or stalemate on the board, which counts",
    Doubt.PLY_COUNT: "the tag PlyCount is not the number of plies; the moves count",
    Doubt.STRAY_TEXT: "behind the result stands what is neither a move nor a comment, and does not count",
    Doubt.DUPLICATE_TAG: "a tag stands twice with different values; the first counts",
    Doubt.MALFORMED_TAG: "a line among the tags is no tag, and does not count",
    Doubt.TAG_NAME: "a tag's name is not in the upper and lower case of PGN; the tag counts",
    Doubt.EN_PASSANT: "no pawn can just have passed the en passant square of the FEN; it does not count",
}
