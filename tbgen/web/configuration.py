"""The settings of a server, and the limits of requests. They are read before starlette is loaded."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tbgen.beyond.budget import Budget

OPENAPI_PATH: Final = "/openapi.json"
MAX_FEN_LENGTH: Final = 200
"""Maximum length of a FEN, in characters; the longest FEN of seven fields has about 110."""
MAX_BODY_BYTES: Final = 256 << 10
"""Maximum size of a body without several games; a game of 500 plies with long comments has about 100 KiB."""
MAX_GAMES_BYTES: Final = 2 << 20
"""Maximum size of a PGN text with several games."""
MAX_BATCH_POSITIONS: Final = 100
"""Maximum number of positions in a batch."""
MAX_PLIES: Final = 2000
"""Maximum number of plies in a game with its variations."""
MAX_FRAMES: Final = 200
"""Maximum number of positions in an animated GIF."""
MAX_GAMES: Final = 500
"""Maximum number of games in a PGN text."""
MAX_TOTAL_PLIES: Final = 50_000
"""Maximum number of plies in all games of a PGN text, which take about five seconds."""
BODY_SECONDS: Final = 20.0
"""Maximum time for the body of a request to arrive."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The operator's settings."""

    directories: tuple[Path, ...] = ()
    """Directories of the tables; empty for the default one."""
    check: bool = False
    """Whether each table is compared with its digest when its file is opened."""
    report_directory: Path | None = None
    """Directory of a site written by ``tbgen report``, served under ``/report/``; None if there is none."""
    solve_budget: Budget | None = None
    """Budget for solving one position beyond the tables; None if nothing is solved."""
    engine_command: tuple[str, ...] = ()
    """Command of the UCI engine that plays where no table holds the position; empty for tbgen's own
    engine."""
    move_seconds: float | None = 1.0
    """The engine's time per move, in seconds; None if there is no engine."""
    live_file: Path | None = None
    """PGN file of a running event that is shown at ``/live``; None if no event is shown."""
    ends_with_event: bool = False
    """Whether the server ends when the event of ``live_file`` is over."""
    limit: float = 0.5
    """Seconds of processor time that one client may use per second in the long run; 0 for no limit."""
    burst: float = 60.0
    """Seconds of processor time that one client may use at once after a pause."""
    quick_threads: int = 2
    """Number of threads for single positions."""
    slow_threads: int = 2
    """Number of threads for slower answers: lines, batches, games, samples, statistics."""
    precompiles: bool = True
    """Whether the kernels that read packed tables are compiled before the first request."""
    max_waiting: int = 200
    """Maximum number of requests that wait for quick threads; the same maximum applies to slow threads."""
