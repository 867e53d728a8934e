"""Encoding of the stored side of a table on several threads.

A sample of the blocks determines which contexts have shares of their own. Then a first pass counts how often
each symbol occurs in these contexts, and a second pass encodes the blocks.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE
from tbgen.index.arrays import Part, parts_of_size
from tbgen.index.table import Table, count_positions
from tbgen.store import schema
from tbgen.store.dataset import AnyArray, content_datasets, datasets, unencoded_arrays
from tbgen.store.schema import DatasetSchema, steps_of
from tbgen.store.writer import FileContent
from tbgen.system.memory import unload
from tbgen.tables.coding import (
    BLOCKS,
    BLOCKS_PER_TASK,
    KIND_LEVELS,
    LENGTHS,
    MODELS,
    ContextShares,
    decoding_of,
    escape_bytes,
    first_number,
    model_of,
    model_without_shares,
    rows_of,
    stream_of,
)
from tbgen.tables.kernels.encode import (
    Counts,
    count_blocks,
    count_codes,
    decode_blocks,
    encode_blocks,
    find_shares,
    list_sampled_blocks,
)
from tbgen.tables.pack import StoredPositions
from tbgen.tables.structs import (
    FIRST_VALUE,
    MAX_CONTEXTS,
    TOTAL,
    Content,
    Encoding,
    Levels,
    Model,
    Rows,
    Stream,
)

_SHARE_BITS: Final = 12
"""Approximate number of bits of a share in a file."""
_SAMPLE_BITS: Final = 0.72
"""Number of bits by which a sample underestimates the bits of a context, for each of its symbols: half of
log2(e), because frequencies in a sample deviate from the true ones (Miller and Madow)."""
_CONTEXT_BITS: Final = 1000
"""Number of bits that a context must save in addition to those of its shares. More contexts slow decoders
down. Against contexts of one level and two neighbours, files shrink by 10 % (KQRvKR) to 18 % (KRPvKR)."""
_MAX_LEVEL_CONTEXTS: Final = MAX_CONTEXTS // 6
"""Maximum number of contexts with shares of their own on each level after the first. Up to as many other
contexts have nodes."""


Steps = NDArray[np.int64]

_MAX_SLOT_BYTES: Final = 14
"""Upper bound of the encoded size of a position in bytes. A position is encoded in at most nine steps, each
of at most twelve bits. A step encodes a symbol or a byte."""
_SLOTS_PER_TASK: Final = 1 << 22
"""Number of slots that one task counts or flags."""

_MAX_SAMPLED_BITS: Final = 13
"""Binary logarithm of the approximate maximum number of blocks in a sample."""
_MAX_LISTED_STEPS: Final = 1 << 20
"""Maximum number of steps that are listed at once."""


def contexts_of(levels: Levels, steps: Steps, counts: NDArray[np.int64], sampled: int) -> NDArray[np.int64]:
    """Return the contexts for which shares of their own save more bits than they take.

    All contexts of the first level are included.

    :param steps: int64 (n,), the steps of a sample, in any order. A step may occur several times.
    :param counts: int64 (n,), the frequency of each step.
    :param sampled: number of blocks of the table for each block of the sample.
    :returns: int64 (contexts,), the numbers of the contexts, ascending. Contexts are numbered level by level.
    """
    steps, index = np.unique(steps, return_inverse=True)
    count = sampled * np.bincount(index, weights=counts)
    kept = list[NDArray[np.int64]]()
    for level in range(len(levels) - 1, 0, -1):
        first_steps = _first_steps(steps)
        in_parent, index = np.unique((steps >> 8) // levels[level] << 8 | steps & 255, return_inverse=True)
        parent_bits = _bits(np.bincount(index, weights=count), _first_steps(in_parent))[index]
        saved = np.add.reduceat(count * (parent_bits - _bits(count, first_steps)), first_steps)
        symbols = np.diff(first_steps, append=len(steps))
        saved -= (_SHARE_BITS + _SAMPLE_BITS * (sampled - 1)) * symbols
        least = np.sort(saved)[-_MAX_LEVEL_CONTEXTS - 1] if len(saved) > _MAX_LEVEL_CONTEXTS else 0
        keep = saved > max(least, _CONTEXT_BITS)
        kept.append((steps[first_steps[keep]] >> 8) + first_number(levels, level))
        rest = np.bincount(index, weights=np.where(np.repeat(keep, symbols), 0, count))
        steps, count = in_parent[rest > 0], rest[rest > 0]
    return np.concatenate([np.arange(levels[0]), *reversed(kept)])


def _first_steps(steps: Steps) -> NDArray[np.int64]:
    """Return the index of the first step of each context in sorted steps."""
    return np.flatnonzero(np.diff(steps >> 8, prepend=-1))


def _bits(count: NDArray[Any], first_symbols: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the number of bits of each symbol, computed from its frequency.

    :param first_symbols: index of the first symbol of each context.
    """
    total = np.add.reduceat(count, first_symbols)
    shares = count / np.repeat(total, np.diff(first_symbols, append=len(count)))
    return np.asarray(-np.log2(np.maximum(shares, 1 / TOTAL)))


