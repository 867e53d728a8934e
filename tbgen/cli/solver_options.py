"""Solving the final positions of games: options, the solver, and its progress."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tbgen.beyond.extra_sources import ExtraSources
from tbgen.board.scoring import ANYTHING, ScoreInterval
from tbgen.board.variant import Variant
from tbgen.cli.bars import ProgressLine, stage_text
from tbgen.cli.options import CellDirectory, OptionGroup, PositiveCount, Setting, Size, SyzygyFiles, Time
from tbgen.cli.streams import say
from tbgen.errors import UsageError, printable
from tbgen.progress import SolveCounts, SolveStage
from tbgen.text import counted, duration, number

if TYPE_CHECKING:
    from tbgen.beyond.jobs import Job, Solver


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
    def watch(self, variant: Variant, sources: ExtraSources) -> Iterator["Watch"]:
        """Yield a watch, with a solver if the options ask for one. Print a summary at the end.

        :param sources: exit sources that the solver may use. Referees use Syzygy files as well.

        :raises UsageError: if the options contradict each other, or do not fit the variant.
        :raises TbgenError: if the file of results cannot be read or written.
        """
        if self.solve and variant is not Variant.R_MOBILITY:
            raise UsageError("only r-mobility is solved beyond the tables: leave out --solve, or --rules")
        for name, value in (vars(self) | vars(replace(sources, syzygy=None))).items():
            if value and not self.solve:
                raise UsageError(f"--{name.replace('_', '-')} has no effect alone: add --solve")
        watch = Watch()
        with self._open_solver(watch, sources) if self.solve else nullcontext() as watch.solver:
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
    def _open_solver(self, watch: "Watch", sources: ExtraSources) -> Iterator["Solver"]:
        """Yield the solver of :meth:`watch`. Without it, a command loads no module of the solver."""
        from tbgen.beyond.budget import Budget
        from tbgen.beyond.jobs import FIRST_SECONDS
        from tbgen.beyond.resources import Resources
        from tbgen.beyond.results import open_results

        resources = Resources(
            seconds=self.solve_time or (FIRST_SECONDS if self.solve_total is None else None),
            total_time=self.solve_total,
            until_decided=self.solve_until_decided,
            memory=self.solve_memory or Budget.memory,
            threads=self.solve_threads or Budget.threads,
            jobs=self.solve_jobs,
            cells=self.solve_cells,
            sources=sources,
        )
        file = self.solve_results
        with nullcontext() if file is None else open_results(file) as results:
            yield resources.make_solver(results, watch.show, watch.store_interrupt)


class Watch:
    """Shows on stderr the progress of a solver, if there is one, and stores an interrupt."""

    def __init__(self) -> None:
        self.line = ProgressLine()
        self.solver: Solver | None = None
        self.file_prefix = ""
        """Prefix of the number of a game: the name of its file if there are several files, else empty."""
        self.game = ""
        """The current game, in words."""
        self._interrupt: KeyboardInterrupt | None = None

    @property
    def counts(self) -> SolveCounts:
        """The counts of the games whose positions are solved."""
        return SolveCounts() if self.solver is None else self.solver.counts

    def set_game(self, game_number: int, tags: Mapping[str, str]) -> None:
        """Set the current game, given its number in the current file."""
        white, black, round_tag = (printable(tags.get(name, "?")) for name in ("White", "Black", "Round"))
        prefix = "" if round_tag in ("", "?", "-") else f"round {round_tag}, "
        self.game = f"{self.file_prefix}game {game_number} ({prefix}{white} - {black})"

    def store_interrupt(self, interrupt: KeyboardInterrupt) -> None:
        """Store an interrupt that has ended the work on a position; :meth:`raise_interrupt` raises it."""
        self._interrupt = interrupt

    @property
    def interrupted(self) -> bool:
        """Whether an interrupt has been stored. If so, no further game is started."""
        return self._interrupt is not None

    def work_on(self, jobs: Iterable["Job"]) -> None:
        """Solve the positions of jobs, in the order that the solver chooses."""
        solver = self.solver
        if solver is None:
            return
        with self.line:
            for _ in solver.work_on(jobs):
                pass
        if self.interrupted:
            for job in solver.interrupted:
                proved = solver.result_of(job)
                self.say_proved(job.name, ANYTHING if proved is None else proved.bounds)

    @staticmethod
    def say_proved(name: str, bounds: ScoreInterval) -> None:
        """Print the bounds proved so far for a position whose solving was interrupted."""
        say(f"tbgen: {name}: the value is {bounds.description} by what is proved so far")

    def raise_interrupt(self) -> None:
        """Raise the stored interrupt, if there is one.

        :raises KeyboardInterrupt: if an interrupt has been stored.
        """
        if self._interrupt is not None:
            raise self._interrupt

    def show(self, stage: SolveStage) -> None:
        """Show the progress of the current position."""
        turn = None if self.solver is None else self.solver.turn
        name = self.game if turn is None else turn.job.name
        text = f"solving {name or 'the position'}"
        if turn is not None:
            text += f", {number(turn.number)} of {number(turn.job_count)}"
            if turn.seconds_left is not None:
                text += f", about {duration(turn.seconds_left)} left"
        self.line.show(f"{text}: {stage_text(stage)}")


def summary(counts: SolveCounts) -> str:
    """Return the counts of the games to solve, in words."""
    parts = (
        (counts.solved, f"worked on for {duration(counts.seconds)}"),
        (counts.known, "solved before"),
        (counts.refused, "unsolvable"),
        (counts.out_of_time, "not begun within the time of --solve-total"),
    )
    text = ", ".join(f"{number(count)} {status}" for count, status in parts if count)
    return f"positions of {counted(counts.asked, 'stopped game')} that no table holds: {text}"
