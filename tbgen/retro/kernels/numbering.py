"""Numbering distinct keys in the order in which they first occur.

Sequences can be numbered, too: the key of a sequence contains its last element, and the number of the
sequence without this element.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbgen.compiler.jit import int64, jit, kernel
from tbgen.retro.kernels.words import Ints, Word, Words

_HASH_FACTOR = np.uint64(0x9E3779B97F4A7C15)
"""2**64 divided by the golden ratio, for Fibonacci hashing. The upper half of its product with a key depends
on all bits of the key."""
_HALF_BITS = np.uint64(32)


class Numbering(NamedTuple):
    """Keys and their numbers."""

    key: Words
    """uint64 (capacity,): the key of each number."""
    hash_table: NDArray[np.int32]
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
    """Return the number of a key; a new key gets the next number. The caller ensures sufficient capacity."""
    mask = len(numbered.hash_table) - 1
    index = int64(key * _HASH_FACTOR >> _HALF_BITS) & mask
    while numbered.hash_table[index] >= 0:
        if numbered.key[numbered.hash_table[index]] == key:
            return int64(numbered.hash_table[index])
        index = (index + 1) & mask
    number = numbered.length[0]
    numbered.key[number] = key
    numbered.hash_table[index] = number
    numbered.length[0] = number + 1
    return int64(number)


@jit
def with_capacity(numbered: Numbering, extra: int) -> Numbering:
    """Return the numbering, copied to larger arrays if it lacks capacity for ``extra`` additional keys."""
    length = numbered.length[0]
    if length + extra <= len(numbered.key):
        return numbered
    capacity = len(numbered.key)
    while capacity < length + extra:
        capacity *= 2
    larger = numbering(capacity, numbered.key[0])
    for number in range(1, length):
        number_of(larger, numbered.key[number])
    return larger
