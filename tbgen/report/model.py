"""What a report says, as plain data.

White is the first side of a material's name (KBvK: White has the bishop). Pairs have White to move first,
Black to move second. *On the board* means all positions of the 64 squares, each image of a position under
the symmetries counted, like men not told apart; *up to symmetry* means what a table stores. Positions with
an en passant right are kept apart, as in the tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from tbgen.board.material import Material
from tbgen.board.score import GScore
from tbgen.board.variant import Variant

Counts = Mapping[GScore, int]
"""Positions per value, best for White first; values that do not occur are left out."""

Depths = Mapping[GScore, Mapping[int, int]]
"""Positions per value and depth in plies, best value first and depths ascending."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """How many positions have which fresh value W(P) and depth D(P)."""

    board: tuple[Counts, Counts]
    """On the board."""
    canonical: tuple[Counts, Counts]
    """Up to symmetry."""
    en_passant: tuple[Counts, Counts]
    """Positions with an en passant right, up to symmetry; each has two images on the board."""
    depths: tuple[Depths, Depths]
    """On the board, without en passant positions."""

    def total(self, side: int) -> int:
        """Return the number of legal positions on the board with a side to move (0 White, 1 Black)."""
        return sum(self.board[side].values())

    def canonical_total(self, side: int) -> int:
        """Return the number of legal positions up to symmetry with a side to move."""
        return sum(self.canonical[side].values())

    def share(self, side: int, value: GScore) -> float:
        """Return which part of the positions on the board has a value, 0 to 1."""
        total = self.total(side)
        return self.board[side].get(value, 0) / total if total else 0.0

    def outcomes(self, side: int) -> Outcomes:
        """Return how many positions on the board are won, drawn and lost by the rules of chess."""
        won, lost = (self.board[side].get(GScore(0, white), 0) for white in (True, False))
        return Outcomes(won, self.total(side) - won - lost, lost)


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Positions on the board by what they are in chess, seen from White."""

    won: int
    """White mates."""
    drawn: int
    lost: int
    """Black mates."""


@dataclass(frozen=True, slots=True)
class LinePoint:
    """One ply of a record's line."""

    san: str
    uci: str
    accrued: GScore
    """The accrued score after the move."""
    depth: int
    """Plies to the goal after the move."""


@dataclass(frozen=True, slots=True)
class Record:
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
    white_to_move: bool
    line: tuple[LinePoint, ...]
    """Best play from the example, as many plies as the depth; empty until it is asked for."""
    pgn: str
    """The line as one PGN game; empty until it is asked for."""
    verified: bool
    """Whether the arbiter, replaying the line, came to the value in exactly ``depth`` plies."""


@dataclass(frozen=True, slots=True)
class OverallRecord:
    """The longest way to a score over all materials; the holder's colour is left aside."""

    g: GScore
    """The score as if White held it."""
    depth: int
    ties: int
    """Positions up to symmetry and up to colours that take as long, over all materials."""
    holders: tuple[Record, ...]
    """One record per material and holder that reaches the depth, in build order."""


@dataclass(frozen=True, slots=True)
class AccruedCounts:
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
    """V is better than A for the holder of A, who still holds it: rank(V) < rank(A)."""
    worsened: int
    """V is worse than A, but held by the same side: rank(V) > rank(A), so A was reset."""
    lost: int
    """The other side holds V, and rank(V) < rank(A): it did better, with or without a reset."""
    lost_by_reset: int
    """The other side holds V, and rank(V) >= rank(A), which takes a reset."""
    fresh: int
    """V = W(P), also where A is the same."""

    @property
    def wiped_out(self) -> int:
        """States in which A has gone for a score of no smaller rank, as only a reset does."""
        return self.worsened + self.lost_by_reset

    def share(self, count: int) -> float:
        """Return which part of the states a number of them is."""
        return count / self.states if self.states else 0.0


@dataclass(frozen=True, slots=True)
class AccruedView:
    """The accrued scores of a table."""

    board: Mapping[tuple[int, bool], AccruedCounts]
    """By side to move (0 White, 1 Black) and whether White holds A; states on the board."""
    canonical: Mapping[tuple[int, bool], AccruedCounts]
    """The same up to symmetry."""


@dataclass(frozen=True, slots=True)
class Typical:
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
        total = self.total
        return self.quiet.get(value, 0) / total if total else 0.0


