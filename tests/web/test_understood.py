"""Explanations for visitors who do not know the game, and the layout on a phone."""

import random
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tbgen.board.score import GScore
from tbgen.board.scoring import EXPONENTIAL
from tbgen.probe.probe_document import points_document
from tbgen.probe.tablebase import open_tablebase
from tbgen.web import previews as wording
from tests.support.browsing import PHONE, Visit
from tests.support.paths import ROOT

pytestmark = pytest.mark.slow

KBK = "?fen=8/8/8/4KBk1/8/8/8/8_b_-_-_0_1"
DRAWN = "getComputedStyle(each, '::after')"
"""Script that returns the style of an element's ::after."""
LESSON = r'name: "(.*?)", fen: "(.*?)", accrued: (?:null|"(.*?)"), goal: "(.*?)"'
LESSONS = re.findall(LESSON, (ROOT / "tbgen" / "web" / "page" / "guide.js").read_text())
"""Name, position, accrued score and move of each lesson."""
SAID = """async answers => {
    const {pointsOf, pointsText, sentence} = await import("/page/score.js")
    return answers.map(each => {
        const points = pointsOf(each.value)
        return [sentence({...each, points}), points, pointsText(points)]
    })
}"""


def test_the_move_of_a_lesson_is_the_only_one_that_keeps_the_value(tables: Path) -> None:
    """Where the earlier score stays whatever is played, it is the best without that score."""
    with open_tablebase(tables) as known:
        for name, fen, accrued, goal in LESSONS:
            first, *others = known.moves(fen, accrued=accrued or None)
            if name == "The first counts":
                assert str(first.value) == accrued
                first, *_ = known.moves(fen)
                assert str(first.value) == "G1.0"
                continue
            assert first.uci == goal
            assert all((move.value, move.depth) != (first.value, first.depth) for move in others)
    assert all(move.value < first.value for move in others)  # nor do others reach such a score later


@pytest.mark.everywhere
def test_the_guide_is_played_by_clicking(visit: Visit) -> None:
    """Nothing gives a lesson's move away, and a wrong move is explained, without a table too.

    Rows of test_modules.py have the texts.
    """
    page, text = visit.page, visit.page.locator("#guide-text")
    page.set_viewport_size(PHONE)
    page.locator("#guide-link").click()
    for number, (name, *_, goal) in enumerate(LESSONS, 1):
        expect(page.locator("#guide-label")).to_have_text(f"{number} of 5: {name}")
        expect(page.locator("#count")).to_contain_text("legal moves")
        expect(page.locator("#count")).to_be_in_viewport(ratio=1)
        page.locator(f"#moves [data-uci={goal}]").wait_for(state="attached")
        expect(page.locator("#board .arrow").first).to_be_hidden()
        visit.sees({"#moves:visible": 0, "#walk:visible": 0})  # the bar would cover the number
        if number == 1:
            visit.drag("h1", "h2")
            expect(text).to_have_text("Not Rh2. Black has one legal move, G1.5.")
            page.locator("#guide-again").click()
            page.locator(f"#moves [data-uci={goal}]").wait_for(state="attached")
        visit.drag(goal[:2], goal[2:])
        expect(page.locator("#moves")).to_be_visible()
        for seen in ("#value", "#count"):
            expect(page.locator(seen)).to_be_in_viewport(ratio=1)
        page.locator("#guide-on").click()
    visit.sees({"#guide:visible": 0, "#moves:visible": 1})
    if not visit.is_served():
        return
    missing = {"code": "missing_table", "message": "table KRvK is missing"}
    page.route("**/r?*", lambda route: route.fulfill(status=404, json=missing))
    visit.go("#how=1")
    page.locator("#moves [data-uci=h1h3]").wait_for(state="attached")
    visit.drag("h1", "h3")
    expect(text).to_have_text("Not Rh3. Black has one legal move, G1.5.")


def test_scores_are_said_as_the_server_says_them(visit: Visit) -> None:
    """All kinds of values of both sides have the server's sentences and points of the exponential scoring."""
    rng, asked, expected = random.Random(1), [], []

    def add(white: bool, own: GScore, accrued: GScore, value: GScore, depth: int | None) -> None:
        asked.append(
            {
                "fen": f"8/8/8/8/8/8/8/8 {'w' if white else 'b'} - - 0 1",
                **{"value": str(value), "accrued": str(accrued), "depth": depth},
                **{"checkmate": own.rank == 0, "stalemate": own.rank == 1},
            }
        )
        expected.append(wording.sentence(white, own, accrued, value, depth))

    for _ in range(300):
        own, accrued, value = (GScore(rng.randrange(least, 28), rng.random() < 0.5) for least in (0, 2, 0))
        depth = rng.choice([None, 0, 1, 2, 17])
        add(rng.random() < 0.5, own, accrued, own if own.rank < 2 else value, depth)
    said = visit.page.evaluate(SAID, asked)
    assert [sentence for sentence, *_ in said] == expected
    assert len(set(expected)) > 100
    for each, (_, points, text) in zip(asked, said, strict=True):
        assert text == EXPONENTIAL.text(GScore(str(each["value"])))
        truth = points_document(EXPONENTIAL, GScore(str(each["value"])))
        assert (points["white"], points["black"]) == pytest.approx((truth.white, truth.black))
    rows = visit.page.locator("#scale tbody tr").all_inner_texts()
    assert len(rows) == 8
    for row in rows:
        name, _, shown = row.split("\t")
        shares_shown = tuple(float(each) for each in shown.split(" : "))
        assert shares_shown == pytest.approx(tuple(EXPONENTIAL.points(GScore.parse(name))), abs=5.1e-5)


@pytest.mark.everywhere
def test_moves_and_what_has_accrued_are_seen_at_the_board(visit: Visit) -> None:
    """The board shows the number of legal moves, their squares on demand, accrued score and last move.

    A minus in large type is explained, and explanations of facts do not cover the verdict.
    """
    page = visit.page
    visit.go(f"{KBK}&line=Kh5_Kf4&accrued=-G3.5")
    visit.sees({"#mobility": "Black has two legal moves: G2.5", "#board .marker-circle": 0})
    page.locator("#count").click()
    visit.sees(
        {"#board .marker-square": 2, "#board .marker-circle": 2, "#accrued-legend": "Accrued so far: G2.5"}
    )
    page.locator("#first").click()
    visit.sees(
        {"#board .marker-square": 0, "#board .marker-circle": 3, "#accrued-legend": "Accrued so far: -G3.5"}
    )
    page.locator("#rules").select_option("classical")
    expect(page.locator("#mobility")).to_be_hidden()
    page.locator("#rules").select_option("r")
    fact = page.locator("#facts [data-tip]").first
    fact.focus()
    expect(fact).to_have_attribute("data-tip", re.compile("men"))
    assert (
        fact.evaluate(f"each => parseFloat({DRAWN}.top)")
        >= page.locator("#facts").evaluate("each => each.clientHeight") - 1
    )
    visit.enter("#fen", "8/8/8/4kbK1/8/8/8/8 w - - 0 1")
    value = page.locator("#value.minus")
    expect(value).to_have_text("-G1.5")
    assert "the minus is Black's" in value.evaluate(f"each => {DRAWN}.content")
