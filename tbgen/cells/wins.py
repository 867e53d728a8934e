"""Finding the positions of a cell in which White forces mate, one bit for each position.

The value of a forced mate is G0.0 whatever its depth, so accrued scores do not matter for play within the
cell. This search takes a hundredth of the work of finding all values. Every win that it finds is proved, but
it does not find all wins (:mod:`tbgen.cells.kernels.wins`).
"""

from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import repeat
from typing import Final, TypeAlias

import chess
import numpy as np
from numpy.typing import NDArray

from tbgen.board.kinds import PROMOTIONS
from tbgen.cells.cell import PAWN, Cell, man_of
from tbgen.cells.frames import frame_of_cell
from tbgen.cells.kernels.wins import WinSearch, find_capture_wins, find_lost_positions, record_wins
from tbgen.compiler.jit import python_of
from tbgen.index.arrays import equal_parts, has_bit
from tbgen.index.layout import BLACK_TO_MOVE, WHITE_TO_MOVE, Side
from tbgen.moves.kernels.frame import mark_legal
from tbgen.moves.kernels.moves import move_buffer
from tbgen.moves.kernels.words import Words
from tbgen.moves.structs import make_men

_MIN_SHARED_SLOTS: Final = 64**4
"""Minimum number of slots for which the work is divided into parts for several threads."""
_MAX_ROUNDS: Final = 256
"""Maximum number of rounds, whose numbers fit into one byte. Wins that need more rounds are not found."""
_MAX_MOVES: Final = 256
"""Capacity of buffers for the quiet moves of one side. No position has more quiet moves."""
WinLookup: TypeAlias = Callable[[Cell, Side], Words | None]
"""Function that returns the positions of another cell, with the given side to move, that White wins: uint64
(words,), one bit per slot. It returns None if nothing is known about that cell."""


@dataclass(frozen=True)
class Wins:
    """Positions of a cell in which White forces mate."""

    cell: Cell
    won: Words
    """uint64 (2, words): the won positions, one bit per slot, by side to move."""
    rounds: NDArray[np.uint8] = field(default_factory=lambda: np.zeros(0, np.uint8))
    """uint8 (slots,): the round in which each won position with Black to move was found; empty if not needed.

    After each of Black's moves, White can move to a won position of an earlier round, or win by a capture."""

    @property
    def nbytes(self) -> int:
        """Size of the arrays in bytes."""
        return self.won.nbytes + self.rounds.nbytes

    def is_won(self, side: Side, slot: int) -> bool:
        """Return whether White wins the position of a slot with ``side`` to move."""
        return has_bit(self.won[side], slot)


def solve_wins(cell: Cell, wins_of: WinLookup, *, with_rounds: bool = False, threads: int = 1) -> Wins:
    """Find positions of a cell in which White forces mate.

    All kings and pieces must be mobile, and White must have a piece.

    :param wins_of: called with the cells after captures, and after steps of Black's pawns.
    :param with_rounds: whether to return the rounds, which a proof needs.
    :param threads: number of threads that share the work.
    """
    with ThreadPoolExecutor(threads) as executor:
        return _solve_wins(cell, wins_of, with_rounds, executor)


