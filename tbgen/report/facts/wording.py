"""Values and shares in sentences."""

from collections.abc import Sequence

from tbgen.board.score import GScore


def meaning(value: GScore) -> str:
    """Return a score with what it means where it has a name.

    >>> meaning(GScore.parse("-G0.5"))
    '-G0.5 (Black stalemates)'
    """
    if value.rank > 1:
        return str(value)
    return f"{value} ({'White' if value.white else 'Black'} {'stalemates' if value.rank else 'mates'})"


def percent(share: float) -> str:
    """Return a share, 0 to 1, in percent, never rounded to all or nothing if it is neither.

    >>> percent(0.99999), percent(1.0), percent(0.123)
    ('more than 99.9 %', '100 %', '12.3 %')
    """
    if 0 < share < 0.0005:
        return "less than 0.1 %"
    if 0.9995 <= share < 1:
        return "more than 99.9 %"
    return f"{100 * share:.1f} %" if 0 < share < 1 else f"{100 * share:.0f} %"


def enumerated(words: Sequence[str]) -> str:
    """Return words as a reader lists them.

    >>> enumerated(["KvK"]), enumerated(["KvK", "KBvK", "KNvK"])
    ('KvK', 'KvK, KBvK and KNvK')
    """
    return " and ".join(part for part in (", ".join(words[:-1]), words[-1]) if part)
