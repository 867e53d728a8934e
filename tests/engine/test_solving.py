"""Proofs of ``tbgen solve`` in play; a script answers in its place, at once and with no compiler."""

import json
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import chess
import pytest

from tbgen.board.score import GScore
from tbgen.engine.game import SearchGame, read_game
from tbgen.engine.memory import Memory
from tbgen.engine.options import Options
from tbgen.engine.partner import Partner
from tbgen.engine.solving import BackgroundProof, SolvingError
from tbgen.engine.tables import EngineTables
from tbgen.engine.thinker import MoveChoice, Thinker
from tbgen.games.settings import FiftyMoveRule
from tests.support.engines import fake_partner, game, timer

FEN = "8/4k3/5p1p/7P/4K1P1/8/8/8 w - - 22 72 G4.5"
"""Six men; the value is G4.5, which White holds already."""


def document(lower: str, upper: str, moves: dict[str, tuple[str, str]], *line: str) -> dict[str, object]:
    return {
        "lower": lower,
        "upper": upper,
        "depth": len(line) if lower == upper else None,
        "moves": [{"uci": uci, "lower": ends[0], "upper": ends[1]} for uci, ends in moves.items()],
        **({"line": [{"uci": uci} for uci in line]} if line else {}),
    }


def worst(board: chess.Board, **others: tuple[str, str]) -> dict[str, tuple[str, str]]:
    """All moves, those that are not named worth a mate of the other side."""
    lost = ("-G0.0", "-G0.0") if board.turn else ("G0.0", "G0.0")
    return {move.uci(): others.get(move.uci(), lost) for move in board.legal_moves}


def answering(folder: Path, answer: object, seconds: float = 0.0, code: int = 0) -> list[str]:
    """A command that says what it was asked for in a file, and then its answer."""
    script = folder / "solve.py"
    script.write_text(
        "import json, sys, time\n"
        f"open({str(folder / 'asked')!r}, 'w').write(json.dumps(sys.argv[1:]))\n"
        f"time.sleep({seconds})\nprint({json.dumps(answer)!r})\n"
        f"print('tbgen: no luck', file=sys.stderr)\nsys.exit({code})\n"
    )
    return [sys.executable, str(script)]


def solved(folder: Path, fen: str, answer: object, code: int = 0) -> BackgroundProof:
    solving = BackgroundProof(game(fen), [folder], 5.0, answering(folder, answer, code=code))
    while not solving.done():
        time.sleep(0.01)
    return solving


def test_what_is_asked_for(tmp_path: Path) -> None:
    solved(tmp_path, FEN, {}).close()
    asked = json.loads((tmp_path / "asked").read_text())
    assert asked[0] == FEN.removesuffix(" G4.5")
    assert asked[1:] == [
        *("--accrued", "G4.5", "--json", "--line", "--time", "5s", "--memory", "4G", "--dir", str(tmp_path))
    ]


def test_the_line_of_an_exact_value_is_played(tmp_path: Path) -> None:
    arbiter = game(FEN)
    moves = worst(arbiter.board, e4f5=("G3.5", "G3.5"), e4d4=("G3.5", "G3.5"))
    solving = solved(tmp_path, FEN, document("G3.5", "G3.5", moves, "e4d4", "e7e6"))
    advice = solving.advice(list(arbiter.live.legal_moves))
    assert (advice.value, advice.depth) == (GScore("G3.5"), 2)
    assert [move.uci() for move in advice.moves] == ["e4d4"]
    assert [move.uci() for move in advice.line] == ["e4d4", "e7e6"]
    without = [move for move in arbiter.live.legal_moves if move.uci() != "e4d4"]
    assert [move.uci() for move in solving.advice(without).moves] == ["e4f5"]
    solving.close()


def mirrored(uci: str) -> str:
    move = chess.Move.from_uci(uci)
    return chess.Move(chess.square_mirror(move.from_square), chess.square_mirror(move.to_square)).uci()


