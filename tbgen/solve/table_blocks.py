"""Values of the positions that moves lead to, from the tables that hold them."""

import chess

from tbgen.board.material import Material
from tbgen.cells.blocks import gathered
from tbgen.cells.bounds import Block, side_after
from tbgen.cells.cell import Cell
from tbgen.cells.kernels.gather import overlay
from tbgen.cells.routes import Route
from tbgen.index.layout import Layout, Side, layout_of
from tbgen.index.symmetry import IMAGE, MIRROR_FILES, MIRROR_RANKS
from tbgen.index.zeroing import en_passant_configs
from tbgen.solve.tables import Tables


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
