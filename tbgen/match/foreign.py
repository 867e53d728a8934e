"""Command lines of cutechess-cli, of TCEC's fork of it, and of fastchess: what their options mean here.

Most options of ``tbgen match`` have the names of Cute Chess and need nothing more. The tables below have the
others: those that take other words here, those that have no effect, and those that cannot be meant. Sources:
help.txt of cutechess 1.5.1 and of TCEC-Chess/tceccutechess (e0e540e4), man.md of fastchess 1.8.2 alpha.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias

import msgspec
from msgspec import Struct

from tbgen.errors import UsageError

Note: TypeAlias = Callable[[str], object]
"""Receives a sentence about words that have no effect."""

_VALUE: Final = re.compile(r"(?!-)|-\d", re.ASCII)
"""The beginning of a word that is no option."""
_NONE: Final = re.compile("(?!)")
_ANY: Final = re.compile("")
_NUMBER: Final = re.compile(r"\d+$", re.ASCII)
_NUMBERS: Final = re.compile(r"[\d,-]+$", re.ASCII)
_MORE: Final = re.compile(r"\w+=|(min|fi|nopgn|nojson)$", re.ASCII)
_PGN_KEYS: Final = re.compile(
    "(file|notation|append|nodes|seldepth|nps|hashfull|tbhits|pv|timeleft|latency|min|match_line)=|(min|fi)$"
)
"""Words of ``-pgnout``; a file may have a name such as ``a=b.pgn``."""

_ENGINES: Final = "engines.json"

NO_EFFECT: Final[Mapping[str, tuple[re.Pattern[str], str]]] = {
    "autosaveinterval": (_ANY, "every game is in the PGN file when it ends"),
    "bergerschedule": (_NONE, "round robins always follow Berger's tables"),
    "bookmode": (_ANY, "there are no books of Polyglot: --openings takes EPD and PGN"),
    "check-mate-pvs": (_NONE, "the lines of engines are not kept"),
    "crc32": (_ANY, "no checksum is printed"),
    "debug": (_ANY, "--log DIR keeps what engines say"),
    "ecopgn": (_ANY, "games have no tag ECO"),
    "epdout": (_ANY, "the last position of a game is in the PGN file"),
    "force-concurrency": (_NONE, "--concurrency is taken as it is"),
    "kfactor": (_ANY, "Elo is estimated from all games at once"),
    "livepgnout": (_ANY, "games in play are in the live file beside the PGN file, and on the page of --live"),
    "output": (_ANY, "there is one form of output"),
    "ping-ms": (_ANY, "start= of --each says how long engines have to get ready"),
    "reloadconf": (_NONE, "engines keep the settings that the event began with"),
    "report": (_ANY, "results of pairs are always in the tables"),
    "resultformat": (_ANY, "the columns are those of tbgen score"),
    "resume": (_NONE, "the same command always resumes its event"),
    "scoreinterval": (_ANY, "the score is printed after every game"),
    "show-latency": (_NONE, "times are taken where moves are written and read"),
    "strict": (_NONE, "an engine that fails loses its game; --no-recover ends the event"),
    "strikes": (_ANY, "no engine is taken out of an event; --no-recover ends it"),
    "tbadjudicate": (_ANY, "Syzygy files stop games that are won, with --scoring classical also drawn ones"),
    "tbdrawonly": (_NONE, "Syzygy files stop games that are won; leave -tb out to play them on"),
    "tbignore50": (_NONE, "values always ignore the 50-move rule"),
    "testEnv": (_NONE, "there is one form of output"),
    "tournamentfile": (_ANY, "the PGN file is the state of the event"),
    "ucinewgame-ms": (_ANY, "start= of --each says how long engines have to get ready"),
}
"""By option: its first word, and what is so here in any case."""

REFUSED: Final[Mapping[str, str]] = {
    "quick": "name the engines with --engine cmd=A --engine cmd=B --each tc=10+0.1 --openings file=BOOK",
}
"""By option: what to write instead."""

NO_EFFECT_OF_ENGINES: Final[Mapping[str, str]] = {
    "debug": "--log DIR keeps what engines say",
    "ponder": "engines think in their own time only",
    "stderr": "--log DIR keeps what engines say, but not their standard error",
    "trust": "an arbiter decides every end",
    "tscale": "start= and stall= say how long engines have without a clock",
}
"""The same of the words of ``-engine`` and ``-each``."""

REFUSED_OF_ENGINES: Final[Mapping[str, str]] = {
    "book": "give all engines their openings with --openings file=FILE",
    "bookdepth": "give all engines their openings with --openings file=FILE plies=N",
    "initstr": "set options of the engine with option.NAME=VALUE",
    "whitepov": "evaluations must be those of the side to move, as in UCI",
}
"""The same of words that cannot be meant."""


class _ConfiguredOption(Struct):
    name: str
    value: bool | int | float | str | None = None
    default: bool | int | float | str | None = None


class _Configured(Struct, rename={"directory": "workingDirectory", "sent": "initStrings"}):
    """An engine as ``engines.json`` of Cute Chess has it."""

    name: str
    command: str
    directory: str = ""
    protocol: str = "uci"
    restart: str = "auto"
    sent: Sequence[str] = ()
    whitepov: bool = False
    options: Sequence[_ConfiguredOption] = ()

    def words(self) -> Iterator[str]:
        """Yield the words of ``-engine`` that say the same."""
        yield from (f"name={self.name}", f"cmd={self.command}", f"proto={self.protocol}")
        yield f"restart={self.restart}"
        if self.directory:
            yield f"dir={self.directory}"
        yield from (f"initstr={line}" for line in self.sent)
        yield from ["whitepov"] * self.whitepov
        for option in self.options:
            if option.value is not None and option.value != option.default:
                value = str(option.value)
                yield f"option.{option.name}={value.lower() if value in ('True', 'False') else value}"


def _configured(name: str) -> Iterator[str]:
    """Yield the words of an engine of ``engines.json`` in the current directory.

    :raises UsageError: if there is none.
    """
    try:
        engines = msgspec.json.decode(Path(_ENGINES).read_bytes(), type=list[_Configured])
    except (OSError, msgspec.MsgspecError) as error:
        reason = getattr(error, "strerror", "") or error
        raise UsageError(
            f"conf={name}: {_ENGINES} cannot be read here: {reason}; give cmd= instead"
        ) from None
    found = next((engine for engine in engines if engine.name == name), None)
    if found is None:
        raise UsageError(f"conf={name}: there is no engine of that name in {_ENGINES}; give cmd= instead")
    return found.words()


def reworded(words: Sequence[str], note: Note) -> list[str]:
    """Return a command line of ``tbgen match`` for one that may have options of other programs.

    :param note: is told, once for each, which words have no effect, and why.
    :raises UsageError: if there are words that cannot be meant here; it says what to write instead.
    """
    notes = dict[str, None]()
    found, at = list[str](), 0
    end = words.index("--") if "--" in words else len(words)
    while at < end:
        name, joined, value = words[at].partition("=")
        option = name.lstrip("-") if name.startswith("-") else ""
        at += 1
        if option not in _VALUES:
            found.append(words[at - 1])
            continue
        first, further = _VALUES[option]
        values = [value] if joined else []
        while at < end and _VALUE.match(words[at]) and (further if values else first).match(words[at]):
            values.append(words[at])
            at += 1
        found += _meaning(option, values, notes.setdefault)
    if any(word in ("-tcecadj", "--tcecadj") for word in words[:end]):
        found = [part for word in found for part in _with_both(word)]
    for sentence in notes:
        note(sentence)
    return [*found, *words[end:]]


def _with_both(word: str) -> Sequence[str]:
    """Let both engines agree to resignations, as TCEC's rules have it."""
    return (word, "twosided=true") if word in ("-resign", "--resign") else (word,)


