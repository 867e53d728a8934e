"""The resources of a solver of many positions: time, memory, threads and files."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tbgen.beyond.budget import process_count
from tbgen.beyond.extra_sources import ExtraSources
from tbgen.beyond.jobs import Solver
from tbgen.beyond.kept import DEFAULT_BYTES
from tbgen.beyond.provers import CellProver
from tbgen.beyond.results import SolveResults
from tbgen.progress import SolveProgress


@dataclass(frozen=True)
class Resources:
    """Time, memory, threads and files for solving, as in :class:`Solver`."""

    seconds: float | None
    total_time: float | None
    memory: int
    threads: int
    jobs: int | None
    """Number of positions to solve side by side; None to choose it."""
    cells: Path | None
    """Directory of kept cells."""
    sources: ExtraSources
    until_decided: bool = False
    max_kept_bytes: int | None = DEFAULT_BYTES
    """Maximum size of the kept cells in bytes; None for no limit."""

    def make_solver(
        self,
        results: SolveResults | None,
        progress: SolveProgress,
        interrupt: Callable[[KeyboardInterrupt], None],
    ) -> Solver:
        """Return a solver that reports its progress and an interrupt, as :class:`Solver` describes.

        :param results: earlier results, to which new ones are added; None to keep them only in memory.
        """
        prover_arguments = self.cells, self.sources, self.max_kept_bytes
        prover = CellProver(*prover_arguments)
        jobs = self.jobs or process_count(self.threads, self.memory)
        processes = None
        if jobs > 1:
            # This module imports others that a single process does not need.
            from tbgen.beyond.prover_processes import ProverProcesses

            processes = ProverProcesses(jobs, *prover_arguments)
        return Solver(
            seconds=self.seconds,
            memory=self.memory,
            threads=self.threads,
            total_time=self.total_time,
            until_decided=self.until_decided,
            results=SolveResults() if results is None else results,
            file_count=self.sources.file_count,
            progress=progress,
            interrupt=interrupt,
            prove=prover,
            is_solved=prover.is_solved,
            before_attempt=prover.compile_kernels_for,
            processes=processes,
        )
