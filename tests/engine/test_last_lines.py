"""Lines of a UCI engine that are skipped because later lines replace them."""

import asyncio
import math
from collections.abc import Iterable, Iterator

import pytest
from chess.engine import UciProtocol

from tbgen.engine.partner import LastLinesProtocol

SAID = b"""info string ready
info depth 1 multipv 1 score cp 5 pv e2e4
info depth 1 multipv 2 score cp 3 pv d2d4
info depth 2 currmove e2e4 currmovenumber 1
info depth 2 multipv 2 score cp 4 pv d2d4 d7d5
info depth 2 multipv 1 score cp 6 pv e2e4 e7e5
bestmove e2e4 ponder e7e5
info depth 1 score cp 1 pv b2b3
info string the score of this pv is low
info depth 1 multipv 1 score cp 2 pv a2a3
info pv a2a3 a7a6
info score cp 3 pv a2a3
info pv a2a4\tscore cp 4  multipv 2
bestmove a2a3
"""
PASSED_ON = [0, 5, 4, 6, 8, 10, 11, 12, 13]


class Process(asyncio.SubprocessTransport):
    """The transport of a fake process."""

    def get_pid(self) -> int:
        """Return a number."""
        return 1


def heard(said: Iterable[bytes], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the lines that are passed on from the standard output."""
    passed_on: list[str] = []
    monkeypatch.setattr(UciProtocol, "line_received", lambda _, line: passed_on.append(line))

    async def hear() -> None:
        protocol = LastLinesProtocol()
        protocol.connection_made(Process())
        for part in said:
            protocol.pipe_data_received(1, part)
            protocol.pipe_data_received(2, part.replace(b"info", b"error"))

    asyncio.run(hear())
    return passed_on


def test_the_last_line_of_each_place_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tbgen.engine.partner._MAX_HELD_SECONDS", math.inf)
    lines = [" ".join(line.split()) for line in SAID.decode().splitlines()]
    for size in (1, 7, 1000):
        parts = [SAID[first : first + size] for first in range(0, len(SAID), size)]
        assert heard(parts, monkeypatch) == [lines[number] for number in PASSED_ON]


def test_they_are_passed_on_every_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spectators see the current line even while further lines arrive."""
    lines = [f"info depth {depth} score cp 5 pv e2e4" for depth in range(8)]
    now = [7.0]
    monkeypatch.setattr("tbgen.engine.partner.time.perf_counter", lambda: now[0])

    def said() -> Iterator[bytes]:
        for number, line in enumerate(lines):
            now[0] = 7 + 0.4 * number
            yield line.encode() + b"\n"

    assert heard(said(), monkeypatch) == [lines[3], lines[7]]
