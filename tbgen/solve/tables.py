"""Tables as sources of the positions that moves out of cells lead to, phase by phase."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from operator import attrgetter
from threading import Lock
from typing import Final

import chess
import numpy as np
from numpy.typing import NDArray

from tbgen.board.history import FRESH
from tbgen.board.material import MAX_MEN, Material, closure
from tbgen.board.score import NONE, Code
from tbgen.board.signed import code_of, of_gscore
from tbgen.cells.blocks import gathered
from tbgen.cells.bounds import Block, Interval, side_after
from tbgen.cells.cell import Cell, piece_of
from tbgen.cells.position import CellPosition
from tbgen.cells.routes import Route
from tbgen.errors import MissingTableError
from tbgen.index.layout import Side, layout_of
from tbgen.index.source import Source
from tbgen.index.symmetry import IMAGE, MIRROR_FILES, MIRROR_RANKS
from tbgen.index.zeroing import en_passant_configs
from tbgen.packed.file import PackedFile
from tbgen.packed.sources import PackedSource
from tbgen.packed.tables import AnyTable
from tbgen.packed.unpack import promotions
from tbgen.probe.tablebase import Tablebase
from tbgen.retro.expansion import expand
from tbgen.retro.kernels.bits import Codes, Plies
from tbgen.solve.budget import Budget
from tbgen.solve.exits import ExitSource
from tbgen.store.cache import Recent
from tbgen.store.reader import TableFile

WORTH_DECODING: Final = 64**3
"""Slots from which on a phase of a packed table is decoded."""
_PHASES_KEPT: Final = 512 << 20
"""Bytes of phases of tables that are kept in memory."""


class Tables(ExitSource):
    """The tables of a tablebase as the solver of cells reads them: phases with all slots filled.

    Phases of packed tables are decoded, as far as that takes no others: see :meth:`gives`. Where a man has
    landed, so that few positions of a phase count, these are asked for instead.

    :param threads: to decode them with.
    """

    exact = final = True

    def __init__(self, tablebase: Tablebase, threads: int = Budget.threads) -> None:
        self.tablebase, self._threads = tablebase, threads
        self._missing: set[Material] = set()
        self._held: dict[Cell, bool] = {}
        self._phases = Recent[Block](_PHASES_KEPT, attrgetter("nbytes"))
        self._lock = Lock()

    @property
    def nbytes(self) -> int:
        """Bytes of phases in memory."""
        return self._phases.size

    def forget(self) -> None:
        """Drop the phases in memory."""
        self._phases.clear()

    @property
    def missing(self) -> list[Material]:
        """The tables that were asked for and are not there, but for those that others rest on."""
        rests = closure(after for material in self._missing for after in material.successors())
        return sorted(self._missing.difference(rests))

    def has_cell(self, cell: Cell) -> bool:
        """Whether a table holds a cell's positions.

        Of a packed one they have to make a whole phase, and a large one: others take less time as cells.

        :raises DamagedTableError: if it cannot be used.
        """
        if cell.men > MAX_MEN:
            return False
        if cell not in self._held:
            self._held[cell] = self._find(cell)
        return self._held[cell]

    def _find(self, cell: Cell) -> bool:
        """Find out what :meth:`has_cell` tells."""
        material, _ = cell.material()
        file = self._file(material)
        least = max(layout_of(material).phase_size, WORTH_DECODING)
        return file is not None and (cell.size >= least or not file.info.packed)

    def knows(self, route: Route) -> bool:
        """Whether tables hold all of the positions that a route leads to."""
        if not self.has_cell(route.destination):
            return False
        material, phase, side, _ = _place_of(route)
        return self.gives(material, phase, side) or (route.landed is not None and self._answers(material))

    def block(self, route: Route, end: int, bound: Code) -> Block:
        """Return the values of the positions that a route leads to."""
        material, phase, side, symmetry = _place_of(route)
        if route.landed is not None and self._answers(material) and not self._has(material, phase, side):
            return self._asked(route)
        layout = layout_of(material)
        men = [(Side(colour), kind) for colour, kind in zip(layout.colours, layout.kinds, strict=True)]
        stored = self.phase(material, phase, side)
        block = gathered(route.part, men, symmetry, stored, not layout.pawns)
        config = [phase, -1 if route.passed is None else IMAGE[symmetry][route.passed]]
        configs = en_passant_configs(layout).tolist()
        if config in configs:
            stored = self.en_passant(material, configs.index(config))
            captured = gathered(route.destination, men, symmetry, stored)
            there = captured.value != NONE
            block.value[there], block.depth[there] = captured.value[there], captured.depth[there]
        return block

    def worth(self, position: CellPosition) -> Interval | None:
        """Return the value of a position, if a table has it."""
        if not self.has_cell(position.cell):
            return None
        code = code_of(of_gscore(self.tablebase.probe(position.board, FRESH).value))
        return Interval(code, code)

    def gives(self, material: Material, phase: int, side: Side) -> bool:
        """Whether there is a table of a material, and a phase of it can be had with one side to move.

        What captures in a packed table lead to has to lie in plain ones, and what promotions lead to too.
        """
        return self._source(material, phase, side) is not None

    def phase(self, material: Material, phase: int, side: Side) -> Block:
        """Return values and depths of a phase that the tables give, shape (phase size,) each."""
        source = self._source(material, phase, side)
        assert source is not None, "only phases that tables give are asked for"
        return self._block(material, phase, f"side {side}", partial(source.read_side, phase, side))

    def en_passant(self, material: Material, row: int) -> Block:
        """Return values and depths of an en passant configuration, shape (phase size,) each."""
        file = self._file(material)
        assert file is not None, "only tables that are there are asked"
        phase = int(en_passant_configs(layout_of(material))[row, 0])
        return self._block(material, phase, f"row {row}", partial(file.read_en_passant, row))

    def _block(
        self, material: Material, phase: int, part: str, read: Callable[[Codes, Plies], None]
    ) -> Block:
        """Return part of a phase as it is kept, or as a function reads it."""
        key, layout = (material, phase, part), layout_of(material)
        with self._lock:
            block = self._phases.get(key)
            if block is None:
                block = Block(
                    np.full(layout.phase_size, NONE, np.uint8), np.zeros(layout.phase_size, np.uint16)
                )
                read(*block)
                expand(layout, phase, *block)
                self._phases.put(key, block)
            return block

    def _has(self, material: Material, phase: int, side: Side) -> bool:
        """Whether a phase with one side to move is in memory."""
        return self._phases.get((material, phase, f"side {side}")) is not None

    def _answers(self, material: Material) -> bool:
        """Whether a table is a packed one whose positions can be looked up."""
        if not isinstance(self._file(material), PackedFile):
            return False
        return all(self._file(after) is not None for after in closure([material]))

    def _asked(self, route: Route) -> Block:
        """Return the values of the positions that a route leads to, each of them looked up."""
        cell, side = route.part, side_after(route)
        with self._lock:
            block = self._phases.get((cell, side))
            if block is None:
                value, depth = self.tablebase.probe_arrays(*_positions_of(cell), np.full(cell.size, side))
                block = Block(value, np.maximum(depth, 0).astype(np.uint16))
                self._phases.put((cell, side), block)
            return block

    def _file(self, material: Material) -> "AnyTable | None":
        # The tablebase keeps the open files, and so it can close them.
        with suppress(MissingTableError):
            if material not in self._missing:
                return self.tablebase.table_file(material)
        self._missing.add(material)
        return None

    def _source(self, material: Material, phase: int, side: Side) -> Source | None:
        """Return a table as the source of a phase with one side to move, None if that cannot be had."""
        file = self._file(material)
        if not isinstance(file, PackedFile):
            return file
        needed = {after for after in material.successors() if after.men < material.men}
        files = {after: self._file(after) for after in needed | promotions(file, phase, side)}
        plain = {after: each for after, each in files.items() if isinstance(each, TableFile)}
        return PackedSource(file, lambda: plain, self._threads) if plain.keys() == files.keys() else None


def _positions_of(cell: Cell) -> tuple[str, NDArray[np.uint8]]:
    """Return the letters of all men of a cell, and their squares, uint8 (slots, men)."""
    slots, last = np.arange(cell.size), len(cell.mobile) - 1
    squares = np.empty((cell.size, cell.men), np.uint8)
    for place in range(last + 1):
        squares[:, place] = slots >> 6 * (last - place) & 63
    squares[:, last + 1 :] = list(cell.standing)
    return "".join(piece_of(man).symbol() for man in cell.all_men), squares


def _place_of(route: Route) -> tuple[Material, int, Side, int]:
    """Return the table of the positions that a route leads to, their phase and side to move in it, and the
    symmetry that leads there."""
    cell = route.destination
    material, swapped = cell.material()
    layout, pawns = layout_of(material), reversed(cell.pawns) if swapped else cell.pawns
    squares = [square for own in pawns for square in chess.scan_forward(own)]
    for symmetry in (0, MIRROR_FILES):
        symmetry |= MIRROR_RANKS if swapped else 0
        phase = layout.rows.get(layout.placement_of(squares, symmetry))
        if phase is not None:
            return material, phase, Side(side_after(route) ^ swapped), symmetry
    raise AssertionError(f"{material} has no phase for the pawns of {cell}")
