"""G-scores, with their order, text and codes in tables; and signed scores, the integers that probing uses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import total_ordering
from operator import index
from typing import TYPE_CHECKING, ClassVar, Final, NewType, SupportsIndex, overload

from tbgen.board.immutable import Immutable, set_attribute
from tbgen.errors import UsageError, quote

if TYPE_CHECKING:
    import chess


Rank = NewType("Rank", int)
"""Twice the number of legal moves of the side to move, plus 1 unless it is in check.

It is twice the unsigned G-score."""

Code = NewType("Code", int)
"""The byte that stands for a score in tables; a smaller code is better for White."""

MAX_RANK: Final = 1999
"""Greatest rank of a score, that of G999.5: more moves than any arrangement of chessmen allows."""

MAX_CODED_RANK: Final = 126
"""Greatest rank that has a code, that of G63.0."""

NONE: Final = Code(127)
"""The code that stands for no position or no value."""

_SCORE_PATTERN = re.compile("([-m\N{MINUS SIGN}\N{EN DASH}])?[Gg]([0-9]+)(?:\\.([0-9]+))?")
_HALF_DECIMALS: Final = {None: 0, "0": 0, "5": 2}

Signed = NewType("Signed", int)
"""A score as an integer: r for White's score of rank r, ~r for Black's."""

_RANK_BY_SIGNED: Final = (*map(Rank, range(MAX_RANK + 1)), *map(Rank, range(MAX_RANK, -1, -1)))
"""The rank of each signed score; negative indices count from the end."""

_SIGNED_BY_CODE: Final = (*map(Signed, range(128)), *map(Signed, range(-128, 0)))
"""The signed score of each code."""


def rank_of_code(code: int) -> Rank:
    """Return the rank of the score with the given code.

    >>> rank_of_code(GScore("G3.5").code), rank_of_code(GScore("-G3.5").code)
    (7, 7)
    """
    return Rank(min(code, 255 - code))


@total_ordering
class GScore(Immutable):
    """A G-score: the rank of a position, held by the side that has just moved.

    The rank is twice the number of legal moves of the side to move, plus one unless that side is in check.
    The score prints as half its rank. The fewer moves the opponent has, the better for the holder:

    =========  ====  ======================================
    text       rank  meaning
    =========  ====  ======================================
    ``G0.0``   0     White mates
    ``G0.5``   1     White stalemates
    ``G1.0``   2     White leaves one move, giving check
    ``G1.5``   3     White leaves one move
    ``-G0.0``  0     Black mates
    =========  ====  ======================================

    Scores are ordered from White's point of view, so a greater score is better for White:
    ``G0.0 > G0.5 > G1.0 > ... > -G1.0 > -G0.5 > -G0.0``.

    No score equals a text: compare it with ``GScore("G1.5")``.

    A score is made from a text, or from a rank and whether White is the holder:

    :ivar rank: twice the number of legal moves, plus 1 if there is no check; also twice the unsigned G-score.
    :ivar white: True if White is the holder, False if Black is.

    >>> max(GScore("G3.5"), GScore("-G8.5"), GScore(3, True))
    GScore('G1.5')
    >>> f"{GScore('mG3.5'):>8}"
    '   -G3.5'

    :raises UsageError: if the text is malformed, or the rank is negative or above :data:`MAX_RANK`.
    :raises TypeError: if the arguments are neither a string nor a rank and a holder.
    """

    __slots__ = __match_args__ = ("rank", "white")

    JSON_SCHEMA: ClassVar = {"type": "string", "pattern": r"^-?G[0-9]+\.[05]$"}

    rank: int
    white: bool

    @overload
    def __init__(self, rank: str) -> None: ...

    @overload
    def __init__(self, rank: SupportsIndex, white: bool) -> None: ...

    def __init__(self, rank: str | SupportsIndex, white: bool | None = None) -> None:
        if type(rank) is not int or type(white) is not bool:
            rank, white = _rank_and_holder(rank, white)
        if not 0 <= rank <= MAX_RANK:
            raise UsageError(f"a G-score is between G0.0 and G{MAX_RANK / 2}, but rank {rank} is not")
        set_attribute(self, "rank", rank)
        set_attribute(self, "white", white)

    @classmethod
    def parse(cls, text: str) -> GScore:
        """Parse a score such as ``G3.5``, ``g3.5``, ``G3`` (White's), ``-G3.5`` or ``mG3.5`` (Black's).

        The ``m`` stands for minus, for command lines where a leading ``-`` would look like an option. A minus
        sign and an en dash, to which word processors convert hyphens, are also accepted.

        :raises UsageError: if the text is anything else.
        :raises TypeError: if the argument is not a string.

        >>> str(GScore.parse("mg3"))
        '-G3.0'
        """
        return cls(text)

    @classmethod
    def from_code(cls, code: SupportsIndex) -> GScore:
        """Return the score with the given code; equal codes give the same object.

        :raises UsageError: if no score has that code, as with :data:`NONE`.
        :raises TypeError: if the code is not a whole number.
        """
        try:
            return _SCORE_BY_CODE[index(code)]
        except TypeError:
            raise TypeError(f"a code cannot be {type(code).__name__}: expected a whole number") from None
        except KeyError:
            raise UsageError(f"{code} is not the code of a G-score") from None

    @classmethod
    def of_board(cls, board: chess.Board) -> GScore:
        """Return the position score, which is the accrued score of a game that begins or is reset here.

        >>> import chess
        >>> print(GScore.of_board(chess.Board("8/8/8/2K3k1/8/8/8/8 w - - 0 1")))
        -G8.5
        """
        return cls(2 * board.legal_moves.count() + (not board.is_check()), not board.turn)

    @property
    def g(self) -> float:
        """The unsigned G-score: 3.5 for ``G3.5`` and for ``-G3.5``."""
        return self.rank / 2

    @property
    def holder(self) -> str:
        """The side that the score belongs to: ``"white"`` or ``"black"``."""
        return "white" if self.white else "black"

    @property
    def is_mate(self) -> bool:
        """Whether the side to move is mated in a position with this position score."""
        return self.rank == 0

    @property
    def is_stalemate(self) -> bool:
        """Whether the side to move is stalemated in a position with this position score."""
        return self.rank == 1

    @property
    def code(self) -> Code:
        """The byte that stands for the score in tables; a smaller code is better for White.

        If White holds the score, the code is its rank; if Black holds it, the code is 255 minus its rank.

        :raises UsageError: if the rank is above :data:`MAX_CODED_RANK`.
        """
        if self.rank > MAX_CODED_RANK:
            raise UsageError(f"{self} is too large for tables, whose greatest score is G{MAX_CODED_RANK / 2}")
        return Code(self.rank if self.white else 255 - self.rank)

    def __neg__(self) -> GScore:
        """Return the score with the colours swapped."""
        return GScore(self.rank, not self.white)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GScore):
            return NotImplemented
        return self.rank == other.rank and self.white == other.white

    def __hash__(self) -> int:
        return self.rank if self.white else ~self.rank

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, GScore):
            return NotImplemented
        if self.white != other.white:
            return other.white
        return self.rank > other.rank if self.white else self.rank < other.rank

    def __str__(self) -> str:
        return f"{'' if self.white else '-'}G{self.rank / 2}"

    def __repr__(self) -> str:
        return f"GScore('{self}')"

    def __format__(self, specification: str) -> str:
        return format(str(self), specification)


def _rank_and_holder(score: str | SupportsIndex, white: bool | None) -> tuple[int, bool]:
    """Return the rank and holder of a score from a text, or from a rank and a holder.

    The rank and the holder may have numpy's types.
    """
    if white is not None:
        if white not in (True, False):
            raise TypeError(f"the holder of a G-score cannot be {white!r}: expected True for White, or False")
        try:
            return index(score), bool(white)  # type: ignore[arg-type]
        except TypeError:
            expected = "a whole number, twice the moves plus 1 without check"
            raise TypeError(
                f"the rank of a G-score cannot be {type(score).__name__}: expected {expected}"
            ) from None
    if not isinstance(score, str):
        raise TypeError(
            f"a G-score cannot be made from {type(score).__name__}: expected text such as 'G3.5', or a rank "
            "and whether White holds it"
        )
    expected = "moves in halves, such as G3.5 or G3, or -G3.5 or mG3.5 if Black holds it"
    quarters, white = parse_quarters(score, "a G-score", expected, _HALF_DECIMALS)
    return quarters // 2, white


def parse_quarters(
    text: str, noun: str, expected: str, decimals: Mapping[str | None, int]
) -> tuple[int, bool]:
    """Return four times the unsigned score in a text, and whether White holds it.

    :param noun: the kind of score with its article, for error messages.
    :param expected: the accepted forms, for error messages.
    :param decimals: the allowed decimals, each with its number of quarters.
    :raises UsageError: if the text is malformed, or the score too large.
    """
    match = _SCORE_PATTERN.fullmatch(text)
    if match is None or match[3] not in decimals:
        raise UsageError(f"{quote(text)} is not {noun}: expected {expected}")
    minus, moves, fraction = match.groups()
    digits = moves.lstrip("0") or "0"
    if len(digits) > len(str(MAX_RANK // 2)):
        largest = MAX_RANK // 2 + max(decimals.values()) / 4
        raise UsageError(f"{quote(text)} is not {noun}: the largest one is G{largest}")
    return 4 * int(digits) + decimals[fraction], minus is None


_SCORE_BY_CODE: Final[dict[SupportsIndex, GScore]] = {
    score.code: score
    for rank in range(MAX_CODED_RANK + 1)
    for score in (GScore(rank, True), GScore(rank, False))
}


def rank_of(score: Signed) -> Rank:
    """Return the rank of a signed score.

    >>> rank_of(Signed(7)), rank_of(Signed(~7))
    (7, 7)
    """
    return _RANK_BY_SIGNED[score]


def signed_of(code: Code, swapped: bool = False) -> Signed:
    """Return the signed score with the given code; if ``swapped``, the colours are swapped.

    >>> signed_of(Code(7)), signed_of(Code(7), swapped=True)
    (7, -8)
    """
    return _SIGNED_BY_CODE[code ^ 255 if swapped else code]


def code_of(score: Signed, swapped: bool = False) -> Code:
    """Return the code of a score whose rank is at most :data:`MAX_CODED_RANK`.

    This is the inverse of :func:`signed_of`.
    """
    return Code((~score if swapped else score) & 255)


def to_signed(score: GScore) -> Signed:
    """Return a G-score as a signed score."""
    return Signed(score.rank if score.white else ~score.rank)


def to_gscore(score: Signed) -> GScore:
    """Return a signed score as a G-score.

    >>> print(to_gscore(Signed(~7)))
    -G3.5
    """
    rank = rank_of(score)
    if rank <= MAX_CODED_RANK:
        return GScore.from_code(score & 255)
    return GScore(rank, score >= 0)


def merit(score: Signed, white: bool) -> int:
    """Return a number that orders scores from one side's point of view: a greater number is better.

    >>> merit(Signed(0), True) > merit(Signed(7), True) > merit(Signed(~7), True) > merit(Signed(~0), True)
    True
    """
    white_merit = 4096 - score if score >= 0 else -4096 - score
    return white_merit if white else -white_merit


def fold(accrued: Signed, position_score: Signed) -> Signed:
    """Return the fold of an accrued score with a position score: the score of smaller rank.

    On equal ranks, the accrued score is returned.
    """
    return position_score if rank_of(position_score) < rank_of(accrued) else accrued
