"""Lists of tables, statistics and samples."""

import re
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from time import sleep
from typing import Any

import chess
import h5py
import pytest
from starlette.testclient import TestClient

from tbgen.board.variant import Variant
from tbgen.compiler import cache
from tbgen.tables.look_up import KERNELS
from tbgen.web.admission import Queue, WorkerPool
from tbgen.web.app import make_app
from tbgen.web.configuration import Settings
from tbgen.web.endpoints import DOCUMENT_ENDPOINTS, Endpoint, EndpointKind
from tbgen.web.replies import Refusal
from tests.support.packed_tables import PackedTables
from tests.support.paths import rows
from tests.web.test_openapi import POSTED

DIFFERING = (EndpointKind.RANDOM, EndpointKind.QUEUED)


def asked_endpoints() -> Iterator[tuple[str, Endpoint]]:
    """Yield requests, each with its endpoint."""
    patterns = {re.sub(r"\{\w+\}", "[^/]+", endpoint.path): endpoint for endpoint in DOCUMENT_ENDPOINTS}
    for request in (*POSTED, *(request for (request,) in rows("requests.txt", " -> "))):
        path = request.partition("?")[0]
        yield from ((request, patterns[pattern]) for pattern in patterns if re.fullmatch(pattern, path))


def ask(client: TestClient, request: str) -> Any:
    """Send a request, which :data:`POSTED` has the body of if it is a POST request."""
    return client.post(request, content=POSTED[request]) if request in POSTED else client.get(request)


def test_new_tables_change_answers_about_tables_and_no_others(own: Path, tables: Path) -> None:
    """The kinds of endpoints say so: caches may keep the other answers, but not these."""
    asked = {request: each.path for request, each in asked_endpoints() if each.kind not in DIFFERING}
    with TestClient(make_app(Settings((own,)))) as client:
        before = {request: ask(client, request).content for request in asked}
        shutil.copy(tables / "KBNvK.r.h5", own)
        shutil.copy(own / "KBvK.r.h5", own / "new.h5")
        with h5py.File(own / "new.h5", "r+") as file:
            file.attrs["build_seconds"] = 1e6
        (own / "new.h5").replace(own / "KBvK.r.h5")
        changed = {path for request, path in asked.items() if ask(client, request).content != before[request]}
    of_tables = [each for each in DOCUMENT_ENDPOINTS if each.kind is EndpointKind.STATE]
    assert changed == {each.path for each in of_tables if Variant.R_MOBILITY in each.variants}


def test_only_random_answers_differ(api: TestClient) -> None:
    """The kinds of endpoints say so."""
    for request, endpoint in asked_endpoints():
        answers = [ask(api, request) for _ in range(3)]
        may_differ = endpoint.kind in DIFFERING and answers[0].status_code == 200 and "day=" not in request
        assert (len({each.content for each in answers}) > 1) == may_differ, request


