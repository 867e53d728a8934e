"""Scorings, which convert results to points as the TCEC wiki and cuteRMob do; and intervals of scores."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Final, NamedTuple, Self

from msgspec import Struct

from tbgen.board.immutable import Immutable, set_attribute
from tbgen.board.score import MAX_RANK, GScore, parse_quarters
from tbgen.errors import NamedChoice, UsageError, quote, require_type

_CUTERMOB_PREFIX: Final = re.compile("r-?mobility[ _-]?", re.IGNORECASE)
"""Matches the prefix of the names of schemes in cuteRMob."""
_UNSIGNED_PATTERN: Final = re.compile(r"[Gg][0-9]+(?:\.[05])?")
_QUARTER_DECIMALS: Final = {None: 0, "0": 0, "25": 1, "5": 2, "75": 3}
_TAG_DECIMALS: Final = 4
OTB_CUTOFF: Final = GScore(8, True)
"""G4.0: over the board, only scores up to G3.5 are recorded."""

DEFAULT_CUTOFF: Final = GScore(12, True)
"""The default cutoff, G6.0."""


class Scheme(NamedChoice, noun="a scoring"):
    """A rule that converts a result to points. docs/referee.md shows the text on each scheme."""

    EXPONENTIAL = "exponential"
    """TCEC's points, the default: the holder of rank r gets 1/2 + 1/2^(1 + r)."""
    HARMONIC = "harmonic"
    """The holder of rank r gets 1/2 + 1/(2 (1 + r))."""
    CLASSICAL = "classical"
    """One point for mate; any other result is a draw."""
    WINNER = "winner"
    """One point for the holder of a score below the cutoff, else a draw."""
    KOMI = "komi"
    """One point for the side that has to beat the komi if it does so, else one point for the other side; a
    draw if the score equals the komi. Any score whose rank is at least that of the cutoff counts as a score
    at the cutoff, held by the side that has to beat the komi."""
    FULL = "full"
    """W's full points: the rule of ``komi`` without a cutoff. The komi must end in .25 or .75, so no score
    can equal it, and there are no draws."""
    OTB = "otb"
    """W's points over the board: one point for the holder of G3.5 or less (only these scores are recorded),
    else a draw."""

    @classmethod
    def parse(cls, text: str) -> Scheme:
        """Parse the name of a scheme in upper or lower case.

        The names of cuteRMob are also accepted: ``RMobility Winner`` in PGN tags, ``rMobilityWinner`` in
        options.

        :raises UsageError: if there is no such scheme.

        >>> Scheme.parse("RMobility Winner")
        <Scheme.WINNER: 'winner'>
        """
        return cls(text)

    @classmethod
    def _missing_(cls, value: object) -> Self:
        return super()._missing_(_CUTERMOB_PREFIX.sub("", value.strip()) if isinstance(value, str) else value)

    @property
    def definition(self) -> SchemeDefinition:
        """The definition of the scheme."""
        return _DEFINITIONS[self]


class Points(NamedTuple):
    """The points of each side for a result; their sum is 1.

    The points are floating-point numbers, so exponential points for a rank of 53 (G26.5) or more are rounded
    to 0.5 each. :meth:`Scoring.lead` is exact.

    :ivar white: White's points, from 0 to 1.
    :ivar black: Black's points, from 0 to 1.
    """

    white: float
    black: float


class Komi(Immutable):
    """A komi: a score, in quarters, that one side has to beat.

    :ivar quarters: four times the unsigned score: 23 for ``G5.75``.
    :ivar white_must_beat: True if White has to beat the komi, False if Black has to.

    >>> print(Komi.parse("mG5.75"))
    -G5.75
    """

    __slots__ = __match_args__ = ("quarters", "white_must_beat")

    quarters: int
    white_must_beat: bool

    def __init__(self, quarters: int, white_must_beat: bool) -> None:
        set_attribute(self, "quarters", quarters)
        set_attribute(self, "white_must_beat", white_must_beat)

    @classmethod
    def parse(cls, text: str) -> Komi:
        """Parse a komi: a G-score that may also end in .25 and .75.

        :raises UsageError: if the text is anything else.
        """
        expected = "moves in quarters, such as G5.75 or G6, or -G5.75 or mG5.75 if Black has to beat it"
        return cls(*parse_quarters(text, "a komi", expected, _QUARTER_DECIMALS))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Komi) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash((self.quarters, self.white_must_beat))

    def __str__(self) -> str:
        return f"{'' if self.white_must_beat else '-'}G{self.quarters / 4}"


