"""The cache of compiled kernels on disk, and the compilation of kernels in two processes.

The files of a kernel are in a folder named by its module and a digest of all files of the package that the
module imports, directly or not: the sources that can be part of its machine code. The path of the package is
not part of the digest, so clones and environments share kernels. An edit invalidates only the kernels that it
can change. This module does not import numba.
"""

import atexit
import hashlib
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from secrets import token_hex
from threading import Lock, local
from typing import Final, NamedTuple

from tbgen.system.locks import lock
from tbgen.system.processes import dying_with_parent

_PACKAGE: Final = Path(__file__).parent.parent
_IMPORT: Final = re.compile(r"^[ \t]*from (tbgen[.\w]*) import (\([^)]*\)|[^\n#]*)", re.MULTILINE)

_logger = logging.getLogger(__name__)


def home() -> Path:
    """Return the directory of the kernels of all versions of tbgen.

    It is ``kernels`` in ``$NUMBA_CACHE_DIR``, if that is set, else in ``tbgen`` in the user's cache
    directory: ``$XDG_CACHE_HOME`` or ``~/.cache`` on Linux, and the corresponding directory on Windows and
    macOS.
    """
    from platformdirs import user_cache_path

    return Path(os.environ.get("NUMBA_CACHE_DIR") or user_cache_path("tbgen", appauthor=False), "kernels")


_SUBSTITUTE: Final = "TBGEN_KERNELS"
"""Name of the environment variable that passes :func:`substitute` to child processes."""


@cache
def directory() -> Path:
    """Return the directory of the kernels, and create it if necessary.

    If it cannot be written, the result is :func:`substitute`; the process that creates that logs a warning.
    """
    try:
        home().mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=home()).close()
    except OSError as error:
        with suppress(FileExistsError):
            substitute().mkdir(mode=0o700)
            _logger.warning(
                "compiled kernels cannot be kept in %s (%s), so every start compiles them again: "
                "name a directory that can be written in NUMBA_CACHE_DIR",
                home(),
                error.strerror,
            )
        return substitute()
    return home()


def substitute() -> Path:
    """Return the path of a temporary directory, for kernels that cannot be kept.

    The first process that calls this shares the directory with all processes that it starts afterwards.
    """
    name = f"tbgen-kernels-{os.getpid()}-{token_hex(8)}"
    return Path(os.environ.setdefault(_SUBSTITUTE, str(Path(tempfile.gettempdir(), name))))


@atexit.register
def remove_substitute() -> None:
    """Remove the temporary directory, at the end of the process that named it."""
    if f"-{os.getpid()}-" in os.environ.get(_SUBSTITUTE, ""):
        shutil.rmtree(substitute(), ignore_errors=True)


@cache
def imported(path: Path) -> frozenset[Path]:
    """Return the files of the package that a module imports directly."""
    names = set()
    for module, targets in _IMPORT.findall(path.read_text("utf-8")):
        names.add(module)
        names.update(f"{module}.{name}" for name in re.findall(r"(\w+)(?: as \w+)?", targets))
    stems = [_PACKAGE.parent.joinpath(*name.split(".")) for name in names]
    files = {stem.with_suffix(".py") for stem in stems} | {stem / "__init__.py" for stem in stems}
    return frozenset(file for file in files if file.exists() and file != _PACKAGE / "__init__.py")


def closure(module: str) -> list[Path]:
    """Return the file of a module, and the files of the package that it imports, directly or not."""
    path = _PACKAGE.parent.joinpath(*module.split("."))
    waiting, found = [path.with_suffix(".py")], set()
    while waiting:
        file = waiting.pop()
        if file not in found:
            found.add(file)
            waiting += imported(file)
    return sorted(found)


@cache
def _source_digest(path: Path) -> bytes:
    return hashlib.sha256(str(path.relative_to(_PACKAGE)).encode() + b"\0" + path.read_bytes()).digest()


@cache
def name_of(module: str) -> str:
    """Return the name of a module's folder of kernels.

    It contains a digest of the sources and of the versions of Python, numba and llvmlite.
    """
    from importlib.metadata import version

    versions = "\0".join((sys.version, version("numba"), version("llvmlite"), "")).encode()
    digest = hashlib.sha256(versions + b"".join(map(_source_digest, closure(module))))
    return f"{module.removeprefix('tbgen.')}-{digest.hexdigest()[:16]}"


