"""Positions beyond the tables, solved by ``tbgen solve`` in a separate process.

The client gets the progress as server-sent events. Solving needs compiled code, much memory and all threads.
A separate process can have a lower priority than the server, frees its memory when it ends, and can be ended
as soon as no client waits for it. Only one such process runs at a time.
"""

import asyncio
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from time import monotonic
from typing import Any, Final

import msgspec
from msgspec import Raw
from starlette.requests import Request
from starlette.responses import Response

from tbgen.beyond.budget import COMPILE_COMMAND, KERNEL_MODULE, SOLVE_COMMAND, Budget, solve_arguments
from tbgen.board.variant import Variant
from tbgen.compiler.cache import is_compiled
from tbgen.documents import UNSET, Document, UnsetType
from tbgen.errors import UsageError
from tbgen.probe.probe_document import RefusalDocument
from tbgen.probe.states import read_chess_position
from tbgen.system.processes import lower_priority
from tbgen.web.admission import Bill, Limiter, client_of
from tbgen.web.configuration import Settings
from tbgen.web.endpoints import STATE_PARAMETERS
from tbgen.web.lookups import Question, question_of
from tbgen.web.replies import EventStream, Refusal, event_text, parameters_of

_MARGIN_SECONDS: Final = 300.0
"""Additional time allowed for a process, which may have to read large tables."""
_COMPILING_TEXT: Final = (
    "compiling the kernels that solve cells, once for this version of tbgen: about half a minute, which does "
    "not count as time for the position"
)
_MAX_LINE_BYTES: Final = 1 << 22
"""Maximum length of a line of a process's output."""


class CompilingDocument(Document):
    """The answer is delayed because kernels are being compiled."""

    message: str


class _OutputLine(Document, forbid_unknown_fields=False):
    """A line of a process's output: only a solution has moves."""

    moves: Raw | UnsetType = UNSET


class PositionSolver:
    """Solves positions, one at a time.

    :param settings: settings of the server. A client's time for solving is charged to a separate account.
    """

    def __init__(self, settings: Settings) -> None:
        self._budget = settings.solve_budget
        self._limiter = Limiter(settings.limit, settings.burst)
        self._directory = settings.directories[0] if settings.directories else None
        self._turn = asyncio.Lock()

    async def answer(self, request: Request) -> Response:
        """Answer a request for a solution with events.

        :raises Refusal: if the server does not offer solving.
        :raises UsageError: if the request is invalid, or the position has described men.
        """
        if self._budget is None:
            raise Refusal(404, "not_offered", "this server solves no positions: tbgen solve does")
        arguments: dict[str, Any] = parameters_of(request, STATE_PARAMETERS)
        query = question_of(**arguments, variant=Variant.R_MOBILITY)
        read_chess_position(*query.state, Variant.R_MOBILITY)
        return EventStream(self.events(query, self._budget, client_of(request)))

    @asynccontextmanager
    async def events(self, query: Question, budget: Budget, client: str) -> AsyncIterator[AsyncIterator[str]]:
        """Solve a position while the block iterates over the events.

        :raises Refusal: if another position is being solved, or the client's account is empty.
        """
        with self._limiter.charged(client) as bill:
            if self._turn.locked():
                sentence = "the server is solving another position: try again later"
                raise Refusal(503, "busy", sentence, {"Retry-After": "30"})
            async with self._turn, AsyncExitStack() as stack:
                yield self._solution_events(query, budget, bill, stack)

    async def _solution_events(
        self, query: Question, budget: Budget, bill: Bill, stack: AsyncExitStack
    ) -> AsyncIterator[str]:
        """Yield the events. The processes that compile and solve end when ``stack`` is closed."""
        if not is_compiled(KERNEL_MODULE):
            yield event_text("compiling", CompilingDocument(_COMPILING_TEXT))
            await (await stack.enter_async_context(_run_command(COMPILE_COMMAND, DEVNULL))).wait()
        stack.enter_context(bill.timed())  # compiling is not charged, because it serves all clients
        arguments = solve_arguments(query.board.fen(), query.accrued, budget, self._directory, "--stream")
        process = await stack.enter_async_context(_run_command([*SOLVE_COMMAND, *arguments], PIPE))
        async for text in _events(process, monotonic() + budget.seconds + _MARGIN_SECONDS):
            yield text


@asynccontextmanager
async def _run_command(command: Sequence[str], output: int) -> AsyncIterator[Process]:
    """Run a command at low priority. Its process is killed at the end of the block."""
    process = await asyncio.create_subprocess_exec(
        *command, stdin=PIPE, stdout=output, stderr=output, limit=_MAX_LINE_BYTES
    )
    try:
        lower_priority(process.pid)
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await asyncio.shield(process.wait())


async def _events(process: Process, deadline: float) -> AsyncIterator[str]:
    """Yield an event for each line of a process's output, and a refusal if the process fails or is too
    slow."""
    assert process.stdout is not None
    assert process.stderr is not None
    errors = asyncio.ensure_future(process.stderr.read())
    try:
        while line := await asyncio.wait_for(process.stdout.readline(), deadline - monotonic()):
            is_interval = msgspec.json.decode(line, type=_OutputLine).moves is UNSET
            document = Raw(msgspec.json.format(line, indent=-1))
            yield event_text("interval" if is_interval else "solution", document)
        if code := await process.wait():
            yield event_text("refusal", _refusal(code, (await errors).decode(errors="replace")))
    except TimeoutError:
        yield event_text("refusal", RefusalDocument("failed", "the position was not solved in time"))
    finally:
        errors.cancel()


def _refusal(code: int, errors: str) -> RefusalDocument:
    """Return the refusal for a failed process; it has details only if the input is invalid."""
    if code == UsageError.exit_code:
        *_, sentence = errors.strip().splitlines() or [""]
        return RefusalDocument(UsageError.code, sentence.removeprefix("tbgen: "))
    return RefusalDocument("failed", "the position was not solved: the attempt has failed")
