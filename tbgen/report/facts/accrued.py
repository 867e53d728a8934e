"""What becomes of accrued scores, from the counts of a table."""

import numpy as np
from numpy.typing import NDArray

from tbgen.report.model import AccruedCounts, AccruedView
from tbgen.report.scan.accrued import (
    FRESH_STATES,
    IMPROVED,
    LOST,
    LOST_BY_RESET,
    STATES,
    STORED,
    WORSENED,
)


def accrued_view(board: NDArray[np.int64], canonical: NDArray[np.int64]) -> AccruedView:
    """Return the numbers, shape (2 sides, 2 holders, columns), as a view."""
    board_counts, canonical_counts = (
        {(side, holder == 0): _counts(numbers[side, holder].tolist()) for side in (0, 1) for holder in (0, 1)}
        for numbers in (board, canonical)
    )
    return AccruedView(board_counts, canonical_counts)


def _counts(numbers: list[int]) -> AccruedCounts:
    changed = numbers[IMPROVED] + numbers[WORSENED] + numbers[LOST] + numbers[LOST_BY_RESET]
    return AccruedCounts(
        states=numbers[STATES],
        stored=numbers[STORED],
        survives=numbers[STATES] - changed,
        improved=numbers[IMPROVED],
        worsened=numbers[WORSENED],
        lost=numbers[LOST],
        lost_by_reset=numbers[LOST_BY_RESET],
        fresh=numbers[FRESH_STATES],
    )
