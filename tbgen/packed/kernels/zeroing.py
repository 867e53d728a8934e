"""Zeroing moves of positions without an en passant right: the positions they lead to, and the best move."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE
from tbgen.compiler.jit import inlined, int64, kernel
from tbgen.compiler.structs import Struct
from tbgen.index.layout import MIRROR_FILES, TRANSPOSE
from tbgen.index.zeroing import PROMOTED
from tbgen.packed.kernels.derive import merit, weigh
from tbgen.packed.kernels.questions import DAMAGED
from tbgen.packed.kernels.rows import (
    Placed,
    Rows,
    attacked,
    is_legal,
    occupied_by,
    pawn_targets,
    place_slot,
)
from tbgen.retro.geometry import BIT, IMAGES, KIND_COUNT, ORTHODOX, PAWN_ATTACKS, SYMMETRY_OF, TRIANGLE_OF
from tbgen.retro.kernels.canonical import sort_like_men
from tbgen.retro.kernels.targets import CAPTURED_PAWN, Men, Targets, pawn_row
from tbgen.retro.kernels.words import Ints, Word, bits_of, image

ORIGIN, TARGET, SLOT, PASSED = range(4)
"""Columns of a list of moves:

- the number of the position before the move
- the number of the *target*, which is the table after the move with its side to move
- the canonical slot after the move
- the square that a pawn has passed by a double step, as the target numbers it, if the pawn can be captured en
  passant, else -1
"""
COLUMNS = 4
"""Number of columns of a list of moves."""
MAX_ZEROING = 64
"""Upper bound of the number of zeroing moves of a position: twelve of each pawn, and one capture for each
pair of other men."""
NO_CAPTURE = int64(0)
NO_PROMOTION = int64(0)
PAWN = int64(-1)
"""Number of a pawn among the free men, which are numbered from 0."""

Moves = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Destinations(Struct):
    """The tables that the zeroing moves of one table lead to."""

    rows: Rows
    """The rows of the table that the moves start from."""
    targets: Targets
    like: Ints
    """int64 (targets, 2): the range of free men of the same kind and colour in each target, empty if all
    differ."""


@dataclass(frozen=True, eq=False)
class ZeroingBuffers(Struct):
    """Buffers of one thread to list zeroing moves."""

    squares: Ints
    """int64 (5,): squares of the free men before the move."""
    after: Men
    """The men after the move, with their numbers before it."""
    child: Ints
    """int64 (5,): squares of the free men after the move, in the order of the target's table."""


class ZeroingTurn(NamedTuple):
    """A position whose zeroing moves are listed."""

    number: int
    """Number of the position in the list of positions."""
    side: int
    """The side to move."""
    men: Placed
    occupied: Word
    """Squares of all men."""


@inlined
def _slot_of_image(
    buffers: ZeroingBuffers, free: int, symmetry: int, like: Ints, phase: int, pawnless: bool
) -> int:
    """Map the men in ``buffers.child`` by a symmetry, sort men of the same kind and colour, and return their
    slot."""
    squares = buffers.child
    for man in range(free):
        squares[man] = IMAGES[symmetry, squares[man]]
    sort_like_men(squares, like)
    slot = int64(TRIANGLE_OF[squares[0]]) if pawnless else phase << 6 | squares[0]
    for man in range(1, free):
        slot = slot << 6 | squares[man]
    return slot


@kernel
def _slot_after(tables: Destinations, target: int, buffers: ZeroingBuffers) -> tuple[int, int]:
    """The canonical slot of the position ``buffers.after`` in a target, and the symmetry that maps its pawns
    to their placement there."""
    targets, pawns, squares = tables.targets, buffers.after.pawns, buffers.child
    free, like, phase = targets.free[target], tables.like[target : target + 1], int64(0)
    mirroring = 56 if targets.swapped[target] else 0
    for man in range(free):
        squares[man] = buffers.after.squares[targets.source[target, man]] ^ mirroring
    pawnless = targets.pawns[target] == 0
    if pawnless:
        symmetry = int64(SYMMETRY_OF[squares[0]])
        second_symmetry = TRANSPOSE if IMAGES[symmetry, squares[0]] % 9 == 0 else 0
    else:
        row = int64(pawn_row(targets, target, pawns))
        phase, symmetry = row >> 1, row & 1
        is_own_image = image(pawns[0], MIRROR_FILES) == pawns[0] and image(pawns[1], MIRROR_FILES) == pawns[1]
        second_symmetry = MIRROR_FILES if is_own_image else 0
    slot = _slot_of_image(buffers, free, symmetry, like, phase, pawnless)
    if second_symmetry:
        slot = min(slot, _slot_of_image(buffers, free, second_symmetry, like, phase, pawnless))
    return slot, symmetry


@inlined
def _passed(rows: Rows, turn: ZeroingTurn, start: int, stop: int) -> int:
    """The square that a pawn passes from ``start`` to ``stop`` if an en passant capture is legal, else -1."""
    men, side = turn.men, turn.side
    middle, king = (start + stop) // 2, men.squares[1 - side]
    for pawn in bits_of(PAWN_ATTACKS[side, middle] & rows.pawns[men.phase, 1 - side]):
        occupied = turn.occupied & ~BIT[start] & ~BIT[pawn] | BIT[middle]
        if not attacked(rows, men, king, side, occupied, BIT[start]):
            return middle
    return -1


