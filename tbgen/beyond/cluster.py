"""Solving cells on many machines: the tasks and their order, the work of a worker, and the client.

Requires the package ``distributed``, which the extra ``tbgen[cluster]`` installs (docs/cluster.md).

In each task, a worker solves one cell (docs/glossary.md) from tables and from the cells of a shared
directory. The client determines beforehand which cells the bounds of the cell depend on, and the task uses
only these cells. So the bounds are the same bit for bit on every machine and in every order, even if workers
die.
"""

import contextlib
import logging
import math
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from graphlib import TopologicalSorter
from itertools import chain
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Final, NamedTuple

from distributed import Client, Future, KilledWorker, get_worker

from tbgen import __version__
from tbgen.beyond.budget import memory_needed
from tbgen.beyond.kept import MIN_KEPT_SLOTS, KeptCells
from tbgen.beyond.knowledge import ExitBounds
from tbgen.beyond.solved_cells import SolvedCells
from tbgen.beyond.structures import cells_below, homes_of
from tbgen.beyond.table_source import Tables
from tbgen.cells.bounds import UnstorableCellError
from tbgen.cells.cell import Cell
from tbgen.cells.cell_warmup import ensure_compiled
from tbgen.cells.file import name_of
from tbgen.cells.games import Games
from tbgen.cells.packing import is_complete
from tbgen.errors import TbgenError
from tbgen.generator.cluster_task import MEMORY_RESOURCE, first_line, label_of, wait_for_file, worker_problem
from tbgen.generator.cluster_workers import (
    Worker,
    connect,
    connected_workers,
    free_worker_address,
    inspect_workers,
    lost_scheduler_error,
    mib_text,
    shared_marker,
)
from tbgen.probe.tablebase import Tablebase
from tbgen.system.files import remove_leftovers

_TICK_SECONDS: Final = 0.5
"""Interval between two checks of the workers."""
_MAX_DEATHS: Final = 20
"""Solving ends once this many workers have died with the same cell. Others may have caused some deaths."""


def tasks_below(roots: Iterable[Cell], is_available: Callable[[Cell], bool]) -> dict[Cell, tuple[Cell, ...]]:
    """Return the cells below ``roots`` that are large enough to be kept, each after the cells that it needs.

    The result maps each cell to the returned cells that must be solved before it. The roots themselves and
    the cells that only promotions lead to are left out.

    The bounds of a cell depend on the cells that its moves lead to, promotions included. If such a cell is
    neither returned nor available, the task looks one move ahead of it. The bounds then also depend on the
    cells one move below it. A task also solves small cells, whose bounds depend on other cells in the same
    way. A cell therefore comes after every returned cell on which it or one of its small cells depends.

    :param roots: canonical cells.
    :param is_available: returns whether bounds of a cell are available elsewhere, such as in tables.
    """
    roots = [root for root in dict.fromkeys(roots) if not is_available(root)]
    cells: dict[Cell, None] = {}
    for root in roots:
        cells |= dict.fromkeys(cells_below(root, is_available))
    large = [cell for cell in cells if cell.size >= MIN_KEPT_SLOTS and cell not in roots]

    @cache
    def cells_one_move_below(cell: Cell) -> tuple[Cell, ...]:
        return () if is_available(cell) else homes_of(cell, promotions=True)

    large_set = set(large)
    dependencies: dict[Cell, tuple[Cell, ...]] = {}
    for cell in large:
        task_cells = cells_of_task(cell, is_available)
        reachable: dict[Cell, None] = {}
        for next_cell in dict.fromkeys(chain.from_iterable(map(cells_one_move_below, task_cells))):
            reachable[next_cell] = None
            if next_cell not in large_set:
                reachable |= dict.fromkeys(cells_one_move_below(next_cell))
        dependencies[cell] = tuple(below_cell for below_cell in reachable if below_cell in large_set)
    return {cell: dependencies[cell] for cell in TopologicalSorter(dependencies).static_order()}


