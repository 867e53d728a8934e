"""What sees to it that no engine outlives the runner, whatever becomes of that.

Each engine leads a process group of its own. Where the system has it (Linux), the engine asks to be killed
when its parent dies; but a child of the engine is not told, nor is anybody elsewhere. So a small process
knows all groups: its standard input is a pipe from the runner, and when that ends, be it by ``kill -9``, it
kills what is left of them.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Collection
from typing import Final

__all__ = ["Guard", "preparation"]

_PROGRAM: Final = """
import os, signal, sys
groups = set()
for line in sys.stdin:
    (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
for group in groups:
    try:
        os.killpg(group, signal.SIGKILL)
    except OSError:
        pass
"""
_PR_SET_PDEATHSIG: Final = 1


class Guard:
    """The process that kills groups of processes when this one is gone."""

    def __init__(self) -> None:
        # In a session of its own, so that Ctrl-C does not end it before the engines.
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def watch(self, group: int) -> None:
        """Kill a group should this process die from now on."""
        self._tell(f"+{group}\n")

    def release(self, group: int) -> None:
        """Leave a group alone that has ended."""
        self._tell(f"-{group}\n")

    def close(self) -> None:
        """End the process; groups that it still watches are killed."""
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
        self._process.wait()

    def _tell(self, line: str) -> None:
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):  # somebody has killed it; the engines' own requests remain
                self._process.stdin.write(line.encode())
                self._process.stdin.flush()


def kill_group(group: int) -> None:
    """Kill all processes of a group that are left."""
    with contextlib.suppress(OSError):
        os.killpg(group, signal.SIGKILL)


def preparation(processors: Collection[int]) -> Callable[[], None]:
    """Return what a new process does before it becomes the engine: nothing but calls of the system.

    :param processors: those that it may use; none for all.
    """
    parent = os.getpid()
    request = ctypes.CDLL(None, use_errno=True).prctl if sys.platform == "linux" else None

    def prepare() -> None:
        if request is not None:
            request(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if os.getppid() != parent:  # it has died meanwhile
                os._exit(1)
        if processors and hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, processors)

    return prepare
