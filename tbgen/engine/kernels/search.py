"""Alpha-beta search for the accrued score with which the game ends.

This is a principal variation search with a transposition table, null moves, late move reductions [1] and a
quiescence search of captures. The accrued score is a part of every state, so the same position with another
score has another key. A state that tables may contain is requested from them when it is first visited; once
the answer has arrived, the state is a leaf with its true value.

Values are those for the side to move, on the scale of :mod:`tbgen.engine.scale`. With each ply towards the
root, a value moves by 1 towards the accrued score. So the side that gains by a value hurries, the other side
delays, and values do not depend on the ply at which a state is visited.

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
    BISHOPS,
    CAPTURE,
    CASTLING,
    CLOCK,
    EN_PASSANT,
    KEY,
    KINGS,
    KNIGHTS,
    NOISY,
    NULL,
    OF_BLACK,
    OF_WHITE,
    PAWNS,
    QUEENS,
    QUIET,
    RANK,
    RESET,
    ROOKS,
    STEP,
    TURN,
    WORDS,
    Rows,
    enter,
    key_of,
    kind_at,
    make,
    make_nothing,
)
from tbgen.engine.kernels.estimate import estimate, estimate_drawn, lasting, lead, worth_of
from tbgen.engine.scale import MATE, REACH
from tbgen.engine.squares import PAWN
from tbgen.engine.workspace import (
    ABORTED,
    ANSWERED,
    ASKED,
    BARE_KINGS,
    CLOCK_TOLD,
    DEEPEST,
    DRAWN,
    EVEN,
    FORGOTTEN,
    GENERATION,
    HITS,
    HOPE,
    ITERATION,
    LAST,
    LIMIT,
    MOST_NODES,
    NODES,
    PLAIN,
    PLIES,
    ROOT,
    RULE,
    STOP,
    TABLE_MEN,
    SearchWorkspace,
)
from tbgen.retro.kernels.words import ONE, ZERO, Word, popcount

NOTHING = 4 * MATE
"""Marks a state without a value."""
_SCORE_KEY, _DRAW_KEY = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1B54A32D192ED03)
_FREE_KING_RANK = 17
"""Rank of G8.5, the position score of a bare king with all his moves."""


@inlined
def state_key(work: SearchWorkspace, at: int) -> Word:
    """Return the key of a state, which also depends on whether the game is drawn in chess."""
    rows = work.rows
    key = rows[at, KEY] ^ (rows[at, ACCRUED] + ONE) * _SCORE_KEY ^ np.uint64(work.control[DRAWN]) * _DRAW_KEY
    if work.control[RULE] and int64(rows[at, CLOCK]) > CLOCK_TOLD:
        key ^= rows[at, CLOCK] * ~_SCORE_KEY
    return key


@inlined
def held_by_mover(work: SearchWorkspace, at: int) -> int:
    """Return the value of the accrued score for the side to move."""
    value = worth_of(work.worth, int64(work.rows[at, ACCRUED]))
    return -value if work.rows[at, TURN] else value


@kernel
def _repeated(work: SearchWorkspace, at: int) -> bool:
    """Return whether a position counts as repeated.

    This is so if it has occurred twice before, or if its state has occurred since the root. In a game drawn
    in chess, it suffices that the state has occurred at any time, so that the engine tries something else.
    """
    rows, met = work.rows, 0
    first = 0 if work.control[DRAWN] else work.control[ROOT]
    for before in range(at - 2, max(at - int64(rows[at, QUIET]), 0) - 1, -2):
        if rows[before, KEY] == rows[at, KEY]:
            met += 1
            if met == 2 or (before >= first and rows[before, ACCRUED] == rows[at, ACCRUED]):
                return True
    return False


@kernel
def _ended(work: SearchWorkspace, at: int, count: int) -> int:
    """Return the value of a position in which the game is over, else NOTHING.

    :param count: number of its legal moves.
    """
    rows, control = work.rows, work.control
    if count == 0:
        return -(MATE + REACH) if rows[at, RANK] == ZERO else -work.worth[1]
    if rows[at, STEP] == NULL:
        return NOTHING
    over = control[RULE] != 0 and int64(rows[at, CLOCK]) >= 100
    if control[BARE_KINGS] and not (rows[at, OF_WHITE] | rows[at, OF_BLACK]) & ~rows[at, KINGS]:
        over |= rows[at, RANK] == _FREE_KING_RANK and rows[at - 1, RANK] == _FREE_KING_RANK
    return held_by_mover(work, at) if over or _repeated(work, at) else NOTHING


@kernel
def _table_value(work: SearchWorkspace, at: int) -> int:
    """Return the value of a state from tables; if none has arrived yet, request it and return NOTHING."""
    rows, control = work.rows, work.control
    key = state_key(work, at)
    place = int64(key & np.uint64(len(work.table_keys) - 1))
    if work.table_keys[place] == key:
        value = work.table_values[place]
        if value == NOTHING:
            return value
        control[HITS] += 1
        return -value if rows[at, TURN] else value
    if control[ASKED] - control[ANSWERED] < len(work.requests):
        to = control[ASKED] % len(work.requests)
        for word in range(WORDS):
            work.requests[to, word] = rows[at, word]
        work.requests[to, KEY] = key
        control[ASKED] += 1
    return NOTHING


@kernel
def _progress(work: SearchWorkspace, at: int, accrued: int) -> None:
    """Apply a 50-move rule to an accrued score that has just improved.

    If the counter has run out, the improvement may not count. Otherwise, if it is progress, the counter is
    reset.

    :param accrued: the accrued score before the position.
    """
    rows, control = work.rows, work.control
    if rows[at, STEP] == RESET or int64(rows[at, ACCRUED]) == accrued:
        return
    if int64(rows[at, CLOCK]) >= 100 and (
        control[LAST] == 2 or (control[LAST] == 1 and rows[at, RANK] > ONE)
    ):
        rows[at, ACCRUED] = accrued
    elif int64(rows[at, RANK]) < control[LIMIT]:
        rows[at, CLOCK] = 0


@kernel
def arrive(work: SearchWorkspace, at: int, ply: int) -> tuple[int, int]:
    """Count a node and generate its moves.

    Return the number of moves, and the value if the game is over or tables contain the state, else NOTHING.
    """
    rows, control = work.rows, work.control
    control[NODES] += 1
    control[DEEPEST] = max(control[DEEPEST], ply)
    if control[STOP] or control[NODES] > control[MOST_NODES]:
        control[ABORTED] = 1
    work.length[ply] = 0
    accrued = int64(rows[at, ACCRUED])
    count = enter(rows, at, work.moves, ply)
    if control[RULE]:
        _progress(work, at, accrued)
    value = _ended(work, at, count)
    men = popcount(rows[at, OF_WHITE] | rows[at, OF_BLACK])
    held = (
        men <= control[TABLE_MEN] and rows[at, STEP] != NULL and not rows[at, CASTLING] | rows[at, EN_PASSANT]
    )
    return count, _table_value(work, at) if value == NOTHING and held else value


HINT = 0x7FFF
"""Bits of a move that the transposition table stores: squares and promotion."""
_VALUES = np.array([100, 320, 330, 500, 950, 0, 0])
"""Values of men in centipawns, for MVV-LVA."""


@kernel
def rank_moves(work: SearchWorkspace, at: int, ply: int, count: int, hint: int) -> None:
    """Compute the priorities of moves: the hint, captures by MVV-LVA, killer moves, history.

    :param hint: best move of an earlier search, 0 for none.
    """
    rows, turn = work.rows, int64(work.rows[at, TURN])
    for number in range(count):
        move = int64(work.moves[ply, number])
        order = int64(work.history[turn, move & 63, move >> 6 & 63])
        if hint and move & HINT == hint:
            order = 1 << 30
        elif move & NOISY:
            victim = kind_at(rows, at, move >> 6 & 63) if move & CAPTURE else 6
            gain = _VALUES[0 if move & CAPTURE and victim == 6 else victim] + _VALUES[move >> 12 & 7]
            order = (1 << 28) + 16 * gain - _VALUES[move >> 15 & 7]
            if not (move >> 12 & 7 or work.control[PLAIN]) and gain < _VALUES[move >> 15 & 7]:
                theirs = rows[at, OF_BLACK - turn] & rows[at, PAWNS]
                if PAWN[turn, move >> 6 & 63] & theirs:
                    order = -(1 << 20)
        elif move == work.killers[ply, 0]:
            order = 1 << 27
        elif move == work.killers[ply, 1]:
            order = (1 << 27) - 1
        work.order[ply, number] = order


@inlined
def next_move(work: SearchWorkspace, ply: int, number: int, count: int) -> int:
    """Return the move with the highest priority from a place on, and swap it to this place.

    :param number: the place.
    """
    moves, order = work.moves, work.order
    best = number
    for other in range(number + 1, count):
        if order[ply, other] > order[ply, best]:
            best = other
    move, value = moves[ply, best], order[ply, best]
    moves[ply, best], order[ply, best] = moves[ply, number], order[ply, number]
    moves[ply, number], order[ply, number] = move, value
    return int64(move)


@kernel
def remember(work: SearchWorkspace, at: int, ply: int, move: int, depth: int) -> None:
    """Record that a quiet move caused a beta cutoff: as a killer move, and in the history."""
    if work.killers[ply, 0] != move:
        work.killers[ply, 1] = work.killers[ply, 0]
        work.killers[ply, 0] = move
    turn, start, target = int64(work.rows[at, TURN]), move & 63, move >> 6 & 63
    now = int64(work.history[turn, start, target])
    work.history[turn, start, target] = now + depth * depth - now * depth * depth // 65536


INFINITE = 2 * MATE
_MAX_FORCED = 2
"""Greatest number of moves of positions that are searched a ply deeper, because low counts decide games."""
_MAX_CAPTURES = 10
"""Maximum number of successive captures in the quiescence search."""
_LOWER, _UPPER = 1, 2
"""Bits of a bound in the transposition table; an exact value has both."""
_MARGIN = MATE // 12
"""Margin per ply of reverse futility pruning: the change of a value that a ply may bring."""
_MAX_FUTILITY_DEPTH = 4
_FORGOTTEN_KEY = np.uint64(0xC2B2AE3D27D4EB4F)
_LOW_WEIGHT = 12
"""Weight of the accrued score in per cent below which estimates change little from ply to ply."""


@inlined
def wider(bound: int, held: int) -> int:
    """Return the least value that :func:`nearer` maps to a bound or more."""
    return bound + 1 if bound > held else bound - 1


@inlined
def nearer(value: int, held: int) -> int:
    """Return a value moved by 1 towards the accrued score, as with each ply towards the root."""
    return value - 1 if value > held else value + 1 if value < held else value


@inlined
def keep_line(work: SearchWorkspace, ply: int, move: int) -> None:
    """Set the best line from a ply to a move followed by the best line from the next ply."""
    work.line[ply, 0] = move
    for number in range(min(work.length[ply + 1], PLIES - 1)):
        work.line[ply, number + 1] = work.line[ply + 1, number]
    work.length[ply] = min(work.length[ply + 1], PLIES - 1) + 1


@kernel
def _store(work: SearchWorkspace, key: Word, depth: int, value: int, bound: int, move: int) -> None:
    """Store a result in the transposition table, but replace no much deeper one of the same search."""
    place = int64(key & np.uint64(len(work.keys) - 1))
    old, generation = work.entries[place], work.control[GENERATION] & 63
    if work.keys[place] != key and old >> 57 & 63 == generation and old >> 32 & 255 > depth + 3:
        return
    if not move and work.keys[place] == key:
        move = old >> 42 & HINT
    work.keys[place] = key
    kept = (value + (1 << 31)) | max(depth, 0) << 32 | bound << 40
    work.entries[place] = kept | (move & HINT) << 42 | generation << 57


@inlined
def _entry_key(work: SearchWorkspace, at: int) -> Word:
    """Return the key of a state in the transposition table, which changes when the table is invalidated."""
    return state_key(work, at) ^ np.uint64(work.control[FORGOTTEN]) * _FORGOTTEN_KEY


@inlined
def _can_pass(rows: Rows, at: int) -> bool:
    """Return whether a null move is safe: the side to move has two pieces, and four pawns remain."""
    ours = rows[at, OF_WHITE + int64(rows[at, TURN])]
    men = rows[at, KNIGHTS] | rows[at, BISHOPS] | rows[at, ROOKS] | rows[at, QUEENS]
    return popcount(men & ours) >= 2 and popcount(rows[at, PAWNS]) >= 4


@inlined
def _reduction(number: int, depth: int) -> int:
    """Return the late move reduction of a quiet move in plies.

    :param number: place of the move in the order.
    """
    plies = 1 + int64(number >= 8) + int64(depth >= 7 and number >= 4) + int64(depth >= 10 and number >= 20)
    return plies if depth >= 3 and number >= 3 else 0


@kernel
def _node(work: SearchWorkspace, depth: int, alpha: int, beta: int, ply: int) -> int:
    """Return the value of the position at a ply if it lies between alpha and beta, else a bound of it.

    :param depth: number of plies to search. Below 1 only captures are searched, and each lowers it by 1.
    """
    rows, control = work.rows, work.control
    at = control[ROOT] + ply
    count, value = arrive(work, at, ply)
    if control[ABORTED]:
        return int64(0)
    if value != NOTHING:
        return value
    turn, plain = int64(rows[at, TURN]), control[PLAIN] != 0
    held, rank = held_by_mover(work, at), int64(rows[at, RANK])
    check = rank & 1 == 0
    if depth >= 0 and (check or count <= _MAX_FORCED) and ply < 2 * control[ITERATION] and not plain:
        depth += 1
    quiet = depth <= 0 or ply >= PLIES - 2
    key = _entry_key(work, at)
    hint = int64(0)
    if not quiet:
        place = int64(key & np.uint64(len(work.keys) - 1))
        if work.keys[place] == key:
            entry = work.entries[place]
            hint = entry >> 42 & HINT
            if entry >> 32 & 255 >= depth:
                value, bound = (entry & 0xFFFFFFFF) - (1 << 31), entry >> 40 & 3
                exact = bound == _LOWER | _UPPER
                if exact or (bound == _LOWER and value >= beta) or (bound == _UPPER and value <= alpha):
                    return value
    best = -INFINITE
    narrow = beta - alpha == 1 and not check and not plain
    if quiet or (narrow and depth <= _MAX_FUTILITY_DEPTH):
        if control[DRAWN]:
            value = estimate_drawn(rows, at, work.worth, control[EVEN], control[HOPE])
        else:
            value = estimate(rows, at, work.worth)
        value = -value if turn else value
        if quiet:
            best = value
            if best >= beta or depth <= -_MAX_CAPTURES or ply >= PLIES - 2:
                return best
        elif abs(beta) < MATE // 2 and lasting(rows, at) < _LOW_WEIGHT and value - depth * _MARGIN >= beta:
            return value
    if narrow and depth >= 3 and rows[at, STEP] != NULL and _can_pass(rows, at) and abs(beta) < MATE // 2:
        make_nothing(rows, at)
        value = -_node(work, depth - 3 - depth // 4, -beta, -beta + 1, ply + 1)
        if control[ABORTED]:
            return int64(0)
        if value >= beta:
            return beta
    rank_moves(work, at, ply, count, hint)
    chosen, low = int64(0), max(alpha, best)
    for number in range(count):
        move = next_move(work, ply, number, count)
        noisy = move & NOISY != 0
        if quiet and not noisy:
            break
        make(rows, at, move)
        a, b = wider(low + 1, held) - 1, wider(beta, held)
        value = low + 1
        if number and not quiet:
            reduction = 0 if noisy or check or plain else _reduction(number, depth)
            value = nearer(-_node(work, depth - 1 - reduction, -a - 1, -a, ply + 1), held)
            if value > low and reduction and not control[ABORTED]:
                value = nearer(-_node(work, depth - 1, -a - 1, -a, ply + 1), held)
        if value > low and (number == 0 or quiet or value < beta) and not control[ABORTED]:
            value = nearer(-_node(work, depth - 1, -b, -a, ply + 1), held)
        if control[ABORTED]:
            return int64(0)
        if value > best:
            best = value
            if value > low:
                low, chosen = value, move
                keep_line(work, ply, move)
        if low >= beta:
            if not noisy:
                remember(work, at, ply, move, depth)
            break
    if not quiet:
        bound = _LOWER if best >= beta else _UPPER if best <= alpha else _LOWER | _UPPER
        _store(work, key, depth, best, bound, chosen)
    return best


@kernel
def begin(work: SearchWorkspace, root: int) -> int:
    """Prepare a search from a position, and return the number of its moves.

    This computes the keys of all positions of the game and sorts the moves by priority.

    :param root: row of the position.
    """
    rows = work.rows
    for at in range(root + 1):
        rows[at, KEY] = key_of(rows, at)
    count = enter(rows, root, work.moves, int64(0))
    work.control[EVEN] = lead(rows, root)
    for ply in range(PLIES):
        work.killers[ply, 0] = work.killers[ply, 1] = 0
    for turn in range(2):
        for start in range(64):
            for target in range(64):
                work.history[turn, start, target] >>= 1
    key = _entry_key(work, root)
    place = int64(key & np.uint64(len(work.keys) - 1))
    hint = work.entries[place] >> 42 & HINT if work.keys[place] == key else int64(0)
    rank_moves(work, root, int64(0), count, hint)
    for number in range(count):
        next_move(work, int64(0), number, count)
    return count


@kernel
def _hoped(work: SearchWorkspace, depth: int, answer: int) -> int:
    """Return the value, for the mover, after a move at ply 0 and the expected answer.

    Without an expected answer, the other side passes. Return NOTHING if the value after the move is
    determined without a search, or if the other side is in check and cannot pass.

    :param answer: squares and promotion of the expected answer, 0 for none.
    """
    rows, at = work.rows, work.control[ROOT] + 1
    count, value = arrive(work, at, int64(1))
    if value != NOTHING:
        return NOTHING
    expected = int64(0)
    for number in range(count):
        if int64(work.moves[1, number]) & HINT == answer:
            expected = int64(work.moves[1, number])
    if expected:
        make(rows, at, expected)
    elif int64(rows[at, RANK]) & 1:
        make_nothing(rows, at)
    else:
        return NOTHING
    return _node(work, depth - 1, -INFINITE, int64(INFINITE), int64(2))


@kernel
def _search_expecting(work: SearchWorkspace, depth: int, first: int, count: int) -> int:
    """Search the moves of the root like :func:`search_root`, against a side that plays chess only.

    The value of a move is the mean of its values against the best answer and against the expected answer,
    less its cost in chess.
    """
    rows, control = work.rows, work.control
    at = control[ROOT]
    held, best, place = held_by_mover(work, at), -INFINITE, first
    work.length[0] = 0
    for number in range(first, count):
        move = int64(work.moves[0, number])
        make(rows, at, move)
        hoped = _hoped(work, depth, int64(work.answers[number]))
        bound = best + work.costs[number]
        bound = max(bound if hoped == NOTHING else 2 * bound - hoped, -INFINITE)
        make(rows, at, move)
        value = nearer(-_node(work, depth - 1, -INFINITE, 1 - wider(bound + 1, held), int64(1)), held)
        if control[ABORTED]:
            break
        value = (value if hoped == NOTHING else (value + hoped) >> 1) - work.costs[number]
        if value > best:
            best, place = value, number
            keep_line(work, int64(0), move)
    chosen, answer, cost = work.moves[0, place], work.answers[place], work.costs[place]
    for number in range(place, first, -1):
        work.moves[0, number], work.answers[number] = work.moves[0, number - 1], work.answers[number - 1]
        work.costs[number] = work.costs[number - 1]
    work.moves[0, first], work.answers[first], work.costs[first] = chosen, answer, cost
    return best


@kernel
def search_root(work: SearchWorkspace, depth: int, first: int, count: int) -> int:
    """Search the moves of the root from a place on, and return the value of the best move for its mover.

    The best move is moved to this place, and its line is that of ply 0. If the search is stopped, the result
    is that of the moves searched so far. In a game drawn in chess, the other side is assumed to play chess
    only.

    :param first: the place; the better moves before it are skipped.
    :param count: number of all moves to choose from.
    """
    rows, control = work.rows, work.control
    at = control[ROOT]
    if control[DRAWN]:
        return _search_expecting(work, depth, first, count)
    held, best = held_by_mover(work, at), -INFINITE
    work.length[0] = 0
    for number in range(first, count):
        move = int64(work.moves[0, number])
        make(rows, at, move)
        a = wider(best + 1, held) - 1
        value = best + 1
        if number > first:
            value = nearer(-_node(work, depth - 1, -a - 1, -a, int64(1)), held)
        if value > best and not control[ABORTED]:
            value = nearer(-_node(work, depth - 1, -INFINITE, -a, int64(1)), held)
        if control[ABORTED]:
            return best
        if value > best:
            best = value
            keep_line(work, int64(0), move)
            for place in range(number, first, -1):
                work.moves[0, place] = work.moves[0, place - 1]
            work.moves[0, first] = move
    _store(work, _entry_key(work, at), depth, best, _LOWER | _UPPER, int64(work.moves[0, first]))
    return best
