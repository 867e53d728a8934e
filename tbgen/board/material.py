"""Materials: which men each side has, under one name for both colourings, and what they turn into.

Men of chess are letters; others are described in brackets (:mod:`tbgen.board.kinds`), such as ``[WF]``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, total_ordering
from itertools import combinations_with_replacement, product
from typing import TYPE_CHECKING, Final, TypeAlias

from tbgen.board.kinds import (
    ATOMS,
    KINDS,
    PIECE_ORDER,
    PIECE_VALUES,
    PROMOTIONS,
    Kind,
    kind_of_letters,
    order_of,
    reach,
)
from tbgen.errors import UsageError, quote

if TYPE_CHECKING:
    import chess

MAX_MEN: Final = 5
"""Most men, kings and pawns included, that a material may have."""

_MEN = PIECE_ORDER + "P"
_PROMOTED = [PIECE_ORDER[kind] for kind in PROMOTIONS]
_SIDE = rf"((?:[{_MEN}]|\[[^][]*\])+)"
_NAME = re.compile(f"{_SIDE}v{_SIDE}", re.ASCII | re.IGNORECASE)
_MAN = re.compile(r"\[[^][]*\]|.", re.DOTALL)
_MOST_MOVES: Final = 127
"""Legal moves of a position that can be counted."""
_MOST_OF_WEAKER: Final = 62
"""Such moves that a value can tell; of both sides only one may have more."""

_EMPTY_SQUARE: Final = 0.8
"""Chance of a square to be empty in the middle of a game."""

Men: TypeAlias = tuple[str, ...]
"""Men of one side: letters, and descriptions in brackets."""


@cache
def described(text: str) -> Kind:
    """Return the kind of men that letters describe, which may be all small: one object for one kind.

    Its name has the letters in the order Q R B W F D N A H C Z G, as few as possible. What describes no man
    may be the name of one (:mod:`tbgen.board.named`).

    >>> described("bdd").name, described("K").name, described("NFFWW").name
    ('[BDD]', '[WF]', '[QN]')

    :raises UsageError: if they describe no man that tables can have.
    """
    is_mixed = not text.isupper() and not text.islower()
    if is_mixed and text.isalpha():
        raise UsageError(
            f"[{text}] is not a man of tables: men move alike in all directions and capture as they move, so "
            "a description has no modifiers: write it in capital letters only, or in small letters only"
        )
    if (kind := kind_of_letters(text.upper())) is not None:
        return kind
    from tbgen.board.named import FILE, named_men

    if not is_mixed and (named := named_men().get(text.lower())) is not None:
        return described(named.moves)
    raise UsageError(
        f"{quote(f'[{text}]')} is not a man: expected letters of {''.join(ATOMS)}, doubled for a rider, "
        f"or K, Q, R, B, such as [WF] or [BDD], or a name that {FILE} gives"
    )


@cache
def worth_of(man: str) -> float:
    """Return what a man is worth, in pawns: what ``PIECE_VALUES`` has, nothing for a king, and a guess for a
    described man.

    The guess is H. G. Muller's for men with n short leaps, 0.33 n + 0.007 n * n [1]. Each further step of a
    ride counts as a leap times its chance to find the board large enough and the squares on the way empty.

    [1] H. G. Muller, comment of 7 November 2020, https://www.chessvariants.com/index/editcomment.php?reply=40630

    >>> worth_of("[WF]"), worth_of("[W]"), worth_of("[Q]")
    (3.09, 1.43, 9.23)
    """
    if len(man) == 1:
        return PIECE_VALUES.get(man, 0.0)
    kind = described(man[1:-1])
    leaps = float(len(kind.steps))
    for (x, y), length in zip(kind.steps, kind.lengths, strict=True):
        room = (8 - abs(x)) * (8 - abs(y))
        more = (
            (8 - n * abs(x)) * (8 - n * abs(y)) / room * _EMPTY_SQUARE ** (n - 1)
            for n in range(2, length + 1)
        )
        leaps += sum(more)
    return round(0.33 * leaps + 0.007 * leaps * leaps, 2)


@total_ordering
@dataclass(frozen=True, slots=True)
class Material:
    """The men of both sides in canonical form; one table serves it in either colouring.

    The side with more men comes first, and is White in the table; of two sides with equally many, the
    stronger one, comparing man by man in the order K Q R B N P, described men last: these by their letters in
    the order Q R B W F D N A H C Z G. Each side is written in that order as well.

    Materials sort in build order: by men, then by pawns, so that a material comes after everything that a
    capture or a promotion can turn it into.

    :ivar white: White's men, king first, such as ``KBN`` or ``K[WF]``.
    :ivar black: Black's men.

    >>> sorted(Material.parse(name) for name in ["KRvKQ", "KPvK", "kvkb"])
    [Material(white='KB', black='K'), Material(white='KP', black='K'), Material(white='KQ', black='KR')]

    :raises UsageError: if a side has not exactly one king, if there are more than :data:`MAX_MEN` men, if
        described men are not what tables hold, or if the form is not canonical; :meth:`parse` and
        :meth:`of_sides` accept any form.
    """

    white: str

    black: str

    def __post_init__(self) -> None:
        if not all(man in _MEN or len(man) > 1 for man in _MAN.findall(self.white + self.black)):
            raise UsageError(f"{quote(self.name)} is not a material: the men are {', '.join(_MEN)}")
        if any(side.count("K") != 1 for side in self.sides):
            raise UsageError(f"{quote(self.name)} is not a material: each side needs exactly one king")
        if self.men > MAX_MEN:
            raise UsageError(
                f"{quote(self.name)} has {self.men} men, kings included, and tables have at most {MAX_MEN}"
            )
        if (self.white, self.black) != _canonical(self.white, self.black):
            raise UsageError(f"{quote(self.name)} is not canonical: read it with Material.parse instead")
        if self.is_described:
            self._check_described()

    def _check_described(self) -> None:
        if self.pawns:
            raise UsageError(f"{quote(self.name)} has pawns, which do not stand beside described men")
        kinds = {kind.name: kind for kind in self.kinds}
        moves = sorted(sum(_most_targets(kinds[man]) for man in side) for side in self.sides)
        if moves[1] > _MOST_MOVES or moves[0] > _MOST_OF_WEAKER:
            raise UsageError(f"the men of {quote(self.name)} have more moves than tables can count")

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
                "a v and the men of the other, such as KBNvK; other men stand in brackets, such as K[WF]vK"
            )
        material, _ = cls.of_sides(match[1], match[2])
        return material

    @classmethod
    def of_sides(cls, white: str, black: str) -> tuple[Material, bool]:
        """Return the material of two sides, and whether its canonical form swaps the colours.

        :raises UsageError: as :meth:`parse` does.

        >>> Material.of_sides("K", "KB")
        (Material(white='KB', black='K'), True)
        """
        strong, weak = _canonical(white, black)
        return cls(strong, weak), strong != "".join(_in_order(men_of(white)))

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
    def sides(self) -> tuple[Men, Men]:
        """White's men and Black's, one by one."""
        return men_of(self.white), men_of(self.black)

    @property
    def is_described(self) -> bool:
        """Whether any man is described, and not one of chess."""
        return "[" in self.name

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of chess, then those described, in the order of their names: what layouts number."""
        return _kinds_of(self.name) if self.is_described else KINDS

    @property
    def men(self) -> int:
        """Number of men, kings included."""
        return len(self.sides[0]) + len(self.sides[1])

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
        found = set()
        for own, other in (self.sides, self.sides[::-1]):
            victims = set(_PROMOTED) & set(other) if promoting else set(other) - {"K"}
            promoted = [_exchanged(own, "P", piece) for piece in _PROMOTED if "P" in own]
            left = [_exchanged(other, man, "") for man in victims]
            whole = "".join(own), "".join(other)
            pairs = product(promoted if promoting else whole[:1], left if capturing else whole[1:])
            found |= {Material.of_sides(*pair)[0] for pair in pairs}
        return found

    def _build_key(self) -> tuple[object, ...]:
        return self.men, self.pawns, *map(_precedence, self.sides)

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


