"""Cells, their men and their positions. The positions of a cell differ only in the squares of its mobile men.

Pawns and *frozen* men (kings or pieces) stand still in a cell: their moves lead to other cells. The *slot* of
a position consists of the squares of the mobile men, six bits each, in the order of ``Cell.mobile``.

Kernels number the men of a cell in the order of its ``Lineup``: kings, mobile pieces, frozen pieces. However,
the last man is the bit man (see docs/glossary.md). The bit man is the last mobile piece or, if no piece is
mobile, a frozen piece or, if there are no pieces, Black's king. Therefore the slot of a position in the
cell's frame is its slot in the cell, followed by the square of the bit man if the bit man is frozen.
"""

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, NamedTuple, Self, TypeAlias

import chess

from tbgen.board.kinds import KIND_LETTERS, KING, MEN_LETTERS
from tbgen.board.material import Material
from tbgen.board.rules import position_score
from tbgen.board.score import Code, Rank, rank_of_code
from tbgen.errors import UsageError
from tbgen.index.layout import BLACK_TO_MOVE, IMAGE, MIRROR_FILES, MIRROR_RANKS, SIDES, WHITE_TO_MOVE, Side
from tbgen.index.position import PIECE_TYPES

MAX_MOBILE: Final = 4
"""Maximum number of mobile men of a cell, which then has 64 ** 4 slots for each side to move."""
PAWN: Final = len(KIND_LETTERS)
"""Kind number of pawns. It follows the kind numbers of ``KIND_LETTERS``."""
SYMMETRIES: Final = (0, MIRROR_FILES, MIRROR_RANKS, MIRROR_FILES | MIRROR_RANKS)
"""The symmetries of cells. A symmetry that mirrors the ranks also swaps the colours."""
MOBILE: Final = -1
"""Placeholder for the square of a mobile man."""


class Man(NamedTuple):
    """A man without its square. Men sort in the order of ``Cell.mobile``."""

    piece: bool
    """True for pieces and pawns; False for kings, which therefore sort first."""
    colour: Side
    kind: int
    """Index in ``KIND_LETTERS``, or ``PAWN``."""


class Frozen(NamedTuple):
    """A king or piece that stands still in a cell, with its square."""

    square: int
    man: Man


def man_of(colour: Side, kind: int) -> Man:
    """Return the man of the given colour and kind."""
    return Man(kind != KING, colour, kind)


