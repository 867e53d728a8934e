"""The transposition table of the search: keys of states, and the results of earlier searches by key.

An entry is an int64 with these fields, from the lowest bit on: the value (32 bits, with an offset), the
depth (8 bits), the kind of bound (2), the best move (15, see ``SQUARES_AND_PROMOTION``) and the serial number
of the search that stored it (6). The entry 0 means that there is none.
"""

import numpy as np

from tbgen.compiler.jit import inlined, int64, kernel
from tbgen.engine.kernels.board import ACCRUED, CLOCK, KEY, SQUARES_AND_PROMOTION
from tbgen.engine.scale import NO_VALUE
from tbgen.engine.workspace import (
    DISCARDS,
    DRAWN,
    GENERATION,
    HAS_FIFTY_MOVE_RULE,
    MAX_UNKEYED_CLOCK,
    SearchWorkspace,
)
from tbgen.moves.kernels.words import ONE, Word

LOWER, UPPER, EXACT = 1, 2, 3
"""Kinds of bounds: the value is at least, at most, or exactly the stored value."""

_ACCRUED_KEY = np.uint64(0x9E3779B97F4A7C15)
"""Multiplier that mixes the accrued score into keys. Its complement mixes in the clock."""
_DRAW_KEY = np.uint64(0xD1B54A32D192ED03)
"""Multiplier that mixes the flag of a drawn game into keys."""
_DISCARD_KEY = np.uint64(0xC2B2AE3D27D4EB4F)
"""Multiplier that mixes the number of discards of the table into keys of entries."""
_VALUE_MASK = (1 << 32) - 1
_VALUE_OFFSET = 1 << 31
_DEPTH_SHIFT, _DEPTH_MASK = 32, 0xFF
_BOUND_SHIFT, _BOUND_MASK = 40, 3
_MOVE_SHIFT = 42
_GENERATION_SHIFT, _GENERATION_MASK = 57, 0x3F
_REPLACED_PLIES = 3
"""A result of the same search is replaced unless it is deeper than the new result by more than this."""


@inlined
def state_key(work: SearchWorkspace, row: int) -> Word:
    """Return the key of a state. It also depends on whether the game is drawn in chess."""
    rows, control = work.rows, work.control
    key = rows[row, KEY] ^ (rows[row, ACCRUED] + ONE) * _ACCRUED_KEY ^ np.uint64(control[DRAWN]) * _DRAW_KEY
    if control[HAS_FIFTY_MOVE_RULE] and int64(rows[row, CLOCK]) > MAX_UNKEYED_CLOCK:
        key ^= rows[row, CLOCK] * ~_ACCRUED_KEY
    return key


@inlined
def entry_key(work: SearchWorkspace, row: int) -> Word:
    """Return the key of a state in the transposition table. It changes when the table is discarded."""
    return state_key(work, row) ^ np.uint64(work.control[DISCARDS]) * _DISCARD_KEY


@inlined
def slot_of(key: Word, size: int) -> int:
    """Return the only index at which a key may be in a table.

    :param size: number of entries of the table, a power of two.
    """
    return int64(key & np.uint64(size - 1))


@inlined
def find_entry(work: SearchWorkspace, key: Word) -> int:
    """Return the entry of a state, 0 if there is none."""
    slot = slot_of(key, len(work.keys))
    return int64(work.entries[slot] if work.keys[slot] == key else 0)


@inlined
def move_in(entry: int) -> int:
    """Return squares and promotion of the best move of an entry, 0 for none."""
    return entry >> _MOVE_SHIFT & SQUARES_AND_PROMOTION


@inlined
def value_in(entry: int, depth: int, alpha: int, beta: int) -> int:
    """Return the value of an entry if it answers a search of a depth and window, else ``NO_VALUE``."""
    if entry >> _DEPTH_SHIFT & _DEPTH_MASK < depth:
        return NO_VALUE
    value = (entry & _VALUE_MASK) - _VALUE_OFFSET
    bound = entry >> _BOUND_SHIFT & _BOUND_MASK
    if bound == EXACT or (bound == LOWER and value >= beta) or (bound == UPPER and value <= alpha):
        return value
    return NO_VALUE


@kernel
def store_result(work: SearchWorkspace, key: Word, depth: int, value: int, bound: int, move: int) -> None:
    """Store a result in the transposition table, unless a much deeper result of the same search is there.

    :param bound: ``LOWER``, ``UPPER`` or ``EXACT``.
    :param move: the best move, 0 if none is known; a move that is stored for this state then remains.
    """
    slot = slot_of(key, len(work.keys))
    old_entry = work.entries[slot]
    generation = work.control[GENERATION] & _GENERATION_MASK
    if work.keys[slot] == key:
        best_move = move & SQUARES_AND_PROMOTION if move else move_in(old_entry)
    elif (
        old_entry >> _GENERATION_SHIFT & _GENERATION_MASK == generation
        and old_entry >> _DEPTH_SHIFT & _DEPTH_MASK > depth + _REPLACED_PLIES
    ):
        return
    else:
        best_move = move & SQUARES_AND_PROMOTION
    entry = value + _VALUE_OFFSET | max(depth, 0) << _DEPTH_SHIFT | bound << _BOUND_SHIFT
    work.keys[slot] = key
    work.entries[slot] = entry | best_move << _MOVE_SHIFT | generation << _GENERATION_SHIFT
