"""What spectators see of an event: documents for JSON, all that there is at a time and what changes."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic
from typing import Any, Final

import chess

from tbgen.board.variant import Variant
from tbgen.games.pgn import tags
from tbgen.games.referee.arbiter import Arbiter
from tbgen.games.settings import GameOptions
from tbgen.live.history import FinishedGame
from tbgen.live.messages import Ended, Finished, Message, Moved, Over, Started
from tbgen.match.reporter import Beginning
from tbgen.match.schedule import Fixture, Key

__all__ = ["MOST_GAMES", "Change", "Show"]

Change = tuple[str, dict[str, Any]]
"""The name of an event, and its document."""

MOST_GAMES: Final = 50
"""Finished games of one answer."""


class _Playing:
    """A game in play, followed by an arbiter of its own."""

    def __init__(self, fixture: Fixture, options: GameOptions) -> None:
        opening = fixture.opening
        given = {tags.KOMI: opening.komi} if opening.komi else {}
        self._fixture = fixture
        self._arbiter = Arbiter.of(opening.start, options.settings(given))
        self._first = {"fen": self._arbiter.board.fen(), "accrued": str(self._arbiter.accrued)}
        self._plies: list[dict[str, Any]] = []
        self._left: dict[str, float | None] = {}
        self._since = monotonic()

    def move(self, message: Moved) -> dict[str, Any]:
        """Make a move, and return what it changes."""
        san = self._arbiter.board.san(message.move)
        self._arbiter.push(message.move)
        self._since = monotonic()
        self._left = {chess.COLOR_NAMES[side]: left for side, left in message.left.items()}
        ply = {
            "uci": message.move.uci(),
            "san": san,
            "accrued": str(self._arbiter.accrued),
            "comment": message.comment,
        }
        self._plies.append(ply)
        return {"key": str(message.key), "ply": ply, "fen": self._arbiter.board.fen(), "left": self._left}

    def document(self) -> dict[str, Any]:
        return {
            "key": str(self._fixture.key),
            "number": self._fixture.number,
            "white": self._fixture.white,
            "black": self._fixture.black,
            "start": self._first,
            "fen": self._arbiter.board.fen(),
            "plies": self._plies,
            "left": self._left,
            "since": round(monotonic() - self._since, 1),
        }


class Show:
    """An event as spectators see it."""

    def __init__(self) -> None:
        self._event: Beginning | None = None
        self._playing: dict[Key, _Playing] = {}
        self._finished: list[dict[str, Any]] = []
        self._places: dict[str, slice] = {}
        self._standings: dict[str, Any] | None = None
        self._ended: Ended | None = None

    def take(self, message: Message, games: Sequence[FinishedGame]) -> Change | None:
        """Take in what the runner tells, and return what changes; None if all has to be shown anew.

        :param games: those that the file has got since.
        """
        for game in games:
            self._finished.append(game.document())
            self._places[str(game.kept.key)] = game.place
        match message:
            case Beginning():
                self._event = message
                return None
            case Started(fixture):
                assert self._event is not None
                playing = self._playing[fixture.key] = _Playing(fixture, self._event.options)
                return "started", playing.document()
            case Moved():
                return "moved", self._playing[message.key].move(message)
            case Finished():
                del self._playing[message.key]
                change = {"key": str(message.key), "reason": message.reason}
                new = self._finished[len(self._finished) - len(games) :]
                return "finished", {**change, "total": len(self._finished), "games": new}
            case Over(how):
                return self.end(how)

    def rank(self, standings: dict[str, Any]) -> Change:
        """Take standings in."""
        self._standings = standings
        return "standings", standings

    def end(self, how: Ended) -> Change:
        """Note that no more will come."""
        self._ended = how
        return "over", {"how": how.value}

    @property
    def over(self) -> bool:
        """Whether no more will come."""
        return self._ended is not None

    def document(self) -> dict[str, Any]:
        """Return all that there is now, but for the older of the finished games."""
        return {
            "event": self._head(),
            "playing": [game.document() for game in self._playing.values()],
            "standings": self._standings,
            "finished": self.finished(),
            "over": None if self._ended is None else self._ended.value,
        }

    def finished(self, before: int | None = None) -> dict[str, Any]:
        """Return finished games, the last ones first.

        :param before: the number of a game; only earlier ones are wanted.
        """
        end = len(self._finished) if before is None else min(max(before - 1, 0), len(self._finished))
        found = self._finished[max(0, end - MOST_GAMES) : end]
        return {"total": len(self._finished), "games": found[::-1]}

    def place(self, key: str) -> slice | None:
        """Return where in the file a finished game stands."""
        return self._places.get(key)

    @property
    def rules(self) -> str:
        """The name of the variant that is played."""
        return str(Variant.R_MOBILITY if self._event is None else self._event.options.variant)

    def _head(self) -> dict[str, Any] | None:
        if self._event is None:
            return None
        settings, options = self._event.settings, self._event.options
        return {
            "name": "" if settings.event == "?" else settings.event,
            "site": "" if settings.site == "?" else settings.site,
            "format": settings.format.value,
            "rules": options.variant.value,
            "players": [{"name": engine.name, "control": str(engine.control)} for engine in settings.engines],
            "rounds": settings.rounds,
            "total": self._event.total,
            "concurrency": settings.concurrency,
        }
