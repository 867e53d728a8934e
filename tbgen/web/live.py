"""The page of a running event: its endpoints, and its spectators, to whom all changes are sent."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import current_thread, main_thread
from time import perf_counter, thread_time
from typing import Any, Final, TypeVar

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from tbgen.games.live_file import EventEnd, Termination
from tbgen.games.standings.record import explorer_query
from tbgen.web.admission import Bill, Limiter, client_of
from tbgen.web.live_state import Change, EventFiles, LiveState, game_document
from tbgen.web.replies import NO_STORE, PGN_TYPE, Endpoints, EventStream, Refusal, answer, event_text

Result = TypeVar("Result")

_logger = logging.getLogger(__name__)
_PGN_SUFFIX: Final = ".pgn"
_JSON_SUFFIX: Final = ".json"
_MAX_DIGITS: Final = 9
"""Maximum number of digits of a game's number in a request."""
_MAX_SPECTATORS: Final = 200
_MAX_CHANGES: Final = 400
"""Maximum number of changes kept for slow spectators; a spectator who has missed more is sent the complete
state."""
_POLL_SECONDS: Final = 0.1
"""Interval between two readings of the live file."""
_MIN_STANDINGS_SECONDS: Final = 1.0
"""Minimum pause between two computations of the standings."""
_REST_FACTOR: Final = 20
"""Minimum pause between two computations of the standings, as a multiple of the time of the last one."""


@dataclass(eq=False, slots=True)
class SpectatorSeat:
    """A spectator's connection to the live page, and the client that it belongs to."""

    client: str
    is_lost: bool = False
    """Whether the seat has been given to another spectator."""


class Audience:
    """The spectators of an event. Their number is limited, and so is the cost of each spectator."""

    def __init__(self) -> None:
        self._changes: deque[str] = deque(maxlen=_MAX_CHANGES)
        self._change_count = 0
        """Number of changes so far."""
        self._changed = asyncio.Event()
        self._closed = False
        self._seats: list[SpectatorSeat] = []

    @contextmanager
    def seat(self, client: str) -> Iterator[SpectatorSeat]:
        """Give a spectator a seat for the duration of the block.

        If all seats are taken, the spectator gets the oldest seat of the client with the most seats. A client
        may thus have many seats, but cannot shut out others.

        :raises Refusal: if all seats are taken, and no client has more seats than this client would have.
        """
        if len(self._seats) >= _MAX_SPECTATORS:
            taken = Counter(seat.client for seat in self._seats)
            ((crowded_client, seat_count),) = taken.most_common(1)
            if seat_count <= taken[client] + 1:
                sentence = f"there are {_MAX_SPECTATORS} spectators already: try again later"
                raise Refusal(503, "busy", sentence, {"Retry-After": "30"})
            oldest = next(seat for seat in self._seats if seat.client == crowded_client)
            oldest.is_lost = True
            self._seats.remove(oldest)
            self._wake()
        seat = SpectatorSeat(client)
        self._seats.append(seat)
        try:
            yield seat
        finally:
            if not seat.is_lost:
                self._seats.remove(seat)

    def send(self, text: str | None) -> None:
        """Send a message of the event stream to all spectators; None stands for the complete state."""
        self._change_count += 1
        if text is None:
            self._changes.clear()
        else:
            self._changes.append(text)
        self._wake()

    def close(self) -> None:
        """Disconnect each spectator after sending all changes."""
        self._closed = True
        self._wake()

    async def messages(self, seat: SpectatorSeat, state_message: Callable[[], str]) -> AsyncIterator[str]:
        """Yield a spectator's messages while the seat lasts: the complete state first, then the changes.

        :param state_message: returns the message with the complete state.
        """
        seen_count = -1
        while not (seat.is_lost or (self._closed and seen_count == self._change_count)):
            if seen_count == self._change_count:
                await self._changed.wait()
                continue
            missed = self._change_count - seen_count
            seen_count = self._change_count
            yield state_message() if missed > len(self._changes) else "".join(list(self._changes)[-missed:])

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


