"""A state of the search when it is met: its key, its moves, and its value where nobody has to search for it.

The game may be over there, or tables may hold it. Tables are asked when a state is first met, and tell its
value from then on.
"""

import numpy as np

from tbgen.compiler.jit import inlined, int64, kernel
from tbgen.engine.kernels.board import (
    ACCRUED,
    CASTLING,
    CLOCK,
    EN_PASSANT,
    KEY,
    KINGS,
    NULL,
    OF_BLACK,
    OF_WHITE,
    QUIET,
    RANK,
    RESET,
    STEP,
    TURN,
    WORDS,
    enter,
)
from tbgen.engine.kernels.estimate import worth_of
from tbgen.engine.room import (
    ABORTED,
    ANSWERED,
    ASKED,
    BARE_KINGS,
    CLOCK_TOLD,
    DEEPEST,
    DRAWN,
    HITS,
    LAST,
    LIMIT,
    MOST_NODES,
    NODES,
    ROOT,
    RULE,
    STOP,
    TABLE_MEN,
    SearchRoom,
)
from tbgen.engine.scale import MATE, REACH
from tbgen.retro.kernels.bits import ONE, ZERO, Word, popcount

NOTHING = 4 * MATE
"""Says that a state has no value yet."""
_SPREAD, _APART = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1B54A32D192ED03)
_KINGS_MOVES = 17


@inlined
def state_key(room: SearchRoom, at: int) -> Word:
    """Return the key of a state, which is another one where the game is known to be drawn in chess."""
    rows = room.rows
    key = rows[at, KEY] ^ (rows[at, ACCRUED] + ONE) * _SPREAD ^ np.uint64(room.control[DRAWN]) * _APART
    if room.control[RULE] and int64(rows[at, CLOCK]) > CLOCK_TOLD:
        key ^= rows[at, CLOCK] * ~_SPREAD
    return key


@inlined
def held_by_mover(room: SearchRoom, at: int) -> int:
    """Return what the accrued score is worth to the side to move."""
    value = worth_of(room.worth, int64(room.rows[at, ACCRUED]))
    return -value if room.rows[at, TURN] else value


@kernel
def _repeated(room: SearchRoom, at: int) -> bool:
    """Tell whether the position has been on the board twice before, or its state since the search began; in a
    drawn game the state at any time, so that who wants more does something else."""
    rows, met = room.rows, 0
    first = 0 if room.control[DRAWN] else room.control[ROOT]
    for before in range(at - 2, max(at - int64(rows[at, QUIET]), 0) - 1, -2):
        if rows[before, KEY] == rows[at, KEY]:
            met += 1
            if met == 2 or (before >= first and rows[before, ACCRUED] == rows[at, ACCRUED]):
                return True
    return False


@kernel
def _ended(room: SearchRoom, at: int, count: int) -> int:
    """Return the value of a position in which the game is over, NOTHING in others."""
    rows, control = room.rows, room.control
    if count == 0:
        return -(MATE + REACH) if rows[at, RANK] == ZERO else -room.worth[1]
    if rows[at, STEP] == NULL:
        return NOTHING
    over = control[RULE] != 0 and int64(rows[at, CLOCK]) >= 100
    if control[BARE_KINGS] and not (rows[at, OF_WHITE] | rows[at, OF_BLACK]) & ~rows[at, KINGS]:
        over |= rows[at, RANK] == _KINGS_MOVES and rows[at - 1, RANK] == _KINGS_MOVES
    return held_by_mover(room, at) if over or _repeated(room, at) else NOTHING


@kernel
def _table_value(room: SearchRoom, at: int) -> int:
    """Return the value that tables have told for a state, NOTHING where they have not; then they are asked
    for it."""
    rows, control = room.rows, room.control
    key = state_key(room, at)
    place = int64(key & np.uint64(len(room.known_keys) - 1))
    if room.known_keys[place] == key:
        value = room.known[place]
        if value == NOTHING:
            return value
        control[HITS] += 1
        return -value if rows[at, TURN] else value
    if control[ASKED] - control[ANSWERED] < len(room.asked):
        to = control[ASKED] % len(room.asked)
        for word in range(WORDS):
            room.asked[to, word] = rows[at, word]
        room.asked[to, KEY] = key
        control[ASKED] += 1
    return NOTHING


@kernel
def _progress(room: SearchRoom, at: int, accrued: int) -> None:
    """Have a 50-move rule count a score that has just improved.

    :param accrued: the accrued score before.
    """
    rows, control = room.rows, room.control
    if rows[at, STEP] == RESET or int64(rows[at, ACCRUED]) == accrued:
        return
    if int64(rows[at, CLOCK]) >= 100 and (
        control[LAST] == 2 or (control[LAST] == 1 and rows[at, RANK] > ONE)
    ):
        rows[at, ACCRUED] = accrued
    elif int64(rows[at, RANK]) < control[LIMIT]:
        rows[at, CLOCK] = 0


@kernel
def arrive(room: SearchRoom, at: int, ply: int) -> tuple[int, int]:
    """Count a position and write its moves; return how many there are, and its value, if nobody has to search
    for it, else NOTHING."""
    rows, control = room.rows, room.control
    control[NODES] += 1
    control[DEEPEST] = max(control[DEEPEST], ply)
    if control[STOP] or control[NODES] > control[MOST_NODES]:
        control[ABORTED] = 1
    room.length[ply] = 0
    accrued = int64(rows[at, ACCRUED])
    count = enter(rows, at, room.moves, ply)
    if control[RULE]:
        _progress(room, at, accrued)
    value = _ended(room, at, count)
    men = popcount(rows[at, OF_WHITE] | rows[at, OF_BLACK])
    held = (
        men <= control[TABLE_MEN] and rows[at, STEP] != NULL and not rows[at, CASTLING] | rows[at, EN_PASSANT]
    )
    return count, _table_value(room, at) if value == NOTHING and held else value
