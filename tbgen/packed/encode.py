"""Encoding the stored side of a table: frequencies first, then the blocks, on several threads."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
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
    Coding,
    Content,
    Stream,
)
from tbgen.packed.kernels.encode import count_blocks, count_codes, decode_blocks, encode_blocks
from tbgen.packed.kernels.rows import Rows
from tbgen.packed.model import NO_MODEL, model_of, shares
from tbgen.packed.order import rows_of
from tbgen.packed.pack import Needed
from tbgen.packed.parts import Part, parts_of
from tbgen.packed.rooms import ROOMS

_MOST_BYTES: Final = 8 * BLOCK_SLOTS
"""Bytes that a block may take: no step takes more than twelve bits."""


def symbols_of(code: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the value symbol of each code, int64 (256,), given the codes of the value symbols."""
    of_code = np.full(256, -1, np.int64)
    of_code[code[FIRST_VALUE:]] = np.arange(FIRST_VALUE, len(code))
    return of_code


def escape_bytes(functions: int) -> int:
    """Return how many bytes the number of a rare one of so many functions takes."""
    return 2 if functions <= 1 << 16 else 4


def stream_of(data: NDArray[np.uint8], length: NDArray[np.uint16], check: NDArray[np.uint16]) -> Stream:
    """Return coded blocks as decoders see them, given their bytes, lengths and checksums."""
    starts = np.cumsum(length, dtype=np.int64) - length
    return Stream(data, starts[::64].copy(), length, check)


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
        self._blocks = self._rows.per_phase * len(table.layout.placements) // BLOCK_ROWS

    def encode(self) -> Coding:
        """Return the stored side, encoded, decoded again and compared.

        :raises ValueError: if the table has positions elsewhere than its index says, or does not decode to
            what it was: then the program is wrong.
        """
        if (deepest := int(self._content.depth.max(initial=0))) >= CAPTURE_FLAG:
            raise OverflowError(f"{self._table.material}: there is no room for depths of {deepest} plies")
        with self._flagged(), ThreadPoolExecutor(self._threads) as pool:
            code, deepest = self._codes(pool)
            coding = unwritten(self._rows, code, self._functions)
            values, depths, functions = (
                model_of(shares(counts)) if counts.size else NO_MODEL
                for counts in self._count(pool, coding, min(deepest >> 1, HALF_ESCAPE))
            )
            coding = replace(coding, values=values, depths=depths, functions=functions)
            coding = self._written(pool, coding)
            compare = partial(ROOMS.lent(decode_blocks), coding, self._content, True)
            if not all(pool.map(lambda part: compare(*part), parts_of(0, self._blocks))):
                raise ValueError(f"{self._table.material} does not decode to what was encoded")
        return coding

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

    def _count(self, pool: ThreadPoolExecutor, coding: Coding, most_half: int) -> list[NDArray[np.int64]]:
        """How often each symbol occurs in each context: values, depths and functions."""
        of_functions = (FUNCTION_CONTEXTS, FUNCTION_ESCAPE + 1) if self._functions else (0, 0)

        def count(worker: int) -> list[NDArray[np.int64]]:
            counts = (
                np.zeros((VALUE_CONTEXTS, len(coding.code)), np.int64),
                np.zeros((DEPTH_CONTEXTS, most_half + 1), np.int64),
                np.zeros(of_functions, np.int64),
            )
            for part in parts_of(0, self._blocks)[worker :: self._threads]:
                if not ROOMS.lent(count_blocks)(coding, self._content, counts, *part):
                    raise ValueError(f"{self._table.material} has positions where its index has none")
            return list(counts)

        found = list(pool.map(count, range(self._threads)))
        return [np.sum(each, axis=0) for each in zip(*found, strict=True)]

    def _written(self, pool: ThreadPoolExecutor, coding: Coding) -> Coding:
        """The coding with its blocks, those of values and depths and those of functions."""
        blocks = (self._blocks, self._blocks if self._functions else 0)
        values, functions = (_no_stream(count) for count in blocks)
        coding = replace(coding, value_stream=values, function_stream=functions)

        def encode(part: Part) -> list[NDArray[np.uint8]]:
            most = (part[1] - part[0]) * _MOST_BYTES
            written = np.empty(most, np.uint8), np.empty(most if self._functions else 0, np.uint8)
            ends = ROOMS.lent(encode_blocks)(coding, self._content, written, *part)
            return [each[:end].copy() for each, end in zip(written, ends, strict=True)]

        data = map(np.concatenate, zip(*pool.map(encode, parts_of(0, self._blocks)), strict=True))
        values, functions = (
            stream_of(written, stream.length, stream.check)
            for stream, written in zip((values, functions), data, strict=True)
        )
        return replace(coding, value_stream=values, function_stream=functions)


def unwritten(rows: Rows, code: NDArray[np.uint8], functions: int) -> Coding:
    """Return the coding of a table with so many functions, of which only the codes of its symbols are
    known."""
    none = np.zeros(0, np.uint8)
    return Coding(
        rows,
        symbols_of(code),
        code,
        escape_bytes(functions),
        values=NO_MODEL,
        depths=NO_MODEL,
        functions=NO_MODEL,
        value_stream=_no_stream(0),
        function_stream=_no_stream(0),
        entry_start=np.zeros(1, np.int64),
        entry_accrued=none,
        entry_value=none,
    )


def _no_stream(blocks: int) -> Stream:
    """A stream whose blocks have no bytes yet."""
    return stream_of(np.zeros(0, np.uint8), np.zeros(blocks, np.uint16), np.zeros(blocks, np.uint16))
