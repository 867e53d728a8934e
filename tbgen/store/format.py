"""Names of files, and the sizes chosen by measurement (docs/format.md)."""

from collections.abc import Sequence
from contextlib import suppress
from glob import escape
from os import PathLike
from pathlib import Path
from typing import Final, TypeAlias

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.errors import UsageError, default_directory

CHUNK_BYTES: Final = 16384
"""Decoded size of a full chunk, the unit of compression and of random access.

A multiple of ``BLOCK // 8``, so that a block of a mask lies in one chunk."""

GZIP_LEVEL: Final = 4
"""Level of the gzip filter."""

BLOCK: Final = 4096
"""Positions per entry of ``accrued/start``."""

SUFFIX: Final = ".h5"

Directories: TypeAlias = str | PathLike[str] | Sequence[str | PathLike[str]] | None
"""Where tables lie: a directory, several in the order in which they are searched, or None for the default
one."""


def directories_of(given: Directories) -> tuple[Path, ...]:
    """Return the directories that are meant, one at least.

    >>> [path.as_posix() for path in directories_of(["mine", "yours"])]
    ['mine', 'yours']
    """
    several = [given] if isinstance(given, str | PathLike) else given or [default_directory()]
    return tuple(map(Path, several))


def table_path(directory: Path, material: str, variant: Variant) -> Path:
    """Return where the table of a material lies in a directory.

    >>> table_path(Path("data"), "KBvK", Variant.R_MOBILITY).as_posix()
    'data/KBvK.r.h5'
    """
    return directory / f"{material}.{variant}{SUFFIX}"


def find_table(directories: Sequence[Path], material: str, variant: Variant) -> Path:
    """Return where the table of a material lies: in the first directory that has it, or else where it would
    have to lie."""
    paths = [table_path(directory, material, variant) for directory in directories]
    return next((path for path in paths if len(paths) > 1 and path.exists()), paths[0])


def rules_of_name(path: Path) -> str | None:
    """Return the rules in the name of a table, finished or being written; None if it is no such name.

    >>> rules_of_name(Path("data/KBvK.r.h5"))
    'r'
    """
    match path.name.split("."):
        case [_, rules, ending, *_] if f".{ending}".startswith(SUFFIX):
            return rules
    return None


def tables_in(directory: Path, variant: Variant, *others: Path) -> list[Material]:
    """Return the materials whose files lie in one of some directories, in build order."""
    found = (materials_in(each, f".{variant}{SUFFIX}") for each in (directory, *others))
    return sorted(set().union(*found))


def materials_in(directory: Path, ending: str) -> list[Material]:
    """Return the materials that have a file of their name and this ending in a directory, in build order."""
    found = []
    for path in directory.glob(f"*{ending}"):
        name = path.name.removesuffix(ending)
        with suppress(UsageError):
            material = Material.parse(name)
            if material.name == name:
                found.append(material)
    return sorted(found)


def layers_beside(table: Path) -> list[Path]:
    """Return the layer files kept beside a table (docs/format.md), be they of this or of an older one.

    >>> layers_beside(Path("nowhere/KBvK.r.h5"))
    []
    """
    return sorted(table.parent.glob(f"{escape(table.name.removesuffix(SUFFIX))}.*.layer{SUFFIX}"))
