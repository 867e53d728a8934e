"""Questions about positions of the stored side of a packed table, and what its blocks say of them.

A *question* is an int64: twice the position's place in the order of the rows (64 times the row plus the
square of the row man), plus 1 if its function is wanted too. In rising order, questions decode every block
once. A position of the stored side asks one question about itself; one of the other side, one about each
position that its quiet moves lead to.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tbgen.compiler.jit import inlined, int64, kernel
from tbgen.compiler.structs import Struct
from tbgen.packed.kernels.blocks import BLOCK_ROWS, BLOCK_SLOTS, Coding, Room, find_mask
from tbgen.packed.kernels.decode import decode_functions, decode_values
from tbgen.packed.kernels.position import Placed, list_moves, make_canonical, occupied_by
from tbgen.packed.kernels.rows import Rows, first_slot, place_row, place_slot, row_of
from tbgen.packed.kernels.rule import own_score, rank_of_code
from tbgen.retro.geometry import BIT
from tbgen.retro.kernels.bits import ZERO, Codes, Ints, Plies

DAMAGED = -1
"""In the place of a symbol or a value: a block is not what was written."""

Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Batch(Struct):
    """Positions that are looked up together."""

    derived: Flags
    """bool (n,): whether the position is of the side that is not stored."""
    slot: Ints
    """int64 (n,): canonical slots."""
    accrued: Ints
    """int64 (n,): codes of accrued scores, -1 for none."""
    begin: Ints
    """int64 (n,): where the questions of each begin."""
    end: Ints
    """int64 (n,): where they end."""
    rank: Ints
    """int64 (n,): ranks."""
    zeroing: Flags
    """bool (n,): whether a position of the derived side may have a zeroing move."""
    exits: Ints
    """int64 (n, 3): code of the best zeroing move, NONE without one, DAMAGED if it is not to be had; smallest
    and greatest depth after it."""
    known: Flags
    """bool (n,): whether ``value`` and ``depth`` were known before."""
    value: Ints
    """int64 (n,): code of W, UNSTORED where the best capture gives it, or DAMAGED."""
    depth: Ints
    """int64 (n,): D."""
    inherited: Ints
    """int64 (n,): V(P, A); DAMAGED if it is not to be had, or W decides."""

    question: Ints
    """int64 (questions,)."""
    after: Codes
    """uint8 (questions,): rank of the position asked about."""
    symbol: NDArray[np.int16]
    """int16 (questions,): value symbol, or DAMAGED."""
    half: Plies
    """uint16 (questions,): half the depth, of those with a value."""
    function: NDArray[np.uint32]
    """uint32 (questions,): function, where it was wanted."""
    target: Ints
    """int64 (questions,): slot of the position if its best capture is wanted, else -1."""
    capture: Ints
    """int64 (questions, 3): its best capture, as ``exits``."""


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
def _ask_children(rows: Rows, phase: int, moves: int, batch: Batch, number: int, room: Room) -> None:
    """Ask about what the quiet ones of ``room.moves`` lead to; the others are captures.

    Functions are wanted where an accrued score is inherited and counts: where it is a position's own score,
    best play from there is that from its fresh state.
    """
    other, at, accrued = rows.side, batch.begin[number], batch.accrued[number]
    enemies = occupied_by(rows, Placed(room.squares, phase), other)
    batch.zeroing[number] = rows.pawns[phase, 1 - other] != ZERO
    for listed in range(moves):
        man, target = room.moves[listed] >> 8, room.moves[listed] & 255
        if enemies & BIT[target]:
            batch.zeroing[number] = True
            continue
        for each in range(len(rows.kinds)):
            room.child[each] = room.squares[each]
        room.child[man] = target
        make_canonical(rows, phase, room.child, room.image)
        _, rank = list_moves(rows, Placed(room.child, phase), other, room.replies)
        inherits = accrued >= 0 and rank >= rank_of_code(accrued) and own_score(other, rank) != accrued
        batch.question[at] = _question(rows, phase, room.child, inherits)
        batch.after[at] = rank
        at += 1
    batch.end[number] = at


@kernel
def ask(rows: Rows, batch: Batch, room: Room, first: int, end: int) -> None:
    """Ask the questions of the positions ``first`` to ``end`` - 1 of a batch, functions included where a
    score has accrued; fills ``end``, ``rank`` and ``zeroing``."""
    for number in range(first, end):
        phase = place_slot(rows, batch.slot[number], room.squares)
        derived, at = batch.derived[number], batch.begin[number]
        side = 1 - rows.side if derived else rows.side
        moves, batch.rank[number] = list_moves(rows, Placed(room.squares, phase), side, room.moves)
        if derived:
            _ask_children(rows, phase, moves, batch, number, room)
        else:
            batch.question[at] = _question(rows, phase, room.squares, batch.accrued[number] >= 0)
            batch.after[at] = batch.rank[number]
            batch.end[number] = at + 1


@kernel
def answer(coding: Coding, batch: Batch, order: Ints, room: Room, first: int, end: int) -> None:
    """Answer the questions whose places are ``order[first:end]``. A block is decoded once for all neighbours
    that ask for it, and no further than it takes."""
    rows, block = coding.rows, room.block
    while first < end:
        number, last, functions, after = block_of(batch.question[order[first]]), 0, 0, first
        while after < end and block_of(batch.question[order[after]]) == number:
            question = batch.question[order[after]]
            last = max(last, question // 2 % BLOCK_SLOTS)
            functions |= question & 1
            after += 1
        for at in range(last // 64 + 1):
            find_mask(rows, number * BLOCK_ROWS + at, at, room)
        good = decode_values(coding, number, last, room)
        good_functions = good
        if good and functions:
            good_functions = decode_functions(coding, number, last, room)
        for at in order[first:after]:
            question = batch.question[at]
            place = question // 2 % BLOCK_SLOTS
            known = good_functions if question & 1 else good
            batch.symbol[at] = int64(block.symbol[place]) if known else DAMAGED
            batch.half[at] = block.half[place]
            if question & 1:
                batch.function[at] = block.function[place]
        first = after
