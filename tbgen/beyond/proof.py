"""Proofs of the results of a search as they are found, each from results that were proved before.

A solution of a cell is proved in two steps. The first step concerns the bounds of its exits. Bounds copied
from tables and solved cells are compared with independent code in some positions. Bounds computed by looking
one ply ahead are proved. The second step proves the lower and the upper game of the cell, state by state
(:mod:`tbgen.beyond.cell_proof`).

Forced mates after promotions are proved in randomly chosen positions that are lost for Black, with moves by
python-chess. After any move of Black that is no capture or pawn move, White must be able to move to a lost
position of a smaller level, or to a mate that was proved before. A capture or pawn move of Black must lead to
such a mate at once. Levels are natural numbers, so White mates eventually.

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
from tbgen.beyond.cell_proof import REMEDY, CellProof, WrongBoundError, prove_lookahead_block
from tbgen.beyond.forcing import ForcingProof
from tbgen.beyond.knowledge import ExitBounds
from tbgen.beyond.ledger import SAMPLE_DIVISOR, ForwardProof
from tbgen.board.kinds import KING
from tbgen.board.material import MAX_MEN
from tbgen.board.rules import FRESH
from tbgen.board.score import NONE, Code, GScore, code_of
from tbgen.cells.bounds import LOWER, WORST, Block, Bounds, Knowledge, SomeKnowledge, side_after
from tbgen.cells.cell import Cell, CellPosition
from tbgen.cells.routes import Route, home_of_route
from tbgen.cells.window import Interval
from tbgen.cells.wins import Wins
from tbgen.errors import MissingTableError
from tbgen.index.layout import BLACK_TO_MOVE, SIDES
from tbgen.probe.tablebase import Tablebase

MAX_PROVED_WINS: Final = 200
"""Maximum number of lost positions that are proved in a whole cell."""
_TRIES: Final = 100
"""Average number of random slots that may be tried to find one lost position."""
_MATE: Final = Code(0)
"""Code of a mate by White."""


def prove_wins(wins: Wins, known: ExitBounds, rng: random.Random) -> int:
    """Prove some positions of a whole cell that are lost for Black, and return their number.

    :param wins: the forced mates, with levels.
    :param rng: the generator of random slots.
    :raises WrongBoundError: if one of the positions is not proved.
    """
    proved = 0
    for _ in range(MAX_PROVED_WINS * _TRIES):
        slot = rng.randrange(wins.cell.size)
        if wins.has(BLACK_TO_MOVE, slot):
            board = wins.cell.board_of(BLACK_TO_MOVE, slot)
            assert board is not None
            _prove_win(wins, known, board, int(wins.rounds[slot]))
            proved += 1
            if proved == MAX_PROVED_WINS:
                break
    return proved


def _prove_win(wins: Wins, known: ExitBounds, board: chess.Board, level: int) -> None:
    for move in board.legal_moves:
        after = _board_after(board, move)
        if not (_is_mate(known, after) if board.is_zeroing(move) else _nears_mate(wins, known, after, level)):
            raise _wrong_win(board, move)
    if not any(board.legal_moves) and not board.is_check():
        raise _wrong_win(board, chess.Move.null())


def _wrong_win(board: chess.Board, move: chess.Move) -> WrongBoundError:
    return WrongBoundError(
        f"{board.fen()}: the forced mate is not proved, since no win is proved after {board.san(move)}; "
        f"{REMEDY}"
    )


def _nears_mate(wins: Wins, known: ExitBounds, board: chess.Board, level: int) -> bool:
    """Return whether White has a move to a proved mate, or to a lost position of a smaller level."""
    for move in board.legal_moves:
        after = _board_after(board, move)
        if board.is_zeroing(move):
            if _is_mate(known, after):
                return True
        else:
            slot = wins.cell.slot(wins.cell.squares_of(after))
            if wins.has(BLACK_TO_MOVE, slot) and wins.rounds[slot] < level:
                return True
    return False


def _is_mate(known: ExitBounds, board: chess.Board) -> bool:
    """Return whether White forces mate in a position, as far as this was proved before."""
    if known.wins.is_won(board):
        return True
    position = CellPosition(board, board.occupied & ~board.pawns)
    return known.fresh_bounds(position).lower == _MATE


def _board_after(board: chess.Board, move: chess.Move) -> chess.Board:
    board = board.copy(stack=False)
    board.push(move)
    return board


_State: TypeAlias = tuple[chess.Board, GScore]
"""A position and its accrued score."""
_Key: TypeAlias = tuple[str, GScore]
"""Key of a state: the position without move counters, and the accrued score."""


def prove_forcing(board: chess.Board, accrued: GScore, tables: Tablebase, proof: ForcingProof) -> int:
    """Prove a bound of a state by the forcing moves that its proof chooses; return the number of states.

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
    """The states whose accrued score violates the bound, each with its successors of the same kind."""
    queue = [(board.copy(stack=False), accrued)]
    seen = {_key(queue[0])}
    for here, score in queue:
        ended = _end(here, score, tables)
        if ended is not None:
            if not satisfies_bound(ended):
                raise _wrong_forcing(here.fen(), f"its value is {ended}")
            continue
        moves = list(here.legal_moves)
        if here.turn == proof.white:
            moves = [move for move in moves if move == chosen.get(_key((here, score)))]
        if not moves:
            raise _wrong_forcing(here.fen(), f"no move is chosen with {score} accrued")
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
        raise _wrong_forcing(fen, f"{score} may stay for ever") from None
    return len(seen)


