"""Watching a solver of positions: its progress on stderr, interrupts, and a summary of its work."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from tbgen.board.scoring import ANYTHING, ScoreInterval
from tbgen.cli.bars import ProgressLine, stage_text
from tbgen.cli.streams import say
from tbgen.errors import printable
from tbgen.progress import SolveCounts, SolveStage
from tbgen.text import counted, duration, number

if TYPE_CHECKING:
    from tbgen.beyond.jobs import Job, Solver


class Watch:
    """Shows on stderr the progress of a solver, if there is one, and stores an interrupt."""

    def __init__(self) -> None:
        self.progress_line = ProgressLine()
        self.solver: Solver | None = None
        self.file_prefix = ""
        """Prefix of the number of a game: the name of its file if there are several files, else empty."""
        self.game = ""
        """The current game, in words."""
        self._interrupt: KeyboardInterrupt | None = None

    @property
    def counts(self) -> SolveCounts:
        """The counts of the games whose final positions are to be solved."""
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
        try:
            with self.progress_line:
                for _ in solver.work_on(jobs):
                    pass
        finally:
            for job in solver.unfinished:
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
        self.progress_line.show(f"{text}: {stage_text(stage)}")


def summary(counts: SolveCounts) -> str:
    """Return the counts of these games, in words."""
    parts = (
        (counts.solved, f"worked on for {duration(counts.seconds)}"),
        (counts.known, "solved before"),
        (counts.refused, "unsolvable"),
        (counts.out_of_time, "not begun within the time of --solve-total"),
    )
    text = ", ".join(f"{number(count)} {status}" for count, status in parts if count)
    return f"positions of {counted(counts.asked, 'stopped game')} that no table holds: {text}"
