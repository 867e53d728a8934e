"""Random cells, and made-up bounds of what moves out of them lead to."""

import random
import zlib

import chess
import numpy as np

from tbgen.board.score import Code
from tbgen.cells.bounds import ENDS, Block, side_after
from tbgen.cells.cell import Cell
from tbgen.cells.routes import Route
from tests.support.random_cells import random_cells


def made_up(cell: Cell, side: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Lower and upper worth of all positions of a cell with a side to move: code and depth, made up."""
    seed = zlib.crc32(repr((cell, int(side))).encode())
    rng = random.Random(seed)
    codes = [rng.choice((*range(24), *range(232, 256))) for _ in ENDS]
    return (max(codes), rng.randrange(30)), (min(codes), rng.randrange(30))


class MadeUp:
    """Knowledge of exits: nothing depends on where the mobile men stand."""

    def block(self, route: Route, end: int) -> Block | None:
        code, depth = made_up(route.destination, side_after(route))[end]
        size = route.destination.size
        return Block(np.full(size, code, np.uint8), np.full(size, depth, np.uint16))

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
