"""Solving one phase: moves and exits are found first, then the layers are solved rank by rank.

``solve_layer`` solves one layer without the layers before it. ``copy_layer`` copies a part of a layer while
the arrays of the solver contain it.
"""

from typing import NamedTuple, TypeAlias

from tbgen.board.score import NONE
from tbgen.compiler.jit import inlined, int64, jit, kernel
from tbgen.moves.kernels.frame import decode, reach, table_word
from tbgen.moves.kernels.moves import (
    MAX_WORD_MOVES,
    MoveBuffer,
    list_scalar_successors,
    move_buffer,
    positions_of_rank_at_least,
)
from tbgen.moves.kernels.words import ZERO, Codes, Plies, Words, copy, image, in_range, put
from tbgen.moves.structs import Frame, Pool
from tbgen.retro.kernels.events import Agenda, exit_events, no_events, position_count, positions_with_exit
from tbgen.retro.kernels.functions import (
    FunctionNumbers,
    Log,
    Paths,
    empty_log,
    empty_paths,
    extend_paths,
    log_changes,
)
from tbgen.retro.kernels.layer_sweeps import (
    FIRST_LAYER,
    Workspace,
    assigned_positions,
    initialize_inner_sets,
    initialize_sets,
    inner_sweep,
    next_events,
    outer_sweep,
    retire,
    settle,
    settled_events,
)
from tbgen.retro.kernels.sweep import Attacker, SweepResults, run_sweep
from tbgen.retro.kernels.update import Layer, update, update_limits

NOTHING, RUNS, FUNCTIONS = range(3)
"""Forms in which the values of accrued scores are recorded, numbered like the members of ``AccruedForm``."""

Agendas: TypeAlias = tuple[Agenda, Agenda]
"""Agendas of White and of Black as attackers."""


class SweepRecord(NamedTuple):
    """The values recorded so far for all accrued scores, in consecutive words of a phase."""

    start: int
    """The first of these words."""
    stop: int
    """The last of these words plus 1."""
    form: int
    """``NOTHING``, ``RUNS`` or ``FUNCTIONS``."""
    logs: tuple[Log, Log]
    """The changes so far in White's and in Black's inner sweeps, if ``form`` is ``RUNS``. White's inner
    sweeps solve the layers of Black's A."""
    paths: Paths
    """The paths so far, if ``form`` is ``FUNCTIONS``."""


@kernel
def clear_empty_slots(workspace: Workspace, start: int, stop: int) -> None:
    """Clear the fresh values and depths of the slots without a position, in the words ``start`` to ``stop`` -
    1."""
    fresh, legal = workspace.fresh, workspace.phase.legal
    for side in range(2):
        for word in range(start, stop):
            slot = fresh.starts[side] + word * 64
            put(fresh.value, slot, ~legal[side, word], NONE)
            put(fresh.depth, slot, ~legal[side, word], 0)


@jit
def first_events(workspace: Workspace, attacking_side: int, end_key: int) -> Agenda:
    """Initialize the sets of an attacker and return its events with keys below ``end_key``; all are exits.

    ``attacking_side`` is 0 for White, 1 for Black.
    """
    with_exit = positions_with_exit(workspace.exits, workspace.phase.alive)
    initialize_sets(workspace.attackers[attacking_side], with_exit)
    events = exit_events(attacking_side, with_exit, workspace.exits, end_key)
    return Agenda(events, no_events(), 2 * workspace.frame.words * 64)


@jit
def later_events(workspace: Workspace, attacking_side: int, rank: int, agenda: Agenda) -> Agenda:
    """Return the events of the next layer, after the positions of ``rank`` have been settled.

    Before the first layer, the exits of all positions in the layers are added.
    """
    phase, exits = workspace.phase, workspace.exits
    if rank + 1 == FIRST_LAYER:
        events = exit_events(attacking_side, positions_with_exit(exits, phase.alive), exits, 255)
        agenda = Agenda(events, agenda.settled, position_count(phase.alive))
    return next_events(attacking_side, rank, phase, agenda, workspace.fresh)


