"""Reading requests within limits, and writing answers: documents, refusals and server-sent events.

Server-sent events are defined by the WHATWG, *HTML Living Standard*, section 9.2.
"""

import asyncio
import gzip
import hashlib
import html
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any, Final, NamedTuple, TypeAlias

from msgspec import Raw
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from tbgen.compiler.cache import KernelsMissingError
from tbgen.documents import Document, encoded, json_text
from tbgen.errors import MissingLayerError, MissingTableError, TbgenError, UsageError
from tbgen.probe.probe_document import RefusalDocument
from tbgen.web.configuration import BODY_SECONDS, MAX_BODY_BYTES, OPENAPI_PATH

_logger = logging.getLogger(__name__)

STORE_ONE_HOUR: Final = "public, max-age=3600"
"""``Cache-Control`` of answers that change only when a table is replaced."""
REVALIDATE: Final = "no-cache"
"""``Cache-Control`` of answers that change with new tables. A cache must revalidate its copy each time."""
NO_STORE: Final = "no-store"
"""``Cache-Control`` of answers that must not be cached, for example because they differ each time."""

_PAGE: Final = (
    '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>Nothing here - tbgen</title>\n'
    '<p>{}</p>\n<p><a href="/">To the explorer</a></p>\n</html>\n'
)
JSON_TYPE: Final = "application/json"
PGN_TYPE: Final = "application/x-chess-pgn"
_MEDIA_TYPES: Final = {
    "css": "text/css",
    "csv": "text/csv",
    "html": "text/html",
    "js": "text/javascript",
    "json": JSON_TYPE,
    "pgn": PGN_TYPE,
    "png": "image/png",
    "svg": "image/svg+xml",
}
_COMPRESSED_TYPES: Final = ("image/png", "image/gif")
"""Types of contents that are compressed already."""
_MIN_COMPRESSED_BYTES: Final = 2 << 10
"""Size from which other contents are compressed."""
_COMPRESSION_LEVEL: Final = 6

Handler: TypeAlias = Callable[[Request], Awaitable[Response]]
"""A coroutine function that answers a request."""
Endpoints: TypeAlias = Mapping[str, Handler]
"""Maps each path to its handler."""

Compress: TypeAlias = Callable[[bytes], bytes]

EVENT_STREAM_TYPE: Final = "text/event-stream"
_SILENT_SECONDS: Final = 9.0
"""Time after which the event ``silence`` is sent if there is no other: proxies keep the connection open, and
pages, which cannot see comments, notice that the server still runs."""
_SEND_SECONDS: Final = 60.0
"""Time after which a client that reads no data is disconnected."""


class Refusal(HTTPException):
    """The refusal of a request, answered with a sentence.

    :param status: the HTTP status.
    :param code: the reason, for programs.
    :param sentence: the reason and what to do about it, for people; it must not name files of the server.
    :param headers: additional headers of the answer.
    """

    def __init__(
        self, status: int, code: str, sentence: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(status, sentence, headers)
        self.code = code

    @property
    def document(self) -> RefusalDocument:
        """The refusal as a document."""
        return RefusalDocument(self.code, self.detail)


def refusal_of(error: Exception) -> Refusal:
    """Return the refusal that informs a client of an error.

    Details that concern only the operator are logged here. The server that runs the application logs
    unexpected errors.
    """
    match error:
        case Refusal():
            return error
        case MissingTableError():
            without_directories = MissingTableError(error.material, rules=error.rules)
            return Refusal(404, error.code, str(without_directories))
        case MissingLayerError():
            sentence = "the table here does not store the depths of accrued scores that the answer needs"
            return Refusal(404, error.code, sentence)
        case UsageError():
            return Refusal(400, error.code, str(error))
        case TbgenError():
            _logger.error("%s", error)
            return Refusal(500, error.code, "a table cannot be used; the log of the server says why")
        case KernelsMissingError():
            return Refusal(503, "compiling", f"{error}; ask again then", {"Retry-After": "10"})
        case HTTPException(status_code=405):
            sentence = "this method is not allowed here: the header Allow lists those that are"
            return Refusal(405, "method_not_allowed", sentence, error.headers)
        case HTTPException():
            sentence = f"there is nothing here: {OPENAPI_PATH} lists the API, and / is the explorer"
            return Refusal(error.status_code, "not_found", sentence)
    return Refusal(500, "fault", "the server has failed; its log says why")


class Parameter(NamedTuple):
    """A parameter of an endpoint, in its query or path."""

    name: str
    type: Any
    required: bool
    in_path: bool = False


def parameters_of(request: Request, parameters: Iterable[Parameter]) -> dict[str, str | None]:
    """Return the parameters of a request, None for absent ones.

    :raises Refusal: if a required parameter is absent.
    """
    values_by_name = {**request.query_params, **request.path_params}
    for name in (parameter.name for parameter in parameters if parameter.required):
        if not values_by_name.get(name):
            raise Refusal(400, "bad_input", f"the parameter {name} is missing: add ?{name}=...")
    return {parameter.name: values_by_name.get(parameter.name) for parameter in parameters}


async def body_of(request: Request, max_bytes: int = MAX_BODY_BYTES) -> bytes:
    """Return the body of a request.

    :param max_bytes: maximum size of the body.
    :raises Refusal: if the body is too large, or takes too long to arrive.
    """
    too_large = Refusal(413, "too_large", f"the body is larger than {max_bytes >> 10} KiB")
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length[:20]) > max_bytes:
        raise too_large
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in request.stream():
                body += chunk
                if len(body) > max_bytes:
                    raise too_large
    except TimeoutError:
        raise Refusal(408, "too_slow", "the body of the request did not arrive in time") from None
    except ClientDisconnect:
        raise Refusal(400, "bad_input", "the request broke off") from None
    return bytes(body)


