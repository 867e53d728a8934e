"""The description of the API in OpenAPI 3.1, which the server hands out: made from its endpoints and their
documents."""

from collections.abc import Iterable
from typing import Any, Final, TypeAlias

import msgspec

from tbgen.probe.documents import PositionDocument, RefusalDocument
from tbgen.web.documents import SCHEMAS, BatchRefusalDocument, ReplyDocument
from tbgen.web.endpoints import ENDPOINTS, STATE, Endpoint
from tbgen.web.events import MEDIA_TYPE as EVENTS
from tbgen.web.exchange import JSON, NOT_KEPT, PGN, Parameter
from tbgen.web.monitor import MEDIA_TYPE
from tbgen.web.settings import DOCUMENT_PATH, REPLY_PATH, SOLVE_PATH

_Schema: TypeAlias = dict[str, Any]
_EVENTS: Final = (
    "Events: interval (lower, upper, cells) and compiling (message), then solution (as tbgen solve --json) "
    "or refusal"
)
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
_REF: Final = SCHEMAS + "{name}"


def openapi(version: str) -> dict[str, Any]:
    """Return the document for a version of tbgen."""
    text: _Schema = {"type": "string"}
    paths = {endpoint.path: {endpoint.method.lower(): _of_endpoint(endpoint)} for endpoint in ENDPOINTS}
    paths[SOLVE_PATH] = _get(
        "What a position of any number of men is worth, or an interval that narrows",
        _content(_EVENTS, EVENTS, text) | _refusals(400, 404, *_ANYWHERE),
        parameters=_parameters(STATE),
    )
    paths[REPLY_PATH] = {
        "post": {
            "summary": "A move in a game of r-mobility, of any number of men",
            "requestBody": _body(PGN, text),
            "responses": _content("The answer", JSON, _ref(ReplyDocument))
            | _refusals(400, 404, 408, 413, *_ANYWHERE),
        }
    }
    figures = _content("Figures", MEDIA_TYPE, text)
    paths["/monitor"] = _get("What the process has done so far, for Prometheus", figures)
    paths[DOCUMENT_PATH] = _get("This document", _content("OpenAPI", JSON, {"type": "object"}) | _SAME)
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


def _get(summary: str, responses: _Schema, **more: Any) -> _Schema:
    return {"get": {"summary": summary, **more, "responses": responses}}


def _of_endpoint(endpoint: Endpoint) -> _Schema:
    operation: _Schema = {"summary": endpoint.summary}
    responses = _content("The answer", JSON, _ref(endpoint.answer)) | _refusals(*_ANYWHERE)
    if endpoint.parameters:
        operation["parameters"] = _parameters(endpoint.parameters)
    if endpoint.body is not None:
        (schema,), _ = msgspec.json.schema_components([endpoint.body.type], ref_template=_REF)
        operation["requestBody"] = _body(endpoint.body.media_type, schema)
        responses |= _refusals(408, 413)
    elif endpoint.missing:
        responses |= _refusals(404)
    if endpoint.caching != NOT_KEPT:
        responses |= _SAME
    if endpoint.parameters or endpoint.body:
        responses |= _refusals(400)
    return {**operation, "responses": responses}


def _body(media_type: str, schema: _Schema) -> _Schema:
    """Return what is posted."""
    return {"required": True, "content": {media_type: {"schema": schema}}}


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
    types = {PositionDocument, BatchRefusalDocument, RefusalDocument, ReplyDocument}
    types |= {endpoint.answer for endpoint in ENDPOINTS}
    types |= {endpoint.body.type for endpoint in ENDPOINTS if endpoint.body is not None} - {str}
    _, components = msgspec.json.schema_components(types, ref_template=_REF)
    for schema in components.values():
        if "properties" in schema:
            fields = schema["properties"].items()
            schema["required"] = [name for name, field in fields if "default" not in field]
    return components


def _ref(document: type) -> _Schema:
    return {"$ref": SCHEMAS + document.__name__}


def _content(text: str, media_type: str, schema: _Schema, status: int = 200) -> _Schema:
    """Return the response to a request by its status."""
    return {str(status): {"description": text, "content": {media_type: {"schema": schema}}}}


def _refusals(*statuses: int) -> _Schema:
    found: _Schema = {}
    for status in statuses:
        found |= _content(_REFUSALS[status], JSON, _ref(RefusalDocument), status)
    return found


_SAME: Final = {"304": {"description": "The answer with the ETag that was given still holds"}}
