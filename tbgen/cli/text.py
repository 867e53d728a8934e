"""Small pieces of text that several commands print."""


def size_text(size: int) -> str:
    """Return a number of bytes for a reader.

    >>> size_text(40_000), size_text(3 << 20)
    ('39.1 KiB', '3.00 MiB')
    """
    return f"{size / 2**20:.2f} MiB" if size >= 2**20 else f"{size / 2**10:.1f} KiB"
