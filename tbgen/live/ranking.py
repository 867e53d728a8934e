"""The standings of an event as a document, made anew when they have changed, but not all the time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from time import monotonic
from typing import Any, Final

from tbgen.games.standings import LeftOut, Standings
from tbgen.games.standings.table import Table
from tbgen.games.standings.tables import tables
from tbgen.live.history import FinishedGame
from tbgen.match.reporter import Beginning
from tbgen.match.statistics import Course, Score
from tbgen.scoring import Scheme

__all__ = ["Ranking"]

_LEAST_SECONDS: Final = 1.0
"""Between two standings."""
_REST: Final = 20
"""How many times as long as the last standings took."""
_MOST_IN_CROSSTABLE: Final = 16


class Ranking:
    """Adds up the finished games of an event."""

    def __init__(self, event: Beginning) -> None:
        settings = event.settings
        names = [engine.name for engine in settings.engines]
        self._course = Course(names, settings.games, settings.test)
        self._scheme = event.options.scheme or Scheme.EXPONENTIAL
        self._changed = False
        self._next = 0.0

    def add(self, games: Sequence[FinishedGame]) -> None:
        """Take finished games in."""
        for game in games:
            self._course.add(game.kept)
            self._changed = True

    def document(self, *, now: bool = False) -> dict[str, Any] | None:
        """Return the standings by whole encounters; None if they are the same, or it is too early to tell.

        :param now: whether it is never too early.
        """
        began = monotonic()
        if not self._changed or (began < self._next and not now):
            return None
        self._changed = False
        standings, score = self._course.standings(self._scheme), self._course.score()
        found = {
            "games": 0 if standings is None else len(standings.games),
            "scoring": self._scheme.value,
            "score": None if score is None else _score(score),
            "tables": [] if standings is None else _tables(standings),
        }
        ended = monotonic()
        self._next = ended + max(_LEAST_SECONDS, _REST * (ended - began))
        return found


def _tables(standings: Standings) -> list[dict[str, Any]]:
    keys = {"standings"}
    if 2 < len(standings.players) <= _MOST_IN_CROSSTABLE:
        keys.add("crosstable")
    return [_table(table) for table in tables(standings, LeftOut()) if table.key in keys]


def _table(table: Table) -> dict[str, Any]:
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
