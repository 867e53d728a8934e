"""The code of packed tables: their rows, their contexts and the shares of symbols in them.

A packed table stores the positions with one side to move, the stored side. Decoders and encoders use this
module, which does not import numba.
"""

import functools
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from tbgen.board.kinds import KINDS
from tbgen.board.material import MAX_MEN, Material
from tbgen.index.layout import BLACK_TO_MOVE, IMAGE, MIRROR_FILES, SIDES, WHITE_TO_MOVE, Layout, Side
from tbgen.index.table import ValueFunctions
from tbgen.index.zeroing import blocks_after_promotions
from tbgen.store import schema
from tbgen.store.dataset import AnyArray
from tbgen.store.schema import DatasetSchema, slots_of
from tbgen.tables.open_table import OpenTable
from tbgen.tables.structs import (
    DEPTH_LEVELS,
    FIRST_SYMBOL,
    FUNCTION_LEVELS,
    LINE_BYTES,
    LINE_EDGES,
    LINE_WORDS,
    MAX_BLOCK_ROWS,
    MAX_BLOCK_SLOTS,
    MAX_CONTEXTS,
    MAX_STEPS,
    SEARCH_WIDTH,
    TOTAL,
    VALUE_LEVELS,
    Buffers,
    Coding,
    Levels,
    Model,
    RowBlock,
    Rows,
    Stream,
)

T = TypeVar("T")

_MIRRORED: Final = np.array(IMAGE[MIRROR_FILES], np.int64)

_WHOLE_VALUES: Final = [int(kind.value) for kind in KINDS]
"""The value of each kind in whole pawns. Changing a value would change which positions tables store."""

_MIN_ADVANTAGE_PAWNS = 2
"""Minimum advantage of White for which the positions with White to move are stored."""


KIND_LEVELS: Final = (VALUE_LEVELS, DEPTH_LEVELS, FUNCTION_LEVELS)
"""The levels of contexts for each kind of steps."""
BLOCKS_PER_TASK: Final = 2048
"""Number of blocks in one task of a thread."""

MODELS: Final = (schema.VALUE_MODEL, schema.DEPTH_MODEL, schema.FUNCTION_MODEL)
"""The datasets of the shares of each kind of steps."""
LENGTHS: Final = (schema.BLOCK_VALUE_LENGTH, schema.BLOCK_DEPTH_LENGTH, schema.BLOCK_FUNCTION_LENGTH)
"""The datasets of the numbers of bytes in each block."""


def stored_side(layout: Layout) -> Side:
    """Return the side to move that is stored: White, the stronger side, unless the ending is balanced.

    The stored side should have few positions, and their values should be alike. If White wins, these are the
    positions with White to move. In balanced endings, they are the positions of the side with fewer moves.
    """
    advantage = layout.white_pawns - layout.black_pawns
    for kind, colour in zip(layout.kinds, layout.colours, strict=True):
        advantage += -_WHOLE_VALUES[kind] if colour else _WHOLE_VALUES[kind]
    return WHITE_TO_MOVE if advantage >= _MIN_ADVANTAGE_PAWNS else BLACK_TO_MOVE


def digit_order(layout: Layout, side: Side) -> list[int]:
    """Return the free men in the order of the digits of a row's number, most significant first, then the row
    man.

    Rows are explained in :mod:`tbgen.tables.kernels.rows`. The men of the side not to move come first. Kings
    precede pieces, and knights precede sliders.
    """

    def men_of(colour: int) -> list[int]:
        pieces = [man for man in range(2, layout.free_count) if layout.colours[man] == colour]
        return [colour, *sorted(pieces, key=lambda man: (-layout.kinds[man], man))]

    return men_of(1 - side) + men_of(side)


def block_rows_of(layout: Layout) -> int:
    """Return the number of rows of a block: 16, doubled for each further man of the same kind.

    A block of 16 rows has about 500 positions, and costs some eight bytes for lengths, checksum and ends of
    streams. The more men are alike, the fewer slots are canonical.
    """
    return 16 << max((end - begin - 1 for begin, end in layout.like_men), default=0)


