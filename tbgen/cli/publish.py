"""``tbgen publish``: prepare tables, solved cells or a static site for a web server."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.cli.bars import ProgressLine
from tbgen.cli.options import (
    AsJson,
    MaterialOrCellName,
    MaxMen,
    Setting,
    TableDirectory,
    VariantList,
    command,
    material_list,
)
from tbgen.cli.streams import print_document
from tbgen.errors import UsageError
from tbgen.exchange.cells import CellFilter, publish_cells
from tbgen.exchange.publish import publish
from tbgen.exchange.published import PublishedFile, PublishedSet
from tbgen.text import counted, size_text


@command
def run(
    target: Path,
    *names: MaterialOrCellName,
    men: MaxMen,
    variants: VariantList,
    cells: Annotated[Path | None, Setting(metavar="DIR")],
    site: bool,
    live: Annotated[Path | None, Setting(metavar="EVENT.pgn")],
    json: AsJson,
    directory: TableDirectory,
) -> None:
    """Prepare tables or solved cells for tbgen fetch, in a directory that any web server can serve.

    The directory gets the files, as links where the file system allows them, else as copies. It also gets a
    list of the files with sizes and digests (tbgen-set.json), and the same list for sha256sum -c
    (SHA256SUMS). TARGET may be the directory of the tables. Every file is first checked against its digest.
    Files of an earlier run are kept, and are not read again if they have not changed.

    With --cells, the directory gets cells kept by tbgen solve instead of tables. The arguments then
    name the men of the cells to publish, such as KRPvKRP.

    With --site, the directory gets the page of tbgen serve, for any host of static files, and in its folder
    "tables" the tables of up to four men. The page reads the tables in pieces, so the host has to answer
    range requests. With --live, the directory also gets the page of a finished event.

    \b
    For example:
      tbgen publish /srv/www/tables
      tbgen publish /srv/www/tables --men 4 --rules all
      tbgen publish data --dir data
      tbgen publish /srv/www/tables KRPvKRP --cells cells
      tbgen publish --site /srv/www/explorer
      tbgen publish --site /srv/www/explorer --live event.pgn

    :param target: directory that receives the files
    :param names: materials such as KBvK; sub-tables are added (default: all existing tables)
    :param cells: publish the cells in this directory: the cells of the named men, or all
    :param site: write the page for a host of static files, with tables of up to four men
    :param live: with --site: show the event of tbgen match in this PGN file, which must be finished
    :param json: print the list as one JSON document
    """
    line = ProgressLine()

    def show_progress(file: PublishedFile, file_number: int, count: int) -> None:
        line.show(f"{file.file}, {file_number} of {count}")

    if live is not None and not site:
        raise UsageError("an event is published with the page: add --site")
    with line:
        if cells is not None:
            if site:
                raise UsageError("a site has tables but no cells: leave out --cells or --site")
            content = publish_cells(cells, target, cell_filter(names, men, variants), report=show_progress)
        else:
            materials = material_list(map(Material.parse, names), men)
            if site:
                from tbgen.web.site import write_site

                content = write_site(directory, target, variants, materials, event=live, show=show_progress)
            else:
                content = publish(directory, target, variants, materials, report=show_progress)
    if json:
        print_document(content, indent=1)
    else:
        print(f"{target}: {_summary(content)}")


def cell_filter(names: Iterable[str], men: int | None, variants: Sequence[Variant]) -> CellFilter:
    """Return the filter of cells that these names select.

    :raises UsageError: if a name is invalid, or if options for tables are present.
    """
    if men is not None or list(variants) != [Variant.R_MOBILITY]:
        raise UsageError("--men and --rules are for tables: leave them out, or leave out --cells")
    return CellFilter(names)


def _summary(published: PublishedSet) -> str:
    parts = {"table": published.tables, "cell": published.cells}
    counts = " and ".join(counted(len(files), noun) for noun, files in parts.items() if files)
    return f"{counts}, {size_text(sum(file.bytes for file in published.files))}"
