"""What engines send, good and bad, as both protocols read it: the one of moves, and the one of analyses."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from unittest.mock import create_autospec

import chess
import pytest
from chess.engine import EngineError, Limit

from tbgen.system.processes import Guard
from tbgen.uci.process import Engine, EngineFault, EngineSettings
from tbgen.uci.protocol import AnalysisProtocol, EngineProtocol

PIECE = 1 << 16
"""Number of bytes that a pipe gives at once."""
LATEST = b"""info string ready
info depth 1 multipv 1 score cp 5 pv e2e4
info depth 1 multipv 2 score cp 3 pv d2d4
info depth 2 currmove e2e4 currmovenumber 1
info depth 2 multipv 2 score cp 4 pv d2d4 d7d5
info depth 2 multipv 100 score cp 4 pv a2a3
info depth 2 multipv 1 score cp 6 pv e2e4 e7e5
info string the score of this pv is low
info pv d2d4\tscore cp 9  multipv 1 string pv a2a3
info pv e2e4 e7e6
info score cp 7
bestmove e2e4
"""
PASSED_ON = (4, 8, 9, 10, 11)


class Process(asyncio.SubprocessTransport, asyncio.ReadTransport, asyncio.WriteTransport):
    """An engine that is no process. After ``go`` it writes some bytes in pieces, before that a bad option, a
    late answer, and what UCI requires."""

    def __init__(self, protocol: EngineProtocol, written: bytes = b"", size: int = PIECE) -> None:
        self.protocol, self.written, self.size = protocol, written, size
        self.pauses: list[bool] = []
        self.returncode: int | None = None
        protocol.connection_made(self)

    def get_pid(self) -> int:
        return 7

    def get_returncode(self) -> int | None:
        return self.returncode

    def get_pipe_transport(self, fd: int) -> "Process":
        return self

    def write(self, data: Any) -> None:
        answers = {
            b"uci": b"option name Hash type spin default x\nuciok\n",
            b"isready": b"info score cp 1 pv h2h4\nbestmove h2h4\nreadyok\n",
            b"go": self.written,
        }
        for line in data.splitlines():
            self.protocol.loop.call_soon(self.give, answers.get(line.split()[0], b""))

    def give(self, data: bytes) -> None:
        for start in range(0, len(data), self.size):
            self.protocol.pipe_data_received(2, b"info score cp 1 pv h2h4\nbestmove h2h4\n")
            self.protocol.pipe_data_received(1, data[start : start + self.size])
        if data == b"\n":
            self.protocol.pipe_connection_lost(1, None)

    def pause_reading(self) -> None:
        self.pauses.append(True)

    def resume_reading(self) -> None:
        self.pauses.append(False)

    def close(self) -> None:
        """It ends."""

    def end(self, _pid: int) -> None:
        self.returncode = -9
        self.protocol.loop.call_soon(self.protocol.connection_lost, None)


async def moved(uci: EngineProtocol) -> str:
    """The move of an engine, or its fault, as matches and the web server ask for it."""
    engine = Engine(EngineSettings("A", ()), uci, 7, create_autospec(Guard), pytest.fail)
    try:
        return (await engine.move(chess.Board(), Limit(nodes=1), None, None)).move.uci()
    except EngineFault as fault:
        return f"{fault.fault}: {fault.detail}"


async def analysed(uci: EngineProtocol) -> str:
    """The best move of an analysis, as the engine asks its partner for it."""
    try:
        move = (await (await uci.analysis(chess.Board(), Limit(nodes=1))).wait()).move
        return uci.failure or str(move)
    except EngineError:
        return "ended"


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """A function that asks one of these engines, and returns the answer."""

    def ask(question: Callable[[EngineProtocol], Awaitable[str]], *written: Any) -> str:
        async def answer() -> str:
            process = Process((AnalysisProtocol if question is analysed else EngineProtocol)(), *written)
            monkeypatch.setattr("tbgen.uci.protocol.kill_tree", process.end)
            await process.protocol.initialize()
            return await asyncio.wait_for(question(process.protocol), 60)

        return asyncio.run(answer())

    return ask


def test_bad_output(ask: Callable[..., str]) -> None:
    for written, move, best in (
        (b"\tbestmove \t g1f3 \r\n", "g1f3", "g1f3"),
        (b"\xff\xfe\x00?\nbestmove\x00 e2e4\noption name\n\n  \ninfo score\nbestmove g1f3\n", "g1f3", "g1f3"),
        (bytes(PIECE * 9) + b"bestmove e2e4\nbestmove g1f3\n", "g1f3", "g1f3"),
        (b"uciok\nreadyok\nbestmove g1f3\nbestmove b1c3\n", "g1f3", "g1f3"),
        (b"info score cp pv e2e5 multipv -5\ninfo multipv x pv\nbestmove g1f3\n", "g1f3", "g1f3"),
        (b"bestmove e2e5\n", "illegal move: e2e5", "None"),
        (b"bestmove }{1-0, ponder\n", "illegal move: ??1-0?", "None"),
        (b"bestmove 0000\n", "illegal move: 0000", "0000"),
        (b"bestmove (none)\n", "illegal move: (none)", "None"),
        (b"bestmove\n", "illegal move: (none)", "None"),
        (b"\n", "abandoned: it has closed its output", "ended"),
    ):
        assert (ask(moved, written), ask(analysed, written)) == (move, best), written[-50:]


@pytest.mark.parametrize("protocol", [EngineProtocol, AnalysisProtocol])
def test_floods_are_read_in_pieces_with_pauses(
    protocol: type[EngineProtocol], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of an endless line nothing is kept. Here no time passes, so all output is one burst."""
    monkeypatch.setattr("tbgen.uci.protocol.time.perf_counter", lambda: 7.0)
    monkeypatch.setattr("tbgen.uci.protocol._PAUSE_SECONDS", 0)
    lengths: list[int] = []

    async def read() -> list[bool]:
        process = Process(protocol())
        monkeypatch.setattr(process.protocol, "on_info", lambda line: lengths.append(len(line)))
        process.protocol.pipe_data_received(1, b"info " + b"x" * PIECE + b"\n")
        for _ in range(4 * 17):
            process.protocol.pipe_data_received(1, bytes(PIECE))
            assert len(process.protocol._unfinished) <= PIECE
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        return process.pauses

    assert (asyncio.run(read()), lengths) == ([True, False] * 4, [PIECE])


