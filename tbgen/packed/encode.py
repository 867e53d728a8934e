"""Encoding the stored side of a table: frequencies first, then the blocks, on several threads."""

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
    TOTAL,
    VALUE_CONTEXTS,
    WIDE,
    Coding,
    Content,
    Model,
    Stream,
)
from tbgen.packed.kernels.encode import (
    BYTES,
    Encoding,
    count_blocks,
    count_codes,
    decode_blocks,
    encode_blocks,
    turn_flags,
)
from tbgen.packed.kernels.rows import Rows
from tbgen.packed.pack import Needed, rows_of
from tbgen.packed.rooms import THREAD
from tbgen.store import schema
from tbgen.store.dataset import AnyArray, Dataset, datasets, shared_arrays
from tbgen.store.schema import DatasetSchema, Manifest, manifest_of, steps_of
from tbgen.store.writer import FileContent

_CONTEXTS_AT_ONCE: Final = 256
"""Contexts that are put in order together, so that little memory goes round."""


def shares(counts: NDArray[np.int64]) -> NDArray[np.uint16]:
    """Return frequencies that sum up to ``TOTAL`` in every context that occurs, at least 1 for every symbol
    that does; shape (contexts, symbols) like the counts."""
    total = counts.sum(axis=1, keepdims=True)
    exact = counts * TOTAL / np.maximum(total, 1)
    size = np.maximum(np.floor(exact), counts > 0).astype(np.int64)
    for context in np.flatnonzero(total[:, 0]):
        row, over = size[context], int(size[context].sum()) - TOTAL
        if over < 0:
            row[np.argmax(counts[context])] -= over
        while over > 0:  # taken where it costs least
            loss = np.where(row > 1, counts[context] / np.maximum(row, 1), np.inf)
            row[np.argmin(loss)] -= 1
            over -= 1
    return np.asarray(size, np.uint16)


def starts_of(size: NDArray[np.uint16]) -> NDArray[np.uint16]:
    """Return where each of the shares, shape (contexts, symbols), begins among those of its context."""
    start = np.zeros_like(size)
    for some, order, ends in _falling(size):
        before = ends - np.take_along_axis(size[some], order, axis=1)
        np.put_along_axis(start[some], order, before.astype(np.uint16), axis=1)
    return start


