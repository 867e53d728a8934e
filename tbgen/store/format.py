"""Files of tables: names, sizes chosen by measurement (docs/format.md), form, and what they say."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from glob import escape
from os import PathLike
from pathlib import Path
from typing import Any, Final, TypeAlias

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.errors import UsageError, default_directory
from tbgen.index.table import AccruedForm
from tbgen.store.schema import PACKED, TABLE, Manifest

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


_PACKED_FROM: Final = 5
"""All tables of up to four men take 110 MiB, are what the others rest on, and plain ones are read without
compiled code."""
_LEAST: Final = 3
"""The table of two kings is smaller than a block of a packed one."""


_PLAIN: Final = AccruedForm.RUNS


def form_of(material: Material) -> AccruedForm:
    """Return the form of a table: packed, with functions of accrued scores, from five men on, else plain.

    With described men it stays plain, without accrued scores from five men on.
    """
    if material.is_described:
        return AccruedForm.NOTHING if material.men >= _PACKED_FROM else _PLAIN
    return AccruedForm.FUNCTIONS if material.men >= max(_PACKED_FROM, _LEAST) else _PLAIN


def is_packed(material: Material) -> bool:
    """Return whether a table is packed."""
    return form_of(material) is AccruedForm.FUNCTIONS


@dataclass(frozen=True, slots=True)
class TableInfo:
    """The facts of one table file."""

    path: Path
    variant: Variant
    material: str
    free_men: str
    """Free men in index order, White's in upper case, such as ``K k B``."""
    pawns: str
    """Pawns in placement order, such as ``P p``."""
    size: int
    """Slots per side to move."""
    phase_size: int
    """Slots per side to move and pawn placement."""
    positions: tuple[int, int]
    """Legal positions up to symmetry, White and Black to move, without en passant rights."""
    ep_positions: int
    """Positions with an en passant right up to symmetry."""
    stores_accrued: bool
    """Whether the values of accrued scores are stored, or were left out."""
    runs: int
    """Runs of accrued values; of a packed table entries of functions."""
    max_depth: int
    """Longest way to the goal in plies."""
    digest: str
    """SHA-256 of the manifest."""
    manifest: Manifest
    format_version: int
    tbgen_version: str
    build_seconds: float
    parameters: dict[str, Any]
    """How the table was built."""
    bytes: int
    """Size of the file."""
    packed: bool
    """Whether it is in packed form."""

    @classmethod
    def of_attributes(cls, path: Path, stored: Mapping[str, Any], size: int) -> "TableInfo":
        """Read the facts from the attributes of a file of ``size`` bytes.

        :raises KeyError, ValueError, TypeError: if an attribute is missing or means nothing.
        """
        values = TABLE.decode(stored)
        packed = values.pop("format") == PACKED.format
        del values["complete"]  # the same in all tables that can be read
        return cls(
            path=path,
            bytes=size,
            packed=packed,
            variant=Variant(values.pop("rules")),
            stores_accrued=bool(values.pop("accrued")),
            manifest=Manifest(values.pop("manifest")),
            **values,
        )

    @property
    def stores_runs(self) -> bool:
        """Whether the values of accrued scores are stored as runs, with depths; packed tables have functions,
        without."""
        return self.stores_accrued and not self.packed

    @property
    def has_layers(self) -> bool:
        """Whether the depths of accrued scores, and the values of one side to move, follow only from layers
        that are made again: in packed tables of a variant with layers."""
        return self.stores_accrued and self.packed and self.variant.layered

    @property
    def form(self) -> str:
        """``plain`` or ``packed``."""
        return "packed" if self.packed else "plain"

    def facts(self) -> dict[str, Any]:
        """Return what the manifest repeats, by name of attribute."""
        renamed = {"rules": self.variant, "accrued": int(self.stores_accrued)}
        return {name: renamed[name] if name in renamed else getattr(self, name) for name in TABLE.facts}

    def sizes(self) -> dict[str, int]:
        """Return what the names of axes of the datasets stand for, but those that only the file knows."""
        masked = self.size if self.stores_runs else 0
        return {
            "size": self.size,
            "phase_size": self.phase_size,
            "placements": self.size // self.phase_size,
            "pawns": len(self.pawns.split()),
            "size / 8": masked // 8,
            "blocks": -(-masked // BLOCK),
            "runs": self.runs,
        }
