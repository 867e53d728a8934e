"""The proof's move generator against python-chess, and where its moves lead against the layout."""

from random import Random

import chess
import numpy as np
import pytest
from numpy.typing import NDArray

from tbgen.board.material import Material
from tbgen.board.score import NONE, GScore
from tbgen.compiler.jit import kernel
from tbgen.index.layout import Layout, layout_of
from tbgen.index.position import locate
from tbgen.verify.game import men_of, new_scratch, resets_of
from tbgen.verify.kernels.findings import ProofScratch
from tbgen.verify.kernels.men import ProofMen
from tbgen.verify.kernels.moves import attacked, legal_moves, legal_targets, place
from tbgen.verify.kernels.resets import ProofResets, fresh_after, reset_number
from tbgen.verify.sub_tables import SubTables
from tests.support.slots import board_at

pytestmark = pytest.mark.exhaustive  # proofs of right tables need all of these moves


@kernel
def _moves_of(men: ProofMen, slot: int, side: int, scratch: ProofScratch) -> int:
    """Rank of a position with its targets in ``scratch``; -1 if it is not legal, -2 if men clash."""
    occupied = place(men, slot, scratch.squares)
    if occupied == 0:
        return -2
    if attacked(men, scratch.squares, occupied, scratch.squares[1 - side], side):
        return -1
    check = legal_targets(men, scratch.squares, occupied, side, scratch.targets)
    return 2 * legal_moves(men, scratch.targets) + (0 if check else 1)


@kernel
def _reset(
    men: ProofMen,
    resets: ProofResets,
    value: NDArray[np.uint8],
    depth: NDArray[np.uint16],
    side: int,
    man: int,
    target: int,
    kind: int,
    slot: int,
    scratch: ProofScratch,
) -> int:
    """Fresh value and depth after a capture or pawn move of a man, packed."""
    place(men, slot, scratch.squares)
    captured = -1
    for other in range(men.kinds.size):
        if scratch.squares[other] == target:
            captured = other
    scratch.squares[man] = target
    reset = reset_number(men, captured, man, kind)
    return fresh_after(resets, (value, depth), reset, scratch.squares, side, scratch.after)


def moves_of(scratch: ProofScratch, men: int) -> list[tuple[int, int]]:
    """Pairs of origin and target."""
    return sorted(
        (int(scratch.squares[man]), target)
        for man in range(men)
        for target in chess.SquareSet(int(scratch.targets[man]))
    )


@pytest.mark.parametrize("name", ["KvK", "KQRvKB", "KBBvKP", "KPPvKP", "KNNNvK", "KQQvKQ"])
def test_generator_agrees_with_python_chess(name: str) -> None:
    layout = layout_of(Material.parse(name))
    men, scratch, random = men_of(layout), new_scratch(), Random(name)
    legal = 0
    while legal < 1000:
        slot, side = random.randrange(layout.size), random.randrange(2)
        rank = _moves_of(men, slot, side, scratch)
        board = board_at(layout, side, slot)
        if board is None:
            assert rank == -2
            continue
        kings = chess.square_distance(*chess.SquareSet(board.kings))
        assert (rank >= 0) == (not board.was_into_check() and kings > 1), board.fen()
        if rank >= 0:
            legal += 1
            assert rank == GScore.of_board(board).rank, board.fen()
            expected = sorted({(move.from_square, move.to_square) for move in board.legal_moves})
            assert moves_of(scratch, len(men.kinds)) == expected, board.fen()


def random_fresh(layout: Layout, random: np.random.Generator) -> tuple[NDArray[np.uint8], NDArray[np.uint16]]:
    """Values and depths that tell all slots apart."""
    shape = 2, layout.size
    value = random.integers(0, NONE, shape, np.uint8)
    return value, random.integers(0, 1 << 16, shape, np.uint16)


def lookup(board: chess.Board, tables: dict[Material, tuple[NDArray[np.uint8], NDArray[np.uint16]]]) -> int:
    """Fresh value and depth of a board in tables, packed as the kernels do, by python-chess and layout."""
    position = locate(board)
    swapped = position.shape.swapped
    value, depth = tables[position.shape.material]
    at = position.side, position.slot
    code = int(value[at])
    return (255 - code if swapped else code) + 256 * int(depth[at])


@pytest.mark.parametrize("name", ["KNNvK", "KPvKP", "KRvKB", "KNvKP", "KPPvK"])
def test_zeroing_moves_lead_where_the_layout_says(name: str) -> None:
    material = Material.parse(name)
    layout, random = layout_of(material), Random(name)
    men, scratch, numpy_random = men_of(layout), new_scratch(), np.random.default_rng(1)
    tables = {m: random_fresh(layout_of(m), numpy_random) for m in [*material.successors(), material]}
    resets = resets_of(layout, men, SubTables(layout, tables.__getitem__))
    checked = 0
    while checked < 250:
        slot, side = random.randrange(layout.size), random.randrange(2)
        if _moves_of(men, slot, side, scratch) < 2:
            continue
        board = board_at(layout, side, slot)
        assert board is not None
        origins = scratch.squares[: len(men.kinds)].tolist()
        for move in list(board.legal_moves):
            if board.is_zeroing(move):
                kind = chess.KING - move.promotion if move.promotion else 0
                man = origins.index(move.from_square)
                found = _reset(men, resets, *tables[material], side, man, move.to_square, kind, slot, scratch)
                board.push(move)
                assert found == lookup(board, tables), board.fen()
                board.pop()
                checked += 1
