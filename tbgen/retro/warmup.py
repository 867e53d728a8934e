"""Compiling all kernels of the solver in one go, so that it is a step of its own and not part of a table."""

from collections.abc import Callable
from typing import Final

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.compiler.cache import compiling, mark_compiled
from tbgen.index.table import AccruedForm
from tbgen.retro.every_layer import EveryLayer
from tbgen.retro.expansion import expand
from tbgen.retro.solver import solve

FAMILY: Final = __name__
"""Name of these kernels in the cache."""


def ensure_compiled(note: Callable[[str], object]) -> None:
    """Compile the kernels if they are not in the cache; ``note`` is told so before."""
    with compiling(FAMILY, "of the solver", "about two minutes", note) as needed:
        if needed:
            compile_kernels()


def compile_kernels() -> None:
    """Compile every kernel by solving the smallest table both ways and once more, then mark the cache."""
    smallest = Material.parse("KvK")
    for wide in (False, True):
        solve(smallest, {}, Variant.R_MOBILITY, wide=wide, accrued=AccruedForm.FUNCTIONS)
        table = solve(smallest, {}, Variant.R_MOBILITY, wide=wide)
        expand(table.layout, 0, table.value[0], table.depth[0])
    with EveryLayer(table, {}) as every:
        for window in every.windows:
            for _ in every.layers(window):
                pass
    mark_compiled(FAMILY)
