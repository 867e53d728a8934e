"""Invalid requests, headers of answers, and limits of clients."""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from threading import Event

import pytest
from starlette.requests import Request
from starlette.testclient import TestClient

from tbgen.board.variant import Variant
from tbgen.errors import DamagedTableError
from tbgen.probe.tablebase import Tablebase
from tbgen.store.format import table_path
from tbgen.web.admission import Bill, Limiter, Queue, WorkerPool, stop_if_client_left
from tbgen.web.app import make_app
from tbgen.web.configuration import MAX_BATCH_POSITIONS, MAX_BODY_BYTES, Settings
from tbgen.web.replies import Refusal
from tests.support.paths import rows

KBK = "8/8/8/4KBk1/8/8/8/8 b - - 0 1"


@pytest.fixture
def own_api(own: Path) -> Iterator[TestClient]:
    """The API over a private directory with all tables of three men."""
    with TestClient(make_app(Settings((own,))), raise_server_exceptions=False) as client:
        yield client


BAD_BODIES = [
    *(b"", b"nonsense", b"\xff\xfe\x00", b"[" * 100_000, b"[]", b"{}", b'{"fens": "8/8"}', b'{"fens": [1]}'),
    *(b'{"fens": [], "moves": 1}', b'{"fens": [], "more": 1}'),
    b'{"fens": ["\\ud800"]}',  # a surrogate, which is no character
]


def test_what_is_refused(api: TestClient) -> None:
    for kind, path, *sentences in rows("refused_requests.txt", " -> "):
        response = api.get(path, follow_redirects=False)
        document = response.json()
        assert f"{response.status_code} {document['code']}" == kind, path
        assert document.keys() == {"code", "message"}
        assert all(sentence in document["message"] for sentence in sentences), path
        assert response.headers["cache-control"] == "no-store", path
    for body in BAD_BODIES:
        response = api.post("/r/batch", content=body)
        assert (response.status_code, response.json()["code"]) == (400, "bad_input"), body[:20]


def test_methods(api: TestClient) -> None:
    for method, path in (("POST", "/r"), ("DELETE", "/tables"), ("PUT", "/r/game"), ("OPTIONS", "/r")):
        response = api.request(method, path)
        assert response.status_code == 405
        assert ("POST" if "game" in path else "GET") in response.headers["allow"]
    assert api.head("/r", params={"fen": KBK}).status_code == 200


def test_bodies_that_are_too_large(api: TestClient) -> None:
    for path in ("/r/batch", "/r/game"):
        response = api.post(path, content=b" " * (MAX_BODY_BYTES + 1))
        assert (response.status_code, response.json()["code"]) == (413, "too_large")
        parts = iter([b" " * MAX_BODY_BYTES, b" "])  # without a Content-Length
        response = api.post(path, content=parts)
        assert (response.status_code, response.json()["code"]) == (413, "too_large")
    response = api.post("/r/batch", json={"fens": [KBK] * (MAX_BATCH_POSITIONS + 1)})
    assert (response.status_code, response.json()["code"]) == (413, "too_large")
    response = api.post("/r/batch", json={"fens": [KBK] * MAX_BATCH_POSITIONS, "moves": False})
    assert len(response.json()["positions"]) == MAX_BATCH_POSITIONS


def test_headers(api: TestClient) -> None:
    for path in (f"/r?fen={KBK}", "/nothing", "/monitor", "/openapi.json", "/r?fen=x"):
        headers = api.get(path).headers
        assert headers["content-security-policy"].startswith("default-src 'none'")
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["access-control-allow-origin"] == "*"
        assert "location" not in headers
    assert "access-control-allow-origin" not in api.post("/r/game", content="1. e4 *").headers


def test_scripts_of_other_sites_may_send_batches(api: TestClient) -> None:
    asked = {"Origin": "https://example.org", "Access-Control-Request-Method": "POST"}
    for path in ("/r/batch", "/wg/batch"):
        response = api.options(path, headers=asked)
        assert (response.status_code, response.headers["access-control-allow-methods"]) == (204, "POST")
        assert response.headers["access-control-max-age"] == "86400"
        for answered in (response, api.post(path, json={"fens": []}), api.post(path)):
            assert answered.headers["access-control-allow-origin"] == "*"
    assert api.options("/r/game", headers=asked).status_code == 405


