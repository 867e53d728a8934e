"""Probing: values of all states, folding, moves, lines, refusals, faults and threads."""

import dataclasses
import inspect
import math
import os
import pickle
import pydoc
import random
import re
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any

import chess
import chess.variant
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tbgen
from tbgen.beyond.budget import Budget
from tbgen.board.fen import parse_fen
from tbgen.board.material import Material
from tbgen.board.score import GScore, Signed, fold, merit, signed_of, to_gscore, to_signed
from tbgen.board.variant import Variant
from tbgen.errors import ClosedError, DamagedTableError, MissingTableError, TbgenError, UsageError
from tbgen.index.position import locate, validate
from tbgen.probe.moves import LinePly, RankedMove
from tbgen.probe.states import ProbeResult
from tbgen.probe.tablebase import Tablebase, open_tablebase
from tbgen.store.format import table_path
from tests.support.damage import edit, replaced
from tests.support.depths import known
from tests.support.exhaustive import exhaustive, sample
from tests.support.paths import rows
from tests.support.random_boards import random_board
from tests.support.reference import solve
from tests.support.reference_game import rank_of
from tests.support.refusals import refusal

R = Variant.R_MOBILITY
NAMES = ("KvK", "KBvK", "KNvK")
BISHOP = "8/8/8/3K1k2/8/8/8/6B1 w - - 0 1"
KINGS = "8/8/8/3K1k2/8/8/8/8 w"


@pytest.fixture(scope="module")
def tables(reference_dir: Path) -> Iterator[Tablebase]:
    """The tables of KvK, KBvK and KNvK."""
    with open_tablebase(reference_dir) as tables:
        yield tables


@pytest.mark.parametrize("name", ["KvK", *exhaustive(["KBvK", "KNvK"])])
def test_every_kind_of_state(name: str, tables: Tablebase) -> None:
    """Fresh and accrued, both colourings, against the reference."""
    solution, rng = solve(name), random.Random(name)
    legal, letters = np.flatnonzero(solution.moves.legal), "Kk" + name[1:-2]
    for number in legal[:: 25 if name == "KvK" else 2000].tolist():
        side, *squares = (int(part) for part in np.unravel_index(number, solution.shape))
        board = chess.Board(None)
        board.turn = side == 0
        for letter, square in zip(letters, squares, strict=True):
            board.set_piece_at(square, chess.Piece.from_symbol(letter))
        own = int(solution.score[number])
        accrued = [code for rank in range(2, rank_of(own) + 3) for code in (rank, 255 - rank)]
        for code in [None, *(rng.sample(accrued, min(5, len(accrued))) if rank_of(own) > 1 else [])]:
            given_score = None if code is None else GScore.from_code(code)
            result = tables.probe(board, given_score)
            expected = solution.probe(board, code)
            assert (result.value.code, result.depth) == expected, (board.fen(), str(given_score))
            assert result.position_score.code == own
            swapped = tables.probe(board.mirror(), None if given_score is None else -given_score)
            assert (-swapped.value, swapped.depth) == (result.value, result.depth)
            assert (-swapped.accrued, -swapped.position_score) == (result.accrued, result.position_score)


def test_moves_and_lines_follow_from_the_values(tables: Tablebase) -> None:
    rng = random.Random("moves")
    for number in range(sample(15, 180)):
        board = random_board(rng, Material.parse(NAMES[number % 3]))
        for accrued in (None, GScore(rng.randrange(2, 17), rng.random() < 0.5)):
            result = tables.probe(board, accrued)
            moves = tables.moves(board, accrued)
            assert {ranked.move for ranked in moves} == set(board.legal_moves)
            assert [ranked.move for ranked in moves] == best_first(moves, board.turn, result.accrued)
            for ranked in moves:
                check_move(tables, board, result, ranked)
            if moves:
                assert moves[0].value == result.value
            check_line(tables, board, result, tables.line(board, accrued))


def best_first(moves: list[RankedMove], white: bool, accrued: GScore) -> list[chess.Move]:
    """The moves in the order of the issue, by comparing G-scores alone."""
    by_uci = sorted(moves, key=lambda ranked: ranked.uci)
    for value in {ranked.value for ranked in moves}:
        better = value > accrued if white else value < accrued
        same = sorted(
            (r for r in by_uci if r.value == value), key=lambda r: known(r.depth), reverse=not better
        )
        if value != accrued:
            by_uci = [same.pop(0) if r.value == value else r for r in by_uci]
    return [ranked.move for ranked in sorted(by_uci, key=lambda r: r.value, reverse=white)]


