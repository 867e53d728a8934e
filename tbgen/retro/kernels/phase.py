"""Solving one phase: mobility and exits, then rank by rank."""

from typing import NamedTuple

from tbgen.compiler.jit import int64, jit
from tbgen.retro.kernels.bits import ZERO
from tbgen.retro.kernels.canonical import canonical_words
from tbgen.retro.kernels.events import Agenda, exit_events, no_events, with_exit
from tbgen.retro.kernels.frame import is_image
from tbgen.retro.kernels.functions import Names, Paths, follow_changes, no_paths
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
from tbgen.retro.kernels.resets import rank_and_exits
from tbgen.retro.kernels.runs import Log, empty_log, log_changes
from tbgen.retro.kernels.sweep import SweepResults, run_sweep
from tbgen.retro.kernels.targets import Pool
from tbgen.retro.kernels.update import Layer, limits, update

NOTHING, RUNS, FUNCTIONS = range(3)
"""What to keep of accrued scores."""


class SweepRecord(NamedTuple):
    """What is kept of the layers of one holder of A."""

    log: Log
    """For runs."""
    paths: Paths
    """For functions."""


@jit
def count_moves(workspace: Workspace, pool: Pool, mirrored: bool, start: int, stop: int) -> None:
    """Ranks and exits of the words ``start`` to ``stop`` - 1, after ``legal_words`` has seen all words, and
    which of their slots are canonical."""
    frame, phase = workspace.frame, workspace.phase
    rank_and_exits(frame, pool, workspace.exits, phase, start, stop)
    canonical_words(frame, workspace.like, mirrored, phase.canonical, start, stop)
    for side in range(2):
        for word in range(start, stop):
            phase.alive[side, word] = ZERO if is_image(frame, word) else phase.legal[side, word]


@jit
def first_events(workspace: Workspace, attacking: int, high: int) -> Agenda:
    """Set up the attacker ``attacking`` (0 White, 1 Black) and return its events with keys below ``high``:
    exits."""
    leaving = with_exit(workspace.exits, workspace.phase.alive)
    begin(workspace.attackers[attacking], workspace.phase, leaving)
    events = exit_events(attacking, leaving, workspace.exits, high)
    return Agenda(events, no_events(), 2 * workspace.frame.words * 64)


@jit
def empty_record(keep: int, phase_size: int, of_slot: Names, side: int) -> SweepRecord:
    """Return a record without entries; ``of_slot``, zeros uint32 (phase size,), is to hold paths of one side
    to move, if any."""
    # Memory that is never written to is never taken from the system.
    return SweepRecord(empty_log(phase_size if keep == RUNS else int64(1)), no_paths(of_slot, side))


@jit
def update_inner(workspace: Workspace, pool: Pool, fresh: SweepResults, attacking: int, rank: int) -> int:
    """Carry one attacker's last inner sweep on to the layer of this rank, as ``update`` does; if that is more
    work than a new sweep, make its sets ready for one."""
    attacker, phase = workspace.attackers[attacking], workspace.phase
    room, steps = limits(phase)
    layer = Layer(workspace.frame, attacker, phase, pool, fresh, 255 - rank)
    updated = update(layer, rank, room, steps)
    if updated < 0:
        begin_inner(attacker, phase)
    return updated


@jit
def record_inner(
    workspace: Workspace, attacking: int, rank: int, updated: int, record: SweepRecord, keep: int
) -> SweepRecord:
    """Return the record with what the inner sweep of this rank has changed; ``updated`` is what
    ``update_inner`` has returned."""
    attacker, phase, carried = workspace.attackers[attacking], workspace.phase, updated > 0
    if updated and keep == RUNS:
        return SweepRecord(log_changes(attacker, rank, phase, carried, record.log), record.paths)
    if updated and keep == FUNCTIONS:
        return SweepRecord(record.log, follow_changes(attacker, rank, phase, carried, record.paths))
    return record


@jit
def _run_inner(
    workspace: Workspace,
    pool: Pool,
    fresh: SweepResults,
    attacking: int,
    rank: int,
    agenda: Agenda,
    record: SweepRecord,
    keep: int,
) -> SweepRecord:
    """The inner sweep of one attacker, if it can bring anything new; returns the record of it."""
    updated = update_inner(workspace, pool, fresh, attacking, rank)
    if updated < 0:
        sweep = inner_sweep(workspace, attacking, 255 - rank, agenda)
        workspace.attackers[attacking].last_key[0] = run_sweep(sweep, rank)
    return record_inner(workspace, attacking, rank, updated, record, keep)


@jit
def solve_rank(
    workspace: Workspace,
    pool: Pool,
    fresh: SweepResults,
    rank: int,
    events: tuple[Agenda, Agenda],
    records: tuple[SweepRecord, SweepRecord],
    keep: int,
) -> tuple[bool, tuple[SweepRecord, SweepRecord]]:
    """Take the sweeps of a rank, both attackers in turn; return whether any position is in its layers, and
    the records with what they have changed.

    ``events`` and ``records`` are those of White and of Black.
    """
    of_white, of_black = records
    for attacking in range(2):
        run_sweep(outer_sweep(workspace, attacking, rank, events[attacking], fresh), rank - 1)
    left = retire(workspace, int64(0), workspace.frame.words)
    if left and rank >= FIRST_LAYER and workspace.phase.score_resets:
        of_white = _run_inner(workspace, pool, fresh, int64(0), rank, events[0], of_white, keep)
        of_black = _run_inner(workspace, pool, fresh, int64(1), rank, events[1], of_black, keep)
    return left, (of_white, of_black)


@jit
def leave_rank(
    workspace: Workspace, fresh: SweepResults, rank: int, events: tuple[Agenda, Agenda]
) -> tuple[Agenda, Agenda]:
    """Settle the positions of a rank whose sweeps have been taken; return the events of the next rank."""
    settle(workspace, fresh, rank, int64(0), workspace.frame.words)
    phase = workspace.phase
    of_white = next_events(int64(0), rank, phase, events[0], fresh)
    return of_white, next_events(int64(1), rank, phase, events[1], fresh)
