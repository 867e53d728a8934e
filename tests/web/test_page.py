"""The page as its users have it: in a browser, by mouse, touch and keys."""

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import chess
import chess.pgn
import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tbgen.board.material import Material
from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.probe.tablebase import open_tablebase
from tbgen.store.inventory import inventory
from tests.support.browsing import Visit
from tests.support.paths import ROOT

pytestmark = pytest.mark.slow

KBK = "8/8/8/4KBk1/8/8/8/8 b - - 0 1"
PAWN = "8/8/5k1K/5P2/8/8/8/8 w - - 1 60"
expect.set_options(timeout=60_000)  # a slow machine is no failure
GAME = (ROOT / "docs" / "drawn_game.pgn").read_text()


@pytest.fixture
def visit(browser: Browser, address: str) -> Iterator[Visit]:
    visit = Visit(browser, address)
    expect(visit.page.locator("#sentence")).to_have_text(
        "White wins by a little: Black gets down to one move in 4 plies (0.56 : 0.44)."
    )
    yield visit
    visit.close()
    assert visit.wrong == []


def expect_outcome(page: Page, said: str) -> None:
    """A server says what a game comes to, a site does not."""
    if page.evaluate("'static' in document.documentElement.dataset"):
        expect(page.locator("#outcome")).to_have_text("")
    else:
        expect(page.locator("#outcome")).to_contain_text(said)


def asked(visit: Visit) -> dict[str, str]:
    """What stands in the address."""
    query = parse_qs(urlsplit(visit.page.url).query, keep_blank_values=True)
    return {name: values[0].replace("_", " ") for name, values in query.items()}


@pytest.mark.everywhere
def test_play_history_and_best_line(visit: Visit, tables: Path) -> None:
    """Played by dragging and clicking; back and reload restore; the line to the end is that of the tables."""
    page, sentence = visit.page, visit.page.locator("#sentence")
    visit.drag("g5", "f4")  # no legal move
    visit.drag("g5", "h5")
    expect(sentence).to_contain_text("in 3 plies")
    assert asked(visit) == {"fen": KBK, "line": "Kh5"}
    page.mouse.click(*visit.square("e5"))
    page.mouse.click(*visit.square("f4"))
    expect(sentence).to_contain_text("in 2 plies")
    page.go_back()
    expect(sentence).to_contain_text("in 3 plies")
    page.reload()
    expect(sentence).to_contain_text("in 3 plies")
    expect(page.locator("#played")).to_have_text(re.compile("start 1... Kh5"))
    page.locator("#first").click()
    expect(sentence).to_contain_text("in 4 plies")
    page.locator("#end").click()
    expect(sentence).to_contain_text("that has accrued")
    with open_tablebase(tables) as opened:
        assert asked(visit)["line"].split() == [ply.san for ply in opened.line(KBK)]
    page.locator("#undo").click()
    expect(sentence).to_contain_text("in 4 plies")
    page.locator("#run").click()
    expect(sentence).to_contain_text("that has accrued", timeout=20_000)


@pytest.mark.everywhere
def test_keys_alone(visit: Visit) -> None:
    """A move on the board, one in the field, the game by arrows, another position."""
    page, sentence = visit.page, visit.page.locator("#sentence")
    page.keyboard.press("Tab")
    while not page.evaluate("document.activeElement.classList.contains('cm-chessboard')"):
        page.keyboard.press("Tab")
    visit.go_to_square("g5")
    page.keyboard.press("Enter")
    visit.go_to_square("h5", "g5")
    page.keyboard.press("Enter")
    expect(sentence).to_contain_text("in 3 plies")
    page.locator("#typed").focus()
    page.keyboard.type("nonsense")
    page.keyboard.press("Enter")
    expect(page.locator("#typing-problem")).to_have_text("nonsense is no legal move here.")
    page.locator("#typed").fill("Kf4")
    page.keyboard.press("Enter")
    expect(sentence).to_contain_text("in 2 plies")
    page.locator("#moves button").first.focus()
    page.keyboard.press("Enter")
    expect(sentence).to_contain_text("in 1 ply")
    expect(page.locator("#moves button").first).to_be_focused()
    page.locator("#step").focus()
    visit.press("ArrowLeft", "ArrowLeft", "ArrowLeft")
    expect(sentence).to_contain_text("in 4 plies")
    page.locator("#fen").fill(f"{PAWN} -G2.5")
    page.keyboard.press("Enter")
    expect(sentence).to_have_text("Black wins by very little: White gets down to three moves in 4 plies.")


