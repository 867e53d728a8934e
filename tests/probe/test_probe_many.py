"""Batches: the same answers as one by one, in order, whatever is wrong with some; and what they rest on."""

import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from itertools import cycle, islice
from pathlib import Path

import chess
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tbgen.board.fen import parse_fen
from tbgen.board.material import Material, all_materials
from tbgen.board.rules import mobility
from tbgen.board.san import sans_without_check_signs
from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.cli.main import main
from tbgen.errors import DamagedTableError, MissingTableError, TbgenError, UsageError, result_or_error
from tbgen.probe import tablebase as module
from tbgen.probe.states import ProbeResult
from tbgen.probe.tablebase import Tablebase, open_tablebase
from tbgen.store.dataset_file import ChunkedArray
from tbgen.store.format import table_path
from tests.support.exhaustive import exhaustive, sample
from tests.support.processes import start
from tests.support.random_boards import en_passant_board, random_board

KBK = "8/8/8/4KBk1/8/8/8/8 b - - 0 1"
BAD = (
    chess.Board(),
    chess.Board("8/8/8/3Kk3/8/8/8/8 w - - 0 1"),
    chess.Board("4k3/8/8/8/8/8/8/4K2R w K - 0 1"),
    chess.Board("8/8/8/3K4/8/8/8/8 w - - 0 1"),
    chess.Board("4k3/8/8/8/4P3/8/8/4K3 b - e6 0 1"),
    chess.Board("8/8/8/2K3k1/8/8/8/QR5B b - - 0 1"),  # no table of five men is there
)

Asked = tuple[list[chess.Board], list[GScore | str | None]]


def random_questions(seed: int, count: int, materials: list[Material], bad: float = 0.05) -> Asked:
    """Valid positions; unless told otherwise, with a share of bad ones and bad scores."""
    rng = random.Random(seed)
    boards = [
        rng.choice(BAD) if rng.random() < bad else random_board(rng, rng.choice(materials))
        for _ in range(count)
    ]
    scores: list[GScore | str | None] = [
        rng.choice([None, GScore(rng.randrange(2, 30), rng.random() < 0.5)]) for _ in boards
    ]
    for place in range(5, count if bad else 0, 31):
        scores[place] = rng.choice(["G3.5", "-G1.0", "G0.5", "nonsense"])
    return boards, scores


def alike(many: Iterable[object], ones: Iterable[object]) -> bool:
    """Whether results are equal, and errors have equal messages."""
    pairs = zip(many, ones, strict=True)
    return all(
        (type(x), str(x)) == (type(y), str(y)) if isinstance(y, TbgenError) else x == y for x, y in pairs
    )


