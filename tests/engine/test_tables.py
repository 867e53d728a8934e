"""Play from tables reaches exactly the value in exactly the depth, whether depths are stored or not."""

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import chess
import numpy as np
import pytest

from tbgen.board.material import MAX_MEN, Material, all_materials
from tbgen.board.rules import position_score
from tbgen.board.score import NONE, GScore
from tbgen.board.scoring import points
from tbgen.engine import table_advice
from tbgen.engine.compiled_search import _accrued_codes
from tbgen.engine.game import SearchGame, read_game
from tbgen.engine.table_advice import EngineTables, _sample_board
from tbgen.games.game_options import FiftyMoveRule
from tbgen.probe.tablebase import Tablebase
from tests.support.depths import forget_depths, known
from tests.support.engines import game, thinker, timer
from tests.support.exhaustive import sample
from tests.support.random_boards import starts

MATERIALS = all_materials(4)
BISHOP = "8/8/8/4KBk1/8/8/8/8 b - - 0 1"


def started(board: chess.Board, accrued: GScore | None) -> SearchGame:
    return game(board.fen() if accrued is None else f"{board.fen()} {accrued}")


QUICK = "movetime 1"
"""A time too short to compute whole lines, on which the advice of tables does not depend otherwise."""


def played(arbiter: SearchGame, playing: EngineTables, plies: int, words: str = QUICK) -> list[GScore]:
    """Return the accrued scores of a game that the engine plays against itself, including the first one."""
    choosing, accrued = thinker(tables=playing), [arbiter.accrued]
    for _ in range(plies):
        chosen = choosing.choose(arbiter, timer(words))
        assert chosen is not None
        arbiter.play(chosen.move)
        accrued.append(arbiter.accrued)
    return accrued


@pytest.mark.slow
def test_it_reaches_the_value_after_exactly_the_depth(tables: Path, tablebase: Tablebase) -> None:
    """Half of the positions have an accrued score; the engine plays both sides."""
    playing, longest = EngineTables([tables], print), 0
    for board, score in starts("engine", sample(12, 200), MATERIALS):
        promised = tablebase.probe(board, score)
        arbiter = started(board, score)
        accrued = played(arbiter, playing, known(promised.depth))
        assert accrued[-1] == promised.value, board.fen()
        assert promised.value not in accrued[:-1], board.fen()
        assert promised.depth == 0 or tablebase.probe(arbiter.live, arbiter.accrued).depth == 0
        longest = max(longest, len(accrued) - 1)
    assert longest > 20


def scored(seed: str) -> Iterator[tuple[chess.Board, GScore]]:
    """Yield random positions of three men with an accrued score."""
    for board, score in starts(seed, 1000, [Material.parse(name) for name in ("KPvK", "KNvK")]):
        if score is not None:
            yield board, score


