"""What ``tbgen solve`` prints of one position."""

from collections.abc import Iterator
from typing import Final

import chess

from tbgen.board.fen import Fen
from tbgen.board.interval import ANYTHING
from tbgen.board.scoring import Scoring
from tbgen.cells.cell import mobile_squares
from tbgen.cli.answers import diagram, line_text, mover
from tbgen.cli.streams import print_json
from tbgen.progress import SolveStage
from tbgen.solve.budget import Stop
from tbgen.solve.documents import StageDocument
from tbgen.solve.proof import SHARE, ForwardProof
from tbgen.solve.solution import Solution
from tbgen.solve.statement import claims, gap_text, narrowing_text, plan_text
from tbgen.text import counted, plies

_MORE: Final = {
    Stop.TIME: ": more may narrow it (--time)",
    Stop.MEMORY: ": more may narrow it (--memory)",
}
"""What is said of what ended the work."""
_GAPS: Final = 3
"""Kinds of moves that are named."""


def print_stage(stage: SolveStage) -> None:
    """Print how far it is, for a program that waits for it."""
    print_json(StageDocument.of(stage).plain(), indent=None)


def solution_text(fen: Fen, solution: Solution, scoring: Scoring) -> Iterator[str]:
    """Yield the lines for a reader."""
    value = solution.value
    yield from diagram(fen.board)
    yield ""
    yield f"{mover(fen.board)} to move"
    bounds = solution.proved.bounds
    if value is None:
        yield f"value           {bounds.words}"
    else:
        yield f"value           {value}  ({value.holder.capitalize()} holds it)"
        yield f"depth           {'not known' if solution.depth is None else plies(solution.depth)}"
    yield from _claims_text(fen.board, solution)
    yield from _frozen_text(fen.board, solution)
    yield f"accrued score   {solution.accrued}"
    yield f"position score  {solution.position_score}"
    if bounds != ANYTHING:
        lower, upper = scoring.text(solution.lower), scoring.text(solution.upper)
        yield f"points          {lower if lower == upper else f'{lower} to {upper}'}  (White-Black)"
    yield f"solved          {counted(solution.cells, 'cell')}"
    if solution.stopped_by is not None:
        yield f"stopped by      {solution.stopped_by}{_MORE.get(solution.stopped_by, '')}"
    yield from _gaps_text(solution)
    if solution.build:
        yield f"tables          some are missing that may narrow it: {solution.build}"
    if solution.proof is not None:
        yield f"proof           {_proof_text(solution.proof)}"
    if solution.moves:
        yield ""
    width = max((len(move.san) for move in solution.moves), default=0)
    for move in solution.moves:
        if move.bounds == ANYTHING:
            worth = "not known"
        else:
            worth = f"{move.lower:>6}" if move.bounds.exact else f"{move.lower:>6} to {move.upper}"
        reset = "  resets" if move.zeroing else ""
        yield f"{move.san:{width}}  {worth}{reset}".rstrip()
    yield from _line_text(fen.board, solution)


def _claims_text(board: chess.Board, solution: Solution) -> Iterator[str]:
    """Yield what each side can be sure of, and how it goes about it."""
    best = solution.value is not None and not any(solution.forcing)
    plans = ((), solution.plans[0]) if best else solution.plans
    for name, claim, plan in zip(("White", "Black"), claims(solution), plans, strict=True):
        if claim:
            yield f"{name:16}{claim.removeprefix(name).strip()}"
        if plan:
            yield f"{'best play' if best else '':16}{plan_text(board, plan)}"


def _frozen_text(board: chess.Board, solution: Solution) -> Iterator[str]:
    """Yield which kings and pieces stand still in the cells that prove what each side can be sure of."""
    for name, claim, mobile in zip(("White", "Black"), claims(solution), solution.mobile, strict=True):
        frozen = [square for square in mobile_squares(board) if mobile and square not in mobile]
        if claim and frozen:
            men = (
                f"{chess.piece_symbol(board.piece_type_at(square) or 0).upper()}{chess.square_name(square)}"
                for square in frozen
            )
            yield f"frozen          {', '.join(men)}, for what {name} can be sure of"


def _gaps_text(solution: Solution) -> Iterator[str]:
    """Yield what keeps the ends apart, and what would bring them together."""
    for name, gap in zip(("open", *[""] * (_GAPS - 1)), solution.gaps, strict=False):
        yield f"{name:16}{gap_text(gap)}"
    if len(solution.gaps) > _GAPS:
        yield f"{'':16}and {counted(len(solution.gaps) - _GAPS, 'other kind')} of moves"
    if solution.narrowing is not None:
        yield f"to be solved    {narrowing_text(solution.narrowing)}"


def _line_text(board: chess.Board, solution: Solution) -> Iterator[str]:
    """Yield the lines."""
    lines = []
    if solution.line is not None:
        forcing = any(solution.forcing)
        name = f"line that shows {solution.value}" if forcing else "best play"
        lines = [(name, solution.lower, solution.line, forcing)]
    elif solution.lines is not None:
        ends = zip(("lower", "upper"), solution.proved.bounds, solution.lines, solution.forcing, strict=True)
        lines = [
            (f"line that shows the {end} end, {score}", score, line, forcing)
            for end, score, line, forcing in ends
        ]
    for name, score, line, forcing in lines:
        yield ""
        yield from line_text(board, line, name)
        if not forcing and (line[-1].accrued if line else solution.accrued) != score:
            yield "       nothing more is known of what follows"


def _proof_text(proof: ForwardProof) -> str:
    """Say how much was proved."""
    sampled = f"; of {counted(proof.sampled, 'large cell')} one position in {SHARE}" if proof.sampled else ""
    return f"{counted(proof.cells, 'cell')}, {counted(proof.states, 'state')} proved{sampled}"
