"""Compilation of the kernels that write packed tables, before a build needs them."""

from collections.abc import Callable
from typing import Final

import numpy as np

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.compiler.cache import compile_side_by_side, compiling
from tbgen.compiler.jit import compile_for
from tbgen.index.table import AccruedForm
from tbgen.retro.solver import solve
from tbgen.tables.coding import make_buffers
from tbgen.tables.encode import encoding_of, new_counts, new_stream
from tbgen.tables.kernels.encode import (
    count_blocks,
    count_codes,
    decode_blocks,
    encode_blocks,
    find_shares,
    list_sampled_blocks,
)
from tbgen.tables.look_up_warmup import LAYOUT, ROWS, SMALL_MATERIAL, empty_coding
from tbgen.tables.pack import NeedFinder
from tbgen.tables.structs import Content

KERNEL_FAMILY: Final = __name__
"""Name under which the kernels that write packed tables are cached."""

_EXAMPLE_INTS: Final = np.ones(1, np.int64)
_EXAMPLE_CODES: Final = np.zeros(2, np.uint8)


def ensure_compiled(emit: Callable[[str], object]) -> None:
    """Compile the kernels that write packed tables if they are not in the cache.

    Call this after the kernels of the solver have been compiled.

    :param emit: called with a message before the compilation.
    """
    with compiling(KERNEL_FAMILY, "of packed tables", "about ten seconds more", emit) as needed:
        if needed:
            compile_side_by_side(compile_need_finder, compile_encoding)


def compile_need_finder() -> None:
    """Compile the kernels that find the positions to store, by solving a small table."""
    kings = Material.parse("KvK")
    kings_table = solve(kings, {}, Variant.R_MOBILITY, accrued=AccruedForm.NOTHING)
    finder = NeedFinder(LAYOUT)
    solve(
        SMALL_MATERIAL,
        {kings: kings_table},
        Variant.R_MOBILITY,
        accrued=AccruedForm.FUNCTIONS,
        side=finder.side,
        after_phase=finder,
    )


def compile_encoding() -> None:
    """Compile the kernels that encode a table and decode it again."""
    omitted = np.zeros(1, np.uint64)
    content = Content(np.zeros(1, np.uint8), np.zeros(1, np.uint16), np.zeros(1, np.uint32), omitted)
    encoding = encoding_of(ROWS, _EXAMPLE_CODES, 0)
    counts = new_counts(0, 0, 0)
    buffers = make_buffers()
    compile_for(count_codes, content, _EXAMPLE_INTS, 0, 1)
    samples = np.zeros((1, 1), np.int64)
    compile_for(list_sampled_blocks, encoding, content, 0, buffers, 0, 1, samples, _EXAMPLE_INTS)
    compile_for(count_blocks, encoding, content, counts, buffers, 0, 1)
    compile_for(find_shares, _EXAMPLE_INTS, _EXAMPLE_INTS, np.zeros(1, np.uint16))
    compile_for(encode_blocks, encoding, content, new_stream(0), buffers, 0, 1)
    compile_for(decode_blocks, empty_coding(), content, True, buffers, 0, 1)
