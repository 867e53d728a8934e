"""Cells: all positions that differ in the squares of some mobile men only.

Pawns stand still in a cell, and so do *frozen* men, kings or pieces; what these do leaves the cell. The
*slot* of a position is made of the squares of the mobile men, six bits each, in the order of ``Cell.mobile``.
"""

import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, NamedTuple, Self

import chess

from tbgen.board.kinds import KING, PIECE_ORDER
from tbgen.board.material import Material
from tbgen.errors import UsageError
from tbgen.index.layout import BLACK_TO_MOVE, SIDES, WHITE_TO_MOVE, Side
from tbgen.index.symmetry import IMAGE, MIRROR_FILES, MIRROR_RANKS

TYPES: Final = tuple(chess.PIECE_SYMBOLS.index(name.lower()) for name in PIECE_ORDER)
"""python-chess's type of each kind of man."""
_KIND_OF: Final = {kind: place for place, kind in enumerate(TYPES)}
_IMAGES: Final = (0, MIRROR_FILES, MIRROR_RANKS, MIRROR_FILES | MIRROR_RANKS)
"""Symmetries that a cell may be seen by; with ranks mirrored the colours are swapped."""


class Man(NamedTuple):
    """A king or piece without its square; the order of men is that of ``Cell.mobile``."""

    piece: bool
    """Whether it is no king: kings come first."""
    colour: Side
    kind: int
    """Place in ``PIECE_ORDER``."""


class Frozen(NamedTuple):
    """A king or piece that stands still."""

    square: int
    man: Man


def man_of(colour: Side, kind: int) -> Man:
    """Return the man of a colour and kind."""
    return Man(kind != KING, colour, kind)


@dataclass(frozen=True, order=True)
class Cell:
    """What all positions of a cell share."""

    mobile: tuple[Man, ...]
    """In the order of men: kings, then White's pieces, then Black's."""
    frozen: tuple[Frozen, ...]
    """By square."""
    white_pawns: int
    """Set of squares."""
    black_pawns: int

    @classmethod
    def of_board(cls, board: chess.Board, mobile: Iterable[chess.Square]) -> Self:
        """Return the cell of a position in which the men on some squares are mobile.

        :raises UsageError: if one of these squares is empty or has a pawn.
        """
        free = set()
        for square in mobile:
            kind = board.piece_type_at(square)
            if kind is None or kind == chess.PAWN:
                name = chess.square_name(square)
                what = "is empty" if kind is None else "has a pawn, and pawns move only out of their cell"
                raise UsageError(f"{name} {what}: mobile men are kings and pieces")
            free.add(square)
        moving, still = [], []
        for square, piece in board.piece_map().items():
            if piece.piece_type == chess.PAWN:
                continue
            man = man_of(SIDES[not piece.color], _KIND_OF[piece.piece_type])
            if square in free:
                moving.append(man)
            else:
                still.append(Frozen(square, man))
        pawns = (board.pawns & board.occupied_co[colour] for colour in chess.COLORS)
        return cls(tuple(sorted(moving)), tuple(sorted(still)), *pawns)

    @property
    def pawns(self) -> tuple[int, int]:
        """Sets of squares of White's and Black's pawns."""
        return self.white_pawns, self.black_pawns

    @property
    def size(self) -> int:
        """Number of slots for one side to move."""
        return int(64 ** len(self.mobile))

    @cached_property
    def still(self) -> int:
        """Set of the squares of pawns and frozen men."""
        still = self.white_pawns | self.black_pawns
        for man in self.frozen:
            still |= 1 << man.square
        return still

    @property
    def men(self) -> int:
        """Number of men, pawns and kings included."""
        return len(self.mobile) + self.still.bit_count()

    def sides(self) -> tuple[str, str]:
        """Return the letters of White's and Black's men."""
        men = [*self.mobile, *(frozen.man for frozen in self.frozen)]
        white, black = (
            "".join(PIECE_ORDER[man.kind] for man in men if man.colour == side)
            + "P" * self.pawns[side].bit_count()
            for side in SIDES
        )
        return white, black

    def material(self) -> tuple[Material, bool]:
        """Return the material, and whether its canonical form swaps the colours.

        :raises UsageError: if it has more men than tables have.
        """
        return Material.of_sides(*self.sides())

    def slot(self, squares: Sequence[int]) -> int:
        """Return the slot with the mobile men on some squares."""
        slot = 0
        for square in squares:
            slot = slot << 6 | square
        return slot

    def board_of(self, side: Side, slot: int) -> chess.Board | None:
        """Return the position of a slot, None if two men stand on one square."""
        board = chess.Board(None)
        for square, man in self.frozen:
            board.set_piece_at(square, _piece(man))
        for colour, pawns in zip(chess.COLORS, self.pawns, strict=True):
            for square in chess.scan_forward(pawns):
                board.set_piece_at(square, chess.Piece(chess.PAWN, colour))
        for man in reversed(self.mobile):
            square, slot = slot & 63, slot >> 6
            if board.piece_at(square) is not None:
                return None
            board.set_piece_at(square, _piece(man))
        board.turn = side == WHITE_TO_MOVE
        return board

    def squares_of(self, board: chess.Board) -> list[int]:
        """Return the squares of the mobile men in a position of the cell."""
        left: dict[Man, list[int]] = {}
        for square, piece in sorted(board.piece_map().items()):
            if piece.piece_type != chess.PAWN and not self.still >> square & 1:
                man = man_of(SIDES[not piece.color], _KIND_OF[piece.piece_type])
                left.setdefault(man, []).append(square)
        return [left[man].pop(0) for man in self.mobile]

    def image(self, symmetry: int) -> Self:
        """Return the cell seen by a symmetry of ``_IMAGES``."""
        swapped = bool(symmetry & MIRROR_RANKS)
        image = IMAGE[symmetry]

        def seen(man: Man) -> Man:
            return man._replace(colour=SIDES[man.colour ^ swapped])

        pawns = [sum(1 << image[square] for square in chess.scan_forward(own)) for own in self.pawns]
        if swapped:
            pawns.reverse()
        return type(self)(
            tuple(sorted(map(seen, self.mobile))),
            tuple(sorted(Frozen(image[square], seen(man)) for square, man in self.frozen)),
            *pawns,
        )

    @functools.lru_cache(maxsize=1 << 16)  # noqa: B019 - cells are small and alike
    def canonical(self) -> tuple[Self, int]:
        """Return the one of all cells alike that stands for them, and the symmetry that leads to it."""
        return min((self.image(symmetry), symmetry) for symmetry in _IMAGES)

    def apart_from(self, other: Self) -> Self:
        """Return the cell without the frozen men that it shares with another one."""
        return replace(self, frozen=tuple(frozen for frozen in self.frozen if frozen not in other.frozen))

    def freed(self, squares: Iterable[int]) -> Self:
        """Return the cell in which some frozen men are mobile too."""
        free = set(squares)
        freed = [frozen.man for frozen in self.frozen if frozen.square in free]
        return type(self)(
            tuple(sorted((*self.mobile, *freed))),
            tuple(frozen for frozen in self.frozen if frozen.square not in free),
            *self.pawns,
        )


def mobile_squares(board: chess.Board) -> Iterator[chess.Square]:
    """Yield the squares of all kings and pieces."""
    return chess.scan_forward(board.occupied & ~board.pawns)


def side_of(board: chess.Board) -> Side:
    """Return the side to move as tables number it."""
    return WHITE_TO_MOVE if board.turn else BLACK_TO_MOVE


def _piece(man: Man) -> chess.Piece:
    return chess.Piece(TYPES[man.kind], man.colour == WHITE_TO_MOVE)
