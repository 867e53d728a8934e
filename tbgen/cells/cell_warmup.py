"""Compilation of all kernels that solve cells, before the first cell is solved."""

import logging
from collections.abc import Callable
from typing import Final

import chess
import numpy as np

from tbgen.board.score import Code, GScore
from tbgen.cells.bounds import LOWER, Block, BoundsGame, CallbackBoundsSource, pools_of_ends
from tbgen.cells.cell import Cell
from tbgen.cells.frames import frame_of_cell
from tbgen.cells.games import Games
from tbgen.cells.kernels.values import gather, gather_bits, mark_proved
from tbgen.cells.packing import pack, unpack
from tbgen.cells.threshold import Threshold, find_cell_ranks, find_good_exits, solve_threshold
from tbgen.cells.wins import solve_wins
from tbgen.compiler.cache import compiling
from tbgen.index.layout import WHITE_TO_MOVE
from tbgen.retro.ranks import Crew, StageTimes

KERNEL_FAMILY: Final = __name__
"""Name, in the compiler cache, of the family of kernels that solve cells."""

_KQVK_MEN: Final = (chess.A1, chess.B1, chess.H8)
"""Squares of the men in the position of KQvK whose cell is solved."""

_logger = logging.getLogger(__name__)


def ensure_compiled(announce: Callable[[str], object] = _logger.warning) -> None:
    """Compile the kernels that are not in the cache yet, by solving small cells.

    :param announce: called with a message before kernels are compiled.
    """
    with compiling(KERNEL_FAMILY, "that solve cells", "about half a minute", announce) as needed:
        if needed:
            cell = Cell.of_board(chess.Board("7k/8/8/p7/P7/8/8/K7 w - - 0 1"), [chess.A1, chess.H8])
            games = Games(cell, CallbackBoundsSource())
            bounds = games.solve()
            games.accrued_bounds(bounds, GScore("G2.0"))
            unpack(pack(bounds), cell)
            frame = frame_of_cell(cell)
            (pool,) = pools_of_ends(frame, [], CallbackBoundsSource(), [LOWER])
            with Crew(2, StageTimes()) as crew:
                BoundsGame(frame, pool).solve(crew=crew)
            BoundsGame(frame, pool).best_exits(WHITE_TO_MOVE)
            block = Block(np.zeros(1, np.uint8), np.zeros(1, np.uint16))
            queen_cell = Cell.of_board(chess.Board("7k/8/8/8/8/8/8/KQ6 w - - 0 1"), _KQVK_MEN)
            solve_wins(queen_cell, lambda *_: None)
            queen_frame = frame_of_cell(queen_cell)
            solution = solve_threshold(
                queen_frame, find_cell_ranks(queen_frame), [], Threshold(LOWER, Code(5)), lambda *_: False
            )
            find_good_exits(queen_frame, {}, WHITE_TO_MOVE)
            words = solution.proved[0]
            numbers = np.zeros(1, np.int64)
            mark_proved(block.value, 0, True, words)
            gather_bits(words, numbers, numbers, 0, np.zeros(1, np.uint64))
            gather((*block, block.value), np.zeros(1, np.int64), np.zeros(1, np.int64), 0, False, 0, *block)
