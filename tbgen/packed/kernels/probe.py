"""Probing a packed table: one position of the stored side, or one of the other side by a ply."""

from typing import NamedTuple

import numpy as np

from tbgen.accelerate import inlined, int64, jit, kernel
from tbgen.index.table import FRESH
from tbgen.packed.kernels.blocks import (
    BLOCK_ROWS,
    CAPTURE,
    SELF,
    Block,
    Scratch,
    Stream,
    Symbols,
    decode_functions,
    decode_values,
    find_mask,
    make_block,
    make_scratch,
)
from tbgen.packed.kernels.position import (
    MAX_QUIET,
    Men,
    make_canonical,
    quiet_moves,
    rank_of_position,
    set_squares,
)
from tbgen.packed.kernels.rans import Model
from tbgen.packed.kernels.rows import MAX_FREE, Rows, first_slot, row_of
from tbgen.retro.kernels.bits import Codes, Ints
from tbgen.score import NONE

DAMAGED = -1
"""In the place of a value: a block is not what was written."""
UNSTORED = -2
"""In the place of a value: the best capture gives it."""


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


class Room(NamedTuple):
    """Working memory of one probe."""

    squares: Ints
    """int64 (5,): men of the position probed."""
    child: Ints
    """int64 (5,): men of the position in hand."""
    moves: Ints
    """int64 (MAX_QUIET,)."""
    pending: Ints
    """int64 (MAX_QUIET,): slots of positions whose captures somebody has to look up."""
    said: Ints
    """int64 (MAX_QUIET,): what their functions say: a code, NONE or FRESH."""
    scratch: Scratch
    block: Block


@jit
def make_room() -> Room:
    """Return working memory for one thread."""
    return Room(
        np.zeros(MAX_FREE, np.int64),
        np.zeros(MAX_FREE, np.int64),
        np.zeros(MAX_QUIET, np.int64),
        np.zeros(MAX_QUIET, np.int64),
        np.zeros(MAX_QUIET, np.int64),
        make_scratch(),
        make_block(),
    )


@kernel
def find(coding: Coding, phase: int, squares: Ints, functions: bool, room: Room) -> int:
    """Decode as much of a block as it takes to know a canonical position of the stored side; return its place
    in ``room.block``, or DAMAGED."""
    rows, block = coding.rows, room.block
    row = row_of(rows, phase, squares)
    square = squares[rows.order[len(rows.kinds) - 1]]
    number, last = row // BLOCK_ROWS, row % BLOCK_ROWS
    for at in range(last + 1):
        find_mask(rows, number * BLOCK_ROWS + at, at, room.scratch, block)
    good = decode_values(coding.value_stream, number, coding.values, coding.depths, last, room.scratch, block)
    if good and functions:
        escape = coding.symbols.escape_bytes
        good = decode_functions(
            coding.function_stream, number, coding.functions, escape, last, room.scratch, block
        )
    return last * 64 + square if good else DAMAGED


@inlined
def _own_score(side: int, rank: int) -> int:
    return 255 - rank if side == 0 else rank


@inlined
def _rank(code: int) -> int:
    return code if code < NONE else 255 - code


@inlined
def _merit(side: int, code: int) -> int:
    return 255 - code if side == 0 else code


@inlined
def _fresh(coding: Coding, place: int, rank: int, block: Block) -> tuple[int, int]:
    """Value and depth of a decoded position of this rank; UNSTORED and the code of its own score if its
    captures have to be looked up."""
    symbol, side = int(block.symbol[place]), coding.rows.side
    if symbol == CAPTURE:
        return UNSTORED, _own_score(side, rank)
    if symbol == SELF:
        return _own_score(side, rank), 0
    if symbol >= len(coding.symbols.code):
        return DAMAGED, 0
    code = int(coding.symbols.code[symbol])
    return code, 2 * int(block.half[place]) + ((code > NONE) == (side == 1))


@inlined
def _of_function(coding: Coding, function: int, accrued: int) -> int:
    """What a function says of an accrued score: a code, NONE for the score itself, FRESH for W."""
    if function + 1 >= len(coding.entry_start):
        return DAMAGED
    found, white = int64(NONE), accrued < NONE
    for entry in range(coding.entry_start[function], coding.entry_start[function + 1]):
        begin = int(coding.entry_accrued[entry])
        if (begin < NONE) == white and _rank(begin) <= _rank(accrued):
            found = int(coding.entry_value[entry])
    return found


@jit
def stored_fresh(coding: Coding, slot: int, room: Room) -> tuple[int, int]:
    """W and D of a canonical slot of the stored side; UNSTORED and the code of its own score if its captures
    have to be looked up; DAMAGED."""
    phase = set_squares(coding.rows, slot, room.squares)
    place = find(coding, phase, room.squares, False, room)
    if place < 0:
        return DAMAGED, 0
    rank = 0
    if room.block.symbol[place] <= CAPTURE:
        rank = rank_of_position(coding.rows, Men(room.squares, phase), coding.rows.side)
    return _fresh(coding, place, rank, room.block)


