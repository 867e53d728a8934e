"""Blocks of consecutive slots of a table: the squares of the men, and the mobility of all positions at once.

A slot is the number of a position in its table. Legal moves are counted on bitboards: uint64 arrays in which
bit ``s`` stands for square ``s``. Each of these arrays has either the shape of ``ScanMan.squares`` or the
shape of the block.
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
from tbgen.moves.geometry import BIT, PAWN_ATTACKS

Bitboards = NDArray[np.uint64]

ALL_SQUARES: Final = np.uint64(chess.BB_ALL)

MAX_BLOCK_SLOTS = 1 << 16
"""Maximum number of slots of a block. The bitboards of one man then take 512 KiB, which fits in the cache."""

_LAST_RANKS: Final = np.uint64(chess.BB_BACKRANKS)
_DOUBLE_STEP_RANK: Final = {True: np.uint64(chess.BB_RANK_3), False: np.uint64(chess.BB_RANK_6)}
_RANK_SHIFT: Final = np.uint64(8)
_NO_SQUARES: Final = np.uint64(0)


class ScanKind(NamedTuple):
    """Attack tables of one kind of man, by square."""

    reach: Bitboards
    """Shape (64,): attacked squares on an empty board, by the man's square."""
    squares_between: Bitboards
    """Shape (64, 64): squares between the man's square and a square that it attacks on an empty board."""
    shadowed_squares: Bitboards | None
    """Shape (64, 64): squares that a man on the first square no longer attacks if another man is on the
    second one; None if the kind has no riding moves."""
    is_colour_bound: bool = False
    """Whether a man of the kind only reaches squares of one colour."""
    is_pawn: bool = False


def _shadowed_squares(squares_between: Bitboards) -> Bitboards:
    hidden = (squares_between[:, :, None] & BIT) != 0  # axes: the man, the far square, the square between
    shadowed: Bitboards = np.where(hidden, BIT[None, :, None], np.uint64(0)).sum(axis=1, dtype=np.uint64)
    return shadowed


PAWN_KINDS: Final = tuple(
    ScanKind(attacks, np.zeros((64, 64), np.uint64), None, is_pawn=True) for attacks in PAWN_ATTACKS
)
"""The kinds of White's and of Black's pawns."""


@cache
def scan_kind(kind: Kind) -> ScanKind:
    """Return the attack tables of a kind of man."""
    squares = range(64)
    squares_between = np.array(
        [[between(kind, start, stop) for stop in squares] for start in squares], np.uint64
    )
    reached = np.array(reach(kind), np.uint64)
    shadowed_squares = _shadowed_squares(squares_between) if kind.rides else None
    return ScanKind(reached, squares_between, shadowed_squares, kind.is_colour_bound)


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
    """Divide a table into blocks, and return the first slot and the number of slots of each."""
    step = layout.phase_size
    while step > MAX_BLOCK_SLOTS:
        step //= layout.king_coords if step == layout.phase_size else 64
    step *= MAX_BLOCK_SLOTS // step
    return [(start, min(step, layout.size - start)) for start in range(0, layout.size, step)]


def block_at(layout: Layout, start: int, size: int) -> ScanBlock:
    """Return one of the blocks that :func:`blocks_of` lists."""
    squares = [np.arange(64) if i or layout.pawns else np.array(TRIANGLE) for i in range(layout.free_count)]
    full_shape = len(layout.placements), *map(len, squares)
    corners = (np.unravel_index(slot, full_shape) for slot in (start, start + size - 1))
    slices = [slice(int(low), int(high) + 1) for low, high in zip(*corners, strict=True)]
    shape = tuple(part.stop - part.start for part in slices)
    placements = np.array(layout.placements[slices[0]], np.intp).reshape(shape[0], layout.pawns)
    free = [_reshape_along(squares[i][slices[1 + i]], 1 + i, len(shape)) for i in range(layout.free_count)]
    pawns = [_reshape_along(column, 0, len(shape)) for column in placements.T]
    colours = [*layout.colours, *[0] * layout.white_pawns, *[1] * layout.black_pawns]
    kinds = [scan_kind(layout.material.kinds[kind_index]) for kind_index in layout.kinds]
    kinds += [PAWN_KINDS[colour] for colour in colours[layout.free_count :]]
    men = zip(kinds, (not colour for colour in colours), [*free, *pawns], strict=True)
    return ScanBlock(start, shape, tuple(ScanMan(*man) for man in men))


def _reshape_along(values: NDArray[Any], axis: int, axis_count: int) -> NDArray[Any]:
    return values.astype(np.intp).reshape([-1 if i == axis else 1 for i in range(axis_count)])


