"""The proof of one cell: every state of the lower and the upper game is proved from its successors.

Each of the two games is proved like a table (docs/theory.md, section 5). First come the fresh states, then
the layers, which hold the states with one accrued score each. Layers are not stored; they are computed for
the proof. The bounds of the exits are premises and must have been proved before. This module finds the routes
out of the cell independently of the solver. docs/glossary.md explains the terms.
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
    BoundsSource,
    pools_of_ends,
    side_after,
)
from tbgen.cells.cell import PAWN, Cell, Man, man_of, piece_of
from tbgen.cells.frames import frame_of_cell
from tbgen.cells.routes import Route, routes_of
from tbgen.compiler.jit import python_of
from tbgen.errors import TbgenError
from tbgen.index.layout import SIDES, Side
from tbgen.verify.game import SELECT_ALL, game_of_cell, no_positions, no_ranks, proof_men
from tbgen.verify.geometry import KING
from tbgen.verify.kernels import results as problems
from tbgen.verify.kernels.best import NO_RANK, Range
from tbgen.verify.kernels.entry_grades import SolvedLayer
from tbgen.verify.kernels.moves import ProofMen
from tbgen.verify.kernels.resets import NO_EXITS, PROMOTIONS, CellExits, way_number
from tbgen.verify.kernels.results import MAX_WORTH, MIDDLE, Accrued
from tbgen.verify.report import PROBLEM_TEXTS, entry_of, score_of
from tbgen.verify.state_proof import (
    FIRST_RANK,
    ProofThreads,
    StateProof,
    accrued_score,
    accrued_scores,
    top_rank,
)


class ProofRoute(NamedTuple):
    """A route, and the move as :func:`tbgen.verify.kernels.resets.way_number` expects it."""

    mover: int
    """For a route of a pawn or frozen man: the index of this man among all men of the cell. For a route of
    the mobile men, of which any may move: the number of men in the cell."""
    target: int
    """Target square of the move of a pawn or frozen man. For a mobile man: the square of the pawn or frozen
    man that it captures, or 0 if it captures a mobile man."""
    victim: int
    """1 + index of the captured man if it is mobile, else 0."""
    promotion: int
    """Kind of the promoted man; 0 if the move is not a promotion."""
    route: Route
    """The route; its ``number`` is 0, because the solver's numbers are not used here."""


def proof_routes(cell: Cell) -> Iterator[ProofRoute]:
    """Yield all routes out of a cell. Some of them may have no legal move."""
    for side in SIDES:
        yield from _SideRouteFinder(cell, side).routes()


