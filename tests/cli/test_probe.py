"""``tbgen probe``: positions, accrued scores, streams of positions."""

import io
import json
import shutil
import sys
from pathlib import Path
from typing import NoReturn

import pytest

from tbgen.probe import depths as layers
from tbgen.probe.depths import Layers
from tests.support.commands import Capture, answer, document, failure, said
from tests.support.depths import forget_depths

pytestmark = pytest.mark.usefixtures("default_directory")

KBK = "8/8/8/4KBk1/8/8/8/8 b - - 0 1"
KEYS = [
    *("fen", "material", "rules", "position_score", "accrued"),
    *("value", "holder", "depth", "points", "moves"),
]


def test_a_position(capsys: Capture) -> None:
    text = answer(capsys, "probe", KBK, "--line")
    for line in ("value           G1.5  (White holds it)", "depth           4 plies", "KBvK, Black to move"):
        assert line in text.splitlines()
    table = [line.split() for line in text.splitlines()]
    assert table[-4:] == [
        ["1...", "Kh5", "G3.5"],
        ["2.", "Kf4", "G2.5"],
        ["2...", "Kh6", "G2.5"],
        ["3.", "Kg4", "G1.5"],
    ]
    assert ["Kh5", "G1.5", "3", "plies"] in table


@pytest.fixture
def without_depths(reference_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with tables of KvK and KBvK that appear to store no depths of accrued scores."""
    for name in ("KvK", "KBvK"):
        shutil.copy(reference_dir / f"{name}.r.h5", tmp_path)
    forget_depths(monkeypatch, tmp_path)
    return tmp_path


NEAR, FAR = "2b5/2K5/8/k7/8/8/8/8 w - - 1 1", "1K6/3k3B/8/8/8/8/8/8 w - - 1 1"
"""A position in which, with -G1.5 accrued, a reset is 1 and 33 plies away."""


def test_depths_that_are_not_stored(
    without_depths: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Depths that are not stored are marked, and computed on request; a line that needs them is left out."""
    options = ["--accrued", "-G1.5", "--dir", str(without_depths)]
    lines = answer(capsys, "probe", NEAR, *options, "--line").splitlines()
    assert "depth           ?  (the table stores only the value: --depths computes the depth)" in lines
    assert lines[-3:] == ["best play: 2 plies", "    1. Kxc8    G5.5", "  1... Kb6    -G3.5"]
    assert "Kb7     G5.5          ?" in answer(capsys, "probe", FAR, *options).splitlines()
    found = document(capsys, "probe", FAR, *options)
    assert found["depth"] is None
    assert {move["depth"] for move in found["moves"]} == {None}
    lacking = (
        "the line needs depths of accrued scores that KBvK does not store: ask with --depths "
        "(in Python, open_tablebase(..., depths=True)), which makes them"
    )
    without = answer(capsys, "probe", FAR, *options)
    assert said(capsys, 0, "probe", FAR, *options, "--line") == (without, [f"tbgen: {lacking}"])
    out, told = said(capsys, 0, "probe", FAR, *options, "--line", "--json")
    assert (json.loads(out), told) == (found | {"line": None}, [f"tbgen: {lacking}"])
    _, told = said(capsys, 0, "probe", f"{FAR} -G1.5", KBK, "--line", *options[2:])
    assert told == [f"tbgen: {FAR} -G1.5: {lacking}"]
    assert not list(without_depths.glob("*.layer.h5"))
    lines = answer(capsys, "probe", FAR, *options, "--line", "--depths").splitlines()
    assert "depth           33 plies" in lines
    assert "best play: 33 plies" in lines
    assert (without_depths / "KBvK.r.-G1.5.layer.h5").exists()


def test_answers_come_before_what_takes_long(
    without_depths: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answers are in order; a layer is begun after all earlier answers, so an interrupt loses none."""

    def interrupt(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr(Layers, "get", interrupt)
    asked = [KBK, f"{NEAR} -G1.5", "no position", KBK, f"{FAR} -G1.5", KBK]
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(asked)))
    options = ["--depths", "--dir", str(without_depths)]
    out, _ = said(capsys, 130, "probe", "-", *options)
    assert [json.loads(line)["fen"] for line in out.splitlines()] == asked[:4]
    out, _ = said(capsys, 130, "probe", KBK, f"{FAR} -G1.5", KBK, *options)
    assert out.count("KBvK, Black to move") == 1


def test_depths_that_take_more_memory_than_there_is(
    without_depths: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layers, "available_memory", lambda: 1 << 20)
    words = "--accrued", "-G1.5", "--depths", "--no-moves", "--dir", str(without_depths)
    sentence = failure(capsys, 1, "probe", FAR, *words)
    assert "KBvK with -G1.5 accrued are not stored, and making them needs about" in sentence
    assert "of memory, but 1.00 MiB are free: do without depths" in sentence


def test_a_position_as_json(capsys: Capture) -> None:
    found = document(capsys, "probe", *KBK.split())
    assert list(found) == KEYS
    moves = found.pop("moves")
    assert found == {
        "fen": KBK,
        "material": "KBvK",
        "rules": "r",
        "position_score": "G3.5",
        "accrued": "G3.5",
        "value": "G1.5",
        "holder": "white",
        "depth": 4,
        "points": {"white": 0.5625, "black": 0.4375},
    }
    assert moves[0] == {"uci": "g5h5", "san": "Kh5", "value": "G1.5", "depth": 3, "zeroing": False}
    found = document(capsys, "probe", "--line", KBK)
    assert list(found) == [*KEYS, "line"]
    assert found["line"][-1] == {"uci": "f4g4", "san": "Kg4", "accrued": "G1.5", "depth": 0}


LATE = KBK.replace("0 1", "3 1")


@pytest.mark.parametrize(
    ("words", "accrued"),
    [
        ([KBK], "G3.5"),
        ([LATE, "--accrued", "-G1.5"], "-G1.5"),
        (["--accrued", "-G1.5", LATE], "-G1.5"),
        ([LATE, "--accrued=-G1.5"], "-G1.5"),
        (["--accrued=-G1.5", LATE], "-G1.5"),
        ([LATE, "--accrued", "mg1.5"], "-G1.5"),
        ([f"{LATE} -G1.5"], "-G1.5"),
        ([f"{LATE} G2.5"], "G2.5"),
        ([f"{LATE} G2.5", "--accrued", "-G1.5"], "-G1.5"),
        ([KBK, "--accrued", "-G1.5"], "-G1.5"),
        ([*LATE.split(), "-G1.5"], "-G1.5"),
        ([*LATE.split(), "-g5.5"], "G3.5"),
        ([*LATE.split(), "mG1.5"], "-G1.5"),
        (["8/8/8/2K3k1/8/8/8/8", "w", "-", "-", "3", "60", "\N{MINUS SIGN}G5.5"], "-G5.5"),
        (["8/8/8/2K3k1/8/8/8/8 w - - 0 1", "--accrued", "\N{MINUS SIGN}G5.5"], "-G5.5"),
    ],
)
def test_accrued_scores(words: list[str], accrued: str, capsys: Capture) -> None:
    """The option overrides the FEN; words without quotes are one FEN."""
    assert document(capsys, "probe", *words)["accrued"] == accrued
    assert json.loads(answer(capsys, "probe", "--json", *words))["accrued"] == accrued


def test_a_seventh_field_that_does_not_count_is_named(capsys: Capture) -> None:
    sentence = (
        "the seventh field G2.5 does not count: the halfmove clock is 0, so the score has just been reset"
    )
    fen = f"{KBK} G2.5"
    for words in (["probe", fen, "--json"], ["adjudicate", fen, "--json"], ["solve", fen, "--json"]):
        printed, told = said(capsys, 0, *words)
        assert [line.partition(";")[0] for line in told] == [f"tbgen: {sentence}"], words
        assert json.loads(printed).get("note", sentence).startswith(sentence)
    printed, told = said(capsys, 0, "probe", fen, KBK, "--json")
    assert [line.startswith(f"tbgen: {fen}: {sentence}") for line in told] == [True]
    assert ["note" in each for each in json.loads(printed)] == [True, False]
    answer(capsys, "probe", fen, "--accrued", "G2.5")


def test_many_positions(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line except blank ones has an answer, which repeats the line as it was sent."""
    lines = [KBK, "", "junk", "8/8/8/2K3k1/8/8/8/7Q w - - 0 1", f"  {KBK}\t", "\udcff"]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(lines)))
    out, told = said(capsys, 3, "probe", "-")
    documents = [json.loads(line) for line in out.splitlines()]
    assert told == []
    assert [each["fen"] for each in documents] == [line for line in lines if line]
    error = ["fen", "error", "code"]
    assert list(map(list, documents)) == [KEYS, error, error, KEYS, error]
    assert "tbgen build KQvK" in documents[2]["error"]
    assert [each.get("code") for each in documents] == [
        *(None, "bad_input", "missing_table", None, "bad_input")
    ]


