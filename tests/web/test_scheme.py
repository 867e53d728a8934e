"""Light and dark: as the system has it, or as the reader chooses."""

from typing import Literal

import pytest
from playwright.sync_api import expect

from tests.support.browsing import Visit
from tests.web.conftest import Opener

pytestmark = [pytest.mark.slow, pytest.mark.exhaustive, pytest.mark.everywhere]

COLOURS = {"light": "rgb(255, 255, 255)", "dark": "rgb(22, 24, 27)"}
"""Of the paper."""
Scheme = Literal["light", "dark"]


def paper(visit: Visit) -> str:
    return str(visit.page.evaluate("getComputedStyle(document.body).backgroundColor"))


@pytest.mark.parametrize(("system", "other"), [("dark", "light"), ("light", "dark")])
def test_a_choice_holds_for_all_pages(system: Scheme, other: Scheme, opened: Opener, address: str) -> None:
    """Without one the system decides, also when it changes; the first click is seen; a choice is there before
    anything is drawn, and pages that are open follow."""
    visit = opened(color_scheme=system)
    page, switch = visit.page, visit.page.locator("#scheme")
    for scheme in (other, system):
        page.emulate_media(color_scheme=scheme)
        assert paper(visit) == COLOURS[scheme]
    expect(switch).to_have_accessible_name("Colours: as the system has them")
    expect(page.locator("#moves button").first).to_be_visible()
    switch.focus()
    for scheme in (other, system):
        page.keyboard.press("Enter")
        expect(switch).to_have_accessible_name(f"Colours: {scheme}")
        assert paper(visit) == COLOURS[scheme]
        visit.audit()
    page.goto(f"{address}/play", wait_until="commit")
    page.locator("body").wait_for(state="attached")
    assert page.evaluate("document.documentElement.dataset.scheme") == system
    page.locator("#board [data-piece]").first.wait_for()
    assert paper(visit) == COLOURS[system]
    visit.audit()
    switch.click()
    expect(switch).to_have_accessible_name("Colours: as the system has them")
    assert paper(visit) == COLOURS[system]
    open_too = page.context.new_page()
    open_too.goto(f"{address}/puzzles")
    switch.click()
    expect(open_too.locator("html")).to_have_attribute("data-scheme", other)
    open_too.close()
