"""Questions to the blocks of a packed table, and the values and depths that follow from the answers.

A *question* asks for the symbol and the half depth of one position of the stored side, and maybe for its
function. It is an int64: twice the index of the position in the order of the rows (64 times the row, plus the
square of the row man), plus 1 if the function is needed. If questions are answered in ascending order, each
block is decoded once. A position of the stored side has one question, about itself; a position of the derived
side has one question about each position that its quiet moves lead to.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE
from tbgen.compiler.jit import inlined, int64, kernel
from tbgen.compiler.structs import Struct
from tbgen.index.table import FRESH
from tbgen.packed.kernels.blocks import (
    BLOCK_ROWS,
    BLOCK_SLOTS,
    CAPTURE,
    SELF,
    Buffers,
    Coding,
    decode_functions,
    decode_values,
    find_mask,
)
from tbgen.packed.kernels.derive import conclude, depth_of_half, merit, position_score, rank_of_code, weigh
from tbgen.packed.kernels.rows import (
    Placed,
    Rows,
    first_slot,
    list_moves,
    make_canonical,
    occupied_by,
    place_row,
    place_slot,
    row_of,
)
from tbgen.retro.geometry import BIT
from tbgen.retro.kernels.words import ZERO, Codes, Ints, Plies

DAMAGED = -1
"""Stands for a symbol or a value that is unavailable because a block is damaged."""

Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Batch(Struct):
    """Positions that are looked up together."""

    derived: Flags
    """bool (n,): whether the derived side is to move."""
    slot: Ints
    """int64 (n,): canonical slots."""
    accrued: Ints
    """int64 (n,): codes of accrued scores, -1 for none."""
    begin: Ints
    """int64 (n,): index of the first question of each position."""
    end: Ints
    """int64 (n,): index after the last question of each position."""
    rank: Ints
    """int64 (n,): position ranks."""
    zeroing: Flags
    """bool (n,): whether a position of the derived side may have a zeroing move."""
    exits: Ints
    """int64 (n, 3): code of the best zeroing move, NONE without zeroing moves, DAMAGED if it is unavailable;
    smallest and greatest depth after the best moves."""
    known: Flags
    """bool (n,): whether ``value`` and ``depth`` are those of an exception, which needs no derivation."""
    value: Ints
    """int64 (n,): code of W, UNSTORED if the best capture gives it, or DAMAGED."""
    depth: Ints
    """int64 (n,): D in plies."""
    inherited: Ints
    """int64 (n,): code of V(P, A); DAMAGED if it is unavailable, without an accrued score, and if the rank of
    A exceeds that of W, so that the value is W."""

    question: Ints
    """int64 (questions,)."""
    after: Codes
    """uint8 (questions,): position rank of the position asked about."""
    symbol: NDArray[np.int16]
    """int16 (questions,): value symbol, or DAMAGED."""
    half: Plies
    """uint16 (questions,): half the depth of an explicit value."""
    function: NDArray[np.uint32]
    """uint32 (questions,): number of the function, if the question asks for it."""
    target: Ints
    """int64 (questions,): slot of the position asked about if its best capture is needed, else -1."""
    capture: Ints
    """int64 (questions, 3): best capture of the position asked about, in the form of ``exits``."""


@inlined
def _question(rows: Rows, phase: int, squares: Ints, function: bool) -> int:
    square = int64(squares[rows.order[len(rows.kinds) - 1]])
    return 2 * (64 * row_of(rows, phase, squares) + square) + function


@inlined
def block_of(question: int) -> int:
    """The number of the block that has the answer to a question."""
    return question // (2 * BLOCK_SLOTS)


@inlined
def slot_of(rows: Rows, question: int, squares: Ints) -> int:
    """The slot of the position asked about; ``squares`` is scratch memory."""
    row, square = question // 128, question // 2 % 64
    place_row(rows, row, squares)
    return first_slot(rows, row, squares) + (square << rows.row_shift)


@kernel
def _ask_children(rows: Rows, phase: int, moves: int, batch: Batch, number: int, buffers: Buffers) -> None:
    """Ask about the positions after the quiet moves in ``buffers.moves``; the other moves are captures.

    A function is needed if the accrued score is inherited. It is not if the position rank is smaller, or if
    the accrued score is the position score, because the state is fresh then.
    """
    other, at, accrued = rows.side, batch.begin[number], batch.accrued[number]
    enemies = occupied_by(rows, Placed(buffers.squares, phase), other)
    batch.zeroing[number] = rows.pawns[phase, 1 - other] != ZERO
    for listed in range(moves):
        man, target = buffers.moves[listed] >> 8, buffers.moves[listed] & 255
        if enemies & BIT[target]:
            batch.zeroing[number] = True
            continue
        for each in range(len(rows.kinds)):
            buffers.child[each] = buffers.squares[each]
        buffers.child[man] = target
        make_canonical(rows, phase, buffers.child, buffers.image)
        _, rank = list_moves(rows, Placed(buffers.child, phase), other, buffers.replies)
        inherits = accrued >= 0 and rank >= rank_of_code(accrued) and position_score(other, rank) != accrued
        batch.question[at] = _question(rows, phase, buffers.child, inherits)
        batch.after[at] = rank
        at += 1
    batch.end[number] = at


@kernel
def ask(rows: Rows, batch: Batch, buffers: Buffers, first: int, end: int) -> None:
    """Find the questions of the positions ``first`` to ``end`` - 1 of a batch, and fill in ``end``, ``rank``
    and ``zeroing``. Positions with an accrued score ask for functions too."""
    for number in range(first, end):
        phase = place_slot(rows, batch.slot[number], buffers.squares)
        derived, at = batch.derived[number], batch.begin[number]
        side = 1 - rows.side if derived else rows.side
        moves, batch.rank[number] = list_moves(rows, Placed(buffers.squares, phase), side, buffers.moves)
        if derived:
            _ask_children(rows, phase, moves, batch, number, buffers)
        else:
            batch.question[at] = _question(rows, phase, buffers.squares, batch.accrued[number] >= 0)
            batch.after[at] = batch.rank[number]
            batch.end[number] = at + 1


@kernel
def answer(coding: Coding, batch: Batch, order: Ints, buffers: Buffers, first: int, end: int) -> None:
    """Answer the questions with the indices ``order[first:end]``. Neighbouring questions to one block are
    answered together; the block is decoded only up to the last slot that they need."""
    rows, block = coding.rows, buffers.block
    while first < end:
        number, last, functions, after = block_of(batch.question[order[first]]), 0, 0, first
        while after < end and block_of(batch.question[order[after]]) == number:
            question = batch.question[order[after]]
            last = max(last, question // 2 % BLOCK_SLOTS)
            functions |= question & 1
            after += 1
        for at in range(last // 64 + 1):
            find_mask(rows, number * BLOCK_ROWS + at, at, buffers)
        good = decode_values(coding, number, last, buffers)
        good_functions = good
        if good and functions:
            good_functions = decode_functions(coding, number, last, buffers)
        for at in order[first:after]:
            question = batch.question[at]
            place = question // 2 % BLOCK_SLOTS
            undamaged = good_functions if question & 1 else good
            batch.symbol[at] = int64(block.symbol[place]) if undamaged else DAMAGED
            batch.half[at] = block.half[place]
            if question & 1:
                batch.function[at] = block.function[place]
        first = after


UNSTORED = -2
"""Stands for a value that the best capture gives."""


@inlined
def _stored(coding: Coding, batch: Batch, at: int, filled: bool, buffers: Buffers) -> tuple[int, int]:
    """Value and depth of the position of the stored side that the question ``at`` is about.

    The value is DAMAGED if it is unavailable. It is UNSTORED if the best capture gives it and captures are
    not ``filled`` in yet; then ``target`` is set, so that the capture is looked up.
    """
    symbol, side = int64(batch.symbol[at]), coding.rows.side
    score = position_score(side, int64(batch.after[at]))
    if symbol == SELF:
        return score, 0
    if symbol == CAPTURE:
        if not filled:
            batch.target[at] = slot_of(coding.rows, batch.question[at], buffers.child)
            return UNSTORED, 0
        best = batch.capture[at, 0]
        if best in (DAMAGED, NONE):  # without flipped bits a capture exists
            return DAMAGED, 0
        return conclude(side, score, (merit(side, best), batch.capture[at, 1], batch.capture[at, 2]), False)
    if symbol < 0 or symbol >= len(coding.code):
        return DAMAGED, 0
    code = int(coding.code[symbol])
    return code, depth_of_half(side, code, int(batch.half[at]))


@inlined
def _of_function(coding: Coding, batch: Batch, at: int, accrued: int) -> int:
    """The value of the function that the question ``at`` asks for, at an accrued score: the code of V(P, A),
    FRESH for W, or DAMAGED."""
    function = int64(batch.function[at])
    if batch.symbol[at] == DAMAGED or function + 1 >= len(coding.entry_start):
        return DAMAGED
    found, white = int64(NONE), accrued < NONE
    for entry in range(coding.entry_start[function], coding.entry_start[function + 1]):
        begin = int(coding.entry_accrued[entry])
        if (begin < NONE) == white and rank_of_code(begin) <= rank_of_code(accrued):
            found = int(coding.entry_value[entry])
    return accrued if found == NONE else found


@inlined
def _derived(coding: Coding, batch: Batch, number: int, buffers: Buffers) -> tuple[int, int]:
    """W, or DAMAGED, and D of a position of the derived side that is no exception, by the rule of
    ``tbgen.packed.kernels.derive``."""
    side, rank = 1 - coding.rows.side, batch.rank[number]
    score, best_exit = position_score(side, rank), batch.exits[number, 0]
    if best_exit == DAMAGED:
        return DAMAGED, 0
    if rank < 2:
        return score, 0
    best, uncounted = (-1, 0, 0), False
    if best_exit != NONE:
        best = merit(side, best_exit), batch.exits[number, 1], batch.exits[number, 2]
    for at in range(batch.begin[number], batch.end[number]):
        if batch.symbol[at] == CAPTURE:
            continue
        code, depth = _stored(coding, batch, at, True, buffers)
        if code == DAMAGED:
            return DAMAGED, 0
        if batch.after[at] >= rank and rank_of_code(code) >= rank:
            uncounted = True
            continue
        best = weigh(best, merit(side, code), depth)
    return conclude(side, score, best, uncounted)


@inlined
def _inherited(coding: Coding, batch: Batch, number: int, filled: bool, buffers: Buffers) -> int:
    """V(P, A) of a position of the derived side; DAMAGED if it is unavailable, UNSTORED if captures of
    positions after its moves must be looked up first."""
    side, accrued, best, complete = 1 - coding.rows.side, batch.accrued[number], -1, True
    if batch.exits[number, 0] != NONE:
        best = merit(side, batch.exits[number, 0])
    for at in range(batch.begin[number], batch.end[number]):
        fresh, _ = _stored(coding, batch, at, filled, buffers)
        said = _of_function(coding, batch, at, accrued) if batch.question[at] & 1 else int64(FRESH)
        if fresh == DAMAGED or said == DAMAGED:
            return DAMAGED
        if fresh == UNSTORED:
            complete = False
        else:
            is_fresh = said == FRESH or rank_of_code(fresh) < rank_of_code(accrued)
            best = max(best, merit(side, fresh if is_fresh else said))
    return merit(side, best) if complete else UNSTORED


@kernel
def follow(coding: Coding, batch: Batch, filled: bool, buffers: Buffers) -> None:
    """Find the values and depths of a batch from the answers to its questions.

    If ``filled``, only values that were UNSTORED before are found, with the captures in ``capture``. Else
    ``target`` is set for the questions whose best captures are needed.
    """
    for number in range(len(batch.slot)):
        if filled and batch.value[number] != UNSTORED and batch.inherited[number] != UNSTORED:
            continue
        accrued, derived = batch.accrued[number], batch.derived[number]
        value, depth = batch.value[number], batch.depth[number]
        if not batch.known[number]:
            if derived:
                value, depth = _derived(coding, batch, number, buffers)
            else:
                value, depth = _stored(coding, batch, batch.begin[number], filled, buffers)
            batch.value[number], batch.depth[number] = value, depth
        said = int64(DAMAGED)
        if accrued >= 0 and value >= 0 and rank_of_code(accrued) <= rank_of_code(value):
            if not derived:
                said = _of_function(coding, batch, batch.begin[number], accrued)
            elif batch.exits[number, 0] != DAMAGED:
                said = _inherited(coding, batch, number, filled, buffers)
        batch.inherited[number] = value if said == FRESH else said
