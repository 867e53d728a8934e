"""Games that are stopped by evaluations, length or tables, and their outcomes."""

import asyncio
import json
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import chess
import pytest

import tbgen
from tbgen.beyond.jobs import Solver
from tbgen.beyond.provers import SolveProof
from tbgen.board.score import GScore
from tbgen.board.scoring import ANYTHING, ProvedBounds, ScoreInterval
from tbgen.cli.main import main
from tbgen.games.outcome import Basis
from tbgen.games.pgn.ending import Ending
from tbgen.games.referee import Arbiter, adjudicate
from tbgen.keywords import struct_of
from tbgen.match.adjudication import DrawRule, Evaluations, Judge, ResignRule, StopRules
from tbgen.progress import SolveStage
from tests.match.engines import words
from tests.support.matches import NODES, games_of, last_words, played, tagged
from tests.support.solving import StubProver

BEFORE = "8/8/6k1/8/4K3/8/p7/1B6 w - - 0 1"
CAPTURE = "b1a2"
MOVES = f"{CAPTURE} g6f6 a2b1 f6g6"
BLACK_MOVED = chess.Board("4k3/8/8/8/8/8/8/4K2R w - - 4 40")
WHITE_MOVED = chess.Board("4k3/8/8/8/8/8/8/4K2R b - - 5 40")


def test_an_engine_with_bad_evaluations_resigns() -> None:
    told = Evaluations(StopRules(resign=ResignRule(2, 500)))
    for centipawns, over in ((-600, False), (-499, False), (-500, False), (-900, True)):
        told.add(WHITE_MOVED, centipawns)
        told.add(BLACK_MOVED, 0)
        ending = told.ending(chess.WHITE, 1)
        assert (ending is not None) is over
        assert told.ending(chess.BLACK, 2) is None
    assert ending == Ending(Basis.RESIGNATION, chess.BLACK, "White resigns")
    told.add(WHITE_MOVED, None)  # it told nothing
    assert told.ending(chess.WHITE, 1) is None


def test_both_must_agree_if_asked() -> None:
    told = Evaluations(StopRules(resign=ResignRule(1, 500, two_sided=True)))
    told.add(WHITE_MOVED, -700)
    told.add(BLACK_MOVED, 400)
    assert told.ending(chess.WHITE, 1) is None
    told.add(BLACK_MOVED, 500)
    assert told.ending(chess.WHITE, 1) is not None


def test_draws_need_both_sides_and_their_time() -> None:
    told = Evaluations(StopRules(draw=DrawRule(2, 10, min_moves=2)))
    for centipawns in (10, -10):
        told.add(WHITE_MOVED, centipawns)
        told.add(BLACK_MOVED, centipawns)
    assert told.ending(chess.WHITE, 3) is None  # not two full moves yet
    assert told.ending(chess.BLACK, 4) == Ending(None, None, "End by adjudication: evaluations near zero")
    told.add(WHITE_MOVED, 11)
    assert told.ending(chess.WHITE, 5) is None


TCEC = "movenumber=1 movecount=2 score=20 maxpieces=4 maxpawns=1 reset=false"
"""A rule like that of TCEC since 2022."""


def test_draws_by_men_and_quiet_moves() -> None:
    """Captures and pawn moves reset the count or are skipped; with too many men it stays at 0."""
    plain, start = "movecount=2 score=20", "4k3/8/8/8/8/8/4P3/4K2R"
    for rule, men, moves, over in (
        (plain, start, "h1h2 e8e7 h2h1 e7e8", 4),
        (plain, start, "h1h2 e8e7 e2e3 e7e8 h2h1 e8e7", 6),
        (f"{plain} reset=false", start, "h1h2 e8e7 e2e3 e7e8 h2h1", 5),
        (TCEC, start, "h1h2 e8e7 e2e3 e7e8 h2h1", 5),
        (TCEC, "rr2k3/8/8/8/8/8/4P3/4K2R", "h1h2 e8e7 h2h1 e7e8", None),  # five besides pawns
        (TCEC, "4k2r/6p1/8/8/8/8/4P3/4K2R", "h1h8 e8e7 h8h1 e7e8", None),  # two pawns
        (TCEC, "1r2k2r/8/8/8/8/8/4P3/4K2R", "h1h8 e8e7 h8b8 e7e6 b8b1 e6e5 b1a1 e5e6", 6),
    ):
        told = Evaluations(StopRules(draw=struct_of("draw", rule.split(), DrawRule)))
        board, found = chess.Board(f"{men} w - - 0 1"), []
        for ply, move in enumerate(moves.split(), 1):
            board.push_uci(move)
            told.add(board, 20 if ply % 2 else -20)
            found += [ply] if told.ending(not board.turn, ply) else []
        assert found[:1] == ([] if over is None else [over]), (rule, moves)


def test_resignations_and_lengths_in_games(tmp_path: Path) -> None:
    players = [words("A", "winning"), words("B", "resigning")]
    resigned = played(
        tmp_path / "a.pgn", "--resign", "movecount=3", "score=800", "twosided=true", players=players
    )
    assert [last_words(game) for game in resigned] == ["Black resigns", "White resigns"]
    assert [game.tags["RMobilityBasis"] for game in resigned] == ["resignation"] * 2
    assert [game.tags["Result"] for game in resigned] == ["1-0", "0-1"]
    assert [len(game.moves) for game in resigned] == [6, 7]  # each needs three looks, and resigns on its move
    assert all("Termination" not in game.tags for game in resigned)
    book = tmp_path / "book.epd"
    book.write_text(f"{chess.STARTING_FEN[:-4]} 3 72\n")  # whose number does not count
    stopped = played(tmp_path / "b.pgn", "--maxmoves", "3", "--openings", f"file={book}")
    drawn = played(tmp_path / "c.pgn", "--draw", "movenumber=2", "movecount=2", "score=12")
    for games, length, text in ((stopped, 6, "maximum length"), (drawn, 4, "evaluations near zero")):
        for game in games:
            assert (len(game.moves), last_words(game)) == (length, f"End by adjudication: {text}")
            told = [game.tags[name] for name in ("RMobilityBasis", "Result", "Termination")]
            assert told == ["played", "1/2-1/2", "adjudication"]
    for pgn in tmp_path.glob("*.pgn"):
        assert tagged(pgn) == pgn.read_bytes()


