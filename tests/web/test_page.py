"""The page as its users have it: in a browser, by mouse, touch and keys."""

import re
from pathlib import Path
from urllib.parse import urlsplit

import chess
import pytest
from playwright.sync_api import Response, Route, expect

from tbgen.board.material import Material
from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.probe.tablebase import open_tablebase
from tbgen.store.inventory import inventory
from tests.support.browsing import Visit
from tests.support.exhaustive import exhaustive
from tests.web.conftest import Opener

pytestmark = pytest.mark.slow

KBK = "8/8/8/4KBk1/8/8/8/8 b - - 0 1"
PAWN = "8/8/5k1K/5P2/8/8/8/8 w - - 1 60"
BEYOND = "4k3/8/8/8/8/8/8/KBBN4 w - - 0 1"
"""A position of a table that is missing."""


def is_served(visit: Visit) -> bool:
    return not visit.page.locator("html[data-static]").count()


def missing(visit: Visit) -> str:
    """What is said of the table KBBNvK, which can be built where there is a server."""
    if is_served(visit):
        return "tbgen build KBBNvK"
    return "Table KBBNvK is not here: this site has tables of up to 4 men."


@pytest.mark.everywhere("daily")
def test_play_history_and_best_line(visit: Visit, tables: Path) -> None:
    """Played by dragging and clicking; back and reload restore; the line to the end is that of the tables."""
    page, sentence = visit.page, visit.page.locator("#sentence")
    visit.drag("g5", "f4")  # no legal move
    visit.drag("g5", "h5")
    expect(sentence).to_contain_text("in 3 plies")
    assert visit.asked() == {"fen": KBK, "line": "Kh5"}
    page.mouse.click(*visit.square("e5"))
    page.mouse.click(*visit.square("f4"))
    expect(sentence).to_contain_text("in 2 plies")
    page.go_back()
    expect(sentence).to_contain_text("in 3 plies")
    page.reload()
    expect(sentence).to_contain_text("in 3 plies")
    expect(page.locator("#played")).to_have_text(re.compile("start 1... Kh5"))
    visit.click("#first", "in 4 plies")
    visit.click("#end", "that has accrued")
    with open_tablebase(tables) as opened:
        assert visit.asked()["line"].split() == [ply.san for ply in opened.line(KBK)]
    visit.click("#undo", "in 4 plies")
    visit.click("#run", "that has accrued")


@pytest.mark.everywhere
def test_keys(visit: Visit) -> None:
    """A move on the board, one in the field, the game by arrows, another position; also after the mouse.

    A move that was refused, and what is said of it, goes with its position; a board that is only turned keeps
    both.
    """
    page, sentence = visit.page, visit.page.locator("#sentence")
    typed, problem = page.locator("#typed"), page.locator("#typing-problem")
    page.keyboard.press("Tab")
    while not page.evaluate("document.activeElement.classList.contains('cm-chessboard')"):
        page.keyboard.press("Tab")
    visit.go_to_square("g5")
    page.keyboard.press("Enter")
    visit.go_to_square("h5", "g5")
    page.keyboard.press("Enter")
    expect(sentence).to_contain_text("in 3 plies")
    for text in ("nonsense", "Kz9"):
        visit.enter("#typed", text)
        expect(problem).to_have_text(f"{text} is no legal move here.")
    page.locator("#flip").click()
    expect(problem).to_have_text("Kz9 is no legal move here.")
    page.locator("#flip").click()
    visit.enter("#typed", "Kf4")
    expect(sentence).to_contain_text("in 2 plies")
    page.locator("#moves button").first.focus()
    page.keyboard.press("Enter")
    expect(sentence).to_contain_text("in 1 ply")
    expect(page.locator("#moves button").first).to_be_focused()
    page.locator("#step").focus()
    visit.press("ArrowLeft", "ArrowLeft", "ArrowLeft")
    expect(sentence).to_contain_text("in 4 plies")
    page.locator("#fen").focus()
    visit.drag("g5", "h5")
    expect(sentence).to_contain_text("in 3 plies")
    visit.press("ArrowLeft")
    expect(sentence).to_contain_text("in 4 plies")
    visit.press("ArrowRight")
    expect(sentence).to_contain_text("in 3 plies")
    expect(page.locator("#board .keyboard-focus")).to_have_count(0)
    for leave in (
        page.get_by_role("link", name="Bare kings").click,
        lambda: visit.enter("#fen", f"{PAWN} -G2.5"),
    ):
        visit.enter("#typed", "Kz9")
        expect(problem).to_have_text("Kz9 is no legal move here.")
        leave()
        expect(problem).to_have_text("")
        expect(typed).to_have_value("")
    expect(sentence).to_have_text("Black wins by very little: White gets down to three moves in 4 plies.")


