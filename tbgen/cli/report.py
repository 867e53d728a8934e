"""``tbgen report``: a static site about tables, or all its data as one JSON document."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tbgen.cli.options import add_directory, add_json, add_variant, directory_of, processors
from tbgen.cli.progress import ProgressLine
from tbgen.cli.streams import say
from tbgen.errors import MissingTableError, TbgenError, UsageError
from tbgen.index.layout import layout_of
from tbgen.material import MAX_MEN, Material, all_materials
from tbgen.store.format import tables_in
from tbgen.text import counted, duration
from tbgen.variant import Variant

if TYPE_CHECKING:
    from tbgen.report.facts.difference import Difference
    from tbgen.report.model import OverallRecord, TableReport
    from tbgen.report.site.site import Site

_DESCRIPTION = """\
Write a site about tables, to be opened at OUT/index.html: how many positions have which value and depth, the
longest way to every score with its line, what becomes of accrued scores, what every endgame gives, and which
materials mate. Every page has its data beside it as JSON and CSV, its plots as SVG and PNG, its lines as PGN.
The pages need no server and nothing from elsewhere. Without materials, all tables that are there count.

Each table is read once, and once more where both rules are compared; progress goes to stderr. Lines that lead
to tables that are missing are left out, and so are those that need a layer that is not there. A file with its
final name is complete; the pages over all tables come last. Pages of an earlier report stay where they are.
"""
_EPILOG = """\
examples:
  tbgen report --out site
  tbgen report KBvK KBNvK --out site
  tbgen report --men 4 --json > tables.json
"""

_MOST_THREADS: Final = 16
"""Threads by default at the most: each takes some 50 MiB."""

_TABLE_SECONDS: Final = 2.0
_SLOTS_PER_SECOND: Final = 20e6
"""What a report takes per table, for its plots, lines and pages, and for its size: both sides' slots."""


@dataclass(frozen=True, slots=True)
class Task:
    """One table to report on."""

    material: Material
    variant: Variant
    size: int
    """Slots, both sides counted."""

    @property
    def seconds(self) -> float:
        """What it takes, roughly."""
        return _TABLE_SECONDS + self.size / _SLOTS_PER_SECOND


class Clock:
    """Shows how far a report is, and how long it takes still."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._tasks = tasks
        self._done = 0.0
        self._number = 0
        self._begin = time.monotonic()
        self._line = ProgressLine()

    def show(self, stage: str, part: float) -> None:
        """Show a stage of the current table, and which part of the table is done."""
        task = self._tasks[self._number]
        done = self._done + task.seconds * part
        passed = time.monotonic() - self._begin
        rest = sum(task.seconds for task in self._tasks) - done
        left = rest * passed / done if passed > 1 and done else rest
        place = f"{self._number + 1} of {len(self._tasks)}"
        self._line.show(f"{task.material} ({place}): {stage}, about {duration(left)} left")

    def note(self, text: str) -> None:
        """Show what is done when all tables are."""
        self._line.show(text)

    def finish_table(self) -> None:
        """Go on to the next table."""
        self._done += self._tasks[self._number].seconds
        self._number += 1

    @property
    def seconds(self) -> float:
        """Time since the start."""
        return time.monotonic() - self._begin

    def clear(self) -> None:
        """Remove what is shown."""
        self._line.clear()


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description, parser.epilog = _DESCRIPTION, _EPILOG
    parser.add_argument("materials", nargs="*", metavar="MATERIAL", help="material such as KBvK")
    parser.add_argument("--men", type=int, metavar="N", help="the tables of 2 to N men that are there")
    add_variant(parser, None, "tables for these rules only (default: for all)")
    parser.add_argument("--out", type=Path, metavar="DIR", help="directory of the site, made if need be")
    parser.add_argument(
        "--threads",
        type=int,
        metavar="N",
        help=f"threads (default: one per processor, at most {_MOST_THREADS})",
    )
    add_json(parser, "one JSON document of all data; then the site is written only with --out")
    add_directory(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the site, or print its data."""
    if arguments.out is None and not arguments.json:
        raise UsageError("say where the site goes: --out DIR; or print its data: --json")
    if arguments.threads is not None and arguments.threads < 1:
        raise UsageError(f"--threads {arguments.threads} is too few: give at least 1")
    directory = directory_of(arguments)
    tasks = list(_tasks(arguments, directory))
    threads = arguments.threads or min(processors(), _MOST_THREADS)

    from tbgen import __version__
    from tbgen.report.data.files import everything
    from tbgen.report.site.site import Site

    both = _under_both_rules(tasks)
    site = None if arguments.out is None else Site(arguments.out, __version__, compares=bool(both))
    seconds = sum(task.seconds for task in tasks)
    say(f"{counted(len(tasks), 'table')} of {directory} to report on, about {duration(seconds)}")
    clock = Clock(tasks)
    try:
        reports = list(_reports(tasks, directory, threads, site, clock))
        differences = [_difference(material, directory, clock) for material in both]
    finally:
        clock.clear()
    groups = {variant: [report for report in reports if report.variant is variant] for variant in Variant}
    groups = {variant: found for variant, found in groups.items() if found}
    records = {variant: _overall(found) for variant, found in groups.items()}
    if site is not None:
        if both:
            site.write_differences(differences)
        site.write_overview(groups, records)
    if arguments.json:
        json.dump(everything(reports, records, differences), sys.stdout, indent=1)
        print()
    else:
        pages = counted(len(reports) + len(site.pages), "page") if site else ""
        print(f"{arguments.out / 'index.html'}: {pages}, {duration(clock.seconds)}")
    lost = sum(1 for report in reports for record in report.records if record.depth and not record.line)
    if lost:
        say(f"tbgen: {counted(lost, 'line')} left out, for want of the tables or layers that play leads to")
    return 0


