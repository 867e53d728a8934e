"""``tbgen match``: engines play each other."""

from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import click
from click.core import ParameterSource
from msgspec import Struct

from tbgen.cli.games import RefereeOptions
from tbgen.cli.options import (
    AsJson,
    Directory,
    OptionGroup,
    ParsedType,
    PositiveCount,
    Setting,
    SyzygyFiles,
    TableDirectory,
    WholeNumber,
    WordList,
    command,
)
from tbgen.cli.solver_options import SolvingOptions, SourceOptions
from tbgen.cli.streams import print_document, say
from tbgen.errors import UsageError, quote
from tbgen.games.game_options import FiftyMoveRule
from tbgen.games.standings.elo import TestSettings, is_test_word, sprt_settings
from tbgen.games.standings.orders import DEFAULT_RANKING, ORDERS, Order, Ranking, order_of
from tbgen.games.standings.record import Format
from tbgen.games.standings.tiebreaks import BALANCES, TIEBREAKS, parse_names
from tbgen.keywords import struct_of
from tbgen.match.adjudication import DrawRule, Judge, ResignRule, StopRules
from tbgen.match.event_settings import EventSettings, entrants_of, processors_of, read_toml_options
from tbgen.match.foreign import translate
from tbgen.match.openings import OpeningSettings, StartKind
from tbgen.probe.syzygy import MAX_MEN
from tbgen.system.memory import usable_processors
from tbgen.text import counted, number

if TYPE_CHECKING:
    from tbgen.games.standings import Standings
    from tbgen.games.standings.elo import Elo
    from tbgen.games.standings.encounters import MatchScore
    from tbgen.match.messages import Message, Summary

LIVE_ADDRESS: Final = "127.0.0.1:8043"
"""Default address of the page that --live serves."""


def _struct(option: str, struct: type[Struct]) -> WordList:
    """Return the parameter type that reads the words of an option into a struct."""
    return WordList(lambda words: struct_of(option, words, struct))


def _parse_processors(text: str) -> tuple[int, ...]:
    return processors_of(text, usable_processors())


def _read_settings(ctx: click.Context, _param: click.Parameter, path: Path | None) -> Path | None:
    """Read option values from a file; values on the command line take precedence."""
    options = [option for option in ctx.command.params if isinstance(option, click.Option)]
    options_by_name = {
        name.lstrip("-"): option for option in options for name in (*option.opts, *option.secondary_opts)
    }
    defaults: dict[str, Any] = {}
    for name, value in {} if path is None else read_toml_options(path).items():
        if name not in options_by_name:
            raise UsageError(f"{path}: {quote(name)} is not an option of tbgen match")
        option = options_by_name[name]
        if isinstance(value, bool) and isinstance(option.flag_value, str):
            value = option.flag_value if value else None  # the value of an option without an argument
        elif isinstance(value, bool):
            value = value is not (f"--{name}" in option.secondary_opts) if option.is_flag else str(value)
        if option.multiple and not all(isinstance(item, list) for item in value):
            value = [value if isinstance(value, list) else [value]]  # a single value of a repeatable option
        defaults[str(option.name)] = value
    ctx.default_map = defaults
    return path


def _join_values(ctx: click.Context, param: click.Parameter, values: Sequence[Any]) -> Sequence[Any]:
    """Return the option's values in the file of settings, followed by its values on the command line."""
    if ctx.get_parameter_source(str(param.name)) is ParameterSource.COMMANDLINE:
        return (*(ctx.lookup_default(str(param.name)) or ()), *values)
    return values


def _remark(sentence: str) -> None:
    say(f"tbgen: {sentence}")


def _parse_share(text: str) -> float:
    with suppress(ValueError):
        if 0 <= float(text) <= 1:
            return float(text)
    raise UsageError(f"{quote(text)} is not a share: expected a number from 0 to 1")


def _setting(*names: str, **attributes: Any) -> Setting:
    """Return a setting with an option's names: each with two minus signs and, as in Cute Chess, with one."""
    return Setting(*(f"--{name}" for name in names), *(f"-{name}" for name in names), **attributes)


