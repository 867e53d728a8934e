"""The operations on 64 positions at once, against numpy."""

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from tbgen.compiler.jit import jit
from tbgen.moves.kernels import words
from tbgen.moves.kernels.words import Codes, Plies, Word
from tbgen.system.memory import CACHE_LINE, zeros

SIZE = 256
Elements = NDArray[np.uint8] | NDArray[np.uint16]


@jit
def count_down(counts: Codes, first: int, bits: Word) -> Word:
    return words.count_down(counts, first, bits)


@jit
def add(array: Elements, first: int, bits: Word, amount: int) -> None:
    words.add(array, first, bits, amount)


@jit
def put(array: Elements, first: int, bits: Word, value: int) -> Word:
    return words.put(array, first, bits, value)


@jit
def copy(target: Elements, to: int, source: Elements, first: int, bits: Word) -> None:
    words.copy(target, to, source, first, bits)


@jit
def flip(array: Elements, first: int, bits: Word) -> None:
    words.flip(array, first, bits)


@jit
def compare(array: Elements, first: int, other: Elements, begin: int, value: int) -> tuple[Word, Word, Word]:
    equal = words.equal_to(array, first, value)
    return equal, words.less(array, first, other, begin), words.equal_elements(array, first, other, begin)


@jit
def in_range(array: Elements, first: int, least: int, most: int) -> Word:
    return words.in_range(array, first, least, most)


@jit
def weigh_all(
    best: Codes, depths: tuple[Plies, Plies], bits: Word, value: Codes, depth: Plies, first: int, turned: int
) -> None:
    words.weigh_all(best, depths[0], depths[1], bits, value, depth, first, np.uint8(turned))


def word_of(chosen: NDArray[np.bool_]) -> int:
    return int(np.packbits(chosen, bitorder="little").view(np.uint64)[0])


class Draw:
    """What one trial works on."""

    def __init__(self, kind: type[np.uint8] | type[np.uint16], seed: int) -> None:
        random = np.random.default_rng(seed)
        self.array, self.other = random.integers(0, 4, (2, SIZE)).astype(kind)
        self.first, self.begin = (int(number) for number in random.integers(0, SIZE - 63, 2))
        self.chosen = random.random(64) < random.random()
        self.bits = np.uint64(word_of(self.chosen))
        self.here, self.there = slice(self.first, self.first + 64), slice(self.begin, self.begin + 64)


def changed(draw: Draw, wanted: Elements) -> Elements:
    """The array with what is wanted in the chosen places."""
    array = draw.array.copy()
    array[draw.here][draw.chosen] = wanted[draw.chosen]
    return array


@pytest.mark.parametrize("kind", [np.uint8, np.uint16])
def test_as_numpy_does(kind: type[np.uint8] | type[np.uint16]) -> None:
    for seed in range(50):
        draw = Draw(kind, seed)
        here, other, first = draw.here, draw.other[draw.there], draw.first
        chosen, bits = draw.chosen, draw.bits
        before = draw.array[here]

        arrays = [draw.array.copy() for _ in range(4)]
        add(arrays[0], first, bits, 7)
        assert (arrays[0] == changed(draw, before + kind(7))).all(), seed
        assert int(put(arrays[1], first, bits, 2)) == word_of(chosen & (before != 2)), seed
        assert (arrays[1] == changed(draw, np.full_like(before, 2))).all(), seed
        copy(arrays[2], first, draw.other, draw.begin, bits)
        assert (arrays[2] == changed(draw, other)).all(), seed
        flip(arrays[3], first, bits)
        assert (arrays[3] == changed(draw, ~before)).all(), seed

        equal, less, same = compare(draw.array, first, draw.other, draw.begin, 3)
        assert int(equal) == word_of(before == 3), seed
        assert int(less) == word_of(before < other), seed
        assert int(same) == word_of(before == other), seed
        for least, most in ((0, 255), (2, 3), (3, 3), (4, 3), (1, 254)):
            wanted = (before >= least) & (before <= most)
            assert int(in_range(draw.array, first, least, most)) == word_of(wanted), seed


def test_counts() -> None:
    """Counts begin anew below zero, and say so of what was chosen alone."""
    for seed in range(20):
        draw = Draw(np.uint8, seed)
        wanted = draw.array.copy()
        wanted[draw.here][draw.chosen] -= np.uint8(1)
        out = count_down(draw.array, draw.first, draw.bits)
        assert (draw.array == wanted).all(), seed
        assert int(out) == word_of(draw.chosen & (wanted[draw.here] == 0)), seed


def test_the_best_move() -> None:
    for seed, turned in itertools.product(range(20), (0, 255)):
        random = np.random.default_rng(seed)
        best, farthest = np.zeros(64, np.uint8), np.zeros(64, np.uint16)
        nearest = np.full(64, 65535, np.uint16)
        moves: list[list[tuple[int, int]]] = [[] for _ in range(64)]
        for _ in range(6):
            value = random.integers(100, 104, SIZE).astype(np.uint8)
            depth = random.integers(0, 900, SIZE).astype(np.uint16)
            chosen, first = random.random(64) < 0.7, int(random.integers(0, SIZE - 63))
            weigh_all(best, (nearest, farthest), np.uint64(word_of(chosen)), value, depth, first, turned)
            for lane in np.flatnonzero(chosen).tolist():
                moves[lane].append((int(value[first + lane]) ^ turned, int(depth[first + lane])))
        for lane, known in enumerate(moves):
            if known:
                top = max(value for value, _ in known)
                plies = [depth for value, depth in known if value == top]
                assert (best[lane], nearest[lane], farthest[lane]) == (top, min(plies), max(plies)), seed
            else:
                assert (best[lane], nearest[lane], farthest[lane]) == (0, 65535, 0), seed


def test_arrays_begin_with_a_cache_line() -> None:
    shapes: list[int | tuple[int, ...]] = [1, 1000, (3, 40), (2, 100, 8)]
    for shape, dtype in itertools.product(shapes, (np.uint8, np.uint16, np.uint64)):
        array = zeros(shape, dtype)
        assert array.ctypes.data % CACHE_LINE == 0
        assert (array.shape, array.dtype) == (np.zeros(shape, dtype).shape, dtype)
        assert array.flags.c_contiguous
        assert not array.any()
        array.fill(1)
        assert (array == 1).all()
