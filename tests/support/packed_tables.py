"""Packed tables of small materials, made from plain tables of what they rest on."""

from pathlib import Path

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.index.layout import layout_of
from tbgen.index.table import AccruedForm, Table
from tbgen.retro.solver import solve
from tbgen.store.format import table_path
from tbgen.tables.encode import packed_content
from tbgen.tables.files import open_table, write_table
from tbgen.tables.look_up_warmup import ensure_compiled
from tbgen.tables.pack import NeedFinder, StoredPositions
from tests.support.solved_tables import source_of


def plain(tables: Path, name: str, variant: Variant = Variant.R_MOBILITY) -> Table:
    """A table of a directory of plain ones."""
    with open_table(table_path(tables, name, variant)) as file:
        return file.read()


def to_pack(tables: Path, name: str, variant: Variant = Variant.R_MOBILITY) -> tuple[Table, StoredPositions]:
    """Solve a table whose sub-tables lie in a directory, and find what of it has to be stored."""
    material = Material.parse(name)
    finder = NeedFinder(layout_of(material))
    table = solve(
        material,
        {sub: source_of(plain(tables, sub.name, variant)) for sub in material.successors()},
        variant,
        accrued=AccruedForm.FUNCTIONS,
        side=finder.side,
        after_phase=finder,
    )
    return table, finder.stored_positions()


def write(table: Table, needed: StoredPositions, directory: Path) -> Path:
    path = table_path(directory, table.material.name, table.variant)
    content = packed_content(table, needed)
    write_table(table, path, version="0.2.0", build_seconds=1.0, parameters={"threads": 2}, content=content)
    return path


def pack(tables: Path, name: str, directory: Path, variant: Variant = Variant.R_MOBILITY) -> Path:
    """Solve and pack a table whose sub-tables lie in a directory."""
    return write(*to_pack(tables, name, variant), directory)


class PackedTables:
    """Packed copies of the tables of a directory, each made when it is asked for first.

    :param directory: where they lie; processes may share it, since a file is there as a whole or not at all.
    """

    def __init__(self, tables: Path, directory: Path) -> None:
        self.plain, self.directory = tables, directory
        directory.mkdir(exist_ok=True)

    def __call__(self, name: str, variant: Variant = Variant.R_MOBILITY) -> Path:
        path = table_path(self.directory, name, variant)
        if not path.exists():
            pack(self.plain, name, self.directory, variant)
        ensure_compiled()  # not amid a test
        return path
