"""What moves make of a position: the rule by which the side that is not stored is derived.

For a position P of rank r that its mover inherits from nobody, a quiet move to Q counts, with
(W(Q), D(Q) + 1), if the rank of Q or that of W(Q) is below r, for then play goes on from Q as if Q were the
first position of its phase (fact F1 of docs/theory.md). Zeroing moves always count. If nothing that counts
beats P's own score and some move did not count, P's own score stays.
"""

from tbgen.board.score import NONE
from tbgen.compiler.jit import inlined, int64


@inlined
def own_score(side: int, rank: int) -> int:
    """The code of a position's own score, held by the side that has just moved."""
    return 255 - rank if side == 0 else rank


@inlined
def rank_of_code(code: int) -> int:
    """The rank of a score."""
    return code if code < NONE else 255 - code


@inlined
def merit(side: int, code: int) -> int:
    """How good a value is for the mover: the greater, the better. A code's merit undoes itself."""
    return 255 - code if side == 0 else code


@inlined
def weigh(best: tuple[int, int, int], value: int, depth: int) -> tuple[int, int, int]:
    """The best merit of the moves so far, with the smallest and the greatest depth beside it, after one more
    move of this merit and depth."""
    if value > best[0]:
        return value, depth, depth
    if value == best[0]:
        return value, min(best[1], depth), max(best[2], depth)
    return best


@inlined
def conclude(side: int, own: int, best: tuple[int, int, int], uncounted: bool) -> tuple[int, int]:
    """Value and depth of a position worth ``own`` by itself, from what ``weigh`` has come to, and whether
    some quiet move did not count."""
    if best[0] > merit(side, own):
        return merit(side, best[0]), best[1] + 1
    if uncounted or best[0] == merit(side, own):
        return own, 0
    return merit(side, best[0]), best[2] + 1


@inlined
def depth_of_half(side: int, code: int, half: int) -> int:
    """The depth of a value that is stored for ``side`` to move: it is odd where the mover holds the value."""
    return 2 * half + int64((code > NONE) == (side == 1))