def check_move(tables: Tablebase, board: chess.Board, result: ProbeResult, ranked: RankedMove) -> None:
    """A move has the value and depth of the state it leads to."""
    assert ranked.san == board.san(ranked.move)
    assert ranked.zeroing == board.is_zeroing(ranked.move)
    after = board.copy()
    after.push(ranked.move)
    reached = tables.probe(after, None if ranked.zeroing else result.accrued)
    assert (ranked.value, ranked.depth) == (reached.value, reached.depth)
    assert (ranked.position_score, ranked.accrued) == (GScore.of_board(after), reached.accrued)


def check_line(tables: Tablebase, board: chess.Board, result: ProbeResult, line: list[LinePly]) -> None:
    """A line follows the best moves, keeps the value, and ends where the accrued score is the value."""
    assert len(line) == result.depth
    board = board.copy()
    accrued = result.accrued
    for left, ply in zip(range(len(line) - 1, -1, -1), line, strict=True):
        assert ply.move == tables.moves(board, accrued)[0].move
        assert (ply.san, ply.depth) == (board.san(ply.move), left)
        zeroing = board.is_zeroing(ply.move)
        board.push(ply.move)
        reached = tables.probe(board, None if zeroing else accrued)
        assert (reached.value, reached.depth, reached.accrued) == (result.value, left, ply.accrued)
        accrued = ply.accrued
    assert accrued == result.value


def test_refused_positions(tables: Tablebase) -> None:
    def probe(fen: str) -> None:
        parsed = parse_fen(fen)
        tables.probe(parsed.board, parsed.accrued)

    for fen, sentence in rows("refused_positions.txt", " -> "):
        assert sentence in refusal(probe, fen), fen
    for fen in (
        "R3k2R/8/8/8/8/8/8/4K3 b - - 0 1",  # two rooks give check at once
        "4k3/8/8/8/4P3/8/8/4K3 b - e3 0 1",  # a double step that nobody can capture
        "4k3/8/8/8/3pP3/8/8/4K3 b - - 0 1",
        "8/8/8/8/3kP3/8/8/4K3 b - e3",
        "8/8/8/8/3kP3/8/8/4K3 b",
    ):  # no game gives them, and they are valid
        validate(parse_fen(fen).board)
    with pytest.raises(UsageError, match="not of atomic"):
        tables.probe(chess.variant.AtomicBoard(f"{KINGS} - - 0 1"))


def test_folding(tables: Tablebase) -> None:
    board = chess.Board(f"{KINGS} - - 0 1")  # -G5.5 itself
    for given_score, folded in (
        ("G26.5", "-G5.5"),
        ("-G218.0", "-G5.5"),
        ("G5.5", "G5.5"),  # on equal rank the first holder keeps it
        (GScore.parse("G1.5"), "G1.5"),
        (None, "-G5.5"),
    ):
        result = tables.probe(board, given_score)
        assert (str(result.accrued), str(result.position_score)) == (folded, "-G5.5")
    for bad in ("G0.0", "-G0.5", "G1.7", "5.5"):
        with pytest.raises(UsageError):
            tables.probe(board, bad)


def test_arguments_of_another_kind(tables: Tablebase) -> None:
    for ask in (tables.probe, tables.get, tables.moves, tables.line, tables.best_move):
        with pytest.raises(TypeError, match="the accrued score cannot be float: expected a G-score, text"):
            ask(chess.Board(BISHOP), 3.5)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=r"the position cannot be bytes: expected a chess\.Board or a"):
            ask(BISHOP.encode())  # type: ignore[arg-type]


def test_mate_and_stalemate_are_what_they_are(tables: Tablebase) -> None:
    for fen, value in (
        ("8/8/8/8/8/1k1b4/8/K7 w", "-G0.5"),
        ("7k/6Q1/6K1/8/8/8/8/8 b", "G0.0"),  # its table is not there
    ):
        board = parse_fen(fen).board
        result = tables.probe(board, "G1.5")
        assert (str(result.value), result.depth, str(result.accrued)) == (value, 0, value)
        assert tables.moves(board) == tables.line(board) == []


