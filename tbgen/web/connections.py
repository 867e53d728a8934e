"""Connections of a server process: their maximum number, and the time that a request may take to arrive.

This module loads uvicorn, which the main process of ``tbgen match --live`` does not load.
"""

from asyncio import TimerHandle, Transport
from typing import Final

from h11 import IDLE, SEND_RESPONSE
from uvicorn.protocols.http.h11_impl import H11Protocol

from tbgen.system.processes import raise_file_limit

MAX_ACCEPTED_AT_ONCE: Final = 128
"""Maximum number of connections accepted in one pass of the event loop, before surplus connections are
closed."""
_MAX_CONNECTIONS: Final = 2048
_HEAD_SECONDS: Final = 10.0
"""Maximum time for the head of a request to arrive, counted from the connection or from the end of the last
response."""


def max_connections() -> int:
    """Return the maximum number of connections of a process: half the number of files that it may open.

    The other half is for tables and for connections that are being closed. The limit on open files is first
    raised as far as the system allows.
    """
    return min(_MAX_CONNECTIONS, raise_file_limit(2 * _MAX_CONNECTIONS) // 2)


class Connection(H11Protocol):
    """uvicorn's protocol in pure Python, with a time limit for the head of a request.

    If there are too many connections, the one that has been idle for longest is closed. Idle connections
    therefore cannot shut anybody out, whether they come from one client or through a proxy.
    """

    _timer: TimerHandle

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Wait for the first request. If there are too many connections, close the one idle for longest."""
        super().connection_made(transport)
        self._start_timer()
        if len(self.connections) >= (self.limit_concurrency or 0):
            connections = (other for other in self.connections if isinstance(other, Connection))
            longest_idle = min(filter(Connection.is_idle, connections), key=lambda other: other._timer.when())
            self.connections.discard(longest_idle)
            longest_idle.transport.close()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._timer.cancel()
        self._start_timer()

    def connection_lost(self, error: Exception | None) -> None:
        """Stop waiting for a request."""
        super().connection_lost(error)
        self._timer.cancel()

    def send_400_response(self, msg: str) -> None:
        """Refuse data that are not HTTP. A request that they belong to gets no other answer."""
        if self.cycle is not None:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state in (IDLE, SEND_RESPONSE):
            super().send_400_response(msg)
        else:  # the answer has begun
            self.transport.close()

    def is_idle(self) -> bool:
        """Return whether no request is being answered."""
        return self.cycle is None or bool(self.cycle.response_complete)

    def _start_timer(self) -> None:
        self._timer = self.loop.call_later(_HEAD_SECONDS, self._close_if_idle, self.cycle)

    def _close_if_idle(self, last_cycle: object) -> None:
        """Close the connection if no request has arrived since the request of ``last_cycle``."""
        if self.cycle is last_cycle and self.is_idle():
            self.transport.close()
