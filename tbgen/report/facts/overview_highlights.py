"""What stands out among many tables: a few sentences, made from the numbers, for the top of each page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from tbgen.board.material import Material
from tbgen.board.score import GScore
from tbgen.report.facts.difference import Difference
from tbgen.report.facts.endgames import UNUSUAL_SHARE
from tbgen.report.facts.mating import mating_rule
from tbgen.report.facts.table_highlights import (
    NOTABLE,
    SIDES,
    drawn_sentence,
    held_behind,
    is_burden,
    rare_value,
    rarest,
    worse_for,
)
from tbgen.report.facts.wording import enumerated, meaning, percent
from tbgen.report.model import OverallRecord, TableReport, Verdict
from tbgen.text import counted, plies

_NAMED: Final = 6
"""Most materials that a sentence names."""


def index_highlights(reports: Sequence[TableReport]) -> list[str]:
    """Return what stands out among tables of the same variant."""
    sentences = [drawn_sentence(reports)]
    every = [record for report in reports for record in report.records]
    longest = max(every, key=lambda record: record.depth, default=None)
    if longest is not None and longest.depth:
        sentences.append(
            f"The longest way of all leads to {meaning(longest.value)}: {plies(longest.depth)}, "
            f"in {longest.material}."
        )
    rare = [(found, report) for report in reports if (found := rarest(report)) is not None]
    if rare:
        found, report = min(rare, key=lambda pair: pair[0][:2])
        sentences.append(
            f"Nothing is rarer than {rare_value(found)}, in {report.material}"
            f"{_as_rare(found.positions, reports)}."
        )
    upset = [(share, side, report) for report in reports for share, side in held_behind(report, mates=False)]
    if upset:
        share, side, report = max(upset, key=lambda found: found[0])
        sentences.append(
            f"The side with less gets most out of draws in {report.material}: {percent(share)} of the "
            f"positions with {SIDES[side]} to move are drawn in chess, and here it holds the score."
        )
    burdens = [report.material for report in reports if is_burden(report)]
    if burdens:
        sentences.append(
            f"The move is a burden in {_names(burdens)}: the typical score belongs to whoever is not to move."
        )
    return [sentence for sentence in sentences if sentence]


def _as_rare(positions: int, reports: Sequence[TableReport]) -> str:
    """Say how many other values, by table and side to move, as few positions have."""
    others = -1 + sum(
        count == positions
        for report in reports
        for counts in report.distribution.board
        for count in counts.values()
    )
    if not others:
        return ""
    verb = "is" if others == 1 else "are"
    return f"; {counted(others, 'other value')} of a table and side to move {verb} as rare"


def record_highlights(records: Sequence[OverallRecord]) -> list[str]:
    """Return what stands out among the longest ways to each score."""
    if not records:
        return []
    longest = max(records, key=lambda record: record.depth)
    sentences = [
        f"The longest way of all takes {plies(longest.depth)}, to {_either(longest.g)}, "
        f"in {_holders(longest)}{_to_mate(longest, records)}."
    ]
    holders = [holder for record in records for holder in record.holders]
    material, number = Counter(holder.material for holder in holders).most_common(1)[0]
    if number > 1:
        sentences.append(f"{material} holds {number} of the {counted(len(records), 'record')}.")
    single = [record.g for record in records if record.ties == 1]
    if single:
        sentences.append(
            f"{counted(len(single), 'record')} {'is' if len(single) == 1 else 'are'} reached from one "
            f"position alone, up to symmetry."
        )
    behind = [holder for holder in holders if _is_behind(holder.material, holder.value.white)]
    if behind:
        sentences.append(
            f"In {len(behind)} of {counted(len(holders), 'example')}, one for each material that "
            f"reaches a record, the score belongs to the side with less."
        )
    return sentences


def endgame_highlights(reports: Sequence[TableReport]) -> list[str]:
    """Return what stands out among what endgames give."""
    shares = [
        (typical.share(typical.mode), typical.mode, side, report)
        for report in reports
        for side, typical in enumerate(report.endgame.sides)
        if typical.mode is not None
    ]
    if not shares:
        return []
    sentences = []
    for what, pick in (("least", min), ("best", max)):
        choose: Callable[..., tuple[float, GScore, int, TableReport]] = pick
        share, mode, side, report = choose(shares, key=lambda found: found[0])
        if what == "least":
            sentences.append(
                f"Nowhere does the typical value say less than in {report.material}: with {SIDES[side]} to "
                f"move it is {meaning(mode)}, in only {percent(share)} of the quiet positions."
            )
        elif share > NOTABLE:
            sentences.append(
                f"It says most in {report.material}: {meaning(mode)} in {percent(share)} of those with "
                f"{SIDES[side]} to move."
            )
    exceptions = [len({entry.value for entry in report.endgame.unusual}) for report in reports]
    most = max(exceptions)
    if most:
        holder = reports[exceptions.index(most)].material
        sentences.append(
            f"{holder} has the most exceptions: {counted(most, 'value')} of less than "
            f"{100 * UNUSUAL_SHARE:g} % of the quiet positions."
        )
    shown = [example for report in reports for example in report.endgame.examples]
    if shown:
        typical = sum(example.typical for example in shown)
        sentences.append(
            f"Of the {counted(len(shown), 'position')} that the rules' wiki shows, {typical} "
            f"{'has' if typical == 1 else 'have'} the value that is typical."
        )
    return sentences


def mating_highlights(reports: Sequence[TableReport]) -> list[str]:
    """Return what stands out among mating potentials of materials without pawns."""
    sentences = []
    wrong = [report.material for report in reports if report.mating.agrees is False]
    if wrong:
        sentences.append(f"The rule of thumb is wrong for {_names(wrong)}.")
    elif any(report.mating.agrees for report in reports):
        sentences.append("The rule of thumb is right wherever it says anything.")
    leads = [
        (report, truth)
        for report in reports
        for truth in report.mating.truth
        if truth.white == report.mating.rule.leader
    ]
    chances = [
        (share, SIDES[not truth.white], SIDES[truth.white is not attacks], report)
        for report, truth in leads
        if truth.verdict is Verdict.SOMETIMES
        for share, attacks in zip(truth.shares, (True, False), strict=True)
    ]
    if chances:
        share, mates, to_move, report = max(chances, key=lambda found: found[0])
        sentences.append(
            f"Of the materials that do not win in general, {report.material} comes nearest: {mates} forces "
            f"mate in {percent(share)} of the open positions with {to_move} to move."
        )
    forced = [
        (best, report)
        for report, truth in leads
        if truth.verdict in (Verdict.NEVER, Verdict.NO_HELP_MATE)
        for best in [worse_for(truth.best, truth.white)]
        if best is not None
    ]
    if forced:
        rank = min(best.rank for best, _ in forced)
        holders = [report.material for best, report in forced if best.rank == rank]
        sentences.append(
            f"Without any mate by force, {_names(holders)} can still generally force {GScore(rank, True)}."
        )
    return sentences


def difference_highlights(differences: Sequence[Difference]) -> list[str]:
    """Return what stands out among the differences of the variants."""
    if not differences:
        return []
    same = [found.material for found in differences if not any(found.differing)]
    sentences = []
    most = max(differences, key=lambda found: found.share)
    if most.share:
        sentences.append(
            f"The rules differ most in {most.material}: {percent(most.share)} of its positions have another "
            f"value."
        )
    turned = [
        (
            sum(count for pairs in found.sides for (r, wg), count in pairs.items() if r.white != wg.white),
            found,
        )
        for found in differences
    ]
    number, found = max(turned, key=lambda pair: pair[0])
    if number:
        sentences.append(
            f"In {counted(number, 'position')} of {found.material} the other side holds the score, more than "
            f"anywhere else."
        )
    if same:
        sentences.append(f"Nothing differs in {_names(same)}.")
    return sentences


def _is_behind(material: Material, white: bool) -> bool:
    leader = mating_rule(material).leader
    return leader is not None and leader is not white


def _either(score: GScore) -> str:
    """Return a score with what it means, whoever holds it."""
    return f"{score}{(' (mate)', ' (stalemate)')[score.rank] if score.rank < 2 else ''}"


def _holders(record: OverallRecord) -> str:
    return _names(list(dict.fromkeys(holder.material for holder in record.holders)))


def _to_mate(longest: OverallRecord, records: Sequence[OverallRecord]) -> str:
    mates = [record.depth for record in records if not record.g.rank]
    return f"; to mate it takes {plies(max(mates))} at the most" if mates and longest.g.rank else ""


def _names(materials: Sequence[Material]) -> str:
    names = [material.name for material in materials]
    if len(names) > _NAMED:
        names = [*names[: _NAMED - 1], f"{len(names) - _NAMED + 1} others"]
    return enumerated(names)