def _tasks(arguments: argparse.Namespace, directory: Path) -> Iterator[Task]:
    """Yield what there is to report on, in build order, variant by variant.

    :raises MissingTableError: if a table that was named is missing.
    :raises TbgenError: if there is none.
    """
    named = sorted({Material.parse(name) for name in arguments.materials})
    if arguments.men is not None and not 2 <= arguments.men <= MAX_MEN:
        raise UsageError(f"--men {arguments.men}: expected a number from 2 to {MAX_MEN}")
    chosen = tuple(Variant) if arguments.variant is None else (arguments.variant,)
    there = {variant: set(tables_in(directory, variant)) for variant in chosen}
    for material in named:
        if not any(material in found for found in there.values()):
            raise MissingTableError(material.name, arguments.dir, chosen[0])
    wanted = {*named, *(all_materials(arguments.men) if arguments.men is not None else ())}
    if not any(found & wanted if wanted else found for found in there.values()):
        words = ["tbgen", "build", "--men", str(arguments.men or 3)]
        words += [] if chosen[0] is Variant.R_MOBILITY else ["--rules", chosen[0]]
        words += [] if arguments.dir is None else ["--dir", str(arguments.dir)]
        raise TbgenError(f"{directory} has no such table; make some with: {shlex.join(words)}")
    for variant in chosen:
        for material in sorted(there[variant] & wanted if wanted else there[variant]):
            yield Task(material, variant, 2 * layout_of(material).size)


def _reports(
    tasks: Sequence[Task], directory: Path, threads: int, site: Site | None, clock: Clock
) -> Iterator[TableReport]:
    """Yield the report of each table when its page is written."""
    from tbgen.probe.tablebase import Tablebase
    from tbgen.report.facts.table_report import report_table

    every = {(task.material, task.variant) for task in tasks}
    if site is not None:
        site.write_style()
    with ExitStack() as stack:
        tables = {
            variant: stack.enter_context(Tablebase(directory, rules=variant, make_layers=False))
            for variant in dict.fromkeys(task.variant for task in tasks)
        }
        for task in tasks:
            report = report_table(
                directory,
                task.material,
                task.variant,
                threads=threads,
                lines=tables[task.variant],
                progress=_scanning(clock, task),
            )
            if site is not None:
                clock.show("writing", 1 - _TABLE_SECONDS / task.seconds)
                others = (variant for variant in Variant if variant is not task.variant)
                site.write_table(
                    report, next((variant for variant in others if (task.material, variant) in every), None)
                )
            clock.finish_table()
            yield report


def _under_both_rules(tasks: Sequence[Task]) -> list[Material]:
    """Return the materials that there are tables of for both rules, in build order."""
    count = Counter(task.material for task in tasks)
    return sorted(material for material, number in count.items() if number > 1)


def _difference(material: Material, directory: Path, clock: Clock) -> Difference:
    from tbgen.report.facts.difference import difference
    from tbgen.report.scan.source import TableSource

    with (
        TableSource(directory, material, Variant.R_MOBILITY) as r,
        TableSource(directory, material, Variant.WHOLE_GAME) as wg,
    ):
        return difference(r, wg, lambda done, total: clock.note(f"{material}: compared {done / total:.0%}"))


def _scanning(clock: Clock, task: Task) -> Callable[[int, int], None]:
    share = 1 - _TABLE_SECONDS / task.seconds
    return lambda done, total: clock.show(f"counted {done / total:.0%}", share * done / total)


def _overall(reports: Sequence[TableReport]) -> list[OverallRecord]:
    from tbgen.report.facts.records import overall_records

    return overall_records(record for report in reports for record in report.records)
