"""Who can force mate by Syzygy files; ``tests/data/syzygy`` has those of three men, made by rtbgen.

``tests/test_published.py`` compares the files of four men that python-chess has in its source distribution.
"""

import pickle
import random
import shutil
import struct
from pathlib import Path
from unittest.mock import Mock

import chess
import chess.syzygy
import pytest

import tbgen
from tbgen.board.material import all_materials
from tbgen.board.score import GScore
from tbgen.errors import DamagedTableError, TbgenError, UsageError
from tbgen.probe.syzygy import Syzygy, Winner
from tests.support.exhaustive import sample
from tests.support.paths import SYZYGY_FILES
from tests.support.random_boards import random_board


def test_who_forces_mate_in_tables(three_men: Path, syzygy: Syzygy) -> None:
    """With any accrued score; G1.0 of either side is the best that can accrue."""
    rng = random.Random("mates")
    with tbgen.open_tablebase(three_men) as known:
        for number in range(sample(200, 1000)):
            board = random_board(rng, all_materials(3)[1 + number % 5])
            bounds = syzygy.winner(board).bounds
            for accrued in (tbgen.FRESH, GScore("G1.0"), GScore("-G1.0")):
                value = known.probe(board, accrued).value
                assert bounds.lower <= value <= bounds.upper
                assert bounds.exact == (value.rank == 0)


def test_what_files_tell(syzygy: Syzygy) -> None:
    for fen, winner, missing in (
        ("8/8/8/3k4/8/8/8/KQ6 b - - 0 1", Winner.WHITE, ""),
        ("8/8/8/3K4/8/8/8/kq6 b - - 0 1", Winner.BLACK, ""),
        ("8/8/8/4k3/8/4K3/4P3/8 w - - 0 1", Winner.NOBODY, ""),
        ("8/8/8/3k4/8/8/8/K7 b - - 0 1", Winner.NOBODY, ""),
        ("8/8/8/3k4/8/5p2/8/KR6 b - - 0 1", Winner.UNKNOWN, "KRvKP.rtbw"),
        ("4k3/8/8/8/8/8/8/4K2R w K - 0 1", Winner.UNKNOWN, ""),
        ("8/k7/3p4/p2P1p2/P2P1P2/8/8/K7 w - - 3 30", Winner.UNKNOWN, ""),
    ):
        board = chess.Board(fen)
        assert (syzygy.winner(board), syzygy.missing_file(board)) == (winner, missing)
        assert board.fen() == fen


def test_a_cursed_win_is_a_win(syzygy: Syzygy, monkeypatch: pytest.MonkeyPatch) -> None:
    """No file of fewer than five men has a cursed win, so the answer of the files is mocked."""
    for wdl, mover in ((2, "G0.0"), (1, "G0.0"), (-1, "-G0.0"), (-2, "-G0.0")):
        monkeypatch.setattr(syzygy._files, "get_wdl", Mock(return_value=wdl))
        for turn, score in ((chess.WHITE, GScore(mover)), (chess.BLACK, -GScore(mover))):
            board = chess.Board("8/8/8/3k4/8/8/8/KQ6 w - - 0 1")
            board.turn = turn
            bounds = syzygy.winner(board).bounds
            assert (bounds.exact, bounds.lower) == (True, score)


def test_files_of_several_directories(tmp_path: Path, syzygy: Syzygy) -> None:
    for name, directory in (("KQvK", "queen"), ("KRvK", "rook")):
        (tmp_path / directory).mkdir()
        shutil.copy(SYZYGY_FILES / f"{name}.rtbw", tmp_path / directory)
    (tmp_path / "dtz").mkdir()
    with Syzygy(tmp_path / "queen", tmp_path / "rook", tmp_path / "dtz") as both:
        assert (len(both), len(syzygy)) == (2, 5)
        for files in (both, pickle.loads(pickle.dumps(both))):
            found = [files.winner(chess.Board(f"8/8/8/3k4/8/8/8/K{man}6 b - - 0 1")) for man in "QRB"]
            assert found == [Winner.WHITE, Winner.WHITE, Winner.UNKNOWN]
        assert both.has_material("KvKR")
        assert not both.has_material("KBvK")


def test_no_files(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is no directory: give the one with Syzygy files"):
        Syzygy(SYZYGY_FILES, tmp_path / "nowhere")
    with pytest.raises(UsageError, match="there are no Syzygy files"):
        Syzygy(tmp_path)


def test_a_truncated_file(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    shutil.copytree(SYZYGY_FILES, tmp_path / "files")
    path = tmp_path / "files" / "KRvK.rtbw"
    whole = path.read_bytes()
    empty = chess.SquareSet(~(chess.BB_RANK_1 | chess.BB_FILE_A | chess.BB_FILE_B))
    boards = [chess.Board("8/8/8/8/8/8/8/KR6 b - - 0 1") for _ in empty]
    for square, board in zip(empty, boards, strict=True):
        board.set_piece_at(square, chess.Piece(chess.KING, chess.BLACK))
    for length in (0, 3, 60, 80, 144, 150):
        path.write_bytes(whole[:length])
        with (
            Syzygy(path.parent) as damaged,
            pytest.raises(DamagedTableError, match=r"files/KRvK\.rtbw: this"),
        ):
            list(map(damaged.winner, boards))
        with Syzygy(path.parent, SYZYGY_FILES) as both, Syzygy(SYZYGY_FILES) as sound:
            assert list(map(both.winner, boards)) == list(map(sound.winner, boards))
            assert "KRvK.rtbw is used" in caplog.records[-1].getMessage()
    shutil.copytree(path.parent, tmp_path / "more")
    with (
        Syzygy(path.parent, tmp_path / "more") as damaged,
        pytest.raises(DamagedTableError, match=r"and .*more/K"),
    ):
        list(map(damaged.winner, boards))


def test_what_damage_does_to_python_chess(syzygy: Syzygy, monkeypatch: pytest.MonkeyPatch) -> None:
    """With damaged files python-chess returns an invalid number or raises one of several errors."""
    for said in (AssertionError(), RecursionError(), IndexError(), struct.error(), OSError(), 3, -4):
        monkeypatch.setattr(chess.syzygy.WdlTable, "probe_wdl_table", Mock(side_effect=[said]))
        with pytest.raises(DamagedTableError, match="published checksums"):
            syzygy.winner(chess.Board("8/8/8/3k4/8/8/8/KR6 b - - 0 1"))


def test_a_directory_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    denied = Mock(side_effect=PermissionError(13, "Permission denied", str(tmp_path)))
    monkeypatch.setattr("chess.syzygy.Tablebase.add_directory", denied)
    with pytest.raises(TbgenError, match=r"cannot read the directory .*: Permission denied"):
        Syzygy(tmp_path)
