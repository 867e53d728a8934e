"""Structs of msgspec between tbgen and its users: JSON documents, and settings as words ``key=value``.

The fields of a struct are the keys of the document, in their order, and its class says so in JSON Schema. A
field that may be left out is ``UNSET`` then.

Words are those of Cute Chess; they are read as structs, and as options of engines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Generic, TypeAlias, TypeVar

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
    "ScoreText",
    "Share",
    "SideName",
    "UnsetType",
]

End = TypeVar("End")

ScoreText: TypeAlias = Annotated[str, Meta(pattern=r"^-?G[0-9]+\.[05]$")]
"""A G-score as it is printed."""
Count: TypeAlias = Annotated[int, Meta(ge=0)]
Plies: TypeAlias = Annotated[int, Meta(ge=0)]
Share: TypeAlias = Annotated[float, Meta(ge=0)]
SideName: TypeAlias = Annotated[str, Meta(extra_json_schema={"enum": ["white", "black"]})]


class Document(Struct, forbid_unknown_fields=True):
    """Base of all documents."""

    def plain(self) -> dict[str, Any]:
        """Return the document as dicts, lists, texts and numbers."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found


class EndsDocument(Document, Generic[End]):
    """Something of both ends of an interval."""

    lower: End
    upper: End


_KINDS: Final = {"int": "a whole number", "float": "a number", "bool": "true or false"}
_EXPECTED: Final = re.compile(r"Expected `(\w+)[^`]*`(?: >= (\d+))?")
"""How msgspec says which type, and which least number, a value should have had."""

MANAGED_OPTIONS: Final[Mapping[str, tuple[str, str]]] = {
    "Ponder": ("false", "engines think in their own time only"),
    "MultiPV": ("1", "the number of lines is set for each move"),
    "UCI_Chess960": ("", "it is set as the start position of each game has it"),
    "UCI_Variant": ("", "it is rmobility for an engine that knows this, otherwise chess"),
}
"""Options of engines that are set without the user: the value that changes nothing, and what is so anyway."""

AnyStruct = TypeVar("AnyStruct", bound=Struct)


def struct_of(option: str, words: Sequence[str] | None, kind: type[AnyStruct]) -> AnyStruct | None:
    """Return what the words of an option say, by the names and types of a struct's fields; None without any.

    :raises UsageError: if a word means nothing, or one is missing.
    """
    return None if words is None else converted(option, values_of(option, words, kind), kind)


def values_of(option: str, words: Sequence[str], kind: type[Struct]) -> dict[str, Any]:
    """Return the values of words by their keys; those of ``arg`` in a list, and of ``option.`` by name.

    :raises UsageError: if a word means nothing.
    """
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


def converted(option: str, values: Mapping[str, Any], kind: type[AnyStruct]) -> AnyStruct:
    """Return the struct of the values that :func:`values_of` has found.

    :raises UsageError: if a value means nothing, or one is missing.
    """
    for each in msgspec.structs.fields(kind):
        if each.required and each.encode_name not in values:
            raise UsageError(f"--{option} needs {each.encode_name}=")
        if isinstance(each.type, type) and issubclass(each.type, NamedChoice) and each.encode_name in values:
            with naming(option):
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
def naming(option: str) -> Iterator[None]:
    """Name an option in the sentence of an error of the block."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"--{option}: {error}") from None


def _read(kind: type, text: str) -> Any:
    """Return a value of a type that msgspec does not know: a path, or what a class itself reads."""
    return Path(text).expanduser() if kind is Path else kind.parse(text)  # type: ignore[attr-defined]


def unmanaged(
    options: Iterable[tuple[str, str]], managed: Mapping[str, tuple[str, str]], note: Callable[[str], object]
) -> dict[str, str]:
    """Return the options that are left to the user, each once: the last value counts.

    Names are the same in letters of any case, as UCI has it, and with any blanks between their words.

    :param managed: others, in the form of :data:`MANAGED_OPTIONS`.
    :param note: is told which of them have no effect, and why.
    """
    known = {name.lower(): said for name, said in managed.items()}
    found: dict[str, tuple[str, str]] = {}
    for spelled, value in options:
        name = " ".join(spelled.split())
        usual, why = known.get(name.lower(), (None, ""))
        if usual is None:
            found[name.lower()] = name, value.strip()
        elif value.strip().lower() != usual:
            note(f"option.{printable(name)}={printable(value)} has no effect: {why}")
    return dict(found.values())


def options_for(known: Mapping[str, Option], wanted: Mapping[str, str]) -> dict[str, str | None]:
    """Return by the engine's own names what is to be set; None for a button, which is pressed.

    :param known: the options of an engine, found in letters of any case.
    :raises UsageError: if it has no such option, or the option has no such value.
    """
    found: dict[str, str | None] = {}
    for name, value in wanted.items():
        option = known.get(name)
        if option is None:
            names = printable(", ".join(known))
            raise UsageError(f"there is no option {quote(name)}: expected some of {names}")
        words = {"check": ("true", "false"), "combo": option.var or ()}.get(option.type)
        if words is not None:
            own = next((word for word in words if word.lower() == value.lower()), None)
            if own is None:
                raise UsageError(
                    f"{printable(option.name)} is one of {printable(', '.join(words))}, not {quote(value)}"
                )
            value = own
        found[option.name] = None if option.type == "button" else value
    return found


def spaced(line: bytes) -> bytes:
    """Return a line of UCI with one blank between its words, where any white space may be.

    >>> spaced(b"\\tbestmove \\t e2e4 ")
    b'bestmove e2e4'
    """
    return b" ".join(line.split())
