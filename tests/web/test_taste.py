"""What boards look and sound like, as a reader likes it."""

import pytest
from playwright.sync_api import expect

from tests.support.browsing import Visit
from tests.web.conftest import Opener

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


@pytest.mark.exhaustive
def test_squares_men_and_sounds_are_chosen_for_all_pages(opened: Opener, address: str) -> None:
    """Moves are heard only if that is wanted."""
    visit = opened(script=COUNT)
    page, moves = visit.page, visit.page.locator("#played .step")
    page.locator("#forward").click()
    expect(moves).to_have_count(2)
    assert page.evaluate("ticks") == 0
    page.locator("#sound").check()
    assert page.evaluate("ticks") == 1
    page.locator("#forward").click()
    expect(moves).to_have_count(3)
    assert page.evaluate("ticks") == 2
    grey, plain = square(visit), page.locator("#wk use")
    page.locator("#boards").select_option("green")
    assert square(visit) != grey
    expect(plain).to_have_count(0)
    page.locator("#men").select_option("plain")
    expect(plain).to_have_attribute("href", "#plain-k")
    assert square(visit) != grey
    expect(page.locator("#boards")).to_have_value("green")
    visit.audit()
    page.reload()
    expect(moves).to_have_count(3)
    assert page.evaluate("ticks") == 0
    page.locator("#back").click()
    expect(page.locator("#played [aria-current]")).to_have_text("Kh5")
    assert page.evaluate("ticks") == 1
    page.goto(f"{address}/puzzles")
    page.locator("#board [data-piece]").first.wait_for()
    assert square(visit) != grey
    expect(plain).to_have_attribute("href", "#plain-k")
