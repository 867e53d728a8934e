"""Limits for each client, and the queues and thread pools in which requests wait."""

import asyncio
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, nullcontext
from contextvars import ContextVar
from ipaddress import IPv6Address, ip_address
from math import ceil
from time import monotonic, perf_counter, thread_time
from typing import Final, TypeVar

from starlette.requests import Request

from tbgen.compiler.cache import without_compiling
from tbgen.web.replies import Refusal

_MAX_CLIENTS: Final = 1 << 16
"""Maximum number of accounts; if there are more, the account that has been unused for
longest is dropped."""
_MAX_CONCURRENT_REQUESTS: Final = 32
"""Maximum number of unanswered requests of one client. A request is charged only after its answer, so
the account alone does not limit them."""
_UNKNOWN_CLIENT: Final = "unknown"

MAX_WAITING_PER_CLIENT: Final = 3
"""Maximum number of waiting requests of one client."""

Result = TypeVar("Result")


class Bill:
    """The processor time of one request, in seconds, and whether the client still waits for the answer."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.client_left = False

    @contextmanager
    def timed(self, clock: Callable[[], float] = perf_counter) -> Iterator[None]:
        """Add the time that the block takes, as measured by ``clock``."""
        began = clock()
        try:
            yield
        finally:
            self.seconds += clock() - began


_bill: Final[ContextVar[Bill | None]] = ContextVar("bill", default=None)
"""The bill of the request that the current thread works for."""


def stop_if_client_left() -> None:
    """Stop a long answer if nobody waits for it. Called between the parts of the answer.

    :raises Refusal: if the client has closed the connection.
    """
    bill = _bill.get()
    if bill is not None and bill.client_left:
        raise Refusal(400, "bad_input", "the request broke off")


class Limiter:
    """Limits the processor time of clients.

    The account of a client gains ``limit`` seconds per second, up to ``burst`` seconds. The cost of a request
    is subtracted after the answer. The limits thus depend on the cost of requests rather than their number,
    and a reader who steps through a line never reaches them.

    :param limit: seconds per second; 0 if there are no limits.
    :param burst: balance of a full account, in seconds.
    :param clock: returns the time in seconds.
    """

    def __init__(self, limit: float, burst: float, clock: Callable[[], float] = monotonic) -> None:
        self._limit = limit
        self._burst = burst
        self._clock = clock
        self._accounts: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """Maps each client to its balance and the time when the balance was determined. Absent clients have
        full accounts."""
        self._open_requests: Counter[str] = Counter()

    @contextmanager
    def charged(self, client: str, *, lasting: bool = False) -> Iterator[Bill]:
        """Admit a request of a client, and charge the client after the block.

        :param lasting: whether the answer lasts as long as the client likes. Such a request is not
            counted as an unanswered one; the caller limits the number of such requests.
        :raises Refusal: if the client's account is empty, or the client has too many concurrent requests.
        """
        bill = Bill()
        if not self._limit:
            yield bill
            return
        self._admit(client, lasting)
        self._open_requests[client] += not lasting
        try:
            yield bill
        finally:
            self._open_requests[client] -= not lasting
            if not self._open_requests[client]:
                del self._open_requests[client]
            self._accounts[client] = self._balance(client) - bill.seconds, self._clock()
            self._accounts.move_to_end(client)
            while len(self._accounts) > _MAX_CLIENTS:
                self._accounts.popitem(last=False)

    def _admit(self, client: str, lasting: bool) -> None:
        balance = self._balance(client)
        if balance <= 0:
            seconds = max(1, ceil(-balance / self._limit))
            sentence = f"your requests have used more processor time than allowed: continue in {seconds} s"
            raise Refusal(429, "too_much", sentence, {"Retry-After": str(seconds)})
        if not lasting and self._open_requests[client] >= _MAX_CONCURRENT_REQUESTS:
            sentence = f"{_MAX_CONCURRENT_REQUESTS} of your requests are unanswered: wait for their answers"
            raise Refusal(429, "too_much", sentence, {"Retry-After": "1"})

    def _balance(self, client: str) -> float:
        balance, since = self._accounts.get(client, (self._burst, self._clock()))
        return min(self._burst, balance + (self._clock() - since) * self._limit)


def client_of(request: Request) -> str:
    """Return the name of the account of the client that sent a request."""
    return name_of_client(request.client and request.client.host)


def name_of_client(host: str | None) -> str:
    """Return the name of a client's account: the client's address.

    An IPv6 address is reduced to its first 64 bits, because these belong to one customer.

    >>> name_of_client("192.0.2.1"), name_of_client("2001:db8::1"), name_of_client("nonsense")
    ('192.0.2.1', '2001:db8::', 'unknown')
    """
    try:
        address = ip_address(host or "")
    except ValueError:
        return _UNKNOWN_CLIENT
    return str(IPv6Address(int(address) >> 64 << 64)) if isinstance(address, IPv6Address) else str(address)


class Queue:
    """A first-come, first-served queue of requests. A client that disconnects loses its place.

    :param max_turns: maximum number of requests that have their turn at the same time.
    :param max_waiting: maximum number of waiting requests.
    """

    def __init__(self, max_turns: int, max_waiting: int) -> None:
        self._free_turns = asyncio.Semaphore(max_turns)
        self._max_waiting = max_waiting
        self._waiting: Counter[str] = Counter()

    @asynccontextmanager
    async def turn(self, request: Request) -> AsyncIterator[None]:
        """Wait for the turn of a request whose body has been read. The turn lasts until the end of the block.

        :raises Refusal: if too many requests are waiting, in total or from this client, or if the client
            disconnects.
        """
        client = client_of(request)
        if self._free_turns.locked():
            if self._waiting.total() >= self._max_waiting:
                raise Refusal(503, "busy", "the server is overloaded: try again later", {"Retry-After": "5"})
            if self._waiting[client] >= MAX_WAITING_PER_CLIENT:
                sentence = f"{MAX_WAITING_PER_CLIENT} of your requests are waiting: wait for their answers"
                raise Refusal(429, "too_much", sentence, {"Retry-After": "1"})
        self._waiting[client] += 1
        try:
            await self._wait(request)
        finally:
            self._waiting[client] -= 1
            if not self._waiting[client]:
                del self._waiting[client]
        try:
            yield
        finally:
            self._free_turns.release()

    async def _wait(self, request: Request) -> None:
        turn = asyncio.create_task(self._free_turns.acquire())
        leaving = asyncio.create_task(_wait_for_disconnect(request))
        try:
            await asyncio.wait((turn, leaving), return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            if not turn.cancel():
                self._free_turns.release()
            raise
        finally:
            leaving.cancel()
        if not turn.done():
            turn.cancel()
            raise Refusal(400, "bad_input", "the request broke off")


async def _wait_for_disconnect(request: Request) -> None:
    """Wait until the client has closed the connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _note_leaving(request: Request, bill: Bill) -> None:
    """Wait until the client closes the connection, and note this on the bill."""
    await _wait_for_disconnect(request)
    bill.client_left = True


