"""Proofs of ``tbgen solve`` during play; a script takes its place and answers at once, without a compiler."""

import json
import sys
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from itertools import product
from pathlib import Path

import chess
import pytest

from tbgen.board.score import GScore
from tbgen.engine.background_proof import BackgroundSolving
from tbgen.engine.game import SearchGame, read_game
from tbgen.engine.options import Options
from tbgen.engine.partner import Partner
from tbgen.engine.table_advice import EngineTables
from tbgen.engine.thinker import MoveChoice, Thinker
from tbgen.engine.workspace import SearchWorkspace
from tbgen.games.game_options import FiftyMoveRule
from tests.support.commands import answer
from tests.support.engines import fake_partner, game, timer

FEN = "8/4k3/5p1p/7P/4K1P1/8/8/8 w - - 22 72 G4.5"
"""Six men with the value G4.5, which White already holds."""


def document(lower: str, upper: str, moves: dict[str, tuple[str, str]], *line: str) -> dict[str, object]:
    return {
        "lower": lower,
        "upper": upper,
        "depth": len(line) if lower == upper else None,
        "moves": [{"uci": uci, "lower": ends[0], "upper": ends[1]} for uci, ends in moves.items()],
        **({"line": [{"uci": uci} for uci in line]} if line else {}),
    }


def worst(board: chess.Board, **others: tuple[str, str]) -> dict[str, tuple[str, str]]:
    """Return all moves for a document; those that are not named lead to a mate by the other side."""
    lost = ("-G0.0", "-G0.0") if board.turn else ("G0.0", "G0.0")
    return {move.uci(): others.get(move.uci(), lost) for move in board.legal_moves}


def answering(folder: Path, told: object, code: int = 0, waits: bool = False) -> list[str]:
    """Return a command that writes its arguments to a file and then prints an answer.

    :param waits: whether it answers only once a file ``go`` exists.
    """
    script = folder / "solve.py"
    script.write_text(
        "import json, os, sys, time\n"
        f"open({str(folder / 'asked')!r}, 'w').write(json.dumps(sys.argv[1:]))\n"
        f"while {waits} and not os.path.exists({str(folder / 'go')!r}): time.sleep(0.01)\n"
        f"print({json.dumps(told)!r})\n"
        f"print('tbgen: no luck', file=sys.stderr)\nsys.exit({code})\n"
    )
    return [sys.executable, "-S", "-E", str(script)]


def solved(folder: Path, position: SearchGame, told: object, code: int = 0) -> BackgroundSolving:
    """Return a finished proof."""
    solving = BackgroundSolving(position, [folder], 5.0, answering(folder, told, code))
    while not solving.done():
        time.sleep(0.01)
    return solving


