"""``tbgen adjudicate``: what a stopped game is worth."""

import argparse
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from tbgen.board.fen import parse_fen
from tbgen.board.scoring import Scheme
from tbgen.cli.display import diagram, line_document, line_text, mover
from tbgen.cli.options import (
    add_directory,
    add_game_options,
    add_json,
    add_requirements,
    directory_of,
    game_options_of,
)
from tbgen.cli.progress import ProgressLine
from tbgen.cli.solving import Watch, add_solving, not_solved, solving
from tbgen.cli.streams import say
from tbgen.errors import TbgenError, UsageError, printable
from tbgen.games.pgn.files import reading
from tbgen.games.pgn.reader import Game, read_games
from tbgen.games.referee import Arbiter, Basis, FiftyMoveRule, GameOptions, Outcome, adjudicate, replay
from tbgen.games.settings import unknown_scoring
from tbgen.probe.line import LinePly
from tbgen.probe.tablebase import Tablebase
from tbgen.solve.budgeted import Solver
from tbgen.text import plies

_DESCRIPTION = """\
Print the result of a game: what ended it on the board, else who won it off the board, else the exact value
of its final position with the score it has accrued, if the tables hold it. A game that stopped where no table
can say counts as played, with its accrued score, which is not proven; so it does if the table is missing.
With --solve such a position is solved as tbgen solve does it: the value, or what interval it lies in, and
whether all scores of that give the same points.

Games are given as PGN files, maybe compressed by gzip, bzip2, xz or zstd (- reads standard input), or a
single one as the FEN of its final position with the accrued score as a seventh field.
"""
_EPILOG = """\
examples:
  tbgen adjudicate games.pgn
  tbgen adjudicate "8/8/5k1K/5P2/8/8/8/8 w - - 1 60 -G2.5" --line
  tbgen adjudicate "8/4k3/5p1p/7P/4K1P1/8/8/8 w - - 22 72 G4.5" --solve --solve-time 5m
"""

_FEN: Final = re.compile(r"[1-8pnbrqkPNBRQK]+(/[1-8pnbrqkPNBRQK]+){2,}(\s|\Z)")
"""As much of a FEN as tells it from the name of a file."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be done with each game."""

    tables: Tablebase
    options: GameOptions
    arguments: argparse.Namespace
    solver: Solver | None
    watch: Watch

    @property
    def json(self) -> bool:
        """Whether the answer is to be one JSON document."""
        return bool(self.arguments.json)


@dataclass(frozen=True, slots=True)
class GameReport:
    """All that is said about one game."""

    arbiter: Arbiter
    outcome: Outcome
    line: list[LinePly] | None


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description, parser.epilog = _DESCRIPTION, _EPILOG
    parser.add_argument(
        "game", nargs="+", metavar="FEN|FILE.pgn", help="the final position of one game, or files of games"
    )
    parser.add_argument("--line", action="store_true", help="add the best play that proves a value of tables")
    add_requirements(parser)
    add_solving(parser)
    add_game_options(parser)
    add_json(parser, "one JSON document")
    add_directory(parser)


def run(arguments: argparse.Namespace) -> int:
    """Adjudicate a position, or the games of files."""
    options, watch = game_options_of(arguments), Watch(ProgressLine())
    directory_of(arguments)
    with (
        Tablebase(arguments.dir, rules=options.variant) as tables,
        solving(arguments, watch) as solver,
    ):
        request = Request(tables, options, arguments, solver, watch)
        text = " ".join(arguments.game)
        if _FEN.match(text) and not Path(arguments.game[0]).exists():
            return _position(text, request)
        return _files(arguments.game, request)


def _position(text: str, request: Request) -> int:
    fen = parse_fen(text)
    game = Game(1, 1, start=fen, board=fen.board.copy())
    options = request.options
    if options.fifty_move_rule is None:
        options = replace(options, fifty_move_rule=FiftyMoveRule.IMPROVING)
    report = _report(game, replace(request, options=options))
    if request.json:
        print(json.dumps(_document(report, " ".join(text.split())), indent=2))
    else:
        print("\n".join(_text(report)))
    _remark(set(), report.outcome)
    return 0


def _files(names: list[str], request: Request) -> int:
    worst = 0
    documents: list[dict[str, Any]] = []
    said: set[str] = set()
    for name in names:
        with reading(name) as source:
            for game in read_games(source):
                try:
                    documents.append(_game(name, game, request, said))
                except TbgenError as error:
                    worst = max(worst, error.exit_code)
                    sentence = f"game {game.number}, line {game.line}: {error}"
                    if error is game.error:  # which names the very line
                        sentence = str(error)
                    documents.append(_entry(name, game) | {"error": sentence})
                    if not request.json:
                        say(f"tbgen: {sentence}")
    if not documents:
        raise UsageError(f"there is no game in {', '.join(names)}")
    if request.json:
        print(json.dumps({"games": documents}, indent=2))
    return worst