class CachedKernels(NamedTuple):
    """The directory and the sizes of compiled kernels on disk."""

    directory: Path
    current_bytes: int
    """Bytes of kernels of this version of tbgen, Python and numba."""
    other_bytes: int
    """Bytes of kernels of other versions, which this version does not use."""


def cached_kernels() -> CachedKernels:
    """Return the directory and the sizes of the kernels of all versions."""
    sizes = {True: 0, False: 0}
    for path in filter(Path.is_file, home().rglob("*")):
        sizes[_is_current(path.relative_to(home()).parts[0])] += path.stat().st_size
    return CachedKernels(home(), sizes[True], sizes[False])


@cache
def _is_current(name: str) -> bool:
    module = name.rpartition("-")[0]
    known = _PACKAGE.joinpath(*module.split(".")).with_suffix(".py").exists()
    return known and name.partition(".compiled")[0].partition(".lock")[0] == name_of(f"tbgen.{module}")


def clear() -> CachedKernels:
    """Remove the kernels of all versions, and return their directory and sizes.

    :raises OSError: if they cannot be removed.
    """
    found = cached_kernels()
    if found.directory.exists():
        shutil.rmtree(found.directory)
    return found


_waiting: Final = local()
"""Thread-local flag ``refused``: True in threads that do not wait for compilation."""
_COMPILING: Final[set[str]] = set()
"""The families that a thread of this process compiles, or waits for another process to compile."""
_CLAIMING: Final = Lock()
"""Protects ``_COMPILING``."""


def _marker(family: str) -> Path:
    return directory() / f"{name_of(family)}.compiled"


def is_compiled(family: str) -> bool:
    """Return whether the cache has all kernels of a family, which is named by the module that compiles it."""
    return _marker(family).exists()


def mark_compiled(family: str) -> None:
    """Record that the cache has all kernels of a family."""
    _marker(family).touch()


class KernelsMissingError(Exception):
    """Kernels are not compiled, and the thread does not wait; the message says how long compilation takes."""


@contextmanager
def without_compiling() -> Iterator[None]:
    """Raise a :class:`KernelsMissingError` if the block needs kernels that are not compiled yet."""
    _waiting.refused = True
    try:
        yield
    finally:
        _waiting.refused = False


@contextmanager
def compiling(family: str, which: str, takes: str, note: Callable[[str], object]) -> Iterator[bool]:
    """Yield whether the block has to compile a family of kernels, and announce it if so.

    Processes that need the same family wait for the first one. Threads of one process do not wait for each
    other, since one may hold a lock that the other needs; each compiles the kernels that it uses.

    :param family: name of the module that compiles the family.
    :param which: text after the word "kernels" in the message.
    :param takes: approximate duration, in words.
    :param note: called with the message.
    :raises KernelsMissingError: within :func:`without_compiling`, if the family is not compiled.
    """
    sentence = f"compiling the kernels {which}, once for this version of tbgen: {takes}"
    if getattr(_waiting, "refused", False) and not is_compiled(family):
        raise KernelsMissingError(sentence)
    with _CLAIMING:
        claimed = not is_compiled(family) and family not in _COMPILING
        if claimed:
            _COMPILING.add(family)
    if not claimed:
        yield False
        return
    try:
        with _marker(family).with_suffix(".lock").open("w") as file:
            with suppress(OSError):  # on file systems without locks, each process compiles
                lock(file.fileno())
            needed = not is_compiled(family)
            if needed:
                note(sentence)
            else:
                file.close()  # release the lock: no other process has to wait for the block
            yield needed
            mark_compiled(family)
    finally:
        _COMPILING.discard(family)


def compile_side_by_side(aside: Callable[[], object], here: Callable[[], object]) -> None:
    """Call two functions that compile kernels, ``aside`` in another process that shares the cache.

    Afterwards this process calls ``aside`` too. That compiles whatever the other process has not, or
    everything if there is only one processor or no shared cache. If this process is interrupted, the other
    process is killed.

    :param aside: a function at the top level of a module.
    """
    other = _start(aside) if directory() == home() and os.cpu_count() != 1 else None
    try:
        here()
        if other is not None:
            other.wait()
    finally:
        if other is not None:
            other.kill()  # no effect on a process that has ended
    aside()


def _start(aside: Callable[[], object]) -> "subprocess.Popen[bytes]":
    script = f"from {aside.__module__} import {aside.__qualname__} as run; run()"
    path = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [*dying_with_parent(), sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
