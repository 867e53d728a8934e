"""The explorer in a browser, by mouse, touch and keys."""

import re
from itertools import product
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import chess
import pytest
from playwright.sync_api import Route, expect

from tbgen.board.material import Material
from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.probe.tablebase import open_tablebase
from tbgen.tables.inventory import inventory
from tests.support.browsing import DESK, PHONE, SHIFTS, Visit
from tests.web.conftest import Opener

pytestmark = pytest.mark.slow

KBK = "8/8/8/4KBk1/8/8/8/8 b - - 0 1"
PAWN = "8/8/5k1K/5P2/8/8/8/8 w - - 1 60"
ROOKS = "8/8/8/4k3/8/8/8/K1Q4R w - - 0 1"
BEYOND = "4k3/8/8/8/8/8/8/KBBN4 w - - 0 1"
"""A position of a table that is missing."""


def missing(visit: Visit) -> str:
    """Return a part of the message about the missing table KBBNvK, which a server's users can build."""
    if visit.is_served():
        return "tbgen build KBBNvK"
    return "Table KBBNvK is not here: this site has tables of up to 4 men."


def draw_arrows(visit: Visit) -> None:
    mouse, own = visit.page.mouse, visit.page.locator("#board .arrow-note")

    def draw(start: str, end: str, button: Literal["left", "right"] = "right") -> None:
        mouse.move(*visit.square(start))
        mouse.down(button=button)
        mouse.move(*visit.square(end))
        mouse.up(button=button)

    draw("a1", "c3")
    draw("e5", "e5")
    visit.sees({"#board .arrow-note": 2, "#board .arrow-note.ring": 1, "#board .marker-frame": 0})
    draw("e5", "e5")
    expect(own).to_have_count(1)
    mouse.click(*visit.square("h8"))
    expect(own).to_have_count(0)
    visit.page.locator("#draw").click()
    draw("g5", "h5", "left")
    visit.page.locator("#draw").click()
    expect(own).to_have_count(1)
    visit.go("?fen=8/6k1/8/4K3/8/8/8/8_b_-_-_0_1")
    expect(own).to_have_count(0)
    visit.go()
    visit.has_depth(4)


@pytest.mark.everywhere
def test_play_history_and_best_line(visit: Visit, tables: Path) -> None:
    """Moves are made by dragging and clicking, and survive a reload; the line is that of the tables.

    The right button draws arrows and circles, and so does the main one after the button Draw. Drawn again,
    they vanish; a click and another position remove all.
    """
    page = visit.page
    draw_arrows(visit)
    visit.drag("g5", "f4")  # no legal move
    visit.drag("g5", "h5")
    visit.has_depth(3)
    assert visit.asked() == {"fen": KBK, "line": "Kh5"}
    visit.settle()
    visit.until(lambda: visit.square_at(*visit.square("e5")) == "e5")
    page.mouse.click(*visit.square("e5"))
    page.mouse.click(*visit.square("f4"))
    visit.has_depth(2)
    page.go_back()
    visit.has_depth(3)
    page.reload()
    visit.has_depth(3)
    expect(page.locator("#played")).to_have_text(re.compile("start 1... Kh5"))
    visit.click("#first")
    visit.has_depth(4)
    visit.click("#end", "that has accrued")
    with open_tablebase(tables) as opened:
        assert visit.asked()["line"].split() == [ply.san for ply in opened.line(KBK)]
    assert len(re.findall(rb"/Type\s*/Page\b", page.pdf())) == 1
    visit.click("#undo")
    visit.has_depth(4)
    visit.click("#run", "that has accrued")


