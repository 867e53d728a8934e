"""Encoding of the stored side of a table on several threads.

A first pass counts how often each symbol occurs, and a second pass encodes the blocks.
"""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE
from tbgen.index.table import Table, count_positions
from tbgen.packed.kernels.blocks import (
    BLOCK_SLOTS,
    DEPTH_CONTEXTS,
    FIRST_VALUE,
    FUNCTION_CONTEXTS,
    FUNCTION_ESCAPE,
    HALF_ESCAPE,
    SEARCH_WIDTH,
    TOTAL,
    VALUE_CONTEXTS,
    Coding,
    Content,
    Model,
    Stream,
)
from tbgen.packed.kernels.encode import (
    BYTE_STEP,
    Encoding,
    count_blocks,
    count_codes,
    decode_blocks,
    encode_blocks,
    toggle_flags,
)
from tbgen.packed.kernels.rows import Rows
from tbgen.packed.pack import BUFFERS, StoredPositions, rows_of
from tbgen.store import schema
from tbgen.store.dataset import AnyArray, Dataset, datasets, unchanged_arrays
from tbgen.store.schema import DatasetSchema, Manifest, manifest_of, steps_of
from tbgen.store.writer import FileContent

_CONTEXTS_PER_SORT: Final = 256
"""Number of contexts sorted at a time, to limit memory use."""


def shares(counts: NDArray[np.int64]) -> NDArray[np.uint16]:
    """Return the share of each symbol, computed from the frequencies, in an array of the same shape.

    In every context that occurs, the shares add up to ``TOTAL``. The share of every symbol that occurs is at
    least 1.

    :param counts: frequencies, shape (contexts, symbols).
    """
    total = counts.sum(axis=1, keepdims=True)
    exact_share = counts * TOTAL / np.maximum(total, 1)
    share = np.maximum(np.floor(exact_share), counts > 0).astype(np.int64)
    for context in np.flatnonzero(total[:, 0]):
        row, excess = share[context], int(share[context].sum()) - TOTAL
        if excess < 0:
            row[np.argmax(counts[context])] -= excess
        while excess > 0:  # reduce the share whose reduction costs least
            loss = np.where(row > 1, counts[context] / np.maximum(row, 1), np.inf)
            row[np.argmin(loss)] -= 1
            excess -= 1
    return np.asarray(share, np.uint16)


def starts_of(share: NDArray[np.uint16]) -> NDArray[np.uint16]:
    """Return the start of each share within its context, in the shape of ``share``: (contexts, symbols)."""
    start = np.zeros_like(share)
    for part, order, ends in _by_falling_share(share):
        first = ends - np.take_along_axis(share[part], order, axis=1)
        np.put_along_axis(start[part], order, first.astype(np.uint16), axis=1)
    return start


