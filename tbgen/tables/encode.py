"""Encoding of the stored side of a table on several threads.

A sample of the blocks determines which contexts have shares of their own. Then a first pass counts how often
each symbol occurs in these contexts, and a second pass encodes the blocks.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE
from tbgen.index.arrays import Part, parts_of_size
from tbgen.index.table import Table, count_positions
from tbgen.store import schema
from tbgen.store.dataset import AnyArray, Dataset, datasets, unchanged_arrays
from tbgen.store.schema import DatasetSchema, Manifest, manifest_of, slots_of, steps_of
from tbgen.store.writer import FileContent
from tbgen.system.memory import unload
from tbgen.tables.kernels.encode import (
    Counts,
    count_blocks,
    count_codes,
    decode_blocks,
    encode_blocks,
    find_shares,
    list_sampled_blocks,
)
from tbgen.tables.pack import BUFFERS, StoredPositions, rows_of
from tbgen.tables.structs import (
    DEPTH_LEVELS,
    FIRST_SYMBOL,
    FIRST_VALUE,
    FUNCTION_LEVELS,
    LINE_BYTES,
    LINE_EDGES,
    LINE_WORDS,
    MAX_CONTEXTS,
    SEARCH_WIDTH,
    TOTAL,
    VALUE_LEVELS,
    Coding,
    Content,
    Encoding,
    Levels,
    Model,
    Rows,
    Stream,
)

KIND_LEVELS: Final = (VALUE_LEVELS, DEPTH_LEVELS, FUNCTION_LEVELS)
"""The levels of contexts for each kind of steps."""
_SHARE_BITS: Final = 12
"""Approximate number of bits of a share in a file."""
_SAMPLE_BITS: Final = 0.72
"""Number of bits by which a sample underestimates the bits of a context, for each of its symbols: half of
log2(e), because frequencies in a sample deviate from the true ones (Miller and Madow)."""
_CONTEXT_BITS: Final = 1000
"""Number of bits that a context must save in addition to those of its shares. More contexts slow decoders
down."""
_MAX_LEVEL_CONTEXTS: Final = MAX_CONTEXTS // 6
"""Maximum number of contexts with shares of their own on each level after the first. Up to as many other
contexts have nodes."""


Steps = NDArray[np.int64]

BLOCKS_PER_TASK: Final = 2048
"""Number of blocks in one task of a thread."""

_MAX_SLOT_BYTES: Final = 14
"""Upper bound of the encoded size of a position in bytes. A position is encoded in at most nine steps, each
of at most twelve bits. A step encodes a symbol or a byte."""
_SLOTS_PER_TASK: Final = 1 << 22
"""Number of slots that one task counts or flags."""

_MODELS: Final = (schema.VALUE_MODEL, schema.DEPTH_MODEL, schema.FUNCTION_MODEL)
"""The datasets of the shares of each kind of steps."""
_LENGTHS: Final = (schema.BLOCK_VALUE_LENGTH, schema.BLOCK_DEPTH_LENGTH, schema.BLOCK_FUNCTION_LENGTH)
"""The datasets of the numbers of bytes in each block."""

_MAX_SAMPLED_BITS: Final = 13
"""Binary logarithm of the approximate maximum number of blocks in a sample."""
_MAX_LISTED_STEPS: Final = 1 << 20
"""Maximum number of steps that are listed at once."""


def contexts_of(levels: Levels, steps: Steps, sampled: int = 1) -> NDArray[np.int64]:
    """Return the contexts for which shares of their own save more bits than they take.

    All contexts of the first level are included.

    :param steps: int64 (n,), the steps of a sample, in any order.
    :param sampled: number of blocks of the table for each block of the sample.
    :returns: int64 (contexts,), the numbers of the contexts, ascending. Contexts are numbered level by level.
    """
    steps = np.sort(steps)
    starts = np.flatnonzero(np.diff(steps, prepend=-1))
    steps, count = steps[starts], sampled * np.diff(starts, append=len(steps))
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
        kept.append((steps[first_steps[keep]] >> 8) + _first_number(levels, level))
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


def _first_number(levels: Levels, level: int) -> int:
    """Return the number of the first context of a level."""
    return int(np.cumprod(levels[:level]).sum())


class ContextShares(NamedTuple):
    """The contexts of one kind that have shares of their own, in the order of their numbers."""

    context: NDArray[np.int64]
    """int64 (contexts,): numbers of the contexts, ascending."""
    symbols: NDArray[np.uint16]
    """uint16 (contexts,): number of symbols in each context."""
    symbol: NDArray[np.uint8]
    """uint8 (shares,): the symbols of all contexts, in each context by descending share."""
    share: NDArray[np.uint16]
    """uint16 (shares,): shares of the symbols."""


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


def model_without_shares(levels: Levels, context: NDArray[np.int64]) -> Model:
    """Return a model in which each of the contexts has its own first line, but no shares.

    :param context: int64 (contexts,), ascending numbers of contexts. The first line of number n is 1 + n;
        line 0 is for contexts that do not occur.
    :raises ValueError: if contexts do not exist or are too many.
    """
    if (context >= _first_number(levels, len(levels))).any():
        raise ValueError("contexts that do not exist")
    if len(context) > MAX_CONTEXTS:
        raise ValueError("too many contexts")
    node = np.zeros(levels[0], np.uint16)
    start = 0
    for level, parts in enumerate(levels[:-1]):
        node = np.repeat(node, parts) if level else node
        inside = slice(*np.searchsorted(context, (start, start + len(node))))
        node[context[inside] - start] = np.arange(len(context))[inside] + 1
        start += len(node)
    # The first nodes are those of contexts that the king class divides.
    refined = context[np.searchsorted(context, start) :] - start
    parents, index = np.unique(refined // levels[-1], return_inverse=True)
    divided = max(1, len(parents))
    if len(context) + divided > MAX_CONTEXTS:
        raise ValueError("too many contexts")
    children = np.zeros((levels[-1], divided), np.uint16)
    children[:, : len(parents)] = node[parents]
    children[refined % levels[-1], index] = np.arange(len(context) - len(refined), len(context)) + 1
    node += np.uint16(divided)
    node[parents] = np.arange(len(parents))
    no_lines = np.zeros(0, np.uint16)
    arrays = no_lines, no_lines.view(np.uint8), no_lines.view(np.uint32)
    return Model(node, divided, children.reshape(-1), *arrays)


def model_of(levels: Levels, shares: ContextShares) -> Model:
    """Return the model for encoders and decoders.

    :raises ValueError: if contexts do not exist or are too many, or if the shares of a context do not add up
        to ``TOTAL``. With such shares, decoders would search for symbols that do not exist.
    """
    context, symbols, symbol, share = shares
    size = symbols.astype(np.int64)
    ends = np.cumsum(share, dtype=np.int64)
    stop = np.cumsum(size)
    is_whole = len(context) == len(size) and len(symbol) == len(share) == size.sum() and (size > 0).all()
    if not (is_whole and (share > 0).all() and (ends[stop - 1] == TOTAL * np.arange(1, len(size) + 1)).all()):
        raise ValueError(f"shares that do not add up to {TOTAL}")
    # Line 0 is for contexts that do not occur. Then come the first lines of all contexts, then the others.
    more = (size - 1) // SEARCH_WIDTH
    first_more = 1 + len(size) + np.cumsum(more) - more
    line_count = 1 + len(size) + int(more.sum())
    memory = np.zeros((line_count + 2) * LINE_BYTES, np.uint8)
    edge = memory[-memory.ctypes.data % 64 :][: line_count * LINE_BYTES].view(np.uint16)
    edges = edge.reshape(-1, LINE_EDGES)
    symbols_ = edge.view(np.uint8).reshape(-1, LINE_BYTES)
    context_number = np.repeat(np.arange(len(size)), size)
    order = np.arange(len(symbol)) - (stop - size)[context_number]
    line = first_more[context_number] + order // SEARCH_WIDTH - 1
    column = order % SEARCH_WIDTH
    line[order < SEARCH_WIDTH] = 1 + context_number[order < SEARCH_WIDTH]
    begin = ends - share - TOTAL * context_number
    edges[:, 1 : SEARCH_WIDTH + 1] = TOTAL
    edges[line, column + 1] = begin + share
    symbols_[line, FIRST_SYMBOL + column] = symbol
    edges[line[column == 0], 0] = begin[column == 0]
    next_lines = edge.view(np.uint32).reshape(-1, LINE_WORDS)[:, -1]
    next_lines[:] = np.arange(line_count) + 1
    next_lines[1 : len(size) + 1] = first_more
    model = model_without_shares(levels, context)
    return replace(model, edge=edge, symbol=edge.view(np.uint8), next_line=edge.view(np.uint32))


def escape_bytes(function_count: int) -> int:
    """Return the number of bytes of a rare function's number in a table with ``function_count`` functions."""
    return 2 if function_count <= 1 << 16 else 4


