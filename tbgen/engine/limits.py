"""How long to think: what the command ``go`` asks for, and the timer of one move."""

import math
import re
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, Final

_WHOLE: Final = re.compile(r"-?\d{1,15}", re.ASCII)
_NUMBERS: Final = (*("wtime", "btime", "winc", "binc", "movestogo"), *("movetime", "depth", "nodes", "mate"))
_WORDS: Final = ("searchmoves", "ponder", "infinite", *_NUMBERS)
_PLIES: Final = (("depth", 1), ("mate", 2))
"""Limits of depth, and the plies of each unit."""
_MOVES_LEFT: Final = 30
"""Moves to have time for where nobody says how many."""
_AT_MOST: Final = 0.4
"""Share of the time left that one move may take."""
_IN_HAND: Final = 5
"""Overheads that are kept in hand: on a busy machine one move in some hundred loses as much."""
_LONGER: Final = 3
"""How many times its share a move may take once an iteration has begun."""
_ITERATION: Final = 0.5
"""Share of its time after which a move begins no iteration: it would not end. A fixed time is used up, since
no other move has what is left."""
_FIXED_LOSS: Final = 0.02
"""Share of a fixed time that is taken off at most: other engines take nothing off."""
_LEAST: Final = 0.005
"""Seconds that a move has in any case."""


@dataclass(frozen=True)
class Go:
    """What a command ``go`` asks for; times are in milliseconds, None where it says nothing.

    :ivar moves: the moves to choose among, in UCI; none for all.
    :ivar numbers: by the words of the protocol.
    :ivar wrong: words that a whole number should follow, and none does.
    """

    moves: tuple[str, ...] = ()
    ponder: bool = False
    infinite: bool = False
    numbers: dict[str, int] = field(default_factory=dict)
    wrong: tuple[str, ...] = ()

    @classmethod
    def parse(cls, words: Sequence[str]) -> "Go":
        """Read the words after ``go``; those that mean nothing are passed over.

        >>> Go.parse("depth 3 searchmoves e2e4 d2d4".split())
        Go(moves=('e2e4', 'd2d4'), ponder=False, infinite=False, numbers={'depth': 3}, wrong=())
        """
        moves: list[str] = []
        numbers: dict[str, int] = {}
        wrong: list[str] = []
        keyword = ""
        for word, following in zip_longest(words, words[1:], fillvalue=""):
            if word in _NUMBERS and _WHOLE.fullmatch(following):
                numbers[word] = int(following)
            elif word in _NUMBERS:
                wrong.append(word)
            if word in _WORDS:
                keyword = word
            elif keyword == "searchmoves":
                moves.append(word)
        return cls(tuple(moves), "ponder" in words, "infinite" in words, numbers, tuple(wrong))

    @property
    def depth(self) -> int | None:
        """Plies to search; a mate in so many moves is one in at most twice as many plies."""
        given = [times * self.numbers[word] for word, times in _PLIES if word in self.numbers]
        return max(min(given), 1) if given else None

    def seconds(self, white: bool, overhead: float) -> tuple[float | None, float | None]:
        """Return how long a side should think, and how long it may; None for as long as it likes.

        :param overhead: seconds that each move loses on the way to the clock.
        """
        if "movetime" in self.numbers:
            given = self.numbers["movetime"] / 1000
            given = max(given - min(overhead, _FIXED_LOSS * given), _LEAST)
            return given, given
        left = self.numbers.get("wtime" if white else "btime")
        if left is None or self.infinite:  # the clock of the other side is none of ours
            return None, None
        increment = max(self.numbers.get("winc" if white else "binc", 0), 0) / 1000
        there, free = left / 1000 - overhead, max(left / 1000 - _IN_HAND * overhead, 0)
        moves = min(max(self.numbers.get("movestogo", _MOVES_LEFT), 1), _MOVES_LEFT)
        most = max(there * (0.9 if moves == 1 else _AT_MOST), _LEAST)
        share = free / moves + min(0.8 * _usable(increment, overhead), free)
        should = min(max(share, _LEAST), most)
        return should, min(_LONGER * should, most)


