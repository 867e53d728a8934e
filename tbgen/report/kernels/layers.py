"""What becomes of the states of a layer."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE
from tbgen.compiler.jit import int64, jit


class FreshSide(NamedTuple):
    """What is known of all positions of a table with one side to move, without any layer."""

    side: int
    fresh: NDArray[np.uint8]
    """Shape (size,): codes of W(P)."""
    ranks: NDArray[np.uint8]
    """Shape (size,): ranks of g(P)."""
    fixed: NDArray[np.uint64]
    """Shape (size / 64,): a bit for each position that a symmetry of the board maps onto itself."""


@jit
def tally_layer(
    value: NDArray[np.uint8],
    there: NDArray[np.uint64],
    known: FreshSide,
    held: tuple[int, int, int],
    words: tuple[int, int],
    out: NDArray[np.int64],
) -> None:
    """Count the states of some words of a layer in which the accrued score is reset.

    :param value: shape (slots of the window,): codes of V(P, A) with one side to move.
    :param there: the slots of the window that are in the layer, a bit each.
    :param held: holder (0 if White) and rank of the accrued score A, and the first slot of the window.
    :param words: the first of ``there`` to look at, and the one behind the last.
    :param out: int64 (2, 3): states, and those in which the position is fixed, whose holder ends with a worse
        score, that the other side wins, and those of both that end like the fresh ones.
    """
    holder, rank, base = held
    kept = rank if holder == 0 else 255 - rank
    for word in range(words[0], words[1]):
        bits = there[word]
        if bits == np.uint64(0):
            continue
        for bit in range(64):
            if not bits >> np.uint64(bit) & np.uint64(1):
                continue
            inside = int64(word) * 64 + bit
            code, slot = value[inside], base + inside
            # g(P) is held by the side that has moved: an A equal to it is no state of its own.
            if code == kept or (holder != known.side and known.ranks[slot] == rank):
                continue
            lost = int64((code < NONE) != (holder == 0))
            as_fresh = int64(code == known.fresh[slot])
            out[0, lost] += 1
            out[0, 2] += as_fresh
            if known.fixed[slot >> 6] >> np.uint64(slot & 63) & np.uint64(1):
                out[1, lost] += 1
                out[1, 2] += as_fresh