def shares_of(context: NDArray[np.int64], counts: NDArray[np.int64]) -> ContextShares:
    """Return the shares of the symbols in the contexts that occur.

    :param counts: int64 (contexts, 256), the frequency of each symbol in each context.
    """
    used = counts.any(axis=1)
    context, counts = context[used], counts[used]
    row, symbol = counts.nonzero()
    symbols = np.count_nonzero(counts, axis=1)
    share = np.zeros(len(row), np.uint16)
    find_shares(np.append(0, np.cumsum(symbols)), counts[row, symbol], share)
    order = np.lexsort((-share.astype(np.int64), row))
    return ContextShares(context, symbols.astype(np.uint16), symbol[order].astype(np.uint8), share[order])


def new_stream(blocks: int) -> Stream:
    """Return a stream of empty blocks."""
    *lengths, checksum = np.zeros((4, blocks), np.uint16)
    return stream_of(np.zeros(0, np.uint8), lengths, checksum)


def encoding_of(
    rows: Rows, code: NDArray[np.uint8], function_count: int, models: Sequence[Model] | None = None
) -> Encoding:
    """Return an encoding of a table.

    :param code: code of each value symbol.
    :param function_count: number of functions of the table.
    :param models: the models of the three kinds of steps. They are not needed to list steps.
    """
    symbol_of = np.full(256, -1, np.int64)
    symbol_of[code[FIRST_VALUE:]] = np.arange(FIRST_VALUE, len(code))
    no_context = np.zeros(0, np.int64)
    values, depths, functions = models or [model_without_shares(levels, no_context) for levels in KIND_LEVELS]
    return Encoding(rows, symbol_of, escape_bytes(function_count), values, depths, functions)


def new_counts(*contexts: int) -> tuple[Counts, Counts, Counts]:
    """Return counts, all zeros, for the given number of contexts of each of the three kinds."""
    values, depths, functions = (np.zeros((count + 1, 256), np.uint32) for count in contexts)
    return values, depths, functions


