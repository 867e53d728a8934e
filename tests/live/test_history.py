"""Finished games, read from the file of an event as it grows."""

from pathlib import Path

import pytest

from tbgen.board.variant import Variant
from tbgen.games.settings import FiftyMoveRule, GameOptions
from tbgen.live.history import History
from tests.match.engines import MATE, words
from tests.support.matches import played

OPTIONS = GameOptions(Variant.R_MOBILITY, FiftyMoveRule.IMPROVING)


@pytest.fixture
def pgn(tmp_path: Path) -> Path:
    """Two games, of repetition and of mate, and the beginning of another one."""
    for name, moves in (("a", None), ("b", MATE)):
        players = [words(each, moves=moves) if moves else words(each) for each in "AB"]
        played(tmp_path / f"{name}.pgn", "--games", "1", players=players)
    found = tmp_path / "games.pgn"
    first, second = ((tmp_path / f"{name}.pgn").read_bytes() for name in "ab")
    found.write_bytes(first + second.replace(b'[Round "1.1.1"]', b'[Round "2.1.1"]') + b'[Event "?"]\n[Rou')
    return found


def test_games_come_up_to_where_the_file_is_whole(pgn: Path) -> None:
    whole = pgn.stat().st_size - len(b'[Event "?"]\n[Rou')
    middle = pgn.read_bytes().index(b"[Event", 10)
    history = History(pgn, OPTIONS)
    (first,) = history.read(middle)
    assert history.read(middle) == []
    (second,) = history.read(whole)
    assert [(game.number, str(game.kept.key)) for game in (first, second)] == [(1, "1.1.1"), (2, "2.1.1")]
    assert [(game.reason, game.plies) for game in (first, second)] == [
        ("End by 3-fold repetition", 8),
        ("Black mates", 4),
    ]
    assert history.text(first.place) + history.text(second.place) == pgn.read_bytes()[:whole]
    assert [game.number for game in History(pgn, OPTIONS).read(whole)] == [1, 2]


def test_a_file_that_is_taken_away_has_no_more_games(pgn: Path) -> None:
    history = History(pgn, OPTIONS)
    (first,) = history.read(pgn.read_bytes().index(b"[Event", 10))
    pgn.unlink()
    assert history.read(10_000) == []
    assert history.text(first.place) == b""
