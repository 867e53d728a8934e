"""Estimates of the cost of solving positions, before anything is solved or compiled.

Positions are solved in *cells* (docs/glossary.md). The size of a cell is its number of *slots*, that is, of
its positions with one side to move.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from operator import attrgetter, itemgetter
from typing import Final

import chess

from tbgen.beyond.budget import memory_needed
from tbgen.beyond.jobs import make_table_check
from tbgen.beyond.structures import (
    cells_below,
    homes_of,
    seconds_to_solve,
    whole_cells_of,
    wholes_cost,
)
from tbgen.cells.cell import MAX_MOBILE, Cell
from tbgen.costs import disk_of
from tbgen.documents import Count, Document
from tbgen.probe.tablebase import Tablebase
from tbgen.system.memory import processor_count

MAX_COUNTED_CELLS: Final = 5_000
"""Maximum number of cells that are counted. Counting this many takes a few seconds."""


class StructureDocument(Document):
    """The cells of one pawn structure. Colour-swapped and mirrored images count as the same structure."""

    white: list[str]
    black: list[str]
    """The squares of the pawns."""
    cells: dict[str, Count]
    """For each size in slots, the number of cells."""
    seconds: float
    """Time for the cells of the structure."""


class WholeCellsDocument(Document):
    """Whole cells, in which a promoted man is also mobile. They have one more mobile man than other cells.

    Thresholds are tried in them only if no other cell remains (docs/solve_reference.md, Promotions).
    """

    cells: Count
    """Number of cells with five mobile men."""
    seconds: float
    """Time for one threshold in each whole cell."""
    memory: Count
    """Bytes for the largest whole cell."""


class EstimateDocument(Document):
    """The estimated cost of solving positions."""

    positions: Count
    """Number of positions."""
    cells: Count
    """Number of cells that the positions depend on, apart from promotions."""
    complete: bool
    """Whether all cells that the positions depend on were counted. False if counting ended at the maximum
    number, 5,000."""
    structures: list[StructureDocument]
    """The cells by pawn structure."""
    promoted: dict[str, Count]
    """For each size in slots, the number of further cells after promotions. Few of them need to be solved."""
    wholes: WholeCellsDocument | None
    """Cells that are solved only if nothing else remains to try."""
    threads: Count
    """Number of threads."""
    seconds: float
    """Time for all cells apart from promotions."""
    memory: Count
    """Bytes for solving the largest cell, without ``wholes``."""
    disk: Count
    """Bytes on disk if all cells are kept in a directory."""


def estimate(
    roots: Sequence[Sequence[Cell]], tables: Tablebase, threads: int, max_cells: int
) -> EstimateDocument:
    """Estimate the cost of solving positions.

    :param roots: for each position, the canonical cells in which it is solved.
    :param tables: the tables that solving may use.
    :param threads: number of threads, as in :class:`tbgen.beyond.budget.Budget`. Threads beyond the number of
        processors do not count.
    :param max_cells: maximum number of cells to count.
    """
    has_table = make_table_check(tables)
    threads = min(threads, processor_count())
    cells, complete = cells_to_solve(chain.from_iterable(roots), has_table, max_cells)
    further_cells = {
        home
        for cell in cells
        for home in homes_of(cell, promotions=True)
        if home not in cells and not has_table(home)
    }
    whole_cells = {cell.canonical()[0] for home in further_cells for cell in whole_cells_of(home, MAX_MOBILE)}
    return EstimateDocument(
        positions=len(roots),
        cells=len(cells),
        complete=complete,
        structures=_structures(cells, threads),
        promoted=_counts_by_size(further_cells),
        wholes=WholeCellsDocument(len(whole_cells), *wholes_cost(whole_cells, MAX_MOBILE, threads))
        if whole_cells
        else None,
        threads=threads,
        seconds=seconds_to_solve(cells, threads),
        memory=memory_needed(max((cell.size for cell in cells), default=0)),
        disk=sum(disk_of("cell", cell.size) for cell in cells),
    )


def cells_to_solve(
    roots: Iterable[Cell], has_table: Callable[[Cell], bool], max_cells: int
) -> tuple[frozenset[Cell], bool]:
    """Return ``roots`` and all cells that they depend on, apart from promotions.

    :param roots: canonical cells.
    :param has_table: returns whether a table contains the positions of a cell. Such a cell is left out.
    :param max_cells: maximum number of cells.
    :returns: the cells, and whether the set is complete.
    """
    cells: set[Cell] = set()
    complete = True
    for root in roots:
        if root not in cells and not has_table(root):
            below = cells_below(
                root, lambda cell: cell in cells or has_table(cell), limit=max_cells - len(cells)
            )
            cells.update(below)
            complete &= root in below
    return frozenset(cells), complete


def _structures(cells: Iterable[Cell], threads: int) -> list[StructureDocument]:
    """Return the cells grouped by pawn structure, the most expensive structure first."""
    by_pawns = defaultdict[tuple[int, int], list[Cell]](list)
    for cell in cells:
        by_pawns[cell.pawns].append(cell)
    structures = [
        StructureDocument(
            _squares_of(white), _squares_of(black), _counts_by_size(group), seconds_to_solve(group, threads)
        )
        for (white, black), group in sorted(by_pawns.items(), key=itemgetter(0))
    ]
    return sorted(structures, key=attrgetter("seconds"), reverse=True)


def _squares_of(pawns: int) -> list[str]:
    """Return the names of the squares of a bitboard."""
    return [chess.square_name(square) for square in chess.scan_forward(pawns)]


def _counts_by_size(cells: Iterable[Cell]) -> dict[str, int]:
    return {str(size): count for size, count in sorted(Counter(cell.size for cell in cells).items())}
