"""The page of a running event, in a browser."""

import re
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NamedTuple

import chess
import pytest
from msgspec.structs import replace
from playwright.sync_api import Browser, expect

from tbgen.board.score import GScore
from tbgen.games.live_file import (
    GameEnd,
    GameMove,
    GamesPaired,
    GameStart,
    GameThought,
    LiveLine,
    PairedGame,
    Ply,
    SearchFigures,
    StartPosition,
    encode_line,
    live_path,
)
from tbgen.games.referee import Arbiter
from tbgen.match.messages import LiveWriter
from tests.match.engines import MATE, words
from tests.match.test_live import START
from tests.support.browsing import DESK, PHONE, SHIFTS, Visit
from tests.support.matches import played
from tests.support.serving import served
from tests.support.watching import stands_still

pytestmark = pytest.mark.slow

CROSSTABLE = """async () => {
    const {showStandings} = await import("/page/live.js")
    const columns = ["", "player", "sum", ..."123456"].map(title => ({title, word: title !== "sum"}))
    const row = ["1", "KomodoDragon-3.3-MCTS", "7.5", ...Array(6).fill("1=0=")]
    showStandings({tables: [{key: "crosstable", title: "", columns, rows: Array(6).fill(row)}], games: 2}, 2)
}"""
"""Script that shows the crosstable of six players."""
FITS = "() => [document.querySelector('#crosstable .wide')].every(e => e.scrollWidth <= e.clientWidth)"
LOWEST = """graph => Math.max(...[...graph.querySelectorAll("line, path, text")]
    .map(drawn => drawn.getBoundingClientRect().bottom))"""
"""Script that returns the lower edge of the drawing in a graph."""


def start(key: str) -> GameStart:
    return GameStart(time.time(), key, 1, "A", "B", StartPosition(chess.STARTING_FEN, GScore("-G20.5")))


def moves(key: str) -> Iterator[GameMove]:
    """The moves of the game that ends in mate."""
    arbiter, board = Arbiter(), chess.Board()
    for uci in MATE.split():
        san = board.san(board.parse_uci(uci))
        board.push_uci(uci)
        arbiter.push_uci(uci)
        yield GameMove(time.time(), key, Ply(uci, san, arbiter.accrued, ""), board.fen(), {})


def end_of(key: str) -> GameEnd:
    return GameEnd(time.time(), key, 1, "A", "B", GScore("-G0.0"), "Black mates", 1, 0)


class Events(NamedTuple):
    """Events played before the browser started, which occupies the event loop of this thread."""

    over: Path
    """File of an event with one game, which is over."""
    pgn: Path
    """File of an event with two games."""
    lines: Sequence[LiveLine]
    """Content of the live file about these games and the next one."""


@pytest.fixture(scope="module", autouse=True)
def events(tmp_path_factory: pytest.TempPathFactory) -> Events:
    over, pgn = (tmp_path_factory.mktemp(name) / "games.pgn" for name in ("over", "event"))
    played(over, "--games", "1", players=[words(name, moves=MATE) for name in "AB"])
    return Events(over, pgn, stands_still(pgn))


def test_an_event_from_its_games_to_its_end(browser: Browser, events: Events, tables: Path) -> None:
    """The page shows an event of a server, its end, its continuation and a killed runner.

    It has no serious accessibility problem, and what matters is on the first screen.
    """
    with served(tables, live_file=events.pgn) as address, ExitStack() as later:
        with suppress(KeyboardInterrupt), LiveWriter(events.pgn, print) as writer:
            for line in events.lines:
                writer(line)  # type: ignore[arg-type]
            watching = Visit(browser, address, "live", viewport=PHONE, color_scheme="dark")
            page, status = watching.page, watching.page.locator("#status")
            watching.sees({"#finished tbody tr": 2})
            assert not watching.too_wide()
            assert watching.violations() == []
            for each in (".tagline", "#board", "#white-evaluation", "#black-evaluation"):
                expect(page.locator(each)).to_be_in_viewport(ratio=1)
            for width, height in ((390, 844), (1440, 900)):
                page.set_viewport_size({"width": width, "height": height})
                for each in ("#board", "#black", "#white", "#thoughts svg"):
                    expect(page.locator(each)).to_be_in_viewport(ratio=1)
                expect(page.locator("#standings tbody tr").first).to_be_in_viewport()
            page.set_viewport_size(DESK)
            expect(page.locator("#white")).to_be_in_viewport(ratio=1)
            assert watching.box("#board")["height"] > 0.65 * DESK["height"]
            depth = re.compile(r"^depth 3, [\d.]+s, 20 nodes$")
            watching.sees({"#played": "1. f3 e5 2. g4", "#white-depth": depth, "#black-line": "1... e5"})
            watching.sees({"#mobility": "Black has 30 legal moves: G30.5", "#now": "Accrued G30.5"})
            watching.sees({"#board [data-man]": 32, "#board .marker": 2, ".match": 1})
            watching.sees({"#event": "Test: A, B; round-robin, 2 of 4 games played.", "#standings tr": 3})
            expect(page.locator("#score")).to_contain_text("Elo by pairs")  # the table has one by games
            expect(page.locator("#finished tbody tr").first).to_contain_text("Black mates")
            raise KeyboardInterrupt
        expect(status).to_contain_text("The event was stopped.")
        writer = later.enter_context(LiveWriter(events.pgn, print))
        writer(replace(events.lines[0], finished=2, size=events.pgn.stat().st_size))  # type: ignore[arg-type]
        watching.sees({"#status": "", "#finished tbody tr": 2})  # the page updates itself
        part = events.pgn.with_name("part")
        part.write_bytes(b"".join(map(encode_line, events.lines)))
        part.replace(live_path(events.pgn))  # which no runner holds
        expect(status).to_contain_text("The event has broken off")
        watching.close()