def _game(name: str, game: Game, request: Request, said: set[str]) -> dict[str, Any]:
    report = _report(game, request)
    if not request.json:
        print("\n".join(_summary(game, report)))
    _remark(said, report.outcome)
    return _entry(name, game) | _document(report, report.arbiter.board.fen())


def _entry(name: str, game: Game) -> dict[str, Any]:
    return {
        "file": name,
        "number": game.number,
        "file_line": game.line,
        "white": game.tags.get("White", "?"),
        "black": game.tags.get("Black", "?"),
        "result": game.result,
    }


def _report(game: Game, request: Request) -> GameReport:
    arguments, line = request.arguments, None
    arbiter = replay(game, request.options)
    try:
        outcome = adjudicate(
            arbiter,
            request.tables,
            game.ending,
            recorded=game.result,
            solver=request.solver,
            require_tables=arguments.require_tables,
            require_proof=arguments.require_proof,
        )
    finally:
        request.watch.line.clear()
    if arguments.line and outcome.basis is Basis.TABLEBASE:
        try:
            line = request.tables.line(arbiter.board, outcome.accrued)
        except TbgenError as error:
            say(f"tbgen: the line cannot be shown: {error}")
    return GameReport(arbiter, outcome, line)


def _document(report: GameReport, fen: str) -> dict[str, Any]:
    outcome, settings = report.outcome, report.outcome.settings
    scoring = settings.scoring
    document: dict[str, Any] = {
        "fen": fen,
        "rules": settings.variant,
        "fifty_move_rule": settings.fifty_move_rule.value,
        "bare_kings": settings.bare_kings,
        "accrued": str(outcome.accrued),
        "clock": report.arbiter.clock,
        "value": str(outcome.value),
        "holder": outcome.value.holder,
        "basis": outcome.basis.value,
        "ending": outcome.ending,
        "proven": outcome.proven,
        "depth": outcome.depth,
        "classical": outcome.classical,
        "scoring": scoring.scheme.value,
        "cutoff": str(scoring.cutoff),
        "komi": str(scoring.komi),
        "points": scoring.document(outcome.value),
    }
    if outcome.bounds is not None:
        document["bounds"] = outcome.bounds.document()
    if outcome.unsolvable:
        document["unsolvable"] = outcome.unsolvable
    if outcome.missing is not None:
        document["missing"] = outcome.missing.material
    if settings.unknown_scoring is not None:
        document["unknown_scoring"] = settings.unknown_scoring
    if report.line is not None:
        document["line"] = line_document(report.line)
    return document


def _text(report: GameReport) -> Iterator[str]:
    outcome, board, variant = report.outcome, report.arbiter.board, report.outcome.settings.variant
    yield from diagram(board)
    yield ""
    yield f"{mover(board)} to move{'' if variant.resets else f', {variant.label}'}"
    yield f"result          {outcome.value}  ({outcome.value.holder.capitalize()} holds it)"
    yield f"basis           {_basis(report)}"
    yield f"accrued score   {outcome.accrued}"
    yield f"points          {_points(report)}  (White-Black)"
    if report.line is not None:
        yield ""
        yield from line_text(report.arbiter.board, report.line)


def _summary(game: Game, report: GameReport) -> Iterator[str]:
    outcome = report.outcome
    white, black = (printable(game.tags.get(side, "?")) for side in ("White", "Black"))
    yield (
        f"{game.number}. {white} - {black}  {game.result}  accrued {outcome.accrued}  "
        f"result {outcome.value}  ({_basis(report)})  points {_points(report)}"
    )
    if report.line is not None:
        yield from line_text(report.arbiter.board, report.line)


def _basis(report: GameReport) -> str:
    outcome = report.outcome
    if outcome.depth is not None:
        return f"{outcome.basis}, {plies(outcome.depth)} to go"
    if outcome.basis.off_board and outcome.ending:
        return f"{outcome.basis}: {outcome.ending}"
    basis = outcome.basis if outcome.proven else f"{outcome.basis}, not proven"
    if outcome.bounds is None:
        return basis
    return f"{basis}: between {outcome.bounds.lower} and {outcome.bounds.upper}"


def _points(report: GameReport) -> str:
    scoring = report.outcome.settings.scoring
    name = "" if scoring.scheme is Scheme.EXPONENTIAL else f" {scoring.scheme.value}"
    return f"{scoring.text(report.outcome.value)}{name}"


def _remark(said: set[str], outcome: Outcome) -> None:
    """Tell about a missing table, an unknown scoring and what cannot be solved, once."""
    unknown = outcome.settings.unknown_scoring
    remarks = {str(outcome.missing)} if outcome.missing is not None else set()
    remarks |= {unknown_scoring(unknown)} if unknown is not None else set()
    remarks |= {not_solved(outcome.unsolvable)} if outcome.unsolvable else set()
    for remark in remarks - said:
        said.add(remark)
        say(f"tbgen: {remark}")
