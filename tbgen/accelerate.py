"""The one place where numba is set up: compiled kernels, their options and their cache.

Importing this module imports numba (about half a second), so nothing on the probing path may do it.
numba's own cache does not notice an edit to a kernel called from another file; the cache directory is
therefore named after a digest of the whole package's kernels.
"""

import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

_PACKAGE: Final = Path(__file__).parent
_KERNEL_FOLDERS: Final = ("index", "retro", "verify")


def _source_digest() -> str:
    digest = hashlib.sha256()
    for folder in _KERNEL_FOLDERS:
        for source in sorted((_PACKAGE / folder).glob("*.py")):
            digest.update(source.name.encode() + source.read_bytes())
    return digest.hexdigest()[:16]


def kernel_cache() -> Path:
    """Return the directory of the compiled kernels, creating it if need be.

    It is ``$NUMBA_CACHE_DIR`` if set, else a directory under ``$XDG_CACHE_HOME`` (``~/.cache``), else, where
    the home directory cannot be written, one under the system's temporary directory.
    """
    if given := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(given)
    name = f"kernels-{_source_digest()}"
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "tbgen" / name
    spare = Path(tempfile.gettempdir()) / f"tbgen-{os.getuid()}" / name
    for directory in (home, spare):
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(directory, os.W_OK):
            return directory
    return spare


os.environ["NUMBA_CACHE_DIR"] = str(kernel_cache())

import numba  # noqa: E402  (the cache directory must be known first)


def jit(kernel: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Decorate a kernel: compiled without Python objects, free of the interpreter lock, cached."""
    return numba.njit(kernel, nogil=True, cache=True, **options)


kernel = jit(_nrt=False)
"""Decorator of kernels that allocate nothing: numba need not count references to their arrays, and the atomic
counting that it would do can take ten times as long as the work itself."""

inlined = jit(_nrt=False, forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
"""Decorator of what only kernels call, and always as part of their own code: a real call would copy the
descriptions of all arrays that are passed in tuples."""