@jit
def empty_record(start: int, stop: int, form: int, numbers: FunctionNumbers, side: int) -> SweepRecord:
    """Return an empty record of the words ``start`` to ``stop`` - 1 in the given form: ``NOTHING``, ``RUNS``
    or ``FUNCTIONS``.

    ``numbers`` will store the path numbers for the side to move ``side``. If the form is ``FUNCTIONS``, they
    are zeros for all slots of the phase; otherwise they are empty.
    """
    # The system allocates no memory for pages that are never written to.
    capacity = 64 * (stop - start) if form == RUNS else int64(1)
    logs = empty_log(capacity), empty_log(capacity)
    return SweepRecord(start, stop, form, logs, empty_paths(numbers, side))


@jit
def update_inner_sweep(attacker: Attacker, pool: Pool, fresh: SweepResults, rank: int) -> int:
    """Update the last inner sweep of an attacker to the layer of this rank; return the result of ``update``.

    If the result is negative, a new sweep is less work, and the sets are initialized for it.
    """
    departed, steps = update_limits(attacker.phase)
    update_result = update(Layer(attacker, pool, fresh, 255 - rank), rank, departed, steps)
    if update_result < 0:
        initialize_inner_sets(attacker)
    return update_result


@jit
def record_inner_sweep(attacker: Attacker, rank: int, update_result: int, record: SweepRecord) -> SweepRecord:
    """Return the record, extended by the changes of the inner sweep of this rank.

    ``update_result`` is the result of ``update_inner_sweep``.
    """
    start, stop, form, (white, black), paths = record
    if update_result and form == RUNS and attacker.side == 0:
        white = log_changes(attacker, rank, update_result > 0, white, start, stop)
    elif update_result and form == RUNS:
        black = log_changes(attacker, rank, update_result > 0, black, start, stop)
    elif update_result and form == FUNCTIONS:
        paths = extend_paths(attacker, rank, update_result > 0, paths, start, stop)
    return SweepRecord(start, stop, form, (white, black), paths)


@jit
def _run_inner_sweep(
    attacker: Attacker, pool: Pool, fresh: SweepResults, rank: int, agenda: Agenda, record: SweepRecord
) -> SweepRecord:
    """Update the inner sweep of one attacker or run a new one; return the extended record."""
    update_result = update_inner_sweep(attacker, pool, fresh, rank)
    if update_result < 0:
        attacker.last_key[0] = run_sweep(inner_sweep(attacker, 255 - rank, agenda), rank)
    return record_inner_sweep(attacker, rank, update_result, record)


@jit
def _solve_rank(
    workspace: Workspace, pool: Pool, rank: int, agendas: Agendas, record: SweepRecord
) -> tuple[bool, SweepRecord]:
    """Run the sweeps of a rank, one attacker after the other.

    Return whether any position is in the layers of the rank, and the extended record.
    """
    (white, black), fresh = workspace.attackers, workspace.fresh
    run_sweep(outer_sweep(white, rank, agendas[0], fresh), rank - 1)
    run_sweep(outer_sweep(black, rank, agendas[1], fresh), rank - 1)
    any_alive = retire(workspace, int64(0), workspace.frame.words)
    if any_alive and rank >= FIRST_LAYER and workspace.phase.score_resets:
        record = _run_inner_sweep(white, pool, fresh, rank, agendas[0], record)
        record = _run_inner_sweep(black, pool, fresh, rank, agendas[1], record)
    return any_alive, record


@jit
def settle_rank(workspace: Workspace, rank: int, agendas: Agendas) -> Agendas:
    """Settle the positions of a rank after its sweeps, and return the events of the next rank."""
    settle(workspace, rank, int64(0), workspace.frame.words)
    white_agenda = later_events(workspace, int64(0), rank, agendas[0])
    return white_agenda, later_events(workspace, int64(1), rank, agendas[1])


