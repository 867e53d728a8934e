"""The protocol: for any input, the answers are legal moves and lines that user interfaces understand."""

import os
import re
import shutil
import sys
import threading
from pathlib import Path
from typing import Any

import chess
import chess.engine
import pytest

from tbgen.engine import table_advice as asking
from tbgen.engine.game import SearchGame
from tbgen.engine.table_advice import EngineTables
from tbgen.engine.thinker import Thinker
from tbgen.games.outcome import Doubt
from tbgen.probe.states import ProbeResult
from tbgen.probe.tablebase import Tablebase, open_tablebase
from tests.support.engines import Talk, talk
from tests.support.paths import ROOT

KBK = "8/8/8/4KBk1/8/8/8/8 b - - 0 1"
INFO = re.compile(
    r"info depth \d+ seldepth \d+ score (cp|mate) -?\d+( lowerbound)? nodes \d+ nps \d+( hashfull \d+)? "
    r"tbhits \d+ time \d+ pv( [a-h][1-8][a-h][1-8][nbrq]?)+"
)
G_SCORE = re.compile(
    r"info string G-score (even|about -?G\d+\.[05]|-?G0\.0 in \d+ (ply|plies)), accrued -?G\d+\.[05]"
)


def test_a_move_with_its_lines() -> None:
    with talk() as engine:
        move = engine.move("position startpos moves e2e4", "go depth 2")
        said = engine.said
    board = chess.Board()
    board.push_uci("e2e4")
    assert board.is_legal(chess.Move.from_uci(move))
    scores = [line for line in said if line.startswith("info string")]
    lines = [line for line in said if line.startswith("info depth")]
    assert all(INFO.fullmatch(line) for line in lines), lines
    assert all(G_SCORE.fullmatch(line) for line in scores), scores
    assert len(lines) == len(scores) == 2
    assert said[-1].split()[::2] == ["bestmove", "ponder"]


def test_the_best_moves_each_with_its_line(small: Path) -> None:
    """The option sets their number; tables give the values of a probe, a search descending ones."""
    pattern = re.compile(r"info depth (\d+) .* multipv (\d) score cp (-?\d+) .* pv (\w+)((?: \w+)*)")
    with talk(small) as engine, open_tablebase(small) as truth:
        engine.say("setoption name MultiPV value 3")
        engine.move(f"position fen {KBK}", "go depth 1")
        told = [found for line in engine.said if (found := pattern.match(line))]
        values = [line.split("G-score ")[1].split(", ")[0] for line in engine.said if "G-score" in line]
        moves = truth.moves(KBK)
        assert [found[2] for found in told] == ["1", "2", "3"]
        assert [found[4] for found in told] == [move.uci for move in moves]
        assert [len(found[5].split()) for found in told] == [move.depth for move in moves]
        assert [value.split(" pl")[0] for value in values] == [
            f"{move.value} in {1 + (move.depth or 0)}" for move in moves
        ]
        assert engine.move("go depth 1 searchmoves g5h6") == "g5h6"
        assert "G1.5 in 2 plies, from tables, accrued G3.5" in engine.said[0]
        engine.move("position startpos", "go depth 2")
        told = [found for line in engine.said if (found := pattern.match(line))]
        assert [(found[1], found[2]) for found in told] == [(d, n) for d in "12" for n in "123"]
        for three in (told[:3], told[3:]):
            scores = [int(found[3]) for found in three]
            assert scores == sorted(scores, reverse=True)
            assert len({found[4] for found in three}) == 3
        assert engine.said[-1].split()[1] == told[3][4]
        engine.say("setoption name MultiPV value 1")
        engine.move("position startpos", "go depth 1")
        assert not any("multipv" in line for line in engine.said)


