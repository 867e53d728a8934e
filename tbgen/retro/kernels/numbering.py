"""Numbering distinct keys in the order in which they first occur.

Sequences can be numbered, too: the key of a sequence consists of its last element and of the number of the
sequence that precedes this element.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbgen.compiler.jit import int64, jit, kernel
from tbgen.moves.kernels.words import Ints, Word, Words

_HASH_FACTOR = np.uint64(0x9E3779B97F4A7C15)
"""2**64 divided by the golden ratio, for Fibonacci hashing. An index begins at bit 32 of its product with a
key, and each bit of the product depends on all lower bits of the key."""
_HALF_BITS = np.uint64(32)

MAX_NUMBERS = 1 << 31
"""Maximum number of keys, because the hash table stores their numbers as int32."""


class Numbering(NamedTuple):
    """Keys and their numbers."""

    key: Words
    """uint64 (capacity,): the key of each number."""
    hash_table: NDArray[np.int32]
    """int32 (a power of two, at least twice the capacity): hash table of numbers, -1 if empty."""
    length: Ints
    """int64 (1,): number of keys with numbers."""


@jit
def new_numbering(capacity: int, first_key: Word) -> Numbering:
    """Return a numbering in which only ``first_key`` has a number, 0; ``capacity`` is a power of two."""
    new = Numbering(np.empty(capacity, np.uint64), np.full(2 * capacity, -1, np.int32), np.zeros(1, np.int64))
    find_or_add(new, first_key)
    return new


@kernel
def find_or_add(numbering: Numbering, key: Word) -> int:
    """Return the number of a key; a new key gets the next number. The caller must ensure sufficient
    capacity."""
    mask = len(numbering.hash_table) - 1
    index = int64(key * _HASH_FACTOR >> _HALF_BITS) & mask
    while numbering.hash_table[index] >= 0:
        if numbering.key[numbering.hash_table[index]] == key:
            return int64(numbering.hash_table[index])
        index = (index + 1) & mask
    number = numbering.length[0]
    numbering.key[number] = key
    numbering.hash_table[index] = number
    numbering.length[0] = number + 1
    return int64(number)


@jit
def with_capacity(numbering: Numbering, extra: int) -> Numbering:
    """Return the numbering, copied to larger arrays if it lacks capacity for ``extra`` additional keys."""
    length = numbering.length[0]
    if length + extra <= len(numbering.key):
        return numbering
    capacity = len(numbering.key)
    while capacity < length + extra:
        capacity *= 2
    larger = new_numbering(capacity, numbering.key[0])
    for index in range(1, length):
        find_or_add(larger, numbering.key[index])
    return larger
