"""Positions of games, of any number of men: what has accrued, and what they are worth as far as tables say.

Tables hold positions of a few men. Games come from larger ones, and go there; nothing about such a position
is wrong. Everything here blocks, and is called from threads.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import chess

from tbgen.board.material import MAX_MEN
from tbgen.board.san import sans_without_check
from tbgen.board.score import GScore
from tbgen.board.scoring import EXPONENTIAL, Scoring
from tbgen.errors import MissingLayerError, MissingTableError, TbgenError
from tbgen.games.referee import Arbiter
from tbgen.games.settings import FiftyMoveRule
from tbgen.probe.documents import Category, points_document
from tbgen.probe.states import ProbeResult, read_chess
from tbgen.probe.tablebase import Tablebase
from tbgen.web.documents import (
    AccruedText,
    FenText,
    LegalMoveDocument,
    LegalMovesDocument,
)
from tbgen.web.lookups import end_of, question_of, refusal, require_answer
from tbgen.web.stock import Stock


class GameState(NamedTuple):
    """A position of a game, and the move that led to it."""

    uci: str
    """Empty for the first one, as is ``san``."""
    san: str
    zeroing: bool
    board: chess.Board
    position_score: GScore
    accrued: GScore
    clock: int

    @classmethod
    def of(cls, arbiter: Arbiter, uci: str = "", san: str = "", zeroing: bool = False) -> "GameState":
        """Return the state that a game has come to by a move."""
        referee = arbiter.board, arbiter.position_score, arbiter.accrued, arbiter.clock
        return cls(uci, san, zeroing, *referee)


class Worth(NamedTuple):
    """What is known of the worth of a state."""

    value: GScore | None = None
    depth: int | None = None
    missing: str | None = None
    """The material whose table is missing."""

    @classmethod
    def of(cls, result: ProbeResult | TbgenError) -> "Worth":
        """Return what tables say of a state.

        :raises TbgenError: if a table cannot be used.
        """
        match result:
            case MissingLayerError():
                return cls()
            case MissingTableError():
                return cls(missing=result.material)
        found = require_answer(result)
        return cls(found.value, found.depth)


def in_tables(board: chess.Board) -> bool:
    """Tell whether a table may have a position of a game."""
    return board.occupied.bit_count() <= MAX_MEN and not board.castling_rights


def worths(tables: Tablebase, states: Sequence[GameState]) -> list[Worth]:
    """Return what tables say about states of games.

    :raises TbgenError: if a table cannot be used.
    """
    inside = [state for state in states if in_tables(state.board)]
    results = tables.probe_many([state.board for state in inside], [state.accrued for state in inside])
    return [Worth.of(next(results)) if in_tables(state.board) else Worth() for state in states]


def worth_fields(state: GameState, worth: Worth, scoring: Scoring = EXPONENTIAL) -> dict[str, Any]:
    """Return the fields of a :class:`StateDocument`."""
    value = worth.value
    return {
        "fen": state.board.fen(),
        "accrued": str(state.accrued),
        "value": value and str(value),
        "depth": worth.depth,
        "points": value and points_document(scoring, value),
        "category": value and Category.of(value, state.board.turn),
    }


def legal_moves(stock: Stock, fen: FenText, accrued: AccruedText | None) -> LegalMovesDocument:
    """Return all legal moves of a position of any number of men, and its worth and theirs where it is known.

    :raises UsageError: if play cannot go on from it, or it has described men.
    :raises TbgenError: if a table cannot be used.
    """
    asked = question_of(fen, accrued, stock.variant)
    board, _ = read_chess(asked.board, None, stock.variant)
    arbiter = Arbiter(board, accrued=asked.accrued, rules=stock.variant, fifty_move_rule=FiftyMoveRule.NONE)
    first, *after = states = [GameState.of(arbiter), *_successors(arbiter)]
    own, *others = [
        Worth(state.position_score, 0) if state.position_score.rank < 2 else said
        for state, said in zip(states, worths(stock.tables, states), strict=True)
    ]

    def order(known: tuple[GameState, Worth]) -> tuple[Any, ...]:
        """The best value for the mover first, what is not known last."""
        state, (value, *_) = known
        return (True, state.san) if value is None else (False, -value if board.turn else value, state.san)

    return LegalMovesDocument(
        **worth_fields(first, _by_moves(first, others) if own.value is None else own),
        rules=stock.variant,
        **end_of(first.position_score),
        insufficient_material=first.board.is_insufficient_material(),
        position_score=str(first.position_score),
        refusal=refusal(stock, fen, accrued),
        moves=[
            LegalMoveDocument(
                uci=state.uci,
                san=state.san,
                zeroing=state.zeroing,
                **end_of(state.position_score),
                **worth_fields(state, worth),
            )
            for state, worth in sorted(zip(after, others, strict=True), key=order)
        ],
    )


def _successors(arbiter: Arbiter) -> Iterator[GameState]:
    """Yield what each legal move leads to."""
    board = arbiter.board
    moves = list(board.legal_moves)
    for move, name in zip(moves, sans_without_check(board, moves), strict=True):
        arbiter.push(move)
        score = arbiter.position_score
        mark = "#" if score.rank == 0 else "" if score.rank % 2 else "+"
        yield GameState.of(arbiter, move.uci(), name + mark, board.is_zeroing(move))
        arbiter.pop()


def _by_moves(state: GameState, after: Sequence[Worth]) -> Worth:
    """Return what the moves of a state say of it: the best of them, if all are known.

    The mover hurries to what is better than what has accrued, and puts off what is worse.
    """
    values = [worth.value for worth in after if worth.value is not None]
    if not after or len(values) < len(after):
        return Worth()
    best = max(values) if state.board.turn else min(values)
    if best == state.accrued:
        return Worth(best, 0)
    depths = [worth.depth for worth in after if worth.value == best]
    plies = [depth for depth in depths if depth is not None]
    if len(plies) < len(depths):
        return Worth(best)
    hurries = (best > state.accrued) == state.board.turn
    return Worth(best, 1 + (min(plies) if hurries else max(plies)))
