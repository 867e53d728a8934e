"""``tbgen tag``: results and points into PGN files."""

import argparse
from collections import Counter

from tbgen.cli.judging import add_judging, judge_of, reported
from tbgen.cli.options import jobs_of
from tbgen.cli.streams import say
from tbgen.games.pgn.files import reading, writing
from tbgen.games.referee import Basis
from tbgen.games.tagging import tag_games
from tbgen.text import counted

_DESCRIPTION = """\
Add to every game its r-mobility result as tags: RMobilityResult, Points, RMobilityCutoff, RMobilityScoring,
Komi (if it counts), the 50-move rule it was refereed by, and the basis of the result: what ended the game, or
tablebase for the exact value of a stopped game, or played where no table could tell. With --rules wg the
result is WGMobilityResult.

Tags that were there under these names are replaced; everything else stays as it is, byte for byte, the
classical Result too. Games that cannot be read are reported and passed through unchanged.

IN and OUT may be - for standard input and output. Compressed input (gzip, bzip2, zstd) is understood; an OUT
that ends in .gz, .bz2 or .zst is compressed. OUT appears when it is complete.
"""
_EPILOG = """\
examples:
  tbgen tag games.pgn tagged.pgn
  tbgen tag season.pgn.zst tagged.pgn.zst --jobs 8 --scoring komi --komi G5.75
  zcat games.pgn.gz | tbgen tag - - | less
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description, parser.epilog = _DESCRIPTION, _EPILOG
    parser.add_argument("source", metavar="IN.pgn", help="the games")
    parser.add_argument("target", metavar="OUT.pgn", help="where they go with their tags; may be IN itself")
    add_judging(parser)


def run(arguments: argparse.Namespace) -> int:
    """Tag the games of a file."""
    judge = judge_of(arguments)
    counts: Counter[str] = Counter()
    with reading(arguments.source) as source, writing(arguments.target) as sink:
        games = tag_games(source, judge, jobs=jobs_of(arguments))
        for game in reported(games, source, "left as it is", strict=arguments.strict):
            if game.error is not None:
                counts["broken"] += 1
            elif game.verdict is not None:
                counts[game.verdict.outcome.basis.value] += 1
            sink.write(game.data)
    say(f"tbgen: {_summary(counts)}")
    return 0


def _summary(counts: Counter[str]) -> str:
    broken = counts.pop("broken", 0)
    told = ", ".join(f"{counts[basis.value]:,} {basis.value}" for basis in Basis if counts[basis.value])
    text = counted(counts.total(), "game") + " tagged" + (f" ({told})" if told else "")
    return (
        f"{text}, {broken:,} broken and left as {'they are' if broken > 1 else 'it is'}" if broken else text
    )
