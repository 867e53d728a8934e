"""``tbgen export``: tables for the C library."""

from pathlib import Path

from tbgen.board.material import Material
from tbgen.cli.bars import ProgressLine
from tbgen.cli.options import AsJson, MaxMen, TableDirectory, VariantList, command, material_list
from tbgen.cli.streams import print_document
from tbgen.documents import Document
from tbgen.exchange.export import ExportedTable, export
from tbgen.text import counted, size_text


class ExportDocument(Document):
    """The flat files of an export, and their total size in bytes."""

    directory: Path
    tables: list[ExportedTable]
    bytes: int


@command
def run(
    target: Path,
    *materials: Material,
    men: MaxMen,
    variants: VariantList,
    json: AsJson,
    directory: TableDirectory,
) -> None:
    """Write tables as flat files, which programs in C and C++ map into memory.

    The library that reads flat files is in the source tree, in the folder native. docs/native.md describes
    the library and the files. Undamaged files of an earlier export are left unchanged. Before a file is
    written, its table is checked against its digest. The flat files of up to four men need 0.7 GiB; the flat
    files of five men need about as much as their tables.

    \b
    For example:
      tbgen export flat
      tbgen export flat KRPvKR --dir data
      tbgen export flat --men 4 --rules all --json

    :param target: directory of the flat files
    :param materials: materials such as KBvK; sub-tables are added (default: all existing tables)
    :param json: print one JSON document
    """
    line = ProgressLine()

    def show_progress(table: ExportedTable, table_number: int, count: int) -> None:
        line.show(f"{table.file}, {table_number} of {count}")

    with line:
        tables = export(directory, target, variants, material_list(materials, men), report=show_progress)
    size = sum(table.size for table in tables)
    written_count = sum(table.is_new for table in tables)
    if json:
        print_document(ExportDocument(target, tables, size))
    else:
        print(f"{target}: {counted(len(tables), 'table')}, {size_text(size)}, {written_count} written")
