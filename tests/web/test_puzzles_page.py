"""The page of puzzles, in a browser: by mouse and by keys."""

import re
from pathlib import Path

import chess
import pytest
from playwright.sync_api import expect

from tbgen.probe.tablebase import open_tablebase
from tests.support.browsing import PHONE
from tests.web.conftest import Opener

pytestmark = pytest.mark.slow
TODAY = """async () => {
    const {fresh} = await import("/page/api.js")
    return await fresh("r/puzzle", {day: new Date().toISOString().slice(0, 10)})
}"""
MEN = """Object.fromEntries([...document.querySelectorAll("#board [data-man]")]
    .map(each => [each.dataset.square, each.dataset.man]))"""
OF_A_DAY = """async day => {
    const {fresh} = await import("/page/api.js")
    return (await fresh("r/puzzle", {day})).fen.replaceAll(" ", "_")
}"""


def moves_to_find(tables: Path, fen: str) -> list[chess.Move]:
    """Return the moves that a puzzle asks for: up to three, as long as only one keeps the value."""
    found, board, accrued = list[chess.Move](), chess.Board(fen), None
    with open_tablebase(tables) as known:
        while len(found) < 3 and known.probe(board, accrued).depth:
            right, *others = known.moves(board, accrued)
            if not others or others[0].value == right.value:
                break
            found.append(right.move)
            board.push(right.move)
            replies = known.moves(board, right.accrued)
            if not replies:
                break
            board.push(replies[0].move)
            accrued = replies[0].accrued
    return found


@pytest.mark.everywhere
def test_a_puzzle_is_solved(opened: Opener, tables: Path) -> None:
    """Today's puzzle: a wrong move is refuted, a solution is counted, after a reload too; then a puzzle of a
    level."""
    visit = opened("puzzles")
    page, said = visit.page, visit.page.locator("#said")
    expect(page.locator("#task")).to_contain_text("Only one move leads there")
    expect(page.locator("#board [data-man]").first).to_be_visible()
    puzzle = page.evaluate(TODAY)
    visit.audit()
    black = puzzle["fen"].split()[1] == "b"

    def play(uci: str) -> None:
        """Click on two squares of a board with the solver's side below."""
        for square in (uci[:2], uci[2:4]):
            page.mouse.click(*visit.square(square, turned=black))

    wrong = next(move for move in puzzle["moves"][1:] if len(move["uci"]) == 4)
    play(wrong["uci"])
    expect(said).to_contain_text(f"Not {wrong['san']}: it leads to {wrong['value']}. Try again, or see why: ")
    visit.press("ArrowRight")  # steps through the refutation
    visit.sees({"#board .marker-square": 2, ".solution [aria-current]": 1})
    visit.click("#said >> text=Try again", "", "#said")
    visit.sees({"#board .marker-square": 0, "#solved": "0"})
    asked = moves_to_find(tables, puzzle["fen"])
    if all(move.promotion is None for move in asked):
        for number, move in enumerate(asked):
            play(move.uci())
            continues = "The reply is " if number < len(asked) - 1 else "Best play continues"
            expect(said).to_have_text(re.compile(rf"^Right: \S+\. {continues}"))
        expect(page.locator(".solution .step")).to_have_count(puzzle["depth"])
        visit.sees({"#board .marker-square": 2, "#solved": "1"})
        page.reload()
        expect(page.locator("#solved")).to_have_text("1")
        expect(page.locator("#task")).to_contain_text("Only one move")
    page.locator("#level").select_option("hard")  # the level takes effect at once
    expect(page.locator("#name")).to_have_text("A puzzle, hard")
    page.goto(page.url.replace("level=hard", "level=medium"))
    expect(page.locator("#name")).to_have_text("A puzzle, medium")
    expect(page.locator("#level")).to_have_value("medium")
    page.locator("#give-up").focus()
    page.keyboard.press("Enter")
    expect(said).to_have_text(re.compile(r"^It is .+\. Best play continues: 1\."))
    page.set_viewport_size(PHONE)
    expect(page.locator(".tagline")).to_be_in_viewport(ratio=1)
    assert not visit.too_wide()


@pytest.mark.exhaustive
@pytest.mark.everywhere
def test_a_puzzle_that_was_sent(opened: Opener, address: str) -> None:
    """A puzzle's address shows it again; on a phone, the solution can be stepped through."""
    visit = opened("puzzles", viewport=PHONE, has_touch=True)
    page = visit.page
    expect(page.locator("#name")).to_contain_text("Today's puzzle, ")
    name, task, sent = page.locator("#name").inner_text(), page.locator("#task").inner_text(), page.url
    assert "?fen=" in sent
    page.goto(re.sub(r"day=[\d-]+", "day=2001-01-01", sent))  # a day with another puzzle
    expect(page.locator("#name")).to_contain_text("A puzzle, ")
    assert "day=" not in page.url
    page.goto(f"{address}/puzzles?fen={page.evaluate(OF_A_DAY, '2001-01-01')}&day=2001-01-01")
    expect(page.locator("#name")).to_contain_text("The puzzle of 2001-01-01, ")
    page.goto(sent)
    visit.sees({"#name": name, "#task": task})
    assert page.url == sent

    def stands() -> None:
        """Wait until the same men are on the page's board as on a board here."""
        men = {chess.square_name(square): man.symbol() for square, man in board.piece_map().items()}
        visit.until(lambda: page.evaluate(MEN) == men)

    board = chess.Board(sent.partition("fen=")[2].partition("&")[0].replace("_", " "))
    stands()
    page.locator("#give-up").tap()
    made = page.locator(".solution [aria-current]")
    board.push_san(made.inner_text())
    stands()
    visit.press("ArrowLeft")
    expect(page.locator("#board .arrow")).to_have_count(1)
    move = board.pop()
    stands()
    page.locator(".solution .step").first.tap()
    expect(page.locator("#board .arrow")).to_have_count(0)
    board.push(move)
    stands()
    visit.audit()
    page.goto(f"{address}/puzzles?fen=8/8/8/4KBk1/8/8/8/8_b_-_-_0_1")
    expect(page.locator("#problem")).to_contain_text("This position is not a puzzle: ")
    expect(page.locator("#name")).to_have_text("No puzzle")
    for each in ("#board", "#task", "#give-up", "#explore", "#play-on"):
        expect(page.locator(each)).to_be_hidden()
    visit.audit()
    page.locator("#another").tap()
    expect(page.locator("#name")).to_contain_text("A puzzle, ")
    expect(page.locator("#problem")).to_be_empty()
    expect(page.locator("#board")).to_be_visible()
