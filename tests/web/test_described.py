"""Positions with described men: the server's answers, and the page with a picture for each man."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Browser, expect
from starlette.testclient import TestClient

from tbgen.beyond.budget import Budget
from tbgen.board.fen import DescribedBoard
from tbgen.errors import UsageError
from tbgen.probe.tablebase import open_tablebase
from tbgen.web.app import make_app
from tbgen.web.configuration import Settings
from tests.support.browsing import Visit
from tests.support.serving import served

FEN = "8/8/8/4K[WD]k1/8/8/8/8 b - - 0 1"
ACCRUED = "8/8/8/8/8/k7/2[WD]5/2K5 w - - 4 9"


@pytest.fixture(scope="module")
def client(described_dir: Path) -> Iterator[TestClient]:
    with TestClient(make_app(Settings((described_dir,), limit=0))) as client:
        yield client


def ask(client: TestClient, path: str, status: int = 200, **query: str) -> dict[str, Any]:
    answer = client.get(path, params=query)
    assert answer.status_code == status, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_answers_are_those_of_the_tables(client: TestClient, described_dir: Path) -> None:
    with open_tablebase(described_dir) as tables:
        for fen, accrued in ((FEN, ""), ("8/8/8/4K[WD]2/7k/8/8/8 w - - 0 1", ""), (ACCRUED, "-G1.5")):
            told = ask(client, "/r", fen=fen, accrued=accrued)
            one, moves = tables.probe(fen, accrued or None), tables.moves(fen, accrued or None)
            assert (told["fen"], told["material"]) == (fen, "K[WD]vK")
            assert (told["value"], told["depth"]) == (str(one.value), one.depth)
            assert [(move["uci"], move["value"], move["depth"]) for move in told["moves"]] == [
                (move.move.uci(), str(move.value), move.depth) for move in moves
            ]
        line = ask(client, "/r/mainline", fen=FEN)["mainline"]
        assert [ply["san"] for ply in line] == [ply.san for ply in tables.line(FEN)]
        for row in ask(client, "/r/accrued", fen=ACCRUED)["accrued_scores"]:
            assert row["value"] == str(tables.probe(ACCRUED, row["accrued"]).value)
    view = ask(client, "/classical", fen=FEN)
    assert (view["winner"], view["depth"], view["checkmate"]) == ("white", 22, False)


def test_lists_counts_samples_and_batches(client: TestClient) -> None:
    listed = ask(client, "/tables")["tables"]
    assert {table["material"] for table in listed} == {"KvK", "K[R]vK", "K[WF]vK", "K[WD]vK"}
    assert ask(client, "/r/stats/K[WD]vK")["positions"] == {"white": 25159, "black": 28056, "en_passant": 0}
    found = ask(client, "/r/sample", material="k[dw]vk", value="G2.0")
    assert (found["material"], found["value"]) == ("K[WD]vK", "G2.0")
    assert "[WD]" in found["fen"]
    batch = client.post("/r/batch", json={"fens": [FEN, "8/8/8/4K[fW]k1/8/8/8/8 b"]}).json()["positions"]
    assert batch[0]["value"] == "G0.0"
    assert batch[1]["code"] == "bad_input"


def test_what_is_of_chess_refuses_in_a_sentence(client: TestClient, described_dir: Path) -> None:
    only = "has described men: only tables know such men"
    assert only in ask(client, "/r/moves", 400, fen=FEN)["message"]
    game = f'[SetUp "1"]\n[FEN "{FEN}"]\n\n1... g5g4 *\n'
    assert "has described men in brackets" in client.post("/r/game", content=game).json()["message"]
    assert (
        "puzzles and challenges have only men of chess"
        in ask(client, "/r/puzzle", 400, material="K[WD]vK")["message"]
    )
    assert ask(client, "/r/puzzle", 404)["code"] == "no_position"
    assert ask(client, "/r", 404, fen=FEN.replace("WD", "WA"))["code"] == "missing_table"
    with TestClient(make_app(Settings((described_dir,), limit=0, solve_budget=Budget(cells=1)))) as solving:
        assert only in ask(solving, "/r/solve", 400, fen=FEN)["message"]


def test_pictures(client: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for side in "wb":
        answer = client.get(f"/page/men/{side}/WD.svg")
        assert answer.headers["content-type"].startswith("image/svg")
        assert ElementTree.fromstring(answer.text).get("viewBox") == "0 0 40 40"
    assert client.get("/page/men/x/WD.svg").status_code == 404
    assert client.get("/page/men/w/fN.svg").status_code == 400
    monkeypatch.setenv("TBGEN_MEN", str(tmp_path / "men.toml"))
    (tmp_path / "men.toml").write_text("[ghost]\n")
    with pytest.raises(UsageError, match="is not a file of men"):
        make_app(Settings((tmp_path,)))


def test_a_board_without_pawns_answers_as_one_of_chess() -> None:
    board = DescribedBoard({0: ("K", True), 63: ("K", False)}, True)
    assert board.is_insufficient_material()
    assert not board.has_legal_en_passant()
    board.men[9] = ("[WD]", True)
    assert not board.is_insufficient_material()


def test_the_page(browser: Browser, described_dir: Path) -> None:
    """The page has moves by mouse, a line that survives a reload, set-up with described men, and refusals."""
    with served(described_dir) as address:
        visit = Visit(browser, address, f"?fen={FEN.replace(' ', '_')}")
        page, sentence = visit.page, visit.page.locator("#sentence")
        expect(sentence).to_have_text("White mates in 11 moves.")
        assert page.locator("#board [data-square=f5][data-man]").count() == 1
        assert page.evaluate("fetch('page/men/w/WD.svg').then(answer => answer.ok)")
        visit.drag("g5", "g4")
        expect(sentence).to_have_text("White mates in 9 moves.")
        visit.click("#step", "White mates in 8 moves.")
        page.reload()
        expect(sentence).to_have_text("White mates in 8 moves.")
        expect(page.locator("#played")).to_contain_text("g5g4")
        page.locator("#copy-pgn").click()
        expect(page.locator("#said")).to_have_text("There is no PGN of it: copy the link instead")
        picture = page.evaluate(
            "async fen => (await import('/page/sharing.js')).svgOf(fen, false)",
            page.locator("#fen").input_value(),
        )
        assert [
            node.get("href", "")[:18]
            for node in ElementTree.fromstring(picture).iter()
            if "image" in node.tag
        ] == ["data:image/svg+xml"]
        page.locator("#setup").click()
        page.locator("#palette [title='Black [wd]']").click()
        page.mouse.click(*visit.square("a8"))
        expect(page.locator("#fen")).to_have_value("[wd]7/8/8/5[WD]2/4K1k1/8/8/8 b - - 0 1")
        expect(page.locator("#problem")).to_contain_text("tbgen build 'K[WD]vK[WD]'")
        visit.audit()
        visit.close()
