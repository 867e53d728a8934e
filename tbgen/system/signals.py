"""What reaches a process while it works: signals that end it, and input that has come.

Systems have different signals. Terminals send SIGINT (Ctrl-C) everywhere, SIGHUP (they are closed) to all but
Windows, and SIGBREAK (Ctrl-Break, they are closed) there; services and schedulers of jobs send SIGTERM.
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
"""Signals that end a process as Ctrl-C does, and how that is said."""

ENDINGS: Final = (signal.SIGINT, *TERMINATIONS)
"""What all processes hear from a terminal, or a service that ends."""


@contextmanager
def held_back() -> Iterator[None]:
    """Have :data:`ENDINGS` wait for the end of the block, in this process and in those that it starts within;
    on Windows nothing waits."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDINGS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def leave_to_parent() -> None:
    """Ignore what a terminal sends, in a process that was started in a block of :func:`held_back`: its parent
    hears that too and ends it by SIGTERM, which takes effect at once."""
    for number in ENDINGS:  # one that waits already is lost where it is ignored
        signal.signal(number, signal.SIG_DFL if number == signal.SIGTERM else signal.SIG_IGN)
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDINGS)


def send_to_main(number: int) -> None:
    """Send a signal to the main thread of this process."""
    if sys.platform == "win32":
        signal.raise_signal(number)
    else:
        signal.pthread_kill(threading.main_thread().ident or 0, number)


def has_come(descriptor: int) -> bool:
    """Return whether more can be read from a pipe, a file or a terminal without waiting, as far as the system
    tells: Windows does of connections alone."""
    return sys.platform != "win32" and bool(select.select([descriptor], [], [], 0)[0])
