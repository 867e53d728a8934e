"""Against Stockfish from positions of the tables: the engine always gets the value, or better."""

import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import chess
import chess.engine
import pytest

from tbgen.board.material import Material
from tbgen.engine.tables import EngineTables
from tbgen.probe.tablebase import Tablebase, open_tablebase
from tests.support.engines import game, thinker, timer
from tests.support.exhaustive import sample
from tests.support.random_boards import random_board

PROGRAM = shutil.which("stockfish") or shutil.which("stockfish", path=f"/usr/games{os.pathsep}/usr/local/bin")
pytestmark = pytest.mark.skipif(
    PROGRAM is None, reason="Stockfish is not installed: apt-get install stockfish"
)

MATERIALS = ("KRvK", "KBNvK", "KQvKR", "KRvKB", "KPvK", "KBvK", "KRPvK")
GAMES = sample(2, 28)
PLIES = 120
NODES = 2000


@pytest.fixture
def stockfish() -> Iterator[chess.engine.SimpleEngine]:
    assert PROGRAM is not None
    with chess.engine.SimpleEngine.popen_uci(PROGRAM, timeout=300) as engine:
        engine.configure({"Hash": 16, "Threads": 1})
        yield engine


def won(rng: random.Random, material: str, truth: Tablebase) -> chess.Board:
    """A position whose value is held by the side with more."""
    while True:
        board = random_board(rng, Material.parse(material))
        board.halfmove_clock = 0
        if any(board.legal_moves) and truth.probe(board).value.white == ahead(board):
            return board


def ahead(board: chess.Board) -> bool:
    """The side that the table calls White."""
    return not Material.of_board(board)[1]


@pytest.mark.slow
def test_it_gets_the_value_or_better(tables: Path, stockfish: chess.engine.SimpleEngine) -> None:
    playing, rng, reached = EngineTables([tables], print), random.Random(16), 0
    with open_tablebase(tables) as truth:
        for number in range(GAMES):
            board = won(rng, MATERIALS[number % len(MATERIALS)], truth)
            white, arbiter = ahead(board), game(board.fen())
            promised = truth.probe(board).value
            for _ in range(PLIES):
                if arbiter.outcome is not None:
                    break
                if arbiter.live.turn == white:
                    chosen = thinker(tables=playing).choose(arbiter, timer("movetime 99"))
                    assert chosen is not None
                    arbiter.play(chosen.move)
                else:
                    reply = stockfish.play(arbiter.board, chess.engine.Limit(nodes=NODES)).move
                    assert reply is not None
                    arbiter.push(reply)
                value = truth.probe(arbiter.live, arbiter.accrued).value
                assert value >= promised if white else value <= promised, board.fen()
            if arbiter.outcome is not None:
                value = arbiter.outcome.value
                assert value >= promised if white else value <= promised, board.fen()
                reached += 1
    assert reached >= GAMES // 2
