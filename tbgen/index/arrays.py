"""Conversion between slots and squares of the men, for arrays of positions, and ranges of numbers.

A slot is the number of a position in its table (:mod:`tbgen.index.layout`).
"""

from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Final, TypeAlias

import chess
import numpy as np
from numpy.typing import NDArray

from tbgen.board.kinds import KIND_LETTERS, KINDS, KING, QUEEN, between, reach
from tbgen.index.layout import IMAGE, MIRROR_FILES, SIDES, TRIANGLE, Layout, Side

_IMAGES: Final = np.array(IMAGE, np.uint8)
_TRIANGLE: Final = np.array(TRIANGLE, np.uint8)
_OUTSIDE: Final = -1
_TRIANGLE_INDEX: Final = np.full(64, _OUTSIDE, np.int64)
_TRIANGLE_INDEX[_TRIANGLE] = np.arange(len(TRIANGLE))

_BIT: Final = np.uint64(1) << np.arange(64, dtype=np.uint64)
_PAWN_KIND: Final = len(KIND_LETTERS)
"""Index of the pawn, after the indices of the other kinds."""

Man: TypeAlias = tuple[int, Side]
"""Kind and owner of a man; the kinds are indices into ``MEN_LETTERS``."""
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


def ordered_men(layout: Layout) -> list[Man]:
    """Return the men in the order of :func:`squares_of`."""
    pawns = [
        (_PAWN_KIND, side) for side in SIDES for _ in range((layout.white_pawns, layout.black_pawns)[side])
    ]
    return [*zip(layout.kinds, map(Side, layout.colours), strict=True), *pawns]


def are_legal(men: Sequence[Man], squares: NDArray[np.uint8], side: Side) -> NDArray[np.bool_]:
    """Return whether each position is legal with ``side`` to move: bool (n,).

    :param men: the men, which are the same in all positions.
    :param squares: uint8 (n, men), the squares of the men.
    """
    attacked, between = _attacked_squares(), _squares_between()
    occupied = np.bitwise_or.reduce(_BIT[squares], axis=1)
    legal = np.bitwise_count(occupied) == len(men)
    king = squares[:, men.index((KING, SIDES[1 - side]))]
    for (kind, owner), square in zip(men, squares.T, strict=True):
        if kind == _PAWN_KIND:
            legal &= (square >= 8) & (square < 56)
        if owner == side:
            legal &= (attacked[side, kind][square] & _BIT[king] == 0) | (
                between[square, king] & occupied != 0
            )
    return np.asarray(legal, np.bool_)


@cache
def _attacked_squares() -> NDArray[np.uint64]:
    """Return, for each side, kind and square, the squares that a man attacks from there on an empty board."""
    return np.array([[*map(reach, KINDS), chess.BB_PAWN_ATTACKS[side == 0]] for side in SIDES], np.uint64)


@cache
def _squares_between() -> NDArray[np.uint64]:
    """Return, for each pair of squares, the squares between them if the two are on one line."""
    squares = range(64)
    return np.array(
        [[between(KINDS[QUEEN], start, stop) for stop in squares] for start in squares], np.uint64
    )


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


def has_bit(words: NDArray[np.uint64], slot: int) -> bool:
    """Return whether the bit of a slot is set in an array of words, 64 slots each.

    >>> has_bit(np.array([0, 4], np.uint64), 66)
    True
    """
    return bool(int(words[slot >> 6]) >> (slot & 63) & 1)


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
