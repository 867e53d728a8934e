"""Thinking time: the command ``go``, and the timer of one move."""

import math
import re
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, Final

_INTEGER_PATTERN: Final = re.compile(r"-?\d{1,15}", re.ASCII)
_LIMITS: Final = (*("wtime", "btime", "winc", "binc", "movestogo"), *("movetime", "depth", "nodes", "mate"))
_KEYWORDS: Final = ("searchmoves", "ponder", "infinite", *_LIMITS)
_LEAST: Final = {"movetime": 1, "depth": 1, "nodes": 1, "mate": 1, "movestogo": 1, "winc": 0, "binc": 0}
"""The least number that each keyword accepts. A clock may have run out, so it has no least number."""
_DEPTH_KEYWORDS: Final = (("depth", 1), ("mate", 2))
"""Keywords that limit the depth, each with the number of plies in its unit: 1 for a ply, 2 for a move by each
side."""
_DEFAULT_MOVES_TO_GO: Final = 30
"""Number of moves to budget for if the command has no ``movestogo``."""
_MAX_CLOCK_SHARE: Final = 0.4
"""Largest share of the clock that one move may use."""
_RESERVE_FACTOR: Final = 5
"""Reserve on the clock, as a multiple of the overhead. On a busy machine, one move in a few hundred loses
this much time."""
_MAX_OVERRUN: Final = 3
"""A move may use at most this multiple of its target time, to finish an iteration."""
_LAST_START_SHARE: Final = 0.5
"""Share of a move's target time after which no new iteration starts, because it would rarely finish.

A fixed time (``movetime``) is used in full, because no later move can use the rest of it.
"""
_LINES_SHARE: Final = 0.25
"""Share of a move's target time after which lines of best play, which are only for display, are cut."""
_MAX_DEDUCTED_SHARE: Final = 0.02
"""Largest share of a fixed time that is deducted as overhead. It is small, because other
engines use a fixed time in full."""
_MIN_SECONDS: Final = 0.005
"""Minimum thinking time of a move."""


@dataclass(frozen=True)
class Go:
    """The limits that a ``go`` command gives.

    :ivar moves: the moves to choose from, in UCI notation; empty for all legal moves.
    :ivar numbers: maps each keyword to its number; times are in milliseconds.
    :ivar problems: a sentence about each limit that is malformed or too small.
    """

    moves: tuple[str, ...] = ()
    ponder: bool = False
    infinite: bool = False
    numbers: dict[str, int] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    @classmethod
    def parse(cls, words: Sequence[str]) -> "Go":
        """Parse the words after ``go``, skipping unknown words.

        >>> Go.parse("depth 3 searchmoves e2e4 d2d4".split())
        Go(moves=('e2e4', 'd2d4'), ponder=False, infinite=False, numbers={'depth': 3}, problems=())
        """
        moves: list[str] = []
        numbers: dict[str, int] = {}
        problems: list[str] = []
        keyword = ""
        for word, following in zip_longest(words, words[1:], fillvalue=""):
            if word in _LIMITS and _INTEGER_PATTERN.fullmatch(following):
                minimum = _LEAST.get(word, int(following))
                numbers[word] = max(int(following), minimum)
                if int(following) < minimum:
                    problems.append(f"go {word} {following} is too small: {minimum} is used")
            elif word in _LIMITS:
                problems.append(f"go {word} needs a whole number and is ignored")
            if word in _KEYWORDS:
                keyword = word
            elif keyword == "searchmoves":
                moves.append(word)
        return cls(tuple(moves), "ponder" in words, "infinite" in words, numbers, tuple(problems))

    @property
    def depth(self) -> int | None:
        """Maximum number of plies to search; None for no limit. A mate in n moves takes at most 2n plies."""
        limits = [plies * self.numbers[word] for word, plies in _DEPTH_KEYWORDS if word in self.numbers]
        return min(limits, default=None)

    def time_limits(self, white: bool, overhead: float) -> tuple[float | None, float | None]:
        """Return the target and the maximum thinking time of a side, in seconds; None for no limit.

        :param overhead: seconds that each move loses between engine and clock.
        """
        if "movetime" in self.numbers:
            move_seconds = self.numbers["movetime"] / 1000
            move_seconds = max(move_seconds - min(overhead, _MAX_DEDUCTED_SHARE * move_seconds), _MIN_SECONDS)
            return move_seconds, move_seconds
        clock = self.numbers.get("wtime" if white else "btime")
        if clock is None or self.infinite:  # the opponent's clock sets no limit
            return None, None
        increment = self.numbers.get("winc" if white else "binc", 0) / 1000
        available = clock / 1000 - overhead
        spendable = max(clock / 1000 - _RESERVE_FACTOR * overhead, 0)
        moves = min(self.numbers.get("movestogo", _DEFAULT_MOVES_TO_GO), _DEFAULT_MOVES_TO_GO)
        maximum = max(available * (0.9 if moves == 1 else _MAX_CLOCK_SHARE), _MIN_SECONDS)
        share = spendable / moves + min(0.8 * _usable_part(increment, overhead), spendable)
        target = min(max(share, _MIN_SECONDS), maximum)
        return target, min(_MAX_OVERRUN * target, maximum)


