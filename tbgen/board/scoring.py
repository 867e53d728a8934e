"""From a result to points: the scorings of the TCEC wiki and of cuteRMob; and intervals of scores.

Points come with cutoff and komi; an interval, with what is proved of a value that lies in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final, NamedTuple, Self

from tbgen.board.score import MAX_RANK, GScore, parse_quarters
from tbgen.errors import NamedChoice, UsageError, quote

_FORK: Final = re.compile("r-?mobility[ _-]?", re.IGNORECASE)
"""What cuteRMob puts before the name of a scheme."""
_UNSIGNED: Final = re.compile(r"[Gg][0-9]+(?:\.[05])?")
_QUARTERS: Final = {None: 0, "0": 0, "25": 1, "5": 2, "75": 3}
_TAG_DECIMALS: Final = 4
OTB_CUTOFF: Final = GScore(8, True)
"""G4.0: over the board only G3.5 and less is recorded."""


class Scheme(NamedChoice, what="a scoring"):
    """A way to turn a result into points: each is a row of ``_ROWS``.

    :cvar EXPONENTIAL: TCEC: the holder of rank r gets 1/2 + 1/2^(1 + r).
    :cvar HARMONIC: the holder of rank r gets 1/2 + 1/(2 (1 + r)).
    :cvar CLASSICAL: a point for mate, all else is a draw.
    :cvar WINNER: a point for a score below the cutoff, else a draw.
    :cvar KOMI: a point for a score better than the komi, if it is below the cutoff; a draw at the komi
        itself.
    :cvar FULL: as with komi, but without a cutoff; a komi in quarters leaves no draws.
    :cvar OTB: over the board: a point for the holder of G3.5 or less, which alone is recorded, else a draw.
    """

    EXPONENTIAL = "exponential"
    HARMONIC = "harmonic"
    CLASSICAL = "classical"
    WINNER = "winner"
    KOMI = "komi"
    FULL = "full"
    OTB = "otb"

    @classmethod
    def parse(cls, text: str) -> Scheme:
        """Read the name of a scheme, in letters of any case; also as cuteRMob writes it.

        That is ``RMobility Winner`` in PGN tags and ``rMobilityWinner`` in options.

        :raises UsageError: if there is none of that name.

        >>> Scheme.parse("RMobility Winner")
        <Scheme.WINNER: 'winner'>
        """
        return cls(text)

    @classmethod
    def _missing_(cls, value: object) -> Self:
        return super()._missing_(_FORK.sub("", str(value).strip()))

    @property
    def whole(self) -> bool:
        """Whether it gives nothing but whole and half points, which tags write as results of chess."""
        return _ROWS[self].whole

    @property
    def has_komi(self) -> bool:
        """Whether the komi counts."""
        return _ROWS[self].has_komi


class Points(NamedTuple):
    """What a result is worth to each side; together always 1.

    These are floating-point numbers: from G26.5 on they no longer tell exponential points from a half each.
    :meth:`Scoring.lead` is exact.

    :ivar white: White's points, from 0 to 1.
    :ivar black: Black's points, from 0 to 1.
    """

    white: float
    black: float


@dataclass(frozen=True, slots=True)
class Komi:
    """The score, in quarters, that a side has to beat; it belongs to a colour.

    :ivar quarters: four times the unsigned score: 23 for ``G5.75``.
    :ivar white: whether White has to beat it.

    >>> print(Komi.parse("mG5.75"))
    -G5.75
    """

    quarters: int
    white: bool

    @classmethod
    def parse(cls, text: str) -> Komi:
        """Read a komi: a G-score that may also end in .25 and .75.

        :raises UsageError: if the text is anything else.
        """
        expected = "moves in quarters, such as G5.75 or G6, or -G5.75 or mG5.75 if Black has to beat it"
        return cls(*parse_quarters(text, "a komi", expected, _QUARTERS))

    def __str__(self) -> str:
        return f"{'' if self.white else '-'}G{self.quarters / 4}"


DEFAULT_CUTOFF: Final = GScore(12, True)
"""G6.0."""

DEFAULT_KOMI: Final = Komi(23, True)
"""G5.75."""


def parse_cutoff(text: str) -> GScore:
    """Read a cutoff: a G-score without sign, as it holds for both sides.

    :raises UsageError: if the text is anything else.

    >>> print(parse_cutoff("g6"))
    G6.0
    """
    if not _UNSIGNED.fullmatch(text):
        raise UsageError(
            f"{quote(text)} is not a cutoff: expected a G-score without sign, such as G6.0 or G3.5"
        )
    return GScore(text)


@dataclass(frozen=True, slots=True)
class Scoring:
    """A scheme with its cutoff and its komi, which most schemes leave unused.

    >>> scoring = Scoring(Scheme.KOMI)
    >>> scoring.points(GScore.parse("G5.5")), scoring.tag(GScore.parse("G6.5"))
    (Points(white=1.0, black=0.0), '0-1')

    :raises UsageError: if the cutoff has a sign, or full points are wanted with a komi that leaves draws.
    """

    scheme: Scheme
    cutoff: GScore = DEFAULT_CUTOFF
    komi: Komi = DEFAULT_KOMI

    def __post_init__(self) -> None:
        if not self.cutoff.white:
            raise UsageError(f"{self.cutoff} is not a cutoff: it holds for both sides, without sign")
        if self.scheme is Scheme.FULL and self.komi.quarters % 2 == 0:
            raise UsageError(
                f"full points need a komi that no score equals, in quarters such as G5.75, not {self.komi}"
            )

    @classmethod
    def parse(cls, scheme: str, cutoff: str | None = None, komi: str | None = None) -> Scoring:
        """Read a scoring from the texts of its parts; None stands for the default.

        :raises UsageError: if one of them means nothing.
        """
        return cls(
            Scheme.parse(scheme),
            DEFAULT_CUTOFF if cutoff is None else parse_cutoff(cutoff),
            DEFAULT_KOMI if komi is None else Komi.parse(komi),
        )

    def points(self, value: GScore) -> Points:
        """Return what a result is worth to each side."""
        share = 0.5 + float(_holders_lead(self, value.rank, value.white)) / 2
        return Points(share, 1 - share) if value.white else Points(1 - share, share)

    def lead(self, value: GScore) -> Fraction:
        """Return by how much White's points exceed Black's, exactly: from -1 to 1.

        >>> EXPONENTIAL.lead(GScore.parse("-G2.0"))
        Fraction(-1, 16)
        """
        lead = _holders_lead(self, value.rank, value.white)
        return lead if value.white else -lead

    def tag(self, value: GScore) -> str:
        """Return the points of a result as PGN tags have them.

        Whole and half points print as ``1-0``, ``0-1`` and ``1/2-1/2``, others with four decimals.
        """
        return self._text(value, _TAG_DECIMALS)

    def text(self, value: GScore) -> str:
        """Return the points of a result for readers: as in tags, but a decided game never as a draw.

        Where four decimals would hide the better part, there are as many as show two of its digits.

        >>> print(EXPONENTIAL.tag(GScore.parse("G8.5")), EXPONENTIAL.text(GScore.parse("G8.5")))
        0.5000-0.5000 0.5000038-0.4999962
        """
        decimals, excess = _TAG_DECIMALS, abs(self.lead(value)) / 2
        if excess and round(excess, decimals) == 0:
            while excess * 10**decimals < 10:
                decimals += 1
        return self._text(value, decimals)

    def _text(self, value: GScore, decimals: int) -> str:
        lead = self.lead(value)
        if self.scheme.whole:
            return "1-0" if lead > 0 else "0-1" if lead < 0 else "1/2-1/2"
        white = round((1 + lead) / 2 * 10**decimals)
        return "-".join(
            f"{share // 10**decimals}.{share % 10**decimals:0{decimals}}"
            for share in (white, 10**decimals - white)
        )


@lru_cache(maxsize=4096)
def _holders_lead(scoring: Scoring, rank: int, white: bool) -> Fraction:
    """Return by how much the points of a score's holder exceed those of the other side."""
    return Fraction(_ROWS[scoring.scheme].lead(scoring, rank, white))


