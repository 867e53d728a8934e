"""The sweep: retrograde analysis of one side's attractor, value by value and ply by ply.

The *attacker* forces the values that it prefers. *Keys* number the values, the attacker's best first: the key
is the code of the value if White attacks, and 255 minus this code if Black attacks. A sweep over a range of
keys assigns value and depth to two kinds of positions:

- with the attacker to move, as soon as one move leads to an assigned position or one exit has the current
  value;
- with the *defender* to move, as soon as every quiet move leads to an assigned position and no exit is better
  for the defender than the current value. For each position, a counter stores the number of quiet moves to
  positions that are not assigned.

A *level* is a key with a depth. Levels are processed in the order (key, depth). Every position therefore gets
the attacker's best value, and the number of plies in which the attacker can force it against the longest
defence (depth to goal, section 5 of docs/theory.md).

Exits, and positions settled in earlier layers, enter as *events* at their levels. The positions assigned in
the last ply are the *front*, the frontier of the search. Their predecessors are *candidates* for the next
ply.

Candidates and front are divided into *parts*, so that threads can work concurrently. A part consists of
a few stretches of consecutive words, and so of consecutive king pairs. The data of a word are written only by
the part that the word belongs to. So parts never conflict, and the results do not depend on the number of
parts. Each part undoes the moves to its own front. It processes predecessors in its own words at once, and
puts the others into *outboxes*, one for each other part, which that part empties when it *receives*. So a
level has two halves, searching and assigning, between which the parts wait for each other.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbgen.compiler.jit import inlined, int64, jit, kernel
from tbgen.compiler.structs import Struct
from tbgen.moves.geometry import BIT
from tbgen.moves.kernels.best_exits import ExitBuffer
from tbgen.moves.kernels.frame import side_word_bit
from tbgen.moves.kernels.moves import MAX_WORD_MOVES, MoveBuffer, MoveSearch, list_all_predecessors
from tbgen.moves.kernels.words import (
    ZERO,
    Codes,
    Ints,
    Plies,
    Word,
    Words,
    bits_of,
    count_down,
    prefetch,
    prefetch_for_reading,
    put,
)
from tbgen.moves.structs import Frame, Phase
from tbgen.retro.kernels.events import (
    DEPTH_BITS,
    DEPTH_MASK,
    NO_LEVEL,
    NO_NODE,
    Agenda,
    level_at,
    level_of,
    next_node,
)

ATTACKER_TO_MOVE, DEFENDER_TO_MOVE = range(2)
"""Rows of arrays: the positions with the attacker to move, and those with the defender to move."""

MAX_DEPTH = 65000
"""Greatest depth in plies that can be stored in 16 bits, with a margin before ``NO_EXIT``."""

BATCH = 384
"""Number of predecessors to list before they are processed."""

LOOKAHEAD = 24
"""Number of entries, or of words of the front, between prefetching and processing. It hides the latency of
memory; with 64 instead of 24 a sweep takes as long (measured)."""

NO_LIMIT = int64(1 << 62)
"""A limit that the number of words on a front never reaches."""

CHUNK = 64
"""Number of entries by which an outbox grows."""

SEARCH_ALONE, SEARCH_SHARED, RECEIVE = range(3)
"""Modes of processing predecessors.

- ``SEARCH_ALONE``: no other thread takes part, so predecessors in words of other parts are processed at once.
- ``SEARCH_SHARED``: predecessors in words of other parts are put into the outboxes.
- ``RECEIVE``: the entries of the outboxes of other parts are processed."""

WRITE_ALONE, WRITE_SHARED = range(2)
"""Modes of writing results.

- ``WRITE_ALONE``: no other thread writes to the results; changes are recorded in ``Sets.changed``.
- ``WRITE_SHARED``: the opponent's sweep may write to other positions of the same word at the same time."""


@dataclass(frozen=True, eq=False)
class Outboxes(Struct):
    """Predecessors that the parts have found in words of other parts.

    A part has one outbox for each row of candidates and each other part. All its outboxes take chunks from
    the same memory. If a part has too few chunks left, it interrupts its search until they are empty.
    """

    word: NDArray[np.int32]
    """int32 (parts, CHUNK * chunks): words of the entries."""
    bits: Words
    """uint64 (parts, CHUNK * chunks): positions of the entries."""
    end: Ints
    """int64 (parts, 2, parts or more): index after the last entry of the outbox for each part, 0 if it is
    empty. More elements keep the ends of different parts out of one cache line."""
    last_end: Ints
    """int64 (parts, chunks): for each chunk, the index after the chunk before it in the same outbox, 0 if
    there is none. The first chunk is not used."""
    used_chunks: Ints
    """int64 (parts,): number of the chunks in use, including the first."""


