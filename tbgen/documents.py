"""Structs of msgspec for input and output: JSON documents, and settings written as words ``key=value``.

The fields of a struct are the keys of its document, in the same order. JSON Schema is derived from the class.
An omitted optional field is ``UNSET``.

Words have the syntax of Cute Chess. They are parsed into structs, or into options of engines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import cache, lru_cache
from os.path import expanduser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Generic, Self, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from tbgen.errors import NamedChoice, UsageError, printable, quote

if TYPE_CHECKING:
    from chess.engine import Option


__all__ = [
    "UNSET",
    "Count",
    "Document",
    "EndsDocument",
    "Plies",
    "Share",
    "SideName",
    "UnsetType",
    "encoded",
    "schema_components",
    "to_builtins",
]

Bound = TypeVar("Bound")

Count: TypeAlias = Annotated[int, Meta(ge=0)]
Plies: TypeAlias = Annotated[int, Meta(ge=0)]
Share: TypeAlias = Annotated[float, Meta(ge=0)]
SideName: TypeAlias = Annotated[str, Meta(extra_json_schema={"enum": ["white", "black"]})]


def to_builtins(value: Any) -> Any:
    """Return a document, or a container of documents, as dicts, lists, strings and numbers.

    Scores, materials and paths become strings, even as keys; fractions become numbers.
    """
    return msgspec.to_builtins(value, enc_hook=_builtin, str_keys=True)


def encoded(document: Any) -> bytes:
    """Return the JSON of a document, or of a container of documents, without white space."""
    return msgspec.json.encode(document, enc_hook=_builtin)


def schema_components(types: Iterable[Any], ref_template: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the JSON Schemas of types, and those of the documents in them, by name.

    The schema of a class that msgspec does not support is its attribute ``JSON_SCHEMA``.
    """
    return msgspec.json.schema_components(types, schema_hook=_json_schema, ref_template=ref_template)


def _json_schema(value_type: type) -> dict[str, Any]:
    schema: dict[str, Any] = value_type.JSON_SCHEMA  # type: ignore[attr-defined]
    return schema


def _builtin(value: object) -> float | str:
    return float(value) if isinstance(value, Fraction) else str(value)


def _parsed(value_type: type, text: str) -> Any:
    """Return a value of a type that msgspec does not support: a path, or a class with a method ``parse``."""
    return Path(expanduser(text)) if value_type is Path else _cached_parse(value_type, text)


@lru_cache(1 << 12)  # a report repeats the same few scores thousands of times
def _cached_parse(value_type: type, text: str) -> Any:
    return value_type.parse(text)  # type: ignore[attr-defined]


@cache
def _required_names(document_type: type[Struct]) -> tuple[str, ...]:
    return tuple(field.name for field in msgspec.structs.fields(document_type) if field.required)


class Document(Struct, forbid_unknown_fields=True):
    """Base class of all documents."""

    @classmethod
    def of(cls, source: object, **others: Any) -> Self:
        """Return the document of an object, whose attributes have the names of fields.

        :param others: the values of fields that are not copied. An optional field is never copied.
        """
        copied = {name: getattr(source, name) for name in _required_names(cls) if name not in others}
        return cls(**copied, **others)

    @classmethod
    def read(cls, builtins: Any) -> Self:
        """Return a document from the result of :meth:`builtins`.

        :raises ValidationError: if a field is missing or invalid.
        """
        return msgspec.convert(builtins, cls, strict=False, dec_hook=_parsed)

    def builtins(self) -> dict[str, Any]:
        """Return the document as dicts, lists, strings and numbers, as :func:`to_builtins` does."""
        document: dict[str, Any] = to_builtins(self)
        return document


class EndsDocument(Document, Generic[Bound]):
    """A value for each bound of an interval."""

    lower: Bound
    upper: Bound


_TYPE_NAMES: Final = {"int": "a whole number", "float": "a number", "bool": "true or false"}
_TYPE_ERROR_PATTERN: Final = re.compile(r"Expected `(\w+)[^`]*`(?: >= (\d+))?")
"""Matches the messages of msgspec that state the expected type and the minimum of a number."""

MANAGED_OPTIONS: Final[Mapping[str, tuple[str, str]]] = {
    "Ponder": ("false", "engines think in their own time only"),
    "MultiPV": ("1", "the number of lines is set for each move"),
    "UCI_Chess960": ("", "it is set for each game from its start position"),
    "UCI_Variant": ("", "it is rmobility for an engine that knows this, otherwise chess"),
}
"""For each engine option that users cannot set: the accepted value, and why other values are ignored."""

AnyStruct = TypeVar("AnyStruct", bound=Struct)


