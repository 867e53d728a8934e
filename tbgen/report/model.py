"""The parts of a report, as structs with the fields of its JSON document.

White is the first side of a material's name: in KBvK, White has the bishop. Counts *on the board* include all
images of a position under the symmetries of the board, but do not distinguish like men. Counts *up to
symmetry* include only the positions that a table stores. Positions with an en passant right are counted
separately, as in the tables. Scores, values and depths are explained in docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Final, Generic, NamedTuple, TypeVar

from tbgen.board.material import Material
from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.documents import Document, SideName

T = TypeVar("T")

Counts = Mapping[GScore, int]
"""Maps each value that occurs to its number of positions, best for White first."""

Depths = Mapping[GScore, Mapping[int, int]]
"""Maps each value (best for White first) to a map from each depth in plies (ascending) to the number of
positions."""


class ReportPart(Document, rename={"variant": "rules"}, forbid_unknown_fields=False):
    """Base of the parts of a report. Saved data of a later version may have further fields."""


class Sides(ReportPart, Generic[T]):
    """Two values of the same type: White's and Black's, as the side to move or as the holder of a score."""

    white: T
    black: T

    def __iter__(self) -> Iterator[T]:
        return iter((self.white, self.black))

    def __getitem__(self, side: int | str) -> T:
        """Return the value of White (0) or Black (1), or of the side with this name."""
        side_value: T = getattr(self, side if isinstance(side, str) else SIDES[side])
        return side_value

    def items(self) -> Iterator[tuple[str, T]]:
        """Yield the name and the value of each side."""
        return zip(SIDES, self, strict=True)


SIDES: Final = Sides.__struct_fields__
"""Names of the sides, White's first."""


class Totals(ReportPart):
    """Numbers of legal positions with one side to move, except those with an en passant right."""

    board: int
    """Number on the board."""
    canonical: int
    """Number up to symmetry."""


class Distribution(ReportPart):
    """Numbers of positions by fresh value W(P) and depth D(P)."""

    board: Sides[Counts]
    """Numbers on the board."""
    canonical: Sides[Counts]
    """Numbers up to symmetry."""
    en_passant: Sides[Counts]
    """Positions with an en passant right, up to symmetry; each has two images on the board."""
    positions: Sides[Totals]
    depths: Sides[Depths]
    """Numbers on the board, without en passant positions."""

    def share(self, side: int | str, value: GScore) -> float:
        """Return the share of the positions on the board that have the given value, from 0 to 1."""
        return ratio(self.board[side].get(value, 0), self.positions[side].board)

    def outcomes(self, side: int) -> Outcomes:
        """Return the numbers of positions on the board that are won, drawn and lost in chess."""
        won, lost = (self.board[side].get(GScore(0, white), 0) for white in (True, False))
        return Outcomes(won, self.positions[side].board - won - lost, lost)


class Outcomes(NamedTuple):
    """Numbers of positions on the board by their result in chess, from White's point of view."""

    won: int
    """Positions in which White mates."""
    drawn: int
    lost: int
    """Positions in which Black mates."""


class LinePoint(ReportPart):
    """One ply of a record's line."""

    san: str
    uci: str
    accrued: GScore
    """The accrued score after the move."""
    depth: int
    """Number of plies from the position after the move until the value is reached."""


class Record(ReportPart):
    """The position of a material that has the greatest depth for a value.

    En passant positions are included. If several positions have this depth, the example is the first in the
    following order: White to move before Black to move, no en passant right before an en passant right, and
    smaller slots before larger ones.
    """

    material: Material
    variant: Variant
    value: GScore
    depth: int
    """Plies until the accrued score equals the value, under best play."""
    ties: int
    """Number of positions up to symmetry with this depth, including the example."""
    fen: str
    """The example as a FEN of six fields."""
    to_move: SideName
    line: tuple[LinePoint, ...] = ()
    """Best play from the example, with ``depth`` plies; empty if best play has not been looked up."""
    pgn: str = ""
    """The line as one PGN game; empty if there is no line."""
    verified: bool = False
    """Whether the arbiter, which replays lines by the rules, reached the value in exactly ``depth`` plies."""


class OverallRecord(ReportPart):
    """The longest way to a score among all materials, whichever side holds the score."""

    g: GScore
    """The score as if White held it."""
    depth: int
    ties: int
    """Number of positions with this depth in all materials, up to symmetry and exchange of colours."""
    holders: tuple[Record, ...]
    """One record for each material and holder with this depth, in build order."""


