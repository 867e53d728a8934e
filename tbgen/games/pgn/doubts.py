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
    FINAL_POSITION = "final position"
    PLY_COUNT = "ply count"
    DUPLICATE_TAG = "duplicate tag"
    MALFORMED_TAG = "malformed tag"

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
    Doubt.FINAL_POSITION: "the result is not that of the mate or stalemate on the board, which counts",
    Doubt.PLY_COUNT: "the tag PlyCount is not the number of plies; the moves count",
    Doubt.DUPLICATE_TAG: "a tag stands twice with different values; the first counts",
    Doubt.MALFORMED_TAG: "a line among the tags is no tag, and does not count",
}
