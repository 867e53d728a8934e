"""Random cells, and made-up bounds of what moves out of them lead to."""

import random
import zlib
from collections.abc import Sequence
from functools import cache, lru_cache

import chess
import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import Code
from tbgen.cells.bounds import ENDS, Block, side_after
from tbgen.cells.cell import Cell, Man
from tbgen.cells.routes import Route
from tests.support.random_cells import random_cells

SORTS = 3
"""Sorts of positions: those of a sort are worth the same."""


def made_up(cell: Cell, side: int, slot: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Lower and upper value of a position of a cell with a side to move: code and depth, made up."""
    return _worths(cell, int(side))[int(_sorts(cell.mobile, np.array([slot]))[0])]


@cache
def _worths(cell: Cell, side: int) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Lower and upper values of positions, by their sort."""
    worths = []
    for sort in range(SORTS):
        rng = random.Random(zlib.crc32(repr((cell, side, sort)).encode()))
        codes = [rng.choice((*range(24), *range(232, 256))) for _ in ENDS]
        worths.append(((max(codes), rng.randrange(30)), (min(codes), rng.randrange(30))))
    return worths


def _sorts(mobile: Sequence[Man], slots: NDArray[np.int64]) -> NDArray[np.int64]:
    """The sort of position of each slot; it is the same for like men in any order."""
    places = enumerate(reversed(mobile))
    weights = [(1 + man.kind + 7 * man.colour) * (slots >> 6 * place & 63) for place, man in places]
    return np.asarray(sum(weights) % SORTS + 0 * slots)


@lru_cache(maxsize=32)
def _sorts_of_all(mobile: Sequence[Man]) -> NDArray[np.uint8]:
    """The sorts of the slots of all cells with these mobile men."""
    return _sorts(mobile, np.arange(64 ** len(mobile))).astype(np.uint8)


class MadeUp:
    """Knowledge of exits: how much depends on where the mobile men stand, in a simple way."""

    def block(self, route: Route, end: int) -> Block | None:
        cell = route.destination
        worths = np.array([ends[end] for ends in _worths(cell, side_after(route))])
        code, depth = worths[_sorts_of_all(cell.mobile)].T
        return Block(code.astype(np.uint8), depth.astype(np.uint16))

    def bound(self, route: Route, end: int) -> Code:
        raise AssertionError("all is known")

    def knows_values(self, route: Route) -> bool:
        return False


@cache
def boards(seed: int, count: int) -> list[tuple[chess.Board, list[chess.Square]]]:
    """Boards without castling or en passant rights, and the squares of the men that are mobile: their cells
    are solved at once."""
    found = []
    for board, mobile in random_cells(random.Random(seed), 4 * count):
        board.castling_rights, board.ep_square = chess.BB_EMPTY, None
        if len(mobile) <= 3:
            found.append((board, mobile))
        if len(found) == count:
            break
    return found


def cells(seed: int, count: int) -> list[Cell]:
    """Random cells, as :func:`boards` has them."""
    return [Cell.of_board(board, mobile) for board, mobile in boards(seed, count)]
