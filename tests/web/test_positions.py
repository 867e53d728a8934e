"""Positions and lines by the API agree with the commands and with python-chess."""

import json
import random
from pathlib import Path
from typing import Any

import chess
import pytest
from starlette.testclient import TestClient

from tbgen.board.material import Material
from tbgen.board.score import GScore
from tbgen.board.scoring import EXPONENTIAL
from tbgen.probe.views import View
from tests.support.commands import answer
from tests.support.exhaustive import sample
from tests.support.random_boards import en_passant_board, random_board

MATERIALS = ["KvK", "KBvK", "KPvK", "KQvKR", "KBNvK", "KPvKP", "KRvKP"]


def random_fens(seed: str, number: int) -> list[str]:
    """Return positions with either colouring, half with an accrued score, some with an en passant right."""
    rng = random.Random(seed)
    fens = []
    for _ in range(number):
        board = random_board(rng, Material.parse(rng.choice(MATERIALS)))
        accrued = GScore(rng.randrange(2, 20), rng.random() < 0.5) if rng.random() < 0.5 else ""
        board.halfmove_clock = rng.randrange(1, 40)
        fens.append(f"{board.fen()} {accrued}".strip())
    return [*fens, *(en_passant_board(rng).fen() for _ in range(sample(2, 5)))]


def asked(api: TestClient, path: str, **parameters: str) -> Any:
    response = api.get(path, params=parameters)
    assert response.status_code == 200, response.text
    return response.json()


