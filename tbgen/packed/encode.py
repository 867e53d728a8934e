"""Encoding the stored side of a table: frequencies first, then the blocks, on several threads."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tbgen.index.table import Table
from tbgen.packed.kernels.blocks import (
    BLOCK_ROWS,
    BLOCK_SLOTS,
    CAPTURE_FLAG,
    DEPTH_CONTEXTS,
    FIRST_VALUE,
    FUNCTION_CONTEXTS,
    FUNCTION_ESCAPE,
    VALUE_CONTEXTS,
    Stream,
    Symbols,
)
from tbgen.packed.kernels.encode import (
    compare_blocks,
    count_blocks,
    count_function_blocks,
    encode_blocks,
    encode_function_blocks,
)
from tbgen.packed.kernels.rows import Rows
from tbgen.packed.model import model_of, shares
from tbgen.packed.order import rows_of
from tbgen.packed.pack import Needed
from tbgen.score import NONE

_AT_ONCE: Final = 2048
"""Blocks per job of a thread."""
_MOST_BYTES: Final = 4 * BLOCK_SLOTS
"""Bytes that a block may take."""
_MOST_HALF: Final = 255

Part = tuple[int, int]
Room = NDArray[np.uint8]


@dataclass(frozen=True)
class Coded:
    """The blocks of one kind, encoded."""

    length: NDArray[np.uint16]
    check: NDArray[np.uint16]
    data: NDArray[np.uint8]


@dataclass(frozen=True)
class Encoded:
    """A table's stored side, encoded."""

    code: NDArray[np.uint8]
    """uint8 (symbols,): code of each value symbol."""
    value_share: NDArray[np.uint16]
    depth_share: NDArray[np.uint16]
    values: Coded
    function_share: NDArray[np.uint16]
    """Of no rows if the table has no functions."""
    functions: Coded


def symbols_of(code: NDArray[np.uint8], functions: int) -> Symbols:
    """Return the symbols of a table whose value symbols have these codes and that has so many functions."""
    of_code = np.full(256, -1, np.int64)
    of_code[code[FIRST_VALUE:]] = np.arange(FIRST_VALUE, len(code))
    return Symbols(of_code, code, 2 if functions <= 1 << 16 else 4)


def starts_of(length: NDArray[np.uint16]) -> NDArray[np.int64]:
    """Return where every 64th block begins."""
    ends = np.cumsum(np.add.reduceat(length, np.arange(0, len(length), 64), dtype=np.int64))
    return np.concatenate([np.zeros(1, np.int64), ends[:-1]])


