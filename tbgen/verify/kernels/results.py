"""States' results as single numbers, and the wrong ones that are found: one int64 row each.

Of two moves the better one is the greater number. The *worth* of a score is 0..511, the greater the better
for White: Black's score of rank R is worth R, White's 511 - R. What an accrued score is worth is the *level*
of its states. The *key* of a result, seen from an accrued score, puts the worth above 16 bits for the depth,
and White always prefers the greater key: among equal values better than the accrued score the sooner one,
among those worse the later one.
"""

from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE
from tbgen.compiler.jit import inlined

WHITE_WORTH: Final = 511
MIDDLE: Final = 256
"""A level between Black's scores and White's: that of any accrued score whose rank exceeds all values'."""

DEPTH_MASK: Final = 0xFFFF
_MOST_DEPTH: Final = 0xFF00
"""Greater depths, which only a damaged table has, count as this one: the next plies must not spill over."""


class Accrued(NamedTuple):
    """An accrued score, whose layer is in hand."""

    rank: int
    level: int
    """Its worth; ``MIDDLE`` for any score whose rank exceeds all values'."""


@inlined
def worth_of(code: int) -> int:
    """Worth of a value code."""
    return WHITE_WORTH - code if code <= NONE else 255 - code


@inlined
def code_rank(code: int) -> int:
    """Rank of the score with a code."""
    return min(code, 255 - code)


@inlined
def inherits(own: int, code: int, accrued: Accrued, side: int) -> bool:
    """Whether a table keeps a position's state with an inherited score.

    ``own`` is the position's rank, ``code`` that of its value.
    """
    rank = accrued.rank
    return own >= rank and code_rank(code) >= rank and level_of(own, side) != accrued.level


@inlined
def level_of(rank: int, side: int) -> int:
    """Worth of the own score of a position with that rank and side to move."""
    return rank if side == 0 else WHITE_WORTH - rank


@inlined
def key_of(code: int, depth: int, level: int) -> int:
    """Key of a value code and a depth in plies."""
    worth = worth_of(code)
    depth = min(depth, _MOST_DEPTH)
    return worth << 16 | (DEPTH_MASK - depth if worth > level else depth)


@inlined
def key_before(best: int, level: int) -> int:
    """Key of the state whose best successor has the key ``best``: a ply longer, but 0 at the level itself."""
    worth = best >> 16
    if worth > level:
        return best - 1
    if worth < level:
        return best + 1
    return level << 16


@inlined
def kept(key: int, level: int) -> int:
    """Key of a result seen from an accrued score that nothing resets: only a smaller rank takes its place.

    ``key`` may be the one at any other level: where the result takes the place, it is the same at all.
    """
    worth = key >> 16
    return key if min(worth, WHITE_WORTH - worth) < min(level, WHITE_WORTH - level) else level << 16


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