@pytest.mark.everywhere
def test_keys_after_the_mouse(visit: Visit) -> None:
    """The arrows step through the game after a move by mouse; letters set up where it has pointed."""
    page, sentence = visit.page, visit.page.locator("#sentence")
    page.locator("#fen").focus()
    visit.drag("g5", "h5")
    expect(sentence).to_contain_text("in 3 plies")
    page.keyboard.press("ArrowLeft")
    expect(sentence).to_contain_text("in 4 plies")
    page.keyboard.press("ArrowRight")
    expect(sentence).to_contain_text("in 3 plies")
    expect(page.locator("#board .keyboard-focus")).to_have_count(0)
    page.locator("#setup").click()
    page.mouse.click(*visit.square("b2"))
    page.keyboard.press("P")
    expect(page.locator("#fen")).to_have_value("8/8/8/4KB1k/8/8/1P6/8 w - - 0 1")


@pytest.mark.everywhere
def test_set_up(visit: Visit) -> None:
    """Men by clicks, from the palette, by letters; moved, taken off the board; what is wrong is said."""
    page, value = visit.page, visit.page.locator("#value")
    page.locator("#clear").click()
    expect(page.locator("#problem")).to_contain_text("White has no king")
    page.locator("[data-tool=wk]").click()
    page.mouse.click(*visit.square("c5"))
    box = page.locator("[data-tool=bk]").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    page.mouse.down()
    page.mouse.move(*visit.square("h5"), steps=3)
    page.mouse.up()
    page.locator("[data-tool='']").click()
    visit.drag("h5", "g5")
    expect(value).to_have_text("-G8.5")
    assert asked(visit) == {"fen": "8/8/8/2K3k1/8/8/8/8 w - - 0 1", "setup": ""}
    page.locator("#board svg.cm-chessboard").focus()
    visit.go_to_square("b2", "h5")
    page.keyboard.press("P")
    expect(value).to_have_text("G0.0")
    page.locator("#black").check()
    expect(page.locator("#fen")).to_have_value("8/8/8/2K3k1/8/8/1P6/8 b - - 0 1")
    page.locator("#swap").click()
    expect(page.locator("#fen")).to_have_value("8/1p6/8/8/2k3K1/8/8/8 w - - 0 1")
    page.locator("#mirror").click()
    expect(page.locator("#fen")).to_have_value("8/6p1/8/8/1K3k2/8/8/8 w - - 0 1")
    board = page.locator("#board").bounding_box()
    assert board is not None
    visit.drag("g7", (board["x"] + board["width"] + 20, board["y"] + 100))
    expect(page.locator("#fen")).to_have_value("8/8/8/8/1K3k2/8/8/8 w - - 0 1")
    page.locator("#undo").click()
    expect(page.locator("#fen")).to_have_value("8/6p1/8/8/1K3k2/8/8/8 w - - 0 1")
    page.locator("#fen").fill("4k3/8/8/8/8/8/8/KBBN4 w - - 0 1")
    page.keyboard.press("Enter")
    expect(page.locator("#problem")).to_contain_text("tbgen build KBBNvK")
    page.locator("#fen").fill("7k/8/4B1K1/4B3/8/8/3N4/8 b - - 0 1")  # mate, which needs no table
    page.keyboard.press("Enter")
    expect(page.locator("#sentence")).to_have_text("Black is mated.")
    expect(page.locator("#stats-problem")).to_contain_text("tbgen build KBBNvK")


def test_nothing_is_asked_in_vain(browser: Browser, address: str) -> None:
    """Beyond the tables a step is one request, and no error in the browser's console."""
    visit = Visit(browser, address, f"?fen={chess.STARTING_FEN.replace(' ', '_')}")
    page, paths = visit.page, list[str]()
    expect(page.locator("#problem")).to_contain_text("32 men")
    expect(page.locator("#examples a").first).to_be_visible()
    errors = list[str]()
    page.on("console", lambda message: errors.append(message.text))
    page.on(
        "request", lambda request: paths.append(urlsplit(request.url).path.removeprefix("/page/icon.svg"))
    )
    for move in ("e2e4", "e7e5"):
        page.locator(f"[data-uci={move}]").click()
        expect(page.locator("#played [aria-current]")).to_have_text(move[2:])
        expect(page.locator("#moves button").first).to_be_visible()
    page.wait_for_load_state("networkidle")
    assert list(filter(None, paths)) == ["/r/moves"] * 2
    page.locator("#fen").fill("4k3/8/8/8/8/8/8/KBBN4 w - - 0 1")
    page.keyboard.press("Enter")
    expect(page.locator("#problem")).to_contain_text("tbgen build KBBNvK")
    page.wait_for_load_state("networkidle")
    assert (list(filter(None, paths)), errors) == (["/r/moves"] * 3, [])
    visit.close()


