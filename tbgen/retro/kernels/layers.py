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

from typing import NamedTuple

import numpy as np

from tbgen.accelerate import inlined, jit, kernel
from tbgen.retro.geometry import BIT
from tbgen.retro.kernels.bits import ONE, ZERO, lowest, popcount
from tbgen.retro.kernels.events import event, event_key, event_node, is_settled, sort_events
from tbgen.retro.kernels.mobility import of_rank
from tbgen.retro.kernels.resets import NO_EXIT
from tbgen.retro.kernels.sweep import (
    READY,
    Scratch,
    Sets,
    sweep,
)
from tbgen.score import NONE

FIRST_LAYER = 2
"""Rank of the first layer: ranks 0 and 1, mate and stalemate, end the game."""


class Phase(NamedTuple):
    """What both attackers share, uint64 (2, words) by side to move."""

    legal: np.ndarray
    alive: np.ndarray
    """Positions still in the layers."""
    slices: np.ndarray
    """uint64 (2, words, SLICES): ranks, see ``tbgen.retro.kernels.mobility``."""
    canonical: np.ndarray
    """uint64 (words,): canonical slots."""
    quiet: np.ndarray
    """uint64 (2, words, 8): bit-sliced numbers of quiet moves; the attackers count them down."""
    whole_game: bool
    """Whether nothing resets the accrued score: then there are no layers to solve, and no inner sweeps."""


class Attacker(NamedTuple):
    """One attacker's sets and results."""

    outer_sets: Sets
    """What the outer sweeps have assigned stays assigned."""
    inner_sets: Sets
    """The inner sweep's copy. (This, ``value``, ``depth``, ``logged`` and ``seen`` are empty if the game has
    no layers.)"""
    scratch: Scratch
    value: np.ndarray
    """uint8 (2 * phase size,): values of the inner sweep, White to move first."""
    depth: np.ndarray
    """uint16 (2 * phase size,)."""
    changed: np.ndarray
    """uint64 (2, words): positions whose value or depth the inner sweep has changed."""
    logged: np.ndarray
    """uint64 (2, words): positions whose last logged state is not A itself."""
    seen: np.ndarray
    """uint64 (2, words): positions alive in the layer that was entered last."""
    last_key: np.ndarray
    """int64 (1,): last key that the last inner sweep has assigned."""
    starts: np.ndarray
    """int64 (2,): where the sides to move begin in ``value`` and ``depth``."""


@inlined
def _copy(target, source, start, stop):
    """Copy one array to another (an assignment of slices would allocate)."""
    for at in range(start, stop):
        target[at] = source[at]


@kernel
def begin(fr, attacker, phase, att, ex):
    """Set up the attacker's sets: nothing assigned, defenders with an exit not ready."""
    att.logged[:] = ZERO
    defender = 1 - attacker
    first = defender * fr.words * 64
    for word in range(fr.words):
        att.outer_sets.wanted[word] = phase.legal[attacker, word]
        bits = phase.legal[defender, word]
        ready = bits
        while bits:
            bit = lowest(bits)
            bits &= bits - ONE
            if ex.nearest[first + word * 64 + bit] != NO_EXIT:
                ready &= ~BIT[bit]
        att.outer_sets.waiting[word, READY] = ready


@kernel
def outer(fr, attacker, rank, phase, att, events, value, depth, starts):
    """Assign what the attacker can force to its own scores of rank - 1; see the module's head."""
    att.outer_sets.caught[:] = ZERO
    if rank > 0:
        sweep(
            fr, attacker, events, rank - 1, rank, att.outer_sets, phase.alive[1 - attacker], att.scratch,
            value, depth, att.changed, starts,
        )  # fmt: skip


@kernel
def retire(phase, white, black):
    """Take the positions decided by the outer sweeps out of the layers; return whether any is left."""
    left = ZERO
    for word in range(len(phase.canonical)):
        for side in range(2):
            mover, other = (
                (white.outer_sets, black.outer_sets) if side == 0 else (black.outer_sets, white.outer_sets)
            )
            alive = phase.alive[side, word] & mover.wanted[word] & ~other.caught[word]
            _keep(phase, mover, other, side, word, alive)
            left |= alive
    return left != ZERO


@inlined
def _keep(phase, mover, other, side, word, alive):
    phase.alive[side, word] = alive
    mover.wanted[word] &= alive
    other.waiting[word, READY] &= alive


