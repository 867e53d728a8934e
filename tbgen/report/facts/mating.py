"""Mating potential: a rule of thumb for engines, and the truth of the tables.

The rule is that of Pair-o-Max, H. G. Muller's version of Fairy-Max.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Final

import numpy as np

from tbgen.board.material import Material
from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.errors import UsageError
from tbgen.report.facts.endgames import without_over
from tbgen.report.facts.wording import meaning, percent
from tbgen.report.model import MatingPotential, MatingRule, MatingTruth, Verdict
from tbgen.report.scan.counting import count_table
from tbgen.report.scan.table_counts import LIKE_BISHOPS, Counts, TableCounts
from tbgen.store.format import default_directory

PIECE_VALUES: Final[Mapping[str, float]] = {"Q": 9.5, "R": 5.0, "B": 3.25, "N": 3.25, "P": 1.0}
"""In pawns."""

ENOUGH: Final = 3.5
"""Without pawns a smaller lead in pieces, in pawns, does not mate: a minor piece is less."""

GENERAL_SHARE: Final = 0.75
"""A win is general if it is forced in at least this part of the open positions, whoever is to move.

There is room around it: up to four men without pawns, no share lies between 0.29 and 0.94."""


def mating_rule(material: Material, values: Mapping[str, float] = PIECE_VALUES) -> MatingRule:
    """Return what the rule of thumb says; it needs no tables.

    >>> mating_rule(Material.parse("KRvKB")).divisor, mating_rule(Material.parse("KBNvK")).divisor
    (8, 1)
    """
    sides = {True: material.white.replace("K", ""), False: material.black.replace("K", "")}
    worth = {white: sum(values[man] for man in men) for white, men in sides.items()}
    if worth[True] == worth[False]:
        return MatingRule(None, 0.0, 1, None, "nobody is ahead")
    leader = worth[True] > worth[False]
    divisor, reason = _divisor(sides[leader], sides[not leader], values)
    wins = divisor <= 2 if divisor > 1 or "P" not in sides[leader] else None
    return MatingRule(leader, worth[leader] - worth[not leader], divisor, wins, reason)


def _divisor(own: str, other: str, values: Mapping[str, float]) -> tuple[int, str]:
    pieces, defenders = own.replace("P", ""), other.replace("P", "")
    lead = sum(values[man] for man in pieces) - sum(values[man] for man in defenders)
    if "P" not in own:
        if pieces == "NN":
            return 8, "two knights do not mate"
        if pieces == "B":
            return 8, "a single bishop, bound to one colour, does not mate"
        if lead < ENOUGH:
            return 8, f"without pawns a lead in pieces under {ENOUGH} pawns does not mate"
        if defenders:
            return 2, "the leader has no pawns, and the defender has a piece"
        return 1, "enough against a bare king, or king and pawns"
    if own.count("P") == 1 and defenders:
        cheapest = min(values[man] for man in defenders)
        if lead + cheapest < ENOUGH:
            return 4, "the defender can give his least valuable piece for the last pawn"
    return 1, "pawns may promote"


def mating_potential(
    material: Material | str,
    tables: TableCounts | str | PathLike[str] | None = None,
    *,
    rules: Variant | str = "r",
    values: Mapping[str, float] = PIECE_VALUES,
) -> MatingPotential:
    """Return the rule of thumb and the truth about a material.

    White has the men that the canonical name gives White: ``KvKQ`` is read as ``KQvK``, and White mates.

    :param tables: the scan of its table, or the directory in which it lies; None for the default one.
    :param values: what pieces are worth, in pawns.

    :raises UsageError: if the name means nothing, or the scan is of another table.
    :raises MissingTableError: if the table has not been built.
    :raises DamagedTableError: if its file cannot be used.
    """
    if isinstance(material, str):
        material = Material.parse(material)
    variant = Variant.parse(rules)
    if isinstance(tables, TableCounts):
        scanned = tables
        if (scanned.material, scanned.info.variant) != (material, variant):
            raise UsageError(
                f"the scan is of {scanned.material} by the rules {scanned.info.variant}, "
                f"not of {material} by {variant}"
            )
    else:
        directory = default_directory() if tables is None else Path(tables)
        scanned = count_table(directory, material, variant)
    counts = scanned.on_board()
    unlike, like = counts[:, :LIKE_BISHOPS], counts[:, LIKE_BISHOPS:]
    pawns = ("P" in material.white, "P" in material.black)
    truth = (_truth(unlike, True, pawns[0]), _truth(unlike, False, pawns[1]))
    alike = (_truth(like, True, pawns[0]), _truth(like, False, pawns[1])) if like.any() else None
    rule = mating_rule(material, values)
    agrees = None
    if rule.leader is not None and rule.wins is not None:
        agrees = rule.wins == (truth[0 if rule.leader else 1].verdict is Verdict.GENERAL)
    sentence = _sentence(material, rule, truth, alike, agrees)
    return MatingPotential(material, variant, rule, truth, alike, agrees, sentence)


def _truth(counts: Counts, white: bool, pawns: bool) -> MatingTruth:
    """Return what the mates of one side are.

    :param counts: shape (2 sides, 2 for captures, codes, depths).
    :param pawns: whether that side has pawns.
    """
    attacker, mate = (0, GScore(0, True)) if white else (1, GScore(0, False))
    open_, forced, best = [], [], []
    for side in (attacker, 1 - attacker):
        numbers = without_over(counts[side, 0])
        numbers[GScore(0, side == 0).code, 1] = 0
        by_code = numbers.sum(axis=1)
        open_.append(int(by_code.sum()))
        forced.append(int(by_code[mate.code]))
        best.append(_generally_forced(by_code, white))
    mates = int(counts[1 - attacker, :, mate.code, 0].sum())
    if any(forced):
        general = all(won >= GENERAL_SHARE * number for won, number in zip(forced, open_, strict=True))
        verdict = Verdict.GENERAL if general else Verdict.SOMETIMES
    else:
        verdict = Verdict.NEVER if mates or pawns else Verdict.NO_HELP_MATE
    return MatingTruth(
        white, (open_[0], open_[1]), (forced[0], forced[1]), mates, verdict, (best[0], best[1])
    )


def _generally_forced(by_code: Counts, white: bool) -> GScore | None:
    """Return the best score for a side that ``GENERAL_SHARE`` of the positions are worth, or more, to it."""
    total = int(by_code.sum())
    if not total:
        return None
    reached = np.cumsum(by_code if white else by_code[::-1]) >= GENERAL_SHARE * total
    place = int(np.argmax(reached))
    return GScore.from_code(place if white else 255 - place)


def _sentence(
    material: Material,
    rule: MatingRule,
    truth: tuple[MatingTruth, MatingTruth],
    alike: tuple[MatingTruth, MatingTruth] | None,
    agrees: bool | None,
) -> str:
    if rule.leader is None:
        parts = [f"{material}: {rule.reason}."]
    else:
        kept = "keeps its score" if rule.divisor == 1 else f"divides the score by {rule.divisor}"
        name = "White" if rule.leader else "Black"
        ahead = f"{rule.advantage:g} {'pawn' if rule.advantage == 1 else 'pawns'} ahead"
        parts = [f"{material}: {name} is {ahead}, and the rule {kept}: {rule.reason}."]
    for side in truth:
        if rule.leader is None or side.white == rule.leader or side.verdict is not Verdict.NO_HELP_MATE:
            parts.append(_truth_sentence(side))
    if alike is not None:
        parts.append(f"With bishops of one colour: {_truth_sentence(alike[0])}")
    if agrees is not None:
        parts.append("Rule and truth agree." if agrees else "The rule is wrong here.")
    return " ".join(parts)


def _truth_sentence(truth: MatingTruth) -> str:
    name = "White" if truth.white else "Black"
    match truth.verdict:
        case Verdict.NO_HELP_MATE:
            text = f"{name} cannot mate even with help"
        case Verdict.NEVER:
            text = f"{name} never mates by force"
        case verdict:
            moving, waiting = truth.shares
            text = f"{name} mates by force in {percent(moving)} of the open positions to move and in "
            text += f"{percent(waiting)} not to move ({verdict})"
    best = truth.best[1]
    if best is not None and best.rank and best.white == truth.white:
        text += f"; with the opponent to move, {meaning(best)} can generally be forced"
    return f"{text}."
