"""The state of a running event and of its games as documents, read from its live file and its PGN file.

The document of a finished game has the same form as the document of a game in play, so that the page of the
event can replay it.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from io import BytesIO
from itertools import dropwhile
from pathlib import Path
from time import perf_counter, time
from typing import Any, Final, NamedTuple, Self, TypeAlias, get_args

import chess
from msgspec import defstruct
from msgspec.structs import replace

from tbgen.board.score import GScore
from tbgen.board.scoring import Scheme
from tbgen.board.variant import Variant
from tbgen.documents import UNSET, Document, SideName, UnsetType
from tbgen.errors import UsageError
from tbgen.games.game_options import GameOptions
from tbgen.games.live_file import (
    EventEnd,
    EventStart,
    GameEnd,
    GameMove,
    GamesPaired,
    GameStart,
    GameThought,
    LiveFile,
    LiveLine,
    PairedGame,
    Participant,
    Ply,
    SearchFigures,
    StartPosition,
    Termination,
    live_path,
)
from tbgen.games.outcome import RESULTS, Basis
from tbgen.games.pgn.reader import read_game, read_variations
from tbgen.games.pgn.splitter import RawGame, split_games
from tbgen.games.referee import Arbiter, adjudicate_game, replay
from tbgen.games.standings import Standings
from tbgen.games.standings.encounters import (
    Encounters,
    GameId,
    MatchScore,
    event_result,
    finished_game,
    with_result,
)
from tbgen.games.standings.json_files import EloDocument, elo_document
from tbgen.games.standings.record import EventFormat, GameRecord
from tbgen.games.standings.tables import overview_keys, tables
from tbgen.games.standings.tournament import EventResult
from tbgen.games.tagging import TaggedGame
from tbgen.probe.probe_document import PointsDocument, points_document

Change: TypeAlias = tuple[str, Document]
"""The name and the document of a server-sent event."""

_MAX_LISTED: Final = 50
"""Maximum number of finished games in one answer."""
_MAX_CROSSTABLE_PLAYERS: Final = 16
_REREAD_PAUSE_FACTOR: Final = 20
"""Pause before a PGN file without a live file is read again, as a multiple of the time that the last
reading took."""


class FinishedGame(Document):
    """The row of a finished game in the list of games."""

    number: int
    white: str
    black: str
    classical: str
    key: str
    value: GScore
    holder: SideName
    basis: Basis
    accrued: GScore
    points: PointsDocument
    plies: int
    reason: str

    @classmethod
    def of_game(cls, raw: RawGame, record: GameRecord, reason: str) -> Self:
        """Return the row of a game; ``reason`` says how it ended."""
        return cls.of(
            record,
            record.outcome,
            key=record.round,
            holder=record.value.holder,
            points=points_document(record.outcome.settings.scoring, record.value),
            plies=raw.ply_count or 0,
            reason=reason,
        )


class FinishedGames(Document):
    """Some of the finished games, the last ones first, and the number of all."""

    total: int
    games: list[FinishedGame]
    """The number of all, and at most 50 games."""


class GameEndWithRows(GameEnd, tag=False, kw_only=True):
    """The end of a game, with its row in the list of games, and the number of all finished games."""

    total: int
    games: list[FinishedGame]


class GameThoughtWithMoves(GameThought, tag=False, kw_only=True):
    """A report by an engine that thinks, with its line also in UCI notation."""

    moves: str = ""


_CHANGE_TYPES: Final[Mapping[type, Any]] = {
    line_type: defstruct(line_type.__name__, (), bases=(line_type,), tag=False)
    for line_type in get_args(LiveLine)
} | {GameEnd: GameEndWithRows, GameThoughtWithMoves: GameThoughtWithMoves}
"""Maps the type of each line to the type of its document, which has no field ``type``: that is the name of
the event."""


class LivePly(Ply, kw_only=True):
    """A move of a game, with the position after it."""

    fen: str


class ThoughtDocument(Document):
    """The last report of an engine that thinks; ``moves`` is its line in UCI notation."""

    comment: str
    line: str
    search: SearchFigures | None
    moves: str


class LiveGame(Document, kw_only=True):
    """A game in play or a finished game, with its moves."""

    time: float | UnsetType = UNSET
    key: str
    number: int | UnsetType = UNSET
    white: str
    black: str
    """The time of the start, and the key, number and players as in the live file."""
    start: StartPosition
    fen: str | UnsetType = UNSET
    left: Mapping[str, float | None]
    plies: list[LivePly]
    """Start position, current position, seconds left, and moves with the positions after them."""
    thought: ThoughtDocument | None = None
    """The last report of the engine to move, if any: its ``line`` is in SAN, and in ``moves`` in UCI
    notation."""
    since: float = 0
    """Seconds since the last move or the start."""


class ListedGame(NamedTuple):
    """A finished game of the PGN file, its row in the list of games, and the span of its bytes in the
    file."""

    game: GameRecord
    row: FinishedGame
    span: slice


class EventFiles:
    """The live file and the PGN file of an event, read as they grow.

    :param pgn: the PGN file.
    """

    def __init__(self, pgn: Path) -> None:
        self._pgn = pgn
        self.live = LiveFile(live_path(pgn))
        self.options = GameOptions(Variant.R_MOBILITY)
        """The options with which the games are scored."""
        self._size = self._games = 0
        """Bytes of the PGN file read so far, and number of finished games in them."""
        self._begun = False
        """Whether the start of the event has been read from the live file."""
        self._size_without_live_file = 0
        """Size of the PGN file in bytes when it was last read without a live file."""
        self._reread_time = 0.0
        """Time of ``perf_counter`` before which the PGN file is not read again without a live file."""

    def read(self) -> tuple[bool, Sequence[tuple[LiveLine, Sequence[ListedGame]]]]:
        """Return whether the live file has started over, and its new lines.

        Each line comes with the games that it finishes. Without a readable live file, the lines are derived
        from the PGN file as far as possible.
        """
        restarted, lines = self.live.read()
        if restarted:
            self._begun = False
            self._size_without_live_file = 0
            self._reread_time = 0.0
        if not self._begun:
            lines = list(dropwhile(lambda line: not isinstance(line, EventStart), lines))
            if not lines:
                has_changed, new_lines = self._read_without_live_file()
                return restarted or has_changed, new_lines
            self._begun = restarted = True
        return restarted, [(line, list(self._finished_games(line))) for line in lines]

    @property
    def is_abandoned(self) -> bool:
        """Whether the live file has an event that no runner is continuing."""
        return self._begun and self.live.is_abandoned

    def read_span(self, span: slice) -> bytes:
        """Return those bytes in a span of the PGN file that exist; none if the file is unreadable."""
        try:
            with self._pgn.open("rb") as file:
                end = min(span.stop, file.seek(0, os.SEEK_END))
                return file.read(end - file.seek(min(span.start, end)))
        except OSError:
            return b""

    def _finished_games(self, line: LiveLine) -> Iterator[ListedGame]:
        if isinstance(line, EventStart):
            self._size = self._games = 0
            self.options = line.options
        elif not isinstance(line, GameEnd):
            return
        for raw, span in self._raw_games(self._size, line.size):
            self._size = span.stop
            raw.number = self._games + 1
            game = finished_game(raw, self._pgn.name, self.options)
            if game is not None:
                self._games += 1
                yield ListedGame(game, FinishedGame.of_game(raw, game, _reason(raw)), span)

    def _raw_games(self, start: int, end: int) -> Iterator[tuple[RawGame, slice]]:
        """Yield the games in a part of the PGN file, each with its span of the file."""
        for raw in split_games(BytesIO(self.read_span(slice(start, end)))):
            span = slice(start, start + len(raw.data))
            start = span.stop
            yield raw, span

    def _read_without_live_file(self) -> tuple[bool, Sequence[tuple[LiveLine, Sequence[ListedGame]]]]:
        """Return whether a PGN file without a live file has new lines, and these lines.

        The lines are the start of the last event, with its finished games, and the end of the event.

        A repeated key (tag ``Round``), or another event name, begins another event. The file is read
        completely. While it grows, it is read again only after a pause.
        """
        began = perf_counter()
        try:
            size = self._pgn.stat().st_size
        except OSError:
            return False, ()
        if size == self._size_without_live_file or began < self._reread_time:
            return False, ()
        self._size_without_live_file = size
        games: list[ListedGame] = []
        first_tags: Mapping[str, str] = {}
        keys: set[GameId | None] = set()
        for raw, span in self._raw_games(0, size):
            tags = raw.values
            key = GameId.parse(tags.get("Round", ""))
            continues = bool(games) and key not in keys and tags.get("Event") == first_tags.get("Event")
            raw.number = len(games) + 1 if continues else 1
            for options in [self.options] if continues else map(GameOptions, Variant):
                game = finished_game(raw, self._pgn.name, options)
                if game is not None:
                    if not continues:
                        games = []
                        first_tags = tags
                        keys = set()
                        self.options = options
                    games.append(ListedGame(game, FinishedGame.of_game(raw, game, _reason(raw)), span))
                    keys.add(key)
                    break
        if not games:
            games, first_tags = self._games_of_other_program(size)
        self._reread_time = perf_counter() + _REREAD_PAUSE_FACTOR * (perf_counter() - began)
        if not games:
            return False, ()
        return True, [(_derive_start(first_tags, games), games), (EventEnd(Termination.UNTOLD), ())]

    def _games_of_other_program(self, size: int) -> tuple[list[ListedGame], Mapping[str, str]]:
        """Return the finished games of a PGN file that another program has written, and the last game's tags.

        The games are refereed without tables, and each game counts as a round.
        """
        self.options = GameOptions(Variant.R_MOBILITY)
        games: list[ListedGame] = []
        last_tags: Mapping[str, str] = {}
        for raw, span in self._raw_games(0, size):
            raw.number = len(games) + 1
            try:
                game = read_game(raw)
                arbiter = replay(game, self.options)
            except UsageError:
                continue
            outcome = adjudicate_game(game, arbiter)
            record = GameRecord.of(self._pgn.name, TaggedGame(raw, outcome))
            if record is not None and outcome.recorded in RESULTS:
                record = dataclasses.replace(record, round=str(GameId(raw.number, 1, 1)))
                row = FinishedGame.of_game(raw, record, game.ending.text)
                games.append(ListedGame(record, row, span))
                last_tags = raw.values
        return games, last_tags


@dataclass(slots=True)
class _GameInPlay:
    """A game in play."""

    start: GameStart
    last_change: float
    """The time of ``perf_counter`` of the last move or, before the first move, of the start."""
    moves: list[GameMove] = field(default_factory=list)
    thought: GameThoughtWithMoves | None = None
    """The last thought of the thinking engine; None if it has reported none since the last move."""

    @property
    def fen(self) -> str:
        """The current position as a FEN."""
        return self.moves[-1].fen if self.moves else self.start.start.fen

    def line_in_san(self, line: str) -> str:
        """Return, in SAN, the line that an engine expects from the current position, up to the first illegal
        move."""
        sans: list[str] = []
        with suppress(ValueError):
            board = chess.Board(self.fen, chess960=True)
            for uci in line.split():
                sans.append(board.san_and_push(board.parse_uci(uci)))  # noqa: PERF401 - keeps legal moves
        return " ".join(sans)

    def document(self) -> LiveGame:
        """Return the game with its moves as a document."""
        return LiveGame.of(
            self.start,
            fen=self.fen,
            left=self.moves[-1].left if self.moves else {},
            plies=[LivePly.of(move.ply, fen=move.fen) for move in self.moves],
            thought=self.thought and ThoughtDocument.of(self.thought),
            since=round(perf_counter() - self.last_change, 1),
        )


class TestState(Document):
    """The state of the test of a match."""

    llr: float
    lower: float
    upper: float
    verdict: str


class LiveScore(Document):
    """The score of a match."""

    player: str
    opponent: str
    games: int
    elo: EloDocument | None
    points: Fraction
    test: TestState | None

    @classmethod
    def of_score(cls, score: MatchScore | None) -> Self | None:
        """Return the document of a score; None if there is none."""
        if score is None:
            return None
        return cls.of(score, elo=elo_document(score.elo), test=score.test and TestState.of(score.test))


class LiveColumn(Document, rename={"is_text": "word"}):
    """A column of a table; ``word`` says whether it contains text."""

    title: str
    is_text: bool


class LiveTable(Document, rename={"summary": "first"}):
    """A table of standings; ``first`` is the most important part of its explanation."""

    key: str
    title: str
    note: str
    summary: str
    columns: list[LiveColumn]
    rows: list[list[str]]


class LiveStandings(Document):
    """The standings of an event, from its complete encounters."""

    games: int
    scoring: Scheme
    """The number of games in complete encounters, and the scoring."""
    score: LiveScore | None
    """The score and the test of a match; null for other events."""
    result: EventResult | None
    tables: list[LiveTable]
    """Who has won or is first, and the tables as text."""


class LiveDocument(Document):
    """The state of an event, with its games in play and its last finished games."""

    event: EventStart | None
    """The event, as in the live file."""
    playing: list[LiveGame]
    next: list[PairedGame]
    """The games in play, and those that come next."""
    standings: LiveStandings | None
    """The standings of complete encounters."""
    finished: FinishedGames
    """The last finished games."""
    over: Termination | None
    """How the event has ended; null before the end."""


class LiveState:
    """The state of an event."""

    def __init__(self) -> None:
        self.start: EventStart | None = None
        self.termination: Termination | None = None
        """How the event has ended; None while it lasts."""
        self.spans: dict[str, slice] = {}
        """Maps the key of each finished game to its span of the PGN file."""
        self.unranked_games: list[GameRecord] = []
        """Finished games that are not in the standings yet."""
        self.needs_ranking = False
        """Whether games have been finished, or the event has ended, since the standings were computed."""
        self._next: dict[str, PairedGame] = {}
        """Maps the key of each game that has still to begin to the game, as far as they are known."""
        self._playing: dict[str, _GameInPlay] = {}
        """Maps the key of each game in play to the game."""
        self._finished: list[FinishedGame] = []
        self._encounters: Encounters | None = None
        self._standings: LiveStandings | None = None

    def apply(self, line: LiveLine, games: Sequence[ListedGame]) -> Change:
        """Apply a line of the live file to the state, and return the change to send to spectators.

        :param games: the games finished since the previous line.
        """
        name = str(line.__struct_config__.tag)
        rows = [listed_game.row for listed_game in games]
        self._finished += rows
        self.spans |= {listed_game.row.key: listed_game.span for listed_game in games}
        self.unranked_games += [listed_game.game for listed_game in games]
        self.needs_ranking |= bool(games) or isinstance(line, EventEnd)
        match line:
            case EventStart():
                self.start = line
                self._encounters = Encounters([player.name for player in line.players], line.games, line.test)
            case GamesPaired():
                # A round may follow before the last one is played, and the file may begin anew in a round.
                self._next |= {game.key: game for game in line.games if game.key not in self.spans}
            case GameStart():
                self._next.pop(line.key, None)
                self._playing[line.key] = _GameInPlay(line, _moment_of(line))
                return "started", self._playing[line.key].document()
            case GameMove() if game := self._playing.get(line.key):
                line = replace(line, ply=replace(line.ply, line=game.line_in_san(line.ply.line)))
                game.moves.append(line)
                game.thought = None
                game.last_change = _moment_of(line)
            case GameThought() if game := self._playing.get(line.key):
                san = game.line_in_san(line.line)
                line = game.thought = GameThoughtWithMoves.of(line, line=san, moves=line.line)
            case GameEnd():
                self._playing.pop(line.key, None)
            case EventEnd():
                self.termination = line.how
        totals = {"total": len(self._finished), "games": rows} if isinstance(line, GameEnd) else {}
        return name, _CHANGE_TYPES[type(line)].of(line, **totals)

    def update_standings(self, games: Iterable[GameRecord]) -> tuple[str, LiveStandings] | None:
        """Add games to the standings, and return the new standings; this may take seconds."""
        if self.start is None or self._encounters is None:
            return None
        for game in games:
            self._encounters.add(game)
        scheme = self.start.scoring
        score = self._encounters.score()
        standings = self._encounters.standings(scheme, self.start.ranking)
        is_over = self.termination is Termination.FINISHED
        event = None if self.termination is Termination.UNTOLD else self.start.event_format
        if standings is not None:
            standings = with_result(standings, event_result(standings, event, is_over=is_over))
        self._standings = LiveStandings(
            games=0 if standings is None else len(standings.games),
            scoring=scheme,
            score=LiveScore.of_score(score),
            result=None if standings is None else standings.result,
            tables=[] if standings is None else _table_documents(standings),
        )
        return "standings", self._standings

    def document(self) -> LiveDocument:
        """Return the complete state as a document, with the last finished games."""
        return LiveDocument(
            event=self.start,
            playing=[game.document() for game in self._playing.values()],
            next=list(self._next.values()),
            standings=self._standings,
            finished=self.finished_games(),
            over=self.termination,
        )

    def finished_games(self, before: int | None = None) -> FinishedGames:
        """Return some of the finished games as a document, the last ones first.

        :param before: the number of a game; the games before it are returned. None stands for the last
            games.
        """
        end = len(self._finished) if before is None else min(max(before - 1, 0), len(self._finished))
        return FinishedGames(len(self._finished), self._finished[max(0, end - _MAX_LISTED) : end][::-1])


def _moment_of(line: GameStart | GameMove) -> float:
    """Return the time of ``perf_counter`` at which a line was written. From then on, the time of day does not
    matter, because a clock may be set during a game."""
    return perf_counter() - max(0.0, time() - line.time)


def _table_documents(standings: Standings) -> list[LiveTable]:
    keys = overview_keys(standings) & {"standings", "bracket", "rounds", "joint"}
    if 2 < len(standings.players) <= _MAX_CROSSTABLE_PLAYERS:
        keys |= overview_keys(standings) & {"crosstable"}
    return [
        LiveTable.of(table, columns=list(map(LiveColumn.of, table.columns)), rows=table.formatted_rows())
        for table in tables(standings, keys)
    ]


def _derive_start(tags: Mapping[str, str], games: Sequence[ListedGame]) -> EventStart:
    """Derive the start of an event from its finished games.

    :param tags: the tags of one of the games.
    """
    records = [listed_game.game for listed_game in games]
    settings = records[0].outcome.settings
    keys = [key for record in records if (key := GameId.parse(record.round))]
    names = dict.fromkeys(name for record in records for name in (record.white, record.black))
    event = records[-1].event
    if event is None or event.form is None:
        event = EventFormat(None, tuple(names), max(key.round for key in keys), max(key.game for key in keys))
    name, site = ("" if tags.get(tag, "?") == "?" else tags[tag] for tag in ("Event", "Site"))
    return EventStart(
        name=name,
        site=site,
        format=event.form or "",
        rules=settings.variant,
        players=[Participant(name, "inf") for name in event.players],
        rounds=event.rounds,
        games=event.games,
        total=None,
        finished=len(games),
        concurrency=1,
        scoring=settings.scoring.scheme,
        cutoff=None,
        komi=None,
        test=None,
        size=games[-1].span.stop,
    )


def _reason(raw: RawGame) -> str:
    """Return the reason for the end of a game of ``tbgen match``, from its last comment."""
    start, end = raw.data.rfind(b"{"), raw.data.rfind(b"}")
    comment = raw.data[start + 1 : end].decode("utf-8", "replace") if 0 <= start < end else ""
    return " ".join(comment.split()).rpartition(", ")[2]


def game_document(pgn: bytes, options: GameOptions) -> LiveGame:
    """Return a finished game as a document.

    :param pgn: one sound game.
    :param options: the options with which the game is scored.
    """
    raw = next(split_games(BytesIO(pgn)))
    game = read_game(raw)
    comments = read_variations(raw, game).comments
    arbiter = Arbiter.of(game.start, options.settings(game.tags))
    start = _position(arbiter)
    plies = []
    for ply_number, move in enumerate(game.moves, 1):
        uci = move.uci()
        san = arbiter.board.san(move)
        arbiter.push(move)
        plies.append(LivePly.of(_position(arbiter), uci=uci, san=san, comment=comments.get(ply_number, "")))
    key, white, black = (game.tags.get(tag, "") for tag in ("Round", "White", "Black"))
    return LiveGame(key=key, white=white, black=black, start=start, left={}, plies=plies)


def _position(arbiter: Arbiter) -> StartPosition:
    """Return the current position of a game."""
    return StartPosition(arbiter.board.fen(), arbiter.accrued, str(arbiter.position_score))