def _wrong_forcing(fen: str, reason: str) -> WrongBoundError:
    return WrongBoundError(f"{fen}: the bound by forcing moves is not proved, {reason}; please report this")


def _end(board: chess.Board, accrued: GScore, tables: Tablebase) -> GScore | None:
    """Return the value of a state if play ends or a table contains it, else None."""
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
    after = _board_after(board, move)
    score = GScore.of_board(after)
    return after, score if board.is_zeroing(move) or score.rank < accrued.rank else accrued


_MAX_FULL_SLOTS: Final = 64**3
"""Maximum number of slots of a cell in which all positions are proved."""
_CHECKED_POSITIONS: Final = 4
"""Number of positions that are checked in a copied block, for each end and each proof."""
_BARE_KING_BOUNDS: Final = (Code(254), Code(1))
"""Lower bound if Black's king is bare, and upper bound if White's king is bare. A bare king cannot mate."""


class Prover:
    """Proves results as they are found, and counts the proved states. The time for proofs does not count.

    All methods raise :class:`tbgen.beyond.cell_proof.WrongBoundError` if a result is wrong.

    :param meter: the rest of the budget. It is extended by the time of each proof.
    """

    def __init__(self, known: ExitBounds, meter: Meter) -> None:
        self._known, self._meter = known, meter
        self._last_cell_proof: CellProof | None = None
        self._random = random.Random(0)
        self.proof = ForwardProof()
        """The amount of results that have been proved so far."""

    def prove_cell(self, bounds: Bounds) -> None:
        """Prove a solution of a cell from the current bounds of its exits."""
        cell = bounds.cell
        self._prove(
            lambda: self._run_cell_proof(cell, lambda proof, exits: proof.prove(bounds, exits)),
            cells=1,
            sampled=int(cell.size > _MAX_FULL_SLOTS),
        )

    def prove_wins(self, wins: Wins) -> None:
        """Prove some of the forced mates in a cell, from the current bounds of its exits."""
        self._prove(lambda: prove_wins(wins, self._known, self._random), cells=1, sampled=1)

    def prove_forcing(self, board: chess.Board, accrued: GScore, proof: ForcingProof) -> None:
        """Prove a bound of a state by forcing moves.

        :param accrued: the accrued score of the state.
        """
        self._prove(lambda: prove_forcing(board, accrued, self._known.tables.tablebase, proof))

    def prove_layer(self, bounds: Bounds, layer: Bounds, accrued: GScore) -> None:
        """Prove a layer of a cell from the fresh bounds and the current bounds of the exits."""
        self._prove(
            lambda: self._run_cell_proof(
                bounds.cell, lambda proof, exits: proof.prove_layer(bounds, layer, accrued, exits)
            )
        )

    def _run_cell_proof(self, cell: Cell, prove: Callable[[CellProof, Knowledge], int]) -> int:
        """Call ``prove`` with the proof of a cell and with its exits; return the number of proved states."""
        if self._last_cell_proof is None or self._last_cell_proof.cell != cell:
            self._last_cell_proof = CellProof(cell, _sample_divisor(cell), self._meter.threads)
        exits = _ProvedExits(self._known, self._random)
        return prove(self._last_cell_proof, exits) + sum(exits.proved_counts)

    def _prove(self, prove: Callable[[], int], cells: int = 0, sampled: int = 0) -> None:
        """Call ``prove``, which returns the number of proved states. Count them, and extend the time limit.

        :param cells: number of solutions that are proved.
        :param sampled: number of these solutions in which only a sample of the positions is proved.
        """
        start, earlier = time.perf_counter(), self.proof
        states = prove()
        self.proof = ForwardProof(earlier.cells + cells, earlier.states + states, earlier.sampled + sampled)
        self._meter.extend(time.perf_counter() - start)