def stream_of(
    data: NDArray[np.uint8], lengths: Sequence[NDArray[np.uint16]], checksum: NDArray[np.uint16]
) -> Stream:
    """Return encoded blocks, given as bytes, lengths and checksums, in the form that decoders use.

    :param lengths: the lengths of value symbols, half depths and functions; the last are empty if the table
        has no functions.
    """
    value, depth, function = lengths
    function = function if len(function) else np.zeros_like(value)
    total = value.astype(np.int64) + depth + function
    return Stream(data, (np.cumsum(total) - total)[::64].copy(), value, depth, function, checksum)


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
    values, depths, functions = models or [model_without_shares(each, no_context) for each in KIND_LEVELS]
    return Encoding(rows, symbol_of, escape_bytes(function_count), values, depths, functions)


def decoding_of(rows: Rows, array_of: Callable[[DatasetSchema], AnyArray]) -> Coding:
    """Return the data needed to decode a table.

    :param array_of: returns the array of a dataset.
    :raises ValueError: if the shares are not those of a table.
    """
    function_start = array_of(schema.FUNCTION_START).astype(np.int64)
    shares = [
        ContextShares(slots_of(array_of(step)), array_of(symbols), array_of(symbol), array_of(share))
        for step, symbols, symbol, share in _MODELS
    ]
    values, depths, functions = map(model_of, KIND_LEVELS, shares)
    return Coding(
        rows=rows,
        code=array_of(schema.CODE),
        escape_bytes=escape_bytes(len(function_start) - 1),
        value_model=values,
        depth_model=depths,
        function_model=functions,
        stream=stream_of(
            array_of(schema.BLOCK_DATA), list(map(array_of, _LENGTHS)), array_of(schema.BLOCK_CHECK)
        ),
        entry_start=function_start,
        entry_accrued=array_of(schema.FUNCTION_ACCRUED),
        entry_value=array_of(schema.FUNCTION_VALUE),
    )


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


