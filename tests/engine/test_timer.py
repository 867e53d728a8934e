"""Thinking time: the command ``go``, and the timer of a move."""

import math
import time
from itertools import product

import pytest

from tbgen.engine.timer import Go
from tests.support.engines import timer


def test_seconds() -> None:
    for words, white, should, may in (
        ("movetime 5000", True, 4.9, 4.9),
        ("movetime 300", True, 0.294, 0.294),
        ("movetime 3", True, 0.005, 0.005),
        ("wtime 60000 btime 1000", True, 59.5 / 30, 3 * 59.5 / 30),
        ("wtime 60000 btime 1400", False, 0.03, 0.09),
        ("wtime 60000 winc 2100", True, 59.5 / 30 + 1.6, 3 * (59.5 / 30 + 1.6)),
        ("wtime 1100 winc 200", True, 0.02 + 0.08, 0.3),
        ("wtime 1100 winc 100", True, 0.02 + 0.04, 0.18),
        ("wtime 530 winc 200", True, 0.001 + 0.03, 0.093),
        ("wtime 500 winc 200", True, 0.005, 0.015),
        ("wtime 10000 winc 60000", True, 0.4 * 9.9, 0.4 * 9.9),
        ("wtime 10100 movestogo 1", True, 9.0, 9.0),
        ("wtime 10100 movestogo 2", True, 4.0, 4.0),
        ("wtime -50", True, 0.005, 0.005),
        ("depth 5", True, None, None),
        ("btime 1000", True, None, None),
        ("infinite wtime 1000", True, None, None),
    ):
        found = Go.parse(words.split()).time_limits(white, 0.1)
        assert found == (pytest.approx(should), pytest.approx(may)), words


def test_no_move_uses_the_whole_clock() -> None:
    for left, more in product(
        (-100, 1, 10, 49, 51, 100, 1000, 60_000), ("", "winc 1000", "movestogo 1", "movestogo 40 winc 10")
    ):
        should, may = Go.parse(f"wtime {left} btime 9 {more}".split()).time_limits(True, 0.05)
        assert should is not None
        assert may is not None
        assert 0 < should <= may < max(left / 1000 - 0.05, 0.006), (left, more)


def test_words() -> None:
    go = Go.parse(["fish", "searchmoves", "e2e4", "d2d4", "ponder", "depth", "x", "nodes", "7", "movetime"])
    assert (go.moves, go.ponder, go.infinite, go.numbers) == (("e2e4", "d2d4"), True, False, {"nodes": 7})
    assert [" ".join(problem.split()[1:4]) for problem in go.problems] == [
        "depth needs a",
        "movetime needs a",
    ]
    assert Go.parse(["mate", "3"]).depth == 6
    assert Go.parse(["mate", "3", "depth", "2"]).depth == 2
    small = Go.parse(["depth", "-4", "mate", "0", "movetime", "-5", "nodes", "0", "wtime", "-7"])
    assert (small.depth, small.problems[0], len(small.problems)) == (
        1,
        "go depth -4 is too small: 1 is used",
        4,
    )
    assert Go.parse(["depth", "9" * 5000]).depth is None


def test_the_clock_stops_by_nodes_by_time_and_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = timer("nodes 100")
    assert (nodes.is_over(99), nodes.is_over(100)) == (False, True)
    asked, late = timer("infinite"), timer("wtime -5")
    began = time.perf_counter()
    monkeypatch.setattr(time, "perf_counter", lambda: began + 0.01)
    assert (late.is_over(), late.must_stop_deepening(), asked.is_over(10**9)) == (True, True, False)
    asked.stop()
    assert (asked.is_over(), asked.must_stop_deepening()) == (True, True)
    asked.wait()


def test_iterations_start_until_a_fixed_time_is_used_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """No later move can use the rest of a fixed time; on a clock, an unfinished iteration is wasted."""
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    for words, enough in (("movetime 60000", False), ("wtime 60000 movestogo 1", True)):
        now[0] = 0
        limits = timer(words, 0.1)
        now[0] = 0.9 * 54
        assert (limits.must_stop_deepening(), limits.is_over(), limits.remaining > 0) == (enough, False, True)
        now[0] = 60
        assert (limits.must_stop_deepening(), limits.is_over(), limits.remaining > 0) == (True, True, False)


def test_pondering_lasts_until_the_hit() -> None:
    pondering = timer("ponder wtime 1 btime 1 nodes 5")
    assert (pondering.is_over(10), pondering.is_limited, pondering.remaining) == (False, False, math.inf)
    pondering.ponder_hit()
    assert (pondering.is_over(10), pondering.is_limited) == (True, True)
    pondering.wait()


def test_the_clocks_for_a_partner(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five overheads stay on the clock, and each increment loses one, or half of itself if that is less."""
    monkeypatch.setattr(time, "perf_counter", lambda: 7.0)
    told = timer("wtime 3600000 btime 300 winc 250 binc 50", 0.1).clocks()
    clocks = {"white_clock": 3599.5, "black_clock": 0.005}
    assert told == pytest.approx(clocks | {"white_inc": 0.15, "black_inc": 0.025})
