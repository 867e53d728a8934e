"""What follows where the best capture says what is not stored."""

from collections.abc import Iterable

from tbgen.board.score import NONE, Code
from tbgen.index.exits import BestExit
from tbgen.packed.kernels.probe import inherited
from tbgen.store.reader import Entry


def by_capture(side: int, own: int, best: BestExit) -> Entry:
    """Return W and D of a position with ``side`` to move, worth ``own`` by itself, whose best capture gives
    them."""
    value, nearest, farthest = best
    hurries = value > own if side else value < own  # the smaller the code, the better for White
    return value, 1 + (nearest if hurries else farthest)


def with_captures(side: int, accrued: int, value: int, others: Iterable[tuple[int, BestExit]]) -> Code:
    """Return V(P, A) of a position with ``side`` to move, of which ``value`` is known so far, or NONE.

    :param others: of the positions left aside what their functions say of A, and their best captures.
    """
    for said, best in others:
        other = inherited(accrued, said, best.value)
        if value == NONE or (other > value if side else other < value):
            value = other
    return Code(value)
