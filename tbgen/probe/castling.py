"""Positions with castling rights: cells in which the kings and rooks that may castle stand still.

A move of such a king or rook leaves the cell, usually without a reset. The value after such a quiet exit
depends on the accrued score, so the cell is solved layer by layer (one accrued score at a time), with new
values of its exits for each layer. Exits lead to tables if no castling right remains, else to cells with
fewer rights, fewer men or pawns further advanced. See docs/glossary.md for cells, exits and routes.
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

from tbgen.board.score import NONE, Code, GScore, code_of, of_code, rank_of_code
from tbgen.cells.bounds import (
    LOWER,
    NO_RANK,
    Block,
    BoundsGame,
    SomeKnowledge,
    gather_block,
    pools_of_ends,
    side_after,
)
from tbgen.cells.cell import Castling, Cell, CellPosition, lineup_of_cell, mobile_squares, side_of
from tbgen.cells.cell_warmup import compile_kernels
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
from tbgen.probe.moves import reached_by
from tbgen.progress import Countdown
from tbgen.retro.kernels.layer_sweeps import FIRST_LAYER
from tbgen.retro.workspace import score_resets
from tbgen.system.memory import processor_count
from tbgen.text import counted, duration

if TYPE_CHECKING:
    from tbgen.probe.values import Values


_SMALL_MEN: Final = 4
"""Greatest number of men of cells whose solving time is negligible."""


class CastlingCell(NamedTuple):
    """A cell and the castling rights in it."""

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
    standing = {square for castling in castlings for square in castling[:2]}
    mobile = [square for square in mobile_squares(board) if square not in standing]
    return CastlingCell(Cell.of_board(board, mobile), tuple(castlings))


def cell_after(route: Route, castlings: tuple[Castling, ...]) -> CastlingCell:
    """Return the cell of the positions after a route, with the castling rights that remain after it."""
    cell = route.destination
    standing = {square for castling in castlings for square in castling[:2]}
    freed = cell.freed(frozen.square for frozen in cell.frozen if frozen.square not in standing)
    return CastlingCell(freed, castlings)


def remaining_rights(castling_cell: CastlingCell, route: Route) -> tuple[Castling, ...]:
    """Return the castling rights that remain after a route."""
    standing = set(route.destination.frozen)
    men = {frozen.square: frozen for frozen in castling_cell.cell.frozen}
    return tuple(
        castling
        for castling in castling_cell.castlings
        if {men[castling.king], men[castling.rook]} <= standing
        and not (route.is_castling and men[castling.king].man.colour == route.side)
    )


def required_cells(castling_cell: CastlingCell, solved: Container[CastlingCell]) -> set[CastlingCell]:
    """Return a cell and all cells that its solution depends on, except those already solved."""
    required, waiting = set[CastlingCell](), {castling_cell}
    while waiting:
        cell = waiting.pop()
        if cell in solved or cell in required:
            continue
        required.add(cell)
        routes = routes_of(lineup_of_cell(cell.cell, cell.castlings))
        waiting |= {cell_after(route, kept) for route in routes if (kept := remaining_rights(cell, route))}
    return required


def cell_seconds(castling_cell: CastlingCell) -> float:
    """Return the estimated seconds to solve a cell; 0 if they are negligible."""
    seconds, mobile = RATES.seconds.castling, len(castling_cell.cell.mobile)
    return seconds[min(mobile, len(seconds) - 1)] if castling_cell.cell.men > _SMALL_MEN else 0.0


def probe_cost(board: chess.Board) -> tuple[float, int]:
    """Return the estimated seconds and bytes of memory to probe a position with castling rights if tables are
    packed."""
    cells = required_cells(castling_cell_of(board), ())
    size = sum(each.cell.size for each in cells if each.cell.men > _SMALL_MEN and len(each.cell.mobile) > 2)
    return sum(map(cell_seconds, cells)), (RATES.process["castling"] << 20) + memory_of("castling cell", size)


_MAX_KEPT_BYTES: Final = 1 << 30
"""Size of the solved cells above which all of them are dropped before another cell is solved."""
_MAX_THREADS: Final = 4
"""Maximum number of threads that look up the values of exits."""
_PROGRESS_SECONDS: Final = 10.0
"""Seconds between two lines of progress."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class RightsLayers:
    """Values and depths of a cell with castling rights, of shape (2 sides to move, slots).

    :ivar fresh: fresh values, as codes (``NONE`` where a slot is no position), and depths in plies.
    :ivar has_depths: whether the depths are valid; if not, they are meaningless.
    :ivar accrued: values and depths by the holder and rank of the accrued score; ``NONE`` where the position
        rank is smaller. In whole-game mobility the dictionary is empty.
    """

    castling_cell: CastlingCell
    fresh: Block
    has_depths: bool
    accrued: dict[tuple[Side, int], Block]

    @property
    def nbytes(self) -> int:
        """Size of the arrays of accrued scores in bytes."""
        return sum({id(array): array.nbytes for layer in self.accrued.values() for array in layer}.values())

    def goal(self, position: CellPosition, accrued: Code) -> tuple[Code, int | None]:
        """Return the code of the value of a state, and its depth in plies (None if unavailable).

        :param accrued: code of the accrued score, into which the position score has been folded.
        """
        index = side_of(position.board), position.slot
        layer = self.accrued.get((SIDES[accrued > NONE], rank_of_code(accrued)), self.fresh)
        value, depth = self.fresh if layer.value[index] == NONE else layer
        code = Code(int(value[index]))
        return code, int(depth[index]) if self.has_depths else 0 if code == accrued else None


