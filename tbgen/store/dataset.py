"""The datasets of a table file: what each holds, in which order, and how it is cut into chunks."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tbgen.index.table import LAST_RUN, Table
from tbgen.store import schema
from tbgen.store.format import BLOCK, CHUNK_BYTES
from tbgen.store.manifest import manifest_line
from tbgen.store.schema import DatasetSchema

AnyArray = NDArray[Any]
Corner = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Dataset:
    """One dataset, cut along its last axis only."""

    schema: DatasetSchema
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    rows: Sequence[AnyArray]
    """The data, 1-D each, in C order of the leading axes, or all in one of a dataset that is one chunk; of a
    dtype whose values fit ``dtype``."""

    @property
    def name(self) -> str:
        """Its name in the file."""
        return self.schema.name

    @property
    def chunks(self) -> tuple[int, ...]:
        """Shape of a full chunk."""
        if self.schema.whole or self.schema.raw:
            return self.shape
        return (*(1 for _ in self.shape[1:]), min(self.shape[-1], CHUNK_BYTES // self.dtype.itemsize))

    def pieces(self) -> Iterator[tuple[Corner, AnyArray]]:
        """Yield the corner of every chunk and its elements, in order; the last of a row may be short."""
        if 0 in self.shape:
            return
        if self.schema.whole or self.schema.raw:
            yield (0,) * len(self.shape), self.rows[0]
            return
        step = self.chunks[-1]
        leads = product(*(range(n) for n in self.shape[:-1]))
        for lead, row in zip(leads, self.rows, strict=True):
            for start in range(0, row.size, step):
                yield (*lead, start), row[start : start + step]

    def manifest_line(self) -> str:
        """Return the line of the manifest that stands for the dataset (docs/format.md)."""
        state = hashlib.sha256()
        for row in self.rows:
            for start in range(0, row.size, _HASHED_AT_ONCE):
                state.update(np.ascontiguousarray(row[start : start + _HASHED_AT_ONCE], self.dtype).data)
        return manifest_line(self.name, self.dtype, self.shape, state.hexdigest())


_HASHED_AT_ONCE: Final = 1 << 18


def datasets(
    wanted: Sequence[DatasetSchema],
    sizes: Mapping[str, int],
    rows: Mapping[DatasetSchema, Sequence[AnyArray]],
) -> list[Dataset]:
    """Return the datasets of a file in their order.

    :param sizes: what the names of axes stand for.
    :param rows: the data of each, as :attr:`Dataset.rows`.
    """

    def dtype(one: DatasetSchema) -> np.dtype[Any]:
        *narrow, widest = one.types
        alike = [rows[other] for other in wanted if other is one or one.alike == other.alike]
        for candidate in narrow:
            most = np.iinfo(candidate).max
            if all(row.max(initial=0) <= most for data in alike for row in data):
                return candidate
        return widest

    return [Dataset(each, dtype(each), each.sized(sizes), rows[each]) for each in wanted]


def table_datasets(table: Table) -> list[Dataset]:
    """Return the datasets of a table in the order of the manifest.

    :raises ValueError: if arrays of the table contradict each other.
    """
    table.check_shapes()
    layout = table.layout
    sizes = schema.table_sizes(
        size=layout.size,
        phase_size=layout.phase_size,
        pawns=layout.pawns,
        stores_accrued=table.stores_accrued,
        runs=table.run_rank.size,
        configurations=len(table.ep_config),
    )
    masks = list(table.run_mask.reshape(4, -1))
    return datasets(
        schema.TABLE.datasets,
        sizes,
        {
            schema.PLACEMENTS: [np.array(layout.placements, np.uint8).reshape(-1)],
            schema.VALUE: list(table.value),
            schema.DEPTH: list(table.depth),
            schema.RUN_MASK: [mask.astype("<u8", copy=False).view(np.uint8) for mask in masks],
            schema.RUN_START: _starts(masks, table.run_rank),
            schema.RUN_RANK: [table.run_rank],
            schema.RUN_VALUE: [table.run_value],
            schema.RUN_DEPTH: [table.run_depth],
            schema.EP_CONFIG: [table.ep_config.ravel()],
            schema.EP_VALUE: list(table.ep_value),
            schema.EP_DEPTH: list(table.ep_depth),
        },
    )


def _starts(masks: Sequence[NDArray[np.uint64]], ranks: NDArray[np.uint8]) -> list[NDArray[np.uint64]]:
    """Return the number of runs before every block, counted through all masks; one row per mask."""
    firsts = np.concatenate([np.zeros(1, np.int64), np.flatnonzero(ranks & LAST_RUN) + 1])
    rows, before = [], 0
    for mask in masks:
        edges = np.arange(0, mask.size, BLOCK // 64)
        if not mask.size:
            rows.append(np.empty(0, np.uint64))
            continue
        ends = np.cumsum(np.add.reduceat(np.bitwise_count(mask), edges, dtype=np.int64))
        rows.append(firsts[np.concatenate([np.zeros(1, np.int64), ends[:-1]]) + before].astype(np.uint64))
        before += int(ends[-1])
    return rows
