"""The reference solver itself: against python-chess, published distributions, and its own certificate."""

import random
import zlib
from collections import Counter
from collections.abc import Callable

import chess
import numpy as np
import pytest

from tests.support.distributions import DISTRIBUTIONS, distribution, text
from tests.support.exhaustive import exhaustive
from tests.support.reference import ReferenceTable, solve, solve_arrays
from tests.support.reference_game import (
    Fresh,
    Game,
    certify_game,
    certify_state,
    key_of,
    king_placements,
    rank_of,
    solve_game,
)
from tests.support.reference_moves import all_moves

THREE_MEN = ["KNvK", "KBvK", "KRvK", "KQvK", "KPvK"]

KVK_SCORES = {"G1.5", "G2.5", "G3.5", "G4.5", "G5.5", "G8.5"}

LONGEST = {
    "KvK": {"G5.5": 14},
    "KNvK": {"G0.5": 27, "G1.5": 23, "G2.5": 11, "G3.5": 30, "G5.5": 40},
    "KBvK": {"G0.5": 17, "G1.5": 46},
    "KRvK": {"G0.0": 32},
    "KQvK": {"G0.0": 20},
    "KPvK": {"G0.0": 56, "G0.5": 42, "G3.5": 22},
}


def code(score: str) -> int:
    rank = int(2 * float(score.lstrip("-G")))
    return 255 - rank if score.startswith("-") else rank


def board_of(name: str, index: int) -> chess.Board:
    """The board at a position index of the reference."""
    squares = [int(part) for part in np.unravel_index(index, (2,) + (64,) * (len(name) - 1))]
    board = chess.Board(None)
    board.turn = squares[0] == 0
    for man, square in zip(["K", "k", *name[1:-2]], squares[1:], strict=True):
        board.set_piece_at(square, chess.Piece.from_symbol(man))
    return board


def walk(table: ReferenceTable, fen: str, line: str) -> list[tuple[str, str, int]]:
    """Accrued score, value and depth along a line without zeroing moves."""
    board = chess.Board(fen)
    side, squares = table.locate(board)
    accrued = int(table.score[table.index(side, squares)])
    seen = []
    for move in [None, *line.split()]:
        if move is not None:
            board.push_san(move)
            own = int(table.score[table.index(*table.locate(board))])
            accrued = own if rank_of(own) < rank_of(accrued) else accrued
        value, depth = table.probe(board, accrued if any(board.legal_moves) else None)
        seen.append((text(accrued), text(value), depth))
    return seen


@pytest.mark.parametrize("name", ["KvK", *THREE_MEN])
def test_moves_are_those_of_python_chess(name: str) -> None:
    moves = all_moves(name)
    size = len(moves.legal)
    chance = random.Random(name)
    legal = 0
    for index in range(size) if name == "KvK" else chance.sample(range(size), 800):
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
    assert legal > 200


def test_kvk_distribution_and_longest_depth() -> None:
    table = solve("KvK")
    assert distribution(table, 0) == DISTRIBUTIONS["KvK", 0]
    assert {255 - value: n for value, n in table.distribution(0).items()} == table.distribution(1)
    assert {text(value).lstrip("-") for value in table.distribution(0)} == KVK_SCORES
    assert table.longest()[code("G5.5")] == 14


def test_kvk_states_are_proved() -> None:
    table = solve("KvK")
    assert table.certify() == 177_408
    assert sum(int(layer.mask.sum()) for layer in table.layers()) == 177_408


def test_both_solvers_agree_on_every_state_of_kvk() -> None:
    boards, arrays = solve("KvK"), solve_arrays("KvK")
    assert np.array_equal(boards.score, arrays.score)
    assert np.array_equal(boards.value, arrays.value)
    assert np.array_equal(boards.depth, arrays.depth)
    for one, other in zip(boards.layers(), arrays.layers(), strict=True):
        assert one.accrued == other.accrued
        assert np.array_equal(one.mask, other.mask)
        assert np.array_equal(one.value, other.value)
        assert np.array_equal(one.depth, other.depth)


