"""The answer of ``tbgen solve`` about one position: text, and SVG pictures of bounds and holds.

A hold shows how one man, the blocker, holds another man, the changer, to a score.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import chess
from chess.svg import Arrow

from tbgen.beyond.budget import Stop
from tbgen.beyond.ledger import SAMPLE_DIVISOR, ForwardProof
from tbgen.beyond.lines import Hold, Plan
from tbgen.beyond.solution import Solution
from tbgen.beyond.statements import StageDocument, claims, gap_text, narrowing_text, plan_text
from tbgen.board.fen import Fen
from tbgen.board.scoring import ANYTHING, Scoring
from tbgen.cells.cell import mobile_squares
from tbgen.cli.answers import board_text, diagram, line_text, side_to_move
from tbgen.cli.streams import print_document
from tbgen.errors import TbgenError
from tbgen.html.diagrams import board_picture
from tbgen.progress import SolveStage
from tbgen.system.files import write_file
from tbgen.text import counted, plies

_STOP_ADVICE: Final = {
    Stop.TIME: ": more may narrow it (--time)",
    Stop.MEMORY: ": more may narrow it (--memory)",
}
"""Advice that follows the reason why the work stopped."""
PICTURES_REMEDY: Final = "choose another directory with --svg"
_MAX_GAPS: Final = 3
"""Maximum number of gaps to name."""

_ARROW_COLOURS: Final = {chess.WHITE: "#15781b", chess.BLACK: "#003088"}
_MAX_ARROWS: Final = 4
"""Maximum number of plies to draw as arrows."""
_MAX_STRONG_ARROWS: Final = 2
"""Maximum number of arrows in full colour; the others are faint."""
_FAINT_ALPHA: Final = "60"
"""Alpha channel of a faint arrow, in hexadecimal."""


def print_stage(stage: SolveStage) -> None:
    """Print the progress as a line of JSON, for programs that wait for the result."""
    print_document(StageDocument.of(stage), indent=None)


def solution_text(fen: Fen, solution: Solution, scoring: Scoring) -> Iterator[str]:
    """Yield the lines of text output."""
    value = solution.value
    yield from diagram(fen.board)
    yield ""
    yield f"{side_to_move(fen.board)} to move"
    bounds = solution.proved.bounds
    if value is None:
        yield f"value           {bounds.description}"
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
        yield f"stopped by      {solution.stopped_by}{_STOP_ADVICE.get(solution.stopped_by, '')}"
    yield from _gaps_text(solution)
    if solution.build:
        yield f"tables          missing tables that may narrow the value: {solution.build}"
    if solution.proof is not None:
        yield f"proof           {_proof_text(solution.proof)}"
    if solution.moves:
        yield ""
    width = max((len(move.san) for move in solution.moves), default=0)
    for move in solution.moves:
        if move.bounds == ANYTHING:
            value_text = "not known"
        else:
            value_text = f"{move.lower:>6}" if move.bounds.exact else f"{move.lower:>6} to {move.upper}"
        reset = "  resets" if move.zeroing else ""
        yield f"{move.san:{width}}  {value_text}{reset}".rstrip()
    yield from _bound_lines_text(fen.board, solution)


def _claims_text(board: chess.Board, solution: Solution) -> Iterator[str]:
    """Yield the claim of each side, and the moves that show the claim."""
    is_best_play = solution.value is not None and not any(solution.forcing)
    plans = ((), solution.plans[0]) if is_best_play else solution.plans
    for name, claim, plan in zip(("White", "Black"), claims(solution), plans, strict=True):
        if claim:
            yield f"{name:16}{claim.removeprefix(name).strip()}"
        if plan:
            yield f"{'best play' if is_best_play else '':16}{plan_text(board, plan)}"


def _frozen_text(board: chess.Board, solution: Solution) -> Iterator[str]:
    """Yield the kings and pieces that are frozen in the cells that prove each side's claim."""
    for name, claim, mobile in zip(("White", "Black"), claims(solution), solution.mobile, strict=True):
        frozen = [square for square in mobile_squares(board) if mobile and square not in mobile]
        if claim and frozen:
            men = (
                f"{chess.piece_symbol(board.piece_type_at(square) or 0).upper()}{chess.square_name(square)}"
                for square in frozen
            )
            yield f"frozen          {', '.join(men)}, in the proof of {name}'s bound"


def _gaps_text(solution: Solution) -> Iterator[str]:
    """Yield the gaps: kinds of moves that make the bounds differ. Then yield the cells to solve next."""
    for name, gap in zip(("open", *[""] * (_MAX_GAPS - 1)), solution.gaps, strict=False):
        yield f"{name:16}{gap_text(gap)}"
    if len(solution.gaps) > _MAX_GAPS:
        yield f"{'':16}and {counted(len(solution.gaps) - _MAX_GAPS, 'other kind')} of moves"
    if solution.narrowing is not None:
        yield f"to be solved    {narrowing_text(solution.narrowing)}"


def _bound_lines_text(board: chess.Board, solution: Solution) -> Iterator[str]:
    """Yield the texts of the lines that show the bounds."""
    lines = []
    if solution.line is not None:
        forcing = any(solution.forcing)
        name = f"line that shows {solution.value}" if forcing else "best play"
        lines = [(name, solution.lower, solution.line, forcing)]
    elif solution.lines is not None:
        ends = zip(("lower", "upper"), solution.proved.bounds, solution.lines, solution.forcing, strict=True)
        lines = [
            (f"line that shows the {bound_name} bound, {score}", score, line, forcing)
            for bound_name, score, line, forcing in ends
        ]
    for name, score, line, forcing in lines:
        yield ""
        yield from line_text(board, line, name)
        if not forcing and (line[-1].accrued if line else solution.accrued) != score:
            yield "       the play that follows is not known"


