"""Solving cells on many machines: the tasks and their order, the work of a worker, and the client.

Requires the package ``distributed``, which the extra ``tbgen[cluster]`` installs (docs/cluster.md).

A worker solves one cell from tables and from the cells of a shared directory. The cells that its bounds
depend on are determined beforehand. So the bounds are the same, bit by bit, on every machine, in every order,
and however many workers die on the way.
"""

import contextlib
import logging
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from graphlib import TopologicalSorter
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Final

from distributed import Client, Future, KilledWorker, get_worker

from tbgen import __version__
from tbgen.beyond.budget import memory_needed
from tbgen.beyond.kept import MIN_KEPT_SLOTS, KeptCells
from tbgen.beyond.knowledge import Known
from tbgen.beyond.solved_cells import SolvedCells
from tbgen.beyond.structures import cells_below, homes_below
from tbgen.beyond.table_source import Tables
from tbgen.cells.bounds import NoCodeError
from tbgen.cells.cell import Cell
from tbgen.cells.cell_warmup import compile_kernels
from tbgen.cells.file import name_of
from tbgen.cells.games import Games
from tbgen.cells.packing import is_complete
from tbgen.errors import TbgenError
from tbgen.generator.cluster_task import MEMORY_RESOURCE, first_line, place_of, problem_of, wait_until_visible
from tbgen.generator.cluster_workers import (
    Worker,
    connected_workers,
    connection,
    inspect_workers,
    lost_scheduler_error,
    mib_text,
    shared_probe,
)
from tbgen.probe.tablebase import Tablebase
from tbgen.system.files import remove_leftovers


def tasks_below(roots: Iterable[Cell], available: Callable[[Cell], bool]) -> dict[Cell, tuple[Cell, ...]]:
    """Return the cells below canonical cells that are large enough to be kept, in an order of solution.

    Each cell is mapped to the returned cells that have to be solved before it. Promotions and the roots
    themselves are left out.

    The bounds of a cell depend on the cells that its moves lead to, promotions included, and on the next
    cells after each of these that is not solved. The small cells that are solved in the same task have the
    same dependencies. So a cell comes after every returned cell that it or one of its small cells depends on.

    :param available: returns whether bounds of a cell are available elsewhere, such as in tables.
    """
    roots = [root for root in dict.fromkeys(roots) if not available(root)]
    found: dict[Cell, None] = {}
    for root in roots:
        found |= dict.fromkeys(cells_below(root, available))
    wanted = [cell for cell in found if cell.size >= MIN_KEPT_SLOTS and cell not in roots]

    @cache
    def lower_cells(cell: Cell) -> tuple[Cell, ...]:
        return () if available(cell) else homes_below(cell, promotions=True)

    among = set(wanted)
    dependencies: dict[Cell, tuple[Cell, ...]] = {}
    for cell in wanted:
        near: dict[Cell, None] = {}
        for lower in dict.fromkeys(
            lower for each in solved_with(cell, available) for lower in lower_cells(each)
        ):
            near[lower] = None
            if lower not in among:
                near |= dict.fromkeys(lower_cells(lower))
        dependencies[cell] = tuple(lower for lower in near if lower in among)
    return {cell: dependencies[cell] for cell in TopologicalSorter(dependencies).static_order()}


def solved_with(cell: Cell, available: Callable[[Cell], bool]) -> tuple[Cell, ...]:
    """Return the small cells that every task solves before its cell, as they are not kept, and the cell.

    :param available: returns whether bounds of a cell are available elsewhere, such as in tables.
    :returns: the cells in an order of solution, ``cell`` last.
    """
    return tuple(cells_below(cell, lambda below: below.size >= MIN_KEPT_SLOTS or available(below)))


def solve_cell(cell: Cell, below: Iterable[Cell], tables: Tables, directory: Path, threads: int) -> bool:
    """Solve a canonical cell and keep it in a directory, unless its complete bounds are there already.

    :param below: cells of the directory that the cell depends on; the call waits until all are visible.
    :returns: whether the scores of the cell can be stored.
    :raises TbgenError: if one of these cells does not appear, or the cell cannot be kept.
    """
    notes: list[str] = []
    kept = KeptCells(directory, None, notes.append)
    if cell in kept and (packed := kept.get(cell)) is not None and is_complete(packed):
        return True
    for path in map(kept.path, below):
        if not wait_until_visible(path):
            raise TbgenError(f"{path} is solved but not visible: all machines must share {path.parent}")
    known = Known(tables, SolvedCells(kept))
    for each in solved_with(cell, tables.has_cell):
        try:
            bounds = Games(each, known, threads).solve()
        except NoCodeError:
            if each == cell:
                return False
            continue
        known.cells.add(bounds)
    known.cells.wait_for_packing()
    if kept.writing_failed or cell not in kept:  # if writing failed, an older file may remain
        raise TbgenError(notes[-1] if notes else f"a solved cell has vanished from {directory}")
    return True


