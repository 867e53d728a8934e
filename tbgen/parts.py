"""Dividing work into parts for threads."""

from itertools import pairwise

Part = tuple[int, int]
"""A half-open range of blocks, slots, words or other numbers."""


def equal_parts(count: int, parts: int) -> list[Part]:
    """Divide the numbers below ``count`` into so many ranges of about the same size.

    >>> equal_parts(10, 3)
    [(0, 3), (3, 6), (6, 10)]
    """
    return list(pairwise(count * part // parts for part in range(parts + 1)))


def parts_of_size(first: int, end: int, size: int) -> list[Part]:
    """Divide the numbers ``first`` to ``end`` - 1 into ranges of ``size`` numbers; the last may be smaller.

    >>> parts_of_size(4, 14, 4)
    [(4, 8), (8, 12), (12, 14)]
    """
    return list(pairwise([*range(first, end, size), end]))
