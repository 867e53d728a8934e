"""Standard streams that the caller has closed, as ``>&-`` does in a shell."""

import io
import os
import sys
from contextlib import suppress
from typing import NoReturn

from tbgen.errors import TbgenError


class ClosedOutput(io.TextIOBase):
    """Stands in for a standard output that is closed."""

    def write(self, _text: str) -> NoReturn:
        """Refuse.

        :raises TbgenError: always.
        """
        raise TbgenError("standard output is closed, so the answer has nowhere to go: open or redirect it")


def prepare_streams() -> None:
    """Put something in the place of closed streams, where Python has None, and let others take any text."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            # Else the next file opened, maybe a table, gets the number that libraries print to.
            os.open(os.devnull, os.O_RDWR)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a player's name must not stop an answer
    if sys.stdout is None:
        sys.stdout = ClosedOutput()
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115


def check_output() -> None:
    """Check that an answer can be printed, before the work for it begins.

    :raises TbgenError: if standard output is closed.
    """
    if isinstance(sys.stdout, ClosedOutput):
        sys.stdout.write("")


def say(sentence: str) -> None:
    """Print a sentence on stderr after all that was printed on stdout, as far as either can be written."""
    try:
        sys.stdout.flush()
    except OSError:
        discard(sys.stdout.fileno())
    try:
        print(sentence, file=sys.stderr, flush=True)
    except OSError:
        discard(sys.stderr.fileno())


def discard(descriptor: int) -> None:
    """Send what is left for a descriptor nowhere: the interpreter would complain when it flushes."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
