"""The errors that users can encounter, each with a one-sentence message, an exit code and an error code."""

from __future__ import annotations

import os
import reprlib
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from operator import index
from os import PathLike
from types import UnionType
from typing import TYPE_CHECKING, Any, Self, SupportsIndex, TypeVar
from unicodedata import category

if TYPE_CHECKING:
    from pathlib import Path

Result = TypeVar("Result")

_MAX_QUOTED_LENGTH = 60
_quoter = reprlib.Repr()
_quoter.maxstring = _MAX_QUOTED_LENGTH


def default_directory() -> Path:
    """Return the default directory of tables: ``$TBGEN_DIR``, else ``data``."""
    from pathlib import Path  # imported here, because the import takes longer than printing help

    return Path(os.environ.get("TBGEN_DIR") or "data")


class TbgenError(Exception):
    """Base class of all errors for users; the message states the problem and the remedy."""

    exit_code: int = 1
    """Exit code of a command that fails with this error."""
    code: str = "failed"
    """Error code for programs; JSON documents contain it beside the message."""


class UsageError(TbgenError, ValueError):
    """Malformed or invalid input, such as a FEN, a material name, a G-score or an option."""

    exit_code = 2
    code = "bad_input"


class PositionError(UsageError, KeyError):
    """A position that no table can contain. It is also a KeyError, as users of python-chess expect."""

    def __str__(self) -> str:
        return str(self.args[0])


def build_command(
    materials: Iterable[str], directory: str | PathLike[str] | None = None, rules: str = "r"
) -> str:
    """Return the shell command that builds tables with their sub-tables.

    >>> build_command(["KBvK", "KPvK"], "/srv/tables")
    'tbgen build KBvK KPvK --dir /srv/tables'
    """
    words = ["tbgen", "build", *materials]
    if directory is not None and os.fspath(directory) != str(default_directory()):
        words += ["--dir", str(directory)]
    if rules != "r":
        words += ["--rules", rules]
    return shlex.join(words)


def _named(directory: str | PathLike[str]) -> str:
    """Return the name of a directory, with a note if it does not exist."""
    return f"{directory}{'' if os.path.exists(directory) else ' (no such directory)'}"


@dataclass(eq=False, repr=False)
class MissingTableError(TbgenError, KeyError):
    """A required table has not been built.

    :ivar material: canonical name of the missing table, such as ``KBvK``.
    :ivar directory: the directory that was searched first, where the message suggests building the table.
        If None, the message does not name a directory.
    :ivar rules: the rules of the missing table.
    :ivar others: the other directories that were searched.

    >>> print(MissingTableError("KBvK", "no/dir"))
    table KBvK is missing from no/dir (no such directory); build it with: tbgen build KBvK --dir no/dir
    """

    exit_code = 3
    code = "missing_table"

    material: str
    directory: str | PathLike[str] | None = None
    rules: str = "r"
    others: Sequence[str | PathLike[str]] = ()

    @property
    def command(self) -> str:
        """The shell command that builds the missing table."""
        return build_command([self.material], self.directory, self.rules)

    def __str__(self) -> str:
        directories = () if self.directory is None else (self.directory, *self.others)
        where = f" from {' and '.join(map(_named, directories))}" if directories else ""
        return f"table {self.material} is missing{where}; build it with: {self.command}"


@dataclass(eq=False, repr=False)
class GameError(TbgenError):
    """A game cannot be adjudicated for a reason outside the game, such as an unusable table.

    :ivar place: description of the game for the message.
    :ivar error: the reason.
    """

    place: str
    error: TbgenError

    def __post_init__(self) -> None:
        self.exit_code = self.error.exit_code
        self.code = self.error.code

    def __str__(self) -> str:
        return f"{self.place}: {self.error}"


class MissingLayerError(TbgenError):
    """A line or a value needs a layer (see docs/glossary.md) that is not stored and may not be computed."""

    exit_code = 3
    code = "missing_layer"


class UnprovenError(TbgenError):
    """The result of a game has to be proved, but no table can contain its final position."""


@dataclass(eq=False, repr=False)
class NoTablesError(TbgenError):
    """A directory contains no tables, but some are required.

    :ivar directory: the directory that was searched.
    :ivar rules: the rules of the required tables.

    >>> print(NoTablesError("data"))
    there are no tables in data: build some, as with: tbgen build KBvK
    """

    exit_code = 3
    code = "no_tables"

    directory: str | PathLike[str]
    rules: str = "r"

    def __str__(self) -> str:
        command = MissingTableError("KBvK", self.directory, self.rules).command
        noun = "tables" if self.rules == "r" else f"tables for the rules {self.rules}"
        return f"there are no {noun} in {_named(self.directory)}: build some, as with: {command}"