class _SideRouteFinder:
    """Finds the routes of the moves of one side."""

    def __init__(self, cell: Cell, side: Side) -> None:
        self.cell, self.side, self.standing = cell, side, cell.standing
        self.board = chess.BaseBoard(None)
        for square, man in self.standing.items():
            self.board.set_piece_at(square, piece_of(man))
        self.victims = [1 + number for number, man in enumerate(cell.mobile) if self._is_capturable(man)]
        """1 + index of each mobile man that may be captured."""

    def routes(self) -> Iterator[ProofRoute]:
        """Yield the routes of mobile men, then those of pawns and frozen men."""
        if any(man.colour == self.side for man in self.cell.mobile):
            for square, man in self.standing.items():
                if self._is_capturable(man):
                    yield self._route(None, square)
            for victim in self.victims:
                yield self._route(None, 0, victim)
        for square, man in self.standing.items():
            if man.colour == self.side:
                for target in self._targets(square, man):
                    for victim in self._victims(square, target, man):
                        yield from self._routes_to(square, target, victim, man)

    def _targets(self, square: int, man: Man) -> Iterator[int]:
        """Yield the squares to which a pawn or frozen man may move, with or without a capture."""
        yield from self.board.attacks(square)
        if man.kind == PAWN:
            ahead = -8 if self.side else 8
            steps = 2 if chess.square_rank(square) == (6 if self.side else 1) else 1
            for target in range(square + ahead, square + ahead * (steps + 1), ahead):
                if target in self.standing:
                    break
                yield target

    def _victims(self, square: int, target: int, man: Man) -> list[int]:
        """Return the mobile men that a move may capture, each as 1 + index.

        The list contains 0 if the move need not capture a mobile man.
        """
        if target in self.standing:
            return [0] if self._is_capturable(self.standing[target]) else []
        if man.kind != PAWN:
            return [0, *self.victims]
        return [0] if chess.square_file(square) == chess.square_file(target) else self.victims

    def _routes_to(self, square: int, target: int, victim: int, man: Man) -> Iterator[ProofRoute]:
        promotes = man.kind == PAWN and chess.square_rank(target) in (0, 7)
        for promotion in range(1, PROMOTIONS + 1) if promotes else (0,):
            yield self._route(square, target, victim, promotion)

    def _is_capturable(self, man: Man) -> bool:
        """Return whether a man belongs to the opponent and is not the king."""
        return man.colour != self.side and man.kind != KING

    def _route(self, origin: int | None, target: int, victim: int = 0, promotion: int = 0) -> ProofRoute:
        """Return the route of the man on ``origin``, or of any mobile man if ``origin`` is None."""
        standing = {square: man for square, man in self.standing.items() if victim or square != target}
        mover = self.cell.men
        passed = None
        quiet = False
        if origin is not None:
            man = standing.pop(origin)
            mover = len(self.cell.mobile) + list(self.standing).index(origin)
            standing[target] = man_of(self.side, promotion) if promotion else man
            quiet = man.kind != PAWN and not victim and target not in self.standing
            if man.kind == PAWN and abs(target - origin) == 16:
                passed = self._passed_square(origin, target)
        mobile = (man for number, man in enumerate(self.cell.mobile, 1) if number != victim)
        cell = Cell.of_men(mobile, standing)
        route = Route(self.side, 0, cell, target if promotion else None, quiet, passed)
        return ProofRoute(mover, target, victim, promotion, route)

    def _passed_square(self, origin: int, target: int) -> int | None:
        """Return the square that a double step passes, if an enemy pawn may capture there."""
        square = (origin + target) // 2
        capturers = self.board.attackers(bool(self.side), square) & self.board.pawns
        return square if capturers else None


_RANGE_SLOTS: Final = 4096
"""Number of consecutive slots in each of the ranges that a sample consists of."""
_GAME_NAMES: Final = ("lower", "upper")
"""Names of the two games, indexed by ``LOWER`` and ``UPPER``."""
_ALLOWED_DEVIATION: Final = (1, -1)
"""Values of ``ProofGame.deviation`` for the lower and the upper game. They allow bounds that are weaker
than the successors imply."""


REMEDY: Final = "prove the tables with tbgen verify, and report this if they are in order"

_ProofFunction: TypeAlias = Callable[[StateProof, int], int]
"""Function that proves one game of a cell, given the proof and ``LOWER`` or ``UPPER``; it returns the number
of proved states."""


class WrongBoundError(TbgenError):
    """Raised if a bound does not follow from the successors of its state."""

    code = "wrong_bound"


