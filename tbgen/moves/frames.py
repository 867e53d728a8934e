"""The frames of tables, the order of slots in solvers and tables, and memory for the moves of a phase."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tbgen.board.kinds import KINDS
from tbgen.compiler.structs import Ints
from tbgen.index.layout import IMAGE, MIRROR_FILES, TRANSPOSE, TRIANGLE, Layout, check_nodes
from tbgen.moves.geometry import ORTHODOX, TRIANGLE_SQUARE, movement_of
from tbgen.moves.kernels.canonical import copy_canonical, mark_canonical
from tbgen.moves.kernels.moves import SLICES
from tbgen.moves.kernels.words import ALL
from tbgen.moves.structs import IMAGE_PAIR, NO_PAIR, Exits, Frame, Phase
from tbgen.system.memory import zeros


def _king_pairs(pairs: Sequence[int]) -> tuple[Ints, Ints]:
    """Return :attr:`Frame.king_pairs` and :attr:`Frame.pair_numbers` for pairs encoded as in
    ``PAIRS_TO_SOLVE``."""
    coords, black_kings = np.divmod(np.array(pairs), 64)
    pair_numbers = np.full((len(TRIANGLE), 64), NO_PAIR)
    pair_numbers[coords, black_kings] = np.arange(len(pairs))
    images = np.array(IMAGE[TRANSPOSE])[black_kings]
    has_image = (TRIANGLE_SQUARE[coords] % 9 == 0) & (pair_numbers[coords, images] == NO_PAIR)
    pair_numbers[coords[has_image], images[has_image]] = IMAGE_PAIR
    return np.stack([TRIANGLE_SQUARE[coords], black_kings], axis=1), pair_numbers


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
        numbered_pairs = layout.pairs_to_solve if for_solver else range(len(TRIANGLE) * 64)
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
    if pairs := layout.pairs_to_solve:
        by_pair = array.reshape(layout.king_coords * 64, -1)
        in_solver_order = (array if source is None else source).reshape(-1, by_pair.shape[1])
        for index in range(len(pairs) - 1, -1, -1):  # no pair moves to a smaller index
            by_pair[pairs[index]] = in_solver_order[index]
        by_pair[np.setdiff1d(np.arange(len(by_pair)), pairs)] = filler
    elif source is not None:
        array[:] = source


def to_solver_order(layout: Layout, array: NDArray[Any]) -> None:
    """Move the elements of an array, one for each slot of a phase, in place, from the order of the table to
    the solver's order of slots."""
    if layout.pairs_to_solve:
        by_pair = array.reshape(layout.king_coords * 64, -1)
        for index, pair in enumerate(layout.pairs_to_solve):
            by_pair[index] = by_pair[pair]


def table_slots(layout: Layout, slots: Ints) -> Ints:
    """Convert slots of a phase in the solver's order to slots in the order of the table, and return them."""
    if not layout.pairs_to_solve:
        return slots
    slots_per_pair = layout.slots_to_solve // len(layout.pairs_to_solve)
    pair, rest = np.divmod(slots, slots_per_pair)
    return np.array(layout.pairs_to_solve)[pair] * slots_per_pair + rest


def _like_scalars(layout: Layout) -> Ints:
    """Return the half-open index ranges of scalars of the same kind and colour, as int64 (n, 2).

    No ranges are returned for a layout with pawns. Pawn moves lead to slots with like men in any order, so
    words that differ only in the order of like men must all be solved.
    """
    ranges = [(start, min(end, layout.free_count - 1)) for start, end in layout.like_men if not layout.pawns]
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


def make_exits(size: int) -> Exits:
    """Return memory for the exits of ``size`` positions."""
    return Exits(zeros(size, np.uint8), zeros(size, np.uint16), zeros(size, np.uint16))


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
