"""Proofs of the results of a search as they are found, each from results that were proved before.

A solution of a cell is proved in two steps. First come the bounds of its exits: blocks copied from tables and
solved cells are compared in some positions with independent code, and blocks computed one ply further on are
proved. Then both games are proved, state by state (:mod:`tbgen.beyond.cell_proof`).

Forced mates after promotions are proved in randomly chosen positions, with moves by python-chess. After any
move of Black in a position that is lost for him, White mates, or can move to a lost position of a smaller
level or to a mate that was proved before. Levels are natural numbers, so White mates eventually.

Bounds by forcing moves are proved by following the chosen moves and all answers.
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
from tbgen.beyond.knowledge import Known
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
"""Maximum number of lost positions that are proved in a cell."""
_TRIES: Final = 100
"""Number of random slots that are tried for each of these positions."""
_MATE: Final = Code(0)
"""Code of a mate by White."""


def prove_wins(wins: Wins, known: Known, chance: random.Random) -> int:
    """Prove some positions of a cell that are lost for Black, and return their number.

    :param wins: the forced mates, with levels.
    :param chance: the source of random slots.
    :raises WrongBoundError: if one of the positions is not proved.
    """
    proved = 0
    for _ in range(MAX_PROVED_WINS * _TRIES):
        slot = chance.randrange(wins.cell.size)
        if wins.has(BLACK_TO_MOVE, slot):
            board = wins.cell.board_of(BLACK_TO_MOVE, slot)
            assert board is not None
            _prove(wins, known, board, int(wins.level[slot]))
            proved += 1
            if proved == MAX_PROVED_WINS:
                break
    return proved


def _prove(wins: Wins, known: Known, board: chess.Board, level: int) -> None:
    for move in board.legal_moves:
        then = _board_after(board, move)
        if not (_is_mate(known, then) if board.is_zeroing(move) else _nears_mate(wins, known, then, level)):
            raise _wrong_win(board, move)
    if not any(board.legal_moves) and not board.is_check():
        raise _wrong_win(board, chess.Move.null())


def _wrong_win(board: chess.Board, move: chess.Move) -> WrongBoundError:
    return WrongBoundError(
        f"{board.fen()}: the forced mate is not proved, since no win is proved after {board.san(move)}; "
        f"{REMEDY}"
    )


def _nears_mate(wins: Wins, known: Known, board: chess.Board, level: int) -> bool:
    """Return whether White has a move to a proved mate, or to a lost position of a smaller level."""
    for move in board.legal_moves:
        then = _board_after(board, move)
        if board.is_zeroing(move):
            if _is_mate(known, then):
                return True
        else:
            slot = wins.cell.slot(wins.cell.squares_of(then))
            if wins.has(BLACK_TO_MOVE, slot) and wins.level[slot] < level:
                return True
    return False


def _is_mate(known: Known, board: chess.Board) -> bool:
    """Return whether a forced mate by White was proved before."""
    if known.won.is_won(board):
        return True
    position = CellPosition(board, board.occupied & ~board.pawns)
    return known.fresh_bounds(position).lower == _MATE


def _board_after(board: chess.Board, move: chess.Move) -> chess.Board:
    board = board.copy(stack=False)
    board.push(move)
    return board


_State: TypeAlias = tuple[chess.Board, GScore]
"""A position and its accrued score."""
_Name: TypeAlias = tuple[str, GScore]
"""Key of a state."""


def prove_forcing(board: chess.Board, accrued: GScore, tables: Tablebase, proof: ForcingProof) -> int:
    """Prove a bound of a state by the forcing moves that its proof chooses; return the number of states.

    Play that ends has to end with a score that satisfies the bound. Infinite play repeats states, and the
    accrued score does not change on such a cycle. So it suffices that no cycle leads through states whose
    accrued score violates the bound.

    :param accrued: the accrued score of the state, with the position score folded in.
    :raises WrongBoundError: if the bound does not follow.
    """
    bound = GScore.from_code(proof.bound)
    chosen = {_name((board, score)): move for board, score, move in proof.chosen_moves()}

    def satisfies_bound(score: GScore) -> bool:
        return score >= bound if proof.white else score <= bound

    violating: dict[_Name, list[_Name]] = {}
    """The states whose accrued score violates the bound, each with its successors among them."""
    waiting = [(board.copy(stack=False), accrued)]
    seen = {_name(waiting[0])}
    for here, score in waiting:
        ended = _end(here, score, tables)
        if ended is not None:
            if not satisfies_bound(ended):
                raise _wrong_forcing(here.fen(), f"its value is {ended}")
            continue
        moves = list(here.legal_moves)
        if here.turn == proof.white:
            moves = [move for move in moves if move == chosen.get(_name((here, score)))]
        if not moves:
            raise _wrong_forcing(here.fen(), f"no move is chosen with {score} accrued")
        after = [_state_after(here, score, move) for move in moves]
        if not satisfies_bound(score):
            violating[_name((here, score))] = [_name(each) for each in after if not satisfies_bound(each[1])]
        new = {_name(each): each for each in after if _name(each) not in seen}
        seen |= new.keys()
        waiting += new.values()
    try:
        TopologicalSorter(violating).prepare()
    except CycleError as error:
        fen, score = error.args[1][0]
        raise _wrong_forcing(fen, f"{score} may stay for ever") from None
    return len(seen)


def _wrong_forcing(fen: str, what: str) -> WrongBoundError:
    return WrongBoundError(f"{fen}: the bound by forcing moves is not proved, {what}; please report this")


def _end(board: chess.Board, accrued: GScore, tables: Tablebase) -> GScore | None:
    """Return the value of a state where play ends or a table has it; None elsewhere."""
    if not any(board.legal_moves):
        return accrued
    if chess.popcount(board.occupied) <= MAX_MEN and accrued == GScore.of_board(board):
        with suppress(MissingTableError):
            return tables.probe(board, FRESH).value
    return None


def _name(state: _State) -> _Name:
    board, accrued = state
    return board.epd(en_passant="legal"), accrued


def _state_after(board: chess.Board, accrued: GScore, move: chess.Move) -> _State:
    """Return the state after a move, with the accrued score folded."""
    after = _board_after(board, move)
    score = GScore.of_board(after)
    return after, score if board.is_zeroing(move) or score.rank < accrued.rank else accrued


_MAX_FULL_SLOTS: Final = 64**3
"""Maximum number of slots of cells in which all positions are proved."""
_CHECKS: Final = 4
"""Number of positions of a copied block that are checked, for each end and each proof."""
_BARE_KING_BOUNDS: Final = (Code(254), Code(1))
"""Bounds against a bare king, which cannot mate: White gets at least -G0.5; at most G0.5 with a bare king."""


class Prover:
    """Proves results as they are found, in time that does not count, and counts the proved states.

    A wrong result raises :class:`tbgen.beyond.cell_proof.WrongBoundError`.

    :param meter: the rest of the budget.
    """

    def __init__(self, known: Known, meter: Meter) -> None:
        self._known, self._meter = known, meter
        self._last: CellProof | None = None
        self._random = random.Random(0)
        self.proof = ForwardProof()
        """The amount that has been proved so far."""

    def cell(self, bounds: Bounds) -> None:
        """Prove a solution of a cell from the current bounds of its exits."""
        cell = bounds.cell
        self._prove(
            lambda: self._prove_cell(cell, lambda proof, exits: proof.fresh(bounds, exits)),
            cells=1,
            sampled=int(cell.size > _MAX_FULL_SLOTS),
        )

    def wins(self, wins: Wins) -> None:
        """Prove some of the forced mates in a cell, from the current bounds of its exits."""
        self._prove(lambda: prove_wins(wins, self._known, self._random), cells=1, sampled=1)

    def forcing(self, board: chess.Board, accrued: GScore, proof: ForcingProof) -> None:
        """Prove a bound of a state by forcing moves.

        :param accrued: the accrued score of the state.
        """
        self._prove(lambda: prove_forcing(board, accrued, self._known.tables.tablebase, proof))

    def layer(self, bounds: Bounds, layer: Bounds, accrued: GScore) -> None:
        """Prove a layer of a cell from its fresh bounds and the current bounds of its exits."""
        self._prove(
            lambda: self._prove_cell(
                bounds.cell, lambda proof, exits: proof.accrued(bounds, layer, accrued, exits)
            )
        )

    def _prove_cell(self, cell: Cell, prove: Callable[[CellProof, Knowledge], int]) -> int:
        """Call ``prove`` with the proof of a cell and of its exits; return the number of states."""
        if self._last is None or self._last.cell != cell:
            self._last = CellProof(cell, _share(cell), self._meter.threads)
        exits = _ProvedExits(self._known, self._random)
        return prove(self._last, exits) + sum(exits.proved)

    def _prove(self, prove: Callable[[], int], cells: int = 0, sampled: int = 0) -> None:
        """Call ``prove``, which returns a number of proved states; count the states, but not the time."""
        began, before = time.perf_counter(), self.proof
        states = prove()
        self.proof = ForwardProof(before.cells + cells, before.states + states, before.sampled + sampled)
        self._meter.extend(time.perf_counter() - began)


class _ProvedExits:
    """The bounds of the exits of one cell, which are proved when they are requested.

    Implements :class:`tbgen.cells.bounds.Knowledge`.
    """

    def __init__(self, known: Known, chance: random.Random) -> None:
        self._known, self._random = known, chance
        self._found: dict[tuple[object, ...], Block | None] = {}
        self._copied = SomeKnowledge(self._copy, self.bound)
        self.proved: list[int] = []
        """Number of positions whose bounds were proved from the next captures and pawn moves, by block."""

    def block(self, route: Route, end: int) -> Block | None:
        """Return the block of a route's lower or upper bounds, after proving it."""
        route = route.unrestricted
        key = route.side, route.destination, route.promoted, route.quiet, route.passed, end
        if key not in self._found:
            copied, block = self._copy(route, end), self._known.block(route, end)
            by_ply = None if block is None else _not_copied(copied, block, self.bound(route, end))
            if by_ply is not None:
                share = _share(route.destination)
                self.proved.append(prove_lookahead_block(route, end, by_ply, self._copied, share))
            self._found[key] = block
        return self._found[key]

    def bound(self, route: Route, end: int) -> Code:
        """Return the bound of all positions of a route, limited to the proved bound against a bare king."""
        is_bare = [man.kind for man in route.destination.all_men if man.colour != SIDES[end]] == [KING]
        claimed = self._known.bound(route, end)
        proved = _BARE_KING_BOUNDS[end] if is_bare else WORST[end]
        return max(claimed, proved) if end == LOWER else min(claimed, proved)

    def same_ends(self, route: Route) -> bool:
        """Return False: it is not proved that both ends are the same."""
        return False

    def _copy(self, route: Route, end: int) -> Block | None:
        """Return the block of the sources, after checking some of its positions."""
        block = self._known.stored(route, end)
        if block is not None:
            for slot in (self._random.randrange(len(block.value)) for _ in range(_CHECKS)):
                claimed = Code(int(block.value[slot]))
                self._check(route, slot, end, WORST[end] if claimed == NONE else claimed)
        return block

    def _check(self, route: Route, slot: int, end: int, claimed: Code) -> None:
        """Compare a bound of one position in a block with the bounds of the position by itself."""
        cell, home = route.destination, home_of_route(route)
        board = cell.board_of(side_after(route), slot)
        if board is None or board.was_into_check():
            return
        mobile = board.occupied & ~cell.standing_mask
        if home != cell and route.promoted is not None:
            mobile |= 1 << route.promoted
        board.ep_square = route.passed
        position = CellPosition(board, mobile)
        bounds = self._known.fresh_bounds(position)
        if not _confirms(bounds, end, claimed):
            # Packed tables do not answer for positions after promotions, which a capture may also lead to.
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
    """Return whether the bound at an end is at least as good for its side as the claimed one."""
    return claimed >= bounds.lower if end == LOWER else claimed <= bounds.upper


def _not_copied(copied: Block | None, block: Block, bound: Code) -> Block | None:
    """Return a block in which positions with copied bounds have the bound of all positions instead.

    None is returned if all bounds are copied.
    """
    if copied is None:
        return block
    same = (copied.value == block.value) & (copied.depth == block.depth)
    return None if same.all() else Block(np.where(same, bound, block.value).astype(np.uint8), block.depth)


def _share(cell: Cell) -> int:
    return 1 if cell.size <= _MAX_FULL_SLOTS else SAMPLE_DIVISOR
