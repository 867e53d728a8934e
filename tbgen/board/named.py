"""Men of one's own: names, values and pictures for described men, from a file.

A table of ``men.toml`` has the name of a man and its description and, if said, what it is worth in pawns and
where its pictures are.
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

FILE: Final = "men.toml"
"""In the working directory, if the environment variable ``TBGEN_MEN`` does not say where."""
_NAME: Final = re.compile("[a-z][a-z0-9-]+")


class NamedMan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A man that the file names."""

    moves: str
    """Its description, without brackets."""
    value: float | None = None
    """What it is worth, in pawns."""
    pictures: tuple[str, str] | None = None
    """Files of SVG of White's man and of Black's, as seen from the directory of the file."""


def named_men() -> Mapping[str, NamedMan]:
    """Return the men of the file by their names, in small letters; none without a file.

    :raises UsageError: saying what is wrong with the file.
    """
    path = _path()
    try:
        return _read(path, path.stat().st_mtime_ns)
    except FileNotFoundError:
        if os.environ.get("TBGEN_MEN"):
            raise UsageError(f"{quote(str(path))} of $TBGEN_MEN is missing: write it, or unset it") from None
        return {}
    except OSError as error:
        raise UsageError(f"{quote(str(path))} cannot be read: {error.strerror}") from None


def named_value(man: str) -> float | None:
    """Return what the file says that a described man is worth, None if it does not.

    :param man: its canonical name, such as ``[WF]``.
    :raises UsageError: as :func:`named_men` does.
    """
    return next((named.value for named in _named(man) if named.value is not None), None)


def named_picture(man: str, white: bool) -> Path | None:
    """Return the picture that the file names for a described man, None if it does not.

    :param man: its canonical name, such as ``[WF]``.
    :raises UsageError: as :func:`named_men` does.
    """
    found = (named.pictures[not white] for named in _named(man) if named.pictures is not None)
    return next((_path().parent / picture for picture in found), None)


def _named(man: str) -> Iterator[NamedMan]:
    """Yield what the file says of a man."""
    return (named for named in named_men().values() if _canonical(named) == man)


def _path() -> Path:
    return Path(os.environ.get("TBGEN_MEN") or FILE).absolute()


@cache
def _read(path: Path, changed: int) -> Mapping[str, NamedMan]:
    """Return the men of a file that was changed at some time."""
    try:
        found = msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), dict[str, NamedMan])
        for name, man in found.items():
            _check(name, man, path.parent)
        return found
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError, UsageError) as error:
        example = '[ghost] and below it moves = "WD" and, if you like, value = 3.1'
        raise UsageError(f"{quote(str(path))} is no file of men ({error}): write {example}") from None


def _check(name: str, man: NamedMan, directory: Path) -> None:
    """Check a man of the file.

    :param directory: where the file lies.
    :raises UsageError: if it cannot be.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(f"{quote(name)} is not a name: small letters, digits and hyphens make one")
    if kind_of_letters(name.upper()) is not None:
        raise UsageError(f"{quote(name)} describes a man itself")
    if _kind(man) is None:
        raise UsageError(f"{quote(man.moves)} of {name} describes no man")
    if man.value is not None and not 0 < man.value < 1000:
        raise UsageError(f"{name} cannot be worth {man.value:g} pawns")
    for picture in man.pictures or ():
        if not picture.endswith(".svg") or not (directory / picture).is_file():
            raise UsageError(f"{quote(picture)} of {name} is no file of SVG beside it")


def _kind(man: NamedMan) -> Kind | None:
    """Return the kind of a man, None if its letters describe none: they are all capital or all small."""
    return kind_of_letters(man.moves.upper() if man.moves.islower() else man.moves)


def _canonical(man: NamedMan) -> str:
    kind = _kind(man)
    assert kind is not None
    return kind.name
