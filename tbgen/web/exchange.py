"""Reading requests within bounds, and writing answers."""

import asyncio
import hashlib
import json
from typing import Any, Final

import chess
import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from tbgen.errors import quote
from tbgen.web.errors import Refusal
from tbgen.web.settings import BODY_SECONDS, MOST_BATCH, MOST_BODY_BYTES

KEPT: Final = "public, max-age=3600"
"""For answers that other tables alone would change."""
ASKED_AGAIN: Final = "no-cache"
"""For answers that new tables change: whoever has one asks whether it still holds."""
NOT_KEPT: Final = "no-store"

_SIDES: Final = {"white": chess.WHITE, "black": chess.BLACK}


class _Batch(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a request for several positions."""

    fens: list[str]
    moves: bool = True


def wanted(request: Request, name: str) -> str:
    """Return a parameter of the query.

    :raises Refusal: if it is not there.
    """
    text = request.query_params.get(name)
    if not text:
        raise Refusal(400, "bad_input", f"there is no {name}: give it as ?{name}=...")
    return text


def side_of(request: Request) -> chess.Color | None:
    """Return the parameter ``side``, None if it is not there.

    :raises Refusal: if it means nothing.
    """
    text = request.query_params.get("side")
    if not text:
        return None
    if text not in _SIDES:
        raise Refusal(400, "bad_input", f"{quote(text)} is no side: expected white or black")
    return _SIDES[text]


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


async def batch_of(request: Request) -> tuple[list[str], bool]:
    """Return the positions that the body of a request asks about, and whether it wants their moves.

    :raises Refusal: if it is something else, or has too many.
    """
    body = await body_of(request)
    try:
        asked = msgspec.json.decode(body, type=_Batch)
    except msgspec.ValidationError:
        expected = '{"fens": [...], "moves": true}, where moves may be left out'
        raise Refusal(400, "bad_input", f"the body is not what it should be: expected {expected}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Refusal(400, "bad_input", "the body is not JSON") from None
    if len(asked.fens) > MOST_BATCH:
        raise Refusal(
            413, "too_large", f"there are {len(asked.fens)} positions: give at most {MOST_BATCH} at once"
        )
    return asked.fens, asked.moves


def answer(request: Request, document: dict[str, Any], caching: str) -> Response:
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
        json.dumps(refusal.document(), separators=(",", ":")),
        refusal.status,
        {"Cache-Control": NOT_KEPT, **refusal.headers},
        "application/json",
    )
