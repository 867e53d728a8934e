"""Batches: the same answers as one by one, in order, whatever is wrong with some; and what they rest on."""

import json
import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path

import chess
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tbgen.board.fen import parse_fen
from tbgen.board.material import Material, all_materials
from tbgen.board.mobility import mobility
from tbgen.board.san import sans_without_check
from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.cli.main import main
from tbgen.errors import DamagedTableError, MissingTableError, TbgenError, UsageError
from tbgen.index.position import validate
from tbgen.probe.batch import MOVES_BATCH, moves_many, probe_many, questions
from tbgen.probe.moves import RankedMove
from tbgen.probe.states import ProbeResult
from tbgen.probe.tablebase import Tablebase, open_tablebase
from tbgen.store.chunks import ChunkedArray
from tbgen.store.format import table_path
from tests.support.exhaustive import exhaustive, sample
from tests.support.processes import start

KBK = "8/8/8/4KBk1/8/8/8/8 b - - 0 1"
BAD = (
    chess.Board(),
    chess.Board("8/8/8/3Kk3/8/8/8/8 w - - 0 1"),
    chess.Board("4k3/8/8/8/8/8/8/4K2R w K - 0 1"),
    chess.Board("8/8/8/3K4/8/8/8/8 w - - 0 1"),
    chess.Board("4k3/8/8/8/4P3/8/8/4K3 b - e6 0 1"),
    chess.Board("8/8/8/2K3k1/8/8/8/QR5B b - - 0 1"),  # no table of five men is there
)

KPVKP = Material.parse("KPvKP")

Asked = tuple[list[chess.Board], list[GScore | str | None]]


@pytest.fixture(scope="module")
def tablebase(tables: Path) -> Iterator[Tablebase]:
    """All tables of up to four men."""
    with open_tablebase(tables) as tablebase:
        yield tablebase


def random_board(rng: random.Random, material: Material) -> chess.Board:
    """A valid position of the material in either colouring; if a pawn can just have passed, it has."""
    men = material.white + material.black.lower()
    men = men.swapcase() if rng.random() < 0.5 else men
    while True:
        board = chess.Board(None)
        board.turn = rng.random() < 0.5
        for letter, square in zip(men, rng.sample(range(64), len(men)), strict=True):
            board.set_piece_at(square, chess.Piece.from_symbol(letter))
        rank, up = (4, 8) if board.turn else (3, -8)
        passed = [q + up for q in chess.scan_forward(board.pawns & chess.BB_RANKS[rank])]
        for board.ep_square in (*passed, None):
            try:
                validate(board)
            except UsageError:
                continue
            return board


def en_passant_board(rng: random.Random) -> chess.Board:
    """A valid position of KPvKP with two pawns side by side, one of which has just passed."""
    while True:
        board = random_board(rng, KPVKP)
        if board.ep_square is not None and board.has_pseudo_legal_en_passant():
            return board


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


def alike(many: object, one: object) -> bool:
    if isinstance(one, TbgenError):
        return type(many) is type(one) and str(many) == str(one)
    return many == one


def probed(tables: Tablebase, board: chess.Board, accrued: GScore | str | None) -> ProbeResult | TbgenError:
    try:
        return tables.probe(board, accrued)
    except TbgenError as error:
        return error


def moves_of(
    tables: Tablebase, board: chess.Board, accrued: GScore | str | None
) -> list[RankedMove] | TbgenError:
    try:
        return tables.moves(board, accrued)
    except TbgenError as error:
        return error


def test_many_are_as_one_by_one(tablebase: Tablebase) -> None:
    boards, scores = random_questions(1, sample(1500, 6000), all_materials(4))
    rng = random.Random(1)
    boards[::50] = [en_passant_board(rng) for _ in boards[::50]]
    assert sum(board.has_legal_en_passant() for board in boards) > 20
    one = [probed(tablebase, *question) for question in zip(boards, scores, strict=True)]
    many = list(tablebase.probe_many(boards, scores))
    assert len(many) == len(one)
    assert all(map(alike, many, one))
    assert {type(result) for result in many} == {ProbeResult, UsageError, MissingTableError}


def test_fresh_ones_of_one_table(tablebase: Tablebase) -> None:
    for name in ("KQvKR", "KPvKP", "KRPvK"):
        boards, _ = random_questions(2, sample(300, 1000), [Material.parse(name)], bad=0)
        assert list(tablebase.probe_many(boards)) == [tablebase.probe(board) for board in boards]


def test_moves_of_many(tablebase: Tablebase) -> None:
    boards, scores = random_questions(3, sample(150, 400), all_materials(4))
    one = [moves_of(tablebase, *question) for question in zip(boards, scores, strict=True)]
    many = list(tablebase.moves_many(boards, scores))
    assert len(many) == len(one)
    assert all(map(alike, many, one))
    assert [] in many


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_the_size_of_batches_changes_nothing(size: int, tablebase: Tablebase) -> None:
    boards, scores = random_questions(4, 100, all_materials(3))
    many = list(probe_many(tablebase._values, questions(boards, scores), size))
    assert all(map(alike, many, tablebase.probe_many(boards, scores)))
    assert len(many) == 100
    moves = list(moves_many(tablebase._values, questions(boards, scores), size))
    assert all(map(alike, moves, tablebase.moves_many(boards, scores)))
    assert len(moves) == 100


