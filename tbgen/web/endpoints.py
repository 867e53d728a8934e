"""The endpoints that answer with documents, and the description of the API in OpenAPI 3.1.

:mod:`tbgen.web.app` serves the endpoints in :data:`ENDPOINTS`. The parameters of an endpoint and the type of
its answer follow from the signature of its function.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from inspect import Signature, signature
from types import NoneType
from typing import Any, Final, NamedTuple, TypeAlias, get_args

import msgspec

from tbgen.board.variant import Variant
from tbgen.documents import Document, schema_components
from tbgen.probe.probe_document import PositionDocument, RefusalDocument
from tbgen.probe.tablebase import View
from tbgen.web import lookups
from tbgen.web.configuration import MAX_BODY_BYTES, MAX_GAMES_BYTES, OPENAPI_PATH, REPLY_PATH, SOLVE_PATH
from tbgen.web.envelope import METRICS_TYPE
from tbgen.web.games import game, games, legal_moves
from tbgen.web.payloads import SCHEMA_PREFIX, BatchRefusalDocument, BatchRequest, ReplyDocument
from tbgen.web.puzzles import challenge, puzzle
from tbgen.web.replies import (
    EVENT_STREAM_TYPE,
    JSON_TYPE,
    NO_STORE,
    PGN_TYPE,
    REVALIDATE,
    STORE_ONE_HOUR,
    Parameter,
)


class Body(NamedTuple):
    """The body of a POST request."""

    media_type: str
    type: Any
    """The type that msgspec describes in the schema."""
    max_bytes: int = MAX_BODY_BYTES


@dataclass(frozen=True)
class Endpoint:
    """A path of the API and the function that answers there."""

    path: str
    summary: str
    find: Callable[..., Document]
    """The function that makes the answer. Its arguments are the stocks (tables) of the variants, followed by
    the request's parameters by name, or by the request's body as ``body``."""
    variants: tuple[Variant, ...] = tuple(Variant)
    """The variants whose tables the function needs."""
    body: Body | None = None
    """The body of a POST request; None for a GET request."""
    quick: bool = False
    """Whether the answer takes little time, so that it need not wait for slow answers."""
    queued: bool = False
    """Whether requests wait in a queue with few places for each client, because the answers
    take a long time."""
    caching: str = STORE_ONE_HOUR
    """Value of the header ``Cache-Control``."""
    may_lack: bool = True
    """Whether the tables may lack the answer."""
    open: bool = False
    """Whether scripts of any site may send POST requests; all sites may send GET requests."""

    @property
    def method(self) -> str:
        """The HTTP method."""
        return "GET" if self.body is None else "POST"

    @cached_property
    def _signature(self) -> Signature:
        return signature(self.find)

    @property
    def answer_type(self) -> type[Document]:
        """The type of the answer's document."""
        document_type: type[Document] = self._signature.return_annotation
        return document_type

    @cached_property
    def parameters(self) -> list[Parameter]:
        """The parameters of requests; those that may be None are optional."""
        return [
            Parameter(name, *_type_and_required(parameter.annotation), in_path=f"{{{name}}}" in self.path)
            for name, parameter in self._signature.parameters.items()
            if name not in ("stock", "stocks", "body")
        ]


def _type_and_required(hint: Any) -> tuple[Any, bool]:
    """Return the type of a parameter, and whether it is required."""
    possible = get_args(hint)
    return (possible[0], False) if NoneType in possible else (hint, True)


