"""Questions about positions of a packed table, and the values and depths that follow from the answers.

A packed table stores the positions with one side to move, the *stored side*. Positions with the other side
to move, the *derived side*, are derived from them.

A *question* asks for the symbol and the half depth (depth // 2) of one position of the stored side, and
sometimes also for its function, which gives V(P, A) for each accrued score A. A question is encoded as an
int64: twice the index of the position in the order of the rows, plus 1 if the function is needed. The index
is 64 times the row, plus the square of the row man (see :mod:`tbgen.tables.kernels.rows`). If questions are
answered in ascending order, each block is decoded only once.

A position of the stored side has one question, about itself. A position of the derived side has one question
about each position that its quiet moves lead to.
"""

from tbgen.board.score import NONE
from tbgen.compiler.jit import inlined, int64, kernel
from tbgen.index.codes import DAMAGED, FRESH
from tbgen.moves.kernels.words import Ints, bits_of
from tbgen.tables.kernels.blocks import decode_functions, decode_values, find_mask
from tbgen.tables.kernels.goals import conclude, depth_of_half, merit, position_score, rank_of_code, weigh
from tbgen.tables.kernels.rows import (
    PlacedMen,
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
from tbgen.tables.structs import (
    CAPTURE,
    FUNCTION,
    HALF_DEPTH,
    INDEX_BITS,
    ORIGIN,
    ROW_QUESTIONS,
    SELF,
    SYMBOL,
    UNANSWERED,
    UNSTORED,
    Batch,
    Buffers,
    Coding,
    Rows,
    ZeroingMoves,
)

Best = tuple[int, int, int]
"""Merit of the best moves, with the smallest and the greatest depth after them; the merit is -1 if there are
none, and DAMAGED_BEST if a value is unavailable."""
DAMAGED_BEST = 256

NEVER = 1 << 16
"""A depth that no position has."""


@inlined
def _question(rows: Rows, phase: int, squares: Ints, with_function: bool) -> int:
    square = int64(squares[rows.order[len(rows.kinds) - 1]])
    return 2 * (64 * row_of(rows, phase, squares) + square) + with_function


@inlined
def block_of(rows: Rows, question: int) -> int:
    """The number of the block that contains the answer to a question."""
    return question // (ROW_QUESTIONS * rows.block_rows)


@inlined
def slot_of(rows: Rows, question: int, squares: Ints) -> int:
    """The slot of the position asked about; ``squares`` is scratch memory."""
    row = question // ROW_QUESTIONS
    square = question // 2 % 64
    place_row(rows, row, squares)
    return first_slot(rows, row, squares) + (square << rows.row_shift)


@kernel
def _ask_children(rows: Rows, turn: Turn, batch: Batch, position: int, buffers: Buffers) -> None:
    """Ask about the positions after the quiet moves of a position of the derived side.

    The function of a position after a move is not needed if the state is fresh, that is, if the position rank
    is below the rank of the accrued score, or the position score is the accrued score.
    """
    other = rows.side
    phase = turn.men.phase
    child = buffers.child
    index, accrued = batch.question_start[position], batch.accrued[position]
    for man in range(len(rows.kinds)):
        if rows.colours[man] == other:
            continue
        for target in bits_of(targets_of_man(rows, turn, man) & ~turn.enemies):
            for free_man in range(len(rows.kinds)):
                child[free_man] = buffers.squares[free_man]
            child[man] = target
            make_canonical(rows, phase, child, buffers.image)
            rank = rank_of(rows, turn_of(rows, PlacedMen(child, phase), other))
            # A position score of greater rank than the accrued score may have no code, so it is not compared.
            excess = rank - rank_of_code(accrued)
            is_needed = accrued >= 0 and (
                excess > 0 or (excess == 0 and position_score(other, rank) != accrued)
            )
            batch.question[index] = _question(rows, phase, child, is_needed)
            batch.question_rank[index] = rank
            index += 1
    batch.question_end[position] = index


@kernel
def ask(rows: Rows, batch: Batch, buffers: Buffers, start: int, end: int) -> None:
    """Find the questions of the positions ``start`` to ``end`` - 1 of a batch.

    Also fill in ``Batch.question_end`` and ``rank``. For positions with an accrued score, also ask for
    functions.
    """
    for position in range(start, end):
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
def answer(coding: Coding, batch: Batch, buffers: Buffers, group_start: int, end: int) -> None:
    """Answer the questions with the keys ``group_start`` to ``end`` - 1 of a batch, which are sorted.

    Consecutive questions about one block are answered together. The block is decoded only up to the last slot
    that they need.
    """
    rows = coding.rows
    block = buffers.block
    keys = batch.key
    while group_start < end:
        block_number = block_of(rows, keys[group_start] >> INDEX_BITS)
        last = 0
        needs_function = 0
        group_end = group_start
        while group_end < end and block_of(rows, keys[group_end] >> INDEX_BITS) == block_number:
            last = (keys[group_end] >> INDEX_BITS + 1) % (64 * rows.block_rows)
            needs_function |= keys[group_end] >> INDEX_BITS & 1
            group_end += 1
        for block_row in range(last // 64 + 1):
            find_mask(rows, block_number * rows.block_rows + block_row, block_row, buffers)
        values_undamaged = decode_values(coding, block_number, last, buffers)
        functions_undamaged = values_undamaged
        if values_undamaged and needs_function:
            functions_undamaged = decode_functions(coding, block_number, last, buffers)
        for key in keys[group_start:group_end]:
            question = key >> INDEX_BITS
            index = key & ((1 << INDEX_BITS) - 1)
            slot_index = question // 2 % (64 * rows.block_rows)
            undamaged = functions_undamaged if question & 1 else values_undamaged
            batch.answer[index, SYMBOL] = int64(block.symbol[slot_index]) if undamaged else DAMAGED
            batch.answer[index, HALF_DEPTH] = block.half_depth[slot_index]
            if question & 1:
                batch.answer[index, FUNCTION] = block.function_number[slot_index]
        group_start = group_end


@inlined
def _goal(coding: Coding, batch: Batch, index: int, second_pass: bool) -> tuple[int, int]:
    """Value and depth of the position of the stored side that the question ``index`` is about.

    The value is DAMAGED if it is unavailable. If the best capture gives the value, the value is UNSTORED
    before the ``second_pass``.
    """
    symbol = int64(batch.answer[index, SYMBOL])
    side = coding.rows.side
    score = position_score(side, int64(batch.question_rank[index]))
    if symbol == SELF:
        return score, 0
    if symbol == CAPTURE:
        if not second_pass:
            return UNSTORED, 0
        capture = batch.best_capture
        best = batch.best_capture[index, 0]
        if best in (DAMAGED, NONE):  # a capture exists, unless bits were flipped on disk
            return DAMAGED, 0
        return conclude(side, score, (merit(side, best), capture[index, 1], capture[index, 2]), False)
    if symbol < 0 or symbol >= len(coding.code):
        return DAMAGED, 0
    code = int(coding.code[symbol])
    return code, depth_of_half(side, code, int(batch.answer[index, HALF_DEPTH]))


@inlined
def _function_value(coding: Coding, batch: Batch, index: int, accrued: int) -> int:
    """The value, for an accrued score, of the function that the question ``index`` asks for.

    The result is the code of V(P, A); FRESH if it is W; DAMAGED if it is unavailable.
    """
    function = int64(batch.answer[index, FUNCTION])
    if batch.answer[index, SYMBOL] == DAMAGED or function + 1 >= len(coding.entry_start):
        return DAMAGED
    code = int64(NONE)
    is_white = accrued < NONE
    for entry in range(coding.entry_start[function], coding.entry_start[function + 1]):
        begin = int(coding.entry_accrued[entry])
        if (begin < NONE) == is_white and rank_of_code(begin) <= rank_of_code(accrued):
            code = int(coding.entry_value[entry])
    return accrued if code == NONE else code


@inlined
def _best_of(coding: Coding, batch: Batch, position: int) -> tuple[Best, bool]:
    """The best of those moves of a position of the derived side that count and have been looked up, and
    whether some move does not count, by the rule in ``tbgen.tables.kernels.derive``.

    The position is not an exception.
    """
    side = 1 - coding.rows.side
    rank = batch.rank[position]
    best_exit = batch.exits[position, 0]
    best = (int64(-1), int64(0), int64(0))
    uncounted = False
    if best_exit != NONE:
        best = merit(side, best_exit), batch.exits[position, 1], batch.exits[position, 2]
    for index in range(batch.question_start[position], batch.question_end[position]):
        if batch.answer[index, SYMBOL] == CAPTURE or batch.answer[index, SYMBOL] == UNANSWERED:
            continue
        code, depth = _goal(coding, batch, index, True)
        if code == DAMAGED:
            best_exit = DAMAGED
        elif batch.question_rank[index] >= rank and rank_of_code(code) >= rank:
            uncounted = True
        else:
            best = weigh(best, merit(side, code), depth)
    return (int64(DAMAGED_BEST), int64(0), int64(0)) if best_exit == DAMAGED else best, uncounted


@inlined
def _derived_goal(coding: Coding, batch: Batch, position: int) -> tuple[int, int]:
    """W and D of a position of the derived side that is not an exception. W is DAMAGED if it is
    unavailable."""
    side = 1 - coding.rows.side
    rank = batch.rank[position]
    best, uncounted = _best_of(coding, batch, position)
    if best[0] == DAMAGED_BEST:
        return DAMAGED, 0
    score = position_score(side, rank)
    return conclude(side, score, best, uncounted) if rank >= 2 else (score, 0)


@inlined
def _accrued_best(coding: Coding, batch: Batch, position: int, second_pass: bool) -> tuple[int, bool]:
    """The merit of V(P, A) for a position of the derived side, and whether it is final.

    The merit is DAMAGED_BEST if the value is unavailable. It is not final if captures in the positions after
    moves have not been looked up.
    """
    side = 1 - coding.rows.side
    accrued = batch.accrued[position]
    best = int64(-1)
    complete = True
    if batch.exits[position, 0] != NONE:
        best = merit(side, batch.exits[position, 0])
    for index in range(batch.question_start[position], batch.question_end[position]):
        fresh, _ = _goal(coding, batch, index, second_pass)
        code = _function_value(coding, batch, index, accrued) if batch.question[index] & 1 else int64(FRESH)
        if fresh == DAMAGED or code == DAMAGED:
            return int64(DAMAGED_BEST), True
        if fresh == UNSTORED:
            complete = False
        else:
            is_fresh = code == FRESH or rank_of_code(fresh) < rank_of_code(accrued)
            best = max(best, merit(side, fresh if is_fresh else code))
    return best, complete


@kernel
def find_bounds(coding: Coding, batch: Batch, moves: ZeroingMoves) -> None:
    """Write to ``moves.bound`` when values after zeroing moves of the derived side do not matter.

    The moves are those of positions in ascending order, whose quiet moves have been looked up. A value does
    not matter if its merit for the side then to move is above the first number, or if it equals this number
    and the depth is not below the second number: then another move is at least as good.
    """
    bounds = moves.bound
    for move in range(len(bounds)):
        position = moves.move[move, ORIGIN]
        if move and position == moves.move[move - 1, ORIGIN]:
            bounds[move, 0], bounds[move, 1] = bounds[move - 1, 0], bounds[move - 1, 1]
            continue
        (most, depth, _), uncounted = _best_of(coding, batch, position)
        own = batch.rank[position]  # the merit of the position score
        if uncounted or most == own:
            most, depth = max(most, own), depth if most > own else int64(0)
        elif most < own:
            depth = int64(NEVER)  # of the moves with this value, the one with the greatest depth counts
        if batch.accrued[position] >= 0:
            accrued_most, _ = _accrued_best(coding, batch, position, False)
            if accrued_most < most:
                most = accrued_most
                depth = int64(0)
        bounds[move, 0] = 255 - most
        bounds[move, 1] = depth


@inlined
def _is_beaten(coding: Coding, batch: Batch, position: int) -> bool:
    """Whether the moves of a position of the derived side that have been looked up prove that its value does
    not matter."""
    (most, _, depth), uncounted = _best_of(coding, batch, position)
    own = batch.rank[position]
    bound = batch.bound[position, 0]
    # The value has at least this merit and, if it has just this merit, at least this depth.
    least = 1 if most > own else (0 if uncounted or most == own else depth + 1)
    most = max(most, own) if uncounted else most
    return most <= 255 and (most > bound or (most == bound and least >= batch.bound[position, 1]))


@kernel
def list_open_questions(coding: Coding, batch: Batch, count: int) -> int:
    """List the keys of up to ``count`` unanswered questions about each position whose value matters, and
    return how many there are.

    The states are fresh. Positions whose values do not matter are marked as *beaten*.
    """
    listed = int64(0)
    for position in range(len(batch.slot)):
        if batch.is_derived[position] and not batch.is_exception[position]:
            batch.is_beaten[position] |= _is_beaten(coding, batch, position)
        if batch.is_beaten[position] or batch.is_exception[position]:
            continue
        open_end = listed + count
        for index in range(batch.question_start[position], batch.question_end[position]):
            if batch.answer[index, SYMBOL] == UNANSWERED and listed < open_end:
                batch.key[listed] = batch.question[index] << INDEX_BITS | index
                listed += 1
    return listed


@kernel
def find_values(coding: Coding, batch: Batch, buffers: Buffers, count: int, second_pass: int) -> None:
    """Find values and depths from the answers to questions, for the first ``count`` of ``batch.position``.

    The first pass sets ``capture_slot`` for the questions whose best captures are needed. The ``second_pass``
    uses the captures in ``best_capture`` to find the values that were UNSTORED.
    """
    is_second = second_pass != 0
    for position in batch.position[:count]:
        if is_second and batch.value[position] != UNSTORED and batch.accrued_value[position] != UNSTORED:
            continue
        accrued, derived = batch.accrued[position], batch.is_derived[position]
        value, depth = batch.value[position], batch.depth[position]
        if batch.is_beaten[position]:
            value = int64(NONE)
        elif not batch.is_exception[position]:
            if derived:
                value, depth = _derived_goal(coding, batch, position)
            else:
                value, depth = _goal(coding, batch, batch.question_start[position], is_second)
        batch.value[position], batch.depth[position] = value, depth
        accrued_value = int64(DAMAGED)
        if accrued >= 0 and value >= 0 and rank_of_code(accrued) <= rank_of_code(value):
            if not derived:
                accrued_value = _function_value(coding, batch, batch.question_start[position], accrued)
            elif batch.exits[position, 0] != DAMAGED:
                best, complete = _accrued_best(coding, batch, position, is_second)
                if best != DAMAGED_BEST:
                    accrued_value = merit(1 - coding.rows.side, best) if complete else int64(UNSTORED)
        batch.accrued_value[position] = value if accrued_value == FRESH else accrued_value
        if value == UNSTORED or accrued_value == UNSTORED:
            for index in range(batch.question_start[position], batch.question_end[position]):
                if batch.answer[index, SYMBOL] == CAPTURE:
                    batch.capture_slot[index] = slot_of(coding.rows, batch.question[index], buffers.child)
