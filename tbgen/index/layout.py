"""The layout of a table: the slot of each position in the table's arrays, up to the symmetries of the board.

The *free men* of a material are the kings and pieces, in the order White's king, Black's king, White's other
pieces, Black's other pieces. Pawns do not move within a phase; their squares are the *placement* of the
phase. The slot of a position is

    phase * phase_size + ((king * 64 + black_king) * 64 + first_piece) * 64 + ...

With pawns, ``king`` is the square of White's king, 0..63. Without pawns, ``king`` is the number of that
square in the triangle a1-d1-d4, 0..9. Several slots can stand for one position up to symmetry; the smallest
of them is the *canonical* slot.

Squares are numbered as in python-chess: a1 = 0, b1 = 1, ..., h8 = 63.
"""

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from math import factorial, prod
from typing import Final, NewType

from tbgen.board.kinds import KING
from tbgen.board.material import Material
from tbgen.errors import LimitError

TRIANGLE: Final = (0, 1, 2, 3, 9, 10, 11, 18, 19, 27)
"""a1 b1 c1 d1 b2 c2 d2 c3 d3 d4: one square of each orbit under the eight symmetries."""

TRIANGLE_COORD: Final = {square: coord for coord, square in enumerate(TRIANGLE)}

MIRROR_FILES: Final = 1
"""Bit of a symmetry number: a1 <-> h1."""
MIRROR_RANKS: Final = 2
"""Bit of a symmetry number: a1 <-> a8."""
TRANSPOSE: Final = 4
"""Bit of a symmetry number: b1 <-> a2, applied after the mirrors."""

MAX_NODES: Final = 1 << 32
"""Maximum number of nodes of a phase (docs/glossary.md), because the solver stores a node in four bytes."""

_PAWN_SQUARES: Final = range(8, 56)

Placement = tuple[int, ...]
"""The squares of White's pawns, then of Black's, each in ascending order."""

Slot = NewType("Slot", int)
"""Index of a position in the arrays of its table, for one side to move: 0 to ``Layout.size`` - 1."""

Side = NewType("Side", int)
"""The side to move in a table: 0 for White, 1 for Black."""

SIDES: Final = (Side(0), Side(1))
WHITE_TO_MOVE, BLACK_TO_MOVE = SIDES


def image_of(symmetry: int, square: int) -> int:
    """Return the image of a square under a symmetry, a number from 0 to 7.

    The bits of the number are applied in this order: mirror files, mirror ranks, transpose.
    """
    file, rank = square & 7, square >> 3
    if symmetry & MIRROR_FILES:
        file = 7 - file
    if symmetry & MIRROR_RANKS:
        rank = 7 - rank
    if symmetry & TRANSPOSE:
        file, rank = rank, file
    return rank * 8 + file


IMAGE: Final = tuple(tuple(image_of(s, square) for square in range(64)) for s in range(8))
"""The image of each square under each symmetry: ``IMAGE[symmetry][square]``."""

INVERSE: Final = tuple(
    next(t for t in range(8) if all(IMAGE[t][IMAGE[s][q]] == q for q in range(64))) for s in range(8)
)
"""The inverse of each symmetry."""

INTO_TRIANGLE: Final = tuple(
    tuple(s for s in range(8) if IMAGE[s][square] in TRIANGLE_COORD) for square in range(64)
)
"""The symmetries that map each square into the triangle: two for a square on a long diagonal, else one."""


def _touch(pair: int) -> bool:
    coord, black_king = divmod(pair, 64)
    rank, file = divmod(TRIANGLE[coord], 8)
    black_rank, black_file = divmod(black_king, 8)
    return max(abs(file - black_file), abs(rank - black_rank)) <= 1


TOUCHING_PAIRS: Final = tuple(filter(_touch, range(len(TRIANGLE) * 64)))
"""The king pairs on the same square or on neighbouring squares, encoded as in :data:`PAIRS_TO_SOLVE`."""


