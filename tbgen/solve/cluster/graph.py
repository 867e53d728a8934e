"""The cells below positions as tasks: which are to be solved, and after which others."""

from collections.abc import Callable, Iterable
from functools import cache
from graphlib import TopologicalSorter

from tbgen.cells.cell import Cell
from tbgen.solve.kept import LEAST_SLOTS
from tbgen.solve.structures import Structures, homes_below


def tasks_below(roots: Iterable[Cell], held: Callable[[Cell], bool]) -> dict[Cell, tuple[Cell, ...]]:
    """Return the cells below some canonical ones that are to be kept, without promotions and without the
    roots themselves; with each, those that have to be solved before, in an order in which they can be.

    A cell's bounds depend on which of the cells are known that its moves lead to, by promotions too, and the
    next moves from there where these are not known; so do those of the small ones that are solved with it.
    So it comes after all of those that are among the cells.

    :param held: whether something else says what a cell's positions are worth.
    """
    roots = [root for root in dict.fromkeys(roots) if not held(root)]
    found: dict[Cell, None] = {}
    for root in roots:
        found |= dict.fromkeys(Structures.of(root, held).below)
    wanted = [cell for cell in found if cell.size >= LEAST_SLOTS and cell not in roots]

    @cache
    def homes(cell: Cell) -> tuple[Cell, ...]:
        return () if held(cell) else homes_below(cell, promotions=True)

    among = set(wanted)
    before: dict[Cell, tuple[Cell, ...]] = {}
    for cell in wanted:
        near: dict[Cell, None] = {}
        for home in dict.fromkeys(home for each in solved_with(cell, held) for home in homes(each)):
            near[home] = None
            if home not in among:
                near |= dict.fromkeys(homes(home))
        before[cell] = tuple(home for home in near if home in among)
    return {cell: before[cell] for cell in TopologicalSorter(before).static_order()}


def solved_with(cell: Cell, held: Callable[[Cell], bool]) -> tuple[Cell, ...]:
    """Return the cells that are solved wherever a canonical one is, since they are too small to be kept: in
    an order in which they can be, the cell itself last.

    :param held: as for :func:`tasks_below`.
    """
    return tuple(Structures.of(cell, lambda home: home.size >= LEAST_SLOTS or held(home)).below)
