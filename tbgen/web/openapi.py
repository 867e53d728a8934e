"""The description of the API in OpenAPI 3.1, which the server hands out: made from its endpoints and their
documents."""

from collections.abc import Iterable
from typing import Any, Final, TypeAlias

import msgspec

from tbgen.probe.documents import PositionDocument, RefusalDocument
from tbgen.web.documents import SCHEMAS, BatchRefusalDocument
from tbgen.web.endpoints import ENDPOINTS, STATE, Endpoint
from tbgen.web.events import MEDIA_TYPE as EVENTS
from tbgen.web.exchange import NOT_KEPT, Parameter
from tbgen.web.monitor import MEDIA_TYPE
from tbgen.web.settings import DOCUMENT_PATH, SOLVE_PATH

_Schema: TypeAlias = dict[str, Any]
_EVENTS: Final = (
    "Events: interval (lower, upper, cells) and compiling (message), then solution (as tbgen solve --json) "
    "or refusal"
)


def openapi(version: str) -> dict[str, Any]:
    """Return the document for a version of tbgen."""
    paths = {endpoint.path: {endpoint.method.lower(): _operation(endpoint)} for endpoint in ENDPOINTS}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "tbgen",
            "version": version,
            "description": "Endgame tables of r-mobility chess. docs/web.md says what the fields mean.",
            "license": {"name": "GPL-3.0-or-later", "identifier": "GPL-3.0-or-later"},
        },
        "paths": paths
        | {
            SOLVE_PATH: {
                "get": {
                    "summary": "What a position of any number of men is worth, or an interval that narrows",
                    "parameters": _parameters(STATE),
                    "responses": {
                        "200": _content(_EVENTS, EVENTS, {"type": "string"}),
                        "400": _refusal("The request means nothing"),
                        "404": _refusal("The server does not solve"),
                        **_ANYWHERE,
                    },
                }
            },
            "/monitor": {
                "get": {
                    "summary": "What the process has done so far, for Prometheus",
                    "responses": {"200": _content("Figures", MEDIA_TYPE, {"type": "string"})},
                }
            },
            DOCUMENT_PATH: {
                "get": {
                    "summary": "This document",
                    "responses": {"200": _json("OpenAPI", {"type": "object"}), "304": _SAME},
                }
            },
        },
        "components": {"schemas": _schemas()},
    }


def _operation(endpoint: Endpoint) -> _Schema:
    operation: _Schema = {"summary": endpoint.summary}
    responses: _Schema = {"200": _json("The answer", _ref(endpoint.answer))}
    if endpoint.parameters:
        operation["parameters"] = _parameters(endpoint.parameters)
    if endpoint.body is not None:
        (schema,), _ = msgspec.json.schema_components([endpoint.body.type], ref_template=_REF)
        content = {endpoint.body.media_type: {"schema": schema}}
        operation["requestBody"] = {"required": True, "content": content}
        responses["408"] = _refusal("The body did not arrive in time")
        responses["413"] = _refusal("It is too large")
    elif endpoint.missing:
        responses["404"] = _refusal("No table here says it; if one is missing, by which command to build it")
    if endpoint.caching != NOT_KEPT:
        responses["304"] = _SAME
    if endpoint.parameters or endpoint.body:
        responses["400"] = _refusal("The request means nothing")
    return {**operation, "responses": responses | _ANYWHERE}


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
    types = {PositionDocument, BatchRefusalDocument, RefusalDocument}
    types |= {endpoint.answer for endpoint in ENDPOINTS}
    types |= {endpoint.body.type for endpoint in ENDPOINTS if endpoint.body is not None} - {str}
    _, components = msgspec.json.schema_components(types, ref_template=_REF)
    for schema in components.values():
        if "properties" in schema:
            fields = schema["properties"].items()
            schema["required"] = [name for name, field in fields if "default" not in field]
    return components


_REF: Final = SCHEMAS + "{name}"


def _ref(document: type) -> _Schema:
    return {"$ref": SCHEMAS + document.__name__}


def _content(text: str, media_type: str, schema: _Schema) -> _Schema:
    return {"description": text, "content": {media_type: {"schema": schema}}}


def _json(text: str, schema: _Schema) -> _Schema:
    return _content(text, "application/json", schema)


def _refusal(text: str) -> _Schema:
    return _json(text, _ref(RefusalDocument))


_SAME: Final = {"description": "The answer with the ETag that was given still holds"}
_ANYWHERE: Final = {
    "429": _refusal("The client has taken more processor time than it may"),
    "500": _refusal("A table cannot be used, or the server has made a mistake"),
    "503": _refusal("The server has too much to do, or compiles what the answer takes"),
}
