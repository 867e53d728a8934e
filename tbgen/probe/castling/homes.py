"""Cells of positions with castling rights: the kings and rooks that may castle stand still in them."""

from collections.abc import Container
from typing import Final, NamedTuple

import chess

from tbgen.cells.cell import Cell, mobile_squares
from tbgen.cells.lineup import Castling, lineup_of_cell
from tbgen.cells.routes import Route, routes_of
from tbgen.costs import RATES, memory_of

_SMALL_MEN: Final = 4
"""Most men of cells that are solved in no time."""


class Home(NamedTuple):
    """A cell and the castling rights in it."""

    cell: Cell
    castlings: tuple[Castling, ...]


def home_of(board: chess.Board) -> Home:
    """Return the cell of a position with castling rights."""
    castlings = []
    for rook in chess.scan_forward(board.clean_castling_rights()):
        king = board.king(chess.square_rank(rook) == 0)
        assert king is not None
        files = (2, 3) if rook < king else (6, 5)
        castlings.append(Castling(king, rook, *(king & 56 | file for file in files)))
    still = {square for castling in castlings for square in castling[:2]}
    mobile = [square for square in mobile_squares(board) if square not in still]
    return Home(Cell.of_board(board, mobile), tuple(castlings))


def home_after(route: Route, castlings: tuple[Castling, ...]) -> Home:
    """Return the cell of the positions that a route leads to, in which these ways to castle are left."""
    cell = route.destination
    still = {square for castling in castlings for square in castling[:2]}
    return Home(cell.freed(frozen.square for frozen in cell.frozen if frozen.square not in still), castlings)


def rights_left(home: Home, route: Route) -> tuple[Castling, ...]:
    """Return the ways to castle that are left where a route leads to."""
    standing = set(route.destination.frozen)
    men = {frozen.square: frozen for frozen in home.cell.frozen}
    return tuple(
        castling
        for castling in home.castlings
        if {men[castling.king], men[castling.rook]} <= standing
        and not (route.castled and men[castling.king].man.colour == route.side)
    )


def cells_before(home: Home, solved: Container[Home]) -> set[Home]:
    """Return the cells that are to be solved before a cell, and that cell, but for those that are solved."""
    found, waiting = set[Home](), {home}
    while waiting:
        one = waiting.pop()
        if one in solved or one in found:
            continue
        found.add(one)
        routes = routes_of(lineup_of_cell(one.cell, one.castlings))
        waiting |= {home_after(route, left) for route in routes if (left := rights_left(one, route))}
    return found


def effort(home: Home) -> float:
    """Return about how many seconds it takes to solve a cell, 0 for one that is solved in no time."""
    seconds, mobile = RATES.seconds.castling, len(home.cell.mobile)
    return seconds[min(mobile, len(seconds) - 1)] if home.cell.men > _SMALL_MEN else 0.0


def needs(board: chess.Board) -> tuple[float, int]:
    """Return about how many seconds and bytes it takes to answer a position with castling rights from packed
    tables."""
    homes = cells_before(home_of(board), ())
    large = sum(home.cell.size for home in homes if home.cell.men > _SMALL_MEN and len(home.cell.mobile) > 2)
    return sum(map(effort, homes)), (RATES.process["castling"] << 20) + memory_of("castling cell", large)
