"""The reports of one material after the other: from its tables, or from saved data."""

from __future__ import annotations

import logging
from contextlib import ExitStack
from dataclasses import replace
from types import TracebackType
from typing import Final, NamedTuple, Self

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.errors import DamagedTableError, TbgenError
from tbgen.probe.tablebase import Tablebase
from tbgen.progress import TimedProgress
from tbgen.report.data.saved import SavedData
from tbgen.report.facts.difference import Difference, difference
from tbgen.report.facts.records import lines_left_out, with_line
from tbgen.report.facts.table_report import report_source
from tbgen.report.model import TableReport
from tbgen.report.plan import LINES, ReportPlan
from tbgen.report.scan.source import TableSource, open_source

_logger: Final = logging.getLogger(__name__)


class MaterialReport(NamedTuple):
    """What there is to say about a material."""

    tables: list[TableReport]
    """Of the variants that are asked for."""
    difference: Difference | None
    """Between the tables of both variants, if it is asked for."""


class FromData:
    """Reads what has been saved."""

    def __init__(self, plan: ReportPlan) -> None:
        self._plan, self._data = plan, SavedData(plan.directory)

    def __call__(self, material: Material, clock: TimedProgress) -> MaterialReport:
        """Return the report of a material.

        :raises TbgenError: if a file of data cannot be used.
        """
        tables = []
        for task in self._plan.tables(material):
            clock.begin(task.material, task.cost.steps, task.title)
            tables.append(self._data.table(material, task.variant))
            clock.finish()
        compared = self._plan.comparison(material) is not None
        return MaterialReport(tables, self._data.difference(material) if compared else None)


class FromTables:
    """Reads tables; a context.

    :param depths: whether depths are made that lines need and tables do not store.
    """

    def __init__(self, plan: ReportPlan, *, depths: bool, threads: int) -> None:
        self._plan, self._depths, self._threads = plan, depths, threads
        self._stack = ExitStack()
        self._tables = {
            variant: self._stack.enter_context(Tablebase(plan.directory, rules=variant))
            for variant in Variant
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def __call__(self, material: Material, clock: TimedProgress) -> MaterialReport:
        """Return the report of a material; a packed table is held in memory until both are compared.

        :raises DamagedTableError: if a table cannot be used.
        """
        tasks, comparison = self._plan.tables(material), self._plan.comparison(material)
        tables, compared = [], None
        with ExitStack() as stack:
            opened: dict[Variant, TableSource] = {}

            def source(variant: Variant) -> TableSource:
                if variant not in opened:
                    table = open_source(
                        self._plan.directory,
                        material,
                        variant,
                        threads=self._threads,
                        progress=clock.progress,
                    )
                    opened[variant] = stack.enter_context(table)
                return opened[variant]

            for task in tasks:
                clock.begin(material, task.cost.steps, task.title)
                table = source(task.variant)
                tables.append(
                    report_source(
                        table, threads=self._threads, layers=self._plan.layers, progress=clock.progress
                    )
                )
                clock.finish()
            if comparison is not None:
                clock.begin(material, comparison.cost.steps, comparison.title)
                both = source(Variant.R_MOBILITY), source(Variant.WHOLE_GAME)
                compared = difference(*both, clock.progress)
                clock.finish()
        return MaterialReport([self.with_lines(found, clock) for found in tables], compared)

    def with_lines(self, report: TableReport, clock: TimedProgress) -> TableReport:
        """Return a report with the lines of its records; those that it has stay.

        :raises DamagedTableError: if a table that a line leads to cannot be used.
        """
        report = _with_lines(report, self._tables[report.variant], clock)
        if not self._depths or not lines_left_out(report.records):
            return report
        # Opened for one table alone: copies of tables that layers take are removed with it.
        with Tablebase(self._plan.directory, rules=report.variant, depths=True) as tables:
            return _with_lines(report, tables, clock)


def _with_lines(report: TableReport, tables: Tablebase, clock: TimedProgress) -> TableReport:
    records = []
    clock.begin(report.material, {}, str(report.variant))
    for number, record in enumerate(report.records):
        clock.progress(LINES, number, len(report.records))
        if not record.line:
            try:
                record = with_line(record, tables)
            except DamagedTableError:
                raise
            except TbgenError as error:  # no room for a layer, say: everything else is there
                _logger.warning("the line of %s to %s is left out: %s", record.material, record.value, error)
        records.append(record)
    return replace(report, records=tuple(records))
