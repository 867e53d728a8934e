"""The one place where numba is set up: the decorators of kernels.

Importing this module imports numba (about half a second), so nothing on the probing path may do it.
"""

from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

import numba
import numba.extending
import numpy as np
from numba.core.caching import CacheImpl, _CacheLocator

from tbgen.compiler import cache as kernel_cache

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


class KernelLocator(_CacheLocator):
    """Tells numba where a kernel of the package is kept; its own cache notices no edit to what a kernel
    calls, and knows a kernel by the path of the package."""

    def __init__(self, function: Callable[..., Any], file: str) -> None:
        self._py_file = file
        self._line = function.__code__.co_firstlineno
        self._name = kernel_cache.name_of(function.__module__)

    def get_cache_path(self) -> str:
        """Return the folder of the kernel's module."""
        return str(kernel_cache.directory() / self._name)

    def get_source_stamp(self) -> str:
        """Return what stands for the sources: the name of the folder."""
        return self._name

    def get_disambiguator(self) -> str:
        """Return what two kernels of one name in a module differ by."""
        return str(self._line)

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> "KernelLocator | None":
        """Return the locator of a function of the package, None for others."""
        return cls(function, file) if _of_package(function) else None


CacheImpl._locator_classes.insert(0, KernelLocator)


def _of_package(function: Callable[..., Any]) -> bool:
    # Machine code of other functions is not kept: nobody would notice an edit to what they call.
    return function.__module__.startswith("tbgen.")


def _compiled(function: Kernel, **options: Any) -> Kernel:
    compiled: Kernel = numba.njit(function, nogil=True, cache=_of_package(function), **options)
    return compiled


def jit(function: Kernel) -> Kernel:
    """Decorate a kernel: compiled without Python objects, free of the interpreter lock, cached."""
    return _compiled(function)


def kernel(function: Kernel) -> Kernel:
    """Decorate a kernel that allocates nothing and that other kernels call.

    numba need not count references to its arrays then, and the atomic counting that it would do can take ten
    times as long as the work itself.
    """
    return _compiled(function, _nrt=False)


def inlined(function: Kernel) -> Kernel:
    """Decorate what only kernels call, and always as part of their own code.

    A real call would copy the descriptions of all arrays that are passed in tuples. Like a kernel it counts
    no references, so that an array it returns must go to a kernel, never to what ``jit`` has compiled.
    """
    return _compiled(function, _nrt=False, forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def merged(function: Kernel) -> Kernel:
    """Decorate what few kernels call, each of which is compiled with a copy of it; it is not compiled itself.

    A call that hands on hundreds of arrays, as a whole workspace has them, takes many seconds to compile.
    """
    return _compiled(function, inline="always")


def intrinsic(generator: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate what writes the machine code of a call by itself (``numba.extending.intrinsic``)."""
    made: Callable[..., Any] = numba.extending.intrinsic(generator)
    return made


def python_of(kernel: Kernel) -> Kernel:
    """Return the Python function behind a kernel, for calls that are not worth compiling for."""
    function: Kernel = cast(Any, kernel).py_func
    return function


int64: Final[Callable[[Any], int]] = cast(Any, np.int64)
"""numpy's int64, which the hints of kernels call ``int``."""
