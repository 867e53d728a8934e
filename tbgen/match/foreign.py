"""Translation of command lines of cutechess-cli, of TCEC's fork of it, and of fastchess into those of tbgen.

Most options of ``tbgen match`` have the same names as in Cute Chess and need no translation. This module
handles the other options: tbgen writes some of them differently, ignores some, and rejects some. Sources:
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

Warn: TypeAlias = Callable[[str], object]
"""Function called with a sentence about arguments that have no effect."""

_VALUE_START: Final = re.compile(r"(?!-)|-\d", re.ASCII)
"""Matches the beginning of a word that is not an option."""
_NO_WORD: Final = re.compile("(?!)")
_ANY_WORD: Final = re.compile("")
_NUMBER_WORD: Final = re.compile(r"\d+$", re.ASCII)
_NUMBER_WORDS: Final = re.compile(r"[\d,-]+$", re.ASCII)
_FURTHER_WORD: Final = re.compile(r"\w+=|(min|fi|nopgn|nojson)$", re.ASCII)
_PGN_KEYS: Final = re.compile(
    "(file|notation|append|nodes|seldepth|nps|hashfull|tbhits|pv|timeleft|latency|min|match_line)=|(min|fi)$"
)
"""Matches words of ``-pgnout`` that are not file names. (A file name may also contain an equals sign.)"""

_FILE_NAME: Final = "engines.json"

IGNORED_OPTIONS: Final[Mapping[str, tuple[re.Pattern[str], str]]] = {
    "autosaveinterval": (_ANY_WORD, "every game is in the PGN file when it ends"),
    "bergerschedule": (_NO_WORD, "round robins always follow Berger's tables"),
    "bookmode": (_ANY_WORD, "--openings draws from a book of Polyglot before the game, for both engines"),
    "check-mate-pvs": (_NO_WORD, "the lines of engines are not kept"),
    "crc32": (_ANY_WORD, "no checksum is printed"),
    "debug": (_ANY_WORD, "--log DIR keeps what engines say"),
    "ecopgn": (_ANY_WORD, "games have no tag ECO"),
    "epdout": (_ANY_WORD, "the last position of a game is in the PGN file"),
    "force-concurrency": (_NO_WORD, "--concurrency is taken as it is"),
    "kfactor": (_ANY_WORD, "Elo is estimated from all games at once"),
    "livepgnout": (
        _ANY_WORD,
        "games in play are in the live file beside the PGN file, and on the page of --live",
    ),
    "output": (_ANY_WORD, "there is one form of output"),
    "ping-ms": (_ANY_WORD, "start= of --each says how long engines have to get ready"),
    "reloadconf": (_NO_WORD, "engines keep the settings that the event began with"),
    "report": (_ANY_WORD, "results of pairs are always in the tables"),
    "resultformat": (_ANY_WORD, "the columns are those of tbgen score"),
    "resume": (_NO_WORD, "the same command always resumes its event"),
    "scoreinterval": (_ANY_WORD, "the score is printed after every game"),
    "show-latency": (_NO_WORD, "times are taken where moves are written and read"),
    "strict": (_NO_WORD, "an engine that fails loses its game; --no-recover ends the event"),
    "strikes": (_ANY_WORD, "no engine is taken out of an event; --no-recover ends it"),
    "tbadjudicate": (
        _ANY_WORD,
        "Syzygy files stop games that are won, with --scoring classical also drawn ones",
    ),
    "tbdrawonly": (_NO_WORD, "Syzygy files stop games that are won; leave -tb out to play them on"),
    "tbignore50": (_NO_WORD, "values always ignore the 50-move rule"),
    "testEnv": (_NO_WORD, "there is one form of output"),
    "tournamentfile": (_ANY_WORD, "the PGN file is the state of the event"),
    "ucinewgame-ms": (_ANY_WORD, "start= of --each says how long engines have to get ready"),
}
"""Options without effect: the pattern of the first word after the option, and the reason."""

REFUSED_OPTIONS: Final[Mapping[str, str]] = {
    "quick": "name the engines with --engine cmd=A --engine cmd=B --each tc=10+0.1 --openings file=BOOK",
}
"""Rejected options, each with the words to write instead."""

IGNORED_WORDS: Final[Mapping[str, str]] = {
    "debug": "--log DIR keeps what engines say",
    "ponder": "engines think in their own time only",
    "stderr": "--log DIR keeps what engines say, but not their standard error",
    "trust": "an arbiter decides every end",
    "tscale": "start= and stall= say how long engines have without a clock",
}
"""Words of ``-engine`` and ``-each`` that have no effect, each with the reason."""

REFUSED_WORDS: Final[Mapping[str, str]] = {
    "book": "give all engines their openings with --openings file=FILE",
    "bookdepth": "give all engines their openings with --openings file=FILE plies=N",
    "initstr": "set options of the engine with option.NAME=VALUE",
    "whitepov": "evaluations must be those of the side to move, as in UCI",
}
"""Rejected words of ``-engine`` and ``-each``, each with what to write instead."""

_REASONS: Final = {
    **{option: why for option, (_, why) in IGNORED_OPTIONS.items()},
    "config": "the PGN file is the state of the event",
    "log": "--log DIR keeps what engines say",
}
_PATTERNS: Final[Mapping[str, tuple[re.Pattern[str], re.Pattern[str]]]] = {
    **{option: (first, _FURTHER_WORD) for option, (first, _) in IGNORED_OPTIONS.items()},
    **dict.fromkeys([*REFUSED_OPTIONS, "each", "engine", "openings"], (_ANY_WORD, _ANY_WORD)),
    "config": (_FURTHER_WORD, _FURTHER_WORD),
    "help": (_NO_WORD, _NO_WORD),
    "log": (_ANY_WORD, _FURTHER_WORD),
    "pgnout": (_ANY_WORD, _PGN_KEYS),
    "repeat": (_NUMBER_WORD, _NO_WORD),
    "startup-ms": (_NUMBER_WORD, _NO_WORD),
    "tcecadj": (_NO_WORD, _NO_WORD),
    "use-affinity": (_NUMBER_WORDS, _NO_WORD),
}
"""For each option to translate: a pattern for the first word after it, and one for each further word."""


class _ConfiguredOption(Struct):
    name: str
    value: bool | int | float | str | None = None
    default: bool | int | float | str | None = None


class _ConfiguredEngine(Struct, rename={"directory": "workingDirectory", "init_strings": "initStrings"}):
    """An engine in the file ``engines.json`` of Cute Chess."""

    name: str
    command: str
    directory: str = ""
    protocol: str = "uci"
    restart: str = "auto"
    init_strings: Sequence[str] = ()
    whitepov: bool = False
    options: Sequence[_ConfiguredOption] = ()

    def words(self) -> Iterator[str]:
        """Yield the words of ``-engine`` that are equivalent to this entry."""
        yield from (f"name={self.name}", f"cmd={self.command}", f"proto={self.protocol}")
        yield f"restart={self.restart}"
        if self.directory:
            yield f"dir={self.directory}"
        yield from (f"initstr={line}" for line in self.init_strings)
        yield from ["whitepov"] * self.whitepov
        for option in self.options:
            if option.value is not None and option.value != option.default:
                value = str(option.value)
                yield f"option.{option.name}={value.lower() if value in ('True', 'False') else value}"


def _configured_words(name: str) -> Iterator[str]:
    """Yield the words for the engine that ``engines.json`` in the current directory lists under this name.

    :raises UsageError: if the file cannot be read, or does not list such an engine.
    """
    try:
        engines = msgspec.json.decode(Path(_FILE_NAME).read_bytes(), type=list[_ConfiguredEngine])
    except (OSError, msgspec.MsgspecError) as error:
        reason = getattr(error, "strerror", "") or error
        raise UsageError(
            f"conf={name}: {_FILE_NAME} cannot be read here: {reason}; give cmd= instead"
        ) from None
    engine = next((configured for configured in engines if configured.name == name), None)
    if engine is None:
        raise UsageError(f"conf={name}: there is no engine of that name in {_FILE_NAME}; give cmd= instead")
    return engine.words()


def translate(words: Sequence[str], warn: Warn) -> list[str]:
    """Translate a command line with options of these programs into a command line of ``tbgen match``.

    :param warn: called once with each sentence about arguments that have no effect.
    :raises UsageError: if a word is rejected; the message says what to write instead.
    """
    notes = dict[str, None]()
    translated_words = list[str]()
    i = 0
    end = words.index("--") if "--" in words else len(words)
    while i < end:
        name, separator, value = words[i].partition("=")
        option = name.lstrip("-") if name.startswith("-") else ""
        i += 1
        if option not in _PATTERNS:
            translated_words.append(words[i - 1])
            continue
        first_pattern, further_pattern = _PATTERNS[option]
        values = [value] if separator else []
        pattern = first_pattern
        while i < end and _VALUE_START.match(words[i]) and pattern.match(words[i]):
            pattern = further_pattern
            values.append(words[i])
            i += 1
        translated_words += _translate_option(option, values, notes.setdefault)
    if any(word in ("-tcecadj", "--tcecadj") for word in words[:end]):
        translated_words = [part for word in translated_words for part in _with_both_sides(word)]
    for sentence in notes:
        warn(sentence)
    return [*translated_words, *words[end:]]


def _with_both_sides(word: str) -> Sequence[str]:
    """Return a word; if it is ``-resign``, add the condition of TCEC's rules that both engines must agree."""
    return (word, "twosided=true") if word in ("-resign", "--resign") else (word,)


