"""The page to play on, in a browser; tables and referee check its play independently."""

import re
from pathlib import Path

import chess
import pytest
from playwright.sync_api import expect

from tbgen.games.game_options import FiftyMoveRule
from tbgen.games.referee import Arbiter
from tbgen.probe.tablebase import open_tablebase
from tests.support.browsing import PHONE, Visit
from tests.support.exhaustive import sample
from tests.web.conftest import Opener

pytestmark = pytest.mark.slow
KBK = "play?fen=8/8/8/4KBk1/8/8/8/8_b_-_-_0_1&side=white"
GAMES = """async ([number, plies]) => {
    const {firstPly, isOver, keepsAccrued, plyAfter, reply} = await import("/page/contest.js")
    const {fresh} = await import("/page/api.js")
    const {moverOf} = await import("/page/position.js")
    const any = list => list[Math.floor(Math.random() * list.length)]
    const games = []
    for (let game = 0; game < number; game++) {
        const side = any(["White", "Black"])
        const played = [await firstPly((await fresh("r/sample")).fen, null)]
        let last = played[0]
        while (!isOver(last) && !(keepsAccrued(last) && played.length > 1) && played.length <= plies) {
            const mine = moverOf(last.fen) === side
            last = await plyAfter(last, mine ? await reply(played, played[0]) : any(last.answer.moves))
            played.push(last)
        }
        const moves = played.slice(1).map(ply => ply.uci)
        games.push({side, fen: played[0].fen, moves, accrued: last.accrued})
    }
    return games
}"""


@pytest.mark.everywhere
def test_the_page_gets_its_value_or_better(visit: Visit, tables: Path) -> None:
    """Against random moves the page gives nothing away, and gets at least the value of the first position."""
    games = visit.page.evaluate(GAMES, [sample(2, 200), sample(60, 400)])
    finished = 0
    with open_tablebase(tables) as known:
        for game in games:
            white = game["side"] == "White"
            referee = Arbiter(chess.Board(game["fen"]), fifty_move_rule=FiftyMoveRule.NONE)
            first = value = known.probe(referee.board, referee.accrued).value
            for uci in game["moves"]:
                referee.push(chess.Move.from_uci(uci))
                before, value = value, known.probe(referee.board, referee.accrued).value
                if referee.board.turn != white:  # the page has moved
                    assert value == before, game
            assert game["accrued"] == str(referee.accrued)
            result = referee.accrued if value == referee.accrued else value
            assert result >= first if white else result <= first, game
            finished += value == referee.accrued
    assert finished


@pytest.mark.everywhere
def test_a_game_is_played_by_keys_and_reviewed(opened: Opener) -> None:
    """The page answers, gives hints, tells a mistake, takes it back, and reviews the game.

    An end that gives the value away has to be requested twice in a row, and is listed as a mistake.
    """
    visit = opened(KBK)
    page, said, played = visit.page, visit.page.locator("#said"), visit.page.locator("#played")
    visit.sees({"#name": "Your move: White", "#played": "start 1... Kh5 ", "#white-held": "G3.5"})
    visit.sees({"#white-player": "White (you) ahead", "#black-player": "Black (page)"})
    expect(said).to_contain_text("Best play from the start: G1.5.")
    visit.press("h")
    visit.sees({"#said": "Move the king on e5. The next hint shows where to.", "#board .ring": 1})
    visit.press("h")
    visit.sees({"#said": "Best is Kf4: it leads to G1.5.", "#board .ring": 0, "#board .arrow": 1})
    page.locator("#at-once").check()
    visit.enter("#typed", "Bg6+")
    expect(played).to_have_text("start 1... Kh5 2. Bg6+ Kxg6 ")
    expect(said).to_have_text(re.compile(r"^Bg6\+ gives away .*Best play from the start was G1\.5\.$"))
    page.locator("#at-once").uncheck()
    expect(said).to_have_text("Best play from the start was G1.5.")
    page.locator("#board").click()
    visit.press("ArrowLeft", "ArrowLeft")
    expect(page.locator("#name")).to_have_text("Looking back")
    visit.enter("#typed", "Kf4")
    problem = "The board looks back: the right arrow (→) or the last move returns to the game."
    expect(page.locator("#typing-problem")).to_have_text(problem)
    page.locator("#board").click()
    visit.press("b")
    visit.sees({"#name": "Your move: White", "#typing-problem": "", "#played": "start 1... Kh5 "})
    visit.enter("#typed", "Bg6+")
    expect(played).to_have_text("start 1... Kh5 2. Bg6+ Kxg6 ")
    page.reload()  # the address has the game
    expect(played).to_have_text("start 1... Kh5 2. Bg6+ Kxg6 ")
    warning = "-G6.5 has accrued; best play gives G5.5. Offer the result again to end the game at -G6.5."
    for keys in ("o",), ("ArrowLeft", "ArrowRight", "o"):  # what gives something away is confirmed at once
        visit.press(*keys)
        visit.sees({"#said": warning, "#name": "Your move: White"})
    visit.press("o")
    end = "The page wins by very little: the result is agreed. Best play from the start was G1.5."
    visit.sees({"#name": "-G6.5 0.4999-0.5001", "#said": end, "#plies tr": 3, "#mistakes li": 2})
    visit.press("ArrowLeft")
    expect(page.locator("#plies [aria-current]")).to_have_text("2. Bg6+?")
    visit.audit()


