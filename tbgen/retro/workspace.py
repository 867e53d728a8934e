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

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tbgen.board.kinds import KINDS
from tbgen.board.variant import Resets, Variant, unlisted_error
from tbgen.compiler.jit import python_of
from tbgen.index.layout import IMAGE, MIRROR_FILES, TRANSPOSE, TRIANGLE, Layout, check_nodes
from tbgen.retro.geometry import ORTHODOX, TRIANGLE_SQUARE, movement_of
from tbgen.retro.kernels.best_exits import ExitBuffer, Exits
from tbgen.retro.kernels.canonical import copy_canonical, mark_canonical
from tbgen.retro.kernels.en_passant import EpPositions
from tbgen.retro.kernels.frame import IMAGE_PAIR, NO_PAIR, Frame, Phase
from tbgen.retro.kernels.functions import FunctionNumbers
from tbgen.retro.kernels.layer_sweeps import Workspace
from tbgen.retro.kernels.moves import MAX_SCALARS, MAX_WORD_MOVES, SLICES, MoveBuffer
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
from tbgen.retro.kernels.targets import Pool, men_buffer
from tbgen.retro.kernels.update import max_departures
from tbgen.retro.kernels.words import ALL, Codes, Ints, Plies
from tbgen.system.memory import invalidate, zeros

QUARTERS: Final = 4
"""Number of elements for each slot in the arrays of values and of depths."""
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


def _king_pairs(pairs: Sequence[int]) -> tuple[Ints, Ints]:
    """Return :attr:`Frame.king_pairs` and :attr:`Frame.pair_numbers` for pairs encoded as in
    ``SOLVED_PAIRS``."""
    coords, black = np.divmod(np.array(pairs), 64)
    pair_numbers = np.full((len(TRIANGLE), 64), NO_PAIR)
    pair_numbers[coords, black] = np.arange(len(pairs))
    images = np.array(IMAGE[TRANSPOSE])[black]
    has_image = (TRIANGLE_SQUARE[coords] % 9 == 0) & (pair_numbers[coords, images] == NO_PAIR)
    pair_numbers[coords[has_image], images[has_image]] = IMAGE_PAIR
    return np.stack([TRIANGLE_SQUARE[coords], black], axis=1), pair_numbers


def _pairs_by_white_king() -> tuple[Ints, Ints]:
    """Return :attr:`Frame.king_pairs` and :attr:`Frame.pair_numbers` if Black's king is the bit man.

    A pair is then numbered by the square of White's king alone.
    """
    pairs = np.array([(square, 0) for square in TRIANGLE], np.int64)
    return pairs, np.repeat(np.arange(len(TRIANGLE)), 64).reshape(-1, 64)


def frame_of(layout: Layout, *, for_solver: bool = False) -> Frame:
    """Return the frame of a layout, in which pawns are still missing; ``place_pawns`` adds those of a phase.

    :param for_solver: whether only the king pairs that must be solved have numbers.
    """
    scalars = layout.free_count - 1
    colours = np.array(layout.colours, np.int64)
    kinds = layout.material.kinds
    shifts = np.array([6 * (scalars - 1 - man) for man in range(scalars)], np.int64)
    words = layout.phase_size // 64
    pairs = np.zeros((0, 2), np.int64)
    pair_numbers = np.zeros((0, 64), np.int64)
    if not layout.pawns:
        numbered_pairs = layout.solved_pairs if for_solver else range(len(TRIANGLE) * 64)
        pairs, pair_numbers = _king_pairs(numbered_pairs) if scalars > 1 else _pairs_by_white_king()
        shifts[0] = shifts[min(1, scalars - 1)]
        words = len(pairs) << int(shifts[0])
    return Frame(
        moves=ORTHODOX if kinds is KINDS else movement_of(kinds),
        kinds=np.array(layout.kinds, np.int64),
        colours=colours,
        mover_colours=colours,
        shifts=shifts,
        frozen_squares=np.zeros(scalars, np.int64),
        bit_man_squares=ALL,
        scalars=scalars,
        pawnless=not layout.pawns,
        king_pairs=pairs,
        pair_numbers=pair_numbers,
        words=words,
        pawns=np.zeros(2, np.uint64),
        castlings=np.zeros((0, 4), np.int64),
        like_scalars=_like_scalars(layout),
    )


def to_table_order(
    layout: Layout, array: NDArray[Any], filler: int, source: NDArray[Any] | None = None
) -> None:
    """Move elements from the solver's order of slots to the order of the table.

    :param array: one-dimensional, with an element for each slot, or each word, of one phase of the table.
    :param filler: value for the slots that the solver does not have.
    :param source: the elements in the solver's order; None if they are at the beginning of ``array``.
        ``source`` may overlap ``array``, but must not begin at a later address than ``array``.
    """
    if pairs := layout.solved_pairs:
        by_pair = array.reshape(layout.king_slots * 64, -1)
        solved = (array if source is None else source).reshape(-1, by_pair.shape[1])
        for index in range(len(pairs) - 1, -1, -1):  # no pair moves to a smaller index
            by_pair[pairs[index]] = solved[index]
        by_pair[np.setdiff1d(np.arange(len(by_pair)), pairs)] = filler
    elif source is not None:
        array[:] = source


def to_solver_order(layout: Layout, array: NDArray[Any]) -> None:
    """Move the elements of an array, one for each slot of a phase, in place, from the order of the table to
    the solver's order of slots."""
    if layout.solved_pairs:
        by_pair = array.reshape(layout.king_slots * 64, -1)
        for index, pair in enumerate(layout.solved_pairs):
            by_pair[index] = by_pair[pair]


