"""The errors a user can meet: each is one clear sentence, and each knows its exit code."""

from __future__ import annotations

import os
import reprlib
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from os import PathLike
from typing import TYPE_CHECKING, Any, Self, TypeVar

if TYPE_CHECKING:
    from pathlib import Path

Result = TypeVar("Result")

_QUOTED_LENGTH = 60
_quoter = reprlib.Repr()
_quoter.maxstring = _QUOTED_LENGTH


def default_directory() -> Path:
    """Return where tables lie unless a directory is given: ``$TBGEN_DIR``, else ``data``."""
    from pathlib import Path  # which takes longer than the help of a command

    return Path(os.environ.get("TBGEN_DIR") or "data")


class TbgenError(Exception):
    """Base of all errors raised on purpose: says what is wrong and what to do about it."""

    exit_code: int = 1
    """What a command ends with that meets it."""
    code: str = "failed"
    """What kind of error it is, for programs: JSON documents give it beside the sentence."""


class UsageError(TbgenError, ValueError):
    """Input that means nothing to tbgen: a FEN, a material name, a G-score or an option."""

    exit_code = 2
    code = "bad_input"


class PositionError(UsageError, KeyError):
    """A position that tables do not hold, where users of python-chess expect a KeyError."""

    def __str__(self) -> str:
        return str(self.args[0])


def build_command(
    materials: Iterable[str], directory: str | PathLike[str] | None = None, rules: str = "r"
) -> str:
    """Return the shell command that builds some tables, and those that they rest on.

    >>> build_command(["KBvK", "KPvK"], "/srv/tables")
    'tbgen build KBvK KPvK --dir /srv/tables'
    """
    words = ["tbgen", "build", *materials]
    if directory is not None and os.fspath(directory) != str(default_directory()):
        words += ["--dir", str(directory)]
    if rules != "r":
        words += ["--rules", rules]
    return shlex.join(words)


@dataclass(eq=False, repr=False)
class MissingTableError(TbgenError, KeyError):
    """A table that is needed has not been built.

    :ivar material: canonical name of the missing table, such as ``KBvK``.
    :ivar directory: where it was looked for first, and is to be built; None is not named.
    :ivar rules: the rules the table was to be built for.
    :ivar others: where else it was looked for.

    >>> print(MissingTableError("KBvK", "/srv/tables"))
    table KBvK is missing from /srv/tables; build it with: tbgen build KBvK --dir /srv/tables
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
        places = () if self.directory is None else (self.directory, *self.others)
        place = f" from {' and '.join(map(str, places))}" if places else ""
        return f"table {self.material} is missing{place}; build it with: {self.command}"


@dataclass(eq=False, repr=False)
class GameError(TbgenError):
    """What keeps a game from being judged, and is no fault of the game: a table that cannot be used.

    :ivar place: which game it is.
    :ivar error: what is wrong.
    """

    place: str
    error: TbgenError

    def __post_init__(self) -> None:
        self.exit_code, self.code = self.error.exit_code, self.error.code

    def __str__(self) -> str:
        return f"{self.place}: {self.error}"


class MissingLayerError(TbgenError):
    """A layer is needed, for a line or for a table without accrued scores, and none is to be made."""

    exit_code = 3
    code = "missing_layer"


class UnprovenError(TbgenError):
    """The result of a game has to be proven, and no table can hold its final position."""


@dataclass(eq=False, repr=False)
class NoTablesError(TbgenError):
    """There is no table at all where some are needed.

    :ivar directory: where they were looked for.
    :ivar rules: the rules the tables were to be built for.

    >>> print(NoTablesError("data"))
    there are no tables in data: build some, as with: tbgen build KBvK
    """

    exit_code = 3
    code = "no_tables"

    directory: str | PathLike[str]
    rules: str = "r"

    def __str__(self) -> str:
        command = MissingTableError("KBvK", self.directory, self.rules).command
        what = "tables" if self.rules == "r" else f"tables for the rules {self.rules}"
        return f"there are no {what} in {self.directory}: build some, as with: {command}"


class DamagedTableError(TbgenError, OSError):
    """A file that cannot serve as a table: truncated, altered, foreign or of a future format version."""

    code = "damaged_table"


class NamedChoice(StrEnum):
    """Base of the names that a user can choose from, in letters of any case, with and without hyphens.

    Keywords of a class, besides ``what``, are other names, each with the one that it stands for.

    >>> class Fruit(NamedChoice, what="a fruit"):
    ...     APPLE = "apple"
    ...     PEAR = "pear"
    >>> Fruit("Pear")
    <Fruit.PEAR: 'pear'>
    >>> Fruit("fig")
    Traceback (most recent call last):
    ...
    tbgen.errors.UsageError: 'fig' is not a fruit: expected one of apple, pear

    :raises UsageError: if there is none of that name.
    """

    _what: str
    _aliases: dict[str, str]

    def __init_subclass__(cls, what: str, **aliases: str) -> None:
        super().__init_subclass__()
        cls._what, cls._aliases = what, aliases

    @classmethod
    def _missing_(cls, value: object) -> Self:
        name = str(value).lower().replace("-", "")
        for each in cls:
            if each.replace("-", "") == cls._aliases.get(name, name):
                return each
        raise UsageError(f"{quote(str(value))} is not {cls._what}: expected one of {', '.join(cls)}")


def result_or_error(function: Callable[..., Result], *arguments: Any) -> Result | TbgenError:
    """Return what a function returns, or the error that it raises, without its traceback: that would keep
    what the function had in hand in memory."""
    try:
        return function(*arguments)
    except TbgenError as error:
        return error.with_traceback(None)


def causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and what led to it, the first cause last."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


def printable(text: str) -> str:
    """Return a text of somebody else on one line, without what a terminal might take for a command.

    >>> printable("Deep\\x1b[31m Blue")
    'Deep�[31m Blue'
    """
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


def quote(text: str) -> str:
    """Quote a user's text for an error message: escaped onto one line, and cut in the middle if it is long.

    >>> quote("G3.4")
    "'G3.4'"
    """
    return _quoter.repr(text)
