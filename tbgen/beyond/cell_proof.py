"""The proof of one cell: both of its games, every state from its successors, by moves of python-chess.

A game of a cell is proved as a table is (docs/theory.md, section 5): fresh states, and the layers of accrued
scores, which are made on the way and proved like what is stored. What moves out of the cell are worth is
taken as known, so it has to be proved before; which moves lead where is found out here once more.
"""

import random
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Final, NamedTuple, TypeAlias

import chess
import numpy as np
from numpy.typing import NDArray

from tbgen.board.score import NONE, GScore
from tbgen.cells.bounds import (
    ENDS,
    LOWER,
    WORST,
    Block,
    Bounds,
    BoundsGame,
    Knowledge,
    pools_of_ends,
    side_after,
)
from tbgen.cells.cell import PAWN, Cell, Man, man_of, piece_of
from tbgen.cells.frames import frame_of_cell
from tbgen.cells.routes import Route, routes_of
from tbgen.compiler.jit import python_of
from tbgen.errors import TbgenError
from tbgen.index.layout import SIDES, Side
from tbgen.verify.game import ALL, game_of_cell, proof_men
from tbgen.verify.geometry import KING
from tbgen.verify.kernels import results as problems
from tbgen.verify.kernels.best import NO_RANK, Range
from tbgen.verify.kernels.claims import Claims
from tbgen.verify.kernels.moves import ProofMen
from tbgen.verify.kernels.resets import NO_EXITS, PROMOTIONS, CellExits, way_number
from tbgen.verify.kernels.results import MIDDLE, WHITE_WORTH, Accrued
from tbgen.verify.report import PROBLEMS, entry_of, score_of
from tbgen.verify.state_proof import (
    FIRST_RANK,
    ProofThreads,
    StateProof,
    accrued_by,
    accrued_scores,
    top_rank,
)


class Way(NamedTuple):
    """How moves leave a cell; the fields are those of :func:`tbgen.verify.kernels.resets.way_number`."""

    mover: int
    target: int
    victim: int
    promotion: int
    route: Route
    """What that leads to; without a number."""


def ways_out(cell: Cell) -> Iterator[Way]:
    """Yield all ways out of a cell; no legal move may take some of them."""
    for side in SIDES:
        yield from _WaysOf(cell, side).all()


class _WaysOf:
    """The ways out by moves of one side."""

    def __init__(self, cell: Cell, side: Side) -> None:
        self.cell, self.side, self.still = cell, side, cell.standing
        self.board = chess.BaseBoard(None)
        for square, man in self.still.items():
            self.board.set_piece_at(square, piece_of(man))
        self.victims = [  # mobile men that may be captured, by 1 + their number
            1 + number for number, man in enumerate(cell.mobile) if self._is_prey(man)
        ]

    def all(self) -> Iterator[Way]:
        """Yield them."""
        if any(man.colour == self.side for man in self.cell.mobile):
            for square, man in self.still.items():
                if self._is_prey(man):
                    yield self._way(None, square)
            for victim in self.victims:
                yield self._way(None, 0, victim)
        for square, man in self.still.items():
            if man.colour == self.side:
                for target in self._targets(square, man):
                    for victim in self._captured(square, target, man):
                        yield from self._to(square, target, victim, man)

    def _targets(self, square: int, man: Man) -> Iterator[int]:
        """Yield the squares that a man may come to."""
        yield from self.board.attacks(square)
        if man.kind == PAWN:
            ahead = -8 if self.side else 8
            steps = 2 if chess.square_rank(square) == (6 if self.side else 1) else 1
            for target in range(square + ahead, square + ahead * (steps + 1), ahead):
                if target in self.still:
                    break
                yield target

    def _captured(self, square: int, target: int, man: Man) -> list[int]:
        """What a man may capture of the mobile men as it comes to a square: 0 for none of them, so that it
        moves quietly, or captures what stands there."""
        if target in self.still:
            return [0] if self._is_prey(self.still[target]) else []
        if man.kind != PAWN:
            return [0, *self.victims]
        return [0] if chess.square_file(square) == chess.square_file(target) else self.victims

    def _to(self, square: int, target: int, victim: int, man: Man) -> Iterator[Way]:
        promotes = man.kind == PAWN and chess.square_rank(target) in (0, 7)
        for promotion in range(1, PROMOTIONS + 1) if promotes else (0,):
            yield self._way(square, target, victim, promotion)

    def _is_prey(self, man: Man) -> bool:
        """Whether a man is an enemy other than the king."""
        return man.colour != self.side and man.kind != KING

    def _way(self, origin: int | None, target: int, victim: int = 0, promotion: int = 0) -> Way:
        """A way out of the man on a square, or of any mobile man."""
        still = {square: man for square, man in self.still.items() if victim or square != target}
        mover, passed, quiet = self.cell.men, None, False
        if origin is not None:
            man = still.pop(origin)
            mover = len(self.cell.mobile) + list(self.still).index(origin)
            still[target] = man_of(self.side, promotion) if promotion else man
            quiet = man.kind != PAWN and not victim and target not in self.still
            if man.kind == PAWN and abs(target - origin) == 16:
                passed = self._passed(origin, target)
        mobile = (man for number, man in enumerate(self.cell.mobile, 1) if number != victim)
        cell = Cell.of_men(mobile, still)
        route = Route(self.side, 0, cell, target if promotion else None, quiet, passed)
        return Way(mover, target, victim, promotion, route)

    def _passed(self, origin: int, target: int) -> int | None:
        """The square that a double step passes, if an enemy pawn may capture there."""
        square = (origin + target) // 2
        takers = self.board.attackers(bool(self.side), square) & self.board.pawns
        return square if takers else None


