"""Server-sent events [1]: answers that go on for as long as there is something to tell.

[1] WHATWG, *HTML Living Standard*, section 9.2.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

import msgspec
from starlette.requests import ClientDisconnect
from starlette.responses import StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from tbgen.web.exchange import NOT_KEPT

MEDIA_TYPE: Final = "text/event-stream"
SILENT_SECONDS: Final = 10.0
"""After which a word is sent that means nothing, so that proxies keep the connection."""
_SEND_SECONDS: Final = 60.0
"""For which a client may take nothing of what is there for him."""


def event(name: str, document: dict[str, Any]) -> str:
    """Return an event with a document.

    >>> event("over", {"how": "finished"})
    'event: over\\ndata: {"how":"finished"}\\n\\n'
    """
    return f"event: {name}\ndata: {msgspec.json.encode(document).decode()}\n\n"


class EventStream(StreamingResponse):
    """Events as they come; whatever becomes of the connection, its end is seen to."""

    def __init__(self, events: AsyncIterator[str], end: Callable[[], Awaitable[None]]) -> None:
        headers = {"Cache-Control": NOT_KEPT, "X-Accel-Buffering": "no"}
        super().__init__(events, headers=headers, media_type=MEDIA_TYPE)
        self._end = end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events."""

        async def send_in_time(message: Message) -> None:
            async with asyncio.timeout(_SEND_SECONDS):
                await send(message)

        try:
            with suppress(ClientDisconnect, TimeoutError):
                await super().__call__(scope, receive, send_in_time)
        finally:
            await asyncio.shield(self._end())
