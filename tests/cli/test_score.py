"""``tbgen score``: one set of numbers in five formats."""

import csv
import io
import json
import re
from pathlib import Path

import html5lib
import pytest

from tbgen.cli.main import main
from tests.support.paths import DATA

MATCH = str(DATA / "g01_exp_default.pgn")
KOMI = str(DATA / "g04_komi_pgn.pgn")


@pytest.fixture(autouse=True)
def default_directory(reference_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TBGEN_DIR", str(reference_dir))


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["score", "--jobs", "1", *words]) == 0
    output = capsys.readouterr()
    assert output.err == ""
    return output.out


def tagged_points(path: str) -> dict[str, float]:
    """Points by player as cuteRMob has written them into a file."""
    sums: dict[str, float] = {}
    for game in Path(path).read_text().split("[Event ")[1:]:
        tags = dict(re.findall(r'^\[(\w+) "(.*)"\]', game, re.MULTILINE))
        shares = {"1-0": (1.0, 0.0), "0-1": (0.0, 1.0), "1/2-1/2": (0.5, 0.5)}
        white, black = shares.get(tags["Points"]) or map(float, tags["Points"].split("-"))
        sums[tags["White"]] = sums.get(tags["White"], 0) + white
        sums[tags["Black"]] = sums.get(tags["Black"], 0) + black
    return sums


