"""Starts of games, input of engines, komi and accrued scores; and games of real engines."""

import json
import shutil
from pathlib import Path

import chess
import pytest

from tbgen.cli.main import main
from tests.match.engines import PAWNS, words
from tests.support.commands import failure
from tests.support.matches import event, games_of, last_words, played, tagged

STOCKFISH = shutil.which("stockfish") or shutil.which("stockfish", path="/usr/games")


def lines(log: Path, direction: str, word: str) -> list[str]:
    """Return the input or the output of an engine, by its log."""
    found = (line.split(f" {direction} ", 1) for line in log.read_text().splitlines())
    return [line[1] for line in found if len(line) == 2 and line[1].startswith(word)]


def test_engines_get_the_start_and_all_moves(tmp_path: Path) -> None:
    """White separates words by tabs, and receives an option in another spelling once."""
    pgn, log = tmp_path / "games.pgn", tmp_path / "log"
    players = [[*words("A", "tabs"), "option.hash=32"], words("B")]
    played(pgn, "--games", "1", "--maxmoves", "2", "--log", str(log), players=players)
    assert lines(log / "A.log", ">", "setoption name Hash") == ["setoption name Hash value 32"] * 2
    assert "1. Nf3 {+0.12/3 " in pgn.read_text()
    positions = [line.removesuffix(" moves") for line in lines(log / "A.log", ">", "position")]
    assert positions == ["position startpos", "position startpos moves g1f3 g8f6"]
    assert lines(log / "B.log", ">", "go") == ["go nodes 10"] * 2
    assert lines(log / "B.log", ">", "ucinewgame") == ["ucinewgame"]
    assert lines(log / "B.log", "<", "bestmove") == ["bestmove g8f6", "bestmove f6g8"]


def test_book_moves_are_marked_and_the_komi_counts(tmp_path: Path) -> None:
    pgn, book = tmp_path / "games.pgn", tmp_path / "book.pgn"
    book.write_text('[Komi "G3.75"]\n\n1. Nf3 Nf6 2. Ng1 *\n')
    games = played(pgn, "--openings", f"file={book}", "plies=2", "--scoring", "komi")
    assert [game.tags["Komi"] for game in games] == ["G3.75"] * 2
    assert {game.tags["Points"] for game in games} == {"0-1"}  # -G20.5 is no G3.75 of White
    assert pgn.read_text().count("{book}") == 4
    assert "1. Nf3 {book} Nf6 {book} 2. Ng1 {+0.12/3 " in pgn.read_text()
    assert tagged(pgn) == pgn.read_bytes()


def test_an_accrued_score_is_sent_and_recorded(tmp_path: Path) -> None:
    """Engines with the option receive the score, and start the next game without it."""
    pgn, log, book = tmp_path / "games.pgn", tmp_path / "log", tmp_path / "book.epd"
    start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 4 3"
    book.write_text(f"{start} G1.5\n{start}\n")
    games = played(pgn, "--openings", f"file={book}", "--games", "1", "--rounds", "2", "--log", str(log))
    assert [game.tags.get("FENAccrued") for game in games] == ["G1.5", None]
    assert [game.tags["RMobilityResult"] for game in games] == ["G1.5", "-G20.5"]
    assert [game.tags["FEN"] for game in games] == [start] * 2
    assert lines(log / "A.log", ">", "setoption") == [
        "setoption name UCI_Variant value rmobility",  # when it is tried
        "setoption name UCI_Variant value rmobility",
        "setoption name Accrued value G1.5",
        "setoption name Accrued value <empty>",
    ]
    assert tagged(pgn) == pgn.read_bytes()


def test_chess960(tmp_path: Path) -> None:
    players = [words(name, moves=PAWNS) for name in "AB"]
    for variant in ("chess960", "dfrc"):
        pgn, log = tmp_path / f"{variant}.pgn", tmp_path / variant
        more = ("--rounds", "2", "--maxmoves", "3", "--log", str(log))
        games = played(pgn, "--variant", variant, *more, players=players)
        fens = [game.tags["FEN"] for game in games]
        assert fens == [fens[0], fens[0], fens[2], fens[2]]
        assert fens[0] != fens[2]
        assert {(len(game.moves), game.tags.get("Variant")) for game in games} == {(6, "fischerandom")}
        first, *_ = lines(log / "A.log", ">", "position fen")
        assert chess.Board(first.split("fen ")[1].split(" moves")[0], chess960=True).fen() == fens[0]
        assert "setoption name UCI_Chess960 value true" in (log / "A.log").read_text()
        assert tagged(pgn) == pgn.read_bytes()


def test_an_engine_without_chess960_is_rejected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    players = [words("A"), words("B", "plain-chess")]
    book = tmp_path / "book.epd"
    book.write_text("bbqnnrkr/pppppppp/8/8/8/8/PPPPPPPP/BBQNNRKR w KQkq - 0 1\n")
    for more in (("--variant", "chess960"), ("--openings", f"file={book}")):
        command = event(tmp_path / "a.pgn", *more, players=players)
        assert "B does not play Chess960" in failure(capsys, 2, *command)


@pytest.mark.skipif(
    STOCKFISH is None, reason="Stockfish is not installed (Debian: apt-get install stockfish)"
)
@pytest.mark.parametrize(
    "more", ["-openings file={book}", pytest.param("-variant fischerandom", marks=pytest.mark.exhaustive)]
)
def test_stockfish_plays_against_itself(
    more: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """From a rook ending to any end, and in Chess960; the clock runs, but nodes limit the searches."""
    book, pgn = tmp_path / "book.epd", tmp_path / "games.pgn"
    book.write_text("8/5k2/8/8/8/3R4/2K5/7r w - - 0 1\n")
    command = ["match", "--dir", str(tmp_path / "none"), "-pgnout", str(pgn), "--json", "-games", "1"]
    for name, size in (("A", 16), ("B", 1)):
        command += ["-engine", f"cmd={STOCKFISH}", f"name={name}", f"option.Hash={size}"]
    command += ["-each", "nodes=100", "tc=20/1000+0.01", "-maxmoves", "40", *more.format(book=book).split()]
    assert main(command) == 0
    assert json.loads(capsys.readouterr().out)["faults"] == {}
    assert tagged(pgn) == pgn.read_bytes()
    (game,) = games_of(pgn)
    ends = ("repetition", "fifty-move rule", "bare kings", "mate", "stalemate", "played")
    assert game.tags["RMobilityBasis"] in ends
    assert game.tags["TimeControl"] == "20/1000+0.01"
    assert last_words(game).startswith(("End by ", "White mates", "Black mates"))
