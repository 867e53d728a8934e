"""``tbgen fetch``: tables that others have published."""

import time
from pathlib import Path
from threading import Lock
from typing import Annotated, Any

import msgspec

from tbgen.board.material import Material
from tbgen.cli.options import (
    AsJson,
    Men,
    Setting,
    TableDirectory,
    VariantList,
    WholeNumber,
    command,
    material_list,
)
from tbgen.cli.progress import ProgressLine
from tbgen.cli.streams import print_json, say
from tbgen.errors import TbgenError
from tbgen.exchange.fetch import FetchPlan, fetch, plan, read_list
from tbgen.exchange.published import LIST_NAME, PublishedTable
from tbgen.exchange.sources import source_of
from tbgen.text import counted, duration, size_text


@command
def run(
    *materials: Material,
    men: Men,
    variants: VariantList,
    source: Annotated[str, Setting("--from", required=True, metavar="URL|DIR")],
    jobs: Annotated[int, WholeNumber(1, 64), Setting(metavar="N")] = 4,
    check: bool,
    json: AsJson,
    directory: TableDirectory,
) -> None:
    """Fetch tables from a set made by tbgen publish, together with the tables that they rest on.

    Existing tables are kept; with --check they are read first, and damaged ones are fetched again. A table
    gets its final name when it is complete, its SHA-256 is the one stated in the set, and its content matches
    its digest. Running the command again resumes broken transfers.

    The set does not prove that its tables are right: only your own build or tbgen verify does. The digests of
    the tables that the developers of tbgen have built are in docs/tables of its sources.

    \b
    For example:
      tbgen fetch KRPvKR --from https://example.org/tables
      tbgen fetch --men 5 --from https://example.org/tables --jobs 8
      tbgen fetch --rules all --from /media/usb/tables --dir data

    :param materials: such as KBvK, and those that it rests on (default: all of the set)
    :param source: address or directory of the set
    :param jobs: files transferred at once (default: 4)
    :param check: read all existing tables, and fetch damaged ones again
    :param json: print the outcome for each table as one JSON document
    """
    files = source_of(source)
    published = read_list(files)
    line = ProgressLine()

    def checking(name: str, number: int, count: int) -> None:
        line.show(f"checking {name}, {number} of {count}")

    with line:
        to_do = plan(
            published,
            directory,
            variants,
            material_list(materials, men),
            place=files.place(LIST_NAME).removesuffix(f"/{LIST_NAME}"),
            check=checking if check else None,
        )
    say(f"tbgen: {_summary(to_do, directory)}")
    report = _FetchReport(to_do, line)
    try:
        with line:
            fetch(to_do, files, directory, jobs=jobs, report=report)
    except TbgenError as error:
        if json:
            print_json(_document(to_do, report, error))
        raise
    if json:
        print_json(_document(to_do, report, None))


def _summary(to_do: FetchPlan, directory: Path) -> str:
    """Say beforehand what there is to do."""
    parts = [f"{counted(len(to_do.wanted), 'table')} to fetch, {size_text(to_do.bytes)}"]
    if to_do.there:
        parts.append(f"{len(to_do.there)} in {directory} already")
    if to_do.others:
        names = ", ".join(table.file for table in to_do.others)
        parts.append(f"{len(to_do.others)} there with another content, which stays: {names}")
    return "; ".join(parts)


class _FetchReport:
    """Shows how far it is, and prints a line per table."""

    def __init__(self, to_do: FetchPlan, line: ProgressLine) -> None:
        self._plan, self._line, self._lock = to_do, line, Lock()
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
            self._line.note(f"{table.file}: {size_text(table.bytes)}")


def _document(to_do: FetchPlan, report: _FetchReport, error: TbgenError | None) -> dict[str, Any]:
    return {
        "fetched": [msgspec.to_builtins(table) for table in report.fetched],
        "there": [table.file for table in to_do.there],
        "other_content": [table.file for table in to_do.others],
        "missing": [table.file for table in to_do.wanted if table not in report.fetched],
        "error": None if error is None else {"code": error.code, "sentence": str(error)},
    }
