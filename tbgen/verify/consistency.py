"""Whether the arrays of a table fit together, on which the kernels of the proof rely."""

from itertools import zip_longest

import chess
import numpy as np
from numpy.typing import NDArray

from tbgen.index.table import LAST_RUN, Table
from tbgen.verify.en_passant import allowed_rights
from tbgen.verify.packed import disorder


def inconsistency(table: Table) -> str | None:
    """Return what does not fit, None if everything does."""
    try:
        table.check_shapes()
    except ValueError as error:
        return str(error).removeprefix(f"table {table.material}: ")
    if table.run_rank.size and table.run_rank[-1] < LAST_RUN:
        return "its last run is not marked as such"
    if table.functions is not None and (problem := disorder(table.functions)) is not None:
        return problem
    return _wrong_rights(table)


def first_runs(table: Table) -> NDArray[np.int64]:
    """Return the number of the first run at or behind every 64th slot, by holder and side to move: shape (2,
    2, size / 64)."""
    ends = np.concatenate([[0], np.flatnonzero(table.run_rank & LAST_RUN) + 1])
    slots = np.bitwise_count(table.run_mask).ravel()
    before = np.cumsum(slots, dtype=np.int64) - slots
    return ends[before].reshape(table.run_mask.shape)


def _wrong_rights(table: Table) -> str | None:
    """Compare the en passant rights with what the pawns allow; name the first that is not the same."""
    rights = zip_longest(table.ep_config.tolist(), allowed_rights(table.layout).tolist())
    for number, (stored, allowed) in enumerate(rights):
        if stored is None:
            return f"ep/config lacks {_right(allowed)}"
        if allowed is None:
            return f"ep/config holds {_right(stored)}"
        if stored != allowed:
            return f"ep/config {number} is {_right(stored)}, but its pawns allow {_right(allowed)}"
    return None


def _right(config: list[int]) -> str:
    phase, square = config
    name = chess.square_name(square) if 0 <= square < 64 else f"square {square}"
    return f"a capture on {name} in phase {phase}"
