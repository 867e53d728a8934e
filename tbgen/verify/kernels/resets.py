"""Where captures and pawn moves lead: the slot, in which table, of the position after a zeroing move.

Tables are numbered: 0 is the table being proved, the others are its sub-tables. Every kind of zeroing move is
a *reset*, numbered by what it captures and what it promotes to (:func:`reset_number`).
"""

from collections.abc import Iterator, Mapping
from itertools import permutations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbgen.accelerate import inlined
from tbgen.index.layout import PIECE_ORDER, Layout, layout_of
from tbgen.index.symmetry import IMAGE, MIRROR_FILES, TRIANGLE_COORD
from tbgen.material import Material
from tbgen.score import NONE
from tbgen.verify.kernels.geometry import KING, KNIGHT, PAWN
from tbgen.verify.kernels.moves import Men

_MEN = PIECE_ORDER + "P"
_IMAGE = np.array(IMAGE, np.int64)
_COORD = np.array([TRIANGLE_COORD.get(square, -1) for square in range(64)], np.int64)

_MOST_MEN = 8
PROMOTIONS = KNIGHT
"""Number of kinds that a pawn promotes to: queen 1 to knight 4."""

SubTables = Mapping[Material, tuple[NDArray[np.uint8], NDArray[np.uint16]]]
"""Value and depth, shape (2, size) each, of sub-tables by their material."""


class Resets(NamedTuple):
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
    size: NDArray[np.int64]
    """Shape (tables,), as ``phase_size``: numbers of slots."""
    start: NDArray[np.int64]
    """Shape (tables,): where White's slots of a sub-table start in ``value``; Black's follow."""
    key_start: NDArray[np.int64]
    """Shape (tables,): where a table's placements start in ``phases``."""
    phases: NDArray[np.int32]
    """By pawn squares read as digits to base 64: 4 * phase, plus 2 if the placement is its own mirror image,
    plus 1 if it has to be mirrored; -1 if it is none."""
    value: NDArray[np.uint8]
    """Codes of all sub-tables on end."""
    depth: NDArray[np.uint16]


@inlined
def reset_number(men, captured, pawn, kind):
    """Number of the reset in which ``captured`` goes (-1: none) and ``pawn`` becomes a ``kind`` (0: none)."""
    promotion = 1 + pawn * PROMOTIONS + kind - 1 if kind else 0
    return (captured + 1) * (1 + men.kinds.size * PROMOTIONS) + promotion


def _changes(men: Men) -> Iterator[tuple[int, int, int]]:
    """Yield captured man, promoting pawn and promotion of every reset."""
    kinds, colours = men.kinds.tolist(), men.colours.tolist()
    captured = [-1, *(man for man, kind in enumerate(kinds) if kind != KING)]
    for victim in captured:
        yield victim, 0, 0
        for pawn, kind in enumerate(kinds):
            if kind == PAWN and (victim < 0 or (colours[victim] != colours[pawn] and kinds[victim] != PAWN)):
                yield from ((victim, pawn, promotion) for promotion in range(1, 1 + PROMOTIONS))


def _after(men: Men, captured: int, pawn: int, promotion: int) -> tuple[Material, bool, list[int]]:
    """Return the material after a reset, whether it is swapped, and which man each of its men was."""
    kinds, colours = men.kinds.tolist(), men.colours.tolist()
    if promotion:
        kinds[pawn] = promotion
    left = [man for man in range(len(kinds)) if man != captured]
    sides = ["".join(_MEN[kinds[man]] for man in left if colours[man] == colour) for colour in (0, 1)]
    material, swapped = Material.of_sides(sides[0], sides[1])
    layout = layout_of(material)
    wanted = [*zip(layout.kinds, layout.colours, strict=True)]
    wanted += [(PAWN, 0)] * layout.white_pawns + [(PAWN, 1)] * layout.black_pawns
    source = []
    for kind, colour in wanted:
        found = next(man for man in left if (kinds[man], colours[man] ^ swapped) == (kind, colour))
        left.remove(found)
        source.append(found)
    return material, swapped, source


