"""Positions with castling rights: every one of three men against the slow game, others ply by ply."""

import random
from collections.abc import Iterator
from pathlib import Path

import chess
import pytest

import tbgen
from tbgen.board.material import Material
from tbgen.board.rules import mobility
from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.cells.frames import frame_of_cell
from tbgen.cells.routes import routes_of
from tbgen.errors import MissingTableError
from tbgen.probe.castling import castling_cell_of, remaining_rights
from tests.support.exhaustive import exhaustive, sample
from tests.support.one_ply import by_probing, one_ply
from tests.support.packed_tables import PackedTables

pytestmark = pytest.mark.usefixtures("compiled")


def with_rights(men: str, rights: str, rng: random.Random, home: str = "eah") -> Iterator[chess.Board]:
    """Positions with a king and rooks that may castle, and other men anywhere.

    :param home: the files of the king, of the rook on his left, and of that on his right.
    """
    king, long, short = map(chess.FILE_NAMES.index, home)
    while True:
        board = chess.Board(None, chess960=home != "eah")
        for right in rights:
            colour, rank = right.isupper(), 0 if right.isupper() else 56
            board.set_piece_at(rank + king, chess.Piece(chess.KING, colour))
            board.set_piece_at(rank + (short if right in "Kk" else long), chess.Piece(chess.ROOK, colour))
        for man in men:
            board.set_piece_at(
                rng.choice(list(chess.SquareSet(~board.occupied))), chess.Piece.from_symbol(man)
            )
        board.turn = rng.random() < 0.5
        board.set_castling_fen(rights)
        if not board.pawns & (chess.BB_RANK_1 | chess.BB_RANK_8) and not board.was_into_check():
            yield board


PLY_BY_PLY = ("k Q gbh", "k KQ cbh", "k KQ", "kR K", "KP k", "kP K", " Qq", "K kq", "kr K", "kp Q", "Kq q")


@pytest.mark.parametrize("variant", Variant)
@pytest.mark.parametrize("men_and_rights", [" Kq", "kn Q", "k K fag", "K q bah", *exhaustive(PLY_BY_PLY)])
def test_four_men_ply_by_ply(
    men_and_rights: str, variant: Variant, tables: Path, whole_game_tables: Path
) -> None:
    """Value, depth and best move by the moves of python-chess, with random accrued scores.

    In Chess960 too: the third word has the files of the king and the rooks.
    """
    rng, (men, *rights) = random.Random(men_and_rights), men_and_rights.split(" ")
    with tbgen.open_tablebase(tables, rules=variant) as opened:
        look_up = by_probing(opened)
        for _, board in zip(
            range(sample(6, 25)), with_rights(men, rights[0], rng, *rights[1:]), strict=False
        ):
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
    """Castling ends all rights even if the king stays on his square and the other rook has not moved."""
    board = chess.Board(f"4k3/8/8/8/8/8/8/{row} w - - 0 1", chess960=True)
    board.castling_rights = board.rooks
    start = castling_cell_of(board)
    castled = [route for route in routes_of(frame_of_cell(start.cell, start.castlings)) if route.is_castling]
    assert [remaining_rights(start, route) for route in castled] == [(), ()]
    for move in board.generate_castling_moves():
        after = board.copy()
        after.push(move)
        assert not after.clean_castling_rights()


def test_castling_counts_as_a_move() -> None:
    board = chess.Board("8/8/8/8/8/5k2/8/R3K3 w Q - 0 1")
    assert mobility(board)[0] == board.legal_moves.count() == 14
    assert str(GScore.of_board(board)) == "-G14.5"


def test_lines_and_batches(three_men: Path) -> None:
    fen = "8/8/8/8/8/4k3/8/4K2R w K - 0 1"
    with tbgen.open_tablebase(three_men) as tables:
        result = tables.probe(fen)
        line = tables.line(fen)
        assert len(line) == result.depth
        assert line[-1].accrued == result.value
        plain = fen.replace("K -", "- -")
        assert list(tables.probe_many([fen, plain])) == [result, tables.probe(plain)]


@pytest.mark.parametrize("men_and_rights", ["k K", "KN k", *exhaustive(["kP K", "k KQ", "Kp k", " Kk"])])
def test_packed_tables_say_the_same(men_and_rights: str, packed: PackedTables, tmp_path: Path) -> None:
    """Values with every accrued score, from functions of one side, and from runs of both."""
    men, rights = men_and_rights.split(" ")
    count = 2 if "p" in men.lower() else sample(5, 40)  # each place of a pawn has cells of its own
    boards = [
        board for _, board in zip(range(count), with_rights(men, rights, random.Random(men)), strict=False)
    ]
    path = packed(Material.of_board(boards[0])[0].name)
    (tmp_path / path.name).symlink_to(path)
    with tbgen.open_tablebase(packed.plain) as plain, tbgen.open_tablebase(tmp_path, packed.plain) as tables:
        for board in boards:
            own = GScore.of_board(board)
            scores = [GScore(rank, white) for rank in range(2, own.rank + 1) for white in (True, False)]
            for accrued in [None, *scores] if own.rank > 1 else [None]:
                wanted, found = plain.probe(board, accrued), tables.probe(board, accrued)
                assert found.value == wanted.value, (board.fen(), accrued)
                assert found.depth in (wanted.depth, None)
        assert None in {tables.probe(board).depth for board in boards}


def test_missing_tables(own: Path) -> None:
    """The error names the table of the position, because a build of it includes its sub-tables."""
    with tbgen.open_tablebase(own) as tables:
        for fen, name in (
            ("4k3/8/8/8/8/8/8/1N2K2R w K - 0 1", "KRNvK"),
            ("4k3/8/8/8/8/8/PP6/4K2R w K - 0 1", "KRPPvK"),
        ):
            with pytest.raises(MissingTableError, match=f"tbgen build {name}"):
                tables.probe(fen)