@dataclass(frozen=True, slots=True)
class UnusualValue:
    """A value that few quiet positions have, with the longest of these as an example."""

    value: GScore
    white_to_move: bool
    count: int
    """Quiet positions on the board."""
    share: float
    """Of all quiet positions with that side to move."""
    fen: str
    """The quiet position with the greatest depth; the smallest slot of equal ones."""
    depth: int
    """Its depth in plies."""


@dataclass(frozen=True, slots=True)
class WikiExample:
    """A position with which the rules' wiki shows what an endgame gives, beside what the table says."""

    fen: str
    white_to_move: bool
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


@dataclass(frozen=True, slots=True)
class Endgame:
    """What an endgame gives."""

    material: Material
    variant: Variant
    sides: tuple[Typical, Typical]
    unusual: tuple[UnusualValue, ...]
    """Values of fewer than :data:`tbgen.report.facts.endgames.UNUSUAL_SHARE` of the quiet positions, White to
    move first, best value first."""
    sentence: str
    """The above in plain English, made from the numbers."""
    examples: tuple[WikiExample, ...]
    """What the rules' wiki shows; empty where it shows nothing."""


class Verdict(StrEnum):
    """Whether a side can mate, from seldom to always; bounds in :mod:`tbgen.report.facts.mating`."""

    NO_HELP_MATE = "not even help mate"
    """That side has no pawns, and no legal position with this material is a mate by it."""
    NEVER = "never"
    """There may be mates, but none is forced from an open position."""
    SOMETIMES = "sometimes"
    GENERAL = "general win"


@dataclass(frozen=True, slots=True)
class MatingTruth:
    """What one side's mates really are, counted on the board.

    *Open* positions are those in which the game is not over, and the side to move has neither a legal capture
    nor mate in one.
    """

    white: bool
    """The attacker."""
    open: tuple[int, int]
    """Open positions with the attacker, and with the defender to move."""
    forced: tuple[int, int]
    """Those in which the attacker mates by force."""
    mates: int
    """Positions in which the attacker has just mated; without one, there is not even a help mate."""
    verdict: Verdict
    best: tuple[GScore | None, GScore | None]
    """The best score that can generally be forced, with the attacker and with the defender to move: at least
    ``GENERAL_SHARE`` of the open positions are worth that or more to the attacker. None without open
    positions."""

    @property
    def shares(self) -> tuple[float, float]:
        """Which part of the open positions is won, with the attacker and with the defender to move."""
        first, second = (
            forced / count if count else 0.0 for forced, count in zip(self.forced, self.open, strict=True)
        )
        return first, second


@dataclass(frozen=True, slots=True)
class MatingRule:
    """What the rule of thumb says about the side that is ahead."""

    leader: bool | None
    """Whether White is ahead; None if nobody is."""
    advantage: float
    """In pawns, pawns included."""
    divisor: int
    """By what an engine divides its score: 1, 2, 4 or 8."""
    wins: bool | None
    """Whether the rule expects a general win: if the score is at most halved. None if nobody is ahead, or the
    leader has pawns and the score stays: then the rule says nothing about mate."""
    reason: str


@dataclass(frozen=True, slots=True)
class MatingPotential:
    """Can it be won? The rule of thumb, and the truth."""

    material: Material
    variant: Variant
    rule: MatingRule
    truth: tuple[MatingTruth, MatingTruth]
    """White's mates, then Black's, where no side has its two or more bishops on one colour."""
    like_bishops: tuple[MatingTruth, MatingTruth] | None
    """The same where a side has its two or more bishops on one colour; None if no side has two."""
    agrees: bool | None
    """Whether the leader generally wins exactly if the rule expects it; None if the rule says nothing."""
    sentence: str


@dataclass(frozen=True, slots=True)
class KingMap:
    """Where Black's king stands, against what it gives: on the board, per side to move."""

    counts: tuple[tuple[Counts, ...], tuple[Counts, ...]]
    """For each side to move 64 distributions, by the square of Black's king (a1 = 0)."""


@dataclass(frozen=True, slots=True)
class TableReport:
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
    distribution: Distribution
    records: tuple[Record, ...]
    """One per value that occurs, best for White first."""
    accrued: AccruedView | None
    """None if the table has none, or is packed and they were not counted."""
    endgame: Endgame
    mating: MatingPotential
    black_king: KingMap
    seconds: float
    """What making the report took."""
