"""Settings as users write them: words ``key=value`` as in Cute Chess, and TOML files of whole events."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

import msgspec
from msgspec import Meta, Struct

from tbgen.errors import NamedChoice, UsageError, quote
from tbgen.match.clock import TimeControl, parse_seconds
from tbgen.match.engine import STALL_SECONDS, START_SECONDS, EngineSettings, find_command

_LIMITS: Final = ("tc", "st", "depth", "nodes")
_KINDS: Final = {"int": "a whole number", "float": "a number", "bool": "true or false"}
_EXPECTED: Final = re.compile(r"Expected `(\w+)[^`]*`(?: >= (\d+))?")
"""How msgspec says which type, and which least number, a value should have had."""
_RANGE: Final = re.compile(r"(\d{1,4})(?:-(\d{1,4}))?", re.ASCII)

AnyStruct = TypeVar("AnyStruct", bound=Struct)


class _Seconds(float):
    """A time, not 0."""


class _Restart(NamedChoice, what="a time to restart an engine"):
    """Whether each game gets a process of its own."""

    AUTO = "auto"
    ON = "on"
    OFF = "off"


class _Protocol(NamedChoice, what="a protocol that is spoken here"):
    UCI = "uci"


class _EngineWords(Struct):
    """The words of ``--engine``, those of ``--each`` included."""

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

    def settings(self) -> EngineSettings:
        """Return the settings that they mean.

        :raises UsageError: if they do not go together, or a program is not there.
        """
        if self.dir is not None and not self.dir.is_dir():
            raise UsageError(f"there is no directory {quote(str(self.dir))}")
        command = find_command(self.cmd, tuple(self.arg), self.dir)
        name = self.name.strip() or Path(command[0]).name
        if not name.isprintable() or name in ("?", "-") or set('"\\') & set(name):
            raise UsageError(f"no player in PGN can be called {quote(name)}: give another name=")
        control = TimeControl.parse(self.tc, self.timemargin / 1000)
        if self.st is not None and control.time is not None:
            raise UsageError("tc= is a clock, and st= a time for each move: give one of them")
        control = replace(control, per_move=self.st, depth=self.depth, nodes=self.nodes)
        restart = self.restart is _Restart.ON
        return EngineSettings(name, command, self.dir, self.option, control, restart, self.start, self.stall)


def engines_of(given: Sequence[Sequence[str]], each: Sequence[str] | None) -> tuple[EngineSettings, ...]:
    """Return the engines, each with what is said for all of them and not for itself.

    :raises UsageError: if a word means nothing, or a program is not there.
    """
    common = _values("each", each or (), _EngineWords)
    return tuple(_engine(_values("engine", words, _EngineWords), common) for words in given)


def _engine(own: Mapping[str, Any], each: Mapping[str, Any]) -> EngineSettings:
    if any(key in own for key in _LIMITS):  # a time control of its own, and no other beside it
        each = {key: value for key, value in each.items() if key not in _LIMITS}
    several = {
        "arg": [*each.get("arg", ()), *own.get("arg", ())],
        "option": {**each.get("option", {}), **own.get("option", {})},
    }
    option = "engine or --each" if each else "engine"
    words = _convert(option, {**each, **own, **several}, _EngineWords)
    with _naming(option):
        return words.settings()


def struct_of(option: str, words: Sequence[str] | None, kind: type[AnyStruct]) -> AnyStruct | None:
    """Return what the words of an option say, by the names and types of a struct's fields; None without any.

    :raises UsageError: if a word means nothing, or one is missing.
    """
    return None if words is None else _convert(option, _values(option, words, kind), kind)


def _values(option: str, words: Sequence[str], kind: type[Struct]) -> dict[str, Any]:
    """Return the values of words by their keys; those of ``arg`` in a list, and of ``option.`` by name."""
    found: dict[str, Any] = {}
    known = ["option.NAME" if field == "option" else field for field in kind.__struct_encode_fields__]
    for word in words:
        key, sign, value = word.partition("=")
        group, _, name = key.partition(".")
        if not sign:
            raise UsageError(f"--{option}: {quote(word)} is not of the form key=value")
        if (f"{group}.NAME" if name else key) not in known:
            raise UsageError(f"--{option}: there is no {quote(key)}: expected some of {', '.join(known)}")
        if name:
            found.setdefault(group, {})[name] = value
        elif key == "arg":
            found.setdefault(key, []).append(value)
        else:
            found[key] = value
    return found


def _convert(option: str, values: Mapping[str, Any], kind: type[AnyStruct]) -> AnyStruct:
    for each in msgspec.structs.fields(kind):
        if each.required and each.encode_name not in values:
            raise UsageError(f"--{option} needs {each.encode_name}=")
        if isinstance(each.type, type) and issubclass(each.type, NamedChoice) and each.encode_name in values:
            with _naming(option):
                each.type(values[each.encode_name])  # msgspec would not say what there is to choose from
    try:
        return msgspec.convert(values, kind, strict=False, dec_hook=_read)
    except msgspec.ValidationError as error:
        reason, _, key = str(error).partition(" - at `$.")
        key = key.removesuffix("`")
        if expected := _EXPECTED.match(reason):
            least = f" of at least {expected[2]}" if expected[2] else ""
            reason = f"expected {_KINDS[expected[1]]}{least}"
        raise UsageError(f"--{option} {key}={values.get(key)}: {reason}") from None


@contextmanager
def _naming(option: str) -> Iterator[None]:
    """Name an option in the sentence of an error of the block."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"--{option}: {error}") from None


