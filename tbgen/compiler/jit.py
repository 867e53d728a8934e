"""The set-up of numba: the decorators of kernels.

Importing this module imports numba, which takes about half a second, so probing must not import it.
"""

import pickle
from collections.abc import Callable
from functools import cached_property
from hashlib import sha256
from typing import Any, Final, ParamSpec, TypeVar, cast

import numba
import numba.extending
import numpy as np
from numba.core.caching import NullCache
from numba.core.codegen import CodeLibrary, JITCodeLibrary
from numba.core.compiler import Compiler, CompileResult
from numba.core.registry import CPUDispatcher
from numba.core.serialize import dumps
from numba.np import arrayobj

from tbgen.compiler import cache as kernel_cache
from tbgen.compiler import struct_types as struct_types  # kernels need numba's types of structures

Kernel = TypeVar("Kernel", bound=Callable[..., Any])
P = ParamSpec("P")
Result = TypeVar("Result")
_fix_integer_index = arrayobj.fix_integer_index
int64: Final[Callable[[Any], int]] = cast(Any, np.int64)
"""numpy's int64, declared as a function that returns ``int``, because the type hints of kernels
say ``int``."""


class KernelCache(NullCache):
    """Keeps the machine code of a kernel in the cache of :mod:`tbgen.compiler.cache`, one file per signature.

    numba's own cache does not notice edits to the functions that a kernel calls, depends on the path of the
    package, loads damaged files, and confuses signatures that two processes store at the same time.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        folder = kernel_cache.folder_name(function.__module__)
        self._stem = f"{folder}/{function.__qualname__}-{function.__code__.co_firstlineno}"

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the stored code for a signature; None if there is none."""
        target_context.refresh()
        content = kernel_cache.load(self._name(sig, target_context.codegen()))
        if content is None:
            return None
        return CompileResult._rebuild(target_context, *pickle.loads(content))

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store the code for a signature, unless it contains addresses of this process."""
        if not data.library.has_dynamic_globals:
            kernel_cache.store(self._name(sig, data.codegen), dumps(data._reduce()))

    def _name(self, signature: Any, codegen: Any) -> str:
        """Return the name of the file for a signature and this kind of processor."""
        key = repr((signature, codegen.magic_tuple()))
        return f"{self._stem}-{sha256(key.encode()).hexdigest()[:16]}.nbc"


def _make_offset(context: Any, builder: Any, index_type: Any, index: Any, size: Any) -> Any:
    """Return the code of an index of an array, for numba.

    In functions of the package, a negative index does not count from the end of an axis. Testing every index
    takes up to a third of the time of a kernel.
    """
    if context.fndesc.modname.startswith("tbgen."):
        return context.cast(builder, index, index_type, numba.types.intp)
    return _fix_integer_index(context, builder, index_type, index, size)


arrayobj.fix_integer_index = _make_offset


class InnerLibrary(JITCodeLibrary):
    """The unoptimised code of a kernel, for calls by other kernels.

    It is optimised and compiled to machine code as part of each :class:`EntryLibrary` that needs it.
    """

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        """Mark the library as finished without compiling it."""
        self._finalized = True


def _linked_libraries(library: CodeLibrary) -> list[CodeLibrary]:
    """Return a library and all libraries of kernels that it needs, directly or indirectly."""
    libraries: dict[CodeLibrary, None] = {}
    unvisited = [library]
    while unvisited:
        current = unvisited.pop()
        if current not in libraries:
            libraries[current] = None
            unvisited += current._linking_libraries if isinstance(current, InnerLibrary) else []
    return list(libraries)


class EntryLibrary(JITCodeLibrary):
    """The code of a kernel that Python calls, including the code of all kernels that this kernel calls."""

    def add_linking_library(self, library: CodeLibrary) -> None:
        """Link a library and all libraries that it needs into this one."""
        for needed in _linked_libraries(library):
            super().add_linking_library(needed)


class InnerCompiler(Compiler):
    """Compiles a kernel that other kernels call."""

    def __init__(self, typing: Any, target: Any, library: Any, *rest: Any) -> None:
        *_, flags, _ = rest
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        super().__init__(typing, target, InnerLibrary(target.codegen(), "inner"), *rest)


class EntryCompiler(Compiler):
    """Compiles a kernel that Python calls."""

    def __init__(self, typing: Any, target: Any, library: Any, *rest: Any) -> None:
        library = EntryLibrary(target.codegen(), "entry")
        library.enable_object_caching()
        super().__init__(typing, target, library, *rest)


class KernelDispatcher(CPUDispatcher):
    """A kernel. Other kernels call the code of its ``InnerLibrary``; Python calls its entry.

    The entry is compiled at the first call from Python, and cached on disk.
    """

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        super().__init__(function, {}, options, InnerCompiler)

    @cached_property
    def entry(self) -> Any:
        """The machine code that Python calls."""
        entry: Any = CPUDispatcher(self.py_func, {}, self.targetoptions, EntryCompiler)
        # Functions outside the package are not cached, since edits to what they call would not be noticed.
        if self.py_func.__module__.startswith("tbgen."):
            entry._cache = KernelCache(self.py_func)
        return entry

    def __call__(self, *args: Any) -> Any:
        """Call the entry."""
        return self.entry(*args)

    def compile(self, signature: Any) -> Any:
        """Compile the kernel for the types of arguments. Constants have no types of their own, since LLVM
        inserts them anyway."""
        return super().compile(tuple(map(numba.types.unliteral, signature)))

    def add_overload(self, result: Any) -> None:
        """Register the code for a signature."""
        result = result._replace(entry_point=object())
        self.targetctx.insert_user_function(result.entry_point, result.fndesc, [result.library])
        self.overloads[tuple(result.signature.args)] = result


def _make_dispatcher(function: Kernel, **options: Any) -> Kernel:
    return cast(Kernel, KernelDispatcher(function, nopython=True, nogil=True, **options))


def jit(function: Kernel) -> Kernel:
    """Decorate a kernel, which uses no Python objects, releases the interpreter lock, and is cached."""
    return _make_dispatcher(function)


def kernel(function: Kernel) -> Kernel:
    """Decorate a kernel that allocates nothing and is called by other kernels.

    References to its arrays are not counted: counting is atomic, and can take ten times as long as the work.
    """
    return _make_dispatcher(function, _nrt=False)


def inlined(function: Kernel) -> Kernel:
    """Decorate a function that is always inlined into the kernels that call it.

    As in functions decorated with ``kernel``, references to arrays are not counted. So an array that such a
    function returns may be used in functions decorated with ``kernel`` or ``inlined``, not with ``jit``.
    """
    return _make_dispatcher(function, _nrt=False, forceinline=True)


def intrinsic(generator: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a function that generates the LLVM code of a call (``numba.extending.intrinsic``)."""
    return cast(Callable[..., Any], numba.extending.intrinsic(generator))


def compile_for(kernel: Callable[..., Result], *examples: Any) -> Callable[..., Result]:
    """Compile a kernel for the types of example arguments, and return the compiled function."""
    types = tuple(numba.typeof(example) for example in examples)
    return cast(Callable[..., Result], cast(Any, kernel).entry.compile(types))


def with_fixed_types(kernel: Callable[P, Result]) -> Callable[P, Result]:
    """Return a function that calls a kernel, for many calls with arguments of the same types.

    The returned function determines the types at its first call only. The kernel itself determines them at
    each call, which takes 0.4 ms if the arguments include tuples of arrays.
    """
    code: Callable[..., Result] | None = None

    def call(*args: P.args, **options: P.kwargs) -> Result:
        nonlocal code
        code = code or compile_for(kernel, *args)
        return code(*args, **options)

    return call


def python_of(kernel: Kernel) -> Kernel:
    """Return the Python function of a kernel, for calls that do not justify compiling it."""
    return cast(Kernel, cast(Any, kernel).py_func)
