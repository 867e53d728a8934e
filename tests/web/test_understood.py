"""What the page tells a visitor who does not know the game, and where things stand on a phone."""

import json
import re
from pathlib import Path

import chess
import pytest
from playwright.sync_api import Browser, FloatRect, expect

from tbgen.board.score import GScore
from tbgen.board.scoring import Scoring
from tbgen.probe.tablebase import open_tablebase
from tbgen.web import wording
from tests.support.browsing import Visit
from tests.support.paths import ROOT

pytestmark = pytest.mark.slow

KBK = "?fen=8/8/8/4KBk1/8/8/8/8_b_-_-_0_1"
PHONE = {"width": 390, "height": 664}
LESSONS = """async () => {
    const {LESSONS} = await import("/page/guide.js")
    return JSON.stringify(LESSONS)
}"""


def test_the_number_of_moves_takes_one_line(browser: Browser, address: str) -> None:
    """Also on a narrow phone where it is longest: a knight gives check, and the king has seven moves."""
    narrow = {"width": 360, "height": 640}
    visit = Visit(browser, address, "?fen=8/8/8/4K3/8/3n4/8/k7_w_-_-_0_1", viewport=narrow)
    mobility = visit.page.locator("#mobility")
    expect(mobility).to_have_text("White is in check and has seven legal moves: -G7.0")
    longest = mobility.bounding_box()
    assert longest is not None
    assert mobility.evaluate("each => each.scrollWidth <= each.clientWidth")
    visit = Visit(browser, address, KBK, viewport=narrow)
    mobility = visit.page.locator("#mobility")
    expect(mobility).to_have_text("Black has three legal moves: G3.5")
    short = mobility.bounding_box()
    assert short is not None
    assert short["height"] == longest["height"]


@pytest.mark.everywhere
def test_the_guide_is_played_by_clicking(browser: Browser, address: str, tables: Path) -> None:
    """Its moves are the only ones that keep the value; a wrong one is told; nothing gives them away."""
    visit = Visit(browser, address, viewport=PHONE)
    page, text = visit.page, visit.page.locator("#guide-text")
    lessons = json.loads(page.evaluate(LESSONS))
    page.locator("#guide-link").click()
    with open_tablebase(tables) as opened:
        for number, lesson in enumerate(lessons, 1):
            fen, goal = lesson["fen"], lesson["goal"]
            expect(page.locator("#guide-label")).to_have_text(f"{number} of 5: {lesson['name']}")
            first, *others = opened.moves(fen, accrued=lesson["accrued"])
            expect(page.locator("#count")).to_contain_text("legal moves")
            expect(page.locator("#count")).to_be_in_viewport(ratio=1)
            expect(page.locator("#walk")).to_be_hidden()  # which would lie upon the number
            if lesson["name"] == "The first counts":  # what was there stays, whatever is played
                assert str(first.value) == lesson["accrued"]
                assert str(opened.moves(fen)[0].value) == "G1.0"
            else:
                assert first.uci == goal
                assert all((move.value, move.depth) != (first.value, first.depth) for move in others)
                if (
                    lesson["name"] == "A capture resets"
                ):  # other moves reach nothing of the kind, later either
                    assert all(move.value < first.value for move in others)
            expect(page.locator("#moves")).to_be_hidden()
            expect(page.locator("#board .arrow").first).to_be_hidden()
            page.locator(f"#moves [data-uci={goal}]").wait_for(state="attached")
            if number == 1:
                visit.drag("h1", "h2")
                expect(text).to_have_text("Not Rh2. Black has one legal move, G1.5.")
                page.locator("#guide-again").click()
                expect(text).to_have_text(lesson["task"])
                expect(page.locator("#count")).to_have_text("White has 20 legal moves")
            page.locator(f"#moves [data-uci={goal}]").wait_for(state="attached")
            visit.drag(goal[:2], goal[2:])
            expect(text).to_have_text(lesson["right"])
            expect(page.locator("#value")).to_be_in_viewport(ratio=1)
            expect(page.locator("#count")).to_be_in_viewport(ratio=1)
            page.locator("#guide-on").click()
    expect(page.locator("#guide")).to_be_hidden()
    expect(page.locator("#moves")).to_be_visible()
    visit.close()
    assert visit.wrong == []


