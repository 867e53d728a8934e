"""The layers of one phase: accrued scores A = (sign, rank), rank by rank (section 4 of docs/theory.md).

Layer by layer the two attackers work independently of each other, White's (0) and Black's (1):

- the *outer* sweep of layer ``rank`` takes the attacker's own scores of rank - 1. What it assigns has this
  value whatever the accrued score: it is *decided* (fact F3) and leaves all layers for good;
- the *inner* sweep takes all values from the attacker's own score of this rank to the last one better for it
  than A, the opponent's score of this rank: White's inner sweep solves A = (-, rank), Black's A = (+, rank).
  What it leaves is worth A.

Then the positions whose own score has this rank get their fresh value: A is their own score in the layer of
the side to move. They enter all later layers as settled events.

Whole-game mobility takes the same steps without the inner sweeps (section 9 of docs/theory.md).
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
"""Rank of the first layer: ranks 0 and 1, mate and stalemate, end the game."""


@dataclass(frozen=True, eq=False)
class Workspace(Struct):
    """Everything one thread needs to solve phases of one table, one after the other."""

    frame: Frame
    phase: Phase
    attackers: tuple[Attacker, Attacker]
    """White and Black."""
    exits: Exits
    """Needed until the events are made; then results take the room (unless the game has no layers)."""
    like: Ints
    """int64 (n, 2): ranges of like men."""


@kernel
def begin(attacker: Attacker, leaving: Words) -> None:
    """Set up the attacker's sets: nothing assigned, defenders with an exit (``leaving``, uint64 (2, words))
    not ready."""
    attacker.logged[:] = ZERO
    alive, defending = attacker.phase.alive, 1 - attacker.side
    for word in range(attacker.frame.words):
        attacker.outer_sets.wanted[word] = alive[attacker.side, word]
        attacker.outer_sets.ready[word] = alive[defending, word] & ~leaving[defending, word]


@jit
def outer_sweep(attacker: Attacker, rank: int, agenda: Agenda, fresh: SweepResults) -> Sweep:
    """The sweep that assigns what the attacker can force to its own scores of rank - 1, from that key on; see
    the module's head. Values and depths go to ``fresh``."""
    return Sweep(attacker, agenda, rank, attacker.outer_sets, fresh, SHARED)


@kernel
def retire(workspace: Workspace, start: int, stop: int) -> bool:
    """Take the positions of the words ``start`` to ``stop`` - 1 that the outer sweeps have decided out of the
    layers; return whether any is left."""
    left = ZERO
    for word in range(start, stop):
        for side in range(2):
            alive = workspace.phase.alive[side, word]
            if alive:
                mover, other = workspace.attackers[side].outer_sets, workspace.attackers[1 - side].outer_sets
                left |= _leave(workspace, side, word, alive & ~(mover.wanted[word] & ~other.caught[word]))
    return bool(left != ZERO)


@inlined
def _leave(workspace: Workspace, side: int, word: int, bits: Word) -> Word:
    """Take positions of a word out of the layers and the attackers' sets, which have none but those in the
    layers; return which are left."""
    alive = workspace.phase.alive[side, word]
    if bits:
        alive &= ~bits
        workspace.phase.alive[side, word] = alive
        workspace.attackers[side].outer_sets.wanted[word] &= alive
        workspace.attackers[1 - side].outer_sets.ready[word] &= alive
    return alive


@inlined
def assigned(attacker: Attacker, side: int, word: int) -> Word:
    """Positions that the inner sweep has assigned; some that have left the layers, or were never in them, are
    among them."""
    if side == attacker.side:
        return attacker.phase.legal[side, word] & ~attacker.inner_sets.wanted[word]
    return attacker.inner_sets.caught[word]


@kernel
def begin_inner(attacker: Attacker) -> None:
    """Set the inner sweep's sets up: nothing assigned but what the outer sweeps have."""
    sets, before, alive = attacker.inner_sets, attacker.outer_sets, attacker.phase.alive[1 - attacker.side]
    for word in range(attacker.frame.words):
        sets.wanted[word] = before.wanted[word]
        sets.ready[word] = ZERO
        if alive[word]:
            sets.ready[word] = before.ready[word]
            move(sets.left, word * 64, before.left, word * 64, ALL)
    sets.changed[:] = ZERO


@jit
def inner_sweep(attacker: Attacker, high: int, agenda: Agenda) -> Sweep:
    """The sweep that solves the layer of the accrued score with the key ``high``; see the module's head."""
    writing = ALONE if len(attacker.results.depth) else OF_ATTACKERS
    return Sweep(attacker, agenda, high, attacker.inner_sets, attacker.results, writing)


@kernel
def settle(workspace: Workspace, fresh: SweepResults, rank: int, start: int, stop: int) -> None:
    """Give the positions of this rank their fresh value and depth, in ``fresh``, and take them out of the
    layers; ``phase.settled`` remembers them. Words ``start`` to ``stop`` - 1."""
    for word in range(start, stop):
        for side in range(2):
            _settle_word(workspace, fresh, rank, side, word)


@inlined
def _settle_word(workspace: Workspace, fresh: SweepResults, rank: int, side: int, word: int) -> None:
    """``settle`` for one side to move.

    In whole-game mobility the fresh value is their own score: nothing of smaller rank can be forced, and
    nothing else can take its place.
    """
    phase, attacker = workspace.phase, workspace.attackers[side]
    bits = phase.alive[side, word]
    if bits:
        bits &= of_rank(phase.slices[side, word], rank)
    phase.settled[side, word] = bits
    if bits == ZERO:
        return
    _leave(workspace, side, word, bits)
    layered = rank >= FIRST_LAYER and phase.score_resets
    stays = bits & attacker.inner_sets.wanted[word] if layered else bits
    slot = fresh.starts[side] + word * 64
    put(fresh.value, slot, stays, 255 - rank if side == 0 else rank)
    if len(fresh.depth) == 0:  # the rest has its value already
        return
    put(fresh.depth, slot, stays, 0)
    if bits != stays:
        node = (side * workspace.frame.words + word) * 64
        move(fresh.value, slot, attacker.results.value, node, bits & ~stays)
        move(fresh.depth, slot, attacker.results.depth, node, bits & ~stays)


@jit
def settled_events(attacking: int, mask: Words, fresh: SweepResults, high: int) -> Events:
    """Return the events of positions that have left the layers, ``mask`` uint64 (2, words), with keys below
    ``high``; their values and depths are in ``fresh``."""
    goals = Goals(fresh.value, (fresh.depth, fresh.depth), fresh.starts, int64(0))
    return events_of(attacking, mask, goals, high)


@jit
def next_events(attacking: int, rank: int, phase: Phase, agenda: Agenda, fresh: SweepResults) -> Agenda:
    """Return the events of the next layer: those left, and the positions settled last."""
    # Without inner sweeps, no attacker looks for scores of the opponent.
    first, last = rank, 254 - rank if phase.score_resets else NONE
    settled = settled_events(attacking, phase.settled, fresh, last)
    return next_agenda(agenda, settled, phase.alive, first, last)
