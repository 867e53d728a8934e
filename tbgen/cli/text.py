"""Small pieces of text that several commands print."""


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun.

    >>> counted(1, "table"), counted(1200, "table"), counted(2, "ply", "plies")
    ('1 table', '1,200 tables', '2 plies')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def size_text(size: int) -> str:
    """Return a number of bytes for a reader.

    >>> size_text(40_000), size_text(3 << 20)
    ('39.1 KiB', '3.00 MiB')
    """
    return f"{size / 2**20:.2f} MiB" if size >= 2**20 else f"{size / 2**10:.1f} KiB"
