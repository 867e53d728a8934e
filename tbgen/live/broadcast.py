"""The runner's end: a reporter that starts the process with the page, and tells it what happens."""

from __future__ import annotations

import contextlib
import os
import queue
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import Final, Self

import chess

from tbgen.errors import UsageError, needs_extra, quote
from tbgen.games.standings import Standings
from tbgen.live.messages import Ended, Finished, Message, Moved, Over, Started, send
from tbgen.match.game import Game
from tbgen.match.reporter import Beginning
from tbgen.match.schedule import Fixture
from tbgen.match.statistics import Score

__all__ = ["Broadcast"]

_LOCAL: Final = "127.0.0.1"
_MOST_WAITING: Final = 10_000
"""Messages that may wait for the process to take them; then it is given up."""
_SECONDS_TO_END: Final = 5.0
"""For the last words to those who look on."""


class Broadcast:
    """Tells a process of its own what happens, which shows it to whoever asks.

    The runner never waits for it: messages go into a queue, from which a thread writes them. If the process
    does not take them, or ends, the event goes on without it.

    :param address: ``HOST:PORT``, or a port of this machine; port 0 is any that is free.
    :param directory: of tables, which the explorer beside the page reads, if it is there.
    :param note: is told if the page ends before the event.

    :raises MissingExtraError: if the extra ``web`` is not installed.
    :raises UsageError: if the address is none of this machine.
    :raises TbgenError: if the system does not let it be had.
    """

    def __init__(self, address: str, directory: Path | None, note: Callable[[str], None]) -> None:
        host, port = _host_and_port(address)
        with needs_extra("tbgen match --live", "web"):
            import starlette  # noqa: F401
            import uvicorn  # noqa: F401

            from tbgen.web.server import address_of, listening
        self._note = note
        self._gone = False
        self._waiting: queue.Queue[Message | None] = queue.Queue(_MOST_WAITING)
        # The explorer is to read the tables of the event, and no others.
        environment = {name: value for name, value in os.environ.items() if name != "TBGEN_DIR"}
        tables = [str(directory.absolute())] if directory is not None and directory.is_dir() else []
        with listening(host, port, "--live HOST:PORT") as listener:
            self.address = f"{address_of(listener)}/live"
            """Of the page."""
            # In a session of its own, so that Ctrl-C does not end it before it has told of the end; nothing
            # is imported from the directory that the command is given in.
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "tbgen.live", str(listener.fileno()), *tables],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                pass_fds=[listener.fileno()],
                env=environment,
                start_new_session=True,
            )
        self._thread = Thread(target=self._write, name="live", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(Ended.FINISHED if kind is None else Ended.STOPPED)

    def close(self, how: Ended = Ended.FINISHED) -> None:
        """Tell that the event is over, and end the process."""
        self._tell(Over(how))
        self._gone = True  # who ends now does so in time
        if self._thread.is_alive():
            with contextlib.suppress(queue.Full):
                self._waiting.put(None, timeout=_SECONDS_TO_END)
            self._thread.join(_SECONDS_TO_END)
        try:
            self._process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def began(self, event: Beginning) -> None:
        """Tell what event it is."""
        self._tell(event)

    def resumed(self, games: int) -> None:
        """Say nothing: the file says it."""

    def started(self, fixture: Fixture, total: int | None) -> None:
        """Tell that a game begins."""
        self._tell(Started(fixture))

    def moved(
        self, fixture: Fixture, move: chess.Move, comment: str, left: Mapping[chess.Color, float | None]
    ) -> None:
        """Tell of a move."""
        self._tell(Moved(fixture.key, move, comment, left))

    def finished(self, game: Game, total: int | None, size: int) -> None:
        """Tell that a game is over."""
        self._tell(Finished(game.fixture.key, game.reason, size))

    def standing(self, score: Score | None, standings: Standings | None, games: int) -> None:
        """Say nothing: the process adds games up itself."""

    def note(self, text: str) -> None:
        """Say nothing: that is for who runs the event."""

    def _tell(self, message: Message) -> None:
        if self._gone:
            return
        try:
            self._waiting.put_nowait(message)
        except queue.Full:
            self._give_up("takes no more messages")
            self._process.kill()

    def _write(self) -> None:
        """Write messages as they come, in a thread, which may wait for the process to read."""
        pipe = self._process.stdin
        assert pipe is not None
        try:
            while (message := self._waiting.get()) is not None:
                send(pipe, message)
        except OSError:
            self._give_up("has ended")
        finally:
            with contextlib.suppress(OSError):
                pipe.close()

    def _give_up(self, what: str) -> None:
        if not self._gone:
            self._gone = True
            self._note(f"the process of the live page {what}: games go on without it")


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
