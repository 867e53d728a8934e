"""``tbgen score``: standings of the games in PGN files."""

import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import click

from tbgen.board.scoring import Scheme
from tbgen.cli.games import AdjudicationOptions, DoubtDocument, GameRun, TallyDocument
from tbgen.cli.options import AsJson, Directory, ParsedType, Setting, Url, WordList, command
from tbgen.cli.streams import say
from tbgen.documents import UNSET, UnsetType, json_text
from tbgen.errors import UsageError, quote
from tbgen.extras import MissingExtraError
from tbgen.games.game_options import GameOptions
from tbgen.games.live_file import format_in_live_file
from tbgen.games.outcome import RESULTS, Doubt
from tbgen.games.pgn.files import matching_files
from tbgen.games.standings import GameRecord, Standings, standings
from tbgen.games.standings.elo import (
    DEFAULT_ANCHOR,
    Anchor,
    EloModel,
    TestSettings,
    is_test_word,
    sprt_settings,
)
from tbgen.games.standings.elo import sprt as check_test
from tbgen.games.standings.encounters import event_result, finished_game, with_result
from tbgen.games.standings.json_files import StandingsDocument, TcecEvent
from tbgen.games.standings.orders import ORDERS, Order, order_of
from tbgen.games.standings.record import EventFormat, Format
from tbgen.games.standings.render import comma_separated, markdown, text_lines
from tbgen.games.standings.table import StandingsTable
from tbgen.games.standings.tables import KEYS, overview_keys
from tbgen.games.standings.tables import tables as all_tables
from tbgen.games.standings.tiebreaks import BALANCES, TIEBREAKS, OrderBy, parse_names
from tbgen.games.standings.tournament import EventResult, LeftOutCounts
from tbgen.progress import SolveCounts
from tbgen.system.files import make_directory, write_file
from tbgen.text import composed, counted

if TYPE_CHECKING:
    from markupsafe import Markup

_DEFAULT_COLUMNS: Final = 132
"""Assumed width of a terminal whose width is unavailable."""
_FILE_NAMES: Final = {
    "html": "index.html",
    "json": "standings.json",
    "text": "standings.txt",
    "markdown": "standings.md",
    "csv": "standings.csv",
}
"""Maps each format to its file name. With ``--out``, CSV has one file per table instead."""


def _parse_table_keys(names: str) -> set[str]:
    if names == "all":
        return set(KEYS)
    keys = {name.strip() for name in names.split(",")}
    for name in sorted(keys - set(KEYS)):
        raise UsageError(f"{quote(name)} is not a table of standings: expected some of {', '.join(KEYS)}")
    return keys