def test_tables_stop_a_game_as_soon_as_they_contain_it(
    tmp_path: Path, own: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The result is that of best play with the accrued score; tagging the game again confirms it."""
    pgn, book = tmp_path / "games.pgn", tmp_path / "book.epd"
    book.write_text(BEFORE)
    command = ["match", "--pgn", str(pgn), "--dir", str(own), "--openings", f"file={book}", *NODES]
    for name in "AB":
        command += ["--engine", *words(name, moves=MOVES)]
    more = ("--verify-adjudications", "1", "--rounds", "2", "--concurrency", "4")
    assert main([*command, *more]) == 0
    output = capsys.readouterr()
    games = games_of(pgn)
    after = chess.Board(BEFORE)
    after.push_uci(CAPTURE)
    with tbgen.open_tablebase(own) as tables:
        expected = tables.probe(after, accrued=GScore.of_board(after)).value
    for game in games:
        assert [move.uci() for move in game.moves] == [CAPTURE]
        assert (game.tags["RMobilityResult"], game.tags["RMobilityBasis"]) == (str(expected), "tablebase")
        assert game.tags["RMobilityAccrued"] == str(GScore.of_board(after))
        assert last_words(game) == "End by adjudication: tablebase"
    assert expected != GScore.of_board(after)
    assert f"{{adjudication: tablebase, {expected}}}" in output.out
    assert "4 adjudications verified by best play" in output.err
    assert tagged(pgn, own) == pgn.read_bytes()
    pgn.unlink()
    more = ("--play-on", "--json", "--maxmoves", "3", "--verify-adjudications", "1")
    assert main([*command, *more]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {game["basis"] for game in document["standings"]["games"]} == {"tablebase"}
    assert [len(game.moves) for game in games_of(pgn)] == [6, 6]
    assert tagged(pgn, own) == pgn.read_bytes()


def test_wrong_adjudications_are_found(
    tmp_path: Path, own: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The judge is patched to contradict the tables."""
    monkeypatch.setattr(
        "tbgen.match.adjudication.adjudicate",
        lambda *words, **more: replace(adjudicate(*words, **more), value=GScore("G7.5")),
    )
    book = tmp_path / "book.epd"
    book.write_text("8/8/8/4KBk1/8/8/8/8 b - - 0 1\n")
    command = ["match", "--pgn", str(tmp_path / "games.pgn"), "--dir", str(own), *NODES]
    command += ["--openings", f"file={book}", "--engine", *words("A"), "--engine", *words("B")]
    assert main([*command, "--verify-adjudications", "1"]) == 1
    assert "tables say G7.5" in capsys.readouterr().err


def test_a_mate_that_tables_prove_is_a_win(own: Path) -> None:
    """The game is also won in chess, and counts as adjudicated."""
    with tbgen.open_tablebase(own) as tables:
        arbiter = Arbiter("8/8/8/8/8/8/8/K2kr3 w - - 0 1")
        found = asyncio.run(Judge(tables).outcome_by_tables(arbiter.board, arbiter))
    assert found is not None
    outcome, ending = found
    assert (str(outcome.value), outcome.classical, outcome.basis) == ("-G0.0", "0-1", Basis.ADJUDICATION)
    assert ending == Ending(Basis.ADJUDICATION, chess.BLACK, "Black wins by adjudication: tablebase")


def test_positions_without_a_table_are_solved(tmp_path: Path) -> None:
    arbiter = Arbiter()
    for bounds, basis, text in (
        ("-G2.5 -G2.5", Basis.SOLVED, "End"),
        ("-G0.0 -G0.0", Basis.ADJUDICATION, "Black wins by adjudication: solved"),
        ("-G2.5 G2.5", Basis.PLAYED, "End"),
    ):
        proof = SolveProof(ProvedBounds(ScoreInterval.parse(bounds), None))
        with tbgen.Tablebase(tmp_path) as tables:
            judge = Judge(tables, Solver(prover=StubProver(lambda *_, proof=proof: proof)))
            outcome, ending = asyncio.run(judge.outcome_of_stopped_game(arbiter, Ending(None, None, "End")))
            assert asyncio.run(judge.outcome_by_tables(arbiter.board, arbiter)) is None
        assert (outcome.basis, ending.text) == (basis, text)


def test_an_interruption_stops_the_solver(tmp_path: Path) -> None:
    """Otherwise the event would wait at its end for the whole time limit of the solver."""
    begun, ended = threading.Event(), threading.Event()

    def prove(*given: Any) -> SolveProof:
        begun.set()
        try:
            while True:
                given[-1](SolveStage(*ANYTHING))
                time.sleep(0.01)
        except KeyboardInterrupt:
            ended.set()
            raise

    async def interrupted(judge: Judge) -> bool:
        judging = asyncio.ensure_future(judge.outcome_of_stopped_game(Arbiter(), Ending(None, None, "End")))
        await asyncio.to_thread(begun.wait)
        judging.cancel()
        await asyncio.wait({judging})
        return judging.cancelled()

    with tbgen.Tablebase(tmp_path) as tables:
        assert asyncio.run(interrupted(Judge(tables, Solver(prover=StubProver(prove)))))
    assert ended.is_set()
