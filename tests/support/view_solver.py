"""Classical chess and its kin for KvK and KXvK, slow and obvious: what a forced mate or stalemate is worth.

From the definitions alone: full 64-square board, no r-mobility anywhere. A player forces a goal in k plies if
he has a move, or his opponent has only moves, to positions where he forces it in fewer. Over the moves of
``reference_moves``; shares no code with the package under test.

    table = solve_view("KQvK", mate=1, stalemate=0.75)
    table.points, table.plies       # flat arrays over the positions of reference_moves
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from tests.support.reference_moves import Moves, all_moves

NEVER = 1 << 30


@dataclass(frozen=True)
class ViewTable:
    """A solved material: White's points in every position, and plies to the goal, 0 where nobody has one."""

    legal: NDArray[np.bool_]
    points: NDArray[np.float64]
    plies: NDArray[np.int64]


@dataclass(frozen=True)
class Net:
    """The moves of a material; the positions of its sub-materials are nodes behind its own.

    ``points`` and ``plies`` are known of nodes where the game is over and of those of sub-materials.
    """

    own: int
    white: NDArray[np.bool_]
    first: NDArray[np.int64]
    movers: NDArray[np.int64]
    target: NDArray[np.int64]
    points: NDArray[np.float64]
    plies: NDArray[np.int64]

    def forced(self, white: bool, least: float) -> NDArray[np.int64]:
        """In how many plies a side forces so many points for itself, for each own node; or ``NEVER``."""
        shares = self.points if white else 1 - self.points
        due = np.where(np.nan_to_num(shares, nan=-1.0) >= least, self.plies, NEVER)
        last = due[due < NEVER].max(initial=0)
        ply, grown = 0, True
        while grown or ply <= last:
            ply += 1
            there = due[self.target] < ply
            some = np.logical_or.reduceat(there, self.first)
            every = np.logical_and.reduceat(there, self.first)
            can = np.where(self.white[self.movers] == white, some, every)
            new = self.movers[can & (due[self.movers] == NEVER)]
            due[new] = ply
            grown = bool(new.size)
        return due[: self.own]


@cache
def solve_view(name: str, mate: float, stalemate: float) -> ViewTable:
    """Solve the game in which who mates or stalemates gets these points, and endless play is worth a half."""
    moves = all_moves(name)
    net = net_of(moves, [solve_view(sub, mate, stalemate) for sub in moves.names[1:]], mate, stalemate)
    points, plies = np.full(net.own, 0.5), np.zeros(net.own, np.int64)
    for white in (True, False):
        for least in sorted({mate, stalemate} - {0.5}, reverse=True):
            forced = net.forced(white, least)
            new = moves.legal & (forced < NEVER) & (points == 0.5)
            points[new], plies[new] = least if white else 1 - least, forced[new]
    return ViewTable(moves.legal, points, plies)


def net_of(moves: Moves, subs: list[ViewTable], mate: float, stalemate: float) -> Net:
    own = len(moves.legal)
    starts = np.cumsum([0, own, *(len(sub.points) for sub in subs)])
    white = np.arange(own) < own // 2
    movers, first = np.unique(moves.source, return_index=True)
    over = moves.legal.copy()
    over[movers] = False
    share = np.where(moves.check, mate, stalemate)  # of the side that has just moved
    ends = np.where(over, np.where(white, 1 - share, share), np.nan)
    return Net(
        own,
        white,
        first,
        movers.astype(np.int64),
        moves.target + starts[moves.table],
        np.concatenate([ends, *(sub.points for sub in subs)]),
        np.concatenate([np.zeros(own, np.int64), *(sub.plies for sub in subs)]),
    )