def _meaning(option: str, words: Sequence[str], note: Note) -> Iterator[str]:
    """Yield the words that mean the same here as an option with its words.

    :raises UsageError: if it cannot be meant.
    """
    match option:
        case "engine" | "each":
            yield from (f"--{option}", *_engine(option, words, note))
        case "openings":
            named = any(word.startswith("file=") for word in words)  # else a file stands alone
            yield from (f"--{option}", *(word if "=" in word or named else f"file={word}" for word in words))
        case "pgnout":
            yield from _pgn(words, note)
        case "startup-ms":
            yield from ("--each", *(f"start={int(word) / 1000}" for word in words))
        case "use-affinity":
            yield from ("--affinity", *(words or ("all",)))
        case "help":
            yield "--help"
        case "repeat":
            if words and words[0] != "2":
                note(f"-repeat {words[0]} has no effect: all games of an encounter have the same opening")
            yield "--repeat"
        case "log" if not any("=" in word for word in words):
            yield from ("--log", *words)
        case "config" if any(word.startswith("file=") for word in words) and "discard=true" not in words:
            raise UsageError(
                "-config file= is not understood: settings of an event are read from EVENT.toml "
                "(docs/match.md), and the same command resumes it from its PGN file"
            )
        case _ if option in REFUSED:
            raise UsageError(f"-{option} is not understood: {REFUSED[option]}")
        case _ if option in _NO_EFFECT:
            note(f"-{option} has no effect: {_NO_EFFECT[option]}")