@pytest.mark.parametrize("white", [True, False])
def test_moves_that_are_proved_to_be_worse_are_left_out(tmp_path: Path, white: bool) -> None:
    """Bounds: one move is sure to give as much as another one may at most, and one may give more."""
    board = game(FEN).board
    ends = {"e4f5": ("G4.5", "G2.5"), "e4d4": ("-G9.0", "G1.5"), "e4d5": ("-G5.0", "-G6.0")}
    if not white:
        board = board.mirror()
        ends = {
            mirrored(uci): (str(-GScore(most)), str(-GScore(least))) for uci, (least, most) in ends.items()
        }
    lower, upper = ("G4.5", "G1.5") if white else ("-G1.5", "-G4.5")
    solving = solved(tmp_path, board.fen(), document(lower, upper, worst(board, **ends)))
    advice = solving.advice(list(board.legal_moves))
    solving.close()
    assert [move.uci() for move in advice.moves] == list(ends)[:2]
    assert (str(advice.lower), str(advice.upper)) == (lower, upper)
    assert advice.value is None


def test_no_answer(tmp_path: Path) -> None:
    moves = list(game(FEN).live.legal_moves)
    for answer, code, said in (
        ({}, 0, "cannot be read"),
        ([], 0, "cannot be read"),
        ({}, 2, "the position is not solved: no luck"),
    ):
        solving = solved(tmp_path, FEN, answer, code=code)
        with pytest.raises(SolvingError, match=said):
            solving.advice(moves)
        solving.close()


def chosen(
    folder: Path, words: str, command: list[str], solve: str = "on"
) -> tuple[MoveChoice | None, list[str]]:
    """The move that is chosen with a command that solves, and what is said."""
    said: list[str] = []
    options = Options()
    options.set("Solve", solve)
    start = partial(BackgroundProof, command=command)
    thinker = Thinker(
        said.append, EngineTables([folder], said.append), Memory(8), options, start_solving=start
    )
    arbiter: SearchGame = game(FEN)
    return thinker.choose(arbiter, timer(words)), said


def test_a_proof_ends_the_search(tmp_path: Path) -> None:
    """Without it this search would not end."""
    moves = worst(game(FEN).board, g4g5=("G3.5", "G3.5"))
    command = answering(tmp_path, document("G3.5", "G3.5", moves, "g4g5", "h6g5"), seconds=0.5)
    move, said = chosen(tmp_path, "infinite", command)
    assert move == MoveChoice(chess.Move.from_uci("g4g5"), chess.Move.from_uci("h6g5"))
    assert said[-2] == "info string G-score G3.5 in 2 plies, from proof, accrued G4.5"


def chosen_beside_a_partner(
    folder: Path, answer: object, code: int = 0, solve: str = "on"
) -> tuple[MoveChoice | None, list[str]]:
    """The move that is chosen where a partner names e4d4 and a proof is there at once, and what is said."""
    said: list[str] = []
    options, tables = Options(), EngineTables([folder], said.append)
    options.set("Solve", solve)
    partner = Partner(fake_partner("plain", "e4d4,0,5-990-5", "g4g5,0,5-990-5"), 1)
    thinker = Thinker(
        said.append,
        tables,
        Memory(8),
        options,
        partner=lambda: partner,
        start_solving=lambda *_: solved(folder, FEN, answer, code),
    )
    try:
        return thinker.choose(game(FEN), timer("depth 3")), said
    finally:
        partner.close()


@pytest.mark.parametrize(("wanted", "played"), [("on", "g4g5"), ("off", "e4d4")])
def test_a_proof_stands_above_the_move_of_a_partner(tmp_path: Path, wanted: str, played: str) -> None:
    """Without one the partner's move is made."""
    moves = worst(game(FEN).board, g4g5=("G3.5", "G3.5"))
    proof = document("G3.5", "G3.5", moves, "g4g5", "h6g5")
    move, _ = chosen_beside_a_partner(tmp_path, proof, solve=wanted)
    assert move is not None
    assert move.move.uci() == played


