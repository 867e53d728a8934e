"""User-defined names, values and pictures of described men, from a file.

The header of each TOML table in ``men.toml`` is the name of a man. The table contains the man's description
and, optionally, its value in pawns and the paths of its pictures.
"""

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

import msgspec

from tbgen.board.kinds import Kind, kind_of_letters
from tbgen.errors import UsageError, quote
from tbgen.text import decode

FILE_NAME: Final = "men.toml"
"""Name of the file in the working directory; the environment variable ``TBGEN_MEN`` may name another path."""
_NAME_PATTERN: Final = re.compile("[a-z][a-z0-9-]+")


class NamedMan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A man that the file defines."""

    moves: str
    """The description, without brackets."""
    value: float | None = None
    """The value in pawns."""
    pictures: tuple[str, str] | None = None
    """SVG files of White's and of Black's man, relative to the directory of the file."""


def named_men() -> Mapping[str, NamedMan]:
    """Return the men of the file, keyed by their lower-case names; an empty mapping if there is no file.

    :raises UsageError: if the file cannot be used.
    """
    path = _men_path()
    try:
        return _read_men(path, path.stat().st_mtime_ns)
    except FileNotFoundError:
        if os.environ.get("TBGEN_MEN"):
            raise UsageError(f"{quote(str(path))} of $TBGEN_MEN is missing: write it, or unset it") from None
        return {}
    except OSError as error:
        raise UsageError(f"{quote(str(path))} cannot be read: {error.strerror}") from None


def named_value(man: str) -> float | None:
    """Return the value that the file states for a described man, None if it states none.

    :param man: canonical name of the man, such as ``[WF]``.
    :raises UsageError: if the file cannot be used.
    """
    return next((entry.value for entry in _entries_of(man) if entry.value is not None), None)


def named_picture(man: str, white: bool) -> Path | None:
    """Return the path of the picture that the file states for a described man, None if it states none.

    :param man: canonical name of the man, such as ``[WF]``.
    :raises UsageError: if the file cannot be used.
    """
    pictures = (entry.pictures[not white] for entry in _entries_of(man) if entry.pictures is not None)
    return next((_men_path().parent / picture for picture in pictures), None)


def _entries_of(man: str) -> Iterator[NamedMan]:
    """Yield the entries of the file for a man."""
    return (entry for entry in named_men().values() if _canonical_name(entry) == man)


def _men_path() -> Path:
    return Path(os.environ.get("TBGEN_MEN") or FILE_NAME).absolute()


@cache
def _read_men(path: Path, modified_ns: int) -> Mapping[str, NamedMan]:
    """Return the men of a file. ``modified_ns``, its modification time, makes the cache notice changes."""
    try:
        men = msgspec.convert(tomllib.loads(decode(path.read_bytes())), dict[str, NamedMan])
        for name, man in men.items():
            _check_man(name, man, path.parent)
        return men
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, UsageError) as error:
        example = '[ghost] and below it moves = "WD" and, optionally, value = 3.1'
        raise UsageError(f"{quote(str(path))} is not a file of men ({error}): write {example}") from None


def _check_man(name: str, man: NamedMan, directory: Path) -> None:
    """Check a man of the file.

    :param directory: directory of the file.
    :raises UsageError: if the man is invalid.
    """
    if not _NAME_PATTERN.fullmatch(name):
        raise UsageError(f"{quote(name)} is not a name: it may have small letters, digits and hyphens")
    if kind_of_letters(name.upper()) is not None:
        raise UsageError(f"{quote(name)} describes a man itself")
    if _kind(man) is None:
        raise UsageError(f"{quote(man.moves)} of {name} does not describe a man")
    if man.value is not None and not 0 < man.value < 1000:
        raise UsageError(f"{name} cannot have a value of {man.value:g} pawns")
    for picture in man.pictures or ():
        if not picture.endswith(".svg") or not (directory / picture).is_file():
            raise UsageError(f"{quote(picture)} of {name} is not an SVG file in the directory of the file")


def _kind(man: NamedMan) -> Kind | None:
    """Return the kind of a man, None if its letters do not describe a kind.

    The letters must be all upper case or all lower case.
    """
    return kind_of_letters(man.moves.upper() if man.moves.islower() else man.moves)


def _canonical_name(man: NamedMan) -> str:
    kind = _kind(man)
    assert kind is not None
    return kind.name
