"""What boards look and sound like, as a reader likes it."""

import pytest
from playwright.sync_api import Browser, expect

from tests.support.browsing import Visit

pytestmark = pytest.mark.slow

COUNT = """
window.ticks = 0
const silent = () => ({connect: other => other, start() { window.ticks++ }, stop() {}, frequency: {}, gain: {
    setValueAtTime() {}, exponentialRampToValueAtTime() {}}})
window.AudioContext = class {
    currentTime = 0
    createOscillator = silent
    createGain = silent
}
"""


def square(visit: Visit) -> str:
    """The colour of a dark square."""
    return str(
        visit.page.locator("#board .square.black").first.evaluate("each => getComputedStyle(each).fill")
    )


def test_squares_and_men_are_chosen_for_all_pages(browser: Browser, address: str) -> None:
    visit = Visit(browser, address)
    page = visit.page
    page.locator("#board [data-piece]").first.wait_for()
    grey = square(visit)
    page.locator("#boards").select_option("green")
    assert square(visit) != grey
    plain = page.locator("#wk use")
    expect(plain).to_have_count(0)
    page.locator("#men").select_option("plain")
    expect(plain).to_have_attribute("href", "#plain-k")
    assert square(visit) != grey
    expect(page.locator("#boards")).to_have_value("green")
    assert visit.violations() == []
    page.goto(f"{address}/puzzles")
    page.locator("#board [data-piece]").first.wait_for()
    assert square(visit) != grey
    expect(plain).to_have_attribute("href", "#plain-k")
    visit.close()
    assert visit.wrong == []


def test_moves_are_heard_only_if_that_is_wanted(browser: Browser, address: str) -> None:
    visit = Visit(browser, address, script=COUNT)
    page = visit.page
    moves = page.locator("#played .step")
    page.locator("#forward").click()
    expect(moves).to_have_count(2)
    assert page.evaluate("ticks") == 0
    page.locator("#sound").check()
    assert page.evaluate("ticks") == 1
    page.locator("#forward").click()
    expect(moves).to_have_count(3)
    assert page.evaluate("ticks") == 2
    page.reload()
    expect(moves).to_have_count(3)
    assert page.evaluate("ticks") == 0
    page.locator("#back").click()
    expect(page.locator("#played [aria-current]")).to_have_text("Kh5")
    assert page.evaluate("ticks") == 1
    visit.close()
    assert visit.wrong == []
