"""The server of ``tbgen match --live``: a process that reads the live file and ends with the event.

It has a lower priority than the engines, and nothing that becomes of it concerns the runner.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Self

from tbgen.errors import UsageError, quote
from tbgen.games.live_file import EventStart
from tbgen.web.server import address_of, listening, serve_at
from tbgen.web.settings import Settings

_LOCAL: Final = "127.0.0.1"
_NICE: Final = 10
_LIMIT, _BURST = 0.1, 10.0
"""Processor time of a client: less than of a server on an idle machine."""
_SECONDS_TO_END: Final = 5.0


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
                self.process.wait(_SECONDS_TO_END)
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
        # in which the command is given. A session of its own: Ctrl-C ends it by the live file, not before.
        descriptor = self._listener.fileno()
        module = "tbgen.web.live_server"
        return subprocess.Popen(
            [sys.executable, "-P", "-m", module, str(descriptor), str(self._pgn), *self._tables],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[descriptor],
            env={name: value for name, value in os.environ.items() if name != "TBGEN_DIR"},
            start_new_session=True,
        )


def main(words: Sequence[str]) -> None:
    """Serve: ``python -m tbgen.web.live_server DESCRIPTOR PGN [DIRECTORY]``."""
    descriptor, pgn, *directories = words
    os.nice(_NICE)
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
    serve_at(socket.socket(fileno=int(descriptor)), settings)


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
