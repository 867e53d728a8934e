"""Solutions in plain words and as JSON: the proved bounds, and the gaps that keep them apart."""

from collections.abc import Iterable

import chess

from tbgen.beyond.budget import Stop
from tbgen.beyond.gaps import Gap, Narrowing, Need
from tbgen.beyond.ledger import SAMPLE_DIVISOR, ForwardProof
from tbgen.beyond.lines import Hold, Line, Plan
from tbgen.beyond.solution import Solution
from tbgen.board.score import GScore
from tbgen.board.scoring import ANYTHING, Scoring
from tbgen.board.variant import Variant
from tbgen.cells.cell import MAX_MOBILE
from tbgen.documents import UNSET, Count, Document, EndsDocument, Plies, Share, SideName, UnsetType
from tbgen.probe.probe_document import PlyDocument, PointsDocument, points_document
from tbgen.text import counted, duration, size_text


def claims(solution: Solution) -> tuple[str, str]:
    """Return a sentence that says what White can be sure of, and a sentence for Black.

    The sentence is empty for a bound that always holds.

    >>> score = GScore("G4.5")
    >>> claims(Solution(score, score, score, GScore("G1.0"), None, (), 3))
    ('White can force G4.5 (Black has 4 moves)', 'Black can keep White from anything better than G1.0')
    """
    bounds = solution.proved.bounds
    white, black = (
        "" if score == worst else _claim_sentence(score, by_white, forcing)
        for score, worst, by_white, forcing in zip(
            bounds, ANYTHING, chess.COLORS, solution.forcing, strict=True
        )
    )
    return white, black


def _claim_sentence(score: GScore, by_white: bool, forcing: bool) -> str:
    """Return a sentence that says what a side can be sure of."""
    side, other = ("White", "Black") if by_white else ("Black", "White")
    if score.white == by_white:
        how = " by forcing moves" if forcing else ""
        return f"{side} can force {score}{how} ({other} {opponent_situation(score)})"
    return f"{side} can keep {other} from anything better than {score}"


def opponent_situation(score: GScore) -> str:
    """Return, in words, how many moves a score leaves the opponent, the side that does not hold it.

    >>> [opponent_situation(GScore(text)) for text in ("G0.0", "-G0.5", "G1.0", "-G3.5")]
    ['is mated', 'is stalemated', 'is in check and has 1 move', 'has 3 moves']
    """
    if score.rank < 2:
        return "is stalemated" if score.rank else "is mated"
    return f"{'' if score.rank % 2 else 'is in check and '}has {counted(score.rank // 2, 'move')}"


def plan_text(board: chess.Board, plan: Plan) -> str:
    """Return the moves of a plan with their numbers."""
    return board.variation_san([ply.move for ply in plan]) if plan else ""


def gap_text(gap: Gap) -> str:
    """Return a gap in words: the kind of move, and the cost of closing the gap."""
    side = chess.COLOR_NAMES[gap.side].capitalize()
    cost = "not solved yet"
    if gap.need is not Need.TIME or gap.mobile > MAX_MOBILE:
        cost = f"needs {counted(gap.mobile, 'mobile man', 'mobile men')}, {size_text(gap.memory)}"
    if gap.seconds is not None and gap.mobile > MAX_MOBILE:
        cost += f", {duration(gap.seconds)}"
    return f"{side}'s {gap.man} {gap.deed} in {counted(gap.positions, 'position')}: {cost}"


def narrowing_text(narrowing: Narrowing) -> str:
    """Return in words the cost of the cells that might close the gaps."""
    cells = counted(narrowing.cells, "cell")
    return f"{cells} or more, about {duration(narrowing.seconds)} and {size_text(narrowing.memory)}"


class StageDocument(Document):
    """The progress of solving a state."""

    lower: GScore
    upper: GScore
    cells: Count
    left: Count | None
    """Number of cells that remain to be solved; None if unknown."""
    seconds_left: float | None


class SolvedMoveDocument(Document):
    """A legal move, and the bounds of the state after it."""

    uci: str
    san: str
    lower: GScore
    upper: GScore
    depth: Plies | None
    zeroing: bool


class HoldDocument(Document):
    """How one man, the blocker, holds another man, the changer (:mod:`tbgen.beyond.lines`)."""

    holder: SideName
    value: GScore
    blocker: str
    """Square of the blocker."""
    changer: str
    """Square of the changer, the man that is held."""
    squares: dict[str, list[str]]
    """For each square of the changer, the squares on which the blocker holds it."""
    distances: dict[str, Plies]
    """For each square of the changer, the plies until the accrued score equals ``value``."""


def _hold_document(hold: Hold) -> HoldDocument:
    name = chess.square_name
    return HoldDocument.of(
        hold,
        holder=chess.COLOR_NAMES[hold.holder],
        blocker=name(hold.blocker),
        changer=name(hold.changer),
        squares={name(square): _square_names(found) for square, found in hold.squares.items()},
        distances={name(square): depth for square, depth in hold.distances.items()},
    )


class ProvedShareDocument(Document):
    """The number of cells in which only a sample of the positions was proved, and the share of the sample."""

    cells: Count
    share: Share


class ForwardProofDocument(Document):
    """The numbers of cells and states that have been proved forward."""

    cells: Count
    states: Count
    sampled: ProvedShareDocument | None


