"""Compilation of kernels to an object file, which :mod:`tbgen.compiler.object_code` loads without numba.

The object file of a family has an *entry* for each kernel: a function that takes its arguments as an array of
64-bit integers. The entry checks the types of structures, calls the kernel, and returns its result. The file
has none of numba's wrappers, because they call functions of numba.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final, cast

import numba
from llvmlite import ir
from numba.core import cgutils
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target

from tbgen.compiler.jit import EntryLibrary
from tbgen.compiler.object_code import ENTRY_PREFIX, RAISED
from tbgen.compiler.struct_types import StructType

_INT64: Final = ir.IntType(64)
_LIBRARY_FUNCTIONS: Final = {"memset", "memcpy", "memmove"}
"""Functions of the C library that machine code may call. A missing function would end the process."""


def compile_objects(kernels: Iterable[tuple[Callable[..., Any], Any]]) -> tuple[dict[str, int], bytes]:
    """Compile a family of kernels. Return the number of arguments of each kernel, and the object file.

    :param kernels: kernels, each with example arguments.
    :raises TypeError: if a kernel returns something other than an int64 or nothing.
    :raises RuntimeError: if a kernel calls functions that an object file cannot call.
    """
    codegen = cpu_target.target_context.codegen()
    library = EntryLibrary(codegen, "object")
    library.enable_object_caching()
    module = library.create_ir_module("object")
    argument_counts = {}
    kernel_libraries = []
    for kernel, examples in kernels:
        argument_counts[kernel.__name__] = len(examples)
        types = tuple(numba.typeof(example) for example in examples)
        cast(Any, kernel).compile(types)
        compiled = cast(Any, kernel).overloads[types]
        _write_entry(module, kernel.__name__, compiled)
        kernel_libraries.append(compiled.library)
    library.add_ir_module(module)
    for kernel_library in kernel_libraries:
        library.add_linking_library(kernel_library)
    with global_compiler_lock:
        library.finalize()
    functions = cast(Any, library)._final_module.functions
    called = {function.name for function in functions if function.is_declaration}
    missing = {name for name in called - _LIBRARY_FUNCTIONS if not name.startswith("llvm.")}
    if missing:
        raise RuntimeError(f"kernels call functions that an object file cannot call: {sorted(missing)}")
    code: bytes = cast(Any, library)._get_compiled_object()
    return argument_counts, code


def _write_entry(module: Any, name: str, compiled: Any) -> None:
    """Write the code of an entry.

    :param name: name of the kernel.

    :raises TypeError: if the kernel returns something other than an int64 or nothing.
    """
    context = cpu_target.target_context
    signature = compiled.signature
    if signature.return_type not in (numba.types.int64, numba.types.none):
        raise TypeError(f"{name} returns {signature.return_type}: expected an int64 or nothing")
    entry = ir.Function(module, ir.FunctionType(_INT64, [_INT64.as_pointer()]), ENTRY_PREFIX + name)
    builder = ir.IRBuilder(entry.append_basic_block())
    arguments = []
    for index, argument_type in enumerate(signature.args):
        argument = builder.load(builder.gep(entry.args[0], [ir.Constant(_INT64, index)]))
        if isinstance(argument_type, StructType):
            found_signature = builder.load(builder.inttoptr(argument, _INT64.as_pointer()))
            expected_signature = ir.Constant(_INT64, argument_type.signature)
            is_other_type = builder.icmp_unsigned("!=", found_signature, expected_signature)
            with builder.if_then(is_other_type, likely=False):
                builder.ret(ir.Constant(_INT64, RAISED - 1 - index))
            arguments.append(builder.inttoptr(argument, cgutils.voidptr_t))
        else:
            arguments.append(argument)
    kernel = context.declare_function(module, compiled.fndesc)
    call_function = context.call_conv.call_function
    status, result = call_function(builder, kernel, signature.return_type, signature.args, arguments)
    with builder.if_then(status.is_error, likely=False):
        builder.ret(ir.Constant(_INT64, RAISED))
    builder.ret(result if signature.return_type == numba.types.int64 else ir.Constant(_INT64, 0))
