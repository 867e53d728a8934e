"""Tables as the solver of cells reads them: phase by phase."""

from collections import OrderedDict
from contextlib import ExitStack
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import Final, Self

import numpy as np

from tbgen.board.material import Material
from tbgen.board.score import NONE
from tbgen.board.variant import Variant
from tbgen.cells.bounds import Block
from tbgen.index.layout import Side, layout_of
from tbgen.index.source import Source
from tbgen.index.zeroing import en_passant_configs
from tbgen.packed.file import PackedFile
from tbgen.packed.sources import PackedSource, Sources
from tbgen.packed.tables import AnyTable, open_table
from tbgen.packed.unpack import promotions
from tbgen.retro.expansion import expand
from tbgen.store.format import table_path
from tbgen.store.reader import TableFile

_PHASES_KEPT: Final = 512 << 20
"""Bytes of phases of tables that are kept in memory."""
_THREADS: Final = 2
"""To decode packed tables with."""


class Tables:
    """Phases of tables, all slots filled; those used last stay in memory. Safe for threads.

    Phases of packed tables are decoded, as far as that takes no others: see :meth:`gives`. A context, which
    closes the files.

    :param directories: where r-mobility tables lie, searched in this order.
    """

    def __init__(self, *directories: Path) -> None:
        self._directories = directories
        self._files: dict[Material, AnyTable | None] = {}
        self._below: dict[Path, Sources] = {}
        """What packed tables rest on, by directory."""
        self._opened = ExitStack()
        self._kept: OrderedDict[tuple[Material, int, Side | None, int], Block] = OrderedDict()
        self._bytes = 0
        self._lock = RLock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened.close()
        self._files.clear()
        self._below.clear()

    @property
    def nbytes(self) -> int:
        """Bytes of what is kept in memory."""
        return self._bytes

    def has(self, material: Material) -> bool:
        """Whether there is a table of a material.

        :raises DamagedTableError: if it cannot be used.
        """
        return self._file(material) is not None

    def is_packed(self, material: Material) -> bool:
        """Whether the table of a material is there and packed, so that it is decoded phase by phase."""
        return isinstance(self._file(material), PackedFile)

    def gives(self, material: Material, phase: int, side: Side) -> bool:
        """Whether there is a table of a material, and a phase of it can be had with one side to move.

        What captures in a packed table lead to has to lie in plain ones, and what promotions lead to too.
        """
        file = self._file(material)
        if not isinstance(file, PackedFile):
            return file is not None
        return all(isinstance(self._file(after), TableFile) for after in _needed(file, phase, side))

    def _file(self, material: Material) -> "AnyTable | None":
        with self._lock:
            if material not in self._files:
                self._files[material] = self._open(material)
            return self._files[material]

    def _open(self, material: Material) -> "AnyTable | None":
        for directory in self._directories:
            path = table_path(directory, material.name, Variant.R_MOBILITY)
            if path.exists():
                file = open_table(path, material)
                self._opened.callback(file.close)
                return file
        return None

    def phase(self, material: Material, phase: int, side: Side) -> Block:
        """Return values and depths of a phase that the tables give, shape (phase size,) each."""
        return self._get(material, phase, side, -1)

    def en_passant(self, material: Material, row: int) -> Block:
        """Return values and depths of an en passant configuration, shape (phase size,) each."""
        phase = int(en_passant_configs(layout_of(material))[row, 0])
        return self._get(material, phase, None, row)

    def _get(self, material: Material, phase: int, side: Side | None, row: int) -> Block:
        key = material, phase, side, row
        with self._lock:
            if key not in self._kept:
                self._kept[key] = block = self._read(*key)
                self._bytes += block.nbytes
                while self._bytes > _PHASES_KEPT and len(self._kept) > 1:
                    _, block = self._kept.popitem(last=False)
                    self._bytes -= block.nbytes
            self._kept.move_to_end(key)
            return self._kept[key]

    def _read(self, material: Material, phase: int, side: Side | None, row: int) -> Block:
        layout, file = layout_of(material), self._file(material)
        assert file is not None
        block = Block(np.full(layout.phase_size, NONE, np.uint8), np.zeros(layout.phase_size, np.uint16))
        if side is not None:
            if isinstance(file, PackedFile):
                self._unpack(file, phase, side, block)
            else:
                file.read_side(phase, side, *block)
        else:
            file.read_en_passant(row, *block)
        expand(layout, phase, *block)
        return block

    def _unpack(self, file: PackedFile, phase: int, side: Side, block: Block) -> None:
        sources = {material: self._source(material) for material in _needed(file, phase, side)}
        PackedSource(file, lambda: sources, _THREADS).read_side(phase, side, *block)

    def _source(self, material: Material) -> Source:
        """Return a plain table that packed ones rest on; small ones stay in memory."""
        file = self._file(material)
        assert isinstance(file, TableFile)
        directory = file.path.parent
        if directory not in self._below:
            self._below[directory] = self._opened.enter_context(Sources(directory, Variant.R_MOBILITY))
        return self._below[directory].get(material)


def _needed(file: PackedFile, phase: int, side: Side) -> set[Material]:
    """Return the materials whose tables it takes to decode a phase with one side to move."""
    material = Material.parse(file.info.material)
    smaller = {after for after in material.successors() if after.men < material.men}
    return smaller | promotions(file, phase, side)
