"""The tablebase as a Python user meets it: FENs and boards, histories, directories, pools, conveniences."""

import pickle
import random
import re
import shutil
from pathlib import Path

import chess
import numpy as np
import pytest

import tbgen
from tbgen.board.material import Material
from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.errors import MissingTableError, UsageError
from tbgen.probe.tablebase import Tablebase, open_tablebase
from tbgen.probe.views import View
from tbgen.store.format import table_path
from tests.support.exhaustive import sample
from tests.support.random_boards import en_passant_board, random_board, random_moves

KINGS = "8/8/8/2K3k1/8/8/8/8 w - -"
KBK = "8/8/8/4KBk1/8/8/8/8 b - - 0 1"


def test_fens_are_as_good_as_boards(tablebase: Tablebase) -> None:
    rng = random.Random("fens")
    for name in ("KvK", "KRvKB", "KPvKP", "KNNvK"):
        for _ in range(5):
            board = random_board(rng, Material.parse(name))
            fen = board.fen()
            assert tablebase.probe(fen) == tablebase.probe(board) == tablebase.get(fen)
            assert tablebase.moves(fen) == tablebase.moves(board)
            assert tablebase.line(fen) == tablebase.line(board)
            assert tablebase.best_move(fen) == tablebase.best_move(board)
            assert list(tablebase.probe_many([fen, board])) == [tablebase.probe(board)] * 2
            assert list(tablebase.moves_many([fen, board])) == [tablebase.moves(board)] * 2


def test_what_the_seventh_field_tells(tablebase: Tablebase) -> None:
    """The seventh field counts as on the command line; an accrued score passed to the probe overrides it."""
    held = f"{KINGS} 3 60 -G5.5"
    for fen, given, accrued in (
        (f"{KINGS} 3 60", None, "-G8.5"),
        (held, None, "-G5.5"),
        (held, "G3.5", "G3.5"),
        (held, GScore("G9"), "-G8.5"),
        (held, tbgen.FRESH, "-G8.5"),
    ):
        result = tablebase.probe(fen, given)
        assert str(result.accrued) == accrued
        assert result == tablebase.probe(chess.Board(fen.rpartition(" -G")[0] or fen), accrued)
        assert list(tablebase.probe_many([fen], [given])) == [result]
    fresh = f"{KINGS} 0 60 -G5.5"
    with pytest.warns(UserWarning, match="seventh field -G5.5 does not count") as warned:
        assert str(tablebase.probe(fresh).accrued) == str(tbgen.Arbiter(fresh).accrued) == "-G8.5"
    assert {warning.filename for warning in warned} == {__file__}
    assert list(tablebase.probe_many([held], tbgen.FRESH)) == [tablebase.probe(held, tbgen.FRESH)]
    assert list(tablebase.moves_many([held], tbgen.FRESH)) == [tablebase.moves(held, tbgen.FRESH)]


def test_the_seventh_field_in_whole_games(whole_game_tables: Path) -> None:
    with open_tablebase(whole_game_tables, rules="wg") as tables:
        assert tables.rules is Variant.WHOLE_GAME
        for clock in (0, 3):
            assert str(tables.probe(f"{KINGS} {clock} 60 -G5.5").accrued) == "-G5.5"