class AccruedCounts(ReportPart):
    """Numbers of states (P, A), classified by comparing V(P, A) with A.

    The states are those that can occur in a game, except states of positions with an en passant right and
    fresh states, in which A = g(P). Either side may hold A, and ``2 <= rank(A) <= rank(g(P))``.

    - If rank(A) > rank(W(P)), then V(P, A) is W(P) (fact F1 of docs/theory.md): A is improved or lost.
    - Otherwise V lies between A and W (fact F2). Then either V is A, and A survives; or V is another score of
      at least the same rank, and A is wiped out by a reset.

    The numbers are computed from fresh values, position ranks, and the runs of the table. A packed table has
    no runs; its layers are solved again.
    """

    states: int
    """Each position with every score A of either holder, from rank 2 up to the position rank, except the
    position score itself."""
    stored: int
    """States with rank(A) <= rank(W(P)), whose values a table stores separately."""
    survives: int
    """States with V = A: play ends with the accrued score."""
    improved: int
    """States in which the holder of A also holds V, and V is better for this side: rank(V) < rank(A)."""
    worsened: int
    """States in which the holder of A also holds V, and V is worse for this side: rank(V) > rank(A), which
    needs a reset."""
    lost: int
    """States in which the other side holds V and rank(V) < rank(A), with or without a reset."""
    lost_by_reset: int
    """States in which the other side holds V and rank(V) >= rank(A), which needs a reset."""
    wiped_out: int
    """Sum of ``worsened`` and ``lost_by_reset``: A is replaced by a score of the same or a
    greater rank."""
    fresh: int
    """States with V = W(P), including those with A = W(P)."""


class AccruedView(ReportPart):
    """The counts of a table's states, for each side to move and each holder of the accrued score."""

    board: Sides[Sides[AccruedCounts]]
    """Counts on the board."""
    canonical: Sides[Sides[AccruedCounts]]
    """Counts up to symmetry."""


class EndgameValues(ReportPart):
    """The values of an endgame with one side to move, counted on the board.

    In a *quiet* position the game is not over, and the side to move has no legal capture.
    """

    positions: int
    """Number of all legal positions."""
    over: int
    """Number of mates and stalemates."""
    captures: int
    """Number of positions with a legal capture."""
    quiet: Counts
    """Number of quiet positions by value."""
    mode: GScore | None
    """The most frequent value of quiet positions; of equally frequent values, the best for White. None
    if no position is quiet."""
    median: GScore | None
    """The best value for White such that at least half of the quiet positions have this value or a better
    one. None if no position is quiet."""
    best: GScore | None
    """The best value for White of any position, quiet or not."""
    worst: GScore | None

    @property
    def total(self) -> int:
        """Number of quiet positions."""
        return sum(self.quiet.values())

    def share(self, value: GScore) -> float:
        """Return the share of the quiet positions that have the given value, from 0 to 1."""
        return ratio(self.quiet.get(value, 0), self.total)


class UnusualValue(ReportPart):
    """A value that few quiet positions have, with the deepest of these positions as an example."""

    value: GScore
    to_move: SideName
    count: int
    """Number of quiet positions on the board."""
    share: float
    """Share of the quiet positions with this side to move that have the value, from 0 to 1."""
    fen: str
    """The quiet position with this value and the greatest depth; of several, the one with the smallest
    slot."""
    depth: int
    """Depth of the example in plies."""


class WikiExample(ReportPart):
    """An example from the wiki of the rules: a result of an endgame, compared with the table."""

    fen: str
    to_move: SideName
    value: GScore
    """The result of the wiki's line."""
    line: str
    """The wiki's line in SAN, without move numbers; empty if the score has already accrued."""
    source: str
    """Address of the wiki's page."""
    share: float
    """Share of the quiet positions with this side to move that have the value, from 0 to 1."""
    typical: bool
    """Whether the value is the most frequent one among these positions."""


class Endgame(ReportPart):
    """The results of an endgame."""

    sentence: str
    """A summary in plain English, derived from the counts."""
    white: EndgameValues
    """The values with White to move."""
    black: EndgameValues
    """The values with Black to move."""
    unusual: tuple[UnusualValue, ...]
    """Values whose share of the quiet positions is below :data:`tbgen.report.endgames.UNUSUAL_SHARE`, White
    to move first, best value first."""
    examples: tuple[WikiExample, ...]
    """Examples from the wiki of the rules, if any."""

    @property
    def sides(self) -> Sides[EndgameValues]:
        """The values by side to move."""
        return Sides(self.white, self.black)


