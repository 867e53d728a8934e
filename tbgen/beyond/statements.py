"""What is proved about a position, and what keeps it from being more: in plain words and as JSON."""

from collections.abc import Iterable

import chess

from tbgen.beyond.budget import Stop
from tbgen.beyond.gaps import Gap, Narrowing, Need
from tbgen.beyond.ledger import SHARE, ForwardProof
from tbgen.beyond.lines import Hold, Line, Plan, PlanMove
from tbgen.beyond.solution import Solution, SolvedMove
from tbgen.board.score import GScore
from tbgen.board.scoring import ANYTHING, Scoring
from tbgen.board.variant import Variant
from tbgen.cells.cell import MOST_MOBILE
from tbgen.documents import UNSET, Count, Document, EndsDocument, Plies, ScoreText, Share, SideName, UnsetType
from tbgen.probe.documents import PlyDocument, PointsDocument, points_document
from tbgen.progress import SolveStage
from tbgen.text import counted, duration, size_text


def claims(solution: Solution) -> tuple[str, str]:
    """Return what White can be sure of and what Black can, each empty if that is nothing.

    >>> score = GScore("G4.5")
    >>> claims(Solution(score, score, score, GScore("G1.0"), None, (), 3))
    ('White can force G4.5 (Black has 4 moves)', 'Black can keep White from better than G1.0')
    """
    bounds = solution.proved.bounds
    white, black = (
        "" if score == worst else _claim(score, by_white, forcing)
        for score, worst, by_white, forcing in zip(
            bounds, ANYTHING, chess.COLORS, solution.forcing, strict=True
        )
    )
    return white, black


def _claim(score: GScore, by_white: bool, forcing: bool) -> str:
    """Say what a side can be sure of."""
    side, other = ("White", "Black") if by_white else ("Black", "White")
    if score.white == by_white:
        how = " by forcing moves" if forcing else ""
        return f"{side} can force {score}{how} ({other} {state_of(score)})"
    return f"{side} can keep {other} from better than {score}"


def state_of(score: GScore) -> str:
    """Say what a score leaves the opponent of its holder.

    >>> [state_of(GScore(text)) for text in ("G0.0", "-G0.5", "G1.0", "-G3.5")]
    ['is mated', 'is stalemated', 'is in check and has 1 move', 'has 3 moves']
    """
    if score.rank < 2:
        return "is stalemated" if score.rank else "is mated"
    return f"{'' if score.rank % 2 else 'is in check and '}has {counted(score.rank // 2, 'move')}"


def plan_text(board: chess.Board, plan: Plan) -> str:
    """Return the moves of a plan with their numbers."""
    return board.variation_san([ply.move for ply in plan]) if plan else ""


def gap_text(gap: Gap) -> str:
    """Say which moves keep the ends apart, and what it takes to know more."""
    side = chess.COLOR_NAMES[gap.side].capitalize()
    takes = "not solved yet"
    if gap.need is not Need.TIME or gap.mobile > MOST_MOBILE:
        takes = f"needs {counted(gap.mobile, 'mobile man', 'mobile men')}, {size_text(gap.memory)}"
    if gap.seconds is not None and gap.mobile > MOST_MOBILE:
        takes += f", {duration(gap.seconds)}"
    return f"{side}'s {gap.man} {gap.deed} in {counted(gap.positions, 'position')}: {takes}"


def narrowing_text(narrowing: Narrowing) -> str:
    """Say what would tell more."""
    cells = counted(narrowing.cells, "cell")
    return f"{cells} or more, about {duration(narrowing.seconds)} and {size_text(narrowing.memory)}"


class StageDocument(Document):
    """How far it is to a solution."""

    lower: ScoreText
    upper: ScoreText
    cells: Count
    left: Count | None
    seconds_left: float | None

    @classmethod
    def of(cls, stage: SolveStage) -> "StageDocument":
        """Return the document of a stage."""
        return cls(str(stage.lower), str(stage.upper), *stage[2:])


class SolvedMoveDocument(Document):
    """A legal move, and what is proved of the state after it."""

    uci: str
    san: str
    lower: ScoreText
    upper: ScoreText
    depth: Plies | None
    zeroing: bool

    @classmethod
    def of(cls, move: SolvedMove) -> "SolvedMoveDocument":
        """Return the document of a move."""
        return cls(move.uci, move.san, str(move.lower), str(move.upper), move.depth, move.zeroing)


class HoldDocument(Document):
    """How one man holds another."""

    holder: SideName
    value: ScoreText
    blocker: str
    changer: str
    squares: dict[str, list[str]]
    distances: dict[str, Plies]

    @classmethod
    def of(cls, hold: Hold) -> "HoldDocument":
        """Return the document of a hold."""
        return cls(
            chess.COLOR_NAMES[hold.holder],
            str(hold.value),
            chess.square_name(hold.blocker),
            chess.square_name(hold.changer),
            {chess.square_name(square): _names(stood) for square, stood in hold.squares.items()},
            {chess.square_name(square): depth for square, depth in hold.distances.items()},
        )


