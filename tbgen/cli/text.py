"""Small pieces of text that several commands print or read."""

import re
from typing import Final

from tbgen.errors import UsageError, quote

_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?) ?([KMGT])(i?B)?", re.IGNORECASE | re.ASCII)


def size_text(size: int) -> str:
    """Return a number of bytes for a reader.

    >>> size_text(40_000), size_text(3 << 20), size_text(5 << 29)
    ('39.1 KiB', '3.00 MiB', '2.50 GiB')
    """
    if size >= 2**30:
        return f"{size / 2**30:.2f} GiB"
    return f"{size / 2**20:.2f} MiB" if size >= 2**20 else f"{size / 2**10:.1f} KiB"


def parse_size(text: str) -> int:
    """Return the bytes of a size: K, M, G and T are powers of 1024, as are KiB to TiB; KB to TB are of 1000.

    >>> parse_size("12G"), parse_size("4096MiB"), parse_size("1.5gb")
    (12884901888, 4294967296, 1500000000)

    :raises UsageError: if it is no size.
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None or not float(match[1]):
        raise UsageError(f"{quote(text)} is not a size such as 12G, 8GiB or 4096M")
    base = 1000 if (match[3] or "").upper() == "B" else 1024
    return int(float(match[1]) * base ** ("KMGT".index(match[2].upper()) + 1))
