"""Signals that end a process, and the check for available input.

Terminals send SIGINT (Ctrl-C) on all systems. When a terminal is closed, processes receive SIGHUP, on Windows
SIGBREAK, which Ctrl-Break sends too. Services and job schedulers send SIGTERM.
"""

import select
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

TERMINATIONS: Final = {
    getattr(signal, name): said
    for name, said in (("SIGTERM", "terminated"), ("SIGHUP", "hung up"), ("SIGBREAK", "interrupted"))
    if hasattr(signal, name)
}
"""Signals that end a process like Ctrl-C, each with the word for messages."""

ENDINGS: Final = (signal.SIGINT, *TERMINATIONS)
"""All signals that end a process like Ctrl-C."""


@contextmanager
def signals_blocked() -> Iterator[None]:
    """Block :data:`ENDINGS` until the end of the block, in this process and in those that the block starts.

    On Windows nothing is blocked.
    """
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDINGS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def ignore_terminal() -> None:
    """Ignore signals from the terminal, in a process that was started in a block of :func:`signals_blocked`.

    The parent receives them too, and ends this process by SIGTERM, which takes effect immediately.
    """
    for number in ENDINGS:  # a pending signal that is ignored is discarded
        signal.signal(number, signal.SIG_DFL if number == signal.SIGTERM else signal.SIG_IGN)
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDINGS)


def send_to_main(number: int) -> None:
    """Send a signal to the main thread of this process."""
    if sys.platform == "win32":
        signal.raise_signal(number)
    else:
        signal.pthread_kill(threading.main_thread().ident or 0, number)


def has_input(descriptor: int) -> bool:
    """Return whether data can be read from a pipe, a file or a terminal without waiting.

    On Windows the result is always False, since it supports this check for sockets only.
    """
    return sys.platform != "win32" and bool(select.select([descriptor], [], [], 0)[0])
