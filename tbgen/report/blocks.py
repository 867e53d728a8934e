"""A table cut into blocks of slots: the squares of all men, and all legal moves at once, on bit boards.

Bit boards are uint64, bit ``s`` is square ``s``, and broadcast over the squares of the men.
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

ALL: Final = np.uint64(chess.BB_ALL)


class ScanKind(NamedTuple):
    """What men of one kind attack."""

    reach: Boards
    """Shape (64,): what one attacks on an empty board."""
    passed: Boards
    """Shape (64, 64): the squares that it passes on its way from one square to another that it attacks."""
    hidden: Boards | None
    """Shape (64, 64): the squares that a man on the second of two hides from it on the first; None if it
    never rides."""
    bound: bool = False
    """Whether it stays on the colour of its square."""
    pawn: bool = False


def _hidden(passed: Boards) -> Boards:
    hides = (passed[:, :, None] & BIT) != 0  # first square, far square, square between
    hidden: Boards = np.where(hides, BIT[None, :, None], np.uint64(0)).sum(axis=1, dtype=np.uint64)
    return hidden


PAWNS: Final = tuple(
    ScanKind(attacks, np.zeros((64, 64), np.uint64), None, pawn=True) for attacks in PAWN_ATTACKS
)
"""White's and Black's."""


@cache
def scan_kind(kind: Kind) -> ScanKind:
    """Return what men of a kind attack."""
    squares = range(64)
    passed = np.array([[between(kind, start, stop) for stop in squares] for start in squares], np.uint64)
    reached, hidden = np.array(reach(kind), np.uint64), _hidden(passed) if kind.rides else None
    return ScanKind(reached, passed, hidden, kind.is_colour_bound)


BLOCK_SLOTS = 1 << 16
"""Most slots of a block. A bit board of each takes 512 KiB, and larger ones do not stay in the cache."""


@dataclass(frozen=True, slots=True)
class ScanMan:
    """One man of a block of positions."""

    kind: ScanKind
    white: bool
    squares: NDArray[Any]
    """His squares (intp), of a shape that broadcasts with those of the others to the shape of the block."""


@dataclass(frozen=True, slots=True)
class ScanBlock:
    """Consecutive slots of a table."""

    start: int
    shape: tuple[int, ...]
    """The slots of the block in C order, one axis for the pawn placements and one per free man."""
    men: tuple[ScanMan, ...]
    """Kings first, White's before Black's, then in the order of the layout, then the pawns."""

    @property
    def size(self) -> int:
        """Number of slots."""
        return prod(self.shape)


def blocks_of(layout: Layout) -> list[tuple[int, int]]:
    """Return the first slots of all blocks and how many slots each has."""
    step = layout.phase_size
    while step > BLOCK_SLOTS:
        step //= layout.king_slots if step == layout.phase_size else 64
    step *= BLOCK_SLOTS // step
    return [(start, min(step, layout.size - start)) for start in range(0, layout.size, step)]


def block_at(layout: Layout, start: int, size: int) -> ScanBlock:
    """Return a block of :func:`blocks_of`."""
    squares = [np.arange(64) if man or layout.pawns else np.array(TRIANGLE) for man in range(layout.free)]
    every = len(layout.placements), *map(len, squares)
    ends = (np.unravel_index(slot, every) for slot in (start, start + size - 1))
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
    """Return the slots, ascending, of positions that a board symmetry maps onto themselves.

    They have half as many images as the others. Slots that hold no position are among them. With pawns there
    are none: White's king is on no square that is its own mirror image.
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


def like_bishops(men: tuple[ScanMan, ...]) -> NDArray[np.bool_] | None:
    """Return where a side has two or more bishops, or other men bound to a colour, all on one colour; None
    if no side has two.

    With at most five men, only one side can have two.
    """
    for white in (True, False):
        bound = [man for man in men if man.kind.bound and man.white == white]
        if len(bound) > 1:
            first, *rest = [(man.squares ^ man.squares >> 3) & 1 for man in bound]
            like: NDArray[np.bool_] = reduce(and_, (colour == first for colour in rest))
            return like
    return None


_LAST_RANKS: Final = np.uint64(chess.BB_BACKRANKS)
_THIRD: Final = {True: np.uint64(chess.BB_RANK_3), False: np.uint64(chess.BB_RANK_6)}
_RANK: Final = np.uint64(8)
_NOTHING: Final = np.uint64(0)


class Mobility(NamedTuple):
    """What one side can do, in the positions of a block; elsewhere the entries mean nothing."""

    rank: NDArray[np.uint8]
    """Rank of each position's own score: twice the legal moves, plus 1 unless in check; without en
    passant."""
    captures: NDArray[np.bool_]
    """Whether there is a legal capture."""


def mobility(block: ScanBlock, white: bool) -> Mobility:
    """Return the mobility of a side, with the shape of the block."""
    own = [man for man in block.men if man.white == white]
    others = [man for man in block.men if man.white != white]
    king = own[0]
    occupied_own, occupied_other = _occupied(own), _occupied(others)
    # The king hides nothing from those whose lines he stays on.
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
            targets = targets & _open(other, king, _without(block.men, man, other, king))
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
    """Return what a man attacks, the first man on each line included."""
    reach: Boards = man.kind.reach[man.squares]
    if man.kind.hidden is None:
        return reach
    each = (man.kind.hidden[man.squares, blocker.squares] for blocker in blockers)
    return reach & ~reduce(or_, each, _NOTHING)


def _open(other: ScanMan, king: ScanMan, blockers: list[ScanMan]) -> Boards:
    """Return where a man that is none of these may go, so that ``other`` does not attack the king.

    That is anywhere, unless it attacks him once the man is gone: then in its way, or where it stands.
    """
    attacks = (other.kind.reach[other.squares] & BIT[king.squares]) != 0
    between = other.kind.passed[other.squares, king.squares]
    needed: Boards = np.where(attacks, between | BIT[other.squares], ALL)
    if other.kind.hidden is not None and blockers:
        needed = np.where((between & _occupied(blockers)) != 0, ALL, needed)
    return needed


def _pawn_targets(man: ScanMan, occupied: Boards, capturable: Boards) -> Boards:
    square: Boards = BIT[man.squares]
    free = ~occupied
    ahead = np.left_shift if man.white else np.right_shift
    step = ahead(square, _RANK) & free
    double = ahead(step & _THIRD[man.white], _RANK) & free
    targets: Boards = step | double | man.kind.reach[man.squares] & capturable
    return targets