class DamagedTableError(TbgenError, OSError):
    """A file is not a usable table: it is truncated, altered, foreign, or of a future format version."""

    code = "damaged_table"


class ClosedError(TbgenError, ValueError):
    """A tablebase is used after it was closed. It is also a ValueError, as for closed files."""


class LimitError(TbgenError, OverflowError):
    """A number that a table or its proof needs is greater than the program can store."""


class NamedChoice(StrEnum):
    """Base class of enumerations that users select by name, in upper or lower case, with or without hyphens.

    In a class definition, the keyword argument ``noun`` is the noun for messages. All other keyword arguments
    are aliases of values: ``alias="value"``.

    >>> class Fruit(NamedChoice, noun="a fruit"):
    ...     APPLE = "apple"
    ...     PEAR = "pear"
    >>> Fruit("Pear")
    <Fruit.PEAR: 'pear'>
    >>> Fruit("fig")
    Traceback (most recent call last):
    ...
    tbgen.errors.UsageError: 'fig' is not a fruit: expected one of apple, pear

    :raises UsageError: if no value has the given name.
    :raises TypeError: if the name is not text.
    """

    _noun: str
    _aliases: dict[str, str]

    def __init_subclass__(cls, noun: str, **aliases: str) -> None:
        super().__init_subclass__()
        cls._noun = noun
        cls._aliases = aliases

    @classmethod
    def _missing_(cls, value: object) -> Self:
        require_type(cls._noun, value, str, "its name")
        name = str(value).lower().replace("-", "")
        for choice in cls:
            if choice.replace("-", "") == cls._aliases.get(name, name):
                return choice
        raise UsageError(f"{quote(str(value))} is not {cls._noun}: expected one of {', '.join(cls)}")


def require_type(noun: str, value: object, types: type | UnionType, expected: str) -> None:
    """Check that an argument has one of the given types.

    :param noun: what the argument is, for messages.
    :param expected: the types in words, for messages.
    :raises TypeError: if it has none of them.
    """
    if not isinstance(value, types):
        raise TypeError(f"{noun} cannot be {type(value).__name__}: expected {expected}")


def require_whole(noun: str, number: object, minimum: int, maximum: int | None = None) -> None:
    """Check that an argument is a whole number, of Python's or of numpy's types, and within limits.

    :param noun: what the number is, for messages.
    :param maximum: the greatest number allowed; None for no limit.
    :raises UsageError: if it is below ``minimum`` or above ``maximum``.
    :raises TypeError: if it is not a whole number. Bools are none.
    """
    if isinstance(number, bool) or not isinstance(number, SupportsIndex):
        raise TypeError(f"the {noun} cannot be {type(number).__name__}: expected a whole number")
    if index(number) < minimum or (maximum is not None and index(number) > maximum):
        limit = "or more" if maximum is None else f"to {maximum}"
        raise UsageError(f"the {noun} is {number}: expected {minimum} {limit}")


def require_truth(noun: str, value: object) -> None:
    """Check that an argument is True or False, of Python's or of numpy's type.

    :param noun: name of the argument, for messages.
    :raises TypeError: if it is not. An integer, or text such as "no", is not.
    """
    if type(value).__name__ not in ("bool", "bool_"):  # numpy's type, which is not imported here, has both
        raise TypeError(f"{noun} cannot be {type(value).__name__}: expected True or False")


def result_or_error(function: Callable[..., Result], *arguments: Any) -> Result | TbgenError:
    """Return the result of a function, or the TbgenError that it raises.

    The traceback is removed, since it would keep the function's local variables in memory.

    :raises ClosedError: if the function does, because then nothing can be looked up.
    """
    try:
        return function(*arguments)
    except ClosedError:
        raise
    except TbgenError as error:
        return error.with_traceback(None)


def causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error, its cause, the cause of its cause, and so on."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


def printable(text: str) -> str:
    """Return an untrusted string on one line, without characters that a terminal might interpret as commands.

    Blanks of any kind are kept, so that paths remain those of files.

    >>> printable("Deep\\x1b[31m Blue")
    'Deep�[31m Blue'
    >>> printable("\N{IDEOGRAPHIC SPACE}\N{NO-BREAK SPACE}") == "\N{IDEOGRAPHIC SPACE}\N{NO-BREAK SPACE}"
    True
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or category(char) == "Zs" else "\ufffd" for char in text)


def quote(text: str) -> str:
    """Quote a user's text for an error message: escaped onto one line, and shortened in the middle if long.

    >>> quote("G3.4")
    "'G3.4'"
    """
    return _quoter.repr(text)
