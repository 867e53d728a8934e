"""Compiling the kernels that look up positions in packed tables. This module does not import numba."""

import logging
from collections.abc import Callable
from typing import Final

import numpy as np

from tbgen.board.material import Material
from tbgen.index.layout import SIDES, layout_of
from tbgen.tables.coding import decoding_of, make_buffers, rows_of
from tbgen.tables.structs import Coding

KERNEL_FAMILY: Final = __name__
"""Name, in the cache, of the kernels that look up positions."""

SMALL_MATERIAL: Final = Material.parse("KNvK")
"""The smallest material of a table that can be packed."""
LAYOUT: Final = layout_of(SMALL_MATERIAL)
ROWS: Final = rows_of(LAYOUT, SIDES[0])
_ONES: Final = np.ones(1, np.int64)
_PAIRS: Final = np.ones((1, 2), np.int64)

_logger = logging.getLogger(__name__)


def ensure_compiled(emit: Callable[[str], object] = _logger.warning) -> None:
    """Compile the kernels that look up positions if they are not in the cache.

    Packed tables need them, and arrays of positions with accrued scores, whatever the form of the table.

    :param emit: called with a message before the compilation.
    """
    from tbgen.compiler.cache import compile_side_by_side, compiling

    with compiling(KERNEL_FAMILY, "that look up positions", "about ten seconds", emit) as needed:
        if needed:
            compile_side_by_side(compile_questions, compile_answers)


def empty_coding() -> Coding:
    """Return a coding with empty arrays, which have the same types as in every coding."""
    return decoding_of(ROWS, lambda dataset: np.zeros([0 for _ in dataset.shape], dataset.types[-1]))


def compile_questions() -> None:
    """Compile the kernels that ask for stored positions, and that derive values from the answers."""
    from tbgen.compiler.jit import compile_for
    from tbgen.tables.kernels.questions import ask, find_bounds, find_values, list_open_questions
    from tbgen.tables.look_up import empty_batch

    batch = empty_batch(_ONES)
    buffers = make_buffers()
    compile_for(ask, ROWS, batch, buffers, 0, 1)
    compile_for(find_values, empty_coding(), batch, _ONES, False, buffers)
    compile_for(find_bounds, empty_coding(), batch, _ONES, _PAIRS)
    compile_for(list_open_questions, empty_coding(), batch, _PAIRS, 1, _ONES)


def compile_answers() -> None:
    """Compile the kernels that look up the positions asked for, find ranks and find exits."""
    from tbgen.compiler.jit import compile_for
    from tbgen.tables.kernels.questions import answer
    from tbgen.tables.kernels.rows import find_ranks
    from tbgen.tables.kernels.zeroing import COLUMNS, find_exits, list_zeroing
    from tbgen.tables.look_up import destinations_of, empty_batch, make_zeroing_buffers

    buffers = make_buffers()
    destinations = destinations_of(LAYOUT)
    moves = np.zeros((1, COLUMNS), np.int64)
    compile_for(answer, empty_coding(), empty_batch(_ONES), _ONES, buffers, 0, 1)
    compile_for(find_ranks, ROWS, 0, _ONES, buffers.squares, _ONES)
    compile_for(list_zeroing, destinations, 0, _ONES, False, make_zeroing_buffers(), moves)
    compile_for(find_exits, destinations, 0, moves, moves, moves)
