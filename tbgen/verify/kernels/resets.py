"""The positions that captures and pawn moves lead to, and the results of moves out of a cell.

Tables are numbered. The table to prove has number 0, and its sub-tables have greater numbers. Each kind of
zeroing move is a *reset*, numbered by the captured man and the promotion (:func:`reset_number`).

Moves out of a cell are captures, and all moves of frozen men and pawns.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE
from tbgen.compiler.jit import inlined, int64
from tbgen.index.layout import IMAGE, MIRROR_FILES, TRIANGLE_COORD
from tbgen.verify.geometry import KNIGHT
from tbgen.verify.kernels.moves import ProofMen, Squares
from tbgen.verify.kernels.results import grade_of

_IMAGE = np.array(IMAGE, np.int64)
_COORD = np.array([TRIANGLE_COORD.get(square, -1) for square in range(64)], np.int64)

FreshArrays = tuple[NDArray[np.uint8], NDArray[np.uint16]]
"""Fresh values and depths of a table, shape (2, size) each."""

PROMOTIONS = KNIGHT
"""Number of kinds that a pawn can promote to, from queen (1) to knight (4)."""
_EMPTY = np.zeros(0, np.int64)
_NO_ROWS = np.zeros((0, 0), np.int64)


class ProofResets(NamedTuple):
    """All resets and the tables that they lead to."""

    table: NDArray[np.int64]
    """Shape (resets,): number of the table that a reset leads to."""
    swapped: NDArray[np.int64]
    """Shape (resets,): 1 if the colours are swapped in that table."""
    source: NDArray[np.int64]
    """Shape (resets, 8): for each man of that table, pawns last, its index among the men before the move."""
    free_count: NDArray[np.int64]
    """Shape (tables,): number of free men."""
    pawn_count: NDArray[np.int64]
    """Shape (tables,): number of pawns."""
    is_like_previous: NDArray[np.int64]
    """Shape (tables, 8): 1 for a free man of the same kind and colour as the previous man."""
    phase_size: NDArray[np.int64]
    """Shape (tables,): number of slots of a phase."""
    first_block: NDArray[np.int64]
    """Shape (tables,): index, in ``start``, of the first phase of each sub-table."""
    start: NDArray[np.int64]
    """Shape (blocks, 2): index in ``value`` of the first slot of each phase of the sub-tables, by side to
    move; -1 if it has not been read."""
    key_start: NDArray[np.int64]
    """Shape (tables,): index in ``phases`` of the first entry of each table."""
    phases: NDArray[np.int32]
    """One entry for each tuple of pawn squares; the squares are the digits, in base 64, of the entry's index.
    An entry is 4 * phase, plus 1 if the placement is canonical, plus 2 if its mirror image is canonical; 0 if
    neither is."""
    value: NDArray[np.uint8]
    """Codes of the fresh values of the sub-tables, as in :class:`tbgen.verify.sub_tables.SubTables`."""
    depth: NDArray[np.uint16]
    """Fresh depths of the sub-tables."""


NO_RESETS = ProofResets(
    table=_EMPTY, swapped=_EMPTY, source=_NO_ROWS, free_count=_EMPTY, pawn_count=_EMPTY,
    is_like_previous=_NO_ROWS, phase_size=_EMPTY, first_block=_EMPTY, start=_NO_ROWS, key_start=_EMPTY,
    phases=np.zeros(0, np.int32), value=np.zeros(0, np.uint8), depth=np.zeros(0, np.uint16),
)  # fmt: skip


@inlined
def reset_number(men: ProofMen, captured: int, pawn: int, kind: int) -> int:
    """Number of the reset that captures ``captured`` and promotes ``pawn`` to ``kind``.

    ``captured`` is -1 if there is no capture, and ``kind`` is 0 if there is no promotion.
    """
    promotion = 1 + pawn * PROMOTIONS + kind - 1 if kind else 0
    return (captured + 1) * (1 + men.kinds.size * PROMOTIONS) + promotion


@inlined
def _image_slot(resets: ProofResets, table: int, squares: Squares, symmetry: int) -> int:
    """Slot within the phase of the image of the free men under a symmetry.

    Men of the same kind and colour are put in ascending order of their squares.
    ``squares`` (int64 (16,)) contains the squares of the table's men. Its second half is overwritten.
    """
    free = resets.free_count[table]
    for man in range(free):
        image = _IMAGE[symmetry, squares[man]]
        column = man
        while resets.is_like_previous[table, column] and squares[8 + column - 1] > image:
            squares[8 + column] = squares[8 + column - 1]
            column -= 1
        squares[8 + column] = image
    slot = squares[8] if resets.pawn_count[table] else _COORD[squares[8]]
    for man in range(1, free):
        slot = slot << 6 | squares[8 + man]
    return slot


@inlined
def canonical_place(resets: ProofResets, table: int, squares: Squares) -> tuple[int, int]:
    """Phase and canonical slot within this phase, in a table, of the men with these ``squares``.

    ``squares`` (int64 (16,)) contains the squares of the free men first.
    """
    phase = _phase_entry(resets, table, squares) if resets.pawn_count[table] else 0
    best = resets.phase_size[table]
    for symmetry in range(8):
        if resets.pawn_count[table]:
            fits = symmetry <= MIRROR_FILES and phase >> symmetry & 1 != 0
        else:
            fits = _COORD[_IMAGE[symmetry, squares[0]]] >= 0
        if fits:
            best = min(best, _image_slot(resets, table, squares, symmetry))
    return phase >> 2, best


@inlined
def _phase_entry(resets: ProofResets, table: int, squares: Squares) -> int:
    """Entry of ``ProofResets.phases`` for the pawns among ``squares``."""
    free = resets.free_count[table]
    key = 0
    for pawn in range(resets.pawn_count[table]):
        key = key << 6 | squares[free + pawn]
    return resets.phases[resets.key_start[table] + key]


@inlined
def fresh_after(
    resets: ProofResets, own_table: FreshArrays, reset: int, squares: Squares, side: int, scratch: Squares
) -> int:
    """Code of W, plus 256 times D, of the position after a reset by ``side``.

    ``own_table`` contains the fresh values and depths of the table to prove. ``squares`` are the squares
    after the move, in the order of the men before it. ``scratch`` is int64 (16,).
    """
    table = resets.table[reset]
    swapped = resets.swapped[reset]
    for man in range(resets.free_count[table] + resets.pawn_count[table]):
        scratch[man] = squares[resets.source[reset, man]] ^ 56 * swapped
    phase, slot = canonical_place(resets, table, scratch)
    to_move = 1 - side ^ swapped
    code = int64(NONE)
    plies = int64(0)
    if table == 0:
        slot += phase * resets.phase_size[0]
        code, plies = int64(own_table[0][to_move, slot]), int64(own_table[1][to_move, slot])
    else:
        start = resets.start[resets.first_block[table] + phase, to_move]
        if start >= 0:
            code, plies = int64(resets.value[start + slot]), int64(resets.depth[start + slot])
    if swapped and code != NONE:
        code = 255 - code
    return code + 256 * plies


class CellExits(NamedTuple):
    """The results of moves out of a cell in one of its games.

    They are grouped by the *way* out of the cell: mover, target, victim and promotion.
    """

    way: NDArray[np.int32]
    """For each :func:`way_number`, the index of the way in ``first_result``; 0 for a way without results."""
    first_result: NDArray[np.int64]
    """Index of the first result of each way; -1 - code if all positions of the way have the value
    ``code``."""
    value: NDArray[np.uint8]
    """Codes, way by way; ``NONE`` if there is no result. The index within a way is composed of the squares of
    the remaining mobile men, in the order of the men."""
    depth: NDArray[np.uint16]
    """Depths in plies, indexed like ``value``."""
    unknown_code: int
    """Code of positions without a result."""


NO_EXITS = CellExits(
    np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.uint8), np.zeros(0, np.uint16), 0
)


@inlined
def way_number(men: ProofMen, mover: int, target: int, victim: int, promotion: int) -> int:
    """Number of a way out of the cell.

    If a frozen man or pawn moves, ``mover`` is its index, and ``target`` is its target square. If a mobile
    man moves, ``mover`` is the number of men, and ``target`` is the square of the captured frozen man or
    pawn, or 0 if there is none. ``victim`` is 1 + the index of the captured mobile man, or 0 if there is
    none.
    """
    return ((mover * 64 + target) * (men.free_count + 1) + victim) * (PROMOTIONS + 1) + promotion


@inlined
def grade_of_exit(
    exits: CellExits, men: ProofMen, man: int, captured: int, promotion: int, squares: Squares, pivot: int
) -> int:
    """Grade of the position with these ``squares``, after a move of ``man`` out of the cell.

    ``captured`` is the captured man, -1 if there is none. ``pivot`` is the pivot of the state before the
    move.
    """
    slot = int64(0)
    for other in range(men.free_count):
        if other != captured:
            slot = slot << 6 | squares[other]
    victim = captured + 1 if captured < men.free_count else 0
    mover = man
    target = squares[man]
    if man < men.free_count:
        mover = men.kinds.size
        if victim:
            target = int64(0)
    begin = exits.first_result[exits.way[way_number(men, mover, target, victim, promotion)]]
    if begin < 0:
        return grade_of(-1 - begin, 0, pivot)
    code = int64(exits.value[begin + slot])
    if code == NONE:
        return grade_of(exits.unknown_code, 0, pivot)
    return grade_of(code, int64(exits.depth[begin + slot]), pivot)
