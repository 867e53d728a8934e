"""Games on the page: pasted, dropped or chosen, followed, changed, and kept in the address."""

import io
import re
from pathlib import Path

import chess
import chess.pgn
import pytest
from playwright.sync_api import Browser, expect

from tests.support.browsing import Visit
from tests.support.paths import ROOT

pytestmark = pytest.mark.slow
KBK = "8/8/8/4KBk1/8/8/8/8 b - - 0 1"
COPIED = "navigator.clipboard.readText()"
GAME = (ROOT / "docs" / "drawn_game.pgn").read_text()


def test_a_game_is_restored_with_its_tags_and_its_end(visit: Visit, browser: Browser, address: str) -> None:
    """The address contains everything besides moves that decides the result."""
    page, outcome = visit.page, visit.page.locator("#outcome")
    pgn = '[White "Ada"]\n[Black "Ben \\"B\\" B."]\n[Result "1-0"]\n[RMobilityFiftyMoveRule "none"]\n'
    page.locator("#pgn").fill(f'{pgn}[SetUp "1"]\n[FEN "{KBK}"]\n\n1... Kh5 2. Kf4 {{Black resigns}} 1-0\n')
    page.get_by_role("button", name="Referee it").click()
    expect(outcome).to_contain_text("Result G0.0 (resignation)")
    again = Visit(browser, address, page.url.removeprefix(address).lstrip("/"))
    again.sees({"#outcome": outcome.inner_text(), "#game-label": 'Ada – Ben "B" B.'})
    again.close()
    # With one more move the resignation is gone; the browser's back button returns to the game.
    page.locator("#played .step").last.click()
    visit.settle()  # the moves are those of what is shown
    page.locator("#moves button").first.click()
    expect(outcome).to_contain_text("Result G1.5 (by the tables)")
    page.reload()
    expect(outcome).to_contain_text("Result G1.5 (by the tables)")
    expect(page.locator("#game-label")).to_have_text('Ada – Ben "B" B.')
    page.go_back()
    expect(outcome).to_contain_text("Result G0.0 (resignation)")


HEAD = f'[White "Ada"]\n[Result "*"]\n[SetUp "1"]\n[FEN "{KBK}"]\n\n'
VARIED = f"{HEAD}1... Kh5 (1... Kh6 2. Kf6 (2. Bg6 Kxg6)) 2. Kf4 {{or (2. Kf5)}} Kh6 *\n"
ANNOTATED = (
    f"{HEAD}1... Kh5!? {{To the edge:}} {{safest}} (1... Kh6 $3 2. Kf6 {{Or so}} (2. Bg6! $14 $240 Kxg6)) "
    f"2. Kf4 $6 {{held}} Kh6??{' ' * 16_000}*"
)


@pytest.mark.everywhere
def test_a_game_keeps_variations_comments_and_glyphs(visit: Visit) -> None:
    """Another move is a variation. The address has the whole game, after a reload too, and so has the PGN.

    Marks of mistakes stand with the values where a move has a glyph. Blanks before the end of a game do not
    slow the page down.
    """
    page, steps = visit.page, visit.page.locator("#played .step")
    page.locator("#pgn").fill(ANNOTATED)
    page.locator("#refereeing button").click()
    wanted = ["start", "Kh5!?", "Kh6!!", "Kf6", "Bg6!⩲", "Kxg6", "Kf4?!", "Kh6??"]
    expect(steps).to_have_text(wanted)
    expect(page.locator("#played .mistake")).to_have_text("? G1.5 → G5.5")
    outcome = page.locator("#outcome").inner_text()
    visit.settle()  # the moves are those of what is shown
    page.locator("[data-uci=g5h5]").click()  # the move of the game
    visit.sees({"#played [aria-current]": "Kh5!?", "#comment": "To the edge: safest"})
    visit.press("ArrowDown", "ArrowUp")
    expect(page.locator("#played [aria-current]")).to_have_text("Kh5!?")
    visit.settle()
    page.locator("[data-uci=e5f6]").click()
    expect(steps).to_have_text([*wanted[:7], "Kf6", wanted[7]])
    page.reload()
    expect(steps).to_have_text([*wanted[:7], "Kf6", wanted[7]])
    visit.sees({"#played [aria-current]": "Kf6", "#comment": "", "#outcome": outcome, "#graph .here": 1})
    expect(page.locator("#fen")).to_have_value("8/8/5K2/5B1k/8/8/8/8 b - - 2 2")
    page.locator("#delete").click()
    expect(page.locator("#played [aria-current]")).to_have_text("Kh5!?")
    expect(steps).to_have_text(wanted)
    expect(page.locator("#played .said")).to_have_text(["Kh5!?", "Kf6", "Kf4?!"])
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    visit.click("#copy-pgn", "PGN copied", "#said")
    texts = page.evaluate(COPIED), ANNOTATED
    copied, pasted = (str(chess.pgn.read_game(io.StringIO(text))) for text in texts)
    assert copied == pasted


def test_many_games_are_a_table(visit: Visit, tmp_path: Path) -> None:
    """Games of a chosen or dropped file are listed with results and links; a broken game has its error."""
    page, rows = visit.page, visit.page.locator("#games-rows tr")
    file = tmp_path / "event.pgn"
    file.write_text(f"{VARIED}\n{VARIED.replace('Kh5', 'Kh1')}\n{GAME}")
    page.locator("#pgn-file").set_input_files(file)
    expect(rows).to_have_count(3)
    expect(rows.nth(0)).to_have_text(re.compile(r"Ada – \?\s*\*\s*G1\.5 by the tables\s*2$"))
    expect(rows.nth(1)).to_contain_text("'Kh1' is not a legal move")
    expect(rows.nth(2)).to_contain_text("-G5.5 by the tables")
    visit.sees({"#games-rows .here": re.compile("Ada"), "#game-label": "Ada – ?"})
    rows.nth(2).get_by_role("button").click()
    expect(page.locator("#game-label")).to_have_text("Stockfish 15.1 depth 4 – GNU Chess 6.2.7 depth 5")
    expect(page.locator("#games-rows .here")).to_contain_text("Stockfish")
    visit.sees(
        {"#played .mistake": "G2.0 → -G5.5", "#graph .mistake": 1, "#graph path": 2, "#played .step": 168}
    )
    assert chess.Board(page.locator("#fen").input_value()).occupied.bit_count() == 4  # where tables begin
    page.locator("#back").click()
    expect(page.locator("#problem")).to_contain_text("tbgen build K")
    page.locator("#played .step").last.click()
    visit.sees({"#value": "-G5.5", "#played [aria-current]": re.compile(r"\?\?$")})
    assert not visit.too_wide()
    page.reload()
    expect(rows).to_have_count(3)
    expect(page.locator("#games-rows .here")).to_contain_text("Stockfish")
    rows.nth(0).get_by_role("button").click()
    expect(page.locator("#game-label")).to_have_text("Ada – ?")
    dropping = """text => {
        const dataTransfer = new DataTransfer()
        dataTransfer.items.add(new File([text], "one.pgn"))
        document.body.dispatchEvent(new DragEvent("drop", {dataTransfer, bubbles: true, cancelable: true}))
    }"""
    page.evaluate(dropping, VARIED)
    visit.sees({"#game-label": "Ada – ?", "#games:visible": 0})
    page.evaluate(dropping, "x" * (3 << 20))
    expect(page.locator("#pgn-problem")).to_have_text("The PGN has 3.0 MiB: give at most 2 MiB at once.")
