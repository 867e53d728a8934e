"""Packing the bounds of cells."""

import chess
import numpy as np
import pytest
from numpy.typing import NDArray

from tbgen.board.score import NONE
from tbgen.cells import packing
from tbgen.cells.bounds import ENDS, WORST, Bounds, BoundsSource, CallbackBoundsSource
from tbgen.cells.cell import Cell
from tbgen.cells.file import name_of
from tbgen.cells.games import Games
from tbgen.cells.packing import pack, unpack
from tbgen.index.layout import SIDES
from tests.support.made_up_exits import MadeUp, cells
from tests.support.same_bounds import is_same

pytestmark = pytest.mark.usefixtures("compiled")


KINGS = Cell.of_board(chess.Board("4k3/8/8/8/8/1p6/1P6/4K3 w - - 0 1"), [chess.E1, chess.E8])


@pytest.mark.parametrize("knowledge", [MadeUp(), CallbackBoundsSource()])
def test_packed_bounds_are_the_same_but_for_depths_of_open_ends(knowledge: BoundsSource) -> None:
    """Some of the men are frozen; bounds of the exits are made up, or missing."""
    lost = 0
    for cell in cells(1, 2):
        bounds = Games(cell, knowledge).solve()
        found = unpack(pack(bounds), cell)
        assert np.array_equal(found.value, bounds.value)
        for end in ENDS:
            differs = found.depth[end] != bounds.depth[end]
            assert (bounds.value[end][differs] == WORST[end]).all()
            assert (bounds.value[1 - end][differs] != WORST[end]).all()
            assert not found.depth[end][differs].any()
            lost += int(differs.sum())
    assert lost


def test_positions_are_those_of_python_chess() -> None:
    for side, there in zip(SIDES, packing.legal_slots(KINGS), strict=True):
        for slot in range(0, KINGS.size, 3):
            at = KINGS.board_of(side, slot)
            assert there[slot] == (at is not None and not at.was_into_check())


def of_depths(cell: Cell, depth: NDArray[np.uint16]) -> Bounds:
    """Return bounds of a cell with the same value everywhere, and different depths by slot."""
    there = np.stack(packing.legal_slots(cell))
    both = np.ones((2, 1, 1), np.uint16)
    return Bounds(cell, (np.where(there, 5, NONE) * both).astype(np.uint8), np.where(there, depth, 0) * both)


def test_many_states(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their numbers take two bytes, and the capacity grows if it does not suffice."""
    bounds = of_depths(KINGS, np.arange(KINGS.size, dtype=np.uint16))
    packed = pack(bounds)
    assert [len(side.planes) for side in packed.sides] == [2, 2]
    assert is_same(unpack(packed, KINGS), bounds)
    monkeypatch.setattr(packing, "_INITIAL_ENTRY_CAPACITY", 4)
    assert pack(bounds) == packed


def test_a_side_that_is_never_to_move() -> None:
    """The frozen king is always in check, so White is never to move."""
    cell = Cell.of_board(chess.Board("8/3Rk3/8/8/8/8/1P6/4K3 b - - 0 1"), [chess.E1])
    white, black = packing.legal_slots(cell)
    assert not white.any()
    assert black.any()
    bounds = of_depths(cell, np.zeros(cell.size, np.uint16))
    assert is_same(unpack(pack(bounds), cell), bounds)


def test_names_of_cells_are_unique() -> None:
    boards = ("4k3/p7/8/8/8/8/8/R3K3 w - - 0 1", "4k3/8/p7/8/8/8/8/R3K3 w - - 0 1")
    mobile = ([chess.A1, chess.E1, chess.E8], [chess.E1, chess.E8], [chess.A1, chess.E8])
    names = {name_of(Cell.of_board(chess.Board(fen), men)) for fen in boards for men in mobile}
    assert len(names) == len(boards) * len(mobile)
