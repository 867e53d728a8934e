"""The exits of positions of a packed table: the best of their zeroing moves, looked up in the sub-tables."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cache
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tbgen.compiler.jit import with_fixed_types
from tbgen.errors import TbgenError
from tbgen.index.layout import SIDES, Layout, Side, layout_of
from tbgen.index.zeroing import targets_of
from tbgen.packed.kernels.zeroing import COLUMNS, MOST_ZEROING, Destinations, keep_best, list_zeroing
from tbgen.packed.pack import rows_of, stored_side
from tbgen.packed.rooms import THREAD
from tbgen.retro.pool import make_directory

Moves: TypeAlias = NDArray[np.int64]
"""int64 (n, 4): number of the position that moves, number of the target, canonical slot in its table, and the
target of a legal en passant capture as the table numbers it, -1 without such a right."""
Exits: TypeAlias = NDArray[np.int64]
"""int64 (n, 3): code of the best zeroing move with the colours of the table, NONE without one, DAMAGED if it
cannot be looked up; smallest and greatest depth after it in plies."""
Target: TypeAlias = tuple[Layout, Side]
"""A table that moves lead to, and the side to move there."""
FreshValues: TypeAlias = Callable[[Sequence[Target], Moves], tuple[NDArray[np.int64], TbgenError | None]]
"""Takes the targets in the order of their numbers, and moves; returns the codes of W and D in plies after
them, int64 (n, 2), a code DAMAGED where it cannot be looked up, and the first error if there was one."""

_AT_ONCE: Final = 1 << 12
"""Positions whose moves are listed at once."""

_list_zeroing: Final = with_fixed_types(list_zeroing)
_keep_best: Final = with_fixed_types(keep_best)


@cache
def destinations_of(layout: Layout) -> Destinations:
    """Return the tables that the zeroing moves of a table lead to, as the kernels see them."""
    layouts = [layout_of(target.material) for target in targets_of(layout).values()]
    directory = make_directory(layout, defaultdict(int), len(layout.placements), ())
    # Among five men there is at most one group of like free men.
    like = [next(iter(each.like_men), (0, 0)) for each in layouts]
    return Destinations(
        rows_of(layout, stored_side(layout)), directory, np.array(like, np.int64).reshape(-1, 2)
    )


class ExitFinder:
    """Finds the exits of positions of one table.

    :param fresh: looks up the fresh values that zeroing moves lead to.
    """

    def __init__(self, layout: Layout, fresh: FreshValues) -> None:
        self._to, self._fresh = destinations_of(layout), fresh
        self.targets: Final = [
            (layout_of(target.material), SIDES[(1 - side) ^ target.swapped])
            for (side, *_), target in targets_of(layout).items()
        ]
        """The targets in the order of their numbers."""

    def moves(self, side: Side, slots: NDArray[np.int64], captures_only: bool) -> Moves:
        """Return the zeroing moves of legal positions with a side to move, ascending by position.

        :param slots: int64 (n,), canonical or not.
        :param captures_only: whether pawn moves that capture nothing are left out.
        """
        if len(slots) > _AT_ONCE:
            found = []
            for first in range(0, len(slots), _AT_ONCE):
                found.append(self.moves(side, slots[first : first + _AT_ONCE], captures_only))
                found[-1][:, 0] += first
            return np.concatenate(found)
        moves = np.empty((len(slots) * MOST_ZEROING, COLUMNS), np.int64)
        return moves[: _list_zeroing(self._to, side, slots, captures_only, THREAD.moves, moves)]

    def __call__(
        self, side: Side, slots: NDArray[np.int64], captures_only: bool
    ) -> tuple[Exits, TbgenError | None]:
        """Return the exits of positions, and the first error if some cannot be looked up.

        Takes what :meth:`moves` does.
        """
        moves, exits = self.moves(side, slots, captures_only), np.empty((len(slots), 3), np.int64)
        entries, failed = self._fresh(self.targets, moves)
        _keep_best(self._to, side, moves, entries, exits)
        return exits, failed
