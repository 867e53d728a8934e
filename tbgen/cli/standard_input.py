"""Lines of standard input, as many at a time as have arrived."""

import io
import os
import select
import sys
from codecs import getincrementaldecoder
from collections.abc import Iterator
from itertools import islice
from typing import Final

from tbgen.errors import TbgenError

_READ_BYTES: Final = 1 << 16


def batches_of_lines(most: int) -> Iterator[list[str]]:
    """Yield the lines in lists of about ``most``, or of fewer where the next line is not there yet.

    Lines end with a line feed; a carriage return before it stays, and one elsewhere ends nothing.
    Whoever writes one line and waits for the answer gets it, and whoever writes many gets them all together.
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
        if len(lines) >= most or not select.select([descriptor], [], [], 0)[0]:
            yield lines
            lines = []
    yield lines + (unfinished + decoder.decode(b"", True)).split("\n")