@pytest.mark.parametrize("rules", ["r", "wg"])
def test_histories_count(rules: str, whole_game_tables: Path) -> None:
    """Random play, refereed by hand: the accrued score of a board is that of its moves so far."""
    rng = random.Random(rules)
    resets = kept = 0
    with open_tablebase(whole_game_tables, rules=rules) as tables:
        for number in range(sample(15, 150)):
            board = en_passant_board(rng) if number % 10 == 0 else random_board(rng, Material.parse("KRvKP"))
            board.clear_stack()
            if tables.get(board) is None or board.is_game_over():
                continue
            accrued = GScore.of_board(board)
            for move in random_moves(rng, board, rng.randrange(1, 25)):
                zeroing = board.is_zeroing(move)
                board.push(move)
                own = GScore.of_board(board)
                reset = zeroing and rules == "r"
                accrued = own if reset or own.rank < accrued.rank else accrued
                resets += reset
            played, bare = board.copy(), board.copy(stack=False)
            given = accrued if board.legal_moves else None
            result, fresh = tables.probe(board), tables.probe(bare)
            assert result.accrued == (given or GScore.of_board(board)), board.move_stack
            assert result == tables.get(board) == tables.probe(bare, given)
            assert tables.moves(board) == tables.moves(bare, given)
            assert tables.line(board) == tables.line(bare, given)
            assert list(tables.probe_many([board] * 2, [None, tbgen.FRESH])) == [result, fresh]
            assert tables.probe(board, tbgen.FRESH) == fresh
            assert tables.probe(board, given and "G1.0") == tables.probe(bare, given and "G1.0")
            assert (board, board.move_stack) == (played, played.move_stack)
            kept += accrued != GScore.of_board(board)
    assert kept > sample(2, 30)
    assert (resets > sample(2, 30)) == (rules == "r")


def test_a_history_that_is_no_play(tablebase: Tablebase) -> None:
    board = chess.Board(KBK)
    board.push(chess.Move.null())
    board.push_san("Bh3")
    for ask in (tablebase.probe, tablebase.get, tablebase.moves, tablebase.line):
        with pytest.raises(UsageError, match=r"clear them with board\.clear_stack\(\)"):
            ask(board)
        assert ask(board, tbgen.FRESH) == ask(board.copy(stack=False))
    (result,) = tablebase.probe_many([board])
    assert isinstance(result, UsageError)


def test_the_best_move(tablebase: Tablebase) -> None:
    board = chess.Board(KBK)
    while (move := tablebase.best_move(board)) and not board.is_repetition(2):
        assert move == tablebase.moves(board)[0].move
        board.push(move)
    assert str(tablebase.probe(board).accrued) == "G1.5"
    assert tablebase.best_move("7k/6Q1/6K1/8/8/8/8/8 b - - 0 1") is None


def test_the_points_of_a_result(tablebase: Tablebase) -> None:
    result = tablebase.probe(f"{KINGS} 0 1")
    assert (str(result.value), result.points) == ("-G8.5", tbgen.points("-G8.5"))
    assert result.points.black == 0.5 + 2.0**-18


def test_several_directories(reference_dir: Path, tmp_path: Path) -> None:
    """A table is read from the first directory that has it; it is missing only if no directory has it."""
    r = Variant.R_MOBILITY
    one, other = tmp_path / "one", tmp_path / "other"
    for directory, names in ((one, ["KvK"]), (other, ["KBvK", "KNvK"])):
        directory.mkdir()
        for name in names:
            shutil.copy(table_path(reference_dir, name, r), directory)
    shutil.copy(table_path(reference_dir, "KNvK", r), table_path(other, "KvK", r))  # never looked at
    with open_tablebase(one, str(other)) as tables, open_tablebase(reference_dir) as together:
        assert tables.directories == (one, other)
        assert tables.directory == one
        assert repr(tables) == f"<tablebase of {one} and {other}, rules r>"
        assert tables.materials == [Material.parse(name) for name in ("KvK", "KBvK", "KNvK")]
        near = "8/8/8/3K4/8/8/6k1/6B1 b - - 0 1"  # a capture leads to the other directory
        for fen in (KBK, f"{KINGS} 0 1", near, near.replace("B", "N")):
            assert tables.moves(fen, "G3.0") == together.moves(fen, "G3.0")
            assert tables.line(fen) == together.line(fen)
        with pytest.raises(MissingTableError) as caught:
            tables.probe("8/8/8/3K4/8/8/6k1/4Q3 b - - 0 1")
        assert str(caught.value) == (
            f"table KQvK is missing from {one} and {other}; build it with: tbgen build KQvK --dir {one}"
        )
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
        assert tables.get("8/8/8/3K4/8/8/6k1/4Q3 b - - 0 1") is None


