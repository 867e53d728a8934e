"""The live file of an event: its progress as JSON objects, one per line, in a file beside the PGN file.

The runner, the process that runs the event, appends to the file and never waits for a reader. The first line
is an :class:`EventStart`. Its ``size`` is the size of the PGN file; the live file does not repeat the games
in the PGN file. The lines of games in play follow. A new run of the event replaces the live file with a new
file of the same name, and so does the runner when the file has grown too long. A last line without a line
break is still being written. The runner holds an exclusive ``flock`` on the live file as long as it runs.
docs/match.md describes all fields.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from enum import StrEnum
from pathlib import Path
from typing import Annotated, BinaryIO, Final, TypeAlias

import msgspec
from msgspec import Meta, Struct

from tbgen.board.score import GScore
from tbgen.board.scoring import Komi, Scheme
from tbgen.board.variant import Variant
from tbgen.documents import Count, Document, decoder, encoded
from tbgen.errors import UsageError
from tbgen.games.game_options import GameOptions
from tbgen.games.standings.elo import TestSettings, sprt
from tbgen.games.standings.orders import ORDERS, Ranking, order_of
from tbgen.games.standings.record import EventFormat, Format
from tbgen.games.standings.tiebreaks import tiebreaks
from tbgen.system.files import check_target, close_for_rename
from tbgen.system.locks import is_locked


class Termination(StrEnum):
    """The way in which a run of an event has ended."""

    FINISHED = "finished"
    """The event is over: all games have been played, a test has decided, or no pairing is left."""
    STOPPED = "stopped"
    """The runner has stopped before the end of the event."""
    GONE = "gone"
    """The runner has terminated without writing an :class:`EventEnd`."""
    UNTOLD = "untold"
    """No live file can be read, so only the finished games are available."""


class Participant(Struct, frozen=True):
    """A player of an event."""

    name: str
    control: str
    """The time control in the form of the tag ``TimeControl``."""


class EventStart(Document, forbid_unknown_fields=False, tag_field="type", tag="event"):
    """An event begins or is resumed: the first line."""

    name: str
    site: str
    format: str
    rules: Variant
    """Name, site and format of the event; the rules are ``r`` or ``wg``."""
    players: Sequence[Participant]
    """For each player, ``name`` and ``control``."""
    rounds: int
    games: Annotated[int, Meta(ge=1)]
    """Number of rounds, and of games in an encounter."""
    total: int | None
    """Number of games in the event; null if the results determine it."""
    finished: Count
    """Number of games in the PGN file."""
    concurrency: int
    """Number of games played at once."""
    scoring: Scheme
    cutoff: GScore | None
    komi: Komi | None
    test: TestSettings | None
    """The scoring and the test; null where nothing was chosen."""
    size: Count
    """Size of the PGN file in bytes."""
    order: str = ORDERS["percent"].name
    tiebreaks: tuple[str, ...] = ORDERS["percent"].tiebreaks
    byes: bool = False
    """The order of the standings and its tiebreaks, and whether byes count as won games."""

    def __post_init__(self) -> None:
        """Check the settings of the test.

        :raises UsageError: if one of them is invalid; the reader then skips the line.
        """
        tiebreaks(self.tiebreaks, ())
        _ = self.ranking
        if self.test is not None:
            sprt((), *self.test.args, model=self.test.model, pairs=self.games == 2)

    @property
    def event_format(self) -> EventFormat | None:
        """The format of the event, without its seeds; None if it is unknown."""
        form = next((known for known in Format if known == self.format), None)
        names = tuple(player.name for player in self.players)
        return None if form is None else EventFormat(form, names, self.rounds, self.games)

    @property
    def ranking(self) -> Ranking:
        """The order of the standings."""
        return Ranking(order_of(self.order, self.tiebreaks), self.byes)

    @property
    def options(self) -> GameOptions:
        """The rules and scoring of the games of the event."""
        return GameOptions(self.rules, cutoff=self.cutoff, scheme=self.scoring, komi=self.komi)


class StartPosition(Struct, frozen=True):
    """The start position of a game."""

    fen: str
    accrued: GScore
    position_score: str = ""
    """The position with its accrued score and its position score, which is empty in older files."""


class GameLine(Document, forbid_unknown_fields=False, tag_field="type"):
    """A line about something that happens in a game."""

    time: float
    """Seconds since the epoch."""
    key: str
    """The tag ``Round`` (round, encounter, game)."""


class PairingLine(GameLine):
    """The start or end of a game."""

    number: int
    white: str
    black: str
    """The number of the game in the event, from 1, and the players."""


class PairedGame(Struct, frozen=True):
    """A game that has still to begin."""

    key: str
    number: int
    white: str
    black: str


class GameStart(PairingLine, tag="started"):
    """A game begins. Each move of its opening follows as a :class:`GameMove`."""

    start: StartPosition
    """The start position: ``fen``, ``accrued`` and ``position_score``."""


class SearchFigures(Document):
    """The size of a search, as its engine reports it; null for all that it does not report."""

    nodes: Count | None
    speed: Count | None
    hits: Count | None
    """Nodes, nodes per second, and positions found in tablebases."""


class Ply(Document, forbid_unknown_fields=False):
    """A move of a game."""

    uci: str
    san: str
    accrued: GScore
    """The move, and the accrued score after it."""
    comment: str
    """Evaluation, depth and time as in the PGN file, or ``book`` for a move of the opening."""
    line: str = ""
    """Up to twelve moves that the engine expects, this one first, in UCI notation, separated by spaces; empty
    if it has not reported any."""
    position_score: str = ""
    """The position score after the move; empty in older files."""
    search: SearchFigures | None = None
    """The size of the search; null for a move of the opening, and in games from a PGN file."""


class GameMove(GameLine, tag="moved"):
    """A move has been made."""

    ply: Ply
    """The move, as a :class:`Ply`."""
    fen: str
    """The position after the move."""
    left: Mapping[str, float | None]
    """The seconds left for ``white`` and ``black``; null for a player without a clock."""


class GameThought(GameLine, tag="thought"):
    """A report by the engine to move while it thinks, at most once a second."""

    comment: str
    line: str
    search: SearchFigures | None = None
    """As in :class:`Ply`."""


class GameEnd(PairingLine, tag="finished"):
    """A game is over and has been written to the PGN file."""

    value: GScore
    reason: str
    """The result of the game, and how it ended."""
    finished: Count
    size: Count
    """Number of games in the PGN file, and its size in bytes; both include this game."""
    classical: str = ""
    """The result in chess; empty in older files."""


class GamesPaired(Document, forbid_unknown_fields=False, tag_field="type", tag="paired"):
    """The games of a round that have still to begin are known."""

    games: Sequence[PairedGame]
    """For each game, in the order of play, ``key``, ``number``, ``white`` and ``black``."""


class EventEnd(Document, forbid_unknown_fields=False, tag_field="type", tag="over"):
    """The run of the event has ended."""

    how: Termination
    """``finished`` or ``stopped``."""


LiveLine: TypeAlias = EventStart | GamesPaired | GameStart | GameMove | GameThought | GameEnd | EventEnd

_DECODER: Final = decoder(LiveLine)


def encode_line(line: LiveLine) -> bytes:
    """Return a line of the file as bytes, with its line break."""
    return encoded(line) + b"\n"


def live_path(pgn: Path) -> Path:
    """Return the path of the live file of an event: beside its PGN file or, of a link, beside the target.

    >>> live_path(Path("event.pgn")).name
    'event.pgn.live'
    """
    target = Path(os.path.realpath(pgn)) if pgn.is_symlink() else pgn
    return target.with_name(f"{target.name}.live")


def format_in_live_file(pgn: Path) -> EventFormat | None:
    """Return the format of an event as the live file beside its PGN file states it; None if it does not."""
    with closing(LiveFile(live_path(pgn))) as file:
        starts = [line for line in file.read()[1] if isinstance(line, EventStart)]
    return starts[-1].event_format if starts else None


class LiveFile:
    """The reader of a live file, which follows it as it grows.

    :param path: path of the file, which need not exist yet.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO | None = None
        self._status: os.stat_result | None = None
        self._offset = 0
        self._incomplete_line = b""

    def read(self) -> tuple[bool, Sequence[LiveLine]]:
        """Return whether the file is new since the last call, and the lines that were added since then.

        Malformed lines are skipped.
        """
        is_new = False
        with suppress(OSError, UsageError):  # the file may not exist yet, or may have been deleted
            check_target(self._path)
            file = self._path.open("rb")
            old_status = self._status
            self._status = os.fstat(file.fileno())
            is_new = old_status is None or not os.path.samestat(old_status, self._status)
            if is_new:
                self._offset = 0
                self._incomplete_line = b""
            self.close()  # not earlier: a new file could then get the inode number of the old one
            self._file = file
        if self._file is None or self._file.closed:
            return False, ()
        self._file.seek(self._offset)
        data = self._file.read()
        self._offset += len(data)
        close_for_rename(self._file)
        *complete, self._incomplete_line = (self._incomplete_line + data).split(b"\n")
        lines: list[LiveLine] = []
        for line in complete:
            with suppress(msgspec.MsgspecError, UnicodeError, RecursionError):
                lines.append(_DECODER.decode(line))
        return is_new, lines

    @property
    def is_abandoned(self) -> bool:
        """Whether the file has been read, and no runner holds the lock on it any more."""
        if self._file is not None:
            with suppress(OSError), self._path.open("rb") as file:
                return not is_locked(file.fileno())
        return False

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None
