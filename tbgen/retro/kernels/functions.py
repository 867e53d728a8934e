"""Functions: V(P, A) of a position as a function of A, for one side to move, without depths.

While the layers are solved, every position is on a *path* for each holder of A: the changes of V(P, A) from
layer to layer so far, without a log. Very many positions share a path, so a path is a number, and a change
leads from it to another. When all layers are solved, W(P) is known, and the paths of both holders make
the function of the position (``tbgen.index.table.Functions``).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE
from tbgen.compiler.jit import inlined, int64, jit, kernel
from tbgen.index.table import FRESH
from tbgen.retro.geometry import BIT
from tbgen.retro.kernels.bits import Codes, Word, Words, bits_of
from tbgen.retro.kernels.frame import Phase
from tbgen.retro.kernels.numbering import Numbering, number_of, numbering, with_room
from tbgen.retro.kernels.runs import changed_states
from tbgen.retro.kernels.sweep import Attacker

_LONGEST = 256
"""Room for the changes of a position under both holders: there is one at most for every code."""
_FEW = 1024
_BYTE, _ENTRY, _NUMBER = np.uint64(8), np.uint64(16), np.uint64(28)
_LOW_BYTE, _LOW_ENTRY, _LOW_NUMBER = np.uint64(0xFF), np.uint64(0xFFFF), np.uint64((1 << 28) - 1)
NO_STEP = np.uint64(NONE)
"""Key of the path without changes: the value of its end is A."""

Names = NDArray[np.uint32]


class Paths(NamedTuple):
    """The paths of one holder of A in one phase."""

    of_slot: Names
    """uint32 (phase size,): the path of every slot; empty if functions are not wanted."""
    side: int
    """The side to move of the slots, 0 White or 1 Black."""
    steps: Numbering
    """Paths by their last change: the path before it << 16, the code of A from which on it counts << 8, and
    the code of V(P, A), NONE for A itself."""


@jit
def no_paths(of_slot: Names, side: int) -> Paths:
    """Return paths of one side to move without changes; ``of_slot``, zeros uint32 (phase size,), is to hold
    them."""
    return Paths(of_slot, side, numbering(_FEW, NO_STEP))


@jit
def follow_changes(attacker: Attacker, rank: int, carried: bool, paths: Paths) -> Paths:
    """Take the positions whose value differs from that of the layer before to their next paths; ``carried``
    as in ``changed_states``.

    Returns the paths, which may have been moved to make room.
    """
    word = int64(0)
    while word < attacker.frame.words:
        paths = Paths(paths.of_slot, paths.side, with_room(paths.steps, 64))
        word = _follow_words(attacker, rank, carried, paths, word)
    return paths


@kernel
def _follow_words(attacker: Attacker, rank: int, carried: bool, paths: Paths, start: int) -> int:
    """Follow the changes from word ``start`` on; return the word that there may be no room for, or the number
    of words."""
    words, value, side = attacker.frame.words, attacker.results.value, paths.side
    code = np.uint64(255 - rank if attacker.side == 0 else rank)
    for word in range(start, words):
        if paths.steps.length[0] + 64 > len(paths.steps.key):
            return word
        now, changed = changed_states(attacker, side, word, rank, carried)
        for bit in bits_of(changed):
            slot = word * 64 + bit
            after = np.uint64(value[side * words * 64 + slot] if now & BIT[bit] else NONE)
            path = np.uint64(paths.of_slot[slot])
            if after != paths.steps.key[int64(path)] & _LOW_BYTE:
                step = path << _ENTRY | code << _BYTE | after
                paths.of_slot[slot] = number_of(paths.steps, step)
    return words


@jit
def number_endings(
    phase: Phase, by_holder: tuple[Paths, Paths], value: Codes, start: int, stop: int
) -> Numbering:
    """Number what the positions of the words ``start`` to ``stop`` - 1 have come to: both paths, and W.

    ``by_holder`` are the paths of White's and of Black's accrued scores, ``value`` uint8 (phase size,) the
    fresh values. The numbers take the place of the first paths; slots without position
    have 0.
    """
    of_slot, other = by_holder[0].of_slot, by_holder[1].of_slot
    endings = numbering(_FEW, NO_STEP)
    for word in range(start, stop):
        bits = phase.legal[by_holder[0].side, word] & phase.canonical[word]
        if bits:
            endings = with_room(endings, 64)
        for bit in bits_of(bits):
            slot = word * 64 + bit
            paths = np.uint64(of_slot[slot]) << _NUMBER | np.uint64(other[slot])
            of_slot[slot] = number_of(endings, paths << _BYTE | np.uint64(value[slot]))
    return endings


@inlined
def _walk(functions: Numbering, function: int, steps: Numbering, path: Word, fresh: Word, room: Words) -> int:
    """Add a path's changes to a function; return the longer function. Values like the fresh one become
    ``FRESH``."""
    count = 0
    while path:
        step = steps.key[int64(path)]
        room[count] = step & _LOW_ENTRY
        count += 1
        path = step >> _ENTRY
    for number in range(count - 1, -1, -1):
        entry = room[number]
        if entry & _LOW_BYTE == fresh:
            entry = entry & ~_LOW_BYTE | np.uint64(FRESH)
        function = number_of(functions, np.uint64(function) << _ENTRY | entry)
    return function


@jit
def functions_of(
    endings: Numbering, by_holder: tuple[Paths, Paths], functions: Numbering
) -> tuple[Numbering, Names]:
    """Return all functions, which are numbered entry by entry like paths, and uint32 (endings,) that of every
    ending."""
    room = np.empty(_LONGEST, np.uint64)
    count = endings.length[0]
    of_ending = np.empty(count, np.uint32)
    for number in range(count):
        functions = with_room(functions, _LONGEST)
        ending = endings.key[number]
        fresh, black = ending & _LOW_BYTE, ending >> _BYTE & _LOW_NUMBER
        white = ending >> _BYTE >> _NUMBER
        function = _walk(functions, int64(0), by_holder[0].steps, white, fresh, room)
        of_ending[number] = _walk(functions, function, by_holder[1].steps, black, fresh, room)
    return functions, of_ending


@kernel
def rename(of_slot: Names, names: Names) -> None:
    """Replace every number of ``of_slot`` by its name, which stands in ``names`` in its place."""
    for slot in range(len(of_slot)):
        of_slot[slot] = names[of_slot[slot]]
