"""The server as a process of its own: it starts, answers, and ends."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from urllib.request import urlopen

import pytest

from tbgen.web.server import address_of, open_listener
from tests.support.commands import failure
from tests.support.exhaustive import exhaustive
from tests.support.paths import ROOT
from tests.support.processes import end
from tests.support.serving import served, serving

KBK = "8/8/8/4KBk1/8/8/8/8_b_-_-_0_1"


def exchange(host: str, port: int, data: bytes) -> bytes:
    """Send bytes, and return the answer up to the end of the connection."""
    with socket.create_connection((host, port)) as connection:
        received = b""
        with suppress(ConnectionError):  # the server has closed early; the answer may have arrived
            connection.sendall(data)
        try:
            while part := connection.recv(65536):
                received += part
        except ConnectionError:
            pass
    return received


@pytest.mark.parametrize(
    ("workers", "number"),
    [("1", signal.SIGHUP), *exhaustive([("1", signal.SIGINT), ("1", signal.SIGTERM), ("2", signal.SIGHUP)])],
)
def test_it_starts_and_answers_and_ends(
    workers: str, number: signal.Signals, three_men: Path, tmp_path: Path
) -> None:
    """The server opens a browser; a request whose body arrives after the signal to end is still answered.

    No other protocol or event loop is loaded, although they are installed.
    """
    for name in ("uvloop", "httptools"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(__name__)")
    script, opened = tmp_path / "browser", tmp_path / "opened"
    script.write_text(f'#!/bin/sh\necho "$1" > {opened}.part && mv {opened}.part {opened}\n')
    script.chmod(0o700)
    environment = {**os.environ, "BROWSER": f"{script} %s", "PYTHONPATH": f"{tmp_path}:{ROOT}"}
    body = b'{"fens": ["8/8/8/4KBk1/8/8/8/8 b - - 0 1"]}'
    head = f"POST /r/batch HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    patient = (
        "import tbgen.web.server as server\nserver._SHUTDOWN_SECONDS = server._SILENT_WORKER_SECONDS = 3600"
    )
    words = ("--workers", workers, "--open")
    with serving(three_men, *words, before=patient, env=environment) as (running, host, port):
        while not opened.exists():
            time.sleep(0.05)
        assert opened.read_text() == f"http://{host}:{port}/\n"
        with socket.create_connection((host, port)) as connection:
            connection.sendall((head + body)[: None if workers == "2" else -10])
            with urlopen(f"http://{host}:{port}/r?fen={KBK}") as response:  # the head has arrived
                assert json.load(response)["value"] == "G1.5"
                assert "server" not in response.headers
            if workers == "1":
                running.send_signal(number)
                with suppress(ConnectionError):
                    for _ in range(6000):  # until it no longer listens
                        socket.create_connection((host, port)).close()
                        time.sleep(0.05)
                running.send_signal(signal.SIGINT)  # a second signal changes nothing
                connection.sendall(body[-10:])
            answer = b""
            while b'"value":"G1.5"' not in answer:
                part = connection.recv(65536)
                assert part, answer
                answer += part
        if workers == "2":
            running.send_signal(number)
        assert end(running) == (0, "")


def test_an_interrupt_that_is_ignored_ends_no_server(three_men: Path) -> None:
    """Shells start background jobs of scripts in this way."""
    ignoring = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)"
    with serving(three_men, before=ignoring) as (running, _, port):
        for _ in range(10):
            assert answers(port)
            running.send_signal(signal.SIGINT)
            time.sleep(0.05)
        running.send_signal(signal.SIGTERM)
        assert end(running) == (0, "")


def answers(port: int) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{port}/r?fen={KBK}") as response:
            return bool(json.load(response)["value"] == "G1.5")
    except OSError:
        return False


def test_a_daemon_and_its_workers(three_men: Path) -> None:
    """A server needs no standard streams, and its workers end with it, even if it is killed."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = ["serve", "--dir", str(three_men), "--port", str(port), "--workers", "2"]
    shell = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", sys.executable, "-m", "tbgen", *words]
    with subprocess.Popen(shell) as running:
        while not answers(port):
            assert running.poll() is None
            time.sleep(0.05)
        running.kill()
    assert not all(answers(port) for _ in range(10**5))


