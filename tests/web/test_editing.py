"""Editing the list of moves by mouse, touch and keys."""

import json
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.support.browsing import Visit

pytestmark = pytest.mark.slow

GAME = "?fen=8/8/8/4KBk1/8/8/8/8_b_-_-_0_1&line=Kh5_Kf4_Kh6_1.Kf6_Kh4_1.Kd4&at={}"
"""After 1... Kh5 2. Kf4 Kh6 the variations 2. Kf6 Kh4 and 2. Kd4."""


def comments(page: Page) -> object:
    """Return the comments of the address by the moves that they follow."""
    hidden = parse_qs(urlsplit(page.url).fragment)
    return json.loads(hidden["comments"][0]) if "comments" in hidden else {}


@pytest.mark.everywhere
def test_a_variation_becomes_the_main_line(visit: Visit) -> None:
    """A promotion by mouse makes the main line a variation; the browser's back button undoes it.

    The result is that of the changed game, also after a reload.
    """
    visit.go(GAME.format(3))
    page, promote, outcome = visit.page, visit.page.locator("#promote"), visit.page.locator("#outcome")
    if visit.is_served():
        expect(outcome).to_contain_text("by the tables")
    played = page.locator("#played .step")
    expect(played).to_have_text(["start", "Kh5", "Kf4", "Kf6", "Kh4", "Kd4", "Kh6"])
    before = outcome.inner_text()
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
    expect(played).to_have_text(["start", "Kh5", "Kf6", "Kf4", "Kh6", "Kd4", "Kh4"])
    played.filter(has_text="Kd4").click()
    promote.click()
    expect(page.locator("#played [aria-current]")).to_have_text("Kd4")
    if visit.is_served():
        expect(outcome).not_to_have_text(before)
        expect(outcome).to_contain_text("by the tables")
        now = outcome.inner_text()
        page.reload()
        expect(outcome).to_have_text(now)
    visit.audit()


@pytest.mark.everywhere
def test_comments_are_written_changed_and_deleted_by_keys(visit: Visit) -> None:
    visit.go(GAME.format(1))
    page, shown = visit.page, visit.page.locator("#comment")
    edit = page.locator("#edit-comment")
    visit.sees({"#played [aria-current]": "Kh5", "#edit-comment": "Add a comment"})
    edit.focus()
    page.keyboard.press("Enter")
    page.keyboard.type("the {edge} -- of the board")
    visit.audit()
    page.keyboard.press("Enter")
    expect(shown).to_have_text("the (edge) -- of the board")
    expect(edit).to_be_focused()
    assert comments(page) == {"1": "the (edge) -- of the board"}
    expect(page.locator("#played .said")).to_have_text("Kh5")
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