_VIEW_TEXTS: Final = {
    View.CLASSICAL: "classical chess without the 50-move rule",
    View.STALEMATE_WINS: "chess in which stalemate wins",
    View.LASKER: "chess in which stalemating gets 3/4 of the point",
}
_BATCH_BODY: Final = Body("application/json", BatchRequest)
_PGN_BODY: Final = Body(PGN_TYPE, str)
_GAMES_BODY: Final = Body(PGN_TYPE, str, MAX_GAMES_BYTES)
_VARIANT_ENDPOINTS: Final = (
    Endpoint("/{}", "A position in {}", lookups.position, quick=True),
    Endpoint("/{}/moves", "The legal moves of any position in {}", legal_moves, quick=True, may_lack=False),
    Endpoint("/{}/mainline", "Best play in {}", lookups.line),
    Endpoint("/{}/accrued", "A position in {} with every accrued score", lookups.accrued_scores),
    Endpoint("/{}/sample", "A random position of a table for {}", lookups.sample, caching=NO_STORE),
    Endpoint(
        "/{}/puzzle", "A puzzle in {}: only one move keeps the value", puzzle, queued=True, caching=NO_STORE
    ),
    Endpoint("/{}/challenge", "A random position to play in {}", challenge, caching=NO_STORE),
    Endpoint("/{}/stats/{{material}}", "Counts of a table for {}", lookups.statistics, caching=REVALIDATE),
    Endpoint(
        "/{}/batch", "Many positions in {}", lookups.batch, body=_BATCH_BODY, caching=NO_STORE, open=True
    ),
    Endpoint("/{}/game", "A game, refereed by {}", game, body=_PGN_BODY, caching=NO_STORE),
    Endpoint("/{}/games", "Results of many games by {}", games, body=_GAMES_BODY, caching=NO_STORE),
)
"""The endpoints that every variant has; ``{}`` stands for the variant."""


def _variant_endpoint(endpoint: Endpoint, rules: Variant) -> Endpoint:
    path, summary = endpoint.path.format(rules), endpoint.summary.format(rules.label)
    return replace(endpoint, path=path, summary=summary, variants=(rules,))


def _view_endpoint(view: View) -> Endpoint:
    find = partial(lookups.view_position, view)
    return Endpoint(f"/{view}", f"A position in {_VIEW_TEXTS[view]}", find, (Variant.R_MOBILITY,), quick=True)


ENDPOINTS: Final = (
    *(_variant_endpoint(endpoint, rules) for rules in Variant for endpoint in _VARIANT_ENDPOINTS),
    *map(_view_endpoint, View),
    Endpoint("/tables", "The tables of the server", lookups.tables, caching=REVALIDATE, may_lack=False),
)
"""All endpoints that answer with documents."""
STATE_PARAMETERS: Final = ENDPOINTS[0].parameters
"""The parameters of a request about a position and, optionally, an accrued score."""

_Schema: TypeAlias = dict[str, Any]
_EVENTS_TEXT: Final = (
    "Events: interval (lower, upper, cells), compiling (message) and silence, then solution (as tbgen solve "
    "--json) or refusal"
)
_REF_TEMPLATE: Final = SCHEMA_PREFIX + "{name}"


def _ref(document: type) -> _Schema:
    return {"$ref": _REF_TEMPLATE.format(name=document.__name__)}


def _response(text: str, media_type: str, schema: _Schema) -> _Schema:
    return {"description": text, "content": {media_type: {"schema": schema}}}


_REFUSAL_TEXTS: Final = {
    400: "The request is invalid",
    404: "The tables lack the answer (the message says how to build a missing one), or it is not offered",
    408: "The body did not arrive in time",
    413: "The request is too large",
    429: "The client has used more processor time than allowed",
    500: "A table cannot be used, or the server has failed",
    503: "The server is overloaded, or is compiling code that the answer needs",
}
_COMMON_STATUSES: Final = (429, 500, 503)
_RESPONSES: Final = {
    status: _response(text, JSON_TYPE, _ref(RefusalDocument)) for status, text in _REFUSAL_TEXTS.items()
} | {304: {"description": "The answer with the sent ETag is still valid"}}
"""Maps the status of each response other than the answer to its description."""
_TEXT_SCHEMA: Final[_Schema] = {"type": "string"}


