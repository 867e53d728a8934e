"""Reports on tables, each made once by a process of the tests, and sites about them."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from xml.etree.ElementTree import Element

import html5lib
from msgspec.structs import replace

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.probe.tablebase import Tablebase
from tbgen.report.making import table_report
from tbgen.report.model import TableReport
from tbgen.report.records import overall_records, with_line
from tbgen.report.scan import TableCounts, scan_table
from tbgen.report.source import open_source


@cache
def report_table(directory: Path, name: str, variant: Variant = Variant.R_MOBILITY) -> TableReport:
    """Return the report of a table, without lines."""
    with open_source((directory,), Material.parse(name), variant) as source:
        return table_report(scan_table(source))


@cache
def report_with_lines(directory: Path, name: str, variant: Variant = Variant.R_MOBILITY) -> TableReport:
    """Return the report of a table with the lines of its records."""
    report = report_table(directory, name, variant)
    with Tablebase(directory, rules=variant) as tables:
        return replace(report, records=tuple(with_line(record, tables) for record in report.records))


def blank_plots(title: str, report: TableReport) -> list[tuple[str, bytes]]:
    """Empty files in the place of a table's plots, which take seconds to draw."""
    return [(f"{kind}.{ending}", b"") for kind in ("values", "depths", "king") for ending in ("svg", "png")]


def write_site(directory: Path, reports: Sequence[TableReport], **options: str) -> Path:
    """Write a site about tables for the variant with resets, and return its directory."""
    from tbgen.report.site import Site

    site = Site(directory, "0.1.0", **options)  # type: ignore[arg-type]
    site.write_style()
    for report in reports:
        site.write_table(report)
    site.write_overview(
        {Variant.R_MOBILITY: reports},
        {Variant.R_MOBILITY: overall_records(entry for report in reports for entry in report.records)},
    )
    return directory


@cache
def parsed(path: Path) -> Element:
    """A page, which has to be valid."""
    root: Element = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(path.read_text())
    return root


def words(element: Element) -> str:
    """The text of an element, with single blanks."""
    return " ".join("".join(element.itertext()).split())


@cache
def count_table(directory: Path, name: str, *, threads: int = 2) -> TableCounts:
    """Return the counts of a table for the variant with resets."""
    with open_source((directory,), Material.parse(name), Variant.R_MOBILITY) as source:
        return scan_table(source, threads=threads)
