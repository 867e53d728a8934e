"""From the canonical slots of a stored table to all its slots."""

import numpy as np
from numpy.typing import NDArray

from tbgen.index.layout import Layout
from tbgen.retro.kernels.canonical import expand_words
from tbgen.retro.workspace import frame_of, like_men, mirrors_itself


def expand(layout: Layout, phase: int, value: NDArray[np.uint8], depth: NDArray[np.uint16]) -> None:
    """Copy the values and depths of a phase's canonical slots with one side to move (both (phase size,)) to
    all slots that stand for the same position."""
    like, mirrored = like_men(layout), mirrors_itself(layout, phase)
    if len(like) or mirrored or not layout.pawns:
        frame = frame_of(layout)
        expand_words(frame, like, mirrored, value, depth, 0, frame.words)
