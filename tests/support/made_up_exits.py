"""Random cells, and made-up bounds of what moves out of them lead to."""

import random
import zlib

import chess
import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import Code
from tbgen.cells.bounds import ENDS, Block, side_after
from tbgen.cells.cell import Cell
from tbgen.cells.routes import Route
from tests.support.random_cells import random_cells


def made_up(cell: Cell, side: int, slot: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Lower and upper worth of a position of a cell with a side to move: code and depth, made up."""
    seed = zlib.crc32(repr((cell, int(side), int(_sorts(cell, np.array([slot]))[0]))).encode())
    rng = random.Random(seed)
    codes = [rng.choice((*range(24), *range(232, 256))) for _ in ENDS]
    return (max(codes), rng.randrange(30)), (min(codes), rng.randrange(30))


def _sorts(cell: Cell, slots: NDArray[np.int64]) -> NDArray[np.int64]:
    """The sort of position of each slot, one of three; it is the same for like men in any order."""
    places = enumerate(reversed(cell.mobile))
    weights = [(1 + man.kind + 7 * man.colour) * (slots >> 6 * place & 63) for place, man in places]
    return np.asarray(sum(weights) % 3 + 0 * slots)


class MadeUp:
    """Knowledge of exits: how much depends on where the mobile men stand, in a simple way."""

    def block(self, route: Route, end: int) -> Block | None:
        cell = route.destination
        sorts = _sorts(cell, np.arange(cell.size))
        _, first, which = np.unique(sorts, return_index=True, return_inverse=True)
        worths = [made_up(cell, side_after(route), slot)[end] for slot in first.tolist()]
        code, depth = np.array(worths)[which].T
        return Block(code.astype(np.uint8), depth.astype(np.uint16))

    def bound(self, route: Route, end: int) -> Code:
        raise AssertionError("all is known")

    def same_ends(self, route: Route) -> bool:
        return False


def cells(seed: int, count: int) -> list[tuple[chess.Board, list[chess.Square]]]:
    """Random cells without castling or en passant rights, small enough to be solved at once."""
    found = []
    for board, mobile in random_cells(random.Random(seed), 4 * count):
        board.castling_rights, board.ep_square = chess.BB_EMPTY, None
        if len(mobile) <= 3:
            found.append((board, mobile))
    return found[:count]
