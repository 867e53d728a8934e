"""The entries of a table or cell for the states with one accrued score, and their grades.

The entries are stored as runs, or computed as a layer. The grades (:mod:`tbgen.verify.kernels.results`) of
all positions of a batch (the slots that are proved together) are updated for each accrued score.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE
from tbgen.compiler.jit import inlined, int64, kernel
from tbgen.index.table import FRESH, LAST_RUN
from tbgen.verify.kernels.best import NO_RANK, ProofGame, Range, canonical_slot_of, has_entry
from tbgen.verify.kernels.moves import ONE, ZERO, place_men
from tbgen.verify.kernels.results import (
    MIDDLE,
    NOT_BETWEEN,
    REPEATED,
    STRAY,
    WRONG_FUNCTION,
    Accrued,
    ProofScratch,
    code_rank,
    grade_of,
    position_worth,
    record,
    stores_state,
    worth_of,
)


class ProofRuns(NamedTuple):
    """The runs of one holder and one side to move, as the kernels read them."""

    holder: int
    """Holder of the accrued scores: 0 for White, 1 for Black."""
    side: int
    """Side to move."""
    mask: NDArray[np.uint64]
    """Shape (size // 64,): bit i % 64 of word i // 64 is set if slot i has runs."""
    rank: NDArray[np.uint8]
    """Shape (runs,): ranks of all runs of the table."""
    value: NDArray[np.uint8]
    """Shape (runs,): codes of all runs of the table."""
    depth: NDArray[np.uint16]
    """Shape (runs,): depths of all runs of the table."""


@inlined
def end_of_runs(runs: ProofRuns, run: int) -> int:
    """Index after the last run of a slot whose first run is ``run``."""
    while runs.rank[run] < LAST_RUN:
        run += 1
    return run + 1


@inlined
def run_rank(runs: ProofRuns, run: int) -> int:
    """Smallest rank of the accrued scores of a run."""
    return int64(runs.rank[run]) & (LAST_RUN - 1)


@inlined
def covering_run(runs: ProofRuns, first: int, stop: int, rank: int) -> int:
    """Index of the run, among ``first`` to ``stop`` - 1, that covers the accrued score of ``rank``; -1 if
    there is none."""
    for run in range(stop - 1, first - 1, -1):
        if run_rank(runs, run) <= rank:
            return run
    return -1


@kernel
def survey_runs(game: ProofGame, part: Range, runs: ProofRuns, next_run: int, scratch: ProofScratch) -> int:
    """Check everything about the runs of a range of slots that does not depend on moves. Return the number of
    runs.

    ``next_run`` is the index of the first run of the range.
    """
    first_run = next_run
    for slot in range(part[0], part[1]):
        if not runs.mask[slot >> 6] >> np.uint64(slot & 63) & ONE:
            continue
        stop_run = end_of_runs(runs, next_run)
        for run in range(next_run, stop_run):
            problem = _problem(game, runs, slot, run, run == next_run, run == stop_run - 1)
            if problem >= 0:
                pivot = position_worth(run_rank(runs, run), 1 - runs.holder)
                grade = grade_of(int64(runs.value[run]), int64(runs.depth[run]), pivot)
                record(scratch, problem, (0, runs.side, slot), pivot, grade, 0)
        next_run = stop_run
    return next_run - first_run


@inlined
def _problem(game: ProofGame, runs: ProofRuns, slot: int, run: int, is_first: bool, is_last: bool) -> int:
    """The problem of a run, -1 if there is none."""
    holder, side = runs.holder, runs.side
    step, value, depth = run_rank(runs, run), int64(runs.value[run]), int64(runs.depth[run])
    code, fresh_depth = int64(game.value[side, slot]), int64(game.depth[side, slot])
    # The side not to move holds the position score. A state with this accrued score is fresh.
    rank = int64(game.rank[side, slot])
    limit = 1 if rank == NO_RANK else min(rank - (holder != side), code_rank(code))
    if step < 2 or step > limit or (not is_first and run_rank(runs, run - 1) >= step):
        return STRAY
    if value in (NONE, FRESH) and depth != 0:
        return REPEATED
    earlier = NONE if is_first else int64(runs.value[run - 1])
    earlier_depth = 0 if is_first else int64(runs.depth[run - 1])
    if (value, depth) == (earlier, earlier_depth) or (value, depth) == (code, fresh_depth):
        return REPEATED
    if value not in (NONE, FRESH):
        # A greater rank is closer to the fresh value, so it suffices to check the run's greatest rank.
        pivot = position_worth(limit if is_last else run_rank(runs, run + 1) - 1, 1 - holder)
        worth, fresh = worth_of(value), worth_of(code)
        if worth == pivot:
            return REPEATED
        if worth < min(pivot, fresh) or worth > max(pivot, fresh):
            return NOT_BETWEEN
    return -1


class FunctionValues(NamedTuple):
    """The values of a table's functions for the accrued score of a layer.

    A function gives the value of a position for each accrued score.
    """

    side: int
    """The side to move that has functions, -1 if there are no functions."""
    accrued: int
    """Code of the accrued score."""
    number: NDArray[np.uint32]
    """Shape (size,): the function number of every slot."""
    value: NDArray[np.uint8]
    """Shape (functions,): a code, ``NONE`` for the accrued score itself, or ``FRESH`` for the fresh value."""


NO_FUNCTIONS = FunctionValues(-1, NONE, np.zeros(0, np.uint32), np.zeros(0, np.uint8))


class SolvedLayer(NamedTuple):
    """The entries of a layer that was computed by solving, not stored as runs."""

    value: NDArray[np.uint8]
    """Shape (2, batch size): codes of values."""
    depth: NDArray[np.uint16]
    """Shape (2, batch size): depths in plies."""
    present: NDArray[np.uint64]
    """Shape (2, batch size / 64): the states with entries; bit i % 64 of word i // 64 stands for slot i."""
    functions: FunctionValues = NO_FUNCTIONS
    """Functions that must agree with the layer."""


@kernel
def begin_batch(game: ProofGame, part: Range, images: NDArray[np.int32], scratch: ProofScratch) -> int:
    """Set the grades of a range of batch slots, canonical or not, for the pivot ``MIDDLE``.

    Write a row to ``images`` for each slot that is not canonical: this slot and the canonical slot of its
    position, both as flat indices into ``ProofGame.grade``. ``images`` is int32 with two columns and up to
    two rows for each slot. Positions whose value is a mate or stalemate are omitted. Return the number of
    rows.
    """
    batch_size = game.grade.shape[1]
    count = 0
    for index in range(part[0], part[1]):
        slot = original = game.base + index
        if game.value[0, slot] == NONE and game.value[1, slot] == NONE and not game.is_cell:
            if place_men(game.men, slot, scratch.squares) == ZERO:
                continue
            original = canonical_slot_of(game, scratch)
        for side in range(2):
            code = int64(game.value[side, original])
            if code == NONE:
                continue
            game.grade[side, index] = grade_of(code, int64(game.depth[side, original]), MIDDLE)
            if original != slot and code_rank(code) > 1:
                images[count, 0] = side * batch_size + index
                images[count, 1] = side * batch_size + original - game.base
                count += 1
    return count


@inlined
def _fresh_grade(game: ProofGame, accrued: Accrued, side: int, slot: int) -> int:
    """Grade of the fresh result in the layer of an accrued score; -1 if the grade from the previous layer is
    still valid."""
    code, depth = int64(game.value[side, slot]), int64(game.depth[side, slot])
    if code == NONE or code_rank(code) < accrued.rank - 1:
        return -1
    return grade_of(code, depth, accrued.pivot if code_rank(code) >= accrued.rank else MIDDLE)


@kernel
def set_run_grades(game: ProofGame, accrued: Accrued, part: Range, runs: ProofRuns, next_run: int) -> None:
    """Set the grades of canonical positions in a range of batch slots for an accrued score, with one side to
    move.

    ``runs`` are the runs of the score's holder and the side to move. ``next_run`` is the index of the first
    run of the range. Positions whose fresh value has a smaller rank keep the grade that :func:`begin_batch`
    has set.
    """
    side, pivot = runs.side, accrued.pivot
    for index in range(part[0], part[1]):
        slot = game.base + index
        first_run = next_run
        if runs.mask[slot >> 6] >> np.uint64(slot & 63) & ONE:
            next_run = end_of_runs(runs, next_run)
        grade = _fresh_grade(game, accrued, side, slot)
        if grade < 0:
            continue
        if stores_state(int64(game.rank[side, slot]), int64(game.value[side, slot]), accrued, side):
            run = covering_run(runs, first_run, next_run, accrued.rank)
            if run < 0 or runs.value[run] == NONE:
                grade = pivot << 16
            elif runs.value[run] != FRESH:
                grade = grade_of(int64(runs.value[run]), int64(runs.depth[run]), pivot)
        game.grade[side, index] = grade


@kernel
def set_layer_grades(
    game: ProofGame, accrued: Accrued, part: Range, layer: SolvedLayer, scratch: ProofScratch
) -> int:
    """Set the grades of both sides' positions in a range of batch slots from a computed layer.

    Record missing values, functions that contradict the layer and, unless deviations are allowed, values
    outside the range from the accrued score to the fresh value. Return the number of states with entries.
    """
    pivot, functions = accrued.pivot, layer.functions
    states = 0
    for index in range(part[0], part[1]):
        slot = game.base + index
        for side in range(2):
            code, grade = int64(game.value[side, slot]), _fresh_grade(game, accrued, side, slot)
            if grade < 0:
                continue
            if has_entry(game, int64(game.rank[side, slot]), code, accrued, side):
                states += 1
                value, depth = int64(NONE), int64(0)
                if layer.present[side, index >> 6] >> np.uint64(index & 63) & ONE:
                    value, depth = int64(layer.value[side, index]), int64(layer.depth[side, index])
                grade = grade_of(value, depth, pivot)
                worth, fresh = worth_of(value), worth_of(code)
                outside = worth < min(pivot, fresh) or worth > max(pivot, fresh)
                if value == NONE or (outside and game.deviation == 0):
                    record(scratch, NOT_BETWEEN, (0, side, slot), pivot, grade, 0)
                if side == functions.side:
                    stored = _function_value(functions, slot, code)
                    if stored != value:
                        stored = worth_of(stored) << 16
                        record(scratch, WRONG_FUNCTION, (0, side, slot), pivot, stored, worth << 16)
            game.grade[side, index] = grade
    return states


@inlined
def _function_value(functions: FunctionValues, slot: int, fresh: int) -> int:
    """Code of the value in the function of ``slot``; ``fresh`` is the code of the fresh value."""
    code = int64(functions.value[functions.number[slot]])
    if code == NONE:
        return functions.accrued
    return fresh if code == FRESH else code


@kernel
def copy_images(game: ProofGame, rank: int, images: NDArray[np.int32]) -> int:
    """Copy the grades of canonical slots to those slots of ``images`` that are not canonical.

    ``images`` are rows from :func:`begin_batch`, and ``rank`` is the rank of the layer. Rows whose fresh
    value has a smaller rank are not needed again. The other rows are moved to the beginning of ``images``.
    Return the number of these other rows.
    """
    batch_size = game.grade.shape[1]
    remaining = 0
    for number in range(images.shape[0]):
        image, original = images[number, 0], images[number, 1]
        side = 1 if original >= batch_size else 0
        game.grade[side, image - side * batch_size] = game.grade[side, original - side * batch_size]
        if code_rank(int64(game.value[side, game.base + original - side * batch_size])) >= rank:
            images[remaining, 0], images[remaining, 1] = image, original
            remaining += 1
    return remaining