def _against_komi(komi: Komi, rank: int, white: bool, cutoff: int) -> int:
    """Return 1 if the holder wins by komi, -1 if it loses; a rank at or above the cutoff counts as none."""
    if white == komi.white:
        held = 2 * min(rank, cutoff)
        return (held < komi.quarters) - (held > komi.quarters)
    if rank < cutoff or komi.quarters < 2 * cutoff:
        return 1
    return 0 if komi.quarters == 2 * cutoff else -1


class _SchemeRow(NamedTuple):
    """What a scheme is."""

    lead: Callable[[Scoring, int, bool], Fraction | int]
    """Returns by how much the holder of a rank is ahead, and whether that is White."""
    whole: bool = True
    """As :attr:`Scheme.whole`."""
    has_komi: bool = False
    """As :attr:`Scheme.has_komi`."""


_ROWS: Final[Mapping[Scheme, _SchemeRow]] = {
    Scheme.EXPONENTIAL: _SchemeRow(lambda _, rank, __: Fraction(1, 2**rank), whole=False),
    Scheme.HARMONIC: _SchemeRow(lambda _, rank, __: Fraction(1, 1 + rank), whole=False),
    Scheme.CLASSICAL: _SchemeRow(lambda _, rank, __: rank < 1),
    Scheme.WINNER: _SchemeRow(lambda scoring, rank, _: rank < scoring.cutoff.rank),
    Scheme.KOMI: _SchemeRow(
        lambda scoring, rank, white: _against_komi(scoring.komi, rank, white, scoring.cutoff.rank),
        has_komi=True,
    ),
    Scheme.FULL: _SchemeRow(
        lambda scoring, rank, white: _against_komi(scoring.komi, rank, white, MAX_RANK + 1), has_komi=True
    ),
    Scheme.OTB: _SchemeRow(lambda _, rank, __: rank < OTB_CUTOFF.rank),
}

