"""Solving cells on many machines: the tasks, what workers do that share a directory, and the client.

Needs the package ``distributed``, which the extra ``tbgen[cluster]`` brings (docs/cluster.md).

Solving one cell from tables and from cells of a directory, whichever machine does it. What a cell's bounds
rest on is settled beforehand, so they are the same bit by bit on every machine, in every order, and after any
number of deaths on the way.
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
from tbgen.beyond.kept import LEAST_SLOTS, KeptCells
from tbgen.beyond.knowledge import Known
from tbgen.beyond.solved_cells import SolvedCells
from tbgen.beyond.structures import cells_below, homes_below
from tbgen.beyond.table_source import Tables
from tbgen.cells.bounds import NoCodeError
from tbgen.cells.cell import Cell
from tbgen.cells.cell_warmup import compile_kernels
from tbgen.cells.file import name_of
from tbgen.cells.games import Games
from tbgen.cells.packing import tells_all
from tbgen.errors import TbgenError
from tbgen.generator.cluster_task import MEMORY, appears, first_line, place_of, problem_of
from tbgen.generator.cluster_workers import (
    Worker,
    connected,
    connected_workers,
    gone,
    mib,
    shared_probe,
    survey,
)
from tbgen.probe.tablebase import Tablebase
from tbgen.system.files import remove_leftovers


def tasks_below(roots: Iterable[Cell], held: Callable[[Cell], bool]) -> dict[Cell, tuple[Cell, ...]]:
    """Return the cells below some canonical ones that are to be kept, without promotions and without the
    roots themselves; with each, those that have to be solved before, in an order in which they can be.

    A cell's bounds depend on which of the cells are known that its moves lead to, by promotions too, and the
    next moves from there where these are not known; so do those of the small ones that are solved with it.
    So it comes after all of those that are among the cells.

    :param held: whether something else says what a cell's positions are worth.
    """
    roots = [root for root in dict.fromkeys(roots) if not held(root)]
    found: dict[Cell, None] = {}
    for root in roots:
        found |= dict.fromkeys(cells_below(root, held))
    wanted = [cell for cell in found if cell.size >= LEAST_SLOTS and cell not in roots]

    @cache
    def homes(cell: Cell) -> tuple[Cell, ...]:
        return () if held(cell) else homes_below(cell, promotions=True)

    among = set(wanted)
    before: dict[Cell, tuple[Cell, ...]] = {}
    for cell in wanted:
        near: dict[Cell, None] = {}
        for home in dict.fromkeys(home for each in solved_with(cell, held) for home in homes(each)):
            near[home] = None
            if home not in among:
                near |= dict.fromkeys(homes(home))
        before[cell] = tuple(home for home in near if home in among)
    return {cell: before[cell] for cell in TopologicalSorter(before).static_order()}


def solved_with(cell: Cell, held: Callable[[Cell], bool]) -> tuple[Cell, ...]:
    """Return the cells that are solved wherever a canonical one is, since they are too small to be kept: in
    an order in which they can be, the cell itself last.

    :param held: as for :func:`tasks_below`.
    """
    return tuple(cells_below(cell, lambda home: home.size >= LEAST_SLOTS or held(home)))


def solve_cell(cell: Cell, rests_on: Iterable[Cell], tables: Tables, directory: Path, threads: int) -> bool:
    """Solve a canonical cell and keep it in a directory, unless it is there with all that can be told of
    it; return whether values have room for its scores.

    :param rests_on: cells of the directory that it rests on, waited for if they are not seen yet.
    :raises TbgenError: if one of these does not appear, or the cell cannot be kept.
    """
    notes: list[str] = []
    kept = KeptCells(directory, None, notes.append)
    if cell in kept and (packed := kept.get(cell)) is not None and tells_all(packed):
        return True
    for path in map(kept.path, rests_on):
        if not appears(path):
            raise TbgenError(f"{path} is not seen, though its cell is solved: all must share {path.parent}")
    known = Known(tables, SolvedCells(kept))
    for home in solved_with(cell, tables.has_cell):
        try:
            bounds = Games(home, known, threads).solve()
        except NoCodeError:
            if home == cell:
                return False
            continue
        known.cells.add(bounds)
    known.cells.settle()
    if kept.full or cell not in kept:  # an older file tells less
        raise TbgenError(notes[-1] if notes else f"a solved cell has vanished from {directory}")
    return True


def run_task(
    cell: Cell,
    rests_on: list[Cell],
    *,
    tables: list[str],
    directory: str,
    version: str,
    probe: str,
    threads: int,
) -> bool:
    """Solve a cell as :func:`solve_cell` does, as a task of Dask.

    ``probe`` is a file that the client has made in the directory of cells, ``version`` that of its tbgen.

    :raises TbgenError: if it cannot be solved; whatever else goes wrong is logged here, and becomes one too.
    """
    place = place_of(get_worker())
    if problem := problem_of(Path(probe), version):
        raise TbgenError(f"the worker {place}, which has joined, {problem}")
    try:
        compile_kernels()
        return solve_cell(cell, rests_on, _tables(tuple(tables), threads), Path(directory), threads)
    except TbgenError as error:
        raise TbgenError(f"{error}, on the worker {place}") from None
    except Exception as error:
        logging.getLogger(__name__).exception("cell not solved")
        raise TbgenError(f"a cell could not be solved on the worker {place}: {first_line(error)}") from None


@lru_cache(maxsize=1)
def _tables(directories: tuple[str, ...], threads: int) -> Tables:
    """Return tables that stay open from task to task."""
    return Tables(Tablebase(*directories), threads)


_TICK: Final = 0.5
"""Seconds between two looks at the workers."""
_TRIES: Final = 5
"""How often Dask may give a cell up because of workers that died at work on it, four each time."""


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
    """Solve the cells below canonical ones, those themselves left out, on the workers of a Dask scheduler;
    return how many there are now in the directory of cells.

    :param tables: directories of tables, where all workers see them under the same paths.
    :param directory: the same of cells; what is there already stays, and is not solved again.
    :param progress: called with the number of cells done, and of all.
    :param threads: of each cell.
    :param patience: seconds to wait for a worker.
    :raises TbgenError: if the cluster cannot do it.
    :raises StoppedClusterError: if it has begun, and cannot go on.
    """
    directory = directory.absolute()
    kept = KeptCells(directory, None)
    with Tablebase(*tables) as opened:
        before = tasks_below(roots, Tables(opened).has_cell)
    solved = {cell for cell in before if (packed := kept.get(cell)) is not None and tells_all(packed)}
    if len(solved) == len(before):
        return len(solved)
    work = None
    try:
        with connected(scheduler) as client, shared_probe(directory) as probe:
            survey(client, probe, patience)
            task = partial(
                run_task,
                tables=[str(each.absolute()) for each in tables],
                directory=str(directory),
                version=__version__,
                probe=str(probe),
                threads=threads,
            )
            work = _Work(client, scheduler, before, solved, task, progress, patience)
            work.run()
    except TbgenError as error:
        if work is None:
            raise
        raise StoppedClusterError(str(error)) from error
    remove_leftovers(directory)  # of workers that died on the way
    return len(work.done) - len(work.refused)


class StoppedClusterError(TbgenError):
    """Workers have begun, and cannot go on; what they have solved is kept."""


@dataclass
class _Work:
    """Gives workers cells when all that these rest on are done, as many as they have threads.

    Results lie in the directory. So what a dead worker has finished need not be done again, and a queue that
    stays empty keeps a death from counting against cells that have not begun.
    """

    client: Client
    scheduler: str
    before: dict[Cell, tuple[Cell, ...]]
    """The cells to solve, and those that they rest on."""
    done: set[Cell]
    task: Callable[..., bool]
    progress: Callable[[int, int], None]
    patience: float

    news: "SimpleQueue[Future]" = field(default_factory=SimpleQueue)
    """Tasks that have ended."""
    at_work: dict[str, tuple[Cell, Future]] = field(default_factory=dict)
    deaths: Counter[Cell] = field(default_factory=Counter)
    refused: set[Cell] = field(default_factory=set)
    """Cells with scores for which values have no room."""

    def run(self) -> None:
        """Solve all.

        :raises TbgenError: at the first cell that fails.
        """
        seen = look_at = time.monotonic()
        try:
            while len(self.done) < len(self.before):
                if time.monotonic() >= look_at:
                    workers = connected_workers(self.client, self.scheduler)
                    seen = self._check(workers, seen)
                    self._hand_out(workers)
                    look_at = time.monotonic() + _TICK
                with contextlib.suppress(Empty):
                    self._hear(self.news.get(timeout=_TICK))
                    look_at = time.monotonic()
        finally:
            if self.at_work and self.client.status == "running":
                self.client.cancel([future for _, future in self.at_work.values()])

    def _check(self, workers: list[Worker], seen: float) -> float:
        """Check that workers can do what is left; return when there were some last.

        :raises TbgenError: if they cannot, or there have been none for a while.
        """
        left = self.before.keys() - self.done
        need, most = (max(values, default=0) for values in (map(_memory, left), (w.memory for w in workers)))
        if workers and need > most:
            raise TbgenError(
                f"a cell needs about {mib(need)} of memory, and no worker offers more than {mib(most)}: "
                'start one with more, such as --resources "memory=8e9" (bytes; docs/cluster.md)'
            )
        if workers:
            return time.monotonic()
        if time.monotonic() - seen > self.patience:
            raise TbgenError("no worker is left: start some and solve again, the solved cells are kept")
        return seen

    def _hand_out(self, workers: list[Worker]) -> None:
        """Give out what can be done now."""
        room = sum(worker.threads for worker in workers) - len(self.at_work)
        busy = {cell for cell, _ in self.at_work.values()}
        for cell, before in self.before.items():
            if room <= 0:
                break
            if cell in self.done or cell in busy or not self.done.issuperset(before):
                continue
            key = f"cell-{name_of(cell).replace(' ', '-').replace('/', '.')}-{secrets.token_hex(4)}"
            rests_on = [each for each in before if each not in self.refused]
            future = self.client.submit(
                self.task, cell, rests_on, key=key, resources={MEMORY: _memory(cell)}, pure=False
            )
            self.at_work[key] = cell, future
            future.add_done_callback(self.news.put)
            room -= 1

    def _hear(self, future: Future) -> None:
        """Take note of a task that is finished, failed or lost; what is lost is given out again."""
        if future.key not in self.at_work:
            return
        cell, _ = self.at_work.pop(future.key)
        if future.status == "error":
            error = future.exception()
            if not isinstance(error, KilledWorker):
                raise error if isinstance(error, TbgenError) else TbgenError(f"no cell: {first_line(error)}")
            self.deaths[cell] += 1
            if self.deaths[cell] >= _TRIES:
                raise TbgenError(
                    f"all workers died that tried to solve {name_of(cell)}: see their logs; it may need more "
                    f"memory than the estimated {mib(_memory(cell))}"
                )
        elif future.status == "finished":
            try:
                solved = future.result(timeout=self.patience)
            except TimeoutError:  # the worker died with it, and what it was is in the directory
                return
            if not solved:
                self.refused.add(cell)
            self.done.add(cell)
            self.progress(len(self.done), len(self.before))
        elif self.client.status != "running":
            raise gone(self.scheduler)


def _memory(cell: Cell) -> int:
    return memory_needed(cell.size)
