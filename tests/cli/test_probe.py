"""``tbgen probe``: positions, accrued scores, streams of positions."""

import io
import json
import subprocess
import sys

import pytest

from tbgen.cli.main import main
from tests.support.commands import answer, failure

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
        "points": {"white": 0.5625, "black": 0.4375, "lead": 0.125},
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
    """Each line has its answer, but blank ones, as the help says."""
    lines = [KBK, "", "junk", "8/8/8/2K3k1/8/8/8/7Q w - - 0 1", f"  {KBK}\t", "\udcff"]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(lines)))
    assert main(["probe", "-"]) == 3
    output = capsys.readouterr()
    assert output.err == ""
    documents = [json.loads(line) for line in output.out.splitlines()]
    assert [document["fen"] for document in documents] == [KBK, "junk", lines[3], KBK, "\udcff"]
    assert [list(document) for document in documents] == [
        KEYS,
        *[["fen", "error"]] * 2,
        KEYS,
        ["fen", "error"],
    ]
    assert "tbgen build KQvK" in documents[2]["error"]


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
