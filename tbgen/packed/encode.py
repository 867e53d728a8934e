"""Encoding the stored side of a table: frequencies first, then the blocks, on several threads."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE
from tbgen.index.table import Table
from tbgen.packed.kernels.blocks import (
    BLOCK_ROWS,
    BLOCK_SLOTS,
    CAPTURE_FLAG,
    DEPTH_CONTEXTS,
    FIRST_VALUE,
    FUNCTION_CONTEXTS,
    FUNCTION_ESCAPE,
    HALF_ESCAPE,
    VALUE_CONTEXTS,
    Stream,
    Symbols,
)
from tbgen.packed.kernels.encode import (
    Content,
    compare_blocks,
    count_blocks,
    count_codes,
    encode_blocks,
)
from tbgen.packed.kernels.rans import Model
from tbgen.packed.kernels.rows import Rows
from tbgen.packed.model import model_of, shares
from tbgen.packed.order import rows_of
from tbgen.packed.pack import Needed
from tbgen.packed.parts import Part, parts_of

_MOST_BYTES: Final = 8 * BLOCK_SLOTS
"""Bytes that a block may take: no step takes more than twelve bits."""

Given = tuple[Rows, Symbols, Content]
"""What the kernels are told of a table."""


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
    if not len(length):
        return np.zeros(1, np.int64)
    ends = np.cumsum(np.add.reduceat(length, np.arange(0, len(length), 64), dtype=np.int64))
    return np.concatenate([np.zeros(1, np.int64), ends[:-1]])


class Encoder:
    """Encodes one table on some threads.

    :raises OverflowError: if a depth has no room; no material of five men comes near.
    """

    def __init__(self, table: Table, needed: Needed, threads: int) -> None:
        self._table, self._needed, self._threads = table, needed, threads
        self._rows: Rows = rows_of(table.layout, needed.side)
        functions = table.functions
        self._functions = 0 if functions is None else len(functions.start) - 1
        self._content = Content(
            table.value[needed.side],
            table.depth[needed.side],
            np.zeros(0, np.uint32) if functions is None else functions.number,
        )
        self.blocks = self._rows.per_phase * len(table.layout.placements) // BLOCK_ROWS

    def encode(self) -> Encoded:
        """Return the stored side, encoded, decoded again and compared.

        :raises ValueError: if the table has positions elsewhere than its index says, or does not decode to
            what it was: then the program is wrong.
        """
        if (deepest := int(self._content.depth.max(initial=0))) >= CAPTURE_FLAG:
            raise OverflowError(f"{self._table.material}: there is no room for depths of {deepest} plies")
        with self._flagged(), ThreadPoolExecutor(self._threads) as pool:
            code, deepest = self._codes(pool)
            symbols = symbols_of(code, self._functions)
            given = self._rows, symbols, self._content
            value_share, depth_share, function_share = map(
                shares, self._count(pool, given, min(deepest >> 1, HALF_ESCAPE))
            )
            models = (
                model_of(value_share),
                model_of(depth_share),
                model_of(function_share if self._functions else np.zeros((1, 1), np.uint16)),
            )
            values, functions = self._encoded(pool, given, models)
            streams = stream_of(values), stream_of(functions)
            for good in pool.map(
                lambda part: compare_blocks(*given, part, models, streams), parts_of(0, self.blocks)
            ):
                if not good:
                    raise ValueError(f"{self._table.material} does not decode to what was encoded")
        return Encoded(code, value_share, depth_share, values, function_share, functions)

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
        """The codes of all value symbols, the frequent ones first after those that are no values, and the
        greatest depth in plies."""
        counts = np.zeros((self._threads, 256), np.int64)
        edges = np.linspace(0, len(self._content.value), self._threads + 1).astype(int).tolist()
        deepest = max(
            pool.map(partial(count_codes, self._content), edges[:-1], edges[1:], counts),
        )
        count = counts.sum(axis=0)
        count[NONE] = 0
        order = np.argsort(-count, kind="stable")[: np.count_nonzero(count)]
        return np.concatenate([np.zeros(FIRST_VALUE, np.uint8), order.astype(np.uint8)]), deepest

    def _count(self, pool: ThreadPoolExecutor, given: Given, most_half: int) -> list[NDArray[np.int64]]:
        """How often each symbol occurs in each context: values, depths and functions."""
        of_functions = (FUNCTION_CONTEXTS, FUNCTION_ESCAPE + 1) if self._functions else (0, 0)

        def count(worker: int) -> list[NDArray[np.int64]]:
            counts = (
                np.zeros((VALUE_CONTEXTS, len(given[1].code)), np.int64),
                np.zeros((DEPTH_CONTEXTS, most_half + 1), np.int64),
                np.zeros(of_functions, np.int64),
            )
            for part in parts_of(0, self.blocks)[worker :: self._threads]:
                if not count_blocks(*given, part, counts):
                    raise ValueError(f"{self._table.material} has positions where its index has none")
            return list(counts)

        found = list(pool.map(count, range(self._threads)))
        return [np.sum(each, axis=0) for each in zip(*found, strict=True)]

    def _encoded(
        self, pool: ThreadPoolExecutor, given: Given, models: tuple[Model, Model, Model]
    ) -> tuple[Coded, Coded]:
        """The blocks of values and depths, and those of functions."""
        streams = _unwritten(self.blocks), _unwritten(self.blocks if self._functions else 0)

        def encode(part: Part) -> list[NDArray[np.uint8]]:
            most = (part[1] - part[0]) * _MOST_BYTES
            rooms = np.empty(most, np.uint8), np.empty(most if self._functions else 0, np.uint8)
            ends = encode_blocks(*given, part, models, streams, rooms)
            return [room[:end].copy() for room, end in zip(rooms, ends, strict=True)]

        data = zip(*pool.map(encode, parts_of(0, self.blocks)), strict=True)
        values, functions = (
            Coded(stream.length, stream.check, np.concatenate(pieces))
            for stream, pieces in zip(streams, data, strict=True)
        )
        return values, functions


def _unwritten(blocks: int) -> Stream:
    """A stream whose blocks have no bytes yet."""
    lengths, checks = np.zeros(blocks, np.uint16), np.zeros(blocks, np.uint16)
    return Stream(np.zeros(0, np.uint8), np.zeros(1, np.int64), lengths, checks)


def stream_of(coded: Coded) -> Stream:
    """Return encoded blocks as decoders see them."""
    return Stream(coded.data, starts_of(coded.length), coded.length, coded.check)
