"""Reports as static sites: valid, self-contained pages that say what the data says."""

import csv
import errno
import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree

import html5lib
import pytest
from msgspec.structs import replace

from tbgen.board.material import all_materials
from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.errors import TbgenError
from tbgen.report.data.rows import CSV
from tbgen.report.facts.records import overall_records
from tbgen.report.model import LinePoint, TableReport
from tbgen.report.parts import ReportPart
from tbgen.report.site.plots import plots
from tbgen.report.site.site import Site
from tbgen.text import part_of, plies, share
from tests.support.reports import report_with_lines

Element = ElementTree.Element


@pytest.fixture(scope="module")
def reports(three_men: Path) -> list[TableReport]:
    return [report_with_lines(three_men, material.name) for material in all_materials(3)]


def write(directory: Path, reports: list[TableReport], **options: str) -> Path:
    site = Site(directory, "0.1.0", **options)  # type: ignore[arg-type]
    site.write_style()
    for report in reports:
        site.write_table(report)
    site.write_overview(
        {Variant.R_MOBILITY: reports},
        {Variant.R_MOBILITY: overall_records(entry for report in reports for entry in report.records)},
    )
    return directory


@pytest.fixture(scope="module")
def site(reports: list[TableReport], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("site") / "new" / "site", reports)


@cache
def parsed(path: Path) -> Element:
    root: Element = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(path.read_text())
    return root


def words(element: Element) -> str:
    return " ".join("".join(element.itertext()).split())


def rows(table: Element, part: str = "tbody") -> list[list[str]]:
    return [[words(cell) for cell in row if cell.tag in ("th", "td")] for row in table.findall(f"{part}/tr")]


def table(page: Element, name: str) -> Element:
    (found,) = [
        element for element in page.iter("table") if name in (element.get("id"), element.get("class"))
    ]
    return found


def test_pages_are_valid(site: Path, reports: list[TableReport]) -> None:
    pages = sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html"))
    expected = [
        "index",
        "records",
        "endgames",
        "mating",
        *(f"tables/{report.material}.r" for report in reports),
    ]
    assert pages == sorted(f"{name}.html" for name in expected)
    for name in pages:
        page = parsed(site / name)
        assert (site / name).read_text().startswith('<!DOCTYPE html>\n<html lang="en">')
        assert len(list(page.iter("h1"))) == 1
        assert words(next(page.iter("title")))
        assert set(ids(site / name).values()) == {1}
        for cell in page.iter("th"):
            assert cell.get("scope") in ("col", "row", "colgroup")
        for image in page.iter("img"):
            assert image.get("alt")
        for board in page.iter("{http://www.w3.org/2000/svg}svg"):
            assert board.get("aria-label") or board.get("aria-hidden")


@cache
def ids(path: Path) -> Counter[str | None]:
    return Counter(element.get("id") for element in parsed(path).iter() if element.get("id"))


def references(page: Element) -> Iterator[str]:
    for element in page.iter():
        for name, value in element.attrib.items():
            if str(name).rpartition("}")[2] in ("href", "src", "srcset", "action", "data"):
                yield str(value)
        if element.get("property") == "og:image":
            yield element.get("content") or ""


def test_what_scrolls_has_a_name_and_scrolls_by_keyboard(site: Path) -> None:
    for path in site.rglob("*.html"):
        page = parsed(path)
        boxes = [box for box in page.iter("div") if box.get("class") == "wide"]
        assert len(boxes) == sum(1 for _ in page.iter("table"))
        assert all((box.get("tabindex"), box.get("role")) == ("0", "region") for box in boxes)
        assert len({box.get("aria-label") for box in boxes} - {None, ""}) == len(boxes)
        plots = [box for box in page.iter("figure") if box.get("class") == "plot"]
        assert all(box.get("tabindex") == "0" for box in plots)


def test_nothing_comes_from_elsewhere(site: Path) -> None:
    for path in site.rglob("*.html"):
        for reference in references(parsed(path)):
            name, _, fragment = reference.partition("#")
            assert not re.match(r"[a-z]+:|//|/", name), reference
            target = path.parent / unquote(name) if name else path
            assert target.is_file(), reference
            assert site in target.resolve().parents
            if fragment and target.suffix == ".html":
                assert fragment in ids(target), reference
        scripts = re.findall(r"<script[^>]*>", path.read_text())
        top = "../" * (path.parent != site)
        assert scripts == [f'<script src="{top}scheme.js">', f'<script src="{top}boards.js" defer>']
        assert not re.search(r"url\(|@import", path.read_text())
    assert not re.search(r"url\(|@import|http", (site / "style.css").read_text())


