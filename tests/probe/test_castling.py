"""Positions with castling rights: every one of three men against the slow game, others ply by ply."""

import random
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import chess
import pytest

import tbgen
from tbgen.board.material import Material
from tbgen.board.mobility import mobility
from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.cells.frames import frame_of_cell
from tbgen.cells.routes import routes_of
from tbgen.errors import MissingTableError
from tbgen.probe.castling.homes import home_of, rights_left
from tbgen.probe.tablebase import Tablebase
from tests.support.exhaustive import exhaustive, sample
from tests.support.one_ply import by_probing, one_ply
from tests.support.packed_tables import PackedTables
from tests.support.reference_game import Exit, ExitOf, explore, folded, rank_of, score_of, solve_positions

pytestmark = pytest.mark.usefixtures("compiled")


def with_rights(men: str, rights: str, rng: random.Random) -> Iterator[chess.Board]:
    """Positions with a king and rooks that may castle by standard rules, and other men anywhere."""
    while True:
        board = chess.Board(None)
        for right in rights:
            colour, rank = right.isupper(), 0 if right.isupper() else 56
            board.set_piece_at(chess.E1 + rank, chess.Piece(chess.KING, colour))
            board.set_piece_at(rank + (7 if right in "Kk" else 0), chess.Piece(chess.ROOK, colour))
        for man in men:
            board.set_piece_at(
                rng.choice(list(chess.SquareSet(~board.occupied))), chess.Piece.from_symbol(man)
            )
        board.turn = rng.random() < 0.5
        board.set_castling_fen(rights)
        if not board.pawns & (chess.BB_RANK_1 | chess.BB_RANK_8) and not board.was_into_check():
            yield board


def exits_by(tables: Tablebase) -> ExitOf:
    """Whatever the king and rook with the right do, and every capture, leads to the tables."""

    def exit_of(board: chess.Board, move: chess.Move, child: chess.Board) -> Exit | None:
        zeroing = board.is_zeroing(move)
        if child.clean_castling_rights() and not zeroing:
            return None
        own = score_of(child)

        def worth(accrued: int) -> tuple[int, int]:
            held = own if zeroing else folded(accrued, own)
            found = tables.probe(child, None if rank_of(held) < 2 else GScore.from_code(held))
            assert found.depth is not None
            return found.value.code, found.depth

        return worth

    return exit_of


HOMES = [(chess.E1, chess.A1), (chess.E1, chess.H1)]
CHESS960 = [(chess.B1, chess.A1), (chess.G1, chess.H1), (chess.C1, chess.B1), (chess.F1, chess.G1)]
THREE_MEN = [(king, rook, colour) for king, rook in (*HOMES, *CHESS960) for colour in (False, True)]


@pytest.mark.parametrize(("king", "rook", "colour"), exhaustive(THREE_MEN))
def test_every_state_of_three_men(king: int, rook: int, colour: bool, three_men: Path) -> None:
    boards = []
    for other, turn in product(chess.SQUARES, chess.COLORS):
        board = chess.Board(None, chess960=True)
        flip = 0 if colour else 56
        board.set_piece_at(king ^ flip, chess.Piece(chess.KING, colour))
        board.set_piece_at(rook ^ flip, chess.Piece(chess.ROOK, colour))
        if board.piece_at(other):
            continue
        board.set_piece_at(other, chess.Piece(chess.KING, not colour))
        board.turn, board.castling_rights = turn, chess.BB_SQUARES[rook ^ flip]
        near = chess.square_distance(other, king ^ flip) == 1
        if not near and not board.was_into_check():
            boards.append(board)
    with tbgen.open_tablebase(three_men) as tables:
        game = solve_positions(explore(boards, exits_by(tables)))
        assert len(game.positions) == len(boards)
        assert any(
            move.to_square == rook ^ flip for board in boards for move in board.generate_castling_moves()
        )
        for board in boards:
            own = score_of(board)
            for rank, holder in product(range(2, rank_of(own) + 1), (True, False)):
                code = rank if holder else 255 - rank
                result = tables.probe(board, GScore.from_code(code))
                assert result.depth is not None
                assert (result.value.code, result.depth) == game.state(board, code), (board.fen(), code)
            found = tables.probe(board, tbgen.FRESH)
            assert (found.value.code, found.depth) == game.fresh(board), board.fen()


PLY_BY_PLY = ("k KQ", "kR K", "KP k", "kP K", " Qq", "K kq", "kr K", "kp Q", "Kq q")


