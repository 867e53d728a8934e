"""Scores as small signed numbers, the form in which probing computes with them.

White's score of rank r is ``r``, Black's is ``~r`` (that is -1 - r); the low byte is the code in tables.
"""

from typing import Final, NewType

from tbgen.board.score import MAX_CODED_RANK, MAX_RANK, Code, GScore, Rank

Signed = NewType("Signed", int)
"""A score as a number: the rank for White's, its complement for Black's."""

_RANKS: Final = (*map(Rank, range(MAX_RANK + 1)), *map(Rank, range(MAX_RANK, -1, -1)))
"""The rank of every score; the negative ones count from the end."""

_OF_CODE: Final = (*map(Signed, range(128)), *map(Signed, range(-128, 0)))
"""The score of every code."""


def rank_of(score: Signed) -> Rank:
    """Return the rank of a score.

    >>> rank_of(Signed(7)), rank_of(Signed(~7))
    (7, 7)
    """
    return _RANKS[score]


def of_code(code: Code, swapped: bool = False) -> Signed:
    """Return the score of a table code, with the colours swapped if the table has them so.

    >>> of_code(Code(7)), of_code(Code(7), swapped=True)
    (7, -8)
    """
    return _OF_CODE[code ^ 255 if swapped else code]


def code_of(score: Signed, swapped: bool = False) -> Code:
    """Return the code of a score up to :data:`MAX_CODED_RANK`, the way back from :func:`of_code`."""
    return Code((~score if swapped else score) & 255)


def of_gscore(score: GScore) -> Signed:
    """Return a G-score as a number."""
    return Signed(score.rank if score.white else ~score.rank)


def to_gscore(score: Signed) -> GScore:
    """Return a number as a G-score.

    >>> print(to_gscore(Signed(~7)))
    -G3.5
    """
    rank = rank_of(score)
    if rank <= MAX_CODED_RANK:
        return GScore.from_code(score & 255)
    return GScore(rank, score >= 0)


def merit(score: Signed, white: bool) -> int:
    """Return a number that is the greater the better the score is for a side.

    >>> merit(Signed(0), True) > merit(Signed(7), True) > merit(Signed(~7), True) > merit(Signed(~0), True)
    True
    """
    value = 4096 - score if score >= 0 else -4096 - score
    return value if white else -value


def fold(accrued: Signed, score: Signed) -> Signed:
    """Return the accrued score after a position's own score: on equal rank the first holder keeps it."""
    return score if rank_of(score) < rank_of(accrued) else accrued
