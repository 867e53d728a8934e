"""Games by the API: what has accrued, what tables say of it, and the outcome."""

import random
from pathlib import Path

import chess
import chess.pgn
import pytest
from starlette.testclient import TestClient

from tbgen.probe.tablebase import open_tablebase
from tbgen.web.settings import MOST_PLIES
from tests.support.paths import ROOT

DRAWN = (ROOT / "docs" / "drawn_game.pgn").read_text()
BROKEN = "1. e4 e5 2. Ke3 *"


def played(fen: str, plies: int, seed: int) -> chess.pgn.Game:
    """Random moves from a position."""
    rng, board = random.Random(seed), chess.Board(fen)
    for _ in range(plies):
        if moves := list(board.legal_moves):
            board.push(rng.choice(moves))
    return chess.pgn.Game.from_board(board)


def test_a_drawn_game(api: TestClient) -> None:
    """The example of README.md: White held G2.0, and Black could win it all back."""
    found = api.post("/r/game", content=DRAWN).json()
    plies, outcome = found["plies"], found["outcome"]
    assert len(plies) == 168
    assert (plies[-1]["accrued"], plies[-1]["value"], plies[-1]["depth"]) == ("G2.0", "-G5.5", 13)
    assert (outcome["value"], outcome["basis"], outcome["proven"]) == ("-G5.5", "tablebase", True)
    assert found["fifty_move_rule"] == "legacy"
    assert [ply["ply"] for ply in plies] == list(range(168))


@pytest.mark.parametrize("rules", ["r", "wg"])
def test_plies_have_what_a_probe_of_the_moves_so_far_says(rules: str, api: TestClient, tables: Path) -> None:
    """A board remembers its moves, and the tables see from them what has accrued."""
    game = played("8/8/8/3k4/8/2KP4/8/5b2 w - - 0 1", 60, 1)
    plies = api.post(f"/{rules}/game", content=str(game)).json()["plies"]
    board = game.board()
    with open_tablebase(tables, rules=rules) as tablebase:
        for ply, move in zip(plies, [None, *game.mainline_moves()], strict=True):
            assert ply["uci"] == (move and move.uci())
            if move is not None:
                assert ply["san"] == board.san(move)
                board.push(move)
            expected = tablebase.probe(board)
            assert ply["fen"] == board.fen()
            assert (ply["value"], ply["depth"]) == (str(expected.value), expected.depth)
            assert (ply["accrued"], ply["position_score"]) == (
                str(expected.accrued),
                str(expected.position_score),
            )


def test_where_no_table_reaches(api: TestClient) -> None:
    """Six men; then five, of which there is no table; then four."""
    game = '[FEN "8/8/2nk4/3p4/2BP4/2K5/8/8 b - - 0 1"]\n\n1... dxc4 2. d5 Kxd5 *'
    found = api.post("/r/game", content=game).json()
    assert [ply["value"] is None for ply in found["plies"]] == [True, True, True, False]
    assert found["missing_tables"] == ["KNPvKP"]
    assert found["plies"][0]["points"] is None
    assert found["plies"][0]["category"] is None


def test_castling_rights_are_not_looked_up(api: TestClient) -> None:
    game = '[FEN "4k3/8/8/8/8/8/8/4K2R w K - 0 1"]\n\n1. O-O Kd7 *'
    plies = api.post("/r/game", content=game).json()["plies"]
    assert [ply["value"] is None for ply in plies] == [True, False, False]
    stopped = api.post("/r/game", content='[FEN "4k3/8/8/8/8/8/8/4K2R w K - 0 1"]\n\n*').json()
    assert (stopped["outcome"]["basis"], stopped["outcome"]["proven"]) == ("played", False)


@pytest.mark.parametrize(
    ("pgn", "sentence"),
    [
        ("", "has no game: give one"),
        (f"{DRAWN}\n\n{DRAWN}", "more than one game"),
        (BROKEN, "'Ke3' is not a legal move"),
        ('[Variant "Atomic"]\n\n1. e4 *', "is not refereed here"),
        ("\udcff".encode("utf-8", "surrogateescape").decode("latin-1"), "no PGN"),
        ('[Komi "nonsense"]\n\n1. e4 *', "is not a komi"),
    ],
)
def test_what_is_no_game(pgn: str, sentence: str, api: TestClient) -> None:
    response = api.post("/r/game", content=pgn.encode("latin-1"))
    assert (response.status_code, response.json()["code"]) == (400, "bad_input")
    assert sentence in response.json()["message"]


def test_a_game_that_is_too_long(api: TestClient) -> None:
    turns = " ".join(["Nf3 Nf6 Ng1 Ng8"] * (MOST_PLIES // 4))
    found = api.post("/r/game", content=f"{turns} *").json()
    assert len(found["plies"]) == MOST_PLIES + 1
    assert found["outcome"]["basis"] == "fifty-move rule"
    response = api.post("/r/game", content=f"{turns} e4 *")
    assert (response.status_code, response.json()["code"]) == (413, "too_large")
