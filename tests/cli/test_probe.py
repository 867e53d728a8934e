"""``tbgen probe``: positions, accrued scores, streams of positions."""

import io
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import pytest

from tbgen.board.variant import Variant
from tbgen.cli.main import main
from tbgen.probe import layers
from tbgen.probe.layers import Layers
from tbgen.store.format import table_path
from tests.support.commands import answer, failure
from tests.support.depths import forget_depths

pytestmark = pytest.mark.usefixtures("default_directory")

KBK = "8/8/8/4KBk1/8/8/8/8 b - - 0 1"
KEYS = [
    "fen",
    "material",
    "rules",
    "position_score",
    "accrued",
    "value",
    "holder",
    "depth",
    "points",
    "moves",
]


def test_a_position(capsys: pytest.CaptureFixture[str]) -> None:
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


NEAR, FAR = "2b5/2K5/8/k7/8/8/8/8 w - - 1 1", "1K6/3k3B/8/8/8/8/8/8 w - - 1 1"
"""With -G1.5 accrued a reset is 1 and 33 plies away."""


def test_depths_that_are_not_stored(
    reference_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are marked as unknown, made on request, and a line says if it cannot do without."""
    for name in ("KvK", "KBvK"):
        shutil.copy(table_path(reference_dir, name, Variant.R_MOBILITY), tmp_path)
    forget_depths(monkeypatch, tmp_path)
    options = ["--accrued", "-G1.5", "--dir", str(tmp_path)]
    lines = answer(capsys, "probe", NEAR, *options, "--line").splitlines()
    assert "depth           ?  (the table stores the value only: --depths makes the depth)" in lines
    assert lines[-3:] == ["best play: 2 plies", "    1. Kxc8    G5.5", "  1... Kb6    -G3.5"]
    assert "Kb7     G5.5          ?" in answer(capsys, "probe", FAR, *options).splitlines()
    document = json.loads(answer(capsys, "probe", FAR, *options, "--json"))
    assert document["depth"] is None
    assert {move["depth"] for move in document["moves"]} == {None}
    lacking = (
        "the line needs depths of accrued scores that KBvK does not store: ask with --depths "
        "(in Python, open_tablebase(..., depths=True)), which makes them\n"
    )
    without = answer(capsys, "probe", FAR, *options)
    assert main(["probe", FAR, *options, "--line"]) == 0
    assert capsys.readouterr() == (without, f"tbgen: {lacking}")
    assert main(["probe", FAR, *options, "--line", "--json"]) == 0
    output = capsys.readouterr()
    assert (json.loads(output.out), output.err) == (document | {"line": None}, f"tbgen: {lacking}")
    assert main(["probe", f"{FAR} -G1.5", KBK, "--line", *options[2:]]) == 0
    assert capsys.readouterr().err == f"tbgen: {FAR} -G1.5: {lacking}"
    assert not list(tmp_path.glob("*.layer.h5"))
    lines = answer(capsys, "probe", FAR, *options, "--line", "--depths").splitlines()
    assert "depth           33 plies" in lines
    assert "best play: 33 plies" in lines
    assert (tmp_path / "KBvK.r.-G1.5.layer.h5").exists()


def test_answers_come_before_what_takes_long(
    reference_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In order; a layer begins when all positions before have been answered, and stopping it loses none."""
    for name in ("KvK", "KBvK"):
        shutil.copy(table_path(reference_dir, name, Variant.R_MOBILITY), tmp_path)
    forget_depths(monkeypatch, tmp_path)

    def interrupt(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr(Layers, "get", interrupt)
    asked = [KBK, f"{NEAR} -G1.5", "no position", KBK, f"{FAR} -G1.5", KBK]
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(asked)))
    options = ["--depths", "--dir", str(tmp_path)]
    assert main(["probe", "-", *options]) == 130
    lines = capsys.readouterr().out.splitlines()
    assert [json.loads(line)["fen"] for line in lines] == asked[:4]
    assert main(["probe", KBK, f"{FAR} -G1.5", KBK, *options]) == 130
    assert capsys.readouterr().out.count("KBvK, Black to move") == 1


