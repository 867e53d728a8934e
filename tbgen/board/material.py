"""Materials, which are the men of both sides, with their canonical names and their successors.

A material and the same material with the colours swapped share one name. Men of chess are written as letters;
others are described in brackets, such as ``[WF]`` (:mod:`tbgen.board.kinds`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache, total_ordering
from itertools import combinations_with_replacement, product
from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias

from tbgen.board.immutable import Immutable, set_attribute
from tbgen.board.kinds import (
    ATOMS,
    KINDS,
    MEN_LETTERS,
    PIECE_VALUES,
    PROMOTION_LETTERS,
    Kind,
    kind_of_letters,
    name_sort_key,
    reach,
)
from tbgen.errors import UsageError, quote

if TYPE_CHECKING:
    import chess

MAX_MEN: Final = 5
"""Maximum number of men of a material, kings and pawns included."""

_SIDE_PATTERN: Final = rf"((?:[{MEN_LETTERS}]|\[[^][]*\])+)"
_KING_FIRST_PATTERN: Final = rf"(K(?:[{MEN_LETTERS[1:]}]|\[[^][]*\])*)"
_NAME_PATTERN: Final = re.compile(
    f"{_SIDE_PATTERN}v{_SIDE_PATTERN}|{_KING_FIRST_PATTERN}{_KING_FIRST_PATTERN}", re.ASCII | re.IGNORECASE
)
_MAN_PATTERN: Final = re.compile(r"\[[^][]*\]|.", re.DOTALL)
_MAX_MOVES: Final = 126
"""Maximum number of legal moves that tables can count in a position. Its rank is then at most 253; proofs use
255 for "no position"."""
_MAX_CODED_MOVES: Final = 62
"""Greatest number of legal moves whose score has a code. At most one side of a material may be able to make
more moves."""

_EMPTY_PROBABILITY: Final = 0.8
"""Assumed probability that a square is empty in the middle of a game."""

Men: TypeAlias = tuple[str, ...]
"""The men of one side: letters, and descriptions in brackets."""


@cache
def described_kind(text: str) -> Kind:
    """Return the kind of man that the letters, all upper case or all lower case, describe.

    Equal kinds are the same object. The name of the kind has the fewest possible letters, in the order of
    docs/described.md. A text that does not describe a man may be a user-defined name
    (:mod:`tbgen.board.named`).

    >>> described_kind("bdd").name, described_kind("K").name, described_kind("NFFWW").name
    ('[BDD]', '[WF]', '[QN]')

    :raises UsageError: if the text does not describe a man that tables support.
    """
    is_mixed = not text.isupper() and not text.islower()
    if is_mixed and text.isalpha():
        raise UsageError(
            f"[{text}] is not a man of tables: men move alike in all directions and capture as they move, so "
            "a description has no modifiers: write it in capital letters only, or in small letters only"
        )
    if (kind := kind_of_letters(text.upper())) is not None:
        return kind
    from tbgen.board.named import FILE_NAME, named_men

    if not is_mixed and (named_man := named_men().get(text.lower())) is not None:
        return described_kind(named_man.moves)
    raise UsageError(
        f"{quote(f'[{text}]')} is not a man: expected letters of {''.join(ATOMS)}, doubled for a rider, "
        f"or K, Q, R, B, such as [WF] or [BDD], or a name that {FILE_NAME} gives"
    )


@cache
def worth_of(man: str) -> float:
    """Return the value of a man in pawns, which is 0 for a king and an estimate for a described man.

    H. G. Muller's estimate for a man with n short leaps is 0.33 n + 0.007 n * n [1]. Each further step of a
    ride counts as a fraction of a leap: the probability that its target is on the board and that the squares
    on the way are empty.

    [1] H. G. Muller, comment of 7 November 2020,
    https://www.chessvariants.com/index/editcomment.php?reply=40630

    >>> worth_of("[WF]"), worth_of("[W]"), worth_of("[Q]")
    (3.09, 1.43, 9.23)
    """
    if len(man) == 1:
        return PIECE_VALUES.get(man, 0.0)
    kind = described_kind(man[1:-1])
    leap_count = float(len(kind.steps))
    for (x, y), length in zip(kind.steps, kind.lengths, strict=True):
        origin_count = (8 - abs(x)) * (8 - abs(y))
        further_leaps = (
            (8 - n * abs(x)) * (8 - n * abs(y)) / origin_count * _EMPTY_PROBABILITY ** (n - 1)
            for n in range(2, length + 1)
        )
        leap_count += sum(further_leaps)
    return round(0.33 * leap_count + 0.007 * leap_count * leap_count, 2)


def sides_of_name(text: str) -> tuple[str, str] | None:
    """Return the men of both sides that a name gives, with any number of men; None if the text is no name.

    In a name without a v, each side begins with its king.

    >>> sides_of_name("KRvPK"), sides_of_name("krkp"), sides_of_name("KRPK")
    (('KR', 'PK'), ('kr', 'kp'), ('KRP', 'K'))
    """
    match = _NAME_PATTERN.fullmatch(text)
    return match and (match[1] or match[3], match[2] or match[4])


@total_ordering
class Material(Immutable):
    """The men of both sides in canonical form; one table also serves the same men with the colours swapped.

    The side with more men comes first, and is White in the table. If both sides have the same number of men,
    the stronger side comes first. Sides are compared man by man in the order K Q R B N P, then described men
    by their letters in the order of docs/described.md. The men of each side are written in the same order.

    Materials sort in build order: by number of men, then by number of pawns. So a material comes after all
    its successors.

    :ivar white: White's men, king first, such as ``KBN`` or ``K[WF]``.
    :ivar black: Black's men.

    >>> sorted(Material.parse(name) for name in ["KRvKQ", "KPvK", "kvkb"])
    [Material(white='KB', black='K'), Material(white='KP', black='K'), Material(white='KQ', black='KR')]

    :raises UsageError: if a side does not have exactly one king, if there are more than :data:`MAX_MEN` men,
        if tables do not support the described men, or if the form is not canonical; :meth:`parse` and
        :meth:`of_sides` accept any form.
    """

    __slots__ = __match_args__ = ("white", "black")

    JSON_SCHEMA: ClassVar = {"type": "string"}

    white: str
    black: str

    def __init__(self, white: str, black: str) -> None:
        set_attribute(self, "white", white)
        set_attribute(self, "black", black)
        if not all(
            man in MEN_LETTERS or len(man) > 1 for man in _MAN_PATTERN.findall(self.white + self.black)
        ):
            raise UsageError(f"{quote(self.name)} is not a material: the men are {', '.join(MEN_LETTERS)}")
        if any(side.count("K") != 1 for side in self.sides):
            raise UsageError(f"{quote(self.name)} is not a material: each side needs exactly one king")
        if self.men > MAX_MEN:
            raise UsageError(
                f"{quote(self.name)} has {self.men} men, kings included, and tables have at most {MAX_MEN}"
            )
        if (self.white, self.black) != _canonical_sides(self.white, self.black):
            raise UsageError(f"{quote(self.name)} is not canonical: read it with Material.parse instead")
        if self.is_described and self.pawns:
            raise UsageError(f"{quote(self.name)} has pawns, which tables do not support with described men")
        move_counts = sorted(sum(map(_max_move_count, side)) for side in self.sides)
        if move_counts[1] > _MAX_MOVES or move_counts[0] > _MAX_CODED_MOVES:
            raise UsageError(f"the men of {quote(self.name)} have more moves than tables can count")

    @classmethod
    def parse(cls, text: str) -> Material:
        """Parse a name such as ``KBNvK``; case, order of the men and order of the sides do not matter.

        The v may be omitted if each side begins with its king, as in ``KBNK``.

        :raises UsageError: if the text is not the name of a material of 2 to :data:`MAX_MEN` men.
        :raises TypeError: if the argument is not a string.

        >>> print(Material.parse("kvknb"))
        KBNvK
        """
        if not isinstance(text, str):
            raise TypeError(
                f"a material cannot be read from {type(text).__name__}: expected text such as KBNvK"
            )
        sides = sides_of_name(text)
        if sides is None:
            raise UsageError(
                f"{quote(text)} is not a material name: expected the men (K, Q, R, B, N, P) of one side, "
                "a v and the men of the other, such as KBNvK; other men are in brackets, such as K[WF]vK"
            )
        material, _ = cls.of_sides(*sides)
        return material

    @classmethod
    def of_sides(cls, white: str, black: str) -> tuple[Material, bool]:
        """Return the material of two sides, and whether its canonical form swaps the colours.

        :raises UsageError: if the men do not form a material that tables support.

        >>> Material.of_sides("K", "KB")
        (Material(white='KB', black='K'), True)
        """
        strong, weak = _canonical_sides(white, black)
        return cls(strong, weak), strong != "".join(_sorted_men(men_of(white)))

    @classmethod
    def of_board(cls, board: chess.Board) -> tuple[Material, bool]:
        """Return the material of a board, and whether its canonical form swaps the colours.

        :raises UsageError: if a side does not have exactly one king, or there are more than :data:`MAX_MEN`
            men.
        """
        masks = (board.kings, board.queens, board.rooks, board.bishops, board.knights, board.pawns)
        black, white = (
            "".join([man * (mask & side).bit_count() for man, mask in zip(MEN_LETTERS, masks, strict=True)])
            for side in board.occupied_co
        )
        return _cached_of_sides(white, black)

    @property
    def name(self) -> str:
        """The canonical name, such as ``KBNvK``."""
        return f"{self.white}v{self.black}"

    @property
    def sides(self) -> tuple[Men, Men]:
        """White's men and Black's men."""
        return men_of(self.white), men_of(self.black)

    @property
    def is_described(self) -> bool:
        """Whether any man is described."""
        return "[" in self.name

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of chess, then the described kinds sorted by name, indexed by kind number."""
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
        """Return the materials after one capture without promotion."""
        return self._materials_after(promoting=False, capturing=True)

    def promotions(self) -> set[Material]:
        """Return the materials after one promotion without capture."""
        return self._materials_after(promoting=True, capturing=False)

    def successors(self) -> set[Material]:
        """Return the materials after one capture, one promotion, or both in one move.

        >>> sorted(material.name for material in Material.parse("KPvKN").successors())
        ['KBvK', 'KBvKN', 'KNvK', 'KNvKN', 'KPvK', 'KQvK', 'KQvKN', 'KRvK', 'KRvKN']
        """
        return self.captures() | self.promotions() | self._materials_after(promoting=True, capturing=True)

    def _materials_after(self, *, promoting: bool, capturing: bool) -> set[Material]:
        """Return the materials after one move of either side that promotes, captures or does both."""
        # No pawn stands on the last rank, so a promoting pawn captures a piece.
        materials = set()
        for own_men, other_men in (self.sides, self.sides[::-1]):
            victims = set(PROMOTION_LETTERS) & set(other_men) if promoting else set(other_men) - {"K"}
            own_sides, other_sides = ["".join(own_men)], ["".join(other_men)]
            if promoting:
                own_sides = [_replace_man(own_men, "P", man) for man in PROMOTION_LETTERS if "P" in own_men]
            if capturing:
                other_sides = [_replace_man(other_men, man, "") for man in victims]
            materials |= {Material.of_sides(*sides)[0] for sides in product(own_sides, other_sides)}
        return materials

    def _sort_key(self) -> tuple[object, ...]:
        return self.men, self.pawns, *map(_side_sort_key, self.sides)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Material):
            return NotImplemented
        return self.white == other.white and self.black == other.black

    def __hash__(self) -> int:
        return hash((self.white, self.black))

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, Material):
            return NotImplemented
        return self._sort_key() < other._sort_key()

    def __str__(self) -> str:
        return self.name


