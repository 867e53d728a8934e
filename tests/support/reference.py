"""Reference solver: every state (position, accrued score) of KvK and KXvK, slow and obvious.

The answer the generator must give, from the definitions alone: full 64-square board, no symmetry, no decided
positions, every accrued score of either holder solved on its own, by retrograde induction on numpy arrays
over the moves of `reference_moves`. `reference_game`, with python-chess and dictionaries, finds the same
(tests/retro/test_reference.py). Shares no code with the package under test.

KvK takes a moment, three men ten seconds. Daily tests compare digests instead, which exhaustive ones compare
with the reference's (tests/retro/test_reference.py).

    table = solve("KNvK")
    table.fresh(1, (wk, bk, knight))           # value code and depth in plies; side 0 is White to move
    table.state(1, (wk, bk, knight), accrued)  # the same with an accrued score of rank 2 or more
    table.probe(board)                         # the same for a board of python-chess
    for layer in table.layers(): ...           # all states, one accrued score at a time
    solve_whole_game("KNvK")                   # the game in which nothing resets the accrued score

Codes: White's score of rank R is R, Black's 255 - R; a smaller code is better for White.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import chess
import numpy as np
from numpy.typing import NDArray

from tests.support.reference_moves import Moves, all_moves
from tests.support.shared import shared

NONE = 127  # code where there is no position or no state

Codes = NDArray[np.uint8]
Depths = NDArray[np.uint16]
Nodes = NDArray[np.int32]


@dataclass
class Layer:
    """All states with one accrued score, as arrays of the table's shape."""

    accrued: int
    mask: NDArray[np.bool_]
    value: Codes
    depth: Depths


@dataclass
class ReferenceTable:
    """A solved material: position score, fresh value and depth of every position, and all states.

    Positions are numbered by (side, White king, Black king[, White's man]); `score`, `value` and `depth` are
    flat, `value.reshape(table.shape)` has one axis for each of these.
    """

    name: str
    moves: Moves
    score: Codes
    value: Codes
    depth: Depths
    states: dict[int, tuple[Nodes, Codes, Depths]] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, ...]:
        return (2,) + (64,) * (2 if self.name == "KvK" else 3)

    @property
    def legal(self) -> NDArray[np.bool_]:
        return self.moves.legal.reshape(self.shape)

    def index(self, side: int, squares: Sequence[int]) -> int:
        """Flat index of a position; raises ValueError if it is not legal."""
        index = int(np.ravel_multi_index((side, *squares), self.shape))
        if not self.moves.legal[index]:
            raise ValueError(f"no legal position of {self.name}: side {side}, squares {squares}")
        return index

    def locate(self, board: chess.Board) -> tuple[int, tuple[int, ...]]:
        """Side to move and squares of a board; raises ValueError if it has other material."""
        men = {board.piece_at(square): square for square in chess.SquareSet(board.occupied)}
        names = [*self.name.split("v")[0], "k"]
        if {str(man) for man in men} != set(names) or chess.popcount(board.occupied) != len(names):
            raise ValueError(f"{board.fen()} is not {self.name}")
        order = ["K", "k", *names[1:-1]]
        return (0 if board.turn else 1), tuple(men[chess.Piece.from_symbol(name)] for name in order)

    def probe(self, board: chess.Board, accrued: int | None = None) -> tuple[int, int]:
        """`fresh` or, with an accrued score, `state` of a board; fit as the callback of `solve_game`."""
        side, squares = self.locate(board)
        return self.fresh(side, squares) if accrued is None else self.state(side, squares, accrued)

    def fresh(self, side: int, squares: Sequence[int]) -> tuple[int, int]:
        """Value code and depth when counting starts here."""
        index = self.index(side, squares)
        return int(self.value[index]), int(self.depth[index])

    def state(self, side: int, squares: Sequence[int], accrued: int) -> tuple[int, int]:
        """Value code and depth with an accrued score, into which the position score is folded."""
        index = self.index(side, squares)
        own = int(self.score[index])
        if min(own, 255 - own) < min(accrued, 255 - accrued):
            return self.fresh(side, squares)
        nodes, value, depth = self.states[accrued]
        place = int(np.searchsorted(nodes, index))
        return int(value[place]), int(depth[place])

    def layers(self) -> Iterator[Layer]:
        """Every state of the material once: layers by rank, White's score before Black's."""
        for accrued in sorted(self.states, key=lambda code: (min(code, 255 - code), code)):
            nodes, values, depths = self.states[accrued]
            mask = np.zeros(self.score.shape, dtype=bool)
            value, depth = np.full_like(self.value, NONE), np.zeros_like(self.depth)
            mask[nodes], value[nodes], depth[nodes] = True, values, depths
            shape = self.shape
            yield Layer(accrued, mask.reshape(shape), value.reshape(shape), depth.reshape(shape))