class CellProof:
    """Proves the bounds of a cell.

    :param sample_divisor: one position in ``sample_divisor`` is proved, chosen at random; 1 proves all.
    :param threads: number of threads; if at least two, both games are proved at the same time.
    """

    def __init__(self, cell: Cell, sample_divisor: int = 1, threads: int = len(ENDS)) -> None:
        self.cell = cell
        self._threads = min(threads, len(ENDS))
        self.routes = list(proof_routes(cell))
        self.men = _men_of(cell)
        self.rank, self.legal = no_ranks(cell.size), no_positions(cell.size)
        no_bounds = np.zeros((2, 0), np.uint8), np.zeros((2, 0), np.uint16)
        game = game_of_cell(self.men, NO_EXITS, no_bounds, self.legal, self.rank)
        with ProofThreads(self._threads) as workers:
            StateProof(game, workers).survey(workers.ranges(cell.size))
        self.selected = SELECT_ALL
        if sample_divisor > 1:
            random_numbers = np.random.default_rng(sample_divisor).integers(
                sample_divisor, size=self.rank.shape, dtype=np.uint8
            )
            self.selected = random_numbers == 0

    def prove(self, bounds: Bounds, exit_bounds: BoundsSource) -> int:
        """Prove the fresh bounds of all positions, and the layers that these bounds depend on.

        :param exit_bounds: bounds of the exits, already proved.
        :returns: the number of proved states.
        :raises WrongBoundError: if a bound does not follow from the successors.
        """
        frame = frame_of_cell(self.cell)
        routes = list(routes_of(frame))

        def prove_all_layers(proof: StateProof, end: int) -> int:
            value = bounds.value[end]
            proof.check_values(proof.ranges)
            _raise_if_wrong(self.cell, end, proof.workers)
            (pool,) = pools_of_ends(frame, routes, exit_bounds, [end])
            solver = BoundsGame(frame, pool)
            fresh = Block(value, bounds.depth[end])
            ranks = np.minimum(np.minimum(value, 255 - value), self.rank)[self.rank != NO_RANK]
            max_alive_rank = int(ranks.max(initial=0))
            states = 0
            for accrued in accrued_scores(top_rank(value)):
                claims = proof.empty_layer()
                if FIRST_RANK <= accrued.rank <= max_alive_rank:
                    claims = _layer_of(*solver.layer(fresh, GScore(accrued.rank, accrued.pivot > MIDDLE)))
                states += _prove_states(self.cell, end, proof, accrued, claims)
            return states

        return self._prove_games(prove_all_layers, bounds, exit_bounds)

    def prove_layer(self, bounds: Bounds, layer: Bounds, accrued: GScore, exit_bounds: BoundsSource) -> int:
        """Prove that the bounds in a layer follow from the fresh bounds and the exits.

        The bounds of the layer may be weaker than the implied bounds, because the bounds of exits may have
        improved since the fresh bounds were found.

        :param bounds: the fresh bounds, already proved.
        :param exit_bounds: bounds of the exits, already proved.
        :returns: the number of proved states.
        :raises WrongBoundError: if a bound does not follow.
        """
        score = accrued_score(accrued.rank, accrued.white)

        def prove_one_layer(proof: StateProof, end: int) -> int:
            return _prove_states(self.cell, end, proof, score, _layer_of(layer.value[end], layer.depth[end]))

        return self._prove_games(prove_one_layer, bounds, exit_bounds, lenient=True)

    def _prove_games(
        self, prove: _ProofFunction, bounds: Bounds, exit_bounds: BoundsSource, lenient: bool = False
    ) -> int:
        """Call ``prove`` for each game that was solved; return the number of proved states.

        :param lenient: whether bounds may be weaker than the successors imply.
        """

        def prove_game(end: int) -> int:
            exits = _exits_of(self.men, self.routes, exit_bounds, end)
            goals = bounds.value[end], bounds.depth[end]
            game = game_of_cell(self.men, exits, goals, self.legal, self.rank)
            game = replace(game, selected=self.selected, deviation=_ALLOWED_DEVIATION[end] if lenient else 0)
            with ProofThreads(1) as workers:
                proof = StateProof(game, workers)
                proof.begin()
                return prove(proof, end)

        with ThreadPoolExecutor(self._threads) as executor:
            return sum(executor.map(prove_game, bounds.ends))


def prove_lookahead_block(
    route: Route, end: int, block: Block, exit_bounds: BoundsSource, sample_divisor: int = 1
) -> int:
    """Prove lower or upper bounds that were computed by looking one capture or pawn move ahead.

    Only bounds that are better than ``exit_bounds.bound`` are proved. That bound holds for all positions
    that the route leads to.

    :param block: the bounds of the positions that the route leads to.
    :param exit_bounds: bounds after the captures and pawn moves, already proved.
    :param sample_divisor: one position in ``sample_divisor`` is proved, in random ranges of slots; 1 proves
        all.
    :returns: the number of proved positions.
    :raises WrongBoundError: if a bound does not follow.
    """
    cell, side = route.destination, side_after(route)
    bound = exit_bounds.bound(route, end)
    men = _men_of(cell)
    routes = [each for each in proof_routes(cell) if each.route.side == side and not each.route.is_quiet]
    value, depth = np.full((2, cell.size), NONE, np.uint8), np.zeros((2, cell.size), np.uint16)
    value[side], depth[side] = block
    rank = no_ranks(cell.size)
    exits = _exits_of(men, routes, exit_bounds, end)
    game = game_of_cell(men, exits, (value, depth), no_positions(cell.size), rank)
    game = replace(game, deviation=_ALLOWED_DEVIATION[end])
    # With the worst accrued score, quiet moves cannot help the side to move.
    accrued = Accrued(0, 0 if end == LOWER else MAX_WORTH)
    game.grade[:] = accrued.pivot << 16
    with ProofThreads(1) as workers:
        proof = StateProof(game, workers)
        proof.ranges = _slot_ranges(cell.size, sample_divisor)
        proof.survey(proof.ranges)
        is_better = block.value < bound if end == LOWER else block.value > bound
        rank[1 - side] = NO_RANK
        rank[side][~is_better] = NO_RANK
        return _prove_states(cell, end, proof, accrued, _layer_of(value, depth))


