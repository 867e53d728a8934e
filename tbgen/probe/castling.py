"""Values of positions with castling rights. In their cells, kings and rooks that may castle are frozen.

A move of such a king or rook leaves the cell, usually without a reset. The value after such a quiet exit
depends on the accrued score. So the cell is solved layer by layer (one accrued score at a time), with new
values of its exits for each layer. If no castling right remains, an exit leads to a table. Otherwise it leads
to a cell with fewer rights, fewer men, or pawns further advanced. See docs/glossary.md for cells, exits and
routes.
"""

import logging
import time
from collections.abc import Container
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from operator import methodcaller
from typing import TYPE_CHECKING, Final, NamedTuple

import chess
import numpy as np

from tbgen.board.score import NONE, Code, GScore, code_of, rank_of_code, signed_of
from tbgen.cells.bounds import (
    LOWER,
    NO_RANK,
    Block,
    BoundsGame,
    CallbackBoundsSource,
    gather_block,
    pools_of_ends,
    side_after,
)
from tbgen.cells.cell import Castling, Cell, CellPosition, lineup_of_cell, mobile_squares, side_of
from tbgen.cells.cell_warmup import ensure_compiled
from tbgen.cells.frames import frame_of_cell
from tbgen.cells.routes import Route, routes_of
from tbgen.costs import RATES, memory_of
from tbgen.index.layout import SIDES, WHITE_TO_MOVE, Side
from tbgen.probe.accrued_states import (
    PackedStates,
    RightlessValues,
    TableStates,
    board_after,
    terminal_values,
)
from tbgen.probe.moves import reached_states
from tbgen.progress import Countdown
from tbgen.retro.kernels.layer_sweeps import FIRST_LAYER
from tbgen.retro.workspace import score_resets
from tbgen.system.memory import processor_count
from tbgen.text import counted, duration

if TYPE_CHECKING:
    from tbgen.probe.values import Values


_MAX_MEN_OF_SMALL_CELL: Final = 4
"""Greatest number of men of a cell that takes negligible time to solve."""

_MAX_KEPT_BYTES: Final = 1 << 30
"""Maximum total size of the kept cells. If it is exceeded, all are dropped before another cell is solved."""
_MAX_THREADS: Final = 4
"""Maximum number of threads that look up the values of exits."""
_PROGRESS_SECONDS: Final = 10.0
"""Minimum time between two lines of progress."""

_logger = logging.getLogger(__name__)


class CastlingCell(NamedTuple):
    """A cell, and the castling rights in it."""

    cell: Cell
    castlings: tuple[Castling, ...]


def castling_cell_of(board: chess.Board) -> CastlingCell:
    """Return the cell of a position with castling rights."""
    castlings = []
    for rook in chess.scan_forward(board.clean_castling_rights()):
        king = board.king(chess.square_rank(rook) == 0)
        assert king is not None
        files = (2, 3) if rook < king else (6, 5)
        castlings.append(Castling(king, rook, *(king & 56 | file for file in files)))
    castling_squares = {square for castling in castlings for square in castling[:2]}
    mobile = [square for square in mobile_squares(board) if square not in castling_squares]
    return CastlingCell(Cell.of_board(board, mobile), tuple(castlings))


def cell_after(route: Route, castlings: tuple[Castling, ...]) -> CastlingCell:
    """Return the cell that a route leads to, with the castling rights ``castlings`` that remain after it."""
    cell = route.destination
    castling_squares = {square for castling in castlings for square in castling[:2]}
    freed = cell.with_freed(man.square for man in cell.frozen if man.square not in castling_squares)
    return CastlingCell(freed, castlings)


def remaining_rights(castling_cell: CastlingCell, route: Route) -> tuple[Castling, ...]:
    """Return the castling rights that remain after a route."""
    still_frozen = set(route.destination.frozen)
    men = {frozen.square: frozen for frozen in castling_cell.cell.frozen}
    return tuple(
        castling
        for castling in castling_cell.castlings
        if {men[castling.king], men[castling.rook]} <= still_frozen
        and not (route.is_castling and men[castling.king].man.colour == route.side)
    )