@pytest.mark.everywhere
def test_set_up(visit: Visit) -> None:
    """Men by clicks, from the palette, by letters; moved, taken off the board; what is wrong is said.

    The server is asked nothing about what is no position, which is not offered to be played either.
    """
    page, value, fen = visit.page, visit.page.locator("#value"), visit.page.locator("#fen")
    problem, refused = page.locator("#problem"), list[str]()

    def answered(response: Response) -> None:
        if response.status == 400:
            refused.append(response.url)

    page.on("response", answered)
    expect(page.locator("#play-on")).to_be_visible()
    page.locator("#clear").click()
    expect(problem).to_have_text("White has no king; each side needs exactly one.")
    expect(page.locator("#play-on")).to_be_hidden()
    page.locator("[data-tool=wk]").click()
    page.mouse.click(*visit.square("c5"))
    expect(problem).to_have_text("Black has no king; each side needs exactly one.")
    box = visit.box("[data-tool=bk]")
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    page.mouse.down()
    page.mouse.move(*visit.square("h5"), steps=3)
    page.mouse.up()
    page.locator("[data-tool='']").click()
    visit.drag("h5", "g5")
    expect(value).to_have_text("-G8.5")
    expect(page.locator("#play-on")).to_be_visible()
    assert (visit.asked(), refused) == ({"fen": "8/8/8/2K3k1/8/8/8/8 w - - 0 1", "setup": ""}, [])
    page.locator("#board svg.cm-chessboard").focus()
    visit.go_to_square("b2", "h5")
    page.keyboard.press("P")
    expect(value).to_have_text("G0.0")
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
    page.mouse.click(*visit.square("b2"))
    page.keyboard.press("P")  # where the mouse has pointed
    expect(fen).to_have_value("8/6p1/8/8/1K3k2/8/1P6/8 w - - 0 1")
    page.locator("#setup").click()
    expect(page.locator("#palette")).to_be_hidden()
    visit.enter("#fen", BEYOND)
    expect(problem).to_contain_text(missing(visit))
    visit.enter("#fen", "7k/8/4B1K1/4B3/8/8/3N4/8 b - - 0 1")  # mate, which needs no table
    expect(page.locator("#sentence")).to_have_text("Black is mated.")
    expect(page.locator("#stats-problem")).to_contain_text("KBBNvK is ")


@pytest.mark.everywhere
def test_the_slider_shows_every_accrued_score(opened: Opener, tables: Path) -> None:
    visit = opened(f"?fen={PAWN.replace(' ', '_')}&accrued=-G2.5")
    page, value = visit.page, visit.page.locator("#value")
    expect(value).to_have_text("-G3.5")
    with open_tablebase(tables) as known:
        own = known.probe(PAWN).position_score
        stops = sorted(GScore(rank, white) for rank in range(2, own.rank + 1) for white in (True, False))
        worth = {str(stop): str(known.probe(PAWN, accrued=stop).value) for stop in stops}
        fresh = str(known.probe(PAWN).value)
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
    assert "accrued" not in visit.asked()


