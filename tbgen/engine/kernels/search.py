"""Alpha-beta search for the accrued score with which the game ends.

This is a principal variation search with a transposition table, null moves, late move reductions [1] and a
quiescence search of captures and promotions. The accrued score is part of every state, so the same position
with another accrued score has another key. If tables may contain a state, its value is requested at the first
visit. Once the answer has arrived, the state is a leaf with its true value.

Values are from the point of view of the side to move, on the scale of :mod:`tbgen.engine.scale`. With each
ply towards the root, a value moves by 1 towards the value of the accrued score. So a side hurries towards a
value that is better for it than the accrued score, and the other side delays it. Values do not depend on the
ply at which a state is visited.

[1] T. A. Marsland, *A review of game-tree pruning*, ICCA Journal 9 (1986), 3-19.
"""

from tbgen.compiler.jit import inlined, int64, kernel
from tbgen.engine.kernels.board import (
    ACCRUED,
    AFTER,
    BISHOPS,
    BLACKS,
    CASTLING,
    CLOCK,
    EN_PASSANT,
    KEY,
    KINGS,
    KNIGHTS,
    NOISY_MASK,
    NULL,
    PAWNS,
    QUEENS,
    QUIET_PLIES,
    RANK,
    RESET,
    ROOKS,
    ROW_SIZE,
    SQUARES_AND_PROMOTION,
    TURN,
    WHITES,
    Rows,
    complete_row,
    make_move,
    make_null_move,
    position_key,
)
from tbgen.engine.kernels.estimate import estimate, estimate_drawn, lead, score_percent, score_value
from tbgen.engine.kernels.ordering import age_records, next_move, record_cutoff, set_priorities
from tbgen.engine.kernels.transposition import (
    EXACT,
    LOWER,
    UPPER,
    entry_key,
    find_entry,
    move_in,
    slot_of,
    state_key,
    store_result,
    value_in,
)
from tbgen.engine.scale import INFINITE, MATE, NO_VALUE, SCALE_PLIES
from tbgen.engine.workspace import (
    ANSWERS,
    BARE_KINGS,
    DEEPEST_PLY,
    DRAWN,
    HAS_FIFTY_MOVE_RULE,
    HITS,
    ITERATION,
    LATE_SCORES,
    MAX_MEN,
    MAX_NODES,
    NODES,
    PLY_LIMIT,
    REACHABLE_VALUE,
    REQUESTS,
    RESET_RANK,
    ROOT_LEAD,
    ROOT_ROW,
    STOP_REQUESTED,
    STOPPED,
    UNPRUNED,
    SearchWorkspace,
)
from tbgen.moves.kernels.words import ONE, ZERO, popcount

_FREE_KING_RANK = 17
"""Rank of G8.5, the position score of a bare king that has all eight of its moves."""
_FIFTY_MOVE_PLIES = 100
_FEW_MOVES = 2
"""Positions with at most this many moves are searched a ply deeper, because games are decided where a side
has few moves."""
_MAX_CAPTURES = 10
"""Maximum number of successive captures and promotions in the quiescence search."""
_FUTILITY_MARGIN = MATE // 12
"""Margin of reverse futility pruning per ply: a ply is expected to change a value by at most this much."""
_MAX_FUTILITY_DEPTH = 4
_MIN_NULL_DEPTH = 3
"""Least depth at which a null move is tried."""
_LIGHT_PERCENT = 12
"""Weight of the accrued score in an estimate, in per cent, below which estimates change little from ply to
ply."""


@inlined
def accrued_for_mover(work: SearchWorkspace, row: int) -> int:
    """Return the value of the accrued score from the point of view of the side to move."""
    value = score_value(work.worth, int64(work.rows[row, ACCRUED]))
    return -value if work.rows[row, TURN] else value