def _translate_option(option: str, words: Sequence[str], warn: Warn) -> Iterator[str]:
    """Yield the translation of an option and its words.

    :raises UsageError: if the option is rejected.
    """
    match option:
        case "engine" | "each":
            yield from (f"--{option}", *_translate_engine(option, words, warn))
        case "openings":
            # Without file=, a word without = is the file.
            has_file = any(word.startswith("file=") for word in words)
            yield f"--{option}"
            yield from (word if "=" in word or has_file else f"file={word}" for word in words)
        case "pgnout":
            yield from _translate_pgnout(words, warn)
        case "startup-ms":
            yield from ("--each", *(f"start={int(word) / 1000}" for word in words))
        case "use-affinity":
            yield from ("--affinity", *(words or ("all",)))
        case "help":
            yield "--help"
        case "repeat":
            if words and words[0] != "2":
                warn(f"-repeat {words[0]} has no effect: all games of an encounter have the same opening")
            yield "--repeat"
        case "log" if not any(re.match("(file|level|append|compress|realtime|engine)=", w) for w in words):
            yield from ("--log", *words)
        case "config" if any(word.startswith("file=") for word in words) and "discard=true" not in words:
            raise UsageError(
                "-config file= is not understood: the settings of an event are read from EVENT.toml "
                "(docs/match.md), and the same command resumes the event from its PGN file"
            )
        case _ if option in REFUSED_OPTIONS:
            raise UsageError(f"-{option} is not understood: {REFUSED_OPTIONS[option]}")
        case _ if option in _REASONS:
            warn(f"-{option} has no effect: {_REASONS[option]}")