@pytest.mark.parametrize("path", [MATCH, KOMI])
def test_points_are_those_that_cutermob_wrote(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(answer(capsys, path, "--json"))
    scoring = document["scoring"]
    assert scoring == ("komi" if path == KOMI else "exponential")
    expected = tagged_points(path)
    assert len(document["games"]) == 12
    for player in document["players"]:
        assert player["points"][scoring] == pytest.approx(expected[player["name"]], abs=0.001)


def test_text(capsys: pytest.CaptureFixture[str]) -> None:
    lines = answer(capsys, MATCH, "--sprt", "0", "50").splitlines()
    rows = [line.split() for line in lines]
    assert [
        "1",
        "sf",
        "12",
        "7.8086",
        "65.1",
        "5",
        "7",
        "0",
        "-3",
        "0",
        "+1",
        "0",
        "+108.1",
        "145.6",
        "95.2%",
    ] in rows
    assert ["1", "sf", "7.8086/12"] in rows
    assert ["repetition", "4"] in rows
    assert ["verdict", "continue"] in rows
    assert [line for line in lines if line.endswith(" ")] == []


def test_every_format_has_the_same_tables(capsys: pytest.CaptureFixture[str]) -> None:
    sections = [part.splitlines() for part in answer(capsys, MATCH, "--format", "csv").strip().split("\n\n")]
    titles = [section[0] for section in sections]
    assert titles[:3] == ["Standings", "Points by every scoring", "Crosstable"]
    tables = [list(csv.reader(section[1:])) for section in sections]
    assert all(len({len(row) for row in table}) == 1 for table in tables)
    rows = [line.split() for line in answer(capsys, MATCH).splitlines()]
    markdown = answer(capsys, MATCH, "--format", "markdown")
    page = answer(capsys, MATCH, "--format", "html")
    assert [line[3:] for line in markdown.splitlines() if line.startswith("## ")] == titles
    assert re.findall("<h2>(.*?)</h2>", page) == titles
    for table in tables:
        for row in table:
            assert f"| {' | '.join(row)} |" in markdown
            assert " ".join(row).split() in rows
            assert all(f">{cell}</t" in page for cell in row)


def test_the_page_is_whole_and_safe(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    evil = '<script>alert("&")</script>'
    path = tmp_path / "evil.pgn"
    name = evil.replace('"', "'")
    path.write_text(f'[White "{name}"]\n[Black "B|C*"]\n\n1. f3 e5 2. g4 Qh4# 0-1\n')
    page = answer(capsys, str(path), "--format", "html", "--title", evil)
    html5lib.HTMLParser(strict=True).parse(page)
    assert not re.search(r"(src|href)=|url\(|@import", page)
    assert page.startswith("<!DOCTYPE html>")
    assert "<script" not in page
    assert page.count("<svg") == 3  # no Elo of a single game that was lost
    assert "&lt;script&gt;" in page
    markdown = answer(capsys, str(path), "--format", "markdown")
    assert "B\\|C\\*" in markdown


def test_tags_are_believed_unless_told_otherwise(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "tagged.pgn"
    path.write_text(
        '[White "A"]\n[Black "B"]\n[Result "1/2-1/2"]\n[RMobilityResult "-G0.5"]\n'
        '[RMobilityBasis "tablebase"]\n[RMobilityAccrued "G3.5"]\n[RMobilityFiftyMoveRule "legacy"]\n\n'
        "1. f3 e5 2. g4 1/2-1/2\n"
    )
    document = json.loads(answer(capsys, str(path), "--json"))
    (game,) = document["games"]
    assert (game["value"], game["basis"], game["accrued"]) == ("-G0.5", "tablebase", "G3.5")
    assert document["gains"] == {"A": -0.25390625, "B": 0.25390625}
    assert "What tables changed: games" in answer(capsys, str(path))
    (game,) = json.loads(answer(capsys, str(path), "--json", "--judge-again"))["games"]
    assert (game["value"], game["basis"]) == ("G30.5", "played")


def test_several_files_and_processes(capsys: pytest.CaptureFixture[str]) -> None:
    alone = json.loads(answer(capsys, MATCH, KOMI, "--scoring", "winner", "--json"))
    assert len(alone["games"]) == 24
    assert {game["file"] for game in alone["games"]} == {Path(MATCH).name, Path(KOMI).name}
    assert main(["score", MATCH, KOMI, "--scoring", "winner", "--json", "--jobs", "2"]) == 0
    assert json.loads(capsys.readouterr().out) == alone


def test_several_scorings_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", MATCH, KOMI, "--json"]) == 0
    output = capsys.readouterr()
    assert json.loads(output.out)["scoring"] == "exponential"
    assert output.err == "tbgen: the games have tags of several scorings; they are scored exponentially\n"


def test_broken_games_are_left_out(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "x.pgn"
    path.write_text('[White "A"]\n\n1. e4 e4 1-0\n\n[White "A"]\n\n1. e4 1-0\n')
    assert main(["score", str(path), "--json"]) == 0
    output = capsys.readouterr()
    assert len(json.loads(output.out)["games"]) == 1
    assert output.err == "tbgen: game 1, line 3, ply 2: 'e4' is not a legal move; left out\n"
    assert main(["score", str(path), "--strict"]) == 2
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        ([], 2, "there is no file to score"),
        (["--sprt", "0", "5"], 2, "there is no file to score"),
        ([MATCH, "--sprt", "5"], 2, "--sprt '5': expected ELO0 ELO1, or ELO0 ELO1 ALPHA BETA"),
        ([MATCH, "--sprt", "5", "0"], 2, "a test needs elo0 below elo1"),
        ([MATCH, "--sprt", "0", "5", "0.05", "2"], 2, "are no probabilities of error"),
        ([MATCH, "--scoring", "elo"], 2, "'elo' is not a scoring"),
        ([MATCH, "--jobs", "0"], 2, "--jobs '0': expected a number from 1 to 512"),
        ([MATCH, "--format", "pdf"], 2, "invalid choice"),
        (["nothing.pgn"], 2, "there is no file 'nothing.pgn'"),
        (["/dev/null"], 2, "there are no games to score"),
    ],
)
def test_bad_input(capsys: pytest.CaptureFixture[str], words: list[str], code: int, sentence: str) -> None:
    assert main(["score", *words]) == code
    output = capsys.readouterr()
    assert output.out == ""
    assert sentence in output.err
    assert output.err.count("\n") == 1


def test_files_may_follow_the_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(answer(capsys, "--sprt", "-5", "5", "0.05", "0.1", MATCH, "--json"))
    assert document["sprt"]["player"] == "sf"
    assert (document["sprt"]["elo0"], document["sprt"]["beta"]) == (-5, 0.1)
    assert document["sprt"]["verdict"] == "continue"


def test_csv_quotes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "x.pgn"
    path.write_text('[White "A, the first"]\n[Black "B"]\n\n1. f3 e5 2. g4 Qh4# 0-1\n')
    rows = list(csv.reader(io.StringIO(answer(capsys, str(path), "--format", "csv"))))
    assert ["2", "A, the first", "1"] in [row[:3] for row in rows]
