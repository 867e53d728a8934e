"""The endpoints of the API, and their description in OpenAPI 3.1.

:mod:`tbgen.web.app` serves the endpoints in :data:`ENDPOINTS`. Nearly all answer with documents: the
parameters of such an endpoint and the type of its answer follow from the signature of its function.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from enum import Enum, auto
from functools import cached_property, partial
from inspect import Signature, signature
from types import NoneType
from typing import Any, Final, NamedTuple, TypeAlias, get_args

import msgspec

from tbgen.board.variant import Variant
from tbgen.documents import Document, field_docstrings, schema_components
from tbgen.probe import probe_document
from tbgen.probe.probe_document import PositionDocument, RefusalDocument
from tbgen.probe.views import View
from tbgen.tables import inventory
from tbgen.web import lookups, payloads
from tbgen.web.configuration import (
    MAX_BODY_BYTES,
    MAX_GAMES_BYTES,
    OPENAPI_PATH,
)
from tbgen.web.games import game, games, legal_moves
from tbgen.web.metrics import METRICS_TYPE
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

_VIEW_TEXTS: Final = {
    View.CLASSICAL: "classical chess without the 50-move rule",
    View.STALEMATE_WINS: "chess in which stalemate wins",
    View.LASKER: "chess in which stalemating gets 3/4 of the point",
}

_COMMON_STATUSES: Final = (429, 500, 503)

_EVENTS_TEXT: Final = (
    "Events: interval (lower, upper, cells), compiling (message) and silence, then solution (as tbgen solve "
    "--json) or refusal"
)

_Schema: TypeAlias = dict[str, Any]
_REF_TEMPLATE: Final = SCHEMA_PREFIX + "{name}"

REFUSALS: Final[Mapping[int, Mapping[str, str]]] = {
    400: {"bad_input": "The request is invalid, or no table can hold the position"},
    404: {
        "missing_table": "The table is missing; the message has the command that builds it",
        "castling_rights": "No table holds castling rights; tbgen probe and Python solve up to five men",
        "missing_layer": "The table lacks depths that the line needs, and a short search does not find them",
        "no_position": "There is no such position, or none is found",
        "no_game": "The event has no such finished game",
        "not_offered": "The operator does not allow this request",
        "not_found": "The address does not exist",
    },
    405: {"method_not_allowed": "The address does not accept this method"},
    408: {"too_slow": "The body did not arrive in time"},
    413: {"too_large": "The request exceeds a limit"},
    429: {"too_much": "The client has used up its allowance; Retry-After says when to try again"},
    500: {
        "damaged_table": "A table cannot be used; the server's log says why",
        "failed": "A table, the engine or the solver has failed",
        "fault": "The server has failed; its log says why",
    },
    503: {
        "busy": "Too many requests are waiting, or another position is being solved",
        "compiling": "Kernels are compiled, once for each version; Retry-After says when to try again",
    },
}
"""Maps each status to its error codes, and these to their meanings."""


class Body(NamedTuple):
    """The body of a POST request."""

    media_type: str
    type: Any
    """The type that msgspec describes in the schema."""
    max_bytes: int = MAX_BODY_BYTES


class MediaAnswer(NamedTuple):
    """A successful answer."""

    type: Any
    """The type that msgspec describes in the schema."""
    media_type: str = JSON_TYPE
    text: str = "The answer"


class EndpointKind(Enum):
    """The time that answers take, and the time for which they remain correct."""

    QUICK = auto()
    """The answer takes little time, so it does not wait for slow answers. It changes only with a table."""
    SLOW = auto()
    """The answer changes only with a table."""
    QUEUED = auto()
    """The answer differs each time, and takes so long that requests wait in a queue with few places for each
    client."""
    RANDOM = auto()
    """The answer differs each time."""
    STATE = auto()
    """The answer is about the tables themselves, so that new tables change it."""


@dataclass(frozen=True)
class ApiPath:
    """A path of the API, and what follows from its properties."""

    path: str
    summary: str
    kind: EndpointKind
    _: KW_ONLY
    body: Body | None = None
    """The body of a POST request; None for a GET request."""
    may_lack: bool = True
    """Whether the tables may lack the answer, or the server may not offer it."""
    open: bool = False
    """Whether scripts of any site may send POST requests; all sites may send GET requests."""
    charged: bool = True
    """Whether clients are charged for the answer, so that it may be refused."""

    @property
    def method(self) -> str:
        """The HTTP method."""
        return "GET" if self.body is None else "POST"

    @property
    def caching(self) -> str:
        """Value of the header ``Cache-Control``."""
        if self.body is not None or self.kind in (EndpointKind.QUEUED, EndpointKind.RANDOM):
            return NO_STORE
        return REVALIDATE if self.kind is EndpointKind.STATE else STORE_ONE_HOUR

    def statuses_with(self, parameters: Sequence[Parameter]) -> list[int]:
        """Return the statuses of the responses other than the answer to requests with these parameters."""
        common = _COMMON_STATUSES if self.charged else ()
        of_body = [408, 413] if self.body else []
        of_tables = [404] if self.may_lack else []
        of_caches = [304] if self.caching != NO_STORE else []
        of_input = [400] if parameters or self.body else []
        return [*common, *of_body, *of_tables, *of_caches, *of_input]


@dataclass(frozen=True)
class Endpoint(ApiPath):
    """A path of the API that answers with a document, and the function that makes it."""

    find: Callable[..., Document]
    """The function that makes the answer. Its arguments are the stocks (tables) of the variants, followed by
    the request's parameters by name, or by the request's body as ``body``."""
    variants: tuple[Variant, ...] = tuple(Variant)
    """The variants whose tables the function needs."""

    @property
    def answer(self) -> MediaAnswer:
        """The answer, whose type is a document."""
        return MediaAnswer(self._signature.return_annotation)

    @property
    def statuses(self) -> list[int]:
        """Statuses of the responses other than the answer."""
        return self.statuses_with(self.parameters)

    @cached_property
    def _signature(self) -> Signature:
        return signature(self.find)

    @cached_property
    def parameters(self) -> list[Parameter]:
        """The parameters of requests; those that may be None are optional."""
        return [
            Parameter(name, *_type_and_required(parameter.annotation), in_path=f"{{{name}}}" in self.path)
            for name, parameter in self._signature.parameters.items()
            if name not in ("stock", "stocks", "body")
        ]


@dataclass(frozen=True)
class SpecialEndpoint(ApiPath):
    """A path of the API where the server answers in a way of its own."""

    handler: str
    """The attribute of the service (:mod:`tbgen.web.app`) that answers requests."""
    answer: MediaAnswer
    parameters: Sequence[Parameter] = ()

    @property
    def statuses(self) -> list[int]:
        """Statuses of the responses other than the answer, in ascending order."""
        return sorted(self.statuses_with(self.parameters))


def _type_and_required(hint: Any) -> tuple[Any, bool]:
    """Return the type of a parameter, and whether it is required."""
    possible = get_args(hint)
    return (possible[0], False) if NoneType in possible else (hint, True)


_BATCH_BODY: Final = Body("application/json", BatchRequest)
_PGN_BODY: Final = Body(PGN_TYPE, str)
_GAMES_BODY: Final = Body(PGN_TYPE, str, MAX_GAMES_BYTES)
_VARIANT_ENDPOINTS: Final = (
    Endpoint("/{}", "A position in {}", EndpointKind.QUICK, lookups.position),
    Endpoint(
        "/{}/moves", "The legal moves of any position in {}", EndpointKind.QUICK, legal_moves, may_lack=False
    ),
    Endpoint("/{}/mainline", "Best play in {}", EndpointKind.SLOW, lookups.line),
    Endpoint(
        "/{}/accrued", "A position in {} with every accrued score", EndpointKind.SLOW, lookups.accrued_scores
    ),
    Endpoint("/{}/sample", "A random position of a table for {}", EndpointKind.RANDOM, lookups.sample),
    Endpoint("/{}/puzzle", "A puzzle in {}: only one move keeps the value", EndpointKind.QUEUED, puzzle),
    Endpoint("/{}/challenge", "A random position to play in {}", EndpointKind.RANDOM, challenge),
    Endpoint("/{}/stats/{{material}}", "Counts of a table for {}", EndpointKind.STATE, lookups.statistics),
    Endpoint(
        "/{}/batch",
        "Many positions in {}",
        EndpointKind.SLOW,
        lookups.batch,
        body=_BATCH_BODY,
        may_lack=False,
        open=True,
    ),
    Endpoint("/{}/game", "A game, refereed by {}", EndpointKind.SLOW, game, body=_PGN_BODY, may_lack=False),
    Endpoint(
        "/{}/games", "Results of many games by {}", EndpointKind.SLOW, games, body=_GAMES_BODY, may_lack=False
    ),
)
"""The endpoints that every variant has; ``{}`` stands for the variant."""


def _variant_endpoint(endpoint: Endpoint, rules: Variant) -> Endpoint:
    path = endpoint.path.format(rules)
    return replace(endpoint, path=path, summary=endpoint.summary.format(rules.label), variants=(rules,))


def _view_endpoint(view: View) -> Endpoint:
    find = partial(lookups.view_position, view)
    summary = f"A position in {_VIEW_TEXTS[view]}"
    return Endpoint(f"/{view}", summary, EndpointKind.QUICK, find, (Variant.R_MOBILITY,))


DOCUMENT_ENDPOINTS: Final = (
    *(_variant_endpoint(endpoint, rules) for rules in Variant for endpoint in _VARIANT_ENDPOINTS),
    *map(_view_endpoint, View),
    Endpoint("/tables", "The tables of the server", EndpointKind.STATE, lookups.tables, may_lack=False),
)
"""The endpoints that answer with documents."""
STATE_PARAMETERS: Final = DOCUMENT_ENDPOINTS[0].parameters
"""The parameters of a request about a position and, optionally, an accrued score."""
SPECIAL_ENDPOINTS: Final = (
    SpecialEndpoint(
        "/r/solve",
        "The value of a position of any number of men, or an interval that narrows",
        EndpointKind.QUEUED,
        "solver.answer",
        MediaAnswer(str, EVENT_STREAM_TYPE, _EVENTS_TEXT),
        STATE_PARAMETERS,
    ),
    SpecialEndpoint(
        "/r/reply",
        "A move in a game of r-mobility, of any number of men",
        EndpointKind.QUEUED,
        "opponent.answer",
        MediaAnswer(ReplyDocument),
        body=_PGN_BODY,
    ),
    SpecialEndpoint(
        "/monitor",
        "Metrics of the process, for Prometheus",
        EndpointKind.RANDOM,
        "answer_monitor",
        MediaAnswer(str, METRICS_TYPE, "Figures"),
        may_lack=False,
        charged=False,
    ),
    SpecialEndpoint(
        OPENAPI_PATH,
        "The description of the API in OpenAPI",
        EndpointKind.QUICK,
        "answer_openapi",
        MediaAnswer(dict, text="OpenAPI"),
        may_lack=False,
        charged=False,
    ),
)
"""The endpoints that answer in a way of their own."""
ENDPOINTS: Final[tuple[Endpoint | SpecialEndpoint, ...]] = (*DOCUMENT_ENDPOINTS, *SPECIAL_ENDPOINTS)
"""All endpoints."""


def _content(sent: Body | MediaAnswer) -> _Schema:
    (schema,), _ = schema_components([sent.type], _REF_TEMPLATE)
    return {sent.media_type: {"schema": schema}}


def _response(answer: MediaAnswer) -> _Schema:
    return {"description": answer.text, "content": _content(answer)}


def _described(codes: Mapping[str, str]) -> str:
    """Return error codes and their meanings as a list in Markdown."""
    return "\n".join(f"- `{code}`: {meaning}" for code, meaning in codes.items())


_RESPONSES: Final = {
    status: _response(MediaAnswer(RefusalDocument, text=_described(codes)))
    for status, codes in REFUSALS.items()
} | {304: {"description": "The answer with the sent ETag is still valid"}}
"""Maps the status of each response other than the answer to its description."""


def openapi(version: str) -> dict[str, Any]:
    """Return the OpenAPI document of the API, for the given version of tbgen."""
    paths = {endpoint.path: {endpoint.method.lower(): _operation(endpoint)} for endpoint in ENDPOINTS}
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


def _operation(endpoint: Endpoint | SpecialEndpoint) -> _Schema:
    """Return the description of an endpoint."""
    operation: _Schema = {"summary": endpoint.summary}
    if endpoint.parameters:
        operation["parameters"] = _parameter_schemas(endpoint.parameters)
    if (body := endpoint.body) is not None:
        operation["requestBody"] = {"required": True, "content": _content(body)}
    others = {str(status): _RESPONSES[status] for status in endpoint.statuses}
    operation["responses"] = {"200": _response(endpoint.answer), **others}
    words = re.findall(r"\w+", re.sub(r"\{\w+\}|\.json", "", endpoint.path))
    return operation | {"operationId": "_".join([endpoint.method.lower(), *words])}


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
    """Return the schema of every document; fields without a default are required.

    The descriptions of fields are their docstrings.
    """
    types = [PositionDocument, BatchRefusalDocument, RefusalDocument, ReplyDocument, BatchRequest]
    types += dict.fromkeys(endpoint.answer.type for endpoint in DOCUMENT_ENDPOINTS)
    components: dict[str, Any] = schema_components(types, _REF_TEMPLATE)[1]
    documents = vars(inventory) | vars(probe_document) | vars(payloads)
    for document, schema in components.items():
        if fields := schema.get("properties"):
            schema["required"] = [name for name, field in fields.items() if "default" not in field]
            for name, docstring in field_docstrings(documents[document]).items():
                fields[name]["description"] = docstring
    return components
