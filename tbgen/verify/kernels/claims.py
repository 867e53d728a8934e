"""What a table claims: its runs, and the keys of all positions of a window for one accrued score."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE
from tbgen.compiler.jit import inlined, int64, kernel
from tbgen.index.table import FRESH, LAST_RUN
from tbgen.verify.kernels.best import NO_RANK, ProofGame, Range, canonical_slot_of, is_claimed
from tbgen.verify.kernels.moves import ONE, ZERO, place
from tbgen.verify.kernels.results import (
    BETWEEN,
    BY_FUNCTION,
    MIDDLE,
    REPEATED,
    STRAY,
    Accrued,
    ProofScratch,
    code_rank,
    inherits,
    key_of,
    level_of,
    note,
    worth_of,
)


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


class FunctionValues(NamedTuple):
    """The values of functions for the accrued score of a layer."""

    side: int
    """The side to move that they belong to, -1 if there are none."""
    accrued: int
    """Code of the accrued score."""
    number: NDArray[np.uint32]
    """Shape (size,): the function of every slot."""
    value: NDArray[np.uint8]
    """Shape (functions,): a code, ``NONE`` for the accrued score itself, or ``FRESH``."""


NO_FUNCTIONS = FunctionValues(-1, NONE, np.zeros(0, np.uint32), np.zeros(0, np.uint8))


class Claims(NamedTuple):
    """A layer that is given, not stored."""

    value: NDArray[np.uint8]
    """Shape (2, window): codes."""
    depth: NDArray[np.uint16]
    """Shape (2, window)."""
    there: NDArray[np.uint64]
    """Shape (2, window / 64): the states with a claim; bit i % 64 of word i // 64 is slot i."""
    functions: FunctionValues = NO_FUNCTIONS
    """Functions that have to agree with the layer."""


@kernel
def begin(game: ProofGame, part: Range, images: NDArray[np.int32], scratch: ProofScratch) -> int:
    """Set the keys of a range of window slots, canonical or not, for a score that outranks all values.

    ``images``, int32 with room for two rows a slot, receives the slots that are not canonical, of positions
    whose value is no mate or stalemate, and their canonical slots: both as flat indices into
    ``ProofGame.key``. Return their number.
    """
    window = game.key.shape[1]
    count = 0
    for index in range(part[0], part[1]):
        slot = original = game.base + index
        if game.value[0, slot] == NONE and game.value[1, slot] == NONE and not game.is_cell:
            if place(game.men, slot, scratch.squares) == ZERO:
                continue
            original = canonical_slot_of(game, scratch)
        for side in range(2):
            code = int64(game.value[side, original])
            if code == NONE:
                continue
            game.key[side, index] = key_of(code, int64(game.depth[side, original]), MIDDLE)
            if original != slot and code_rank(code) > 1:
                images[count, 0] = side * window + index
                images[count, 1] = side * window + original - game.base
                count += 1
    return count


@inlined
def _fresh_key(game: ProofGame, accrued: Accrued, side: int, slot: int) -> int:
    """Key of the fresh value at the layer of an accrued score; -1 if it is the one of the layer before."""
    code, depth = int64(game.value[side, slot]), int64(game.depth[side, slot])
    if code == NONE or code_rank(code) < accrued.rank - 1:
        return -1
    return key_of(code, depth, accrued.level if code_rank(code) >= accrued.rank else MIDDLE)


@kernel
def enter_runs(game: ProofGame, accrued: Accrued, part: Range, runs: ProofRuns, entry: int) -> None:
    """Set the keys of a side's canonical positions among a range of window slots for an accrued score.

    ``runs`` are those of the score's holder and that side, and ``entry`` is the first one here. Positions
    whose value has a smaller rank keep the key that :func:`begin` gave them, or get it back.
    """
    side, level = runs.side, accrued.level
    for index in range(part[0], part[1]):
        slot = game.base + index
        first = entry
        if runs.mask[slot >> 6] >> np.uint64(slot & 63) & ONE:
            entry = next_slot(runs, entry)
        key = _fresh_key(game, accrued, side, slot)
        if key < 0:
            continue
        if inherits(int64(game.rank[side, slot]), int64(game.value[side, slot]), accrued, side):
            run = last_run(runs, first, entry, accrued.rank)
            if run < 0 or runs.value[run] == NONE:
                key = level << 16
            elif runs.value[run] != FRESH:
                key = key_of(int64(runs.value[run]), int64(runs.depth[run]), level)
        game.key[side, index] = key


@kernel
def enter_claims(
    game: ProofGame, accrued: Accrued, part: Range, claims: Claims, scratch: ProofScratch
) -> int:
    """The same for both sides where the table has no runs and the layer is given.

    Values outside the range from the accrued score to the fresh value are findings, unless they may be less
    than what follows, and functions that contradict the layer. Return the number of states.
    """
    level, functions = accrued.level, claims.functions
    states = 0
    for index in range(part[0], part[1]):
        slot = game.base + index
        for side in range(2):
            code, key = int64(game.value[side, slot]), _fresh_key(game, accrued, side, slot)
            if key < 0:
                continue
            if is_claimed(game, int64(game.rank[side, slot]), code, accrued, side):
                states += 1
                claim, depth = int64(NONE), int64(0)
                if claims.there[side, index >> 6] >> np.uint64(index & 63) & ONE:
                    claim, depth = int64(claims.value[side, index]), int64(claims.depth[side, index])
                key = key_of(claim, depth, level)
                worth, fresh = worth_of(claim), worth_of(code)
                outside = worth < min(level, fresh) or worth > max(level, fresh)
                if claim == NONE or (outside and game.allowed == 0):
                    note(scratch, BETWEEN, (0, side, slot), level, key, 0)
                if side == functions.side:
                    stored = _function_value(functions, slot, code)
                    if stored != claim:
                        stored = worth_of(stored) << 16
                        note(scratch, BY_FUNCTION, (0, side, slot), level, stored, worth << 16)
            game.key[side, index] = key
    return states


@inlined
def _function_value(functions: FunctionValues, slot: int, fresh: int) -> int:
    """Code that the function of a slot has for the accrued score; ``fresh`` is that of its fresh value."""
    code = int64(functions.value[functions.number[slot]])
    if code == NONE:
        return functions.accrued
    return fresh if code == FRESH else code


@kernel
def copy_images(game: ProofGame, rank: int, images: NDArray[np.int32]) -> int:
    """Give the slots that are not canonical (see :func:`begin`) the keys of those that are.

    ``rank`` is that of the layer. Positions whose value has a smaller rank get theirs for the last time;
    those left are moved to the front of ``images``. Return their number.
    """
    window = game.key.shape[1]
    left = 0
    for number in range(images.shape[0]):
        image, original = images[number, 0], images[number, 1]
        side = 1 if original >= window else 0
        game.key[side, image - side * window] = game.key[side, original - side * window]
        if code_rank(int64(game.value[side, game.base + original - side * window])) >= rank:
            images[left, 0], images[left, 1] = image, original
            left += 1
    return left
