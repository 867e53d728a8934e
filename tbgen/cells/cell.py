"""Cells: all positions that differ in the squares of some mobile men only; their men and positions.

Pawns stand still in a cell, and so do *frozen* men, kings or pieces; what these do leaves the cell. The
*slot* of a position is made of the squares of the mobile men, six bits each, in the order of ``Cell.mobile``.

The men of a cell in the order in which kernels number them. The kings come first, mobile or not, then mobile
pieces, then frozen ones, and last the bit man: the last mobile piece if there is one, else a frozen one, else
Black's king. So the digits of a slot of the cell's frame are the squares of the mobile men in the order of
``Cell.mobile``, followed by that of a frozen bit man.
"""

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, NamedTuple, Self, TypeAlias

import chess

from tbgen.board.kinds import KING, PIECE_ORDER
from tbgen.board.material import Material
from tbgen.board.rules import position_score
from tbgen.board.score import Code, Rank
from tbgen.errors import UsageError
from tbgen.index.layout import BLACK_TO_MOVE, IMAGE, MIRROR_FILES, MIRROR_RANKS, SIDES, WHITE_TO_MOVE, Side
from tbgen.index.position import PIECE_TYPES

MOST_MOBILE: Final = 4
"""Most men of a cell that are mobile: 64 ** 4 slots for each side to move."""
PAWN: Final = len(PIECE_ORDER)
"""The kind of pawns among the men that stand still."""
_LETTERS: Final = PIECE_ORDER + "P"
IMAGES: Final = (0, MIRROR_FILES, MIRROR_RANKS, MIRROR_FILES | MIRROR_RANKS)
"""Symmetries that a cell may be seen by; with ranks mirrored the colours are swapped."""


