"""Proofs of the bounds of cells and of forcing play as they are found, each from what was proved before.

The values of moves out of the cell come first: copies of tables and solved cells are checked in some
positions, by other code than that which makes them, and what a ply further on decides is proved. Then both
games are proved, state by state (:mod:`tbgen.beyond.cell_proof`).

The proof of forced mates after promotions: chosen positions, their moves made by python-chess. Whatever Black
does in a position that he has lost, White mates, or goes on to a lost position of a smaller level or to
something that was proved before. Levels are natural numbers, so White mates in the end.
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
from tbgen.beyond.cell_proof import REMEDY, CellProof, WrongBoundError, prove_by_ply
from tbgen.beyond.forcing import ForcingProof
from tbgen.beyond.knowledge import Known
from tbgen.beyond.ledger import SHARE, ForwardProof
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

POSITIONS: Final = 200
"""Lost positions that are proved of a cell, if there are as many."""
_TRIES: Final = 100
"""Slots that are looked at for each of them."""
_MATE: Final = Code(0)
"""White's."""


def prove_wins(wins: Wins, known: Known, chance: random.Random) -> int:
    """Prove some lost positions of a cell, and return how many.

    :param wins: with levels.
    :raises WrongBoundError: if one is wrong.
    """
    proved = 0
    for _ in range(POSITIONS * _TRIES):
        slot = chance.randrange(wins.cell.size)
        if wins.has(BLACK_TO_MOVE, slot):
            board = wins.cell.board_of(BLACK_TO_MOVE, slot)
            assert board is not None
            _prove(wins, known, board, int(wins.level[slot]))
            proved += 1
            if proved == POSITIONS:
                break
    return proved


def _prove(wins: Wins, known: Known, board: chess.Board, level: int) -> None:
    for move in board.legal_moves:
        then = _board_after(board, move)
        if not (_is_known(known, then) if board.is_zeroing(move) else _goes_on(wins, known, then, level)):
            raise _wrong_win(board, move)
    if not any(board.legal_moves) and not board.is_check():
        raise _wrong_win(board, chess.Move.null())


def _wrong_win(board: chess.Board, move: chess.Move) -> WrongBoundError:
    return WrongBoundError(
        f"{board.fen()}: the forced mate is not proved, since nothing is known against {board.san(move)}; "
        f"{REMEDY}"
    )


def _goes_on(wins: Wins, known: Known, board: chess.Board, level: int) -> bool:
    """Whether White has a move that mates or leads nearer to mate than a level."""
    for move in board.legal_moves:
        then = _board_after(board, move)
        if board.is_zeroing(move):
            if _is_known(known, then):
                return True
        else:
            slot = wins.cell.slot(wins.cell.squares_of(then))
            if wins.has(BLACK_TO_MOVE, slot) and wins.level[slot] < level:
                return True
    return False


def _is_known(known: Known, board: chess.Board) -> bool:
    """Whether it was proved before that White forces mate."""
    if known.won.is_won(board):
        return True
    position = CellPosition(board, board.occupied & ~board.pawns)
    return known.worth(position).lower == _MATE


def _board_after(board: chess.Board, move: chess.Move) -> chess.Board:
    board = board.copy(stack=False)
    board.push(move)
    return board


_State: TypeAlias = tuple[chess.Board, GScore]
"""A position and its accrued score."""
_Name: TypeAlias = tuple[str, GScore]
"""What tells it from others."""


