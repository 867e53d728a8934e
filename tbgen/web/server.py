"""Serving the API by uvicorn, in one process or in several that share an address."""

import logging
import os
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final

from tbgen.compiler.cache import substitute
from tbgen.errors import TbgenError, UsageError, quote
from tbgen.web.settings import Settings

_WAITING: Final = 1024
"""Connections that may wait to be accepted."""
_SECONDS_TO_END: Final = 10
"""How long requests may go on after the server was told to end."""
_SECONDS_TO_ANSWER: Final = 60
"""After which a worker that is silent is replaced: on a busy machine one takes long to begin."""
_MS_TO_TAKE: Final = 30_000
"""For which a client may take nothing of what is sent; then the system ends the connection."""


def serve(settings: Settings, host: str, port: int, workers: int, ready: Callable[[str], None]) -> None:
    """Serve until SIGINT, SIGTERM or SIGHUP; requests that are under way are answered then.

    :param port: 0 for one that is free.
    :param workers: processes.
    :param ready: is told the address.
    :raises UsageError: if there is no such address or directory.
    :raises TbgenError: if the server cannot begin.
    """
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))  # which uvicorn knows
    with listening(host, port) as listener:
        serve_at(listener, settings, workers, lambda: ready(address_of(listener)))


def serve_at(
    listener: socket.socket, settings: Settings, workers: int = 1, ready: Callable[[], object] = lambda: None
) -> None:
    """Serve at a socket that listens, as :func:`serve` does.

    :param ready: called when the application is made.
    """
    from uvicorn import Config, Server
    from uvicorn.supervisors import Multiprocess

    from tbgen.web.app import make_app
    from tbgen.web.connections import ACCEPTED_TOGETHER, Connection, most_connections

    config = Config(
        partial(make_app, settings) if workers > 1 else make_app(settings),
        factory=workers > 1,
        workers=workers,
        loop="asyncio",  # uvloop would be taken where it is installed, which no test runs
        http=Connection,
        ws="none",
        backlog=ACCEPTED_TOGETHER,
        log_config=None,
        log_level=logging.ERROR,  # not a line for every request that is none
        access_log=False,
        server_header=False,
        limit_concurrency=most_connections(),
        timeout_graceful_shutdown=_SECONDS_TO_END,
        timeout_worker_healthcheck=_SECONDS_TO_ANSWER,
    )
    substitute()  # shared by workers and processes that solve, which would leave behind their own
    ready()
    if workers > 1:
        Multiprocess(config, sockets=[listener]).run()
    else:
        # uvicorn ends in good order first, and then has the signal do what it does elsewhere.
        with suppress(KeyboardInterrupt):
            Server(config).run([listener])


def listening(host: str, port: int, options: str = "--host and --port") -> socket.socket:
    """Return a socket that listens.

    :param options: those by which others can be chosen.
    :raises UsageError: if the host has no address, or the port is none.
    :raises TbgenError: if the system does not let it be had.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    except (socket.gaierror, UnicodeError):
        raise UsageError(f"{quote(host)} is no host of this machine: choose another with {options}") from None
    family, kind, protocol, _, address = found[0]
    # If a socket does not name its protocol, asyncio leaves Nagle's algorithm on, and answers wait for 40 ms.
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if sys.platform == "linux":
            # Accepted sockets inherit it; without it, clients that take no answer keep their connections.
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _MS_TO_TAKE)
        listener.bind(address)
        listener.listen(_WAITING)
    except OSError as error:
        listener.close()
        raise TbgenError(
            f"{host}, port {port}: {os.strerror(error.errno or 0)}; choose others with {options}"
        ) from None
    listener.set_inheritable(True)
    return listener


def address_of(listener: socket.socket) -> str:
    """Return the address that a socket listens at, as browsers take it."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
