"""PGN of other programs: their oddities in made-up games, and the files below ``$TBGEN_TEST_PGN``."""

import io
import os
from pathlib import Path

import chess.pgn
import pytest

from tbgen.games.pgn.reader import read_game
from tbgen.games.pgn.splitter import split_games
from tbgen.games.tagging import Adjudicator, TaggedGame, tag_games

BACK_RANK = "nbbrknrq/pppppppp/8/8/8/8/PPPPPPPP/NBBRKNRQ w KQkq - 0 1"


def tagged(data: bytes) -> list[TaggedGame]:
    games = list(tag_games(io.BytesIO(data), Adjudicator(directory="there/are/none")))
    assert b"".join(game.raw.data for game in games) == data
    return games


def results(text: str) -> list[str]:
    """Return result and basis of each game, or its error."""
    return [
        f"{game.outcome.value} {game.outcome.basis}" if game.outcome else str(game.error)
        for game in tagged(text.encode())
    ]


def test_a_byte_order_mark_and_games_without_moves() -> None:
    text = '\ufeff[Event "A"]\n[Result "*"]\n\n *\n\n[Event "B"]\n[Result "*"]\n\n *\n\n'
    assert results(text) == ["-G20.5 played"] * 2
    assert tagged(text.encode())[0].data.startswith(
        b'\xef\xbb\xbf[Event "A"]\n[Result "*"]\n[RMobilityResult'
    )


def test_moves_in_uci_notation() -> None:
    """Moves include castling; each line is a game."""
    text = '[Result "1/2-1/2"]\n\ng1f3 g8f6 g2g3 g7g6 f1g2 f8g7 e1g1 e8g8 1/2-1/2\n'
    assert results(text) == results(f'[Result "1/2-1/2"]\n\n{sans(text)} 1/2-1/2\n')
    assert results("f2f3 e7e5 g2g4 d8h4 0-1") == ["-G0.0 mate"]


def sans(text: str) -> str:
    game = chess.pgn.read_game(io.StringIO(text))
    assert game is not None
    return chess.Board().variation_san(game.mainline_moves())


def test_chess960_with_castling() -> None:
    for name in ("fischerandom", "Chess960", "Fischerandom", "chess 960"):
        text = f'[FEN "{BACK_RANK}"]\n[Variant "{name}"]\n\n1. Ne3 {{x}} Ne6 2. %s *\n'
        (castled,) = tagged((text % "O-O O-O").encode())
        assert castled.error is None
        (wrong,) = tagged((text % "O-O O-O 3. O-O").encode())
        assert str(wrong.error) == "game 1, line 4, ply 5: 'O-O' is not a legal move"


def test_other_variants_pass_through() -> None:
    text = '[Variant "Crazyhouse"]\n\n1. e4 d5 2. exd5 Qxd5 3. P@d6 *\n\n'
    known = '[Variant "Standard"]\n\n1. f3 e5 2. g4 Qh4# 0-1\n'
    unknown = "game 1, line 1: the variant 'Crazyhouse' is not refereed here"
    assert results(text + known) == [unknown, "-G0.0 mate"]
    assert tagged(text.encode())[0].data == text.encode()


GIVEN = sorted(Path(os.environ["TBGEN_TEST_PGN"]).rglob("*.pgn")) if os.environ.get("TBGEN_TEST_PGN") else []


@pytest.mark.parametrize("path", GIVEN, ids=lambda path: path.name)
def test_files_of_the_environment(path: Path) -> None:
    """No byte is lost, games have the moves of python-chess, and broken games have an error."""
    data = path.read_bytes()
    games = tagged(data)
    stream = io.StringIO(data.decode("utf-8-sig", "replace"))
    for game in games:
        other = chess.pgn.read_game(stream)
        assert other is not None
        if game.error is not None:
            assert game.data == game.raw.data
            assert "is not refereed here" in str(game.error) or "is not a legal move" in str(game.error)
        else:
            assert read_game(game.raw).moves == list(other.mainline_moves())
    assert chess.pgn.read_game(stream) is None
    again = b"".join(game.data for game in games)
    assert b"".join(game.data for game in tagged(again)) == again
    assert len(list(split_games(io.BytesIO(again)))) == len(games)
