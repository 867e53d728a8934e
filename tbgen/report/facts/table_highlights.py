"""What stands out in one table: a few sentences, made from the numbers, for the top of its page.

The longest way, the rarest value, and what a chess player would not expect.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from tbgen.board.score import GScore
from tbgen.report.facts.endgames import UNUSUAL_SHARE
from tbgen.report.facts.wording import NAMES, NO_MATE, counted_pawns, meaning, percent
from tbgen.report.model import MatingPotential, TableReport, Verdict, ratio
from tbgen.text import counted, plies

NOTABLE: Final = 0.005
"""A share of positions that is worth a sentence."""


Rarest = tuple[int, int, GScore]
"""Positions on the board, side to move (0 White, 1 Black), and the value that so few positions have."""


def with_highlights(report: TableReport) -> TableReport:
    """Return a report with what stands out in it."""
    return replace(report, highlights=tuple(table_highlights(report)))


def table_highlights(report: TableReport) -> list[str]:
    """Return what stands out in one table, what contradicts the rules of chess first."""
    facts = (_without_mate, _behind, _burden, _drawn, _longest, _rarest, _exceptions, _wiped_out)
    return [sentence for fact in facts for sentence in fact(report)]


def rarest(report: TableReport) -> Rarest | None:
    """Return the value that the fewest positions on the board have; of equally rare ones, the first.

    White to move comes before Black, and the better value for White before the worse.
    """
    found = (
        (count, side, value)
        for side, counts in enumerate(report.distribution.board)
        for value, count in counts.items()
        if count
    )
    return min(found, key=lambda rare: (*rare[:2], rare[2].code), default=None)


def _longest(report: TableReport) -> Iterator[str]:
    longest = max(report.records, key=lambda record: record.depth)
    mates = [record.depth for record in report.records if not record.value.rank]
    mate = f"; mate takes {plies(max(mates))} at the most" if mates and longest.value.rank else ""
    if longest.depth:
        yield f"The longest way takes {plies(longest.depth)}, to {meaning(longest.value)}{mate}."


def _rarest(report: TableReport) -> Iterator[str]:
    if found := rarest(report):
        yield f"The rarest value is {rare_value(found)}{as_rare(found, [report], 'a side to move')}."


def rare_value(found: Rarest) -> str:
    """Return which value is rare, for whom, and in how many positions."""
    positions, side, value = found
    return f"{meaning(value)} with {NAMES[side]} to move, in {counted(positions, 'position')} on the board"


def as_rare(found: Rarest, reports: Sequence[TableReport], owner: str) -> str:
    """Say how many other values of some reports as few positions have; ``owner`` says what has a value."""
    sides = [side for report in reports for side in report.distribution.board]
    others = sum(count == found[0] for side in sides for count in side.values()) - 1
    if not others:
        return ""
    return f"; {counted(others, 'other value')} of {owner} {'is' if others == 1 else 'are'} as rare"


def held_behind(report: TableReport, *, mates: bool = True) -> list[tuple[float, int]]:
    """Return in which part of the positions the side with less holds the score, and with whom to move.

    :param mates: whether those count in which it mates, as in chess.
    """
    leader, found = report.mating.rule.leader, []
    for side, counts in enumerate(report.distribution.board):
        held = (count for value, count in counts.items() if value.holder != leader and (mates or value.rank))
        share = ratio(sum(held), sum(counts.values()))
        if leader is not None and share >= NOTABLE:
            found.append((share, side))
    return found


def _behind(report: TableReport) -> Iterator[str]:
    name = NAMES[report.mating.rule.leader == "white"]
    pawns = counted_pawns(report.mating.rule.advantage)
    for share, side in sorted(held_behind(report))[-1:]:
        part = f"{percent(share)} of the positions with {NAMES[side]} to move"
        yield f"{name} is {pawns} behind, and yet holds the score in {part}."


def _without_mate(report: TableReport) -> Iterator[str]:
    """Say what the side that is ahead forces where it does not mate."""
    truth, best = report.mating.leading, generally_forced(report.mating)
    if truth is not None and best is not None and best.rank and truth.verdict is not Verdict.GENERAL:
        share = percent(max(truth.to_move.share, truth.waiting.share))
        text = NO_MATE.get(truth.verdict, f"mates by force in {share} of the open positions at the most")
        forced = f"{meaning(best)} with either side to move"
        yield f"{NAMES[not best.white]} {text}, but can generally force {forced}."


def generally_forced(mating: MatingPotential) -> GScore | None:
    """Return the best score that the leader can force with either side to move, if that is its own score."""
    truth = mating.leading
    values = [] if truth is None else [truth.to_move.best, truth.waiting.best]
    own = [value for value in values if value is not None and value.holder == mating.rule.leader]
    return max(own, key=lambda value: value.rank) if len(own) > 1 else None


def is_burden(report: TableReport) -> bool:
    """Whether the side that is not to move holds the typical score."""
    white, black = (typical.mode for typical in report.endgame.sides)
    return white is not None and black is not None and black.white > white.white


def _burden(report: TableReport) -> Iterator[str]:
    if is_burden(report):
        white, black = (meaning(typical.mode) for typical in report.endgame.sides if typical.mode is not None)
        values = f"{white} with White to move, {black} with Black to move"
        yield f"The move is a burden: the typical value is {values}."


def drawn_sentences(reports: Sequence[TableReport]) -> Iterator[str]:
    """Say what becomes of what is drawn in chess."""
    counts = Counter[GScore]()
    for report in reports:
        for side in report.distribution.board:
            counts.update(side)
    held = [0, 0]
    for value, count in counts.items():
        held[not value.white] += count if value.rank else 0
    if drawn := sum(held):
        part = f"{percent(drawn / counts.total())} of the positions"
        white, black = (percent(count / drawn) for count in held)
        holds = f"White holds the score in {white} of them, Black in {black}"
        if drawn in held:
            holds = f"{NAMES[held.index(drawn)]} holds the score in all of them"
        yield f"Chess calls {part} drawn; here every one is decided: {holds}."


def _drawn(report: TableReport) -> Iterator[str]:
    return drawn_sentences([report])


def _exceptions(report: TableReport) -> Iterator[str]:
    if unusual := report.endgame.unusual:
        longest = max(unusual, key=lambda value: value.depth)
        values = counted(len({entry.value for entry in unusual}), "value")
        are = "is an exception" if values.startswith("1 ") else "are exceptions"
        few = f"in less than {100 * UNUSUAL_SHARE:g} % of the quiet positions"
        way = f"{meaning(longest.value)} in {plies(longest.depth)}"
        yield f"{values} {are}, {few}; the longest way to one leads to {way}."


def _wiped_out(report: TableReport) -> Iterator[str]:
    views = [] if report.accrued is None else [report.accrued.board]
    counts = [row for board in views for holders in board for row in holders]
    if wiped_out := sum(row.wiped_out for row in counts):
        states = sum(row.states for row in counts)
        survives, wiped = percent(sum(row.survives for row in counts) / states), percent(wiped_out / states)
        survival = f"survives in {survives} of all states; captures and pawn moves wipe out {wiped}"
        yield f"A score that has accrued {survival}."