@kernel
def _add(
    tables: Destinations,
    turn: ZeroingTurn,
    captured: int,
    kind: int,
    passed: int,
    buffers: ZeroingBuffers,
    moves: Moves,
    count: int,
) -> int:
    """Append the move to the position ``buffers.after``. Return the length of the list.

    ``captured`` is numbered as in ``Targets.number``; ``kind`` is that of the promoted man.
    """
    target = tables.targets.number[turn.side, captured, kind]
    slot, symmetry = _slot_after(tables, target, buffers)
    moves[count, ORIGIN], moves[count, TARGET], moves[count, SLOT] = turn.number, target, slot
    moves[count, PASSED] = passed if passed < 0 else IMAGES[symmetry, passed]
    return count + 1


@inlined
def _victim(rows: Rows, turn: ZeroingTurn, square: int) -> int:
    """The man captured on a square, as ``Targets.number`` numbers it."""
    for man in range(2, len(rows.kinds)):
        if turn.men.squares[man] == square:
            return man + 1
    return CAPTURED_PAWN if rows.pawns[turn.men.phase, 1 - turn.side] & BIT[square] else NO_CAPTURE


@kernel
def _add_if_legal(
    tables: Destinations,
    turn: ZeroingTurn,
    man: int,
    start: int,
    stop: int,
    buffers: ZeroingBuffers,
    moves: Moves,
    count: int,
) -> int:
    """Append the zeroing moves of a man from ``start`` to ``stop`` if they are legal. Return the length of
    the list."""
    rows, side, phase = tables.rows, turn.side, turn.men.phase
    if not is_legal(rows, turn.men, side, start, stop, turn.occupied):
        return count
    captured, squares, pawns = _victim(rows, turn, stop), buffers.after.squares, buffers.after.pawns
    pawns[1 - side] &= ~BIT[stop]
    if man != PAWN:
        squares[man] = stop
        count = _add(tables, turn, captured, NO_PROMOTION, -1, buffers, moves, count)
        squares[man] = start
    else:
        pawns[side] &= ~BIT[start]
        if 8 <= stop < 56:
            pawns[side] |= BIT[stop]
            passed = _passed(rows, turn, start, stop) if abs(stop - start) == 16 else -1
            count = _add(tables, turn, captured, NO_PROMOTION, passed, buffers, moves, count)
        else:
            squares[PROMOTED] = stop
            for kind in range(1, KIND_COUNT):
                count = _add(tables, turn, captured, kind, -1, buffers, moves, count)
        pawns[side] = rows.pawns[phase, side]
    pawns[1 - side] = rows.pawns[phase, 1 - side]
    return count


@kernel
def list_zeroing(
    tables: Destinations, side: int, slots: Ints, captures_only: bool, buffers: ZeroingBuffers, moves: Moves
) -> int:
    """List the zeroing moves of legal positions in ``moves``, and return their number.

    The positions are those at ``slots``, canonical or not, with ``side`` to move. ``captures_only`` excludes
    pawn moves that capture nothing. ``moves``, int64 (n, COLUMNS), must have MAX_ZEROING rows for each
    position.
    """
    rows, count = tables.rows, int64(0)
    squares, pawns = buffers.squares, buffers.after.pawns
    for number in range(len(slots)):
        men = Placed(squares, place_slot(rows, slots[number], squares))
        enemies = occupied_by(rows, men, 1 - side)
        turn = ZeroingTurn(number, side, men, occupied_by(rows, men, side) | enemies)
        for man in range(len(rows.kinds)):
            buffers.after.squares[man] = squares[man]
        pawns[0], pawns[1] = rows.pawns[men.phase, 0], rows.pawns[men.phase, 1]
        for man in range(len(rows.kinds)):
            if rows.colours[man] == side:
                kind, start = rows.kinds[man], squares[man]
                for stop in bits_of(enemies & ORTHODOX.attacks[kind, start]):
                    if not ORTHODOX.passed[kind, start, stop] & turn.occupied:
                        count = _add_if_legal(tables, turn, man, start, stop, buffers, moves, count)
        for pawn in bits_of(rows.pawns[men.phase, side]):
            stops = pawn_targets(side, pawn, turn.occupied, enemies)
            for stop in bits_of(stops & enemies if captures_only else stops):
                count = _add_if_legal(tables, turn, PAWN, pawn, stop, buffers, moves, count)
    return count


@kernel
def keep_best(tables: Destinations, side: int, moves: Moves, entries: Ints, exits: Ints) -> None:
    """Write the best moves of each position to ``exits``, int64 (positions, 3), in the form of
    ``Batch.exits``.

    ``entries``, int64 (moves, 2), are the codes of W, and D in plies, after the ``moves`` of ``side``. Codes
    have the colours of the targets, and may be DAMAGED.
    """
    for number in range(len(exits)):
        exits[number, 0] = NONE
    for at in range(len(moves)):
        number, code = moves[at, ORIGIN], entries[at, 0]
        previous = exits[number, 0]
        if code == DAMAGED or previous == DAMAGED:
            exits[number, 0] = DAMAGED
            continue
        value = merit(side, 255 - code if tables.targets.swapped[moves[at, TARGET]] else code)
        best = (int64(-1), int64(0), int64(0))
        if previous != NONE:
            best = merit(side, previous), exits[number, 1], exits[number, 2]
        best = weigh(best, value, entries[at, 1])
        exits[number, 0], exits[number, 1], exits[number, 2] = merit(side, best[0]), best[1], best[2]
