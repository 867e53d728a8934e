"""Highlights of one or several tables: sentences for the top of a page, generated from the counts.

They state the greatest depth of a value, the rarest value, and facts that a chess player would not expect.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from tbgen.board.material import Material
from tbgen.board.score import GScore
from tbgen.report.difference import Difference
from tbgen.report.endgames import UNUSUAL_SHARE
from tbgen.report.mating import mating_rule
from tbgen.report.model import SIDES, MatingPotential, OverallRecord, TableReport, Verdict, ratio
from tbgen.report.wording import COLOURS, NO_MATE_TEXT, pawn_lead_text, percent, score_text
from tbgen.text import counted, join_words, plies

NOTABLE_SHARE: Final = 0.005
"""Minimum share of positions that is worth a sentence."""


RareValue = tuple[int, int, GScore]
"""A rare value: number of positions (with all symmetric images), side to move (0 White, 1 Black), value."""

_MAX_NAMED_MATERIALS: Final = 6
"""Maximum number of materials that a sentence names."""


def with_highlights(report: TableReport) -> TableReport:
    """Return a report with its highlights."""
    return replace(report, highlights=tuple(table_highlights(report)))


def table_highlights(report: TableReport) -> list[str]:
    """Return the highlights of one table; those that a chess player would least expect come first."""
    facts = (_no_mate, _upset, _burden, _draws, _longest_way, _rarest_value, _exceptions, _wipe_outs)
    return [sentence for fact in facts for sentence in fact(report)]


def find_rarest(report: TableReport) -> RareValue | None:
    """Return the value with the fewest positions; None if there are no positions. All symmetric images count.

    Ties are broken in favour of White to move, and then of the value that is best for White.
    """
    values = (
        (count, side, value)
        for side, counts in enumerate(report.distribution.board)
        for value, count in counts.items()
        if count
    )
    return min(values, key=lambda rare: (*rare[:2], rare[2].code), default=None)


def _longest_way(report: TableReport) -> Iterator[str]:
    longest = max(report.records, key=lambda record: record.depth)
    mates = [record.depth for record in report.records if not record.value.rank]
    mate = f"; mate takes at most {plies(max(mates))}" if mates and longest.value.rank else ""
    if longest.depth:
        way = f"{plies(longest.depth)}, to {score_text(longest.value)}"
        yield f"The longest line from a fresh state takes {way}{mate}."


def _rarest_value(report: TableReport) -> Iterator[str]:
    if rare := find_rarest(report):
        yield _rarest_text(rare, [report], "side to move")


def _rarest_text(rare: RareValue, reports: Sequence[TableReport], scope: str, table_text: str = "") -> str:
    """Return a sentence on a rare value, its number of positions, and the number of equally rare values.

    :param scope: what is counted separately, as the sentence says: ``side to move``, or ``table and side to
        move``.
    :param table_text: words that name the table of the value.
    """
    count, side, value = rare
    name = f"{score_text(value)}{table_text} with {COLOURS[side]} to move"
    positions = f"{counted(count, 'position')} (symmetric images counted)"
    boards = [board for report in reports for board in report.distribution.board]
    equal_count = sum(other == count for board in boards for other in board.values())
    if equal_count == 1:
        return f"The rarest value is {name}, in {positions}."
    return (
        f"The rarest values occur in only {positions}. Counting each {scope} separately, there are "
        f"{equal_count} of them; one is {name}."
    )


def upset_shares(report: TableReport, *, mates: bool = True) -> list[tuple[float, int]]:
    """Return the shares of positions in which the weaker side holds the score.

    Each share is paired with the side to move. Shares below :data:`NOTABLE_SHARE` are left out.

    :param mates: whether to include positions in which the weaker side mates, as it would in chess.
    """
    leader = report.mating.rule.leader
    shares = []
    for side, counts in enumerate(report.distribution.board):
        held = (value for value in counts if value.holder != leader and (mates or value.rank))
        share = ratio(sum(counts[value] for value in held), sum(counts.values()))
        if leader is not None and share >= NOTABLE_SHARE:
            shares.append((share, side))
    return shares


def _upset(report: TableReport) -> Iterator[str]:
    name = COLOURS[report.mating.rule.leader == "white"]
    pawns = pawn_lead_text(report.mating.rule.advantage)
    for share, side in sorted(upset_shares(report))[-1:]:
        scope = f"{percent(share)} of the positions with {COLOURS[side]} to move"
        yield f"{name} is {pawns} behind, and yet holds the score in {scope}."


def _no_mate(report: TableReport) -> Iterator[str]:
    """Yield a sentence on the score that the leader, the side with more material, can force.

    Nothing is yielded if the leader generally mates.
    """
    truth = report.mating.leader_truth
    best = generally_forced_score(report.mating)
    if truth is not None and best is not None and best.rank and truth.verdict is not Verdict.GENERAL:
        share = percent(max(truth.to_move.share, truth.waiting.share))
        text = NO_MATE_TEXT.get(truth.verdict, f"mates by force in {share} of the open positions at the most")
        forced_text = f"{score_text(best)} with either side to move"
        yield f"{COLOURS[not best.white]} {text}, but can generally force {forced_text}."


def generally_forced_score(mating: MatingPotential) -> GScore | None:
    """Return the best score that the leader can generally hold by force, whichever side is to move.

    The result is None if there is no such score.
    """
    truth = mating.leader_truth
    best_scores = [] if truth is None else [truth.to_move.best, truth.waiting.best]
    own_scores = [value for value in best_scores if value is not None and value.holder == mating.rule.leader]
    return max(own_scores, key=lambda value: value.rank) if len(own_scores) > 1 else None


def is_move_burden(report: TableReport) -> bool:
    """Return whether the side that is not to move holds the typical score."""
    white, black = (typical.mode for typical in report.endgame.sides)
    return white is not None and black is not None and black.white > white.white


def _burden(report: TableReport) -> Iterator[str]:
    if is_move_burden(report):
        white, black = (score_text(side.mode) for side in report.endgame.sides if side.mode is not None)
        values_text = f"{white} with White to move, {black} with Black to move"
        yield f"The move is a burden: the typical value is {values_text}."


def drawn_sentences(reports: Sequence[TableReport]) -> Iterator[str]:
    """Yield a sentence on how r-mobility or whole-game mobility decides the positions that are drawn in
    chess."""
    counts = Counter[GScore]()
    for report in reports:
        for side in report.distribution.board:
            counts.update(side)
    held_counts = [0, 0]
    for value, count in counts.items():
        held_counts[not value.white] += count if value.rank else 0
    if draw_count := sum(held_counts):
        scope = f"{percent(draw_count / counts.total())} of the positions"
        white, black = (percent(count / draw_count) for count in held_counts)
        holds = f"White holds the score in {white} of them, Black in {black}"
        if draw_count in held_counts:
            holds = f"{COLOURS[held_counts.index(draw_count)]} holds the score in all of them"
        yield f"Chess calls {scope} drawn; here every one is decided: {holds}."


def _draws(report: TableReport) -> Iterator[str]:
    return drawn_sentences([report])


def _exceptions(report: TableReport) -> Iterator[str]:
    if unusual := report.endgame.unusual:
        longest = max(unusual, key=lambda value: value.depth)
        count_text = counted(len({entry.value for entry in unusual}), "value")
        verb = "is an exception" if count_text.startswith("1 ") else "are exceptions"
        share_text = f"in less than {100 * UNUSUAL_SHARE:g} % of the quiet positions"
        ending_text = f"{score_text(longest.value)} in {plies(longest.depth)}"
        yield f"{count_text} {verb}, {share_text}; the longest line to one leads to {ending_text}."


def _wipe_outs(report: TableReport) -> Iterator[str]:
    views = [] if report.accrued is None else [report.accrued.board]
    counts = [row for board in views for holders in board for row in holders]
    if wiped_out := sum(row.wiped_out for row in counts):
        states = sum(row.states for row in counts)
        survives = percent(sum(row.survives for row in counts) / states)
        wiped_share = percent(wiped_out / states)
        survival = f"survives in {survives} of all states; captures and pawn moves wipe out {wiped_share}"
        yield f"A score that has accrued {survival}."


def index_highlights(reports: Sequence[TableReport]) -> list[str]:
    """Return the highlights of tables of the same variant."""
    facts = (drawn_sentences, _longest_overall, _rarest_overall, _upset_overall, _burdens_overall)
    return [sentence for fact in facts for sentence in fact(reports)]


def _longest_overall(reports: Sequence[TableReport]) -> Iterator[str]:
    records = [record for report in reports for record in report.records if record.depth]
    if records:
        longest = max(records, key=lambda record: record.depth)
        way = f"{score_text(longest.value)}: {plies(longest.depth)}, in {longest.material}"
        yield f"The longest line of all from a fresh state leads to {way}."


def _rarest_overall(reports: Sequence[TableReport]) -> Iterator[str]:
    candidates = [(rare, report.material) for report in reports if (rare := find_rarest(report)) is not None]
    if candidates:
        rare, material = min(candidates, key=lambda pair: pair[0][:2])
        yield _rarest_text(rare, reports, "table and side to move", f" in {material}")


def _upset_overall(reports: Sequence[TableReport]) -> Iterator[str]:
    upsets = [(*upset, report) for report in reports for upset in upset_shares(report, mates=False)]
    if upsets:
        share, side, report = max(upsets, key=lambda upset: upset[0])
        weaker = COLOURS[report.mating.rule.leader == "white"]
        gain_text = (
            f"{weaker} holds the score in {percent(share)} of all positions, though they are drawn in chess"
        )
        scope = f"with {COLOURS[side]} to move, {gain_text}"
        yield f"The weaker side gains most from draws in {report.material}: {scope}."


def _burdens_overall(reports: Sequence[TableReport]) -> Iterator[str]:
    if names := _name_list(report.material for report in reports if is_move_burden(report)):
        holder = "the side that is not to move holds the typical score"
        yield f"The move is a burden in {names}: {holder}."


def record_highlights(records: Sequence[OverallRecord]) -> list[str]:
    """Return the highlights of the greatest depths of each score."""
    return list(_record_sentences(records)) if records else []


def _record_sentences(records: Sequence[OverallRecord]) -> Iterator[str]:
    longest = max(records, key=lambda record: record.depth)
    names = _name_list(dict.fromkeys(holder.material for holder in longest.holders))
    score = f"{longest.g}{(' (mate)', ' (stalemate)', '')[min(longest.g.rank, 2)]}"
    mates = [record.depth for record in records if not record.g.rank]
    to_mate = f"; mate takes at most {plies(max(mates))}" if mates and longest.g.rank else ""
    way = f"{plies(longest.depth)}, to {score}, in {names}{to_mate}"
    yield f"The longest line of all from a fresh state takes {way}."
    holders = [holder for record in records for holder in record.holders]
    material, record_count = Counter(holder.material for holder in holders).most_common(1)[0]
    if record_count > 1:
        yield f"{material} holds {record_count} of the {counted(len(records), 'record')}."
    single_count = sum(record.ties == 1 for record in records)
    if single_count:
        verb = "is" if single_count == 1 else "are"
        yield f"{counted(single_count, 'record')} {verb} reached from one position alone, up to symmetry."
    behind_count = sum(mating_rule(holder.material).leader == SIDES[holder.value.white] for holder in holders)
    if behind_count:
        examples = f"{counted(len(holders), 'example')}, one for each material that reaches a record"
        yield f"The records have {examples}; in {behind_count} of them the score belongs to the weaker side."


def endgame_highlights(reports: Sequence[TableReport]) -> list[str]:
    """Return the highlights of the results of endgames."""
    facts = (_typical_shares, _exceptions_overall, _wiki_examples)
    return [sentence for fact in facts for sentence in fact(reports)]


def _typical_shares(reports: Sequence[TableReport]) -> Iterator[str]:
    shares = [
        (typical.share(typical.mode), typical.mode, side, report.material)
        for report in reports
        for side, typical in zip(COLOURS, report.endgame.sides, strict=True)
        if typical.mode is not None
    ]
    if shares:
        share, mode, side, material = min(shares, key=lambda entry: entry[0])
        text = f"with {side} to move, it is {score_text(mode)}, in only {percent(share)}"
        yield f"The typical value is least frequent in {material}: {text} of the quiet positions."
        share, mode, side, material = max(shares, key=lambda entry: entry[0])
        most_text = f"{score_text(mode)} in {percent(share)} of those with {side} to move"
        yield f"It is most frequent in {material}: {most_text}."


def _exceptions_overall(reports: Sequence[TableReport]) -> Iterator[str]:
    counts = [len({entry.value for entry in report.endgame.unusual}) for report in reports]
    if maximum := max(counts, default=0):
        material = reports[counts.index(maximum)].material
        share_text = f"each of them in less than {100 * UNUSUAL_SHARE:g} % of the quiet positions"
        yield f"{material} has the most exceptions: {counted(maximum, 'value')}, {share_text}."


def _wiki_examples(reports: Sequence[TableReport]) -> Iterator[str]:
    is_typical = [example.typical for report in reports for example in report.endgame.examples]
    if is_typical:
        count = sum(is_typical)
        typical = f"{count} {'has' if count == 1 else 'have'} the typical value of the endgame"
        positions = counted(len(is_typical), "position")
        yield f"Of the {positions} in the article of the TCEC wiki on the rules, {typical}."


def mating_highlights(reports: Sequence[TableReport]) -> list[str]:
    """Return the highlights of the mating potentials of materials without pawns."""
    facts = (_rule_check, _nearest_win, _best_forced)
    return [sentence for fact in facts for sentence in fact(reports)]


def _rule_check(reports: Sequence[TableReport]) -> Iterator[str]:
    if wrong := _name_list(report.material for report in reports if report.mating.agrees is False):
        yield f"The rule of thumb is wrong for {wrong}."
    elif any(report.mating.agrees for report in reports):
        yield "The rule of thumb is correct wherever it applies."


def _nearest_win(reports: Sequence[TableReport]) -> Iterator[str]:
    """Yield a sentence on the leader that comes nearest to a general win without having one."""
    chances = [
        (chance.share, report, is_waiting)
        for report in reports
        if (truth := report.mating.leader_truth) is not None and truth.verdict is Verdict.SOMETIMES
        for is_waiting, chance in enumerate((truth.to_move, truth.waiting))
    ]
    if chances:
        share, report, is_waiting = max(chances, key=lambda entry: entry[0])
        leader = SIDES.index(str(report.mating.rule.leader))
        scope = f"{percent(share)} of the open positions with {COLOURS[leader ^ is_waiting]} to move"
        text = f"{report.material} comes nearest to one: {COLOURS[leader]} forces mate in {scope}"
        yield f"Of the materials that are not general wins, {text}."


def _best_forced(reports: Sequence[TableReport]) -> Iterator[str]:
    """Yield a sentence on the best score that leaders without forced mates in open positions can force."""
    forced_scores = [
        (best, report.material)
        for report in reports
        if (truth := report.mating.leader_truth) is not None
        and truth.verdict in (Verdict.NEVER, Verdict.NO_HELP_MATE)
        and (best := generally_forced_score(report.mating)) is not None
    ]
    if forced_scores:
        rank = min(best.rank for best, _ in forced_scores)
        names = _name_list(material for best, material in forced_scores if best.rank == rank)
        yield f"In {names} mate cannot generally be forced, but {score_text(GScore(rank, True))} can."


def difference_highlights(differences: Sequence[Difference]) -> list[str]:
    """Return the highlights of the differences between the variants."""
    return list(_difference_sentences(differences)) if differences else []


def _difference_sentences(differences: Sequence[Difference]) -> Iterator[str]:
    extreme = max(differences, key=lambda difference: difference.share)
    if extreme.share:
        scope = f"{percent(extreme.share)} of its positions"
        yield f"The rules differ most in {extreme.material}: {scope} have a different value."
    extreme = max(differences, key=_holder_changes)
    if change_count := _holder_changes(extreme):
        scope = f"{counted(change_count, 'position')} of {extreme.material} (symmetric images counted)"
        yield f"In {scope}, more than anywhere else, the two rules give the score to different sides."
    if same_names := _name_list(difference.material for difference in differences if not difference.share):
        yield f"Nothing differs in {same_names}."


def _holder_changes(difference: Difference) -> int:
    """Return the number of positions whose scores in the two variants belong to different sides."""
    pairs = (pair for side in difference.sides for pair in side.pairs)
    return sum(pair.count for pair in pairs if pair.r.white is not pair.wg.white)


def _name_list(materials: Iterable[Material]) -> str:
    """Return materials as a list in a sentence, shortened to :data:`_MAX_NAMED_MATERIALS` entries."""
    names = [material.name for material in materials]
    if len(names) > _MAX_NAMED_MATERIALS:
        names = [*names[: _MAX_NAMED_MATERIALS - 1], f"{len(names) - _MAX_NAMED_MATERIALS + 1} others"]
    return join_words(names)
