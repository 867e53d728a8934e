"""Which en passant rights a table must cover."""

import numpy as np
from numpy.typing import NDArray

from tbgen.index.layout import Layout


def allowed_rights(layout: Layout) -> NDArray[np.int32]:
    """Return int32 (n, 2): phase and target square of every en passant capture that pawns alone allow.

    A pawn stands where a double step ends, its start and the square it passed hold no pawn, and a pawn of the
    other side attacks the passed square. Phases ascend, then squares.
    """
    configs = []
    for phase, placement in enumerate(layout.placements):
        white, black = placement[: layout.white_pawns], placement[layout.white_pawns :]
        for target in (*range(16, 24), *range(40, 48)):
            ahead = 8 if target < 32 else -8
            movers, takers = (white, black) if target < 32 else (black, white)
            if target + ahead not in movers or {target, target - ahead} & {*placement}:
                continue
            if any(
                taker // 8 == (target + ahead) // 8 and abs(taker - target - ahead) == 1 for taker in takers
            ):
                configs.append((phase, target))
    return np.array(configs, np.int32).reshape(-1, 2)


def rows_of_rights(layout: Layout, configs: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return int32 (phases, 16): the row of each configuration by phase and file of the target square, from 8
    on where White captures; -1 where there is none."""
    rows = np.full((len(layout.placements), 16), -1, np.int32)
    for row, (phase, target) in enumerate(configs.tolist()):
        rows[phase, target % 8 + (8 if target > 31 else 0)] = row
    return rows
