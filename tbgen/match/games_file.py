"""The PGN file of an event: its only state, written game by game, and read when the event goes on."""

from __future__ import annotations

import fcntl
import os
from io import BytesIO
from pathlib import Path

from tbgen.errors import TbgenError, UsageError
from tbgen.files import write_errors
from tbgen.games.pgn.files import reading
from tbgen.games.pgn.reader import RESULTS, read_game
from tbgen.games.pgn.splitter import RawGame, split_games
from tbgen.games.settings import GameOptions
from tbgen.games.standings.encounters import FinishedGame, Key, finished_game
from tbgen.match.record import SCHEDULE

_REMEDY = "choose another file with --pgn"


class GamesFile:
    """A PGN file that one event at a time writes; a game is in it as a whole, on the disk, or not at all.

    :param path: it need not exist.
    :param digest: of the event's schedule, which the games in the file must have been played by.
    :param options: by what the event scores games.

    :raises TbgenError: if it cannot be opened, or another process has it.
    """

    def __init__(self, path: Path, digest: str, options: GameOptions) -> None:
        self.path = path
        self._digest, self._options = digest, options
        self._games = 0
        self.size = 0
        """Bytes, once :meth:`recover` has been called."""
        with write_errors(path, remedy=_REMEDY):
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.close()
            raise TbgenError(
                f"another event is writing {path}: wait for its end, or choose another file"
            ) from None

    def close(self) -> None:
        """Close the file, and let others have it."""
        os.close(self._descriptor)

    def recover(self) -> dict[Key, FinishedGame]:
        """Return the games that are there; what a killed runner has left of one is cut off.

        :raises UsageError: if there are others than those of this event.
        """
        found: dict[Key, FinishedGame] = {}
        place, whole = 0, 0
        last: RawGame | None = None
        with reading(str(self.path)) as source:
            for raw in split_games(source):
                if last is not None and not last.empty:
                    self._keep(last, found)
                    whole = place
                place += len(raw.data)
                last = raw
        if last is not None and _complete(last):
            self._keep(last, found)
            whole = place
        self._cut(whole)
        return found

    def append(self, text: bytes) -> FinishedGame:
        """Write a game, see to it that it is on the disk, and return it as it will be read.

        :raises TbgenError: if that cannot be; then the file is as it was.
        """
        found: dict[Key, FinishedGame] = {}
        for raw in split_games(BytesIO(text)):
            raw.number = self._games + 1
            self._keep(raw, found)
        self._write(text)
        return next(iter(found.values()))

    def _write(self, text: bytes) -> None:
        """Write bytes to the end of the file as a whole.

        :raises TbgenError: if that cannot be; then the file is as it was.
        """
        with write_errors(self.path, remedy=_REMEDY):
            size = os.fstat(self._descriptor).st_size
            try:
                left = memoryview(text)
                while left:
                    left = left[os.write(self._descriptor, left) :]
                os.fsync(self._descriptor)
            except OSError:
                os.ftruncate(self._descriptor, size)
                raise
            self.size = size + len(text)

    def _cut(self, size: int) -> None:
        """Shorten the file to its whole games, and let them end with an empty line."""
        with write_errors(self.path, remedy=_REMEDY):
            if size < os.fstat(self._descriptor).st_size:
                os.ftruncate(self._descriptor, size)
                os.fsync(self._descriptor)
            self.size = size
            end = os.pread(self._descriptor, 2, max(size - 2, 0))
            if size and end != b"\n\n":
                self._write(b"\n" if end.endswith(b"\n") else b"\n\n")

    def _keep(self, raw: RawGame, found: dict[Key, FinishedGame]) -> None:
        """Add a game to those found.

        :raises UsageError: if it is none of this event.
        """
        place = f"{self.path}, game {raw.number}, line {raw.line}"
        if raw.values.get(SCHEDULE) != self._digest:
            raise UsageError(
                f"{place}: it is none of this event, which has other players, options, time controls, "
                "format, openings or seed: give the settings that it began with, or another file with --pgn"
            )
        kept = finished_game(raw, self.path.name, self._options)
        if kept is None:
            raise UsageError(
                f"{place}: its tags have been changed: take it out, and the game is played again"
            )
        if kept.key in found:
            raise UsageError(f"{place}: game {kept.key} is there a second time: take one of them out")
        self._games += 1
        found[kept.key] = kept


def _complete(raw: RawGame) -> bool:
    """Tell whether the last game of a file has been written to its end."""
    result = raw.values.get("Result", "")
    words = raw.data.split()
    return result in RESULTS and words[-1:] == [result.encode()] and read_game(raw).error is None
