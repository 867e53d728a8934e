"""The kinds of men and how each moves, as data, and as the letters of Betza's notation.

Everything that makes moves takes them from here. Pawns stand apart, since they capture otherwise than they
move. The proof has a description of its own.

Ralph Betza, *Funny Notation* (1996): a letter stands for a leap in all directions, a doubled one for a ride,
and several letters for a man that may move as any of them.
"""

import re
from dataclasses import dataclass
from functools import cache
from typing import Final, TypeAlias

from tbgen.errors import UsageError

Step: TypeAlias = tuple[int, int]
"""Files and ranks that a man goes at once, towards h and 8."""

_ROOK: Final = ((0, 1), (0, -1), (1, 0), (-1, 0))
_BISHOP: Final = ((1, 1), (-1, -1), (1, -1), (-1, 1))
_KNIGHT: Final = ((1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2))
_LONGEST: Final = 7
"""Steps of the longest way on a board."""


@dataclass(frozen=True, eq=False)
class Kind:
    """How men of one kind move and capture: whatever way the board is turned or mirrored, and forwards as
    backwards.

    :ivar name: as in names of materials, and of White's men in FENs: a letter, or a description in brackets.
    :ivar leaps: one of these steps is a move, whatever stands in between.
    :ivar rides: one of these steps, again and again, is a move, up to the first man on the way.
    """

    name: str
    leaps: tuple[Step, ...] = ()
    rides: tuple[Step, ...] = ()

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps of leaps, then those of rides."""
        return self.leaps + self.rides

    @property
    def lengths(self) -> tuple[int, ...]:
        """How often each of :attr:`steps` may be taken in one move."""
        return (1,) * len(self.leaps) + tuple(_LONGEST // max(map(abs, step)) for step in self.rides)

    @property
    def is_colour_bound(self) -> bool:
        """Whether men stay on the colour of their square, as bishops do."""
        return all((files + ranks) % 2 == 0 for files, ranks in self.steps)


KINDS: Final = (
    Kind("K", leaps=_ROOK + _BISHOP),
    Kind("Q", rides=_ROOK + _BISHOP),
    Kind("R", rides=_ROOK),
    Kind("B", rides=_BISHOP),
    Kind("N", leaps=_KNIGHT),
)
"""From the strongest to the weakest, the king first; a kind's place here is its number. Kinds that a material
describes follow (:attr:`tbgen.board.material.Material.kinds`)."""

PIECE_ORDER: Final = "".join(kind.name for kind in KINDS)
"""The letters of the kinds."""
PIECE_VALUES: Final = {"Q": 9.5, "R": 5.0, "B": 3.25, "N": 3.25, "P": 1.0}
"""What men are worth, in pawns, by letter; kings are not weighed."""
KING: Final = 0
"""Number of the kind that must not be lost."""
PROMOTIONS: Final = range(1, len(KINDS))
"""Numbers of the kinds that pawns promote to."""
NO_PROMOTION: Final = 0
"""In the place of such a number."""


@cache
def ways(kind: Kind, square: int) -> tuple[tuple[int, ...], ...]:
    """Return the squares that a man reaches on an empty board, nearest first, by each of its steps.

    :param square: a1 = 0 to h8 = 63.

    >>> ways(KINDS[PIECE_ORDER.index("B")], 9)
    ((18, 27, 36, 45, 54, 63), (0,), (2,), (16,))
    """
    found = []
    for (files, ranks), length in zip(kind.steps, kind.lengths, strict=True):
        way: list[int] = []
        file, rank = square % 8 + files, square // 8 + ranks
        while len(way) < length and file in range(8) and rank in range(8):
            way.append(8 * rank + file)
            file, rank = file + files, rank + ranks
        found.append(tuple(way))
    return tuple(found)


@cache
def reach(kind: Kind) -> tuple[int, ...]:
    """Return the set of squares that a man reaches on an empty board, by the square where it stands."""
    return tuple(sum(1 << target for target in set[int]().union(*ways(kind, square))) for square in range(64))


@cache
def between(kind: Kind, start: int, stop: int) -> int:
    """Return the set of squares that a man passes on its way from one square to another, of several ways on
    that with the fewest; the empty one where it leaps, or does not get there."""
    passed = (way[: way.index(stop)] for way in ways(kind, start) if stop in way)
    return sum(1 << square for square in min(passed, key=len, default=()))


def attacks(kind: Kind, square: int, occupied: int) -> int:
    """Return the set of squares that a man attacks, given the set of all squares where men stand."""
    found = 0
    for way in ways(kind, square):
        for target in way:
            found |= 1 << target
            if occupied >> target & 1:
                break
    return found


ATOMS: Final = {
    **{"W": (1, 0), "F": (1, 1), "D": (2, 0), "N": (2, 1), "A": (2, 2)},
    **{"H": (3, 0), "C": (3, 1), "Z": (3, 2), "G": (3, 3)},
}
"""The leaps by letter: wazir, ferz, dabbaba, knight, alfil, threeleaper, camel, zebra, tripper."""

_COMPOUNDS: Final = {"K": "WF", "Q": "WWFF", "R": "WW", "B": "FF"}
_ORDER: Final = "QRB" + "".join(ATOMS)
"""The letters of names in their order."""
_LETTERS: Final = re.compile(f"(?:[{''.join(_COMPOUNDS)}]|([{''.join(ATOMS)}])\\1?)")
_CLASHES: Final = ("D", "H"), ("A", "G")
"""Atoms of which two rides meet on one square, with different men in their ways."""


def _steps(atom: str) -> tuple[Step, ...]:
    """Return the steps of an atom in all directions."""
    x, y = ATOMS[atom]
    turned = {(x, y), (y, x)}
    return tuple(sorted({(a * f, b * r) for f, r in turned for a in (1, -1) for b in (1, -1)}))


EVERY_MOVE: Final = Kind("", rides=sum(map(_steps, ATOMS), ()))
"""A man that rides by all atoms: no man has more moves."""


def kind_of_letters(letters: str) -> Kind | None:
    """Return the kind that capital letters describe, None if they describe none.

    :raises UsageError: if it is none of tables.
    """
    parts = [match[0] for match in _LETTERS.finditer(letters)]
    if not parts or "".join(parts) != letters:
        return None
    return _kind("".join(_COMPOUNDS.get(part, part) for part in parts))


@cache
def _kind(atoms: str) -> Kind:
    """Return the kind of the letters of atoms."""
    riding = {atom for atom in ATOMS if 2 * atom in atoms}
    for one, other in _CLASHES:
        if {one, other} <= riding:
            raise UsageError(
                f"a man that rides by both {one} and {other} is not one of tables: leave one of them out, "
                "or let it leap"
            )
    leaping = [atom for atom in ATOMS if atom in atoms and atom not in riding]
    return _named(tuple(leaping), tuple(atom for atom in ATOMS if atom in riding))


@cache
def _named(leaping: tuple[str, ...], riding: tuple[str, ...]) -> Kind:
    lines = {"W": "R", "F": "B"}
    names = [lines.get(atom, 2 * atom) for atom in riding] + list(leaping)
    name = "".join(sorted(names, key=lambda letters: _ORDER.index(letters[0]))).replace("RB", "Q")
    return Kind(f"[{name}]", sum(map(_steps, leaping), ()), sum(map(_steps, riding), ()))


def order_of(name: str) -> list[int]:
    """Return a key by which the names of described men are sorted, letter by letter."""
    return [_ORDER.index(letter) for letter in name.strip("[]")]