def struct_of(option: str, words: Sequence[str] | None, struct: type[AnyStruct]) -> AnyStruct | None:
    """Return the struct that the words of an option describe; None if ``words`` is None.

    :raises UsageError: if a word is malformed or unknown, or a required word is missing.
    """
    return None if words is None else make_struct(option, values_of(option, words, struct), struct)


def values_of(option: str, words: Sequence[str], struct: type[Struct]) -> dict[str, Any]:
    """Map each key to its value. The value of ``arg`` is a list, the value of ``option`` a dict by NAME.

    :raises UsageError: if a word is malformed or its key is unknown.
    """
    values: dict[str, Any] = {}
    keys = ["option.NAME" if field == "option" else field for field in struct.__struct_encode_fields__]
    for word in words:
        key, sign, value = word.partition("=")
        group, _, name = key.partition(".")
        if not sign:
            raise UsageError(f"--{option}: {quote(word)} is not of the form key=value")
        if (f"{group}.NAME" if name else key) not in keys:
            raise UsageError(f"--{option}: there is no {quote(key)}: expected some of {', '.join(keys)}")
        if name:
            values.setdefault(group, {})[name] = value
        elif key == "arg":
            values.setdefault(key, []).append(value)
        else:
            values[key] = value
    return values


def make_struct(option: str, values: Mapping[str, Any], struct: type[AnyStruct]) -> AnyStruct:
    """Return the struct with the values that :func:`values_of` has returned.

    :raises UsageError: if a value is malformed, or a required value is missing.
    """
    for item in msgspec.structs.fields(struct):
        if item.required and item.encode_name not in values:
            raise UsageError(f"--{option} needs {item.encode_name}=")
        if isinstance(item.type, type) and issubclass(item.type, NamedChoice) and item.encode_name in values:
            with option_in_errors(option):
                item.type(values[item.encode_name])  # the message of msgspec would not list the choices
    try:
        return msgspec.convert(values, struct, strict=False, dec_hook=_parsed)
    except msgspec.ValidationError as error:
        reason, _, key = str(error).partition(" - at `$.")
        key = key.removesuffix("`")
        if expected := _TYPE_ERROR_PATTERN.match(reason):
            least = f" of at least {expected[2]}" if expected[2] else ""
            reason = f"expected {_TYPE_NAMES[expected[1]]}{least}"
        raise UsageError(f"--{option} {key}={values.get(key)}: {reason}") from None


@contextmanager
def option_in_errors(option: str) -> Iterator[None]:
    """Prefix the message of a UsageError raised in the block with the name of an option."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"--{option}: {error}") from None


def settable_options(
    options: Iterable[tuple[str, str]], managed: Mapping[str, tuple[str, str]], warn: Callable[[str], object]
) -> dict[str, str]:
    """Return the options of engines that users may set; the last value of a repeated option counts.

    As UCI requires, names are compared regardless of case and of the number of blanks between words.

    :param managed: the options that users cannot set, as in :data:`MANAGED_OPTIONS`.
    :param warn: called with a sentence for each setting that has no effect.
    """
    managed_values = {name.lower(): entry for name, entry in managed.items()}
    settings: dict[str, tuple[str, str]] = {}
    for spelling, value in options:
        name = " ".join(spelling.split())
        accepted, reason = managed_values.get(name.lower(), (None, ""))
        if accepted is None:
            settings[name.lower()] = name, value.strip()
        elif value.strip().lower() != accepted:
            warn(f"option.{printable(name)}={printable(value)} has no effect: {reason}")
    return dict(settings.values())


def options_for(engine_options: Mapping[str, Option], settings: Mapping[str, str]) -> dict[str, str | None]:
    """Map each option's name, as the engine spells it, to its value. The value of a button is None.

    :param engine_options: the options of an engine, with look-ups regardless of case.
    :raises UsageError: if the engine does not have an option, or an option cannot have the given value.
    """
    values: dict[str, str | None] = {}
    for name, value in settings.items():
        option = engine_options.get(name)
        if option is None:
            names = f": the engine has: {printable(', '.join(engine_options))}" if engine_options else ""
            raise UsageError(f"there is no option {quote(name)}{names}")
        choices = {"check": ("true", "false"), "combo": option.var or ()}.get(option.type)
        if choices is not None:
            spelling = next((choice for choice in choices if choice.lower() == value.lower()), None)
            if spelling is None:
                raise UsageError(
                    f"{printable(option.name)} is one of {printable(', '.join(choices))}, not {quote(value)}"
                )
            value = spelling
        values[option.name] = None if option.type == "button" else value
    return values


def normalise_blanks(line: bytes) -> bytes:
    """Return a line of UCI with each run of white space between words replaced by one blank.

    >>> normalise_blanks(b"\\tbestmove \\t e2e4 ")
    b'bestmove e2e4'
    """
    return b" ".join(line.split())
