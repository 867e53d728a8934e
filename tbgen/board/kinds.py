"""The kinds of men and their moves, as data and in Betza's notation.

The proof of tables defines the moves independently; all other move generation uses these kinds. Pawns are
not among the kinds, because their captures differ from their other moves.

In Betza's notation, a letter stands for a leap in all directions, and a doubled letter for a ride. Several
letters stand for a man that combines their moves (Ralph Betza, *Funny Notation*, 1996).
"""

import re
from dataclasses import dataclass
from functools import cache
from typing import Final, TypeAlias

from tbgen.errors import UsageError

Step: TypeAlias = tuple[int, int]
"""Numbers of files and ranks of a single step, positive towards the h-file and the eighth rank."""

_ROOK: Final = ((0, 1), (0, -1), (1, 0), (-1, 0))
_BISHOP: Final = ((1, 1), (-1, -1), (1, -1), (-1, 1))
_KNIGHT: Final = ((1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2))
_MAX_DISTANCE: Final = 7
"""Greatest number of files or ranks between two squares."""

KING: Final = 0
"""Kind number of the king."""
QUEEN: Final = 1
"""Kind number of the queen."""

NO_PROMOTION: Final = 0
"""Used in place of a kind number if a move is not a promotion."""

ATOMS: Final = {
    **{"W": (1, 0), "F": (1, 1), "D": (2, 0), "N": (2, 1), "A": (2, 2)},
    **{"H": (3, 0), "C": (3, 1), "Z": (3, 2), "G": (3, 3)},
}
"""The leap for each letter. docs/described.md has the names of these men."""

_COMPOUND_ATOMS: Final = {"K": "WF", "Q": "WWFF", "R": "WW", "B": "FF"}
_LETTER_ORDER: Final = "QRB" + "".join(ATOMS)
"""The order of letters in names."""
_PART_PATTERN: Final = re.compile(f"(?:[{''.join(_COMPOUND_ATOMS)}]|([{''.join(ATOMS)}])\\1?)")
_CLASHING_RIDES: Final = ("D", "H"), ("A", "G")
"""Pairs of atoms whose rides can reach the same square in different ways."""


@dataclass(frozen=True, eq=False)
class Kind:
    """The moves of one kind of man. A man captures the way it moves. Every symmetry of the board preserves
    the moves.

    :ivar name: the name in materials and, for White's men, in FENs: a letter, or a description in brackets.
    :ivar leaps: steps that are complete moves; men in between do not block them.
    :ivar rides: steps that can be repeated in one move, up to the first man on the way.
    :ivar noun: the name in texts for readers. This and the following attributes are only for men of chess.
    :ivar figurines: the characters for White's and Black's man.
    :ivar value: the value in pawns; kings have no value.
    """

    name: str
    leaps: tuple[Step, ...] = ()
    rides: tuple[Step, ...] = ()
    noun: str = ""
    figurines: str = ""
    value: float = 0.0

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps of leaps, then the steps of rides."""
        return self.leaps + self.rides

    @property
    def lengths(self) -> tuple[int, ...]:
        """For each of :attr:`steps`, the maximum number of times that one move can make it."""
        return (1,) * len(self.leaps) + tuple(_MAX_DISTANCE // max(map(abs, step)) for step in self.rides)

    @property
    def is_colour_bound(self) -> bool:
        """Whether a man of this kind stays on squares of one colour, as a bishop does."""
        return all((files + ranks) % 2 == 0 for files, ranks in self.steps)


KINDS: Final = (
    Kind("K", leaps=_ROOK + _BISHOP, noun="king", figurines="♔♚"),
    Kind("Q", rides=_ROOK + _BISHOP, noun="queen", figurines="♕♛", value=9.5),
    Kind("R", rides=_ROOK, noun="rook", figurines="♖♜", value=5.0),
    Kind("B", rides=_BISHOP, noun="bishop", figurines="♗♝", value=3.25),
    Kind("N", leaps=_KNIGHT, noun="knight", figurines="♘♞", value=3.25),
)
"""The kinds of chess: the king, then the pieces from the strongest to the weakest.

