"""Settings as words ``key=value``, in the syntax of Cute Chess, which are parsed into structs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import msgspec
from msgspec import Struct

from tbgen.documents import AnyStruct, from_builtins
from tbgen.errors import NamedChoice, UsageError, quote

_TYPE_NAMES: Final = {"int": "a whole number", "float": "a number", "bool": "true or false"}
_TYPE_ERROR_PATTERN: Final = re.compile(r"Expected `(\w+)[^`]*`(?: >= (\d+))?")
"""Matches the messages of msgspec that state the expected type and the minimum of a number."""


def struct_of(option: str, words: Sequence[str], struct: type[AnyStruct]) -> AnyStruct:
    """Return the struct that the words of an option describe.

    :raises UsageError: if a word is malformed or unknown, or a required word is missing.
    """
    return make_struct(option, values_of(option, words, struct), struct)


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
        return from_builtins(values, struct)
    except msgspec.ValidationError as error:
        reason, _, key = str(error).partition(" - at `$.")
        key = key.removesuffix("`")
        if expected := _TYPE_ERROR_PATTERN.match(reason):
            minimum_text = f" of at least {expected[2]}" if expected[2] else ""
            reason = f"expected {_TYPE_NAMES[expected[1]]}{minimum_text}"
        raise UsageError(f"--{option} {key}={values.get(key)}: {reason}") from None


@contextmanager
def option_in_errors(option: str) -> Iterator[None]:
    """Prefix the message of a UsageError raised in the block with the name of an option."""
    try:
        yield
    except UsageError as error:
        raise UsageError(f"--{option}: {error}") from None
