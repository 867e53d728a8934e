"""The page without a server, in a browser: it answers as the server does, from few bytes of few files."""

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import chess
import pytest
from playwright.sync_api import Browser, expect
from starlette.testclient import TestClient

from tbgen.board.material import Material
from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.probe.tablebase import open_tablebase
from tbgen.web.app import make_app
from tbgen.web.configuration import Settings
from tbgen.web.site import write_site
from tests.support.browsing import Visit
from tests.support.exhaustive import exhaustive, sample
from tests.support.paths import ROOT, rows
from tests.support.random_boards import random_board, starts
from tests.support.static_host import hosting
from tests.web.conftest import materials_of_site

pytestmark = pytest.mark.slow
KBK = "8/8/8/4KBk1/8/8/8/8 b - - 0 1"
MOST_BYTES = 1 << 20
"""Maximum number of bytes of a visit, page and tables together."""
LONGEST_LINE = 30
"""Maximum number of plies of best play in an answer."""
ANSWERS = """async asked => {
    const {get} = await import("/page/static/source.js")
    const answer = ([path, parameters]) => get(path, parameters).catch(error => {
        if (!error.code) throw error
        return {code: error.code, message: error.message}
    })
    const found = []
    for (const each of asked) found.push(await answer(each))
    return found
}"""
SENT = """async sent => {
    const {post} = await import("/page/static/source.js")
    const found = []
    for (const each of sent) found.push(await post(...each))
    return found
}"""
Asked = tuple[str, dict[str, str]]


@pytest.fixture(scope="module")
def api(site: Path) -> Iterator[TestClient]:
    """The API over the tables of the site."""
    with TestClient(make_app(Settings((site / "tables",), limit=0))) as client:
        yield client


@pytest.fixture(scope="module")
def visit(api: TestClient, browser: Browser, site: Path) -> Iterator[Visit]:
    """The page of a site, to which most tests only send questions, one after the other.

    A visit loads less than a megabyte, with all moves, accrued scores and best play of a position.
    """
    with hosting(site) as host:
        board = random_board(random.Random("KQvKQ"), Material.parse("KQvKQ"))
        visit = Visit(browser, host.address, f"?fen={board.fen().replace(' ', '_')}")
        expect(visit.page.locator("#line")).not_to_be_empty()
        visit.settle()
        of_tables = [path.startswith("/tables/") for path, _ in host.asked]
        assert any(of_tables)
        assert sum(size for _, size in host.asked) < MOST_BYTES
        yield visit
        visit.close()


def by_site(document: dict[str, Any]) -> dict[str, Any]:
    """Return the message of a site for that of a server: visitors cannot build tables there."""
    has = "this site has tables of up to 4 men"
    for told in (document, document.get("refusal") or {}):
        if "message" in told:
            text = re.sub(r"(table \w+) is missing; .*", rf"\1 is not here: {has}", told["message"])
            told["message"] = text.replace(
                "; tables have at most 5, kings included", f", kings included: {has}"
            )
    return document


def states(seed: str, count: int) -> Iterator[dict[str, str]]:
    """Return positions of two to four men, half of them with an accrued score."""
    for board, accrued in starts(seed, count, materials_of_site()):
        yield {"fen": board.fen()} | ({"accrued": str(accrued)} if accrued else {})


def beyond_the_tables(count: int) -> Iterator[dict[str, str]]:
    """Return positions from games of random moves, including castling and captures en passant."""
    rng, found = random.Random(5), 0
    while found < count:
        board = chess.Board()
        while not board.is_game_over() and board.ply() < 150:
            board.push(rng.choice(list(board.legal_moves)))
            if rng.random() < 0.05 or board.has_legal_en_passant():
                found += 1
                accrued = rng.choice([None, GScore(rng.randrange(2, 60), rng.random() < 0.5)])
                yield {"fen": board.fen()} | ({"accrued": str(accrued)} if accrued else {})


def test_questions_are_answered_as_by_the_server(visit: Visit, api: TestClient) -> None:
    """Random positions with random accrued scores have the server's value, depth, moves, lines and views;
    positions beyond the tables have its moves."""
    few = sample(2, 100)
    counts = {"r": sample(4, 500)}
    counts |= dict.fromkeys(("wg", "r/moves", "r/accrued", "r/mainline", "wg/mainline", "wg/accrued"), few)
    asked: list[Asked] = [(path, each) for path, count in counts.items() for each in states(path, count)]
    for view in ("classical", "stalemate-wins", "lasker"):
        boards = starts(view, few, materials_of_site())
        asked += [(view, {"fen": board.fen()}) for board, _ in boards]
    asked += [("r/moves", each) for each in beyond_the_tables(sample(8, 400))]
    for each, found in zip(asked, visit.page.evaluate(ANSWERS, asked), strict=True):
        path, parameters = each
        expected = by_site(api.get(f"/{path}", params=parameters).json())
        if "mainline" in expected:
            expected["mainline"] = expected["mainline"][:LONGEST_LINE]
        assert found == expected, each


