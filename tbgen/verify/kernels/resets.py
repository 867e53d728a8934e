"""Where captures and pawn moves lead, and what moves out of a cell are worth.

Tables are numbered: 0 is the table being proved, the others are its sub-tables. Every kind of zeroing move is
a *reset*, numbered by what it captures and what it promotes to (:func:`reset_number`).

Moves out of a cell are captures, and all moves of men that stand still.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE
from tbgen.compiler.jit import inlined, int64
from tbgen.index.layout import IMAGE, MIRROR_FILES, TRIANGLE_COORD
from tbgen.verify.geometry import KNIGHT
from tbgen.verify.kernels.moves import ProofMen, Squares
from tbgen.verify.kernels.results import key_of
from tbgen.verify.sub_tables import Fresh

_IMAGE = np.array(IMAGE, np.int64)
_COORD = np.array([TRIANGLE_COORD.get(square, -1) for square in range(64)], np.int64)

PROMOTIONS = KNIGHT
"""Number of kinds that a pawn promotes to: queen 1 to knight 4."""


class ProofResets(NamedTuple):
    """The directory of all resets and tables; the first axis of an array is the table or the reset."""

    table: NDArray[np.int64]
    """Shape (resets,): number of the table that a reset leads to."""
    swapped: NDArray[np.int64]
    """Shape (resets,): 1 if the colours are swapped in that table."""
    source: NDArray[np.int64]
    """Shape (resets, 8): which man before the move each man of the table is; its pawns come last."""
    free: NDArray[np.int64]
    """Shape (tables,): number of free men."""
    pawns: NDArray[np.int64]
    """Shape (tables,): number of pawns."""
    alike: NDArray[np.int64]
    """Shape (tables, 8): 1 for a free man of the same kind and colour as the one before it."""
    phase_size: NDArray[np.int64]
    """Shape (tables,): number of slots of a phase."""
    start: NDArray[np.int64]
    """Shape (tables, 2): where the slots of a sub-table with one side to move start in ``value``, behind its
    end where no move leads."""
    key_start: NDArray[np.int64]
    """Shape (tables,): where a table's placements start in ``phases``."""
    phases: NDArray[np.int32]
    """By pawn squares read as digits to base 64: 4 * phase, plus 1 if the placement is canonical, plus 2 if
    its mirror image is; 0 if neither is."""
    value: NDArray[np.uint8]
    """Codes of all sub-tables, :class:`tbgen.verify.sub_tables.SubTables`."""
    depth: NDArray[np.uint16]


_NONE, _ROWS = np.zeros(0, np.int64), np.zeros((0, 0), np.int64)
NO_RESETS = ProofResets(
    _NONE, _NONE, _ROWS, _NONE, _NONE, _ROWS, _NONE, _ROWS, _NONE,
    np.zeros(0, np.int32), np.zeros(0, np.uint8), np.zeros(0, np.uint16),
)  # fmt: skip


@inlined
def reset_number(men: ProofMen, captured: int, pawn: int, kind: int) -> int:
    """Number of the reset in which ``captured`` goes (-1: none) and ``pawn`` becomes a ``kind`` (0: none)."""
    promotion = 1 + pawn * PROMOTIONS + kind - 1 if kind else 0
    return (captured + 1) * (1 + men.kinds.size * PROMOTIONS) + promotion


@inlined
def _image_slot(resets: ProofResets, table: int, squares: Squares, symmetry: int) -> int:
    """Slot within its phase of the free men under a symmetry, like men in ascending order.

    ``squares`` (int64 (16,)) holds the men of the table; its second half is overwritten.
    """
    free = resets.free[table]
    for man in range(free):
        image = _IMAGE[symmetry, squares[man]]
        place = man
        while resets.alike[table, place] and squares[8 + place - 1] > image:
            squares[8 + place] = squares[8 + place - 1]
            place -= 1
        squares[8 + place] = image
    slot = squares[8] if resets.pawns[table] else _COORD[squares[8]]
    for man in range(1, free):
        slot = slot << 6 | squares[8 + man]
    return slot


