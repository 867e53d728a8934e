"""Results of states, each encoded as one integer, and findings about wrong states, each one row of int64.

The *worth* of a score is an integer from 0 to 511, greater if the score is better for White. It is R for
Black's score of rank R, and 511 - R for White's. The *pivot* of a state is the worth of its accrued score.

The *grade* of a result contains the worth of the value in its high bits and the depth in its low 16 bits. It
depends on the pivot of the state. White prefers greater grades. The result of greater worth has the greater
grade. Of two results of equal value, the result of smaller depth has the greater grade if the value is better
for White than the accrued score; the result of greater depth has it if the value is worse.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE
from tbgen.compiler.jit import inlined
from tbgen.compiler.structs import Struct

MAX_WORTH: Final = 511
"""Worth of White's score of rank 0, the greatest worth."""
MIDDLE: Final = 256
"""The pivot between Black's scores and White's. It stands for every accrued score of greater rank than all
values; which of them it is makes no difference."""

DEPTH_MASK: Final = 0xFFFF
_MAX_DEPTH: Final = 0xFF00
"""Limit of the depth in a grade, so that adding plies does not overflow. Only damaged tables exceed it."""

NOWHERE, MISSING, WRONG_END, STRAY, REPEATED, NOT_BETWEEN, WRONG, WRONG_FUNCTION, MISREAD, UNREAD = range(10)
"""The problems that a proof can find:

- NOWHERE: a value without a position
- MISSING: a position without a value
- WRONG_END: a wrong value of a mate or stalemate
- STRAY: a run at a rank at which no run may start
- REPEATED: a run that repeats the result before it
- NOT_BETWEEN: a value that does not lie between the accrued score and the fresh value
- WRONG: a value or depth that contradicts the successors
- WRONG_FUNCTION: the stored function of a position has a value that contradicts the layer of the accrued
  score
- MISREAD: an answer of a probe that contradicts the layer or the fresh entry
- UNREAD: a move to a position without a value, such as one of a block that was not read
"""

COLUMNS: Final = 7
"""Number of columns of a finding: problem, the three numbers of the place, pivot, stored grade, recomputed
grade.

The pivot of a fresh state is the worth of the position score, but ``MIDDLE`` in two cases: always in a
MISREAD finding, and in games with layers if the position rank exceeds the rank of every value. The pivot is 0
in NOWHERE and MISSING findings."""

Place: TypeAlias = tuple[int, int, int]
"""1 for an en passant position, else 0; side to move; slot, or index in the flattened en passant arrays."""

MAX_MOVES: Final = 1024
"""Maximum number of moves in the list for a word: each has another man and target."""


class Accrued(NamedTuple):
    """The accrued score of a layer."""

    rank: int
    pivot: int
    """Worth of the score; ``MIDDLE`` for all scores whose rank exceeds that of every value."""


@inlined
def worth_of(code: int) -> int:
    """Worth of a value code."""
    return MAX_WORTH - code if code <= NONE else 255 - code


@inlined
def code_rank(code: int) -> int:
    """Rank of the score that a code stands for."""
    return min(code, 255 - code)


@inlined
def stores_state(rank: int, code: int, accrued: Accrued, side: int) -> bool:
    """Whether a table has an entry for the state of a position with this accrued score, besides the fresh
    entry. A fresh state has none.

    ``rank`` is the rank of the position, and ``code`` the code of its fresh value.
    """
    min_rank = accrued.rank
    return rank >= min_rank and code_rank(code) >= min_rank and position_worth(rank, side) != accrued.pivot


@inlined
def position_worth(rank: int, side: int) -> int:
    """Worth of the position score for a position rank and a side to move."""
    return rank if side == 0 else MAX_WORTH - rank


@inlined
def grade_of(code: int, depth: int, pivot: int) -> int:
    """Grade of a result: a code of a value, and a depth in plies."""
    worth = worth_of(code)
    depth = min(depth, _MAX_DEPTH)
    return worth << 16 | (DEPTH_MASK - depth if worth > pivot else depth)


@inlined
def grade_before(best: int, pivot: int) -> int:
    """Grade of a state whose best successor has the grade ``best``.

    The depth is one ply greater than that after the move; if the value is the accrued score, it is 0.
    """
    worth = best >> 16
    if worth > pivot:
        return best - 1
    if worth < pivot:
        return best + 1
    return pivot << 16


@inlined
def folded_grade(grade: int, pivot: int) -> int:
    """Grade of a result after folding in an accrued score of worth ``pivot`` that no move has reset.

    Only a result of smaller rank replaces the accrued score. ``grade`` may be the grade for this pivot or for
    ``MIDDLE``, because a result that replaces the accrued score has the same grade for both pivots.
    """
    worth = grade >> 16
    return grade if min(worth, MAX_WORTH - worth) < min(pivot, MAX_WORTH - pivot) else pivot << 16


@dataclass(frozen=True)
class ProofScratch(Struct):
    """The workspace of one kernel call, with a list of moves and a buffer for findings."""

    squares: NDArray[np.int64]
    """Shape (32,): squares of the men of the current position or word."""
    squares_after: NDArray[np.int64]
    """Shape (16,): squares of the men after a zeroing move, in the order of the table that the move leads to;
    from index 8 on, images of these squares."""
    originals: NDArray[np.int64]
    """Shape (64,): canonical slots of the positions in a word."""
    count: NDArray[np.int64]
    """Shape (1,): number of listed moves."""
    man: NDArray[np.int64]
    """Shape (``MAX_MOVES``,): the moving man of each listed move."""
    target: NDArray[np.int64]
    """Shape (``MAX_MOVES``,): target square of each listed move; -1 for the square of the last free man. For
    a quiet move of this man, the change of the number of its square."""
    victim: NDArray[np.int64]
    """Shape (``MAX_MOVES``,): the captured man of each listed move, -1 if there is none."""
    positions: NDArray[np.uint64]
    """Shape (``MAX_MOVES``,): the positions of the word in which each listed move is possible."""
    row: NDArray[np.int32]
    """Shape (192,): grades of a word with the other side to move, between elements that are not used. A move
    of the last free man leads from each position to an element at the same distance."""
    move_count: NDArray[np.uint8]
    """Shape (64,): number of moves in each position of a word."""
    best: NDArray[np.int32]
    """Shape (64,): best signed grade of the moves in each position of a word."""
    findings: NDArray[np.int64]
    """Shape (capacity, ``COLUMNS``): the findings."""
    total: NDArray[np.int64]
    """Shape (1,): number of findings, including those that exceed the capacity."""


@inlined
def record(scratch: ProofScratch, problem: int, place: Place, pivot: int, stored: int, expected: int) -> None:
    """Record one finding. The arguments after ``scratch`` are the columns of its row."""
    finding = scratch.total[0]
    scratch.total[0] = finding + 1
    if finding < scratch.findings.shape[0]:
        row = scratch.findings[finding]
        row[1], row[2], row[3] = place
        row[0], row[4], row[5], row[6] = problem, pivot, stored, expected