def test_kvk_wiki_lines() -> None:
    table = solve("KvK")
    assert walk(table, "8/8/8/2K3k1/8/8/8/8 w - - 0 1", "") == [("-G8.5", "-G8.5", 0)]
    assert walk(table, "8/8/8/2K3k1/8/8/8/8 w - - 0 1", "Kd5 Kf5")[-1] == ("-G5.5", "-G5.5", 0)
    assert walk(table, "8/6k1/8/4K3/8/8/8/8 b - - 0 1", "")[0][1:] == ("G5.5", 2)


@pytest.mark.parametrize("where", ["value", "depth", "state value", "state depth"])
def test_the_certificate_finds_a_wrong_entry(where: str) -> None:
    table = solve_arrays("KvK")
    nodes, values, depths = table.states[code("G2.5")]
    if where.startswith("state"):
        place = len(nodes) // 2
        (values if where == "state value" else depths)[place] += 1
    else:
        place = int(np.flatnonzero(table.legal)[1234])
        (table.value if where == "value" else table.depth)[place] += 1
    with pytest.raises(AssertionError, match="KvK"):
        table.certify()


def made_up(board: chess.Board) -> Fresh:
    """Values with no meaning for the positions after captures and pawn moves, the same on each call."""
    number = zlib.crc32(board.epd().encode())
    rank = (0, 1, 2, 3, 5, 7, 11, 13)[number % 8]
    return (rank if number & 8 else 255 - rank), (number >> 4) % 60


def solve_placement(fen: str, fresh_of: Callable[[chess.Board], Fresh]) -> Game:
    """All positions with the pawns of a FEN where they stand, both sides to move, its right included."""
    boards = list(king_placements(chess.Board(fen)))
    for turn in (chess.WHITE, chess.BLACK):
        plain = chess.Board(fen)
        plain.turn, plain.ep_square = turn, None
        boards += king_placements(plain)
    return solve_game(boards, fresh_of)


@pytest.fixture(scope="module")
def en_passant() -> Game:
    """A pawn placement with an en passant right; the positions after a reset have made-up values."""
    return solve_placement("8/8/8/3pP3/8/8/8/k1K5 w - d6 0 1", made_up)


@pytest.mark.exhaustive
def test_a_pawn_placement_with_en_passant_is_proved(en_passant: Game) -> None:
    rights = {key for key, position in en_passant.positions.items() if position.right}
    assert len(rights) > 2500
    assert certify_game(en_passant) == len(en_passant.values) > 150_000
    assert sum(key in rights for key, _ in en_passant.values) == len(rights)


def test_an_en_passant_capture_counts_in_the_score(en_passant: Game) -> None:
    board = chess.Board("8/8/8/3pP3/8/8/8/k1K5 w - d6 0 1")
    plain = chess.Board("8/8/8/3pP3/8/8/8/k1K5 w - - 0 1")
    with_right, without = (en_passant.positions[key_of(each)] for each in (board, plain))
    assert with_right.rank == without.rank + 2
    assert en_passant.state(board, code("G1.0")) == en_passant.fresh(board)


def test_a_right_without_a_legal_capture_is_none() -> None:
    pinned = chess.Board("8/8/8/K2pP2r/8/8/8/7k w - d6 0 1")
    assert key_of(pinned) == key_of(chess.Board("8/8/8/K2pP2r/8/8/8/7k w - - 0 1"))


def test_the_certificate_of_a_game_finds_a_wrong_entry(en_passant: Game) -> None:
    chance = random.Random(2)
    for state in chance.sample(list(en_passant.values), 2000):
        value, depth = en_passant.values[state]
        for wrong in ((value, depth + 1), (value - 1 if value > 128 else value + 1, depth)):
            en_passant.values[state] = wrong
            with pytest.raises(AssertionError, match=r"\([abcd]\)"):
                certify_state(en_passant, *state)
        en_passant.values[state] = value, depth


