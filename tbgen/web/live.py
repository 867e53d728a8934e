"""The page of a running event: its endpoints, and its spectators, who are sent all changes."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import current_thread, main_thread
from time import perf_counter
from typing import Any, Final, TypeVar

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from tbgen.games.live_file import EventEnd, Termination
from tbgen.games.standings.record import explorer_link
from tbgen.web.exchange import NOT_KEPT, PGN, Endpoints, EventStream, Refusal, answer, event
from tbgen.web.limits import Limiter, client_of
from tbgen.web.live_state import EventFiles, LiveState, retold_game

Result = TypeVar("Result")

_logger = logging.getLogger(__name__)
_PGN: Final = ".pgn"
_JSON: Final = ".json"
_MAX_DIGITS: Final = 9
_MAX_SPECTATORS: Final = 200
_MAX_CHANGES: Final = 400
"""Maximum number of changes kept for slow spectators; one further behind is sent the complete state."""
_POLL_SECONDS: Final = 0.1
"""Interval at which the live file is read."""
_MIN_RANKING_SECONDS: Final = 1.0
"""Minimum pause between two computations of the standings."""
_REST_FACTOR: Final = 20
"""Minimum length of that pause, as a multiple of the time of the last computation."""


@dataclass(eq=False, slots=True)
class SpectatorSeat:
    """A seat in the audience, and the client that has it."""

    client: str
    lost: bool = False
    """Whether another spectator has got the seat."""


class Audience:
    """The spectators of an event; their number and the cost of each are bounded."""

    def __init__(self) -> None:
        self._changes: deque[str] = deque(maxlen=_MAX_CHANGES)
        self._count = 0
        """Number of changes so far."""
        self._changed = asyncio.Event()
        self._closed = False
        self._seats: list[SpectatorSeat] = []

    @contextmanager
    def seat(self, client: str) -> Iterator[SpectatorSeat]:
        """Give a spectator a seat for the block.

        If all seats are taken, the spectator gets the oldest seat of the client with the most seats. A client
        may thus have many seats, but shuts nobody out.

        :raises Refusal: if no client has more seats than this one would have.
        """
        if len(self._seats) >= _MAX_SPECTATORS:
            taken = Counter(seat.client for seat in self._seats)
            ((other, most),) = taken.most_common(1)
            if most <= taken[client] + 1:
                sentence = f"there are {_MAX_SPECTATORS} spectators already: try again later"
                raise Refusal(503, "busy", sentence, {"Retry-After": "30"})
            oldest = next(seat for seat in self._seats if seat.client == other)
            oldest.lost = True
            self._seats.remove(oldest)
            self._wake()
        seat = SpectatorSeat(client)
        self._seats.append(seat)
        try:
            yield seat
        finally:
            if not seat.lost:
                self._seats.remove(seat)

    def send(self, text: str | None) -> None:
        """Send a change to all spectators; None sends the complete state."""
        self._count += 1
        if text is None:
            self._changes.clear()
        else:
            self._changes.append(text)
        self._wake()

    def close(self) -> None:
        """Disconnect each spectator after sending all changes."""
        self._closed = True
        self._wake()

    async def events(self, seat: SpectatorSeat, everything: Callable[[], str]) -> AsyncIterator[str]:
        """Yield the events for a spectator while the seat lasts: the complete state first, then the changes.

        :param everything: returns the event with the complete state.
        """
        seen = -1
        while not (seat.lost or (self._closed and seen == self._count)):
            if seen == self._count:
                await self._changed.wait()
                continue
            missed, seen = self._count - seen, self._count
            yield everything() if missed > len(self._changes) else "".join(list(self._changes)[-missed:])

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


class LivePage:
    """A running event, followed in its two files.

    :param pgn: the PGN file.
    :param limiter: limits the processor time of each client.
    :param until_over: whether the server ends with the event.
    """

    def __init__(self, pgn: Path, limiter: Limiter, *, until_over: bool) -> None:
        self._files, self._limiter, self._until_over = EventFiles(pgn), limiter, until_over
        self._state = LiveState()
        self._ranking = asyncio.Lock()
        self._failure = ""
        """The last logged error."""
        self.audience = Audience()

    def endpoints(self) -> Endpoints:
        """Return the endpoints by their paths."""
        return {
            "/live/event": self._answer_event,
            "/live/stream": self._answer_stream,
            "/live/games": self._answer_games,
            "/live/games/{name}": self._answer_game,
        }

    async def follow(self) -> None:
        """Follow the files until the server ends, or the event if the server ends with it."""
        if current_thread() is main_thread():
            self._close_at_signals()
        ranking = asyncio.create_task(self._keep_ranking())
        try:
            while not (await self._guarded(self._look(), False) and self._until_over):
                await asyncio.sleep(_POLL_SECONDS)
        finally:
            ranking.cancel()
            self._files.live.close()
        self.audience.close()
        signal.raise_signal(signal.SIGINT)

    async def _guarded(self, work: Coroutine[Any, Any, Result], otherwise: Result) -> Result:
        """Return the result of work on the files, or ``otherwise`` after logging an error, once in a row."""
        try:
            return await work
        except Exception as error:
            if repr(error) != self._failure:
                self._failure = repr(error)
                _logger.error("the live page skips a part of its files: %s", self._failure)
            return otherwise

    async def _look(self) -> bool:
        """Read what is new in the files, and return whether the live file says that the event is over."""
        abandoned = self._files.abandoned  # checked first: a runner writes its last line before it ends
        fresh, news = await asyncio.to_thread(self._files.read)
        if fresh:
            self._state = LiveState()
        changes = [self._state.take(line, games) for line, games in news]
        if abandoned and not (fresh or news or self._state.over):
            changes.append(self._state.take(EventEnd(Termination.GONE), ()))
        if self._state.over:
            await self._rank()  # before the end is sent, after which spectators leave
        if fresh:
            self.audience.send(None)
        else:
            for change in changes:
                self.audience.send(event(*change))
        return self._state.over not in (None, Termination.UNTOLD)

    async def _keep_ranking(self) -> None:
        while True:
            began = perf_counter()
            await self._rank()
            await asyncio.sleep(max(_MIN_RANKING_SECONDS, _REST_FACTOR * (perf_counter() - began)))

    async def _rank(self) -> None:
        """Compute the standings if games have been finished since the last time."""
        async with self._ranking:
            state = self._state
            games, state.unranked = state.unranked, []
            if not games:
                return
            change = await self._guarded(asyncio.to_thread(state.rank, games), None)
            if change is not None and state is self._state:
                self.audience.send(event(*change))

    def _close_at_signals(self) -> None:
        """Disconnect spectators when the server gets a signal to end; otherwise it would wait for them."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            handler = signal.getsignal(number)

            def close(number: int, frame: Any, handler: Any = handler) -> None:
                loop.call_soon_threadsafe(self.audience.close)
                if callable(handler):
                    handler(number, frame)

            signal.signal(number, close)

    async def _answer_event(self, request: Request) -> Response:
        with self._limiter.charged(client_of(request)) as bill, bill.timed():
            return answer(request, self._state.document(), NOT_KEPT)

    async def _answer_stream(self, request: Request) -> Response:
        return EventStream(self._watching(request))

    @asynccontextmanager
    async def _watching(self, request: Request) -> AsyncIterator[AsyncIterator[str]]:
        client = client_of(request)
        with self._limiter.charged(client, lasting=True) as bill, self.audience.seat(client) as seat:

            def everything() -> str:
                with bill.timed():
                    return event("state", self._state.document())

            yield self.audience.events(seat, everything)

    async def _answer_games(self, request: Request) -> Response:
        with self._limiter.charged(client_of(request)) as bill, bill.timed():
            text = request.query_params.get("before")
            if text is not None and not (text.isascii() and text.isdecimal() and len(text) <= _MAX_DIGITS):
                raise Refusal(400, "bad_input", "before must be the number of a game, such as 51")
            before = None if text is None else int(text)
            return answer(request, self._state.finished(before), NOT_KEPT)

    async def _answer_game(self, request: Request) -> Response:
        """Return a finished game as PGN or as a document, or redirect to the explorer with the game."""
        with self._limiter.charged(client_of(request)) as bill, bill.timed():
            name, start = request.path_params["name"], self._state.start
            place = self._state.places.get(name.removesuffix(_PGN).removesuffix(_JSON))
            text = b"" if place is None else await asyncio.to_thread(self._files.text, place)
            if not text or start is None:
                sentence = "there is no such finished game; /live/games lists the finished games"
                raise Refusal(404, "no_game", sentence)
            if name.endswith(_JSON):
                return answer(
                    request, await asyncio.to_thread(retold_game, text, self._files.options), NOT_KEPT
                )
            headers = {"Cache-Control": NOT_KEPT}
            if name.endswith(_PGN):
                return Response(text.strip() + b"\n", headers=headers, media_type=PGN)
            link = await asyncio.to_thread(explorer_link, text, start.rules)
            return RedirectResponse(f"../../{link}", 303, headers)