@dataclass(frozen=True)
class EventOptions(OptionGroup):
    """How an event is played. If an option is None, :class:`EventSettings` has a default.

    :param engine: an engine: cmd=PROGRAM, and optionally name=, dir=, arg=, option.NAME=VALUE, restart=on;
        words of --each may be repeated here with other values for this engine
    :param each: settings of all engines: tc=MOVES/TIME+INCREMENT, such as tc=40/60+0.6 or tc=1:30+1;
        st=SECONDS per move, depth=, nodes=; timemargin=MILLISECONDS; start=SECONDS to get ready,
        stall=SECONDS for a move without a clock
    :param format: round-robin (a match, with two engines), gauntlet of the first engine, knockout by the
        order of engines, or swiss (default: round-robin)
    :param rounds: number of rounds; in a knockout, number of encounters of a duel (default: 1)
    :param games: games per encounter: 2, with the same opening and reversed colours, or 1 (default: 2)
    :param seeds: in a gauntlet, number of engines, from the first on, that meet all others (default: 1)
    :param concurrency: number of games at once (default: 1)
    :param processors: processors, such as 0-3,6 or all, to divide among simultaneous games before engines
        start
    :param pgn: PGN file of the event, to which games are added; it may already contain games
    :param event: value of the tag Event
    :param site: value of the tag Site
    :param wait: milliseconds between two games
    :param recover: whether the event continues after an engine has crashed or stalled (default: yes)
    :param log: log the input and output of engines, one file per engine
    :param openings: file=FILE of FENs and EPDs, of PGN games, or a book of Polyglot; format=epd, pgn or
        polyglot, order=random, plies=N of each game or line, start=N, policy=round for one opening per round
    :param start: start positions if --openings names no file: standard, chess960 or dfrc
    :param seed: seed of all random choices
    :param swap: whether the second game of an encounter has reversed colours (default: yes)
    :param reverse: exchange White and Black in all games of the schedule
    :param repeat: no effect: colours are always reversed with --games 2
    :param resign: movecount=N score=CENTIPAWNS: an engine resigns after N evaluations of at least this
        disadvantage; twosided=true if the evaluations of the opponent must agree
    :param draw: movenumber=N movecount=N score=CENTIPAWNS: a game stops after evaluations near 0, and its
        result is the result of best play; maxpieces=N maxpawns=N: maximum numbers on the board;
        reset=false: captures and pawn moves do not restart the count
    :param moves: stop a game after N moves; 0 for never
    :param verify: share (0 to 1) of the games stopped by tables that are then continued with best play, to
        compare the results
    :param test: elo0=E elo1=E [alpha=P beta=P], or the numbers in this order, and model=logistic, normalised
        or bayesian: end a match when this sequential test (SPRT) is decided
    :param order: the order of the standings, as in tbgen score: {} (default: percent)
    :param tiebreaks: tiebreaks, as in tbgen score, in place of those of --order
    :param byes: count byes of a Swiss event as won games, as tbgen score does
    :param interval: with more than two engines, print standings after every N games (default: 10; 0 for
        never)
    :param ends: print after every N games how each engine's games have ended (default: 0, never)
    """

    engine: Annotated[
        Sequence[list[str]],
        WordList(),
        _setting("engine", heading="Players", multiple=True, callback=_join_values),
    ]
    each: Annotated[Sequence[list[str]], WordList(), _setting("each", multiple=True, callback=_join_values)]
    format: Annotated[Format | None, _setting("format", "tournament", heading="Event")]
    rounds: Annotated[PositiveCount | None, _setting("rounds")]
    games: Annotated[PositiveCount | None, _setting("games")]
    seeds: Annotated[PositiveCount | None, _setting("seeds")]
    concurrency: Annotated[PositiveCount | None, WholeNumber(1, 512), _setting("concurrency")]
    processors: Annotated[tuple[int, ...] | None, ParsedType("LIST", _parse_processors), _setting("affinity")]
    pgn: Annotated[Path | None, _setting("pgn", "pgnout"), Setting(metavar="FILE")]
    event: Annotated[str | None, _setting("event"), Setting(metavar="NAME")]
    site: Annotated[str | None, _setting("site"), Setting(metavar="NAME")]
    wait: Annotated[int | None, WholeNumber(0), _setting("wait"), Setting(metavar="MS")]
    recover: Annotated[bool | None, Setting("--recover/--no-recover", "-recover/-no-recover", default=None)]
    log: Directory | None
    openings: Annotated[
        OpeningSettings | None, _struct("openings", OpeningSettings), _setting("openings", heading="Openings")
    ]
    start: Annotated[StartKind | None, _setting("variant")]
    seed: Annotated[int | None, WholeNumber(0), _setting("seed", "srand"), Setting(metavar="N")]
    swap: Annotated[bool | None, Setting("--swap/--noswap", "-swap/-noswap", default=None)]
    reverse: Annotated[bool, _setting("reverse")]
    repeat: Annotated[bool, _setting("repeat")]
    resign: Annotated[ResignRule | None, _struct("resign", ResignRule), _setting("resign", heading="Ends")]
    draw: Annotated[DrawRule | None, _struct("draw", DrawRule), _setting("draw")]
    moves: Annotated[int | None, WholeNumber(0), _setting("maxmoves", metavar="N")]
    verify: Annotated[float | None, ParsedType("SHARE", _parse_share), Setting("--verify-adjudications")]
    test: Annotated[TestSettings | None, WordList(sprt_settings, is_test_word), _setting("sprt")]
    order: Annotated[
        Order | None, ParsedType("NAME", order_of, lambda: ORDERS), _setting("order", heading="Output")
    ]
    tiebreaks: Annotated[
        tuple[str, ...] | None,
        ParsedType("NAMES", parse_names, lambda: (*TIEBREAKS, BALANCES)),
        _setting("tiebreaks"),
    ]
    byes: Annotated[bool, _setting("byes")]
    interval: Annotated[int | None, WholeNumber(0), _setting("ratinginterval", metavar="N")]
    ends: Annotated[int | None, WholeNumber(0), _setting("outcomeinterval", metavar="N")]

    @property
    def settings(self) -> EventSettings:
        """The settings of the event.

        :raises UsageError: if a required setting or an engine is missing.
        """
        if self.pgn is None or not self.pgn.name:
            raise UsageError("an event is kept in a PGN file: name it with --pgn FILE")
        converted = {"engine", "each", "pgn", "start", "repeat", "resign", "draw", "moves"}
        converted |= {"order", "tiebreaks", "byes"}
        order = self.order or DEFAULT_RANKING.order
        if self.tiebreaks is not None:
            order = order.with_tiebreaks(self.tiebreaks)
        options = {"variant": self.start, **vars(self)}
        return EventSettings(
            entrants_of(self.engine, [*chain(*self.each)], _remark),
            self.pgn,
            stop=StopRules(self.resign, self.draw, self.moves or None),
            ranking=Ranking(order, self.byes),
            **{name: value for name, value in options.items() if name not in converted and value is not None},
        )