def _translate_pgnout(words: Sequence[str], warn: Warn) -> Iterator[str]:
    for word in words:
        key, _, value = word.partition("=") if _PGN_KEYS.match(word) else ("file", "=", word)
        if key == "file":
            yield from ("--pgn", value)
        elif key == "min" and value != "false":
            warn("-pgnout min has no effect: games have all tags, because an event is resumed by them")
        elif key == "append" and value == "false":
            warn("-pgnout append=false has no effect: games in the file count; remove it to start again")
        elif key == "notation" and value != "san":
            warn(f"-pgnout {word} has no effect: moves are in SAN")
        elif key not in ("append", "notation", "min", "fi") and value != "false":
            warn(f"-pgnout {word} has no effect: comments have evaluation, depth and time")


def _translate_engine(option: str, words: Sequence[str], warn: Warn) -> Iterator[str]:
    for word in words:
        key, _, value = word.partition("=")
        if key == "conf":
            yield from _translate_engine(option, [*_configured_words(value)], warn)
        elif key in REFUSED_WORDS:
            raise UsageError(f"-{option} {word} is not understood: {REFUSED_WORDS[key]}")
        elif key in IGNORED_WORDS:
            warn(f"-{option} {word} has no effect: {IGNORED_WORDS[key]}")
        elif key == "args":
            yield from (f"arg={argument}" for argument in value.split())
        else:
            yield f"depth={value}" if key == "plies" else word