@pytest.mark.slow
@pytest.mark.parametrize("name", ["KNvK", *exhaustive(["KPvK", "KBvK", "KRvK", "KQvK"])])
def test_three_men_distributions_and_longest_depths(name: str) -> None:
    table = solve(name)
    for side in (0, 1):
        assert distribution(table, side) == DISTRIBUTIONS.get((name, side), distribution(table, side))
    longest = {text(value): depth for value, depth in table.longest().items()}
    assert LONGEST[name].items() <= longest.items()


@pytest.mark.slow
def test_kpvk_distribution_black_to_move() -> None:
    counts = {text(value): n for value, n in solve("KPvK").distribution(1).items()}
    known = {"G0.0": 97604, "G0.5": 18984, "G5.5": 27400, "-G8.5": 6986, "-G0.5": 14}
    assert known.items() <= counts.items()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "states"),
    [
        ("KPvK", 8_985_944),
        *exhaustive([("KNvK", 14_136_832), ("KBvK", 15_815_352), ("KRvK", 17_779_712), ("KQvK", 19_408_544)]),
    ],
)
def test_three_men_states_are_proved(name: str, states: int) -> None:
    assert solve(name).certify() == states


@pytest.mark.exhaustive
@pytest.mark.parametrize("pawn", [chess.B7, chess.G2])
def test_both_solvers_agree_on_a_pawn_placement(pawn: chess.Square) -> None:
    tables = {name: solve(name) for name in ("KPvK", "KQvK", "KRvK", "KBvK", "KNvK", "KvK")}

    def fresh_of(board: chess.Board) -> Fresh:
        extra = [str(board.piece_at(s)) for s in chess.SquareSet(board.occupied & ~board.kings)]
        return tables[f"K{''.join(extra)}vK"].probe(board)

    start = chess.Board("8/8/8/8/8/8/8/8 w - - 0 1")
    start.set_piece_at(pawn, chess.Piece(chess.PAWN, chess.WHITE))
    game = solve_placement(start.fen(), fresh_of)
    table = tables["KPvK"]
    for (key, accrued), found in game.values.items():
        board = game.positions[key].board
        ended = game.positions[key].rank < 2
        assert found == table.probe(board, None if ended else accrued), f"{board.fen()} {accrued}"
    assert len(game.positions) == int(table.legal[:, :, :, pawn].sum())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "fen", "line", "value", "depths"),
    [
        ("KBvK", "8/8/8/4KBk1/8/8/8/8 b - - 0 1", "Kh5 Kf4 Kh6 Kg4", "G1.5", [4, 3, 2, 1, 0]),
        (
            "KBvK",
            "6k1/8/5K2/5B2/8/8/8/8 b - - 0 1",
            "Kf8 Bd7 Kg8 Be6+ Kh7 Bf7 Kh8 Kg6",
            "G0.5",
            [8, 7, 6, 5, 4, 3, 2, 1, 0],
        ),
        ("KBvK", "8/8/8/8/8/8/8/2K1B1k1 w - - 0 1", "", "G0.5", [17]),
        ("KBvK", "8/8/8/8/8/2k5/8/K2B4 b - - 0 1", "", "G1.5", [46]),
        ("KNvK", "8/8/8/2kNK3/8/8/8/8 b - - 0 1", "", "G3.5", [0]),
        ("KPvK", "4k3/4P3/4K3/8/8/8/8/8 b - - 0 1", "", "G0.5", [0]),
    ],
)
def test_three_men_wiki_lines(name: str, fen: str, line: str, value: str, depths: list[int]) -> None:
    seen = walk(solve(name), fen, line)
    assert [step[1] for step in seen] == [value] * len(depths)
    assert [step[2] for step in seen] == depths


@pytest.mark.slow
def test_the_favoured_side_need_not_be_the_holder() -> None:
    board = chess.Board("8/8/5k1K/5P2/8/8/8/8 w - - 0 1")
    assert solve("KPvK").probe(board, code("-G2.5")) == (code("-G3.5"), 4)
