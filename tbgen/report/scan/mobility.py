"""Legal moves of all positions of a block at once, on bit boards that broadcast over the men's squares."""

from collections.abc import Iterable
from functools import reduce
from operator import or_
from typing import Final, NamedTuple

import chess
import numpy as np
from numpy.typing import NDArray

from tbgen.report.scan.blocks import ScanBlock, ScanMan
from tbgen.report.scan.geometry import ALL, Boards
from tbgen.retro.geometry import BIT

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
