"""Solving one phase: moves and exits, then rank by rank; also single layers, solved alone or copied.

``solve_layer`` solves one layer without the layers before it. ``copy_layer`` copies a layer while the solver
has it in its arrays.
"""

from typing import NamedTuple, TypeAlias

import numpy as np

from tbgen.compiler.jit import inlined, int64, jit, kernel
from tbgen.index.layout import TRANSPOSE
from tbgen.retro.kernels.best_exits import ExitSearch, leaving_moves, reset_exits
from tbgen.retro.kernels.canonical import canonical_words
from tbgen.retro.kernels.events import Agenda, count_of, exit_events, no_events, with_exit
from tbgen.retro.kernels.frame import Phase, decode, enter_word, is_image, place_of, reach
from tbgen.retro.kernels.functions import (
    Log,
    Paths,
    SlotNumbers,
    empty_log,
    follow_changes,
    log_changes,
    no_paths,
)
from tbgen.retro.kernels.layer_sweeps import (
    FIRST_LAYER,
    Workspace,
    assigned,
    begin,
    begin_inner,
    inner_sweep,
    next_events,
    outer_sweep,
    retire,
    settle,
    settled_events,
)
from tbgen.retro.kernels.moves import (
    MAX_WORD_MOVES,
    ONE_MOVE,
    SLICES,
    MoveBuffer,
    count_quiet,
    image_word,
    move_buffer,
    of_rank_at_least,
    scalar_moves,
)
from tbgen.retro.kernels.sweep import Attacker, SweepResults, run_sweep
from tbgen.retro.kernels.targets import Men, Pool, men_buffer
from tbgen.retro.kernels.update import Layer, limits, update
from tbgen.retro.kernels.words import ALL, ZERO, Codes, Plies, Word, Words, add, image, move, put, within

NOTHING, RUNS, FUNCTIONS = range(3)
"""Forms in which the values of accrued scores are recorded: the members of ``AccruedForm`` in order."""


class SweepRecord(NamedTuple):
    """The recorded values of the layers of one holder of A."""

    keep: int
    """``NOTHING``, ``RUNS`` or ``FUNCTIONS``."""
    log: Log
    """Used for runs."""
    paths: Paths
    """Used for functions."""


Records: TypeAlias = tuple[SweepRecord, SweepRecord]
"""Records of White's and of Black's inner sweeps, which are of Black's and of White's A."""
Agendas: TypeAlias = tuple[Agenda, Agenda]
"""Agendas of White and of Black as attackers."""


@inlined
def _find_exits(
    workspace: Workspace, pool: Pool, men: Men, first: int, mask: Word, slices: Words, captures: bool
) -> None:
    """Store the exits of the positions ``mask`` of a word; add their zeroing moves to the counter ``slices``.

    ``first`` is the first node of the word; ``captures`` says whether only captures count; ``men`` is scratch
    memory.
    """
    frame, exits = workspace.frame, workspace.exits
    reset_exits(exits, first)
    if mask:
        side, word, _ = place_of(frame, first)
        occupied = enter_word(frame, word, men)
        leaving_moves(ExitSearch(frame, pool, exits, side, first, mask, occupied, men, slices, captures))


@kernel
def _count_words(
    workspace: Workspace, pool: Pool, buffer: MoveBuffer, men: Men, start: int, stop: int
) -> None:
    """Implement ``count_moves`` except for the canonical slots; ``buffer`` and ``men`` are scratch memory."""
    frame, phase = workspace.frame, workspace.phase
    for word in range(start, stop):
        for side in range(2):
            legal, other, slices = phase.legal[side, word], phase.legal[1 - side], phase.slices[side, word]
            slices[:] = ZERO
            if legal:
                slices[0] = legal & other[word]
                count_quiet(frame, word, side, legal, other, buffer, slices)
                put(phase.quiet[side], word * 64, ALL, 0)
                for number in range(ONE_MOVE, SLICES):
                    add(phase.quiet[side], word * 64, slices[number], 1 << (number - ONE_MOVE))
            _find_exits(workspace, pool, men, (side * frame.words + word) * 64, legal, slices, False)
            phase.alive[side, word] = ZERO if is_image(frame, word) else legal