def _must_be_solved(pair: int) -> bool:
    coord, black_king = divmod(pair, 64)
    is_image = TRIANGLE[coord] % 9 == 0 and black_king % 8 < black_king // 8
    return pair not in TOUCHING_PAIRS and not is_image


PAIRS_TO_SOLVE: Final = tuple(filter(_must_be_solved, range(len(TRIANGLE) * 64)))
"""The 462 king pairs that must be solved if there are no pawns. A pair is 64 times the triangle coordinate of
White's king, plus the square of Black's king. The other 178 pairs have no legal positions, or are images of
pairs that are solved."""


def mirror_rank(square: int) -> int:
    """Return the square in the same file on the mirrored rank: its image when colours are swapped."""
    return square ^ 56


def check_nodes(slots: int, owner: str) -> None:
    """Check that the solver can number the nodes of a phase with ``slots`` slots for one side to move.

    :param owner: what the phase belongs to, for the message.
    :raises LimitError: if there are more than :data:`MAX_NODES` nodes.
    """
    if 2 * slots > MAX_NODES:
        raise LimitError(f"{owner} has {2 * slots} nodes; the solver numbers at most {MAX_NODES}")


@dataclass(frozen=True, eq=False)
class Layout:
    """The layout of one material, as :func:`layout_of` returns it."""

    material: Material
    kinds: tuple[int, ...]
    """Kind of each free man, as an index into ``material.kinds``."""
    colours: tuple[int, ...]
    """Colour of each free man: 0 for White, 1 for Black."""
    white_pawns: int
    """Number of White's pawns."""
    black_pawns: int
    """Number of Black's pawns."""
    placements: tuple[Placement, ...] = field(repr=False)
    """Canonical pawn placements in the order of solving: by ascending number of remaining pawn steps."""
    phase_by_placement: dict[Placement, int] = field(repr=False)
    """The phase of each canonical placement."""
    like_men: tuple[tuple[int, int], ...]
    """Half-open index ranges of free men of the same kind and colour, each of two or more men."""

    @property
    def free_count(self) -> int:
        """Number of free men, 2 to 5."""
        return len(self.kinds)

    @property
    def pawns(self) -> int:
        """Number of pawns of both colours."""
        return self.white_pawns + self.black_pawns

    @property
    def king_coords(self) -> int:
        """Number of values of ``king`` in the formula of the slot: 10 without pawns, else 64."""
        return 64 if self.pawns else 10

    @property
    def phase_size(self) -> int:
        """Number of slots of one phase, for one side to move."""
        return self.king_coords << (6 * (self.free_count - 1))

    @property
    def size(self) -> int:
        """Number of slots of the whole table, for one side to move."""
        return self.phase_size * len(self.placements)

    @property
    def pairs_to_solve(self) -> tuple[int, ...]:
        """The king pairs that must be solved; empty if all slots of a phase must be solved."""
        return PAIRS_TO_SOLVE if self.free_count > 2 and not self.pawns else ()

    @property
    def slots_to_solve(self) -> int:
        """Number of slots of one phase that must be solved, for one side to move."""
        if not self.pairs_to_solve:
            return self.phase_size
        return self.phase_size * len(self.pairs_to_solve) // (64 * self.king_coords)

    @property
    def permutation_count(self) -> int:
        """Number of permutations of free men of the same kind and colour.

        It is also the number of slots that have the same men on the same squares.
        """
        return prod(factorial(stop - start) for start, stop in self.like_men)

    def slot(self, free_squares: Sequence[int], pawn_squares: Sequence[int] = ()) -> Slot:
        """Return the canonical slot of a position.

        :param free_squares: squares of the free men in the order of the layout; men of the same kind and
            colour may be in any order.
        :param pawn_squares: squares of White's pawns, then of Black's, each in any order.
        :returns: the slot; -1 if pawns cannot be on these squares.
        """
        if not pawn_squares:
            king = free_squares[0]
            return Slot(min(self._slot_of_image(IMAGE[s], free_squares) for s in INTO_TRIANGLE[king]))
        slots = []
        for symmetry in (0, MIRROR_FILES):
            phase = self.phase_by_placement.get(self.placement_of(pawn_squares, symmetry))
            if phase is not None:
                slots.append(phase * self.phase_size + self._slot_of_image(IMAGE[symmetry], free_squares))
        return Slot(min(slots, default=-1))

    def placement_of(self, pawn_squares: Sequence[int], symmetry: int = 0) -> Placement:
        """Return the placement, canonical or not, of the images of pawns under a symmetry.

        :param pawn_squares: squares of White's pawns, then of Black's, each in any order.
        """
        return _placement([IMAGE[symmetry][square] for square in pawn_squares], self.white_pawns)

    def _slot_of_image(self, image: tuple[int, ...], free_squares: Sequence[int]) -> int:
        squares = [image[square] for square in free_squares]
        for start, stop in self.like_men:
            squares[start:stop] = sorted(squares[start:stop])
        slot = squares[0] if self.pawns else TRIANGLE_COORD[squares[0]]
        for square in squares[1:]:
            slot = slot << 6 | square
        return slot

    def squares(self, slot: Slot) -> tuple[list[int], Placement]:
        """Return the squares of the free men and of the pawns in a slot, canonical or not."""
        phase, coordinates = divmod(slot, self.phase_size)
        free_squares = []
        for _ in range(self.free_count - 1):
            free_squares.append(coordinates & 63)
            coordinates >>= 6
        free_squares.append(coordinates if self.pawns else TRIANGLE[coordinates])
        return free_squares[::-1], self.placements[phase]

    def steps_left(self, placement: Placement) -> int:
        """Return the number of single pawn steps until every pawn of the placement has promoted."""
        return _remaining_steps(placement, self.white_pawns)


