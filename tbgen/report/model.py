"""What a report says, as structs whose fields are those of its JSON.

White is the first side of a material's name (KBvK: White has the bishop). ``Sides`` have White to move first,
Black to move second. *On the board* means all positions of the 64 squares, each image of a position under
the symmetries counted, like men not told apart; *up to symmetry* means what a table stores. Positions with
an en passant right are kept apart, as in the tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from functools import cache, partial
from types import UnionType
from typing import Any, Final, Generic, NamedTuple, Self, TypeVar, Union, get_args, get_origin

import msgspec

from tbgen.board.material import Material
from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.documents import Document, SideName

T = TypeVar("T")


class ReportPart(Document, rename={"variant": "rules"}):
    """Base of the parts of a report: documents in which scores and materials, also as keys, become text."""

    def plain(self, *names: str) -> dict[str, Any]:
        """Return the part, or some fields of it, as dicts, lists, texts and numbers."""
        fields = zip(self.__struct_encode_fields__, self.__struct_fields__, strict=True)
        return {name: _plain(getattr(self, field)) for name, field in fields if not names or name in names}

    @classmethod
    def read(cls, found: Any) -> Self:
        """Return a part from what :meth:`plain` has made of it; fields with a default may be missing.

        :raises KeyError: if another field is missing.
        :raises ValidationError: if something is of another type than its field; where the types are those of
            containers, AttributeError or TypeError.
        :raises UsageError: if a score or material means nothing.
        """
        part: Self = _reader(cls)(found)
        return part


class Sides(ReportPart, Generic[T]):
    """The same of both sides: of those to move, or of the holders of a score."""

    white: T
    black: T

    def __iter__(self) -> Iterator[T]:
        return iter((self.white, self.black))

    def __getitem__(self, side: int | str) -> T:
        """Return what is of White (0) or of Black (1), or of a side by its name."""
        found: T = getattr(self, side if isinstance(side, str) else SIDES[side])
        return found

    def items(self) -> Iterator[tuple[str, T]]:
        """Yield the name of each side, and what is of it."""
        return zip(SIDES, self, strict=True)


SIDES: Final = Sides.__struct_fields__
"""Names of the sides, White's first."""


def _plain(found: Any) -> Any:
    if isinstance(found, dict):
        return {str(key): _plain(value) for key, value in found.items()}
    if isinstance(found, tuple):
        return [_plain(value) for value in found]
    if isinstance(found, ReportPart):
        return found.plain()
    return str(found) if isinstance(found, GScore | Material) else found


@cache
def _reader(kind: Any) -> Callable[[Any], Any]:
    """Return what reads a type: the inverse of :func:`_plain`."""
    origin = get_origin(kind) or kind
    if origin in (Union, UnionType, tuple, Mapping):
        first, second = map(_reader, get_args(kind))
        if origin in (Union, UnionType):
            return lambda found: None if found is None else first(found)
        if origin is tuple:
            return lambda found: tuple(map(first, found))
        return lambda found: {first(key): second(value) for key, value in found.items()}
    if isinstance(origin, type) and issubclass(origin, ReportPart):
        fields = msgspec.structs.fields(kind)
        readers = [(field, _reader(field.type)) for field in fields]
        return lambda found: origin(
            **{
                field.name: read(found[field.encode_name])
                for field, read in readers
                if field.required or field.encode_name in found
            }
        )
    texts: dict[Any, Callable[[str], Any]] = {GScore: cache(GScore), Material: Material.parse}
    return texts.get(kind) or partial(msgspec.convert, type=kind, strict=False)


Counts = Mapping[GScore, int]
"""Positions per value, best for White first; values that do not occur are left out."""

Depths = Mapping[GScore, Mapping[int, int]]
"""Positions per value and depth in plies, best value first and depths ascending."""


class Totals(ReportPart):
    """How many legal positions there are with a side to move, without those with an en passant right."""

    board: int
    canonical: int
    """Up to symmetry."""


class Distribution(ReportPart):
    """How many positions have which fresh value W(P) and depth D(P)."""

    board: Sides[Counts]
    """On the board."""
    canonical: Sides[Counts]
    """Up to symmetry."""
    en_passant: Sides[Counts]
    """Positions with an en passant right, up to symmetry; each has two images on the board."""
    positions: Sides[Totals]
    depths: Sides[Depths]
    """On the board, without en passant positions."""

    def share(self, side: int, value: GScore) -> float:
        """Return which part of the positions on the board has a value, 0 to 1."""
        return ratio(self.board[side].get(value, 0), self.positions[side].board)

    def outcomes(self, side: int) -> Outcomes:
        """Return how many positions on the board are won, drawn and lost by the rules of chess."""
        won, lost = (self.board[side].get(GScore(0, white), 0) for white in (True, False))
        return Outcomes(won, self.positions[side].board - won - lost, lost)