@inlined
def _post(outboxes: Outboxes, part: int, row: int, owner: int, word: int, bits: Word) -> None:
    """Put an entry into an outbox of a part."""
    index = outboxes.end[part, row, owner]
    if index & (CHUNK - 1) == 0:
        chunk = outboxes.used_chunks[part]
        outboxes.used_chunks[part] = chunk + 1
        outboxes.last_end[part, chunk] = index
        index = chunk * CHUNK
    outboxes.word[part, index], outboxes.bits[part, index] = word, bits
    outboxes.end[part, row, owner] = index + 1


@inlined
def _has_room(outboxes: Outboxes, part: int) -> bool:
    """Whether the outboxes of a part have space for the entries of a batch, whatever parts they are for."""
    max_new_chunks = (BATCH + MAX_WORD_MOVES) // CHUNK + outboxes.word.shape[0]
    return outboxes.used_chunks[part] + max_new_chunks < outboxes.last_end.shape[1]


@dataclass(frozen=True, eq=False)
class Scratch(Struct):
    """Scratch memory of the sweeps of one attacker."""

    candidates: Words
    """uint64 (2, words), attacker to move first: candidates of the current ply; empty between plies."""
    marks: Words
    """uint64 (2, words // 64 + 1): set of the words of ``candidates`` that may be non-empty."""
    mark_groups: Words
    """uint64 (parts, 2, marks // 64 + 1): set of the elements of ``marks`` that mark words of the part."""
    front_word: NDArray[np.int32]
    """int32 (2, 2 * words): words of the front, part by part."""
    front_bits: Words
    """uint64 (2, 2 * words): positions on the front in these words."""
    front_sizes: Ints
    """int64 (parts, 2): number of words of each part on the front."""
    searched: Ints
    """int64 (parts, 2): number of the words of each part on the front whose predecessors have been found."""
    front_start: Ints
    """int64 (parts + 1,): index of the first word of each part in ``front_word``."""
    owners: NDArray[np.uint8]
    """uint8 (owners,): part of each run of ``1 << owner_bits`` words."""
    owner_bits: int
    """Binary logarithm of the length of these runs; at least 6, so that each element of ``marks`` belongs to
    one part."""
    outboxes: Outboxes
    has_assigned: Ints
    """int64 (parts,): 1 if a position of the part was assigned in the last ply, else 0."""
    nonempty: Words
    """uint64 (2, words // 64 + 1): the words that were not empty when the sweep began. Row 0 refers to
    ``Sets.wanted``, row 1 to the alive positions with the defender to move."""
    moves: MoveBuffer
    """Move buffers of all parts. The arrays have a leading axis for the part."""
    exit_buffer: ExitBuffer
    """Buffer for the exit of one position, used by updates (``tbgen.retro.kernels.update``)."""
    max_depth: Ints
    """int64 (1,): greatest depth assigned so far, in plies. The sweep stops if it exceeds ``MAX_DEPTH``,
    because the depth cannot be stored."""


@inlined
def buffer_of(scratch: Scratch, part: int) -> MoveBuffer:
    """The move buffer of one part."""
    moves = scratch.moves
    return MoveBuffer(moves.word[part], moves.bits[part], moves.symmetry[part], moves.squares[part])


@inlined
def _part_of(scratch: Scratch, word: int) -> int:
    """The part to which a word belongs."""
    return int64(scratch.owners[word >> scratch.owner_bits])


@inlined
def _add_candidates(scratch: Scratch, row: int, word: int, bits: Word) -> None:
    """Add the positions ``bits`` of a word to the candidates of the current ply."""
    scratch.candidates[row, word] |= bits
    mark = word >> 6
    if scratch.marks[row, mark] == ZERO:
        scratch.mark_groups[_part_of(scratch, word), row, mark >> 6] |= BIT[mark & 63]
    scratch.marks[row, mark] |= BIT[word & 63]


