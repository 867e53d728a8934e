"""The runs of a table: V(P, A) and D(P, A) of one position and one holder of A, by the rank of A."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE
from tbgen.compiler.jit import inlined, int64, kernel
from tbgen.index.table import FRESH, LAST_RUN
from tbgen.verify.kernels.best import NO_RANK, ProofGame, Range
from tbgen.verify.kernels.bitboards import ONE
from tbgen.verify.kernels.findings import BETWEEN, REPEATED, STRAY, ProofScratch, note
from tbgen.verify.kernels.keys import code_rank, key_of, level_of, worth_of


class ProofRuns(NamedTuple):
    """The runs of one holder and one side to move, as the kernels read them."""

    holder: int
    """0 where White holds the accrued score."""
    side: int
    """Side to move."""
    mask: NDArray[np.uint64]
    """Shape (size // 64,): bit i % 64 of word i // 64 is set if slot i has runs."""
    rank: NDArray[np.uint8]
    """Shape (runs,), as ``value`` and ``depth``: those of the whole table."""
    value: NDArray[np.uint8]
    depth: NDArray[np.uint16]


@inlined
def next_slot(runs: ProofRuns, entry: int) -> int:
    """First run of the slot after the one whose first run is ``entry``."""
    while runs.rank[entry] < LAST_RUN:
        entry += 1
    return entry + 1


@inlined
def run_rank(runs: ProofRuns, run: int) -> int:
    """Rank of the accrued score that a run starts with."""
    return int64(runs.rank[run]) & (LAST_RUN - 1)


@inlined
def last_run(runs: ProofRuns, first: int, stop: int, rank: int) -> int:
    """The run among ``first..stop`` that an accrued score of a rank belongs to, -1 if none."""
    for run in range(stop - 1, first - 1, -1):
        if run_rank(runs, run) <= rank:
            return run
    return -1


@kernel
def survey_runs(game: ProofGame, part: Range, runs: ProofRuns, entry: int, scratch: ProofScratch) -> int:
    """Check the runs of a range of slots, of which ``entry`` is the first, but not against moves.

    Return their number.
    """
    before = entry
    for slot in range(part[0], part[1]):
        if not runs.mask[slot >> 6] >> np.uint64(slot & 63) & ONE:
            continue
        stop_run = next_slot(runs, entry)
        for run in range(entry, stop_run):
            problem = _problem(game, runs, slot, run, run == entry, run == stop_run - 1)
            if problem >= 0:
                level = level_of(run_rank(runs, run), 1 - runs.holder)
                key = key_of(int64(runs.value[run]), int64(runs.depth[run]), level)
                note(scratch, problem, (0, runs.side, slot), level, key, 0)
        entry = stop_run
    return entry - before


@inlined
def _problem(game: ProofGame, runs: ProofRuns, slot: int, run: int, first: bool, last: bool) -> int:
    """What is wrong with a run, -1 if nothing."""
    holder, side = runs.holder, runs.side
    step, value, depth = run_rank(runs, run), int64(runs.value[run]), int64(runs.depth[run])
    code, fresh_depth = int64(game.value[side, slot]), int64(game.depth[side, slot])
    # A side to move does not hold its position's own score.
    own = int64(game.rank[side, slot])
    limit = 1 if own == NO_RANK else min(own - (holder != side), code_rank(code))
    if step < 2 or step > limit or (not first and run_rank(runs, run - 1) >= step):
        return STRAY
    if value in (NONE, FRESH) and depth != 0:
        return REPEATED
    earlier = NONE if first else int64(runs.value[run - 1])
    earlier_depth = 0 if first else int64(runs.depth[run - 1])
    if (value, depth) == (earlier, earlier_depth) or (value, depth) == (code, fresh_depth):
        return REPEATED
    if value not in (NONE, FRESH):
        # The accrued score comes closer to the fresh value with every rank: the last one binds.
        level = level_of(limit if last else run_rank(runs, run + 1) - 1, 1 - holder)
        worth, fresh = worth_of(value), worth_of(code)
        if worth == level:
            return REPEATED
        if worth < min(level, fresh) or worth > max(level, fresh):
            return BETWEEN
    return -1
