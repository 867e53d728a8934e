"""Solving one state: from a position and an accrued score to its value, or to a proved interval."""

import logging
import math
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import Final

import chess

from tbgen.beyond.budget import Budget, Meter, SolvingInterruptedError, memory_needed
from tbgen.beyond.exit_sources import ExitSource, SyzygyExits
from tbgen.beyond.forcing import MAX_POSITIONS, QUICK_POSITIONS, Attackers
from tbgen.beyond.kept import KeptCells
from tbgen.beyond.knowledge import Known
from tbgen.beyond.ledger import ForwardProof
from tbgen.beyond.search import Search
from tbgen.beyond.solution import BoundsCollector, Solution, SolvedMove, scores
from tbgen.beyond.solved_cells import SolvedCells
from tbgen.beyond.structures import Mobile, sets_to_try
from tbgen.beyond.table_source import Tables
from tbgen.board.material import MAX_MEN
from tbgen.board.rules import Fresh, position_score, validate
from tbgen.board.score import MAX_CODED_RANK, GScore, rank_of
from tbgen.board.variant import Variant
from tbgen.cells.bounds import WORST, NoCodeError
from tbgen.cells.cell import Cell, CellPosition, mobile_squares
from tbgen.cells.cell_warmup import compile_kernels
from tbgen.cells.frames import ARRAY_MEMORY, WORKSPACES
from tbgen.cells.window import Interval
from tbgen.errors import MissingLayerError, MissingTableError, UsageError
from tbgen.probe.castling import probe_cost
from tbgen.probe.states import AnyPosition, AnyScore, accrued_in_r, read_chess
from tbgen.probe.syzygy import Syzygy
from tbgen.probe.tablebase import Tablebase
from tbgen.progress import SolveProgress, SolveStage, silent_solving
from tbgen.text import duration, size_text

_FORCING_TIME_SHARE: Final = 1 / 2
"""Share of the time for forcing moves before any cell is solved."""
_FORCING_DIVISOR: Final = 8
"""Forcing moves may use an eighth of the memory, if enough remains for the largest cell."""
_UNPACKED_CELLS_DIVISOR: Final = 4
"""Solved cells that are kept unpacked may use a quarter of the memory."""
_logger = logging.getLogger(__name__)


def solve(
    position: AnyPosition,
    accrued: AnyScore = None,
    *,
    tables: Tablebase | str | PathLike[str] | None = None,
    budget: Budget | None = None,
    mobile: Mobile = None,
    kept: KeptCells | None = None,
    syzygy: Syzygy | None = None,
    known: Known | None = None,
    verify: bool = False,
    line: bool = False,
    progress: SolveProgress = silent_solving,
) -> Solution:
    """Solve a position of any number of men in r-mobility, with an accrued score.

    The accrued score is that of ``accrued``; or else the seventh field of a FEN, the score accrued by the
    moves that a board remembers, or the position score. Repetition and the 50-move rule are ignored.

    :param position: a board or a FEN.
    :param accrued: the accrued score, as text or as a score; ``FRESH`` for the position score; None for that
        of the FEN or the board.
    :param tables: tables that may be used, or their directory; None for that of ``$TBGEN_DIR``, else
        ``data``. A position that they contain is looked up in them; otherwise they are the first exit source.
    :param budget: limits of time, memory and threads; None for 8 GiB and unlimited time.
    :param mobile: squares of the men that may move within the position's cell; ``"auto"`` for several sets in
        turn, small sets first; None for all kings and pieces if these are at most four and memory allows it,
        else ``"auto"``.
    :param kept: cells of earlier positions, to which the cells solved now are added; not used with
        ``verify``.
    :param syzygy: Syzygy files that may be used where no table has the position; they are not proved.
    :param known: the knowledge of earlier positions in memory, made by :func:`knowledge` from the same
        tables, cells and files; not used with ``verify``.
    :param verify: whether to prove all results forward; the time for this does not count against the budget.
        Tables are not proved again; ``tbgen verify`` does that.
    :param line: whether to add play that shows the proved bounds.
    :param progress: called with the progress.
    :raises SolvingInterruptedError: on an interrupt (Ctrl-C), with the solution found so far.
    :raises WrongBoundError: if the proof finds a wrong bound.
    :raises UsageError: if the position, the accrued score or the mobile men are invalid, or if the mobile men
        take more memory than is allowed.
    :raises DamagedTableError: if a table cannot be used.
    """
    board, stated = read_chess(position, accrued, Variant.R_MOBILITY)
    validate(board)
    budget = budget or Budget()
    with nullcontext(tables) if isinstance(tables, Tablebase) else Tablebase(tables) as opened:
        solution = _solution_from_tables(opened, board, stated, budget, line)
        if solution is not None:
            return replace(solution, proof=ForwardProof()) if verify else solution
        more_to_solve = known is not None  # the caller keeps this knowledge for further positions
        if known is None or verify:
            known = knowledge(opened, budget, None if verify else kept, syzygy)
        try:
            return _solve_with_cells(known, board, stated, budget, mobile, verify, line, progress)
        finally:
            known.cells.wait_for_packing()
            if not more_to_solve:
                WORKSPACES.release()
                ARRAY_MEMORY.release()