def _proof_text(proof: ForwardProof) -> str:
    """Return the extent of a proof, in words."""
    sampled = (
        f"; only one position in {SAMPLE_DIVISOR} in {counted(proof.sampled, 'large cell')}"
        if proof.sampled
        else ""
    )
    return f"{counted(proof.cells, 'cell')}, {counted(proof.states, 'state')} proved{sampled}"


def hold_picture(board: chess.Board, hold: Hold) -> str:
    """Draw the board of :func:`hold_text`, with the number of plies below the blocker's square."""
    other_men = _board_without(board, hold.blocker, hold.changer)
    square_texts = {square: [_square_text(squares)] for square, squares in hold.squares.items()}
    for square, depth in hold.distances.items():
        square_texts[square].append(plies(depth))
    return board_picture(other_men, square_texts, hold.squares, " ".join(_captions(board, hold)))


def _board_without(board: chess.Board, *squares: chess.Square) -> chess.BaseBoard:
    board_without = chess.BaseBoard(board.board_fen())
    for square in squares:
        board_without.remove_piece_at(square)
    return board_without


def _captions(board: chess.Board, hold: Hold) -> Iterator[str]:
    """Yield the captions: which man holds which man, and the meaning of the texts on the squares."""
    blocker, changer = (
        f"{chess.COLOR_NAMES[board.color_at(square) is True].capitalize()}'s "
        f"{chess.piece_name(board.piece_type_at(square) or chess.KING)}"
        for square in (hold.blocker, hold.changer)
    )
    yield f"{blocker} holds {changer} to {hold.value}."
    mover = chess.COLOR_NAMES[board.color_at(hold.changer) is True].capitalize()
    yield f"Where {blocker} stands, by the square of {changer} ({mover} to move):"


def _square_text(blocker_squares: tuple[chess.Square, ...]) -> str:
    suffix = f"+{len(blocker_squares) - 1}" if len(blocker_squares) > 1 else ""
    return f"{chess.square_name(blocker_squares[0])}{suffix}"


def hold_text(board: chess.Board, hold: Hold) -> Iterator[str]:
    """Yield a board with the blocker's square for each square of the changer.

    A second board has the number of plies until the holder has the value.
    """
    remaining = _board_without(board, hold.blocker, hold.changer)
    men = {square: piece.symbol() for square, piece in remaining.piece_map().items()}
    yield from _captions(board, hold)
    yield from board_text(
        men | {square: _square_text(squares) for square, squares in hold.squares.items()}, 5
    )
    if any(len(squares) > 1 for squares in hold.squares.values()):
        yield "+n: there, or on n other squares"
    if any(hold.distances.values()):
        yield f"Plies until the holder has {hold.value}:"
        yield from board_text(men | {square: str(depth) for square, depth in hold.distances.items()}, 5)


def write_pictures(directory: Path, board: chess.Board, solution: Solution) -> None:
    """Write a picture of each hold and of each proved bound into an existing directory.

    A hold by White is in ``hold-white.svg``, a hold by Black in ``hold-black.svg``. Bounds are in
    ``lower.svg`` and ``upper.svg``, or in ``value.svg`` if they are equal.

    :raises TbgenError: if there is no picture, or a picture cannot be written.
    """
    pictures = dict(_pictures(board, solution))
    if not pictures:
        raise TbgenError("there is nothing to show: nothing was proved")
    for name, svg in pictures.items():
        write_file(directory / f"{name}.svg", svg.encode(), remedy=PICTURES_REMEDY)


def _pictures(board: chess.Board, solution: Solution) -> Iterator[tuple[str, str]]:
    """Yield the name of each picture and its SVG."""
    for hold in solution.holds:
        yield f"hold-{chess.COLOR_NAMES[hold.holder]}", hold_picture(board, hold)
    both_claims = claims(solution)
    bounds = list(zip(("lower", "upper"), both_claims, solution.plans, solution.mobile, strict=True))
    if solution.value is not None:
        plan, mobile = max(zip(solution.plans, solution.mobile, strict=True), key=lambda bound: len(bound[0]))
        bounds = [("value", "; ".join(filter(None, both_claims)), plan, mobile)]
    for name, claim, plan, mobile in bounds:
        if claim:
            yield name, bound_picture(board, claim, plan, mobile)


def bound_picture(board: chess.Board, claim: str, plan: Plan, mobile: tuple[chess.Square, ...]) -> str:
    """Draw a bound: mobile men are marked, the first moves of its line are arrows, its claim is the title."""
    colours = [_ARROW_COLOURS[board.turn], _ARROW_COLOURS[not board.turn]]
    arrows = [
        Arrow(
            *(ply.move.from_square, ply.move.to_square),
            color=colours[index % 2] + (_FAINT_ALPHA if index >= _MAX_STRONG_ARROWS else ""),
        )
        for index, ply in enumerate(plan[:_MAX_ARROWS])
    ]
    title = f"{claim}: {plan_text(board, plan)}" if plan else claim
    return board_picture(board, {}, mobile, title, reversed(arrows))
