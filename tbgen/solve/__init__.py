"""Beyond the tables: exact values or proven bounds of single positions, from the cells that they need.

``tbgen.solve`` is this package and the function that it is about, so both ``tbgen.solve(board)`` and ``import
tbgen.solve`` work.
"""

import inspect
import sys
import textwrap
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tbgen.solve.solution import Solution


class _CallablePackage(ModuleType):
    """A package that may be called (section "Customizing module attribute access" of Python's data model)
    and that describes the function, which is imported when it is called or described."""

    def __call__(self, *arguments: Any, **options: Any) -> "Solution":
        """Call :func:`tbgen.solve.solver.solve`."""
        from tbgen.solve.solver import solve

        return solve(*arguments, **options)

    @property
    def __signature__(self) -> inspect.Signature:
        from tbgen.solve.solver import solve

        return inspect.signature(solve)

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        from tbgen.solve.solver import solve

        call = textwrap.fill(f"``tbgen.solve{self.__signature__}``", 100)
        return f"{vars(self)['__doc__']}\n{call}\n\n{inspect.getdoc(solve)}\n"


sys.modules[__name__].__class__ = _CallablePackage