class LivePage:
    """The page of a running event, which follows its PGN file and its live file.

    :param pgn: the PGN file.
    :param limiter: limits the processor time of each client.
    :param ends_with_event: whether the server ends with the event.
    """

    def __init__(self, pgn: Path, limiter: Limiter, *, ends_with_event: bool) -> None:
        self._files = EventFiles(pgn)
        self._limiter = limiter
        self._ends_with_event = ends_with_event
        self._state = LiveState()
        self._standings_lock = asyncio.Lock()
        self._failure = ""
        """The last logged error."""
        self.audience = Audience()
        signums = signal.SIGINT, signal.SIGTERM
        self._end_signals = [signum for signum in signums if signal.getsignal(signum) != signal.SIG_IGN]
        """The signals that end the server. The server handles signals even if they were ignored before."""

    def endpoints(self) -> Endpoints:
        """Return the endpoints by their paths."""
        return {
            "/live/event": self._answer_event,
            "/live/stream": self._answer_stream,
            "/live/games": self._answer_games,
            "/live/games/{name}": self._answer_game,
        }

    async def follow(self) -> None:
        """Follow the files until the server ends. With ``ends_with_event``, end the server after the
        event."""
        if current_thread() is main_thread():
            self._close_at_signals()
        standings_task = asyncio.create_task(self._keep_standings_current())
        try:
            while not (await self._result_or(False, self._read_files(), "games") and self._ends_with_event):
                await asyncio.sleep(_POLL_SECONDS)
        finally:
            standings_task.cancel()
            self._files.live.close()
        self.audience.close()
        signal.raise_signal(signal.SIGINT)

    async def _result_or(self, default: Result, work: Coroutine[Any, Any, Result], part: str) -> Result:
        """Return the result of ``work``, or ``default`` if it fails; a repeated error is logged once.

        :param part: the part of the page that the work brings up to date, for the log.
        """
        try:
            return await work
        except Exception as error:
            if repr(error) != self._failure:
                self._failure = repr(error)
                _logger.error("the %s of the live page are not complete: %s", part, self._failure)
            return default

    async def _read_files(self) -> bool:
        """Read the new parts of the files, and return whether the live file says that the event is over."""
        # Checked before the files are read: a runner writes its last line before it ends, so none is missed.
        abandoned = self._files.is_abandoned
        restarted, new_lines = await asyncio.to_thread(self._files.read)
        if restarted:
            self._state = LiveState()
        changes = [self._state.apply(line, games) for line, games in new_lines]
        if abandoned and not (restarted or new_lines or self._state.termination):
            changes.append(self._state.apply(EventEnd(Termination.GONE), ()))
        ends = [change for change in changes if isinstance(change[1], EventEnd)]
        if not restarted:  # sent at once, because the state that new spectators get has these changes
            self._send(change for change in changes if change not in ends)
        if self._state.termination:
            await self._update_standings()  # now, because spectators leave once the end has been sent
        if restarted:
            self.audience.send(None)
        else:
            self._send(ends)
        return self._state.termination not in (None, Termination.UNTOLD)

    def _send(self, changes: Iterable[Change]) -> None:
        for change in changes:
            self.audience.send(event_text(*change))

    async def _keep_standings_current(self) -> None:
        while True:
            began = perf_counter()
            await self._update_standings()
            await asyncio.sleep(max(_MIN_STANDINGS_SECONDS, _REST_FACTOR * (perf_counter() - began)))

    async def _update_standings(self) -> None:
        """Compute the standings if a game or the event has ended since they were last computed."""
        async with self._standings_lock:
            state = self._state
            if not state.needs_ranking:
                return
            games = state.unranked_games
            state.unranked_games = []
            state.needs_ranking = False
            work = asyncio.to_thread(state.update_standings, games)
            change = await self._result_or(None, work, "standings")
            if change is not None and state is self._state:
                self.audience.send(event_text(*change))

    def _close_at_signals(self) -> None:
        """Disconnect spectators when a signal tells the server to end, because it would wait for them."""
        loop = asyncio.get_running_loop()
        for signum in self._end_signals:
            handler = signal.getsignal(signum)

            def close(signum: int, frame: Any, handler: Any = handler) -> None:
                loop.call_soon_threadsafe(self.audience.close)
                if callable(handler):
                    handler(signum, frame)

            signal.signal(signum, close)

    async def _answer_event(self, request: Request) -> Response:
        with self._limiter.charged(client_of(request)) as bill, bill.timed():
            return answer(request, self._state.document(), NO_STORE)

    async def _answer_stream(self, request: Request) -> Response:
        return EventStream(self._spectate(request))

    @asynccontextmanager
    async def _spectate(self, request: Request) -> AsyncIterator[AsyncIterator[str]]:
        client = client_of(request)
        with self._limiter.charged(client, lasting=True) as bill, self.audience.seat(client) as seat:

            def state_message() -> str:
                with bill.timed():
                    return event_text("state", self._state.document())

            yield self.audience.messages(seat, state_message)

    async def _answer_games(self, request: Request) -> Response:
        with self._limiter.charged(client_of(request)) as bill, bill.timed():
            before = request.query_params.get("before")
            if before is None:
                return answer(request, self._state.finished_games(), NO_STORE)
            if not (before.isascii() and before.isdecimal() and len(before) <= _MAX_DIGITS):
                raise Refusal(400, "bad_input", "before must be the number of a game, such as 51")
            return answer(request, self._state.finished_games(int(before)), NO_STORE)

    async def _answer_game(self, request: Request) -> Response:
        """Answer with a finished game as PGN or as a document, or redirect to the explorer with the game."""
        with self._limiter.charged(client_of(request)) as bill:
            name = request.path_params["name"]
            start = self._state.start
            span = self._state.spans.get(name.removesuffix(_PGN_SUFFIX).removesuffix(_JSON_SUFFIX))
            pgn = b"" if span is None else await _in_thread(bill, self._files.read_span, span)
            if not pgn or start is None:
                sentence = "there is no such finished game; /live/games lists the finished games"
                raise Refusal(404, "no_game", sentence)
            if name.endswith(_JSON_SUFFIX):
                options = self._files.options
                return await _in_thread(bill, lambda: answer(request, game_document(pgn, options), NO_STORE))
            headers = {"Cache-Control": NO_STORE}
            if name.endswith(_PGN_SUFFIX):
                return Response(pgn.strip() + b"\n", headers=headers, media_type=PGN_TYPE)
            link = await _in_thread(bill, explorer_query, pgn, start.rules)
            return RedirectResponse(f"../../{link}", 303, headers)


async def _in_thread(bill: Bill, function: Callable[..., Result], *arguments: Any) -> Result:
    """Call a function in a thread, and add its processor time to the bill; waiting for the thread is free."""
    return await asyncio.to_thread(bill.timed(thread_time)(function), *arguments)
