"""Time controls and the clock of a player."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from chess import BLACK, WHITE, Color
from chess.engine import Limit

from tbgen.errors import UsageError, quote

_CONTROL_PATTERN: Final = re.compile(
    r"(?a)(?:(?P<moves>\d{1,4})/)?(?P<time>[\d:.]{1,12})(?:\+(?P<increment>\d{1,6}(?:\.\d+)?))?"
)
_SECONDS_PATTERN: Final = re.compile(r"(?:(?P<minutes>\d{1,6}):)?(?P<seconds>\d{1,8}(?:\.\d+)?)", re.ASCII)

_MAX_NODES_FACTOR: Final = 10
_MAX_DEPTH_FACTOR: Final = 2


def parse_seconds(text: str) -> float:
    """Parse a time: seconds such as ``60`` or ``0.5``, or minutes and seconds such as ``1:30``.

    :raises UsageError: if the text is anything else.
    """
    match = _SECONDS_PATTERN.fullmatch(text)
    if match is None:
        raise UsageError(f"{quote(text)} is not a time: expected seconds such as 60 or 0.5, or 1:30")
    return 60 * int(match["minutes"] or 0) + float(match["seconds"])


@dataclass(frozen=True, slots=True)
class TimeControl:
    """The limits of an engine's searches. By default there is no limit and no clock."""

    moves: int = 0
    """Number of moves after which ``time`` is added again; 0 if it is never added again."""
    time: float | None = None
    """Seconds for ``moves`` moves, or for the whole game if ``moves`` is 0; None if there is no clock."""
    increment: float = 0.0
    """Seconds added to the clock after each move."""
    per_move: float | None = None
    """Seconds for each move; None if a move has no time limit of its own."""
    depth: int | None = None
    nodes: int | None = None
    margin: float = 0.0
    """Seconds by which a move may exceed its time without losing the game."""

    @property
    def has_time_limit(self) -> bool:
        """Whether the time of a search is limited."""
        return self.time is not None or self.per_move is not None

    @property
    def has_limit(self) -> bool:
        """Whether a search has any limit."""
        return self.has_time_limit or bool(self.untimed_limits)

    @property
    def untimed_limits(self) -> str:
        """All limits other than those of time, as words of ``--engine``; empty if there are none."""
        limits = {"depth": self.depth, "nodes": self.nodes}
        return " ".join(f"{word}={value}" for word, value in limits.items() if value is not None)

    def excess(self, nodes: int | None, depth: int) -> str:
        """Return, in words, how far a search has passed its limits; empty if it has not, or only a little.

        Programs count nodes and depths in their own ways, so only ten times the nodes, or twice the depth,
        show that a limit is ignored.
        """
        if self.nodes is not None and nodes is not None and nodes > _MAX_NODES_FACTOR * self.nodes:
            return f"nodes={self.nodes}: it has searched {nodes:,} nodes for a move"
        if self.depth is not None and depth > _MAX_DEPTH_FACTOR * self.depth:
            return f"depth={self.depth}: it has searched a move to depth {depth}"
        return ""

    @classmethod
    def parse(cls, text: str, margin: float = 0.0) -> TimeControl:
        """Parse a time control of Cute Chess: ``inf``, or moves/time+increment such as ``40/60+0.6``.

        :raises UsageError: if the text is anything else, or both time and increment are 0.
        """
        if text == "inf":
            return cls(margin=margin)
        match = _CONTROL_PATTERN.fullmatch(text)
        if match is None:
            raise UsageError(
                f"{quote(text)} is not a time control: expected one such as 40/60+0.6, 10+0.1 or inf"
            )
        moves = int(match["moves"] or 0)
        time = parse_seconds(match["time"])
        increment = float(match["increment"] or 0)
        if not time + increment:
            raise UsageError(f"the time control {quote(text)} gives no time: expected one such as 10+0.1")
        return cls(moves, time, increment, margin=margin)

    def __str__(self) -> str:
        """Return the value of the tag ``TimeControl``: ``inf``, as in Cute Chess, if time is unlimited."""
        if self.per_move is not None:
            return f"1/{self.per_move:g}"
        if self.time is None:
            return "inf"
        moves = f"{self.moves}/" if self.moves else ""
        return f"{moves}{self.time:g}" + (f"+{self.increment:g}" if self.increment else "")


class Clock:
    """The clock of a player."""

    def __init__(self, control: TimeControl) -> None:
        self.control = control
        self.seconds_left = control.time if control.time != 0 else control.increment  # as on Lichess for 0+5
        """Remaining seconds; negative if the margin is in use, None if there is no clock."""
        self.moves_remaining = control.moves or None
        """Number of moves until the time is added again; None if it is never added again."""

    @property
    def allowed_seconds(self) -> float | None:
        """Seconds that the next move may take, including the margin; None if there is no time limit."""
        limits = [limit for limit in (self.seconds_left, self.control.per_move) if limit is not None]
        return min(limits) + self.control.margin if limits else None

    def spend(self, seconds: float) -> None:
        """Deduct the time that a move took, and add the time for further moves."""
        if self.seconds_left is not None and self.control.time is not None:
            self.seconds_left += self.control.increment - seconds
            if self.moves_remaining is not None:
                self.moves_remaining -= 1
                if not self.moves_remaining:
                    self.moves_remaining = self.control.moves
                    self.seconds_left += self.control.time


def limit_of(clocks: Mapping[Color, Clock], mover: Color) -> Limit:
    """Return the limits to send to the engine whose turn it is.

    :param clocks: the clocks of White (True) and Black.
    """
    white, black = clocks[WHITE], clocks[BLACK]
    clock = clocks[mover]
    control = clock.control
    has_clock = clock.seconds_left is not None
    return Limit(
        time=control.per_move,
        depth=control.depth,
        nodes=control.nodes,
        white_clock=white.seconds_left if has_clock else None,
        black_clock=black.seconds_left if has_clock else None,
        white_inc=white.control.increment or None if has_clock else None,
        black_inc=black.control.increment or None if has_clock else None,
        remaining_moves=clock.moves_remaining if has_clock else None,
    )
