"""The description of the API in OpenAPI 3.1, which the server hands out."""

from typing import Any, Final, TypeAlias

from tbgen.board.variant import Variant
from tbgen.games.outcome import Basis
from tbgen.games.settings import FiftyMoveRule
from tbgen.probe.views import View
from tbgen.web.documents import Category, ViewCategory
from tbgen.web.events import MEDIA_TYPE as EVENTS
from tbgen.web.monitor import MEDIA_TYPE
from tbgen.web.settings import MOST_BATCH, MOST_FEN_LETTERS

DOCUMENT_PATH: Final = "/openapi.json"
SOLVE_PATH: Final = "/r/solve"

_Schema: TypeAlias = dict[str, Any]

_SCORE: Final = r"^-?G[0-9]+\.[05]$"
_GIVEN_SCORE: Final = r"^[-mM]?[Gg][0-9]{1,3}(\.[05])?$"
_VIEWS: Final = {
    View.CLASSICAL: "classical chess without the 50-move rule",
    View.STALEMATE_WINS: "chess in which stalemate wins",
    View.LASKER: "chess in which who stalemates gets 3/4 of the point",
}


def openapi(version: str) -> dict[str, Any]:
    """Return the document for a version of tbgen."""
    paths: dict[str, Any] = {}
    for variant in Variant:
        paths |= _paths_of(variant)
    for view in View:
        paths[f"/{view}"] = _get(f"A position in {_VIEWS[view]}", "ViewedPosition", [_fen()])
    paths["/tables"] = _get("The tables of the server", "Tables", [], missing=False)
    paths[SOLVE_PATH] = _solve()
    paths["/monitor"] = {
        "get": {
            "summary": "What the process has done so far, for Prometheus",
            "responses": {
                "200": {"description": "Figures", "content": {MEDIA_TYPE: {"schema": {"type": "string"}}}}
            },
        }
    }
    paths[DOCUMENT_PATH] = {
        "get": {
            "summary": "This document",
            "responses": {"200": _answer("OpenAPI", {"type": "object"}), "304": _SAME},
        }
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


def _paths_of(variant: Variant) -> dict[str, Any]:
    name, root = variant.label, f"/{variant}"
    material = {"type": "string", "maxLength": 60, "examples": ["KBvK"]}
    sampled = [
        _parameter("material", material, "The material; colours are those of its canonical name"),
        _parameter("value", _given_score(), "The fresh value that the position is to have"),
        _parameter("side", {"enum": ["white", "black"]}, "Who is to move"),
    ]
    accrued = _parameter("accrued", _given_score(), "The accrued score; it counts whatever the FEN says")
    named = _parameter("material", material, "The material", True) | {"in": "path"}
    return {
        root: _get(f"A position in {name}", "Position", [_fen(), accrued]),
        f"{root}/moves": _get(
            f"The legal moves of any position in {name}", "LegalMoves", [_fen(), accrued], missing=False
        ),
        f"{root}/mainline": _get(f"Best play in {name}", "Mainline", [_fen(), accrued]),
        f"{root}/accrued": _get(f"A position in {name} with every accrued score", "AccruedScores", [_fen()]),
        f"{root}/sample": _get(f"A random position of a table for {name}", "Position", sampled, kept=False),
        f"{root}/stats/{{material}}": _get(f"What a table for {name} holds", "Table", [named]),
        f"{root}/batch": _post(
            f"Many positions in {name}", "Batch", {"application/json": {"schema": _ref("BatchRequest")}}
        ),
        f"{root}/game": _post(
            f"A game, refereed by {name}",
            "Game",
            {"application/x-chess-pgn": {"schema": {"type": "string"}}},
        ),
    }


def _solve() -> dict[str, Any]:
    events = "Events: interval (lower, upper, cells), then solution (as tbgen solve --json) or refusal"
    stream = {"description": events, "content": {EVENTS: {"schema": {"type": "string"}}}}
    accrued = _parameter("accrued", _given_score(), "The accrued score; it counts whatever the FEN says")
    return {
        "get": {
            "summary": "What a position of any number of men is worth, or an interval that narrows",
            "parameters": [_fen(), accrued],
            "responses": {
                "200": stream,
                "400": _refusal("The request means nothing"),
                "404": _refusal("The server does not solve"),
                **_ANYWHERE,
            },
        }
    }


def _get(
    summary: str, schema: str, parameters: list[_Schema], *, missing: bool = True, kept: bool = True
) -> _Schema:
    responses: dict[str, Any] = {"200": _answer("The answer", _ref(schema))}
    if kept:
        responses["304"] = _SAME
    if parameters:
        responses["400"] = _refusal("The request means nothing")
    if missing:
        responses["404"] = _refusal("No table here says it; if one is missing, by which command to build it")
    asked = {"parameters": parameters} if parameters else {}
    return {"get": {"summary": summary, **asked, "responses": responses | _ANYWHERE}}


def _post(summary: str, schema: str, content: dict[str, Any]) -> _Schema:
    responses = {
        "200": _answer("The answer", _ref(schema)),
        "400": _refusal("The request means nothing"),
        "408": _refusal("The body did not arrive in time"),
        "413": _refusal("It is too large"),
    }
    return {
        "post": {
            "summary": summary,
            "requestBody": {"required": True, "content": content},
            "responses": responses | _ANYWHERE,
        }
    }


def _parameter(name: str, schema: _Schema, text: str, required: bool = False) -> _Schema:
    return {"name": name, "in": "query", "required": required, "description": text, "schema": schema}


def _fen() -> _Schema:
    example = "8/8/8/4KBk1/8/8/8/8_b_-_-_0_1"
    schema = {"type": "string", "maxLength": MOST_FEN_LETTERS, "examples": [example]}
    text = "A FEN of up to seven fields, the last one the accrued score; underscores may stand for spaces"
    return _parameter("fen", schema, text, True)


def _given_score() -> _Schema:
    return {"type": "string", "pattern": _GIVEN_SCORE, "examples": ["G3.5", "-G3.5"]}


def _ref(schema: str) -> _Schema:
    return {"$ref": f"#/components/schemas/{schema}"}


def _answer(text: str, schema: _Schema) -> _Schema:
    return {"description": text, "content": {"application/json": {"schema": schema}}}


def _refusal(text: str) -> _Schema:
    return _answer(text, _ref("Refusal"))


_SAME: Final = {"description": "The answer with the ETag that was given still holds"}
_ANYWHERE: Final = {
    "429": _refusal("The client has taken more processor time than it may"),
    "500": _refusal("A table cannot be used, or the server has made a mistake"),
    "503": _refusal("The server has too much to do"),
}


def _object(**properties: _Schema) -> _Schema:
    """Return the schema of an object that has these properties and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list_of(schema: _Schema) -> _Schema:
    return {"type": "array", "items": schema}


def _or_null(schema: _Schema) -> _Schema:
    return {"anyOf": [schema, {"type": "null"}]}


_TEXT: Final[_Schema] = {"type": "string"}
_FLAG: Final[_Schema] = {"type": "boolean"}
_COUNT: Final[_Schema] = {"type": "integer", "minimum": 0}
_NUMBER: Final[_Schema] = {"type": "number", "minimum": 0}
_G: Final[_Schema] = {"type": "string", "pattern": _SCORE}
_DEPTH: Final = _or_null(_COUNT)
_SIDE: Final[_Schema] = {"enum": ["white", "black"]}
_RULES: Final[_Schema] = {"enum": [variant.value for variant in Variant]}
_DIGEST: Final[_Schema] = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_END: Final = {"checkmate": _FLAG, "stalemate": _FLAG}
_MOVE: Final = {"uci": _TEXT, "san": _TEXT, "zeroing": _FLAG, **_END}


def _schemas() -> dict[str, Any]:
    category = {"enum": [each.value for each in Category]}
    worth = {
        "winner": _or_null(_SIDE),
        "depth": _DEPTH,
        "points": _ref("Points"),
        "category": {"enum": [each.value for each in ViewCategory]},
    }
    position = {
        "fen": _TEXT,
        "material": _TEXT,
        "rules": _RULES,
        **_END,
        "insufficient_material": _FLAG,
        "position_score": _G,
        "accrued": _G,
        "value": _G,
        "holder": _SIDE,
        "depth": _DEPTH,
        "points": _ref("Points"),
        "category": category,
    }
    known = {
        "value": _or_null(_G),
        "depth": _DEPTH,
        "points": _or_null(_ref("Points")),
        "category": _or_null(category),
    }
    table = {
        **{"material": _TEXT, "rules": _RULES, "form": {"enum": ["plain", "packed"]}},
        "positions": _object(white=_COUNT, black=_COUNT, en_passant=_COUNT),
        **{"accrued": _FLAG, "runs": _COUNT, "max_depth": _COUNT, "bytes": _COUNT},
        **{"layers": _COUNT, "layer_bytes": _COUNT, "format_version": _COUNT},
        **{"tbgen_version": _TEXT, "build_seconds": _NUMBER, "parameters": {"type": "object"}},
        **{"digest": _DIGEST, "fresh_digest": _DIGEST},
    }
    values = {
        "type": "object",
        "propertyNames": {"pattern": _SCORE},
        "additionalProperties": {"type": "integer", "minimum": 1},
    }
    return {
        "Refusal": _object(code=_TEXT, message=_TEXT),
        "Points": _object(white=_NUMBER, black=_NUMBER),
        "Position": _object(**position, moves=_list_of(_ref("Move"))),
        "PositionAlone": _object(**position),
        "Move": _object(
            **_MOVE, accrued=_G, value=_G, depth=_DEPTH, points=_ref("Points"), category=category
        ),
        "LegalMoves": _object(
            fen=_TEXT,
            rules=_RULES,
            **_END,
            insufficient_material=_FLAG,
            position_score=_G,
            accrued=_G,
            **known,
            moves=_list_of(_object(**_MOVE, fen=_TEXT, accrued=_G, **known)),
        ),
        "AccruedScores": _object(
            fen=_TEXT,
            material=_TEXT,
            rules=_RULES,
            position_score=_G,
            accrued_scores={
                **_list_of(_object(accrued=_G, value=_G, depth=_DEPTH, points=_ref("Points"))),
                "minItems": 1,
            },
        ),
        "Mainline": _object(
            **position, mainline=_list_of(_object(uci=_TEXT, san=_TEXT, accrued=_G, depth=_COUNT))
        ),
        "ViewedPosition": _object(
            fen=_TEXT,
            material=_TEXT,
            view={"enum": [view.value for view in View]},
            **_END,
            insufficient_material=_FLAG,
            **worth,
            moves=_list_of(_object(**_MOVE, **worth)),
        ),
        "Table": _object(**table, values=_object(white=values, black=values)),
        "Tables": _object(tables=_list_of(_object(**table))),
        "BatchRequest": {
            **_object(fens={**_list_of(_TEXT), "maxItems": MOST_BATCH}, moves=_FLAG),
            "required": ["fens"],
        },
        "Batch": _object(
            rules=_RULES,
            positions=_list_of(
                {
                    "anyOf": [
                        _ref("Position"),
                        _ref("PositionAlone"),
                        _object(fen=_TEXT, code=_TEXT, message=_TEXT),
                    ]
                }
            ),
        ),
        "Game": _object(
            rules=_RULES,
            fifty_move_rule={"enum": [rule.value for rule in FiftyMoveRule]},
            plies=_list_of(_ref("Ply")),
            outcome=_object(
                value=_G,
                holder=_SIDE,
                basis={"enum": [basis.value for basis in Basis]},
                proven=_FLAG,
                depth=_DEPTH,
                points=_ref("Points"),
            ),
            missing_tables=_list_of(_TEXT),
        ),
        "Ply": _object(
            ply=_COUNT,
            uci=_or_null(_TEXT),
            san=_or_null(_TEXT),
            fen=_TEXT,
            position_score=_G,
            accrued=_G,
            clock=_COUNT,
            **known,
        ),
    }
