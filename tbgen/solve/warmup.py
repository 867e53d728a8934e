"""Compiling all kernels that prove cells in one go, so that it is a step of its own."""

import logging
from typing import Final

import chess

from tbgen.cells.bounds import Games, NoKnowledge
from tbgen.cells.cell import Cell
from tbgen.compiler.cache import compiling
from tbgen.solve.cell_proof import CellProof

FAMILY: Final = __name__
"""Name of these kernels in the cache."""

_logger = logging.getLogger(__name__)


def compile_kernels() -> None:
    """Compile every kernel, if that is still to do, by proving a small cell; after those that solve cells."""
    with compiling(FAMILY, "that prove cells", "about a minute", _logger.warning) as needed:
        if needed:
            cell = Cell.of_board(chess.Board("7k/8/8/p7/P7/8/8/K7 w - - 0 1"), [chess.A1, chess.H8])
            CellProof(cell).fresh(Games(cell, NoKnowledge()).solve(), NoKnowledge())
