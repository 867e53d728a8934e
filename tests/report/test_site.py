"""Reports as static sites: valid, self-contained pages that agree with the data."""

import csv
import errno
import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import html5lib
import pytest
from msgspec.structs import replace
from PIL import Image

from tbgen.board.score import GScore
from tbgen.errors import TbgenError
from tbgen.report.data import CSV
from tbgen.report.model import LinePoint, TableReport
from tbgen.report.plots import draw_plots
from tbgen.report.site import Site
from tests.support.commands import printed
from tests.support.reports import parsed, words, write_site

Element = ElementTree.Element
SVG = "{http://www.w3.org/2000/svg}svg"
PARTS = ("thead", "tbody", "tfoot")


def rows(table: Element, part: str) -> list[list[str]]:
    return [[words(cell) for cell in row if cell.tag in ("th", "td")] for row in table.findall(f"{part}/tr")]


def page_of(site: Path, report: TableReport) -> Element:
    return parsed(site / f"tables/{report.material}.r.html")


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


def test_pages_are_valid(site: Path, shown: list[TableReport]) -> None:
    """Scrolling elements have names and scroll by keyboard; scores are explained before the first one."""
    pages = sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html"))
    overview = ["index", "records", "endgames", "mating"]
    expected = [*overview, *(f"tables/{report.material}.r" for report in shown)]
    assert pages == sorted(f"{name}.html" for name in expected)
    for name in pages:
        page = parsed(site / name)
        assert (site / name).read_text().startswith('<!DOCTYPE html>\n<html lang="en">')
        assert len(list(page.iter("h1"))) == 1
        assert words(next(page.iter("title")))
        assert set(ids(site / name).values()) == {1}
        assert {cell.get("scope") for cell in page.iter("th")} <= {"col", "row", "colgroup"}
        assert all(image.get("alt") for image in page.iter("img"))
        assert all(board.get("aria-label") or board.get("aria-hidden") for board in page.iter(SVG))
        boxes = [box for box in page.iter("div") if box.get("class") == "wide"]
        assert len(boxes) == sum(1 for _ in page.iter("table"))
        assert all((box.get("tabindex"), box.get("role")) == ("0", "region") for box in boxes)
        assert len({box.get("aria-label") for box in boxes} - {None, ""}) == len(boxes)
        drawn = [box for box in page.iter("figure") if box.get("class") == "plot"]
        assert all(box.get("tabindex") == "0" for box in drawn)
        before, *_ = re.split(r"\bG\d", words(page.find(".//main/..")))  # type: ignore[arg-type]
        assert before.rstrip().endswith("fewer moves wins.")
    footer = words(parsed(site / "index.html").find(".//footer"))  # type: ignore[arg-type]
    assert re.search(r"G0\.0 .*mate.* G0\.5 .*stalemate.* G1\.0 .*in check.* G1\.5 .*not in check", footer)


def test_every_file_is_linked_and_nothing_comes_from_elsewhere(site: Path) -> None:
    linked = set[Path]()
    for path in site.rglob("*.html"):
        for reference in references(parsed(path)):
            if reference == "data:,":  # no icon
                continue
            name, _, fragment = reference.partition("#")
            assert not re.match(r"[a-z]+:|//|/", name), reference
            target = path.parent / unquote(name) if name else path
            assert target.is_file(), reference
            assert site in target.resolve().parents
            linked.add(target.resolve())
            if fragment and target.suffix == ".html":
                assert fragment in ids(target), reference
        scripts = re.findall(r"<script[^>]*>", path.read_text())
        top = "../" * (path.parent != site)
        assert scripts == [f'<script src="{top}scheme.js">', f'<script src="{top}boards.js" defer>']
        assert not re.search(r"url\(|@import", path.read_text())
    assert not re.search(r"url\(|@import|http", (site / "style.css").read_text())
    assert {path.resolve() for path in site.rglob("*") if path.is_file()} == linked


def test_tables_and_lines_of_all_pages(site: Path) -> None:
    """The numbers are those that the tests of counts have counted again."""
    texts = list[str]()
    for path in sorted(site.rglob("*.html")):
        texts.append(f"# {path.relative_to(site).as_posix()}")
        for element in parsed(path).iter():
            if element.tag == "table":
                texts += ["", *(" | ".join(cells) for part in PARTS for cells in rows(element, part))]
            elif element.get("class") == "line":
                texts.append(words(element))
    printed("transcripts/report_pages", "\n".join(texts) + "\n")


def test_plots_and_diagrams(site: Path, shown: list[TableReport]) -> None:
    rook = shown[1]
    for kind in ("values", "depths", "king"):
        stem = site / f"tables/KRvK.r.{kind}"
        png = Path(f"{stem}.png").read_bytes()
        assert png.startswith(b"\x89PNG")
        assert len(png) > 5000
        svg = Path(f"{stem}.svg").read_text()
        assert any("KRvK" in "".join(part.itertext()) for part in ElementTree.fromstring(svg).iter())
        assert "prefers-color-scheme" in svg
        assert not re.search(r"20\d\d-\d\d-\d\d", svg)
    again = next(iter(draw_plots("KRvK by r-mobility", rook)))
    assert again == ("values.svg", (site / "tables/KRvK.r.values.svg").read_bytes())
    boards = [board for board in page_of(site, rook).iter(SVG) if board.get("class") == "board"]
    assert len(boards) >= sum(record.depth > 0 for record in rook.records)
    label = r"White: K[a-h][1-8], R[a-h][1-8]\. Black: K[a-h][1-8]\. (White|Black) to move\."
    for board in boards:
        assert len(list(board)) == 1 + 3
        assert re.fullmatch(label, board.get("aria-label") or "")


