"""What runs on the workers of a cluster that solves cells."""

import logging
from functools import lru_cache
from pathlib import Path

from distributed import get_worker

from tbgen.cells.cell import Cell
from tbgen.cells.warmup import compile_kernels
from tbgen.errors import TbgenError
from tbgen.generator.cluster.task import first_line, place_of, problem_of
from tbgen.probe.tablebase import Tablebase
from tbgen.solve.cluster.cells import solve_cell
from tbgen.solve.tables import Tables


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
