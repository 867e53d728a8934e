"""How the pages load in a browser: all modules at once, and nothing moves; what comes late does no harm."""

import re

import pytest
from playwright.sync_api import Route, ViewportSize, expect

from tests.support.browsing import PHONE, Visit
from tests.support.exhaustive import exhaustive
from tests.web.conftest import Opener

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


@pytest.mark.parametrize(
    "viewport",
    [PHONE, *exhaustive([{"width": 1024, "height": 768}, {"width": 1440, "height": 900}])],
    ids=str,
)
def test_nothing_moves_while_a_page_loads(viewport: ViewportSize, opened: Opener, address: str) -> None:
    """Where scripts and answers come late, after the first picture; a page names all modules it takes."""
    visit = opened("openapi.json", script=WATCH, viewport=viewport)
    page = visit.page
    late, asked = list[Route](), list[str]()
    page.on(
        "request", lambda request: asked.append(request.url) if request.resource_type == "script" else None
    )
    for name in PAGES:
        asked.clear()
        page.route(
            re.compile(r"/page/(main|play|puzzles|embed)\.js$|/r[/?]"), lambda route: late.append(route)
        )
        page.goto(f"{address}/{name}", wait_until="commit")
        visit.until(lambda: page.evaluate("performance.getEntriesByName('first-contentful-paint').length"))

        def shown() -> bool:
            """Let one more of what is late come; whether there is a board."""
            if late:
                late.pop(0).continue_()
            return not late and page.locator("#board [data-piece]").count() > 0

        visit.until(shown)
        page.unroute_all()  # which lets what is late come
        late.clear()
        page.wait_for_load_state("networkidle")
        visit.draw()
        shifts = page.evaluate("shifts")
        assert sum(value for value, *_ in shifts) < MOST_SHIFT, (name, shifts)
        links = page.locator("link[rel=modulepreload]").evaluate_all("links => links.map(link => link.href)")
        scripts = page.locator("script").evaluate_all("scripts => scripts.map(script => script.src)")
        assert sorted([*scripts, *links]) == sorted(set(asked)), name


def test_what_comes_late_is_of_no_other_position(visit: Visit) -> None:
    """Best play that is told after somebody has gone elsewhere is not played there."""
    page = visit.page
    lines: list[Route] = []
    answers: list[Route] = []
    page.route("**/r/mainline?*", lambda route: lines.append(route))
    page.reload()
    visit.until(lambda: lines)
    page.route("**/r?*", lambda route: answers.append(route))
    visit.enter("#fen", f"{PAWN} -G2.5")
    visit.until(lambda: answers)
    with page.expect_event("requestfinished"):
        lines[0].continue_()
    visit.draw()
    page.locator("#flip").focus()
    page.keyboard.press("ArrowRight")
    answers[0].continue_()
    page.unroute_all()
    expect(page.locator("#sentence")).to_contain_text("White gets down to three moves")
    assert visit.asked() == {"fen": PAWN, "accrued": "-G2.5"}
