"""The one place where numba is set up: the decorators of kernels.

Importing this module imports numba (about half a second), so nothing on the probing path may do it.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any, Final, ParamSpec, TypeVar, cast

import numba
import numba.extending
import numpy as np
from numba.core.caching import CacheImpl, _CacheLocator
from numba.core.codegen import CodeLibrary, JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.registry import CPUDispatcher

from tbgen.compiler import cache as kernel_cache

Kernel = TypeVar("Kernel", bound=Callable[..., Any])
P = ParamSpec("P")
Result = TypeVar("Result")


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
        return cls(function, file) if function.__module__.startswith("tbgen.") else None


CacheImpl._locator_classes.insert(0, KernelLocator)


class InnerLibrary(JITCodeLibrary):
    """The code of a kernel as others call it: as it was written, neither optimised nor made machine code.

    Optimised it is inside of what Python calls, once for each of those.
    """

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        """Leave the code as it is."""
        self._finalized = True


def _needed(library: CodeLibrary) -> list[CodeLibrary]:
    """Return a library, and those of all kernels that one of a kernel needs, directly or not."""
    found: dict[CodeLibrary, None] = {}
    waiting = [library]
    while waiting:
        each = waiting.pop()
        if each not in found:
            found[each] = None
            waiting += each._linking_libraries if isinstance(each, InnerLibrary) else []
    return list(found)


class EntryLibrary(JITCodeLibrary):
    """The code of a kernel that Python calls, and of all kernels that it calls."""

    def add_linking_library(self, library: CodeLibrary) -> None:
        """Have a library, and whatever it needs, be part of this one."""
        for each in _needed(library):
            super().add_linking_library(each)


class InnerCompiler(Compiler):
    """Compiles a kernel for others to call."""

    def __init__(self, typing: Any, target: Any, library: Any, *rest: Any) -> None:
        *_, flags, _ = rest
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        super().__init__(typing, target, InnerLibrary(target.codegen(), "inner"), *rest)


class EntryCompiler(Compiler):
    """Compiles a kernel for Python to call."""

    def __init__(self, typing: Any, target: Any, library: Any, *rest: Any) -> None:
        library = EntryLibrary(target.codegen(), "entry")
        library.enable_object_caching()
        super().__init__(typing, target, library, *rest)


class KernelDispatcher(CPUDispatcher):
    """A kernel: others call the code of an ``InnerLibrary``, and Python calls an entry, which is made when it
    first does, and kept on disk."""

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        super().__init__(function, {}, options, InnerCompiler)

    @cached_property
    def entry(self) -> Any:
        """The machine code that Python calls."""
        entry = CPUDispatcher(self.py_func, {}, self.targetoptions, EntryCompiler)
        # Machine code of other functions is not kept: nobody would notice an edit to what they call.
        if self.py_func.__module__.startswith("tbgen."):
            entry.enable_caching()
        return entry

    def __call__(self, *args: Any) -> Any:
        """Call the entry."""
        return self.entry(*args)

    def add_overload(self, result: Any) -> None:
        """Have the code for some types of arguments at hand."""
        result = result._replace(entry_point=object())
        self.targetctx.insert_user_function(result.entry_point, result.fndesc, [result.library])
        self.overloads[tuple(result.signature.args)] = result


def _compiled(function: Kernel, **options: Any) -> Kernel:
    return cast(Kernel, KernelDispatcher(function, nopython=True, nogil=True, **options))


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

    Like a kernel it counts no references, so that an array it returns must go to a kernel, never to what
    ``jit`` has compiled.
    """
    return _compiled(function, _nrt=False, forceinline=True)


def intrinsic(generator: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate what writes the machine code of a call by itself (``numba.extending.intrinsic``)."""
    made: Callable[..., Any] = numba.extending.intrinsic(generator)
    return made


def compile_for(kernel: Callable[..., Result], *examples: Any) -> Callable[..., Result]:
    """Compile a kernel for arguments like these without calling it, and return its machine code."""
    types = tuple(numba.typeof(example) for example in examples)
    return cast(Callable[..., Result], cast(Any, kernel).entry.compile(types))


def with_fixed_types(kernel: Callable[P, Result]) -> Callable[P, Result]:
    """Return a function that calls a kernel, for many calls with arguments of the same types.

    It determines these at the first call, a kernel at each of them, which takes 0.4 ms where tuples of arrays
    are among the arguments.
    """
    code: Callable[..., Result] | None = None

    def call(*args: P.args, **options: P.kwargs) -> Result:
        nonlocal code
        code = code or compile_for(kernel, *args)
        return code(*args, **options)

    return call


def python_of(kernel: Kernel) -> Kernel:
    """Return the Python function behind a kernel, for calls that are not worth compiling for."""
    function: Kernel = cast(Any, kernel).py_func
    return function


int64: Final[Callable[[Any], int]] = cast(Any, np.int64)
"""numpy's int64, which the hints of kernels call ``int``."""
