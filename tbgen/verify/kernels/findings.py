"""Working space of a kernel call, and the wrong states that it finds: one int64 row each."""

from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tbgen.compiler.jit import inlined

NOWHERE, MISSING, ENDED, STRAY, REPEATED, BETWEEN, WRONG, BY_FUNCTION, PROBED = range(9)
"""A value where there is no position; none where there is one; a wrong value of a mate or stalemate; a run
where none may start; one that says nothing new; one whose value does not lie between the accrued score and
the fresh value; a value or depth that its successors contradict; a function that says something else than
the layer of the accrued score; a probe that does, or that says something else than the fresh entry."""

COLUMNS: Final = 7
"""Problem, the three numbers of the place, level, stored key, key as recomputed. The level is ``MIDDLE`` if
it is the position's own score and its rank is greater than all values'."""

Place: TypeAlias = tuple[int, int, int]
"""1 for en passant positions, side to move, slot; of en passant positions that of the flattened arrays."""


class ProofScratch(NamedTuple):
    """Working space of one kernel call, with room for its findings."""

    squares: NDArray[np.int64]
    """Shape (32,): squares of the men of the position in hand."""
    targets: NDArray[np.uint64]
    """Shape (32,): their legal targets."""
    after: NDArray[np.int64]
    """Shape (16,): the men of the table that a zeroing move leads to, and their images."""
    findings: NDArray[np.int64]
    """Shape (room, ``COLUMNS``)."""
    total: NDArray[np.int64]
    """Shape (1,): the number of findings; those beyond the room are counted only."""


@inlined
def note(scratch: ProofScratch, problem: int, place: Place, level: int, stored: int, right: int) -> None:
    """Add one finding; the arguments are the columns of its row."""
    number = scratch.total[0]
    scratch.total[0] = number + 1
    if number < scratch.findings.shape[0]:
        row = scratch.findings[number]
        row[1], row[2], row[3] = place
        row[0], row[4], row[5], row[6] = problem, level, stored, right
