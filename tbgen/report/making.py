"""Making reports from tables or saved data, one material after the other.

The pages of a material are written as soon as its tables have been read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache, cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.documents import Document
from tbgen.probe.tablebase import Tablebase
from tbgen.progress import Reporter, SilentReporter, TimedProgress
from tbgen.report.data import OverallDocument, SavedData, overall_documents
from tbgen.report.difference import Difference, compare_tables
from tbgen.report.endgames import counts_by_score, endgame
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
from tbgen.report.plan import LINES_STEP, ReportPlan, Task, plan_report
from tbgen.report.records import count_omitted_lines, overall_records, records_of, with_line
from tbgen.report.scan import CountArray, TableCounts, count_images, scan_table
from tbgen.report.source import TableSource, open_source
from tbgen.store.format import Directories
from tbgen.tables.library import PlainCopies

if TYPE_CHECKING:
    from tbgen.report.site import Site

MaterialReport = tuple[list[TableReport], Difference | None]
"""Reports on the planned tables of a material, and the comparison of its tables, if planned."""


def table_report(scan: TableCounts) -> TableReport:
    """Return the report of a table, without lines, from its counts."""
    info = scan.info
    report = TableReport(
        material=scan.material,
        variant=info.variant,
        digest=info.digest,
        tbgen_version=info.tbgen_version,
        bytes=info.bytes,
        form=info.form,
        max_depth=info.max_depth,
        distribution=distribution(scan),
        records=tuple(records_of(scan)),
        accrued=accrued_view(scan) if scan.has_accrued else None,
        endgame=endgame(scan),
        mating=mating_facts(scan),
        black_king=Sides(*(tuple(map(counts_by_score, squares)) for squares in scan.king_with_images())),
    )
    return with_highlights(report)


def distribution(scan: TableCounts) -> Distribution:
    """Return the numbers of positions by value and depth."""
    arrays = scan.counts_with_images().sum(axis=1), scan.counts[0].sum(axis=1), scan.en_passant
    board, canonical, _ = arrays
    values = [Sides(*(counts_by_score(side.sum(axis=1)) for side in sides)) for sides in arrays]
    totals = zip(board.sum(axis=(1, 2)).tolist(), canonical.sum(axis=(1, 2)).tolist(), strict=True)
    positions = Sides(*(Totals(*pair) for pair in totals))
    depths = Sides(*map(_depths_by_score, board))
    return Distribution(values[0], values[1], values[2], positions, depths)


def _depths_by_score(by_code: CountArray) -> Depths:
    return {
        value: {depth: count for depth, count in enumerate(by_code[value.code].tolist()) if count}
        for value in counts_by_score(by_code.sum(axis=1))
    }


def accrued_view(scan: TableCounts) -> AccruedView:
    """Return the counts of states by accrued score."""
    return AccruedView(_by_side(count_images(scan.layout, scan.states)), _by_side(scan.states[0]))


def _by_side(states: NDArray[np.int64]) -> Sides[Sides[AccruedCounts]]:
    """Convert an array of counts to :class:`AccruedCounts` by side to move and holder.

    :param states: shape (2 sides, 2 holders, columns of :mod:`tbgen.report.scan`).
    """
    return Sides(*(Sides(*(_accrued_counts(*row) for row in holders)) for holders in states.tolist()))


def _accrued_counts(
    states: int, stored: int, improved: int, worsened: int, lost: int, lost_by_reset: int, fresh: int
) -> AccruedCounts:
    wiped_out = worsened + lost_by_reset
    survives = states - improved - lost - wiped_out
    return AccruedCounts(
        states=states,
        stored=stored,
        survives=survives,
        improved=improved,
        worsened=worsened,
        lost=lost,
        lost_by_reset=lost_by_reset,
        wiped_out=wiped_out,
        fresh=fresh,
    )


def read_material(
    plan: ReportPlan,
    material: Material,
    clock: TimedProgress,
    copies: PlainCopies,
    *,
    depths: bool,
    threads: int,
) -> MaterialReport:
    """Return the report of a material from its tables or from saved data, as planned.

    Tables stay in memory until they have been compared.

    :param copies: the plain copies of packed tables.
    :param depths: whether to compute depths that lines need and that tables do not store.

    :raises TbgenError: if a file of data cannot be used.
    :raises DamagedTableError: if a table cannot be used.
    """
    data = SavedData(plan.directories[0])
    tables = list[TableReport]()
    comparison = None
    with ExitStack() as stack:

        @cache
        def source_of(variant: Variant) -> TableSource:
            table = open_source(
                plan.directories, material, variant, copies=copies, threads=threads, progress=clock.progress
            )
            return stack.enter_context(table)

        for task in plan.tasks_of(material):
            clock.begin(material, task.cost.steps, str(task.variant))
            if plan.uses_saved_data:
                tables.append(data.report(material, task.variant))
            else:
                scan = scan_table(
                    source_of(task.variant), threads=threads, with_layers=plan.layers, progress=clock.progress
                )
                tables.append(table_report(scan))
        if material in plan.comparisons:
            clock.begin(material, plan.comparisons[material].steps, "both")
            if plan.uses_saved_data:
                comparison = data.difference(material)
            else:
                r, wg = map(source_of, Variant)
                comparison = compare_tables(r, wg, clock.progress)
    if not plan.uses_saved_data:
        tables = [with_lines(plan.directories, table, clock, depths) for table in tables]
    return tables, comparison


def with_lines(
    directories: Sequence[Path], report: TableReport, clock: TimedProgress, depths: bool
) -> TableReport:
    """Return a report with the lines of its records. Existing lines are not looked up again.

    :param directories: the directories of the tables.
    :param depths: whether to compute depths that lines need and that tables do not store.

    :raises DamagedTableError: if a table that a line leads to cannot be used.
    """
    records = list(report.records)
    for computes_depths in (False, True) if depths else (False,):
        if computes_depths and not count_omitted_lines(records):
            break
        # Opened anew for each table, because closing removes the copies of tables made for layers.
        with Tablebase(*directories, rules=report.variant, depths=computes_depths) as tables:
            clock.begin(report.material, {}, str(report.variant))
            for index, record in enumerate(records):
                clock.progress(LINES_STEP, index, len(records))
                records[index] = record if record.line else with_line(record, tables)
    return structs.replace(report, records=tuple(records))


@dataclass(frozen=True)
class Report:
    """A report about some tables."""

    tables: tuple[TableReport, ...]
    """Reports of tables in build order, variant by variant."""
    differences: tuple[Difference, ...]
    """Comparisons of the materials with tables for both variants, in build order."""
    pages: tuple[Path, ...] = ()
    """Paths of the written pages."""

    @cached_property
    def by_variant(self) -> dict[Variant, list[TableReport]]:
        """Maps each variant that has tables to the reports of these tables."""
        tables = {variant: [t for t in self.tables if t.variant is variant] for variant in Variant}
        return {variant: reports for variant, reports in tables.items() if reports}

    @cached_property
    def records(self) -> dict[Variant, list[OverallRecord]]:
        """Maps each variant that has tables to the longest way to each score in these tables."""
        return {
            variant: overall_records(record for table in tables for record in table.records)
            for variant, tables in self.by_variant.items()
        }

    @property
    def omitted_line_count(self) -> int:
        """Number of records whose line is left out, because best play needs missing tables or depths."""
        return sum(count_omitted_lines(table.records) for table in self.tables)


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
    """Read tables and return a report about them. No optional dependency is needed.

    :param directory: the directory of the tables, or several directories: each table is read from the first
        that has it. None stands for the default directory.
    :param materials: names of materials. If neither names nor ``men`` are given, the report covers all
        existing tables.
    :param men: maximum number of men; adds all existing tables of 2 to ``men`` men.
    :param rules: ``r`` or ``wg``; None for both.
    :param saved: whether the directory has data saved by :func:`save_report` instead of tables.
    :param layers: whether to solve packed tables again, layer by layer, to count their accrued scores. This
        takes as long as building the tables, and up to 1.7 times as much memory.
    :param depths: whether to compute, score by score, the depths that lines need and that tables do not
        store. Each score may take minutes and several GiB of memory. By default, such lines are left out.
    :param threads: number of counting threads; each needs about 50 MiB.
    :param reporter: receives the progress of the report.

    :raises UsageError: if a name, the number of men or the rules are invalid.
    :raises MissingTableError: if a named table is missing.
    :raises DamagedTableError: if a table, or a file of data, cannot be used.
    :raises TbgenError: if no table exists.
    """
    plan = plan_report(directory, materials, men=men, rules=rules, saved=saved, layers=layers)
    return _make_report(plan, None, depths, threads, reporter)


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

    The other parameters and errors are those of :func:`read_report`. Pages of an earlier report are not
    removed.

    :param out: directory of the site, created if missing.
    :param explorer: the address of an explorer, or its path from the first page; diagrams link to it.
    :param address: the URL at which the site will be published; link previews need it for their pictures.

    :raises MissingExtraError: if matplotlib is missing; raised before tables are read.
    :raises TbgenError: if the site cannot be written. Files are written under temporary names and renamed
        when complete.
    """
    plan = plan_report(directory, materials, men=men, rules=rules, saved=saved, layers=layers)
    from tbgen import __version__
    from tbgen.report.site import Site

    site = Site(Path(out), __version__, compares=bool(plan.comparisons), explorer=explorer, address=address)
    return _make_report(plan, site, depths, threads, reporter)


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

    :func:`read_report` and :func:`write_report` can read these files instead of tables. A table is skipped if
    data with its digest have been saved, so the same call resumes an interrupted run. With ``depths``,
    missing lines are added to saved data. The other parameters and errors are those of :func:`read_report`.
    No optional dependency is needed.

    :param out: directory of the data, created if missing.

    :raises TbgenError: if a file cannot be written. Files are written under temporary names and renamed when
        complete.
    """
    full_plan = plan_report(directory, materials, men=men, rules=rules, layers=layers)
    data = SavedData(Path(out))
    remaining = tuple(task for task in full_plan.tasks if not _is_saved(data, task))
    settled_materials = set(data.compared_materials()).difference(task.material for task in remaining)
    # The tables of a material are compared again if one of them is read again.
    comparisons = {key: cost for key, cost in full_plan.comparisons.items() if key not in settled_materials}
    plan = replace(full_plan, tasks=remaining, comparisons=comparisons)
    clock = TimedProgress(reporter or SilentReporter(), plan.seconds, full_plan.materials)
    count = len(remaining)
    with PlainCopies(plan.directories[0]) as copies:
        for material in plan.materials:
            tables, difference = read_material(plan, material, clock, copies, depths=depths, threads=threads)
            # The difference is saved first, so that no saved table lacks it if a later step fails.
            if difference is not None:
                data.save_difference(difference)
            for table in tables:
                data.save_table(table)
        for task in full_plan.tasks if depths else ():
            if task not in remaining:
                report_before = data.report(task.material, task.variant)
                report_after = with_lines(plan.directories, report_before, clock, depths)
                if report_after != report_before:
                    data.save_table(report_after)
                    count += 1
    return count


def _is_saved(data: SavedData, task: Task) -> bool:
    """Return whether the data of a table are saved, including the accrued scores if the task counts them."""
    if data.digest(task.material, task.variant) != task.digest:
        return False
    return not task.layers or data.report(task.material, task.variant).accrued is not None


class ReportDocument(Document):
    """A report as one JSON document."""

    tables: Sequence[TableReport]
    records: dict[Variant, list[OverallDocument]]
    differences: Sequence[Difference]


def report_document(report: Report) -> ReportDocument:
    """Convert a report to one JSON document."""
    return ReportDocument(report.tables, overall_documents(report.records), report.differences)


def _make_report(
    plan: ReportPlan, site: Site | None, depths: bool, threads: int, reporter: Reporter | None
) -> Report:
    clock = TimedProgress(reporter or SilentReporter(), plan.seconds, plan.materials)
    tables = list[TableReport]()
    differences = list[Difference]()
    if site is not None:
        site.write_style()
    with PlainCopies(plan.directories[0]) as copies:
        for material in plan.materials:
            new_tables, difference = read_material(
                plan, material, clock, copies, depths=depths, threads=threads
            )
            if site is not None:
                clock.begin(material, {})
                clock.progress("writing", None, 0)
                for table in new_tables:
                    site.write_table(table, *(other.variant for other in new_tables if other is not table))
            tables += new_tables
            differences += [] if difference is None else [difference]
    tables.sort(key=lambda table: (list(Variant).index(table.variant), table.material))
    report = Report(tuple(tables), tuple(differences))
    if site is None:
        return report
    site.write_overview(report.by_variant, report.records)
    if report.differences:
        site.write_differences(report.differences)
    return replace(report, pages=tuple(site.written))
