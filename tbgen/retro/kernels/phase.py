"""Solving one phase: mobility and exits, then rank by rank."""

from typing import NamedTuple, TypeAlias

import numpy as np

from tbgen.compiler.jit import inlined, int64, jit, kernel
from tbgen.retro.kernels.bits import ALL, ZERO, Word, Words
from tbgen.retro.kernels.canonical import canonical_words
from tbgen.retro.kernels.events import Agenda, count_of, exit_events, no_events, with_exit
from tbgen.retro.kernels.exits import Turn, forget_exits
from tbgen.retro.kernels.frame import enter_word, is_image, place_of
from tbgen.retro.kernels.functions import Names, Paths, follow_changes, no_paths
from tbgen.retro.kernels.lanes import add, put
from tbgen.retro.kernels.layers import (
    FIRST_LAYER,
    Workspace,
    begin,
    begin_inner,
    inner_sweep,
    next_events,
    outer_sweep,
    retire,
    settle,
)
from tbgen.retro.kernels.mobility import ONE_MOVE, SLICES, count_quiet
from tbgen.retro.kernels.moves import MOST_MOVES, MovesFound, room_for_moves
from tbgen.retro.kernels.resets import leaving_moves
from tbgen.retro.kernels.runs import Log, empty_log, log_changes
from tbgen.retro.kernels.sweep import Attacker, SweepResults, run_sweep
from tbgen.retro.kernels.targets import Men, Pool, room_for_men
from tbgen.retro.kernels.update import Layer, limits, update

NOTHING, RUNS, FUNCTIONS = range(3)
"""What to keep of accrued scores: the members of ``AccruedForm`` in their order."""


class SweepRecord(NamedTuple):
    """What is kept of the layers of one holder of A."""

    keep: int
    """``NOTHING``, ``RUNS`` or ``FUNCTIONS``."""
    log: Log
    """For runs."""
    paths: Paths
    """For functions."""


Records: TypeAlias = tuple[SweepRecord, SweepRecord]
"""Those of White's and of Black's inner sweeps: of Black's and of White's A."""
Agendas: TypeAlias = tuple[Agenda, Agenda]
"""White's and Black's."""


@inlined
def _find_exits(
    workspace: Workspace, pool: Pool, men: Men, first: int, mask: Word, slices: Words, captures: bool
) -> None:
    """Keep the best zeroing moves, or only ``captures``, of the positions ``mask`` of the word with the node
    ``first`` in the exits, and add them to the counter ``slices``; ``men`` is room."""
    frame, exits = workspace.frame, workspace.exits
    forget_exits(exits, first)
    if mask:
        side, word, _ = place_of(frame, first)
        occupied = enter_word(frame, word, men)
        leaving_moves(Turn(frame, pool, exits, side, first, mask, occupied, men, slices, captures))


@kernel
def _count_words(
    workspace: Workspace, pool: Pool, found: MovesFound, men: Men, start: int, stop: int
) -> None:
    """Ranks, numbers of quiet moves, and exits for ``count_moves``; ``found`` and ``men`` are room."""
    frame, phase = workspace.frame, workspace.phase
    for word in range(start, stop):
        for side in range(2):
            own, other, slices = phase.legal[side, word], phase.legal[1 - side], phase.slices[side, word]
            slices[:] = ZERO
            if own:
                slices[0] = own & other[word]
                count_quiet(frame, word, side, own, other, found, slices)
                put(phase.quiet[side], word * 64, ALL, 0)
                for number in range(ONE_MOVE, SLICES):
                    add(phase.quiet[side], word * 64, slices[number], 1 << (number - ONE_MOVE))
            _find_exits(workspace, pool, men, (side * frame.words + word) * 64, own, slices, False)
            phase.alive[side, word] = ZERO if is_image(frame, word) else own


@jit
def count_moves(workspace: Workspace, pool: Pool, mirrored: bool, start: int, stop: int) -> None:
    """Ranks and exits of the words ``start`` to ``stop`` - 1, after ``legal_words`` has seen all words, and
    which of their slots are canonical."""
    _count_words(workspace, pool, room_for_moves(MOST_MOVES), room_for_men(), start, stop)
    canonical_words(workspace.frame, workspace.like, mirrored, workspace.phase.canonical, start, stop)