def run_task(
    cell: Cell,
    below: list[Cell],
    *,
    tables: list[str],
    directory: str,
    version: str,
    probe: str,
    threads: int,
) -> bool:
    """Solve a cell as :func:`solve_cell` does, as a task of Dask.

    :param probe: a file that the client has made in the directory of cells.
    :param version: the version of tbgen that the client has.
    :raises TbgenError: if the cell cannot be solved. Other exceptions are logged and converted to this one.
    """
    place = place_of(get_worker())
    if problem := problem_of(Path(probe), version):
        raise TbgenError(f"the newly joined worker {place} {problem}")
    try:
        compile_kernels()
        return solve_cell(cell, below, _tables(tuple(tables), threads), Path(directory), threads)
    except TbgenError as error:
        raise TbgenError(f"{error}, on the worker {place}") from None
    except Exception as error:
        logging.getLogger(__name__).exception("cell not solved")
        raise TbgenError(f"a cell could not be solved on the worker {place}: {first_line(error)}") from None


@lru_cache(maxsize=1)
def _tables(directories: tuple[str, ...], threads: int) -> Tables:
    """Return tables, which stay open from task to task."""
    return Tables(Tablebase(*directories), threads)


_TICK_SECONDS: Final = 0.5
"""Interval at which the workers are checked."""
_MAX_TRIES: Final = 5
"""Number of times that Dask may give up a cell, each time after the deaths of four workers."""


def solve_on_cluster(
    roots: Iterable[Cell],
    tables: Sequence[Path],
    directory: Path,
    scheduler: str,
    progress: Callable[[int, int], None] = lambda done, count: None,
    *,
    threads: int = 1,
    patience: float = 30.0,
) -> int:
    """Solve the cells below canonical cells on the workers of a Dask scheduler, without the roots themselves.

    :param tables: directories of tables, which all workers see under the same paths.
    :param directory: the directory of cells, which all workers see under the same path; the cells that it
        contains are not solved again.
    :param progress: called with the number of finished cells and the number of all cells.
    :param threads: number of threads for each cell.
    :param patience: seconds to wait for a worker.
    :returns: the number of these cells that the directory contains now.
    :raises TbgenError: if the cluster cannot solve the cells.
    :raises StoppedClusterError: if the cluster has begun and cannot continue.
    """
    directory = directory.absolute()
    kept = KeptCells(directory, None)
    with Tablebase(*tables) as opened:
        dependencies = tasks_below(roots, Tables(opened).has_cell)
    solved = {cell for cell in dependencies if (packed := kept.get(cell)) is not None and is_complete(packed)}
    if len(solved) == len(dependencies):
        return len(solved)
    work = None
    try:
        with connection(scheduler) as client, shared_probe(directory) as probe:
            inspect_workers(client, probe, patience)
            task = partial(
                run_task,
                tables=[str(each.absolute()) for each in tables],
                directory=str(directory),
                version=__version__,
                probe=str(probe),
                threads=threads,
            )
            work = _CellSubmitter(client, scheduler, dependencies, solved, task, progress, patience)
            work.run()
    except TbgenError as error:
        if work is None:
            raise
        raise StoppedClusterError(str(error)) from error
    remove_leftovers(directory)  # temporary files of workers that died
    return len(work.done) - len(work.refused)


class StoppedClusterError(TbgenError):
    """Workers have begun and cannot continue. The solved cells are kept."""