def prove_forcing(board: chess.Board, accrued: GScore, tables: Tablebase, proof: ForcingProof) -> int:
    """Prove a bound of a state by the forcing moves that its proof chooses; return the number of states.

    Play ends with a score that is enough, or it goes on for ever; then states come about again, and the
    accrued score does not change from one time to the next. So it is enough that no such circle leads through
    states in which less has accrued.

    :param accrued: the state's accrued score, with the position's own folded in.
    :raises WrongBoundError: if it does not follow.
    """
    bound = GScore.from_code(proof.bound)
    chosen = {_name((board, score)): move for board, score, move in proof.choices()}

    def is_enough(score: GScore) -> bool:
        return score >= bound if proof.white else score <= bound

    between: dict[_Name, list[_Name]] = {}
    """States in which less has accrued, with those of them that moves lead to."""
    waiting = [(board.copy(stack=False), accrued)]
    seen = {_name(waiting[0])}
    for here, held in waiting:
        ended = _end(here, held, tables)
        if ended is not None:
            if not is_enough(ended):
                raise _wrong_forcing(here.fen(), f"it is worth {ended}")
            continue
        moves = list(here.legal_moves)
        if here.turn == proof.white:
            moves = [move for move in moves if move == chosen.get(_name((here, held)))]
        if not moves:
            raise _wrong_forcing(here.fen(), f"no move is chosen with {held}")
        after = [_state_after(here, held, move) for move in moves]
        if not is_enough(held):
            between[_name((here, held))] = [_name(each) for each in after if not is_enough(each[1])]
        new = {_name(each): each for each in after if _name(each) not in seen}
        seen |= new.keys()
        waiting += new.values()
    try:
        TopologicalSorter(between).prepare()
    except CycleError as error:
        fen, score = error.args[1][0]
        raise _wrong_forcing(fen, f"{score} may stay for ever") from None
    return len(seen)


def _wrong_forcing(fen: str, what: str) -> WrongBoundError:
    return WrongBoundError(f"{fen}: the bound by forcing moves is not proved, {what}; please report this")


def _end(board: chess.Board, accrued: GScore, tables: Tablebase) -> GScore | None:
    """Return what a state is worth where play ends or tables go on, None elsewhere."""
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
    """Return the state after a move."""
    after = _board_after(board, move)
    own = GScore.of_board(after)
    return after, own if board.is_zeroing(move) or own.rank < accrued.rank else accrued


_WHOLE: Final = 64**3
"""Slots of a cell up to which all positions are proved."""
_CHECKS: Final = 4
"""Positions of a copy that are checked, for each end and each proof."""
_SURE: Final = (Code(254), Code(1))
"""What is sure against a bare king, which cannot mate: -G0.5 for White, G0.5 for Black."""


class Prover:
    """Proves what is found, in time that does not count, and counts what it has proved.

    What is wrong is a :class:`tbgen.beyond.cell_proof.WrongBoundError`.

    :param meter: what is left of the budget.
    """

    def __init__(self, known: Known, meter: Meter) -> None:
        self._known, self._meter = known, meter
        self._last: CellProof | None = None
        self._random = random.Random(0)
        self.proof = ForwardProof()
        """What has been proved up to now."""

    def cell(self, bounds: Bounds) -> None:
        """Prove a solution of a cell from what is known now."""
        cell = bounds.cell
        self._prove(
            lambda: self._of_cell(cell, lambda proof, exits: proof.fresh(bounds, exits)),
            cells=1,
            sampled=int(cell.size > _WHOLE),
        )

    def wins(self, wins: Wins) -> None:
        """Prove some of the positions of a cell that are said to be won, from what is known now."""
        self._prove(lambda: prove_wins(wins, self._known, self._random), cells=1, sampled=1)

    def forcing(self, board: chess.Board, accrued: GScore, proof: ForcingProof) -> None:
        """Prove a bound by forcing moves.

        :param accrued: of the given state.
        """
        self._prove(lambda: prove_forcing(board, accrued, self._known.tables.tablebase, proof))

    def layer(self, bounds: Bounds, layer: Bounds, accrued: GScore) -> None:
        """Prove a layer of a cell from its bounds and from what is known now."""
        self._prove(
            lambda: self._of_cell(
                bounds.cell, lambda proof, exits: proof.accrued(bounds, layer, accrued, exits)
            )
        )

    def _of_cell(self, cell: Cell, prove: Callable[[CellProof, Knowledge], int]) -> int:
        """Prove something about a cell, by the proof of the last time if it was the same; return the number
        of states."""
        if self._last is None or self._last.cell != cell:
            self._last = CellProof(cell, _share(cell), self._meter.threads)
        exits = _ProvedExits(self._known, self._random)
        return prove(self._last, exits) + sum(exits.proved)

    def _prove(self, prove: Callable[[], int], cells: int = 0, sampled: int = 0) -> None:
        """Prove some states, as many as the function returns."""
        began, before = time.perf_counter(), self.proof
        states = prove()
        self.proof = ForwardProof(before.cells + cells, before.states + states, before.sampled + sampled)
        self._meter.prolong(time.perf_counter() - began)