@inlined
def _gather_front(scratch: Scratch, part: int, row: int, count: int) -> int:
    """Move the candidates of a part and row to the front of the part, from index ``count`` on; return the new
    count."""
    start = scratch.front_start[part]
    for group in range(scratch.mark_groups.shape[2]):
        marked = scratch.mark_groups[part, row, group]
        if marked == ZERO:
            continue
        scratch.mark_groups[part, row, group] = ZERO
        for mark_bit in bits_of(marked):
            mark = group * 64 + mark_bit
            marks = scratch.marks[row, mark]
            scratch.marks[row, mark] = ZERO
            for word_bit in bits_of(marks):
                word = mark * 64 + word_bit
                scratch.front_word[row, start + count] = word
                scratch.front_bits[row, start + count] = scratch.candidates[row, word]
                scratch.candidates[row, word] = ZERO
                count += 1
    return count


@inlined
def _front_size(scratch: Scratch) -> int:
    """Number of words on the front."""
    size = int64(0)
    for part in range(len(scratch.front_sizes)):
        size += scratch.front_sizes[part, ATTACKER_TO_MOVE] + scratch.front_sizes[part, DEFENDER_TO_MOVE]
    return size


@kernel
def mark_nonempty(wanted: Words, alive: Words, nonempty: Words) -> None:
    """Set in ``nonempty``, uint64 (2, words / 64), the bits of the words of ``wanted`` and ``alive`` that are
    not empty."""
    nonempty[:] = ZERO
    for word in range(len(alive)):
        if wanted[word]:
            nonempty[ATTACKER_TO_MOVE, word >> 6] |= BIT[word & 63]
        if alive[word]:
            nonempty[DEFENDER_TO_MOVE, word >> 6] |= BIT[word & 63]


@dataclass(frozen=True, eq=False)
class Sets(Struct):
    """The sets of one attacker at the beginning or end of a sweep."""

    wanted: Words
    """uint64 (words,), attacker to move: positions that can still be assigned in this layer."""
    quiet_counts: Codes
    """uint8 (64 * words,), defender to move: number of quiet moves to positions that are not assigned. A word
    is one cache line. The numbers are meaningless for positions that can no longer become ready."""
    ready: Words
    """uint64 (words,), defender to move: positions that can still be assigned in this layer, and that have no
    exit or an exit that the sweep has reached."""
    assigned: Words
    """uint64 (words,), defender to move: positions assigned in this sweep."""
    changed: Words
    """uint64 (2, words), White to move first: positions whose value or depth the sweep has changed. Outer
    sweeps do not record changes: a row of the array is their ``assigned``, which is needed only until the
    inner sweep begins."""


class SweepResults(NamedTuple):
    """Arrays for values and depths; the index of a position is ``starts[side] + slot``.

    Different results may share array elements (``tbgen.retro.workspace``).
    """

    value: Codes
    depth: Plies
    starts: Ints
    """int64 (2,): index of the first slot with each side to move."""


@dataclass(frozen=True, eq=False)
class Departures(Struct):
    """Positions with the attacker to move that were assigned by the last inner sweep and then by the outer
    sweep.

    The outer sweep has overwritten the results of the inner sweep, so their levels are stored here.
    """

    node: NDArray[np.uint32]
    """uint32 (parts, capacity): the nodes of the positions, one row for each part of the sweep."""
    level: NDArray[np.uint32]
    """uint32 (parts, capacity): the levels at which the inner sweep assigned these positions."""
    count: Ints
    """int64 (parts,): number of positions of each part. If a number exceeds the capacity, some positions are
    not stored."""


@dataclass(frozen=True, eq=False)
class Attacker(Struct):
    """The sets and results of the sweeps of one attacker."""

    side: int
    """0 White, 1 Black."""
    frame: Frame
    phase: Phase
    outer_sets: Sets
    """Sets of the outer sweeps, whose assignments are permanent."""
    inner_sets: Sets
    """Sets of the current inner sweep. If the game has no layers, they are empty, and so are ``departures``
    and ``logged``."""
    scratch: Scratch
    results: SweepResults
    """Results of the inner sweep. For positions with the attacker to move, they share array elements with the
    fresh values and depths, which are written when a position leaves the layers."""
    departures: Departures
    """The positions whose results the outer sweep has overwritten, with the levels of these results."""
    logged: Words
    """uint64 (2, words): positions whose value differed from A when it was last logged; undefined before the
    first layer."""
    last_key: Ints
    """int64 (1,): greatest key that the last inner sweep assigned."""


