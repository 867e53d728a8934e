"""``tbgen score``: one set of numbers in five formats."""

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import Capture, document, said, scored
from tests.support.paths import KOMI, MATCH

pytestmark = pytest.mark.usefixtures("default_directory")


def standings(capsys: Capture, *words: str) -> Any:
    """Return the document of standings, made in this process only."""
    return document(capsys, "score", "--jobs", "1", *words)


def tagged_points(path: str) -> dict[str, float]:
    """Return the points by player that cuteRMob has written into a file."""
    sums: dict[str, float] = {}
    for game in Path(path).read_text().split("[Event ")[1:]:
        tags = dict(re.findall(r'^\[(\w+) "(.*)"\]', game, re.MULTILINE))
        shares = {"1-0": (1.0, 0.0), "0-1": (0.0, 1.0), "1/2-1/2": (0.5, 0.5)}
        white, black = shares.get(tags["Points"]) or map(float, tags["Points"].split("-"))
        sums[tags["White"]] = sums.get(tags["White"], 0) + white
        sums[tags["Black"]] = sums.get(tags["Black"], 0) + black
    return sums


@pytest.mark.parametrize("path", [MATCH, KOMI])
def test_points_are_those_that_cutermob_wrote(path: str, capsys: Capture) -> None:
    found = standings(capsys, path)
    scoring = found["scoring"]
    assert scoring == ("komi" if path == KOMI else "exponential")
    expected = tagged_points(path)
    assert len(found["games"]) == 12
    for player in found["players"]:
        assert player["points"][scoring] == pytest.approx(expected[player["name"]], abs=0.001)


def test_text(capsys: Capture) -> None:
    lines = scored(capsys, MATCH, "--sprt", "+0", "5e+1").splitlines()
    rows = [line.split() for line in lines]
    for row in (
        "1 sf 12 7.8086 65.1 5 7 0 -3 0 +1 0 +108.1 145.6 95.2%",
        f"1 sf 8.5 {'·' * 12} ==111=====11",
        "2 greedy 4.1914 4.1914",
        "repetition 4",
        "verdict continue",
    ):
        assert row.split() in rows
    assert [line for line in lines if line.endswith(" ")] == []


