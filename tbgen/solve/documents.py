"""What is proved about a position as a JSON document; docs/solve.md says what the fields mean."""

from collections.abc import Iterable

import chess

from tbgen.board.scoring import Scoring
from tbgen.board.variant import Variant
from tbgen.documents import UNSET, Count, Document, EndsDocument, Plies, ScoreText, Share, SideName, UnsetType
from tbgen.probe.documents import PlyDocument, PointsDocument, points_document
from tbgen.progress import SolveStage
from tbgen.solve.budget import Stop
from tbgen.solve.gaps import Gap, Narrowing, Need
from tbgen.solve.hold import Hold
from tbgen.solve.line import Line, PlanMove
from tbgen.solve.proof import SHARE, ForwardProof
from tbgen.solve.solution import Solution, SolvedMove
from tbgen.solve.statement import claims, gap_text, narrowing_text


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
