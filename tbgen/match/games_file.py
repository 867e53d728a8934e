"""The PGN file of an event: its only state, written game by game, and read when the event goes on.

A game has tags and comments of Cute Chess and cuteRMob, and its outcome as ``tbgen tag`` writes it.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Final

import chess

from tbgen.board.san import move_number
from tbgen.errors import TbgenError, UsageError, printable
from tbgen.games.outcome import RESULTS
from tbgen.games.pgn import tags
from tbgen.games.pgn.files import reading
from tbgen.games.pgn.reader import read_game
from tbgen.games.pgn.splitter import RawGame, split_games
from tbgen.games.settings import GameOptions
from tbgen.games.standings.encounters import Key, finished_game
from tbgen.games.standings.record import GameRecord
from tbgen.games.tagging import tags_of
from tbgen.match.game import PlayedGame
from tbgen.match.settings import EventSettings
from tbgen.system.files import check_name, write_errors
from tbgen.system.locks import try_lock

SCHEDULE: Final = "Schedule"
"""The tag with the digest of the schedule that a game belongs to."""
_COLUMNS: Final = 80


def game_text(game: PlayedGame, settings: EventSettings, digest: str) -> bytes:
    """Return the PGN of a game, with an empty line at its end.

    :param digest: of the event's schedule.
    """
    told = dict(_tags(game, settings, digest))
    lines = [f'[{name} "{_escape(value)}"]' for name, value in told.items()]
    return "\n".join([*lines, "", *_wrap(_words(game)), "", ""]).encode()


def _tags(game: PlayedGame, settings: EventSettings, digest: str) -> Iterator[tuple[str, str]]:
    fixture, opening = game.fixture, game.fixture.opening
    yield "Event", settings.event
    yield "Site", settings.site
    yield "Date", time.strftime("%Y.%m.%d", time.localtime(game.began))
    yield "Round", str(fixture.key)
    yield "White", fixture.white
    yield "Black", fixture.black
    yield "Result", game.outcome.classical
    yield from tags_of(game.outcome).items()
    if opening.komi:
        yield tags.KOMI, opening.komi
    if not opening.standard:
        yield "FEN", opening.start.board.fen()
        yield "SetUp", "1"
        if opening.start.accrued is not None:
            yield tags.ACCRUED_BEFORE, str(opening.start.accrued)
    if opening.start.board.chess960:
        yield "Variant", "fischerandom"
    yield "GameDuration", time.strftime("%H:%M:%S", time.gmtime(game.ended - game.began))
    yield "GameEndTime", _moment(game.ended)
    yield "GameStartTime", _moment(game.began)
    yield "PlyCount", str(len(game.plies))
    yield SCHEDULE, digest
    if game.termination:
        yield "Termination", game.termination
    controls = {engine.name: str(engine.control) for engine in settings.engines}
    white, black = controls[fixture.white], controls[fixture.black]
    if white == black:
        yield "TimeControl", white
    else:
        yield "WhiteTimeControl", white
        yield "BlackTimeControl", black


def _words(game: PlayedGame) -> Iterator[str]:
    """Yield each move with its comment, and the result: what no line break is to part."""
    board = game.fixture.opening.start.board
    number, white = board.fullmove_number, board.turn == chess.WHITE
    if not game.plies:
        yield f"{{{game.reason}}}"
    for at, ply in enumerate(game.plies, 1):
        label = f"{move_number(number, white)} " if white or at == 1 else ""
        comment = f"{ply.comment}, {game.reason}" if at == len(game.plies) else ply.comment
        yield f"{label}{ply.san} {{{comment}}}"
        number, white = number + (not white), not white
    yield game.outcome.classical


def _wrap(words: Iterator[str]) -> Iterator[str]:
    """Yield lines of as many words as they have room for."""
    line = next(words)
    for word in words:
        if len(line) + 1 + len(word) > _COLUMNS:
            yield line
            line = word
        else:
            line = f"{line} {word}"
    yield line


def _moment(seconds: float) -> str:
    moment = datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)
    return f"{moment.isoformat(timespec='milliseconds')} UTC"


def _escape(value: str) -> str:
    """Return a value without what readers of PGN stumble over; names of players have none of it."""
    return printable(value).replace("\\", "/").replace('"', "'")


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
        check_name(path)
        with write_errors(path, remedy=_REMEDY):
            self._file = open(path, "a+b", buffering=0)  # noqa: SIM115
            if not try_lock(self._file.fileno()):
                self.close()
                raise TbgenError(f"another event is writing {path}: wait for its end, or choose another file")

    def close(self) -> None:
        """Write what is left, and let others have the file."""
        self._writer.shutdown()
        self._file.close()

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
            size = self._file.seek(0, os.SEEK_END)
            try:
                left = memoryview(text)
                while left:
                    left = left[self._file.write(left) :]
                os.fsync(self._file.fileno())
            except OSError:
                self._file.truncate(size)
                raise
            self.size = size + len(text)

    def _cut(self, size: int) -> None:
        """Shorten the file to its whole games, and let them end with an empty line."""
        with write_errors(self.path, remedy=_REMEDY):
            if size < self._file.seek(0, os.SEEK_END):
                self._file.truncate(size)
                os.fsync(self._file.fileno())
            self.size = size
            self._file.seek(max(size - 2, 0))
            end = self._file.read(2)
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