def closure(materials: Iterable[Material]) -> list[Material]:
    """Return the given materials and all that captures and promotions can lead to, in build order.

    >>> [material.name for material in closure([Material.parse("KBNvK")])]
    ['KvK', 'KBvK', 'KNvK', 'KBNvK']
    """
    reached_materials: set[Material] = set()
    pending = list(materials)
    while pending:
        material = pending.pop()
        if material not in reached_materials:
            reached_materials.add(material)
            pending.extend(material.successors())
    return sorted(reached_materials)


def all_materials(max_men: int) -> list[Material]:
    """Return all materials with 2 to ``max_men`` men, none of them described, in build order.

    :raises UsageError: if ``max_men`` is not between 2 and :data:`MAX_MEN`.

    >>> len(all_materials(4))
    36
    """
    if not 2 <= max_men <= MAX_MEN:
        raise UsageError(f"materials have 2 to {MAX_MEN} men, kings included, not {max_men}")
    sides = [
        "K" + "".join(others)
        for count in range(max_men - 1)
        for others in combinations_with_replacement(MEN_LETTERS[1:], count)
    ]
    pairs = ((white, black) for white in sides for black in sides if len(white + black) <= max_men)
    return sorted({Material.of_sides(white, black)[0] for white, black in pairs})


_cached_of_sides = cache(Material.of_sides)


