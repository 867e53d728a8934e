"""The page of a running event, in a browser."""

import re
import signal
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.match.engines import MATE, words
from tests.support.browsing import Visit
from tests.support.matches import event
from tests.support.processes import end, started
from tests.support.serving import serving
from tests.support.watching import awaited, lingers, shown

pytestmark = pytest.mark.slow
expect.set_options(timeout=60_000)


def test_an_event_from_its_games_to_its_end(browser: Browser, tmp_path: Path, tables: Path) -> None:
    """Boards, graph, standings and finished games; nothing serious for people with disabilities, nothing
    wider than the screen; what a finished game leads to; the end, and how it goes on."""
    with shown(tmp_path / "games.pgn", tables=tables) as (running, address):
        watching = Visit(browser, address, "live")  # from the first move on
        awaited(address, lingers)
        for scheme, width in (("light", 1200), ("dark", 390)):
            visit = Visit(
                browser, address, "live", color_scheme=scheme, viewport={"width": width, "height": 844}
            )
            visit.page.locator(".board [data-piece]").first.wait_for()
            expect(visit.page.locator("#finished tbody tr")).to_have_count(2)
            assert not visit.too_wide()
            assert visit.violations() == []
            visit.close()
            assert visit.wrong == []
        page = watching.page
        card = page.get_by_label("Game 2.1.1", exact=True)
        expect(card.locator(".moves")).to_have_text("1. f3 e5 2. g4")
        expect(card.locator(".now")).to_contain_text("Accrued G30.5")
        expect(card.locator(".graph path.accrued")).to_have_attribute("d", re.compile(r"^M.*(H.*V.*){3}$"))
        expect(card.locator(".board [data-piece]")).to_have_count(32)
        expect(card.locator(".board .marker")).to_have_count(2)
        expect(page.locator(".match:not(.over)")).to_have_count(1)
        expect(page.locator("#event")).to_have_text("A, B; round-robin, 2 of 4 games played.")
        expect(page.locator("#standings tbody tr")).to_have_count(2)
        expect(page.locator("#score")).to_contain_text("Elo by pairs")  # the table has another one, by games
        expect(page.locator("#finished tbody tr").first).to_contain_text("Black mates")
        explorer = Visit(browser, address, "live")
        explorer.page.get_by_role("link", name="Explore game 1.1.1").click()
        expect(explorer.page.locator("#played .step")).to_have_text(["start", "f3", "e5", "g4", "Qh4#"])
        explorer.page.get_by_role("link", name="Live").click()
        expect(explorer.page.locator("#playing-label")).to_be_visible()
        explorer.close()
        assert explorer.wrong == []
        running.send_signal(signal.SIGINT)
        expect(page.locator("#status")).to_contain_text("The event was stopped.")
        expect(page.locator("#playing-label")).to_have_text("Last games")
        expect(card.locator(".moves")).to_have_text("1. f3 e5 2. g4")
        assert end(running)[0] == 130
    port = int(address.rpartition(":")[2])
    with shown(tmp_path / "games.pgn", "--rounds", "4", tables=tables, port=port) as (running, _):
        expect(page.locator("#finished tbody tr")).to_have_count(4)  # the page goes on by itself
        expect(page.get_by_label("Game 3.1.1", exact=True).locator(".moves")).to_have_text("1. f3 e5 2. g4")
        expect(page.locator("#status")).to_have_text("")
        expect(page.locator("#playing-label")).to_have_text("Games in play")
        running.kill()
        expect(page.locator("#status")).to_contain_text("The runner has ended without a word.")
    watching.close()
    assert watching.wrong == []


def test_the_winner_of_an_event(browser: Browser, tmp_path: Path, tables: Path) -> None:
    """An event that is over: who has won it, and no games that are called in play."""
    pgn = tmp_path / "games.pgn"
    players = [words(name, moves=MATE) for name in "AB"]
    with started("tbgen", *event(pgn, "--games", "1", players=players)) as running:
        running.communicate(timeout=300)
    with serving(tables, "--live", str(pgn)) as (_, host, port):
        visit = Visit(browser, f"http://{host}:{port}", "live", viewport={"width": 390, "height": 844})
        expect(visit.page.locator("#winner")).to_have_text("B wins.")
        expect(visit.page.locator("#playing-label")).to_have_text("Last games")
        expect(visit.page.locator("#more-playing")).to_have_text("They are listed below.")
        assert not visit.too_wide()
        assert visit.violations() == []
        visit.close()
        assert visit.wrong == []
