"""What solving positions should take, before anything is solved or compiled."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Final

import chess

from tbgen.beyond.budget import memory_needed
from tbgen.beyond.jobs import held_by
from tbgen.beyond.structures import cells_below, homes_below, seconds_to_solve, values_take, wholes_of
from tbgen.cells.cell import MOST_MOBILE, Cell
from tbgen.costs import disk_of
from tbgen.documents import Count, Document
from tbgen.probe.tablebase import Tablebase
from tbgen.system.memory import processors

MOST_CELLS: Final = 5_000
"""Cells that are counted, which takes some seconds; where there are more, they are not all counted."""


class StructureDocument(Document):
    """The cells of one pawn structure; colours may be swapped, and files mirrored."""

    white: list[str]
    black: list[str]
    cells: dict[str, Count]
    """By slots for one side to move."""
    seconds: float


class WholesDocument(Document):
    """Cells with a promoted man mobile too, where that is one more mobile man than cells have; their values
    are found where nothing else is left (docs/solve.md, Promotions)."""

    cells: Count
    seconds: float
    """For all of them."""
    memory: Count
    """Bytes for the largest of them."""


class EstimateDocument(Document):
    """What solving positions should take."""

    positions: Count
    cells: Count
    """Those that the positions rest on, without promotions."""
    complete: bool
    """Whether these are all of them."""
    structures: list[StructureDocument]
    promoted: dict[str, Count]
    """Other cells that promotions lead to from there, by slots; they are solved as far as the play needs
    it."""
    wholes: WholesDocument | None
    threads: Count
    seconds: float
    memory: Count
    """Bytes that the largest cell takes while it is solved."""
    disk: Count
    """Bytes that the cells take in a directory of cells."""


def estimate(roots: Sequence[Sequence[Cell]], tables: Tablebase, threads: int, most: int) -> EstimateDocument:
    """Return what it takes to solve positions.

    :param roots: the canonical cells in which each of them is solved.
    :param threads: as :class:`tbgen.beyond.budget.Budget` has them; more than there are processors do not
        count.
    :param most: stop counting at so many cells.
    """
    held, threads = held_by(tables), min(threads, processors())
    cells, complete = cells_to_solve(chain.from_iterable(roots), held, most)
    promoted = {
        home
        for cell in cells
        for home in homes_below(cell, promotions=True)
        if home not in cells and not held(home)
    }
    wholes = {whole.canonical()[0] for home in promoted for whole in wholes_of(home, MOST_MOBILE)}
    return EstimateDocument(
        positions=len(roots),
        cells=len(cells),
        complete=complete,
        structures=_structures(cells, threads),
        promoted=_by_slots(promoted),
        wholes=WholesDocument(len(wholes), *values_take([*wholes], MOST_MOBILE, threads)) if wholes else None,
        threads=threads,
        seconds=seconds_to_solve(cells, threads),
        memory=memory_needed(max((cell.size for cell in cells), default=0)),
        disk=sum(disk_of("cell", cell.size) for cell in cells),
    )


def cells_to_solve(
    roots: Iterable[Cell], held: Callable[[Cell], bool], most: int
) -> tuple[frozenset[Cell], bool]:
    """Return the cells that matter, those that canonical ones rest on without promotions, and whether these
    are all of them.

    :param held: whether there is a table of a cell's positions.
    :param most: stop counting at so many cells.
    """
    cells: set[Cell] = set()
    complete = True
    for root in roots:
        if not held(root):
            found = cells_below(root, lambda cell: cell in cells or held(cell), most=most - len(cells))
            cells.update(found)
            complete &= root in found
    return frozenset(cells), complete


def _structures(cells: Iterable[Cell], threads: int) -> list[StructureDocument]:
    """Return the cells by pawn structure, those first that take longest."""
    found = defaultdict[tuple[int, int], list[Cell]](list)
    for cell in cells:
        found[cell.pawns].append(cell)
    timed = sorted((-seconds_to_solve(alike, threads), pawns) for pawns, alike in found.items())
    return [
        StructureDocument(_squares_of(white), _squares_of(black), _by_slots(found[white, black]), -seconds)
        for seconds, (white, black) in timed
    ]


def _squares_of(pawns: int) -> list[str]:
    """Return the names of a set of squares."""
    return [chess.square_name(square) for square in chess.scan_forward(pawns)]


def _by_slots(cells: Iterable[Cell]) -> dict[str, int]:
    sizes = Counter(cell.size for cell in cells)
    return {str(size): count for size, count in sorted(sizes.items())}
