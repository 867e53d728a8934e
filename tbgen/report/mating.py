"""Mating potential: a rule of thumb for engines, the facts from tables, and both as rows of a list.

The rule of thumb is that of Pair-o-Max, a version of H. G. Muller's Fairy-Max that recognizes drawn endings
[1, 2]. It divides the lead of the side that is ahead:

- by 8 if the leader has no pawns, and the lead does not suffice to mate;
- by 4 if the defender can reach such an ending by giving a man for the leader's last pawn;
- by 2 in other endings in which the leader has no pawns and the defender has a piece.

[1] http://winboard.nl/cgi-bin?p=fairymax.git;a=blob_plain;f=README;hb=pairomax
[2] H. G. Muller, comment of 2 January 2018, https://www.chessvariants.com/index/editcomment.php?reply=35833
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from msgspec.structs import replace

from tbgen.board.kinds import KINDS, PIECE_VALUES
from tbgen.board.material import Material, Men, described_kind, worth_of
from tbgen.board.named import named_value
from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.errors import UsageError, quote
from tbgen.report.endgames import typical_values_of, without_finished_positions
from tbgen.report.model import (
    SIDES,
    MatingChance,
    MatingEntry,
    MatingFacts,
    MatingPotential,
    MatingRule,
    Sides,
    Verdict,
    ratio,
)
from tbgen.report.scan import ANY, SAME_COLOUR_BISHOPS, CountArray, TableCounts, scan_table
from tbgen.report.source import open_source
from tbgen.report.wording import MAN_WORDS, NO_MATE_TEXT, pawn_lead_text, percent, score_text
from tbgen.store.format import Directories, directories_of
from tbgen.text import plies, share_text

MIN_MATING_LEAD: Final = 3.5
"""Minimum lead in pieces, measured in pawns, at which the rule expects mate. It exceeds the value of a minor
piece."""

_PAIR_BONUS: Final = 1 / 8
"""Additional value of a pair of like men bound to a colour, as a share of the value of one of them."""
_FEW_PIECES: Final = 2
"""By the rule, a leader without pawns can always mate if it has more pieces than this, or if the defender has
at least this many."""

GENERAL_SHARE: Final = 0.75
"""A win is general if it is forced in at least this share of the open positions, with either side to move.

The exact threshold does not matter: for materials of up to four men of chess without pawns, no share lies
between 0.29 and 0.94. :class:`tbgen.report.model.MatingChance` explains open positions."""

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
"""Titles of the columns of :func:`mating_rows`."""
ONE_COLOUR: Final = "one colour"
"""Text in place of the material, in rows about positions with all colour-bound men of a side on one
colour."""


@dataclass(frozen=True)
class MatingMarks:
    """Properties of men that the rule uses besides their values."""

    mating: frozenset[str] = frozenset()
    """Light men that mate alone: with such a man, any lead suffices if the defender has fewer pieces."""
    no_pair: frozenset[str] = frozenset()
    """Men that do not mate in a pair."""
    tough: frozenset[str] = frozenset()
    """Men that hold out, alone, against a single piece."""


MULLER: Final = MatingMarks(
    mating=frozenset({"[WD]", "[WF]"}),
    no_pair=frozenset({"N", "[N]", "[W]", "[F]"}),
    tough=frozenset({"[WF]"}),
)
"""Muller's marks, of woody rook [WD], commoner [WF], knight, wazir [W] and ferz [F]."""


def mating_rule(
    material: Material, values: Mapping[str, float] = PIECE_VALUES, marks: MatingMarks = MULLER
) -> MatingRule:
    """Return what the rule of thumb says about a material. No tables are needed.

    :param values: values of men in pawns, by name. The value of a described man that is absent comes
        from ``men.toml`` (:mod:`tbgen.board.named`), or else from :func:`tbgen.board.material.worth_of`.
    :param marks: the properties of men that the rule uses.

    >>> mating_rule(Material.parse("KRvKB")).divisor, mating_rule(Material.parse("K[WD]vK")).divisor
    (8, 1)
    """
    sides = Sides(*(_without(side, "K") for side in material.sides))
    white, black = (_total_value(side, values) for side in sides)
    if white == black:
        return MatingRule(None, 0.0, 1, None, "nobody is ahead")
    leader = int(white < black)
    divisor, reason = _divisor(sides[leader], sides[1 - leader], values, marks)
    leader_wins = divisor <= 2 if divisor > 1 or "P" not in sides[leader] else None
    return MatingRule(SIDES[leader], round(abs(white - black), 2), divisor, leader_wins, reason)


