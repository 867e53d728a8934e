"""The endpoints that answer with documents, and the description of the API in OpenAPI 3.1.

Whatever stands in :data:`ENDPOINTS` is served by :mod:`tbgen.web.app` and described here. What an endpoint is
asked, and what it answers, is what its function takes and returns.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from inspect import Signature, signature
from types import NoneType
from typing import Any, Final, NamedTuple, TypeAlias, get_args

import msgspec

from tbgen.board.variant import Variant
from tbgen.documents import Document
from tbgen.probe.documents import PositionDocument, RefusalDocument
from tbgen.probe.tablebase import View
from tbgen.web import lookups
from tbgen.web.documents import SCHEMAS, BatchRefusalDocument, BatchRequest, ReplyDocument
from tbgen.web.envelope import MEDIA_TYPE
from tbgen.web.exchange import ASKED_AGAIN, JSON, KEPT, NOT_KEPT, PGN, Parameter
from tbgen.web.exchange import MEDIA_TYPE as EVENTS
from tbgen.web.games import game, games, legal_moves
from tbgen.web.puzzles import challenge, puzzle
from tbgen.web.settings import DOCUMENT_PATH, MOST_BODY_BYTES, MOST_GAMES_BYTES, REPLY_PATH, SOLVE_PATH


class Body(NamedTuple):
    """What is posted."""

    media_type: str
    type: Any
    """As which msgspec describes it."""
    most: int = MOST_BODY_BYTES


@dataclass(frozen=True)
class Endpoint:
    """An address with its answer."""

    path: str
    summary: str
    find: Callable[..., Document]
    """Makes the answer; it takes the stocks of the variants, and then either texts, which are parameters of
    the request by their names, or the body as ``body``."""
    variants: tuple[Variant, ...] = tuple(Variant)
    """Those whose tables it takes."""
    body: Body | None = None
    """None if it is asked by GET."""
    quick: bool = False
    """Whether it takes so little time that it shall not wait for what takes longer."""
    queued: bool = False
    """Whether a client may wait for few answers at a time, since each takes long."""
    caching: str = KEPT
    """The header ``Cache-Control``."""
    missing: bool = True
    """Whether tables may not say the answer."""

    @property
    def method(self) -> str:
        """The method by which it is asked."""
        return "GET" if self.body is None else "POST"

    @cached_property
    def _signature(self) -> Signature:
        return signature(self.find)

    @property
    def answer(self) -> type[Document]:
        """The type of the document that it answers."""
        found: type[Document] = self._signature.return_annotation
        return found

    @cached_property
    def parameters(self) -> list[Parameter]:
        """The parameters of its requests; one that may be None need not be given."""
        return [
            Parameter(name, *_type_of(each.annotation), in_path=f"{{{name}}}" in self.path)
            for name, each in self._signature.parameters.items()
            if name not in ("stock", "stocks", "body")
        ]


def _type_of(hint: Any) -> tuple[Any, bool]:
    """Return the type of a parameter, and whether it is required."""
    possible = get_args(hint)
    return (possible[0], False) if NoneType in possible else (hint, True)


_VIEWS: Final = {
    View.CLASSICAL: "classical chess without the 50-move rule",
    View.STALEMATE_WINS: "chess in which stalemate wins",
    View.LASKER: "chess in which stalemating gets 3/4 of the point",
}
_BATCH: Final = Body("application/json", BatchRequest)
_PGN: Final = Body(PGN, str)
_PGN_OF_MANY: Final = Body(PGN, str, MOST_GAMES_BYTES)
_OF_VARIANT: Final = (
    Endpoint("/{}", "A position in {}", lookups.position, quick=True),
    Endpoint("/{}/moves", "The legal moves of any position in {}", legal_moves, quick=True, missing=False),
    Endpoint("/{}/mainline", "Best play in {}", lookups.line),
    Endpoint("/{}/accrued", "A position in {} with every accrued score", lookups.accrued_scores),
    Endpoint("/{}/sample", "A random position of a table for {}", lookups.sample, caching=NOT_KEPT),
    Endpoint(
        "/{}/puzzle", "A puzzle in {}: only one move keeps the value", puzzle, queued=True, caching=NOT_KEPT
    ),
    Endpoint("/{}/challenge", "A random position to play in {}", challenge, caching=NOT_KEPT),
    Endpoint("/{}/stats/{{material}}", "What a table for {} holds", lookups.statistics, caching=ASKED_AGAIN),
    Endpoint("/{}/batch", "Many positions in {}", lookups.batch, body=_BATCH, caching=NOT_KEPT),
    Endpoint("/{}/game", "A game, refereed by {}", game, body=_PGN, caching=NOT_KEPT),
    Endpoint("/{}/games", "Results of many games by {}", games, body=_PGN_OF_MANY, caching=NOT_KEPT),
)
"""Those that every variant has, with a place for its name."""


def _of_variant(endpoint: Endpoint, rules: Variant) -> Endpoint:
    path, summary = endpoint.path.format(rules), endpoint.summary.format(rules.label)
    return replace(endpoint, path=path, summary=summary, variants=(rules,))


def _of_view(view: View) -> Endpoint:
    find = partial(lookups.view_position, view)
    return Endpoint(f"/{view}", f"A position in {_VIEWS[view]}", find, (Variant.R_MOBILITY,), quick=True)


ENDPOINTS: Final = (
    *(_of_variant(endpoint, rules) for rules in Variant for endpoint in _OF_VARIANT),
    *map(_of_view, View),
    Endpoint("/tables", "The tables of the server", lookups.tables, caching=ASKED_AGAIN, missing=False),
)
"""All of them."""
STATE: Final = ENDPOINTS[0].parameters
"""A position, maybe with an accrued score."""

_Schema: TypeAlias = dict[str, Any]
_EVENTS: Final = (
    "Events: interval (lower, upper, cells) and compiling (message), then solution (as tbgen solve --json) "
    "or refusal"
)
_REF: Final = SCHEMAS + "{name}"


def _ref(document: type) -> _Schema:
    return {"$ref": _REF.format(name=document.__name__)}


def _response(text: str, media_type: str, schema: _Schema) -> _Schema:
    return {"description": text, "content": {media_type: {"schema": schema}}}


_REFUSALS: Final = {
    400: "The request means nothing",
    404: "No table here says it (if one is missing, by which command to build it), or it is not offered",
    408: "The body did not arrive in time",
    413: "It is too large",
    429: "The client has taken more processor time than it may",
    500: "A table cannot be used, or the server has made a mistake",
    503: "The server has too much to do, or compiles what the answer takes",
}
_ANYWHERE: Final = (429, 500, 503)
_RESPONSES: Final = {
    status: _response(text, JSON, _ref(RefusalDocument)) for status, text in _REFUSALS.items()
} | {304: {"description": "The answer with the ETag that was given still holds"}}
"""Other than the answer, by their statuses."""
_TEXT: Final[_Schema] = {"type": "string"}


def openapi(version: str) -> dict[str, Any]:
    """Return the document for a version of tbgen."""
    paths = {each.path: {each.method.lower(): _of_endpoint(each)} for each in ENDPOINTS}
    solution = _operation(
        "What a position of any number of men is worth, or an interval that narrows",
        _response(_EVENTS, EVENTS, _TEXT),
        (400, 404, *_ANYWHERE),
        parameters=_parameters(STATE),
    )
    reply = _operation(
        "A move in a game of r-mobility, of any number of men",
        _response("The answer", JSON, _ref(ReplyDocument)),
        (400, 404, 408, 413, *_ANYWHERE),
        requestBody=_body(_PGN),
    )
    figures = _response("Figures", MEDIA_TYPE, _TEXT)
    document = _response("OpenAPI", JSON, {"type": "object"})
    paths |= {
        SOLVE_PATH: {"get": solution},
        REPLY_PATH: {"post": reply},
        "/monitor": {"get": _operation("What the process has done so far, for Prometheus", figures)},
        DOCUMENT_PATH: {"get": _operation("This document", document, [304])},
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "tbgen",
            "version": version,
            "description": "Endgame tables of r-mobility chess. docs/web.md says what the fields mean.",
            "license": {"name": "GPL-3.0-or-later", "identifier": "GPL-3.0-or-later"},
        },
        "paths": paths,
        "components": {"schemas": _schemas()},
    }


def _of_endpoint(endpoint: Endpoint) -> _Schema:
    details: _Schema = {}
    statuses = [*_ANYWHERE]
    if endpoint.parameters:
        details["parameters"] = _parameters(endpoint.parameters)
    if endpoint.body is not None:
        details["requestBody"] = _body(endpoint.body)
        statuses += 408, 413
    elif endpoint.missing:
        statuses.append(404)
    if endpoint.caching != NOT_KEPT:
        statuses.append(304)
    if details:
        statuses.append(400)
    return _operation(
        endpoint.summary, _response("The answer", JSON, _ref(endpoint.answer)), statuses, **details
    )


def _operation(summary: str, answer: _Schema, statuses: Iterable[int] = (), **details: Any) -> _Schema:
    """Return what is asked, in details, and answered.

    :param statuses: of other responses.
    """
    others = {str(status): _RESPONSES[status] for status in statuses}
    return {"summary": summary, **details, "responses": {"200": answer, **others}}


def _body(body: Body) -> _Schema:
    (schema,), _ = msgspec.json.schema_components([body.type], ref_template=_REF)
    return {"required": True, "content": {body.media_type: {"schema": schema}}}


def _parameters(parameters: Iterable[Parameter]) -> list[_Schema]:
    return [
        {
            "name": parameter.name,
            "in": "path" if parameter.in_path else "query",
            "required": parameter.required,
            "schema": msgspec.json.schema(parameter.type),
        }
        for parameter in parameters
    ]


def _schemas() -> dict[str, Any]:
    """Return the description of every document; answers leave nothing out."""
    types = [PositionDocument, BatchRefusalDocument, RefusalDocument, ReplyDocument, BatchRequest]
    types += dict.fromkeys(endpoint.answer for endpoint in ENDPOINTS)
    _, components = msgspec.json.schema_components(types, ref_template=_REF)
    for schema in components.values():
        if "properties" in schema:
            fields = schema["properties"].items()
            schema["required"] = [name for name, field in fields if "default" not in field]
    return components
