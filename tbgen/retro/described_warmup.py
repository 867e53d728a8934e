"""Compiling the kernels of the solver for described men, whose moves are arrays and not part of the code."""

from collections.abc import Callable
from typing import Final

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.compiler.cache import compile_side_by_side, compiling, mark_compiled
from tbgen.index.table import ArrayTable, Source
from tbgen.retro import solver_warmup
from tbgen.retro.solver import solve

FAMILY: Final = __name__
"""Name of these kernels in the cache."""
_SMALLEST: Final = Material.parse("K[W]vK")


def ensure_compiled(note: Callable[[str], object]) -> None:
    """Compile the kernels, and first those for men of chess, if they are not in the cache; ``note`` gets a
    sentence that says so before."""
    solver_warmup.ensure_compiled(note)
    with compiling(FAMILY, "of the solver for described men", "about half a minute", note) as needed:
        if needed:
            compile_side_by_side(compile_narrow, _compile_others)
            solver_warmup.run_all(_SMALLEST, _sources())
            mark_compiled(FAMILY)


def compile_narrow() -> None:
    """Compile the kernels that narrow phases are solved by, as far as they are not in the cache."""
    solver_warmup.compile_narrow(_SMALLEST, _sources())


def _compile_others() -> None:
    solver_warmup.compile_others(_SMALLEST, _sources())


def _sources() -> dict[Material, Source]:
    """Return the sub-tables of the smallest material."""
    table = solve(solver_warmup.SMALLEST, {}, Variant.R_MOBILITY)
    return {table.material: ArrayTable(table.value, table.depth, table.ep_value, table.ep_depth)}
