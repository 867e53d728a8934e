"""Connections of a server process: how many there may be, and how long one may take to ask."""

from asyncio import TimerHandle, Transport
from typing import Final

from uvicorn.protocols.http.h11_impl import H11Protocol

from tbgen.system.processes import may_open

ACCEPTED_TOGETHER: Final = 128
"""Connections that one turn of the event loop accepts, before those that are too many are closed."""
_MOST: Final = 2048
_HEAD_SECONDS: Final = 10.0
"""How long the head of a request may take to arrive, and a new connection to begin with one."""


def most_connections() -> int:
    """Return how many connections a process may have: as many as half of its files, for tables and
    connections that are being closed take some too.

    The process may have as many files as that needs, if the system lets it.
    """
    return min(_MOST, may_open(2 * _MOST) // 2)


class Connection(H11Protocol):
    """uvicorn's protocol in Python, but a connection waits for the head of a request for a while only.

    Where there are too many connections, the one that has been waiting for longest makes room. So idle
    connections shut nobody out, whether they come from one client or through a proxy.
    """

    _deadline: TimerHandle

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Wait for the first request, and make room if need be."""
        super().connection_made(transport)
        self._wait()
        if len(self.connections) >= (self.limit_concurrency or 0):
            ours = (each for each in self.connections if isinstance(each, Connection))
            longest = min(filter(Connection.waits, ours), key=lambda each: each._deadline.when())
            self.connections.discard(longest)
            longest.transport.close()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._deadline.cancel()
        self._wait()

    def connection_lost(self, error: Exception | None) -> None:
        """Wait no longer."""
        super().connection_lost(error)
        self._deadline.cancel()

    def waits(self) -> bool:
        """Whether no request is under way."""
        return self.cycle is None or bool(self.cycle.response_complete)

    def _wait(self) -> None:
        self._deadline = self.loop.call_later(_HEAD_SECONDS, self._end, self.cycle)

    def _end(self, last: object) -> None:
        """End the connection if there has been no request since the last one."""
        if self.cycle is last and self.waits():
            self.transport.close()