def test_depths_that_are_not_stored_are_computed(
    small: Path, tablebase: Tablebase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Packed tables do not store the depths of some accrued scores."""
    forget_depths(monkeypatch, small)
    playing, left = EngineTables([small], print), sample(1, 12)
    for board, score in scored("unknown depths"):
        found = tablebase.probe(board, score)
        if left and 2 < known(found.depth) < 12 and found.value.rank >= score.rank:
            accrued = played(started(board, score), playing, known(found.depth), "")
            assert accrued[-1] == found.value, board.fen()
            assert found.value not in accrued[1:-1]
            left -= 1
    assert not left


def test_without_time_for_depths_it_keeps_the_value_and_makes_progress(
    small: Path, tablebase: Tablebase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The remaining moves keep the value, and lead to the positions met least often."""
    forget_depths(monkeypatch, small)
    playing, seen = EngineTables([small], print), 0
    for board, score in islice(scored("no time"), 60):
        stopped = timer()
        stopped.stop()
        advice = playing.advice(started(board, score), list(board.legal_moves), stopped)
        assert advice is not None
        value = tablebase.probe(board, score).value
        assert advice.value == value
        ranked = tablebase.moves(board, score)
        assert set(advice.moves) <= {move.move for move in ranked if move.value == value}
        seen += len(advice.moves) > 1
    assert seen > 3


@pytest.mark.parametrize(
    "fen", ["8/8/8/8/8/2k5/8/K1B5 b - - 4 60 G1.5", "1k6/4K3/8/8/8/8/8/1B6 w - - 9 70 G1.5"]
)
def test_with_nothing_to_gain_it_chooses_the_most_tempting_move(
    fen: str, small: Path, tablebase: Tablebase
) -> None:
    """Among the moves that keep the value, a random answer gives up most points after this move."""
    arbiter = game(fen)
    board, accrued = arbiter.board, arbiter.accrued
    advice = EngineTables([small], print).advice(arbiter, list(board.legal_moves), timer())
    assert advice is not None
    moves = tablebase.moves(board, accrued)
    gains = {}
    for move in moves:
        if move.value == moves[0].value:
            board.push(move.move)
            answers = [answer.value for answer in tablebase.moves(board, move.accrued) if answer.value.rank]
            board.pop()
            given = [points(value)[not board.turn] for value in answers]
            gains[move.move] = sum(given) / len(given)
    (chosen,) = advice.moves
    assert advice.value == moves[0].value
    assert gains[chosen] == max(gains.values()) > min(gains.values())


@pytest.mark.parametrize("words", ["infinite", "movetime 99"])
def test_the_whole_line_of_best_play_is_shown(
    words: str, small: Path, tablebase: Tablebase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A short time suffices where look-ups take none of it."""
    monkeypatch.setattr(time, "perf_counter", lambda: 7.0)
    said: list[str] = []
    arbiter = game("8/8/5k1K/5P2/8/8/8/8 w - - 1 60 -G2.5")
    chosen = thinker(said, EngineTables([small], print)).choose(arbiter, timer(words))
    assert chosen is not None
    line = tablebase.line(arbiter.board, arbiter.accrued)
    assert said[1].split(" pv ")[1] == " ".join(ply.uci for ply in line)
    assert (chosen.move, chosen.reply) == (line[0].move, line[1].move)
    assert arbiter.moves == ()
    assert said[0] == "info string G-score -G3.5 in 4 plies, from tables, accrued -G2.5"
    assert " score cp -125 " in said[1]


def test_lines_of_a_report_share_their_searches(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where tables lack depths, the number of searches for them does not depend on that of the lines."""
    asked: list[bool] = []

    def search(*_: object, patience: Callable[[], bool]) -> None:
        asked.extend(iter(patience, False))

    monkeypatch.setattr(Tablebase, "next_move", search)
    choosing = thinker(tables=EngineTables([small], print))
    choosing.options.best_count = 3
    assert choosing.choose(game(BISHOP), timer("depth 1"))
    assert len(asked) == table_advice._MAX_LINE_SEARCHES


def test_a_mate_is_reported_as_mate(small: Path, tablebase: Tablebase) -> None:
    said: list[str] = []
    choosing, fen = thinker(said, EngineTables([small], print)), "8/8/8/8/8/8/8/K2kr3 {} - - 0 1"
    told = []
    for turn in "bw":
        assert choosing.choose(game(fen.format(turn)), timer("depth 1"))
        moves = (known(tablebase.probe(fen.format(turn)).depth) + 1) // 2
        told.append(f"mate {moves if turn == 'b' else -moves}")
    assert told[1] == "mate -5"
    assert [line.split(" score ")[1].split(" nodes")[0] for line in said[1::2]] == told


def test_a_missing_or_damaged_table_is_named_once_and_the_move_is_searched_for(
    small: Path, tmp_path: Path
) -> None:
    shutil.copy(small / "KvK.r.h5", tmp_path)
    for damaged in (False, True):
        if damaged:
            (tmp_path / "KBvK.r.h5").write_bytes(b"no table")
        told: list[str] = []
        playing = EngineTables([tmp_path], told.append)
        for _ in range(2):
            assert thinker(tables=playing).choose(game(BISHOP), timer("depth 2"))
        (sentence,) = told
        missing = f"table KBvK is missing from {tmp_path}; build it with: tbgen build KBvK --dir {tmp_path}"
        assert "KBvK.r.h5" in sentence if damaged else sentence == missing


def test_a_leaf_has_its_value(tables: Path, tablebase: Tablebase) -> None:
    playing = EngineTables([tables], print)
    for board, score in starts("leaves", sample(20, 60), MATERIALS):
        found = tablebase.probe(board, score)
        assert playing.look_up(started(board, score)) == (found.value, found.depth)
    assert playing.look_up(game(chess.STARTING_FEN)) is None


def test_under_a_fifty_move_rule_only_values_reached_in_time_count(small: Path, tablebase: Tablebase) -> None:
    playing, fen = EngineTables([small], print), "8/8/8/8/8/8/8/K2kr3 b - - {} 80 G3.0"
    depth = known(tablebase.probe(fen.format(1)).depth)
    for used, expected in ((99 - depth, True), (100 - depth, False)):
        arbiter = read_game(["fen", *fen.format(used).split()], rule=FiftyMoveRule.LEGACY)
        advice = playing.advice(arbiter, list(arbiter.live.legal_moves), timer())
        assert (advice is not None, playing.look_up(arbiter) is not None) == (expected, expected)


def test_a_damaged_table_does_not_affect_leaves_of_others(
    small: Path, tablebase: Tablebase, tmp_path: Path
) -> None:
    """The damaged table is the first one, with which the code would be loaded."""
    shutil.copy(small / "KQvK.r.h5", tmp_path)
    whole = (small / "KvK.r.h5").read_bytes()
    (tmp_path / "KvK.r.h5").write_bytes(whole[: len(whole) // 2])
    told: list[str] = []
    playing = EngineTables([tmp_path], told.append)
    playing.wait(print)
    assert sum("KvK.r.h5" in sentence for sentence in told) == 1
    asked = (np.array([[chess.E5, chess.D1, chess.G5]]), np.array([1]), np.array([GScore.parse("G5.5").code]))
    found, right = playing.values("KQk", *asked), tablebase.probe_arrays("KQk", *asked)
    assert found is not None
    assert [each.tolist() for each in found] == [each.tolist() for each in right]


def test_the_end_waits_for_tables_that_are_being_read(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread within HDF5 would prevent the interpreter from ending."""
    inside, go, told = threading.Event(), threading.Event(), list[object]()
    playing = EngineTables([small], print)
    playing.wait(print)

    def slowly(*_: object) -> bool:
        inside.set()
        return go.wait()

    monkeypatch.setattr(Tablebase, "probe_arrays", slowly)
    nothing = np.zeros(0, np.int64)
    reading = threading.Thread(target=lambda: told.append(playing.values("KBk", nothing, nothing, nothing)))
    reading.start()
    inside.wait()
    ending = threading.Thread(target=playing.close)
    ending.start()
    ending.join(0.1)
    assert ending.is_alive()
    go.set()
    ending.join()
    reading.join()
    assert told == [True]


def test_every_material_has_a_state_to_load_code_by() -> None:
    """The position score has a code; for three queens against a king, finding one takes some search."""
    for material in all_materials(MAX_MEN):
        board = _sample_board(material)
        assert board.is_valid()
        assert position_score(board).code in range(256)
        assert any(board.legal_moves)


def test_accrued_scores_without_a_code_count_as_none() -> None:
    rows = np.array([126 << 1, 126 << 1 | 1, 127 << 1, 127 << 1 | 1, 145 << 1 | 1])
    assert _accrued_codes(rows).tolist() == [126, 255 - 126, NONE, NONE, NONE]
