"""The gaps of a solution: the kinds of moves that make its bounds differ, described for a user.

If White chooses moves by their upper bounds and Black by their lower bounds, each side plays for the best
score that it may still hope for (docs/solve_reference.md). This play is the reason why the bounds differ. A
*gap* is a kind of move in this play that leads out of all solved cells, to positions without exact values.
"""

from collections import Counter, defaultdict
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from heapq import heappop, heappush
from typing import Final, NamedTuple

import chess

from tbgen.beyond.budget import memory_needed
from tbgen.beyond.exit_sources import Answer
from tbgen.beyond.layers import UnmadeLayerError
from tbgen.beyond.play import followed_moves
from tbgen.beyond.search import Search
from tbgen.beyond.state_bounds import best_of
from tbgen.beyond.structures import cells_below, seconds_to_solve, wholes_cost
from tbgen.board.score import Code
from tbgen.cells.bounds import WORST
from tbgen.cells.cell import MAX_MOBILE, Cell, CellPosition, CellState, Step
from tbgen.costs import seconds_of

_MAX_EXAMINED_STATES: Final = 200
"""Maximum number of states that are examined."""
_MAX_CELLS: Final = 200
"""Maximum number of cells that are counted."""


class Need(StrEnum):
    """The resource that is needed to close a gap."""

    TIME = "time"
    """The cell after the move is not solved yet."""
    MEMORY = "memory"
    """The cell after the move needs more memory than remains of ``--memory``."""
    MEN = "mobile men"
    """The man that moves is frozen, or there are more kings and pieces than can be mobile."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A kind of move that makes the bounds of a state differ.

    :ivar side: the side that moves.
    :ivar man: name of the man that moves, such as ``g-pawn`` or ``rook``.
    :ivar deed: the action, such as ``promotes`` or ``captures the h-pawn``.
    :ivar positions: number of the examined positions in which the move occurs.
    :ivar need: the resource that is needed to close the gap.
    :ivar mobile: number of men that have to be mobile.
    :ivar memory: estimated bytes for a cell with that many mobile men.
    :ivar seconds: estimated time for the cell; None if such a cell cannot be solved.
    """

    side: chess.Color
    man: str
    deed: str
    positions: int
    need: Need
    mobile: int
    memory: int
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Narrowing:
    """The cost of the cells that might close the gaps.

    These are the cells that the moves of the gaps lead to, and all cells that these cells depend on, apart
    from promotions.

    :ivar cells: number of cells; counting stops at 200.
    :ivar seconds: estimated time for all cells.
    :ivar memory: estimated bytes for the largest cell.
    """

    cells: int
    seconds: float
    memory: int


class _GapKind(NamedTuple):
    """The properties that all moves of one gap share."""

    side: chess.Color
    man: str
    deed: str
    need: Need
    mobile: int