@jit
def stored_accrued(coding: Coding, slot: int, accrued: int, room: Room) -> int:
    """What the function of a canonical slot of the stored side says of an accrued score: a code, NONE for the
    score itself, FRESH for W; or DAMAGED."""
    phase = set_squares(coding.rows, slot, room.squares)
    place = find(coding, phase, room.squares, True, room)
    if place < 0:
        return DAMAGED
    return _of_function(coding, int(room.block.function[place]), accrued)


@inlined
def _play(coding: Coding, phase: int, move: int, room: Room) -> int:
    """Put the position after a move to ``room.child``; return its rank."""
    rows = coding.rows
    for man in range(len(rows.kinds)):
        room.child[man] = room.squares[man]
    room.child[move >> 8] = move & 255
    make_canonical(rows, phase, room.child, room.scratch.image)
    return rank_of_position(rows, Men(room.child, phase), rows.side)


@inlined
def _slot(rows: Rows, phase: int, squares: Ints) -> int:
    first = first_slot(rows, phase * rows.per_phase, squares)
    return first + (int64(squares[rows.order[len(rows.kinds) - 1]]) << rows.row_shift)


@jit
def derived_fresh(
    coding: Coding, slot: int, exit_value: int, nearest: int, farthest: int, room: Room
) -> tuple[int, int]:
    """W and D of a canonical slot of the side that is not stored, exceptions aside; value DAMAGED.

    ``exit_value`` is the code of the best zeroing move, NONE without one, ``nearest`` and ``farthest`` the
    depths that it leads to. The rule is that of ``tbgen.packed.kernels.one_ply``.
    """
    rows, side = coding.rows, 1 - coding.rows.side
    phase = set_squares(rows, slot, room.squares)
    men = Men(room.squares, phase)
    rank = rank_of_position(rows, men, side)
    own = _own_score(side, rank)
    if rank < 2:
        return own, 0
    best, uncounted = -1, False
    if exit_value != NONE:
        best = _merit(side, exit_value)
    count = quiet_moves(rows, men, side, room.moves)
    for number in range(count):
        after = _play(coding, phase, room.moves[number], room)
        place = find(coding, phase, room.child, False, room)
        if place < 0:
            return DAMAGED, 0
        code, depth = _fresh(coding, place, after, room.block)
        if code == DAMAGED:
            return DAMAGED, 0
        if code == UNSTORED:
            continue
        if after >= rank and _rank(code) >= rank:
            uncounted = True
            continue
        merit = _merit(side, code)
        if merit > best:
            best, nearest, farthest = merit, depth, depth
        elif merit == best:
            nearest, farthest = min(nearest, depth), max(farthest, depth)
    if best > _merit(side, own):
        return _merit(side, best), nearest + 1  # a code's merit undoes itself
    if uncounted or best == _merit(side, own):
        return own, 0
    return _merit(side, best), farthest + 1


@jit
def inherited(accrued: int, said: int, fresh: int) -> int:
    """V(Q, A) of a position with the fresh value ``fresh`` whose function says ``said`` of A."""
    if _rank(fresh) < _rank(accrued) or said == FRESH:
        return fresh
    return accrued if said == NONE else said


@jit
def derived_accrued(coding: Coding, slot: int, accrued: int, exit_value: int, room: Room) -> tuple[int, int]:
    """V(P, A) of a canonical slot of the side that is not stored, as far as the best zeroing move and quiet
    moves to stored values say, NONE if they say nothing; or DAMAGED.

    Also how many slots are in ``room.pending``: with the best of their captures as W, ``inherited`` of what
    ``room.said`` has in their place counts too.
    """
    rows, side = coding.rows, 1 - coding.rows.side
    phase = set_squares(rows, slot, room.squares)
    best, pending, rank = -1, 0, _rank(accrued)
    if exit_value != NONE:
        best = _merit(side, exit_value)
    count = quiet_moves(rows, Men(room.squares, phase), side, room.moves)
    for number in range(count):
        after = _play(coding, phase, room.moves[number], room)
        # Where A is the child's own score, best play from there is that from its fresh state.
        inherits = after >= rank and _own_score(rows.side, after) != accrued
        place = find(coding, phase, room.child, inherits, room)
        if place < 0:
            return DAMAGED, 0
        fresh, _ = _fresh(coding, place, after, room.block)
        said = FRESH
        if inherits:
            said = _of_function(coding, int(room.block.function[place]), accrued)
        if fresh == DAMAGED or said == DAMAGED:
            return DAMAGED, 0
        if fresh == UNSTORED:
            room.pending[pending], room.said[pending] = _slot(rows, phase, room.child), said
            pending += 1
        else:
            best = max(best, _merit(side, inherited(accrued, said, fresh)))
    return (NONE if best < 0 else _merit(side, best)), pending
