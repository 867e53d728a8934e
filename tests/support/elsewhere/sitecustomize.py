"""Makes tbgen meet Windows on Linux, in every process that has this folder in PYTHONPATH.

What Windows has not is taken from the modules of tbgen, and from no others: libraries have their own ways
there. What only Windows has behaves as it does there, as far as tbgen takes it; and no file that is open, in
any process, can be replaced, renamed or removed.
"""

import builtins
import errno
import fcntl
import mmap
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import ModuleType
from typing import Any

NO_MODULES = {"fcntl", "resource", "pwd", "grp", "termios", "pty"}
LACKING: dict[str, tuple[str, ...]] = {
    "os": (
        *("fork", "kill", "killpg", "nice", "setpriority", "getpriority", "PRIO_PROCESS", "sysconf"),
        *(
            "sched_getaffinity",
            "sched_setaffinity",
            "pread",
            "pwrite",
            "mkfifo",
            "getuid",
            "geteuid",
            "setsid",
        ),
        *("fchmod", "uname", "O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_DIRECTORY"),
    ),
    "signal": (
        *("SIGHUP", "SIGPIPE", "SIGKILL", "SIGALRM", "SIGCHLD", "SIG_BLOCK", "SIG_UNBLOCK", "SIG_SETMASK"),
        *("pthread_sigmask", "pthread_kill", "alarm"),
    ),
    "mmap": ("MADV_DONTNEED", "MADV_HUGEPAGE", "MAP_SHARED", "MAP_PRIVATE", "PROT_READ", "PROT_WRITE"),
    "socket": ("AF_UNIX", "TCP_USER_TIMEOUT", "SO_REUSEPORT"),
}
LOCKED = (1 << 31) - 2
"""The byte of a file that is locked: no content may reach it, since nobody could read it."""


class Map(mmap.mmap):
    """Mapped memory without advice."""

    @property
    def madvise(self) -> Any:
        raise AttributeError("madvise")


def open_in_some_process(path: Any) -> bool:
    """Whether a process that can be asked has a file open."""
    try:
        found = os.stat(path)
    except OSError:
        return False
    for process in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):  # a process that ends cannot be listed
            for descriptor in os.listdir(f"/proc/{process}/fd"):
                with suppress(OSError):
                    if os.path.samestat(found, os.stat(f"/proc/{process}/fd/{descriptor}")):
                        return True
    return False


def refuse_open(*paths: Any) -> None:
    for path in paths:
        if open_in_some_process(path):
            raise PermissionError(errno.EACCES, "Access is denied", str(path))


real_open, real_replace, real_unlink, real_import = os.open, os.replace, os.unlink, builtins.__import__


def opening(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
    if os.path.isdir(path):
        raise PermissionError(errno.EACCES, "Permission denied", path)
    return real_open(path, flags, mode, dir_fd=dir_fd)


def replacing(source: Any, target: Any, **options: Any) -> None:
    refuse_open(source, target)
    real_replace(source, target, **options)


def unlinking(path: Any, **options: Any) -> None:
    refuse_open(path)
    real_unlink(path, **options)


def syncing(descriptor: int, *, real: Any = os.fsync) -> None:
    if fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
        raise OSError(errno.EBADF, "Bad file descriptor")
    real(descriptor)


def locking(descriptor: int, mode: int, size: int) -> None:
    assert (os.lseek(descriptor, 0, os.SEEK_CUR), size) == (LOCKED, 1)
    try:
        fcntl.flock(descriptor, mode)
    except BlockingIOError:
        raise PermissionError(errno.EACCES, "Permission denied") from None


MSVCRT = ModuleType("msvcrt")
MSVCRT.__dict__.update(LK_NBLCK=fcntl.LOCK_EX | fcntl.LOCK_NB, LK_UNLCK=fcntl.LOCK_UN, locking=locking)
INSTEAD: Mapping[tuple[str, str], Any] = {
    ("sys", "platform"): "win32",
    ("os", "name"): "nt",
    ("os", "open"): opening,
    ("os", "fsync"): syncing,
    ("mmap", "mmap"): Map,
    ("signal", "SIGBREAK"): signal.SIGUSR1,
}


def of_tbgen(globals_of: Mapping[str, Any]) -> bool:
    return str(globals_of.get("__package__")).split(".")[0] == "tbgen"


def asked_by_tbgen() -> bool:
    """Whether the caller of the function that asks is a module of tbgen."""
    try:
        return of_tbgen(GET_FRAME(2).f_globals)
    except ValueError:  # the interpreter is
        return False


class Elsewhere(ModuleType):
    """A module that is another one to tbgen."""

    def __getattribute__(self, name: str) -> Any:
        module = super().__getattribute__("__name__")
        if asked_by_tbgen():
            if (module, name) in INSTEAD:
                return INSTEAD[module, name]
            if name in LACKING.get(module, ()):
                raise AttributeError(f"Windows has no {module}.{name}")
        return super().__getattribute__(name)


def importing(name: str, globals: Any = None, *rest: Any, **others: Any) -> Any:  # noqa: A002
    if globals and of_tbgen(globals):
        if name in NO_MODULES:
            raise ModuleNotFoundError(f"Windows has no module {name}", name=name)
        if name == "msvcrt":
            return MSVCRT
    found: Any = real_import(name, globals, *rest, **others)
    if name == "psutil" and not hasattr(found, "BELOW_NORMAL_PRIORITY_CLASS"):
        found.BELOW_NORMAL_PRIORITY_CLASS = 10
        type(found.Process().memory_info()).peak_wset = property(lambda memory: memory.rss)
        found.Process.ppid = found._common.memoize_when_activated(parent)
    return found


def parent(process: Any) -> int:
    """The process that has started another one, which Windows remembers if it has ended."""
    import psutil

    try:
        session, known = os.getsid(process.pid), int(process._proc.ppid())
    except ProcessLookupError:  # it ends while processes are listed
        raise psutil.NoSuchProcess(process.pid) from None
    try:
        return known if process.pid == session or os.getsid(known) == session else session
    except ProcessLookupError:  # so does its parent
        return session


class Popen(subprocess.Popen[Any]):
    """Starts a process as Windows does."""

    def __init__(self, words: Sequence[str], **options: Any) -> None:
        refused = {"pass_fds", "preexec_fn", "start_new_session", "process_group"} & options.keys()
        if asked_by_tbgen() and refused:
            raise ValueError(f"{refused} on Windows")
        if options.pop("creationflags", 0):
            options["start_new_session"] = True
        super().__init__(words, **options)


GET_FRAME = sys._getframe
for module in (sys, os, mmap, *map(__import__, ("signal", "socket", "time"))):
    module.__class__ = Elsewhere
vars(os).update(replace=replacing, rename=replacing, unlink=unlinking, remove=unlinking)
builtins.__import__ = importing
vars(subprocess).update(CREATE_NEW_PROCESS_GROUP=512, Popen=Popen)
multiprocessing.set_start_method("spawn", force=True)