def test_the_last_lines_of_an_analysis_are_passed_on(
    ask: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """For each place, those with a score, with moves and with both, before the move."""
    monkeypatch.setattr("tbgen.uci.protocol._REPORT_SECONDS", 1000)
    passed_on: list[str] = []
    monkeypatch.setattr(AnalysisProtocol, "line_received", lambda _, line: passed_on.append(line))
    lines = [" ".join(line.partition(" string")[0].split()) for line in LATEST.decode().splitlines()]
    for size in (1, 7, PIECE):
        passed_on.clear()
        assert ask(analysed, LATEST, size) == "e2e4"
        assert passed_on == ["uciok", "readyok", *(lines[number] for number in PASSED_ON)], size


def test_lines_of_an_analysis_are_passed_on_regularly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spectators see the current line even while further lines arrive."""
    monkeypatch.setattr("tbgen.uci.protocol._REPORT_SECONDS", 0)
    passed_on: list[str] = []

    async def read() -> None:
        process = Process(AnalysisProtocol())
        monkeypatch.setattr(process.protocol, "line_received", passed_on.append)
        process.protocol.send_line("go infinite")
        for depth in range(6):
            process.give(f"info depth {depth} score cp 5 pv e2e4\n".encode())
            for _ in range(2 * (depth % 2)):  # the first wait starts the timer, the second one runs it
                await asyncio.sleep(0)
        process.give(b"bestmove e2e4\n")

    asyncio.run(read())
    lines = [f"info depth {depth} score cp 5 pv e2e4" for depth in (1, 3, 5)]
    assert passed_on == [*lines, "bestmove e2e4"]
