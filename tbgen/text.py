"""Numbers with their nouns, for whoever prints them."""

__all__ = ["counted", "plies"]


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun.

    >>> counted(1, "table"), counted(1200, "table"), counted(2, "ply", "plies")
    ('1 table', '1,200 tables', '2 plies')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def plies(number: int) -> str:
    """Return a number of plies for a reader."""
    return counted(number, "ply", "plies")