@pytest.mark.parametrize("variant", Variant)
@pytest.mark.parametrize("men_and_rights", [" Kq", "kn Q", *exhaustive(PLY_BY_PLY)])
def test_four_men_ply_by_ply(
    men_and_rights: str, variant: Variant, tables: Path, whole_game_tables: Path
) -> None:
    """Value, depth and best move by the moves of python-chess, with random accrued scores."""
    rng, (men, rights) = random.Random(men_and_rights), men_and_rights.split(" ")
    with tbgen.open_tablebase(tables, rules=variant) as opened:
        look_up = by_probing(opened)
        for _, board in zip(range(sample(6, 25)), with_rights(men, rights, rng), strict=False):
            own = GScore.of_board(board)
            accrued = None
            if own.rank > 2 and rng.random() < 0.7:
                accrued = GScore(rng.randint(2, own.rank), rng.random() < 0.5)
            assert look_up(board, accrued) == one_ply(look_up, board, accrued, variant), board.fen()
            moves = opened.moves(board, accrued)
            assert {move.move for move in moves} == set(board.legal_moves)
            assert [move.san for move in moves] == [board.san(move.move) for move in moves]
            if moves:
                assert moves[0].value == look_up(board, accrued)[0]


@pytest.mark.parametrize("row", ["R5KR", "1RK4R", "R1K1R3", "2RK3R", "R3K2R"])
def test_castling_ends_all_rights(row: str) -> None:
    """Also where it leaves the king on his square, so that he and the other rook still stand there."""
    board = chess.Board(f"4k3/8/8/8/8/8/8/{row} w - - 0 1", chess960=True)
    board.castling_rights = board.rooks
    home = home_of(board)
    castled = [route for route in routes_of(frame_of_cell(home.cell, home.castlings)) if route.castled]
    assert [rights_left(home, route) for route in castled] == [(), ()]
    for move in board.generate_castling_moves():
        after = board.copy()
        after.push(move)
        assert not after.clean_castling_rights()


def test_castling_counts_as_a_move(three_men: Path) -> None:
    board = chess.Board("8/8/8/8/8/5k2/8/R3K3 w Q - 0 1")
    assert mobility(board)[0] == board.legal_moves.count() == 14
    with tbgen.open_tablebase(three_men) as tables:
        assert str(tables.probe(board).position_score) == "-G14.5"
        assert "O-O-O" in [move.san for move in tables.moves(board)]


def test_lines_and_batches(three_men: Path) -> None:
    fen = "8/8/8/8/8/4k3/8/4K2R w K - 0 1"
    with tbgen.open_tablebase(three_men) as tables:
        result = tables.probe(fen)
        line = tables.line(fen)
        assert len(line) == result.depth
        assert line[-1].accrued == result.value
        plain = fen.replace("K -", "- -")
        assert list(tables.probe_many([fen, plain])) == [result, tables.probe(plain)]


PACKED = (
    "kq Q",
    "kP K",
    "Kr k",
    "KN k",
    "k KQ",
    "kn K",
    "kQ K",
    " Kk",
    "KP q",
    "kr K",
    "kb Q",
    "kN K",
    "kp K",
    "Kp k",
)


@pytest.mark.parametrize("men_and_rights", ["k K", *exhaustive(PACKED)])
def test_packed_tables_say_the_same(men_and_rights: str, packed: PackedTables, tmp_path: Path) -> None:
    """Values with every accrued score, from functions of one side, and from runs of both."""
    men, rights = men_and_rights.split(" ")
    count = 2 if "p" in men.lower() else sample(12, 40)  # each place of a pawn has cells of its own
    boards = [
        board for _, board in zip(range(count), with_rights(men, rights, random.Random(men)), strict=False)
    ]
    path = packed(Material.of_board(boards[0])[0].name)
    (tmp_path / path.name).symlink_to(path)
    with (
        tbgen.open_tablebase(packed.plain) as plain,
        tbgen.open_tablebase(tmp_path, packed.plain) as tables,
    ):
        for board in boards:
            own = GScore.of_board(board)
            scores = [GScore(rank, white) for rank in range(2, own.rank + 1) for white in (True, False)]
            for accrued in [None, *scores] if own.rank > 1 else [None]:
                wanted, found = plain.probe(board, accrued), tables.probe(board, accrued)
                assert found.value == wanted.value, (board.fen(), accrued)
                assert found.depth in (wanted.depth, None)
        assert None in {tables.probe(board).depth for board in boards}


def test_a_missing_table_is_named(own: Path) -> None:
    with tbgen.open_tablebase(own) as tables, pytest.raises(MissingTableError, match="KRNvK"):
        tables.probe("4k3/8/8/8/8/8/8/1N2K2R w K - 0 1")


def test_five_men_without_their_table(tables: Path) -> None:
    """The table that is named is that of the position, whose sub-tables are built with it."""
    with tbgen.open_tablebase(tables) as opened, pytest.raises(MissingTableError, match="tbgen build KRPPvK"):
        opened.probe("4k3/8/8/8/8/8/PP6/4K2R w K - 0 1")