def test_examples_are_those_of_the_tables_there(visit: Visit) -> None:
    page = visit.page
    examples = page.locator("#examples a")
    expect(examples).to_have_count(12)

    def without_whole_game(route: Route) -> None:
        found = route.fetch().json()
        route.fulfill(json={"tables": [table for table in found["tables"] if table["rules"] == "r"]})

    page.route("**/tables", without_whole_game)
    page.reload()
    expect(examples).to_have_count(11)
    expect(page.get_by_text("The same without resets")).to_have_count(0)


@pytest.mark.everywhere
def test_promotion_by_the_dialog(visit: Visit) -> None:
    page = visit.page
    page.locator("#fen").fill("8/1P6/8/8/8/2k5/8/K7 w - - 0 1")
    page.keyboard.press("Enter")
    expect(page.locator("[data-uci=b7b8r]")).to_be_visible()
    visit.drag("b7", "b8")
    page.locator(".promotion-dialog-button[data-piece=wr]").click()
    expect(page.locator("#played")).to_contain_text("b8=R")


@pytest.mark.everywhere
def test_the_slider_shows_every_accrued_score(browser: Browser, address: str, tables: Path) -> None:
    visit = Visit(browser, address, f"?fen={PAWN.replace(' ', '_')}&accrued=-G2.5")
    page, value = visit.page, visit.page.locator("#value")
    expect(value).to_have_text("-G3.5")
    with open_tablebase(tables) as opened:
        own = opened.probe(PAWN).position_score
        stops = sorted(GScore(rank, white) for rank in range(2, own.rank + 1) for white in (True, False))
        worth = {str(stop): str(opened.probe(PAWN, accrued=stop).value) for stop in stops}
        fresh = str(opened.probe(PAWN).value)
    slider = page.locator("#accrued")
    expect(slider).to_have_attribute("max", str(len(stops) - 1))
    assert slider.input_value() == str(stops.index(GScore("-G2.5")))
    slider.focus()
    for stop in (stops[0], stops[-1]):
        page.keyboard.press("Home" if stop is stops[0] else "End")
        expect(page).to_have_url(re.compile(f"accrued={stop}$"))
        expect(value).to_have_text(worth[str(stop)])
    shown = set(page.locator("#band .segment").all_inner_texts())
    assert shown - {"kept", ""} <= set(worth.values())
    assert any(str(stop) == value for stop, value in worth.items()) == bool(shown & {"kept", *worth})
    slider.fill(str(stops.index(own)))
    expect(value).to_have_text(fresh)
    assert "accrued" not in asked(visit)
    visit.close()
    assert visit.wrong == []


@pytest.mark.everywhere
def test_a_game_is_followed(visit: Visit, browser: Browser, address: str) -> None:
    """Pasted, stepped through with what has accrued; the address alone restores it."""
    page = visit.page
    page.locator("#pgn").fill(GAME)
    page.get_by_role("button", name="Referee it").click()
    expect_outcome(page, "Result -G5.5 (by the tables), accrued at the end G2.0.")
    moves = page.locator("#played .step")
    expect(moves).to_have_count(168)
    with_tables = page.url
    here = page.locator("#played [aria-current]")
    first = int(asked(visit)["at"])
    assert chess.Board(page.locator("#fen").input_value()).occupied.bit_count() == 4
    assert chess.Board(_fen_at(visit, first - 1)).occupied.bit_count() == 5
    expect(page.locator("#sentence")).to_have_text(re.compile("has accrued so far"))
    expect(page.locator("#problem")).to_contain_text("tbgen build K")
    assert chess.Board(_fen_at(visit, 0)) == chess.Board()
    expect(page.locator("#problem")).to_contain_text("32 men")
    moves.last.click()
    expect(page.locator("#value")).to_have_text("-G5.5")
    expect(page.locator("#graph path")).to_have_count(2)
    expect(here).to_have_text(moves.last.inner_text())
    again = Visit(browser, address, with_tables.removeprefix(address).lstrip("/"))
    expect(again.page.locator("#played .step")).to_have_count(168)
    expect(again.page.locator("#fen")).to_have_value(chess.Board(_fen_at(visit, first)).fen())
    expect_outcome(again.page, "Result -G5.5 (by the tables), accrued at the end")
    expect(again.page.locator("#game-label")).to_have_text("Stockfish 15.1 depth 4 – GNU Chess 6.2.7 depth 5")
    again.close()
    assert again.wrong == []


def _fen_at(visit: Visit, ply: int) -> str:
    visit.page.locator("#played .step").nth(ply).click()
    expect(visit.page.locator("#played .step").nth(ply)).to_have_attribute("aria-current", "step")
    return visit.page.locator("#fen").input_value()