def test_missing_tables(tmp_path: Path, reference_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    board = chess.Board(BISHOP)
    with open_tablebase(tmp_path) as tables:
        assert tables.get(board) is None
        with pytest.raises(MissingTableError, match=f"tbgen build KBvK --dir {tmp_path}") as caught:
            tables.probe(board.mirror())
        assert isinstance(caught.value, KeyError)
        assert (caught.value.material, caught.value.exit_code) == ("KBvK", 3)
        # A table that only some of the moves need.
        shutil.copy(table_path(reference_dir, "KBvK", R), tmp_path)
        near = chess.Board("8/8/8/3K4/8/8/6k1/6B1 b - - 0 1")
        assert tables.probe(near)
        with pytest.raises(MissingTableError, match="tbgen build KvK "):
            tables.moves(near)
        assert tables.get(chess.Board()) is None
        for bad in ("nonsense", "G0.5"):
            with pytest.raises(UsageError):
                tables.get(board, bad)
    monkeypatch.setenv("TBGEN_DIR", str(tmp_path))
    with tbgen.open_tablebase() as tables:
        assert tables.get(board) == tables.probe(board)
    monkeypatch.delenv("TBGEN_DIR")
    monkeypatch.chdir(tmp_path)
    looked_for = r"^table KBvK is missing from .*data \(no such directory\); build it with: tbgen build KBvK$"
    with tbgen.open_tablebase() as tables, pytest.raises(MissingTableError, match=looked_for):
        tables.probe(board)


def test_a_damaged_table(tmp_path: Path, reference_dir: Path) -> None:
    os.truncate(shutil.copy(table_path(reference_dir, "KBvK", R), tmp_path), 3000)
    with open_tablebase(tmp_path) as tables, pytest.raises(DamagedTableError, match="truncated"):
        tables.get(BISHOP)


def test_a_rewritten_table_is_noticed_if_it_is_checked(own: Path) -> None:
    """Its checksums are valid again, but its digest is not; the other tables are read as before."""
    edit(own / "KBvK.r.h5", replaced("value", lambda values: np.where(values == 3, 5, values)))
    with open_tablebase(own) as tables:
        assert isinstance(tables.probe(BISHOP), ProbeResult)
    with pickle.loads(pickle.dumps(Tablebase(own, check=True))) as checked:
        assert isinstance(checked.probe(KINGS), ProbeResult)
        with pytest.raises(DamagedTableError, match="its value does not match its digest"):
            checked.probe(BISHOP)


def test_other_arguments_get_a_sentence(own: Path) -> None:
    wrong: Any = 3
    text: Any = "e4"
    odd: Any = np.True_
    odd_turn = chess.Board(KINGS)
    odd_turn.turn = odd
    with open_tablebase(own) as tables, open_tablebase(own, rules="wg") as whole_game:
        table, game = tables.table("KBvK"), tbgen.Arbiter()
        assert tables.table_file("KBvK").info.material == "KBvK"
        assert table.count(depth=range(10**12)) == table.count()
        assert tbgen.solve(KINGS, tables=tables, mobile=np.array([0, 16])).depth == 0
        for call, error, words in (
            (lambda: GScore.from_code(127), UsageError, "127 is not the code of a G-score"),
            (lambda: Variant("x"), UsageError, "there are no rules 'x'"),
            (lambda: tbgen.Arbiter(cutoff=wrong), UsageError, "'3' is not a cutoff"),
            (lambda: game.push(wrong), TypeError, "the move cannot be int: expected a chess.Move"),
            (lambda: game.push_uci(wrong), TypeError, "the move cannot be int: expected text"),
            (lambda: Variant(wrong), TypeError, "the rules cannot be int: expected their name"),
            (lambda: tables.view(wrong), TypeError, "a view cannot be int: expected its name"),
            (lambda: open_tablebase(own, cache_bytes=-1), UsageError, "number of bytes is -1: expected 0"),
            (lambda: tables.probe(odd_turn), TypeError, "the side to move cannot be np.True_: expected"),
            (lambda: tbgen.solve(KINGS, tables=own / "no"), UsageError, "there is no directory"),
            (
                lambda: tbgen.solve(KINGS, tables=whole_game),
                UsageError,
                "are for the rules wg, but positions",
            ),
            (lambda: tbgen.solve(KINGS, mobile=[text]), TypeError, "square of a mobile man cannot be str"),
            (lambda: tbgen.solve(KINGS, mobile=[99]), UsageError, "mobile man is 99: expected 0 to 63"),
            *(
                (lambda name=name: tbgen.solve(KINGS, **{name: text}), TypeError, f"{name} cannot be str")
                for name in ("kept", "sources", "known", "progress", "verify", "line")
            ),
            (
                lambda: tbgen.solve(KINGS, mobile=text),
                UsageError,
                "'e4' names no mobile men: expected squares",
            ),
            (lambda: Budget(threads=0), UsageError, "the number of threads is 0: expected 1 or more"),
            (lambda: Budget(cells=text), TypeError, "the number of cells cannot be str: expected a whole"),
            (lambda: Budget(seconds=math.nan), UsageError, "the seconds are nan: expected 0 or more"),
            (lambda: Budget(seconds=text), TypeError, "the seconds cannot be str: expected a number"),
            (lambda: Budget(suffice=wrong), TypeError, "suffice cannot be int: expected a function"),
            (lambda: tbgen.solve(KINGS, budget=wrong), TypeError, "the budget cannot be int"),
            (lambda: tbgen.solve(KINGS, mobile=wrong), TypeError, "the mobile men cannot be int"),
            (lambda: tbgen.solve(KINGS, syzygy=wrong), TypeError, "syzygy cannot be int"),
            (lambda: tbgen.Arbiter(bare_kings=wrong), TypeError, "bare_kings cannot be int"),
            (lambda: tbgen.adjudicate(KINGS, wrong), TypeError, "the tables cannot be int"),
            (lambda: table.positions(value="G0.5")[wrong], TypeError, "the index selects no array"),
        ):
            with pytest.raises(error, match=words):
                call()


def test_a_closed_tablebase(own: Path) -> None:
    board = chess.Board(BISHOP)
    open_files = len(os.listdir("/proc/self/fd"))
    with open_tablebase(own) as tables:
        tables.probe(board)
        assert len(os.listdir("/proc/self/fd")) == open_files + 1
    assert len(os.listdir("/proc/self/fd")) == open_files
    assert issubclass(ClosedError, ValueError)
    with pytest.raises(ClosedError, match="the tablebase is closed: open it again"):
        tables.probe(board)
    with pytest.raises(UsageError, match="rules"):
        open_tablebase(own, rules="x")


def test_threads_and_bounded_files(own: Path, tables: Tablebase) -> None:
    """Many threads, one file open at a time, a cache of a few chunks."""
    rng = random.Random(0)
    boards = [random_board(rng, Material.parse(rng.choice(NAMES))) for _ in range(80)]
    expected = list(map(tables.probe, boards))
    before = len(os.listdir("/proc/self/fd"))
    with Tablebase(own, max_open_files=1, cache_bytes=50_000) as bounded, ThreadPoolExecutor(8) as pool:
        assert list(pool.map(bounded.probe, boards)) == expected
        assert len(os.listdir("/proc/self/fd")) <= before + 1


@settings(max_examples=sample(30, 100))
@given(st.text(max_size=40) | st.from_regex(r"[pnbrqkPNBRQK1-8/]{1,30} [wb] (-|K|Kq) (-|e3) \d+ 1( G\d\.5)?"))
def test_no_text_gives_another_error(text: str) -> None:
    try:
        fen = parse_fen(text)
        validate(fen.board)
        locate(fen.board)
    except TbgenError as error:
        assert error.exit_code == 2  # noqa: PT017
        assert "\n" not in str(error)  # noqa: PT017


@settings(max_examples=50)
@given(
    st.builds(GScore, st.integers(0, 400), st.booleans()),
    st.builds(GScore, st.integers(0, 400), st.booleans()),
)
def test_signed_scores(one: GScore, other: GScore) -> None:
    first, second = to_signed(one), to_signed(other)
    assert to_gscore(first) == one
    assert to_gscore(Signed(~first)) == -one
    assert (merit(first, True) > merit(second, True)) == (one > other)
    assert merit(first, False) == -merit(first, True)
    assert to_gscore(fold(first, second)) == (other if other.rank < one.rank else one)
    if one.rank < 127:
        assert signed_of(one.code) == first
        assert first & 255 == one.code


def test_help_is_complete() -> None:
    """Every public name is in the tutorial or described after it, and so is every public field."""
    assert tbgen.__version__
    assert set(tbgen.__all__) == {name for name in dir(tbgen) if name == "__version__" or name[:2] != "__"}
    text = pydoc.plain(pydoc.render_doc(tbgen))
    tutorial, described = text.split("PACKAGE CONTENTS")[0], text.split("\nCLASSES\n")[1].split("\nDATA\n")[0]
    for name in set(tbgen.__all__) - {"__version__"}:
        assert re.search(rf"\b{name}\b", tutorial + described), name
        public = getattr(tbgen, name)
        assert pydoc.getdoc(public) or public is tbgen.FRESH
        fields = set(getattr(public, "_fields", ()))
        if dataclasses.is_dataclass(public) and name not in ("GScore", "Material"):
            fields = {field.name for field in dataclasses.fields(public) if field.name[0] != "_"}
        assert not fields or set(re.findall(r":ivar (\w+): ", pydoc.getdoc(public))) == fields, name
    assert inspect.signature(tbgen.solve) == inspect.signature(import_module("tbgen.beyond.solver").solve)
    with pytest.raises(AttributeError, match="nonsense"):
        getattr(tbgen, "nonsense")  # noqa: B009
    with pytest.raises(ValueError, match="WRITEABLE"):
        tbgen.SCORE_NAMES.setflags(write=True)
    shares = tbgen.points_by_code("harmonic")  # as SCORE_NAMES
    assert shares[[2, 253, 0]] == pytest.approx([2 / 3, 1 / 3, 1.0])
    assert np.isnan(shares[127])
    source = Path(tbgen.__file__).read_text()
    assert {*re.findall(r" as (\w+)$", source, re.MULTILINE), "__version__"} == set(tbgen.__all__)
    assert "\ndef __getattr__" not in source, "type checkers would accept any name"