def required_cells(castling_cell: CastlingCell, solved_cells: Container[CastlingCell]) -> set[CastlingCell]:
    """Return a cell and all cells that its solution depends on, except for cells already solved."""
    required = set[CastlingCell]()
    waiting = {castling_cell}
    while waiting:
        cell = waiting.pop()
        if cell in solved_cells or cell in required:
            continue
        required.add(cell)
        routes = routes_of(lineup_of_cell(cell.cell, cell.castlings))
        waiting |= {cell_after(route, kept) for route in routes if (kept := remaining_rights(cell, route))}
    return required


def cell_seconds(castling_cell: CastlingCell) -> float:
    """Return the estimated time in seconds to solve a cell; 0 if the time is negligible."""
    seconds = RATES.seconds.castling
    mobile = len(castling_cell.cell.mobile)
    return seconds[min(mobile, len(seconds) - 1)] if castling_cell.cell.men > _MAX_MEN_OF_SMALL_CELL else 0.0


def probe_cost(board: chess.Board) -> tuple[float, int]:
    """Return the estimated time (seconds) and memory (bytes) to probe a position with castling rights if
    tables are packed."""
    cells = required_cells(castling_cell_of(board), ())
    size = sum(c.cell.size for c in cells if c.cell.men > _MAX_MEN_OF_SMALL_CELL and len(c.cell.mobile) > 2)
    return sum(map(cell_seconds, cells)), (RATES.min_mib["castling"] << 20) + memory_of("castling cell", size)


@dataclass(frozen=True)
class CastlingLayers:
    """Values and depths of a cell with castling rights, of shape (2 sides to move, slots).

    :ivar fresh: fresh values, as codes (``NONE`` for slots without a position), and depths in plies.
    :ivar has_depths: whether the depths are valid; if not, they are meaningless.
    :ivar layers: values and depths for each holder and rank of the accrued score; ``NONE`` for positions
        with a smaller position rank. In whole-game mobility, the dictionary is empty.
    """

    castling_cell: CastlingCell
    fresh: Block
    has_depths: bool
    layers: dict[tuple[Side, int], Block]

    @property
    def nbytes(self) -> int:
        """Size in bytes of the arrays for accrued scores."""
        return sum({id(array): array.nbytes for layer in self.layers.values() for array in layer}.values())

    def goal(self, position: CellPosition, accrued: Code) -> tuple[Code, int | None]:
        """Return the code of the value of a state, and the depth of the state in plies (None if unavailable).

        :param accrued: code of the accrued score, into which the position score has been folded.
        """
        index = side_of(position.board), position.slot
        layer = self.layers.get((SIDES[accrued > NONE], rank_of_code(accrued)), self.fresh)
        value, depth = self.fresh if layer.value[index] == NONE else layer
        code = Code(int(value[index]))
        return code, int(depth[index]) if self.has_depths else 0 if code == accrued else None


class CellStates:
    """Values and depths, taken from a solved cell, of the positions that a route leads to.

    The class has the same methods as :class:`TableStates`.

    :param layers: values and depths of the solved cell, which contains the destination.
    :param cell: the destination of the route.
    :param side: the side to move after the route.
    :param ep_codes: maps the slot of each position after the route that allows an en passant capture to the
        code of its fresh value. Depths are not available for these positions.
    """

    def __init__(self, layers: CastlingLayers, cell: Cell, side: Side, ep_codes: dict[int, Code]) -> None:
        self._layers = layers
        self._destination = cell
        self._side = side
        self._ep_codes = ep_codes
        self.has_depths = layers.has_depths and not ep_codes

    def fresh_block(self) -> Block:
        """Return the fresh values and depths."""
        block = self._gather(self._layers.fresh)
        block.value[list(self._ep_codes)] = list(self._ep_codes.values())
        return block

    def with_accrued(self, holder: Side, rank: int) -> Block:
        """Return values and depths for an accrued score, after folding each position score into it."""
        fresh = self._layers.fresh
        layer = self._layers.layers.get((holder, rank), fresh)
        # A layer has no values for positions with smaller position ranks: their fresh values count. If the
        # position score is the accrued score, the layer contains the fresh value.
        is_fresh = layer.value == NONE
        value = np.where(is_fresh, fresh.value, layer.value)
        return self._gather(Block(value, np.where(is_fresh, fresh.depth, layer.depth)))

    def _gather(self, block: Block) -> Block:
        men = [(man.colour, man.kind) for man in self._layers.castling_cell.cell.mobile]
        stored = Block(*(np.ascontiguousarray(array[self._side]) for array in block))
        return gather_block(self._destination.minus_frozen(self._layers.castling_cell.cell), men, 0, stored)


