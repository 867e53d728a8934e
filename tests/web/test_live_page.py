"""The page of a running event, in a browser."""

import re
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
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
from tbgen.match.messages import LiveWriter, Message
from tests.match.engines import MATE, words
from tests.match.test_live import START
from tests.support.browsing import DESK, PHONE, SHIFTS, Visit
from tests.support.matches import played
from tests.support.serving import served
from tests.support.watching import stands_still

pytestmark = pytest.mark.slow

SCORES = """async tables => {
    const {showStandings} = await import("/page/live.js")
    showStandings({tables, games: 2}, 2)
}"""
FITS = "() => [document.querySelector('#crosstable .wide')].every(e => e.scrollWidth <= e.clientWidth)"
SLEEPLESS = """const {setTimeout: real} = window
window.setTimeout = (call, time) => time > 30000 ? (window.wake = call, 0) : real(call, time)"""
"""Script with which the page's patience with a silent server ends when ``wake`` is called."""
LOWEST = """graph => Math.max(...[...graph.querySelectorAll("line, path, text")]
    .map(drawn => drawn.getBoundingClientRect().bottom))"""
"""Script that returns the lower edge of the drawing in a graph."""


@contextmanager
def following(browser: Browser, tmp_path: Path) -> Iterator[tuple[Visit, Callable[..., None]]]:
    """The page of an invented event with two simultaneous games, and the writer of its messages."""
    pgn = tmp_path / "games.pgn"
    with LiveWriter(pgn, print) as writer, served(tmp_path, live_file=pgn) as address:

        def told(*messages: Message) -> None:
            for message in messages:
                writer(message)

        told(replace(START, concurrency=2))
        visit = Visit(browser, address, "live", SLEEPLESS)
        yield visit, told
        visit.audit()
        visit.close()


def start(key: str) -> GameStart:
    return GameStart(time.time(), key, 1, "A", "B", StartPosition(chess.STARTING_FEN, GScore("-G20.5")))


def move(key: str, number: int) -> GameMove:
    """Return a move of the game that ends in mate, by its number from 0."""
    arbiter = Arbiter()
    board = chess.Board()
    for uci in MATE.split()[: number + 1]:
        san = board.san(board.parse_uci(uci))
        board.push_uci(uci)
        arbiter.push_uci(uci)
    return GameMove(time.time(), key, Ply(uci, san, arbiter.accrued, ""), board.fen(), {})


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
    """The page shows boards, graph, standings, finished games, the end, the continuation and a killed runner.

    It has no serious accessibility problem, and nothing is wider than the screen.
    """
    with served(tables, live_file=events.pgn) as address, ExitStack() as later:
        with suppress(KeyboardInterrupt), LiveWriter(events.pgn, print) as writer:
            for line in events.lines:
                writer(line)  # type: ignore[arg-type]
            watching = Visit(browser, address, "live")
            page = watching.page
            page.set_viewport_size(PHONE)
            page.emulate_media(color_scheme="dark")
            expect(page.locator("#finished tbody tr")).to_have_count(2)
            for each in (".tagline", "#board", "#white-evaluation", "#black-evaluation"):
                expect(page.locator(each)).to_be_in_viewport(ratio=1)
            assert not watching.too_wide()
            assert watching.violations() == []
            for width, height in ((390, 844), (1440, 900)):  # what matters is on the first screen
                page.set_viewport_size({"width": width, "height": height})
                for each in ("#board", "#black", "#white", "#thoughts svg"):
                    expect(page.locator(each)).to_be_in_viewport(ratio=1)
                expect(page.locator("#standings tbody tr").first).to_be_in_viewport()
            page.set_viewport_size(DESK)
            assert watching.box("#board")["height"] > 0.65 * DESK["height"]
            expect(page.locator("#white")).to_be_in_viewport(ratio=1)
            stage = page.get_by_label("Game 2.1.1", exact=True)
            watching.sees({"#played": "1. f3 e5 2. g4", "#mobility": "Black has 30 legal moves: G30.5"})
            watching.sees({"#white-evaluation": "+0.12", "#white-line": "2. g4", "#black-line": "1... e5"})
            expect(stage.locator(".now")).to_contain_text("Accrued G30.5")
            expect(stage.locator("#white-depth")).to_have_text(re.compile(r"^depth 3, [\d.]+s, 20 nodes$"))
            curve = re.compile(r"^M.*(H.*V.*){3}$")
            expect(stage.locator(".graph path.accrued")).to_have_attribute("d", curve)
            watching.sees({"#board [data-man]": 32, "#board .marker": 2, ".match": 1})
            watching.sees(
                {"#event": "Test: A, B; round-robin, 2 of 4 games played.", "#standings tbody tr": 2}
            )
            page.keyboard.press("Home")
            expect(stage.locator("#mobility")).to_have_text("White has 20 legal moves: -G20.5")
            page.keyboard.press("End")
            expect(page.locator("#score")).to_contain_text("Elo by pairs")  # the table has one by games
            expect(page.locator("#finished tbody tr").first).to_contain_text("Black mates")
            raise KeyboardInterrupt
        expect(page.locator("#status")).to_contain_text("The event was stopped.")
        watching.sees({"#playing-label": "Last games", "#played": "1. f3 e5 2. g4"})
        writer = later.enter_context(LiveWriter(events.pgn, print))
        writer(replace(events.lines[0], finished=2, size=events.pgn.stat().st_size))  # type: ignore[arg-type]
        watching.sees({"#status": "", "#finished tbody tr": 2})  # the page updates itself
        part = events.pgn.with_name("part")
        part.write_bytes(b"".join(map(encode_line, events.lines)))
        part.replace(live_path(events.pgn))  # which no runner holds
        expect(page.locator("#status")).to_contain_text("The event has broken off")
        watching.close()