@dataclass
class _CellSubmitter:
    """Submits cells to the workers as soon as the cells that they depend on are done.

    At most as many cells are submitted as the workers have threads, so no submitted cell waits in a queue,
    and the death of a worker does not count against cells that have not begun. Results are files in the
    directory, so cells that a dead worker has finished need not be solved again.
    """

    client: Client
    scheduler: str
    dependencies: dict[Cell, tuple[Cell, ...]]
    """The cells to solve, each with the cells that it depends on."""
    done: set[Cell]
    task: Callable[..., bool]
    progress: Callable[[int, int], None]
    patience: float

    ended_tasks: "SimpleQueue[Future]" = field(default_factory=SimpleQueue)
    """Tasks that have ended."""
    running_tasks: dict[str, tuple[Cell, Future]] = field(default_factory=dict)
    deaths: Counter[Cell] = field(default_factory=Counter)
    refused: set[Cell] = field(default_factory=set)
    """Cells whose scores cannot be stored."""

    def run(self) -> None:
        """Solve all cells.

        :raises TbgenError: at the first cell that fails.
        """
        last_seen = next_check = time.monotonic()
        try:
            while len(self.done) < len(self.dependencies):
                if time.monotonic() >= next_check:
                    workers = connected_workers(self.client, self.scheduler)
                    last_seen = self._check(workers, last_seen)
                    self._submit(workers)
                    next_check = time.monotonic() + _TICK_SECONDS
                with contextlib.suppress(Empty):
                    self._handle(self.ended_tasks.get(timeout=_TICK_SECONDS))
                    next_check = time.monotonic()
        finally:
            if self.running_tasks and self.client.status == "running":
                self.client.cancel([future for _, future in self.running_tasks.values()])

    def _check(self, workers: list[Worker], last_seen: float) -> float:
        """Check that the workers can solve the remaining cells; return when a worker was last connected.

        :param last_seen: the time when a worker was connected at earlier checks.
        :raises TbgenError: if they cannot, or if no worker has been connected for ``patience`` seconds.
        """
        cells = self.dependencies.keys() - self.done
        need, most = (max(values, default=0) for values in (map(_memory, cells), (w.memory for w in workers)))
        if workers and need > most:
            raise TbgenError(
                f"a cell needs about {mib_text(need)} of memory, and no worker offers more than "
                f"{mib_text(most)}: "
                'start one with more, such as --resources "memory=8e9" (bytes; docs/cluster.md)'
            )
        if workers:
            return time.monotonic()
        if time.monotonic() - last_seen > self.patience:
            raise TbgenError("no worker is left: start some and solve again, the solved cells are kept")
        return last_seen

    def _submit(self, workers: list[Worker]) -> None:
        """Submit cells that can be solved now to idle threads of the workers."""
        idle = sum(worker.threads for worker in workers) - len(self.running_tasks)
        busy = {cell for cell, _ in self.running_tasks.values()}
        for cell, dependencies in self.dependencies.items():
            if idle <= 0:
                break
            if cell in self.done or cell in busy or not self.done.issuperset(dependencies):
                continue
            key = f"cell-{name_of(cell).replace(' ', '-').replace('/', '.')}-{secrets.token_hex(4)}"
            below = [each for each in dependencies if each not in self.refused]
            future = self.client.submit(
                self.task, cell, below, key=key, resources={MEMORY_RESOURCE: _memory(cell)}, pure=False
            )
            self.running_tasks[key] = cell, future
            future.add_done_callback(self.ended_tasks.put)
            idle -= 1

    def _handle(self, future: Future) -> None:
        """Handle a task that is finished, failed or lost; the cell of a lost task will be submitted again."""
        if future.key not in self.running_tasks:
            return
        cell, _ = self.running_tasks.pop(future.key)
        if future.status == "error":
            error = future.exception()
            if not isinstance(error, KilledWorker):
                if isinstance(error, TbgenError):
                    raise error
                raise TbgenError(f"a cell could not be solved: {first_line(error)}")
            self.deaths[cell] += 1
            if self.deaths[cell] >= _MAX_TRIES:
                raise TbgenError(
                    f"all workers that tried to solve {name_of(cell)} died: see their logs; it may need "
                    f"more memory than the estimated {mib_text(_memory(cell))}"
                )
        elif future.status == "finished":
            try:
                solved = future.result(timeout=self.patience)
            except TimeoutError:  # the worker died with the result, but its file is in the directory
                return
            if not solved:
                self.refused.add(cell)
            self.done.add(cell)
            self.progress(len(self.done), len(self.dependencies))
        elif self.client.status != "running":
            raise lost_scheduler_error(self.scheduler)


def _memory(cell: Cell) -> int:
    return memory_needed(cell.size)
