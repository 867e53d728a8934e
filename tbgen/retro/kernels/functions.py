"""Recording the value of a position for all accrued scores, as runs or as functions without depths.

*Runs* are logged layer by layer and then sorted. Few states change from one layer to the next of the same
holder, so only the changes are stored.

*Functions* are V(P, A) as a function of A, for one side to move. While the layers are solved, each position
has a *path* for each holder of A: the sequence of changes of V(P, A) so far. Many positions share a path, so
paths are numbered, and a change of the value replaces the path number of the position by another one. When
all layers are solved, W(P) is determined, and the paths of both holders together form the function of the
position (``tbgen.index.table.Functions``).
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
from tbgen.retro.kernels.numbering import Numbering, number_of, numbering, with_capacity
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
    """int64 (1,): number of entries in use."""


class Runs(NamedTuple):
    """The runs of one holder of A in one phase, by (side, slot, rank)."""

    mask: Words
    """uint64 (2, words): positions that have runs."""
    rank: Codes
    """uint8 (runs,): rank of A, plus ``LAST_RUN`` in the last run of a position."""
    value: Codes
    """uint8 (runs,): code of V(P, A); NONE for A itself, ``FRESH`` for the fresh value."""
    depth: Plies
    """uint16 (runs,): D(P, A)."""
    white: int
    """Number of runs with White to move."""


@jit
def empty_log(capacity: int) -> Log:
    """Return an empty log with memory for some entries."""
    return Log(np.empty(capacity, np.uint64), np.zeros(1, np.int64))


@inlined
def changed_states(attacker: Attacker, side: int, word: int, rank: int, carried: bool) -> tuple[Word, Word]:
    """Return the states of a word that the layer has assigned, and those whose value or depth differs from
    the layer before; before the first layer, all values count as A itself. Call this once for each layer.

    ``carried`` says that the sweep was updated from the layer before; then ``changed`` contains all changes.
    """
    phase, changed = attacker.phase, attacker.inner_sets.changed[side, word]
    if phase.alive[side, word] == ZERO or (carried and changed == ZERO):
        return ZERO, ZERO
    states = phase.alive[side, word] & phase.canonical[word]
    if side == attacker.side and states:  # where the position score is A, there is no state of its own
        states &= ~of_rank(phase.slices[side, word], rank)
    now = assigned(attacker, side, word) & states
    before = attacker.logged[side, word]
    attacker.logged[side, word] = now
    return now, (now & (changed | ~before)) | (before & ~now & states)


@jit
def log_changes(attacker: Attacker, rank: int, carried: bool, log: Log) -> Log:
    """Log the states whose value or depth differs from the layer before; see ``changed_states``.

    Return the log, which may have been copied to a larger array.
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
    """Log the changes with one side to move from word ``start`` on; return the number of words, or the first
    word for which the capacity of the log may be too small."""
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
def runs_of_entries(entries: Words, words: int, fresh: SweepResults) -> Runs:
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


_MAX_CHANGES = 256
"""Greatest number of changes of a position under both holders: at most one for each code."""
_INITIAL_CAPACITY = 1024
"""Number of paths for which there is memory at first."""
_BYTE, _ENTRY, _NUMBER = np.uint64(8), np.uint64(16), np.uint64(28)
_LOW_BYTE, _LOW_ENTRY, _LOW_NUMBER = np.uint64(0xFF), np.uint64(0xFFFF), np.uint64((1 << 28) - 1)
NO_STEP = np.uint64(NONE)
"""Key of the empty path, whose last value is A itself."""

Numbers = NDArray[np.uint32]
"""Numbers of functions."""

_TWO_BYTES = 1 << 16
"""How many numbers two bytes can tell apart."""


class SlotNumbers(NamedTuple):
    """The number of each slot: first of a path, then of a pair of paths, at last of a function."""

    low: NDArray[np.uint16]
    """uint16 (slots,): lower halves of the numbers."""
    high: NDArray[np.uint16]
    """uint16 (slots,): upper halves. While there are few numbers, this memory is not accessed, and the system
    does not provide it."""


@inlined
def _number_at(of_slot: SlotNumbers, slot: int, numbers: int) -> int:
    """The number of a slot, which is below ``numbers``."""
    number = int64(of_slot.low[slot])
    return number if numbers <= _TWO_BYTES else number | int64(of_slot.high[slot]) << 16


@inlined
def _set_number(of_slot: SlotNumbers, slot: int, number: int, numbers: int) -> None:
    """Replace the number of a slot; both the old and the new one are below ``numbers``."""
    of_slot.low[slot] = number & (_TWO_BYTES - 1)
    if numbers > _TWO_BYTES:
        of_slot.high[slot] = number >> 16


class Paths(NamedTuple):
    """The paths of one holder of A in one phase."""

    of_slot: SlotNumbers
    """Path number of each slot of the phase; empty if functions are not stored."""
    side: int
    """The side to move of the slots, 0 White or 1 Black."""
    steps: Numbering
    """Numbers of paths by their last change: number of the path before it << 16, code of A from which it
    counts << 8, and code of V(P, A), NONE for A itself."""


@jit
def no_paths(of_slot: SlotNumbers, side: int) -> Paths:
    """Return empty paths for one side to move; ``of_slot``, zeros for all its slots, will store their
    numbers."""
    return Paths(of_slot, side, numbering(_INITIAL_CAPACITY, NO_STEP))


