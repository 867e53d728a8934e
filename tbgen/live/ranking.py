"""The standings of an event as a document, made anew when they have changed, but not all the time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic
from typing import Any, Final

from tbgen.board.scoring import Scheme
from tbgen.games.standings import LeftOut, Standings
from tbgen.games.standings.table import StandingsTable
from tbgen.games.standings.tables import tables
from tbgen.live.history import FinishedGame
from tbgen.match.reporter import Beginning
from tbgen.match.statistics import Course, Score

__all__ = ["Ranking"]

_LEAST_SECONDS: Final = 1.0
"""Between two standings."""
_REST: Final = 20
"""How many times as long as the last standings took."""
_MOST_IN_CROSSTABLE: Final = 16


class Ranking:
    """Adds up the finished games of an event, in a thread of its own.

    :param tell: is given the standings as a document, in that thread.
    """

    def __init__(self, event: Beginning, tell: Callable[[dict[str, Any]], object]) -> None:
        settings = event.settings
        names = [engine.name for engine in settings.engines]
        self._course = Course(names, settings.games, settings.test)
        self._scheme = event.options.scheme or Scheme.EXPONENTIAL
        self._tell = tell
        self._waiting: SimpleQueue[Sequence[FinishedGame] | None] = SimpleQueue()
        self._thread = Thread(target=self._run, name="ranking", daemon=True)
        self._thread.start()

    def add(self, games: Sequence[FinishedGame]) -> None:
        """Take finished games in."""
        if games:
            self._waiting.put(games)

    def close(self) -> None:
        """Tell the last standings."""
        self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        changed, again = False, 0.0
        while True:
            try:
                games = self._waiting.get(timeout=max(0.0, again - monotonic()) if changed else None)
            except Empty:
                began = monotonic()
                self._tell(self._document())
                changed, again = False, monotonic() + max(_LEAST_SECONDS, _REST * (monotonic() - began))
                continue
            if games is None:
                break
            for game in games:
                self._course.add(game.kept)
            changed = True
        if changed:
            self._tell(self._document())

    def _document(self) -> dict[str, Any]:
        standings, score = self._course.standings(self._scheme), self._course.score()
        return {
            "games": 0 if standings is None else len(standings.games),
            "scoring": self._scheme.value,
            "score": None if score is None else _score(score),
            "tables": [] if standings is None else _tables(standings),
        }


def _tables(standings: Standings) -> list[dict[str, Any]]:
    keys = {"standings"}
    if 2 < len(standings.players) <= _MOST_IN_CROSSTABLE:
        keys.add("crosstable")
    return [_table(table) for table in tables(standings, LeftOut()) if table.key in keys]


def _table(table: StandingsTable) -> dict[str, Any]:
    return {
        "title": table.title,
        "note": table.note,
        "columns": [{"title": column.title, "word": column.word} for column in table.columns],
        "rows": table.shown(),
    }


def _score(score: Score) -> dict[str, Any]:
    found: dict[str, Any] = {
        "player": score.player,
        "opponent": score.opponent,
        "points": float(score.points),
        "games": score.games,
        "elo": None,
        "test": None,
    }
    if score.elo is not None:
        elo = score.elo
        found["elo"] = {
            "difference": _finite(elo.difference),
            "margin": _finite(elo.margin),
            "superiority": elo.superiority,
        }
    if score.test is not None:
        test = score.test
        found["test"] = {
            "llr": test.llr,
            "lower": test.lower,
            "upper": test.upper,
            "verdict": test.verdict,
        }
    return found


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
