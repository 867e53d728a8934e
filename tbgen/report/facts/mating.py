"""Mating potential: a rule of thumb for engines, and the truth of the tables.

The rule is that of Pair-o-Max, H. G. Muller's version of Fairy-Max.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Final

import numpy as np
from msgspec.structs import replace

from tbgen.board.kinds import PIECE_VALUES
from tbgen.board.material import Material
from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.errors import default_directory
from tbgen.report.facts.endgames import without_over
from tbgen.report.facts.wording import NO_MATE, counted_pawns, meaning, percent
from tbgen.report.model import MatingChance, MatingPotential, MatingRule, MatingTruth, Verdict, ratio
from tbgen.report.parts import SIDES, Sides
from tbgen.report.scan.counting import count_source
from tbgen.report.scan.source import open_source
from tbgen.report.scan.table_counts import LIKE_BISHOPS, Counts, TableCounts

ENOUGH: Final = 3.5
"""Without pawns a smaller lead in pieces, in pawns, does not mate: a minor piece is less."""

GENERAL_SHARE: Final = 0.75
"""A win is general if it is forced in at least this part of the open positions with either side to move.

There is room around it: up to four men without pawns, no share lies between 0.29 and 0.94."""


def mating_rule(material: Material, values: Mapping[str, float] = PIECE_VALUES) -> MatingRule:
    """Return what the rule of thumb says; it needs no tables.

    >>> mating_rule(Material.parse("KRvKB")).divisor, mating_rule(Material.parse("KBNvK")).divisor
    (8, 1)
    """
    men = Sides(material.white.replace("K", ""), material.black.replace("K", ""))
    white, black = (sum(values[man] for man in side) for side in men)
    if white == black:
        return MatingRule(None, 0.0, 1, None, "nobody is ahead")
    leader = int(white < black)
    divisor, reason = _divisor(men[leader], men[1 - leader], values)
    wins = divisor <= 2 if divisor > 1 or "P" not in men[leader] else None
    return MatingRule(SIDES[leader], abs(white - black), divisor, wins, reason)


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
    directory: str | PathLike[str] | None = None,
    *,
    rules: Variant | str = "r",
    values: Mapping[str, float] = PIECE_VALUES,
) -> MatingPotential:
    """Return the rule of thumb and the truth about a material.

    White has the men that the canonical name gives White: ``KvKQ`` is read as ``KQvK``, and White mates.

    :param directory: where the tables lie; None for the default one.
    :param values: what pieces are worth, in pawns.

    :raises UsageError: if the name means nothing.
    :raises MissingTableError: if the table has not been built.
    :raises DamagedTableError: if its file cannot be used.
    """
    place = default_directory() if directory is None else Path(directory)
    if isinstance(material, str):
        material = Material.parse(material)
    with open_source(place, material, Variant.parse(rules)) as source:
        return mating_facts(count_source(source), values)


def mating_facts(scanned: TableCounts, values: Mapping[str, float] = PIECE_VALUES) -> MatingPotential:
    """Return the rule of thumb and the truth about the material of a table."""
    counts, rule = scanned.on_board(), mating_rule(scanned.material, values)
    unlike, like = counts[:, :LIKE_BISHOPS], counts[:, LIKE_BISHOPS:]
    truth = _truths(scanned.material, unlike)
    alike = _truths(scanned.material, like) if like.any() else None
    agrees = None
    if rule.leader is not None and rule.wins is not None:
        agrees = rule.wins == (truth[rule.leader].verdict is Verdict.GENERAL)
    found = MatingPotential(rule, truth, alike, agrees, "")
    return replace(found, sentence=_sentence(scanned.material, found))


def _truths(material: Material, counts: Counts) -> Sides[MatingTruth]:
    """Return what the mates of both sides are.

    :param counts: shape (2 sides, 2 for captures, codes, depths).
    """
    return Sides(_truth(counts, 0, "P" in material.white), _truth(counts, 1, "P" in material.black))


def _truth(counts: Counts, attacker: int, pawns: bool) -> MatingTruth:
    mate = GScore(0, attacker == 0).code
    chances = [_chance(counts[side, 0], side, attacker) for side in (attacker, 1 - attacker)]
    mates = int(counts[1 - attacker, :, mate, 0].sum())
    if any(chance.forced for chance in chances):
        general = all(chance.forced >= GENERAL_SHARE * chance.open for chance in chances)
        verdict = Verdict.GENERAL if general else Verdict.SOMETIMES
    else:
        verdict = Verdict.NEVER if mates or pawns else Verdict.NO_HELP_MATE
    return MatingTruth(verdict, mates, *chances)


def _chance(counts: Counts, side: int, attacker: int) -> MatingChance:
    """Return what an attacker can force with one side to move.

    :param counts: shape (codes, depths), of positions without captures.
    """
    numbers = without_over(counts)
    numbers[GScore(0, side == 0).code, 1] = 0
    codes = np.arange(256)[:: 1 if attacker == 0 else -1]  # the best for the attacker first
    by_code = numbers.sum(axis=1)[codes]
    total, forced = int(by_code.sum()), int(by_code[0])
    least = np.argmax(np.cumsum(by_code) >= GENERAL_SHARE * total)
    best = GScore.from_code(codes[least]) if total else None
    return MatingChance(total, forced, ratio(forced, total), best)


def _sentence(material: Material, found: MatingPotential) -> str:
    rule, alike = found.rule, found.like_bishops
    if rule.leader is None:
        parts = [f"{material}: {rule.reason}."]
    else:
        kept = "keeps its score" if rule.divisor == 1 else f"divides the score by {rule.divisor}"
        ahead = f"{rule.leader.capitalize()} is {counted_pawns(rule.advantage)} ahead"
        parts = [f"{material}: {ahead}, and the rule {kept}: {rule.reason}."]
    for name, side in found.truth.items():
        if rule.leader in (None, name) or side.verdict is not Verdict.NO_HELP_MATE:
            parts.append(_truth_sentence(name, side))
    if alike is not None:
        parts.append(f"With bishops of one colour: {_truth_sentence('white', alike.white)}")
    if found.agrees is not None:
        parts.append("Rule and truth agree." if found.agrees else "The rule is wrong here.")
    return " ".join(parts)


def _truth_sentence(name: str, truth: MatingTruth) -> str:
    text = f"{name.capitalize()} {NO_MATE.get(truth.verdict, 'mates by force')}"
    if truth.verdict not in NO_MATE:
        moving, waiting = percent(truth.to_move.share), percent(truth.waiting.share)
        text += f" in {moving} of the open positions to move and in {waiting} not to move ({truth.verdict})"
    best = truth.waiting.best
    if best is not None and best.rank and best.holder == name:
        text += f"; with the opponent to move, {meaning(best)} can generally be forced"
    return f"{text}."
