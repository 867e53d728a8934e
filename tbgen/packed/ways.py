"""The ways of each kind of men from each square, as an array for the kernels."""

from typing import Final

import numpy as np

from tbgen.board.kinds import KINDS, ways

MOST_WAYS: Final = max(len(kind.steps) for kind in KINDS)
"""Most ways of a man."""
WAY: Final = np.zeros((len(KINDS), 64, MOST_WAYS, 8), np.int8)
"""int8 (kinds, 64, MOST_WAYS, 8): how many squares lie on a way of a man on a square, then these squares in
the order in which he passes them."""

for _kind in range(len(KINDS)):
    for _square in range(64):
        for _number, _way in enumerate(ways(_kind, _square)):
            WAY[_kind, _square, _number, : 1 + len(_way)] = len(_way), *_way