@pytest.mark.parametrize("rules", ["r", "wg"])
def test_positions_are_what_the_command_says(
    rules: str, api: TestClient, tables: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fens = random_fens(rules, sample(20, 600))
    told = json.loads(answer(capsys, "probe", *fens, "--rules", rules, "--json", "--dir", str(tables)))
    for fen, expected in zip(fens, told, strict=True):
        found, moves = checked_answer(api, f"/{rules}", fen, expected)
        assert chess.Board(found["fen"]) == chess.Board(" ".join(fen.split()[:6]))
        check_against_chess(found, moves)


def checked_answer(api: TestClient, path: str, fen: str, expected: dict[str, Any]) -> Any:
    """Return the answer about a position and its moves, which have all that the command says."""
    found = asked(api, path, fen=fen)
    moves, expected_moves = found.pop("moves"), expected.pop("moves")
    assert {**expected, "fen": found["fen"]}.items() <= found.items()
    assert all(other.items() <= move.items() for move, other in zip(moves, expected_moves, strict=True))
    return found, moves


def check_against_chess(found: dict[str, Any], moves: list[dict[str, Any]]) -> None:
    """Check the parts of an answer that do not depend on tables."""
    board = chess.Board(found["fen"])
    check_end(board, found)
    assert found["insufficient_material"] == board.is_insufficient_material()
    assert found["category"] == category(found["value"], board.turn)
    for move in moves:
        after = board.copy()
        after.push_uci(move["uci"])
        check_end(after, move)
        assert move["points"] == EXPONENTIAL.points(GScore(move["value"]))._asdict()
        assert move["category"] == category(move["value"], after.turn)
        own = GScore.of_board(after)
        before = GScore(found["accrued"])
        reset = move["zeroing"] and found["rules"] == "r"
        assert move["accrued"] == str(own if reset or own.rank < before.rank else before)


def check_end(board: chess.Board, said: dict[str, Any]) -> None:
    assert (said["checkmate"], said["stalemate"]) == (board.is_checkmate(), board.is_stalemate())


def category(value: str, white: bool) -> str:
    """Return the category of a value as defined in docs/web.md."""
    mine = value.startswith("-") != white
    names = ("mate", "stalemate", "ahead") if mine else ("mated", "stalemated", "behind")
    return names[{"G0.0": 0, "G0.5": 1}.get(value.removeprefix("-"), 2)]


@pytest.mark.parametrize("rules", ["r", "wg"])
def test_lines_are_what_the_command_says(
    rules: str, api: TestClient, tables: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fens = random_fens(f"line {rules}", sample(1, 12))
    words = ["probe", *fens, "--rules", rules, "--json", "--line", "--no-moves", "--dir", str(tables)]
    for fen, expected in zip(fens, json.loads(answer(capsys, *words)), strict=True):
        found = asked(api, f"/{rules}/mainline", fen=fen)
        assert found["mainline"] == expected["line"]
        for name in ("value", "depth", "accrued"):
            assert found[name] == expected[name]


def test_the_accrued_score_that_is_given_counts(api: TestClient) -> None:
    """An en passant right implies a pawn move, which has reset the score, except in whole-game mobility."""
    fen = "8/8/8/2K3k1/8/8/8/8 w - - 3 60 -G5.5"
    assert asked(api, "/r", fen=fen)["accrued"] == "-G5.5"
    assert asked(api, "/r", fen=fen, accrued="")["accrued"] == "-G5.5"
    assert asked(api, "/r", fen=fen, accrued="G3.5")["value"] == "G3.5"
    assert asked(api, "/r", fen=fen.replace(" ", "_"))["accrued"] == "-G5.5"
    reset = fen.replace(" 3 ", " 0 ")
    assert asked(api, "/r", fen=reset)["note"].startswith("the seventh field -G5.5 does not count: the half")
    assert asked(api, "/r", fen=reset, accrued="-G5.5")["note"] is None
    fen = "7k/8/8/3pP3/8/8/8/7K w - d6 0 1"
    assert "a pawn move has just" in asked(api, "/r", fen=fen.replace(" 0 ", " 3 ") + " G3.5")["note"]
    assert len(asked(api, "/r/accrued", fen=fen)["accrued_scores"]) == 1
    assert len(asked(api, "/wg/accrued", fen=fen)["accrued_scores"]) > 1


@pytest.mark.parametrize("rules", ["r", "wg"])
def test_every_accrued_score(rules: str, api: TestClient) -> None:
    """Each accrued score has the same value as in a separate request; the best for White is first."""
    for fen in [*random_fens(f"accrued {rules}", sample(1, 20)), "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1"]:
        found = asked(api, f"/{rules}/accrued", fen=fen)
        scores = [GScore(each["accrued"]) for each in found["accrued_scores"]]
        assert scores == sorted(scores, reverse=True)
        own = GScore(found["position_score"])
        possible = {GScore(rank, white) for rank in range(2, own.rank + 1) for white in (True, False)}
        if rules == "r" and chess.Board(found["fen"]).has_legal_en_passant():
            possible = set()  # the last move has reset the score
        assert set(scores) == (possible or {own})
        for each in found["accrued_scores"]:
            alone = asked(api, f"/{rules}", fen=fen, accrued=each["accrued"] if possible else "")
            assert each.items() <= alone.items()


@pytest.mark.parametrize("view", View)
def test_views_are_what_the_command_says(
    view: View, api: TestClient, tables: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fens = random_fens(view, sample(3, 40))
    told = json.loads(answer(capsys, "probe", *fens, "--view", view, "--json", "--dir", str(tables)))
    for fen, expected in zip(fens, told, strict=True):
        found, moves = checked_answer(api, f"/{view}", fen, expected)
        board = chess.Board(found["fen"])
        check_end(board, found)
        check_view_category(found, board.turn)
        for move in moves:
            after = board.copy()
            assert move["zeroing"] == board.is_zeroing(chess.Move.from_uci(move["uci"]))
            after.push_uci(move["uci"])
            check_end(after, move)
            check_view_category(move, after.turn)


def check_view_category(said: dict[str, Any], white: bool) -> None:
    share = said["points"]["white" if white else "black"]
    names = {1: "win", 0.75: "stalemate", 0.5: "draw", 0.25: "stalemated", 0: "loss"}
    assert said["category"] == names[share]


@pytest.mark.parametrize(("rules", "with_moves"), [("r", True), ("wg", False)])
def test_a_batch_says_what_single_positions_do(rules: str, with_moves: bool, api: TestClient) -> None:
    fens = [
        *random_fens("batch", sample(3, 20)),
        "nonsense",
        chess.STARTING_FEN,
        "8/8/8/8/8/8/8/K1kqqq2 w - - 0 1",
    ]
    response = api.post(f"/{rules}/batch", json={"fens": fens, "moves": with_moves})
    assert response.status_code == 200
    found = response.json()
    assert found["rules"] == rules
    for fen, one in zip(fens, found["positions"], strict=True):
        single = api.get(f"/{rules}", params={"fen": fen}).json()
        if "code" in single:
            assert one == {"fen": fen, **single}
        else:
            if not with_moves:
                single.pop("moves")
            assert one == single