@pytest.mark.everywhere
def test_keys(visit: Visit) -> None:
    """Keys make moves on the board and in the field, and step through the game, after the mouse too.

    A refused move and its message disappear with the position, but not when the board is turned.
    """
    page, problem = visit.page, visit.page.locator("#typing-problem")
    page.keyboard.press("Tab")
    while not page.evaluate("document.activeElement.classList.contains('chessboard')"):
        page.keyboard.press("Tab")
    visit.go_to_square("g5")
    page.keyboard.press("Enter")
    visit.go_to_square("h5", "g5")
    page.keyboard.press("Enter")
    visit.has_depth(3)
    visit.enter("#typed", "Kf4")
    visit.has_depth(2)
    page.locator("#moves button").first.focus()
    page.keyboard.press("Enter")
    visit.has_depth(1)
    expect(page.locator("#moves button").first).to_be_focused()
    page.locator("#step").focus()
    visit.press("ArrowLeft", "ArrowLeft", "ArrowLeft")
    visit.has_depth(4)
    page.locator("#fen").focus()
    visit.drag("g5", "h5")
    visit.has_depth(3)
    visit.press("ArrowLeft")
    visit.has_depth(4)
    visit.press("ArrowRight")
    visit.has_depth(3)
    expect(page.locator("#board .marker-focus")).to_have_count(0)
    visit.enter("#typed", "Kz9")
    page.locator("#flip").click()
    expect(problem).to_have_text("Kz9 is not a legal move here.")
    page.get_by_role("link", name="Bare kings").click()
    expect(problem).to_have_text("")
    expect(page.locator("#typed")).to_have_value("")
    visit.enter("#fen", f"{PAWN} -G2.5")
    visit.sees({"#accrued-text": "-G2.5", "#value": "-G3.5"})


@pytest.mark.everywhere
def test_set_up_and_castling(visit: Visit) -> None:
    """Men are set up by clicks, from the palette and by letters, moved and removed; errors are shown.

    Invalid positions cause no request and cannot be played. Castling leads into tables, which give its value.
    """
    page, fen, answered = visit.page, visit.page.locator("#fen"), list[int]()
    page.on("response", lambda response: answered.append(response.status))
    page.locator("#setup").click()
    visit.click("#clear", "White has no king; each side needs exactly one.", "#problem")
    expect(page.locator("#play-on")).to_be_hidden()
    page.locator("[data-tool=K]").click()
    page.mouse.click(*visit.square("c5"))
    box = visit.box("[data-tool=k]")
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    page.mouse.down()
    page.mouse.move(*visit.square("h5"), steps=3)
    page.mouse.up()
    page.locator("[data-tool='']").click()
    visit.drag("h5", "g5")
    expect(page.locator("#value")).to_have_text("-G8.5")
    expect(page.locator("#play-on")).to_be_visible()
    assert visit.asked() == {"fen": "8/8/8/2K3k1/8/8/8/8 w - - 0 1", "setup": ""}
    assert 400 not in answered
    page.mouse.click(*visit.square("b2"))
    page.keyboard.press("P")  # on the square that the mouse pointed at
    expect(page.locator("#value")).to_have_text("G0.0")
    for button, then in (
        ("black", "8/8/8/2K3k1/8/8/1P6/8 b"),
        ("swap", "8/1p6/8/8/2k3K1/8/8/8 w"),
        ("mirror", "8/6p1/8/8/1K3k2/8/8/8 w"),
    ):
        page.locator(f"#{button}").click()
        expect(fen).to_have_value(f"{then} - - 0 1")
    board = visit.box("#board")
    visit.drag("g7", (board["x"] + board["width"] + 20, board["y"] + 100))
    expect(fen).to_have_value("8/8/8/8/1K3k2/8/8/8 w - - 0 1")
    page.locator("#undo").click()
    expect(fen).to_have_value("8/6p1/8/8/1K3k2/8/8/8 w - - 0 1")
    visit.enter("#fen", "4k3/8/8/8/8/8/8/4K2R w - - 0 1")
    page.locator("#rights").get_by_label("White O-O").check()
    expect(fen).to_have_value("4k3/8/8/8/8/8/8/4K2R w K - 0 1")
    page.locator("#setup").click()
    visit.sees({"#palette:visible": 0, "#problem": "", "#moves h3": "gets G0.0 1.0000-0.0000"})
    expect(page.locator("#sentence")).to_have_text("White mates in 11 moves.")
    expect(page.locator("#line button").last).to_have_text(re.compile("#$"))
    visit.drag("e1", "g1")
    expect(page.locator("#board [data-man=R]")).to_have_attribute("data-square", "f1")
    expect(page.locator("#sentence")).to_contain_text("mates in")


