"""``tbgen solve``: values of positions beyond the tables, or intervals; and estimates of the work."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from math import log
from pathlib import Path
from typing import Annotated, Any, Final

import chess

from tbgen.beyond.budget import Budget, SolvingInterruptedError, Stop
from tbgen.beyond.estimate import MAX_COUNTED_CELLS, EstimateDocument, estimate
from tbgen.beyond.jobs import Job, Solver, job_of, roots_of
from tbgen.beyond.kept import DEFAULT_BYTES, KeptCells
from tbgen.beyond.provers import CellProver
from tbgen.beyond.results import SolveResults, StateName, open_results
from tbgen.beyond.structures import MobileChoice
from tbgen.board.fen import is_fen, parse_fen
from tbgen.board.rules import validate
from tbgen.board.score import GScore
from tbgen.board.scoring import ANYTHING, ProvedBounds
from tbgen.board.variant import Variant
from tbgen.cells.cell import Cell
from tbgen.cli.bars import ProgressLine, stage_text
from tbgen.cli.options import (
    Accrued,
    AsJson,
    CellDirectory,
    Directory,
    OptionGroup,
    ParsedType,
    PositiveCount,
    ScoringOptions,
    Setting,
    Size,
    TableDirectory,
    Time,
    command,
)
from tbgen.cli.probe import positions_of
from tbgen.cli.solver_options import SourceOptions
from tbgen.cli.solver_watch import Watch
from tbgen.cli.streams import batches_of_lines, print_document, say
from tbgen.documents import UNSET, Document, EndsDocument, Plies, UnsetType
from tbgen.errors import TbgenError, UsageError, quote
from tbgen.extras import needs_extra
from tbgen.probe.probe_document import PointsDocument, PositionErrorDocument, points_document
from tbgen.probe.tablebase import Tablebase
from tbgen.system.files import make_directory, read_file
from tbgen.text import counted, duration, number, size_text

_STDIN_BATCH_LINES: Final = 1 << 10
"""Maximum number of lines that are read from standard input at once."""

_MAX_STRUCTURES: Final = 20
"""Maximum number of pawn structures that get a row in the table of the estimate."""

_ONE_POSITION_HINT: Final = "one position: leave it out, or name one FEN"
_MANY_POSITIONS_HINT: Final = "many positions: leave it out, or name a file of FENs"


def _parse_mobile(text: str) -> MobileChoice:
    if text == "auto":
        return "auto"
    names = [name.strip().lower() for name in text.split(",")]
    for name in names:
        if name not in chess.SQUARE_NAMES:
            raise UsageError(f"{quote(name)} is not a square: give squares such as e4,f6")
    if len(set(names)) < len(names):
        raise UsageError(f"{quote(text)} contains a square twice")
    return list(map(chess.parse_square, names))


@dataclass(frozen=True, kw_only=True)
class SolveOptions(OptionGroup):
    """How positions are solved, and how the results are printed.

    :param mobile: squares of the mobile men, such as e4,f6; auto tries one set of men after another, small
        sets first (default: all kings and pieces; auto if there are more than four, or they need too much
        memory)
    :param time: time to spend on a position (default: as long as more work may narrow the result)
    :param total: time to spend on many positions together (default: no limit)
    :param memory: memory to use (default: 8G)
    :param threads: number of threads (default: one per processor)
    :param jobs: of many positions, how many to solve side by side; they share memory and threads (default: as
        many as get two threads and 4 GiB each)
    :param scheduler: address of a Dask scheduler, such as tcp://host:8786, whose workers first solve the
        cells that the positions lead to without promotions; all workers must share --cells and the tables
        (docs/cluster.md)
    :param results: store the proved results of many positions in a file, created if missing, and use its
        results, so that the same command resumes an interrupted run
    :param estimate: solve nothing, and print an estimate: cells by pawn structure and size, time, memory,
        disk
    :param verify: prove the results forwards, state by state; this does not count towards --time
    :param line: add the line of play that shows the result
    :param svg: write pictures of the value or of both bounds, and of each hold, to DIR
    :param json: print one JSON document; for many positions, a list in the order of the positions
    :param stream: with --json: print a line for every narrower interval, and the document as the last line
    """

    accrued: Accrued
    mobile: Annotated[Any, ParsedType("SQUARES|auto", _parse_mobile)]
    time: Time | None
    total: Time | None
    memory: Size = 8 << 30
    threads: PositiveCount = Budget.threads
    jobs: PositiveCount | None
    cells: CellDirectory
    scheduler: Annotated[str | None, Setting(metavar="ADDRESS")]
    results: Annotated[Path | None, Setting(metavar="FILE")]
    sources: SourceOptions
    estimate: bool
    verify: bool
    line: bool
    svg: Directory | None
    scoring_options: ScoringOptions
    json: AsJson
    stream: bool
    directory: TableDirectory

    def open_results(self) -> AbstractContextManager[SolveResults]:
        """Open the file of proved results. Without the option, results are only kept in memory.

        :raises TbgenError: if the file cannot be read or written.
        """
        file = self.results
        return nullcontext(SolveResults()) if file is None else open_results(file, "--results")

    def warn_of_ignored_field(self, text: str, name: str = "") -> None:
        """If the seventh field of a FEN is ignored, print the reason on stderr.

        :param name: name of the position, if there are several.
        """
        if self.accrued is None and (note := parse_fen(text).note(Variant.R_MOBILITY)):
            say(f"tbgen: {name}{': ' if name else ''}{note}")

    @property
    def max_kept_bytes(self) -> int | None:
        """Maximum size of the kept cells in bytes. With a cluster, any number of cells is kept."""
        return DEFAULT_BYTES if self.scheduler is None else None


def positions_in(words: Sequence[str]) -> list[str] | None:
    """Return the lines of the file of positions that a command line names; None if it names no file.

    The name ``-`` means standard input. If the words are positions themselves, they name no file.

    :raises UsageError: if there is no such file, if it contains games, or if it is empty.
    :raises TbgenError: if the file cannot be read.
    """
    name = words[0]
    if name != "-" and is_fen(" ".join(words)) and not Path(name).exists():
        return None
    if len(words) > 1:
        raise UsageError(f"{quote(' '.join(words))} is neither a FEN nor one file of FENs")
    if ".pgn" in Path(name).suffixes:
        raise UsageError(f"{name} has games: solve their final positions by: tbgen adjudicate {name} --solve")
    lines = list(filter(None, map(str.strip, _read_lines(name))))
    if not lines:
        raise UsageError(f"there is no position in {'standard input' if name == '-' else name}")
    return lines


def _read_lines(name: str) -> Iterator[str]:
    if name == "-":
        for lines in batches_of_lines(_STDIN_BATCH_LINES):
            yield from lines
        return
    try:
        yield from read_file(Path(name)).decode("utf-8-sig", "backslashreplace").split("\n")
    except FileNotFoundError:
        raise UsageError(f"there is no file {quote(name)}: expected a FEN, a file of FENs, or -") from None
    except OSError as error:
        raise TbgenError(f"{quote(name)} cannot be read: {error.strerror}") from None


class ProvedDocument(Document):
    """The proved bounds of the value of one of many positions."""

    fen: str
    accrued: GScore
    value: GScore | None
    lower: GScore
    upper: GScore
    depth: Plies | None
    points: EndsDocument[PointsDocument]
    stopped_by: Stop | None
    """None if the value is exact, or if nothing more was tried."""


@dataclass(frozen=True)
class PositionBatch:
    """Solves positions and prints the proved result of each.

    :param is_stopped: whether to solve nothing, and only print results that were proved earlier.
    """

    options: SolveOptions
    is_stopped: bool
    _documents: dict[int, ProvedDocument | PositionErrorDocument] = field(default_factory=dict)
    """Maps the number of each position to its answer."""

    def run(self, texts: Sequence[str]) -> int:
        """Solve positions, and return the exit code of the worst error.

        :raises KeyboardInterrupt: if the work is interrupted, after the proved results have been printed.
        """
        solver_watch = Watch()
        options = self.options
        with options.open_results() as results, Tablebase(options.directory) as tables:
            solver = solver_watch.solver = Solver(
                seconds=options.time,
                memory=options.memory,
                threads=options.threads,
                total_time=options.total,
                side_by_side=options.jobs,
                results=results,
                progress=solver_watch.show,
                interrupt=solver_watch.store_interrupt,
                prover=CellProver(options.cells, options.sources, options.max_kept_bytes),
            )
            if self.is_stopped:
                solver.stop()
            try:
                worst = self._solve(texts, tables, solver, solver_watch)
            finally:  # even if results can no longer be stored
                if options.json:
                    print_document([document for _, document in sorted(self._documents.items())])
        say(f"tbgen: {self._summary()}")
        if solver_watch.interrupted and options.results is not None:
            say(f"tbgen: the proved results are in {options.results}: the same command continues from there")
        solver_watch.raise_interrupt()
        return worst

    def _solve(self, texts: Sequence[str], tables: Tablebase, solver: Solver, solver_watch: Watch) -> int:
        worst = 0
        jobs: dict[StateName, list[tuple[int, Job]]] = {}
        for position_number, text in enumerate(texts, 1):
            try:
                job = job_of(text, self.options.accrued, tables, f"position {position_number}")
                jobs.setdefault(job.state, []).append((position_number, job))
                self.options.warn_of_ignored_field(text, job.name)
            except TbgenError as error:
                worst = max(worst, error.exit_code)
                self._report(position_number, PositionErrorDocument(text, str(error), error.code))
        with solver_watch.progress_line as line:
            for finished_job in solver.work_on([entries[0][1] for entries in jobs.values()]):
                line.clear()
                for position_number, job in jobs[finished_job.state]:
                    text = texts[position_number - 1]
                    try:
                        self._report(position_number, self._document(text, job, solver))
                    except TbgenError as error:
                        worst = max(worst, error.exit_code)
                        self._report(position_number, PositionErrorDocument(text, str(error), error.code))
        return worst

    def _document(self, text: str, job: Job, solver: Solver) -> ProvedDocument:
        proved = solver.result_of(job) or ProvedBounds(ANYTHING)
        scoring = self.options.scoring_options.scoring
        bounds = proved.bounds
        return ProvedDocument.of(
            job,
            bounds,
            fen=text,
            value=bounds.lower if bounds.exact else None,
            depth=proved.depth,
            points=EndsDocument(*(points_document(scoring, score) for score in bounds)),
            stopped_by=solver.stopped_by(job),
        )

    def _report(self, position_number: int, document: ProvedDocument | PositionErrorDocument) -> None:
        self._documents[position_number] = document
        if not self.options.json:
            print_document(document, indent=None)

    def _summary(self) -> str:
        """Return the numbers of exact, bounded, unknown and invalid positions, in words."""
        counts = Counter(map(_status, self._documents.values()))
        counts_text = ", ".join(f"{count:,} {status}" for status, count in sorted(counts.items()))
        return f"{counted(len(self._documents), 'position')}: {counts_text}"


def _status(document: ProvedDocument | PositionErrorDocument) -> str:
    if isinstance(document, PositionErrorDocument):
        return "with an error"
    if document.value is not None:
        return "exact"
    return "not known" if (document.lower, document.upper) == ANYTHING else "bounded"


class EstimateAnswer(EstimateDocument, kw_only=True):
    """An estimate, and the positions that it leaves out."""

    errors: list[PositionErrorDocument] | UnsetType = UNSET


def print_estimate(texts: Sequence[str], options: SolveOptions) -> int:
    """Print an estimate of the work to solve positions, and return the exit code of the worst error.

    :raises TbgenError: if the only position has an error.
    """
    roots: list[list[Cell]] = []
    errors: list[PositionErrorDocument] = []
    worst = 0
    with Tablebase(options.directory) as tables:
        for text in texts:
            try:
                board = job_of(text, options.accrued, tables).board
                options.warn_of_ignored_field(text, text if len(texts) > 1 else "")
                roots.append(roots_of(board, options.memory, options.mobile))
            except TbgenError as error:
                if len(texts) == 1:
                    raise
                worst = max(worst, error.exit_code)
                errors.append(PositionErrorDocument(text, str(error), error.code))
                if not options.json:
                    say(f"tbgen: {text}: {error}")
        document = estimate(roots, tables, options.threads, MAX_COUNTED_CELLS)
    if options.json:
        print_document(EstimateAnswer.of(document, errors=errors or UNSET))
    else:
        print("\n".join(_estimate_lines(document)))
    return worst


def _estimate_lines(document: EstimateDocument) -> Iterator[str]:
    """Yield the lines of text output."""
    structures = document.structures
    if not structures:
        yield f"cells     none: tables hold the {'positions' if document.positions > 1 else 'position'}"
        return
    total_text = "" if document.complete else f"more than {number(MAX_COUNTED_CELLS)}: of these "
    yield f"cells     {total_text}{number(document.cells)}, in {counted(len(structures), 'pawn structure')}"
    if promoted := sum(document.promoted.values()):
        yield f"          promotions lead to {number(promoted)} others, solved as far as the play needs them"
    if (five_mobile := document.wholes) is not None:
        costs = f"{size_text(five_mobile.memory)}, {duration(five_mobile.seconds / five_mobile.cells)} each"
        yield f"          and finally to {number(five_mobile.cells)} of five mobile men: {costs}"
    qualifier = "" if document.complete else "more than "
    yield f"time      {qualifier}{duration(document.seconds)} on {counted(document.threads, 'thread')}"
    yield f"memory    {size_text(document.memory)} for a cell"
    yield f"disk      {qualifier}{size_text(document.disk)} with --cells"
    yield ""
    sizes = sorted({size for structure in structures for size in structure.cells}, key=int, reverse=True)
    mobile = [f"{round(log(int(size), 64))} mobile" for size in sizes]
    rows = [["pawns of White", "of Black", *mobile, "time"]]
    for structure in structures[:_MAX_STRUCTURES]:
        pawns = (" ".join(squares) or "-" for squares in (structure.white, structure.black))
        cells = (number(structure.cells[size]) if size in structure.cells else "" for size in sizes)
        rows.append([*pawns, *cells, duration(structure.seconds)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        pairs = list(zip(row, widths, strict=True))
        texts = [cell.ljust(width) for cell, width in pairs[:2]]
        yield "  ".join(texts + [cell.rjust(width) for cell, width in pairs[2:]])
    if len(structures) > _MAX_STRUCTURES:
        yield f"and {counted(len(structures) - _MAX_STRUCTURES, 'other structure')}"


@command
def run(*words: Annotated[str, Setting(required=True, metavar="FEN...|FILE")], options: SolveOptions) -> int:
    """Solve a position with any number of men, or many positions.

    The result is the value of the position with its accrued score, if that value can be proved. Otherwise the
    result is an interval that is proved to contain the value, with the bound that is worse for White first.

    Men are mobile or frozen. By default all kings and pieces are mobile; --mobile chooses other men, at most
    four. All positions that differ only in the squares of the mobile men form a cell, which is solved as a
    whole. Captures, pawn moves and moves of frozen men lead out of the cell, into existing tables or into
    other cells. These cells are solved as long as this narrows the interval, and time and memory last.

    With --mobile and one mobile man of each side, the answer also shows how one man holds the other: for
    every square of the man that is held, the square of the man that holds it.

    Repetition and the 50-move rule are ignored. Ctrl-C ends the work, and prints the results proved so far.

    Many positions are given as several FENs, or as a file with one FEN per line (- for standard input). The
    positions with the least estimated time come first, and solved cells are used for all positions. As soon
    as a position is done, its result or error is printed as a line of JSON. The exit code is the code of the
    worst error.

    \b
    For example:
      tbgen solve "8/4k3/5p1p/7P/4K1P1/8/8/8 w - - 22 72 G4.5"
      tbgen solve "8/k7/3p4/p2P1p2/P2P1P2/8/8/K7 w - - 0 1" --time 5m
      tbgen solve "6k1/5pp1/7p/8/8/2b4P/5PP1/3R2K1 w - - 0 1" --mobile d1,g1,g8
      tbgen solve season.fen --total 10h --results season.jsonl --cells cells

    :param words: the fields of one FEN, optionally with a seventh field, in one argument or in several; or
        several FENs; or a file of FENs
    """
    if options.stream and not options.json:
        raise UsageError("--stream prints JSON: add --json")
    lines = positions_in(words)
    texts = positions_of(words) if lines is None else lines
    if options.estimate:
        return print_estimate(texts, options)
    many = lines is not None or len(texts) > 1
    for name in ("mobile", "verify", "line", "svg", "stream") if many else ("total", "results", "jobs"):
        if getattr(options, name):
            raise UsageError(f"--{name} is for {_ONE_POSITION_HINT if many else _MANY_POSITIONS_HINT}")
    if options.svg is not None:
        from tbgen.cli.solution import PICTURES_REMEDY  # needs compiled code

        make_directory(options.svg, remedy=PICTURES_REMEDY)  # usually fails now rather than after the work
    failure = None if options.scheduler is None else _solve_cells(texts, options, options.scheduler)
    if not many:
        _solve_one(texts[0], options, failure)
        return 0
    code = PositionBatch(options, is_stopped=failure is not None).run(texts)
    if failure is not None:
        raise failure
    return code


def _solve_one(text: str, options: SolveOptions, failure: KeyboardInterrupt | TbgenError | None) -> None:
    """Solve one position, and print the result.

    :param failure: exception that has stopped the workers, or None. It is raised at the end.
    """
    # Imported here, because an estimate needs no compiled code.
    from tbgen.beyond.solver import solve
    from tbgen.beyond.statements import solution_document
    from tbgen.cli.solution import hold_text, print_stage, solution_text, write_pictures

    options.warn_of_ignored_field(text)
    fen = parse_fen(text)
    scoring = options.scoring_options.scoring
    seconds = Budget.seconds if options.time is None else options.time
    cells = None if failure is None else 0
    with ProgressLine() as progress:
        try:
            solution = solve(
                fen.board,
                fen.accrued_in(Variant.R_MOBILITY) if options.accrued is None else options.accrued,
                tables=options.directory,
                budget=Budget(seconds, options.memory, cells=cells, threads=options.threads),
                mobile=options.mobile,
                kept=None if options.cells is None else KeptCells(options.cells, options.max_kept_bytes),
                sources=options.sources,
                verify=options.verify,
                line=options.line,
                progress=print_stage if options.stream else lambda stage: progress.show(stage_text(stage)),
            )
        except SolvingInterruptedError as error:
            solution = error.solution
            failure = failure or error.interrupt
    if failure is not None and solution.value is None:
        solution = replace(solution, stopped_by=Stop.INTERRUPT)
    if options.json:
        print_document(solution_document(text, solution, scoring), None if options.stream else 2)
    else:
        print("\n".join(solution_text(fen, solution, scoring)))
        if options.mobile is not None:
            for hold in solution.holds:
                print("", *hold_text(fen.board, hold), sep="\n")
    try:
        if options.svg is not None:
            write_pictures(options.svg, fen.board, solution)
    finally:  # raised even if no picture could be written
        if failure is not None:
            raise failure


def _solve_cells(
    texts: Sequence[str], options: SolveOptions, scheduler: str
) -> KeyboardInterrupt | TbgenError | None:
    """Solve on a cluster the cells that positions lead to. Errors in positions are reported later.

    :return: the exception that has stopped the workers, or None. Results so far are kept in any case.
    :raises UsageError: if the options contradict each other.
    """
    cells = options.cells
    if cells is None or options.verify:
        raise UsageError("--scheduler needs --cells, a directory that all workers share, and no --verify")
    with options.open_results():
        pass  # an unusable file fails now rather than after the work
    with needs_extra("solving with --scheduler", "cluster"):
        from tbgen.beyond.cluster import StoppedClusterError, solve_on_cluster

    roots = []
    for text in texts:
        with suppress(UsageError):
            board = parse_fen(text).board
            validate(board)
            roots += roots_of(board, options.memory, options.mobile)
    try:
        with ProgressLine() as shown:
            solve_on_cluster(
                roots,
                [options.directory],
                cells,
                scheduler,
                lambda done, count: shown.show(f"{done} of {counted(count, 'cell')} below solved by workers"),
            )
    except (KeyboardInterrupt, StoppedClusterError) as stopped:
        return stopped
    return None
