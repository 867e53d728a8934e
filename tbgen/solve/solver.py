"""Solving one state: from a position and an accrued score to its value, or an interval that is proved."""

import contextlib
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from os import PathLike
from typing import Final, Literal, TypeAlias

import chess

from tbgen.board.history import FRESH, Fresh, accrued_score
from tbgen.board.material import MAX_MEN
from tbgen.board.mobility import own_score
from tbgen.board.score import GScore
from tbgen.board.signed import code_of, fold, of_gscore, to_gscore
from tbgen.board.validity import validate
from tbgen.board.variant import Variant
from tbgen.cells.bounds import ENDS
from tbgen.cells.cell import Cell, mobile_squares
from tbgen.cells.position import CellPosition
from tbgen.cells.warmup import compile_kernels
from tbgen.errors import MissingLayerError, MissingTableError, UsageError
from tbgen.probe.castling.homes import needs
from tbgen.probe.states import AnyPosition, AnyScore, read
from tbgen.probe.tablebase import Tablebase
from tbgen.solve import warmup
from tbgen.solve.budget import Budget
from tbgen.solve.kept import KeptCells
from tbgen.solve.knowledge import Known
from tbgen.solve.line import Lines
from tbgen.solve.meter import memory_needed
from tbgen.solve.proof import ForwardProof, Prover
from tbgen.solve.search import Search
from tbgen.solve.sets import sets_worth_trying
from tbgen.solve.solution import Collection, Solution, SolvedMove, scores
from tbgen.solve.syzygy import Syzygy
from tbgen.solve.tables import Tables
from tbgen.text import counted, duration, size_text

MOST_MOBILE: Final = 4
"""Most men of a cell that are mobile: 64 ** 4 slots for each side to move."""
Mobile: TypeAlias = Iterable[chess.Square] | Literal["auto"] | None
Progress = Callable[[GScore, GScore, int], None]
"""Called with both ends of the interval now, and the number of cells solved."""


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
    progress: Progress = lambda *_: None,
) -> Solution:
    """Solve a position of any number of men in r-mobility, with an accrued score.

    The accrued score is the given one, else that of a FEN's seventh field, else that of the moves which a
    board remembers, else the position's own. Repetition and the 50-move rule play no part.

    :param tables: tables that may be used, or their directory; None for that of ``$TBGEN_DIR``, else
        ``data``. What they hold is read there; for what moves lead to, those of plain form are used.
    :param budget: a minute and 8 GiB if None.
    :param mobile: squares of the men that may move within the position's cell; ``"auto"`` for one set after
        the other, the small ones first; None for all kings and pieces if these are no more than four, else
        ``"auto"``.
    :param kept: cells of earlier positions, and where those solved now are kept; not used with ``verify``.
    :param syzygy: Syzygy files that may be used where no table says more; they are not proved.
    :param verify: whether to prove forward all that is found in cells, in time that does not count; tables
        are proved by ``tbgen verify``.
    :param line: whether to add the play that shows what is proved.
    :raises WrongBoundError: if the proof finds something wrong.
    :raises UsageError: if play cannot go on from the position, the accrued score or the mobile men mean
        nothing, or there are more men to be mobile than memory allows.
    :raises DamagedTableError: if a table cannot be used.
    :raises TbgenError: if a cell cannot be kept.
    """
    board, told = read(given, accrued, Variant.R_MOBILITY)
    validate(board)
    if not isinstance(tables, Tablebase):
        with Tablebase(tables) as opened:
            return solve(
                board,
                told,
                tables=opened,
                budget=budget,
                mobile=mobile,
                kept=kept,
                syzygy=syzygy,
                verify=verify,
                line=line,
                progress=progress,
            )
    if len(board.piece_map()) <= MAX_MEN:
        if board.clean_castling_rights():
            _check_castling(board, budget or Budget())
        with contextlib.suppress(MissingTableError):
            solution = _in_tables(tables, board, told)
            if line:
                with contextlib.suppress(MissingLayerError):
                    solution = replace(solution, line=tuple(tables.line(board, told)))
            return replace(solution, proof=ForwardProof()) if verify else solution
    return _by_cells(tables, board, told, budget or Budget(), mobile, kept, syzygy, progress, verify, line)