def _placement(squares: Sequence[int], white_count: int) -> Placement:
    """Return the placement of pawns on these squares; the first ``white_count`` are those of White."""
    return (*sorted(squares[:white_count]), *sorted(squares[white_count:]))


def _remaining_steps(placement: Placement, white_count: int) -> int:
    return sum(7 - (q >> 3) for q in placement[:white_count]) + sum(q >> 3 for q in placement[white_count:])


def _placements(white_count: int, black_count: int) -> Iterator[Placement]:
    """Yield the canonical placements: the lexicographically smaller one of each pair of mirror images."""
    mirror = IMAGE[MIRROR_FILES]
    sides = (combinations(_PAWN_SQUARES, count) for count in (white_count, black_count))
    for white, black in product(*sides):
        squares = (*white, *black)
        if set(white).isdisjoint(black) and squares <= _placement([mirror[q] for q in squares], white_count):
            yield squares


def _like_men(kinds: tuple[int, ...], colours: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """Return ``Layout.like_men`` of free men."""
    men = list(zip(kinds, colours, strict=True))[2:]
    starts = {man: 2 + men.index(man) for man in men}
    return tuple((start, start + men.count(man)) for man, start in starts.items() if men.count(man) > 1)


@functools.cache
def layout_of(material: Material) -> Layout:
    """Return the layout of a canonical material."""
    white, black = ([man for man in side if man not in "KP"] for side in material.sides)
    kind_numbers = {kind.name: index for index, kind in enumerate(material.kinds)}
    kinds = (KING, KING, *(kind_numbers[man] for man in white + black))
    colours = (0, 1, *(0 for _ in white), *(1 for _ in black))
    white_pawns, black_pawns = material.white.count("P"), material.black.count("P")
    placements = tuple(
        sorted(_placements(white_pawns, black_pawns), key=lambda p: (_remaining_steps(p, white_pawns), p))
    )
    phases = {placement: phase for phase, placement in enumerate(placements)}
    like_men = _like_men(kinds, colours)
    return Layout(
        material=material,
        kinds=kinds,
        colours=colours,
        white_pawns=white_pawns,
        black_pawns=black_pawns,
        placements=placements,
        phase_by_placement=phases,
        like_men=like_men,
    )
