"""Solving one cell from tables and from cells of a directory, whichever machine does it.

What a cell's bounds rest on is settled beforehand, so they are the same bit by bit on every machine, in every
order, and after any number of deaths on the way.
"""

import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tbgen.cells.bounds import NoCodeError
from tbgen.cells.cell import Cell
from tbgen.cells.games import Games
from tbgen.cells.packing import tells_all
from tbgen.errors import TbgenError
from tbgen.solve.cluster.graph import solved_with
from tbgen.solve.kept import KeptCells
from tbgen.solve.knowledge import Known
from tbgen.solve.solved_cells import SolvedCells
from tbgen.solve.tables import Tables

_APPEARANCE: Final = 90.0
"""Seconds that a network file system may take to show one machine what another has renamed."""


def solve_cell(cell: Cell, rests_on: Iterable[Cell], tables: Tables, directory: Path, threads: int) -> bool:
    """Solve a canonical cell and keep it in a directory, unless it is there with all that can be told of
    it; return whether values have room for its scores.

    :param rests_on: cells of the directory that it rests on, waited for if they are not seen yet.
    :raises TbgenError: if one of these does not appear, or the cell cannot be kept.
    """
    notes: list[str] = []
    kept = KeptCells(directory, None, notes.append)
    if cell in kept and (packed := kept.get(cell)) is not None and tells_all(packed):
        return True
    for each in rests_on:
        _await(kept, each)
    known = Known(tables, SolvedCells(kept))
    for home in solved_with(cell, known.tables.has_cell):
        try:
            bounds = Games(home, known, threads).solve()
        except NoCodeError:
            if home == cell:
                return False
            continue
        known.cells.add(bounds)
    known.cells.settle()
    if kept.full or cell not in kept:  # an older file tells less
        raise TbgenError(notes[-1] if notes else f"a solved cell has vanished from {directory}")
    return True


def _await(kept: KeptCells, cell: Cell) -> None:
    path, deadline = kept.path(cell), time.monotonic() + _APPEARANCE
    while path.name not in os.listdir(path.parent):  # listing asks the server, looking up a name may not
        if time.monotonic() > deadline:
            raise TbgenError(f"{path} is not seen, though its cell is solved: all must share {path.parent}")
        time.sleep(0.2)
