"""The reference solver of cells: against tables, by its certificate, symmetry, exits worked out by hand."""

import random
import zlib
from collections.abc import Callable

import chess
import pytest

from tests.support.exhaustive import exhaustive, sample
from tests.support.random_cells import MOST_POSITIONS, random_cells
from tests.support.reference import ReferenceTable, solve
from tests.support.reference_cell import ENDS, Cell, End, Worth, certify, solve_cell
from tests.support.reference_game import Fresh, folded, score_of

WALLED = [
    ("8/8/8/8/8/1p2p2p/1P2P2P/1K1k4 b - - 0 1", "d1 b1"),
    ("8/8/5k2/8/8/1p6/1P1p4/1Kb5 w - - 0 1", "f6 b1 c1"),
    ("K4k2/1p1p2p1/1P1P2P1/8/4Pp2/8/8/8 b - e3 0 1", "f8 a8"),
]
LOCKED, LOCKED_MOBILE = WALLED[0]
SMALL_AND_LARGE = [WALLED[0], *exhaustive([WALLED[1]]), WALLED[2]]


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


def test_nothing_is_left_to_bounds_where_no_move_leaves() -> None:
    """Two kings behind walls, neither of which can reach a pawn: both games are the one."""
    cell = solve_cell(chess.Board("4k3/p2p2p1/P2P2P1/3K4/8/8/8/8 b - - 0 1"), squares("d5 e8"), unknown)
    assert cell.lower == cell.upper
    assert certify(cell) > 10_000


@pytest.mark.parametrize("worth", [unknown, made_up])
@pytest.mark.parametrize(("fen", "mobile"), SMALL_AND_LARGE)
def test_bounds_are_proved_and_in_order(fen: str, mobile: str, worth: Worth) -> None:
    cell = solve_cell(chess.Board(fen), squares(mobile), worth)
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


@pytest.mark.parametrize(("fen", "mobile"), SMALL_AND_LARGE)
def test_swapped_colours_and_mirrored_files(fen: str, mobile: str) -> None:
    board = chess.Board(fen)
    cell = solve_cell(board, squares(mobile), made_up)

    def swapped_worth(other: chess.Board, move: chess.Move, end: End, after: int) -> Fresh:
        back = chess.Move(move.from_square ^ 56, move.to_square ^ 56, move.promotion)
        code, depth = made_up(other.mirror(), back, "upper" if end == "lower" else "lower", 255 - after)
        return 255 - code, depth

    def mirrored_worth(other: chess.Board, move: chess.Move, end: End, after: int) -> Fresh:
        back = chess.Move(move.from_square ^ 7, move.to_square ^ 7, move.promotion)
        return made_up(other.transform(chess.flip_horizontal), back, end, after)

    swapped = solve_cell(board.mirror(), [square ^ 56 for square in squares(mobile)], swapped_worth)
    mirrored = solve_cell(
        board.transform(chess.flip_horizontal), [square ^ 7 for square in squares(mobile)], mirrored_worth
    )
    assert swapped.positions == mirrored.positions == cell.positions
    for each in cell.boards():
        lower, upper = (cell.fresh(each, end) for end in ENDS)
        other = each.mirror()
        assert swapped.fresh(other, "lower") == (255 - upper[0], upper[1])
        assert swapped.fresh(other, "upper") == (255 - lower[0], lower[1])
        other = each.transform(chess.flip_horizontal)
        assert (mirrored.fresh(other, "lower"), mirrored.fresh(other, "upper")) == (lower, upper)


def test_better_exits_never_lower_a_bound() -> None:
    def better(board: chess.Board, move: chess.Move, end: End, after: int) -> Fresh:
        code, depth = made_up(board, move, end, after)
        return (max(0, code - 20) if zlib.crc32(f"{move} {board.epd()}".encode()) % 2 else code), depth

    fen, mobile = WALLED[2]
    cell, other = (solve_cell(chess.Board(fen), squares(mobile), worth) for worth in (made_up, better))
    for end in ENDS:
        before, after = cell.games[end].values, other.games[end].values
        assert all(after[state][0] <= before[state][0] for state in before)
        assert after != before


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


@pytest.mark.parametrize("name", ["pawn", "empty square", "rook with rights", "king with rights"])
def test_men_that_cannot_be_mobile(name: str) -> None:
    square = {"pawn": "f7", "empty square": "c5", "rook with rights": "a1", "king with rights": "e1"}[name]
    with pytest.raises(ValueError, match="mobile"):
        solve_cell(chess.Board("7k/5p1p/5P1P/8/8/8/8/R3K3 w Q - 0 1"), squares(square), unknown)


def true_worth(tables: dict[str, ReferenceTable]) -> tuple[Worth, Callable[[chess.Board, int | None], Fresh]]:
    """Exits are worth what tables say."""

    def probe(board: chess.Board, accrued: int | None) -> Fresh:
        men = [str(board.piece_at(square)) for square in chess.SquareSet(board.occupied & ~board.kings)]
        return tables["".join(["K", *men, "vK"])].probe(board, accrued if any(board.legal_moves) else None)

    def worth(board: chess.Board, move: chess.Move, end: End, after: int) -> Fresh:
        child = board.copy(stack=False)
        child.push(move)
        return probe(child, after)

    return worth, probe


def agrees(cell: Cell, probe: Callable[[chess.Board, int | None], Fresh]) -> None:
    for board in cell.boards():
        assert cell.fresh(board, "lower") == cell.fresh(board, "upper") == probe(board, None), board.fen()
        for accrued in (2, 3, 6, 9, 245, 250, 253):
            assert cell.state(board, accrued, "lower") == probe(board, accrued), f"{board.fen()} {accrued}"


@pytest.mark.parametrize(
    ("names", "fen", "mobile"),
    [
        ("KvK", "8/8/8/8/3k4/8/8/K7 b - - 0 1", "d4"),
        ("KvK KNvK", "8/8/8/8/3k4/8/2N5/K7 b - - 0 1", "d4"),
        ("KvK KNvK", "8/8/8/3k4/8/8/2N5/K7 w - - 0 1", "c2"),
        ("KvK KNvK", "8/8/8/8/8/1k6/2N5/K7 b - - 0 1", "a1 c2"),
        ("KvK KRvK", "8/8/8/8/8/1R6/8/k2K4 w - - 0 1", "d1 a1"),
    ],
)
@pytest.mark.exhaustive
def test_with_true_exits_a_cell_says_what_the_table_says(names: str, fen: str, mobile: str) -> None:
    worth, probe = true_worth({name: solve(name) for name in names.split()})
    cell = solve_cell(chess.Board(fen), squares(mobile), worth)
    assert certify(cell)
    agrees(cell, probe)


def test_random_cells_are_small_and_proved() -> None:
    for number, (board, mobile) in enumerate(random_cells(random.Random(4), 8)):
        assert board.is_valid()
        assert 6 <= chess.popcount(board.occupied) <= 9
        assert {board.color_at(square) for square in mobile} == {chess.WHITE, chess.BLACK}
        if number < sample(1, 2):
            cell = solve_cell(board, mobile, made_up)
            assert 0 < cell.positions <= MOST_POSITIONS
            assert certify(cell)
