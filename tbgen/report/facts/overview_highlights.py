"""What stands out among many tables: a few sentences, made from the numbers, for the top of each page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from tbgen.board.material import Material
from tbgen.board.score import GScore
from tbgen.report.facts.difference import Difference
from tbgen.report.facts.endgames import UNUSUAL_SHARE
from tbgen.report.facts.mating_rule import mating_rule
from tbgen.report.facts.table_highlights import (
    as_rare,
    drawn_sentences,
    generally_forced,
    held_behind,
    is_burden,
    rare_value,
    rarest,
)
from tbgen.report.facts.wording import NAMES, enumerated, meaning, percent
from tbgen.report.model import OverallRecord, TableReport, Verdict
from tbgen.report.parts import SIDES
from tbgen.text import counted, plies

_NAMED: Final = 6
"""Most materials that a sentence names."""


def index_highlights(reports: Sequence[TableReport]) -> list[str]:
    """Return what stands out among tables of the same variant."""
    facts = (drawn_sentences, _longest, _rarest, _upset, _burdens)
    return [sentence for fact in facts for sentence in fact(reports)]


def _longest(reports: Sequence[TableReport]) -> Iterator[str]:
    every = [record for report in reports for record in report.records if record.depth]
    if every:
        longest = max(every, key=lambda record: record.depth)
        way = f"{meaning(longest.value)}: {plies(longest.depth)}, in {longest.material}"
        yield f"The longest way of all leads to {way}."


def _rarest(reports: Sequence[TableReport]) -> Iterator[str]:
    rare = [(found, report.material) for report in reports if (found := rarest(report)) is not None]
    if rare:
        found, material = min(rare, key=lambda pair: pair[0][:2])
        ties = as_rare(found, reports, "a table and side to move")
        yield f"Nothing is rarer than {rare_value(found)}, in {material}{ties}."


def _upset(reports: Sequence[TableReport]) -> Iterator[str]:
    upsets = [(*upset, report.material) for report in reports for upset in held_behind(report, mates=False)]
    if upsets:
        share, side, material = max(upsets, key=lambda upset: upset[0])
        part = f"{percent(share)} of the positions with {NAMES[side]} to move are drawn in chess"
        yield f"The side with less gets most out of draws in {material}: {part}, and here it holds the score."


def _burdens(reports: Sequence[TableReport]) -> Iterator[str]:
    if names := _names(report.material for report in reports if is_burden(report)):
        holder = "the side that is not to move holds the typical score"
        yield f"The move is a burden in {names}: {holder}."


def record_highlights(records: Sequence[OverallRecord]) -> list[str]:
    """Return what stands out among the longest ways to each score."""
    return list(_record_sentences(records)) if records else []


def _record_sentences(records: Sequence[OverallRecord]) -> Iterator[str]:
    longest = max(records, key=lambda record: record.depth)
    names = _names(dict.fromkeys(holder.material for holder in longest.holders))
    score = f"{longest.g}{(' (mate)', ' (stalemate)', '')[min(longest.g.rank, 2)]}"
    mates = [record.depth for record in records if not record.g.rank]
    to_mate = f"; to mate it takes {plies(max(mates))} at the most" if mates and longest.g.rank else ""
    yield f"The longest way of all takes {plies(longest.depth)}, to {score}, in {names}{to_mate}."
    holders = [holder for record in records for holder in record.holders]
    material, number = Counter(holder.material for holder in holders).most_common(1)[0]
    if number > 1:
        yield f"{material} holds {number} of the {counted(len(records), 'record')}."
    single = sum(record.ties == 1 for record in records)
    if single:
        verb = "is" if single == 1 else "are"
        yield f"{counted(single, 'record')} {verb} reached from one position alone, up to symmetry."
    behind = sum(mating_rule(each.material).leader == SIDES[each.value.white] for each in holders)
    if behind:
        examples = f"{counted(len(holders), 'example')}, one for each material that reaches a record"
        yield f"In {behind} of {examples}, the score belongs to the side with less."


def endgame_highlights(reports: Sequence[TableReport]) -> list[str]:
    """Return what stands out among what endgames give."""
    facts = (_typical, _exceptions, _wiki)
    return [sentence for fact in facts for sentence in fact(reports)]


def _typical(reports: Sequence[TableReport]) -> Iterator[str]:
    shares = [
        (typical.share(typical.mode), typical.mode, side, report.material)
        for report in reports
        for side, typical in zip(NAMES, report.endgame.sides, strict=True)
        if typical.mode is not None
    ]
    if shares:
        share, mode, side, material = min(shares, key=lambda found: found[0])
        least = f"with {side} to move it is {meaning(mode)}, in only {percent(share)} of the quiet positions"
        yield f"Nowhere does the typical value say less than in {material}: {least}."
        share, mode, side, material = max(shares, key=lambda found: found[0])
        most = f"{meaning(mode)} in {percent(share)} of those with {side} to move"
        yield f"It says most in {material}: {most}."


def _exceptions(reports: Sequence[TableReport]) -> Iterator[str]:
    numbers = [len({entry.value for entry in report.endgame.unusual}) for report in reports]
    if most := max(numbers, default=0):
        material = reports[numbers.index(most)].material
        values = f"{counted(most, 'value')} of less than {100 * UNUSUAL_SHARE:g} % of the quiet positions"
        yield f"{material} has the most exceptions: {values}."


def _wiki(reports: Sequence[TableReport]) -> Iterator[str]:
    shown = [example.typical for report in reports for example in report.endgame.examples]
    if shown:
        typical = f"{sum(shown)} {'has' if sum(shown) == 1 else 'have'} the value that is typical"
        yield f"Of the {counted(len(shown), 'position')} that the rules' wiki shows, {typical}."


def mating_highlights(reports: Sequence[TableReport]) -> list[str]:
    """Return what stands out among mating potentials of materials without pawns."""
    facts = (_rule, _nearest, _most_forced)
    return [sentence for fact in facts for sentence in fact(reports)]


def _rule(reports: Sequence[TableReport]) -> Iterator[str]:
    if wrong := _names(report.material for report in reports if report.mating.agrees is False):
        yield f"The rule of thumb is wrong for {wrong}."
    elif any(report.mating.agrees for report in reports):
        yield "The rule of thumb is right wherever it says anything."


def _nearest(reports: Sequence[TableReport]) -> Iterator[str]:
    """Say which side that is ahead comes nearest to a general win."""
    chances = [
        (chance.share, report, waits)
        for report in reports
        if (truth := report.mating.leading) is not None and truth.verdict is Verdict.SOMETIMES
        for waits, chance in enumerate((truth.to_move, truth.waiting))
    ]
    if chances:
        share, report, waits = max(chances, key=lambda found: found[0])
        leads = SIDES.index(str(report.mating.rule.leader))
        part = f"{percent(share)} of the open positions with {NAMES[leads ^ waits]} to move"
        nearest = f"{report.material} comes nearest: {NAMES[leads]} forces mate in {part}"
        yield f"Of the materials that do not win in general, {nearest}."


def _most_forced(reports: Sequence[TableReport]) -> Iterator[str]:
    """Say what the sides that are ahead can force at best where none mates."""
    forced = [
        (best, report.material)
        for report in reports
        if (truth := report.mating.leading) is not None
        and truth.verdict in (Verdict.NEVER, Verdict.NO_HELP_MATE)
        and (best := generally_forced(report.mating)) is not None
    ]
    if forced:
        rank = min(best.rank for best, _ in forced)
        names = _names(material for best, material in forced if best.rank == rank)
        yield f"Without any mate by force, {names} can still generally force {GScore(rank, True)}."


def difference_highlights(differences: Sequence[Difference]) -> list[str]:
    """Return what stands out among the differences of the variants."""
    return list(_difference_sentences(differences)) if differences else []


def _difference_sentences(differences: Sequence[Difference]) -> Iterator[str]:
    most = max(differences, key=lambda found: found.share)
    if most.share:
        part = f"{percent(most.share)} of its positions"
        yield f"The rules differ most in {most.material}: {part} have another value."
    most = max(differences, key=_turned)
    if number := _turned(most):
        part = f"{counted(number, 'position')} of {most.material}"
        yield f"In {part} the other side holds the score, more than anywhere else."
    if same := _names(found.material for found in differences if not found.share):
        yield f"Nothing differs in {same}."


def _turned(found: Difference) -> int:
    """Return in how many positions the other side holds the score."""
    pairs = (pair for side in found.sides for pair in side.pairs)
    return sum(pair.count for pair in pairs if pair.r.white is not pair.wg.white)


def _names(materials: Iterable[Material]) -> str:
    """Return materials as a reader lists them; many are cut short."""
    names = [material.name for material in materials]
    if len(names) > _NAMED:
        names = [*names[: _NAMED - 1], f"{len(names) - _NAMED + 1} others"]
    return enumerated(names)
