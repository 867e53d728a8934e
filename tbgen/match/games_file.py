"""The PGN file of an event, which is written game by game, and read when the event is resumed.

The file is the only state that an event keeps. Games have the tags and comments that Cute Chess and cuteRMob
write, and the tags that ``tbgen tag`` adds for the outcome.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from io import BytesIO, FileIO
from typing import Final

import chess

from tbgen.board.san import move_prefix
from tbgen.board.scoring import Scheme
from tbgen.errors import TbgenError, UsageError, printable
from tbgen.games.game_options import GameOptions
from tbgen.games.outcome import RESULTS
from tbgen.games.pgn import tags
from tbgen.games.pgn.files import open_for_reading
from tbgen.games.pgn.reader import read_game
from tbgen.games.pgn.splitter import RawGame, split_games
from tbgen.games.result_tags import tags_of
from tbgen.games.standings.encounters import GameId, finished_game
from tbgen.games.standings.record import Format, GameRecord
from tbgen.match.event_settings import EventSettings
from tbgen.match.game import MatchGame
from tbgen.system.files import check_target, write_errors
from tbgen.system.locks import has_path, open_locked, remove_locked, try_lock
from tbgen.text import counted

_MAX_COLUMNS: Final = 80

_REMEDY = "choose another file with --pgn"


def game_text(game: MatchGame, settings: EventSettings, digest: str) -> bytes:
    """Return the PGN of a game, followed by an empty line.

    :param digest: digest of the event's schedule.
    """
    tag_values = dict(_tag_pairs(game, settings, digest))
    lines = [_tag_line(name, value) for name, value in tag_values.items()]
    return "\n".join([*lines, "", *_wrap(_unbreakable_units(game)), "", ""]).encode()


def _tag_line(name: str, value: str) -> str:
    return f'[{name} "{_replace_unsafe(value)}"]'


def _tag_pairs(game: MatchGame, settings: EventSettings, digest: str) -> Iterator[tuple[str, str]]:
    fixture, opening = game.fixture, game.fixture.opening
    yield "Event", settings.event
    yield "Site", settings.site
    yield "Date", time.strftime("%Y.%m.%d", time.localtime(game.start_time))
    yield "Round", str(fixture.key)
    yield "White", fixture.white
    yield "Black", fixture.black
    yield "Result", game.outcome.classical
    yield from tags_of(game.outcome).items()
    if opening.komi:
        yield tags.KOMI, opening.komi
    if not opening.is_standard:
        yield "FEN", opening.start.board.fen()
        yield "SetUp", "1"
        if opening.start.accrued is not None:
            yield tags.START_ACCRUED, str(opening.start.accrued)
    if opening.start.board.chess960:
        yield "Variant", "fischerandom"
    yield "GameDuration", time.strftime("%H:%M:%S", time.gmtime(game.duration))
    yield "GameEndTime", _timestamp(game.end_time)
    yield "GameStartTime", _timestamp(game.start_time)
    yield "PlyCount", str(len(game.plies))
    yield tags.SCHEDULE, digest
    yield tags.TOURNAMENT, str(settings.event_format)
    if game.termination:
        yield "Termination", game.termination
    controls = {entrant.name: str(entrant.control) for entrant in settings.entrants}
    white, black = controls[fixture.white], controls[fixture.black]
    if white == black:
        yield "TimeControl", white
    else:
        yield "WhiteTimeControl", white
        yield "BlackTimeControl", black


def _unbreakable_units(game: MatchGame) -> Iterator[str]:
    """Yield the units that a line break may not split: each move with its comment, and the result."""
    board = game.fixture.opening.start.board
    fullmove = board.fullmove_number
    white = board.turn == chess.WHITE
    if not game.plies:
        yield f"{{{game.ending_text}}}"
    for ply_number, ply in enumerate(game.plies, 1):
        label = f"{move_prefix(fullmove, white)} " if white or ply_number == 1 else ""
        comment = f"{ply.comment}, {game.ending_text}" if ply_number == len(game.plies) else ply.comment
        yield f"{label}{ply.san} {{{comment}}}"
        fullmove = fullmove + (not white)
        white = not white
    yield game.outcome.classical


def _wrap(units: Iterator[str]) -> Iterator[str]:
    """Yield lines, each with as many units as fit."""
    line = next(units)
    for unit in units:
        if len(line) + 1 + len(unit) > _MAX_COLUMNS:
            yield line
            line = unit
        else:
            line = f"{line} {unit}"
    yield line


def _timestamp(seconds: float) -> str:
    moment = datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)
    return f"{moment.isoformat(timespec='milliseconds')} UTC"


def _replace_unsafe(value: str) -> str:
    """Replace the characters of a value that some PGN readers misread.

    Names of players do not contain such characters.
    """
    return printable(value).replace("\\", "/").replace('"', "'")


class GamesFile:
    """A PGN file that only one event writes at a time. A game is written in full and synced, or not at all.

    :param settings: settings of the event. The file need not exist yet.
    :param digests: digests of the event's schedule, each with the number of rounds for which it stands; every
        game in the file must state one of them, and in a knockout that of the settings.
    :param options: options that determine how the event scores games.

    :raises TbgenError: if the file cannot be opened, or another event is writing it.
    """

    def __init__(self, settings: EventSettings, digests: Mapping[str, int], options: GameOptions) -> None:
        self.path = path = settings.pgn
        self.digest = next(digest for digest, rounds in digests.items() if rounds == settings.rounds)
        """Digest of the schedule with the number of rounds of the settings."""
        self.paired_for: dict[int, int] = {}
        """Maps each round with games in the file to the number of rounds for which the digest of its first
        game stands."""
        self._first_line = _tag_line("Event", settings.event).encode()
        self._fixed_rounds = settings.rounds if settings.format is Format.KNOCKOUT else None
        self._rounds = settings.rounds
        self._pairs_by_results = settings.format.waits_for_results
        self._digests, self._options, self._is_new = digests, options, False
        self._game_count = 0
        self._writer = ThreadPoolExecutor(1)
        self.size = 0
        """Size of the file in bytes, valid once :meth:`recover` has been called."""
        check_target(path, remedy=_REMEDY)
        with write_errors(path, remedy=_REMEDY):
            self._file = open_locked(path, self._open, self._lock)

    def _open(self) -> FileIO:
        self._is_new = not self.path.exists()
        return open(self.path, "a+b", buffering=0)

    def _lock(self, descriptor: int) -> None:
        if not try_lock(descriptor):
            raise TbgenError(
                f"another event is writing {self.path}: wait for its end, or choose another file"
            )

    def close(self) -> None:
        """Finish writing, and release the file. An empty file is removed if it did not exist before."""
        self._writer.shutdown()
        with self._file:
            if self._is_new and self._file.seek(0, os.SEEK_END) == 0:
                remove_locked(self._file, self.path)

    def recover(self) -> list[GameRecord]:
        """Remove an incomplete game that a killed process left at the end, and return the games in the file.

        :raises UsageError: if the file contains a game of another event, contains a game twice, or ends with
            text that is not the beginning of a game of this event.
        """
        records: dict[GameId | None, GameRecord] = {}
        read_bytes = complete_bytes = 0
        with open_for_reading(str(self.path)) as source:
            games = split_games(source)
            raw = next(games, None)
            while raw is not None:
                read_bytes += len(raw.data)
                next_raw = next(games, None)
                if not raw.empty and (next_raw is not None or _is_complete(raw)):
                    game = self._record_of(raw)
                    key = GameId.parse(game.round)
                    if key in records:
                        location = f"{self.path}, game {raw.number}, line {raw.line}"
                        raise UsageError(
                            f"{location}: game {key} is in the file a second time: remove one of them"
                        )
                    records[key] = game
                    complete_bytes = read_bytes
                raw = next_raw
        self._check_rest(complete_bytes)
        self._truncate(complete_bytes)
        return list(records.values())

    def _check_rest(self, complete_bytes: int) -> None:
        """Check that the complete games are followed only by the beginning of a game of this event."""
        self._file.seek(complete_bytes)
        file_rest = self._file.read()
        header, has_moves, _ = file_rest.partition(b"\n\n")
        is_own = header.startswith(self._first_line) or self._first_line.startswith(header)
        is_own &= not has_moves or any(
            _tag_line(tags.SCHEDULE, digest).encode() in header for digest in self._digests
        )
        if file_rest.strip() and not is_own:
            raise UsageError(
                f"{self.path} has text that is not from this event: move it elsewhere, or {_REMEDY}"
            )

    async def append(self, pgn: bytes) -> tuple[GameRecord, int]:
        """Write and sync a game; return the game's record, and the new size of the file.

        The game is written even if this coroutine is cancelled.

        :raises TbgenError: if the game cannot be written; the file is then unchanged.
        """
        writing = asyncio.get_running_loop().run_in_executor(self._writer, self._append_now, pgn)
        return await asyncio.shield(writing)

    def _append_now(self, pgn: bytes) -> tuple[GameRecord, int]:
        (raw,) = split_games(BytesIO(pgn))
        raw.number = self._game_count + 1
        record = self._record_of(raw)
        self._write(pgn)
        return record, self.size

    def _write(self, data: bytes) -> None:
        """Append bytes to the file, and sync them.

        :raises TbgenError: if not all of them can be written; the file is then unchanged. Also if the path
            has another file by now.
        """
        with write_errors(self.path, remedy=_REMEDY):
            size = self._file.seek(0, os.SEEK_END)
            try:
                unwritten = memoryview(data)
                while unwritten:
                    unwritten = unwritten[self._file.write(unwritten) :]
                os.fsync(self._file.fileno())
            except OSError:
                self._file.truncate(size)
                raise
            self.size = size + len(data)
        if not has_path(self._file, self.path):
            raise TbgenError(
                f"another program has replaced, renamed or removed {self.path}, so games no longer reach it: "
                "the same command continues from the games that it has"
            )

    def _truncate(self, size: int) -> None:
        """Truncate the file to the ``size`` of its complete games, and make it end with an empty line."""
        with write_errors(self.path, remedy=_REMEDY):
            if size < self._file.seek(0, os.SEEK_END):
                self._file.truncate(size)
                os.fsync(self._file.fileno())
            self.size = size
            self._file.seek(max(size - 2, 0))
            tail = self._file.read(2)
            if size and tail != b"\n\n":
                self._write(b"\n" if tail.endswith(b"\n") else b"\n\n")

    def _record_of(self, raw: RawGame) -> GameRecord:
        """Return the record of a game.

        :raises UsageError: if the game belongs to another event, or its tags have been changed.
        """
        location = f"{self.path}, game {raw.number}, line {raw.line}"
        rounds = self._digests.get(raw.values.get(tags.SCHEDULE, ""))
        if rounds is None:
            raise UsageError(
                f"{location}: this game belongs to an event with other players, options, time controls, "
                "format, openings or seed: use the settings of that event, or choose another file with --pgn"
            )
        if self._fixed_rounds not in (None, rounds):
            raise UsageError(
                f"{location}: the duels of this knockout have {counted(rounds, 'encounter')}, not "
                f"{self._fixed_rounds}: continue it with --rounds {rounds}, or {_REMEDY}"
            )
        game = finished_game(raw, self.path.name, self._options)
        if game is None:
            raise UsageError(
                f"{location}: the tags of this game have been changed: remove it, and it will be played again"
            )
        game_id = GameId.parse(game.round)
        planned_rounds = 0 if self._fixed_rounds or game.event is None else game.event.rounds
        if game_id is not None and min(planned_rounds, game_id.round) > self._rounds:
            raise UsageError(
                f"{location}: round {game_id.round} has begun, and the event would end with round "
                f"{self._rounds}: continue it with --rounds {game_id.round} or more, or {_REMEDY}"
            )
        scheme = GameOptions(self._options.variant).settings(raw.values).scoring.scheme
        required_scheme = self._options.scheme or Scheme.EXPONENTIAL
        if self._pairs_by_results and scheme is not required_scheme:
            raise UsageError(
                f"{location}: the rounds follow from results that were scored as {scheme}, not "
                f"{required_scheme}: continue with --scoring {scheme}, or {_REMEDY}"
            )
        self._game_count += 1
        self.paired_for.setdefault(int(game.round.partition(".")[0]), rounds)
        return game


def _is_complete(raw: RawGame) -> bool:
    """Return whether the last game of a file is complete."""
    result = raw.values.get("Result", "")
    return result in RESULTS and raw.data.split()[-1:] == [result.encode()] and read_game(raw).error is None
