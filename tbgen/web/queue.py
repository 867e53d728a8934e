"""Requests that wait for their turn where one answer takes long."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from starlette.requests import Request

from tbgen.web.errors import Refusal
from tbgen.web.limits import client_of

MOST_OF_ONE: Final = 3
"""Requests of one client that may wait."""


class Queue:
    """Gives turns in the order in which they are asked for. Who has gone loses its place.

    :param at_once: how many have their turn at a time.
    :param most: how many may wait.
    """

    def __init__(self, at_once: int, most: int) -> None:
        self._free = asyncio.Semaphore(at_once)
        self._most = most
        self._waiting: Counter[str] = Counter()

    @asynccontextmanager
    async def turn(self, request: Request) -> AsyncIterator[None]:
        """Wait for the turn of a request whose body has been read, and hold it for the block.

        :raises Refusal: if too many wait, or too many of this client, or the client has gone.
        """
        client = client_of(request)
        if self._free.locked():
            if self._waiting.total() >= self._most:
                raise Refusal(
                    503, "busy", "the server has too much to do: try again later", {"Retry-After": "5"}
                )
            if self._waiting[client] >= MOST_OF_ONE:
                sentence = f"{MOST_OF_ONE} of your requests are waiting: wait for their answers"
                raise Refusal(429, "too_much", sentence, {"Retry-After": "1"})
        self._waiting[client] += 1
        try:
            await self._wait(request)
        finally:
            self._waiting[client] -= 1
            if not self._waiting[client]:
                del self._waiting[client]
        try:
            yield
        finally:
            self._free.release()

    async def _wait(self, request: Request) -> None:
        coming, leaving = asyncio.create_task(self._free.acquire()), asyncio.create_task(_gone(request))
        try:
            await asyncio.wait((coming, leaving), return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            if not coming.cancel():
                self._free.release()
            raise
        finally:
            leaving.cancel()
        if not coming.done():
            coming.cancel()
            raise Refusal(400, "bad_input", "the request broke off")


async def _gone(request: Request) -> None:
    """Return when the client has closed the connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
