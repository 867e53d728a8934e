"""The protocol of an engine: that of python-chess, guarded against what engines send.

python-chess keeps and parses whatever comes. Here lines are bounded, a flood is read at a bounded rate (so
the engine pays for it with its own time, and no other game does), of all ``info`` only the last one is read,
and the times of ``go`` and ``bestmove`` are taken where bytes are written and read. An engine that ends or
closes its output is given up, though a child of it keeps that open.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final, NamedTuple

import chess.engine
from chess.engine import Cp, Mate, Score

from tbgen.documents import spaced

_LONGEST_LINE: Final = 1 << 16
"""Bytes of a line that count; the rest of a longer one is skipped."""
_RATE: Final = 1 << 20
"""Bytes that are read without a pause."""
_PAUSE: Final = 0.1
"""Seconds of a pause, and without output after which the count starts anew."""
_ANSWERS: Final = frozenset({b"readyok", b"uciok"})
_TELLING: Final = 1.0
"""Seconds between two thoughts that are told."""
_LAST_WORDS: Final = 0.2
"""Seconds after the end of a process in which its output is read, should another process keep that open."""
_STDOUT: Final = 1
_BOUNDS: Final = (b" lowerbound", b" upperbound")
_SCORE: Final = re.compile(rb" score (cp|mate) ([+-]?\d{1,9})\b")
_DEPTH: Final = re.compile(rb" depth (\d{1,9})\b")
_LINE: Final = re.compile(rb" pv((?: [a-h][1-8][a-h][1-8][qrbn]?){1,12})\b")
"""The line that an engine expects, as far as it is told to others."""


class Thought(NamedTuple):
    """What an engine has told of its search, as far as it has."""

    score: Score | None = None
    """For itself."""
    depth: int = 0
    line: str = ""
    """The moves that it expects, as :class:`tbgen.games.live_file.Ply` has them."""

    @classmethod
    def of(cls, info: bytes) -> Thought:
        """Read what stands behind ``info``."""
        score, depth, line = (found.search(info) for found in (_SCORE, _DEPTH, _LINE))
        return cls(
            None if score is None else (Cp if score[1] == b"cp" else Mate)(int(score[2])),
            0 if depth is None else int(depth[1]),
            "" if line is None else line[1].decode().strip(),
        )

    @property
    def centipawns(self) -> int | None:
        """The evaluation, mates as 100,000; None if there is none."""
        return None if self.score is None else self.score.score(mate_score=100_000)

    def comment(self, seconds: float) -> str:
        """Return evaluation, depth and time as Cute Chess writes them into PGN."""
        time = f"{seconds:.3f}s"
        if self.score is None or self.depth <= 0:
            return time
        mate = self.score.mate()
        if mate is not None:
            text = f"+M{2 * mate - 1}" if mate > 0 else f"-M{-2 * mate}"
        else:
            pawns = self.score.score(mate_score=0) / 100
            text = f"{pawns:+.2f}" if pawns else "0.00"
        return f"{text}/{self.depth} {time}"


class Uci(chess.engine.UciProtocol):
    """The protocol of one engine process.

    :param log: called with each line, with ``<`` for those of the engine and ``>`` for those to it.
    """

    def __init__(self, log: Callable[[str, str], None] | None = None) -> None:
        super().__init__()
        self.lost = ""
        """Why the engine cannot answer any more; empty as long as it can."""
        self.began = self.ended = 0.0
        """When ``go`` was sent and ``bestmove`` was read, by the clock of performance."""
        self.answer = ""
        """What stood behind ``bestmove``."""
        self.searching = False
        """Whether the one has been sent, and the other one not been read."""
        self.on_go: Callable[[], object] = lambda: None
        """Called when ``go`` has been sent."""
        self.tell: Callable[[Thought, float], object] = lambda *_: None
        """Told what is new of the thoughts, with the seconds since ``go``, while the engine thinks."""
        self._info = b""
        self._told = Thought()
        self._telling: asyncio.TimerHandle | None = None
        self._log = log
        self._rest = b""
        self._skipping = False
        self._read = 0
        self._last = 0.0

    @property
    def thought(self) -> Thought:
        """What the engine has told since ``go``."""
        return Thought.of(self._info)

    def send_line(self, line: str) -> None:
        """Send a line, and take the time of ``go``."""
        if self._log is not None:
            self._log(">", line)
        go = line.startswith("go")
        if go:
            self._info, self._told = b"", Thought()
        super().send_line(line)
        if go:
            self.began, self.searching = time.perf_counter(), True
            self.on_go()

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
        """Give the engine up, unless it has been asked to quit: nothing more comes."""
        if fd == _STDOUT and not self.lost:
            self.give_up("it has closed its output")

    def process_exited(self) -> None:
        """Give the engine up soon; what it wrote last may still be on its way."""
        code = self.transport.get_returncode() if self.transport is not None else None
        self.loop.call_later(_LAST_WORDS, self.give_up, f"it has ended with code {code}")

    def _take(self, given: bytes, now: float) -> None:
        if self._log is not None:
            self._log("<", given.decode("utf-8", "replace").strip())
        line = spaced(given)
        word, _, rest = line.partition(b" ")
        if word == b"info":
            self._hear(line.partition(b" string ")[0])  # what follows is for people
        elif word == b"bestmove" and self.searching:
            self.searching = False
            self.ended, self.answer = now, rest.decode("utf-8", "replace").strip() or "(none)"
            self._pass(line)
        elif word == b"option" and self.command is not None:
            with suppress(chess.engine.EngineError):  # one that cannot be used; python-chess would give up
                self.command.line_received(line.decode("utf-8", "replace"))
        elif word in _ANSWERS:
            self._pass(word)

    def _hear(self, info: bytes) -> None:
        """Keep what is said of the best line, and have it told in a second."""
        first = b"multipv " not in info or b"multipv 1 " in info
        exact = not any(bound in info for bound in _BOUNDS)
        if b"score " in info and first and (exact or not self._info):
            self._info = info
            if self._telling is None:
                self._telling = self.loop.call_later(_TELLING, self._tell)

    def _tell(self) -> None:
        self._telling = None
        thought = self.thought
        if self.searching and thought != self._told:
            self._told = thought
            self.tell(thought, time.perf_counter() - self.began)

    def _pass(self, line: bytes) -> None:
        """Pass a line on to python-chess, which refuses some with errors of any kind."""
        try:
            self._line_received(line.decode("utf-8", "replace"))
        except Exception as error:
            self.give_up(f"its line cannot be read: {error}")

    def give_up(self, reason: str) -> None:
        """Give the engine up; python-chess ends what waits for an answer."""
        self.lost = self.lost or reason
        if self.transport is not None:
            self.transport.close()

    def _slow_down(self, size: int, now: float) -> None:
        """Pause after much output that came without a pause."""
        self._read = size if now - self._last > _PAUSE else self._read + size
        self._last = now
        pipe = self.transport.get_pipe_transport(_STDOUT) if self.transport is not None else None
        if self._read > _RATE and isinstance(pipe, asyncio.ReadTransport):
            self._read = 0
            pipe.pause_reading()
            self.loop.call_later(_PAUSE, pipe.resume_reading)