def test_what_is_wrong_is_said(visit: Visit, api: TestClient) -> None:
    """Errors have the server's codes; for violations of the rules of chess also its words."""
    wrong = [(path, dict(parse_qsl(query))) for path, query in rows("wrong_questions.txt", "?")]
    *answers, refused = visit.page.evaluate(ANSWERS, wrong)
    for (path, parameters), found in zip(wrong, answers, strict=False):
        expected = by_site(api.get(f"/{path}", params=parameters).json())
        if "code" not in expected:
            assert found == expected
            continue
        assert found["code"] == expected["code"], parameters
        if "is not a" not in expected["message"] and expected["code"] != "castling_rights":
            assert found["message"] == expected["message"]
    assert refused["code"] == "not_offered"


GAME = (ROOT / "docs" / "drawn_game.pgn").read_text()
VARIED = f"""[White"Zoe\u0308 \\"A\\" B."] [Black-Team "C"]
[SetUp
"1"]
[FEN "{KBK}"]

1... Kh5 (1... Kh6 2. Kf6! (2. Bg6?? Kxg6) (2. Qa8 Kh5)) 2. Kf4 $1 {{or (2. Kf5)}} Kh6 ; the end
*
"""
CASTLED = (
    "{Begun} 1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. O-O Nge7 5. d4 d5 6.exd5 Qxd5 7. c4 (7. Nc3 {there} $14 !?) "
    "($1 7. Nc3? $256) Qd7 $18 $146 1/2-1/2 {agreed} {[%clk 0:05]}"
)
PASSED = '[FEN "8/2p5/8/1P6/8/8/8/K6k b - - 0 1 G5.0"]\n\n1... c5 2. bxc6 Kg2 3. c7 Kf3 4. c8=N *'


def test_games_are_followed_as_by_the_server(visit: Visit, api: TestClient) -> None:
    """Games have the server's plies with accrued scores and values, and its variations, but no outcome."""
    wrong = VARIED.replace("Kh5", "Kh1")
    games = {pgn: f"{pgn}\n\n{wrong}\n{pgn}" for pgn in (GAME, VARIED, CASTLED, PASSED)}
    sent = [*(("r/game", pgn) for pgn in games), *(("r/games", text) for text in games.values())]
    answers = visit.page.evaluate(SENT, sent)
    for pgn, text in games.items():
        found, listed = answers.pop(0), answers[len(games) - 1]["games"]
        expected = api.post("/r/game", content=pgn).json()
        assert found["outcome"] is None
        for part in ("plies", "variations"):
            for ply in expected[part]:
                del ply["clock"]
                # by the scoring of its tags
                ply["points"] = ply["points"] and pytest.approx(ply["points"], abs=0.01)
            assert found[part] == expected[part]
        for name in ("rules", "cut_variations", "missing_tables"):
            assert found[name] == expected[name]
        told = api.post("/r/games", content=text).json()["games"]
        for name in ("number", "tags", "result", "plies", "comment"):
            assert [game[name] for game in listed if not game["error"]] == [
                game[name] for game in told if not game["error"]
            ]
        assert [bool(game["error"]) for game in listed] == [False, True, False]
        assert "'Kh1' is not a legal move" in listed[1]["error"]


def test_pasted_games_are_a_table_with_their_own_results(visit: Visit) -> None:
    """Refereed results need a server, as the page says."""
    page, rows = visit.page, visit.page.locator("#games-rows tr")
    expect(page.locator("#refereeing .note")).to_be_visible()
    page.locator("#pgn").fill(f"{VARIED}\n{VARIED.replace('Kh5', 'Kh1')}\n{GAME}")
    page.get_by_role("button", name="Show it").click()
    expect(rows).to_have_text([re.compile(r"\?\*2$"), re.compile("'Kh1' is not"), re.compile("51/2-1/284$")])
    expect(page.locator("#games th[scope=col]:visible")).to_have_text(["Players", "Chess", "Moves"])
    expect(page.locator("#games .unserved")).to_contain_text("need a server")
    rows.last.get_by_role("button").click()
    expect(page.locator("#played .mistake")).to_have_text("G2.0 → -G5.5")
    for served in ("copy-picture", "save-film"):
        expect(page.locator(f"#{served}")).to_be_hidden()
    expect(page.get_by_role("link", name="API")).to_be_hidden()


def test_puzzles_have_one_move_and_challenges_are_won(visit: Visit, tables: Path) -> None:
    """Puzzles have the requested level; a day's puzzle is the same for all."""
    today = ("r/puzzle", {"day": "2026-11-25"})
    levels = ("easy", "medium", "hard")
    wanted: list[Asked] = [("r/puzzle", {"level": each}) for each in levels * sample(1, 20)]
    found = visit.page.evaluate(
        ANSWERS, [today, today, *wanted, *(("r/challenge", {"level": each}) for each in levels)]
    )
    assert found[0] == found[1]
    puzzles, challenges = found[: -len(levels)], found[-len(levels) :]
    assert [each["level"] for each in puzzles[2:]] == [parameters["level"] for _, parameters in wanted]
    with open_tablebase(tables) as opened:
        for puzzle in puzzles:
            board = chess.Board(puzzle["fen"])
            right, *wrong = opened.moves(board)
            assert (right.uci, str(right.value)) == (puzzle["moves"][0]["uci"], puzzle["value"])
            assert all(move.value != right.value for move in wrong)
            assert right.value.white == board.turn
            assert not board.is_capture(right.move)
            assert set(puzzle["tempting"]) == {
                move.uci
                for move in wrong
                if move.position_score.rank <= right.position_score.rank or board.is_capture(move.move)
            }
        for challenge, plies in zip(challenges, (range(3, 9), range(9, 21), range(21, 1000)), strict=True):
            result = opened.probe(challenge["fen"])
            assert result.value.white == chess.Board(challenge["fen"]).turn
            assert result.depth in plies


