"""Values and shares in sentences."""

from collections.abc import Mapping, Sequence
from typing import Final

from tbgen.board.score import GScore
from tbgen.report.model import Verdict

NAMES: Final = ("White", "Black")

NO_MATE: Final[Mapping[Verdict, str]] = {
    Verdict.NO_HELP_MATE: "cannot mate even with help",
    Verdict.NEVER: "never mates by force",
}
"""What is said of a side that does not mate."""


def meaning(value: GScore) -> str:
    """Return a score with what it means where it has a name.

    >>> meaning(GScore.parse("-G0.5"))
    '-G0.5 (Black stalemates)'
    """
    if value.rank > 1:
        return str(value)
    return f"{value} ({'White' if value.white else 'Black'} {'stalemates' if value.rank else 'mates'})"


def counted_pawns(advantage: float) -> str:
    """Return a lead in pawns.

    >>> counted_pawns(1.0), counted_pawns(3.25)
    ('1 pawn', '3.25 pawns')
    """
    return f"{advantage:g} {'pawn' if advantage == 1 else 'pawns'}"


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

    >>> enumerated(["KvK"]), enumerated(["KvK", "KBvK", "KNvK"]), enumerated([])
    ('KvK', 'KvK, KBvK and KNvK', '')
    """
    return " and ".join(part for part in (", ".join(words[:-1]), *words[-1:]) if part)
