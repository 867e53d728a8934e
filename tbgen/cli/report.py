"""``tbgen report``: a static site about tables, or all its data as one JSON document."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tbgen.cli.options import add_directory, add_json, add_variant, directory_of, processors, whole_number
from tbgen.cli.progress import ProgressLine
from tbgen.cli.streams import say
from tbgen.errors import UsageError
from tbgen.material import MAX_MEN
from tbgen.text import counted, duration

if TYPE_CHECKING:
    from tbgen.report import Plan, Progress

_DESCRIPTION = """\
Write a site about tables, to be opened at OUT/index.html: how many positions have which value and depth, the
longest way to every score with its line, what becomes of accrued scores, what every endgame gives, and which
materials mate. Every page has its data beside it as JSON and CSV, its plots as SVG and PNG, its lines as PGN.
The pages need no server and nothing from elsewhere. Without materials, all tables that are there count.

Each table is read once, and once more where both rules are compared; progress goes to stderr. Lines that lead
to tables that are missing are left out, and so are those that need depths which tables do not store. A file
with its final name is complete; the pages over all tables come last. Pages of an earlier report stay where
they are.
"""
_EPILOG = """\
examples:
  tbgen report --out site
  tbgen report KBvK KBNvK --out site
  tbgen report --men 4 --json > tables.json
"""

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
    add_directory(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the site, or print its data."""
    if arguments.out is None and not arguments.json:
        raise UsageError("say where the site goes: --out DIR; or print its data: --json")
    if arguments.men is not None and not 2 <= arguments.men <= MAX_MEN:
        raise UsageError(f"--men {arguments.men}: expected a number from 2 to {MAX_MEN}")
    directory_of(arguments)

    from tbgen.report import plan_report, read_report, report_document, write_report

    shown = _Shown(
        plan_report(arguments.dir, arguments.materials, men=arguments.men, rules=arguments.variant)
    )
    options: Any = {
        "men": arguments.men,
        "rules": arguments.variant,
        "threads": arguments.threads or min(processors(), _MOST_THREADS),
        "progress": shown,
    }
    begin = time.monotonic()
    try:
        if arguments.out is None:
            report = read_report(arguments.dir, arguments.materials, **options)
        else:
            report = write_report(arguments.dir, arguments.materials, arguments.out, **options)
    finally:
        shown.clear()
    if arguments.json:
        json.dump(report_document(report), sys.stdout, indent=1)
        print()
    else:
        pages = counted(len(report.pages), "page")
        print(f"{arguments.out / 'index.html'}: {pages}, {duration(time.monotonic() - begin)}")
    if report.lines_left_out:
        lines = counted(report.lines_left_out, "line")
        say(f"tbgen: {lines} left out, for want of tables or depths that play leads to")
    return 0


class _Shown:
    """Shows what there is to do when the work begins, and then how far it is."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._begun = False
        self._line = ProgressLine()

    def __call__(self, progress: Progress) -> None:
        if not self._begun:
            self._begun = True
            tables = counted(len(self._plan.tasks), "table")
            say(f"{tables} of {self._plan.directory} to report on, about {duration(self._plan.seconds)}")
        self._line.show(str(progress))

    def clear(self) -> None:
        """Remove what is shown."""
        self._line.clear()