def cells_of_task(cell: Cell, is_available: Callable[[Cell], bool]) -> tuple[Cell, ...]:
    """Return the cells that the task of a cell solves: first the small cells below it, then the cell itself.

    Small cells are not kept, so every task solves them again.

    :param is_available: returns whether bounds of a cell are available elsewhere, such as in tables.
    :returns: the cells in the order in which they are solved, ``cell`` last.
    """
    return tuple(cells_below(cell, lambda below: below.size >= MIN_KEPT_SLOTS or is_available(below)))


def solve_cell(cell: Cell, inputs: Iterable[Cell], tables: Tables, directory: Path, threads: int) -> bool:
    """Solve a canonical cell and keep it in a directory, unless its complete bounds are kept there already.

    :param inputs: solved cells that the cell depends on. The call waits until all of them are visible.
    :returns: whether the scores of the cell can be stored.
    :raises TbgenError: if one of the ``inputs`` does not become visible, or the cell cannot be kept.
    """
    store = KeptCells(directory, None, warn=lambda _: None)
    if cell in store and (packed := store.get(cell)) is not None and is_complete(packed):
        return True
    for path in map(store.path_of, inputs):
        if not wait_for_file(path):
            raise TbgenError(f"{path} is solved but not visible: all machines must share {path.parent}")
    exits = ExitBounds(tables, SolvedCells(store))
    for task_cell in cells_of_task(cell, tables.has_cell):
        try:
            bounds = Games(task_cell, exits, threads).solve()
        except UnstorableCellError:
            if task_cell == cell:
                return False
            continue
        exits.cells.add(bounds)
    exits.cells.wait_for_packing()
    if store.writing_error or cell not in store:  # after a failure, an older file may remain
        raise store.writing_error or TbgenError(f"a solved cell has vanished from {directory}")
    return True


def run_task(
    cell: Cell,
    inputs: list[Cell],
    *,
    table_paths: list[str],
    directory: str,
    version: str,
    marker_path: str,
    threads: int,
) -> bool:
    """Solve a cell on a worker, by :func:`solve_cell`. This is the function that Dask calls.

    :param version: the client's version of tbgen.
    :param marker_path: path of a file that the client has made in the directory of cells.
    :raises TbgenError: if the cell cannot be solved. Other exceptions are logged and converted to a
        TbgenError.
    """
    label = label_of(get_worker())
    if problem := worker_problem(Path(marker_path), version):
        raise TbgenError(f"the newly joined worker {label} {problem}")
    try:
        ensure_compiled()
        return solve_cell(cell, inputs, _open_tables(tuple(table_paths), threads), Path(directory), threads)
    except TbgenError as error:
        raise TbgenError(f"{error}, on the worker {label}") from None
    except Exception as error:
        logging.getLogger(__name__).exception("cell not solved")
        raise TbgenError(f"a cell could not be solved on the worker {label}: {first_line(error)}") from None


@lru_cache(maxsize=1)
def _open_tables(directories: tuple[str, ...], threads: int) -> Tables:
    """Open the tables of some directories. They stay open for later tasks."""
    return Tables(Tablebase(*directories), threads)


