"""Compiling all kernels of the solver in one go, so that it is a step of its own and not part of a table."""

from pathlib import Path
from typing import Final

from tbgen.accelerate import kernel_cache
from tbgen.material import Material
from tbgen.retro.solver import solve, source_of

_MARK: Final = "solver-compiled"


def _mark() -> Path:
    return kernel_cache() / _MARK


def kernels_are_compiled() -> bool:
    """Whether this version's kernels lie compiled in the cache."""
    return _mark().exists()


def compile_kernels() -> None:
    """Compile every kernel by solving the smallest table both ways, then mark the cache."""
    smallest = Material.parse("KvK")
    for wide in (False, True):
        source_of(solve(smallest, {}, wide=wide))
    _mark().touch()
