"""Weighing the moves of single positions, by the rule of ``tbgen.tables.kernels.derive``."""

from tbgen.board.score import NONE
from tbgen.compiler.jit import inlined, int64


@inlined
def position_score(side: int, rank: int) -> int:
    """The code of the position score of this rank; the side that has just moved holds the score."""
    return 255 - rank if side == 0 else rank


@inlined
def rank_of_code(code: int) -> int:
    """The rank of the score with this code."""
    return code if code < NONE else 255 - code


@inlined
def merit(side: int, code: int) -> int:
    """The merit of a code, which is greater if the score is better for the mover. The function is its own
    inverse: applied to a merit, it returns the code."""
    return 255 - code if side == 0 else code


@inlined
def weigh(best: tuple[int, int, int], move_merit: int, depth: int) -> tuple[int, int, int]:
    """Weigh one move against the best moves so far: their merit, and their smallest and greatest depth.

    ``move_merit`` and ``depth`` are those of the move. Return the new best merit and depths.
    """
    if move_merit > best[0]:
        return move_merit, depth, depth
    if move_merit == best[0]:
        return move_merit, min(best[1], depth), max(best[2], depth)
    return best


@inlined
def conclude(side: int, score: int, best: tuple[int, int, int], uncounted: bool) -> tuple[int, int]:
    """Value and depth of a position with the position score ``score``.

    ``best`` is the result of ``weigh`` for all moves that count. ``uncounted`` says whether some quiet move
    does not count.
    """
    if best[0] > merit(side, score):
        return merit(side, best[0]), best[1] + 1
    if uncounted or best[0] == merit(side, score):
        return score, 0
    return merit(side, best[0]), best[2] + 1


@inlined
def depth_of_half(side: int, code: int, half: int) -> int:
    """The depth that belongs to a stored value with ``side`` to move; ``half`` is half the depth, rounded
    down.

    The depth is odd if the mover holds the value.
    """
    return 2 * half + int64((code > NONE) == (side == 1))