def solve_on_cluster(
    roots: Iterable[Cell],
    table_directories: Sequence[Path],
    directory: Path,
    scheduler: str,
    progress: Callable[[int, int], None] = lambda done, count: None,
    *,
    threads: int = 1,
    patience: float = 30.0,
) -> int:
    """Solve all cells below ``roots``, but not the roots, on the workers of a Dask scheduler.

    :param roots: canonical cells.
    :param table_directories: directories of tables, which have the same paths on all workers.
    :param directory: the directory of cells, which has the same path on all workers. Cells that it
        already contains are not solved again.
    :param scheduler: the address of the scheduler.
    :param progress: called with the number of finished cells and the number of all cells.
    :param threads: number of threads for each cell.
    :param patience: seconds to wait for a worker.
    :returns: the number of solved cells in the directory.
    :raises TbgenError: if the cluster cannot solve the cells.
    :raises StoppedClusterError: if the cluster fails after it has started solving cells.
    """
    directory = directory.absolute()
    kept = KeptCells(directory, None)
    with Tablebase(*table_directories) as tablebase:
        dependencies = tasks_below(roots, Tables(tablebase).has_cell)
    solved = {cell for cell in dependencies if (packed := kept.get(cell)) is not None and is_complete(packed)}
    if len(solved) == len(dependencies):
        return len(solved)
    submitter = None
    try:
        with connect(scheduler) as client, shared_marker(directory) as marker:
            inspect_workers(client, marker, patience)
            solve = partial(
                run_task,
                table_paths=[str(path.absolute()) for path in table_directories],
                directory=str(directory),
                version=__version__,
                marker_path=str(marker),
                threads=threads,
            )
            submitter = _CellSubmitter(
                client, scheduler, dependencies, solved, solve=solve, progress=progress, patience=patience
            )
            submitter.run()
    except TbgenError as error:
        if submitter is None:
            raise
        raise StoppedClusterError(str(error)) from error
    remove_leftovers(directory)  # temporary files of dead workers
    return len(submitter.done_cells) - len(submitter.unstorable_cells)


class StoppedClusterError(TbgenError):
    """Raised if the cluster fails after it has started solving cells. The cells that have been solved are
    kept."""


class _SubmittedCell(NamedTuple):
    """A cell that has been submitted to a worker."""

    cell: Cell
    future: Future
    address: str
    """The address of the worker."""


