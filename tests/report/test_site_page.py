"""Pages of a report in a browser: boards that step through lines, and the search."""

import re
from pathlib import Path

import chess
import pytest
from playwright.sync_api import Browser, Locator, expect

from tbgen.report.mating import mating_rule
from tbgen.report.model import Record, TableReport
from tbgen.report.wording import line_steps
from tests.support.browsing import SHIFTS, Visit
from tests.support.exhaustive import sample

pytestmark = pytest.mark.slow
MEN = """board => [...board.querySelectorAll("use")].slice(1).map(use => [
    use.getAttribute("href").slice(1),
    (use.getAttribute("x") - 15) / 45,
    7 - (use.getAttribute("y") - 15) / 45,
])"""


def men_on(figure: Locator) -> dict[chess.Square, chess.Piece]:
    """Return the men on a board."""
    found = {}
    for name, file, rank in figure.locator("svg.board").evaluate(MEN):
        colour, kind = name.split("-")
        piece = chess.Piece(chess.PIECE_NAMES.index(kind), colour == "white")
        found[chess.square(int(file), int(rank))] = piece
    return found


def test_boards_step_through_their_lines(browser: Browser, site: Path, shown: list[TableReport]) -> None:
    """Boards agree with python-chess ply by ply, including promotions."""
    visit = Visit(browser, site.as_uri(), "tables/KPvK.r.html")
    lines = [record for record in shown[2].records if record.line]
    promoting = [record for record in lines if any(len(point.uci) == 5 for point in record.line)]
    promoting.sort(key=lambda record: record.depth)
    for record in promoting[: sample(1, 0)] or lines:
        figure = visit.page.locator(f'[id="record-KPvK-r-{record.value}"]')
        forward, board = figure.get_by_role("button", name="Forward"), chess.Board(record.fen)
        assert men_on(figure) == board.piece_map()
        expect(figure.get_by_role("button", name="Back")).to_be_disabled()
        for point in record.line:
            forward.click()
            board.push_uci(point.uci)
            assert men_on(figure) == board.piece_map()
            said = re.compile(rf"{re.escape(point.san)} {point.accrued}$")
            expect(figure.locator(".ply")).to_have_text(said)
        expect(forward).to_be_disabled()
        figure.get_by_role("button", name="Start").click()
        assert men_on(figure) == chess.Board(record.fen).piece_map()
        figure.get_by_role("button", name="End").click()
        assert men_on(figure) == board.piece_map()
    visit.close()


def strangeness(record: Record) -> tuple[bool, int]:
    leader = mating_rule(record.material).leader
    behind = leader is not None and (leader == "black") == record.value.white
    return behind and record.value.rank > 0, record.depth


def test_the_first_page_plays_a_line_and_finds_materials(
    browser: Browser, site: Path, shown: list[TableReport]
) -> None:
    """The first line plays by itself, unless the visitor prefers reduced motion, and can be stopped.

    Its buttons come late, but nothing moves.

    Facts have pictures. A material is found by its name, with colours exchanged, or by some of its men; Enter
    opens the first one.
    """
    lines = [record for report in shown for record in report.records if record.line]
    longest = max(strangeness(record) for record in lines)
    visit = Visit(browser, site.as_uri(), "index.html", SHIFTS, reduced_motion="no-preference")
    page, hero = visit.page, visit.page.locator(".hero figure")
    expect(hero.locator(".ply")).not_to_have_text("")
    assert visit.shift() < 0.01
    hero.get_by_role("button", name="Pause").click()
    expect(hero.get_by_role("button", name="Play")).to_be_visible()
    page.emulate_media(reduced_motion="reduce")
    page.reload()
    expect(hero.get_by_role("button", name="Play")).to_be_visible()
    strange = [line_steps(record) for record in lines if strangeness(record) == longest]
    assert hero.get_attribute("data-line") in strange
    hero.get_by_role("button", name="Forward").click()
    expect(hero.get_by_role("button", name="Back")).to_be_enabled()
    links = page.locator(".fact a")
    addresses = links.evaluate_all("links => links.map(link => link.getAttribute('href'))")
    pictures = [name for name in addresses if name.endswith(".png")]
    assert pictures == [f"fact-{number}.png" for number in range(1, len(pictures) + 1)]
    assert pictures
    field, rows = page.locator("#material"), page.locator("table.materials tbody tr:visible th")
    for typed, names in (("kkr", ["KRvK"]), ("p", ["KPvK"]), ("KNNvK", []), ("", ["KvK", "KRvK", "KPvK"])):
        field.fill(typed)
        expect(rows).to_have_text(names) if names else expect(rows).to_have_count(0)
    field.fill("KRvK")
    field.press("Enter")
    expect(page).to_have_url(f"{site.as_uri()}/tables/KRvK.r.html")
    page.go_back()
    links.first.click()
    expect(page.locator(":target")).to_be_visible()
    visit.close()
