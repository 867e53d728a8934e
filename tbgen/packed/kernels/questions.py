"""Questions about positions of a packed table, and the values and depths that follow from the answers.

A packed table stores the positions with one side to move, the *stored side*. Positions with the other side
to move, the *derived side*, are derived from them.

A *question* asks for the symbol and the half depth (depth // 2) of one position of the stored side, and
sometimes also for its function, which gives V(P, A) for each accrued score A. A question is encoded as an
int64: twice the index of the position in the order of the rows, plus 1 if the function is needed. The index
is 64 times the row, plus the square of the row man (see :mod:`tbgen.packed.kernels.rows`). If questions are
answered in ascending order, each block is decoded only once.

A position of the stored side has one question, about itself. A position of the derived side has one question
about each position that its quiet moves lead to.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE
from tbgen.compiler.jit import inlined, int64, kernel
from tbgen.compiler.structs import Struct
from tbgen.index.table import FRESH
from tbgen.packed.kernels.blocks import (
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
    PlacedMen,
    Rows,
    Turn,
    first_slot,
    make_canonical,
    place_row,
    place_slot,
    rank_of,
    row_of,
    targets_of_man,
    turn_of,
)
from tbgen.retro.kernels.words import ZERO, Codes, Ints, Plies, bits_of

DAMAGED = -1
"""Replaces a symbol or a value that is unavailable because a block is damaged."""

Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Batch(Struct):
    """Positions that are looked up together, with all questions about them."""

    is_derived: Flags
    """bool (n,): whether the derived side is to move."""
    slot: Ints
    """int64 (n,): canonical slots."""
    accrued: Ints
    """int64 (n,): codes of accrued scores, -1 for fresh states."""
    question_start: Ints
    """int64 (n,): index of the first question of each position."""
    question_end: Ints
    """int64 (n,): index after the last question of each position."""
    rank: Ints
    """int64 (n,): position ranks."""
    may_zero: Flags
    """bool (n,): whether a position of the derived side may have a zeroing move."""
    exits: Ints
    """int64 (n, 3): code of the value of the best zeroing moves; smallest and greatest depth after these
    moves. The code is NONE if there are no zeroing moves, and DAMAGED if the value is unavailable."""
    is_exception: Flags
    """bool (n,): whether the position is an exception, whose ``value`` and ``depth`` are not derived."""
    value: Ints
    """int64 (n,): code of W; UNSTORED if the best capture gives W; DAMAGED if W is unavailable."""
    depth: Ints
    """int64 (n,): D in plies."""
    accrued_value: Ints
    """int64 (n,): code of V(P, A). DAMAGED if it is unavailable or not needed. It is not needed for fresh
    states, nor where the rank of A exceeds the rank of W, because V(P, A) is then W."""

    question: Ints
    """int64 (questions,): the encoded questions."""
    question_rank: Codes
    """uint8 (questions,): position rank of the position asked about."""
    symbol: NDArray[np.int16]
    """int16 (questions,): value symbol, or DAMAGED."""
    half_depth: Plies
    """uint16 (questions,): half the depth, rounded down, if the symbol stands for a value, that is, if it is
    not SELF, CAPTURE or DAMAGED."""
    function_number: NDArray[np.uint32]
    """uint32 (questions,): number of the function, if the question asks for it."""
    capture_slot: Ints
    """int64 (questions,): slot of the position asked about if its best capture must be looked up, else -1."""
    best_capture: Ints
    """int64 (questions, 3): the best captures of the position asked about, in the form of ``exits``."""


@inlined
def _question(rows: Rows, phase: int, squares: Ints, with_function: bool) -> int:
    square = int64(squares[rows.order[len(rows.kinds) - 1]])
    return 2 * (64 * row_of(rows, phase, squares) + square) + with_function


@inlined
def block_of(rows: Rows, question: int) -> int:
    """The number of the block that contains the answer to a question."""
    return question // (128 * rows.block_rows)


@inlined
def slot_of(rows: Rows, question: int, squares: Ints) -> int:
    """The slot of the position asked about; ``squares`` is scratch memory."""
    row, square = question // 128, question // 2 % 64
    place_row(rows, row, squares)
    return first_slot(rows, row, squares) + (square << rows.row_shift)


@kernel
def _ask_children(rows: Rows, turn: Turn, batch: Batch, position: int, buffers: Buffers) -> None:
    """Ask about the positions after the quiet moves of a position of the derived side.

    The function of a position after a move is not needed if the state is fresh, that is, if the position rank
    is below the rank of the accrued score, or the position score is the accrued score.
    """
    other, phase, child = rows.side, turn.men.phase, buffers.child
    index, accrued = batch.question_start[position], batch.accrued[position]
    batch.may_zero[position] = rows.pawns[phase, turn.side] != ZERO
    for man in range(len(rows.kinds)):
        if rows.colours[man] == other:
            continue
        targets = targets_of_man(rows, turn, man)
        batch.may_zero[position] |= targets & turn.enemies != ZERO
        for target in bits_of(targets & ~turn.enemies):
            for free_man in range(len(rows.kinds)):
                child[free_man] = buffers.squares[free_man]
            child[man] = target
            make_canonical(rows, phase, child, buffers.image)
            rank = rank_of(rows, turn_of(rows, PlacedMen(child, phase), other))
            # A position score of greater rank than the accrued score may have no code, so it is not compared.
            excess = rank - rank_of_code(accrued)
            is_needed = accrued >= 0 and (excess > 0 or (excess == 0 and position_score(other, rank) != accrued))
            batch.question[index] = _question(rows, phase, child, is_needed)
            batch.question_rank[index] = rank
            index += 1
    batch.question_end[position] = index


@kernel
def ask(rows: Rows, batch: Batch, buffers: Buffers, first: int, end: int) -> None:
    """Find the questions of the positions ``first`` to ``end`` - 1 of a batch.

    Also fill in ``Batch.question_end``, ``rank`` and ``may_zero``. For positions with an accrued score, also
    ask for functions.
    """
    for position in range(first, end):
        men = PlacedMen(buffers.squares, place_slot(rows, batch.slot[position], buffers.squares))
        derived, index = batch.is_derived[position], batch.question_start[position]
        turn = turn_of(rows, men, 1 - rows.side if derived else rows.side)
        batch.rank[position] = rank_of(rows, turn)
        if derived:
            _ask_children(rows, turn, batch, position, buffers)
        else:
            batch.question[index] = _question(rows, men.phase, men.squares, batch.accrued[position] >= 0)
            batch.question_rank[index] = batch.rank[position]
            batch.question_end[position] = index + 1


@kernel
def answer(coding: Coding, batch: Batch, order: Ints, buffers: Buffers, first: int, end: int) -> None:
    """Answer the questions with the indices ``order[first:end]``.

    Consecutive questions about one block are answered together. The block is decoded only up to the last slot
    that they need.
    """
    rows, block = coding.rows, buffers.block
    while first < end:
        block_number = block_of(rows, batch.question[order[first]])
        last, needs_function, group_end = 0, 0, first
        while group_end < end and block_of(rows, batch.question[order[group_end]]) == block_number:
            question = batch.question[order[group_end]]
            last = max(last, question // 2 % (64 * rows.block_rows))
            needs_function |= question & 1
            group_end += 1
        for block_row in range(last // 64 + 1):
            find_mask(rows, block_number * rows.block_rows + block_row, block_row, buffers)
        values_undamaged = decode_values(coding, block_number, last, buffers)
        functions_undamaged = values_undamaged
        if values_undamaged and needs_function:
            functions_undamaged = decode_functions(coding, block_number, last, buffers)
        for index in order[first:group_end]:
            question = batch.question[index]
            place = question // 2 % (64 * rows.block_rows)
            undamaged = functions_undamaged if question & 1 else values_undamaged
            batch.symbol[index] = int64(block.symbol[place]) if undamaged else DAMAGED
            batch.half_depth[index] = block.half_depth[place]
            if question & 1:
                batch.function_number[index] = block.function_number[place]
        first = group_end


UNSTORED = -2
"""Replaces a value that is not stored because the best capture gives it."""


@inlined
def _goal(coding: Coding, batch: Batch, index: int, second_pass: bool, buffers: Buffers) -> tuple[int, int]:
    """Value and depth of the position of the stored side that the question ``index`` is about.

    The value is DAMAGED if it is unavailable. If the best capture gives the value, the value is UNSTORED in
    the first pass, and ``capture_slot`` is set, so that the capture is looked up before the ``second_pass``.
    """
    symbol, side = int64(batch.symbol[index]), coding.rows.side
    score = position_score(side, int64(batch.question_rank[index]))
    if symbol == SELF:
        return score, 0
    if symbol == CAPTURE:
        if not second_pass:
            batch.capture_slot[index] = slot_of(coding.rows, batch.question[index], buffers.child)
            return UNSTORED, 0
        capture, best = batch.best_capture, batch.best_capture[index, 0]
        if best in (DAMAGED, NONE):  # a capture exists, unless bits were flipped on disk
            return DAMAGED, 0
        return conclude(side, score, (merit(side, best), capture[index, 1], capture[index, 2]), False)
    if symbol < 0 or symbol >= len(coding.code):
        return DAMAGED, 0
    code = int(coding.code[symbol])
    return code, depth_of_half(side, code, int(batch.half_depth[index]))


@inlined
def _function_value(coding: Coding, batch: Batch, index: int, accrued: int) -> int:
    """The value, for an accrued score, of the function that the question ``index`` asks for.

    The result is the code of V(P, A); FRESH if it is W; DAMAGED if it is unavailable.
    """
    function = int64(batch.function_number[index])
    if batch.symbol[index] == DAMAGED or function + 1 >= len(coding.entry_start):
        return DAMAGED
    code, is_white = int64(NONE), accrued < NONE
    for entry in range(coding.entry_start[function], coding.entry_start[function + 1]):
        begin = int(coding.entry_accrued[entry])
        if (begin < NONE) == is_white and rank_of_code(begin) <= rank_of_code(accrued):
            code = int(coding.entry_value[entry])
    return accrued if code == NONE else code


@inlined
def _derived_goal(coding: Coding, batch: Batch, position: int, buffers: Buffers) -> tuple[int, int]:
    """W and D of a position of the derived side, derived by the rule in ``tbgen.packed.kernels.derive``.

    The position is not an exception. W is DAMAGED if it is unavailable.
    """
    side, rank = 1 - coding.rows.side, batch.rank[position]
    score, best_exit = position_score(side, rank), batch.exits[position, 0]
    if best_exit == DAMAGED:
        return DAMAGED, 0
    if rank < 2:
        return score, 0
    best, uncounted = (-1, 0, 0), False
    if best_exit != NONE:
        best = merit(side, best_exit), batch.exits[position, 1], batch.exits[position, 2]
    for index in range(batch.question_start[position], batch.question_end[position]):
        if batch.symbol[index] == CAPTURE:
            continue
        code, depth = _goal(coding, batch, index, True, buffers)
        if code == DAMAGED:
            return DAMAGED, 0
        if batch.question_rank[index] >= rank and rank_of_code(code) >= rank:
            uncounted = True
            continue
        best = weigh(best, merit(side, code), depth)
    return conclude(side, score, best, uncounted)


@inlined
def _accrued_value(coding: Coding, batch: Batch, position: int, second_pass: bool, buffers: Buffers) -> int:
    """V(P, A) of a position of the derived side.

    The result is DAMAGED if the value is unavailable, and UNSTORED if captures in the positions after its
    moves must be looked up first.
    """
    side, accrued, best, complete = 1 - coding.rows.side, batch.accrued[position], -1, True
    if batch.exits[position, 0] != NONE:
        best = merit(side, batch.exits[position, 0])
    for index in range(batch.question_start[position], batch.question_end[position]):
        fresh, _ = _goal(coding, batch, index, second_pass, buffers)
        code = _function_value(coding, batch, index, accrued) if batch.question[index] & 1 else int64(FRESH)
        if fresh == DAMAGED or code == DAMAGED:
            return DAMAGED
        if fresh == UNSTORED:
            complete = False
        else:
            is_fresh = code == FRESH or rank_of_code(fresh) < rank_of_code(accrued)
            best = max(best, merit(side, fresh if is_fresh else code))
    return merit(side, best) if complete else UNSTORED


@kernel
def find_values(coding: Coding, batch: Batch, second_pass: bool, buffers: Buffers) -> None:
    """Find the values and depths of a batch from the answers to its questions.

    The first pass sets ``capture_slot`` for the questions whose best captures are needed. The ``second_pass``
    uses the captures in ``best_capture`` to find the values that were UNSTORED.
    """
    for position in range(len(batch.slot)):
        if second_pass and batch.value[position] != UNSTORED and batch.accrued_value[position] != UNSTORED:
            continue
        accrued, derived = batch.accrued[position], batch.is_derived[position]
        value, depth = batch.value[position], batch.depth[position]
        if not batch.is_exception[position]:
            if derived:
                value, depth = _derived_goal(coding, batch, position, buffers)
            else:
                value, depth = _goal(coding, batch, batch.question_start[position], second_pass, buffers)
            batch.value[position], batch.depth[position] = value, depth
        accrued_value = int64(DAMAGED)
        if accrued >= 0 and value >= 0 and rank_of_code(accrued) <= rank_of_code(value):
            if not derived:
                accrued_value = _function_value(coding, batch, batch.question_start[position], accrued)
            elif batch.exits[position, 0] != DAMAGED:
                accrued_value = _accrued_value(coding, batch, position, second_pass, buffers)
        batch.accrued_value[position] = value if accrued_value == FRESH else accrued_value
