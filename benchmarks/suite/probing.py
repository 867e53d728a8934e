"""Probes of open tables from Python, in seconds of CPU time of this process unless it says otherwise."""

import random
import time
from pathlib import Path
from typing import Any

from suite.material import packed, random_boards, tables

MATERIALS = ("KBNvK", "KRPvK", "KRvKR")


class Probing:
    """Random positions of a material, and random accrued scores."""

    params = MATERIALS
    param_names = ("material",)
    timer = time.process_time
    positions = 2000

    def setup(self, material: str) -> None:
        import tbgen
        from tbgen.board.score import GScore

        rng = random.Random(material)
        self.boards = random_boards(material, self.positions)
        self.scores = [GScore(rng.randrange(2, 16), rng.random() < 0.5) for _ in self.boards]
        self.tables: Any = tbgen.open_tablebase(tables())
        self.first()

    def first(self) -> None:
        """Steps before the measurement."""

    def teardown(self, material: str) -> None:
        self.tables.close()


class First(Probing):
    """Chunks have to be read and decoded; 2,000 probes."""

    number = 1
    warmup_time = 0

    def time_fresh(self, material: str) -> None:
        for board in self.boards:
            self.tables.probe(board)

    def time_many(self, material: str) -> None:
        list(self.tables.probe_many(self.boards))


class Warm(Probing):
    """All chunks are decoded; 2,000 probes."""

    def first(self) -> None:
        for board, score in zip(self.boards, self.scores, strict=True):
            self.tables.probe(board, score)

    def time_fresh(self, material: str) -> None:
        for board in self.boards:
            self.tables.probe(board)

    def time_accrued(self, material: str) -> None:
        for board, score in zip(self.boards, self.scores, strict=True):
            self.tables.probe(board, score)

    def time_many(self, material: str) -> None:
        list(self.tables.probe_many(self.boards))

    def time_many_accrued(self, material: str) -> None:
        list(self.tables.probe_many(self.boards, self.scores))


class Packed:
    """Packed tables with nothing decoded; 10,000 probes, in wall time, since threads decode."""

    params = ("KRvKN", "KPvKP")
    param_names = ("material",)
    number = 1
    warmup_time = 0
    positions = 10_000

    def setup(self, material: str) -> None:
        import tbgen
        from tbgen.board.score import GScore

        rng = random.Random(material)
        boards = random_boards(material, self.positions)
        self.fens = [board.fen() for board in boards]
        self.scores = [GScore(rng.randrange(2, 16), rng.random() < 0.5) for _ in boards]
        with tbgen.open_tablebase(packed(material)) as others:  # kernels are loaded
            list(others.probe_many(self.fens[:500], self.scores[:500]))
        self.tables: Any = tbgen.open_tablebase(packed(material))

    def teardown(self, material: str) -> None:
        self.tables.close()

    def time_many(self, material: str) -> None:
        list(self.tables.probe_many(self.fens))

    def time_many_accrued(self, material: str) -> None:
        list(self.tables.probe_many(self.fens, self.scores))


class Arrays:
    """Random positions in arrays, half to two thirds of them legal; 262,144 in wall time, all threads."""

    params: tuple[str, ...] = MATERIALS
    param_names = ("material",)
    positions = 1 << 18

    def setup(self, material: str) -> None:
        import numpy as np

        import tbgen

        rng = np.random.default_rng(0)
        white, black = material.split("v")
        self.men = white + black.lower()
        self.squares = rng.integers(0, 64, (self.positions, len(self.men)), np.uint8)
        self.side = rng.integers(0, 2, self.positions, np.uint8)
        rank = rng.integers(2, 32, self.positions)
        self.accrued = np.where(rng.random(self.positions) < 0.5, rank, 255 - rank).astype(np.uint8)
        self.tables: Any = tbgen.open_tablebase(self.directory(material))
        # Kernels are loaded.
        self.tables.probe_arrays(self.men, self.squares[:99], self.side[:99], self.accrued[:99])

    def directory(self, material: str) -> Path:
        """Where the table lies, and those that it rests on."""
        return tables()

    def teardown(self, material: str) -> None:
        self.tables.close()

    def time_fresh(self, material: str) -> None:
        self.tables.probe_arrays(self.men, self.squares, self.side)

    def time_accrued(self, material: str) -> None:
        self.tables.probe_arrays(self.men, self.squares, self.side, self.accrued)


class PackedArrays(Arrays):
    """The same in packed tables; no block stays decoded."""

    params = ("KRvKN", "KPvKP")

    def directory(self, material: str) -> Path:
        """Where the table lies, and those that it rests on."""
        return packed(material)


class Moves(Probing):
    """All moves of 100 positions, with their values."""

    positions = 100

    def first(self) -> None:
        self.time_moves("")

    def time_moves(self, material: str) -> None:
        for board in self.boards:
            self.tables.moves(board)
