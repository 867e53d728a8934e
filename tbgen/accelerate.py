"""The one place where numba is set up: compiled kernels, their options and their cache.

Importing this module imports numba (about half a second), so nothing on the probing path may do it.
numba's own cache does not notice an edit to a kernel called from another file, nor to a constant; the cache
directory is therefore named after a digest of all that is compiled into the kernels.
"""

import fcntl
import hashlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Any, Final, TypeVar, cast

import numba
import numba.extending
import numpy as np
from llvmlite import binding

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

_PACKAGE: Final = Path(__file__).parent
_SOURCES: Final = (
    *("accelerate.py", "errors.py", "material.py", "score.py", "variant.py"),
    *("index/*.py", "retro/**/*.py", "packed/**/*.py", "verify/**/*.py"),
    *("cells/kernels/*.py", "report/kernels/*.py"),
)


def sources() -> list[Path]:
    """Return the modules that hold kernels, call them, or define constants that are compiled into them."""
    return [source for pattern in _SOURCES for source in sorted(_PACKAGE.glob(pattern))]


def _digest() -> str:
    """Digest of the kernels' sources and of what numba compiles them with and for."""
    digest = hashlib.sha256()
    for fact in (sys.version, numba.__version__, binding.get_host_cpu_name(), str(_PACKAGE)):
        digest.update(fact.encode() + b"\0")
    for source in sources():
        digest.update(str(source.relative_to(_PACKAGE)).encode() + source.read_bytes())
    return digest.hexdigest()[:16]


def _cache() -> Path:
    """Return the directory of the compiled kernels, creating it if need be.

    It lies in ``$NUMBA_CACHE_DIR`` if set, else in ``$XDG_CACHE_HOME/tbgen`` (``~/.cache/tbgen``); where that
    cannot be written it is a private directory for this process alone.
    """
    home = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    directory = Path(os.environ.get("NUMBA_CACHE_DIR") or Path(home, "tbgen")) / f"kernels-{_digest()}"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if os.access(directory, os.W_OK):
            return directory
    except OSError:
        pass
    return Path(tempfile.mkdtemp(prefix="tbgen-kernels-"))


_COMPILING: Final[set[str]] = set()
"""Families that a thread of this process compiles, or waits for another process to compile."""
_CLAIMING: Final = Lock()
"""Held by a thread that looks which families those are."""

CACHE: Final = _cache()
"""Directory of the compiled kernels."""

vars(numba.config)["CACHE_DIR"] = str(CACHE)


def is_compiled(kernels: str) -> bool:
    """Whether a family of kernels has been compiled and lies in the cache."""
    return (CACHE / f"{kernels}-compiled").exists()


def mark_compiled(kernels: str) -> None:
    """Remember that all kernels of a family lie in the cache."""
    (CACHE / f"{kernels}-compiled").touch()


@contextmanager
def compiling(kernels: str, which: str, takes: str, note: Callable[[str], object]) -> Iterator[bool]:
    """Have the block compile a family of kernels if that is still to do, which is its value, and say so.

    Processes that need the same family wait for the first one. Threads of one process do not wait for each
    other, for one may need what the other holds: they compile what they use.

    :param which: what follows the word kernels in the sentence.
    :param takes: about how long it takes, in words.
    :param note: told the sentence.
    """
    with _CLAIMING:
        claimed = not is_compiled(kernels) and kernels not in _COMPILING
        if claimed:
            _COMPILING.add(kernels)
    if not claimed:
        yield False
        return
    try:
        with (CACHE / f"{kernels}.lock").open("w") as lock:
            with suppress(OSError):  # where files have no locks, each of them compiles
                fcntl.flock(lock, fcntl.LOCK_EX)
            needed = not is_compiled(kernels)
            if needed:
                note(f"compiling the kernels {which}, once for this version of tbgen: {takes}")
            else:
                lock.close()  # so that no other process waits for the block
            yield needed
            mark_compiled(kernels)
    finally:
        _COMPILING.discard(kernels)


def _compiled(function: Kernel, **options: Any) -> Kernel:
    compiled: Kernel = numba.njit(function, nogil=True, cache=True, **options)
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
