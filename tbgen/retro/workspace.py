"""Allocating workspaces, the arrays in which the kernels solve one phase at a time.

A workspace has one array of values and one array of depths. Both consist of four quarters, and a quarter has
one element for each slot. The arrays contain exits at first, and results of sweeps later. An exit has one
value and two depths, the smallest and the greatest (``Exits``).

=======  ============  ===============  =================  =======================================
quarter  side to move  values at first  depths at first    values and depths later
=======  ============  ===============  =================  =======================================
0        White         of exits         smallest of exits  White's inner sweeps, then fresh values
1        Black         of exits         smallest of exits  Black's inner sweeps, then fresh values
2        White         unused           greatest of exits  Black's inner sweeps
3        Black         unused           greatest of exits  White's inner sweeps
=======  ============  ===============  =================  =======================================

Exits are needed only until they become events, before the first inner sweep. Until then, a fresh value
overwrites the exit only of a position that leaves the layers.

Fresh values can share quarters with results of inner sweeps, because a position gets its fresh value when it
leaves the layers, and inner sweeps do not assign positions outside the layers. If a position leaves the
layers because the accrued score is its position score, the result that the inner sweep of its side to move
gave it, if any, is already its fresh value. If an outer sweep overwrites a result of an inner sweep,
``Departures`` stores the level of this result, because updates of inner sweeps need it.

After the layers, quarters 2 and 3 are free (``spare_memory``).

This module also expands tables from their canonical slots to all slots.
"""

from typing import Final

import numpy as np

from tbgen.board.variant import Resets, Variant, unlisted_error
from tbgen.index.layout import Layout
from tbgen.moves.frames import frame_of, like_men_of, make_exits, make_phase
from tbgen.moves.kernels.best_exits import ExitBuffer
from tbgen.moves.kernels.moves import MAX_SCALARS, MAX_WORD_MOVES, SLICES, MoveBuffer
from tbgen.moves.kernels.words import Codes, Ints, Plies
from tbgen.moves.pool import QUARTERS
from tbgen.moves.structs import Exits, Frame, Phase, PhaseMoves, Pool, SpareMemory, make_men
from tbgen.retro.kernels.en_passant import EpPositions
from tbgen.retro.kernels.functions import FunctionNumbers
from tbgen.retro.kernels.layer_sweeps import Workspace
from tbgen.retro.kernels.sweep import (
    BATCH,
    CHUNK,
    Attacker,
    Departures,
    Outboxes,
    Scratch,
    Sets,
    SweepResults,
)
from tbgen.retro.kernels.update import max_departures
from tbgen.system.memory import invalidate, zeros

_ENTRIES_PER_WORD: Final = 1
"""Number of entries of all outboxes of an attacker together, for each word. Most levels need fewer."""
_STRETCHES: Final = 4
"""Greatest number of stretches of consecutive words that a part owns. With one, fewer moves lead to other
parts, but of two parts the larger has a third more words on the front than the mean; with four, 4 to 5 %
more (KRvKB)."""
_MIN_OWNER_BITS: Final = 6
"""Least value of ``Scratch.owner_bits``."""
_MAX_OWNERS: Final = 1 << 10
"""Greatest number of elements of ``Scratch.owners``, which should stay in the cache of a processor."""