class _ProvedExits:
    """The bounds of the exits of one cell. They are proved when they are requested.

    Implements :class:`tbgen.cells.bounds.Knowledge`.
    """

    def __init__(self, known: ExitBounds, rng: random.Random) -> None:
        self._known, self._random = known, rng
        self._blocks: dict[tuple[object, ...], Block | None] = {}
        self._copied = SomeKnowledge(self._copy, self.bound)
        self.proved_counts: list[int] = []
        """For each block with lookahead: the number of positions whose bounds were proved."""

    def block(self, route: Route, end: int) -> Block | None:
        """Return the lower or upper bounds of the positions after a route, and prove them before."""
        route = route.unrestricted
        key = route.side, route.destination, route.promoted, route.is_quiet, route.ep_square, end
        if key not in self._blocks:
            copied, block = self._copy(route, end), self._known.block(route, end)
            lookahead = None if block is None else _not_copied(copied, block, self.bound(route, end))
            if lookahead is not None:
                divisor = _sample_divisor(route.destination)
                self.proved_counts.append(prove_lookahead_block(route, end, lookahead, self._copied, divisor))
            self._blocks[key] = block
        return self._blocks[key]

    def bound(self, route: Route, end: int) -> Code:
        """Return the bound of all positions of a route, limited to the proved bound against a bare king."""
        is_bare = [man.kind for man in route.destination.all_men if man.colour != SIDES[end]] == [KING]
        claimed = self._known.bound(route, end)
        proved = _BARE_KING_BOUNDS[end] if is_bare else WORST[end]
        return max(claimed, proved) if end == LOWER else min(claimed, proved)

    def same_ends(self, route: Route) -> bool:
        """Return False, because no proof shows that both ends are the same."""
        return False

    def _copy(self, route: Route, end: int) -> Block | None:
        """Return the bounds that the sources have of the positions after a route, and check some of them."""
        block = self._known.stored_block(route, end)
        if block is not None:
            for slot in (self._random.randrange(len(block.value)) for _ in range(_CHECKED_POSITIONS)):
                claimed = Code(int(block.value[slot]))
                self._check(route, slot, end, WORST[end] if claimed == NONE else claimed)
        return block

    def _check(self, route: Route, slot: int, end: int, claimed: Code) -> None:
        """Compare the bound that a block has of one position with the bounds that are looked up for it.

        :raises WrongBoundError: if the looked-up bounds do not confirm the bound in the block.
        """
        cell, home = route.destination, home_of_route(route)
        board = cell.board_of(side_after(route), slot)
        if board is None or board.was_into_check():
            return
        mobile = board.occupied & ~cell.standing_mask
        if home != cell and route.promoted is not None:
            mobile |= 1 << route.promoted
        board.ep_square = route.ep_square
        position = CellPosition(board, mobile)
        bounds = self._known.fresh_bounds(position)
        if not _confirms(bounds, end, claimed):
            # Exit sources ignore packed tables for positions that look like those after a promotion.
            value = self._known.tables.fresh_value(board)
            if value is not None:
                bounds = bounds.within(Interval(code_of(value), code_of(value)))
            if not _confirms(bounds, end, claimed):
                lower, upper, claim = map(GScore.from_code, (*bounds, claimed))
                raise WrongBoundError(
                    f"{board.fen()}: a cell that leads here used the bound {claim}, but the proved bounds "
                    f"are {lower} and {upper}; please report this"
                )


def _confirms(bounds: Interval, end: int, claimed: Code) -> bool:
    """Return whether the bound at an end proves at least as much as the claimed bound."""
    return claimed >= bounds.lower if end == LOWER else claimed <= bounds.upper


def _not_copied(copied: Block | None, block: Block, bound: Code) -> Block | None:
    """Return a block without its copied bounds: these are replaced by the bound of all positions.

    None is returned if all bounds are copied.

    :param bound: the bound that holds for all positions.
    """
    if copied is None:
        return block
    mask = (copied.value == block.value) & (copied.depth == block.depth)
    return None if mask.all() else Block(np.where(mask, bound, block.value).astype(np.uint8), block.depth)


def _sample_divisor(cell: Cell) -> int:
    return 1 if cell.size <= _MAX_FULL_SLOTS else SAMPLE_DIVISOR