The index of a kind is its kind number. The described kinds of a material are numbered after them
(:attr:`tbgen.board.material.Material.kinds`)."""

KIND_LETTERS: Final = "".join(kind.name for kind in KINDS)
"""The letters of the kinds, in the order of their numbers."""
MEN: Final = (*KINDS, Kind("P", noun="pawn", figurines="♙♟", value=1.0))
"""The men of chess: the kinds, then the pawn, without its moves."""
MEN_LETTERS: Final = "".join(man.name for man in MEN)
"""The letters of the men of chess, in the order of :data:`MEN`."""
FEN_LETTERS: Final = MEN_LETTERS + MEN_LETTERS.lower()
"""The letters of White's and Black's men in FENs."""
PIECE_VALUES: Final = {man.name: man.value for man in MEN if man.value}
"""The value of each man in pawns, by letter; kings have no value."""
PROMOTIONS: Final = range(1, len(KINDS))
"""Kind numbers that pawns promote to."""
PROMOTION_LETTERS: Final = KIND_LETTERS[PROMOTIONS.start :]
"""Letters of the kinds that pawns promote to, which are all but the king."""


@cache
def ways(kind: Kind, square: int) -> tuple[tuple[int, ...], ...]:
    """For each step of a man, return the squares that it reaches on an empty board, nearest first.

    :param square: a1 = 0 to h8 = 63.

    >>> ways(KINDS[KIND_LETTERS.index("B")], 9)
    ((18, 27, 36, 45, 54, 63), (0,), (2,), (16,))
    """
    all_ways = []
    for (files, ranks), length in zip(kind.steps, kind.lengths, strict=True):
        way: list[int] = []
        file, rank = square % 8 + files, square // 8 + ranks
        while len(way) < length and file in range(8) and rank in range(8):
            way.append(8 * rank + file)
            file, rank = file + files, rank + ranks
        all_ways.append(tuple(way))
    return tuple(all_ways)


@cache
def reach(kind: Kind) -> tuple[int, ...]:
    """For each square, return the bitboard of the squares that a man there reaches on an empty board."""
    return tuple(sum(1 << target for target in set[int]().union(*ways(kind, square))) for square in range(64))


@cache
def between(kind: Kind, start: int, stop: int) -> int:
    """Return the bitboard of the squares that a man passes on its way from ``start`` to ``stop``.

    If there are several ways, the shortest one is used. The bitboard is empty if the man leaps to ``stop``,
    or cannot reach it.
    """
    paths = (way[: way.index(stop)] for way in ways(kind, start) if stop in way)
    return sum(1 << square for square in min(paths, key=len, default=()))


def attacks(kind: Kind, square: int, occupied: int) -> int:
    """Return the bitboard of the squares that a man attacks.

    :param occupied: bitboard of all men.
    """
    attacked = 0
    for way in ways(kind, square):
        for target in way:
            attacked |= 1 << target
            if occupied >> target & 1:
                break
    return attacked


def _steps(atom: str) -> tuple[Step, ...]:
    """Return the steps of an atom in all directions."""
    x, y = ATOMS[atom]
    leaps = {(x, y), (y, x)}
    return tuple(sorted({(a * f, b * r) for f, r in leaps for a in (1, -1) for b in (1, -1)}))


ALL_MOVES_KIND: Final = Kind("", rides=sum(map(_steps, ATOMS), ()))
"""A kind that rides by all atoms, so it has every move of every kind."""


def kind_of_letters(letters: str) -> Kind | None:
    """Return the kind that capital letters describe, None if the letters are malformed.

    :raises UsageError: if tables do not support the kind.
    """
    parts = [match[0] for match in _PART_PATTERN.finditer(letters)]
    if not parts or "".join(parts) != letters:
        return None
    return _kind_of_atoms(tuple(_COMPOUND_ATOMS.get(part, part) for part in parts))


@cache
def _kind_of_atoms(parts: tuple[str, ...]) -> Kind:
    """Return the kind of man for the letters of its atoms.

    An atom that is doubled in a part stands for a ride. A leap of four or more files or ranks cannot be
    repeated on the board, so its ride is the leap.
    """
    riding_atoms = {
        atom for atom, leap in ATOMS.items() if any(2 * atom in part for part in parts) and 2 * max(leap) < 8
    }
    for first, second in _CLASHING_RIDES:
        if {first, second} <= riding_atoms:
            raise UsageError(
                f"tables do not support a man that rides by both {first} and {second}: leave one of them "
                "out, or let it leap"
            )
    atoms = "".join(parts)
    leaping_atoms = [atom for atom in ATOMS if atom in atoms and atom not in riding_atoms]
    return _named_kind(tuple(leaping_atoms), tuple(atom for atom in ATOMS if atom in riding_atoms))


@cache
def _named_kind(leaping_atoms: tuple[str, ...], riding_atoms: tuple[str, ...]) -> Kind:
    line_letters = {"W": "R", "F": "B"}
    parts = [line_letters.get(atom, 2 * atom) for atom in riding_atoms] + list(leaping_atoms)
    name = "".join(sorted(parts, key=lambda letters: _LETTER_ORDER.index(letters[0]))).replace("RB", "Q")
    return Kind(f"[{name}]", sum(map(_steps, leaping_atoms), ()), sum(map(_steps, riding_atoms), ()))


def name_sort_key(name: str) -> list[int]:
    """Return a sort key for the name of a described man: the order number of each letter."""
    return [_LETTER_ORDER.index(letter) for letter in name.strip("[]")]
