"""The rule of thumb about mating potential, for any men.

It is that of Pair-o-Max, the version of H. G. Muller's Fairy-Max that knows drawn endings [1, 2]: without
pawns a lead is halved, and divided by 8 where it does not mate; it is divided by 4 where the defender can get
there by giving a man for the last pawn.

[1] http://winboard.nl/cgi-bin?p=fairymax.git;a=blob_plain;f=README;hb=pairomax
[2] H. G. Muller, comment of 2 January 2018, https://www.chessvariants.com/index/editcomment.php?reply=35833
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import chess

from tbgen.board.betza import described, worth_of
from tbgen.board.kinds import KINDS, PIECE_VALUES
from tbgen.board.material import Material, Men
from tbgen.board.named import named_value
from tbgen.report.model import MatingRule
from tbgen.report.parts import SIDES, Sides

ENOUGH: Final = 3.5
"""A smaller lead in pieces, in pawns, does not mate: a minor piece is less."""

_PAIR: Final = 1 / 8
"""What two men of a kind that is bound to a colour are worth more, as a part of the worth of one of them."""
_FEW: Final = 2
"""Of more pieces the rule says no harm."""


@dataclass(frozen=True)
class MatingMarks:
    """What the rule is told about men beside their worth.

    :ivar mating: men that mate alone although they are light.
    :ivar no_pair: men of which two do not mate.
    :ivar tough: men that hold out, alone, against any single man.
    """

    mating: frozenset[str] = frozenset()
    no_pair: frozenset[str] = frozenset()
    tough: frozenset[str] = frozenset()


MULLER: Final = MatingMarks(
    mating=frozenset({"[WD]", "[WF]"}),
    no_pair=frozenset({"N", "[N]", "[W]", "[F]"}),
    tough=frozenset({"[WF]"}),
)
"""What Muller says of men: the woody rook and the commoner mate; pairs of knights, wazirs and ferzes do not;
the commoner draws against a queen."""


def mating_rule(
    material: Material, values: Mapping[str, float] = PIECE_VALUES, marks: MatingMarks = MULLER
) -> MatingRule:
    """Return what the rule of thumb says; it needs no tables.

    :param values: what men are worth, in pawns, by name; of described men that it lacks ``men.toml`` tells
        (:mod:`tbgen.board.named`), else :func:`tbgen.board.betza.worth_of`.
    :param marks: what the rule is told about men.

    >>> mating_rule(Material.parse("KRvKB")).divisor, mating_rule(Material.parse("K[WD]vK")).divisor
    (8, 1)
    """
    rule = _Rule(values, marks)
    sides = Sides(*(_without(side, "K") for side in material.sides))
    white, black = map(rule.worth, sides)
    if white == black:
        return MatingRule(None, 0.0, 1, None, "nobody is ahead")
    leader = int(white < black)
    divisor, reason = rule.divisor(sides[leader], sides[1 - leader])
    wins = divisor <= 2 if divisor > 1 or "P" not in sides[leader] else None
    return MatingRule(SIDES[leader], round(abs(white - black), 2), divisor, wins, reason)


class _Rule:
    """The rule for some values and marks."""

    def __init__(self, values: Mapping[str, float], marks: MatingMarks) -> None:
        self._values, self._marks = values, marks

    def worth(self, men: Men) -> float:
        """Return what men are worth together."""
        pairs = (man for man, number in Counter(men).items() if number > 1 and is_bound(man))
        return sum(map(self._value, men)) + _PAIR * sum(map(self._value, pairs))

    def _value(self, man: str) -> float:
        return value_of(man, self._values)

    def divisor(self, own: Men, other: Men) -> tuple[int, str]:
        """Return by what the lead of a side is divided, and why."""
        pieces, defenders = _without(own, "P"), _without(other, "P")
        if "P" not in own:
            if reason := self._why_no_mate(pieces, defenders):
                return 8, reason
            if defenders:
                return 2, "the leader has no pawns, and the defender has a piece"
            return 1, "enough against a bare king, or king and pawns"
        if own.count("P") == 1 and pieces and defenders and len(defenders) <= _FEW:
            given = min(defenders, key=self._value)
            at = defenders.index(given)
            if self._why_no_mate(pieces, defenders[:at] + defenders[at + 1 :]):
                return 4, "the defender can give his least valuable piece for the last pawn"
        return 1, "pawns may promote"

    def _why_no_mate(self, pieces: Men, defenders: Men) -> str | None:
        """Return why pieces do not mate without pawns, None if they may."""
        marks = self._marks
        if len(pieces) > _FEW or len(defenders) >= _FEW:
            return None
        if len(pieces) == 1:
            if is_bound(pieces[0]):
                return f"a single {_called(pieces[0])}, bound to one colour, does not mate"
            if marks.tough.intersection(defenders):
                return f"a {_called(defenders[0])} holds out against a single piece"
        elif pieces[0] == pieces[1] in marks.no_pair:
            return f"two {_called(pieces[0])}{'' if len(pieces[0]) > 1 else 's'} do not mate"
        can_mate = len(pieces) > len(defenders) and marks.mating.intersection(pieces)
        if self.worth(pieces) - self.worth(defenders) < ENOUGH and not can_mate:
            return f"without pawns a lead in pieces under {ENOUGH} pawns does not mate"
        return None


def value_of(man: str, values: Mapping[str, float]) -> float:
    """Return what a man is worth, in pawns: what a mapping says, else ``men.toml``, else a guess."""
    if man in values:
        return values[man]
    named = named_value(man) if len(man) > 1 else None
    return worth_of(man) if named is None else named


def is_bound(man: str) -> bool:
    """Tell whether a man stays on the colour of its square.

    >>> [man for man in ("B", "N", "[BD]", "[WD]") if is_bound(man)]
    ['B', '[BD]']
    """
    if len(man) > 1:
        return described(man[1:-1]).is_colour_bound
    return any(kind.name == man and kind.is_colour_bound for kind in KINDS)


def _without(men: Men, man: str) -> Men:
    return tuple(other for other in men if other != man)


def _called(man: str) -> str:
    """Return the word for a man of chess, the name of another one."""
    return man if len(man) > 1 else chess.piece_name(chess.PIECE_SYMBOLS.index(man.lower()))