def test_a_game_is_walked_through_while_it_goes_on(browser: Browser, tmp_path: Path) -> None:
    """Keys, buttons and moves step through a game; meanwhile its moves are not shown, but its end is.

    An engine's thought is shown until it moves (test_modules.py has what is shown while stepping). Other
    games are on small boards: a click brings one to the large board, and a finished game is replaced unless
    the visitor steps through it. The whole crosstable of six players is seen at every width. While the server
    is silent, the clocks stand still.
    """
    columns = [{"title": title, "word": title != "sum"} for title in ["", "player", "sum", *"123456"]]
    rows = [["1", "KomodoDragon-3.3-MCTS", "7.5", *["1=0="] * 6]] * 6
    crosstable = {"key": "crosstable", "title": "", "note": "", "first": "", "columns": columns, "rows": rows}
    with following(browser, tmp_path) as (visit, told):
        page = visit.page
        stage = page.locator("#stage")
        shown = page.locator("#board svg.chessboard")
        paired = [PairedGame(f"1.{encounter}.1", encounter, "A", "B") for encounter in range(1, 10)]
        told(GamesPaired(paired), start("1.1.1"), move("1.1.1", 0))
        told(GameThought(0, "1.1.1", "-0.31/9 2.500s", "e7e5 g2g4", SearchFigures(1_234_567, 493_827, 1)))
        visit.sees({"#black": "B-0.31"})  # Black's own evaluation
        visit.sees({"#black-depth": "depth 9, 2.500s, 1.2M nodes, 494k/s, 1 tablebase hit"})
        visit.sees({"#board .arrow": 2, "#next-games li": 7})
        expect(page.locator("#next-games li").last).to_have_text("and 2 more")
        visit.sees({"#black-line": "1... e5 2. g4", "#white-evaluation": "–", ".thinks h3": "B"})
        told(move("1.1.1", 1))
        visit.sees({"#played .step": 2, "#black-evaluation": "–", ".thinks": 0})
        told(GameThought(0, "1.1.1", "-0.42/7 1.000s", "g2g4"))
        visit.sees({"#white": "A-0.42", "#white-depth": "depth 7, 1.000s"})
        graph, drawn = visit.box("#graph"), visit.box("#graph svg")
        assert graph["y"] + graph["height"] == pytest.approx(drawn["y"] + drawn["height"], abs=0.5)
        assert page.locator("#graph").evaluate(LOWEST) <= drawn["y"] + drawn["height"]
        expect(shown).to_have_attribute("aria-label", "Board after 1... e5")
        page.keyboard.press("ArrowLeft")
        told(move("1.1.1", 2))
        expect(page.locator("#played .step")).to_have_text(["f3", "e5", "g4"])
        expect(shown).to_have_attribute("aria-label", "Board after 1. f3")
        expect(page.locator("#played [aria-current]")).to_have_text("f3")
        page.locator("#played .step", has_text="e5").click()
        visit.sees({"#now": "Accrued -G19.5", "#last": "Now"})
        page.locator("#last").click()
        expect(shown).to_have_attribute("aria-label", "Board after 2. g4")
        told(move("1.1.1", 3), end_of("1.1.1"))
        visit.sees({"#last": "End", "#banner": "Black mates"})
        board = visit.box("#board")
        assert visit.box("#banner")["y"] >= board["y"] + board["height"]
        page.evaluate(SCORES, [crosstable])
        for width in (1440, 1024, 390, 1200):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate(FITS), width
        expect(page.locator(".engine:visible")).to_have_count(0)  # no move has told anything
        back = visit.box("#back")
        page.keyboard.press("ArrowLeft")
        expect(page.locator("#banner")).to_be_hidden()
        assert visit.box("#back") == back
        told(replace(START, concurrency=2), start("1.1.1"), move("1.1.1", 0), start("1.1.2"))
        expect(page.locator("#played .step")).to_have_text(["f3"])
        expect(stage).to_have_attribute("aria-label", "Game 1.1.1")
        page.get_by_role("button", name="Watch game 1.1.2").click()
        expect(stage).to_have_attribute("aria-label", "Game 1.1.2")
        expect(page.get_by_role("button", name="Watch game 1.1.1")).to_be_visible()
        told(move("1.1.2", 0), end_of("1.1.2"), start("2.1.1"))
        expect(stage).to_have_attribute("aria-label", "Game 2.1.1")
        told(move("2.1.1", 0), move("2.1.1", 1))
        expect(page.locator("#played .step")).to_have_count(2)
        page.keyboard.press("ArrowLeft")
        told(end_of("2.1.1"), start("2.1.2"))
        expect(page.get_by_role("button", name="Watch game 2.1.2")).to_be_visible()
        expect(stage).to_have_attribute("aria-label", "Game 2.1.1")
        expect(page.locator("#playing .match")).to_have_count(2)
        told(START, start("1.1.1"), replace(move("1.1.1", 0), left={"white": 500.0, "black": 600.0}))
        clock, status = page.locator("#black .clock"), page.locator("#status")
        expect(clock).to_have_text(re.compile(r"\d"))
        page.route("**/live/stream", lambda route: route.abort())
        page.evaluate("wake()")
        expect(status).to_contain_text("The server of this page does not answer")
        seen = clock.inner_text()
        page.evaluate("() => { performance.now = () => 1e9 }")
        page.keyboard.press("ArrowLeft")
        expect(clock).to_have_text(seen)
        page.unroute("**/live/stream")
        page.evaluate("wake()")
        expect(status).to_have_text("")