class Encoder:
    """Encodes one table on several threads."""

    def __init__(self, table: Table, positions: StoredPositions, threads: int) -> None:
        self._table = table
        self._threads = threads
        functions = table.functions
        self._function_count = 0 if functions is None else len(functions.start) - 1
        self._content = Content(
            table.value[positions.side],
            table.depth[positions.side],
            np.zeros(0, np.uint32)
            if functions is None
            else functions.function_numbers.astype(np.uint32, copy=False),
            positions.omitted,
        )
        self._rows = rows_of(table.layout, positions.side)
        self._blocks = table.layout.size // (64 * self._rows.block_rows)
        self._tasks = parts_of_size(0, self._blocks, BLOCKS_PER_TASK)

    def encode(self) -> dict[DatasetSchema, AnyArray]:
        """Return the datasets of the table except counts and exceptions.

        Before they are returned, the encoded blocks are decoded and compared with the table.

        :raises ValueError: if the slots that have values are not exactly those that stand for positions, or
            if the encoded table decodes to other values. Both are errors in the program.
        """
        encoded = unencoded_arrays(self._table)
        with ThreadPoolExecutor(self._threads) as pool:
            code = self._codes(pool)
            contexts = self._choose_contexts(pool, encoding_of(self._rows, code, self._function_count))
            models = list(map(model_without_shares, KIND_LEVELS, contexts))
            encoding = encoding_of(self._rows, code, self._function_count, models)
            counts = self._count(pool, encoding, [len(part) for part in contexts])
            shares = list(pool.map(shares_of, contexts, counts))
            encoded[schema.CODE] = code
            for model, part in zip(MODELS, shares, strict=True):
                encoded |= {model.step: steps_of(part.context), model.symbols: part.symbols}
                encoded |= {model.symbol: part.symbol, model.share: part.share}
            models = list(map(model_of, KIND_LEVELS, shares))
            encoding = encoding_of(self._rows, code, self._function_count, models)
            encoded |= self._encoded_blocks(pool, encoding)
            self._compare(pool, encoded)
        return encoded

    def _unload(self, start: int, stop: int) -> None:
        """Unload a range of slots from memory if the table is in a large file."""
        for array in (self._content.value, self._content.depth, self._content.function_number):
            unload(array[start:stop])

    def _unload_phases(self, part: Part) -> None:
        """Unload from memory the phases whose last blocks are in a range of blocks.

        A block has slots anywhere in its phase. Other threads may still be processing the end of the phase
        before this range, so this phase is included.
        """
        size = self._table.layout.phase_size
        start, stop = (block * 64 * self._rows.block_rows // size for block in part)
        self._unload(max(start - 1, 0) * size, stop * size)

    def _codes(self, pool: ThreadPoolExecutor) -> NDArray[np.uint8]:
        """Return the code of each symbol: 0 for the symbols that are not values, then values in
        descending order of frequency."""

        def count_part(part: Part) -> NDArray[np.int64]:
            frequencies = np.zeros(256, np.int64)
            count_codes(self._content, frequencies, *part)
            self._unload(*part)
            return frequencies

        slots = parts_of_size(0, len(self._content.value), _SLOTS_PER_TASK)
        total = np.sum(list(pool.map(count_part, slots)), axis=0)
        total[NONE] = 0
        order = np.argsort(-total, kind="stable")[: np.count_nonzero(total)]
        return np.concatenate([np.zeros(FIRST_VALUE, np.uint8), order.astype(np.uint8)])

    def _choose_contexts(self, pool: ThreadPoolExecutor, encoding: Encoding) -> list[NDArray[np.int64]]:
        """Return the contexts of each kind that have shares of their own."""
        sampling_bits = max(0, self._blocks.bit_length() - _MAX_SAMPLED_BITS)

        def list_part(part: Part) -> list[list[tuple[Steps, NDArray[np.int64]]]]:
            block, end = part
            listed = list[list[tuple[Steps, NDArray[np.int64]]]]()
            while block < end:
                steps = np.empty((3, _MAX_LISTED_STEPS), np.int64)
                lengths = np.zeros(3, np.int64)
                arguments = encoding, self._content, sampling_bits, BLOCKS.buffers
                block = list_sampled_blocks(*arguments, block, end, steps, lengths)
                pairs = zip(steps, lengths, strict=True)
                listed.append([np.unique(row[:length], return_counts=True) for row, length in pairs])
            self._unload_phases(part)
            return listed

        def choose(levels: Levels, listed: Sequence[tuple[Steps, NDArray[np.int64]]]) -> NDArray[np.int64]:
            steps, counts = map(np.concatenate, zip(*listed, strict=True))
            return contexts_of(levels, steps, counts, 1 << sampling_bits)

        listed = [kinds for part in pool.map(list_part, self._tasks) for kinds in part]
        return list(pool.map(choose, KIND_LEVELS, zip(*listed, strict=True)))

    def _count(
        self, pool: ThreadPoolExecutor, encoding: Encoding, sizes: Sequence[int]
    ) -> list[NDArray[np.int64]]:
        """Return the frequency of each symbol in each context of each kind, int64 (contexts, 256).

        :param encoding: an encoding whose models have the contexts.
        :param sizes: number of contexts of each kind.
        """
        parts = iter(self._tasks)  # the threads share the parts

        def count_parts(_: int) -> tuple[tuple[Counts, Counts, Counts], int]:
            counts = new_counts(*sizes)
            positions = 0
            for part in parts:
                counted = count_blocks(encoding, self._content, counts, BLOCKS.buffers, *part)
                if counted < 0:
                    return counts, -1
                self._unload_phases(part)
                positions += counted
            return counts, positions

        results = list(pool.map(count_parts, range(self._threads)))
        positions = [count for _, count in results]
        if min(positions) < 0 or sum(positions) != count_positions(self._content.value):
            raise ValueError(f"{self._table.material} has positions in other slots than its index")
        by_kind = zip(*[counts for counts, _ in results], strict=True)
        return [np.add.reduce(counts, dtype=np.int64)[1:] for counts in by_kind]

    def _encoded_blocks(self, pool: ThreadPoolExecutor, encoding: Encoding) -> dict[DatasetSchema, AnyArray]:
        """Return the datasets of the blocks."""
        stream = new_stream(self._blocks)
        block_slots = 64 * self._rows.block_rows

        def encode(part: Part) -> NDArray[np.uint8]:
            data = np.empty((part[1] - part[0]) * block_slots * _MAX_SLOT_BYTES, np.uint8)
            end = encode_blocks(encoding, self._content, replace(stream, data=data), BLOCKS.buffers, *part)
            self._unload_phases(part)
            return data[:end].copy()

        data = np.concatenate(list(pool.map(encode, self._tasks)))
        function_length = stream.function_length[: self._blocks if self._function_count else 0]
        lengths = stream.value_length, stream.depth_length, function_length
        return {
            schema.BLOCK_DATA: data,
            schema.BLOCK_CHECK: stream.checksum,
            **dict(zip(LENGTHS, lengths, strict=True)),
        }

    def _compare(self, pool: ThreadPoolExecutor, encoded: Mapping[DatasetSchema, AnyArray]) -> None:
        """Decode the encoded blocks, and compare them with the table."""
        coding = decoding_of(self._rows, encoded.__getitem__)

        def compare(part: Part) -> bool:
            equal = decode_blocks(coding, self._content, True, BLOCKS.buffers, *part)
            self._unload_phases(part)
            return equal

        if not all(pool.map(compare, self._tasks)):
            raise ValueError(f"{self._table.material} does not decode to what was encoded")


def packed_content(table: Table, positions: StoredPositions, threads: int = 2) -> FileContent:
    """Return the content of the file of a table in packed form, for :func:`tbgen.store.writer.write_table`.

    Functions are stored if the table has them. Runs are not stored.

    :param threads: number of threads that encode. One more thread counts values and positions meanwhile.
    :raises ValueError: if the table does not decode to the same values.
    """
    derived = 1 - positions.side
    with ThreadPoolExecutor(1) as pool:
        facts = pool.submit(table.facts)
        counts = pool.submit(lambda: table.value_counts)
        encoded = Encoder(table, positions, threads).encode()
    arrays = {
        **encoded,
        schema.COUNT: counts.result(),
        schema.EXCEPTION_STEP: steps_of(positions.exceptions),
        schema.EXCEPTION_VALUE: table.value[derived][positions.exceptions],
        schema.EXCEPTION_DEPTH: table.depth[derived][positions.exceptions],
    }
    stored = datasets(schema.PACKED.datasets, arrays)
    attributes = {
        **facts.result(),
        "stored_side": int(positions.side),
        "stored": "".join(f"{dataset.manifest_line()}\n" for dataset in stored),
    }
    return FileContent(schema.PACKED, attributes, stored, content_datasets(table))