class Sweep(NamedTuple):
    """A sweep: its attacker, events, sets and results."""

    attacker: Attacker
    agenda: Agenda
    end_key: int
    """Upper bound of the keys, exclusive."""
    sets: Sets
    """The outer or the inner sets of the attacker."""
    results: SweepResults
    """Output: values and depths."""
    write_mode: int
    """``WRITE_ALONE`` or ``WRITE_SHARED``."""


class SweepState(NamedTuple):
    """The progress of a sweep."""

    level: int
    """The next level to process; ``NO_LEVEL`` at the end."""
    next_exits: int
    """Index of the next level in ``Agenda.exits``."""
    next_settled: int
    """Index of the next level in ``Agenda.settled``."""
    last_key: int
    """The last key that was assigned to a position; 0 if no key has been assigned yet."""


@inlined
def _prefetch_results(results: SweepResults, side: int, word: int) -> None:
    first_slot = results.starts[side] + int64(word) * 64
    prefetch(results.value, first_slot)
    prefetch(results.depth, first_slot)
    prefetch(results.depth, first_slot + 32)


@inlined
def _list_batch(search: MoveSearch, scratch: Scratch, row: int, index: int, stop: int) -> tuple[int, int]:
    """List a batch of the predecessors of the words ``index`` to ``stop`` - 1 of the front.

    The words are processed until the batch is full. Return the number of entries, and the index of the next
    word of the front.
    """
    entries = int64(0)
    while index < stop and entries < BATCH:
        word = int64(scratch.front_word[row, index])
        bits = scratch.front_bits[row, index]
        entries = list_all_predecessors(search, word, bits, row == ATTACKER_TO_MOVE, entries)
        index += 1
    return entries, index


@inlined
def _take_batch(outboxes: Outboxes, sender: int, row: int, part: int, buffer: MoveBuffer) -> tuple[int, int]:
    """Move a batch of the entries for ``part`` from the outboxes of the parts from ``sender`` on to the
    buffer.

    Return the number of entries, and the part with which to continue.
    """
    entries = int64(0)
    while sender < outboxes.word.shape[0] and entries <= BATCH - CHUNK:
        end = outboxes.end[sender, row, part]
        if end == 0:
            sender += 1
            continue
        chunk = (end - 1) // CHUNK
        for index in range(chunk * CHUNK, end):
            buffer.word[entries] = outboxes.word[sender, index]
            buffer.bits[entries] = outboxes.bits[sender, index]
            entries += 1
        outboxes.end[sender, row, part] = outboxes.last_end[sender, chunk]
    return entries, sender


@inlined
def _process_predecessors(sweep: Sweep, part: int, row: int, mode: int) -> bool:
    """Find candidates among the predecessors of the front of ``part``; if the mode is ``RECEIVE``, among
    those that other parts have found in words of ``part``.

    ``row`` is the row of the front. Predecessors of positions with the defender to move are candidates if
    they are wanted. For each move to a position with the attacker to move, the count of its origin is
    decremented; a ready position becomes a candidate when its count reaches 0.

    Return whether all predecessors have been found. If not, the outboxes are full.

    ``among`` is prefetched while the batch is listed. Each later step processes an entry ``LOOKAHEAD``
    entries after the previous step has prefetched what it needs.
    """
    attacker, scratch, sets = sweep.attacker, sweep.attacker.scratch, sweep.sets
    buffer, outboxes = buffer_of(scratch, part), scratch.outboxes
    mover = attacker.side if row == DEFENDER_TO_MOVE else 1 - attacker.side
    among = sets.wanted if row == DEFENDER_TO_MOVE else attacker.phase.alive[mover]
    search = MoveSearch(attacker.frame, mover, True, scratch.nonempty[1 - row], among, buffer)
    lag = 2 * LOOKAHEAD if row == ATTACKER_TO_MOVE else LOOKAHEAD
    start = scratch.front_start[part]
    index, stop = start + scratch.searched[part, row], start + scratch.front_sizes[part, row]
    sender = int64(0)
    senders = len(scratch.front_sizes)
    while sender < senders if mode == RECEIVE else index < stop:
        if mode == RECEIVE:
            entries, sender = _take_batch(outboxes, sender, 1 - row, part, buffer)
        elif mode == SEARCH_SHARED and not _has_room(outboxes, part):
            break
        else:
            entries, index = _list_batch(search, scratch, row, index, stop)
        for step in range(entries + lag if entries else 0):
            if step < entries:
                word, bits = buffer.word[step], buffer.bits[step]
                if mode != RECEIVE:
                    bits &= among[word]
                    if bits and mode == SEARCH_SHARED and _part_of(scratch, word) != part:
                        _post(outboxes, part, 1 - row, _part_of(scratch, word), word, bits)
                        bits = ZERO
                    buffer.bits[step] = bits
                if bits and row == ATTACKER_TO_MOVE:
                    prefetch(sets.quiet_counts, word * 64)
                elif bits:
                    prefetch(scratch.candidates[1 - row], word)
            if row == ATTACKER_TO_MOVE and LOOKAHEAD <= step < entries + LOOKAHEAD:
                word, bits = buffer.word[step - LOOKAHEAD], buffer.bits[step - LOOKAHEAD]
                if bits:
                    bits = count_down(sets.quiet_counts, word * 64, bits)
                    buffer.bits[step - LOOKAHEAD] = bits
                    if bits:
                        prefetch_for_reading(sets.ready, word)
                        prefetch(scratch.candidates[1 - row], word)
            if step >= lag:
                word, bits = buffer.word[step - lag], buffer.bits[step - lag]
                if bits and row == ATTACKER_TO_MOVE:
                    bits &= sets.ready[word]
                if bits:
                    _add_candidates(scratch, 1 - row, word, bits)
    scratch.searched[part, row] = index - start
    return index == stop


