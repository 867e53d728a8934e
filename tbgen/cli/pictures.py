"""Pictures of solutions, each a file of SVG: of the ends of an interval, and of holds."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import chess
import chess.svg

from tbgen.cli.holds import hold_picture
from tbgen.errors import TbgenError
from tbgen.files import make_directory, write_file
from tbgen.html.pictures import picture
from tbgen.solve.line import Plan
from tbgen.solve.solution import Solution
from tbgen.solve.statement import claims, plan_text

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
        chess.svg.Arrow(
            *(ply.move.from_square, ply.move.to_square),
            color=colours[number % 2] + (_FAINT if number >= _STRONG else ""),
        )
        for number, ply in enumerate(plan[:_SHOWN])
    ]
    title = f"{claim}: {plan_text(board, plan)}" if plan else claim
    return picture(board, {}, mobile, title, reversed(arrows))