EXPONENTIAL: Final = Scoring(Scheme.EXPONENTIAL)
"""TCEC's scoring, the default."""


def points(
    value: GScore | str,
    scoring: str | Scheme | Scoring = EXPONENTIAL,
    cutoff: GScore | str = DEFAULT_CUTOFF,
    komi: Komi | str = DEFAULT_KOMI,
) -> Points:
    """Return what a result is worth to each side.

    :param value: the result, such as ``G1.5`` or ``-G5.5``.
    :param scoring: a :class:`Scheme` or its name; or a :class:`Scoring`, whose own cutoff and komi count.
    :param cutoff: for ``winner`` and ``komi``.
    :param komi: for ``komi`` and ``full``.

    :raises UsageError: if a text means nothing.
    :raises TypeError: if the result is neither score nor text.

    >>> points("-G1.0")
    Points(white=0.375, black=0.625)
    >>> points("G3.5", "komi", komi="G3.5")
    Points(white=0.5, black=0.5)
    """
    if not isinstance(value, GScore):
        value = GScore(value)
    if not isinstance(scoring, Scoring):
        scoring = Scoring.parse(scoring, str(cutoff), str(komi))
    return scoring.points(value)


class ScoreInterval(NamedTuple):
    """The scores that a value is proved to lie between, ends included, seen by White.

    :ivar lower: White gets this at least.
    :ivar upper: White gets this at most.

    >>> bounds = ScoreInterval.parse("-G4.5 G2.0")
    >>> print(bounds, bounds.nearest(GScore("G1.5")), bounds.nearest(GScore("-G9.0")))
    -G4.5 G2.0 G2.0 -G9.0
    """

    lower: GScore
    upper: GScore

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read an interval as it prints: both ends with a space between.

        :raises UsageError: if the text is anything else.
        """
        ends = [GScore(word) for word in text.split()]
        if len(ends) != 2 or ends[0] > ends[1]:
            raise UsageError(f"{quote(text)} is no interval: expected two scores, White's worse one first")
        return cls(*ends)

    def __str__(self) -> str:
        return f"{self.lower} {self.upper}"

    @property
    def words(self) -> str:
        """What the interval says of a value, for a reader."""
        if self.exact:
            return str(self.lower)
        return "not known" if self == ANYTHING else f"between {self.lower} and {self.upper}"

    @property
    def exact(self) -> bool:
        """Whether the ends meet."""
        return self.lower == self.upper

    def within(self, other: Self) -> Self:
        """Return what is left of the interval if the value lies in another one too.

        :raises ValueError: if it cannot lie in both.
        """
        lower, upper = max(self.lower, other.lower), min(self.upper, other.upper)
        if lower > upper:
            raise ValueError(f"no score is both in {self} and in {other}")
        return type(self)(lower, upper)

    def nearest(self, score: GScore) -> GScore:
        """Return the score of the interval that is nearest to a score: the score itself if it lies there."""
        return max(self.lower, min(score, self.upper))

    def agree(self, scoring: Scoring) -> bool:
        """Tell whether all its scores print the same points, as tags have them.

        The ends tell: a better score never gets less, by any scoring.
        """
        return scoring.tag(self.lower) == scoring.tag(self.upper)

    def document(self) -> dict[str, str]:
        """Return the ends for JSON."""
        return {"lower": str(self.lower), "upper": str(self.upper)}


ANYTHING: Final = ScoreInterval(GScore(0, False), GScore(0, True))
"""The interval of all scores, which says nothing."""


@dataclass(frozen=True, slots=True)
class ProvedValue:
    """What is proved of the value of a state.

    :ivar bounds: the value lies between these.
    :ivar depth: plies until the accrued score is the value, where both are known.
    """

    bounds: ScoreInterval
    depth: int | None = None

    def and_also(self, other: ProvedValue) -> ProvedValue:
        """Return what follows from both.

        :raises ValueError: if they contradict each other.
        """
        depth = other.depth if self.depth is None else self.depth
        return ProvedValue(self.bounds.within(other.bounds), depth)