# These are two kernels, because a single kernel with both loops is 10 % slower.
@kernel
def _find_attackers(sweep: Sweep, part: int, mode: int) -> bool:
    """Find candidates with the attacker to move: positions with a move to the front."""
    return _process_predecessors(sweep, part, DEFENDER_TO_MOVE, mode)


@kernel
def _find_defenders(sweep: Sweep, part: int, mode: int) -> bool:
    """Find candidates with the defender to move: positions with a move to the front."""
    return _process_predecessors(sweep, part, ATTACKER_TO_MOVE, mode)


@kernel
def _enter_exits(sweep: Sweep, part: int, level_index: int) -> None:
    """Enter the exits of a level in one part.

    With the attacker to move, wanted positions with such an exit become candidates. With the defender to
    move, alive positions become ready, and candidates if their quiet counts are 0.
    """
    attacker, exits, sets = sweep.attacker, sweep.agenda.exits, sweep.sets
    frame = attacker.frame
    scratch = attacker.scratch
    alive = attacker.phase.alive[1 - attacker.side]
    nodes = buffer_of(scratch, part).word
    stop = exits.start[level_index + 1]
    node, byte = next_node(exits.gaps, exits.start[level_index], stop, int64(0))
    while node < NO_NODE:
        count = 0
        while node < NO_NODE and count < BATCH:
            side, word, _ = side_word_bit(frame, node)
            if _part_of(scratch, word) == part:
                if side == attacker.side:
                    prefetch(sets.wanted, word)
                else:
                    prefetch(sets.quiet_counts, word * 64)
                nodes[count] = node
                count += 1
            node, byte = next_node(exits.gaps, byte, stop, node)
        for index in range(count):
            side, word, bit = side_word_bit(frame, nodes[index])
            if side == attacker.side:
                if sets.wanted[word] & BIT[bit]:
                    _add_candidates(scratch, ATTACKER_TO_MOVE, word, BIT[bit])
            elif alive[word] & BIT[bit]:
                sets.ready[word] |= BIT[bit]
                if sets.quiet_counts[word * 64 + bit] == 0:
                    _add_candidates(scratch, DEFENDER_TO_MOVE, word, BIT[bit])


@kernel
def _enter_settled(sweep: Sweep, part: int, level_index: int) -> int:
    """Enter the positions of one part that were settled at a level.

    Positions with the attacker to move become candidates; positions with the defender to move join the front.
    Return the number of words that joined the front.
    """
    frame, scratch, settled = sweep.attacker.frame, sweep.attacker.scratch, sweep.agenda.settled
    front_word, front_bits = scratch.front_word[DEFENDER_TO_MOVE], scratch.front_bits[DEFENDER_TO_MOVE]
    start = stop = scratch.front_start[part]
    byte = settled.start[level_index]
    end = settled.start[level_index + 1]
    node = int64(0)
    while byte < end:
        node, byte = next_node(settled.gaps, byte, end, node)
        side, word, bit = side_word_bit(frame, node)
        if _part_of(scratch, word) != part:
            continue
        if side == sweep.attacker.side:
            _add_candidates(scratch, ATTACKER_TO_MOVE, word, BIT[bit])
        elif stop > start and front_word[stop - 1] == word:
            front_bits[stop - 1] |= BIT[bit]
        else:
            front_word[stop] = word
            front_bits[stop] = BIT[bit]
            stop += 1
    return stop - start