@pytest.mark.everywhere
def test_the_guide_has_an_address(browser: Browser, address: str) -> None:
    """All pages lead to it; each lesson has an address, and the way back goes through what was played."""
    visit = Visit(browser, address, "puzzles", viewport=PHONE)
    page = visit.page
    label, text = page.locator("#guide-label"), page.locator("#guide-text")
    for other in ("play", "embed"):
        page.goto(f"{address}/{other}")
        expect(page.get_by_role("link", name="How it works")).to_have_attribute("href", "./#how")
    page.goto(f"{address}/puzzles")
    page.get_by_role("link", name="How it works").click()
    expect(label).to_have_text("1 of 5: Mate")
    assert page.url == f"{address}/#how"
    page.locator("#guide-on").click()
    expect(label).to_have_text("2 of 5: Stalemate")
    assert page.url.endswith("#how=2")
    page.locator("#moves [data-uci=d6e6]").wait_for(state="attached")
    visit.drag("d6", "e6")
    expect(text).to_contain_text("Stalemate: G0.5")
    page.reload()
    expect(text).to_contain_text("Stalemate: G0.5")
    page.go_back()
    expect(text).to_contain_text("In chess stalemate is a draw.")
    expect(page.locator("#moves")).to_be_hidden()
    page.locator("#guide-close").click()
    expect(page.locator("#guide")).to_be_hidden()
    expect(page.locator("#guide-link")).to_be_focused()
    assert "#" not in page.url
    page.go_back()
    expect(label).to_have_text("2 of 5: Stalemate")
    page.go_back()
    expect(label).to_have_text("1 of 5: Mate")
    page.go_back()
    expect(page).to_have_url(re.compile("puzzles"))
    page.goto(f"{address}/")
    page.get_by_role("link", name="How it works").click()
    expect(label).to_have_text("1 of 5: Mate")
    page.go_back()
    expect(page.locator("#guide")).to_be_hidden()
    page.goto(f"{address}/#how=9")
    expect(page.locator("#sentence")).to_contain_text("in 4 plies")
    assert not visit.too_wide()
    visit.close()
    assert visit.wrong == []


def test_the_scale_is_that_of_the_exponential_scoring(browser: Browser, address: str) -> None:
    visit = Visit(browser, address)
    rows = visit.page.locator("#scale tbody tr").all_inner_texts()
    scoring = Scoring.parse("exponential")
    for row in rows:
        name, _, points = row.split("\t")
        white, black = (float(each) for each in points.split(" : "))
        truth = scoring.points(GScore.parse(name))
        assert (white, black) == pytest.approx(tuple(truth), abs=5.1e-5)
    assert len(rows) == 8
    visit.close()


@pytest.mark.everywhere
def test_moves_and_what_has_accrued_are_seen_at_the_board(browser: Browser, address: str) -> None:
    """The number of legal moves, their squares on demand, the accrued score as a bar, the last move."""
    visit = Visit(browser, address, f"{KBK}&line=Kh5_Kf4&accrued=-G3.5")
    page = visit.page
    expect(page.locator("#mobility")).to_have_text("Black has two legal moves: G2.5")
    expect(page.locator("#board .marker-square")).to_have_count(2)
    expect(page.locator("#board .marker-circle")).to_have_count(0)
    page.locator("#count").click()
    expect(page.locator("#board .marker-circle")).to_have_count(2)
    bar, fill = page.locator("#accrued-bar"), page.locator("#accrued-fill")
    expect(bar).to_have_attribute("aria-label", "Accrued so far: G2.5")
    expect(fill).to_have_class("white")
    page.locator("#first").click()
    expect(bar).to_have_attribute("aria-label", "Accrued so far: -G3.5")
    expect(fill).to_have_class("black")
    expect(page.locator("#board .marker-square")).to_have_count(0)
    page.locator("#rules").select_option("classical")
    expect(page.locator("#mobility")).to_be_hidden()
    page.locator("#rules").select_option("r")
    page.locator("#facts [data-tip]").first.focus()
    expect(page.locator("#facts [data-tip]").first).to_have_attribute("data-tip", re.compile("men"))
    visit.close()
    assert visit.wrong == []


@pytest.mark.parametrize(
    ("where", "wanted"),
    [
        (KBK, {"score", "points", "accrued", "position", "depth", "resets", "material"}),
        (f"play{KBK}", {"held", "position"}),
        (f"embed{KBK}", {"position"}),
        ("puzzles", {"score", "position"}),
    ],
)
def test_terms_explain_themselves(where: str, wanted: set[str], browser: Browser, address: str) -> None:
    """Under the pointer, under a finger and by keys, within a narrow phone."""
    narrow = {"width": 360, "height": 640}
    visit = Visit(browser, address, where, viewport=narrow, has_touch=True)
    page, shown = visit.page, set()
    expect(page.locator("#mobility")).to_contain_text(re.compile(r"legal moves: -?G\d"))
    page.wait_for_load_state("networkidle")
    for each in page.locator("[data-term]").all():
        if not each.is_visible():
            continue
        name, tip = each.get_attribute("data-term"), each.get_attribute("data-tip")
        assert tip
        each.tap()
        expect(each).to_be_focused()
        assert tip in each.evaluate(
            "each => getComputedStyle(each, '::after').content.replaceAll('\\\\', '')"
        )
        expect(each).to_have_accessible_description(tip)
        assert not visit.too_wide()
        shown.add(name)
    assert shown == wanted
    assert visit.violations() == []
    visit.close()
    assert visit.wrong == []


