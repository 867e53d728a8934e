"""The UCI protocol of python-chess, protected against malformed and excessive output of engines.

python-chess by itself keeps and parses all output. In this module:

- the length of lines is bounded;
- excessive output is read at a bounded rate, so that it costs only the engine's own time;
- only the last ``info`` line is parsed, or the last one for each place among the best moves (``multipv``);
- the times of ``go`` and ``bestmove`` are measured where bytes are written and read;
- an engine that terminates or closes its output is abandoned, even if a child process keeps the output open.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final, NamedTuple

import chess.engine
from chess.engine import Cp, Mate, Score

from tbgen.system.processes import kill_tree

_MAX_LINE_BYTES: Final = 1 << 16
"""Maximum length of a line; the rest is cut off."""
_MAX_BURST_BYTES: Final = 1 << 20
"""Maximum amount of output that is read without a pause."""
_PAUSE_SECONDS: Final = 0.1
"""Length of a pause; a burst ends when there has been no output for this time."""
_PASSED_ON_WORDS: Final = frozenset({b"readyok", b"uciok"})
"""Words that are passed on to python-chess, without the rest of their line."""
_REPORT_SECONDS: Final = 1.0
"""Minimum interval between two reports of thoughts."""
_LAST_OUTPUT_SECONDS: Final = 0.2
"""Time to keep reading after a process has ended; another process may keep its output open forever."""
_MAX_PLACE_DIGITS: Final = 2
"""Maximum number of digits of a place: python-chess keeps results for all places up to the last one."""
_NO_MOVE: Final = b"bestmove (none)"
_STDOUT: Final = 1
_BOUND_WORDS: Final = (b" lowerbound", b" upperbound")
_SCORE_PATTERN: Final = re.compile(rb" score (cp|mate) ([+-]?\d{1,9})\b")
_DEPTH_PATTERN: Final = re.compile(rb" depth (\d{1,9})\b")
_FIGURE_PATTERNS: Final = tuple(
    re.compile(rb" %s (\d{1,18})\b" % word) for word in (b"nodes", b"nps", b"tbhits")
)
_PV_PATTERN: Final = re.compile(rb" pv((?: [a-h][1-8][a-h][1-8][qrbn]?){1,12})\b")
"""Matches the first 12 plies of the expected line, which spectators see."""

chess.engine.LOGGER.setLevel(logging.CRITICAL)  # python-chess would report every unusual line


class Thought(NamedTuple):
    """An engine's report on its search. Parts that the engine did not report have their default values."""

    score: Score | None = None
    """Evaluation from the engine's point of view."""
    depth: int = 0
    line: str = ""
    """The expected moves, in the form of :class:`tbgen.games.live_file.Ply`."""
    nodes: int | None = None
    speed: int | None = None
    """Nodes per second."""
    hits: int | None = None
    """Positions found in tablebases."""

    @classmethod
    def of(cls, info: bytes) -> Thought:
        """Parse an ``info`` line."""
        score, depth, line = (regex.search(info) for regex in (_SCORE_PATTERN, _DEPTH_PATTERN, _PV_PATTERN))
        figures = (regex.search(info) for regex in _FIGURE_PATTERNS)
        return cls(
            None if score is None else (Cp if score[1] == b"cp" else Mate)(int(score[2])),
            0 if depth is None else int(depth[1]),
            "" if line is None else line[1].decode().strip(),
            *(None if figure is None else int(figure[1]) for figure in figures),
        )

    @property
    def centipawns(self) -> int | None:
        """The evaluation in centipawns, 100,000 - n for a mate in n moves; None if there is no evaluation."""
        return None if self.score is None else self.score.score(mate_score=100_000)

    def comment(self, seconds: float) -> str:
        """Return the evaluation, the depth and the time as Cute Chess writes them in PGN."""
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


