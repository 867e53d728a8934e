"""The engine: positions that it searches, and moves that it makes from tables, a second of CPU time."""

import random
import time
from typing import Any

from suite.material import random_boards, tables

MIDDLEGAME = "r1bqkbnr/pppp1ppp/2n5/4p3/2B1P3/5N2/PPPP1PPP/RNBQK2R b KQkq - 3 3"
ENDGAME = "8/5k2/3p4/3P4/8/2R2K2/6r1/8 w - - 3 60 G4.5"


def _thinker(with_tables: bool) -> Any:
    from pathlib import Path

    from tbgen.engine.compiled_search import ensure_compiled
    from tbgen.engine.options import Options
    from tbgen.engine.table_advice import EngineTables
    from tbgen.engine.thinker import Thinker
    from tbgen.engine.workspace import SearchWorkspace

    ensure_compiled(print)
    workspace = SearchWorkspace.with_table_size(64)
    playing = EngineTables([Path(tables())], print) if with_tables else None
    return Thinker(lambda _: None, playing, Options(), lambda: workspace)


def _timer(words: str) -> Any:
    from tbgen.engine.timer import Go, Timer

    return Timer(Go.parse(words.split()), True)


def _game(fen: str) -> Any:
    from tbgen.engine.game import read_game

    return read_game(["fen", *fen.split()])


class Search:
    """300,000 positions, some of them, in the endgame, in tables."""

    params = (MIDDLEGAME, ENDGAME)
    param_names = ("position",)
    nodes = 300_000

    def setup(self, position: str) -> None:
        self.game = _game(position)
        self.thinker = _thinker(position == ENDGAME)
        self.thinker.choose(self.game, _timer("nodes 100"))

    def track_positions_a_second(self, position: str) -> float:
        began = time.process_time()
        self.thinker.choose(self.game, _timer(f"nodes {self.nodes}"))
        return self.nodes / (time.process_time() - began)

    track_positions_a_second.unit = "positions/s"  # type: ignore[attr-defined]


class FromTables:
    """Moves in positions of one material with random accrued scores, chunks decoded."""

    params = ("KBNvK", "KRvKR")
    param_names = ("material",)
    moves = 200

    def setup(self, material: str) -> None:
        from tbgen.board.score import GScore

        rng = random.Random(material)
        self.thinker = _thinker(True)
        boards = [board for board in random_boards(material, self.moves) if any(board.legal_moves)]
        for board in boards:
            board.halfmove_clock = 1
        self.games = [
            _game(f"{board.fen()} {GScore(rng.randrange(2, 16), rng.random() < 0.5)}") for board in boards
        ]
        self.track_moves_a_second(material)

    def track_moves_a_second(self, material: str) -> float:
        began = time.process_time()
        for game in self.games:
            self.thinker.choose(game, _timer("movetime 100"))
        return len(self.games) / (time.process_time() - began)

    track_moves_a_second.unit = "moves/s"  # type: ignore[attr-defined]
