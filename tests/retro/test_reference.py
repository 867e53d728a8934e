"""The reference solver itself: against python-chess, the package's tables, and a solver on boards."""

import random
import zlib
from collections import Counter

import chess
import numpy as np
import pytest

from tbgen.board.material import all_materials
from tbgen.board.variant import Variant
from tests.support.digests import digest_of, right_digests
from tests.support.exhaustive import exhaustive, sample
from tests.support.reference import solve_whole_game
from tests.support.reference_game import (
    Exit,
    Game,
    certify_game,
    explore,
    key_of,
    placements,
    solve_positions,
)
from tests.support.reference_moves import DESCRIBED, all_moves
from tests.support.reference_table import reference_table, whole_game_table
from tests.support.solved_tables import solved

THREE_MEN = [material.name for material in all_materials(3)][1:]
R, WHOLE_GAME = Variant.R_MOBILITY, Variant.WHOLE_GAME


def board_of(name: str, index: int) -> chess.Board:
    """The board at a position index of the reference."""
    squares = [int(part) for part in np.unravel_index(index, (2,) + (64,) * (len(name) - 1))]
    board = chess.Board(None)
    board.turn = squares[0] == 0
    for man, square in zip(["K", "k", *name[1:-2]], squares[1:], strict=True):
        board.set_piece_at(square, chess.Piece.from_symbol(man))
    return board


@pytest.mark.parametrize("name", ["KvK", "KPvK", *exhaustive(name for name in THREE_MEN if name != "KPvK")])
def test_moves_are_those_of_python_chess(name: str) -> None:
    moves = all_moves(name)
    legal = 0
    for index in random.Random(name).sample(range(len(moves.legal)), sample(150, 800)):
        board = board_of(name, index)
        men_apart = chess.popcount(board.occupied) == len(name) - 1
        if not men_apart or board.pawns & chess.BB_BACKRANKS or board.was_into_check():
            assert not moves.legal[index]
            continue
        assert moves.legal[index], board.fen()
        legal += 1
        assert moves.check[index] == board.is_check()
        expected: Counter[tuple[str, bool]] = Counter()
        for move in board.legal_moves:
            zeroing = board.is_zeroing(move)
            board.push(move)
            expected[f"{board.board_fen()} {board.turn}", zeroing] += 1
            board.pop()
        found: Counter[tuple[str, bool]] = Counter()
        first, last = np.searchsorted(moves.source, [index, index + 1])
        for row in range(first, last):
            child = board_of(moves.names[moves.table[row]], int(moves.target[row]))
            found[f"{child.board_fen()} {child.turn}", bool(moves.zeroing[row])] += 1
        assert found == expected, board.fen()
    assert legal > 50


@pytest.mark.parametrize(
    ("name", "variant"),
    [
        *[("KvK", R), ("KvK", WHOLE_GAME)],
        *exhaustive((name, variant) for name in THREE_MEN for variant in Variant),
        *exhaustive((f"K{man}vK", R) for man in DESCRIBED),
    ],
)
def test_its_tables_are_those_of_the_package(name: str, variant: Variant) -> None:
    reference = (reference_table if variant.layered else whole_game_table)(name)
    table = solved(name, variant=variant)
    for array in ("value", "depth", "run_mask", "run_rank", "run_value", "run_depth"):
        right, found = getattr(reference, array), getattr(table, array)
        assert right.shape == found.shape, array
        assert np.argwhere(right != found)[:5].tolist() == [], array
    assert digest_of(reference) == right_digests(variant)[name]


@pytest.mark.parametrize("name", ["KvK", *exhaustive(["KNvK", "KBvK", "KPvK"])])
def test_one_value_serves_every_accrued_score_of_a_whole_game(name: str) -> None:
    """Each accrued score is solved on its own: W counts if its rank is smaller than that of A."""
    solution, states = solve_whole_game(name), 0
    for layer in solution.layers():
        mask, rank = layer.mask.ravel(), min(layer.accrued, 255 - layer.accrued)
        fresh = np.minimum(solution.value, 255 - solution.value) < rank
        assert (layer.value.ravel() == np.where(fresh, solution.value, layer.accrued))[mask].all()
        assert (layer.depth.ravel() == np.where(fresh, solution.depth, 0))[mask].all()
        states += int(mask.sum())
    assert states > 10_000


# With python-chess and dictionaries


PASSING = chess.Board("8/8/8/3pP3/8/8/8/k1K5 w - d6 0 1")
HOME = chess.BB_RANK_1 | chess.BB_RANK_2


def made_up(board: chess.Board, move: chess.Move, after: chess.Board) -> Exit | None:
    """Captures, pawn moves and steps of kings beyond the second rank lead to values with no meaning."""
    if not board.is_zeroing(move) and not after.kings & ~HOME:
        return None
    number = zlib.crc32(after.epd().encode())
    rank = (0, 1, 2, 3, 5, 7, 11, 13)[number % 8]
    worth = (rank if number & 8 else 255 - rank), (number >> 4) % 60
    return lambda accrued: worth


@pytest.fixture(scope="module")
def en_passant() -> Game:
    """A pawn placement with an en passant right, the kings on two ranks."""
    boards = (board for board in placements(PASSING.fen()) if not board.kings & ~HOME)
    return solve_positions(explore(boards, made_up))


def test_a_pawn_placement_with_en_passant_is_proved(en_passant: Game) -> None:
    rights = {key for key, position in en_passant.positions.items() if position.right}
    assert len(rights) > 100
    assert certify_game(en_passant) == len(en_passant.values) > 5000
    assert sum(key in rights for key, _ in en_passant.values) == len(rights)


def test_an_en_passant_capture_counts_in_the_score(en_passant: Game) -> None:
    plain = chess.Board("8/8/8/3pP3/8/8/8/k1K5 w - - 0 1")
    with_right, without = (en_passant.positions[key_of(each)] for each in (PASSING, plain))
    assert with_right.rank == without.rank + 2
    assert en_passant.state(PASSING, 2) == en_passant.fresh(PASSING)
    pinned = chess.Board("8/8/8/K2pP2r/8/8/8/7k w - d6 0 1")
    assert key_of(pinned) == key_of(chess.Board("8/8/8/K2pP2r/8/8/8/7k w - - 0 1"))
