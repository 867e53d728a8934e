"""Legal moves of any position, compared with python-chess, and with tables where these hold positions."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import chess
import pytest
from starlette.testclient import TestClient

from tbgen.board.score import GScore
from tbgen.probe.tablebase import Tablebase
from tbgen.web.app import make_app
from tbgen.web.configuration import Settings
from tbgen.web.games import GameState, with_values
from tests.support.exhaustive import sample
from tests.web.test_positions import asked, random_fens

NOTHING: dict[str, None] = dict.fromkeys(("value", "depth", "points", "category"))


def worth(said: dict[str, Any]) -> dict[str, Any]:
    return {name: said[name] for name in NOTHING}


@pytest.mark.parametrize("rules", ["r", "wg"])
def test_moves_of_games_are_those_of_chess(rules: str, api: TestClient) -> None:
    """Random games from the initial position follow the answers' moves step by step."""
    rng, fen, accrued = random.Random(rules), chess.STARTING_FEN, None
    for _ in range(sample(12, 60)):
        found = asked(api, f"/{rules}/moves", fen=fen, accrued=accrued or "")
        board, before = chess.Board(fen), GScore(found["accrued"])
        assert found["fen"] == fen
        assert found["position_score"] == str(GScore.of_board(board))
        assert accrued is None or found["accrued"] == accrued
        assert {move["uci"] for move in found["moves"]} == {move.uci() for move in board.legal_moves}
        for move in found["moves"]:
            made = chess.Move.from_uci(move["uci"])
            assert (move["san"], move["zeroing"]) == (board.san(made), board.is_zeroing(made))
            after = board.copy()
            after.push(made)
            own = GScore.of_board(after)
            assert move["fen"] == after.fen()
            assert (move["checkmate"], move["stalemate"]) == (after.is_checkmate(), after.is_stalemate())
            reset = move["zeroing"] and rules == "r"
            assert move["accrued"] == str(own if reset or own.rank < before.rank else before)
            if after.occupied.bit_count() > 5 and not after.is_game_over():
                assert worth(move) == NOTHING
        chosen = rng.choice(found["moves"])
        fen, accrued = chosen["fen"], chosen["accrued"]


def test_within_tables_they_have_the_values_of_tables(api: TestClient) -> None:
    for fen in random_fens("legal", 5):
        found, expected = asked(api, "/r/moves", fen=fen), asked(api, "/r", fen=fen)
        assert worth(found) == worth(expected)
        assert found["accrued"] == expected["accrued"]
        by_uci = {move["uci"]: move for move in expected["moves"]}
        for move in found["moves"]:
            assert by_uci[move["uci"]].items() <= move.items()
        assert [move["uci"] for move in found["moves"]] == list(by_uci)


@pytest.mark.parametrize("rules", ["r", "wg"])
def test_what_all_moves_say(rules: str, api: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the position's own table, its moves determine the same value and depth."""
    expected = {}
    for number, fen in enumerate(random_fens("moves", sample(5, 40))):
        accrued = f"{'-' * (number % 2)}G{2 + number % 9}.{5 * (number % 2)}"
        expected[fen, accrued] = asked(api, f"/{rules}/moves", fen=fen, accrued=accrued)

    def but_the_first(tables: Tablebase, states: Sequence[GameState]) -> list[GameState]:
        return [states[0], *with_values(tables, states)[1:]]

    monkeypatch.setattr("tbgen.web.games.with_values", but_the_first)
    for (fen, accrued), known in expected.items():
        assert asked(api, f"/{rules}/moves", fen=fen, accrued=accrued) == known


def test_where_only_some_moves_lead_to_tables(api: TestClient) -> None:
    """With five men and no table, a capture leads to four men, and its value comes first."""
    found = asked(api, "/r/moves", fen="8/8/2nk4/8/2pP4/2K5/8/8 w - - 0 41", accrued="G9.0")
    assert worth(found) == NOTHING
    first, *others = found["moves"]
    assert first["san"] == "Kxc4"
    after = asked(api, "/r", fen=first["fen"], accrued=first["accrued"])
    assert worth(first) == worth(after)
    assert all(worth(move) == NOTHING for move in others)
    assert [move["uci"] for move in others] == sorted(move["uci"] for move in others)


def test_a_table_that_is_there_without_those_it_leads_to(tables: Path, tmp_path: Path) -> None:
    """The table's values count; only the value of the capture is unavailable."""
    (tmp_path / "KBvK.r.h5").write_bytes((tables / "KBvK.r.h5").read_bytes())
    fen = "8/8/8/8/8/8/1Bk5/4K3 b - - 0 1"
    with TestClient(make_app(Settings((tmp_path,), limit=0))) as client:
        assert client.get("/r", params={"fen": fen}).json()["code"] == "missing_table"
        found = asked(client, "/r/moves", fen=fen)
    assert found["value"] is not None
    assert [move["san"] for move in found["moves"] if move["value"] is None] == ["Kxb2"]


def test_the_end_of_a_game_needs_no_table(api: TestClient) -> None:
    """A mate with seven men, and the mating move, need no table."""
    mate = "6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1"
    first = asked(api, "/r/moves", fen=mate)["moves"][0]
    assert (first["san"], first["value"], first["depth"], first["category"]) == ("Rd8#", "G0.0", 0, "mated")
    found = asked(api, "/r/moves", fen=first["fen"])
    assert (found["value"], found["depth"], found["checkmate"], found["moves"]) == ("G0.0", 0, True, [])


def test_castling(api: TestClient) -> None:
    """No table holds positions with castling rights; moves that give up the last right lead into tables."""
    fen = "4k3/8/8/8/8/8/8/4K2R w K - 0 1"
    response = api.get("/r", params={"fen": fen})
    assert (response.status_code, response.json()["code"]) == (404, "castling_rights")
    assert "/" not in response.json()["message"]  # the page shows it to players
    assert api.post("/r/batch", json={"fens": [fen]}).json()["positions"] == [{"fen": fen, **response.json()}]
    found = asked(api, "/r/moves", fen=fen)
    moves = found["moves"]
    assert found["value"] == moves[0]["value"]
    castles = next(move for move in moves if move["san"] == "O-O")
    assert (castles["uci"], castles["fen"]) == ("e1g1", "4k3/8/8/8/8/8/8/5RK1 b - - 1 1")
    assert castles["value"] == asked(api, "/r", fen=castles["fen"], accrued=castles["accrued"])["value"]
    assert all(move["value"] for move in moves)  # only king and rook can move
    depths = [move["depth"] for move in moves if move["value"] == found["value"]]
    assert depths == sorted(depths)  # the quickest first, because White gains
    assert len(set(depths)) > 1
    later = asked(api, "/r/moves", fen=fen.replace(" w ", " b "))["moves"]
    assert later
    assert all(worth(move) == NOTHING for move in later)