_RUN: Final = 4096
"""Slots that are proved one after the other where not all are."""
_NAMES: Final = ("lower", "upper")
"""Of the ends."""
_LESS: Final = (1, -1)
"""``ProofGame.allowed`` for each end, where claims may be less than what follows."""


REMEDY: Final = "prove the tables with tbgen verify, and report this if they are in order"

_Prove: TypeAlias = Callable[[StateProof, int], int]
"""Proves one of the games of a cell, and returns the number of states."""


class WrongBoundError(TbgenError):
    """A bound that does not follow from what the moves lead to."""

    code = "wrong_bound"


class CellProof:
    """The proof of the bounds of a cell.

    :param share: one position in so many is proved, chosen at random; 1 for all.
    :param threads: with two or more, both games are proved at once.
    """

    def __init__(self, cell: Cell, share: int = 1, threads: int = len(ENDS)) -> None:
        self.cell, self._threads = cell, min(threads, len(ENDS))
        self.ways = list(ways_out(cell))
        self.men = _men_of(cell)
        self.rank = np.full((2, cell.size), NO_RANK, np.uint8)
        nothing = np.zeros((2, 0), np.uint8), np.zeros((2, 0), np.uint16)
        game = game_of_cell(self.men, NO_EXITS, nothing, self.rank)
        with ProofThreads(self._threads) as workers:
            StateProof(game, workers).survey(workers.ranges(cell.size))
        self.selected = ALL
        if share > 1:
            some = np.random.default_rng(share).integers(share, size=self.rank.shape, dtype=np.uint8)
            self.selected = some == 0

    def fresh(self, bounds: Bounds, knowledge: Knowledge) -> int:
        """Prove the fresh bounds of all positions, and the layers that this takes; return the number of
        states.

        ``knowledge`` of positions outside the cell has to be proved before.

        :raises WrongBoundError: if something is wrong.
        """
        frame = frame_of_cell(self.cell)
        routes = list(routes_of(frame))

        def prove(proof: StateProof, end: int) -> int:
            value = bounds.value[end]
            proof.compare(proof.ranges)
            _check(self.cell, end, proof.threads)
            (pool,) = pools_of_ends(frame, routes, knowledge, [end])
            solver, fresh = BoundsGame(frame, pool), Block(value, bounds.depth[end])
            there = self.rank != NO_RANK
            ranks = np.minimum(value, 255 - value)[there]
            alive = int(np.minimum(ranks, self.rank[there]).max(initial=0))
            states = 0
            for accrued in accrued_scores(top_rank(value)):
                claims = proof.no_claims()
                if FIRST_RANK <= accrued.rank <= alive:
                    claims = _claims(*solver.layer(fresh, GScore(accrued.rank, accrued.level > MIDDLE)))
                states += _prove(self.cell, end, proof, accrued, claims)
            return states

        return self._both(prove, bounds, knowledge)

    def accrued(self, bounds: Bounds, layer: Bounds, accrued: GScore, knowledge: Knowledge) -> int:
        """Prove that the bounds of positions with an accrued score claim no more than follows from fresh
        bounds and ``knowledge``, which have to be proved before; return the number of states.

        These may have become better since the fresh bounds were found, and then the claims may be less than
        what follows.

        :raises WrongBoundError: if something is wrong.
        """
        score = accrued_by(accrued.rank, accrued.white)

        def prove(proof: StateProof, end: int) -> int:
            return _prove(self.cell, end, proof, score, _claims(layer.value[end], layer.depth[end]))

        return self._both(prove, bounds, knowledge, less=True)

    def _both(self, prove: _Prove, bounds: Bounds, knowledge: Knowledge, less: bool = False) -> int:
        """Prove the games of the ends that have been solved; return the number of states.

        :param less: whether claims may be less than what follows.
        """

        def of_end(end: int) -> int:
            exits = _exits(self.men, self.ways, knowledge, end)
            game = game_of_cell(self.men, exits, (bounds.value[end], bounds.depth[end]), self.rank)
            game = replace(game, selected=self.selected, allowed=_LESS[end] if less else 0)
            with ProofThreads(1) as threads:
                proof = StateProof(game, threads)
                proof.begin()
                return prove(proof, end)

        with ThreadPoolExecutor(self._threads) as threads:
            return sum(threads.map(of_end, bounds.ends))


