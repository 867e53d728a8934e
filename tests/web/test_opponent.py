"""Moves where no table holds the position: by scripted engines, and by tbgen's own."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest
from starlette.testclient import TestClient

from tbgen.uci.process import Engine
from tbgen.web.admission import Bill
from tbgen.web.app import make_app
from tbgen.web.configuration import Settings
from tests.match import engines
from tests.support.matches import children, gone
from tests.web.test_openapi import check, described

KBK = "8/8/8/4KBk1/8/8/8/8 b - - 0 1"


@contextmanager
def client(
    place: Path, mode: str = "plain", *, seconds: float | None = 300.0, limit: float = 0
) -> Iterator[TestClient]:
    """Yield a server with an engine that fails in a mode; its knights move back and forth."""
    command = (sys.executable, "-S", "-E", engines.__file__, mode, engines.SHUFFLE)
    fixed: dict[str, Any] = {"engine_command": command, "burst": 0.1, "precompiles": False}
    with TestClient(make_app(Settings((place,), **fixed, move_seconds=seconds, limit=limit))) as found:
        yield found


def test_the_engine_moves_in_the_game(tmp_path: Path) -> None:
    with client(tmp_path) as server:
        for pgn, move in (
            ("*", ("g1f3", "Nf3")),
            ("1. Nf3 *", ("g8f6", "Nf6")),
            ("1. e4 e5 *", ("f3g1", "")),
        ):
            told = server.post("/r/reply", content=f'[White "?"]\n\n{pgn}')
            check(described("/r/reply", "post", told.status_code), told.json())
            if move[1]:
                assert told.json() == {"uci": move[0], "san": move[1]}
            else:  # an illegal move
                assert (told.status_code, told.json()["code"]) == (500, "failed")


def test_an_engine_that_fails_does_not_stop_the_server(tmp_path: Path) -> None:
    for mode in ("crash", "dead", "illegal", "none"):
        with client(tmp_path, mode) as server:
            for _ in range(2):
                told = server.post("/r/reply", content="*")
                assert (told.status_code, told.json()["code"]) == (500, "failed"), mode


def test_one_engine_that_rests_and_ends_with_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine is restarted after it has been killed, or ended while idle."""
    before = children()
    begun: list[int] = []
    launch = Engine.launch

    async def launching(*words: Any) -> Engine:
        engine = await launch(*words)
        begun.append(engine._pid)
        return engine

    monkeypatch.setattr(Engine, "launch", launching)

    with client(tmp_path) as server:

        def moves() -> bool:
            return server.post("/r/reply", content="*").status_code == 200

        assert moves()
        assert moves()
        assert len(begun) == 1
        os.kill(begun[0], signal.SIGKILL)
        assert gone(begun[0])
        monkeypatch.setattr("tbgen.web.opponent._IDLE_SECONDS", 0.1)
        assert moves() or moves()  # the server may notice it only with the first request
        assert len(begun) == 2
        assert gone(begun[1])
        monkeypatch.setattr("tbgen.web.opponent._IDLE_SECONDS", 300.0)
        assert moves()
    assert len(begun) == 3
    assert gone(begun[2])
    assert children() <= before


def test_time_for_moves_is_charged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Time for moves is charged to a separate account; here each move takes 1000 seconds, the rest none."""

    @contextmanager
    def timed(bill: Bill, clock: object = perf_counter) -> Iterator[None]:
        yield
        bill.seconds += 1000 * (clock is perf_counter)

    monkeypatch.setattr(Bill, "timed", timed)
    with client(tmp_path, limit=0.01) as server:
        assert server.post("/r/reply", content="*").status_code == 200
        assert server.post("/r/reply", content="*").json()["code"] == "too_much"
        assert server.get("/r/moves", params={"fen": KBK}).status_code == 200


def test_what_is_no_game_to_play_on(tmp_path: Path) -> None:
    with client(tmp_path) as server:
        for body, sentence in (
            ("", "no game"),
            ("1. e4 e4 *", "e4"),
            ("1. f3 e5 2. g4 Qh4# 0-1", "the game is over"),
        ):
            told = server.post("/r/reply", content=body)
            assert (told.status_code, told.json()["code"]) == (400, "bad_input")
            assert sentence in told.json()["message"]


def test_a_server_may_have_no_engine(tmp_path: Path) -> None:
    with client(tmp_path, seconds=None) as server:
        told = server.post("/r/reply", content="*")
        assert (told.status_code, told.json()["code"]) == (404, "not_offered")
        assert "data-engine" not in server.get("/play").text
    with client(tmp_path) as server:
        assert 'data-engine=""' in server.get("/play").text


@pytest.mark.slow
def test_tbgen_plays_if_no_engine_is_named(tables: Path) -> None:
    """tbgen's engine gets the tables of the server and the accrued score of the first position."""
    fen = "8/8/5k1K/5P2/8/8/8/8 w - - 1 60"
    with TestClient(make_app(Settings((tables,), move_seconds=300.0))) as server:
        (best, second, *_) = server.get("/r", params={"fen": fen, "accrued": "-G2.5"}).json()["moves"]
        assert best["value"] != second["value"]
        told = server.post("/r/reply", content=f'[SetUp "1"]\n[FEN "{fen} -G2.5"]\n\n*').json()
        assert told == {"uci": best["uci"], "san": best["san"]}