class Outcomes(NamedTuple):
    """Positions on the board by what they are in chess, seen from White."""

    won: int
    """White mates."""
    drawn: int
    lost: int
    """Black mates."""


class LinePoint(ReportPart):
    """One ply of a record's line."""

    san: str
    uci: str
    accrued: GScore
    """The accrued score after the move."""
    depth: int
    """Plies to the goal after the move."""


class Record(ReportPart):
    """The position of a material that takes longest to get to a value.

    En passant positions take part. Of equally long ones the example is the first in the order: White to move
    before Black, without en passant right before with, smaller slot first.
    """

    material: Material
    variant: Variant
    value: GScore
    depth: int
    """Plies until the accrued score is the value, under best play."""
    ties: int
    """How many positions up to symmetry take as long, the example included."""
    fen: str
    """The example, six fields."""
    to_move: SideName
    line: tuple[LinePoint, ...] = ()
    """Best play from the example, as many plies as the depth; empty until it is asked for."""
    pgn: str = ""
    """The line as one PGN game; empty until it is asked for."""
    verified: bool = False
    """Whether the arbiter, replaying the line, came to the value in exactly ``depth`` plies."""


class OverallRecord(ReportPart):
    """The longest way to a score over all materials; the holder's colour is left aside."""

    g: GScore
    """The score as if White held it."""
    depth: int
    ties: int
    """Positions up to symmetry and up to colours that take as long, over all materials."""
    holders: tuple[Record, ...]
    """One record per material and holder that reaches the depth, in build order."""


class AccruedCounts(ReportPart):
    """What becomes of accrued scores: states (P, A), by how V(P, A) compares with A.

    All states count that a game can bring, but for positions with an en passant right: ``2 <= rank(A) <=
    rank(g(P))``, held by either side, but not A = g(P). If rank(A) > rank(W(P)), V(P, A) is W(P) (fact F1 of
    docs/theory.md): A is improved or lost.
    Otherwise V lies between A and W (fact F2), which has no smaller rank, and so V is A itself or else of
    no smaller rank, which takes a reset: A survives or is wiped out. The numbers come from fresh values,
    from the number of moves of every position, and from the runs of the table, or from its layers, which are
    made again where it is packed.
    """

    states: int
    stored: int
    """Of these, rank(A) <= rank(W(P)): the states whose values a table stores apart."""
    survives: int
    """V = A: play ends with the score that had accrued."""
    improved: int
    """V is better than A for the holder of A, and has the same holder: rank(V) < rank(A)."""
    worsened: int
    """V is worse than A, but held by the same side: rank(V) > rank(A), so A was reset."""
    lost: int
    """The other side holds V, and rank(V) < rank(A): it did better, with or without a reset."""
    lost_by_reset: int
    """The other side holds V, and rank(V) >= rank(A), which takes a reset."""
    wiped_out: int
    """Worsened or lost by a reset: A has gone for a score of no smaller rank."""
    fresh: int
    """V = W(P), also where A is the same."""


class AccruedView(ReportPart):
    """The accrued scores of a table, by side to move and then by holder of A."""

    board: Sides[Sides[AccruedCounts]]
    """States on the board."""
    canonical: Sides[Sides[AccruedCounts]]
    """The same up to symmetry."""


class Typical(ReportPart):
    """What an endgame gives with one side to move, on the board.

    *Quiet* positions are those in which the game is not over and the side to move has no legal capture.
    """

    positions: int
    """All legal positions."""
    over: int
    """Mates and stalemates."""
    captures: int
    """Positions with a legal capture, set aside together with those that are over."""
    quiet: Counts
    """Quiet positions by value."""
    mode: GScore | None
    """The most frequent value of quiet positions, of equally frequent ones the better for White; None if
    there are no such positions."""
    median: GScore | None
    """The value such that half of the quiet positions are at least as good for White: the lower median."""
    best: GScore | None
    """The best value for White of any position, over or with captures included."""
    worst: GScore | None

    @property
    def total(self) -> int:
        """Number of quiet positions."""
        return sum(self.quiet.values())

    def share(self, value: GScore) -> float:
        """Return which part of the quiet positions has a value."""
        return ratio(self.quiet.get(value, 0), self.total)


class UnusualValue(ReportPart):
    """A value that few quiet positions have, with the longest of these as an example."""

    value: GScore
    to_move: SideName
    count: int
    """Quiet positions on the board."""
    share: float
    """Of all quiet positions with that side to move."""
    fen: str
    """The quiet position with the greatest depth; the smallest slot of equal ones."""
    depth: int
    """Its depth in plies."""


class WikiExample(ReportPart):
    """A position with which the rules' wiki shows what an endgame gives, beside what the table says."""

    fen: str
    to_move: SideName
    value: GScore
    """What the wiki's line comes to."""
    line: str
    """The line in SAN, without move numbers; empty if the score has accrued already."""
    source: str
    """Address of the page."""
    share: float
    """Which part of the quiet positions with that side to move has the value."""
    typical: bool
    """Whether it is the most frequent value of these."""


