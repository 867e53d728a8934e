"""How the pages load in a browser: all modules at once, and nothing moves; what comes late does no harm."""

import re
import time

import pytest
from playwright.sync_api import Browser, Route, expect

from tests.support.browsing import Visit

pytestmark = pytest.mark.slow

PAWN = "8/8/5k1K/5P2/8/8/8/8 w - - 1 60"
PAGES = ("", "play", "puzzles", "embed")
MOST_SHIFT = 0.02
"""A fifth of what counts as good [1].

[1] https://web.dev/articles/cls
"""
WATCH = """
window.shifts = []
const nameOf = ({node}) => node?.id || node?.className || node?.nodeName
const noted = entry => [entry.value, ...entry.sources.map(nameOf)]
new PerformanceObserver(list => list.getEntries().forEach(entry => window.shifts.push(noted(entry))))
    .observe({type: "layout-shift", buffered: true})
"""


@pytest.mark.parametrize("name", PAGES)
def test_a_page_names_all_modules_that_it_takes(browser: Browser, address: str, name: str) -> None:
    context = browser.new_context()
    page = context.new_page()
    asked: list[str] = []
    page.on(
        "request", lambda request: asked.append(request.url) if request.resource_type == "script" else None
    )
    page.goto(f"{address}/{name}", wait_until="networkidle")
    links = page.locator("link[rel=modulepreload]").evaluate_all("links => links.map(link => link.href)")
    scripts = page.locator("script").evaluate_all("scripts => scripts.map(script => script.src)")
    assert sorted([*scripts, *links]) == sorted(set(asked))
    context.close()


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize(("width", "height"), [(390, 664), (1024, 768), (1440, 900)])
def test_nothing_moves_while_a_page_loads(
    browser: Browser, address: str, name: str, width: int, height: int
) -> None:
    """Where scripts and answers come late, after the first picture."""

    def late(route: Route) -> None:
        time.sleep(0.25)
        route.continue_()

    context = browser.new_context(viewport={"width": width, "height": height})
    context.add_init_script(WATCH)
    page = context.new_page()
    page.route(re.compile(r"/page/(main|play|puzzles|embed)\.js$|/r[/?]"), late)
    page.goto(f"{address}/{name}", wait_until="networkidle")
    page.locator("#board [data-piece]").first.wait_for()
    page.wait_for_timeout(500)
    shifts = page.evaluate("shifts")
    assert sum(value for value, *_ in shifts) < MOST_SHIFT, shifts
    context.close()


def test_what_comes_late_is_of_no_other_position(visit: Visit) -> None:
    """Best play that is told after somebody has gone elsewhere is not played there."""
    page = visit.page
    lines: list[Route] = []
    answers: list[Route] = []
    page.route("**/r/mainline?*", lambda route: lines.append(route))
    page.reload()
    while not lines:
        page.wait_for_timeout(10)
    page.route("**/r?*", lambda route: answers.append(route))
    page.locator("#fen").fill(f"{PAWN} -G2.5")
    page.keyboard.press("Enter")
    while not answers:
        page.wait_for_timeout(10)
    with page.expect_event("requestfinished"):
        lines[0].continue_()
    page.wait_for_timeout(100)
    page.locator("#flip").focus()
    page.keyboard.press("ArrowRight")
    answers[0].continue_()
    page.unroute_all()
    expect(page.locator("#sentence")).to_contain_text("White gets down to three moves")
    assert visit.asked() == {"fen": PAWN, "accrued": "-G2.5"}