class _Net:
    """The moves of a material with the positions of its sub-materials as further nodes behind its own."""

    def __init__(self, moves: Moves, tables: list[ReferenceTable]) -> None:
        self.own = len(moves.legal)
        sizes = [self.own, *(len(table.score) for table in tables)]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        self.size = int(starts[-1])
        self.source = moves.source.astype(np.int64)
        self.target = moves.target + starts[moves.table]
        self.zeroing = moves.zeroing
        count = np.bincount(moves.source, minlength=self.own).astype(np.int64)
        rank = 2 * count + ~moves.check
        white = np.arange(self.own) < self.own // 2
        score = np.where(white, 255 - rank, rank).astype(np.uint8)
        score[~moves.legal] = NONE
        self.legal = moves.legal
        self.count = count
        self.white = white
        self.score = score
        self.rank = np.where(moves.legal, rank, -1)
        # Known fresh values: those of the sub-materials, mates and stalemates first, own ones rank by rank.
        self.value = np.concatenate([np.full(self.own, NONE, np.uint8), *(table.value for table in tables)])
        self.depth = np.concatenate([np.zeros(self.own, np.uint16), *(table.depth for table in tables)])
        ended = moves.legal & (rank < 2)
        self.value[: self.own][ended] = score[ended]
        # Without zeroing moves the accrued score is taken along into the sub-materials.
        self.behind = [] if moves.zeroing.any() else list(zip(starts[1:-1].tolist(), tables, strict=True))


class _Phase:
    """Positions which no zeroing move connects; `before` their moves, sorted by target."""

    def __init__(self, net: _Net, member: NDArray[np.bool_]) -> None:
        self.net = net
        self.member = member
        chosen = np.flatnonzero(member[net.source])
        source, target = net.source[chosen], net.target[chosen]
        own = target < net.own
        assert not (net.zeroing[chosen[own]] & member[target[own]]).any(), "a zeroing move stays in the phase"
        order = np.argsort(target, kind="stable")
        self.source, self.target = source[order].astype(np.int32), target[order]
        self.first = np.searchsorted(self.target, np.arange(net.size + 1))

    def before(self, nodes: Nodes) -> Nodes:
        """Sources of all moves into the nodes, one entry per move."""
        starts = self.first[nodes]
        counts = self.first[nodes + 1] - starts
        shift = np.repeat(starts - np.cumsum(counts) + counts, counts)
        sources: Nodes = self.source[shift + np.arange(counts.sum())]
        return sources


def _solve_layer(phase: _Phase, accrued: int) -> tuple[Nodes, Codes, Depths]:
    """All states of the phase with one accrued score; those of smaller rank are solved."""
    net = phase.net
    inside = phase.member & (net.rank >= min(accrued, 255 - accrued))
    value, depth = net.value.copy(), net.depth.copy()
    value[: net.own][inside] = accrued
    depth[: net.own][inside] = 0
    for start, table in net.behind:
        if accrued in table.states:
            nodes, values, depths = table.states[accrued]
            value[start + nodes], depth[start + nodes] = values, depths
    # Positions outside the layer, reached by one move from inside.
    outside = np.zeros(net.size, dtype=bool)
    outside[phase.target[inside[phase.source]]] = True
    outside[: net.own] &= ~inside
    exits = np.flatnonzero(outside).astype(np.int32)
    assert (value[exits] != NONE).all(), "a layer needs a value not known yet"
    for white in (True, False):
        _attract(phase, inside, exits, value, depth, accrued, white)
    nodes = np.flatnonzero(inside).astype(np.int32)
    return nodes, value[nodes], depth[nodes]


