"""Compiling all kernels for packed tables in a separate step."""

from collections.abc import Callable
from typing import Final

import numpy as np

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.compiler.cache import compile_side_by_side, compiling
from tbgen.compiler.jit import compile_for
from tbgen.index.layout import SIDES, layout_of
from tbgen.index.table import AccruedForm, ArraySource
from tbgen.retro.solver import solve
from tbgen.tables.coding import decoding_of, make_buffers, rows_of
from tbgen.tables.decoder import destinations_of, empty_batch, make_zeroing_buffers
from tbgen.tables.encode import encoding_of, new_counts, new_stream
from tbgen.tables.kernels.encode import (
    count_blocks,
    count_codes,
    decode_blocks,
    encode_blocks,
    find_shares,
    list_sampled_blocks,
)
from tbgen.tables.kernels.questions import answer, ask, find_bounds, find_values, list_open_questions
from tbgen.tables.kernels.rows import find_ranks
from tbgen.tables.kernels.zeroing import COLUMNS, find_exits, list_zeroing
from tbgen.tables.pack import NeedFinder
from tbgen.tables.structs import Coding, Content

KERNEL_FAMILY: Final = __name__
"""Name under which the kernels that write packed tables are cached."""

_SMALL_MATERIAL: Final = Material.parse("KNvK")
_LAYOUT: Final = layout_of(_SMALL_MATERIAL)
_ROWS: Final = rows_of(_LAYOUT, SIDES[0])
_ONES: Final = np.ones(1, np.int64)
_PAIRS: Final = np.ones((1, 2), np.int64)
_CODES: Final = np.zeros(2, np.uint8)


def _coding() -> Coding:
    """Return a coding with empty arrays, which have the same types as in every coding."""
    return decoding_of(_ROWS, lambda dataset: np.zeros([0 for _ in dataset.shape], dataset.types[-1]))


def ensure_compiled(emit: Callable[[str], object]) -> None:
    """Compile the kernels that write packed tables if they are not in the cache.

    Call this after the kernels of the solver have been compiled.

    :param emit: called with a message before the compilation.
    """
    with compiling(KERNEL_FAMILY, "of packed tables", "about ten seconds more", emit) as needed:
        if needed:
            compile_side_by_side(compile_need_finder, compile_encoding)


def compile_look_up() -> None:
    """Compile the kernels that look up positions in packed tables."""
    compile_side_by_side(compile_questions, compile_answers)


def compile_questions() -> None:
    """Compile the kernels that ask for stored positions, and that derive values from the answers."""
    batch = empty_batch(_ONES)
    buffers = make_buffers()
    compile_for(ask, _ROWS, batch, buffers, 0, 1)
    compile_for(find_values, _coding(), batch, _ONES, False, buffers)
    compile_for(find_bounds, _coding(), batch, _ONES, _PAIRS)
    compile_for(list_open_questions, _coding(), batch, _PAIRS, 1, _ONES)


def compile_answers() -> None:
    """Compile the kernels that look up the positions asked for, find ranks and find exits."""
    buffers = make_buffers()
    destinations = destinations_of(_LAYOUT)
    moves = np.zeros((1, COLUMNS), np.int64)
    compile_for(answer, _coding(), empty_batch(_ONES), _ONES, buffers, 0, 1)
    compile_for(find_ranks, _ROWS, 0, _ONES, buffers.squares, _ONES)
    compile_for(list_zeroing, destinations, 0, _ONES, False, make_zeroing_buffers(), moves)
    compile_for(find_exits, destinations, 0, moves, moves, moves)


def compile_need_finder() -> None:
    """Compile the kernels that find the positions to store, by solving a small table."""
    kings = Material.parse("KvK")
    kings_table = solve(kings, {}, Variant.R_MOBILITY, accrued=AccruedForm.NOTHING)
    finder = NeedFinder(_LAYOUT)
    solve(
        _SMALL_MATERIAL,
        {kings: ArraySource(kings_table.value, kings_table.depth)},
        Variant.R_MOBILITY,
        accrued=AccruedForm.FUNCTIONS,
        side=finder.side,
        after_phase=finder,
    )


def compile_encoding() -> None:
    """Compile the kernels that encode a table and decode it again."""
    words = np.zeros(1, np.uint64)
    content = Content(np.zeros(1, np.uint8), np.zeros(1, np.uint16), np.zeros(1, np.uint32), words)
    encoding = encoding_of(_ROWS, _CODES, 0)
    counts = new_counts(0, 0, 0)
    buffers = make_buffers()
    compile_for(count_codes, content, _ONES, 0, 1)
    compile_for(list_sampled_blocks, encoding, content, 0, buffers, 0, 1, np.zeros((1, 1), np.int64), _ONES)
    compile_for(count_blocks, encoding, content, counts, buffers, 0, 1)
    compile_for(find_shares, _ONES, _ONES, np.zeros(1, np.uint16))
    compile_for(encode_blocks, encoding, content, new_stream(0), buffers, 0, 1)
    compile_for(decode_blocks, _coding(), content, True, buffers, 0, 1)
