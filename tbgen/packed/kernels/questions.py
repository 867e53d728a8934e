"""Questions about positions of the stored side of a packed table, and what its blocks say of them.

A *question* is an int64: twice the position's place in the order of the rows (64 times the row plus the
square of the row man), plus 1 if its function is wanted too. In rising order, questions decode every block
once.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbgen.compiler.jit import inlined, int64, jit, kernel
from tbgen.packed.kernels.blocks import (
    BLOCK_ROWS,
    BLOCK_SLOTS,
    Block,
    Scratch,
    Stream,
    Symbols,
    find_mask,
    make_block,
    make_scratch,
)
from tbgen.packed.kernels.decode import decode_functions, decode_values
from tbgen.packed.kernels.position import (
    MAX_QUIET,
    Men,
    attacks_a_man,
    make_canonical,
    quiet_moves,
    rank_of_position,
    set_squares,
)
from tbgen.packed.kernels.rans import Model
from tbgen.packed.kernels.rows import MAX_FREE, Rows, first_slot, place_row, row_of
from tbgen.packed.kernels.rule import own_score, rank_of_code
from tbgen.retro.kernels.bits import ZERO, Codes, Ints, Plies

DAMAGED = -1
"""In the place of a symbol or a value: a block is not what was written."""


class Coding(NamedTuple):
    """All that is needed to decode a table."""

    rows: Rows
    symbols: Symbols
    values: Model
    depths: Model
    functions: Model
    value_stream: Stream
    function_stream: Stream
    entry_start: Ints
    """int64 (functions + 1,): where the entries of each function begin."""
    entry_accrued: Codes
    """uint8 (entries,): code of A."""
    entry_value: Codes
    """uint8 (entries,): code of V(P, A), NONE or FRESH."""


class Asked(NamedTuple):
    """Questions with their answers."""

    question: Ints
    """int64 (n,)."""
    rank: Codes
    """uint8 (n,): rank of the position, where the asker knows it."""
    symbol: NDArray[np.int16]
    """int16 (n,): value symbol, or DAMAGED."""
    half: Plies
    """uint16 (n,): half the depth, of those with a value."""
    function: NDArray[np.uint32]
    """uint32 (n,): function, where it was wanted."""


class Pending(NamedTuple):
    """Positions whose captures somebody has to look up."""

    slot: Ints
    """int64 (n,)."""
    said: Ints
    """int64 (n,): what their functions say of the accrued score: a code, NONE or FRESH."""


class Room(NamedTuple):
    """Working memory of one thread."""

    squares: Ints
    """int64 (5,): men of the position probed."""
    child: Ints
    """int64 (5,): men of the position in hand."""
    moves: Ints
    """int64 (MAX_QUIET,)."""
    asked: Asked
    """Of MAX_QUIET questions, those of one probe."""
    order: Ints
    """int64 (MAX_QUIET,): their order, in which they are listed."""
    pending: Pending
    """Of MAX_QUIET positions."""
    scratch: Scratch
    block: Block


@jit
def make_asked(count: int) -> Asked:
    """Return room for so many questions."""
    return Asked(
        np.empty(count, np.int64),
        np.empty(count, np.uint8),
        np.empty(count, np.int16),
        np.empty(count, np.uint16),
        np.empty(count, np.uint32),
    )


@jit
def make_room() -> Room:
    """Return working memory for one thread."""
    return Room(
        np.zeros(MAX_FREE, np.int64),
        np.zeros(MAX_FREE, np.int64),
        np.zeros(MAX_QUIET, np.int64),
        make_asked(MAX_QUIET),
        np.arange(MAX_QUIET),
        Pending(np.zeros(MAX_QUIET, np.int64), np.zeros(MAX_QUIET, np.int64)),
        make_scratch(),
        make_block(),
    )


@inlined
def _question(rows: Rows, phase: int, squares: Ints, function: bool) -> int:
    square = int64(squares[rows.order[len(rows.kinds) - 1]])
    return 2 * (64 * row_of(rows, phase, squares) + square) + function


@inlined
def block_of(question: int) -> int:
    """The block that a question asks for."""
    return question // (2 * BLOCK_SLOTS)


@inlined
def slot_of(rows: Rows, question: int, squares: Ints) -> int:
    """The slot of the position asked about; ``squares`` is scratch."""
    row, square = question // 128, question // 2 % 64
    place_row(rows, row, squares)
    return first_slot(rows, row, squares) + (square << rows.row_shift)


@kernel
def ask(rows: Rows, slot: int, function: bool, room: Room) -> int:
    """The question about a canonical slot of the stored side, its function included or not."""
    phase = set_squares(rows, slot, room.squares)
    return _question(rows, phase, room.squares, function)


@kernel
def ask_children(rows: Rows, slot: int, accrued: int, asked: Asked, first: int, room: Room) -> int:
    """List what the quiet moves from a canonical slot of the other side lead to, with their ranks, from
    ``asked.question[first]`` on; return the end of the list.

    Functions are wanted where an accrued score is inherited and counts: where it is a position's own score,
    best play from there is that from its fresh state.

    :param accrued: the code of the accrued score, -1 for none.
    """
    phase = set_squares(rows, slot, room.squares)
    count = quiet_moves(rows, Men(room.squares, phase), 1 - rows.side, room.moves)
    for number in range(count):
        move = room.moves[number]
        for man in range(len(rows.kinds)):
            room.child[man] = room.squares[man]
        room.child[move >> 8] = move & 255
        make_canonical(rows, phase, room.child, room.scratch.image)
        rank = rank_of_position(rows, Men(room.child, phase), rows.side)
        inherits = accrued >= 0 and rank >= rank_of_code(accrued) and own_score(rows.side, rank) != accrued
        asked.question[first + number] = _question(rows, phase, room.child, inherits)
        asked.rank[first + number] = rank
    return first + count


@kernel
def may_zero(rows: Rows, slot: int, room: Room) -> bool:
    """Whether a canonical slot of the side that is not stored may have a zeroing move: it has pawns, or
    attacks a man."""
    phase, side = set_squares(rows, slot, room.squares), 1 - rows.side
    return rows.pawns[phase, side] != ZERO or attacks_a_man(rows, Men(room.squares, phase), side)


@kernel
def answer(coding: Coding, asked: Asked, order: Ints, first: int, end: int, room: Room) -> None:
    """Answer the questions whose places are ``order[first:end]``. A block is decoded once for all neighbours
    that ask for it, and no further than it takes."""
    rows, block, scratch = coding.rows, room.block, room.scratch
    while first < end:
        number, last, functions, after = block_of(asked.question[order[first]]), 0, 0, first
        while after < end and block_of(asked.question[order[after]]) == number:
            question = asked.question[order[after]]
            last = max(last, question // 2 % BLOCK_SLOTS)
            functions |= question & 1
            after += 1
        for at in range(last // 64 + 1):
            find_mask(rows, number * BLOCK_ROWS + at, at, scratch, block)
        good = decode_values(coding.value_stream, number, coding.values, coding.depths, last, scratch, block)
        good_functions = good
        if good and functions:
            good_functions = decode_functions(
                coding.function_stream,
                number,
                coding.functions,
                coding.symbols.escape_bytes,
                last,
                scratch,
                block,
            )
        for at in order[first:after]:
            question = asked.question[at]
            place = question // 2 % BLOCK_SLOTS
            known = good_functions if question & 1 else good
            asked.symbol[at] = int64(block.symbol[place]) if known else DAMAGED
            asked.half[at] = block.half[place]
            asked.function[at] = block.function[place]
        first = after
