"""``tbgen score``: standings of PGN files."""

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from tbgen.cli.games import add_adjudicating, adjudicator_of, reported
from tbgen.cli.options import jobs_of
from tbgen.cli.streams import say
from tbgen.errors import UsageError, quote
from tbgen.games.pgn.files import reading
from tbgen.games.pgn.reader import RESULTS
from tbgen.games.standings import GameRecord, Sprt, Standings, standings
from tbgen.games.standings.document import document
from tbgen.games.standings.render import comma_separated, markdown, text
from tbgen.games.standings.sections import sections
from tbgen.games.tagging import Adjudicator, Tally, tag_games
from tbgen.scoring import Scheme
from tbgen.text import counted

_DESCRIPTION = """\
Print what the games of PGN files add up to by r-mobility: standings with tiebreaks, points by every scoring,
crosstable, Elo, histograms of results, and what exact adjudication by tables has changed.

Games that tbgen has tagged count as their tags say, unless an option says how to referee them or they are
tagged as played; all others are judged first, as tbgen tag does it. Games whose result is * are left out.
"""
_EPILOG = """\
examples:
  tbgen score games.pgn
  tbgen score round1.pgn round2.pgn.gz --scoring komi --format html > standings.html
  tbgen score match.pgn --sprt 0 5 0.05 0.05
"""
_FORMATS = ("text", "markdown", "csv", "json", "html")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description, parser.epilog = _DESCRIPTION, _EPILOG
    parser.add_argument("files", nargs="*", metavar="FILE.pgn", help="the games; - for standard input")
    parser.add_argument(
        "--sprt",
        nargs="+",
        metavar="NUMBER",
        help="ELO0 ELO1 [ALPHA BETA]: test the player that appears first against the other one "
        "(alpha and beta default to 0.05)",
    )
    parser.add_argument(
        "--format", choices=_FORMATS, default="text", help="what to print (default: %(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="the same as --format json")
    parser.add_argument("--title", default="Standings by r-mobility", help="title of the HTML page")
    parser.add_argument(
        "--judge-again", action="store_true", help="judge games that are tagged as if they were not"
    )
    add_adjudicating(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the standings of some files."""
    files, numbers = _files_and_numbers(arguments)
    adjudicator = adjudicator_of(arguments, trust_tags=not arguments.judge_again)
    games = list(_records(files, adjudicator, jobs_of(arguments), strict=arguments.strict))
    if not games:
        raise UsageError("there are no games to score")
    result = standings(games, adjudicator.options.scheme or _common_scheme(games))
    test = None if numbers is None else result.test(*numbers)
    print(_rendered("json" if arguments.json else arguments.format, result, games, test, arguments.title))
    return 0


def _files_and_numbers(arguments: argparse.Namespace) -> tuple[list[str], list[float] | None]:
    """Return the files, and the numbers of the SPRT; files after the numbers look like more of them."""
    files = list(arguments.files)
    numbers: list[float] = []
    for word in arguments.sprt or ():
        try:
            numbers.append(float(word))
        except ValueError:
            files.append(word)
    if not files:
        raise UsageError("there is no file to score; see: tbgen score --help")
    if arguments.sprt is None:
        return files, None
    if len(numbers) not in (2, 4):
        raise UsageError(
            f"--sprt {quote(' '.join(arguments.sprt))}: expected ELO0 ELO1, or ELO0 ELO1 ALPHA BETA"
        )
    return files, numbers


def _records(
    files: Sequence[str], adjudicator: Adjudicator, jobs: int, *, strict: bool
) -> Iterator[GameRecord]:
    unfinished, tally = 0, Tally()
    for name in files:
        place = f"{name}, " if len(files) > 1 else ""
        with reading(name) as source:
            games = tag_games(source, adjudicator, jobs=jobs)
            for game in reported(games, source, tally, "left out", strict=strict, place=place):
                record = GameRecord.of(Path(name).name, game)
                if record is None:
                    continue
                if record.classical in RESULTS:
                    yield record
                else:
                    unfinished += 1
    if unfinished:
        say(f"tbgen: {counted(unfinished, 'game')} without a result left out")


def _common_scheme(games: Sequence[GameRecord]) -> Scheme:
    """Return the scoring that the tags of all games agree on, else the exponential one."""
    schemes = {game.outcome.settings.scoring.scheme for game in games}
    if len(schemes) == 1:
        return schemes.pop()
    say("tbgen: the games have tags of several scorings; they are scored exponentially")
    return Scheme.EXPONENTIAL


def _rendered(form: str, result: Standings, games: list[GameRecord], test: Sprt | None, title: str) -> str:
    match form:
        case "json":
            return json.dumps(document(result, games, test), indent=2)
        case "html":
            from tbgen.games.standings.page import page

            return page(result, list(sections(result, test)), title)
        case "csv":
            return "\n".join(comma_separated(sections(result, test)))
        case "markdown":
            return "\n".join(markdown(sections(result, test)))
    return "\n".join(text(sections(result, test))).rstrip()
