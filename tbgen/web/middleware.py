"""The middleware that adds headers for security and for other sites to responses, and counts them."""

import re
from collections.abc import Container
from time import perf_counter
from typing import Final
from urllib.parse import unquote

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tbgen.web.metrics import Monitor
from tbgen.web.replies import Refusal, refusal_answer

_NO_ENDPOINT: Final = "other"
"""The monitor's name for requests that reach no endpoint."""

_SECURITY_HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Resource-Policy": "cross-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_CORS_HEADERS: Final = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": "ETag, Retry-After",
}
_ABSOLUTE_FORM: Final = re.compile(rb"https?://(?:[^/]*@)?([^/]*)", re.IGNORECASE)


class ResponseMiddleware:
    """Middleware that adds headers to the responses of an application and counts the responses.

    :param open_paths: paths to which scripts of any site may send requests of every method.
    """

    def __init__(self, app: ASGIApp, monitor: Monitor, open_paths: Container[str]) -> None:
        self._app = app
        self._monitor = monitor
        self._open_paths = open_paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start = perf_counter()
        scope = _in_origin_form(scope)
        app = _refuse_two_lengths if _has_two_lengths(scope) else self._app

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
                if headers["Content-Security-Policy"].endswith("frame-ancestors *"):
                    del headers["X-Frame-Options"]  # this header cannot allow all sites
                if scope["method"] in ("GET", "HEAD") or scope["path"] in self._open_paths:
                    headers.update(_CORS_HEADERS)
                route = scope.get("route")
                endpoint = route.path.removesuffix("/{name:path}") if route else _NO_ENDPOINT
                self._monitor.count_request(endpoint, message["status"], perf_counter() - start)
            await send(message)

        await app(scope, receive, send_with_headers)


def _in_origin_form(scope: Scope) -> Scope:
    """Return a request with its target as a path (origin form).

    Clients that think they speak to a proxy send a whole URL. The host in it, without a user's name, takes
    precedence over the header ``Host`` [1].

    [1] RFC 9112, section 3.2.2.
    """
    absolute = _ABSOLUTE_FORM.match(scope.get("raw_path") or b"")
    if absolute is None:
        return scope
    path = scope["raw_path"][absolute.end() :] or b"/"
    headers = [(name, value) for name, value in scope["headers"] if name != b"host"]
    return {**scope, "raw_path": path, "path": unquote(path), "headers": [(b"host", absolute[1]), *headers]}


def _has_two_lengths(scope: Scope) -> bool:
    """Return whether a request has two headers that determine its length.

    A proxy in front may have measured the request by the header that this server ignores, and so disagree
    about where it ends [1].

    [1] RFC 9112, section 6.1.
    """
    return {b"content-length", b"transfer-encoding"} <= {name for name, _ in scope["headers"]}


async def _refuse_two_lengths(scope: Scope, receive: Receive, send: Send) -> None:
    """Refuse a request with two lengths, and close the connection: the next one could begin anywhere."""
    sentence = "the request has both Content-Length and Transfer-Encoding: send one of them"
    await refusal_answer(Refusal(400, "bad_input", sentence, {"Connection": "close"}))(scope, receive, send)
