"""Games that are stopped because Syzygy files, here those of three men, prove their points."""

import json
import shutil
from pathlib import Path

import pytest

from tbgen.cli.main import main
from tbgen.games.pgn.reader import Game
from tests.match.engines import words
from tests.support.matches import event, games_of, last_words, tagged

FILES = Path(__file__).parent.parent / "data" / "syzygy"
QUEEN = "8/8/6k1/8/4K3/8/p7/1Q6 w - - 0 1"
BISHOP = "8/8/6k1/8/4K3/8/p7/1B6 w - - 0 1"
CAPTURE = "b1a2"
MOVES = f"{CAPTURE} g6f6 a2b1 f6g6"


def played(pgn: Path, fen: str, *more: str) -> list[Game]:
    book = pgn.with_suffix(".epd")
    book.write_text(fen)
    players = [words(name, moves=MOVES) for name in "AB"]
    assert main(event(pgn, "--openings", f"file={book}", "--maxmoves", "2", *more, players=players)) == 0
    return games_of(pgn)


@pytest.mark.parametrize(("option", "most_men"), [("--syzygy", 3), ("-tb", 4)])
def test_a_forced_mate_ends_a_game(option: str, most_men: int, tmp_path: Path) -> None:
    """With four men, a capture that wins by the files of three suffices. Tagging again changes nothing."""
    pgn = tmp_path / "games.pgn"
    more = ("-tbpieces", str(most_men), "-tbignore50", "-tbadjudicate", "BOTH")
    for game in played(pgn, QUEEN, option, str(FILES), *more):
        assert [move.uci() for move in game.moves] == ([CAPTURE] if most_men == 3 else [])
        told = [game.tags[name] for name in ("Result", "RMobilityResult", "RMobilityBasis", "Termination")]
        assert told == ["1-0", "G0.0", "adjudication", "adjudication"]
        assert last_words(game) == "White wins by adjudication: SyzygyTB"
    assert tagged(pgn) == pgn.read_bytes()


def test_games_that_are_played_on(tmp_path: Path, own: Path) -> None:
    """Games continue with ``play_on``, and until a table contains the position, which then decides."""
    for more, moves, words_of in (
        (["--play-on"], 4, "maximum length"),
        (["--dir", str(own)], 1, "tablebase"),
    ):
        games = played(tmp_path / f"{moves}.pgn", BISHOP, "--syzygy", str(FILES), *more)
        assert [len(game.moves) for game in games] == [moves] * 2
        assert {last_words(game) for game in games} == {f"End by adjudication: {words_of}"}


def test_a_draw_in_chess_decides_nothing(tmp_path: Path) -> None:
    """A draw by Syzygy files bounds the outcome of a game that stops otherwise."""
    games = played(tmp_path / "games.pgn", BISHOP, "--syzygy", str(FILES))
    for game in games:
        assert len(game.moves) == 4
        assert last_words(game) == "End by adjudication: maximum length"
        assert game.tags["RMobilityBasis"] == "table missing"
        assert game.tags["RMobilityBounds"] == "-G0.5 G0.5"


def test_a_draw_decides_games_that_are_scored_as_chess(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = ("--syzygy", str(FILES), "--scoring", "classical", "--verify-adjudications", "1", "--json")
    for game in played(tmp_path / "games.pgn", BISHOP, *more):
        assert [move.uci() for move in game.moves] == [CAPTURE]
        assert (game.tags["Result"], game.tags["RMobilityBasis"]) == ("1/2-1/2", "bounded")
        assert last_words(game) == "End by adjudication: SyzygyTB"
    assert json.loads(capsys.readouterr().out)["verified_adjudications"] == 0


def test_a_missing_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = tmp_path / "files"
    files.mkdir()
    shutil.copy(FILES / "KNvK.rtbw", files)
    played(tmp_path / "games.pgn", BISHOP, "--syzygy", str(files))
    assert capsys.readouterr().err.count("Syzygy file KBvK.rtbw is missing\n") == 1
