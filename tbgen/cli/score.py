"""``tbgen score``: standings of PGN files."""

import argparse
import json
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tbgen.board.scoring import Scheme
from tbgen.cli.games import add_adjudicating, adjudicating, reported
from tbgen.cli.options import jobs_of
from tbgen.cli.progress import ProgressLine
from tbgen.cli.streams import say
from tbgen.errors import UsageError, quote
from tbgen.files import write_file
from tbgen.games.pgn.files import reading
from tbgen.games.pgn.reader import RESULTS
from tbgen.games.standings import EloModel, GameRecord, LeftOut, Order, Standings, sprt, standings
from tbgen.games.standings.document import document
from tbgen.games.standings.render import comma_separated, markdown, text
from tbgen.games.standings.table import StandingsTable
from tbgen.games.standings.tables import KEYS, overview, tables
from tbgen.games.tagging import Adjudicator, Tally, tag_games
from tbgen.text import counted

_DESCRIPTION = """\
Print what the games of PGN files add up to by r-mobility: standings with tiebreaks, points by every scoring,
results by colour, crosstable, Elo by games and by pairs of games, histograms of results, and what best play,
as tables or solving prove it, has changed.

Games that tbgen has tagged count as their tags say, unless an option says how to referee them or they are
tagged as unproven; all others are adjudicated first, as tbgen tag does it, with --solve too. Games whose
result is * are left out, as are those that cannot be read, and counted; if no other is left, the command
fails. Players without a name are players of their own in each game.
"""
_EPILOG = """\
examples:
  tbgen score games.pgn
  tbgen score round1.pgn round2.pgn.gz --scoring komi --format html > standings.html
  tbgen score season.pgn --order tcec --format csv --out season
  tbgen score match.pgn --sprt 0 5 0.05 0.05 --pairs
  tbgen score season.pgn --solve --solve-results results.jsonl
"""
_FORMATS = ("text", "markdown", "csv", "json", "html")
_WIDTH = 132
"""Letters in a line where nobody says how wide the terminal is."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description, parser.epilog = _DESCRIPTION, _EPILOG
    parser.add_argument("files", nargs="*", metavar="FILE.pgn", help="the games; - for standard input")
    parser.add_argument(
        "--order",
        choices=[order.value for order in Order],
        default=Order.PERCENT.value,
        help="by points per game, by points, or as TCEC has it: by points in chess, then direct encounters, "
        "then points (default: %(default)s)",
    )
    parser.add_argument(
        "--sprt",
        nargs="+",
        metavar="NUMBER",
        help="ELO0 ELO1 [ALPHA BETA]: test the player that appears first against the other one "
        "(alpha and beta default to 0.05)",
    )
    parser.add_argument(
        "--sprt-model",
        default=EloModel.LOGISTIC.value,
        metavar="MODEL",
        help="what ELO0 and ELO1 are: logistic, normalised, or bayesian as in Cute Chess "
        "(default: %(default)s)",
    )
    parser.add_argument(
        "--pairs", action="store_true", help="let --sprt test pairs of games: same start, colours reversed"
    )
    parser.add_argument(
        "--tables",
        metavar="NAMES",
        help=f"which tables to print, with commas between: {', '.join(KEYS)}; or all (default: all but "
        "meetings and games, for CSV all)",
    )
    parser.add_argument(
        "--format", choices=_FORMATS, default="text", help="what to print (default: %(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="the same as --format json")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="write each table to a CSV file in a directory, made if need be",
    )
    parser.add_argument("--title", default="Standings by r-mobility", help="title of the HTML page")
    parser.add_argument(
        "--judge-again", action="store_true", help="judge games that are tagged as if they were not"
    )
    add_adjudicating(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the standings of some files."""
    files, numbers = _files_and_numbers(arguments)
    form = "json" if arguments.json else arguments.format
    if arguments.out is not None and form != "csv":
        raise UsageError("--out is for CSV files, one for each table: add --format csv")
    if arguments.pairs and numbers is None:
        raise UsageError("--pairs says what a test is made of: add --sprt ELO0 ELO1")
    model, wanted = EloModel(arguments.sprt_model), _wanted(arguments.tables)
    if numbers is not None:
        sprt([], *numbers, model=model, pairs=arguments.pairs)  # refused now, and not after all games
    with adjudicating(arguments, files, trust_tags=not arguments.judge_again) as (adjudicator, watch):
        reader = _GameReader(adjudicator, watch.line, jobs_of(arguments), arguments.strict)
        games = list(reader.records(files))
    left_out = LeftOut(reader.unfinished, reader.tally.broken)
    if not games:
        raise UsageError(f"there are no games to score{_left_out_text(left_out, ': ')}")
    result = standings(games, adjudicator.options.scheme or _common_scheme(games), Order(arguments.order))
    test = None if numbers is None else result.test(*numbers, model=model, pairs=arguments.pairs)
    result = replace(result, left_out=left_out, sprt=test)
    _tell(result)
    if form == "json":
        counts = reader.tally.document()
        told = {name: counts[name] for name in ("missing_tables", "unknown_scorings", "unsolvable")}
        print(json.dumps(document(result) | told | watch.document(), indent=2))
        return 0
    keys = wanted or (set(KEYS) if form == "csv" else overview(result))
    shown = list(tables(result, keys))
    if arguments.out is None:
        print(_rendered(form, result, shown, arguments.title))
    else:
        _write(arguments.out, shown)
    return 0


