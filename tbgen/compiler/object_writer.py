"""Compilation of kernels to an object file, which :mod:`tbgen.compiler.object_code` loads without numba.

The object file of a family has an *entry* for each kernel: a function of the words of the arguments. The
entry checks the types of structures, calls the kernel, and returns its result. The file has none of numba's
wrappers, because they call functions of numba.
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

_WORD: Final = ir.IntType(64)
_LIBRARY_FUNCTIONS: Final = {"memset", "memcpy", "memmove"}
"""Functions of the C library that machine code may call. A missing function would end the process."""


def compile_objects(kernels: Iterable[tuple[Callable[..., Any], Any]]) -> tuple[dict[str, int], bytes]:
    """Compile a family of kernels. Return the numbers of arguments, and the object file.

    :param kernels: kernels, each with example arguments.
    """
    codegen = cpu_target.target_context.codegen()
    library = EntryLibrary(codegen, "object")
    library.enable_object_caching()
    module = library.create_ir_module("object")
    counts = {}
    needed = []
    for kernel, examples in kernels:
        counts[kernel.__name__] = len(examples)
        types = tuple(numba.typeof(each) for each in examples)
        cast(Any, kernel).compile(types)
        compiled = cast(Any, kernel).overloads[types]
        _write_entry(module, ENTRY_PREFIX + kernel.__name__, compiled)
        needed.append(compiled.library)
    library.add_ir_module(module)
    for each in needed:
        library.add_linking_library(each)
    with global_compiler_lock:
        library.finalize()
    functions = cast(Any, library)._final_module.functions
    missing = {each.name for each in functions if each.is_declaration and not each.name.startswith("llvm.")}
    if missing - _LIBRARY_FUNCTIONS:
        raise RuntimeError(f"kernels call functions that an object file cannot call: {sorted(missing)}")
    code: bytes = cast(Any, library)._get_compiled_object()
    return counts, code


def _write_entry(module: Any, name: str, compiled: Any) -> None:
    """Write the code of an entry."""
    context = cpu_target.target_context
    signature = compiled.signature
    entry = ir.Function(module, ir.FunctionType(_WORD, [_WORD.as_pointer()]), name)
    builder = ir.IRBuilder(entry.append_basic_block())
    arguments = []
    for index, argument_type in enumerate(signature.args):
        word = builder.load(builder.gep(entry.args[0], [ir.Constant(_WORD, index)]))
        if isinstance(argument_type, StructType):
            found = builder.load(builder.inttoptr(word, _WORD.as_pointer()))
            wrong = builder.icmp_unsigned("!=", found, ir.Constant(_WORD, argument_type.signature))
            with builder.if_then(wrong, likely=False):
                builder.ret(ir.Constant(_WORD, RAISED - 1 - index))
            arguments.append(builder.inttoptr(word, cgutils.voidptr_t))
        else:
            arguments.append(word)
    kernel = context.declare_function(module, compiled.fndesc)
    call = context.call_conv.call_function
    status, result = call(builder, kernel, signature.return_type, signature.args, arguments)
    with builder.if_then(status.is_error, likely=False):
        builder.ret(ir.Constant(_WORD, RAISED))
    builder.ret(result if signature.return_type == numba.types.int64 else ir.Constant(_WORD, 0))
