"""``tbgen score``: one set of numbers in five formats."""

import csv
import io
import json
import re
from pathlib import Path

import pytest

from tbgen.cli.main import main
from tests.support.commands import scored
from tests.support.paths import KOMI, MATCH

pytestmark = pytest.mark.usefixtures("default_directory")


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
    document = json.loads(scored(capsys, path, "--json"))
    scoring = document["scoring"]
    assert scoring == ("komi" if path == KOMI else "exponential")
    expected = tagged_points(path)
    assert len(document["games"]) == 12
    for player in document["players"]:
        assert player["points"][scoring] == pytest.approx(expected[player["name"]], abs=0.001)


def test_text(capsys: pytest.CaptureFixture[str]) -> None:
    lines = scored(capsys, MATCH, "--sprt", "+0", "5e+1").splitlines()
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
    assert ["1", "sf", "8.5", "·" * 12, "==111=====11"] in rows
    assert ["2", "greedy", "4.1914", "4.1914"] in rows
    assert ["repetition", "4"] in rows
    assert ["verdict", "continue"] in rows
    assert [line for line in lines if line.endswith(" ")] == []


def test_tags_are_believed_unless_told_otherwise(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "tagged.pgn"
    path.write_text(
        '[White "A"]\n[Black "B"]\n[Result "1/2-1/2"]\n[RMobilityResult "-G0.5"]\n'
        '[RMobilityBasis "tablebase"]\n[RMobilityAccrued "G3.5"]\n[RMobilityFiftyMoveRule "legacy"]\n\n'
        "1. f3 e5 2. g4 1/2-1/2\n"
    )
    document = json.loads(scored(capsys, str(path), "--json"))
    (game,) = document["games"]
    assert (game["value"], game["basis"], game["accrued"]) == ("-G0.5", "tablebase", "G3.5")
    assert document["gains"] == {"A": -0.25390625, "B": 0.25390625}
    assert "What best play changed: games" in scored(capsys, str(path))
    (game,) = json.loads(scored(capsys, str(path), "--json", "--judge-again"))["games"]
    assert (game["value"], game["basis"]) == ("G30.5", "played")


def test_several_files_and_processes(capsys: pytest.CaptureFixture[str]) -> None:
    alone = json.loads(scored(capsys, MATCH, KOMI, "--scoring", "winner", "--json"))
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
    assert output.err.splitlines()[0] == "tbgen: game 1, line 3, ply 2: 'e4' is not a legal move; left out"
    assert main(["score", str(path), "--strict"]) == 2
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        ([], 2, "there is no file to score"),
        (["--sprt", "0", "5"], 2, "there is no file to score"),
        ([MATCH, "--sprt", "5"], 2, "--sprt '5': expected ELO0 ELO1, or ELO0 ELO1 ALPHA BETA"),
        ([MATCH, "--sprt", "5", "0"], 2, "a test needs elo0 below elo1"),
        (["nothing.pgn", "--sprt", "50", "0"], 2, "a test needs elo0 below elo1"),  # before files are read
        ([MATCH, "--sprt", "0", "5", "0.05", "2"], 2, "are no probabilities of error"),
        ([MATCH, "--scoring", "elo"], 2, "'elo' is not a scoring"),
        ([MATCH, "--jobs", "0"], 2, "'--jobs': expected a whole number from 1 to 512, not 0"),
        ([MATCH, "--format", "pdf"], 2, "'pdf' is not one of"),
        (["nothing.pgn"], 2, "there is no file 'nothing.pgn'"),
        (["/dev/null"], 2, "there are no games to score"),
        ([MATCH, "--order", "elo"], 2, "'elo' is not one of"),
        ([MATCH, "--tiebreaks", "sb,elo"], 2, "--tiebreaks: 'elo' is no tiebreak: expected some of points,"),
        ([MATCH, "--tiebreaks", "g0.7"], 2, "or scores such as g1.0"),
        (
            [MATCH, "--tables", "standings,elo"],
            2,
            "'elo' is no table of standings: expected some of standings",
        ),
        (
            [MATCH, "--sprt", "0", "5", "--sprt-model", "x"],
            2,
            "'x' is not a model of a test: expected one of",
        ),
        (
            [MATCH, "--sprt", "0", "5", "--sprt-model", "bayesian", "--pairs"],
            2,
            "Bayes-Elo has no model of pairs",
        ),
        ([MATCH, "--pairs"], 2, "--pairs needs a test: add --sprt elo0=0 elo1=5"),
        ([MATCH, "--sprt-player", "sf"], 2, "--sprt-player needs a test: add --sprt elo0=0 elo1=5"),
        ([MATCH, "--sprt", "0", "5", "--sprt-player", "x"], 2, "no player is called 'x'"),
        ([MATCH, MATCH], 2, "is named twice, so its games would count twice: name it once"),
        ([MATCH, "--syzygy", ""], 2, "--syzygy: no directory is named: give the one that"),
        ([MATCH, "--out", MATCH], 2, "cannot make the directory"),
        (
            [MATCH, "--out", "x", "--json"],
            2,
            "--json prints the document: for a file in the directory of --out",
        ),
        ([MATCH, "--format", "json", "--explorer", "https://x.org/"], 2, "add --format html"),
        (
            [MATCH, "--format", "tcec-json"],
            2,
            "--format tcec-json makes two files, ordered by points in chess: add --out DIR --order tcec",
        ),
        (
            [MATCH, "--format", "tcec-json", "--out", "x"],
            2,
            "add --out DIR --order tcec, or another order of TCEC",
        ),
        ([MATCH, "--format", "csv", "--out", MATCH], 2, "cannot make the directory"),
    ],
)
def test_bad_input(capsys: pytest.CaptureFixture[str], words: list[str], code: int, sentence: str) -> None:
    assert main(["score", *words]) == code
    output = capsys.readouterr()
    assert output.out == ""
    assert sentence in output.err
    assert output.err.count("\n") == 1


