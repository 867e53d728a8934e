"""Reading requests within bounds, and writing answers: documents, refusals, and events as they come.

Server-sent events are those of the WHATWG, *HTML Living Standard*, section 9.2.
"""

import asyncio
import hashlib
import html
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from tbgen.compiler.cache import KernelsMissingError
from tbgen.documents import Document
from tbgen.errors import MissingLayerError, MissingTableError, TbgenError, UsageError
from tbgen.probe.documents import RefusalDocument
from tbgen.web.settings import BODY_SECONDS, DOCUMENT_PATH, MOST_BODY_BYTES

_logger = logging.getLogger(__name__)


class Refusal(HTTPException):
    """A request that gets no answer but a sentence.

    :param status: of HTTP.
    :param code: what it is, for programs.
    :param sentence: what it is and what to do, for people; it names no file of the server.
    :param headers: more headers of the answer.
    """

    def __init__(
        self, status: int, code: str, sentence: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(status, sentence, headers)
        self.code = code

    @property
    def document(self) -> RefusalDocument:
        """What JSON answers say."""
        return RefusalDocument(self.code, self.detail)


def refusal_of(error: Exception) -> Refusal:
    """Return the answer to a client about an error; what only concerns the operator goes into the log.

    Errors that are not expected are logged by the server that runs the application.
    """
    match error:
        case Refusal():
            return error
        case MissingTableError():
            plain = MissingTableError(error.material, rules=error.rules)  # without the directories
            return Refusal(404, error.code, str(plain))
        case MissingLayerError():
            sentence = "the table here does not store the depths of accrued scores that this takes"
            return Refusal(404, error.code, sentence)
        case UsageError():
            return Refusal(400, error.code, str(error))
        case TbgenError():
            _logger.error("%s", error)
            return Refusal(500, error.code, "a table cannot be used; the log of the server says why")
        case KernelsMissingError():
            return Refusal(503, "compiling", f"{error}; ask again then", {"Retry-After": "10"})
        case HTTPException(status_code=405):
            sentence = f"nothing here is asked for by this method; {DOCUMENT_PATH} says what is"
            return Refusal(405, "method_not_allowed", sentence, error.headers)
        case HTTPException():
            sentence = f"there is nothing here; {DOCUMENT_PATH} says what there is"
            return Refusal(error.status_code, "not_found", sentence)
    return Refusal(500, "fault", "the server has made a mistake; its log says which")


KEPT: Final = "public, max-age=3600"
"""For answers that other tables alone would change."""
ASKED_AGAIN: Final = "no-cache"
"""For answers that new tables change: caches ask whether theirs still holds."""
NOT_KEPT: Final = "no-store"

_PAGE: Final = (
    '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>Nothing here - tbgen</title>\n'
    '<p>{}</p>\n<p><a href="/">To the explorer</a></p>\n</html>\n'
)
JSON: Final = "application/json"
PGN: Final = "application/x-chess-pgn"
_TYPES: Final = {
    "css": "text/css",
    "csv": "text/csv",
    "html": "text/html",
    "js": "text/javascript",
    "json": JSON,
    "pgn": PGN,
    "png": "image/png",
    "svg": "image/svg+xml",
}


Handler: TypeAlias = Callable[[Request], Awaitable[Response]]
"""Answers a request."""
Endpoints: TypeAlias = Mapping[str, Handler]
"""Handlers by the paths that they answer at."""


class Parameter(NamedTuple):
    """What an endpoint is asked in its query or path."""

    name: str
    type: Any
    required: bool
    in_path: bool = False


def parameters_of(request: Request, parameters: Iterable[Parameter]) -> dict[str, str | None]:
    """Return the parameters of a request, None for those that are not there.

    :raises Refusal: if one is required.
    """
    given = {**request.query_params, **request.path_params}
    for name in (parameter.name for parameter in parameters if parameter.required):
        if not given.get(name):
            raise Refusal(400, "bad_input", f"there is no {name}: give it as ?{name}=...")
    return {parameter.name: given.get(parameter.name) for parameter in parameters}


async def body_of(request: Request, most: int = MOST_BODY_BYTES) -> bytes:
    """Return the body of a request.

    :param most: the bytes that it may have.
    :raises Refusal: if it is too large, or takes too long to arrive.
    """
    too_large = Refusal(413, "too_large", f"the body is larger than {most >> 10} KiB")
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length[:20]) > most:
        raise too_large
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in request.stream():
                body += chunk
                if len(body) > most:
                    raise too_large
    except TimeoutError:
        raise Refusal(408, "too_slow", "the body of the request did not arrive in time") from None
    except ClientDisconnect:
        raise Refusal(400, "bad_input", "the request broke off") from None
    return bytes(body)


def answer(request: Request, document: Document | dict[str, Any], caching: str) -> Response:
    """Return a document as the answer to a request, or that the client has it already.

    :param caching: what ``Cache-Control`` says.
    """
    return answer_content(request, msgspec.json.encode(document), JSON, {"Cache-Control": caching})


def answer_content(request: Request, content: bytes, media_type: str, headers: dict[str, str]) -> Response:
    """Return bytes as the answer to a request, or that the client has them already.

    :param headers: ``Cache-Control`` and others.
    """
    if headers["Cache-Control"] != NOT_KEPT:
        tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
        headers = {**headers, "ETag": tag}
        known = request.headers.get("if-none-match", "")
        if tag in known or known.strip() == "*":
            return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type=media_type)


def answer_file(request: Request, name: str, content: bytes, policy: str, **headers: str) -> Response:
    """Return a file as the answer to a request; what has an unknown ending, such as licences, is text.

    :param policy: what a browser may do with it.
    """
    headers |= {"Cache-Control": ASKED_AGAIN, "Content-Security-Policy": policy}
    return answer_content(request, content, _TYPES.get(name.rpartition(".")[2], "text/plain"), headers)


def refusal_answer(refusal: Refusal, to_read: bool = False) -> Response:
    """Return the answer that says what is wrong with a request.

    :param to_read: as a page, for people; else as a document.
    """
    headers = {"Cache-Control": NOT_KEPT, **(refusal.headers or {})}
    if to_read:
        return Response(_PAGE.format(html.escape(refusal.detail)), refusal.status_code, headers, "text/html")
    content = json.dumps(refusal.document.plain(), separators=(",", ":"))  # whatever letters it quotes
    return Response(content, refusal.status_code, headers, JSON)


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