def knowledge(
    tables: Tablebase, budget: Budget, kept: KeptCells | None = None, syzygy: Syzygy | None = None
) -> Known:
    """Return the knowledge before any cell has been solved; the parameters are those of :func:`solve`."""
    others: list[ExitSource] = [] if syzygy is None else [SyzygyExits(syzygy)]  # add other exit sources here
    if kept is not None and not all(source.proved for source in others):
        kept = kept.for_unproved()
    return Known(
        Tables(tables, budget.threads), SolvedCells(kept, budget.memory // _UNPACKED_CELLS_DIVISOR), *others
    )


def _solution_from_tables(
    tables: Tablebase, board: chess.Board, stated: GScore | Fresh | None, budget: Budget, line: bool
) -> Solution | None:
    """Return the solution from tables; None if they do not hold the position."""
    if len(board.piece_map()) > MAX_MEN:
        return None
    if board.clean_castling_rights():
        _check_castling(board, budget)
    try:
        result, ranked = tables.probe(board, stated), tables.moves(board, stated)
    except MissingTableError:
        return None
    moves = tuple(
        SolvedMove(move.uci, move.san, move.zeroing, move.value, move.value, move.depth) for move in ranked
    )
    solution = Solution(
        result.position_score, result.accrued, result.value, result.value, result.depth, moves, 0
    )
    if line:
        with suppress(MissingLayerError):
            return replace(solution, line=tuple(tables.line(board, stated)))
    return solution


def _solve_with_cells(
    known: Known,
    board: chess.Board,
    stated: GScore | Fresh | None,
    budget: Budget,
    mobile: Mobile,
    verify: bool,
    line: bool,
    progress: SolveProgress,
) -> Solution:
    score = accrued_in_r(board, stated)
    sets, all_fit = sets_to_try(board, budget.memory, mobile)
    if rank_of(score) > MAX_CODED_RANK:
        raise NoCodeError(Cell.of_board(board, sets[0]))
    compile_kernels()
    collection = BoundsCollector(board, score, budget, with_holds=mobile is not None, all_fit=all_fit)
    meter = Meter(budget)
    prover = None
    if verify:
        from tbgen.beyond.proof import (
            Prover,
        )  # which imports the package verify; nothing else here probe_cost it
        from tbgen.verify.proof import ensure_compiled

        ensure_compiled(_logger.warning)
        prover = Prover(known, meter)

    def report(interval: Interval, cells: int, left: int | None = None, seconds: float | None = None) -> None:
        lower, upper = scores(collection.answer.value.within(interval))
        progress(SolveStage(lower, upper, collection.cells + cells, left, seconds))

    attackers, report_forcing = None, partial(report, WORST, 0)
    if mobile in (None, "auto") and position_score(board).rank > 1:
        # If all men are mobile, cells usually prove the bounds that forcing moves prove, and also depths.
        # Otherwise cells may prove little.
        all_mobile = max(map(len, sets)) == len(list(mobile_squares(board)))
        besides_cell = budget.memory - memory_needed(64 ** max(map(len, sets)))
        memory = min(budget.memory // _FORCING_DIVISOR, besides_cell // 2)
        arguments = board, score, known.tables.fresh_value, meter, memory
        attackers = Attackers(*arguments, checks_only=all_mobile)
        most = QUICK_POSITIONS if all_mobile else MAX_POSITIONS
        collection.attack(attackers, report_forcing, prover, most, _FORCING_TIME_SHARE, add=not all_mobile)
    for squares in sets:
        root = CellPosition(board.copy(stack=False), int(chess.SquareSet(squares)))
        collection.add(Search(known, root, collection.accrued, meter, report, prover))
        if collection.answer.value.exact or collection.interrupt is not None:
            break
    if attackers is not None:
        collection.attack(attackers, report_forcing, prover)
    collection.finish(attackers)
    solution = collection.solution(line)
    if prover is not None:
        solution = replace(solution, proof=prover.proof)
    if collection.interrupt is not None:
        raise SolvingInterruptedError(solution, collection.interrupt)
    return solution


def _check_castling(board: chess.Board, budget: Budget) -> None:
    """Check that the budget allows solving a position with castling rights.

    :raises UsageError: if it does not.
    """
    seconds, memory = probe_cost(board)
    if seconds and (seconds > budget.seconds or memory > budget.memory):
        takes = f"{duration(seconds)} and {size_text(memory)} of memory"
        time = "" if math.isinf(budget.seconds) else f"{duration(budget.seconds)} and "
        allowed = f"{time}{size_text(budget.memory)}"
        raise UsageError(
            f"with castling rights this position takes about {takes}, but only {allowed} are allowed: "
            "allow more"
        )
