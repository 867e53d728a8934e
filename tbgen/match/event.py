"""Running an event: starting its games, dividing the processors among them, and recording their results."""

from __future__ import annotations

import asyncio
import hashlib
import random
import signal
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from typing import Final

import chess

from tbgen.board.scoring import Scheme
from tbgen.errors import TbgenError, UsageError
from tbgen.games.game_options import GameOptions
from tbgen.games.live_file import (
    EventStart,
    GameEnd,
    GamesPaired,
    GameStart,
    PairedGame,
    Participant,
    StartPosition,
)
from tbgen.games.outcome import Basis
from tbgen.games.standings.encounters import Encounters, event_result, with_result
from tbgen.match.adjudication import Judge
from tbgen.match.clock import Clock
from tbgen.match.event_settings import EventSettings, check_settings
from tbgen.match.game import MatchGame, end_lost_game, play_game
from tbgen.match.games_file import GamesFile, game_text
from tbgen.match.messages import Endings, Listener, Message, Note, ScoreUpdate, Summary
from tbgen.match.openings import Openings
from tbgen.match.schedule import Fixture, Schedule
from tbgen.system.processes import Guard
from tbgen.system.signals import END_SIGNALS
from tbgen.uci.process import Engine, EngineFault, EngineLogs, EngineSettings

_MAX_ROUNDS: Final = 1000
"""Maximum number of rounds that are tried for the digest of an event whose pairings depend on results."""


class _TestHasDecided(Exception):  # noqa: N818
    """Raised when the statistical test has decided: the event then ends even if games are in play."""


class _Slot:
    """A game slot, in which one game is played at a time. It has its own engines and processors.

    :param number: number of the slot, from 0.
    :param warn: called with a sentence if an engine explains why it is not ready yet.
    """

    def __init__(
        self,
        number: int,
        processors: Collection[int],
        guard: Guard,
        logs: EngineLogs,
        warn: Callable[[str], object],
    ) -> None:
        self._number = number
        self._processors = processors
        self._guard = guard
        self._logs = logs
        self._warn = warn
        self._engines: dict[str, Engine] = {}

    async def ensure_engine(self, settings: EngineSettings) -> Engine:
        """Return an engine that is ready to play. If necessary, start it first.

        :raises EngineFault: if the engine cannot be started.
        """
        name = settings.name
        engine = self._engines.get(name)
        if engine is not None and not settings.restart and engine.is_usable:
            return engine
        await self.close([name])
        log = self._logs.writer_for(name, self._number)
        self._engines[name] = await Engine.launch(settings, self._guard, self._processors, log, self._warn)
        return self._engines[name]

    async def close(self, names: Collection[str], *, kill: bool = False) -> None:
        """Terminate the engines with these names, all of them concurrently."""
        engines = [self._engines.pop(name) for name in names if name in self._engines]
        await asyncio.gather(*(engine.close(kill=kill) for engine in engines))

    async def close_others(self, *names: str) -> None:
        """Terminate all engines except those with these names."""
        await self.close(self._engines.keys() - names)


