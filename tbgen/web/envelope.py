"""What all answers have around them: headers for safety and for other sites, and an entry in the monitor."""

from time import perf_counter
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tbgen.web.errors import Refusal
from tbgen.web.exchange import refusal_answer
from tbgen.web.monitor import Monitor

_OTHER: Final = "other"
"""What the monitor calls all that no endpoint answers."""

_HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Resource-Policy": "cross-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_CORS: Final = {"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": "ETag, Retry-After"}


class Envelope:
    """An application around another one."""

    def __init__(self, app: ASGIApp, monitor: Monitor) -> None:
        self._app, self._monitor = app, monitor

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start = perf_counter()
        app = _refuse_framing if _is_framed_twice(scope) else self._app

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                if headers["Content-Security-Policy"].endswith("frame-ancestors *"):
                    del headers["X-Frame-Options"]  # it has no word for all
                if scope["method"] in ("GET", "HEAD"):
                    headers.update(_CORS)
                path = scope["route"].path.removesuffix("/{name:path}") if "route" in scope else _OTHER
                self._monitor.request(path, message["status"], perf_counter() - start)
            await send(message)

        await app(scope, receive, send_with_headers)


def _is_framed_twice(scope: Scope) -> bool:
    """Tell whether a request says by two headers how long it is, and a proxy may have believed the other
    one [1].

    [1] RFC 9112, section 6.1.
    """
    return {b"content-length", b"transfer-encoding"} <= {name for name, _ in scope["headers"]}


async def _refuse_framing(scope: Scope, receive: Receive, send: Send) -> None:
    """Refuse such a request, and end the connection: nobody knows where the next one begins."""
    sentence = "the request has both Content-Length and Transfer-Encoding: send one of them"
    await refusal_answer(Refusal(400, "bad_input", sentence, {"Connection": "close"}))(scope, receive, send)