@dataclass(frozen=True)
class _MatchSources(SourceOptions):
    """Exit sources, with the option names of Cute Chess."""

    syzygy: Annotated[SyzygyFiles, _setting("syzygy", "tb", heading="Ends")] = None


@command
def run(
    file: Annotated[
        Path | None, Setting(required=False, is_eager=True, callback=_read_settings, metavar="[EVENT.toml]")
    ],
    *,
    event: EventOptions,
    solving: SolvingOptions,
    referee: RefereeOptions,
    directory: TableDirectory,
    play_on: Annotated[bool, Setting(heading="Ends")],
    sources: _MatchSources,
    tbpieces: Annotated[int, WholeNumber(3, MAX_MEN), _setting("tbpieces"), Setting(metavar="N")] = MAX_MEN,
    live: Annotated[
        str | None, Setting(heading="Output", is_flag=False, flag_value=LIVE_ADDRESS, metavar="[HOST:PORT]")
    ],
    quiet: bool,
    json: AsJson,
) -> None:
    """Let UCI engines play each other at r-mobility.

    An arbiter decides every game that ends on the board. A game is stopped when tables hold its position. Its
    result is then the exact value of the position with its accrued score. With --syzygy, a game is also
    stopped when Syzygy files show that a side can force mate; with --scoring classical, also when they show
    that nobody can.

    The PGN file of --pgn is the complete state of an event: games are appended one by one. The same command
    resumes the event after Ctrl-C or a crash, even with more --rounds.

    Options shared with cutechess-cli have the same names as there, with one minus sign or two. Command lines
    of cutechess-cli and fastchess are understood (docs/match.md). EVENT.toml may also set options. It has a
    key for each option, a table for an option with KEY=VALUE, and [[engine]] for each engine.

    \b
    For example:
      tbgen match --engine cmd=a --engine cmd=./b --each tc=10+0.1 --pgn ab.pgn
      tbgen match event.toml
      tbgen match event.toml --rounds 99 --sprt elo0=0 elo1=5

    :param file: file of settings, which options on the command line override
    :param play_on: do not stop games when tables hold their positions, or when Syzygy files prove their
        points
    :param tbpieces: maximum number of men with which Syzygy files stop a game (default: 7)
    :param live: show the event on a page while it is played (default: 127.0.0.1:8043, for this machine
        only)
    :param quiet: print nothing before the end
    :param json: print the results as one JSON document
    """
    from tbgen.match.event import run_event
    from tbgen.match.messages import Listener, LiveWriter
    from tbgen.probe.tablebase import Tablebase

    settings = event.settings
    game_options = referee.game_options(FiftyMoveRule.IMPROVING)  # new games have no tags to set a rule
    event_report = EventReport(quiet=quiet or json)
    listeners: list[Listener] = [event_report]
    with ExitStack() as stack:
        watch = stack.enter_context(solving.watch(game_options.variant, sources))
        tables = stack.enter_context(Tablebase(directory, rules=game_options.variant))
        judge = Judge(tables, watch.solver, syzygy=sources.syzygy, max_syzygy_men=tbpieces, play_on=play_on)
        if live is not None:
            from tbgen.web.server import LiveServer

            server = LiveServer(live, settings.pgn, directory, event_report.note)
            listeners.append(stack.enter_context(server))
            event_report.note(f"the event is shown at {server.address}")
        listeners.insert(0, stack.enter_context(LiveWriter(settings.pgn, event_report.note)))
        try:
            summary = run_event(settings, game_options, judge, listeners)
        except KeyboardInterrupt:
            if (pgn := settings.pgn).exists() and pgn.stat().st_size:
                say(f"tbgen: games that have ended are in {pgn}: the same command continues from there")
            raise
    if json:
        from tbgen.cli.event_document import EventDocument

        counts = watch.counts if watch.solver else None
        print_document(EventDocument.of_summary(summary, settings.pgn, counts))
    else:
        _print_summary(summary, settings)


