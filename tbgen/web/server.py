"""Serving the API by uvicorn, in one process or several, and beside an event for ``tbgen match --live``.

The server of an event is a process that reads the live file and ends with the event. It has a lower
priority than the engines, and nothing that becomes of it concerns the runner.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final, Self

from tbgen.compiler.cache import substitute
from tbgen.errors import TbgenError, UsageError, quote
from tbgen.games.live_file import EventStart
from tbgen.system.processes import (
    APART,
    inherited_socket,
    limit_unread,
    lower_priority,
    reuse_address,
    start_with_socket,
)
from tbgen.system.signals import TERMINATIONS
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
    for number in TERMINATIONS.keys() - {signal.SIGTERM}:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda *_: signal.raise_signal(signal.SIGTERM))  # which uvicorn knows
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
        reuse_address(listener)
        limit_unread(listener, _MS_TO_TAKE)
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


_LOCAL: Final = "127.0.0.1"
_LIMIT, _BURST = 0.1, 10.0
"""Processor time of a client: less than of a server on an idle machine."""
_SECONDS_TO_GO: Final = 5.0


class LiveServer:
    """Starts the server when the event begins, and waits for its end.

    :param address: ``HOST:PORT``, or a port of this machine; port 0 stands for any that is free.
    :param pgn: the PGN file of the event.
    :param directory: the tables that the explorer beside the page reads.
    :param note: receives a sentence if the server ends before the event.

    :raises UsageError: if the address is none of this machine.
    :raises TbgenError: if the address is taken.
    """

    def __init__(
        self, address: str, pgn: Path, directory: Path | None, note: Callable[[str], object]
    ) -> None:
        host, port = _host_and_port(address)
        self._listener = listening(host, port, "--live HOST:PORT")
        self.address = f"{address_of(self._listener)}/live"
        """The address of the page."""
        self._pgn, self._note = pgn, note
        self._tables = [str(directory.absolute())] if directory is not None and directory.is_dir() else []
        self.process: subprocess.Popen[bytes] | None = None
        """That serves, once the event has begun."""
        self._ended = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()
        if self.process is not None:
            try:
                self.process.wait(_SECONDS_TO_GO)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def __call__(self, message: object) -> None:
        """Start the server with the first message of an event; later ones see whether it still runs."""
        if self.process is None and isinstance(message, EventStart):
            self.process = self._started()
        elif self.process is not None and self.process.poll() is not None and not self._ended:
            self._ended = True
            self._note("the server of the live page has ended: games go on without it")

    def _started(self) -> subprocess.Popen[bytes]:
        # The explorer reads the tables of the event, and no others; nothing is imported from the directory
        # in which the command is given. It is apart: Ctrl-C ends it by the live file, not before.
        return start_with_socket(
            [sys.executable, "-P", "-m", "tbgen.web.server", str(self._pgn), *self._tables],
            self._listener,
            stdout=subprocess.DEVNULL,
            env={name: value for name, value in os.environ.items() if name != "TBGEN_DIR"},
            **APART,
        )


def main(words: Sequence[str]) -> None:
    """Serve: ``python -m tbgen.web.server PGN [DIRECTORY]``."""
    pgn, *directories = words
    lower_priority(os.getpid())
    settings = Settings(
        tuple(map(Path, directories)),
        live=Path(pgn),
        until_over=True,
        limit=_LIMIT,
        burst=_BURST,
        quick_threads=1,
        slow_threads=1,
        eager=False,
    )
    serve_at(inherited_socket(), settings)


def _host_and_port(text: str) -> tuple[str, int]:
    """Read an address.

    :raises UsageError: if it is none.
    """
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") or _LOCAL
    if not (port.isascii() and port.isdecimal()) or int(port[:6]) > 65_535:
        raise UsageError(
            f"--live: {quote(text)} is no address: expected HOST:PORT such as {_LOCAL}:8043, or a port; "
            "a file of settings stands before --live"
        )
    return host, int(port)


if __name__ == "__main__":
    main(sys.argv[1:])