def test_a_game_is_watched_to_its_end(browser: Browser, tmp_path: Path) -> None:
    """A thought is shown until its engine moves, and nothing that comes leaves its place.

    Rows of test_modules.py have what is shown while stepping through a game, and of other games.
    """
    pgn = tmp_path / "games.pgn"
    with LiveWriter(pgn, print) as writer, served(tmp_path, live_file=pgn) as address:
        paired = [PairedGame(f"1.{encounter}.1", encounter, "A", "B") for encounter in range(1, 10)]
        first, *others = moves("1.1.1")
        writer(START)
        visit = Visit(browser, address, "live")
        page = visit.page
        for told in (GamesPaired(paired), start("1.1.1"), first):
            writer(told)
        writer(GameThought(0, "1.1.1", "-0.31/9 2.500s", "e7e5 g2g4", SearchFigures(1_234_567, 493_827, 1)))
        visit.sees({"#black": "B-0.31", "#black-line": "1... e5 2. g4", ".thinks h3": "B"})
        visit.sees({"#board .arrow": 2, "#next-games li": 7, "#white-evaluation": "–"})
        writer(others[0])
        visit.sees({"#played .step": 2, "#black-evaluation": "–", ".thinks": 0})
        graph, drawn = visit.box("#graph"), visit.box("#graph svg")
        assert graph["y"] + graph["height"] == pytest.approx(drawn["y"] + drawn["height"], abs=0.5)
        assert page.locator("#graph").evaluate(LOWEST) <= drawn["y"] + drawn["height"]
        for told in others[1:]:
            writer(told)
        writer(end_of("1.1.1"))
        visit.sees({"#banner": "Black mates", ".engine:visible": 0})  # no move has told anything
        board = visit.box("#board")
        assert visit.box("#banner")["y"] >= board["y"] + board["height"]
        page.evaluate(CROSSTABLE)
        for width in (1440, 1024, 390, 1200):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate(FITS), width
        back = visit.box("#back")
        page.keyboard.press("ArrowLeft")
        expect(page.locator("#banner")).to_be_hidden()
        assert visit.box("#back") == back
        visit.audit()
        visit.close()


@pytest.mark.exhaustive
def test_an_event_that_is_over(browser: Browser, events: Events, tmp_path: Path, tables: Path) -> None:
    """The page names the winner, with a live file or without; then the event is continued."""
    pgn = tmp_path / "games.pgn"
    winner = {"#winner": "B wins: 1 to 0 points.", "#event": "A, B; round-robin, 1 game played."}
    end = {"#banner": "-G0.0, 0.0000-1.0000: Black mates"}
    with served(tables, live_file=pgn) as address:
        visit = Visit(browser, address, "live")
        page, status = visit.page, visit.page.locator("#status")
        expect(page.locator("#event")).to_contain_text("No event has begun: the PGN file has no")
        Path(shutil.copy(events.over, tmp_path / "other.pgn")).rename(pgn)
        visit.sees(winner | end)
        expect(status).to_contain_text("no readable live file beside it")
        Path(shutil.copy(live_path(events.over), tmp_path / "other.live")).rename(live_path(pgn))
        expect(status).to_contain_text("The event is over.")
        page.add_init_script(SHIFTS)
        page.reload()
        visit.sees({**end, "#winner": winner["#winner"]})
        visit.draw()
        assert page.evaluate("shiftSoFar()") < 0.01
        with LiveWriter(pgn, print) as writer:
            writer(replace(START, finished=1, size=pgn.stat().st_size, name="Autumn cup"))
            visit.sees({"#status": "", "#winner": "", "#finished tbody tr": 1})
        visit.audit()
        visit.close()


@pytest.mark.exhaustive
def test_a_finished_event_fits_every_screen(browser: Browser, events: Events, tables: Path) -> None:
    with served(tables, live_file=events.over) as address:
        visit = Visit(browser, address, "live", viewport=PHONE)
        page = visit.page
        visit.sees({"#winner": "B wins: 1 to 0 points.", "#finished tbody tr": 1})
        for each in (".tagline", "#winner", "#board"):
            expect(page.locator(each)).to_be_in_viewport(ratio=1)
        page.set_viewport_size({"width": 1440, "height": 900})
        assert page.locator("#standings .wide").evaluate("each => each.scrollWidth <= each.clientWidth")
        page.set_viewport_size({"width": 667, "height": 375})
        page.locator("#stage").evaluate("each => each.scrollIntoView()")
        for each in ("#board", "#banner"):
            expect(page.locator(each)).to_be_in_viewport(ratio=1)
        assert not visit.too_wide()
        page.set_viewport_size({"width": 390, "height": 844})
        page.get_by_role("button", name="Replay game 1.1.1").click()
        visit.sees({"#mobility": "White has 20 legal moves: -G20.5", "#banner:visible": 0})
        page.locator("#last").click()
        visit.sees({"#black-depth": re.compile("^depth 3, "), "#banner:visible": 1})
        assert not visit.too_wide()
        visit.close()