def test_large_answers_are_compressed(api: TestClient) -> None:
    """The tag of a compressed answer is another one; pictures and small answers remain as they are."""
    plain, zipped = (api.get("/tables", headers={"Accept-Encoding": name}) for name in ("", "gzip"))
    again = api.get("/tables", headers={"If-None-Match": zipped.headers["etag"]})
    assert (again.status_code, zipped.json()) == (304, plain.json())
    assert zipped.headers["content-encoding"] == "gzip"
    assert zipped.headers["etag"] == f'{plain.headers["etag"][:-1]}-gzip"'  # before anything is compressed
    assert {each.headers["vary"] for each in (plain, zipped, again)} == {"Accept-Encoding"}
    for path in ("/picture.png", "/line.gif", "/r/stats/KvK"):
        assert "content-encoding" not in api.get(path).headers


def test_answers_are_not_sent_twice(api: TestClient) -> None:
    for path, caching in ((f"/r?fen={KBK}", "public, max-age=3600"), ("/r/stats/KBvK", "no-cache")):
        first = api.get(path)
        assert first.headers["cache-control"] == caching
        tag = first.headers["etag"]
        for known in (tag, f'"other", W/{tag}', "*"):
            again = api.get(path, headers={"If-None-Match": known})
            assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
        assert api.get(path, headers={"If-None-Match": '"other"'}).status_code == 200
    assert "etag" not in api.get("/r/sample?material=KBvK").headers


