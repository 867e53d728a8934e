"""Compiling the kernels that look up positions in packed tables. This module does not import numba."""

import logging
from collections.abc import Callable
from typing import Final

import numpy as np

from tbgen.board.material import Material
from tbgen.compiler.structs import Struct
from tbgen.index.layout import SIDES, layout_of
from tbgen.tables.coding import decoding_of, make_buffers, rows_of
from tbgen.tables.structs import Coding, RankedPositions

SMALL_MATERIAL: Final = Material.parse("KNvK")
"""The smallest material of a table that can be packed."""
LAYOUT: Final = layout_of(SMALL_MATERIAL)
ROWS: Final = rows_of(LAYOUT, SIDES[0])

_logger = logging.getLogger(__name__)


def ensure_compiled(emit: Callable[[str], object] = _logger.warning) -> None:
    """Load the kernels that look up positions, and compile them if they are not in the cache.

    Packed tables need them, and arrays of positions with accrued scores, whatever the form of the table.

    :param emit: called with a message before the compilation.
    """
    from tbgen.tables.look_up import KERNELS

    KERNELS.load(emit)


def empty_coding() -> Coding:
    """Return a coding with empty arrays, which have the same types as in every coding."""
    return decoding_of(ROWS, lambda dataset: np.zeros([0 for _ in dataset.shape], dataset.types[-1]))


def examples() -> list[tuple[Struct | int, ...]]:
    """Return examples of the arguments of each kernel in :mod:`tbgen.tables.entries`."""
    from tbgen.tables.look_up import destinations_of, empty_batch, empty_moves, make_zeroing_buffers

    one = np.ones(1, np.int64)
    coding = empty_coding()
    batch = empty_batch(one)
    buffers = make_buffers()
    moves = empty_moves(1)
    destinations = destinations_of(LAYOUT)
    return [
        (ROWS, batch, buffers, 0, 1),
        (coding, batch, buffers, 0, 1),
        (coding, batch, buffers, 1, 0),
        (coding, batch, moves),
        (coding, batch, 1),
        (ROWS, RankedPositions(one, one), buffers, 0, 0, 1),
        (destinations, moves, make_zeroing_buffers(), 0, 1, 0),
        (destinations, moves, 0, 1),
    ]
