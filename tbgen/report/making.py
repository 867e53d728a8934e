"""Making a report: every table is read once, and its page is written before the next one is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
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
from tbgen.report.facts.table_report import report_source
from tbgen.report.model import OverallRecord, TableReport
from tbgen.report.plan import Clock, Plan, Task, Tell, plan_report
from tbgen.report.scan.source import Progress, TableSource, open_source
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
        return lines_left_out(self.tables)


def lines_left_out(tables: Iterable[TableReport]) -> int:
    """Return how many records of tables have no line."""
    records = (record for table in tables for record in table.records)
    return sum(1 for record in records if record.depth and not record.line)


def read_report(
    directory: str | PathLike[str] | None = None,
    materials: Iterable[Material | str] = (),
    *,
    men: int | None = None,
    rules: Variant | str | None = None,
    saved: bool = False,
    depths: bool = False,
    threads: int = 2,
    progress: Tell | None = None,
) -> Report:
    """Read tables and return what there is to say about them; this needs no extra.

    :param directory: where the tables lie; None for the default directory.
    :param materials: names of materials; without, and without ``men``, all tables that are there count.
    :param men: the tables of 2 to so many men that are there.
    :param rules: ``r`` or ``wg``; None for both.
    :param saved: whether the directory has data that :func:`save_report` has saved, not tables.
    :param depths: whether to make the depths that lines need and tables do not store, score by score, which
        may take minutes and some GiB of memory each time; without, such lines are left out.
    :param threads: threads that count, of some 50 MiB each.
    :param progress: told how far the report is; ``print`` will do.

    :raises UsageError: if a name, the number of men or the rules mean nothing.
    :raises MissingTableError: if a table that was named is missing.
    :raises DamagedTableError: if a table, or a file of data, cannot be used.
    :raises TbgenError: if there is no table.
    """
    plan = plan_report(directory, materials, men=men, rules=rules, saved=saved)
    return _make(plan, None, depths, threads, progress)


def write_report(
    directory: str | PathLike[str] | None,
    materials: Iterable[Material | str],
    out: str | PathLike[str],
    *,
    men: int | None = None,
    rules: Variant | str | None = None,
    saved: bool = False,
    depths: bool = False,
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
    return _make(plan, site, depths, threads, progress)


def save_report(
    directory: str | PathLike[str] | None,
    materials: Iterable[Material | str],
    out: str | PathLike[str],
    *,
    men: int | None = None,
    rules: Variant | str | None = None,
    depths: bool = False,
    threads: int = 2,
    progress: Tell | None = None,
) -> int:
    """Save all that there is to say about tables in files of a few kB each, and return the tables saved.

    :func:`read_report` and :func:`write_report` take them for the tables. Tables of which the data are there,
    by their digest, are passed over, so a run that was stopped goes on; with ``depths`` those only of which
    all lines are there. The other parameters and errors are
    those of :func:`read_report`; this needs no extra.

    :param out: directory of the data, made if need be.

    :raises TbgenError: if something cannot be written; what was there under a final name is whole.
    """
    whole = plan_report(directory, materials, men=men, rules=rules)
    data = SavedData(Path(out))
    tasks = tuple(task for task in whole.tasks if not _is_saved(data, whole.directory, task, depths))
    new = {task.material for task in tasks} | set(whole.compared).difference(data.differences())
    compared = tuple(material for material in whole.compared if material in new)
    plan = replace(whole, tasks=tasks, compared=compared)
    with passing_copies(plan.directory), _reader(plan, depths, threads) as read:
        clock = Clock(plan, progress)
        for material in plan.materials:
            _, both = read(material, clock, data.save_table)
            if both is not None:
                data.save_difference(both)
    return len(tasks)


def _is_saved(data: SavedData, directory: Path, task: Task, depths: bool) -> bool:
    with StoredFile(table_path(directory, task.material.name, task.variant), material=task.material) as file:
        if data.digest(task.material, task.variant) != file.info.digest:
            return False
    return not depths or lines_left_out([data.table(task.material, task.variant)]) == 0


def report_document(report: Report) -> dict[str, Any]:
    """Return all that a report says as one document for JSON."""
    return everything(report.tables, report.records, report.differences)


Read = Callable[
    [Material, Clock, Callable[[TableReport], object]], tuple[list[TableReport], Difference | None]
]
"""Returns the reports of a material's tables, each passed on as it comes, and their difference."""


def _make(plan: Plan, site: Site | None, depths: bool, threads: int, tell: Tell | None) -> Report:
    clock, tables, differences = Clock(plan, tell), [], []
    others = {(task.material, task.variant): plan.other(task) for task in plan.tasks}

    def write(found: TableReport) -> None:
        if site is not None:
            site.write_table(found, others[found.material, found.variant])

    if site is not None:
        site.write_style()
    with passing_copies(plan.directory), _reader(plan, depths, threads) as read:
        for material in plan.materials:
            of_material, compared = read(material, clock, write)
            tables += of_material
            differences += [] if compared is None else [compared]
    tables.sort(key=lambda table: (list(Variant).index(table.variant), table.material))
    report = Report(tuple(tables), tuple(differences))
    if site is None:
        return report
    if report.differences:
        site.write_differences(report.differences)
    site.write_overview(report.by_variant, report.records)
    return replace(report, pages=tuple(site.written))


@contextmanager
def _reader(plan: Plan, depths: bool, threads: int) -> Iterator[Read]:
    """Give what reads the reports of a material: from saved data, or from its tables."""
    if plan.saved:
        yield partial(_read_data, plan, SavedData(plan.directory))
        return
    with ExitStack() as stack:
        lines = {
            variant: [
                stack.enter_context(Tablebase(plan.directory, rules=variant, depths=made))
                for made in ((False, True) if depths else (False,))
            ]
            for variant in plan.variants
        }
        yield partial(_read_tables, plan, lines, threads)


def _read_data(
    plan: Plan, data: SavedData, material: Material, clock: Clock, pass_on: Callable[[TableReport], object]
) -> tuple[list[TableReport], Difference | None]:
    tables = []
    for task in plan.tables(material):
        tables.append(data.table(material, task.variant))
        clock.writing(task)
        pass_on(tables[-1])
        clock.finish(task)
    return tables, data.difference(material) if material in plan.compared else None


def _read_tables(
    plan: Plan,
    lines: dict[Variant, list[Tablebase]],
    threads: int,
    material: Material,
    clock: Clock,
    pass_on: Callable[[TableReport], object],
) -> tuple[list[TableReport], Difference | None]:
    tables, compared, comparison = [], None, plan.comparison(material)
    with ExitStack() as stack:
        opened: dict[Variant, TableSource] = {}

        def source(variant: Variant, steps: Progress) -> TableSource:
            if variant not in opened:
                table = open_source(plan.directory, material, variant, threads=threads, progress=steps)
                opened[variant] = stack.enter_context(table)
            return opened[variant]

        for task in plan.tables(material):
            steps = clock.steps(task)
            table = source(task.variant, steps)
            tables.append(report_source(table, threads=threads, lines=lines[task.variant], progress=steps))
            clock.writing(task)
            pass_on(tables[-1])
            clock.finish(task)
        if comparison is not None:
            steps = clock.steps(comparison)
            compared = difference(source(Variant.R_MOBILITY, steps), source(Variant.WHOLE_GAME, steps), steps)
            clock.finish(comparison)
    return tables, compared