@dataclass
class _CastlingExits:
    """Values and depths of the positions after all exits of a cell."""

    quiet_states: dict[Route, PackedStates | TableStates | CellStates] = field(default_factory=dict)
    """Maps each quiet route to the states after it, which have values for any inherited accrued score."""
    fresh_blocks: dict[Route, Block] = field(default_factory=dict)
    """Maps each other route to the fresh values and depths after it."""
    has_depths: bool = True
    """Whether all depths are valid."""

    def block(self, route: Route, _end: int) -> Block:
        """Return the values and depths after a route, as :class:`tbgen.cells.bounds.BoundsSource` requires.

        After a quiet route, these are the values and depths of the first layer.
        """
        fresh = self.fresh_blocks.get(route)
        return self.quiet_states[route].with_accrued(SIDES[0], FIRST_LAYER) if fresh is None else fresh


class CastlingSolver:
    """Solves cells with castling rights, and keeps the solutions.

    :param values: looks up positions in tables.
    """

    def __init__(self, values: "Values") -> None:
        self._values = values
        self._resets = score_resets(values.variant)
        self._rightless = RightlessValues(values)
        self._layers: dict[CastlingCell, CastlingLayers] = {}
        self._progress = _CastlingProgress(set())
        # Starting threads takes as long as solving a layer of a small cell, so the threads are kept.
        self._threads = ThreadPoolExecutor(min(processor_count(), _MAX_THREADS))

    def goal(self, board: chess.Board, accrued: Code) -> tuple[Code, int | None]:
        """Return the code of V(P, A), and D(P, A) in plies (None if unavailable).

        Raises the same exceptions as look-ups in tables.

        :param board: P, a position with castling rights that is neither mate nor stalemate.
        :param accrued: the code of A, into which the position score of P has been folded.
        """
        castling_cell = castling_cell_of(board)
        # The table of the position itself is opened first: if it is missing, the error names this table.
        self._values.library.table(castling_cell.cell.material()[0])
        ensure_compiled()
        kept_bytes = sum(layers.nbytes for layers in self._layers.values())
        if castling_cell not in self._layers and kept_bytes > _MAX_KEPT_BYTES:
            self._layers.clear()
        self._progress = _CastlingProgress(required_cells(castling_cell, self._layers))
        return self._find_goal(board, accrued)

    def _find_goal(self, board: chess.Board, accrued: Code) -> tuple[Code, int | None]:
        """Return the result of :meth:`goal`. The caller has made the preparations that :meth:`goal` makes."""
        if board.has_legal_en_passant():
            code = self._best_code(board, accrued)
            return code, 0 if code == accrued else None
        castling_cell = castling_cell_of(board)
        position = CellPosition(board, board.occupied & ~castling_cell.cell.standing_mask)
        code, depth = self._layers_of(castling_cell).goal(position, accrued)
        if not self._resets and rank_of_code(accrued) <= rank_of_code(code):
            return accrued, 0
        return code, depth

    def _best_code(self, board: chess.Board, accrued: Code) -> Code:
        """Return the code of V(P, A), computed as the best value among the successors."""
        states = [move.state for move in reached_states(board, signed_of(accrued), self._values.variant)]
        rightless = [one for one in states if one.position.terminal or one.position.castling_board is None]
        codes = self._rightless.values_of(rightless)
        for position, inherited in states:
            if position.castling_board is not None and not position.terminal:
                codes.append(self._find_goal(position.castling_board, code_of(inherited))[0])
        return min(codes) if board.turn else max(codes)  # the smaller a code, the better for White

    def _layers_of(self, castling_cell: CastlingCell) -> CastlingLayers:
        if castling_cell not in self._layers:
            self._layers[castling_cell] = self._solve(castling_cell)
            self._progress.count_solved(castling_cell)
        return self._layers[castling_cell]

    def _solve(self, castling_cell: CastlingCell) -> CastlingLayers:
        frame = frame_of_cell(castling_cell.cell, castling_cell.castlings)
        exits = self._exits(castling_cell, list(routes_of(frame)))
        routes = [*exits.quiet_states, *exits.fresh_blocks]
        (pool,) = pools_of_ends(frame, routes, CallbackBoundsSource(exits.block), [LOWER])
        game = BoundsGame(frame, pool, resets=self._resets)
        if not self._resets:
            return CastlingLayers(castling_cell, game.solve(), exits.has_depths, {})
        ranks = game.ranks()
        value = np.stack([terminal_values(side, ranks[side]) for side in SIDES])
        depth = np.zeros(value.shape, np.uint16)
        layers: dict[tuple[Side, int], Block] = {}
        for rank in range(FIRST_LAYER, 1 + int(ranks.max(initial=0, where=ranks != NO_RANK))):
            for holder in SIDES:
                with_accrued = methodcaller("with_accrued", holder, rank)
                blocks = self._threads.map(with_accrued, exits.quiet_states.values())
                for route, block in zip(exits.quiet_states, blocks, strict=True):
                    game.set_block(route, block)
                accrued = GScore(rank, holder == WHITE_TO_MOVE)
                codes, plies = game.layer(Block(value, depth), accrued, is_complete=False)
                layers[holder, rank] = Block(codes, plies if exits.has_depths else depth)
            for side in SIDES:
                settled = ranks[side] == rank
                codes, plies = layers[SIDES[1 - side], rank]
                value[side][settled] = codes[side][settled]
                depth[side][settled] = plies[side][settled]
        return CastlingLayers(castling_cell, Block(value, depth), exits.has_depths, layers)

    def _exits(self, castling_cell: CastlingCell, routes: list[Route]) -> _CastlingExits:
        """Return the values and depths of the positions that the routes of a cell lead to."""
        exits = _CastlingExits()
        for route in routes:
            castlings = remaining_rights(castling_cell, route)
            cell_states = self._states_in_cell(route, castlings) if castlings else None
            if route.is_quiet and self._resets:
                states = exits.quiet_states[route] = cell_states or self._rightless.states_after_quiet(route)
                has_depths = states.has_depths
            elif cell_states:
                exits.fresh_blocks[route] = cell_states.fresh_block()
                has_depths = cell_states.has_depths
            else:
                exits.fresh_blocks[route], has_depths = self._rightless.fresh_after(route)
            exits.has_depths &= has_depths
        return exits

    def _states_in_cell(self, route: Route, castlings: tuple[Castling, ...]) -> CellStates:
        """Return the states that a route leads to if the castling rights ``castlings`` remain after it."""
        layers = self._layers_of(cell_after(route, castlings))
        return CellStates(layers, route.destination, side_after(route), self._ep_codes(route, castlings))

    def _ep_codes(self, route: Route, castlings: tuple[Castling, ...]) -> dict[int, Code]:
        """Return the fresh values of the positions after a route that allow en passant captures.

        :returns: maps slots to codes.
        """
        codes = {}
        for slot in range(route.destination.size if route.ep_square is not None else 0):
            board = board_after(route, slot)
            if board is not None and not board.was_into_check():
                board.chess960 = True
                board.castling_rights = sum(1 << castling.rook for castling in castlings)
                if board.has_legal_en_passant():
                    codes[slot] = self._best_code(board, CellPosition(board, chess.BB_EMPTY).position_score)
        return codes


class _CastlingProgress:
    """Logs how many large cells remain to be solved, and the estimated time for them.

    :param cells: all cells to solve, large and small.
    """

    def __init__(self, cells: set[CastlingCell]) -> None:
        # Small cells take negligible time.
        self._remaining_cells = {castling_cell for castling_cell in cells if cell_seconds(castling_cell)}
        self._countdown = Countdown(sum(map(cell_seconds, self._remaining_cells)))
        self._countdown.begin({})
        if self._remaining_cells:
            self._report("to solve with the help of tables")

    def count_solved(self, castling_cell: CastlingCell) -> None:
        """Count a cell as solved. If the last line of progress is old enough, log another line."""
        self._remaining_cells.discard(castling_cell)
        self._countdown.begin({"cell": cell_seconds(castling_cell)})
        self._countdown.finish()
        if self._remaining_cells and time.monotonic() - self._last_report_time >= _PROGRESS_SECONDS:
            self._report("left")

    def _report(self, suffix: str) -> None:
        self._last_report_time = time.monotonic()
        cells = counted(len(self._remaining_cells), "cell")
        seconds = duration(self._countdown.seconds_left)
        _logger.warning("castling rights: %s %s, about %s", cells, suffix, seconds)