class CellStates:
    """Values and depths, from a solved cell, of the positions that a route leads to.

    The class has the methods of :class:`TableStates`.

    :param passed: fresh values, by slot, of positions in which the pawn that has just moved can be
        captured en passant. These positions have no depths.
    """

    def __init__(self, layers: RightsLayers, destination: Cell, side: Side, passed: dict[int, Code]) -> None:
        self._layers, self._destination, self._side, self._passed = layers, destination, side, passed
        self.has_depths = layers.has_depths and not passed

    def fresh(self) -> Block:
        """Return fresh values and depths."""
        block = self._of_destination(self._layers.fresh)
        block.value[list(self._passed)] = list(self._passed.values())
        return block

    def with_accrued(self, holder: Side, rank: int) -> Block:
        """Return values and depths with an accrued score, into which the position scores are folded."""
        fresh, layer = self._layers.fresh, self._layers.accrued.get((holder, rank), self._layers.fresh)
        # Where the position score is the accrued score, the layer has the fresh value.
        is_fresh = layer.value == NONE
        value = np.where(is_fresh, fresh.value, layer.value)
        return self._of_destination(Block(value, np.where(is_fresh, fresh.depth, layer.depth)))

    def _of_destination(self, block: Block) -> Block:
        men = [(man.colour, man.kind) for man in self._layers.castling_cell.cell.mobile]
        stored = Block(*(np.ascontiguousarray(array[self._side]) for array in block))
        return gather_block(self._destination.without_frozen(self._layers.castling_cell.cell), men, 0, stored)


@dataclass
class _CastlingExits:
    """Values and depths after all exits of a cell."""

    inheriting: dict[Route, PackedStates | TableStates | CellStates] = field(default_factory=dict)
    """States after each quiet route, with values for every accrued score that they can inherit."""
    fresh: dict[Route, Block] = field(default_factory=dict)
    """Fresh values and depths after each of the other routes."""
    has_depths: bool = True
    """Whether all depths are valid."""

    def block(self, route: Route, _end: int) -> Block:
        """Return the values and depths after a route, as :class:`tbgen.cells.bounds.Knowledge` requires.

        After quiet routes these are the values and depths of the first layer.
        """
        fresh = self.fresh.get(route)
        return self.inheriting[route].with_accrued(SIDES[0], FIRST_LAYER) if fresh is None else fresh


