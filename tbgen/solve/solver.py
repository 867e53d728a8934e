"""Solving one state: from a position and an accrued score to its value, or an interval that is proved."""

import logging
from collections.abc import Iterable
from contextlib import nullcontext, suppress
from dataclasses import replace
from os import PathLike
from typing import Final, Literal, TypeAlias

import chess

from tbgen.board.history import Fresh
from tbgen.board.material import MAX_MEN
from tbgen.board.mobility import own_score
from tbgen.board.score import GScore
from tbgen.board.signed import code_of, of_gscore
from tbgen.board.validity import validate
from tbgen.board.variant import Variant
from tbgen.cells.bounds import Interval
from tbgen.cells.cell import MOST_MOBILE, Cell, mobile_squares
from tbgen.cells.position import CellPosition
from tbgen.cells.warmup import compile_kernels
from tbgen.errors import MissingLayerError, MissingTableError, UsageError
from tbgen.probe.castling.homes import needs
from tbgen.probe.states import AnyPosition, AnyScore, folded_score, read
from tbgen.probe.syzygy import Syzygy
from tbgen.probe.tablebase import Tablebase
from tbgen.progress import SolveProgress, SolveStage, silent_solving
from tbgen.solve.budget import Budget, SolvingInterruptedError
from tbgen.solve.kept import KeptCells
from tbgen.solve.knowledge import Known
from tbgen.solve.meter import Meter, memory_needed
from tbgen.solve.proof import ForwardProof, Prover
from tbgen.solve.search import Search
from tbgen.solve.sets import sets_worth_trying
from tbgen.solve.solution import Collection, Solution, SolvedMove, scores
from tbgen.solve.solved_cells import SolvedCells
from tbgen.solve.syzygy import SyzygyExits
from tbgen.solve.tables import Tables
from tbgen.text import counted, duration, size_text
from tbgen.verify.warmup import ensure_compiled

Mobile: TypeAlias = Iterable[chess.Square] | Literal["auto"] | None
_LEAST_MOBILE: Final = 2
"""Men that there has to be memory for, whichever are chosen: the kings."""
_logger = logging.getLogger(__name__)


def solve(
    given: AnyPosition,
    accrued: AnyScore = None,
    *,
    tables: Tablebase | str | PathLike[str] | None = None,
    budget: Budget | None = None,
    mobile: Mobile = None,
    kept: KeptCells | None = None,
    syzygy: Syzygy | None = None,
    verify: bool = False,
    line: bool = False,
    progress: SolveProgress = silent_solving,
) -> Solution:
    """Solve a position of any number of men in r-mobility, with an accrued score.

    The accrued score is the given one, else that of a FEN's seventh field, else that of the moves which a
    board remembers, else the position's own. Repetition and the 50-move rule play no part.

    :param given: the position: a board or a FEN.
    :param accrued: the accrued score, as text or as a score; ``FRESH`` for the position's own; None for that
        of the FEN or the board, as above.
    :param tables: tables that may be used, or their directory; None for that of ``$TBGEN_DIR``, else
        ``data``. What they hold is read there; for what moves lead to, those of plain form are used.
    :param budget: a minute and 8 GiB if None.
    :param mobile: squares of the men that may move within the position's cell; ``"auto"`` for one set after
        the other, the small ones first; None for all kings and pieces if these are no more than four and
        memory allows it, else ``"auto"``.
    :param kept: cells of earlier positions, and where those solved now are kept; not used with ``verify``.
    :param syzygy: Syzygy files that may be used where no table says more; they are not proved.
    :param verify: whether to prove forward all that is found in cells, in time that does not count; tables
        are proved by ``tbgen verify``.
    :param line: whether to add the play that shows what is proved.
    :param progress: called with how far it has come.
    :raises SolvingInterruptedError: if it is interrupted (Ctrl-C), with the solution by then.
    :raises WrongBoundError: if the proof finds something wrong.
    :raises UsageError: if play cannot go on from the position, the accrued score or the mobile men mean
        nothing, or there are more men to be mobile than memory allows.
    :raises DamagedTableError: if a table cannot be used.
    :raises TbgenError: if a cell cannot be kept.
    """
    board, told = read(given, accrued, Variant.R_MOBILITY)
    validate(board)
    budget = budget or Budget()
    with nullcontext(tables) if isinstance(tables, Tablebase) else Tablebase(tables) as opened:
        solution = _in_tables(opened, board, told, budget, line)
        if solution is not None:
            return replace(solution, proof=ForwardProof()) if verify else solution
        others = [] if syzygy is None else [SyzygyExits(syzygy)]  # and other exit sources
        known = Known(Tables(opened, budget.threads), SolvedCells(None if verify else kept), *others)
        return _by_cells(known, board, told, budget, mobile, verify, line, progress)


