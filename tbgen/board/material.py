"""Materials: which men each side has, under one name for both colourings, and what they turn into."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, total_ordering
from itertools import combinations_with_replacement, product
from typing import TYPE_CHECKING, Final

from tbgen.board.kinds import PIECE_ORDER, PROMOTIONS
from tbgen.errors import UsageError, quote

if TYPE_CHECKING:
    import chess

MAX_MEN: Final = 5
"""Most men, kings and pawns included, that a material may have."""

_MEN = PIECE_ORDER + "P"
_PROMOTED = [PIECE_ORDER[kind] for kind in PROMOTIONS]
_NAME = re.compile(f"([{_MEN}]+)v([{_MEN}]+)", re.ASCII | re.IGNORECASE)


@total_ordering
@dataclass(frozen=True, slots=True)
class Material:
    """The men of both sides in canonical form; one table serves it in either colouring.

    The side with more men comes first, and is White in the table; of two sides with equally many, the
    stronger one, comparing man by man in the order K Q R B N P. Each side is written in that order as well.

    Materials sort in build order: by men, then by pawns, so that a material comes after everything that a
    capture or a promotion can turn it into.

    :ivar white: White's men, king first, such as ``KBN``.
    :ivar black: Black's men.

    >>> sorted(Material.parse(name) for name in ["KRvKQ", "KPvK", "kvkb"])
    [Material(white='KB', black='K'), Material(white='KP', black='K'), Material(white='KQ', black='KR')]

    :raises UsageError: if a side has not exactly one king, if there are more than :data:`MAX_MEN` men, or if
        the form is not canonical; :meth:`parse` and :meth:`of_sides` accept any form.
    """

    white: str

    black: str

    def __post_init__(self) -> None:
        if not set(self.white + self.black) <= set(_MEN):
            raise UsageError(f"{quote(self.name)} is not a material: the men are {', '.join(_MEN)}")
        if self.white.count("K") != 1 or self.black.count("K") != 1:
            raise UsageError(f"{quote(self.name)} is not a material: each side needs exactly one king")
        if self.men > MAX_MEN:
            raise UsageError(
                f"{quote(self.name)} has {self.men} men, kings included, and tables have at most {MAX_MEN}"
            )
        if (self.white, self.black) != _canonical(self.white, self.black):
            raise UsageError(f"{quote(self.name)} is not canonical: read it with Material.parse instead")

    @classmethod
    def parse(cls, text: str) -> Material:
        """Read a name such as ``KBNvK``; upper and lower case, order of the men and colouring do not matter.

        :raises UsageError: if the text names no material of 2 to :data:`MAX_MEN` men.
        :raises TypeError: if it is no text.

        >>> print(Material.parse("kvknb"))
        KBNvK
        """
        if not isinstance(text, str):
            raise TypeError(
                f"a material cannot be read from {type(text).__name__}: expected text such as KBNvK"
            )
        match = _NAME.fullmatch(text)
        if match is None:
            raise UsageError(
                f"{quote(text)} is not a material name: expected the men (K, Q, R, B, N, P) of one side, "
                "a v and the men of the other, such as KBNvK"
            )
        material, _ = cls.of_sides(match[1].upper(), match[2].upper())
        return material

    @classmethod
    def of_sides(cls, white: str, black: str) -> tuple[Material, bool]:
        """Return the material of two sides, and whether its canonical form swaps the colours.

        :raises UsageError: as :meth:`parse` does.

        >>> Material.of_sides("K", "KB")
        (Material(white='KB', black='K'), True)
        """
        strong, weak = _canonical(white, black)
        return cls(strong, weak), strong != "".join(sorted(white, key=_MEN.find))

    @classmethod
    def of_board(cls, board: chess.Board) -> tuple[Material, bool]:
        """Return the material of a board, and whether its canonical form swaps the colours.

        :raises UsageError: if a side has not exactly one king, or if there are more than :data:`MAX_MEN` men.
        """
        masks = (board.kings, board.queens, board.rooks, board.bishops, board.knights, board.pawns)
        black, white = (
            "".join([man * (mask & side).bit_count() for man, mask in zip(_MEN, masks, strict=True)])
            for side in board.occupied_co
        )
        return _of_sides(white, black)

    @property
    def name(self) -> str:
        """The canonical name, such as ``KBNvK``."""
        return f"{self.white}v{self.black}"

    @property
    def men(self) -> int:
        """Number of men, kings included."""
        return len(self.white) + len(self.black)

    @property
    def pawns(self) -> int:
        """Number of pawns of both sides."""
        return self.white.count("P") + self.black.count("P")

    @property
    def symmetric(self) -> bool:
        """Whether both sides have the same men."""
        return self.white == self.black

    def captures(self) -> set[Material]:
        """Return what one capture without promotion leaves."""
        return self._after(promoting=False, capturing=True)

    def promotions(self) -> set[Material]:
        """Return what one promotion without capture leaves."""
        return self._after(promoting=True, capturing=False)

    def successors(self) -> set[Material]:
        """Return what one move out of the material leaves: a capture, a promotion, or both at once.

        >>> sorted(material.name for material in Material.parse("KPvKN").successors())
        ['KBvK', 'KBvKN', 'KNvK', 'KNvKN', 'KPvK', 'KQvK', 'KQvKN', 'KRvK', 'KRvKN']
        """
        return self.captures() | self.promotions() | self._after(promoting=True, capturing=True)

    def _after(self, *, promoting: bool, capturing: bool) -> set[Material]:
        """Return what a move of either side leaves that promotes or not, and captures or not."""
        # No pawn stands on the last rank, so a promoting pawn captures a piece.
        victims = _PROMOTED if promoting else _MEN[1:]
        found = set()
        for own, other in ((self.white, self.black), (self.black, self.white)):
            promoted = [own.replace("P", piece, 1) for piece in _PROMOTED if "P" in own]
            left = [other.replace(man, "", 1) for man in victims if man in other]
            pairs = product(promoted if promoting else [own], left if capturing else [other])
            found |= {Material.of_sides(*pair)[0] for pair in pairs}
        return found

    def _build_key(self) -> tuple[object, ...]:
        return self.men, self.pawns, _precedence(self.white), _precedence(self.black)

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, Material):
            return NotImplemented
        return self._build_key() < other._build_key()

    def __str__(self) -> str:
        return self.name


def closure(materials: Iterable[Material]) -> list[Material]:
    """Return the materials and all that they can turn into, each after everything it can turn into itself.

    >>> [material.name for material in closure([Material.parse("KBNvK")])]
    ['KvK', 'KBvK', 'KNvK', 'KBNvK']
    """
    found: set[Material] = set()
    pending = list(materials)
    while pending:
        material = pending.pop()
        if material not in found:
            found.add(material)
            pending.extend(material.successors())
    return sorted(found)


def all_materials(men: int) -> list[Material]:
    """Return all materials of 2 up to the given number of men in build order.

    :raises UsageError: if the number is not between 2 and :data:`MAX_MEN`.

    >>> len(all_materials(4))
    36
    """
    if not 2 <= men <= MAX_MEN:
        raise UsageError(f"materials have 2 to {MAX_MEN} men, kings included, not {men}")
    sides = [
        "K" + "".join(others)
        for count in range(men - 1)
        for others in combinations_with_replacement(_MEN[1:], count)
    ]
    pairs = ((white, black) for white in sides for black in sides if len(white + black) <= men)
    return sorted({Material.of_sides(white, black)[0] for white, black in pairs})


_of_sides = cache(Material.of_sides)


def _precedence(side: str) -> tuple[int, list[int]]:
    """Return a key by which the side that comes first in a name sorts first."""
    return -len(side), [_MEN.find(man) for man in side]


def _canonical(white: str, black: str) -> tuple[str, str]:
    strong, weak = sorted(("".join(sorted(side, key=_MEN.find)) for side in (white, black)), key=_precedence)
    return strong, weak
