"""The page of puzzles, in a browser: by mouse and by keys."""

import re

import pytest
from playwright.sync_api import Browser, expect

from tests.support.browsing import Visit

pytestmark = pytest.mark.slow
expect.set_options(timeout=60_000)  # a slow machine is no failure
TODAY = """async () => {
    const {fresh} = await import("/page/api.js")
    return await fresh("r/puzzle", {day: new Date().toISOString().slice(0, 10)})
}"""


@pytest.mark.everywhere
def test_a_puzzle_is_solved(browser: Browser, address: str) -> None:
    """Today's; a wrong move is refuted, the right one is counted, after a reload too; then one of a level."""
    visit = Visit(browser, address, "puzzles")
    page, said = visit.page, visit.page.locator("#said")
    expect(page.locator("#task")).to_contain_text("One move alone leads there")
    expect(page.locator("#board .pieces [data-piece]").first).to_be_visible()
    puzzle = page.evaluate(TODAY)
    assert visit.violations() == []
    black = puzzle["fen"].split()[1] == "b"

    def play(uci: str) -> None:
        """Click on two squares of a board that is turned to the solver."""
        for square in (uci[:2], uci[2:4]):
            turned = chr(ord("a") + ord("h") - ord(square[0])) + str(9 - int(square[1]))
            page.mouse.click(*visit.square(turned if black else square))

    right, wrong = puzzle["moves"][0], next(move for move in puzzle["moves"][1:] if len(move["uci"]) == 4)
    play(wrong["uci"])
    expect(said).to_contain_text(f"Not {wrong['san']}: it leads to {wrong['value']}, by ")
    expect(page.locator("#solved")).to_have_text("0")
    if len(right["uci"]) == 4:
        play(right["uci"])
        expect(said).to_contain_text(f"Right: {right['san']}. Best play goes on")
        expect(page.locator("#solved")).to_have_text("1")
        page.reload()
        expect(page.locator("#solved")).to_have_text("1")
        expect(page.locator("#task")).to_contain_text("One move alone")
    page.locator("#level").select_option("hard")
    page.locator("#another").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#name")).to_have_text("A puzzle, hard")
    page.locator("#give-up").focus()
    page.keyboard.press("Enter")
    expect(said).to_have_text(re.compile(r"^It is .+\.$"))
    expect(page.locator("#board .arrow")).to_have_count(1)
    visit.page.set_viewport_size({"width": 390, "height": 664})
    assert not visit.too_wide()
    visit.close()
    assert visit.wrong == []