def _solve_wins(cell: Cell, wins_of: WinLookup, with_rounds: bool, executor: Executor) -> Wins:
    frame = frame_of_cell(cell).frame
    buffer = python_of(move_buffer)
    legal_after, won_after_capture = _positions_after_captures(cell, wins_of, executor)
    pushes, legal_pushed, won_pushed = _get_pushes(cell, wins_of, executor)
    black_pawns, won_after_pawn_capture = _wins_taking_pawns(cell, wins_of, executor)
    all_ranks = _king_ranks_of_parts(cell)
    legal = _legal_positions(cell, executor)
    search = WinSearch(
        frame=frame,
        legal=legal,
        unproved=legal.copy(),
        own_marks=np.zeros(frame.words // 64, np.uint64),
        marks=np.zeros((2, len(all_ranks), frame.words // 64), np.uint64),
        part=0,
        ranks=all_ranks[0],
        legal_after=legal_after,
        won_after=won_after_capture,
        pushes=pushes,
        legal_pushed=legal_pushed,
        won_pushed=won_pushed,
        black_pawns=black_pawns,
        won_after_pawn_capture=won_after_pawn_capture,
        rounds=np.zeros(64 * frame.words if with_rounds else 0, np.uint8),
        buffer=buffer(_MAX_MOVES),
        earlier_buffer=buffer(_MAX_MOVES),
    )
    parts = [
        replace(search, part=part, ranks=ranks, buffer=buffer(_MAX_MOVES), earlier_buffer=buffer(_MAX_MOVES))
        for part, ranks in enumerate(all_ranks)
    ]
    newly_lost = np.zeros(frame.words if with_rounds else 0, np.uint64)
    list(executor.map(find_capture_wins, parts))
    for round_ in range(1, _MAX_ROUNDS):
        if not sum(executor.map(find_lost_positions, parts, repeat(round_), repeat(newly_lost))):
            break
        if with_rounds:
            list(executor.map(record_wins, parts, repeat(round_), repeat(newly_lost)))
    won = np.bitwise_xor(legal, search.unproved, out=search.unproved)
    return Wins(cell, won, search.rounds)


def _king_ranks_of_parts(cell: Cell) -> NDArray[np.int64]:
    """Return the parts of the work: half-open ranges of ranks of Black's king, int64 (parts, 2).

    At most one thread at a time works on a part. A small cell has a single part.
    """
    edges = np.arange(0, 9, 1 if cell.size >= _MIN_SHARED_SLOTS else 8)
    return np.column_stack([edges[:-1], edges[1:]])


def _legal_positions(cell: Cell, executor: Executor) -> Words:
    """Return the legal positions of a cell, uint64 (2, words), by side to move."""
    frame = frame_of_cell(cell).frame
    legal = np.zeros((2, frame.words), np.uint64)
    list(executor.map(lambda part: mark_legal(frame, legal, make_men(), *part), equal_parts(frame.words, 8)))
    return legal


def _legal_and_won(cell: Cell, side: Side, wins_of: WinLookup, executor: Executor) -> tuple[Words, Words]:
    """Return the legal positions of another cell, and those of them that White wins: uint64 (words,) each."""
    legal = _legal_positions(cell, executor)[side]
    won = wins_of(cell, side)
    return legal, np.zeros_like(legal) if won is None else won & legal


def _positions_after_captures(cell: Cell, wins_of: WinLookup, executor: Executor) -> tuple[Words, Words]:
    """Return ``legal_after`` and ``won_after`` of the search."""
    both = np.zeros((2, len(cell.mobile), cell.size // 64**2), np.uint64)
    for index, man in enumerate(cell.mobile):
        if man.piece:
            both[:, index] = _legal_and_won(without_man(cell, index), man.colour, wins_of, executor)
    return both[0], both[1]


def without_man(cell: Cell, index: int) -> Cell:
    """Return the cell after the capture of the mobile man with the given index."""
    return Cell.of_men(cell.mobile[:index] + cell.mobile[index + 1 :], cell.standing)


def without_pawn(cell: Cell, square: int) -> Cell:
    """Return the cell after the capture of the pawn on a square."""
    white, black = (pawns & ~(1 << square) for pawns in cell.pawns)
    return replace(cell, white_pawns=white, black_pawns=black)


def cell_after_step(cell: Cell, origin: int, target: int, kind: int = PAWN) -> Cell:
    """Return the cell after the step of a black pawn. A promoted man is frozen in this cell."""
    men = cell.standing.copy()
    del men[origin]
    return Cell.of_men(cell.mobile, men | {target: man_of(BLACK_TO_MOVE, kind)})


def _get_pushes(cell: Cell, wins_of: WinLookup, executor: Executor) -> tuple[NDArray[np.int64], Words, Words]:
    """Return ``pushes``, ``legal_pushed`` and ``won_pushed`` of the search."""
    pushes: list[tuple[int, int, int]] = []
    cells_after: list[Cell] = []
    for index, pawn in enumerate(chess.scan_forward(cell.black_pawns)):
        for target in (pawn - 8, pawn - 16)[: 2 if pawn >> 3 == 6 else 1]:
            if target in cell.standing:
                break
            for kind in (PAWN,) if target >= 8 else PROMOTIONS:
                pushes.append((pawn - 8, target, index))
                cells_after.append(cell_after_step(cell, pawn, target, kind))
    legal, won = both = np.zeros((2, len(cells_after), cell.size // 64), np.uint64)
    for row, cell_after in enumerate(cells_after):
        both[:, row] = _legal_and_won(cell_after, WHITE_TO_MOVE, wins_of, executor)
    return np.array(pushes, np.int64).reshape(-1, 3), legal, won


def _wins_taking_pawns(cell: Cell, wins_of: WinLookup, executor: Executor) -> tuple[NDArray[np.int64], Words]:
    """Return ``black_pawns`` and ``won_after_pawn_capture`` of the search."""
    pawns = list(chess.scan_forward(cell.black_pawns))
    won = np.zeros((len(pawns), cell.size // 64), np.uint64)
    for row, pawn in enumerate(pawns):
        won[row] = _legal_and_won(without_pawn(cell, pawn), BLACK_TO_MOVE, wins_of, executor)[1]
    return np.array(pawns, np.int64), won