def answer(request: Request, document: Document, caching: str) -> Response:
    """Return a document as the answer to a request, or status 304 if the client has it already.

    :param caching: the value of ``Cache-Control``.
    """
    return answer_content(request, encoded(document), JSON_TYPE, {"Cache-Control": caching})


def compress(content: bytes) -> bytes:
    """Return bytes compressed by gzip."""
    return gzip.compress(content, _COMPRESSION_LEVEL, mtime=0)


def answer_content(
    request: Request, content: bytes, media_type: str, headers: dict[str, str], shrink: Compress = compress
) -> Response:
    """Return bytes as the answer to a request, or status 304 if the client has them already.

    Large contents are compressed if the client accepts that.

    :param headers: ``Cache-Control`` and others.
    :param shrink: compresses by gzip.
    """
    ending = ""
    if len(content) >= _MIN_COMPRESSED_BYTES and media_type not in _COMPRESSED_TYPES:
        headers = {**headers, "Vary": "Accept-Encoding"}
        if _accepts_gzip(request.headers.get("accept-encoding", "")):
            ending = "-gzip"
            headers["Content-Encoding"] = "gzip"
    if headers["Cache-Control"] != NO_STORE:
        tag = f'"{hashlib.sha256(content).hexdigest()[:32]}{ending}"'
        headers = {**headers, "ETag": tag}
        cached = request.headers.get("if-none-match", "")
        if tag in cached or cached.strip() == "*":
            return Response(status_code=304, headers=headers)
    return Response(shrink(content) if ending else content, headers=headers, media_type=media_type)


def _accepts_gzip(header: str) -> bool:
    """Return whether a header ``Accept-Encoding`` [1] accepts gzip, with a weight other than zero.

    [1] RFC 9110, section 12.5.3.

    >>> [_accepts_gzip(text) for text in ("br, gzip", "GZIP;q=0.5", "gzip; q=0.0, br", "identity", "")]
    [True, True, False, False, False]
    """
    for coding in header.lower().split(","):
        name, _, weight = (part.strip() for part in coding.partition(";"))
        if name == "gzip":
            return not re.fullmatch(r"q\s*=\s*0(\.0*)?", weight)
    return False


def answer_file(
    request: Request, name: str, content: bytes, policy: str, shrink: Compress = compress
) -> Response:
    """Return a file as the answer to a request. A file of unknown suffix, such as a licence, is sent as text.

    :param policy: the file's ``Content-Security-Policy``.
    """
    headers = {"Cache-Control": REVALIDATE, "Content-Security-Policy": policy}
    media_type = _MEDIA_TYPES.get(name.rpartition(".")[2], "text/plain")
    return answer_content(request, content, media_type, headers, shrink)


def refusal_answer(refusal: Refusal, as_page: bool = False) -> Response:
    """Return the answer to a refused request.

    :param as_page: whether the answer is a page for people instead of a document.
    """
    headers = {"Cache-Control": NO_STORE, **(refusal.headers or {})}
    if as_page:
        return Response(_PAGE.format(html.escape(refusal.detail)), refusal.status_code, headers, "text/html")
    content = json_text(refusal.document, None, (",", ":"))  # only ASCII, whatever is quoted
    return Response(content, refusal.status_code, headers, JSON_TYPE)


def event_text(name: str, document: Document | Raw) -> str:
    """Return a server-sent event with a document, which may be encoded already.

    >>> event_text("refusal", RefusalDocument("busy", "try again later"))
    'event: refusal\\ndata: {"code":"busy","message":"try again later"}\\n\\n'
    """
    return f"event: {name}\ndata: {encoded(document).decode()}\n\n"


class EventStream(StreamingResponse):
    """An answer that sends events as they occur.

    :param context: the context that yields the events. The context is always exited, even if the connection
        breaks. An exception raised on entering the context is answered as in other endpoints.
    """

    def __init__(self, context: AbstractAsyncContextManager[AsyncIterator[str]]) -> None:
        headers = {"Cache-Control": NO_STORE, "X-Accel-Buffering": "no"}
        super().__init__((), headers=headers, media_type=EVENT_STREAM_TYPE)
        self._context = context

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events, or only the headers for HEAD."""
        if scope["method"] == "HEAD":
            await Response(headers=dict(self.headers))(scope, receive, send)
            return

        async def send_in_time(message: Message) -> None:
            async with asyncio.timeout(_SEND_SECONDS):
                await send(message)

        async with self._context as events:
            self.body_iterator = _with_keep_alive(events)
            with suppress(ClientDisconnect, TimeoutError):
                await super().__call__(scope, receive, send_in_time)


async def _with_keep_alive(events: AsyncIterator[str]) -> AsyncIterator[str]:
    """Yield events, and the event ``silence`` after each pause of :data:`_SILENT_SECONDS`."""
    next_event = asyncio.ensure_future(anext(events, None))
    try:
        while True:
            done, _ = await asyncio.wait([next_event], timeout=_SILENT_SECONDS)
            if not done:
                yield event_text("silence", Document())
            elif (text := next_event.result()) is None:
                return
            else:
                yield text
                next_event = asyncio.ensure_future(anext(events, None))
    finally:
        next_event.cancel()
