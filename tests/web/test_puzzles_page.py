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
        visit.sees({"#solved": "1", "#task": re.compile("Only one move")})
    page.locator("#level").select_option("hard")  # the level takes effect at once
    visit.sees({"#name": "A puzzle, hard"})
    page.goto(page.url.replace("level=hard", "level=medium"))
    visit.sees({"#name": "A puzzle, medium", "#level option:checked": "medium"})
    page.locator("#give-up").press("Enter")
    expect(said).to_have_text(re.compile(r"^It is .+\. Best play continues: 1\."))
    page.set_viewport_size(PHONE)
    expect(page.locator(".tagline")).to_be_in_viewport(ratio=1)
    assert not visit.too_wide()


@pytest.mark.exhaustive
@pytest.mark.everywhere
def test_a_puzzle_that_was_sent(opened: Opener, address: str) -> None:
    """A puzzle's address shows it again; on a phone, the solution can be stepped through."""
    visit = opened("puzzles", viewport=PHONE, has_touch=True)
    page, name = visit.page, visit.page.locator("#name")
    expect(name).to_contain_text("Today's puzzle, ")
    shown, sent = {each: page.locator(each).inner_text() for each in ("#name", "#task")}, page.url
    assert "?fen=" in sent
    page.goto(re.sub(r"day=[\d-]+", "day=2001-01-01", sent))  # a day with another puzzle
    expect(name).to_contain_text("A puzzle, ")
    assert "day=" not in page.url
    page.goto(f"{address}/puzzles?fen={page.evaluate(OF_A_DAY, '2001-01-01')}&day=2001-01-01")
    expect(name).to_contain_text("The puzzle of 2001-01-01, ")
    page.goto(sent)
    visit.sees(shown)
    assert page.url == sent
    page.locator("#give-up").tap()
    board = chess.Board(sent.partition("fen=")[2].partition("&")[0].replace("_", " "))
    move = board.parse_san(page.locator(".solution [aria-current]").inner_text())
    start, end = (
        f"#board [data-man][data-square={chess.square_name(square)}]"
        for square in (move.from_square, move.to_square)
    )
    visit.sees({start: 0, end: 1})
    visit.press("ArrowLeft")
    visit.sees({start: 1, end: int(board.is_capture(move)), "#board .arrow": 1})
    page.locator(".solution .step").first.tap()
    visit.sees({start: 0, end: 1, "#board .arrow": 0})
    visit.audit()


@pytest.mark.exhaustive
@pytest.mark.everywhere
def test_a_position_that_is_no_puzzle(opened: Opener) -> None:
    visit = opened("puzzles?fen=8/8/8/4KBk1/8/8/8/8_b_-_-_0_1", viewport=PHONE, has_touch=True)
    page = visit.page
    visit.sees({"#problem": re.compile("^This position is not a puzzle: "), "#name": "No puzzle"})
    for each in ("#board", "#task", "#give-up", "#explore", "#play-on"):
        expect(page.locator(each)).to_be_hidden()
    visit.audit()
    page.locator("#another").tap()
    visit.sees({"#name": re.compile("^A puzzle, "), "#problem": ""})
    expect(page.locator("#board")).to_be_visible()
