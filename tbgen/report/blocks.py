"""Blocks of consecutive slots of a table: the squares of all men, and all legal moves at once, on bitboards.

Bitboards are uint64 in which bit ``s`` is square ``s``; they broadcast over the squares of the men.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, reduce
from itertools import combinations, product
from math import prod
from operator import and_, or_
from typing import Any, Final, NamedTuple

import chess
import numpy as np
from numpy.typing import NDArray

from tbgen.board.kinds import Kind, between, reach
from tbgen.index.layout import IMAGE, TRANSPOSE, TRIANGLE, Layout
from tbgen.retro.geometry import BIT, PAWN_ATTACKS

Boards = NDArray[np.uint64]

ALL_SQUARES: Final = np.uint64(chess.BB_ALL)


class ScanKind(NamedTuple):
    """Attack tables of one kind of men."""

    reach: Boards
    """Shape (64,): attacked squares on an empty board, by the man's square."""
    squares_between: Boards
    """Shape (64, 64): squares between the man's square and an attacked square."""
    shadowed_squares: Boards | None
    """Shape (64, 64): squares no longer attacked from the first square if a man is on the second; None if the
    kind never rides."""
    bound: bool = False
    """Whether the kind is bound to one square colour."""
    pawn: bool = False


def _shadowed_squares(squares_between: Boards) -> Boards:
    hides = (squares_between[:, :, None] & BIT) != 0  # first square, far square, square between
    shadowed_squares: Boards = np.where(hides, BIT[None, :, None], np.uint64(0)).sum(axis=1, dtype=np.uint64)
    return shadowed_squares


PAWNS: Final = tuple(
    ScanKind(attacks, np.zeros((64, 64), np.uint64), None, pawn=True) for attacks in PAWN_ATTACKS
)
"""The kinds of White's and of Black's pawns."""


@cache
def scan_kind(kind: Kind) -> ScanKind:
    """Return the attack tables of a kind."""
    squares = range(64)
    squares_between = np.array(
        [[between(kind, start, stop) for stop in squares] for start in squares], np.uint64
    )
    reached = np.array(reach(kind), np.uint64)
    shadowed_squares = _shadowed_squares(squares_between) if kind.rides else None
    return ScanKind(reached, squares_between, shadowed_squares, kind.is_colour_bound)


BLOCK_SLOTS = 1 << 16
"""Maximum number of slots of a block. A bitboard for each takes 512 KiB; more would not fit in the cache."""


@dataclass(frozen=True, slots=True)
class ScanMan:
    """One man of a block of positions."""

    kind: ScanKind
    white: bool
    squares: NDArray[Any]
    """The man's squares (intp); the squares of all men broadcast to the shape of the block."""


@dataclass(frozen=True, slots=True)
class ScanBlock:
    """Consecutive slots of a table."""

    start: int
    shape: tuple[int, ...]
    """Shape of the slots in C order: one axis for the pawn placements and one for each free man."""
    men: tuple[ScanMan, ...]
    """White's king, Black's king, the other free men in the order of the layout, then the pawns."""

    @property
    def size(self) -> int:
        """Number of slots."""
        return prod(self.shape)


def blocks_of(layout: Layout) -> list[tuple[int, int]]:
    """Return the first slot and the number of slots of each block."""
    step = layout.phase_size
    while step > BLOCK_SLOTS:
        step //= layout.king_slots if step == layout.phase_size else 64
    step *= BLOCK_SLOTS // step
    return [(start, min(step, layout.size - start)) for start in range(0, layout.size, step)]


def block_at(layout: Layout, start: int, size: int) -> ScanBlock:
    """Return a block of :func:`blocks_of`."""
    squares = [np.arange(64) if man or layout.pawns else np.array(TRIANGLE) for man in range(layout.free)]
    full_shape = len(layout.placements), *map(len, squares)
    ends = (np.unravel_index(slot, full_shape) for slot in (start, start + size - 1))
    parts = [slice(int(first), int(last) + 1) for first, last in zip(*ends, strict=True)]
    shape = tuple(part.stop - part.start for part in parts)
    placements = np.array(layout.placements[parts[0]], np.intp).reshape(shape[0], layout.pawns)
    free = [_along(squares[man][parts[1 + man]], 1 + man, len(shape)) for man in range(layout.free)]
    pawns = [_along(column, 0, len(shape)) for column in placements.T]
    colours = [*layout.colours, *[0] * layout.white_pawns, *[1] * layout.black_pawns]
    kinds = [scan_kind(layout.material.kinds[number]) for number in layout.kinds]
    kinds += [PAWNS[colour] for colour in colours[layout.free :]]
    men = zip(kinds, (not colour for colour in colours), [*free, *pawns], strict=True)
    return ScanBlock(start, shape, tuple(ScanMan(*man) for man in men))


def _along(values: NDArray[Any], axis: int, axes: int) -> NDArray[Any]:
    return values.astype(np.intp).reshape([-1 if number == axis else 1 for number in range(axes)])


