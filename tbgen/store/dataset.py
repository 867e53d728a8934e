"""The datasets of a table file: what each holds, in which order, and how it is cut into chunks."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tbgen.index.table import LAST_RUN, Table
from tbgen.store.format import BLOCK, CHUNK_BYTES

AnyArray = NDArray[Any]
Corner = tuple[int, ...]

MASK: Final = "accrued/mask"
"""The one dataset whose all-zero chunks are left out of the file."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """One dataset, cut along its last axis only."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    rows: Sequence[AnyArray]
    """The data, 1-D each, in C order of the leading axes; of a dtype whose values fit ``dtype``."""
    whole: bool = False
    """Whether all of it is one chunk, and then also one row: small datasets."""

    @property
    def chunks(self) -> tuple[int, ...]:
        """Shape of a full chunk."""
        if self.whole:
            return self.shape
        return (*(1 for _ in self.shape[1:]), min(self.shape[-1], CHUNK_BYTES // self.dtype.itemsize))

    def pieces(self) -> Iterator[tuple[Corner, AnyArray]]:
        """Yield the corner of every chunk and its elements, in order; the last of a row may be short."""
        if 0 in self.shape:
            return
        if self.whole:
            yield (0,) * len(self.shape), self.rows[0]
            return
        step = self.chunks[-1]
        leads = product(*(range(n) for n in self.shape[:-1]))
        for lead, row in zip(leads, self.rows, strict=True):
            for start in range(0, row.size, step):
                yield (*lead, start), row[start : start + step]

    def line(self) -> str:
        """Return the line of the manifest that stands for the dataset (docs/format.md)."""
        state = hashlib.sha256()
        for row in self.rows:
            for start in range(0, row.size, _HASHED_AT_ONCE):
                state.update(np.ascontiguousarray(row[start : start + _HASHED_AT_ONCE], self.dtype).data)
        return manifest_line(self.name, self.dtype, self.shape, state.hexdigest())


_HASHED_AT_ONCE: Final = 1 << 18


def manifest_line(name: str, dtype: np.dtype[Any], shape: Sequence[int], digest: str) -> str:
    """Return a dataset's line: name, type, shape and SHA-256 of its little-endian data in C order."""
    return f"{name} {dtype.name} {'x'.join(map(str, shape))} {digest}"


def datasets(table: Table) -> list[Dataset]:
    """Return the datasets of a table in the order of the manifest.

    :raises ValueError: if arrays of the table contradict each other.
    """
    table.check_shapes()
    layout, n_ep, runs = table.layout, len(table.ep_config), table.run_rank.size
    size, phases, phase_size = layout.size, len(layout.placements), layout.phase_size
    masked = size if table.accrued else 0
    u1, u8, i4 = np.dtype("u1"), np.dtype("<u8"), np.dtype("<i4")
    # Chosen apart, so that the fresh depths look alike with and without values of accrued scores.
    depth, run_depth = _depth_type(table.depth, table.ep_depth), _depth_type(table.run_depth)
    placements = np.array(layout.placements, u1).reshape(phases * layout.pawns)
    masks = list(table.run_mask.reshape(4, -1))
    blocks = -(-masked // BLOCK)
    return [
        Dataset("placements", u1, (phases, layout.pawns), [placements], whole=True),
        Dataset("value", u1, (2, size), list(table.value)),
        Dataset("depth", depth, (2, size), list(table.depth)),
        Dataset(MASK, u1, (2, 2, masked // 8), [m.astype("<u8", copy=False).view(u1) for m in masks]),
        Dataset("accrued/start", u8, (2, 2, blocks), _starts(masks, table.run_rank)),
        Dataset("accrued/rank", u1, (runs,), [table.run_rank]),
        Dataset("accrued/value", u1, (runs,), [table.run_value]),
        Dataset("accrued/depth", run_depth, (runs,), [table.run_depth]),
        Dataset("ep/config", i4, (n_ep, 2), [table.ep_config.ravel()], whole=True),
        Dataset("ep/value", u1, (n_ep, phase_size), list(table.ep_value)),
        Dataset("ep/depth", depth, (n_ep, phase_size), list(table.ep_depth)),
    ]


def _depth_type(*depths: NDArray[np.uint16]) -> np.dtype[Any]:
    return np.dtype("u1" if all(part.max(initial=0) < 256 for part in depths) else "<u2")


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
