"""Alpha-beta search for the accrued score with which the game ends.

This is a principal variation search with a transposition table, null moves, late move reductions [1] and a
quiescence search of captures and promotions. The accrued score is part of every state, so the same position
with another accrued score has another key. If tables may contain a state, its value is requested at the first
visit. Once the answer has arrived, the state is a leaf with its true value.

Values are from the point of view of the side to move, on the scale of :mod:`tbgen.engine.scale`. With each
ply towards the root, a value moves by 1 towards the value of the accrued score. So a side hurries towards a
value that is better for it than the accrued score, and the other side delays it. Values do not depend on the
ply at which a state is visited.

Moves are ordered as follows: the best move of an earlier search, captures by MVV-LVA, killer moves [2], and
other quiet moves by their history [3].

[1] T. A. Marsland, *A review of game-tree pruning*, ICCA Journal 9 (1986), 3-19.
[2] https://www.chessprogramming.org/Killer_Heuristic
[3] https://www.chessprogramming.org/History_Heuristic
"""

import numpy as np

from tbgen.compiler.jit import inlined, int64, kernel
from tbgen.engine.kernels.board import (
    ACCRUED,
    AFTER,
    BISHOPS,
    BLACKS,
    CAPTURE,
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
    TURN,
    WHITES,
    Rows,
    complete_row,
    kind_at,
    make_move,
    make_null_move,
    position_key,
)
from tbgen.engine.kernels.estimate import estimate, estimate_drawn, lead, score_percent, score_value
from tbgen.engine.scale import MATE, SCALE_PLIES
from tbgen.engine.squares import PAWN_ATTACKS
from tbgen.engine.workspace import (
    ABORTED,
    ANSWERS,
    BARE_KINGS,
    DEEPEST_PLY,
    DISCARDS,
    DRAWN,
    GENERATION,
    HITS,
    HOPE,
    ITERATION,
    LATE_SCORES,
    MAX_MEN,
    MAX_NODES,
    MAX_UNKEYED_CLOCK,
    NODES,
    PLAIN,
    PLY_LIMIT,
    REQUESTS,
    RESET_RANK,
    ROOT,
    ROOT_LEAD,
    RULE,
    STOP,
    SearchWorkspace,
)
from tbgen.retro.kernels.words import ONE, ZERO, Word, popcount

NO_VALUE = 4 * MATE
"""Marks a state without a value."""
_ACCRUED_KEY, _DRAW_KEY = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1B54A32D192ED03)
"""Multipliers that mix the accrued score, and the flag of a drawn game, into keys. The complement of
``_ACCRUED_KEY`` mixes in the clock."""
_FREE_KING_RANK = 17
"""Rank of G8.5, the position score of a bare king that has all eight of its moves."""


@inlined
def state_key(work: SearchWorkspace, row: int) -> Word:
    """Return the key of a state. It also depends on whether the game is drawn in chess."""
    rows, drawn = work.rows, np.uint64(work.control[DRAWN])
    key = rows[row, KEY] ^ (rows[row, ACCRUED] + ONE) * _ACCRUED_KEY ^ drawn * _DRAW_KEY
    if work.control[RULE] and int64(rows[row, CLOCK]) > MAX_UNKEYED_CLOCK:
        key ^= rows[row, CLOCK] * ~_ACCRUED_KEY
    return key


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
    rows, occurrences = work.rows, 0
    first = 0 if work.control[DRAWN] else work.control[ROOT]
    for before in range(row - 2, max(row - int64(rows[row, QUIET_PLIES]), 0) - 1, -2):
        if rows[before, KEY] == rows[row, KEY]:
            occurrences += 1
            if occurrences == 2 or (before >= first and rows[before, ACCRUED] == rows[row, ACCRUED]):
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
    is_over = control[RULE] != 0 and int64(rows[row, CLOCK]) >= 100
    if control[BARE_KINGS] and not (rows[row, WHITES] | rows[row, BLACKS]) & ~rows[row, KINGS]:
        is_over |= rows[row, RANK] == _FREE_KING_RANK and rows[row - 1, RANK] == _FREE_KING_RANK
    return accrued_for_mover(work, row) if is_over or _is_repeated(work, row) else NO_VALUE


