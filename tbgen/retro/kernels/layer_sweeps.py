"""Solving the layers of one phase, A = (sign, rank), rank by rank (section 4 of docs/theory.md).

In each layer the sweeps of the two attackers, White (0) and Black (1), are independent of each other:

- The *outer* sweep of layer ``rank`` assigns the score of rank - 1 that the attacker holds. Positions that it
  assigns have this value for every accrued score: they are *decided* (fact F3) and leave all layers for
  good.
- The *inner* sweep assigns all values from the score of this rank that the attacker holds to the last one
  that is better for the attacker than A, the opponent's score of this rank. Positions that it does not assign
  have the value A. White's inner sweep solves A = (-, rank), Black's solves A = (+, rank).

Then the positions with this position rank get their fresh values: A is their position score in the layer that
is solved by the inner sweep of the side to move. They enter all later layers as settled events.

Whole-game mobility is solved in the same steps without the inner sweeps (section 9 of docs/theory.md).
"""

from dataclasses import dataclass

from tbgen.board.score import NONE
from tbgen.compiler.jit import inlined, int64, jit, kernel
from tbgen.compiler.structs import Struct
from tbgen.retro.kernels.best_exits import Exits
from tbgen.retro.kernels.events import Agenda, Events, Goals, events_of, next_agenda
from tbgen.retro.kernels.frame import Frame, Phase
from tbgen.retro.kernels.moves import of_rank
from tbgen.retro.kernels.sweep import ALONE, OF_ATTACKERS, SHARED, Attacker, Sweep, SweepResults
from tbgen.retro.kernels.words import ALL, ZERO, Ints, Word, Words, move, put

FIRST_LAYER = 2
"""Rank of the first layer; ranks 0 and 1, mate and stalemate, end the game."""


@dataclass(frozen=True, eq=False)
class Workspace(Struct):
    """All arrays that one thread needs to solve phases of one table, one after the other."""

    frame: Frame
    phase: Phase
    attackers: tuple[Attacker, Attacker]
    """White and Black as attackers."""
    exits: Exits
    """Best exits. They are needed until the events are made; then results overwrite them if the game has
    layers."""
    like: Ints
    """int64 (n, 2): ranges of like men."""


@kernel
def begin(attacker: Attacker, leaving: Words) -> None:
    """Initialize the sets of an attacker: no position is assigned, and defenders with an exit are not ready.

    ``leaving``, uint64 (2, words), are the positions with an exit.
    """
    attacker.logged[:] = ZERO
    alive, defending = attacker.phase.alive, 1 - attacker.side
    for word in range(attacker.frame.words):
        attacker.outer_sets.wanted[word] = alive[attacker.side, word]
        attacker.outer_sets.ready[word] = alive[defending, word] & ~leaving[defending, word]


@jit
def outer_sweep(attacker: Attacker, rank: int, agenda: Agenda, fresh: SweepResults) -> Sweep:
    """Return the sweep that assigns the score of rank - 1 that the attacker holds, which is the key rank - 1.

    Values and depths are written to ``fresh``.
    """
    return Sweep(attacker, agenda, rank, attacker.outer_sets, fresh, SHARED)


@kernel
def retire(workspace: Workspace, start: int, stop: int) -> bool:
    """Remove the positions that the outer sweeps have decided from the layers, in the words ``start`` to
    ``stop`` - 1; return whether any position remains."""
    remaining = ZERO
    for word in range(start, stop):
        for side in range(2):
            alive = workspace.phase.alive[side, word]
            if alive:
                mover, other = workspace.attackers[side].outer_sets, workspace.attackers[1 - side].outer_sets
                decided = alive & ~(mover.wanted[word] & ~other.caught[word])
                remaining |= _remove(workspace, side, word, decided)
    return bool(remaining != ZERO)


@inlined
def _remove(workspace: Workspace, side: int, word: int, bits: Word) -> Word:
    """Remove positions of a word from the layers and from the attackers' sets; return the remaining ones."""
    alive = workspace.phase.alive[side, word]
    if bits:
        alive &= ~bits
        workspace.phase.alive[side, word] = alive
        workspace.attackers[side].outer_sets.wanted[word] &= alive
        workspace.attackers[1 - side].outer_sets.ready[word] &= alive
    return alive