@inlined
def assigned(attacker, side, word, phase, att):
    """Positions that the inner sweep has assigned, some that have left the layers among them."""
    if side == attacker:
        return phase.legal[side, word] & ~att.inner_sets.wanted[word]
    return att.inner_sets.caught[word]


@kernel
def inner(fr, attacker, rank, phase, att, events):
    """Solve the layer of the opponent's accrued score of this rank; see the module's head."""
    _copy(att.inner_sets.wanted, att.outer_sets.wanted, 0, fr.words)
    for word in range(fr.words):
        if phase.alive[1 - attacker, word]:
            for number in range(READY + 1):
                att.inner_sets.waiting[word, number] = att.outer_sets.waiting[word, number]
        else:
            att.inner_sets.waiting[word, READY] = ZERO
    att.inner_sets.caught[:] = ZERO
    att.changed[:] = ZERO
    att.last_key[0] = sweep(
        fr, attacker, events, rank, 255 - rank, att.inner_sets, phase.alive[1 - attacker], att.scratch,
        att.value, att.depth, att.changed, att.starts,
    )  # fmt: skip


@jit
def settle(attacker, rank, phase, att, value, depth, start):
    """Give the positions of this rank with the attacker to move their fresh value and depth, at ``start`` +
    slot, and take them out of the layers; return their nodes (int64).

    In whole-game mobility that is their own score: nothing of smaller rank can be forced, and nothing else
    can take its place.
    """
    words = len(phase.canonical)
    own = 255 - rank if attacker == 0 else rank
    count = 0
    for word in range(words):
        if phase.alive[attacker, word]:
            count += popcount(phase.alive[attacker, word] & of_rank(phase.slices[attacker, word], rank))
    nodes = np.empty(count, np.int64)
    count = 0
    for word in range(words):
        if phase.alive[attacker, word] == ZERO:
            continue
        bits = phase.alive[attacker, word] & of_rank(phase.slices[attacker, word], rank)
        phase.alive[attacker, word] &= ~bits
        layered = rank >= FIRST_LAYER and not phase.whole_game
        stays = att.inner_sets.wanted[word] if layered else ~ZERO
        while bits:
            bit = lowest(bits)
            bits &= bits - ONE
            slot = word * 64 + bit
            nodes[count] = attacker * words * 64 + slot
            count += 1
            if stays & BIT[bit]:
                value[start + slot] = own
                depth[start + slot] = 0
            else:
                value[start + slot] = att.value[attacker * words * 64 + slot]
                depth[start + slot] = att.depth[attacker * words * 64 + slot]
    return nodes


@kernel
def trim(phase, white, black):
    """Take the settled positions out of the attackers' sets too."""
    for word in range(len(phase.canonical)):
        for side in range(2):
            mover, other = (
                (white.outer_sets, black.outer_sets) if side == 0 else (black.outer_sets, white.outer_sets)
            )
            _keep(phase, mover, other, side, word, phase.alive[side, word])


@jit
def next_events(attacker, rank, phase, events, white_nodes, black_nodes, value, depth, starts):
    """Return the events of the next layer: those left of ``events`` merged with the newly settled nodes."""
    words = len(phase.canonical)
    # Without inner sweeps, no attacker looks for scores of the opponent.
    first, last = rank, NONE if phase.whole_game else 254 - rank
    fresh = np.empty(len(white_nodes) + len(black_nodes), np.uint64)
    count = 0
    for side in range(2):
        nodes = white_nodes if side == 0 else black_nodes
        for node in nodes:
            at = starts[side] + node - side * words * 64
            entry = event(attacker, np.int64(value[at]), np.int64(depth[at]), True, node)
            if event_key(entry) < last:
                fresh[count] = entry
                count += 1
    fresh = sort_events(fresh[:count])
    merged = np.empty(len(events) + count, np.uint64)
    taken, length = 0, 0
    for entry in events:
        key = event_key(entry)
        if key < first or key >= last:
            continue
        if not is_settled(entry):
            node = event_node(entry)
            side = 0 if node < words * 64 else 1
            if phase.alive[side, (node >> 6) - side * words] & BIT[node & 63] == ZERO:
                continue
        while taken < count and fresh[taken] < entry:
            merged[length] = fresh[taken]
            taken += 1
            length += 1
        merged[length] = entry
        length += 1
    merged[length : length + count - taken] = fresh[taken:]
    return merged[: length + count - taken]