@functools.cache
def rows_of(layout: Layout, side: Side) -> Rows:
    """Return the rows of a table with one side to move, as the kernels read them."""
    order = digit_order(layout, side)
    radix = [10 if man == 0 and not layout.pawns else 64 for man in order[:-1]]
    placements = np.array(layout.placements, np.int64)
    pawns, images = (_pawns_of(layout, squares) for squares in (placements, _MIRRORED[placements]))
    return Rows(
        side=int(side),
        kinds=np.array(layout.kinds, np.int64),
        colours=np.array(layout.colours, np.int64),
        order=np.array(order, np.int64),
        men=np.arange(layout.free_count),
        like_men=np.array(layout.like_men, np.int64).reshape(-1, 2),
        pawnless=not layout.pawns,
        rows_per_phase=int(np.prod(radix)),
        pawns=pawns,
        row_shift=6 * (layout.free_count - 1 - order[-1]),
        block_rows=block_rows_of(layout),
        king_mask=63 if order[-1] == side else 0,
        is_symmetric=(pawns == images).all(axis=1).astype(np.int64),
    )


def _pawns_of(layout: Layout, placements: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the squares of White's and Black's pawns as bitboards, uint64 (n, 2)."""
    colours = placements[:, : layout.white_pawns], placements[:, layout.white_pawns :]
    return np.stack(
        [np.bitwise_or.reduce(np.uint64(1) << squares.astype(np.uint64), axis=1) for squares in colours],
        axis=1,
    )


def make_buffers() -> Buffers:
    """Return the buffers of one thread."""
    masks, checks, captures = np.zeros((3, MAX_BLOCK_ROWS), np.uint64)
    kings = np.zeros(MAX_BLOCK_ROWS, np.int64)
    squares, child, image = np.zeros((3, MAX_MEN), np.int64)
    symbol, half = np.zeros(MAX_BLOCK_SLOTS, np.uint8), np.zeros(MAX_BLOCK_SLOTS, np.uint16)
    block = RowBlock(masks, checks, captures, kings, symbol, half, np.zeros(MAX_BLOCK_SLOTS, np.uint32))
    steps = np.zeros((3, MAX_STEPS * MAX_BLOCK_SLOTS), np.int64)
    return Buffers(squares, child, image, steps, np.zeros((3, 64), np.int64), block)


class PerThread(threading.local, Generic[T]):
    """The buffers of the current thread for kernels. No data in them is used by a later call of a kernel.

    :param make: makes the buffers of a thread when the thread first uses them.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self.buffers = make()


BLOCKS: Final = PerThread(make_buffers)


def first_number(levels: Levels, level: int) -> int:
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


def model_without_shares(levels: Levels, context: NDArray[np.int64]) -> Model:
    """Return a model in which each of the contexts has its own first line, but no shares.

    :param context: int64 (contexts,), ascending numbers of contexts. The first line of number n is 1 + n;
        line 0 is for contexts that do not occur.
    :raises ValueError: if contexts do not exist or are too many.
    """
    if (context >= first_number(levels, len(levels))).any():
        raise ValueError("contexts that do not exist")
    if len(context) > MAX_CONTEXTS:
        raise ValueError("too many contexts")
    tree_node = np.zeros(levels[0], np.uint16)
    start = 0
    for level, parts in enumerate(levels[:-1]):
        tree_node = np.repeat(tree_node, parts) if level else tree_node
        inside = slice(*np.searchsorted(context, (start, start + len(tree_node))))
        tree_node[context[inside] - start] = np.arange(len(context))[inside] + 1
        start += len(tree_node)
    # The first tree nodes are those of contexts that the king class divides.
    refined = context[np.searchsorted(context, start) :] - start
    parents, index = np.unique(refined // levels[-1], return_inverse=True)
    divided = max(1, len(parents))
    if len(context) + divided > MAX_CONTEXTS:
        raise ValueError("too many contexts")
    children = np.zeros((levels[-1], divided), np.uint16)
    children[:, : len(parents)] = tree_node[parents]
    children[refined % levels[-1], index] = np.arange(len(context) - len(refined), len(context)) + 1
    tree_node += np.uint16(divided)
    tree_node[parents] = np.arange(len(parents))
    no_lines = np.zeros(0, np.uint16)
    arrays = no_lines, no_lines.view(np.uint8), no_lines.view(np.uint32)
    return Model(tree_node, divided, children.reshape(-1), *arrays)


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


def decoding_of(rows: Rows, array_of: Callable[[DatasetSchema], AnyArray]) -> Coding:
    """Return the data needed to decode a table.

    :param array_of: returns the array of a dataset.
    :raises ValueError: if the shares are not those of a table.
    """
    function_start = array_of(schema.FUNCTION_START).astype(np.int64)
    shares = [
        ContextShares(slots_of(array_of(step)), array_of(symbols), array_of(symbol), array_of(share))
        for step, symbols, symbol, share in MODELS
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
            array_of(schema.BLOCK_DATA), list(map(array_of, LENGTHS)), array_of(schema.BLOCK_CHECK)
        ),
        entry_start=function_start,
        entry_accrued=array_of(schema.FUNCTION_ACCRUED),
        entry_value=array_of(schema.FUNCTION_VALUE),
    )


def coding_of(table: OpenTable) -> Coding:
    """Return the data needed to decode a packed table.

    :raises DamagedTableError: if they contradict each other.
    """
    return table.guard(lambda: _checked_coding(table))


def _checked_coding(table: OpenTable) -> Coding:
    start = table.data(schema.FUNCTION_START)
    if (len(start) > 1) != table.info.stores_accrued:
        raise table.damaged("its functions of accrued scores contradict its attributes")
    if len(start) and (start[0] or start[-1] != table.info.runs or (start[1:] < start[:-1]).any()):
        raise table.damaged("its functions do not begin and end with their entries")
    assert table.stored_side is not None, "the table is packed"
    coding = decoding_of(rows_of(table.layout, table.stored_side), table.data)
    stream = coding.stream
    lengths = stream.value_length, stream.depth_length, stream.function_length
    if sum(int(length.sum(dtype=np.int64)) for length in lengths) != len(stream.data):
        raise table.damaged(f"its {schema.BLOCK_DATA.name} has another length")
    return coding


def exception_slots_of(table: OpenTable) -> NDArray[np.int64]:
    """Return the slots of the exceptions of a packed table, ascending."""
    slots = slots_of(table.data(schema.EXCEPTION_STEP))
    count = table.array(schema.EXCEPTION_VALUE).shape[0]
    if len(slots) != count or (count and slots[-1] >= table.layout.size):
        raise table.damaged("its exceptions are not those of its slots")
    return slots


def exceptions_of(table: OpenTable) -> tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.uint16]]:
    """Return slots, values and depths of the exceptions of a packed table: positions with the derived side to
    move whose derived result would be wrong."""
    values, depths = table.data(schema.EXCEPTION_VALUE), table.data(schema.EXCEPTION_DEPTH)
    return exception_slots_of(table), values, depths.astype(np.uint16)


def functions_of(table: OpenTable, coding: Coding, function_numbers: NDArray[np.uint32]) -> ValueFunctions:
    """Return the functions of a packed table.

    :param function_numbers: the decoded function number of each slot.
    :raises DamagedTableError: if no function has one of these numbers.
    """
    if int(function_numbers.max(initial=0)) >= len(coding.entry_start) - 1:
        raise table.damaged("it has positions with functions that do not exist")
    side = SIDES[coding.rows.side]
    return ValueFunctions(
        side, function_numbers, coding.entry_start, coding.entry_accrued, coding.entry_value
    )


def materials_after_promotions(layout: Layout, phase: int, side: Side) -> set[Material]:
    """Return the materials after promotions of ``side`` from a phase. They have as many men as the table."""
    white = layout.white_pawns
    placement = layout.placements[phase]
    pawns = placement[white:] if side else placement[:white]
    if not any(square < 16 if side else square >= 48 for square in pawns):
        return set()
    return {material for material, _ in blocks_after_promotions(layout, [phase])}
