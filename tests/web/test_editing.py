"""What can be changed in the list of moves: by mouse, touch and keys."""

import json
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.support.browsing import PHONE, Visit
from tests.web.conftest import Opener

pytestmark = pytest.mark.slow

GAME = "?fen=8/8/8/4KBk1/8/8/8/8_b_-_-_0_1&line=Kh5_Kf4_Kh6_1.Kf6_Kh4_1.Kd4&at={}"
"""After 1... Kh5 2. Kf4 Kh6 the variations 2. Kf6 Kh4 and 2. Kd4."""


def comments(page: Page) -> object:
    """The comments of the address, by the moves that they stand after."""
    hidden = parse_qs(urlsplit(page.url).fragment)
    return json.loads(hidden["comments"][0]) if "comments" in hidden else {}


def head(page: Page) -> str:
    return parse_qs(urlsplit(page.url).fragment).get("game", [""])[0]


@pytest.mark.everywhere
def test_a_variation_becomes_the_main_line(opened: Opener) -> None:
    """By mouse, taken back by the browser's button; what was the main line is a variation.

    The result is that of the game as it is now, and again when the page is loaded anew.
    """
    visit = opened(GAME.format(3))
    page, promote, outcome = visit.page, visit.page.locator("#promote"), visit.page.locator("#outcome")
    is_served = not page.locator("html[data-static]").count()
    if is_served:
        expect(outcome).to_contain_text("by the tables")
    before = outcome.inner_text()
    played = page.locator("#played .step")
    expect(played).to_have_text(["start", "Kh5", "Kf4", "Kf6", "Kh4", "Kd4", "Kh6"])
    expect(promote).to_be_disabled()
    played.filter(has_text="Kh4").click()
    promote.click()
    expect(played).to_have_text(["start", "Kh5", "Kf6", "Kf4", "Kh6", "Kd4", "Kh4"])
    expect(page.locator("#played [aria-current]")).to_have_text("Kh4")
    expect(promote).to_be_disabled()
    assert parse_qs(urlsplit(page.url).query)["line"] == ["Kh5_Kf6_Kh4_1.Kf4_Kh6_1.Kd4"]
    page.go_back()
    expect(played).to_have_text(["start", "Kh5", "Kf4", "Kf6", "Kh4", "Kd4", "Kh6"])
    page.go_forward()
    page.reload()
    expect(played).to_have_text(["start", "Kh5", "Kf6", "Kf4", "Kh6", "Kd4", "Kh4"])
    played.filter(has_text="Kd4").click()
    promote.click()
    expect(page.locator("#played [aria-current]")).to_have_text("Kd4")
    if is_served:
        expect(outcome).not_to_have_text(before)
        expect(outcome).to_contain_text("by the tables")
        now = outcome.inner_text()
        page.reload()
        expect(outcome).to_have_text(now)
    visit.audit()


@pytest.mark.everywhere
def test_comments_are_written_changed_and_deleted_by_keys(opened: Opener) -> None:
    visit = opened(GAME.format(1))
    page, shown = visit.page, visit.page.locator("#comment")
    edit = page.locator("#edit-comment")
    expect(page.locator("#played [aria-current]")).to_have_text("Kh5")
    expect(edit).to_have_text("Add a comment")
    edit.focus()
    page.keyboard.press("Enter")
    page.keyboard.type("the {edge} -- of the board")
    visit.audit()
    page.keyboard.press("Enter")
    expect(shown).to_have_text("the (edge) -- of the board")
    expect(edit).to_be_focused()
    assert comments(page) == {"1": "the (edge) -- of the board"}
    expect(page.locator("#played .said")).to_have_text("Kh5")
    visit.press("ArrowRight")
    expect(shown).to_have_text("")
    visit.press("ArrowLeft")
    page.reload()
    expect(shown).to_have_text("the (edge) -- of the board")
    edit.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#comment-text")).to_have_value("the (edge) -- of the board")
    page.keyboard.type("never kept")
    page.keyboard.press("Escape")
    expect(page.locator("#commenting")).to_be_hidden()
    page.keyboard.press("Enter")
    expect(page.locator("#comment-text")).to_have_value("the (edge) -- of the board")
    visit.press("Tab", "Tab")
    expect(page.locator("#comment-delete")).to_be_focused()
    page.keyboard.press("Enter")
    expect(shown).to_have_text("")
    assert comments(page) == {}
    page.go_back()
    expect(shown).to_have_text("the (edge) -- of the board")


@pytest.mark.exhaustive
def test_a_game_stays_whatever_the_referee_does(browser: Browser, address: str) -> None:
    """He may be asked too often, or take his time: the moves do not wait for him."""
    visit = Visit(browser, address, GAME.format(3))
    page, outcome, moves = visit.page, visit.page.locator("#outcome"), visit.page.locator("#played .step")
    refusal, waiting = {"error": {"code": "too_many", "message": "Too many."}}, list[Route]()

    def refuse(route: Route) -> None:
        route.fulfill(status=429, json=refusal)

    def let_wait(route: Route) -> None:
        waiting.append(route)

    for referee in (refuse, let_wait):
        expect(outcome).to_contain_text("by the tables")
        count = moves.count()
        page.route("**/r/game", referee)
        moves.filter(has_text="Kd4").click()
        page.locator("#promote").click()
        expect(outcome).to_have_text("")
        page.keyboard.press("ArrowLeft")
        expect(page.locator("#played [aria-current]")).not_to_contain_text("Kd4")
        page.keyboard.press("ArrowRight")
        expect(page.locator("#played [aria-current]")).to_contain_text("Kd4")
        expect(moves).to_have_count(count)
        for route in waiting:
            route.continue_()
        expect(outcome).to_contain_text("by the tables" if waiting else "")
        page.unroute("**/r/game")
        page.goto(f"{address}/{GAME.format(3)}")
        page.reload()
    expect(outcome).to_contain_text("by the tables")
    visit.close()
    assert [line for line in visit.wrong if "429" not in line] == []


@pytest.mark.exhaustive
def test_the_last_comment_says_how_the_game_ended(opened: Opener) -> None:
    """On a phone, by touch: written, it decides the result, and it is in the PGN; deleted, it does not."""
    visit = opened(GAME.format(3), has_touch=True, viewport=PHONE)
    page = visit.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    expect(page.locator("#outcome")).to_contain_text("by the tables")
    page.locator("#edit-comment").tap()
    page.locator("#comment-text").fill("White resigns")
    assert not visit.too_wide()
    page.get_by_role("button", name="Save", exact=True).tap()
    expect(page.locator("#outcome")).to_contain_text("resignation")
    expect(page.locator("#comment")).to_have_text("White resigns")
    assert head(page) == "{White resigns}"
    page.locator("#copy-pgn").tap()
    expect(page.locator("#said")).not_to_be_empty()
    assert "Kh6 {White resigns} *" in page.evaluate("navigator.clipboard.readText()").replace("\n", " ")
    page.locator("#edit-comment").tap()
    page.locator("#comment-delete").tap()
    expect(page.locator("#outcome")).to_contain_text("by the tables")
    assert head(page) == ""
