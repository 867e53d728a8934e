"""Zeroing moves of positions without an en passant right: the positions that they lead to, and the best
move."""

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE
from tbgen.compiler.jit import inlined, int64, kernel
from tbgen.index.codes import DAMAGED
from tbgen.index.layout import MIRROR_FILES, TRANSPOSE
from tbgen.index.zeroing import PROMOTED
from tbgen.moves.geometry import BIT, IMAGES, KIND_COUNT, PAWN_ATTACKS, SYMMETRY_OF, TRIANGLE_OF
from tbgen.moves.kernels.targets import CAPTURED_PAWN, pawn_row, sort_like_men
from tbgen.moves.kernels.words import Ints, bits_of, image
from tbgen.tables.destinations import Destinations, ZeroingBuffers
from tbgen.tables.kernels.goals import merit, weigh
from tbgen.tables.kernels.rows import (
    PlacedMen,
    Turn,
    is_attacked,
    place_slot,
    targets_of_man,
    targets_of_pawn,
    turn_of,
)
from tbgen.tables.structs import ORIGIN, PASSED, SLOT, TARGET, Rows, ZeroingMoves

NO_CAPTURE = int64(0)
NO_PROMOTION = int64(0)
PAWN = int64(-1)
"""Replaces the index of the moving man if it is a pawn. The indices of free men begin with 0."""

Moves = NDArray[np.int64]


@inlined
def _slot_of_image(
    buffers: ZeroingBuffers, free: int, symmetry: int, like_men: Ints, phase: int, pawnless: bool
) -> int:
    """Map the men in ``buffers.child`` by a symmetry, sort men of the same kind and colour, and return
    the slot of the position."""
    squares = buffers.child
    for man in range(free):
        squares[man] = IMAGES[symmetry, squares[man]]
    sort_like_men(squares, like_men)
    slot = int64(TRIANGLE_OF[squares[0]]) if pawnless else phase << 6 | squares[0]
    for man in range(1, free):
        slot = slot << 6 | squares[man]
    return slot


@kernel
def _slot_and_symmetry(tables: Destinations, target: int, buffers: ZeroingBuffers) -> tuple[int, int]:
    """The canonical slot, in a target, of the position ``buffers.after``, and the symmetry that maps its
    pawns to their placement in the target."""
    targets = tables.targets
    pawns = buffers.after.pawns
    squares = buffers.child
    free = targets.free_count[target]
    like_men = tables.like_men[target : target + 1]
    phase = int64(0)
    mirroring = 56 if targets.swapped[target] else 0
    for man in range(free):
        squares[man] = buffers.after.squares[targets.source[target, man]] ^ mirroring
    pawnless = targets.pawn_count[target] == 0
    if pawnless:
        symmetry = int64(SYMMETRY_OF[squares[0]])
        second_symmetry = TRANSPOSE if IMAGES[symmetry, squares[0]] % 9 == 0 else 0
    else:
        row = int64(pawn_row(targets, target, pawns))
        phase = row >> 1
        symmetry = row & 1
        is_own_image = image(pawns[0], MIRROR_FILES) == pawns[0] and image(pawns[1], MIRROR_FILES) == pawns[1]
        second_symmetry = MIRROR_FILES if is_own_image else 0
    slot = _slot_of_image(buffers, free, symmetry, like_men, phase, pawnless)
    if second_symmetry:
        slot = min(slot, _slot_of_image(buffers, free, second_symmetry, like_men, phase, pawnless))
    return slot, symmetry


@inlined
def _passed_square(rows: Rows, turn: Turn, start: int, stop: int) -> int:
    """The square that a pawn passes from ``start`` to ``stop``, or -1 if no en passant capture there is
    legal."""
    men, side = turn.men, turn.side
    middle = (start + stop) // 2
    king = men.squares[1 - side]
    for pawn in bits_of(PAWN_ATTACKS[side, middle] & rows.pawns[men.phase, 1 - side]):
        occupied = (turn.own | turn.enemies) & ~BIT[start] & ~BIT[pawn] | BIT[middle]
        if not is_attacked(rows, men, king, side, occupied, BIT[start]):
            return middle
    return -1


@kernel
def _append_move(
    tables: Destinations,
    turn: Turn,
    victim: int,
    kind: int,
    passed_square: int,
    buffers: ZeroingBuffers,
    moves: Moves,
    count: int,
) -> int:
    """Append the move to the position ``buffers.after``, without its origin. Return the length of the list.

    ``victim`` is numbered as in ``Targets.number``; ``kind`` is the kind of the promoted man.
    """
    target = tables.targets.number[turn.side, victim, kind]
    slot, symmetry = _slot_and_symmetry(tables, target, buffers)
    moves[count, TARGET], moves[count, SLOT] = target, slot
    moves[count, PASSED] = passed_square if passed_square < 0 else IMAGES[symmetry, passed_square]
    return count + 1


