"""Solving one phase: mobility and exits, then layer by layer."""

from typing import NamedTuple

import numpy as np

from tbgen.accelerate import jit
from tbgen.retro.kernels.canonical import canonical_words
from tbgen.retro.kernels.en_passant import prepare, resolve, side_with_right
from tbgen.retro.kernels.events import exit_events
from tbgen.retro.kernels.frame import Frame
from tbgen.retro.kernels.layers import (
    FIRST_LAYER,
    Attacker,
    Phase,
    begin,
    inner,
    next_events,
    outer,
    retire,
    settle,
    trim,
)
from tbgen.retro.kernels.resets import Exits, rank_and_exits, room_for_exits
from tbgen.retro.kernels.runs import empty_log, log_changes, weave
from tbgen.retro.kernels.update import limits, update


class Workspace(NamedTuple):
    """Everything one thread needs to solve phases of one table, one after the other."""

    frame: Frame
    phase: Phase
    white: Attacker
    black: Attacker
    exits: Exits
    like: np.ndarray
    """int64 (n, 2): ranges of like men."""


class EnPassant(NamedTuple):
    """The en passant configurations of one phase."""

    rows: np.ndarray
    """int64 (n,): their rows among all of the table."""
    squares: np.ndarray
    """int64 (n,): en passant squares."""


@jit
def count_moves(ws, pool, mirrored, start, stop):
    """Ranks and exits of the words ``start`` to ``stop`` - 1, after ``legal_words`` has seen all words, and
    which of their slots are canonical."""
    rank_and_exits(ws.frame, pool, ws.exits, ws.phase.legal, ws.phase.slices, ws.phase.quiet, start, stop)
    canonical_words(ws.frame, ws.like, mirrored, ws.phase.canonical, start, stop)
    ws.phase.alive[:, start:stop] = ws.phase.legal[:, start:stop]


@jit
def first_events(ws, attacker):
    """Set up one attacker and return its events."""
    att = ws.white if attacker == 0 else ws.black
    begin(ws.frame, attacker, ws.phase, att, ws.exits)
    return exit_events(attacker, ws.frame.words * 64, ws.exits)


@jit
def run_outer(ws, pool, attacker, rank, events, starts):
    """The outer sweep of one attacker."""
    att = ws.white if attacker == 0 else ws.black
    outer(ws.frame, attacker, rank, ws.phase, att, events, pool.value, pool.depth, starts)


@jit
def run_inner(ws, pool, attacker, rank, events, log, starts, keep):
    """The inner sweep of one attacker, if it can bring anything new, and its changes logged if ``keep``;
    returns the log."""
    att = ws.white if attacker == 0 else ws.black
    room, steps = limits(ws.phase)
    updated = update(
        ws.frame, attacker, rank, ws.phase, att, ws.exits, pool.value, pool.depth, starts, room, steps
    )
    if updated == 0:
        return log
    if updated < 0:
        inner(ws.frame, attacker, rank, ws.phase, att, events)
    return log_changes(attacker, rank, ws.phase, att, log) if keep else log


@jit
def settle_rank(ws, pool, rank, starts):
    """Settle the positions of a rank; return their nodes, White to move and Black to move."""
    nodes = [
        settle(
            attacker, rank, ws.phase, ws.white if attacker == 0 else ws.black, pool.value, pool.depth,
            starts[attacker],
        )
        for attacker in range(2)
    ]  # fmt: skip
    trim(ws.phase, ws.white, ws.black)
    return nodes[0], nodes[1]


@jit
def solve_layers(ws, pool, ep, starts, keep):
    """Solve a phase after ``count_moves``, both attackers in turn, its en passant positions included.

    Fresh values and depths go to the pool at ``starts[side]`` + slot. Returns (woven, woven, rank): the runs
    of White's and of Black's accrued scores as ``weave`` gives them, none unless ``keep``, and the first rank
    without a layer.
    """
    fr, phase = ws.frame, ws.phase
    nodes = fr.words * 64
    events = [first_events(ws, attacker) for attacker in range(2)]
    logs = [empty_log(nodes if keep else np.int64(1)) for _ in range(2)]
    rights = len(ep.rows)
    ep_rank = np.zeros((rights, nodes), np.uint8)
    # numba cannot tell the type of an empty list, so there is one entry more.
    ep_exits = [room_for_exits(nodes) for _ in range(rights + 1)]
    for number in range(rights):
        prepare(fr, pool, ws.exits, phase, ep.squares[number], ep_rank[number], ep_exits[number])
    rank = np.int64(0)
    while True:
        for attacker in range(2):
            run_outer(ws, pool, attacker, rank, events[attacker], starts)
        left = retire(phase, ws.white, ws.black)
        if left and rank >= FIRST_LAYER and not phase.whole_game:
            for attacker in range(2):
                logs[attacker] = run_inner(
                    ws, pool, attacker, rank, events[attacker], logs[attacker], starts, keep
                )
        for number in range(rights):
            square = ep.squares[number]
            resolve(
                fr, pool, phase, ws.white if side_with_right(square) == 0 else ws.black, square, max(rank, 1),
                rank + 1 if left else 256, ep_rank[number], ep_exits[number], starts,
                pool.targets.ep_offset + ep.rows[number] * nodes,
            )  # fmt: skip
        if not left:
            break
        white, black = settle_rank(ws, pool, rank, starts)
        for attacker in range(2):
            events[attacker] = next_events(
                attacker, rank, phase, events[attacker], white, black, pool.value, pool.depth, starts
            )
        rank += 1
    by_black, by_white = [weave(log, fr.words, pool.value, pool.depth, starts) for log in logs]
    return by_white, by_black, rank
