"""The protocol of an engine: that of python-chess, guarded against what engines send.

python-chess keeps and parses whatever comes. Here lines are bounded, a flood is read at a bounded rate (so
the engine pays for it with its own time, and no other game does), of all ``info`` only the last one before
the move is parsed by it, and the times of ``go`` and ``bestmove`` are taken where bytes are written and read.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final, NamedTuple

import chess.engine

from tbgen.documents import spaced

_LONGEST_LINE: Final = 1 << 16
"""Bytes of a line that count; the rest of a longer one is skipped."""
_RATE: Final = 1 << 20
"""Bytes that are read without a pause."""
_PAUSE: Final = 0.1
"""Seconds of a pause, and without output after which the count starts anew."""
_ANSWERS: Final = frozenset({b"readyok", b"uciok"})
_LAST_WORDS: Final = 0.2
"""Seconds after the end of a process in which its output is read, should another process keep that open."""
_STDOUT: Final = 1
_BOUNDS: Final = (b" lowerbound", b" upperbound")
_SCORE: Final = re.compile(rb" score (cp|mate) (-?\d{1,9})\b")
_DEPTH: Final = re.compile(rb" depth (\d{1,9})\b")
_LINE: Final = re.compile(rb" pv((?: [a-h][1-8][a-h][1-8][qrbn]?){1,12})\b")
"""The line that an engine expects, as far as it is told to others."""


class Thought(NamedTuple):
    """What an engine has told of its search."""

    score: chess.engine.Score | None
    depth: int
    line: str
    """The moves that it expects; empty if it has told none."""


class Uci(chess.engine.UciProtocol):
    """The protocol of one engine process.

    :param log: called with each line, with ``<`` for those of the engine and ``>`` for those to it.
    """

    def __init__(self, log: Callable[[str, str], None] | None = None) -> None:
        super().__init__()
        self.gone: asyncio.Future[str] = self.loop.create_future()
        """Done when the engine cannot answer any more, with the reason."""
        self.exited = asyncio.Event()
        """Set when the process has ended."""
        self.sent: asyncio.Future[None] = self.loop.create_future()
        """Done when ``go`` has been sent."""
        self.began = self.ended = 0.0
        """When ``go`` was sent and ``bestmove`` was read, by the clock of performance."""
        self.answer = ""
        """What stood behind ``bestmove``."""
        self._log = log
        self._rest = b""
        self._skipping = False
        self._info: bytes | None = None
        self._read = 0
        self._last = 0.0

    @property
    def thought(self) -> Thought | None:
        """What the last ``info`` since ``go`` tells; None if there was none."""
        if self._info is None:
            return None
        score, depth, line = (found.search(self._info) for found in (_SCORE, _DEPTH, _LINE))
        return Thought(
            None if score is None else _score(score[1], int(score[2])),
            0 if depth is None else int(depth[1]),
            "" if line is None else line[1].decode().strip(),
        )

    def send_line(self, line: str) -> None:
        """Send a line, and take the time of ``go``."""
        if self._log is not None:
            self._log(">", line)
        go = line.startswith("go")
        if go:
            self._info, self.answer = None, ""
        super().send_line(line)
        if go:
            self.began = time.perf_counter()
            if not self.sent.done():
                self.sent.set_result(None)

    def pipe_data_received(self, fd: int, data: bytes | str) -> None:
        """Take what the engine has written; errors are not for us."""
        if fd != _STDOUT or isinstance(data, str):
            return
        now = time.perf_counter()
        self._slow_down(len(data), now)
        *lines, rest = (self._rest + data).split(b"\n")
        if lines and self._skipping:
            del lines[0]
            self._skipping = False
        self._rest = b"" if self._skipping else rest
        for line in lines:
            self._take(line[:_LONGEST_LINE], now)
        if len(self._rest) > _LONGEST_LINE:
            self._rest, self._skipping = b"", True

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """Note that nothing more comes."""
        if fd == _STDOUT:
            self._lose("it has closed its output")

    def process_exited(self) -> None:
        """Note that the process is gone; what it wrote last may still be on its way."""
        code = self.transport.get_returncode() if self.transport is not None else None
        self.loop.call_later(_LAST_WORDS, self._lose, f"it has ended with code {code}")
        self.exited.set()

    def _take(self, given: bytes, now: float) -> None:
        if self._log is not None:
            self._log("<", given.decode("utf-8", "replace").strip())
        line = spaced(given)
        word, _, rest = line.partition(b" ")
        if word == b"info":
            words = rest.partition(b"string ")[0]  # what follows is for people
            if b"score " in words and (b"multipv " not in words or b"multipv 1 " in words):
                exact = not any(bound in words for bound in _BOUNDS)
                if exact or self._info is None:
                    self._info = line
        elif word == b"bestmove":
            if self.command is None or self.answer or not self.sent.done():
                return  # nobody has asked
            self.ended, self.answer = now, rest.decode("utf-8", "replace").strip() or "(none)"
            if self._info is not None:
                self._pass(self._info)
            self._pass(line)
        elif word == b"option" and self.command is not None:
            with suppress(chess.engine.EngineError):  # one that cannot be used; python-chess would give up
                self.command.line_received(line.decode("utf-8", "replace"))
        elif word in _ANSWERS:
            self._pass(word)

    def _pass(self, line: bytes) -> None:
        """Pass a line on to python-chess, which refuses some with errors of any kind."""
        try:
            self._line_received(line.decode("utf-8", "replace"))
        except Exception as error:
            self._lose(f"its line cannot be read: {error}")

    def _lose(self, reason: str) -> None:
        if not self.gone.done():
            self.gone.set_result(reason)

    def _slow_down(self, size: int, now: float) -> None:
        """Pause after much output that came without a pause."""
        self._read = size if now - self._last > _PAUSE else self._read + size
        self._last = now
        pipe = self.transport.get_pipe_transport(_STDOUT) if self.transport is not None else None
        if self._read > _RATE and isinstance(pipe, asyncio.ReadTransport):
            self._read = 0
            pipe.pause_reading()
            self.loop.call_later(_PAUSE, pipe.resume_reading)


def _score(kind: bytes, number: int) -> chess.engine.Score:
    return chess.engine.Cp(number) if kind == b"cp" else chess.engine.Mate(number)
