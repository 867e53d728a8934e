"""Positions beyond the tables: solved by ``tbgen solve`` in a process of its own; the client is told how
far it is, as server-sent events.

A process, because solving takes compiled code, much memory and all threads: it has a lower priority than
answers, gives its memory back, and is ended as soon as nobody waits for it. There is one at a time.
"""

import asyncio
import json
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from time import monotonic
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from tbgen.beyond.budget import COMMAND, COMPILE, KERNELS, Budget
from tbgen.board.variant import Variant
from tbgen.compiler.cache import is_compiled
from tbgen.errors import UsageError
from tbgen.probe.states import read_chess
from tbgen.system.processes import lower_priority
from tbgen.web.endpoints import STATE
from tbgen.web.exchange import EventStream, Refusal, event, parameters_of
from tbgen.web.limits import Bill, Limiter, client_of
from tbgen.web.lookups import Question, question_of
from tbgen.web.settings import Settings

_MORE_SECONDS: Final = 300.0
"""What a process may take beyond its budget: it may have to look through large tables."""
_COMPILING: Final = (
    "compiling the kernels that solve cells, once for this version of tbgen: about two minutes, which do not "
    "count as time for the position"
)
_MOST_LINE: Final = 1 << 22
"""Bytes of the longest line that a process may write."""


class Solving:
    """Solves positions, one at a time.

    :param settings: those of the server; the time for which a client has a position solved is an account of
        its own.
    """

    def __init__(self, settings: Settings) -> None:
        self._budget = settings.solve
        self._limiter = Limiter(settings.limit, settings.burst)
        self._tables = ["--dir", str(settings.directories[0])] if settings.directories else []
        self._turn = asyncio.Lock()

    async def answer(self, request: Request) -> Response:
        """Answer a request for a solution by events.

        :raises Refusal: if positions are not to be solved.
        :raises UsageError: if the request means nothing, or the position has described men.
        """
        if self._budget is None:
            raise Refusal(404, "not_offered", "this server solves no positions: tbgen solve does")
        given: dict[str, Any] = parameters_of(request, STATE)
        asked = question_of(**given, variant=Variant.R_MOBILITY)
        read_chess(*asked.state, Variant.R_MOBILITY)
        return EventStream(self.events(asked, self._budget, client_of(request)))

    @asynccontextmanager
    async def events(self, asked: Question, budget: Budget, client: str) -> AsyncIterator[AsyncIterator[str]]:
        """Solve a position within the block, which gets the events that tell of it.

        :raises Refusal: if another position is being solved, or the client has asked too much.
        """
        with self._limiter.charged(client) as bill:
            if self._turn.locked():
                sentence = "the server is solving another position: try again later"
                raise Refusal(503, "busy", sentence, {"Retry-After": "30"})
            async with self._turn, AsyncExitStack() as stack:
                yield self._told(asked, budget, bill, stack)

    async def _told(
        self, asked: Question, budget: Budget, bill: Bill, stack: AsyncExitStack
    ) -> AsyncIterator[str]:
        """Yield the events; what compiles and what solves is ended with the stack."""
        if not is_compiled(KERNELS):
            yield event("compiling", {"message": _COMPILING})
            compiling = await stack.enter_async_context(_running(COMPILE, DEVNULL))
            await compiling.wait()
        stack.enter_context(bill.timed())  # what is compiled once for all is charged to nobody
        words = [*COMMAND, *_arguments(asked, budget), *self._tables]
        process = await stack.enter_async_context(_running(words, PIPE))
        async for text in _events(process, monotonic() + budget.seconds + _MORE_SECONDS):
            yield text


@asynccontextmanager
async def _running(words: Sequence[str], output: int) -> AsyncIterator[Process]:
    """Run a command of low priority, and end it with the block."""
    process = await asyncio.create_subprocess_exec(
        *words, stdin=DEVNULL, stdout=output, stderr=output, limit=_MOST_LINE
    )
    try:
        lower_priority(process.pid)
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await asyncio.shield(process.wait())


def _arguments(asked: Question, budget: Budget) -> list[str]:
    """Return the arguments of ``tbgen solve``."""
    words = [asked.board.fen(), "--json", "--stream"]
    words += ["--time", f"{budget.seconds:.1f}s", "--memory", f"{budget.memory >> 20}M"]
    return words if asked.accrued is None else [*words, "--accrued", str(asked.accrued)]


async def _events(process: Process, end: float) -> AsyncIterator[str]:
    """Yield an event for every line of a process, and what is wrong if it fails."""
    assert process.stdout is not None
    assert process.stderr is not None
    errors = asyncio.ensure_future(process.stderr.read())
    try:
        while line := await asyncio.wait_for(process.stdout.readline(), end - monotonic()):
            told = json.loads(line)
            yield event("solution" if "moves" in told else "interval", told)
        if code := await process.wait():
            yield event("refusal", _refusal(code, (await errors).decode(errors="replace")))
    except TimeoutError:
        yield event("refusal", {"code": "failed", "message": "the position is not solved in time"})
    finally:
        errors.cancel()


def _refusal(code: int, errors: str) -> dict[str, str]:
    """Return the answer to a client about a process that has failed: only what concerns its own input."""
    if code == UsageError.exit_code:
        *_, sentence = errors.strip().splitlines() or [""]
        return {"code": UsageError.code, "message": sentence.removeprefix("tbgen: ")}
    return {"code": "failed", "message": "the position is not solved: the attempt has failed"}
