"""Numbering: few distinct keys among very many, numbered in the order in which they first come.

A number can stand for a chain as well: its key then holds the number of the chain before its last link.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbgen.compiler.jit import int64, jit, kernel
from tbgen.retro.kernels.words import Ints, Word, Words

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""2**64 over the golden ratio: multiplied by it, the upper half of a key depends on all its bits."""
_HALF = np.uint64(32)


class Numbering(NamedTuple):
    """Keys and their numbers."""

    key: Words
    """uint64 (room,): the key of each number."""
    place: NDArray[np.int32]
    """int32 (a power of two, at least twice the room): a hash table of numbers, -1 where there is none."""
    length: Ints
    """int64 (1,): numbers in use."""


@jit
def numbering(room: int, first: Word) -> Numbering:
    """Return a numbering with room for that many keys, a power of two; 0 is the number of ``first``."""
    empty = Numbering(np.empty(room, np.uint64), np.full(2 * room, -1, np.int32), np.zeros(1, np.int64))
    number_of(empty, first)
    return empty


@kernel
def number_of(known: Numbering, key: Word) -> int:
    """Return the number of a key, a new one if it has none; the caller sees to it that there is room."""
    last = len(known.place) - 1
    at = int64(key * _GOLDEN >> _HALF) & last
    while known.place[at] >= 0:
        if known.key[known.place[at]] == key:
            return int64(known.place[at])
        at = (at + 1) & last
    number = known.length[0]
    known.key[number] = key
    known.place[at] = number
    known.length[0] = number + 1
    return int64(number)


@jit
def with_room(known: Numbering, more: int) -> Numbering:
    """Return the numbering, moved if need be, with room for so many keys more."""
    length = known.length[0]
    if length + more <= len(known.key):
        return known
    room = len(known.key)
    while room < length + more:
        room *= 2
    larger = numbering(room, known.key[0])
    for number in range(1, length):
        number_of(larger, known.key[number])
    return larger
