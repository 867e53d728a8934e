"""Making a report material by material, from tables or saved data; pages are written after each material."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache, cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.packed.copies import temporary_copies
from tbgen.probe.tablebase import Tablebase
from tbgen.progress import Reporter, SilentReporter, TimedProgress
from tbgen.report.data import SavedData, overall_documents
from tbgen.report.difference import Difference, difference
from tbgen.report.endgames import by_score, endgame
from tbgen.report.highlights import with_highlights
from tbgen.report.mating import mating_facts
from tbgen.report.model import (
    AccruedCounts,
    AccruedView,
    Depths,
    Distribution,
    OverallRecord,
    Sides,
    TableReport,
    Totals,
)
from tbgen.report.plan import LINES, ReportPlan, Task, plan_report
from tbgen.report.records import lines_left_out, overall_records, records_of, with_line
from tbgen.report.scan import Counts, TableCounts, count_source, images
from tbgen.report.source import TableSource, open_source
from tbgen.store.format import Directories

if TYPE_CHECKING:
    from tbgen.report.site import Site


def table_report(scanned: TableCounts) -> TableReport:
    """Return the report of a table, without lines, from its counts."""
    info = scanned.info
    report = TableReport(
        material=scanned.material,
        variant=info.variant,
        digest=info.digest,
        tbgen_version=info.tbgen_version,
        bytes=info.bytes,
        form=info.form,
        max_depth=info.max_depth,
        distribution=distribution(scanned),
        records=tuple(records_of(scanned)),
        accrued=accrued_view(scanned) if scanned.has_accrued else None,
        endgame=endgame(scanned),
        mating=mating_facts(scanned),
        black_king=Sides(*(tuple(map(by_score, squares)) for squares in scanned.king_on_board())),
    )
    return with_highlights(report)


def distribution(scanned: TableCounts) -> Distribution:
    """Return the numbers of positions by value and depth."""
    numbers = scanned.on_board().sum(axis=1), scanned.counts[0].sum(axis=1), scanned.en_passant
    board, canonical, _ = numbers
    values = [Sides(*(by_score(side.sum(axis=1)) for side in sides)) for sides in numbers]
    totals = zip(board.sum(axis=(1, 2)).tolist(), canonical.sum(axis=(1, 2)).tolist(), strict=True)
    positions, depths = Sides(*(Totals(*both) for both in totals)), Sides(*map(_depths, board))
    return Distribution(values[0], values[1], values[2], positions, depths)


def _depths(by_code: Counts) -> Depths:
    return {
        value: {depth: number for depth, number in enumerate(by_code[value.code].tolist()) if number}
        for value in by_score(by_code.sum(axis=1))
    }


def accrued_view(scanned: TableCounts) -> AccruedView:
    """Return the counts of accrued scores."""
    return AccruedView(_states(images(scanned.layout, scanned.states)), _states(scanned.states[0]))


def _states(numbers: NDArray[np.int64]) -> Sides[Sides[AccruedCounts]]:
    """Return by name the counts in an array of shape (2 sides, 2 holders, columns of
    :mod:`tbgen.report.scan`)."""
    return Sides(*(Sides(*(_counts(*row) for row in holders)) for holders in numbers.tolist()))


def _counts(
    states: int, stored: int, improved: int, worsened: int, lost: int, lost_by_reset: int, fresh: int
) -> AccruedCounts:
    wiped_out = worsened + lost_by_reset
    survives = states - improved - lost - wiped_out
    return AccruedCounts(states, stored, survives, improved, worsened, lost, lost_by_reset, wiped_out, fresh)


MaterialReport = tuple[list[TableReport], Difference | None]
"""Reports on the selected tables of a material, and their comparison if selected."""


def read_material(
    plan: ReportPlan, material: Material, clock: TimedProgress, *, depths: bool, threads: int
) -> MaterialReport:
    """Return the report of a material, from its tables or from saved data, as planned.

    Tables stay in memory until they have been compared.

    :param depths: whether to compute depths that lines need and tables do not store.

    :raises TbgenError: if a file of data cannot be used.
    :raises DamagedTableError: if a table cannot be used.
    """
    data, tables, compared = SavedData(plan.places[0]), list[TableReport](), None
    with ExitStack() as stack:

        @cache
        def source(variant: Variant) -> TableSource:
            opened = open_source(plan.places, material, variant, threads=threads, progress=clock.progress)
            return stack.enter_context(opened)

        for task in plan.tables(material):
            clock.begin(material, task.cost.steps, str(task.variant))
            if plan.saved:
                tables.append(data.table(material, task.variant))
            else:
                scanned = count_source(
                    source(task.variant), threads=threads, layers=plan.layers, progress=clock.progress
                )
                tables.append(table_report(scanned))
        if material in plan.compared:
            clock.begin(material, plan.compared[material].steps, "both")
            if plan.saved:
                compared = data.difference(material)
            else:
                r, wg = map(source, Variant)
                compared = difference(r, wg, clock.progress)
    if not plan.saved:
        tables = [with_lines(plan.places, table, clock, depths) for table in tables]
    return tables, compared


def with_lines(
    places: Sequence[Path], report: TableReport, clock: TimedProgress, depths: bool
) -> TableReport:
    """Return a report with the lines of its records; existing lines are kept.

    :param places: directories of tables.
    :param depths: whether to compute depths that lines need and tables do not store.

    :raises DamagedTableError: if a table that a line leads to cannot be used.
    """
    records = list(report.records)
    for making in (False, True) if depths else (False,):
        if making and not lines_left_out(records):
            break
        # Opened for this table only, so that the copies of tables made for its layers are removed.
        with Tablebase(*places, rules=report.variant, depths=making) as tables:
            clock.begin(report.material, {}, str(report.variant))
            for number, record in enumerate(records):
                clock.progress(LINES, number, len(records))
                records[number] = record if record.line else with_line(record, tables)
    return structs.replace(report, records=tuple(records))


@dataclass(frozen=True)
class Report:
    """A report about some tables."""

    tables: tuple[TableReport, ...]
    """Reports of tables in build order, variant by variant."""
    differences: tuple[Difference, ...]
    """Comparisons of the materials with tables for both variants, in build order."""
    pages: tuple[Path, ...] = ()
    """The written pages."""

    @cached_property
    def by_variant(self) -> dict[Variant, list[TableReport]]:
        """The tables of each variant that has any."""
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
        """Number of records without a line, because best play needs missing tables or depths."""
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
    """Read tables and return a report about them; this needs no extra.

    :param directory: the directory of the tables, or several directories, of which the first that has a table
        is used; None for the default directory.
    :param materials: names of materials; without names and ``men``, all existing tables.
    :param men: all existing tables of 2 to ``men`` men.
    :param rules: ``r`` or ``wg``; None for both.
    :param saved: whether the directory has data saved by :func:`save_report` instead of tables.
    :param layers: whether to solve packed tables again, layer by layer, to count their accrued scores, which
        takes as long as their build, and twice as much memory.
    :param depths: whether to compute the depths that lines need and tables do not store, score by score,
        which may take minutes and some GiB of memory each time; otherwise such lines are left out.
    :param threads: number of threads that count; each needs some 50 MiB.
    :param reporter: receives the progress of the report.

    :raises UsageError: if a name, the number of men or the rules are invalid.
    :raises MissingTableError: if a named table is missing.
    :raises DamagedTableError: if a table, or a file of data, cannot be used.
    :raises TbgenError: if no table exists.
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
    """Write a site about tables, to be opened at ``index.html``, and return its report.

    The other parameters and errors are those of :func:`read_report`. Pages of an earlier report stay.

    :param out: directory of the site, created if missing.
    :param explorer: the address of an explorer, or its path from the first page; diagrams link to it.
    :param address: the future address of the site, for the pictures of previews.

    :raises MissingExtraError: if matplotlib is missing, before tables are read.
    :raises TbgenError: if the site cannot be written; files with their final names are then complete.
    """
    plan = plan_report(directory, materials, men=men, rules=rules, saved=saved, layers=layers)
    from tbgen import __version__
    from tbgen.report.site import Site

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
    """Save the data of tables in files of a few kB each, and return the number of tables saved.

    :func:`read_report` and :func:`write_report` can read these files instead of tables. Tables whose data are
    already saved, by their digest, are skipped, so the same call resumes an interrupted run; with ``depths``,
    missing lines are added. The other parameters and errors are those of :func:`read_report`; this needs no
    extra.

    :param out: directory of the data, created if missing.

    :raises TbgenError: if a file cannot be written; files with their final names are then complete.
    """
    full_plan = plan_report(directory, materials, men=men, rules=rules, layers=layers)
    data = SavedData(Path(out))
    remaining = tuple(task for task in full_plan.tasks if not _is_saved(data, task))
    new, compared = {task.material for task in remaining}, data.differences()
    # Two tables have to be compared again if one of them is read again.
    again = {key: cost for key, cost in full_plan.compared.items() if key in new or key not in compared}
    plan = replace(full_plan, tasks=remaining, compared=again)
    clock = TimedProgress(reporter or SilentReporter(), plan.seconds, full_plan.materials)
    count = len(remaining)
    with temporary_copies(plan.places[0]):
        for material in plan.materials:
            tables, difference = read_material(plan, material, clock, depths=depths, threads=threads)
            # In this order a saved table always has its difference saved too, even if the next step fails.
            if difference is not None:
                data.save_difference(difference)
            for table in tables:
                data.save_table(table)
        for task in full_plan.tasks if depths else ():
            if task not in remaining:
                before = data.table(task.material, task.variant)
                after = with_lines(plan.places, before, clock, depths)
                if after != before:
                    data.save_table(after)
                    count += 1
    return count


def _is_saved(data: SavedData, task: Task) -> bool:
    """Return whether the data of a table are saved, including accrued scores if these are to be counted."""
    if data.digest(task.material, task.variant) != task.digest:
        return False
    return not task.layers or data.table(task.material, task.variant).accrued is not None


def report_document(report: Report) -> dict[str, Any]:
    """Return a report as one JSON document."""
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
    with temporary_copies(plan.places[0]):
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