def model_of(share: NDArray[np.uint16]) -> Model:
    """Return the model for decoders with these shares, shape (contexts, symbols).

    :raises ValueError: if the shares of a context are not all 0 and do not add up to ``TOTAL``. With such
        shares, decoders would search for symbols that do not exist.
    """
    contexts, symbols = share.shape
    if contexts and not (symbols and np.isin(share.sum(axis=1, dtype=np.int64), (0, TOTAL)).all()):
        raise ValueError(f"shares that do not add up to {TOTAL}")
    # Because of the padding, decoders find a symbol in every context, even if the context does not occur.
    places = -(-symbols // SEARCH_WIDTH) * SEARCH_WIDTH
    symbol = np.zeros((contexts, places), np.uint8)
    edge, group_edge = (np.full((contexts, size), TOTAL, np.uint16) for size in (places + 1, SEARCH_WIDTH))
    for part, order, ends in _by_falling_share(share):
        symbol[part, :symbols], edge[part, 0], edge[part, 1:symbols] = order, 0, ends[:, :-1]
    group_edge[:, : places // SEARCH_WIDTH] = edge[:, SEARCH_WIDTH::SEARCH_WIDTH]
    return Model(symbol, edge, group_edge)


def _by_falling_share(
    share: NDArray[np.uint16],
) -> Iterator[tuple[slice, NDArray[np.int64], NDArray[np.int64]]]:
    """Yield slices of contexts, their symbols in descending order of share, and the ends of the shares in the
    same order."""
    for first in range(0, len(share), _CONTEXTS_PER_SORT):
        part = slice(first, first + _CONTEXTS_PER_SORT)
        wide = share[part].astype(np.int64)
        order = np.argsort(-wide, axis=1, kind="stable")
        yield part, order, np.cumsum(np.take_along_axis(wide, order, axis=1), axis=1)


_BLOCKS_PER_TASK: Final = 2048
"""Number of blocks in one task of a thread."""

Part = tuple[int, int]
"""A half-open range of blocks, slots or words."""


def parts_of(first: int, end: int, size: int = _BLOCKS_PER_TASK) -> list[Part]:
    """Divide the blocks, slots or words ``first`` to ``end`` - 1 into ranges of at most ``size`` for
    tasks."""
    return list(pairwise([*range(first, end, size), end]))


_MAX_BLOCK_BYTES: Final = 8 * BLOCK_SLOTS
"""Upper bound of the size of a block in bytes. A position is encoded in at most five steps, each of at most
twelve bits. A step encodes a symbol or a byte."""
_SLOTS_PER_TASK: Final = 1 << 22
"""Number of slots that one task counts or flags."""


Shapes: TypeAlias = tuple[tuple[int, int], ...]
"""For values, depths, functions and bytes in turn: the number of contexts and of symbols in each context."""


_SHARE_DATASETS: Final = (schema.VALUE_SHARES, schema.DEPTH_SHARES, schema.FUNCTION_SHARES)
"""Datasets of the shares of values, depths and functions. Their shape is (contexts, symbols), or (0, 0) if
they are unused."""
_VALUE_DATASETS: Final = (schema.VALUE_DATA, schema.VALUE_LENGTH, schema.VALUE_CHECK)
_FUNCTION_DATASETS: Final = (schema.FUNCTION_DATA, schema.FUNCTION_LENGTH, schema.FUNCTION_CHECK)


def escape_bytes(function_count: int) -> int:
    """Return how many bytes encode the number of a rare function in a table with ``function_count``
    functions."""
    return 2 if function_count <= 1 << 16 else 4


def stream_of(data: NDArray[np.uint8], length: NDArray[np.uint16], checksum: NDArray[np.uint16]) -> Stream:
    """Return encoded blocks, given as bytes, lengths and checksums, in the form that decoders use."""
    starts = np.cumsum(length, dtype=np.int64) - length
    return Stream(data, starts[::64].copy(), length, checksum)


def new_stream(blocks: int) -> Stream:
    """Return a stream of empty blocks."""
    return stream_of(np.zeros(0, np.uint8), *np.zeros((2, blocks), np.uint16))


def encoding_of(rows: Rows, code: NDArray[np.uint8], shapes: Shapes, function_count: int) -> Encoding:
    """Return an encoding of a table, still without shares. It is used to count the frequencies of steps.

    :param code: code of each value symbol.
    :param function_count: number of functions of the table.
    """
    symbol_of = np.full(256, -1, np.int64)
    symbol_of[code[FIRST_VALUE:]] = np.arange(FIRST_VALUE, len(code))
    ends = np.cumsum([contexts * symbols for contexts, symbols in shapes])
    width = np.array([symbols for _, symbols in shapes], np.int64)
    empty = np.zeros(0, np.uint16)
    return Encoding(
        rows, symbol_of, escape_bytes(function_count), np.concatenate([[0], ends[:-1]]), width, empty, empty
    )


def step_shapes(value_symbols: int, depth_symbols: int, function_count: int) -> Shapes:
    """Return the numbers of contexts and of symbols in each, for values, depths, functions and bytes in turn.

    ``depth_symbols`` is the number of symbols for halved depths (``depth // 2``).
    """
    function_shape = (FUNCTION_CONTEXTS, FUNCTION_ESCAPE + 1) if function_count else (0, 0)
    return (VALUE_CONTEXTS, value_symbols), (DEPTH_CONTEXTS, depth_symbols), function_shape, (1, 256)


def decoding_of(rows: Rows, array_of: Callable[[DatasetSchema], AnyArray]) -> Coding:
    """Return the data needed to decode a table.

    :param array_of: returns the array of a dataset.
    """
    function_start = array_of(schema.FUNCTION_START).astype(np.int64)
    values, depths, functions = (model_of(array_of(shares)) for shares in _SHARE_DATASETS)
    return Coding(
        rows,
        array_of(schema.CODE),
        escape_bytes(len(function_start) - 1),
        values,
        depths,
        functions,
        stream_of(*map(array_of, _VALUE_DATASETS)),
        stream_of(*map(array_of, _FUNCTION_DATASETS)),
        function_start,
        array_of(schema.FUNCTION_ACCRUED),
        array_of(schema.FUNCTION_VALUE),
    )


def unencoded_arrays(table: Table) -> dict[DatasetSchema, AnyArray]:
    """Return the array of each dataset that a packed table stores unchanged.

    Values and depths are not included, because they are stored as encoded blocks.
    """
    functions, empty = table.functions, np.zeros(0, np.uint8)
    return {
        **unchanged_arrays(table),
        schema.FUNCTION_START: empty if functions is None else functions.start,
        schema.FUNCTION_ACCRUED: empty if functions is None else functions.accrued,
        schema.FUNCTION_VALUE: empty if functions is None else functions.value,
    }


class Encoder:
    """Encodes one table on several threads."""

    def __init__(self, table: Table, positions: StoredPositions, threads: int) -> None:
        self._table, self._positions, self._threads = table, positions, threads
        functions = table.functions
        self._function_count = 0 if functions is None else len(functions.start) - 1
        self._content = Content(
            table.value[positions.side],
            table.depth[positions.side],
            np.zeros(0, np.uint32) if functions is None else functions.function_numbers,
        )
        self._rows = rows_of(table.layout, positions.side)
        self._blocks = table.layout.size // BLOCK_SLOTS

    def encode(self) -> dict[DatasetSchema, AnyArray]:
        """Return the datasets of the table except counts and exceptions.

        Before they are returned, the encoded blocks are decoded and compared with the table.

        :raises ValueError: if the slots that have values are not exactly those that stand for positions, or
            if the encoded table decodes to other values. Both are errors in the program.
        """
        deepest = int(self._content.depth.max(initial=0))
        encoded = unencoded_arrays(self._table)  # before depths are flagged
        with ThreadPoolExecutor(self._threads) as pool, self._flagged(pool):
            code, depth_symbols = self._codes(pool), 1 + min(deepest >> 1, HALF_ESCAPE)
            shapes = step_shapes(len(code), depth_symbols, self._function_count)
            encoding = encoding_of(self._rows, code, shapes, self._function_count)
            counts = np.split(self._count(pool, encoding), encoding.first_step[1:])
            sizes = [shares(count.reshape(shape)) for count, shape in zip(counts, shapes, strict=True)]
            encoding = replace(
                encoding,
                share_start=np.concatenate([starts_of(share).reshape(-1) for share in sizes]),
                share=np.concatenate([share.reshape(-1) for share in sizes]),
            )
            encoded |= {schema.CODE: code, **dict(zip(_SHARE_DATASETS, sizes[:-1], strict=True))}
            encoded |= self._encoded_blocks(pool, encoding)
            self._compare(pool, encoded)
        return encoded

    @contextmanager
    def _flagged(self, pool: ThreadPoolExecutor) -> Iterator[None]:
        """Within the ``with`` statement, flag the depths of the positions that need not be stored."""
        omitted = self._positions.omitted

        def toggle(part: Part) -> None:
            toggle_flags(self._content, omitted, *part)

        words = parts_of(0, len(omitted), _SLOTS_PER_TASK // 64)
        list(pool.map(toggle, words))
        try:
            yield
        finally:
            list(pool.map(toggle, words))

    def _codes(self, pool: ThreadPoolExecutor) -> NDArray[np.uint8]:
        """Return the code of each symbol: 0 for the symbols that are not values, then values in
        descending order of frequency."""

        def count_part(part: Part) -> NDArray[np.int64]:
            frequencies = np.zeros(256, np.int64)
            count_codes(self._content, frequencies, *part)
            return frequencies

        slots = parts_of(0, len(self._content.value), _SLOTS_PER_TASK)
        total = np.sum(list(pool.map(count_part, slots)), axis=0)
        total[NONE] = 0
        order = np.argsort(-total, kind="stable")[: np.count_nonzero(total)]
        return np.concatenate([np.zeros(FIRST_VALUE, np.uint8), order.astype(np.uint8)])

    def _count(self, pool: ThreadPoolExecutor, encoding: Encoding) -> NDArray[np.int64]:
        """Return the frequency of each step. Each of the 256 bytes is given the frequency 1."""

        def count(worker: int) -> tuple[NDArray[np.int64], list[int]]:
            counts = np.zeros(encoding.first_step[BYTE_STEP] + encoding.symbol_count[BYTE_STEP], np.int64)
            content, parts = self._content, parts_of(0, self._blocks)[worker :: self._threads]
            return counts, [count_blocks(encoding, content, counts, BUFFERS.blocks, *part) for part in parts]

        results = list(pool.map(count, range(self._threads)))
        positions = [number for _, numbers in results for number in numbers]
        if min(positions) < 0 or sum(positions) != count_positions(self._content.value):
            raise ValueError(f"{self._table.material} has positions in other slots than its index")
        counts = np.asarray(np.sum([counts for counts, _ in results], axis=0), np.int64)
        counts[encoding.first_step[BYTE_STEP] :] = 1
        return counts

    def _encoded_blocks(self, pool: ThreadPoolExecutor, encoding: Encoding) -> dict[DatasetSchema, AnyArray]:
        """Return the datasets of the blocks of values and depths, and of the blocks of functions."""
        values, functions = new_stream(self._blocks), new_stream(self._blocks if self._function_count else 0)

        def encode(part: Part) -> list[NDArray[np.uint8]]:
            size = (part[1] - part[0]) * _MAX_BLOCK_BYTES
            value, function = (replace(each, data=np.empty(size, np.uint8)) for each in (values, functions))
            end, function_end = encode_blocks(encoding, self._content, value, function, BUFFERS.blocks, *part)
            return [value.data[:end].copy(), function.data[:function_end].copy()]

        data = map(np.concatenate, zip(*pool.map(encode, parts_of(0, self._blocks)), strict=True))
        return {
            **dict(zip(_VALUE_DATASETS, (next(data), values.length, values.checksum), strict=True)),
            **dict(zip(_FUNCTION_DATASETS, (next(data), functions.length, functions.checksum), strict=True)),
        }

    def _compare(self, pool: ThreadPoolExecutor, encoded: Mapping[DatasetSchema, AnyArray]) -> None:
        """Decode the encoded blocks, and compare them with the table."""
        coding, content = decoding_of(self._rows, encoded.__getitem__), self._content
        parts = parts_of(0, self._blocks)
        if not all(pool.map(lambda part: decode_blocks(coding, content, True, BUFFERS.blocks, *part), parts)):
            raise ValueError(f"{self._table.material} does not decode to what was encoded")


def packed_content(table: Table, positions: StoredPositions, threads: int = 2) -> FileContent:
    """Return the content of the file of a table in packed form, for :func:`tbgen.store.writer.write_table`.

    Functions are stored if the table has them. Runs are not stored.

    :raises ValueError: if the table does not decode to the same values.
    """
    derived = 1 - positions.side
    arrays = {
        **Encoder(table, positions, threads).encode(),
        schema.COUNT: table.counts,
        schema.EXCEPTION_STEP: steps_of(positions.exceptions),
        schema.EXCEPTION_VALUE: table.value[derived][positions.exceptions],
        schema.EXCEPTION_DEPTH: table.depth[derived][positions.exceptions],
    }
    stored = datasets(schema.PACKED.datasets, arrays)
    attributes = {
        **table.facts(),
        "stored_side": int(positions.side),
        "stored": "".join(f"{dataset.manifest_line()}\n" for dataset in stored),
    }
    return FileContent(schema.PACKED, attributes, stored, _listed_data(table))


def manifest_of_content(table: Table, threads: int = 2) -> Manifest:
    """Return the manifest of the packed form of a table."""
    with ThreadPoolExecutor(threads) as pool:
        return manifest_of(schema.PACKED, table.facts(), pool.map(Dataset.manifest_line, _listed_data(table)))


def _listed_data(table: Table) -> list[Dataset]:
    """Return the datasets that the manifest lists."""
    no_numbers = np.zeros(0, np.uint32)
    number = no_numbers if table.functions is None else table.functions.function_numbers
    return datasets(schema.CONTENT, {**unencoded_arrays(table), schema.FUNCTION_NUMBER: number})