def _in_tables(tables: Tablebase, board: chess.Board, told: GScore | Fresh | None) -> Solution:
    """Return what the tables say.

    :raises MissingTableError: if they do not hold the position.
    """
    result, ranked = tables.probe(board, told), tables.moves(board, told)
    moves = tuple(
        SolvedMove(move.uci, move.san, move.zeroing, move.value, move.value, move.depth) for move in ranked
    )
    return Solution(
        result.position_score, result.accrued, result.value, result.value, result.depth, moves, 0, True
    )


def _by_cells(
    tables: Tablebase,
    board: chess.Board,
    told: GScore | Fresh | None,
    budget: Budget,
    mobile: Mobile,
    kept: KeptCells | None,
    syzygy: Syzygy | None,
    progress: Progress,
    verify: bool,
    line: bool,
) -> Solution:
    if board.clean_castling_rights():
        raise UsageError(
            f"the position has castling rights, and it takes at most {MAX_MEN} men, and their "
            "tables, to solve it with them"
        )
    own = own_score(board)
    score = _accrued(board, told, own)
    code = code_of(of_gscore(score))
    sets, all_fit = _sets(board, budget, mobile)
    compile_kernels()
    if verify:
        warmup.compile_kernels()
    collection = Collection(board, with_holds=mobile is not None, in_budget=all_fit)
    began = time.perf_counter()
    with Tables(*tables.directories) as sources:
        known = Known(sources, tables, MOST_MOBILE, None if verify else kept, syzygy)
        prover = Prover(known) if verify else None
        for squares in sets:
            left = replace(
                budget,
                seconds=budget.seconds - (time.perf_counter() - began) + (prover.seconds if prover else 0),
                cells=None if budget.cells is None else budget.cells - collection.cells,
            )
            root = CellPosition(board.copy(stack=False), int(chess.SquareSet(squares)))
            search = Search(
                known,
                root,
                score,
                left,
                MOST_MOBILE,
                lambda interval, cells: progress(
                    *scores(collection.with_(interval)), collection.cells + cells
                ),
                prover,
            )
            collection.add(search, root, code)
            if collection.exact:
                break
        solution = collection.solution(own, score)
        if line and collection.found:
            lines = Lines(collection.found, known, tables, MOST_MOBILE)
            if collection.exact:
                solution = replace(solution, line=lines.exact(code))
            else:
                lower, upper = (lines.of_end(code, end) for end in ENDS)
                solution = replace(solution, lines=(lower, upper))
    return solution if prover is None else replace(solution, proof=prover.proof)


def _sets(board: chess.Board, budget: Budget, mobile: Mobile) -> tuple[list[tuple[chess.Square, ...]], bool]:
    """Return the sets of men to let move, one after the other, and whether memory allows all of them."""
    squares = tuple(mobile_squares(board))
    if mobile is None and len(squares) > MOST_MOBILE:
        mobile = "auto"
    if mobile == "auto":
        sets = list(sets_worth_trying(board, MOST_MOBILE))
        fitting = [some for some in sets if memory_needed(64 ** len(some)) <= budget.memory]
        if not fitting:
            _check_memory(len(sets[0]), budget)
        return fitting, len(fitting) == len(sets)
    if mobile is not None:
        squares = tuple(mobile)
    if len(squares) > MOST_MOBILE:
        raise UsageError(
            f"{_men(len(squares))} are more than the {MOST_MOBILE} that there is room for: choose them with "
            "--mobile, the others stand still, or leave the choice to --mobile auto"
        )
    _check_memory(len(squares), budget)
    Cell.of_board(board, squares)
    return [squares], True


def _check_memory(number: int, budget: Budget) -> None:
    needed = memory_needed(64**number)
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


def _accrued(board: chess.Board, accrued: GScore | Fresh | None, own: GScore) -> GScore:
    """Return the accrued score that counts, with the position's own folded in."""
    if own.rank < 2 or board.has_legal_en_passant():
        return own
    if accrued is None and board.move_stack:
        accrued = accrued_score(board, Variant.R_MOBILITY)
    if accrued is None or accrued is FRESH:
        return own
    if accrued.rank < 2:
        raise UsageError(f"the accrued score {accrued} ends the game, and here it goes on")
    return to_gscore(fold(of_gscore(accrued), of_gscore(own)))
