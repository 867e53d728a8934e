"""Scores as small signed numbers, the form in which probing computes with them.

White's score of rank r is ``r``, Black's is ``~r`` (that is -1 - r); the low byte is the code in tables.
"""

from tbgen.score import MAX_CODED_RANK, GScore


def rank_of(score: int) -> int:
    """Return the rank of a score.

    >>> rank_of(7), rank_of(~7)
    (7, 7)
    """
    return score if score >= 0 else ~score


def of_code(code: int) -> int:
    """Return the score of a table code."""
    return code if code < 128 else code - 256


def of_gscore(score: GScore) -> int:
    """Return a G-score as a number."""
    return score.rank if score.white else ~score.rank


def to_gscore(score: int) -> GScore:
    """Return a number as a G-score.

    >>> print(to_gscore(~7))
    -G3.5
    """
    rank = rank_of(score)
    if rank <= MAX_CODED_RANK:
        return GScore.from_code(score & 255)
    return GScore(rank, score >= 0)


def merit(score: int, white: bool) -> int:
    """Return a number that is the greater the better the score is for a side.

    >>> merit(0, True) > merit(7, True) > merit(~7, True) > merit(~0, True)
    True
    """
    value = 4096 - score if score >= 0 else -4096 - score
    return value if white else -value


def fold(accrued: int, score: int) -> int:
    """Return the accrued score after a position's own score: on equal rank the first holder keeps it."""
    return score if rank_of(score) < rank_of(accrued) else accrued