@inlined
def _write_separately(results: SweepResults, first_slot: int, bits: Word, code: int, ply: int) -> None:
    """Write a value and a depth to the positions ``bits`` of the word that starts at index ``first_slot``.

    Other positions are not accessed, because another thread may be writing to them.
    """
    for bit in bits_of(bits):
        results.value[first_slot + bit] = code
        results.depth[first_slot + bit] = ply


@inlined
def _note_departures(sweep: Sweep, part: int, word: int, bits: Word, level: int) -> None:
    """Store the results of the positions ``bits`` of a word in ``Attacker.departures`` before the outer sweep
    overwrites them. Positions that the last inner sweep has not assigned are omitted."""
    attacker, results = sweep.attacker, sweep.attacker.results
    departures = attacker.departures
    count = attacker.departures.count[part]
    if count > departures.node.shape[1]:
        return
    for bit in bits_of(bits & ~attacker.inner_sets.wanted[word]):
        slot = results.starts[attacker.side] + word * 64 + bit
        last_level = level_of(attacker.side, results.value[slot], results.depth[slot])
        if last_level != level and count < departures.node.shape[1]:
            departures.node[part, count] = (attacker.side * attacker.frame.words + word) * 64 + bit
            departures.level[part, count] = last_level
        count += last_level != level
    departures.count[part] = count


@inlined
def _record_front(sweep: Sweep, part: int, row: int, start: int, stop: int, level: int) -> None:
    """Assign the positions in the words ``start`` to ``stop`` - 1 of the front, all of one part: update the
    sets, and write the value and depth of ``level``."""
    scratch, sets, results = sweep.attacker.scratch, sweep.sets, sweep.results
    attacking_side = sweep.attacker.side
    key = level >> DEPTH_BITS
    side = attacking_side if row == ATTACKER_TO_MOVE else 1 - attacking_side
    code = key if attacking_side == 0 else 255 - key
    for index in range(start, stop):
        _prefetch_results(results, side, scratch.front_word[row, min(index + LOOKAHEAD, stop - 1)])
        word, bits = scratch.front_word[row, index], scratch.front_bits[row, index]
        if row == ATTACKER_TO_MOVE:
            sets.wanted[word] &= ~bits
        else:
            sets.ready[word] &= ~bits
            sets.assigned[word] |= bits
        first_slot = results.starts[side] + word * 64
        if sweep.write_mode == WRITE_SHARED:
            if row == ATTACKER_TO_MOVE:
                _note_departures(sweep, part, word, bits, level)
            _write_separately(results, first_slot, bits, code, level & DEPTH_MASK)
        else:
            sets.changed[side, word] |= put(results.value, first_slot, bits, code)
            sets.changed[side, word] |= put(results.depth, first_slot, bits, level & DEPTH_MASK)


@kernel
def find_candidates(sweep: Sweep, part: int, mode: int) -> bool:
    """Process the first half of a level for one part: find candidates among the predecessors of its front.

    Return whether all have been found. If not, every part must receive what is in the outboxes, and then call
    this function again. All parts must finish the first half before any part begins the second half.

    :param mode: ``SEARCH_SHARED``, or ``SEARCH_ALONE`` if one thread processes all parts.
    """
    sweep.attacker.scratch.outboxes.used_chunks[part] = 1
    return _find_attackers(sweep, part, mode) and _find_defenders(sweep, part, mode)


@kernel
def receive(sweep: Sweep, part: int) -> None:
    """Find candidates of a part among the entries that other parts have for it, and empty these outboxes."""
    _find_attackers(sweep, part, RECEIVE)
    _find_defenders(sweep, part, RECEIVE)


