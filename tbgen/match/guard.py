"""What sees to it that no engine outlives the runner, whatever becomes of that.

Each engine leads a process group of its own. Where the system has it (Linux), the engine asks to be killed
when its parent dies; but a child of the engine is not told, nor is anybody elsewhere. So a small process
knows all groups: its standard input is a pipe from the runner, and when that ends, be it by ``kill -9``, it
kills what is left of them.
"""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Collection
from typing import Final

from tbgen.errors import UsageError

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
        with contextlib.suppress(OSError):
            self._process.communicate()

    def _tell(self, line: str) -> None:
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):  # somebody has killed it; the engines' own requests remain
                self._process.stdin.write(line.encode())
                self._process.stdin.flush()


def kill_group(group: int) -> None:
    """Kill all processes of a group that are left."""
    with contextlib.suppress(OSError):
        os.killpg(group, signal.SIGKILL)


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
