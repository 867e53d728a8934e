"""Tables as an exit source: the values of positions after moves out of cells, phase by phase.

A *phase* of a table contains all positions with one placement of the pawns. docs/glossary.md explains phases,
cells, routes and slots.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from threading import BoundedSemaphore, RLock
from typing import Final

import chess
import numpy as np
from numpy.typing import NDArray

from tbgen.beyond.budget import Budget
from tbgen.beyond.exit_sources import ExitSource
from tbgen.board.material import MAX_MEN, Material, closure
from tbgen.board.rules import FRESH
from tbgen.board.score import NONE, Signed, code_of, to_signed
from tbgen.board.variant import Variant
from tbgen.cells.bounds import Block, Bounds, gather_block, side_after
from tbgen.cells.cell import Cell, CellPosition, piece_of
from tbgen.cells.interval import Interval
from tbgen.cells.routes import Route, home_of_route
from tbgen.errors import MissingTableError, UsageError
from tbgen.index.layout import IMAGE, MIRROR_FILES, MIRROR_RANKS, SIDES, Side, layout_of
from tbgen.index.table import Source
from tbgen.index.zeroing import en_passant_configs, promotion_places
from tbgen.moves.frames import expand
from tbgen.moves.kernels.words import Codes, Plies
from tbgen.probe.tablebase import Tablebase
from tbgen.store.cache import LruCache
from tbgen.tables.open_table import Given, OpenTable

MAX_PROBED_SLOTS: Final = 64**3
"""Maximum number of slots of a cell whose positions are looked up one by one in a packed table."""
_LOOK_UP_THREADS: Final = 2
"""Maximum number of threads that look up positions at the same time. Each of them starts further threads."""
_MAX_PHASE_BYTES: Final = 512 << 20
"""Maximum memory of the cached phases."""


def require_r_mobility(tablebase: Tablebase) -> None:
    """Check that tables are for the rules under which positions are solved.

    :raises UsageError: if they are not.
    """
    if tablebase.rules is not Variant.R_MOBILITY:
        raise UsageError(f"the tables are for the rules {tablebase.rules}, but positions are solved under r")


class Tables(ExitSource):
    """The tables of a tablebase as an exit source.

    When a phase is read, the results of its canonical slots are copied to all other slots that stand for the
    same positions.

    A phase of a packed table is decoded if all the other tables needed for decoding it are available; see
    :meth:`has_phase`. If only a small part of a phase is needed, its positions are looked up one by one
    instead. This is done for routes on which a man has *landed* (:mod:`tbgen.cells.routes`), and for captures
    with promotion into cells for which :meth:`allow_promotion_look_ups` has been called.

    :param threads: number of threads that decode phases.
    """

    exact = final = proved = True

    def __init__(self, tablebase: Tablebase, threads: int = Budget.threads) -> None:
        require_r_mobility(tablebase)
        self.tablebase, self._threads = tablebase, threads
        self._missing: set[Material] = set()
        """Materials whose tables were needed and are missing."""
        self._has_cell: dict[Cell, bool] = {}
        """Results of :meth:`has_cell`."""
        self._look_ups_allowed: dict[Material, bool] = {}
        """Results of :meth:`_can_look_up`."""
        self._allowed_cells: set[Cell] = set()
        """Canonical cells for which :meth:`allow_promotion_look_ups` has been called."""
        self._phases = LruCache[Block](_MAX_PHASE_BYTES, attrgetter("nbytes"))
        """Cache of phases and look-ups. Decoding a phase may need phases of plain tables and of tables after
        promotions. Those phases never need the phase that is being decoded, so threads cannot deadlock."""
        self._large_phase_lock = RLock()
        """Lock for decoding a large phase and the large phases that it needs."""
        self._look_up_slots = BoundedSemaphore(_LOOK_UP_THREADS)

    @property
    def nbytes(self) -> int:
        """Bytes of the cached phases."""
        return self._phases.size

    def forget(self) -> None:
        """Drop the cached phases."""
        self._phases.clear()

    @property
    def missing(self) -> list[Material]:
        """The missing tables that were needed. Sub-tables of other missing tables are left out."""
        sub_tables = closure(after for material in self._missing for after in material.successors())
        return sorted(self._missing.difference(sub_tables))

    def has_cell(self, cell: Cell) -> bool:
        """Return whether a table contains the positions of a cell, so that the cell need not be solved.

        If the table is packed, the result is False in three cases: the phases cannot be decoded; the cell
        has fewer slots than a phase or than ``MAX_PROBED_SLOTS``; or it has exactly ``MAX_PROBED_SLOTS``
        slots and decoding needs larger phases. In the last two cases, solving the cell takes less time than
        decoding.

        :raises DamagedTableError: if the table cannot be used.
        """
        if cell.men > MAX_MEN:
            return False
        if cell not in self._has_cell:
            self._has_cell[cell] = self._compute_has_cell(cell)
        return self._has_cell[cell]

    def _compute_has_cell(self, cell: Cell) -> bool:
        """Compute the result of :meth:`has_cell`; the cache is not used."""
        file = self._table(cell.material()[0])
        if file is None or not file.info.derives:
            return file is not None
        if cell.size < max(file.layout.phase_size, MAX_PROBED_SLOTS):
            return False
        places = [_location_of(cell, side)[:3] for side in SIDES]
        larger = cell.size == MAX_PROBED_SLOTS and any(file.needs(*p[1:]) for p in places)
        return not larger and all(self.has_phase(*place) for place in places)

    def can_allow_promotion_look_ups(self, cell: Cell) -> bool:
        """Return whether :meth:`allow_promotion_look_ups` makes further positions of a canonical cell
        available.

        A packed table must contain the cell. The further positions are those after captures with promotion.
        """
        is_new = cell not in self._allowed_cells
        return is_new and self.has_cell(cell) and self._can_look_up(cell.material()[0])

    def allow_promotion_look_ups(self, cell: Cell) -> None:
        """Allow looking up those positions of a canonical cell that arise by captures with promotion."""
        self._allowed_cells.add(cell)

    def knows(self, route: Route) -> bool:
        """Return whether tables contain all positions that a route leads to."""
        cell = route.destination
        if cell.men > MAX_MEN:
            return False
        if self._uses_look_ups(route):
            return True
        return self.has_cell(cell) and self.has_phase(*_location_of(cell, side_after(route))[:3])

    def can_look_up(self, cell: Cell) -> bool:
        """Return whether a cell is small and its positions can be looked up one by one in a packed table."""
        return cell.men <= MAX_MEN and cell.size <= MAX_PROBED_SLOTS and self._can_look_up(cell.material()[0])

    def look_up_bounds(self, cell: Cell) -> Bounds:
        """Look up the values of all positions of a cell.

        :param cell: a cell for which :meth:`can_look_up` returns True.
        """
        by_end = zip(*(self._look_up(cell, side) for side in SIDES), strict=True)
        value, depth = (np.broadcast_to(np.stack(both_sides), (2, 2, cell.size)) for both_sides in by_end)
        return Bounds(cell, value, depth)

    def block(self, route: Route, end: int) -> Block:
        """Return the values of the positions that a route leads to; they do not depend on ``end``.

        :param route: a route for which :meth:`knows` returns True.
        """
        material, phase, side, symmetry = _location_of(route.destination, side_after(route))
        if self._uses_look_ups(route) and not self._is_in_memory(material, phase, side):
            return self._look_up(route.subcell, side_after(route))
        layout = layout_of(material)
        men = [(Side(colour), kind) for colour, kind in zip(layout.colours, layout.kinds, strict=True)]
        stored = self.get_phase(material, phase, side)
        block = gather_block(route.subcell, men, symmetry, stored, not layout.pawns)
        config = [phase, -1 if route.ep_square is None else IMAGE[symmetry][route.ep_square]]
        configs = en_passant_configs(layout).tolist()
        if config in configs:
            stored = self.get_en_passant(material, configs.index(config))
            captured = gather_block(route.destination, men, symmetry, stored)
            mask = captured.value != NONE
            block.value[mask], block.depth[mask] = captured.value[mask], captured.depth[mask]
        return block

    def fresh_bounds(self, position: CellPosition) -> Interval | None:
        """Return the value of a position in its fresh state as an interval; None if it is unavailable."""
        cell = position.cell
        if not self.has_cell(cell) or (_may_follow_promotion(position) and not self._allows_promotion(cell)):
            return None
        code = code_of(to_signed(self.tablebase.probe(position.board, FRESH).value))
        return Interval(code, code)

    def fresh_value(self, board: chess.Board) -> Signed | None:
        """Return the fresh value of any position; None if no table contains it."""
        if chess.popcount(board.occupied) <= MAX_MEN and self._table(Material.of_board(board)[0]) is not None:
            with suppress(MissingTableError):  # a packed table may need other tables
                return to_signed(self.tablebase.probe(board, FRESH).value)
        return None

    def _allows_promotion(self, cell: Cell) -> bool:
        """Return whether those positions of a cell that a promotion may have led to are available."""
        return not self._derives(cell.material()[0]) or cell.canonical()[0] in self._allowed_cells

    def has_phase(self, material: Material, phase: int, side: Side) -> bool:
        """Return whether the table of a material exists and its phase can be read with ``side`` to move.

        A phase of a packed table can be read only if all tables that captures lead to are plain.
        """
        file = self._table(material)
        if file is None or not file.info.derives:
            return file is not None
        smaller = [after for after in material.successors() if after.men < material.men]
        if any(self._table(after) is None or self._derives(after) for after in smaller):
            return False
        return all(self.has_phase(*block, mover) for block, mover in _promoted(file, phase, side))

    def get_phase(self, material: Material, phase: int, side: Side) -> Block:
        """Return values and depths of a phase with ``side`` to move, shape (phase size,) each.

        :meth:`has_phase` must return True for the arguments.
        """
        file = self._table(material)
        assert file is not None, "has_phase() is called before"

        def read(value: Codes, depth: Plies) -> None:
            sub_tables = self._sub_tables(file, phase, side) if file.info.derives else None
            file.read_slots(side, phase * len(value), value, depth, Given(sub_tables, self._threads))

        return self._cached_block(material, phase, f"side {side}", read)

    def get_en_passant(self, material: Material, row: int) -> Block:
        """Return values and depths of an en passant configuration, shape (phase size,) each.

        :param row: index of the configuration in the table.
        """
        file = self._table(material)
        assert file is not None, "has_phase() is called before"
        phase = int(en_passant_configs(layout_of(material))[row, 0])
        return self._cached_block(material, phase, f"row {row}", partial(file.read_en_passant, row))

    def _cached_block(
        self, material: Material, phase: int, part_name: str, read: Callable[[Codes, Plies], None]
    ) -> Block:
        """Return a part of a phase, from the cache or by calling ``read``.

        :param part_name: name of the part in the cache.
        :param read: fills arrays of values and depths.
        """
        layout = layout_of(material)

        def read_all() -> Block:
            block = Block(np.full(layout.phase_size, NONE, np.uint8), np.zeros(layout.phase_size, np.uint16))
            read(*block)
            expand(layout, phase, *block)
            return block

        key = material, phase, part_name
        block = self._phases.get(key)
        if block is not None:  # cached blocks need no lock
            return block
        is_large = layout.phase_size > MAX_PROBED_SLOTS and self._derives(material)
        with self._large_phase_lock if is_large else nullcontext():
            return self._phases.get_or_make(key, read_all)

    def _is_in_memory(self, material: Material, phase: int, side: Side) -> bool:
        """Return whether a phase with ``side`` to move is cached."""
        return self._phases.get((material, phase, f"side {side}")) is not None

    def _uses_look_ups(self, route: Route) -> bool:
        """Return whether the positions that a route leads to are looked up one by one."""
        if not self.can_look_up(route.subcell):
            return False
        allowed = route.promoted_on is not None and home_of_route(route).canonical()[0] in self._allowed_cells
        return allowed or route.landing is not None

    def _can_look_up(self, material: Material) -> bool:
        """Return whether positions of a material can be looked up one by one.

        The table must be packed, and all its sub-tables must exist.
        """
        if material not in self._look_ups_allowed:
            has_all = None not in map(self._table, closure([material]))
            self._look_ups_allowed[material] = has_all and self._derives(material)
        return self._look_ups_allowed[material]

    def _look_up(self, cell: Cell, side: Side) -> Block:
        """Look up the values of all positions of a cell with ``side`` to move."""

        def read() -> Block:
            with self._look_up_slots:
                value, depth = self.tablebase.probe_arrays(*_probe_inputs(cell), np.full(cell.size, side))
            return Block(value, np.maximum(depth, 0).astype(np.uint16))

        return self._phases.get_or_make((cell, side), read)

    def _derives(self, material: Material) -> bool:
        """Return whether a table exists whose values are derived, so that decoding a phase takes long."""
        file = self._table(material)
        return file is not None and file.info.derives

    def _table(self, material: Material) -> OpenTable | None:
        # Files are not stored here, because the tablebase closes them.
        with suppress(MissingTableError):
            if material not in self._missing:
                return self.tablebase.table_file(material)
        self._missing.add(material)
        return None

    def _sub_tables(self, file: OpenTable, phase: int, side: Side) -> "dict[Material, Source]":
        """Return what decoding a phase with ``side`` to move needs: the tables that captures lead to, and
        phases after promotions, which are read now."""
        material = file.layout.material
        smaller = [after for after in material.successors() if after.men < material.men]
        found: dict[Material, Source] = {after: _Phases(partial(self.get_phase, after)) for after in smaller}
        blocks_of: defaultdict[Material, dict[tuple[int, Side], Block]] = defaultdict(dict)
        for (after, phase_after), mover in _promoted(file, phase, side):
            blocks_of[after][phase_after, mover] = self.get_phase(after, phase_after, mover)
        return found | {after: _Phases(_make_block_getter(blocks)) for after, blocks in blocks_of.items()}


def _promoted(file: OpenTable, phase: int, side: Side) -> Iterable[tuple[tuple[Material, int], Side]]:
    """Return the material, phase and side to move of what decoding a phase needs after promotions."""
    return promotion_places(file.layout, [phase], 0) if file.needs(phase, side) else ()


@dataclass(frozen=True)
class _Phases:
    """Phases of one table as a source.

    :ivar get_block: function that returns the block of a phase with the given side to move.
    """

    get_block: Callable[[int, Side], Block]

    def read_slots(self, side: Side, start: int, value: NDArray[np.uint8], depth: NDArray[np.uint16]) -> None:
        """Copy a whole phase with ``side`` to move into arrays; see :class:`tbgen.index.table.Source`."""
        value[:], depth[:] = self.get_block(start // len(value), side)


def _make_block_getter(blocks: Mapping[tuple[int, Side], Block]) -> Callable[[int, Side], Block]:
    """Return a function that looks up the block of a phase with the given side to move."""
    return lambda phase, side: blocks[phase, side]


def _may_follow_promotion(position: CellPosition) -> bool:
    """Return whether the last move may have been a promotion.

    If the board does not have this move, a mobile piece of the side that has just moved on its promotion rank
    stands for it.
    """
    board, white = position.board, not position.board.turn
    if board.move_stack:
        return board.move_stack[-1].promotion is not None
    last_rank = chess.BB_RANK_8 if white else chess.BB_RANK_1
    return bool(position.mobile & board.occupied_co[white] & last_rank & ~board.kings)


def _probe_inputs(cell: Cell) -> tuple[str, NDArray[np.uint8]]:
    """Return the letters of all men of a cell, and their squares, uint8 (slots, men)."""
    slots = np.arange(cell.size)
    last_index = len(cell.mobile) - 1
    squares = np.empty((cell.size, cell.men), np.uint8)
    for index in range(last_index + 1):
        squares[:, index] = slots >> 6 * (last_index - index) & 63
    squares[:, last_index + 1 :] = list(cell.standing)
    return "".join(piece_of(man).symbol() for man in cell.all_men), squares


def _location_of(cell: Cell, side: Side) -> tuple[Material, int, Side, int]:
    """Return where a table stores the positions of a cell with ``side`` to move.

    :returns: material, phase, side to move in the table, and the symmetry that maps positions to the table.
    """
    material, swapped = cell.material()
    layout = layout_of(material)
    pawns = reversed(cell.pawns) if swapped else cell.pawns
    squares = [square for own in pawns for square in chess.scan_forward(own)]
    for symmetry in (0, MIRROR_FILES):
        symmetry |= MIRROR_RANKS if swapped else 0
        phase = layout.phase_by_placement.get(layout.placement_of(squares, symmetry))
        if phase is not None:
            return material, phase, Side(side ^ swapped), symmetry
    raise AssertionError(f"{material} has no phase for the pawns of {cell}")