class Timer:
    """The timer of one move; safe for threads.

    :param overhead: seconds that get lost on the way to the clock of the game.
    """

    def __init__(self, go: Go, white: bool, overhead: float = 0.0) -> None:
        self.go = go
        """What is asked for."""
        self._overhead = overhead
        clock = go.numbers.get("wtime" if white else "btime")
        self._clock = math.inf if clock is None or "movetime" in go.numbers else clock / 1000
        self.share, self._may = go.seconds(white, overhead)
        """Seconds that the move should take, None for no limit."""
        self._nodes = go.numbers.get("nodes")
        self.fixed = "movetime" in go.numbers
        """Whether the move has a time of its own: no other move has what is left of it."""
        self._iteration = 1 if self.fixed else _ITERATION
        self._pondering = go.ponder
        nothing = self._may is None and self._nodes is None and go.depth is None
        self._endless = go.infinite or nothing
        self.stopped = False
        """Whether the move is wanted at once."""
        self._changed = threading.Condition()
        self._began = self._first = time.perf_counter()

    @property
    def limited(self) -> bool:
        """Whether time is short, so that an obvious move is made at once."""
        return self.share is not None and not self._pondering

    @property
    def left(self) -> float:
        """Seconds left on the clock after what gets lost; infinite without a clock."""
        return self._clock - self._overhead - self.elapsed

    @property
    def rest(self) -> float:
        """Seconds that the move may still take; infinite without a limit of time and while pondering."""
        if self._may is None or self._pondering:
            return math.inf
        return self._may - (time.perf_counter() - self._began)

    @property
    def elapsed(self) -> float:
        """Seconds since the command."""
        return time.perf_counter() - self._first

    def stop(self) -> None:
        """Ask for the move at once."""
        with self._changed:
            self._pondering, self.stopped = False, True
            self._changed.notify_all()

    def ponder_hit(self) -> None:
        """Begin to count: the move that was pondered on has been made."""
        with self._changed:
            self._pondering, self._began = False, time.perf_counter()
            self._changed.notify_all()

    def over(self, nodes: int = 0) -> bool:
        """Tell whether there is no more time, or so many nodes are enough."""
        enough_nodes = self._nodes is not None and nodes >= self._nodes and not self._pondering
        return enough_nodes or self._is_past(1, self._may)

    def enough(self) -> bool:
        """Tell whether no other iteration should begin."""
        return self._is_past(self._iteration, self.share)

    def clocks(self) -> dict[str, Any]:
        """Return clocks and increments in seconds by the names of python-chess, less what has been used, what
        stays in hand, and what each move loses."""
        names = {"wtime": "white_clock", "btime": "black_clock", "winc": "white_inc", "binc": "black_inc"}
        told = {name: self.go.numbers[word] / 1000 for word, name in names.items() if word in self.go.numbers}
        lost = _IN_HAND * self._overhead + self.elapsed
        return {
            name: max(left - lost, _LEAST) if "clock" in name else _usable(left, self._overhead)
            for name, left in told.items()
        }

    def half(self) -> bool:
        """Tell whether half of the time is over."""
        return self._is_past(1 / 2, self._may)

    def wait(self) -> None:
        """Wait until the move may be told: after ``stop`` if only that ends it, and not while pondering."""
        with self._changed:
            self._changed.wait_for(lambda: self.stopped or not (self._pondering or self._endless))

    def _is_past(self, part: float, seconds: float | None) -> bool:
        """Tell whether the move is wanted at once, or a part of some seconds, None for no limit, is over."""
        if self._pondering or seconds is None:
            return self.stopped
        return self.stopped or time.perf_counter() - self._began >= part * seconds


def _usable(increment: float, overhead: float) -> float:
    """Return how many seconds of an increment a move may count on.

    What gets lost is not taken for more than half of it: the clock shows how much it really is, and what is
    in hand bears it until then.
    """
    return max(increment - overhead, increment / 2)