def _divisor(leader: Men, defender: Men, values: Mapping[str, float], marks: MatingMarks) -> tuple[int, str]:
    """Return the divisor of the leader's lead, and the reason for it."""
    pieces, defender_pieces = _without(leader, "P"), _without(defender, "P")
    if "P" not in leader:
        if reason := _why_no_mate(pieces, defender_pieces, values, marks):
            return 8, reason
        if defender_pieces:
            return 2, "the leader has no pawns, and the defender has a piece"
        return 1, "enough against a bare king, or king and pawns"
    if leader.count("P") == 1 and pieces and defender_pieces and len(defender_pieces) <= _FEW_PIECES:
        cheapest = min(range(len(defender_pieces)), key=lambda man: value_of(defender_pieces[man], values))
        if _why_no_mate(pieces, defender_pieces[:cheapest] + defender_pieces[cheapest + 1 :], values, marks):
            return 4, "the defender can give his least valuable piece for the last pawn"
    return 1, "pawns may promote"


def _why_no_mate(pieces: Men, defenders: Men, values: Mapping[str, float], marks: MatingMarks) -> str | None:
    """Return why ``pieces`` cannot mate without pawns; None if, according to the rule, they can.

    :param defenders: the pieces of the other side.
    """
    if len(pieces) > _FEW_PIECES or len(defenders) >= _FEW_PIECES:
        return None
    if len(pieces) == 1:
        if is_colour_bound(pieces[0]):
            return f"a single {_name_of(pieces[0])}, bound to one colour, does not mate"
        if marks.tough.intersection(defenders):
            return f"a {_name_of(defenders[0])} holds out against a single piece"
    elif pieces[0] == pieces[1] in marks.no_pair:
        return f"two {_name_of(pieces[0])}{'' if len(pieces[0]) > 1 else 's'} do not mate"
    can_mate = len(pieces) > len(defenders) and marks.mating.intersection(pieces)
    if _total_value(pieces, values) - _total_value(defenders, values) < MIN_MATING_LEAD and not can_mate:
        return f"without pawns a lead in pieces under {MIN_MATING_LEAD} pawns does not mate"
    return None


def _total_value(men: Men, values: Mapping[str, float]) -> float:
    """Return the total value of men in pawns."""
    pairs = (value_of(man, values) for man, n in Counter(men).items() if n > 1 and is_colour_bound(man))
    return sum(value_of(man, values) for man in men) + _PAIR_BONUS * sum(pairs)


def value_of(man: str, values: Mapping[str, float]) -> float:
    """Return the value of a man in pawns: from ``values``, else from ``men.toml``, else an estimate."""
    if man in values:
        return values[man]
    listed_value = named_value(man) if len(man) > 1 else None
    return worth_of(man) if listed_value is None else listed_value


def is_colour_bound(man: str) -> bool:
    """Return whether a man is bound to the colour of its square.

    >>> [man for man in ("B", "N", "[BD]", "[WD]") if is_colour_bound(man)]
    ['B', '[BD]']
    """
    if len(man) > 1:
        return described_kind(man[1:-1]).is_colour_bound
    return any(kind.name == man and kind.is_colour_bound for kind in KINDS)


def _without(men: Men, man: str) -> Men:
    return tuple(other for other in men if other != man)


def _name_of(man: str) -> str:
    """Return the English name of a man of chess, or the name of a described man unchanged."""
    return man if len(man) > 1 else MAN_WORDS[man]


def mating_potential(
    material: Material | str,
    directory: Directories = None,
    *,
    rules: Variant | str = "r",
    values: Mapping[str, float] = PIECE_VALUES,
    marks: MatingMarks | Literal["tables"] = MULLER,
) -> MatingPotential:
    """Return the mating potential of a material: the rule of thumb, and the facts.

    The sides are those of the canonical name: ``KvKQ`` is read as ``KQvK``, in which White mates.

    :param directory: the directory of the tables, or several directories: each table is read from the first
        that has it. None stands for the default directory.
    :param values: values of men in pawns, by name; see :func:`mating_rule`.
    :param marks: the properties of men that the rule uses; ``tables`` to use :func:`marks_of_tables`.

    :raises UsageError: if the name or the marks are invalid.
    :raises MissingTableError: if a table does not exist.
    :raises DamagedTableError: if a table cannot be used.
    """
    if isinstance(material, str):
        material = Material.parse(material)
    if marks == "tables":
        marks = marks_of_tables(material, directory, rules=rules, values=values)
    if not isinstance(marks, MatingMarks):
        raise UsageError(f"{quote(str(marks))} is not a set of marks: expected MatingMarks, or 'tables'")
    return mating_facts(count_table(material, directory, rules), values, marks)