def test_a_game_is_restored_with_its_tags_and_its_end(visit: Visit, browser: Browser, address: str) -> None:
    """What decides on the result besides moves stands in the address too."""
    page = visit.page
    pgn = '[White "Ada"]\n[Black "Ben \\"B\\" B."]\n[Result "1-0"]\n[RMobilityFiftyMoveRule "none"]\n'
    page.locator("#pgn").fill(f'{pgn}[SetUp "1"]\n[FEN "{KBK}"]\n\n1... Kh5 2. Kf4 {{Black resigns}} 1-0\n')
    page.get_by_role("button", name="Referee it").click()
    outcome = page.locator("#outcome")
    expect(outcome).to_contain_text("Result G0.0 (resignation)")
    expect(page.locator("#game-label")).to_have_text('Ada – Ben "B" B.')
    again = Visit(browser, address, page.url.removeprefix(address).lstrip("/"))
    expect(again.page.locator("#outcome")).to_have_text(outcome.inner_text())
    expect(again.page.locator("#game-label")).to_have_text('Ada – Ben "B" B.')
    again.page.locator("[data-uci=g5h4]").click()
    expect(again.page.locator("#played .variation")).to_have_text("(1... Kh4 G1.5)")
    expect(again.page.locator("#game-label")).to_have_text('Ada – Ben "B" B.')
    again.close()
    assert again.wrong == []


VARIED = f"""[White "Ada"]
[Result "*"]
[SetUp "1"]
[FEN "{KBK}"]

1... Kh5 (1... Kh6 2. Kf6 (2. Bg6 Kxg6)) 2. Kf4 {{or (2. Kf5)}} Kh6 *
"""


@pytest.mark.everywhere
def test_another_move_is_a_variation(visit: Visit) -> None:
    """The game keeps its rest, players, result and the variations it came with; the address has all of it."""
    page = visit.page
    page.locator("#pgn").fill(VARIED)
    page.get_by_role("button", name="Referee it").click()
    steps, here = page.locator("#played .step"), page.locator("#played [aria-current]")
    expect(steps).to_have_text(["start", "Kh5", "Kh6", "Kf6", "Bg6?", "Kxg6", "Kf4", "Kh6"])
    expect(page.locator("#played .mistake")).to_have_text("G1.5 → G5.5")
    outcome = page.locator("#outcome").inner_text()
    page.wait_for_load_state("networkidle")  # the moves are those of what is shown
    page.locator("[data-uci=g5h5]").click()
    expect(here).to_have_text("Kh5")  # it is the move of the game
    visit.press("ArrowDown", "ArrowRight", "ArrowDown")
    expect(here).to_have_text("Bg6?")
    visit.press("ArrowUp", "ArrowLeft", "ArrowUp")
    expect(here).to_have_text("Kh5")
    page.wait_for_load_state("networkidle")  # the moves are those of what is shown
    page.locator("[data-uci=e5f6]").click()
    expect(steps).to_have_text(["start", "Kh5", "Kh6", "Kf6", "Bg6?", "Kxg6", "Kf4", "Kf6", "Kh6"])
    expect(page.locator("#graph .here")).to_have_count(1)
    page.reload()
    expect(page.locator("#game-label")).to_have_text("Ada – ?")
    expect(here).to_have_text("Kf6")
    expect(page.locator("#fen")).to_have_value("8/8/5K2/5B1k/8/8/8/8 b - - 2 2")
    expect(page.locator("#outcome")).to_have_text(outcome)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator("#copy-pgn").click()
    expect(page.locator("#said")).to_have_text("PGN copied")
    copied = chess.pgn.read_game(io.StringIO(page.evaluate("navigator.clipboard.readText()")))
    assert copied is not None
    assert copied.headers["White"] == "Ada"
    moves = "1... Kh5 ( 1... Kh6 2. Kf6 ( 2. Bg6 Kxg6 ) ) 2. Kf4 ( 2. Kf6 ) 2... Kh6 *"
    exporter = chess.pgn.StringExporter(headers=False, comments=False, columns=None)
    assert copied.accept(exporter) == moves
    page.locator("#delete").click()
    expect(here).to_have_text("Kh5")
    expect(steps).to_have_count(8)
    page.locator("#played .step", has_text="Kf6").click()
    page.locator("#delete").click()
    expect(steps).to_have_text(["start", "Kh5", "Kh6", "Bg6?", "Kxg6", "Kf4", "Kh6"])
    expect(page.locator("#outcome")).to_have_text(outcome)