def _make_outboxes(words: int, parts: int) -> Outboxes:
    """Return empty outboxes of the parts of a phase with ``words`` words. Memory is used as they fill."""
    least = 2 * (parts + (BATCH + MAX_WORD_MOVES) // CHUNK)
    chunks = least + _ENTRIES_PER_WORD * words // (CHUNK * parts) if parts > 1 else 0
    return Outboxes(
        word=zeros((parts, CHUNK * chunks), np.int32, large_pages=False),
        bits=zeros((parts, CHUNK * chunks), np.uint64, large_pages=False),
        end=np.zeros((parts, 2, max(parts, 8)), np.int64),
        last_end=np.empty((parts, chunks), np.int64),
        used_chunks=np.zeros(parts, np.int64),
    )


def make_scratch(frame: Frame, parts: int) -> Scratch:
    """Return scratch memory for one attacker whose sweeps are divided into ``parts`` parts, or fewer if there
    are too few words."""
    words = frame.words
    marks = words // 64 + 1
    owner_bits = max(_MIN_OWNER_BITS, words.bit_length() - _MAX_OWNERS.bit_length())
    parts = max(1, min(parts, words >> owner_bits))
    runs = np.arange(0, words, 1 << owner_bits) >> owner_bits
    owners = runs * parts * max(1, min(_STRETCHES, len(runs) // parts)) // len(runs) % parts
    sizes = np.bincount(np.repeat(owners, 1 << owner_bits)[:words], minlength=parts)
    moves_shape = (parts, BATCH + MAX_WORD_MOVES)
    return Scratch(
        candidates=zeros((2, words), np.uint64),
        marks=np.zeros((2, marks), np.uint64),
        mark_groups=np.zeros((parts, 2, marks // 64 + 1), np.uint64),
        front_word=zeros((2, 2 * words), np.int32, large_pages=False),
        front_bits=zeros((2, 2 * words), np.uint64, large_pages=False),
        front_sizes=np.zeros((parts, 2), np.int64),
        searched=np.zeros((parts, 2), np.int64),
        front_start=2 * np.cumsum(np.append(0, sizes)),
        owners=owners.astype(np.uint8),
        owner_bits=owner_bits,
        outboxes=_make_outboxes(words, parts),
        has_assigned=np.zeros(parts, np.int64),
        nonempty=np.zeros((2, marks), np.uint64),
        moves=MoveBuffer(
            np.empty(moves_shape, np.int64),
            np.empty(moves_shape, np.uint64),
            np.empty(moves_shape, np.int64),
            np.empty((parts, MAX_SCALARS), np.int64),
        ),
        exit_buffer=ExitBuffer(make_exits(1), make_men(), np.empty(SLICES, np.uint64)),
        max_depth=np.zeros(1, np.int64),
    )


def make_departures(parts: int, capacity: int) -> Departures:
    """Return memory for the departures of one attacker, ``capacity`` from each part of the sweep."""
    node, level = zeros((2, parts, capacity), np.uint32)
    return Departures(node, level, np.zeros(parts, np.int64))


def make_attacker(side: int, frame: Frame, phase: Phase, parts: int, results: SweepResults) -> Attacker:
    """Return the sets and scratch memory of the attacker ``side`` (0 White, 1 Black), with its results.

    The sweeps are divided into at most ``parts`` parts.
    """
    words = frame.words
    inner_words = words if phase.score_resets else 0
    changed = zeros((2, words), np.uint64)
    outer_wanted, outer_ready = zeros((2, words), np.uint64)
    inner_sets = zeros((3, inner_words), np.uint64)
    inner_counts = zeros(64 * inner_words, np.uint8)
    scratch = make_scratch(frame, parts)
    parts = len(scratch.front_sizes)
    return Attacker(
        side=side,
        frame=frame,
        phase=phase,
        outer_sets=Sets(outer_wanted, phase.quiet_counts[1 - side], outer_ready, changed[1 - side], changed),
        inner_sets=Sets(inner_sets[0], inner_counts, inner_sets[1], inner_sets[2], changed),
        scratch=scratch,
        results=results,
        departures=make_departures(parts, max_departures(128 * inner_words) // parts if inner_words else 0),
        logged=zeros((2, inner_words), np.uint64),
        last_key=np.zeros(1, np.int64),
    )


def make_function_numbers(slots: int) -> FunctionNumbers:
    """Return the numbers of the functions of ``slots`` slots, all 0."""
    return FunctionNumbers(zeros(slots, np.uint16), zeros(slots, np.uint16))


def make_ep_positions(size: int) -> EpPositions:
    """Return uninitialized arrays for the positions with an en passant right in a phase of ``size`` slots."""
    return EpPositions(np.empty(size, np.uint8), make_exits(size))


def score_resets(variant: Variant) -> bool:
    """Return whether captures and pawn moves reset the accrued score in a variant
    (:attr:`Phase.score_resets`).

    If not, nothing resets it.

    :raises UsageError: if the kernels do not solve the variant.
    """
    match variant.resets:
        case Resets.ZEROING_MOVES:
            return True
        case Resets.NOTHING:
            return False
        case other:
            raise unlisted_error(other, variant)


def make_workspace(layout: Layout, variant: Variant, parts: int = 1, pool: Pool | None = None) -> Workspace:
    """Return the workspace in which any phase of a layout can be solved.

    :param parts: greatest number of parts of a sweep, 1 to 64.
    :param pool: the pool of a table without pawns. Its first elements become the values and depths of the
        workspace, in the solver's order of slots. None if the workspace has arrays of its own.
    """
    frame = frame_of(layout, for_solver=True)
    slots = layout.slots_to_solve
    arrays = None
    if pool is not None and not layout.pawns:
        arrays = pool.value[: QUARTERS * slots], pool.depth[: QUARTERS * slots]
        pool.targets.start[0] = 0, slots
    return workspace_of(frame, score_resets(variant), like_men_of(layout), parts, arrays)


def workspace_of(
    frame: Frame, resets: bool, like_men: Ints, parts: int = 1, arrays: tuple[Codes, Plies] | None = None
) -> Workspace:
    """Return the workspace in which phases of a frame can be solved.

    :param arrays: memory for all values and all depths; None to allocate it.
    """
    phase = make_phase(frame.words, resets)
    slots = frame.words * 64
    value, depth = arrays or (zeros(QUARTERS * slots, np.uint8), zeros(QUARTERS * slots, np.uint16))

    def results(*quarters: int) -> SweepResults:
        return SweepResults(value, depth, slots * np.array(quarters))

    white = make_attacker(0, frame, phase, parts, results(0, 3))
    black = make_attacker(1, frame, phase, parts, results(2, 1))
    exits = Exits(value[: 2 * slots], depth[: 2 * slots], depth[2 * slots : 4 * slots])
    return Workspace(frame, phase, (white, black), results(0, 1), exits, like_men)


def moves_of(workspace: Workspace) -> PhaseMoves:
    """Return the arrays of a workspace for positions and moves, without those for sweeps."""
    return PhaseMoves(workspace.frame, workspace.phase, workspace.exits, workspace.like_men)


def spare_memory(workspace: Workspace) -> SpareMemory:
    """Return memory for the exits with one side to move, and a byte for each slot, in the quarters that have
    no fresh values.

    These quarters must not contain results, or exits of both sides, that are still needed.
    """
    value, depth, _ = workspace.fresh
    slots = workspace.frame.words * 64
    third, fourth = slice(2 * slots, 3 * slots), slice(3 * slots, 4 * slots)
    give_up_results(workspace, 2)
    return Exits(value[third], depth[third], depth[fourth]), value[fourth]


def give_up_results(workspace: Workspace, first_quarter: int = 0) -> None:
    """Declare that results and exits are no longer needed in the quarters from ``first_quarter`` on."""
    for array in (workspace.fresh.value, workspace.fresh.depth):
        invalidate(array[first_quarter * workspace.frame.words * 64 :])