@kernel
def _is_repeated(work: SearchWorkspace, row: int) -> bool:
    """Return whether a position counts as repeated.

    A position counts as repeated if it has occurred twice before, or if its state has occurred since the
    root. In a game that is drawn in chess, any earlier occurrence of the state suffices, so that the engine
    tries another way.
    """
    rows = work.rows
    occurrences = 0
    oldest_row = 0 if work.control[DRAWN] else work.control[ROOT_ROW]
    reset_row = max(row - int64(rows[row, QUIET_PLIES]), 0)
    for earlier in range(row - 2, reset_row - 1, -2):
        if rows[earlier, KEY] == rows[row, KEY]:
            occurrences += 1
            is_same_state = rows[earlier, ACCRUED] == rows[row, ACCRUED]
            if occurrences == 2 or (earlier >= oldest_row and is_same_state):
                return True
    return False


@kernel
def _final_value(work: SearchWorkspace, row: int, count: int) -> int:
    """Return the value of a position if it ends the game, else ``NO_VALUE``.

    :param count: number of legal moves in the position.
    """
    rows, control = work.rows, work.control
    if count == 0:
        return -(MATE + SCALE_PLIES) if rows[row, RANK] == ZERO else -work.worth[1]
    if rows[row, AFTER] == NULL:
        return NO_VALUE
    is_over = control[HAS_FIFTY_MOVE_RULE] != 0 and int64(rows[row, CLOCK]) >= _FIFTY_MOVE_PLIES
    if control[BARE_KINGS] and not (rows[row, WHITES] | rows[row, BLACKS]) & ~rows[row, KINGS]:
        is_over |= rows[row, RANK] == _FREE_KING_RANK and rows[row - 1, RANK] == _FREE_KING_RANK
    return accrued_for_mover(work, row) if is_over or _is_repeated(work, row) else NO_VALUE


@kernel
def _tablebase_value(work: SearchWorkspace, row: int) -> int:
    """Return the value of a state from tables; if it has not arrived, request it and return ``NO_VALUE``."""
    rows, control = work.rows, work.control
    key = state_key(work, row)
    slot = slot_of(key, len(work.table_keys))
    if work.table_keys[slot] == key:
        value = work.table_values[slot]
        if value == NO_VALUE:
            return value
        control[HITS] += 1
        return -value if rows[row, TURN] else value
    if control[REQUESTS] - control[ANSWERS] < len(work.requests):
        request = control[REQUESTS] % len(work.requests)
        for column in range(ROW_SIZE):
            work.requests[request, column] = rows[row, column]
        work.requests[request, KEY] = key
        control[REQUESTS] += 1
    return NO_VALUE


@kernel
def _apply_fifty_move_rule(work: SearchWorkspace, row: int, accrued: int) -> None:
    """Apply a 50-move rule to an accrued score that has just improved.

    If the counter has run out, ``LATE_SCORES`` determines whether the improvement counts. Otherwise, an
    improvement to a rank below ``RESET_RANK`` resets the counter.

    :param accrued: the accrued score before this position, encoded as in ``rows``.
    """
    rows, control = work.rows, work.control
    if rows[row, AFTER] == RESET or int64(rows[row, ACCRUED]) == accrued:
        return
    if int64(rows[row, CLOCK]) >= _FIFTY_MOVE_PLIES and (
        control[LATE_SCORES] == 2 or (control[LATE_SCORES] == 1 and rows[row, RANK] > ONE)
    ):
        rows[row, ACCRUED] = accrued
    elif int64(rows[row, RANK]) < control[RESET_RANK]:
        rows[row, CLOCK] = 0