def marks_of_tables(
    material: Material,
    directory: Directories = None,
    *,
    rules: Variant | str = "r",
    values: Mapping[str, float] = PIECE_VALUES,
) -> MatingMarks:
    """Determine, from tables, the marks of those men of a material whose value is below ``MIN_MATING_LEAD``.

    - A man is marked as ``mating`` if it generally wins alone.
    - If a side has two men of a kind, this kind is marked as ``no_pair`` if the two do not generally win.
      For two men bound to a colour, only positions with the men on different colours count.
    - A man is marked as ``tough`` if it is its side's only piece, the other side has a piece, and a queen
      does not generally win against it.

    The parameters and errors are those of :func:`mating_potential`.
    """

    def generally_wins(name: str) -> bool:
        truth, _ = mating_truths(count_table(Material.parse(name), directory, rules))
        return truth.white.verdict is Verdict.GENERAL

    mating = set[str]()
    no_pair = set[str]()
    tough = set[str]()
    white_men, black_men = ([man for man in side if man not in "KP"] for side in material.sides)
    for men, others in ((white_men, black_men), (black_men, white_men)):
        for man in {man for man in men if value_of(man, values) < MIN_MATING_LEAD}:
            if not is_colour_bound(man) and generally_wins(f"K{man}vK"):
                mating.add(man)
            if men.count(man) > 1 and not generally_wins(f"K{man}{man}vK"):
                no_pair.add(man)
            if len(men) == 1 and others and not generally_wins(f"KQvK{man}"):
                tough.add(man)
    return MatingMarks(frozenset(mating), frozenset(no_pair), frozenset(tough))


def count_table(material: Material, directory: Directories, rules: Variant | str) -> TableCounts:
    """Return the counts of a material's table; for parameters and errors see :func:`mating_potential`."""
    with open_source(directories_of(directory), material, Variant(rules)) as source:
        return scan_table(source)


def mating_truths(scan: TableCounts) -> tuple[Sides[MatingFacts], Sides[MatingFacts] | None]:
    """Return the facts about the mates of both sides, in two parts.

    The second part is about the positions in which a side has two or more colour-bound men, all on one
    colour; it is None if there are no such positions. The first part is about all other positions.
    """
    by_class = scan.counts_with_images()
    has_pawns = ["P" in side for side in scan.material.sides]
    unlike, like = (
        Sides(*(_truth(counts, attacker, has_pawns[attacker]) for attacker in (0, 1)))
        for counts in (by_class[:, :SAME_COLOUR_BISHOPS], by_class[:, SAME_COLOUR_BISHOPS:])
    )
    return unlike, like if by_class[:, SAME_COLOUR_BISHOPS:].any() else None


def mating_facts(
    scan: TableCounts, values: Mapping[str, float] = PIECE_VALUES, marks: MatingMarks = MULLER
) -> MatingPotential:
    """Return the rule of thumb and the facts about the material of a table."""
    return potential_with_rule(scan.material, *mating_truths(scan), mating_rule(scan.material, values, marks))


def potential_with_rule(
    material: Material,
    truth: Sides[MatingFacts],
    one_colour: Sides[MatingFacts] | None,
    rule: MatingRule | None = None,
) -> MatingPotential:
    """Return the mating potential of a material: the facts, compared with the rule of thumb.

    :param one_colour: facts about the positions in which a side has two or more colour-bound men, all on one
        colour; None if there are no such positions. ``truth`` has the facts about all other positions.
    :param rule: what the rule says; None to apply :func:`mating_rule`.
    """
    rule = rule or mating_rule(material)
    agrees = None
    if rule.leader is not None and rule.wins is not None:
        agrees = rule.wins == (truth[rule.leader].verdict is Verdict.GENERAL)
    potential = MatingPotential(rule, truth, one_colour, agrees, "")
    return replace(potential, sentence=_sentence(material, potential))


def mating_entry(
    scan: TableCounts, values: Mapping[str, float] = PIECE_VALUES, marks: MatingMarks = MULLER
) -> MatingEntry:
    """Return the entry of a table in a report on mating potential."""
    mates = Sides(*(_longest_mate(scan, GScore(0, white).code) for white in (True, False)))
    modes = Sides(*(typical_values_of(scan, side).mode for side in (0, 1)))
    return MatingEntry(scan.material, scan.info.variant, mating_facts(scan, values, marks), mates, modes)


def _longest_mate(scan: TableCounts, code: int) -> int | None:
    depths = [scan.deepest[ANY, side, code][0] for side in (0, 1) if (ANY, side, code) in scan.deepest]
    return max(depths, default=None)