def test_a_game_that_goes_on_has_no_result_yet(visit: Visit) -> None:
    """One more move at its end, and it was not resigned here; the browser's way back leads to the game."""
    page = visit.page
    page.locator("#pgn").fill(VARIED.replace("*", "1-0").replace("Kh6 1-0", "Kh6 {Black resigns} 1-0"))
    page.get_by_role("button", name="Referee it").click()
    outcome = page.locator("#outcome")
    expect(outcome).to_contain_text("Result G0.0 (resignation)")
    page.locator("#played .step").last.click()
    page.wait_for_load_state("networkidle")  # the moves are those of what is shown
    page.locator("#moves button").first.click()
    expect(outcome).to_have_text("")
    page.reload()
    expect(outcome).to_contain_text("Result G1.5 (by the tables)")
    expect(page.locator("#game-label")).to_have_text("Ada – ?")
    page.go_back()
    expect(outcome).to_contain_text("Result G0.0 (resignation)")


def test_many_games_are_a_table(visit: Visit, tmp_path: Path) -> None:
    """From a file, chosen or dropped: each with its result and a click to it; a broken one says why."""
    page, rows = visit.page, visit.page.locator("#games-rows tr")
    file = tmp_path / "event.pgn"
    file.write_text(f"{VARIED}\n{VARIED.replace('Kh5', 'Kh1')}\n{GAME}")
    page.locator("#pgn-file").set_input_files(file)
    expect(rows).to_have_count(3)
    expect(rows.nth(0)).to_have_text(re.compile(r"Ada – \?\s*\*\s*G1\.5 by the tables\s*3"))
    expect(rows.nth(1)).to_contain_text("'Kh1' is not a legal move")
    expect(rows.nth(2)).to_contain_text("-G5.5 by the tables")
    expect(page.locator("#games-rows .here")).to_contain_text("Ada")
    expect(page.locator("#game-label")).to_have_text("Ada – ?")
    rows.nth(2).get_by_role("button").click()
    expect(page.locator("#game-label")).to_have_text("Stockfish 15.1 depth 4 – GNU Chess 6.2.7 depth 5")
    expect(page.locator("#games-rows .here")).to_contain_text("Stockfish")
    expect(page.locator("#played .mistake")).to_have_text("G2.0 → -G5.5")
    expect(page.locator("#played .step").last).to_have_text(re.compile(r"\?\?$"))
    expect(page.locator("#graph .mistake")).to_have_count(1)
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
    expect(page.locator("#game-label")).to_have_text("Ada – ?")
    expect(page.locator("#games")).to_be_hidden()
    page.evaluate(dropping, "x" * (3 << 20))
    expect(page.locator("#pgn-problem")).to_have_text("The PGN has 3.0 MiB: give at most 2 MiB at once.")


@pytest.mark.everywhere
def test_comments_of_a_game_are_kept(visit: Visit) -> None:
    """Each is shown at its move, after a reload and after another move, too, and stands in the PGN."""
    page, steps = visit.page, visit.page.locator("#played .step")
    text = VARIED.replace("Kh5", "Kh5 {To the edge:} {safest}").replace("Kf6", "Kf6 {Or so}")
    page.locator("#pgn").fill(text)
    page.get_by_role("button", name="Referee it").click()
    comment = page.locator("#comment")
    steps.filter(has_text="Kh5").first.click()
    expect(comment).to_have_text("To the edge: safest")
    page.reload()
    expect(comment).to_have_text("To the edge: safest")
    steps.filter(has_text="Kf6").click()
    expect(comment).to_have_text("Or so")
    page.locator("#delete").click()
    expect(comment).to_have_text("")
    page.reload()
    steps.filter(has_text="Kh5").click()
    expect(comment).to_have_text("To the edge: safest")
    expect(page.locator("#played .said")).to_have_text(["Kh5", "Kf4"])


