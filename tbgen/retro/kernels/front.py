"""The candidates and the front of a sweep, shared out among *parts*, so that threads can work side by side.

A part has the words with Black's king on some of the squares. Whatever a ply writes about a word, the part of
the word writes, so parts never meet, and what comes out does not depend on how many there are. Only moves of
Black's king, those of White's that turn the board, and the kings' moves to images (``is_image``) lead from
one part to another.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tbgen.compiler.jit import inlined, int64, kernel
from tbgen.compiler.structs import Struct
from tbgen.retro.geometry import BIT
from tbgen.retro.kernels.bits import ZERO, Ints, Word, Words, bits_of
from tbgen.retro.kernels.frame import Frame
from tbgen.retro.kernels.moves import MovesFound
from tbgen.retro.kernels.resets import OneExit

ATTACKERS, DEFENDERS = range(2)
"""Rows of what is kept of positions with either side to move."""


@dataclass(frozen=True, eq=False)
class Scratch(Struct):
    """Working memory of one attacker's sweeps."""

    found: Words
    """uint64 (2, words): candidates of the ply; row 0 attacker to move, row 1 defender; empty between
    plies."""
    marks: Words
    """uint64 (2, words // 64 + 1): words of ``found`` that may not be empty."""
    tops: Words
    """uint64 (parts, 2, marks // 64 + 1): words of ``marks`` that have words of the part."""
    front_word: NDArray[np.int32]
    """int32 (2, 2 * words): words assigned in the last ply, part by part."""
    front_bits: Words
    """uint64 (2, 2 * words)."""
    front: Ints
    """int64 (parts, 2): how many words of ``front_word`` each part has."""
    begin: Ints
    """int64 (parts + 1,): where the parts begin in ``front_word``."""
    part_of: Ints
    """int64 (64,): part by the square of Black's king."""
    news: Ints
    """int64 (parts,): 1 where the last ply has assigned something."""
    live: Words
    """uint64 (parts, 2, words // 64 + 1): the part's words with a position that is still wanted (row 0) or
    waiting (row 1) when the sweep begins."""
    moves: MovesFound
    """Room for a batch of words, by part: its arrays have one axis more."""
    exit: OneExit
    """Room for the exit of one position, which updates look for."""
    deepest: Ints
    """int64 (1,): greatest depth ever assigned; more than ``MAX_DEPTH`` if depths do not fit."""


@inlined
def room_of(scratch: Scratch, part: int) -> MovesFound:
    """The room of one part for moves."""
    room = scratch.moves
    return MovesFound(room.word[part], room.bits[part], room.symmetry[part], room.squares[part])


@inlined
def part_of(frame: Frame, scratch: Scratch, word: int) -> int:
    """The part that a word belongs to."""
    if len(scratch.front) == 1:
        return int64(0)
    return int64(scratch.part_of[(word >> frame.shifts[1]) & 63])


@inlined
def find_candidates(scratch: Scratch, part: int, row: int, word: int, bits: Word) -> None:
    """Add candidates of the ply; the word belongs to the part."""
    scratch.found[row, word] |= bits
    mark = word >> 6
    if scratch.marks[row, mark] == ZERO:
        scratch.tops[part, row, mark >> 6] |= BIT[mark & 63]
    scratch.marks[row, mark] |= BIT[word & 63]


@inlined
def gather(scratch: Scratch, part: int, row: int, count: int) -> int:
    """Move a part's candidates of a row to its front, from place ``count`` on; return the new count."""
    begin = scratch.begin[part]
    for top in range(scratch.tops.shape[2]):
        tops = scratch.tops[part, row, top]
        if tops == ZERO:
            continue
        scratch.tops[part, row, top] = ZERO
        for high in bits_of(tops):
            mark = top * 64 + high
            marks = scratch.marks[row, mark]
            scratch.marks[row, mark] = ZERO
            for low in bits_of(marks):
                word = mark * 64 + low
                scratch.front_word[row, begin + count] = word
                scratch.front_bits[row, begin + count] = scratch.found[row, word]
                scratch.found[row, word] = ZERO
                count += 1
    return count


@inlined
def front_size(scratch: Scratch) -> int:
    """How many words were assigned in the last ply."""
    size = int64(0)
    for part in range(len(scratch.front)):
        size += scratch.front[part, ATTACKERS] + scratch.front[part, DEFENDERS]
    return size


@kernel
def mark_live(wanted: Words, alive: Words, live: Words) -> None:
    """Mark in ``live``, uint64 (2, words / 64), the words that are not empty."""
    live[:] = ZERO
    for word in range(len(alive)):
        if wanted[word]:
            live[ATTACKERS, word >> 6] |= BIT[word & 63]
        if alive[word]:
            live[DEFENDERS, word >> 6] |= BIT[word & 63]


@kernel
def share_out(frame: Frame, scratch: Scratch) -> None:
    """Share what ``mark_live`` has marked for the first part out among all of them.

    There is more than one only where 64 neighbouring words have Black's king on one square.
    """
    live, parts = scratch.live, len(scratch.front)
    if parts == 1:
        return
    for group in range(live.shape[2]):
        owner = part_of(frame, scratch, group << 6)
        for row in range(2):
            marked = live[0, row, group]
            for part in range(parts):
                live[part, row, group] = marked if part == owner else ZERO