@pytest.mark.everywhere
def test_every_best_move_has_an_arrow(browser: Browser, address: str, tables: Path) -> None:
    """Those of equal value and depth; of a draw in chess, where all moves are as good, one has."""
    visit = Visit(browser, address)
    page, found = visit.page, set()
    with open_tablebase(tables) as opened:
        for fen in ("8/8/3k4/8/8/8/8/R3K3 w - - 0 1", "8/8/8/4k3/8/8/8/K1Q4R w - - 0 1", KBK[5:]):
            first, *others = opened.moves(fen.replace("_", " "))
            best = [each for each in others if (each.value, each.depth) == (first.value, first.depth)]
            page.goto(f"{address}/?fen={fen.replace(' ', '_')}")
            expect(page.locator("#line button").first).to_be_visible()
            expect(page.locator("#board .arrow")).to_have_count(1 + len(best))
            found.add(1 + len(best))
    assert found == {1, 4, 6}
    page.locator("#rules").select_option("classical")
    expect(page.locator("#sentence")).to_have_text("A draw with best play.")
    expect(page.locator("#board .arrow")).to_have_count(1)
    page.locator("#setup").click()
    expect(page.locator("#board .arrow")).to_have_count(0)
    visit.close()
    assert visit.wrong == []


@pytest.mark.everywhere
def test_a_phone_has_board_verdict_and_bar_on_one_screen(browser: Browser, address: str) -> None:
    """The bar stays where it is, whatever is played or set up, and goes on by best play at the end."""
    visit = Visit(browser, address, KBK, viewport=PHONE, has_touch=True)
    page = visit.page
    sentence = page.locator("#sentence")
    sentence = page.locator("#sentence")
    expect(sentence).to_contain_text("in 4 plies")

    def tops() -> list[float]:
        boxes = [page.locator(name).bounding_box() for name in ("#board", "#walk", "#forward")]
        return [box["y"] for box in boxes if box is not None]

    before = tops()
    last, said = page.locator("#walk").bounding_box(), sentence.bounding_box()
    assert last is not None
    assert said is not None
    assert last["y"] + last["height"] <= PHONE["height"]
    assert said["y"] + said["height"] <= last["y"]
    page.locator("#forward").tap()
    expect(sentence).to_contain_text("in 3 plies")
    page.locator("#last").tap()
    expect(sentence).to_contain_text("that has accrued")
    expect(page.locator("#last")).to_be_disabled()
    page.locator("#first").tap()
    expect(sentence).to_contain_text("in 4 plies")
    assert tops() == before
    page.locator("#setup").tap()
    expect(page.locator("#palette")).to_be_visible()
    assert tops() == before
    assert not visit.too_wide()
    visit.close()
    assert visit.wrong == []


@pytest.mark.parametrize("page_name", ["", "play", "puzzles"])
def test_a_phone_held_sideways_has_the_board_beside_all_else(
    page_name: str, browser: Browser, address: str
) -> None:
    """The whole board, with the verdict and the buttons beside it, also when what lies below is looked at."""
    where = page_name if page_name == "puzzles" else f"{page_name}{KBK}"
    visit = Visit(browser, address, where, viewport={"width": 844, "height": 390}, has_touch=True)
    page = visit.page
    expect(page.locator("#count")).to_contain_text("legal moves")

    def box(name: str) -> FloatRect:
        found = page.locator(name).bounding_box()
        assert found is not None
        return found

    for width, height in ((844, 390), (667, 375)):
        page.set_viewport_size({"width": width, "height": height})
        for below in (False, True):
            if below:
                page.locator(".answer > :last-child").last.scroll_into_view_if_needed()
            board, mobility = box("#board"), box("#mobility")
            assert 0 <= board["y"] < board["y"] + board["height"] <= mobility["y"]
            assert mobility["y"] + mobility["height"] <= height + 1
            assert board["height"] >= 0.85 * height
            edge = board["x"] + board["width"]
            assert box(".verdict")["x"] > edge
            if page_name == "puzzles":
                assert page.evaluate("document.documentElement.scrollHeight") <= height
            else:
                bar = box("#walk")
                assert bar["x"] > edge
                assert bar["y"] + bar["height"] <= height + 1
        page.evaluate("scrollTo(0, 0)")
        expect(page.locator("#said" if page_name else "#sentence")).to_be_in_viewport(ratio=1)
        assert not visit.too_wide()
    assert visit.violations() == []
    visit.close()
    assert visit.wrong == []


