"""The PGN file of an event: its only state, written game by game, and read when the event goes on."""

from __future__ import annotations

import asyncio
import fcntl
import os
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path

from tbgen.errors import TbgenError, UsageError
from tbgen.files import write_errors
from tbgen.games.outcome import RESULTS
from tbgen.games.pgn.files import reading
from tbgen.games.pgn.reader import read_game
from tbgen.games.pgn.splitter import RawGame, split_games
from tbgen.games.settings import GameOptions
from tbgen.games.standings.encounters import Key, finished_game
from tbgen.games.standings.record import GameRecord
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
        self._writer = ThreadPoolExecutor(1)
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
        """Write what is left, and let others have the file."""
        self._writer.shutdown()
        os.close(self._descriptor)

    def recover(self) -> list[GameRecord]:
        """Return the games that are there; what a killed runner has left of one is cut off.

        :raises UsageError: if there are others than those of this event.
        """
        found: dict[Key | None, GameRecord] = {}
        place = whole = 0
        with reading(str(self.path)) as source:
            games = split_games(source)
            raw = next(games, None)
            while raw is not None:
                place += len(raw.data)
                follower = next(games, None)
                if not raw.empty and (follower is not None or _complete(raw)):
                    game = self._finished(raw)
                    key = Key.parse(game.round)
                    if key in found:
                        place_of = f"{self.path}, game {raw.number}, line {raw.line}"
                        raise UsageError(
                            f"{place_of}: game {key} is there a second time: take one of them out"
                        )
                    found[key] = game
                    whole = place
                raw = follower
        self._cut(whole)
        return list(found.values())

    async def append(self, text: bytes) -> tuple[GameRecord, int]:
        """Write a game, and return it as it will be read, and the size of the file with it.

        The game is on the disk then. It also gets there if this is cancelled.

        :raises TbgenError: if that cannot be; then the file is as it was.
        """
        writing = asyncio.get_running_loop().run_in_executor(self._writer, self._append, text)
        return await asyncio.shield(writing)

    def _append(self, text: bytes) -> tuple[GameRecord, int]:
        (raw,) = split_games(BytesIO(text))
        raw.number = self._games + 1
        finished = self._finished(raw)
        self._write(text)
        return finished, self.size

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

    def _finished(self, raw: RawGame) -> GameRecord:
        """Return a game of the event.

        :raises UsageError: if it is none.
        """
        place = f"{self.path}, game {raw.number}, line {raw.line}"
        if raw.values.get(SCHEDULE) != self._digest:
            raise UsageError(
                f"{place}: it is none of this event, which has other players, options, time controls, "
                "format, openings or seed: give the settings that it began with, or another file with --pgn"
            )
        game = finished_game(raw, self.path.name, self._options)
        if game is None:
            raise UsageError(
                f"{place}: its tags have been changed: take it out, and the game is played again"
            )
        self._games += 1
        return game


def _complete(raw: RawGame) -> bool:
    """Tell whether the last game of a file has been written to its end."""
    result = raw.values.get("Result", "")
    words = raw.data.split()
    return result in RESULTS and words[-1:] == [result.encode()] and read_game(raw).error is None