def _truth(counts: CountArray, attacker: int, has_pawns: bool) -> MatingFacts:
    """Return the facts about the attacker's mates.

    :param counts: numbers of positions, shape (2 sides, 2: without and with captures, codes, depths).
    :param has_pawns: whether the attacker has pawns.
    """
    mate = GScore(0, attacker == 0).code
    chances = [_chance(counts[side, 0], side, attacker) for side in (attacker, 1 - attacker)]
    mates = int(counts[1 - attacker, :, mate, 0].sum())
    if any(chance.forced for chance in chances):
        general = all(chance.forced >= GENERAL_SHARE * chance.open for chance in chances)
        verdict = Verdict.GENERAL if general else Verdict.SOMETIMES
    else:
        verdict = Verdict.NEVER if mates or has_pawns else Verdict.NO_HELP_MATE
    return MatingFacts(verdict, mates, *chances)


def _chance(counts: CountArray, side: int, attacker: int) -> MatingChance:
    """Return the scores that the attacker can force with the given side to move.

    :param counts: numbers of positions without captures, shape (codes, depths).
    """
    unfinished = without_finished_positions(counts)
    unfinished[GScore(0, side == 0).code, 1] = 0
    codes = np.arange(256)[:: 1 if attacker == 0 else -1]  # best for the attacker first
    by_code = unfinished.sum(axis=1)[codes]
    total = int(by_code.sum())
    forced = int(by_code[0])
    best_index = np.argmax(np.cumsum(by_code) >= GENERAL_SHARE * total)
    best = GScore.from_code(codes[best_index]) if total else None
    return MatingChance(total, forced, ratio(forced, total), best)


def _sentence(material: Material, potential: MatingPotential) -> str:
    rule = potential.rule
    one_colour = potential.like_bishops
    if rule.leader is None:
        sentences = [f"{material}: {rule.reason}."]
    else:
        effect = "keeps its score" if rule.divisor == 1 else f"divides the score by {rule.divisor}"
        ahead = f"{rule.leader.capitalize()} is {pawn_lead_text(rule.advantage)} ahead"
        sentences = [f"{material}: {ahead}, and the rule {effect}: {rule.reason}."]
    for name, side in potential.truth.items():
        if rule.leader in (None, name) or side.verdict is not Verdict.NO_HELP_MATE:
            sentences.append(_truth_sentence(name, side))
    if one_colour is not None:
        bishops = "men bound to" if material.is_described else "bishops of"
        sentences.append(f"With {bishops} one colour: {_truth_sentence('white', one_colour.white)}")
    if potential.agrees is not None:
        sentences.append("Rule and truth agree." if potential.agrees else "The rule is wrong here.")
    return " ".join(sentences)


def _truth_sentence(name: str, truth: MatingFacts) -> str:
    text = f"{name.capitalize()} {NO_MATE_TEXT.get(truth.verdict, 'mates by force')}"
    if truth.verdict not in NO_MATE_TEXT:
        moving, waiting = percent(truth.to_move.share), percent(truth.waiting.share)
        text += f" in {moving} of the open positions to move and in {waiting} not to move ({truth.verdict})"
    best = truth.waiting.best
    if best is not None and best.rank and best.holder == name:
        text += f"; with the opponent to move, {score_text(best)} can generally be forced"
    return f"{text}."


def mating_rows(entry: MatingEntry) -> Iterator[tuple[str, ...]]:
    """Yield a row about the leader, or about White if no side leads.

    A second row follows if positions with all colour-bound men of a side on one colour are counted
    separately.
    """
    potential = entry.potential
    rule = potential.rule
    attacker = rule.leader or "white"
    truth = potential.truth[attacker]
    agrees = "wrong" if potential.agrees is False else ""
    prediction = "-" if rule.wins is None else "wins" if rule.wins else f"no: / {rule.divisor}"
    cells = *_shares(truth), *_longest_and_typical(entry, attacker), prediction, str(truth.verdict), agrees
    yield entry.material.name, attacker.capitalize(), *cells
    if potential.like_bishops is not None:
        one_colour = potential.like_bishops[attacker]
        yield ONE_COLOUR, attacker.capitalize(), *_shares(one_colour), "", "", "", str(one_colour.verdict), ""


def _shares(truth: MatingFacts) -> Iterator[str]:
    for chance in (truth.to_move, truth.waiting):
        yield share_text(chance.share, 2).replace("\N{NO-BREAK SPACE}", " ")


def _longest_and_typical(entry: MatingEntry, attacker: str) -> tuple[str, str]:
    """Return two strings: the plies of the longest forced mate, and the typical value with the defender to
    move.

    The first string is a dash if there are no forced mates. The second one is a dash if the win is general,
    or if there is no typical value.
    """
    verdict = entry.potential.truth[attacker].verdict
    longest = entry.longest[attacker]
    typical = entry.typical[1 if attacker == "white" else 0]
    forced = longest and verdict in (Verdict.SOMETIMES, Verdict.GENERAL)
    usual = typical and verdict is not Verdict.GENERAL
    return plies(longest) if forced and longest else "-", str(typical) if usual else "-"