class _ProvedExits:
    """Knowledge of the exits of one cell, proved when it is asked for: see
    :class:`tbgen.cells.bounds.Knowledge`.
    """

    def __init__(self, known: Known, chance: random.Random) -> None:
        self._known, self._random = known, chance
        self._found: dict[tuple[object, ...], Block | None] = {}
        self._settled = SomeKnowledge(self._copy, self.bound)
        self.proved: list[int] = []
        """Numbers of positions whose worth was proved from what they lead to in one ply."""

    def block(self, route: Route, end: int) -> Block | None:
        """Return what is known."""
        route = route.whole
        key = route.side, route.destination, route.promoted, route.quiet, route.passed, end
        if key not in self._found:
            settled, block = self._copy(route, end), self._known.block(route, end)
            by_ply = None if block is None else _unsettled(settled, block, self.bound(route, end))
            if by_ply is not None:
                share = _share(route.destination)
                self.proved.append(prove_by_ply(route, end, by_ply, self._settled, share))
            self._found[key] = block
        return self._found[key]

    def bound(self, route: Route, end: int) -> Code:
        """Return what is known of all positions, no more than what is sure against a bare king."""
        alone = [man.kind for man in route.destination.all_men if man.colour != SIDES[end]] == [KING]
        claimed = self._known.bound(route, end)
        sure = _SURE[end] if alone else WORST[end]
        return max(claimed, sure) if end == LOWER else min(claimed, sure)

    def same_ends(self, route: Route) -> bool:
        """Whether both ends are the same, for which nothing has been proved."""
        return False

    def _copy(self, route: Route, end: int) -> Block | None:
        """Return the block of the sources, after a check of some of its positions."""
        block = self._known.stored(route, end)
        if block is not None:
            for slot in (self._random.randrange(len(block.value)) for _ in range(_CHECKS)):
                claimed = Code(int(block.value[slot]))
                self._check(route, slot, end, WORST[end] if claimed == NONE else claimed)
        return block

    def _check(self, route: Route, slot: int, end: int, claimed: Code) -> None:
        """Compare a claim with what is known of one position."""
        cell, home = route.destination, home_of_route(route)
        board = cell.board_of(side_after(route), slot)
        if board is None or board.was_into_check():
            return
        mobile = board.occupied & ~cell.still
        if home != cell and route.promoted is not None:
            mobile |= 1 << route.promoted
        board.ep_square = route.passed
        position = CellPosition(board, mobile)
        known = self._known.worth(position)
        if not _bears_out(known, end, claimed):
            # Packed tables keep back what only promotions lead to; a capture may lead to the same position.
            value = self._known.tables.fresh_value(board)
            if value is not None:
                known = known.within(Interval(code_of(value), code_of(value)))
            if not _bears_out(known, end, claimed):
                lower, upper, taken = map(GScore.from_code, (*known, claimed))
                raise WrongBoundError(
                    f"{board.fen()}: a cell that leads here took {taken} for proved, and what is known is "
                    f"{lower} to {upper}; please report this"
                )


def _bears_out(known: Interval, end: int, claimed: Code) -> bool:
    """Whether one end of what is known is at least as good for its side as what is claimed."""
    return claimed >= known.lower if end == LOWER else claimed <= known.upper


def _unsettled(settled: Block | None, block: Block, bound: Code) -> Block | None:
    """Return the part of a block that is not settled, if there is any, with the bound of all positions for
    the rest."""
    if settled is None:
        return block
    same = (settled.value == block.value) & (settled.depth == block.depth)
    return None if same.all() else Block(np.where(same, bound, block.value).astype(np.uint8), block.depth)


def _share(cell: Cell) -> int:
    return 1 if cell.size <= _WHOLE else SHARE