@cache
def men_of(text: str) -> Men:
    """Return the men of one side, each as the name of its kind.

    >>> men_of("k[fw]B")
    ('K', '[WF]', 'B')

    :raises UsageError: if tables do not support a described man.
    """
    symbols = _MAN_PATTERN.findall(text)
    return tuple(described_kind(man[1:-1]).name if len(man) > 1 else man.upper() for man in symbols)


def _replace_man(side: Men, man: str, replacement: str) -> str:
    """Return a side with one man replaced by another, or removed if ``replacement`` is empty."""
    index = side.index(man)
    return "".join((*side[:index], replacement, *side[index + 1 :]))


def _man_sort_key(man: str) -> tuple[int, list[int]]:
    """Return the sort key of a man within its side."""
    return (len(MEN_LETTERS), name_sort_key(man)) if len(man) > 1 else (MEN_LETTERS.find(man), [])


def _sorted_men(men: Iterable[str]) -> list[str]:
    return sorted(men, key=_man_sort_key)


@cache
def _kinds_of(name: str) -> tuple[Kind, ...]:
    """Return the kinds of a material with described men."""
    described_men = {man for side in name.split("v") for man in men_of(side) if len(man) > 1}
    return *KINDS, *(described_kind(man[1:-1]) for man in _sorted_men(described_men))


@cache
def _max_move_count(man: str) -> int:
    """Return an upper bound of the number of moves of a man. A pawn has three targets to promote on."""
    if man == "P":
        return 3 * len(PROMOTION_LETTERS)
    kind = described_kind(man[1:-1]) if len(man) > 1 else KINDS[MEN_LETTERS.index(man)]
    return max(map(int.bit_count, reach(kind)))


def _side_sort_key(side: Sequence[str]) -> tuple[int, list[tuple[int, list[int]]]]:
    """Return the sort key of a side; the side with the smaller key comes first in a name."""
    return -len(side), [_man_sort_key(man) for man in side]


@cache
def _canonical_sides(white: str, black: str) -> tuple[str, str]:
    strong, weak = sorted((_sorted_men(men_of(side)) for side in (white, black)), key=_side_sort_key)
    return "".join(strong), "".join(weak)
