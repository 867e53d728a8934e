"""What a proof can find wrong, as the kernels note it: one int64 row per wrong state."""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbgen.compiler.jit import inlined

NOWHERE, MISSING, ENDED, STRAY, REPEATED, BETWEEN, WRONG, BY_FUNCTION, PROBED = range(9)
"""A value where there is no position; none where there is one; a wrong value of a mate or stalemate; a run
where none may start; one that says nothing new; one whose value does not lie between the accrued score and
the fresh value; a value or depth that its successors contradict; a function that says something else than
the layer of the accrued score; a probe that does, or that says something else than the fresh entry."""

COLUMNS: Final = 7
"""Problem, 1 for en passant positions, side to move, place, level, stored key, key as recomputed. The place
is the slot, or that of the flattened en passant arrays; the level is ``MIDDLE`` if it is the position's own
score and its rank is greater than all values'."""


class Findings(NamedTuple):
    """What one call of a kernel has found wrong."""

    rows: NDArray[np.int64]
    """Shape (room, ``COLUMNS``)."""
    total: NDArray[np.int64]
    """Shape (1,): how many there are; those beyond the room are counted only."""


@inlined
def note(
    findings: Findings,
    problem: int,
    en_passant: bool,
    side: int,
    place: int,
    level: int,
    stored: int,
    right: int,
) -> None:
    """Add one finding; the arguments are the columns of its row."""
    number = findings.total[0]
    findings.total[0] = number + 1
    if number < findings.rows.shape[0]:
        row = findings.rows[number]
        row[0], row[1], row[2], row[3] = problem, en_passant, side, place
        row[4], row[5], row[6] = level, stored, right
