"""Solving one phase: mobility and exits, then rank by rank; and single layers outside the solver.

Of these one is solved alone, by sweeps with the events that belong to it, and others are copies of those
that the solver goes through.
"""

from typing import NamedTuple, TypeAlias

import numpy as np

from tbgen.compiler.jit import inlined, int64, jit, kernel
from tbgen.index.layout import TRANSPOSE
from tbgen.retro.kernels.best_exits import Turn, forget_exits, leaving_moves
from tbgen.retro.kernels.canonical import canonical_words
from tbgen.retro.kernels.events import Agenda, count_of, exit_events, no_events, with_exit
from tbgen.retro.kernels.frame import Phase, decode, enter_word, is_image, place_of, reach
from tbgen.retro.kernels.functions import Log, Names, Paths, empty_log, follow_changes, log_changes, no_paths
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
    MOST_MOVES,
    ONE_MOVE,
    SLICES,
    MovesFound,
    count_quiet,
    image_word,
    of_rank_at_least,
    onward,
    room_for_moves,
)
from tbgen.retro.kernels.sweep import Attacker, SweepResults, run_sweep
from tbgen.retro.kernels.targets import Men, Pool, room_for_men
from tbgen.retro.kernels.update import Layer, limits, update
from tbgen.retro.kernels.words import ALL, ZERO, Codes, Plies, Word, Words, add, image, move, put, within

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


@kernel
def _revive(workspace: Workspace, rank: int, fresh: SweepResults, decided: bool) -> None:
    """Set which positions are alive in the layers of a rank: those whose own score has this rank or a larger
    one and, if ``decided``, whose fresh value has too."""
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
def _find_settled(workspace: Workspace, room: MovesFound) -> None:
    """Set which positions are settled: those that are not alive and that positions alive can move to; no
    others matter in the layer."""
    frame, phase = workspace.frame, workspace.phase
    phase.settled[:] = ZERO
    for side in range(2):
        reached = phase.settled[1 - side]
        for word in range(frame.words):
            alive = phase.alive[side, word]
            if alive == ZERO:
                continue
            for number in range(onward(frame, word, alive, side, room)):
                target, bits = room.word[number], image(room.bits[number], room.symmetry[number])
                if is_image(frame, target):
                    decode(frame, target, room.squares)
                    target, bits = image_word(frame, target, room.squares), image(bits, TRANSPOSE)
                reached[target] |= bits
            if frame.movers[frame.scalars] == side:
                empty = ~decode(frame, word, room.squares)
                reached[word] |= reach(frame.moves, frame.kinds[frame.scalars], alive, empty)
    for side in range(2):
        for word in range(frame.words):
            phase.settled[side, word] &= phase.legal[side, word] & ~phase.alive[side, word]


@jit
def _agenda(workspace: Workspace, attacking: int, high: int, fresh: SweepResults) -> Agenda:
    """Set up an attacker and return its events with keys below ``high``: exits of the positions alive, and
    the fresh values of those settled."""
    exits = first_events(workspace, attacking, high).exits
    return Agenda(exits, settled_events(attacking, workspace.phase.settled, fresh, high), int64(0))


@jit
def _sweep(attacker: Attacker, high: int, agenda: Agenda) -> None:
    """Assign what an attacker can force among the positions alive, keys below ``high``."""
    begin_inner(attacker)
    run_sweep(inner_sweep(attacker, high, agenda), int64(0))


@kernel
def _take(attacker: Attacker, at: int, value: Codes, depth: Plies) -> None:
    """Copy what the attacker's inner sweep has assigned to ``value`` and ``depth`` (2, slots), in which the
    phase begins at ``at``; canonical slots only."""
    phase, results, words = attacker.phase, attacker.results, attacker.frame.words
    for side in range(2):
        for word in range(words):
            bits = phase.alive[side, word] & phase.canonical[word] & assigned(attacker, side, word)
            node = (side * words + word) * 64
            move(value[side], at + word * 64, results.value, node, bits)
            move(depth[side], at + word * 64, results.depth, node, bits)


@kernel
def _fill(phase: Phase, code: int, at: int, value: Codes, depth: Plies) -> None:
    """Give the positions alive the accrued score for their value; for the arguments see ``_take``."""
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
    """Solve the layer of the accrued score of this rank that ``holder`` (0 White, 1 Black) has.

    ``fresh`` holds the fresh values, all of them if ``decided``, else only those of positions whose own score
    has a smaller rank; ``value`` and ``depth`` (2, phase size) receive codes and plies at the canonical slots
    of the positions alive in the layer. Of the exits nothing is left where results take their room.
    """
    _revive(workspace, rank, fresh, decided)
    _find_settled(workspace, room_for_moves(MOST_MOVES))
    _fill(workspace.phase, rank if holder == 0 else 255 - rank, int64(0), value, depth)
    opponent, own = workspace.attackers[1 - holder], workspace.attackers[holder]
    agenda = _agenda(workspace, 1 - holder, 255 - rank, fresh)
    # What the holder can better is not known beforehand if not all values are.
    better = agenda if decided else _agenda(workspace, int64(holder), int64(rank), fresh)
    _sweep(opponent, 255 - rank, agenda)
    _take(opponent, int64(0), value, depth)
    if not decided:
        _sweep(own, int64(rank), better)
        _take(own, int64(0), value, depth)


class WindowLayer(NamedTuple):
    """A layer of a window of phases; see ``tbgen.retro.layer_solvers.Layer``."""

    value: Codes
    """uint8 (2, slots)."""
    depth: Plies
    """uint16 (2, slots)."""
    there: Words
    """uint64 (2, slots / 64)."""


@kernel
def show_layer(attacker: Attacker, rank: int, at: int, shown: WindowLayer) -> None:
    """Copy the layer that the inner sweep of an attacker has solved: that of the opponent's accrued score of
    this rank. The phase begins at slot ``at`` of the window."""
    phase, first = attacker.phase, at >> 6
    for side in range(2):
        for word in range(attacker.frame.words):
            shown.there[side, first + word] = phase.alive[side, word] & phase.canonical[word]
    _fill(phase, 255 - rank if attacker.side == 0 else rank, at, shown.value, shown.depth)
    _take(attacker, at, shown.value, shown.depth)
