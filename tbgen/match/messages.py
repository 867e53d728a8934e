"""The messages of a running event, its summary, and its live file, which other programs can follow."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from tbgen.games.live_file import (
    EventEnd,
    EventStart,
    GameEnd,
    GameMove,
    GamesPaired,
    GameStart,
    GameThought,
    LiveLine,
    Termination,
    encode_line,
    live_path,
)
from tbgen.games.standings import Standings
from tbgen.games.standings.encounters import MatchScore
from tbgen.system.files import rename_locked
from tbgen.system.locks import try_lock

_MAX_BYTES: Final = 16 << 20
"""Size above which a new live file, with only the games in play, replaces the old one."""


@dataclass(frozen=True, slots=True)
class ScoreUpdate:
    """The score of a match of two players, or the standings of more, without incomplete encounters."""

    score: MatchScore | None
    standings: Standings | None


@dataclass(frozen=True, slots=True)
class Endings:
    """How often each ending has occurred so far in the games of each player."""

    counts_by_player: Mapping[str, Counter[str]]


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence for the person who runs the event."""

    text: str


Message: TypeAlias = (
    EventStart | GamesPaired | GameStart | GameMove | GameThought | GameEnd | ScoreUpdate | Endings | Note
)

Listener: TypeAlias = Callable[[Message], object]
"""Function called with each message of an event; it must return at once, because clocks are running."""


@dataclass(slots=True)
class Summary:
    """The results of an event, for the report at its end."""

    standings: Standings | None = None
    """The standings from the complete encounters, with the result of the event."""
    games: int = 0
    """Number of finished games, including those of earlier runs."""
    faults: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """For each player and fault: the number of games that the player has lost because of this fault."""
    verified_count: int = 0
    """Number of adjudications that this run has verified by playing on."""
    thinking_seconds: float = 0.0
    """Total thinking time of all engines in this run, in seconds."""

    @property
    def winner(self) -> str | None:
        """The winner of the event; None if several players share the first place."""
        result = None if self.standings is None else self.standings.result
        return None if result is None else result.winner

    @property
    def uncounted(self) -> int:
        """Number of finished games that do not count, because their encounters are incomplete."""
        return self.games - (0 if self.standings is None else len(self.standings.games))


class LiveWriter(AbstractContextManager["LiveWriter"]):
    """Writes the live file of an event. After the first error, which it reports, it writes nothing more.

    :param pgn_path: path of the event's PGN file; the path of the live file is derived from it.
    :param warn: called with a sentence about the first error.
    """

    def __init__(self, pgn_path: Path, warn: Callable[[str], object]) -> None:
        self._path = live_path(pgn_path)
        self._warn = warn
        self._file: FileIO | None = None
        self._start: EventStart | None = None
        self._paired = b""
        """The line with the games of the current round."""
        self._game_lines: dict[str, list[bytes]] = {}
        """For the key of each game in play: the lines written about the game."""

    def __exit__(self, error_type: type[BaseException] | None, *_: object) -> None:
        if self._start is not None:
            self._write(EventEnd(Termination.FINISHED if error_type is None else Termination.STOPPED))
        self._close()

    def __call__(self, message: Message) -> None:
        """Append a message to the file, unless the message is only for the terminal."""
        match message:
            case EventStart():
                self._begin(message)
            case GamesPaired():
                self._paired = self._write(message)
            case GameStart():
                self._game_lines[message.key] = [self._write(message)]
            case GameMove():
                self._game_lines[message.key].append(self._write(message))
            case GameThought():
                self._write(message)
            case GameEnd() if self._start is not None:
                del self._game_lines[message.key]
                self._write(message)
                if self._file is not None and self._file.tell() > _MAX_BYTES:
                    progress = {"size": message.size, "finished": message.finished}
                    self._begin(msgspec.structs.replace(self._start, **progress))

    def _begin(self, start: EventStart) -> None:
        """Begin a new file, which replaces an older file atomically."""
        self._start = start
        partial_path = self._path.with_name(f"{self._path.name}.part")
        lines = b"".join(
            [encode_line(start), self._paired, *(line for game in self._game_lines.values() for line in game)]
        )
        try:
            partial_path.unlink(missing_ok=True)  # opening a pipe would wait for its reader
            file = partial_path.open("wb", buffering=0)
            self._close()
            self._file = file
            with suppress(OSError):  # some file systems do not support locks
                try_lock(file.fileno())
            file.write(lines)
            self._file = rename_locked(file, partial_path, self._path)
        except OSError as error:
            self._give_up(error)

    def _write(self, line: LiveLine) -> bytes:
        text = encode_line(line)
        if self._file is not None:
            try:
                if self._file.write(text) < len(text):
                    raise OSError(0, "the disk is full")
            except OSError as error:
                self._give_up(error)
        return text

    def _give_up(self, error: OSError) -> None:
        self._close()
        self._warn(f"{self._path} cannot be written ({error.strerror}): the event continues without it")

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
