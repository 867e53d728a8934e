"""What tables say of the positions that moves out of cells lead to, phase by phase."""

from operator import attrgetter
from threading import Lock
from typing import Final, NamedTuple

import chess
import numpy as np

from tbgen.board.history import FRESH
from tbgen.board.material import MAX_MEN, Material
from tbgen.board.score import NONE, Code
from tbgen.board.signed import code_of, of_gscore
from tbgen.cells.blocks import gathered
from tbgen.cells.bounds import Block, Interval, side_after
from tbgen.cells.cell import Cell
from tbgen.cells.position import CellPosition
from tbgen.cells.routes import Route
from tbgen.errors import MissingTableError
from tbgen.index.layout import Layout, Side, layout_of
from tbgen.index.symmetry import IMAGE, MIRROR_FILES, MIRROR_RANKS
from tbgen.index.zeroing import en_passant_configs
from tbgen.packed.file import PackedFile
from tbgen.packed.sources import PackedSource
from tbgen.packed.tables import AnyTable
from tbgen.packed.unpack import promotions
from tbgen.probe.tablebase import Tablebase
from tbgen.retro.expansion import expand
from tbgen.solve.exits import ExitSource
from tbgen.store.cache import Recent
from tbgen.store.reader import TableFile

WORTH_DECODING: Final = 64**3
"""Slots from which on a phase of a packed table is decoded."""
_PHASES_KEPT: Final = 512 << 20
"""Bytes of phases of tables that are kept in memory."""
_THREADS: Final = 2
"""To decode packed tables with."""


class _PhasePlace(NamedTuple):
    """Where the positions that a route leads to are in a table."""

    material: Material
    phase: int
    side: Side
    symmetry: int
    """Leads there."""


class Tables(ExitSource):
    """The tables of a tablebase as the solver of cells reads them: phases with all slots filled.

    Phases of packed tables are decoded, as far as that takes no others: see :meth:`gives`.
    """

    exact = final = True

    def __init__(self, tablebase: Tablebase) -> None:
        self._tablebase = tablebase
        self._files: dict[Material, AnyTable | None] = {}
        self._phases = Recent[Block](_PHASES_KEPT, attrgetter("nbytes"))
        self._lock = Lock()

    @property
    def nbytes(self) -> int:
        """Bytes of phases in memory."""
        return self._phases.size

    def has_cell(self, cell: Cell) -> bool:
        """Whether a table says what a cell's positions are worth.

        A packed one does if they make a whole phase, and a large one: others take less time as cells.

        :raises DamagedTableError: if it cannot be used.
        """
        if cell.men > MAX_MEN:
            return False
        material, _ = cell.material()
        file = self._file(material)
        if isinstance(file, PackedFile):
            return cell.size >= max(layout_of(material).phase_size, WORTH_DECODING)
        return file is not None

    def knows(self, route: Route) -> bool:
        """Whether tables say all of the positions that a route leads to."""
        return self.has_cell(route.destination) and self.gives(*_place_of(route)[:3])

    def block(self, route: Route, end: int, bound: Code) -> Block:
        """Return what the positions that a route leads to are worth."""
        material, phase, side, symmetry = _place_of(route)
        layout = layout_of(material)
        men = [(Side(colour), kind) for colour, kind in zip(layout.colours, layout.kinds, strict=True)]
        stored = self.phase(material, phase, side)
        block = gathered(route.destination, men, symmetry, stored, not layout.pawns)
        config = [phase, -1 if route.passed is None else IMAGE[symmetry][route.passed]]
        configs = en_passant_configs(layout).tolist()
        if config in configs:
            stored = self.en_passant(material, configs.index(config))
            captured = gathered(route.destination, men, symmetry, stored)
            there = captured.value != NONE
            block.value[there], block.depth[there] = captured.value[there], captured.depth[there]
        return block

    def worth(self, position: CellPosition) -> Interval | None:
        """Return what a position is worth, if a table says it."""
        if not self.has_cell(position.cell):
            return None
        code = code_of(of_gscore(self._tablebase.probe(position.board, FRESH).value))
        return Interval(code, code)

    def gives(self, material: Material, phase: int, side: Side) -> bool:
        """Whether there is a table of a material, and a phase of it can be had with one side to move.

        What captures in a packed table lead to has to lie in plain ones, and what promotions lead to too.
        """
        file = self._file(material)
        if not isinstance(file, PackedFile):
            return file is not None
        return all(isinstance(self._file(after), TableFile) for after in _needed(file, phase, side))

    def phase(self, material: Material, phase: int, side: Side) -> Block:
        """Return values and depths of a phase that the tables give, shape (phase size,) each."""
        return self._get(material, phase, side, -1)

    def en_passant(self, material: Material, row: int) -> Block:
        """Return values and depths of an en passant configuration, shape (phase size,) each."""
        phase = int(en_passant_configs(layout_of(material))[row, 0])
        return self._get(material, phase, None, row)

    def _file(self, material: Material) -> "AnyTable | None":
        if material not in self._files:
            try:
                self._files[material] = self._tablebase.table_file(material)
            except MissingTableError:
                self._files[material] = None
        return self._files[material]

    def _get(self, material: Material, phase: int, side: Side | None, row: int) -> Block:
        key = material, phase, side, row
        with self._lock:
            block = self._phases.get(key)
            if block is None:
                block = self._read(*key)
                self._phases.put(key, block)
            return block

    def _read(self, material: Material, phase: int, side: Side | None, row: int) -> Block:
        layout, file = layout_of(material), self._file(material)
        block = Block(np.full(layout.phase_size, NONE, np.uint8), np.zeros(layout.phase_size, np.uint16))
        assert file is not None
        if side is None:
            file.read_en_passant(row, *block)
        elif isinstance(file, TableFile):
            file.read_side(phase, side, *block)
        else:
            files = {material: self._file(material) for material in _needed(file, phase, side)}
            sources = {material: each for material, each in files.items() if isinstance(each, TableFile)}
            PackedSource(file, lambda: sources, _THREADS).read_side(phase, side, *block)
        expand(layout, phase, *block)
        return block


def _place_of(route: Route) -> _PhasePlace:
    material, swapped = route.destination.material()
    phase, symmetry = _phase_of(layout_of(material), route.destination, MIRROR_RANKS if swapped else 0)
    return _PhasePlace(material, phase, Side(side_after(route) ^ swapped), symmetry)


def _phase_of(layout: Layout, cell: Cell, symmetry: int) -> tuple[int, int]:
    """Return the phase of a cell's pawns in its table, and the symmetry that leads there: the given one, or
    that with files mirrored too."""
    for image in (symmetry, symmetry | MIRROR_FILES):
        pawns = [sorted(IMAGE[image][square] for square in chess.scan_forward(own)) for own in cell.pawns]
        if image & MIRROR_RANKS:
            pawns.reverse()
        phase = layout.rows.get((*pawns[0], *pawns[1]))
        if phase is not None:
            return phase, image
    raise AssertionError(f"{layout.material} has no phase for the pawns of {cell}")


def _needed(file: PackedFile, phase: int, side: Side) -> set[Material]:
    """Return the materials whose tables it takes to decode a phase with one side to move."""
    material = Material.parse(file.info.material)
    smaller = {after for after in material.successors() if after.men < material.men}
    return smaller | promotions(file, phase, side)
