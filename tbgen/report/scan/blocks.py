"""A table cut into blocks of slots, and the squares of all men in each."""

from dataclasses import dataclass
from functools import reduce
from itertools import combinations, product
from math import prod
from operator import and_
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tbgen.index.layout import Layout
from tbgen.index.symmetry import IMAGE, TRANSPOSE, TRIANGLE
from tbgen.report.scan.geometry import PAWNS, ScanKind, scan_kind

BLOCK_SLOTS = 1 << 16
"""Most slots of a block. A bit board of each takes 512 KiB, and larger ones do not stay in the cache."""


@dataclass(frozen=True, slots=True)
class ScanMan:
    """One man of a block of positions."""

    kind: ScanKind
    white: bool
    squares: NDArray[Any]
    """His squares (intp), of a shape that broadcasts with those of the others to the shape of the block."""


@dataclass(frozen=True, slots=True)
class ScanBlock:
    """Consecutive slots of a table."""

    start: int
    shape: tuple[int, ...]
    """The slots of the block in C order, one axis for the pawn placements and one per free man."""
    men: tuple[ScanMan, ...]
    """Kings first, White's before Black's, then in the order of the layout, then the pawns."""

    @property
    def size(self) -> int:
        """Number of slots."""
        return prod(self.shape)


def blocks_of(layout: Layout) -> list[tuple[int, int]]:
    """Return the first slots of all blocks and how many slots each has."""
    step = layout.phase_size
    while step > BLOCK_SLOTS:
        step //= layout.king_slots if step == layout.phase_size else 64
    step *= BLOCK_SLOTS // step
    return [(start, min(step, layout.size - start)) for start in range(0, layout.size, step)]


def block_at(layout: Layout, start: int, size: int) -> ScanBlock:
    """Return a block of :func:`blocks_of`."""
    phase, rest = divmod(start, layout.phase_size)
    phases = max(1, size // layout.phase_size)
    axes = 1 + layout.free
    placements = np.array(layout.placements[phase : phase + phases], np.intp).reshape(phases, layout.pawns)
    shape, squares = [phases], []
    within = layout.phase_size
    for man in range(layout.free):
        values = np.arange(64) if man or layout.pawns else np.array(TRIANGLE)
        width, within = within, within // len(values)
        if size < width:
            first = rest // within
            values = values[first : first + max(1, size // within)]
            rest %= within
        squares.append(_along(values, 1 + man, axes))
        shape.append(len(values))
    pawns = [_along(column, 0, axes) for column in placements.T]
    colours = [*layout.colours, *[0] * layout.white_pawns, *[1] * layout.black_pawns]
    kinds = [scan_kind(layout.material.kinds[number]) for number in layout.kinds]
    kinds += [PAWNS[colour] for colour in colours[layout.free :]]
    men = zip(kinds, (not colour for colour in colours), [*squares, *pawns], strict=True)
    return ScanBlock(start, tuple(shape), tuple(ScanMan(*man) for man in men))


def _along(values: NDArray[Any], axis: int, axes: int) -> NDArray[Any]:
    return values.astype(np.intp).reshape([-1 if number == axis else 1 for number in range(axes)])


def symmetric_slots(layout: Layout) -> NDArray[np.int64]:
    """Return the slots, ascending, of positions that a board symmetry maps onto themselves.

    They have half as many images as the others. Slots that hold no position are among them. With pawns there
    are none: White's king is on no square that is its own mirror image.
    """
    if layout.pawns:
        return np.empty(0, np.int64)
    image = IMAGE[TRANSPOSE]
    diagonal = [square for square in range(64) if image[square] == square]
    groups: list[list[tuple[int, ...]]] = [
        [(s,) for s in diagonal if s in TRIANGLE],
        [(s,) for s in diagonal],
    ]
    man = 2
    while man < layout.free:
        stop = next((stop for start, stop in layout.like_men if start == man), man + 1)
        groups.append([c for c in combinations(range(64), stop - man) if {image[s] for s in c} == set(c)])
        man = stop
    slots = [layout.slot([s for group in choice for s in group]) for choice in product(*groups)]
    return np.unique(np.array(slots, np.int64))


def like_bishops(men: tuple[ScanMan, ...]) -> NDArray[np.bool_] | None:
    """Return where a side has two or more bishops, or other men bound to a colour, all on one colour; None
    if no side has two.

    With at most five men, only one side can have two.
    """
    for white in (True, False):
        bound = [man for man in men if man.kind.bound and man.white == white]
        if len(bound) > 1:
            first, *rest = [(man.squares ^ man.squares >> 3) & 1 for man in bound]
            like: NDArray[np.bool_] = reduce(and_, (colour == first for colour in rest))
            return like
    return None