class Event:
    """A running event."""

    def __init__(
        self, settings: EventSettings, options: GameOptions, judge: Judge, listeners: Sequence[Listener]
    ) -> None:
        """Read the openings, and create the schedule.

        :raises UsageError: if the settings contradict each other, or the openings cannot be read.
        """
        check_settings(settings)
        self.settings = settings
        self.options = options
        self._scheme = options.scheme or Scheme.EXPONENTIAL
        self._judge = judge
        self._listeners = listeners
        openings = Openings(settings.openings, settings.variant, settings.seed, options)
        self._games = Encounters(settings.players, settings.games, settings.test)
        self.schedule = Schedule(settings, openings, lambda key: self._games.games[key].points)
        total = self.schedule.total
        encounters = settings.rounds * len(settings.players) if total is None else -(-total // settings.games)
        self._needs_chess960 = openings.check(encounters, self._note)
        self._digests = schedule_digests(settings, openings)
        self._entrants = {entrant.name: entrant for entrant in settings.entrants}
        self._summary = Summary()
        self._reasons_noted: set[str] = set()
        self._excesses_noted: set[str] = set()
        """Names of the engines of which :meth:`_note_excess` has sent a note."""

    @contextmanager
    def open_file(self) -> Iterator[GamesFile]:
        """Open the PGN file for a ``with`` block, and read the games that it already contains.

        :raises UsageError: if the file contains games of another event.
        :raises TbgenError: if the file cannot be opened, or another event is writing it.
        """
        with closing(GamesFile(self.settings, self._digests, self.options)) as file:
            for game in file.recover():
                self._games.add(game)
            self.schedule.rounds_when_paired.update(file.rounds_when_paired)
            yield file

    async def run(self, file: GamesFile) -> Summary:
        """Play all games that are not in the PGN file yet.

        :param file: the file that :meth:`open_file` has opened.
        :raises UsageError: if an engine rejects its options.
        :raises TbgenError: if an engine cannot be started before the first game, or a game cannot be written.
        """
        settings = self.settings
        with closing(EngineLogs(settings.log)) as logs:
            self._send(self._event_start(file.size))
            if not self._test_has_decided():
                with closing(Guard()) as guard:
                    await self._try_engines(_Slot(0, settings.processors, guard, logs, self._note))
                    await self._play_all(file, guard, logs)
        summary = self._summary
        standings = self._games.standings(self._scheme, settings.ranking)
        if standings is not None:
            result = event_result(standings, settings.event_format, is_over=True)
            summary.standings = with_result(standings, result)
        summary.games = len(self._games)
        return summary

    async def _play_all(self, file: GamesFile, guard: Guard, logs: EngineLogs) -> None:
        """Play all games that are not in the file yet, one at a time in each slot, until the test decides."""
        slot_count = self.settings.concurrency
        processors = self.settings.processors
        share = len(processors) // slot_count
        queue = asyncio.Queue[Fixture](1)
        try:
            async with asyncio.TaskGroup() as group:
                slots = [
                    _Slot(number, processors[number * share : (number + 1) * share], guard, logs, self._note)
                    for number in range(slot_count)
                ]
                workers = [group.create_task(self._play_queue(slot, queue, file)) for slot in slots]
                while (fixtures := self.schedule.next_round()) is not None:
                    missing = list(self._missing_fixtures(fixtures))
                    self._send(GamesPaired([PairedGame(*fixture.message_fields) for fixture in missing]))
                    for fixture in missing:
                        await queue.put(fixture)
                    if self.settings.format.waits_for_results:
                        await queue.join()
                await queue.join()
                for worker in workers:
                    worker.cancel()
        except BaseExceptionGroup as group_error:
            errors = [error for error in group_error.exceptions if not isinstance(error, _TestHasDecided)]
            if errors:
                raise errors[0] from None

    async def _play_queue(self, slot: _Slot, queue: asyncio.Queue[Fixture], file: GamesFile) -> None:
        """Play the games of the queue in a slot, one after the other."""
        try:
            while True:
                fixture = await queue.get()
                start = fixture.opening.arbiter(self.options)
                outset = StartPosition(start.board.fen(), start.accrued, str(start.position_score))
                self._send(GameStart(time.time(), *fixture.message_fields, outset))
                await self._record_game(await self._play_fixture(slot, fixture), file)
                if self._test_has_decided():
                    raise _TestHasDecided
                queue.task_done()
                await asyncio.sleep(self.settings.wait / 1000)
        finally:
            await slot.close_others()

    def _missing_fixtures(self, fixtures: Sequence[Fixture]) -> Iterator[Fixture]:
        """Yield the games that are not in the file yet.

        :raises UsageError: if a game in the file has players other than those in the schedule.
        """
        for fixture in fixtures:
            game = self._games.games.get(fixture.key)
            if game is None:
                yield fixture
            elif (game.white, game.black) != (fixture.white, fixture.black):
                raise UsageError(
                    f"{self.settings.pgn}: game {fixture.key} is {game.white} - {game.black}, but should be "
                    f"{fixture.white} - {fixture.black}: remove this game and all after it"
                )

    async def _play_fixture(self, slot: _Slot, fixture: Fixture) -> MatchGame:
        """Play a game in a slot, after terminating the slot's engines that do not play in this game."""
        await slot.close_others(fixture.white, fixture.black)
        entrants = {chess.WHITE: self._entrants[fixture.white], chess.BLACK: self._entrants[fixture.black]}
        clocks = {side: Clock(entrant.control) for side, entrant in entrants.items()}
        game = MatchGame(fixture, self.options, clocks, self._send, self._note_excess)
        engines: dict[chess.Color, Engine] = {}
        for side, entrant in entrants.items():
            try:
                engines[side] = await slot.ensure_engine(entrant.engine)
            except EngineFault as fault:
                return await end_lost_game(game, self._judge, side, fault)
        await play_game(game, engines, self.settings.stop, self._judge)
        await slot.close([game.faulty_engine], kill=True)
        return game

    async def _record_game(self, game: MatchGame, file: GamesFile) -> None:
        """Write a finished game to the file, and send its result to the listeners."""
        if self._is_to_be_verified(game):
            verified = await self._judge.verify(game.arbiter, game.outcome)
            # A separate statement: += with an await would lose what other games add meanwhile.
            self._summary.verified_count += verified
        record, file_size = await file.append(game_text(game, self.settings, file.digest))
        self._games.add(record)
        self._summary.thinking_seconds += game.thinking_seconds
        fields = (*game.fixture.message_fields, game.outcome.value, game.ending_text)
        self._send(GameEnd(game.end_time, *fields, len(self._games), file_size, record.classical))
        self._note_unproved(game)
        if game.faulty_engine:
            self._summary.faults[game.faulty_engine][game.termination] += 1
            self._note(f"{game.faulty_engine}: {game.termination}: {game.fault_detail}")
            if not self.settings.recover and game.outcome.basis is Basis.ABANDONED:
                raise TbgenError(
                    f"{game.faulty_engine} has failed in game {game.fixture.key}: {game.fault_detail}"
                )
        await self._send_score()

    async def _send_score(self) -> None:
        """With two players, send their score; with more, send the standings if they are due.

        Then send the endings if they are due. Standings are computed in a thread.
        """
        games = self._games
        if games.is_test_outdated:
            await asyncio.to_thread(games.test)
        if len(self.settings.players) == 2:
            self._send(ScoreUpdate(games.score(), None))
        elif _is_due(len(games), self.settings.interval) and games.countable_games():
            found = await asyncio.to_thread(games.standings, self._scheme, self.settings.ranking)
            self._send(ScoreUpdate(None, found))

        if _is_due(len(games), self.settings.ends):
            self._send(Endings(games.ending_counts()))

    def _note_unproved(self, game: MatchGame) -> None:
        """Send a note about each new reason why a result could not be proved."""
        for reason in (*game.outcome.lacks, game.outcome.unsolvable):
            if reason and reason not in self._reasons_noted:
                self._reasons_noted.add(reason)
                self._note(f"game {game.fixture.key}: {reason}")

    def _note_excess(self, name: str, excess: str) -> None:
        """Send a note, once for each engine, that its search has passed its limit by far."""
        if name not in self._excesses_noted:
            self._excesses_noted.add(name)
            self._note(f"{name} seems to ignore {excess}")

    def _is_to_be_verified(self, game: MatchGame) -> bool:
        """Return whether to verify the adjudication of a game. The choice is random but fixed for a game."""
        if game.outcome.basis not in (Basis.TABLEBASE, Basis.ADJUDICATION):
            return False
        return random.Random(f"{self.settings.seed} {game.fixture.key}").random() < self.settings.verify

    def _test_has_decided(self) -> bool:
        test = self._games.test()
        return test is not None and test.verdict != "continue"

    async def _try_engines(self, slot: _Slot) -> None:
        """Start each engine once, so that no game is lost because an engine's settings are wrong.

        :raises TbgenError: if an engine cannot be started.
        :raises UsageError: if the event needs Chess960 and an engine does not play it.
        """
        for entrant in self.settings.entrants:
            try:
                plays_chess960 = (await slot.ensure_engine(entrant.engine)).plays_chess960
            except EngineFault as fault:
                raise TbgenError(f"{entrant.name} does not start: {fault.detail}") from None
            await slot.close_others()
            if self._needs_chess960 and not plays_chess960:
                raise UsageError(f"{entrant.name} does not play Chess960: it has no option UCI_Chess960")

    def _note(self, sentence: str) -> None:
        self._send(Note(sentence))

    def _send(self, message: Message) -> None:
        for listener in self._listeners:
            listener(message)

    def _event_start(self, file_size: int) -> EventStart:
        settings = self.settings
        options = self.options
        return EventStart(
            name="" if settings.event == "?" else settings.event,
            site="" if settings.site == "?" else settings.site,
            format=settings.format.value,
            rules=options.variant,
            players=[Participant(entrant.name, str(entrant.control)) for entrant in settings.entrants],
            rounds=settings.rounds,
            games=settings.games,
            total=self.schedule.total,
            finished=len(self._games),
            concurrency=settings.concurrency,
            scoring=self._scheme,
            cutoff=options.cutoff,
            komi=options.komi,
            test=settings.test,
            size=file_size,
            order=settings.ranking.order.name,
            tiebreaks=settings.ranking.order.tiebreaks,
            byes=settings.ranking.byes,
        )


def run_event(
    settings: EventSettings, options: GameOptions, judge: Judge, listeners: Sequence[Listener]
) -> Summary:
    """Play or resume an event.

    On Ctrl-C, SIGTERM or SIGHUP, the games and engines are stopped first; then the signal takes effect. A
    signal that the caller ignores, such as SIGHUP under ``nohup``, has no effect.

    :param listeners: functions to call with each message, in this order.

    :raises TbgenError: as :class:`Event` and :meth:`Event.run` do.
    """
    event = Event(settings, options, judge, listeners)
    with event.open_file() as file:  # before the event loop, because signals have to interrupt the reading
        return _run_loop(event, file)


def _run_loop(event: Event, file: GamesFile) -> Summary:
    received: list[int] = []

    async def play() -> Summary:
        task = asyncio.create_task(event.run(file))

        def stop(signum: int, _frame: object) -> None:
            received.append(signum)
            with suppress(RuntimeError):  # raised if the event loop has just been closed
                loop.call_soon_threadsafe(task.cancel)

        loop = asyncio.get_running_loop()
        for signum in handlers:
            signal.signal(signum, stop)
        return await task

    old_handlers = {signum: signal.getsignal(signum) for signum in END_SIGNALS}
    handlers = {signum: handler for signum, handler in old_handlers.items() if handler != signal.SIG_IGN}
    try:
        return asyncio.run(play())
    except asyncio.CancelledError:
        pass
    finally:
        for signum, handler in handlers.items():
            signal.signal(signum, handler)
    signal.raise_signal(received[0])
    raise KeyboardInterrupt  # reached only if the handler of the caller returns


def _is_due(game_count: int, interval: int) -> bool:
    """Return whether a report is due after this number of games; an interval of 0 means never."""
    return interval > 0 and game_count % interval == 0


def schedule_digests(settings: EventSettings, openings: Openings) -> dict[str, int]:
    """Return digests of everything that determines the schedule, each with its number of rounds.

    If pairings depend on results, they may also depend on the number of rounds. Each number then has its own
    digest, so that a game shows for how many rounds its round was paired. Other formats have one digest.
    """
    entrants = (
        f"{entrant.name} {entrant.control!r} {sorted(entrant.engine.options.items())}"
        for entrant in settings.entrants
    )
    parameters = f"{settings.games} {openings.one_per_round} {settings.seeds} {settings.seed}"
    parts = [*entrants, settings.format.value, parameters]
    more = [*(["no swap"] if not settings.swap else []), *(["reverse"] if settings.reverse else [])]
    waits = settings.format.waits_for_results
    counts = range(1, max(settings.rounds, _MAX_ROUNDS) + 1) if waits else [settings.rounds]
    texts = ("\n".join([*parts, str(count) if waits else "", *more, openings.digest]) for count in counts)
    return dict(zip((hashlib.sha256(text.encode()).hexdigest()[:16] for text in texts), counts, strict=True))