def _in_tables(
    tables: Tablebase, board: chess.Board, told: GScore | Fresh | None, budget: Budget, line: bool
) -> Solution | None:
    """Return what the tables say, None if they do not hold the position."""
    if len(board.piece_map()) > MAX_MEN:
        return None
    if board.clean_castling_rights():
        _check_castling(board, budget)
    try:
        result, ranked = tables.probe(board, told), tables.moves(board, told)
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
            return replace(solution, line=tuple(tables.line(board, told)))
    return solution


def _by_cells(
    known: Known,
    board: chess.Board,
    told: GScore | Fresh | None,
    budget: Budget,
    mobile: Mobile,
    verify: bool,
    line: bool,
    progress: SolveProgress,
) -> Solution:
    if board.clean_castling_rights():
        raise UsageError(
            f"the position has castling rights, and it takes at most {MAX_MEN} men, and their "
            "tables, to solve it with them"
        )
    own = own_score(board)
    score = of_gscore(own)
    if own.rank >= 2 and not board.has_legal_en_passant():
        score = folded_score(board, told, score, Variant.R_MOBILITY)
    sets, all_fit = _sets(board, budget, mobile)
    compile_kernels()
    if verify:
        ensure_compiled(_logger.warning)
    collection = Collection(board, code_of(score), with_holds=mobile is not None, all_fit=all_fit)
    meter = Meter(budget)
    prover = Prover(known, meter) if verify else None

    def report(interval: Interval, cells: int, left: int | None = None, seconds: float | None = None) -> None:
        lower, upper = scores(collection.answer.value.within(interval))
        progress(SolveStage(lower, upper, collection.cells + cells, left, seconds))

    for squares in sets:
        root = CellPosition(board.copy(stack=False), int(chess.SquareSet(squares)))
        collection.add(Search(known, root, collection.accrued, meter, report, prover))
        report(collection.answer.value, 0)
        if collection.answer.value.exact or collection.interrupt is not None:
            break
    solution = collection.solution(line)
    if prover is not None:
        solution = replace(solution, proof=prover.proof)
    if collection.interrupt is not None:
        raise SolvingInterruptedError(solution, collection.interrupt)
    return solution


def _sets(board: chess.Board, budget: Budget, mobile: Mobile) -> tuple[list[tuple[chess.Square, ...]], bool]:
    """Return the sets of men to let move, one after the other, and whether memory allows all of them."""
    men = tuple(mobile_squares(board))
    if mobile is None or mobile == "auto":
        _check_memory(_LEAST_MOBILE, budget)
        room = max(number for number in range(MOST_MOBILE + 1) if _memory(number) <= budget.memory)
        if mobile is None and len(men) <= room:
            return [men], True
        return list(sets_worth_trying(board, room)), room >= min(len(men), MOST_MOBILE)
    squares = tuple(mobile)
    if len(squares) > MOST_MOBILE:
        raise UsageError(
            f"{_men(len(squares))} are more than the {MOST_MOBILE} that there is room for: choose them with "
            "--mobile, the others stand still, or leave the choice to --mobile auto"
        )
    _check_memory(len(squares), budget)
    Cell.of_board(board, squares)
    return [squares], True


def _memory(number: int) -> int:
    """Return about how many bytes a cell with a number of mobile men takes."""
    return memory_needed(64**number)


def _check_memory(number: int, budget: Budget) -> None:
    needed = _memory(number)
    if needed > budget.memory:
        raise UsageError(
            f"a cell with {_men(number)} takes {size_text(needed)} of memory, and {size_text(budget.memory)} "
            "are allowed: let fewer men be mobile, or allow more memory"
        )


def _check_castling(board: chess.Board, budget: Budget) -> None:
    """Refuse a position with castling rights that takes more than it may; small ones take next to nothing."""
    seconds, memory = needs(board)
    if seconds and (seconds > budget.seconds or memory > budget.memory):
        takes = f"{duration(seconds)} and {size_text(memory)} of memory"
        allowed = f"{duration(budget.seconds)} and {size_text(budget.memory)}"
        raise UsageError(
            f"with castling rights this position takes about {takes}, and {allowed} are allowed: allow more"
        )


def _men(number: int) -> str:
    return counted(number, "mobile man", "mobile men")
