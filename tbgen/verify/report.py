"""The result of a proof: the numbers of positions and states checked, and the wrong states."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import chess
import numpy as np
from numpy.typing import NDArray

from tbgen.board.fen import AnyBoard
from tbgen.board.material import Material
from tbgen.board.score import MAX_CODED_RANK, GScore, to_gscore
from tbgen.documents import Document
from tbgen.index.layout import Layout, Side, Slot
from tbgen.index.position import any_board_of, locate
from tbgen.index.table import Table
from tbgen.text import plies
from tbgen.verify.kernels import results as problems
from tbgen.verify.kernels.results import DEPTH_MASK, MAX_WORTH, MIDDLE, Place

PROBLEM_TEXTS: Final = {
    problems.NOWHERE: "there is no such position",
    problems.MISSING: "the position has no value",
    problems.WRONG_END: "the game has ended here",
    problems.STRAY: "this accrued score needs no exception here",
    problems.REPEATED: "the exception repeats the accrued score",
    problems.NOT_BETWEEN: "the value lies outside the range from the accrued score to the fresh value",
    problems.WRONG: "the moves lead to another result",
    problems.WRONG_FUNCTION: "its function has another value",
    problems.MISREAD: "a probe returns another result",
    problems.UNREAD: "a move leads to a position without a value",
}
_RECOMPUTED_PROBLEMS: Final = (problems.WRONG_END, problems.WRONG, problems.WRONG_FUNCTION, problems.MISREAD)
_MAX_EXAMINED_POSITIONS: Final = 1000
"""Maximum number of contradicted positions whose moves are examined to find the cause."""


class StateEntry(Document):
    """An entry for a state: a value and the number of plies to it."""

    value: GScore | None
    """The value; None if a depth is stored without a value."""
    depth: int | None
    """The depth in plies; None if the entry comes from a function or probe that gives only a value."""

    def __str__(self) -> str:
        if self.depth is None:
            return str(self.value)
        return f"{'no value' if self.value is None else self.value} in {plies(self.depth)}"


class Finding(Document):
    """A wrong state: its own entry is wrong, or it contradicts a wrong entry that a move leads to."""

    fen: str
    """The position as a FEN; if two men share a square, a description of the slot and the side to move."""
    accrued: GScore | None
    """The accrued score of the state; None if it is fresh."""
    problem: str
    stored: StateEntry | None
    """The entry of the table; None if the table has no value for the state."""
    recomputed: StateEntry | None
    """The entry that follows from the entries after all moves; None if it was not computed."""

    def __str__(self) -> str:
        layer = "fresh" if self.accrued is None else f"accrued {self.accrued}"
        recomputed = "" if self.recomputed is None else f", recomputed {self.recomputed}"
        return f"{self.fen} ({layer}): {self.problem}: stored {self.stored or 'nothing'}{recomputed}"


@dataclass(frozen=True, slots=True)
class VerifyResult:
    """The result of a proof."""

    material: Material
    positions: int
    """Number of canonical legal positions with either side to move, including those with en passant
    rights."""
    states: int
    """Number of states proved from their successors."""
    sample: int | None
    """Requested number of random positions; None for all positions."""
    wrong: int
    """Number of wrong states. A wrong entry also makes the states that lead to it count as wrong."""
    findings: list[Finding]
    """Some of the wrong states, likely causes first."""
    seconds: float

    @property
    def ok(self) -> bool:
        """Whether no state is wrong."""
        return self.wrong == 0


def describe(table: Table, rows: NDArray[np.int64], max_findings: int) -> list[Finding]:
    """Return at most ``max_findings`` findings, likely causes first. ``rows``, shape (n, 7), are findings as
    the kernels record them (:data:`tbgen.verify.kernels.results.COLUMNS`)."""
    contradicted = rows[rows[:, 0] == problems.WRONG]
    places = list(dict.fromkeys(_place_of_row(row) for row in contradicted))[:_MAX_EXAMINED_POSITIONS]
    blame = _blame(table, places)
    order = sorted(rows, key=lambda row: (-blame[_place_of_row(row)], row[0] != problems.WRONG))
    return [_finding(table, row) for row in order[:max_findings]]


def _place_of_row(row: NDArray[np.int64]) -> Place:
    return int(row[1]), int(row[2]), int(row[3])


def _blame(table: Table, places: Iterable[Place]) -> Counter[Place]:
    """For each place, count how many of ``places`` have a move to it."""
    blame: Counter[Place] = Counter()
    configs = {(phase, square): row for row, (phase, square) in enumerate(table.ep_config.tolist())}
    for place in places:
        board = board_at(table, place)
        assert board is not None, "only states of legal positions are found wrong"
        for move in board.legal_moves:
            board.push(move)
            target = _place_of(board, table.layout, configs)
            board.pop()
            if target is not None:
                blame[target] += 1
    return blame


def board_at(table: Table, place: Place) -> AnyBoard | None:
    """Return the position at a place, or None if two men share a square."""
    en_passant, side, slot = place
    square = None
    if en_passant:
        row, slot_in_phase = divmod(slot, table.layout.phase_size)
        phase, square = table.ep_config[row].tolist()
        slot = phase * table.layout.phase_size + slot_in_phase
    try:
        return any_board_of(table.layout, Side(side), Slot(slot), square)
    except ValueError:
        return None


def _place_of(board: AnyBoard, layout: Layout, configs: dict[tuple[int, int], int]) -> Place | None:
    """Return the place of a position, or None if the position belongs to another table."""
    position = locate(board)
    if position.shape.swapped or position.shape.material != layout.material:
        return None
    if position.ep_square < 0:
        return 0, position.side, position.slot
    phase, slot_in_phase = divmod(position.slot, layout.phase_size)
    return 1, position.side, configs[phase, position.ep_square] * layout.phase_size + slot_in_phase


def _fen(board: AnyBoard) -> str:
    return board.fen(en_passant="fen") if isinstance(board, chess.Board) else board.fen()


def _finding(table: Table, row: NDArray[np.int64]) -> Finding:
    problem, _, side, slot, pivot, stored, recomputed = row.tolist()
    board = board_at(table, _place_of_row(row))
    mover = "Black" if side else "White"
    fen = f"slot {slot} with {mover} to move" if board is None else _fen(board)
    fresh = problem in (problems.NOWHERE, problems.MISSING, problems.WRONG_END) or pivot == MIDDLE
    if not fresh and board is not None and problem == problems.WRONG:
        fresh = to_gscore(locate(board).score) == score_of(pivot)
    with_depth = fresh or problem not in (problems.WRONG_FUNCTION, problems.MISREAD)
    return Finding(
        fen,
        None if fresh else score_of(pivot),
        PROBLEM_TEXTS[problem],
        None if problem in (problems.MISSING, problems.UNREAD) else entry_of(stored, pivot, with_depth),
        None if problem not in _RECOMPUTED_PROBLEMS else entry_of(recomputed, pivot, with_depth),
    )


def score_of(worth: int) -> GScore:
    """Return the score that has this worth (see :mod:`tbgen.verify.kernels.results`)."""
    return GScore(min(worth, MAX_WORTH - worth), worth > MIDDLE)


def entry_of(grade: int, pivot: int, with_depth: bool = True) -> StateEntry:
    """Return the value and depth that ``grade`` encodes; ``pivot`` is the worth of the accrued score."""
    worth, low_bits = divmod(grade, 1 << 16)
    score = score_of(worth)
    depth = DEPTH_MASK - low_bits if worth > pivot else low_bits
    return StateEntry(score if score.rank <= MAX_CODED_RANK else None, depth if with_depth else None)
