"""Child processes (starting, killing, priority, CPU affinity), sockets, and the limit on open files.

Windows has no process groups. There, the children of a process are those that record its ID as the ID of
their parent, even after the parent has ended.
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
from threading import Thread
from typing import Any, Final

from tbgen.errors import UsageError

if sys.platform == "win32":
    APART: Final[dict[str, Any]] = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
else:
    APART: Final[dict[str, Any]] = {"start_new_session": True}
"""Arguments of ``Popen`` that prevent Ctrl-C in this process's terminal from reaching the child."""

_NICE_STEP: Final = 10
"""Increment of the nice value for low priority."""


def kill_tree(root_id: int) -> None:
    """Kill a process started with :data:`APART` (unless it has ended) and, in any case, its descendants."""
    if sys.platform != "win32":
        with suppress(OSError):
            os.killpg(root_id, signal.SIGKILL)
        return
    import psutil

    tree = set() if psutil.pid_exists(root_id) else {root_id}
    processes = psutil.process_iter(["ppid", "create_time"])
    for process in sorted(processes, key=lambda candidate: candidate.info["create_time"] or 0):
        if process.pid == root_id or process.info["ppid"] in tree:
            tree.add(process.pid)
            with suppress(psutil.Error):
                process.kill()


class Guard:
    """A process that kills watched processes, with all their descendants, when this process ends.

    Its standard input is a pipe from this process. When the pipe closes, even by ``kill -9``, the guard kills
    the processes that it still watches.
    """

    def __init__(self) -> None:
        # The guard is started with APART, so that Ctrl-C does not end it before the watched processes.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", "from tbgen.system.processes import run_guard; run_guard()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **APART,
        )

    def watch(self, root_id: int) -> None:
        """Watch a process that was started with :data:`APART`."""
        self._send(f"+{root_id}\n")

    def release(self, root_id: int) -> None:
        """Stop watching a process that has ended."""
        self._send(f"-{root_id}\n")

    def close(self) -> None:
        """End the guard and the processes that it still watches."""
        with suppress(OSError):
            self._process.communicate()

    def _send(self, line: str) -> None:
        if self._process.stdin is not None:
            with suppress(OSError):  # the guard was killed; parent_death_prefix still protects on Linux
                self._process.stdin.write(line.encode())
                self._process.stdin.flush()


def run_guard() -> None:
    """Run the main loop of the process that a :class:`Guard` starts."""
    watched = set[int]()
    for line in sys.stdin:
        (watched.add if line[0] == "+" else watched.discard)(int(line[1:]))
    for root_id in watched:
        kill_tree(root_id)


def end_with_parent() -> None:
    """From now on, end this process as soon as its parent ends, even by ``kill -9``.

    The parent has started this process by ``multiprocessing``, or with a pipe to its standard input, which
    stays empty and open.
    """
    from multiprocessing import connection, parent_process

    def wait() -> None:
        if parent := parent_process():
            connection.wait([parent.sentinel])
        else:
            os.read(0, 1)
        os._exit(1)

    Thread(target=wait, daemon=True).start()


@functools.cache
def parent_death_prefix() -> tuple[str, ...]:
    """Return the words to put before a command so that the system kills its process when the parent dies.

    The result is empty if the system does not support that. The program ``setpriv`` of util-linux requests
    the signal and then executes the command. A request by this process, between fork and exec, would be
    unsafe with threads.
    """
    program = shutil.which("setpriv") if sys.platform == "linux" else None
    if program is None:
        return ()
    words = (program, "--pdeathsig", "KILL", "--")
    return words if subprocess.run([*words, "true"], capture_output=True).returncode == 0 else ()


def affinity_prefix(processors: Collection[int]) -> tuple[str, ...]:
    """Return the words to put before a command so that it runs only on the given processors.

    :param processors: numbers of the processors; empty for all.
    :raises UsageError: if the program ``taskset`` is not installed.
    """
    if not processors:
        return ()
    program = shutil.which("taskset")
    if program is None:
        raise UsageError("--affinity needs the program taskset (package util-linux), which is not installed")
    return (program, "-c", ",".join(map(str, sorted(processors))))


def split_words(command: str) -> list[str]:
    """Return a command's program and arguments, split as the system's shell would split them.

    :raises ValueError: if a quotation mark is missing.
    """
    if sys.platform == "win32":  # a backslash separates the parts of a path; it is not an escape character
        return [word.strip('"') for word in shlex.split(command, posix=False)]
    return shlex.split(command)


def lower_priority(pid: int) -> None:
    """Lower the priority of a process, unless it has ended."""
    if sys.platform == "win32":
        import psutil

        with suppress(psutil.Error):
            psutil.Process(pid).nice(psutil.BELOW_NORMAL_PRIORITY_CLASS)
    else:
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, pid, os.getpriority(os.PRIO_PROCESS, pid) + _NICE_STEP)


def raise_file_limit(target: int) -> int:
    """Raise this process's limit on open files to ``target``, or as far as possible. Return the new limit."""
    if sys.platform == "win32":
        return target
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return target
    if soft < target:
        soft = target if hard == resource.RLIM_INFINITY else min(target, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return soft


def reuse_address(listener: socket.socket) -> None:
    """Let a server bind an address that another server has just released.

    Windows always allows that; on Windows, this option would let two servers share a port.
    """
    if sys.platform != "win32":
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)


def limit_unread_time(listener: socket.socket, milliseconds: int) -> None:
    """Let the system close connections whose clients leave data unread for longer than ``milliseconds``."""
    if sys.platform == "linux":  # accepted sockets inherit the option
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)


def start_with_socket(
    command: Sequence[str], listener: socket.socket, **options: Any
) -> subprocess.Popen[bytes]:
    """Start a process that inherits a socket. In that process, :func:`inherited_socket` returns the socket.

    :param options: arguments of ``Popen`` other than ``stdin``.
    """
    stdin = subprocess.PIPE if sys.platform == "win32" else listener.fileno()
    process: subprocess.Popen[bytes] = subprocess.Popen(command, stdin=stdin, **options)
    if sys.platform == "win32" and process.stdin is not None:
        with process.stdin as pipe:
            pipe.write(listener.share(process.pid))
    return process


def inherited_socket() -> socket.socket:
    """Return the socket that :func:`start_with_socket` passed to this process."""
    if sys.platform == "win32":
        return socket.fromshare(sys.stdin.buffer.read())
    return socket.socket(fileno=os.dup(0))
