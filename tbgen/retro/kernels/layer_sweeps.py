"""Solving the layers of one phase, A = (sign, rank), rank by rank (section 4 of docs/theory.md).

In each layer, the sweeps of the two attackers, White (0) and Black (1), are independent of each other:

- The *outer* sweep assigns the attacker's score of rank - 1. Positions that it assigns have this value for
  every accrued score of this and later layers. They are *decided* (fact F3) and leave all layers.
- The *inner* sweep solves the layer in which A is the opponent's score of this rank: White's inner sweep
  solves A = (-, rank), Black's solves A = (+, rank). It assigns the values that are better for the attacker
  than A, beginning with the attacker's score of this rank. Positions that it does not assign have the value
  A.

Then the positions whose position rank is this rank get their fresh values. Their position score is the A of
the layer that the inner sweep of the side to move has solved. They enter all later layers as settled events.

Whole-game mobility is solved in the same way, but without inner sweeps (section 9 of docs/theory.md).
"""

from dataclasses import dataclass

from tbgen.board.score import NONE
from tbgen.compiler.jit import inlined, int64, jit, kernel
from tbgen.compiler.structs import Struct
from tbgen.moves.kernels.moves import SLICES, positions_of_rank
from tbgen.moves.kernels.words import ALL, ZERO, Ints, Word, Words, copy, put
from tbgen.moves.structs import Exits, Frame, Phase
from tbgen.retro.kernels.events import Agenda, Events, Goals, events_of, next_agenda
from tbgen.retro.kernels.sweep import (
    WRITE_ALONE,
    WRITE_SHARED,
    Attacker,
    Sweep,
    SweepResults,
)

FIRST_LAYER = 2
"""Rank of the first layer. Ranks 0 and 1, mate and stalemate, end the game."""


@dataclass(frozen=True, eq=False)
class Workspace(Struct):
    """All arrays that one thread needs to solve phases of one table, one after the other."""

    frame: Frame
    phase: Phase
    attackers: tuple[Attacker, Attacker]
    """White and Black as attackers."""
    fresh: SweepResults
    """Fresh values and depths of the positions that have left the layers."""
    exits: Exits
    """Best exits, which are needed until the events are made. The results then overwrite them."""
    like_men: Ints
    """int64 (n, 2): half-open ranges of like men, which have the same kind and colour."""


@kernel
def initialize_sets(attacker: Attacker, with_exit: Words) -> None:
    """Initialize the sets of an attacker.

    No position is assigned yet. The positions with the defender to move that have no exit are ready.

    ``with_exit``, uint64 (2, words), are the positions with an exit.
    """
    alive = attacker.phase.alive
    defending = 1 - attacker.side
    for word in range(attacker.frame.words):
        attacker.outer_sets.wanted[word] = alive[attacker.side, word]
        attacker.outer_sets.ready[word] = alive[defending, word] & ~with_exit[defending, word]


@jit
def outer_sweep(attacker: Attacker, rank: int, agenda: Agenda, fresh: SweepResults) -> Sweep:
    """Return the sweep that assigns the attacker's score of rank - 1, which has the key rank - 1.

    The sweep writes values and depths to ``fresh``.
    """
    capacity = attacker.departures.node.shape[1]
    # Before the first inner sweep, the results are still exits, or results of another phase. They must not be
    # stored as departures: a count above the capacity prevents it.
    attacker.departures.count[:] = 0 if capacity and rank > FIRST_LAYER else capacity + 1  # a number
    return Sweep(attacker, agenda, rank, attacker.outer_sets, fresh, WRITE_SHARED)


@kernel
def retire(workspace: Workspace, start: int, stop: int) -> bool:
    """Remove from the layers the positions that the outer sweeps have decided, and add them to
    ``phase.departed``.

    Only the words ``start`` to ``stop`` - 1 are processed. Return whether any of their positions remains.
    """
    remaining = ZERO
    for word in range(start, stop):
        for side in range(2):
            alive = workspace.phase.alive[side, word]
            if alive:
                mover = workspace.attackers[side].outer_sets
                other = workspace.attackers[1 - side].outer_sets
                decided = alive & ~(mover.wanted[word] & ~other.assigned[word])
                workspace.phase.departed[side, word] |= decided
                remaining |= _remove_positions(workspace, side, word, decided)
    return bool(remaining != ZERO)


