"""A report under /report/, whose diagrams link to the page."""

import os
import re
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import html5lib
import pytest
from starlette.testclient import TestClient

from tbgen.cli.main import main
from tbgen.html.diagrams import diagram, sprites, with_links
from tbgen.web.app import make_app
from tbgen.web.configuration import Settings

KBK = "8/8/8/4KBk1/8/8/8/8 b - - 0 1"


def page_with(*diagrams: str) -> bytes:
    head = '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>x</title></head>'
    return f"{head}<body>{sprites()}{''.join(diagrams)}</body></html>".encode()


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "tables").mkdir()
    (tmp_path / "index.html").write_bytes(page_with(diagram(KBK)))
    (tmp_path / "tables" / "KBvK.wg.html").write_bytes(page_with(diagram(KBK, "wg"), diagram(KBK, "r")))
    (tmp_path / "style.css").write_text("a { color: red }")
    (tmp_path / ".secret.html").write_text("secret")
    (tmp_path / "out.html").symlink_to("/etc/passwd")
    (tmp_path / "tables" / "loop.html").symlink_to("loop.html")
    os.mkfifo(tmp_path / "pipe.html")
    return tmp_path


@pytest.fixture
def served(site: Path) -> TestClient:
    return TestClient(make_app(Settings((site,), report_directory=site, limit=0)))


def links(page: str) -> list[ElementTree.Element]:
    root = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(page)
    return [link for link in root.iter("a") if link.get("class") == "explore"]


def test_diagrams_are_links_to_the_page(served: TestClient) -> None:
    for address, expected in (
        ("/report/", ["../?fen=8/8/8/4KBk1/8/8/8/8_b_-_-_0_1"]),
        ("/report/index.html", ["../?fen=8/8/8/4KBk1/8/8/8/8_b_-_-_0_1"]),
        (
            "/report/tables/KBvK.wg.html",
            [f"../../?fen=8/8/8/4KBk1/8/8/8/8_b_-_-_0_1{more}" for more in ("&rules=wg", "")],
        ),
    ):
        answer = served.get(address)
        assert answer.status_code == 200
        found = links(answer.text)
        assert [unescape(link.get("href") or "") for link in found] == expected
        assert all(link[0].get("aria-label") for link in found)
        plays = [each.replace("?", "play.html?") for each in expected if "rules" not in each]
        assert [each for each in re.findall(r'href="([^"]+)"', answer.text) if "play" in each] == plays
        assert "script-src 'self';" in answer.headers["content-security-policy"]
        assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_the_files_themselves_have_no_links(site: Path) -> None:
    assert links((site / "index.html").read_text()) == []
    assert with_links("<p>no diagrams</p>", "../") == "<p>no diagrams</p>"
    once = with_links(page_with(diagram(KBK)).decode(), "https://example.org/")
    assert with_links(once, "../") == once


def test_pictures_of_previews_have_the_address_of_the_server(served: TestClient, site: Path) -> None:
    """Pictures get the server's address if the report has none of its own."""
    tag = '<meta property="og:image" content="{}">'
    for name, picture, expected in (
        ("index.html", "fact-1.png", "http://testserver/report/fact-1.png"),
        ("tables/KBvK.r.html", "../tables/KBvK.r.png", "http://testserver/report/tables/KBvK.r.png"),
        ("tables/KBvK.wg.html", "https://example.org/x.png", "https://example.org/x.png"),
    ):
        (site / name).write_text(tag.format(picture))
        assert served.get(f"/report/{name}").text == tag.format(expected)


def test_other_files(served: TestClient) -> None:
    assert served.get("/report/style.css").headers["content-type"].startswith("text/css")
    to = served.get("/report", follow_redirects=False)
    assert (to.status_code, to.headers["location"]) == (308, "report/index.html")
    assert 'data-report=""' in served.get("/").text
    assert served.get("/play.html").text == served.get("/play").text


def test_what_is_not_part_of_a_report(served: TestClient) -> None:
    for name in (
        *("missing.html", ".secret.html", "tables/", "..%2f..%2fetc%2fpasswd"),
        *("%00.html", "x.py", "out.html", "tables/loop.html", "pipe.html"),
    ):
        answer = served.get(f"/report/{name}")
        assert answer.status_code == 404, name
        assert "secret" not in answer.text
        assert "root:" not in answer.text


def test_a_directory_without_a_report(
    three_men: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", "--dir", str(three_men), "--report", str(tmp_path)]) == 2
    assert "there is no report in" in capsys.readouterr().err
