"""Packing the bounds of cells."""

from collections.abc import Iterator

import chess
import numpy as np
import pytest

from tbgen.board.score import NONE
from tbgen.cells import packing
from tbgen.cells.bounds import ENDS, WORST, Bounds, SomeKnowledge
from tbgen.cells.cell import Cell
from tbgen.cells.file import name_of
from tbgen.cells.games import Games
from tbgen.cells.packing import pack, unpack
from tbgen.index.layout import SIDES
from tests.support.made_up_exits import MadeUp, cells

pytestmark = pytest.mark.usefixtures("compiled")


def solved(count: int) -> Iterator[Bounds]:
    """Cells with made-up exits, and the same without any; some of their men are frozen."""
    for board, mobile in cells(1, count):
        cell = Cell.of_board(board, mobile)
        yield Games(cell, MadeUp()).solve()
        yield Games(cell, SomeKnowledge()).solve()


def test_packed_bounds_are_the_same_but_for_depths_of_open_ends() -> None:
    lost = 0
    for bounds in solved(4):
        found = unpack(pack(bounds), bounds.cell)
        assert np.array_equal(found.value, bounds.value)
        for end in ENDS:
            value, other = bounds.value[end], bounds.value[1 - end]
            for side, slot in zip(*np.nonzero(found.depth[end] != bounds.depth[end]), strict=True):
                assert value[side, slot] == WORST[end] != other[side, slot]
                assert found.depth[end, side, slot] == 0
                lost += 1
    assert lost


def test_positions_are_those_of_python_chess() -> None:
    board = chess.Board("4k3/8/8/8/8/1p6/1P6/4K3 w - - 0 1")
    cell = Cell.of_board(board, [chess.E1, chess.E8])
    for side, there in zip(SIDES, packing.slots_there(cell), strict=True):
        for slot in range(cell.size):
            at = cell.board_of(side, slot)
            assert there[slot] == (at is not None and not at.was_into_check())


def test_many_states(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their numbers take two bytes, and where there are more than there is room for, more room is made."""
    board = chess.Board("4k3/8/8/8/8/1p6/1P6/4K3 w - - 0 1")
    cell = Cell.of_board(board, [chess.E1, chess.E8])
    there = np.stack(packing.slots_there(cell))
    value = np.where(there, np.uint8(5), NONE) * np.ones((2, 1, 1), np.uint8)
    depth = np.where(there, np.arange(cell.size), 0) * np.ones((2, 1, 1), np.int64)
    bounds = Bounds(cell, value.astype(np.uint8), depth.astype(np.uint16))
    packed = pack(bounds)
    assert [len(side.planes) for side in packed.sides] == [2, 2]
    found = unpack(packed, cell)
    assert np.array_equal(found.depth, bounds.depth)
    monkeypatch.setattr(packing, "_ROOM", 4)
    assert pack(bounds) == packed


def test_a_side_that_is_never_to_move() -> None:
    """The king that stands still is always in check, so that White is never to move."""
    board = chess.Board("8/3Rk3/8/8/8/8/1P6/4K3 b - - 0 1")
    cell = Cell.of_board(board, [chess.E1])
    white, black = packing.slots_there(cell)
    assert not white.any()
    assert black.any()
    there = np.stack((white, black))
    value = np.where(there, np.uint8(5), NONE) * np.ones((2, 1, 1), np.uint8)
    bounds = Bounds(cell, value.astype(np.uint8), np.zeros(value.shape, np.uint16))
    found = unpack(pack(bounds), cell)
    assert np.array_equal(found.value, bounds.value)
    assert np.array_equal(found.depth, bounds.depth)


def test_names_tell_cells_apart() -> None:
    boards = ("4k3/p7/8/8/8/8/8/R3K3 w - - 0 1", "4k3/8/p7/8/8/8/8/R3K3 w - - 0 1")
    mobile = ([chess.A1, chess.E1, chess.E8], [chess.E1, chess.E8], [chess.A1, chess.E8])
    names = {name_of(Cell.of_board(chess.Board(fen), men)) for fen in boards for men in mobile}
    assert len(names) == len(boards) * len(mobile)