@pytest.mark.everywhere
def test_the_address_has_all_of_the_state(visit: Visit, address: str) -> None:
    """The address has position, score, moves, ply, rules and side; a long line is in its hash.

    An error in the address is shown. The slider has every accrued score, and writes it into the address.
    """
    page, problem, value = visit.page, visit.page.locator("#problem"), visit.page.locator("#value")
    query = f"?fen={PAWN.replace(' ', '_')}&accrued=-G2.5&line=Kh7_Kf7_f6&at=2&rules=wg&side=black"
    visit.go(query)
    visit.sees({"#played [aria-current]": "Kf7", "#accrued-text": "-G2.5"})
    expect(page.locator("#fen")).to_have_value("8/5k1K/8/5P2/8/8/8/8 w - - 3 61")
    expect(page.locator("#rules")).to_have_value("wg")
    visit.until(lambda: visit.square_at(*visit.square("a8")) == "h1")
    page.locator("#flip").click()
    expect(page).to_have_url(re.compile("rules=wg$"))
    page.go_back()
    expect(page).to_have_url(f"{address}/{query}")
    visit.go("?line=Kh9")
    expect(problem).to_have_text(re.compile("^(?!.*line).*'Kh9' is not a legal move"))
    visit.go(f"?fen={PAWN.replace(' ', '_')}&accrued=-G2.5")
    expect(value).to_have_text("-G3.5")
    slider = page.locator("#accrued")
    assert slider.input_value() == "3"
    slider.focus()
    for key, accrued, worth in (("Home", "-G1.0", "-G3.5"), ("End", "G1.0", "-G4.5")):
        page.keyboard.press(key)
        expect(page).to_have_url(re.compile(f"accrued={accrued}$"))
        expect(value).to_have_text(worth)
    slider.fill("3")  # the score of the position alone
    expect(value).to_have_text("-G3.5")
    assert "accrued" not in visit.asked()


@pytest.mark.everywhere
def test_play_goes_on_beyond_the_tables(visit: Visit) -> None:
    """Play continues from the initial position and with a missing table; mates need no table."""
    page, fen, problem = visit.page, visit.page.locator("#fen"), visit.page.locator("#problem")
    visit.enter("#fen", chess.STARTING_FEN)
    expect(problem).to_contain_text("32 men")
    visit.sees({"#moves [data-uci]": 20})
    visit.settle()
    asked, errors = list[str](), list[str]()
    page.on("console", lambda message: errors.append(message.text))
    page.on("request", lambda request: asked.append(urlsplit(request.url).path))
    visit.drag("e2", "e4")
    visit.enter("#typed", "e5")
    page.locator("[data-uci=d1h5]").click()
    visit.sees({"#played": "start 1. e4 e5 2. Qh5 "})
    board = chess.Board("rnbqkbnr/pppp1ppp/8/4p2Q/4P3/8/PPPP1PPP/RNB1KBNR b KQkq - 1 2")
    expect(fen).to_have_value(board.fen())
    accrued = GScore.of_board(board)
    visit.sees({"#sentence": f"No table says what this is worth. {accrued} has accrued so far."})
    visit.enter("#fen", BEYOND.replace("4k3", "3k4"))
    expect(problem).to_contain_text(missing(visit))
    visit.settle()
    if visit.is_served():  # a step is one request, and no error in the browser's console
        assert [path for path in asked if path != "/page/icon.svg"] == ["/r/moves"] * 4
    assert errors == []
    for _ in range(2):
        page.go_back()
    expect(fen).to_have_value("rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2")
    visit.enter("#fen", BEYOND)
    page.locator("#rules").select_option("classical")
    visit.sees({"#moves h3": "without values"})
    page.locator("#rules").select_option("r")
    visit.enter("#fen", "4k3/8/8/8/8/8/7P/4K2R w K - 0 1")
    expect(problem).to_contain_text("castling rights")
    stripe = "element => getComputedStyle(element).borderLeftColor"
    wrong = page.locator(".verdict").evaluate(stripe)
    for mate in (
        "r1bqkb1r/pppp1Qpp/2n2n2/4p3/2B1P3/8/PPPP1PPP/RNB1K1NR b KQkq - 0 4",
        "7k/8/4B1K1/4B3/8/8/3N4/8 b - - 0 1",
    ):
        visit.enter("#fen", mate)
        visit.sees({"#sentence": "Black is mated.", "#problem": ""})
    expect(page.locator("#stats-problem")).to_contain_text("KBBNvK is ")
    assert page.locator(".verdict").evaluate(stripe) != wrong
    visit.enter("#fen", "8/1P6/8/8/8/2k5/8/K7 w - - 0 1")
    expect(page.locator("[data-uci=b7b8r]")).to_be_visible()
    visit.drag("b7", "b8")
    page.locator(".promotion [data-man=R]").click()
    expect(page.locator("#played")).to_contain_text("b8=R")


