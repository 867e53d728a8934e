#!/usr/bin/env python3
"""Kill ``tbgen solve`` and workers of a cluster at random moments, and compare the final results.

    scripts/check_kills.py --dir data
    scripts/check_kills.py --dir data --solver 140 --workers 60 --seed 2

Small positions are solved with tables of three men in two ways. One is a solver process that is killed again
and again, and resumed by the same command. The other is a pair of Dask workers that are killed at work.

In the end, the results of the solver (``--results``) must equal the results of a run without kills. The
bounds of its kept cells (``--cells``) must not contradict the bounds of that run. They may be narrower or
wider, because they depend on the cells already solved when a cell is solved, and so on the moments of the
kills. The files of the workers must equal, bit by bit, the files of one machine that solves the same cells.
Exit code 0 if all this is true, 1 if not (then the files are kept), 3 if a table is missing.
"""

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from tbgen import TbgenError
from tbgen.beyond.cluster import solve_cell, tasks_below
from tbgen.beyond.jobs import job_of, roots_of
from tbgen.beyond.kept import KeptCells
from tbgen.beyond.results import open_results
from tbgen.beyond.structures import cells_below
from tbgen.beyond.table_source import Tables
from tbgen.board.fen import parse_fen
from tbgen.board.material import all_materials
from tbgen.board.score import NONE
from tbgen.board.variant import Variant
from tbgen.cells.bounds import LOWER, UPPER
from tbgen.cells.cell import Cell
from tbgen.cells.cell_warmup import ensure_compiled
from tbgen.cells.file import file_name, name_of
from tbgen.cells.packing import unpack
from tbgen.cli.main import main as tbgen
from tbgen.errors import MissingTableError
from tbgen.probe.tablebase import Tablebase
from tbgen.store.format import table_path
from tbgen.text import counted

if TYPE_CHECKING:
    from distributed import LocalCluster

if sys.platform == "win32":
    raise SystemExit("check_kills.py needs fork, which Windows lacks")

POSITIONS: Final = ("8/8/4k3/4p3/4P3/4K3/8/8 w - - 3 40 G6.0", "7k/p7/P7/8/8/8/2B5/K7 w - - 1 1 -G3.0")
"""Positions for the solver, with two and three mobile men, and with accrued scores."""
WORKER_POSITION: Final = "8/2k5/2p5/2P5/8/3R4/8/3K4 w - - 0 1"
"""The position whose cells the workers solve."""
MAX_KILLS_PER_RUN: Final = 8
"""Maximum number of kills of a command before it may finish."""
PATIENCE: Final = 300.0
"""Seconds to wait for a worker. Both workers may be killed while they start."""
MEMORY_BYTES: Final = 8 << 30
MAX_MEN: Final = 3
"""Maximum number of men in the tables."""


def proved(folder: Path, tables: Path) -> dict[str, object]:
    """Return the bounds and depths, by position, that a command has proved and stored in a folder."""
    with open_results(folder / "results.jsonl") as results, Tablebase(tables) as opened:
        states = [job_of(text, None, opened, text).state for text in POSITIONS]
        return {" ".join(state): results.get(state) for state in states}


def contradictions(first: Path, second: Path) -> Iterator[str]:
    """Yield errors in the cells of two directories: unusable cells, and cells with contradictory bounds."""
    for cell in dict.fromkeys(cell for text in POSITIONS for cell in cells_of(text)):
        folders = [folder for folder in (first, second) if (folder / file_name(name_of(cell))).exists()]
        packed = [KeptCells(folder, warn=lambda _: None).get(cell) for folder in folders]
        bounds = [unpack(kept, cell).value for kept in packed if kept is not None]
        if len(bounds) < len(folders):
            yield f"{name_of(cell)} cannot be used"
        elif len(bounds) == 2 and not agree(*bounds):
            yield f"{name_of(cell)} contradicts"


def agree(first: NDArray[np.uint8], second: NDArray[np.uint8]) -> bool:
    """Return whether two arrays of bounds of the same positions allow common values.

    The shape of each array is (2 bounds, 2 sides, slots).
    """
    lower, upper = np.minimum(first[LOWER], second[LOWER]), np.maximum(first[UPPER], second[UPPER])
    return bool((lower >= upper).all() and ((first == NONE) == (second == NONE)).all())


def cells_of(text: str) -> Iterable[Cell]:
    """Return all cells that the solution of a position may need."""
    root, *_ = roots_of(parse_fen(text).board, MEMORY_BYTES)
    return cells_below(root, lambda cell: cell.men <= MAX_MEN, promotions=True)


def files_in(directory: Path) -> dict[str, bytes]:
    """Return the content of all files of a directory, finished or not, by name."""
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def start_solver(folder: Path, tables: Path) -> int:
    """Start to solve the positions in a process that resumes from the folder. Return its process id."""
    process = os.fork()  # the kernels are compiled and loaded
    if not process:
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        words = ["--cells", folder / "cells", "--results", folder / "results.jsonl", "--dir", tables]
        os._exit(tbgen(["solve", str(folder / "positions.fen"), *map(str, words)]))
    return process


def solve_with_kills(folder: Path, tables: Path, waits: Iterator[float]) -> int:
    """Solve the positions in a folder, killing the solver after each wait. Return the number of kills.

    :raises TbgenError: if the command fails.
    """
    folder.mkdir(parents=True)
    (folder / "positions.fen").write_text("\n".join(POSITIONS))
    kills = 0
    for wait in waits:
        process = start_solver(folder, tables)
        time.sleep(wait)
        os.kill(process, signal.SIGKILL)
        kills += os.WIFSIGNALED(os.waitpid(process, 0)[1])
    if code := os.waitstatus_to_exitcode(os.waitpid(start_solver(folder, tables), 0)[1]):
        raise TbgenError(f"the command resumed in {folder} ended with exit code {code}")
    return kills


