"""The order of a packed table: which side to move is stored, and which man is which digit."""

import numpy as np

from tbgen.index.layout import BLACK_TO_MOVE, WHITE_TO_MOVE, Layout, Side
from tbgen.packed.kernels.rows import Rows
from tbgen.retro.workspace import like_men, mirrors_itself

_WORTH = (0, 9, 5, 3, 3)
"""What a man of each kind is worth; a pawn 1."""

_CLEAR = 2
"""From what advantage on the stronger side to move is the one to store."""


def stored_side(layout: Layout) -> Side:
    """Return the side to move that is stored: White, the stronger, unless the game is balanced.

    Where White wins, its positions are fewer and their values alike; in balanced endings those of the side
    with fewer moves are (docs/format.md has measurements).
    """
    advantage = layout.white_pawns - layout.black_pawns
    for kind, colour in zip(layout.kinds, layout.colours, strict=True):
        advantage += -_WORTH[kind] if colour else _WORTH[kind]
    return WHITE_TO_MOVE if advantage >= _CLEAR else BLACK_TO_MOVE


def digit_order(layout: Layout, side: Side) -> list[int]:
    """Return the free men from the major digit of a row's number to the row man.

    The men of the side not to move come first, kings before pieces, knights before sliders.
    """

    def men(colour: int) -> list[int]:
        pieces = [man for man in range(2, layout.free) if layout.colours[man] == colour]
        return [colour, *sorted(pieces, key=lambda man: (-layout.kinds[man], man))]

    return men(1 - side) + men(side)


def rows_of(layout: Layout, side: Side) -> Rows:
    """Return the rows of a table with one side to move, as the kernels see them."""
    order = digit_order(layout, side)
    radix = [10 if man == 0 and not layout.pawns else 64 for man in order[:-1]]
    pawns = [
        [sum(1 << square for square in part) for part in (p[: layout.white_pawns], p[layout.white_pawns :])]
        for p in layout.placements
    ]
    return Rows(
        int(side),
        np.array(layout.kinds, np.int64),
        np.array(layout.colours, np.int64),
        np.array(order, np.int64),
        np.arange(layout.free),
        like_men(layout),
        not layout.pawns,
        int(np.prod(radix)),
        np.array(pawns, np.uint64).reshape(-1, 2),
        6 * (layout.free - 1 - order[-1]),
        np.array([mirrors_itself(layout, phase) for phase in range(len(layout.placements))], np.int64),
    )
