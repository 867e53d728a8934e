"""What previews of links to a report show, and its links to an explorer."""

from pathlib import Path

from PIL import Image

from tests.report.test_site import parsed, words, write
from tests.support.reports import report_with_lines

SVG = "{http://www.w3.org/2000/svg}svg"


def test_previews_and_links_to_an_explorer(three_men: Path, tmp_path: Path) -> None:
    """Each page says what it is, with a picture; with addresses, the whole ones and links of all diagrams."""
    reports = [report_with_lines(three_men, name) for name in ("KvK", "KBvK", "KPvK")]

    def said(path: Path) -> dict[str, str]:
        metas = [(each.get("property"), each.get("content") or "") for each in parsed(path).iter("meta")]
        return {name: content for name, content in metas if name}

    write(tmp_path / "plain", reports)
    place = "https://example.org/report"
    write(tmp_path / "linked", reports, explorer="../", address=place)
    for path in sorted((tmp_path / "plain").rglob("*.html")):
        name = path.relative_to(tmp_path / "plain")
        plain, linked = said(path), said(tmp_path / "linked" / name)
        assert plain["og:title"] == words(next(parsed(path).iter("title")))
        assert len(plain["og:description"]) > 20
        assert "og:url" not in plain
        assert linked["og:url"] == f"{place}/{name.as_posix()}"
        if name.name != "KvK.r.html":  # which has no line
            assert linked["og:image"] == f"{place}/{plain['og:image'].removeprefix('../')}"
            with Image.open(tmp_path / "linked" / linked["og:image"].removeprefix(f"{place}/")) as picture:
                assert picture.size == tuple(int(plain[f"og:image:{size}"]) for size in ("width", "height"))
        page = parsed(tmp_path / "linked" / name)
        explore = [link.get("href") or "" for link in page.iter("a") if link.get("class") == "explore"]
        boards = [board.get("data-query") for board in page.iter(SVG) if board.get("data-query")]
        top = "../" * len(name.parts)
        assert explore == [f"{top}?{query}" for query in boards]
        if boards:
            assert words(next(page.iter("li"))) == "Explorer"
            assert next(page.iter("a")).get("href") == top
    assert said(tmp_path / "plain" / "tables" / "KBvK.r.html")["og:description"] == (
        next(report.highlights[0] for report in reports if report.material.name == "KBvK")
    )
