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
"""2**64 divided by the golden ratio, for Fibonacci hashing. The upper half of its product with a key depends
on all bits of the key."""
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
def numbering(capacity: int, first_key: Word) -> Numbering:
    """Return a numbering in which only ``first_key`` has a number, 0; ``capacity`` is a power of two."""
    keys = np.empty(capacity, np.uint64)
    new = Numbering(keys, np.full(2 * capacity, -1, np.int32), np.zeros(1, np.int64))
    find_or_add(new, first_key)
    return new


@kernel
def find_or_add(numbers: Numbering, key: Word) -> int:
    """Return the number of a key; a new key gets the next number. The caller must ensure sufficient
    capacity."""
    mask = len(numbers.hash_table) - 1
    index = int64(key * _HASH_FACTOR >> _HALF_BITS) & mask
    while numbers.hash_table[index] >= 0:
        if numbers.key[numbers.hash_table[index]] == key:
            return int64(numbers.hash_table[index])
        index = (index + 1) & mask
    number = numbers.length[0]
    numbers.key[number] = key
    numbers.hash_table[index] = number
    numbers.length[0] = number + 1
    return int64(number)


@jit
def with_capacity(numbers: Numbering, extra: int) -> Numbering:
    """Return the numbering, copied to larger arrays if it lacks capacity for ``extra`` additional keys."""
    length = numbers.length[0]
    if length + extra <= len(numbers.key):
        return numbers
    capacity = len(numbers.key)
    while capacity < length + extra:
        capacity *= 2
    larger = numbering(capacity, numbers.key[0])
    for index in range(1, length):
        find_or_add(larger, numbers.key[index])
    return larger
