"""Solving one state: from a position and an accrued score to its value or a proved interval."""

import math
from collections.abc import Iterable
from contextlib import nullcontext, suppress
from dataclasses import replace
from os import PathLike
from typing import Final

import chess

from tbgen.beyond.attempt import Attempt
from tbgen.beyond.budget import Budget, SolvingInterruptedError
from tbgen.beyond.extra_sources import ExtraSources
from tbgen.beyond.kept import KeptCells
from tbgen.beyond.knowledge import ExitBounds
from tbgen.beyond.ledger import ForwardProof
from tbgen.beyond.solution import Solution, SolvedMove
from tbgen.beyond.solved_cells import SolvedCells
from tbgen.beyond.structures import MobileChoice
from tbgen.beyond.table_source import Tables, require_r_mobility
from tbgen.board.material import MAX_MEN
from tbgen.board.rules import Fresh, validate
from tbgen.board.score import GScore
from tbgen.board.variant import Variant
from tbgen.cells.frames import ARRAY_MEMORY, WORKSPACES
from tbgen.errors import (
    MissingLayerError,
    MissingTableError,
    UsageError,
    quote,
    require_truth,
    require_type,
    require_whole,
)
from tbgen.probe.castling import probe_cost
from tbgen.probe.states import AnyPosition, AnyScore, accrued_in_r_mobility, read_chess_position
from tbgen.probe.syzygy import Syzygy
from tbgen.probe.tablebase import Tablebase, open_tablebase
from tbgen.progress import SolveProgress, ignore_solve_progress
from tbgen.text import duration, size_text

_UNPACKED_CELLS_DIVISOR: Final = 4
"""The memory for open (unpacked) cells is at most the memory of the budget divided by this number."""


def solve(
    position: AnyPosition,
    accrued: AnyScore = None,
    *,
    tables: Tablebase | str | PathLike[str] | None = None,
    budget: Budget | None = None,
    mobile: MobileChoice = None,
    kept: KeptCells | None = None,
    syzygy: Syzygy | None = None,
    sources: ExtraSources | None = None,
    known: ExitBounds | None = None,
    verify: bool = False,
    line: bool = False,
    progress: SolveProgress = ignore_solve_progress,
) -> Solution:
    """Solve a position with any number of men in r-mobility, for a given accrued score.

    Repetition and the 50-move rule are ignored.

    :param position: a board or a FEN.
    :param accrued: the accrued score, as text or as a score; ``FRESH`` for the position score. If None, the
        accrued score is the seventh field of a FEN, or the score accrued by the moves that a board remembers.
        If there is neither, it is the position score.
    :param tables: tables of r-mobility that may be used, or their directory. If None, the directory is
        ``$TBGEN_DIR``, or ``data`` if this variable is not set; this directory may be missing. If the tables
        contain the position, it is looked up. Otherwise they are the first exit source.
    :param budget: limits of time, memory and threads; None for 8 GiB and unlimited time.
    :param mobile: squares of the men that may move within the position's cell. ``"auto"`` tries several sets
        in turn, small sets first. None means all kings and pieces if there are at most four and memory
        suffices, and otherwise ``"auto"``.
    :param kept: cells kept on disk from earlier positions. The cells solved now are added. Not used with
        ``verify``.
    :param syzygy: Syzygy files that may be used if no table has a position. They are not proved.
    :param sources: all exit sources besides tables and cells, instead of ``syzygy``.
    :param known: bounds and cells kept in memory from earlier positions, made by :func:`make_exit_bounds`
        from the same tables, cells and files. Not used with ``verify``.
    :param verify: whether to prove all results forward. The time for this does not count against the budget.
        Tables are not proved again; ``tbgen verify`` proves them.
    :param line: whether to add play that shows the value or the proved bounds.
    :param progress: called with the progress from time to time.
    :raises SolvingInterruptedError: on an interrupt (Ctrl-C), with the solution found so far.
    :raises WrongBoundError: if the proof finds a wrong bound.
    :raises UsageError: if the position, the accrued score or the mobile men are invalid, if there is no such
        directory, if the tables are of another variant, or if the mobile men need more memory than the budget
        allows.
    :raises DamagedTableError: if a table cannot be used.
    :raises TypeError: if an argument has a wrong type.
    """
    require_type("the budget", budget, Budget | None, "tbgen.Budget")
    require_type("the mobile men", mobile, Iterable | None, "squares")
    require_type("kept", kept, KeptCells | None, "tbgen.beyond.kept.KeptCells")
    require_type("syzygy", syzygy, Syzygy | None, "tbgen.Syzygy")
    require_type("sources", sources, ExtraSources | None, "tbgen.beyond.extra_sources.ExtraSources")
    require_type("known", known, ExitBounds | None, "the result of tbgen.beyond.solver.make_exit_bounds")
    if not callable(progress):
        raise TypeError(f"progress cannot be {type(progress).__name__}: expected a function")
    require_truth("verify", verify)
    require_truth("line", line)
    if isinstance(mobile, str) and mobile != "auto":
        raise UsageError(f"{quote(mobile)} names no mobile men: expected squares such as chess.E4, or 'auto'")
    if mobile is not None and not isinstance(mobile, str):
        mobile = tuple(mobile)
        for square in mobile:
            require_whole("square of a mobile man", square, 0, 63)
        mobile = tuple(map(int, mobile))
    board, stated_score = read_chess_position(position, accrued, Variant.R_MOBILITY)
    validate(board)
    budget = budget or Budget()
    with nullcontext(tables) if isinstance(tables, Tablebase) else open_tablebase(tables) as opened:
        require_r_mobility(opened)
        solution = _solution_from_tables(opened, board, stated_score, budget, line)
        if solution is not None:
            return replace(solution, proof=ForwardProof()) if verify else solution
        more_to_solve = known is not None  # the caller keeps this knowledge for further positions
        if known is None or verify:
            known = make_exit_bounds(
                opened, budget, kept=None if verify else kept, extra=sources or ExtraSources(syzygy)
            )
        try:
            score = accrued_in_r_mobility(board, stated_score)
            attempt = Attempt(known, board, score, budget, mobile, verify, progress)
            attempt.run()
            solution = attempt.solution(line)
            if attempt.interrupt is not None:
                raise SolvingInterruptedError(solution, attempt.interrupt)
            return solution
        finally:
            known.cells.wait_for_packing()
            if not more_to_solve:
                WORKSPACES.release()
                ARRAY_MEMORY.release()