def _read(kind: type, text: str) -> Path | _Seconds:
    """Return a value of a type that msgspec does not know."""
    if kind is Path:
        return Path(text).expanduser()
    seconds = _Seconds(parse_seconds(text))
    if not seconds:
        raise UsageError("it gives no time")
    return seconds


def processors_of(text: str, available: Sequence[int]) -> tuple[int, ...]:
    """Return the processors of a list such as ``0-3,6``; of ``all`` those that there are.

    :raises UsageError: if it is no such list, or names one that this process may not use.
    """
    if text == "all":
        return tuple(available)
    parts = [_RANGE.fullmatch(part.strip()) for part in text.split(",")]
    if None in parts:
        raise UsageError(f"{quote(text)} is no list of processors: expected one such as 0-3,6")
    found = [number for part in parts if part for number in range(int(part[1]), int(part[2] or part[1]) + 1)]
    if not found or len(set(found)) < len(found) or not set(found) <= set(available):
        there = ",".join(map(str, available))
        raise UsageError(f"{quote(text)} are not some of the processors {there}, each once")
    return tuple(found)


def settings_of_toml(path: Path) -> dict[str, Any]:
    """Return by option what a TOML file says: a text, a truth value, or the words of a table.

    ``rounds = 10`` is ``--rounds 10``, and a table ``[sprt]`` with ``elo0 = 0`` is ``--sprt elo0=0``. Of
    ``[[engine]]`` there is a list; in each, ``options`` is a table, and ``arg`` may be a list.

    :raises UsageError: if it cannot be read as such.
    """
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise UsageError(f"{path} is not a TOML file: {error}") from None
    return {name.replace("_", "-"): _setting(path, name, value) for name, value in document.items()}


def _setting(path: Path, name: str, value: Any) -> bool | str | list[Any]:
    if isinstance(value, bool):
        return value
    if isinstance(value, dict):
        return list(_pairs(path, name, value))
    if isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
        return [list(_pairs(path, name, each)) for each in value]
    return _text(path, name, value)


def _pairs(path: Path, name: str, table: Mapping[str, Any]) -> Iterator[str]:
    for key, value in table.items():
        if key == "options" and isinstance(value, dict):
            yield from (f"option.{option}={_text(path, option, each)}" for option, each in value.items())
        else:
            for each in value if isinstance(value, list) else [value]:
                yield f"{key}={_text(path, f'{name}.{key}', each)}"


def _text(path: Path, name: str, value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return str(value)
    raise UsageError(f"{path}: {name} is {type(value).__name__}: expected text, a number, true or false")
