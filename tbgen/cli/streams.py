"""The standard streams and signals of a command's process. Standard streams may be closed."""

import io
import os
import signal
import sys
from codecs import getincrementaldecoder
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from threading import Timer
from types import FrameType
from typing import Final, NoReturn

from tbgen.documents import Document, json_text
from tbgen.errors import TbgenError, printable
from tbgen.system.signals import TERMINATION_WORDS, has_input, make_blocking, send_to_main_thread

_READ_BYTES: Final = 1 << 16
_RESEND_SECONDS: Final = 0.05
"""Time after which a lost signal is sent again."""


class TerminationError(KeyboardInterrupt):
    """The process has received one of the signals in :data:`TERMINATION_WORDS`."""

    def __init__(self, signum: signal.Signals) -> None:
        super().__init__(TERMINATION_WORDS[signum])
        self.number = signum


def raise_on_termination_signals() -> None:
    """From now on, raise :class:`TerminationError` on termination signals that are not ignored."""
    for signum in TERMINATION_WORDS:
        if signal.getsignal(signum) is signal.SIG_DFL:
            signal.signal(signum, _raise_termination)
    sys.unraisablehook = _send_again


def _raise_termination(signum: int, _frame: FrameType | None) -> NoReturn:
    signal.signal(signum, signal.SIG_IGN)  # a signal sent to the process and to its group arrives twice
    raise TerminationError(signal.Signals(signum))


def _send_again(unraisable: "sys.UnraisableHookArgs") -> None:
    """Send a signal again if it came where Python drops exceptions, for example in ``__del__``."""
    if isinstance(unraisable.exc_value, KeyboardInterrupt):
        signum = getattr(unraisable.exc_value, "number", signal.SIGINT)
        if signum in TERMINATION_WORDS:
            signal.signal(signum, _raise_termination)
        Timer(_RESEND_SECONDS, send_to_main_thread, (signum,)).start()
    else:
        sys.__unraisablehook__(unraisable)


class ClosedOutput(io.TextIOBase):
    """A replacement for a closed standard output."""

    def write(self, _text: str) -> NoReturn:
        """Report that standard output is closed.

        :raises TbgenError: always.
        """
        raise TbgenError("standard output is closed, so the answer cannot be printed: open or redirect it")


def prepare_streams() -> None:
    """Replace closed streams, which Python sets to None. Let open streams accept any text,
    and block when their buffers are full."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
            make_blocking(descriptor)
        except OSError:
            # Otherwise the next file opened, perhaps a table, would get a descriptor that libraries print to.
            os.open(os.devnull, os.O_RDWR)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Names of players may have any characters, and lines end the same way on all systems.
            stream.reconfigure(errors="backslashreplace", newline="\n")
    if sys.stdout is None:
        sys.stdout = ClosedOutput()
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115


def ensure_output_open(*, is_needed: bool) -> None:
    """Check that an answer can be printed, before the work for it begins.

    :param is_needed: whether standard output is needed; if it is closed and not needed, everything
        printed is discarded.
    :raises TbgenError: if standard output is needed, but closed.
    """
    if isinstance(sys.stdout, ClosedOutput):
        if is_needed:
            sys.stdout.write("")
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115


def print_document(document: Document | Sequence[Document], indent: int | None = 2) -> None:
    """Print a document, or a list of documents, on stdout as :func:`tbgen.documents.json_text`
    returns it."""
    print(json_text(document, indent), flush=True)


def say(sentence: str) -> None:
    """Print a sentence on stderr after flushing stdout. Ignore streams that cannot be written to.

    The sentence is escaped, so that names of files and positions in it cannot control the terminal.
    """
    try:
        sys.stdout.flush()
    except OSError:
        redirect_to_null(sys.stdout.fileno())
    try:
        print("\n".join(map(printable, sentence.split("\n"))), file=sys.stderr, flush=True)
    except OSError:
        redirect_to_null(sys.stderr.fileno())


def redirect_to_null(descriptor: int) -> None:
    """Redirect a descriptor to the null device, so that the interpreter's last flush does not fail."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)


def batches_of_lines(batch_size: int) -> Iterator[list[str]]:
    """Yield the lines of standard input in lists of about ``batch_size``, or fewer if no more have arrived.

    So a client that writes one line and waits gets its answer, and the answers to many lines are computed
    together. Lines end with a line feed. Carriage returns are kept; they do not end a line. Bytes that are
    not UTF-8 become escapes. A byte order mark before the first line is removed.

    :raises TbgenError: if standard input cannot be read.
    """
    if sys.stdin is None:
        raise TbgenError("standard input is closed, so there are no positions to read: redirect it")
    try:
        descriptor = sys.stdin.fileno()
    except io.UnsupportedOperation:  # a stream in memory, as in tests
        while lines := list(islice(sys.stdin, batch_size)):
            yield lines
        return
    try:
        yield from _read_batches(descriptor, batch_size)
    except OSError as error:
        raise TbgenError(f"standard input cannot be read: {error.strerror}") from error


def _read_batches(descriptor: int, batch_size: int) -> Iterator[list[str]]:
    decoder = getincrementaldecoder("utf-8-sig")("backslashreplace")
    lines = []
    open_line = ""
    while block := os.read(descriptor, _READ_BYTES):
        *complete, open_line = (open_line + decoder.decode(block)).split("\n")
        lines += complete
        if len(lines) >= batch_size or not has_input(descriptor):
            yield lines
            lines = []
    yield lines + (open_line + decoder.decode(b"", True)).split("\n")
