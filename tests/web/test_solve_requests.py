"""Positions beyond the tables, solved with progress for the client."""

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import chess
import pytest
from starlette.testclient import TestClient

from tbgen.beyond.budget import SOLVE_COMMAND, Budget
from tbgen.board.variant import Variant
from tbgen.web.admission import Limiter
from tbgen.web.app import make_app
from tbgen.web.configuration import Settings
from tbgen.web.lookups import Question
from tbgen.web.replies import EventStream, Refusal
from tbgen.web.solve_requests import PositionSolver
from tests.support.commands import answer

LOCKED = "8/4k3/5p1p/7P/4K1P1/8/8/8 w - - 22 72"
QUESTION = Question(chess.Board(LOCKED), None, Variant.R_MOBILITY)
BUDGET = Budget(7.5, 3 << 30)

SCRIPT = """
import json, sys, time
mode, fen = sys.argv[1:3]
print(json.dumps({"lower": "-G0.0", "upper": "G0.0", "cells": 1}), flush=True)
if mode == "waits":
    time.sleep(3600)  # it is killed
if mode == "refuses":
    sys.exit("tbgen: no such position")
print(json.dumps({"arguments": sys.argv[2:], "moves": []}))
"""


def events(text: str) -> list[tuple[str, Any]]:
    """Return names and data of a stream of events other than ``silence``."""
    found = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines())
        if fields.get("event", "silence") != "silence":
            found.append((fields["event"], json.loads(fields["data"])))
    return found


Program = Callable[[str], PositionSolver]
"""A function that replaces tbgen solve by a program in a mode, and returns the object that runs it."""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    path = tmp_path / "solve.py"
    path.write_text(SCRIPT)
    monkeypatch.setattr("tbgen.web.solve_requests.is_compiled", lambda _: True)

    def solving(mode: str) -> PositionSolver:
        monkeypatch.setattr("tbgen.web.solve_requests.SOLVE_COMMAND", (sys.executable, str(path), mode))
        return PositionSolver(Settings((tmp_path,), solve_budget=BUDGET, limit=0))

    return solving


async def said(solving: PositionSolver) -> str:
    """Return the complete response to a client."""
    sent: list[bytes] = []

    async def receive() -> Any:
        await asyncio.sleep(3600)

    async def send(message: Any) -> None:
        sent.append(message.get("body", b""))

    scope = {"type": "http", "method": "GET", "asgi": {"spec_version": "2.3"}}
    await EventStream(solving.events(QUESTION, BUDGET, "client"))(scope, receive, send)
    return b"".join(sent).decode()


def test_intervals_and_then_the_solution(program: Program, tmp_path: Path) -> None:
    found = events(asyncio.run(said(program("answers"))))
    assert [name for name, _ in found] == ["interval", "solution"]
    assert found[0][1] == {"lower": "-G0.0", "upper": "G0.0", "cells": 1}
    words = found[1][1]["arguments"]
    assert words[0] == LOCKED
    for pair in (("--time", "7.5s"), ("--memory", "3072M"), ("--dir", str(tmp_path))):
        assert pair in list(pairwise(words))


def test_what_has_failed_is_said_without_details(program: Program) -> None:
    found = events(asyncio.run(said(program("refuses"))))
    assert found[-1][0] == "refusal"
    assert found[-1][1]["code"] == "failed"
    assert "no such position" not in found[-1][1]["message"]