def _pgn(words: Sequence[str], note: Note) -> Iterator[str]:
    for word in words:
        key, _, value = word.partition("=") if _PGN_KEYS.match(word) else ("file", "=", word)
        if key == "file":
            yield from ("--pgn", value)
        elif key == "min" and value != "false":
            note("-pgnout min has no effect: games have all tags, by which an event is resumed")
        elif key == "append" and value == "false":
            note("-pgnout append=false has no effect: games in the file count; remove it to begin anew")
        elif key == "notation" and value != "san":
            note(f"-pgnout {word} has no effect: moves are in SAN")
        elif key not in ("append", "notation", "min", "fi") and value != "false":
            note(f"-pgnout {word} has no effect: comments have evaluation, depth and time")


def _engine(option: str, words: Sequence[str], note: Note) -> Iterator[str]:
    for word in words:
        key, _, value = word.partition("=")
        if key == "conf":
            yield from _engine(option, [*_configured(value)], note)
        elif key in REFUSED_OF_ENGINES:
            raise UsageError(f"-{option} {word} is not understood: {REFUSED_OF_ENGINES[key]}")
        elif key in NO_EFFECT_OF_ENGINES:
            note(f"-{option} {word} has no effect: {NO_EFFECT_OF_ENGINES[key]}")
        elif key == "args":
            yield from (f"arg={each}" for each in value.split())
        else:
            yield f"depth={value}" if key == "plies" else word


_NO_EFFECT: Final = {
    **{option: why for option, (_, why) in NO_EFFECT.items()},
    "config": "the PGN file is the state of the event",
    "log": "--log DIR keeps what engines say",
}
_VALUES: Final[Mapping[str, tuple[re.Pattern[str], re.Pattern[str]]]] = {
    **{option: (first, _MORE) for option, (first, _) in NO_EFFECT.items()},
    **dict.fromkeys([*REFUSED, "each", "engine", "openings"], (_ANY, _ANY)),
    "config": (_MORE, _MORE),
    "help": (_NONE, _NONE),
    "log": (_ANY, _MORE),
    "pgnout": (_ANY, _PGN_KEYS),
    "repeat": (_NUMBER, _NONE),
    "startup-ms": (_NUMBER, _NONE),
    "tcecadj": (_NONE, _NONE),
    "use-affinity": (_NUMBERS, _NONE),
}
"""By option of others: what matches the first word that may follow it, and what matches further ones."""