@jit
def solve_ranks(
    workspace: Workspace, pool: Pool, rank: int, last: int, agendas: Agendas, record: SweepRecord
) -> tuple[bool, int, Agendas, SweepRecord]:
    """Run the sweeps of the ranks ``rank`` to ``last``, up to the first rank whose layers are empty, and
    settle all these ranks except the final one.

    Return whether any position is in the layers of the final rank, this rank, its agendas and the extended
    record.
    """
    any_alive, record = _solve_rank(workspace, pool, rank, agendas, record)
    while any_alive and rank < last:
        agendas = settle_rank(workspace, rank, agendas)
        rank += 1
        any_alive, record = _solve_rank(workspace, pool, rank, agendas, record)
    return any_alive, rank, agendas, record


@kernel
def _revive(workspace: Workspace, rank: int, fresh: SweepResults, has_all_fresh: bool) -> None:
    """Set ``alive`` to the positions in the layers of a rank: their position rank is at least this rank.

    If ``has_all_fresh``, the rank of their fresh value must be at least this rank, too.
    """
    phase = workspace.phase
    for side in range(2):
        for word in range(workspace.frame.words):
            alive = phase.legal[side, word]
            if alive:
                alive &= positions_of_rank_at_least(phase.rank_bits[side, word], rank)
                if has_all_fresh:
                    alive &= in_range(fresh.value, fresh.starts[side] + word * 64, rank, 255 - rank)
            phase.alive[side, word] = alive


@kernel
def _find_departed(workspace: Workspace, buffer: MoveBuffer) -> None:
    """Set ``departed`` to the positions that are not alive, but can be reached by a move from one that is."""
    frame, phase = workspace.frame, workspace.phase
    phase.departed[:] = ZERO
    for side in range(2):
        reached = phase.departed[1 - side]
        for word in range(frame.words):
            alive = phase.alive[side, word]
            if alive == ZERO:
                continue
            for index in range(list_scalar_successors(frame, word, alive, side, buffer)):
                target = buffer.word[index]
                bits = image(buffer.bits[index], buffer.symmetry[index])
                reached[target] |= bits
            if frame.mover_colours[frame.scalars] == side:
                empty = ~decode(frame, word, buffer.squares)
                reached[word] |= reach(frame.moves, frame.kinds[frame.scalars], alive, empty)
    for side in range(2):
        for word in range(frame.words):
            phase.departed[side, word] &= phase.legal[side, word] & ~phase.alive[side, word]


@jit
def _layer_agenda(workspace: Workspace, attacking_side: int, end_key: int, fresh: SweepResults) -> Agenda:
    """Initialize the sets of an attacker and return its events with keys below ``end_key``.

    These are the exits of the live positions, and the settled positions.
    """
    exits = first_events(workspace, attacking_side, end_key).exits
    return Agenda(exits, settled_events(attacking_side, workspace.phase.departed, fresh, end_key), int64(0))


@jit
def _sweep_layer(attacker: Attacker, end_key: int, agenda: Agenda) -> None:
    """Assign the values with keys below ``end_key`` that the attacker can force to the live positions."""
    initialize_inner_sets(attacker)
    run_sweep(inner_sweep(attacker, end_key, agenda), int64(0))


@kernel
def _copy_assigned(
    attacker: Attacker, start: int, stop: int, first_slot: int, value: Codes, depth: Plies
) -> None:
    """Copy the results of an inner sweep at the assigned canonical slots to ``value`` and ``depth``.

    Only the words ``start`` to ``stop`` - 1 are copied. Both arrays have shape (2, slots), and begin with the
    slot ``first_slot`` of the phase.
    """
    phase, results = attacker.phase, attacker.results
    for side in range(2):
        for word in range(start, stop):
            bits = phase.alive[side, word] & phase.canonical[word] & assigned_positions(attacker, side, word)
            slot = table_word(attacker.frame, word) * 64 - first_slot
            result = results.starts[side] + word * 64
            copy(value[side], slot, results.value, result, bits)
            copy(depth[side], slot, results.depth, result, bits)