def _attract(
    phase: _Phase,
    inside: NDArray[np.bool_],
    exits: Nodes,
    value: Codes,
    depth: Depths,
    accrued: int,
    white: bool,
) -> None:
    """Solve the states where one side forces more than the accrued score; it hurries, the other delays.

    Values are taken best first and depths in order. A state with the hurrying side to move is solved by its
    first solved move, one with the other to move by its last.
    """
    net = phase.net
    order = value[exits] if white else 255 - value[exits]
    better = order < (accrued if white else 255 - accrued)
    exits, order = exits[better], order[better]
    unsolved = inside.copy()
    left = net.count.copy()
    hurries = net.white == white
    stamp = np.zeros(net.own, dtype=np.int64)
    for key in np.unique(order).tolist():
        code = key if white else 255 - key
        ready: dict[int, Nodes] = {}
        group = exits[order == key]
        for plies in np.unique(depth[group]).tolist():
            ready[plies] = group[depth[group] == plies]
        while ready:
            plies = min(ready)
            sources = phase.before(ready.pop(plies))
            sources = sources[unsolved[sources]]
            np.subtract.at(left, sources, 1)
            found = sources[hurries[sources] | (left[sources] == 0)]
            stamp[found] = np.arange(len(found))
            found = found[stamp[found] == np.arange(len(found))]
            if len(found):
                unsolved[found] = False
                value[found], depth[found] = code, plies + 1
                ready[plies + 1] = np.concatenate([found, ready.get(plies + 1, found[:0])])


def _solve_phases(name: str, moves: Moves, net: _Net, phases: list[_Phase]) -> ReferenceTable:
    """Solve all layers of one phase after the other."""
    found: dict[int, list[tuple[Nodes, Codes, Depths]]] = {}
    for phase in phases:
        for rank in range(2, int(net.rank[phase.member].max()) + 1):
            for accrued in (rank, 255 - rank):
                nodes, value, depth = _solve_layer(phase, accrued)
                found.setdefault(accrued, []).append((nodes, value, depth))
                start = net.score[nodes] == accrued
                net.value[nodes[start]], net.depth[nodes[start]] = value[start], depth[start]
    table = ReferenceTable(name, moves, net.score, net.value[: net.own], net.depth[: net.own])
    for accrued, parts in found.items():
        nodes = np.concatenate([part[0] for part in parts])
        order = np.argsort(nodes)
        table.states[accrued] = (
            nodes[order],
            np.concatenate([part[1] for part in parts])[order],
            np.concatenate([part[2] for part in parts])[order],
        )
    return table


@shared
def solve(name: str) -> ReferenceTable:
    """Solve KvK or KXvK, sub-materials first; solved once."""
    moves = all_moves(name)
    net = _Net(moves, [solve(sub) for sub in moves.names[1:]])
    if name == "KPvK":
        row = np.arange(net.own) % 64 // 8
        phases = [_Phase(net, moves.legal & (row == rank)) for rank in (6, 5, 4, 3, 2, 1)]
    else:
        phases = [_Phase(net, moves.legal)]
    return _solve_phases(name, moves, net, phases)


@shared
def solve_whole_game(name: str) -> ReferenceTable:
    """Solve KvK or KXvK where no move is zeroing: all positions are one phase, all states as in any layer."""
    moves = all_moves(name)
    moves = replace(moves, zeroing=np.zeros_like(moves.zeroing))
    net = _Net(moves, [solve_whole_game(sub) for sub in moves.names[1:]])
    return _solve_phases(name, moves, net, [_Phase(net, moves.legal)])