@kernel
def visit(work: SearchWorkspace, row: int, ply: int) -> tuple[int, int]:
    """Count a node and generate its moves.

    Return the number of moves, and the value if the game is over or the value has arrived from tables; else
    ``NO_VALUE``.
    """
    rows, control = work.rows, work.control
    control[NODES] += 1
    control[DEEPEST_PLY] = max(control[DEEPEST_PLY], ply)
    if control[STOP_REQUESTED] or control[NODES] > control[MAX_NODES]:
        control[STOPPED] = 1
    work.line_length[ply] = 0
    accrued = int64(rows[row, ACCRUED])
    count = complete_row(rows, row, work.moves, ply)
    if control[HAS_FIFTY_MOVE_RULE]:
        _apply_fifty_move_rule(work, row, accrued)
    value = _final_value(work, row, count)
    men = popcount(rows[row, WHITES] | rows[row, BLACKS])
    may_be_in_tables = (
        men <= control[MAX_MEN]
        and rows[row, AFTER] != NULL
        and not rows[row, CASTLING] | rows[row, EN_PASSANT]
    )
    return count, _tablebase_value(work, row) if value == NO_VALUE and may_be_in_tables else value


@inlined
def farther(bound: int, accrued: int) -> int:
    """Return the least value that :func:`closer` maps to ``bound`` or more."""
    return bound + 1 if bound > accrued else bound - 1


@inlined
def closer(value: int, accrued: int) -> int:
    """Return a value after it has moved by 1 towards the accrued score, for one ply towards the root."""
    return value - 1 if value > accrued else value + 1 if value < accrued else value


@inlined
def store_line(work: SearchWorkspace, ply: int, move: int) -> None:
    """Set the best line from a ply to ``move``, followed by the best line from the next ply."""
    work.line[ply, 0] = move
    for index in range(min(work.line_length[ply + 1], PLY_LIMIT - 1)):
        work.line[ply, index + 1] = work.line[ply + 1, index]
    work.line_length[ply] = min(work.line_length[ply + 1], PLY_LIMIT - 1) + 1


@inlined
def _can_pass(rows: Rows, row: int) -> bool:
    """Return whether a null move is safe: the side to move has two pieces, and four pawns remain."""
    ours = rows[row, WHITES + int64(rows[row, TURN])]
    men = rows[row, KNIGHTS] | rows[row, BISHOPS] | rows[row, ROOKS] | rows[row, QUEENS]
    return popcount(men & ours) >= 2 and popcount(rows[row, PAWNS]) >= 4


@inlined
def _reduction(index: int, depth: int) -> int:
    """Return the late move reduction of a quiet move, in plies.

    :param index: index of the move when sorted by priority, from 0.
    """
    plies = 1 + int64(index >= 8) + int64(depth >= 7 and index >= 4) + int64(depth >= 10 and index >= 20)
    return plies if depth >= 3 and index >= 3 else 0


@inlined
def _is_extended(work: SearchWorkspace, row: int, count: int) -> bool:
    """Return whether a position is searched a ply deeper: the side to move is in check or has few moves.

    :param count: number of legal moves.
    """
    control = work.control
    ply = row - control[ROOT_ROW]
    in_check = int64(work.rows[row, RANK]) & 1 == 0
    return (in_check or count <= _FEW_MOVES) and ply < 2 * control[ITERATION] and not control[UNPRUNED]


@inlined
def _estimate_for_mover(work: SearchWorkspace, row: int) -> int:
    """Return the estimated value of a state from the point of view of the side to move."""
    rows, control = work.rows, work.control
    if control[DRAWN]:
        value = estimate_drawn(rows, row, work.worth, control[ROOT_LEAD], control[REACHABLE_VALUE])
    else:
        value = estimate(rows, row, work.worth)
    return -value if rows[row, TURN] else value


@inlined
def _futility_bound(work: SearchWorkspace, row: int, depth: int, beta: int) -> int:
    """Return the estimate of a state if it exceeds beta by so much that no search is needed (reverse futility
    pruning), else ``NO_VALUE``.
    """
    if depth > _MAX_FUTILITY_DEPTH or score_percent(work.rows, row) >= _LIGHT_PERCENT:
        return NO_VALUE
    value = _estimate_for_mover(work, row)
    return value if value - depth * _FUTILITY_MARGIN >= beta else NO_VALUE


