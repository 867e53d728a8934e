"""Events of scripted engines, played by the command in the process of the test."""

import io
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tbgen.cli.main import main
from tbgen.games.pgn.reader import Game, read_games
from tbgen.games.tagging import Adjudicator, tag_games
from tests.match.engines import words
from tests.support.exhaustive import sample

NODES = ("--each", "nodes=10", "start=60")

OFTEN = int(os.environ.get("TBGEN_TEST_OFTEN", sample(1, 12)))
"""How often a runner is killed, and a twentieth of the games after which nothing may be left."""


def event(
    pgn: Path, *more: str, players: Sequence[Sequence[str]] | None = None, each: Sequence[str] = NODES
) -> list[str]:
    """The command for an event, by default of two engines that play a draw by repetition."""
    found = ["match", "--pgn", str(pgn), "--dir", str(pgn.parent / "none")]
    for player in players or (words("A"), words("B")):
        found += ["--engine", *player]
    return [*found, *each, *more]


def played(
    pgn: Path, *more: str, players: Sequence[Sequence[str]] | None = None, code: int = 0
) -> list[Game]:
    """The games of an event that has been played to its end."""
    assert main(event(pgn, *more, players=players)) == code
    return games_of(pgn)


def games_of(pgn: Path) -> list[Game]:
    """The games of a file, all of them sound."""
    with pgn.open("rb") as file:
        games = list(read_games(file))
    assert [game.error for game in games] == [None] * len(games)
    return games


def tagged(pgn: Path, tables: Path | None = None) -> bytes:
    """The file as ``tbgen tag`` makes it anew."""
    adjudicator = Adjudicator(directory=pgn.parent / "none" if tables is None else tables)
    return b"".join(game.data for game in tag_games(io.BytesIO(pgn.read_bytes()), adjudicator))


def last_words(game: Game) -> str:
    """Why a game is over."""
    return game.comment.rpartition(", ")[2]


def children(parent: int = os.getpid()) -> set[int]:
    """The processes that a process has started, and those that run no more but are not buried."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(path.read_text().rpartition(")")[2].split()[1]) == parent:
                found.add(int(path.parent.name))
    return found


def gone(process: int) -> bool:
    """Whether a process ends, in five minutes."""
    for _ in range(6000):
        try:
            if Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.05)
    return False
