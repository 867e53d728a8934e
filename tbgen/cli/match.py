"""``tbgen match``: engines play each other."""

import argparse
import json
import shutil
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tbgen.cli.options import (
    add_directory,
    add_game_options,
    add_json,
    directory_of,
    game_options_of,
    usable_processors,
    whole_number,
)
from tbgen.cli.progress import ProgressLine
from tbgen.cli.solving import Watch, add_solving, solving
from tbgen.cli.streams import say
from tbgen.errors import UsageError, quote
from tbgen.text import counted, number

if TYPE_CHECKING:
    from tbgen.games.settings import GameOptions
    from tbgen.games.standings import Standings
    from tbgen.games.standings.encounters import MatchScore
    from tbgen.match.messages import Message, Summary
    from tbgen.match.settings import EventSettings

_DESCRIPTION = """\
Let UCI engines play each other by r-mobility. An arbiter decides every end on the board; where tables hold a
position the game is stopped, and its result is the exact value of the position with its accrued score.

The PGN file of --pgn is all that an event keeps: games are added to it one by one. The same command goes on
with what is there, after Ctrl-C, a crash or more --rounds.

Options are those of cutechess-cli where it has them, with one minus or two. EVENT.toml may hold them too: a
key for each option, a table for one with key=value, [[engine]] for each engine.
"""
_EPILOG = """\
examples:
  tbgen match --engine cmd=stockfish name=A --engine cmd=./other --each tc=10+0.1 --rounds 50 --pgn a.pgn
  tbgen match --engine cmd=new --engine cmd=old --each nodes=9999 --rounds 99 --sprt elo0=0 elo1=5 --pgn t.pgn
  tbgen match event.toml
"""
_WIDTH = 132
LIVE = "127.0.0.1:8043"
"""Where --live shows an event, unless it says where."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description, parser.epilog = _DESCRIPTION, _EPILOG
    parser.add_argument(
        "settings", nargs="?", type=Path, metavar="EVENT.toml", help="settings; options here come on top"
    )
    players = parser.add_argument_group("players")
    _add(
        players, "engine", metavar="KEY=VALUE", nargs="+", action="append",
        help="an engine: cmd=PROGRAM, and name=, dir=, arg=, option.NAME=VALUE, restart=on, and what --each",
    )  # fmt: skip
    _add(
        players, "each", metavar="KEY=VALUE", nargs="+",
        help="for all engines: tc=MOVES/TIME+INCREMENT, such as tc=40/60+0.6 or tc=1:30+1; st=SECONDS a "
        "move, depth=, nodes=; timemargin=MILLISECONDS; start=SECONDS to get ready, stall=SECONDS for a move "
        "without a clock",
    )  # fmt: skip
    event = parser.add_argument_group("event")
    _add(
        event, "tournament", "format", metavar="FORMAT", dest="format",
        help="round-robin (a match, with two engines), gauntlet of the first engine, knockout by the order "
        "of engines, or swiss (default: round-robin)",
    )  # fmt: skip
    _add(
        event,
        "rounds",
        type=whole_number(1),
        metavar="N",
        help="rounds; of a knockout encounters of a duel (default: 1)",
    )
    _add(
        event, "games", type=whole_number(1, 2), metavar="N",
        help="games of an encounter: 2, with one opening and colours reversed, or 1 (default: 2)",
    )  # fmt: skip
    _add(event, "seeds", type=whole_number(1), metavar="N", help="engines of a gauntlet that meet the others")
    _add(event, "concurrency", type=whole_number(1, 512), metavar="N", help="games at once (default: 1)")
    _add(
        event, "affinity", metavar="LIST",
        help="share out processors, such as 0-3,6 or all, among the games at once, before engines start",
    )  # fmt: skip
    _add(event, "pgnout", "pgn", metavar="FILE", dest="pgn", type=Path, help="where games go, and come from")
    _add(event, "event", metavar="NAME", help="tag Event")
    _add(event, "site", metavar="NAME", help="tag Site")
    _add(
        event, "recover", action=argparse.BooleanOptionalAction,
        help="whether the event goes on after an engine has crashed or stalled (default: yes)",
    )  # fmt: skip
    event.add_argument("--log", type=Path, metavar="DIR", help="log what engines say, a file for each")
    start = parser.add_argument_group("openings")
    _add(
        start, "openings", metavar="KEY=VALUE", nargs="+",
        help="file=FILE, of FENs and EPDs or of PGN games; format=epd or pgn, order=random, plies=N of PGN, "
        "start=N, policy=round for one opening a round",
    )  # fmt: skip
    _add(
        start,
        "variant",
        metavar="NAME",
        dest="variant_of_chess",
        help="standard, chess960 or dfrc: where games without a file start",
    )
    _add(start, "srand", "seed", type=whole_number(0), metavar="N", dest="seed", help="seed of all lots")
    _add(start, "repeat", action="store_true", help="as in any case: colours are reversed with --games 2")
    stop = parser.add_argument_group("ends")
    _add(
        stop, "resign", metavar="KEY=VALUE", nargs="+",
        help="movecount=N score=CENTIPAWNS: an engine resigns; twosided=true if the other must agree",
    )  # fmt: skip
    _add(
        stop, "draw", metavar="KEY=VALUE", nargs="+",
        help="movenumber=N movecount=N score=CENTIPAWNS: a game stops, worth what best play makes of it",
    )  # fmt: skip
    _add(
        stop, "maxmoves", type=whole_number(1), metavar="N", help="moves of a game after which it is stopped"
    )
    stop.add_argument("--play-on", action="store_true", help="do not stop games because tables hold them")
    stop.add_argument(
        "--verify-adjudications", type=_share, metavar="SHARE",
        help="play so many of the games that tables have stopped on with best play, from 0 to 1, and compare",
    )  # fmt: skip
    _add(
        stop, "sprt", metavar="KEY=VALUE", nargs="+",
        help="elo0=E elo1=E alpha=P beta=P model=logistic, normalised or bayesian: end a decided match",
    )  # fmt: skip
    told = parser.add_argument_group("output")
    _add(
        told, "ratinginterval", type=whole_number(1), metavar="N",
        help="games between two standings of more than two engines (default: 10)",
    )  # fmt: skip
    told.add_argument(
        "--live", nargs="?", const=LIVE, metavar="HOST:PORT",
        help=f"show the event on a page while it is played (extra tbgen[web]; default: {LIVE}, for this "
        "machine only)",
    )  # fmt: skip
    told.add_argument("--quiet", action="store_true", help="print nothing before the end")
    add_json(parser, "what it has come to as one JSON document")
    add_solving(parser)
    add_game_options(parser)
    add_directory(parser)


def _add(group: Any, *names: str, **options: Any) -> None:
    """Add an option with two minuses, and with one as Cute Chess has it."""
    words = [word for name in reversed(names) for word in (f"--{name}", f"-{name}")]
    group.add_argument(*words, **options)


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise argparse.ArgumentTypeError(f"{quote(text)} is no share: give one from 0 to 1")
    return share


def run(arguments: argparse.Namespace) -> int:
    """Play an event."""
    from tbgen.match.adjudication import Judge
    from tbgen.match.event import run_event
    from tbgen.match.live import LiveWriter
    from tbgen.match.messages import Listener
    from tbgen.probe.tablebase import Tablebase

    arguments = _with_file(arguments)
    directory_of(arguments)
    settings, options = _settings(arguments), _game_options(arguments)
    watch = Watch(ProgressLine())
    report = EventReport(quiet=arguments.quiet or arguments.json)
    listeners: list[Listener] = [report]
    with ExitStack() as stack:
        solver = stack.enter_context(solving(arguments, watch))
        tables = stack.enter_context(Tablebase(arguments.dir, rules=options.variant))
        judge = Judge(tables, solver, play_on=arguments.play_on)
        if arguments.live is not None:
            from tbgen.web.live_server import LiveServer

            server = LiveServer(arguments.live, settings.pgn, arguments.dir, report.note)
            listeners.append(stack.enter_context(server))
            report.note(f"the event is shown at {server.address}")
        listeners.insert(0, stack.enter_context(LiveWriter(settings.pgn, report.note)))
        try:
            summary = run_event(settings, options, judge, listeners)
        except KeyboardInterrupt:
            say(f"tbgen: finished games are in {settings.pgn}: the same command goes on from there")
            raise
    if arguments.json:
        print(json.dumps(_document(summary, settings) | watch.document(), indent=2))
    else:
        _print(summary, settings)
    return 0


def _with_file(arguments: argparse.Namespace) -> argparse.Namespace:
    """Return the arguments, on top of those of a file if there is one."""
    if arguments.settings is None:
        return arguments
    from tbgen.cli.main import Parser
    from tbgen.match.words import words_of_toml

    parser = Parser(prog="tbgen match")
    configure(parser)
    known, unknown = parser.parse_known_args(words_of_toml(arguments.settings))
    if unknown:
        raise UsageError(f"{arguments.settings}: {quote(' '.join(unknown))} means nothing here")
    plain = parser.parse_args([])
    for name, value in vars(arguments).items():
        if value != getattr(plain, name, None):
            own = getattr(known, name, None)
            setattr(known, name, [*own, *value] if name == "engine" and own else value)
    return known


def _settings(arguments: argparse.Namespace) -> "EventSettings":
    from tbgen.games.standings.encounters import TestSettings
    from tbgen.match import words
    from tbgen.match.adjudication import DrawRule, ResignRule, StopRules
    from tbgen.match.openings import ChessVariant, OpeningSettings
    from tbgen.match.schedule import Format
    from tbgen.match.settings import EventSettings

    if arguments.pgn is None:
        raise UsageError("an event is kept in a PGN file: name it with --pgn FILE")
    given: dict[str, Any] = {
        "rounds": arguments.rounds,
        "games": arguments.games,
        "seeds": arguments.seeds,
        "concurrency": arguments.concurrency,
        "seed": arguments.seed,
        "interval": arguments.ratinginterval,
        "event": arguments.event,
        "site": arguments.site,
        "log": arguments.log,
        "recover": arguments.recover,
        "verify": arguments.verify_adjudications,
    }
    if arguments.format is not None:
        given["format"] = Format(arguments.format)
    if arguments.variant_of_chess is not None:
        given["variant"] = ChessVariant(arguments.variant_of_chess)
    if arguments.affinity is not None:
        given["processors"] = words.processors_of(arguments.affinity, usable_processors())
    return EventSettings(
        words.engines_of(arguments.engine or [], arguments.each),
        arguments.pgn,
        openings=words.struct_of("openings", arguments.openings, OpeningSettings),
        stop=StopRules(
            words.struct_of("resign", arguments.resign, ResignRule),
            words.struct_of("draw", arguments.draw, DrawRule),
            arguments.maxmoves,
        ),
        test=words.struct_of("sprt", arguments.sprt, TestSettings),
        **{name: value for name, value in given.items() if value is not None},
    )


def _game_options(arguments: argparse.Namespace) -> "GameOptions":
    """Return what games are refereed by: new games have no tags that could say."""
    from dataclasses import replace

    from tbgen.games.settings import FiftyMoveRule

    options = game_options_of(arguments)
    if options.fifty_move_rule is None:
        options = replace(options, fifty_move_rule=FiftyMoveRule.IMPROVING)
    return options


class EventReport:
    """Prints how an event goes, line by line as cuteRMob does."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet

    def __call__(self, message: "Message") -> None:
        """Print a message; moves stand in the PGN."""
        from tbgen.games.live_file import EventStart, GameEnd, GameStart
        from tbgen.match.messages import Note, Standing

        match message:
            case EventStart(finished=finished, total=total):
                self._of = "" if total is None else f" of {total}"
                if finished:
                    self.note(f"{counted(finished, 'game')} found, the event goes on")
            case GameStart(number=number, white=white, black=black):
                self._print(f"Started game {number}{self._of} ({white} vs {black})")
            case GameEnd(number=number, white=white, black=black, value=value, reason=reason):
                reason = reason.removeprefix("End by ")
                self._print(f"Finished game {number} ({white} vs {black}): {value} {{{reason}}}")
            case Standing(score=score, standings=standings):
                self._print_standing(score, standings)
            case Note(text=text):
                self.note(text)

    def _print_standing(self, score: "MatchScore | None", standings: "Standings | None") -> None:
        if score is not None and score.elo is not None:
            self._print(_score_line(score))
        for player in () if standings is None else standings.players:
            share, points = f"{float(player.results.share):.3f}", f"{float(player.results.points):.4f}"
            self._print(
                f"{player.place:>4} {player.name:24} {points:>10} of {player.results.games} [{share}]"
            )

    def note(self, text: str) -> None:
        """Tell what has to be known."""
        say(f"tbgen: {text}")

    def _print(self, line: str) -> None:
        if not self._quiet:
            print(line, flush=True)