@inlined
def canonical_slot(resets: ProofResets, table: int, squares: Squares) -> int:
    """Canonical slot in a table of the men on ``squares`` (int64 (16,), free men first)."""
    base = phase = 0
    if resets.pawns[table]:
        phase = _phase(resets, table, squares)
        base = (phase >> 2) * resets.phase_size[table]
    best = resets.phase_size[table]
    for symmetry in range(8):
        if resets.pawns[table]:
            fits = symmetry <= MIRROR_FILES and phase >> symmetry & 1 != 0
        else:
            fits = _COORD[_IMAGE[symmetry, squares[0]]] >= 0
        if fits:
            best = min(best, _image_slot(resets, table, squares, symmetry))
    return base + best


@inlined
def _phase(resets: ProofResets, table: int, squares: Squares) -> int:
    """Entry of ``ProofResets.phases`` for the pawns among ``squares``."""
    free = resets.free[table]
    key = 0
    for pawn in range(resets.pawns[table]):
        key = key << 6 | squares[free + pawn]
    return resets.phases[resets.key_start[table] + key]


@inlined
def fresh_after(
    resets: ProofResets, own: Fresh, reset: int, squares: Squares, side: int, scratch: Squares
) -> int:
    """Code of W, plus 256 times D, of the position after a reset of ``side``.

    ``own`` are the values and depths of the table being proved; ``squares`` are those after the move, in the
    order of the men before it; ``scratch`` is int64 (16,).
    """
    table = resets.table[reset]
    swapped = resets.swapped[reset]
    for man in range(resets.free[table] + resets.pawns[table]):
        scratch[man] = squares[resets.source[reset, man]] ^ 56 * swapped
    slot = canonical_slot(resets, table, scratch)
    to_move = 1 - side ^ swapped
    if table == 0:
        code, plies = int64(own[0][to_move, slot]), int64(own[1][to_move, slot])
    else:
        slot += resets.start[table, to_move]
        code, plies = int64(resets.value[slot]), int64(resets.depth[slot])
    if swapped and code != NONE:
        code = 255 - code
    return code + 256 * plies


class CellExits(NamedTuple):
    """Values of the moves out of a cell in one of its games."""

    way: NDArray[np.int32]
    """Number of each way out, by :func:`way_number`; 0 where nothing is known."""
    begin: NDArray[np.int64]
    """Start of each way's values; -1 - code where a code holds for all of them."""
    value: NDArray[np.uint8]
    """Codes by the squares of the mobile men left, in their order; ``NONE`` where nothing is known."""
    depth: NDArray[np.uint16]
    unknown: int
    """Code of what nothing is known about."""


NO_EXITS = CellExits(
    np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.uint8), np.zeros(0, np.uint16), 0
)


@inlined
def way_number(men: ProofMen, mover: int, target: int, victim: int, promotion: int) -> int:
    """Number of a way out.

    ``mover`` is the man that stands still and moves to ``target``; it is the number of men if a mobile man
    moves, and then ``target`` is where the man that stands still was captured, else 0. ``victim`` is 1 + the
    mobile man that is captured, else 0.
    """
    return ((mover * 64 + target) * (men.free + 1) + victim) * (PROMOTIONS + 1) + promotion


@inlined
def key_of_exit(
    exits: CellExits, men: ProofMen, man: int, captured: int, promotion: int, squares: Squares, level: int
) -> int:
    """Key of the position on ``squares``, after ``man`` has left the cell; ``captured`` is -1 for nobody."""
    slot = int64(0)
    for other in range(men.free):
        if other != captured:
            slot = slot << 6 | squares[other]
    victim = captured + 1 if captured < men.free else 0
    mover, target = man, squares[man]
    if man < men.free:
        mover = men.kinds.size
        if victim:
            target = int64(0)
    begin = exits.begin[exits.way[way_number(men, mover, target, victim, promotion)]]
    if begin < 0:
        return key_of(-1 - begin, 0, level)
    code = int64(exits.value[begin + slot])
    if code == NONE:
        return key_of(exits.unknown, 0, level)
    return key_of(code, int64(exits.depth[begin + slot]), level)