def test_every_file_is_linked(site: Path) -> None:
    linked = {
        (path.parent / reference.partition("#")[0]).resolve()
        for path in site.rglob("*.html")
        for reference in references(parsed(path))
    }
    assert {path.resolve() for path in site.rglob("*") if path.is_file()} - linked == set()


def test_the_table_of_values(site: Path, reports: list[TableReport]) -> None:
    for report in reports:
        found = table(parsed(site / f"tables/{report.material}.r.html"), "distribution")
        own, sides = report.distribution, report.endgame.sides
        seen = []
        for value_text, *cells in rows(found):
            value = GScore.parse(value_text)
            seen.append(value)
            for side in (0, 1):
                board, share, canonical, quiet = cells[4 * side : 4 * side + 4]
                assert board == f"{own.board[side].get(value, 0):,}"
                assert canonical == f"{own.canonical[side].get(value, 0):,}"
                assert quiet == f"{sides[side].quiet.get(value, 0):,}"
                assert bool(share) == (value in own.board[side])
                if re.fullmatch(r"[0-9.]+ %", share):
                    assert float(share[:-2]) / 100 == pytest.approx(own.share(side, value), abs=0.00051)
        assert seen == sorted({*own.board[0], *own.board[1]}, reverse=True)
        (sums,) = rows(found, "tfoot")
        for side in (0, 1):
            assert sums[1 + 4 * side] == f"{sum(own.board[side].values()):,}"
            assert sums[3 + 4 * side] == f"{sum(own.canonical[side].values()):,}"


def test_tables_of_depths_and_records(site: Path, reports: list[TableReport]) -> None:
    for report in reports:
        page = parsed(site / f"tables/{report.material}.r.html")
        depths = rows(table(page, "depth-table"))
        for side in (0, 1):
            sums: Counter[int] = Counter()
            for counts in report.distribution.depths[side].values():
                sums.update(counts)
            shown = {
                int(depth): sum(int(cell.replace(",", "") or 0) for cell in cells[6 * side : 6 * side + 6])
                for depth, *cells in depths
            }
            assert {depth: count for depth, count in shown.items() if count} == sums
        assert rows(table(page, "record-table")) == [
            [str(record.value), plies(record.depth), f"{record.ties:,}", record.fen]
            for record in report.records
        ]


def numbers_in(thing: Any) -> Iterator[str]:
    """Yield all numbers and texts of a data object as pages write them."""
    if isinstance(thing, bool):
        return
    if isinstance(thing, int):
        yield f"{thing:,}"
    elif isinstance(thing, float):
        yield from (f"{thing:.2f}", share(thing).replace("\xa0", " "))
    elif isinstance(thing, GScore):
        yield str(thing)
    elif isinstance(thing, str):
        yield thing
    elif isinstance(thing, dict):
        for key, value in thing.items():
            yield from numbers_in(key)
            yield from numbers_in(value)
    elif isinstance(thing, tuple):
        for part in thing:
            yield from numbers_in(part)
    elif isinstance(thing, ReportPart):
        for name in thing.__struct_fields__:
            yield from numbers_in(getattr(thing, name))


def derived(report: TableReport) -> Iterator[float | int]:
    """Yield sums and shares that stand on a page and not in the objects."""
    own = report.distribution
    for side in (0, 1):
        yield report.endgame.sides[side].total
        yield from (own.share(side, value) for value in own.board[side])
        yield from (report.endgame.sides[side].share(value) for value in report.endgame.sides[side].quiet)
    if report.accrued is not None:
        for view in (report.accrued.board, report.accrued.canonical):
            for counts in (*view.white, *view.black):
                yield from (getattr(counts, name) / max(counts.states, 1) for name in ACCRUED)
    for kinds in own.depths:
        for depth in {depth for row in kinds.values() for depth in row}:
            for group in (lambda v: v.white and v.rank > 1, lambda v: not v.white and v.rank > 1):
                yield sum(row.get(depth, 0) for value, row in kinds.items() if group(value))


ACCRUED = ("survives", "improved", "worsened", "lost_by_reset", "lost", "fresh")