class CastlingSolver:
    """Solves cells with castling rights, and keeps the solutions.

    :param values: the look-up of positions in tables.
    """

    def __init__(self, values: "Values") -> None:
        self._values, self._resets = values, score_resets(values.variant)
        self._rightless = RightlessValues(values)
        self._layers: dict[CastlingCell, RightsLayers] = {}
        self._progress = _CastlingProgress(set())
        # Starting threads takes as long as a layer of a small cell, so they live as long as the solver.
        self._threads = ThreadPoolExecutor(min(processor_count(), _MAX_THREADS))

    def goal(self, board: chess.Board, accrued: Code) -> tuple[Code, int | None]:
        """Return the code of V(P, A), and D(P, A) in plies (None if unavailable).

        P is a position with castling rights that is neither mate nor stalemate. Its position score has been
        folded into A.

        Raises as the look-ups in tables do.
        """
        castling_cell = castling_cell_of(board)
        # The table of the position itself is opened first: if it is missing, the error names it.
        self._values.table(castling_cell.cell.material()[0])
        compile_kernels()
        kept_bytes = sum(layers.nbytes for layers in self._layers.values())
        if castling_cell not in self._layers and kept_bytes > _MAX_KEPT_BYTES:
            self._layers.clear()
        self._progress = _CastlingProgress(required_cells(castling_cell, self._layers))
        return self._goal(board, accrued)

    def _goal(self, board: chess.Board, accrued: Code) -> tuple[Code, int | None]:
        """Return what :meth:`goal` does, without its preparations."""
        if board.has_legal_en_passant():
            code = self._ply_value(board, accrued)
            return code, 0 if code == accrued else None
        castling_cell = castling_cell_of(board)
        position = CellPosition(board, board.occupied & ~castling_cell.cell.standing_mask)
        code, depth = self._layers_of(castling_cell).goal(position, accrued)
        if not self._resets and rank_of_code(accrued) <= rank_of_code(code):
            return accrued, 0
        return code, depth

    def _ply_value(self, board: chess.Board, accrued: Code) -> Code:
        """Return the code of V(P, A) as the best value among the successors."""
        states = [each.state for each in reached_by(board, of_code(accrued), self._values.variant)]
        rightless = [state for state in states if state.position.terminal or state.position.castling is None]
        codes = self._rightless.values_of(rightless)
        for position, inherited in states:
            if position.castling is not None and not position.terminal:
                codes.append(self._goal(position.castling, code_of(inherited))[0])
        return min(codes) if board.turn else max(codes)  # the smaller a code, the better for White

    def _layers_of(self, castling_cell: CastlingCell) -> RightsLayers:
        if castling_cell not in self._layers:
            self._layers[castling_cell] = self._solve(castling_cell)
            self._progress.done(castling_cell)
        return self._layers[castling_cell]

    def _solve(self, castling_cell: CastlingCell) -> RightsLayers:
        frame = frame_of_cell(castling_cell.cell, castling_cell.castlings)
        exits = self._exits(castling_cell, list(routes_of(frame)))
        routes = [*exits.inheriting, *exits.fresh]
        (pool,) = pools_of_ends(frame, routes, SomeKnowledge(exits.block), [LOWER])
        game = BoundsGame(frame, pool, resets=self._resets)
        if not self._resets:
            return RightsLayers(castling_cell, game.solve(), exits.has_depths, {})
        ranks = game.ranks()
        value = np.stack([terminal_values(side, ranks[side]) for side in SIDES])
        depth = np.zeros(value.shape, np.uint16)
        layers: dict[tuple[Side, int], Block] = {}
        for rank in range(FIRST_LAYER, 1 + int(ranks.max(initial=0, where=ranks != NO_RANK))):
            for holder in SIDES:
                with_accrued = methodcaller("with_accrued", holder, rank)
                blocks = self._threads.map(with_accrued, exits.inheriting.values())
                for route, block in zip(exits.inheriting, blocks, strict=True):
                    game.set_block(route, block)
                accrued = GScore(rank, holder == WHITE_TO_MOVE)
                of_layer, plies = game.layer(Block(value, depth), accrued, is_complete=False)
                layers[holder, rank] = Block(of_layer, plies if exits.has_depths else depth)
            for side in SIDES:
                settled = ranks[side] == rank
                of_layer, plies = layers[SIDES[1 - side], rank]
                value[side][settled] = of_layer[side][settled]
                depth[side][settled] = plies[side][settled]
        return RightsLayers(castling_cell, Block(value, depth), exits.has_depths, layers)

    def _exits(self, castling_cell: CastlingCell, routes: list[Route]) -> _CastlingExits:
        """Return the values and depths of the positions that routes lead to."""
        exits = _CastlingExits()
        for route in routes:
            castlings = remaining_rights(castling_cell, route)
            in_cell = self._states_in_cell(route, castlings) if castlings else None
            if route.is_quiet and self._resets:
                states = exits.inheriting[route] = in_cell or self._rightless.inheriting_states(route)
                has_depths = states.has_depths
            elif in_cell:
                exits.fresh[route], has_depths = in_cell.fresh(), in_cell.has_depths
            else:
                exits.fresh[route], has_depths = self._rightless.fresh(route)
            exits.has_depths &= has_depths
        return exits

    def _states_in_cell(self, route: Route, castlings: tuple[Castling, ...]) -> CellStates:
        """Return the states that a route leads to if castling rights remain."""
        layers = self._layers_of(cell_after(route, castlings))
        return CellStates(layers, route.destination, side_after(route), self._passed_codes(route, castlings))

    def _passed_codes(self, route: Route, castlings: tuple[Castling, ...]) -> dict[int, Code]:
        """Return fresh codes, by slot, of the positions after a route in which en passant is legal."""
        codes = {}
        for slot in range(route.destination.size if route.ep_square is not None else 0):
            board = board_after(route, slot)
            if board is not None and not board.was_into_check():
                board.chess960 = True
                board.castling_rights = sum(1 << castling.rook for castling in castlings)
                if board.has_legal_en_passant():
                    codes[slot] = self._ply_value(board, CellPosition(board, chess.BB_EMPTY).position_score)
        return codes


class _CastlingProgress:
    """Logs the number of large cells that remain to be solved, and the estimated time.

    :param cells: all cells to solve.
    """

    def __init__(self, cells: set[CastlingCell]) -> None:
        # Small cells take negligible time.
        self._remaining = {castling_cell for castling_cell in cells if cell_seconds(castling_cell)}
        self._countdown = Countdown(sum(map(cell_seconds, self._remaining)))
        self._countdown.begin({})
        if self._remaining:
            self._report("to solve with the help of tables")

    def done(self, castling_cell: CastlingCell) -> None:
        """Count a cell as solved; log the remaining cells if enough time has passed since the last line."""
        self._remaining.discard(castling_cell)
        self._countdown.begin({"cell": cell_seconds(castling_cell)})
        self._countdown.finish()
        if self._remaining and time.monotonic() - self._reported >= _PROGRESS_SECONDS:
            self._report("left")

    def _report(self, suffix: str) -> None:
        self._reported = time.monotonic()
        cells, seconds = counted(len(self._remaining), "cell"), duration(self._countdown.seconds_left)
        _logger.warning("castling rights: %s %s, about %s", cells, suffix, seconds)
