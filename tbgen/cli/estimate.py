"""``tbgen solve --estimate``: what solving should take, without solving anything."""

from collections.abc import Iterator, Sequence
from math import log
from pathlib import Path
from typing import Any, Final

from tbgen.board.score import GScore
from tbgen.cells.cell import Cell
from tbgen.cli.streams import error_document, print_json, say
from tbgen.errors import TbgenError
from tbgen.probe.tablebase import Tablebase
from tbgen.solve.estimate import MOST_CELLS, SolveEstimate, squares_of
from tbgen.solve.plan import job_of, roots_of
from tbgen.solve.sets import Mobile
from tbgen.text import counted, duration, number, size_text

_SHOWN: Final = 20
"""Pawn structures that have a line of their own."""


def print_estimate(
    texts: Sequence[str],
    accrued: GScore | None,
    mobile: Mobile,
    memory: int,
    threads: int,
    directory: Path,
    as_json: bool,
) -> int:
    """Print what it should take to solve positions; return the exit code of the worst error.

    :raises TbgenError: if there is an error in the only position.
    """
    roots: list[list[Cell]] = []
    errors: list[dict[str, Any]] = []
    worst = 0
    with Tablebase(directory) as tables:
        for text in texts:
            try:
                roots.append(roots_of(job_of(text, accrued, tables).board, memory, mobile))
            except TbgenError as error:
                if len(texts) == 1:
                    raise
                worst = max(worst, error.exit_code)
                errors.append(error_document(text, error))
                if not as_json:
                    say(f"tbgen: {text}: {error}")
        estimate = SolveEstimate.of(roots, tables, threads, MOST_CELLS)
    if as_json:
        print_json(estimate.document().plain() | ({"errors": errors} if errors else {}))
    else:
        print("\n".join(_text(estimate)))
    return worst


def _text(estimate: SolveEstimate) -> Iterator[str]:
    """Yield the lines for a reader."""
    structures, sizes = estimate.structures, sorted(estimate.sizes, reverse=True)
    if not structures:
        yield "cells     none: tables hold the position" + "s" * (estimate.positions > 1)
        return
    more = "" if estimate.complete else f"more than {number(MOST_CELLS)}: of these "
    yield f"cells     {more}{number(len(estimate.cells))}, in {counted(len(structures), 'pawn structure')}"
    if promoted := estimate.promoted.total():
        yield f"          promotions lead to {number(promoted)} others, solved as far as the play needs them"
    if estimate.wholes:
        seconds, memory = estimate.wholes_take()
        takes = f"{size_text(memory)}, {duration(seconds / len(estimate.wholes))} each"
        yield f"          and at last to {number(len(estimate.wholes))} of five mobile men: {takes}"
    least = "" if estimate.complete else "more than "
    time = duration(estimate.seconds_of(estimate.sizes))
    yield f"time      {least}{time} on {counted(estimate.threads, 'thread')}"
    yield f"memory    {size_text(estimate.memory)} for a cell"
    yield f"disk      {least}{size_text(estimate.disk)} with --cells"
    yield ""
    rows = [["pawns of White", "of Black", *(f"{_mobile_men(size)} mobile" for size in sizes), "time"]]
    for (white, black), counts in list(structures.items())[:_SHOWN]:
        pawns = (" ".join(squares_of(squares)) or "-" for squares in (white, black))
        cells = (number(counts[size]) if counts[size] else "" for size in sizes)
        rows.append([*pawns, *cells, duration(estimate.seconds_of(counts))])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        pairs = list(zip(row, widths, strict=True))
        texts = [cell.ljust(width) for cell, width in pairs[:2]]
        yield "  ".join(texts + [cell.rjust(width) for cell, width in pairs[2:]])
    if len(structures) > _SHOWN:
        yield f"and {counted(len(structures) - _SHOWN, 'other structure')}"


def _mobile_men(size: int) -> int:
    return round(log(size, 64))
