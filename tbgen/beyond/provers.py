"""The prover, which solves positions as far as a budget allows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import chess

from tbgen.beyond.budget import Budget, Stop
from tbgen.beyond.extra_sources import ExtraSources
from tbgen.beyond.kept import DEFAULT_BYTES, KeptCells
from tbgen.beyond.results import StateName
from tbgen.board.material import MAX_MEN, Material
from tbgen.board.score import GScore
from tbgen.board.scoring import ProvedBounds
from tbgen.cells.cell import Cell
from tbgen.probe.tablebase import Tablebase
from tbgen.progress import SolveProgress

if TYPE_CHECKING:
    from tbgen.beyond.knowledge import ExitBounds

__all__ = ["CellProver", "PositionTask", "SolveProof"]


class SolveProof(NamedTuple):
    """The result of an attempt to solve a state."""

    proved: ProvedBounds
    stopped_by: Stop | None = None
    """Why the attempt ended with an interval; None if it proved the value."""


class PositionTask(NamedTuple):
    """A position to solve, with its accrued score, the tables that may be used, and the budget."""

    board: chess.Board
    accrued: GScore
    tables: Tablebase
    budget: Budget

    @property
    def state(self) -> StateName:
        """The name of the state in the results."""
        return StateName.of(self.board, self.accrued)


class CellProver:
    """Solves positions with :func:`tbgen.beyond.solver.solve`, and keeps the cells for later positions.

    The compiler is imported by :meth:`prove`, not by the constructor.

    :param cells_directory: the directory in which cells are kept; None to keep them in memory only.
    :param sources: exit sources besides tables and cells.
    :param max_bytes: maximum size of the kept cells in bytes; None for no limit.
    :ivar arguments: the arguments of the constructor.
    :ivar file_count: number of files of ``sources``; a source without files counts as one.
    :raises UsageError: if ``cells_directory`` is not a directory.
    :raises TbgenError: if the directory cannot be made.
    """

    def __init__(
        self,
        cells_directory: Path | None = None,
        sources: ExtraSources | None = None,
        max_bytes: int | None = DEFAULT_BYTES,
    ) -> None:
        self.arguments = cells_directory, sources, max_bytes
        self._kept = None if cells_directory is None else KeptCells(cells_directory, max_bytes)
        self._sources = sources or ExtraSources()
        self.file_count = self._sources.file_count
        self._exits: ExitBounds | None = None

    def prove(
        self, board: chess.Board, accrued: GScore, tables: Tablebase, budget: Budget, progress: SolveProgress
    ) -> SolveProof:
        """Solve a state as far as the budget allows.

        :raises SolvingInterruptedError: if solving is interrupted.
        :raises UsageError: if positions of this kind cannot be solved.
        :raises TbgenError: if a table cannot be used.
        """
        from tbgen.beyond.solver import solve

        exits = self._exits = self._exits_for(tables, budget)
        solution = solve(board, accrued, tables=tables, budget=budget, known=exits, progress=progress)
        return SolveProof(solution.proved, solution.stopped_by)

    def prepare(self, board: chess.Board, tables: Tablebase) -> None:
        """Compile the kernels that solving a position needs. The time for solving does not include this.

        Without a table, the position is solved in cells. With castling rights, it takes cells and a table.
        """
        may_have_table = chess.popcount(board.occupied) <= MAX_MEN
        has_table = may_have_table and Material.of_board(board)[0] in tables.materials
        if has_table == bool(board.clean_castling_rights()):
            from tbgen.cells.cell_warmup import ensure_compiled

            ensure_compiled()

    def is_solved(self, cell: Cell) -> bool:
        """Return whether a canonical cell is in memory or on disk. Its file is not opened."""
        is_kept = self._kept is not None and cell in self._kept
        return is_kept or (self._exits is not None and cell in self._exits.cells)

    def _exits_for(self, tables: Tablebase, budget: Budget) -> ExitBounds:
        """Return the bounds and cells that earlier positions have left in memory.

        If they use more than half of the memory, or come from other tables, only cells on disk are reused.
        """
        from tbgen.beyond.solver import make_exit_bounds

        exits = self._exits
        if exits and exits.tables.tablebase is tables and exits.nbytes <= budget.memory // 2:
            return exits
        return make_exit_bounds(tables=tables, budget=budget, kept=self._kept, extra=self._sources)