def test_the_accrued_score_comes_from_the_moves_the_fen_or_the_option(small: Path) -> None:
    kings, moves = "8/8/8/2K3k1/8/8/8/8 w - - 5 1", "c5d5 g5h5 d5e5 h5g6"
    with talk(small) as engine:
        for lines, value in (
            ([f"position fen {kings} G3.5"], "G3.5 in 0 plies, from tables, accrued G3.5"),
            (["setoption name Accrued value mG2.5", f"position fen {kings}"], "-G2.5 in 0 plies"),
            (["setoption name Accrued", f"position fen {kings} moves {moves}"], "G5.5 in 0 plies"),
        ):
            engine.move(*lines, "go depth 1")
            told = [line for line in engine.said if "G-score" in line]
            assert told[0].startswith(f"info string G-score {value}")


def test_an_invalid_position_is_reported_and_has_no_move() -> None:
    with talk() as engine:
        for line, said in (
            ("position fen \x1b[31m8/8/8/2K3k1/8/8/8/8 w - - 0 1", "is not a FEN"),
            ("position startpos moves e2e4 e2e4", "is not a legal move"),
        ):
            (sentence,) = engine.say(line)
            assert sentence.startswith("info string ")
            assert said in sentence
            assert sentence.isprintable()
            assert engine.move("go depth 1") == "(none)"
        assert engine.move("position startpos", "go depth 1") != "(none)"
        for mate_or_stalemate in ("k7/1Q6/1K6/8/8/8/8/8 b", "k7/2Q5/1K6/8/8/8/8/8 b"):
            assert engine.move(f"position fen {mate_or_stalemate} - - 0 1", "go depth 1") == "(none)"


def test_unknown_words_are_ignored() -> None:
    with talk() as engine:
        for line in ("", "   ", "fish", "xyzzy 1 2 3", "debug on", "register later", "go_on", "\x00\udcff"):
            assert engine.say(line) == []
        assert engine.say("joho isready") == ["readyok"]
        assert engine.say("stop", "ponderhit") == []
        (sentence,) = engine.say("setoption name Nonsense value 1")
        assert sentence.startswith("info string there is no option 'Nonsense'")
        for line in ("setoption", "setoption Hash 12", "setoption value 3"):
            (sentence,) = engine.say(line)
            assert sentence == "info string an option is set by: setoption name NAME value VALUE"
        engine.move("position startpos", "go depth 1 movetime soon")
        assert engine.said[0] == "info string go movetime needs a whole number and is ignored"


def test_a_move_from_tables_waits_for_stop_without_a_limit(small: Path) -> None:
    with talk(small) as engine:
        for words in ("infinite", "ponder wtime 1000 btime 1000", ""):
            engine.say(f"position fen {KBK}", "ucinewgame", f"go {words}")  # the position stays
            engine.hear("G-score")
            assert not [line for line in engine.said if line.startswith("bestmove")]
            assert engine.move("ponderhit" if "ponder" in words else "stop") == "g5h5"


def test_illegal_searchmoves_are_reported() -> None:
    """Illegal moves are ignored; if no legal one remains, any move may be chosen."""
    with talk() as engine:
        assert engine.move("position startpos", "go depth 1 searchmoves e2e9 a2a3 e7e5") == "a2a3"
        assert engine.said[:2] == [
            f"info string {move} is not a legal move here and is ignored" for move in ("e2e9", "e7e5")
        ]
        assert engine.move("position startpos", "go depth 1 searchmoves e2e9") != "(none)"
        assert "e2e9 is not a legal move" in engine.said[0]
        assert "all moves are searched" in engine.said[1]


def test_castling_is_written_as_requested() -> None:
    fen = "4k3/8/8/8/8/8/8/4K2R w K - 0 1"
    with talk() as engine:
        assert engine.move(f"position fen {fen}", "go depth 1 searchmoves e1g1") == "e1g1"
        engine.say("setoption name UCI_Chess960 value true")
        assert engine.move(f"position fen {fen}", "go depth 1 searchmoves e1h1") == "e1h1"
        fischer = "1k6/8/8/8/8/8/8/1K3R2 w F - 0 1"
        assert engine.move(f"position fen {fischer}", "go depth 1 searchmoves b1f1") == "b1f1"


