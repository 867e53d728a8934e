"""Proving each result of a search when it is found, from results that were proved before.

A solution of a cell is proved in two steps. The first step concerns the bounds of its exits. Bounds copied
from tables and solved cells are checked by independent code in some positions. Bounds computed by looking
one ply ahead are proved. The second step proves the lower and the upper game of the cell, state by state
(:mod:`tbgen.beyond.cell_proof`).

Forced mates after promotions, and thresholds of cells, are proved in randomly chosen positions
(:mod:`tbgen.beyond.sampled_proofs`).

Bounds by forcing moves are proved by following the chosen moves of one side and all answers of the other.
"""

import random
import time
from collections.abc import Callable
from contextlib import suppress
from graphlib import CycleError, TopologicalSorter
from typing import Final, TypeAlias

import chess
import numpy as np

from tbgen.beyond.budget import Meter
from tbgen.beyond.cell_proof import CellProof, WrongBoundError, prove_lookahead_block
from tbgen.beyond.forcing import ForcingProof
from tbgen.beyond.knowledge import ExitBounds
from tbgen.beyond.ledger import SAMPLE_DIVISOR, ForwardProof
from tbgen.beyond.sampled_proofs import ThresholdProof, board_after, prove_wins
from tbgen.board.kinds import KING
from tbgen.board.material import MAX_MEN
from tbgen.board.rules import FRESH
from tbgen.board.score import NONE, Code, GScore, code_of
from tbgen.cells.bounds import LOWER, WORST, Block, Bounds, BoundsSource, CallbackBoundsSource, side_after
from tbgen.cells.cell import Cell, CellPosition
from tbgen.cells.interval import Interval
from tbgen.cells.routes import Route, home_of_route
from tbgen.cells.threshold import ThresholdSolution
from tbgen.cells.wins import Wins
from tbgen.errors import MissingTableError
from tbgen.index.layout import SIDES
from tbgen.probe.tablebase import Tablebase

_State: TypeAlias = tuple[chess.Board, GScore]
"""A position and its accrued score."""
_Key: TypeAlias = tuple[str, GScore]
"""Key of a state: the position without move counters, and the accrued score."""


def prove_forcing(board: chess.Board, accrued: GScore, tables: Tablebase, proof: ForcingProof) -> int:
    """Prove a bound of a state by the forcing moves that ``proof`` chooses; return the number of states.

    Every end of play must have a score that satisfies the bound. Infinite play repeats states in a cycle, and
    the accrued score does not change in a cycle. So it suffices to show that no cycle contains a state whose
    accrued score violates the bound.

    :param accrued: the accrued score of the state, with the position score folded in.
    :raises WrongBoundError: if the bound does not follow.
    """
    bound = GScore.from_code(proof.bound)
    chosen = {_key((board, score)): move for board, score, move in proof.chosen_moves()}

    def satisfies_bound(score: GScore) -> bool:
        return score >= bound if proof.white else score <= bound

    violating: dict[_Key, list[_Key]] = {}
    """Maps each state whose accrued score violates the bound to its successors that also violate it."""
    queue = [(board.copy(stack=False), accrued)]
    seen = {_key(queue[0])}
    for here, score in queue:
        ended = _known_value(here, score, tables)
        if ended is not None:
            if not satisfies_bound(ended):
                raise _wrong_forcing_error(here.fen(), f"its value is {ended}")
            continue
        moves = list(here.legal_moves)
        if here.turn == proof.white:
            moves = [move for move in moves if move == chosen.get(_key((here, score)))]
        if not moves:
            raise _wrong_forcing_error(here.fen(), f"no move is chosen with {score} accrued")
        states = [_state_after(here, score, move) for move in moves]
        if not satisfies_bound(score):
            violating[_key((here, score))] = [_key(each) for each in states if not satisfies_bound(each[1])]
        new_states = {_key(each): each for each in states if _key(each) not in seen}
        seen |= new_states.keys()
        queue += new_states.values()
    try:
        TopologicalSorter(violating).prepare()
    except CycleError as error:
        fen, score = error.args[1][0]
        raise _wrong_forcing_error(fen, f"{score} may stay for ever") from None
    return len(seen)


def _wrong_forcing_error(fen: str, reason: str) -> WrongBoundError:
    return WrongBoundError(f"{fen}: the bound by forcing moves is not proved, {reason}; please report this")