DEFAULT_KOMI: Final = Komi(23, True)
"""The default komi: White has to beat G5.75."""


def parse_cutoff(text: str) -> GScore:
    """Parse a cutoff: a G-score without a sign, because it applies to both sides.

    :raises UsageError: if the text is anything else.

    >>> print(parse_cutoff("g6"))
    G6.0
    """
    if not _UNSIGNED_PATTERN.fullmatch(text):
        raise UsageError(
            f"{quote(text)} is not a cutoff: expected a G-score without sign, such as G6.0 or G3.5"
        )
    return GScore(text)


@dataclass(frozen=True, slots=True)
class Scoring:
    """A scheme with a cutoff and a komi; most schemes use neither.

    :ivar scheme: the scheme.
    :ivar cutoff: the cutoff, a score without sign.
    :ivar komi: the komi.

    >>> scoring = Scoring(Scheme.KOMI)
    >>> scoring.points(GScore.parse("G5.5")), scoring.tag(GScore.parse("G6.5"))
    (Points(white=1.0, black=0.0), '0-1')

    :raises UsageError: if the cutoff has a sign, or the scheme is ``FULL`` and the komi allows draws.
    :raises TypeError: if an argument has a wrong type. :meth:`parse` accepts texts.
    """

    scheme: Scheme
    cutoff: GScore = DEFAULT_CUTOFF
    komi: Komi = DEFAULT_KOMI

    def __post_init__(self) -> None:
        require_type("the scheme", self.scheme, Scheme, "a Scheme; Scoring.parse accepts its name")
        require_type("the cutoff", self.cutoff, GScore, "a GScore; Scoring.parse accepts text")
        require_type("the komi", self.komi, Komi, "a Komi; Scoring.parse accepts text")
        if not self.cutoff.white:
            raise UsageError(f"{self.cutoff} is not a cutoff: it applies to both sides, without sign")
        if self.scheme is Scheme.FULL and self.komi.quarters % 2 == 0:
            raise UsageError(
                f"full points need a komi that no score equals, in quarters such as G5.75, not {self.komi}"
            )

    @classmethod
    def parse(cls, scheme: str, cutoff: str | None = None, komi: str | None = None) -> Scoring:
        """Parse a scoring from the texts of its parts; None stands for the default.

        :raises UsageError: if one of the texts is malformed.
        """
        return cls(
            Scheme.parse(scheme),
            DEFAULT_CUTOFF if cutoff is None else parse_cutoff(cutoff),
            DEFAULT_KOMI if komi is None else Komi.parse(komi),
        )

    def points(self, value: GScore) -> Points:
        """Return the points of each side for a result."""
        share = 0.5 + float(_holders_lead(self, value.rank, value.white)) / 2
        return Points(share, 1 - share) if value.white else Points(1 - share, share)

    def lead(self, value: GScore) -> Fraction:
        """Return the exact difference between White's and Black's points, from -1 to 1.

        >>> EXPONENTIAL.lead(GScore.parse("-G2.0"))
        Fraction(-1, 16)
        """
        lead = _holders_lead(self, value.rank, value.white)
        return lead if value.white else -lead

    def tag(self, value: GScore) -> str:
        """Return the points of a result as text for PGN tags.

        Whole and half points are written as ``1-0``, ``0-1`` and ``1/2-1/2``, others with four decimals.
        """
        lead = self.lead(value)
        if self.scheme.definition.has_whole_points:
            return "1-0" if lead > 0 else "0-1" if lead < 0 else "1/2-1/2"
        unit = 10**_TAG_DECIMALS
        white = round((1 + lead) / 2 * unit)
        return "-".join(f"{share / unit:.{_TAG_DECIMALS}f}" for share in (white, unit - white))

    def text(self, value: GScore) -> str:
        """Return the points of a result as text for readers, in which unequal points never look equal.

        The format is that of tags, with signs if its decimals hide the difference.

        >>> print(EXPONENTIAL.tag(GScore.parse("G8.5")), EXPONENTIAL.text(GScore.parse("G8.5")))
        0.5000-0.5000 >0.5000-<0.5000
        """
        text = self.tag(value)
        white, _, black = text.partition("-")
        if white != black or not (lead := self.lead(value)):
            return text
        return f">{white}-<{black}" if lead > 0 else f"<{white}->{black}"