def _slot_ranges(size: int, sample_divisor: int) -> list[Range]:
    """Return ranges of slots: all of them, or one in ``sample_divisor``, chosen at random."""
    ranges = [(start, min(start + _RANGE_SLOTS, size)) for start in range(0, size, _RANGE_SLOTS)]
    return (
        ranges
        if sample_divisor == 1
        else random.Random(sample_divisor).sample(ranges, -(-len(ranges) // sample_divisor))
    )


def _prove_states(cell: Cell, end: int, proof: StateProof, accrued: Accrued, layer: SolvedLayer) -> int:
    """Prove all states with one accrued score; return their number.

    :raises WrongBoundError: if a bound does not follow.
    """
    proof.set_grades(accrued, layer)
    states = proof.prove(accrued)
    _raise_if_wrong(cell, end, proof.workers)
    return states


def _layer_of(value: NDArray[np.uint8], depth: NDArray[np.uint16]) -> SolvedLayer:
    """Return a layer in the form that the proof reads. ``NONE`` marks positions whose fresh value applies."""
    has_claim = np.zeros((2, max(64, value.shape[1])), np.bool_)
    has_claim[:, : value.shape[1]] = value != NONE
    return SolvedLayer(value, depth, np.packbits(has_claim, axis=1, bitorder="little").view(np.uint64))


def _raise_if_wrong(cell: Cell, end: int, workers: ProofThreads) -> None:
    """Check that the proof has found no wrong state.

    :raises WrongBoundError: if a wrong state was found.
    """
    if not workers.wrong:
        return
    problem, _, side, slot, level, stored, expected = workers.findings[0].tolist()
    claim = entry_of(stored, level)
    accrued = "any score" if level == MIDDLE else score_of(level)
    if problem in (problems.NOWHERE, problems.MISSING, problems.WRONG_END):
        reason = PROBLEM_TEXTS[problem]
    elif problem == problems.NOT_BETWEEN:
        reason = f"with {accrued} accrued, {claim} does not lie between the accrued score and the fresh bound"
    else:
        reason = f"with {accrued} accrued, {claim} is stored but {entry_of(expected, level)} follows"
    board = cell.board_of(Side(side), slot)
    place = f"slot {slot}" if board is None else board.fen()
    raise WrongBoundError(f"{place}: the {_GAME_NAMES[end]} bound is not proved, {reason}; {REMEDY}")


def _men_of(cell: Cell) -> ProofMen:
    men = [(man.kind, man.colour) for man in cell.all_men]
    return proof_men(men, len(cell.mobile), [list(cell.standing)])


def _exits_of(men: ProofMen, routes: Iterable[ProofRoute], exit_bounds: BoundsSource, end: int) -> CellExits:
    """Return the values after the moves out of a cell, in its lower or its upper game."""
    exit_numbers = np.zeros(python_of(way_number)(men, men.kinds.size + 1, 0, 0, 0), np.int32)
    starts = [-1 - WORST[end]]
    blocks = []
    size = 0
    for each in routes:
        exit_numbers[python_of(way_number)(men, *each[:4])] = len(starts)
        block = exit_bounds.block(each.route, end)
        if block is None:
            starts.append(-1 - exit_bounds.bound(each.route, end))
        else:
            starts.append(size)
            blocks.append(block)
            size += len(block.value)
    value = np.concatenate([np.zeros(0, np.uint8), *(block.value for block in blocks)])
    depth = np.concatenate([np.zeros(0, np.uint16), *(block.depth for block in blocks)])
    return CellExits(exit_numbers, np.array(starts, np.int64), value, depth, int(WORST[end]))
