"""The games of files: how they are adjudicated, and progress and remarks on stderr."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Annotated, Any

from msgspec import Struct, field

from tbgen.board.scoring import ANYTHING
from tbgen.board.variant import Variant
from tbgen.cli.options import (
    MAX_JOBS,
    OptionGroup,
    Rules,
    ScoringOptions,
    Setting,
    TableDirectory,
    WholeNumber,
)
from tbgen.cli.solver_options import SolvingOptions, SourceOptions
from tbgen.cli.solver_watch import Watch
from tbgen.cli.streams import say
from tbgen.documents import UNSET, Document, UnsetType
from tbgen.errors import UsageError
from tbgen.games.game_options import FiftyMoveRule, GameOptions, unknown_scoring_clause
from tbgen.games.outcome import Basis, Doubt, Outcome
from tbgen.games.pgn.files import PgnSource, is_stream, open_for_reading
from tbgen.games.tagging import Adjudicator, TaggedGame, Tally, tag_games
from tbgen.progress import SolveCounts
from tbgen.system.memory import processor_count
from tbgen.text import counted, duration, number

_GAMES_BETWEEN_UPDATES = 256
"""Number of games between two updates of the progress."""


@dataclass(frozen=True, slots=True)
class RefereeOptions(OptionGroup):
    """How games are refereed and scored. If an option is None, the tags of a game decide.

    :param fifty_move_rule: improving, legacy, cutermob-legacy, otb or none (default: improving for matches,
        FENs and games that cuteRMob refereed by that rule, else legacy)
    :param bare_kings: whether a game ends when both sides have a bare king with eight free moves (default:
        depends on the 50-move rule)
    """

    variant: Annotated[Rules, Setting(default=Variant.R_MOBILITY)]
    fifty_move_rule: FiftyMoveRule | None
    bare_kings: Annotated[bool | None, Setting("--bare-kings/--no-bare-kings", default=None)]
    scoring_options: ScoringOptions

    def game_options(self, rule: FiftyMoveRule | None = None) -> GameOptions:
        """Return the options of the referee.

        :param rule: the 50-move rule if the option does not set one.
        :raises UsageError: if the options contradict each other.
        """
        _ = self.scoring_options.scoring  # fails now rather than at the first game
        rule = self.fifty_move_rule or rule
        return GameOptions(self.variant, rule, bare_kings=self.bare_kings, **vars(self.scoring_options))


@dataclass(frozen=True)
class Requirements(OptionGroup):
    """Conditions without which adjudication fails.

    :param require_tables: fail if a table that the result needs is missing
    :param require_proof: also fail if no table can hold the final position of a stopped game, unless its
        points are proved in another way
    """

    require_tables: bool
    require_proof: bool


@dataclass(frozen=True, slots=True)
class AdjudicationOptions(OptionGroup):
    """How the games of files are adjudicated, and by how many processes.

    :param strict: fail at the first game that cannot be read or is doubtful
    :param jobs: number of processes (default: one per processor)
    """

    strict: bool
    requirements: Requirements
    solving: SolvingOptions
    sources: SourceOptions
    jobs: Annotated[int, WholeNumber(1, MAX_JOBS), Setting(default=processor_count, metavar="N")]
    referee: RefereeOptions
    directory: TableDirectory

    @contextmanager
    def open_run(
        self,
        files: Sequence[str],
        fate: str | None,
        rule: FiftyMoveRule | None = None,
        *,
        trust_tags: bool = False,
    ) -> Iterator["GameRun"]:
        """Yield a run through the games of some files.

        :param fate: see :attr:`GameRun.fate`.
        :param rule: the 50-move rule if the option does not set one.

        :raises UsageError: if the options contradict each other.
        """
        options = self.referee.game_options(rule)
        with self.solving.watch(options.variant, self.sources) as watch:
            adjudicator = Adjudicator(
                options,
                self.directory,
                **vars(self.requirements),
                syzygy=self.sources.syzygy,
                solver=watch.solver,
                trust_tags=trust_tags,
                on_solve=lambda raw: watch.set_game(raw.number, raw.values),
            )
            yield GameRun(files, adjudicator, watch, self.jobs, self.strict, fate)


class GameRun(Struct, frozen=True):
    """Adjudicates and counts the games of files; prints errors and progress on stderr."""

    files: Sequence[str]
    adjudicator: Adjudicator
    solver_watch: Watch
    """The solver, if any, with its progress line and any interrupt (Ctrl-C) that has not been raised yet."""
    jobs: int
    strict: bool
    """Whether a broken or doubtful game is an error."""
    fate: str | None
    """Words that say what happens to broken games. None if the caller counts and reports the games, including
    those with errors and those after an interrupt."""
    tally: Tally = field(default_factory=Tally)
    printed_remarks: set[str] = field(default_factory=set)
    """Remarks about outcomes that have been printed."""

    @property
    def solves_first(self) -> bool:
        """Whether positions are solved in a first pass. This needs --solve, and files that can be reread."""
        return self.solver_watch.solver is not None and not any(map(is_stream, self.files))

    def solve(self) -> None:
        """Solve the final positions of all games whose points the tables do not determine.

        Nothing is done without --solve, or if the games can be read only once.

        :raises KeyboardInterrupt: if the work is interrupted, after the proved results have been stored,
            unless the caller reports the games.
        :raises TbgenError: if a file cannot be read.
        """
        watch = self.solver_watch
        if watch.solver is None or not self.solves_first:
            return
        adjudicator = self.adjudicator
        to_solve = watch.solver.collector(lambda: watch.game)
        collector = replace(adjudicator.without_solver(), solver=to_solve, on_solve=adjudicator.on_solve)
        for path in self.files:
            with self._open(path, collector) as (_, games):
                for game_count, _ in enumerate(games, 1):
                    if game_count % _GAMES_BETWEEN_UPDATES == 0:
                        collected_text = f"{number(len(to_solve.jobs))} so far"
                        watch.progress_line.show(f"collecting positions to solve: {collected_text}")
        watch.work_on(to_solve.jobs)
        if self.fate is not None:
            watch.raise_interrupt()

    def games(self, path: str) -> Iterator[TaggedGame]:
        """Yield the games of a file.

        Remarks about doubts and missing tables are not printed here: see :meth:`Tally.remarks`.

        :raises UsageError: about a broken or doubtful game, if such games are errors.
        :raises GameError: if a required table or proof is missing, or a table cannot be used, unless the
            caller reports the games.
        """
        start = time.monotonic()
        with self._open(path, self.adjudicator) as (source, games):
            for game_count, game in enumerate(games, 1):
                if self.fate is not None:
                    self._report(game)
                    if game_count % _GAMES_BETWEEN_UPDATES == 0:
                        remaining_text = _remaining_text(source, time.monotonic() - start)
                        self.solver_watch.progress_line.show(f"{counted(game_count, 'game')}{remaining_text}")
                yield game

    @contextmanager
    def _open(self, path: str, adjudicator: Adjudicator) -> Iterator[tuple[PgnSource, Iterator[TaggedGame]]]:
        """Open one of the files. If there are several, messages about its games begin with its name."""
        self.solver_watch.file_prefix = f"{path}, " if len(self.files) > 1 else ""
        with self.solver_watch.progress_line, open_for_reading(path) as source:
            yield source, tag_games(source, adjudicator, jobs=self.jobs, raises=self.fate is not None)

    def _report(self, game: TaggedGame) -> None:
        """Count a game, and print its error or the remarks about it.

        :raises UsageError: if the game is broken or doubtful, and such games are errors.
        :raises KeyboardInterrupt: if the solving of its position was interrupted.
        """
        watch = self.solver_watch
        outcome = game.outcome
        if game.error is not None:
            self.tally.broken += 1
            if self.strict:
                raise game.error
            self._say(f"{watch.file_prefix}{game.error}; {self.fate}")
        if outcome is not None:
            name = f"{watch.file_prefix}{game.raw.place}"
            if self.strict and outcome.doubts:
                raise UsageError(f"{name}: {outcome.doubts[0].sentence}")
            self.count(outcome, name, f"{name}: ")
        if watch.interrupted:
            watch.say_proved(watch.game, ANYTHING if outcome is None else outcome.interval)
            watch.raise_interrupt()

    def count(self, outcome: Outcome, name: str, prefix: str = "") -> None:
        """Count an outcome, and print each new remark: about an unknown scoring or an unsolvable position.

        :param name: the name of the game.
        :param prefix: text before each remark.
        """
        self.tally.add(outcome, name)
        unknown = outcome.settings.unknown_scoring
        remarks = []
        if unknown is not None:
            remarks.append(unknown_scoring_clause(unknown))
        if outcome.unsolvable:
            remarks.append(f"the position cannot be solved: {outcome.unsolvable}")
        for remark in remarks:
            if remark not in self.printed_remarks:
                self.printed_remarks.add(remark)
                self._say(prefix + remark)

    def _say(self, remark: str) -> None:
        self.solver_watch.progress_line.clear()
        say(f"tbgen: {remark}")

    def say_remarks(self) -> None:
        """Print the remarks about all games."""
        for remark in self.tally.remarks():
            say(f"tbgen: {remark}")

    def document(self, **files: Any) -> "TallyDocument":
        """Return the counts of the games, and of the solved positions, for JSON.

        :param files: the fields about files.
        """
        tally = self.tally
        watch = self.solver_watch
        return TallyDocument(
            games=tally.games,
            bases={basis: tally.bases[basis] for basis in Basis if tally.bases[basis]},
            broken=tally.broken,
            doubts={
                doubt: DoubtDocument(tally.doubts[doubt], tally.first_games[doubt])
                for doubt in Doubt
                if tally.doubts[doubt]
            },
            missing_tables=dict(sorted(tally.missing_tables.items())),
            missing_syzygy=dict(sorted(tally.missing_syzygy.items())),
            unknown_scorings=dict(sorted(tally.unknown_scorings.items())),
            unsolvable=dict(sorted(tally.unsolvable.items())),
            solving=UNSET if watch.solver is None else watch.counts,
            **files,
        )


class DoubtDocument(Document):
    """The number of games with a doubt, and the names of the first ones."""

    games: int
    first: list[str]


class TallyDocument(Document, kw_only=True):
    """Counts of adjudicated games, after the files that have been read and written, if any were written."""

    sources: Sequence[str] | UnsetType = UNSET
    target: str | UnsetType = UNSET
    games: int
    bases: dict[Basis, int]
    broken: int
    doubts: dict[Doubt, DoubtDocument]
    missing_tables: dict[str, int]
    missing_syzygy: dict[str, int]
    unknown_scorings: dict[str, int]
    unsolvable: dict[str, int]
    solving: SolveCounts | UnsetType = UNSET


def _remaining_text(source: PgnSource, seconds: float) -> str:
    if not 0 < source.bytes_read <= source.size:
        return ""
    share = source.bytes_read / source.size
    return f", {share:.0%} of the file; about {duration(seconds * (1 - share) / share)} left"