def test_the_command_understands_the_request(
    tables: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A position in a table is answered from it, without compiling anything."""
    arbiter = game("8/8/8/4KBk1/8/8/8/8 b - - 3 1 G3.5")
    solved(tmp_path, arbiter, {}).close()
    asked = json.loads((tmp_path / "asked").read_text())
    assert asked == [
        *("8/8/8/4KBk1/8/8/8/8 b - - 3 1", "--json", "--line", "--time", "5.0s", "--memory", "4096M"),
        *("--accrued", "G3.5", "--dir", str(tmp_path)),
    ]
    found = json.loads(answer(capsys, "solve", *asked[:-1], str(tables)))
    with closing(solved(tmp_path, arbiter, found)) as solving:
        advice = solving.advice(list(arbiter.live.legal_moves))
    assert (advice.value, advice.depth, advice.moves[0].uci()) == (GScore("G1.5"), 4, "g5h5")
    assert [move.uci() for move in advice.line] == ["g5h5", "e5f4", "h5h6", "f4g4"]


def test_the_line_of_an_exact_value_is_played(tmp_path: Path) -> None:
    arbiter = game(FEN)
    moves = worst(arbiter.board, e4f5=("G3.5", "G3.5"), e4d4=("G3.5", "G3.5"))
    proof = document("G3.5", "G3.5", moves, "e4d4", "e7e6")
    with closing(solved(tmp_path, arbiter, proof)) as solving:
        advice = solving.advice(list(arbiter.live.legal_moves))
        assert (advice.value, advice.depth) == (GScore("G3.5"), 2)
        assert [move.uci() for move in advice.moves] == ["e4d4"]
        assert [move.uci() for move in advice.line] == ["e4d4", "e7e6"]
        without = [move for move in arbiter.live.legal_moves if move.uci() != "e4d4"]
        assert [move.uci() for move in solving.advice(without).moves] == ["e4f5"]


def mirrored(uci: str) -> str:
    move = chess.Move.from_uci(uci)
    return chess.Move(chess.square_mirror(move.from_square), chess.square_mirror(move.to_square)).uci()


@pytest.mark.parametrize("white", [True, False])
def test_moves_that_are_proved_worse_are_left_out(tmp_path: Path, white: bool) -> None:
    """One move guarantees the upper bound of another, and a third may give more."""
    board = game(FEN).board
    ends = {"e4f5": ("G4.5", "G2.5"), "e4d4": ("-G9.0", "G1.5"), "e4d5": ("-G5.0", "-G6.0")}
    if not white:
        board = board.mirror()
        ends = {
            mirrored(uci): (str(-GScore(most)), str(-GScore(least))) for uci, (least, most) in ends.items()
        }
    lower, upper = ("G4.5", "G1.5") if white else ("-G1.5", "-G4.5")
    proof = document(lower, upper, worst(board, **ends))
    with closing(solved(tmp_path, game(board.fen()), proof)) as solving:
        advice = solving.advice(list(board.legal_moves))
    assert [move.uci() for move in advice.moves] == list(ends)[:2]
    assert (str(advice.lower), str(advice.upper)) == (lower, upper)
    assert advice.value is None


def chosen(
    folder: Path,
    words: str,
    start: Callable[..., BackgroundSolving],
    *,
    solve: str = "on",
    partner: Partner | None = None,
    heard: Callable[[], object] = lambda: None,
) -> tuple[MoveChoice | None, list[str]]:
    """Return the chosen move and the reports, with a function that starts a proof.

    :param heard: called at each report.
    """
    said, options = list[str](), Options()
    options.set("Solve", solve)

    def say(line: str) -> None:
        said.append(line)
        heard()

    thinker = Thinker(
        say,
        EngineTables([folder], said.append),
        options,
        partial(SearchWorkspace.with_table_size, 8),
        lambda: partner,
        start_solving=start,
    )
    return thinker.choose(game(FEN), timer(words)), said


def at_once(folder: Path, proof: object, code: int = 0) -> Callable[..., BackgroundSolving]:
    """Return a function that starts a proof and waits until it is finished."""
    return lambda arbiter, *_: solved(folder, arbiter, proof, code)


def decided() -> dict[str, object]:
    return document("G3.5", "G3.5", worst(game(FEN).board, g4g5=("G3.5", "G3.5")), "g4g5", "h6g5")


def test_a_proof_ends_the_search(tmp_path: Path) -> None:
    """Without the proof this search would not end; the proof is finished after the first report."""
    start = partial(BackgroundSolving, command=answering(tmp_path, decided(), waits=True))
    move, said = chosen(tmp_path, "infinite", start, heard=(tmp_path / "go").touch)
    assert move == MoveChoice(chess.Move.from_uci("g4g5"), chess.Move.from_uci("h6g5"))
    assert said[-2] == "info string G-score G3.5 in 2 plies, from proof, accrued G4.5"


NOTHING = document("-G0.0", "G0.0", {"e4d4": ("-G0.0", "G0.0"), "g4g5": ("-G0.0", "G0.0")})


@pytest.mark.parametrize(
    ("solve", "proof", "code", "played"),
    [
        ("on", decided(), 0, "g4g5"),
        ("off", decided(), 0, "e4d4"),
        ("on", {}, 2, "e4d4"),
        ("on", NOTHING, 0, "e4d4"),
    ],
)
def test_a_proof_that_separates_moves_overrides_the_move_of_a_partner(
    tmp_path: Path, solve: str, proof: object, code: int, played: str
) -> None:
    with closing(Partner(fake_partner("plain", "e4d4,0,5-990-5", "g4g5,0,5-990-5"), 1)) as partner:
        move, said = chosen(tmp_path, "depth 3", at_once(tmp_path, proof, code), solve=solve, partner=partner)
    assert move is not None
    assert move.move.uci() == played
    assert any("solved" in line or "from proof" in line for line in said) == (solve == "on")


def test_a_guaranteed_move_is_played_if_the_search_finds_less(tmp_path: Path) -> None:
    ends = {move.uci(): ("-G0.0", "G0.0") for move in game(FEN).board.legal_moves}
    ends["e4d4"] = ("G0.5", "G0.0")
    move, said = chosen(tmp_path, "depth 2", at_once(tmp_path, document("G0.5", "G0.0", ends)))
    assert move is not None
    assert move.move.uci() == "e4d4"
    assert "info string G-score between G0.5 and G0.0, from proof, accrued G4.5" in said


def test_the_attempt_ends_when_the_move_is_due(tmp_path: Path) -> None:
    start = partial(BackgroundSolving, command=answering(tmp_path, {}, waits=True))
    move, said = chosen(tmp_path, "depth 1", start)
    assert move is not None
    assert [line for line in said if "proof" in line] == []


def test_without_a_proof_the_reason_is_reported_and_the_search_decides(tmp_path: Path) -> None:
    nobody = partial(BackgroundSolving, command=[str(tmp_path / "nobody")])
    cases: list[tuple[Callable[..., BackgroundSolving], str]] = [
        (at_once(tmp_path, {}, code=2), "the position is not solved: no luck"),
        *((at_once(tmp_path, told), "cannot be read") for told in ({}, [])),
        (nobody, "solving cannot be started: No such file or directory"),
    ]
    for start, sentence in cases:
        _, said = chosen(tmp_path, "depth 2", start)
        assert any(line.startswith("info string ") and sentence in line for line in said)
        assert any(line.startswith("info depth 2 ") for line in said)


def test_solving_is_tried_with_enough_time_and_without_a_fifty_move_rule(tmp_path: Path) -> None:
    asked, options = [], Options()

    def start(arbiter: SearchGame, *_: object) -> BackgroundSolving:
        asked.append((options.solve, seconds, arbiter.settings.fifty_move_rule))
        return solved(tmp_path, arbiter, {}, 2)

    tables = EngineTables([tmp_path], print)
    choosing = Thinker(lambda _: None, tables, options, start_solving=start)
    for solve, seconds, rule in product(("off", "auto", "on"), (1, 60), FiftyMoveRule):
        options.set("Solve", solve)
        limits = timer(f"movetime {seconds}000 depth 1")
        choosing.choose(read_game(["fen", *FEN.split()], rule=rule), limits)
    assert asked == [(*tried, FiftyMoveRule.NONE) for tried in (("auto", 60), ("on", 1), ("on", 60))]