@kernel
def _set_to_accrued(
    attacker: Attacker, start: int, stop: int, code: int, first_slot: int, value: Codes, depth: Plies
) -> None:
    """Set the values of the live positions to the accrued score with this code, and their depths to 0.

    The other arguments are as for ``_copy_assigned``.
    """
    for side in range(2):
        for word in range(start, stop):
            bits = attacker.phase.alive[side, word] & attacker.phase.canonical[word]
            slot = table_word(attacker.frame, word) * 64 - first_slot
            put(value[side], slot, bits, code)
            put(depth[side], slot, bits, 0)


@jit
def solve_layer(
    workspace: Workspace,
    holder: int,
    rank: int,
    has_all_fresh: bool,
    fresh: SweepResults,
    value: Codes,
    depth: Plies,
) -> None:
    """Solve the layer of the accrued score of this rank that ``holder`` (0 White, 1 Black) holds.

    ``fresh`` contains all fresh values if ``has_all_fresh``, else only those of positions with a smaller
    position rank. Codes and plies are written to ``value`` and ``depth``, shape (2, phase size), at the
    canonical slots of the positions in the layer. Exits that share arrays with the results are overwritten.
    """
    _revive(workspace, rank, fresh, has_all_fresh)
    _find_departed(workspace, move_buffer(MAX_WORD_MOVES))
    code = rank if holder == 0 else 255 - rank
    start, stop = int64(0), workspace.frame.words
    _set_to_accrued(workspace.attackers[0], start, stop, code, start, value, depth)
    opponent = workspace.attackers[1 - holder]
    holder_attacker = workspace.attackers[holder]
    agenda = _layer_agenda(workspace, 1 - holder, 255 - rank, fresh)
    # If fresh values are missing, the holder may be able to force a score better than A.
    holder_agenda = agenda if has_all_fresh else _layer_agenda(workspace, int64(holder), int64(rank), fresh)
    _sweep_layer(opponent, 255 - rank, agenda)
    _copy_assigned(opponent, start, stop, start, value, depth)
    if not has_all_fresh:
        _sweep_layer(holder_attacker, int64(rank), holder_agenda)
        _copy_assigned(holder_attacker, start, stop, start, value, depth)


class LayerPart(NamedTuple):
    """Some consecutive slots of a phase in one layer.

    ``value`` and ``depth`` are those of the positions in ``present``. Other elements are meaningless.
    """

    value: Codes
    """uint8 (2, slots): codes of V(P, A)."""
    depth: Plies
    """uint16 (2, slots): depths D(P, A) in plies."""
    present: Words
    """uint64 (2, slots / 64): canonical positions in the layer. Their position score and fresh value
    both have at least the rank of A."""


@inlined
def _words_before(frame: Frame, word_limit: int) -> int:
    """The number of words whose number in the frame of the table is less than ``word_limit``."""
    low = int64(0)
    high = frame.words
    while low < high:
        middle = (low + high) >> 1
        if table_word(frame, middle) < word_limit:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def copy_layer(attacker: Attacker, rank: int, first_slot: int, part: LayerPart) -> None:
    """Copy a part of the layer that the inner sweep of an attacker has solved.

    In this layer, the opponent holds the accrued score of the given rank. The part begins at the slot
    ``first_slot`` of the phase.
    """
    frame = attacker.frame
    phase = attacker.phase
    first_word = first_slot >> 6
    start = _words_before(frame, first_word)
    stop = _words_before(frame, first_word + part.present.shape[1])
    part.present[:] = ZERO
    for side in range(2):
        for word in range(start, stop):
            present = phase.alive[side, word] & phase.canonical[word]
            part.present[side, table_word(frame, word) - first_word] = present
    code = 255 - rank if attacker.side == 0 else rank
    _set_to_accrued(attacker, start, stop, code, first_slot, part.value, part.depth)
    _copy_assigned(attacker, start, stop, first_slot, part.value, part.depth)
