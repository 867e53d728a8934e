"""Finished events on a site without a server."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from playwright.sync_api import Browser, expect
from starlette.testclient import TestClient

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.errors import UsageError
from tbgen.games.live_file import EventEnd, Participant, Termination, encode_line, live_path
from tbgen.match.messages import LiveWriter
from tbgen.web.app import make_app
from tbgen.web.configuration import Settings
from tbgen.web.site import write_site
from tests.match.engines import MATE, words
from tests.match.test_live import START
from tests.support.browsing import PHONE, Visit
from tests.support.commands import failure
from tests.support.matches import played
from tests.support.static_host import hosting

R, KINGS = (Variant.R_MOBILITY,), [Material.parse("KvK")]
ROUNDS = 9
PLAYERS = "ABC"


@pytest.fixture(scope="module")
def event(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An event of three players, 54 games, all of which end in mate; Black wins each."""
    pgn = tmp_path_factory.mktemp("event") / "games.pgn"
    played(pgn, players=[words(name, moves=MATE) for name in PLAYERS])
    one = pgn.read_text()
    rounds = [re.sub(r'\[Round "1\.', f'[Round "{number}.', one) for number in range(1, ROUNDS + 1)]
    pgn.write_text("".join(rounds))
    players = [Participant(name, "inf") for name in PLAYERS]
    start = replace(START, players=players, total=6 * ROUNDS, size=pgn.stat().st_size)
    live_path(pgn).write_bytes(encode_line(start) + encode_line(EventEnd(Termination.FINISHED)))
    return pgn


@pytest.fixture(scope="module")
def site_of_event(event: Path, three_men: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site")
    write_site(three_men, target, R, KINGS, event=event)
    return target


def test_its_files_are_what_a_server_answers(event: Path, site_of_event: Path, three_men: Path) -> None:
    with TestClient(make_app(Settings((three_men,), live_file=event, limit=0))) as api:

        def both(address: str, file: str) -> tuple[Any, Any]:
            return api.get(address).json(), json.loads((site_of_event / file).read_bytes())

        for _ in range(1000):
            if (api.get("/live/event").json()["standings"] or {}).get("games") == 6 * ROUNDS:
                break
        answered, written = both("/live/event", "live/event.json")
        assert answered == written
        assert len(written["finished"]["games"]) == 50
        assert written["over"] == "finished"
        answered, written = both("/live/games?before=5", "live/games-5.json")
        assert answered == written
        assert [game["number"] for game in written["games"]] == [4, 3, 2, 1]
        for key in ("1.1.1", "9.3.2"):
            answered, written = both(f"/live/games/{key}.json", f"live/games/{key}.json")
            assert answered == written
            assert len(written["plies"]) == 4
            text = (site_of_event / "live" / "games" / f"{key}.pgn").read_text()
            assert text == api.get(f"/live/games/{key}.pgn").text
            assert f'[Round "{key}"]' in text
    assert len(list((site_of_event / "live" / "games").iterdir())) == 3 * 6 * ROUNDS
    assert (site_of_event / "live" / "event.pgn").read_bytes().strip() == event.read_bytes().strip()
    assert 'href="live/event.pgn" download' in (site_of_event / "live.html").read_text()


def test_an_event_stays_when_the_site_is_written_anew(site_of_event: Path, three_men: Path) -> None:
    (site_of_event / "live.html").unlink()
    write_site(three_men, site_of_event, R, KINGS)
    assert 'data-live=""' in (site_of_event / "live.html").read_text()
    assert 'href="live.html"' in (site_of_event / "index.html").read_text()
    assert (site_of_event / "page" / "live.js").exists()


def test_events_that_cannot_be_published(
    three_men: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is written; an event that was killed can be published."""
    pgn, site = tmp_path / "games.pgn", tmp_path / "site"
    with pytest.raises(UsageError, match=r"there is no event in .*games\.pgn: "):
        write_site(three_men, site, R, KINGS, event=pgn)
    with LiveWriter(pgn, pytest.fail) as writer:
        writer(START)
        with pytest.raises(UsageError, match="is still being played: publish it when it is over"):
            write_site(three_men, site, R, KINGS, event=pgn)
    assert not site.exists()
    live_path(pgn).write_bytes(encode_line(START))
    write_site(three_men, site, R, KINGS, event=pgn)
    assert json.loads((site / "live" / "event.json").read_bytes())["over"] == "gone"
    assert "add --site" in failure(capsys, 2, "publish", str(site), "--live", str(pgn))


@pytest.mark.slow
@pytest.mark.exhaustive
def test_the_page_of_an_event_without_a_server(site_of_event: Path, browser: Browser) -> None:
    """The page shows winner, crosstable and all games; games can be replayed and opened in the explorer."""
    with hosting(site_of_event) as host:
        visit = Visit(browser, host.address, "live.html", color_scheme="dark")
        page = visit.page
        expect(page.locator("#winner")).to_have_text("A, B and C share the first place.")
        expect(page.locator("#event")).to_have_text("A, B, C; round-robin, 54 of 54 games played.")
        expect(page.locator("#status")).to_contain_text("The event is over.")
        expect(page.locator("#standings table")).to_have_count(3)
        expect(page.locator("#crosstable table")).to_be_visible()
        page.set_viewport_size(PHONE)
        assert not visit.too_wide()
        expect(page.locator("#stage")).to_have_attribute("aria-label", "Game 9.3.2")
        expect(page.locator("#banner")).to_be_visible()
        expect(page.locator("#others")).to_be_hidden()
        expect(page.locator("#finished tbody tr")).to_have_count(50)
        page.get_by_role("button", name="Older games").click()
        expect(page.locator("#finished tbody tr")).to_have_count(54)
        expect(page.get_by_role("button", name="Older games")).to_be_hidden()
        page.get_by_role("button", name="Replay game 1.1.1").click()
        expect(page.locator("#played .step")).to_have_text(["f3", "e5", "g4", "Qh4#"])
        page.locator("#last").click()
        expect(page.locator("#banner")).to_have_text("-G0.0, 0.0000-1.0000: Black mates")
        visit.audit()
        with page.expect_download() as download:
            page.get_by_role("link", name="All games as PGN").click()
        assert download.value.path().read_text().count("Qh4#") == 6 * ROUNDS
        assert "Qh4#" in page.request.get(f"{host.address}/live/games/2.3.1.pgn").text()
        page.get_by_role("link", name="Explore game 2.3.1").click()
        expect(page.locator("#played .step")).to_have_text(["start", "f3", "e5", "g4", "Qh4#"])
        visit.close()