def test_answers_wait_where_the_kind_says_so(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only QUEUED answers wait in the queue, and only QUICK ones do not wait for slow threads."""

    def refused(owner: type, method: str, name: str) -> set[EndpointKind]:
        real = getattr(owner, method)

        def refuse(self: Any, *arguments: Any) -> Any:
            if getattr(self, "name", "queue") == name:
                raise Refusal(503, "busy", "it is full")
            return real(self, *arguments)

        with monkeypatch.context() as patched, TestClient(make_app(Settings((own,)))) as client:
            patched.setattr(owner, method, refuse)
            return {
                endpoint.kind
                for request, endpoint in asked_endpoints()
                if ask(client, request).json().get("code") == "busy"
            }

    assert refused(Queue, "turn", "queue") == {EndpointKind.QUEUED}
    assert refused(WorkerPool, "run", "slow") == set(EndpointKind) - {EndpointKind.QUICK}


def test_answers_that_tables_may_lack_are_not_found_without_tables(tmp_path: Path) -> None:
    with TestClient(make_app(Settings((tmp_path,)))) as client:
        lacking = {
            endpoint.path
            for request, endpoint in asked_endpoints()
            if ask(client, request).status_code == 404
        }
    assert lacking == {each.path for each in DOCUMENT_ENDPOINTS if each.may_lack}


@pytest.mark.parametrize("rules", ["r", "wg"])
def test_samples_have_the_value(rules: str, api: TestClient) -> None:
    for value, side in (("G0.5", "white"), ("-G5.5", "black"), ("G1.5", "")):
        found = api.get(f"/{rules}/sample?material=kbk&value={value}&side={side}").json()
        board = chess.Board(found["fen"])
        assert found == api.get(f"/{rules}", params={"fen": found["fen"]}).json()
        assert (found["material"], found["value"]) == ("KBvK", value)
        assert board.pieces(chess.BISHOP, chess.WHITE)
        assert not side or board.turn == (side == "white")
    # King against king has 462 positions up to symmetry for either side to move.
    seen = Counter(api.get(f"/{rules}/sample?material=KvK").json()["fen"] for _ in range(25))
    assert len(seen) > 15
    assert {fen.split()[1] for fen in seen} == {"w", "b"}


def test_samples_of_any_table(own: Path) -> None:
    """Only some materials have a position with a given value; all have one without it."""
    with TestClient(make_app(Settings((own,)))) as client:
        assert client.get("/r/sample?value=G0.0").json()["value"] == "G0.0"
        assert len({client.get("/r/sample").json()["material"] for _ in range(12)}) > 1
        refused = client.get("/r/sample?value=G60.5")
        assert (refused.status_code, refused.json()["code"]) == (404, "no_position")


@pytest.mark.slow
def test_samples_of_packed_tables(
    packed: PackedTables, tables: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Samples are drawn without unpacking the table; rare values may not be found."""
    packed("KQvK")
    with TestClient(make_app(Settings((packed.directory, tables)))) as client:
        assert client.get("/r/stats/KQvK").json()["form"] == "packed"
        for side in ("white", "black"):
            found = client.get(f"/r/sample?material=KQvK&value=G0.0&side={side}").json()
            assert (found["value"], found["fen"].split()[1]) == ("G0.0", side[0])
        assert client.get("/r/sample?material=KQvK").json()["material"] == "KQvK"
        assert not (packed.directory / ".unpacked").exists()
        monkeypatch.setattr("tbgen.web.stock._MAX_TRIES", 0)
        refused = client.get("/r/sample?material=KQvK&value=G0.0")
        assert (refused.status_code, refused.json()["code"]) == (404, "no_position")
        assert "rare" in refused.json()["message"]


def test_clients_are_told_that_kernels_are_compiled(
    packed: PackedTables, tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until their kernels are compiled, only requests to packed tables are refused."""
    shutil.copy(packed("KQvK"), tmp_path)  # copied, since other tests pack tables beside it
    going_on = Event()
    KERNELS.load(str)
    content = cache.load(KERNELS._file_name())
    assert content is not None

    def compile_slowly(file: str) -> bytes:
        going_on.wait()
        cache.store(file, content)
        return content

    monkeypatch.setattr(KERNELS, "_functions", {})
    monkeypatch.setattr(KERNELS, "_compile", compile_slowly)
    monkeypatch.setattr(KERNELS, "_file_name", lambda: f"{tmp_path.name}/code.o")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    fens = {"packed": "8/8/8/8/8/2k5/8/K6Q w - - 0 1", "plain": "8/8/8/4KBk1/8/8/8/8 b - - 0 1"}
    with TestClient(make_app(Settings((tmp_path, tables), precompiles=False))) as client:

        def asked() -> list[Any]:
            single = client.get("/r", params={"fen": fens["packed"]})
            return [single, client.post("/r/batch", json={"fens": [fens["packed"]]})]

        for refused in asked():
            assert (refused.status_code, refused.json()["code"]) == (503, "compiling")
            assert "about ten seconds" in refused.json()["message"]
            assert refused.headers["retry-after"] == "10"
        assert client.get("/r", params={"fen": fens["plain"]}).status_code == 200
        going_on.set()
        while 503 in (statuses := {response.status_code for response in asked()}):
            sleep(0.1)
        assert statuses == {200}
