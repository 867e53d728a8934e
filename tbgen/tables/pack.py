"""Decisions for packing: the stored side to move, the order of its positions, and which positions are stored.

A packed table stores the positions with one side to move, the stored side. Most positions with the other side
to move, the derived side, follow from them. The others are *exceptions*, which are also stored.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tbgen.board.material import MAX_MEN
from tbgen.compiler.jit import python_of
from tbgen.errors import LimitError
from tbgen.index.arrays import equal_parts
from tbgen.index.layout import SIDES, Layout, Side, layout_of
from tbgen.index.zeroing import targets_of
from tbgen.moves.frames import mirrors_itself, table_slots, to_table_order
from tbgen.moves.kernels.canonical import copy_canonical
from tbgen.moves.kernels.moves import MAX_WORD_MOVES, move_buffer
from tbgen.moves.kernels.phases import find_side_exits
from tbgen.moves.kernels.words import ALL
from tbgen.moves.pool import Map, Result
from tbgen.moves.structs import PhaseMoves, Pool, SpareMemory, make_men
from tbgen.store.schema import slots_in
from tbgen.tables.coding import PerThread, block_rows_of, stored_side
from tbgen.tables.kernels.derive import (
    Children,
    DerivationBuffers,
    PhaseData,
    clear_flags,
    find_exceptions,
    find_needed,
    find_ranks,
    find_usable,
    flag_by_exit,
)
from tbgen.tables.structs import (
    CAPTURE_FLAG,
    MAX_BLOCK_ROWS,
)

MAX_DERIVED_RANK: Final = 127
"""Greatest position rank of the derived side whose position score the derivation orders correctly."""

MAX_SLOTS: Final = (1 << 32) - 1
"""Maximum number of slots of a packed table for one side to move: the encoder counts in four bytes how often
a symbol occurs. (Keys of questions, in :mod:`tbgen.tables.kernels.questions`, have 34 bits for a slot.)"""
MAX_LIKE_GROUPS: Final = 1
"""Maximum number of groups of like men (``Layout.like_men``) in a table that zeroing moves lead to."""
_SEARCH_ROUNDS: Final = 2
"""Number of searches for positions that must be stored to avoid exceptions. After a search has added
positions, other moves may give the remaining exceptions their values, so another search can avoid more."""


def check_packing(layout: Layout) -> None:
    """Check that a packed file can hold a table, and that kernels can look it up.

    :raises LimitError: if it has too many slots, rows in a block, or groups of like men after a zeroing move.
        No table of five men exceeds these limits.
    """
    groups = max((len(layout_of(each.material).like_men) for each in targets_of(layout).values()), default=0)
    for noun, count, limit in (
        ("slots", layout.size, MAX_SLOTS),
        ("rows in a block", block_rows_of(layout), MAX_BLOCK_ROWS),
        ("groups of like men after a move", groups, MAX_LIKE_GROUPS),
    ):
        if count > limit:
            raise LimitError(f"{layout.material} has {count} {noun}; a packed table has at most {limit}")


def make_derivation() -> DerivationBuffers:
    """Return buffers for deriving one word after another."""
    (best, value), plies = np.zeros((2, 64), np.uint8), np.zeros((3, 64), np.uint16)
    values, ranks = np.zeros((2, 192), np.uint8)
    return DerivationBuffers(
        moves=python_of(move_buffer)(MAX_WORD_MOVES),
        best=best,
        nearest=plies[0],
        farthest=plies[1],
        uncounted=np.zeros(1, np.uint64),
        value=value,
        depth=plies[2],
        squares=np.zeros(MAX_MEN, np.int64),
        padded_children=Children(values, np.zeros(192, np.uint16), ranks),
    )


DERIVING: Final = PerThread(make_derivation)


@dataclass(frozen=True)
class StoredPositions:
    """The positions of a table that must be stored: all of the stored side but ``omitted``, and the
    exceptions."""

    side: Side
    """The stored side to move."""
    omitted: NDArray[np.uint64]
    """uint64 (size / 64,): slots of the stored side that need not be stored. The best capture gives their
    values, and no derived position depends on them."""
    exceptions: NDArray[np.int64]
    """Slots of the derived side for which the derived result is wrong, ascending."""


class NeedFinder:
    """Finds the positions that must be stored, phase by phase while the solver runs.

    The object is a :data:`tbgen.retro.solver.AfterPhase` of the solver; several threads may call it.

    :raises LimitError: if the table cannot be packed (:func:`check_packing`).
    """

    def __init__(self, layout: Layout) -> None:
        check_packing(layout)
        self._layout = layout
        self.side = stored_side(layout)
        self._derived = SIDES[1 - self.side]
        self._omitted = np.zeros(layout.size // 64, np.uint64)
        self._exceptions: list[NDArray[np.int64]] = []
        self._lock = threading.Lock()

    def __call__(
        self, phase: int, moves: PhaseMoves, pool: Pool, spare: SpareMemory, parts: int, mapper: Map
    ) -> None:
        """Process a solved phase. ``mapper`` may distribute ``parts`` parts of its words over threads.

        :raises LimitError: if a depth is so great that it would set the bit ``CAPTURE_FLAG``, or a position
            rank of the derived side exceeds :data:`MAX_DERIVED_RANK`. No table of five men has such numbers.
        """
        layout = self._layout
        side = int(self.side)
        derived = int(self._derived)
        frame = moves.frame
        slot_count = 64 * frame.words
        first_slot = phase * layout.phase_size
        symmetric = mirrors_itself(layout, phase)
        like_men = moves.like_men
        word_parts = equal_parts(frame.words, parts)

        def run_parts(function: Callable[..., Result], *arguments: object) -> list[Result]:
            return list(mapper(lambda part: function(*arguments, *part), word_parts))

        # The ranks overwrite the counts of quiet moves, which are not needed after the phase has been solved.
        start = pool.targets.start[phase].copy()
        rank = moves.phase.quiet_counts
        # The exits of the stored side are needed before those of the derived side.
        usable = np.zeros((2, frame.words), np.uint64)
        exits, needed = spare
        data = PhaseData(frame, moves.phase, (exits, exits), pool.value, pool.depth, start, rank, *usable)
        slots = slice(int(data.start[side]), int(data.start[side]) + slot_count)
        depths = pool.depth[slots].reshape(-1, 64)
        deepest = max(run_parts(lambda *part: int(depths[slice(*part)].max(initial=0))))
        if deepest >= CAPTURE_FLAG:
            raise LimitError(f"{layout.material}: depths of {deepest} plies do not fit into packed tables")

        def expand() -> None:
            sets = data.phase.canonical, data.phase.legal[side]
            run_parts(copy_canonical, frame, like_men, symmetric, *sets, pool.value[slots], pool.depth[slots])

        def find_exits(mover: int, captures_only: bool) -> None:
            arguments = moves, pool, mover, captures_only, data.phase.canonical, exits
            run_parts(lambda *part: find_side_exits(*arguments, make_men(), *part))

        run_parts(find_ranks, data.phase, data.rank)
        ranks = data.rank[derived].reshape(-1, 64)
        highest = max(run_parts(lambda *part: int(ranks[slice(*part)].max(initial=0))))
        if highest > MAX_DERIVED_RANK:
            raise LimitError(f"{layout.material}: ranks of {highest} to derive do not fit into packed tables")
        find_exits(side, True)
        run_parts(flag_by_exit, data, side)
        find_exits(derived, False)
        needed[:] = 0
        exceptions = np.full(frame.words, ALL)
        for search in range(_SEARCH_ROUNDS + 1):
            if search > 0:
                run_parts(
                    lambda *part: find_needed(
                        data, derived, like_men, symmetric, exceptions, needed, DERIVING.buffers, *part
                    )
                )
                run_parts(clear_flags, data, side, needed)
            expand()
            run_parts(find_usable, data, side)
            run_parts(lambda *part: find_exceptions(data, derived, exceptions, DERIVING.buffers, *part))
        omitted = self._omitted[first_slot // 64 : (first_slot + layout.phase_size) // 64]
        stored = data.phase.canonical & data.phase.legal[side]

        def omit_flagged(start: int, stop: int) -> None:
            is_flagged = depths[start:stop] >= CAPTURE_FLAG
            flags = np.packbits(is_flagged, bitorder="little").view(np.uint64)
            np.bitwise_and(flags, stored[start:stop], out=omitted[start:stop])
            depths[start:stop] &= CAPTURE_FLAG - 1

        run_parts(omit_flagged)
        to_table_order(layout, omitted, 0)

        def exception_slots(start: int, stop: int) -> NDArray[np.int64]:
            return table_slots(layout, slots_in(exceptions[start:stop]) + 64 * start) + first_slot

        slots_of_parts = run_parts(exception_slots)
        with self._lock:
            self._exceptions += slots_of_parts

    def stored_positions(self) -> StoredPositions:
        """Return the positions that must be stored, after all phases have been processed."""
        exceptions = np.concatenate(self._exceptions)
        exceptions.sort()
        return StoredPositions(self.side, self._omitted, exceptions)