@inlined
def _remove_positions(workspace: Workspace, side: int, word: int, bits: Word) -> Word:
    """Remove positions of a word from the layers and from the attackers' sets; return the remaining
    positions."""
    alive = workspace.phase.alive[side, word]
    if bits:
        alive &= ~bits
        workspace.phase.alive[side, word] = alive
        workspace.attackers[side].outer_sets.wanted[word] &= alive
        workspace.attackers[1 - side].outer_sets.ready[word] &= alive
    return alive


@inlined
def assigned_positions(attacker: Attacker, side: int, word: int) -> Word:
    """Positions of a word that the inner sweep has assigned. Some of them may be outside the layers."""
    if side == attacker.side:
        return attacker.phase.legal[side, word] & ~attacker.inner_sets.wanted[word]
    return attacker.inner_sets.assigned[word]


@jit
def initialize_inner_sets(attacker: Attacker) -> None:
    """Initialize the sets for an inner sweep from those of the outer sweeps, whose assignments are kept."""
    sets = attacker.inner_sets
    outer = attacker.outer_sets
    alive = attacker.phase.alive[1 - attacker.side]
    for word in range(attacker.frame.words):
        sets.wanted[word] = outer.wanted[word]
        sets.ready[word] = ZERO
        if alive[word]:
            sets.ready[word] = outer.ready[word]
            copy(sets.quiet_counts, word * 64, outer.quiet_counts, word * 64, ALL)
    sets.changed[:] = ZERO


@jit
def inner_sweep(attacker: Attacker, accrued_key: int, agenda: Agenda) -> Sweep:
    """Return the sweep that solves the layer of the accrued score with the key ``accrued_key``."""
    return Sweep(attacker, agenda, accrued_key, attacker.inner_sets, attacker.results, WRITE_ALONE)


@kernel
def settle(workspace: Workspace, rank: int, start: int, stop: int) -> None:
    """Settle the positions with the position rank ``rank`` in the words ``start`` to ``stop`` - 1.

    Their fresh values and depths are written. The positions leave the layers, and ``phase.departed`` is set
    to them.
    """
    for word in range(start, stop):
        for side in range(2):
            _settle_word(workspace, rank, side, word)


@inlined
def _settle_word(workspace: Workspace, rank: int, side: int, word: int) -> None:
    """Implement ``settle`` for one word with one side to move.

    The inner sweep of the side to move has already written the fresh values that are better for this side
    than the position score. In whole-game mobility the fresh value is the position score, because no score of
    smaller rank can be forced and no other score can replace it.
    """
    phase = workspace.phase
    attacker = workspace.attackers[side]
    bits = phase.alive[side, word]
    if bits:
        bits &= positions_of_rank(phase.rank_bits[side, word], SLICES, rank)
    phase.departed[side, word] = bits
    if bits == ZERO:
        return
    _remove_positions(workspace, side, word, bits)
    has_layer = rank >= FIRST_LAYER and phase.score_resets
    unassigned = bits & attacker.inner_sets.wanted[word] if has_layer else bits
    fresh = workspace.fresh
    slot = workspace.fresh.starts[side] + word * 64
    put(fresh.value, slot, unassigned, 255 - rank if side == 0 else rank)
    put(fresh.depth, slot, unassigned, 0)


@jit
def settled_events(attacking_side: int, mask: Words, fresh: SweepResults, end_key: int) -> Events:
    """Return the events with keys below ``end_key`` of the settled positions ``mask``, uint64 (2, words).

    ``fresh`` contains their values and depths.
    """
    goals = Goals(fresh.value, (fresh.depth, fresh.depth), fresh.starts, int64(0))
    return events_of(attacking_side, mask, goals, end_key)


@jit
def next_events(attacking_side: int, rank: int, phase: Phase, agenda: Agenda, fresh: SweepResults) -> Agenda:
    """Return the events of the next layer: the remaining ones of ``agenda``, and the positions settled
    last."""
    # Without inner sweeps, no attacker aims at scores that the opponent holds.
    first_key = rank
    stop = 254 - rank if phase.score_resets else NONE
    settled = settled_events(attacking_side, phase.departed, fresh, stop)
    return next_agenda(agenda, settled, phase.alive, first_key, stop)