def kill_solver(kills: int, tables: Path, folder: Path, rng: random.Random) -> bool:
    """Kill the solver ``kills`` times, print the results, and return whether they are as expected."""
    ensure_compiled()
    start = time.perf_counter()
    solve_with_kills(folder / "alone", tables, iter(()))
    seconds = time.perf_counter() - start
    expected = proved(folder / "alone", tables)
    killed = 0
    rounds = 0
    errors = []
    while killed < kills:
        rounds += 1
        here = folder / f"solver {rounds}"
        run_kills = min(rng.randint(1, MAX_KILLS_PER_RUN), kills - killed)
        killed += solve_with_kills(here, tables, (rng.uniform(0, seconds) for _ in range(run_kills)))
        contradicted = contradictions(folder / "alone" / "cells", here / "cells")
        errors += differences(here, proved(here, tables), expected, contradicted)
    return report("tbgen solve", killed, rounds, counted(len(expected), "result"), errors)


def kill_workers(kills: int, tables: Path, folder: Path, rng: random.Random) -> bool:
    """Kill workers ``kills`` times, print the results, and return whether they are as expected."""
    from tbgen.beyond.cluster import solve_on_cluster

    roots = roots_of(parse_fen(WORKER_POSITION).board, MEMORY_BYTES, None)
    reference = folder / "one machine"
    with Tablebase(tables) as opened:
        table_source = Tables(opened)
        for cell, below in tasks_below(roots, table_source.has_cell).items():
            solve_cell(cell, below, table_source, reference, 1)
    expected: dict[str, object] = dict(files_in(reference))
    killed = 0
    rounds = 0
    errors = []
    with workers(2) as cluster:
        while killed < kills:
            rounds += 1
            here = folder / f"workers {rounds}"
            cluster.wait_for_workers(1, timeout=300)
            with Killer(cluster, kills - killed, rng) as killer:
                solve_on_cluster(roots, [tables], here, cluster.scheduler_address, patience=PATIENCE)
            killed += killer.killed
            errors += differences(here, dict(files_in(here)), expected)
    return report("workers", killed, rounds, counted(len(expected), "cell"), errors)


@contextmanager
def workers(count: int) -> Iterator["LocalCluster"]:
    """Run some workers, each in a process that is replaced when it dies."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=count, threads_per_worker=1, memory_limit=0, resources={"memory": 8e9},
        dashboard_address=":0", silence_logs=50,
    ) as cluster:  # fmt: skip
        yield cluster


class Killer:
    """Kills random workers at random times, in a thread that runs until the end of the block."""

    def __init__(self, cluster: "LocalCluster", count: int, rng: random.Random) -> None:
        self._cluster = cluster
        self._count = count
        self._chance = rng
        self._stop = Event()
        self._thread = Thread(target=self._run)
        self.killed = 0

    def _run(self) -> None:
        while self.killed < self._count and not self._stop.wait(self._chance.uniform(0.2, 1.5)):
            with suppress(ProcessLookupError, TypeError, IndexError):  # the worker is being replaced
                processes = [nanny.pid for nanny in self._cluster.workers.values()]
                os.kill(self._chance.choice(processes), signal.SIGKILL)
                self.killed += 1

    def __enter__(self) -> "Killer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


def differences(
    folder: Path, actual: dict[str, object], expected: dict[str, object], further_errors: Iterable[str] = ()
) -> list[str]:
    """Return differing names and further errors, each with the folder. Without any, remove the folder."""
    wrong = [name for name in actual.keys() | expected.keys() if actual.get(name) != expected.get(name)]
    wrong += further_errors
    if not wrong:
        shutil.rmtree(folder)
    return [f"{folder}: {name}" for name in sorted(wrong)]


def report(name: str, kills: int, rounds: int, result: str, errors: list[str]) -> bool:
    """Print a summary line and the errors. Return whether there are no errors."""
    state = f"{len(errors)} WRONG" if errors else "as without kills"
    print(f"{name}: {counted(kills, 'kill')} in {counted(rounds, 'run')}, {result} each: {state}", flush=True)
    for line in errors:
        print(f"  {line}")
    return not errors


def link_tables(directory: Path, target: Path) -> Path:
    """Return a directory with links to the tables of up to three men only.

    :raises MissingTableError: if a table is missing.
    """
    target.mkdir()
    for material in all_materials(MAX_MEN):
        path = table_path(directory, material.name, Variant.R_MOBILITY)
        if not path.exists():
            raise MissingTableError(material.name, directory)
        (target / path.name).symlink_to(path.resolve())
    return target


def run(directory: Path, solver: int, workers: int, seed: int) -> int:
    """Kill the solver and the workers as often as requested, and return the exit code."""
    folder = Path(tempfile.mkdtemp(prefix="tbgen-kills-"))
    rng = random.Random(seed)
    tables = link_tables(directory, folder / "tables")
    correct = (kill_solver(solver, tables, folder, rng), kill_workers(workers, tables, folder, rng))
    if all(correct):
        shutil.rmtree(folder)
    return 0 if all(correct) else 1


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dir", type=Path, required=True, help="folder of the tables")
    parser.add_argument("--solver", type=int, default=140, metavar="N", help="kills of the solver (140)")
    parser.add_argument("--workers", type=int, default=60, metavar="N", help="kills of workers (60)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed of the random moments (1)")
    arguments = parser.parse_args()
    try:
        return run(arguments.dir, arguments.solver, arguments.workers, arguments.seed)
    except TbgenError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
