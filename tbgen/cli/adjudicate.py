"""``tbgen adjudicate``: what a stopped game is worth."""

import argparse
import json
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Final

import chess

from tbgen.cli.options import add_directory, add_json, add_play_rules, directory_of, play_rules_of, scoring_of
from tbgen.cli.play import diagram, line_document, line_text, mover, plies, points_document
from tbgen.cli.streams import say
from tbgen.errors import UsageError
from tbgen.pgn.reader import Game, read_games
from tbgen.pgn.splitter import Stream
from tbgen.probe.line import LinePly
from tbgen.probe.tablebase import Tablebase, open_tablebase
from tbgen.referee import Adjudication, Arbiter, Basis, FiftyMoveRule, adjudicate
from tbgen.referee.game import PlayRules, adjudicate_game
from tbgen.rules.fen import parse_fen
from tbgen.scoring import Scoring
from tbgen.store.format import RULES
from tbgen.tagging.files import reading

_DESCRIPTION = """\
Print the result of a game: what ended it on the board, else who won it off the board, else the exact value
of its final position with the score it has accrued, if the tables hold it. A game that stopped where no table
can say counts as played: with its accrued score, which is not proven.

The game is a PGN file (all its games are adjudicated), - for one on standard input, or the FEN of its final
position with the accrued score as a seventh field.
"""
_EPILOG = """\
examples:
  tbgen adjudicate games.pgn
  tbgen adjudicate "8/8/5k1K/5P2/8/8/8/8 w - - 1 60 -G2.5" --line
"""


_FEN: Final = re.compile(r"\S*/\S*\s+[wb]\b")
"""As much of a FEN as tells it from the name of a file."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be done with each game."""

    tables: Tablebase | None
    rules: PlayRules
    require_tables: bool
    line: bool


@dataclass(frozen=True, slots=True)
class Report:
    """All that is said about one game."""

    board: chess.Board
    arbiter: Arbiter
    outcome: Adjudication
    scoring: Scoring
    line: list[LinePly] | None


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description, parser.epilog = _DESCRIPTION, _EPILOG
    parser.add_argument("game", nargs="+", metavar="FEN|FILE.pgn", help="the game, or its final position")
    parser.add_argument("--line", action="store_true", help="add the best play that proves a value of tables")
    parser.add_argument(
        "--require-tables", action="store_true", help="fail if a table is missing that could say more"
    )
    add_play_rules(parser)
    add_json(parser, "one JSON document")
    add_directory(parser)


def run(arguments: argparse.Namespace) -> int:
    """Adjudicate a position, or the games of a file."""
    text = " ".join(arguments.game)
    scoring, rules = scoring_of(arguments), play_rules_of(arguments)
    directory_of(arguments)
    with _open_tables(arguments) as tables:
        request = Request(tables, rules, arguments.require_tables, arguments.line)
        if _is_fen(text):
            return _position(text, request, scoring, as_json=arguments.json)
        with reading(text) as source:
            return _games(source, request, as_json=arguments.json)


def _open_tables(arguments: argparse.Namespace) -> AbstractContextManager[Tablebase | None]:
    if arguments.rules in RULES:
        return open_tablebase(arguments.dir, rules=arguments.rules)
    if arguments.require_tables:
        raise UsageError("there are no tables for whole-game mobility: leave --require-tables out")
    return nullcontext()


def _is_fen(text: str) -> bool:
    return _FEN.match(text) is not None


def _position(text: str, request: Request, scoring: Scoring, *, as_json: bool) -> int:
    rules = request.rules
    arbiter = Arbiter(
        parse_fen(text),
        fifty_move_rule=rules.fifty_move_rule or FiftyMoveRule.IMPROVING,
        cutoff=scoring.cutoff,
        bare_kings=rules.bare_kings,
        whole_game=rules.whole_game,
    )
    outcome = adjudicate(arbiter, request.tables, require_tables=request.require_tables)
    report = _report(arbiter, request, outcome, scoring)
    if as_json:
        print(json.dumps(_document(report, " ".join(text.split())), indent=2))
    else:
        print("\n".join(_text(report)))
    _say_missing({}, report.outcome)
    return 0