@pytest.mark.everywhere
def test_marks_of_a_game_are_kept(visit: Visit) -> None:
    """They stand beside their moves, those of tables with the values then, and in address and PGN."""
    page, steps = visit.page, visit.page.locator("#played .step")
    pgn = VARIED.partition("1...")[0] + (
        "1... Kh5!? (1... Kh6 $3 2. Kf6 (2. Bg6! $14 $240 Kxg6)) 2. Kf4 $6 {held} Kh6?? *"
    )
    page.locator("#pgn").fill(pgn)
    page.get_by_role("button", name="Referee it").click()
    marked = ["start", "Kh5!?", "Kh6!!", "Kf6", "Bg6!⩲", "Kxg6", "Kf4?!", "Kh6??"]
    expect(steps).to_have_text(marked)
    expect(page.locator("#played .mistake")).to_have_text("? G1.5 → G5.5")
    page.reload()
    expect(steps).to_have_text(marked)
    steps.filter(has_text="Kf6").click()
    page.locator("[data-uci=h6h5]").click()  # the game is another one now
    expect(steps).to_have_text([*marked[:6], "Kh5", *marked[6:]])
    page.locator("#delete").click()
    page.reload()
    expect(steps).to_have_text(marked)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator("#copy-pgn").click()
    expect(page.locator("#said")).to_have_text("PGN copied")
    pasted, copied = (
        chess.pgn.read_game(io.StringIO(text)) or chess.pgn.Game()
        for text in (pgn, page.evaluate("navigator.clipboard.readText()"))
    )
    exported = [
        game.accept(chess.pgn.StringExporter(headers=False, columns=None)) for game in (pasted, copied)
    ]
    assert exported[0] == exported[1]
    assert "( 1... Kh6 $3 2. Kf6 ( 2. Bg6 $1 $14 $240 Kxg6 ) )" in exported[0]


@pytest.mark.everywhere
def test_a_game_may_have_long_pauses(visit: Visit) -> None:
    """Blanks before its end do not hold the page up."""
    page = visit.page
    page.locator("#pgn").fill(f'[White "Ada"]\n\n1. e4 e5{" " * 16_000}2. d4 {{Black resigns}} 1-0\n')
    page.get_by_role("button", name="Referee it").click()
    expect(page.locator("#game-label")).to_have_text("Ada – ?")
    expect_outcome(page, "Result G0.0 (resignation)")
    assert "#game=" in page.url
    assert "Black+resigns" in page.url


@pytest.mark.everywhere
def test_the_address_has_all_of_the_state(browser: Browser, address: str) -> None:
    """Position, score, moves, ply, rules and side come from it; a long line goes behind its hash."""
    query = f"?fen={PAWN.replace(' ', '_')}&accrued=-G2.5&line=Kh7_Kf7_f6&at=2&rules=wg&side=black"
    visit = Visit(browser, address, query)
    page = visit.page
    expect(page.locator("#played [aria-current]")).to_have_text("Kf7")
    expect(page.locator("#fen")).to_have_value("8/5k1K/8/5P2/8/8/8/8 w - - 3 61")
    expect(page.locator("#rules")).to_have_value("wg")
    expect(page.locator("#accrued-text")).to_have_text("-G2.5")
    x, y = visit.square("a8")
    assert page.evaluate(f"document.elementFromPoint({x}, {y}).dataset.square") == "h1"
    page.locator("#flip").click()
    expect(page).to_have_url(re.compile("rules=wg$"))
    page.go_back()
    expect(page).to_have_url(f"{address}/{query}")
    kept = """async () => {
        const {DEFAULT, read, written} = await import("/page/state.js")
        const line = Array(1500).fill("Rh8+"), head = '[White "é & #1"]'
        return [{}, {line, head, at: 3}, {line: ["O-O", "0.b8=Q"], at: 2, setup: true}].map(given => {
            const state = {...DEFAULT, ...given}
            const url = new URL(written(state), location)
            const same = JSON.stringify(read(url.search, url.hash)) === JSON.stringify(state)
            return [same, url.search.length < 5000]
        })
    }"""
    assert page.evaluate(kept) == [[True, True]] * 3
    visit.close()
    assert visit.wrong == []


@pytest.mark.everywhere
def test_play_goes_on_beyond_the_tables(visit: Visit) -> None:
    """From the first position of chess, with a table missing, by castling into the tables."""
    page, sentence = visit.page, visit.page.locator("#sentence")

    def show(fen: str) -> None:
        page.locator("#fen").fill(fen)
        page.keyboard.press("Enter")

    show(chess.STARTING_FEN)
    expect(page.locator("#problem")).to_contain_text("32 men")
    expect(page.locator("#moves [data-uci]")).to_have_count(20)
    visit.drag("e2", "e4")
    expect(page.locator("#played")).to_have_text(re.compile(r"start 1\. e4"))
    page.locator("#typed").fill("e5")
    page.keyboard.press("Enter")
    page.locator("[data-uci=d1h5]").click()
    expect(page.locator("#played")).to_have_text(re.compile(r"start 1\. e4 e5 2\. Qh5"))
    board = chess.Board()
    for san in ("e4", "e5", "Qh5"):
        board.push_san(san)
    expect(page.locator("#fen")).to_have_value(board.fen())
    expect(sentence).to_have_text(
        f"No table says what this is worth. {GScore.of_board(board)} has accrued so far."
    )
    page.reload()
    expect(page.locator("#fen")).to_have_value(board.fen())
    page.locator("#undo").click()
    board.pop()
    expect(page.locator("#fen")).to_have_value(board.fen())

    show("4k3/8/8/8/8/8/8/KBBN4 w - - 0 1")
    expect(page.locator("#problem")).to_contain_text("tbgen build KBBNvK")
    page.locator("[data-uci=a1a2]").click()
    expect(page.locator("#problem")).to_contain_text("tbgen build KBBNvK")
    page.locator("#rules").select_option("classical")
    expect(page.locator("#moves h3")).to_have_text("leads where no table says it")

    page.locator("#rules").select_option("r")
    show("4k3/8/8/8/8/8/8/4K2R w K - 0 1")
    expect(page.locator("#problem")).to_contain_text("castling rights")
    expect(page.locator("[data-uci=e1g1]")).to_be_visible()  # why there is no answer is said before the moves
    visit.drag("e1", "g1")
    expect(page.locator("#played")).to_have_text(re.compile("O-O"))
    expect(sentence).to_contain_text("mates in")
    expect(page.locator("#board [data-piece=wr]")).to_have_attribute("data-square", "f1")