@jit
def side_exits(
    workspace: Workspace, pool: Pool, side: int, captures: bool, among: Words, start: int, stop: int
) -> None:
    """Keep the best zeroing moves, or the best ``captures``, of the positions of ``among`` uint64 (words,)
    with ``side`` to move in the exits, whatever was there; words ``start`` to ``stop`` - 1."""
    slices, men = np.empty(SLICES, np.uint64), room_for_men()
    words, legal = workspace.frame.words, workspace.phase.legal[side]
    for word in range(start, stop):
        slices[:] = ZERO
        mask = legal[word] & among[word]
        _find_exits(workspace, pool, men, (side * words + word) * 64, mask, slices, captures)


@jit
def first_events(workspace: Workspace, attacking: int, high: int) -> Agenda:
    """Set up the attacker ``attacking`` (0 White, 1 Black) and return its events with keys below ``high``:
    exits."""
    leaving = with_exit(workspace.exits, workspace.phase.alive)
    begin(workspace.attackers[attacking], leaving)
    events = exit_events(attacking, leaving, workspace.exits, high)
    return Agenda(events, no_events(), 2 * workspace.frame.words * 64)


@jit
def later_events(
    workspace: Workspace, attacking: int, rank: int, agenda: Agenda, fresh: SweepResults
) -> Agenda:
    """Return the events of the next layer, after this rank has been settled: as ``next_events`` does, and
    before the first one those of all exits of positions in the layers."""
    phase, exits = workspace.phase, workspace.exits
    if rank + 1 == FIRST_LAYER:
        events = exit_events(attacking, with_exit(exits, phase.alive), exits, 255)
        agenda = Agenda(events, agenda.settled, count_of(phase.alive))
    return next_events(attacking, rank, phase, agenda, fresh)


@jit
def renew_inner(attacker: Attacker) -> None:
    """Make an attacker's sets ready for a new inner sweep."""
    begin_inner(attacker)


@jit
def empty_record(keep: int, phase_size: int, of_slot: Names, side: int) -> SweepRecord:
    """Return a record without entries; ``of_slot``, zeros uint32 (phase size,), is to hold paths of one side
    to move, if any."""
    # Memory that is never written to is never taken from the system.
    return SweepRecord(keep, empty_log(phase_size if keep == RUNS else int64(1)), no_paths(of_slot, side))


@jit
def update_inner(attacker: Attacker, pool: Pool, fresh: SweepResults, rank: int) -> int:
    """Carry an attacker's last inner sweep on to the layer of this rank, as ``update`` does; if that is more
    work than a new sweep, make its sets ready for one."""
    most, steps = limits(attacker.phase)
    updated = update(Layer(attacker, pool, fresh, 255 - rank), rank, most, steps)
    if updated < 0:
        begin_inner(attacker)
    return updated


@jit
def record_inner(attacker: Attacker, rank: int, updated: int, record: SweepRecord) -> SweepRecord:
    """Return the record with what the inner sweep of this rank has changed; ``updated`` is what
    ``update_inner`` has returned."""
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
    """The inner sweep of one attacker, if it can bring anything new; returns the record of it."""
    updated = update_inner(attacker, pool, fresh, rank)
    if updated < 0:
        attacker.last_key[0] = run_sweep(inner_sweep(attacker, 255 - rank, agenda), rank)
    return record_inner(attacker, rank, updated, record)


@jit
def solve_rank(
    workspace: Workspace, pool: Pool, fresh: SweepResults, rank: int, events: Agendas, records: Records
) -> tuple[bool, Records]:
    """Take the sweeps of a rank, both attackers in turn; return whether any position is in its layers, and
    the records with what they have changed."""
    (white, black), (of_white, of_black) = workspace.attackers, records
    run_sweep(outer_sweep(white, rank, events[0], fresh), rank - 1)
    run_sweep(outer_sweep(black, rank, events[1], fresh), rank - 1)
    left = retire(workspace, int64(0), workspace.frame.words)
    if left and rank >= FIRST_LAYER and workspace.phase.score_resets:
        of_white = _run_inner(white, pool, fresh, rank, events[0], of_white)
        of_black = _run_inner(black, pool, fresh, rank, events[1], of_black)
    return left, (of_white, of_black)


@jit
def leave_rank(workspace: Workspace, fresh: SweepResults, rank: int, events: Agendas) -> Agendas:
    """Settle the positions of a rank whose sweeps have been taken; return the events of the next rank."""
    settle(workspace, fresh, rank, int64(0), workspace.frame.words)
    of_white = later_events(workspace, int64(0), rank, events[0], fresh)
    return of_white, later_events(workspace, int64(1), rank, events[1], fresh)
