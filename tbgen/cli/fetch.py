"""``tbgen fetch``: download published tables and solved cells."""

import time
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Annotated

from tbgen.board.material import Material
from tbgen.cli.bars import ProgressLine
from tbgen.cli.options import (
    AsJson,
    MaterialOrCellName,
    MaxMen,
    Setting,
    TableDirectory,
    VariantList,
    WholeNumber,
    command,
    material_list,
)
from tbgen.cli.publish import cell_filter
from tbgen.cli.streams import print_document, say
from tbgen.documents import Document
from tbgen.errors import TbgenError, result_or_error
from tbgen.exchange.cells import plan_cell_fetch
from tbgen.exchange.fetch import FetchPlan, fetch, names_text, plan_tables, read_list
from tbgen.exchange.published import LIST_NAME, PublishedFile
from tbgen.exchange.sources import source_of
from tbgen.text import counted, duration, size_text


@command
def run(
    *names: MaterialOrCellName,
    men: MaxMen,
    variants: VariantList,
    source: Annotated[str, Setting("--from", required=True, metavar="URL|DIR")],
    jobs: Annotated[int, WholeNumber(1, 64), Setting(metavar="N")] = 4,
    check: bool,
    cells: Annotated[Path | None, Setting(metavar="DIR")],
    json: AsJson,
    directory: TableDirectory,
) -> None:
    """Fetch tables and their sub-tables from a set made by tbgen publish.

    Existing tables are kept. With --check they are read first, and damaged tables are fetched again. A table
    gets its final name when it is complete, its SHA-256 is the one stated in the set, and its content matches
    its digest. The same command resumes broken transfers.

    With --cells, solved cells of the set are fetched in the same way instead of tables. The arguments
    then name materials, such as KRPvKRP, whose cells are fetched.

    A set does not prove that its tables and cells are correct. For tables, your own build or tbgen verify
    proves this. The digests of the tables that tbgen's developers built are in docs/tables of its source.

    \b
    For example:
      tbgen fetch KRPvKR --from https://example.org/tables
      tbgen fetch --men 5 --from https://example.org/tables --jobs 8
      tbgen fetch --rules all --from /media/usb/tables --dir data
      tbgen fetch KRPvKRP --cells cells --from https://example.org/tables

    :param names: materials such as KBvK; sub-tables are added (default: all of the set)
    :param source: address or directory of the set
    :param jobs: files transferred at once (default: 4)
    :param check: read all existing files, and fetch damaged ones again
    :param cells: fetch the cells of the named men, or all cells, into this directory, for tbgen solve --cells
    :param json: print the outcome for each file as one JSON document
    """
    files = source_of(source)
    listing = read_list(files)
    line = ProgressLine()

    def show_check(name: str, file_number: int, count: int) -> None:
        line.show(f"checking {name}, {file_number} of {count}")

    origin = files.locate(LIST_NAME).removesuffix(f"/{LIST_NAME}")
    show_checked = show_check if check else None
    with line:
        if cells is None:
            materials = material_list(map(Material.parse, names), men)
            to_do = plan_tables(listing, directory, variants, materials, origin=origin, on_check=show_checked)
        else:
            selector = cell_filter(names, men, variants)
            to_do = plan_cell_fetch(listing, cells, selector, origin=origin, on_check=show_checked)
    fetch_report = _FetchReport(to_do, line, "table" if cells is None else "cell")
    say(f"tbgen: {fetch_report.summary()}")
    with line:
        error = result_or_error(partial(fetch, to_do, files, jobs=jobs, report=fetch_report))
    if json:
        print_document(_document(to_do, fetch_report, error))
    if error is not None:
        raise error


class _FetchReport:
    """Shows the progress of a transfer, and prints a line for each file."""

    def __init__(self, fetch_plan: FetchPlan, line: ProgressLine, noun: str) -> None:
        self._plan = fetch_plan
        self._line = line
        self._lock = Lock()
        self._to_fetch = counted(len(fetch_plan.files_to_fetch), noun)
        self._bytes = 0
        self._start_time = time.monotonic()
        self._has_waited = False
        self.fetched: list[PublishedFile] = []

    def summary(self) -> str:
        """Return, in words, the numbers of files to fetch, of existing files, and of files that differ."""
        parts = [f"{self._to_fetch} to fetch, {size_text(self._plan.bytes_to_receive)}"]
        if self._plan.present_files:
            parts.append(f"{len(self._plan.present_files)} in {self._plan.directory} already")
        if different := self._plan.differing_files:
            names = names_text([file.file for file in different])
            parts.append(f"{len(different)} there with different content, which is kept: {names}")
        return "; ".join(parts)

    def on_bytes(self, size: int) -> None:
        """Count received bytes, and show the progress. A negative ``size`` counts bytes to receive again."""
        with self._lock:
            self._bytes += size
            seconds = time.monotonic() - self._start_time
            remaining = ""
            if seconds > 1 and self._bytes > 0:
                rate = self._bytes / seconds
                time_left = duration((self._plan.bytes_to_receive - self._bytes) / rate)
                remaining = f", {size_text(int(rate))}/s, about {time_left} left"
            self._line.show(
                f"{len(self.fetched)} of {self._to_fetch}, "
                f"{size_text(max(self._bytes, 0))} of {size_text(self._plan.bytes_to_receive)}{remaining}"
            )

    def on_file(self, file: PublishedFile) -> None:
        """Print a line about a fetched file."""
        with self._lock:
            self.fetched.append(file)
            self._line.note(f"{file.file}: {size_text(file.bytes)}")

    def on_wait(self) -> None:
        """Print, once, that another process is fetching files."""
        with self._lock:
            if not self._has_waited:
                directory = self._plan.directory
                self._line.note(f"another process is fetching files into {directory}: waiting for it")
            self._has_waited = True


class FetchErrorDocument(Document):
    """The error that has ended a transfer."""

    code: str
    sentence: str


class FetchDocument(Document):
    """The outcome of a transfer for each file."""

    fetched: list[PublishedFile]
    there: list[str]
    other_content: list[str]
    missing: list[str]
    error: FetchErrorDocument | None


def _document(fetch_plan: FetchPlan, fetch_report: _FetchReport, error: TbgenError | None) -> FetchDocument:
    return FetchDocument(
        fetched=fetch_report.fetched,
        there=[file.file for file in fetch_plan.present_files],
        other_content=[file.file for file in fetch_plan.differing_files],
        missing=[file.file for file in fetch_plan.files_to_fetch if file not in fetch_report.fetched],
        error=None if error is None else FetchErrorDocument(error.code, str(error)),
    )
