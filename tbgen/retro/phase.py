"""Solving one phase from the empty board of its frame to the last layer."""

from typing import NamedTuple

import numpy as np

from tbgen.accelerate import jit
from tbgen.index.layout import Layout
from tbgen.retro.canonical import canonical_words
from tbgen.retro.en_passant import prepare, resolve, side_with_right
from tbgen.retro.frame import Frame, frame_of, legal_words
from tbgen.retro.layers import (
    FIRST_LAYER,
    Attacker,
    Phase,
    begin,
    collect,
    inner,
    make_attacker,
    make_phase,
    next_events,
    outer,
    retire,
    settle,
    trim,
)
from tbgen.retro.resets import Exits, make_exits, rank_and_exits
from tbgen.retro.sweep import exit_events

MAX_RANK = 255


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


def make_workspace(layout: Layout) -> Workspace:
    """Return room to solve any phase of a layout."""
    frame = frame_of(layout)
    return Workspace(
        frame,
        make_phase(frame.words),
        make_attacker(frame.words),
        make_attacker(frame.words),
        make_exits(layout.phase_size),
        np.array(layout.like_men, np.int64).reshape(-1, 2),
    )


@jit
def set_up(ws, pool, mirrored):
    """Legal positions, their ranks and exits, and the canonical slots of the phase whose pawns are placed."""
    legal_words(ws.frame, ws.phase.legal)
    rank_and_exits(ws.frame, pool, ws.exits, ws.phase.legal, ws.phase.slices)
    canonical_words(ws.frame, ws.like, mirrored, ws.phase.canonical)
    ws.phase.alive[:] = ws.phase.legal


@jit
def first_events(ws, attacker):
    """Set up one attacker and return its events."""
    att = ws.white if attacker == 0 else ws.black
    begin(ws.frame, attacker, ws.phase, att, ws.exits)
    return exit_events(attacker, ws.frame.words * 64, ws.exits)


@jit
def _grown(array, needed):
    if needed <= len(array):
        return array
    longer = np.empty((max(needed, 2 * len(array)), *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer


@jit
def solve_phase(ws, pool, mirrored, ep, starts):
    """Solve the phase whose pawns are placed; fresh values and depths go to the pool at ``starts[side]`` + slot.

    Returns the layers: accrued codes int64 (n,), exceptions per side to move int64 (n, 2), masks uint64
    (n, 2, words), and the exceptions' values uint8 and depths uint16 by (layer, side, slot).
    """
    fr, phase, tg = ws.frame, ws.phase, pool.targets
    nodes = fr.words * 64
    set_up(ws, pool, mirrored)
    white_events, black_events = first_events(ws, 0), first_events(ws, 1)
    rights = len(ep.rows)
    ep_rank = np.zeros((rights, nodes), np.uint8)
    ep_exits = [make_room(nodes) for _ in range(rights + 1)]
    for number in range(rights):
        prepare(fr, pool, ws.exits, phase, ep.squares[number], ep_rank[number], ep_exits[number])
    codes, counts = np.empty(64, np.int64), np.empty((64, 2), np.int64)
    masks = np.empty((64, 2, fr.words), np.uint64)
    values, depths = np.empty(2 * nodes, np.uint8), np.empty(2 * nodes, np.uint16)
    layers, length, rank = 0, 0, 0
    while True:
        outer(fr, 0, rank, phase, ws.white, white_events, pool.value, pool.depth, starts)
        outer(fr, 1, rank, phase, ws.black, black_events, pool.value, pool.depth, starts)
        if not retire(phase, ws.white, ws.black):
            break
        if rank >= FIRST_LAYER:
            codes, counts = _grown(codes, layers + 2), _grown(counts, layers + 2)
            masks = _grown(masks, layers + 2)
            for attacker in range(2):
                att = ws.white if attacker == 0 else ws.black
                inner(fr, attacker, rank, phase, att, white_events if attacker == 0 else black_events)
                mask, value, depth, in_white = collect(attacker, rank, phase, att)
                codes[layers] = 255 - rank if attacker == 0 else rank
                counts[layers, 0], counts[layers, 1] = in_white, len(value) - in_white
                masks[layers] = mask
                values, depths = _grown(values, length + len(value)), _grown(depths, length + len(value))
                values[length : length + len(value)] = value
                depths[length : length + len(value)] = depth
                length += len(value)
                layers += 1
        for number in range(rights):
            square = ep.squares[number]
            start = tg.ep_offset + ep.rows[number] * nodes
            att = ws.white if side_with_right(square) == 0 else ws.black
            resolve(
                fr, pool, phase, att, square, max(rank, 1), rank + 1, ep_rank[number], ep_exits[number], starts,
                start,
            )  # fmt: skip
        white_nodes = settle(0, rank, phase, ws.white, pool.value, pool.depth, starts[0])
        black_nodes = settle(1, rank, phase, ws.black, pool.value, pool.depth, starts[1])
        trim(phase, ws.white, ws.black)
        white_events = next_events(
            0, rank, phase, white_events, white_nodes, black_nodes, pool.value, pool.depth, starts
        )
        black_events = next_events(
            1, rank, phase, black_events, white_nodes, black_nodes, pool.value, pool.depth, starts
        )
        rank += 1
    for number in range(rights):
        start = tg.ep_offset + ep.rows[number] * nodes
        resolve(
            fr, pool, phase, ws.white, ep.squares[number], max(rank, 1), MAX_RANK + 1, ep_rank[number],
            ep_exits[number], starts, start,
        )  # fmt: skip
    return codes[:layers].copy(), counts[:layers].copy(), masks[:layers].copy(), values[:length].copy(), depths[
        :length
    ].copy()


@jit
def make_room(nodes):
    """Exits of one en passant configuration."""
    return Exits(np.empty(nodes, np.uint8), np.empty(nodes, np.uint16), np.empty(nodes, np.uint16))