def test_what_takes_too_long_is_refused(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock exceeds the limit as soon as the process has written something; pauses have events."""
    monkeypatch.setattr("tbgen.web.replies._SILENT_SECONDS", 0.02)
    now = iter([0.0, 0.0])
    monkeypatch.setattr("tbgen.web.solve_requests.monotonic", lambda: next(now, BUDGET.seconds + 299.5))
    text = asyncio.run(said(program("waits")))
    found = events(text)
    assert "event: silence\ndata: {}\n\n" in text
    assert [name for name, _ in found] == ["interval", "refusal"]
    assert found[-1][1]["message"] == "the position was not solved in time"


def test_one_at_a_time_and_an_end_when_nobody_waits(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[asyncio.subprocess.Process] = []
    start = asyncio.create_subprocess_exec

    async def starting(*words: str, **options: Any) -> asyncio.subprocess.Process:
        begun.append(await start(*words, **options))
        return begun[-1]

    async def run() -> None:
        one = program("waits")
        for _ in range(2):
            first, number = asyncio.create_task(said(one)), len(begun)
            while len(begun) == number:
                await asyncio.sleep(0.01)
            with pytest.raises(Refusal, match="another position"):
                await said(one)
            first.cancel()
            with pytest.raises(asyncio.CancelledError):
                await first

    monkeypatch.setattr(asyncio, "create_subprocess_exec", starting)
    asyncio.run(run())
    assert [process.returncode for process in begun] == [-signal.SIGKILL] * 2


def test_it_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    command = [*SOLVE_COMMAND, LOCKED, "--time", "60m"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path) as child:
        # This closes its standard input, as the end of this process would.
        assert child.communicate() == (None, b"")
    assert child.returncode == 1


def test_solving_is_charged_to_the_client(program: Program, tmp_path: Path) -> None:
    program("answers")
    settings = Settings((tmp_path,), solve_budget=Budget(20, 4 << 30), limit=1e-6, burst=1e-6)
    with TestClient(make_app(settings)) as client:
        assert client.get("/r/solve", params={"fen": LOCKED}).status_code == 200
        assert client.get("/r/solve", params={"fen": LOCKED}).json()["code"] == "too_much"
        look_up = client.get("/r", params={"fen": "8/8/8/4KBk1/8/8/8/8 b - - 0 1"})
        assert look_up.json()["code"] == "missing_table"  # the same as without solving


def test_compiling_is_said_and_does_not_count(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiling precedes the time of the process, and the client is not charged for it."""
    solving = program("answers")
    solving._limiter = Limiter(1e-6, 2)
    monkeypatch.setattr("tbgen.web.solve_requests.is_compiled", lambda _: False)
    monkeypatch.setattr(
        "tbgen.web.solve_requests.COMPILE_COMMAND", (sys.executable, "-c", "sum(range(10**6))")
    )
    found = events(asyncio.run(said(solving)))
    assert [name for name, _ in found] == ["compiling", "interval", "solution"]
    assert "about half a minute" in found[0][1]["message"]
    monkeypatch.setattr("tbgen.web.solve_requests.is_compiled", lambda _: True)
    assert events(asyncio.run(said(solving)))[-1][0] == "solution"


@pytest.fixture
def offering(tmp_path: Path) -> Iterator[TestClient]:
    with TestClient(make_app(Settings((tmp_path,), solve_budget=Budget(20, 4 << 30), limit=0))) as client:
        yield client


def test_what_is_not_solved(offering: TestClient) -> None:
    """Invalid input is refused, and HEAD solves nothing."""
    for query, sentence in (
        ("", "the parameter fen is missing"),
        ("?fen=nonsense", "is not a FEN"),
        (f"?fen={LOCKED}&accrued=x", "not a G-score"),
    ):
        told = offering.get(f"/r/solve{query}")
        assert (told.status_code, told.json()["code"]) == (400, "bad_input")
        assert sentence in told.json()["message"]
    told = offering.head("/r/solve", params={"fen": LOCKED})
    assert (told.status_code, told.content) == (200, b"")


def test_it_is_off_unless_the_operator_says_otherwise(tmp_path: Path, offering: TestClient) -> None:
    client = TestClient(make_app(Settings((tmp_path,), limit=0)))
    told = client.get("/r/solve", params={"fen": LOCKED})
    assert (told.status_code, told.json()["code"]) == (404, "not_offered")
    assert "data-solve" not in client.get("/").text
    assert "data-solve" in offering.get("/").text


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_position_of_six_men(tables: Path) -> None:
    """The solution is that of the command line, proved with the accrued score."""
    with TestClient(make_app(Settings((tables,), solve_budget=Budget(3600, 4 << 30), limit=0))) as client:
        told = client.get("/r/solve", params={"fen": LOCKED, "accrued": "G4.5"})
    assert told.headers["content-type"].startswith("text/event-stream")
    found = events(told.text)
    assert found[-1][0] == "solution"
    assert found[-1][1]["value"] == "G4.5"
    assert {name for name, _ in found[:-1]} <= {"interval"}


def test_a_position_with_castling_rights(
    program: Program, three_men: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A look-up is refused, but solving answers; it needs no budget, since the tables decide."""
    fen = "4k3/8/8/8/8/8/8/4K2R w K - 0 1"
    program("answers")
    with TestClient(make_app(Settings((three_men,), solve_budget=Budget(3600, 4 << 30), limit=0))) as client:
        assert client.get("/r", params={"fen": fen}).json()["code"] == "castling_rights"
        words = events(client.get("/r/solve", params={"fen": fen}).text)[-1][1]["arguments"]
        moves = client.get("/r/moves", params={"fen": fen}).json()["moves"]
    solution = json.loads(answer(capsys, "solve", *words).splitlines()[-1])
    assert solution["value"] == moves[0]["value"]  # each move gives up the right
    found = {move["san"]: move["lower"] for move in solution["moves"]}
    assert found == {move["san"]: move["value"] for move in moves}