def _known_value(board: chess.Board, accrued: GScore, tables: Tablebase) -> GScore | None:
    """Return the value of a state if play is over or a table contains the state, else None."""
    if not any(board.legal_moves):
        return accrued
    if chess.popcount(board.occupied) <= MAX_MEN and accrued == GScore.of_board(board):
        with suppress(MissingTableError):
            return tables.probe(board, FRESH).value
    return None


def _key(state: _State) -> _Key:
    board, accrued = state
    return board.epd(en_passant="legal"), accrued


def _state_after(board: chess.Board, accrued: GScore, move: chess.Move) -> _State:
    """Return the state after a move."""
    after = board_after(board, move)
    score = GScore.of_board(after)
    return after, score if board.is_zeroing(move) or score.rank < accrued.rank else accrued


_MAX_FULL_SLOTS: Final = 64**3
"""Maximum number of slots of a cell in which all positions are proved."""
_CHECKED_POSITION_COUNT: Final = 4
"""Number of positions of a copied block that each proof checks, for the lower and for the upper bounds."""
_BARE_KING_BOUNDS: Final = (Code(254), Code(1))
"""Lower bound if Black's king is bare, and upper bound if White's king is bare. A bare king cannot mate."""


class Prover:
    """Proves each result when it is found, and counts the proved states. Proofs use no time of the budget.

    All methods raise :class:`tbgen.beyond.cell_proof.WrongBoundError` if a result is wrong.

    :param meter: what remains of the budget. Its time limit is extended by the time of each proof.
    """

    def __init__(self, exits: ExitBounds, meter: Meter) -> None:
        self._exits, self._meter = exits, meter
        self._last_cell_proof: CellProof | None = None
        self._random = random.Random(0)
        self.proof = ForwardProof()
        """The numbers of cells and states that have been proved so far."""

    def prove_cell(self, bounds: Bounds) -> None:
        """Prove a solution of a cell from the current bounds of its exits."""
        cell = bounds.cell
        self._run_proof(
            lambda: self._run_cell_proof(cell, lambda proof, exits: proof.prove(bounds, exits)),
            cell_count=1,
            sampled_count=int(cell.size > _MAX_FULL_SLOTS),
        )

    def prove_wins(self, wins: Wins) -> None:
        """Prove some of the forced mates in a cell, from the current bounds of its exits."""
        self._run_proof(lambda: prove_wins(wins, self._exits, self._random), cell_count=1, sampled_count=1)

    def prove_threshold(self, cell: Cell, solution: ThresholdSolution) -> None:
        """Prove some of the states of a cell for which a threshold is proved, from the current bounds of its
        exits.

        :param solution: has the ranks and rounds of its attractors.
        """
        self._run_proof(
            lambda: ThresholdProof(cell, solution, self._exits).prove_some(self._random),
            cell_count=1,
            sampled_count=1,
        )

    def prove_forcing(self, board: chess.Board, accrued: GScore, proof: ForcingProof) -> None:
        """Prove a bound of a state by forcing moves.

        :param accrued: the accrued score of the state.
        """
        self._run_proof(lambda: prove_forcing(board, accrued, self._exits.tables.tablebase, proof))

    def prove_layer(self, bounds: Bounds, layer: Bounds, accrued: GScore) -> None:
        """Prove a layer of a cell from the fresh bounds and the current bounds of the exits."""
        self._run_proof(
            lambda: self._run_cell_proof(
                bounds.cell, lambda proof, exits: proof.prove_layer(bounds, layer, accrued, exits)
            )
        )

    def _run_cell_proof(self, cell: Cell, prove: Callable[[CellProof, BoundsSource], int]) -> int:
        """Call ``prove`` with the proof of a cell and with its exits; return the number of proved states."""
        if self._last_cell_proof is None or self._last_cell_proof.cell != cell:
            self._last_cell_proof = CellProof(cell, _sample_divisor(cell), self._meter.threads)
        exits = _ProvedExits(self._exits, self._random)
        return prove(self._last_cell_proof, exits) + sum(exits.proved_counts)

    def _run_proof(self, prove: Callable[[], int], cell_count: int = 0, sampled_count: int = 0) -> None:
        """Call ``prove``, which returns the number of proved states. Count them, and extend the time limit.

        :param cell_count: number of solutions that are proved.
        :param sampled_count: number of these solutions in which only a sample of the positions is proved.
        """
        start = time.perf_counter()
        old = self.proof
        states = prove()
        self.proof = ForwardProof(old.cells + cell_count, old.states + states, old.sampled + sampled_count)
        self._meter.extend_time_limit(time.perf_counter() - start)


