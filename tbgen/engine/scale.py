"""G-scores on the scale of the search: whole numbers, the greater the better for White.

A score of rank r is worth 1/(1 + r) of a mate, as much as harmonic scoring lets its holder lead
(``Scheme.HARMONIC`` of :mod:`tbgen.board.scoring`), so the order of the numbers is that of the game. Between
two scores there is room for two more things: estimates, and how soon a score is reached.
"""

from typing import Final

from tbgen.board.score import GScore

MATE: Final = 10**9
"""What G0.0 is worth."""
REACH: Final = 1000
"""Plies that are told apart; scores up to G218.0 lie further apart than twice as much."""
LAST_RANK: Final = 437
"""Ranks above are those of no position."""
_MOST_OF_PLAY: Final = 2 * 50 + 1
"""An estimate nearer to nothing than G50.5 is called even: positions of games have fewer moves."""
_MOST_IN_CHECK: Final = 16
"""With more than eight moves a side is hardly ever in check, and no estimate says that it is."""
CENTIPAWNS: Final = 1000
"""What a mate is worth in the units that user interfaces know: 1000 times the lead by harmonic scoring."""


def worth(score: GScore) -> int:
    """Return what a score is worth.

    >>> worth(GScore("G0.5")), worth(GScore("-G1.5"))
    (500000000, -250000000)
    """
    lead = MATE // (1 + score.rank)
    return lead if score.white else -lead


def reached(score: GScore, held: GScore, plies: int | None) -> int:
    """Return what a score is worth that best play comes to.

    The side that it is better for than the score held at first hurries, the other one delays.

    :param plies: after how many plies; None if it is not known.

    >>> reached(GScore("G1.5"), GScore("-G2.5"), 4) > reached(GScore("G1.5"), GScore("-G2.5"), 6)
    True
    >>> reached(GScore("-G3.5"), GScore("G2.5"), 4) < reached(GScore("-G3.5"), GScore("G2.5"), 6)
    True
    """
    if score == held:
        return worth(score)
    sooner = REACH // 4 if plies is None else max(REACH - plies, 0)
    return worth(score) + (sooner if score > held else -sooner)


def nearest(value: int) -> GScore | None:
    """Return the score of positions in games that is worth about as much, None for an even game.

    >>> print(nearest(worth(GScore("-G7.5"))), nearest(worth(GScore("G31.0"))), nearest(0))
    -G7.5 G31.5 None
    """
    rank = round(MATE / abs(value)) - 1 if value else MATE
    if rank > _MOST_IN_CHECK:
        rank |= 1
    return GScore(max(rank, 0), value > 0) if rank <= _MOST_OF_PLAY else None


def centipawns(value: int) -> int:
    """Return a value for user interfaces: the better a score, the greater, up to rounding.

    >>> [centipawns(worth(GScore(score))) for score in ("G0.0", "G0.5", "G3.5", "G8.5", "-G1.0")]
    [1000, 500, 125, 56, -333]
    """
    return round(value * CENTIPAWNS / MATE)


def mate_plies(value: int) -> int | None:
    """Return in how many plies a value mates, None if it is none of a mate."""
    return REACH - (abs(value) - MATE) if abs(value) > MATE else None