@pytest.mark.everywhere
def test_views_samples_values_and_copies(visit: Visit, tables: Path) -> None:
    page = visit.page
    (entry,) = inventory(tables, Variant.R_MOBILITY, [Material.parse("KBvK")], counts=True)
    assert entry.counts is not None
    counted = entry.counts[0][GScore("G0.5")]
    page.get_by_role("link", name="In classical chess").click()
    expect(page.locator("#sentence")).to_have_text("Black wins in 10 plies.")
    expect(page.locator("#accruing")).to_be_hidden()
    page.locator("#step").click()
    expect(page.locator("#sentence")).to_have_text("Black wins in 9 plies.")
    expect(page.locator("#end")).to_be_disabled()
    page.locator("#rules").select_option("r")
    expect(page.locator("#value")).to_have_text("-G0.0")
    assert asked(visit)["line"] == "Kb2"
    page.locator("#sample-material").fill("KBvK")
    page.locator("#sample-value").fill("G0.5")
    page.locator("#sampling button").click()
    expect(page.locator("#value")).to_have_text("G0.5")
    expect(page.locator("#stats .here th")).to_have_text("G0.5")
    expect(page.locator("#stats .here td").first).to_have_text(f"{counted:,}")
    page.locator("#sample-material").fill("")
    page.locator("#sample-value").fill("-G0.0")
    page.locator("#sampling button").click()
    expect(page.locator("#value")).to_have_text("-G0.0")
    page.locator("#sample-material").fill("KBvK")
    page.locator("#sample-value").fill("G60.5")
    page.locator("#sampling button").click()
    expect(page.locator("#sampling-problem")).to_have_text("KBvK has no such position")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    for what, pattern in (
        ("fen", r"[\w/]+ [wb] - - .*"),
        ("pgn", r'(?s).*\[FEN "'),
        ("svg", "<svg"),
        ("link", "http"),
    ):
        page.locator(f"#copy-{what}").click()
        expect(page.locator("#said")).to_have_text(re.compile(f"^{what} copied", re.IGNORECASE))
        assert re.match(pattern, page.evaluate("navigator.clipboard.readText()"))


def test_from_a_position_to_its_report_and_back(visit: Visit) -> None:
    page = visit.page
    expect(page.get_by_role("link", name="Reports")).to_be_visible()
    link = page.locator("#material-report")
    link.click()
    expect(page).to_have_title("tables/KBvK.r.html")
    page.go_back()
    expect(page.locator("#value")).to_have_text("G1.5")
    page.get_by_role("link", name="In classical chess").click()
    expect(page.locator("#material-name")).to_have_text("KRvK in r-mobility")
    expect(link).to_be_hidden()


@pytest.mark.everywhere
def test_the_reply_to_a_move_is_shown(visit: Visit) -> None:
    visit.page.wait_for_load_state("networkidle")  # what comes later is drawn under the pointer
    visit.page.locator("[data-uci=g5h5]").hover()
    expect(visit.page.locator("#reply")).to_have_text("Kh5, and the reply is Kf4")
    assert visit.page.locator("#board .arrow").count() == 2


LOCKED = "8/4k3/5p1p/7P/4K1P1/8/8/8 w - - 22 72"


