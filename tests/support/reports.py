"""Reports on tables, each made once by a process of the tests."""

from functools import cache
from pathlib import Path

from msgspec.structs import replace

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.probe.tablebase import Tablebase
from tbgen.report.facts.records import with_line
from tbgen.report.facts.table_report import report_source
from tbgen.report.model import TableReport
from tbgen.report.scan.counting import count_source
from tbgen.report.scan.source import open_source
from tbgen.report.scan.table_counts import TableCounts


@cache
def report_table(directory: Path, name: str, variant: Variant = Variant.R_MOBILITY) -> TableReport:
    """Return the report of a table, without lines."""
    with open_source(directory, Material.parse(name), variant) as source:
        return report_source(source)


@cache
def report_with_lines(directory: Path, name: str, variant: Variant = Variant.R_MOBILITY) -> TableReport:
    """Return the report of a table with the lines of its records."""
    report = report_table(directory, name, variant)
    with Tablebase(directory, rules=variant) as tables:
        return replace(report, records=tuple(with_line(record, tables) for record in report.records))


@cache
def _drawn(title: str, digest: str) -> list[tuple[str, bytes]]:
    return []


def drawn_once(title: str, report: TableReport) -> list[tuple[str, bytes]]:
    """The plots of a table, which show nothing but what its digest stands for, drawn when first asked for."""
    from tbgen.report.site.plots import plots

    kept = _drawn(title, report.digest)
    kept += [] if kept else plots(title, report)
    return kept


def count_table(directory: Path, name: str, *, threads: int = 2) -> TableCounts:
    """Return the counts of a table for the variant with resets."""
    with open_source(directory, Material.parse(name), Variant.R_MOBILITY) as source:
        return count_source(source, threads=threads)
