"""The correct value and depth of a position, from the moves of python-chess and the positions after them."""

from collections.abc import Callable

import chess

from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.probe.tablebase import Tablebase

LookUp = Callable[[chess.Board, GScore | None], tuple[GScore, int]]
"""Value and depth of a board with an accrued score, or fresh."""


def by_probing(tables: Tablebase) -> LookUp:
    """Look positions up as the public interface does."""

    def look_up(board: chess.Board, accrued: GScore | None) -> tuple[GScore, int]:
        result = tables.probe(board, accrued)
        return result.value, result.depth

    return look_up


def folded(board: chess.Board, accrued: GScore | None, variant: Variant = Variant.R_MOBILITY) -> GScore:
    """The accrued score after the position's own: a smaller rank replaces it, the first holder keeps it.

    A position with an en passant right is the first after a reset, if there are resets.
    """
    own = GScore.of_board(board)
    first = accrued is None or variant.is_reset_by(board.has_legal_en_passant())
    return own if first or own.rank < accrued.rank else accrued


def one_ply(
    look_up: LookUp, board: chess.Board, accrued: GScore | None = None, variant: Variant = Variant.R_MOBILITY
) -> tuple[GScore, int]:
    """Value and depth by the conditions that prove a table."""
    held = folded(board, accrued, variant)
    reached = []
    for move in list(board.legal_moves):
        after = board.copy(stack=False)
        after.push(move)
        reached.append(look_up(after, None if variant.is_reset_by(board.is_zeroing(move)) else held))
    if not reached:
        return GScore.of_board(board), 0
    best = max if board.turn else min
    value = best(value for value, _ in reached)
    if value == held:
        return value, 0
    depths = [depth for found, depth in reached if found == value]
    hurries = (value > held) == board.turn
    return value, 1 + (min(depths) if hurries else max(depths))
