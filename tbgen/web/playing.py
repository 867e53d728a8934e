"""Playing on from any position: its legal moves, and what they are worth as far as tables say it.

Tables hold positions of a few men. Who follows a game, or tries what a move would bring, comes from larger
ones, and goes there; nothing about such a position is wrong.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import chess

from tbgen.board.san import sans_without_check
from tbgen.board.signed import merit, of_gscore
from tbgen.games.referee import Arbiter
from tbgen.games.settings import FiftyMoveRule
from tbgen.probe.states import ProbeResult
from tbgen.probe.tablebase import Tablebase
from tbgen.web.documents import Known, Reached, legal_document
from tbgen.web.lookups import Question, question_of, said


def legal_moves(tables: Tablebase, fen: str, accrued: str | None) -> dict[str, Any]:
    """Return all legal moves of a position of any number of men, and its worth and theirs where it is known.

    :raises UsageError: if play cannot go on from it.
    :raises TbgenError: if a table cannot be used.
    """
    board, told = question_of(fen, accrued, tables.rules)
    arbiter = Arbiter(board, accrued=told, rules=tables.rules, fifty_move_rule=FiftyMoveRule.NONE)
    reached = [Reached(None, "", False, board.copy(stack=False), arbiter.position_score, arbiter.accrued)]
    reached += _reached_from(arbiter, board)
    results = said(tables, [Question(each.board, each.accrued) for each in reached])
    here, *after = map(_known, reached, results)
    return legal_document(tables.rules, [_by_moves(here, after), *after])


def _reached_from(arbiter: Arbiter, board: chess.Board) -> Iterator[Reached]:
    """Yield what each legal move leads to."""
    moves = list(board.legal_moves)
    for move, name in zip(moves, sans_without_check(board, moves), strict=True):
        zeroing = board.is_zeroing(move)
        arbiter.push(move)
        score = arbiter.position_score
        mark = "#" if score.rank == 0 else "" if score.rank % 2 else "+"
        yield Reached(move, name + mark, zeroing, arbiter.board, score, arbiter.accrued)
        arbiter.pop()


def _by_moves(here: Known, after: Sequence[Known]) -> Known:
    """Return what is known of a position from its moves too: the best of them, if all are known.

    The mover hurries to what is better for him than what has accrued, and puts off what is worse.
    """
    values = [known.value for known in after if known.value is not None]
    if here.value is not None or not after or len(values) < len(after):
        return here
    turn, accrued = here.reached.board.turn, here.reached.accrued
    best = max(values, key=lambda value: merit(of_gscore(value), turn))
    if best == accrued:
        return Known(here.reached, best, 0)
    depths = [known.depth for known in after if known.value == best]
    plies = [depth for depth in depths if depth is not None]
    if len(plies) < len(depths):
        return Known(here.reached, best, None)
    hurries = merit(of_gscore(best), turn) > merit(of_gscore(accrued), turn)
    return Known(here.reached, best, 1 + (min(plies) if hurries else max(plies)))


def _known(reached: Reached, result: object) -> Known:
    """Return what is known of a position: the end of a game needs no table."""
    if isinstance(result, ProbeResult):
        return Known(reached, result.value, result.depth)
    if reached.position_score.rank < 2:
        return Known(reached, reached.position_score, 0)
    return Known(reached, None, None)
