"""What a server is told, and the bounds of what it takes."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tbgen.beyond.budget import Budget

DOCUMENT_PATH: Final = "/openapi.json"
SOLVE_PATH: Final = "/r/solve"
REPLY_PATH: Final = "/r/reply"
MOST_FEN_LETTERS: Final = 200
"""The longest FEN of seven fields has some 110."""
MOST_BODY_BYTES: Final = 256 << 10
"""A game of 500 plies with long comments has some 100 KiB."""
MOST_GAMES_BYTES: Final = 2 << 20
"""Of a text with many games."""
MOST_BATCH: Final = 100
"""Positions of one batch."""
MOST_PLIES: Final = 2000
"""Plies of a game, with its variations."""
MOST_FRAMES: Final = 200
"""Positions of a line as an animated GIF."""
MOST_GAMES: Final = 500
"""Games of one text."""
MOST_PLIES_OF_GAMES: Final = 50_000
"""Plies of all of them, some five seconds of work."""
BODY_SECONDS: Final = 20.0
"""How long the body of a request may take to arrive."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the operator decides."""

    directories: tuple[Path, ...] = ()
    """Where tables lie; none for the default one."""
    report: Path | None = None
    """Where ``tbgen report`` has written its site; None for nothing under ``/report/``."""
    solve: Budget | None = None
    """What solving one position beyond the tables may take; None for no solving."""
    engine: tuple[str, ...] = ()
    """The command of the UCI engine that plays where no table holds the position; none for tbgen's own."""
    move_seconds: float | None = 1.0
    """What it may take for a move; None for no engine."""
    live: Path | None = None
    """The PGN file of a running event that is shown at ``/live``; None for no event."""
    until_over: bool = False
    """Whether the server ends with that event."""
    limit: float = 0.5
    """Seconds of processor time that one client may take per second in the long run; 0 for no limit."""
    burst: float = 60.0
    """Seconds of processor time that a client may take at once after a pause."""
    quick_threads: int = 2
    """Threads for single positions."""
    slow_threads: int = 2
    """Threads for all that takes longer: lines, batches, games, samples, statistics."""
    eager: bool = True
    """Whether what reads packed tables is compiled before the first answer."""
    waiting: int = 200
    """Requests that may wait for either kind of thread."""
