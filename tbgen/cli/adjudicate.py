"""``tbgen adjudicate``: what a stopped game is worth."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final

from tbgen.board.fen import parse_fen
from tbgen.board.scoring import Scheme
from tbgen.cli.answers import diagram, line_document, line_text, mover
from tbgen.cli.games import RefereeOptions, Requirements
from tbgen.cli.options import AsJson, Setting, TableDirectory, command
from tbgen.cli.progress import ProgressLine
from tbgen.cli.solving import SolvingOptions, Watch, not_solved, solving_with
from tbgen.cli.streams import fields, print_json, say
from tbgen.errors import TbgenError, UsageError, printable
from tbgen.games.pgn.files import reading
from tbgen.games.pgn.reader import Game, read_games
from tbgen.games.referee import Arbiter, Basis, FiftyMoveRule, GameOptions, Outcome, adjudicate, replay
from tbgen.games.settings import unknown_scoring
from tbgen.probe.line import LinePly
from tbgen.probe.tablebase import Tablebase
from tbgen.solve.budgeted import Solver
from tbgen.text import plies

_FEN: Final = re.compile(r"[1-8pnbrqkPNBRQK]+(/[1-8pnbrqkPNBRQK]+){2,}(\s|\Z)")
"""As much of a FEN as tells it from the name of a file."""


@command
def run(
    *words: Annotated[str, Setting(required=True, metavar="FEN|FILE.pgn...")],
    line: bool,
    requirements: Requirements,
    solving: SolvingOptions,
    referee: RefereeOptions,
    json: AsJson,
    given: TableDirectory,
) -> int:
    """Print the result of a game.

    The result is that of the end on the board, else a win off the board, else the exact value of the final
    position with the accrued score, if tables hold the position. If no table can hold it, or if the table is
    missing, the accrued score counts as the result, which is not proven. With --solve, such a position is
    solved as by tbgen solve: the result is then its value, or an interval together with whether all its
    scores give the same points.

    Give games as PGN files, optionally compressed by gzip, bzip2, xz or zstd (- reads standard input), or a
    single game as the FEN of its final position with the accrued score as a seventh field.

    \b
    For example:
      tbgen adjudicate games.pgn
      tbgen adjudicate "8/8/5k1K/5P2/8/8/8/8 w - - 1 60 -G2.5" --line
      tbgen adjudicate "8/4k3/5p1p/7P/4K1P1/8/8/8 w - - 22 72 G4.5" --solve --solve-time 5m

    :param words: the final position of one game, or files of games
    :param line: add best play to the value, where it comes from tables
    :param json: print one JSON document
    """
    text, watch = " ".join(words), Watch(ProgressLine())
    is_position = bool(_FEN.match(text)) and not Path(words[0]).exists()
    options = referee.options(FiftyMoveRule.IMPROVING if is_position else None)
    with (
        Tablebase(given, rules=options.variant) as tables,
        solving_with(solving, options.variant, watch) as solver,
    ):
        judge = _GameJudge(tables, options, requirements, line, solver, watch)
        if is_position:
            _position(text, judge, json)
            return 0
        return _files(words, judge, json)


@dataclass(frozen=True, slots=True)
class _GameReport:
    """All that is said about one game."""

    arbiter: Arbiter
    outcome: Outcome
    line: list[LinePly] | None


@dataclass(frozen=True, slots=True)
class _GameJudge:
    """Adjudicates one game after the other, and says each thing that is to be remarked once."""

    tables: Tablebase
    options: GameOptions
    requirements: Requirements
    with_line: bool
    solver: Solver | None
    watch: Watch
    remarks: set[str] = field(default_factory=set)

    def report(self, game: Game) -> _GameReport:
        """Adjudicate a game."""
        arbiter, line = replay(game, self.options), None
        with self.watch.line:
            outcome = adjudicate(
                arbiter,
                self.tables,
                game.ending,
                recorded=game.result,
                solver=self.solver,
                **vars(self.requirements),
            )
        if self.with_line and outcome.basis is Basis.TABLEBASE:
            try:
                line = self.tables.line(arbiter.board, outcome.accrued)
            except TbgenError as error:
                say(f"tbgen: the line cannot be shown: {error}")
        return _GameReport(arbiter, outcome, line)

    def remark(self, outcome: Outcome) -> None:
        """Tell about a missing table, an unknown scoring and what cannot be solved."""
        unknown = outcome.settings.unknown_scoring
        remarks = {str(outcome.missing)} if outcome.missing is not None else set()
        remarks |= {unknown_scoring(unknown)} if unknown is not None else set()
        remarks |= {not_solved(outcome.unsolvable)} if outcome.unsolvable else set()
        for remark in remarks - self.remarks:
            self.remarks.add(remark)
            say(f"tbgen: {remark}")


def _position(text: str, judge: _GameJudge, as_json: bool) -> None:
    fen = parse_fen(text)
    report = judge.report(Game(1, 1, start=fen, board=fen.board.copy()))
    if as_json:
        print_json(_document(report, " ".join(text.split())))
    else:
        print("\n".join(_text(report)))
    judge.remark(report.outcome)


def _files(names: Sequence[str], judge: _GameJudge, as_json: bool) -> int:
    worst = 0
    documents: list[dict[str, Any]] = []
    for name in names:
        with reading(name) as source:
            for game in read_games(source):
                document = {
                    "file": name,
                    "number": game.number,
                    "file_line": game.line,
                    "white": game.tags.get("White", "?"),
                    "black": game.tags.get("Black", "?"),
                    "result": game.result,
                }
                documents.append(document)
                try:
                    report = judge.report(game)
                    document |= _document(report, report.arbiter.board.fen())
                    if not as_json:
                        print("\n".join(_summary(game, report)))
                    judge.remark(report.outcome)
                except TbgenError as error:
                    worst = max(worst, error.exit_code)
                    # An error of the game itself names the very line.
                    place = "" if error is game.error else f"game {game.number}, line {game.line}: "
                    document["error"] = f"{place}{error}"
                    if not as_json:
                        say(f"tbgen: {place}{error}")
    if not documents:
        raise UsageError(f"there is no game in {', '.join(names)}")
    if as_json:
        print_json({"games": documents})
    return worst


def _document(report: _GameReport, fen: str) -> dict[str, Any]:
    outcome, settings = report.outcome, report.outcome.settings
    scoring = settings.scoring
    document: dict[str, Any] = {
        "fen": fen,
        "rules": settings.variant,
        **fields(settings, "fifty_move_rule", "bare_kings"),
        "accrued": outcome.accrued,
        "clock": report.arbiter.clock,
        "value": outcome.value,
        "holder": outcome.value.holder,
        **fields(outcome, "basis", "ending", "proven", "depth", "classical"),
        "scoring": scoring.scheme.value,
        **fields(scoring, "cutoff", "komi"),
        "points": scoring.points(outcome.value)._asdict(),
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


def _text(report: _GameReport) -> Iterator[str]:
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


def _summary(game: Game, report: _GameReport) -> Iterator[str]:
    outcome = report.outcome
    white, black = (printable(game.tags.get(side, "?")) for side in ("White", "Black"))
    yield (
        f"{game.number}. {white} - {black}  {game.result}  accrued {outcome.accrued}  "
        f"result {outcome.value}  ({_basis(report)})  points {_points(report)}"
    )
    if report.line is not None:
        yield from line_text(report.arbiter.board, report.line)


def _basis(report: _GameReport) -> str:
    outcome = report.outcome
    if outcome.depth is not None:
        return f"{outcome.basis}, {plies(outcome.depth)} to go"
    if outcome.basis.off_board and outcome.ending:
        return f"{outcome.basis}: {outcome.ending}"
    basis = outcome.basis if outcome.proven else f"{outcome.basis}, not proven"
    if outcome.bounds is None:
        return basis
    return f"{basis}: between {outcome.bounds.lower} and {outcome.bounds.upper}"


def _points(report: _GameReport) -> str:
    scoring = report.outcome.settings.scoring
    name = "" if scoring.scheme is Scheme.EXPONENTIAL else f" {scoring.scheme.value}"
    return f"{scoring.text(report.outcome.value)}{name}"
