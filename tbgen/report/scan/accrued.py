"""What becomes of accrued scores, counted from the runs of a table."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE
from tbgen.index.table import FRESH
from tbgen.report.scan.source import ScanRuns

STATES, STORED, IMPROVED, WORSENED, LOST, LOST_BY_RESET, FRESH_STATES = range(7)
"""Columns of the numbers of states: as the fields of :class:`AccruedCounts`; ``survives`` is what is left."""

COLUMNS: Final = 7
_FIRST_RANK: Final = 2
Tally = list[tuple[int, NDArray[np.int64] | None, NDArray[np.integer]]]


def tally(
    holder: int, side: int, value: NDArray[np.uint8], rank: NDArray[np.uint8], runs: ScanRuns | None
) -> Tally:
    """Count the states of consecutive slots whose accrued score a side holds, by what becomes of them.

    :param holder: 0 if White holds A, else 1.
    :param side: 0 with White to move, else 1.
    :param value: code of W of each slot, ``NONE`` where there is no position.
    :param rank: rank of g of each slot.
    :param runs: of these slots, holder and side; None where all accrued scores survive.
    :return: column, slots (less the first) and the number of states of each; None stands for all slots, and a
        slot may come repeatedly.
    """
    fresh_rank = np.minimum(value, 255 - value).astype(np.int16)
    # g(P) is held by the side that has moved: an A equal to it is no state of its own.
    most = rank - np.int16(holder != side)
    most[(value == NONE) | (rank < _FIRST_RANK)] = 0
    top = np.minimum(most, fresh_rank)
    states, stored = (np.maximum(ranks - (_FIRST_RANK - 1), 0) for ranks in (most, top))
    beyond = states - stored  # of a greater rank than W, which they come to
    held = (value < NONE) == (holder == 0)
    alike = held & (fresh_rank >= _FIRST_RANK) & (top >= fresh_rank)
    found: Tally = [
        (STATES, None, states),
        (STORED, None, stored),
        (IMPROVED, None, np.where(held, beyond, 0)),
        (LOST, None, np.where(held, 0, beyond)),
        (FRESH_STATES, None, beyond + alike),
    ]
    if runs is not None and runs.rank.size:
        found += _tally_runs(holder, value, top, runs)
    return found


def _tally_runs(holder: int, value: NDArray[np.uint8], top: NDArray[np.int16], runs: ScanRuns) -> Tally:
    end = np.append(runs.rank[1:] - 1, 0)
    end[runs.last] = top[runs.slot[runs.last]]
    kept = runs.value != NONE
    slot, start, end, code = runs.slot[kept], runs.rank[kept], end[kept], runs.value[kept]
    code = np.where(code == FRESH, value[slot], code)
    rank = np.minimum(code, 255 - code).astype(np.int16)
    states = np.maximum(end - start + 1, 0)
    same = (code < NONE) == (holder == 0)
    # V lies between A and W (fact F2), and W has no smaller rank than A: so neither has V.
    survives = np.where(same & (rank >= start) & (rank <= end), 1, 0)
    changed = states - survives
    return [
        (WORSENED, slot, np.where(same, changed, 0)),
        (LOST_BY_RESET, slot, np.where(same, 0, changed)),
        (FRESH_STATES, slot, np.where(code == value[slot], changed, 0)),
    ]
