"""Tables fit the page, measured with the metrics of DejaVu Sans, which is wider than most fonts."""

from functools import cache
from pathlib import Path
from xml.etree import ElementTree

from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.html.style import style_sheet
from tbgen.report.facts.difference import difference
from tbgen.report.facts.records import overall_records
from tbgen.report.scan.source import open_source
from tbgen.report.site.site import Site
from tests.support.exhaustive import sample
from tests.support.reports import parsed, report_table

Element = ElementTree.Element

REM = 16.0
PAGE = 76 - 2
"""Widest content of a page in rem; a window of 1280 pixels has room for it."""
PADDING = {"depths": 0.7, "potential": 0.7}
"""Of a cell, left and right together, in rem, where it is not 1.2."""


@cache
def width(text: str, size: float, bold: bool) -> float:
    """Return how wide a text is in pixels."""
    font = FontProperties(family="DejaVu Sans", size=size, weight="bold" if bold else "normal")
    return float(text_to_path.get_text_width_height_descent(text, font, False)[0])


def cell_width(cell: Element, header: bool) -> float:
    """Return how much room a cell needs: its longest word where it may be broken, else its longest line."""
    bold = cell.tag == "th"
    if header or "short" in (cell.get("class") or ""):
        return max((width(word, REM, bold) for word in "".join(cell.itertext()).split()), default=0.0)
    sums, current = [], 0.0
    for child in cell.iter():
        size = REM * (0.85 if child.tag == "code" else 1 / 1.2 if child.tag == "small" else 1)
        if child.tag == "br":
            sums.append(current)
            current = 0.0
        current += width(child.text or "", size, bold)
        if child is not cell:
            current += width(child.tail or "", REM, bold)
    return max([*sums, current])


def table_width(table: Element) -> float:
    """Return how wide a table is if every column is as narrow as it may be."""
    padding = PADDING.get(table.get("class") or "", 1.2) * REM
    columns: dict[int, float] = {}
    for row in table.iter("tr"):
        cells = [cell for cell in row if cell.tag in ("th", "td")]
        if any(cell.get("colspan") for cell in cells):
            continue  # what spans columns is broken to fit them
        first = len(columns) - len(cells) if cells[0].get("scope") == "col" and columns else 0
        for place, cell in enumerate(cells, max(first, 0)):
            needed = cell_width(cell, cell.get("scope") == "col") + padding
            columns[place] = max(columns.get(place, 0.0), needed)
    return sum(columns.values())


def write(out: Path, tables: Path) -> None:
    """A site without lines about tables with the widest numbers, for both rules."""
    site = Site(out, "0.2.0", compares=True)
    materials = [Material.parse(name) for name in ("KRvKB", "KPvKP")[: sample(1, 2)]]
    groups = {
        variant: [report_table(tables, material.name, variant) for material in materials]
        for variant in Variant
    }
    for report in groups[Variant.R_MOBILITY]:
        site.write_table(report, Variant.WHOLE_GAME)
    site.write_overview(
        groups,
        {
            variant: overall_records(record for report in reports for record in report.records)
            for variant, reports in groups.items()
        },
    )
    with (
        open_source(tables, materials[0], Variant.R_MOBILITY) as r,
        open_source(tables, materials[0], Variant.WHOLE_GAME) as wg,
    ):
        site.write_differences([difference(r, wg)])


def test_tables_fit_a_window_of_1280_pixels(whole_game_tables: Path, tmp_path: Path) -> None:
    """In a narrow one each scrolls in a box of its own, and the page does not."""
    write(tmp_path, whole_game_tables)
    style = style_sheet()
    assert "max-width: 100%; overflow-x: auto;" in style
    assert f"max-width: {PAGE + 2}rem; padding: 0 1rem" in style
    assert "th, td { border-bottom: 1px solid var(--line); padding: .22rem .6rem;" in style
    assert ".depths th, .depths td { padding-inline: .35rem; }" in style
    seen = 0
    for path in sorted(tmp_path.rglob("*.html")):
        root = parsed(path)
        boxes = [box for box in root.iter("div") if box.get("class") == "wide"]
        assert [table for box in boxes for table in box.iter("table")] == list(root.iter("table"))
        for table in root.iter("table"):
            seen += 1
            needed = table_width(table)
            assert 100 < needed <= PAGE * REM, (path.name, table.get("id") or table.get("class"), needed)
    assert seen > 10
