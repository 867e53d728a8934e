"""The page to play on, in a browser; tables and referee check its play independently."""

import re
from pathlib import Path

import chess
import pytest
from playwright.sync_api import expect

from tbgen.board.scoring import Scoring
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


def arbiter(fen: str) -> Arbiter:
    return Arbiter(chess.Board(fen), fifty_move_rule=FiftyMoveRule.NONE)


@pytest.mark.everywhere
def test_the_page_gets_its_value_or_better(visit: Visit, tables: Path) -> None:
    """Against random moves the page gives nothing away, and gets at least the value of the first position."""
    games = visit.page.evaluate(GAMES, [sample(2, 200), sample(60, 400)])
    finished = 0
    with open_tablebase(tables) as known:
        for game in games:
            white = game["side"] == "White"
            referee = arbiter(game["fen"])
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
def test_a_game_is_played_by_keys_and_reviewed(opened: Opener, tables: Path) -> None:
    """The page answers with the best move; hint, take back, offer and review agree with the tables.

    An end that gives the value away has to be requested twice in a row, and is listed as a mistake.
    """
    referee = arbiter("8/8/8/4KBk1/8/8/8/8 b - - 0 1")
    rows = list[tuple[str, ...]]()
    with open_tablebase(tables) as known:

        def push(move: chess.Move | None = None) -> str:
            """Make a move, by default the best one, and note the values of the tables."""
            board, accrued = referee.board, referee.accrued
            first, *_ = known.moves(board, accrued)
            san = board.san(move or first.move)
            had = known.probe(board, accrued).value
            label = f"{board.fullmove_number}{'.' if board.turn else '...'} {san}"
            referee.push(move or first.move)
            got = known.probe(referee.board, referee.accrued).value
            mark = "" if got == had else "?" if got.white == had.white else "??"
            worth = f"{had} → {got}" if mark else str(had)
            rows.append((label + mark, str(referee.position_score), str(referee.accrued), worth, first.san))
            return san

        replied = push()
        best, *_, worst = known.moves(referee.board, referee.accrued)
        assert worst.value != best.value
        square, piece = (
            chess.square_name(best.move.from_square),
            referee.board.piece_at(best.move.from_square),
        )
        assert piece is not None
        man = chess.piece_name(piece.piece_type)
        push(worst.move)
        answered = push()
        left = known.probe(referee.board, referee.accrued).value
    visit = opened(KBK)
    page, said, played = visit.page, visit.page.locator("#said"), visit.page.locator("#played")
    name, problem = page.locator("#name"), page.locator("#typing-problem")
    visit.sees({"#name": "Your move: White", "#played": f"start 1... {replied} "})
    visit.sees({"#white-player": "White (you) ahead", "#black-player": "Black (page)"})
    visit.sees({"#white-held": "G3.5", "#black-held": "-G18.5"})
    expect(said).to_contain_text("Best play from the start: G1.5.")
    visit.press("h")
    visit.sees({"#said": f"Move the {man} on {square}. The next hint shows where to.", "#board .ring": 1})
    visit.press("h")
    visit.sees(
        {"#said": f"Best is {best.san}: it leads to {best.value}.", "#board .ring": 0, "#board .arrow": 1}
    )
    line = f"start 1... {replied} 2. {worst.san} {answered} "
    for taken_back in (True, False):
        page.locator("#at-once").set_checked(taken_back)
        visit.enter("#typed", worst.san)
        expect(played).to_have_text(line)
        told = expect(said)
        (told.to_contain_text if taken_back else told.not_to_contain_text)(f"{worst.san} gives away ")
        page.locator("#board").click()
        visit.press("ArrowLeft", "ArrowLeft")
        expect(name).to_have_text("Looking back")
        visit.enter("#typed", worst.san)
        expect(problem).to_have_text(
            "The board looks back: the right arrow (→) or the last move returns to the game."
        )
        page.locator("#board").click()
        visit.press("ArrowRight", "ArrowRight")
        visit.sees({"#name": "Your move: White", "#typing-problem": ""})
        if taken_back:
            visit.press("b")
            expect(played).to_have_text(f"start 1... {replied} ")
    page.reload()  # the address has the game
    expect(played).to_have_text(line)
    warning = f"{referee.accrued} has accrued; best play gives {left}. Offer the result again to end the game"
    for keys in ("o",), ("ArrowLeft", "ArrowRight", "o"):  # what gives something away is confirmed at once
        visit.press(*keys)
        visit.sees({"#said": f"{warning} at {referee.accrued}.", "#name": "Your move: White"})
    visit.press("o")
    points = Scoring.parse("exponential").points(referee.accrued)
    expect(name).to_have_text(f"{referee.accrued} {points.white:.4f}-{points.black:.4f}")
    winner = "You win" if referee.accrued.white else "The page wins"
    expect(said).to_have_text(
        f"{winner} by very little: the result is agreed. Best play from the start was {best.value}."
    )
    cells = [
        [each.inner_text() for each in row.locator("th, td").all()] for row in page.locator("#plies tr").all()
    ]
    assert cells == [list(row[:4]) for row in rows]
    wrong = [row for row in rows if "→" in row[3]]
    assert page.locator("#mistakes li").all_inner_texts() == [
        *(f"{row[0]} {row[3]}; best was {row[4]}" for row in wrong),
        f"Offering the result {left} → {referee.accrued}; best was to play on",
    ]
    assert len(wrong) == 1
    visit.press("ArrowLeft")
    expect(page.locator("#plies [aria-current]")).to_have_text(rows[1][0])
    visit.audit()
    visit.press("n")
    visit.enter("#fen", "8/8/8/8/4k3/8/3QK3/8 w - - 0 1")
    expect(said).to_have_text("Best play from the start: G0.0. White mates in 5 moves.")
    visit.enter("#typed", "Rd9")
    expect(problem).to_have_text("Rd9 is not a legal move here.")
    visit.enter("#typed", "Qd4+")  # bare kings do not mate: the value of the start is no longer promised
    expect(said).to_have_text("Best play from the start was G0.0.")
    page.locator("#board").click()
    visit.press("r")
    expect(said).to_have_text("Resigning gives the page -G0.0, as mate does. Press Resign again to do so.")
    visit.press("r")
    expect(name).to_have_text("-G0.0 0.0000-1.0000")
    expect(page.locator("#mistakes li").last).to_have_text(re.compile("^Resigning .* → -G0.0; best was"))
    expect(page.locator("#no-mistakes")).to_be_hidden()


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
    visit.press("r", "r")
    expect(page.locator("#no-mistakes")).to_have_text("No table says what could have been.")


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