@dataclass(frozen=True, order=True)
class Cell:
    """A cell, given by its mobile men, and by its pawns and frozen men with their squares."""

    mobile: tuple[Man, ...]
    """Sorted: kings, then White's pieces, then Black's."""
    frozen: tuple[Frozen, ...]
    """Sorted by square."""
    white_pawns: int
    """Squares of White's pawns, as a bitboard."""
    black_pawns: int

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """The hash. It is cached, because dictionaries need it often and computing it is slow."""
        return hash((self.mobile, self.frozen, self.pawns))

    @classmethod
    def of_men(cls, mobile: Iterable[Man], standing: Mapping[int, Man]) -> Self:
        """Return the cell with the given mobile men. ``standing`` maps squares to pawns and frozen men."""
        frozen = []
        pawns = [0, 0]
        for square, man in standing.items():
            if man.kind == PAWN:
                pawns[man.colour] |= 1 << square
            else:
                frozen.append(Frozen(square, man))
        return cls(tuple(sorted(mobile)), tuple(sorted(frozen)), *pawns)

    @classmethod
    def of_board(cls, board: chess.Board, mobile: Iterable[chess.Square]) -> Self:
        """Return the cell of a position.

        :param mobile: squares of the mobile men.
        :raises UsageError: if a square in ``mobile`` is empty or has a pawn.
        """
        men = {square: _man_of_piece(piece) for square, piece in board.piece_map().items()}
        chosen_squares = set(mobile)
        for square in chosen_squares:
            if square not in men or men[square].kind == PAWN:
                name = chess.square_name(square)
                reason = "has a pawn, and pawns move only out of their cell" if square in men else "is empty"
                raise UsageError(f"{name} {reason}: mobile men are kings and pieces")
        mobile_men = [men.pop(square) for square in chosen_squares]
        return cls.of_men(mobile_men, men)

    @property
    def pawns(self) -> tuple[int, int]:
        """Squares of White's pawns and of Black's pawns, as bitboards."""
        return self.white_pawns, self.black_pawns

    @property
    def size(self) -> int:
        """Number of slots for one side to move."""
        return int(64 ** len(self.mobile))

    @cached_property
    def standing(self) -> dict[int, Man]:
        """The frozen men and pawns, by square."""
        squares = ((square, side) for side in SIDES for square in chess.scan_forward(self.pawns[side]))
        return dict(self.frozen) | {square: man_of(side, PAWN) for square, side in squares}

    @cached_property
    def standing_mask(self) -> int:
        """Squares of pawns and frozen men, as a bitboard."""
        return sum(1 << square for square in self.standing)

    @cached_property
    def has_twins(self) -> bool:
        """Whether two mobile men are alike. They are in the order of their squares."""
        return len(set(self.mobile)) < len(self.mobile)

    @property
    def all_men(self) -> list[Man]:
        """The mobile men in their order, then the men of :attr:`standing`."""
        return [*self.mobile, *self.standing.values()]

    @property
    def men(self) -> int:
        """Number of men, pawns and kings included."""
        pawns = chess.popcount(self.white_pawns | self.black_pawns)
        return len(self.mobile) + len(self.frozen) + pawns

    def side_letters(self) -> tuple[str, str]:
        """Return the letters of White's and Black's men."""
        white, black = (
            "".join(MEN_LETTERS[man.kind] for man in self.all_men if man.colour == side) for side in SIDES
        )
        return white, black

    def material(self) -> tuple[Material, bool]:
        """Return the material, and whether its canonical form swaps the colours.

        :raises UsageError: if the cell has more men than any table.
        """
        return Material.of_sides(*self.side_letters())

    def slot(self, squares: Sequence[int]) -> int:
        """Return the slot with the mobile men on the given squares, which are in the order of ``mobile``."""
        slot = 0
        for square in squares:
            slot = slot << 6 | square
        return slot

    def board_of(self, side: Side, slot: int) -> chess.Board | None:
        """Return the position of a slot with the given side to move; None if two men share a square."""
        board = chess.Board(None)
        board.set_piece_map({square: piece_of(man) for square, man in self.standing.items()})
        for man in reversed(self.mobile):
            square, slot = slot & 63, slot >> 6
            if board.piece_at(square) is not None:
                return None
            board.set_piece_at(square, piece_of(man))
        board.turn = bool(side == WHITE_TO_MOVE)  # numpy may have computed the side
        return board

    def squares_of(self, board: chess.Board) -> list[int]:
        """Return the squares of the mobile men in a position of the cell, in the order of ``mobile``."""
        squares: dict[Man, list[int]] = {}
        for square, piece in sorted(board.piece_map().items()):
            if not self.standing_mask >> square & 1:
                squares.setdefault(_man_of_piece(piece), []).append(square)
        return [squares[man].pop(0) for man in self.mobile]

    def image(self, symmetry: int) -> Self:
        """Return the image of the cell under a symmetry of ``SYMMETRIES``."""
        swapped = bool(symmetry & MIRROR_RANKS)

        def image_of(man: Man) -> Man:
            return man._replace(colour=SIDES[man.colour ^ swapped])

        standing = {IMAGE[symmetry][square]: image_of(man) for square, man in self.standing.items()}
        return self.of_men(map(image_of, self.mobile), standing)

    @functools.lru_cache(maxsize=1 << 16)  # noqa: B019 - cells are small, and the cache is bounded
    def canonical(self) -> tuple[Self, int]:
        """Return the smallest of the cell's images, and the symmetry that maps the cell to it."""
        return min((self.image(symmetry), symmetry) for symmetry in SYMMETRIES)

    def minus_frozen(self, other: Self) -> Self:
        """Return the cell without the frozen men that the other cell also has on the same squares."""
        return replace(self, frozen=tuple(frozen for frozen in self.frozen if frozen not in other.frozen))

    def with_freed(self, squares: Iterable[int]) -> Self:
        """Return the cell in which the frozen men on the given squares are mobile too."""
        standing = self.standing.copy()
        freed = [standing.pop(square) for square in squares]
        return self.of_men((*self.mobile, *freed), standing)