class EngineProtocol(chess.engine.UciProtocol):
    """The protocol of one engine process.

    :param log: called for each line with its direction (``<`` from the engine, ``>`` to it) and its text.
    """

    def __init__(self, log: Callable[[str, str], None] | None = None) -> None:
        super().__init__()
        self.failure = ""
        """The reason why the engine can no longer respond; empty as long as it can."""
        self.go_time = self.bestmove_time = 0.0
        """Values of ``time.perf_counter`` when ``go`` was sent and when ``bestmove`` was read."""
        self.answer = ""
        """The text that followed ``bestmove``; empty until it is read."""
        self.searching = False
        """Whether ``go`` has been sent and ``bestmove`` has not been read yet."""
        self.on_go: Callable[[], object] = lambda: None
        """Function called when ``go`` has been sent."""
        self.on_info: Callable[[bytes], object] = lambda _: None
        """Function called with each ``info`` line."""
        self.on_thought: Callable[[Thought, float], object] = lambda *_: None
        """Function called with each new thought and the seconds since ``go``, while the engine thinks."""
        self._info = b""
        self._reported = Thought()
        self._next_report: asyncio.TimerHandle | None = None
        self._log = log
        self._unfinished = b""
        self._skipping = False
        self._burst_bytes = 0
        """Number of bytes read since the last pause."""
        self._last_read = 0.0

    @property
    def thought(self) -> Thought:
        """The latest thought since ``go``."""
        return Thought.of(self._info)

    def send_line(self, line: str) -> None:
        """Send a line; if it is ``go``, record the time."""
        if self._log is not None:
            self._log(">", line)
        is_go = line.startswith("go")
        if is_go:
            self._info = b""
            self._reported = Thought()
        super().send_line(line)
        if is_go:
            self.go_time = time.perf_counter()
            self.searching = True
            self.on_go()

    def pipe_data_received(self, fd: int, data: bytes | str) -> None:
        """Process the engine's output; its standard error is ignored."""
        if fd != _STDOUT or isinstance(data, str):
            return
        now = time.perf_counter()
        self._limit_rate(len(data), now)
        *lines, unfinished = (self._unfinished + data).split(b"\n")
        if lines and self._skipping:
            del lines[0]
            self._skipping = False
        self._unfinished = b"" if self._skipping else unfinished
        for line in lines:
            self._process_line(line[:_MAX_LINE_BYTES], now)
        if len(self._unfinished) > _MAX_LINE_BYTES:
            self._unfinished = b""
            self._skipping = True

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """Give up on an engine that has closed its output, unless it has been asked to quit."""
        if fd == _STDOUT and not self.failure:
            self.give_up("it has closed its output")

    def process_exited(self) -> None:
        """Give up on an engine that has terminated, after a delay in which its last output is read."""
        code = self.transport.get_returncode() if self.transport is not None else None
        delay = 0.0 if self.failure else _LAST_OUTPUT_SECONDS
        self.loop.call_later(delay, self.give_up, f"it has ended with code {code}")

    def _process_line(self, raw: bytes, now: float) -> None:
        if self._log is not None:
            self._log("<", raw.decode("utf-8", "replace").strip())
        line = b" ".join(raw.split())
        word, _, rest = line.partition(b" ")
        if word == b"info":
            self.on_info(line)
            info = line.partition(b" string ")[0]  # free text follows ``string``
            if self.searching and self._keep_info(info) and self._next_report is None:
                self._next_report = self.loop.call_later(_REPORT_SECONDS, self._report)
        elif word == b"bestmove" and self.searching:
            self.searching = False
            self.bestmove_time = now
            self.answer = rest.decode("utf-8", "replace").strip() or "(none)"
            self._pass_on(line)
        elif word == b"option" and self.command is not None:
            with suppress(chess.engine.EngineError):  # a malformed option is ignored, not fatal
                self.command.line_received(line.decode("utf-8", "replace"))
        elif word in _PASSED_ON_WORDS:
            self._pass_on(word)

    def _keep_info(self, info: bytes) -> bool:
        """Keep an ``info`` line if it is about the best move; return whether it is kept."""
        is_best_line = b"multipv " not in info or b"multipv 1 " in info
        is_exact = not any(bound in info for bound in _BOUND_WORDS)
        is_kept = b"score " in info and is_best_line and (is_exact or not self._info)
        if is_kept:
            self._info = info
        return is_kept

    def _report(self) -> None:
        self._next_report = None
        thought = self.thought
        if self.searching and thought != self._reported:
            self._reported = thought
            self.on_thought(thought, time.perf_counter() - self.go_time)

    def _pass_on(self, line: bytes) -> None:
        """Pass a line on to python-chess, which may raise errors of any kind."""
        try:
            self._line_received(line.decode("utf-8", "replace"))
        except Exception as error:
            self.give_up(f"its line cannot be read: {error}")

    def give_up(self, reason: str) -> None:
        """Stop using the engine; python-chess then cancels all pending commands.

        The transport is closed only after the process has ended. Closing it earlier would consume the exit
        code that asyncio is waiting for, and asyncio would print a warning.
        """
        self.failure = self.failure or reason
        if self.transport is None:
            return
        if self.transport.get_returncode() is None:
            kill_tree(self.transport.get_pid())
        else:
            self.transport.close()

    def _limit_rate(self, size: int, now: float) -> None:
        """Pause reading after a large burst of output."""
        self._burst_bytes = size if now - self._last_read > _PAUSE_SECONDS else self._burst_bytes + size
        self._last_read = now
        pipe = self.transport.get_pipe_transport(_STDOUT) if self.transport is not None else None
        if self._burst_bytes > _MAX_BURST_BYTES and isinstance(pipe, asyncio.ReadTransport):
            self._burst_bytes = 0
            pipe.pause_reading()
            self.loop.call_later(_PAUSE_SECONDS, pipe.resume_reading)


class AnalysisProtocol(EngineProtocol):
    """The protocol of an engine whose results python-chess collects.

    python-chess makes the moves of every line on a board. When moves took 0.1 s each, this cost a third of
    tbgen's processor time. Therefore only the last line for each place is passed on, every second and before
    the engine's move.
    """

    def __init__(self) -> None:
        super().__init__()
        self._last_lines: dict[tuple[bytes, bool, bool], bytes] = {}
        """The last line for each place, with a score, with moves, or with both, in the order of arrival."""

    def _keep_info(self, info: bytes) -> bool:
        """Keep an ``info`` line if it has a score or moves; return whether it is kept."""
        _, is_numbered, rest = info.partition(b" multipv ")
        place = rest.partition(b" ")[0] if is_numbered else b"1"
        key = place, b" score " in info, b" pv " in info
        if len(place) > _MAX_PLACE_DIGITS or not place.isdigit() or not any(key[1:]):
            return False
        self._last_lines.pop(key, None)
        self._last_lines[key] = info
        return True

    def _report(self) -> None:
        self._next_report = None
        for line in self._last_lines.values():
            super()._pass_on(line)
        self._last_lines.clear()

    def _pass_on(self, line: bytes) -> None:
        self._report()
        if line.startswith(b"bestmove"):
            try:
                self.board.parse_uci(self.answer.partition(" ")[0].lower())
            except ValueError:  # python-chess would wait for another answer
                line = _NO_MOVE
        super()._pass_on(line)