@cache
def men_of(text: str) -> Men:
    """Return the men of one side, one by one, each with the name of its kind.

    >>> men_of("k[fw]B")
    ('K', '[WF]', 'B')

    :raises UsageError: if one is described that tables cannot have.
    """
    found = _MAN.findall(text)
    return tuple(described(man[1:-1]).name if len(man) > 1 else man.upper() for man in found)


def _exchanged(side: Men, man: str, other: str) -> str:
    """Return a side with one of its men exchanged for another, or for nothing."""
    at = side.index(man)
    return "".join((*side[:at], other, *side[at + 1 :]))


def _place(man: str) -> tuple[int, list[int]]:
    """Return a key by which men are sorted."""
    return (len(_MEN), order_of(man)) if len(man) > 1 else (_MEN.find(man), [])


def _in_order(men: Iterable[str]) -> list[str]:
    return sorted(men, key=_place)


@cache
def _kinds_of(name: str) -> tuple[Kind, ...]:
    """Return the kinds of a material with described men."""
    others = {man for side in name.split("v") for man in men_of(side) if len(man) > 1}
    return *KINDS, *(described(man[1:-1]) for man in _in_order(others))


def _most_targets(kind: Kind) -> int:
    return max(map(int.bit_count, reach(kind)))


def _precedence(side: Sequence[str]) -> tuple[int, list[tuple[int, list[int]]]]:
    """Return a key by which the side that comes first in a name sorts first."""
    return -len(side), [_place(man) for man in side]


@cache
def _canonical(white: str, black: str) -> tuple[str, str]:
    strong, weak = sorted((_in_order(men_of(side)) for side in (white, black)), key=_precedence)
    return "".join(strong), "".join(weak)
