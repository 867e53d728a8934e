"""``tbgen fetch``: tables that others have published."""

import argparse
import json
import time
from pathlib import Path
from threading import Lock
from typing import Any

from tbgen.cli.options import add_directory, add_json, add_sets, directory_of, sets_of, whole_number
from tbgen.cli.progress import ProgressLine
from tbgen.cli.streams import say
from tbgen.errors import TbgenError
from tbgen.exchange.fetch import FetchPlan, fetch, plan, read_list
from tbgen.exchange.published import LIST_NAME, PublishedTable
from tbgen.exchange.sources import source_of
from tbgen.text import counted, duration, size_text

_DESCRIPTION = """\
Fetch tables from a set that tbgen publish has laid out, and with them the tables that they rest on. Those
that are there already are left alone; with --check all of them is read first, and damaged ones are fetched
anew. A table appears under its name when it is complete, its SHA-256 is the one that the set states, and its
content matches its digest. What broke off goes on where it was when the command is given again.

Whether what the set says is true, only your own build or tbgen verify can tell; the digests of the tables
that the makers of tbgen have built are in docs/tables of its sources.
"""
_EPILOG = """\
examples:
  tbgen fetch KRPvKR --from https://example.org/tables
  tbgen fetch --men 5 --from https://example.org/tables --jobs 8
  tbgen fetch --rules all --from /media/usb/tables --dir data
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description, parser.epilog = _DESCRIPTION, _EPILOG
    add_sets(parser, "all of the set")
    parser.add_argument(
        "--from", dest="source", required=True, metavar="URL|DIR", help="where the set is published"
    )
    parser.add_argument(
        "--jobs", type=whole_number(1, 64), default=4, metavar="N", help="files at once (default: 4)"
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="read all of the tables that are there, and fetch damaged ones anew",
    )
    add_json(parser, "what became of the tables as one JSON document")
    add_directory(parser)


def run(arguments: argparse.Namespace) -> int:
    """Fetch the tables."""
    directory, source = directory_of(arguments), source_of(arguments.source)
    materials, variants = sets_of(arguments)
    published = read_list(source)
    place = source.place(LIST_NAME).removesuffix(f"/{LIST_NAME}")
    line = ProgressLine()

    def checking(name: str, number: int, count: int) -> None:
        if arguments.check:
            line.show(f"checking {name}, {number} of {count}")

    try:
        to_do = plan(
            published,
            directory,
            variants,
            materials,
            place=place,
            check=arguments.check,
            checking=checking,
        )
    finally:
        line.clear()
    say(_summary(to_do, directory))
    report = _FetchReport(to_do)
    error = None
    try:
        fetch(to_do.wanted, source, directory, jobs=arguments.jobs, report=report)
    except TbgenError as failure:
        error = failure
    finally:
        report.clear()
    if arguments.json:
        print(json.dumps(_document(to_do, report, error), indent=2))
    if error is not None:
        raise error
    return 0


def _summary(to_do: FetchPlan, directory: Path) -> str:
    """Say beforehand what there is to do."""
    parts = [f"tbgen: {counted(len(to_do.wanted), 'table')} to fetch, {size_text(to_do.bytes)}"]
    if to_do.there:
        parts.append(f"{len(to_do.there)} in {directory} already")
    if to_do.others:
        names = ", ".join(table.name for table in to_do.others)
        parts.append(f"{len(to_do.others)} there with another content, which stays: {names}")
    return "; ".join(parts)


class _FetchReport:
    """Shows how far it is, and prints a line per table."""

    def __init__(self, to_do: FetchPlan) -> None:
        self._plan, self._line, self._lock = to_do, ProgressLine(), Lock()
        self._bytes, self._began = 0, time.monotonic()
        self.fetched: list[PublishedTable] = []

    def came(self, size: int) -> None:
        """Count bytes."""
        with self._lock:
            self._bytes += size
            seconds = time.monotonic() - self._began
            left = ""
            if seconds > 1 and self._bytes > 0:
                rate = self._bytes / seconds
                rest = duration((self._plan.bytes - self._bytes) / rate)
                left = f", {size_text(int(rate))}/s, about {rest} left"
            self._line.show(
                f"{len(self.fetched)} of {counted(len(self._plan.wanted), 'table')}, "
                f"{size_text(max(self._bytes, 0))} of {size_text(self._plan.bytes)}{left}"
            )

    def done(self, table: PublishedTable) -> None:
        """Tell about a table."""
        with self._lock:
            self.fetched.append(table)
            self._line.note(f"{table.name}: {size_text(table.bytes)}")

    def clear(self) -> None:
        """Leave the terminal clean."""
        self._line.clear()


def _document(to_do: FetchPlan, report: _FetchReport, error: TbgenError | None) -> dict[str, Any]:
    return {
        "fetched": [table.document() for table in report.fetched],
        "there": [table.name for table in to_do.there],
        "other_content": [table.name for table in to_do.others],
        "missing": [table.name for table in to_do.wanted if table not in report.fetched],
        "error": None if error is None else {"code": error.code, "sentence": str(error)},
    }
