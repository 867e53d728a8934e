"""Light and dark: as the system has it, or as the reader chooses."""

import pytest
from playwright.sync_api import Browser, expect

from tests.support.browsing import Visit

pytestmark = [pytest.mark.slow, pytest.mark.everywhere]

DARK, LIGHT = "rgb(22, 24, 27)", "rgb(255, 255, 255)"


def paper(visit: Visit) -> str:
    return str(visit.page.evaluate("getComputedStyle(document.body).backgroundColor"))


@pytest.mark.parametrize("system", ["light", "dark"])
def test_a_choice_holds_for_all_pages(system: str, browser: Browser, address: str) -> None:
    """Without one the system decides, also when it changes; the first click is seen; a choice is there before
    anything is drawn."""
    visit = Visit(browser, address, color_scheme=system)
    page, switch = visit.page, visit.page.locator("#scheme")
    systems = {"light": LIGHT, "dark": DARK}
    assert paper(visit) == systems.pop(system)
    ((other, colour),) = systems.items()
    page.emulate_media(color_scheme=other)  # type: ignore[arg-type]
    assert paper(visit) == colour
    page.emulate_media(color_scheme=system)  # type: ignore[arg-type]
    expect(switch).to_have_accessible_name("Colours: as the system has them")
    expect(page.locator("#moves button").first).to_be_visible()
    switch.focus()
    for scheme, wanted in ((other, colour), (system, {"light": LIGHT, "dark": DARK}[system])):
        page.keyboard.press("Enter")
        expect(switch).to_have_accessible_name(f"Colours: {scheme}")
        assert paper(visit) == wanted
        assert visit.violations() == []
    for name in ("play", "puzzles"):
        page.goto(f"{address}/{name}", wait_until="commit")
        page.locator("body").wait_for(state="attached")
        assert page.evaluate("document.documentElement.dataset.scheme") == system
        page.locator("#board [data-piece]").first.wait_for()
        assert paper(visit) == {"light": LIGHT, "dark": DARK}[system]
        assert visit.violations() == []
    switch.click()
    expect(switch).to_have_accessible_name("Colours: as the system has them")
    page.reload()
    assert paper(visit) == {"light": LIGHT, "dark": DARK}[system]
    visit.close()
    assert visit.wrong == []


def test_pages_that_are_open_follow(browser: Browser, address: str) -> None:
    visit = Visit(browser, address, color_scheme="light")
    other = visit.page.context.new_page()
    other.goto(f"{address}/puzzles")
    other.locator("#scheme").click()
    expect(visit.page.locator("html")).to_have_attribute("data-scheme", "dark")
    visit.close()


def test_a_browser_that_keeps_nothing_lets_choose(browser: Browser, address: str) -> None:
    forbidden = "Object.defineProperty(window, 'localStorage', {get() { throw new DOMException('no') }})"
    visit = Visit(browser, address, script=forbidden, color_scheme="light")
    visit.page.locator("#scheme").click()
    assert paper(visit) == DARK
    visit.close()
    assert visit.wrong == []
