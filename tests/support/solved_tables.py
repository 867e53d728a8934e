"""Tables straight from the solver, in memory."""

from collections.abc import Mapping
from functools import cache

from tbgen.board.material import Material
from tbgen.board.variant import Variant
from tbgen.index.layout import Layout
from tbgen.index.table import Table
from tbgen.retro import solver
from tbgen.verify.sub_tables import SubTables


@cache
def solved(name: str, wide: bool | None = None, variant: Variant = Variant.R_MOBILITY) -> Table:
    """A table and its sub-tables straight from the solver, in memory."""
    return solver.solve(Material.parse(name), around(name, wide, variant), variant, wide=wide)


def around(
    name: str, wide: bool | None = None, variant: Variant = Variant.R_MOBILITY
) -> dict[Material, Table]:
    """Return the sub-tables of a table as sources for its solver."""
    return {sub: source_of(solved(sub.name, wide, variant)) for sub in Material.parse(name).successors()}


def source_of(table: Table) -> Table:
    return table.fresh_only()


def sub_tables_of(layout: Layout, tables: Mapping[Material, Table]) -> SubTables:
    """Return the sub-tables of a table for its proof."""
    return SubTables(layout, lambda material: source_of(tables[material]))