def test_an_engine_plays_from_the_initial_position(opened: Opener) -> None:
    """The engine also gives hints; values without a table are not shown.

    The page takes the main line of the address, which may have glyphs and variations. Threefold repetition
    ends the game.
    """
    home = "_".join(["Nf3$1", "Nf6", "0.Nh3", "2.Ng1", "Ng8", *["Nf3", "Nf6", "Ng1", "Ng8"]])
    query = f"play?fen={chess.STARTING_FEN.replace(' ', '_')}&line={home}&side=black"
    visit = opened(query, viewport=PHONE)
    page, said, name = visit.page, visit.page.locator("#said"), visit.page.locator("#name")
    expect(name).to_contain_text("-G20.5")
    expect(page.locator(".tagline")).to_be_in_viewport(ratio=1)
    expect(said).to_contain_text("You win by very little: the position has occurred three times.")
    visit.press("n")
    page.get_by_role("button", name="From the initial position").click()
    expect(name).to_have_text("Your move: White")
    visit.drag("e2", "e4")
    visit.sees({"#played": "start 1. e4 e5 ", "#name": "Your move: White"})
    expect(said).to_contain_text("and takes no offer.")
    expect(page.get_by_role("button", name="Offer the result")).to_be_disabled()
    visit.press("h", "h")
    expect(said).to_contain_text("The page would play Nf3")
    visit.press("r")
    expect(said).to_have_text("Resigning gives the page -G0.0, as mate does. Press Resign again to do so.")
    visit.press("r")
    visit.sees({"#name": "-G0.0 0.0000-1.0000", "#no-mistakes": "No table says what could have been."})
    visit.press("n")
    visit.enter("#fen", "8/8/8/8/4k3/8/3QK3/8 w - - 0 1")
    expect(said).to_have_text("Best play from the start: G0.0. White mates in 5 moves.")


@pytest.mark.exhaustive
@pytest.mark.everywhere
def test_offers_resigning_and_new_games_on_a_phone(opened: Opener) -> None:
    """An offer worse than the page's value is refused; games begin from the explorer, a famous endgame and a
    random position."""
    visit = opened("?fen=8/8/8/4KBk1/8/8/8/8_b_-_-_0_1", viewport=PHONE, has_touch=True)
    page, said, name = visit.page, visit.page.locator("#said"), visit.page.locator("#name")
    visit.has_depth(4)
    page.locator("#play-on").tap()
    expect(name).to_have_text("Your move: Black")

    page.locator("#offer").tap()
    expect(said).to_have_text("No: best play gives White G1.5, and only G3.5 has accrued.")
    for square in ("g5", "h5"):
        page.touchscreen.tap(*visit.square(square, turned=True))
    expect(page.locator("#played")).to_contain_text("1... Kh5 2. Kf4")
    for tapped, told in (
        ("#resign", "Resigning gives the page G0.0, as mate does. Press Resign again to do so."),
        ("#resign", "The page wins, as you have resigned."),
        ("#first", "White wins by a little: in 2 moves Black gets down to one legal move (0.56 : 0.44)."),
    ):
        page.locator(tapped).tap()
        expect(said).to_contain_text(told)
    page.reload()
    visit.sees({"#name": "G0.0 1.0000-0.0000"})
    page.locator("#new").tap()
    visit.audit()
    page.get_by_role("button", name="Saavedra").tap()
    expect(name).to_have_text("Your move: White")
    page.locator("#new").tap()
    page.locator("#mover").select_option("second")
    page.get_by_role("button", name="Hard", exact=True).tap()
    expect(name).to_contain_text("Your move")
    expect(page.locator("#played")).to_contain_text("start 1")
    page.locator("#new").tap()
    visit.enter("#fen", "nonsense")
    expect(page.locator("#choosing-problem")).not_to_be_empty()
    assert not visit.too_wide()