class Endgame(ReportPart):
    """What an endgame gives."""

    sentence: str
    """The rest in plain English, made from the numbers."""
    white: Typical
    """With White to move."""
    black: Typical
    unusual: tuple[UnusualValue, ...]
    """Values of fewer than :data:`tbgen.report.endgames.UNUSUAL_SHARE` of the quiet positions, White to
    move first, best value first."""
    examples: tuple[WikiExample, ...]
    """What the rules' wiki shows; empty where it shows nothing."""

    @property
    def sides(self) -> Sides[Typical]:
        """What it gives with either side to move."""
        return Sides(self.white, self.black)


class Verdict(StrEnum):
    """Whether a side can mate, from seldom to always; bounds in :mod:`tbgen.report.mating`."""

    NO_HELP_MATE = "not even help mate"
    """That side has no pawns, and no legal position with this material is a mate by it."""
    NEVER = "never"
    """There may be mates, but none is forced from an open position."""
    SOMETIMES = "sometimes"
    GENERAL = "general win"


class MatingChance(ReportPart):
    """What an attacker can force with one side to move, over the open positions on the board.

    *Open* positions are those in which the game is not over, and the side to move has neither a legal capture
    nor mate in one.
    """

    open: int
    forced: int
    """Open positions in which the attacker mates by force."""
    share: float
    """Which part of the open positions these are."""
    best: GScore | None
    """The best score that can generally be forced: at least ``GENERAL_SHARE`` of the open positions are worth
    that or more to the attacker. None without open positions."""


class MatingTruth(ReportPart):
    """What one side's mates really are, counted on the board."""

    verdict: Verdict
    mates: int
    """Positions in which the attacker has just mated; without one, there is not even a help mate."""
    to_move: MatingChance
    """With the attacker to move."""
    waiting: MatingChance
    """With the defender to move."""


class MatingRule(ReportPart):
    """What the rule of thumb says about the side that is ahead."""

    leader: SideName | None
    """None if nobody is ahead."""
    advantage: float
    """In pawns, pawns included."""
    divisor: int
    """By what an engine divides its score: 1, 2, 4 or 8."""
    wins: bool | None
    """Whether the rule expects a general win: if the score is at most halved. None if nobody is ahead, or the
    leader has pawns and the score stays: then the rule says nothing about mate."""
    reason: str


class MatingPotential(ReportPart):
    """Can it be won? The rule of thumb, and the truth."""

    rule: MatingRule
    truth: Sides[MatingTruth]
    """By attacker, where no side has its two or more bishops on one colour; as bishops count all men that are
    bound to a colour."""
    like_bishops: Sides[MatingTruth] | None
    """The same where a side has its two or more bishops on one colour; None if no side has two."""
    agrees: bool | None
    """Whether the leader generally wins exactly if the rule expects it; None if the rule says nothing."""
    sentence: str

    @property
    def leading(self) -> MatingTruth | None:
        """The truth about the side that the rule says is ahead; None if nobody is."""
        return None if self.rule.leader is None else self.truth[self.rule.leader]


class MatingEntry(ReportPart):
    """What a report on mating potential says of a table."""

    material: Material
    variant: Variant
    potential: MatingPotential
    longest: Sides[int | None]
    """By attacker, plies of the longest way to his mate, whatever the position; None without mates."""
    typical: Sides[GScore | None]
    """By side to move, the most frequent value of quiet positions; None without any."""


class MatingReport(ReportPart):
    """What tables tell about mating potential."""

    entries: tuple[MatingEntry, ...]
    """In build order."""
    missing: tuple[Material, ...]
    """The other materials of the same men, which have no table, in build order."""


class TableReport(ReportPart, kw_only=True):
    """Everything about one table."""

    material: Material
    variant: Variant
    digest: str
    tbgen_version: str
    bytes: int
    """Size of the file."""
    form: str
    """``plain`` or ``packed``."""
    max_depth: int
    """Longest way to the goal in plies, stored accrued scores included."""
    highlights: tuple[str, ...] = ()
    """What stands out, made from the rest by :mod:`tbgen.report.highlights`."""
    distribution: Distribution
    records: tuple[Record, ...]
    """One per value that occurs, best for White first."""
    accrued: AccruedView | None
    """None if the table has none, or is packed and they were not counted."""
    endgame: Endgame
    mating: MatingPotential
    black_king: Sides[tuple[Counts, ...]]
    """For each side to move 64 distributions on the board, by the square of Black's king (a1 = 0)."""


def ratio(part: int, total: int) -> float:
    """Return a part of a total as a number from 0 to 1; 0 if the total is 0."""
    return part / total if total else 0.0