class Man(NamedTuple):
    """A man without its square; the order of men is that of ``Cell.mobile``."""

    piece: bool
    """Whether it is no king: kings come first."""
    colour: Side
    kind: int
    """Place in ``PIECE_ORDER``, or ``PAWN``."""


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

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """Asked for many times, and men are many tuples."""
        return hash((self.mobile, self.frozen, self.pawns))

    @classmethod
    def of_men(cls, mobile: Iterable[Man], standing: Mapping[int, Man]) -> Self:
        """Return the cell of mobile men and, by square, of those that stand still, pawns included."""
        frozen, pawns = [], [0, 0]
        for square, man in standing.items():
            if man.kind == PAWN:
                pawns[man.colour] |= 1 << square
            else:
                frozen.append(Frozen(square, man))
        return cls(tuple(sorted(mobile)), tuple(sorted(frozen)), *pawns)

    @classmethod
    def of_board(cls, board: chess.Board, mobile: Iterable[chess.Square]) -> Self:
        """Return the cell of a position in which the men on some squares are mobile.

        :raises UsageError: if one of these squares is empty or has a pawn.
        """
        men = {square: _man(piece) for square, piece in board.piece_map().items()}
        free = set(mobile)
        for square in free:
            if square not in men or men[square].kind == PAWN:
                name = chess.square_name(square)
                what = "has a pawn, and pawns move only out of their cell" if square in men else "is empty"
                raise UsageError(f"{name} {what}: mobile men are kings and pieces")
        moving = [men.pop(square) for square in free]
        return cls.of_men(moving, men)

    @property
    def pawns(self) -> tuple[int, int]:
        """Sets of squares of White's and Black's pawns."""
        return self.white_pawns, self.black_pawns

    @property
    def size(self) -> int:
        """Number of slots for one side to move."""
        return int(64 ** len(self.mobile))

    @cached_property
    def standing(self) -> dict[int, Man]:
        """Frozen men and pawns by square."""
        pawns = {
            square: man_of(side, PAWN) for side in SIDES for square in chess.scan_forward(self.pawns[side])
        }
        return dict(self.frozen) | pawns

    @cached_property
    def still(self) -> int:
        """Set of the squares of pawns and frozen men."""
        return sum(1 << square for square in self.standing)

    @property
    def all_men(self) -> list[Man]:
        """The mobile men in their order, then those of :attr:`standing`."""
        return [*self.mobile, *self.standing.values()]

    @property
    def men(self) -> int:
        """Number of men, pawns and kings included."""
        pawns = chess.popcount(self.white_pawns | self.black_pawns)
        return len(self.mobile) + len(self.frozen) + pawns

    def sides(self) -> tuple[str, str]:
        """Return the letters of White's and Black's men."""
        white, black = (
            "".join(_LETTERS[man.kind] for man in self.all_men if man.colour == side) for side in SIDES
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
        board.set_piece_map({square: piece_of(man) for square, man in self.standing.items()})
        for man in reversed(self.mobile):
            square, slot = slot & 63, slot >> 6
            if board.piece_at(square) is not None:
                return None
            board.set_piece_at(square, piece_of(man))
        board.turn = side == WHITE_TO_MOVE
        return board

    def squares_of(self, board: chess.Board) -> list[int]:
        """Return the squares of the mobile men in a position of the cell."""
        left: dict[Man, list[int]] = {}
        for square, piece in sorted(board.piece_map().items()):
            if not self.still >> square & 1:
                left.setdefault(_man(piece), []).append(square)
        return [left[man].pop(0) for man in self.mobile]

    def image(self, symmetry: int) -> Self:
        """Return the cell seen by a symmetry of ``IMAGES``."""
        swapped = bool(symmetry & MIRROR_RANKS)

        def seen(man: Man) -> Man:
            return man._replace(colour=SIDES[man.colour ^ swapped])

        standing = {IMAGE[symmetry][square]: seen(man) for square, man in self.standing.items()}
        return self.of_men(map(seen, self.mobile), standing)

    @functools.lru_cache(maxsize=1 << 16)  # noqa: B019 - cells are small and alike
    def canonical(self) -> tuple[Self, int]:
        """Return the one of all cells alike that stands for them, and the symmetry that leads to it."""
        return min((self.image(symmetry), symmetry) for symmetry in IMAGES)

    def apart_from(self, other: Self) -> Self:
        """Return the cell without the frozen men that it shares with another one."""
        return replace(self, frozen=tuple(frozen for frozen in self.frozen if frozen not in other.frozen))

    def freed(self, squares: Iterable[int]) -> Self:
        """Return the cell in which some frozen men are mobile too."""
        standing = self.standing.copy()
        freed = [standing.pop(square) for square in squares]
        return self.of_men((*self.mobile, *freed), standing)


def mobile_squares(board: chess.Board) -> Iterator[chess.Square]:
    """Yield the squares of all kings and pieces."""
    return chess.scan_forward(board.occupied & ~board.pawns)


def side_of(board: chess.Board) -> Side:
    """Return the side to move as tables number it."""
    return WHITE_TO_MOVE if board.turn else BLACK_TO_MOVE


def piece_of(man: Man) -> chess.Piece:
    """Return the man as python-chess has it."""
    return chess.Piece(PIECE_TYPES[man.kind], man.colour == WHITE_TO_MOVE)


_MEN: Final = {
    colour: {kind: man_of(SIDES[not colour], number) for number, kind in enumerate(PIECE_TYPES)}
    for colour in chess.COLORS
}
"""The man of each colour and type of python-chess."""


def _man(piece: chess.Piece) -> Man:
    return _MEN[piece.color][piece.piece_type]


MOBILE: Final = -1
"""Stands for the square of a mobile man."""


class Castling(NamedTuple):
    """A way to castle: squares."""

    king: int
    rook: int
    king_to: int
    rook_to: int


@dataclass(frozen=True)
class Lineup:
    """A cell with its men in order; this is all that its ways out depend on."""

    cell: Cell
    men: tuple[Man, ...]
    squares: tuple[int, ...]
    """Square of each man that is frozen, -1 for mobile ones."""
    castlings: tuple[Castling, ...] = ()


def lineup_of_cell(cell: Cell, castlings: tuple[Castling, ...] = ()) -> Lineup:
    """Return the men of a cell, whose frozen kings and rooks may castle in some ways."""
    mobile = [(man, MOBILE) for man in cell.mobile]
    still = [(frozen.man, frozen.square) for frozen in cell.frozen]
    placed = sorted([*mobile, *still], key=lambda each: (each[0].piece, each[0].piece or each[0].colour))
    pieces = [place for place, (man, square) in enumerate(placed) if man.piece and square == MOBILE]
    placed.append(placed.pop(pieces[-1] if pieces else -1))
    men, squares = zip(*placed, strict=True)
    return Lineup(cell, men, squares, castlings)


CellPlace: TypeAlias = tuple[Cell, Side, int]
"""What tells a position from others: its cell, side to move and slot."""


@dataclass(frozen=True)
class CellPosition:
    """A legal position, seen from its cell."""

    board: chess.Board
    mobile: chess.Bitboard
    """Squares of the mobile men."""

    @cached_property
    def cell(self) -> Cell:
        """The position's cell."""
        return Cell.of_board(self.board, chess.scan_forward(self.mobile))

    @cached_property
    def slot(self) -> int:
        """Its slot in the cell."""
        return self.cell.slot(self.cell.squares_of(self.board))

    @property
    def place(self) -> CellPlace:
        """What tells it from other positions."""
        return self.cell, side_of(self.board), self.slot

    @cached_property
    def rank(self) -> Rank:
        """Its rank."""
        return Rank(position_score(self.board).rank)

    @property
    def own(self) -> Code:
        """Code of its own score."""
        return Code(255 - self.rank if self.board.turn else self.rank)

    @property
    def over(self) -> bool:
        """Whether it is mate or stalemate."""
        return self.rank < 2

    def seen_by(self, symmetry: int) -> Self:
        """Return the position seen by a symmetry: files mirrored, or ranks and colours swapped, or both."""
        if not symmetry:
            return self
        board, mobile = self.board, self.mobile
        if symmetry & MIRROR_FILES:
            board, mobile = board.transform(chess.flip_horizontal), chess.flip_horizontal(mobile)
        if symmetry & MIRROR_RANKS:
            board, mobile = board.mirror(), chess.flip_vertical(mobile)
        return type(self)(board, mobile)

    def moves(self) -> Iterator["Step"]:
        """Yield the legal moves; promoted men are mobile where there is room for one more."""
        for move in self.board.legal_moves:
            after = self.board.copy(stack=False)
            after.push(move)
            origin, target = chess.BB_SQUARES[move.from_square], chess.BB_SQUARES[move.to_square]
            mobile = self.mobile & ~target
            moved = bool(mobile & origin)
            if moved:
                mobile = mobile & ~origin | target
            if move.promotion and mobile.bit_count() < MOST_MOBILE:
                mobile |= target
            zeroing = self.board.is_zeroing(move)
            yield Step(move, type(self)(after, mobile), zeroing, moved and not zeroing)


@dataclass(frozen=True)
class Step:
    """A legal move."""

    move: chess.Move
    after: CellPosition
    zeroing: bool
    inside: bool
    """Whether it stays in the cell."""
