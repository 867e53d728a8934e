"""Serving the API with uvicorn: in one or several processes, or during an event for ``tbgen match --live``.

The server of an event is a separate process that reads the live file and ends with the event. It has a lower
priority than the engines, and its failure does not affect the runner.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Final, NoReturn

from tbgen.compiler.cache import fallback_directory
from tbgen.errors import TbgenError, UsageError, quote
from tbgen.games.live_file import EventStart
from tbgen.system.processes import (
    APART,
    inherited_socket,
    limit_unread_time,
    lower_priority,
    reuse_address,
    start_with_socket,
)
from tbgen.system.signals import END_SIGNALS, TERMINATION_WORDS
from tbgen.web.configuration import Settings

_ACCEPT_BACKLOG: Final = 1024
"""Maximum number of connections that wait to be accepted."""
_SHUTDOWN_SECONDS: Final = 10
"""Time for which the server still answers requests after a signal to end."""
_SILENT_WORKER_SECONDS: Final = 60
"""Time after which a worker process that does not respond is replaced; workers may be slow to start."""
_UNREAD_MS: Final = 30_000
"""Time in milliseconds after which the system closes a connection whose client does not read sent data."""

_LOCAL_HOST: Final = "127.0.0.1"
_LIMIT_SECONDS: Final = 0.1
_BURST_SECONDS: Final = 10.0
"""Processor time that a client may use: seconds per second, and seconds at once. Both are lower than the
defaults, because engines play on the same machine."""
_EXIT_SECONDS: Final = 5.0


def serve(settings: Settings, host: str, port: int, workers: int, notify: Callable[[str], None]) -> None:
    """Serve until SIGINT, SIGTERM or SIGHUP. Requests that have arrived by then are still answered.

    :param port: 0 for any free port.
    :param workers: number of processes.
    :param notify: called with the server's URL before requests are served.
    :raises UsageError: if the address is invalid or a directory does not exist.
    :raises TbgenError: if the server cannot start.
    """
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, _interrupt_once)
    for signum in TERMINATION_WORDS.keys() - {signal.SIGTERM}:
        if signal.getsignal(signum) != signal.SIG_IGN:
            signal.signal(signum, lambda *_: signal.raise_signal(signal.SIGTERM))  # uvicorn handles it
    with open_listener(host, port) as listener:
        serve_at(listener, settings, workers, lambda: notify(address_of(listener)))


def _interrupt_once(*_: object) -> NoReturn:
    """Raise an interrupt, and ignore further ones, which would break off asyncio's clean-up."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise KeyboardInterrupt


def serve_at(
    listener: socket.socket, settings: Settings, workers: int = 1, notify: Callable[[], object] = lambda: None
) -> None:
    """Serve at a listening socket, as :func:`serve` does.

    :param notify: called when the application has been made.
    """
    from uvicorn import Config, Server
    from uvicorn.supervisors import Multiprocess

    from tbgen.web.app import make_app
    from tbgen.web.connections import MAX_ACCEPTED_AT_ONCE, Connection, max_connections

    handlers = {signum: signal.getsignal(signum) for signum in END_SIGNALS}  # uvicorn will replace them

    class PatientServer(Server):
        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            # A second Ctrl-C would break off the answers.
            if not self.should_exit and handlers[signal.Signals(sig)] != signal.SIG_IGN:
                super().handle_exit(sig, frame)

    config = Config(
        partial(make_app, settings, ends_with_parent=True) if workers > 1 else make_app(settings),
        factory=workers > 1,
        workers=workers,
        loop="asyncio",  # the default is uvloop if it is installed, which no test covers
        http=Connection,
        ws="none",
        backlog=MAX_ACCEPTED_AT_ONCE,
        log_config=None,
        log_level=logging.ERROR,  # no line for every invalid request
        access_log=False,
        server_header=False,
        limit_concurrency=max_connections(),
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
        timeout_worker_healthcheck=_SILENT_WORKER_SECONDS,
    )
    # The temporary directory for compiled kernels is made here and shared. Workers and solving processes
    # would not remove directories of their own.
    fallback_directory()
    notify()
    if workers > 1:
        supervisor = Multiprocess(config, sockets=[listener])
        for signum, handler in handlers.items():
            if handler == signal.SIG_IGN or signum not in (signal.SIGINT, signal.SIGTERM):
                signal.signal(signum, handler)  # at SIGHUP uvicorn would restart the workers
        supervisor.run()
    else:
        # uvicorn shuts down first, and then raises the signal again.
        with suppress(KeyboardInterrupt):
            PatientServer(config).run([listener])