@lru_cache(maxsize=4096)
def _holders_lead(scoring: Scoring, rank: int, white: bool) -> Fraction:
    """Return the difference between the holder's points and the other side's."""
    return Fraction(scoring.scheme.definition.lead(scoring, rank, white))


def _komi_lead(komi: Komi, rank: int, white: bool, cutoff: int) -> int:
    """Return 1 if the holder wins by komi, -1 if it loses, 0 for a draw. ``cutoff`` caps the rank."""
    if white == komi.white_must_beat:
        quarters = 2 * min(rank, cutoff)
        return (quarters < komi.quarters) - (quarters > komi.quarters)
    if rank < cutoff or komi.quarters < 2 * cutoff:
        return 1
    return 0 if komi.quarters == 2 * cutoff else -1


class SchemeDefinition(NamedTuple):
    """The definition of a scheme."""

    lead: Callable[[Scoring, int, bool], Fraction | int]
    """Returns the holder's lead in points from the scoring, the rank, and whether White is the holder."""
    has_whole_points: bool = True
    """Whether the scheme gives only whole and half points, which are written in tags like results of chess,
    such as ``1-0``."""
    has_cutoff: bool = False
    """Whether the scheme uses the cutoff."""
    has_komi: bool = False
    """Whether the scheme uses the komi."""


_DEFINITIONS: Final[Mapping[Scheme, SchemeDefinition]] = {
    Scheme.EXPONENTIAL: SchemeDefinition(lambda _, rank, __: Fraction(1, 2**rank), has_whole_points=False),
    Scheme.HARMONIC: SchemeDefinition(lambda _, rank, __: Fraction(1, 1 + rank), has_whole_points=False),
    Scheme.CLASSICAL: SchemeDefinition(lambda _, rank, __: rank < 1),
    Scheme.WINNER: SchemeDefinition(lambda scoring, rank, _: rank < scoring.cutoff.rank, has_cutoff=True),
    Scheme.KOMI: SchemeDefinition(
        lambda scoring, rank, white: _komi_lead(scoring.komi, rank, white, scoring.cutoff.rank),
        has_cutoff=True,
        has_komi=True,
    ),
    Scheme.FULL: SchemeDefinition(
        lambda scoring, rank, white: _komi_lead(scoring.komi, rank, white, MAX_RANK + 1), has_komi=True
    ),
    Scheme.OTB: SchemeDefinition(lambda _, rank, __: rank < OTB_CUTOFF.rank),
}

EXPONENTIAL: Final = Scoring(Scheme.EXPONENTIAL)
"""TCEC's scoring, the default."""