def test_tags_are_believed_unless_told_otherwise(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "tagged.pgn"
    path.write_text(
        '[White "A"]\n[Black "B"]\n[Result "1/2-1/2"]\n[RMobilityResult "-G0.5"]\n'
        '[RMobilityBasis "tablebase"]\n[RMobilityAccrued "G3.5"]\n[RMobilityFiftyMoveRule "legacy"]\n\n'
        "1. f3 e5 2. g4 1/2-1/2\n"
    )
    found = standings(capsys, str(path))
    (game,) = found["games"]
    assert (game["value"], game["basis"], game["accrued"]) == ("-G0.5", "tablebase", "G3.5")
    assert found["gains"] == {"A": -0.25390625, "B": 0.25390625}
    assert "What best play changed: games" in scored(capsys, str(path))
    (game,) = standings(capsys, str(path), "--judge-again")["games"]
    assert (game["value"], game["basis"]) == ("G30.5", "played")


def test_several_files_processes_and_scorings(capsys: Capture) -> None:
    alone = standings(capsys, MATCH, KOMI, "--scoring", "winner", "--jobs", "1")
    assert len(alone["games"]) == 24
    assert {game["file"] for game in alone["games"]} == {Path(MATCH).name, Path(KOMI).name}
    assert standings(capsys, MATCH, KOMI, "--scoring", "winner", "--jobs", "2") == alone
    out, told = said(capsys, 0, "score", MATCH, KOMI, "--json")
    assert json.loads(out)["scoring"] == "exponential"
    assert told == ["tbgen: the tags of the games name several scorings; all games are scored exponentially"]


def test_broken_games_are_left_out(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "x.pgn"
    path.write_text('[White "A"]\n\n1. e4 e4 1-0\n\n[White "A"]\n\n1. e4 1-0\n')
    out, (told, *_) = said(capsys, 0, "score", path, "--json")
    assert len(json.loads(out)["games"]) == 1
    assert told == "tbgen: game 1, line 3, ply 2: 'e4' is not a legal move; left out"
    assert said(capsys, 2, "score", path, "--strict")[0] == ""


def test_files_may_follow_the_numbers(capsys: Capture) -> None:
    found = standings(capsys, "--sprt", "-5", "5", "0.05", "0.1", MATCH)
    test = found["sprt"]
    assert (test["player"], test["elo0"], test["beta"], test["verdict"]) == ("sf", -5, 0.1, "continue")
    for words in (["elo0=-5 elo1=5 beta=0.1"], ["-5", "5", "beta=0.1"], ["elo1=5", "elo0=-5", "beta=.1"]):
        assert standings(capsys, "--sprt", *words, MATCH) == found


def test_a_test_by_games_says_that_there_are_pairs(capsys: Capture) -> None:
    words = (MATCH, "--sprt", "0", "5", "--sprt-player", "greedy")
    assert standings(capsys, *words)["sprt"]["player"] == "greedy"
    told = " ".join(scored(capsys, *words, "--tables", "sprt").split())
    assert "greedy against sf, by games;" in told
    assert "12 of these games form pairs of reversed colours; tbgen score --pairs tests these." in told
    assert "these games" not in scored(capsys, *words, "--tables", "sprt", "--pairs")


def test_what_is_left_out_is_counted(capsys: Capture, tmp_path: Path) -> None:
    reasons = "left out: 2 without a result, 1 lost by both sides (0-0), 1 broken"
    path = tmp_path / "x.pgn"
    path.write_text('[White "A"]\n[Black "B"]\n\n1. e4 e4 1-0\n\n1. e4 *\n\n1. d4 *\n\n1. d4 0-0\n\n')
    _, (*_, last) = said(capsys, 2, "score", path)
    assert last == f"tbgen: there are no games to score: {reasons}"
    with path.open("a") as file:
        file.write('[White "A"]\n[Black "B"]\n\n1. f3 e5 2. g4 Qh4# 0-1\n')
    out, told = said(capsys, 0, "score", path, "--json")
    assert json.loads(out)["left_out"] == {"unfinished": 2, "broken": 1, "lost_by_both": 1}
    assert f"tbgen: 1 game scored; {reasons}" in told
    rows = [line.split() for line in said(capsys, 0, "score", path)[0].splitlines()]
    assert ["no", "result", "(*)", "2"] in rows
    assert ["broken", "1"] in rows


def test_json_is_exact_and_complete(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "x.pgn"
    path.write_text(
        '[White "A"]\n[Black "B"]\n[RMobilityResult "-G8.5"]\n[RMobilityBasis "repetition"]\n'
        '[RMobilityAccrued "-G8.5"]\n[RMobilityFiftyMoveRule "legacy"]\n\n1/2-1/2\n'
    )
    found = standings(capsys, str(path), "--order", "tcec")
    assert (found["order"], found["games_per_player"]) == ("tcec", {"least": 1, "most": 1})
    assert found["left_out"] == {"unfinished": 0, "broken": 0, "lost_by_both": 0}
    (game,) = found["games"]
    assert game["points"] == {"white": 0.5 - 0.5**18, "black": 0.5 + 0.5**18}
    best, other = found["players"]
    assert (best["name"], best["points"]["exponential"], best["lead"]) == ("B", 0.5 + 0.5**18, 0.5**17)
    assert (best["share"], best["classical"], other["lead"]) == (0.5 + 0.5**18, 0.5, -(0.5**17))
    counts = {"games": 1, "wins": 0, "draws": 1, "losses": 0}
    assert best["colours"]["black"] == {**counts, "points": 0.5 + 0.5**18}
    assert best["colours"]["white"]["games"] == 0
    assert best["meetings"]["A"]["pairs"] == {"count": 0, "pentanomial": [0] * 5, "elo": None}
    rows = [line.split()[:8] for line in scored(capsys, str(path)).splitlines()]
    for row in ("1 B 1 0.5 50.0 0 1 0", "2 A 1 0.5 50.0 0 1 0"):
        assert row.split() in rows


def test_pairs_in_json(capsys: Capture) -> None:
    found = standings(capsys, MATCH, "--sprt", "0", "50", "--pairs")
    best, test = found["players"][0], found["sprt"]
    assert best["pairs"]["count"] == 6
    assert best["pairs"]["pentanomial"] == [0, 0, 3, 1, 2]
    assert best["pairs"]["elo"]["difference"] == pytest.approx(best["elo"]["difference"])
    assert best["meetings"]["greedy"]["pairs"] == best["pairs"]
    assert (test["model"], test["unit"], test["count"]) == ("logistic", "pairs", 6)
    assert 0 < test["llr"] < test["upper"]


def test_the_table_of_a_test(capsys: Capture) -> None:
    words = (MATCH, "--sprt", "0", "50", "--sprt-model", "bayesian")
    test = standings(capsys, *words)["sprt"]
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


def test_players_without_a_name(capsys: Capture, tmp_path: Path) -> None:
    paths = [tmp_path / folder / "x.pgn" for folder in ("one", "two")]
    for path in paths:
        path.parent.mkdir()
        path.write_text('[Black "B"]\n\n1. f3 e5 2. g4 Qh4# 0-1\n')
    out, told = said(capsys, 0, "score", *paths, "--json")
    names = [player["name"] for player in json.loads(out)["players"]]
    assert names == ["B", *(f"? ({path} 1, White)" for path in paths)]
    assert told == ["tbgen: 2 players without a name: each counts as a different player"]


def test_the_order_of_tcec_shows_what_it_looks_at(capsys: Capture) -> None:
    lines = scored(capsys, MATCH, "--order", "tcec").splitlines()
    head = next(line.split() for line in lines if line.startswith("   player"))
    assert head[:8] == ["player", "games", "points", "%", "+", "=", "-", "direct"]
    assert ["1", "sf", "12", "8.5", "70.8", "5", "7", "0", "7.8086"] in [line.split()[:9] for line in lines]
    assert "Players are ordered by points in chess. Ties are broken by" in " ".join(lines)


def test_tiebreaks_in_any_order_are_columns(capsys: Capture) -> None:
    words = (MATCH, "--order", "tcec", "--tiebreaks", "sb,Black-wins, g1.5,direct,sb")
    found = standings(capsys, *words)
    assert (found["order"], found["tiebreaks"]) == ("tcec", ["sb", "black-wins", "g1.5", "direct"])
    assert found["players"][0]["tiebreaks"] == {
        "classical": 8.5,
        "sb": 29.75,
        "black-wins": 2,
        "g1.5": 1,
        "direct": None,
    }
    lines = scored(capsys, *words).splitlines()
    head = next(line for line in lines if line.startswith("   player"))
    assert head.split()[7:13] == ["SB", "B", "wins", "G1.5", "+-", "direct"]
    assert "by Sonneborn-Berger (SB), then wins with Black, then G1.5 given minus" in " ".join(lines)
    table = scored(capsys, *words, "--tables", "standings", "--format", "csv").splitlines()[1:]
    assert next(csv.DictReader(table))["sb"] == "29.75"


def test_unequal_numbers_of_games_are_told(capsys: Capture, tmp_path: Path) -> None:
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


def test_what_is_odd_about_games_is_in_the_document(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "x.pgn"
    path.write_text(
        '[White "A"]\n[Black "B"]\n[RMobilityScoring "Elo"]\n'
        '[FEN "7k/8/8/8/8/8/8/KBB5 w - - 0 1"]\n\n1/2-1/2\n'
    )
    found = json.loads(said(capsys, 0, "score", path, "--json", "--dir", tmp_path)[0])
    assert found["unknown_scorings"] == {"Elo": 1}
    assert found["missing_tables"] == {"KBBvK": 1}
