"""``tbgen solve``: the value of a position beyond the tables, or an interval that is proved."""

from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final

import chess

from tbgen.board.fen import parse_fen
from tbgen.board.validity import validate
from tbgen.board.variant import Variant
from tbgen.cli.batch import PositionBatch, positions_in
from tbgen.cli.estimate import print_estimate
from tbgen.cli.options import (
    Accrued,
    AsJson,
    CellDirectory,
    Count,
    Directory,
    Parsed,
    ScoringOptions,
    Setting,
    Size,
    SyzygyFiles,
    TableDirectory,
    Time,
    command,
)
from tbgen.cli.probe import positions_of
from tbgen.cli.progress import ProgressLine, stage_text
from tbgen.cli.solving import Means
from tbgen.cli.streams import print_json, say
from tbgen.errors import TbgenError, UsageError, quote
from tbgen.extras import needs_extra
from tbgen.solve.budget import Budget, SolvingInterruptedError, Stop
from tbgen.solve.kept import DEFAULT_BYTES, KeptCells
from tbgen.solve.plan import roots_of
from tbgen.solve.results import open_results
from tbgen.solve.sets import Mobile
from tbgen.text import counted

_ONE: Final = "one position: leave it out, or give one FEN"
_MANY: Final = "many positions: leave it out, or give a file of them"


def _mobile(text: str) -> Mobile:
    if text == "auto":
        return "auto"
    names = [name.strip().lower() for name in text.split(",")]
    for name in names:
        if name not in chess.SQUARE_NAMES:
            raise UsageError(f"{quote(name)} is not a square: give squares such as e4,f6")
    if len(set(names)) < len(names):
        raise UsageError(f"{quote(text)} names a square twice")
    return list(map(chess.parse_square, names))


