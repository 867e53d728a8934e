"""The page of a running event: its endpoints, and the spectators, to whom changes are sent."""

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
_MOST_DIGITS: Final = 9
_MOST_SPECTATORS: Final = 200
_MOST_CHANGES: Final = 400
"""Changes that are kept for slow spectators; one further behind is sent the whole state."""
_SECONDS: Final = 0.1
"""Between two looks into the live file."""
_LEAST_SECONDS: Final = 1.0
"""Between two computations of the standings."""
_REST: Final = 20
"""Length of the pause between them, in times of the last one."""


@dataclass(eq=False, slots=True)
class Onlooker:
    """A spectator with his seat."""

    client: str
    lost: bool = False
    """Whether another spectator has his seat now."""


class Audience:
    """The spectators of an event; their number and what each of them costs are bounded."""

    def __init__(self) -> None:
        self._changes: deque[str] = deque(maxlen=_MOST_CHANGES)
        self._count = 0
        """Changes so far."""
        self._changed = asyncio.Event()
        self._closed = False
        self._seats: list[Onlooker] = []

    @contextmanager
    def seat(self, client: str) -> Iterator[Onlooker]:
        """Let a spectator look on within the block.

        If all seats are taken, he gets the oldest one of the client that has most: so all of a large
        household may look on, and nobody is shut out by it.

        :raises Refusal: if no client has more than he would have.
        """
        if len(self._seats) >= _MOST_SPECTATORS:
            taken = Counter(seat.client for seat in self._seats)
            ((other, most),) = taken.most_common(1)
            if most <= taken[client] + 1:
                sentence = f"there are {_MOST_SPECTATORS} spectators already: try again later"
                raise Refusal(503, "busy", sentence, {"Retry-After": "30"})
            oldest = next(seat for seat in self._seats if seat.client == other)
            oldest.lost = True
            self._seats.remove(oldest)
            self._wake()
        seat = Onlooker(client)
        self._seats.append(seat)
        try:
            yield seat
        finally:
            if not seat.lost:
                self._seats.remove(seat)

    def tell(self, text: str | None) -> None:
        """Send a change to all; None sends the whole state."""
        self._count += 1
        if text is None:
            self._changes.clear()
        else:
            self._changes.append(text)
        self._wake()

    def close(self) -> None:
        """Let spectators go when they have been sent all changes."""
        self._closed = True
        self._wake()

    async def events(self, seat: Onlooker, everything: Callable[[], str]) -> AsyncIterator[str]:
        """Yield what a spectator is sent as long as he has his seat: the whole state first, then the changes.

        :param everything: returns the event with the whole state.
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
    """A running event, as its two files tell it.

    :param pgn: the PGN file.
    :param limiter: bounds what each client may take.
    :param until_over: whether the server ends with the event.
    """

    def __init__(self, pgn: Path, limiter: Limiter, *, until_over: bool) -> None:
        self._files, self._limiter, self._until_over = EventFiles(pgn), limiter, until_over
        self._state = LiveState()
        self._ranking = asyncio.Lock()
        self._failure = ""
        """What has gone wrong last."""
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
        """Follow the files, as long as the server runs or until the event is over."""
        if current_thread() is main_thread():
            self._close_at_signals()
        ranking = asyncio.create_task(self._keep_ranking())
        try:
            while not (await self._unharmed(self._look(), False) and self._until_over):
                await asyncio.sleep(_SECONDS)
        finally:
            ranking.cancel()
            self._files.live.close()
        self.audience.close()
        signal.raise_signal(signal.SIGINT)

    async def _unharmed(self, work: Coroutine[Any, Any, Result], otherwise: Result) -> Result:
        """Return the result of work on the files; if they end it, that is logged, once in a row."""
        try:
            return await work
        except Exception as error:
            if repr(error) != self._failure:
                self._failure = repr(error)
                _logger.error("the live page passes over a part of its files: %s", self._failure)
            return otherwise

    async def _look(self) -> bool:
        """Take in what is new in the files, and tell whether the live file says that the event is over."""
        abandoned = self._files.abandoned  # before reading: the runner writes its last line first
        fresh, news = await asyncio.to_thread(self._files.read)
        if fresh:
            self._state = LiveState()
        changes = [self._state.take(line, games) for line, games in news]
        if abandoned and not (fresh or news or self._state.over):
            changes.append(self._state.take(EventEnd(Termination.GONE), ()))
        if self._state.over:
            await self._rank()  # spectators leave when they hear of the end
        if fresh:
            self.audience.tell(None)
        else:
            for change in changes:
                self.audience.tell(event(*change))
        return self._state.over not in (None, Termination.UNTOLD)

    async def _keep_ranking(self) -> None:
        while True:
            began = perf_counter()
            await self._rank()
            await asyncio.sleep(max(_LEAST_SECONDS, _REST * (perf_counter() - began)))

    async def _rank(self) -> None:
        """Compute the standings if games have been finished since."""
        async with self._ranking:
            state = self._state
            games, state.unranked = state.unranked, []
            if not games:
                return
            change = await self._unharmed(asyncio.to_thread(state.rank, games), None)
            if change is not None and state is self._state:
                self.audience.tell(event(*change))

    def _close_at_signals(self) -> None:
        """Let spectators go as soon as the server is told to end, or it would wait for them."""
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
        return EventStream(self._looking_on(request))

    @asynccontextmanager
    async def _looking_on(self, request: Request) -> AsyncIterator[AsyncIterator[str]]:
        client = client_of(request)
        with self._limiter.charged(client, lasting=True) as bill, self.audience.seat(client) as seat:

            def everything() -> str:
                with bill.timed():
                    return event("state", self._state.document())

            yield self.audience.events(seat, everything)

    async def _answer_games(self, request: Request) -> Response:
        with self._limiter.charged(client_of(request)) as bill, bill.timed():
            text = request.query_params.get("before")
            if text is not None and not (text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS):
                raise Refusal(400, "bad_input", "before is the number of a game, such as 51")
            before = None if text is None else int(text)
            return answer(request, self._state.finished(before), NOT_KEPT)

    async def _answer_game(self, request: Request) -> Response:
        """Return a finished game as PGN or as a document, or lead to the explorer with it."""
        with self._limiter.charged(client_of(request)) as bill, bill.timed():
            name, start = request.path_params["name"], self._state.start
            place = self._state.places.get(name.removesuffix(_PGN).removesuffix(_JSON))
            text = b"" if place is None else await asyncio.to_thread(self._files.text, place)
            if not text or start is None:
                sentence = "there is no such finished game; /live/games lists those there are"
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