def test_bytes_of_standard_input(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client gets one answer for each line that ends with a line feed, whatever else is in the line; a byte
    order mark before the first position is ignored."""
    path = tmp_path / "sent"
    path.write_bytes(f"\ufeffjunk\r{KBK}\n{KBK}\r\n\r\n".encode() + b"\xff\n" + KBK.encode())
    with path.open() as sent:
        monkeypatch.setattr(sys, "stdin", sent)
        out, _ = said(capsys, 2, "probe", "--no-moves", "-")
    answers = list(map(json.loads, out.split("\n")[:-1]))
    assert [each["fen"] for each in answers] == [f"junk\r{KBK}", KBK, "\\xff", KBK]
    assert ["error" in each for each in answers] == [True, False, True, False]


BARE = "8/8/8/2K3k1/8/8/8/8 w - - 0 1"
MISSING = "8/8/8/2K3k1/8/8/8/7Q w - - 0 1"


@pytest.mark.parametrize(
    "words",
    [
        [KBK, BARE, "--no-moves"],
        [*KBK.split(), *BARE.split(), "--no-moves"],
        ["--no-moves", *KBK.split(), BARE],
        ["--no-moves", KBK.replace(" ", "_"), *BARE.split()],
    ],
)
def test_several_positions(words: list[str], capsys: Capture) -> None:
    """Several positions are words with or without quotes; the answers are text or one JSON document."""
    documents = document(capsys, "probe", *words)
    alone = [document(capsys, "probe", "--no-moves", fen) for fen in (KBK, BARE)]
    assert [{**each, "fen": each["fen"].replace("_", " ")} for each in documents] == alone
    texts = [answer(capsys, "probe", "--no-moves", fen) for fen in (KBK, BARE)]
    first, second = (each["fen"] for each in documents)
    assert answer(capsys, "probe", *words) == f"{first}\n{texts[0]}\n{second}\n{texts[1]}"


def test_several_positions_of_which_some_are_bad(capsys: Capture) -> None:
    """The other positions are answered, and the exit code is that of the worst error."""
    fens = [KBK, "bad", "8/8/8/8 w", MISSING, BARE]
    out, told = said(capsys, 3, "probe", "--json", "--no-moves", *fens)
    documents = json.loads(out)
    assert told == []
    assert [each["fen"] for each in documents] == fens
    assert [each.get("code") for each in documents] == [
        *(None, "bad_input", "bad_input", "missing_table", None)
    ]
    out, told = said(capsys, 3, "probe", "--no-moves", *fens)
    assert [line.split(",")[0] for line in out.splitlines() if " to move" in line] == ["KBvK", "KvK"]
    assert told == [f"tbgen: {each['fen']}: {each['error']}" for each in documents[1:4]]
    said(capsys, 2, "probe", "--json", "--no-moves", KBK, "8/8/8/8 w")
    _, told = said(capsys, 2, "probe", "--no-moves", KBK, "a\x1b[31m\nb")
    assert told == [told[0]]
    assert told[0].isprintable()
    (sentence,) = said(capsys, 3, "info", "KvK", "--dir", "no\x1b[31m")[1]
    assert "\x1b" not in sentence


def test_a_position_with_operations(capsys: Capture) -> None:
    epd = "8/8/8/2K3k1/8/8/8/8 w - - acd 5; bm Kb4;"
    alone = document(capsys, "probe", "--no-moves", BARE)
    assert document(capsys, "probe", "--no-moves", epd) == {**alone, "fen": epd}


def test_views(capsys: Capture, three_men: Path) -> None:
    directory = ["--dir", str(three_men)]
    mate, stalemate = "8/8/8/8/8/8/8/K2kr3 w - - 0 1", "6k1/8/5K2/5B2/8/8/8/8 b - - 0 1"
    text = answer(capsys, "probe", "--view", "classical", mate, *directory)
    for line in (
        "KRvK, White to move, classical chess",
        "value           Black wins",
        "depth           10 plies",
    ):
        assert line in text.splitlines()
    assert text.splitlines()[-1] == "Ka2  Black wins    5 plies"
    text = answer(capsys, "probe", "--view", "lasker", stalemate, *directory)
    for line in ("value           White 0.75", "points          0.75-0.25  (White-Black)", "Kf8  White 0.75"):
        assert line in text.splitlines()
    assert "depth" not in text
    points = {"white": 0.0, "black": 1.0}
    assert document(capsys, "probe", "--view", "classical", mate, *directory) == {
        "fen": mate,
        "material": "KRvK",
        "view": "classical",
        "winner": "black",
        "depth": 10,
        "points": points,
        "moves": [
            {"uci": uci, "san": san, "winner": "black", "depth": depth, "points": points}
            for uci, san, depth in (("a1b2", "Kb2", 9), ("a1b1", "Kb1", 7), ("a1a2", "Ka2", 5))
        ],
    }
    one, other = document(capsys, "probe", "--view=stalemate-wins", "--no-moves", stalemate, BARE, *directory)
    (first, *_) = document(capsys, "probe", "--view=lasker", stalemate, *directory)["moves"]
    assert first["depth"] is None
    assert (one["winner"], one["points"]["white"], one["depth"]) == ("white", 1, None)
    assert (other["winner"], other["points"]["white"]) == (None, 0.5)


def test_views_of_standard_input(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{BARE}\njunk\n{MISSING}\n"))
    documents = list(map(json.loads, said(capsys, 3, "probe", "--view", "classical", "-")[0].splitlines()))
    assert [each.get("code") for each in documents] == [None, "bad_input", "missing_table"]
    assert documents[0]["winner"] is None
