"""``tbgen publish``: tables for others to fetch."""

import argparse
from pathlib import Path

from tbgen.cli.options import add_directory, add_json, add_sets, as_given, directory_of, sets_of
from tbgen.cli.progress import ProgressLine
from tbgen.errors import MissingTableError, NoTablesError
from tbgen.exchange.publish import publish
from tbgen.exchange.published import LIST_NAME, PublishedTable
from tbgen.text import counted, size_text

_DESCRIPTION = f"""\
Lay out tables in a directory that any web server can hand out, for tbgen fetch: the files, linked where the
file system can, else copied, a list of them with sizes and digests ({LIST_NAME}), and the same for
sha256sum -c (SHA256SUMS). The directory may be that of the tables. Every table is read and compared with its
digest first. What was published there before stays, and is not read again where it has not changed.
"""
_EPILOG = """\
examples:
  tbgen publish /srv/www/tables
  tbgen publish /srv/www/tables --men 4 --rules all
  tbgen publish data --dir data
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description, parser.epilog = _DESCRIPTION, _EPILOG
    parser.add_argument("target", type=Path, metavar="TARGET", help="where the set goes")
    add_sets(parser, "those that are there")
    add_json(parser, "the list as one JSON document")
    add_directory(parser)


def run(arguments: argparse.Namespace) -> int:
    """Publish the tables."""
    directory, line = directory_of(arguments), ProgressLine()

    def done(table: PublishedTable, number: int, count: int) -> None:
        line.show(f"{table.name}, {number} of {count}")

    materials, variants = sets_of(arguments)
    try:
        published = publish(directory, arguments.target, variants, materials, done=done)
    except (MissingTableError, NoTablesError) as error:
        raise as_given(error, arguments.dir) from None
    finally:
        line.clear()
    size = sum(table.bytes for table in published.tables)
    if arguments.json:
        print(published.text(), end="")
    else:
        print(f"{arguments.target}: {counted(len(published.tables), 'table')}, {size_text(size)}")
    return 0
