"""The entries of a table or cell for the states with one accrued score, and their grades.

The entries are stored as runs, or computed as a layer. The grades (:mod:`tbgen.verify.kernels.results`) of
all positions of a batch (the slots that are proved together) are updated for each accrued score. Most values
have small ranks, so most words are soon skipped.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE
from tbgen.compiler.jit import inlined, int64, kernel
from tbgen.index.codes import FRESH, LAST_RUN
from tbgen.index.layout import IMAGE, MIRROR_FILES, TRANSPOSE
from tbgen.verify.kernels.best import MIXED, NO_RANK, OWN, ProofGame, Range, canonical_slot_of, has_entry
from tbgen.verify.kernels.moves import ONE, ZERO, Bitboard, between, first_bit, place_men
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

_IMAGE = np.array(IMAGE, np.int64)


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
    first_run: NDArray[np.int64]
    """Shape (size // 64,): index of the first run at or after the beginning of each word."""


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
def covering_run(runs: ProofRuns, start: int, stop: int, rank: int) -> int:
    """Index of the run, among ``start`` to ``stop`` - 1, that covers the accrued score of ``rank``; -1 if
    there is none."""
    for run in range(stop - 1, start - 1, -1):
        if run_rank(runs, run) <= rank:
            return run
    return -1


@kernel
def survey_runs(game: ProofGame, part: Range, runs: ProofRuns, scratch: ProofScratch) -> int:
    """Check everything about the runs of a range of batch slots that does not depend on moves. Return the
    number of runs."""
    if part[0] == part[1]:
        return 0
    first_run = next_run = runs.first_run[(game.base + part[0]) >> 6]
    for slot in range(game.base + part[0], game.base + part[1]):
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
    first_rank = run_rank(runs, run)
    value = int64(runs.value[run])
    depth = int64(runs.depth[run])
    code, fresh_depth = int64(game.value[side, slot]), int64(game.depth[side, slot])
    # The side not to move holds the position score. A state with this accrued score is fresh.
    rank = int64(game.rank[side, slot - game.base])
    limit = 1 if rank == NO_RANK else min(rank - (holder != side), code_rank(code))
    if not 2 <= first_rank <= limit or (not is_first and run_rank(runs, run - 1) >= first_rank):
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
        worth = worth_of(value)
        fresh_worth = worth_of(code)
        if worth == pivot:
            return REPEATED
        if not min(pivot, fresh_worth) <= worth <= max(pivot, fresh_worth):
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
    number: NDArray[np.uint32] | NDArray[np.uint16]
    """Shape (size,): the function number of every slot."""
    value: NDArray[np.uint8]
    """Shape (functions,): a code, ``NONE`` for the accrued score itself, or ``FRESH`` for the fresh value."""


NO_FUNCTIONS = FunctionValues(-1, NONE, np.zeros(0, np.uint16), np.zeros(0, np.uint8))


class SolvedLayer(NamedTuple):
    """Entries of a layer that was computed by solving, not stored as runs, for some slots of the batch."""

    value: NDArray[np.uint8]
    """Shape (2, slots): codes of values."""
    depth: NDArray[np.uint16]
    """Shape (2, slots): depths in plies."""
    present: NDArray[np.uint64]
    """Shape (2, slots / 64): the states with entries; bit i % 64 of word i // 64 stands for slot i."""
    functions: FunctionValues = NO_FUNCTIONS
    """Functions that must agree with the layer."""
    first_index: int = 0
    """Index, in the batch, of the first slot of the arrays."""


@kernel
def begin_batch(game: ProofGame, part: Range, scratch: ProofScratch) -> None:
    """Set the grades of a range of batch slots, canonical or not, for the pivot ``MIDDLE``, and the elements
    of ``max_rank`` and ``original`` for their words."""
    for first_slot in range(part[0], part[1], 64):
        stop = min(first_slot + 64, part[1])
        for index in range(first_slot, stop):
            scratch.originals[index - first_slot] = _original(game, index, scratch)
        max_rank = 0
        for side in range(2):
            for index in range(first_slot, stop):
                original = scratch.originals[index - first_slot]
                code = int64(game.value[side, game.base + original]) if original >= 0 else NONE
                if code != NONE:
                    depth = int64(game.depth[side, game.base + original])
                    game.grade[side, index] = grade_of(code, depth, MIDDLE)
                    max_rank = max(max_rank, code_rank(code))
        game.max_rank[first_slot >> 6] = max_rank
        game.original[first_slot >> 6] = _original_word(scratch.originals[: stop - first_slot], first_slot)


@inlined
def _original(game: ProofGame, index: int, scratch: ProofScratch) -> int:
    """Index in the batch of the canonical slot of the position in slot ``index``, -1 if there is no
    position."""
    slot = game.base + index
    if game.value[0, slot] != NONE or game.value[1, slot] != NONE:
        return index
    legal = game.legal[0, index >> 6] | game.legal[1, index >> 6]
    if game.is_cell or legal >> np.uint64(index & 63) & ONE == ZERO:
        return -1
    place_men(game.men, slot, scratch.squares)
    original = canonical_slot_of(game, scratch)
    return -1 if original == slot else original - game.base


@inlined
def _original_word(originals: NDArray[np.int64], first_slot: int) -> int:
    """Element of ``ProofGame.original`` for the word that begins at ``first_slot``. ``originals`` are the
    results of :func:`_original` for its slots."""
    own = True
    word = int64(-1)
    for bit in range(originals.size):
        if originals[bit] >= 0:
            own &= originals[bit] == first_slot + bit
            word = originals[bit] >> 6
    if own:
        return OWN
    for symmetry in (0, MIRROR_FILES, TRANSPOSE):
        fits = True
        for bit in range(originals.size):
            if originals[bit] >= 0:
                fits &= originals[bit] == 64 * word + _IMAGE[symmetry, bit]
        if fits:
            return 8 * word + symmetry
    return MIXED


@inlined
def changing(game: ProofGame, index: int, side: int, rank: int) -> Bitboard:
    """The canonical slots, in the word at ``index`` of the batch, whose grades may change at the layers of
    this rank: their fresh value has at least the rank of the layer before."""
    codes = game.value[side]
    slot = game.base + index
    of_rank = between(codes, slot, max(rank - 1, 0), min(256 - rank, 255))
    return of_rank & ~between(codes, slot, NONE, NONE)


@inlined
def _fresh_grade(game: ProofGame, accrued: Accrued, side: int, slot: int) -> int:
    """Grade of the fresh result in the layer of an accrued score."""
    code, depth = int64(game.value[side, slot]), int64(game.depth[side, slot])
    return grade_of(code, depth, accrued.pivot if code_rank(code) >= accrued.rank else MIDDLE)


@kernel
def set_run_grades(game: ProofGame, accrued: Accrued, part: Range, runs: ProofRuns) -> None:
    """Set the grades of canonical positions in a range of batch slots for an accrued score, with one side to
    move.

    ``runs`` are the runs of the score's holder and the side to move. Positions whose fresh value has a
    smaller rank keep the grade that they have.
    """
    side, pivot = runs.side, accrued.pivot
    for first_slot in range(part[0], part[1], 64):
        if game.max_rank[first_slot >> 6] < accrued.rank - 1:
            continue
        positions = changing(game, first_slot, side, accrued.rank)
        word = (game.base + first_slot) >> 6
        mask, next_run = runs.mask[word], runs.first_run[word]
        for bit in range(64):
            slot = 64 * word + bit
            first_run = next_run
            if mask >> np.uint64(bit) & ONE:
                next_run = end_of_runs(runs, next_run)
            if positions >> np.uint64(bit) & ONE == ZERO:
                continue
            grade = _fresh_grade(game, accrued, side, slot)
            rank = int64(game.rank[side, first_slot + bit])
            code = int64(game.value[side, slot])
            if stores_state(rank, code, accrued, side):
                run = covering_run(runs, first_run, next_run, accrued.rank)
                if run < 0 or runs.value[run] == NONE:
                    grade = pivot << 16
                elif runs.value[run] != FRESH:
                    grade = grade_of(int64(runs.value[run]), int64(runs.depth[run]), pivot)
            game.grade[side, first_slot + bit] = grade


@kernel
def set_layer_grades(
    game: ProofGame, accrued: Accrued, part: Range, layer: SolvedLayer, scratch: ProofScratch
) -> int:
    """Set the grades of both sides' positions in a range of batch slots from a computed layer.

    Record missing values, functions that contradict the layer and, unless deviations are allowed, values
    outside the range from the accrued score to the fresh value. Return the number of states with entries.
    """
    states = 0
    for first_slot in range(part[0], part[1], 64):
        if game.max_rank[first_slot >> 6] < accrued.rank - 1:
            continue
        for side in range(2):
            positions = changing(game, first_slot, side, accrued.rank)
            while positions:
                index = first_slot + first_bit(positions)
                positions &= positions - ONE
                slot = game.base + index
                grade = _fresh_grade(game, accrued, side, slot)
                if has_entry(
                    game, int64(game.rank[side, index]), int64(game.value[side, slot]), accrued, side
                ):
                    states += 1
                    grade = _layer_grade(game, accrued, side, index, layer, scratch)
                game.grade[side, index] = grade
    return states


@inlined
def _layer_grade(
    game: ProofGame, accrued: Accrued, side: int, index: int, layer: SolvedLayer, scratch: ProofScratch
) -> int:
    """Grade of a state with an entry in a computed layer. The entry is also checked."""
    pivot = accrued.pivot
    slot = game.base + index
    layer_slot = index - layer.first_index
    code = int64(game.value[side, slot])
    value = int64(NONE)
    depth = int64(0)
    if layer.present[side, layer_slot >> 6] >> np.uint64(layer_slot & 63) & ONE:
        value, depth = int64(layer.value[side, layer_slot]), int64(layer.depth[side, layer_slot])
    grade = grade_of(value, depth, pivot)
    worth = worth_of(value)
    fresh_worth = worth_of(code)
    outside = not min(pivot, fresh_worth) <= worth <= max(pivot, fresh_worth)
    if value == NONE or (outside and game.deviation == 0):
        record(scratch, NOT_BETWEEN, (0, side, slot), pivot, grade, 0)
    if side == layer.functions.side:
        stored = _function_value(layer.functions, slot, code)
        if stored != value:
            record(scratch, WRONG_FUNCTION, (0, side, slot), pivot, worth_of(stored) << 16, worth << 16)
    return grade


@inlined
def _function_value(functions: FunctionValues, slot: int, fresh_code: int) -> int:
    """Code of the value in the function of ``slot``; ``fresh_code`` is the code of the fresh value."""
    code = int64(functions.value[functions.number[slot]])
    if code == NONE:
        return functions.accrued
    return fresh_code if code == FRESH else code


@kernel
def copy_images(game: ProofGame, rank: int, part: Range, scratch: ProofScratch) -> None:
    """Copy the grades of canonical slots to the other slots in a range of batch slots that stand for the same
    positions.

    ``rank`` is the rank of the layer. In a word that is not ``MIXED``, only grades that may have changed are
    copied.
    """
    for first_slot in range(part[0], part[1], 64):
        original = game.original[first_slot >> 6]
        if original == OWN or game.max_rank[first_slot >> 6] < rank - 1:
            continue
        if original == MIXED:
            for index in range(first_slot, first_slot + 64):
                source = _original(game, index, scratch)
                if source >= 0 and source != index:
                    for side in range(2):
                        game.grade[side, index] = game.grade[side, source]
            continue
        source = original >> 3 << 6
        symmetry = original & 7
        for side in range(2):
            positions = changing(game, source, side, rank)
            while positions:
                bit = first_bit(positions)
                positions &= positions - ONE
                game.grade[side, first_slot + _IMAGE[symmetry, bit]] = game.grade[side, source + bit]
