"""Cells on disk."""

import os
from pathlib import Path

import chess
import numpy as np
import pytest

import tbgen
from tbgen.cells.bounds import Bounds
from tbgen.cells.cell import Cell
from tbgen.errors import TbgenError, UsageError
from tbgen.solve.budget import Budget
from tbgen.solve.kept import KeptCells

FEN = "4k3/2p5/2P5/8/8/8/2B5/4K3 w - - 0 1"


def cell(square: chess.Square = chess.A2) -> Cell:
    board = chess.Board("4k3/8/8/8/8/8/8/4K2R w - - 0 1")
    board.set_piece_at(square, chess.Piece(chess.PAWN, chess.WHITE))
    return Cell.of_board(board, [chess.E1, chess.E8, chess.H1]).canonical()[0]


def bounds(of: Cell, seed: int = 1) -> Bounds:
    rng = np.random.default_rng(seed)
    shape = 2, 2, of.size
    return Bounds(of, rng.integers(0, 9, shape, np.uint8), rng.integers(0, 9, shape, np.uint16))


def same(one: Bounds | None, other: Bounds) -> bool:
    return (
        one is not None
        and one.cell == other.cell
        and np.array_equal(one.value, other.value)
        and np.array_equal(one.depth, other.depth)
    )


def test_what_is_put_can_be_got(tmp_path: Path) -> None:
    kept = KeptCells(tmp_path / "new" / "cells")
    assert kept.get(cell()) is None
    kept.put(bounds(cell()))
    assert same(kept.get(cell()), bounds(cell()))
    assert kept.get(cell(chess.A3)) is None
    kept.put(bounds(cell(), 2))
    again = KeptCells(tmp_path / "new" / "cells")
    assert same(again.get(cell()), bounds(cell(), 2))
    assert len(list((tmp_path / "new" / "cells").iterdir())) == 1


def test_small_cells_are_not_worth_it(tmp_path: Path) -> None:
    small = Cell.of_board(chess.Board("4k3/8/8/8/8/8/P7/4K3 w - - 0 1"), [chess.E1, chess.E8])
    KeptCells(tmp_path).put(bounds(small))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("at", [0.0, 0.3, 0.5, 0.8, 0.99])
def test_a_damaged_cell_is_as_good_as_none(at: float, tmp_path: Path) -> None:
    KeptCells(tmp_path).put(bounds(cell()))
    (path,) = tmp_path.iterdir()
    data = bytearray(path.read_bytes())
    data[int(at * len(data))] ^= 0xFF
    path.write_bytes(data)
    found = KeptCells(tmp_path).get(cell())
    assert found is None or same(found, bounds(cell()))
    if found is None:
        assert not path.exists()


def test_another_cell_under_its_name(tmp_path: Path) -> None:
    kept = KeptCells(tmp_path)
    kept.put(bounds(cell()))
    (one,) = tmp_path.iterdir()
    kept.put(bounds(cell(chess.A3)))
    (other,) = set(tmp_path.iterdir()) - {one}
    other.write_bytes(one.read_bytes())
    assert KeptCells(tmp_path).get(cell(chess.A3)) is None
    assert same(KeptCells(tmp_path).get(cell()), bounds(cell()))


def test_those_not_used_for_longest_go(tmp_path: Path) -> None:
    squares = chess.A2, chess.A3, chess.A4
    kept = KeptCells(tmp_path)
    for number, square in enumerate(squares):
        kept.put(bounds(cell(square)))
        for path in tmp_path.iterdir():
            os.utime(path, (number, number))
    size = sum(path.stat().st_size for path in tmp_path.iterdir())
    assert kept.get(cell(chess.A2)) is not None  # used, so it stays
    kept = KeptCells(tmp_path, most=size)
    kept.put(bounds(cell(chess.A5)))
    assert len(list(tmp_path.iterdir())) == 3
    assert kept.get(cell(chess.A2)) is not None
    assert kept.get(cell(chess.A5)) is not None
    kept = KeptCells(tmp_path, most=1)
    kept.put(bounds(cell(chess.A6)))
    assert not list(tmp_path.iterdir())


def test_no_directory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="is not a directory"):
        KeptCells(tmp_path / "file")
    with pytest.raises(TbgenError):
        KeptCells(tmp_path / "file" / "below")


@pytest.mark.usefixtures("compiled")
def test_the_next_position_goes_on_from_them(own: Path, tmp_path: Path) -> None:
    budget, kept = Budget(seconds=600, cells=4), tmp_path / "cells"
    first = tbgen.solve(FEN, tables=own, budget=budget, kept=KeptCells(kept))
    assert first.cells
    assert list(kept.iterdir())
    none = Budget(seconds=600, cells=0)
    again = tbgen.solve(FEN, tables=own, budget=none, kept=KeptCells(kept))
    assert (again.cells, again.lower, again.upper) == (0, first.lower, first.upper)
    alone = tbgen.solve(FEN, tables=own, budget=none)
    assert alone.lower < again.lower or alone.upper > again.upper
