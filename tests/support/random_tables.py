"""Tables of noise, for tests of the files they are kept in."""

from pathlib import Path

import numpy as np

from tbgen.board.material import Material
from tbgen.board.score import NONE
from tbgen.index.codes import FRESH, LAST_RUN
from tbgen.index.table import Table
from tbgen.store.format import TableInfo
from tbgen.tables.files import write_table
from tests.support.reference_table import empty_table


def random_table(name: str, seed: int = 0, *, depths: int = 60, density: float = 0.1) -> Table:
    """A table of noise, with runs in `density` of the slots of every holder and side."""
    rng = np.random.default_rng(seed)
    table = empty_table(Material.parse(name))
    layout = table.layout
    table.value = rng.integers(0, 20, (2, layout.size), np.uint8)
    table.value[rng.random(table.value.shape) < 0.3] = NONE
    table.depth = rng.integers(0, depths, (2, layout.size)).astype(np.uint16)
    has_runs = rng.random((2, 2, layout.size)) < density
    has_runs[0, 1, : layout.size // 2] = False
    table.run_mask = np.packbits(has_runs, axis=-1, bitorder="little").view("<u8").astype(np.uint64)
    counts = rng.integers(1, 4, np.count_nonzero(has_runs))
    ends = np.cumsum(counts)
    within = np.arange(ends[-1]) - np.repeat(ends - counts, counts)
    table.run_rank = (2 + 3 * within + rng.integers(0, 3, ends[-1])).astype(np.uint8)
    table.run_rank[ends - 1] |= LAST_RUN
    table.run_value = rng.choice(np.array([1, 3, 250, NONE, FRESH], np.uint8), ends[-1])
    table.run_depth = rng.integers(0, depths, ends[-1]).astype(np.uint16)
    if layout.white_pawns and layout.black_pawns:
        table.ep_config = np.array([[3, 16], [5, 40], [5, 41]], np.int32)
        table.ep_value = rng.integers(0, 20, (3, layout.phase_size), np.uint8)
        table.ep_depth = rng.integers(0, depths, (3, layout.phase_size)).astype(np.uint16)
    return table


def write(table: Table, path: Path) -> TableInfo:
    return write_table(table, path, version="0.1.0", build_seconds=1.5, parameters={"threads": 2})
