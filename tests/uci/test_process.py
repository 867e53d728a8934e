"""How long an engine may take to get ready, and how it is ended."""

import asyncio
from contextlib import nullcontext
from unittest.mock import create_autospec

import pytest

from tbgen.system.processes import Guard
from tbgen.uci.process import Engine, EngineFault, EngineSettings
from tbgen.uci.protocol import EngineProtocol


@pytest.mark.parametrize(
    ("pauses", "fault"),
    [([20.0] * 9, ""), ([20.0, 40.0], "30.0 s.*start"), ([20.0] * 99, "5 min 00 s.*stall")],
    ids=["at work", "silent", "endless"],
)
def test_an_engine_that_says_what_it_does_has_longer_to_get_ready(
    pauses: list[float], fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its messages are passed on once it is slow. The clock advances by the pauses only."""
    clock, told = [0.0], list[str]()

    async def get_ready(uci: EngineProtocol) -> None:
        for pause in pauses:
            uci.pipe_data_received(1, b"info string compiling\x07\ninfo depth 1\n")
            clock[0] += pause
            await asyncio.sleep(0)
        if fault:
            await asyncio.Event().wait()

    async def wait() -> None:
        monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: clock[0])
        uci = EngineProtocol()
        engine = Engine(EngineSettings("A", ("none",)), uci, 0, create_autospec(Guard), told.append)
        await engine._wait_for(get_ready(uci))

    with pytest.raises(EngineFault, match=f"within {fault}=SECONDS$") if fault else nullcontext():
        asyncio.run(wait())
    assert told[0] == "A is not ready yet: compiling\N{REPLACEMENT CHARACTER}"
    assert len(told) == min(len(pauses), 16) - 1


def test_the_exit_code_of_a_running_engine_is_left_to_asyncio(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise asyncio prints a warning. So the transport is closed only when the engine has ended."""
    killed, transport = list[int](), create_autospec(asyncio.SubprocessTransport)
    monkeypatch.setattr("tbgen.uci.protocol.kill_tree", killed.append)
    transport.get_pid.return_value, transport.get_returncode.return_value = 7, None

    async def end_engine() -> None:
        uci = EngineProtocol()
        uci.connection_made(transport)
        uci.pipe_connection_lost(1, None)
        assert (killed, transport.close.called) == ([7], False)
        transport.get_returncode.return_value = -9
        uci.process_exited()
        await asyncio.sleep(0)
        assert uci.failure == "it has closed its output"

    asyncio.run(end_engine())
    assert (killed, transport.close.call_count) == ([7], 1)
