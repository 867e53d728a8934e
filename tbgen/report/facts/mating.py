"""Mating potential: a rule of thumb for engines, and the truth of the tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

import numpy as np
from msgspec.structs import replace

from tbgen.board.kinds import PIECE_VALUES
from tbgen.board.material import Material
from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.errors import UsageError, quote
from tbgen.report.facts.endgames import typical_of, without_over
from tbgen.report.facts.mating_rule import ENOUGH, MULLER, MatingMarks, is_bound, mating_rule, value_of
from tbgen.report.facts.wording import NO_MATE, counted_pawns, meaning, percent
from tbgen.report.model import (
    MatingChance,
    MatingEntry,
    MatingPotential,
    MatingRule,
    MatingTruth,
    Verdict,
    ratio,
)
from tbgen.report.parts import Sides
from tbgen.report.scan.counting import count_source
from tbgen.report.scan.source import open_source
from tbgen.report.scan.table_counts import ANY, LIKE_BISHOPS, Counts, TableCounts
from tbgen.store.format import Directories, directories_of

GENERAL_SHARE: Final = 0.75
"""A win is general if it is forced in at least this part of the open positions with either side to move.

There is room around it: up to four men of chess without pawns, no share lies between 0.29 and 0.94."""


def mating_potential(
    material: Material | str,
    directory: Directories = None,
    *,
    rules: Variant | str = "r",
    values: Mapping[str, float] = PIECE_VALUES,
    marks: MatingMarks | Literal["tables"] = MULLER,
) -> MatingPotential:
    """Return the rule of thumb and the truth about a material.

    White has the men that the canonical name gives White: ``KvKQ`` is read as ``KQvK``, and White mates.

    :param directory: where the tables lie, or several directories, of which the first
        that has a table counts; None for the default one.
    :param values: what men are worth, in pawns, by name, as :func:`mating_rule` takes it.
    :param marks: what the rule is told about men; ``tables`` for :func:`marks_of_tables`.

    :raises UsageError: if the name or the marks mean nothing.
    :raises MissingTableError: if a table has not been built.
    :raises DamagedTableError: if its file cannot be used.
    """
    if isinstance(material, str):
        material = Material.parse(material)
    if marks == "tables":
        marks = marks_of_tables(material, directory, rules=rules, values=values)
    if not isinstance(marks, MatingMarks):
        raise UsageError(f"there are no marks {quote(str(marks))}: give MatingMarks, or 'tables'")
    return mating_facts(count_directory(material, directory, rules), values, marks)


def marks_of_tables(
    material: Material,
    directory: Directories = None,
    *,
    rules: Variant | str = "r",
    values: Mapping[str, float] = PIECE_VALUES,
) -> MatingMarks:
    """Return what tables tell of the men of a material that are worth less than ``ENOUGH``.

    A man is marked as mating if it generally wins alone; as one of which two do not mate, where a side has
    two, if these do not generally win, on squares of both colours if they are bound; and as tough, where it
    is alone against other men, if a queen does not generally win against it. The parameters and errors are
    those of :func:`mating_potential`.
    """

    def wins(name: str) -> bool:
        truth, _ = truths(count_directory(Material.parse(name), directory, rules))
        return truth.white.verdict is Verdict.GENERAL

    mating, no_pair, tough = set[str](), set[str](), set[str]()
    own, other = ([man for man in side if man not in "KP"] for side in material.sides)
    for men, others in ((own, other), (other, own)):
        for man in {man for man in men if value_of(man, values) < ENOUGH}:
            if not is_bound(man) and wins(f"K{man}vK"):
                mating.add(man)
            if men.count(man) > 1 and not wins(f"K{man}{man}vK"):
                no_pair.add(man)
            if len(men) == 1 and others and not wins(f"KQvK{man}"):
                tough.add(man)
    return MatingMarks(frozenset(mating), frozenset(no_pair), frozenset(tough))


def count_directory(material: Material, directory: Directories, rules: Variant | str) -> TableCounts:
    """Return the counts of the table of a material; parameters and errors are those of
    :func:`mating_potential`."""
    with open_source(directories_of(directory), material, Variant.parse(rules)) as source:
        return count_source(source)


def truths(scanned: TableCounts) -> tuple[Sides[MatingTruth], Sides[MatingTruth] | None]:
    """Return what the mates of both sides are, and the same where a side has its men that are bound to a
    colour on one colour, None if no side has two."""
    counts = scanned.on_board()
    unlike, like = counts[:, :LIKE_BISHOPS], counts[:, LIKE_BISHOPS:]
    return _truths(scanned.material, unlike), _truths(scanned.material, like) if like.any() else None


def mating_facts(
    scanned: TableCounts, values: Mapping[str, float] = PIECE_VALUES, marks: MatingMarks = MULLER
) -> MatingPotential:
    """Return the rule of thumb and the truth about the material of a table."""
    return judged(scanned.material, *truths(scanned), mating_rule(scanned.material, values, marks))


def judged(
    material: Material,
    truth: Sides[MatingTruth],
    like_bishops: Sides[MatingTruth] | None,
    rule: MatingRule | None = None,
) -> MatingPotential:
    """Return the truth compared with a rule, by default with that of :func:`mating_rule`."""
    rule, agrees = rule or mating_rule(material), None
    if rule.leader is not None and rule.wins is not None:
        agrees = rule.wins == (truth[rule.leader].verdict is Verdict.GENERAL)
    found = MatingPotential(rule, truth, like_bishops, agrees, "")
    return replace(found, sentence=_sentence(material, found))


def mating_entry(
    scanned: TableCounts, values: Mapping[str, float] = PIECE_VALUES, marks: MatingMarks = MULLER
) -> MatingEntry:
    """Return what a report on mating potential says of a table."""
    mates = Sides(*(_longest_mate(scanned, GScore(0, white).code) for white in (True, False)))
    modes = Sides(*(typical_of(scanned, side).mode for side in (0, 1)))
    facts = mating_facts(scanned, values, marks)
    return MatingEntry(scanned.material, scanned.info.variant, facts, mates, modes)


def _longest_mate(scanned: TableCounts, mate: int) -> int | None:
    depths = [scanned.longest[ANY, side, mate][0] for side in (0, 1) if (ANY, side, mate) in scanned.longest]
    return max(depths, default=None)


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
        bishops = "men bound to" if material.is_described else "bishops of"
        parts.append(f"With {bishops} one colour: {_truth_sentence('white', alike.white)}")
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