def test_files_may_follow_the_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(scored(capsys, "--sprt", "-5", "5", "0.05", "0.1", MATCH, "--json"))
    assert document["sprt"]["player"] == "sf"
    assert (document["sprt"]["elo0"], document["sprt"]["beta"]) == (-5, 0.1)
    assert document["sprt"]["verdict"] == "continue"
    for words in (["elo0=-5 elo1=5 beta=0.1"], ["-5", "5", "beta=0.1"], ["elo1=5", "elo0=-5", "beta=.1"]):
        assert json.loads(scored(capsys, "--sprt", *words, MATCH, "--json")) == document


def test_a_test_by_games_says_that_there_are_pairs(capsys: pytest.CaptureFixture[str]) -> None:
    words = (MATCH, "--sprt", "0", "5", "--sprt-player", "greedy")
    assert json.loads(scored(capsys, *words, "--json"))["sprt"]["player"] == "greedy"
    told = " ".join(scored(capsys, *words, "--tables", "sprt").split())
    assert "greedy against sf, by games;" in told
    assert "12 of these games make pairs of reversed colours; tbgen score --pairs tests these." in told
    assert "these games" not in scored(capsys, *words, "--tables", "sprt", "--pairs")


def test_what_is_left_out_is_counted(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "x.pgn"
    path.write_text('[White "A"]\n[Black "B"]\n\n1. e4 e4 1-0\n\n1. e4 *\n\n1. d4 *\n\n')
    assert main(["score", str(path)]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == (
        "tbgen: there are no games to score: 2 without a result and 1 broken left out"
    )
    with path.open("a") as file:
        file.write('[White "A"]\n[Black "B"]\n\n1. f3 e5 2. g4 Qh4# 0-1\n')
    assert main(["score", str(path), "--json"]) == 0
    output = capsys.readouterr()
    assert json.loads(output.out)["left_out"] == {"unfinished": 2, "broken": 1}
    assert output.err.splitlines()[-1] == "tbgen: 1 game scored; 2 without a result and 1 broken left out"
    assert main(["score", str(path)]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["no", "result", "(*)", "2"] in rows
    assert ["broken", "1"] in rows


def test_json_is_exact_and_complete(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "x.pgn"
    path.write_text(
        '[White "A"]\n[Black "B"]\n[RMobilityResult "-G8.5"]\n[RMobilityBasis "repetition"]\n'
        '[RMobilityAccrued "-G8.5"]\n[RMobilityFiftyMoveRule "legacy"]\n\n1/2-1/2\n'
    )
    document = json.loads(scored(capsys, str(path), "--json", "--order", "tcec"))
    assert (document["order"], document["games_per_player"]) == ("tcec", {"least": 1, "most": 1})
    assert document["left_out"] == {"unfinished": 0, "broken": 0}
    (game,) = document["games"]
    assert game["points"] == {"white": 0.5 - 0.5**18, "black": 0.5 + 0.5**18}
    best, other = document["players"]
    assert (best["name"], best["points"]["exponential"], best["lead"]) == ("B", 0.5 + 0.5**18, 0.5**17)
    assert (best["share"], best["classical"], other["lead"]) == (0.5 + 0.5**18, 0.5, -(0.5**17))
    assert best["colours"]["black"] == {
        "games": 1,
        "wins": 0,
        "draws": 1,
        "losses": 0,
        "points": 0.5 + 0.5**18,
    }
    assert best["colours"]["white"]["games"] == 0
    assert best["meetings"]["A"]["pairs"] == {"count": 0, "pentanomial": [0] * 5, "elo": None}
    rows = [line.split() for line in scored(capsys, str(path)).splitlines()]
    assert ["1", "B", "1", "0.5", "50.0", "0", "1", "0"] in [row[:8] for row in rows]
    assert ["2", "A", "1", "0.5", "50.0", "0", "1", "0"] in [row[:8] for row in rows]


def test_pairs_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(scored(capsys, MATCH, "--json", "--sprt", "0", "50", "--pairs"))
    best = document["players"][0]
    assert best["pairs"]["count"] == 6
    assert best["pairs"]["pentanomial"] == [0, 0, 3, 1, 2]
    assert best["pairs"]["elo"]["difference"] == pytest.approx(best["elo"]["difference"])
    assert best["meetings"]["greedy"]["pairs"] == best["pairs"]
    test = document["sprt"]
    assert (test["model"], test["unit"], test["count"]) == ("logistic", "pairs", 6)
    assert 0 < test["llr"] < test["upper"]


def test_an_unbeaten_side_is_tested(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "x.pgn"
    path.write_text('[White "A"]\n[Black "B"]\n\n1. f3 e5 2. g4 Qh4# 0-1\n\n' * 30)
    words = (str(path), "--sprt", "0", "50")
    assert "LLR" in scored(capsys, *words)
    plain, other, old = (
        json.loads(scored(capsys, *words, "--json", "--sprt-model", model))["sprt"]
        for model in ("logistic", "normalized", "bayesian")
    )
    assert (plain["verdict"], other["verdict"], old["verdict"]) == ("H0", "H0", "continue")
    assert old["llr"] == 0
    told = " ".join(scored(capsys, *words, "--sprt-model", "bayesian").split())
    assert "There is no ratio before one win and one loss; the other models have one." in told


def test_the_table_of_a_test(capsys: pytest.CaptureFixture[str]) -> None:
    words = (MATCH, "--sprt", "0", "50", "--sprt-model", "bayesian")
    test = json.loads(scored(capsys, *words, "--json"))["sprt"]
    found = scored(capsys, *words, "--format", "csv", "--tables", "sprt").splitlines()
    rows = dict(csv.reader(found[1:-1]))
    assert rows["quantity"] == "value"
    told = {"LLR": "llr", "lower bound": "lower", "upper bound": "upper"}
    for name in ("elo0", "elo1", "alpha", "beta", "wins", "losses", "draws", *told):
        assert float(rows[name]) == test[told.get(name, name)]
    assert test["wins"] % 1
    lines = scored(capsys, *words, "--tables", "sprt").splitlines()
    blank = lines.index("")
    caption = " ".join(lines[:blank])
    assert "a game of p points is 2p - 1 wins and 2(1 - p) draws if p is 1/2 or more" in caption
    assert lines[blank + 1].split() == ["quantity", "value"]
    assert ["lower", "bound", "-2.9444"] in [line.split() for line in lines]


def test_players_without_a_name(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.pgn").write_text('[Black "B"]\n\n1. f3 e5 2. g4 Qh4# 0-1\n')
    paths = [str(tmp_path / folder / "x.pgn") for folder in ("one", "two")]
    assert main(["score", *paths, "--json"]) == 0
    output = capsys.readouterr()
    names = [player["name"] for player in json.loads(output.out)["players"]]
    assert names == ["B", *(f"? ({path} 1, White)" for path in paths)]
    assert output.err == "tbgen: 2 players without a name: each counts as a player of its own\n"


def test_the_order_of_tcec_shows_what_it_looks_at(capsys: pytest.CaptureFixture[str]) -> None:
    lines = scored(capsys, MATCH, "--order", "tcec").splitlines()
    head = next(line.split() for line in lines if line.startswith("   player"))
    assert head[:8] == ["player", "games", "points", "%", "+", "=", "-", "direct"]
    assert ["1", "sf", "12", "8.5", "70.8", "5", "7", "0", "7.8086"] in [line.split()[:9] for line in lines]
    assert "Players are ordered by points in chess. Ties are broken by" in " ".join(lines)


def test_the_order_of_tcec_keeps_r_mobility_by_any_scoring(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Once stalemates took its place: here A has given one, and B has more by a G1.0 and two G1.5."""
    tagged = """[White "{}"]
[Black "X{}"]
[Result "1/2-1/2"]
[RMobilityResult "{}"]
[RMobilityBasis "repetition"]
[RMobilityAccrued "{}"]
[RMobilityFiftyMoveRule "legacy"]

1/2-1/2

"""
    games = [("A", "G0.5"), ("A", "-G1.0"), ("B", "G1.0"), ("B", "G1.5")]
    path = tmp_path / "x.pgn"
    path.write_text("".join(tagged.format(name, name, value, value) for name, value in games))
    for scoring in ("classical", "exponential", "winner"):
        words = (str(path), "--order", "tcec", "--scoring", scoring)
        players = json.loads(scored(capsys, *words, "--json"))["players"]
        sums = [(player["place"], player["name"], player["tiebreaks"]["rmobility"]) for player in players]
        assert sums[:2] == [(1, "B", 1.1875), (2, "A", 1.125)]
        assert "1.1875" in scored(capsys, *words, "--tables", "standings")


def test_tiebreaks_in_any_order_are_columns(capsys: pytest.CaptureFixture[str]) -> None:
    words = (MATCH, "--order", "tcec", "--tiebreaks", "sb,Black-wins, g1.5,direct,sb")
    document = json.loads(scored(capsys, *words, "--json"))
    assert (document["order"], document["tiebreaks"]) == ("tcec", ["sb", "black-wins", "g1.5", "direct"])
    numbers = [player["tiebreaks"] for player in document["players"]]
    assert numbers[0] == {"classical": 8.5, "sb": 29.75, "black-wins": 2, "g1.5": 1, "direct": None}
    lines = scored(capsys, *words).splitlines()
    head = next(line for line in lines if line.startswith("   player"))
    assert head.split()[7:13] == ["SB", "B", "wins", "G1.5", "+-", "direct"]
    assert "by Sonneborn-Berger (SB), then wins with Black, then G1.5 given minus" in " ".join(lines)
    rows = csv.DictReader(
        io.StringIO(scored(capsys, *words, "--tables", "standings", "--format", "csv")[10:])
    )
    assert next(rows)["sb"] == "29.75"


def test_unequal_numbers_of_games_are_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "x.pgn"
    pairings = [("A", "D"), ("B", "D"), ("B", "C"), ("C", "B")]
    path.write_text("\n".join(f'[White "{w}"]\n[Black "{b}"]\n\n1. e4 e5 1-0\n' for w, b in pairings))
    told = " ".join(scored(capsys, str(path)).split())
    assert "broken by points of direct encounters (direct), then exponential points" in told
    assert "G1.0, and so on, all of them per game." in told
    assert "unequal numbers of games, 1 to 3: they are ordered by points per game (%), not by points" in told
    told = " ".join(scored(capsys, str(path), "--order", "points").split())
    assert "ordered by points, although they have unequal numbers of games, 1 to 3" in told
    assert "broken by points of direct encounters (direct), then" in told
    assert "per game" not in told


def test_what_is_odd_about_games_is_in_the_document(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "x.pgn"
    path.write_text(
        '[White "A"]\n[Black "B"]\n[RMobilityScoring "Elo"]\n'
        '[FEN "7k/8/8/8/8/8/8/KBB5 w - - 0 1"]\n\n1/2-1/2\n'
    )
    assert main(["score", str(path), "--json", "--dir", str(tmp_path)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["unknown_scorings"] == {"Elo": 1}
    assert document["missing_tables"] == {"KBBvK": 1}
