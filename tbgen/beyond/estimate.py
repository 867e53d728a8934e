"""What solving positions should take, before anything is solved or compiled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, NamedTuple

import chess

from tbgen.beyond.budget import memory_needed
from tbgen.beyond.jobs import held_by
from tbgen.beyond.structures import Structures, homes_below, values_take, wholes_of
from tbgen.cells.cell import MOST_MOBILE, Cell
from tbgen.costs import disk_of, seconds_of
from tbgen.documents import Count, Document
from tbgen.machine import processors
from tbgen.probe.tablebase import Tablebase

MOST_CELLS: Final = 5_000
"""Cells that are counted, which takes some seconds; where there are more, they are not all counted."""


class PawnStructure(NamedTuple):
    """Where the pawns stand in cells; colours may be swapped, and files mirrored."""

    white: int
    """Set of squares."""
    black: int


class StructureDocument(Document):
    """The cells of one pawn structure."""

    white: list[str]
    black: list[str]
    cells: dict[str, Count]
    """By slots for one side to move."""
    seconds: float


class WholesDocument(Document):
    """Cells with a promoted man mobile too, where that is one more mobile man than cells have."""

    cells: Count
    seconds: float
    """For all of them."""
    memory: Count
    """Bytes for the largest of them."""


class EstimateDocument(Document):
    """What solving positions should take."""

    positions: Count
    cells: Count
    complete: bool
    structures: list[StructureDocument]
    promoted: dict[str, Count]
    """Other cells that promotions lead to, by slots."""
    wholes: WholesDocument | None
    threads: Count
    seconds: float
    memory: Count
    disk: Count


@dataclass(frozen=True)
class SolveEstimate:
    """What solving positions should take.

    :ivar positions: how many.
    :ivar cells: the cells that matter: those that the positions rest on, without promotions.
    :ivar complete: whether these are all of them.
    :ivar promoted: how many other cells promotions lead to from there, by slots; they are solved as far as
        the play needs it.
    :ivar wholes: cells with the promoted man mobile too, where that is one more mobile man than cells have;
        their values are found where nothing else is left (docs/solve.md, Promotions).
    :ivar threads: to solve with.
    """

    positions: int
    cells: frozenset[Cell]
    complete: bool
    promoted: Counter[int]
    wholes: frozenset[Cell]
    threads: int

    @classmethod
    def of(cls, roots: Sequence[Sequence[Cell]], tables: Tablebase, threads: int, most: int) -> SolveEstimate:
        """Return what it takes to solve positions.

        :param roots: the canonical cells in which each of them is solved.
        :param threads: as :class:`tbgen.beyond.budget.Budget` has them; more than there are processors do not
            count.
        :param most: stop counting at so many cells.
        """
        held = held_by(tables)
        cells: set[Cell] = set()
        complete = True
        for root in chain.from_iterable(roots):
            if not held(root):
                found = Structures.of(root, lambda cell: cell in cells or held(cell), most=most - len(cells))
                cells.update(found.below)
                complete &= found.complete
        promoted = {
            home
            for cell in cells
            for home in homes_below(cell, promotions=True)
            if home not in cells and not held(home)
        }
        sizes = Counter(home.size for home in promoted)
        wholes = {whole.canonical()[0] for home in promoted for whole in wholes_of(home, MOST_MOBILE)}
        allowed = min(threads, processors())
        return cls(len(roots), frozenset(cells), complete, sizes, frozenset(wholes), allowed)

    @property
    def structures(self) -> dict[PawnStructure, Counter[int]]:
        """How many cells there are by pawn structure and slots, those that take longest first."""
        found: dict[PawnStructure, Counter[int]] = {}
        for cell in self.cells:
            found.setdefault(PawnStructure(*cell.pawns), Counter())[cell.size] += 1
        return dict(sorted(found.items(), key=lambda each: (-self.seconds_of(each[1]), each[0])))

    @property
    def sizes(self) -> Counter[int]:
        """How many cells there are by slots."""
        return Counter(cell.size for cell in self.cells)

    def seconds_of(self, sizes: Counter[int]) -> float:
        """Return the wall time that cells take, each solved once."""
        return sum(count * seconds_of("cell", size, self.threads) for size, count in sizes.items())

    @property
    def memory(self) -> int:
        """Bytes of memory that the largest cell takes while it is solved."""
        return memory_needed(max(self.sizes, default=0))

    def wholes_take(self) -> tuple[float, int]:
        """Return the wall time that all whole cells take, and the bytes of memory that the largest takes."""
        return values_take([*self.wholes], MOST_MOBILE, self.threads)

    @property
    def disk(self) -> int:
        """Bytes that the cells take in a directory of cells."""
        return sum(count * disk_of("cell", size) for size, count in self.sizes.items())

    def document(self) -> EstimateDocument:
        """Return it for JSON."""
        structures = [
            StructureDocument(squares_of(white), squares_of(black), _by_slots(sizes), self.seconds_of(sizes))
            for (white, black), sizes in self.structures.items()
        ]
        return EstimateDocument(
            positions=self.positions,
            cells=len(self.cells),
            complete=self.complete,
            structures=structures,
            promoted=_by_slots(self.promoted),
            wholes=WholesDocument(len(self.wholes), *self.wholes_take()) if self.wholes else None,
            threads=self.threads,
            seconds=self.seconds_of(self.sizes),
            memory=self.memory,
            disk=self.disk,
        )


def squares_of(pawns: int) -> list[str]:
    """Return the names of a set of squares."""
    return [chess.square_name(square) for square in chess.scan_forward(pawns)]


def _by_slots(sizes: Counter[int]) -> dict[str, int]:
    return {str(size): count for size, count in sorted(sizes.items())}