def test_endless_iterables(tablebase: Tablebase) -> None:
    boards, scores = random_questions(5, 30, all_materials(3))
    asked = questions(cycle(boards), cycle(scores))
    many = list(islice(probe_many(tablebase._values, asked, 50), 120))
    assert all(map(alike, many, list(tablebase.probe_many(boards, scores)) * 4))
    assert next(probe_many(tablebase._values, questions((board for board in cycle(BAD)), None), 50))
    assert list(tablebase.probe_many([])) == list(tablebase.moves_many(iter(()), ())) == []


def test_every_chunk_is_decoded_once(tables: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though the cache holds no more than a few."""
    boards, _ = random_questions(6, 3000, [Material.parse("KRvK"), Material.parse("KPvK")], bad=0)
    decoded: Counter[object] = Counter()
    decode = ChunkedArray._decode

    def count(array: ChunkedArray, row: int, start: int) -> bytes:
        decoded[array.name, id(array), row, start] += 1
        return decode(array, row, start)

    with Tablebase(tables, cache_bytes=70_000) as few:
        first = [
            few.probe(boards[0]),
            few.probe(next(b for b in boards if bool(b.rooks) != bool(boards[0].rooks))),
        ]
        assert all(first)
        monkeypatch.setattr(ChunkedArray, "_decode", count)
        results = list(few.probe_many(boards))
        assert len(decoded) > 30
        assert set(decoded.values()) == {1}
    with open_tablebase(tables) as others:
        assert results == [others.probe(board) for board in boards]


def test_missing_and_damaged_tables(reference_dir: Path, tmp_path: Path) -> None:
    shutil.copy(table_path(reference_dir, "KBvK", Variant.R_MOBILITY), tmp_path)
    shutil.copy(
        table_path(reference_dir, "KBvK", Variant.R_MOBILITY),
        table_path(tmp_path, "KNvK", Variant.R_MOBILITY),
    )
    fens = (
        "8/8/8/3K1k2/8/8/8/8 w",
        "8/8/8/3K1k2/8/8/8/6B1 w",
        "8/8/8/3K1k2/8/8/8/6N1 w",
        "8/8/8/3K4/8/8/8/6bk w",
    )
    boards = [chess.Board(f"{fen} - - 0 1") for fen in fens]
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
        with pytest.raises(TypeError, match=r"the position is a bytes: expected a chess\.Board or a FEN"):
            list(method([board, KBK.encode()]))  # type: ignore[list-item]
        for one_position in (board, KBK):
            with pytest.raises(TypeError, match="one position in the place of many"):
                method(one_position)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="the accrued score is a float"):
            list(method([board], [3.5]))  # type: ignore[list-item]
        for one in ("G3.5", GScore(7, True)):
            with pytest.raises(TypeError, match="one accrued score for many positions"):
                method([board], one)  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="more positions than accrued scores, which are 1: give as many"):
            list(method([board, board], [None]))
        with pytest.raises(UsageError, match="more accrued scores than positions, which are 0: give as many"):
            list(method([], [None]))


def test_mobility_and_notation_are_those_of_python_chess(tablebase: Tablebase) -> None:
    """Up to five men, pins, checks from two men, promotions and en passant among them."""
    rng = random.Random(7)
    materials = all_materials(5)
    checks: Counter[int] = Counter()
    for _ in range(sample(6000, 20_000)):
        board = random_board(rng, rng.choice(materials))
        assert mobility(board) == (board.legal_moves.count(), board.is_check()), board.fen()
        checks[board.checkers().mask.bit_count()] += 1
    assert min(checks[0], checks[1], checks[2]) > 20
    for _ in range(50):
        board = en_passant_board(rng)
        assert mobility(board) == (board.legal_moves.count(), board.is_check()), board.fen()
    wide = [Material.parse(name) for name in ("KQQvK", "KNNvK", "KRRvK", "KBBvK", "KPPvK", "KPvKP", "KQPvK")]
    promoted = 0
    for _ in range(sample(250, 1000)):
        board = random_board(rng, rng.choice(wide))
        moves = tablebase.moves(board)
        assert [move.san for move in moves] == [board.san(move.move) for move in moves], board.fen()
        promoted += any(move.move.promotion for move in moves)
    assert promoted


def test_notation_of_three_alike() -> None:
    """It takes three for a notation with file and rank, and tables with so many men are not there."""
    rng = random.Random(8)
    longest = 0
    for _ in range(600):
        board = random_board(rng, Material.parse(rng.choice(["KQQQvK", "KNNNvK", "KRRRvK", "KBBBvK"])))
        moves = list(board.legal_moves)
        names = sans_without_check(board, moves)
        assert names == [board.san(move).rstrip("+#") for move in moves], board.fen()
        longest = max(longest, *(len(name) for name in names), 0)
    assert longest == len("Qa1b2")


rows = st.sampled_from(
    ["8", "kK6", "3P4", "1q2R1b1", "NBn1r1pQ", "71", "P~7", "9", "7", "", "x7", "\u00b27", "08", "k8"]
)
fields = st.tuples(
    st.lists(rows, min_size=7, max_size=9).map("/".join) | st.just("8/8/8/2K3k1/8/8/8/8"),
    st.sampled_from(["w", "b", "W"]),
    st.sampled_from(["-", "--", "x"]),
    st.sampled_from(["-", "e3", "a6", "h8", "e9"]),
    st.sampled_from(["0", "17", "007"]),
    st.sampled_from(["0", "1", "999999999"]),
)


@settings(max_examples=sample(200, 500))
@given(fields.flatmap(lambda six: st.integers(2, 6).map(lambda count: " ".join(six[:count]))))
def test_fens_are_read_as_python_chess_does(text: str) -> None:
    try:
        expected = chess.Board(text)
    except ValueError:
        with pytest.raises(UsageError):
            parse_fen(text)
    else:
        assert vars(parse_fen(text).board) == vars(expected)


def answers(*words: str, text: str | bytes, tables: Path) -> list[str]:
    command = [sys.executable, "-m", "tbgen", "probe", "-", "--dir", str(tables), *words]
    given = text if isinstance(text, bytes) else text.encode()
    return subprocess.run(command, input=given, capture_output=True).stdout.decode().splitlines()


@pytest.mark.parametrize("option", [[], ["--no-moves"], ["--line"], *exhaustive([["--no-moves", "--line"]])])
def test_lines_are_answered_as_one_by_one(
    option: list[str], tables: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    boards, scores = random_questions(9, 40, all_materials(4))
    texts = [
        f"{board.fen().replace(' 0 1', ' 4 1')} {score or ''}"
        for board, score in zip(boards, scores, strict=True)
    ]
    lines = answers(*option, text="\n".join(texts), tables=tables)
    for text, line in zip(texts, lines, strict=True):
        code = main(["probe", "--json", "--dir", str(tables), *option, text])
        output = capsys.readouterr()
        document = json.loads(line)
        if code:
            sentence = output.err.removeprefix("tbgen: ").rstrip("\n")
            kind = {2: "bad_input", 3: "missing_table"}[code]
            assert document == {"fen": text, "error": sentence, "code": kind}
        else:
            assert document == json.loads(output.out)
            assert list(document) == list(json.loads(output.out))
            assert ("moves" in document, "line" in document) == (
                "--no-moves" not in option,
                "--line" in option,
            )


def test_lines_say_which_of_two_like_men_moves(tables: Path) -> None:
    """As python-chess does."""
    with open_tablebase(tables) as opened:
        for fen in ("8/2k3q1/8/8/8/8/6K1/6q1 w - - 0 1", "8/8/8/3N4/8/5N2/8/k1K5 w - - 0 1"):
            board = chess.Board(fen)
            for ply in opened.line(fen):
                assert ply.san == board.san(ply.move)
                board.push(ply.move)


def test_more_lines_than_a_batch(tables: Path) -> None:
    boards, _ = random_questions(10, 500, all_materials(3), bad=0)
    texts = [board.fen() for board in boards]
    assert 5 * len(texts) > MOVES_BATCH
    lines = answers(text="\n".join(texts * 5), tables=tables)
    assert [json.loads(line)["fen"] for line in lines] == texts * 5
    assert lines == lines[:500] * 5


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_line_endings(ending: str, tables: Path) -> None:
    text = f"\ufeff{KBK}{ending}{ending}junk \u00fc{ending}{KBK}"
    documents = [json.loads(line) for line in answers("--no-moves", text=text, tables=tables)]
    assert [document["fen"] for document in documents] == [KBK, "junk \u00fc", KBK]
    documents = [json.loads(line) for line in answers(text=f"\xff{KBK}".encode("latin-1"), tables=tables)]
    assert documents[0]["fen"] == f"\\xff{KBK}"


@pytest.mark.parametrize("option", [[], ["--no-moves"], ["--line"]])
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


def test_without_moves(tables: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for fen, situation in (
        (KBK, "Black to move"),
        ("7k/6Q1/6K1/8/8/8/8/8 b", "mate"),
        ("7k/5Q2/6K1/8/8/8/8/8 b", "stalemate"),
    ):
        assert main(["probe", "--dir", str(tables), "--no-moves", fen]) == 0
        text = capsys.readouterr().out
        assert f", {situation}\n" in text
        assert text.splitlines()[-1].startswith("points")
