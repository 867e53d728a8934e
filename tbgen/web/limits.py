"""How much processor time each client may take."""

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import IPv6Address, ip_address
from math import ceil
from time import monotonic, perf_counter
from typing import Final

from starlette.requests import Request

from tbgen.web.errors import Refusal

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
