"""The page of standings: what comes first, and how a browser, a phone and a keyboard get on with it."""

from base64 import b64decode
from collections.abc import Iterator
from functools import cache
from itertools import permutations
from pathlib import Path
from typing import Literal

import html5lib
import pytest
from playwright.sync_api import Browser, ViewportSize

from tbgen.games.standings import Standings, standings
from tbgen.games.standings.page import page
from tbgen.games.standings.plots import plots
from tbgen.games.standings.tables import KEYS, overview, tables
from tests.support.browsing import PHONE, Visit, launched
from tests.support.tournaments import game

SCREEN: ViewportSize = {"width": 1300, "height": 900}


@pytest.fixture(autouse=True)
def _one_histogram(monkeypatch: pytest.MonkeyPatch) -> None:
    """They take long to draw."""
    monkeypatch.setattr("tbgen.games.standings.plots._MOST_HISTOGRAMS", 1)


@cache
def played() -> Standings:
    """Twelve players who have met four times."""
    names = [f"Engine v0.7_dev2-net_15.0-{number:02}" for number in range(12)]
    values = ("G0.0", "G1.5", "-G3.5", "G12.5", "-G0.0")
    games = [game(*pair, values[number % 5]) for number, pair in enumerate(2 * list(permutations(names, 2)))]
    return standings(games, order="tcec")


def made(keys: set[str]) -> str:
    """The page of these players."""
    return page(played(), list(tables(played(), keys)), "Twelve players", plots(played()))


def test_standings_come_first_then_crosstables_then_plots() -> None:
    root = html5lib.parse(made(overview(played())), namespaceHTMLElements=False)
    parts = [part for part in root.iter() if part.tag in ("h2", "table", "img")]
    assert [part.get("class") or part.text or part.tag for part in parts][:9] == [
        *("Standings", "standings", "Crosstable", "crosstable", "Crosstable of points", "crosspoints"),
        *("Points and Elo", "img", "img"),
    ]
    rows = next(table for table in root.iter("table") if table.get("class") == "crosstable").iter("tr")
    cells = [["".join(cell.itertext()).strip() for cell in row] for row in rows]
    assert cells[0] == ["#", "player", "sum", *map(str, range(1, 13))]
    assert [len(cell) for cell in cells[1][3:]] == [0] + [4] * 11
    assert cells[1][3] == ""


def test_plots_have_whole_names_and_the_points_that_the_order_goes_by() -> None:
    games = [game("iCE 4.0.853", "Minic 2.17", value) for value in ("G1.5", "G0.0")]
    for order, share in (("tcec", "75.0%"), ("points", "78.1%")):
        result = standings(games, order=order)
        root = html5lib.parse(page(result, list(tables(result, {"standings"})), "Two players", plots(result)))
        image = next(part for part in root.iter() if part.tag.endswith("}img"))
        found = b64decode(image.get("src", "").partition(",")[2]).decode()
        assert ">iCE 4.0.853<" in found
        assert f">{share}<" in found


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as found:
        yield found


@pytest.mark.exhaustive
@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_it_suits_screens_phones_and_keyboards(
    browser: Browser, tmp_path: Path, scheme: Literal["light", "dark"]
) -> None:
    (tmp_path / "page.html").write_text(made(set(KEYS)))
    visit = Visit(browser, f"file://{tmp_path}", "page.html", color_scheme=scheme)
    page = visit.page
    assert visit.violations() == []
    for size in (SCREEN, PHONE):
        page.set_viewport_size(size)
        assert not visit.too_wide()
        boxes = {
            str(box.get_attribute("aria-label")): box.evaluate("box => box.scrollWidth - box.clientWidth")
            for box in page.get_by_role("region").all()
        }
        assert {"Standings", "Crosstable", "Crosstable of points", "Games"} <= boxes.keys()
        for name in ("Standings", "Crosstable", "Crosstable of points"):
            assert (boxes[name] > 0) == (size is PHONE)
    box = page.get_by_role("region", name="Standings")
    box.focus()
    visit.press(*["ArrowRight"] * 20)
    page.wait_for_function("document.activeElement.scrollLeft > 100")
    place = box.locator("tbody th").first.bounding_box()
    assert place is not None
    assert 0 <= place["x"] < 30  # it stays where its row is looked at
    box = page.get_by_role("region", name="Crosstable", exact=True)
    box.evaluate("box => { box.scrollLeft = 200 }")
    cells = [box.locator(f"tbody tr:first-child > :nth-child({at})").bounding_box() for at in (1, 2)]
    edges = [cell["x"] for cell in cells if cell is not None]
    assert 0 <= edges[0] < edges[1] < 60  # so do the numbers that its columns have, too
    assert box.evaluate("box => box.scrollLeft") > 100
    page.emulate_media(media="print")
    hidden = "boxes => boxes.filter(box => getComputedStyle(box).overflowX != 'visible').length"
    assert page.locator(".wide, figure.plot").evaluate_all(hidden) == 0  # paper does not scroll
    visit.close()
