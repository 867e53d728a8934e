"""Estimates, compared with the cells that positions lead to, move by move."""

from collections import Counter
from pathlib import Path

import chess
import pytest

from tbgen.beyond.budget import memory_needed
from tbgen.beyond.estimate import cells_to_solve, estimate
from tbgen.cells.cell import Cell
from tbgen.probe.tablebase import Tablebase
from tests.beyond.test_structures import below_by_moves, reached

PAWNS = "4k3/8/8/1p6/8/P7/8/4K3 w - - 0 1"
OTHER = "4k3/8/8/1p6/P7/8/8/4K3 b - - 0 1"


def root(fen: str, still: int = chess.BB_E8) -> Cell:
    """The cell in which all kings and pieces are mobile, except those on some squares."""
    board = chess.Board(fen)
    return Cell.of_board(board, chess.SquareSet(board.occupied & ~board.pawns & ~still)).canonical()[0]


def by_moves(start: Cell, held: int) -> set[Cell]:
    """The cells reached without promotions, except those with few enough men for tables."""
    return below_by_moves(start, lambda cell: cell.men <= held)


def test_cells_that_matter(tmp_path: Path) -> None:
    """Cells that several positions need count once; those that promotions lead to are counted separately."""
    cells, both = by_moves(root(PAWNS), 0), [root(PAWNS), root(OTHER)]
    assert root(OTHER) in cells
    assert cells_to_solve(both, lambda cell: False, 100) == (cells, True)
    document = estimate([both[:1], both[1:]], Tablebase(tmp_path), 1, 100)
    assert (document.positions, document.cells, document.complete) == (2, len(cells), True)
    promoted = {home for cell in cells for home in reached(cell, promotions=True)} - cells
    sizes = Counter(cell.size for cell in promoted)
    assert document.promoted == {str(size): count for size, count in sizes.items()}
    assert document.memory == memory_needed(64)
    told = [(squares(each.white), squares(each.black)) for each in document.structures]
    assert sorted(told) == sorted({cell.pawns for cell in cells})
    assert document.cells == sum(sum(each.cells.values()) for each in document.structures)
    assert document.seconds == pytest.approx(sum(each.seconds for each in document.structures))
    assert [each.seconds for each in document.structures] == sorted(
        (each.seconds for each in document.structures), reverse=True
    )


def squares(names: list[str]) -> int:
    return int(chess.SquareSet(map(chess.parse_square, names)))


def test_cells_in_tables_do_not_count(own: Path) -> None:
    tables = Tablebase(own)
    assert estimate([[root(PAWNS)]], tables, 1, 100).cells == len(by_moves(root(PAWNS), 3))
    nothing = estimate([[root("4k3/8/8/8/8/P7/8/4K3 w - - 0 1")]], tables, 1, 100)
    assert (nothing.cells, nothing.seconds, nothing.disk) == (0, 0, 0)


def test_counting_ends() -> None:
    some, complete = cells_to_solve([root(PAWNS), root(OTHER)], lambda cell: False, max_cells=5)
    assert (len(some), complete) == (5, False)
    cells = by_moves(root(PAWNS), 0)
    assert some < cells
    assert cells_to_solve([root(PAWNS)] * 2, lambda cell: False, len(cells)) == (cells, True)


def test_promotions_beside_two_pieces(tmp_path: Path) -> None:
    """The pawn becomes one of four pieces, and no pawns remain."""
    wholes = estimate([[root("k7/7P/8/8/8/8/r7/K6R w - - 0 1", 0)]], Tablebase(tmp_path), 1, 100).wholes
    assert wholes is not None
    assert wholes.cells == 4
    assert wholes.seconds > 4 * 60
    assert wholes.memory > 2 << 30
    assert estimate([[root(PAWNS)]], Tablebase(tmp_path), 1, 100).wholes is None
