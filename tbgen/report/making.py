"""Making a report: every table is read once, and its page is written before the next one is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tbgen.material import Material
from tbgen.packed.plain import passing_copies
from tbgen.probe.tablebase import Tablebase
from tbgen.report.data.files import everything
from tbgen.report.data.saved import SavedData
from tbgen.report.facts.difference import Difference, difference
from tbgen.report.facts.records import overall_records
from tbgen.report.facts.table_report import report_table
from tbgen.report.model import OverallRecord, TableReport
from tbgen.report.plan import Clock, Plan, Progress, Task, Tell, plan_report
from tbgen.report.scan.source import TableSource
from tbgen.store.format import table_path
from tbgen.store.stored_file import StoredFile
from tbgen.variant import Variant

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
        records = (record for table in self.tables for record in table.records)
        return sum(1 for record in records if record.depth and not record.line)


def read_report(
    directory: str | PathLike[str] | None = None,
    materials: Iterable[Material | str] = (),
    *,
    men: int | None = None,
    rules: Variant | str | None = None,
    saved: bool = False,
    threads: int = 2,
    progress: Tell | None = None,
) -> Report:
    """Read tables and return what there is to say about them; this needs no extra.

    :param directory: where the tables lie; None for the default directory.
    :param materials: names of materials; without, and without ``men``, all tables that are there count.
    :param men: the tables of 2 to so many men that are there.
    :param rules: ``r`` or ``wg``; None for both.
    :param saved: whether the directory has data that :func:`save_report` has saved, not tables.
    :param threads: threads that count, of some 50 MiB each.
    :param progress: told how far the report is; ``print`` will do.

    :raises UsageError: if a name, the number of men or the rules mean nothing.
    :raises MissingTableError: if a table that was named is missing.
    :raises DamagedTableError: if a table, or a file of data, cannot be used.
    :raises TbgenError: if there is no table.
    """
    plan = plan_report(directory, materials, men=men, rules=rules, saved=saved)
    return _make(plan, None, threads, progress)


def write_report(
    directory: str | PathLike[str] | None,
    materials: Iterable[Material | str],
    out: str | PathLike[str],
    *,
    men: int | None = None,
    rules: Variant | str | None = None,
    saved: bool = False,
    threads: int = 2,
    progress: Tell | None = None,
) -> Report:
    """Write a site about tables, to be opened at ``index.html``, and return what it says.

    The other parameters and errors are those of :func:`read_report`. Pages of an earlier report stay.

    :param out: directory of the site, made if need be.

    :raises MissingExtraError: without jinja2 or matplotlib, before anything is read.
    :raises TbgenError: if the site cannot be written; what was there under a final name is whole.
    """
    plan = plan_report(directory, materials, men=men, rules=rules, saved=saved)
    from tbgen import __version__
    from tbgen.report.site.site import Site

    site = Site(Path(out), __version__, compares=bool(plan.compared))
    return _make(plan, site, threads, progress)


def save_report(
    directory: str | PathLike[str] | None,
    materials: Iterable[Material | str],
    out: str | PathLike[str],
    *,
    men: int | None = None,
    rules: Variant | str | None = None,
    threads: int = 2,
    progress: Tell | None = None,
) -> int:
    """Save all that there is to say about tables in files of a few kB each, and return the tables saved.

    :func:`read_report` and :func:`write_report` take them for the tables. Tables of which the data are there,
    by their digest, are passed over, so a run that was stopped goes on. The other parameters and errors are
    those of :func:`read_report`; this needs no extra.

    :param out: directory of the data, made if need be.

    :raises TbgenError: if something cannot be written; what was there under a final name is whole.
    """
    whole = plan_report(directory, materials, men=men, rules=rules)
    data = SavedData(Path(out))
    tasks = tuple(task for task in whole.tasks if not _is_saved(data, whole.directory, task))
    new = {task.material for task in tasks} | set(whole.compared).difference(data.differences())
    compared = tuple(material for material in whole.compared if material in new)
    plan = replace(whole, tasks=tasks, compared=compared)
    with passing_copies(plan.directory):
        for found in _tables(plan, None, threads, Clock(plan.tasks, progress)):
            data.save_table(found)
        for difference_found in _differences(plan, progress):
            data.save_difference(difference_found)
    return len(tasks)


def _is_saved(data: SavedData, directory: Path, task: Task) -> bool:
    with StoredFile(table_path(directory, task.material.name, task.variant), material=task.material) as file:
        return data.digest(task.material, task.variant) == file.info.digest


def report_document(report: Report) -> dict[str, Any]:
    """Return all that a report says as one document for JSON."""
    return everything(report.tables, report.records, report.differences)


def _make(plan: Plan, site: Site | None, threads: int, tell: Tell | None) -> Report:
    with passing_copies(plan.directory):
        tables = tuple(_tables(plan, site, threads, Clock(plan.tasks, tell)))
        report = Report(tables, tuple(_differences(plan, tell)))
    if site is None:
        return report
    if report.differences:
        site.write_differences(report.differences)
    site.write_overview(report.by_variant, report.records)
    return Report(report.tables, report.differences, tuple(site.written))


def _tables(plan: Plan, site: Site | None, threads: int, clock: Clock) -> Iterator[TableReport]:
    """Yield the report of each table when its page is written."""
    if site is not None:
        site.write_style()
    with _reader(plan, threads, clock) as read:
        for task in plan.tasks:
            found = read(task)
            if site is not None:
                clock.writing()
                site.write_table(found, plan.other(task))
            clock.finish_table()
            yield found


@contextmanager
def _reader(plan: Plan, threads: int, clock: Clock) -> Iterator[Callable[[Task], TableReport]]:
    """Give what reads the report of a table: from saved data, or from the table itself."""
    if plan.saved:
        data = SavedData(plan.directory)
        yield lambda task: data.table(task.material, task.variant)
        return
    with ExitStack() as stack:
        tables = {
            variant: stack.enter_context(Tablebase(plan.directory, rules=variant))
            for variant in plan.variants
        }
        yield lambda task: report_table(
            plan.directory,
            task.material,
            task.variant,
            threads=threads,
            lines=tables[task.variant],
            progress=clock.scanned,
        )


def _differences(plan: Plan, tell: Tell | None) -> Iterator[Difference]:
    if plan.saved:
        yield from map(SavedData(plan.directory).difference, plan.compared)
        return
    for number, material in enumerate(plan.compared, start=1):

        def compared(done: int, total: int, material: Material = material, number: int = number) -> None:
            if tell is not None:
                stage = f"compared {done / total:.0%}"
                tell(Progress(material, number, len(plan.compared), stage, None))

        with (
            TableSource(plan.directory, material, Variant.R_MOBILITY) as r,
            TableSource(plan.directory, material, Variant.WHOLE_GAME) as wg,
        ):
            yield difference(r, wg, compared)