class WorkerPool:
    """A thread pool with a bounded queue, used from one event loop.

    :param threads: number of threads.
    :param max_waiting: maximum number of waiting calls.
    :param compiles: whether missing kernels are compiled in these threads. Otherwise a call that needs a
        missing kernel raises a :class:`KernelsMissingError`.
    """

    def __init__(self, name: str, threads: int, max_waiting: int, *, compiles: bool = False) -> None:
        self.name = name
        self._context = nullcontext if compiles else without_compiling
        self._executor = ThreadPoolExecutor(threads, f"tbgen-{name}")
        self._max_pending = threads + max_waiting
        self.pending = 0
        """Number of running and waiting calls."""

    async def run(self, function: Callable[[], Result], bill: Bill, request: Request | None = None) -> Result:
        """Call a function in one of the threads, and return its result.

        :param bill: the bill to which the processor time of the call is added.
        :param request: the request for which the function works, whose body has been read; if its client
            leaves, a call that has not begun is dropped.
        :raises Refusal: if too many calls are waiting, or the client has left.
        """

        def work() -> Result:
            _bill.set(bill)
            stop_if_client_left()
            with bill.timed(thread_time), self._context():
                return function()

        if self.pending >= self._max_pending:
            raise Refusal(503, "busy", "the server is overloaded: try again later", {"Retry-After": "5"})
        self.pending += 1
        watch = None if request is None else asyncio.create_task(_note_leaving(request, bill))
        try:
            return await asyncio.get_running_loop().run_in_executor(self._executor, work)
        finally:
            self.pending -= 1
            if watch is not None:
                watch.cancel()

    def close(self) -> None:
        """Drop the waiting calls. Do not wait until the running calls have ended."""
        self._executor.shutdown(wait=False, cancel_futures=True)
