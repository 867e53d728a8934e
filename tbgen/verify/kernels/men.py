"""The men of a table or cell, as the kernels of the proof read them."""

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Squares: TypeAlias = NDArray[np.int64]
"""Shape (8,) or more: squares of men."""


class ProofMen(NamedTuple):
    """The men of a table or cell, as the kernels read them: free men, whose squares are in the slot, then
    those that stand still in a phase."""

    kinds: NDArray[np.int64]
    """Shape (men,): kind of every man, pawns last."""
    colours: NDArray[np.int64]
    """Shape (men,)."""
    king: NDArray[np.int64]
    """Shape (2,): which man is the king of each side."""
    free: int
    """Number of free men."""
    triangle: bool
    """Whether the first man stands in the triangle, as in tables without pawns."""
    phase_size: int
    placements: NDArray[np.uint8]
    """Shape (phases, men that stand still): their squares."""
    steps: NDArray[np.int64]
    """Shape (men, most steps, 3): files, ranks and number of each step of every man, 0 times where it has no
    more; shape (0, 0, 3) where all men are those of chess."""
    reach: NDArray[np.uint64]
    """Shape (men, 64): what each man attacks on an empty board; shape (0, 64) where ``steps`` is empty."""
