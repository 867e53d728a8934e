"""The scale of the search: G-scores as integers. The better a score is for White, the greater its integer.

The value of a score of rank r is 1/(1 + r) of the value of a mate. This is the holder's lead under harmonic
scoring (``Scheme.HARMONIC`` of :mod:`tbgen.board.scoring`). Integers between the values of two scores are
used for estimates, and to express the number of plies to a score.

The kernels share this module with code that runs before they are compiled, so it imports no compiler.
"""

from typing import Final

from tbgen.board.score import GScore

MATE: Final = 10**9
"""Value of G0.0."""
INFINITE: Final = 2 * MATE
"""Limit of all values."""
NO_VALUE: Final = 4 * MATE
"""Marks a state without a value."""
SCALE_PLIES: Final = 1000
"""Maximum number of plies to a score that the scale distinguishes. The values of any two scores up to G218.0
differ by more than twice this number."""
MAX_POSITION_RANK: Final = 437
"""Upper bound of all position ranks."""
_MAX_PLAYED_RANK: Final = 2 * 50 + 1
"""Rank of G50.5. Estimates of greater rank count as even: positions in real games have fewer moves."""
_MAX_CHECK_RANK: Final = 16
"""Greatest rank at which an estimate may be reported as the score of a position in check. A side in check
very rarely has more than eight moves."""
MATE_CENTIPAWNS: Final = 1000
"""Value of a mate in the centipawns that user interfaces show."""


def worth(score: GScore) -> int:
    """Return the value of a score on the scale.

    >>> worth(GScore("G0.5")), worth(GScore("-G1.5"))
    (500000000, -250000000)
    """
    lead = MATE // (1 + score.rank)
    return lead if score.white else -lead


def value_after(score: GScore, accrued: GScore, plies: int | None) -> int:
    """Return the value, on the scale, of a score that best play reaches after some plies.

    The fewer the plies, the better the value is for the side that prefers the score to the accrued score. So
    this side hurries, and the other side delays.

    :param accrued: the accrued score before these plies.
    :param plies: number of plies; None if unknown.

    >>> value_after(GScore("G1.5"), GScore("-G2.5"), 4) > value_after(GScore("G1.5"), GScore("-G2.5"), 6)
    True
    >>> value_after(GScore("-G3.5"), GScore("G2.5"), 4) < value_after(GScore("-G3.5"), GScore("G2.5"), 6)
    True
    """
    if score == accrued:
        return worth(score)
    sooner = SCALE_PLIES // 4 if plies is None else max(SCALE_PLIES - plies, 0)
    return worth(score) + (sooner if score > accrued else -sooner)


def nearest_score(value: int) -> GScore | None:
    """Return the score nearest to a value, among the scores that occur in games; None for an even game.

    >>> print(nearest_score(worth(GScore("-G7.5"))), nearest_score(worth(GScore("G31.0"))), nearest_score(0))
    -G7.5 G31.5 None
    """
    rank = round(MATE / abs(value)) - 1 if value else MATE
    if rank > _MAX_CHECK_RANK:
        rank |= 1
    return GScore(max(rank, 0), value > 0) if rank <= _MAX_PLAYED_RANK else None


def centipawns(value: int) -> int:
    """Return a value in the centipawns that user interfaces show. Rounding may make different scores equal.

    >>> [centipawns(worth(GScore(score))) for score in ("G0.0", "G0.5", "G3.5", "G8.5", "-G1.0")]
    [1000, 500, 125, 56, -333]
    """
    return round(value * MATE_CENTIPAWNS / MATE)


def mate_plies(value: int) -> int | None:
    """Return the number of plies to mate that a value expresses; None if it is not the value of a mate."""
    return SCALE_PLIES - (abs(value) - MATE) if abs(value) > MATE else None
