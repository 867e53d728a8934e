"""Conversion between the slots of a table and the squares of its men, for arrays of positions."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tbgen.index.layout import IMAGE, MIRROR_FILES, TRIANGLE, Layout

_IMAGES: Final = np.array(IMAGE, np.uint8)
_TRIANGLE: Final = np.array(TRIANGLE, np.uint8)
_OUTSIDE: Final = -1
_COORDINATES: Final = np.full(64, _OUTSIDE, np.int64)
_COORDINATES[_TRIANGLE] = np.arange(len(TRIANGLE))


def squares_of(layout: Layout, slots: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return the squares of the men of slots, shape (n,), as an array of shape (n, men).

    The free men come first, in the order of the layout, then White's pawns and Black's.

    >>> from tbgen.index.layout import layout_of
    >>> from tbgen.board.material import Material
    >>> layout = layout_of(Material.parse("KBvK"))
    >>> squares_of(layout, np.array([layout.slot([0, 10, 29])]))
    array([[ 0, 10, 29]], dtype=uint8)
    """
    squares = np.empty((len(slots), layout.free + layout.pawns), np.uint8)
    phase, rest = np.divmod(slots, layout.phase_size) if layout.pawns else (None, slots)
    for man in range(layout.free - 1, 0, -1):
        squares[:, man] = rest & 63
        rest = rest >> 6
    squares[:, 0] = rest if layout.pawns else _TRIANGLE[rest]
    if layout.pawns:
        squares[:, layout.free :] = np.array(layout.placements, np.uint8)[phase]
    return squares


def slots_of(layout: Layout, squares: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the canonical slots of positions, for squares as :func:`squares_of` returns them.

    Like men may be in any order. The slot is -1 if a square is impossible, such as a pawn's on the last rank.
    """
    best = np.full(len(squares), np.iinfo(np.int64).max)
    for symmetry in (0, MIRROR_FILES) if layout.pawns else range(len(IMAGE)):
        image = _IMAGES[symmetry][squares]
        for start, stop in layout.like_men:
            image[:, start:stop] = np.sort(image[:, start:stop], axis=1)
        if layout.pawns:
            first = _rows(layout, image[:, layout.free :]) << 6
            first = np.where(first < 0, _OUTSIDE, first | image[:, 0])
        else:
            first = _COORDINATES[image[:, 0]]
        slots = first
        for man in range(1, layout.free):
            slots = slots << 6 | image[:, man]
        np.minimum(best, slots, out=best, where=first != _OUTSIDE)
    best[best == np.iinfo(np.int64).max] = -1
    return best


def ranges(start: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the concatenation of ranges of integers: ``counts[0]`` from ``start[0]`` on, and so on.

    >>> ranges(np.array([10, 20]), np.array([2, 3]))
    array([10, 11, 20, 21, 22])
    """
    before = np.cumsum(counts) - counts
    return np.asarray(np.arange(counts.sum()) + np.repeat(start - before, counts), np.int64)


def _rows(layout: Layout, pawns: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the phases of pawn placements; -1 for a placement that is not canonical."""
    ordered = np.hstack(
        [np.sort(pawns[:, : layout.white_pawns], axis=1), np.sort(pawns[:, layout.white_pawns :], axis=1)]
    )
    weights = 64 ** np.arange(layout.pawns)
    canonical = np.array(layout.placements, np.int64) @ weights
    order = np.argsort(canonical)
    keys = ordered.astype(np.int64) @ weights
    found = order[np.searchsorted(canonical, keys, sorter=order).clip(max=len(canonical) - 1)]
    return np.where(canonical[found] == keys, found, _OUTSIDE)
