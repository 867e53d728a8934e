"""Adjudicating the games of files: options, and what is told meanwhile."""

import argparse
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tbgen.cli.options import (
    add_directory,
    add_game_options,
    add_jobs,
    add_requirements,
    directory_of,
    game_options_of,
    jobs_of,
)
from tbgen.cli.progress import ProgressLine
from tbgen.cli.solving import Watch, add_solving, not_solved, solving
from tbgen.cli.streams import say
from tbgen.games.pgn.files import PgnSource, is_stream, reading
from tbgen.games.settings import unknown_scoring
from tbgen.games.tagging import Adjudicator, TaggedGame, Tally, tag_games
from tbgen.text import counted, duration

_EVERY = 256
"""Games between two looks at the clock."""


def add_adjudicating(parser: argparse.ArgumentParser) -> None:
    """Add what says how games are adjudicated, and on how many processes."""
    parser.add_argument("--strict", action="store_true", help="fail at the first game that cannot be read")
    add_requirements(parser)
    add_solving(parser)
    add_jobs(parser)
    add_game_options(parser)
    add_directory(parser)


@contextmanager
def adjudicating(
    arguments: argparse.Namespace, files: Sequence[str], *, trust_tags: bool = False
) -> Iterator[tuple[Adjudicator, Watch]]:
    """Give the adjudicator of the games of some files that the arguments ask for, and who watches it solve.

    If it is to solve positions, the games for that are counted first, unless they can be read only once.

    :raises UsageError: if one of the arguments means nothing.
    :raises TbgenError: if the directory is none, or a file cannot be read.
    """
    directory_of(arguments)
    options, watch = game_options_of(arguments), Watch(ProgressLine())
    with solving(arguments, watch) as solver:
        adjudicator = Adjudicator(
            options,
            arguments.dir,
            require_tables=arguments.require_tables,
            require_proof=arguments.require_proof,
            solver=solver,
            trust_tags=trust_tags,
        )
        if solver is not None and not any(map(is_stream, files)):
            watch.games = _count_unproven(files, adjudicator.unsolving(), jobs_of(arguments), watch.line)
        yield adjudicator, watch


def _count_unproven(files: Sequence[str], adjudicator: Adjudicator, jobs: int, line: ProgressLine) -> int:
    """Return how many games are left to solve."""
    found = 0
    try:
        for path in files:
            with reading(path) as source:
                for done, game in enumerate(tag_games(source, adjudicator, jobs=jobs), 1):
                    found += game.outcome is not None and not game.outcome.proven
                    if done % _EVERY == 0:
                        line.show(f"counting what is to be solved: {counted(found, 'position')}")
    finally:
        line.clear()
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
    try:
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
    finally:
        line.clear()


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
