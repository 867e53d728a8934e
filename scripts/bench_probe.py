#!/usr/bin/env python3
"""Measure probes through the Python API on an open table: microseconds, fresh and with an accrued score.

    scripts/bench_probe.py data KBNvK KRPvK

Positions are random and legal, the same in every run. The first pass reads chunks from the file, the second
finds them in the cache. "count" is the part of it that python-chess needs to count the legal moves.
"""

import argparse
import platform
import random
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import chess

import tbgen
from tbgen.material import Material
from tbgen.probe.position import validate
from tbgen.score import GScore

POSITIONS = 3000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("materials", nargs="+", metavar="MATERIAL")
    arguments = parser.parse_args()
    print(f"{platform.machine()}, Python {platform.python_version()}, {POSITIONS} positions per material")
    print(f"{'material':10} {'pass':14} {'min':>7} {'median':>7} {'p99':>7} us")
    for name in arguments.materials:
        material = Material.parse(name)
        rng = random.Random(name)
        boards = [random_board(rng, material) for _ in range(POSITIONS)]
        scores = [GScore(rng.randrange(2, 16), rng.random() < 0.5) for _ in boards]
        with tbgen.open_tablebase(arguments.directory) as tables:
            report(name, "fresh, first", boards, tables.probe)
            report(name, "fresh, warm", boards, tables.probe)
            report(name, "accrued, first", boards, tables.probe, scores)
            report(name, "accrued, warm", boards, tables.probe, scores)
        report(name, "count", boards, lambda board, _: board.legal_moves.count())


def report(
    name: str,
    what: str,
    boards: list[chess.Board],
    probe: Callable[[chess.Board, GScore | None], object],
    scores: Sequence[GScore | None] = (None,) * POSITIONS,
) -> None:
    """Time every probe on its own and print the distribution."""
    times = []
    for board, score in zip(boards, scores, strict=True):
        start = time.perf_counter()
        probe(board, score)
        times.append((time.perf_counter() - start) * 1e6)
    times.sort()
    p99 = times[len(times) * 99 // 100]
    print(f"{name:10} {what:14} {times[0]:7.1f} {statistics.median(times):7.1f} {p99:7.1f}", flush=True)


def random_board(rng: random.Random, material: Material) -> chess.Board:
    """A random valid position."""
    men = material.white + material.black.lower()
    while True:
        board = chess.Board(None)
        board.turn = rng.random() < 0.5
        for letter, square in zip(men, rng.sample(range(64), len(men)), strict=True):
            board.set_piece_at(square, chess.Piece.from_symbol(letter))
        try:
            validate(board)
        except tbgen.UsageError:
            continue
        return board


if __name__ == "__main__":
    main()