def test_every_number_in_a_table_is_in_the_data(site: Path, reports: list[TableReport]) -> None:
    for report in reports:
        known = {*numbers_in(report), "0", ""}
        known |= {form for number in derived(report) for form in numbers_in(number)}
        page = parsed(site / f"tables/{report.material}.r.html")
        cells = [words(cell) for cell in page.iter("td")]
        assert len(cells) > 50
        for cell in cells:
            for part in re.split(r" \(|\)| plies$| ply$", cell):
                assert part in known or part == "–", (report.material.name, cell)


def test_accrued_scores(site: Path, reports: list[TableReport]) -> None:
    for report in reports:
        assert report.accrued is not None
        page = parsed(site / f"tables/{report.material}.r.html")
        tables = [found for found in page.iter("table") if found.get("class") == "accrued"]
        for found, view in zip(tables, (report.accrued.board, report.accrued.canonical), strict=True):
            shown = [[cell.partition(" (")[0] for cell in row] for row in rows(found)]
            assert shown == [
                [
                    f"{to_move} to move, {holder}'s",
                    f"{counts.states:,}",
                    *(f"{getattr(counts, name):,}" for name in ACCRUED),
                ]
                for to_move, holders in zip(("White", "Black"), view, strict=True)
                for holder, counts in zip(("White", "Black"), holders, strict=True)
            ]


def test_the_table_of_materials(site: Path, reports: list[TableReport]) -> None:
    shown = rows(table(parsed(site / "index.html"), "materials"))
    assert [row[0] for row in shown] == [report.material.name for report in reports]
    for row, report in zip(shown, reports, strict=True):
        own = report.distribution
        assert row[1] == f"{own.positions[0].board + own.positions[1].board:,}"
        assert (row[2], row[6]) == (str(report.endgame.sides[0].mode), str(report.endgame.sides[1].mode))
        outcomes = own.outcomes(1)
        assert row[7] == part_of(outcomes.won, own.positions[1].board).replace("\xa0", " ")
        mates = [record.depth for record in report.records if record.value.rank == 0]
        assert row[10] == (str(max(mates)) if mates else "–")
        assert row[14] == str(max(record.depth for record in report.records))


def test_records_over_all_tables(site: Path, reports: list[TableReport]) -> None:
    expected = overall_records(record for report in reports for record in report.records)
    shown = rows(table(parsed(site / "records.html"), "records"))
    assert [row[:3] for row in shown] == [
        [str(record.g), plies(record.depth), f"{record.ties:,}"] for record in expected
    ]
    assert shown[0][3] == "KPvK (White)"
    lines = [words(line) for line in parsed(site / "records.html").iter("p") if line.get("class") == "line"]
    assert len(lines) == sum(len(record.holders) for record in expected if record.depth)
    longest = expected[0].holders[0]
    sans = [word for word in lines[0].split() if not re.fullmatch(r"\d+\.+|-?G[\d.]+", word)]
    assert sans == [point.san for point in longest.line]
    assert re.findall(r"-?G[\d.]+", lines[0]) == [str(point.accrued) for point in longest.line]


def test_mating_potential_has_materials_without_pawns(site: Path, reports: list[TableReport]) -> None:
    shown = rows(table(parsed(site / "mating.html"), "potential"))
    pawnless = [report for report in reports if not report.material.pawns]
    assert [row[0] for row in shown] == [report.material.name for report in pawnless]
    assert [row[6] for row in shown] == [str(report.mating.truth[0].verdict) for report in pawnless]


def test_plots(site: Path, reports: list[TableReport]) -> None:
    for report in reports:
        for kind in ("values", "depths", "king"):
            stem = site / f"tables/{report.material}.r.{kind}"
            png = Path(f"{stem}.png").read_bytes()
            assert png.startswith(b"\x89PNG")
            assert len(png) > 5000
            svg = Path(f"{stem}.svg").read_text()
            root = ElementTree.fromstring(svg)
            assert any(report.material.name in "".join(part.itertext()) for part in root.iter())
            assert "prefers-color-scheme" in svg
            assert not re.search(r"20\d\d-\d\d-\d\d", svg)


