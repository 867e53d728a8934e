"""Statistics of games: complete encounters, the test in the order of the schedule, and the match it ends."""

import io
import json
from fractions import Fraction
from pathlib import Path

import pytest

from tbgen.board.scoring import Scheme
from tbgen.board.variant import Variant
from tbgen.cli.main import main
from tbgen.games.game_options import GameOptions
from tbgen.games.pgn.splitter import split_games
from tbgen.games.standings.elo import EloModel, TestSettings, sprt
from tbgen.games.standings.encounters import Encounters
from tbgen.games.standings.record import GameRecord
from tbgen.games.tagging import Adjudicator, TaggedGame
from tests.match.engines import MATE, words
from tests.support.matches import event, games_of, played


def kept(key: str, white: str, black: str, result: str, scheme: Scheme = Scheme.CLASSICAL) -> GameRecord:
    """Return the record of a game won off the board, or stopped where White's score is worth nothing."""
    text = (
        f'[Round "{key}"]\n[White "{white}"]\n[Black "{black}"]\n[Result "{result}"]\n\n1. e4 e5 {result}\n'
    )
    (raw,) = split_games(io.BytesIO(text.encode()))
    outcome = Adjudicator(GameOptions(Variant.R_MOBILITY, scheme=scheme), "/none").judge(raw).outcome
    record = GameRecord.of("games.pgn", TaggedGame(raw, outcome))
    assert record is not None
    return record


def course(*games: str, test: TestSettings | None = None) -> Encounters:
    """Return a match of A and B; games are written by encounter, game and A's result, as ``3.1 1-0``."""
    found = Encounters("AB", 2, test)
    for place, result in map(str.split, games):
        encounter, _, game = place.partition(".")
        if game == "1":
            found.add(kept(f"{encounter}.1.1", "A", "B", result))
        else:
            found.add(kept(f"{encounter}.1.2", "B", "A", result if "/" in result else result[::-1]))
    return found


def test_half_an_encounter_does_not_count() -> None:
    score = course("1.1 1-0", "2.1 1-0", "1.2 1/2-1/2").score()
    assert score is not None
    assert (score.points, score.games) == (Fraction(3, 2), 2)
    half = course("1.1 1-0")
    assert half.score().elo is None  # type: ignore[union-attr]
    assert half.standings(Scheme.CLASSICAL) is None
    whole = course("2.2 1-0", "2.1 0-1", "1.1 1-0").countable_games()
    assert [one.round for one in whole] == ["2.1.1", "2.1.2"]


def test_with_reversed_colours_the_test_is_still_of_the_first_engine() -> None:
    found = Encounters("AB", 2, TestSettings(0, 100))
    found.add(kept("1.1.1", "B", "A", "0-1"))
    found.add(kept("1.1.2", "A", "B", "1-0"))
    told = found.standings(Scheme.CLASSICAL)
    assert told is not None
    assert told.names == ["A", "B"]
    assert told.sprt == sprt([1.0], 0, 100, pairs=True)


def test_a_duel_of_several_encounters_in_a_round() -> None:
    """An example is a knockout of two players."""
    found = course("1.1 1-0", "1.2 1-0")
    found.add(kept("1.2.1", "A", "B", "1/2-1/2"))
    found.add(kept("1.2.2", "B", "A", "1/2-1/2"))
    score = found.score()
    assert score is not None
    assert (score.points, score.games) == (Fraction(3), 4)


def test_the_test_waits_for_earlier_encounters() -> None:
    """Encounters that end early, whoever wins them, are not used before their turn."""
    later = ("2.1 1-0", "2.2 1-0", "3.1 1-0", "3.2 1-0")
    for model in (EloModel.LOGISTIC, EloModel.NORMALISED):
        test = TestSettings(0, 100, model=model)
        found = course(*later, test=test).test()
        assert found is not None
        assert (found.count, found.llr) == (0, 0)
        expected = sprt([0.0, 1.0, 1.0], 0, 100, model=model, pairs=True)
        assert course(*later, "1.1 0-1", "1.2 0-1", test=test).test() == expected


def test_any_fractions_of_points_can_be_tested() -> None:
    """By points of r-mobility the same games prove less."""
    found = Encounters("AB", 1, TestSettings(0, 50))
    for number, result in enumerate(["1-0", "1/2-1/2", "1/2-1/2", "0-1", "1-0"], 1):
        found.add(kept(f"{number}.1.1", "A", "B", result, Scheme.HARMONIC))
    shares = [float(one.points) for one in found.games.values()]
    assert len(set(shares)) == 3
    assert shares[1] not in (0, 0.5, 1)
    assert found.test() == sprt(shares, 0, 50)


def test_a_decided_match_ends(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """B loses every game; the event plays no further game when it is run again."""
    pgn = tmp_path / "games.pgn"
    players = [words("A"), words("B", "none")]
    command = event(
        pgn, *("--rounds", "100000", "--concurrency", "2", "--sprt", "elo0=0", "elo1=400"), players=players
    )
    assert main(command) == 0
    output = capsys.readouterr()
    assert "the test accepts H1" in output.err
    assert "SPRT" in output.out
    text, count = pgn.read_bytes(), len(games_of(pgn))
    assert 8 <= count < 200
    assert main([*command, "--json", "--sprt", "0", "400"]) == 0  # the other spelling
    document = json.loads(capsys.readouterr().out)
    assert document["standings"]["sprt"]["verdict"] == "H1"
    assert document["standings"]["sprt"]["unit"] == "pairs"
    assert pgn.read_bytes() == text


def test_more_than_two_players(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """C mates with Black and is mated with White, so all are level; standings appear during the event."""
    players = [words(name, moves=MATE) for name in "ABC"]
    games = played(tmp_path / "games.pgn", "--ratinginterval", "2", players=players)
    assert len(games) == 6
    output = capsys.readouterr().out
    assert output.count("   1 B ") == 3  # of the first two games with C alone
    assert "3.1.2" not in output
    assert "Crosstable" in output
