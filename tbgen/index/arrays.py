"""Conversion between slots and squares of the men, for arrays of positions, and ranges of numbers.

A slot is the number of a position in its table (:mod:`tbgen.index.layout`).
"""

from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tbgen.index.layout import IMAGE, MIRROR_FILES, TRIANGLE, Layout

_IMAGES: Final = np.array(IMAGE, np.uint8)
_TRIANGLE: Final = np.array(TRIANGLE, np.uint8)
_OUTSIDE: Final = -1
_TRIANGLE_INDEX: Final = np.full(64, _OUTSIDE, np.int64)
_TRIANGLE_INDEX[_TRIANGLE] = np.arange(len(TRIANGLE))

Part = tuple[int, int]
"""A half-open range of blocks, slots or words that a thread processes."""


def squares_of(layout: Layout, slots: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return the squares of the men as an array of shape (n, men), for ``slots`` of shape (n,).

    The free men, which are the kings and pieces, come first, in the order of the layout. White's pawns and
    Black's pawns follow.

    >>> from tbgen.index.layout import layout_of
    >>> from tbgen.board.material import Material
    >>> layout = layout_of(Material.parse("KBvK"))
    >>> squares_of(layout, np.array([layout.slot([0, 10, 29])]))
    array([[ 0, 10, 29]], dtype=uint8)
    """
    squares = np.empty((len(slots), layout.free_count + layout.pawns), np.uint8)
    phase, coordinates = np.divmod(slots, layout.phase_size) if layout.pawns else (None, slots)
    for man in range(layout.free_count - 1, 0, -1):
        squares[:, man] = coordinates & 63
        coordinates = coordinates >> 6
    squares[:, 0] = coordinates if layout.pawns else _TRIANGLE[coordinates]
    if layout.pawns:
        squares[:, layout.free_count :] = np.array(layout.placements, np.uint8)[phase]
    return squares


def slots_of(layout: Layout, squares: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the canonical slots for the squares of the men; the inverse of :func:`squares_of`.

    Men of the same kind and colour may be in any order. The slot is -1 if the pawns cannot be on their
    squares, for example because one is on the last rank.
    """
    min_slots = np.full(len(squares), np.iinfo(np.int64).max)
    for symmetry in (0, MIRROR_FILES) if layout.pawns else range(len(IMAGE)):
        image = _IMAGES[symmetry][squares]
        for start, stop in layout.like_men:
            image[:, start:stop] = np.sort(image[:, start:stop], axis=1)
        if layout.pawns:
            prefix = _phases(layout, image[:, layout.free_count :]) << 6
            prefix = np.where(prefix < 0, _OUTSIDE, prefix | image[:, 0])
        else:
            prefix = _TRIANGLE_INDEX[image[:, 0]]
        slots = prefix
        for man in range(1, layout.free_count):
            slots = slots << 6 | image[:, man]
        np.minimum(min_slots, slots, out=min_slots, where=prefix != _OUTSIDE)
    min_slots[min_slots == np.iinfo(np.int64).max] = -1
    return min_slots


def joined_ranges(start: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the concatenation of integer ranges.

    Range i has ``counts[i]`` integers and begins with ``start[i]``.

    >>> joined_ranges(np.array([10, 20]), np.array([2, 3]))
    array([10, 11, 20, 21, 22])
    """
    offsets = np.cumsum(counts) - counts
    return np.asarray(np.arange(counts.sum()) + np.repeat(start - offsets, counts), np.int64)


def equal_parts(count: int, parts: int) -> list[Part]:
    """Divide the numbers below ``count`` into ``parts`` ranges of about the same size.

    >>> equal_parts(10, 3)
    [(0, 3), (3, 6), (6, 10)]
    """
    return list(pairwise(count * part // parts for part in range(parts + 1)))


def parts_of_size(start: int, end: int, size: int) -> list[Part]:
    """Divide the numbers ``start`` to ``end`` - 1 into ranges of ``size`` numbers; the last may be smaller.

    >>> parts_of_size(4, 14, 4)
    [(4, 8), (8, 12), (12, 14)]
    """
    return list(pairwise([*range(start, end, size), end]))


def _phases(layout: Layout, squares: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the phases for the squares of pawns; -1 if the placement is not canonical."""
    sorted_squares = np.hstack(
        [np.sort(squares[:, : layout.white_pawns], axis=1), np.sort(squares[:, layout.white_pawns :], axis=1)]
    )
    weights = 64 ** np.arange(layout.pawns)
    canonical_keys = np.array(layout.placements, np.int64) @ weights
    order = np.argsort(canonical_keys)
    keys = sorted_squares.astype(np.int64) @ weights
    phases = order[np.searchsorted(canonical_keys, keys, sorter=order).clip(max=len(canonical_keys) - 1)]
    return np.where(canonical_keys[phases] == keys, phases, _OUTSIDE)