@kernel
def assign_front(sweep: Sweep, state: SweepState, part: int) -> None:
    """Process the second half of a level for one part: receive, enter its events and make its candidates its
    front."""
    scratch = sweep.attacker.scratch
    start = scratch.front_start[part]
    receive(sweep, part)
    settled_words = int64(0)
    if level_at(sweep.agenda.exits, state.next_exits) == state.level:
        _enter_exits(sweep, part, state.next_exits)
    if level_at(sweep.agenda.settled, state.next_settled) == state.level:
        settled_words = _enter_settled(sweep, part, state.next_settled)
    defender_size = _gather_front(scratch, part, DEFENDER_TO_MOVE, settled_words)
    attacker_size = _gather_front(scratch, part, ATTACKER_TO_MOVE, int64(0))
    scratch.front_sizes[part, DEFENDER_TO_MOVE], scratch.front_sizes[part, ATTACKER_TO_MOVE] = (
        defender_size,
        attacker_size,
    )
    scratch.searched[part] = 0
    scratch.has_assigned[part] = defender_size + attacker_size > settled_words
    _record_front(sweep, part, DEFENDER_TO_MOVE, start + settled_words, start + defender_size, state.level)
    _record_front(sweep, part, ATTACKER_TO_MOVE, start, start + attacker_size, state.level)


@inlined
def _state_after(sweep: Sweep, next_exits: int, next_settled: int, level: int, last_key: int) -> SweepState:
    """The state of the sweep after ``level`` has been processed. The next level is found here.

    If the front is not empty, the next level is one ply deeper; otherwise it is the level of the next event.
    """
    if _front_size(sweep.attacker.scratch) > 0:
        level += 1
    else:
        level = min(level_at(sweep.agenda.exits, next_exits), level_at(sweep.agenda.settled, next_settled))
        if level >= sweep.end_key << DEPTH_BITS:
            return SweepState(NO_LEVEL, next_exits, next_settled, last_key)
    ply = level & DEPTH_MASK
    sweep.attacker.scratch.max_depth[0] = max(sweep.attacker.scratch.max_depth[0], ply)
    return SweepState(level if ply <= MAX_DEPTH else NO_LEVEL, next_exits, next_settled, last_key)


@jit
def begin_sweep(sweep: Sweep, first_key: int) -> SweepState:
    """Begin a sweep over the keys at or above ``first_key``, and return its state."""
    attacker, scratch = sweep.attacker, sweep.attacker.scratch
    sweep.sets.assigned[:] = ZERO
    scratch.front_sizes[:] = 0
    scratch.searched[:] = 0
    next_exits = int64(np.searchsorted(sweep.agenda.exits.level, first_key << DEPTH_BITS))
    next_settled = int64(np.searchsorted(sweep.agenda.settled.level, first_key << DEPTH_BITS))
    state = _state_after(sweep, next_exits, next_settled, int64(0), int64(0))
    if state.level < NO_LEVEL:
        mark_nonempty(sweep.sets.wanted, attacker.phase.alive[1 - attacker.side], scratch.nonempty)
    return state


@jit
def next_state(sweep: Sweep, state: SweepState) -> SweepState:
    """Return the state of the sweep after all parts have finished a level."""
    level, next_exits, next_settled, last_key = state
    for part in range(len(sweep.attacker.scratch.front_sizes)):
        if sweep.attacker.scratch.has_assigned[part]:
            last_key = level >> DEPTH_BITS
    next_exits += level_at(sweep.agenda.exits, next_exits) == level
    next_settled += level_at(sweep.agenda.settled, next_settled) == level
    return _state_after(sweep, next_exits, next_settled, level, last_key)


@jit
def run_levels(sweep: Sweep, state: SweepState, min_levels: int, max_words: int) -> SweepState:
    """Process levels, one part after the other, until the sweep ends, or the front has ``max_words`` words
    after at least ``min_levels`` levels."""
    parts = len(sweep.attacker.scratch.front_sizes)
    while state.level < NO_LEVEL and (min_levels > 0 or _front_size(sweep.attacker.scratch) < max_words):
        for part in range(parts):
            find_candidates(sweep, part, SEARCH_ALONE)
        for part in range(parts):
            assign_front(sweep, state, part)
        state = next_state(sweep, state)
        min_levels -= 1
    return state


@jit
def run_sweep(sweep: Sweep, first_key: int) -> int:
    """Process all levels of a sweep over the keys at or above ``first_key``.

    Return the last key assigned to a position, or 0 if there is none.
    """
    return run_levels(sweep, begin_sweep(sweep, first_key), int64(0), NO_LIMIT).last_key