def test_data_beside_the_pages(site: Path, shown: list[TableReport]) -> None:
    for report in shown:
        stem = f"{site}/tables/{report.material}.r"
        assert json.loads(Path(f"{stem}.json").read_text()) == json.loads(json.dumps(report.builtins()))
        for name, made in CSV.items():
            with open(f"{stem}.{name}.csv", newline="") as file:
                titles, *others = csv.reader(file)
            cells = [[row[title] for title in titles] for row in made.rows(report)]
            assert others == [["" if cell is None else str(cell) for cell in row] for row in cells]
        games = Path(f"{stem}.pgn").read_text()
        assert games.count("[Event ") == sum(bool(record.pgn) for record in report.records)
    listed = [entry["material"] for entry in json.loads((site / "index.json").read_text())]
    assert listed == [report.material.name for report in shown]
    values = sum(len(report.distribution.board[side]) for report in shown for side in (0, 1))
    with open(site / "index.csv", newline="") as file:
        assert sum(1 for _ in csv.reader(file)) == 1 + values


def test_previews_links_to_an_explorer_and_equal_data(
    site: Path, shown: list[TableReport], tmp_path: Path
) -> None:
    """Each page has a description and a picture; with addresses, full ones, and links of all diagrams.

    The same reports give the same data, byte by byte.
    """

    def said(path: Path) -> dict[str, str]:
        metas = [(each.get("property"), each.get("content") or "") for each in parsed(path).iter("meta")]
        return {name: content for name, content in metas if name}

    place = "https://example.org/report"
    new = write_site(tmp_path / "new" / "site", shown, explorer="../", address=place)
    for path in site.rglob("*"):
        if path.suffix in (".json", ".csv", ".pgn"):
            assert (new / path.relative_to(site)).read_bytes() == path.read_bytes(), path
    for path in sorted(site.rglob("*.html")):
        name = path.relative_to(site)
        plain, linked = said(path), said(new / name)
        assert plain["og:title"] == words(next(parsed(path).iter("title")))
        assert len(plain["og:description"]) > 20
        assert "og:url" not in plain
        assert linked["og:url"] == f"{place}/{name.as_posix()}"
        if name.name != "KvK.r.html":  # KvK has no line
            assert linked["og:image"] == f"{place}/{plain['og:image'].removeprefix('../')}"
            with Image.open(new / linked["og:image"].removeprefix(f"{place}/")) as picture:
                assert picture.size == tuple(int(plain[f"og:image:{size}"]) for size in ("width", "height"))
        page = parsed(new / name)
        explore = [link.get("href") or "" for link in page.iter("a") if link.get("class") == "explore"]
        boards = [board.get("data-query") for board in page.iter(SVG) if board.get("data-query")]
        top = "../" * len(name.parts)
        assert explore == [f"{top}?{query}" for query in boards]
        lines = [
            [link.get("href") for link in each] for each in page.iter("p") if each.get("class") == "open"
        ]
        assert lines == [
            [f"{top}?{query}", *([f"{top}play.html?{query}"] if query and "rules=" not in query else [])]
            for query in boards
        ]
        if boards:
            assert words(next(page.iter("li"))) == "Explorer"
            assert next(page.iter("a")).get("href") == top
    assert said(site / "tables" / "KRvK.r.html")["og:description"] == shown[1].highlights[0]


def test_texts_are_escaped_and_what_is_missing_is_said(shown: list[TableReport], tmp_path: Path) -> None:
    evil = '<script>alert("&")</script>'
    record = next(record for record in shown[1].records if record.line)
    line = (LinePoint(evil, "a1a2", GScore(4, True), 1),)
    report = replace(
        shown[1],
        tbgen_version=evil,
        records=(replace(record, line=line, pgn=evil),),
        endgame=replace(shown[1].endgame, sentence=evil),
    )
    write_site(tmp_path / "evil", [report])
    for path in (tmp_path / "evil").rglob("*.html"):
        page = path.read_text()
        html5lib.HTMLParser(strict=True).parse(page)
        assert "<script>" not in page
    assert (tmp_path / "evil/tables/KRvK.r.html").read_text().count("&lt;script&gt;") == 4
    records = tuple(replace(record, line=(), pgn="", verified=False) for record in shown[1].records)
    write_site(tmp_path / "less", [replace(shown[1], records=records, accrued=None)])
    page = (tmp_path / "less/tables/KRvK.r.html").read_text()
    html5lib.HTMLParser(strict=True).parse(page)
    assert "The line is left out: it needs a missing table" in page
    assert "built without them, or it is packed" in page
    assert not (tmp_path / "less/tables/KRvK.r.pgn").exists()


def test_a_full_disk_leaves_what_was_there(
    shown: list[TableReport], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = Site(tmp_path, "0.1.0")
    site.write_style()
    before = (tmp_path / "style.css").read_bytes()
    real = Path.write_bytes

    def full(path: Path, content: bytes) -> int:
        real(path, content[:100])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(TbgenError, match=r"the disk is full: .*style.css was not written; free some space"):
        site.write_style()
    with pytest.raises(TbgenError, match="the disk is full"):
        site.write_table(shown[0])
    names = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    assert names == {"boards.js", "scheme.js", "style.css"}
    assert (tmp_path / "style.css").read_bytes() == before