def test_moves_are_seen_while_a_game_is_walked(browser: Browser, address: str) -> None:
    """Beside the board on a wide screen, right below the verdict on a phone."""
    game = (ROOT / "docs" / "drawn_game.pgn").read_text()

    def walked(width: int, height: int) -> tuple[Visit, dict[str, FloatRect]]:
        visit = Visit(browser, address, viewport={"width": width, "height": height})
        page = visit.page
        page.locator("#pgn").fill(game)
        page.get_by_role("button", name="Referee it").click()
        expect(page.locator("#played .step")).to_have_count(168)
        page.locator("#back").click()
        expect(page.locator("#problem")).to_contain_text("tbgen build")
        expect(page.locator("#moves button").first).to_be_visible()
        boxes = {
            name: page.locator(f"#{name}").bounding_box() for name in ("board", "game", "moves", "rules")
        }
        return visit, {name: box for name, box in boxes.items() if box is not None}

    visit, boxes = walked(1440, 900)
    page = visit.page
    assert boxes["game"]["x"] > boxes["board"]["x"] + boxes["board"]["width"]
    expect(page.locator("#played")).to_be_in_viewport(ratio=1)
    expect(page.locator("#played [aria-current]")).to_be_in_viewport(ratio=1)
    visit.close()
    visit, boxes = walked(390, 664)
    assert boxes["rules"]["y"] < boxes["game"]["y"] < boxes["moves"]["y"]
    visit.close()


@pytest.mark.everywhere
def test_points_are_said_by_as_many_digits_as_tell_the_sides_apart(browser: Browser, address: str) -> None:
    """On the page as in previews: three digits where these are all, none where both look the same."""
    visit = Visit(browser, address)
    said = """async values => {
        const {pointsOf, sentence} = await import("/page/score.js")
        const shown = {fen: "8/8 w", depth: 3, accrued: "G9.5"}
        return values.map(value => sentence({...shown, value, points: pointsOf(value)}))
    }"""
    shares = {"G1.0": " (0.625 : 0.375)", "-G1.5": " (0.44 : 0.56)", "-G3.0": " (0.49 : 0.51)", "G3.5": ""}
    sentences = visit.page.evaluate(said, list(shares))
    for (value, share), found in zip(shares.items(), sentences, strict=True):
        assert found.endswith(f" in 3 plies{share}.")
        score = GScore.parse(value)
        assert found == wording.sentence(chess.WHITE, GScore.parse("G9.5"), GScore.parse("G9.5"), score, 3)
    visit.close()


@pytest.mark.everywhere
def test_what_is_wrong_with_an_address_is_said_of_what_stands_in_it(browser: Browser, address: str) -> None:
    visit = Visit(browser, address, "?fen=garbage")
    problem = visit.page.locator("#problem")
    expect(problem).to_contain_text("'garbage' is not a FEN")
    visit.page.goto(f"{address}/?line=Kh9")
    expect(problem).to_contain_text("'Kh9' is not a legal move")
    expect(problem).not_to_contain_text("line")
    visit.close()
    assert visit.wrong == []


BROKEN = """element => {
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT)
    const broken = []
    while (walker.nextNode()) {
        for (const {0: text, index} of walker.currentNode.data.matchAll(/-G\\d+\\.\\d/g)) {
            const range = document.createRange()
            range.setStart(walker.currentNode, index)
            range.setEnd(walker.currentNode, index + text.length)
            if (new Set([...range.getClientRects()].map(box => box.top)).size > 1) broken.push(text)
        }
    }
    return broken
}"""
"""The scores in an element that a line breaks."""


@pytest.mark.parametrize(
    ("query", "where", "text"),
    [
        ("#how=4", "#guide-text", "Black holds -G1.0 (the minus is Black's)"),
        ("?fen=8/8/8/2K3k1/8/8/8/8_w_-_-_3_60&accrued=-G5.5", "#sentence", "Black keeps -G5.5 and"),
        ("play?fen=8/8/8/4k3/8/8/6Kb/8_b_-_-_0_1", "#said", "Best play from the start: -G1.5."),
        ("puzzles?fen=8/8/8/4k3/8/8/6Kb/8_b_-_-_0_1", "#task", "(-G1.5)"),
    ],
)
def test_no_line_breaks_a_score(query: str, where: str, text: str, browser: Browser, address: str) -> None:
    """However wide the text is; what is read and copied has an ordinary minus."""
    visit = Visit(browser, address, query)
    told = visit.page.locator(where)
    expect(told).to_contain_text(text)
    assert "-G" in told.inner_text()
    for width in range(60, 400, 4):
        told.evaluate("(element, width) => element.style.width = `${width}px`", width)
        assert told.evaluate(BROKEN) == [], width
    visit.close()
    assert visit.wrong == []
