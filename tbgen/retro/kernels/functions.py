"""How the value of a position changes with the accrued score: as runs, or as one function without depths.

*Runs* are logged layer by layer and then sorted. From one layer to the next of the same holder few states
change, so only the changes are kept.

*Functions* are V(P, A) as a function of A, for one side to move. While the layers are solved, every position
is on a *path* for each holder of A: the changes of V(P, A) from layer to layer so far, without a log. Very
many positions share a path, so a path is a number, and a change leads from it to another. When all layers are
solved, W(P) is known, and the paths of both holders make the function of the position
(``tbgen.index.table.Functions``).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE
from tbgen.compiler.jit import inlined, int64, jit, kernel
from tbgen.index.table import FRESH, LAST_RUN
from tbgen.retro.geometry import BIT
from tbgen.retro.kernels.frame import Phase
from tbgen.retro.kernels.layer_sweeps import assigned
from tbgen.retro.kernels.moves import of_rank
from tbgen.retro.kernels.numbering import Numbering, number_of, numbering, with_room
from tbgen.retro.kernels.sweep import Attacker, SweepResults
from tbgen.retro.kernels.words import ZERO, Codes, Ints, Plies, Word, Words, bits_of

_NODE, _RANK, _VALUE = (np.uint64(bits) for bits in (32, 24, 16))
_CODE_BYTE, _PLIES = np.uint64(0xFF), np.uint64(0xFFFF)


class Log(NamedTuple):
    """Changes of V(P, A) from one layer to the next of the same holder of A, in the order of the layers."""

    entry: Words
    """uint64: node (slot, plus the phase size if Black is to move) << 32, rank of A << 24, code of V(P, A)
    (NONE for A itself) << 16, and D(P, A)."""
    length: Ints
    """int64 (1,): entries in use."""


class Runs(NamedTuple):
    """The runs of one holder of A in one phase, by (side, slot, rank)."""

    mask: Words
    """uint64 (2, words): positions that have runs."""
    rank: Codes
    """uint8 (runs,): rank of A, plus ``LAST_RUN`` if it is the position's last."""
    value: Codes
    """uint8 (runs,): code of V(P, A), NONE for A itself, ``FRESH`` for the fresh value."""
    depth: Plies
    """uint16 (runs,): D(P, A)."""
    white: int
    """How many of them have White to move."""


@jit
def empty_log(room: int) -> Log:
    """Return a log without entries."""
    return Log(np.empty(room, np.uint64), np.zeros(1, np.int64))


@inlined
def changed_states(attacker: Attacker, side: int, word: int, rank: int, carried: bool) -> tuple[Word, Word]:
    """Return which states of a word the layer has assigned, and which differ from those of the layer before
    in value or depth (there: A itself, at first). To be asked once per layer.

    ``carried`` says that the sweep was carried on from the layer before: then ``changed`` has them all.
    """
    phase, changed = attacker.phase, attacker.inner_sets.changed[side, word]
    if phase.alive[side, word] == ZERO or (carried and changed == ZERO):
        return ZERO, ZERO
    states = phase.alive[side, word] & phase.canonical[word]
    if side == attacker.side and states:  # those have no state of their own whose own score is A
        states &= ~of_rank(phase.slices[side, word], rank)
    now = assigned(attacker, side, word) & states
    before = attacker.logged[side, word]
    attacker.logged[side, word] = now
    return now, (now & (changed | ~before)) | (before & ~now & states)


@jit
def log_changes(attacker: Attacker, rank: int, carried: bool, log: Log) -> Log:
    """Log the states whose (value, depth) differ from those of the layer before; ``carried`` as in
    ``changed_states``.

    Returns the log, which may have been moved to make room.
    """
    for side in range(2):
        word = int64(0)
        while word < attacker.frame.words:
            if log.length[0] + 64 > len(log.entry):
                longer = Log(np.empty(2 * len(log.entry), np.uint64), log.length)
                longer.entry[: log.length[0]] = log.entry[: log.length[0]]
                log = longer
            word = _log_words(attacker, rank, carried, log, side, word)
    return log


@kernel
def _log_words(attacker: Attacker, rank: int, carried: bool, log: Log, side: int, start: int) -> int:
    """Log the changes of one side to move from word ``start`` on; return the word that there may be no room
    for, or the number of words."""
    words, results = attacker.frame.words, attacker.results
    for word in range(start, words):
        length = log.length[0]
        if length + 64 > len(log.entry):
            return word
        now, changed = changed_states(attacker, side, word, rank, carried)
        for bit in bits_of(changed):
            state, at = np.uint64(NONE << 16), (side * words + word) * 64 + bit
            if now & BIT[bit]:
                state = np.uint64(results.value[at]) << _VALUE | np.uint64(results.depth[at])
            log.entry[length] = np.uint64(at) << _NODE | np.uint64(rank) << _RANK | state
            length += 1
        log.length[0] = length
    return words


@jit
def weave(entries: Words, words: int, fresh: SweepResults) -> Runs:
    """Return the entries of a log, sorted, as runs by (side, slot, rank).

    ``words`` is the number of words of one side to move, ``fresh`` holds the fresh values and depths.
    """
    count, white = len(entries), int64(0)
    mask = np.zeros((2, words), np.uint64)
    rank, value, depth = np.empty(count, np.uint8), np.empty(count, np.uint8), np.empty(count, np.uint16)
    for number in range(count):
        entry = entries[number]
        node = int64(entry >> _NODE)
        side = 0 if node < words * 64 else 1
        slot = node - side * words * 64
        mask[side, slot >> 6] |= BIT[slot & 63]
        white += 1 - side
        rank[number] = entry >> _RANK & _CODE_BYTE
        if number + 1 == count or int64(entries[number + 1] >> _NODE) != node:
            rank[number] += LAST_RUN
        value[number], depth[number] = entry >> _VALUE & _CODE_BYTE, entry & _PLIES
        at = fresh.starts[side] + slot
        if value[number] == fresh.value[at] and depth[number] == fresh.depth[at]:
            value[number], depth[number] = FRESH, 0
    return Runs(mask, rank, value, depth, white)


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
def count_names(of_slot: Names, count: Ints) -> None:
    """Add to ``count``, int64 (numbers,), how often each number stands in ``of_slot``."""
    for slot in range(len(of_slot)):
        count[of_slot[slot]] += 1


@kernel
def rename(of_slot: Names, names: Names) -> None:
    """Replace every number of ``of_slot`` by its name, which stands in ``names`` in its place."""
    for slot in range(len(of_slot)):
        of_slot[slot] = names[of_slot[slot]]