def points(
    value: GScore | str,
    scoring: str | Scheme | Scoring = EXPONENTIAL,
    cutoff: GScore | str | None = None,
    komi: Komi | str | None = None,
) -> Points:
    """Return the points of each side for a result.

    :param value: the result, such as ``G1.5`` or ``-G5.5``.
    :param scoring: a :class:`Scheme` or its name; or a :class:`Scoring`, which has its own cutoff and komi.
    :param cutoff: the cutoff, for schemes that use one; None for G6.0.
    :param komi: the komi, for schemes that use one; None for G5.75, which White has to beat.

    :raises UsageError: if a text is malformed, or a cutoff or komi is passed with a :class:`Scoring`.
    :raises TypeError: if an argument has a wrong type.

    >>> points("-G1.0")
    Points(white=0.375, black=0.625)
    >>> points("G3.5", "komi", komi="G3.5")
    Points(white=0.5, black=0.5)
    """
    if not isinstance(value, GScore):
        value = GScore(value)
    return make_scoring(scoring, cutoff, komi).points(value)


def make_scoring(
    scoring: str | Scheme | Scoring, cutoff: GScore | str | None, komi: Komi | str | None
) -> Scoring:
    """Return the scoring that the parameters of :func:`points` describe; raise the same errors."""
    if not isinstance(scoring, Scoring):
        require_type("the cutoff", cutoff, GScore | str | None, "a GScore or its text")
        require_type("the komi", komi, Komi | str | None, "a Komi or its text")
        return Scoring.parse(scoring, *(None if part is None else str(part) for part in (cutoff, komi)))
    if cutoff is not None or komi is not None:
        raise UsageError("a Scoring has a cutoff and a komi: pass others only with the name of a scheme")
    return scoring


class ScoreInterval(NamedTuple):
    """A closed interval of scores that contains a value.

    :ivar lower: the lower bound; White gets at least this score.
    :ivar upper: the upper bound; White gets at most this score.

    >>> bounds = ScoreInterval.parse("-G4.5 G2.0")
    >>> print(bounds, bounds.nearest(GScore("G1.5")), bounds.nearest(GScore("-G9.0")))
    -G4.5 G2.0 G2.0 -G9.0
    """

    lower: GScore
    upper: GScore

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse an interval in its printed form: both bounds, separated by a space.

        :raises UsageError: if the text is anything else.
        """
        bounds = [GScore(word) for word in text.split()]
        if len(bounds) != 2 or bounds[0] > bounds[1]:
            raise UsageError(f"{quote(text)} is not an interval: expected two scores, the lower one first")
        return cls(*bounds)

    def __str__(self) -> str:
        return f"{self.lower} {self.upper}"

    @property
    def description(self) -> str:
        """The bounds of the value, as text for readers."""
        if self.exact:
            return str(self.lower)
        return "not known" if self == ANYTHING else f"between {self.lower} and {self.upper}"

    @property
    def exact(self) -> bool:
        """Whether the bounds are equal."""
        return self.lower == self.upper

    def intersection(self, other: Self) -> Self:
        """Return the intersection with another interval.

        :raises ValueError: if the intersection is empty.
        """
        lower, upper = max(self.lower, other.lower), min(self.upper, other.upper)
        if lower > upper:
            raise ValueError(f"no score is both in {self} and in {other}")
        return type(self)(lower, upper)

    def nearest(self, score: GScore) -> GScore:
        """Return the score clamped to the interval."""
        return max(self.lower, min(score, self.upper))

    def gives_equal_points(self, scoring: Scoring) -> bool:
        """Return whether all scores of the interval have the same points in tags.

        Comparing the bounds is enough, because no scoring gives fewer points for a better score.
        """
        return scoring.tag(self.lower) == scoring.tag(self.upper)


ANYTHING: Final = ScoreInterval(GScore(0, False), GScore(0, True))
"""The interval of all scores."""


class ProvedBounds(Struct, frozen=True):
    """Proved bounds of the value of a state, and its depth.

    :ivar bounds: an interval that contains the value.
    :ivar depth: plies until the accrued score equals the value, None if unknown.
    """

    bounds: ScoreInterval
    depth: int | None = None

    def combined_with(self, other: ProvedBounds) -> ProvedBounds:
        """Return both results combined: the intersection of their bounds, and a known depth of either.

        :raises ValueError: if they contradict each other.
        """
        depth = other.depth if self.depth is None else self.depth
        return ProvedBounds(self.bounds.intersection(other.bounds), depth)