def test_damaged_tables_are_told_to_the_operator_alone(
    own: Path, own_api: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    path = table_path(own, "KBvK", Variant.R_MOBILITY)
    path.write_bytes(path.read_bytes()[:1000])
    for asked in (f"/r?fen={KBK}", "/r/stats/KBvK", "/r/sample?material=KBvK"):
        response = own_api.get(asked)
        assert (response.status_code, response.json()["code"]) == (500, DamagedTableError.code)
        assert str(own) not in response.text
    assert str(path) in caplog.text
    assert [table["material"] for table in own_api.get("/tables").json()["tables"]].count("KBvK") == 0


def test_faults_do_not_leave_the_server(own_api: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr(Tablebase, "probe", fail)
    response = own_api.get(f"/r?fen={KBK}")
    assert (response.status_code, response.json()["code"]) == (500, "fault")
    assert "secret" not in response.text
    assert response.headers["x-content-type-options"] == "nosniff"


def test_a_client_that_takes_too_much(own: Path) -> None:
    with TestClient(make_app(Settings((own,), limit=1e-6, burst=1e-6))) as client:
        assert client.get("/r", params={"fen": KBK}).status_code == 200
        refused = client.get("/r", params={"fen": KBK})
        assert (refused.status_code, refused.json()["code"]) == (429, "too_much")
        assert int(refused.headers["retry-after"]) > 1
        assert client.get("/monitor").status_code == 200


def ask(limiter: Limiter, client: str, seconds: float) -> None:
    """Charge a request with a cost in seconds."""
    with limiter.charged(client) as bill:
        bill.seconds = seconds


def test_accounts_of_clients() -> None:
    now = 0.0
    limiter = Limiter(0.5, 10, lambda: now)
    ask(limiter, "one", 12)
    with pytest.raises(Refusal, match="continue in 4 s") as refusal:
        ask(limiter, "one", 0)
    assert refusal.value.headers == {"Retry-After": "4"}
    ask(limiter, "other", 0)
    now = 4.1
    ask(limiter, "one", 0)
    now = 1000
    ask(limiter, "one", 9.9)  # a pause gives no more than a full account
    ask(limiter, "one", 0.2)
    with pytest.raises(Refusal, match="continue in 1 s"):
        ask(limiter, "one", 0)


def test_requests_of_one_client_at_once() -> None:
    limiter = Limiter(0.5, 10, lambda: 0.0)
    with ExitStack() as under_way:
        for _ in range(32):
            under_way.enter_context(limiter.charged("one"))
        with pytest.raises(Refusal, match="32 of your requests are unanswered"):
            ask(limiter, "one", 0)
        ask(limiter, "other", 0)
    ask(limiter, "one", 0)


def test_stepping_through_lines_meets_no_limit() -> None:
    """Ten positions a second for a quarter of an hour, at 5 ms each, meet no limit."""
    now = 0.0
    limiter = Limiter(Settings().limit, Settings().burst, lambda: now)
    for _ in range(10_000):
        now += 0.1
        ask(limiter, "one", 0.005)


def test_many_clients_take_no_more_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tbgen.web.admission._MAX_CLIENTS", 3)
    limiter = Limiter(1, 1, lambda: 0.0)
    for client in "abcde":
        ask(limiter, client, 5)
    ask(limiter, "a", 0)
    with pytest.raises(Refusal):
        ask(limiter, "e", 0)


def test_turns_are_fair() -> None:
    """Three requests of a client may wait, and a limited number in all; who disconnects delays nobody."""

    def request(client: str, gone: asyncio.Event) -> Request:
        async def receive() -> dict[str, str]:
            await gone.wait()
            return {"type": "http.disconnect"}

        return Request({"type": "http", "client": (client, 1), "headers": []}, receive)

    async def main() -> None:
        queue, there, left, served = Queue(1, 4), asyncio.Event(), asyncio.Event(), []

        async def ask(client: str, gone: asyncio.Event = there) -> None:
            async with queue.turn(request(client, gone)):
                served.append(client)

        async with queue.turn(request("192.0.2.1", there)):
            waiting = [
                asyncio.create_task(ask(f"192.0.2.{n}", left if n == 2 else there)) for n in (2, 1, 1, 1)
            ]
            await asyncio.sleep(0)
            with pytest.raises(Refusal) as refusal:
                await ask("192.0.2.4")
            assert refusal.value.code == "busy"
            left.set()
            with pytest.raises(Refusal, match="broke off"):
                await waiting[0]
            with pytest.raises(Refusal) as refusal:
                await ask("192.0.2.1")
            assert refusal.value.code == "too_much"
            waiting.append(asyncio.create_task(ask("192.0.2.3")))
        await asyncio.gather(*waiting[1:])
        assert served == [*3 * ["192.0.2.1"], "192.0.2.3"]
        await ask("192.0.2.2", left)

    asyncio.run(main())


def test_work_that_waits_is_bounded() -> None:
    async def main() -> None:
        pool, end = WorkerPool("some", threads=1, max_waiting=1), Event()
        under_way = [asyncio.create_task(pool.run(end.wait, Bill())) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(Refusal) as refusal:
            await pool.run(int, Bill())
        assert (refusal.value.status_code, refusal.value.code) == (503, "busy")
        end.set()
        assert await asyncio.gather(*under_way) == [True, True]
        assert await pool.run(int, Bill()) == 0
        assert pool.pending == 0
        pool.close()

    asyncio.run(main())


def test_work_ends_when_its_client_leaves() -> None:
    async def receive() -> dict[str, str]:
        return {"type": "http.disconnect"}

    def work() -> None:
        for _ in range(10**6):
            stop_if_client_left()

    async def main() -> None:
        pool = WorkerPool("some", threads=1, max_waiting=1)
        with pytest.raises(Refusal, match="broke off"):
            await pool.run(work, Bill(), Request({"type": "http"}, receive))
        pool.close()

    asyncio.run(main())


def test_the_monitor(own: Path) -> None:
    with TestClient(make_app(Settings((own,)))) as client:
        for fen in (KBK, KBK, "x"):
            client.get("/r", params={"fen": fen})
        client.get("/r/stats/KBvK")
        client.get('/"nothing"')
        text = client.get("/monitor").text
    figures = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    counted = {
        name.partition(",")[2]: int(number)
        for name, number in figures.items()
        if name.startswith("tbgen_requests_total")
    }
    assert counted == {
        'endpoint="/r",status="200"}': 2,
        'endpoint="/r",status="400"}': 1,
        'endpoint="/r/stats/{material}",status="200"}': 1,
        'endpoint="other",status="404"}': 1,
    }
    buckets = [int(number) for name, number in figures.items() if "_bucket{" in name]
    assert buckets == sorted(buckets)
    assert buckets[-1] == 5


def test_nothing_of_bad_requests_is_an_error_in_the_log(
    api: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        api.get("/r?fen=%ff")
        api.get("/r/stats/..%2f..")
        api.post("/r/batch", content=b"\xff")
        api.get("/r", headers={"X-Forwarded-For": 'a"b, <c>', "Host": "evil.example"})
    assert [record for record in caplog.records if record.levelno > logging.INFO] == []