def make_exit_bounds(
    tables: Tablebase, budget: Budget, kept: KeptCells | None, extra: ExtraSources
) -> ExitBounds:
    """Return the combined bounds of the exit sources, with no cell solved yet.

    The parameters are those of :func:`solve`.
    """
    sources = extra.exit_sources()
    if kept is not None and not all(source.proved for source in sources):
        kept = kept.unproved_cells()
    return ExitBounds(
        Tables(tables, budget.threads), SolvedCells(kept, budget.memory // _UNPACKED_CELLS_DIVISOR), *sources
    )


def _solution_from_tables(
    tables: Tablebase, board: chess.Board, stated_score: GScore | Fresh | None, budget: Budget, line: bool
) -> Solution | None:
    """Return the solution from tables; None if they do not contain the position."""
    if len(board.piece_map()) > MAX_MEN:
        return None
    if board.clean_castling_rights():
        _check_castling(board, budget)
    try:
        result, ranked = tables.probe(board, stated_score), tables.moves(board, stated_score)
    except MissingTableError:
        return None
    moves = tuple(
        SolvedMove(move.uci, move.san, move.zeroing, move.value, move.value, move.depth) for move in ranked
    )
    scores = result.position_score, result.accrued, result.value, result.value
    solution = Solution(*scores, result.depth, moves, 0, fen=board.fen())
    if line:
        with suppress(MissingLayerError):
            return replace(solution, line=tuple(tables.line(board, stated_score)))
    return solution


def _check_castling(board: chess.Board, budget: Budget) -> None:
    """Check that the budget allows probing a position with castling rights.

    :raises UsageError: if the budget does not allow it.
    """
    seconds, memory = probe_cost(board)
    if seconds and (seconds > budget.seconds or memory > budget.memory):
        needed = f"{duration(seconds)} and {size_text(memory)} of memory"
        time_allowed = "" if math.isinf(budget.seconds) else f"{duration(budget.seconds)} and "
        allowed = f"{time_allowed}{size_text(budget.memory)}"
        raise UsageError(
            f"with castling rights this position takes about {needed}, but only {allowed} are allowed: "
            "allow more"
        )