@pytest.mark.everywhere
def test_every_best_move_has_an_arrow(visit: Visit, tables: Path) -> None:
    """Moves of equal value and depth have arrows; in a drawn view, where all moves are equal, one move has.

    The reply to the move under the pointer has an arrow, too. A view names the side that mates.
    """
    page, sentence = visit.page, visit.page.locator("#sentence")
    with open_tablebase(tables) as known:
        moves = known.moves(ROOKS)
    best = [move for move in moves if (move.value, move.depth) == (moves[0].value, moves[0].depth)]
    assert len(best) > 1
    visit.enter("#fen", ROOKS)
    expect(page.locator("#board .arrow")).to_have_count(len(best))
    visit.enter("#fen", KBK)
    visit.has_depth(4)
    visit.settle()  # so that nothing is drawn under the pointer later
    page.locator("[data-uci=g5h5]").hover()
    visit.sees({"#reply": "Kh5, and the reply is Kf4", "#board .arrow": 2})
    page.locator("#rules").select_option("classical")
    visit.sees({"#sentence": "A draw with best play.", "#board .arrow": 1})
    page.locator("#setup").click()
    expect(page.locator("#board .arrow")).to_have_count(0)
    page.get_by_role("link", name="In classical chess").click()
    expect(sentence).to_have_text("Black wins in 5 moves.")
    expect(page.locator("#accruing")).to_be_hidden()
    page.locator("#step").click()
    expect(page.locator("#played")).to_contain_text("Kb2")
    expect(page.locator("#end")).to_be_disabled()
    page.locator("#rules").select_option("r")
    expect(page.locator("#value")).to_have_text("-G0.0")
    assert visit.asked()["line"] == "Kb2"


@pytest.mark.everywhere
def test_examples_samples_and_reports(visit: Visit, tables: Path) -> None:
    page, report = visit.page, visit.page.locator("#material-report")
    expect(page.locator("#examples a")).to_have_count(12)
    if visit.is_served():
        expect(report).to_be_visible()
        assert report.evaluate("link => link.href").endswith("/report/tables/KBvK.r.html")
    page.get_by_role("link", name="In classical chess").click()
    expect(page.locator("#material-name")).to_have_text("KRvK in r-mobility")
    expect(report).to_be_hidden()
    page.locator("#rules").select_option("r")
    (entry,) = inventory(tables, Variant.R_MOBILITY, [Material.parse("KBvK")], counts=True)
    assert entry.counts is not None
    counted = entry.counts[0][GScore("G0.5")]
    shown = {
        "#stats .note a": "23 moves",
        "#stats .here th": "G0.5",
        "#stats .here td >> nth=0": f"{counted:,}",
    }
    none = {"#sampling-problem": "no such position of KBvK was found: there is none, or it is rare"}
    for value, seen in ("G0.5", shown), ("G60.5", none):
        page.locator("#sample-material").fill("KBvK")
        page.locator("#sample-value").fill(value)
        page.locator("#sampling button").click()
        visit.sees(seen)