@jit
def count_moves(workspace: Workspace, pool: Pool, mirrored: bool, start: int, stop: int) -> None:
    """Find ranks, numbers of quiet moves, exits and canonical slots of the words ``start`` to ``stop`` - 1.

    ``legal_words`` must have processed all words before.
    """
    _count_words(workspace, pool, move_buffer(MAX_WORD_MOVES), men_buffer(), start, stop)
    canonical_words(workspace.frame, workspace.like, mirrored, workspace.phase.canonical, start, stop)


@jit
def side_exits(
    workspace: Workspace, pool: Pool, side: int, captures: bool, among: Words, start: int, stop: int
) -> None:
    """Replace the exits with ``side`` to move in the words ``start`` to ``stop`` - 1 by the best zeroing
    moves, or the best captures, of the positions ``among``, uint64 (words,)."""
    slices, men = np.empty(SLICES, np.uint64), men_buffer()
    words, legal = workspace.frame.words, workspace.phase.legal[side]
    for word in range(start, stop):
        slices[:] = ZERO
        mask = legal[word] & among[word]
        _find_exits(workspace, pool, men, (side * words + word) * 64, mask, slices, captures)


@jit
def first_events(workspace: Workspace, attacking: int, high: int) -> Agenda:
    """Initialize the sets of the attacker ``attacking`` (0 White, 1 Black) and return its events with keys
    below ``high``, which are all exits."""
    leaving = with_exit(workspace.exits, workspace.phase.alive)
    begin(workspace.attackers[attacking], leaving)
    events = exit_events(attacking, leaving, workspace.exits, high)
    return Agenda(events, no_events(), 2 * workspace.frame.words * 64)


@jit
def later_events(
    workspace: Workspace, attacking: int, rank: int, agenda: Agenda, fresh: SweepResults
) -> Agenda:
    """Return the events of the next layer after the positions of ``rank`` have been settled.

    They are those of ``next_events``, before the first layer with the exits of all positions in the layers.
    """
    phase, exits = workspace.phase, workspace.exits
    if rank + 1 == FIRST_LAYER:
        events = exit_events(attacking, with_exit(exits, phase.alive), exits, 255)
        agenda = Agenda(events, agenda.settled, count_of(phase.alive))
    return next_events(attacking, rank, phase, agenda, fresh)


@jit
def renew_inner(attacker: Attacker) -> None:
    """Initialize the sets of an attacker for a new inner sweep."""
    begin_inner(attacker)


@jit
def empty_record(keep: int, phase_size: int, of_slot: SlotNumbers, side: int) -> SweepRecord:
    """Return an empty record; ``of_slot``, zeros for the slots of the phase, will store path numbers of one
    side to move, or is empty."""
    # The system allocates no memory for pages that are never written to.
    return SweepRecord(keep, empty_log(phase_size if keep == RUNS else int64(1)), no_paths(of_slot, side))


@jit
def update_inner(attacker: Attacker, pool: Pool, fresh: SweepResults, rank: int) -> int:
    """Update the last inner sweep of an attacker to the layer of this rank, as ``update`` does; if a new
    sweep is less work, initialize the sets for one and return a negative number."""
    departed, steps = limits(attacker.phase)
    updated = update(Layer(attacker, pool, fresh, 255 - rank), rank, departed, steps)
    if updated < 0:
        begin_inner(attacker)
    return updated


@jit
def record_inner(attacker: Attacker, rank: int, updated: int, record: SweepRecord) -> SweepRecord:
    """Return the record extended by the changes of the inner sweep of this rank; ``updated`` is the result of
    ``update_inner``."""
    keep, log, paths = record
    if updated and keep == RUNS:
        log = log_changes(attacker, rank, updated > 0, log)
    elif updated and keep == FUNCTIONS:
        paths = follow_changes(attacker, rank, updated > 0, paths)
    return SweepRecord(keep, log, paths)


