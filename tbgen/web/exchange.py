"""Reading requests within bounds, and writing answers."""

import asyncio
import hashlib
import json
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from tbgen.documents import Document
from tbgen.web.errors import Refusal
from tbgen.web.settings import BODY_SECONDS, MOST_BODY_BYTES

KEPT: Final = "public, max-age=3600"
"""For answers that other tables alone would change."""
ASKED_AGAIN: Final = "no-cache"
"""For answers that new tables change: whoever has one asks whether it still holds."""
NOT_KEPT: Final = "no-store"


class Parameter(NamedTuple):
    """What an endpoint is asked in its query or path."""

    name: str
    type: Any
    required: bool
    in_path: bool = False


def asked_by(request: Request, parameters: Iterable[Parameter]) -> dict[str, str | None]:
    """Return the parameters of a request, None for those that are not there.

    :raises Refusal: if one is required.
    """
    given = {**request.query_params, **request.path_params}
    for name in (parameter.name for parameter in parameters if parameter.required):
        if not given.get(name):
            raise Refusal(400, "bad_input", f"there is no {name}: give it as ?{name}=...")
    return {parameter.name: given.get(parameter.name) for parameter in parameters}


async def body_of(request: Request) -> bytes:
    """Return the body of a request.

    :raises Refusal: if it is too large, or takes too long to arrive.
    """
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length[:20]) > MOST_BODY_BYTES:
        raise _too_large()
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in request.stream():
                body += chunk
                if len(body) > MOST_BODY_BYTES:
                    raise _too_large()
    except TimeoutError:
        raise Refusal(408, "too_slow", "the body of the request did not arrive in time") from None
    except ClientDisconnect:
        raise Refusal(400, "bad_input", "the request broke off") from None
    return bytes(body)


def _too_large() -> Refusal:
    return Refusal(413, "too_large", f"the body is larger than {MOST_BODY_BYTES >> 10} KiB")


def answer(request: Request, document: Document | dict[str, Any], caching: str) -> Response:
    """Return a document as the answer to a request, or that the client has it already.

    :param caching: what ``Cache-Control`` says.
    """
    content = msgspec.json.encode(document)
    headers = {"Cache-Control": caching}
    if caching != NOT_KEPT:
        headers["ETag"] = tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
        known = request.headers.get("if-none-match", "")
        if tag in known or known.strip() == "*":
            return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type="application/json")


def refused(refusal: Refusal) -> Response:
    """Return the answer that says what is wrong with a request."""
    return Response(
        json.dumps(refusal.document().plain(), separators=(",", ":")),
        refusal.status,
        {"Cache-Control": NOT_KEPT, **refusal.headers},
        "application/json",
    )
