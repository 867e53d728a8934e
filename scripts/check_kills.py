#!/usr/bin/env python3
"""Kill ``tbgen solve`` and workers of a cluster at random moments, and compare the final results.

    scripts/check_kills.py --dir data
    scripts/check_kills.py --dir data --solver 140 --workers 60 --seed 2

Small positions are solved with tables of three men, by a process that is killed again and again and resumed
by the same command, and by two workers of Dask that are killed while they work. In the end the results of the
solver (``--results``) must be those of a run without kills, and no bounds of the cells that it keeps
(``--cells``) may contradict those of that run. (The bounds may be narrower or wider: they depend on the other
cells already solved when a cell is solved, and so on the moments of the kills.) The files of workers must be,
bit by bit, those of one machine that solves the same cells. Exit code 0 if all this is so, 1 if not (then the
files stay), 3 if a table is missing.
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
from tbgen.cells.cell_warmup import compile_kernels
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
BELOW: Final = "8/2k5/2p5/2P5/8/3R4/8/3K4 w - - 0 1"
"""The position whose cells the workers solve."""
MOST_KILLS: Final = 8
"""Number of kills of a command before it may finish."""
PATIENCE: Final = 300.0
"""Seconds to wait for a worker: both may be killed while they start."""
MEMORY: Final = 8 << 30
MEN: Final = 3
"""Names of the tables."""


def proved(folder: Path, tables: Path) -> dict[str, object]:
    """Return the bounds and depths that a command has left in a folder, by position."""
    with open_results(folder / "results.jsonl") as results, Tablebase(tables) as opened:
        states = [job_of(text, None, opened, text).state for text in POSITIONS]
        return {" ".join(state): results.proved(state) for state in states}


def contradictions(one: Path, other: Path) -> Iterator[str]:
    """Yield errors in the cells of two directories: cells that cannot be used, and cells whose bounds
    contradict each other."""
    for cell in dict.fromkeys(each for text in POSITIONS for each in cells_of(text)):
        there = [place for place in (one, other) if (place / file_name(name_of(cell))).exists()]
        packed = [KeptCells(place, note=lambda _: None).get(cell) for place in there]
        found = [unpack(each, cell).value for each in packed if each is not None]
        if len(found) < len(there):
            yield f"{name_of(cell)} cannot be used"
        elif len(found) == 2 and not agree(*found):
            yield f"{name_of(cell)} contradicts"


def agree(one: NDArray[np.uint8], other: NDArray[np.uint8]) -> bool:
    """Return whether bounds of the same positions, shape (2 bounds, 2 sides, slots), have a common value."""
    lower, upper = np.minimum(one[LOWER], other[LOWER]), np.maximum(one[UPPER], other[UPPER])
    return bool((lower >= upper).all() and ((one == NONE) == (other == NONE)).all())


def cells_of(text: str) -> Iterable[Cell]:
    """Return all cells that solving a position may need."""
    root, *_ = roots_of(parse_fen(text).board, MEMORY)
    return cells_below(root, lambda cell: cell.men <= MEN, promotions=True)


def files_in(directory: Path) -> dict[str, bytes]:
    """Return all files of a directory, finished or not, by name."""
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def begun(folder: Path, tables: Path) -> int:
    """Solve the positions in a separate process, which resumes from the folder; return its process id."""
    process = os.fork()  # the kernels are compiled and loaded
    if not process:
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        words = ["--cells", folder / "cells", "--results", folder / "results.jsonl", "--dir", tables]
        os._exit(tbgen(["solve", str(folder / "positions.fen"), *map(str, words)]))
    return process


def solved(folder: Path, tables: Path, waits: Iterator[float]) -> int:
    """Solve the positions in a folder, killed and restarted after random times; return the number of kills.

    :raises TbgenError: if the command fails.
    """
    folder.mkdir(parents=True)
    (folder / "positions.fen").write_text("\n".join(POSITIONS))
    kills = 0
    for wait in waits:
        process = begun(folder, tables)
        time.sleep(wait)
        os.kill(process, signal.SIGKILL)
        kills += os.WIFSIGNALED(os.waitpid(process, 0)[1])
    if code := os.waitstatus_to_exitcode(os.waitpid(begun(folder, tables), 0)[1]):
        raise TbgenError(f"the command resumed in {folder} ended with exit code {code}")
    return kills


def kill_solver(kills: int, tables: Path, folder: Path, chance: random.Random) -> bool:
    """Kill the command that many times, print the results, and return whether they are as expected."""
    compile_kernels()
    start = time.perf_counter()
    solved(folder / "alone", tables, iter(()))
    seconds = time.perf_counter() - start
    expected = proved(folder / "alone", tables)
    done, rounds, wrong = 0, 0, []
    while done < kills:
        rounds += 1
        here = folder / f"solver {rounds}"
        some = min(chance.randint(1, MOST_KILLS), kills - done)
        done += solved(here, tables, (chance.uniform(0, seconds) for _ in range(some)))
        others = contradictions(folder / "alone" / "cells", here / "cells")
        wrong += compared(here, proved(here, tables), expected, others)
    return told("tbgen solve", done, rounds, counted(len(expected), "result"), wrong)


def kill_workers(kills: int, tables: Path, folder: Path, chance: random.Random) -> bool:
    """Kill workers that many times, print the results, and return whether they are as expected."""
    from tbgen.beyond.cluster import solve_on_cluster

    roots, alone = roots_of(parse_fen(BELOW).board, MEMORY, None), folder / "one machine"
    with Tablebase(tables) as opened:
        held = Tables(opened)
        for cell, below in tasks_below(roots, held.has_cell).items():
            solve_cell(cell, below, held, alone, 1)
    expected: dict[str, object] = dict(files_in(alone))
    done, rounds, wrong = 0, 0, []
    with workers(2) as cluster:
        while done < kills:
            rounds += 1
            here = folder / f"workers {rounds}"
            cluster.wait_for_workers(1, timeout=300)
            with Killer(cluster, kills - done, chance) as killer:
                solve_on_cluster(roots, [tables], here, cluster.scheduler_address, patience=PATIENCE)
            done += killer.killed
            wrong += compared(here, dict(files_in(here)), expected)
    return told("workers", done, rounds, counted(len(expected), "cell"), wrong)


@contextmanager
def workers(count: int) -> Iterator["LocalCluster"]:
    """Run some workers, each a process that is replaced when it dies."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=count, threads_per_worker=1, memory_limit=0, resources={"memory": 8e9},
        dashboard_address=":0", silence_logs=50,
    ) as cluster:  # fmt: skip
        yield cluster


