"""``tbgen report``: a static site about tables, or all its data as one JSON document."""

from __future__ import annotations

import argparse
import json
import logging
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tbgen.board.material import MAX_MEN
from tbgen.cli.options import add_directory, add_json, add_variant, directory_of, processors, whole_number
from tbgen.cli.progress import TableProgress
from tbgen.cli.streams import say
from tbgen.errors import UsageError
from tbgen.text import counted, duration, size_text

if TYPE_CHECKING:
    from tbgen.board.material import Material
    from tbgen.report import ReportPlan

_DESCRIPTION = """\
Write a site about tables, to be opened at OUT/index.html: how many positions have which value and depth, the
longest way to every score with its line, what becomes of accrued scores, what every endgame gives, and which
materials mate. Every page has its data beside it as JSON and CSV, its plots as SVG and PNG, its lines as PGN.
The pages need no server and nothing from elsewhere. Without materials, all tables that are there count.

Progress goes to stderr, and before it what time and memory it takes. A packed table is unpacked in memory; of
some that it rests on there are copies beside the tables meanwhile. What becomes of its accrued scores is
counted with --layers, by solving it again: that takes as long as its build, and 10 GiB for five men. Lines
that lead to tables that are missing are left out, and so are those that need depths which tables do not
store; with --depths these are made, which may take minutes and some GiB of memory for each score, and kept
beside the tables. A file with its final name is complete; the pages over all tables come last. Pages of an
earlier report stay where they are.

With --save DIR the data go into files of a few kB each, which outlast the tables; tables whose data are there
are passed over, so the same command goes on where it was stopped; --depths adds the lines that they lack, and
--layers the accrued scores. With --from DIR a report is made of such files, without tables.
"""
_EPILOG = """\
examples:
  tbgen report --out site
  tbgen report KBvK KBNvK --out site
  tbgen report --men 4 --json > tables.json
  tbgen report --save docs/tables
  tbgen report --from docs/tables --out site
"""

_PACKAGE: Final = logging.getLogger("tbgen")

_MOST_THREADS: Final = 16
"""Threads by default at the most: each takes some 50 MiB."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description, parser.epilog = _DESCRIPTION, _EPILOG
    parser.add_argument("materials", nargs="*", metavar="MATERIAL", help="material such as KBvK")
    parser.add_argument("--men", type=int, metavar="N", help="the tables of 2 to N men that are there")
    add_variant(parser, None, "tables for these rules only (default: for all)")
    parser.add_argument("--out", type=Path, metavar="DIR", help="directory of the site, made if need be")
    parser.add_argument(
        "--threads",
        type=whole_number(1),
        metavar="N",
        help=f"threads (default: one per processor, at most {_MOST_THREADS})",
    )
    add_json(parser, "one JSON document of all data; then the site is written only with --out")
    parser.add_argument(
        "--layers", action="store_true", help="count what becomes of accrued scores in packed tables too"
    )
    parser.add_argument(
        "--depths", action="store_true", help="make the depths that lines need and tables lack"
    )
    parser.add_argument("--save", type=Path, metavar="DIR", help="save the data there, and write no site")
    parser.add_argument("--from", dest="saved", type=Path, metavar="DIR", help="data saved there, not tables")
    add_directory(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the site, or print its data."""
    if arguments.save is not None and (arguments.json or arguments.out or arguments.saved):
        raise UsageError("--save writes data of tables only: save them, then make a report with: --from DIR")
    if arguments.saved is not None and arguments.dir is not None:
        raise UsageError("--from has data in place of tables: leave out --dir or --from")
    for option in ("layers", "depths"):
        if arguments.saved is not None and getattr(arguments, option):
            raise UsageError(
                f"--{option} takes tables: leave it out, or save the data again with: --save DIR --{option}"
            )
    if arguments.out is None and arguments.save is None and not arguments.json:
        raise UsageError(
            "say where the site goes: --out DIR; or print its data: --json; or save them: --save DIR"
        )
    if arguments.men is not None and not 2 <= arguments.men <= MAX_MEN:
        raise UsageError(f"--men {arguments.men}: expected a number from 2 to {MAX_MEN}")
    if arguments.saved is None:
        directory_of(arguments)

    from tbgen.report import plan_report, read_report, report_document, save_report, write_report

    source = arguments.dir if arguments.saved is None else arguments.saved
    chosen: Any = {"men": arguments.men, "rules": arguments.variant, "layers": arguments.layers}
    if arguments.saved is not None:
        chosen["saved"] = True
    shown = _ReportProgress(plan_report(source, arguments.materials, **chosen))
    options = chosen | {
        "depths": arguments.depths,
        "threads": arguments.threads or min(processors(), _MOST_THREADS),
        "reporter": shown,
    }
    begin = time.monotonic()
    with shown:
        if arguments.save is not None:
            count = save_report(source, arguments.materials, arguments.save, **options)
        elif arguments.out is None:
            report = read_report(source, arguments.materials, **options)
        else:
            report = write_report(source, arguments.materials, arguments.out, **options)
    if arguments.save is not None:
        print(f"{arguments.save}: data of {counted(count, 'table')}, {duration(time.monotonic() - begin)}")
        return 0
    if arguments.json:
        json.dump(report_document(report), sys.stdout, indent=1)
        print()
    else:
        pages = counted(len(report.pages), "page")
        print(f"{arguments.out / 'index.html'}: {pages}, {duration(time.monotonic() - begin)}")
    if report.lines_left_out:
        lines = counted(report.lines_left_out, "line")
        more = "" if arguments.depths or arguments.saved is not None else "; --depths makes such depths"
        say(f"tbgen: {lines} left out, for want of tables or depths that play leads to{more}")
    return 0


class _ReportProgress(TableProgress):
    """Says first what there is to do, and shows what the package warns of; a context."""

    def __init__(self, plan: ReportPlan) -> None:
        super().__init__()
        self._plan = plan
        self._warnings = logging.Handler(logging.WARNING)
        self._warnings.emit = lambda record: self.note(record.getMessage())  # type: ignore[method-assign]

    def __enter__(self) -> None:
        _PACKAGE.addHandler(self._warnings)

    def __exit__(self, *exception: object) -> None:
        _PACKAGE.removeHandler(self._warnings)
        self.line.clear()

    def begin(self, material: Material, number: int, count: int, seconds_left: float) -> None:
        """Say what there is to do before the first material begins."""
        if not self._table:
            tables = counted(len(self._plan.tasks), "table")
            memory = f" and {size_text(self._plan.memory)} of memory" if self._plan.memory else ""
            seconds = duration(self._plan.seconds)
            say(f"{tables} of {self._plan.directory} to report on, about {seconds}{memory}")
        super().begin(material, number, count, seconds_left)