def test_solving_is_told_as_it_goes_on(visit: Visit) -> None:
    """The page shows what events say; that the server sends such ones is tested in test_solving.py."""
    page = visit.page
    solved: dict[str, Any] = {
        **dict.fromkeys(("value", "lower", "upper"), "G4.5"),
        "fen": LOCKED,
        "claims": {"lower": "White can force G4.5 (Black has 4 moves)", "upper": None},
        "plans": {"lower": [{"uci": "e4d3", "san": "Kd3"}, {"uci": "e7d7", "san": "Kd7"}], "upper": []},
        "gaps": [],
        "narrowing": None,
        "stopped_by": None,
        "points": {end: {"white": 0.501, "black": 0.499} for end in ("lower", "upper")},
        "moves": [
            {"san": "Kd3", "lower": "G4.5", "upper": "G4.5"},
            {"san": "g5", "lower": "-G0.0", "upper": "-G0.5"},
        ],
    }
    told = [("interval", {"lower": "-G0.0", "upper": "G4.5", "cells": 3}), ("solution", solved)]
    body = "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in told)
    page.locator("#fen").fill(f"{LOCKED} G4.5")
    page.keyboard.press("Enter")
    solve = page.get_by_role("button", name="Solve it here")
    page.route(
        "**/r/solve*", lambda route: route.fulfill(status=503, json={"code": "busy", "message": "later"})
    )
    solve.click()
    expect(page.locator("#problem")).to_have_text("later")
    page.unroute_all()
    begun = body.partition("event: solution")[0]
    page.route("**/r/solve*", lambda route: route.fulfill(content_type="text/event-stream", body=begun))
    page.reload()
    solve.click()
    expect(page.locator(".bar")).to_have_attribute("aria-label", "from -G0.0 to G4.5")
    page.unroute_all()
    page.route("**/r/solve*", lambda route: route.fulfill(content_type="text/event-stream", body=body))
    page.reload()
    solve.click()
    expect(page.locator("#value")).to_have_text("G4.5")
    expect(page.locator("#problem")).to_contain_text("Proved: best play comes to G4.5, 0.501-0.499.")
    expect(page.locator("#problem li").last).to_have_text("g5 -G0.0 to -G0.5")
    expect(page.locator(".ends figure")).to_have_text("White can force G4.5 (Black has 4 moves): Kd3 Kd7")
    assert page.locator(".ending use").count() == 6
    lines = page.locator(".ending .arrow line")
    assert [lines.nth(number).get_attribute("x1") for number in range(2)] == ["180", "180"]
    gap = {"text": "White's g-pawn promotes in 2 positions: needs 3 mobile men, 437.50 MiB"}
    solved |= {"value": None, "lower": "-G0.0", "upper": "G0.0", "stopped_by": "memory", "gaps": [gap]}
    solved |= {"claims": {"lower": None, "upper": None}}
    body = f"event: solution\ndata: {json.dumps(solved)}\n\n"
    page.reload()
    solve.click()
    expect(page.locator("#value")).to_have_text("not known")
    expect(page.locator("#problem")).to_contain_text("Nothing is known of the value. Stopped by: memory.")
    expect(page.locator(".gaps li")).to_have_text(f"{gap['text']}.")
    expect(page.locator(".ending")).to_have_count(0)
    page.locator("#fen").fill(chess.STARTING_FEN)
    page.keyboard.press("Enter")
    expect(page.locator("#problem")).to_contain_text("32 men")
    expect(solve).to_have_count(0)


STATES = {
    "start": "",
    "setup": "?fen=8/8/8/2K3k1/8/8/8/8_w_-_-_0_1&setup&accrued=-G5.5",
    "game": f"?fen={KBK.replace(' ', '_')}&line=Kh5_Kf4_Kh6_Kg4_0.Kh6_Bg6&at=6",
    "missing": "?fen=4k3/8/8/8/8/8/8/KBBN4_w_-_-_0_1",
}


@pytest.mark.everywhere
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 390])
def test_looks(width: int, scheme: str, browser: Browser, address: str) -> None:
    """Nothing serious for people with disabilities, and nothing wider than the screen."""
    touch = width < 500
    visit = Visit(
        browser, address, color_scheme=scheme, has_touch=touch, viewport={"width": width, "height": 844}
    )
    for query in STATES.values():
        visit.page.goto(f"{address}/{query}")
        visit.page.locator("#facts dd, #problem p").first.wait_for()
        visit.page.locator("#board .pieces [data-piece]").first.wait_for()
        assert not visit.too_wide()
        if not (touch and query):  # colours and names do not depend on the width
            assert visit.violations() == []
    if touch:
        visit.page.goto(f"{address}/")
        visit.page.locator("[data-uci=g5h5]").wait_for()
        visit.page.touchscreen.tap(*visit.square("g5"))
        visit.page.touchscreen.tap(*visit.square("h5"))
        expect(visit.page.locator("#sentence")).to_contain_text("in 3 plies")
    visit.close()
    assert visit.wrong == []