@pytest.mark.everywhere
def test_the_address_has_all_of_the_state(opened: Opener, address: str) -> None:
    """Position, score, moves, ply, rules and side come from it; a long line goes behind its hash.

    What is wrong is said of what stands in it. On the page to play on, a game goes by its main line: moves
    may have glyphs, and there may be variations.
    """
    query = f"?fen={PAWN.replace(' ', '_')}&accrued=-G2.5&line=Kh7_Kf7_f6&at=2&rules=wg&side=black"
    visit = opened(query)
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
    problem = page.locator("#problem")
    page.goto(f"{address}/?fen=garbage")
    expect(problem).to_contain_text("'garbage' is not a FEN")
    page.goto(f"{address}/?line=Kh9")
    expect(problem).to_contain_text("'Kh9' is not a legal move")
    expect(problem).not_to_contain_text("line")
    line = "Kh5$1_Kf4$3_0.Kh4_2.Kh6"
    page.goto(f"{address}/play?fen={KBK.replace(' ', '_')}&side=black&line={line}")
    expect(page.locator("#played .step").nth(3)).to_have_text("Kh6")
    expect(page.locator("#played .step").nth(1)).to_have_text("Kh5")


@pytest.mark.everywhere
def test_play_goes_on_beyond_the_tables(visit: Visit) -> None:
    """From the first position of chess, with a table missing, by castling into the tables."""
    page, sentence = visit.page, visit.page.locator("#sentence")
    problem, played, fen = page.locator("#problem"), page.locator("#played"), page.locator("#fen")
    visit.enter("#fen", chess.STARTING_FEN)
    expect(problem).to_contain_text("32 men")
    expect(page.locator("#moves [data-uci]")).to_have_count(20)
    page.wait_for_load_state("networkidle")
    asked, errors = list[str](), list[str]()
    page.on("console", lambda message: errors.append(message.text))
    page.on("request", lambda request: asked.append(urlsplit(request.url).path))
    visit.drag("e2", "e4")
    expect(played).to_have_text(re.compile(r"start 1\. e4"))
    visit.enter("#typed", "e5")
    page.locator("[data-uci=d1h5]").click()
    expect(played).to_have_text(re.compile(r"start 1\. e4 e5 2\. Qh5"))
    expect(page.locator("#moves button").first).to_be_visible()
    board = chess.Board()
    for san in ("e4", "e5", "Qh5"):
        board.push_san(san)
    expect(fen).to_have_value(board.fen())
    expect(sentence).to_have_text(
        f"No table says what this is worth. {GScore.of_board(board)} has accrued so far."
    )
    page.wait_for_load_state("networkidle")
    visit.enter("#fen", BEYOND)
    expect(problem).to_contain_text(missing(visit))
    page.wait_for_load_state("networkidle")
    if is_served(visit):  # a step is one request, and no error in the browser's console
        assert [path for path in asked if path != "/page/icon.svg"] == ["/r/moves"] * 4
    assert errors == []
    page.go_back()
    page.reload()
    expect(fen).to_have_value(board.fen())
    page.locator("#undo").click()
    board.pop()
    expect(fen).to_have_value(board.fen())

    verdict = page.locator(".verdict")
    stripe = "element => getComputedStyle(element).borderLeftColor"
    wrong = verdict.evaluate(stripe)
    visit.enter("#fen", "r1bqkb1r/pppp1Qpp/2n2n2/4p3/2B1P3/8/PPPP1PPP/RNB1K1NR b KQkq - 0 4")
    expect(sentence).to_have_text("Black is mated.")
    expect(problem).to_be_empty()
    assert verdict.evaluate(stripe) != wrong

    visit.enter("#fen", BEYOND)
    expect(problem).to_contain_text(missing(visit))
    assert verdict.evaluate(stripe) == wrong
    page.locator("[data-uci=a1a2]").click()
    expect(problem).to_contain_text(missing(visit))
    page.locator("#rules").select_option("classical")
    expect(page.locator("#moves h3")).to_have_text("leads where no table says it")

    page.locator("#rules").select_option("r")
    visit.enter("#fen", "4k3/8/8/8/8/8/8/4K2R w K - 0 1")
    expect(problem).to_contain_text("castling rights")
    expect(page.locator("[data-uci=e1g1]")).to_be_visible()  # why there is no answer is said before the moves
    visit.drag("e1", "g1")
    expect(played).to_have_text(re.compile("O-O"))
    expect(sentence).to_contain_text("mates in")
    expect(page.locator("#board [data-piece=wr]")).to_have_attribute("data-square", "f1")

    visit.enter("#fen", "8/1P6/8/8/8/2k5/8/K7 w - - 0 1")
    expect(page.locator("[data-uci=b7b8r]")).to_be_visible()
    page.locator("#board").scroll_into_view_if_needed()
    visit.drag("b7", "b8")
    page.locator(".promotion-dialog-button[data-piece=wr]").click()
    expect(played).to_contain_text("b8=R")


