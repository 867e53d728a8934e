"""Judging the games of files: options, and what is told meanwhile."""

import argparse
import time
from collections.abc import Iterator

from tbgen.cli.options import add_directory, add_jobs, add_play_rules, directory_of, play_rules_of
from tbgen.cli.progress import ProgressLine
from tbgen.cli.streams import say
from tbgen.games.pgn.files import Source
from tbgen.games.tagging import Judge, TaggedGame
from tbgen.text import counted, duration

_EVERY = 256
"""Games between two looks at the clock."""


def add_judging(parser: argparse.ArgumentParser) -> None:
    """Add what says by what games are judged, and on how many processes."""
    parser.add_argument("--strict", action="store_true", help="fail at the first game that cannot be read")
    parser.add_argument(
        "--require-tables", action="store_true", help="fail if a table is missing that could say more"
    )
    add_jobs(parser)
    add_play_rules(parser)
    add_directory(parser)


def judge_of(arguments: argparse.Namespace, *, trust_tags: bool = False) -> Judge:
    """Return the judge that the arguments ask for.

    :raises UsageError: if one of them means nothing.
    :raises TbgenError: if the directory is none.
    """
    directory_of(arguments)
    return Judge(
        play_rules_of(arguments),
        arguments.dir,
        require_tables=arguments.require_tables,
        trust_tags=trust_tags,
    )


def reported(
    games: Iterator[TaggedGame], source: Source, fate: str, *, strict: bool, place: str = ""
) -> Iterator[TaggedGame]:
    """Pass games on, and tell on stderr about broken ones, missing tables and progress.

    :param fate: what becomes of broken games, in two words.
    :param place: what to say before the place of a broken game.

    :raises UsageError: about a broken game, if ``strict``.
    """
    line, start = ProgressLine(), time.monotonic()
    missing: set[str] = set()
    try:
        for done, game in enumerate(games, 1):
            if game.error is not None:
                if strict:
                    raise game.error
                line.clear()
                say(f"tbgen: {place}{game.error}; {fate}")
            lacking = None if game.verdict is None else game.verdict.outcome.missing
            if lacking is not None and lacking.material not in missing:
                missing.add(lacking.material)
                line.clear()
                say(f"tbgen: {lacking}")
            if done % _EVERY == 0:
                line.show(f"{counted(done, 'game')}{_left(source, time.monotonic() - start)}")
            yield game
    finally:
        line.clear()


def _left(source: Source, seconds: float) -> str:
    if not 0 < source.done <= source.size:
        return ""
    share = source.done / source.size
    return f", {share:.0%} of the file; about {duration(seconds * (1 - share) / share)} left"