def _games(stream: Stream, request: Request, *, as_json: bool) -> int:
    worst, documents = 0, []
    missing: dict[str, None] = {}
    for game in read_games(stream):
        entry = {
            "number": game.number,
            "line": game.line,
            "white": game.tags.get("White", "?"),
            "black": game.tags.get("Black", "?"),
            "result": game.result,
        }
        try:
            report = _report_game(game, request)
        except UsageError as error:
            worst = max(worst, error.exit_code)
            documents.append(entry | {"error": str(error)})
            if not as_json:
                say(f"tbgen: {error}")
            continue
        if as_json:
            documents.append(entry | _document(report, report.board.fen()))
        else:
            print("\n".join(_summary(game, report)))
        _say_missing(missing, report.outcome)
    if as_json:
        print(json.dumps({"games": documents}, indent=2))
    return worst


def _report_game(game: Game, request: Request) -> Report:
    arbiter = request.rules.replay(game)
    outcome = adjudicate_game(game, arbiter, request.tables, require_tables=request.require_tables)
    return _report(arbiter, request, outcome, request.rules.scoring_of(game.tags))


def _report(arbiter: Arbiter, request: Request, outcome: Adjudication, scoring: Scoring) -> Report:
    board, line = arbiter.board, None
    if request.line and request.tables is not None and outcome.basis is Basis.TABLEBASE:
        line = request.tables.line(board, outcome.accrued)
    return Report(board, arbiter, outcome, scoring, line)


def _document(report: Report, fen: str) -> dict[str, Any]:
    outcome = report.outcome
    document: dict[str, Any] = {
        "fen": fen,
        "rules": report.arbiter.rules,
        "accrued": str(outcome.accrued),
        "clock": report.arbiter.clock,
        "value": str(outcome.value),
        "holder": outcome.value.holder,
        "basis": outcome.basis.value,
        "proven": outcome.proven,
        "depth": outcome.depth,
        "classical": outcome.classical,
        "scoring": report.scoring.scheme.value,
        "points": points_document(report.scoring, outcome.value),
    }
    if outcome.missing is not None:
        document["missing"] = outcome.missing.material
    if report.line is not None:
        document["line"] = line_document(report.line)
    return document


def _text(report: Report) -> Iterator[str]:
    outcome = report.outcome
    yield from diagram(report.board)
    yield ""
    yield f"{mover(report.board)} to move"
    yield f"result          {outcome.value}  ({outcome.value.holder.capitalize()} holds it)"
    yield f"basis           {_basis(outcome)}"
    yield f"accrued score   {outcome.accrued}"
    yield f"points          {report.scoring.text(outcome.value)}  (White-Black)"
    if report.line is not None:
        yield ""
        yield from line_text(report.board, report.line)


def _summary(game: Game, report: Report) -> Iterator[str]:
    outcome = report.outcome
    yield (
        f"{game.number}. {game.tags.get('White', '?')} - {game.tags.get('Black', '?')}  {game.result}  "
        f"accrued {outcome.accrued}  result {outcome.value}  ({_basis(outcome)})  "
        f"points {report.scoring.text(outcome.value)}"
    )
    if report.line is not None:
        yield from line_text(report.board, report.line)


def _basis(outcome: Adjudication) -> str:
    if outcome.depth is not None:
        return f"{outcome.basis}, {plies(outcome.depth)} to go"
    return outcome.basis if outcome.proven else f"{outcome.basis}, not proven"


def _say_missing(said: dict[str, None], outcome: Adjudication) -> None:
    """Tell about a missing table, once."""
    if outcome.missing is not None and outcome.missing.material not in said:
        said[outcome.missing.material] = None
        say(f"tbgen: {outcome.missing}")
