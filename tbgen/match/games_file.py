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
_REMEDY: Final = "choose another file with --pgn"


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
    fixture = game.fixture
    opening = fixture.opening
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
    yield "GameDuration", _duration_text(game.duration)
    yield "GameEndTime", _timestamp(game.end_time)
    yield "GameStartTime", _timestamp(game.start_time)
    yield "PlyCount", str(len(game.plies))
    yield tags.SCHEDULE, digest
    yield tags.TOURNAMENT, str(settings.event_format)
    if game.termination:
        yield "Termination", game.termination
    controls = {entrant.name: str(entrant.control) for entrant in settings.entrants}
    white_control, black_control = controls[fixture.white], controls[fixture.black]
    if white_control == black_control:
        yield "TimeControl", white_control
    else:
        yield "WhiteTimeControl", white_control
        yield "BlackTimeControl", black_control


def _unbreakable_units(game: MatchGame) -> Iterator[str]:
    """Yield the units that a line break may not split: each move with its comment, and the result."""
    board = game.fixture.opening.start.board
    fullmove = board.fullmove_number
    white_to_move = board.turn == chess.WHITE
    if not game.plies:
        yield f"{{{game.ending_text}}}"
    for ply_number, ply in enumerate(game.plies, 1):
        label = f"{move_prefix(fullmove, white_to_move)} " if white_to_move or ply_number == 1 else ""
        comment = f"{ply.comment}, {game.ending_text}" if ply_number == len(game.plies) else ply.comment
        yield f"{label}{ply.san} {{{comment}}}"
        fullmove += not white_to_move
        white_to_move = not white_to_move
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


def _duration_text(seconds: float) -> str:
    """Return a duration as hours, minutes and seconds.

    >>> _duration_text(59.9), _duration_text(25 * 3600 + 61)
    ('00:00:59', '25:01:01')
    """
    minutes, whole_seconds = divmod(int(seconds), 60)
    return f"{minutes // 60:02}:{minutes % 60:02}:{whole_seconds:02}"


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
    :param digests: digests of the event's schedule, each with the number of rounds of that schedule. Every
        game in the file must state one of them, and in a knockout that of the settings.
    :param options: options that determine how the event scores games.

    :raises TbgenError: if the file cannot be opened.
    :raises UsageError: if another event is writing it.
    """

    def __init__(self, settings: EventSettings, digests: Mapping[str, int], options: GameOptions) -> None:
        self.path = path = settings.pgn
        self.digest = next(digest for digest, rounds in digests.items() if rounds == settings.rounds)
        """Digest of the schedule with the number of rounds of the settings."""
        self.rounds_when_paired: dict[int, int] = {}
        """For each round with games in the file: the number of rounds of the schedule that its first game
        states."""
        self._first_line = _tag_line("Event", settings.event).encode()
        self._fixed_rounds = settings.rounds if settings.format is Format.KNOCKOUT else None
        self._rounds = settings.rounds
        self._pairs_by_results = settings.format.waits_for_results
        self._digests = digests
        self._options = options
        self._is_new = False
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
            raise UsageError(
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
                    record = self._checked_record(raw)
                    game_id = GameId.parse(record.round)
                    if game_id in records:
                        location = f"{self.path}, {raw.place}"
                        raise UsageError(
                            f"{location}: game {game_id} is in the file a second time: remove one of them"
                        )
                    records[game_id] = record
                    self._count(raw, record)
                    complete_bytes = read_bytes
                raw = next_raw
        self._check_rest(complete_bytes)
        self._truncate(complete_bytes)
        return list(records.values())

    def _check_rest(self, complete_bytes: int) -> None:
        """Check that the complete games are followed only by the beginning of a game of this event."""
        self._file.seek(complete_bytes)
        file_rest = self._file.read()
        header, separator, _ = file_rest.partition(b"\n\n")
        begins_as_own = header.startswith(self._first_line) or self._first_line.startswith(header)
        has_digest = any(_tag_line(tags.SCHEDULE, digest).encode() in header for digest in self._digests)
        if file_rest.strip() and not (begins_as_own and (has_digest or not separator)):
            raise UsageError(
                f"{self.path} has text that is not from this event: move it elsewhere, or {_REMEDY}"
            )

    async def append(self, pgn: bytes) -> tuple[GameRecord, int]:
        """Write and sync a game; return the game's record, and the new size of the file.

        The game is written even if this coroutine is cancelled.

        :raises TbgenError: if the game cannot be written (the file is then unchanged), or if the path no
            longer leads to this file (the game is then lost).
        """
        writing = asyncio.get_running_loop().run_in_executor(self._writer, self._append_now, pgn)
        return await asyncio.shield(writing)

    def _append_now(self, pgn: bytes) -> tuple[GameRecord, int]:
        (raw,) = split_games(BytesIO(pgn))
        raw.number = self._game_count + 1
        record = self._checked_record(raw)
        self._write(pgn)
        self._count(raw, record)
        return record, self.size

    def _write(self, data: bytes) -> None:
        """Append bytes to the file, and sync them.

        :raises TbgenError: if the bytes cannot be written (the file is then unchanged), or if the path no
            longer leads to this file (they are then lost).
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
                f"another program has replaced, renamed or removed {self.path}, so games can no longer be "
                "written there: the same command continues from the games in the file that has this name now"
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

    def _count(self, raw: RawGame, record: GameRecord) -> None:
        """Count a game that is in the file."""
        self._game_count += 1
        rounds = self._digests[raw.values[tags.SCHEDULE]]
        self.rounds_when_paired.setdefault(int(record.round.partition(".")[0]), rounds)

    def _checked_record(self, raw: RawGame) -> GameRecord:
        """Return the record of a game of this event.

        :raises UsageError: if the game belongs to another event, or its tags have been changed.
        """
        location = f"{self.path}, {raw.place}"
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
        # A knockout has the rounds of its tree, and older games do not state their event.
        planned_rounds = 0 if self._fixed_rounds or game.event is None else game.event.rounds
        if game_id is not None and game_id.round > self._rounds and planned_rounds > self._rounds:
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
        return game


def _is_complete(raw: RawGame) -> bool:
    """Return whether the last game of a file is complete."""
    result = raw.values.get("Result", "")
    return result in RESULTS and raw.data.split()[-1:] == [result.encode()] and read_game(raw).error is None
