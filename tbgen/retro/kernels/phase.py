"""Solving one phase: mobility and exits, then rank by rank."""

from dataclasses import dataclass
from typing import NamedTuple

from tbgen.compiler.jit import int64, jit
from tbgen.compiler.structs import Struct
from tbgen.retro.kernels.bits import ZERO, Ints
from tbgen.retro.kernels.canonical import canonical_words
from tbgen.retro.kernels.events import Agenda, exit_events, no_events, with_exit
from tbgen.retro.kernels.exits import Exits
from tbgen.retro.kernels.frame import Frame, Phase, is_image
from tbgen.retro.kernels.functions import Names, Paths, follow_changes, no_paths
from tbgen.retro.kernels.layers import (
    FIRST_LAYER,
    Attacker,
    begin,
    begin_inner,
    begin_outer,
    inner_sweep,
    next_events,
    outer_sweep,
    retire,
    settle,
    trim,
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


@dataclass(frozen=True, eq=False)
class Workspace(Struct):
    """Everything one thread needs to solve phases of one table, one after the other."""

    frame: Frame
    phase: Phase
    white: Attacker
    black: Attacker
    exits: Exits
    """Needed until the events are made; then results take the room (unless the game has no layers)."""
    like: Ints
    """int64 (n, 2): ranges of like men."""


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
def first_events(workspace: Workspace, attacking: int) -> Agenda:
    """Set up the attacker ``attacking`` (0 White, 1 Black) and return its events."""
    attacker = workspace.white if attacking == 0 else workspace.black
    leaving = with_exit(workspace.exits, workspace.phase.alive)
    begin(attacker, workspace.phase, leaving)
    events = exit_events(attacking, leaving, workspace.exits, int64(255))
    return Agenda(events, no_events(), 2 * workspace.frame.words * 64)


@jit
def run_outer(workspace: Workspace, fresh: SweepResults, attacking: int, rank: int, agenda: Agenda) -> None:
    """The outer sweep of one attacker; values and depths go to ``fresh``."""
    attacker = workspace.white if attacking == 0 else workspace.black
    begin_outer(attacker)
    if rank > 0:
        run_sweep(outer_sweep(workspace.frame, attacker, rank, workspace.phase, agenda, fresh), rank - 1)


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
    attacker = workspace.white if attacking == 0 else workspace.black
    frame, phase = workspace.frame, workspace.phase
    room, steps = limits(phase)
    updated = update(Layer(frame, attacker, phase, pool, fresh, 255 - rank), rank, room, steps)
    if updated < 0:
        begin_inner(attacker, phase)
    return updated


@jit
def record_inner(
    workspace: Workspace, attacking: int, rank: int, carried: bool, record: SweepRecord, keep: int
) -> SweepRecord:
    """Return the record with what the inner sweep of this rank has changed; ``carried`` says that it was
    carried on from the last one."""
    attacker, phase = workspace.white if attacking == 0 else workspace.black, workspace.phase
    if keep == RUNS:
        return SweepRecord(log_changes(attacker, rank, phase, carried, record.log), record.paths)
    if keep == FUNCTIONS:
        return SweepRecord(record.log, follow_changes(attacker, rank, phase, carried, record.paths))
    return record


@jit
def run_inner(
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
    attacker = workspace.white if attacking == 0 else workspace.black
    updated = update_inner(workspace, pool, fresh, attacking, rank)
    if updated == 0:
        return record
    if updated < 0:
        sweep = inner_sweep(workspace.frame, attacker, rank, workspace.phase, agenda)
        attacker.last_key[0] = run_sweep(sweep, rank)
    return record_inner(workspace, attacking, rank, updated > 0, record, keep)


@jit
def take_out_decided(workspace: Workspace, start: int, stop: int) -> bool:
    """Take what the outer sweeps have decided out of the layers; return whether any position of the words
    ``start`` to ``stop`` - 1 is left."""
    return retire(workspace.phase, workspace.white, workspace.black, start, stop)


@jit
def settle_rank(workspace: Workspace, fresh: SweepResults, rank: int, start: int, stop: int) -> None:
    """Settle the positions of a rank in the words ``start`` to ``stop`` - 1."""
    settle(workspace.white, rank, workspace.phase, fresh, start, stop)
    settle(workspace.black, rank, workspace.phase, fresh, start, stop)
    trim(workspace.phase, workspace.white, workspace.black, start, stop)


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
        run_outer(workspace, fresh, attacking, rank, events[attacking])
    left = take_out_decided(workspace, int64(0), workspace.frame.words)
    if left and rank >= FIRST_LAYER and workspace.phase.score_resets:
        of_white = run_inner(workspace, pool, fresh, int64(0), rank, events[0], of_white, keep)
        of_black = run_inner(workspace, pool, fresh, int64(1), rank, events[1], of_black, keep)
    return left, (of_white, of_black)


@jit
def leave_rank(
    workspace: Workspace, fresh: SweepResults, rank: int, events: tuple[Agenda, Agenda]
) -> tuple[Agenda, Agenda]:
    """Settle the positions of a rank whose sweeps have been taken; return the events of the next rank."""
    settle_rank(workspace, fresh, rank, int64(0), workspace.frame.words)
    phase = workspace.phase
    of_white = next_events(int64(0), rank, phase, events[0], fresh)
    return of_white, next_events(int64(1), rank, phase, events[1], fresh)