class _ProvedExits:
    """The bounds of the exits of one cell. They are proved when they are requested.

    Implements :class:`tbgen.cells.bounds.BoundsSource`.
    """

    def __init__(self, exits: ExitBounds, rng: random.Random) -> None:
        self._exits, self._random = exits, rng
        self._blocks: dict[tuple[object, ...], Block | None] = {}
        self._copied = CallbackBoundsSource(self._checked_block, self.bound)
        self.proved_counts: list[int] = []
        """For each block with lookahead: the number of positions whose bounds were proved."""

    def block(self, route: Route, end: int) -> Block | None:
        """Prove the lower or upper bounds of the positions after a route, and return them."""
        route = route.without_landing
        key = route.side, route.destination, route.promoted_on, route.is_quiet, route.ep_square, end
        if key not in self._blocks:
            copied, block = self._checked_block(route, end), self._exits.block(route, end)
            lookahead = None if block is None else _replace_copied(copied, block, self.bound(route, end))
            if lookahead is not None:
                divisor = _sample_divisor(route.destination)
                self.proved_counts.append(prove_lookahead_block(route, end, lookahead, self._copied, divisor))
            self._blocks[key] = block
        return self._blocks[key]

    def bound(self, route: Route, end: int) -> Code:
        """Return the bound claimed for all positions after a route, but no stronger than what a bare king
        proves."""
        is_bare = [man.kind for man in route.destination.all_men if man.colour != SIDES[end]] == [KING]
        claimed_bound = self._exits.bound(route, end)
        proved = _BARE_KING_BOUNDS[end] if is_bare else WORST[end]
        return max(claimed_bound, proved) if end == LOWER else min(claimed_bound, proved)

    def knows_values(self, route: Route) -> bool:
        """Return False, because no proof shows that both ends are the same."""
        return False

    def _checked_block(self, route: Route, end: int) -> Block | None:
        """Return the sources' bounds for the positions after a route, and check some of them."""
        block = self._exits.stored_block(route, end)
        if block is not None:
            for slot in (self._random.randrange(len(block.value)) for _ in range(_CHECKED_POSITION_COUNT)):
                claimed_bound = Code(int(block.value[slot]))
                self._check_bound(route, slot, end, WORST[end] if claimed_bound == NONE else claimed_bound)
        return block

    def _check_bound(self, route: Route, slot: int, end: int, claimed_bound: Code) -> None:
        """Compare a block's bound for one position with the bounds that are looked up for the position.

        :raises WrongBoundError: if the looked-up bounds do not confirm the bound in the block.
        """
        cell, home = route.destination, home_of_route(route)
        board = cell.board_of(side_after(route), slot)
        if board is None or board.was_into_check():
            return
        mobile = board.occupied & ~cell.standing_mask
        if home != cell and route.promoted_on is not None:
            mobile |= 1 << route.promoted_on
        board.ep_square = route.ep_square
        bounds = self._exits.fresh_bounds(CellPosition(board, mobile))
        if not _confirms(bounds, end, claimed_bound):
            # Exit sources ignore packed tables for positions that look like those after a promotion.
            value = self._exits.tables.fresh_value(board)
            if value is not None:
                bounds = bounds.intersection(Interval(code_of(value), code_of(value)))
            if not _confirms(bounds, end, claimed_bound):
                lower, upper, claim = map(GScore.from_code, (*bounds, claimed_bound))
                raise WrongBoundError(
                    f"{board.fen()}: a cell that leads here used the bound {claim}, but the proved bounds "
                    f"are {lower} and {upper}; please report this"
                )


def _confirms(bounds: Interval, end: int, claimed_bound: Code) -> bool:
    """Return whether the lower or upper bound proves at least as much as the claimed bound."""
    return claimed_bound >= bounds.lower if end == LOWER else claimed_bound <= bounds.upper


def _replace_copied(copied_block: Block | None, block: Block, bound: Code) -> Block | None:
    """Return a block in which copied bounds are replaced by the bound of all positions.

    None is returned if all bounds are copied.

    :param bound: the bound that holds for all positions.
    """
    if copied_block is None:
        return block
    mask = (copied_block.value == block.value) & (copied_block.depth == block.depth)
    return None if mask.all() else Block(np.where(mask, bound, block.value).astype(np.uint8), block.depth)


def _sample_divisor(cell: Cell) -> int:
    return 1 if cell.size <= _MAX_FULL_SLOTS else SAMPLE_DIVISOR