@jit
def _run_inner(
    attacker: Attacker, pool: Pool, fresh: SweepResults, rank: int, agenda: Agenda, record: SweepRecord
) -> SweepRecord:
    """Update the inner sweep of one attacker or run a new one; return the extended record."""
    updated = update_inner(attacker, pool, fresh, rank)
    if updated < 0:
        attacker.last_key[0] = run_sweep(inner_sweep(attacker, 255 - rank, agenda), rank)
    return record_inner(attacker, rank, updated, record)


@jit
def solve_rank(
    workspace: Workspace, pool: Pool, fresh: SweepResults, rank: int, events: Agendas, records: Records
) -> tuple[bool, Records]:
    """Run the sweeps of a rank, one attacker after the other; return whether any position is in its layers,
    and the extended records."""
    (white, black), (of_white, of_black) = workspace.attackers, records
    run_sweep(outer_sweep(white, rank, events[0], fresh), rank - 1)
    run_sweep(outer_sweep(black, rank, events[1], fresh), rank - 1)
    any_alive = retire(workspace, int64(0), workspace.frame.words)
    if any_alive and rank >= FIRST_LAYER and workspace.phase.score_resets:
        of_white = _run_inner(white, pool, fresh, rank, events[0], of_white)
        of_black = _run_inner(black, pool, fresh, rank, events[1], of_black)
    return any_alive, (of_white, of_black)


@jit
def leave_rank(workspace: Workspace, fresh: SweepResults, rank: int, events: Agendas) -> Agendas:
    """Settle the positions of a rank after its sweeps; return the events of the next rank."""
    settle(workspace, fresh, rank, int64(0), workspace.frame.words)
    of_white = later_events(workspace, int64(0), rank, events[0], fresh)
    return of_white, later_events(workspace, int64(1), rank, events[1], fresh)


@kernel
def _revive(workspace: Workspace, rank: int, fresh: SweepResults, decided: bool) -> None:
    """Set the positions alive in the layers of a rank: those whose position rank, and if ``decided`` also the
    rank of their fresh value, is at least this rank."""
    phase = workspace.phase
    for side in range(2):
        for word in range(workspace.frame.words):
            alive = ZERO if is_image(workspace.frame, word) else phase.legal[side, word]
            if alive:
                alive &= of_rank_at_least(phase.slices[side, word], rank)
                if decided:
                    alive &= within(fresh.value, fresh.starts[side] + word * 64, rank, 255 - rank)
            phase.alive[side, word] = alive


@kernel
def _find_settled(workspace: Workspace, buffer: MoveBuffer) -> None:
    """Set the settled positions: those not alive to which positions alive can move; only these matter in the
    layer."""
    frame, phase = workspace.frame, workspace.phase
    phase.settled[:] = ZERO
    for side in range(2):
        reached = phase.settled[1 - side]
        for word in range(frame.words):
            alive = phase.alive[side, word]
            if alive == ZERO:
                continue
            for number in range(scalar_moves(frame, word, alive, side, buffer)):
                target, bits = buffer.word[number], image(buffer.bits[number], buffer.symmetry[number])
                if is_image(frame, target):
                    decode(frame, target, buffer.squares)
                    target, bits = image_word(frame, target, buffer.squares), image(bits, TRANSPOSE)
                reached[target] |= bits
            if frame.movers[frame.scalars] == side:
                empty = ~decode(frame, word, buffer.squares)
                reached[word] |= reach(frame.moves, frame.kinds[frame.scalars], alive, empty)
    for side in range(2):
        for word in range(frame.words):
            phase.settled[side, word] &= phase.legal[side, word] & ~phase.alive[side, word]


@jit
def _layer_agenda(workspace: Workspace, attacking: int, high: int, fresh: SweepResults) -> Agenda:
    """Initialize the sets of an attacker and return its events with keys below ``high``: exits of the
    positions alive, and the settled positions."""
    exits = first_events(workspace, attacking, high).exits
    return Agenda(exits, settled_events(attacking, workspace.phase.settled, fresh, high), int64(0))