def _phase_keys(layout: Layout) -> NDArray[np.int32]:
    keys = np.full(64**layout.pawns, -1, np.int32)
    if not layout.pawns:
        keys[0] = 0
        return keys
    white = layout.white_pawns
    for placement, row in layout.rows.items():
        mirrored = tuple(IMAGE[MIRROR_FILES][square] for square in placement)
        own_mirror = set(mirrored[:white]) == set(placement[:white]) and set(mirrored[white:]) == set(
            placement[white:]
        )
        for squares, mark in ((mirrored, 1), (placement, 2 if own_mirror else 0)):
            for first in permutations(squares[:white]):
                for second in permutations(squares[white:]):
                    key = 0
                    for square in first + second:
                        key = 64 * key + square
                    keys[key] = 4 * row + mark
    return keys


def resets_of(layout: Layout, men: Men, sub_tables: SubTables) -> Resets:
    """Return the resets of a layout.

    :raises KeyError: if a sub-table is missing.
    """
    numbers = {layout.material: 0}
    count = reset_number.py_func(men, len(men.kinds), 0, 0)
    table, swapped = np.zeros((2, count), np.int64)
    source = np.zeros((count, _MOST_MEN), np.int64)
    for change in _changes(men):
        material, swap, origin = _after(men, *change)
        reset = reset_number.py_func(men, *change)
        table[reset] = numbers.setdefault(material, len(numbers))
        swapped[reset] = swap
        source[reset, : len(origin)] = origin
    layouts = [layout_of(material) for material in numbers]
    alike = np.zeros((len(layouts), _MOST_MEN), np.int64)
    for number, other in enumerate(layouts):
        for start, stop in other.like_men:
            alike[number, start + 1 : stop] = 1
    keys = [_phase_keys(other) for other in layouts]
    subs = [sub_tables[other.material] for other in layouts[1:]]
    sizes = np.array([other.size for other in layouts], np.int64)
    starts = np.concatenate([[0, 0], np.cumsum(2 * sizes[1:])])[: len(sizes)]
    return Resets(
        table,
        swapped,
        source,
        np.array([other.free for other in layouts], np.int64),
        np.array([other.pawns for other in layouts], np.int64),
        alike,
        np.array([other.phase_size for other in layouts], np.int64),
        sizes,
        starts,
        np.concatenate([[0], np.cumsum([len(key) for key in keys])[:-1]]),
        np.concatenate(keys),
        np.concatenate([np.zeros(1, np.uint8)[:0], *(value.reshape(-1) for value, _ in subs)]),
        np.concatenate([np.zeros(1, np.uint16)[:0], *(depth.reshape(-1) for _, depth in subs)]),
    )


@inlined
def _image_slot(resets, table, squares, symmetry):
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
def canonical_slot(resets, table, squares):
    """Canonical slot in a table of the men on ``squares`` (int64 (16,), free men first)."""
    base = phase = 0
    if resets.pawns[table]:
        phase = _phase(resets, table, squares)
        base = (phase >> 2) * resets.phase_size[table]
    best = resets.phase_size[table]
    for symmetry in range(8):
        if resets.pawns[table]:
            fits = symmetry == phase & 1 or (symmetry == MIRROR_FILES and phase & 2 != 0)
        else:
            fits = _COORD[_IMAGE[symmetry, squares[0]]] >= 0
        if fits:
            best = min(best, _image_slot(resets, table, squares, symmetry))
    return base + best


@inlined
def _phase(resets, table, squares):
    """Entry of ``Resets.phases`` for the pawns among ``squares``."""
    free = resets.free[table]
    key = 0
    for pawn in range(resets.pawns[table]):
        key = key << 6 | squares[free + pawn]
    return resets.phases[resets.key_start[table] + key]


@inlined
def fresh_after(resets, value, depth, reset, squares, side, scratch):
    """Code of W, plus 256 times D, of the position after a reset of ``side``.

    ``squares`` are those after the move, in the order of the men before it; ``value`` and ``depth`` (2, size)
    are those of the table being proved, ``scratch`` is int64 (16,).
    """
    table = resets.table[reset]
    swapped = resets.swapped[reset]
    for man in range(resets.free[table] + resets.pawns[table]):
        scratch[man] = squares[resets.source[reset, man]] ^ 56 * swapped
    slot = canonical_slot(resets, table, scratch)
    to_move = 1 - side ^ swapped
    if table == 0:
        code, plies = np.int64(value[to_move, slot]), np.int64(depth[to_move, slot])
    else:
        slot += resets.start[table] + to_move * resets.size[table]
        code, plies = np.int64(resets.value[slot]), np.int64(resets.depth[slot])
    if swapped and code != NONE:
        code = 255 - code
    return code + 256 * plies
