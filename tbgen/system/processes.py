"""Processes: apart from this one, ended with all that they have started, their priority and processors; and
what is open in them: files and sockets.

On Windows processes have no groups: the children of a process are those that name it as their parent, also
when it is gone.
"""

import functools
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import Any, Final

from tbgen.errors import UsageError

if sys.platform == "win32":
    APART: Final[dict[str, Any]] = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
else:
    APART: Final[dict[str, Any]] = {"start_new_session": True}
"""Arguments of ``Popen`` for a process that does not hear Ctrl-C of this one's terminal."""

_NICE: Final = 10
"""How much nicer a process of low priority is."""


def end_all(root: int) -> None:
    """Kill a process that was started :data:`APART`, and all that it has started, even if it is gone."""
    if sys.platform != "win32":
        with suppress(OSError):
            os.killpg(root, signal.SIGKILL)
        return
    import psutil

    found = set() if psutil.pid_exists(root) else {root}
    processes = psutil.process_iter(["ppid", "create_time"])
    for process in sorted(processes, key=lambda each: each.info["create_time"] or 0):
        if process.pid == root or process.info["ppid"] in found:
            found.add(process.pid)
            with suppress(psutil.Error):
                process.kill()


class Guard:
    """A process that ends others, with all that they have started, when this one is gone.

    Its standard input is a pipe from this one: when that ends, be it by ``kill -9``, it ends what is left.
    """

    def __init__(self) -> None:
        # Apart, so that Ctrl-C does not end it before the others.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", "from tbgen.system.processes import guard; guard()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **APART,
        )

    def watch(self, root: int) -> None:
        """End a process that was started :data:`APART` should this one die from now on."""
        self._tell(f"+{root}\n")

    def release(self, root: int) -> None:
        """Leave a process alone that has ended."""
        self._tell(f"-{root}\n")

    def close(self) -> None:
        """End the guard; what it still watches is ended."""
        with suppress(OSError):
            self._process.communicate()

    def _tell(self, line: str) -> None:
        if self._process.stdin is not None:
            with suppress(OSError):  # somebody has killed it; the engines' own requests remain
                self._process.stdin.write(line.encode())
                self._process.stdin.flush()


def guard() -> None:
    """Do the work of a :class:`Guard`."""
    watched = set[int]()
    for line in sys.stdin:
        (watched.add if line[0] == "+" else watched.discard)(int(line[1:]))
    for root in watched:
        end_all(root)


@functools.cache
def dying_with_parent() -> tuple[str, ...]:
    """Return the words before a command by which it asks to be killed when its parent dies; none if the
    system has no such thing.

    The program ``setpriv`` of util-linux asks for it and then becomes the engine. To do so from here, between
    fork and exec, would be unsafe while there are threads.
    """
    program = shutil.which("setpriv") if sys.platform == "linux" else None
    if program is None:
        return ()
    words = (program, "--pdeathsig", "KILL", "--")
    tried = subprocess.run([*words, "true"], capture_output=True)
    return words if tried.returncode == 0 else ()


def on_processors(processors: Collection[int]) -> tuple[str, ...]:
    """Return the words before a command by which it has some processors only, before its first instruction.

    :param processors: none for all.
    :raises UsageError: if the system has no program for that.
    """
    if not processors:
        return ()
    program = shutil.which("taskset")
    if program is None:
        raise UsageError("--affinity needs the program taskset (package util-linux), which is not installed")
    return (program, "-c", ",".join(map(str, sorted(processors))))


def words_of(command: str) -> list[str]:
    """Return a command's program and arguments, as a shell of the system reads them.

    :raises ValueError: if a quotation mark is missing.
    """
    if sys.platform == "win32":  # where a backslash parts the names of a path
        return [word.strip('"') for word in shlex.split(command, posix=False)]
    return shlex.split(command)


def lower_priority(process: int) -> None:
    """Have a process give way to others; nothing happens if it has ended."""
    if sys.platform == "win32":
        import psutil

        with suppress(psutil.Error):
            psutil.Process(process).nice(psutil.BELOW_NORMAL_PRIORITY_CLASS)
    else:
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, process, os.getpriority(os.PRIO_PROCESS, process) + _NICE)


def may_open(wanted: int) -> int:
    """Let this process have so many files open, if the system does, and return how many it may have."""
    if sys.platform == "win32":
        return wanted
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return wanted
    if soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return soft


def reuse_address(listener: socket.socket) -> None:
    """Let a server begin where one has just ended, as Windows does anyway; there this would share ports."""
    if sys.platform != "win32":
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)


def limit_unread(listener: socket.socket, milliseconds: int) -> None:
    """Have the system end connections of a server whose clients take nothing of what is sent for so long."""
    if sys.platform == "linux":  # accepted sockets inherit it
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)


def start_with_socket(
    words: Sequence[str], listener: socket.socket, **options: Any
) -> subprocess.Popen[bytes]:
    """Start a process that has a socket of this one, which it finds by :func:`inherited_socket`.

    :param options: of ``Popen``, without the standard input.
    """
    stdin = subprocess.PIPE if sys.platform == "win32" else listener.fileno()
    process: subprocess.Popen[bytes] = subprocess.Popen(words, stdin=stdin, **options)
    if sys.platform == "win32" and process.stdin is not None:
        with process.stdin as pipe:
            pipe.write(listener.share(process.pid))
    return process


def inherited_socket() -> socket.socket:
    """Return the socket that this process was started with."""
    if sys.platform == "win32":
        return socket.fromshare(sys.stdin.buffer.read())
    return socket.socket(fileno=os.dup(0))