run.reword = partial(translate, warn=_remark)


class EventReport:
    """Prints the course of an event line by line, as cuteRMob does."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet

    def __call__(self, message: "Message") -> None:
        """Print a message. Moves are not printed; they are in the PGN file."""
        from tbgen.games.live_file import EventStart, GameEnd, GameStart
        from tbgen.match.messages import Endings, Note, ScoreUpdate

        match message:
            case EventStart(finished=finished, total=total, games=games):
                self._elo_label = "Elo by pairs" if games == 2 else "Elo"
                self._of_total = "" if total is None else f" of {total}"
                if finished:
                    self.note(f"{counted(finished, 'game')} found, the event continues")
            case GameStart(number=number, white=white, black=black):
                self._print(f"Started game {number}{self._of_total} ({white} vs {black})")
            case GameEnd(number=number, white=white, black=black, classical=classical, value=value):
                reason = message.reason.removeprefix("End by ")
                self._print(f"Finished game {number} ({white} vs {black}): {classical} {{{reason}, {value}}}")
            case Endings(counts_by_player=by_player):
                for name, counts in by_player.items():
                    sorted_counts = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
                    parts = ", ".join(f"{count} {ending}" for ending, count in sorted_counts)
                    self._print(f"Games of {name}: {parts or 'none'}")
            case ScoreUpdate(score=score, standings=standings):
                self._print_standing(score, standings)
            case Note(text=text):
                self.note(text)

    def _print_standing(self, score: "MatchScore | None", standings: "Standings | None") -> None:
        if score is not None and score.elo is not None:
            self._print(_score_line(score, f"{self._elo_label} {_elo_text(score.elo)}"))
        for player in () if standings is None else standings.players:
            results = player.results
            points = f"{float(player.results.points):.4f}"
            share = f"[{float(results.share):.3f}]"
            self._print(f"{player.place:>4} {player.name:24} {points:>10} of {results.games} {share}")

    def note(self, text: str) -> None:
        """Print a sentence on stderr, even if ``quiet`` is set."""
        say(f"tbgen: {text}")

    def _print(self, line: str) -> None:
        if not self._quiet:
            print(line, flush=True)


def _elo_text(elo: "Elo") -> str:
    return f"{elo}, LOS {elo.superiority:.1%}"


def _score_line(score: "MatchScore", elo_text: str) -> str:
    points = float(score.points)
    games = score.games
    line = f"Score of {score.player} vs {score.opponent}: {points:.4f} - {games - points:.4f}"
    line += f" [{points / games:.3f}] {games}, {elo_text}"
    if score.test is not None:
        test = score.test
        line += f", LLR {test.llr:.2f} ({test.lower:.2f}, {test.upper:.2f})"
    return line


def _print_summary(summary: "Summary", settings: "EventSettings") -> None:
    """Print the final tables."""
    from tbgen.cli.score import standings_text
    from tbgen.games.standings.tables import overview_keys, tables

    result = summary.standings
    if result is None:
        say("tbgen: no encounter has been finished")
        return
    print(standings_text(tables(result, overview_keys(result))))
    for line in _summary_remarks(summary, settings):
        say(f"tbgen: {line}")


def _summary_remarks(summary: "Summary", settings: "EventSettings") -> Sequence[str]:
    lines = [f"{counted(summary.games, 'game')} in {settings.pgn}"]
    if summary.uncounted:
        lines[0] += f", {number(summary.uncounted)} of incomplete encounters, which do not count"
    if summary.standings is not None and summary.standings.result is not None:
        lines.append(summary.standings.result.sentence.rstrip("."))
    for name, faults in sorted(summary.faults.items()):
        parts = ", ".join(f"{counted(count, 'game')} ({fault})" for fault, count in sorted(faults.items()))
        lines.append(f"{name} has lost {parts} in this run")
    if settings.verify:
        lines.append(f"{counted(summary.verified_count, 'adjudication')} verified by best play")
    if summary.standings is not None and summary.standings.sprt is not None:
        verdict = summary.standings.sprt.verdict
        lines.append("the test is undecided" if verdict == "continue" else f"the test accepts {verdict}")
    return lines