def test_what_is_no_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.touch()
    nothing = tmp_path / "nothing"
    for given, name in ((path, f"{path} (it is a file)"), (nothing, nothing), ("", "with an empty name")):
        for directories in ((given,), (tmp_path, given)):
            with pytest.raises(UsageError, match=re.escape(f"no directory {name}: give those in which")):
                open_tablebase(*directories)
    for name in ("depths", "check", "castling"):
        with pytest.raises(TypeError, match=f"{name} cannot be str: expected True or False"):
            tbgen.open_tablebase(tmp_path, **{name: "no"})  # type: ignore[arg-type]
    for wrong, words in ((3.5, "float: expected paths"), ([tmp_path], "list: expected paths, one argument")):
        with pytest.raises(TypeError, match=f"a directory cannot be {words}"):
            open_tablebase(wrong)  # type: ignore[arg-type]
    monkeypatch.setenv("TBGEN_DIR", str(path))
    with pytest.raises(UsageError, match="there is no directory"):
        open_tablebase()
    with open_tablebase(tmp_path, check=np.True_) as tables:  # type: ignore[arg-type]
        assert tables.materials == []


def test_castling_rights_that_are_refused(tmp_path: Path) -> None:
    with open_tablebase(tmp_path, castling=False) as tables:
        for opened in (tables, pickle.loads(pickle.dumps(tables))):
            with pytest.raises(UsageError, match="has castling rights, and the tables were opened with"):
                opened.probe("4k3/8/8/8/8/8/8/4K2R w K - 0 1")
            for reader in (opened, opened.view("lasker"), opened.view("classical")):
                assert reader.get("4k3/8/8/8/8/8/8/4K2R w K - 0 1") is None


def test_the_size_of_the_cache(reference_dir: Path) -> None:
    with open_tablebase(reference_dir, cache_bytes=0) as small, open_tablebase(reference_dir) as large:
        for fen in (KBK, f"{KINGS} 0 1"):
            assert small.moves(fen) == large.moves(fen)
            assert small._library.cache.size == 0 < large._library.cache.size


def test_other_processes_get_the_tablebase(whole_game_tables: Path) -> None:
    """It is pickled with its rules and options."""
    rng = random.Random("pool")
    fens = [random_board(rng, Material.parse("KRvKB")).fen() for _ in range(40)] + [chess.STARTING_FEN]
    for rules in ("r", "wg"):
        with Tablebase(whole_game_tables, rules=rules, cache_bytes=1 << 20) as tablebase:
            expected = list(map(str, tablebase.probe_many(fens)))
            with pickle.loads(pickle.dumps(tablebase)) as copy:
                assert repr(copy) == repr(tablebase)
                assert list(map(str, copy.probe_many(fens))) == expected


def test_the_other_side_may_hold_the_position_rank(tablebase: Tablebase) -> None:
    """The example of docs/theory.md, section 1."""
    fen = "8/8/1B6/8/8/8/8/k1K5 b - - 9 60"
    own, other = tablebase.probe(fen), tablebase.probe(fen, "-G1.5")
    assert (str(own.position_score), str(own.value), own.depth) == ("G1.5", "G1.5", 0)
    assert (str(other.accrued), str(other.value), other.depth) == ("-G1.5", "G5.5", 20)


def test_views_and_tables_of_positions_pickle(tables: Path) -> None:
    with open_tablebase(tables) as tablebase:
        for view in View:
            shown = tablebase.view(view)
            copy = pickle.loads(pickle.dumps(shown))
            assert type(copy) is type(shown)
            assert (repr(copy), copy.probe(KBK)) == (repr(shown), shown.probe(KBK))
        table = tablebase.table("KBvK")
        copy = pickle.loads(pickle.dumps(table))
        some, same = (each.sample(20, 1) for each in (table, copy))
        assert [array.tolist() for array in same.arrays()] == [array.tolist() for array in some.arrays()]
        assert pickle.loads(pickle.dumps(some)).squares().tolist() == some.squares().tolist()