@command
def run(
    *words: Annotated[str, Setting(required=True, metavar="FEN...|FILE")],
    accrued: Accrued,
    mobile: Annotated[Any, Parsed("SQUARES|auto", _mobile)],
    time: Time | None,
    total: Time | None,
    memory: Size = 8 << 30,
    threads: Count = Budget.threads,
    cells: CellDirectory,
    scheduler: Annotated[str | None, Setting(metavar="ADDRESS")],
    results: Annotated[Path | None, Setting(metavar="FILE")],
    syzygy: SyzygyFiles,
    estimate: bool,
    verify: bool,
    line: bool,
    svg: Directory | None,
    points: ScoringOptions,
    json: AsJson,
    stream: bool,
    directory: TableDirectory,
) -> int:
    """Solve a position with any number of men, or many positions.

    The result is the value of the position with its accrued score if it can be proved, else an interval that
    is proved to contain the value, with the end that is worse for White first.

    Men are mobile or frozen. By default all kings and pieces are mobile; --mobile chooses others, at most
    four. All positions that differ only in the squares of the mobile men are a cell, which is solved as a
    whole. Captures, pawn moves and moves of frozen men lead out of the cell: into existing tables, or else
    into other cells, which are solved as long as this narrows the interval and time and memory last.

    With --mobile and one mobile man of each side, the answer also shows how one man holds the other: its
    square for every square of the other man.

    Repetition and the 50-move rule are ignored. Ctrl-C ends the work, and prints what is proved by then.

    Many positions are several FENs, or a file with one in each line (- for standard input). Those that should
    take the least time come first, and solved cells serve all of them. As soon as one is done, a line of JSON
    tells what is proved of it, or what is wrong with it; the exit code is that of the worst error.

    \b
    For example:
      tbgen solve "8/4k3/5p1p/7P/4K1P1/8/8/8 w - - 22 72 G4.5"
      tbgen solve "8/k7/3p4/p2P1p2/P2P1P2/8/8/K7 w - - 0 1" --time 5m
      tbgen solve "6k1/5pp1/7p/8/8/2b4P/5PP1/3R2K1 w - - 0 1" --mobile d1,g1,g8
      tbgen solve season.fen --total 10h --results season.jsonl --cells cells

    :param words: the fields of one FEN, optionally with a seventh, in one argument or in several; or several
        FENs, or a file of them
    :param mobile: squares of the mobile men, such as e4,f6; auto tries one set after another, small ones
        first (default: all kings and pieces, or auto if there are more than four, or than memory allows)
    :param time: time to spend on a position (default: as much as helps)
    :param total: time to spend on many positions together (default: no limit)
    :param memory: memory to use (default: 8G)
    :param threads: threads; more than two bring little (default: 2)
    :param scheduler: first solve the cells below the positions, without promotions, on the workers of this
        Dask scheduler, such as tcp://host:8786; all must share --cells and the tables (docs/cluster.md)
    :param results: keep what is proved of many positions in a file, created if missing, and use its results,
        so that the same command resumes an interrupted run
    :param estimate: solve nothing, and print what it should take: cells by pawn structure and size, time,
        memory, disk
    :param verify: prove the results forward; this does not count towards --time
    :param line: add the play behind the result
    :param svg: write a picture of the value or of each end of the interval to DIR, and of each hold
    :param json: print one JSON document, for many positions a list in their order
    :param stream: with --json: print a line for every interval found, and the document as the last line
    """
    if stream and not json:
        raise UsageError("--stream is a way to print JSON: give --json too")
    lines = positions_in(words)
    texts = positions_of(words) if lines is None else lines
    if estimate:
        return print_estimate(texts, accrued, mobile, memory, threads, directory, json)
    many = lines is not None or len(texts) > 1
    alone = {"mobile": mobile, "verify": verify, "line": line, "svg": svg, "stream": stream}
    misplaced = alone if many else {"total": total, "results": results}
    for name in (name for name, value in misplaced.items() if value):
        raise UsageError(f"--{name} is for {_ONE if many else _MANY}")
    halt, most_kept = None, DEFAULT_BYTES if scheduler is None else None
    if scheduler is not None:
        if cells is None or verify:
            raise UsageError("--scheduler needs --cells, a directory that all workers share, and no --verify")
        with nullcontext() if results is None else open_results(results, "--results"):
            pass  # what is wrong with it is said before there is any work
        halt = _solve_below(texts, scheduler, cells, memory, mobile, directory)
    if many:
        means = Means(time, total, memory, threads, cells, syzygy, most_kept)
        stopped = halt is not None
        code = PositionBatch(means, results, accrued, points.scoring, directory, json, stopped).run(texts)
        if halt is not None:
            raise halt
        return code
    # What takes compiled code is imported now, for an estimate does without.
    from tbgen.cli.holds import hold_text
    from tbgen.cli.pictures import write_pictures
    from tbgen.cli.solution import print_stage, solution_text
    from tbgen.solve.documents import SolutionDocument
    from tbgen.solve.solver import solve

    fen = parse_fen(texts[0])
    if accrued is None and (note := fen.note(Variant.R_MOBILITY)):
        say(f"tbgen: {note}")
    seconds, most = Budget.seconds if time is None else time, None if halt is None else 0
    with ProgressLine() as shown:
        try:
            solution = solve(
                fen.board,
                fen.accrued_in(Variant.R_MOBILITY) if accrued is None else accrued,
                tables=directory,
                budget=Budget(seconds, memory, cells=most, threads=threads),
                mobile=mobile,
                kept=None if cells is None else KeptCells(cells, most_kept),
                syzygy=syzygy,
                verify=verify,
                line=line,
                progress=print_stage if stream else lambda stage: shown.show(stage_text(stage)),
            )
        except SolvingInterruptedError as error:
            solution, halt = error.solution, halt or error.interrupt
    if halt is not None and solution.value is None:
        solution = replace(solution, stopped_by=Stop.INTERRUPT)
    if json:
        document = SolutionDocument.of(texts[0], solution, points.scoring)
        print_json(document.plain(), indent=None if stream else 2)
    else:
        print("\n".join(solution_text(fen, solution, points.scoring)))
        if mobile is not None:
            for hold in solution.holds:
                print("", *hold_text(fen.board, hold), sep="\n")
    try:
        if svg is not None:
            write_pictures(svg, fen.board, solution)
    finally:  # an interruption counts, whatever there is to show
        if halt is not None:
            raise halt
    return 0


def _solve_below(
    texts: Sequence[str], scheduler: str, cells: Path, memory: int, mobile: Mobile, directory: Path
) -> KeyboardInterrupt | TbgenError | None:
    """Solve the cells below positions on a cluster; what is wrong with a position is said later.

    :return: what has stopped the workers, if anything: then the answer is what is known.
    """
    with needs_extra("solving with --scheduler", "cluster"):
        from tbgen.solve.cluster.client import StoppedClusterError, solve_on_cluster

    roots = []
    for text in texts:
        with suppress(UsageError):
            board = parse_fen(text).board
            validate(board)
            roots += roots_of(board, memory, mobile)
    try:
        with ProgressLine() as shown:
            solve_on_cluster(
                roots,
                [directory],
                cells,
                scheduler,
                lambda done, count: shown.show(f"{done} of {counted(count, 'cell')} below solved by workers"),
            )
    except (KeyboardInterrupt, StoppedClusterError) as stopped:
        return stopped
    return None
