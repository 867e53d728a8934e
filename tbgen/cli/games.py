"""Adjudicating the games of files: options, and what is told meanwhile."""

import argparse
import time
from collections.abc import Iterator

from tbgen.cli.options import (
    add_directory,
    add_game_options,
    add_jobs,
    add_requirements,
    directory_of,
    game_options_of,
)
from tbgen.cli.progress import ProgressLine
from tbgen.cli.streams import say
from tbgen.games.pgn.files import Source
from tbgen.games.settings import unknown_scoring
from tbgen.games.tagging import Adjudicator, TaggedGame, Tally
from tbgen.text import counted, duration

_EVERY = 256
"""Games between two looks at the clock."""


def add_adjudicating(parser: argparse.ArgumentParser) -> None:
    """Add what says how games are adjudicated, and on how many processes."""
    parser.add_argument("--strict", action="store_true", help="fail at the first game that cannot be read")
    add_requirements(parser)
    add_jobs(parser)
    add_game_options(parser)
    add_directory(parser)


def adjudicator_of(arguments: argparse.Namespace, *, trust_tags: bool = False) -> Adjudicator:
    """Return the adjudicator that the arguments ask for.

    :raises UsageError: if one of them means nothing.
    :raises TbgenError: if the directory is none.
    """
    directory_of(arguments)
    return Adjudicator(
        game_options_of(arguments),
        arguments.dir,
        require_tables=arguments.require_tables,
        require_proof=arguments.require_proof,
        trust_tags=trust_tags,
    )


def reported(
    games: Iterator[TaggedGame], source: Source, tally: Tally, fate: str, *, strict: bool, place: str = ""
) -> Iterator[TaggedGame]:
    """Count games and pass them on, and tell on stderr what is wrong with them, and about progress.

    That is: which are broken, and, once for each, which tables are missing and which scorings are unknown.

    :param fate: what becomes of broken games, in two words.
    :param place: what to say before the place of a game.

    :raises UsageError: about a broken game, if ``strict``.
    """
    line, start = ProgressLine(), time.monotonic()
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


def _left(source: Source, seconds: float) -> str:
    if not 0 < source.done <= source.size:
        return ""
    share = source.done / source.size
    return f", {share:.0%} of the file; about {duration(seconds * (1 - share) / share)} left"