def mobile_squares(board: chess.Board) -> Iterator[chess.Square]:
    """Yield the squares of all kings and pieces."""
    return chess.scan_forward(board.occupied & ~board.pawns)


def side_of(board: chess.Board) -> Side:
    """Return the side to move, 0 for White and 1 for Black."""
    return WHITE_TO_MOVE if board.turn else BLACK_TO_MOVE


def piece_of(man: Man) -> chess.Piece:
    """Return the man as a piece of python-chess."""
    return chess.Piece(PIECE_TYPES[man.kind], man.colour == WHITE_TO_MOVE)


_MEN: Final = {
    colour: {piece_type: man_of(SIDES[not colour], kind) for kind, piece_type in enumerate(PIECE_TYPES)}
    for colour in chess.COLORS
}
"""Maps each colour and piece type of python-chess to the man."""


def _man_of_piece(piece: chess.Piece) -> Man:
    return _MEN[piece.color][piece.piece_type]


class Castling(NamedTuple):
    """The squares of the king and the rook before a castling move and after it."""

    king: int
    rook: int
    king_to: int
    rook_to: int


@dataclass(frozen=True)
class Lineup:
    """A cell with its kings and pieces in the order that kernels use. It determines the cell's routes."""

    cell: Cell
    men: tuple[Man, ...]
    squares: tuple[int, ...]
    """The square of each man; ``MOBILE`` for mobile men."""
    castlings: tuple[Castling, ...] = ()
    """Castling moves that frozen kings and rooks may make."""


def lineup_of_cell(cell: Cell, castlings: tuple[Castling, ...] = ()) -> Lineup:
    """Return the lineup of a cell with the castling moves that its frozen kings and rooks may make."""
    mobile = [(man, MOBILE) for man in cell.mobile]
    frozen = [(man, square) for square, man in cell.frozen]
    ordered = sorted([*mobile, *frozen], key=lambda pair: (pair[0].piece, pair[0].piece or pair[0].colour))
    mobile_pieces = [index for index, (man, square) in enumerate(ordered) if man.piece and square == MOBILE]
    ordered.append(ordered.pop(mobile_pieces[-1] if mobile_pieces else -1))
    men, squares = zip(*ordered, strict=True)
    return Lineup(cell, men, squares, castlings)


PositionKey: TypeAlias = tuple[Cell, Side, int]
"""Identifies a position: its cell, the side to move and the slot."""


