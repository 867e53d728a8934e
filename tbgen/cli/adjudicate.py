"""``tbgen adjudicate``: the results of stopped games."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from msgspec import Struct

from tbgen.board.fen import is_fen, parse_fen
from tbgen.board.score import GScore
from tbgen.board.scoring import Komi, Scheme
from tbgen.board.variant import Variant
from tbgen.cli.answers import diagram, line_text, side_to_move
from tbgen.cli.games import AdjudicationOptions, GameRun, RefereeOptions, Requirements
from tbgen.cli.options import AsJson, Setting, TableDirectory, command
from tbgen.cli.solver_options import SolvingOptions, SourceOptions
from tbgen.cli.streams import print_document, say
from tbgen.documents import UNSET, Count, Document, EndsDocument, Plies, SideName, UnsetType
from tbgen.errors import TbgenError, UsageError, printable
from tbgen.games.game_options import FiftyMoveRule
from tbgen.games.outcome import Basis, Doubt, Outcome
from tbgen.games.pgn.files import matching_files
from tbgen.games.pgn.reader import Game, read_game
from tbgen.games.pgn.splitter import RawGame
from tbgen.games.referee import Arbiter, replay
from tbgen.probe.moves import LinePly
from tbgen.probe.probe_document import PlyDocument, PointsDocument, points_document
from tbgen.text import plies


@command
def run(
    *words: Annotated[str, Setting(required=True, metavar="FEN|FILE.pgn...")],
    line: bool,
    requirements: Requirements,
    solving: SolvingOptions,
    sources: SourceOptions,
    referee: RefereeOptions,
    json: AsJson,
    directory: TableDirectory,
) -> int:
    """Print the result of a game.

    A game that ended on the board keeps that result. Otherwise, a win off the board counts, for example on
    time. If the game was stopped and a table has the final position, the result is the exact value of that
    position with the accrued score. If no table has the position, the accrued score counts as the result,
    which is then not proven. With --syzygy, the result is G0.0 if Syzygy files show that a side can force
    mate. With --solve, a position without a table is solved as by tbgen solve. The result is then its value,
    or the score in the proved interval that is nearest to the accrued score.

    Games are PGN files or patterns such as "round*.pgn", optionally compressed by gzip, bzip2, xz or zstd
    (- reads standard input). A single game may be given as the FEN of its final position, with the accrued
    score as a seventh field.

    \b
    For example:
      tbgen adjudicate games.pgn
      tbgen adjudicate "8/8/5k1K/5P2/8/8/8/8 w - - 1 60 -G2.5" --line
      tbgen adjudicate "8/4k3/5p1p/7P/4K1P1/8/8/8 w - - 22 72 G4.5" --solve

    :param words: the final position of one game, or files of games
    :param line: add best play to values that come from tables
    :param json: print one JSON document
    """
    text = " ".join(words)
    is_position = is_fen(text) and not Path(words[0]).exists()
    later_fens = [word for word in words[1:] if is_fen(word) and not Path(word).exists()]
    if ".pgn" in Path(words[-1]).suffixes if is_position else later_fens:
        raise UsageError("give either the FEN of one game or files of games, not both")
    options = AdjudicationOptions(
        strict=False,
        requirements=requirements,
        solving=solving,
        sources=sources,
        jobs=1,
        referee=referee,
        directory=directory,
    )
    names, rule = ([], FiftyMoveRule.IMPROVING) if is_position else (matching_files(words), None)
    worst = 0
    with options.open_run(names, None, rule) as game_run:
        if is_position:
            _adjudicate_position(text, game_run, line, json)
        else:
            worst = _adjudicate_files(game_run, line, json)
    game_run.say_remarks()
    return worst


class _GameReport(Struct, frozen=True):
    """The parts of the report on one game."""

    arbiter: Arbiter
    outcome: Outcome
    line: list[LinePly] | None


def _make_report(game_run: GameRun, arbiter: Arbiter, outcome: Outcome, with_line: bool) -> _GameReport:
    """Return the report on a game, with best play if that is wanted and comes from a table."""
    line = None
    if with_line and outcome.basis is Basis.TABLEBASE:
        try:
            line = game_run.adjudicator.tables.line(arbiter.board, outcome.accrued)
        except TbgenError as error:
            say(f"tbgen: the line cannot be shown: {error}")
    return _GameReport(arbiter, outcome, line)


def _adjudicate_position(text: str, game_run: GameRun, with_line: bool, as_json: bool) -> None:
    fen = parse_fen(text)
    game = Game(1, 1, start=fen, board=fen.board.copy())
    arbiter = replay(game, game_run.adjudicator.options)
    with game_run.solver_watch.progress_line:
        outcome = game_run.adjudicator.outcome_of(game, arbiter)
    report = _make_report(game_run, arbiter, outcome, with_line)
    if note := fen.note(arbiter.settings.variant):
        say(f"tbgen: {note}")
    if as_json:
        print_document(_document(report, " ".join(text.split())))
    else:
        print("\n".join(_text(report)))
    game_run.count(outcome, "the position")


def _adjudicate_files(game_run: GameRun, with_line: bool, as_json: bool) -> int:
    """Adjudicate the games of files in order. If files can be read twice, a first pass solves positions."""
    worst = 0
    watch = game_run.solver_watch
    documents = list[FileGameDocument]()
    game_run.solve()
    for file, game in ((path, game) for path in game_run.files for game in game_run.games(path)):
        raw = game.raw
        outcome = game.outcome
        if raw.empty:
            continue
        watch.progress_line.clear()
        result = read_game(raw).result if outcome is None else outcome.recorded
        document = FileGameDocument(
            file=file,
            number=raw.number,
            file_line=raw.line,
            white=raw.values.get("White", "?"),
            black=raw.values.get("Black", "?"),
            result=result,
        )
        if game.error is not None:
            worst = max(worst, game.error.exit_code)
            document.error = str(game.error)
            if not as_json:
                say(f"tbgen: {watch.file_prefix}{game.error}")
        else:
            assert outcome is not None
            assert game.arbiter is not None  # because this process has judged the game
            report = _make_report(game_run, game.arbiter, outcome, with_line)
            document = _document(report, game.arbiter.board.fen(), document)
            if not as_json:
                print("\n".join(_summary(raw, report)))
            game_run.count(outcome, f"{watch.file_prefix}{raw.place}")
        documents.append(document)
        if watch.interrupted and not game_run.solves_first:
            break
    if not documents:
        raise UsageError(f"there is no game in {', '.join(game_run.files)}")
    if as_json:
        print_document(AdjudicatedGamesDocument(documents))
    return worst


class FileGameDocument(Document, kw_only=True):
    """A game of a file. For a position, all fields are omitted; ``error`` says why there is no outcome."""

    file: str | UnsetType = UNSET
    number: Count | UnsetType = UNSET
    file_line: Count | UnsetType = UNSET
    white: str | UnsetType = UNSET
    black: str | UnsetType = UNSET
    result: str | UnsetType = UNSET
    error: str | UnsetType = UNSET


class AdjudicatedDocument(FileGameDocument, kw_only=True):
    """The outcome of a game or a position."""

    fen: str
    rules: Variant
    fifty_move_rule: FiftyMoveRule
    bare_kings: bool
    accrued: GScore
    clock: Plies
    value: GScore
    holder: SideName
    basis: Basis
    ending: str
    proven: bool
    depth: Plies | None
    classical: str
    scoring: Scheme
    cutoff: GScore
    komi: Komi
    points: PointsDocument
    bounds: EndsDocument[GScore] | UnsetType = UNSET
    doubts: tuple[Doubt, ...] | UnsetType = UNSET
    unsolvable: str | UnsetType = UNSET
    missing: str | UnsetType = UNSET
    missing_syzygy: str | UnsetType = UNSET
    unknown_scoring: str | UnsetType = UNSET
    line: list[PlyDocument] | UnsetType = UNSET


class AdjudicatedGamesDocument(Document):
    """The games of files, with their outcomes or errors."""

    games: list[FileGameDocument]


def _document(report: _GameReport, fen: str, game: FileGameDocument | None = None) -> AdjudicatedDocument:
    outcome = report.outcome
    settings = outcome.settings
    unknown_scoring = settings.unknown_scoring
    return AdjudicatedDocument.of(
        game,
        outcome,
        settings,
        settings.scoring,
        fen=fen,
        rules=settings.variant,
        clock=report.arbiter.clock,
        holder=outcome.value.holder,
        scoring=settings.scoring.scheme,
        points=points_document(settings.scoring, outcome.value),
        bounds=UNSET if outcome.bounds is None else EndsDocument.of(outcome.bounds),
        doubts=outcome.doubts or UNSET,
        unsolvable=outcome.unsolvable or UNSET,
        missing=UNSET if outcome.missing is None else outcome.missing.material,
        missing_syzygy=outcome.missing_syzygy or UNSET,
        unknown_scoring=UNSET if unknown_scoring is None else unknown_scoring,
        line=UNSET if report.line is None else list(map(PlyDocument.of, report.line)),
    )


def _text(report: _GameReport) -> Iterator[str]:
    outcome = report.outcome
    board = report.arbiter.board
    variant = outcome.settings.variant
    yield from diagram(board)
    yield ""
    yield f"{side_to_move(board)} to move{'' if variant is Variant.R_MOBILITY else f', {variant.label}'}"
    yield f"result          {outcome.value}  ({outcome.value.holder.capitalize()} holds it)"
    yield f"basis           {_basis_text(report)}"
    yield f"accrued score   {outcome.accrued}"
    yield f"points          {_points_text(report)}  (White-Black)"
    if report.line is not None:
        yield ""
        yield from line_text(report.arbiter.board, report.line)


def _summary(game: RawGame, report: _GameReport) -> Iterator[str]:
    outcome = report.outcome
    white, black = (printable(game.values.get(side, "?")) for side in ("White", "Black"))
    result = f"result {outcome.value}  ({_basis_text(report)})  points {_points_text(report)}"
    if outcome.doubts:
        result += f"  doubtful: {', '.join(outcome.doubts)}"
    recorded_result = printable(outcome.recorded)
    yield f"{game.number}. {white} - {black}  {recorded_result}  accrued {outcome.accrued}  {result}"
    if report.line is not None:
        yield from line_text(report.arbiter.board, report.line)


def _basis_text(report: _GameReport) -> str:
    outcome = report.outcome
    if outcome.depth is not None:
        return f"{outcome.basis}, {plies(outcome.depth)} to go"
    if outcome.basis.off_board and outcome.ending and outcome.ending != str(outcome.basis):
        return f"{outcome.basis}: {outcome.ending}"
    basis = outcome.basis if outcome.proven else f"{outcome.basis}, not proven"
    return basis if outcome.bounds is None else f"{basis}: {outcome.bounds.description}"


def _points_text(report: _GameReport) -> str:
    scoring = report.outcome.settings.scoring
    name = "" if scoring.scheme is Scheme.EXPONENTIAL else f" {scoring.scheme.value}"
    return f"{scoring.text(report.outcome.value)}{name}"
