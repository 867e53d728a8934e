"""The cells below a cell, compared with all moves of all its positions by python-chess."""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache

import chess
import pytest

from tbgen.beyond.structures import cells_ahead, cells_below, height, homes_of, seconds_to_solve
from tbgen.board.material import MAX_MEN
from tbgen.cells.cell import Cell, CellPosition, side_of
from tbgen.index.layout import MIRROR_RANKS, SIDES, Side
from tests.support.exhaustive import exhaustive

WAYS = "4k3/8/2p5/3p4/1P1P4/8/4P3/R6K w - - 0 1"
"""Pawns with captures and double steps; the rook may capture, and be captured."""


def cell_of(fen: str, *mobile: chess.Square) -> Cell:
    return Cell.of_board(chess.Board(fen), mobile).canonical()[0]


def positions_of(cell: Cell) -> Iterator[CellPosition]:
    for side in SIDES:
        for slot in range(cell.size):
            board = cell.board_of(side, slot)
            if board is not None and board.is_valid():
                yield CellPosition(board, board.occupied & ~cell.standing_mask)


@cache
def ways(cell: Cell) -> frozenset[tuple[Cell, bool]]:
    """Return the cells that captures and pawn moves of all positions lead to, and whether by promotion."""
    steps = (step for position in positions_of(cell) for step in position.moves() if step.zeroing)
    return frozenset((step.after.cell.canonical()[0], bool(step.move.promotion)) for step in steps)


def reached(cell: Cell, promotions: bool) -> set[Cell]:
    """Return these cells, with or without promotions."""
    return {home for home, promoted in ways(cell) if promotions or not promoted}


@pytest.mark.parametrize(
    ("fen", "mobile"),
    [
        (WAYS, [chess.A1]),
        (WAYS, [chess.E8]),
        ("4k3/2P5/8/3p4/8/4P3/2p5/4K3 w - - 0 1", [chess.E1]),
        *exhaustive([("4k3/8/8/1p6/8/P7/8/4K3 w - - 0 1", [chess.E1, chess.E8])]),
    ],
)
def test_cells_that_moves_lead_to(fen: str, mobile: list[chess.Square]) -> None:
    cell = cell_of(fen, *mobile)
    for promotions in (False, True):
        found = homes_of(cell, promotions=promotions)
        assert len(set(found)) == len(found)
        assert set(found) == reached(cell, promotions)


def below_by_moves(cell: Cell, is_held: Callable[[Cell], bool]) -> set[Cell]:
    found, left = {cell}, [cell]
    while left:
        new = {home for home in reached(left.pop(), promotions=False) - found if not is_held(home)}
        found |= new
        left += new
    return found


@pytest.mark.parametrize("with_held", [False, True])
def test_cells_below_come_after_their_homes(with_held: bool) -> None:
    root = cell_of("4k3/8/8/2p5/1P6/8/8/4K3 w - - 0 1", chess.E1)
    held = set(homes_of(root)[:2]) if with_held else set()
    structures = cells_below(root, held.__contains__)
    cells = list(structures)
    assert set(cells) == below_by_moves(root, held.__contains__)
    assert cells[-1] == root
    for number, cell in enumerate(cells):
        assert structures[cell] == tuple(home for home in homes_of(cell) if home not in held)
        assert set(structures[cell]) <= set(cells[:number])
        assert all(height(home) < height(cell) for home in homes_of(cell, promotions=True))


@cache
def homes_ahead(cell: Cell, side: Side) -> set[tuple[Cell, Side]]:
    """Return the homes of captures and of pawn moves of one side, with the side, move by move."""
    found = set()
    for position in positions_of(cell):
        for step in position.moves():
            stands = (
                side_of(position.board) != side
                and position.board.piece_type_at(step.move.from_square) == chess.PAWN
            )
            if step.zeroing and not step.move.promotion and not stands:
                home, symmetry = step.after.cell.canonical()
                found.add((home, SIDES[1 - side] if symmetry & MIRROR_RANKS else side))
    return found


@pytest.mark.parametrize(("side", "with_held"), [(SIDES[0], False), (SIDES[1], True)])
def test_cells_ahead_are_those_of_the_pawn_moves_of_one_side(side: Side, with_held: bool) -> None:
    root = cell_of("4k3/8/8/2p5/1P6/8/8/4K3 w - - 0 1", chess.E1)
    held = {home for home, _ in list(homes_ahead(root, side))[:2]} if with_held else set()
    ahead = list(cells_ahead(root, side, held.__contains__))
    expected, left = {(root, side)}, [(root, side)]
    while left:
        new = {each for each in homes_ahead(*left.pop()) if each[0] not in held} - expected
        expected |= new
        left += new
    assert set(ahead) == expected
    assert len(ahead) == len(expected)
    for number, (cell, own) in enumerate(ahead):
        assert {home for home, _ in homes_ahead(cell, own)} - held <= {home for home, _ in ahead[:number]}
    assert len(expected) < len(cells_below(root, held.__contains__))


def test_the_time_of_cells() -> None:
    """A pawn that two kings may capture, with five squares ahead or none; a table has the two kings."""
    root = cell_of("4k3/8/8/8/8/8/P7/4K3 w - - 0 1", chess.E1, chess.E8)
    cells = cells_below(root, lambda cell: cell.men == 2)
    assert [cell.size for cell in cells] == [64**2] * 6
    assert seconds_to_solve(cells, threads=1) > seconds_to_solve(cells, threads=2) > 0
    with_promotions = cells_below(root, lambda cell: cell.men == 2, promotions=True)
    assert Counter(cell.size for cell in with_promotions) == {64**2: 6, 64**3: 4}
    assert list(cells_below(root, lambda cell: cell.men <= MAX_MEN, promotions=True)) == [root]


def test_a_graph_that_is_too_large() -> None:
    """The cells up to the limit are in order all the same."""
    root = cell_of("4k3/pppppppp/8/8/8/8/PPPPPPPP/4K3 w - - 0 1", chess.E1, chess.E8)
    structures = cells_below(root, lambda cell: False, limit=50)
    assert len(structures) == 50
    assert root not in structures
    seen: set[Cell] = set()
    for cell, below in structures.items():
        assert set(below) <= seen
        seen.add(cell)