@kernel
def _search(work: SearchWorkspace, depth: int, alpha: int, beta: int, ply: int) -> int:
    """Return the value of the state at a ply if it lies between alpha and beta, else a bound on this value.

    :param depth: number of plies to search. Below 1, only captures and promotions are searched.
    """
    rows, control = work.rows, work.control
    row = control[ROOT_ROW] + ply
    count, value = visit(work, row, ply)
    if control[STOPPED]:
        return int64(0)
    if value != NO_VALUE:
        return value
    accrued = accrued_for_mover(work, row)
    in_check = int64(rows[row, RANK]) & 1 == 0
    unpruned = control[UNPRUNED] != 0
    if depth >= 0 and _is_extended(work, row, count):
        depth += 1
    noisy_only = depth <= 0 or ply >= PLY_LIMIT - 2
    key = entry_key(work, row)
    entry = int64(0) if noisy_only else find_entry(work, key)
    best = -INFINITE
    if noisy_only:
        best = _estimate_for_mover(work, row)
        if best >= beta or depth <= -_MAX_CAPTURES or ply >= PLY_LIMIT - 2:
            return best
    else:
        value = value_in(entry, depth, alpha, beta)
        if value != NO_VALUE:
            return value
        if beta - alpha == 1 and abs(beta) < MATE // 2 and not in_check and not unpruned:
            value = _futility_bound(work, row, depth, beta)
            if value != NO_VALUE:
                return value
            if depth >= _MIN_NULL_DEPTH and rows[row, AFTER] != NULL and _can_pass(rows, row):
                make_null_move(rows, row)
                value = -_search(work, depth - 3 - depth // 4, -beta, -beta + 1, ply + 1)
                if control[STOPPED]:
                    return int64(0)
                if value >= beta:
                    return beta
    set_priorities(work, row, ply, count, move_in(entry))
    best_move = int64(0)
    bound = max(alpha, best)
    for index in range(count):
        move = next_move(work, ply, index, count)
        is_noisy = move & NOISY_MASK != 0
        if noisy_only and not is_noisy:
            break
        make_move(rows, row, move)
        lower = farther(bound + 1, accrued) - 1
        upper = farther(beta, accrued)
        value = bound + 1
        if index and not noisy_only:
            reduction = 0 if is_noisy or in_check or unpruned else _reduction(index, depth)
            value = closer(-_search(work, depth - 1 - reduction, -lower - 1, -lower, ply + 1), accrued)
            if value > bound and reduction and not control[STOPPED]:
                value = closer(-_search(work, depth - 1, -lower - 1, -lower, ply + 1), accrued)
        if value > bound and (index == 0 or noisy_only or value < beta) and not control[STOPPED]:
            value = closer(-_search(work, depth - 1, -upper, -lower, ply + 1), accrued)
        if control[STOPPED]:
            return int64(0)
        best = max(best, value)
        if value > bound:
            bound = value
            best_move = move
            store_line(work, ply, move)
        if bound >= beta:
            if not is_noisy:
                record_cutoff(work, row, ply, move, depth)
            break
    if not noisy_only:
        store_result(
            work, key, depth, best, LOWER if best >= beta else EXACT if best > alpha else UPPER, best_move
        )
    return best


@kernel
def begin_search(work: SearchWorkspace, root: int) -> int:
    """Prepare a search from a position, and return the number of its legal moves.

    Compute the keys of all positions of the game, and sort the moves by priority.

    :param root: row of the position.
    """
    rows = work.rows
    for row in range(root + 1):
        rows[row, KEY] = position_key(rows, row)
    count = complete_row(rows, root, work.moves, int64(0))
    work.control[ROOT_LEAD] = lead(rows, root)
    age_records(work)
    set_priorities(work, root, int64(0), count, move_in(find_entry(work, entry_key(work, root))))
    for index in range(count):
        next_move(work, int64(0), index, count)
    return count


@kernel
def _value_after_expected_answer(work: SearchWorkspace, depth: int, answer: int) -> int:
    """Return the value after a move at ply 0 and the expected answer, from the mover's point of view.

    If no answer is expected, the other side passes. Return ``NO_VALUE`` if the value after the move is known
    without a search, or if the other side would have to pass in check.

    :param answer: squares and promotion of the expected answer, 0 for none.
    """
    rows = work.rows
    row = work.control[ROOT_ROW] + 1
    count, value = visit(work, row, int64(1))
    if value != NO_VALUE:
        return NO_VALUE
    expected = int64(0)
    for index in range(count):
        if int64(work.moves[1, index]) & SQUARES_AND_PROMOTION == answer:
            expected = int64(work.moves[1, index])
    if expected:
        make_move(rows, row, expected)
    elif int64(rows[row, RANK]) & 1:
        make_null_move(rows, row)
    else:
        return NO_VALUE
    return _search(work, depth - 1, -INFINITE, int64(INFINITE), int64(2))


@kernel
def _move_to_front(work: SearchWorkspace, index: int, front: int) -> None:
    """Move a move of the root, with its expected answer and its cost, to an earlier index."""
    move = work.moves[0, index]
    answer = work.replies[index]
    cost = work.costs[index]
    for later in range(index, front, -1):
        work.moves[0, later] = work.moves[0, later - 1]
        work.replies[later] = work.replies[later - 1]
        work.costs[later] = work.costs[later - 1]
    work.moves[0, front] = move
    work.replies[front] = answer
    work.costs[front] = cost


@kernel
def _search_against_chess(work: SearchWorkspace, depth: int, front: int, count: int) -> int:
    """Do the work of :func:`search_root` against a side that plays only chess.

    The value of a move is the mean of its value against the best answer and its value against the expected
    answer, minus its cost in chess.
    """
    rows, control = work.rows, work.control
    row = control[ROOT_ROW]
    accrued = accrued_for_mover(work, row)
    best = -INFINITE
    best_index = front
    work.line_length[0] = 0
    for index in range(front, count):
        move = int64(work.moves[0, index])
        make_move(rows, row, move)
        expected = _value_after_expected_answer(work, depth, int64(work.replies[index]))
        bound = best + work.costs[index]
        bound = max(bound if expected == NO_VALUE else 2 * bound - expected, -INFINITE)
        make_move(rows, row, move)
        value = closer(
            -_search(work, depth - 1, -INFINITE, 1 - farther(bound + 1, accrued), int64(1)), accrued
        )
        if control[STOPPED]:
            break
        value = (value if expected == NO_VALUE else (value + expected) >> 1) - work.costs[index]
        if value > best:
            best = value
            best_index = index
            store_line(work, int64(0), move)
    _move_to_front(work, best_index, front)
    return best


@kernel
def search_root(work: SearchWorkspace, depth: int, front: int, count: int) -> int:
    """Search the moves of the root from index ``front`` on, and return the value of the best of these moves,
    from the mover's point of view.

    The best move is moved to index ``front``, and its line becomes the best line from ply 0. If the search is
    stopped, only the moves searched so far count. In a game that is drawn in chess, the other side is assumed
    to play only chess.

    :param front: number of better moves, which come before this index and are skipped.
    :param count: total number of moves to choose from.
    """
    rows, control = work.rows, work.control
    row = control[ROOT_ROW]
    if control[DRAWN]:
        return _search_against_chess(work, depth, front, count)
    accrued = accrued_for_mover(work, row)
    best = -INFINITE
    work.line_length[0] = 0
    for index in range(front, count):
        move = int64(work.moves[0, index])
        make_move(rows, row, move)
        lower = farther(best + 1, accrued) - 1
        value = best + 1
        if index > front:
            value = closer(-_search(work, depth - 1, -lower - 1, -lower, int64(1)), accrued)
        if value > best and not control[STOPPED]:
            value = closer(-_search(work, depth - 1, -INFINITE, -lower, int64(1)), accrued)
        if control[STOPPED]:
            return best
        if value > best:
            best = value
            store_line(work, int64(0), move)
            _move_to_front(work, index, front)
    store_result(work, entry_key(work, row), depth, best, EXACT, int64(work.moves[0, front]))
    return best