@pytest.mark.exhaustive
def test_an_event_that_is_over(browser: Browser, events: Events, tmp_path: Path, tables: Path) -> None:
    """The page names the leader, the winner once a live file has the end, and how the last game ended.

    No game is shown as in play. Without an event the page says so.
    """
    pgn = tmp_path / "games.pgn"
    with served(tables, live_file=pgn) as address:
        visit = Visit(browser, address, "live")
        page = visit.page
        expect(page.locator("#event")).to_contain_text("No event has begun: the PGN file has no")
        Path(shutil.copy(events.over, tmp_path / "other.pgn")).rename(pgn)
        visit.sees({"#winner": "B wins: 1 to 0 points.", "#event": "A, B; round-robin, 1 game played."})
        expect(page.locator("#status")).to_contain_text("no readable live file beside it")
        visit.sees({"#banner": "-G0.0, 0.0000-1.0000: Black mates", "#finished tbody tr": 1})
        Path(shutil.copy(live_path(events.over), tmp_path / "other.live")).rename(live_path(pgn))
        expect(page.locator("#winner")).to_have_text("B wins: 1 to 0 points.")
        expect(page.locator("#event")).to_contain_text("round-robin")
        page.add_init_script(SHIFTS)
        page.reload()
        expect(page.locator("#winner")).to_have_text("B wins: 1 to 0 points.")
        visit.sees({"#banner": "-G0.0, 0.0000-1.0000: Black mates", "#finished tbody tr": 1})
        visit.draw()
        assert page.evaluate("shiftSoFar()") < 0.01
        page.set_viewport_size({"width": 390, "height": 664})
        for each in (".tagline", "#winner", "#board"):
            expect(page.locator(each)).to_be_in_viewport(ratio=1)
        page.set_viewport_size({"width": 1440, "height": 900})
        table = page.locator("#standings .wide")
        assert table.evaluate("element => element.scrollWidth <= element.clientWidth")
        page.set_viewport_size({"width": 667, "height": 375})
        page.locator("#stage").evaluate("each => each.scrollIntoView()")
        expect(page.locator("#board")).to_be_in_viewport(ratio=1)
        expect(page.locator("#banner")).to_be_in_viewport(ratio=1)
        assert not visit.too_wide()
        page.set_viewport_size({"width": 390, "height": 844})
        expect(page.locator("#others")).to_be_hidden()
        moves = page.locator("#played")
        moves.evaluate(
            "each => { Object.assign(each.style, {height: '4px', minHeight: '0'}); each.scrollTop = 1000 }"
        )
        assert moves.evaluate("each => each.scrollTop") > 0
        page.get_by_role("button", name="Replay game 1.1.1").click()
        expect(page.locator("#stage")).to_have_attribute("aria-label", "Game 1.1.1")
        expect(page.locator("#played .step")).to_have_text(["f3", "e5", "g4", "Qh4#"])
        expect(page.locator("#banner")).to_be_hidden()
        expect(page.locator("#mobility")).to_have_text("White has 20 legal moves: -G20.5")
        assert moves.evaluate("each => each.scrollTop") == 0
        page.locator("#last").click()
        visit.sees({"#banner": "-G0.0, 0.0000-1.0000: Black mates", "#black-depth": re.compile("^depth 3, ")})
        assert not visit.too_wide()
        with LiveWriter(pgn, print) as writer:  # the finished event is continued
            writer(replace(START, finished=1, size=pgn.stat().st_size, name="Autumn cup"))
            visit.sees({"#status": "", "#winner": "", "#finished tbody tr": 1})
            expect(page).to_have_title("Autumn cup – tbgen live")
        visit.audit()
        visit.close()
