"""The machine code of kernels that Python calls without numba.

numba compiles the kernels of a *family* into one object file, which the cache keeps. llvmlite loads it in a
few milliseconds, and ctypes calls the kernels. This module imports numba only to compile.

A damaged object file would end the process, so it has a checksum (:mod:`tbgen.compiler.cache`). Its name
depends on the sources of the family, the types of arguments, the processor, and the settings of numba.
"""

import ctypes
import json
import logging
import os
import struct
import warnings
from collections.abc import Callable
from hashlib import sha256
from importlib import import_module
from threading import Lock
from typing import Any, Final

from tbgen.compiler import cache
from tbgen.compiler.structs import Struct
from tbgen.extras import settings_error

ENTRY_PREFIX: Final = "tbgen_"
"""The names of entries in an object file begin with this."""
RAISED: Final = -1
"""Result of an entry whose kernel has raised an exception. Smaller numbers stand for structures of other
types than the kernel needs: -2 for the first argument, -3 for the second, and so on."""

_Entry: Final = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_char_p)
"""An entry, as a function of the words of its arguments. Passing each word to ctypes takes twice as long."""

_logger = logging.getLogger(__name__)


class ObjectCode:
    """A family of kernels, which take structures and integers, and return nothing or a number that is not
    negative. Methods are thread-safe.

    :param family: name of a module whose function ``compile_kernels`` compiles the kernels for examples of
        their arguments. It returns the number of arguments of each kernel, and the object file.
    :param examples: name of a module whose function ``examples`` returns these examples.
    :param description: text after the word "kernels" in the message before a compilation.
    :param duration: approximate duration of the compilation, in words.
    """

    def __init__(self, family: str, examples: str, description: str, duration: str) -> None:
        self._family = family
        self._description = description
        self._duration = duration
        self._make_examples: Callable[[], list[Any]] = lambda: import_module(examples).examples()
        self._functions: dict[str, tuple[Callable[..., bytes], Any, Any]] = {}
        self._lock = Lock()

    def load(self, emit: Callable[[str], object] = _logger.warning) -> None:
        """Load the kernels, and compile them if they are not in the cache.

        :param emit: called with a message before the compilation.
        :raises KernelsMissingError: within :func:`without_compiling`, if they are not in the cache.
        """
        if self._functions:
            return
        file = self._file_name()
        content = cache.load(file)
        with cache.compiling(self._family, self._description, self._duration, emit, file), self._lock:
            if not self._functions:
                self._link(content or cache.load(file) or self._compile(file))

    def kernel(self, name: str) -> Callable[..., int]:
        """Return a function that calls a kernel. It loads the kernels if that has not been done yet.

        The function raises a TypeError if a structure has another type than the kernel needs.
        """

        def call(*arguments: Struct | int) -> int:
            if not self._functions:
                self.load()
            pack, entry, _ = self._functions[name]
            result: int = entry(pack(*arguments))
            if result < 0:
                raise _error(name, result)
            return result

        return call

    def _file_name(self) -> str:
        """Return the name of the object file in the cache."""
        from llvmlite import binding

        settings = sorted(item for item in os.environ.items() if item[0].startswith("NUMBA_"))
        features = binding.get_host_cpu_features().flatten()
        types = [
            one.type_name.text for each in self._make_examples() for one in each if isinstance(one, Struct)
        ]
        key = binding.get_process_triple(), binding.get_host_cpu_name(), features, settings, types
        return f"{cache.folder_name(self._family)}/{sha256(repr(key).encode()).hexdigest()[:16]}.o"

    def _compile(self, file: str) -> bytes:
        """Compile the kernels, store the object file, and return its content.

        :raises UsageError: if numba rejects its settings.
        """
        with warnings.catch_warnings():  # numba's warning about a wrong setting contains a traceback
            warnings.filterwarnings("error", "Environment variable 'NUMBA_", RuntimeWarning)
            try:
                import_module("tbgen.compiler.jit")
            except (ValueError, RuntimeWarning) as error:
                raise settings_error(error) or error from None
        counts, code = import_module(self._family).compile_kernels(self._make_examples())
        content: bytes = json.dumps(counts).encode() + b"\n" + code
        cache.store(file, content)
        return content

    def _link(self, content: bytes) -> None:
        """Make the kernels of an object file callable."""
        from llvmlite import binding

        counts, _, code = content.partition(b"\n")
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        machine = binding.Target.from_default_triple().create_target_machine()
        engine = binding.create_mcjit_compiler(binding.parse_assembly(""), machine)
        engine.add_object_file(binding.object_file.ObjectFileRef.from_data(code))
        engine.finalize_object()
        functions: dict[str, tuple[Callable[..., bytes], Any, Any]] = {}
        for name, count in json.loads(counts).items():
            entry = _Entry(engine.get_function_address(ENTRY_PREFIX + name))
            functions[name] = struct.Struct(f"{count}q").pack, entry, engine  # the engine owns the code
        self._functions = functions  # complete, because other threads may be reading it


def _error(name: str, result: int) -> Exception:
    """Return the error that a result of a kernel stands for."""
    if result == RAISED:
        return RuntimeError(f"the kernel {name} has failed")
    return TypeError(f"the kernel {name} needs another structure as argument {RAISED - result}")