STATES = {
    "start": "",
    "setup": "?fen=8/8/8/2K3k1/8/8/8/8_w_-_-_0_1&setup&accrued=-G5.5",
    "game": f"?fen={KBK.replace(' ', '_')}&line=Kh5_Kf4_Kh6_Kg4_0.Kh6_Bg6&at=6",
    "missing": f"?fen={BEYOND.replace(' ', '_')}",
}


@pytest.mark.exhaustive
@pytest.mark.everywhere
@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_a_phone(scheme: str, opened: Opener) -> None:
    """Board, verdict and bar fit on the screen, and the bar stays in place whatever is played or set up.

    The page has no serious accessibility problem, and nothing is wider than the screen.
    """
    visit = opened(color_scheme=scheme, has_touch=True, viewport=PHONE)
    page = visit.page
    visit.has_depth(4)

    def tops() -> list[float]:
        return [visit.box(name)["y"] for name in ("#board", "#walk", "#forward")]

    before = tops()
    last, said = visit.box("#walk"), visit.box("#sentence")
    assert last["y"] + last["height"] <= PHONE["height"]
    assert said["y"] + said["height"] <= last["y"]
    for button, depth in (("forward", 3), ("last", 0), ("first", 4)):
        page.locator(f"#{button}").tap()
        visit.has_depth(depth)
        expect(page.locator("#last")).to_be_enabled(enabled=button != "last")
    assert tops() == before
    page.touchscreen.tap(*visit.square("g5"))
    page.touchscreen.tap(*visit.square("h5"))
    visit.has_depth(3)
    page.locator("#setup").tap()
    expect(page.locator("#palette")).to_be_visible()
    assert tops() == before
    for query in STATES.values():
        visit.go(query)
        visit.settle()
        assert not visit.too_wide()
        visit.audit()


def test_nothing_moves_while_pages_load(opened: Opener) -> None:
    """Answers come late: in the explorer, while setting up, in a line, in a lesson, and beyond the tables."""
    beyond = f"?fen={BEYOND.replace(' ', '_')}"
    queries = ("", "?setup", "?line=Kh5_Kf4", "#how=3", beyond)
    for query, viewport in product(queries, (DESK, PHONE)):
        visit = opened(query, script=SHIFTS, viewport=viewport)
        assert visit.shift() < 0.01, (query, viewport)


def test_a_finger_drags_a_man_and_not_the_page(opened: Opener) -> None:
    visit = opened(has_touch=True, viewport=PHONE)
    visit.has_depth(4)
    finger = visit.page.context.new_cdp_session(visit.page)
    way = {"touchStart": ["g5"], "touchMove": ["g3", "h4", "h5"], "touchEnd": [""]}
    for kind, squares in way.items():
        for square in squares:
            points = [dict(zip("xy", visit.square(square), strict=True))] if square else []
            finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    visit.has_depth(3)


def test_what_comes_late_is_of_no_other_position(visit: Visit) -> None:
    """Best play that arrives after the position has changed is not played."""
    page = visit.page
    lines: list[Route] = []
    answers: list[Route] = []
    page.route("**/r/mainline?*", lambda route: lines.append(route))
    page.reload()
    visit.until(lambda: lines)
    page.route("**/r?*", lambda route: answers.append(route))
    visit.enter("#fen", f"{PAWN} -G2.5")
    visit.until(lambda: answers)
    with page.expect_event("requestfinished"):
        lines[0].continue_()
    visit.draw()
    page.locator("#flip").focus()
    page.keyboard.press("ArrowRight")
    answers[0].continue_()
    page.unroute_all()
    expect(page.locator("#sentence")).to_contain_text("White gets down to three legal moves")
    assert visit.asked() == {"fen": PAWN, "accrued": "-G2.5"}