@inlined
def assigned(attacker: Attacker, side: int, word: int) -> Word:
    """Positions that the inner sweep has assigned, possibly also positions outside the layers."""
    if side == attacker.side:
        return attacker.phase.legal[side, word] & ~attacker.inner_sets.wanted[word]
    return attacker.inner_sets.caught[word]


@kernel
def begin_inner(attacker: Attacker) -> None:
    """Initialize the sets for an inner sweep: only what the outer sweeps have assigned is assigned."""
    sets, before, alive = attacker.inner_sets, attacker.outer_sets, attacker.phase.alive[1 - attacker.side]
    for word in range(attacker.frame.words):
        sets.wanted[word] = before.wanted[word]
        sets.ready[word] = ZERO
        if alive[word]:
            sets.ready[word] = before.ready[word]
            move(sets.remaining, word * 64, before.remaining, word * 64, ALL)
    sets.changed[:] = ZERO


@jit
def inner_sweep(attacker: Attacker, high: int, agenda: Agenda) -> Sweep:
    """Return the sweep that solves the layer of the accrued score with the key ``high``."""
    writing = ALONE if len(attacker.results.depth) else OF_ATTACKERS
    return Sweep(attacker, agenda, high, attacker.inner_sets, attacker.results, writing)


@kernel
def settle(workspace: Workspace, fresh: SweepResults, rank: int, start: int, stop: int) -> None:
    """Settle the positions with this position rank in the words ``start`` to ``stop`` - 1.

    Their fresh values and depths are written to ``fresh``; they leave the layers and are stored in
    ``phase.settled``.
    """
    for word in range(start, stop):
        for side in range(2):
            _settle_word(workspace, fresh, rank, side, word)


@inlined
def _settle_word(workspace: Workspace, fresh: SweepResults, rank: int, side: int, word: int) -> None:
    """Implement ``settle`` for one word with one side to move.

    In whole-game mobility the fresh value is the position score: no score of smaller rank can be forced, and
    no other score can replace it.
    """
    phase, attacker = workspace.phase, workspace.attackers[side]
    bits = phase.alive[side, word]
    if bits:
        bits &= of_rank(phase.slices[side, word], rank)
    phase.settled[side, word] = bits
    if bits == ZERO:
        return
    _remove(workspace, side, word, bits)
    layered = rank >= FIRST_LAYER and phase.score_resets
    stays = bits & attacker.inner_sets.wanted[word] if layered else bits
    slot = fresh.starts[side] + word * 64
    put(fresh.value, slot, stays, 255 - rank if side == 0 else rank)
    if len(fresh.depth) == 0:  # the others already have their values
        return
    put(fresh.depth, slot, stays, 0)
    if bits != stays:
        node = (side * workspace.frame.words + word) * 64
        move(fresh.value, slot, attacker.results.value, node, bits & ~stays)
        move(fresh.depth, slot, attacker.results.depth, node, bits & ~stays)


@jit
def settled_events(attacking: int, mask: Words, fresh: SweepResults, high: int) -> Events:
    """Return the events with keys below ``high`` of settled positions, ``mask`` uint64 (2, words), whose
    values and depths are in ``fresh``."""
    goals = Goals(fresh.value, (fresh.depth, fresh.depth), fresh.starts, int64(0))
    return events_of(attacking, mask, goals, high)


@jit
def next_events(attacking: int, rank: int, phase: Phase, agenda: Agenda, fresh: SweepResults) -> Agenda:
    """Return the events of the next layer: the remaining ones, and the positions settled last."""
    # Without inner sweeps, no attacker aims at scores that the opponent holds.
    first, last = rank, 254 - rank if phase.score_resets else NONE
    settled = settled_events(attacking, phase.settled, fresh, last)
    return next_agenda(agenda, settled, phase.alive, first, last)