def find_symmetric_slots(layout: Layout) -> NDArray[np.int64]:
    """Return the slots of positions that a symmetry of the board maps onto themselves, in ascending order.

    Such a position has half as many images as others. Slots without a position are included. The result is
    empty for a material with pawns, because no square of White's king is its own mirror image.
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
    while man < layout.free_count:
        stop = next((stop for start, stop in layout.like_men if start == man), man + 1)
        groups.append([c for c in combinations(range(64), stop - man) if {image[s] for s in c} == set(c)])
        man = stop
    slots = [layout.slot([s for group in choice for s in group]) for choice in product(*groups)]
    return np.unique(np.array(slots, np.int64))


def bishops_on_one_colour(men: tuple[ScanMan, ...]) -> NDArray[np.bool_] | None:
    """Return a mask of the positions in which a side has two or more colour-bound men, all on one colour.

    Bishops, for example, are bound to a colour. With at most five men, only one side can have two such men.
    The result is None if no side has two.
    """
    for white in (True, False):
        bound_men = [man for man in men if man.kind.is_colour_bound and man.white == white]
        if len(bound_men) > 1:
            first_colour, *rest = [(man.squares ^ man.squares >> 3) & 1 for man in bound_men]
            on_one_colour: NDArray[np.bool_] = reduce(and_, (colour == first_colour for colour in rest))
            return on_one_colour
    return None


class Mobility(NamedTuple):
    """Position ranks and captures with one side to move; undefined for slots without a position.

    A position rank is twice the number of legal moves, plus 1 unless the side to move is in check.
    """

    rank: NDArray[np.uint8]
    """Position ranks, without captures en passant."""
    has_capture: NDArray[np.bool_]
    """Whether the side to move has a legal capture."""


def mobility(block: ScanBlock, white: bool) -> Mobility:
    """Return the mobility of a side in all positions of a block, with the shape of the block."""
    own_men = [man for man in block.men if man.white == white]
    other_men = [man for man in block.men if man.white != white]
    king = own_men[0]
    occupied_own, occupied_other = _occupied_squares(own_men), _occupied_squares(other_men)
    # The king does not block a line: the squares behind it on a checking line are attacked.
    attacked = reduce(or_, (_attacked_squares(man, _without(block.men, man, king)) for man in other_men))
    targets = king.kind.reach[king.squares] & ~occupied_own & ~attacked
    in_check = (attacked & BIT[king.squares]) != 0
    move_count = np.bitwise_count(targets)
    captured = targets & occupied_other
    for man in own_men[1:]:
        if man.kind.is_pawn:
            targets = _pawn_targets(man, occupied_own | occupied_other, occupied_other)
        else:
            targets = _attacked_squares(man, _without(block.men, man)) & ~occupied_own
        for attacker in other_men[1:]:
            targets = targets & _king_safe_targets(attacker, king, _without(block.men, man, attacker, king))
        move_count = move_count + np.bitwise_count(targets)
        if man.kind.is_pawn:
            move_count = move_count + 3 * np.bitwise_count(targets & _LAST_RANKS)
        captured = captured | targets & occupied_other
    rank = 2 * move_count + ~in_check
    return Mobility(
        np.broadcast_to(rank.astype(np.uint8), block.shape), np.broadcast_to(captured != 0, block.shape)
    )


def _without(men: Iterable[ScanMan], *excluded: ScanMan) -> list[ScanMan]:
    return [man for man in men if not any(man is other for other in excluded)]


def _occupied_squares(men: Iterable[ScanMan]) -> Bitboards:
    occupied: Bitboards = reduce(or_, (BIT[man.squares] for man in men))
    return occupied


def _attacked_squares(man: ScanMan, blockers: Iterable[ScanMan]) -> Bitboards:
    """Return the squares that a man attacks, including the square of the first blocker on each line."""
    reach: Bitboards = man.kind.reach[man.squares]
    if man.kind.shadowed_squares is None:
        return reach
    shadows = (man.kind.shadowed_squares[man.squares, blocker.squares] for blocker in blockers)
    return reach & ~reduce(or_, shadows, _NO_SQUARES)


def _king_safe_targets(attacker: ScanMan, king: ScanMan, blockers: list[ScanMan]) -> Bitboards:
    """Return the squares to which a man may move without exposing its king to ``attacker``.

    If ``attacker`` attacks the king as soon as the man leaves its square, the man may only capture
    ``attacker`` or move to a square between ``attacker`` and the king. Otherwise all squares are returned.

    :param blockers: the men on the board except the moving man, ``attacker`` and the king.
    """
    attacks = (attacker.kind.reach[attacker.squares] & BIT[king.squares]) != 0
    path = attacker.kind.squares_between[attacker.squares, king.squares]
    safe_targets: Bitboards = np.where(attacks, path | BIT[attacker.squares], ALL_SQUARES)
    if attacker.kind.shadowed_squares is not None and blockers:
        safe_targets = np.where((path & _occupied_squares(blockers)) != 0, ALL_SQUARES, safe_targets)
    return safe_targets


def _pawn_targets(man: ScanMan, occupied: Bitboards, capturable: Bitboards) -> Bitboards:
    square: Bitboards = BIT[man.squares]
    empty = ~occupied
    shift_ahead = np.left_shift if man.white else np.right_shift
    step = shift_ahead(square, _RANK_SHIFT) & empty
    double_step = shift_ahead(step & _DOUBLE_STEP_RANK[man.white], _RANK_SHIFT) & empty
    targets: Bitboards = step | double_step | man.kind.reach[man.squares] & capturable
    return targets
