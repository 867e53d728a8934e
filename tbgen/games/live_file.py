"""The live file of an event: its course, one JSON object a line, in a file beside the PGN.

The runner appends to the file and never waits for a reader. The first line is an :class:`EventStart`; its
``size`` says how many bytes of the PGN file are finished games, which are not repeated here. The lines of
games in play follow. A new run of the event, and a file that has grown long, begin a new file under the same
name. A last line without a line break is still being written. The runner holds an exclusive ``flock`` on the
file as long as it lives. docs/match.md describes all fields.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Annotated, BinaryIO, Final, TypeAlias

import msgspec
from msgspec import Meta, Struct

from tbgen.board.score import GScore
from tbgen.board.scoring import Komi, Scheme
from tbgen.board.variant import Variant
from tbgen.documents import Count
from tbgen.games.settings import GameOptions
from tbgen.games.standings.elo import TestSettings, sprt
from tbgen.system.files import let_go
from tbgen.system.locks import is_locked


class Termination(StrEnum):
    """How a run of an event has ended.

    ``gone`` if the runner ended without a last line; ``untold`` if there is no live file that can be
    read, and finished games are all that is known.
    """

    FINISHED = "finished"
    STOPPED = "stopped"
    GONE = "gone"
    UNTOLD = "untold"


class Participant(Struct, frozen=True):
    """A player of an event, with the time control as the tag ``TimeControl`` has it."""

    name: str
    control: str


class EventStart(Struct, frozen=True, tag_field="type", tag="event"):
    """An event begins or is resumed.

    ``rules`` is ``r`` or ``wg``; ``games`` are those of an encounter, ``total`` those of the event if that is
    known, ``finished`` those that are in the PGN file, which has ``size`` bytes. ``cutoff`` and ``komi`` are
    null unless they were chosen.
    """

    name: str
    site: str
    format: str
    rules: str
    players: Sequence[Participant]
    rounds: int
    games: Annotated[int, Meta(ge=1)]
    total: int | None
    finished: Count
    concurrency: int
    scoring: str
    cutoff: str | None
    komi: str | None
    test: TestSettings | None
    size: Count

    def __post_init__(self) -> None:
        """Check what its words mean.

        :raises UsageError: if one means nothing; a reader skips such a line.
        """
        _ = self.options
        if self.test is not None:
            sprt((), *self.test.numbers, model=self.test.model, pairs=self.games == 2)

    @property
    def options(self) -> GameOptions:
        """By which the games of the event are scored."""
        return GameOptions(
            Variant(self.rules),
            cutoff=None if self.cutoff is None else GScore.parse(self.cutoff),
            scheme=Scheme(self.scoring),
            komi=None if self.komi is None else Komi.parse(self.komi),
        )


class Outset(Struct, frozen=True):
    """The start position of a game, with the accrued score and its own score there.

    The latter is empty in older files.
    """

    fen: str
    accrued: str
    position_score: str = ""


class GameLine(Struct, frozen=True, tag_field="type"):
    """What happens in a game.

    ``time`` is in seconds of the epoch, ``key`` is the tag ``Round`` (round, encounter, game).
    """

    time: float
    key: str


class PairingLine(GameLine, frozen=True):
    """What happens to a game as a whole; ``number`` is its number in the event, from 1."""

    number: int
    white: str
    black: str


class GameStart(PairingLine, frozen=True, tag="started"):
    """A game begins; moves of its opening follow as moves."""

    start: Outset


class Ply(Struct, frozen=True):
    """A move of a game, with the accrued score after it, and the own score of the position then.

    The comment has evaluation, depth and time as in the PGN; a move of the opening has ``book``. The line
    has the moves that the engine expects, its own first, in UCI notation, with blanks between them; empty if
    it told none. The position's own score is empty in older files.
    """

    uci: str
    san: str
    accrued: str
    comment: str
    line: str = ""
    position_score: str = ""


class GameMove(GameLine, frozen=True, tag="moved"):
    """A move has been made.

    ``fen`` is the position after it; ``left`` are the seconds on the clocks of ``white`` and ``black``, null
    without a clock.
    """

    ply: Ply
    fen: str
    left: Mapping[str, float | None]


class GameThought(GameLine, frozen=True, tag="thought"):
    """What the engine to move thinks: ``comment`` and ``line`` as in :class:`Ply`."""

    comment: str
    line: str


class GameEnd(PairingLine, frozen=True, tag="finished"):
    """A game is over, and in the PGN file.

    ``value`` is its result, ``finished`` the number of finished games and ``size`` that of the bytes of the
    PGN file, both with this game.
    """

    value: str
    reason: str
    finished: Count
    size: Count


class EventEnd(Struct, frozen=True, tag_field="type", tag="over"):
    """The run is over."""

    how: Termination


LiveLine: TypeAlias = EventStart | GameStart | GameMove | GameThought | GameEnd | EventEnd

_decoder: Final = msgspec.json.Decoder(LiveLine)


def line_of(line: LiveLine) -> bytes:
    """Return a line as it stands in the file."""
    return msgspec.json.encode(line) + b"\n"


def live_path(pgn: Path) -> Path:
    """Return the live file of an event.

    >>> live_path(Path("event.pgn")).name
    'event.pgn.live'
    """
    return pgn.with_name(f"{pgn.name}.live")


class LiveFile:
    """Reads a live file as it grows.

    :param path: of the file, which need not exist yet.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO | None = None
        self._found: os.stat_result | None = None
        self._place = 0
        self._rest = b""

    def read(self) -> tuple[bool, Sequence[LiveLine]]:
        """Return whether a new file has begun, and the lines since the last call.

        Lines that mean nothing are skipped, whatever their bytes are.
        """
        fresh = False
        with suppress(OSError):  # there is no file yet, or none any more
            file = self._path.open("rb")
            before, self._found = self._found, os.fstat(file.fileno())
            fresh = before is None or not os.path.samestat(before, self._found)
            if fresh:
                self._place, self._rest = 0, b""
            self.close()  # only now: a new file has another number than one that is open
            self._file = file
        if self._file is None or self._file.closed:
            return False, ()
        self._file.seek(self._place)
        read = self._file.read()
        self._place += len(read)
        let_go(self._file)
        *whole, self._rest = (self._rest + read).split(b"\n")
        lines: list[LiveLine] = []
        for line in whole:
            with suppress(msgspec.MsgspecError, UnicodeError, RecursionError):
                lines.append(_decoder.decode(line))
        return fresh, lines

    @property
    def abandoned(self) -> bool:
        """Whether no runner holds the file."""
        if self._file is not None:
            with suppress(OSError), self._path.open("rb") as file:
                return not is_locked(file.fileno())
        return False

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None