@pytest.mark.parametrize(
    ("answer", "code"),
    [({}, 2), (document("-G0.0", "G0.0", {"e4d4": ("-G0.0", "G0.0"), "g4g5": ("-G0.0", "G0.0")}), 0)],
)
def test_without_a_proof_that_tells_moves_apart_the_partners_move_is_made(
    tmp_path: Path, answer: object, code: int
) -> None:
    move, said = chosen_beside_a_partner(tmp_path, answer, code)
    assert move is not None
    assert move.move.uci() == "e4d4"
    assert any("solved" in line or "from proof" in line for line in said)


def test_what_is_sure_is_played_where_the_search_promises_less(tmp_path: Path) -> None:
    board = game(FEN).board
    ends = {"e4d4": ("G0.5", "G0.0"), **{move.uci(): ("-G0.0", "G0.0") for move in board.legal_moves}}
    ends["e4d4"] = ("G0.5", "G0.0")
    command = answering(tmp_path, document("G0.5", "G0.0", ends))
    move, said = chosen(tmp_path, "depth 60 movetime 3000", command)
    assert move is not None
    assert move.move.uci() == "e4d4"
    assert "info string G-score between G0.5 and G0.0, from proof, accrued G4.5" in said


def test_a_move_that_is_due_ends_the_attempt(tmp_path: Path) -> None:
    command = answering(tmp_path, {}, seconds=3600.0)
    move, said = chosen(tmp_path, "depth 1", command)
    assert move is not None
    assert [line for line in said if "proof" in line] == []


def test_a_failure_is_said(tmp_path: Path) -> None:
    _, said = chosen(tmp_path, "movetime 3000", answering(tmp_path, {}, code=2))
    assert "info string the position is not solved: no luck" in said


def test_without_room_to_solve_it_is_said_and_the_search_decides(tmp_path: Path) -> None:
    _, said = chosen(tmp_path, "depth 2", [str(tmp_path / "nobody")])
    assert "info string solving cannot be started: No such file or directory" in said
    assert any(line.startswith("info depth 2 ") for line in said)


@pytest.mark.parametrize(("solve", "words"), [("off", "movetime 60000"), ("auto", "movetime 1000")])
def test_it_is_not_tried_without_need(tmp_path: Path, solve: str, words: str) -> None:
    chosen(tmp_path, f"{words} depth 1", answering(tmp_path, {}), solve)
    assert not (tmp_path / "asked").exists()


def test_no_proof_under_a_fifty_move_rule_which_it_would_not_know(tmp_path: Path) -> None:
    command, asked = answering(tmp_path, {}), []

    def start(arbiter: SearchGame, directories: Sequence[Path], seconds: float | None) -> BackgroundProof:
        asked.append(arbiter.settings.fifty_move_rule)
        return BackgroundProof(arbiter, directories, seconds, command)

    tables = EngineTables([tmp_path], print)
    options = Options()
    options.set("Solve", "on")
    choosing = Thinker(lambda _: None, tables, Memory(8), options, start_solving=start)
    for rule in FiftyMoveRule:
        choosing.choose(read_game(["fen", *FEN.split()], rule=rule), timer("movetime 50"))
    assert asked == [FiftyMoveRule.NONE]


def test_the_command_understands_what_it_is_asked(tables: Path) -> None:
    """A position that tables hold is answered from them, without anything compiled."""
    arbiter = game("8/8/8/4KBk1/8/8/8/8 b - - 3 1 G3.5")
    solving = BackgroundProof(arbiter, [tables], 60.0)
    while not solving.done():
        time.sleep(0.05)
    advice = solving.advice(list(arbiter.live.legal_moves))
    solving.close()
    assert (advice.value, advice.depth, advice.moves[0].uci()) == (GScore("G1.5"), 4, "g5h5")
    assert [move.uci() for move in advice.line] == ["g5h5", "e5f4", "h5h6", "f4g4"]
