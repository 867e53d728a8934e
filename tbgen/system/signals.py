"""Signals that end a process, the check for available input, and blocking streams.

Terminals send SIGINT (Ctrl-C) on all systems. When a terminal is closed, its processes receive SIGHUP. On
Windows they receive SIGBREAK instead, which Ctrl-Break also sends. Services and job schedulers send SIGTERM.

Every command loads this module at its start, so it imports only the standard library.
"""

import os
import select
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

TERMINATION_WORDS: Final = {
    getattr(signal, name): word
    for name, word in (("SIGTERM", "terminated"), ("SIGHUP", "hung up"), ("SIGBREAK", "interrupted"))
    if hasattr(signal, name)
}
"""Maps each signal, other than Ctrl-C, that ends a process to the word for it in messages."""

END_SIGNALS: Final = (signal.SIGINT, *TERMINATION_WORDS)
"""All signals that end a process, Ctrl-C included."""


@contextmanager
def signals_blocked() -> Iterator[None]:
    """Block :data:`END_SIGNALS` within the ``with`` statement, in this process and in processes that are
    started there.

    On Windows nothing is blocked.
    """
    if sys.platform == "win32":
        yield
        return
    previous_mask = signal.pthread_sigmask(signal.SIG_BLOCK, END_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous_mask)


def ignore_terminal_signals() -> None:
    """Ignore signals from the terminal, in a process that was started within :func:`signals_blocked`.

    The parent also receives these signals. It ends this process with SIGTERM, which takes effect immediately.
    """
    for signal_number in END_SIGNALS:  # a pending signal that is ignored is discarded
        signal.signal(signal_number, signal.SIG_DFL if signal_number == signal.SIGTERM else signal.SIG_IGN)
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_UNBLOCK, END_SIGNALS)


def send_to_main_thread(signal_number: int) -> None:
    """Send a signal to the main thread of this process."""
    if sys.platform == "win32":
        signal.raise_signal(signal_number)
    else:
        signal.pthread_kill(threading.main_thread().ident or 0, signal_number)


def has_input(descriptor: int) -> bool:
    """Return whether data can be read from a pipe, a file or a terminal without waiting.

    On Windows, which supports this check for sockets only, the result is always False.
    """
    return sys.platform != "win32" and bool(select.select([descriptor], [], [], 0)[0])


def make_blocking(descriptor: int) -> None:
    """Make a stream blocking: writing waits for its reader, and reading for its writer.

    Another program that shares the stream may have made it non-blocking. On Windows nothing is changed.

    :raises OSError: if the stream is closed.
    """
    if sys.platform != "win32":
        os.set_blocking(descriptor, True)
