"""Reading of another UCI engine only what it says last: to read a line costs time that its search needs."""

import re
import time
from asyncio import BaseTransport
from typing import Final

from chess.engine import UciProtocol

from tbgen.words import spaced

_LINE: Final = re.compile(rb"info(?! string )(?=.* score ).* pv ")
_PART: Final = re.compile(rb"info.* (string|score|pv) ")
_PLACE: Final = re.compile(rb" multipv (\d+)")
_KEPT_SECONDS: Final = 1.0
"""How long lines are kept for others to come."""


class LastLines(UciProtocol):
    """The protocol as spoken to an engine of whose lines of play only the last one of each place counts.

    They are passed on before whatever ends the search, and every second. (python-chess plays all moves of
    every line on a board, which was a third of the processor time that tbgen took for a move of a tenth of a
    second.)
    """

    def connection_made(self, transport: BaseTransport) -> None:
        """Begin to listen."""
        super().connection_made(transport)
        self._rest = b""
        self._last: dict[bytes, bytes] = {}
        self._since = 0.0

    def pipe_data_received(self, fd: int, data: bytes | str) -> None:
        """Read what the engine writes to a pipe."""
        if fd != 1 or isinstance(data, str):
            super().pipe_data_received(fd, data)
            return
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in map(spaced, lines):
            if _LINE.match(line):
                place = _PLACE.search(line)
                self._since = self._since if self._last else time.perf_counter()
                self._last[place[1] if place else b"1"] = line
                continue
            if not line.startswith(b"info"):
                self._pass_on()
            elif not _PART.match(line):  # it says what move it is at, at which depth
                continue
            super().pipe_data_received(fd, line + b"\n")
        if self._last and time.perf_counter() > self._since + _KEPT_SECONDS:
            self._pass_on()

    def _pass_on(self) -> None:
        for line in self._last.values():
            super().pipe_data_received(1, line + b"\n")
        self._last.clear()
