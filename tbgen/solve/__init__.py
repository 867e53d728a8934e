"""Beyond the tables: exact values or proven bounds of single positions, from the cells that they need.

``tbgen.solve`` is this package and the function that it is about, so both ``tbgen.solve(board)`` and ``import
tbgen.solve`` work.
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tbgen.solve.solution import Solution


class _CallablePackage(ModuleType):
    """A package that may be called (section "Customizing module attribute access" of Python's data model)."""

    def __call__(self, *arguments: Any, **options: Any) -> "Solution":
        """Call :func:`tbgen.solve.solver.solve`."""
        from tbgen.solve.solver import solve

        return solve(*arguments, **options)


sys.modules[__name__].__class__ = _CallablePackage
