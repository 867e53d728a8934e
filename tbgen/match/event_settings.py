"""The settings of an event, and the two ways to write them: as options, or in a TOML file.

Some options consist of *words* of the form ``key=value``, as in Cute Chess. A TOML file may contain all
settings of an event.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Final, Self

from msgspec import Meta, Struct

from tbgen.errors import NamedChoice, UsageError, printable, quote
from tbgen.games.standings.elo import TestSettings
from tbgen.games.standings.orders import DEFAULT_RANKING, Ranking
from tbgen.games.standings.record import EventFormat, Format
from tbgen.keywords import make_struct, option_in_errors, values_of
from tbgen.match.adjudication import StopRules
from tbgen.match.clock import TimeControl, parse_seconds
from tbgen.match.openings import OpeningSettings, StartKind
from tbgen.system.files import read_file
from tbgen.text import composed, decode
from tbgen.uci.options import MANAGED_OPTIONS, settable_options
from tbgen.uci.process import STALL_SECONDS, START_SECONDS, EngineSettings, find_command

_COMPRESSED_SUFFIXES: Final = (".gz", ".bz2", ".xz", ".zst")

_TIME_LIMITS: Final = ("tc", "st")
"""Keys of the words that limit the time of an engine; an engine can have only one of them."""
MANAGED_IN_EVENTS: Final = {
    **MANAGED_OPTIONS,
    "Accrued": ("<empty>", "it is set to the accrued score of each start position"),
    "UCI_ShowWDL": ("false", "evaluations are read in centipawns and mates"),
    "UCI_ShowCurrLine": ("false", "the line that is searched is not read"),
    "UCI_ShowRefutations": ("false", "refutations are not read"),
}
"""Engine options that the event itself sets or that have no effect in it, in the form of
:data:`tbgen.uci.options.MANAGED_OPTIONS`."""
_MAX_NUMBER: Final = 1 << 63
"""Greatest absolute value of a number in an event file."""
_PROCESSOR_RANGE: Final = re.compile(r"(\d{1,4})(?:-(\d{1,4}))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Entrant:
    """A player of an event: an engine with its time control."""

    engine: EngineSettings
    control: TimeControl = field(default_factory=TimeControl)

    @property
    def name(self) -> str:
        """The name of the player."""
        return self.engine.name


@dataclass(frozen=True, slots=True)
class EventSettings:
    """The settings of an event."""

    entrants: tuple[Entrant, ...]
    pgn: Path
    format: Format = Format.ROUND_ROBIN
    rounds: int = 1
    """Number of rounds or, in a knockout, number of encounters of each duel."""
    games: int = 2
    """Number of games in an encounter: 1 or 2."""
    openings: OpeningSettings | None = None
    """Openings from a file; None for start positions of the variant, which are random in Chess960."""
    seeds: int = 1
    """Number of seeds of a gauntlet: the first players, each of whom meets all players after the seeds."""
    variant: StartKind = StartKind.STANDARD
    seed: int = 0
    """Seed of all random choices."""
    concurrency: int = 1
    """Number of games played at once."""
    processors: tuple[int, ...] = ()
    """Processors to divide among the game slots; empty if the system chooses the processors."""
    stop: StopRules = field(default_factory=StopRules)
    ranking: Ranking = DEFAULT_RANKING
    test: TestSettings | None = None
    verify: float = 0.0
    """Share of the adjudicated games whose result is verified by playing on, from 0 to 1."""
    recover: bool = True
    """Whether the event continues after an engine has crashed or stalled."""
    swap: bool = True
    """Whether colours alternate from game to game or, if encounters have one game, from round to round."""
    reverse: bool = False
    """Whether White and Black are exchanged in all games of the schedule."""
    wait: int = 0
    """Pause between two games in a game slot, in milliseconds."""
    interval: int = 10
    """Number of games after which standings are printed each time, if there are more than two players; 0 for
    never."""
    ends: int = 0
    """Number of games after which the endings of all games so far are listed each time; 0 for never."""
    event: str = "?"
    site: str = "?"
    log: Path | None = None
    """Directory of the engines' logs; None for no logs."""

    @property
    def players(self) -> list[str]:
        """The names of the players."""
        return [entrant.name for entrant in self.entrants]

    @property
    def event_format(self) -> EventFormat:
        """The format of the event, as its games state it."""
        return EventFormat(self.format, tuple(self.players), self.rounds, self.games, self.seeds)