@command
def run(
    *patterns: Annotated[str, Setting(metavar="FILE.pgn...")],
    order: Annotated[Order, ParsedType("NAME", order_of, lambda: ORDERS)] = ORDERS["percent"],
    tiebreaks: Annotated[
        tuple[str, ...] | None, ParsedType("NAMES", parse_names, lambda: (*TIEBREAKS, BALANCES))
    ],
    sprt: Annotated[TestSettings | None, WordList(sprt_settings, is_test_word)],
    sprt_model: EloModel | None,
    sprt_player: Annotated[str, Setting(metavar="NAME")] = "",
    pairs: bool,
    anchor: Annotated[Anchor, ParsedType("NAME=RATING", Anchor.parse)] = DEFAULT_ANCHOR,
    byes: bool,
    tables: Annotated[set[str] | None, ParsedType("NAMES", _parse_table_keys, lambda: KEYS)],
    form: Annotated[
        str | None,
        click.Choice(["text", "markdown", "csv", "json", "html", "tcec-json"]),
        Setting("--format"),
    ],
    json: AsJson,
    out: Directory | None,
    title: Annotated[str, Setting(metavar="TITLE")] = "Standings by r-mobility",
    explorer: Url | None,
    judge_again: bool,
    adjudication: AdjudicationOptions,
) -> None:
    """Print standings and statistics, by r-mobility, of the games in PGN files.

    The tables are: standings with tiebreaks, crosstables of games and of points, points under every scoring,
    results by colour, Elo from games and from pairs of games, histograms of results, and changes of results
    by best play, as proved by tables, Syzygy files or solving.

    If tbgen has tagged a game, its tags are used, unless the result is unproven or an option sets how the
    games are refereed. All other games are adjudicated first, as by tbgen tag, including --syzygy and
    --solve. Unreadable games and games with the result * are left out, and their number is printed. If no
    game remains, the command fails. A player without a name counts as a different player in each game.

    \b
    For example:
      tbgen score games.pgn
      tbgen score round1.pgn round2.pgn.gz --format html > standings.html
      tbgen score season.pgn --order tcec --title "Season 1" --out site
      tbgen score match.pgn --sprt 0 5 0.05 0.05 --pairs
      tbgen score season.pgn --solve --solve-results results.jsonl

    :param patterns: files of games, or patterns such as "round*.pgn"; - for standard input
    :param order: what counts first, and the tiebreaks: {}; percent is points per game, and the orders of TCEC
        and FIDE begin with points in chess (default: percent)
    :param tiebreaks: tiebreaks, in order, in place of those of --order, separated by commas: {}, g1.0 and so
        on; balances stands for stalemates, g1.0 and so on
    :param sprt: elo0=E elo1=E [alpha=P beta=P model=M], or the numbers in this order: test a player
        against the other player by a sequential test (alpha and beta default to 0.05)
    :param sprt_model: the model of elo0 and elo1: logistic, normalised, or bayesian as in Cute Chess
        (default: the model in --sprt, else logistic)
    :param sprt_player: the player to test (default: White in the first game by the Round tags)
    :param pairs: let --sprt test pairs of games with the same start and reversed colours
    :param anchor: fix the joint rating of a player, or the mean, as in --anchor 2800 (default: a mean of 0)
    :param byes: if a player has fewer games than the others, count the missing games as won, as byes of a
        Swiss event
    :param tables: tables to print, separated by commas: {}; or all (default: all but meetings and games, for
        CSV all)
    :param form: output format; tcec-json writes the files that TCEC's page reads, crosstable.json and
        schedule.json, into the directory of --out (default: text; with --out the formats listed there)
    :param json: the same as --format json
    :param out: write files into a directory, created if missing: those of --format; without it, index.html,
        standings.json and a CSV file for each table, and those of tcec-json if --order is one of TCEC's or
        FIDE's
    :param title: title of the HTML page
    :param explorer: address of the page of tbgen serve, such as https://example.org/: the HTML page then
        lists all games, with links that open them there
    :param judge_again: adjudicate tagged games again
    """
    if not patterns:
        raise UsageError("there is no file to score; see: tbgen score --help")
    if json and out is not None:
        raise UsageError(
            "--json prints the document: to write it into the directory of --out, use --format json"
        )
    if json and form not in (None, "json"):
        raise UsageError(f"--json means --format json: leave out --json or --format {form}")
    forms = _formats("json" if json else form, out, order)
    event = TcecEvent() if "tcec-json" in forms else None
    if explorer is not None and "html" not in forms:
        raise UsageError("--explorer sets the links of an HTML page: add --format html")
    if (pairs or sprt_player) and sprt is None:
        raise UsageError(f"--{'pairs' if pairs else 'sprt-player'} needs a test: add --sprt elo0=0 elo1=5")
    if sprt is not None:
        model = sprt_model or sprt.model
        check_test([], *sprt.args, model=model, pairs=pairs)  # fails before the games are read
    files = matching_files(patterns)
    if out is not None:
        make_directory(out)  # fails now rather than after the work
    with adjudication.open_run(files, "left out", trust_tags=not judge_again) as game_run:
        game_run.solve()
        judged_records = list(_records(game_run, explorer or "", event))
    records = [record for record, _ in judged_records]
    played_games = [game for _, game in judged_records if game is not None]
    games = [record for record in records if record.classical in RESULTS]
    lost_by_both = sum(
        Doubt.BOTH_FORFEIT in record.outcome.doubts for record in records if record.classical not in RESULTS
    )
    left_out = LeftOutCounts(len(records) - len(games) - lost_by_both, game_run.tally.broken, lost_by_both)
    if not games:
        raise UsageError(f"there are no games to score{_omitted_text(left_out, ': ')}")
    rules = order if tiebreaks is None else order.with_tiebreaks(tiebreaks)
    scheme = adjudication.referee.scoring_options.scheme or _common_scheme(games)
    result = standings(games, scheme, rules, byes=byes)
    result = replace(result, left_out=left_out, tested_player=composed(sprt_player), anchor=anchor)
    result = with_result(result, _event_result(result, files, played_games))
    if sprt is not None:
        result = replace(result, sprt=result.test(*sprt.args, model=model, pairs=pairs))
    _say_remarks(result)
    game_run.say_remarks()
    counts = game_run.document()
    contents: dict[str, bytes] = {}
    for kind in forms:
        keys = tables or (
            set(KEYS) if kind == "csv" else overview_keys(result) | ({"games"} if explorer else set())
        )
        selection = list(all_tables(result, keys))
        if event is not None and kind == "tcec-json":
            contents |= event.documents(result)
        elif out is not None and kind == "csv":
            contents |= {f"{table.key}.csv": comma_separated(table).encode() for table in selection}
        else:
            contents[_FILE_NAMES[kind]] = f"{_render(kind, result, selection, title, counts)}\n".encode()
    if out is not None:
        _write(out, contents)
        return
    for content in contents.values():
        print(content.decode(), end="", flush=True)


def _formats(form: str | None, out: Path | None, order: Order) -> tuple[str, ...]:
    """Return the formats to write: ``form`` if it is set, else all formats for a directory, else text."""
    chess = order.order_by is OrderBy.CHESS
    if form == "tcec-json" and (out is None or not chess):
        raise UsageError(
            "--format tcec-json writes two files, ordered by points in chess: add --out DIR --order tcec, or "
            "another order of TCEC"
        )
    if form is not None:
        return (form,)
    return ("text",) if out is None else ("html", "json", "csv", *(["tcec-json"] if chess else []))


