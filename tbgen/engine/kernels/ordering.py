"""The order in which the search tries moves: what was best before, much taken by little, what refuted others.

A quiet move that refutes what came before is remembered by its ply [1] and by its squares [2].

[1] https://www.chessprogramming.org/Killer_Heuristic
[2] https://www.chessprogramming.org/History_Heuristic
"""

import numpy as np

from tbgen.compiler.jit import inlined, int64, kernel
from tbgen.engine.geometry import PAWN
from tbgen.engine.kernels.board import CAPTURE, NOISY, OF_BLACK, PAWNS, TURN, kind_at
from tbgen.engine.room import PLAIN, SearchRoom

HINT = 0x7FFF
"""What the transposition table keeps of a move: squares and promotion."""
_VALUES = np.array([100, 320, 330, 500, 950, 0, 0])


@kernel
def rank_moves(room: SearchRoom, at: int, ply: int, count: int, hint: int) -> None:
    """Say in which order moves are tried: the hint, much taken by little, what refuted others."""
    rows, turn = room.rows, int64(room.rows[at, TURN])
    for number in range(count):
        move = int64(room.moves[ply, number])
        order = int64(room.history[turn, move & 63, move >> 6 & 63])
        if hint and move & HINT == hint:
            order = 1 << 30
        elif move & NOISY:
            taken = kind_at(rows, at, move >> 6 & 63) if move & CAPTURE else 6
            gain = _VALUES[0 if move & CAPTURE and taken == 6 else taken] + _VALUES[move >> 12 & 7]
            order = (1 << 28) + 16 * gain - _VALUES[move >> 15 & 7]
            if not (move >> 12 & 7 or room.control[PLAIN]) and gain < _VALUES[move >> 15 & 7]:
                theirs = rows[at, OF_BLACK - turn] & rows[at, PAWNS]
                if PAWN[turn, move >> 6 & 63] & theirs:
                    order = -(1 << 20)
        elif move == room.killers[ply, 0]:
            order = 1 << 27
        elif move == room.killers[ply, 1]:
            order = (1 << 27) - 1
        room.order[ply, number] = order


@inlined
def next_move(room: SearchRoom, ply: int, number: int, count: int) -> int:
    """Return the move to try next, and put it in its place."""
    moves, order = room.moves, room.order
    best = number
    for other in range(number + 1, count):
        if order[ply, other] > order[ply, best]:
            best = other
    move, value = moves[ply, best], order[ply, best]
    moves[ply, best], order[ply, best] = moves[ply, number], order[ply, number]
    moves[ply, number], order[ply, number] = move, value
    return int64(move)


@kernel
def remember(room: SearchRoom, at: int, ply: int, move: int, depth: int) -> None:
    """Note that a quiet move refuted what came before."""
    if room.killers[ply, 0] != move:
        room.killers[ply, 1] = room.killers[ply, 0]
        room.killers[ply, 0] = move
    turn, start, target = int64(room.rows[at, TURN]), move & 63, move >> 6 & 63
    now = int64(room.history[turn, start, target])
    room.history[turn, start, target] = now + depth * depth - now * depth * depth // 65536
