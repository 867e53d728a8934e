"""What is known about the positions that moves out of a cell lead to: tables, and cells solved before."""

from typing import Final

import chess

from tbgen.cells.blocks import block_of_table, gathered, phase_of, row_of
from tbgen.cells.bounds import ENDS, LOWER, UPPER, WORST, Block, Bounds, Interval, side_after
from tbgen.cells.cell import TYPES, Cell, side_of
from tbgen.cells.position import Position
from tbgen.cells.routes import Route
from tbgen.cells.tables import Tables
from tbgen.index.layout import Side, layout_of
from tbgen.index.symmetry import IMAGE, MIRROR_RANKS
from tbgen.material import MAX_MEN
from tbgen.score import Code

_BARE: Final = (Code(254), Code(1))
"""What is known where one side has a bare king: it cannot mate, so that the other gets -G0.5 at least, or
G0.5 at most."""


class Known:
    """All that is known: see :class:`tbgen.cells.bounds.Knowledge`.

    :param tables: tables that may be used.
    :param mobile: most men of a cell that are mobile.
    """

    def __init__(self, tables: Tables, mobile: int) -> None:
        self._tables, self._mobile = tables, mobile
        self._cells: dict[Cell, Bounds] = {}

    def add(self, bounds: Bounds) -> None:
        """Keep the bounds of a canonical cell."""
        self._cells[bounds.cell] = bounds

    def cell(self, cell: Cell) -> Bounds | None:
        """Return the bounds of a canonical cell, if there are any."""
        return self._cells.get(cell)

    @property
    def nbytes(self) -> int:
        """Bytes of all bounds."""
        return sum(bounds.nbytes for bounds in self._cells.values())

    def home(self, route: Route) -> Cell:
        """Return the cell whose solution says what a route is worth: with a promoted man mobile if there may
        be one more."""
        cell = route.destination
        if route.promoted is not None and len(cell.mobile) < self._mobile:
            cell = cell.freed([route.promoted])
        return cell

    def in_table(self, cell: Cell) -> bool:
        """Whether there is a table of a cell's positions."""
        return cell.men <= MAX_MEN and self._tables.has(cell.material()[0])

    def block(self, route: Route, end: int) -> Block | None:
        """Return one end of what is known about the positions that a route leads to, if anything."""
        cell = route.destination
        if route.quiet:
            return None
        if self.in_table(cell):
            return block_of_table(self._tables, route)
        if route.passed is not None and end != (UPPER if side_after(route) else LOWER):
            # Whoever may capture en passant has a choice more, and a better score to lose: that is all
            # that is known of him.
            return None
        home, symmetry = self.home(route).canonical()
        bounds = self._cells.get(home)
        if bounds is None:
            return None
        side = side_after(route)
        if symmetry & MIRROR_RANKS:
            side, end = Side(1 - side), 1 - end
        stored = Block(bounds.value[end, side], bounds.depth[end, side])
        men = [(man.colour, man.kind) for man in home.mobile]
        return gathered(cell.apart_from(self.home(route)), men, symmetry, stored)

    def worth(self, position: Position) -> Interval:
        """Return what is known of a position, fresh: the accrued score being its own."""
        if position.over:
            return Interval.exactly(position.own)
        cell, board = position.cell, position.board
        if self.in_table(cell):
            return Interval.exactly(self._in_table(position))
        home, symmetry = cell.canonical()
        bounds = self._cells.get(home)
        if bounds is None:
            return Interval(*(_bare(cell, end) for end in ENDS))
        seen = position.seen_by(symmetry)
        found = [Code(int(bounds.value[end, side_of(seen.board), seen.slot])) for end in ENDS]
        if symmetry & MIRROR_RANKS:
            found = [Code(255 - code) for code in reversed(found)]
        if board.has_legal_en_passant():
            found[LOWER if board.turn == chess.BLACK else UPPER] = WORST[
                LOWER if board.turn == chess.BLACK else UPPER
            ]
        return Interval(*found)

    def _in_table(self, position: Position) -> Code:
        """Return the code of W from the position's table."""
        material, swapped = position.cell.material()
        seen = position.seen_by(MIRROR_RANKS) if swapped else position
        board, layout = seen.board, layout_of(material)
        own: list[int] = []
        left = list(board.piece_map().items())
        for colour, kind in zip(layout.colours, layout.kinds, strict=True):
            for square, piece in left:
                if piece.color != bool(colour) and piece.piece_type == TYPES[kind]:
                    own.append(square)
                    left.remove((square, piece))
                    break
        if not layout.pawns:
            phase, slot, mirror = 0, int(layout.slot(own)), 0
        else:
            phase, mirror = phase_of(layout, seen.cell, 0)
            slot = 0
            for square in own:
                slot = slot << 6 | IMAGE[mirror][square]
        code = int(self._tables.phase(material, phase).value[side_of(board), slot])
        if board.ep_square is not None and board.has_legal_en_passant():
            row = row_of(layout, phase, IMAGE[mirror][board.ep_square])
            if row is not None:
                code = int(self._tables.en_passant(material, row).value[0, slot])
        return Code(255 - code if swapped else code)

    def bound(self, route: Route, end: int) -> Code:
        """Return one end that holds for all positions that a route leads to."""
        return WORST[end] if route.quiet else _bare(route.destination, end)


def _bare(cell: Cell, end: int) -> Code:
    """Return the bound that holds because a side has a bare king, or the worst."""
    white, black = cell.sides()
    return _BARE[end] if (black if end == LOWER else white) == "K" else WORST[end]
