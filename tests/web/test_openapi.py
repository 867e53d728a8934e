"""The description of the API matches its answers."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from jsonschema import Draft202012Validator
from starlette.routing import Route
from starlette.testclient import TestClient

from tbgen.board.variant import Variant
from tbgen.errors import DamagedTableError, MissingLayerError, MissingTableError
from tbgen.probe.values import Values
from tbgen.web.app import make_app
from tbgen.web.configuration import Settings
from tbgen.web.endpoints import DOCUMENT_ENDPOINTS, REFUSALS, EndpointKind, openapi
from tbgen.web.stock import Stock
from tests.support.paths import ROOT, rows

DOCUMENT = openapi("0")
KBK = "8/8/8/4KBk1/8/8/8/8_b_-_-_0_1"

POSTED = {
    "/r/batch": '{"fens": ["8/8/8/4KBk1/8/8/8/8 b - - 0 1", "x"]}',
    "/wg/batch": '{"fens": ["8/8/8/4KBk1/8/8/8/8 b - - 0 1"], "moves": false}',
    "/r/game": (ROOT / "docs" / "drawn_game.pgn").read_text(),
    "/r/reply": "1. f3 e5 2. g4 Qh4# 0-1",
    "/r/games": "1. e4 (1. d4) *\n\n1. Ke5 *",
    "/wg/games": "1. e4 *",
    "/wg/game": '[FEN "8/8/8/4KBk1/8/8/8/8 b - - 0 1"]\n\n1... Kh5 *',
}


def check(schema: dict[str, Any], document: Any) -> None:
    whole = {**schema, "components": DOCUMENT["components"]}
    Draft202012Validator.check_schema(whole)
    Draft202012Validator(whole).validate(document)


def described(path: str, method: str, status: int) -> dict[str, Any]:
    """Return the description of an answer."""
    (found,) = (
        operations
        for named, operations in DOCUMENT["paths"].items()
        if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", named), path)
    )
    content: dict[str, Any] = found[method]["responses"][str(status)]["content"]
    return content["application/json"]["schema"]


def test_answers_are_as_described(api: TestClient) -> None:
    for (asked,) in rows("requests.txt", " -> "):
        response = api.get(asked)
        check(described(asked.partition("?")[0], "get", response.status_code), response.json())
    for path, text in POSTED.items():
        for body in (text, "nonsense"):
            response = api.post(path, content=body)
            check(described(path, "post", response.status_code), response.json())


def test_every_endpoint_is_requested() -> None:
    """Those that may refuse their input also refuse some, of one variant or the other."""
    asked = [*POSTED, *(request.partition("?")[0] for (request,) in rows("requests.txt", " -> "))]
    refused = [
        row[1].partition("?")[0] for row in rows("refused_requests.txt", " -> ") if row[0] == "400 bad_input"
    ]
    for endpoint in DOCUMENT_ENDPOINTS:
        pattern = re.sub(r"\{\w+\}", "[^/]+", endpoint.path)
        assert any(re.fullmatch(pattern, path) for path in asked), endpoint.path
        if endpoint.parameters and Variant.R_MOBILITY in endpoint.variants:
            assert any(re.fullmatch(pattern, path) for path in refused), endpoint.path


def test_kinds_of_endpoints_are_right(api: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Quick answers look up a position and its moves and count nothing. Only random answers differ. Answers
    to texts of any length are slow."""
    assert {each.kind for each in DOCUMENT_ENDPOINTS if each.body is not None} == {EndpointKind.SLOW}
    costs = list[int]()
    stored_goal, stored_goals, entry = Values.stored_goal, Values.stored_goals, Stock.usable_entry

    def counting(function: Callable[..., Any], cost: Callable[..., int]) -> Callable[..., Any]:
        def counted(self: object, *arguments: Any, **options: Any) -> Any:
            costs.append(cost(*arguments))
            return function(self, *arguments, **options)

        return counted

    monkeypatch.setattr(Values, "stored_goal", counting(stored_goal, lambda state: 1))
    monkeypatch.setattr(Values, "stored_goals", counting(stored_goals, len))
    monkeypatch.setattr(Stock, "usable_entry", counting(entry, lambda material: 1000))
    kinds = set()
    for (asked,) in rows("requests.txt", " -> "):
        path = asked.partition("?")[0]
        pattern_of = {each: re.sub(r"\{\w+\}", "[^/]+", each.path) for each in DOCUMENT_ENDPOINTS}
        kind = next((each.kind for each, pattern in pattern_of.items() if re.fullmatch(pattern, path)), None)
        if kind is None or kind is EndpointKind.QUEUED or api.get(asked).status_code != 200:
            continue
        kinds.add(kind)
        costs.clear()
        answers = {api.get(asked).content for _ in range(5)}
        assert (len(answers) > 1) == (kind is EndpointKind.RANDOM), asked
        if kind in (EndpointKind.QUICK, EndpointKind.SLOW):
            cost, moves = sum(costs) // 5, api.get(asked).json().get("moves", ())
            assert (cost <= 2 + 2 * len(moves)) == (kind is EndpointKind.QUICK), (asked, costs)
    assert kinds == {*EndpointKind} - {EndpointKind.QUEUED}


