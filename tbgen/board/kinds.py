"""The kinds of men and their moves, as data and in Betza's notation.

All move generation uses these kinds, except that of the proof, which has definitions of its own. Pawns are
not among the kinds, since they capture differently from how they move.

Ralph Betza, *Funny Notation* (1996): a letter stands for a leap in all directions, a doubled letter for a
ride, and several letters for a man that can move as each of them.
"""

import re
from dataclasses import dataclass
from functools import cache
from typing import Final, TypeAlias

from tbgen.errors import UsageError

Step: TypeAlias = tuple[int, int]
"""Numbers of files and ranks that a man moves in a single step, positive towards h and 8."""

_ROOK: Final = ((0, 1), (0, -1), (1, 0), (-1, 0))
_BISHOP: Final = ((1, 1), (-1, -1), (1, -1), (-1, 1))
_KNIGHT: Final = ((1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2))
_MAX_DISTANCE: Final = 7
"""Greatest number of files or ranks between two squares."""


@dataclass(frozen=True, eq=False)
class Kind:
    """The moves and captures of men of one kind, which are the same for all symmetries of the board.

    :ivar name: the name in materials, and of White's men in FENs: a letter, or a description in brackets.
    :ivar leaps: steps that are a move by themselves, regardless of men in between.
    :ivar rides: steps that can be repeated in one move, up to the first man on the way.
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
        """Maximum repetitions of each of :attr:`steps` in one move."""
        return (1,) * len(self.leaps) + tuple(_MAX_DISTANCE // max(map(abs, step)) for step in self.rides)

    @property
    def is_colour_bound(self) -> bool:
        """Whether men stay on squares of one colour, as bishops do."""
        return all((files + ranks) % 2 == 0 for files, ranks in self.steps)


KINDS: Final = (
    Kind("K", leaps=_ROOK + _BISHOP),
    Kind("Q", rides=_ROOK + _BISHOP),
    Kind("R", rides=_ROOK),
    Kind("B", rides=_BISHOP),
    Kind("N", leaps=_KNIGHT),
)
"""The kinds of chess: the king, then the others from the strongest to the weakest.

The index of a kind is its number. The described kinds of a material have the numbers that follow
(:attr:`tbgen.board.material.Material.kinds`)."""

PIECE_ORDER: Final = "".join(kind.name for kind in KINDS)
"""The letters of the kinds, in the order of their numbers."""
PIECE_VALUES: Final = {"Q": 9.5, "R": 5.0, "B": 3.25, "N": 3.25, "P": 1.0}
"""Values of men in pawns, by letter; kings have none."""
KING: Final = 0
"""Number of the king."""
PROMOTIONS: Final = range(1, len(KINDS))
"""Numbers of the kinds that pawns promote to."""
NO_PROMOTION: Final = 0
"""Stands for the number of a kind if there is no promotion."""


@cache
def ways(kind: Kind, square: int) -> tuple[tuple[int, ...], ...]:
    """Return the squares that a man reaches on an empty board, for each of its steps, nearest first.

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
    """Return, for each square, the set of squares that a man on it reaches on an empty board."""
    return tuple(sum(1 << target for target in set[int]().union(*ways(kind, square))) for square in range(64))


@cache
def between(kind: Kind, start: int, stop: int) -> int:
    """Return the set of squares that a man passes from one square to another.

    If there are several ways, it is the one with the fewest squares. The set is empty if the man leaps, or
    cannot reach the other square.
    """
    passed = (way[: way.index(stop)] for way in ways(kind, start) if stop in way)
    return sum(1 << square for square in min(passed, key=len, default=()))


def attacks(kind: Kind, square: int, occupied: int) -> int:
    """Return the set of squares that a man attacks; ``occupied`` is the set of the squares of all men."""
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
"""The leap of each letter: wazir, ferz, dabbaba, knight, alfil, threeleaper, camel, zebra, tripper."""

_COMPOUNDS: Final = {"K": "WF", "Q": "WWFF", "R": "WW", "B": "FF"}
_ORDER: Final = "QRB" + "".join(ATOMS)
"""The order of letters in names."""
_LETTERS: Final = re.compile(f"(?:[{''.join(_COMPOUNDS)}]|([{''.join(ATOMS)}])\\1?)")
_CLASHES: Final = ("D", "H"), ("A", "G")
"""Pairs of atoms whose rides can reach the same square on different ways."""


def _steps(atom: str) -> tuple[Step, ...]:
    """Return the steps of an atom in all directions."""
    x, y = ATOMS[atom]
    turned = {(x, y), (y, x)}
    return tuple(sorted({(a * f, b * r) for f, r in turned for a in (1, -1) for b in (1, -1)}))


EVERY_MOVE: Final = Kind("", rides=sum(map(_steps, ATOMS), ()))
"""A kind that rides by all atoms, and so has all moves of any kind."""


def kind_of_letters(letters: str) -> Kind | None:
    """Return the kind that capital letters describe, None if they are malformed.

    :raises UsageError: if tables do not support the kind.
    """
    parts = [match[0] for match in _LETTERS.finditer(letters)]
    if not parts or "".join(parts) != letters:
        return None
    return _kind("".join(_COMPOUNDS.get(part, part) for part in parts))


@cache
def _kind(atoms: str) -> Kind:
    """Return the kind for a text of atoms, in which a doubled atom is a ride."""
    riding = {atom for atom in ATOMS if 2 * atom in atoms}
    for one, other in _CLASHES:
        if {one, other} <= riding:
            raise UsageError(
                f"tables do not support a man that rides by both {one} and {other}: leave one of them out, "
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
    """Return the sort key of a described man's name, letter by letter."""
    return [_ORDER.index(letter) for letter in name.strip("[]")]