@inlined
def _victim_number(rows: Rows, turn: Turn, square: int) -> int:
    """The number in ``Targets.number`` of the man that is captured on a square."""
    for man in range(2, len(rows.kinds)):
        if turn.men.squares[man] == square:
            return man + 1
    return CAPTURED_PAWN if rows.pawns[turn.men.phase, 1 - turn.side] & BIT[square] else NO_CAPTURE


@kernel
def _append_moves(
    tables: Destinations,
    turn: Turn,
    man: int,
    start: int,
    stop: int,
    buffers: ZeroingBuffers,
    moves: Moves,
    count: int,
) -> int:
    """Append the zeroing moves of a man from ``start`` to ``stop``, which are legal. Return the length of the
    list."""
    rows = tables.rows
    side = turn.side
    phase = turn.men.phase
    victim = _victim_number(rows, turn, stop)
    squares = buffers.after.squares
    pawns = buffers.after.pawns
    pawns[1 - side] &= ~BIT[stop]
    if man != PAWN:
        squares[man] = stop
        count = _append_move(tables, turn, victim, NO_PROMOTION, -1, buffers, moves, count)
        squares[man] = start
    else:
        pawns[side] &= ~BIT[start]
        if 8 <= stop < 56:
            pawns[side] |= BIT[stop]
            passed_square = _passed_square(rows, turn, start, stop) if abs(stop - start) == 16 else -1
            count = _append_move(tables, turn, victim, NO_PROMOTION, passed_square, buffers, moves, count)
        else:
            squares[PROMOTED] = stop
            for kind in range(1, KIND_COUNT):
                count = _append_move(tables, turn, victim, kind, -1, buffers, moves, count)
        pawns[side] = rows.pawns[phase, side]
    pawns[1 - side] = rows.pawns[phase, 1 - side]
    return count


@kernel
def list_zeroing(
    tables: Destinations,
    listed: ZeroingMoves,
    buffers: ZeroingBuffers,
    side: int,
    positions: int,
    captures_only: int,
) -> int:
    """List the zeroing moves of the first ``positions`` of ``listed.slot``, and return their number.

    The positions are legal, with ``side`` to move. If ``captures_only``, pawn moves that capture nothing are
    omitted. ``listed.move`` must have MAX_ZEROING rows for each position.
    """
    rows, moves = tables.rows, listed.move
    count = int64(0)
    squares, pawns = buffers.squares, buffers.after.pawns
    for index in range(positions):
        men = PlacedMen(squares, place_slot(rows, listed.slot[index], squares))
        start = count
        turn = turn_of(rows, men, side)
        for man in range(len(rows.kinds)):
            buffers.after.squares[man] = squares[man]
        pawns[0], pawns[1] = rows.pawns[men.phase, 0], rows.pawns[men.phase, 1]
        for man in range(len(rows.kinds)):
            if rows.colours[man] == side:
                for stop in bits_of(targets_of_man(rows, turn, man) & turn.enemies):
                    count = _append_moves(tables, turn, man, squares[man], stop, buffers, moves, count)
        for pawn in bits_of(rows.pawns[men.phase, side]):
            targets = targets_of_pawn(rows, turn, pawn)
            for stop in bits_of(targets & turn.enemies if captures_only else targets):
                count = _append_moves(tables, turn, PAWN, pawn, stop, buffers, moves, count)
        moves[start:count, ORIGIN] = index  # a number
    return count


@kernel
def find_exits(tables: Destinations, listed: ZeroingMoves, side: int, count: int) -> None:
    """Weigh the first ``count`` moves of ``side`` against the best moves in ``listed.exits``.

    The codes in ``listed.entry`` are in the colours of the targets, which may be swapped, and may be DAMAGED,
    or NONE for moves that do not matter.
    """
    moves, entries, exits = listed.move, listed.entry, listed.exits
    for index in range(count):
        origin, code = moves[index, ORIGIN], entries[index, 0]
        previous = exits[origin, 0]
        if code == NONE:
            continue
        if code == DAMAGED or previous == DAMAGED:
            exits[origin, 0] = DAMAGED
            continue
        value = merit(side, 255 - code if tables.targets.swapped[moves[index, TARGET]] else code)
        best = (int64(-1), int64(0), int64(0))
        if previous != NONE:
            best = merit(side, previous), exits[origin, 1], exits[origin, 2]
        best = weigh(best, value, entries[index, 1])
        exits[origin, 0] = merit(side, best[0])
        exits[origin, 1] = best[1]
        exits[origin, 2] = best[2]