def openapi(version: str) -> dict[str, Any]:
    """Return the OpenAPI document of the API, for the given version of tbgen."""
    paths = {each.path: {each.method.lower(): _endpoint_schema(each)} for each in ENDPOINTS}
    solution = _operation(
        "The value of a position of any number of men, or an interval that narrows",
        _response(_EVENTS_TEXT, EVENT_STREAM_TYPE, _TEXT_SCHEMA),
        (400, 404, *_COMMON_STATUSES),
        parameters=_parameter_schemas(STATE_PARAMETERS),
    )
    reply = _operation(
        "A move in a game of r-mobility, of any number of men",
        _response("The answer", JSON_TYPE, _ref(ReplyDocument)),
        (400, 404, 408, 413, *_COMMON_STATUSES),
        requestBody=_body_schema(_PGN_BODY),
    )
    metrics = _response("Figures", METRICS_TYPE, _TEXT_SCHEMA)
    document = _response("OpenAPI", JSON_TYPE, {"type": "object"})
    paths |= {
        SOLVE_PATH: {"get": solution},
        REPLY_PATH: {"post": reply},
        "/monitor": {"get": _operation("Metrics of the process, for Prometheus", metrics)},
        OPENAPI_PATH: {"get": _operation("This document", document, [304])},
    }
    for path, methods in paths.items():
        words = re.findall(r"\w+", re.sub(r"\{\w+\}|\.json", "", path))
        for method, operation in methods.items():
            operation["operationId"] = "_".join([method, *words])
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "tbgen",
            "version": version,
            "description": "Endgame tables of r-mobility chess. docs/web.md explains the fields.",
            "license": {"name": "GPL-3.0-or-later", "identifier": "GPL-3.0-or-later"},
        },
        "paths": paths,
        "components": {"schemas": _document_schemas()},
    }


def _endpoint_schema(endpoint: Endpoint) -> _Schema:
    details: _Schema = {}
    statuses = [*_COMMON_STATUSES]
    if endpoint.parameters:
        details["parameters"] = _parameter_schemas(endpoint.parameters)
    if endpoint.body is not None:
        details["requestBody"] = _body_schema(endpoint.body)
        statuses += 408, 413
    elif endpoint.may_lack:
        statuses.append(404)
    if endpoint.caching != NO_STORE:
        statuses.append(304)
    if details:
        statuses.append(400)
    return _operation(
        endpoint.summary, _response("The answer", JSON_TYPE, _ref(endpoint.answer_type)), statuses, **details
    )


def _operation(summary: str, answer: _Schema, statuses: Iterable[int] = (), **details: Any) -> _Schema:
    """Return the description of an operation.

    :param statuses: statuses of the responses other than the answer.
    :param details: parameters and body of the request.
    """
    other_responses = {str(status): _RESPONSES[status] for status in statuses}
    return {"summary": summary, **details, "responses": {"200": answer, **other_responses}}


def _body_schema(body: Body) -> _Schema:
    (schema,), _ = schema_components([body.type], _REF_TEMPLATE)
    return {"required": True, "content": {body.media_type: {"schema": schema}}}


def _parameter_schemas(parameters: Iterable[Parameter]) -> list[_Schema]:
    return [
        {
            "name": parameter.name,
            "in": "path" if parameter.in_path else "query",
            "required": parameter.required,
            "schema": msgspec.json.schema(parameter.type),
        }
        for parameter in parameters
    ]


def _document_schemas() -> dict[str, Any]:
    """Return the schema of every document; fields without a default are required."""
    types = [PositionDocument, BatchRefusalDocument, RefusalDocument, ReplyDocument, BatchRequest]
    types += dict.fromkeys(endpoint.answer_type for endpoint in ENDPOINTS)
    components: dict[str, Any] = schema_components(types, _REF_TEMPLATE)[1]
    for schema in components.values():
        if "properties" in schema:
            fields = schema["properties"].items()
            schema["required"] = [name for name, field in fields if "default" not in field]
    return components
