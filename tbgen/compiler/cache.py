"""The cache of compiled kernels on disk, and the compilation of kernels in two processes.

The files of a kernel are in a folder that is named after the kernel's module and a digest of its sources. The
sources are the module and all files of the package that it imports, directly or indirectly, because any of
them can be part of the machine code. The path of the package is not part of the digest, so clones and
environments share kernels. An edit invalidates only the kernels that it can change. This module does not
import numba.
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
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from secrets import token_hex
from threading import Lock, local
from typing import IO, Any, Final, NamedTuple, TypeVar, cast

from tbgen.errors import TbgenError
from tbgen.system.locks import lock, open_locked
from tbgen.system.processes import parent_death_prefix

T = TypeVar("T")

_PACKAGE: Final = Path(__file__).parent.parent
_IMPORT_PATTERN: Final = re.compile(r"^[ \t]*from (tbgen[.\w]*) import (\([^)]*\)|[^\n#]*)", re.MULTILINE)

_logger = logging.getLogger(__name__)


_UNSTORABLE: Final = (
    "compiled kernels cannot be stored in {} ({}), so every start compiles them again: "
    "set NUMBA_CACHE_DIR to a directory that can be written"
)
_CHECKSUM_BYTES: Final = 16
_FALLBACK_VARIABLE: Final = "TBGEN_KERNELS"
"""Name of the environment variable that passes the path of :func:`fallback_directory` to child processes."""
_thread_state: Final = local()
"""Thread-local flag ``refuses_compiling``: True in threads that do not wait for compilation."""
_COMPILING_FAMILIES: Final[set[str]] = set()
"""Families of kernels that a thread of this process is compiling, or waits for another process to compile."""
_COMPILING_LOCK: Final = Lock()
"""Protects ``_COMPILING_FAMILIES``."""
_UNMARKED_FAMILIES: Final[set[str]] = set()
"""Families that are compiled in this process, although no directory can be written."""


class NoHomeError(TbgenError, OSError):
    """The user has no home directory, and therefore no cache directory."""

    exit_code = 2
    code = "bad_input"


def shared_directory() -> Path:
    """Return the directory of the kernels of all versions of tbgen.

    It is ``$NUMBA_CACHE_DIR/kernels`` if that variable is set, else ``tbgen/kernels`` in the user's cache
    directory. On Linux, the cache directory is ``$XDG_CACHE_HOME`` or ``~/.cache``.

    :raises NoHomeError: if the variable is not set, and the user has no home directory.
    """
    from platformdirs import user_cache_path

    try:
        return Path(os.environ.get("NUMBA_CACHE_DIR") or user_cache_path("tbgen", appauthor=False), "kernels")
    except RuntimeError:  # $HOME is not set, and the system does not know the user
        raise NoHomeError(_UNSTORABLE.format("~/.cache", "this user has no home directory")) from None


def fallback_directory() -> Path:
    """Return the path of a temporary directory. It exists once :func:`shared_directory` could not be written.

    The first process that calls this function shares the path with all processes that it starts afterwards.
    """
    if _FALLBACK_VARIABLE not in os.environ:
        try:
            parent = tempfile.gettempdir()
        except FileNotFoundError:  # no directory can be written, so none will be made
            parent = os.devnull
        name = f"tbgen-kernels-{os.getpid()}-{token_hex(8)}"
        os.environ.setdefault(_FALLBACK_VARIABLE, os.path.join(parent, name))
    return Path(os.environ[_FALLBACK_VARIABLE])


def directory() -> Path:
    """Return the directory in which kernels are stored.

    It is :func:`shared_directory` until that could not be written, then :func:`fallback_directory`.

    :raises NoHomeError: as :func:`shared_directory` does.
    """
    return fallback_directory() if os.path.exists(fallback_directory()) else shared_directory()


def _directories() -> Iterator[Path]:
    """Yield the directories in which kernels may be found."""
    with suppress(NoHomeError):
        yield shared_directory()
    yield fallback_directory()


def _write(action: Callable[[Path], T]) -> T | None:
    """Call a function that writes into :func:`directory`, and return its result.

    If it fails, it is called again for :func:`fallback_directory`; if that fails too, the result is None.
    """
    with suppress(OSError):
        try:
            path = directory()
            path.mkdir(parents=True, exist_ok=True)
            return action(path)
        except OSError as error:
            _make_fallback(error)
            return action(fallback_directory())
    return None


def _make_fallback(error: OSError) -> None:
    """Make the temporary directory and log a warning, unless the directory exists.

    :param error: the reason, from writing into :func:`shared_directory`.
    """
    with suppress(OSError):
        try:
            fallback_directory().mkdir(mode=0o700)
        except FileExistsError:  # this process or a related one has logged the warning
            return
    _warn(_UNSTORABLE.format(shared_directory(), error.strerror) if error.strerror else str(error))


@cache
def _warn(sentence: str) -> None:
    """Log a warning, once in a process."""
    _logger.warning("%s", sentence)


def store(name: str, content: bytes) -> bool:
    """Store a file of the cache with its checksum, in one step; return False if no directory can be written.

    :param name: the path of the file in the cache.
    """

    def write(path: Path) -> bool:
        file = path / name
        file.parent.mkdir(exist_ok=True)
        temporary = file.with_name(f"{file.name}.tmp-{token_hex(8)}")
        try:
            temporary.write_bytes(_with_checksum(name, content))
            temporary.replace(file)
        except OSError:
            if load(name) is None:  # on Windows, a file that another process reads is not replaced
                raise
        finally:
            with suppress(OSError):
                temporary.unlink()
        return True

    return _write(write) or False


def load(name: str) -> bytes | None:
    """Return the content of a file that was stored; None if it is missing or damaged, and then removed."""
    for path in _directories():
        with suppress(OSError):
            data = (path / name).read_bytes()
            content = data[_CHECKSUM_BYTES:]
            if data == _with_checksum(name, content):
                return content
            _warn(f"compiled kernels in {path} are damaged, and are compiled again")
            (path / name).unlink()
    return None


def _with_checksum(name: str, content: bytes) -> bytes:
    data = name.encode() + b"\0" + content
    return hashlib.blake2b(data, digest_size=_CHECKSUM_BYTES).digest() + content


@atexit.register
def remove_fallback() -> None:
    """Remove the temporary directory when the process that chose its name ends."""
    if f"-{os.getpid()}-" in os.environ.get(_FALLBACK_VARIABLE, ""):
        shutil.rmtree(fallback_directory(), ignore_errors=True)


@cache
def direct_imports(path: Path) -> frozenset[Path]:
    """Return the files of the package that a module imports directly."""
    files: set[str] = set()
    for module, targets in _IMPORT_PATTERN.findall(path.read_text("utf-8")):
        stem = os.path.join(_PACKAGE.parent, *module.split("."))
        stems = [stem]
        if os.path.isdir(stem):
            stems += [os.path.join(stem, name) for name in re.findall(r"(\w+)(?: as \w+)?", targets)]
        files.update(file for base in stems for file in (f"{base}.py", os.path.join(base, "__init__.py")))
    return frozenset(Path(file) for file in files if os.path.exists(file)) - {_PACKAGE / "__init__.py"}


def source_files(module: str) -> list[Path]:
    """Return the file of a module, and all files of the package that it imports, directly or indirectly."""
    path = _PACKAGE.parent.joinpath(*module.split("."))
    unread = [path.with_suffix(".py")]
    files = set()
    while unread:
        file = unread.pop()
        if file not in files:
            files.add(file)
            unread += direct_imports(file)
    return sorted(files)


@cache
def _source_digest(path: Path) -> bytes:
    return hashlib.sha256(str(path.relative_to(_PACKAGE)).encode() + b"\0" + path.read_bytes()).digest()


def _version_of(package: str) -> bytes:
    """Return the file that states the version of a package. Importing ``importlib.metadata`` takes 15 ms."""
    return Path(cast(Any, find_spec(package)).origin).with_name("_version.py").read_bytes()


@cache
def folder_name(module: str) -> str:
    """Return the name of a module's folder of kernels.

    It contains a digest of the sources and of the versions of Python, numba and llvmlite.
    """
    versions = sys.version.encode() + b"\0" + b"\0".join(map(_version_of, ("numba", "llvmlite")))
    digest = hashlib.sha256(versions + b"".join(map(_source_digest, source_files(module))))
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
    for path in filter(Path.is_file, shared_directory().rglob("*")):
        sizes[_is_current(path.relative_to(shared_directory()).parts[0])] += path.stat().st_size
    return CachedKernels(shared_directory(), sizes[True], sizes[False])


@cache
def _is_current(name: str) -> bool:
    module = name.rpartition("-")[0]
    exists = _PACKAGE.joinpath(*module.split(".")).with_suffix(".py").exists()
    return exists and name.partition(".compiled")[0].partition(".lock")[0] == folder_name(f"tbgen.{module}")


def clear() -> CachedKernels:
    """Remove the kernels of all versions, and return their directory and sizes.

    :raises OSError: if a file cannot be removed.
    """
    kernels = cached_kernels()
    if kernels.directory.exists():
        shutil.rmtree(kernels.directory)
    return kernels


def _marker_name(family: str) -> str:
    return f"{folder_name(family)}.compiled"


def is_compiled(family: str, file: str = "") -> bool:
    """Return whether the cache has all kernels of a family.

    A family consists of the kernels that one module compiles together, and has the name of that module.

    :param file: the name of the file that has all kernels of the family, if there is one.
    """
    name = file or _marker_name(family)
    return family in _UNMARKED_FAMILIES or any(os.path.exists(path / name) for path in _directories())


def mark_compiled(family: str) -> None:
    """Record that the cache has all kernels of a family."""
    if not store(_marker_name(family), b""):
        _UNMARKED_FAMILIES.add(family)


class KernelsMissingError(Exception):
    """Kernels are not compiled, and the thread must not wait. The message says how long compilation takes."""


@contextmanager
def without_compiling() -> Iterator[None]:
    """Raise a :class:`KernelsMissingError` if the block needs kernels that are not compiled yet."""
    _thread_state.refuses_compiling = True
    try:
        yield
    finally:
        _thread_state.refuses_compiling = False


@contextmanager
def compiling(
    family: str, description: str, duration: str, emit: Callable[[str], object], file: str = ""
) -> Iterator[bool]:
    """Yield whether the block has to compile a family of kernels, and announce it if so.

    Processes that need the same family wait for the first of them. Threads of one process do not wait for
    each other, because the waiting thread may hold a lock that the compiling thread needs. Each thread
    compiles the kernels that it uses.

    :param family: name of the module that compiles the family.
    :param description: text after the word "kernels" in the message.
    :param duration: approximate duration of the compilation, in words.
    :param emit: called with the message.
    :param file: the name of the file that the block stores, if all kernels of the family are in one file.
    :raises KernelsMissingError: within :func:`without_compiling`, if the family is not compiled.
    """
    sentence = f"compiling the kernels {description}, once for this version of tbgen: {duration}"
    if getattr(_thread_state, "refuses_compiling", False) and not is_compiled(family, file):
        raise KernelsMissingError(sentence)
    with _COMPILING_LOCK:
        claimed = not is_compiled(family, file) and family not in _COMPILING_FAMILIES
        if claimed:
            _COMPILING_FAMILIES.add(family)
    if not claimed:
        yield False
        return
    try:
        with ExitStack() as stack:
            if lock_file := _write(lambda path: _open_lock(path / f"{folder_name(family)}.lock")):
                stack.enter_context(lock_file)
            must_compile = not is_compiled(family, file)
            if must_compile:
                emit(sentence)
            else:
                stack.close()  # release the lock: no other process has to wait for the block
            yield must_compile
            if not file:
                mark_compiled(family)
    finally:
        _COMPILING_FAMILIES.discard(family)


def _open_lock(path: Path) -> IO[str]:
    return open_locked(path, lambda: path.open("w"), _lock_if_possible)


def _lock_if_possible(descriptor: int) -> None:
    with suppress(OSError):  # on file systems without locks, each process compiles
        lock(descriptor)


def compile_side_by_side(child_job: Callable[[], object], parent_job: Callable[[], object]) -> None:
    """Call ``parent_job`` in this process and ``child_job`` in a child process, at the same time.

    Both functions compile kernels, and the processes share the cache. Afterwards this process also calls
    ``child_job``, to compile whatever the child has not compiled. Without a second processor or a shared
    cache, no child is started, and this process compiles everything. If this process is interrupted, the
    child is killed.

    :param child_job: a function at the top level of a module.
    """
    shares = not os.path.exists(fallback_directory())
    child = _start_child(child_job) if shares and os.cpu_count() != 1 else None
    try:
        parent_job()
        if child is not None:
            child.wait()
    finally:
        if child is not None:
            child.kill()  # no effect on a process that has ended
    child_job()


def _start_child(function: Callable[[], object]) -> "subprocess.Popen[bytes]":
    script = f"from {function.__module__} import {function.__qualname__} as run; run()"
    path = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [*parent_death_prefix(), sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
