"""How the pages load in a browser: all modules at once, and nothing moves."""

import re
import time

import pytest
from playwright.sync_api import Browser, Route

pytestmark = pytest.mark.slow

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
