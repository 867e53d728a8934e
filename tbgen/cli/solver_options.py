"""Options for solving the final positions of games, and the solver that they describe."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tbgen.beyond.extra_sources import ExtraSources
from tbgen.board.variant import Variant
from tbgen.cli.options import CellDirectory, OptionGroup, PositiveCount, Setting, Size, SyzygyFiles, Time
from tbgen.cli.solver_watch import Watch, summary
from tbgen.cli.streams import say
from tbgen.errors import UsageError

if TYPE_CHECKING:
    from tbgen.beyond.jobs import Solver


@dataclass(frozen=True)
class SourceOptions(OptionGroup, ExtraSources):
    """Exit sources besides tables and cells: an option for each field of :class:`ExtraSources`."""

    syzygy: SyzygyFiles = None


@dataclass(frozen=True)
class SolvingOptions(OptionGroup):
    """Whether and how positions are solved. If an option is None, the solver uses its default.

    :param solve: solve final positions of stopped games that no table holds, as tbgen solve does, in order of
        estimated time
    :param solve_time: time for one position (default: 60s; with --solve-total, as long as more work may
        narrow the result)
    :param solve_total: time for all positions together (default: no limit)
    :param solve_until_decided: stop solving a position as soon as all scores that remain possible give the
        same points, without waiting for the value
    :param solve_memory: memory for solving (default: 8G)
    :param solve_threads: threads for solving (default: one per processor)
    :param solve_jobs: positions to solve side by side, which share memory and threads (default: as many as
        get two threads and 4 GiB each)
    :param solve_results: store proved results in a file, created if missing, and use its results, so that the
        same command resumes an interrupted run
    """

    solve: bool
    solve_time: Time | None
    solve_total: Time | None
    solve_until_decided: bool
    solve_memory: Size | None
    solve_threads: PositiveCount | None
    solve_jobs: PositiveCount | None
    solve_results: Annotated[Path | None, Setting(metavar="FILE")]
    solve_cells: CellDirectory

    @contextmanager
    def watch(self, variant: Variant, sources: ExtraSources) -> Iterator[Watch]:
        """Yield a watch, with a solver if the options ask for one. Print a summary at the end.

        :param sources: exit sources that the solver may use. Syzygy files also serve referees, so they may be
            given without ``--solve``.

        :raises UsageError: if the options contradict each other, or do not fit the variant.
        :raises TbgenError: if the file of results cannot be read or written.
        """
        if self.solve and variant is not Variant.R_MOBILITY:
            raise UsageError("only r-mobility is solved beyond the tables: leave out --solve, or --rules")
        for name, value in (vars(self) | vars(replace(sources, syzygy=None))).items():
            if value and not self.solve:
                raise UsageError(f"--{name.replace('_', '-')} has no effect alone: add --solve")
        watch = Watch()
        with ExitStack() as stack:
            if self.solve:
                watch.solver = stack.enter_context(self._open_solver(watch, sources))
            try:
                try:
                    yield watch
                finally:
                    watch.raise_interrupt()
            except KeyboardInterrupt:
                if (file := self.solve_results) is not None:
                    say(f"tbgen: the proved results are in {file}: the same command continues from there")
                raise
        counts = watch.counts
        if counts.asked > 1 or counts.out_of_time:
            say(f"tbgen: {summary(counts)}")

    @contextmanager
    def _open_solver(self, watch: Watch, sources: ExtraSources) -> Iterator["Solver"]:
        """Yield the solver of :meth:`watch`. Without it, a command loads no module of the solver."""
        from tbgen.beyond.budget import Budget
        from tbgen.beyond.jobs import FIRST_SECONDS, Solver
        from tbgen.beyond.provers import CellProver
        from tbgen.beyond.results import SolveResults, open_results

        file = self.solve_results
        with nullcontext(SolveResults()) if file is None else open_results(file) as results:
            yield Solver(
                seconds=self.solve_time or (FIRST_SECONDS if self.solve_total is None else None),
                memory=self.solve_memory or Budget.memory,
                threads=self.solve_threads or Budget.threads,
                total_time=self.solve_total,
                side_by_side=self.solve_jobs,
                until_decided=self.solve_until_decided,
                results=results,
                progress=watch.show,
                interrupt=watch.store_interrupt,
                prover=CellProver(self.solve_cells, sources),
            )