@kernel
def _tablebase_value(work: SearchWorkspace, row: int) -> int:
    """Return the value of a state from tables; if it has not arrived, request it and return ``NO_VALUE``."""
    rows, control = work.rows, work.control
    key = state_key(work, row)
    place = int64(key & np.uint64(len(work.table_keys) - 1))
    if work.table_keys[place] == key:
        value = work.table_values[place]
        if value == NO_VALUE:
            return value
        control[HITS] += 1
        return -value if rows[row, TURN] else value
    if control[REQUESTS] - control[ANSWERS] < len(work.requests):
        slot = control[REQUESTS] % len(work.requests)
        for word in range(ROW_SIZE):
            work.requests[slot, word] = rows[row, word]
        work.requests[slot, KEY] = key
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
    if int64(rows[row, CLOCK]) >= 100 and (
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
    rows, words = work.rows, work.control
    words[NODES] += 1
    words[DEEPEST_PLY] = max(words[DEEPEST_PLY], ply)
    if words[STOP] or words[NODES] > words[MAX_NODES]:
        words[ABORTED] = 1
    work.line_length[ply] = 0
    accrued = int64(rows[row, ACCRUED])
    count = complete_row(rows, row, work.moves, ply)
    if words[RULE]:
        _apply_fifty_move_rule(work, row, accrued)
    value = _final_value(work, row, count)
    men = popcount(rows[row, WHITES] | rows[row, BLACKS])
    may_be_in_tables = (
        men <= words[MAX_MEN] and rows[row, AFTER] != NULL and not rows[row, CASTLING] | rows[row, EN_PASSANT]
    )
    return count, _tablebase_value(work, row) if value == NO_VALUE and may_be_in_tables else value


HINT_BITS = 0x7FFF
"""Bits of a move that the transposition table stores: squares and promotion."""
_MAN_VALUES = np.array([100, 320, 330, 500, 950, 0, 0])
"""Values of men in centipawns, for MVV-LVA."""


@kernel
def set_priorities(work: SearchWorkspace, row: int, ply: int, count: int, hint: int) -> None:
    """Compute the priorities of the moves at a ply: first the hint, then captures by MVV-LVA, then killer
    moves, then other moves by history.

    :param hint: best move of an earlier search, 0 for none.
    """
    rows, turn = work.rows, int64(work.rows[row, TURN])
    for index in range(count):
        move = int64(work.moves[ply, index])
        priority = int64(work.history[turn, move & 63, move >> 6 & 63])
        if hint and move & HINT_BITS == hint:
            priority = 1 << 30
        elif move & NOISY_MASK:
            victim = kind_at(rows, row, move >> 6 & 63) if move & CAPTURE else 6
            gain = _MAN_VALUES[0 if move & CAPTURE and victim == 6 else victim] + _MAN_VALUES[move >> 12 & 7]
            priority = (1 << 28) + 16 * gain - _MAN_VALUES[move >> 15 & 7]
            if not (move >> 12 & 7 or work.control[PLAIN]) and gain < _MAN_VALUES[move >> 15 & 7]:
                theirs = rows[row, BLACKS - turn] & rows[row, PAWNS]
                if PAWN_ATTACKS[turn, move >> 6 & 63] & theirs:
                    priority = -(1 << 20)
        elif move == work.killers[ply, 0]:
            priority = 1 << 27
        elif move == work.killers[ply, 1]:
            priority = (1 << 27) - 1
        work.priority[ply, index] = priority


@inlined
def next_move(work: SearchWorkspace, ply: int, index: int, count: int) -> int:
    """Find the move with the highest priority among those from ``index`` on, swap it to this index,
    and return it.
    """
    moves, priority = work.moves, work.priority
    best = index
    for other in range(index + 1, count):
        if priority[ply, other] > priority[ply, best]:
            best = other
    move, value = moves[ply, best], priority[ply, best]
    moves[ply, best], priority[ply, best] = moves[ply, index], priority[ply, index]
    moves[ply, index], priority[ply, index] = move, value
    return int64(move)


@kernel
def record_cutoff(work: SearchWorkspace, row: int, ply: int, move: int, depth: int) -> None:
    """Record in the killer moves and in the history that a quiet move caused a beta cutoff."""
    if work.killers[ply, 0] != move:
        work.killers[ply, 1] = work.killers[ply, 0]
        work.killers[ply, 0] = move
    turn, start, target = int64(work.rows[row, TURN]), move & 63, move >> 6 & 63
    old_score = int64(work.history[turn, start, target])
    work.history[turn, start, target] = old_score + depth * depth - old_score * depth * depth // 65536


INFINITE = 2 * MATE
_FEW_MOVES = 2
"""Positions with at most this many moves are searched a ply deeper, because games are decided where a side
has few moves."""
_MAX_CAPTURES = 10
"""Maximum number of successive captures and promotions in the quiescence search."""
_LOWER, _UPPER = 1, 2
"""Bits of a bound in the transposition table. An exact value has both."""
_MARGIN = MATE // 12
"""Margin of reverse futility pruning per ply: a ply is expected to change a value by at most this much."""
_MAX_FUTILITY_DEPTH = 4
_DISCARD_KEY = np.uint64(0xC2B2AE3D27D4EB4F)
_LIGHT = 12
"""Weight of the accrued score in an estimate, in per cent, below which estimates change little from ply to
ply."""


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


@kernel
def _store_result(work: SearchWorkspace, key: Word, depth: int, value: int, bound: int, move: int) -> None:
    """Store a result in the transposition table, unless a much deeper result of the same search is there."""
    place = int64(key & np.uint64(len(work.keys) - 1))
    old, generation = work.entries[place], work.control[GENERATION] & 63
    if work.keys[place] != key and old >> 57 & 63 == generation and old >> 32 & 255 > depth + 3:
        return
    if not move and work.keys[place] == key:
        move = old >> 42 & HINT_BITS
    work.keys[place] = key
    entry = (value + (1 << 31)) | max(depth, 0) << 32 | bound << 40
    work.entries[place] = entry | (move & HINT_BITS) << 42 | generation << 57


@inlined
def _entry_key(work: SearchWorkspace, row: int) -> Word:
    """Return the key of a state in the transposition table. It changes when the table is discarded."""
    return state_key(work, row) ^ np.uint64(work.control[DISCARDS]) * _DISCARD_KEY


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


@kernel
def _search(work: SearchWorkspace, depth: int, alpha: int, beta: int, ply: int) -> int:
    """Return the value of the state at a ply if it lies between alpha and beta, else a bound on this value.

    :param depth: number of plies to search. Below 1, only captures and promotions are searched.
    """
    rows, control = work.rows, work.control
    row = control[ROOT] + ply
    count, value = visit(work, row, ply)
    if control[ABORTED]:
        return int64(0)
    if value != NO_VALUE:
        return value
    turn, plain = int64(rows[row, TURN]), control[PLAIN] != 0
    accrued, rank = accrued_for_mover(work, row), int64(rows[row, RANK])
    check = rank & 1 == 0
    if depth >= 0 and (check or count <= _FEW_MOVES) and ply < 2 * control[ITERATION] and not plain:
        depth += 1
    quiet = depth <= 0 or ply >= PLY_LIMIT - 2
    key = _entry_key(work, row)
    hint = int64(0)
    if not quiet:
        place = int64(key & np.uint64(len(work.keys) - 1))
        if work.keys[place] == key:
            entry = work.entries[place]
            hint = entry >> 42 & HINT_BITS
            if entry >> 32 & 255 >= depth:
                value, bound = (entry & 0xFFFFFFFF) - (1 << 31), entry >> 40 & 3
                exact = bound == _LOWER | _UPPER
                if exact or (bound == _LOWER and value >= beta) or (bound == _UPPER and value <= alpha):
                    return value
    best = -INFINITE
    narrow = beta - alpha == 1 and not check and not plain
    if quiet or (narrow and depth <= _MAX_FUTILITY_DEPTH):
        if control[DRAWN]:
            value = estimate_drawn(rows, row, work.worth, control[ROOT_LEAD], control[HOPE])
        else:
            value = estimate(rows, row, work.worth)
        value = -value if turn else value
        if quiet:
            best = value
            if best >= beta or depth <= -_MAX_CAPTURES or ply >= PLY_LIMIT - 2:
                return best
        elif abs(beta) < MATE // 2 and score_percent(rows, row) < _LIGHT and value - depth * _MARGIN >= beta:
            return value
    if narrow and depth >= 3 and rows[row, AFTER] != NULL and _can_pass(rows, row) and abs(beta) < MATE // 2:
        make_null_move(rows, row)
        value = -_search(work, depth - 3 - depth // 4, -beta, -beta + 1, ply + 1)
        if control[ABORTED]:
            return int64(0)
        if value >= beta:
            return beta
    set_priorities(work, row, ply, count, hint)
    chosen, low = int64(0), max(alpha, best)
    for index in range(count):
        move = next_move(work, ply, index, count)
        noisy = move & NOISY_MASK != 0
        if quiet and not noisy:
            break
        make_move(rows, row, move)
        a, b = farther(low + 1, accrued) - 1, farther(beta, accrued)
        value = low + 1
        if index and not quiet:
            reduction = 0 if noisy or check or plain else _reduction(index, depth)
            value = closer(-_search(work, depth - 1 - reduction, -a - 1, -a, ply + 1), accrued)
            if value > low and reduction and not control[ABORTED]:
                value = closer(-_search(work, depth - 1, -a - 1, -a, ply + 1), accrued)
        if value > low and (index == 0 or quiet or value < beta) and not control[ABORTED]:
            value = closer(-_search(work, depth - 1, -b, -a, ply + 1), accrued)
        if control[ABORTED]:
            return int64(0)
        if value > best:
            best = value
            if value > low:
                low, chosen = value, move
                store_line(work, ply, move)
        if low >= beta:
            if not noisy:
                record_cutoff(work, row, ply, move, depth)
            break
    if not quiet:
        bound = _LOWER if best >= beta else _UPPER if best <= alpha else _LOWER | _UPPER
        _store_result(work, key, depth, best, bound, chosen)
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
    for ply in range(PLY_LIMIT):
        work.killers[ply, 0] = work.killers[ply, 1] = 0
    for turn in range(2):
        for start in range(64):
            for target in range(64):
                work.history[turn, start, target] >>= 1
    key = _entry_key(work, root)
    place = int64(key & np.uint64(len(work.keys) - 1))
    hint = work.entries[place] >> 42 & HINT_BITS if work.keys[place] == key else int64(0)
    set_priorities(work, root, int64(0), count, hint)
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
    rows, row = work.rows, work.control[ROOT] + 1
    count, value = visit(work, row, int64(1))
    if value != NO_VALUE:
        return NO_VALUE
    expected = int64(0)
    for index in range(count):
        if int64(work.moves[1, index]) & HINT_BITS == answer:
            expected = int64(work.moves[1, index])
    if expected:
        make_move(rows, row, expected)
    elif int64(rows[row, RANK]) & 1:
        make_null_move(rows, row)
    else:
        return NO_VALUE
    return _search(work, depth - 1, -INFINITE, int64(INFINITE), int64(2))


@kernel
def _search_against_chess(work: SearchWorkspace, depth: int, first: int, count: int) -> int:
    """Do the work of :func:`search_root` against a side that plays only chess.

    The value of a move is the mean of its value against the best answer and its value against the expected
    answer, minus its cost in chess.
    """
    rows, control = work.rows, work.control
    row = control[ROOT]
    accrued, best, place = accrued_for_mover(work, row), -INFINITE, first
    work.line_length[0] = 0
    for index in range(first, count):
        move = int64(work.moves[0, index])
        make_move(rows, row, move)
        expected = _value_after_expected_answer(work, depth, int64(work.replies[index]))
        low = best + work.costs[index]
        low = max(low if expected == NO_VALUE else 2 * low - expected, -INFINITE)
        make_move(rows, row, move)
        value = closer(-_search(work, depth - 1, -INFINITE, 1 - farther(low + 1, accrued), int64(1)), accrued)
        if control[ABORTED]:
            break
        value = (value if expected == NO_VALUE else (value + expected) >> 1) - work.costs[index]
        if value > best:
            best, place = value, index
            store_line(work, int64(0), move)
    chosen, answer, cost = work.moves[0, place], work.replies[place], work.costs[place]
    for index in range(place, first, -1):
        work.moves[0, index], work.replies[index] = work.moves[0, index - 1], work.replies[index - 1]
        work.costs[index] = work.costs[index - 1]
    work.moves[0, first], work.replies[first], work.costs[first] = chosen, answer, cost
    return best


@kernel
def search_root(work: SearchWorkspace, depth: int, first: int, count: int) -> int:
    """Search the moves of the root from index ``first`` on, and return the value of the best of these moves,
    from the mover's point of view.

    The best move is moved to index ``first``, and its line becomes the best line from ply 0. If the search is
    stopped, only the moves searched so far count. In a game that is drawn in chess, the other side is assumed
    to play only chess.

    :param first: number of better moves, which come before this index and are skipped.
    :param count: total number of moves to choose from.
    """
    rows, control = work.rows, work.control
    row = control[ROOT]
    if control[DRAWN]:
        return _search_against_chess(work, depth, first, count)
    accrued, best = accrued_for_mover(work, row), -INFINITE
    work.line_length[0] = 0
    for index in range(first, count):
        move = int64(work.moves[0, index])
        make_move(rows, row, move)
        a = farther(best + 1, accrued) - 1
        value = best + 1
        if index > first:
            value = closer(-_search(work, depth - 1, -a - 1, -a, int64(1)), accrued)
        if value > best and not control[ABORTED]:
            value = closer(-_search(work, depth - 1, -INFINITE, -a, int64(1)), accrued)
        if control[ABORTED]:
            return best
        if value > best:
            best = value
            store_line(work, int64(0), move)
            for place in range(index, first, -1):
                work.moves[0, place] = work.moves[0, place - 1]
            work.moves[0, first] = move
    _store_result(work, _entry_key(work, row), depth, best, _LOWER | _UPPER, int64(work.moves[0, first]))
    return best