class Timer:
    """The timer of one move; thread-safe.

    :param overhead: seconds that each move loses between engine and clock.
    """

    def __init__(self, go: Go, white: bool, overhead: float = 0.0) -> None:
        self.go = go
        """The limits that the ``go`` command gives."""
        self._overhead = overhead
        clock = go.numbers.get("wtime" if white else "btime")
        self._clock = math.inf if clock is None or "movetime" in go.numbers else clock / 1000
        self.target, self._maximum = go.time_limits(white, overhead)
        """Seconds that the move should take; None for no limit."""
        self._max_nodes = go.numbers.get("nodes")
        self.is_fixed = "movetime" in go.numbers
        """Whether the move has a fixed time; later moves cannot use the rest of it."""
        self._last_start_share = 1 if self.is_fixed else _LAST_START_SHARE
        self._pondering = go.ponder
        is_unlimited = self._maximum is None and self._max_nodes is None and go.depth is None
        self._endless = go.infinite or is_unlimited
        self.stopped = False
        """Whether the move must be made at once."""
        self._change_condition = threading.Condition()
        self._clock_start = self._go_start = time.perf_counter()

    @property
    def is_limited(self) -> bool:
        """Whether thinking time is limited at present. If so, a forced move is made at once."""
        return self.target is not None and not self._pondering

    @property
    def clock_seconds(self) -> float:
        """Seconds remaining on the clock, minus the overhead of this move; infinite if there is no clock."""
        return self._clock - self._overhead - self.elapsed

    @property
    def remaining(self) -> float:
        """Seconds remaining of the maximum time; infinite if there is no time limit, and while pondering."""
        if self._maximum is None or self._pondering:
            return math.inf
        return self._maximum - (time.perf_counter() - self._clock_start)

    @property
    def elapsed(self) -> float:
        """Seconds since the command ``go``."""
        return time.perf_counter() - self._go_start

    def stop(self) -> None:
        """Request that the move be made at once."""
        with self._change_condition:
            self._pondering = False
            self.stopped = True
            self._change_condition.notify_all()

    def ponder_hit(self) -> None:
        """Start the clock: the opponent has made the expected move."""
        with self._change_condition:
            self._pondering = False
            self._clock_start = time.perf_counter()
            self._change_condition.notify_all()

    def is_over(self, nodes: int = 0) -> bool:
        """Return whether the move has used up its time or nodes, or has been stopped."""
        out_of_nodes = self._max_nodes is not None and nodes >= self._max_nodes and not self._pondering
        return out_of_nodes or self._is_past(1, self._maximum)

    def must_stop_deepening(self) -> bool:
        """Return whether it is too late for the search to start another iteration."""
        return self._is_past(self._last_start_share, self.target)

    def clocks(self) -> dict[str, Any]:
        """Return the clocks and increments, in seconds, under the names that python-chess uses.

        The reserve and the time used so far are deducted from the clocks; the overhead is deducted from the
        increments.
        """
        names = {"wtime": "white_clock", "btime": "black_clock", "winc": "white_inc", "binc": "black_inc"}
        times = {names[word]: ms / 1000 for word, ms in self.go.numbers.items() if word in names}
        spent = _RESERVE_FACTOR * self._overhead + self.elapsed
        return {
            name: max(value - spent, _MIN_SECONDS) if "clock" in name else _usable_part(value, self._overhead)
            for name, value in times.items()
        }

    def lines_are_due(self) -> bool:
        """Return whether lines of best play in tables have used their share of the move's time."""
        return self._is_past(_LINES_SHARE, self.target)

    def is_half_over(self) -> bool:
        """Return whether half of the maximum time has passed."""
        return self._is_past(1 / 2, self._maximum)

    def wait(self) -> None:
        """Wait until the move may be printed.

        While the engine ponders, the move must wait. In a search without limits, it must wait for ``stop``.
        """
        with self._change_condition:
            self._change_condition.wait_for(lambda: self.stopped or not (self._pondering or self._endless))

    def _is_past(self, share: float, seconds: float | None) -> bool:
        """Return whether the move has been stopped, or the given share of a time limit has passed."""
        if self._pondering or seconds is None:
            return self.stopped
        return self.stopped or time.perf_counter() - self._clock_start >= share * seconds


def _usable_part(increment: float, overhead: float) -> float:
    """Return the seconds of an increment that a move may count on.

    At most half of the increment is assumed to be lost to overhead. If more is lost, the next
    clock time that the engine receives shows the loss; until then the reserve covers it.
    """
    return max(increment - overhead, increment / 2)