def set_batches(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(module, "BATCH_SIZE", size)
    monkeypatch.setattr(module, "MOVES_BATCH_SIZE", size)


def test_many_are_as_one_by_one(tablebase: Tablebase, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers do not depend on the size of batches."""
    boards, scores = random_questions(1, sample(120, 6000), all_materials(4))
    rng = random.Random(1)
    boards[::10] = [en_passant_board(rng) for _ in boards[::10]]
    one = list(map(partial(result_or_error, tablebase.probe), boards, scores))
    assert alike(tablebase.probe_many(boards, scores), one)
    assert {type(result) for result in one} == {ProbeResult, UsageError, MissingTableError}
    moves = list(map(partial(result_or_error, tablebase.moves), boards[:60], scores))
    assert alike(tablebase.moves_many(boards[:60], scores[:60]), moves)
    assert [] in moves
    for size in (1, 2, 7, 1000):
        set_batches(monkeypatch, size)
        assert alike(tablebase.probe_many(boards[:60], scores[:60]), one[:60])
        assert alike(tablebase.moves_many(boards[:60], scores[:60]), moves)
    fresh = [board for board in boards if board.is_valid()]
    assert alike(tablebase.probe_many(fresh), map(partial(result_or_error, tablebase.probe), fresh))


def test_endless_iterables(tablebase: Tablebase, monkeypatch: pytest.MonkeyPatch) -> None:
    boards, scores = random_questions(5, 30, all_materials(3))
    once = list(tablebase.probe_many(boards, scores))
    set_batches(monkeypatch, 50)
    assert alike(list(islice(tablebase.probe_many(cycle(boards), cycle(scores)), 120)), once * 4)
    assert next(tablebase.probe_many(board for board in cycle(BAD)))
    assert list(tablebase.probe_many([])) == list(tablebase.moves_many(iter(()), ())) == []


def test_every_chunk_is_decoded_once(tables: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks are decoded once even if the cache has space for only a few."""
    boards, _ = random_questions(6, sample(800, 3000), list(map(Material.parse, ("KRvK", "KPvK"))), bad=0)
    decoded: Counter[object] = Counter()
    decode = ChunkedArray._decode

    def count(array: ChunkedArray, row: int, start: int) -> bytes:
        decoded[array.name, id(array), row, start] += 1
        return decode(array, row, start)

    with Tablebase(tables, cache_bytes=70_000) as few:
        for rooks in (False, True):
            assert few.probe(next(board for board in boards if bool(board.rooks) == rooks))
        monkeypatch.setattr(ChunkedArray, "_decode", count)
        results = list(few.probe_many(boards))
        assert len(decoded) > 30
        assert set(decoded.values()) == {1}
    with open_tablebase(tables) as others:
        assert results[::10] == list(map(others.probe, boards[::10]))


def test_missing_and_damaged_tables(reference_dir: Path, tmp_path: Path) -> None:
    path = table_path(reference_dir, "KBvK", Variant.R_MOBILITY)
    for name in ("KBvK", "KNvK"):
        shutil.copy(path, table_path(tmp_path, name, Variant.R_MOBILITY))
    men = ("3K1k2/8/8/8/8", "3K1k2/8/8/8/6B1", "3K1k2/8/8/8/6N1", "3K4/8/8/8/6bk")
    boards = [chess.Board(f"8/8/8/{placed} w - - 0 1") for placed in men]
    near = chess.Board("8/8/8/3K4/8/8/6k1/6B1 b - - 0 1")
    with open_tablebase(tmp_path) as tables:
        kinds = [type(result) for result in tables.probe_many(boards)]
        assert kinds == [MissingTableError, ProbeResult, DamagedTableError, ProbeResult]
        moves = list(tables.moves_many([near, *boards]))
        assert [isinstance(found, list) for found in moves] == [False, False, True, False, True]
        assert "tbgen build KvK" in str(moves[0])
        later = tables.probe_many(boards)
    with pytest.raises(ValueError, match="closed"):
        next(later)


def test_arguments_of_another_kind(tablebase: Tablebase) -> None:
    board = chess.Board(KBK)
    for method in (tablebase.probe_many, tablebase.moves_many):
        with pytest.raises(TypeError, match=r"the position cannot be bytes: expected a chess\.Board or a"):
            list(method([board, KBK.encode()]))  # type: ignore[list-item]
        for one_position in (board, KBK):
            with pytest.raises(TypeError, match="a single position was passed: pass an iterable"):
                method(one_position)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="the accrued score cannot be float"):
            list(method([board], [3.5]))  # type: ignore[list-item]
        for one in ("G3.5", GScore(7, True)):
            with pytest.raises(TypeError, match="a single accrued score was passed: pass"):
                method([board], one)  # type: ignore[arg-type]
        with pytest.raises(
            UsageError, match=r"more accrued scores than positions \(0\): give the same number"
        ):
            list(method([], [None]))


@pytest.mark.parametrize("count", [3, 12])
def test_results_come_before_an_error_of_the_iterables(count: int, tablebase: Tablebase) -> None:
    """Few positions are looked up one by one, many together."""
    texts, scores = [KBK] * (count + 1), [None] * count
    for many, one in ((tablebase.probe_many, tablebase.probe), (tablebase.moves_many, tablebase.moves)):
        results = many(texts, scores)
        assert list(islice(results, count)) == [one(KBK)] * count
        with pytest.raises(
            UsageError, match=rf"more positions than accrued scores \({count}\): give the same number of both"
        ):
            next(results)
        results = many([*texts, KBK.encode()])  # type: ignore[list-item]
        assert list(islice(results, count + 1)) == [one(KBK)] * (count + 1)
        with pytest.raises(TypeError, match="the position cannot be bytes"):
            next(results)


def test_mobility_is_that_of_python_chess() -> None:
    """Positions of up to five men, with pins, double checks, promotions and en passant."""
    rng, checks = random.Random(7), Counter[int]()
    materials, count = all_materials(5), sample(200, 20_000)
    boards = [random_board(rng, rng.choice(materials)) for _ in range(count)]
    for board in (*boards, *(en_passant_board(rng) for _ in range(20))):
        assert mobility(board) == (board.legal_moves.count(), board.is_check()), board.fen()
        checks[board.checkers().mask.bit_count()] += 1
    assert min(checks[0], checks[1], checks[2]) > 0


def test_notation_is_that_of_python_chess() -> None:
    """Only three like men can need both file and rank in the notation."""
    rng, longest, promoted = random.Random(8), 0, False
    names = ["KQQQvK", "KNNNvK", "KRRRvK", "KBBBvK", "KNNvK", "KRRvK", "KPPvK", "KPvKP", "KQPvK"]
    boards = [random_board(rng, Material.parse(rng.choice(names))) for _ in range(sample(150, 1600))]
    for board in (chess.Board("8/8/8/7k/8/Q7/8/Q1Q4K w - - 0 1"), *boards):
        moves = list(board.legal_moves)
        written = sans_without_check_signs(board, moves)
        assert written == [board.san(move).rstrip("+#") for move in moves], board.fen()
        longest = max(longest, *map(len, written), 0)
        promoted |= any(move.promotion for move in moves)
    assert (longest, promoted) == (len("Qa1b2"), True)


ROW = "(8|kK6|3P4|1q2R1b1|NBn1r1pQ|71|P~7|9|7||x7|\u00b27|08|k8)"
REST = "( (--?|x)( (-|e3|a6|h8|e9)( (0|17|007)( (0|1|999999999))?)?)?)?"
FEN = f"({ROW}(/{ROW}){{6,8}}|8/8/8/2K3k1/8/8/8/8) [wbW]{REST}"


@settings(max_examples=sample(60, 500))
@given(st.from_regex(re.compile(FEN, re.ASCII), fullmatch=True))
def test_fens_are_read_as_python_chess_does(text: str) -> None:
    try:
        expected = chess.Board(text)
    except ValueError:
        with pytest.raises(UsageError):
            parse_fen(text)
    else:
        assert vars(parse_fen(text).board) == vars(expected)


Ask = Callable[..., list[str]]


@pytest.fixture
def ask(
    tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Ask:
    """Lines given to the command, and its own lines."""

    def ask(given: bytes, *words: str) -> list[str]:
        (tmp_path / "given").write_bytes(given)
        with (tmp_path / "given").open() as stream, monkeypatch.context() as patch:
            patch.setattr(sys, "stdin", stream)
            main(["probe", "-", "--dir", str(tables), *words])
        return capsys.readouterr().out.splitlines()

    return ask


def test_lines_are_answered_as_one_by_one(ask: Ask, tables: Path, capsys: pytest.CaptureFixture[str]) -> None:
    boards, scores = random_questions(9, sample(14, 40), all_materials(4), bad=0.2)
    pairs = zip(boards, scores, strict=True)
    texts = [f"{board.fen().replace(' 0 1', ' 4 1')} {score or ''}" for board, score in pairs]
    seen = Counter[object]()
    for option in ([], ["--no-moves"], ["--line"]):
        lines = ask("\n".join(texts).encode(), *option)
        for text, line in zip(texts, lines, strict=True):
            code = main(["probe", "--json", "--dir", str(tables), *option, text])
            output = capsys.readouterr()
            document = json.loads(line)
            seen[code] += 1
            if code:
                sentence = output.err.removeprefix("tbgen: ").rstrip("\n")
                kind = {2: "bad_input", 3: "missing_table"}[code]
                assert document == {"fen": text, "error": sentence, "code": kind}
            else:
                assert document == json.loads(output.out)
                assert list(document) == list(json.loads(output.out))
                wanted = "--no-moves" not in option, "--line" in option
                assert ("moves" in document, "line" in document) == wanted
    assert seen[0] > seen[2] > 0


def test_more_lines_than_a_batch(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tbgen.cli.probe.MOVES_BATCH_SIZE", 20)
    boards, _ = random_questions(10, 50, all_materials(3), bad=0)
    texts = [board.fen() for board in boards]
    lines = ask("\n".join(texts * 2).encode())
    assert [json.loads(line)["fen"] for line in lines] == texts * 2
    assert lines == lines[:50] * 2


@pytest.mark.parametrize("option", [[], *exhaustive([["--no-moves"], ["--line"]])])
def test_who_waits_for_an_answer_gets_it(option: list[str], tables: Path) -> None:
    command = [sys.executable, "-m", "tbgen", "probe", "-", "--dir", str(tables), *option]
    reading, writing = os.pipe()
    with start(command, stdin=reading, stdout=subprocess.PIPE) as process:
        os.close(reading)
        assert process.stdout
        for sent, answered in (
            (f"{KBK}\n", [KBK]),
            (f"{KBK}\njunk\n\n{KBK[:9]}", [KBK, "junk"]),  # the rest of a line comes later
            (f"{KBK[9:]}\n", [KBK]),
            (KBK, []),
        ):
            os.write(writing, sent.encode())
            assert [json.loads(process.stdout.readline())["fen"] for _ in answered] == answered
        os.close(writing)
        assert json.loads(process.stdout.read())["fen"] == KBK
