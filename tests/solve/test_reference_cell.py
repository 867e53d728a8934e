"""The reference solver of cells: by its certificate, and by exits worked out by hand."""

import random
import zlib
from collections.abc import Callable

import chess
import pytest

from tests.support.exhaustive import exhaustive, sample
from tests.support.random_cells import MOST_POSITIONS, random_cells
from tests.support.reference_cell import ENDS, End, Worth, certify, solve_cell
from tests.support.reference_game import Fresh, folded, score_of

WALLED = [
    ("8/8/8/8/8/1p2p2p/1P2P2P/1K1k4 b - - 0 1", "d1 b1"),
    ("8/8/5k2/8/8/1p6/1P1p4/1Kb5 w - - 0 1", "f6 b1 c1"),
    ("K4k2/1p1p2p1/1P1P2P1/8/4Pp2/8/8/8 b - e3 0 1", "f8 a8"),
]
LOCKED, LOCKED_MOBILE = WALLED[0]


def squares(names: str) -> list[chess.Square]:
    return [chess.parse_square(name) for name in names.split()]


def unknown(board: chess.Board, move: chess.Move, end: End, after: int) -> Fresh:
    """Nothing is known of exits: the worst and the best there is."""
    return (255, 0) if end == "lower" else (0, 0)


def made_up(board: chess.Board, move: chess.Move, end: End, after: int) -> Fresh:
    """Bounds with no meaning, the same on each call, those of quiet exits other ones for each score."""
    number = zlib.crc32(f"{board.epd()} {move} {after}".encode())
    scores = (0, 1, 2, 3, 5, 7, 11, 13, 242, 244, 248, 250, 252, 253, 254, 255)
    codes = scores[number & 15], scores[number >> 4 & 15]
    return (max(codes) if end == "lower" else min(codes)), (number >> 8) % 60


@pytest.mark.parametrize(("fen", "mobile"), [WALLED[0], *exhaustive([WALLED[1]]), WALLED[2]])
def test_bounds_are_proved_and_in_order(fen: str, mobile: str) -> None:
    cell = solve_cell(chess.Board(fen), squares(mobile), made_up)
    assert cell.positions > 20
    assert certify(cell) > 4 * cell.positions
    lower, upper = (cell.games[end].values for end in ENDS)
    assert all(lower[state][0] >= upper[state][0] for state in lower)
    assert any(lower[state][0] > upper[state][0] for state in lower)


@pytest.mark.parametrize("asked", [lambda code: (code[0], code[1] + 1), lambda code: (code[0] ^ 1, code[1])])
def test_the_certificate_finds_a_wrong_entry(asked: Callable[[Fresh], Fresh]) -> None:
    cell = solve_cell(chess.Board(LOCKED), squares(LOCKED_MOBILE), made_up)
    values = cell.games["upper"].values
    for state in random.Random(1).sample(list(values), 5):
        right = values[state]
        values[state] = asked(right)
        with pytest.raises(AssertionError, match=r"\([abcd]\)"):
            certify(cell)
        values[state] = right
    del values[next(iter(values))]
    with pytest.raises(AssertionError, match="not every state"):
        certify(cell)


def only(moves: str, code: int) -> tuple[Worth, set[int]]:
    """Some exits are worth a code in three plies, all others the worst for the mover; and what was asked."""
    asked: set[int] = set()

    def worth(board: chess.Board, move: chess.Move, end: End, after: int) -> Fresh:
        if move.uci() not in moves.split():
            return 255 if board.turn else 0, 0
        child = board.copy()
        child.push(move)
        assert after == folded(after, score_of(child))  # its own score counts
        asked.add(after)
        return code, 3

    return worth, asked


@pytest.mark.parametrize(
    ("fen", "mobile", "move"),
    [
        ("7k/5p1p/5P1P/8/8/8/8/R3K3 w Q - 0 1", "h8", "e1c1"),
        ("7k/5p1p/5P1P/8/8/8/8/R3K3 w - - 0 1", "h8", "a1a7"),
    ],
)
def test_castling_and_moves_of_frozen_men_are_quiet_exits(fen: str, mobile: str, move: str) -> None:
    board = chess.Board(fen)
    worth, asked = only(move, 1)
    cell = solve_cell(board, squares(mobile), worth)
    assert cell.lower == (1, 4)
    child = board.copy()
    child.push_uci(move)
    own = score_of(child)
    assert own in asked
    assert len(asked) > 1
    assert certify(cell)


def test_an_accrued_score_is_carried_into_a_quiet_exit() -> None:
    """White can leave with what he has, or lose; there the lone reply makes G1.5 of greater ranks."""

    def worth(board: chess.Board, move: chess.Move, end: End, after: int) -> Fresh:
        return (after if board.turn and move.uci() == "a1a2" else 255 if board.turn else 0), 0

    board = chess.Board("7k/5p1p/5P1P/8/8/8/8/R3K3 w - - 0 1")
    for accrued, value in ((2, (2, 0)), (253, (253, 0)), (4, (3, 1)), (250, (3, 1))):
        cell = solve_cell(board, squares("h8"), worth, accrued)
        assert cell.lower == cell.upper == value


def test_who_has_only_exits_is_not_stalemated() -> None:
    board = chess.Board("8/8/8/8/8/1p2p2p/1P2P2P/K1k4n b - - 0 1")
    frozen = solve_cell(board, squares("a1"), unknown)
    assert frozen.positions == 1
    assert (frozen.lower, frozen.upper) == ((255, 1), (0, 1))


def test_random_cells_are_small_and_proved() -> None:
    for number, (board, mobile) in enumerate(random_cells(random.Random(4), 8)):
        assert board.is_valid()
        assert 6 <= chess.popcount(board.occupied) <= 9
        assert {board.color_at(square) for square in mobile} == {chess.WHITE, chess.BLACK}
        if number < sample(1, 2):
            cell = solve_cell(board, mobile, made_up)
            assert 0 < cell.positions <= MOST_POSITIONS
            assert certify(cell)
