"""Recording values for all accrued scores A: as runs with depths, or as functions without depths.

*Runs* are logged layer by layer and then sorted. Few states change between successive layers of the same
holder, so only the changes are stored.

A *function* is V(P, A) as a function of A, for one side to move. While the layers are solved, each position
has a *path*: the sequence of changes of V(P, A) so far, for both holders of A. Many positions share a path,
so paths are numbered, and a change of the value gives the position another path number. Once all layers are
solved, W(P) is known. The path and W(P) then determine the function of the position
(``tbgen.index.table.ValueFunctions``).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE
from tbgen.compiler.jit import inlined, int64, jit, kernel
from tbgen.index.codes import FRESH, LAST_RUN
from tbgen.moves.geometry import BIT
from tbgen.moves.kernels.moves import SLICES, positions_of_rank
from tbgen.moves.kernels.words import ZERO, Codes, Ints, Plies, Word, Words, bits_of
from tbgen.moves.structs import Phase
from tbgen.retro.kernels.layer_sweeps import FIRST_LAYER, assigned_positions
from tbgen.retro.kernels.numbering import Numbering, find_or_add, new_numbering, with_capacity
from tbgen.retro.kernels.sweep import Attacker, SweepResults

_NODE_SHIFT, _RANK_SHIFT, _VALUE_SHIFT = (np.uint64(bits) for bits in (32, 24, 16))
_CODE_MASK, _PLIES_MASK = np.uint64(0xFF), np.uint64(0xFFFF)

_MAX_CHANGES = 256
"""Greatest number of changes of the value of a position: one for each code of A."""
_INITIAL_CAPACITY = 1024
"""Number of paths for which memory is allocated at first."""
_BYTE_BITS, _ENTRY_BITS = np.uint64(8), np.uint64(16)
_BYTE_MASK, _ENTRY_MASK = np.uint64(0xFF), np.uint64(0xFFFF)
_HOLDER_MASK = np.uint64(1 << 15)
"""The bit of a step that is set if Black holds A."""
NO_STEP = np.uint64(NONE)
"""Key of the empty path, on which the value is A itself."""

Numbers = NDArray[np.uint32]
"""Numbers of functions."""

_TWO_BYTE_VALUES = 1 << 16
"""Number of different values that two bytes can have."""


class Log(NamedTuple):
    """Changes of V(P, A) between successive layers of the same holder of A, in the order of the layers."""

    entry: Words
    """uint64: node << 32 | rank of A << 24 | code of V(P, A) << 16 | D(P, A) in plies. A node is a slot, plus
    the phase size if Black is to move. The code is NONE if the value is A itself."""
    length: Ints
    """int64 (1,): number of entries in use."""


class Runs(NamedTuple):
    """The runs of one holder of A in one phase, in the order (side to move, slot, rank)."""

    mask: Words
    """uint64 (2, words): positions that have runs."""
    rank: Codes
    """uint8 (runs,): rank of A, plus ``LAST_RUN`` in the last run of a position."""
    value: Codes
    """uint8 (runs,): code of V(P, A); NONE for A itself, ``FRESH`` for the fresh value."""
    depth: Plies
    """uint16 (runs,): D(P, A) in plies."""
    white_count: int
    """Number of runs with White to move, which come first."""


@jit
def empty_log(capacity: int) -> Log:
    """Return an empty log with memory for ``capacity`` entries."""
    return Log(np.empty(capacity, np.uint64), np.zeros(1, np.int64))


@inlined
def changed_states(attacker: Attacker, side: int, word: int, rank: int, is_update: bool) -> tuple[Word, Word]:
    """Return the states of a word that the sweep of this layer has assigned, and those that have changed.

    A state has changed if its value or depth differs from that in the previous layer; before the first layer,
    all values count as A itself. ``is_update`` says whether the sweep was updated from the previous layer;
    ``Sets.changed`` then contains all changes. The assigned states are noted in ``logged``, so this function
    must be called only once for each layer and word.
    """
    phase = attacker.phase
    changed = attacker.inner_sets.changed[side, word]
    if phase.alive[side, word] == ZERO or (is_update and changed == ZERO):
        return ZERO, ZERO
    states = phase.alive[side, word] & phase.canonical[word]
    if side == attacker.side and states:  # if the position score is A, this is the fresh state
        states &= ~positions_of_rank(phase.rank_bits[side, word], SLICES, rank)
    assigned = assigned_positions(attacker, side, word) & states
    logged = attacker.logged[side, word] if rank > FIRST_LAYER else ZERO
    attacker.logged[side, word] = assigned
    return assigned, (assigned & (changed | ~logged)) | (logged & ~assigned & states)


@jit
def log_changes(attacker: Attacker, rank: int, is_update: bool, log: Log, start: int, stop: int) -> Log:
    """Log each state of the words ``start`` to ``stop`` - 1 whose value or depth differs from that in the
    previous layer.

    ``rank`` and ``is_update`` are as for ``changed_states``. Return the log, which may have been copied to a
    larger array.
    """
    for side in range(2):
        word = start
        while word < stop:
            if log.length[0] + 64 > len(log.entry):
                longer = Log(np.empty(2 * len(log.entry), np.uint64), log.length)
                for index in range(log.length[0]):
                    longer.entry[index] = log.entry[index]
                log = longer
            word = _log_words(attacker, rank, is_update, log, side, word, stop)
    return log


@kernel
def _log_words(
    attacker: Attacker, rank: int, is_update: bool, log: Log, side: int, start: int, stop: int
) -> int:
    """Log the changes of the positions with ``side`` to move in the words ``start`` to ``stop`` - 1.

    Return the word from which to continue after the log has been enlarged, or ``stop`` if all have been
    visited.
    """
    words, results = attacker.frame.words, attacker.results
    first_slot = results.starts[side]
    for word in range(start, stop):
        length = log.length[0]
        if length + 64 > len(log.entry):
            return word
        assigned, changed = changed_states(attacker, side, word, rank, is_update)
        for bit in bits_of(changed):
            state = np.uint64(NONE << 16)
            node = (side * words + word) * 64 + bit
            if assigned & BIT[bit]:
                slot = first_slot + word * 64 + bit
                state = np.uint64(results.value[slot]) << _VALUE_SHIFT | np.uint64(results.depth[slot])
            log.entry[length] = np.uint64(node) << _NODE_SHIFT | np.uint64(rank) << _RANK_SHIFT | state
            length += 1
        log.length[0] = length
    return stop


@jit
def runs_of_entries(entries: Words, words: int, fresh: SweepResults) -> Runs:
    """Return the runs that the sorted entries of a log contain.

    ``words`` is the number of words for one side to move. ``fresh`` contains the fresh values and depths.
    """
    count = len(entries)
    white_count = int64(0)
    mask = np.zeros((2, words), np.uint64)
    rank, value, depth = np.empty(count, np.uint8), np.empty(count, np.uint8), np.empty(count, np.uint16)
    for run in range(count):
        entry = entries[run]
        node = int64(entry >> _NODE_SHIFT)
        side = 0 if node < words * 64 else 1
        slot = node - side * words * 64
        mask[side, slot >> 6] |= BIT[slot & 63]
        white_count += 1 - side
        rank[run] = entry >> _RANK_SHIFT & _CODE_MASK
        if run + 1 == count or int64(entries[run + 1] >> _NODE_SHIFT) != node:
            rank[run] += LAST_RUN
        value[run] = entry >> _VALUE_SHIFT & _CODE_MASK
        depth[run] = entry & _PLIES_MASK
        index = fresh.starts[side] + slot
        if value[run] == fresh.value[index] and depth[run] == fresh.depth[index]:
            value[run], depth[run] = FRESH, 0
    return Runs(mask, rank, value, depth, white_count)


class FunctionNumbers(NamedTuple):
    """The number of the function of each slot. Until the functions are known, the arrays contain the number
    of the path, or later the number of the combination of path and W(P)."""

    low: NDArray[np.uint16]
    """uint16 (slots,): lower halves of the numbers."""
    high: NDArray[np.uint16]
    """uint16 (slots,): upper halves. While all numbers fit into two bytes, they are not accessed and take up
    no memory."""


@inlined
def _number_at(numbers: FunctionNumbers, slot: int, limit: int) -> int:
    """The number of a slot. All numbers are below ``limit``."""
    number = int64(numbers.low[slot])
    return number if limit <= _TWO_BYTE_VALUES else number | int64(numbers.high[slot]) << 16


@inlined
def _set_number(numbers: FunctionNumbers, slot: int, number: int, limit: int) -> None:
    """Replace the number of a slot. The old and the new number are below ``limit``."""
    numbers.low[slot] = number & (_TWO_BYTE_VALUES - 1)
    if limit > _TWO_BYTE_VALUES:
        numbers.high[slot] = number >> 16


class Paths(NamedTuple):
    """The paths of consecutive words of one phase."""

    path_numbers: FunctionNumbers
    """Path number of each slot of the phase; empty if functions are not stored."""
    side: int
    """The side to move in these slots, 0 White or 1 Black."""
    steps: Numbering
    """The numbers of paths. The key of a path describes its last change: number of the path before the change
    << 16 | code of A at the change << 8 | new code of V(P, A), which is NONE for A itself."""


@jit
def empty_paths(numbers: FunctionNumbers, side: int) -> Paths:
    """Return empty paths for one side to move. ``numbers``, all zeros, will store the path numbers."""
    return Paths(numbers, side, new_numbering(_INITIAL_CAPACITY, NO_STEP))


@jit
def extend_paths(
    attacker: Attacker, rank: int, is_update: bool, paths: Paths, start: int, stop: int
) -> Paths:
    """Extend the path of each position of the words ``start`` to ``stop`` - 1 whose value differs from that
    in the previous layer of the same holder.

    ``is_update`` is as for ``changed_states``. Return the paths, which may have been copied to larger arrays.
    """
    word = start
    while word < stop:
        paths = Paths(paths.path_numbers, paths.side, with_capacity(paths.steps, 64))
        word = _extend_paths_of_words(attacker, rank, is_update, paths, word, stop)
    return paths


@inlined
def _last_value(steps: Numbering, path: Word, code: Word) -> Word:
    """The last value on a path for accrued scores with the same holder as A. ``code`` is the code of A."""
    step = steps.key[int64(path)]
    while path and (step ^ code << _BYTE_BITS) & _HOLDER_MASK:
        path = step >> _ENTRY_BITS
        step = steps.key[int64(path)]
    return step & _BYTE_MASK


@kernel
def _extend_paths_of_words(
    attacker: Attacker, rank: int, is_update: bool, paths: Paths, start: int, stop: int
) -> int:
    """Extend the paths of the words ``start`` to ``stop`` - 1.

    Return the word from which to continue after the capacity of the paths has been increased, or ``stop``
    if all have been visited.
    """
    value = attacker.results.value
    side = paths.side
    first_slot = attacker.results.starts[side]
    code = np.uint64(255 - rank if attacker.side == 0 else rank)
    for word in range(start, stop):
        if paths.steps.length[0] + 64 > len(paths.steps.key):
            return word
        assigned, changed = changed_states(attacker, side, word, rank, is_update)
        for bit in bits_of(changed):
            slot = word * 64 + bit
            new_value = np.uint64(value[first_slot + slot] if assigned & BIT[bit] else NONE)
            path = np.uint64(_number_at(paths.path_numbers, slot, paths.steps.length[0]))
            if new_value != _last_value(paths.steps, path, code):
                step = path << _ENTRY_BITS | code << _BYTE_BITS | new_value
                number = find_or_add(paths.steps, step)
                _set_number(paths.path_numbers, slot, number, paths.steps.length[0])
    return stop


@jit
def number_fresh_paths(phase: Phase, paths: Paths, value: Codes, start: int, stop: int) -> Numbering:
    """Number the combinations of a path and W(P) that occur in the words ``start`` to ``stop`` - 1.

    ``value``, uint8 (phase size,), are the fresh values. The path number of each slot is replaced by the
    number of the slot's combination; slots without a position keep the number 0. Return the numbering of the
    combinations.
    """
    numbers = paths.path_numbers
    side = paths.side
    limit = paths.steps.length[0]
    fresh_paths = new_numbering(_INITIAL_CAPACITY, NO_STEP)
    for word in range(start, stop):
        bits = phase.legal[side, word] & phase.canonical[word]
        if bits:
            fresh_paths = with_capacity(fresh_paths, 64)
        for bit in bits_of(bits):
            slot = word * 64 + bit
            path = np.uint64(_number_at(numbers, slot, limit))
            number = find_or_add(fresh_paths, path << _BYTE_BITS | np.uint64(value[slot]))
            _set_number(numbers, slot, number, max(limit, fresh_paths.length[0]))
    return fresh_paths


@inlined
def _append_path(
    functions: Numbering, function: int, steps: Numbering, fresh_path: Word, holder: Word, buffer: Words
) -> int:
    """Append the changes of a path with W(P), for one holder of A, to a function; return the number of the
    extended function.

    ``holder`` is ``_HOLDER_MASK`` for Black, 0 for White. Values that equal the fresh value become ``FRESH``.
    ``buffer`` is scratch memory.
    """
    path = fresh_path >> _BYTE_BITS
    fresh = fresh_path & _BYTE_MASK
    count = 0
    while path:
        step = steps.key[int64(path)]
        buffer[count] = step & _ENTRY_MASK
        count += step & _HOLDER_MASK == holder
        path = step >> _ENTRY_BITS
    for index in range(count - 1, -1, -1):
        entry = buffer[index]
        if entry & _BYTE_MASK == fresh:
            entry = entry & ~_BYTE_MASK | np.uint64(FRESH)
        function = find_or_add(functions, np.uint64(function) << _ENTRY_BITS | entry)
    return function


@jit
def functions_of(fresh_paths: Numbering, steps: Numbering, functions: Numbering) -> tuple[Numbering, Numbers]:
    """Add the function of each combination of path and W(P) to ``functions``.

    Like a path, a function is numbered by its last entry and the number of the function without that entry.

    Return the functions, possibly copied to larger arrays, and the function number of each path, as uint32.
    """
    buffer = np.empty(_MAX_CHANGES + 1, np.uint64)
    count = fresh_paths.length[0]
    function_of_path = np.empty(count, np.uint32)
    for index in range(count):
        functions = with_capacity(functions, _MAX_CHANGES)
        key = fresh_paths.key[index]
        function = _append_path(functions, int64(0), steps, key, ZERO, buffer)
        function_of_path[index] = _append_path(functions, function, steps, key, _HOLDER_MASK, buffer)
    return functions, function_of_path


@kernel
def count_numbers(numbers: FunctionNumbers, counts: Ints) -> None:
    """Add the frequency of every number n in ``numbers`` to ``counts[n]``, int64."""
    for slot in range(len(numbers.low)):
        counts[_number_at(numbers, slot, len(counts))] += 1


@kernel
def renumber(numbers: FunctionNumbers, new_numbers: Numbers, limit: int) -> None:
    """Replace every number n in ``numbers`` by ``new_numbers[n]``; all numbers are below ``limit``."""
    for slot in range(len(numbers.low)):
        _set_number(numbers, slot, new_numbers[_number_at(numbers, slot, limit)], limit)


@kernel
def write_renumbered(numbers: FunctionNumbers, new_numbers: Numbers, out: Numbers) -> None:
    """Write ``new_numbers[n]`` for every number ``n`` in ``numbers`` to ``out``, uint32 (slots,)."""
    for slot in range(len(out)):
        out[slot] = new_numbers[_number_at(numbers, slot, len(new_numbers))]
