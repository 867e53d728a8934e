"""Table files: their names, their forms (plain or packed), their facts, and sizes of chunks and blocks."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from glob import escape
from os import PathLike
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.errors import UsageError, default_directory
from tbgen.index.table import AccruedForm
from tbgen.store.schema import PACKED, TABLE, Manifest

CHUNK_BYTES: Final = 16384
"""Decoded size of a full chunk in bytes. A chunk is the unit of compression and of random access.

The size is a multiple of ``BLOCK_SLOTS // 8``, so each block of a mask is within one chunk. A look-up that
decodes two chunks takes 50 to 70 microseconds. Larger chunks save 1 to 4 % of the size of a file but multiply
this time (``benchmarks/suite/storage.py``)."""

GZIP_LEVEL: Final = 4
"""Level of the gzip filter. Level 6 saves 3 to 8 % of the size for 1.2 to 1.5 times the time of writing
(``benchmarks/suite/storage.py``)."""

BLOCK_SLOTS: Final = 4096
"""Number of slots per entry of ``accrued/start``."""

SUFFIX: Final = ".h5"

Directories: TypeAlias = str | PathLike[str] | Sequence[str | PathLike[str]] | None
"""Directories of tables: one, several in the order of the search, or None for the default directory."""

_MIN_PACKED_MEN: Final = 5
"""Minimum number of men of packed tables.