def test_without_strength_it_plays_at_random() -> None:
    with talk() as engine:
        engine.say("setoption name Strength value 0")
        moves = {engine.move("position startpos", "go depth 9") for _ in range(60)}
    assert len(moves) > 10
    assert moves <= {move.uci() for move in chess.Board().legal_moves}


def test_a_missing_directory_is_reported_and_the_engine_plays(tmp_path: Path) -> None:
    """Any white space separates words; a value keeps its own white space."""
    with talk() as engine:
        engine.say(f"setoption name Directory value {'x' * 300}")
        assert engine.say("isready") == ["readyok"]
        engine.move("position startpos", "go depth 1")
        assert any(line.startswith("info string there is no directory x") for line in engine.said)
        engine.say(f"\t setoption\tname  Directory\tvalue \t{tmp_path / 'no  where'} \t")
        position = f"position fen {KBK.replace(' - - ', ' - e6 ')}".replace(" ", " \t")
        assert engine.move(position, "go\tdepth\v2\r") in ("g5h4", "g5h5", "g5h6")
        passed, missing, *_ = engine.said
        assert passed == f"info string {Doubt.EN_PASSANT.sentence}"
        assert f"info string there is no directory {tmp_path / 'no  where'}" in missing


def test_an_extended_position_makes_only_the_new_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    """A position may be extended after a move, but not after an option that affects reading."""
    made: list[str] = []
    right = SearchGame.push_uci

    def push_uci(game: SearchGame, uci: str) -> None:
        made.append(uci)
        right(game, uci)

    monkeypatch.setattr(SearchGame, "push_uci", push_uci)
    with talk() as engine:
        engine.move("position startpos moves e2e4 e7e5", "go depth 2")
        engine.say("stop")  # by then it thinks no more
        engine.move("position startpos moves e2e4 e7e5 g1f3 b8c6", "go depth 2")
        assert made == ["e2e4", "e7e5", "g1f3", "b8c6"]
        engine.say("setoption name FiftyMoveRule value improving")
        engine.move("position startpos moves e2e4 e7e5 g1f3 b8c6", "go depth 2")
        assert made[4:] == made[:4]


