"""What ``tbgen solve`` says of one position: as text, and as pictures of ends and holds in SVG."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import chess
from chess.svg import Arrow

from tbgen.beyond.budget import Stop
from tbgen.beyond.ledger import SHARE, ForwardProof
from tbgen.beyond.lines import Hold, Plan
from tbgen.beyond.solution import Solution
from tbgen.beyond.statements import StageDocument, claims, gap_text, narrowing_text, plan_text
from tbgen.board.fen import Fen
from tbgen.board.scoring import ANYTHING, Scoring
from tbgen.cells.cell import mobile_squares
from tbgen.cli.answers import board_text, diagram, line_text, mover
from tbgen.cli.streams import print_json
from tbgen.errors import TbgenError
from tbgen.html.diagrams import picture
from tbgen.progress import SolveStage
from tbgen.system.files import make_directory, write_file
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


def hold_picture(board: chess.Board, hold: Hold) -> str:
    """Draw what :func:`hold_text` says, with the distances below."""
    others = _without(board, hold.blocker, hold.changer)
    words = {square: [_stands(stood)] for square, stood in hold.squares.items()}
    for square, depth in hold.distances.items():
        words[square].append(plies(depth))
    return picture(others, words, hold.squares, " ".join(_captions(board, hold)))


def _without(board: chess.Board, *squares: chess.Square) -> chess.BaseBoard:
    rest = chess.BaseBoard(board.board_fen())
    for square in squares:
        rest.remove_piece_at(square)
    return rest


def _captions(board: chess.Board, hold: Hold) -> Iterator[str]:
    """Say which king holds the other, and what the squares of the board show."""
    blocker, changer = (
        f"{chess.COLOR_NAMES[board.color_at(square) is True].capitalize()}'s "
        f"{chess.piece_name(board.piece_type_at(square) or chess.KING)}"
        for square in (hold.blocker, hold.changer)
    )
    yield f"{blocker} holds {changer} to {hold.value}."
    yield f"Where the blocker stands, with {changer} to move, by its square:"


def _stands(stood: tuple[chess.Square, ...]) -> str:
    more = f"+{len(stood) - 1}" if len(stood) > 1 else ""
    return f"{chess.square_name(stood[0])}{more}"


def hold_text(board: chess.Board, hold: Hold) -> Iterator[str]:
    """Yield a board that says for the changer's squares where the blocker stands, and one that says how far
    it is to what the holder gets."""
    rest = _without(board, hold.blocker, hold.changer)
    others = {square: piece.symbol() for square, piece in rest.piece_map().items()}
    yield from _captions(board, hold)
    yield from board_text(others | {square: _stands(stood) for square, stood in hold.squares.items()}, 5)
    if any(len(stood) > 1 for stood in hold.squares.values()):
        yield "+n: there, or on n other squares"
    if any(hold.distances.values()):
        yield f"Plies until it is {hold.value}:"
        yield from board_text(others | {square: str(depth) for square, depth in hold.distances.items()}, 5)


_ARROWS: Final = {chess.WHITE: "#15781b", chess.BLACK: "#003088"}
_SHOWN: Final = 4
"""Plies of a plan that have arrows..."""
_STRONG: Final = 2
"""...and how many of these have strong ones; the others' are faint."""
_FAINT: Final = "60"
"""How opaque these are."""


def write_pictures(directory: Path, board: chess.Board, solution: Solution) -> None:
    """Write a picture of each hold, White's to ``hold-white.svg``, and of each end that is proved: to
    ``lower.svg`` and ``upper.svg``, or ``value.svg`` if these are the same.

    :raises TbgenError: if there is none, or it cannot be written.
    """
    pictures = dict(_pictures(board, solution))
    if not pictures:
        raise TbgenError("there is nothing to show: nothing was proved")
    remedy = "choose another directory with --svg"
    make_directory(directory, remedy=remedy)
    for name, drawn in pictures.items():
        write_file(directory / f"{name}.svg", drawn.encode(), remedy=remedy)


def _pictures(board: chess.Board, solution: Solution) -> Iterator[tuple[str, str]]:
    """Yield names and pictures."""
    for hold in solution.holds:
        yield f"hold-{chess.COLOR_NAMES[hold.holder]}", hold_picture(board, hold)
    said = claims(solution)
    ends = list(zip(("lower", "upper"), said, solution.plans, solution.mobile, strict=True))
    if solution.value is not None:
        plan, mobile = max(zip(solution.plans, solution.mobile, strict=True), key=lambda end: len(end[0]))
        ends = [("value", "; ".join(filter(None, said)), plan, mobile)]
    for name, claim, plan, mobile in ends:
        if claim:
            yield name, end_picture(board, claim, plan, mobile)


def end_picture(board: chess.Board, claim: str, plan: Plan, mobile: tuple[chess.Square, ...]) -> str:
    """Draw an end: the mobile men marked, the first moves of its plan as arrows, the words as title."""
    colours = [_ARROWS[board.turn], _ARROWS[not board.turn]]
    arrows = [
        Arrow(
            *(ply.move.from_square, ply.move.to_square),
            color=colours[number % 2] + (_FAINT if number >= _STRONG else ""),
        )
        for number, ply in enumerate(plan[:_SHOWN])
    ]
    title = f"{claim}: {plan_text(board, plan)}" if plan else claim
    return picture(board, {}, mobile, title, reversed(arrows))