@jit
def _sweep_layer(attacker: Attacker, high: int, agenda: Agenda) -> None:
    """Assign the values with keys below ``high`` that an attacker can force, among the positions alive."""
    begin_inner(attacker)
    run_sweep(inner_sweep(attacker, high, agenda), int64(0))


@kernel
def _copy_assigned(attacker: Attacker, at: int, value: Codes, depth: Plies) -> None:
    """Copy the results of an inner sweep at the assigned canonical slots to ``value`` and ``depth``.

    These have shape (2, slots); ``at`` is the index of the first slot of the phase in them.
    """
    phase, results, words = attacker.phase, attacker.results, attacker.frame.words
    for side in range(2):
        for word in range(words):
            bits = phase.alive[side, word] & phase.canonical[word] & assigned(attacker, side, word)
            node = (side * words + word) * 64
            move(value[side], at + word * 64, results.value, node, bits)
            move(depth[side], at + word * 64, results.depth, node, bits)


@kernel
def _fill_with_accrued(phase: Phase, code: int, at: int, value: Codes, depth: Plies) -> None:
    """Set the values of the positions alive to the accrued score; arguments as for ``_copy_assigned``."""
    for side in range(2):
        for word in range(len(phase.canonical)):
            bits = phase.alive[side, word] & phase.canonical[word]
            put(value[side], at + word * 64, bits, code)
            put(depth[side], at + word * 64, bits, 0)


@jit
def solve_layer(
    workspace: Workspace,
    holder: int,
    rank: int,
    decided: bool,
    fresh: SweepResults,
    value: Codes,
    depth: Plies,
) -> None:
    """Solve the layer of the accrued score of this rank that ``holder`` (0 White, 1 Black) holds.

    ``fresh`` contains all fresh values if ``decided``, else only those of positions with a smaller position
    rank. ``value`` and ``depth``, shape (2, phase size), receive codes and plies at the canonical slots of
    the positions in the layer. The exits are overwritten if they share arrays with the results.
    """
    _revive(workspace, rank, fresh, decided)
    _find_settled(workspace, move_buffer(MAX_WORD_MOVES))
    _fill_with_accrued(workspace.phase, rank if holder == 0 else 255 - rank, int64(0), value, depth)
    opponent, holding = workspace.attackers[1 - holder], workspace.attackers[holder]
    agenda = _layer_agenda(workspace, 1 - holder, 255 - rank, fresh)
    # Without all fresh values, the holder may be able to force a score that is better than A.
    better = agenda if decided else _layer_agenda(workspace, int64(holder), int64(rank), fresh)
    _sweep_layer(opponent, 255 - rank, agenda)
    _copy_assigned(opponent, int64(0), value, depth)
    if not decided:
        _sweep_layer(holding, int64(rank), better)
        _copy_assigned(holding, int64(0), value, depth)


class WindowLayer(NamedTuple):
    """A layer of a window of phases; see ``tbgen.retro.layer_solvers.Layer``."""

    value: Codes
    """uint8 (2, slots): codes of V(P, A)."""
    depth: Plies
    """uint16 (2, slots): depths D(P, A)."""
    there: Words
    """uint64 (2, slots / 64): canonical positions in the layer."""


@kernel
def copy_layer(attacker: Attacker, rank: int, at: int, layer: WindowLayer) -> None:
    """Copy the layer of the opponent's accrued score of this rank, which the inner sweep of an attacker has
    solved, to ``layer``; the phase begins at slot ``at`` of the window."""
    phase, first = attacker.phase, at >> 6
    for side in range(2):
        for word in range(attacker.frame.words):
            layer.there[side, first + word] = phase.alive[side, word] & phase.canonical[word]
    _fill_with_accrued(phase, 255 - rank if attacker.side == 0 else rank, at, layer.value, layer.depth)
    _copy_assigned(attacker, at, layer.value, layer.depth)
