"""What a visitor meets at the first look, on the page of a server of its own."""

import re
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.support.browsing import PHONE, Visit
from tests.support.serving import served

pytestmark = pytest.mark.slow


def test_a_wrong_move_is_told_of_without_a_table(browser: Browser, tables: Path, tmp_path: Path) -> None:
    """By what every position has; where there is no answer at all, the task stays."""
    shutil.copy(tables / "KvK.r.h5", tmp_path)
    with served(tmp_path) as address:
        visit = Visit(browser, address, "#how=1")
        page, text = visit.page, visit.page.locator("#guide-text")
        expect(page.locator("#problem")).to_contain_text("tbgen build KRvK")
        page.locator("#moves [data-uci=h1h2]").wait_for(state="attached")
        visit.drag("h1", "h2")
        expect(text).to_have_text("Not Rh2. Black has one legal move, G1.5.")
        visit.click("#guide-again", "White to move: mate in one.", "#guide-text")
        page.route("**/r/moves?*", lambda route: route.abort())
        page.locator("#moves [data-uci=h1h3]").wait_for(state="attached")
        visit.drag("h1", "h3")
        expect(text).to_have_text(re.compile(r"^Not Rh3\. Mate is the best .* White to move: mate in one\.$"))
        visit.close()
    assert visit.wrong == []


@pytest.mark.exhaustive
def test_all_links_stand_in_one_row_on_a_phone(browser: Browser, tables: Path, tmp_path: Path) -> None:
    """Also where there are an event and a report."""
    (tmp_path / "report" / "tables").mkdir(parents=True)
    (tmp_path / "report" / "index.html").write_text("<!DOCTYPE html><title>report</title>")
    with served(tables, live=tmp_path / "event.pgn", report=tmp_path / "report") as address:
        visit = Visit(browser, address, "play", viewport=PHONE)
        for where in ("play", "live", ""):
            visit.page.goto(f"{address}/{where}")
            links = visit.page.locator("nav.site a:visible")
            expect(links).to_have_count(5)
            names = [*(f"nav.site a:visible >> nth={number}" for number in range(5)), "#scheme"]
            middles = [box["y"] + box["height"] / 2 for box in map(visit.box, names)]
            assert max(middles) - min(middles) < 6, middles
            assert not visit.too_wide()
        visit.close()