@pytest.mark.everywhere
def test_views_samples_values_and_copies(visit: Visit, tables: Path) -> None:
    """And the reply to a move that is pointed at."""
    page = visit.page
    page.wait_for_load_state("networkidle")  # what comes later is drawn under the pointer
    page.locator("[data-uci=g5h5]").hover()
    visit.sees({"#reply": "Kh5, and the reply is Kf4", "#board .arrow": 2})
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
    assert visit.asked()["line"] == "Kb2"

    def sample(material: str, wanted: str) -> None:
        page.locator("#sample-material").fill(material)
        page.locator("#sample-value").fill(wanted)
        page.locator("#sampling button").click()

    sample("KBvK", "G0.5")
    visit.sees({"#value": "G0.5", "#stats .here th": "G0.5", "#stats .here td >> nth=0": f"{counted:,}"})
    sample("", "-G0.0")
    visit.sees({"#value": "-G0.0"})
    sample("KBvK", "G60.5")
    visit.sees({"#sampling-problem": "KBvK has no such position"})
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


def test_examples_and_links_are_those_of_the_tables_and_reports_there(visit: Visit) -> None:
    page, examples = visit.page, visit.page.locator("#examples a")
    expect(examples).to_have_count(12)
    expect(page.get_by_role("link", name="Reports")).to_be_visible()
    link = page.locator("#material-report")
    link.click()
    expect(page).to_have_title("tables/KBvK.r.html")
    page.go_back()
    expect(page.locator("#value")).to_have_text("G1.5")
    page.get_by_role("link", name="In classical chess").click()
    expect(page.locator("#material-name")).to_have_text("KRvK in r-mobility")
    expect(link).to_be_hidden()

    def without_whole_game(route: Route) -> None:
        found = route.fetch().json()
        route.fulfill(json={"tables": [table for table in found["tables"] if table["rules"] == "r"]})

    page.route("**/tables", without_whole_game)
    page.reload()
    expect(examples).to_have_count(11)
    expect(page.get_by_text("The same without resets")).to_have_count(0)


STATES = {
    "start": "",
    "setup": "?fen=8/8/8/2K3k1/8/8/8/8_w_-_-_0_1&setup&accrued=-G5.5",
    "game": f"?fen={KBK.replace(' ', '_')}&line=Kh5_Kf4_Kh6_Kg4_0.Kh6_Bg6&at=6",
    "missing": f"?fen={BEYOND.replace(' ', '_')}",
}


@pytest.mark.everywhere
@pytest.mark.parametrize(
    ("width", "scheme"), [(390, "dark"), *exhaustive([(1200, "light"), (1200, "dark"), (390, "light")])]
)
def test_looks(width: int, scheme: str, opened: Opener, address: str) -> None:
    """Nothing serious for people with disabilities, and nothing wider than the screen."""
    touch = width < 500
    visit = opened(color_scheme=scheme, has_touch=touch, viewport={"width": width, "height": 844})
    page = visit.page
    for query in STATES.values():
        page.goto(f"{address}/{query}")
        page.locator("#facts dd, #problem p").first.wait_for()
        page.locator("#board .pieces [data-piece]").first.wait_for()
        assert not visit.too_wide()
        if not (touch and query):  # colours and names do not depend on the width
            assert visit.violations() == []
    if touch:
        page.goto(f"{address}/")
        page.locator("[data-uci=g5h5]").wait_for()
        page.touchscreen.tap(*visit.square("g5"))
        page.touchscreen.tap(*visit.square("h5"))
        expect(page.locator("#sentence")).to_contain_text("in 3 plies")
