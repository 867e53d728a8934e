"""``tbgen report``: a static site about tables, or all its data as one JSON document."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Annotated, Any, Final

from tbgen.board.variant import Variant
from tbgen.cli.bars import TableProgress
from tbgen.cli.options import (
    AsJson,
    Directory,
    Link,
    MaxMen,
    PositiveCount,
    Setting,
    TableDirectories,
    Url,
    command,
)
from tbgen.cli.streams import print_document, say
from tbgen.errors import UsageError
from tbgen.system.memory import processor_count
from tbgen.text import counted, duration, size_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tbgen.board.material import Material
    from tbgen.report import ReportPlan

_PACKAGE_LOGGER: Final = logging.getLogger("tbgen")

_MAX_DEFAULT_THREADS: Final = 16
"""Maximum default number of threads. Each thread needs about 50 MiB."""
_MAX_NAMED_MISSING: Final = 8
"""Maximum number of missing tables to name."""


@command
def run(
    *materials: Annotated[str, Setting(metavar="[MATERIALS]...")],
    men: MaxMen,
    variant: Annotated[Variant | None, Setting("--rules")],
    out: Directory | None,
    explorer: Link | None,
    address: Url | None,
    mating: Annotated[str | None, Setting(metavar="MEN")],
    threads: Annotated[PositiveCount, Setting(default=lambda: min(processor_count(), _MAX_DEFAULT_THREADS))],
    json: AsJson,
    layers: bool,
    depths: bool,
    save: Directory | None,
    saved: Annotated[Directory | None, Setting("--from")],
    directories: TableDirectories,
) -> None:
    """Write a website about tables; open it at OUT/index.html.

    The site shows the distribution of values and depths, the longest way to every score with its line, in
    how many states the accrued score is still the final one, the typical results of every endgame, and mating
    potential. The data of every page are stored beside it as JSON and CSV, plots as SVG and PNG, lines as
    PGN. The pages need no server and load nothing from other sites. Without materials, the report covers all
    existing tables.

    Progress goes to stderr, after an estimate of time and memory. A packed table is unpacked in memory.
    Meanwhile, plain copies of some of its sub-tables are kept in the directory of the tables. With --layers
    the accrued scores of packed tables are also counted. For that, each table is solved again, which takes as
    long as its build, and needs up to 5 GiB of memory for five men. Lines are left out if they lead to
    missing tables or need depths that tables do not store. With --depths these depths are computed and stored
    beside the tables, which may take minutes and several GiB of memory for each score. Files are written
    under temporary names and renamed when complete. The pages about all tables are written last. Pages of an
    earlier report are not removed.

    With --save DIR the data are saved in files of a few kB each, which can replace the tables. Tables whose
    data are already saved are skipped, so the same command resumes an interrupted run. --depths adds missing
    lines, and --layers the accrued scores. With --from DIR a report is made from such files, without tables.

    --mating MEN prints a list that shows which men can mate, described men included (docs/described.md). It
    covers the named materials and, as far as tables exist, each man alone, two men of a kind, and each man
    against each piece of chess and each other man. The shares are those of the open positions (not over, no
    capture and no mate in one for the side to move) in which mate is forced. "longest" is the longest way to
    mate from any position. "typical" is the most frequent value of positions without captures, with the
    defender to move; it is left out where the win is general (forced in at least three quarters of the open
    positions).

    \b
    For example:
      tbgen report --out site
      tbgen report KBvK KBNvK --out site
      tbgen report --men 4 --json > tables.json
      tbgen report --save docs/tables
      tbgen report --from docs/tables --out site
      tbgen report --mating "[WF] [WD]"

    :param materials: materials such as KBvK
    :param variant: use only tables for these rules (default: for all)
    :param out: directory of the site, created if missing
    :param explorer: address of the page of tbgen serve, such as https://example.org/ or ../, to which
        diagrams link; not needed for a report that tbgen serve shows
    :param address: future address of the site, such as https://example.org/report/; previews of links to the
        site then have pictures
    :param mating: print which men can mate, such as "[WF] [WD] N", by the rule of thumb and by the tables
    :param threads: number of threads (default: one per processor, at most 16)
    :param json: print all data as one JSON document; a site is then written only with --out
    :param layers: also count the accrued scores of packed tables
    :param depths: compute depths that lines need and tables do not store
    :param save: save the data in DIR, and write no site
    :param saved: read data saved in DIR instead of tables
    :param directories: directories of the tables, searched in this order (default: $TBGEN_DIR, else data)
    """
    if mating is not None:
        conflicts = {"--men": men, "--out": out, "--save": save, "--from": saved, "--layers": layers}
        for option, value in (conflicts | {"--depths": depths}).items():
            if value:
                raise UsageError(f"--mating prints a list from tables: leave out {option}")
        words = [*materials, *mating.replace(",", " ").split()]
        _print_mating(directories, words, variant or Variant.R_MOBILITY, threads, json)
        return
    if out is None and (explorer or address):
        raise UsageError(
            f"--{'explorer' if explorer else 'address'} is for the pages of a site: add --out DIR"
        )
    if save is not None and (json or out or saved):
        raise UsageError("--save writes data of tables only: save them, then make a report with: --from DIR")
    if saved is not None and directories is not None:
        raise UsageError("--from reads data instead of tables: leave out --dir or --from")
    if saved is not None and (layers or depths):
        option = "--layers" if layers else "--depths"
        raise UsageError(f"{option} needs tables: leave it out, or save again with: --save DIR {option}")
    if out is None and save is None and not json:
        choices = "a site: --out DIR; its data: --json; saved data: --save DIR; or a list: --mating MEN"
        raise UsageError(f"say what to make: {choices}")

    from tbgen.report import plan_report, read_report, report_document, save_report, write_report

    source = directories if saved is None else saved
    tables: Any = {"men": men, "rules": variant, "layers": layers}
    tables |= {} if saved is None else {"saved": True}
    progress = _ReportProgress(plan_report(source, materials, **tables))
    arguments = {**tables, "depths": depths, "threads": threads, "reporter": progress}
    start_time = time.monotonic()
    with progress:
        if save is not None:
            count = save_report(source, materials, save, **arguments)
        elif out is None:
            report = read_report(source, materials, **arguments)
        else:
            report = write_report(source, materials, out, explorer=explorer, address=address, **arguments)
    if save is not None:
        print(f"{save}: data of {counted(count, 'table')}, {duration(time.monotonic() - start_time)}")
        return
    if json:
        print_document(report_document(report), indent=1)
    elif out is not None:
        pages = counted(len(report.pages), "page")
        print(f"{out / 'index.html'}: {pages}, {duration(time.monotonic() - start_time)}")
    if report.omitted_line_count:
        lines = counted(report.omitted_line_count, "line")
        advice = "" if depths or saved is not None else "; --depths computes such depths"
        say(f"tbgen: {lines} left out, which need missing tables or depths{advice}")


def _print_mating(
    directories: Sequence[Path] | None, words: Sequence[str], variant: Variant, threads: int, json: bool
) -> None:
    """Print which men can mate, and name missing tables on stderr."""
    from tbgen.report.mating import MATING_HEAD, mating_rows
    from tbgen.report.mating_report import make_mating_report

    progress = TableProgress()
    with progress.line:
        report = make_mating_report(directories, words, rules=variant, threads=threads, reporter=progress)
    if json:
        print_document(report, indent=1)
        return
    rows = [MATING_HEAD, *(row for entry in report.entries for row in mating_rows(entry))]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    if report.missing:
        names = " ".join(material.name for material in report.missing[:_MAX_NAMED_MISSING])
        ellipsis = " ..." if len(report.missing) > _MAX_NAMED_MISSING else ""
        say(f"tbgen: {counted(len(report.missing), 'table')} of these men not built: {names}{ellipsis}")


class _ReportProgress(TableProgress):
    """Prints an estimate, then progress. As a context manager, it also prints warnings of the package."""

    def __init__(self, plan: ReportPlan) -> None:
        super().__init__()
        self._plan = plan
        self._warning_handler = logging.Handler(logging.WARNING)
        self._warning_handler.emit = lambda record: self.note(record.getMessage())  # type: ignore[method-assign]

    def __enter__(self) -> None:
        _PACKAGE_LOGGER.addHandler(self._warning_handler)

    def __exit__(self, *exception: object) -> None:
        _PACKAGE_LOGGER.removeHandler(self._warning_handler)
        self.line.clear()

    def begin(self, material: Material, number: int, count: int, seconds_left: float) -> None:
        """Print an estimate before the first material begins."""
        if not self._table:
            tables = counted(len(self._plan.tasks), "table")
            memory = f" and {size_text(self._plan.memory)} of memory" if self._plan.memory else ""
            seconds = duration(self._plan.seconds)
            directories = " and ".join(map(str, self._plan.directories))
            say(f"{tables} of {directories} to report on, about {seconds}{memory}")
        super().begin(material, number, count, seconds_left)