class Encoder:
    """Encodes one table.

    :raises OverflowError: if a depth has no room; no material of five men comes near.
    """

    def __init__(self, table: Table, needed: Needed, threads: int) -> None:
        self._table, self._needed, self._threads = table, needed, threads
        self._rows: Rows = rows_of(table.layout, needed.side)
        self._value, self._depth = table.value[needed.side], table.depth[needed.side]
        self.blocks = self._rows.per_phase * len(table.layout.placements) // BLOCK_ROWS
        if self._depth.max() >> 1 > _MOST_HALF:
            raise OverflowError(f"{table.material}: depths beyond {2 * _MOST_HALF + 1} plies have no symbol")

    def encode(self) -> Encoded:
        """Return the stored side, encoded, decoded again and compared.

        :raises ValueError: if the table has positions elsewhere than its index says, or does not decode to
            what it was: then the program is wrong.
        """
        functions = self._table.functions
        with self._flagged(), ThreadPoolExecutor(self._threads) as pool:
            code = self._codes()
            symbols = symbols_of(code, 0 if functions is None else len(functions.start) - 1)
            shape = (VALUE_CONTEXTS, len(code)), (DEPTH_CONTEXTS, (int(self._depths_max()) >> 1) + 1)
            value_share, depth_share = (shares(sum_) for sum_ in self._count(pool, symbols, shape))
            models = model_of(value_share), model_of(depth_share)
            given = self._rows, symbols, self._value, self._depth
            values = self._encoded(
                pool, lambda part, stream, out: encode_blocks(*given, part, *models, stream, out)
            )
            function_share = np.zeros((0, 0), np.uint16)
            coded = Coded(np.zeros(0, np.uint16), np.zeros(0, np.uint16), np.zeros(0, np.uint8))
            checked = model_of(np.zeros((1, 1), np.uint16))
            number = np.zeros(0, np.uint32) if functions is None else functions.number
            if functions is not None:
                function_share = shares(self._count_functions(pool, symbols, number))
                checked = model = model_of(function_share)
                coded = self._encoded(
                    pool,
                    lambda part, stream, out: encode_function_blocks(
                        *given, number, part, model, stream, out
                    ),
                )
            streams = stream_of(values), stream_of(coded)
            for good in pool.map(
                lambda part: compare_blocks(
                    self._rows, symbols, (self._value, self._depth, number), part, (*models, checked), streams
                ),
                self._parts(),
            ):
                if not good:
                    raise ValueError(f"{self._table.material} does not decode to what was encoded")
        return Encoded(code, value_share, depth_share, values, function_share, coded)

    @contextmanager
    def _flagged(self) -> Iterator[None]:
        """Flag the depths of what need not be stored, for a while."""
        step = 1 << 16
        words = self._needed.captures
        try:
            for first in range(0, len(words), step):
                bits = np.unpackbits(words[first : first + step].view(np.uint8), bitorder="little")
                self._depth[64 * first : 64 * first + len(bits)] |= bits.astype(np.uint16) * CAPTURE_FLAG
            yield
        finally:
            self._depth &= CAPTURE_FLAG - 1

    def _depths_max(self) -> int:
        step = 1 << 24
        return max(
            int((self._depth[at : at + step] & (CAPTURE_FLAG - 1)).max())
            for at in range(0, len(self._depth), step)
        )

    def _codes(self) -> NDArray[np.uint8]:
        """The codes of all value symbols, the frequent ones first after those that are no values."""
        count, step = np.zeros(256, np.int64), 1 << 24
        for at in range(0, len(self._value), step):
            depth = self._depth[at : at + step]
            stored = (depth > 0) & (depth < CAPTURE_FLAG)
            count += np.bincount(self._value[at : at + step][stored], minlength=256)
        count[NONE] = 0
        order = np.argsort(-count, kind="stable")[: np.count_nonzero(count)]
        return np.concatenate([np.zeros(FIRST_VALUE, np.uint8), order.astype(np.uint8)])

    def _parts(self) -> Iterable[Part]:
        edges = [*range(0, self.blocks, _AT_ONCE), self.blocks]
        return list(pairwise(edges))

    def _count(
        self, pool: ThreadPoolExecutor, symbols: Symbols, shapes: tuple[tuple[int, int], tuple[int, int]]
    ) -> list[NDArray[np.int64]]:
        def count(worker: int) -> list[NDArray[np.int64]]:
            counts = [np.zeros(shape, np.int64) for shape in shapes]
            for part in list(self._parts())[worker :: self._threads]:
                if not count_blocks(self._rows, symbols, self._value, self._depth, part, *counts):
                    raise ValueError(f"{self._table.material} has positions where its index has none")
            return counts

        found = list(pool.map(count, range(self._threads)))
        return [np.sum(each, axis=0) for each in zip(*found, strict=True)]

    def _count_functions(
        self, pool: ThreadPoolExecutor, symbols: Symbols, number: NDArray[np.uint32]
    ) -> NDArray[np.int64]:
        def count(worker: int) -> NDArray[np.int64]:
            counts = np.zeros((FUNCTION_CONTEXTS, FUNCTION_ESCAPE + 1), np.int64)
            for part in list(self._parts())[worker :: self._threads]:
                count_function_blocks(self._rows, symbols, self._value, self._depth, number, part, counts)
            return counts

        return np.asarray(sum(pool.map(count, range(self._threads))))

    def _encoded(self, pool: ThreadPoolExecutor, kernel: Callable[[Part, Stream, Room], int]) -> Coded:
        length, check = np.zeros(self.blocks, np.uint16), np.zeros(self.blocks, np.uint16)
        stream = Stream(np.zeros(0, np.uint8), np.zeros(1, np.int64), length, check)

        def encode(part: Part) -> Room:
            room = np.empty((part[1] - part[0]) * _MOST_BYTES, np.uint8)
            return room[: kernel(part, stream, room)].copy()

        return Coded(length, check, np.concatenate(list(pool.map(encode, self._parts()))))


def stream_of(coded: Coded) -> Stream:
    """Return encoded blocks as decoders see them."""
    start = starts_of(coded.length) if len(coded.length) else np.zeros(1, np.int64)
    return Stream(coded.data, start, coded.length, coded.check)
