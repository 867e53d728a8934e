"""Compiling the solver kernels for described men (docs/described.md).

The moves of described men are arguments of the kernels, while those of chess men are constants.
"""

from collections.abc import Callable
from typing import Final

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.compiler.cache import compile_side_by_side, compiling, mark_compiled
from tbgen.index.table import Source
from tbgen.retro import solver_warmup
from tbgen.retro.solver import solve

KERNEL_FAMILY: Final = __name__
"""Name of this family of kernels in the cache."""
_SMALLEST_MATERIAL: Final = Material.parse("K[W]vK")


def ensure_compiled(emit: Callable[[str], object]) -> None:
    """Compile the kernels for chess men, then those for described men, unless they are in the cache.

    ``emit`` is called with a message before each compilation.
    """
    solver_warmup.ensure_compiled(emit)
    with compiling(KERNEL_FAMILY, "of the solver for described men", "about half a minute", emit) as needed:
        if needed:
            compile_side_by_side(compile_single_thread_kernels, _compile_wide_kernels)
            solver_warmup.solve_in_all_modes(_SMALLEST_MATERIAL, _sources())
            mark_compiled(KERNEL_FAMILY)


def compile_single_thread_kernels() -> None:
    """Compile the kernels of :func:`solver_warmup.compile_single_thread_kernels` for described men."""
    solver_warmup.compile_single_thread_kernels(_SMALLEST_MATERIAL, _sources())


def _compile_wide_kernels() -> None:
    solver_warmup.compile_wide_kernels(_SMALLEST_MATERIAL, _sources())


def _sources() -> dict[Material, Source]:
    """Return the sub-tables of ``_SMALLEST_MATERIAL``."""
    table = solve(solver_warmup.SMALLEST_MATERIAL, {}, Variant.R_MOBILITY)
    return {table.material: table}