class Gaps:
    """Finds the gaps of a search that has ended with an interval.

    :param search: a search whose bounds differ.
    :param memory: bytes that the budget allows.
    :param threads: number of threads for solving cells.
    """

    def __init__(self, search: Search, memory: int, threads: int) -> None:
        self._search = search
        self._bounds = search.answer().bounds
        self._memory, self._threads = memory, threads
        self._positions: defaultdict[_GapKind, set[str]] = defaultdict(set)
        self._costs: dict[_GapKind, tuple[float | None, int]] = {}
        """Seconds and bytes for the cell of each kind of gap."""
        self._solvable_cells: dict[Cell, None] = {}
        """Cells of the gaps that could be solved, in the order in which they were found."""
        self._queue: list[tuple[int, int, int, CellState]] = []
        """Priority queue of the states to examine. An entry has the priority, the insertion order, the number
        of deviations from the best moves, and the state."""
        self._seen: set[tuple[str, int, Code]] = set()
        self._state_counts = Counter[Cell]()
        """Number of states found in each cell. The more states a cell has, the later its next states come."""
        if search.state.cell in search.exits.cells:
            self._add_state(0, search.state)
        for _ in range(_MAX_EXAMINED_STATES):
            if not self._queue:
                break
            *_, deviations, state = heappop(self._queue)
            self._examine(state, deviations)

    def gaps(self) -> tuple[Gap, ...]:
        """Return the gaps, ordered by the number of positions, the most frequent gap first."""
        gaps = (
            Gap(*kind[:3], len(boards), kind.need, kind.mobile, memory, seconds)
            for kind, boards in self._positions.items()
            for seconds, memory in [self._costs[kind]]
        )
        return tuple(sorted(gaps, key=lambda gap: (-gap.positions, gap.side, gap.man, gap.deed)))

    def narrowing(self) -> Narrowing | None:
        """Return the cost of the cells that could be solved; None if no such cell was found."""
        cells: dict[Cell, None] = {}
        for home in self._solvable_cells:
            cells |= dict.fromkeys(cells_below(home, self._is_available, limit=_MAX_CELLS - len(cells)))
        if not cells:
            return None
        memory = memory_needed(max(cell.size for cell in cells))
        return Narrowing(len(cells), seconds_to_solve(cells, self._threads), memory)

    def _is_available(self, cell: Cell) -> bool:
        return self._search.exits.has_solved(cell) or self._search.exits.has_table_of(cell)

    def _examine(self, state: CellState, deviations: int) -> None:
        """Follow the moves of a state that make its bounds differ, and record those that are gaps."""
        position = state.position
        bounds = self._search.probe(state).bounds
        if bounds.clamped(self._bounds).exact:
            return
        states = dict[chess.Move, CellState]()
        moves = list[tuple[Step, Answer]]()
        for step in position.moves():
            states[step.move], answer = self._state_and_bounds_after(state, step)
            moves.append((step, answer))
        if all(states[step.move].accrued == state.after(step).accrued for step, _ in moves if step.is_inside):
            bounds = bounds.intersection(best_of([answer.bounds for _, answer in moves], position.board))
        for step, _ in followed_moves(moves, bounds, position.board, self._bounds):
            if step.is_inside or (
                step.zeroing and self._search.exits.has_solved(step.after.cell.canonical()[0])
            ):
                self._add_state(deviations, states[step.move])
            else:
                self._record_gap(position, step)
            deviations += 1

    def _state_and_bounds_after(self, state: CellState, step: Step) -> tuple[CellState, Answer]:
        """Return the state after a move, and its bounds.

        If the bounds require a layer that has not been made, the fresh state and its bounds are returned.
        """
        after = state.after(step)
        if step.zeroing:
            return after, Answer(self._search.exits.fresh_bounds(step.after))
        if not step.is_inside:
            return after, Answer(WORST)
        with suppress(UnmadeLayerError):
            return after, self._search.probe(after)
        fresh = CellState.fresh(step.after)
        return fresh, self._search.probe(fresh)

    def _add_state(self, deviations: int, state: CellState) -> None:
        """Add a state to the queue, unless it was added before."""
        position = state.position
        key = position.board.epd(), position.mobile, state.accrued
        if key not in self._seen:
            self._seen.add(key)
            self._state_counts[position.cell] += 1
            priority = deviations + self._state_counts[position.cell]
            heappush(self._queue, (priority, len(self._seen), deviations, state))

    def _record_gap(self, position: CellPosition, step: Step) -> None:
        """Record that a move leads to a position without an exact value."""
        board, move = position.board, step.move
        piece = board.piece_at(move.from_square)
        assert piece is not None
        need, mobile, seconds, memory = self._cost_of(position, step)
        kind = _GapKind(piece.color, _man_name(piece, move.from_square), _action(board, move), need, mobile)
        self._positions[kind].add(board.epd())
        self._costs[kind] = seconds, memory

    def _cost_of(self, position: CellPosition, step: Step) -> tuple[Need, int, float | None, int]:
        """Return the cost of solving the cell that a move leads to.

        :returns: the resource that is needed, the number of mobile men, the seconds and the bytes.
        """
        exits = self._search.exits
        cell = step.after.cell
        pieces = (step.after.board.occupied & ~step.after.board.pawns).bit_count()
        if step.zeroing and pieces <= max(len(cell.mobile), MAX_MOBILE):
            self._solvable_cells[cell.canonical()[0]] = None
            mobile, memory = len(cell.mobile), memory_needed(cell.size)
            seconds = seconds_of("cell", cell.size, self._threads)
        else:
            task = self._search.next_promotion_task(cell if step.zeroing else position.cell)
            if task is None:
                return Need.MEN, pieces, None, memory_needed(64**pieces)
            seconds, memory = wholes_cost(task.cells, exits.wins.mobile_count, self._threads)
            mobile = pieces
        return Need.TIME if memory <= self._memory - exits.nbytes else Need.MEMORY, mobile, seconds, memory


def _man_name(man: chess.Piece, square: chess.Square) -> str:
    """Return the name of a man. The name of a pawn contains its file."""
    name = chess.piece_name(man.piece_type)
    return f"{chess.FILE_NAMES[chess.square_file(square)]}-{name}" if man.piece_type == chess.PAWN else name


def _action(board: chess.Board, move: chess.Move) -> str:
    """Return the action of a move, in words."""
    if move.promotion:
        return "promotes"
    if not board.is_capture(move):
        return "moves on" if board.is_zeroing(move) else f"leaves {chess.square_name(move.from_square)}"
    victim = board.piece_at(move.to_square)
    return "captures en passant" if victim is None else f"captures the {_man_name(victim, move.to_square)}"
