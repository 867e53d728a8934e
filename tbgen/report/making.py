"""Making a report: material by material, whose pages are written before the next one is read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.packed.copies import passing_copies
from tbgen.progress import Reporter, SilentReporter, TimedProgress
from tbgen.report.data.files import overall_documents
from tbgen.report.data.saved import SavedData
from tbgen.report.facts.difference import Difference
from tbgen.report.facts.records import lines_left_out, overall_records
from tbgen.report.material_report import read_material, with_lines
from tbgen.report.model import OverallRecord, TableReport
from tbgen.report.plan import ReportPlan, Task, plan_report
from tbgen.store.format import Directories, find_table
from tbgen.store.stored_file import StoredFile

if TYPE_CHECKING:
    from tbgen.report.site.site import Site


@dataclass(frozen=True)
class Report:
    """Everything about some tables."""

    tables: tuple[TableReport, ...]
    """In build order, variant by variant."""
    differences: tuple[Difference, ...]
    """Of the materials that there are tables of for both variants, in build order."""
    pages: tuple[Path, ...] = ()
    """The pages that were written."""

    @cached_property
    def by_variant(self) -> dict[Variant, list[TableReport]]:
        """The tables of each variant that there are tables of."""
        found = {variant: [table for table in self.tables if table.variant is variant] for variant in Variant}
        return {variant: tables for variant, tables in found.items() if tables}

    @cached_property
    def records(self) -> dict[Variant, list[OverallRecord]]:
        """The longest ways to every score over all tables of a variant."""
        return {
            variant: overall_records(record for table in tables for record in table.records)
            for variant, tables in self.by_variant.items()
        }

    @property
    def lines_left_out(self) -> int:
        """How many records have no line, for want of tables or depths that play leads to."""
        return sum(lines_left_out(table.records) for table in self.tables)


def read_report(
    directory: Directories = None,
    materials: Iterable[Material | str] = (),
    *,
    men: int | None = None,
    rules: Variant | str | None = None,
    saved: bool = False,
    layers: bool = False,
    depths: bool = False,
    threads: int = 2,
    reporter: Reporter | None = None,
) -> Report:
    """Read tables and return what there is to say about them; this needs no extra.

    :param directory: where the tables lie, or several directories, of which the first
        that has a table counts; None for the default directory.
    :param materials: names of materials; without, and without ``men``, all tables that are there count.
    :param men: the tables of 2 to so many men that are there.
    :param rules: ``r`` or ``wg``; None for both.
    :param saved: whether the directory has data that :func:`save_report` has saved, not tables.
    :param layers: whether to solve packed tables again, layer by layer, to count what becomes of accrued
        scores, which takes as long as their build, and twice as much memory.
    :param depths: whether to make the depths that lines need and tables do not store, score by score, which
        may take minutes and some GiB of memory each time; without, such lines are left out.
    :param threads: threads that count, of some 50 MiB each.
    :param reporter: receives the progress of the report.

    :raises UsageError: if a name, the number of men or the rules mean nothing.
    :raises MissingTableError: if a table that was named is missing.
    :raises DamagedTableError: if a table, or a file of data, cannot be used.
    :raises TbgenError: if there is no table.
    """
    plan = plan_report(directory, materials, men=men, rules=rules, saved=saved, layers=layers)
    return _make(plan, None, depths, threads, reporter)


def write_report(
    directory: Directories,
    materials: Iterable[Material | str],
    out: str | PathLike[str],
    *,
    men: int | None = None,
    rules: Variant | str | None = None,
    saved: bool = False,
    layers: bool = False,
    depths: bool = False,
    threads: int = 2,
    reporter: Reporter | None = None,
    explorer: str | None = None,
    address: str | None = None,
) -> Report:
    """Write a site about tables, to be opened at ``index.html``, and return what it says.

    The other parameters and errors are those of :func:`read_report`. Pages of an earlier report stay.

    :param out: directory of the site, made if need be.
    :param explorer: the address of an explorer, or the way there from the first page: diagrams lead to it.
    :param address: where the site will be, for the pictures of previews.

    :raises MissingExtraError: without matplotlib, before anything is read.
    :raises TbgenError: if the site cannot be written; what was there under a final name is whole.
    """
    plan = plan_report(directory, materials, men=men, rules=rules, saved=saved, layers=layers)
    from tbgen import __version__
    from tbgen.report.site.site import Site

    site = Site(Path(out), __version__, compares=bool(plan.compared), explorer=explorer, address=address)
    return _make(plan, site, depths, threads, reporter)


def save_report(
    directory: Directories,
    materials: Iterable[Material | str],
    out: str | PathLike[str],
    *,
    men: int | None = None,
    rules: Variant | str | None = None,
    layers: bool = False,
    depths: bool = False,
    threads: int = 2,
    reporter: Reporter | None = None,
) -> int:
    """Save all that there is to say about tables in files of a few kB each, and return the tables saved.

    :func:`read_report` and :func:`write_report` take them for the tables. Tables whose data are there,
    by their digest, are passed over, so a run that was stopped goes on; with ``depths`` lines that they lack
    are added. The other parameters and errors are those of :func:`read_report`; this needs no extra.

    :param out: directory of the data, made if need be.

    :raises TbgenError: if something cannot be written; what was there under a final name is whole.
    """
    whole = plan_report(directory, materials, men=men, rules=rules, layers=layers)
    data = SavedData(Path(out))
    saved = [task for task in whole.tasks if _is_saved(data, whole, task)]
    plan = whole.without(saved, data.differences())
    clock = TimedProgress(reporter or SilentReporter(), plan.seconds, whole.materials)
    count = len(plan.tasks)
    with passing_copies(plan.places[0]):
        for material in plan.materials:
            tables, difference = read_material(plan, material, clock, depths=depths, threads=threads)
            # Of tables that are saved the difference is there: this order keeps it so if the next step fails.
            if difference is not None:
                data.save_difference(difference)
            for table in tables:
                data.save_table(table)
        for task in saved if depths else ():
            before = data.table(task.material, task.variant)
            after = with_lines(plan.places, before, clock, depths)
            if after != before:
                data.save_table(after)
                count += 1
    return count


def _is_saved(data: SavedData, plan: ReportPlan, task: Task) -> bool:
    """Whether the data of a table are there, accrued scores included if these are to be counted."""
    path = find_table(plan.places, task.material.name, task.variant)
    with StoredFile(path, material=task.material) as file:
        info = file.info
    if data.digest(task.material, task.variant) != info.digest:
        return False
    counts = plan.layers and info.has_layers
    return not counts or data.table(task.material, task.variant).accrued is not None


def report_document(report: Report) -> dict[str, Any]:
    """Return all that a report says as one document for JSON."""
    return {
        "tables": [table.plain() for table in report.tables],
        "records": overall_documents(report.records),
        "differences": [difference.plain() for difference in report.differences],
    }


def _make(
    plan: ReportPlan, site: Site | None, depths: bool, threads: int, reporter: Reporter | None
) -> Report:
    clock = TimedProgress(reporter or SilentReporter(), plan.seconds, plan.materials)
    tables, differences = list[TableReport](), list[Difference]()
    if site is not None:
        site.write_style()
    with passing_copies(plan.places[0]):
        for material in plan.materials:
            found, difference = read_material(plan, material, clock, depths=depths, threads=threads)
            if site is not None:
                clock.begin(material, {})
                clock.progress("writing", None, 0)
                for table in found:
                    site.write_table(table, *(other.variant for other in found if other is not table))
            tables += found
            differences += [] if difference is None else [difference]
    tables.sort(key=lambda table: (list(Variant).index(table.variant), table.material))
    report = Report(tuple(tables), tuple(differences))
    if site is None:
        return report
    site.write_overview(report.by_variant, report.records)
    if report.differences:
        site.write_differences(report.differences)
    return replace(report, pages=tuple(site.written))
