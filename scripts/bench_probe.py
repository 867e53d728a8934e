#!/usr/bin/env python3
"""Measure probes on open tables, on one core: one by one in microseconds, many together in probes per second.

    scripts/bench_probe.py data KBNvK KRPvK

Positions are random and legal, the same in every run. The first pass reads chunks from the file, the second
finds them in the cache. "mixed" has the materials in turn, more than the cache holds if they are many. The
last table is `tbgen probe -` from a file of FENs to /dev/null, its start and the opening of tables included.
"CPU" is the rate per second of CPU time, which a busy machine changes less.
"""

import argparse
import platform
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import chess

import tbgen
from tbgen.index.position import validate
from tbgen.material import Material
from tbgen.score import GScore

POSITIONS = 3000
"""For probes one by one, per material."""
MANY = 40_000
"""For many together, and for lines without moves."""
LINES_WITH_MOVES = 4000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("materials", nargs="+", metavar="MATERIAL")
    arguments = parser.parse_args()
    directory = arguments.directory
    materials = [Material.parse(name) for name in arguments.materials]
    print(f"{platform.machine()}, Python {platform.python_version()}, {POSITIONS} positions per material")
    print(f"{'material':10} {'pass':14} {'min':>7} {'median':>7} {'p99':>7} us")
    for material in materials:
        one_by_one(directory, material)
    sets = {
        material.name: random_boards(random.Random(material.name), [material], MANY) for material in materials
    }
    if len(materials) > 1:
        sets["mixed"] = random_boards(random.Random(0), materials, MANY)
    print(f"\nprobe_many, {MANY} positions")
    print(f"{'material':10} {'pass':14} {'probes/s':>9} {'CPU':>9}")
    for name, boards in sets.items():
        many(directory, name, boards)
    print("\ntbgen probe -")
    print(f"{'material':10} {'options':14} {'lines':>7} {'lines/s':>9} {'CPU':>9}")
    for name, boards in sets.items():
        command_line(directory, name, boards, "--no-moves")
        command_line(directory, name, boards[:LINES_WITH_MOVES])


def one_by_one(directory: Path, material: Material) -> None:
    """Time single probes of a material."""
    rng = random.Random(material.name)
    boards = random_boards(rng, [material], POSITIONS)
    scores = [GScore(rng.randrange(2, 16), rng.random() < 0.5) for _ in boards]
    with tbgen.open_tablebase(directory) as tables:
        report(material.name, "fresh, first", boards, tables.probe)
        report(material.name, "fresh, warm", boards, tables.probe)
        report(material.name, "accrued, first", boards, tables.probe, scores)
        report(material.name, "accrued, warm", boards, tables.probe, scores)


def many(directory: Path, name: str, boards: list[chess.Board]) -> None:
    """Time probes of many positions together."""
    rng = random.Random(name)
    scores = [GScore(rng.randrange(2, 16), rng.random() < 0.5) for _ in boards]
    with tbgen.open_tablebase(directory) as tables:
        for board in {Material.of_board(board): board for board in boards}.values():
            tables.probe(board)  # opens the file
        for what, given in (("fresh", None), ("accrued", scores)):
            for when in ("first", "warm"):
                start, busy = time.perf_counter(), time.process_time()
                count = sum(isinstance(r, tbgen.ProbeResult) for r in tables.probe_many(boards, given))
                seconds, busy = time.perf_counter() - start, time.process_time() - busy
                row = f"{name:10} {f'{what}, {when}':14} {count / seconds:9,.0f} {count / busy:9,.0f}"
                print(row, flush=True)


def command_line(directory: Path, name: str, boards: list[chess.Board], *options: str) -> None:
    """Time the command on a file of FENs."""
    command = [sys.executable, "-m", "tbgen", "probe", "-", "--dir", str(directory), *options]
    with tempfile.TemporaryFile("w+") as file:
        file.writelines(f"{board.fen()}\n" for board in boards)
        file.flush()
        file.seek(0)
        start, busy = time.perf_counter(), child_seconds()
        subprocess.run(command, stdin=file, stdout=subprocess.DEVNULL, check=True)
        seconds, busy = time.perf_counter() - start, child_seconds() - busy
    lines = len(boards)
    row = f"{name:10} {' '.join(options):14} {lines:7} {lines / seconds:9,.0f} {lines / busy:9,.0f}"
    print(row, flush=True)


def child_seconds() -> float:
    """CPU seconds of the processes that have been run."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


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


def random_boards(rng: random.Random, materials: list[Material], count: int) -> list[chess.Board]:
    """Random valid positions of materials in turn."""
    return [random_board(rng, materials[number % len(materials)]) for number in range(count)]


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