def check_settings(settings: EventSettings) -> None:
    """Check that the settings do not contradict each other.

    :raises UsageError: if they do.
    """
    names = settings.players
    if len(names) < 2:
        raise UsageError("an event needs two engines or more: give each with --engine cmd=PROGRAM")
    for entrant in settings.entrants:
        if names.count(entrant.name) > 1:
            raise UsageError(f"two engines are called {entrant.name}: give them different names with name=")
        if not entrant.control.has_limit:
            raise UsageError(
                f"nothing limits a search of {entrant.name}: give tc=, st=, depth= or nodes=, also by --each"
            )
    if settings.games not in (1, 2):
        remedy = f"--games 2 --rounds {-(-settings.rounds * settings.games // 2)}"
        raise UsageError(f"an encounter has 1 or 2 games, not {settings.games}: write {remedy}")
    if settings.test is not None and len(names) != 2:
        raise UsageError(f"a test needs two engines, not {len(names)}")
    if settings.test is not None and settings.format not in (Format.ROUND_ROBIN, Format.GAUNTLET):
        raise UsageError(
            f"a test can end a match, not one with --tournament {settings.format.value}: omit one of them"
        )
    if str(settings.pgn) == "-" or settings.pgn.suffix.lower() in _COMPRESSED_SUFFIXES:
        raise UsageError(
            f"games are appended to a plain PGN file: --pgn cannot be {settings.pgn}, "
            "standard output or a compressed file"
        )
    if settings.format is Format.GAUNTLET and not 1 <= settings.seeds < len(names):
        raise UsageError(f"a gauntlet of {len(names)} has 1 to {len(names) - 1} seeds, not {settings.seeds}")
    if settings.ranking.byes and settings.format is not Format.SWISS:
        raise UsageError(
            "--byes counts the byes of a Swiss tournament: add --tournament swiss, or omit --byes"
        )
    if settings.processors and len(settings.processors) < settings.concurrency:
        raise UsageError(
            f"{settings.concurrency} games at once need as many processors, but --affinity lists only "
            f"{len(settings.processors)}: play fewer with --concurrency, or omit --affinity"
        )


class _Seconds(float):
    """A positive time in seconds."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a time.

        :raises UsageError: if the text is not a positive time.
        """
        seconds = cls(parse_seconds(text))
        if not seconds:
            raise UsageError("the time must not be 0")
        return seconds


class _Restart(NamedChoice, noun="a time to restart an engine"):
    """When an engine is restarted: with ``on``, before each game, otherwise only if it no longer responds."""

    AUTO = "auto"
    ON = "on"
    OFF = "off"


class _Protocol(NamedChoice, noun="a protocol that is spoken here"):
    UCI = "uci"


class _EngineWords(Struct):
    """The words of one ``--engine``, merged with the words of ``--each``."""

    cmd: str
    name: str = ""
    dir: Path | None = None
    arg: Sequence[str] = ()
    option: dict[str, str] = {}
    restart: _Restart = _Restart.AUTO
    proto: _Protocol = _Protocol.UCI
    start: _Seconds = _Seconds(START_SECONDS)
    stall: _Seconds = _Seconds(STALL_SECONDS)
    tc: str = "inf"
    st: _Seconds | None = None
    depth: Annotated[int, Meta(ge=1)] | None = None
    nodes: Annotated[int, Meta(ge=1)] | None = None
    timemargin: Annotated[int, Meta(ge=0)] = 0

    def entrant(self) -> Entrant:
        """Return the engine, without options, and the time control that the words describe.

        :raises UsageError: if words contradict each other, the name is invalid, or a path does not exist.
        """
        if self.dir is not None and not self.dir.is_dir():
            raise UsageError(f"there is no directory {quote(str(self.dir))}")
        command = find_command(self.cmd, tuple(self.arg), self.dir)
        name = composed(self.name.strip() or Path(command[0]).name)
        if not name.isprintable() or name in ("?", "-") or set('"\\') & set(name):
            raise UsageError(
                f"no player in PGN can be called {quote(name)}, nor ? or -, nor anything with a quotation "
                "mark, a backslash or an invisible character: give another name="
            )
        control = TimeControl.parse(self.tc, self.timemargin / 1000)
        if self.st is not None and control.time is not None:
            raise UsageError("tc= sets a clock and st= a time for each move: give only one of them")
        control = replace(control, per_move=self.st, depth=self.depth, nodes=self.nodes)
        restart = self.restart is _Restart.ON
        engine = EngineSettings(
            name, command, directory=self.dir, restart=restart, start_limit=self.start, stall_limit=self.stall
        )
        return Entrant(engine, control)


def entrants_of(
    words: Sequence[Sequence[str]], each: Sequence[str] = (), warn: Callable[[str], object] = lambda _: None
) -> tuple[Entrant, ...]:
    """Return the engines of an event, each with its time control.

    :param words: for each engine, the words of ``--engine``, which take precedence over those of ``--each``.
    :param each: the words of ``--each``; if a key occurs twice, the last one counts.
    :param warn: called with a sentence about each option without effect, each limit that is replaced, and,
        if other engines have a clock, each engine without a clock.

    :raises UsageError: if a word is invalid, or if a program does not exist.
    """
    common = values_of("each", each, _EngineWords)
    entrants = list[Entrant]()
    for group in words:
        entrant = _entrant(values_of("engine", group, _EngineWords), common, warn)
        entrants.append(_renamed(entrant, {other.name for other in entrants}))
    if any(entrant.control.has_time_limit for entrant in entrants):
        for name, control in ((entrant.name, entrant.control) for entrant in entrants):
            if control.has_limit and not control.has_time_limit:
                warn(f"{name} has no clock, only {control.untimed_limits}, but others have one")
    return tuple(entrants)


