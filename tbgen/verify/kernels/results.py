"""The results of states encoded as single integers, and the records of wrong states: one int64 row each.

The *worth* of a score is an integer from 0 to 511, greater if the score is better for White. It is R for
Black's score of rank R, and 511 - R for White's. The *level* of a state is the worth of its accrued score.

The *key* of a result at a level has the worth of the value in its high bits, and the depth in the low 16
bits. White prefers greater keys. The greater worth is better. Among equal values that are better than the
accrued score, the smaller depth is better. Among equal values that are worse, the greater depth is better.
"""

from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE
from tbgen.compiler.jit import inlined

WHITE_WORTH: Final = 511
"""Sum of a rank and the worth of White's score of this rank."""
MIDDLE: Final = 256
"""The level between Black's scores and White's. It stands for all accrued scores of greater rank than every
value."""

DEPTH_MASK: Final = 0xFFFF
_MAX_DEPTH: Final = 0xFF00
"""Limit of the depth in a key, so that adding plies does not overflow. Only damaged tables exceed it."""


class Accrued(NamedTuple):
    """The accrued score of a layer."""

    rank: int
    level: int
    """Worth of the score; ``MIDDLE`` for all scores of greater rank than every value."""


@inlined
def worth_of(code: int) -> int:
    """Worth of a value code."""
    return WHITE_WORTH - code if code <= NONE else 255 - code


@inlined
def code_rank(code: int) -> int:
    """Rank of the score with a code."""
    return min(code, 255 - code)


@inlined
def inherits(rank: int, code: int, accrued: Accrued, side: int) -> bool:
    """Whether a table stores the state of a position with an accrued score other than the position score.

    ``rank`` is the rank of the position, and ``code`` the code of its fresh value.
    """
    accrued_rank = accrued.rank
    return rank >= accrued_rank and code_rank(code) >= accrued_rank and level_of(rank, side) != accrued.level


@inlined
def level_of(rank: int, side: int) -> int:
    """Worth of the position score of a position with a rank and a side to move."""
    return rank if side == 0 else WHITE_WORTH - rank


@inlined
def key_of(code: int, depth: int, level: int) -> int:
    """Key of a value code and a depth in plies."""
    worth = worth_of(code)
    depth = min(depth, _MAX_DEPTH)
    return worth << 16 | (DEPTH_MASK - depth if worth > level else depth)


@inlined
def key_before(best: int, level: int) -> int:
    """Key of the state whose best successor has the key ``best``.

    The depth is one ply greater than after the move, but 0 if the value is the accrued score.
    """
    worth = best >> 16
    if worth > level:
        return best - 1
    if worth < level:
        return best + 1
    return level << 16


@inlined
def folded_key(key: int, level: int) -> int:
    """Key of a result after folding in an accrued score of level ``level`` that no move has reset.

    Only a result of smaller rank replaces the accrued score. ``key`` may be the key of the result at this
    level or at ``MIDDLE``, because a result that replaces the accrued score has the same key at both levels.
    """
    worth = key >> 16
    return key if min(worth, WHITE_WORTH - worth) < min(level, WHITE_WORTH - level) else level << 16


NOWHERE, MISSING, ENDED, STRAY, REPEATED, BETWEEN, WRONG, BY_FUNCTION, PROBED = range(9)
"""The problems that a proof can find:

- NOWHERE: a value without a position
- MISSING: a position without a value
- ENDED: a wrong value of a mate or stalemate
- STRAY: a run at a rank at which no run may start
- REPEATED: a run that repeats the result before it
- BETWEEN: a value that does not lie between the accrued score and the fresh value
- WRONG: a value or depth that contradicts the successors
- BY_FUNCTION: a value of a function that contradicts the layer of the accrued score
- PROBED: an answer of a probe that contradicts the layer or the fresh entry
"""

COLUMNS: Final = 7
"""Number of columns of a finding: problem, the three numbers of the place, level, stored key, recomputed key.

The level is ``MIDDLE`` for the fresh state of a position whose rank is greater than that of every value."""

Place: TypeAlias = tuple[int, int, int]
"""1 for an en passant position, else 0; side to move; slot, or index in the flattened en passant arrays."""


class ProofScratch(NamedTuple):
    """The workspace of one kernel call, with a buffer for findings."""

    squares: NDArray[np.int64]
    """Shape (32,): squares of the men of the current position."""
    targets: NDArray[np.uint64]
    """Shape (32,): legal targets of these men."""
    after: NDArray[np.int64]
    """Shape (16,): squares of the men after a zeroing move, in the order of its table, and their images."""
    findings: NDArray[np.int64]
    """Shape (capacity, ``COLUMNS``): the findings."""
    total: NDArray[np.int64]
    """Shape (1,): number of findings, including those that exceed the capacity."""


@inlined
def note(scratch: ProofScratch, problem: int, place: Place, level: int, stored: int, expected: int) -> None:
    """Add one finding; the arguments are the columns of its row."""
    number = scratch.total[0]
    scratch.total[0] = number + 1
    if number < scratch.findings.shape[0]:
        row = scratch.findings[number]
        row[1], row[2], row[3] = place
        row[0], row[4], row[5], row[6] = problem, level, stored, expected
