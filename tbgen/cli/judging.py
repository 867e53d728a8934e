"""What commands tell while the games of a file are judged."""

import time
from collections.abc import Iterator

from tbgen.cli.progress import ProgressLine, duration
from tbgen.cli.streams import say
from tbgen.cli.text import counted
from tbgen.pgn.files import Source
from tbgen.tagging import TaggedGame

_EVERY = 256
"""Games between two looks at the clock."""


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