def test_diagrams_have_all_men(site: Path, reports: list[TableReport]) -> None:
    page = parsed(site / "tables/KRvK.r.html")
    boards = [
        board for board in page.iter("{http://www.w3.org/2000/svg}svg") if board.get("class") == "board"
    ]
    assert len(boards) >= sum(record.depth > 0 for record in reports[2].records)
    for board in boards:
        assert len(list(board)) == 1 + 3
        assert re.fullmatch(
            r"White: K[a-h][1-8], R[a-h][1-8]\. Black: K[a-h][1-8]\. (White|Black) to move\.",
            board.get("aria-label") or "",
        )


def test_data_beside_the_pages(site: Path, reports: list[TableReport]) -> None:
    for report in reports:
        stem = f"{site}/tables/{report.material}.r"
        assert json.loads(Path(f"{stem}.json").read_text()) == json.loads(json.dumps(report.plain()))
        for name, (titles, make) in CSV.items():
            with open(f"{stem}.{name}.csv", newline="") as file:
                first, *others = csv.reader(file)
            assert tuple(first) == ("material", "rules", *titles.split())
            assert others == [
                ["" if cell is None else str(cell) for cell in (report.material, report.variant, *row)]
                for row in make(report)
            ]
        games = Path(f"{stem}.pgn").read_text()
        assert games.count("[Event ") == sum(bool(record.pgn) for record in report.records)
    assert [entry["material"] for entry in json.loads((site / "index.json").read_text())] == [
        report.material.name for report in reports
    ]
    with open(site / "index.csv", newline="") as file:
        assert sum(1 for _ in csv.reader(file)) == 1 + sum(
            len(report.distribution.board[side]) for report in reports for side in (0, 1)
        )


def test_the_same_reports_give_the_same_bytes(
    site: Path, reports: list[TableReport], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, reports[:1])
    first = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    monkeypatch.setattr("tbgen.report.site.site.plots", plots)  # drawn anew
    write(tmp_path, reports[:1])
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == first
    for path, content in first.items():
        if path.parent.name == "tables":
            assert (site / path.relative_to(tmp_path)).read_bytes() == content


def test_texts_are_escaped(reports: list[TableReport], tmp_path: Path) -> None:
    evil = '<script>alert("&")</script>'
    record = next(record for record in reports[2].records if record.line)
    line = (LinePoint(evil, "a1a2", GScore(4, True), 1),)
    report = replace(
        reports[2],
        tbgen_version=evil,
        records=(replace(record, line=line, pgn=evil),),
        endgame=replace(reports[2].endgame, sentence=evil),
    )
    write(tmp_path, [report])
    for path in tmp_path.rglob("*.html"):
        page = path.read_text()
        html5lib.HTMLParser(strict=True).parse(page)
        assert "<script>" not in page
    assert (tmp_path / "tables/KRvK.r.html").read_text().count("&lt;script&gt;") == 4


def test_missing_lines_and_accrued_scores_are_said(reports: list[TableReport], tmp_path: Path) -> None:
    records = tuple(replace(record, line=(), pgn="", verified=False) for record in reports[2].records)
    write(tmp_path, [replace(reports[2], records=records, accrued=None)])
    page = (tmp_path / "tables/KRvK.r.html").read_text()
    html5lib.HTMLParser(strict=True).parse(page)
    assert "The line is left out: a table that it leads to was not there" in page
    assert "built without them, or it is packed, and they were not counted" in page
    assert not (tmp_path / "tables/KRvK.r.pgn").exists()


def test_a_full_disk_leaves_what_was_there(
    reports: list[TableReport], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = Site(tmp_path, "0.1.0")
    site.write_style()
    before = (tmp_path / "style.css").read_bytes()
    real = Path.write_bytes

    def full(path: Path, content: bytes) -> int:
        real(path, content[:100])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(TbgenError, match=r"the disk is full: .*style.css was not written; make room"):
        site.write_style()
    with pytest.raises(TbgenError, match="the disk is full"):
        site.write_table(reports[0])
    names = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    assert names == {"boards.js", "scheme.js", "style.css"}
    assert (tmp_path / "style.css").read_bytes() == before


def test_the_footer_says_what_scores_mean(site: Path) -> None:
    """With and without check, as the number of a score is made."""
    footer = " ".join(parsed(site / "index.html").find(".//footer").itertext())  # type: ignore[union-attr]
    assert (
        "G0.0 is mate, G0.5 stalemate, G1.0 one legal move in check, G1.5 one not in check. White's" in footer
    )