class ProvedShareDocument(Document):
    """Cells in which only a share of the positions was proved."""

    cells: Count
    share: Share


class ForwardProofDocument(Document):
    """What has been proved forward."""

    cells: Count
    states: Count
    sampled: ProvedShareDocument | None

    @classmethod
    def of(cls, proof: ForwardProof) -> "ForwardProofDocument":
        """Return the document of a proof."""
        sampled = ProvedShareDocument(proof.sampled, 1 / SHARE) if proof.sampled else None
        return cls(proof.cells, proof.states, sampled)


class PlanMoveDocument(Document):
    """A move of a plan."""

    uci: str
    san: str
    accrued: ScoreText

    @classmethod
    def of(cls, ply: PlanMove) -> "PlanMoveDocument":
        """Return the document of a move."""
        return cls(ply.move.uci(), ply.san, str(ply.accrued))


class GapDocument(Document):
    """Moves that keep the ends apart."""

    side: SideName
    man: str
    deed: str
    positions: Count
    need: Need
    mobile_men: Count
    memory: Count
    seconds: float | None
    text: str

    @classmethod
    def of(cls, gap: Gap) -> "GapDocument":
        """Return the document of a gap."""
        return cls(
            chess.COLOR_NAMES[gap.side],
            gap.man,
            gap.deed,
            gap.positions,
            gap.need,
            gap.mobile,
            gap.memory,
            None if gap.seconds is None else round(gap.seconds, 1),
            gap_text(gap),
        )


class NarrowingDocument(Document):
    """What would tell more of the gaps."""

    cells: Count
    seconds: float
    memory: Count
    text: str

    @classmethod
    def of(cls, narrowing: Narrowing) -> "NarrowingDocument":
        """Return the document of it."""
        return cls(
            narrowing.cells,
            round(narrowing.seconds, 1),
            narrowing.memory,
            narrowing_text(narrowing),
        )


class SolutionDocument(Document, kw_only=True):
    """What is proved about a state; the proof and the lines only if they were asked for."""

    fen: str
    rules: Variant
    position_score: ScoreText
    accrued: ScoreText
    value: ScoreText | None
    lower: ScoreText
    upper: ScoreText
    depth: Plies | None
    points: EndsDocument[PointsDocument]
    mobile: EndsDocument[list[str]]
    forcing: EndsDocument[bool]
    holds: list[HoldDocument]
    claims: EndsDocument[str | None]
    plans: EndsDocument[list[PlanMoveDocument]]
    cells: Count
    stopped_by: Stop | None
    gaps: list[GapDocument]
    narrowing: NarrowingDocument | None
    missing_tables: list[str]
    build: str | None
    proof: ForwardProofDocument | UnsetType = UNSET
    moves: list[SolvedMoveDocument]
    line: list[PlyDocument] | UnsetType = UNSET
    lines: EndsDocument[list[PlyDocument]] | UnsetType = UNSET

    @classmethod
    def of(cls, fen: str, solution: Solution, scoring: Scoring) -> "SolutionDocument":
        """Return the document of a solution.

        :param fen: as it was asked about.
        """
        ends = solution.lower, solution.upper
        return cls(
            fen=fen,
            rules=Variant.R_MOBILITY,
            position_score=str(solution.position_score),
            accrued=str(solution.accrued),
            value=None if solution.value is None else str(solution.value),
            lower=str(solution.lower),
            upper=str(solution.upper),
            depth=solution.depth,
            points=EndsDocument(*(points_document(scoring, score) for score in ends)),
            mobile=EndsDocument(*map(_names, solution.mobile)),
            forcing=EndsDocument(*solution.forcing),
            holds=list(map(HoldDocument.of, solution.holds)),
            claims=EndsDocument(*(claim or None for claim in claims(solution))),
            plans=EndsDocument(*(list(map(PlanMoveDocument.of, plan)) for plan in solution.plans)),
            cells=solution.cells,
            stopped_by=solution.stopped_by,
            gaps=list(map(GapDocument.of, solution.gaps)),
            narrowing=None if solution.narrowing is None else NarrowingDocument.of(solution.narrowing),
            missing_tables=list(solution.missing),
            build=solution.build or None,
            proof=UNSET if solution.proof is None else ForwardProofDocument.of(solution.proof),
            moves=list(map(SolvedMoveDocument.of, solution.moves)),
            line=UNSET if solution.line is None else _plies(solution.line),
            lines=UNSET if solution.lines is None else EndsDocument(*map(_plies, solution.lines)),
        )


def _names(squares: Iterable[chess.Square]) -> list[str]:
    return list(map(chess.square_name, squares))


def _plies(line: Line) -> list[PlyDocument]:
    return list(map(PlyDocument.of, line))
