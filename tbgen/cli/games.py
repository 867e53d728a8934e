"""Adjudicating games: options, and what is told meanwhile."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated

from tbgen.board.variant import Variant
from tbgen.cli.options import (
    MOST_JOBS,
    OptionGroup,
    Rules,
    ScoringOptions,
    Setting,
    TableDirectory,
    WholeNumber,
    processors,
)
from tbgen.cli.progress import ProgressLine
from tbgen.cli.solving import SolvingOptions, Watch, not_solved, solving_with
from tbgen.cli.streams import say
from tbgen.games.pgn.files import PgnSource, is_stream, reading
from tbgen.games.settings import FiftyMoveRule, GameOptions, unknown_scoring
from tbgen.games.tagging import Adjudicator, TaggedGame, Tally, tag_games
from tbgen.text import counted, duration

_EVERY = 256
"""Games between two looks at the clock."""


@dataclass(frozen=True, slots=True)
class RefereeOptions(OptionGroup):
    """By what games are refereed and scored; None leaves it to their tags.

    :param fifty_move_rule: improving, legacy, cutermob-legacy, otb or none (default: improving for FENs and
        for games that cuteRMob refereed by it, else legacy)
    :param bare_kings: whether bare kings with eight free moves each end a game (default: depends on the
        50-move rule)
    """

    variant: Annotated[Rules, Setting(default=Variant.R_MOBILITY)]
    fifty_move_rule: FiftyMoveRule | None
    bare_kings: Annotated[bool | None, Setting("--bare-kings/--no-bare-kings", default=None)]
    points: ScoringOptions

    def options(self, rule: FiftyMoveRule | None = None) -> GameOptions:
        """Return them as the referee wants them.

        :param rule: the 50-move rule where none is given.
        :raises UsageError: if they do not go together.
        """
        points, _ = self.points, self.points.scoring  # refused now, and not at the first game
        return GameOptions(
            self.variant,
            self.fifty_move_rule or rule,
            points.cutoff,
            self.bare_kings,
            points.scheme,
            points.komi,
        )


@dataclass(frozen=True)
class Requirements(OptionGroup):
    """What adjudication fails without.

    :param require_tables: fail if a table that the result needs is missing
    :param require_proof: fail also if no table can hold the final position of a stopped game and its points
        are not proved otherwise
    """

    require_tables: bool
    require_proof: bool


@dataclass(frozen=True, slots=True)
class AdjudicationOptions(OptionGroup):
    """How the games of files are adjudicated, and on how many processes.

    :param strict: fail at the first game that cannot be read
    :param jobs: number of processes (default: one per processor)
    """

    strict: bool
    requirements: Requirements
    solving: SolvingOptions
    jobs: Annotated[int, WholeNumber(1, MOST_JOBS), Setting(default=processors, metavar="N")]
    referee: RefereeOptions
    given: TableDirectory

    @contextmanager
    def adjudicating(
        self, files: Sequence[str], *, trust_tags: bool = False
    ) -> Iterator[tuple[Adjudicator, Watch]]:
        """Give the adjudicator of the games of some files, and what watches it solve.

        If it is to solve positions, the games for that are counted first, unless they can be read only once.

        :raises UsageError: if the options do not go together.
        :raises TbgenError: if a file cannot be read.
        """
        options, watch = self.referee.options(), Watch(ProgressLine())
        with solving_with(self.solving, options.variant, watch) as solver:
            adjudicator = Adjudicator(
                options,
                self.given,
                **vars(self.requirements),
                solver=solver,
                trust_tags=trust_tags,
            )
            if solver is not None and not any(map(is_stream, files)):
                watch.games = _count_unproven(files, adjudicator.unsolving(), self.jobs, watch.line)
            yield adjudicator, watch


def _count_unproven(files: Sequence[str], adjudicator: Adjudicator, jobs: int, line: ProgressLine) -> int:
    """Return how many games are left to solve."""
    found = 0
    for path in files:
        with line, reading(path) as source:
            for done, game in enumerate(tag_games(source, adjudicator, jobs=jobs), 1):
                found += game.outcome is not None and not game.outcome.proven
                if done % _EVERY == 0:
                    line.show(f"counting what is to be solved: {counted(found, 'position')}")
    return found


def reported(
    games: Iterator[TaggedGame],
    source: PgnSource,
    tally: Tally,
    fate: str,
    *,
    line: ProgressLine,
    strict: bool,
    place: str = "",
) -> Iterator[TaggedGame]:
    """Count games and pass them on, and tell on stderr what is wrong with them, and about progress.

    That is: which are broken, and, once for each, which tables are missing, which scorings are unknown and
    why positions cannot be solved.

    :param fate: what becomes of broken games, in two words.
    :param line: where progress is shown.
    :param place: what to say before the place of a game.

    :raises UsageError: about a broken game, if ``strict``.
    """
    start = time.monotonic()
    with line:
        for done, game in enumerate(games, 1):
            tally.add(game)
            if game.error is not None and strict:
                raise game.error
            for remark in _remarks(game, tally, fate, place):
                line.clear()
                say(f"tbgen: {remark}")
            if done % _EVERY == 0:
                line.show(f"{counted(done, 'game')}{_left(source, time.monotonic() - start)}")
            yield game


def _remarks(game: TaggedGame, tally: Tally, fate: str, place: str) -> Iterator[str]:
    """Yield what is to be said of a game that has just been counted."""
    if game.error is not None:
        yield f"{place}{game.error}; {fate}"
    if game.outcome is None:
        return
    missing, unknown = game.outcome.missing, game.outcome.settings.unknown_scoring
    if missing is not None and tally.missing[missing.material] == 1:
        yield str(missing)
    if unknown is not None and tally.unknown_scorings[unknown] == 1:
        yield f"{place}game {game.raw.number}, line {game.raw.line}: {unknown_scoring(unknown)}"
    unsolvable = game.outcome.unsolvable
    if unsolvable and tally.unsolvable[unsolvable] == 1:
        yield f"{place}game {game.raw.number}, line {game.raw.line}: {not_solved(unsolvable)}"


def _left(source: PgnSource, seconds: float) -> str:
    if not 0 < source.done <= source.size:
        return ""
    share = source.done / source.size
    return f", {share:.0%} of the file; about {duration(seconds * (1 - share) / share)} left"
