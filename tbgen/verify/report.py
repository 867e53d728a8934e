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
from tbgen.index.layout import Layout, Side, Slot
from tbgen.index.position import locate, position_of
from tbgen.index.table import Table
from tbgen.text import plies
from tbgen.verify.kernels import results as problems
from tbgen.verify.kernels.results import DEPTH_MASK, MIDDLE, WHITE_WORTH, Place

PROBLEMS: Final = {
    problems.NOWHERE: "there is no such position",
    problems.MISSING: "the position has no value",
    problems.ENDED: "the game has ended here",
    problems.STRAY: "this accrued score needs no exception here",
    problems.REPEATED: "the exception repeats the accrued score",
    problems.BETWEEN: "the value lies outside the range from the accrued score to the fresh value",
    problems.WRONG: "the moves lead to another result",
    problems.BY_FUNCTION: "its function has another value",
    problems.PROBED: "a probe returns another result",
}
_RECOMPUTED_PROBLEMS: Final = (problems.ENDED, problems.WRONG, problems.BY_FUNCTION, problems.PROBED)
_MAX_EXAMINED_POSITIONS: Final = 1000
"""Maximum number of contradicted positions whose moves are examined to find the cause."""


@dataclass(frozen=True, slots=True)
class CheckedState:
    """An entry for a state: a value and the plies to it."""

    value: GScore | None
    """The value; None if a depth is stored without a value."""
    depth: int | None
    """The depth in plies; None for an entry of a function, which has a value only."""

    def __str__(self) -> str:
        if self.depth is None:
            return str(self.value)
        return f"{'no value' if self.value is None else self.value} in {plies(self.depth)}"


@dataclass(frozen=True, slots=True)
class Finding:
    """A wrong state: its own entry is wrong, or it contradicts a wrong entry that a move leads to."""

    fen: str
    """The position as a FEN; if two men share a square, a description of the slot and the side to move."""
    accrued: GScore | None
    """The accrued score of the state; None if it is fresh."""
    stored: CheckedState | None
    """The entry of the table; None if it has no value."""
    recomputed: CheckedState | None
    """The entry that follows from the entries after all moves; None if it was not computed."""
    problem: str

    def __str__(self) -> str:
        layer = "fresh" if self.accrued is None else f"accrued {self.accrued}"
        recomputed = "" if self.recomputed is None else f", recomputed {self.recomputed}"
        return f"{self.fen} ({layer}): {self.problem}: stored {self.stored or 'nothing'}{recomputed}"


@dataclass(frozen=True, slots=True)
class VerifyResult:
    """The outcome of a proof."""

    material: Material
    positions: int
    """Number of canonical legal positions, both sides to move, en passant rights included."""
    states: int
    """Number of states proved from their successors."""
    sample: int | None
    """Number of random positions requested; None for all."""
    wrong: int
    """Number of wrong states; a wrong entry also makes the states wrong that lead to it."""
    findings: list[Finding]
    """Some of the wrong states, likely causes first."""
    seconds: float

    @property
    def ok(self) -> bool:
        """Whether no state is wrong."""
        return self.wrong == 0


def describe(table: Table, rows: NDArray[np.int64], limit: int) -> list[Finding]:
    """Return findings for at most ``limit`` rows of the kernels, shape (n, 7), likely causes first."""
    contradicted = rows[rows[:, 0] == problems.WRONG]
    places = list(dict.fromkeys(_place(row) for row in contradicted))[:_MAX_EXAMINED_POSITIONS]
    blame = _blame(table, places)
    order = sorted(rows, key=lambda row: (-blame[_place(row)], row[0] != problems.WRONG))
    return [_finding(table, row) for row in order[:limit]]


def _place(row: NDArray[np.int64]) -> Place:
    return int(row[1]), int(row[2]), int(row[3])


def _blame(table: Table, places: Iterable[Place]) -> Counter[Place]:
    """Count for each place how many of ``places`` have a move to it."""
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
    """Return the position at a place, None if two men share a square."""
    en_passant, side, slot = place
    square = None
    if en_passant:
        row, within = divmod(slot, table.layout.phase_size)
        phase, square = table.ep_config[row].tolist()
        slot = phase * table.layout.phase_size + within
    try:
        return position_of(table.layout, Side(side), Slot(slot), square)
    except ValueError:
        return None


def _place_of(board: AnyBoard, layout: Layout, configs: dict[tuple[int, int], int]) -> Place | None:
    """Return the place of a position, None if it belongs to another table."""
    position = locate(board)
    if position.shape.swapped or position.shape.material != layout.material:
        return None
    if position.ep_square < 0:
        return 0, position.side, position.slot
    phase, within = divmod(position.slot, layout.phase_size)
    return 1, position.side, configs[phase, position.ep_square] * layout.phase_size + within


def _fen(board: AnyBoard) -> str:
    return board.fen(en_passant="fen") if isinstance(board, chess.Board) else board.fen()


def _finding(table: Table, row: NDArray[np.int64]) -> Finding:
    problem, _, side, slot, level, stored, recomputed = row.tolist()
    board = board_at(table, _place(row))
    mover = "Black" if side else "White"
    fen = f"slot {slot} with {mover} to move" if board is None else _fen(board)
    fresh = problem in (problems.NOWHERE, problems.MISSING, problems.ENDED) or level == MIDDLE
    if not fresh and board is not None and problem == problems.WRONG:
        fresh = to_gscore(locate(board).score) == score_of(level)
    with_depth = fresh or problem not in (problems.BY_FUNCTION, problems.PROBED)
    return Finding(
        fen,
        None if fresh else score_of(level),
        None if problem == problems.MISSING else entry_of(stored, level, with_depth),
        None if problem not in _RECOMPUTED_PROBLEMS else entry_of(recomputed, level, with_depth),
        PROBLEMS[problem],
    )


def score_of(worth: int) -> GScore:
    """Return the score of a worth (see :mod:`tbgen.verify.kernels.results`)."""
    return GScore(min(worth, WHITE_WORTH - worth), worth > MIDDLE)


def entry_of(key: int, level: int, with_depth: bool = True) -> CheckedState:
    """Return the value and depth that a key encodes at a level, the worth of an accrued score."""
    worth, low = divmod(key, 1 << 16)
    score, depth = score_of(worth), DEPTH_MASK - low if worth > level else low
    return CheckedState(score if score.rank <= MAX_CODED_RANK else None, depth if with_depth else None)
