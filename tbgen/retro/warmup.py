"""Compiling all kernels of the solver in one go, so that it is a step of its own and not part of a table."""

from typing import Final

from tbgen.accelerate import mark_compiled
from tbgen.index.table import AccruedForm
from tbgen.material import Material
from tbgen.retro.expansion import expand
from tbgen.retro.solver import solve
from tbgen.variant import Variant

FAMILY: Final = "solver"
"""Name of these kernels in the cache."""


def compile_kernels() -> None:
    """Compile every kernel by solving the smallest table both ways, then mark the cache."""
    smallest = Material.parse("KvK")
    for wide in (False, True):
        solve(smallest, {}, Variant.R_MOBILITY, wide=wide, accrued=AccruedForm.FUNCTIONS)
        table = solve(smallest, {}, Variant.R_MOBILITY, wide=wide)
        expand(table.layout, 0, table.value[0], table.depth[0])
    mark_compiled(FAMILY)