def table_slots(layout: Layout, slots: Ints) -> Ints:
    """Convert slots of a phase in the solver's order to slots in the order of the table, and return them."""
    if not layout.solved_pairs:
        return slots
    slots_per_pair = layout.solved_slots // len(layout.solved_pairs)
    pair, rest = np.divmod(slots, slots_per_pair)
    return np.array(layout.solved_pairs)[pair] * slots_per_pair + rest


def _like_scalars(layout: Layout) -> Ints:
    """Return the half-open index ranges of scalars of the same kind and colour, as int64 (n, 2).

    No ranges are returned for a layout with pawns. Pawn moves lead to slots with like men in any order, so
    words that differ only in the order of like men must all be solved.
    """
    ranges = [(first, min(end, layout.free_count - 1)) for first, end in layout.like_men if not layout.pawns]
    return np.array([group for group in ranges if group[1] - group[0] > 1], np.int64).reshape(-1, 2)


def place_pawns(frame: Frame, layout: Layout, phase: int) -> None:
    """Set the pawns of a frame to those of a phase."""
    placement = layout.placements[phase]
    for colour, squares in enumerate((placement[: layout.white_pawns], placement[layout.white_pawns :])):
        frame.pawns[colour] = sum(1 << square for square in squares)


def like_men_of(layout: Layout) -> Ints:
    """Return the half-open index ranges of free men of the same kind and colour, as int64 (n, 2)."""
    return np.array(layout.like_men, np.int64).reshape(-1, 2)


def mirrors_itself(layout: Layout, phase: int) -> bool:
    """Whether the pawn placement of a phase is its own mirror image; False if there are no pawns."""
    placement = layout.placements[phase]
    return bool(placement) and layout.placement_of(placement, MIRROR_FILES) == placement


def _make_outboxes(words: int, parts: int) -> Outboxes:
    """Return empty outboxes of the parts of a phase with ``words`` words. Memory is used as they fill."""
    least = 2 * (parts + (BATCH + MAX_WORD_MOVES) // CHUNK)
    chunks = least + _ENTRIES_PER_WORD * words // (CHUNK * parts) if parts > 1 else 0
    return Outboxes(
        word=np.empty((parts, CHUNK * chunks), np.int32),
        bits=np.empty((parts, CHUNK * chunks), np.uint64),
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
        front_word=np.empty((2, 2 * words), np.int32),
        front_bits=np.empty((2, 2 * words), np.uint64),
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
        exit_buffer=ExitBuffer(make_exits(1), python_of(men_buffer)(), np.empty(SLICES, np.uint64)),
        max_depth=np.zeros(1, np.int64),
    )


def make_phase(words: int, score_resets: bool) -> Phase:
    """Return the sets and counters of one phase, all zeros.

    :raises LimitError: if it has more nodes than departures can tell apart.
    """
    check_nodes(64 * words, "the phase")
    legal, alive, departed = zeros((3, 2, words), np.uint64)
    return Phase(
        legal=legal,
        alive=alive,
        departed=departed,
        rank_bits=zeros((2, words, SLICES), np.uint64),
        canonical=zeros(words, np.uint64),
        quiet_counts=zeros((2, 64 * words), np.uint8),
        score_resets=score_resets,
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


def make_exits(size: int) -> Exits:
    """Return memory for the exits of ``size`` positions."""
    return Exits(zeros(size, np.uint8), zeros(size, np.uint16), zeros(size, np.uint16))


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
            raise unlisted_error(other)


def make_workspace(layout: Layout, variant: Variant, parts: int = 1, pool: Pool | None = None) -> Workspace:
    """Return the workspace in which any phase of a layout can be solved.

    :param parts: greatest number of parts of a sweep, 1 to 64.
    :param pool: the pool of a table without pawns. Its first elements become the values and depths of the
        workspace, in the solver's order of slots. None if the workspace has arrays of its own.
    """
    frame = frame_of(layout, for_solver=True)
    slots = layout.solved_slots
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


def spare_memory(workspace: Workspace) -> tuple[Exits, Codes]:
    """Return memory for the exits with one side to move, and a byte for each slot, in the quarters that have
    no fresh values.

    These quarters must not contain results, or exits of both sides, that are still needed.
    """
    value, depth, _ = workspace.fresh
    slots = workspace.frame.words * 64
    first, second = slice(2 * slots, 3 * slots), slice(3 * slots, 4 * slots)
    give_up_results(workspace, 2)
    return Exits(value[first], depth[first], depth[second]), value[second]


def give_up_results(workspace: Workspace, first_quarter: int = 0) -> None:
    """Declare that results and exits are no longer needed in the quarters from ``first_quarter`` on."""
    for array in (workspace.fresh.value, workspace.fresh.depth):
        invalidate(array[first_quarter * workspace.frame.words * 64 :])


def expand(layout: Layout, phase: int, value: NDArray[np.uint8], depth: NDArray[np.uint16]) -> None:
    """Copy value and depth of each canonical slot of a phase to all slots that stand for the same position.

    :param value: uint8 (phase size,): codes of the values with one side to move.
    :param depth: uint16 (phase size,): depths in plies with this side to move.
    """
    like_men = like_men_of(layout)
    symmetric = mirrors_itself(layout, phase)
    if len(like_men) or symmetric or not layout.pawns:
        frame = frame_of(layout)
        canonical = np.empty(frame.words, np.uint64)
        all_slots = np.full(frame.words, ALL)
        mark_canonical(frame, like_men, symmetric, canonical, 0, frame.words)
        copy_canonical(frame, like_men, symmetric, canonical, all_slots, value, depth, 0, frame.words)
