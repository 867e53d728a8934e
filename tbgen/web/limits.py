"""How much each client may take, and the turns and threads that requests wait for."""

import asyncio
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, nullcontext
from ipaddress import IPv6Address, ip_address
from math import ceil
from time import monotonic, perf_counter, thread_time
from typing import Final, TypeVar

from starlette.requests import Request

from tbgen.compiler.cache import without_compiling
from tbgen.web.exchange import Refusal

_MOST_CLIENTS: Final = 1 << 16
"""Clients that are remembered; the one that has been quiet for longest is forgotten first."""
_MOST_AT_ONCE: Final = 32
"""Requests of one client under way: what they cost is known afterwards only."""
_UNKNOWN: Final = "unknown"


class Bill:
    """What one request has cost."""

    def __init__(self) -> None:
        self.seconds = 0.0

    @contextmanager
    def timed(self, clock: Callable[[], float] = perf_counter) -> Iterator[None]:
        """Add the time that the block takes."""
        began = clock()
        try:
            yield
        finally:
            self.seconds += clock() - began


class Limiter:
    """Counts the processor time of clients. A full account holds ``burst`` seconds, and gains ``limit``
    seconds per second; what a request has cost is taken from it afterwards.

    Thus the limits go by what requests cost, and a reader stepping through a line never meets them.

    :param limit: 0 for no limits at all.
    :param clock: tells the time in seconds.
    """

    def __init__(self, limit: float, burst: float, clock: Callable[[], float] = monotonic) -> None:
        self._limit, self._burst, self._clock = limit, burst, clock
        self._accounts: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """By client what was left, and when; without the clients whose accounts are full."""
        self._under_way: Counter[str] = Counter()

    @contextmanager
    def charged(self, client: str, *, lasting: bool = False) -> Iterator[Bill]:
        """Let a client ask, and charge what stands on the bill after the block.

        :param lasting: whether the answer goes on for as long as the client likes; such requests do not count
            among those under way, and who answers them bounds their number.
        :raises Refusal: if the client has used up what it may, or asks too much at once.
        """
        bill = Bill()
        if not self._limit:
            yield bill
            return
        self._admit(client, lasting)
        self._under_way[client] += not lasting
        try:
            yield bill
        finally:
            self._under_way[client] -= not lasting
            if not self._under_way[client]:
                del self._under_way[client]
            self._accounts[client] = self._left(client) - bill.seconds, self._clock()
            self._accounts.move_to_end(client)
            while len(self._accounts) > _MOST_CLIENTS:
                self._accounts.popitem(last=False)

    def _admit(self, client: str, lasting: bool) -> None:
        left = self._left(client)
        if left <= 0:
            seconds = max(1, ceil(-left / self._limit))
            sentence = (
                f"your requests have taken more processor time than one client may: go on in {seconds} s"
            )
            raise Refusal(429, "too_much", sentence, {"Retry-After": str(seconds)})
        if not lasting and self._under_way[client] >= _MOST_AT_ONCE:
            sentence = f"{_MOST_AT_ONCE} of your requests are under way: wait for their answers"
            raise Refusal(429, "too_much", sentence, {"Retry-After": "1"})

    def _left(self, client: str) -> float:
        left, since = self._accounts.get(client, (self._burst, self._clock()))
        return min(self._burst, left + (self._clock() - since) * self._limit)


def client_of(request: Request) -> str:
    """Return the account of the client that sent a request."""
    return name_of_client(request.client and request.client.host)


def name_of_client(host: str | None) -> str:
    """Return under which name a client's account goes: the address, of IPv6 its first 64 bits, which one
    customer has to himself.

    >>> name_of_client("192.0.2.1"), name_of_client("2001:db8::1"), name_of_client("nonsense")
    ('192.0.2.1', '2001:db8::', 'unknown')
    """
    try:
        address = ip_address(host or "")
    except ValueError:
        return _UNKNOWN
    if isinstance(address, IPv6Address):
        return str(IPv6Address(int(address) >> 64 << 64))
    return str(address)


MOST_OF_ONE: Final = 3
"""Requests of one client that may wait."""


class Queue:
    """Gives turns in the order in which they are asked for. Who has gone loses its place.

    :param at_once: how many have their turn at a time.
    :param most: how many may wait.
    """

    def __init__(self, at_once: int, most: int) -> None:
        self._free = asyncio.Semaphore(at_once)
        self._most = most
        self._waiting: Counter[str] = Counter()

    @asynccontextmanager
    async def turn(self, request: Request) -> AsyncIterator[None]:
        """Wait for the turn of a request whose body has been read, and hold it for the block.

        :raises Refusal: if too many wait, or too many of this client, or the client has gone.
        """
        client = client_of(request)
        if self._free.locked():
            if self._waiting.total() >= self._most:
                raise Refusal(
                    503, "busy", "the server has too much to do: try again later", {"Retry-After": "5"}
                )
            if self._waiting[client] >= MOST_OF_ONE:
                sentence = f"{MOST_OF_ONE} of your requests are waiting: wait for their answers"
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
            self._free.release()

    async def _wait(self, request: Request) -> None:
        coming, leaving = asyncio.create_task(self._free.acquire()), asyncio.create_task(_gone(request))
        try:
            await asyncio.wait((coming, leaving), return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            if not coming.cancel():
                self._free.release()
            raise
        finally:
            leaving.cancel()
        if not coming.done():
            coming.cancel()
            raise Refusal(400, "bad_input", "the request broke off")


async def _gone(request: Request) -> None:
    """Return when the client has closed the connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


Result = TypeVar("Result")


class WorkerPool:
    """Some threads, used from one event loop.

    :param threads: how many.
    :param waiting: how many calls may wait for one of them.
    :param compiles: whether kernels that are not compiled yet are compiled in these threads; in others a call
        that takes them raises a :class:`KernelsMissingError`.
    """

    def __init__(self, name: str, threads: int, waiting: int, *, compiles: bool = False) -> None:
        self.name = name
        self._around = nullcontext if compiles else without_compiling
        self._executor = ThreadPoolExecutor(threads, f"tbgen-{name}")
        self._most = threads + waiting
        self.pending = 0
        """Calls under way, those that wait included."""

    async def run(self, function: Callable[[], Result], bill: Bill) -> Result:
        """Call a function in one of the threads, and return what it returns.

        :param bill: the processor time is added to it.
        :raises Refusal: if too many calls are waiting.
        """

        def work() -> Result:
            with bill.timed(thread_time), self._around():
                return function()

        if self.pending >= self._most:
            raise Refusal(503, "busy", "the server has too much to do: try again later", {"Retry-After": "5"})
        self.pending += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._executor, work)
        finally:
            self.pending -= 1

    def close(self) -> None:
        """Drop the calls that wait."""
        self._executor.shutdown(wait=False, cancel_futures=True)