def new_counts(*contexts: int) -> tuple[Counts, Counts, Counts]:
    """Return counts, all zeros, for the given number of contexts of each of the three kinds."""
    values, depths, functions = (np.zeros((number + 1, 256), np.uint32) for number in contexts)
    return values, depths, functions


class Encoder:
    """Encodes one table on several threads."""

    def __init__(self, table: Table, positions: StoredPositions, threads: int) -> None:
        self._table, self._threads = table, threads
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
            counts = self._count(pool, encoding, [len(each) for each in contexts])
            shares = list(pool.map(shares_of, contexts, counts))
            encoded[schema.CODE] = code
            for model, part in zip(_MODELS, shares, strict=True):
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

        def list_part(part: Part) -> list[list[Steps]]:
            block, end = part
            listed = list[list[Steps]]()
            while block < end:
                steps = np.empty((3, _MAX_LISTED_STEPS), np.int64)
                lengths = np.zeros(3, np.int64)
                arguments = encoding, self._content, sampling_bits, BUFFERS.blocks
                block = list_sampled_blocks(*arguments, block, end, steps, lengths)
                listed.append([steps[kind, :length].copy() for kind, length in enumerate(lengths)])
            self._unload_phases(part)
            return listed

        listed = [steps for part in pool.map(list_part, self._tasks) for steps in part]
        by_kind = [np.concatenate(steps) for steps in zip(*listed, strict=True)]
        return list(
            pool.map(
                lambda levels, steps: contexts_of(levels, steps, 1 << sampling_bits), KIND_LEVELS, by_kind
            )
        )

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
                counted = count_blocks(encoding, self._content, counts, BUFFERS.blocks, *part)
                if counted < 0:
                    return counts, -1
                self._unload_phases(part)
                positions += counted
            return counts, positions

        results = list(pool.map(count_parts, range(self._threads)))
        positions = [number for _, number in results]
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
            end = encode_blocks(encoding, self._content, replace(stream, data=data), BUFFERS.blocks, *part)
            self._unload_phases(part)
            return data[:end].copy()

        data = np.concatenate(list(pool.map(encode, self._tasks)))
        function_length = stream.function_length[: self._blocks if self._function_count else 0]
        lengths = stream.value_length, stream.depth_length, function_length
        return {
            schema.BLOCK_DATA: data,
            schema.BLOCK_CHECK: stream.checksum,
            **dict(zip(_LENGTHS, lengths, strict=True)),
        }

    def _compare(self, pool: ThreadPoolExecutor, encoded: Mapping[DatasetSchema, AnyArray]) -> None:
        """Decode the encoded blocks, and compare them with the table."""
        coding = decoding_of(self._rows, encoded.__getitem__)

        def compare(part: Part) -> bool:
            equal = decode_blocks(coding, self._content, True, BUFFERS.blocks, *part)
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
        counts = pool.submit(lambda: table.counts)
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
    return FileContent(schema.PACKED, attributes, stored, _listed_data(table))


def manifest_of_content(table: Table, threads: int = 2) -> Manifest:
    """Return the manifest of the packed form of a table."""
    with ThreadPoolExecutor(threads) as pool:
        return manifest_of(schema.PACKED, table.facts(), pool.map(Dataset.manifest_line, _listed_data(table)))


def _listed_data(table: Table) -> list[Dataset]:
    """Return the datasets that the manifest lists."""
    no_numbers = np.zeros(0, np.uint32)
    function_numbers = no_numbers if table.functions is None else table.functions.function_numbers
    return datasets(schema.CONTENT, {**unencoded_arrays(table), schema.FUNCTION_NUMBER: function_numbers})