class Killer:
    """Kills random workers at random times, in a thread that ends with the block."""

    def __init__(self, cluster: "LocalCluster", count: int, chance: random.Random) -> None:
        self._cluster, self._count, self._chance, self._over = cluster, count, chance, Event()
        self._thread = Thread(target=self._run)
        self.killed = 0

    def _run(self) -> None:
        while self.killed < self._count and not self._over.wait(self._chance.uniform(0.2, 1.5)):
            with suppress(ProcessLookupError, TypeError, IndexError):  # the worker is being replaced
                processes = [nanny.pid for nanny in self._cluster.workers.values()]
                os.kill(self._chance.choice(processes), signal.SIGKILL)
                self.killed += 1

    def __enter__(self) -> "Killer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


def compared(
    folder: Path, found: dict[str, object], expected: dict[str, object], others: Iterable[str] = ()
) -> list[str]:
    """Return differences and other errors with their place; without any, remove the folder."""
    wrong = [name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name)]
    wrong += others
    if not wrong:
        shutil.rmtree(folder)
    return [f"{folder}: {name}" for name in sorted(wrong)]


def told(what: str, kills: int, rounds: int, facts: str, wrong: list[str]) -> bool:
    """Print a line and the errors; return whether there are none."""
    agrees = f"{len(wrong)} WRONG" if wrong else "as without kills"
    print(f"{what}: {counted(kills, 'kill')} in {counted(rounds, 'run')}, {facts} each: {agrees}", flush=True)
    for line in wrong:
        print(f"  {line}")
    return not wrong


def three_men(directory: Path, target: Path) -> Path:
    """Return a directory with links to the tables of up to three men alone.

    :raises MissingTableError: if one is missing.
    """
    target.mkdir()
    for material in all_materials(MEN):
        path = table_path(directory, material.name, Variant.R_MOBILITY)
        if not path.exists():
            raise MissingTableError(material.name, directory)
        (target / path.name).symlink_to(path.resolve())
    return target


def run(directory: Path, solver: int, of_workers: int, seed: int) -> int:
    """Kill both that many times, and return the exit code."""
    folder, chance = Path(tempfile.mkdtemp(prefix="tbgen-kills-")), random.Random(seed)
    tables = three_men(directory, folder / "tables")
    same = (kill_solver(solver, tables, folder, chance), kill_workers(of_workers, tables, folder, chance))
    if all(same):
        shutil.rmtree(folder)
    return 0 if all(same) else 1


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dir", type=Path, required=True, help="folder of the tables")
    parser.add_argument("--solver", type=int, default=140, metavar="N", help="kills of the solver (140)")
    parser.add_argument("--workers", type=int, default=60, metavar="N", help="kills of workers (60)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the moments (1)")
    arguments = parser.parse_args()
    try:
        return run(arguments.dir, arguments.solver, arguments.workers, arguments.seed)
    except TbgenError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