def test_an_error_while_thinking_loses_no_game(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next move is for the same position, although the error occurred within a search."""

    def fail(_: Thinker, game: SearchGame, *__: object) -> None:
        game.play(chess.Move.from_uci("a2a3"))
        raise ZeroDivisionError("made up")

    with talk() as engine:
        with monkeypatch.context() as patch:
            patch.setattr(Thinker, "choose", fail)
            move = engine.move("position startpos", "go depth 1")
        assert chess.Board().is_legal(chess.Move.from_uci(move))
        assert "made up" in engine.said[0]
        assert chess.Board().is_legal(chess.Move.from_uci(engine.move("go depth 1")))


def test_a_client_plays_with_it(small: Path) -> None:
    """The client is python-chess, the engine a process: options, analysis, a game, the end."""
    command = [sys.executable, "-m", "tbgen", "engine", "--dir", str(small)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with chess.engine.SimpleEngine.popen_uci(command, timeout=300, env=environment, cwd="/") as engine:
        assert engine.id["name"].startswith("tbgen ")
        assert engine.options["Strength"].max == 100
        assert engine.options["UCI_Variant"].var == ["chess", "rmobility"]
        engine.configure({"Hash": 16, "FiftyMoveRule": "legacy", "Wait": False})
        board = chess.Board(KBK)
        with open_tablebase(small) as truth:
            line = truth.line(KBK)
        for ply in line:
            result = engine.play(board, chess.engine.Limit(depth=1), info=chess.engine.INFO_ALL)
            assert result.move == ply.move
            assert result.info["score"].white().score() == 250
            board.push(ply.move)
        told = engine.analyse(chess.Board("8/8/8/8/8/8/8/K2kr3 b - - 0 1"), chess.engine.Limit(depth=4))
        assert told["score"].white() == chess.engine.Mate(-3)
        with engine.analysis(chess.Board(KBK)) as analysis:
            analysis.stop()
            assert analysis.wait().move == line[0].move


@pytest.mark.parametrize("rest", [["quit", "isready"], []])
def test_quit_and_the_end_of_input_stop_an_engine_that_thinks(rest: list[str]) -> None:
    engine = Talk()
    engine.engine.run(["position startpos", "go infinite", "isready", *rest])
    assert [line for line in engine.said if line == "readyok"] == ["readyok", "readyok"]
    assert engine.said[-1].startswith("bestmove ")


@pytest.mark.parametrize("packed", [True, False])
def test_ready_means_loaded(small: Path, packed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first lookup in a table is slow, as if its code were compiled.

    Messages say that loading continues. ``readyok`` follows the lookup; the times taken are reported by the
    next search. The search looks up many positions at once, in plain tables too.
    """
    too_soon, look_up = [], Tablebase.get

    def slowly(*given: Any) -> ProbeResult | None:
        engine.hear(r"info string still loading after \d+\.\d\d s$")
        too_soon.append("readyok" in engine.said)
        return look_up(*given)

    monkeypatch.setattr("tbgen.engine.loading._REPORT_SECONDS", 0.01)
    monkeypatch.setattr(EngineTables, "_derives", lambda *_: packed)
    monkeypatch.setattr(asking, "ensure_compiled", lambda note=str: note("compiling the kernels"))
    monkeypatch.setattr(Tablebase, "get", slowly)
    with talk(small, ready=False) as engine:
        said = [*engine.say("isready")]
        assert (too_soon, said[-1]) == ([False], "readyok")
        assert engine.say("ucinewgame", "isready") == ["readyok"]  # nothing is opened again
        engine.move("go depth 1")
        said += engine.said
        assert re.fullmatch(r"info string opening \d+ tables took \d+\.\d\d s", said[0])
        assert "info string compiling the kernels" in said
        took = re.findall(r"info string (loading .*) took \d+\.\d\d s", "\n".join(said))
        assert sorted(took) == [
            "loading the code that looks positions up in tables",
            "loading the compiled search",
        ]


def test_without_waiting_it_is_ready_at_once(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = threading.Event()
    monkeypatch.setattr(EngineTables, "_derives", lambda *_: True)
    monkeypatch.setattr(asking, "ensure_compiled", lambda note=str: note("compiling") or compiled.wait())
    with talk(small, ready=False) as engine:
        said = engine.say("setoption name Wait value false", "isready")
        assert "readyok" in said
        assert not any("loading the code that looks" in line for line in said)
        assert engine.move(f"position fen {KBK}", "go movetime 1") in ("g5h4", "g5h5", "g5h6")
        assert any("is not ready: searching instead" in line for line in engine.said)
        compiled.set()
        assert engine.say("setoption name Wait value true", "isready")[-1] == "readyok"
        engine.move("go depth 1")
        assert any(line.startswith("info string loading the code") for line in engine.said)


def test_code_that_cannot_be_loaded_is_not_waited_for(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> None:
        raise OSError("no room")

    monkeypatch.setattr(EngineTables, "_derives", lambda *_: True)
    monkeypatch.setattr(asking, "ensure_compiled", fail)
    with talk(small, ready=False) as engine:
        assert engine.move(f"position fen {KBK}", "go depth 2") in ("g5h4", "g5h5", "g5h6")
        assert any("no room" in line for line in engine.said)


def test_tables_of_described_men_are_ignored(small: Path, tmp_path: Path) -> None:
    """Games of chess have no such men."""
    shutil.copy(small / "KvK.r.h5", tmp_path / "K[WF]vK.r.h5")
    with talk(tmp_path, ready=False) as engine:
        assert engine.say("isready")[-1] == "readyok"
        assert not any("table" in line for line in engine.said)