def _renamed(entrant: Entrant, taken_names: Collection[str]) -> Entrant:
    """Return an engine; if its name is taken, under that name with a number: ``A 2``, ``A 3`` and so on."""
    names = (entrant.name, *(f"{entrant.name} {copy}" for copy in range(2, len(taken_names) + 2)))
    return replace(
        entrant, engine=replace(entrant.engine, name=next(name for name in names if name not in taken_names))
    )


def _entrant(own: Mapping[str, Any], each: Mapping[str, Any], warn: Callable[[str], object]) -> Entrant:
    option = "engine or --each" if each else "engine"
    has_clock = any(clock in own for clock in _TIME_LIMITS)
    replaced_limits = [key for key in _TIME_LIMITS if key in each and has_clock]
    arguments = {"arg": [*each.get("arg", ()), *own.get("arg", ())]}
    common = {key: value for key, value in each.items() if key not in replaced_limits}
    words = make_struct(option, {**common, **own, **arguments}, _EngineWords)
    with option_in_errors(option):
        entrant = words.entrant()
    option_values = [*each.get("option", {}).items(), *own.get("option", {}).items()]
    options = settable_options(option_values, MANAGED_IN_EVENTS, lambda text: warn(f"{entrant.name}: {text}"))
    for key in replaced_limits:
        clock = next(f"{clock}={own[clock]}" for clock in _TIME_LIMITS if clock in own)
        if clock != f"{key}={each[key]}":
            warn(f"{entrant.name}: its own {clock} replaces {key}={each[key]} of --each")
    return replace(entrant, engine=replace(entrant.engine, options=options))


def processors_of(text: str, available: Sequence[int]) -> tuple[int, ...]:
    """Return the processors in a list such as ``0-3,6``; for ``all``, every available processor.

    :raises UsageError: if the text is not such a list, or if a processor in it is unavailable or named twice.
    """
    if text == "all":
        return tuple(available)
    ranges = [_PROCESSOR_RANGE.fullmatch(ends.strip()) for ends in text.split(",")]
    if None in ranges:
        raise UsageError(f"{quote(text)} is not a list of processors: expected one such as 0-3,6")
    processors = [n for ends in ranges if ends for n in range(int(ends[1]), int(ends[2] or ends[1]) + 1)]
    if not processors or len(set(processors)) < len(processors) or not set(processors) <= set(available):
        choices = ",".join(map(str, available))
        raise UsageError(f"{quote(text)} must list some of the processors {choices}, each once")
    return tuple(processors)


def read_toml_options(path: Path) -> dict[str, Any]:
    """Read a TOML file; return the value of each option: a string, a boolean, or the words of a table.

    ``rounds = 10`` means ``--rounds 10``, and a table ``[sprt]`` with ``elo0 = 0`` means ``--sprt elo0=0``.
    ``[[engine]]`` is an array of tables; in each, ``options`` is a table, and ``arg`` may be a list.

    :raises UsageError: if the file cannot be read, or contains a value of any other kind.
    """
    try:
        document = tomllib.loads(decode(read_file(path)))
    except FileNotFoundError:
        raise UsageError(
            f"the event file {quote(str(path))} does not exist: name one such as EVENT.toml"
        ) from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise UsageError(f"{path} is not a TOML file: {error}") from None
    except RecursionError:
        raise UsageError(f"{path} is not an event file: its values are nested too deep") from None
    return {name.replace("_", "-"): _option_value(path, name, value) for name, value in document.items()}


def _option_value(path: Path, name: str, value: Any) -> bool | str | list[Any]:
    if isinstance(value, bool):
        return value
    if isinstance(value, dict):
        return list(_table_words(path, name, value))
    if isinstance(value, list) and value and all(isinstance(table, dict) for table in value):
        return [list(_table_words(path, name, table)) for table in value]
    return _as_text(path, name, value)


def _table_words(path: Path, name: str, table: Mapping[str, Any]) -> Iterator[str]:
    for key, value in table.items():
        if key == "options" and isinstance(value, dict):
            yield from (f"option.{option}={_as_text(path, option, item)}" for option, item in value.items())
        else:
            for item in value if isinstance(value, list) else [value]:
                yield f"{key}={_as_text(path, f'{name}.{key}', item)}"


def _as_text(path: Path, name: str, value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) and abs(value) > _MAX_NUMBER:
        raise UsageError(f"{path}: {quote(name)} is a number that is too large")
    if not isinstance(value, str | int | float):
        kind = type(value).__name__
        raise UsageError(f"{path}: {printable(name)} is {kind}: expected text, a number, true or false")
    if "\0" in name + str(value):
        raise UsageError(f"{path}: {quote(name)} contains NUL, which no option can")
    return str(value)
