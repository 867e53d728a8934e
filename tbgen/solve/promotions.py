"""Promotions that leave more mobile men than cells have, and the cells with the promoted man mobile too.

In such a *whole* cell all kings and pieces are mobile, and White is the side that has promoted.
"""

from collections.abc import Sequence
from typing import Final

import chess

from tbgen.board.kinds import PIECE_ORDER
from tbgen.cells.cell import Cell, Man, man_of
from tbgen.cells.lineup import lineup_of_cell
from tbgen.cells.routes import Route, routes_of
from tbgen.costs import RATES, memory_of, seconds_of
from tbgen.index.layout import SIDES, WHITE_TO_MOVE, Side
from tbgen.index.symmetry import MIRROR_FILES, MIRROR_RANKS

QUEEN: Final = PIECE_ORDER.index("Q")


def whole_cell(home: Cell, side: Side, mobile: int) -> Cell | None:
    """Return a cell with the man mobile that a side has just promoted to, the colours as they are; None if it
    is not such a cell, or one that is solved like others with that man mobile.

    :param mobile: how many men are mobile besides the promoted one.
    """
    if len(home.mobile) != mobile or len(home.frozen) != 1:
        return None
    square, man = home.frozen[0]
    last = chess.BB_RANK_1 if side else chess.BB_RANK_8
    return home.freed([square]) if man.colour == side and man.piece and last >> square & 1 else None


def wholes_of(home: Cell, mobile: int) -> list[Cell]:
    """Return the whole cell of a home of promotions, White having promoted, if it is one."""
    found = ((side, whole_cell(home, side, mobile)) for side in SIDES)
    return [cell.image(MIRROR_RANKS if side else 0) for side, cell in found if cell is not None]


def is_to_queen(home: Cell) -> bool:
    """Whether it is a queen that stands frozen in the home of a promotion."""
    return home.frozen[0].man.kind == QUEEN


def promoted_man(kind: int) -> Man:
    """Return the man of a whole cell that a pawn has become."""
    return man_of(WHITE_TO_MOVE, kind)


def symmetries(winner: Side) -> tuple[int, int]:
    """Return the symmetries by which the side that has promoted is White."""
    swap = MIRROR_RANKS if winner else 0
    return swap, swap | MIRROR_FILES


def large_routes(whole: Cell, mobile: int) -> list[Route]:
    """Return the ways out of a whole cell on which no mobile man is captured.

    :param mobile: as :func:`whole_cell` has it.
    """
    return [route for route in routes_of(lineup_of_cell(whole)) if len(route.destination.mobile) > mobile]


def values_take(wholes: Sequence[Cell], mobile: int, threads: int = 2, ends: int = 2) -> tuple[float, int]:
    """Return about how many seconds it takes to find the values of whole cells, and bytes of memory.

    :param mobile: as :func:`whole_cell` has it.
    :param ends: how many are wanted.
    """
    seconds, memory = 0.0, 0
    for whole in wholes:
        around = sum(route.part.size for route in large_routes(whole, mobile) if route.promoted is None)
        games = ends if any(whole.pawns) else 1  # without pawns all exits are values
        seconds += games * seconds_of("values", whole.size, threads)
        memory = max(memory, memory_of("values", whole.size) + whole.size + around)
    return seconds, memory + (RATES.process["cells"] << 20)
