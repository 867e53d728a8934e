"""What a visitor meets at the first look, on the page of a server."""

import re
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Response, expect

from tests.support.browsing import Visit
from tests.support.serving import serving

pytestmark = pytest.mark.slow
WON_BY_BLACK = "?fen=8/8/8/4kbK1/8/8/8/8_w_-_-_0_1"
DRAWN = "getComputedStyle(each, '::after')"
"""The style of what is drawn after an element."""


def test_the_guide_leads_back(browser: Browser, address: str) -> None:
    """To where the visitor was, however he came to it; to the usual position where there was nothing."""
    visit = Visit(browser, address, WON_BY_BLACK)
    page, value = visit.page, visit.page.locator("#value")
    label = page.locator("#guide-label")
    expect(value).to_have_text("-G1.5")
    page.locator("#guide-link").click()
    expect(label).to_have_text("1 of 5: Mate")
    page.locator("#guide-on").click()
    expect(label).to_have_text("2 of 5: Stalemate")
    page.reload()
    expect(label).to_have_text("2 of 5: Stalemate")
    page.locator("#guide-close").click()
    expect(value).to_have_text("-G1.5")
    assert visit.asked()["fen"] == "8/8/8/4kbK1/8/8/8/8 w - - 0 1"
    page.evaluate("location.hash = 'how=3'")
    expect(label).to_have_text("3 of 5: One move, in check")
    page.reload()
    expect(label).to_have_text("3 of 5: One move, in check")
    page.locator("#guide-close").click()
    expect(label).to_be_hidden()
    assert visit.asked()["fen"] == "8/8/8/4kbK1/8/8/8/8 w - - 0 1"
    page.goto(f"{address}/puzzles")
    page.get_by_role("link", name="How it works").click()
    expect(label).to_have_text("1 of 5: Mate")
    page.locator("#guide-close").click()
    expect(value).to_have_text("G1.5")
    visit.close()
    assert visit.wrong == []


def test_a_wrong_move_of_a_lesson_says_what_still_counts(browser: Browser, address: str) -> None:
    visit = Visit(browser, address, "#how=4")
    text = visit.page.locator("#guide-text")
    expect(text).to_contain_text("Do the same to Black.")
    visit.page.locator("#moves [data-uci=e1d2]").wait_for(state="attached")
    visit.drag("e1", "d2")
    expect(text).to_have_text(
        re.compile(r"^Not Bd2\. Black has \w+ legal moves, G\d+\.5: -G1\.0 still counts\.$")
    )
    visit.close()
    assert visit.wrong == []


def test_a_wrong_move_is_told_of_without_a_table(browser: Browser, tables: Path, tmp_path: Path) -> None:
    """By what every position has; where there is no answer at all, the task stays."""
    shutil.copy(tables / "KvK.r.h5", tmp_path)
    with serving(tmp_path, "--limit", "0") as (_, host, port):
        visit = Visit(browser, f"http://{host}:{port}", "#how=1")
        page, text = visit.page, visit.page.locator("#guide-text")
        expect(page.locator("#problem")).to_contain_text("tbgen build KRvK")
        page.locator("#moves [data-uci=h1h2]").wait_for(state="attached")
        visit.drag("h1", "h2")
        expect(text).to_have_text("Not Rh2. Black has one legal move, G1.5.")
        page.locator("#guide-again").click()
        expect(text).to_contain_text("White to move: mate in one.")
        page.route("**/r/moves?*", lambda route: route.abort())
        page.locator("#moves [data-uci=h1h3]").wait_for(state="attached")
        visit.drag("h1", "h3")
        expect(text).to_have_text(re.compile(r"^Not Rh3\. Mate is the best .* White to move: mate in one\.$"))
        visit.close()
    assert visit.wrong == []


def test_nothing_is_asked_about_what_is_no_position(browser: Browser, address: str) -> None:
    """Nor is it offered to be played."""
    visit = Visit(browser, address)
    page, refused = visit.page, list[str]()

    def answered(response: Response) -> None:
        if response.status == 400:
            refused.append(response.url)

    page.on("response", answered)
    expect(page.locator("#play-on")).to_be_visible()
    page.locator("#clear").click()
    expect(page.locator("#problem")).to_have_text("White has no king; each side needs exactly one.")
    expect(page.locator("#play-on")).to_be_hidden()
    for man, square in (("wk", "c5"), ("bk", "g5")):
        page.locator(f"[data-tool={man}]").click()
        page.mouse.click(*visit.square(square))
        if man == "wk":
            expect(page.locator("#problem")).to_have_text("Black has no king; each side needs exactly one.")
    expect(page.locator("#value")).to_have_text("-G8.5")
    expect(page.locator("#play-on")).to_be_visible()
    page.locator("#setup").click()
    expect(page.locator("#palette")).to_be_hidden()
    assert refused == []
    visit.close()
    assert visit.wrong == []


def test_a_minus_is_explained_where_it_is_large(browser: Browser, address: str) -> None:
    visit = Visit(browser, address, WON_BY_BLACK)
    value = visit.page.locator("#value")
    expect(value).to_have_class("minus")
    assert "the minus is Black's" in value.evaluate(f"each => {DRAWN}.content")
    visit.page.locator("#swap").click()
    expect(value).to_have_text("G1.5")
    expect(value).not_to_have_class("minus")
    visit.close()


def test_what_a_fact_means_leaves_the_verdict_free(browser: Browser, address: str) -> None:
    visit = Visit(browser, address)
    facts = visit.page.locator("#facts")
    visit.page.locator("#facts [data-tip]").first.focus()
    top = visit.page.locator("#facts [data-tip]").first.evaluate(f"each => parseFloat({DRAWN}.top)")
    assert top >= facts.evaluate("each => each.clientHeight") - 1
    visit.close()


def test_all_links_stand_in_one_row_on_a_phone(browser: Browser, tables: Path, tmp_path: Path) -> None:
    """Also where there are an event and a report."""
    (tmp_path / "report" / "tables").mkdir(parents=True)
    (tmp_path / "report" / "index.html").write_text("<!DOCTYPE html><title>report</title>")
    words = ("--live", str(tmp_path / "event.pgn"), "--report", str(tmp_path / "report"))
    with serving(tables, *words) as (_, host, port):
        for where in ("", "live", "play"):
            visit = Visit(browser, f"http://{host}:{port}", where, viewport={"width": 390, "height": 664})
            links = visit.page.locator("nav.site a:visible")
            expect(links).to_have_count(5)
            boxes = [each.bounding_box() for each in [*links.all(), visit.page.locator("#scheme")]]
            middles = [box["y"] + box["height"] / 2 for box in boxes if box is not None]
            assert max(middles) - min(middles) < 6, middles
            assert not visit.too_wide()
            visit.close()
