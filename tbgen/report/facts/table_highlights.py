"""What stands out in one table: a few sentences, made from the numbers, for the top of its page.

The longest way, the rarest value, and what somebody who knows chess would not expect.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from tbgen.board.score import GScore
from tbgen.report.facts.endgames import UNUSUAL_SHARE
from tbgen.report.facts.wording import meaning, percent
from tbgen.report.model import Record, TableReport, Typical, Verdict
from tbgen.text import counted, plies

NOTABLE: Final = 0.005
"""A share of positions that is worth a sentence."""

SIDES: Final = ("White", "Black")


class Rarest(NamedTuple):
    """The value that the fewest positions have, of those that occur."""

    positions: int
    """How many, on the board."""
    side: int
    """Side to move, 0 White, 1 Black."""
    value: GScore


def table_highlights(report: TableReport) -> list[str]:
    """Return what stands out in one table, what contradicts the rules of chess first."""
    sentences = [
        _without_mate(report),
        _behind(report),
        _burden(report),
        drawn_sentence([report]),
        _longest(report.records),
        _rarest(report),
        _exceptions(report),
        _wiped_out(report),
    ]
    return [sentence for sentence in sentences if sentence]


def rarest(report: TableReport) -> Rarest | None:
    """Return the value that the fewest positions on the board have; of equally rare ones, the first.

    White to move comes before Black, and the better value for White before the worse.
    """
    found = (
        Rarest(count, side, value)
        for side, counts in enumerate(report.distribution.board)
        for value, count in counts.items()
        if count
    )
    return min(found, key=lambda rare: (rare.positions, rare.side, rare.value.code), default=None)


def _longest(records: Sequence[Record]) -> str:
    longest = max(records, key=lambda record: record.depth, default=None)
    if longest is None or not longest.depth:
        return ""
    mates = [record.depth for record in records if not record.value.rank]
    text = f"The longest way takes {plies(longest.depth)}, to {meaning(longest.value)}"
    if mates and longest.value.rank:
        text += f"; mate takes {plies(max(mates))} at the most"
    return f"{text}."


def _rarest(report: TableReport) -> str:
    found = rarest(report)
    return "" if found is None else f"The rarest value is {rare_value(found)}."


def rare_value(found: Rarest) -> str:
    """Return which value is rare, for whom, and in how many positions."""
    return (
        f"{meaning(found.value)} with {SIDES[found.side]} to move, in {counted(found.positions, 'position')} "
        f"on the board"
    )


def held_behind(report: TableReport, *, mates: bool = True) -> list[tuple[float, int]]:
    """Return in which part of the positions the side with less holds the score, and with whom to move.

    :param mates: whether those count in which it mates, as in chess.
    """
    leader = report.mating.rule.leader
    if leader is None:
        return []
    board = report.distribution.board
    held = [
        sum(count for value, count in counts.items() if value.white is not leader and (mates or value.rank))
        / report.distribution.total(side)
        for side, counts in enumerate(board)
        if counts
    ]
    return [(share, side) for side, share in enumerate(held) if share >= NOTABLE]


def _behind(report: TableReport) -> str:
    found = max(held_behind(report), default=None)
    if found is None:
        return ""
    share, side = found
    name = SIDES[bool(report.mating.rule.leader)]
    pawns = counted_pawns(report.mating.rule.advantage)
    return (
        f"{name} is {pawns} behind, and yet holds the score in {percent(share)} of the positions with "
        f"{SIDES[side]} to move."
    )


def counted_pawns(advantage: float) -> str:
    """Return a lead in pawns.

    >>> counted_pawns(1.0), counted_pawns(3.25)
    ('1 pawn', '3.25 pawns')
    """
    return f"{advantage:g} {'pawn' if advantage == 1 else 'pawns'}"


def _without_mate(report: TableReport) -> str:
    """Say what the side that is ahead forces where it does not mate."""
    rule = report.mating.rule
    for truth in report.mating.truth:
        best = worse_for(truth.best, truth.white)
        if truth.white == rule.leader and best is not None and best.rank:
            match truth.verdict:
                case Verdict.NO_HELP_MATE:
                    text = "cannot mate even with help"
                case Verdict.NEVER:
                    text = "never mates by force"
                case Verdict.SOMETIMES:
                    text = f"mates by force in {percent(max(truth.shares))} of the open positions at the most"
                case _:
                    return ""
            name = SIDES[not truth.white]
            return f"{name} {text}, but can generally force {meaning(best)}, whoever is to move."
    return ""


def worse_for(best: Iterable[GScore | None], white: bool) -> GScore | None:
    """Return what a side can generally force whoever is to move, if it is a score of its own."""
    values = [value for value in best if value is not None]
    if len(values) < 2 or any(value.white is not white for value in values):
        return None
    return max(values, key=lambda value: value.rank)


def is_burden(report: TableReport) -> bool:
    """Whether the typical score belongs to whoever is not to move."""
    white, black = (typical.mode for typical in report.endgame.sides)
    return white is not None and black is not None and not white.white and black.white


def _burden(report: TableReport) -> str:
    if not is_burden(report):
        return ""
    white, black = (_mode(typical) for typical in report.endgame.sides)
    return (
        f"The move is a burden: the typical value is {white} with White to move, {black} with Black to move."
    )


def _mode(typical: Typical) -> str:
    assert typical.mode is not None
    return meaning(typical.mode)


def drawn_sentence(reports: Sequence[TableReport]) -> str:
    """Say what becomes of what is drawn in chess."""
    drawn = total = 0
    held = [0, 0]
    for report in reports:
        for side, counts in enumerate(report.distribution.board):
            total += report.distribution.total(side)
            for value, count in counts.items():
                if value.rank:
                    drawn += count
                    held[not value.white] += count
    if not drawn:
        return ""
    text = f"Chess calls {percent(drawn / total)} of the positions drawn; here every one is decided: "
    for name, count in zip(SIDES, held, strict=True):
        if count == drawn:
            return f"{text}{name} holds the score in all of them."
    shares = [percent(count / drawn) for count in held]
    return f"{text}White holds the score in {shares[0]} of them, Black in {shares[1]}."


def _exceptions(report: TableReport) -> str:
    unusual = report.endgame.unusual
    if not unusual:
        return ""
    longest = max(unusual, key=lambda value: value.depth)
    values = counted(len({entry.value for entry in unusual}), "value")
    return (
        f"{values} {'is an exception' if values.startswith('1 ') else 'are exceptions'}, in less than "
        f"{100 * UNUSUAL_SHARE:g} % of the quiet positions; the longest way to one leads to "
        f"{meaning(longest.value)} in {plies(longest.depth)}."
    )


def _wiped_out(report: TableReport) -> str:
    if report.accrued is None:
        return ""
    counts = report.accrued.board.values()
    states = sum(row.states for row in counts)
    wiped = sum(row.wiped_out for row in counts)
    if not wiped:
        return ""
    survives = sum(row.survives for row in counts)
    return (
        f"A score that has accrued survives in {percent(survives / states)} of all states; captures and pawn "
        f"moves wipe out {percent(wiped / states)}."
    )
