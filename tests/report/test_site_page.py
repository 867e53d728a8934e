"""Pages of a report in a browser: boards that step through lines, and the search."""

import re
from collections.abc import Iterator
from pathlib import Path

import chess
import pytest
from playwright.sync_api import Browser, Locator, expect

from tbgen.board.material import all_materials
from tbgen.report.facts.mating_rule import mating_rule
from tbgen.report.model import Record, TableReport
from tests.report.test_site import write
from tests.support.browsing import Visit, launched
from tests.support.reports import report_with_lines

pytestmark = pytest.mark.slow
MEN = """board => [...board.querySelectorAll("use")].slice(1).map(use => [
    use.getAttribute("href").slice(1),
    (use.getAttribute("x") - 15) / 45,
    7 - (use.getAttribute("y") - 15) / 45,
])"""


@pytest.fixture(scope="module")
def reports(three_men: Path) -> list[TableReport]:
    return [report_with_lines(three_men, material.name) for material in all_materials(3)]


@pytest.fixture(scope="module")
def address(reports: list[TableReport], tmp_path_factory: pytest.TempPathFactory) -> str:
    """Of the site, which needs no server."""
    return write(tmp_path_factory.mktemp("site"), reports).as_uri()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as found:
        yield found


def men_on(figure: Locator) -> dict[chess.Square, chess.Piece]:
    """What stands on a board."""
    found = {}
    for name, file, rank in figure.locator("svg.board").evaluate(MEN):
        colour, kind = name.split("-")
        piece = chess.Piece(chess.PIECE_NAMES.index(kind), colour == "white")
        found[chess.square(int(file), int(rank))] = piece
    return found


def test_boards_step_through_their_lines(browser: Browser, address: str, reports: list[TableReport]) -> None:
    """Ply by ply as python-chess has it, promotions too."""
    visit = Visit(browser, address, "tables/KPvK.r.html")
    promotions = 0
    for record in next(report for report in reports if report.material.name == "KPvK").records:
        if not record.line:
            continue
        figure = visit.page.locator(f'[id="record-KPvK-r-{record.value}"]')
        forward, board = figure.get_by_role("button", name="Forward"), chess.Board(record.fen)
        assert men_on(figure) == board.piece_map()
        expect(figure.get_by_role("button", name="Back")).to_be_disabled()
        for point in record.line:
            forward.click()
            board.push_uci(point.uci)
            promotions += len(point.uci) == 5
            assert men_on(figure) == board.piece_map()
            expect(figure.locator(".ply")).to_have_text(
                re.compile(rf"{re.escape(point.san)} {point.accrued}$")
            )
        expect(forward).to_be_disabled()
        figure.get_by_role("button", name="Start").click()
        assert men_on(figure) == chess.Board(record.fen).piece_map()
        figure.get_by_role("button", name="End").click()
        assert men_on(figure) == board.piece_map()
    assert promotions > 0
    visit.close()
    assert visit.wrong == []


def strangeness(record: Record) -> tuple[bool, int]:
    leader = mating_rule(record.material).leader
    behind = leader is not None and (leader == "black") == record.value.white
    return behind and record.value.rank > 0, record.depth


def test_the_first_page_plays_a_line(browser: Browser, address: str, reports: list[TableReport]) -> None:
    """By itself, but where little motion is wanted; it can be stopped."""
    lines = [record for report in reports for record in report.records if record.line]
    longest = max(strangeness(record) for record in lines)
    still = Visit(browser, address, "index.html")
    hero = still.page.locator(".hero figure")
    expect(hero.get_by_role("button", name="Play")).to_be_visible()
    shown = [move.split("|")[0] for move in (hero.get_attribute("data-line") or "").split()]
    assert shown in [
        [point.uci for point in record.line] for record in lines if strangeness(record) == longest
    ]
    hero.get_by_role("button", name="Forward").click()
    expect(hero.get_by_role("button", name="Back")).to_be_enabled()
    still.close()
    moving = Visit(browser, address, "index.html", reduced_motion="no-preference")
    hero = moving.page.locator(".hero figure")
    expect(hero.locator(".ply")).not_to_have_text("")
    hero.get_by_role("button", name="Pause").click()
    expect(hero.get_by_role("button", name="Play")).to_be_visible()
    moving.close()
    assert still.wrong + moving.wrong == []


def test_facts_have_pictures(browser: Browser, address: str) -> None:
    visit = Visit(browser, address, "index.html")
    links = visit.page.locator(".fact a")
    addresses = links.evaluate_all("links => links.map(link => link.getAttribute('href'))")
    pictures = [name for name in addresses if name.endswith(".png")]
    assert pictures == [f"fact-{number}.png" for number in range(1, len(pictures) + 1)]
    assert pictures
    links.first.click()
    expect(visit.page.locator(":target")).to_be_visible()
    visit.close()


def test_a_material_is_found(browser: Browser, address: str) -> None:
    """By its name, the other way round, or by some of its men; Enter opens the first one."""
    visit = Visit(browser, address, "index.html")
    field, rows = visit.page.locator("#material"), visit.page.locator("table.materials tbody tr:visible th")
    for typed, names in (("kvkr", ["KRvK"]), ("p", ["KPvK"]), ("KNNvK", []), ("", None)):
        field.fill(typed)
        expect(rows).to_have_text(names) if names else expect(rows).to_have_count(0 if names == [] else 6)
    field.fill("KBvK")
    field.press("Enter")
    expect(visit.page).to_have_url(f"{address}/tables/KBvK.r.html")
    visit.close()
    assert visit.wrong == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_looks(width: int, scheme: str, browser: Browser, address: str) -> None:
    """Nothing is wider than the screen, nor serious for people with disabilities."""
    visit = Visit(
        browser, address, "index.html", color_scheme=scheme, viewport={"width": width, "height": 844}
    )
    for name in ("index", "records", "tables/KPvK.r"):
        visit.page.goto(f"{address}/{name}.html")
        visit.page.locator(".steps").first.wait_for()
        assert not visit.too_wide()
        if width > 1000 or name == "index":  # colours and names do not depend on the width
            assert visit.violations() == []
    visit.close()