def test_the_puzzle_of_a_day_is_that_of_a_server(visit: Visit, api: TestClient) -> None:
    """With the same tables, site and server have the same puzzles, one for each day, level and material."""
    more: tuple[Asked, ...] = (
        ("r/puzzle", {"day": "2026-11-25", "level": "hard"}),
        ("r/puzzle", {"day": "2026-11-25", "material": "KQvKQ"}),
    )
    asked: list[Asked] = [("r/puzzle", {"day": f"2026-11-{day:02}"}) for day in range(1, sample(2, 30))]
    asked += [("wg/puzzle", {"day": "2026-11-25"}), *more[sample(1, 0) :]]
    found = visit.page.evaluate(ANSWERS, asked)
    assert [each["fen"] for each in found] == [
        api.get(f"/{path}", params=parameters).json()["fen"] for path, parameters in asked
    ]
    assert len({each["fen"] for each in found}) == len(asked)


def test_samples_have_what_is_asked_for(visit: Visit, tables: Path) -> None:
    wanted: list[dict[str, str]] = [
        {"material": "kkb", "value": "G0.5", "side": "black"},
        {"material": "KPvK"},
        {"value": "-G0.0"},
        {},
    ]
    found = visit.page.evaluate(ANSWERS, [("r/sample", each) for each in wanted])
    assert (found[0]["material"], found[0]["value"], found[0]["fen"].split()[1]) == ("KBvK", "G0.5", "b")
    assert found[1]["material"] == "KPvK"
    assert found[2]["value"] == "-G0.0"
    with open_tablebase(tables) as opened:
        for each in found:
            assert str(opened.probe(each["fen"]).value) == each["value"]


@pytest.mark.exhaustive
def test_a_host_without_ranges_sends_whole_files(browser: Browser, site: Path) -> None:
    with hosting(site, ranges=False) as host:
        visit = Visit(browser, host.address, f"?fen={KBK.replace(' ', '_')}")
        visit.has_depth(4)
        expect(visit.page.locator("#line button")).to_have_count(4)
        sent = [path for path, _ in host.asked if path.endswith(".h5")]
        assert sent == ["/tables/KBvK.r.h5"] * 2  # the first request tests for range requests
        notice = visit.page.locator("[popover]")
        expect(notice).to_have_count(0)  # a small file needs no notice
        visit.enter("#fen", "8/8/8/4KRk1/8/8/8/7r b - - 0 1")
        size = (site / "tables" / "KRvKR.r.h5").stat().st_size / 1e6
        expect(notice).to_have_text(
            f"The host of this site serves tables only as complete files, this one of {size:.1f} MB: "
            "some positions take a while to load. OK"
        )
        visit.audit()
        visit.page.locator("#flip").click()
        expect(notice).to_be_visible()  # until it has been read
        notice.get_by_role("button").click()
        expect(notice).to_have_count(0)
        expect(visit.page.locator("#facts dd").first).to_be_visible()
        visit.page.goto(f"{host.address}/?fen=8/8/8/4KBk1/8/8/8/7b_b_-_-_0_1")
        expect(visit.page.locator("#facts dd").first).to_be_visible()
        expect(notice).to_have_count(0)  # once is enough
        visit.close()


@pytest.mark.parametrize("how", ["changed", *exhaustive(["gone"])])
def test_a_damaged_host_is_told_of(how: str, browser: Browser, own: Path, tmp_path: Path) -> None:
    """Damage is reported in a sentence; the page continues with undamaged files."""
    target = tmp_path / "site"
    write_site(own, target, (Variant.R_MOBILITY,))
    path = target / "tables" / "KBvK.r.h5"
    content = path.read_bytes()
    path.unlink()  # it is a link
    if how == "changed":
        path.write_bytes(bytes(byte ^ (at >= 2048) for at, byte in enumerate(content)))
    with hosting(target) as host:
        visit = Visit(browser, host.address, f"?fen={KBK.replace(' ', '_')}")
        said = (
            "The host does not serve tables/KBvK.r.h5"
            if how == "gone"
            else "tables/KBvK.r.h5 on this site cannot be used"
        )
        expect(visit.page.locator("#problem")).to_contain_text(said)
        visit.enter("#fen", "8/8/8/4KQk1/8/8/8/8 b - - 0 1")
        expect(visit.page.locator("#value")).to_have_text("G0.0")
        visit.close()
