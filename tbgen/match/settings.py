"""Everything that says how an event is played."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tbgen.errors import UsageError
from tbgen.games.standings.sprt import TestSettings
from tbgen.match.adjudication import StopRules
from tbgen.match.engine import EngineSettings
from tbgen.match.openings import ChessVariant, OpeningSettings
from tbgen.match.schedule import Format

_COMPRESSED: Final = (".gz", ".bz2", ".xz", ".zst")


@dataclass(frozen=True, slots=True)
class EventSettings:
    """Everything that says how an event is played."""

    engines: tuple[EngineSettings, ...]
    pgn: Path
    format: Format = Format.ROUND_ROBIN
    rounds: int = 1
    games: int = 2
    """Of an encounter: 2 or 1."""
    openings: OpeningSettings | None = None
    """None for the start position of the variant, or one by lot."""
    seeds: int = 1
    variant: ChessVariant = ChessVariant.STANDARD
    seed: int = 0
    """Of all that is drawn by lot."""
    concurrency: int = 1
    processors: tuple[int, ...] = ()
    """Those that games share out among them; none to leave that to the system."""
    stop: StopRules = field(default_factory=StopRules)
    test: TestSettings | None = None
    verify: float = 0.0
    """The share of adjudicated games that are played on."""
    recover: bool = True
    """Whether the event goes on after an engine has crashed or stalled."""
    swap: bool = True
    """Whether the games of an encounter have reversed colours in turn."""
    reverse: bool = False
    """Whether White and Black are exchanged in the whole schedule."""
    wait: int = 0
    """Milliseconds between two games."""
    interval: int = 10
    """Games between two looks at the standings of more than two players; 0 for none."""
    ends: int = 0
    """Games between two lists of how the games of each player have ended; 0 for none."""
    event: str = "?"
    site: str = "?"
    log: Path | None = None
    """A directory for what engines say."""


def check(settings: EventSettings) -> None:
    """Check that settings go together.

    :raises UsageError: if not.
    """
    names = [engine.name for engine in settings.engines]
    if len(names) < 2:
        raise UsageError("an event needs two engines or more: give each with --engine cmd=PROGRAM")
    for engine in settings.engines:
        if names.count(engine.name) > 1:
            raise UsageError(f"two engines are called {engine.name}: tell them apart with name=")
        if not engine.control.limited:
            raise UsageError(
                f"nothing ends a search of {engine.name}: give tc=, st=, depth= or nodes=, also by --each"
            )
    if settings.games not in (1, 2):
        instead = f"--games 2 --rounds {-(-settings.rounds * settings.games // 2)}"
        raise UsageError(f"an encounter has 1 or 2 games, not {settings.games}: write {instead}")
    if settings.test is not None and len(names) != 2:
        raise UsageError(f"a test needs two engines, and there are {len(names)}")
    if settings.test is not None and settings.format not in (Format.ROUND_ROBIN, Format.GAUNTLET):
        raise UsageError(f"a test ends a match, and no {settings.format.value}: leave --tournament out")
    if str(settings.pgn) == "-" or settings.pgn.suffix.lower() in _COMPRESSED:
        raise UsageError(f"games are kept in a plain PGN file, which grows: --pgn cannot be {settings.pgn}")
    if settings.format is Format.GAUNTLET and not 1 <= settings.seeds < len(names):
        raise UsageError(f"a gauntlet of {len(names)} has 1 to {len(names) - 1} seeds, not {settings.seeds}")
    if settings.processors and len(settings.processors) < settings.concurrency:
        raise UsageError(
            f"{settings.concurrency} games at once need as many processors, and there are "
            f"{len(settings.processors)}: play fewer with --concurrency, or leave --affinity out"
        )
