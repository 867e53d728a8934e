"""Settings as users write them: words ``key=value`` as in Cute Chess, and TOML files of whole events."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from tbgen.errors import UsageError, quote
from tbgen.games.standings import EloModel
from tbgen.games.standings.encounters import TestSettings
from tbgen.match.adjudication import DrawRule, ResignRule
from tbgen.match.clock import TimeControl, parse_seconds
from tbgen.match.engine import EngineSettings, find_command
from tbgen.match.openings import OpeningOrder, OpeningSettings

__all__ = [
    "draw_of",
    "engines_of",
    "openings_of",
    "processors_of",
    "resign_of",
    "test_of",
    "words_of_toml",
]

_TIMES: Final = ("tc", "st", "depth", "nodes", "timemargin")
_ENGINE: Final = ("cmd", "name", "dir", "arg", "restart", "proto", "start", "stall", *_TIMES)
_OPENINGS: Final = ("file", "format", "order", "plies", "start", "policy")
_OPTION: Final = "option."
_WHOLE: Final = re.compile(r"\d{1,15}", re.ASCII)
_RANGE: Final = re.compile(r"(\d{1,4})(?:-(\d{1,4}))?", re.ASCII)


class _Words:
    """The words of one option: each key once, but for some."""

    def __init__(self, option: str, words: Sequence[str], keys: Sequence[str], several: str = "") -> None:
        self.option = option
        self.found: dict[str, str] = {}
        self.several: list[str] = []
        for word in words:
            key, sign, value = word.partition("=")
            if not sign:
                raise UsageError(f"--{option}: {quote(word)} is not of the form key=value")
            if key not in keys and not ("cmd" in keys and key.startswith(_OPTION)):
                raise UsageError(f"--{option}: there is no {quote(key)}: expected some of {', '.join(keys)}")
            if key == several and several:
                self.several.append(value)
            else:
                self.found[key] = value

    def whole(self, key: str, default: int | None = None, least: int = 1) -> int:
        """Return a whole number.

        :raises UsageError: if it is none, or is missing without a default.
        """
        text = self.found.get(key)
        if text is None and default is not None:
            return default
        if text is None:
            raise UsageError(f"--{self.option} needs {key}=NUMBER")
        if not _WHOLE.fullmatch(text) or int(text) < least:
            raise UsageError(f"--{self.option}: {key}={text} is no whole number from {least} on")
        return int(text)

    def number(self, key: str, default: float | None = None) -> float:
        """Return a number.

        :raises UsageError: if it is none, or is missing without a default.
        """
        text = self.found.get(key)
        if text is None and default is not None:
            return default
        try:
            number = math.nan if text is None else float(text)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise UsageError(f"--{self.option} needs {key}=NUMBER" + (f", not {quote(text)}" if text else ""))
        return number

    def truth(self, key: str) -> bool:
        """Return a truth value, false without one."""
        text = self.found.get(key, "false").lower()
        if text not in ("true", "false"):
            raise UsageError(f"--{self.option}: {key}={text} is neither true nor false")
        return text == "true"


def engines_of(given: Sequence[Sequence[str]], each: Sequence[str] | None) -> tuple[EngineSettings, ...]:
    """Return the engines, each with what is said for all of them and not for itself.

    :raises UsageError: if a word means nothing, or a program is not there.
    """
    common = _Words("each", each or (), _ENGINE, "arg")
    return tuple(_engine(_Words("engine", words, _ENGINE, "arg"), common) for words in given)


def _engine(own: _Words, each: _Words) -> EngineSettings:
    words = {**each.found, **own.found}
    if any(key in own.found for key in _TIMES[:-1]):  # a time control of its own, and no other beside it
        words = {**{key: words[key] for key in words if key not in _TIMES[:-1]}, **own.found}
    if words.get("proto", "uci") != "uci":
        raise UsageError(f"--engine: proto={words['proto']} is not spoken here: engines must speak uci")
    if "cmd" not in words:
        raise UsageError("--engine needs cmd=PROGRAM")
    restart = words.get("restart", "auto")
    if restart not in ("auto", "on", "off"):
        raise UsageError(f"--engine: restart={restart} is none of auto, on and off")
    directory = Path(words["dir"]).expanduser() if "dir" in words else None
    if directory is not None and not directory.is_dir():
        raise UsageError(f"--engine: there is no directory {quote(str(directory))}")
    command = find_command(words["cmd"], (*each.several, *own.several), directory)
    settings = EngineSettings(
        words.get("name", "").strip() or Path(command[0]).name,
        command,
        directory,
        {key.removeprefix(_OPTION): words[key] for key in words if key.startswith(_OPTION)},
        _control(words),
        restart == "on",
    )
    if not settings.name.isprintable() or settings.name in ("?", "-") or set('"\\') & set(settings.name):
        raise UsageError(
            f"--engine: no player in PGN can be called {quote(settings.name)}: give another name="
        )
    if "start" in words:
        settings = replace(settings, start=parse_seconds(words["start"]))
    if "stall" in words:
        settings = replace(settings, stall=parse_seconds(words["stall"]))
    return settings


def _control(words: Mapping[str, str]) -> TimeControl:
    """Return the time control: a clock, depth and nodes may go together."""
    known = _Words("engine", [f"{key}={words[key]}" for key in _TIMES if key in words], _TIMES)
    margin = known.whole("timemargin", 0, 0) / 1000
    control = TimeControl.parse(words.get("tc", "inf"), margin)
    if "st" in words:
        if control.time is not None:
            raise UsageError("--engine: tc= is a clock, and st= a time for each move: give one of them")
        control = replace(control, per_move=parse_seconds(words["st"]))
        if not control.per_move:
            raise UsageError("--engine: st=0 gives no time")
    depth, nodes = (known.whole(key) if key in words else None for key in ("depth", "nodes"))
    return replace(control, depth=depth, nodes=nodes)


def openings_of(words: Sequence[str] | None) -> tuple[OpeningSettings, bool]:
    """Return which openings are played, and whether all encounters of a round share one.

    :raises UsageError: if a word means nothing.
    """
    known = _Words("openings", words or (), _OPENINGS)
    found = known.found
    if words is not None and "file" not in found:
        raise UsageError("--openings needs file=FILE")
    try:
        order = OpeningOrder(found.get("order", "sequential").lower())
    except ValueError:
        raise UsageError(f"--openings: order={found['order']} is neither sequential nor random") from None
    policy = found.get("policy", "encounter")
    if policy not in ("encounter", "round"):
        raise UsageError(f"--openings: policy={policy} is neither encounter nor round")
    file = Path(found["file"]).expanduser() if "file" in found else None
    plies = known.whole("plies", least=0) if "plies" in found else None
    settings = OpeningSettings(file, found.get("format", ""), order, plies, known.whole("start", 1))
    return settings, policy == "round"


def resign_of(words: Sequence[str] | None) -> ResignRule | None:
    """Return when engines resign; None for never.

    :raises UsageError: if a word means nothing.
    """
    if words is None:
        return None
    known = _Words("resign", words, ("movecount", "score", "twosided"))
    return ResignRule(known.whole("movecount"), known.whole("score"), known.truth("twosided"))


def draw_of(words: Sequence[str] | None) -> DrawRule | None:
    """Return when games are stopped as draws; None for never.

    :raises UsageError: if a word means nothing.
    """
    if words is None:
        return None
    known = _Words("draw", words, ("movenumber", "movecount", "score"))
    return DrawRule(known.whole("movenumber", 0, 0), known.whole("movecount"), known.whole("score", None, 0))


def test_of(words: Sequence[str] | None) -> TestSettings | None:
    """Return the sequential test; None for none.

    :raises UsageError: if a word means nothing.
    """
    if words is None:
        return None
    known = _Words("sprt", words, ("elo0", "elo1", "alpha", "beta", "model"))
    model = EloModel.parse(known.found.get("model", EloModel.LOGISTIC.value))
    return TestSettings(
        known.number("elo0"),
        known.number("elo1"),
        known.number("alpha", 0.05),
        known.number("beta", 0.05),
        model,
    )


test_of.__test__ = False  # type: ignore[attr-defined]  # no test of pytest


def processors_of(text: str, available: Sequence[int]) -> tuple[int, ...]:
    """Return the processors of a list such as ``0-3,6``; of ``all`` those that there are.

    :raises UsageError: if it is no such list, or names one that this process may not use.
    """
    if text == "all":
        return tuple(available)
    found: list[int] = []
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            raise UsageError(
                f"--affinity: {quote(text)} is no list of processors: expected one such as 0-3,6"
            )
        found += range(int(match[1]), int(match[2] or match[1]) + 1)
    missing = sorted(set(found) - set(available))
    if missing or len(set(found)) < len(found) or not found:
        there = ",".join(map(str, available))
        raise UsageError(f"--affinity: {quote(text)} are not some of the processors {there}, each once")
    return tuple(found)


def words_of_toml(path: Path) -> list[str]:
    """Return the command line that a TOML file stands for.

    ``rounds = 10`` is ``--rounds 10``, ``recover = false`` is ``--no-recover``, and a table ``[sprt]`` with
    ``elo0 = 0`` is ``--sprt elo0=0``. Each ``[[engine]]`` is one ``--engine``; in it ``options`` is a table,
    and ``arg`` may be a list.

    :raises UsageError: if it cannot be read as such.
    """
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise UsageError(f"{path} is no TOML: {error}") from None
    words: list[str] = []
    for name, value in document.items():
        option = f"--{name.replace('_', '-')}"
        if isinstance(value, bool):
            words.append(option if value else f"--no-{option[2:]}")
        elif isinstance(value, dict):
            words += [option, *_pairs(path, name, value)]
        elif isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
            for each in value:
                words += [option, *_pairs(path, name, each)]
        else:
            words.append(f"{option}={_text(path, name, value)}")
    return words


def _pairs(path: Path, name: str, table: Mapping[str, Any]) -> Iterator[str]:
    for key, value in table.items():
        if key == "options" and isinstance(value, dict):
            for option, setting in value.items():
                yield f"{_OPTION}{option}={_text(path, option, setting)}"
        else:
            for each in value if isinstance(value, list) else [value]:
                yield f"{key}={_text(path, f'{name}.{key}', each)}"


def _text(path: Path, name: str, value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    raise UsageError(f"{path}: {name} is {type(value).__name__}: expected text, a number, true or false")
