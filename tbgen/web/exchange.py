"""Reading requests within bounds, and writing answers."""

import asyncio
import hashlib
import html
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from tbgen.documents import Document
from tbgen.web.errors import Refusal
from tbgen.web.settings import BODY_SECONDS, MOST_BODY_BYTES

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
    headers = {"Cache-Control": NOT_KEPT, **refusal.headers}
    if to_read:
        return Response(_PAGE.format(html.escape(str(refusal))), refusal.status, headers, "text/html")
    content = json.dumps(refusal.document().plain(), separators=(",", ":"))  # whatever letters it quotes
    return Response(content, refusal.status, headers, JSON)
