"""Encoding the stored side of a table: frequencies first, then the blocks, on several threads."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE
from tbgen.index.table import Table
from tbgen.packed.kernels.blocks import (
    BLOCK_SLOTS,
    CAPTURE_FLAG,
    DEPTH_CONTEXTS,
    FIRST_VALUE,
    FUNCTION_CONTEXTS,
    FUNCTION_ESCAPE,
    HALF_ESCAPE,
    VALUE_CONTEXTS,
    Coding,
    Content,
    Stream,
)
from tbgen.packed.kernels.encode import (
    BYTES,
    Encoding,
    count_blocks,
    count_codes,
    decode_blocks,
    encode_blocks,
)
from tbgen.packed.kernels.rows import Rows
from tbgen.packed.model import model_of, shares, starts_of
from tbgen.packed.order import rows_of
from tbgen.packed.pack import Needed
from tbgen.packed.parts import Part, parts_of
from tbgen.packed.rooms import THREAD

_MOST_BYTES: Final = 8 * BLOCK_SLOTS
"""Bytes that a block may take: no step takes more than twelve bits."""


Shapes: TypeAlias = tuple[tuple[int, int], ...]
"""Of values, depths, functions and bytes: numbers of contexts, and of symbols of each."""


class Encoded(NamedTuple):
    """What a packed table's file stores of values, depths and functions."""

    code: NDArray[np.uint8]
    """Shape (symbols,): the code of each value symbol."""
    shares: Sequence[NDArray[np.uint16]]
    """Those of values, depths and functions: shape (contexts, symbols), (0, 0) where there are none."""
    values: Stream
    functions: Stream


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


def coding_of(
    rows: Rows,
    encoded: Encoded,
    entry_start: NDArray[np.int64],
    entry_accrued: NDArray[np.uint8],
    entry_value: NDArray[np.uint8],
) -> Coding:
    """Return what it takes to decode a table, given also the entries of its functions."""
    values, depths, functions = map(model_of, encoded.shares)
    return Coding(
        rows,
        encoded.code,
        escape_bytes(len(entry_start) - 1),
        values,
        depths,
        functions,
        encoded.values,
        encoded.functions,
        entry_start,
        entry_accrued,
        entry_value,
    )


class Encoder:
    """Encodes one table on some threads.

    :raises OverflowError: if a depth has no room; no material of five men comes near.
    """

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

    def encode(self) -> Encoded:
        """Return the stored side, encoded, decoded again and compared.

        :raises ValueError: if the table has positions elsewhere than its index says, or does not decode to
            what it was: then the program is wrong.
        """
        if (deepest := int(self._content.depth.max(initial=0))) >= CAPTURE_FLAG:
            raise OverflowError(f"{self._table.material}: there is no room for depths of {deepest} plies")
        with self._flagged(), ThreadPoolExecutor(self._threads) as pool:
            code, halves = self._codes(pool)
            shapes = step_shapes(len(code), halves, self._functions)
            encoding = encoding_of(self._rows, code, shapes, self._functions)
            counts = np.split(self._count(pool, encoding), encoding.first[1:])
            sizes = [shares(count.reshape(shape)) for count, shape in zip(counts, shapes, strict=True)]
            encoding = replace(
                encoding,
                start=np.concatenate([starts_of(size).reshape(-1) for size in sizes]),
                size=np.concatenate([size.reshape(-1) for size in sizes]),
            )
            encoded = Encoded(code, sizes[:-1], *self._written(pool, encoding))
            self._compare(pool, encoded)
        return encoded

    @contextmanager
    def _flagged(self) -> Iterator[None]:
        """Flag the depths of what need not be stored, for a while."""
        step, depth = 1 << 16, self._content.depth
        words = self._needed.captures
        try:
            for first in range(0, len(words), step):
                bits = np.unpackbits(words[first : first + step].view(np.uint8), bitorder="little")
                depth[64 * first : 64 * first + len(bits)] |= bits.astype(np.uint16) * CAPTURE_FLAG
            yield
        finally:
            depth &= CAPTURE_FLAG - 1

    def _codes(self, pool: ThreadPoolExecutor) -> tuple[NDArray[np.uint8], int]:
        """The codes of all value symbols, the frequent ones first after those that are no values, and how
        many half depths there are symbols for."""
        counts = np.zeros((self._threads, 256), np.int64)
        edges = np.linspace(0, len(self._content.value), self._threads + 1).astype(int).tolist()
        content = [self._content] * self._threads
        deepest = max(pool.map(count_codes, content, edges[:-1], edges[1:], counts))
        count = counts.sum(axis=0)
        count[NONE] = 0
        order = np.argsort(-count, kind="stable")[: np.count_nonzero(count)]
        code = np.concatenate([np.zeros(FIRST_VALUE, np.uint8), order.astype(np.uint8)])
        return code, 1 + min(deepest >> 1, HALF_ESCAPE)

    def _count(self, pool: ThreadPoolExecutor, encoding: Encoding) -> NDArray[np.int64]:
        """How often each step occurs, and 1 for each byte."""

        def count(worker: int) -> tuple[NDArray[np.int64], list[int]]:
            counts = np.zeros(encoding.first[BYTES] + encoding.width[BYTES], np.int64)
            parts = parts_of(0, self._blocks)[worker :: self._threads]
            return counts, [
                count_blocks(encoding, self._content, counts, THREAD.room, *part) for part in parts
            ]

        found = list(pool.map(count, range(self._threads)))
        positions = [number for _, numbers in found for number in numbers]
        if min(positions) < 0 or sum(positions) != np.count_nonzero(self._content.value != NONE):
            raise ValueError(f"{self._table.material} has positions elsewhere than its index")
        counts = np.asarray(np.sum([counts for counts, _ in found], axis=0), np.int64)
        counts[encoding.first[BYTES] :] = 1
        return counts

    def _written(self, pool: ThreadPoolExecutor, encoding: Encoding) -> tuple[Stream, Stream]:
        """The blocks of values and depths, and those of functions."""
        values, functions = empty_stream(self._blocks), empty_stream(self._blocks if self._functions else 0)

        def encode(part: Part) -> list[NDArray[np.uint8]]:
            most = (part[1] - part[0]) * _MOST_BYTES
            one, other = (replace(stream, data=np.empty(most, np.uint8)) for stream in (values, functions))
            end, other_end = encode_blocks(encoding, self._content, one, other, THREAD.room, *part)
            return [one.data[:end].copy(), other.data[:other_end].copy()]

        data = map(np.concatenate, zip(*pool.map(encode, parts_of(0, self._blocks)), strict=True))
        return (
            stream_of(next(data), values.length, values.check),
            stream_of(next(data), functions.length, functions.check),
        )

    def _compare(self, pool: ThreadPoolExecutor, encoded: Encoded) -> None:
        none = np.zeros(0, np.uint8)
        coding = coding_of(self._rows, encoded, np.zeros(self._functions + 1, np.int64), none, none)
        same = pool.map(
            lambda part: decode_blocks(coding, self._content, True, THREAD.room, *part),
            parts_of(0, self._blocks),
        )
        if not all(same):
            raise ValueError(f"{self._table.material} does not decode to what was encoded")