Smaller tables stay plain, because together they take up only 110 MiB, because other tables depend on them,
and because plain tables can be read without compiled code."""
_MIN_PACKABLE_MEN: Final = 3
"""Minimum number of men of tables that can be packed. The table of two kings is smaller than a packed
block."""

_PLAIN_FORM: Final = AccruedForm.RUNS
"""The form in which plain tables store the values for accrued scores."""


def directories_of(directories: Directories) -> tuple[Path, ...]:
    """Return the directories as paths, at least one.

    >>> [path.as_posix() for path in directories_of(["mine", "yours"])]
    ['mine', 'yours']
    """
    names = [directories] if isinstance(directories, str | PathLike) else directories or [default_directory()]
    return tuple(map(Path, names))


def table_path(directory: Path, material: str, variant: Variant) -> Path:
    """Return the path of the table of a material in a directory.

    >>> table_path(Path("data"), "KBvK", Variant.R_MOBILITY).as_posix()
    'data/KBvK.r.h5'
    """
    return directory / f"{material}.{variant}{SUFFIX}"


def find_table(directories: Sequence[Path], material: str, variant: Variant) -> Path:
    """Return the path of a table in the first directory that contains it.

    If no directory contains the table, return its path in the first directory.
    """
    paths = [table_path(directory, material, variant) for directory in directories]
    return next((path for path in paths if len(paths) > 1 and path.exists()), paths[0])


def rules_of_name(path: Path) -> str | None:
    """Return the rules in the name of a table file, finished or temporary; None for other names.

    >>> rules_of_name(Path("data/KBvK.r.h5"))
    'r'
    """
    match path.name.split("."):
        case [_, rules, ending, *_] if f".{ending}".startswith(SUFFIX):
            return rules
    return None


def tables_in(directory: Path, variant: Variant, *others: Path) -> list[Material]:
    """Return, in build order, the materials whose tables are in at least one of the directories."""
    return sorted(
        set().union(*(materials_in(folder, f".{variant}{SUFFIX}") for folder in (directory, *others)))
    )


def materials_in(directory: Path, suffix: str) -> list[Material]:
    """Return, in build order, the materials M for which a directory contains a file named M + ``suffix``."""
    materials = []
    for path in directory.glob(f"*{suffix}"):
        name = path.name.removesuffix(suffix)
        with suppress(UsageError):
            material = Material.parse(name)
            if material.name == name:
                materials.append(material)
    return sorted(materials)


def layer_files_beside(table: Path) -> list[Path]:
    """Return the layer files beside a table (docs/format.md), including layers of an older table.

    >>> layer_files_beside(Path("nowhere/KBvK.r.h5"))
    []
    """
    return sorted(table.parent.glob(f"{escape(table.name.removesuffix(SUFFIX))}.*.layer{SUFFIX}"))


def accrued_form_of(material: Material) -> AccruedForm:
    """Return the form in which a table stores the values for accrued scores.

    Tables of five or more men store functions, which give the values of positions for each accrued score;
    such tables are packed. Tables with described men are always plain; with five or more men, they store no
    values for accrued scores.
    """
    if material.is_described:
        return AccruedForm.NOTHING if material.men >= _MIN_PACKED_MEN else _PLAIN_FORM
    return AccruedForm.FUNCTIONS if material.men >= max(_MIN_PACKED_MEN, _MIN_PACKABLE_MEN) else _PLAIN_FORM


class TableInfo(Struct, frozen=True):
    """The facts that one table file states."""

    path: Path
    variant: Variant
    material: str
    free_men: str
    """Free men in index order, White's in upper case, such as ``K k B``."""
    pawns: str
    """Pawns in placement order, such as ``P p``."""
    size: int
    """Number of slots for each side to move."""
    phase_size: int
    """Number of slots for each side to move and pawn placement."""
    positions: tuple[int, int]
    """Number of legal positions up to symmetry without en passant rights, for White and for Black to move."""
    ep_positions: int
    """Number of positions with an en passant right, up to symmetry."""
    stores_accrued: bool
    """Whether the table stores values for accrued scores."""
    runs: int
    """Number of runs of a plain table, or of entries of functions of a packed table."""
    max_depth: int
    """Greatest depth in plies."""
    digest: str
    """SHA-256 of the manifest."""
    manifest: Manifest
    format_version: int
    tbgen_version: str
    build_seconds: float
    parameters: dict[str, Any]
    """Parameters of the build."""
    bytes: int
    """Size of the file."""
    form: Literal["plain", "packed"]
    """The form of the file, for display."""

    @classmethod
    def of_attributes(cls, path: Path, attributes: Mapping[str, Any], size: int) -> "TableInfo":
        """Return the facts that the attributes of a file of ``size`` bytes state.

        :raises KeyError, ValueError, TypeError: if an attribute is missing or malformed.
        """
        values = TABLE.decode(attributes)
        del values["complete"]  # always 1 in tables that can be read
        return cls(
            path=path,
            bytes=size,
            form="packed" if values.pop("format") == PACKED.format else "plain",
            variant=Variant(values.pop("rules")),
            stores_accrued=bool(values.pop("accrued")),
            manifest=Manifest(values.pop("manifest")),
            **values,
        )

    @property
    def derives(self) -> bool:
        """Whether values are derived from stored ones: look-ups need compiled code, and reading the whole
        table needs the sub-tables."""
        return self.form == "packed"

    @property
    def accrued_form(self) -> AccruedForm:
        """The form in which the table stores the values for accrued scores.

        With functions, it lacks all depths for accrued scores, and the values of one side to move. They can
        be found by solving layers again.
        """
        stored = AccruedForm.FUNCTIONS if self.derives else AccruedForm.RUNS
        return stored if self.stores_accrued else AccruedForm.NOTHING

    def facts(self) -> dict[str, Any]:
        """Return the facts that the manifest repeats, by attribute name."""
        renamed = {"rules": self.variant, "accrued": int(self.stores_accrued)}
        return {
            name: renamed[name] if name in renamed else getattr(self, name)
            for name in TABLE.manifest_attributes
        }

    def sizes(self) -> dict[str, int]:
        """Return the lengths of those named axes of datasets that follow from the facts."""
        masked = self.size if self.accrued_form is AccruedForm.RUNS else 0
        return {
            "size": self.size,
            "phase_size": self.phase_size,
            "placements": self.size // self.phase_size,
            "pawns": len(self.pawns.split()),
            "size / 8": masked // 8,
            "blocks": -(-masked // BLOCK_SLOTS),
            "runs": self.runs,
        }
