"""Connections of a server process: their maximum number, and the time that a request may take to arrive."""

from asyncio import TimerHandle, Transport
from typing import Final

from uvicorn.protocols.http.h11_impl import H11Protocol

from tbgen.system.processes import raise_file_limit

ACCEPTED_TOGETHER: Final = 128
"""Maximum number of connections accepted in one turn of the event loop, before surplus ones are closed."""
_MAX_CONNECTIONS: Final = 2048
_HEAD_SECONDS: Final = 10.0
"""Maximum time for the head of a request to arrive, on a new connection too."""


def most_connections() -> int:
    """Return the maximum number of connections of a process: half the number of files that it may open.

    The other half is for tables and for connections that are being closed. The system's limit on open files
    is raised as far as possible.
    """
    return min(_MAX_CONNECTIONS, raise_file_limit(2 * _MAX_CONNECTIONS) // 2)


class Connection(H11Protocol):
    """uvicorn's protocol in pure Python, with a time limit for the head of a request.

    If there are too many connections, the one that has been idle for longest is closed. Idle connections
    therefore shut nobody out, whether they come from one client or through a proxy.
    """

    _deadline: TimerHandle

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Wait for the first request; if there are too many connections, close the longest idle one."""
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
        """Stop waiting for a request."""
        super().connection_lost(error)
        self._deadline.cancel()

    def waits(self) -> bool:
        """Return whether no request is being answered."""
        return self.cycle is None or bool(self.cycle.response_complete)

    def _wait(self) -> None:
        self._deadline = self.loop.call_later(_HEAD_SECONDS, self._end, self.cycle)

    def _end(self, last: object) -> None:
        """Close the connection if no request has come since ``last``."""
        if self.cycle is last and self.waits():
            self.transport.close()