@jit
def follow_changes(attacker: Attacker, rank: int, carried: bool, paths: Paths) -> Paths:
    """Extend the paths of the positions whose value differs from the layer before; ``carried`` is as in
    ``changed_states``.

    Return the paths, which may have been copied to larger arrays.
    """
    word = int64(0)
    while word < attacker.frame.words:
        paths = Paths(paths.of_slot, paths.side, with_capacity(paths.steps, 64))
        word = _follow_words(attacker, rank, carried, paths, word)
    return paths


@kernel
def _follow_words(attacker: Attacker, rank: int, carried: bool, paths: Paths, start: int) -> int:
    """Extend the paths from word ``start`` on; return the number of words, or the first word for which the
    capacity of the paths may be too small."""
    words, value, side = attacker.frame.words, attacker.results.value, paths.side
    code = np.uint64(255 - rank if attacker.side == 0 else rank)
    for word in range(start, words):
        if paths.steps.length[0] + 64 > len(paths.steps.key):
            return word
        now, changed = changed_states(attacker, side, word, rank, carried)
        for bit in bits_of(changed):
            slot = word * 64 + bit
            after = np.uint64(value[side * words * 64 + slot] if now & BIT[bit] else NONE)
            path = np.uint64(_number_at(paths.of_slot, slot, paths.steps.length[0]))
            if after != paths.steps.key[int64(path)] & _LOW_BYTE:
                step = path << _ENTRY | code << _BYTE | after
                number = number_of(paths.steps, step)
                _set_number(paths.of_slot, slot, number, paths.steps.length[0])
    return words


@jit
def number_path_pairs(
    phase: Phase, by_holder: tuple[Paths, Paths], value: Codes, start: int, stop: int
) -> Numbering:
    """Number the combinations of both paths and W(P) that occur in the words ``start`` to ``stop`` - 1.

    ``by_holder`` are the paths of White's and of Black's accrued scores; ``value``, uint8 (phase size,), are
    the fresh values. The numbers replace the path numbers of White's accrued scores, 0 without a position.
    """
    (of_slot, side, white_steps), (black_of_slot, _, black_steps) = by_holder
    white_paths, black_paths = white_steps.length[0], black_steps.length[0]
    path_pairs = numbering(_INITIAL_CAPACITY, NO_STEP)
    for word in range(start, stop):
        bits = phase.legal[side, word] & phase.canonical[word]
        if bits:
            path_pairs = with_capacity(path_pairs, 64)
        for bit in bits_of(bits):
            slot = word * 64 + bit
            paths = np.uint64(_number_at(of_slot, slot, white_paths)) << _NUMBER
            paths |= np.uint64(_number_at(black_of_slot, slot, black_paths))
            number = number_of(path_pairs, paths << _BYTE | np.uint64(value[slot]))
            _set_number(of_slot, slot, number, max(white_paths, path_pairs.length[0]))
    return path_pairs


@inlined
def _append_path(
    functions: Numbering, function: int, steps: Numbering, path: Word, fresh: Word, buffer: Words
) -> int:
    """Append the changes of a path to a function; return the number of the extended function. Values equal to
    the fresh value become ``FRESH``."""
    count = 0
    while path:
        step = steps.key[int64(path)]
        buffer[count] = step & _LOW_ENTRY
        count += 1
        path = step >> _ENTRY
    for number in range(count - 1, -1, -1):
        entry = buffer[number]
        if entry & _LOW_BYTE == fresh:
            entry = entry & ~_LOW_BYTE | np.uint64(FRESH)
        function = number_of(functions, np.uint64(function) << _ENTRY | entry)
    return function


@jit
def functions_of(
    path_pairs: Numbering, by_holder: tuple[Paths, Paths], functions: Numbering
) -> tuple[Numbering, Numbers]:
    """Return the extended functions, numbered entry by entry like paths, and the function number of each pair
    of paths, uint32 (pairs,)."""
    buffer = np.empty(_MAX_CHANGES, np.uint64)
    count = path_pairs.length[0]
    of_pair = np.empty(count, np.uint32)
    for number in range(count):
        functions = with_capacity(functions, _MAX_CHANGES)
        pair = path_pairs.key[number]
        fresh, black = pair & _LOW_BYTE, pair >> _BYTE & _LOW_NUMBER
        white = pair >> _BYTE >> _NUMBER
        function = _append_path(functions, int64(0), by_holder[0].steps, white, fresh, buffer)
        of_pair[number] = _append_path(functions, function, by_holder[1].steps, black, fresh, buffer)
    return functions, of_pair


@kernel
def count_numbers(of_slot: SlotNumbers, count: Ints) -> None:
    """Add the frequency of each number in ``of_slot`` to ``count``, int64 (numbers,)."""
    for slot in range(len(of_slot.low)):
        count[_number_at(of_slot, slot, len(count))] += 1


@kernel
def renumber(of_slot: SlotNumbers, new: Numbers, numbers: int) -> None:
    """Replace every number ``n`` in ``of_slot`` by ``new[n]``; all old and new ones are below ``numbers``."""
    for slot in range(len(of_slot.low)):
        _set_number(of_slot, slot, new[_number_at(of_slot, slot, numbers)], numbers)


@kernel
def renumbered(of_slot: SlotNumbers, new: Numbers, found: Numbers) -> None:
    """Write ``new[n]`` for every number ``n`` in ``of_slot`` to ``found``, uint32 (slots,)."""
    for slot in range(len(found)):
        found[slot] = new[_number_at(of_slot, slot, len(new))]
