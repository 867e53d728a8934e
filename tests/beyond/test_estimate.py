"""What solving should take, compared with the cells that positions lead to, move by move."""

from collections import Counter
from pathlib import Path

import chess
import pytest

from tbgen.beyond.budget import memory_needed
from tbgen.beyond.estimate import SolveEstimate, squares_of
from tbgen.cells.cell import Cell
from tbgen.probe.tablebase import Tablebase
from tests.beyond.test_structures import below_by_moves, reached

PAWNS = "4k3/8/8/1p6/8/P7/8/4K3 w - - 0 1"
OTHER = "4k3/8/8/1p6/P7/8/8/4K3 b - - 0 1"


def root(fen: str, still: int = chess.BB_E8) -> Cell:
    """The cell in which all kings and pieces are mobile, but those that stand still."""
    board = chess.Board(fen)
    return Cell.of_board(board, chess.SquareSet(board.occupied & ~board.pawns & ~still)).canonical()[0]


def by_moves(start: Cell, held: int) -> set[Cell]:
    """The cells that are reached without promotions, those with so many men left out."""
    return below_by_moves(start, lambda cell: cell.men <= held)


def test_cells_that_matter(tmp_path: Path) -> None:
    """Those of several positions count once, those that promotions lead to apart."""
    tables = Tablebase(tmp_path)
    cells = by_moves(root(PAWNS), 0)
    assert root(OTHER) in cells
    estimate = SolveEstimate.of([[root(PAWNS)], [root(OTHER)]], tables, 1, 100)
    assert estimate.cells == cells
    assert (estimate.positions, estimate.complete) == (2, True)
    promoted = {home for cell in cells for home in reached(cell, promotions=True)} - cells
    assert estimate.promoted == Counter(cell.size for cell in promoted)
    assert estimate.memory == memory_needed(64)
    assert sum(counts.total() for counts in estimate.structures.values()) == len(cells)
    assert estimate.structures.keys() == {cell.pawns for cell in cells}
    document = estimate.document()
    assert document.cells == sum(sum(each.cells.values()) for each in document.structures)
    assert document.seconds == pytest.approx(sum(each.seconds for each in document.structures))
    assert [each.seconds for each in document.structures] == sorted(
        (each.seconds for each in document.structures), reverse=True
    )


def test_what_tables_hold_does_not_count(own: Path) -> None:
    tables = Tablebase(own)
    assert SolveEstimate.of([[root(PAWNS)]], tables, 1, 100).cells == by_moves(root(PAWNS), 3)
    nothing = SolveEstimate.of([[root("4k3/8/8/8/8/P7/8/4K3 w - - 0 1")]], tables, 1, 100)
    assert (nothing.cells, nothing.seconds_of(nothing.sizes), nothing.disk) == (frozenset(), 0, 0)


def test_counting_ends(tmp_path: Path) -> None:
    tables = Tablebase(tmp_path)
    some = SolveEstimate.of([[root(PAWNS)], [root(OTHER)]], tables, 1, most=5)
    assert (len(some.cells), some.complete) == (5, False)
    assert some.cells < by_moves(root(PAWNS), 0)


def test_squares() -> None:
    assert squares_of(1 << chess.H2 | 1 << chess.A7) == ["h2", "a7"]


def test_promotions_beside_two_pieces(tmp_path: Path) -> None:
    """The pawn becomes one of four pieces, and then there are no pawns."""
    estimate = SolveEstimate.of([[root("k7/7P/8/8/8/8/r7/K6R w - - 0 1", 0)]], Tablebase(tmp_path), 1, 100)
    assert {cell.size for cell in estimate.wholes} == {64**5}
    assert len(estimate.wholes) == 4
    seconds, memory = estimate.wholes_take()
    document = estimate.document().wholes
    assert document is not None
    assert (document.cells, document.seconds, document.memory) == (4, seconds, memory)
    assert seconds > 4 * 60
    assert memory > 12 << 30
    one = SolveEstimate.of([[root(PAWNS)]], Tablebase(tmp_path), 1, 100)
    assert not one.wholes
    assert one.document().wholes is None
