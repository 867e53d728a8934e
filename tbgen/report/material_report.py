"""The reports of one material: from its tables, or from saved data."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.errors import DamagedTableError, TbgenError
from tbgen.probe.tablebase import Tablebase
from tbgen.progress import TimedProgress
from tbgen.report.data.saved import SavedData
from tbgen.report.facts.difference import Difference, difference
from tbgen.report.facts.records import lines_left_out, with_line
from tbgen.report.facts.table_report import report_source
from tbgen.report.model import Record, TableReport
from tbgen.report.plan import LINES, ReportPlan
from tbgen.report.scan.source import TableSource, open_source

_logger: Final = logging.getLogger(__name__)


MaterialReport = tuple[list[TableReport], Difference | None]
"""Reports on a material's tables of the variants that are asked for, and how these differ if that is too."""


def read_material(
    plan: ReportPlan, material: Material, clock: TimedProgress, *, depths: bool, threads: int
) -> MaterialReport:
    """Return the report of a material, of its tables or of saved data, as the plan has it.

    :param depths: whether depths are made that lines need and tables do not store.

    :raises TbgenError: if a file of data cannot be used.
    :raises DamagedTableError: if a table cannot be used.
    """
    if plan.saved:
        return _of_data(plan, material, clock)
    tables, compared = _of_tables(plan, material, clock, threads)
    return [with_lines(plan.places, found, clock, depths) for found in tables], compared


def _of_data(plan: ReportPlan, material: Material, clock: TimedProgress) -> MaterialReport:
    data, tables = SavedData(plan.places[0]), []
    for task in plan.tables(material):
        clock.begin(material, task.cost.steps, str(task.variant))
        tables.append(data.table(material, task.variant))
    return tables, data.difference(material) if material in plan.compared else None


def _of_tables(plan: ReportPlan, material: Material, clock: TimedProgress, threads: int) -> MaterialReport:
    """Read the tables of a material; packed ones are held in memory until both are compared."""
    with ExitStack() as stack:

        @cache
        def source(variant: Variant) -> TableSource:
            opened = open_source(plan.places, material, variant, threads=threads, progress=clock.progress)
            return stack.enter_context(opened)

        tables, comparison = [], plan.compared.get(material)
        for task in plan.tables(material):
            clock.begin(material, task.cost.steps, str(task.variant))
            table = source(task.variant)
            report = report_source(table, threads=threads, layers=plan.layers, progress=clock.progress)
            tables.append(report)
        if comparison is None:
            return tables, None
        clock.begin(material, comparison.steps, "both")
        r, wg = map(source, Variant)
        return tables, difference(r, wg, clock.progress)


def with_lines(
    places: Sequence[Path], report: TableReport, clock: TimedProgress, depths: bool
) -> TableReport:
    """Return a report with the lines of its records; those that it has stay.

    :param places: where tables lie.
    :param depths: whether depths are made that lines need and tables do not store.

    :raises DamagedTableError: if a table that a line leads to cannot be used.
    """
    records = list(report.records)
    for making in (False, True) if depths else (False,):
        if making and not lines_left_out(records):
            break
        # Opened for one table alone: copies of tables that layers take are removed with it.
        with Tablebase(*places, rules=report.variant, depths=making) as tables:
            clock.begin(report.material, {}, str(report.variant))
            for number, record in enumerate(records):
                clock.progress(LINES, number, len(records))
                records[number] = record if record.line else _with_line(record, tables)
    return replace(report, records=tuple(records))


def _with_line(record: Record, tables: Tablebase) -> Record:
    try:
        return with_line(record, tables)
    except DamagedTableError:
        raise
    except TbgenError as error:  # no room for a layer, say: everything else is there
        _logger.warning("the line of %s to %s is left out: %s", record.material, record.value, error)
        return record
