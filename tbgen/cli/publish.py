"""``tbgen publish``: tables for others to fetch."""

from pathlib import Path

from tbgen.board.material import Material
from tbgen.cli.options import AsJson, Men, TableDirectory, VariantList, command, material_list
from tbgen.cli.progress import ProgressLine
from tbgen.exchange.publish import publish
from tbgen.exchange.published import PublishedTable
from tbgen.text import counted, size_text


@command
def run(
    target: Path,
    *materials: Material,
    men: Men,
    variants: VariantList,
    json: AsJson,
    directory: TableDirectory,
) -> None:
    """Prepare tables for tbgen fetch, in a directory that any web server can serve.

    The directory gets the files (as links where the file system allows them, else as copies), a list of them
    with sizes and digests (tbgen-set.json), and the same list for sha256sum -c (SHA256SUMS). It may be the
    directory of the tables. Every table is first read and compared with its digest. Tables published there
    before stay, and are not read again if they have not changed.

    \b
    For example:
      tbgen publish /srv/www/tables
      tbgen publish /srv/www/tables --men 4 --rules all
      tbgen publish data --dir data

    :param target: directory of the set
    :param materials: such as KBvK, and those that it rests on (default: those that are there)
    :param json: print the list as one JSON document
    """
    line = ProgressLine()

    def done(table: PublishedTable, number: int, count: int) -> None:
        line.show(f"{table.file}, {number} of {count}")

    with line:
        published = publish(directory, target, variants, material_list(materials, men), done=done)
    size = sum(table.bytes for table in published.tables)
    if json:
        print(published.text().decode(), end="")
    else:
        print(f"{target}: {counted(len(published.tables), 'table')}, {size_text(size)}")
