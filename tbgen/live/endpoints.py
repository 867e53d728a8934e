"""What the page of an event asks, as endpoints of the server that the explorer has."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from tbgen.live.audience import Audience
from tbgen.live.explorer_link import explorer_link
from tbgen.live.history import FinishedGame, History
from tbgen.live.messages import Ended, Message
from tbgen.live.show import Change, Show
from tbgen.web.app import Endpoint
from tbgen.web.errors import Refusal
from tbgen.web.events import MEDIA_TYPE, EventStream, event
from tbgen.web.exchange import NOT_KEPT, answer
from tbgen.web.limits import Limiter, name_of_client

__all__ = ["Live"]

_PGN: Final = ".pgn"
_PGN_TYPE: Final = "application/x-chess-pgn"
_MOST_DIGITS: Final = 9


class Live:
    """An event that is shown; everything but :meth:`endpoints` is called in the loop of the server.

    :param limiter: what each client may take.
    """

    def __init__(self, limiter: Limiter) -> None:
        self._show = Show()
        self._limiter = limiter
        self.audience = Audience(self._everything)
        self._history: History | None = None
        self._seconds = 0.0
        """What it has taken to tell all there is, the last time."""

    def endpoints(self) -> Mapping[str, Endpoint]:
        """Return the endpoints by their paths."""
        return {
            "/live/event": self._answer_event,
            "/live/stream": self._answer_stream,
            "/live/games": self._answer_games,
            "/live/games/{name}": self._answer_game,
        }

    def follow(self, history: History) -> None:
        """Find finished games in a file from now on."""
        self._history = history

    def take(self, message: Message, games: Sequence[FinishedGame]) -> None:
        """Show what the runner tells."""
        self._tell(self._show.take(message, games))

    def rank(self, standings: dict[str, Any]) -> None:
        """Show standings."""
        self._tell(self._show.rank(standings))

    def end(self) -> None:
        """Tell that the runner is gone, unless he has said that the event is over, and let all go."""
        if not self._show.over:
            self._tell(self._show.end(Ended.GONE))
        self.audience.close()

    def _tell(self, change: Change | None) -> None:
        self.audience.tell(None if change is None else event(*change))

    def _everything(self) -> str:
        began = perf_counter()
        text = event("state", self._show.document())
        self._seconds = perf_counter() - began
        return text

    async def _answer_event(self, request: Request) -> Response:
        with _Charged(self._limiter, request):
            return answer(request, self._show.document(), NOT_KEPT)

    async def _answer_stream(self, request: Request) -> Response:
        client = _client(request)
        if request.method == "HEAD":
            return Response(media_type=MEDIA_TYPE)
        self._limiter.admit(client)
        try:
            events, leave = self.audience.enter()
        except Refusal:
            self._limiter.charge(client, 0.0)
            raise

        async def end() -> None:
            leave()
            self._limiter.charge(client, self._seconds)

        return EventStream(events, end)

    async def _answer_games(self, request: Request) -> Response:
        with _Charged(self._limiter, request):
            text = request.query_params.get("before")
            if text is not None and not (text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS):
                raise Refusal(400, "bad_input", "before is the number of a game, such as 51")
            before = None if text is None else int(text)
            return answer(request, self._show.finished(before), NOT_KEPT)

    async def _answer_game(self, request: Request) -> Response:
        """Return a finished game as PGN, or lead to where the explorer shows it."""
        with _Charged(self._limiter, request):
            name = request.path_params["name"]
            key = name.removesuffix(_PGN)
            place = self._show.place(key)
            text = b""
            if place is not None and self._history is not None:
                text = await asyncio.to_thread(self._history.text, place)
            if not text:
                raise Refusal(
                    404, "no_game", "there is no such finished game; /live/games says which there are"
                )
            if name.endswith(_PGN):
                headers = {"Cache-Control": NOT_KEPT}
                return Response(text.strip() + b"\n", headers=headers, media_type=_PGN_TYPE)
            link = await asyncio.to_thread(explorer_link, text, self._show.rules)
            return RedirectResponse(f"../../{link}", 303, {"Cache-Control": NOT_KEPT})


class _Charged:
    """A request of a client, charged with the time that it takes."""

    def __init__(self, limiter: Limiter, request: Request) -> None:
        self._limiter, self._client = limiter, _client(request)

    def __enter__(self) -> None:
        self._limiter.admit(self._client)
        self._began = perf_counter()

    def __exit__(self, *_: object) -> None:
        self._limiter.charge(self._client, perf_counter() - self._began)


def _client(request: Request) -> str:
    return name_of_client(request.client and request.client.host)
