"""The compiled kernels on disk: where they lie, of which sources, which are there; and compiling two halves.

A kernel's file lies in a folder named by its module and a digest of all that this module imports, directly
or not: whatever of the package can be part of its machine code. The place of the package plays no part, so
clones and environments share the kernels, and an edit discards only those that it can change. Nothing here
imports numba.
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

_PACKAGE: Final = Path(__file__).parent.parent
_IMPORT: Final = re.compile(r"^[ \t]*from (tbgen[.\w]*) import (\([^)]*\)|[^\n#]*)", re.MULTILINE)

_logger = logging.getLogger(__name__)


def home() -> Path:
    """Return the directory that holds the kernels of all versions of tbgen.

    It is ``kernels`` in ``$NUMBA_CACHE_DIR``, else in ``tbgen`` of ``$XDG_CACHE_HOME``, of ``~/.cache``, or
    of what Windows and macOS have in its place.
    """
    from platformdirs import user_cache_path

    return Path(os.environ.get("NUMBA_CACHE_DIR") or user_cache_path("tbgen", appauthor=False), "kernels")


_SUBSTITUTE: Final = "TBGEN_KERNELS"
"""The environment variable by which processes tell those that they start of :func:`substitute`."""


@cache
def directory() -> Path:
    """Return the directory of the kernels, creating it if need be.

    Where it cannot be written :func:`substitute` takes its place, and the process that creates it says so.
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
    """Return the path of a temporary directory for kernels that cannot be kept.

    This process, if it is the first to ask, and all processes that it starts from now on share the directory.
    """
    name = f"tbgen-kernels-{os.getpid()}-{token_hex(8)}"
    return Path(os.environ.setdefault(_SUBSTITUTE, str(Path(tempfile.gettempdir(), name))))


@atexit.register
def remove_substitute() -> None:
    """Remove the temporary directory if this process was the first to ask for it, as its last action."""
    if f"-{os.getpid()}-" in os.environ.get(_SUBSTITUTE, ""):
        shutil.rmtree(substitute(), ignore_errors=True)


@cache
def imported(path: Path) -> frozenset[Path]:
    """Return the files of the package that a module imports by itself."""
    names = set()
    for module, targets in _IMPORT.findall(path.read_text("utf-8")):
        names.add(module)
        names.update(f"{module}.{name}" for name in re.findall(r"(\w+)(?: as \w+)?", targets))
    stems = [_PACKAGE.parent.joinpath(*name.split(".")) for name in names]
    files = {stem.with_suffix(".py") for stem in stems} | {stem / "__init__.py" for stem in stems}
    return frozenset(file for file in files if file.exists() and file != _PACKAGE / "__init__.py")


def closure(module: str) -> list[Path]:
    """Return the files of the package that a module imports, directly or not, and its own."""
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
    """Return the name of what was compiled of a module: its own, and a digest of its sources and of the
    versions of Python, numba and llvmlite."""
    from importlib.metadata import version

    versions = "\0".join((sys.version, version("numba"), version("llvmlite"), "")).encode()
    digest = hashlib.sha256(versions + b"".join(map(_source_digest, closure(module))))
    return f"{module.removeprefix('tbgen.')}-{digest.hexdigest()[:16]}"


class CachedKernels(NamedTuple):
    """Room that compiled kernels take on disk."""

    directory: Path
    current_bytes: int
    """Kernels of this version of tbgen, Python and numba."""
    other_bytes: int
    """Kernels of other versions, which nothing here will read."""


def cached_kernels() -> CachedKernels:
    """Return where the kernels of all versions lie, and how much room they take."""
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
    """Remove the kernels of all versions, and return what was there.

    :raises OSError: if they cannot be removed.
    """
    found = cached_kernels()
    if found.directory.exists():
        shutil.rmtree(found.directory)
    return found


_waiting: Final = local()
"""Has ``refused`` in threads that do not wait for a compiler."""
_COMPILING: Final[set[str]] = set()
"""Families that a thread of this process compiles, or waits for another process to compile."""
_CLAIMING: Final = Lock()
"""Held by a thread that looks which families those are."""


def _marker(family: str) -> Path:
    return directory() / f"{name_of(family)}.compiled"


def is_compiled(family: str) -> bool:
    """Whether a family of kernels, named by the module that has them compiled, lies in the cache."""
    return _marker(family).exists()


def mark_compiled(family: str) -> None:
    """Remember that all kernels of a family lie in the cache."""
    _marker(family).touch()


class KernelsMissingError(Exception):
    """Kernels have to be compiled first, and the thread does not wait for that; the sentence says how long it
    takes."""


@contextmanager
def without_compiling() -> Iterator[None]:
    """Have work of the block that takes kernels which are not compiled yet raise a
    :class:`KernelsMissingError`."""
    _waiting.refused = True
    try:
        yield
    finally:
        _waiting.refused = False


@contextmanager
def compiling(family: str, which: str, takes: str, note: Callable[[str], object]) -> Iterator[bool]:
    """Have the block compile a family of kernels if that is still to do, which is its value, and say so.

    Processes that need the same family wait for the first one. Threads of one process do not wait for each
    other, for one may need what the other holds: they compile what they use.

    :param family: name of the module that has the family compiled.
    :param which: what follows the word kernels in the sentence.
    :param takes: about how long it takes, in words.
    :param note: told the sentence.
    :raises KernelsMissingError: within :func:`without_compiling`, if it is still to do.
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
            with suppress(OSError):  # where files have no locks, each of them compiles
                lock(file.fileno())
            needed = not is_compiled(family)
            if needed:
                note(sentence)
            else:
                file.close()  # so that no other process waits for the block
            yield needed
            mark_compiled(family)
    finally:
        _COMPILING.discard(family)


def compile_side_by_side(aside: Callable[[], object], here: Callable[[], object]) -> None:
    """Compile what two functions compile, the one in another process, which shares the cache.

    Where there is no other processor, or no cache to share, and whatever the other process misses, this one
    compiles it.

    :param aside: a function of a module.
    """
    other = _start(aside) if directory() == home() and os.cpu_count() != 1 else None
    here()
    if other is not None:
        other.wait()
    aside()


def _start(aside: Callable[[], object]) -> "subprocess.Popen[bytes]":
    path = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, "-c", f"from {aside.__module__} import {aside.__qualname__} as run; run()"],
        env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