def _proof_document(proof: ForwardProof) -> ForwardProofDocument:
    sampled = ProvedShareDocument(proof.sampled, 1 / SAMPLE_DIVISOR) if proof.sampled else None
    return ForwardProofDocument.of(proof, sampled=sampled)


class PlanMoveDocument(Document):
    """A move of a plan."""

    uci: str
    san: str
    accrued: GScore


class GapDocument(Document):
    """A kind of move that keeps the bounds apart."""

    side: SideName
    man: str
    deed: str
    """Who moves which man, and what the move does, such as ``captures the h-pawn``."""
    positions: Count
    """Number of the examined positions in which the move occurs."""
    need: Need
    """The resource whose lack keeps the cell after the move unsolved."""
    mobile_men: Count
    memory: Count
    seconds: float | None
    """Number of men that have to be mobile, and bytes and time for a cell with so many mobile men; null if it
    cannot be solved."""
    text: str
    """The gap in words."""


def _gap_document(gap: Gap) -> GapDocument:
    seconds = None if gap.seconds is None else round(gap.seconds, 1)
    side = chess.COLOR_NAMES[gap.side]
    return GapDocument.of(gap, side=side, mobile_men=gap.mobile, seconds=seconds, text=gap_text(gap))


class NarrowingDocument(Document):
    """The cost of the cells that might close the gaps."""

    cells: Count
    """Number of cells that the gaps lead to and of cells that these depend on, apart from promotions."""
    seconds: float
    memory: Count
    """Approximate time for all cells, and bytes for the largest one."""
    text: str
    """The cost in words."""


def _narrowing_document(narrowing: Narrowing) -> NarrowingDocument:
    seconds = round(narrowing.seconds, 1)
    return NarrowingDocument.of(narrowing, seconds=seconds, text=narrowing_text(narrowing))


class SolutionDocument(Document, kw_only=True):
    """Everything that is proved about a state. Proof and lines are present only if requested."""

    fen: str
    rules: Variant
    position_score: GScore
    accrued: GScore
    """As in the answer of ``tbgen probe``."""
    value: GScore | None
    lower: GScore
    upper: GScore
    """The value, null if it is not known, and its bounds."""
    depth: Plies | None
    """Plies until the accrued score is the value; null if it is not known."""
    points: EndsDocument[PointsDocument]
    """The points of the bounds, for ``white`` and ``black``."""
    mobile: EndsDocument[list[str]]
    """The squares of the men that are mobile in the cell that proves the bound; none with forcing moves."""
    forcing: EndsDocument[bool]
    """Whether forcing moves prove the bound."""
    holds: list[HoldDocument]
    """How single men hold others for ever (``holder``, ``value``, ``blocker``, ``changer``, ``squares``,
    ``distances``)."""
    claims: EndsDocument[str | None]
    """The score that each side can force, in words; null if nothing is proved."""
    plans: EndsDocument[list[PlanMoveDocument]]
    """The first moves, at most twelve plies, by which the side forces the bound. They are best play if cells
    prove the bound (forcing moves need not be), and stop where ``--line`` would begin to work."""
    cells: Count
    """Number of cells solved."""
    stopped_by: Stop | None
    """Why the search ended; null if the value is proved."""
    gaps: list[GapDocument]
    """The kinds of move that make the bounds differ, the most frequent first; the text shows three."""
    narrowing: NarrowingDocument | None
    """The cost of the cells to which the gaps lead."""
    missing_tables: list[str]
    build: str | None
    """Missing tables that the search needed, and one command that builds them; ``tbgen fetch`` accepts the
    same names."""
    proof: ForwardProofDocument | UnsetType = UNSET
    """With ``--verify``, the numbers of ``cells`` and ``states`` proved forward, and ``sampled``."""
    moves: list[SolvedMoveDocument]
    """All legal moves, each with the bounds after it."""
    line: list[PlyDocument] | UnsetType = UNSET
    lines: EndsDocument[list[PlyDocument]] | UnsetType = UNSET
    """With ``--line``, best play to the value, or to each bound."""


def solution_document(fen: str, solution: Solution, scoring: Scoring) -> SolutionDocument:
    """Return the document of a solution.

    :param fen: the position as the user wrote it.
    """
    ends = solution.lower, solution.upper
    return SolutionDocument.of(
        solution,
        fen=fen,
        rules=Variant.R_MOBILITY,
        points=EndsDocument(*(points_document(scoring, score) for score in ends)),
        mobile=EndsDocument(*map(_square_names, solution.mobile)),
        forcing=EndsDocument(*solution.forcing),
        holds=list(map(_hold_document, solution.holds)),
        claims=EndsDocument(*(claim or None for claim in claims(solution))),
        plans=EndsDocument(*(list(map(PlanMoveDocument.of, plan)) for plan in solution.plans)),
        gaps=list(map(_gap_document, solution.gaps)),
        narrowing=None if solution.narrowing is None else _narrowing_document(solution.narrowing),
        missing_tables=list(solution.missing),
        build=solution.build or None,
        proof=UNSET if solution.proof is None else _proof_document(solution.proof),
        moves=list(map(SolvedMoveDocument.of, solution.moves)),
        line=UNSET if solution.line is None else _ply_documents(solution.line),
        lines=UNSET if solution.lines is None else EndsDocument(*map(_ply_documents, solution.lines)),
    )


def _square_names(squares: Iterable[chess.Square]) -> list[str]:
    return list(map(chess.square_name, squares))


def _ply_documents(line: Line) -> list[PlyDocument]:
    return list(map(PlyDocument.of, line))