def _score_line(score: "MatchScore") -> str:
    from tbgen.games.standings.table import margin_text

    points, games = float(score.points), score.games
    line = f"Score of {score.player} vs {score.opponent}: {points:.4f} - {games - points:.4f}"
    if games:
        line += f" [{points / games:.3f}] {games}"
    if score.elo is not None:
        elo = score.elo
        line += f", Elo {elo.difference:+.1f} +- {margin_text(elo.margin)}, LOS {elo.superiority:.1%}"
    if score.test is not None:
        test = score.test
        line += f", LLR {test.llr:.2f} ({test.lower:.2f}, {test.upper:.2f})"
    return line


def _print(summary: "Summary", settings: "EventSettings") -> None:
    """Print the final tables."""
    from tbgen.games.standings.render import text
    from tbgen.games.standings.tables import overview, tables

    if summary.standings is None:
        say("tbgen: no encounter has been finished")
        return
    result = summary.standings
    shown = tables(result, overview(result))
    print("\n".join(text(shown, shutil.get_terminal_size((_WIDTH, 24)).columns)).rstrip())
    for line in _remarks(summary, settings):
        say(f"tbgen: {line}")


def _remarks(summary: "Summary", settings: "EventSettings") -> Sequence[str]:
    lines = [f"{counted(summary.games, 'game')} in {settings.pgn}"]
    if summary.left_out:
        lines[0] += f", {number(summary.left_out)} of encounters that are not whole, which do not count"
    if summary.winner is not None:
        lines.append(f"{summary.winner} has won the knockout")
    for name, faults in sorted(summary.faults.items()):
        told = ", ".join(f"{count} by {fault}" for fault, count in sorted(faults.items()))
        lines.append(f"{name} has lost {told}")
    if settings.verify:
        lines.append(f"{counted(summary.verified, 'adjudication')} played on, as the tables say")
    if summary.score is not None and summary.score.test is not None:
        verdict = summary.score.test.verdict
        lines.append("the test is undecided" if verdict == "continue" else f"the test accepts {verdict}")
    return lines


def _document(summary: "Summary", settings: "EventSettings") -> dict[str, Any]:
    from tbgen.games.standings.document import document

    told = None if summary.standings is None else document(summary.standings)
    return {
        "pgn": str(settings.pgn),
        "games": summary.games,
        "games_of_broken_encounters": summary.left_out,
        "winner": summary.winner,
        "faults": summary.faults,
        "verified_adjudications": summary.verified,
        "standings": told,
    }