@dataclass
class _CellSubmitter:
    """Submits each cell to a worker as soon as the cells that it depends on are done.

    A cell is submitted only if a worker has a free thread and enough free memory for it, so no cell waits in
    a queue. This matters because the death of a worker counts against all cells assigned to it. Results are
    files in the directory, so cells that a dead worker has finished are not lost.
    """

    client: Client
    scheduler: str
    dependencies: dict[Cell, tuple[Cell, ...]]
    """The cells to solve, each with the cells that it depends on. These come before it."""
    done_cells: set[Cell]
    """Cells that are solved or unstorable."""
    solve: Callable[..., bool]
    """Function that solves a cell on a worker, given the cell and its dependencies."""
    progress: Callable[[int, int], None]
    patience: float
    """Seconds to wait for a worker."""

    ended_tasks: "SimpleQueue[Future]" = field(default_factory=SimpleQueue)
    """Tasks that have ended and have not been handled."""
    running_tasks: dict[str, _SubmittedCell] = field(default_factory=dict)
    """The submitted tasks by key."""
    death_counts: Counter[Cell] = field(default_factory=Counter)
    """Number of workers that have died with each cell."""
    unstorable_cells: set[Cell] = field(default_factory=set)
    """Cells whose scores cannot be stored."""

    def run(self) -> None:
        """Solve all cells.

        :raises TbgenError: at the first cell that fails.
        """
        last_seen = next_check = time.monotonic()
        try:
            while len(self.done_cells) < len(self.dependencies):
                if time.monotonic() >= next_check:
                    workers = connected_workers(self.client, self.scheduler)
                    last_seen = self._check_workers(workers, last_seen)
                    self._drop_lost_tasks({worker.address for worker in workers})
                    self._submit_cells(workers)
                    next_check = time.monotonic() + _TICK_SECONDS
                with contextlib.suppress(Empty):
                    self._handle_ended(self.ended_tasks.get(timeout=_TICK_SECONDS))
                    next_check = time.monotonic()
        finally:
            if self.running_tasks and self.client.status == "running":
                self.client.cancel([task.future for task in self.running_tasks.values()])

    def _check_workers(self, workers: list[Worker], last_seen: float) -> float:
        """Check that the workers can solve the remaining cells.

        :param last_seen: the last time at which a check found a worker.
        :returns: the new ``last_seen``.
        :raises TbgenError: if the workers have too little memory, or if there has been no worker for
            ``patience`` seconds.
        """
        needed_bytes = max(map(_memory, self.dependencies.keys() - self.done_cells), default=0)
        offered_bytes = max((worker.memory for worker in workers), default=0)
        if workers and needed_bytes > offered_bytes:
            raise TbgenError(
                f"a cell needs about {mib_text(needed_bytes)} of memory, and no worker offers more than "
                f"{mib_text(offered_bytes)}: "
                'start one with more, such as --resources "memory=8e9" (bytes; docs/cluster.md)'
            )
        if workers:
            return time.monotonic()
        if time.monotonic() - last_seen > self.patience:
            raise TbgenError("no worker is left: start some and solve again; the solved cells are kept")
        return last_seen

    def _drop_lost_tasks(self, addresses: set[str]) -> None:
        """Drop the tasks of workers that are not among ``addresses``. Their cells will be submitted again.

        :raises TbgenError: if too many workers have died with one of the cells.
        """
        for task in [task for task in self.running_tasks.values() if task.address not in addresses]:
            del self.running_tasks[task.future.key]
            self.client.cancel([task.future])
            self._count_deaths(task.cell, 1)

    def _count_deaths(self, cell: Cell, number: int) -> None:
        """Count workers that have died with a cell.

        :raises TbgenError: if they are too many.
        """
        self.death_counts[cell] += number
        if self.death_counts[cell] >= _MAX_DEATHS:
            raise TbgenError(
                f"all workers that tried to solve {name_of(cell)} died: see their logs; it may need "
                f"more memory than the estimated {mib_text(_memory(cell))}"
            )

    def _submit_cells(self, workers: list[Worker]) -> None:
        """Submit the solvable cells for which workers have a free thread and enough free memory."""
        submitted = {task.cell for task in self.running_tasks.values()}
        too_large = math.inf
        for cell, dependencies in self.dependencies.items():
            if cell in self.done_cells or cell in submitted or not self.done_cells.issuperset(dependencies):
                continue
            if (memory := _memory(cell)) >= too_large:
                continue
            assigned = [(task.address, _memory(task.cell)) for task in self.running_tasks.values()]
            if (address := free_worker_address(workers, assigned, memory)) is None:
                too_large = memory  # no worker gets more free memory within this loop
                continue
            key = f"cell-{name_of(cell).replace(' ', '-').replace('/', '.')}-{secrets.token_hex(4)}"
            inputs = [cell_below for cell_below in dependencies if cell_below not in self.unstorable_cells]
            resources = {MEMORY_RESOURCE: memory}
            future = self.client.submit(
                self.solve, cell, inputs, key=key, workers=[address], resources=resources, pure=False
            )
            self.running_tasks[key] = _SubmittedCell(cell, future, address)
            future.add_done_callback(self.ended_tasks.put)

    def _handle_ended(self, future: Future) -> None:
        """Handle a task that is finished, failed or lost. The cell of a lost task will be submitted again.

        :raises TbgenError: if the task failed.
        """
        if future.key not in self.running_tasks:
            return
        cell = self.running_tasks.pop(future.key).cell
        if future.status == "error":
            error = future.exception()
            if isinstance(error, KilledWorker):  # workers that restart at once keep their addresses
                self._count_deaths(cell, error.allowed_failures + 1)
                return
            if isinstance(error, TbgenError):
                raise error
            raise TbgenError(f"a cell could not be solved: {first_line(error)}")
        if future.status == "finished":
            try:
                is_storable = future.result(timeout=self.patience)
            except TimeoutError:  # the worker died; the next task for this cell will find its file
                return
            if not is_storable:
                self.unstorable_cells.add(cell)
            self.done_cells.add(cell)
            self.progress(len(self.done_cells), len(self.dependencies))
        elif self.client.status != "running":
            raise lost_scheduler_error(self.scheduler)


def _memory(cell: Cell) -> int:
    return memory_needed(cell.size)