@dataclass(frozen=True)
class CellPosition:
    """A legal position with a choice of mobile men, which determines its cell."""

    board: chess.Board
    mobile: chess.Bitboard
    """Squares of the mobile men."""

    @cached_property
    def cell(self) -> Cell:
        """The cell of the position."""
        return Cell.of_board(self.board, chess.scan_forward(self.mobile))

    @cached_property
    def squares(self) -> list[int]:
        """The squares of the mobile men, in the order of ``Cell.mobile``."""
        return self.cell.squares_of(self.board)

    @cached_property
    def slot(self) -> int:
        """The slot of the position in its cell."""
        return self.cell.slot(self.squares)

    @property
    def key(self) -> PositionKey:
        """The key that identifies the position."""
        return self.cell, side_of(self.board), self.slot

    @cached_property
    def rank(self) -> Rank:
        """The position rank."""
        return Rank(position_score(self.board).rank)

    @property
    def position_score(self) -> Code:
        """Code of the position score."""
        return Code(255 - self.rank if self.board.turn else self.rank)

    @property
    def is_over(self) -> bool:
        """Whether the position is mate or stalemate."""
        return self.rank < 2

    def image(self, symmetry: int) -> Self:
        """Return the image of the position under a symmetry of ``SYMMETRIES``."""
        if not symmetry:
            return self
        board, mobile = self.board, self.mobile
        if symmetry & MIRROR_FILES:
            board, mobile = board.transform(chess.flip_horizontal), chess.flip_horizontal(mobile)
        if symmetry & MIRROR_RANKS:
            board, mobile = board.mirror(), chess.flip_vertical(mobile)
        return type(self)(board, mobile)

    def moves(self) -> Iterator["Step"]:
        """Yield the legal moves."""
        for move in self.board.legal_moves:
            zeroing = self.board.is_zeroing(move)
            is_inside = not zeroing and bool(self.mobile & chess.BB_SQUARES[move.from_square])
            yield Step(move, self, zeroing, is_inside)


@dataclass(frozen=True)
class Step:
    """A legal move."""

    move: chess.Move
    before: CellPosition
    """The position in which the move is legal."""
    zeroing: bool
    is_inside: bool
    """Whether the move stays in the cell."""

    @cached_property
    def after(self) -> CellPosition:
        """The position after the move.

        A promoted man becomes mobile, unless ``MAX_MOBILE`` men already are.
        """
        move, before = self.move, self.before
        board = before.board.copy(stack=False)
        board.push(move)
        origin, target = chess.BB_SQUARES[move.from_square], chess.BB_SQUARES[move.to_square]
        mobile = before.mobile & ~target
        if mobile & origin:
            mobile = mobile & ~origin | target
        if move.promotion and mobile.bit_count() < MAX_MOBILE:
            mobile |= target
        after = CellPosition(board, mobile)
        if self.is_inside:  # cheaper than finding the cell and the squares on the board
            vars(after).update(cell=before.cell, squares=self._squares_after())
        return after

    def _squares_after(self) -> list[int]:
        """Return the squares of the mobile men after a move inside the cell."""
        cell, origin, target = self.before.cell, self.move.from_square, self.move.to_square
        squares = [target if square == origin else square for square in self.before.squares]
        if not cell.has_twins:
            return squares
        return [square for _, square in sorted(zip(cell.mobile, squares, strict=True))]


StateKey: TypeAlias = tuple[PositionKey, Code]
"""Identifies a state: the key of its position, and its accrued score."""


class CellState(NamedTuple):
    """A position of a cell, with its accrued score."""

    position: CellPosition
    accrued: Code

    @classmethod
    def fresh(cls, position: CellPosition) -> Self:
        """Return the fresh state of a position."""
        return cls(position, position.position_score)

    @property
    def cell(self) -> Cell:
        """The cell of the position."""
        return self.position.cell

    @property
    def key(self) -> StateKey:
        """The key that identifies the state."""
        return self.position.key, self.accrued

    @property
    def is_fresh(self) -> bool:
        """Whether the accrued score is the position score."""
        return self.accrued == self.position.position_score

    def image(self, symmetry: int) -> "CellState":
        """Return the image of the state under a symmetry of ``SYMMETRIES``."""
        accrued = Code(255 - self.accrued) if symmetry & MIRROR_RANKS else self.accrued
        return CellState(self.position.image(symmetry), accrued)

    def after(self, step: Step) -> "CellState":
        """Return the state after a move."""
        score = step.after.position_score
        is_reset = step.zeroing or rank_of_code(score) < rank_of_code(self.accrued)
        return CellState(step.after, score if is_reset else self.accrued)
