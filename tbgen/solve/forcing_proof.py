"""Forward proof of bounds by forcing moves: moves are those of python-chess, and scores are counted."""

from contextlib import suppress
from graphlib import CycleError, TopologicalSorter
from typing import TypeAlias

import chess

from tbgen.board.history import FRESH
from tbgen.board.material import MAX_MEN
from tbgen.board.score import GScore
from tbgen.errors import MissingTableError, TbgenError
from tbgen.probe.tablebase import Tablebase
from tbgen.solve.forcing import ForcingProof

_State: TypeAlias = tuple[chess.Board, GScore]
"""A position and its accrued score."""
_Name: TypeAlias = tuple[str, GScore]
"""What tells it from others."""


class WrongForcingError(TbgenError):
    """A bound that does not follow from the moves that are to prove it."""

    code = "wrong_bound"

    def __init__(self, fen: str, what: str) -> None:
        super().__init__(f"{fen}: the bound by forcing moves is not proved, {what}; please report this")


class ForcingProver:
    """Proves bounds of one state by forcing moves.

    Play ends with a score that is enough, or it goes on for ever; then states come about again, and the
    accrued score does not change from one time to the next. So it is enough that no such circle leads through
    states in which less has accrued.
    """

    def __init__(self, board: chess.Board, accrued: GScore, tables: Tablebase) -> None:
        """Prepare a proof about a state, its own score being folded into the accrued one."""
        self._board, self._accrued, self._tables = board.copy(stack=False), accrued, tables

    def prove(self, proof: ForcingProof) -> int:
        """Prove a bound from the moves that its proof chooses; return the number of states.

        :raises WrongForcingError: if it does not follow.
        """
        bound = GScore.from_code(proof.bound)
        chosen = {_name((board, score)): move for board, score, move in proof.choices()}

        def is_enough(score: GScore) -> bool:
            return score >= bound if proof.white else score <= bound

        between: dict[_Name, list[_Name]] = {}
        """States in which less has accrued, with those of them that moves lead to."""
        waiting = [(self._board, self._accrued)]
        seen = {_name(waiting[0])}
        for board, accrued in waiting:
            ended = self._end(board, accrued)
            if ended is not None:
                if not is_enough(ended):
                    raise WrongForcingError(board.fen(), f"it is worth {ended}")
                continue
            moves = list(board.legal_moves)
            if board.turn == proof.white:
                moves = [move for move in moves if move == chosen.get(_name((board, accrued)))]
            if not moves:
                raise WrongForcingError(board.fen(), f"no move is chosen with {accrued}")
            after = [_after(board, accrued, move) for move in moves]
            if not is_enough(accrued):
                between[_name((board, accrued))] = [_name(each) for each in after if not is_enough(each[1])]
            new = {_name(each): each for each in after if _name(each) not in seen}
            seen |= new.keys()
            waiting += new.values()
        try:
            TopologicalSorter(between).prepare()
        except CycleError as error:
            fen, score = error.args[1][0]
            raise WrongForcingError(fen, f"{score} may stay for ever") from None
        return len(seen)

    def _end(self, board: chess.Board, accrued: GScore) -> GScore | None:
        """Return what a state is worth where play ends or tables go on, None elsewhere."""
        if not any(board.legal_moves):
            return accrued
        if chess.popcount(board.occupied) <= MAX_MEN and accrued == GScore.of_board(board):
            with suppress(MissingTableError):
                return self._tables.probe(board, FRESH).value
        return None


def _name(state: _State) -> _Name:
    board, accrued = state
    return board.epd(en_passant="legal"), accrued


def _after(board: chess.Board, accrued: GScore, move: chess.Move) -> _State:
    """Return the state after a move."""
    after = board.copy(stack=False)
    after.push(move)
    own = GScore.of_board(after)
    return after, own if board.is_zeroing(move) or own.rank < accrued.rank else accrued