def prove_by_ply(route: Route, end: int, block: Block, knowledge: Knowledge, share: int = 1) -> int:
    """Prove one end of the bounds of the positions that a route leads to, where the best capture or pawn move
    decides it, by ``knowledge`` that has been proved; return the number of positions.

    What holds for all of them is no more than ``knowledge.bound`` says, and needs no proof.

    :param share: one position in so many is proved, in random runs of slots; 1 for all.
    :raises WrongBoundError: if something is wrong.
    """
    cell, side = route.destination, side_after(route)
    bound, men = knowledge.bound(route, end), _men_of(cell)
    ways = [way for way in ways_out(cell) if way.route.side == side and not way.route.quiet]
    value, depth = np.full((2, cell.size), NONE, np.uint8), np.zeros((2, cell.size), np.uint16)
    value[side], depth[side] = block
    rank = np.full_like(value, NO_RANK)
    game = game_of_cell(men, _exits(men, ways, knowledge, end), (value, depth), rank)
    game = replace(game, allowed=_LESS[end])
    # To the side to move the worst is as if it had no other move.
    accrued = Accrued(0, 0 if end == LOWER else WHITE_WORTH)
    game.key[:] = accrued.level << 16
    with ProofThreads(1) as threads:
        proof = StateProof(game, threads)
        proof.ranges = _runs(cell.size, share)
        proof.survey(proof.ranges)
        more = block.value < bound if end == LOWER else block.value > bound
        rank[1 - side] = NO_RANK
        rank[side][~more] = NO_RANK
        return _prove(cell, end, proof, accrued, _claims(value, depth))


def _runs(size: int, share: int) -> list[Range]:
    """Return ranges of slots: all of them, or one in ``share``."""
    runs = [(start, min(start + _RUN, size)) for start in range(0, size, _RUN)]
    return runs if share == 1 else random.Random(share).sample(runs, -(-len(runs) // share))


def _prove(cell: Cell, end: int, proof: StateProof, accrued: Accrued, claims: Claims) -> int:
    """Prove the states of one accrued score.

    :raises WrongBoundError: if something is wrong.
    """
    proof.enter(accrued, claims)
    states = proof.prove(accrued)
    _check(cell, end, proof.threads)
    return states


def _claims(value: NDArray[np.uint8], depth: NDArray[np.uint16]) -> Claims:
    """Return a layer as the proof reads it, from one with ``NONE`` where the fresh value holds."""
    there = np.zeros((2, max(64, value.shape[1])), np.bool_)
    there[:, : value.shape[1]] = value != NONE
    return Claims(value, depth, np.packbits(there, axis=1, bitorder="little").view(np.uint64))


def _check(cell: Cell, end: int, threads: ProofThreads) -> None:
    """Raise what the proof has found wrong, if anything.

    :raises WrongBoundError: then.
    """
    if not threads.wrong:
        return
    problem, _, side, slot, level, stored, right = threads.rows[0].tolist()
    claim, accrued = entry_of(stored, level), "any score" if level == MIDDLE else score_of(level)
    if problem in (problems.NOWHERE, problems.MISSING, problems.ENDED):
        what = PROBLEMS[problem]
    elif problem == problems.BETWEEN:
        what = f"{claim} with {accrued} accrued is not between that and the bound without it"
    else:
        what = f"with {accrued} accrued it is said to be {claim}, and {entry_of(right, level)} follows"
    board = cell.board_of(Side(side), slot)
    where = f"slot {slot}" if board is None else board.fen()
    raise WrongBoundError(f"{where}: the {_NAMES[end]} bound is not proved, {what}; {REMEDY}")


def _men_of(cell: Cell) -> ProofMen:
    men = [(man.kind, man.colour) for man in cell.all_men]
    return proof_men(men, len(cell.mobile), [list(cell.standing)])


def _exits(men: ProofMen, ways: Iterable[Way], knowledge: Knowledge, end: int) -> CellExits:
    """Return the values of moves out of a cell in one of its games."""
    number = np.zeros(python_of(way_number)(men, men.kinds.size + 1, 0, 0, 0), np.int32)
    begin, blocks, at = [-1 - WORST[end]], [], 0
    for way in ways:
        number[python_of(way_number)(men, *way[:4])] = len(begin)
        block = knowledge.block(way.route, end)
        if block is None:
            begin.append(-1 - knowledge.bound(way.route, end))
        else:
            begin.append(at)
            blocks.append(block)
            at += len(block.value)
    value = np.concatenate([np.zeros(0, np.uint8), *(block.value for block in blocks)])
    depth = np.concatenate([np.zeros(0, np.uint16), *(block.depth for block in blocks)])
    return CellExits(number, np.array(begin, np.int64), value, depth, int(WORST[end]))