def model_of(size: NDArray[np.uint16]) -> Model:
    """Return the model with these shares, shape (contexts, symbols).

    :raises ValueError: if those of a context are neither all 0 nor sum up to ``TOTAL``: decoders would look
        for symbols where there are none.
    """
    contexts, symbols = size.shape
    if contexts and not (symbols and np.isin(size.sum(axis=1, dtype=np.int64), (0, TOTAL)).all()):
        raise ValueError(f"shares that do not sum up to {TOTAL}")
    # Filled up, and even in a context that does not occur, a decoder finds a place.
    places = -(-symbols // WIDE) * WIDE
    symbol = np.zeros((contexts, places), np.uint8)
    edge, mark = (np.full((contexts, length), TOTAL, np.uint16) for length in (places + 1, WIDE))
    for some, order, ends in _falling(size):
        symbol[some, :symbols], edge[some, 0], edge[some, 1:symbols] = order, 0, ends[:, :-1]
    mark[:, : places // WIDE] = edge[:, WIDE::WIDE]
    return Model(symbol, edge, mark)


def _falling(size: NDArray[np.uint16]) -> Iterator[tuple[slice, NDArray[np.int64], NDArray[np.int64]]]:
    """Yield contexts, their symbols by falling share, and where the shares of these end."""
    for first in range(0, len(size), _CONTEXTS_AT_ONCE):
        some = slice(first, first + _CONTEXTS_AT_ONCE)
        wide = size[some].astype(np.int64)
        order = np.argsort(-wide, axis=1, kind="stable")
        yield some, order, np.cumsum(np.take_along_axis(wide, order, axis=1), axis=1)


_BLOCKS_AT_ONCE: Final = 2048
"""Blocks per job of a thread."""

Part = tuple[int, int]
"""The first of some neighbouring blocks, or slots or words, and the one after the last."""


def parts_of(first: int, end: int, at_once: int = _BLOCKS_AT_ONCE) -> list[Part]:
    """Return the parts in which threads work the blocks ``first`` to ``end`` - 1 off; or slots or words, so
    many ``at_once``."""
    return list(pairwise([*range(first, end, at_once), end]))


_MOST_BYTES: Final = 8 * BLOCK_SLOTS
"""Bytes that a block may take: no step takes more than twelve bits."""
_AT_ONCE: Final = 1 << 22
"""Slots that a thread counts or flags at a time."""


Shapes: TypeAlias = tuple[tuple[int, int], ...]
"""Of values, depths, functions and bytes: numbers of contexts, and of symbols of each."""


_SHARES: Final = (schema.VALUE_SHARES, schema.DEPTH_SHARES, schema.FUNCTION_SHARES)
"""Of values, depths and functions: shape (contexts, symbols), (0, 0) where there are none."""
_VALUES: Final = (schema.VALUE_DATA, schema.VALUE_LENGTH, schema.VALUE_CHECK)
_FUNCTIONS: Final = (schema.FUNCTION_DATA, schema.FUNCTION_LENGTH, schema.FUNCTION_CHECK)


def escape_bytes(functions: int) -> int:
    """Return how many bytes the number of a rare one of so many functions takes."""
    return 2 if functions <= 1 << 16 else 4


def stream_of(data: NDArray[np.uint8], length: NDArray[np.uint16], check: NDArray[np.uint16]) -> Stream:
    """Return coded blocks as decoders see them, given their bytes, lengths and checksums."""
    starts = np.cumsum(length, dtype=np.int64) - length
    return Stream(data, starts[::64].copy(), length, check)


def empty_stream(blocks: int) -> Stream:
    """Return so many blocks without bytes."""
    return stream_of(np.zeros(0, np.uint8), *np.zeros((2, blocks), np.uint16))


def encoding_of(rows: Rows, code: NDArray[np.uint8], shapes: Shapes, functions: int) -> Encoding:
    """Return what it takes to count a table's steps: shares are not known yet.

    :param code: of each value symbol.
    """
    of_code = np.full(256, -1, np.int64)
    of_code[code[FIRST_VALUE:]] = np.arange(FIRST_VALUE, len(code))
    ends = np.cumsum([contexts * symbols for contexts, symbols in shapes])
    width = np.array([symbols for _, symbols in shapes], np.int64)
    none = np.zeros(0, np.uint16)
    return Encoding(
        rows, of_code, escape_bytes(functions), np.concatenate([[0], ends[:-1]]), width, none, none
    )


def step_shapes(symbols: int, halves: int, functions: int) -> Shapes:
    """Return how many contexts and symbols there are for values, depths, functions and bytes."""
    rare = (FUNCTION_CONTEXTS, FUNCTION_ESCAPE + 1) if functions else (0, 0)
    return (VALUE_CONTEXTS, symbols), (DEPTH_CONTEXTS, halves), rare, (1, 256)


def coding_of(rows: Rows, data: Callable[[DatasetSchema], AnyArray]) -> Coding:
    """Return what it takes to decode a table.

    :param data: returns the data of a dataset of its file.
    """
    start = data(schema.FUNCTION_START).astype(np.int64)
    values, depths, functions = (model_of(data(shares)) for shares in _SHARES)
    return Coding(
        rows,
        data(schema.CODE),
        escape_bytes(len(start) - 1),
        values,
        depths,
        functions,
        stream_of(*map(data, _VALUES)),
        stream_of(*map(data, _FUNCTIONS)),
        start,
        data(schema.FUNCTION_ACCRUED),
        data(schema.FUNCTION_VALUE),
    )


def direct_arrays(table: Table) -> dict[DatasetSchema, AnyArray]:
    """Return the data that the file of a packed table stores as they are in memory, by the datasets of its
    manifest; in place of values and depths it stores blocks."""
    functions, none = table.functions, np.zeros(0, np.uint8)
    return {
        **shared_arrays(table),
        schema.FUNCTION_START: none if functions is None else functions.start,
        schema.FUNCTION_ACCRUED: none if functions is None else functions.accrued,
        schema.FUNCTION_VALUE: none if functions is None else functions.value,
    }


class Encoder:
    """Encodes one table on some threads."""

    def __init__(self, table: Table, needed: Needed, threads: int) -> None:
        self._table, self._needed, self._threads = table, needed, threads
        functions = table.functions
        self._functions = 0 if functions is None else len(functions.start) - 1
        self._content = Content(
            table.value[needed.side],
            table.depth[needed.side],
            np.zeros(0, np.uint32) if functions is None else functions.number,
        )
        self._rows = rows_of(table.layout, needed.side)
        self._blocks = table.layout.size // BLOCK_SLOTS

    def encode(self) -> dict[DatasetSchema, AnyArray]:
        """Return the datasets of the table but counts and exceptions: the stored side encoded, decoded again
        and compared.

        :raises ValueError: if the table has positions elsewhere than its index says, or does not decode to
            what it was: then the program is wrong.
        """
        deepest = int(self._content.depth.max(initial=0))
        with ThreadPoolExecutor(self._threads) as pool, self._flagged(pool):
            code, halves = self._codes(pool), 1 + min(deepest >> 1, HALF_ESCAPE)
            shapes = step_shapes(len(code), halves, self._functions)
            encoding = encoding_of(self._rows, code, shapes, self._functions)
            counts = np.split(self._count(pool, encoding), encoding.first[1:])
            sizes = [shares(count.reshape(shape)) for count, shape in zip(counts, shapes, strict=True)]
            encoding = replace(
                encoding,
                start=np.concatenate([starts_of(size).reshape(-1) for size in sizes]),
                size=np.concatenate([size.reshape(-1) for size in sizes]),
            )
            encoded = {**direct_arrays(self._table), schema.CODE: code}
            encoded |= zip(_SHARES, sizes[:-1], strict=True)
            encoded |= self._written(pool, encoding)
            self._compare(pool, encoded)
        return encoded

    @contextmanager
    def _flagged(self, pool: ThreadPoolExecutor) -> Iterator[None]:
        """Flag the depths of what need not be stored, for a while."""
        captures = self._needed.captures

        def turn(part: Part) -> None:
            turn_flags(self._content, captures, *part)

        words = parts_of(0, len(captures), _AT_ONCE // 64)
        list(pool.map(turn, words))
        try:
            yield
        finally:
            list(pool.map(turn, words))

    def _codes(self, pool: ThreadPoolExecutor) -> NDArray[np.uint8]:
        """The codes of all value symbols, the frequent ones first after those that are no values."""

        def counted(part: Part) -> NDArray[np.int64]:
            found = np.zeros(256, np.int64)
            count_codes(self._content, found, *part)
            return found

        slots = parts_of(0, len(self._content.value), _AT_ONCE)
        count = np.sum(list(pool.map(counted, slots)), axis=0)
        count[NONE] = 0
        order = np.argsort(-count, kind="stable")[: np.count_nonzero(count)]
        return np.concatenate([np.zeros(FIRST_VALUE, np.uint8), order.astype(np.uint8)])

    def _count(self, pool: ThreadPoolExecutor, encoding: Encoding) -> NDArray[np.int64]:
        """How often each step occurs, and 1 for each byte."""

        def count(worker: int) -> tuple[NDArray[np.int64], list[int]]:
            counts = np.zeros(encoding.first[BYTES] + encoding.width[BYTES], np.int64)
            content, parts = self._content, parts_of(0, self._blocks)[worker :: self._threads]
            return counts, [count_blocks(encoding, content, counts, THREAD.room, *part) for part in parts]

        found = list(pool.map(count, range(self._threads)))
        positions = [number for _, numbers in found for number in numbers]
        if min(positions) < 0 or sum(positions) != count_positions(self._content.value):
            raise ValueError(f"{self._table.material} has positions elsewhere than its index")
        counts = np.asarray(np.sum([counts for counts, _ in found], axis=0), np.int64)
        counts[encoding.first[BYTES] :] = 1
        return counts

    def _written(self, pool: ThreadPoolExecutor, encoding: Encoding) -> dict[DatasetSchema, AnyArray]:
        """The blocks of values and depths, and those of functions."""
        values, functions = empty_stream(self._blocks), empty_stream(self._blocks if self._functions else 0)

        def encode(part: Part) -> list[NDArray[np.uint8]]:
            most = (part[1] - part[0]) * _MOST_BYTES
            one, other = (replace(stream, data=np.empty(most, np.uint8)) for stream in (values, functions))
            end, other_end = encode_blocks(encoding, self._content, one, other, THREAD.room, *part)
            return [one.data[:end].copy(), other.data[:other_end].copy()]

        data = map(np.concatenate, zip(*pool.map(encode, parts_of(0, self._blocks)), strict=True))
        return {
            **dict(zip(_VALUES, (next(data), values.length, values.check), strict=True)),
            **dict(zip(_FUNCTIONS, (next(data), functions.length, functions.check), strict=True)),
        }

    def _compare(self, pool: ThreadPoolExecutor, encoded: Mapping[DatasetSchema, AnyArray]) -> None:
        coding, content = coding_of(self._rows, encoded.__getitem__), self._content
        parts = parts_of(0, self._blocks)
        if not all(pool.map(lambda part: decode_blocks(coding, content, True, THREAD.room, *part), parts)):
            raise ValueError(f"{self._table.material} does not decode to what was encoded")


def packed_content(table: Table, needed: Needed, threads: int = 2) -> FileContent:
    """Return what the file of a table in packed form holds, for :func:`tbgen.store.writer.write_table`.

    The table has functions of accrued scores, or none; runs are not stored.

    :raises ValueError: if the table does not decode to what it was.
    """
    derived = 1 - needed.side
    arrays = {
        **Encoder(table, needed, threads).encode(),
        schema.COUNT: table.counts,
        schema.EXCEPTION_STEP: steps_of(needed.exceptions),
        schema.EXCEPTION_VALUE: table.value[derived][needed.exceptions],
        schema.EXCEPTION_DEPTH: table.depth[derived][needed.exceptions],
    }
    stored = datasets(schema.PACKED.datasets, arrays)
    attributes = {
        **table.facts(),
        "stored_side": int(needed.side),
        "stored": "".join(f"{dataset.manifest_line()}\n" for dataset in stored),
    }
    return FileContent(schema.PACKED, attributes, stored, _content(table))


def manifest_of_content(table: Table, threads: int = 2) -> Manifest:
    """Return the manifest of a packed table with this content."""
    with ThreadPoolExecutor(threads) as pool:
        return manifest_of(schema.PACKED, table.facts(), pool.map(Dataset.manifest_line, _content(table)))


def _content(table: Table) -> list[Dataset]:
    """What the manifest describes."""
    none = np.zeros(0, np.uint32)
    number = none if table.functions is None else table.functions.number
    return datasets(schema.CONTENT, {**direct_arrays(table), schema.FUNCTION_NUMBER: number})