def test_the_description_tells_good_answers_from_bad(api: TestClient) -> None:
    """A missing or additional field, or one of another type, is detected."""
    schema = described("/r", "get", 200)
    answer = api.get(f"/r?fen={KBK}").json()
    good = Draft202012Validator({**schema, "components": DOCUMENT["components"]})
    assert good.is_valid(answer)
    assert not good.is_valid({**answer, "more": 1})
    assert not good.is_valid({name: answer[name] for name in answer if name != "depth"})
    assert not good.is_valid({**answer, "value": "1.5"})
    assert not good.is_valid({**answer, "moves": [{**answer["moves"][0], "category": "win"}]})


INTERFACES = {
    name: (extended, own)
    for name, extended, own in re.findall(
        r"^interface (\w+)(?: extends (.+?))? \{ (.+) \}$",
        (ROOT / "tbgen" / "web" / "documents.d.ts").read_text(),
        re.MULTILINE,
    )
}


def fields(interface: str) -> set[str]:
    """Return the names of a document's fields in the types of the page's scripts."""
    extended, own = INTERFACES[interface]
    found = set(re.findall(r"(\w+): ", own))
    for name, omitted in re.findall(r'(?:Omit<)?(\w+)(?:, ("[^>]+)>)?', extended):
        found |= fields(name) - set(re.findall(r"\w+", omitted))
    return found


def test_the_page_knows_documents_by_their_names_and_fields() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    known = set(INTERFACES) & set(schemas)
    assert len(known) > 20
    for name in known:
        assert fields(name) <= set(schemas[name]["properties"]), name
    assert {name for name in INTERFACES if name.endswith("Document")} <= {"StateDocument", *known}


def test_every_route_is_described(api: TestClient, whole_game_tables: Path) -> None:
    app: Any = make_app(Settings((whole_game_tables,)))
    routes = {
        (route.path, method.lower())
        for route in app._app.routes
        if isinstance(route, Route) and route.include_in_schema
        for method in route.methods or ()
        if method != "HEAD"
    }
    assert routes == {(path, method) for path, methods in DOCUMENT["paths"].items() for method in methods}
    assert api.get("/openapi.json").json()["paths"] == DOCUMENT["paths"]


def test_every_operation_has_a_name() -> None:
    names = [each["operationId"] for methods in DOCUMENT["paths"].values() for each in methods.values()]
    assert len(set(names)) == len(names)
    assert {"get_r", "get_r_stats", "post_wg_batch", "get_stalemate_wins", "get_openapi"} <= set(names)


def test_every_field_is_explained() -> None:
    page = (ROOT / "docs" / "web.md").read_text()
    for schema in DOCUMENT["components"]["schemas"].values():
        for name in schema.get("properties", ()):
            assert f"`{name}`" in page, name
    note = DOCUMENT["components"]["schemas"]["PuzzleDocument"]["properties"]["note"]
    assert note["description"].startswith("Why the seventh field of the FEN does not count;")


def test_every_refusal_is_described() -> None:
    """Literal codes in the package of the server, and those of errors that it passes on."""
    texts = "".join(path.read_text() for path in (ROOT / "tbgen" / "web").glob("*.py"))
    raised = {(int(status), code) for status, code in re.findall(r'Refusal\((\d+), "(\w+)"', texts)}
    assert len(raised) > 10
    raised |= {(404, MissingTableError.code), (404, MissingLayerError.code), (500, DamagedTableError.code)}
    assert raised <= {(status, code) for status, codes in REFUSALS.items() for code in codes}


def made_up() -> Iterator[tuple[str, str, str]]:
    """Yield each operation with the modes of its requests: some match its description, others do not."""
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            asks = operation.keys() & {"parameters", "requestBody"}
            for mode in ("positive", "negative") if asks else ("positive",):
                yield path, method, mode


@pytest.fixture(scope="module")
def described_api(whole_game_tables: Path) -> Any:
    """The API by its description."""
    import schemathesis  # imported here, since it takes seconds in every process of the tests

    schemathesis.serializer.alias("application/x-chess-pgn", "text/plain")
    asked = Settings((whole_game_tables,), move_seconds=None, limit=0)
    return schemathesis.openapi.from_asgi("/openapi.json", make_app(asked))


@pytest.mark.exhaustive
@pytest.mark.parametrize(("path", "method", "mode"), list(made_up()))
def test_made_up_requests(path: str, method: str, mode: str, described_api: Any) -> None:
    """Every answer is described, and none is a fault of the server."""
    import schemathesis
    from schemathesis.specs.openapi import checks

    wanted = [
        schemathesis.checks.not_a_server_error,
        checks.content_type_conformance,
        checks.response_schema_conformance,
        checks.status_code_conformance,
    ]
    operation = described_api[path][method]

    @given(case=operation.as_strategy(generation_mode=schemathesis.GenerationMode(mode)))
    @settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
    def ask(case: Any) -> None:
        case.call_and_validate(checks=wanted, timeout=600)  # on a slow machine too

    ask()
