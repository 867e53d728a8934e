"""Ascending slots: from sets of them, and as the steps between them, which take two bytes each."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

LONG: Final = 65535
"""A step over so many slots without an exception at its end."""


def slots_in(words: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the slots of a set, bit ``b`` of word ``w`` being slot ``64 * w + b``.

    >>> slots_in(np.array([5, 0, 1], np.uint64))
    array([  0,   2, 128])
    """
    filled = np.flatnonzero(words)
    bits = np.unpackbits(words[filled].view(np.uint8), bitorder="little").reshape(-1, 64)
    number, bit = np.nonzero(bits)
    return filled[number] * 64 + bit


def steps_of(slots: NDArray[np.int64]) -> NDArray[np.uint16]:
    """Return the steps to ascending slots: how many slots lie between one and the next.

    >>> steps_of(np.array([0, 1, 5, 70000]))
    array([    0,     0,     3, 65535,  4459], dtype=uint16)
    """
    between = np.diff(slots, prepend=-1) - 1
    long = between // LONG
    steps = np.full(len(slots) + int(long.sum()), LONG, np.uint16)
    steps[np.arange(len(slots)) + np.cumsum(long)] = between % LONG
    return steps


def slots_of(steps: NDArray[np.uint16]) -> NDArray[np.int64]:
    """Return the slots that steps lead to.

    >>> slots_of(steps_of(np.array([0, 1, 5, 70000])))
    array([    0,     1,     5, 70000])
    """
    ends = np.cumsum(steps.astype(np.int64) + (steps != LONG)) - 1
    return np.asarray(ends[steps != LONG], np.int64)
