"""Numbering distinct keys in the order in which they first occur.

A number can also stand for a chain: its key then contains the number of the chain without its last link.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbgen.compiler.jit import int64, jit, kernel
from tbgen.retro.kernels.words import Ints, Word, Words

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""2**64 over the golden ratio. The upper half of the product of a key and this number depends on all bits of
the key."""
_HALF = np.uint64(32)


class Numbering(NamedTuple):
    """Keys and their numbers."""

    key: Words
    """uint64 (capacity,): key of each number."""
    place: NDArray[np.int32]
    """int32 (a power of two, at least twice the capacity): hash table of numbers, -1 if empty."""
    length: Ints
    """int64 (1,): number of keys."""


@jit
def numbering(capacity: int, first: Word) -> Numbering:
    """Return a numbering in which only ``first`` has a number, 0; ``capacity`` is a power of two."""
    keys = np.empty(capacity, np.uint64)
    new = Numbering(keys, np.full(2 * capacity, -1, np.int32), np.zeros(1, np.int64))
    number_of(new, first)
    return new


@kernel
def number_of(numbered: Numbering, key: Word) -> int:
    """Return the number of a key, a new one if it has none. The caller ensures that the capacity suffices."""
    last = len(numbered.place) - 1
    at = int64(key * _GOLDEN >> _HALF) & last
    while numbered.place[at] >= 0:
        if numbered.key[numbered.place[at]] == key:
            return int64(numbered.place[at])
        at = (at + 1) & last
    number = numbered.length[0]
    numbered.key[number] = key
    numbered.place[at] = number
    numbered.length[0] = number + 1
    return int64(number)


@jit
def with_capacity(numbered: Numbering, more: int) -> Numbering:
    """Return the numbering, copied to larger arrays if it lacks capacity for ``more`` additional keys."""
    length = numbered.length[0]
    if length + more <= len(numbered.key):
        return numbered
    capacity = len(numbered.key)
    while capacity < length + more:
        capacity *= 2
    larger = numbering(capacity, numbered.key[0])
    for number in range(1, length):
        number_of(larger, numbered.key[number])
    return larger