def test_depths_that_take_more_memory_than_there_is(
    reference_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("KvK", "KBvK"):
        shutil.copy(table_path(reference_dir, name, Variant.R_MOBILITY), tmp_path)
    forget_depths(monkeypatch, tmp_path)
    monkeypatch.setattr(layers, "free_memory", lambda: 1 << 20)
    sentence = failure(
        capsys, 1, "probe", FAR, "--accrued", "-G1.5", "--depths", "--no-moves", "--dir", str(tmp_path)
    )
    assert "KBvK with -G1.5 accrued are not stored, and making them needs about" in sentence
    assert "of memory, but 1.00 MiB are free: do without depths" in sentence


def test_a_position_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(answer(capsys, "probe", "--json", *KBK.split()))
    assert list(document) == KEYS
    moves = document.pop("moves")
    assert document == {
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
    document = json.loads(answer(capsys, "probe", "--json", "--line", KBK))
    assert list(document) == [*KEYS, "line"]
    assert document["line"][-1] == {"uci": "f4g4", "san": "Kg4", "accrued": "G1.5", "depth": 0}


@pytest.mark.parametrize("option", [["--accrued", "-G1.5"], ["--accrued=-G1.5"], ["--accrued", "mg1.5"], []])
@pytest.mark.parametrize("first", [True, False])
def test_accrued_scores(option: list[str], first: bool, capsys: pytest.CaptureFixture[str]) -> None:
    fen = "8/8/8/4KBk1/8/8/8/8 b - - 3 1" + ("" if option else " -G1.5")
    words = ["probe", "--json", *(option if first else []), fen, *([] if first else option)]
    document = json.loads(answer(capsys, *words))
    assert document["accrued"] == "-G1.5"


def test_the_option_counts_whatever_the_fen_says(capsys: pytest.CaptureFixture[str]) -> None:
    fens = [KBK, "8/8/8/4KBk1/8/8/8/8 b - - 3 1 G2.5"]
    for fen in fens:
        assert json.loads(answer(capsys, "probe", "--json", fen, "--accrued", "-G1.5"))["accrued"] == "-G1.5"
    assert [json.loads(answer(capsys, "probe", "--json", fen))["accrued"] for fen in fens] == ["G3.5", "G2.5"]


def test_many_positions(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line has its answer, which repeats it as it was sent, but blank ones, as the help says."""
    lines = [KBK, "", "junk", "8/8/8/2K3k1/8/8/8/7Q w - - 0 1", f"  {KBK}\t", "\udcff"]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(lines)))
    assert main(["probe", "-"]) == 3
    output = capsys.readouterr()
    assert output.err == ""
    documents = [json.loads(line) for line in output.out.splitlines()]
    assert [document["fen"] for document in documents] == [line for line in lines if line]
    assert [list(document) for document in documents] == [
        KEYS,
        *[["fen", "error", "code"]] * 2,
        KEYS,
        ["fen", "error", "code"],
    ]
    assert "tbgen build KQvK" in documents[2]["error"]
    assert [document.get("code") for document in documents] == [
        None,
        "bad_input",
        "missing_table",
        None,
        "bad_input",
    ]


def test_a_carriage_return_within_a_line_starts_no_answer(default_directory: None) -> None:
    """Whoever sends lines that end with a line feed gets one answer for each."""
    command = [sys.executable, "-m", "tbgen", "probe", "--no-moves", "-"]
    sent = f"junk\r{KBK}\n{KBK}\r\n\r\n{KBK}"
    done = subprocess.run(command, input=sent.encode(), capture_output=True)
    answers = [json.loads(line) for line in done.stdout.decode().split("\n")[:-1]]
    assert [document["fen"] for document in answers] == [f"junk\r{KBK}", KBK, KBK]
    assert ["error" in document for document in answers] == [True, False, False]
    assert done.returncode == 2


def test_a_byte_order_mark_before_the_first_position() -> None:
    command = [sys.executable, "-m", "tbgen", "probe", "-"]
    done = subprocess.run(command, input=f"{KBK}\n".encode("utf-8-sig"), capture_output=True)
    assert (done.returncode, json.loads(done.stdout)["fen"]) == (0, KBK)


@pytest.mark.parametrize(("score", "accrued"), [("-G1.5", "-G1.5"), ("-g5.5", "G3.5"), ("mG1.5", "-G1.5")])
def test_the_seventh_field_of_a_fen_without_quotes(
    score: str, accrued: str, capsys: pytest.CaptureFixture[str]
) -> None:
    fen = "8/8/8/4KBk1/8/8/8/8 b - - 3 1"
    for words in (["--json", *fen.split(), score], [*fen.split(), score, "--json"]):
        document = json.loads(answer(capsys, "probe", *words))
        assert (document["fen"], document["accrued"]) == (f"{fen} {score}", accrued)
    assert "not a G-score" in failure(capsys, 2, "probe", *fen.split(), "-G1.7")


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
def test_several_positions(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """As words, with or without quotes; as text and as one JSON document."""
    documents = json.loads(answer(capsys, "probe", "--json", *words))
    alone = [json.loads(answer(capsys, "probe", "--json", "--no-moves", fen)) for fen in (KBK, BARE)]
    assert [{**document, "fen": document["fen"].replace("_", " ")} for document in documents] == alone
    texts = [answer(capsys, "probe", "--no-moves", fen) for fen in (KBK, BARE)]
    first, second = (document["fen"] for document in documents)
    assert answer(capsys, "probe", *words) == f"{first}\n{texts[0]}\n{second}\n{texts[1]}"


def test_several_positions_of_which_some_are_bad(capsys: pytest.CaptureFixture[str]) -> None:
    """The others are answered, and the worst exit code is that of the command."""
    fens = [KBK, "bad", "8/8/8/8 w", MISSING, BARE]
    assert main(["probe", "--json", "--no-moves", *fens]) == 3
    output = capsys.readouterr()
    assert output.err == ""
    documents = json.loads(output.out)
    assert [document["fen"] for document in documents] == fens
    assert [document.get("code") for document in documents] == [
        *(None, "bad_input", "bad_input", "missing_table", None)
    ]
    assert main(["probe", "--no-moves", *fens]) == 3
    output = capsys.readouterr()
    assert [line.split(",")[0] for line in output.out.splitlines() if " to move" in line] == ["KBvK", "KvK"]
    errors = [f"tbgen: {document['fen']}: {document['error']}" for document in documents[1:4]]
    assert errors == output.err.splitlines()
    assert main(["probe", "--json", "--no-moves", KBK, "8/8/8/8 w"]) == 2


def test_a_position_with_operations(capsys: pytest.CaptureFixture[str]) -> None:
    epd = "8/8/8/2K3k1/8/8/8/8 w - - acd 5; bm Kb4;"
    document = json.loads(answer(capsys, "probe", "--json", "--no-moves", epd))
    assert document == {**json.loads(answer(capsys, "probe", "--json", "--no-moves", BARE)), "fen": epd}
    fen = "8/8/8/2K3k1/8/8/8/8 w - - 3 60 \N{MINUS SIGN}G5.5"
    assert json.loads(answer(capsys, "probe", "--json", *fen.split()))["accrued"] == "-G5.5"
    assert (
        json.loads(answer(capsys, "probe", "--json", BARE, "--accrued", "\N{MINUS SIGN}G5.5"))["value"]
        == "-G5.5"
    )


def test_views(capsys: pytest.CaptureFixture[str], three_men: Path) -> None:
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
    document = json.loads(answer(capsys, "probe", "--view", "classical", "--json", mate, *directory))
    points = {"white": 0.0, "black": 1.0}
    assert document == {
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
    documents = json.loads(
        answer(capsys, "probe", "--view=stalemate-wins", "--json", "--no-moves", stalemate, BARE, *directory)
    )
    assert [(document["winner"], document["points"]["white"]) for document in documents] == [
        ("white", 1),
        (None, 0.5),
    ]
    assert documents[0]["depth"] is None


@pytest.mark.parametrize("view", ["lasker", "stalemate-wins"])
def test_depths_of_views_without_depths(
    view: str, capsys: pytest.CaptureFixture[str], three_men: Path
) -> None:
    """They are null in the document and in its moves, not left out."""
    position = "8/8/8/8/8/2k5/8/KB6 w - - 0 1"
    document = json.loads(
        answer(capsys, "probe", "--view", view, "--json", position, "--dir", str(three_men))
    )
    assert document["moves"]
    assert [each["depth"] for each in (document, *document["moves"])] == [None] * (1 + len(document["moves"]))


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["--view", "suicide"],
            "'suicide' is not a view: expected one of classical, stalemate-wins, lasker",
        ),
        (["--view", "lasker", "--accrued", "G3.5"], "--accrued cannot be used with --view"),
        (["--view", "lasker", "--depths"], "--depths cannot be used with --view"),
        (["--view", "lasker", "--line"], "--line cannot be used with --view"),
        (["--view", "lasker", "--scoring", "komi"], "--scoring cannot be used with --view"),
    ],
)
def test_views_that_are_refused(words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert sentence in failure(capsys, 2, "probe", BARE, *words)


def test_views_of_standard_input(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{BARE}\njunk\n{MISSING}\n"))
    assert main(["probe", "--view", "classical", "-"]) == 3
    documents = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [document.get("code") for document in documents] == [None, "bad_input", "missing_table"]
    assert documents[0]["winner"] is None