class Verdict(StrEnum):
    """How generally a side can mate; for the thresholds see :mod:`tbgen.report.mating`."""

    NO_HELP_MATE = "not even help mate"
    """The side has no pawns, and in no legal position with this material has it mated."""
    NEVER = "never"
    """Mates may exist, but none is forced from an open position."""
    SOMETIMES = "sometimes"
    GENERAL = "general win"


class MatingChance(ReportPart):
    """The scores that an attacker can force in the open positions with one side to move, counted on the
    board.

    In an *open* position the game is not over, and the side to move has neither a legal capture nor a mate in
    one.
    """

    open: int
    """Number of open positions."""
    forced: int
    """Number of open positions in which the attacker mates by force."""
    share: float
    """Share of the open positions in which the attacker mates by force, from 0 to 1."""
    best: GScore | None
    """The best score that can generally be forced: in at least :data:`~tbgen.report.mating.GENERAL_SHARE` of
    the open positions, the value is at least as good for the attacker. None if there are no open
    positions."""


class MatingFacts(ReportPart):
    """The facts about one side's mates, counted on the board."""

    verdict: Verdict
    mates: int
    """Number of positions in which the defender is mated; if 0, not even a help mate exists."""
    to_move: MatingChance
    """Chances with the attacker to move."""
    waiting: MatingChance
    """Chances with the defender to move."""


class MatingRule(ReportPart):
    """The answer of the rule of thumb for the side that is ahead."""

    leader: SideName | None
    """The side that is ahead, None if neither is."""
    advantage: float
    """The lead in material, including pawns, measured in pawns."""
    divisor: int
    """The number by which an engine divides its score: 1, 2, 4 or 8."""
    wins: bool | None
    """Whether the rule expects a general win, which it does if the divisor is 1 or 2. None if the rule says
    nothing about mate, because neither side is ahead, or because the leader has pawns and the divisor is
    1."""
    reason: str


class MatingPotential(ReportPart):
    """The mating potential of a material: the rule of thumb, and the facts.

    Here, *bishops* are all men bound to a colour.
    """

    rule: MatingRule
    truth: Sides[MatingFacts]
    """Facts about the mates of each side, without the positions of ``like_bishops``."""
    like_bishops: Sides[MatingFacts] | None
    """Facts about the mates of each side in the positions in which a side has two or more bishops, all on one
    colour; None if no side has two."""
    agrees: bool | None
    """Whether the rule is right about a general win of the leader; None if the rule says nothing about it."""
    sentence: str

    @property
    def leader_truth(self) -> MatingFacts | None:
        """The facts about the leader; None if neither side is ahead."""
        return None if self.rule.leader is None else self.truth[self.rule.leader]


class MatingEntry(ReportPart):
    """The entry of a table in a report on mating potential."""

    material: Material
    variant: Variant
    potential: MatingPotential
    longest: Sides[int | None]
    """Plies of the longest way to mate from any position, by attacker; None if there are no mates."""
    typical: Sides[GScore | None]
    """The most frequent value of quiet positions, by side to move; None if no position is quiet."""


class MatingReport(ReportPart):
    """A report on mating potential."""

    entries: tuple[MatingEntry, ...]
    """Entries in build order."""
    missing: tuple[Material, ...]
    """The requested materials that have no table, in build order."""


class TableReport(ReportPart, kw_only=True):
    """The report of one table."""

    material: Material
    variant: Variant
    digest: str
    tbgen_version: str
    bytes: int
    """Size of the file in bytes."""
    form: str
    """``plain`` or ``packed``."""
    max_depth: int
    """Greatest depth in plies, including stored depths of accrued scores."""
    highlights: tuple[str, ...] = ()
    """Sentences on striking numbers, made by :mod:`tbgen.report.highlights`."""
    distribution: Distribution
    records: tuple[Record, ...]
    """One record for each value that occurs, best for White first."""
    accrued: AccruedView | None
    """Counts of states by accrued score; None if the table has no accrued scores, or if it is packed and they
    were not counted."""
    endgame: Endgame
    mating: MatingPotential
    black_king: Sides[tuple[Counts, ...]]
    """For each side to move, the counts on the board for each of the 64 squares of Black's king (a1 = 0)."""


def ratio(part: int, total: int) -> float:
    """Return a part of a total as a number from 0 to 1; 0 if the total is 0."""
    return part / total if total else 0.0
