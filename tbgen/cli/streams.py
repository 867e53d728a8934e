"""What connects a command with the process that runs it: standard streams, also closed ones, and signals."""

import io
import json
import os
import signal
import sys
from codecs import getincrementaldecoder
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from threading import Timer
from types import FrameType
from typing import Any, Final, NoReturn

from tbgen.errors import TbgenError
from tbgen.system.signals import TERMINATIONS, has_come, send_to_main

_READ_BYTES: Final = 1 << 16
_AGAIN: Final = 0.05
"""Seconds after which a signal that was lost is sent again."""


class TerminationError(KeyboardInterrupt):
    """The process has been asked to end by one of :data:`TERMINATIONS`."""

    def __init__(self, number: signal.Signals) -> None:
        super().__init__(TERMINATIONS[number])
        self.number = number


def raise_terminations() -> None:
    """Raise :class:`TerminationError` on its signals from now on, except those that the caller ignores."""
    for number in TERMINATIONS:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _raise_termination)
    sys.unraisablehook = _send_again


def _raise_termination(number: int, _frame: FrameType | None) -> NoReturn:
    raise TerminationError(signal.Signals(number))


def _send_again(lost: "sys.UnraisableHookArgs") -> None:
    """Send a signal again that came where Python drops exceptions, as while an object is deleted."""
    if isinstance(lost.exc_value, KeyboardInterrupt):
        number = getattr(lost.exc_value, "number", signal.SIGINT)
        Timer(_AGAIN, send_to_main, (number,)).start()
    else:
        sys.__unraisablehook__(lost)


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
            # A player's name must not stop an answer, and lines end as they do on other systems.
            stream.reconfigure(errors="backslashreplace", newline="\n")
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


def print_json(document: Any, indent: int | None = 2) -> None:
    """Print one document on stdout, as :func:`json_text` has it."""
    print(json_text(document, indent), flush=True)


def json_text(document: Any, indent: int | None = 2) -> str:
    """Return one document; scores, paths and materials in it become texts."""
    return json.dumps(document, indent=indent, default=str)


def error_document(fen: str, error: TbgenError) -> dict[str, Any]:
    """Return what is said of a position, as it was named, about which there is an error only."""
    return {"fen": fen, "error": str(error), "code": error.code}


def fields(of: object, *names: str, **others: str) -> dict[str, Any]:
    """Return attributes of an object for a document: those that it calls the same, and by key the others."""
    attributes = {name: name for name in names} | others
    return {key: getattr(of, name) for key, name in attributes.items()}


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


def batches_of_lines(most: int) -> Iterator[list[str]]:
    """Yield the lines in lists of about ``most``, or of fewer where the next line is not there yet.

    Lines end with a line feed; a carriage return before it stays, and one elsewhere ends nothing.
    A client that writes one line and waits gets its answer; one that writes many gets the answers together.
    Bytes that are not UTF-8 become escapes; the mark that some editors put before the first line is left out.

    :raises TbgenError: if standard input cannot be read.
    """
    if sys.stdin is None:
        raise TbgenError("standard input is closed, so there are no positions to read: redirect it")
    try:
        descriptor = sys.stdin.fileno()
    except io.UnsupportedOperation:  # an object in memory in its place
        while lines := list(islice(sys.stdin, most)):
            yield lines
        return
    try:
        yield from _arrived(descriptor, most)
    except OSError as error:
        raise TbgenError(f"standard input cannot be read: {error.strerror}") from error


def _arrived(descriptor: int, most: int) -> Iterator[list[str]]:
    decoder = getincrementaldecoder("utf-8-sig")("backslashreplace")
    lines, unfinished = [], ""
    while read := os.read(descriptor, _READ_BYTES):
        *whole, unfinished = (unfinished + decoder.decode(read)).split("\n")
        lines += whole
        if len(lines) >= most or not has_come(descriptor):
            yield lines
            lines = []
    yield lines + (unfinished + decoder.decode(b"", True)).split("\n")
