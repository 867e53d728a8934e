"""Reports on mating potential as rows of a table."""

from collections.abc import Iterator
from typing import Final

from tbgen.report.model import MatingEntry, MatingTruth, Verdict
from tbgen.text import plies, share

MATING_HEAD: Final = (
    "material",
    "attacker",
    "to move",
    "not to move",
    "longest",
    "typical",
    "rule",
    "truth",
    "",
)
"""What the cells of :func:`mating_rows` are."""
ONE_COLOUR: Final = "one colour"
"""Stands for the material where a side has its men that are bound to a colour on one."""


def mating_rows(entry: MatingEntry) -> Iterator[tuple[str, ...]]:
    """Yield a row about the side that is ahead, or about White where nobody is; and one more about positions
    in which its men stand on one colour, if that is told apart."""
    potential, rule = entry.potential, entry.potential.rule
    attacker = rule.leader or "white"
    truth = potential.truth[attacker]
    yield (
        entry.material.name,
        attacker.capitalize(),
        *_shares(truth),
        *_longest(entry, attacker),
        *(
            "-" if rule.wins is None else "wins" if rule.wins else f"no: / {rule.divisor}",
            str(truth.verdict),
            "" if potential.agrees is not False else "wrong",
        ),
    )
    if potential.like_bishops is not None:
        alike = potential.like_bishops[attacker]
        yield ONE_COLOUR, attacker.capitalize(), *_shares(alike), "", "", "", str(alike.verdict), ""


def _shares(truth: MatingTruth) -> tuple[str, str]:
    first, second = (share(chance.share, 2) for chance in (truth.to_move, truth.waiting))
    return first.replace("\N{NO-BREAK SPACE}", " "), second.replace("\N{NO-BREAK SPACE}", " ")


def _longest(entry: MatingEntry, attacker: str) -> tuple[str, str]:
    """Return the plies of the longest mate if any is forced, and what is usual with the defender to move if
    mate is not."""
    verdict = entry.potential.truth[attacker].verdict
    longest, typical = entry.longest[attacker], entry.typical[1 if attacker == "white" else 0]
    forced = longest and verdict in (Verdict.SOMETIMES, Verdict.GENERAL)
    usual = typical and verdict is not Verdict.GENERAL
    return plies(longest) if forced and longest else "-", str(typical) if usual else "-"