def _records(
    game_run: GameRun, explorer: str, event: TcecEvent | None
) -> Iterator[tuple[GameRecord, GameRecord | None]]:
    """Yield the games of files, even those without a result. Add each game to ``event``, if any.

    Each game of an event that may be a knockout comes with a second record, which has the result of the tags,
    because that result has decided who plays the next games.
    """
    options = GameOptions(game_run.adjudicator.options.variant)
    names = Counter(Path(path).name for path in game_run.files)
    for path in game_run.files:
        name = Path(path).name
        for game in game_run.games(path):
            record = GameRecord.of(name if names[name] == 1 else path, game, explorer)
            if event is not None:
                event.add(game, record)
            if record is not None:
                may_be_knockout = record.event is not None and record.event.form in (None, Format.KNOCKOUT)
                yield record, finished_game(game.raw, name, options) if may_be_knockout else None


def _event_result(result: Standings, files: Sequence[str], games: Sequence[GameRecord]) -> EventResult:
    """Return the result of an event; that of a knockout follows from the results that decided who plays on.

    :param games: the games of events that may be knockouts, with these results.
    """
    if len(games) < len(result.games):
        return event_result(result)
    is_older = len(files) == 1 and games[0].event == EventFormat()
    event = format_in_live_file(Path(files[0])) if is_older else None
    return event_result(standings(games, games[0].outcome.settings.scoring.scheme), event)


def _say_remarks(standings: Standings) -> None:
    """Print on stderr how many players have no name, and how many games are left out."""
    nameless = sum(game.nameless_count for game in standings.games)
    if nameless:
        say(f"tbgen: {counted(nameless, 'player')} without a name: each counts as a different player")
    if standings.left_out.total:
        say(f"tbgen: {counted(len(standings.games), 'game')} scored{_omitted_text(standings.left_out, '; ')}")


def _omitted_text(left_out: LeftOutCounts, prefix: str) -> str:
    """Return, in words, how many games are left out and why; an empty string if no game is left out."""
    lost_by_both = ("lost by both sides (0-0)", left_out.lost_by_both)
    counts = (("without a result", left_out.unfinished), lost_by_both, ("broken", left_out.broken))
    reasons = [f"{count:,} {reason}" for reason, count in counts if count]
    return f"{prefix}left out: {', '.join(reasons)}" if reasons else ""


def _common_scheme(games: Sequence[GameRecord]) -> Scheme:
    """Return the scheme that the tags of all games name, or the exponential scheme if they name several."""
    schemes = {game.outcome.settings.scoring.scheme for game in games}
    if len(schemes) == 1:
        return schemes.pop()
    say("tbgen: the tags of the games name several scorings; all games are scored exponentially")
    return Scheme.EXPONENTIAL


def standings_text(tables: Iterable[StandingsTable]) -> str:
    """Return tables as text that fits the width of the terminal."""
    return "\n".join(text_lines(tables, shutil.get_terminal_size((_DEFAULT_COLUMNS, 24)).columns)).rstrip()


class ScoreDocument(StandingsDocument, kw_only=True):
    """Standings, and counts of what is noteworthy about the games of their files."""

    doubts: dict[Doubt, DoubtDocument]
    """For each doubt, the number of ``games`` and the ``first`` ones."""
    missing_tables: dict[str, int]
    missing_syzygy: dict[str, int]
    unknown_scorings: dict[str, int]
    unsolvable: dict[str, int]
    """Number of games by missing table, by missing Syzygy file, by unknown scoring in the tags, and by reason
    why their positions cannot be solved."""
    solving: SolveCounts | UnsetType = UNSET
    """With ``--solve``, numbers of games whose positions were ``asked`` for, ``solved`` (worked on),
    ``known`` before, ``refused`` and ``out_of_time``, and the ``seconds`` spent."""


def _render(
    form: str, standings: Standings, tables: Sequence[StandingsTable], title: str, counts: TallyDocument
) -> str:
    match form:
        case "html":
            from tbgen.games.standings.render import page

            return page(standings, tables, title, _plots(standings))
        case "json":
            return json_text(ScoreDocument.of(StandingsDocument.of_standings(standings), counts))
        case "csv":
            return "\n".join(f"{table.title}\n{comma_separated(table)}" for table in tables)
        case "markdown":
            return "\n".join(markdown(tables))
    return standings_text(tables)


def _plots(standings: Standings) -> "Mapping[str, Sequence[Markup]]":
    """Return the plots of the page. If the package that draws them is missing, say so and return nothing."""
    try:
        from tbgen.games.standings.result_charts import plots
    except MissingExtraError as error:
        say(f"tbgen: the page is without plots: {error}")
        return {}
    return plots(standings)


def _write(directory: Path, files: Mapping[str, bytes]) -> None:
    """Write files, and print their names."""
    for name, content in files.items():
        write_file(directory / name, content)
        print(directory / name)