def symmetric_slots(layout: Layout) -> NDArray[np.int64]:
    """Return, ascending, the slots whose positions a symmetry of the board maps onto themselves.

    Such positions have half as many images as others. Slots without a position are included. With pawns the
    result is empty, because White's king never stands on a square that is its own mirror image.
    """
    if layout.pawns:
        return np.empty(0, np.int64)
    image = IMAGE[TRANSPOSE]
    diagonal = [square for square in range(64) if image[square] == square]
    groups: list[list[tuple[int, ...]]] = [
        [(s,) for s in diagonal if s in TRIANGLE],
        [(s,) for s in diagonal],
    ]
    man = 2
    while man < layout.free:
        stop = next((stop for start, stop in layout.like_men if start == man), man + 1)
        groups.append([c for c in combinations(range(64), stop - man) if {image[s] for s in c} == set(c)])
        man = stop
    slots = [layout.slot([s for group in choice for s in group]) for choice in product(*groups)]
    return np.unique(np.array(slots, np.int64))


def bishops_on_one_colour(men: tuple[ScanMan, ...]) -> NDArray[np.bool_] | None:
    """Return whether all colour-bound men of the side that has several, such as bishops, are on one colour.

    The result is None if no side has two such men. With at most five men, only one side can.
    """
    for white in (True, False):
        bound = [man for man in men if man.kind.bound and man.white == white]
        if len(bound) > 1:
            first, *rest = [(man.squares ^ man.squares >> 3) & 1 for man in bound]
            like: NDArray[np.bool_] = reduce(and_, (colour == first for colour in rest))
            return like
    return None


_LAST_RANKS: Final = np.uint64(chess.BB_BACKRANKS)
_DOUBLE_STEP_RANK: Final = {True: np.uint64(chess.BB_RANK_3), False: np.uint64(chess.BB_RANK_6)}
_RANK_SHIFT: Final = np.uint64(8)
_NO_SQUARES: Final = np.uint64(0)


class Mobility(NamedTuple):
    """Position ranks and captures with one side to move; undefined for slots without a position."""

    rank: NDArray[np.uint8]
    """Position ranks: twice the number of legal moves, plus 1 unless in check; without en passant."""
    captures: NDArray[np.bool_]
    """Whether the side to move has a legal capture."""


def mobility(block: ScanBlock, white: bool) -> Mobility:
    """Return the mobility of a side, with the shape of the block."""
    own = [man for man in block.men if man.white == white]
    others = [man for man in block.men if man.white != white]
    king = own[0]
    occupied_own, occupied_other = _occupied(own), _occupied(others)
    # The king does not block: squares behind him on a checking line are attacked.
    attacked = reduce(or_, (_attacks(man, _without(block.men, man, king)) for man in others))
    targets = king.kind.reach[king.squares] & ~occupied_own & ~attacked
    check = (attacked & BIT[king.squares]) != 0
    moves = np.bitwise_count(targets)
    taken = targets & occupied_other
    for man in own[1:]:
        if man.kind.pawn:
            targets = _pawn_targets(man, occupied_own | occupied_other, occupied_other)
        else:
            targets = _attacks(man, _without(block.men, man)) & ~occupied_own
        for other in others[1:]:
            targets = targets & _targets_keeping_king_safe(other, king, _without(block.men, man, other, king))
        moves = moves + np.bitwise_count(targets)
        if man.kind.pawn:
            moves = moves + 3 * np.bitwise_count(targets & _LAST_RANKS)
        taken = taken | targets & occupied_other
    rank = 2 * moves + ~check
    return Mobility(
        np.broadcast_to(rank.astype(np.uint8), block.shape), np.broadcast_to(taken != 0, block.shape)
    )


def _without(men: Iterable[ScanMan], *left_out: ScanMan) -> list[ScanMan]:
    return [man for man in men if not any(man is other for other in left_out)]


def _occupied(men: Iterable[ScanMan]) -> Boards:
    occupied: Boards = reduce(or_, (BIT[man.squares] for man in men))
    return occupied


def _attacks(man: ScanMan, blockers: Iterable[ScanMan]) -> Boards:
    """Return the squares that a man attacks, including that of the first man on each line."""
    reach: Boards = man.kind.reach[man.squares]
    if man.kind.shadowed_squares is None:
        return reach
    each = (man.kind.shadowed_squares[man.squares, blocker.squares] for blocker in blockers)
    return reach & ~reduce(or_, each, _NO_SQUARES)


def _targets_keeping_king_safe(other: ScanMan, king: ScanMan, blockers: list[ScanMan]) -> Boards:
    """Return the squares to which another man may move without leaving the king attacked by ``other``.

    If ``other`` attacks the king once the man has left its square, these are the square of ``other`` and
    those between it and the king; otherwise all squares.

    :param blockers: the men on the board except the moving man, ``other`` and the king.
    """
    attacks = (other.kind.reach[other.squares] & BIT[king.squares]) != 0
    path = other.kind.squares_between[other.squares, king.squares]
    needed: Boards = np.where(attacks, path | BIT[other.squares], ALL_SQUARES)
    if other.kind.shadowed_squares is not None and blockers:
        needed = np.where((path & _occupied(blockers)) != 0, ALL_SQUARES, needed)
    return needed


def _pawn_targets(man: ScanMan, occupied: Boards, capturable: Boards) -> Boards:
    square: Boards = BIT[man.squares]
    free = ~occupied
    ahead = np.left_shift if man.white else np.right_shift
    step = ahead(square, _RANK_SHIFT) & free
    double = ahead(step & _DOUBLE_STEP_RANK[man.white], _RANK_SHIFT) & free
    targets: Boards = step | double | man.kind.reach[man.squares] & capturable
    return targets
