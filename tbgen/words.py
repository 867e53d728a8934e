"""Settings as words ``key=value``, as Cute Chess has them, read as structs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct

from tbgen.errors import NamedChoice, UsageError, quote

_KINDS: Final = {"int": "a whole number", "float": "a number", "bool": "true or false"}
_EXPECTED: Final = re.compile(r"Expected `(\w+)[^`]*`(?: >= (\d+))?")
"""How msgspec says which type, and which least number, a value should have had."""

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