def _wanted(names: str | None) -> set[str] | None:
    """Return the keys of the tables that are asked for, None if the format is to decide."""
    if names is None or names == "all":
        return None if names is None else set(KEYS)
    wanted = {name.strip() for name in names.split(",")}
    for name in sorted(wanted - set(KEYS)):
        raise UsageError(f"{quote(name)} is no table of standings: expected some of {', '.join(KEYS)}")
    return wanted


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


@dataclass(slots=True)
class _GameReader:
    """Reads the games of files, and counts those that do not count."""

    adjudicator: Adjudicator
    line: ProgressLine
    jobs: int
    strict: bool
    tally: Tally = field(default_factory=Tally)
    unfinished: int = 0

    def records(self, files: Sequence[str]) -> Iterator[GameRecord]:
        """Yield the games that have a result."""
        names = Counter(Path(path).name for path in files)
        for path in files:
            name = Path(path).name
            place = f"{path}, " if len(files) > 1 else ""
            with reading(path) as source:
                games = tag_games(source, self.adjudicator, jobs=self.jobs)
                for game in reported(
                    games, source, self.tally, "left out", line=self.line, strict=self.strict, place=place
                ):
                    if game.outcome is None:
                        continue
                    record = GameRecord.of(name if names[name] == 1 else path, game.raw, game.outcome)
                    if record.classical in RESULTS:
                        yield record
                    else:
                        self.unfinished += 1


def _tell(result: Standings) -> None:
    """Tell on stderr what does not count as one might think."""
    nameless = sum(game.nameless for game in result.games)
    if nameless:
        say(f"tbgen: {counted(nameless, 'player')} without a name: each counts as a player of its own")
    if result.left_out.total:
        say(f"tbgen: {counted(len(result.games), 'game')} scored{_left_out_text(result.left_out, '; ')}")


def _left_out_text(left_out: LeftOut, before: str) -> str:
    """Return how many games are left out, and why; nothing if none is."""
    counts = (("without a result", left_out.unfinished), ("broken", left_out.broken))
    reasons = [f"{count:,} {reason}" for reason, count in counts if count]
    return f"{before}{' and '.join(reasons)} left out" if reasons else ""


def _common_scheme(games: Sequence[GameRecord]) -> Scheme:
    """Return the scoring that the tags of all games agree on, else the exponential one."""
    schemes = {game.outcome.settings.scoring.scheme for game in games}
    if len(schemes) == 1:
        return schemes.pop()
    say("tbgen: the games have tags of several scorings; they are scored exponentially")
    return Scheme.EXPONENTIAL


def _rendered(form: str, result: Standings, shown: Sequence[StandingsTable], title: str) -> str:
    match form:
        case "html":
            from tbgen.games.standings.page import page

            return page(result, shown, title)
        case "csv":
            return "\n".join(f"{table.title}\n{comma_separated(table)}" for table in shown)
        case "markdown":
            return "\n".join(markdown(shown))
    return "\n".join(text(shown, shutil.get_terminal_size((_WIDTH, 24)).columns)).rstrip()


def _write(directory: Path, shown: Sequence[StandingsTable]) -> None:
    """Write each table to a file of its own, and tell their names."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{quote(str(directory))} cannot be a directory: {error.strerror}") from None
    for table in shown:
        path = directory / f"{table.key}.csv"
        write_file(path, comma_separated(table).encode())
        print(path)
