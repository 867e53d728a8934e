"""The datasets of a table file: their contents, their order, and their division into chunks."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tbgen.errors import LimitError
from tbgen.index.codes import LAST_RUN
from tbgen.index.layout import Layout
from tbgen.index.table import Table, greatest
from tbgen.store import schema
from tbgen.store.format import BLOCK_SLOTS, CHUNK_BYTES
from tbgen.store.schema import DatasetSchema, Manifest, manifest_line, manifest_of, pieces_of

AnyArray = NDArray[Any]
Corner = tuple[int, ...]
"""Index of the first element of a chunk along each axis of its dataset."""


class Dataset(Struct, frozen=True):
    """The content of one dataset. It is divided into chunks along its last axis only."""

    schema: DatasetSchema
    dtype: np.dtype[Any]
    data: AnyArray
    """The elements: a contiguous array with the shape of the dataset. Its values fit ``dtype``."""

    @property
    def name(self) -> str:
        """Name of the dataset in the file."""
        return self.schema.name

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the dataset in the file."""
        return self.data.shape

    @property
    def chunks(self) -> tuple[int, ...]:
        """Shape of a full chunk."""
        if self.schema.single_chunk or self.schema.raw:
            return self.shape
        return (*(1 for _ in self.shape[1:]), min(self.shape[-1], CHUNK_BYTES // self.dtype.itemsize))

    def pieces(self) -> Iterator[tuple[Corner, AnyArray]]:
        """For each chunk, in order, yield the index of its first element, and its elements.

        The last chunk of a row may be short.
        """
        if 0 in self.shape:
            return
        if self.schema.single_chunk or self.schema.raw:
            yield (0,) * len(self.shape), self.data
            return
        step = self.chunks[-1]
        for lead in np.ndindex(self.shape[:-1]):
            for start in range(0, self.shape[-1], step):
                yield (*lead, start), self.data[lead][start : start + step]

    def manifest_line(self) -> str:
        """Return the line of the dataset in the manifest (docs/format.md)."""
        return manifest_line(self.name, self.dtype, self.shape, pieces_of(self.data.reshape(-1), self.dtype))


def datasets(schemas: Sequence[DatasetSchema], arrays: Mapping[DatasetSchema, AnyArray]) -> list[Dataset]:
    """Return the datasets of a file in the order of ``schemas``, each with the narrowest type that fits.

    :param arrays: the elements of each dataset, as in :attr:`Dataset.data`.
    :raises LimitError: if an element is too large for the widest type.
    """

    def dtype_of(item: DatasetSchema) -> np.dtype[Any]:
        *narrow, widest = item.types
        group = [arrays[other] for other in schemas if other is item or item.type_group == other.type_group]
        for candidate in narrow:
            if all(greatest(data) <= np.iinfo(candidate).max for data in group):
                return candidate
        data = arrays[item]
        most = np.iinfo(widest).max
        if data.dtype.itemsize > widest.itemsize and greatest(data) > most:
            raise LimitError(f"{item.name} has numbers above {most}, which a file cannot store")
        return widest

    return [Dataset(schema, dtype_of(schema), arrays[schema]) for schema in schemas]


def placements_of(layout: Layout) -> NDArray[np.uint8]:
    """Return the pawn squares of all placements, shape (placements, pawns)."""
    return np.array(layout.placements, np.uint8).reshape(len(layout.placements), layout.pawns)


def unchanged_arrays(table: Table) -> dict[DatasetSchema, AnyArray]:
    """Return the arrays of a table that are stored unchanged as datasets."""
    return {
        schema.PLACEMENTS: placements_of(table.layout),
        schema.VALUE: table.value,
        schema.DEPTH: table.depth,
        schema.EP_CONFIG: table.ep_config,
        schema.EP_VALUE: table.ep_value,
        schema.EP_DEPTH: table.ep_depth,
    }


def table_datasets(table: Table) -> list[Dataset]:
    """Return the datasets of a table in the order of the manifest.

    :raises ValueError: if arrays of the table contradict each other.
    """
    table.check_shapes()
    return datasets(
        schema.TABLE.datasets,
        {
            **unchanged_arrays(table),
            schema.RUN_MASK: table.run_mask.astype("<u8", copy=False).view(np.uint8),
            schema.RUN_START: _run_starts(table.run_mask, table.run_rank),
            schema.RUN_RANK: table.run_rank,
            schema.RUN_VALUE: table.run_value,
            schema.RUN_DEPTH: table.run_depth,
        },
    )


def _run_starts(mask: NDArray[np.uint64], ranks: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Return the number of runs before each block of a mask, shape (2, 2, blocks).

    The number includes all runs of the rows that precede the block's row in C order.
    """
    words = mask.shape[-1]
    if not words:
        return np.zeros((2, 2, 0), np.uint64)
    edges = np.arange(0, words, BLOCK_SLOTS // 64)
    slot_counts = np.add.reduceat(np.bitwise_count(mask), edges, axis=-1, dtype=np.int64).reshape(-1)
    before = np.cumsum(slot_counts) - slot_counts
    first_runs = np.zeros(len(before), np.uint64)
    has_earlier = before > 0
    first_runs[has_earlier] = _find_set_bits(ranks >= LAST_RUN, before[has_earlier]) + 1
    return first_runs.reshape(2, 2, -1)


def _find_set_bits(bits: NDArray[np.bool_], numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the index of the n-th True element of ``bits``, bool (m,), for each n in ``numbers``, (k,).

    Numbers start at 1. The indices are int64 (k,). A list of all True elements would need much memory.
    """
    words = np.packbits(bits, bitorder="little")
    words = np.pad(words, (0, -len(words) % 8)).view(np.uint64)
    counts = np.cumsum(np.bitwise_count(words), dtype=np.int64)
    found = np.searchsorted(counts, numbers)
    parts = np.unpackbits(words[found].view(np.uint8), bitorder="little").reshape(-1, 64)
    number_in_word = numbers - counts[found] + np.bitwise_count(words[found])
    return np.asarray(found * 64 + np.argmax(np.cumsum(parts, axis=1) == number_in_word[:, None], axis=1))


def unencoded_arrays(table: Table) -> dict[DatasetSchema, AnyArray]:
    """Return the array of each dataset that a packed table stores unchanged.

    Values and depths are not included, because they are stored as encoded blocks.
    """
    functions = table.functions
    empty = np.zeros(0, np.uint8)
    return {
        **unchanged_arrays(table),
        schema.FUNCTION_START: empty if functions is None else functions.start,
        schema.FUNCTION_ACCRUED: empty if functions is None else functions.accrued,
        schema.FUNCTION_VALUE: empty if functions is None else functions.value,
    }


def content_datasets(table: Table) -> list[Dataset]:
    """Return the datasets that the manifest of a packed table lists."""
    no_numbers = np.zeros(0, np.uint32)
    function_numbers = no_numbers if table.functions is None else table.functions.function_numbers
    return datasets(schema.CONTENT, {**unencoded_arrays(table), schema.FUNCTION_NUMBER: function_numbers})


def manifest_of_content(table: Table, threads: int = 2) -> Manifest:
    """Return the manifest of the packed form of a table."""
    with ThreadPoolExecutor(threads) as pool:
        return manifest_of(
            schema.PACKED, table.facts(), pool.map(Dataset.manifest_line, content_datasets(table))
        )