def test_attacks_and_slow_clients(reference_dir: Path) -> None:
    """Bad clients get errors, delay nobody, and leave no line in the log."""
    post = b"POST /r/batch HTTP/1.1\r\nHost: x\r\n"
    attacks = [
        b"GET /r?fen=" + b"8/" * 500_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /r?fen=\xff\xfe HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        b"GET /r/stats/../../../etc/passwd HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        b"GET /tables HTTP/1.1\r\nHost: x\r\nHost: y\r\nConnection: close\r\n\r\n",
        post + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
        post + b"Content-Length: -1\r\nConnection: close\r\n\r\n",
        post + b"Connection: close\r\nContent-Length: " + b"9" * 30 + b"\r\n\r\n",
        post + b"Connection: close\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\nxyz",
        post + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        post + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
        b"GET /tables HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 200_000 + b"\r\n\r\n",
        post + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /tables HTTP/1.1\r\n",
        b"\x16\x03\x01\x02\x00nonsense\r\n\r\n",
        f"GET /r?fen={KBK} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nno size\r\n".encode(),
    ]
    hurry = "import tbgen.web.configuration\ntbgen.web.configuration.BODY_SECONDS = 1.0"
    with serving(reference_dir, before=hurry) as (running, host, port):
        slow = [socket.create_connection((host, port)) for _ in range(200)]
        for connection in slow:
            connection.sendall(b"GET /r?fen=")
        with ThreadPoolExecutor(4) as pool:
            for received in pool.map(partial(exchange, host, port), attacks):
                assert re.match(rb"HTTP/1.1 4\d\d ", received), received[:200]
                assert b"Traceback" not in received
                assert received.count(b"HTTP/1.1 ") == 1
        broken_off = socket.create_connection((host, port))
        broken_off.sendall(b"POST /r/game HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\n1. e4")
        broken_off.close()
        with urlopen(f"http://{host}:{port}/r?fen={KBK}") as response:
            assert response.status == 200
        absolute = (
            f"GET http://u@{host}:{port}/?fen={KBK} HTTP/1.1\r\nHost: other\r\nConnection: close\r\n\r\n"
        )
        received = exchange(host, port, absolute.encode())
        assert received.startswith(b"HTTP/1.1 200 ")
        assert f'content="http://{host}:{port}/picture.png?fen='.encode() in received
        for connection in slow:
            connection.close()
        running.send_signal(signal.SIGINT)
        code, said = end(running)
        assert code == 0
        assert said == ""


def test_heads_that_do_not_arrive(three_men: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection whose first or later head remains incomplete is closed; other connections continue."""
    monkeypatch.setattr("tbgen.web.connections._HEAD_SECONDS", 5.0)
    whole = f"GET /r?fen={KBK} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
    parts = (b"", whole[:20], whole + whole[:20])
    with served(three_men) as address, ThreadPoolExecutor(len(parts)) as pool:
        host, port = address.removeprefix("http://").split(":")
        for data, received in zip(parts, pool.map(partial(exchange, host, int(port)), parts), strict=True):
            assert received.count(b"HTTP/1.1 200") == data.count(whole)


def test_idle_connections_shut_nobody_out(reference_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of more idle connections than the process may have files, all of one client, the first are closed."""
    monkeypatch.setattr("resource.getrlimit", lambda _: (256, 256))
    monkeypatch.setattr("resource.setrlimit", lambda *_: None)
    with served(reference_dir) as address, ExitStack() as idle:
        host, port = address.removeprefix("http://").split(":")
        for _ in range(300):
            connection = idle.enter_context(socket.create_connection((host, int(port))))
            connection.sendall(b"GET /r?fen=")
        with urlopen(f"{address}/r?fen={KBK}") as response:
            assert response.status == 200


def test_a_port_that_is_taken(three_men: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        words = "--dir", str(three_men), "--port", str(taken.getsockname()[1])
        assert "Address already in use" in failure(capsys, 1, "serve", *words)


def test_answers_do_not_wait_for_acknowledgements() -> None:
    """asyncio switches Nagle's algorithm off for sockets that name their protocol, and no others."""
    with open_listener("127.0.0.1", 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP
        assert address_of(listener) == f"http://127.0.0.1:{listener.getsockname()[1]}"
    with open_listener("::1", 0) as listener:
        assert address_of(listener) == f"http://[::1]:{listener.getsockname()[1]}"


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such option")
def test_who_takes_nothing_does_not_keep_his_connection() -> None:
    with (
        open_listener("127.0.0.1", 0) as listener,
        socket.create_connection(listener.getsockname()),
        listener.accept()[0] as accepted,
    ):
        assert 0 < accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) < 60_000
