"""Values of the positions that moves lead to, copied together from where they are stored."""

from collections.abc import Sequence

import chess
import numpy as np

from tbgen.board.material import Material
from tbgen.cells.bounds import Block, side_after
from tbgen.cells.cell import Cell, man_of
from tbgen.cells.kernels.gather import gather, overlay
from tbgen.cells.routes import Route
from tbgen.cells.tables import Tables
from tbgen.index.layout import Layout, Side, layout_of
from tbgen.index.symmetry import IMAGE, MIRROR_FILES, MIRROR_RANKS
from tbgen.index.zeroing import en_passant_configs


def in_tables(tables: Tables, route: Route) -> bool:
    """Whether tables give the positions that a route leads to."""
    return tables.gives(*_place_of(route)[:3])


def block_of_table(tables: Tables, route: Route) -> Block:
    """Return the values of the positions that a route leads to and that tables give."""
    cell = route.destination
    material, phase, side, symmetry = _place_of(route)
    layout = layout_of(material)
    stored = tables.phase(material, phase, side)
    men = [(Side(colour), kind) for colour, kind in zip(layout.colours, layout.kinds, strict=True)]
    block = gathered(cell, men, symmetry, stored, not layout.pawns)
    if route.passed is not None:
        square = IMAGE[symmetry][route.passed]
        row = _row_of(layout, phase, square)
        if row is not None:
            overlay(*block, *gathered(cell, men, symmetry, tables.en_passant(material, row)))
    return block


def _place_of(route: Route) -> tuple[Material, int, Side, int]:
    """Return where the positions that a route leads to are: the material of their table, its phase, the side
    to move, and the symmetry that leads there."""
    material, swapped = route.destination.material()
    phase, symmetry = _phase_of(layout_of(material), route.destination, MIRROR_RANKS if swapped else 0)
    return material, phase, Side(side_after(route) ^ swapped), symmetry


def _phase_of(layout: Layout, cell: Cell, symmetry: int) -> tuple[int, int]:
    """Return the phase of a cell's pawns in its table, and the symmetry that leads there: the given one, or
    that with files mirrored too."""
    for image in (symmetry, symmetry | MIRROR_FILES):
        pawns = [sorted(IMAGE[image][square] for square in chess.scan_forward(own)) for own in cell.pawns]
        if image & MIRROR_RANKS:
            pawns.reverse()
        phase = layout.rows.get((*pawns[0], *pawns[1]))
        if phase is not None:
            return phase, image
    raise AssertionError(f"{layout.material} has no phase for the pawns of {cell}")


def _row_of(layout: Layout, phase: int, square: int) -> int | None:
    """Return the number of an en passant configuration, if there is one."""
    configs = en_passant_configs(layout).tolist()
    return configs.index([phase, square]) if [phase, square] in configs else None


def gathered(
    cell: Cell, men: Sequence[tuple[Side, int]], symmetry: int, stored: Block, pawnless: bool = False
) -> Block:
    """Return the block of a cell's positions from stored values.

    ``men`` are those of the stored slots, all of them mobile or frozen in the cell, and of like men no other
    is frozen there; ``symmetry`` leads there; ``pawnless`` tables are numbered by more
    symmetries.
    """
    swapped = bool(symmetry & MIRROR_RANKS)
    digits: dict[object, list[int]] = {}
    last = len(cell.mobile) - 1
    for place, man in enumerate(cell.mobile):
        digits.setdefault(man, []).append(6 * (last - place))
    squares: dict[object, list[int]] = {}
    for square, man in cell.frozen:
        squares.setdefault(man, []).append(square)
    shifts, fixed = [], []
    for colour, kind in men:
        man = man_of(Side(colour ^ swapped), kind)
        if digits.get(man):
            shifts.append(digits[man].pop(0))
            fixed.append(0)
        else:
            shifts.append(-1)
            fixed.append(squares[man].pop(0))
    block = Block(np.empty(cell.size, np.uint8), np.empty(cell.size, np.uint16))
    gather(*stored, np.array(shifts, np.int64), np.array(fixed, np.int64), symmetry, pawnless, *block)
    return block
