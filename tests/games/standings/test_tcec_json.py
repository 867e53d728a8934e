"""The crosstable and the schedule in the JSON format of TCEC."""

import io
import json
from typing import Any, Final

import pytest

from tbgen.games.pgn.splitter import split_games
from tbgen.games.standings import GameRecord, standings
from tbgen.games.standings.json_files import TcecEvent
from tbgen.games.standings.orders import ORDERS
from tbgen.games.tagging import TaggedGame, tag_games
from tests.support.paths import DATA, ROOT
from tests.support.script_modules import load_script

BONUS: Final = "TCEC_Season_18_-_Top_of_The_Top_Bonus"
RATINGS: Final = {"AllieStein": 3771, "LCZero": 3805, "Stockfish": 3807, "Stoofvlees": 3749}
GAMES: Final = (DATA / "event.pgn").read_text()


def documents(text: str) -> dict[str, Any]:
    event, games = TcecEvent(), []
    for game in tag_games(io.BytesIO(text.encode())):
        record = GameRecord.of("games.pgn", game)
        event.add(game, record)
        if record is not None and record.classical != "*":
            games.append(record)
    found = event.documents(standings(games, order=ORDERS["tcec"]))
    return {name.removesuffix(".json"): json.loads(content) for name, content in found.items()}


@pytest.fixture(scope="module")
def bonus() -> Any:
    """Return the crosstable of the Top 4 bonus of season 18, from its results."""
    games, event = load_script("tcec").events_in(ROOT / "docs" / "tcec")[BONUS], TcecEvent()
    for game in games:
        tags = {"Event": "TCEC Season 18 - Top Of The Top Bonus", "Result": game.classical}
        tags |= {
            f"{side}Elo": str(RATINGS[name.split()[0]])
            for side, name in (("White", game.white), ("Black", game.black))
        }
        text = "".join(f'[{name} "{value}"]\n' for name, value in tags.items())
        (raw,) = split_games(io.BytesIO(f"{text}\n{game.classical}\n".encode()))
        event.add(TaggedGame(raw, game.outcome), game)
    return event.crosstable(standings(games, order=ORDERS["tcec-s19"]))


def test_an_event_of_tcec(bonus: Any) -> None:
    """Points, Sonneborn-Berger and sums are those published by TCEC; the rest was computed by hand."""
    assert bonus["Event"] == "TCEC Season 18 - Top Of The Top Bonus"
    assert [name.split()[0] for name in bonus["Order"]] == ["AllieStein", "LCZero", "Stockfish", "Stoofvlees"]
    first = dict(bonus["Table"]["AllieStein v0.7_dev2-net_15.0"])
    meeting = first.pop("Results")["LCZero v0.26.0-sv-t60-4229-mlh"]
    assert first == {
        "Abbreviation": "Al",
        "Rank": 1,
        "Rating": 3771,
        "Elo": 78.81,
        "Score": 22.5,
        "Games": 42,
        "GamesAsWhite": 21,
        "GamesAsBlack": 21,
        "WinsAsWhite": 2,
        "WinsAsBlack": 1,
        "LossAsWhite": 0,
        "LossAsBlack": 0,
        "Neustadtl": 459.75,
        "Performance": 53.57,
        "Strikes": 0,
        "DirectEncounter": 7,
        "RMobilityScore": 22.4959,
    }
    assert (meeting["H2h"], meeting["Text"], len(meeting["Scores"])) == (7, "=" * 14, 14)
    assert meeting["Scores"][:2] == [
        {"Game": 2, "Result": 0.5, "Winner": "None", "Color": 1},
        {"Game": 8, "Result": 0.5, "Winner": "None", "Color": 0},
    ]
    assert [row["Abbreviation"] for row in bonus["Table"].values()] == ["Al", "Lc", "St", "So"]


def test_a_schedule() -> None:
    """Broken and unfinished games keep their numbers, to which the crosstable refers."""
    found = documents(GAMES)
    first, second, broken, open_ = found["schedule"]
    assert first == {
        "Game": 1,
        "White": "One 1",
        "Black": "Two 2",
        "Result": "1-0",
        "RMobilityResult": "G0.0",
        "Moves": 3,
        "Duration": "00:01:02",
        "Start": "15:11:55 on 2026.07.05",
        "ECO": "B00",
        "Opening": "King's pawn, Odd",
        "Termination": "White mates",
        "FinalFen": "rnbqkbnr/ppppp2p/5p2/6pQ/3PP3/8/PPP2PPP/RNB1KBNR b KQkq - 1 3",
        "WhiteEv": "M1",
        "BlackEv": "250.00",
    }
    assert second["Termination"] == "TCEC draw rule"
    assert (second["WhiteEv"], second["BlackEv"]) == ("0.20", "0.15")
    assert broken == {"Game": 3, "White": "One 1", "Black": "Two 2"}
    assert (open_["Game"], open_["Result"], open_["Termination"]) == (4, "*", "in progress")
    one = found["crosstable"]["Table"]["One 1"]
    assert (one["Score"], one["Games"], one["Rating"]) == (1.5, 2, 3000)
    assert one["Elo"] == pytest.approx(32 * (1.5 - 2 / 1.1), abs=0.01)
    assert one["Results"]["Two 2"]["Text"] == "1="
    assert [score["Game"] for score in one["Results"]["Two 2"]["Scores"]] == [1, 2]


def test_how_games_end() -> None:
    for end, said in (
        ("1. f3 e5 2. g4 Qh4# 0-1", "Black mates"),
        ("1. e4 e5 {White disconnects} 0-1", "White disconnects"),
        ("1. Nf3 Nf6 2. Ng1 Ng8 3. Nf3 Nf6 4. Ng1 Ng8 1/2-1/2", "3-fold repetition"),
    ):
        text = f'[White "A"]\n[Black "B"]\n[Result "{end.split()[-1]}"]\n\n{end}\n'
        assert documents(text)["schedule"][0]["Termination"] == said
