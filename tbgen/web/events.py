"""Server-sent events [1]: answers that go on for as long as there is something to tell.

[1] WHATWG, *HTML Living Standard*, section 9.2.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any, Final

import msgspec
from starlette.requests import ClientDisconnect
from starlette.responses import Response, StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from tbgen.web.exchange import NOT_KEPT

MEDIA_TYPE: Final = "text/event-stream"
_SILENT_SECONDS: Final = 10.0
"""After which a comment is sent, so that proxies keep the connection."""
_SEND_SECONDS: Final = 60.0
"""For which a client may take nothing of what is there for him."""


def event(name: str, document: dict[str, Any]) -> str:
    """Return an event with a document.

    >>> event("over", {"how": "finished"})
    'event: over\\ndata: {"how":"finished"}\\n\\n'
    """
    return f"event: {name}\ndata: {msgspec.json.encode(document).decode()}\n\n"


class EventStream(StreamingResponse):
    """Events as they come; whatever becomes of the connection, the context that yields them is left.

    :param opened: yields the events; what it raises when it is entered is answered as in an endpoint.
    """

    def __init__(self, opened: AbstractAsyncContextManager[AsyncIterator[str]]) -> None:
        headers = {"Cache-Control": NOT_KEPT, "X-Accel-Buffering": "no"}
        super().__init__((), headers=headers, media_type=MEDIA_TYPE)
        self._opened = opened

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events, or the headers alone where no more is asked for."""
        if scope["method"] == "HEAD":
            await Response(headers=dict(self.headers))(scope, receive, send)
            return

        async def send_in_time(message: Message) -> None:
            async with asyncio.timeout(_SEND_SECONDS):
                await send(message)

        async with self._opened as events:
            self.body_iterator = _with_pauses(events)
            with suppress(ClientDisconnect, TimeoutError):
                await super().__call__(scope, receive, send_in_time)


async def _with_pauses(events: AsyncIterator[str]) -> AsyncIterator[str]:
    """Yield events, and in a pause now and then a comment."""
    coming = asyncio.ensure_future(anext(events, None))
    try:
        while True:
            done, _ = await asyncio.wait([coming], timeout=_SILENT_SECONDS)
            if not done:
                yield ": nothing new\n\n"
            elif (text := coming.result()) is None:
                return
            else:
                yield text
                coming = asyncio.ensure_future(anext(events, None))
    finally:
        coming.cancel()