def open_listener(host: str, port: int, options: str = "--host and --port") -> socket.socket:
    """Return a listening socket.

    :param options: the options that set the host and the port, as messages show them.
    :raises UsageError: if the host has no address, or the port is invalid.
    :raises TbgenError: if the system refuses the address.
    """
    try:
        candidates = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    except (socket.gaierror, UnicodeError):
        raise UsageError(
            f"{quote(host)} is not an address of this machine: choose another with {options}"
        ) from None
    family, kind, protocol, _, address = candidates[0]
    # For a socket without a protocol, asyncio would not turn off Nagle's algorithm, which delays answers by
    # 40 ms.
    listener = socket.socket(family, kind, protocol)
    try:
        reuse_address(listener)
        limit_unread_time(listener, _UNREAD_MS)
        listener.bind(address)
        listener.listen(_ACCEPT_BACKLOG)
    except OSError as error:
        listener.close()
        raise TbgenError(
            f"{host}, port {port}: {os.strerror(error.errno or 0)}; choose others with {options}"
        ) from None
    listener.set_inheritable(True)
    return listener


def address_of(listener: socket.socket) -> str:
    """Return the URL of a listening socket."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class LiveServer(AbstractContextManager["LiveServer"]):
    """Starts the server when the event begins. On exit, waits a few seconds for the server to end.

    :param address: ``HOST:PORT``, or a port of this machine; port 0 stands for any free port.
    :param pgn: the PGN file of the event.
    :param directory: directory of the tables for the explorer that the server also shows.
    :param announce: receives a sentence if the server ends before the event.

    :raises UsageError: if the address does not belong to this machine.
    :raises TbgenError: if the address is in use.
    """

    def __init__(
        self, address: str, pgn: Path, directory: Path | None, announce: Callable[[str], object]
    ) -> None:
        host, port = _host_and_port(address)
        self._listener = open_listener(host, port, "--live HOST:PORT")
        self.address = f"{address_of(self._listener)}/live"
        """The address of the page."""
        self._pgn = pgn
        self._announce = announce
        self._tables = [str(directory.absolute())] if directory is not None and directory.is_dir() else []
        self.process: subprocess.Popen[bytes] | None = None
        """The serving process, once the event has begun."""
        self._ended = False

    def __exit__(self, *_: object) -> None:
        self._listener.close()
        if self.process is not None:
            try:
                self.process.wait(_EXIT_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def __call__(self, message: object) -> None:
        """Start the server at the first message of an event; at later messages check that it is still
        running."""
        if self.process is None and isinstance(message, EventStart):
            self.process = self._start()
        elif self.process is not None and self.process.poll() is not None and not self._ended:
            self._ended = True
            self._announce("the server of the live page has ended: games continue without it")

    def _start(self) -> subprocess.Popen[bytes]:
        # -P prevents imports from the working directory. Without TBGEN_DIR, the explorer reads only the
        # tables of the event. APART keeps Ctrl-C from the process, which ends when the live file says that
        # the event is over.
        return start_with_socket(
            [sys.executable, "-P", "-m", "tbgen.web.server", str(self._pgn), *self._tables],
            self._listener,
            stdout=subprocess.DEVNULL,
            env={name: value for name, value in os.environ.items() if name != "TBGEN_DIR"},
            **APART,
        )


def main(arguments: Sequence[str]) -> None:
    """Serve an event, as ``python -m tbgen.web.server PGN [DIRECTORY]``."""
    pgn, *directories = arguments
    lower_priority(os.getpid())
    signal.signal(signal.SIGINT, signal.default_int_handler)  # the event ends the server by this signal
    settings = Settings(
        tuple(map(Path, directories)),
        live_file=Path(pgn),
        ends_with_event=True,
        limit=_LIMIT_SECONDS,
        burst=_BURST_SECONDS,
        quick_threads=1,
        slow_threads=1,
        precompiles=False,
    )
    serve_at(inherited_socket(), settings)


def _host_and_port(text: str) -> tuple[str, int]:
    """Return the host and the port of an address.

    :raises UsageError: if the address is invalid.
    """
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") or _LOCAL_HOST
    if not (port.isascii() and port.isdecimal()) or int(port[:6]) > 65_535:
        raise UsageError(
            f"--live: {quote(text)} is not an address: expected HOST:PORT such as {_LOCAL_HOST}:8043, or a "
            "port; a file of settings goes before --live"
        )
    return host, int(port)


if __name__ == "__main__":
    main(sys.argv[1:])
