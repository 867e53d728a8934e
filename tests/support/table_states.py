"""Whole tables as numpy arrays: slots of many positions at once, and every state that the runs stand for.

Follows docs/format.md; of the package it uses the index and nothing that solves or reads tables.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE
from tbgen.index.codes import FRESH, LAST_RUN
from tbgen.index.layout import IMAGE, TRIANGLE, TRIANGLE_COORD, Layout
from tbgen.index.table import Table

Squares = NDArray[np.int64]
"""One row per man, in the order of the layout; one column per position."""


def ranks_of(codes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Ranks of score codes; those of NONE are of no use."""
    return np.minimum(codes, 255 - codes)


def squares_of(layout: Layout, slots: NDArray[np.int64]) -> tuple[Squares, Squares]:
    """Squares of the free men and of the pawns in many slots."""
    phase, rest = np.divmod(slots, layout.phase_size)
    free = np.empty((layout.free_count, len(slots)), np.int64)
    for man in range(layout.free_count - 1, 0, -1):
        free[man] = rest & 63
        rest = rest >> 6
    free[0] = rest if layout.pawns else np.array(TRIANGLE)[rest]
    return free, _placements(layout)[:, phase]


def canonical_slots(layout: Layout, free: Squares, pawns: Squares) -> NDArray[np.int64]:
    """Smallest slot of all images of each position under the symmetries and exchanges of like men."""
    best = np.full(free.shape[1], layout.size, np.int64)
    placed = np.zeros(free.shape[1], np.int64)
    for number in (0, 1) if layout.pawns else range(8):
        image = np.array(IMAGE[number])
        men = image[free]
        for start, stop in layout.like_men:
            men[start:stop] = np.sort(men[start:stop], axis=0)
        if layout.pawns:
            white, black = np.split(image[pawns], [layout.white_pawns])
            placed = _joined(np.concatenate([np.sort(white, axis=0), np.sort(black, axis=0)]))
            slot = _phase_of(layout)[placed] * 64 + men[0]
        else:
            slot = _coordinates()[men[0]]
        slot = np.where(slot < 0, layout.size, slot << 6 * (layout.free_count - 1) | _joined(men[1:]))
        best = np.minimum(best, slot)
    return best


def runs_of(table: Table) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Holder, side and slot of every run."""
    bits = np.unpackbits(table.run_mask.astype("<u8").view(np.uint8), axis=-1, bitorder="little")
    first = np.append(0, np.flatnonzero(table.run_rank & LAST_RUN) + 1)[:-1]
    lengths = np.diff(np.append(first, len(table.run_rank)))
    holder, side, slot = (np.repeat(axis, lengths) for axis in np.nonzero(bits))
    return holder, side, slot


def layers_of(
    table: Table, score: NDArray[np.uint8]
) -> Iterator[tuple[int, NDArray[np.uint8], NDArray[np.uint16]]]:
    """Values and depths, both (2, size), of all slots with one accrued score after the other.

    By rank, White's scores first, as long as a position has such a state. ``score`` (2, size) are the codes
    of the position scores; positions with a smaller position rank get meaningless values and depths.
    """
    holder, side, slot = runs_of(table)
    first_rank = table.run_rank % LAST_RUN
    fresh_rank = ranks_of(table.value)
    latest = np.full((2, *table.value.shape), -1, np.int64)
    for rank in range(2, int(ranks_of(score[score != NONE]).max()) + 1):
        for sign in (0, 1):
            code = 255 - rank if sign else rank
            new = np.flatnonzero((holder == sign) & (first_rank == rank))
            latest[sign, side[new], slot[new]] = new
            value = np.append(table.run_value, np.uint8(NONE))[latest[sign]]
            depth = np.append(table.run_depth, np.uint16(0))[latest[sign]]
            value[value == NONE] = code
            fresh = (value == FRESH) | (rank > fresh_rank) | (score == code)
            yield code, np.where(fresh, table.value, value), np.where(fresh, table.depth, depth)


def _joined(squares: Squares) -> NDArray[np.int64]:
    """Squares as the digits of one number in base 64."""
    number = np.zeros(squares.shape[1], np.int64)
    for row in squares:
        number = number << 6 | row
    return number


def _coordinates() -> NDArray[np.int64]:
    return np.array([TRIANGLE_COORD.get(square, -1) for square in range(64)])


def _placements(layout: Layout) -> Squares:
    return np.array(layout.placements, np.int64).reshape(len(layout.placements), layout.pawns).T


def _phase_of(layout: Layout) -> NDArray[np.int64]:
    """Phase of the canonical placement whose squares are these digits, else -2."""
    phases = np.full(64**layout.pawns, -2, np.int64)
    phases[_joined(_placements(layout))] = np.arange(len(layout.placements))
    return phases


class States:
    """Single states of a table: a slow look-up that follows docs/format.md."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._size = table.value.shape[1]
        holder, side, slot = runs_of(table)
        self._place = (2 * holder + side) * self._size + slot

    def look_up(self, side: int, slot: int, own: int, accrued: int) -> tuple[int, int]:
        """Value code and depth; ``own``, the code of the position score, is folded into ``accrued``."""
        table = self._table
        fresh = int(table.value[side, slot]), int(table.depth[side, slot])
        rank = min(accrued, 255 - accrued)
        if accrued == own or rank > min(fresh[0], 255 - fresh[0]):
            return fresh
        place = (2 * (accrued >= 128) + side) * self._size + slot
        value, depth = int(NONE), 0
        for run in range(*np.searchsorted(self._place, [place, place + 1]).tolist()):
            if table.run_rank[run] % LAST_RUN <= rank:
                value, depth = int(table.run_value[run]), int(table.run_depth[run])
        return fresh if value == FRESH else (accrued, 0) if value == NONE else (value, depth)
